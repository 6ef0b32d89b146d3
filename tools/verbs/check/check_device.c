// SPDX-License-Identifier: MIT
// check_device.c: the gradient, and the program itself, on the device against the interpreter.
//
// Both compute in the program's own types, in different orders and with different functions.  The
// tolerance follows from the type (the bounds of the default mode, for which Vulkan requires
// little) and, for ill-conditioned sums, from the rounding error in the interpreter: the distance
// between its results in the program's types and in double.
#include "tools/verbs/check/check.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

// The tolerance of an element of the type, relative to max(1, its magnitude).
static double device_tolerance(const command *c, vy_type type)
{
    if (type == VY_F64) return 1e-9;
    return (type == VY_F16 ? 2e-2 : 1e-3) / (c->o.precise ? 10 : 1);
}

// The factor by which the device's rounding errors may exceed the interpreter's; the program
// amplifies both equally.  --precise gives the interpreter's bits except for the order of sums; the
// default contracts, and uses shorter functions of our own; --fast-math uses the device's, which
// Vulkan bounds absolutely.  Measured on five iterations of sin(a·b) in text/grad/shared/tiles
// (pingpong), where the interpreter's own f32 is 2.2e-4 from double: 0, 3.8e-4, 2.5e-3.
static double amplified(const command *c) { return c->o.fast_math ? 64 : 8; }

static bool is_gradient(const checking *k, const vy_buffer_info *b)
{
    return b->cls == VY_OUT && !vys_binding_source(checked_data(k), b);
}

// With cotangents that differ from element to element where the gradient takes any: all ones would
// hide errors.
static vys_entry gradient_on(const checking *k)
{
    return k->seeded.module ? k->seeded.what : k->gradient.what;
}

// The program's data again, for `what`, which has the source's parameters; f64: the same numbers in
// double.
static bool start_again(checking *k, const command *c, vys_entry what, bool f64, binding *b,
                        vy_diag *d)
{
    return binding_create(b, what, f64, d) && binding_set(b, &c->o.set, d) &&
           binding_groups(b, c->o.groups, d) && binding_specs(b, &k->in, NULL, d) &&
           default_scalars(b, &k->what, NULL, d) && vys_binding_fill(b, d);
}

static bool evaluate(command *c, binding *b, vy_diag *d)
{
    const int engine = c->o.engine;
    runner r = {0};
    double ms;
    c->o.engine = ENGINE_EVAL;
    const bool ok = runner_prepare(&r, c, b, d) && runner_run(&r, c, &ms, d);
    c->o.engine = engine;
    vys_runner_free(&r);
    return ok;
}

// Runs the gradient in the interpreter; f64: floats in double.
static bool interpret(checking *k, command *c, bool f64, binding *out, vy_diag *d)
{
    binding start = {0};
    bool ok = !f64 || start_again(k, c, k->source, true, &start, d);
    ok = ok && binding_create(out, gradient_on(k), f64, d) &&
         binding_derive(out, f64 ? &start : &k->start, &k->device_ct, d) && evaluate(c, out, d);
    vys_binding_free(&start);
    return ok;
}

// The largest distance between the two, relative to max(floor, magnitude).
static double rounding(const array *own, const array *wide, double floor)
{
    double worst = 0;
    const uint32_t size = vy_type_size(own->type);
    for (uint64_t e = 0; e < own->count; e++) {
        const double a = vy_scalar_read(own->type, (const char *)own->data + e * size).f;
        const double b = ((const double *)wide->data)[e];
        const double error = fabs(a - b) / fmax(floor, fmax(fabs(a), fabs(b)));
        if (error > worst && isfinite(error)) worst = error;
    }
    return worst;
}

// Fills gradients with garbage, as a driver may leave it: the result must not depend on it.
static bool poison(const checking *k, runner *r, vy_diag *d)
{
    for (uint32_t i = 0; i < r->data->buffer_count; i++) {
        bound_buffer *b = &r->data->buffers[i];
        uint32_t index;
        vkrt_error e = {0};
        if (!is_gradient(k, &b->info) || !vkrt_plan_find_buffer(r->plan, b->info.name, &index))
            continue;
        const size_t bytes = (size_t)(b->value.count * vy_type_size(b->value.type));
        if (bytes) memset(b->value.data, 0xFF, bytes); // NaN in every type
        if (vkrt_plan_set_buffer(r->plan, b->info.name, b->value.rank, b->value.shape,
                                 b->value.data, &e))
            return gpu_fail(&e, d);
    }
    return true;
}

static const vy_check_row *row_of(const checking *k, const char *gradient)
{
    for (uint32_t i = 0; i < k->result->count; i++)
        if (k->result->rows[i].test == VY_CHECK_TANGENTS &&
            !strcmp(k->result->rows[i].buffer, gradient))
            return &k->result->rows[i];
    return NULL;
}

static double terms_of(const checking *k, const char *gradient)
{
    const vy_check_row *row = row_of(k, gradient);
    return row ? row->size : 0;
}

// A name with the lifetime of the result.
static const char *name_of(const checking *k, const char *gradient)
{
    const vy_check_row *row = row_of(k, gradient);
    return row ? row->buffer : "";
}

// A column that reports why it is empty.
static bool skip(checking *k, const char *why, vy_diag *d)
{
    return vy_check_skip(k->result, VY_CHECK_DEVICE, "", why) != NULL || fail_memory(d);
}

// Its value in another binding, by name: an optimised program may lack what nothing uses.
static const array *same_of(const binding *b, const vy_buffer_info *info)
{
    const vys_bound *found = vys_binding_find(b, info->name);
    return found ? &found->value : NULL;
}

static bool compare(checking *k, const command *c, const binding *own, const binding *wide,
                    const binding *device, vy_diag *d)
{
    for (uint32_t i = 0; i < device->buffer_count; i++) {
        const vy_buffer_info *info = &device->buffers[i].info;
        if (!is_gradient(k, info)) continue;
        const array *a = &device->buffers[i].value, *b = same_of(own, info),
                    *exact = same_of(wide, info);
        if (!b || !exact) return skip(k, "the interpreter's derivative has no such buffer", d);
        const double floor = vy_check_floor_of(b->type, b->count, b->data, terms_of(k, info->name));
        const double tolerance =
            fmax(device_tolerance(c, a->type), amplified(c) * rounding(b, exact, floor));
        if (!vy_check_compare_to(k->result, VY_CHECK_DEVICE, name_of(k, info->name), a->type,
                                 a->count, a->data, b->data, tolerance, floor))
            return fail_memory(d);
    }
    return true;
}

// --------------------------------------------------------------------------------- forward outputs
static bool compare_outputs(checking *k, const command *c, vy_check_test test, const binding *own,
                            const binding *wide, const binding *other, vy_diag *d)
{
    for (uint32_t i = 0; i < other->buffer_count; i++) {
        const vy_buffer_info *info = &other->buffers[i].info;
        const array *a = &other->buffers[i].value, *b = &own->buffers[i].value;
        // floats on different sides of a half convert to different integers
        if (info->cls == VY_IN || !vy_type_is_float(info->type)) continue;
        const double floor = vy_check_floor_of(b->type, b->count, b->data, 0);
        const double tolerance = fmax(device_tolerance(c, a->type),
                                      amplified(c) * rounding(b, &wide->buffers[i].value, floor));
        if (!vy_check_compare_to(k->result, test, k->start.buffers[i].info.name, a->type, a->count,
                                 a->data, b->data, tolerance, floor))
            return fail_memory(d);
    }
    return true;
}

static bool forward_device(command *c, binding *data, vy_diag *d)
{
    runner r = {0};
    double ms;
    const bool ok = optimize(c, c->module, false, data, d) && runner_prepare(&r, c, data, d) &&
                    vys_runner_upload(&r, d) && runner_run(&r, c, &ms, d) && vys_runner_read(&r, d);
    vys_runner_free(&r);
    return ok;
}

// The program itself, parsed again, because optimisation for the device changes it in place.
static bool run_forward(checking *k, command *c, vy_diag *d)
{
    vy_module *const parsed = c->module;
    binding own = {0}, wide = {0}, data = {0};
    vys_entry what;
    vy_module *copy = NULL;
    bool ok = start_again(k, c, k->source, false, &own, d) && evaluate(c, &own, d) &&
              start_again(k, c, k->source, true, &wide, d) && evaluate(c, &wide, d) &&
              load_again(c, &copy, d) && select_entry(c, copy, &what, d) &&
              start_again(k, c, what, false, &data, d);
    c->module = copy;
    c->work.module = copy;
    ok = ok && forward_device(c, &data, d);
    c->module = parsed;
    c->work.module = parsed;
    ok = ok && compare_outputs(k, c, VY_CHECK_DEVICE_FORWARD, &own, &wide, &data, d);
    vys_binding_free(&own);
    vys_binding_free(&wide);
    vys_binding_free(&data);
    vy_module_free(copy);
    return ok;
}

bool check_named(checking *k, command *c, vy_diag *d)
{
    binding own = {0}, wide = {0}, named = {0};
    if (k->named.pipeline == k->source.pipeline) return true;
    const bool ok = start_again(k, c, k->source, false, &own, d) && evaluate(c, &own, d) &&
                    start_again(k, c, k->source, true, &wide, d) && evaluate(c, &wide, d) &&
                    start_again(k, c, k->named, false, &named, d) && evaluate(c, &named, d) &&
                    compare_outputs(k, c, VY_CHECK_STAND_IN, &own, &wide, &named, d);
    vys_binding_free(&own);
    vys_binding_free(&wide);
    vys_binding_free(&named);
    return ok;
}

// A second run on the same memory must give the same result.
static bool again(checking *k, const command *c, runner *r, const binding *first, vy_diag *d)
{
    for (uint32_t i = 0; i < first->buffer_count; i++) {
        const array *now = &r->data->buffers[i].value, *before = &first->buffers[i].value;
        if (!is_gradient(k, &first->buffers[i].info)) continue;
        const double tolerance =
            vy_check_order_matters((vy_check_subject){r->what.program, r->what.pipeline})
                ? device_tolerance(c, now->type)
                : 0;
        if (!vy_check_compare(k->result, VY_CHECK_DEVICE_TWICE,
                              name_of(k, first->buffers[i].info.name), now->type, now->count,
                              now->data, before->data, tolerance))
            return fail_memory(d);
    }
    return true;
}

static bool keep(const binding *from, binding *to)
{
    for (uint32_t i = 0; i < from->buffer_count; i++)
        if (from->buffers[i].value.count)
            memcpy(to->buffers[i].value.data, from->buffers[i].value.data,
                   from->buffers[i].value.count * vy_type_size(from->buffers[i].value.type));
    return true;
}

// Of the program as written, which was optimised in place for the interpreter: of a store that is
// never reached, whose buffer is an output, nothing may be left there.
static bool derive_again(checking *k, command *c, derivative *out, vy_diag *d)
{
    vy_module *const parsed = c->module;
    const vys_entry source = k->source;
    vy_module *copy = NULL;
    bool ok = load_again(c, &copy, d) && select_entry(c, copy, &k->source, d);
    if (ok && k->source.pipeline)
        k->source = vys_entry_pipeline(vy_check_stand_in(k->source.pipeline));
    c->module = copy;
    c->work.module = copy;
    ok = ok && check_derive(k, c, false, k->seeded.module != NULL, c->o.order, out, d);
    c->module = parsed;
    c->work.module = parsed;
    k->source = source;
    vys_forget_source(&c->work);
    vy_module_free(copy);
    return ok;
}

static bool run_device(checking *k, command *c, const binding *own, const binding *wide, vy_diag *d)
{
    derivative g = {0};
    binding data = {0}, first = {0};
    runner r = {0};
    double ms;
    bool ok = derive_again(k, c, &g, d) && binding_create(&data, g.what, false, d) &&
              binding_derive(&data, &k->start, &k->device_ct, d) &&
              optimize(c, g.module, false, &data, d) && binding_create(&first, g.what, false, d) &&
              binding_derive(&first, &k->start, &k->device_ct, d) &&
              runner_prepare(&r, c, &data, d) && vys_runner_upload(&r, d) && poison(k, &r, d) &&
              runner_run(&r, c, &ms, d) && vys_runner_read(&r, d) && keep(&data, &first) &&
              compare(k, c, own, wide, &data, d) && runner_run(&r, c, &ms, d) &&
              vys_runner_read(&r, d) && again(k, c, &r, &first, d);
    vys_runner_free(&r);
    vys_binding_free(&data);
    vys_binding_free(&first);
    vy_module_free(g.module);
    return ok;
}

void check_lanes(command *c)
{
    vy_diag unused = {0};
    if (c->o.subgroup_size || c->o.engine == ENGINE_EVAL || !gpu_open_device(c, &unused)) return;
    c->o.subgroup_size = vkrt_device_get_info(c->gpu->device)->subgroup_size;
}

bool check_device(checking *k, command *c, vy_diag *d)
{
    const char *named = getenv("VYRE_DEVICE");
    const bool asked = c->o.device || (named && *named);
    binding own = {0}, wide = {0};
    vy_diag why = {0};
    k->device_off = c->o.engine == ENGINE_EVAL;
    if (k->device_off) return skip(k, "not run: --engine eval", d);
    if (!gpu_open_device(c, &why)) {
        if (asked) return *d = why, false;
        char text[200];
        snprintf(text, sizeof text, "no device: %.180s", why.text);
        return skip(k, text, d);
    }
    k->device = vkrt_device_get_info(c->gpu->device)->name;
    bool ok =
        check_varied_ct(k, d) && interpret(k, c, false, &own, d) && interpret(k, c, true, &wide, d);
    if (ok &&
        (!run_device(k, c, &own, &wide, &why) || (!k->first.module && !run_forward(k, c, &why)))) {
        // a missing feature of the device is no fault of the gradient
        ok = vy_diag_is(&why, VY_E_ATOMIC_FEATURE) || vys_diag_is(&why, VYS_DEVICE)
                 ? skip(k, why.text, d)
                 : (*d = why, false);
    }
    vys_binding_free(&own);
    vys_binding_free(&wide);
    return ok;
}
