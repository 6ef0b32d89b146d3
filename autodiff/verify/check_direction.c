// SPDX-License-Identifier: MIT
// check_direction.c: gradients along one random direction each, against dual numbers.
//
//   ⟨∇f, v⟩ = Σ ∂f/∂x_e · v_e, one run with dual numbers, whatever the number of elements
//
// A program of a thousand inputs has a thousand gradients, and a run of the whole program for each
// is quadratic.  Directions add up, so where gradients are *many* (check.c), all of them are tried
// with one run; if it does not agree, both halves are, and so on down to single ones.  Right
// gradients cost one or two runs in all, each wrong one some more.
#include "autodiff/verify/check_internal.h"

#include <float.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

typedef struct tried {
    probe p;
    uint32_t row;    // place in c->r->rows
    uint64_t moving; // elements that the direction moves
    double got;      // ⟨gradient, v⟩
} tried;

// In proportion to 1/|g|, so that every element has the same weight and a fault of a small one
// shows; signs and sizes are random.  Elements that are not finite do not move; those that are
// nothing but rounding beside the others do not drown them.
static void choose_direction(const check *c, const double *gradient, uint64_t count, double *along)
{
    double most = 0;
    for (uint64_t e = 0; e < count; e++)
        if (isfinite(gradient[e])) most = fmax(most, fabs(gradient[e]));
    if (most == 0) most = 1;
    for (uint64_t e = 0; e < count; e++) {
        const uint64_t r = vy_check_random((c->q->seed + 1) ^ e * 0x9e3779b97f4a7c15u);
        const double g = fmax(fabs(gradient[e]), most * 1e-8);
        along[e] = (0.5 + ldexp((double)(r >> 12), -52)) * (r & 1 ? 1 : -1) / (g > 0 ? g : most);
        if (!isfinite(gradient[e])) along[e] = 0;
    }
}

static bool set_out(check *c, const image *derived, uint32_t i, tried *t, vy_arena *arena)
{
    const uint64_t count = derived->counts[i];
    const double *gradient = derived->buffers[i].data;
    double *was = vy_arena_alloc(arena, (size_t)(count + 1) * sizeof *was);
    double *along = vy_arena_alloc(arena, (size_t)(count + 1) * sizeof *along);
    vy_check_row *row = vy_check_row_add(c->r, VY_CHECK_DIRECTION, derived->buffers[i].name);
    gradient_of of;
    sum s = {0, 0};
    if (!was || !along || !row) return vy_check_memory(c);
    vy_gradient_of(&c->base, derived, i, &of);
    row->elements = count;
    row->tolerance = c->tolerance;
    *t = (tried){.p = {of, vy_check_moved(c, of), was, along, count, 0}, .row = c->r->count - 1};
    choose_direction(c, gradient, count, along);
    for (uint64_t k = 0; k < count; k++) {
        was[k] = t->p.data[k];
        t->moving += along[k] != 0;
        if (along[k] != 0) vy_sum_add(&s, gradient[k] * along[k]);
    }
    t->got = vy_sum_total(&s);
    return true;
}

static void note(check *c, const tried *t, double slope, opinion o)
{
    vy_check_row *row = &c->r->rows[t->row];
    const double got = t->got;
    row->floor = DBL_MIN; // of no size of its own
    // what rounding explains is as good as equal
    if (t->moving && (o == DIFFERS || (o == AGREES && isfinite(slope)))) {
        const bool close = fabs(got - slope) <= row->tolerance * fmax(fabs(got), fabs(slope));
        vy_check_row_note(row, 0, got, o == AGREES && !close ? got : slope);
        row->compared = t->moving;
    } else {
        snprintf(row->note, sizeof row->note, "NaN, or too inexact to compare");
        row->unsure = t->p.count;
    }
}

static bool try_one(check *c, const tried *t)
{
    double slope;
    opinion o;
    if (!t->p.count) return true;
    if (!vy_check_compare_slope(c, &t->p, t->got, &slope, &o)) return false;
    note(c, t, slope, o);
    return true;
}

// ------------------------------------------------------------------------------------- all at once
// *got: the sum of ⟨gradient, v⟩.  NULL: memory.
static probe *all_probes(check *c, const tried *t, uint32_t n, double *got)
{
    sum s = {0, 0};
    probe *p = vy_realloc(NULL, (n + 1) * sizeof *p);
    for (uint32_t k = 0; p && k < n; k++) {
        p[k] = t[k].p;
        vy_sum_add(&s, t[k].got);
    }
    *got = vy_sum_total(&s);
    if (!p) vy_check_memory(c);
    return p;
}

// Do the slopes along all of these directions together agree?
static bool agree(check *c, const tried *t, uint32_t n, bool *yes)
{
    double slope = NAN, size, got;
    probe *p = all_probes(c, t, n, &got);
    bool ok = p && vy_check_slopes(c, p, n, VY_DUAL_TANGENT, &slope);
    const double difference = ok ? fabs(got - slope) : NAN;
    *yes = difference <= c->tolerance * fmax(fabs(got), fabs(slope));
    if (ok && !*yes && isfinite(difference)) {
        ok = vy_check_slopes(c, p, n, VY_DUAL_MAGNITUDE, &size);
        *yes = ok && difference <= c->unit * size;
    }
    vy_free(p);
    return ok;
}

static bool try_all(check *c, const tried *t, uint32_t n)
{
    bool yes = false;
    if (n <= 1) return !n || try_one(c, t);
    if (!agree(c, t, n, &yes)) return false;
    for (uint32_t k = 0; yes && k < n; k++) note(c, &t[k], t[k].got, AGREES);
    return yes || (try_all(c, t, n / 2) && try_all(c, t + n / 2, n - n / 2));
}

static bool forward(check *c, const tried *t, uint32_t n)
{
    double got;
    probe *p = all_probes(c, t, n, &got);
    const bool ok = p && vy_check_forward(c, p, n, got);
    vy_free(p);
    return ok;
}

bool vy_check_direction(check *c, image *derived)
{
    vy_arena arena = {0};
    tried *t = vy_arena_alloc(&arena, (derived->count + 1) * sizeof *t);
    uint32_t n = 0;
    bool ok = t || vy_check_memory(c);
    for (uint32_t i = 0; ok && i < derived->count; i++) {
        gradient_of of;
        if (vy_gradient_of(&c->base, derived, i, &of)) ok = set_out(c, derived, i, &t[n++], &arena);
    }
    if (ok && c->share < 1) ok = try_all(c, t, n);
    for (uint32_t k = 0; ok && c->share >= 1 && k < n; k++) ok = try_one(c, &t[k]);
    for (uint32_t k = 0; ok && k < n; k++) vy_check_row_close(c->r, &c->r->rows[t[k].row]);
    ok = ok && forward(c, t, n);
    vy_arena_free(&arena);
    return ok;
}
