// SPDX-License-Identifier: MIT
// special.c: digamma and its derivatives, and stable forms of small functions (special.h).
//
// Near its zeros ψ is a difference of terms that are not small, so every sum and product that can
// cancel is carried as a pair h + l of doubles (T. J. Dekker, Numer. Math. 18, 1971).  The
// algorithms are those of spirv/mathlib.vyre, which the device runs; here products are split by
// fma.  Formulas: Abramowitz and Stegun, chapters 4, 6 and 23.
#include "ir/core/special.h"

#include <math.h>
#include <stdbool.h>

// ------------------------------------------------------------------------------------------ pairs
typedef struct pair {
    double h, l;
} pair;

static const pair PI_PAIR = {3.141592653589793, 1.2246467991473532e-16};

static pair two_sum(double a, double b) // a + b exactly
{
    const double s = a + b, t = s - a;
    return (pair){s, (a - (s - t)) + (b - t)};
}

static pair two_prod(double a, double b) // a b exactly
{
    const double p = a * b;
    return (pair){p, fma(a, b, -p)};
}

static pair normal(double h, double l) // |h| >= |l|
{
    const double s = h + l;
    return (pair){s, l - (s - h)};
}

static pair add(pair a, pair b)
{
    const pair s = two_sum(a.h, b.h);
    return normal(s.h, s.l + (a.l + b.l));
}

static pair mul(pair a, pair b)
{
    const pair p = two_prod(a.h, b.h);
    return normal(p.h, p.l + (a.h * b.l + a.l * b.h));
}

static pair quotient(pair a, pair b)
{
    const double q = a.h / b.h;
    return normal(q, (fma(-q, b.h, a.h) + (a.l - q * b.l)) / b.h);
}

static double polynomial(const double *c, int n, double x) // c[0] + c[1] x + …
{
    double y = c[n - 1];
    for (int i = n - 2; i >= 0; i--) y = y * x + c[i];
    return y;
}

// ------------------------------------------------------------------------------------------ lgamma
double vy_lgamma(double x)
{
    if (isinf(x)) return (double)INFINITY;
#if defined(__GLIBC__) || defined(__APPLE__) || defined(__FreeBSD__) || defined(__linux__)
    int sign;
    return lgamma_r(x, &sign);
#else
    return lgamma(x); // may write signgam
#endif
}

// ----------------------------------------------------------------------------------------- digamma
// π cot(πd), 0 < |d| <= 1/2: sin r = r + r³ S(r²), cos r = 1 − r²/2 + r⁴ C(r²) on |r| <= π/4, both
// minimax with error below 2^-58, as pairs.
static pair pi_cot_pi(double d)
{
    static const double S[] = {-0.16666666666666632,    0.008333333333322457,
                               -0.00019841269829815131, 2.7557313688177802e-6,
                               -2.505075680562337e-8,   1.5896686867050777e-10};
    static const double C[] = {0.0416666666666666,      -0.0013888888888874441,
                               0.000024801587289636504, -2.7557314387579225e-7,
                               2.087572707976374e-9,    -1.135980377641297e-11};
    const double a = fabs(d);
    const bool far = a > 0.25; // cot(πa) = tan(π(1/2 − a)), the difference is exact
    const pair r = mul((pair){far ? 0.5 - a : a, 0}, PI_PAIR);
    const pair z = two_prod(r.h, r.h);
    const pair s = normal(r.h, r.h * z.h * polynomial(S, 6, z.h) + (r.l - 0.5 * z.h * r.l));
    const pair t = normal(1.0, -0.5 * z.h);
    const pair c = normal(t.h, t.l + (z.h * z.h * polynomial(C, 6, z.h) - (0.5 * z.l + r.h * r.l)));
    const pair q = mul(far ? quotient(s, c) : quotient(c, s), PI_PAIR);
    return d < 0 ? (pair){-q.h, -q.l} : q;
}

// ψ(x), 0 < x < 10: the recurrence ψ(x) = ψ(x−1) + 1/(x−1) leads to [1, 2.4], where it is
// (x − x0) R(x − 1.75) with its zero x0 as a pair; R is minimax, relative error 2^-57.
static pair digamma_low(double x)
{
    static const double R[] = {
        -0.3262546278681058,    0.15712011335204423,     -0.08228558635575642,
        0.04479965445259896,    -0.024890048490685348,   0.013985786191896556,
        -0.007910468719399506,  0.004491813527813787,    -0.002556687562692076,
        0.0014573770160747881,  -0.0008314852724543425,  0.00047466219805800044,
        -0.0002711783074423793, 0.00015492476278952688,  -0.00008795665061403348,
        0.00005027101669693404, -0.00003057503398451398, 0.000017023105086680995,
        -5.574501928876192e-6,  4.879704179079043e-6,    -8.735792971497436e-6,
        1.7556818488392773e-6,  3.919589463293566e-6,    9.96661266528518e-7,
        -2.361585128204504e-6};
    const bool up = x < 1;
    pair sum = {0, 0};
    double t = x;
    if (up) sum = quotient((pair){-1, 0}, (pair){x, 0});
    while (t > 2.4) {
        t -= 1; // exact
        sum = add(sum, quotient((pair){1, 0}, (pair){t, 0}));
    }
    const double y = up ? x - 0.75 : t - 1.75;
    const double d = up ? (x - 0.46163214496836236) + 1.5522348162858677e-17
                        : (t - 1.4616321449683622) - 9.549995429965697e-17;
    const pair g = normal(0.8581832171262995,
                          y * polynomial(R, sizeof R / sizeof *R, y) - 9.873154015304996e-18);
    return add(sum, mul((pair){d, 0}, g));
}

double vy_ref_digamma(double x)
{
    static const double A[] = {0.08333333333333333,    -0.008333333333316897, 0.00396825395181114,
                               -0.0041666593105119665, 0.007574037575791655,  -0.02087288541211153,
                               0.06851962292637023};
    if (isnan(x) || x == -(double)INFINITY) return (double)NAN;
    if (x == (double)INFINITY) return x;
    if (fabs(x) < 0x1p-60) return -1 / x;
    const bool reflect = x < 0; // ψ(x) = ψ(1−x) − π cot(πx)
    const pair u = reflect ? two_sum(1, -x) : (pair){x, 0};
    pair y;
    if (u.h < 10) {
        y = digamma_low(u.h);
    } else { // asymptotic series
        const double r = 1 / u.h, z = r * r;
        y = normal(log(u.h), -(0.5 * r + z * polynomial(A, 7, z)));
    }
    if (!reflect) return y.h + y.l;
    const double d = x - nearbyint(x);
    if (d == 0) return (double)NAN;
    const pair c = pi_cot_pi(d);
    y = add(y, (pair){-c.h, -c.l});
    return y.h + (y.l + u.l / (u.h - 0.5)); // ψ'(u) is nearly 1/(u − 1/2)
}

// --------------------------------------------------------------------------------------- polygamma
static pair power(pair x, unsigned n) // x^n, n >= 1
{
    pair y = x;
    for (unsigned i = 1; i < n; i++) y = mul(y, x);
    return y;
}

// n! ζ(s, x), s = n + 1, x > 0: Euler and Maclaurin after x → X >= n + 13,
//   Σ (x+k)^−s + X^−s (X/n + 1/2 + s/(12 X) (1 − (s+1)(s+2)/(60 X²) (1 − …))),
// all in units of a power of two near x, so that no power overflows or underflows.
static pair hurwitz(unsigned n, pair x)
{
    static const double RATIO[] = {// B(2j+2) / (B(2j) (2j+1) (2j+2)), j = 1, 2, …
                                   -1.0 / 60,           -1.0 / 42,
                                   -1.0 / 40,           -5.0 / 198,
                                   -691.0 / 27300,      -35.0 / 1382,
                                   -3617.0 / 142800,    -0.025330005504037488,
                                   -0.02533022338183393};
    int e;
    frexp(x.h, &e);
    if (e < -500) return (pair){(double)INFINITY, 0};
    const double u = ldexp(1, e > 1000 ? -1000 : -e);
    const double f = n, limit = f + 13;
    pair sum = {0, 0}, t = x;
    const pair one = {1, 0};
    while (t.h < limit) {
        sum = add(sum, power(quotient(one, (pair){t.h * u, t.l * u}), n + 1));
        t = add(t, one);
    }
    const double r = 1 / t.h, w = r * r;
    double b = 1;
    for (int j = 9; j >= 1; j--) b = 1 + w * (f + 2 * j) * (f + 2 * j + 1) * RATIO[j - 1] * b;
    const pair tu = {t.h * u, t.l * u};
    const pair tail = add(quotient(tu, (pair){f, 0}), (pair){(0.5 + (f + 1) * r / 12 * b) * u, 0});
    pair y = add((pair){sum.h * u, sum.l * u}, mul(power(quotient(one, tu), n + 1), tail));
    for (unsigned j = 1; j <= n; j++) {
        if (isinf(y.h * (j * u))) return (pair){(double)INFINITY, 0};
        y = mul(y, (pair){j * u, 0});
    }
    return y;
}

double vy_ref_polygamma(unsigned n, double x)
{
    if (n == 0) return vy_ref_digamma(x);
    const bool even = n % 2 == 0;
    if (isnan(x) || x == -(double)INFINITY || n > 2000) return (double)NAN;
    if (x == 0) return even ? -1 / x : (double)INFINITY;
    if (x == (double)INFINITY) return even ? -0.0 : 0.0;
    if (fabs(x) < 0x1p-60 && n < 1000) {
        // ψ⁽ⁿ⁾(x) = (−1)ⁿ⁺¹ n!/xⁿ⁺¹ (1 + O(xⁿ⁺¹)); the products of pairs below would overflow
        // where it does not.
        const long double leading = tgammal(n + 1.0L) / powl(x, n + 1.0L);
        return (double)(even ? -leading : leading);
    }
    pair y;
    if (x > 0) {
        y = hurwitz(n, (pair){x, 0});
    } else {
        // The sum over all d + k, k integer, less the terms below x; d = x − round(x), S its sign:
        // ζ(s,x) = S^s ζ(s,|d|) + (−S)^s ζ(s,1−|d|) − (−1)^s ζ(s,1−x).
        const double d = x - nearbyint(x), odd_sign = even ? -1 : 1;
        if (d == 0) return even ? (double)NAN : (double)INFINITY;
        const double w = even && d < 0 ? -1 : 1;
        const pair a = hurwitz(n, (pair){fabs(d), 0}), b = hurwitz(n, two_sum(1, -fabs(d)));
        const pair c = hurwitz(n, two_sum(1, -x));
        if (isinf(a.h)) return even ? -w * a.h : a.h; // the largest of the three
        y = add((pair){w * a.h, w * a.l}, (pair){w * odd_sign * b.h, w * odd_sign * b.l});
        y = add(y, (pair){-odd_sign * c.h, -odd_sign * c.l});
    }
    const double v = isinf(y.h) ? y.h : y.h + y.l;
    return even ? -v : v;
}

// ---------------------------------------------------------------------------------- logistic forms
double vy_ref_sigmoid(double x)
{
    const double e = exp(-fabs(x));
    return x < 0 ? e / (1 + e) : 1 / (1 + e);
}

double vy_ref_softplus(double x)
{
    const double t = log1p(exp(-fabs(x)));
    return x > 0 ? x + t : t;
}
