// SPDX-License-Identifier: MIT
// cost.h: how many operations a program does, as formulas in its sizes.
#ifndef VYRE_COST_H
#define VYRE_COST_H

#include "ir/vyre.h"

#ifdef __cplusplus
extern "C" {
#endif

// A number of things: `5 + 12*K`.
typedef struct vy_amount {
    // A formula in the integer parameters, `invocations` for programs without `over`, `len(x)` for
    // buffers sized `?`, `num_groups.x`, and `iterations(k@12)`: the trip count of the loop `k` at
    // line 12, where the parameters do not determine it (`iterations(@12)`: a `while`, or another
    // loop without a variable).  `*` and `^` are product and power, `/` is exact; `floor isqrt max
    // min %` appear where dimensions or bounds have them.  It assumes that no loop ends before its
    // start.
    const char *text;
    bool known;     // value: every size in the formula is known
    bool atmost;    // value is an upper bound, as an iteration count or a condition is not known
    uint64_t value; // rounded to an integer; exact below 2^53
} vy_amount;

typedef enum vy_cost_class {
    VY_COST_ADD,    // float + and −; half of an fma
    VY_COST_MUL,    // float ×; the other half
    VY_COST_DIV,    // float ÷
    VY_COST_MATH,   // float functions: exp, sqrt, pow, …
    VY_COST_LOAD,   // of an element of a buffer parameter or workspace
    VY_COST_STORE,  // the same
    VY_COST_ATOMIC, // the same, on any memory; one on an element that its invocation owns counts as
                    // a load, an addition and a store
    VY_COST_COUNT
} vy_cost_class;
VY_API const char *vy_cost_class_name(vy_cost_class c); // "add", …

// What is known about one launch.  NULL and 0: nothing.
typedef struct vy_sizes {
    const int64_t *scalars; // values of the integer scalars, by index …
    const bool *known;      // … and which of them are
    // Elements of buffers sized `?`, by vy_buffer.id; UINT64_MAX: not known.
    const uint64_t *lengths;
    uint64_t invocations; // of a program without `over`
    uint32_t groups[3];   // the same: what num_groups is
} vy_sizes;

// Static counts: both arms of an `if` count, guarded accesses count as performed; integer work and
// comparisons do not count.
typedef struct vy_cost {
    vy_amount each[VY_COST_COUNT];   // per invocation; may name domain variables
    vy_amount all[VY_COST_COUNT];    // per dispatch
    vy_amount each_flops, all_flops; // add + mul + div + math
    vy_amount invocations;
    bool conditional; // there is an `if`, or a loop that may exit early: counts are upper bounds
    void *memory;
} vy_cost;

// NULL: memory is out.  vy_cost_free takes NULL.
VY_API vy_cost *vy_program_cost(const vy_program *p, const vy_sizes *sizes);
VY_API void vy_cost_free(vy_cost *c);

#ifdef __cplusplus
}
#endif
#endif
