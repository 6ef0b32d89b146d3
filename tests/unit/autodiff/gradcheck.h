// SPDX-License-Identifier: MIT
// gradcheck.h: the finite-difference oracle for unit tests.
//
// Runs a program and its gradient in the interpreter, floats in double, and compares every element
// of every gradient with central differences at two step sizes (Richardson), and forward mode with
// dual numbers and with the gradient (gradcheck_tangents.h).
#ifndef VYRE_GRADCHECK_H
#define VYRE_GRADCHECK_H

#include "autodiff/grad.h"
#include "ir/core/ir.h"

typedef struct gradcheck_scalar {
    const char *name;
    double value;
} gradcheck_scalar;

typedef struct gradcheck_data { // contents of one buffer; others are random in [0.3, 1.6]
    const char *name;
    const double *values;
    uint32_t count;
} gradcheck_data;

typedef struct gradcheck {
    const char *text; // of a program, the module's last, or of a pipeline, if it has any
    gradcheck_scalar scalars[16];
    int64_t integers[16]; // of scalars, integers that a double cannot hold; 0: use the value
    gradcheck_data data[16];
    const char *of[16], *wrt[16]; // NULL: defaults
    uint64_t unknown;             // length of `?` buffers; 0: 5
    double step;                  // 0: 1e-4
    double tolerance;             // 0: 1e-6, times max(1, |g|, |fd|)
    uint32_t seed;
    uint32_t groups[3]; // of programs without `over`; 0: 1
    bool seeded;        // random cotangents
    uint32_t subgroup;  // lanes; 0: 32
    bool optimised;     // optimise the gradient first
    bool reverse_too;   // forward mode may refuse it
    vy_accumulate accumulate;
    bool exact_only; // no differences: it has kinks, or is no function of its inputs
} gradcheck;

// NULL when everything agrees, else what disagrees (static buffer).
const char *gradcheck_run(const gradcheck *c);
// How many forward derivatives had a gradient of their own, which was compared.
extern uint32_t gradcheck_transposed;

#endif
