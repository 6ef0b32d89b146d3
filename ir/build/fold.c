// SPDX-License-Identifier: MIT
// fold.c: algebraic rules of the builder.
//
// A rule may only use its operands and what they are made of; it never looks at users.  Rules are
// exact: the replacement has the same bits for every input, NaN and −0 included (all NaNs count as
// one).  A rule that is not exact names the property it gives up and fires only under fast-math:
//   NSZ   −0 and +0 are the same     NNAN  no NaN or infinity occurs
//   ASSOC reassociation, reciprocals
// Rules run in order, the first that applies wins; `then` is the id of the value.
//
// In a sum over pairs, (i, j) and (j, i) have most in common up to a sign: b − a is −(a − b) for
// every rounding that is symmetric about zero, up to the sign of zero, and (−x)·y is −(x·y).  So
// where a − b has been computed, squares and magnitudes of b − a are those of a − b, and a product
// with −x reuses the one with x.
#include "ir/build/build.h"
#include "ir/build/edit.h"
#include "ir/core/zeros.h"

#include <math.h>

typedef struct fold_context {
    vy_builder *b;
    vy_op op;
    vy_type type; // of the result
    vy_type in;   // of the (last) operand
    bool floats;  // it is a float: rules ask several times
    const uint32_t *args;
    const vy_scalar *k[3]; // constants among the operands, or NULL; they point to `values`, since a
                           // rule that makes a leaf may move the leaves
    vy_scalar values[3];
} fold_context;

static bool is_int(const fold_context *f) { return f->in >= VY_I32 && f->in <= VY_U64; }
static bool is_float(const fold_context *f) { return f->floats; }
static bool is_bool(const fold_context *f) { return f->in == VY_BOOL; }

static bool is_const(const fold_context *f, int n, double value)
{
    const vy_scalar *k = f->k[n];
    if (!k) return false;
    if (is_float(f)) return k->f == value && signbit(k->f) == signbit(value);
    return vy_type_is_signed(f->in) ? k->i == (int64_t)value : k->u == (uint64_t)value;
}

static bool all_ones(const fold_context *f, int n)
{
    vy_scalar ones = vy_wrap(f->in, (vy_scalar){.u = f->in == VY_BOOL ? 1 : UINT64_MAX});
    return f->k[n] && f->k[n]->u == ones.u;
}

// The operands of operand n if it is an `op`, else NULL.
static const uint32_t *made_by(const fold_context *f, int n, vy_op op)
{
    uint32_t id = f->args[n];
    if (VY_IS_LEAF(id) || f->b->p->insts.data[id].op != op) return NULL;
    return vy_args(f->b->p, id);
}

// The constant second operand of operand n if it is such an `op`, else NULL.
static const vy_scalar *const_second(const fold_context *f, int n, vy_op op)
{
    const uint32_t *a = made_by(f, n, op);
    return a ? vy_id_const(f->b->p, a[1]) : NULL;
}

static uint32_t emit1(const fold_context *f, vy_op op, uint32_t x)
{
    return vy_emit(f->b, op, f->type, 0, 1, &x);
}

static uint32_t emit2(const fold_context *f, vy_op op, uint32_t x, uint32_t y)
{
    return vy_emit(f->b, op, f->type, 0, 2, (uint32_t[]){x, y});
}

static uint32_t constant(const fold_context *f, double value)
{
    vy_scalar v = {.i = (int64_t)value};
    if (vy_type_is_float(f->type)) v.f = vy_round_to(f->type, value);
    return vy_leaf_const(f->b, f->type, v);
}

// op applied to two constants.
static uint32_t combine(const fold_context *f, vy_op op, const vy_scalar *x, const vy_scalar *y)
{
    vy_scalar v, args[2] = {*x, *y};
    if (!vy_scalar_eval(op, f->in, f->in, args, 0, false, &v)) return 0;
    return vy_leaf_const(f->b, f->in, v);
}

// 1/k where that is exact: k a power of two whose reciprocal is a normal number of the type.
static bool exact_reciprocal(const fold_context *f, double *r)
{
    int exponent;
    const int limit = f->in == VY_F16 ? 13 : f->in == VY_F32 ? 125 : 1021;
    if (!f->k[1] || fabs(frexp(f->k[1]->f, &exponent)) != 0.5) return false;
    *r = 1 / f->k[1]->f;
    return exponent > -limit && exponent < limit;
}

// (x op c1) op c2 → x op (c1 op c2); exact for wrapping integers.
static uint32_t reassociate(const fold_context *f, vy_op op)
{
    uint32_t c = combine(f, op, const_second(f, 0, op), f->k[1]);
    return c ? emit2(f, op, made_by(f, 0, op)[0], c) : 0;
}

// In the arm of an `if` on c, c itself is known: 1 true, 0 false; −1 unknown.
static int known_here(const fold_context *f, uint32_t c)
{
    const vy_builder *b = f->b;
    for (uint32_t k = b->regions.count; k-- > 1;) {
        const build_region *r = &b->regions.data[k];
        if (b->p->insts.data[r->opener].op == VY_OP_IF && vy_arg(b->p, r->opener, 0) == c)
            return r->middle == 0;
    }
    return -1;
}

// (x ± c1) ± c2 of wrapping integers, as one step in the direction that needs the smaller constant.
static uint32_t step_twice(const fold_context *f, bool first_adds, bool second_adds)
{
    const uint32_t *inner = made_by(f, 0, first_adds ? VY_OP_ADD : VY_OP_SUB);
    const vy_scalar *c1 = vy_id_const(f->b->p, inner[1]), *c2 = f->k[1];
    uint64_t up = (first_adds ? c1->u : 0 - c1->u) + (second_adds ? c2->u : 0 - c2->u);
    vy_scalar plus = vy_wrap(f->in, (vy_scalar){.u = up});
    vy_scalar minus = vy_wrap(f->in, (vy_scalar){.u = 0 - up});
    bool adds = vy_type_is_signed(f->in) ? plus.i >= 0 : plus.u <= minus.u;
    uint32_t x = inner[0], c = vy_leaf_const(f->b, f->in, adds ? plus : minus);
    return emit2(f, adds ? VY_OP_ADD : VY_OP_SUB, x, c);
}

static uint32_t divide_by_power(const fold_context *f)
{
    double r;
    return exact_reciprocal(f, &r)
               ? emit2(f, VY_OP_MUL, f->args[0], vy_leaf_const(f->b, f->in, (vy_scalar){.f = r}))
               : 0;
}

// Exactly one of two bools holds: x and !x, or x == y and x != y.
static bool complements(const fold_context *f)
{
    const vy_program *p = f->b->p;
    const uint32_t *x = made_by(f, 0, VY_OP_NOT), *y = made_by(f, 1, VY_OP_NOT);
    if ((x && x[0] == f->args[1]) || (y && y[0] == f->args[0])) return true;
    const bool first_eq = made_by(f, 0, VY_OP_EQ) != NULL;
    x = made_by(f, 0, first_eq ? VY_OP_EQ : VY_OP_NE);
    y = made_by(f, 1, first_eq ? VY_OP_NE : VY_OP_EQ);
    if (x && y) return x[0] == y[0] && x[1] == y[1];
    // a < b and b <= a, where no NaN can be
    const bool first_lt = made_by(f, 0, VY_OP_LT) != NULL;
    x = made_by(f, 0, first_lt ? VY_OP_LT : VY_OP_LE);
    y = made_by(f, 1, first_lt ? VY_OP_LE : VY_OP_LT);
    return x && y && x[0] == y[1] && x[1] == y[0] && !vy_type_is_float(vy_id_type(p, x[0]));
}

// y − x, if operand n is x − y and y − x was computed before it; else 0.
static uint32_t mirror(const fold_context *f, int n)
{
    const uint32_t *a = made_by(f, n, VY_OP_SUB);
    if (!a) return 0;
    uint32_t id = vy_made_before(f->b, VY_OP_SUB, f->in, 2, (uint32_t[]){a[1], a[0]});
    return id < f->args[n] ? id : 0;
}

// The value of `op` on x and y, if it was computed before; else 0.
static uint32_t before(const fold_context *f, vy_op op, uint32_t x, uint32_t y)
{
    return vy_made_before(f->b, op, f->type, 2, (uint32_t[]){x, y});
}

// The same without the sign of operand n, which is a negation.
static uint32_t unsigned_before(const fold_context *f, int n)
{
    const uint32_t *a = made_by(f, n, VY_OP_NEG);
    if (!a) return 0;
    return n ? before(f, f->op, f->args[0], a[0]) : before(f, f->op, a[0], f->args[1]);
}

static uint32_t select_of(const fold_context *f, uint32_t c, uint32_t x, uint32_t y)
{
    return vy_emit(f->b, VY_OP_SELECT, f->type, 0, 3, (uint32_t[]){c, x, y});
}

#define A f->args[0]
#define B f->args[1]
#define C f->args[2]
#define IS(n, v) is_const(f, n, v)
#define INNER(n, OP) made_by(f, n, VY_OP_##OP)
#define CHAIN(OP) (f->k[1] && const_second(f, 0, VY_OP_##OP))
#define EXACT true
#define FAST (f->b->p->fast_math && !f->b->p->exact)
#define NSZ FAST
#define NNAN FAST
#define ASSOC FAST

// clang-format off
//    op      operands  needs  when                           then
#define RULES(R)                                                                                   \
    R(ADD,    is_int,   EXACT, IS(1, 0),                      A)                                   \
    R(ADD,    is_float, EXACT, IS(1, -0.0),                   A)  /* x + 0 would make −0 into 0 */ \
    R(ADD,    is_float, NSZ,   IS(1, 0.0),                    A)                                   \
    R(ADD,    is_float, EXACT, IS(1, 0.0) && vy_never_minus_zero(f->b->p, A, 3), A)        \
    R(ADD,    is_int,   EXACT, CHAIN(ADD),                    reassociate(f, VY_OP_ADD))           \
    R(ADD,    is_float, ASSOC, CHAIN(ADD),                    reassociate(f, VY_OP_ADD))           \
    R(ADD,    is_float, EXACT, INNER(1, NEG),                 emit2(f, VY_OP_SUB, A, INNER(1, NEG)[0])) \
    R(ADD,    is_float, EXACT, INNER(0, NEG),                 emit2(f, VY_OP_SUB, B, INNER(0, NEG)[0])) \
    R(SUB,    is_int,   EXACT, IS(1, 0),                      A)                                   \
    R(SUB,    is_int,   EXACT, CHAIN(ADD),                    step_twice(f, true, false))          \
    R(SUB,    is_int,   EXACT, CHAIN(SUB),                    step_twice(f, false, false))         \
    R(ADD,    is_int,   EXACT, CHAIN(SUB),                    step_twice(f, false, true))          \
    R(SUB,    is_int,   EXACT, A == B,                        constant(f, 0))                      \
    R(SUB,    is_int,   EXACT, IS(0, 0),                      emit1(f, VY_OP_NEG, B))              \
    R(SUB,    is_float, EXACT, IS(1, 0.0),                    A)                                   \
    R(SUB,    is_float, EXACT, IS(0, -0.0),                   emit1(f, VY_OP_NEG, B))              \
    R(SUB,    is_float, NSZ,   IS(0, 0.0),                    emit1(f, VY_OP_NEG, B))              \
    R(SUB,    is_float, NNAN,  A == B,                        constant(f, 0))                      \
    R(SUB,    is_float, EXACT, INNER(1, NEG),                 emit2(f, VY_OP_ADD, A, INNER(1, NEG)[0])) \
    R(SUB,    is_float, NSZ,   before(f, VY_OP_SUB, B, A),    emit1(f, VY_OP_NEG, before(f, VY_OP_SUB, B, A))) /* 0 − 0 is +0 both ways */ \
    R(MUL,    is_int,   EXACT, IS(1, 1),                      A)                                   \
    R(MUL,    is_int,   EXACT, IS(1, 0),                      B)                                   \
    R(MUL,    is_int,   EXACT, CHAIN(MUL),                    reassociate(f, VY_OP_MUL))           \
    R(MUL,    is_float, EXACT, IS(1, 1),                      A)                                   \
    R(MUL,    is_float, EXACT, IS(1, -1),                     emit1(f, VY_OP_NEG, A))              \
    R(MUL,    is_float, NNAN,  IS(1, 0.0),                    B)  /* 0·inf is NaN, 0·−1 is −0 */    \
    R(MUL,    is_float, ASSOC, CHAIN(MUL),                    reassociate(f, VY_OP_MUL))           \
    R(MUL,    is_float, EXACT, INNER(0, NEG) && INNER(1, NEG), emit2(f, VY_OP_MUL, INNER(0, NEG)[0], INNER(1, NEG)[0])) \
    R(MUL,    is_float, EXACT, INNER(0, NEG) && f->k[1],      emit2(f, VY_OP_MUL, INNER(0, NEG)[0], vy_leaf_const(f->b, f->in, (vy_scalar){.f = -f->k[1]->f}))) \
    R(MUL,    is_float, EXACT, A == B && mirror(f, 0),        emit2(f, VY_OP_MUL, mirror(f, 0), mirror(f, 0))) \
    R(MUL,    is_float, EXACT, unsigned_before(f, 0),         emit1(f, VY_OP_NEG, unsigned_before(f, 0))) \
    R(MUL,    is_float, EXACT, unsigned_before(f, 1),         emit1(f, VY_OP_NEG, unsigned_before(f, 1))) \
    R(DIV,    is_int,   EXACT, IS(1, 1),                      A)                                   \
    R(DIV,    is_float, EXACT, IS(1, 1),                      A)                                   \
    R(DIV,    is_float, EXACT, IS(1, -1),                     emit1(f, VY_OP_NEG, A))              \
    R(DIV,    is_float, EXACT, divide_by_power(f),            divide_by_power(f))                  \
    R(DIV,    is_float, EXACT, INNER(0, NEG) && INNER(1, NEG), emit2(f, VY_OP_DIV, INNER(0, NEG)[0], INNER(1, NEG)[0])) \
    R(DIV,    is_float, NNAN,  A == B,                        constant(f, 1))                      \
    R(DIV,    is_float, ASSOC, f->k[1] && f->k[1]->f != 0,    emit2(f, VY_OP_MUL, A, constant(f, 1 / f->k[1]->f))) \
    R(DIV,    is_float, EXACT, unsigned_before(f, 0),         emit1(f, VY_OP_NEG, unsigned_before(f, 0))) \
    R(DIV,    is_float, EXACT, unsigned_before(f, 1),         emit1(f, VY_OP_NEG, unsigned_before(f, 1))) \
    R(DIV,    is_int,   EXACT, IS(1, 0),                      B)  /* a quotient by 0 is 0 */       \
    R(DIV,    is_int,   EXACT, IS(0, 0),                      A)                                   \
    R(REM,    is_int,   EXACT, IS(1, 1),                      constant(f, 0))                      \
    R(REM,    is_int,   EXACT, IS(1, 0),                      B)                                   \
    R(REM,    is_int,   EXACT, IS(0, 0),                      A)                                   \
    R(NEG,    is_float, EXACT, INNER(0, NEG),                 INNER(0, NEG)[0])                    \
    R(NEG,    is_int,   EXACT, INNER(0, NEG),                 INNER(0, NEG)[0])                    \
    R(FMA,    is_float, EXACT, IS(1, 1),                      emit2(f, VY_OP_ADD, A, C))           \
    R(FMA,    is_float, EXACT, A == B && mirror(f, 0),        vy_emit(f->b, VY_OP_FMA, f->type, 0, 3, (uint32_t[]){mirror(f, 0), mirror(f, 0), C})) \
    R(MIN,    is_int,   EXACT, A == B,                        A)                                   \
    R(MIN,    is_float, EXACT, A == B,                        A)                                   \
    R(MAX,    is_int,   EXACT, A == B,                        A)                                   \
    R(MAX,    is_float, EXACT, A == B,                        A)                                   \
    R(ABS,    is_float, EXACT, INNER(0, ABS),                 A)                                   \
    R(ABS,    is_float, EXACT, INNER(0, NEG),                 emit1(f, VY_OP_ABS, INNER(0, NEG)[0])) \
    R(ABS,    is_float, EXACT, mirror(f, 0),                  emit1(f, VY_OP_ABS, mirror(f, 0)))   \
    R(AND,    is_int,   EXACT, IS(1, 0),                      B)                                   \
    R(AND,    is_bool,  EXACT, IS(1, 0),                      B)                                   \
    R(AND,    is_bool,  EXACT, complements(f),                constant(f, 0))                      \
    R(AND,    is_int,   EXACT, A == B || all_ones(f, 1),      A)                                   \
    R(AND,    is_bool,  EXACT, A == B || all_ones(f, 1),      A)                                   \
    R(OR,     is_bool,  EXACT, complements(f),                constant(f, 1))                      \
    R(OR,     is_int,   EXACT, A == B || IS(1, 0),            A)                                   \
    R(OR,     is_bool,  EXACT, A == B || IS(1, 0),            A)                                   \
    R(OR,     is_int,   EXACT, all_ones(f, 1),                B)                                   \
    R(OR,     is_bool,  EXACT, all_ones(f, 1),                B)                                   \
    R(XOR,    is_int,   EXACT, IS(1, 0),                      A)                                   \
    R(XOR,    is_bool,  EXACT, IS(1, 0),                      A)                                   \
    R(XOR,    is_bool,  EXACT, IS(1, 1),                      emit1(f, VY_OP_NOT, A))              \
    R(XOR,    is_int,   EXACT, A == B,                        constant(f, 0))                      \
    R(XOR,    is_bool,  EXACT, A == B,                        constant(f, 0))                      \
    R(NOT,    is_int,   EXACT, INNER(0, NOT),                 INNER(0, NOT)[0])                    \
    R(NOT,    is_bool,  EXACT, INNER(0, NOT),                 INNER(0, NOT)[0])                    \
    R(NOT,    is_bool,  EXACT, INNER(0, EQ),                  emit2(f, VY_OP_NE, INNER(0, EQ)[0], INNER(0, EQ)[1])) \
    R(NOT,    is_bool,  EXACT, INNER(0, NE),                  emit2(f, VY_OP_EQ, INNER(0, NE)[0], INNER(0, NE)[1])) \
    R(NOT,    is_bool,  EXACT, not_less(f, VY_OP_LT),         emit2(f, VY_OP_LE, INNER(0, LT)[1], INNER(0, LT)[0])) \
    R(NOT,    is_bool,  EXACT, not_less(f, VY_OP_LE),         emit2(f, VY_OP_LT, INNER(0, LE)[1], INNER(0, LE)[0])) \
    R(SHL,    is_int,   EXACT, IS(1, 0),                      A)                                   \
    R(SHR,    is_int,   EXACT, IS(1, 0),                      A)                                   \
    R(EQ,     is_int,   EXACT, A == B,                        constant(f, 1))                      \
    R(EQ,     is_bool,  EXACT, all_ones(f, 1),                A)                                   \
    R(EQ,     is_bool,  EXACT, IS(1, 0),                      emit1(f, VY_OP_NOT, A))              \
    R(NE,     is_int,   EXACT, A == B,                        constant(f, 0))                      \
    R(NE,     is_bool,  EXACT, IS(1, 0),                      A)                                   \
    R(LT,     is_int,   EXACT, A == B,                        constant(f, 0))                      \
    R(LT,     is_float, EXACT, A == B,                        constant(f, 0))                      \
    R(LT,     is_unsigned, EXACT, IS(1, 0),                   constant(f, 0))                      \
    R(LE,     is_int,   EXACT, A == B,                        constant(f, 1))                      \
    R(LE,     is_unsigned, EXACT, IS(0, 0),                   constant(f, 1))                      \
    R(SELECT, always,   EXACT, f->k[0],                       f->k[0]->u ? B : C)                  \
    R(SELECT, always,   EXACT, known_here(f, A) == 1,         B)                                   \
    R(SELECT, always,   EXACT, known_here(f, A) == 0,         C)                                   \
    R(SELECT, always,   EXACT, B == C,                        B)                                   \
    R(SELECT, always,   EXACT, INNER(0, NOT),                 select_of(f, INNER(0, NOT)[0], C, B)) \
    R(SELECT, is_bool,  EXACT, all_ones(f, 1) && IS(2, 0),    A)                                   \
    R(SELECT, is_bool,  EXACT, IS(1, 0) && all_ones(f, 2),    emit1(f, VY_OP_NOT, A))              \
    R(SELECT, is_bool,  EXACT, IS(2, 0),                      emit2(f, VY_OP_AND, A, B))           \
    R(SELECT, is_bool,  EXACT, all_ones(f, 1),                emit2(f, VY_OP_OR, A, C))            \
    R(CAST,   always,   EXACT, f->in == f->type,              A)                                   \
    R(BITCAST, always,  EXACT, INNER(0, BITCAST) && vy_id_type(f->b->p, INNER(0, BITCAST)[0]) == f->type, INNER(0, BITCAST)[0]) \
    R(BITCAST, always,  EXACT, f->in == f->type,              A)                                   \
    R(STOP_GRAD, always, EXACT, INNER(0, STOP_GRAD),          A)                                   \
    R(STRAIGHT_THROUGH, always, EXACT, A == B,                A)                                   \
    R(DERIVE_AS, always, EXACT, A == B,                       A)
// clang-format on

static bool always(const fold_context *f)
{
    (void)f;
    return true;
}

static bool is_unsigned(const fold_context *f) { return f->in == VY_U32 || f->in == VY_U64; }

// !(a < b) is b <= a only where no NaN can be.
static bool not_less(const fold_context *f, vy_op op)
{
    const uint32_t *a = made_by(f, 0, op);
    return a && !vy_type_is_float(vy_id_type(f->b->p, a[0]));
}

// The operation is a constant where this is called, so that the rules of all others are left out.
static inline __attribute__((always_inline)) uint32_t rules_of(const fold_context *f, vy_op op)
{
#define R(OP, operands, needs, when, then)                                                         \
    if (op == VY_OP_##OP && (needs) && operands(f) && (when)) return (then);
    RULES(R)
#undef R
    return 0;
}

// Most operations have no rule, or few.
static uint32_t apply_rules(const fold_context *f)
{
    switch (f->op) {
#define X(id, ...)                                                                                 \
    case VY_OP_##id: return rules_of(f, VY_OP_##id);
        VY_OPS(X)
#undef X
    default: return 0;
    }
}

// Does every device compute the same bits as vy_scalar_eval?  Functions and quotients have an error
// of a few ULP on a device, and an fma may round twice.
static bool rounds_alike(vy_op op, vy_type in)
{
    if (!vy_type_is_float(in)) return true;
    return op != VY_OP_DIV && op != VY_OP_FMA && !vy_op_is_function(op);
}

uint32_t vy_fold(vy_builder *b, vy_op op, vy_type type, uint32_t aux, uint32_t nargs,
                 const uint32_t *args)
{
    fold_context f = {.b = b, .op = op, .type = type, .args = args};
    if (nargs == 0 || nargs > 3) return 0;
    f.in = vy_id_type(b->p, args[nargs - 1]);
    f.floats = vy_type_is_float(f.in);
    bool all = true;
    for (uint32_t i = 0; i < nargs; i++) {
        const vy_scalar *k = vy_id_const(b->p, args[i]);
        if (k)
            f.values[i] = *k, f.k[i] = &f.values[i];
        else
            all = false;
    }
    if (b->p->exact && !rounds_alike(op, f.in)) all = false;
    if (op == VY_OP_CANDIDATE) all = false; // differentiation needs its ordinal
    vy_scalar v;
    // stop_grad of a constant is the constant: nothing flows into either.
    if (all && vy_scalar_eval(op, f.in, type, f.values, aux, false, &v))
        return vy_leaf_const(b, type, v);
    return apply_rules(&f);
}
