// SPDX-License-Identifier: MIT
// yardstick.c: see yardstick.h.
#include "tools/verbs/bench/yardstick.h"

#include "tools/verbs/bench/shader.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

// ------------------------------------------------------------------------------------------ places
// Gives the error just reported a place in the plan file; returns false.
static bool at_place(vy_diag *d, uint32_t line, uint32_t column)
{
    if (d->line == 0 && d->severity == VY_ERROR) d->line = line, d->column = column;
    return false;
}

// The first dispatch of program `name`.
static const vy_pipe_step *dispatch_of(const yardstick *y, const char *name)
{
    for (uint32_t i = 0; i < vy_pipeline_step_count(y->pipeline); i++) {
        const vy_pipe_step *s = vy_pipeline_step(y->pipeline, i);
        if (s->kind == VY_PIPE_DISPATCH &&
            !strcmp(vy_program_name(vy_module_program(y->module, s->program)), name))
            return s;
    }
    return NULL;
}

static bool at_dispatch(const yardstick *y, const char *name, vy_diag *d)
{
    const vy_pipe_step *s = dispatch_of(y, name);
    return at_place(d, s ? s->line : 0, s ? s->column : 0);
}

// ------------------------------------------------------------------- does the shader fit the plan?
static const vy_kernel_binding *find_binding(const vy_kernel *k, const shader_binding *b)
{
    for (uint32_t i = 0; i < k->binding_count; i++)
        if (k->bindings[i].set == b->set && k->bindings[i].binding == b->binding)
            return &k->bindings[i];
    return NULL;
}

static bool fit_bindings(const vy_program *p, const vy_kernel *k, const shader *s, vy_diag *d)
{
    for (uint32_t i = 0; i < s->binding_count; i++) {
        const shader_binding *b = &s->bindings[i];
        const vy_kernel_binding *as = find_binding(k, b);
        if (!as)
            return fail(d, TOOL_PLAN,
                        "bindings are the program's buffers, numbered from 0 in set 0",
                        "%.80s.spv has a buffer at set %u binding %u, where the plan has none",
                        k->name, b->set, b->binding);
        if (as->access != VY_ACCESS_IN || b->read_only) continue;
        const vy_buffer buffer = vy_program_find_buffer(p, as->name);
        fail(d, TOOL_PLAN, "write `readonly buffer` in the shader, or `inout` in the plan",
             "%.80s.spv may write binding %u, which is `in %.80s` here", k->name, b->binding,
             as->name);
        return at_place(d, vy_program_buffer(p, buffer).line, 1);
    }
    return true;
}

static const vy_kernel_param *find_param(const vy_kernel *k, uint32_t offset)
{
    for (uint32_t i = 0; i < k->param_count; i++)
        if (k->params[i].offset == offset) return &k->params[i];
    return NULL;
}

static bool fit_push_constants(const vy_kernel *k, const shader *s, vy_diag *d)
{
    for (uint32_t i = 0; i < s->field_count; i++) {
        const shader_field *f = &s->fields[i];
        const vy_kernel_param *p = find_param(k, f->offset);
        const bool floating = p && p->type[0] == 'f';
        if (p && p->size == f->size && floating == f->floating) continue;
        return fail(
            d, TOOL_PLAN, "push constants are the program's scalars, in order",
            "%.80s.spv has a push constant of %u bytes (%s) at offset %u, where the plan has %s "
            "%.80s",
            k->name, f->size, f->floating ? "float" : "integer", f->offset, p ? p->type : "nothing",
            p ? p->name : "");
    }
    return true;
}

static bool fit(const vy_program *p, vy_kernel *k, const shader *s, vy_diag *d)
{
    if (vy_program_instruction_count(p))
        return fail(d, TOOL_PLAN, "leave the body empty: {}",
                    "program %.80s has code, but %.80s.spv is what runs", k->name, k->name);
    if (memcmp(k->local_size, s->local_size, sizeof k->local_size))
        return fail(d, TOOL_PLAN, "make `workgroup` and `local_size` agree",
                    "%.80s: workgroup %u×%u×%u here, %u×%u×%u in %.80s.spv", k->name,
                    k->local_size[0], k->local_size[1], k->local_size[2], s->local_size[0],
                    s->local_size[1], s->local_size[2], k->name);
    return fit_bindings(p, k, s, d) && fit_push_constants(k, s, d);
}

// -------------------------------------------------------------------------------------- one kernel
// What a kernel of ours gets besides its scalars (extents, where a split dispatch begins) comes
// behind them; a shader by hand gets none of it.
static void keep_scalars(vy_kernel *k)
{
    k->splits = false; // a shader by hand does not know where its part of a dispatch begins
    uint32_t count = 0;
    while (count < k->param_count && k->params[count].kind == VY_PARAM_SCALAR) count++;
    k->param_count = count;
    k->param_bytes = 0;
    if (!count) return;
    const vy_kernel_param *last = &k->params[count - 1];
    k->param_bytes = last->offset + (last->size == 8 ? 8 : 4);
}

// "PATH/NAME.spv" beside the plan, else where the build puts shaders.
static bool find_words(const char *plan, const char *name, text *path, vy_diag *d)
{
    const char *slash = strrchr(plan, '/');
    text_printf(path, "%.*s%s.spv", slash ? (int)(slash - plan + 1) : 0, plan, name);
    if (path->failed) return fail_memory(d);
    if (!access(path->data, R_OK)) return true;
    char own[4096];
    const ssize_t n = readlink("/proc/self/exe", own, sizeof own - 1);
    own[n > 0 ? n : 0] = 0;
    char *end = strrchr(own, '/');
    if (end) *end = 0;
    text_free(path);
    text_printf(path, "%s/../shaders/%s.spv", own, name);
    if (path->failed) return fail_memory(d);
    return !access(path->data, R_OK) ||
           fail(d, TOOL_PLAN, "compile it: glslangValidator -V NAME.comp -o NAME.spv",
                "there is no %.80s.spv beside the plan or in %.200s/../shaders", name, own);
}

// spirv-val's findings concern a foreign module here, not ours.
static bool valid(const vy_kernel *k, const char *path, vy_diag *d)
{
    vy_diag why = {0};
    if (vy_spirv_validate(k->words, k->word_count, VY_VULKAN_1_3, &why)) return true;
    if (why.blame == VY_BLAME_SYSTEM && !vy_diag_is(&why, VY_E_INVALID_SPIRV))
        return *d = why, false;
    const char *text = why.text + (strncmp(why.text, "internal: ", 10) ? 0 : 10);
    return fail(d, TOOL_PLAN, "compile it with glslangValidator -V", "%.120s: %.*s", path,
                (int)strcspn(text, "\n"), text);
}

static bool take_shader(yardstick *y, uint32_t i, const char *plan, text *path, vy_diag *d)
{
    vy_kernel *k = &y->kernels[i];
    text *t = &y->words[i];
    shader s = {0};
    if (!find_words(plan, k->name, path, d) || !file_read(path->data, FILE_LIMIT, t, d))
        return false;
    if (!t->size || t->size % 4)
        return fail(d, TOOL_PLAN, "compile it with glslangValidator -V", "%.200s: not SPIR-V",
                    path->data);
    k->words = (const uint32_t *)t->data; // from malloc, so aligned
    k->word_count = t->size / 4;
    if (!valid(k, path->data, d)) return false;
    const vy_program *p = vy_module_find(y->module, k->name);
    keep_scalars(k);
    const bool ok = shader_read(&s, k->words, k->word_count, path->data, d) && fit(p, k, &s, d);
    k->entry = "main";
    k->spirv_version = s.version;
    const uint32_t minor = s.version <= 0x10300 ? 1 : s.version <= 0x10500 ? 2 : 3;
    k->vulkan_version = 1u << 22 | minor << 12;
    k->shared_bytes = s.shared_bytes;
    k->features = s.features;
    shader_free(&s);
    return ok;
}

// An intermediate is zero at its declaration.  A yardstick saves that time, and takes it as `out`
// where it must be zero.  The steps of a repeat are counted anew.
static bool clears(const vy_plan *p, const vy_plan_step *s)
{
    return s->kind == VY_STEP_FILL && s->pattern == 0 && !s->part &&
           p->buffers[s->buffer].role == VY_ROLE_WORKSPACE;
}

static bool take_steps(yardstick *y, vy_diag *d)
{
    const vy_plan *from = y->compiled->plans;
    uint32_t *kept = calloc((size_t)from->step_count + 1, sizeof *kept); // before each step
    y->steps = calloc((size_t)from->step_count + 1, sizeof *y->steps);
    if (!kept || !y->steps) {
        free(kept);
        return fail_memory(d);
    }
    for (uint32_t i = 0; i < from->step_count; i++)
        kept[i + 1] = kept[i] + !clears(from, &from->steps[i]);
    for (uint32_t i = 0; i < from->step_count; i++) {
        if (kept[i + 1] == kept[i]) continue;
        vy_plan_step *s = &y->steps[kept[i]];
        *s = from->steps[i];
        if (s->kind == VY_STEP_REPEAT) s->count = kept[i + 1 + s->count] - kept[i + 1];
    }
    y->plan.steps = y->steps;
    y->plan.step_count = kept[from->step_count];
    free(kept);
    return true;
}

static bool take_shaders(yardstick *y, const char *plan, vy_diag *d)
{
    const vy_plan *from = y->compiled->plans;
    const uint32_t count = from->kernel_count;
    y->kernels = calloc(count + 1, sizeof *y->kernels);
    y->words = calloc(count + 1, sizeof *y->words);
    if (!y->kernels || !y->words) return fail_memory(d);
    if (!dispatch_of(y, from->kernels[0].name))
        return fail(d, TOOL_PLAN, "dispatch the hand-written programs in it",
                    "pipeline %.80s dispatches nothing", from->name);
    for (uint32_t i = 0; i < count; i++) {
        text path = {0};
        y->kernels[i] = from->kernels[i];
        const bool ok = take_shader(y, i, plan, &path, d);
        text_free(&path);
        if (!ok) return at_dispatch(y, from->kernels[i].name, d);
    }
    y->plan = *from;
    y->plan.kernels = y->kernels;
    return take_steps(y, d);
}

// ----------------------------------------------------------------------------------- the plan file
static bool read_plan(yardstick *y, const text *source, const char *path, vy_diag *d)
{
    y->module = vy_parse(source->data ? source->data : "", source->size, path);
    if (!y->module) return fail_memory(d);
    if (!vy_module_ok(y->module)) return *d = *vy_module_diag(y->module), false;
    const uint32_t n = vy_module_pipeline_count(y->module);
    if (!n)
        return fail(d, TOOL_PLAN, "write `pipeline NAME(…) { … }` (shaders/README.md)",
                    "%.200s holds no pipeline", path);
    y->pipeline = vy_module_pipeline(y->module, n - 1);
    const vy_spirv_options o = {.target = VY_VULKAN_1_3};
    vy_diag why = {0};
    y->compiled = vy_compile_pipeline(y->pipeline, &o, &why);
    if (!y->compiled) *d = why;
    return y->compiled != NULL;
}

bool yardstick_load(yardstick *y, command *c, const char *path, vy_diag *d)
{
    text source = {0};
    *y = (yardstick){0};
    bool ok = file_read(path, FILE_LIMIT, &source, d);
    ok = ok && read_plan(y, &source, path, d) && take_shaders(y, path, d);
    if (!ok && d->line) { // its place is in this file
        text_free(&c->contents);
        c->contents = source;
        c->about = path;
    } else {
        text_free(&source);
    }
    return ok;
}

void yardstick_free(yardstick *y)
{
    for (uint32_t i = 0; y->words && i < y->compiled->plans->kernel_count; i++)
        text_free(&y->words[i]);
    free(y->words);
    free(y->kernels);
    free(y->steps);
    vy_compiled_free(y->compiled);
    vy_module_free(y->module);
    *y = (yardstick){0};
}

// ----------------------------------------------------------------------------------------- amounts
static void scalar_value(const binding *b, const char *name, int64_t *value, bool *known)
{
    for (uint32_t i = 0; i < b->scalar_count; i++) {
        const bound_scalar *s = &b->scalars[i];
        if (strcmp(s->info.name, name) || !vy_type_is_integer(s->info.type)) continue;
        *value = s->value.i;
        *known = true;
    }
}

double yardstick_amount(const yardstick *y, const binding *b, const char *what)
{
    const vy_program *p = vy_module_find(y->module, what);
    if (!p || dispatch_of(y, what)) return -1;
    const uint32_t n = vy_program_scalar_count(p), dims = vy_program_dim_count(p);
    int64_t *scalars = calloc(n + 1, sizeof *scalars), *values = calloc(dims + 1, sizeof *values);
    bool *known = calloc(n + 1, sizeof *known);
    vy_dim_state *states = calloc(dims + 1, sizeof *states);
    double amount = scalars && values && known && states ? 1 : -1;
    for (uint32_t i = 0; i < n && amount > 0; i++)
        scalar_value(b, vy_program_scalar(p, i).name, &scalars[i], &known[i]);
    if (amount > 0) vy_program_dim_values(p, scalars, known, NULL, NULL, values, states);
    for (uint32_t i = 0; i < vy_program_over_count(p) && amount >= 0; i++) {
        const uint32_t dim = vy_program_over(p, i).extent.id;
        const bool good = states[dim] == VY_DIM_IS_KNOWN && values[dim] >= 0;
        amount = good ? amount * (double)values[dim] : -1;
    }
    free(scalars);
    free(values);
    free(known);
    free(states);
    return amount;
}
