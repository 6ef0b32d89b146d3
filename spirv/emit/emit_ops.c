// SPDX-License-Identifier: MIT
// emit_ops.c: operations on values, by the `spirv` column of ir/core/ops.h.
#include "spirv/emit/emit.h"

typedef enum row_kind { ROW_EMIT, ROW_CORE, ROW_EXT, ROW_MATH } row_kind;
typedef struct row {
    uint8_t kind, own;                                  // own: vy_math
    uint16_t on_float, on_signed, on_unsigned, on_bool; // opcode or GLSL.std.450 number; 0: none
} row;

enum { SpvOpNA = 0, GLSLstd450NA = 0 };
#define CORE(f, s, u, b)                                                                           \
    {                                                                                              \
        ROW_CORE, 0, SpvOp##f, SpvOp##s, SpvOp##u, SpvOp##b                                        \
    }
#define EXT(f, s, u)                                                                               \
    {                                                                                              \
        ROW_EXT, 0, GLSLstd450##f, GLSLstd450##s, GLSLstd450##u, 0                                 \
    }
#define MATH(native, own)                                                                          \
    {                                                                                              \
        ROW_MATH, VY_MATH_##own, GLSLstd450##native, 0, 0, 0                                       \
    }
#define EMIT                                                                                       \
    {                                                                                              \
        ROW_EMIT, 0, 0, 0, 0, 0                                                                    \
    }
static const row rows[VY_OP_COUNT] = {
#define X(id, text, form, rule, effect, fold, deriv, spirv, cost) [VY_OP_##id] = spirv,
    VY_OPS(X)
#undef X
};
#undef CORE
#undef EXT
#undef MATH
#undef EMIT

static uint32_t arg(vy_fn *f, uint32_t i, uint32_t k) { return vy_val(f, vy_arg(f->p, i, k)); }

static uint32_t code_of(const row *r, vy_type t)
{
    if (t == VY_BOOL) return r->on_bool;
    if (vy_type_is_float(t)) return r->on_float;
    return vy_type_is_signed(t) ? r->on_signed : r->on_unsigned;
}

static uint32_t emit_core(vy_fn *f, uint32_t i, const row *r)
{
    const vy_inst *in = &f->p->insts.data[i];
    uint32_t operands[3];
    for (uint32_t k = 0; k < in->nargs && k < 3; k++)
        operands[k] = in->op == VY_OP_MUL ? vy_factor(f, i, k) : arg(f, i, k);
    SpvOp op = (SpvOp)code_of(r, vy_id_type(f->p, vy_arg(f->p, i, 0)));
    return vy_op_n(f, op, vy_spv_type(f->m, (vy_type)in->type), in->nargs, operands);
}

static uint32_t emit_exact(vy_fn *f, uint32_t i, const row *r)
{
    vy_type t = (vy_type)f->p->insts.data[i].type;
    uint32_t code = code_of(r, t), x = arg(f, i, 0);
    if (!code) return x; // abs of an unsigned
    const bool rounds = code == GLSLstd450Trunc || code == GLSLstd450RoundEven;
    if (rounds && f->m->hooks->rounded) return f->m->hooks->rounded(f, t, code, x);
    return VY_EXT(f, code, vy_spv_type(f->m, t), x);
}

// a < b ? a : b, bit for bit; integers have an instruction for it.
static uint32_t emit_minmax(vy_fn *f, uint32_t i, bool is_min)
{
    vy_type t = (vy_type)f->p->insts.data[i].type;
    uint32_t type = vy_spv_type(f->m, t), a = arg(f, i, 0), b = arg(f, i, 1);
    if (!vy_type_is_float(t)) {
        uint32_t s = is_min ? GLSLstd450SMin : GLSLstd450SMax;
        uint32_t u = is_min ? GLSLstd450UMin : GLSLstd450UMax;
        if (vy_type_size(t) == 4) return VY_EXT(f, vy_type_is_signed(t) ? s : u, type, a, b);
    }
    SpvOp less = vy_type_is_float(t)    ? SpvOpFOrdLessThan
                 : vy_type_is_signed(t) ? SpvOpSLessThan
                                        : SpvOpULessThan;
    uint32_t c =
        is_min ? VY_DO(f, less, vy_bool_type(f), a, b) : VY_DO(f, less, vy_bool_type(f), b, a);
    return VY_DO(f, SpvOpSelect, type, c, a, b);
}

// min(max(x, low), high), bit for bit.
static uint32_t emit_clamp(vy_fn *f, uint32_t i)
{
    uint32_t type = vy_spv_type(f->m, (vy_type)f->p->insts.data[i].type), bools = vy_bool_type(f);
    uint32_t x = arg(f, i, 0), low = arg(f, i, 1), high = arg(f, i, 2);
    uint32_t above = VY_DO(f, SpvOpFOrdLessThan, bools, low, x);
    uint32_t raised = VY_DO(f, SpvOpSelect, type, above, x, low);
    return VY_DO(f, SpvOpSelect, type, VY_DO(f, SpvOpFOrdLessThan, bools, raised, high), raised,
                 high);
}

// (x > 0) − (x < 0); 0 for NaN and for −0.  In integers, because compilers turn a select between
// −1.0 and 0.0 into the negation of a converted bool, which gives −0.
static uint32_t emit_sign(vy_fn *f, uint32_t i)
{
    vy_type t = (vy_type)f->p->insts.data[i].type;
    bool is_float = vy_type_is_float(t), is_signed = vy_type_is_signed(t);
    vy_type work = is_float ? VY_I32 : t;
    uint32_t type = vy_spv_type(f->m, work), bools = vy_bool_type(f), x = arg(f, i, 0);
    uint32_t one = vy_spv_int(f->m, work, 1), none = vy_spv_zero(f->m, work),
             zero = vy_spv_zero(f->m, t);
    if (!is_float && !is_signed)
        return VY_DO(f, SpvOpSelect, type, VY_DO(f, SpvOpINotEqual, bools, x, zero), one, none);
    SpvOp less = is_float ? SpvOpFOrdLessThan : SpvOpSLessThan;
    uint32_t minus = vy_spv_int(f->m, work, -1);
    uint32_t below = VY_DO(f, SpvOpSelect, type, VY_DO(f, less, bools, x, zero), minus, none);
    uint32_t r = VY_DO(f, SpvOpSelect, type, VY_DO(f, less, bools, zero, x), one, below);
    return vy_cast_id(f, t, work, r);
}

// Multiply and add: GLSL.std.450's fma guarantees no more, and is slow on some devices.  In the
// library, fma marks the only operations that the device may contract.
static uint32_t emit_fma(vy_fn *f, uint32_t i)
{
    uint32_t type = vy_spv_type(f->m, (vy_type)f->p->insts.data[i].type);
    bool exact = f->exact;
    f->exact &= !f->library;
    const uint32_t x = vy_factor(f, i, 0), y = vy_factor(f, i, 1);
    uint32_t product = VY_DO(f, SpvOpFMul, type, x, y);
    uint32_t sum = VY_DO(f, SpvOpFAdd, type, product, arg(f, i, 2));
    f->exact = exact;
    return sum;
}

static uint32_t emit_bitcast(vy_fn *f, uint32_t i)
{
    vy_type from = vy_id_type(f->p, vy_arg(f->p, i, 0)), to = (vy_type)f->p->insts.data[i].type;
    uint32_t x = arg(f, i, 0);
    return from == to ? x : VY_DO(f, SpvOpBitcast, vy_spv_type(f->m, to), x);
}

static uint32_t emit_by_hand(vy_fn *f, uint32_t i)
{
    const vy_inst *in = &f->p->insts.data[i];
    switch ((vy_op)in->op) {
    case VY_OP_DIV: return vy_emit_div(f, i);
    case VY_OP_REM: return vy_emit_rem(f, i);
    case VY_OP_SHL:
    case VY_OP_SHR: return vy_emit_shift(f, i);
    case VY_OP_POPCOUNT: return vy_emit_popcount(f, i);
    case VY_OP_FMA: return emit_fma(f, i);
    case VY_OP_MIN: return emit_minmax(f, i, true);
    case VY_OP_MAX: return emit_minmax(f, i, false);
    case VY_OP_CLAMP: return emit_clamp(f, i);
    case VY_OP_SIGN: return emit_sign(f, i);
    case VY_OP_ISNAN: return vy_emit_isnan(f, i);
    case VY_OP_ISINF: return vy_emit_isinf(f, i);
    case VY_OP_SELECT: {
        const uint32_t y = arg(f, i, 2), x = arg(f, i, 1), c = arg(f, i, 0);
        return vy_select_id(f, vy_spv_type(f->m, (vy_type)in->type), c, x, y);
    }
    case VY_OP_CAST:
        return vy_cast_id(f, (vy_type)in->type, vy_id_type(f->p, vy_arg(f->p, i, 0)), arg(f, i, 0));
    case VY_OP_BITCAST: return emit_bitcast(f, i);
    case VY_OP_STOP_GRAD:
    case VY_OP_STRAIGHT_THROUGH:
    case VY_OP_DERIVE_AS:
    case VY_OP_CANDIDATE: return arg(f, i, 0);
    case VY_OP_AT_LEAST: return vy_emit_at_least(f, i);
    case VY_OP_SQRT: return vy_emit_sqrt(f, i);
    default: return 0;
    }
}

uint32_t vy_emit_op(vy_fn *f, uint32_t i)
{
    const row *r = &rows[f->p->insts.data[i].op];
    switch ((row_kind)r->kind) {
    case ROW_CORE: return emit_core(f, i, r);
    case ROW_EXT: return emit_exact(f, i, r);
    case ROW_MATH: return vy_emit_function(f, i, r->on_float, (vy_math)r->own);
    default: return emit_by_hand(f, i);
    }
}
