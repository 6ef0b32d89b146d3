// SPDX-License-Identifier: MIT
// mesa_loops.c: keeps Mesa from guessing trip counts.
//
// **From bounds** (the quirk guessed_bounds).
//
//   for k in rev(min(n, 1)..9)     while k > min(n, 1)     Mesa 22.3: eight iterations, whatever n
//
// For each exit that compares a counter, Mesa looks for a constant bound of the other side, and
// unrolls the loop by it.  Up to 22.3 it takes the constant operand of any minimum for one, even
// where the counter runs down to it (try_find_limit_of_alu of nir_loop_analyze.c), and minima come
// from clamps and conditions, too.  So a computed bound is never compared with a counter directly:
// a zero is added to it that no optimiser recognises, and the conditions that end a loop are
// compared with a `false` of that kind.  Bounds that are constants, parameters or ids of the
// invocation are left alone: most loops cost nothing, the others an addition each time they are
// entered, and a WHILE or a `break` a boolean operation per iteration.
//
// The zero is the highest bit of the workgroup's number, which is below 2³¹, and the same in all
// lanes.
//
// **From lengths** (guessed_lengths).  Mesa also takes the length of an array that is indexed by
// the counter for a bound, and peels as many iterations in front of the loop (nir_opt_loop_unroll,
// "partial unroll").  In Mesa 22.3 the iterations of a loop that is tested at its end then compute
// other values; a loop tested first is correct.
#include "spirv/target/target.h"

uint32_t vy_mesa_zero(vy_fn *f)
{
    if (f->target.zero) return f->target.zero;
    const uint32_t group = vy_group_x(f);
    vy_words *out = f->out;
    f->out = &f->prologue;
    f->target.zero =
        VY_DO(f, SpvOpShiftRightLogical, vy_spv_type(f->m, VY_U32), group, vy_spv_u32(f->m, 31));
    f->target.no = VY_DO(f, SpvOpINotEqual, vy_bool_type(f), f->target.zero, vy_spv_u32(f->m, 0));
    f->out = out;
    return f->target.zero;
}

uint32_t vy_mesa_bound(vy_fn *f, vy_type type, uint32_t bound)
{
    if (f->library) return bound; // its loops are safe, and it has no workgroup number
    const uint32_t zero = vy_cast_id(f, type, VY_U32, vy_mesa_zero(f));
    return VY_DO(f, SpvOpIAdd, vy_spv_type(f->m, type), bound, zero);
}

uint32_t vy_mesa_answer(vy_fn *f, uint32_t answer)
{
    if (f->library) return answer;
    vy_mesa_zero(f);
    return VY_DO(f, SpvOpLogicalNotEqual, vy_bool_type(f), answer, f->target.no);
}

// By instruction: accesses to local and shared arrays up to it.
static const uint32_t *count_accesses(vy_fn *f)
{
    const vy_program *p = f->p;
    if (f->target.arrays) return f->target.arrays;
    uint32_t *n = vy_realloc(NULL, (p->insts.count + 1) * sizeof *n);
    if (!n) {
        f->m->oom = true;
        return NULL;
    }
    n[0] = 0;
    for (uint32_t i = 1; i < p->insts.count; i++) {
        const vy_inst *in = &p->insts.data[i];
        const bool memory = vy_op_is_memory((vy_op)in->op);
        n[i] = n[i - 1] + (memory && !vy_is_global(p->buffers.data[in->aux].cls));
    }
    return f->target.arrays = n;
}

bool vy_mesa_test_first(vy_fn *f, uint32_t i)
{
    bool known = !(f->p->insts.data[i].flags & VY_FLAG_EXIT);
    for (uint32_t k = 0; k < 3; k++) known = known && vy_id_const(f->p, vy_arg(f->p, i, k));
    if (known) return false;
    const uint32_t *n = count_accesses(f);
    return n && n[f->facts->partner[i]] > n[i];
}
