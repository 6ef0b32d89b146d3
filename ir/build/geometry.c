// SPDX-License-Identifier: MIT
// geometry.c: functions of vectors as scalar code.
#include "ir/build/edit.h"
#include "ir/build/geometry.h"

static vy_value dot(vy_builder *b, uint32_t n, const vy_value *x, const vy_value *y)
{
    vy_value sum = {0};
    for (uint32_t k = 0; k < n; k++) {
        const vy_value term = vy_mul(b, x[k], y[k]);
        sum = sum.id ? vy_add(b, sum, term) : term;
    }
    return sum;
}

// |x|: the root of the sum of squares, with the derivative of hypot, which is 0 at 0.
static vy_value length_of(vy_builder *b, uint32_t n, const vy_value *x)
{
    if (n == 1) return vy_call_of(b, "abs", x[0]);
    vy_value far = x[0];
    for (uint32_t k = 1; k < n; k++) far = vy_call(b, "hypot", 2, (vy_value[]){far, x[k]});
    const vy_value root = vy_call_of(b, "sqrt", dot(b, n, x, x));
    return vy_call(b, "straight_through", 2, (vy_value[]){root, far});
}

static vy_value distance(vy_builder *b, uint32_t n, const vy_value *x, const vy_value *y)
{
    vy_value between[VY_MAX_COMPONENTS];
    for (uint32_t k = 0; k < n; k++) between[k] = vy_sub(b, x[k], y[k]);
    return length_of(b, n, between);
}

// x/|x|; its derivative is 0 where |x| is 0.
static void normalize(vy_builder *b, uint32_t n, const vy_value *x, vy_value *v)
{
    const vy_value length = length_of(b, n, x);
    for (uint32_t k = 0; k < n; k++) v[k] = vy_div(b, x[k], length);
    const vy_value zero = vy_eq(b, length, vy_float_like(b, x[0], 0));
    for (uint32_t k = 0; k < n; k++) // the same numbers, NaN; but no derivative
        v[k] = vy_select(b, zero, vy_stop_grad(b, v[k]), v[k]);
}

static void cross(vy_builder *b, const vy_value *x, const vy_value *y, vy_value *v)
{
    for (uint32_t k = 0; k < 3; k++) {
        const uint32_t i = (k + 1) % 3, j = (k + 2) % 3;
        const vy_value more = vy_mul(b, x[i], y[j]);
        v[k] = vy_sub(b, more, vy_mul(b, x[j], y[i]));
    }
}

static void reflect(vy_builder *b, uint32_t n, const vy_value *i, const vy_value *normal,
                    vy_value *v)
{
    const vy_value along = dot(b, n, normal, i),
                   twice = vy_mul(b, vy_float_like(b, i[0], 2), along);
    for (uint32_t k = 0; k < n; k++) v[k] = vy_sub(b, i[k], vy_mul(b, twice, normal[k]));
}

static void refract(vy_builder *b, uint32_t n, const vy_value *i, const vy_value *normal,
                    vy_value eta, vy_value *v)
{
    const vy_value d = dot(b, n, normal, i);
    const vy_value square = vy_mul(b, d, d), rest = vy_sub(b, vy_float_like(b, i[0], 1), square);
    const vy_value bend = vy_mul(b, vy_mul(b, eta, eta), rest);
    const vy_value k2 = vy_sub(b, vy_float_like(b, i[0], 1), bend);
    const vy_value none = vy_lt(b, k2, vy_float_like(b, i[0], 0));
    const vy_value root = vy_call_of(b, "sqrt", vy_select(b, none, vy_float_like(b, i[0], 1), k2));
    const vy_value along = vy_add(b, vy_mul(b, eta, d), root);
    for (uint32_t k = 0; k < n; k++) {
        const vy_value by = vy_mul(b, along, normal[k]);
        const vy_value bent = vy_sub(b, vy_mul(b, eta, i[k]), by);
        v[k] = vy_select(b, none, vy_float_like(b, i[0], 0), bent);
    }
}

// x where dot(reference, incident) < 0, else −x
static void face_forward(vy_builder *b, uint32_t n, const vy_value *x, const vy_value *incident,
                         const vy_value *reference, vy_value *v)
{
    const vy_value zero = vy_float_like(b, x[0], 0);
    const vy_value front = vy_lt(b, dot(b, n, reference, incident), zero);
    for (uint32_t k = 0; k < n; k++) v[k] = vy_select(b, front, x[k], vy_neg(b, x[k]));
}

uint32_t vy_geometry(vy_builder *b, vy_geometric f, uint32_t n, const vy_value *x,
                     const vy_value *y, const vy_value *z, vy_value *v)
{
    switch (f) {
    case VY_DOT: v[0] = dot(b, n, x, y); return 1;
    case VY_LENGTH: v[0] = length_of(b, n, x); return 1;
    case VY_DISTANCE: v[0] = distance(b, n, x, y); return 1;
    case VY_CROSS: cross(b, x, y, v); return 3;
    case VY_NORMALIZE: normalize(b, n, x, v); return n;
    case VY_REFLECT: reflect(b, n, x, y, v); return n;
    case VY_REFRACT: refract(b, n, x, y, z[0], v); return n;
    case VY_FACEFORWARD: face_forward(b, n, x, y, z, v); return n;
    }
    return 0;
}
