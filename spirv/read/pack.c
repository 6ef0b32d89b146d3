// SPDX-License-Identifier: MIT
// pack.c: numbers as bits: bitcasts, also between vectors of different widths, and the functions
// of GLSL.std.450 that pack several small numbers into one.
//
// The IR has no bitcast of 16 bits.  An f16 is exact as an f32, whose bits are those of the f16 in
// other places; the exponent's range has three parts: below 2^-14, normal numbers, inf and NaN.
#include "spirv/read/reading.h"

#include <spirv/unified1/GLSL.std.450.h>

static vy_value word(reading *r, uint32_t bits) { return vy_int(r->b, VY_U32, bits); }

static vy_value right(reading *r, vy_value x, uint32_t by) { return vy_shr(r->b, x, word(r, by)); }

static vy_value left(reading *r, vy_value x, uint32_t by) { return vy_shl(r->b, x, word(r, by)); }

static vy_value masked(reading *r, vy_value x, uint32_t bits)
{
    return vy_and(r->b, x, word(r, bits));
}

// ------------------------------------------------------------------------------------------ f16
vy_value read_bits_of_f16(reading *r, vy_value x)
{
    const vy_value b = vy_bitcast(r->b, VY_U32, vy_cast(r->b, VY_F32, x));
    const vy_value m = masked(r, b, 0x7fffffff), sign = masked(r, right(r, b, 16), 0x8000);
    const vy_value scale = vy_float(r->b, VY_F32, 16777216.0); // subnormal numbers are k · 2^-24
    const vy_value k = vy_cast(r->b, VY_U32, vy_mul(r->b, vy_bitcast(r->b, VY_F32, m), scale));
    const vy_value normal = right(r, vy_sub(r->b, m, word(r, 0x38000000)), 13);
    const vy_value inf = word(r, 0x7c00);
    const vy_value special = vy_or(r->b, masked(r, right(r, m, 13), 0x3ff), inf); // inf, NaN
    const vy_value is_special = vy_le(r->b, word(r, 0x7f800000), m);
    const vy_value is_small = vy_lt(r->b, m, word(r, 0x38800000));
    const vy_value number = vy_select(r->b, is_small, k, normal);
    return vy_or(r->b, sign, vy_select(r->b, is_special, special, number));
}

static vy_value f32_of_half(reading *r, vy_value bits)
{
    const vy_value h = masked(r, bits, 0x7fff), sign = left(r, masked(r, bits, 0x8000), 16);
    const vy_value unit = vy_float(r->b, VY_F32, 1.0 / 16777216.0);
    const vy_value small = vy_mul(r->b, vy_cast(r->b, VY_F32, h), unit);
    const vy_value bias = word(r, 0x38000000), normal = vy_add(r->b, left(r, h, 13), bias);
    const vy_value most = word(r, 0x70000000), special = vy_add(r->b, left(r, h, 13), most);
    const vy_value is_special = vy_le(r->b, word(r, 0x7c00), h);
    const vy_value is_small = vy_lt(r->b, h, word(r, 0x400));
    const vy_value number = vy_select(r->b, is_small, vy_bitcast(r->b, VY_U32, small), normal);
    const vy_value all = vy_select(r->b, is_special, special, number);
    return vy_bitcast(r->b, VY_F32, vy_or(r->b, sign, all));
}

vy_value read_f16_of_bits(reading *r, vy_value bits)
{
    return vy_cast(r->b, VY_F16, f32_of_half(r, bits));
}

// -------------------------------------------------------------------------------------- bitcasts
// A number as it lies in memory: u32, or u64 of one with 64 bits; above its width are zeros.
static vy_value bits_of(reading *r, vy_type type, vy_value v)
{
    const uint32_t size = vy_type_size(type);
    if (size == 8) return read_as(r, VY_U64, v);
    if (type == VY_F16) return read_bits_of_f16(r, v);
    const vy_value bits = read_as(r, VY_U32, v);
    return size == 4 ? bits : masked(r, bits, size == 2 ? 0xffff : 0xff);
}

static vy_value of_bits(reading *r, vy_type type, vy_value bits)
{
    if (type == VY_F16) return read_f16_of_bits(r, bits);
    return read_narrow(r, type, read_as(r, vy_type_loaded(type), bits));
}

// Bits j of n from `first` on side by side, the first ones lowest.
static vy_value together(reading *r, uint32_t size, uint32_t n, const vy_value *first)
{
    const vy_type wide = size * n == 8 ? VY_U64 : VY_U32;
    vy_value all = vy_cast(r->b, wide, first[0]);
    for (uint32_t j = 1; j < n; j++) {
        const vy_value by = vy_int(r->b, wide, 8 * (int64_t)size * j);
        all = vy_or(r->b, all, vy_shl(r->b, vy_cast(r->b, wide, first[j]), by));
    }
    return all;
}

// Part j of the bits, which has `size` bytes.
static vy_value part(reading *r, uint32_t size, uint32_t j, vy_value bits)
{
    const vy_type wide = vy_value_type(r->b, bits);
    const vy_value by = vy_int(r->b, wide, 8 * (int64_t)size * j);
    return vy_cast(r->b, VY_U32, vy_shr(r->b, bits, by));
}

bool read_bitcast(reading *r, uint32_t type, uint32_t operand, vy_value *v)
{
    const vy_type to = read_scalar_type(r, type, 0);
    const vy_type from = read_scalar_type(r, read_type_id(r, operand), 0);
    const uint32_t n = read_type_of(r, type)->scalars, m = read_scalar_count(r, operand);
    const uint32_t a = vy_type_size(from), b = vy_type_size(to);
    if (!a || !b || (uint64_t)n * b != (uint64_t)m * a)
        return read_fail(r, VY_E_SHADER_WORDS, "", "a bitcast to another number of bits");
    vy_value *bits = read_room(r, read_type_id(r, operand));
    if (!bits) return false;
    for (uint32_t k = 0; k < m; k++) {
        bits[k] = read_scalar(r, operand, k);
        if (a != b || a < 4) bits[k] = bits_of(r, from, bits[k]);
    }
    for (uint32_t k = 0; k < n && !vy_builder_failed(r->b); k++)
        v[k] = of_bits(r, to,
                       a < b   ? together(r, a, b / a, bits + k * (b / a))
                       : a > b ? part(r, b, k % (a / b), bits[k / (a / b)])
                               : bits[k]);
    return !vy_builder_failed(r->b);
}

// ------------------------------------------------------------------------------- pack and unpack
typedef struct packing {
    enum GLSLstd450 pack, unpack;
    uint32_t count, bits;
    double most; // what 1 becomes; 0: halves
    bool is_signed;
} packing;

static const packing packings[] = {
    {GLSLstd450PackSnorm4x8, GLSLstd450UnpackSnorm4x8, 4, 8, 127, true},
    {GLSLstd450PackUnorm4x8, GLSLstd450UnpackUnorm4x8, 4, 8, 255, false},
    {GLSLstd450PackSnorm2x16, GLSLstd450UnpackSnorm2x16, 2, 16, 32767, true},
    {GLSLstd450PackUnorm2x16, GLSLstd450UnpackUnorm2x16, 2, 16, 65535, false},
    {GLSLstd450PackHalf2x16, GLSLstd450UnpackHalf2x16, 2, 16, 0, false},
};

static vy_value number(reading *r, double x) { return vy_float(r->b, VY_F32, x); }

static vy_value clamped(reading *r, const packing *p, vy_value x)
{
    const vy_value to[] = {x, number(r, p->is_signed ? -1 : 0), number(r, 1)};
    return vy_call(r->b, "clamp", 3, to);
}

static vy_value packed(reading *r, const packing *p, vy_value x)
{
    if (p->most == 0) return read_bits_of_f16(r, vy_cast(r->b, VY_F16, x));
    const vy_value most = number(r, p->most), scaled = vy_mul(r->b, clamped(r, p, x), most);
    const vy_value rounded = vy_call(r->b, "round", 1, &scaled);
    const vy_value whole = vy_cast(r->b, p->is_signed ? VY_I32 : VY_U32, rounded);
    return masked(r, read_as(r, VY_U32, whole), (1u << p->bits) - 1);
}

static vy_value unpacked(reading *r, const packing *p, vy_value bits)
{
    if (p->most == 0) return f32_of_half(r, bits);
    const vy_type narrow = p->bits == 8 ? VY_I8 : VY_I16;
    const vy_value whole = p->is_signed ? read_narrow(r, narrow, read_as(r, VY_I32, bits))
                                        : masked(r, bits, (1u << p->bits) - 1);
    const vy_value most = number(r, p->most);
    const vy_value x = vy_div(r->b, vy_cast(r->b, VY_F32, whole), most);
    return p->is_signed ? clamped(r, p, x) : x;
}

static void pack(reading *r, const packing *p, uint32_t operand, vy_value *v)
{
    v[0] = word(r, 0);
    for (uint32_t k = 0; k < p->count; k++)
        v[0] = vy_or(r->b, v[0], left(r, packed(r, p, read_scalar(r, operand, k)), k * p->bits));
}

static void unpack(reading *r, const packing *p, uint32_t operand, vy_value *v)
{
    const vy_value bits = read_as(r, VY_U32, read_scalar(r, operand, 0));
    for (uint32_t k = 0; k < p->count; k++) v[k] = unpacked(r, p, right(r, bits, k * p->bits));
}

bool read_pack(reading *r, uint32_t instruction, uint32_t type, uint32_t n,
               const uint32_t *operands, vy_value *v, bool *mine)
{
    *mine = instruction >= GLSLstd450PackSnorm4x8 && instruction <= GLSLstd450UnpackDouble2x32;
    if (!*mine) return true;
    const packing *p = NULL;
    for (uint32_t k = 0; k < sizeof packings / sizeof *packings; k++)
        if ((uint32_t)packings[k].pack == instruction ||
            (uint32_t)packings[k].unpack == instruction)
            p = &packings[k];
    if (n == 1 && !p) return read_bitcast(r, type, operands[0], v); // of a double
    const bool to_word = n == 1 && (uint32_t)p->pack == instruction;
    if (n != 1 || read_scalar_count(r, operands[0]) != (to_word ? p->count : 1) ||
        read_type_of(r, type)->scalars != (to_word ? 1 : p->count))
        return read_fail(r, VY_E_SHADER_WORDS, "", "its operand does not fit its type");
    if (to_word)
        pack(r, p, operands[0], v);
    else
        unpack(r, p, operands[0], v);
    return !vy_builder_failed(r->b);
}
