// SPDX-License-Identifier: MIT
// plan.h: what it takes to execute a whole result (a program, or the pipeline that a derivative
// is), as plain data.  vkrt executes it; the JSON manifest and the C header serialise it.
#ifndef VYRE_PLAN_H
#define VYRE_PLAN_H

#include "spirv/kernel.h"

typedef enum vy_role {
    VY_ROLE_IN,        // read only; the caller provides contents
    VY_ROLE_OUT,       // the caller reads it afterwards; starts as zero
    VY_ROLE_INOUT,     // both
    VY_ROLE_WORKSPACE, // allocated by whoever executes the plan
} vy_role;

typedef struct vy_plan_buffer {
    const char *name;
    vy_role role;
    const char *type;
    uint32_t elem_size;
    uint32_t rank;
    const uint32_t *dims; // expression indices (into the plan's expressions)
} vy_plan_buffer;

typedef enum vy_step_kind {
    VY_STEP_DISPATCH, // kernel, args, params
    VY_STEP_FILL,     // buffer := pattern, element by element
    VY_STEP_COPY,     // buffer := source, entire and of the same size unless `part` is set
    VY_STEP_REPEAT,   // run the next `count` steps expr times; symbol counts 0, 1, …
    VY_STEP_READBACK, // symbol := element `expr` of buffer (integer types)
    VY_STEP_TEST,     // directly in the body of a REPEAT: leave it if expr is 0
    VY_STEP_CHECK,    // the run fails with `text` unless expr and limit are as `check` says
} vy_step_kind;

typedef enum vy_check {
    VY_CHECK_EQUAL, // expr = limit
    VY_CHECK_BELOW, // 0 ≤ expr < limit
    VY_CHECK_LOOPS, // expr = limit = 1; else the driver ended loops of kernel number expr − 2
} vy_check;

typedef struct vy_plan_arg { // one per binding of the kernel, same order
    uint32_t buffer;
    uint32_t offset; // expression: first element bound, or VY_NO_EXPR for 0
} vy_plan_arg;

#define VY_NO_EXPR UINT32_MAX

typedef struct vy_plan_part { // of a FILL or COPY; expressions, in elements
    uint32_t offset, source_offset, count;
} vy_plan_part;

typedef struct vy_plan_step {
    vy_step_kind kind;
    uint32_t kernel;         // DISPATCH
    const vy_plan_arg *args; // DISPATCH: binding_count of the kernel
    const uint32_t *symbols; // DISPATCH: for each symbol of the kernel, the plan expression that
                             // gives it; for float scalars a SYMBOL node, copied bit by bit
    const uint32_t *groups;  // DISPATCH of a kernel with domain_rank 0: three expressions, or NULL:
                             // the caller gives them
    uint32_t buffer, source; // FILL, COPY, READBACK
    uint64_t pattern;        // FILL: the element's bits, little-endian
    const vy_plan_part *part;     // FILL, COPY: NULL for whole buffers
    uint32_t count, expr, symbol; // REPEAT, READBACK, CHECK
    vy_check check;               // CHECK
    uint32_t limit;               // CHECK: expression
    const char *text;             // CHECK: the error message, without the numbers
} vy_plan_step;

// Immutable; owned by whoever made it (vy_compiled_free).
//
// The shape of a WORKSPACE buffer may depend on symbols that change while the plan runs: repeat
// counters and values read back.  From the step that changes the symbol it has a new shape and
// undefined contents.
typedef struct vy_plan {
    const char *name;
    const vy_kernel *kernels;
    uint32_t kernel_count;
    const vy_plan_buffer *buffers;
    uint32_t buffer_count;
    const vy_symbol *symbols; // SCALAR symbols are the plan's scalar parameters, in order
    uint32_t symbol_count;
    const vy_expr *exprs;
    uint32_t expr_count;
    const vy_plan_step *steps;
    uint32_t step_count;
} vy_plan;

// The largest integer whose square is at most `a`; 0 for negative ones.  Newton's method from
// above.
static inline int64_t vy_expr_isqrt(int64_t a)
{
    int64_t x = a > 0 ? a : 0, next = x / 2 + x % 2;
    while (next < x) {
        x = next;
        next = (x + a / x) / 2;
    }
    return x;
}

// Sums and products that do not overflow; in standard C, as any engine may compile this header.
static inline bool vy_expr_add(int64_t a, int64_t b, int64_t *out)
{
    if (b > 0 ? a > INT64_MAX - b : a < INT64_MIN - b) return false;
    *out = a + b;
    return true;
}

static inline bool vy_expr_subtract(int64_t a, int64_t b, int64_t *out)
{
    if (b < 0 ? a > INT64_MAX + b : a < INT64_MIN + b) return false;
    *out = a - b;
    return true;
}

static inline bool vy_expr_multiply(int64_t a, int64_t b, int64_t *out)
{
    bool fits = true;
    if (a > 0 && b > 0) fits = a <= INT64_MAX / b;
    if (a > 0 && b < 0) fits = b >= INT64_MIN / a;
    if (a < 0 && b > 0) fits = a >= INT64_MIN / b;
    if (a < 0 && b < 0) fits = b >= INT64_MAX / a;
    if (fits) *out = a * b;
    return fits;
}

// The value of a node whose operands are in `values`; false: it overflows or divides by zero.
static inline bool vy_expr_node(const vy_expr *e, const int64_t *symbols, const int64_t *values,
                                int64_t *out)
{
    if (e->op == VY_EXPR_CONST || e->op == VY_EXPR_SYMBOL) {
        *out = e->op == VY_EXPR_CONST ? e->value : symbols[e->value];
        return true;
    }
    const int64_t a = values[e->a], b = values[e->b];
    const bool divides = b != 0 && !(a == INT64_MIN && b == -1);
    switch (e->op) {
    case VY_EXPR_ADD: return vy_expr_add(a, b, out);
    case VY_EXPR_SUB: return vy_expr_subtract(a, b, out);
    case VY_EXPR_MUL: return vy_expr_multiply(a, b, out);
    case VY_EXPR_DIV: *out = divides ? a / b : 0; return divides;
    case VY_EXPR_REM: *out = divides ? a % b : 0; return divides;
    case VY_EXPR_MIN: *out = a < b ? a : b; return true;
    case VY_EXPR_MAX: *out = a > b ? a : b; return true;
    case VY_EXPR_SQRT: *out = vy_expr_isqrt(a); return true;
    default: return false;
    }
}

// Evaluates expressions 0 … count-1 into `values` (count entries), given the symbols' values.
// Returns true, or false with *bad = index of the node that overflowed or divided by zero.
// Nodes that depend on a symbol for which known[s] is false are left untouched and marked false in
// value_known (count entries); pass NULL for both to say that everything is known.
static inline bool vy_expr_eval(const vy_expr *e, uint32_t count, const int64_t *symbols,
                                const bool *known, int64_t *values, bool *value_known,
                                uint32_t *bad)
{
    for (uint32_t i = 0; i < count; i++) {
        bool ok = true, have = true;
        if (e[i].op == VY_EXPR_SYMBOL)
            have = !known || known[e[i].value];
        else if (e[i].op != VY_EXPR_CONST && value_known)
            have = value_known[e[i].a] && value_known[e[i].b];
        if (have) ok = vy_expr_node(&e[i], symbols, values, &values[i]);
        if (value_known) value_known[i] = have;
        if (!ok) {
            if (bad) *bad = i;
            return false;
        }
    }
    return true;
}

#endif
