// SPDX-License-Identifier: MIT
// eval_pure.c: operations on values.
//
// Rows of the table with a fold column get a specialised loop per common type, generated from that
// column.  These loops may run over inactive lanes, whose registers may hold any bits: signed
// operands are truncated to 32 bits first so that nothing overflows.  Everything else is computed
// by vy_scalar_eval, one active lane at a time.
#include "ir/eval/eval.h"
#include "ir/core/special.h"

#include <math.h>

#define LANES(m, l, BODY)                                                                          \
    if ((m)->wide)                                                                                 \
        for (uint32_t l = 0; l < (m)->lanes; l++) {                                                \
            BODY                                                                                   \
        }                                                                                          \
    else                                                                                           \
        VY_EACH_ACTIVE(m, l, BODY)

#define OPERANDS(m, x)                                                                             \
    vy_scalar *restrict d = vy_reg(m, (x)->dst);                                                   \
    const vy_scalar *pa = vy_reg(m, (x)->a), *pb = vy_reg(m, (x)->b);                              \
    (void)pb

// The value, wrapped or rounded to the type (NUMBER) or as a bool (TRUTH), by the row's type rule.
#define PUT_F(E, NUMBER) NUMBER(E)
#define PUT_N(E, NUMBER) NUMBER(E)
#define PUT_I(E, NUMBER) NUMBER(E)
#define PUT_IB(E, NUMBER) NUMBER(E)
#define PUT_S(E, NUMBER) NUMBER(E)
#define PUT_C(E, NUMBER) d[l].u = (E) != 0
#define PUT_CB(E, NUMBER) d[l].u = (E) != 0
#define PUT_FB(E, NUMBER) d[l].u = (E) != 0

#define TO_F32(E) d[l].f = (double)(float)(E)
#define TO_F64(E) d[l].f = (double)(E)
#define TO_I32(E) d[l].i = (int32_t)(uint32_t)(uint64_t)(E)
#define TO_U32(E) d[l].u = (uint32_t)(E)

#define RUN(name, T, GET_A, GET_B, PUT)                                                            \
    static void name(vy_machine *m, const vy_xinst *x)                                             \
    {                                                                                              \
        OPERANDS(m, x);                                                                            \
        LANES(m, l, const T a = GET_A; const T b = GET_B; (void)a; (void)b; PUT;)                  \
    }
#define FLOATS pa[l].f, pb[l].f
#define SIGNED (int32_t) pa[l].u, (int32_t)pb[l].u
#define UNSIGNED (uint32_t) pa[l].u, (uint32_t)pb[l].u
#define RUN_(...) RUN(__VA_ARGS__)

#define NA 0
#define BYHAND 0
#define FOLD(f, s, u) f
#define X(id, text, form, rule, effect, fold, deriv, spirv, cost)                                  \
    RUN_(f32_##id, double, FLOATS, PUT_##rule(fold, TO_F32))                                       \
    RUN_(f64_##id, double, FLOATS, PUT_##rule(fold, TO_F64))
VY_OPS(X)
#undef X
#undef FOLD
#define FOLD(f, s, u) s
#define X(id, text, form, rule, effect, fold, deriv, spirv, cost)                                  \
    RUN_(i32_##id, int64_t, SIGNED, PUT_##rule(fold, TO_I32))
VY_OPS(X)
#undef X
#undef FOLD
#define FOLD(f, s, u) u
#define X(id, text, form, rule, effect, fold, deriv, spirv, cost)                                  \
    RUN_(u32_##id, uint64_t, UNSIGNED, PUT_##rule(fold, TO_U32))
VY_OPS(X)
#undef X
#undef FOLD
#undef BYHAND

// ------------------------------------------------------------------------------ common BYHAND rows
RUN_(f32_divide, double, FLOATS, TO_F32(a / b))
RUN_(f64_divide, double, FLOATS, TO_F64(a / b))
RUN_(i32_divide, int64_t, SIGNED, TO_I32(b ? a / b : 0))
RUN_(u32_divide, uint64_t, UNSIGNED, TO_U32(b ? a / b : 0))
RUN_(i32_remainder, int64_t, SIGNED, TO_I32(b ? a % b : 0))
RUN_(u32_remainder, uint64_t, UNSIGNED, TO_U32(b ? a % b : 0))
RUN_(i32_shift_left, uint64_t, UNSIGNED, TO_I32(a << (b & 31)))
RUN_(u32_shift_left, uint64_t, UNSIGNED, TO_U32(a << (b & 31)))
RUN_(u32_shift_right, uint64_t, UNSIGNED, TO_U32(a >> (b & 31)))
RUN_(f32_from_i32, double, FLOATS, TO_F32((int32_t)pa[l].u))
RUN_(f32_from_u32, double, FLOATS, TO_F32((uint32_t)pa[l].u))
RUN_(f64_from_i32, double, FLOATS, TO_F64((int32_t)pa[l].u))
RUN_(f64_from_u32, double, FLOATS, TO_F64((uint32_t)pa[l].u))
RUN_(f32_from_f64, double, FLOATS, TO_F32(a))
RUN_(float_copy, double, FLOATS, TO_F64(a))
RUN_(i32_from_u32, uint64_t, UNSIGNED, TO_I32(a))
RUN_(u32_from_i32, uint64_t, UNSIGNED, TO_U32(a))
RUN_(bool_not, uint64_t, UNSIGNED, d[l].u = !a)
RUN_(bool_and, uint64_t, UNSIGNED, d[l].u = a & b)
RUN_(bool_or, uint64_t, UNSIGNED, d[l].u = a | b)
RUN_(bool_xor, uint64_t, UNSIGNED, d[l].u = a ^ b)
RUN_(bool_equal, uint64_t, UNSIGNED, d[l].u = a == b)

static void run_select(vy_machine *m, const vy_xinst *x)
{
    OPERANDS(m, x);
    const vy_scalar *pc = vy_reg(m, x->c);
    LANES(m, l, d[l] = pa[l].u ? pb[l] : pc[l];)
}

static void run_fma_f32(vy_machine *m, const vy_xinst *x)
{
    OPERANDS(m, x);
    const vy_scalar *pc = vy_reg(m, x->c);
    LANES(m, l, d[l].f = (double)fmaf((float)pa[l].f, (float)pb[l].f, (float)pc[l].f);)
}

static void run_fma_f64(vy_machine *m, const vy_xinst *x)
{
    OPERANDS(m, x);
    const vy_scalar *pc = vy_reg(m, x->c);
    LANES(m, l, d[l].f = fma(pa[l].f, pb[l].f, pc[l].f);)
}

// The operands have the type already and the result is one of them, so nothing is rounded.
static void run_clamp(vy_machine *m, const vy_xinst *x)
{
    OPERANDS(m, x);
    const vy_scalar *pc = vy_reg(m, x->c);
    LANES(m, l, const double raised = pa[l].f > pb[l].f ? pa[l].f : pb[l].f;
          d[l].f = raised < pc[l].f ? raised : pc[l].f;)
}

static void run_any(vy_machine *m, const vy_xinst *x)
{
    OPERANDS(m, x);
    const vy_scalar *pc = vy_reg(m, x->c);
    const vy_type type = (vy_type)x->operand_type, result = (vy_type)x->type;
    for (uint32_t k = 0; k < m->nact; k++) {
        const uint32_t l = m->act[k];
        const vy_scalar args[3] = {pa[l], pb[l], pc[l]};
        vy_scalar v = {.u = 0};
        vy_scalar_eval((vy_op)x->op, type, result, args, x->aux, m->options.f64, &v);
        d[l] = v;
    }
}

// ------------------------------------------------------------------------------------------ tables
// A handler only if the row has a fold; the conditional is constant.
#define BYHAND 0
#define FOLD(f, s, u) 1
#define TABLE(prefix)                                                                              \
    static const vy_handler prefix##_table[VY_OP_COUNT] = {VY_OPS(ENTRY_##prefix)};
#define ENTRY_f32(id, text, form, rule, effect, fold, deriv, spirv, cost)                          \
    [VY_OP_##id] = (fold) ? f32_##id : NULL,
#define ENTRY_f64(id, text, form, rule, effect, fold, deriv, spirv, cost)                          \
    [VY_OP_##id] = (fold) ? f64_##id : NULL,
#define ENTRY_i32(id, text, form, rule, effect, fold, deriv, spirv, cost)                          \
    [VY_OP_##id] = (fold) ? i32_##id : NULL,
#define ENTRY_u32(id, text, form, rule, effect, fold, deriv, spirv, cost)                          \
    [VY_OP_##id] = (fold) ? u32_##id : NULL,
TABLE(f32)
TABLE(f64)
TABLE(i32)
TABLE(u32)

static vy_handler by_hand(vy_op op, vy_type type)
{
    switch (op) {
    case VY_OP_DIV:
        return type == VY_F32   ? f32_divide
               : type == VY_F64 ? f64_divide
               : type == VY_I32 ? i32_divide
               : type == VY_U32 ? u32_divide
                                : NULL;
    case VY_OP_REM: return type == VY_I32 ? i32_remainder : type == VY_U32 ? u32_remainder : NULL;
    case VY_OP_SHL: return type == VY_I32 ? i32_shift_left : type == VY_U32 ? u32_shift_left : NULL;
    case VY_OP_SHR: return type == VY_U32 ? u32_shift_right : NULL;
    case VY_OP_FMA: return type == VY_F32 ? run_fma_f32 : type == VY_F64 ? run_fma_f64 : NULL;
    case VY_OP_CLAMP: return run_clamp;
    default: return NULL;
    }
}

static vy_handler for_bool(vy_op op)
{
    switch (op) {
    case VY_OP_NOT: return bool_not;
    case VY_OP_AND: return bool_and;
    case VY_OP_OR: return bool_or;
    case VY_OP_XOR:
    case VY_OP_NE: return bool_xor;
    case VY_OP_EQ: return bool_equal;
    default: return NULL;
    }
}

static vy_handler for_cast(vy_type from, vy_type to)
{
    const bool from_u32 = from == VY_U32 || from == VY_BOOL;
    if (to == VY_F32 && from == VY_I32) return f32_from_i32;
    if (to == VY_F32 && from_u32) return f32_from_u32;
    if (to == VY_F32 && from == VY_F64) return f32_from_f64;
    if (to == VY_F64 && from == VY_I32) return f64_from_i32;
    if (to == VY_F64 && from_u32) return f64_from_u32;
    if (to == VY_F64 && vy_type_is_float(from)) return float_copy;
    if (to == VY_I32 && from_u32) return i32_from_u32;
    if (to == VY_U32 && (from == VY_I32 || from == VY_BOOL)) return u32_from_i32;
    return NULL;
}

vy_handler vy_eval_pure(vy_op op, vy_type type, vy_type result, bool f64)
{
    vy_handler h = NULL;
    if (f64 && op != VY_OP_BITCAST) {
        if (vy_type_is_float(type)) type = VY_F64;
        if (vy_type_is_float(result)) result = VY_F64;
    }
    if (op == VY_OP_SELECT) return run_select;
    if (op == VY_OP_CAST)
        h = for_cast(type, result);
    else if (type == VY_BOOL)
        h = for_bool(op);
    else if (!(h = by_hand(op, type)))
        h = type == VY_F32   ? f32_table[op]
            : type == VY_F64 ? f64_table[op]
            : type == VY_I32 ? i32_table[op]
            : type == VY_U32 ? u32_table[op]
                             : NULL;
    return h ? h : run_any;
}
