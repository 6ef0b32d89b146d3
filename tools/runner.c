// SPDX-License-Identifier: MIT
// runner.c: see runner.h.
#include "tools/runner.h"

#include "tools/number.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

bool spirv_options(const command *c, vy_spirv_options *o, vy_diag *d)
{
    *o = (vy_spirv_options){.target = (vy_target)c->o.target,
                            .precise = c->o.precise,
                            .fast_math = c->o.fast_math,
                            .unchecked = c->o.unchecked,
                            .validate = !c->o.no_validate};
    for (uint32_t i = 0; i < c->o.enable.count; i++) {
        const char *name = c->o.enable.data[i], *all[VY_FEATURE_COUNT];
        vy_features bit;
        if (vy_feature_from_name(name, strlen(name), &bit)) {
            o->enabled |= bit;
            continue;
        }
        for (uint32_t k = 0; k < VY_FEATURE_COUNT; k++) all[k] = vy_feature_name(k);
        const char *near = nearest_name(name, all, VY_FEATURE_COUNT);
        char fix[120];
        snprintf(fix, sizeof fix, near ? "did you mean %s?" : "features are named as in %s",
                 near ? near : "`vyre-grad devices`");
        return fail(d, TOOL_USAGE, fix, "--enable %.80s: unknown feature", name);
    }
    return true;
}

// ------------------------------------------------------------------------------------------- vulkan
static const vy_symbol *find_symbol(const vy_plan *plan, const char *name)
{
    for (uint32_t i = 0; i < plan->symbol_count; i++)
        if (plan->symbols[i].kind == VY_SYMBOL_SCALAR && !strcmp(plan->symbols[i].name, name))
            return &plan->symbols[i];
    return NULL;
}

static bool set_scalars(runner *r, vy_diag *d)
{
    for (uint32_t i = 0; i < r->data->scalar_count; i++) {
        const bound_scalar *s = &r->data->scalars[i];
        vkrt_error e = {0};
        vkrt_status status;
        if (!find_symbol(r->steps, s->info.name)) continue; // nothing uses it
        if (vy_type_is_float(s->info.type))
            status = vkrt_plan_set_float(r->plan, s->info.name, s->value.f, &e);
        else if (s->info.type == VY_U64 && s->value.u > INT64_MAX)
            status = vkrt_plan_set_bits(r->plan, s->info.name, s->value.u, &e);
        else
            status = vkrt_plan_set_int(r->plan, s->info.name, s->value.i, &e);
        if (status) return gpu_fail(&e, d);
    }
    return true;
}

static bool compile(runner *r, command *c, vy_diag *d)
{
    vy_spirv_options o;
    if (!spirv_options(c, &o, d)) return false;
    o.enabled |= vkrt_device_features(c->gpu->device);
    double start = now_ms();
    r->compiled = runnable_compile(r->what, &o, d);
    if (!r->compiled) return fail_memory(d); // unless it said why
    const char *name = runnable_name(r->what);
    verbose(c, "%s: %u instructions, %zu words of SPIR-V in %.1f ms%s", name,
            runnable_instructions(r->what), r->compiled->word_count, now_ms() - start,
            o.validate ? ", validated" : "");
    r->steps = r->compiled->plans;
    return true;
}

static bool prepare_vulkan(runner *r, command *c, vy_diag *d)
{
    vkrt_error e = {0};
    const char *name;
    const vkrt_plan_desc desc = {.max_workspace_bytes = r->data->limit};
    if (vkrt_plan_create(c->gpu->device, r->steps, &desc, &r->plan, &e)) return gpu_fail(&e, d);
    for (uint32_t i = 0; i < r->steps->kernel_count; i++) {
        static const char *const from[] = {"compiled now", "compiled before in this process",
                                           "from the cache on disk"};
        uint64_t ns;
        const vkrt_cache cache = vkrt_plan_kernel_cache(r->plan, i, &name, &ns);
        verbose(c, "%s: pipeline %s, %.1f ms", name, from[cache], (double)ns * 1e-6);
    }
    uint32_t groups[3];
    if (binding_has_groups(r->data, groups) && vkrt_plan_set_groups(r->plan, groups, &e))
        return gpu_fail(&e, d);
    return set_scalars(r, d);
}

static bool run_vulkan(runner *r, command *c, double *ms, vy_diag *d)
{
    vkrt_error e = {0};
    if (vkrt_plan_run(r->plan, &e)) return gpu_fail(&e, d);
    const vkrt_stats s = vkrt_plan_stats(r->plan);
    *ms = (double)(s.has_device_ns ? s.device_ns : s.host_ns) * 1e-6;
    (void)c;
    return true;
}

// --------------------------------------------------------------------------------------- interpreter
// What the interpreter saw; a race or a read of what was never written means a wrong program.
static bool tell_report(const command *c, const runner *r, const vy_eval_report *report, vy_diag *d)
{
    const char *name = runnable_name(r->what);
    if (!c->o.report) return true;
    note(c, "%s: %llu data races, %llu accesses out of range, %llu reads before a write", name,
         (unsigned long long)report->races, (unsigned long long)report->out_of_range,
         (unsigned long long)report->uninitialised);
    if (!report->races && !report->uninitialised) return true;
    *d = report->first;
    d->severity = VY_ERROR;
    return false;
}

static bool run_eval(runner *r, command *c, double *ms, vy_diag *d)
{
    const binding *b = r->data;
    vy_eval_buffer *buffers = calloc(b->buffer_count + 1, sizeof *buffers);
    vy_eval_scalar *scalars = calloc(b->scalar_count + 1, sizeof *scalars);
    bool ok = (buffers && scalars) || fail_memory(d);
    for (uint32_t i = 0; ok && i < b->buffer_count; i++) {
        const bound_buffer *from = &b->buffers[i];
        buffers[i] = (vy_eval_buffer){from->info.name, from->value.data, from->value.shape,
                                      from->value.rank};
    }
    for (uint32_t i = 0; ok && i < b->scalar_count; i++)
        scalars[i] = (vy_eval_scalar){b->scalars[i].info.name, b->scalars[i].value};
    vy_eval_options o = {.f64 = b->f64,
                         .subgroup_size = (uint32_t)c->o.subgroup_size,
                         .shuffle_seed = c->o.shuffle,
                         .report_races = c->o.report,
                         .report_out_of_range = c->o.report,
                         .report_uninitialised = c->o.report,
                         .max_workspace_bytes = b->limit};
    binding_has_groups(b, o.groups);
    vy_eval_report seen = {0};
    const double start = now_ms();
    if (ok && r->what.pipeline)
        ok = vy_eval_pipeline(r->what.pipeline, buffers, b->buffer_count, scalars, b->scalar_count,
                              &o, &seen, d);
    else if (ok)
        ok = vy_eval(r->what.program, buffers, b->buffer_count, scalars, b->scalar_count, &o, &seen,
                     d);
    *ms = now_ms() - start;
    free(buffers);
    free(scalars);
    if (!ok && b->limit && d->code && !strcmp(d->code, "E0714")) { // as on the device
        char text[sizeof d->text];
        memcpy(text, d->text, sizeof text);
        *d = (vy_diag){0};
        fail(d, TOOL_TAPE, NULL, "%s", text);
    }
    return ok && tell_report(c, r, &seen, d);
}

// --------------------------------------------------------------------------------------------- both
bool runner_prepare(runner *r, command *c, binding *b, vy_diag *d)
{
    *r = (runner){.what = b->what, .data = b};
    if (c->o.engine == ENGINE_EVAL) return true;
    progress_begin(c, "compiling");
    const bool ok = compile(r, c, d) && prepare_vulkan(r, c, d);
    progress_end();
    return ok;
}

bool runner_prepare_steps(runner *r, command *c, binding *b, const vy_plan *steps, vy_diag *d)
{
    *r = (runner){.what = b->what, .data = b, .steps = steps};
    progress_begin(c, "compiling");
    const bool ok = prepare_vulkan(r, c, d);
    progress_end();
    return ok;
}

bool runner_upload(runner *r, vy_diag *d)
{
    for (uint32_t i = 0; r->plan && i < r->data->buffer_count; i++) {
        const bound_buffer *b = &r->data->buffers[i];
        const array *a = &b->value;
        uint32_t index;
        vkrt_error e = {0};
        if (!vkrt_plan_find_buffer(r->plan, b->info.name, &index)) continue; // nothing uses it
        const bool bad =
            b->info.cls == VY_OUT
                ? vkrt_plan_set_shape(r->plan, b->info.name, a->rank, a->shape, &e)
                : vkrt_plan_set_buffer(r->plan, b->info.name, a->rank, a->shape, a->data, &e);
        if (bad) return gpu_fail(&e, d);
    }
    return true;
}

bool runner_run(runner *r, command *c, double *ms, vy_diag *d)
{
    progress_begin(c, r->plan ? "running" : "interpreting");
    const bool ok = r->plan ? run_vulkan(r, c, ms, d) : run_eval(r, c, ms, d);
    progress_end();
    return ok;
}

bool runner_read(runner *r, vy_diag *d)
{
    for (uint32_t i = 0; r->plan && i < r->data->buffer_count; i++) {
        bound_buffer *b = &r->data->buffers[i];
        uint32_t index;
        vkrt_error e = {0};
        if (b->info.cls == VY_IN || !vkrt_plan_find_buffer(r->plan, b->info.name, &index)) continue;
        const uint64_t bytes = b->value.count * vy_type_size(b->value.type);
        if (vkrt_plan_read(r->plan, b->info.name, b->value.data, bytes, &e)) return gpu_fail(&e, d);
    }
    return true;
}

void runner_free(runner *r)
{
    vkrt_plan_destroy(r->plan);
    vy_compiled_free(r->compiled);
    *r = (runner){0};
}
