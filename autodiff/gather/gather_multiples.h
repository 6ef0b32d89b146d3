// SPDX-License-Identifier: MIT
// gather_multiples.h: what gather_multiples.c and gather_multiple_forms.c share.
#ifndef VYRE_GATHER_MULTIPLES_H
#define VYRE_GATHER_MULTIPLES_H

#include "autodiff/gather/gather_attempts.h"

#include "ir/build/rewrite.h"

enum { MOST_FACTORS = 4 };

// A product of scalars.
typedef struct product {
    uint32_t scalar[MOST_FACTORS], count;
} product;

// (i · w + k) / times = i · (w / times) + k / times, of a domain variable i and a scalar w, where k
// is the counter of a loop within 0..w, or nothing; the remainder is k % times.
typedef struct scaled {
    uint32_t scalar, over; // w, i
    uint32_t counter;      // k; 0: none
    bool rest;             // the remainder
} scaled;

// What an instruction is.
typedef enum kind {
    OTHER,
    NATURAL,  // never negative
    MULTIPLE, // times · q + rest
    NEAR,     // … with a rest of an iteration, in 0..times: only quotients of it are known
    SAME,     // as its last operand, GLSL's v % w: select((v ^ w) < 0 && v != 0, v + w, v)
    DIVIDED,  // q / d
    SCALED,   // (i · w + k) / times, or the remainder: see scaled
    WHOLE,    // the loop of such a k, which ends at w / times · times
    LEFT,     // q % d · times + rest, a MULTIPLE
    NEVER,    // false: (v ^ w) < 0 of numbers that are not negative
} kind;

typedef struct multiples {
    vy_rewrite w;
    int64_t times;
    uint8_t *kind;   // by instruction
    uint8_t *rest;   // … of a MULTIPLE or LEFT
    uint32_t *q;     // … in the new program
    bool *assumed;   // by scalar: it is a multiple
    bool *positive;  // … it is at least 1
    uint32_t *part;  // … and what it is then, divided by times
    uint32_t *whole; // … and that times `times`
} multiples;

// ---- gather_multiple_forms.c
// The leaf that the operand is, but for signs; NULL: none.
const vy_leaf *gather_leaf_of(const vy_program *p, uint32_t id);
// Is the operand a product of scalars?
bool gather_is_divisor(const vy_program *p, uint32_t id, product *out);
// The instruction of which `id` is the value, if that is a multiple and a rest; 0: it is not.
uint32_t gather_multiple_of(const multiples *m, uint32_t id);
// i * 4, i << 2: by what; 0: it is none.
int64_t gather_scale_of(const vy_program *p, uint32_t id);
// Is it a SCALED number, if scalars are as they would be assumed to be?
bool gather_is_scaled(const vy_program *p, uint32_t id, int64_t times, scaled *out);
// Finds what instruction `id` is, if scalars are as they would be assumed to be.
void gather_see_multiple(multiples *m, uint32_t id);

#endif
