// SPDX-License-Identifier: MIT
// check_tangent.c: gradients against dual numbers.
//
// Dual numbers (ir/eval/dual.h) run the primal itself, forwards, by rules of their own: they share
// nothing with the reverse pass, have no step size, and implement what the language says at kinks.
// So they decide.
//
// Both sides round.  A gradient that is the difference of large terms has few right digits, whoever
// computes it: before one is called wrong, the size of all its terms is added up
// (VY_DUAL_MAGNITUDE), and what that times the unit roundoff explains is no fault.  And where the
// derivative itself changes by as much when the element moves by its last bits (chaos), or all data
// does, nothing is claimed.
#include "autodiff/verify/check_internal.h"

#include <float.h>
#include <math.h>
#include <string.h>

void vy_sum_add(sum *s, double term)
{
    const double next = s->high + term;
    s->low += fabs(s->high) >= fabs(term) ? (s->high - next) + term : (term - next) + s->high;
    s->high = next;
}

double vy_sum_total(const sum *s) { return isfinite(s->low) ? s->high + s->low : s->high; }

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

static bool run_duals(check *c, vy_dual_mode mode, const vy_dual_scalar *scalars, uint32_t count)
{
    const vy_dual dual = {.mode = mode,
                          .buffers = c->duals,
                          .buffer_count = c->dual_count,
                          .scalars = scalars,
                          .scalar_count = count};
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
    if (!run_duals(c, VY_DUAL_ROUNDING, NULL, 0)) return false;
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

static bool run_along(check *c, const probe *p, uint32_t n, bool sizes, vy_dual_mode mode)
{
    vy_dual_scalar *scalars = vy_realloc(NULL, n * sizeof *scalars);
    uint32_t count = 0;
    if (!scalars) return vy_check_memory(c);
    clear(c);
    for (uint32_t i = 0; i < n; i++, p++) {
        for (uint64_t k = 0; k < p->count && p->of.buffer >= 0; k++) {
            const double t = p->along ? p->along[k] : 1;
            c->dots[p->of.buffer][p->first + k] = sizes ? fabs(t) : t;
        }
        if (p->of.buffer < 0)
            scalars[count++] =
                (vy_dual_scalar){c->base.scalars[p->of.scalar].name, p->along ? p->along[0] : 1};
    }
    const bool ok = run_duals(c, mode, scalars, count);
    vy_free(scalars);
    return ok;
}

bool vy_check_slopes(check *c, const probe *p, uint32_t n, vy_dual_mode mode, double *slope)
{
    const bool sizes = mode != VY_DUAL_TANGENT;
    sum s = {0, 0};
    if (!run_along(c, p, n, sizes, mode)) return false;
    for (uint32_t o = 0; o < c->output_count; o++) {
        const int i = vy_image_find(&c->plus, c->outputs[o].name);
        const double *ct = c->outputs[o].cotangent;
        for (uint64_t e = 0; e < c->plus.counts[i]; e++) {
            const double weight = ct ? ct[e] : 1, t = c->dots[i][e];
            if (weight != 0 && t != 0) vy_sum_add(&s, (sizes ? fabs(weight) : weight) * t);
        }
    }
    *slope = vy_sum_total(&s);
    return true;
}

bool vy_check_slope(check *c, const probe *p, vy_dual_mode mode, double *slope)
{
    return vy_check_slopes(c, p, 1, mode, slope);
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

// Moves all data that is not zero by its last bits, every other element the other way.
static void move_data(check *c, double *const *was, double by)
{
    for (uint32_t i = 0; i < c->base.count; i++) {
        double *data = c->base.buffers[i].data;
        for (uint64_t e = 0; was[i] && e < c->base.counts[i]; e++)
            data[e] = was[i][e] * (1 + (e % 2 ? -by : by));
    }
}

// The same as vy_check_trembles, when everything moves that the program begins with: a factor of
// the slope may be what is left of large numbers, none of which the element is.
static bool trembles_with_data(check *c, const probe *p, uint32_t n, double slope, double much,
                               bool *yes)
{
    double **was = NULL;
    bool ok = blank_arrays(&c->base, &was) || vy_check_memory(c);
    for (uint32_t i = 0; ok && i < c->base.count; i++)
        if (was[i] && c->base.counts[i])
            memcpy(was[i], c->base.buffers[i].data, c->base.counts[i] * sizeof(double));
    for (int k = -1; k <= 1 && !*yes && ok; k += 2) {
        uint64_t path = 0;
        double other;
        c->path = &path;
        move_data(c, was, k * 0x1p-50);
        ok = vy_check_slopes(c, p, n, VY_DUAL_TANGENT, &other);
        move_data(c, was, 0);
        c->path = NULL;
        *yes = ok && path == c->centre && !(fabs(other - slope) < much);
    }
    free_arrays(&c->base, was);
    return ok;
}

bool vy_check_trembles(check *c, const probe *p, uint32_t n, double slope, double much, bool *yes)
{
    *yes = false;
    for (int k = -1; k <= 1 && !*yes; k += 2) {
        uint64_t path = 0;
        double other;
        c->path = &path;
        for (uint32_t i = 0; i < n; i++)
            for (uint64_t e = 0; e < p[i].count; e++)
                p[i].data[e] = p[i].was[e] == 0 ? k * 0x1p-60 : p[i].was[e] * (1 + k * 0x1p-50);
        const bool ok = vy_check_slopes(c, p, n, VY_DUAL_TANGENT, &other);
        for (uint32_t i = 0; i < n; i++) vy_check_put_back(&p[i]);
        c->path = NULL;
        if (!ok) return false;
        *yes = path == c->centre && !(fabs(other - slope) < much);
    }
    return *yes || trembles_with_data(c, p, n, slope, much, yes);
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
    else if (!vy_check_trembles(c, p, 1, *slope, difference / 8, &doubtful))
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
