// SPDX-License-Identifier: MIT
// check_difference.c: gradients against finite differences, a second opinion beside the dual
// numbers.
//
// One fixed step size is wrong somewhere: too large, and the curvature of 1/x near zero passes for
// an error; too small, and rounding does; and a difference across a kink means nothing.  So steps
// shrink until something can be said.  At each step h there are four probes,
//
//   D(h) = (F(x+h) − F(x−h)) / 2h,   D(h/2),   R = (4 D(h/2) − D(h)) / 3 = F' + O(h⁴)
//
// and |R − D(h/2)| bounds the error of R, with what rounding may do: a bound of each output's
// rounding error comes from a run with dual numbers (VY_DUAL_ROUNDING).  The gradient is right as
// soon as it agrees with an R that two step sizes agree on, and wrong only if the best R of all
// differs by much more than its own error; between the two nothing is claimed (`unsure`).  Steps
// are no powers of two: sin(2^k π x) would look constant.  They have few digits, so x ± h is exact
// as a rule.
//
// Where dual numbers say that the gradient is right, a difference that contradicts both must fit
// them too: F(x+h) − F(x−h) is the integral of the slope in between.  If their slopes at five
// places there integrate to something else than F does, one of the two is wrong, and the row fails;
// if the slopes themselves are too rough for that, so is the difference.  A program with stop_grad
// or straight_through has by intent another derivative than its differences: there nothing
// contradicts.
//
// All probes must take the path the program takes at x (ir/eval/eval_path.c).  Where none of the
// step sizes does, x is at a kink.
//
// F is Σ cotangent · output, but outputs are subtracted one by one before they are added up: those
// that do not depend on x cancel exactly, however many they are.
#include "autodiff/verify/check_internal.h"

#include <float.h>
#include <math.h>
#include <stdio.h>

enum { MOST_STEPS = 9 };
#define ODD 0x1.9e4p0 // about the golden ratio, in 13 bits: what steps are multiples of

typedef enum state {
    SMOOTH,
    KINK, // another path, or a probe left the domain
    BLIND // no finite number at x itself
} state;

typedef struct estimate {
    state state;
    double value, error, step;
} estimate;

// ----------------------------------------------------------------------------------------- probes
static bool run_at(check *c, const probe *p, double h, image *m, uint64_t *path)
{
    check_run run = {.hooks = {.path_hash = path}};
    *path = 0;
    vy_check_move(p, h);
    vy_image_restart(&c->base, m);
    const bool ok = vy_check_run(c, m, &run);
    vy_check_put_back(p);
    return ok;
}

// Σ cotangent · (plus − minus), and how large its rounding errors may be: those of all outputs that
// changed or that dual numbers say depend on x.
static state subtract(const check *c, double *change, double *noise)
{
    sum s = {0, 0};
    *noise = 0;
    for (uint32_t o = 0; o < c->output_count; o++) {
        const int i = vy_image_find(&c->plus, c->outputs[o].name);
        const double *a = c->plus.buffers[i].data, *b = c->minus.buffers[i].data;
        const double *ct = c->outputs[o].cotangent, *at = c->at.buffers[i].data;
        for (uint64_t e = 0; e < c->plus.counts[i]; e++) {
            const double weight = ct ? ct[e] : 1;
            if (weight == 0 || (a[e] == b[e] && c->dots[i][e] == 0)) continue;
            if (isnan(a[e]) && isnan(b[e]) && isnan(at[e])) continue;
            const double term = weight * (a[e] - b[e]);
            if (!isfinite(term)) return isfinite(at[e]) ? KINK : BLIND;
            vy_sum_add(&s, term);
            *noise += 2 * fabs(weight) * (c->noise[i][e] + fabs(at[e]) * DBL_EPSILON);
        }
    }
    *change = s.high + s.low;
    return isfinite(*change) ? SMOOTH : BLIND;
}

static bool central(check *c, const probe *p, double h, estimate *out)
{
    uint64_t path;
    double change, noise;
    *out = (estimate){KINK, 0, 0, h};
    if (!run_at(c, p, h, &c->plus, &path)) return false;
    if (path != c->centre) return true;
    if (!run_at(c, p, -h, &c->minus, &path)) return false;
    if (path != c->centre) return true;
    out->state = subtract(c, &change, &noise);
    if (out->state != SMOOTH) return true;
    out->value = change / (2 * h);
    out->error = noise / (2 * h);
    if (!isfinite(out->value)) out->state = BLIND;
    return true;
}

static bool estimate_at(check *c, const probe *p, double h, estimate *out)
{
    estimate wide, narrow;
    if (!central(c, p, h, &wide)) return false;
    if (wide.state != SMOOTH) return *out = wide, true;
    if (!central(c, p, h / 2, &narrow)) return false;
    if (narrow.state != SMOOTH) return *out = narrow, true;
    out->state = SMOOTH;
    out->value = (4 * narrow.value - wide.value) / 3;
    out->error = fmax(fabs(out->value - narrow.value), narrow.error);
    out->step = h;
    if (!isfinite(out->error)) out->state = BLIND;
    return true;
}

// ---------------------------------------------------------------------------------------- verdicts
typedef enum verdict { COMPARED, AT_KINK, UNSURE } verdict;

static bool agrees(const check *c, double got, double floor, const estimate *e)
{
    return fabs(got - e->value) <= c->tolerance * fmax(floor, fmax(fabs(got), fabs(e->value)));
}

// The steps to try: from about 2⁻⁸ down, then in proportion to x, which may be tiny or huge.
static uint32_t choose_steps(const probe *p, double steps[MOST_STEPS])
{
    static const int absolute[] = {-9, -13, -17, -21, -25}, relative[] = {-9, -13, -21, -29};
    double largest = 0;
    uint32_t n = 0;
    int exponent = 0;
    for (uint64_t k = 0; k < p->count; k++) largest = fmax(largest, fabs(p->was[k]));
    if (isfinite(largest)) frexp(largest, &exponent);
    for (size_t k = 0; k < sizeof absolute / sizeof *absolute; k++)
        if (absolute[k] > exponent - 44) steps[n++] = ldexp(ODD, absolute[k]);
    const bool small = exponent<-4, huge = exponent> 20;
    for (size_t k = 0; largest > 0 && (small || huge) && k < sizeof relative / sizeof *relative;
         k++)
        steps[n++] = ldexp(ODD, exponent + relative[k]);
    return n;
}

// Whether the slopes that dual numbers give around x integrate to another difference than F has, by
// `enough`.
static bool contradicts(check *c, const probe *p, double h, double enough, bool *out)
{
    double at[5], spread = 0;
    estimate difference;
    *out = false;
    for (int k = 0; k < 5; k++) {
        vy_check_move(p, h * (k - 2) / 2);
        const bool ok = vy_check_slope(c, p, VY_DUAL_TANGENT, &at[k]);
        vy_check_put_back(p);
        if (!ok) return false;
    }
    for (int k = 0; k < 5; k++) spread = fmax(spread, fabs(at[k] - at[2]));
    if (!(spread < enough)) return true; // not resolved: they integrate to anything
    const double simpson = (at[0] + 4 * at[2] + at[4]) / 6;
    const double finer = (at[0] + 4 * at[1] + 2 * at[2] + 4 * at[3] + at[4]) / 12;
    if (!central(c, p, h, &difference)) return false;
    *out = difference.state == SMOOTH && fabs(simpson - finer) < enough / 8 &&
           difference.error < enough / 2 && fabs(difference.value - finer) > enough;
    return true;
}

// Whether `got` differs from the best estimate by much more than that can be wrong.  An oscillation
// that the steps do not resolve may look smooth to a large one: all that claim to be precise must
// agree.
static bool is_wrong(check *c, const probe *p, double got, opinion o, const estimate *all,
                     uint32_t n, const estimate *best, bool *wrong)
{
    const double enough = fabs(got - best->value) / 8;
    *wrong = false;
    for (uint32_t k = 0; k < n; k++)
        if (all[k].error < enough && fabs(all[k].value - best->value) > enough) return true;
    if (!(best->error < enough)) return true;
    if (o == AGREES) {
        // an oscillation may look like anything at one step, not at several
        static const double parts[] = {1, 0.37, 0.137};
        *wrong = !c->cut;
        for (size_t k = 0; k < sizeof parts / sizeof *parts && *wrong; k++)
            if (!contradicts(c, p, best->step * parts[k], enough, wrong)) return false;
        return true;
    }
    *wrong = o == DIFFERS;
    return true;
}

// *best: what `got` was compared with, if it was; *floor: by what scale.
static bool judge(check *c, const probe *p, double got, opinion o, double *floor, estimate *best,
                  verdict *v)
{
    double steps[MOST_STEPS];
    estimate all[MOST_STEPS];
    const uint32_t n = choose_steps(p, steps);
    uint32_t smooth = 0;
    bool blind = false, wrong;
    *best = (estimate){.error = INFINITY};
    *v = COMPARED;
    for (uint32_t k = 0; k < n; k++) {
        estimate *e = &all[smooth];
        if (!estimate_at(c, p, steps[k], e)) return false;
        blind |= e->state == BLIND;
        if (e->state != SMOOTH) continue;
        const double scale = fmax(*floor, fmax(fabs(got), fabs(e->value)));
        if (!smooth++ || e->error < best->error) *best = *e;
        if (!agrees(c, got, *floor, e) || e->error > sqrt(c->tolerance) * scale) continue;
        *best = *e;
        return true;
    }
    if (!smooth) {
        *v = blind ? UNSURE : AT_KINK;
    } else if (agrees(c, got, *floor, best)) {
        return true;
    } else if (c->r->forward.buffer) {
        *v = UNSURE; // an output that is no number may depend on x all the same
    } else if (isfinite(got)) {
        if (!is_wrong(c, p, got, o, all, smooth, best, &wrong)) return false;
        if (wrong) return true;
        *floor = 1; // too rough to tell by the gradient's own size
        if (!agrees(c, got, 1, best)) *v = UNSURE;
    }
    return true;
}

// ------------------------------------------------------------------------------------ one element
bool vy_check_difference(check *c, const probe *p, vy_check_row *row, double got, double slope,
                         opinion o)
{
    const double own = row->floor;
    double floor = isfinite(slope) && fabs(slope) > own ? fmin(1, fabs(slope)) : own;
    estimate e;
    verdict v;
    if (!judge(c, p, got, o, &floor, &e, &v)) return false;
    if (v == AT_KINK) return vy_check_row_kink(row, p->first) || vy_check_memory(c);
    if (v == UNSURE) {
        row->unsure++;
        return true;
    }
    row->floor = floor;
    vy_check_row_note(row, p->first, got, e.value);
    row->floor = own;
    return true;
}

static bool element(check *c, vy_check_row *row, vy_check_row *tangents, gradient_of of,
                    const double *gradient, uint64_t index)
{
    double *at = vy_check_moved(c, of) + index;
    const double was = *at, got = gradient[index];
    const probe p = {of, at, &was, NULL, 1, index};
    double slope;
    opinion o;
    if (!vy_check_compare_slope(c, &p, got, &slope, &o)) return false;
    const bool close = fabs(got - slope) <= c->tolerance * fmax(fabs(got), fabs(slope));
    if (o == NO_OPINION)
        tangents->unsure++;
    else // what rounding explains is as good as equal
        vy_check_row_note(tangents, index, got, o == AGREES && !close ? got : slope);
    return vy_check_difference(c, &p, row, got, slope, o);
}

// Evenly spread: one from each of `n` equal parts.
static uint64_t sample(const check *c, uint64_t k, uint64_t n, uint64_t count)
{
    const uint64_t from = (uint64_t)((__uint128_t)count * k / n);
    const uint64_t to = (uint64_t)((__uint128_t)count * (k + 1) / n);
    return from + vy_check_random(c->q->seed + k) % (to - from);
}

// Adds the row of differences; that of tangents is kept until those of directions are there.
static bool leave_out(check *c, const image *derived, uint32_t i)
{
    vy_check_row *row = vy_check_skip(c->r, VY_CHECK_DIFFERENCES, derived->buffers[i].name,
                                      "there are so many gradients that not all are compared "
                                      "element by element");
    if (!row) return vy_check_memory(c);
    row->elements = derived->counts[i];
    row->size = NAN; // not computed
    vy_check_row *tangents = &c->tangents[c->tangent_count++];
    *tangents = *row;
    tangents->test = VY_CHECK_TANGENTS;
    return true;
}

static bool gradient_rows(check *c, const image *derived, uint32_t i, gradient_of of)
{
    vy_check_row *row = vy_check_row_add(c->r, VY_CHECK_DIFFERENCES, derived->buffers[i].name);
    if (!row) return vy_check_memory(c);
    vy_check_row *tangents = &c->tangents[c->tangent_count++];
    const double *gradient = derived->buffers[i].data;
    const uint64_t count = derived->counts[i], n = count < c->samples ? count : c->samples;
    row->elements = count;
    row->tolerance = c->tolerance;
    if (!vy_check_terms(c, of, count, &row->size)) return false;
    row->floor = vy_check_floor_of(VY_F64, count, gradient, row->size);
    *tangents = *row;
    tangents->test = VY_CHECK_TANGENTS;
    tangents->floor = DBL_MIN; // each element by its own size
    uint64_t bad = 0;          // a gradient that is no number is always looked at
    while (bad < count && isfinite(gradient[bad])) bad++;
    for (uint64_t k = 0; k < n; k++) {
        const uint64_t index = n == count ? k : sample(c, k, n, count);
        if (!element(c, row, tangents, of, gradient, index)) return false;
        if (index == bad) bad = count;
    }
    if (bad < count && !element(c, row, tangents, of, gradient, bad)) return false;
    vy_check_row_close(c->r, row);
    return true;
}

bool vy_check_differences(check *c, const image *derived)
{
    c->tangents = vy_realloc(NULL, (derived->count + 1) * sizeof *c->tangents);
    if (!c->tangents) return vy_check_memory(c);
    double due = 1; // so that they are spread evenly
    for (uint32_t i = 0; i < derived->count; i++) {
        gradient_of of;
        if (!vy_gradient_of(&c->base, derived, i, &of)) continue;
        const bool now = due >= 1;
        if (!(now ? gradient_rows(c, derived, i, of) : leave_out(c, derived, i))) return false;
        due += c->share - now;
    }
    return true;
}
