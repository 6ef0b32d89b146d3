// SPDX-License-Identifier: MIT
// extended.c: the functions of GLSL.std.450.
//
// Those that are one of ours by name and meaning are in a table; min, max and clamp take the number
// where one operand is NaN as each of them says; the others are written out.  The derivatives of
// length, distance and normalize at the zero vector are 0 (docs/language.md 9.2): the value is the
// square root that the shader asks for, its derivative that of hypot.
#include "ir/build/geometry.h"
#include "ir/build/matrix.h"
#include "spirv/read/reading.h"

#include <math.h>
#include <spirv/unified1/GLSL.std.450.h>

typedef struct call {
    reading *r;
    vy_builder *b;
    uint32_t type, n, scalars;
    const uint32_t *operands;
} call;

static vy_value arg(const call *c, uint32_t operand, uint32_t k)
{
    return read_scalar(c->r, operand < c->n ? c->operands[operand] : 0, k);
}

static vy_value constant_like(const call *c, double value)
{
    return vy_float(c->b, vy_type_loaded(read_scalar_type(c->r, c->type, 0)), value);
}

static vy_value one(const call *c, const char *function, vy_value x)
{
    return vy_call(c->b, function, 1, &x);
}

// ---------------------------------------------------------------------- functions that we have
typedef enum as { FLOATS, SIGNED, UNSIGNED } as;
typedef struct named {
    enum GLSLstd450 of;
    const char *name;
    uint32_t arity;
    as how;
} named;

static const named table[] = {
    {GLSLstd450Round, "round", 1, FLOATS},  {GLSLstd450RoundEven, "round", 1, FLOATS},
    {GLSLstd450Trunc, "trunc", 1, FLOATS},  {GLSLstd450FAbs, "abs", 1, FLOATS},
    {GLSLstd450SAbs, "abs", 1, SIGNED},     {GLSLstd450FSign, "sign", 1, FLOATS},
    {GLSLstd450SSign, "sign", 1, SIGNED},   {GLSLstd450Floor, "floor", 1, FLOATS},
    {GLSLstd450Ceil, "ceil", 1, FLOATS},    {GLSLstd450Fract, "fract", 1, FLOATS},
    {GLSLstd450Sin, "sin", 1, FLOATS},      {GLSLstd450Cos, "cos", 1, FLOATS},
    {GLSLstd450Tan, "tan", 1, FLOATS},      {GLSLstd450Asin, "asin", 1, FLOATS},
    {GLSLstd450Acos, "acos", 1, FLOATS},    {GLSLstd450Atan, "atan", 1, FLOATS},
    {GLSLstd450Sinh, "sinh", 1, FLOATS},    {GLSLstd450Cosh, "cosh", 1, FLOATS},
    {GLSLstd450Tanh, "tanh", 1, FLOATS},    {GLSLstd450Asinh, "asinh", 1, FLOATS},
    {GLSLstd450Acosh, "acosh", 1, FLOATS},  {GLSLstd450Atanh, "atanh", 1, FLOATS},
    {GLSLstd450Atan2, "atan2", 2, FLOATS},  {GLSLstd450Pow, "pow", 2, FLOATS},
    {GLSLstd450Exp, "exp", 1, FLOATS},      {GLSLstd450Log, "log", 1, FLOATS},
    {GLSLstd450Exp2, "exp2", 1, FLOATS},    {GLSLstd450Log2, "log2", 1, FLOATS},
    {GLSLstd450Sqrt, "sqrt", 1, FLOATS},    {GLSLstd450InverseSqrt, "rsqrt", 1, FLOATS},
    {GLSLstd450FMin, "min", 2, FLOATS},     {GLSLstd450UMin, "min", 2, UNSIGNED},
    {GLSLstd450SMin, "min", 2, SIGNED},     {GLSLstd450FMax, "max", 2, FLOATS},
    {GLSLstd450UMax, "max", 2, UNSIGNED},   {GLSLstd450SMax, "max", 2, SIGNED},
    {GLSLstd450FClamp, "clamp", 3, FLOATS}, {GLSLstd450UClamp, "clamp", 3, UNSIGNED},
    {GLSLstd450SClamp, "clamp", 3, SIGNED}, {GLSLstd450FMix, "mix", 3, FLOATS},
    {GLSLstd450Step, "step", 2, FLOATS},    {GLSLstd450SmoothStep, "smoothstep", 3, FLOATS},
    {GLSLstd450Fma, "fma", 3, FLOATS},
};

static const named *function_numbered(uint32_t instruction)
{
    for (uint32_t k = 0; k < sizeof table / sizeof *table; k++)
        if ((uint32_t)table[k].of == instruction) return &table[k];
    return NULL;
}

static vy_value call_named(const call *c, const named *f, uint32_t k)
{
    vy_value v[3];
    for (uint32_t i = 0; i < f->arity; i++) {
        v[i] = arg(c, i, k);
        const bool wide = vy_type_size(vy_value_type(c->b, v[i])) == 8;
        if (f->how == SIGNED) v[i] = read_as(c->r, wide ? VY_I64 : VY_I32, v[i]);
        if (f->how == UNSIGNED) v[i] = read_as(c->r, wide ? VY_U64 : VY_U32, v[i]);
    }
    return vy_call(c->b, f->name, f->arity, v);
}

// ------------------------------------------------------------------------------- NaN is no number
static vy_value either(const call *c, vy_value x, vy_value y, const char *function)
{
    const vy_value both = vy_call(c->b, function, 2, (vy_value[]){x, y});
    const vy_value no_y = one(c, "isnan", y), no_x = one(c, "isnan", x);
    return vy_select(c->b, no_y, x, vy_select(c->b, no_x, y, both));
}

static vy_value numbers_only(const call *c, uint32_t instruction, uint32_t k)
{
    const vy_value x = arg(c, 0, k), y = arg(c, 1, k);
    if (instruction == GLSLstd450NMin) return either(c, x, y, "min");
    if (instruction == GLSLstd450NMax) return either(c, x, y, "max");
    const vy_value high = arg(c, 2, k);
    return either(c, either(c, x, y, "max"), high, "min");
}

// -------------------------------------------------------------------------------- lowest, highest
// The number of the lowest bit that is set: of the bits below it.  −1 where none is.
static vy_value lowest_bit(const call *c, vy_value x)
{
    const vy_value one_u = vy_int(c->b, VY_U32, 1);
    const vy_value less = vy_sub(c->b, x, one_u);
    const vy_value below = vy_and(c->b, vy_not(c->b, x), less);
    const vy_value n = vy_bitcast(c->b, VY_I32, one(c, "popcount", below));
    const vy_value none = vy_eq(c->b, x, vy_int(c->b, VY_U32, 0));
    return vy_select(c->b, none, vy_int(c->b, VY_I32, -1), n);
}

static vy_value highest_bit(const call *c, vy_value x) // all bits below it are set first
{
    for (uint32_t by = 1; by < 32; by *= 2)
        x = vy_or(c->b, x, vy_shr(c->b, x, vy_int(c->b, VY_U32, by)));
    const vy_value n = vy_bitcast(c->b, VY_I32, one(c, "popcount", x));
    return vy_sub(c->b, n, vy_int(c->b, VY_I32, 1));
}

static vy_value find_bit(const call *c, uint32_t instruction, uint32_t k)
{
    const vy_value x = read_as(c->r, VY_U32, arg(c, 0, k));
    if (instruction == GLSLstd450FindILsb) return lowest_bit(c, x);
    if (instruction == GLSLstd450FindUMsb) return highest_bit(c, x);
    // Of a negative number: the highest bit that is not set.
    const vy_value zero = vy_int(c->b, VY_I32, 0);
    const vy_value negative = vy_lt(c->b, read_as(c->r, VY_I32, x), zero);
    return highest_bit(c, vy_select(c->b, negative, vy_not(c->b, x), x));
}

// ------------------------------------------------------------------------------------- vectors
static uint32_t size_of(const call *c, uint32_t operand)
{
    return operand < c->n ? read_scalar_count(c->r, c->operands[operand]) : 0;
}

static bool take_components(const call *c, uint32_t operand, uint32_t n, vy_value *out)
{
    for (uint32_t k = 0; k < n; k++) out[k] = arg(c, operand, k);
    return !vy_builder_failed(c->b);
}

static const struct {
    uint32_t of;
    vy_geometric f;
    uint32_t vectors; // among its operands
} geometric[] = {
    {GLSLstd450Length, VY_LENGTH, 1},           {GLSLstd450Distance, VY_DISTANCE, 2},
    {GLSLstd450Normalize, VY_NORMALIZE, 1},     {GLSLstd450Cross, VY_CROSS, 2},
    {GLSLstd450Reflect, VY_REFLECT, 2},         {GLSLstd450Refract, VY_REFRACT, 2},
    {GLSLstd450FaceForward, VY_FACEFORWARD, 3},
};

static bool vectors(const call *c, uint32_t instruction, vy_value *v, bool *mine)
{
    vy_value x[3][VY_MAX_COMPONENTS] = {{{0}}};
    const uint32_t n = size_of(c, 0);
    size_t i = 0;
    while (i < sizeof geometric / sizeof *geometric && geometric[i].of != instruction) i++;
    *mine = i < sizeof geometric / sizeof *geometric;
    if (!*mine) return true;
    if (n == 0 || n > VY_MAX_COMPONENTS)
        return read_fail(c->r, VY_E_SHADER_WORDS, "", "it takes vectors");
    if (geometric[i].f == VY_CROSS && n != 3)
        return read_fail(c->r, VY_E_SHADER_WORDS, "", "it takes vectors of three");
    for (uint32_t k = 0; k < geometric[i].vectors; k++)
        if (!take_components(c, k, n, x[k])) return false;
    if (geometric[i].f == VY_REFRACT) x[2][0] = arg(c, 2, 0);
    vy_geometry(c->b, geometric[i].f, n, x[0], x[1], x[2], v);
    return !vy_builder_failed(c->b);
}

// ------------------------------------------------------------------------------------- matrices
static bool matrices(const call *c, uint32_t instruction, vy_value *v, bool *mine)
{
    vy_value m[VY_MAX_ENTRIES];
    *mine = instruction == GLSLstd450Determinant || instruction == GLSLstd450MatrixInverse;
    if (!*mine) return true;
    const uint32_t all = size_of(c, 0), n = all == 4 ? 2 : all == 9 ? 3 : all == 16 ? 4 : 0;
    if (n == 0) return read_fail(c->r, VY_E_SHADER_WORDS, "", "it takes a square matrix");
    if (!take_components(c, 0, all, m)) return false;
    if (instruction == GLSLstd450Determinant)
        v[0] = vy_matrix_determinant(c->b, n, m);
    else
        vy_matrix_inverse(c->b, n, m, v);
    return !vy_builder_failed(c->b);
}

// ---------------------------------------------------------------------------------------- others
static vy_value times(const call *c, uint32_t k, double by)
{
    const vy_value factor = constant_like(c, by);
    return vy_mul(c->b, arg(c, 0, k), factor);
}

static bool others(const call *c, uint32_t instruction, uint32_t k, vy_value *out)
{
    switch (instruction) {
    case GLSLstd450Radians: *out = times(c, k, M_PI / 180); return true;
    case GLSLstd450Degrees: *out = times(c, k, 180 / M_PI); return true;
    case GLSLstd450NMin:
    case GLSLstd450NMax:
    case GLSLstd450NClamp: *out = numbers_only(c, instruction, k); return true;
    case GLSLstd450FindILsb:
    case GLSLstd450FindSMsb:
    case GLSLstd450FindUMsb: *out = find_bit(c, instruction, k); return true;
    default: return false;
    }
}

bool read_extended(reading *r, uint32_t instruction, uint32_t type, uint32_t n,
                   const uint32_t *operands, vy_value *v)
{
    const call c = {r, r->b, type, n, read_type_of(r, type)->scalars, operands};
    bool mine;
    if (!vectors(&c, instruction, v, &mine) || mine) return !vy_builder_failed(r->b);
    if (!matrices(&c, instruction, v, &mine) || mine) return !vy_builder_failed(r->b);
    if (!read_pack(r, instruction, type, n, operands, v, &mine)) return false;
    if (mine) return true;
    if (!read_parts(r, instruction, type, n, operands, v, &mine)) return false;
    if (mine) return true;
    const named *f = function_numbered(instruction);
    for (uint32_t k = 0; k < c.scalars; k++) {
        const vy_type t = read_scalar_type(r, type, k);
        if (f && f->arity == n)
            v[k] = call_named(&c, f, k);
        else if (!others(&c, instruction, k, &v[k]))
            return read_refuse(r, "write it in other operations", "this function of GLSL.std.450");
        if (vy_builder_failed(r->b)) return false;
        v[k] = read_narrow(r, t, read_as(r, vy_type_loaded(t), v[k]));
    }
    return true;
}
