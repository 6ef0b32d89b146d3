// SPDX-License-Identifier: MIT
// operation.c: arithmetic, comparisons, conversions: one scalar after the other.
//
// Operations that are one of ours are found in the column `spirv` of ir/core/ops.h, read backwards.
// SPIR-V's signedness is in the operation, ours in the types, so operands are taken as the type
// that the operation means.
#include "spirv/read/reading.h"

enum { NUMBERS = 4 }; // operands of a scalar operation, at most

// ------------------------------------------------------------------------ from the table of ops.h
typedef enum as { AS_IS, AS_SIGNED, AS_UNSIGNED } as; // how operands are taken

typedef struct core_row {
    SpvOp of[4]; // on floats, signed, unsigned, bools; SpvOpNop: not
} core_row;

#define SpvOpNA SpvOpNop
#define CORE(f, s, u, b)                                                                           \
    {                                                                                              \
        {                                                                                          \
            SpvOp##f, SpvOp##s, SpvOp##u, SpvOp##b                                                 \
        }                                                                                          \
    }
#define EXT(f, s, u)                                                                               \
    {                                                                                              \
        {                                                                                          \
            SpvOpNop                                                                               \
        }                                                                                          \
    }
#define MATH(native, own) EXT(, , )
#define EMIT EXT(, , )
static const core_row core_rows[VY_OP_COUNT] = {
#define X(id, text, form, rule, effect, fold, deriv, spirv, cost) [VY_OP_##id] = spirv,
    VY_OPS(X)
#undef X
};

static vy_type as_type(vy_type t, as how)
{
    if (how == AS_SIGNED) return vy_type_size(t) == 8 ? VY_I64 : VY_I32;
    if (how == AS_UNSIGNED) return vy_type_size(t) == 8 ? VY_U64 : VY_U32;
    return t;
}

enum { CORE_OPS = 512 }; // the table has none beyond
_Static_assert(VY_OP_COUNT <= 256, "a byte each");

bool read_find_ours(reading *r)
{
    r->ours = vy_arena_alloc(&r->arena, CORE_OPS);
    for (uint32_t k = VY_OP_COUNT; r->ours && k-- > 1;) // the first row of several is the one
        for (uint32_t i = 0; i < 4; i++) {
            const uint32_t op = core_rows[k].of[i];
            if (op != SpvOpNop && op < CORE_OPS) r->ours[op] = (uint8_t)k;
        }
    return r->ours != NULL;
}

// Our operation that `op` is; VY_OP_NONE: none alone.
static vy_op core_op(const reading *r, SpvOp op, as *how)
{
    const vy_op ours = (uint32_t)op < CORE_OPS ? (vy_op)r->ours[op] : VY_OP_NONE;
    const SpvOp *of = core_rows[ours].of;
    *how = of[1] == of[2] || of[0] == op || of[3] == op ? AS_IS
           : of[1] == op                                ? AS_SIGNED
                                                        : AS_UNSIGNED;
    return ours;
}

// ------------------------------------------------------------------------------ scalar operations
typedef struct scalars { // of one operation
    reading *r;
    vy_builder *b;
    vy_type type; // of the result, as it lies in memory
    vy_type of;   // of the first operand
    uint32_t n;
    vy_value a[NUMBERS];
} scalars;

static vy_value not(const scalars *s, vy_value v) { return vy_not(s->b, v); }

static void take_as(scalars *s, as how)
{
    const vy_type t = as_type(vy_value_type(s->b, s->a[0]), how);
    if (!vy_type_is_integer(t)) return;
    for (uint32_t k = 0; k < s->n; k++) s->a[k] = read_as(s->r, t, s->a[k]);
}

static vy_value core(scalars *s, vy_op op, as how)
{
    take_as(s, how);
    uint32_t args[NUMBERS];
    const vy_type t = vy_value_type(s->b, s->a[0]);
    bool fits = vy_op_infos[op].arity == s->n;
    for (uint32_t k = 0; k < s->n; k++) {
        args[k] = s->a[k].id;
        fits &= vy_value_type(s->b, s->a[k]) == t;
    }
    const vy_type to = vy_rule_type((vy_rule)vy_op_infos[op].rule, t);
    if (!fits || to == VY_VOID) return (vy_value){0}; // refused
    return (vy_value){vy_emit(s->b, op, to, 0, s->n, args)};
}

static vy_value ordered(scalars *s, bool swap, bool equal)
{
    const vy_value x = s->a[swap], y = s->a[!swap];
    return equal ? vy_le(s->b, x, y) : vy_lt(s->b, x, y);
}

static vy_value either_nan(scalars *s)
{
    const vy_value second = vy_call(s->b, "isnan", 1, &s->a[1]);
    return vy_or(s->b, vy_call(s->b, "isnan", 1, &s->a[0]), second);
}

static vy_value equal_or_nan(scalars *s)
{
    const vy_value nan = either_nan(s);
    return vy_or(s->b, vy_eq(s->b, s->a[0], s->a[1]), nan);
}

static vy_value differ_and_no_nan(scalars *s)
{
    const vy_value numbers = not(s, either_nan(s));
    return vy_and(s->b, vy_ne(s->b, s->a[0], s->a[1]), numbers);
}

// Comparisons of floats that are no single operation of ours: a > b is b < a; an unordered one is
// the negation of the ordered opposite.
static bool compare_floats(scalars *s, SpvOp op, vy_value *out)
{
    switch (op) {
    case SpvOpFOrdGreaterThan: *out = ordered(s, true, false); return true;
    case SpvOpFOrdGreaterThanEqual: *out = ordered(s, true, true); return true;
    case SpvOpFUnordLessThan: *out = not(s, ordered(s, true, true)); return true;
    case SpvOpFUnordLessThanEqual: *out = not(s, ordered(s, true, false)); return true;
    case SpvOpFUnordGreaterThan: *out = not(s, ordered(s, false, true)); return true;
    case SpvOpFUnordGreaterThanEqual: *out = not(s, ordered(s, false, false)); return true;
    case SpvOpFUnordEqual: *out = equal_or_nan(s); return true;
    case SpvOpFOrdNotEqual: *out = differ_and_no_nan(s); return true;
    case SpvOpOrdered: *out = not(s, either_nan(s)); return true;
    case SpvOpUnordered: *out = either_nan(s); return true;
    case SpvOpIsNan: *out = vy_call(s->b, "isnan", 1, s->a); return true;
    case SpvOpIsInf: *out = vy_call(s->b, "isinf", 1, s->a); return true;
    default: return false;
    }
}

static vy_value integers(scalars *s, as how, bool swap, bool equal)
{
    take_as(s, how);
    return ordered(s, swap, equal);
}

static bool compare_integers(scalars *s, SpvOp op, vy_value *out)
{
    switch (op) {
    case SpvOpSGreaterThan: *out = integers(s, AS_SIGNED, true, false); return true;
    case SpvOpSGreaterThanEqual: *out = integers(s, AS_SIGNED, true, true); return true;
    case SpvOpUGreaterThan: *out = integers(s, AS_UNSIGNED, true, false); return true;
    case SpvOpUGreaterThanEqual: *out = integers(s, AS_UNSIGNED, true, true); return true;
    default: return false;
    }
}

static vy_value shift(scalars *s, SpvOp op)
{
    vy_type t = vy_value_type(s->b, s->a[0]);
    if (op == SpvOpShiftRightLogical) t = as_type(t, AS_UNSIGNED);
    if (op == SpvOpShiftRightArithmetic) t = as_type(t, AS_SIGNED);
    const vy_value x = read_as(s->r, t, s->a[0]);
    const vy_value count = vy_cast(s->b, t, s->a[1]);
    return op == SpvOpShiftLeftLogical ? vy_shl(s->b, x, count) : vy_shr(s->b, x, count);
}

// x − y⌊x/y⌋ of integers: the remainder, with the sign of y.
static vy_value floor_mod(scalars *s)
{
    take_as(s, AS_SIGNED);
    const vy_value zero = vy_zero(s->b, vy_value_type(s->b, s->a[0]));
    const vy_value rest = vy_rem(s->b, s->a[0], s->a[1]);
    const vy_value other = vy_lt(s->b, vy_xor(s->b, rest, s->a[1]), zero);
    const vy_value add = vy_and(s->b, vy_ne(s->b, rest, zero), other);
    return vy_select(s->b, add, vy_add(s->b, rest, s->a[1]), rest);
}

static vy_value fraction_rest(scalars *s) // x − y trunc(x/y)
{
    vy_value q = vy_div(s->b, s->a[0], s->a[1]);
    return vy_sub(s->b, s->a[0], vy_mul(s->b, s->a[1], vy_call(s->b, "trunc", 1, &q)));
}

static bool divide(scalars *s, SpvOp op, vy_value *out)
{
    switch (op) {
    case SpvOpFDiv: *out = vy_div(s->b, s->a[0], s->a[1]); return true;
    case SpvOpFMod: *out = vy_call(s->b, "mod", 2, s->a); return true;
    case SpvOpFRem: *out = fraction_rest(s); return true;
    case SpvOpSDiv:
    case SpvOpSRem: take_as(s, AS_SIGNED); break;
    case SpvOpSMod: *out = floor_mod(s); return true;
    case SpvOpUDiv:
    case SpvOpUMod: take_as(s, AS_UNSIGNED); break;
    default: return false;
    }
    *out = op == SpvOpSDiv || op == SpvOpUDiv ? vy_div(s->b, s->a[0], s->a[1])
                                              : vy_rem(s->b, s->a[0], s->a[1]);
    return true;
}

// The `count` bits of x from `offset` on, sign-extended or not; those of `insert` in their place.
static vy_value mask(scalars *s, vy_type t, vy_value count) // the low `count` bits, of 32 too
{
    const vy_value one = vy_int(s->b, t, 1), all = vy_int(s->b, t, -1);
    const vy_value width = vy_int(s->b, t, 8 * (int64_t)vy_type_size(t));
    const vy_value low = vy_sub(s->b, vy_shl(s->b, one, count), one);
    return vy_select(s->b, vy_lt(s->b, count, width), low, all);
}

static vy_value extract_bits(scalars *s, bool is_signed)
{
    const vy_type t = as_type(vy_value_type(s->b, s->a[0]), AS_UNSIGNED);
    const vy_value x = read_as(s->r, t, s->a[0]), offset = vy_cast(s->b, t, s->a[1]);
    const vy_value count = vy_cast(s->b, t, s->a[2]);
    const vy_value low = mask(s, t, count), bits = vy_and(s->b, vy_shr(s->b, x, offset), low);
    if (!is_signed) return bits;
    // (bits ^ sign) − sign, with sign the highest of them; no bits are 0.
    const vy_value one = vy_int(s->b, t, 1), none = vy_eq(s->b, count, vy_int(s->b, t, 0));
    const vy_value sign = vy_shl(s->b, one, vy_sub(s->b, vy_max(s->b, count, one), one));
    const vy_value wide = vy_sub(s->b, vy_xor(s->b, bits, sign), sign);
    return vy_select(s->b, none, vy_int(s->b, t, 0), wide);
}

static vy_value insert_bits(scalars *s)
{
    const vy_type t = as_type(vy_value_type(s->b, s->a[0]), AS_UNSIGNED);
    const vy_value x = read_as(s->r, t, s->a[0]), y = read_as(s->r, t, s->a[1]);
    const vy_value offset = vy_cast(s->b, t, s->a[2]);
    const vy_value low = mask(s, t, vy_cast(s->b, t, s->a[3]));
    const vy_value kept = vy_and(s->b, x, vy_not(s->b, vy_shl(s->b, low, offset)));
    return vy_or(s->b, kept, vy_shl(s->b, vy_and(s->b, y, low), offset));
}

static vy_value reverse_bits(scalars *s) // of 32 bits, in halves
{
    static const uint32_t masks[] = {0x55555555, 0x33333333, 0x0f0f0f0f, 0x00ff00ff, 0x0000ffff};
    vy_value x = read_as(s->r, VY_U32, s->a[0]);
    for (uint32_t k = 0; k < 5; k++) {
        const vy_value m = vy_int(s->b, VY_U32, masks[k]), by = vy_int(s->b, VY_U32, 1 << k);
        const vy_value up = vy_shl(s->b, vy_and(s->b, x, m), by);
        x = vy_or(s->b, vy_and(s->b, vy_shr(s->b, x, by), m), up);
    }
    return x;
}

static bool bits(scalars *s, SpvOp op, vy_value *out)
{
    switch (op) {
    case SpvOpShiftLeftLogical:
    case SpvOpShiftRightLogical:
    case SpvOpShiftRightArithmetic: *out = shift(s, op); return true;
    case SpvOpBitFieldSExtract: *out = extract_bits(s, true); return true;
    case SpvOpBitFieldUExtract: *out = extract_bits(s, false); return true;
    case SpvOpBitFieldInsert: *out = insert_bits(s); return true;
    case SpvOpBitReverse:
        *out = vy_type_size(s->of) == 4 ? reverse_bits(s) : (vy_value){0};
        return true;
    case SpvOpBitCount: *out = vy_call(s->b, "popcount", 1, s->a); return true;
    default: return false;
    }
}

static vy_value convert(scalars *s, as how) // of an integer that is taken as signed or unsigned
{
    static const vy_type narrow[2][2] = {{VY_I8, VY_U8}, {VY_I16, VY_U16}};
    const uint32_t size = vy_type_size(s->of);
    take_as(s, how);
    if (size < 4) s->a[0] = read_narrow(s->r, narrow[size == 2][how == AS_UNSIGNED], s->a[0]);
    return vy_cast(s->b, vy_type_loaded(s->type), s->a[0]);
}

static vy_value to_f16_and_back(scalars *s)
{
    return vy_cast(s->b, VY_F32, vy_cast(s->b, VY_F16, s->a[0]));
}

static bool conversion(scalars *s, SpvOp op, vy_value *out)
{
    switch (op) {
    case SpvOpConvertFToU:
    case SpvOpConvertFToS:
    case SpvOpFConvert: *out = vy_cast(s->b, vy_type_loaded(s->type), s->a[0]); return true;
    case SpvOpConvertSToF:
    case SpvOpSConvert: *out = convert(s, AS_SIGNED); return true;
    case SpvOpConvertUToF:
    case SpvOpUConvert: *out = convert(s, AS_UNSIGNED); return true;
    case SpvOpQuantizeToF16: *out = to_f16_and_back(s); return true;
    case SpvOpSNegate:
        *out = vy_sub(s->b, vy_zero(s->b, vy_value_type(s->b, s->a[0])), s->a[0]);
        return true;
    case SpvOpCopyObject:
    case SpvOpCopyLogical: *out = s->a[0]; return true;
    default: return false;
    }
}

static bool one_of_ours(scalars *s, SpvOp op, vy_value *out)
{
    as how = AS_IS;
    if (op == SpvOpLogicalNotEqual) // the table has it twice: `^` and `!=`
        return *out = vy_ne(s->b, s->a[0], s->a[1]), true;
    if (op == SpvOpLogicalEqual) return *out = vy_eq(s->b, s->a[0], s->a[1]), true;
    const vy_op ours = core_op(s->r, op, &how);
    if (!ours) return false;
    for (uint32_t k = 1; k < s->n && how == AS_IS; k++) // IAdd of an int and a uint
        if (vy_type_is_integer(vy_value_type(s->b, s->a[0])))
            s->a[k] = read_as(s->r, vy_value_type(s->b, s->a[0]), s->a[k]);
    *out = core(s, ours, how);
    return true;
}

static bool scalar_operation(scalars *s, SpvOp op, vy_value *out)
{
    *out = (vy_value){0};
    const bool known = one_of_ours(s, op, out) || compare_floats(s, op, out) ||
                       compare_integers(s, op, out) || divide(s, op, out) || bits(s, op, out) ||
                       conversion(s, op, out);
    if (vy_builder_failed(s->b)) return false;
    if (!known || !out->id)
        return read_refuse(s->r, "write it in other operations", read_op_name(op));
    if (vy_type_is_integer(s->type)) *out = read_as(s->r, vy_type_loaded(s->type), *out);
    *out = read_narrow(s->r, s->type, *out);
    return true;
}

// ------------------------------------------------------------------------------ all of a value
static bool select_scalars(reading *r, uint32_t type, const uint32_t *operands, vy_value *v)
{
    const uint32_t conditions = read_scalar_count(r, operands[0]);
    for (uint32_t k = 0; k < read_type_of(r, type)->scalars; k++) {
        const vy_value y = read_scalar(r, operands[2], k), x = read_scalar(r, operands[1], k);
        v[k] = vy_select(r->b, read_scalar(r, operands[0], conditions > 1 ? k : 0), x, y);
    }
    return !vy_builder_failed(r->b);
}

bool read_operation(reading *r, SpvOp op, uint32_t type, uint32_t n, const uint32_t *operands,
                    vy_value *v)
{
    bool mine = false;
    if (!read_composite(r, op, type, n, operands, v, &mine)) return false;
    if (mine) return true;
    if (op == SpvOpBitcast && n == 1) return read_bitcast(r, type, operands[0], v);
    if (op == SpvOpSelect && n == 3) return select_scalars(r, type, operands, v);
    if (n == 0 || n > NUMBERS)
        return read_refuse(r, "write it in other operations", read_op_name(op));
    for (uint32_t k = 0; k < read_type_of(r, type)->scalars; k++) {
        scalars s = {.r = r, .b = r->b, .type = read_scalar_type(r, type, k), .n = n};
        s.of = read_scalar_type(r, read_type_id(r, operands[0]), k);
        for (uint32_t i = 0; i < n; i++) // offset and count of bit fields are one for all
            s.a[i] = read_scalar(r, operands[i], read_scalar_count(r, operands[i]) > 1 ? k : 0);
        if (vy_builder_failed(r->b) || !scalar_operation(&s, op, &v[k])) return false;
    }
    return true;
}
