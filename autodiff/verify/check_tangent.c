// SPDX-License-Identifier: MIT
// check_tangent.c: gradients against dual numbers.
//
// Dual numbers (ir/eval/dual.h) run the primal as it stands, forwards, by rules of their own: they
// share nothing with the reverse pass, have no step size, and know what the language says at kinks.
// So they decide.
//
// Both sides round.  A gradient that is the difference of large terms has few right digits, whoever
// computes it: before one is called wrong, the size of all its terms is added up
// (VY_DUAL_MAGNITUDE), and what that times the unit roundoff explains is no fault.  And where the
// derivative itself changes by as much when the element moves by its last bits (chaos), nothing is
// claimed.
#include "autodiff/verify/check_internal.h"

#include <float.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

void vy_sum_add(sum *s, double term)
{
    const double next = s->high + term;
    s->low += fabs(s->high) >= fabs(term) ? (s->high - next) + term : (term - next) + s->high;
    s->high = next;
}

static double total(const sum *s) { return isfinite(s->low) ? s->high + s->low : s->high; }

// ------------------------------------------------------------------------------------------ memory
static bool blank_arrays(const image *m, double ***out)
{
    double **arrays = vy_realloc(NULL, (m->count + 1) * sizeof *arrays);
    if (!arrays) return false;
    memset(arrays, 0, (m->count + 1) * sizeof *arrays);
    *out = arrays;
    for (uint32_t i = 0; i < m->count; i++) {
        if (m->types[i] != VY_F64) continue;
        const size_t bytes = (size_t)(m->counts[i] ? m->counts[i] : 1) * sizeof(double);
        arrays[i] = vy_realloc(NULL, bytes);
        if (!arrays[i]) return false;
        memset(arrays[i], 0, bytes);
    }
    return true;
}

static void free_arrays(const image *m, double **arrays)
{
    for (uint32_t i = 0; arrays && i < m->count; i++) vy_free(arrays[i]);
    vy_free(arrays);
}

void vy_check_tangent_free(check *c)
{
    free_arrays(&c->base, c->dots);
    free_arrays(&c->base, c->noise);
    vy_free(c->duals);
    vy_free(c->tangents);
}

static void clear(check *c)
{
    for (uint32_t i = 0; i < c->base.count; i++)
        if (c->dots[i]) memset(c->dots[i], 0, c->base.counts[i] * sizeof(double));
}

static bool run_duals(check *c, vy_dual_mode mode, const vy_dual_scalar *scalar)
{
    const vy_dual dual = {.mode = mode,
                          .buffers = c->duals,
                          .buffer_count = c->dual_count,
                          .scalars = scalar,
                          .scalar_count = scalar ? 1 : 0};
    check_run run = {.hooks = {.dual = &dual, .path_hash = c->path}};
    vy_image_restart(&c->base, &c->plus);
    return vy_check_run(c, &c->plus, &run);
}

bool vy_check_tangent_memory(check *c)
{
    const image *m = &c->base;
    c->duals = vy_realloc(NULL, (m->count + 1) * sizeof *c->duals);
    if (!c->duals || !blank_arrays(m, &c->dots) || !blank_arrays(m, &c->noise))
        return vy_check_memory(c);
    for (uint32_t i = 0; i < m->count; i++)
        if (c->dots[i])
            c->duals[c->dual_count++] = (vy_dual_buffer){m->buffers[i].name, c->dots[i]};
    if (!run_duals(c, VY_DUAL_ROUNDING, NULL)) return false;
    for (uint32_t i = 0; i < m->count; i++)
        if (c->dots[i]) memcpy(c->noise[i], c->dots[i], m->counts[i] * sizeof(double));
    return true;
}

// ------------------------------------------------------------------------------------------ slopes
void vy_check_move(const probe *p, double h)
{
    for (uint64_t k = 0; k < p->count; k++)
        p->data[k] = p->was[k] + (p->along ? h * p->along[k] : h);
}

void vy_check_put_back(const probe *p)
{
    for (uint64_t k = 0; k < p->count; k++) p->data[k] = p->was[k];
}

bool vy_check_slope(check *c, const probe *p, vy_dual_mode mode, double *slope)
{
    const bool sizes = mode != VY_DUAL_TANGENT;
    vy_dual_scalar scalar;
    sum s = {0, 0};
    clear(c);
    for (uint64_t k = 0; k < p->count && p->of.buffer >= 0; k++) {
        const double t = p->along ? p->along[k] : 1;
        c->dots[p->of.buffer][p->first + k] = sizes ? fabs(t) : t;
    }
    if (p->of.buffer < 0)
        scalar = (vy_dual_scalar){c->base.scalars[p->of.scalar].name, p->along ? p->along[0] : 1};
    if (!run_duals(c, mode, p->of.buffer < 0 ? &scalar : NULL)) return false;
    for (uint32_t o = 0; o < c->output_count; o++) {
        const int i = vy_image_find(&c->plus, c->outputs[o].name);
        const double *ct = c->outputs[o].cotangent;
        for (uint64_t e = 0; e < c->plus.counts[i]; e++) {
            const double weight = ct ? ct[e] : 1, t = c->dots[i][e];
            if (weight != 0 && t != 0) vy_sum_add(&s, (sizes ? fabs(weight) : weight) * t);
        }
    }
    *slope = total(&s);
    return true;
}

bool vy_check_terms(check *c, gradient_of of, uint64_t count, double *size)
{
    *size = 0;
    if (!count) return true;
    double *ones = vy_realloc(NULL, (size_t)count * sizeof *ones);
    if (!ones) return vy_check_memory(c);
    for (uint64_t e = 0; e < count; e++) ones[e] = 1;
    const probe p = {of, vy_check_moved(c, of), NULL, ones, count, 0};
    const bool ok = vy_check_slope(c, &p, VY_DUAL_MAGNITUDE, size);
    vy_free(ones);
    *size /= (double)count;
    return ok;
}

// Whether the slope itself changes by `much` when what moves changes in its last bits and the
// program takes the same path.
static bool trembles(check *c, const probe *p, double slope, double much, bool *out)
{
    *out = false;
    for (int k = -1; k <= 1 && !*out; k += 2) {
        uint64_t path = 0;
        double other;
        c->path = &path;
        for (uint64_t e = 0; e < p->count; e++)
            p->data[e] = p->was[e] == 0 ? k * 0x1p-60 : p->was[e] * (1 + k * 0x1p-50);
        const bool ok = vy_check_slope(c, p, VY_DUAL_TANGENT, &other);
        vy_check_put_back(p);
        c->path = NULL;
        if (!ok) return false;
        *out = path == c->centre && !(fabs(other - slope) < much);
    }
    return true;
}

bool vy_check_compare_slope(check *c, const probe *p, double got, double *slope, opinion *o)
{
    double size;
    bool doubtful;
    if (!vy_check_slope(c, p, VY_DUAL_TANGENT, slope)) return false;
    const double difference = fabs(got - *slope);
    *o = AGREES;
    if (got == *slope || difference <= c->tolerance * fmax(fabs(got), fabs(*slope))) return true;
    *o = NO_OPINION;
    if (!isfinite(*slope)) return true;
    *o = DIFFERS;
    if (!isfinite(got)) return true;
    if (!vy_check_slope(c, p, VY_DUAL_MAGNITUDE, &size)) return false;
    if (difference <= c->unit * size)
        *o = AGREES;
    else if (!trembles(c, p, *slope, difference / 8, &doubtful))
        return false;
    else if (doubtful)
        *o = NO_OPINION;
    // the differences look at which outputs depend: put their tangents back
    return vy_check_slope(c, p, VY_DUAL_TANGENT, slope);
}

bool vy_check_tangent_rows(check *c)
{
    for (uint32_t i = 0; i < c->tangent_count; i++) {
        vy_check_row *row = vy_check_row_add(c->r, VY_CHECK_TANGENTS, c->tangents[i].buffer);
        if (!row) return vy_check_memory(c);
        *row = c->tangents[i];
        vy_check_row_close(c->r, row);
    }
    return true;
}

// --------------------------------------------------------------------------------------- direction
// In proportion to 1/|g|, so that every element counts alike and a fault of a small one shows;
// signs and sizes random.  Elements that are no numbers stay out of it; those that are nothing but
// rounding beside the others do not drown them.
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

static bool direction(check *c, vy_check_row *row, gradient_of of, const double *gradient,
                      double *was, double *along)
{
    const uint64_t count = row->elements;
    const probe p = {of, vy_check_moved(c, of), was, along, count, 0};
    sum s = {0, 0};
    double slope;
    opinion o;
    uint64_t moving = 0;
    choose_direction(c, gradient, count, along);
    for (uint64_t k = 0; k < count; k++) {
        was[k] = p.data[k];
        moving += along[k] != 0;
        if (along[k] != 0) vy_sum_add(&s, gradient[k] * along[k]);
    }
    if (!vy_check_compare_slope(c, &p, total(&s), &slope, &o)) return false;
    row->floor = DBL_MIN; // of no size of its own
    // what rounding explains is as good as equal
    if (moving && (o == DIFFERS || (o == AGREES && isfinite(slope)))) {
        const double got = total(&s);
        const bool close = fabs(got - slope) <= row->tolerance * fmax(fabs(got), fabs(slope));
        vy_check_row_note(row, 0, got, o == AGREES && !close ? got : slope);
        row->compared = moving;
    } else {
        snprintf(row->note, sizeof row->note, "no number, or too rough to tell");
        row->unsure = count;
    }
    return true;
}

bool vy_check_direction(check *c, image *derived)
{
    for (uint32_t i = 0; i < derived->count; i++) {
        gradient_of of;
        if (!vy_gradient_of(&c->base, derived, i, &of)) continue;
        vy_check_row *row = vy_check_row_add(c->r, VY_CHECK_DIRECTION, derived->buffers[i].name);
        if (!row) return vy_check_memory(c);
        const uint64_t count = row->elements = derived->counts[i];
        const size_t bytes = (size_t)(count ? count : 1) * sizeof(double);
        row->tolerance = c->tolerance;
        double *was = vy_realloc(NULL, bytes), *along = vy_realloc(NULL, bytes);
        bool ok = (was && along) || vy_check_memory(c);
        if (ok && count) ok = direction(c, row, of, derived->buffers[i].data, was, along);
        vy_free(was);
        vy_free(along);
        if (!ok) return false;
        vy_check_row_close(c->r, row);
    }
    return true;
}
