// SPDX-License-Identifier: MIT
// source.c: from the file named to a program, its derivative, its optimised form.
#include "tools/command.h"

#include "tools/gpu.h"
#include "tools/runner.h"

#include "autodiff/deterministic.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static bool take_diag(const vy_module *m, vy_diag *d)
{
    if (d->severity != VY_ERROR) *d = *vy_module_diag(m);
    return false;
}

bool load_module(command *c, vy_diag *d)
{
    const char *file = c->o.file;
    static const char *const others[] = {".comp", ".glsl", ".spv"};
    for (size_t i = 0; i < COUNT_OF(others); i++)
        if (ends_in(file, others[i]))
            return fail(d, TOOL_UNAVAILABLE, "write the kernel as a .vyre program",
                        "%s: %s as input is not supported yet in this version", file, others[i]);
    if (!file_read(file, FILE_LIMIT, &c->contents, d)) return false;
    if (c->contents.size == 0)
        return fail(d, TOOL_INPUT, "write a program into it", "%s is empty", file);
    progress_begin(c, "reading");
    const text *t = &c->contents;
    c->module = vy_binary_is(t->data, t->size)
                    ? vy_binary_read(t->data, t->size)
                    : vy_parse(t->data, t->size, strcmp(file, "-") ? file : "stdin");
    progress_end();
    if (!c->module) return fail_memory(d);
    return vy_module_ok(c->module) || take_diag(c->module, d);
}

static bool find_runnable(const vy_module *m, const char *wanted, runnable *out)
{
    const uint32_t programs = vy_module_program_count(m), pipelines = vy_module_pipeline_count(m);
    const vy_program *p = wanted ? vy_module_find(m, wanted) : NULL;
    const vy_pipeline *q = wanted ? vy_module_find_pipeline(m, wanted) : NULL;
    if (!wanted && pipelines) q = vy_module_pipeline(m, pipelines - 1);
    if (!wanted && !pipelines && programs == 1) p = vy_module_program(m, 0);
    if (q) *out = runnable_pipeline(q);
    if (p) *out = runnable_program(p);
    return p || q;
}

bool select_runnable(const command *c, const vy_module *m, runnable *out, vy_diag *d)
{
    const uint32_t programs = vy_module_program_count(m), pipelines = vy_module_pipeline_count(m);
    const char *wanted = c->o.program;
    if (find_runnable(m, wanted, out)) return true;
    names have = {0};
    text list = {0};
    for (uint32_t i = 0; i < programs; i++)
        list.failed |= !names_add(&have, vy_program_name(vy_module_program(m, i)));
    for (uint32_t i = 0; i < pipelines; i++)
        list.failed |= !names_add(&have, vy_pipeline_name(vy_module_pipeline(m, i)));
    const char *near = wanted ? vy_nearest_name(wanted, have.count, have.data) : NULL;
    if (near) text_printf(&list, "did you mean -p %s? ", near);
    text_puts(&list, "name one with -p: ");
    text_join(&list, have.data, have.count);
    if (list.failed)
        fail_memory(d);
    else if (!have.count)
        fail(d, TOOL_SELECT, "write one", "%s holds no program", c->o.file);
    else if (wanted)
        fail(d, TOOL_SELECT, list.data, "there is no program %s%s", wanted,
             pipelines ? " and no such pipeline" : "");
    else
        fail(d, TOOL_SELECT, list.data, "%s holds %u programs", c->o.file, programs);
    names_free(&have);
    text_free(&list);
    return false;
}

// Of the second derivative, all results of the first are outputs.
bool grad_request(const command *c, runnable from, bool again, bool seeded, names *results,
                  vy_grad_options *g, vy_diag *d)
{
    const vy_program *p = from.program;
    const options *o = &c->o;
    const uint32_t storage = o->checkpoint == CHECKPOINT_SQRT && c->storage < 2 ? 2 : c->storage;
    *g = (vy_grad_options){.program = runnable_name(from),
                           .seed_buffer = seeded,
                           .with_value = o->with_value,
                           .deterministic = o->deterministic,
                           .lean_sums = c->lean,
                           .frugal = storage > 0,
                           .checkpoint = storage > 1 ? storage - 1 : 0,
                           .accumulate = (vy_accumulate)o->accumulate};
    bool ok = true;
    for (uint32_t i = 1; again && i <= vy_program_buffer_count(p); i++) {
        vy_buffer_info b = vy_program_buffer(p, (vy_buffer){i});
        if (b.cls == VY_OUT && !b.workspace && !strncmp(b.name, "grad", 4))
            ok &= names_add(results, b.name);
    }
    const names *of = again ? results : &o->of;
    if (of->count) g->of = of->data, g->of_count = of->count;
    if (o->wrt.count) g->wrt = o->wrt.data, g->wrt_count = o->wrt.count;
    return ok || fail_memory(d);
}

static vy_module *derive_once(const command *c, const vy_module *m, runnable from, uint64_t done,
                              bool seeded, vy_diag *d)
{
    vy_grad_options g;
    names results = {0};
    bool ok = grad_request(c, from, done > 0, seeded, &results, &g, d);
    g.deterministic &= done + 1 == c->o.order; // what is derived again adds by atomics
    if (done + 1 < c->o.order) g.accumulate = VY_ACCUMULATE_ATOMIC;
    vy_module *derived = ok ? vy_grad(m, &g, d) : NULL;
    if (!derived) fail_memory(d); // unless it said why
    names_free(&results);
    if (derived && vy_module_ok(derived)) return derived;
    if (derived) take_diag(derived, d);
    vy_module_free(derived);
    return NULL;
}

static bool seeded_by(const names *seeds, const vy_program *p, const options *o)
{
    if (o->seed == SEED_BUFFER) return true;
    for (uint32_t i = 0; seeds && i < seeds->count; i++)
        if (vy_program_find_buffer(p, seeds->data[i]).id) return true;
    return false;
}

bool derive_with_less(command *c, vy_diag *d)
{
    enum { MOST = 4 }; // checkpoints in checkpoints in checkpoints
    static const char *const codes[] = {"E0714", "E0811"};
    bool tape = false;
    for (size_t i = 0; i < COUNT_OF(codes); i++)
        tape |= d->severity == VY_ERROR && d->code && !strcmp(d->code, codes[i]);
    const bool terms = c->o.deterministic && !c->lean;
    if (!tape ||
        (!terms && (c->o.checkpoint != CHECKPOINT_AUTO || c->storage >= MOST || c->o.order > 1)))
        return false;
    if (terms)
        c->lean = true;
    else
        c->storage++;
    vy_module_free(c->derived);
    c->derived = NULL;
    *d = (vy_diag){0};
    return true;
}

bool derive(command *c, runnable r, const names *seeds, vy_diag *d)
{
    progress_begin(c, "differentiating");
    const vy_module *from = c->module;
    vy_module *last = NULL, *next = NULL;
    for (uint64_t i = 0; i < c->o.order; i++) {
        next = derive_once(c, from, r, i, seeded_by(seeds, r.program, &c->o), d);
        vy_module_free(last);
        last = next;
        if (!next) break;
        from = next;
        r = runnable_result(next);
    }
    progress_end();
    c->derived = last;
    return last != NULL;
}

bool order_sums(command *c, runnable *what, vy_diag *d)
{
    if (!c->o.deterministic) return true;
    const char *name = runnable_name(*what);
    c->ordered = vy_deterministic(c->module, name, d);
    return c->ordered && find_runnable(c->ordered, name, what);
}

// -------------------------------------------------------------------------------------- optimiser
static void dump(void *user, const char *pass, const char *printed)
{
    (void)user;
    fprintf(stderr, "// after %s\n%s", pass, printed);
}

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

static const vkrt_device_info *opened(const command *c)
{
    return c->gpu && c->gpu->device ? vkrt_device_get_info(c->gpu->device) : NULL;
}

// Several iterations in a turn cost twice the time where loops are short, so not where the data stays
// below half the limit.
static bool few_turns(void *user, const vy_program *p)
{
    const command *c = user;
    const vkrt_device_info *device = opened(c);
    bool complete;
    if (!device || !c->launch) return false;
    const launch_values values = binding_values(c->launch);
    const uint64_t most = runnable_program_turns(c->launch->what, p, &values, &complete);
    return complete && most <= device->loop_turn_limit / 2;
}

// At launch.  What only the run decides may be short: such a domain stays as it is.
static int64_t extent_at_launch(void *user, const vy_program *p, uint32_t axis)
{
    const command *c = user;
    const launch_values values = binding_values(c->launch);
    const int64_t n = runnable_extent(c->launch->what, p, axis, &values);
    return n < 0 ? 1 : n;
}

// Elements of a domain that one invocation may make; measured on lavapipe, where the only limit is what
// fits registers.  GPUs hide latency by invocations, so they keep more of them.
static void choose_coarsening(const command *c, const vkrt_device_info *device, const binding *data,
                              vy_opt_options *opt)
{
    const bool cpu = device && strcmp(device->type, "CPU") == 0;
    opt->coarsen = (uint32_t)(c->o.coarsen < UINT16_MAX ? c->o.coarsen : UINT16_MAX);
    if (data) opt->extent = extent_at_launch;
    if (c->o.coarsen || !device || !data) return;
    opt->coarsen = cpu ? 40 : 16;
    opt->invocations = cpu ? 256 : 65536;
}

bool optimizer_request(command *c, bool for_eval, const binding *data, vy_opt_options *opt,
                       vy_diag *d)
{
    const options *o = &c->o;
    if (o->dump_after && !known_pass(o->dump_after, d)) return false;
    const vkrt_device_info *device = for_eval ? NULL : opened(c);
    // Subgroup arithmetic: what was enabled, and what the device that will run it has.
    vy_spirv_options target;
    if (!spirv_options(c, &target, d)) return false;
    const vy_features have =
        for_eval ? 0 : target.enabled | (device ? vkrt_device_features(c->gpu->device) : 0);
    *opt = (vy_opt_options){.level = o->level,
                            .subgroup_add = have & VY_FEATURE_BIT(SUBGROUP_ARITHMETIC),
                            .subgroup_shuffle = have & VY_FEATURE_BIT(SUBGROUP_SHUFFLE),
                            .subgroup_types = have & VY_FEATURE_BIT(SUBGROUP_EXTENDED_TYPES),
                            .registers = device != NULL,
                            .chunk = device && device->loop_turn_limit ? 8 : 0,
                            .few_turns = few_turns,
                            .lanes = device && device->loop_turn_limit ? device->subgroup_size : 0,
                            .fast_math = o->fast_math && !for_eval,
                            .unchecked = o->unchecked && !for_eval,
                            .dump_after = o->dump_after,
                            .dump = dump,
                            .user = c};
    c->launch = data;
    choose_coarsening(c, device, data, opt);
    return true;
}

bool optimize(command *c, vy_module *m, bool for_eval, binding *data, vy_diag *d)
{
    vy_opt_options opt;
    if (!optimizer_request(c, for_eval, data, &opt, d)) return false;
    progress_begin(c, "optimising");
    opt.final = m == c->final && !for_eval;
    const bool ok = vy_optimize(m, &opt);
    progress_end();
    if (!ok) return take_diag(m, d);
    return !data || binding_refresh(data, d);
}

bool optimize_final(command *c, vy_module *m, bool for_eval, binding *data, vy_diag *d)
{
    c->final = m;
    return optimize(c, m, for_eval, data, d);
}
