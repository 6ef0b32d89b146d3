// SPDX-License-Identifier: MIT
// runner.c: see runner.h.
#include "session/runner.h"

#include "session/internal.h"

#include <stdlib.h>
#include <string.h>

bool vys_vkrt_fail(const vkrt_error *e, const vys_words *words, vy_diag *d)
{
    switch (e->code) {
    case VKRT_OUT_OF_MEMORY: return vys_fail_memory(d);
    case VKRT_BAD_ARGUMENT: // what the user requested cannot be
    case VKRT_BAD_SHAPE:
    case VKRT_UNSET:
    case VKRT_CHECK:
    case VKRT_UNALIGNED: return vys_fail(d, VYS_SHAPE, e->fix, "%s", e->text);
    case VKRT_OVER_BUDGET: return vys_fail(d, VYS_TAPE, words ? words->tape : NULL, "%s", e->text);
    default: return vys_fail(d, VYS_DEVICE, e->fix, "%s", e->text);
    }
}

// ------------------------------------------------------------------------------------------ device
static bool device_fail(const vys_runner *r, const vkrt_error *e, vy_diag *d)
{
    return vys_vkrt_fail(e, r->data->words, d);
}

static const vy_symbol *find_symbol(const vy_plan *plan, const char *name)
{
    for (uint32_t i = 0; i < plan->symbol_count; i++)
        if (plan->symbols[i].kind == VY_SYMBOL_SCALAR && !strcmp(plan->symbols[i].name, name))
            return &plan->symbols[i];
    return NULL;
}

static bool set_scalars(vys_runner *r, vy_diag *d)
{
    for (uint32_t i = 0; i < r->data->scalar_count; i++) {
        const vys_bound_scalar *s = &r->data->scalars[i];
        vkrt_error e = {0};
        vkrt_status status;
        if (!find_symbol(r->steps, s->info.name)) continue; // nothing uses it
        if (vy_type_is_float(s->info.type))
            status = vkrt_plan_set_float(r->plan, s->info.name, s->value.f, &e);
        else if (s->info.type == VY_U64 && s->value.u > INT64_MAX)
            status = vkrt_plan_set_bits(r->plan, s->info.name, s->value.u, &e);
        else
            status = vkrt_plan_set_int(r->plan, s->info.name, s->value.i, &e);
        if (status) return device_fail(r, &e, d);
    }
    return true;
}

bool vys_runner_rescale(vys_runner *r, vy_diag *d)
{
    vkrt_error e = {0};
    uint32_t groups[3];
    if (!r->plan) return true;
    if (vys_binding_has_groups(r->data, groups) && vkrt_plan_set_groups(r->plan, groups, &e))
        return device_fail(r, &e, d);
    return set_scalars(r, d);
}

static void tell(const vys_work *w, const char *line)
{
    if (w->settings.tell) w->settings.tell(w->settings.user, line);
}

// A driver that ends loops at its limit of iterations does so silently.
static bool check_iterations(vys_runner *r, const vys_facts *f, vy_diag *d)
{
    const vys_launch values = vys_binding_values(r->data);
    const vy_program *worst;
    if (!f->loop_iteration_limit) return true;
    const uint64_t iterations =
        vys_entry_iterations(r->what, &values, &worst, &r->iterations_known);
    return iterations <= f->loop_iteration_limit ||
           vys_fail(d, VYS_DEVICE, "run fewer iterations, on another device, or in the interpreter",
                    "%s: its loops may take %llu iterations per invocation, and this device "
                    "silently ends them after %u",
                    vy_program_name(worst), (unsigned long long)iterations,
                    f->loop_iteration_limit);
}

static bool compile(vys_runner *r, const vys_work *w, vy_diag *d)
{
    const vys_facts facts = vys_facts_of(w->device);
    vy_spirv_options o = vys_spirv_options(&facts, &w->settings);
    const double start = vys_now_ms();
    char line[300] = "";
    if (!check_iterations(r, &facts, d)) return false;
    o.iterations_known = r->iterations_known; // else kernels find out
    r->compiled = vys_entry_compile(r->what, &o, d);
    if (!r->compiled) return vys_fail_memory(d); // unless it said why
    vys_append(line, sizeof line, "%s: %u instructions, %zu words of SPIR-V in %.1f ms%s",
               vys_entry_name(r->what), vys_entry_instructions(r->what), r->compiled->word_count,
               vys_now_ms() - start, r->compiled->validation.done ? ", validated" : "");
    tell(w, line);
    r->steps = r->compiled->plans;
    return true;
}

static void tell_caches(const vys_runner *r, const vys_work *w)
{
    static const char *const from[] = {"compiled now", "compiled before in this process",
                                       "from the cache on disk"};
    for (uint32_t i = 0; w->settings.tell && i < r->steps->kernel_count; i++) {
        const char *name;
        uint64_t ns;
        char line[300] = "";
        const vkrt_cache cache = vkrt_plan_kernel_cache(r->plan, i, &name, &ns);
        vys_append(line, sizeof line, "%s: pipeline %s, %.1f ms", name, from[cache],
                   (double)ns * 1e-6);
        tell(w, line);
    }
}

static bool prepare_device(vys_runner *r, const vys_work *w, vy_diag *d)
{
    vkrt_error e = {0};
    const vkrt_plan_desc desc = {.max_workspace_bytes = r->data->limit,
                                 .trust_loops = true,
                                 .timeout_ns = w->settings.timeout_ns};
    if (vkrt_plan_create(w->device, r->steps, &desc, &r->plan, &e)) return device_fail(r, &e, d);
    tell_caches(r, w);
    return vys_runner_rescale(r, d);
}

static bool run_device(vys_runner *r, double *ms, vy_diag *d)
{
    vkrt_error e = {0};
    if (vkrt_plan_run(r->plan, &e)) return device_fail(r, &e, d);
    const vkrt_stats s = vkrt_plan_stats(r->plan);
    *ms = (double)(s.has_device_ns ? s.device_ns : s.host_ns) * 1e-6;
    return true;
}

uint64_t vys_runner_workspace(const vys_runner *r)
{
    return r->plan ? vkrt_plan_stats(r->plan).workspace_bytes : 0;
}

// ------------------------------------------------------------------------------------- interpreter
// Exceeding the limit is the same error on both engines.
static void as_on_device(const vys_binding *b, vy_diag *d)
{
    char text[sizeof d->text];
    if (!b->limit || !vy_diag_is(d, VY_E_EVAL_LIMIT)) return;
    memcpy(text, d->text, sizeof text);
    *d = (vy_diag){0};
    vys_fail(d, VYS_TAPE, b->words->tape, "%s", text);
}

static bool run_eval(vys_runner *r, const vys_work *w, double *ms, vy_diag *d)
{
    const vys_binding *b = r->data;
    const vys_settings *s = &w->settings;
    vy_eval_buffer *buffers = calloc(b->buffer_count + 1, sizeof *buffers);
    vy_eval_scalar *scalars = calloc(b->scalar_count + 1, sizeof *scalars);
    bool ok = (buffers && scalars) || vys_fail_memory(d);
    for (uint32_t i = 0; ok && i < b->buffer_count; i++) {
        const vys_bound *from = &b->buffers[i];
        buffers[i] = (vy_eval_buffer){from->info.name, from->value.data, from->value.shape,
                                      from->value.rank};
    }
    for (uint32_t i = 0; ok && i < b->scalar_count; i++)
        scalars[i] = (vy_eval_scalar){b->scalars[i].info.name, b->scalars[i].value};
    vy_eval_options o = {.f64 = b->f64,
                         .subgroup_size = s->subgroup_size,
                         .shuffle_seed = s->shuffle_seed,
                         .report_races = s->report,
                         .report_out_of_range = s->report,
                         .report_uninitialised = s->report,
                         .max_workspace_bytes = b->limit};
    vys_binding_has_groups(b, o.groups);
    r->seen = (vy_eval_report){0};
    const double start = vys_now_ms();
    if (ok && r->what.pipeline)
        ok = vy_eval_pipeline(r->what.pipeline, buffers, b->buffer_count, scalars, b->scalar_count,
                              &o, &r->seen, d);
    else if (ok)
        ok = vy_eval(r->what.program, buffers, b->buffer_count, scalars, b->scalar_count, &o,
                     &r->seen, d);
    *ms = vys_now_ms() - start;
    free(buffers);
    free(scalars);
    if (!ok) as_on_device(b, d);
    return ok;
}

// -------------------------------------------------------------------------------------------- both
bool vys_runner_prepare(vys_runner *r, const vys_work *w, vys_binding *b, vy_diag *d)
{
    *r = (vys_runner){.what = b->what, .data = b};
    if (w->settings.interpreter) return true;
    vys_step(&w->settings, "compiling");
    const bool ok = compile(r, w, d) && prepare_device(r, w, d);
    vys_step(&w->settings, NULL);
    return ok;
}

bool vys_runner_prepare_steps(vys_runner *r, const vys_work *w, vys_binding *b,
                              const vy_plan *steps, vy_diag *d)
{
    *r = (vys_runner){.what = b->what, .data = b, .steps = steps};
    vys_step(&w->settings, "compiling");
    const bool ok = prepare_device(r, w, d);
    vys_step(&w->settings, NULL);
    return ok;
}

// What the plan has no use for starts as zeros all the same, if it is a result.
static bool clear_unused(const vys_runner *r, const vys_bound *b, vy_diag *d)
{
    const uint64_t bytes = b->value.count * vy_type_size(b->value.type);
    vkrt_error e = {0};
    if (!r->plan || !b->storage || b->info.cls != VY_OUT || !bytes) return true;
    void *zeros = calloc(1, bytes);
    if (!zeros) return vys_fail_memory(d);
    const bool bad = vkrt_storage_write(b->storage, b->storage_offset, zeros, bytes, &e);
    free(zeros);
    return !bad || device_fail(r, &e, d);
}

bool vys_runner_upload_one(vys_runner *r, const vys_bound *b, vy_diag *d)
{
    const vys_array *a = &b->value;
    uint32_t index;
    vkrt_error e = {0};
    if (!r->plan || !vkrt_plan_find_buffer(r->plan, b->info.name, &index))
        return clear_unused(r, b, d); // the interpreter, or nothing uses it
    const bool bad =
        b->storage ? vkrt_plan_bind(r->plan, b->info.name, a->rank, a->shape, b->storage,
                                    b->storage_offset, &e)
        : b->info.cls == VY_OUT
            ? vkrt_plan_set_shape(r->plan, b->info.name, a->rank, a->shape, &e)
            : vkrt_plan_set_buffer(r->plan, b->info.name, a->rank, a->shape, a->data, &e);
    return !bad || device_fail(r, &e, d);
}

bool vys_runner_upload(vys_runner *r, vy_diag *d)
{
    for (uint32_t i = 0; i < r->data->buffer_count; i++)
        if (!vys_runner_upload_one(r, &r->data->buffers[i], d)) return false;
    return true;
}

bool vys_runner_ready(vys_runner *r, vy_diag *d)
{
    vkrt_error e = {0};
    return !vkrt_plan_prepare(r->plan, &e) || device_fail(r, &e, d);
}

bool vys_runner_run(vys_runner *r, const vys_work *w, double *ms, vy_diag *d)
{
    vys_step(&w->settings, r->plan ? "running" : "interpreting");
    const bool ok = r->plan ? run_device(r, ms, d) : run_eval(r, w, ms, d);
    vys_step(&w->settings, NULL);
    return ok;
}

bool vys_runner_read_one(const vys_runner *r, const vys_bound *b, void *data, vy_diag *d)
{
    const uint64_t bytes = b->value.count * vy_type_size(b->value.type);
    uint32_t index;
    vkrt_error e = {0};
    if (r->plan && vkrt_plan_find_buffer(r->plan, b->info.name, &index))
        return !vkrt_plan_read(r->plan, b->info.name, data, bytes, &e) || device_fail(r, &e, d);
    if (b->storage)
        return !vkrt_storage_read(b->storage, b->storage_offset, data, bytes, &e) ||
               device_fail(r, &e, d);
    if (bytes && data != b->value.data) memcpy(data, b->value.data, bytes);
    return true;
}

bool vys_runner_read(vys_runner *r, vy_diag *d)
{
    for (uint32_t i = 0; i < r->data->buffer_count; i++) {
        const vys_bound *b = &r->data->buffers[i];
        if (b->info.cls != VY_IN && !vys_runner_read_one(r, b, b->value.data, d)) return false;
    }
    return true;
}

void vys_runner_free(vys_runner *r)
{
    vkrt_plan_destroy(r->plan);
    vy_compiled_free(r->compiled);
    *r = (vys_runner){0};
}
