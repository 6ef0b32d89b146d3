// SPDX-License-Identifier: MIT
// check_difference.c: gradients against finite differences.
//
// One fixed step size is wrong somewhere: too large, and the curvature of 1/x near zero passes for an
// error; too small, and rounding does; and a difference across a kink means nothing.  So steps shrink
// until something can be said.  At each step h there are four probes,
//
//   D(h) = (F(x+h) − F(x−h)) / 2h,   D(h/2),   R = (4 D(h/2) − D(h)) / 3 = F' + O(h⁴)
//
// and |R − D(h/2)| bounds the error of R.  The gradient is right as soon as it agrees with an R that two
// step sizes agree on, and wrong only if the best R of all differs by much more than its own error;
// between the two nothing is claimed (`unsure`).  Steps are powers of two, so x ± h is exact.
//
// Rounding inside a program (a sum over a million terms) cannot be read off its result, so before anything
// is called wrong it is measured: F(x+δ) + F(x−δ) − 2 F(x) for δ so small that nothing else is left.
//
// All probes must take the path the program takes at x (ir/eval_path.c).  Where none of the step sizes
// does, x stands at a kink.
//
// F is Σ cotangent · output, but outputs are subtracted one by one before they are added up: those
// that do not depend on x cancel exactly, however many they are.
#include "check_internal.h"

#include <float.h>
#include <math.h>
#include <stdio.h>

enum { PARTS = 32, MOST_STEPS = 9 }; // a direction that meets a kink is tried in parts

typedef struct probe { // what is moved: an element, a scalar, or elements along random signs
    double *data;      // first of them, in c->base
    const double *was; // their values
    uint64_t count;
    uint64_t seed; // of the signs, if there are several
    uint64_t first;
} probe;

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
static double sign_of(const probe *p, uint64_t k)
{
    return p->count == 1 || (vy_check_random(p->seed ^ (p->first + k) * 0x9e3779b97f4a7c15u) & 1)
               ? 1
               : -1;
}

static bool run_at(check *c, const probe *p, double h, image *m, uint64_t *path)
{
    for (uint64_t k = 0; k < p->count; k++) p->data[k] = p->was[k] + h * sign_of(p, k);
    check_run run = {.hooks = {.path_hash = path}};
    *path = 0;
    vy_image_restart(&c->base, m);
    const bool ok = vy_check_run(c, m, &run);
    for (uint64_t k = 0; k < p->count; k++) p->data[k] = p->was[k];
    return ok;
}

typedef struct sum { // Neumaier's: adds up with an error of about one rounding
    double high, low;
} sum;

static void add(sum *s, double term)
{
    const double next = s->high + term;
    s->low += fabs(s->high) >= fabs(term) ? (s->high - next) + term : (term - next) + s->high;
    s->high = next;
}

// Σ cotangent · (plus − minus), and how large its rounding errors may be at least.
// second: Σ cotangent · (plus + minus − 2 at).
static state subtract(const check *c, bool second, double *total, double *noise)
{
    sum s = {0, 0};
    *noise = 0;
    for (uint32_t o = 0; o < c->output_count; o++) {
        const int i = vy_image_find(&c->plus, c->outputs[o].name);
        const double *a = c->plus.buffers[i].data, *b = c->minus.buffers[i].data;
        const double *ct = c->outputs[o].cotangent, *at = c->at.buffers[i].data;
        for (uint64_t e = 0; e < c->plus.counts[i]; e++) {
            const double weight = ct ? ct[e] : 1;
            const bool nothing = a[e] == b[e] && (!second || a[e] == at[e]);
            if (nothing || weight == 0 || (isnan(a[e]) && isnan(b[e]) && isnan(at[e]))) continue;
            const double term = weight * (second ? (a[e] - at[e]) + (b[e] - at[e]) : a[e] - b[e]);
            if (!isfinite(term)) return isfinite(at[e]) ? KINK : BLIND;
            add(&s, term);
            *noise += fabs(weight) * fmax(fabs(a[e]), fabs(b[e])) * DBL_EPSILON;
        }
    }
    *total = s.high + s.low;
    return isfinite(*total) ? SMOOTH : BLIND;
}

static bool central(check *c, const probe *p, double h, estimate *out)
{
    uint64_t path;
    double total, noise;
    *out = (estimate){KINK, 0, 0, h};
    if (!run_at(c, p, h, &c->plus, &path)) return false;
    if (path != c->centre) return true;
    if (!run_at(c, p, -h, &c->minus, &path)) return false;
    if (path != c->centre) return true;
    out->state = subtract(c, false, &total, &noise);
    if (out->state != SMOOTH) return true;
    out->value = total / (2 * h);
    out->error = noise / h;
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

// The rounding errors of F, from three tries.
static bool measure_noise(check *c, const probe *p, double *noise)
{
    double largest = 0, total, unused;
    int exponent = 0;
    for (uint64_t k = 0; k < p->count; k++) largest = fmax(largest, fabs(p->was[k]));
    frexp(largest, &exponent);
    *noise = 0;
    for (int k = 0; k < 3; k++) {
        const double d = ldexp(1 + k / 4.0, exponent - 45 > -36 ? exponent - 45 : -36);
        uint64_t path[2];
        if (!run_at(c, p, d, &c->plus, &path[0]) || !run_at(c, p, -d, &c->minus, &path[1]))
            return false;
        if (path[0] != c->centre || path[1] != c->centre) continue;
        if (subtract(c, true, &total, &unused) == SMOOTH) *noise = fmax(*noise, fabs(total));
    }
    return true;
}

// ----------------------------------------------------------------------------------------- verdicts
typedef enum verdict { COMPARED, AT_KINK, UNSURE } verdict;

static bool agrees(const check *c, double got, const estimate *e)
{
    return fabs(got - e->value) <= c->tolerance * fmax(1, fmax(fabs(got), fabs(e->value)));
}

// The steps to try: from 2⁻⁸ down, then in proportion to x, which may be tiny or huge.
static uint32_t choose_steps(const probe *p, double steps[MOST_STEPS])
{
    static const int absolute[] = {-8, -12, -16, -20, -24}, relative[] = {-8, -12, -20, -28};
    double largest = 0;
    uint32_t n = 0;
    int exponent = 0;
    for (uint64_t k = 0; k < p->count; k++) largest = fmax(largest, fabs(p->was[k]));
    if (isfinite(largest)) frexp(largest, &exponent);
    for (size_t k = 0; k < sizeof absolute / sizeof *absolute; k++)
        if (absolute[k] > exponent - 44) steps[n++] = ldexp(1, absolute[k]);
    const bool small = exponent<-4, huge = exponent> 20;
    for (size_t k = 0; largest > 0 && (small || huge) && k < sizeof relative / sizeof *relative;
         k++)
        if (huge || p->count == 1) steps[n++] = ldexp(1, exponent + relative[k]);
    return n;
}

// Whether `got` differs from the best estimate by much more than that can be wrong.  An oscillation that
// the steps do not resolve may look smooth to a large one: all that claim to be precise must agree.
static bool is_wrong(check *c, const probe *p, double got, const estimate *all, uint32_t n,
                     const estimate *best, bool *wrong)
{
    const double enough = fabs(got - best->value) / 8;
    double noise;
    *wrong = false;
    for (uint32_t k = 0; k < n; k++)
        if (all[k].error < enough && fabs(all[k].value - best->value) > enough) return true;
    if (!measure_noise(c, p, &noise)) return false;
    *wrong = fmax(best->error, 4 * noise / best->step) < enough;
    return true;
}

// *best: what `got` was compared with, if it was.
static bool judge(check *c, const probe *p, double got, estimate *best, verdict *v)
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
        const double scale = fmax(1, fmax(fabs(got), fabs(e->value)));
        if (!smooth++ || e->error < best->error) *best = *e;
        if (!agrees(c, got, e) || e->error > sqrt(c->tolerance) * scale) continue;
        *best = *e;
        return true;
    }
    if (!smooth)
        *v = blind ? UNSURE : AT_KINK;
    else if (!agrees(c, got, best) && c->r->forward.buffer) {
        *v = UNSURE; // an output that is no number may depend on x all the same
    } else if (!agrees(c, got, best) && isfinite(got)) {
        if (!is_wrong(c, p, got, all, smooth, best, &wrong)) return false;
        if (!wrong) *v = UNSURE;
    }
    return true;
}

// ------------------------------------------------------------------------------------ one element
static double *moved(check *c, gradient_of of)
{
    return of.buffer >= 0 ? (double *)c->base.buffers[of.buffer].data
                          : &c->base.scalars[of.scalar].value.f;
}

static bool element(check *c, vy_check_row *row, gradient_of of, const double *gradient,
                    uint64_t index)
{
    double *at = moved(c, of) + index;
    const double was = *at;
    const probe p = {.data = at, .was = &was, .count = 1};
    estimate e;
    verdict v;
    if (!judge(c, &p, gradient[index], &e, &v)) return false;
    if (v == AT_KINK) return vy_check_row_kink(row, index) || vy_check_memory(c);
    if (v == UNSURE)
        row->unsure++;
    else
        vy_check_row_note(row, index, gradient[index], e.value);
    return true;
}

// Evenly spread: one from each of `n` equal parts.
static uint64_t sample(const check *c, uint64_t k, uint64_t n, uint64_t count)
{
    const uint64_t from = (uint64_t)((__uint128_t)count * k / n);
    const uint64_t to = (uint64_t)((__uint128_t)count * (k + 1) / n);
    return from + vy_check_random(c->q->seed + k) % (to - from);
}

bool vy_check_differences(check *c, const image *derived)
{
    for (uint32_t i = 0; i < derived->count; i++) {
        gradient_of of;
        if (!vy_gradient_of(&c->base, derived, i, &of)) continue;
        vy_check_row *row = vy_check_row_add(c->r, VY_CHECK_DIFFERENCES, derived->buffers[i].name);
        if (!row) return vy_check_memory(c);
        const double *gradient = derived->buffers[i].data;
        const uint64_t count = derived->counts[i], n = count < c->samples ? count : c->samples;
        row->elements = count;
        row->tolerance = c->tolerance;
        uint64_t bad = 0; // a gradient that is no number is always looked at
        while (bad < count && isfinite(gradient[bad])) bad++;
        for (uint64_t k = 0; k < n; k++) {
            const uint64_t index = n == count ? k : sample(c, k, n, count);
            if (!element(c, row, of, gradient, index)) return false;
            if (index == bad) bad = count;
        }
        if (bad < count && !element(c, row, of, gradient, bad)) return false;
        vy_check_row_close(c->r, row);
    }
    return true;
}

// ---------------------------------------------------------------------------------------- direction
typedef struct direction {
    vy_check_row *row;
    gradient_of of;
    const double *gradient, *was;
} direction;

static bool along(check *c, const direction *r, uint64_t first, uint64_t count, verdict *v)
{
    const probe p = {moved(c, r->of) + first, r->was + first, count, c->q->seed + 1, first};
    sum s = {0, 0};
    estimate e;
    for (uint64_t k = 0; k < count; k++) add(&s, r->gradient[first + k] * sign_of(&p, k));
    const double slope = isfinite(s.low) ? s.high + s.low : s.high;
    if (!judge(c, &p, slope, &e, v)) return false;
    if (*v != COMPARED) return true;
    vy_check_row_note(r->row, first, slope, e.value);
    r->row->compared += count - 1;
    return true;
}

// The more elements move, the more likely one of them meets a kink: then parts are tried, as many as
// there is time for.
static bool whole_or_parts(check *c, const direction *r, uint64_t count)
{
    verdict v;
    const uint64_t last_run = c->r->runs + c->direction_runs, parts = count < PARTS ? count : PARTS;
    if (!along(c, r, 0, count, &v)) return false;
    for (uint64_t k = 0; v != COMPARED && k < PARTS && c->r->runs < last_run; k++) {
        const uint64_t part = k * 13 % PARTS; // any order, but not from one end
        verdict ignored;
        if (part >= parts) continue;
        const uint64_t from = (uint64_t)((__uint128_t)count * part / parts);
        const uint64_t to = (uint64_t)((__uint128_t)count * (part + 1) / parts);
        if (!along(c, r, from, to - from, &ignored)) return false;
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
        const uint64_t count = derived->counts[i];
        row->elements = count;
        row->tolerance = c->tolerance;
        double *was = vy_realloc(NULL, (size_t)(count ? count : 1) * sizeof *was);
        if (!was) return vy_check_memory(c);
        for (uint64_t k = 0; k < count; k++) was[k] = moved(c, of)[k];
        const direction all = {row, of, derived->buffers[i].data, was};
        const bool ok = !count || whole_or_parts(c, &all, count);
        vy_free(was);
        if (!ok) return false;
        if (row->compared || !count) {
            vy_check_row_close(c->r, row);
            continue;
        }
        row->verdict = VY_CHECK_SKIPPED;
        snprintf(row->note, sizeof row->note, "kinks or no numbers everywhere");
    }
    return true;
}
