// SPDX-License-Identifier: MIT
// dual_rules.c: partial derivatives of the operations, for dual numbers.
//
// Written from the definitions (DLMF chapter 4 for the elementary functions, 5.15 and 7.2 for the
// others), deliberately without consulting the column of derivatives in ops.h:
// tests/unit/eval/test_dual.c compares the two on a grid, so that a wrong row is noticed.  Where a
// derivative has several forms, this file uses another one than the table.
#include "ir/eval/dual.h"
#include "ir/core/ops.h"
#include "ir/core/special.h"

#include <math.h>

#define LN2 0.693147180559945309417232121458176568
#define LN10 2.302585092994045684017991454684364208
#define TWO_OVER_ROOT_PI 1.128379167095512573896158903121545172

// Functions of one operand.
static bool unary(uint32_t op, uint32_t aux, double x, double y, double *d)
{
    switch (op) {
    case VY_OP_NEG: *d = -1; return true;
    case VY_OP_ABS: *d = x > 0 ? 1 : -1; return x > 0 || x < 0;
    case VY_OP_SQRT: *d = 0.5 / y; return true;
    case VY_OP_RSQRT: *d = -0.5 * y / x; return true;
    case VY_OP_CBRT: *d = 1 / (3 * y * y); return true;
    case VY_OP_EXP: *d = exp(x); return true;
    case VY_OP_EXP2: *d = exp2(x) * LN2; return true;
    case VY_OP_EXPM1: *d = exp(x); return true;
    case VY_OP_LOG: *d = 1 / x; return true;
    case VY_OP_LOG2: *d = 1 / x / LN2; return true;
    case VY_OP_LOG10: *d = 1 / x / LN10; return true;
    case VY_OP_LOG1P: *d = 1 / (1 + x); return true;
    case VY_OP_SIN: *d = cos(x); return true;
    case VY_OP_COS: *d = -sin(x); return true;
    case VY_OP_TAN: *d = 1 + tan(x) * tan(x); return true;
    case VY_OP_ASIN: *d = 1 / sqrt((1 - x) * (1 + x)); return true;
    case VY_OP_ACOS: *d = -1 / sqrt((1 - x) * (1 + x)); return true;
    case VY_OP_ATAN: *d = 1 / (1 + x * x); return true;
    case VY_OP_SINH: *d = cosh(x); return true;
    case VY_OP_COSH: *d = sinh(x); return true;
    case VY_OP_TANH: *d = 1 - tanh(x) * tanh(x); return true;
    case VY_OP_ASINH: *d = 1 / hypot(1, x); return true;
    case VY_OP_ACOSH: *d = 1 / (sqrt(x - 1) * sqrt(x + 1)); return true;
    case VY_OP_ATANH: *d = 1 / ((1 - x) * (1 + x)); return true;
    case VY_OP_ERF: *d = TWO_OVER_ROOT_PI * exp(-(x * x)); return true;
    case VY_OP_ERFC: *d = -TWO_OVER_ROOT_PI * exp(-(x * x)); return true;
    case VY_OP_LGAMMA: *d = vy_ref_digamma(x); return true;
    case VY_OP_POLYGAMMA: *d = vy_ref_polygamma(aux + 1, x); return true;
    case VY_OP_SIGMOID: *d = y * (1 - y); return true;
    case VY_OP_SOFTPLUS: *d = vy_ref_sigmoid(x); return true;
    default: return false; // sign, floor …, stop_grad, and operations whose value is not a float
    }
}

static bool power(double x, double y, uint32_t k, double value, double *d)
{
    if (k == 0) {
        *d = y * pow(x, y - 1);
        return y != 0;
    }
    *d = value * log(x);
    return !(x < 0) && !(x == 0 && y > 0);
}

// ∂atan2(y, x) is (x, −y)/r².  Computed via x/r, as r² may overflow.
static bool angle(double y, double x, uint32_t k, double *d)
{
    const double r = hypot(y, x);
    *d = k == 0 ? x / r / r : -y / r / r;
    return r != 0;
}

// The operand with the derivative 1: x between the bounds and on them; outside, the bound that
// min(max(x, low), high) yields.
static uint32_t clamp_gives(double x, double low, double high)
{
    if (low <= x && x <= high) return 0;
    return !(low <= x) && low < high ? 1 : 2;
}

// Functions of two operands or three.
static bool several(uint32_t op, const double v[3], double y, uint32_t k, double *d)
{
    *d = 1;
    switch (op) {
    case VY_OP_ADD: return true;
    case VY_OP_SUB: *d = k ? -1 : 1; return true;
    case VY_OP_MUL: *d = v[1 - k]; return true;
    case VY_OP_DIV: *d = k ? -(y / v[1]) : 1 / v[1]; return true;
    case VY_OP_FMA: *d = k == 2 ? 1 : v[1 - k]; return true;
    case VY_OP_MIN: return (v[0] < v[1]) == (k == 0); // on a tie, the second operand
    case VY_OP_MAX: return (v[0] > v[1]) == (k == 0);
    case VY_OP_CLAMP: return clamp_gives(v[0], v[1], v[2]) == k;
    case VY_OP_POW: return power(v[0], v[1], k, y, d);
    case VY_OP_ATAN2: return angle(v[0], v[1], k, d);
    case VY_OP_HYPOT: *d = v[k] / y; return y != 0;
    case VY_OP_FMOD: *d = k ? -nearbyint((v[0] - y) / v[1]) : 1; return true;
    case VY_OP_STRAIGHT_THROUGH:
    case VY_OP_DERIVE_AS: return k == 1;
    case VY_OP_CANDIDATE: return k == 0;
    default: return false;
    }
}

bool vy_dual_partial(uint32_t op, uint32_t aux, const double v[3], double y, uint32_t k,
                     double *partial)
{
    return unary(op, aux, v[0], y, partial) || several(op, v, y, k, partial);
}
