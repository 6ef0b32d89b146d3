// SPDX-License-Identifier: MIT
// poly.c: the arithmetic of poly.h.
#include "ir/facts/poly.h"
#include "ir/core/divisor.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

static const vy_poly zero = {0};

void vy_poly_free(vy_poly_space *s)
{
    vy_arena_free(&s->arena);
    vy_vec_free(&s->vars);
    vy_free(s->table);
    *s = (vy_poly_space){0};
}

// ----------------------------------------------------------------------- beyond the representation
vy_poly vy_poly_beyond(vy_poly_space *s, bool known, double value, bool atmost)
{
    const uint32_t var = vy_poly_fresh(s);
    if (!var) return zero;
    vy_poly_var *v = &s->vars.data[var];
    v->beyond = true, v->known = known, v->value = value, v->atmost = atmost;
    return vy_poly_of(s, var);
}

static bool has_beyond(const vy_poly_space *s, vy_poly x, bool unknown)
{
    for (uint32_t i = 0; i < x.count; i++)
        for (uint32_t k = 0; k < x.terms[i].count; k++) {
            const vy_poly_var *v = &s->vars.data[x.terms[i].factors[k].var];
            if (v->beyond && (!unknown || !v->known)) return true;
        }
    return false;
}

bool vy_poly_is_beyond(const vy_poly_space *s, vy_poly x) { return has_beyond(s, x, false); }

// What an operation returns: `r`, unless that is beyond the representation.
static vy_poly within(vy_poly_space *s, vy_poly r, bool known, double value, bool atmost)
{
    if (!s->overflow) return r;
    s->overflow = false;
    return vy_poly_beyond(s, known, value, atmost);
}

// ------------------------------------------------------------------------------------ coefficients
static void reduce(vy_poly_space *s, vy_poly_term *t, __int128 num, __int128 den)
{
    __int128 a = num < 0 ? -num : num, b = den;
    while (b) {
        __int128 r = a % b;
        a = b;
        b = r;
    }
    if (a > 1) num /= a, den /= a;
    if (num > INT64_MAX || num < -INT64_MAX || den > INT64_MAX) {
        s->overflow = true;
        num = den = 1;
    }
    t->num = (int64_t)num;
    t->den = (int64_t)den;
}

// ------------------------------------------------------------------------------------- normal form
static uint32_t degree(const vy_poly_term *t)
{
    uint32_t d = 0;
    for (uint32_t k = 0; k < t->count; k++) d += t->factors[k].power;
    return d;
}

static int by_monomial(const void *a, const void *b)
{
    const vy_poly_term *x = a, *y = b;
    uint32_t dx = degree(x), dy = degree(y);
    if (dx != dy) return dx < dy ? -1 : 1;
    for (uint32_t k = 0; k < x->count && k < y->count; k++) {
        const vy_poly_factor *f = &x->factors[k], *g = &y->factors[k];
        if (f->var != g->var) return f->var < g->var ? -1 : 1;
        if (f->power != g->power) return f->power > g->power ? -1 : 1;
    }
    return (x->count > y->count) - (x->count < y->count);
}

// Sorts and combines terms that were made in the arena; the polynomial keeps `t`.
static vy_poly normal(vy_poly_space *s, vy_poly_term *t, uint32_t n)
{
    uint32_t kept = 0;
    if (!t || !n) return zero;
    qsort(t, n, sizeof *t, by_monomial);
    for (uint32_t i = 0; i < n;) {
        vy_poly_term sum = t[i++];
        for (; i < n && by_monomial(&sum, &t[i]) == 0; i++)
            reduce(s, &sum, (__int128)sum.num * t[i].den + (__int128)t[i].num * sum.den,
                   (__int128)sum.den * t[i].den);
        if (sum.num) t[kept++] = sum;
    }
    return (vy_poly){t, kept};
}

static vy_poly_term *room(vy_poly_space *s, size_t n)
{
    vy_poly_term *t = s->failed ? NULL : vy_arena_alloc(&s->arena, (n ? n : 1) * sizeof *t);
    if (!t) s->failed = true;
    return t;
}

// ------------------------------------------------------------------------------------- arithmetic
vy_poly vy_poly_const(vy_poly_space *s, int64_t value)
{
    vy_poly_term *t = value ? room(s, 1) : NULL;
    if (!t) return zero;
    *t = (vy_poly_term){.num = value, .den = 1};
    s->overflow = value == INT64_MIN; // has no opposite
    return within(s, (vy_poly){t, 1}, true, (double)value, false);
}

vy_poly vy_poly_of(vy_poly_space *s, uint32_t var)
{
    vy_poly_term *t = room(s, 1);
    if (!t) return zero;
    *t = (vy_poly_term){.num = 1, .den = 1, .count = 1, .factors = {{var, 1}}};
    return (vy_poly){t, 1};
}

static bool total_value(const vy_poly_space *s, const vy_poly *list, uint32_t count, double *value,
                        bool *atmost)
{
    double sum = 0;
    for (uint32_t i = 0; i < count; i++, sum += *value)
        if (!vy_poly_value(s, list[i], value, atmost)) return false;
    *value = sum;
    return true;
}

vy_poly vy_poly_total(vy_poly_space *s, const vy_poly *list, uint32_t count)
{
    size_t n = 0, at = 0;
    double value = 0;
    bool atmost = false;
    for (uint32_t i = 0; i < count; i++) n += list[i].count;
    vy_poly_term *t = room(s, n);
    if (!t || n > UINT32_MAX) return zero;
    for (uint32_t i = 0; i < count; i++) {
        if (list[i].count) memcpy(t + at, list[i].terms, list[i].count * sizeof *t);
        at += list[i].count;
    }
    const vy_poly sum = normal(s, t, (uint32_t)n);
    const bool known = s->overflow && total_value(s, list, count, &value, &atmost);
    return within(s, sum, known, value, atmost);
}

vy_poly vy_poly_add(vy_poly_space *s, vy_poly x, vy_poly y)
{
    return vy_poly_total(s, (vy_poly[]){x, y}, 2);
}

vy_poly vy_poly_sub(vy_poly_space *s, vy_poly x, vy_poly y)
{
    return vy_poly_add(s, x, vy_poly_scale(s, y, -1, 1));
}

vy_poly vy_poly_scale(vy_poly_space *s, vy_poly x, int64_t num, int64_t den)
{
    vy_poly_term *t = num ? room(s, x.count) : NULL;
    if (!t) return zero;
    for (uint32_t i = 0; i < x.count; i++) {
        t[i] = x.terms[i];
        reduce(s, &t[i], (__int128)t[i].num * num, (__int128)t[i].den * den);
    }
    double value = 0;
    bool atmost = false;
    const bool known = s->overflow && vy_poly_value(s, x, &value, &atmost);
    return within(s, (vy_poly){t, x.count}, known, value * (double)num / (double)den, atmost);
}

// Multiplies the factors of `y` into `x`.
static void join_factors(vy_poly_space *s, vy_poly_term *x, const vy_poly_term *y)
{
    vy_poly_factor all[2 * VY_POLY_FACTORS];
    uint32_t n = 0, i = 0, k = 0;
    while (i < x->count || k < y->count) {
        bool first = k == y->count || (i < x->count && x->factors[i].var <= y->factors[k].var);
        vy_poly_factor f = first ? x->factors[i++] : y->factors[k++];
        if (n && all[n - 1].var == f.var)
            all[n - 1].power += f.power;
        else
            all[n++] = f;
    }
    if (n > VY_POLY_FACTORS) {
        s->overflow = true;
        n = VY_POLY_FACTORS;
    }
    memcpy(x->factors, all, n * sizeof *all);
    x->count = n;
}

static vy_poly product(vy_poly_space *s, vy_poly x, vy_poly y)
{
    if ((uint64_t)x.count * y.count > VY_POLY_TERMS) s->overflow = true;
    if (s->overflow || !x.count || !y.count) return zero;
    vy_poly_term *t = room(s, (size_t)x.count * y.count);
    if (!t) return zero;
    uint32_t n = 0;
    for (uint32_t i = 0; i < x.count; i++)
        for (uint32_t k = 0; k < y.count; k++) {
            t[n] = x.terms[i];
            const vy_poly_term *f = &y.terms[k];
            join_factors(s, &t[n], f);
            reduce(s, &t[n], (__int128)t[n].num * f->num, (__int128)t[n].den * f->den);
            n++;
        }
    return normal(s, t, n);
}

vy_poly vy_poly_mul(vy_poly_space *s, vy_poly x, vy_poly y)
{
    double a = 0, b = 0;
    bool atmost = false;
    const vy_poly r = product(s, x, y);
    const bool known =
        s->overflow && vy_poly_value(s, x, &a, &atmost) && vy_poly_value(s, y, &b, &atmost);
    return within(s, r, known, a * b, atmost);
}

// -------------------------------------------------------------------------------------------- sums
// S_p(n) = Σ_{k<n} k^p = Σ_j a_j n^j: coefficients of n¹ … n^(p+1) over a common denominator
// (Faulhaber's formula, https://dlmf.nist.gov/24.4.7).
enum { HIGHEST = 5 };
static const struct {
    int8_t a[HIGHEST + 1];
    int8_t den;
} power_sums[HIGHEST + 1] = {
    {{1}, 1},
    {{-1, 1}, 2},
    {{1, -3, 2}, 6},
    {{0, 1, -2, 1}, 4},
    {{-1, 0, 10, -15, 6}, 30},
    {{0, -1, 0, 5, -6, 2}, 12},
};

static vy_poly power_sum(vy_poly_space *s, uint32_t p, vy_poly n)
{
    vy_poly sum = zero, power = n;
    for (uint32_t j = 0; j <= p; j++) {
        sum = vy_poly_add(s, sum, vy_poly_scale(s, power, power_sums[p].a[j], power_sums[p].den));
        if (j < p) power = vy_poly_mul(s, power, n);
    }
    return sum;
}

// The coefficient of var^p in x; *highest becomes at least the largest power of var in x.
static vy_poly coefficient_of(vy_poly_space *s, vy_poly x, uint32_t var, uint32_t p,
                              uint32_t *highest)
{
    vy_poly_term *t = room(s, x.count);
    uint32_t n = 0;
    if (!t) return zero;
    for (uint32_t i = 0; i < x.count; i++) {
        uint32_t power = 0, kept = 0;
        t[n] = x.terms[i];
        for (uint32_t k = 0; k < x.terms[i].count; k++)
            if (x.terms[i].factors[k].var == var)
                power = x.terms[i].factors[k].power;
            else
                t[n].factors[kept++] = x.terms[i].factors[k];
        t[n].count = kept;
        if (power > *highest) *highest = power;
        n += power == p;
    }
    return normal(s, t, n);
}

vy_poly vy_poly_sum(vy_poly_space *s, vy_poly body, uint32_t var, vy_poly from, vy_poly to)
{
    vy_poly sum = zero;
    uint32_t highest = 0;
    if (has_beyond(s, body, true)) return vy_poly_beyond(s, false, 0, false); // depends on var?
    for (uint32_t p = 0; p <= highest && !s->failed; p++) {
        vy_poly coefficient = coefficient_of(s, body, var, p, &highest);
        if (highest > HIGHEST) return vy_poly_beyond(s, false, 0, false);
        if (!coefficient.count) continue;
        vy_poly powers = vy_poly_sub(s, power_sum(s, p, to), power_sum(s, p, from));
        sum = vy_poly_add(s, sum, vy_poly_mul(s, coefficient, powers));
    }
    return sum;
}

// --------------------------------------------------------------------------------------- questions
bool vy_poly_is_const(vy_poly x, int64_t *value)
{
    *value = x.count ? x.terms[0].num : 0;
    return x.count == 0 || (x.count == 1 && x.terms[0].count == 0 && x.terms[0].den == 1);
}

bool vy_poly_has_bound(const vy_poly_space *s, vy_poly x)
{
    for (uint32_t i = 0; i < x.count; i++)
        for (uint32_t k = 0; k < x.terms[i].count; k++)
            if (s->vars.data[x.terms[i].factors[k].var].bound) return true;
    return false;
}

// Value at a point whose coordinates repeat modulo a period: enough to test integrality.
static bool integral_at(vy_poly x, int64_t c, const uint32_t *vars, const int64_t *at, uint32_t n)
{
    __int128 num = 0, den = 1;
    for (uint32_t i = 0; i < x.count; i++) {
        const vy_poly_term *t = &x.terms[i];
        __int128 value = t->num;
        for (uint32_t k = 0; k < t->count; k++)
            for (uint32_t v = 0; v < n; v++)
                for (uint32_t e = 0; vars[v] == t->factors[k].var && e < t->factors[k].power; e++)
                    value *= at[v];
        int64_t common = (int64_t)den / vy_common_divisor((int64_t)den, t->den) * t->den;
        num = num * (common / den) + value * (common / t->den);
        den = common;
    }
    return num % (den * c) == 0;
}

// A polynomial of degree d_v in variable v is integral everywhere if it is on the grid 0..d_v: its
// coefficients in the basis of products of binomials are differences of those values.
bool vy_poly_divides(vy_poly_space *s, vy_poly x, int64_t c)
{
    enum { MOST = 3, POWER = 4, SMALL = 1 << 16 };
    uint32_t vars[MOST], highest[MOST], n = 0;
    int64_t at[MOST] = {0};
    if (c <= 0 || c > SMALL || s->failed) return false;
    for (uint32_t i = 0; i < x.count; i++) {
        if (llabs(x.terms[i].num) > SMALL || x.terms[i].den > 64) return false;
        for (uint32_t k = 0; k < x.terms[i].count; k++) {
            uint32_t v = 0;
            while (v < n && vars[v] != x.terms[i].factors[k].var) v++;
            if (v == MOST || x.terms[i].factors[k].power > POWER) return false;
            if (v == n) vars[n] = x.terms[i].factors[k].var, highest[n++] = 0;
            if (x.terms[i].factors[k].power > highest[v]) highest[v] = x.terms[i].factors[k].power;
        }
    }
    for (;;) {
        if (!integral_at(x, c, vars, at, n)) return false;
        uint32_t v = 0;
        while (v < n && at[v] == highest[v]) at[v++] = 0;
        if (v == n) return true;
        at[v]++;
    }
}

bool vy_poly_value(const vy_poly_space *s, vy_poly x, double *value, bool *atmost)
{
    double sum = 0;
    for (uint32_t i = 0; i < x.count; i++) {
        double product = (double)x.terms[i].num;
        for (uint32_t k = 0; k < x.terms[i].count; k++) {
            const vy_poly_var *v = &s->vars.data[x.terms[i].factors[k].var];
            if (!v->known) return false;
            *atmost |= v->atmost;
            product *= pow(v->value, x.terms[i].factors[k].power);
        }
        sum += product / (double)x.terms[i].den;
    }
    *value = nearbyint(sum);
    return true;
}
