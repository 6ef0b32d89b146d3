// SPDX-License-Identifier: MIT
// special.h: functions that libm lacks or that are not thread-safe there, for folding, the
// interpreter and tests.  Doubles only; the errors stated are the largest measured, against 113
// bits.
#ifndef VYRE_SPECIAL_H
#define VYRE_SPECIAL_H

// log|Γ(x)|: libm's, without a race on the global signgam (glibc 2.36: 2.1 ULP for x > 0; for x < 0
// 3.1 ULP, or 5e-16 absolute near the zeros).  Poles and ±inf give +inf.
double vy_lgamma(double x);

// ψ(x) = Γ'(x)/Γ(x).  1.5 ULP for x > 0, near the zero 1.4616… too; for x < 0 4 ULP, or 1.1e-15
// absolute near the zeros.  ψ(±0) = ∓inf, ψ(inf) = inf; negative integers and −inf give nan.
double vy_ref_digamma(double x);

// The n-th derivative of ψ; n = 0 is ψ itself.  0.7 ULP for 1 <= n <= 100; for even n and x < 0
// 4 ULP, or 2^-64 n! 2^(n+1) absolute near the zeros at about k − 1/2, where these terms must not
// overflow.  Poles: +inf for odd n; for even n ∓inf at ±0 and nan at negative integers.  ±0 at
// +inf; nan at −inf and for n > 2000.
double vy_ref_polygamma(unsigned n, double x);

// 1/(1 + e^−x) and log(1 + e^x) without overflow; 2.4 and 1.5 ULP everywhere.
double vy_ref_sigmoid(double x);
double vy_ref_softplus(double x);

#endif
