// SPDX-License-Identifier: MIT
// rules.c: derivative rows of the table of operations, made executable.
//
// A row consists of operations of the language only and goes through the folding builder, so the
// result can be differentiated again.
#include "autodiff/core/rules.h"

#include <math.h>

static uint32_t emit(rule *r, vy_op op, vy_type type, uint32_t aux, uint32_t n,
                     const uint32_t *args)
{
    return vy_emit(r->b, op, type, aux, n, args);
}

static uint32_t konst(rule *r, double value)
{
    return vy_leaf_const(r->b, r->type, (vy_scalar){.f = vy_round_to(r->type, value)});
}

// The vocabulary of the `deriv` column.  Statement expressions fix the order of evaluation, so that
// the code does not depend on the C compiler.
#define OP1(op, type, x)                                                                           \
    ({                                                                                             \
        uint32_t x_ = (x);                                                                         \
        emit(r, VY_OP_##op, type, 0, 1, &x_);                                                      \
    })
#define OP2(op, type, x, y)                                                                        \
    ({                                                                                             \
        uint32_t x_ = (x);                                                                         \
        uint32_t y_ = (y);                                                                         \
        emit(r, VY_OP_##op, type, 0, 2, (uint32_t[]){x_, y_});                                     \
    })
#define ADD(x, y) OP2(ADD, r->type, x, y)
#define SUB(x, y) OP2(SUB, r->type, x, y)
#define MUL(x, y) OP2(MUL, r->type, x, y)
#define DIV(x, y) OP2(DIV, r->type, x, y)
#define NEG(x) OP1(NEG, r->type, x)
#define SQRT(x) OP1(SQRT, r->type, x)
#define EXP(x) OP1(EXP, r->type, x)
#define LOG(x) OP1(LOG, r->type, x)
#define SIN(x) OP1(SIN, r->type, x)
#define COS(x) OP1(COS, r->type, x)
#define SINH(x) OP1(SINH, r->type, x)
#define COSH(x) OP1(COSH, r->type, x)
#define SIGMOID(x) OP1(SIGMOID, r->type, x)
#define POW(x, y) OP2(POW, r->type, x, y)
#define HYPOT(x, y) OP2(HYPOT, r->type, x, y)
#define ROUND(x) OP1(ROUND, r->type, x)
#define POLYGAMMA(n, x)                                                                            \
    ({                                                                                             \
        uint32_t x_ = (x);                                                                         \
        emit(r, VY_OP_POLYGAMMA, r->type, n, 1, &x_);                                              \
    })
#define EQ(x, y) OP2(EQ, VY_BOOL, x, y)
#define LT(x, y) OP2(LT, VY_BOOL, x, y)
#define LE(x, y) OP2(LE, VY_BOOL, x, y)
#define AND(x, y) OP2(AND, VY_BOOL, x, y)
#define OR(x, y) OP2(OR, VY_BOOL, x, y)
#define SELECT(c, x, y)                                                                            \
    ({                                                                                             \
        uint32_t c_ = (c);                                                                         \
        uint32_t x_ = (x);                                                                         \
        uint32_t y_ = (y);                                                                         \
        emit(r, VY_OP_SELECT, r->type, 0, 3, (uint32_t[]){c_, x_, y_});                            \
    })
#define K(v) konst(r, v)
#define A r->a
#define B r->b_
#define C r->c
#define Y r->y
#define G r->g
#define AUX r->aux

#define WANT(k, x)                                                                                 \
    if (r->want & (1u << (k))) r->out[k] = (x);
#define D1(x) WANT(0, x)
#define D2(x, y) WANT(0, x) WANT(1, y)
#define D3(x, y, z) WANT(0, x) WANT(1, y) WANT(2, z)
#define PICK2(condition)                                                                           \
    r->pick = (condition);                                                                         \
    WANT(0, SELECT(r->pick, G, K(0)))                                                              \
    WANT(1, SELECT(r->pick, K(0), G))
#define D0
#define DNONE
#define DHAND

void vy_rule_apply(vy_op op, rule *r)
{
    switch (op) {
#define X(id, text, form, rule_, effect, fold, deriv, spirv, cost)                                 \
    case VY_OP_##id: {                                                                             \
        deriv                                                                                      \
    } break;
        VY_OPS(X)
#undef X
    default: break;
    }
}

// The same column, read as a rule_kind.
#undef D0
#undef D1
#undef D2
#undef D3
#undef PICK2
#undef DNONE
#undef DHAND
#define D0 RULE_ZERO
#define D1(x) RULE_PARTIAL
#define D2(x, y) RULE_PARTIAL
#define D3(x, y, z) RULE_PARTIAL
#define PICK2(c) RULE_PICK
#define DNONE RULE_NONE
#define DHAND RULE_HAND

rule_kind vy_rule_kind_of(vy_op op)
{
    static const uint8_t kinds[VY_OP_COUNT] = {RULE_NONE,
#define X(id, text, form, rule_, effect, fold, deriv, spirv, cost) deriv,
                                               VY_OPS(X)
#undef X
    };
    if (op == VY_OP_ADD || op == VY_OP_SUB || op == VY_OP_NEG) return RULE_LINEAR;
    return (rule_kind)kinds[op];
}

// Zero by convention: abs at 0, clamp for all operands but the selected one, hypot and atan2 at the
// origin, pow at exponent 0 and at negative bases.
bool vy_rule_drops(const vy_program *p, uint32_t id, uint32_t k)
{
    const vy_scalar *other;
    switch ((vy_op)p->insts.data[id].op) {
    case VY_OP_ABS:
    case VY_OP_CLAMP:
    case VY_OP_HYPOT:
    case VY_OP_ATAN2: return true;
    case VY_OP_POW:
        other = vy_id_const(p, vy_arg(p, id, 1 - k));
        return !other || (k == 0 ? other->f == 0 : other->f <= 0);
    default: return false;
    }
}

static vy_value kept(vy_builder *b, uint32_t d, uint32_t g, int depth)
{
    const vy_program *p = vy_builder_program(b);
    const vy_scalar *k = vy_id_const(p, d);
    if (k) return vy_bool(b, k->f != 0);
    const bool select = !VY_IS_LEAF(d) && p->insts.data[d].op == VY_OP_SELECT;
    if (d == g || depth == 0 || !select) return vy_bool(b, true);
    vy_value c = {vy_arg(p, d, 0)};
    uint32_t x = vy_arg(p, d, 1), y = vy_arg(p, d, 2);
    vy_value then = vy_and(b, c, kept(b, x, g, depth - 1));
    vy_value other = kept(b, y, g, depth - 1);
    return vy_or(b, then, vy_and(b, vy_not(b, c), other));
}

uint32_t vy_rule_kept(vy_builder *b, uint32_t d, uint32_t g)
{
    vy_value c = kept(b, d, g, 2);
    const vy_scalar *k = vy_builder_failed(b) ? NULL : vy_id_const(vy_builder_program(b), c.id);
    return k && k->u ? 0 : c.id;
}

// The column once more, read as: may the factor of G be infinite or NaN where operands and result
// are finite?  A bit by operand.
#undef ADD
#undef SUB
#undef MUL
#undef DIV
#undef NEG
#undef SQRT
#undef EXP
#undef LOG
#undef SIN
#undef COS
#undef SINH
#undef COSH
#undef SIGMOID
#undef POW
#undef HYPOT
#undef ROUND
#undef POLYGAMMA
#undef EQ
#undef LT
#undef LE
#undef AND
#undef OR
#undef SELECT
#undef K
#undef A
#undef B
#undef C
#undef Y
#undef G
#undef D0
#undef D1
#undef D2
#undef D3
#undef PICK2
#undef DNONE
#undef DHAND
#define ADD(x, y) ((x) | (y))
#define SUB(x, y) ((x) | (y))
#define MUL(x, y) ((x) | (y))
#define DIV(x, y) 1
#define NEG(x) (x)
#define SQRT(x) (x)
#define EXP(x) (x)
#define LOG(x) 1
#define SIN(x) (x)
#define COS(x) (x)
#define SINH(x) (x)
#define COSH(x) (x)
#define SIGMOID(x) (x)
#define POW(x, y) 1
#define HYPOT(x, y) ((x) | (y))
#define ROUND(x) (x)
#define POLYGAMMA(n, x) 1
#define SELECT(c, x, y) ((x) | (y))
#define K(v) 0
#define A 0
#define B 0
#define C 0
#define Y 0
#define G 0
#define D0 0
#define D1(x) (x)
#define D2(x, y) ((x) | (y) << 1)
#define D3(x, y, z) ((x) | (y) << 1 | (z) << 2)
#define PICK2(c) 0
#define DNONE 0
#define DHAND 0

bool vy_rule_is_singular(const vy_program *p, uint32_t id, uint32_t k)
{
    static const uint8_t singular[VY_OP_COUNT] = {0,
#define X(id, text, form, rule_, effect, fold, deriv, spirv, cost) deriv,
                                                  VY_OPS(X)
#undef X
    };
    const vy_op op = (vy_op)p->insts.data[id].op;
    const vy_scalar *divisor = op == VY_OP_DIV ? vy_id_const(p, vy_arg(p, id, 1)) : NULL;
    return (singular[op] >> k & 1) && !(divisor && divisor->f != 0);
}

uint32_t vy_rule_guarded(vy_builder *b, uint32_t g, uint32_t product)
{
    const vy_value p = {product}, zero = vy_zero(b, vy_value_type(b, p)),
                   unused = vy_eq(b, (vy_value){g}, vy_zero(b, vy_value_type(b, (vy_value){g}))),
                   nan = {vy_emit(b, VY_OP_ISNAN, VY_BOOL, 0, 1, &product)};
    return vy_select(b, vy_and(b, unused, nan), zero, p).id;
}
