// SPDX-License-Identifier: MIT
// philox.c: random numbers from a counter and a key, without a state.
//
// Philox4x32-10 of Salmon, Moraes, Dror and Shaw, Parallel random numbers: as easy as 1, 2, 3
// (SC11): ten rounds of multiplications mix a counter of four words; each counter gives four random
// words of its own, in any order and on any engine the same bits.  Products of 64 bits are made of
// 16-bit digits, as a device may lack 64-bit integers.
#include "ir/build/library.h"

enum { ROUNDS = 10 };

static vy_value word(vy_builder *b, uint32_t value) { return vy_int(b, VY_U32, value); }

static vy_value low(vy_builder *b, vy_value x) { return vy_and(b, x, word(b, 0xffff)); }

static vy_value high(vy_builder *b, vy_value x) { return vy_shr(b, x, word(b, 16)); }

// The upper word of x y.  No sum exceeds a word: (2^16 − 1)² + 2 (2^16 − 1) is 2^32 − 1.
static vy_value upper(vy_builder *b, vy_value x, vy_value y)
{
    const vy_value xl = low(b, x), xh = high(b, x), yl = low(b, y), yh = high(b, y);
    const vy_value carry = high(b, vy_mul(b, xl, yl));
    const vy_value a = vy_add(b, vy_mul(b, xh, yl), carry), low_a = low(b, a);
    const vy_value c = vy_add(b, vy_mul(b, xl, yh), low_a);
    const vy_value high_c = high(b, c), high_a = high(b, a);
    return vy_add(b, vy_add(b, vy_mul(b, xh, yh), high_a), high_c);
}

static void mix(vy_builder *b, const vy_value *key, vy_value *c)
{
    const vy_value m = word(b, 0xD2511F53), n = word(b, 0xCD9E8D57);
    const vy_value h0 = upper(b, c[0], m), l0 = vy_mul(b, c[0], m);
    const vy_value h1 = upper(b, c[2], n), l1 = vy_mul(b, c[2], n);
    c[0] = vy_xor(b, vy_xor(b, h1, c[1]), key[0]);
    c[2] = vy_xor(b, vy_xor(b, h0, c[3]), key[1]);
    c[1] = l1;
    c[3] = l0;
}

// Words of the counter and of the key that are not given are 0.
void vy_build_philox(vy_builder *b, const vy_taken *x, vy_value *v)
{
    vy_value key[2];
    for (uint32_t k = 0; k < 4; k++) v[k] = k < x[0].n ? x[0].v[k] : word(b, 0);
    for (uint32_t k = 0; k < 2; k++) key[k] = k < x[1].n ? x[1].v[k] : word(b, 0);
    for (uint32_t round = 0; round < ROUNDS; round++) {
        mix(b, key, v);
        key[0] = vy_add(b, key[0], word(b, 0x9E3779B9));
        key[1] = vy_add(b, key[1], word(b, 0xBB67AE85));
    }
}

// The upper 24 bits (of 64: 53) as a multiple of 2^−24 (2^−53) below 1: exact on all devices.
void vy_build_random_uniform(vy_builder *b, const vy_taken *x, vy_value *v)
{
    const vy_type t = vy_value_type(b, x[0].v[0]), to = t == VY_U64 ? VY_F64 : VY_F32;
    const uint32_t unused = t == VY_U64 ? 11 : 8;
    const vy_value bits = vy_shr(b, x[0].v[0], vy_int(b, t, unused));
    const vy_value unit = vy_float(b, to, t == VY_U64 ? 0x1p-53 : 0x1p-24);
    *v = vy_mul(b, vy_cast(b, to, bits), unit);
}

// Box and Muller: pairs (r cos φ, r sin φ) with r² = −2 log u, u in 2^−33 … 1, so r ≤ 6.8.
static void normal_pair(vy_builder *b, const vy_value *bits, vy_value *v)
{
    const vy_value half = vy_float(b, VY_F32, 0x1p-33), unit = vy_float(b, VY_F32, 0x1p-32);
    const vy_value u = vy_add(b, vy_mul(b, vy_cast(b, VY_F32, bits[0]), unit), half);
    const vy_value log_u = vy_call(b, "log", 1, &u);
    const vy_value square = vy_mul(b, vy_float(b, VY_F32, -2), log_u);
    const vy_value r = vy_call(b, "sqrt", 1, &square);
    vy_value phase;
    vy_build_random_uniform(b, &(vy_taken){&bits[1], 1}, &phase);
    phase = vy_mul(b, phase, vy_float(b, VY_F32, 6.283185307179586));
    v[0] = vy_mul(b, r, vy_call(b, "cos", 1, &phase));
    v[1] = vy_mul(b, r, vy_call(b, "sin", 1, &phase));
}

void vy_build_random_normal(vy_builder *b, const vy_taken *x, vy_value *v)
{
    for (uint32_t k = 0; k < x[0].n; k += 2) normal_pair(b, x[0].v + k, v + k);
}

// One of 0 … n − 1: ⌊bits n / 2^32⌋.
void vy_build_random_int(vy_builder *b, const vy_taken *x, vy_value *v)
{
    *v = upper(b, x[0].v[0], x[1].v[0]);
}
