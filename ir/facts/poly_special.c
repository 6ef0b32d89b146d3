// SPDX-License-Identifier: MIT
// poly_special.c: divisions, remainders, minima, maxima and roots of sizes.
//
//   D·(D − 1) / 2  →  D²/2 − D/2       an integer for every D
//   (8·q + 3) / 8  →  q                 the remainder is a number below 8
//   (N + 7) / 8    →  floor((7 + N) / 8), a variable, whose value is known when N's is
#include "ir/facts/poly.h"

#include <stdio.h>
#include <string.h>

// The text of an operand; a sum in a division gets parentheses.
static const char *operand(vy_poly_space *s, vy_dim_op op, vy_poly x)
{
    const char *text = vy_poly_text(s, x);
    if (x.count < 2 || (op != VY_DIM_DIV && op != VY_DIM_REM)) return text;
    size_t n = strlen(text) + 3;
    char *wrapped = vy_arena_alloc(&s->arena, n);
    if (wrapped)
        snprintf(wrapped, n, "(%s)", text);
    else
        s->failed = true;
    return wrapped ? wrapped : "";
}

// `floor(D / 8)`, `max(D - 1, 0)`
static const char *special_text(vy_poly_space *s, vy_dim_op op, vy_poly a, vy_poly b)
{
    const char *before = op == VY_DIM_MIN    ? "min("
                         : op == VY_DIM_MAX  ? "max("
                         : op == VY_DIM_SQRT ? "isqrt("
                         : op == VY_DIM_DIV  ? "floor("
                                             : "(";
    const char *between = op == VY_DIM_DIV ? " / " : op == VY_DIM_REM ? " % " : ", ";
    const char *x = operand(s, op, a), *y = operand(s, op, b);
    if (op == VY_DIM_SQRT) between = y = "";
    size_t n = strlen(before) + strlen(x) + strlen(between) + strlen(y) + 2;
    char *text = vy_arena_alloc(&s->arena, n);
    if (!text) {
        s->failed = true;
        return "";
    }
    snprintf(text, n, "%s%s%s%s)", before, x, between, y);
    return text;
}

// The value of a dimension operation on numbers; false: not known.
static bool apply(vy_dim_op op, double a, double b, double *out)
{
    bool divides = op == VY_DIM_DIV || op == VY_DIM_REM;
    if ((divides && b == 0) || a > 9e15 || a < -9e15) return false;
    switch (op) {
    case VY_DIM_DIV: *out = (double)((int64_t)a / (int64_t)b); return true;
    case VY_DIM_REM: *out = (double)((int64_t)a % (int64_t)b); return true;
    case VY_DIM_MIN: *out = a < b ? a : b; return true;
    case VY_DIM_MAX: *out = a > b ? a : b; return true;
    case VY_DIM_SQRT: *out = (double)vy_isqrt((int64_t)a); return true;
    default: return false;
    }
}

// Is a = c·q + r with an integral polynomial q and a number 0 ≤ r < c?  Then a/c is q.
static bool divides_up_to_remainder(vy_poly_space *s, vy_poly a, int64_t c, vy_poly *q)
{
    int64_t rest = 0;
    for (uint32_t i = 0; i < a.count; i++)
        if (!a.terms[i].count && a.terms[i].den == 1) rest = a.terms[i].num;
    if (c <= 0) return false;
    rest = (rest % c + c) % c;
    vy_poly whole = vy_poly_sub(s, a, vy_poly_const(s, rest));
    if (!vy_poly_divides(s, whole, c)) return false;
    *q = vy_poly_scale(s, whole, 1, c);
    return true;
}

vy_poly vy_poly_special(vy_poly_space *s, vy_dim_op op, vy_poly a, vy_poly b)
{
    int64_t x, y;
    double value = 0;
    bool ca = vy_poly_is_const(a, &x), cb = vy_poly_is_const(b, &y);
    if (ca && cb && apply(op, (double)x, (double)y, &value))
        return vy_poly_const(s, (int64_t)value);
    vy_poly q;
    if (op == VY_DIM_DIV && cb && divides_up_to_remainder(s, a, y, &q)) return q;
    double va, vb;
    bool atmost = false;
    const bool known = vy_poly_value(s, a, &va, &atmost) && vy_poly_value(s, b, &vb, &atmost) &&
                       apply(op, va, vb, &value);
    if (vy_poly_is_beyond(s, a) || vy_poly_is_beyond(s, b)) // `?` in a text may be anything
        return vy_poly_beyond(s, known, value, atmost);
    uint32_t var = vy_poly_name(s, special_text(s, op, a, b));
    if (s->failed) return (vy_poly){0};
    s->vars.data[var].known = known;
    s->vars.data[var].value = value;
    return vy_poly_of(s, var);
}
