// SPDX-License-Identifier: MIT
// source.c: from the file named to a program, its derivative, its optimised form: options of the
// command for the session layer.
#include "tools/command/command.h"

#include "autodiff/shapes.h"
#include "session/import.h"
#include "session/shader.h"
#include "spirv/read.h"
#include "tools/command/runner.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static bool take_diag(const vy_module *m, vy_diag *d)
{
    if (d->severity != VY_ERROR) *d = *vy_module_diag(m);
    return false;
}

// The folders of -I as vys_import_file takes them; NULL: memory.
static const char **import_folders(const names *given)
{
    const char **out = calloc(given->count + 1, sizeof *out);
    for (uint32_t i = 0; out && i < given->count; i++) out[i] = given->data[i];
    return out;
}

// NAME=VALUE, of an option; the name is malloc'd.
static bool define(const char *given, vy_define *out, const char *option, vy_diag *d)
{
    const char *equals = strchr(given, '=');
    if (!equals || equals == given)
        return fail(d, TOOL_USAGE, NULL, "%s %s: expected NAME=VALUE", option, given);
    char *name = strndup(given, (size_t)(equals - given));
    *out = (vy_define){name, equals + 1};
    return name || fail_memory(d);
}

// Parses the text with the values that -D gives its constants.
static bool parse_defined(command *c, const char *file, vy_diag *d)
{
    const names *given = &c->o.define;
    vy_define *defines = calloc(given->count + 1, sizeof *defines);
    const char **folders = import_folders(&c->o.include);
    bool ok = (defines && folders) || fail_memory(d);
    for (uint32_t i = 0; ok && i < given->count; i++)
        ok = define(given->data[i], &defines[i], "-D", d);
    char identity[VYS_IDENTITY];
    vys_file_identity(c->o.file, identity);
    const vy_parse_options how = {.defines = defines,
                                  .define_count = given->count,
                                  .import = vys_import_file,
                                  .user = folders,
                                  .identity = *identity ? identity : NULL};
    if (ok) c->module = vy_parse_from(c->contents.data, c->contents.size, file, &how);
    for (uint32_t i = 0; defines && i < given->count; i++) free((char *)defines[i].name);
    free(defines);
    free(folders);
    return ok;
}

// VALUE alone, where the name may be left out.
static bool unnamed(const char *given, vy_define *out, vy_diag *d)
{
    *out = (vy_define){strdup(""), given};
    return out->name || fail_memory(d);
}

// The definitions of an option that is a list; NULL: *d says what is wrong.
static vy_define *definitions(const names *given, const char *option, bool named, vy_diag *d)
{
    vy_define *out = calloc(given->count + 1, sizeof *out);
    bool ok = out || fail_memory(d);
    for (uint32_t i = 0; ok && i < given->count; i++)
        ok = named || strchr(given->data[i], '=') ? define(given->data[i], &out[i], option, d)
                                                  : unnamed(given->data[i], &out[i], d);
    if (ok) return out;
    for (uint32_t i = 0; out && i < given->count; i++) free((char *)out[i].name);
    free(out);
    return NULL;
}

static void free_definitions(vy_define *list, const names *given)
{
    for (uint32_t i = 0; list && i < given->count; i++) free((char *)list[i].name);
    free(list);
}

// Finds shapes, and notes which buffers get one.  False: memory.  An error is the module's.
static bool recover_shapes(command *c, const vy_define *shapes, vy_diag *d)
{
    if (!vy_module_ok(c->module)) return true;
    const vy_program *p = vy_module_program(c->module, 0);
    const uint32_t n = vy_program_buffer_count(p);
    uint32_t *rank = calloc(n + 1, sizeof *rank);
    bool ok = rank != NULL;
    for (uint32_t i = 1; ok && i <= n; i++) rank[i] = vy_program_buffer(p, (vy_buffer){i}).rank;
    if (ok) vy_recover_shapes(c->module, shapes, c->o.shape.count);
    p = vy_module_program(c->module, 0);
    for (uint32_t i = 1; ok && vy_module_ok(c->module) && i <= n; i++) {
        const vy_buffer_info b = vy_program_buffer(p, (vy_buffer){i});
        if (b.rank > rank[i] && !names_have(&c->shaped, b.name)) ok = names_add(&c->shaped, b.name);
    }
    free(rank);
    return ok || fail_memory(d);
}

// A SPIR-V module, with the values that --spec gives its constants, such samplers, and shapes of
// its buffers.
static bool read_shader(command *c, vy_diag *d)
{
    const options *o = &c->o;
    vy_define *specs = definitions(&o->spec, "--spec", true, d);
    vy_define *samplers = specs ? definitions(&o->sampler, "--sampler", false, d) : NULL;
    vy_define *shapes = samplers ? definitions(&o->shape, "--shape", true, d) : NULL;
    const vy_read_options how = {.entry = o->entry,
                                 .specs = specs,
                                 .spec_count = o->spec.count,
                                 .samplers = samplers,
                                 .sampler_count = o->sampler.count,
                                 .assumed = &c->sampler_assumed,
                                 .keep_domain = o->keep_domain || o->groups};
    if (shapes) c->module = vy_spirv_read(c->words.data, c->words.size, o->file, &how);
    bool ok = shapes != NULL;
    if (ok && c->module) ok = recover_shapes(c, shapes, d);
    free_definitions(specs, &o->spec);
    free_definitions(samplers, &o->sampler);
    free_definitions(shapes, &o->shape);
    return ok;
}

// What was read, as a module.
static bool parse(command *c, vy_diag *d)
{
    const text *t = &c->contents;
    if (c->words.size) return read_shader(c, d);
    if (c->o.entry || c->o.spec.count || c->o.shape.count || c->o.sampler.count || c->o.keep_domain)
        return fail(d, TOOL_USAGE, "leave them out",
                    "--entry, --spec, --shape, --sampler and --keep-domain are of SPIR-V modules");
    if (!vy_binary_is(t->data, t->size))
        return parse_defined(c, strcmp(c->o.file, "-") ? c->o.file : "stdin", d);
    if (c->o.define.count)
        return fail(d, TOOL_USAGE, "make the binary form with -D",
                    "-D %s: the constants of a binary form have their values", c->o.define.data[0]);
    c->module = vy_binary_read(t->data, t->size);
    return true;
}

bool load_again(command *c, vy_module **out, vy_diag *d)
{
    vy_module *const before = c->module;
    const bool ok = parse(c, d);
    *out = ok ? c->module : NULL;
    c->module = before;
    return ok && (*out || fail_memory(d)) && (vy_module_ok(*out) || take_diag(*out, d));
}

static bool compile_shader(command *c, vy_diag *d)
{
    void *words = NULL;
    size_t size = 0;
    const vys_shader_options o = {.defines = c->o.define.data,
                                  .define_count = c->o.define.count,
                                  .includes = c->o.include.data,
                                  .include_count = c->o.include.count};
    if (!vys_shader_compile(c->o.file, &o, &words, &size, d)) return false;
    c->words = (text){.data = words, .size = size, .capacity = size};
    return true;
}

// Reads the file: text, or words; of a shader in source form both.
static bool read_input(command *c, vy_diag *d)
{
    const char *file = c->o.file;
    if (!file_read(file, FILE_LIMIT, &c->contents, d)) return false;
    if (vys_shader_takes(file)) return compile_shader(c, d);
    if (!vy_spirv_is(c->contents.data, c->contents.size)) return true;
    c->words = c->contents; // which no diagnostic shows
    c->contents = (text){0};
    return true;
}

bool load_module(command *c, vy_diag *d)
{
    const char *file = c->o.file;
    if (!read_input(c, d)) return false;
    if (!output_keep(&c->files, file)) return fail_memory(d);
    if (c->contents.size == 0 && c->words.size == 0)
        return fail(d, TOOL_INPUT, "write a program into it", "%s is empty", file);
    progress_begin(c, "reading");
    if (!parse(c, d)) return false;
    progress_end();
    if (!c->module) return fail_memory(d);
    for (uint32_t i = 0; vy_module_import(c->module, i); i++)
        if (!output_keep(&c->files, vy_module_import(c->module, i))) return fail_memory(d);
    c->work.module = c->module;
    return vy_module_ok(c->module) ? name_fields(c, d) : take_diag(c->module, d);
}

// ---------------------------------------------------------------------------------------- settings
static void dump(void *user, const char *pass, const char *printed)
{
    (void)user;
    fprintf(stderr, "// after %s\n%s", pass, printed);
}

static void step(void *user, const char *what)
{
    progress_end();
    if (what) progress_begin(user, what);
}

static void tell(void *user, const char *line) { verbose(user, "%s", line); }

static bool known_pass(const char *name, vy_diag *d)
{
    names passes = {0};
    bool ok = names_add(&passes, "all");
    for (uint32_t i = 0; vy_opt_pass_name(i); i++) ok &= names_add(&passes, vy_opt_pass_name(i));
    text fix = {0};
    text_puts(&fix, "passes are: ");
    text_join(&fix, passes.data, passes.count);
    if (!ok || fix.failed)
        fail_memory(d);
    else if (!names_have(&passes, name))
        ok = fail(d, TOOL_USAGE, fix.data, "--dump-after %s: there is no such pass", name);
    text_free(&fix);
    names_free(&passes);
    return ok;
}

static bool features(const names *enable, vy_features *out, vy_diag *d)
{
    *out = 0;
    for (uint32_t i = 0; i < enable->count; i++) {
        const char *name = enable->data[i], *all[VY_FEATURE_COUNT];
        vy_features bit;
        if (vy_feature_from_name(name, strlen(name), &bit)) {
            *out |= bit;
            continue;
        }
        for (uint32_t k = 0; k < VY_FEATURE_COUNT; k++) all[k] = vy_feature_name(k);
        const char *near = vy_nearest_name(name, VY_FEATURE_COUNT, all);
        char fix[120];
        snprintf(fix, sizeof fix, near ? "did you mean %s?" : "features are named as in %s",
                 near ? near : "`vyre-grad devices`");
        return fail(d, TOOL_USAGE, fix, "--enable %.80s: unknown feature", name);
    }
    return true;
}

static uint64_t nanoseconds(uint64_t seconds)
{
    return seconds && seconds < UINT64_MAX / 1000000000 ? seconds * 1000000000 : UINT64_MAX;
}

// What the options say about the derivative, and about what is reported to `c` on the way.
static vys_settings derivative_settings(command *c)
{
    static const vys_keep keeps[] = {[CHECKPOINT_AUTO] = VYS_KEEP_AUTO,
                                     [CHECKPOINT_NONE] = VYS_KEEP_ALL,
                                     [CHECKPOINT_SQRT] = VYS_KEEP_SQRT};
    const options *o = &c->o;
    return (vys_settings){.of = o->of.data,
                          .of_count = o->of.count,
                          .wrt = o->wrt.data,
                          .wrt_count = o->wrt.count,
                          .name = o->name,
                          .order = (uint32_t)o->order,
                          .seed_buffer = o->seed == SEED_BUFFER,
                          .forward = derives_forward(c),
                          .with_value = o->with_value,
                          .deterministic = o->deterministic,
                          .accumulate = (vy_accumulate)o->accumulate,
                          .assume = o->assume.data,
                          .assume_count = o->assume.count,
                          .tune = o->tune.data,
                          .tune_count = o->tune.count,
                          .keep = keeps[o->checkpoint],
                          .tape_limit = o->tape_limit,
                          .batches = o->batches < UINT32_MAX ? (uint32_t)o->batches : UINT32_MAX,
                          .dump_after = o->dump_after,
                          .dump = dump,
                          .step = step,
                          .tell = tell,
                          .user = c,
                          .words = &option_words};
}

// What they say about the code and the run.
static void add_run_settings(const options *o, vys_settings *s)
{
    s->timeout_ns = nanoseconds(o->timeout);
    s->level = (vys_level)(VYS_O0 + o->level);
    s->target = (vy_target)o->target;
    s->driver = (vy_driver)o->written_for;
    s->precise = o->precise;
    s->fast_math = o->fast_math;
    s->unchecked = o->unchecked;
    s->lines = o->lines;
    s->no_validate = o->no_validate;
    s->validate_always = o->validate == VALIDATE_ALWAYS;
    s->coarsen = (uint32_t)(o->coarsen < UINT16_MAX ? o->coarsen : UINT16_MAX);
    s->interpreter = o->engine == ENGINE_EVAL;
    s->f64 = o->eval_type == EVAL_F64;
    s->report = o->report;
    s->subgroup_size = (uint32_t)o->subgroup_size;
    s->shuffle_seed = o->shuffle;
}

bool take_settings(command *c, vy_diag *d)
{
    const options *o = &c->o;
    vy_features enabled;
    if (o->dump_after && !known_pass(o->dump_after, d)) return false;
    if (!features(&o->enable, &enabled, d)) return false;
    c->work.device = c->gpu ? c->gpu->device : NULL;
    c->work.settings = derivative_settings(c);
    c->work.settings.enabled = enabled;
    add_run_settings(o, &c->work.settings);
    return true;
}

// ------------------------------------------------------------------------------------------- steps
bool select_entry(const command *c, const vy_module *m, vys_entry *out, vy_diag *d)
{
    return vys_entry_find(m, c->o.program, &option_words, out, d);
}

static void tell_end(const command *c, const char *name, const vy_grad_end *end)
{
    const vy_file_place p = vy_module_place(c->module, end->line);
    const bool imported = p.file != vy_module_file(c->module);
    note(c, "the gradient of %s is zero: its derivative ends at `%s` in line %u%s%s", name,
         end->what, p.line, imported ? " of " : "", imported ? p.file : "");
}

// Says once which gradients are zero because everything goes through integers and the like.
static void tell_ends(command *c, vys_entry from)
{
    const vy_program *p = from.program;
    const uint32_t n = c->ends_reported || from.pipeline ? 0 : vy_program_buffer_count(p);
    bool *reaches = n ? calloc(n + 1, sizeof *reaches) : NULL;
    const bool known = reaches && vy_grad_reaches(p, reaches); // else each is queried
    for (uint32_t i = 1; i <= n; i++) {
        const vy_buffer b = {i};
        if (known && reaches[i]) continue;
        const char *name = vy_program_buffer(p, b).name;
        vy_grad_end end;
        if (c->o.wrt.count ? !names_have(&c->o.wrt, name) : !vy_grad_default_wrt(p, b)) continue;
        if (names_have(&c->o.of, name)) continue; // its cotangent is its own contents' gradient
        if (vy_grad_ends(p, b, &end)) tell_end(c, name, &end);
    }
    free(reaches);
    c->ends_reported = true;
}

bool derive(command *c, vys_entry from, const names *seeds, vy_diag *d)
{
    const bool ok = take_settings(c, d) && vys_derive(&c->work, from, seeds ? seeds->data : NULL,
                                                      seeds ? seeds->count : 0, d);
    if (ok && !derives_forward(c)) tell_ends(c, from);
    return ok;
}

bool derive_with_less(command *c, vy_diag *d) { return vys_derive_with_less(&c->work, d); }

bool order_sums(command *c, vys_entry *what, vy_diag *d)
{
    return take_settings(c, d) && vys_order_sums(&c->work, what, d);
}

bool optimize(command *c, vy_module *m, bool for_eval, binding *data, vy_diag *d)
{
    if (!take_settings(c, d)) return false;
    c->work.settings.interpreter = for_eval;
    return vys_optimize(&c->work, m, m == c->final, data, d);
}

bool optimize_final(command *c, vy_module *m, bool for_eval, binding *data, vy_diag *d)
{
    c->final = m;
    return optimize(c, m, for_eval, data, d);
}
