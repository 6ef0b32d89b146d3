// SPDX-License-Identifier: MIT
// quaternion.c: rotations as vectors (x, y, z, w) of four: w is the real part, as in glTF and most
// engines.
//
// All are the polynomials below, also of quaternions that are not of length 1 (which only for unit
// quaternions are rotations), so derivatives are theirs and nothing is normalised in secret.
#include "ir/build/edit.h"
#include "ir/build/library.h"

static vy_value twice(vy_builder *b, vy_value x) { return vy_mul(b, vy_float_like(b, x, 2), x); }

// x y − z w
static vy_value crossed(vy_builder *b, vy_value x, vy_value y, vy_value z, vy_value w)
{
    const vy_value less = vy_mul(b, z, w);
    return vy_sub(b, vy_mul(b, x, y), less);
}

// Component k of u × v.
static vy_value cross(vy_builder *b, const vy_value *u, const vy_value *v, uint32_t k)
{
    const uint32_t i = (k + 1) % 3, j = (k + 2) % 3;
    return crossed(b, u[i], v[j], u[j], v[i]);
}

static vy_value dot(vy_builder *b, const vy_value *x, const vy_value *y, uint32_t n)
{
    vy_value sum = vy_mul(b, x[0], y[0]);
    for (uint32_t k = 1; k < n; k++) sum = vy_add(b, sum, vy_mul(b, x[k], y[k]));
    return sum;
}

// Hamilton's product: (u, p)(v, q) = (p v + q u + u × v, p q − u · v), first y, then x.
void vy_build_quat_mul(vy_builder *b, const vy_taken *x, vy_value *v)
{
    const vy_value *p = x[0].v, *q = x[1].v;
    for (uint32_t k = 0; k < 3; k++) {
        const vy_value of_q = vy_mul(b, q[3], p[k]);
        const vy_value parts = vy_add(b, vy_mul(b, p[3], q[k]), of_q);
        v[k] = vy_add(b, parts, cross(b, p, q, k));
    }
    const vy_value along = dot(b, p, q, 3);
    v[3] = vy_sub(b, vy_mul(b, p[3], q[3]), along);
}

void vy_build_quat_conjugate(vy_builder *b, const vy_taken *x, vy_value *v)
{
    for (uint32_t k = 0; k < 4; k++) v[k] = k < 3 ? vy_neg(b, x[0].v[k]) : x[0].v[k];
}

// v + w t + u × t with t = 2 u × v
void vy_build_quat_rotate(vy_builder *b, const vy_taken *x, vy_value *v)
{
    const vy_value *q = x[0].v;
    vy_value t[3];
    for (uint32_t k = 0; k < 3; k++) t[k] = twice(b, cross(b, q, x[1].v, k));
    for (uint32_t k = 0; k < 3; k++) {
        const vy_value across = cross(b, q, t, k);
        v[k] = vy_add(b, vy_add(b, x[1].v[k], vy_mul(b, q[3], t[k])), across);
    }
}

// (axis sin a/2, cos a/2)
void vy_build_quat_axis_angle(vy_builder *b, const vy_taken *x, vy_value *v)
{
    const vy_value half = vy_mul(b, vy_float_like(b, x[1].v[0], 0.5), x[1].v[0]);
    const vy_value s = vy_call(b, "sin", 1, &half);
    for (uint32_t k = 0; k < 3; k++) v[k] = vy_mul(b, x[0].v[k], s);
    v[3] = vy_call(b, "cos", 1, &half);
}

// The matrix of quat_rotate: entry (i, i) is 1 − 2 (u_j² + u_k²), (i, j) is 2 (u_i u_j ∓ w u_k).
void vy_build_quat_matrix(vy_builder *b, const vy_taken *x, vy_value *v)
{
    const vy_value *q = x[0].v;
    for (uint32_t i = 0; i < 3; i++) {
        const uint32_t j = (i + 1) % 3, k = (i + 2) % 3;
        const vy_value square = vy_mul(b, q[k], q[k]);
        const vy_value squares = twice(b, vy_add(b, vy_mul(b, q[j], q[j]), square));
        v[4 * i] = vy_sub(b, vy_float_like(b, q[0], 1), squares);
        const vy_value both = vy_mul(b, q[i], q[j]), turn = vy_mul(b, q[3], q[k]);
        v[3 * j + i] = twice(b, vy_sub(b, both, turn)); // column j, row i
        v[3 * i + j] = twice(b, vy_add(b, both, turn));
    }
}

// ------------------------------------------------------------------------------------------ slerp
// sin tθ / sin θ by d = cos θ near 1: Σ a_k (d − 1)^k with a_0 = t and
// a_k = a_{k−1} (t² − k²) / (k (2k + 1)) (Eberly, A fast and accurate algorithm for computing
// SLERP, 2011).  |d − 1| < 2^−6: a term is at most 2^−7 of the one before it.
static vy_value near_weight(vy_builder *b, vy_value t, vy_value d)
{
    const int terms = vy_value_type(b, t) == VY_F64 ? 8 : 4;
    const vy_value below = vy_sub(b, d, vy_float_like(b, d, 1)), square = vy_mul(b, t, t);
    vy_value term = t, sum = t;
    for (int k = 1; k <= terms; k++) {
        const vy_value by = vy_float_like(b, t, 1.0 / (k * (2 * k + 1)));
        const vy_value a = vy_mul(b, vy_sub(b, square, vy_float_like(b, t, k * k)), by);
        term = vy_mul(b, term, vy_mul(b, a, below));
        sum = vy_add(b, sum, term);
    }
    return sum;
}

static vy_value far_weight(vy_builder *b, vy_value t, vy_value angle, vy_value sine)
{
    const vy_value part = vy_mul(b, t, angle);
    return vy_div(b, vy_call(b, "sin", 1, &part), sine);
}

// The shorter way from x to y: weights sin (1−t)θ / sin θ and sin tθ / sin θ, cos θ = |x · y|.
void vy_build_quat_slerp(vy_builder *b, const vy_taken *x, vy_value *v)
{
    const vy_value *p = x[0].v, *q = x[1].v, t = x[2].v[0];
    const vy_value along = dot(b, p, q, 4), d = vy_call(b, "abs", 1, &along);
    const vy_value back = vy_lt(b, along, vy_float_like(b, t, 0));
    const vy_value near = vy_lt(b, vy_float_like(b, t, 1 - 0x1p-6), d);
    const vy_value angle = vy_call(b, "acos", 1, &d), sine = vy_call(b, "sin", 1, &angle);
    const vy_value rest = vy_sub(b, vy_float_like(b, t, 1), t);
    const vy_value far_m = far_weight(b, rest, angle, sine);
    const vy_value m = vy_select(b, near, near_weight(b, rest, d), far_m);
    const vy_value far_n = far_weight(b, t, angle, sine);
    const vy_value n = vy_select(b, near, near_weight(b, t, d), far_n);
    const vy_value signed_n = vy_select(b, back, vy_neg(b, n), n);
    for (uint32_t k = 0; k < 4; k++) {
        const vy_value of_q = vy_mul(b, signed_n, q[k]);
        v[k] = vy_add(b, vy_mul(b, m, p[k]), of_q);
    }
}
