// SPDX-License-Identifier: MIT
// check_promises.c: what a gradient program promises besides its values (docs/language.md 9.2): the
// primal is unchanged, gradients are overwritten, inputs are left alone; and it has no data race.
#include "autodiff/verify/check_internal.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

// Floats that are added up atomically depend on the order of invocations in their last bits.
static bool adds_atomically(const vy_program *p, const char *buffer)
{
    for (uint32_t id = 1; id < p->insts.count; id++) {
        const vy_inst *i = &p->insts.data[id];
        if (!vy_op_is_atomic((vy_op)i->op)) continue;
        const vy_buf *b = &p->buffers.data[i->aux];
        if (vy_type_is_float(b->type) && (!buffer || strcmp(b->name, buffer) == 0)) return true;
    }
    return false;
}

bool vy_check_order_matters(vy_check_subject s)
{
    const vy_program *p;
    for (uint32_t i = 0; (p = vy_check_program_at(s, i)); i++)
        if (adds_atomically(p, NULL)) return true;
    return false;
}

// A bound for sums in another order, in their own type.
static double order_tolerance(vy_type type)
{
    return type == VY_F16 ? 1e-2 : type == VY_F32 ? 1e-5 : 1e-12;
}

// ------------------------------------------------------------------------------------------ primal
static bool same_outputs(check *c, const image *forward, const image *valued)
{
    // The programs of a pipeline know its buffers by other names.
    const bool inexact = forward->pipeline && vy_check_order_matters(c->q->primal);
    for (uint32_t i = 0; i < forward->count; i++) {
        const char *name = forward->buffers[i].name;
        const int k = vy_image_find(valued, name);
        if (k < 0 || vy_image_class(forward, i) == VY_IN || vy_image_class(valued, k) == VY_IN)
            continue;
        const double tolerance =
            inexact || adds_atomically(forward->p, name) ? order_tolerance(forward->types[i]) : 0;
        if (!vy_check_compare(c->r, VY_CHECK_PRIMAL, name, forward->types[i], forward->counts[i],
                              valued->buffers[k].data, forward->buffers[i].data, tolerance))
            return vy_check_memory(c);
    }
    return true;
}

// In the programs' own types, where the promise is about bits.
bool vy_check_primal(check *c)
{
    image forward = {0}, valued = {0};
    check_run run = {0};
    bool ok = vy_image_primal(c, false, &forward) &&
              vy_image_derived(c, &forward, c->q->valued, 0, &valued) &&
              vy_check_run(c, &forward, &run) && vy_check_run(c, &valued, &run) &&
              same_outputs(c, &forward, &valued);
    vy_image_free(&forward);
    vy_image_free(&valued);
    return ok;
}

// --------------------------------------------------------------------------------- gradients again
static bool same_gradients(check *c, vy_check_test test, const image *first, const image *second,
                           bool reordered)
{
    // Through a workspace a gradient may depend on other buffers' sums.
    const double tolerance =
        reordered && vy_check_order_matters(c->q->gradient) ? order_tolerance(VY_F64) * 1e3 : 0;
    for (uint32_t i = 0; i < first->count; i++) {
        gradient_of of;
        if (!vy_gradient_of(&c->base, first, i, &of)) continue;
        if (!vy_check_compare(c->r, test, first->buffers[i].name, first->types[i], first->counts[i],
                              second->buffers[i].data, first->buffers[i].data, tolerance))
            return vy_check_memory(c);
    }
    return true;
}

// Contents that show in the results of a program that reads before it writes: large, and no two
// alike.
static void poison(const check *c, image *m)
{
    for (uint32_t i = 0; i < m->count; i++) {
        double *data = m->buffers[i].data;
        gradient_of of;
        if (!vy_gradient_of(&c->base, m, i, &of)) continue;
        for (uint64_t e = 0; e < m->counts[i]; e++)
            data[e] = ldexp((double)vy_check_random(c->q->seed + e), -40);
    }
}

// In their own memory all buffers can be compared with what they started as.
static bool same_inputs(check *c, const image *before, const image *after)
{
    for (uint32_t i = 0; i < after->count; i++) {
        gradient_of of;
        if (vy_image_class(after, i) == VY_OUT || vy_gradient_of(&c->base, after, i, &of)) continue;
        vy_check_row *row =
            vy_check_compare(c->r, VY_CHECK_INPUTS, after->buffers[i].name, after->types[i],
                             after->counts[i], after->buffers[i].data, before->buffers[i].data, 0);
        if (!row) return vy_check_memory(c);
    }
    return true;
}

static bool race_row(check *c, const check_run *run)
{
    vy_check_row *row = vy_check_row_add(c->r, VY_CHECK_RACES, "");
    if (!row) return vy_check_memory(c);
    row->failed = run->report.races;
    row->verdict = row->failed ? VY_CHECK_FAILED : VY_CHECK_PASSED;
    if (row->failed) {
        vy_check_note(c, row, &run->report.first);
        c->r->passed = false;
    }
    return true;
}

// `derived` started from NaN.  The second run starts from garbage, the third from what that left.
bool vy_check_promises(check *c, const image *derived)
{
    image second = {0}, start = {0};
    check_run run = {.races = true}, shuffled = {.shuffle_seed = c->q->seed + 1};
    bool ok = vy_image_derived(c, &c->base, c->q->gradient, 0, &second) &&
              vy_image_derived(c, &c->base, c->q->gradient, 0, &start);
    if (ok) poison(c, &second);
    ok = ok && vy_check_run(c, &second, &run) &&
         same_gradients(c, VY_CHECK_POISON, derived, &second, false) &&
         vy_check_run(c, &second, &shuffled) &&
         same_gradients(c, VY_CHECK_TWICE, derived, &second, true) &&
         same_inputs(c, &start, &second) && race_row(c, &run);
    vy_image_free(&second);
    vy_image_free(&start);
    return ok;
}
