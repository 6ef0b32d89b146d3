// SPDX-License-Identifier: MIT
// unseen.c: keeps drivers from guessing how often a loop runs.
//
//   for k in rev(min(n, 1)..9)        while k > min(n, 1)         Mesa 22.3: eight turns, whatever n is
//
// Mesa asks of each exit that compares a counter whether the other side has a constant bound, and
// writes out as many turns.  Up to 22.3 it takes the constant of any minimum for one, also where
// the counter runs down to it (try_find_limit_of_alu of nir_loop_analyze.c), and minima come from
// clamps and conditions, too.  So nothing that was computed is compared with a counter as it is: a
// zero is added that no optimiser knows to be one, and answers that end a loop differ from a
// `false` of that kind.  Bounds that are constants, parameters, or places of the invocation are
// what they are: most loops cost nothing, the others an addition each time they are entered, and a
// WHILE or a `break` an operation on booleans each turn.
//
// The zero is the highest bit of the workgroup's number, which is below 2³¹, and the same in all
// lanes.
#include "spirv/emit/emit.h"

static uint32_t make_zero(vy_fn *f)
{
    if (f->unseen_zero) return f->unseen_zero;
    const uint32_t group = vy_group_x(f);
    vy_words *out = f->out;
    f->out = &f->prologue;
    f->unseen_zero =
        VY_DO(f, SpvOpShiftRightLogical, vy_spv_type(f->m, VY_U32), group, vy_spv_u32(f->m, 31));
    f->unseen_false =
        VY_DO(f, SpvOpINotEqual, vy_bool_type(f), f->unseen_zero, vy_spv_u32(f->m, 0));
    f->out = out;
    return f->unseen_zero;
}

uint32_t vy_unseen_bound(vy_fn *f, vy_type type, uint32_t bound)
{
    if (f->library) return bound; // its loops are ours, and see no workgroup
    const uint32_t zero = vy_cast_id(f, type, VY_U32, make_zero(f));
    return VY_DO(f, SpvOpIAdd, vy_spv_type(f->m, type), bound, zero);
}

uint32_t vy_unseen_answer(vy_fn *f, uint32_t answer)
{
    if (f->library) return answer;
    make_zero(f);
    return VY_DO(f, SpvOpLogicalNotEqual, vy_bool_type(f), answer, f->unseen_false);
}
