// SPDX-License-Identifier: MIT
// parts.c: numbers taken apart, and put together: Modf, Frexp and Ldexp of GLSL.std.450.
//
// What is taken apart has two results for each component.  ModfStruct and FrexpStruct return a
// struct of both; Modf and Frexp return the first, and store the second where a pointer says.
#include "ir/build/library.h"
#include "spirv/read/reading.h"

#include <spirv/unified1/GLSL.std.450.h>

typedef void take_apart(vy_builder *b, vy_value x, vy_value out[2]);

static void fraction_and_whole(vy_builder *b, vy_value x, vy_value out[2])
{
    out[1] = vy_call(b, "trunc", 1, &x);
    out[0] = vy_sub(b, x, out[1]);
}

static void mantissa_and_exponent(vy_builder *b, vy_value x, vy_value out[2])
{
    const vy_taken taken = {&x, 1};
    vy_value given[VY_MOST_GIVEN];
    vy_build_frexp(b, &taken, given);
    out[0] = given[0];
    out[1] = given[1];
}

static const struct {
    enum GLSLstd450 of, with_struct;
    take_apart *take;
} rows[] = {
    {GLSLstd450Modf, GLSLstd450ModfStruct, fraction_and_whole},
    {GLSLstd450Frexp, GLSLstd450FrexpStruct, mantissa_and_exponent},
};

// Scalar k of the type, from what it is while it is computed with.
static vy_value as_scalar(reading *r, uint32_t type, uint32_t k, vy_value x)
{
    const vy_type t = read_scalar_type(r, type, k);
    return read_narrow(r, t, read_as(r, vy_type_loaded(t), x));
}

static bool fits(const reading *r, uint32_t type, uint32_t count)
{
    return read_type_of(r, type)->scalars == count;
}

// first[k] and second[k] of each component.
static void take(reading *r, take_apart *apart, uint32_t x, uint32_t n, vy_value *first,
                 vy_value *second)
{
    for (uint32_t k = 0; k < n && !vy_builder_failed(r->b); k++) {
        vy_value out[2];
        apart(r->b, read_scalar(r, x, k), out);
        first[k] = out[0];
        second[k] = out[1];
    }
}

static bool of_struct(reading *r, take_apart *apart, uint32_t type, uint32_t x, vy_value *v)
{
    const uint32_t n = read_scalar_count(r, x);
    if (!fits(r, type, 2 * n))
        return read_fail(r, VY_E_SHADER_WORDS, "", "its operand does not fit its type");
    take(r, apart, x, n, v, v + n);
    for (uint32_t k = 0; k < 2 * n && !vy_builder_failed(r->b); k++)
        v[k] = as_scalar(r, type, k, v[k]);
    return !vy_builder_failed(r->b);
}

static bool by_pointer(reading *r, take_apart *apart, uint32_t type, const uint32_t *operands,
                       vy_value *v)
{
    const uint32_t n = read_scalar_count(r, operands[0]);
    const read_pointer *p = read_pointer_of(r, operands[1]);
    vy_value *second = p ? read_room(r, p->type) : NULL;
    if (!second) return false;
    if (!fits(r, type, n) || !fits(r, p->type, n))
        return read_fail(r, VY_E_SHADER_WORDS, "", "its operands do not fit its type");
    take(r, apart, operands[0], n, v, second);
    for (uint32_t k = 0; k < n && !vy_builder_failed(r->b); k++) {
        v[k] = as_scalar(r, type, k, v[k]);
        second[k] = as_scalar(r, p->type, k, second[k]);
    }
    return !vy_builder_failed(r->b) && read_store_scalars(r, p, second);
}

static bool ldexp_of(reading *r, uint32_t type, const uint32_t *operands, vy_value *v)
{
    const uint32_t n = read_type_of(r, type)->scalars;
    for (uint32_t k = 0; k < n && !vy_builder_failed(r->b); k++) {
        const vy_value x = read_scalar(r, operands[0], k);
        const vy_value e = read_as(r, VY_I32, read_scalar(r, operands[1], k));
        vy_value given[VY_MOST_GIVEN];
        vy_build_ldexp(r->b, (vy_taken[]){{&x, 1}, {&e, 1}}, given);
        v[k] = as_scalar(r, type, k, given[0]);
    }
    return !vy_builder_failed(r->b);
}

bool read_parts(reading *r, uint32_t instruction, uint32_t type, uint32_t n,
                const uint32_t *operands, vy_value *v, bool *mine)
{
    *mine = true;
    if (instruction == GLSLstd450Ldexp && n == 2) return ldexp_of(r, type, operands, v);
    for (uint32_t k = 0; k < sizeof rows / sizeof *rows; k++) {
        if ((uint32_t)rows[k].with_struct == instruction && n == 1)
            return of_struct(r, rows[k].take, type, operands[0], v);
        if ((uint32_t)rows[k].of == instruction && n == 2)
            return by_pointer(r, rows[k].take, type, operands, v);
    }
    *mine = false;
    return true;
}
