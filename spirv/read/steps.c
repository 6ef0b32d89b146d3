// SPDX-License-Identifier: MIT
// steps.c: loops that count in steps of a scalar, whose host gives a positive one.
//
//   for (int k = first; k < n; k += step) …      →      assume(1 <= step)
//   for (int k = n; k > 0; k -= int(step)) …     →      … and assume(step <= 2147483647)
//
// With a step of 0 the loop would not end, with a negative one it would run to where the addition
// overflows: the shader means neither.  So the program assumes that the step is positive, which its
// launch checks (docs/language.md 3.2), and the loop is a counted one (count_loops.c).  Assumed is
// what alone stops a loop from counting; nothing of steps that are computed, nor of scalars that
// are compared somewhere, as in `if (step > 0) for …`: those may be 0 on purpose.
#include "ir/build/edit.h"
#include "ir/pass/pass.h"
#include "ir/pass/scalar/find_counter.h"
#include "spirv/read/reading.h"

static bool compares(vy_op op)
{
    return op == VY_OP_LT || op == VY_OP_LE || op == VY_OP_EQ || op == VY_OP_NE;
}

enum { ASSUMED = 1, COMPARED, WIDE }; // by leaf; WIDE: of which both is assumed

static void note_compared(const vy_rewrite *w, uint8_t *of)
{
    const vy_program *p = w->p;
    for (uint32_t id = 1; id < p->insts.count; id++)
        for (uint32_t k = 0; k < 2 && compares((vy_op)p->insts.data[id].op); k++) {
            const uint32_t operand = vy_counting_plain(w, vy_arg(p, id, k));
            if (VY_IS_LEAF(operand)) of[VY_LEAF_INDEX(operand)] = COMPARED;
        }
}

static void note_steps(const vy_rewrite *w, uint8_t *of, bool *any)
{
    const vy_program *p = w->p;
    for (uint32_t id = 1; id < p->insts.count; id++) {
        vy_counting_loop c = {0};
        if (p->insts.data[id].op != VY_OP_WHILE || !vy_find_counter(w, id, &c) || !c.unsure ||
            of[VY_LEAF_INDEX(c.unsure)] == COMPARED)
            continue;
        if (of[VY_LEAF_INDEX(c.unsure)] != WIDE)
            of[VY_LEAF_INDEX(c.unsure)] = c.wide ? WIDE : ASSUMED;
        *any = true;
    }
}

static void assume_steps(vy_rewrite *w, const uint8_t *of)
{
    if (!vy_rewrite_open(w)) return;
    for (uint32_t k = 0; k < w->p->leaves.count; k++) {
        if (of[k] != ASSUMED && of[k] != WIDE) continue;
        const uint32_t scalar = w->p->leaves.data[k].index;
        const bool word = vy_type_size(w->p->scalars.data[scalar].type) == 4;
        const vy_dim least = vy_dim_const(w->b, 1), step = vy_dim_own_scalar(w->b, scalar);
        const vy_dim most = vy_dim_const(w->b, word ? INT32_MAX : INT64_MAX);
        vy_assume(w->b, least, step);
        if (of[k] == WIDE) vy_assume(w->b, step, most);
    }
    vy_rewrite_range(w, 1, w->p->insts.count, NULL, NULL);
}

bool read_steps(vy_program *p)
{
    if (!(vy_constructs(p) & VY_LOOPS) || !p->scalars.count) return true;
    vy_rewrite w = {0};
    bool any = false, changed = false;
    uint8_t *of = vy_rewrite_begin(&w, p) ? vy_rewrite_table(&w, p->leaves.count) : NULL;
    if (of) note_compared(&w, of);
    if (of) note_steps(&w, of, &any);
    if (any) assume_steps(&w, of);
    return vy_rewrite_end(&w, of != NULL, &changed);
}
