// SPDX-License-Identifier: MIT
// ops.h: the one table of operations.
//
// Enum, names, parser, printer, checker, folding, interpreter, derivative and emitter all read it.
// A reader defines the row macro and the column vocabulary it needs; columns it ignores are never
// expanded, so ir/ does not know what `D2` or `MATH` mean.  A row without all columns does not
// compile.
//
//   X(ID, text, form, rule, effect, fold, deriv, spirv, cost)
//
// text    how the operation is written in the language.
// form    PREFIX, INFIX, CALL (text(args…)), SPECIAL (own syntax) or LOWERED: a call that only a
//         `@lowered` program may have (docs/language.md 16).  The arity follows in brackets.
// rule    the types of its operands (all of one type) and of its result:
//           F  floats → same                   N  numbers → same
//           I  integers → same                 IB integers or bool → same
//           C  numbers → bool                  CB numbers or bool → bool
//           FB float → bool                    S  special: checked by hand
// effect  PURE   value depends on operands only
//         READ   also on memory              WRITE  changes memory (atomics too)
//         CONV   convergent: depends on which invocations take part (subgroups, barrier)
//         CTRL   structure marker
// fold    FOLD(float, signed, unsigned): the value in terms of a, b, c, computed in double, int64_t
//         or uint64_t and then rounded or wrapped to the type; NA where the class is not allowed.
//         The interpreter and constant folding share it.  BYHAND: see scalar.c.
// deriv   D1(x̄), D2(ā, b̄), D3(…): contribution to each operand's adjoint, in terms of A, B, C
//         (the operands), Y (the result) and G (the adjoint of the result).  Each is linear in G,
//         hence its own transpose: forward mode reads the same row.  PICK2(c): the result is the
//         first operand where c holds, else the second.  D0: derivative zero by convention.
//         DNONE: integer or effect; a float result from it has no derivative.  DHAND: see the
//         autodiff passes.  A partial that is zero by convention is written with SELECT, so it is
//         dropped and never multiplied by an infinity.
// spirv   CORE(float, signed, unsigned, bool) opcodes; EXT(float, signed, unsigned) exact functions
//         of GLSL.std.450; MATH(native, own): a function of its own, `text`_f32 and `text`_f64 of
//         mathlib.vyre under --precise and for f64.  native: its name in GLSL.std.450, for f32
//         under --fast-math, or NA.  own: f32 in the default mode, by what Vulkan promises of
//         native:
//           PLAIN   too inaccurate, or undefined somewhere: `text`_plain of mathplain.vyre
//           BOUNDED the same, but `text`_f32 is used (too rare for a second function)
//           MENDED  accurate enough within its domain: native, special cases selected (emit_math.c)
//         gen_text.py refuses a row without its functions.  EMIT by hand.
// cost    the kind of work it is.  Operations of one kind have one cost; the costs, one column for
//         each question that passes ask, are in ir/facts/price.c:
//           FREE     another name for a value   SIMPLE  one instruction: bits, compare, convert
//           ADD MUL FMA DIV                     LIMIT   min, max, abs, sign
//           ROUND    to an integer, as float    ROOT    a function that devices have a unit for
//           MATH     other functions: some ten to a hundred instructions
//           LOAD STORE ATOMIC                   SUBGROUP BARRIER
//           BRANCH   an `if`                    CARRY   a value carried by a loop
//           CONTROL  other markers
#ifndef VYRE_OPS_H
#define VYRE_OPS_H

// clang-format off
#define VY_OPS(X)                                                                                                     \
/* arithmetic */                                                                                                      \
X(ADD,  "+",  INFIX(2),  N,  PURE, FOLD(a + b, a + b, a + b),           D2(G, G),                 CORE(FAdd, IAdd, IAdd, NA), ADD) \
X(SUB,  "-",  INFIX(2),  N,  PURE, FOLD(a - b, a - b, a - b),           D2(G, NEG(G)),            CORE(FSub, ISub, ISub, NA), ADD) \
X(MUL,  "*",  INFIX(2),  N,  PURE, FOLD(a * b, a * b, a * b),           D2(MUL(G, B), MUL(G, A)), CORE(FMul, IMul, IMul, NA), MUL) \
/* y = a/b, so ā = g/b, b̄ = −g y/b */                                                                                  \
X(DIV,  "/",  INFIX(2),  N,  PURE, BYHAND,  D2(DIV(G, B), NEG(DIV(MUL(G, Y), B))),                EMIT, DIV)           \
X(REM,  "%",  INFIX(2),  I,  PURE, BYHAND,                              DNONE,                    EMIT, DIV)           \
X(NEG,  "-",  PREFIX(1), N,  PURE, FOLD(-a, 0 - a, 0 - a),              D1(NEG(G)),               CORE(FNegate, SNegate, SNegate, NA), SIMPLE) \
X(FMA,  "fma", CALL(3),  F,  PURE, BYHAND,                  D3(MUL(G, B), MUL(G, A), G),          EMIT, FMA)           \
X(MIN,  "min", CALL(2),  N,  PURE, FOLD(a < b ? a : b, a < b ? a : b, a < b ? a : b), PICK2(LT(A, B)), EMIT, LIMIT)    \
X(MAX,  "max", CALL(2),  N,  PURE, FOLD(a > b ? a : b, a > b ? a : b, a > b ? a : b), PICK2(LT(B, A)), EMIT, LIMIT)    \
/* min(max(a, b), c); the derivative goes to a for b <= a <= c, else to the bound that holds.  Integers: MIN of MAX */    \
X(CLAMP, "clamp", CALL(3), F, PURE, BYHAND,                                                                          \
  D3(SELECT(LE(B, A), SELECT(LE(A, C), G, K(0)), K(0)), SELECT(LE(B, A), K(0), SELECT(LT(B, C), G, K(0))),             \
     SELECT(LE(B, A), SELECT(LE(A, C), K(0), G), SELECT(LT(B, C), K(0), G))),                     EMIT, LIMIT)         \
X(ABS,  "abs", CALL(1),  N,  PURE, FOLD(fabs(a), a < 0 ? 0 - a : a, a),                                                \
  D1(SELECT(LT(A, K(0)), NEG(G), SELECT(LT(K(0), A), G, K(0)))),                                  EXT(FAbs, SAbs, NA), LIMIT) \
X(SIGN, "sign", CALL(1), N,  PURE, FOLD((a > 0) - (a < 0), (a > 0) - (a < 0), a > 0),  D0,         EMIT, LIMIT)         \
/* bits */                                                                                                            \
X(AND,  "&",  INFIX(2),  IB, PURE, FOLD(NA, a & b, a & b),              DNONE,      CORE(NA, BitwiseAnd, BitwiseAnd, LogicalAnd), SIMPLE) \
X(OR,   "|",  INFIX(2),  IB, PURE, FOLD(NA, a | b, a | b),              DNONE,      CORE(NA, BitwiseOr, BitwiseOr, LogicalOr), SIMPLE) \
X(XOR,  "^",  INFIX(2),  IB, PURE, FOLD(NA, a ^ b, a ^ b),              DNONE,      CORE(NA, BitwiseXor, BitwiseXor, LogicalNotEqual), SIMPLE) \
X(NOT,  "~",  PREFIX(1), IB, PURE, FOLD(NA, ~a, ~a),                    DNONE,      CORE(NA, Not, Not, LogicalNot), SIMPLE) \
X(SHL,  "<<", INFIX(2),  I,  PURE, BYHAND,                              DNONE,      EMIT, SIMPLE)                      \
X(SHR,  ">>", INFIX(2),  I,  PURE, BYHAND,                              DNONE,      EMIT, SIMPLE)                      \
X(POPCOUNT, "popcount", CALL(1), I, PURE, BYHAND,                       DNONE,      EMIT, SIMPLE)                      \
/* comparisons: a > b is written b < a, also for NaN */                                                               \
X(EQ,   "==", INFIX(2),  CB, PURE, FOLD(a == b, a == b, a == b),        DNONE,      CORE(FOrdEqual, IEqual, IEqual, LogicalEqual), SIMPLE) \
X(NE,   "!=", INFIX(2),  CB, PURE, FOLD(a != b, a != b, a != b),        DNONE,      CORE(FUnordNotEqual, INotEqual, INotEqual, LogicalNotEqual), SIMPLE) \
X(LT,   "<",  INFIX(2),  C,  PURE, FOLD(a < b, a < b, a < b),           DNONE,      CORE(FOrdLessThan, SLessThan, ULessThan, NA), SIMPLE) \
X(LE,   "<=", INFIX(2),  C,  PURE, FOLD(a <= b, a <= b, a <= b),        DNONE,      CORE(FOrdLessThanEqual, SLessThanEqual, ULessThanEqual, NA), SIMPLE) \
X(ISNAN, "isnan", CALL(1), FB, PURE, FOLD(isnan(a) != 0, NA, NA),       DNONE,      EMIT, SIMPLE)                      \
X(ISINF, "isinf", CALL(1), FB, PURE, FOLD(isinf(a) != 0, NA, NA),       DNONE,      EMIT, SIMPLE)                      \
X(SELECT, "select", CALL(3), S, PURE, BYHAND,                           DHAND,      EMIT, SIMPLE)                      \
X(CAST,   "cast",    SPECIAL(1), S, PURE, BYHAND,                       DHAND,      EMIT, SIMPLE)                      \
X(BITCAST, "bitcast", SPECIAL(1), S, PURE, BYHAND,                      DHAND,      EMIT, FREE)                        \
X(STOP_GRAD, "stop_grad", CALL(1), F, PURE, FOLD(a, NA, NA),            D0,         EMIT, FREE)                        \
/* a, with the derivative of b */                                                                                     \
X(STRAIGHT_THROUGH, "straight_through", CALL(2), F, PURE, FOLD(a, NA, NA), DHAND,   EMIT, FREE)                        \
  /* lowered: x, differentiated as if it were y; the derivative has x in its place (online_softmax.c) */                   \
X(DERIVE_AS, "@derive_as", LOWERED(2), F, PURE, FOLD(a, NA, NA), DHAND, EMIT, FREE)                                    \
  /* lowered: v, the n-th candidate of its invocation for an atomic_min or atomic_max (extremum.c) */                    \
X(CANDIDATE, "@candidate", LOWERED(2), S, PURE, BYHAND, DHAND, EMIT, FREE)                                             \
  /* lowered: a number of at least a: the greatest of lanes that run side by side (uniform_starts.c) */                    \
X(AT_LEAST, "@at_least", LOWERED(1), I, PURE, FOLD(NA, a, a), DNONE, EMIT, FREE)                                       \
/* functions */                                                                                                       \
X(FLOOR, "floor", CALL(1), F, PURE, FOLD(floor(a), NA, NA),             D0,                                   EXT(Floor, NA, NA), ROUND) \
X(CEIL,  "ceil",  CALL(1), F, PURE, FOLD(ceil(a), NA, NA),              D0,                                   EXT(Ceil, NA, NA), ROUND) \
X(TRUNC, "trunc", CALL(1), F, PURE, FOLD(trunc(a), NA, NA),             D0,                                   EXT(Trunc, NA, NA), ROUND) \
X(ROUND, "round", CALL(1), F, PURE, FOLD(nearbyint(a), NA, NA),         D0,                                   EXT(RoundEven, NA, NA), ROUND) \
X(SQRT,  "sqrt",  CALL(1), F, PURE, FOLD(sqrt(a), NA, NA),              D1(DIV(G, MUL(K(2), Y))),             EMIT, ROOT) \
X(RSQRT, "rsqrt", CALL(1), F, PURE, FOLD(1 / sqrt(a), NA, NA),          D1(MUL(MUL(K(-0.5), G), DIV(Y, A))),  MATH(InverseSqrt, MENDED), ROOT) \
X(CBRT,  "cbrt",  CALL(1), F, PURE, FOLD(cbrt(a), NA, NA),              D1(DIV(G, MUL(K(3), MUL(Y, Y)))),     MATH(NA, BOUNDED), MATH) \
X(EXP,   "exp",   CALL(1), F, PURE, FOLD(exp(a), NA, NA),               D1(MUL(G, Y)),                        MATH(Exp, PLAIN), MATH) \
X(EXP2,  "exp2",  CALL(1), F, PURE, FOLD(exp2(a), NA, NA),              D1(MUL(MUL(G, Y), K(M_LN2))),         MATH(Exp2, PLAIN), MATH) \
X(EXPM1, "expm1", CALL(1), F, PURE, FOLD(expm1(a), NA, NA),             D1(MUL(G, EXP(A))),                   MATH(NA, PLAIN), MATH) \
X(LOG,   "log",   CALL(1), F, PURE, FOLD(log(a), NA, NA),               D1(DIV(G, A)),                        MATH(Log, PLAIN), MATH) \
X(LOG2,  "log2",  CALL(1), F, PURE, FOLD(log2(a), NA, NA),              D1(DIV(MUL(G, K(M_LOG2E)), A)),       MATH(Log2, PLAIN), MATH) \
X(LOG10, "log10", CALL(1), F, PURE, FOLD(log10(a), NA, NA),             D1(DIV(MUL(G, K(M_LOG10E)), A)),      MATH(NA, PLAIN), MATH) \
X(LOG1P, "log1p", CALL(1), F, PURE, FOLD(log1p(a), NA, NA),             D1(DIV(G, ADD(K(1), A))),             MATH(NA, PLAIN), MATH) \
X(SIN,   "sin",   CALL(1), F, PURE, FOLD(sin(a), NA, NA),               D1(MUL(G, COS(A))),                   MATH(Sin, PLAIN), MATH) \
X(COS,   "cos",   CALL(1), F, PURE, FOLD(cos(a), NA, NA),               D1(NEG(MUL(G, SIN(A)))),              MATH(Cos, PLAIN), MATH) \
X(TAN,   "tan",   CALL(1), F, PURE, FOLD(tan(a), NA, NA),               D1(MUL(G, ADD(K(1), MUL(Y, Y)))),     MATH(Tan, PLAIN), MATH) \
X(ASIN,  "asin",  CALL(1), F, PURE, FOLD(asin(a), NA, NA),                                                            \
  D1(DIV(G, SQRT(MUL(SUB(K(1), A), ADD(K(1), A))))),                                                          MATH(Asin, PLAIN), MATH) \
X(ACOS,  "acos",  CALL(1), F, PURE, FOLD(acos(a), NA, NA),                                                            \
  D1(NEG(DIV(G, SQRT(MUL(SUB(K(1), A), ADD(K(1), A)))))),                                                     MATH(Acos, PLAIN), MATH) \
X(ATAN,  "atan",  CALL(1), F, PURE, FOLD(atan(a), NA, NA),              D1(DIV(G, ADD(K(1), MUL(A, A)))),     MATH(Atan, PLAIN), MATH) \
X(SINH,  "sinh",  CALL(1), F, PURE, FOLD(sinh(a), NA, NA),              D1(MUL(G, COSH(A))),                  MATH(Sinh, PLAIN), MATH) \
X(COSH,  "cosh",  CALL(1), F, PURE, FOLD(cosh(a), NA, NA),              D1(MUL(G, SINH(A))),                  MATH(Cosh, PLAIN), MATH) \
X(TANH,  "tanh",  CALL(1), F, PURE, FOLD(tanh(a), NA, NA),              D1(MUL(G, SUB(K(1), MUL(Y, Y)))),     MATH(Tanh, PLAIN), MATH) \
X(ASINH, "asinh", CALL(1), F, PURE, FOLD(asinh(a), NA, NA),             D1(DIV(G, HYPOT(A, K(1)))),           MATH(Asinh, PLAIN), MATH) \
X(ACOSH, "acosh", CALL(1), F, PURE, FOLD(acosh(a), NA, NA),                                                           \
  D1(DIV(G, MUL(SQRT(SUB(A, K(1))), SQRT(ADD(A, K(1)))))),                                                    MATH(Acosh, PLAIN), MATH) \
X(ATANH, "atanh", CALL(1), F, PURE, FOLD(atanh(a), NA, NA),                                                           \
  D1(DIV(G, MUL(SUB(K(1), A), ADD(K(1), A)))),                                                                MATH(Atanh, PLAIN), MATH) \
/* d erf/dx = 2/√π exp(−x²), https://dlmf.nist.gov/7.2 */                                                             \
X(ERF,   "erf",   CALL(1), F, PURE, FOLD(erf(a), NA, NA),                                                             \
  D1(MUL(MUL(G, K(M_2_SQRTPI)), EXP(NEG(MUL(A, A))))),                                                        MATH(NA, BOUNDED), MATH) \
X(ERFC,  "erfc",  CALL(1), F, PURE, FOLD(erfc(a), NA, NA),                                                            \
  D1(MUL(MUL(G, K(-M_2_SQRTPI)), EXP(NEG(MUL(A, A))))),                                                       MATH(NA, BOUNDED), MATH) \
X(LGAMMA, "lgamma", CALL(1), F, PURE, FOLD(vy_lgamma(a), NA, NA),       D1(MUL(G, POLYGAMMA(0, A))),          MATH(NA, BOUNDED), MATH) \
/* polygamma of order aux; digamma is order 0 */                                                                      \
X(POLYGAMMA, "polygamma", SPECIAL(1), F, PURE, BYHAND,                  D1(MUL(G, POLYGAMMA(AUX + 1, A))),    MATH(NA, BOUNDED), MATH) \
X(SIGMOID, "sigmoid", CALL(1), F, PURE, FOLD(vy_ref_sigmoid(a), NA, NA), D1(MUL(G, MUL(Y, SUB(K(1), Y)))),    MATH(NA, PLAIN), MATH) \
X(SOFTPLUS, "softplus", CALL(1), F, PURE, FOLD(vy_ref_softplus(a), NA, NA), D1(MUL(G, SIGMOID(A))),           MATH(NA, PLAIN), MATH) \
/* ∂x = y x^(y−1), 0 for y = 0; ∂y = x^y log x, 0 for x < 0 and for x = 0, y > 0 (docs/language.md 9.2) */             \
X(POW,   "pow",   CALL(2), F, PURE, FOLD(pow(a, b), NA, NA),                                                          \
  D2(SELECT(EQ(B, K(0)), K(0), MUL(MUL(G, B), POW(A, SUB(B, K(1))))),                                                 \
     SELECT(OR(LT(A, K(0)), AND(EQ(A, K(0)), LT(K(0), B))), K(0), MUL(MUL(G, Y), LOG(A)))),                   MATH(Pow, PLAIN), MATH) \
/* atan2(y, x): ȳ = g x/r², x̄ = −g y/r²; divided twice by r so that r² cannot overflow */                              \
X(ATAN2, "atan2", CALL(2), F, PURE, FOLD(atan2(a, b), NA, NA),                                                        \
  D2(SELECT(EQ(HYPOT(A, B), K(0)), K(0), DIV(MUL(G, DIV(B, HYPOT(A, B))), HYPOT(A, B))),                              \
     SELECT(EQ(HYPOT(A, B), K(0)), K(0), NEG(DIV(MUL(G, DIV(A, HYPOT(A, B))), HYPOT(A, B))))),                MATH(Atan2, PLAIN), MATH) \
X(HYPOT, "hypot", CALL(2), F, PURE, FOLD(hypot(a, b), NA, NA),                                                        \
  D2(SELECT(EQ(Y, K(0)), K(0), MUL(G, DIV(A, Y))), SELECT(EQ(Y, K(0)), K(0), MUL(G, DIV(B, Y)))),             MATH(NA, BOUNDED), MATH) \
/* a − n b with n = trunc(a/b), exactly; (a − y)/b is n but for rounding errors */                                       \
X(FMOD,  "fmod",  CALL(2), F, PURE, FOLD(fmod(a, b), NA, NA),                                                         \
  D2(G, NEG(MUL(G, ROUND(DIV(SUB(A, Y), B))))),                                                               MATH(NA, BOUNDED), MATH) \
/* memory: aux is the buffer; operands are the indices, then the values */                                            \
X(LOAD,  "load",  SPECIAL(0), S, READ,  BYHAND, DHAND, EMIT, LOAD)                                                     \
X(STORE, "store", SPECIAL(0), S, WRITE, BYHAND, DHAND, EMIT, STORE)                                                    \
X(ZERO,  "local", SPECIAL(0), S, WRITE, BYHAND, DHAND, EMIT, STORE) /* clears a local or shared array */                      \
X(ATOMIC_ADD, "atomic_add", SPECIAL(0), S, WRITE, BYHAND, DHAND, EMIT, ATOMIC)                                         \
X(ATOMIC_MIN, "atomic_min", SPECIAL(0), S, WRITE, BYHAND, DHAND, EMIT, ATOMIC)                                         \
X(ATOMIC_MAX, "atomic_max", SPECIAL(0), S, WRITE, BYHAND, DHAND, EMIT, ATOMIC)                                         \
X(ATOMIC_AND, "atomic_and", SPECIAL(0), S, WRITE, BYHAND, DHAND, EMIT, ATOMIC)                                         \
X(ATOMIC_OR,  "atomic_or",  SPECIAL(0), S, WRITE, BYHAND, DHAND, EMIT, ATOMIC)                                         \
X(ATOMIC_XOR, "atomic_xor", SPECIAL(0), S, WRITE, BYHAND, DHAND, EMIT, ATOMIC)                                         \
X(ATOMIC_EXCHANGE, "atomic_exchange", SPECIAL(0), S, WRITE, BYHAND, DHAND, EMIT, ATOMIC)                               \
X(ATOMIC_CAS, "atomic_cas", SPECIAL(0), S, WRITE, BYHAND, DHAND, EMIT, ATOMIC)                                         \
/* parallel */                                                                                                        \
X(BARRIER, "barrier", SPECIAL(0), S, CONV, BYHAND, DHAND, EMIT, BARRIER)                                               \
X(SG_ADD, "subgroup_add", CALL(1), N, CONV, BYHAND, DHAND, EMIT, SUBGROUP)                                             \
X(SG_MUL, "subgroup_mul", CALL(1), N, CONV, BYHAND, DHAND, EMIT, SUBGROUP)                                             \
X(SG_MIN, "subgroup_min", CALL(1), N, CONV, BYHAND, DHAND, EMIT, SUBGROUP)                                             \
X(SG_MAX, "subgroup_max", CALL(1), N, CONV, BYHAND, DHAND, EMIT, SUBGROUP)                                             \
X(SG_AND, "subgroup_and", CALL(1), IB, CONV, BYHAND, DHAND, EMIT, SUBGROUP)                                            \
X(SG_OR,  "subgroup_or",  CALL(1), IB, CONV, BYHAND, DHAND, EMIT, SUBGROUP)                                            \
X(SG_XOR, "subgroup_xor", CALL(1), IB, CONV, BYHAND, DHAND, EMIT, SUBGROUP)                                            \
X(SG_INCLUSIVE_ADD, "subgroup_inclusive_add", CALL(1), N, CONV, BYHAND, DHAND, EMIT, SUBGROUP)                         \
X(SG_EXCLUSIVE_ADD, "subgroup_exclusive_add", CALL(1), N, CONV, BYHAND, DHAND, EMIT, SUBGROUP)                         \
X(SG_BROADCAST, "subgroup_broadcast", CALL(2), S, CONV, BYHAND, DHAND, EMIT, SUBGROUP) /* value, u32 lane */                     \
X(SG_SHUFFLE, "subgroup_shuffle", CALL(2), S, CONV, BYHAND, DHAND, EMIT, SUBGROUP) /* value, u32 lane */                     \
X(SG_SHUFFLE_XOR, "subgroup_shuffle_xor", CALL(2), S, CONV, BYHAND, DHAND, EMIT, SUBGROUP) /* value, u32 mask */                 \
X(SG_ANY, "subgroup_any", CALL(1), S, CONV, BYHAND, DHAND, EMIT, SUBGROUP) /* bool → bool */                                     \
X(SG_ALL, "subgroup_all", CALL(1), S, CONV, BYHAND, DHAND, EMIT, SUBGROUP)                                             \
/* calls of functions that have a derivative of their own: see functions.h */                                          \
X(APPLY, "apply", SPECIAL(0), S, PURE, BYHAND, DHAND, EMIT, MATH) /* aux: the function */                               \
X(RETURN, "return", SPECIAL(0), S, CONV, BYHAND, DHAND, EMIT, CONTROL) /* the last instruction of a function */         \
/* host programs alone: see host.h */                                                                                 \
X(DISPATCH, "dispatch", SPECIAL(0), S, PURE, BYHAND, DHAND, EMIT, MATH)                                                \
X(PICK, "pick", SPECIAL(1), S, PURE, BYHAND, DHAND, EMIT, FREE)                                                        \
/* structure: see ir.h for the operands */                                                                            \
X(IF,    "if",    SPECIAL(1), S, CTRL, BYHAND, DHAND, EMIT, BRANCH)                                                    \
X(ELSE,  "else",  SPECIAL(0), S, CTRL, BYHAND, DHAND, EMIT, CONTROL)                                                   \
X(ENDIF, "}",     SPECIAL(0), S, CTRL, BYHAND, DHAND, EMIT, CONTROL)                                                   \
X(LOOP,  "for",   SPECIAL(3), S, CTRL, BYHAND, DHAND, EMIT, CONTROL)                                                   \
X(WHILE, "while", SPECIAL(0), S, CTRL, BYHAND, DHAND, EMIT, CONTROL)                                                   \
X(TEST,  "test",  SPECIAL(1), S, CTRL, BYHAND, DHAND, EMIT, CONTROL)                                                   \
X(CARRY, "carry", SPECIAL(1), S, CTRL, BYHAND, DHAND, EMIT, CARRY)                                                     \
X(ENDLOOP, "}",   SPECIAL(0), S, CTRL, BYHAND, DHAND, EMIT, CONTROL)                                                   \
X(CHECKPOINT, "checkpoint", SPECIAL(0), S, CTRL, BYHAND, DHAND, EMIT, CONTROL)                                         \
X(ENDCHECKPOINT, "}", SPECIAL(0), S, CTRL, BYHAND, DHAND, EMIT, CONTROL)                                               \
X(RESULT, "result", SPECIAL(1), S, CTRL, BYHAND, DHAND, EMIT, CONTROL)
// clang-format on

typedef enum vy_op {
    VY_OP_NONE, // index 0 of every instruction array
#define X(id, text, form, rule, effect, fold, deriv, spirv, cost) VY_OP_##id,
    VY_OPS(X)
#undef X
        VY_OP_COUNT
} vy_op;

#endif
