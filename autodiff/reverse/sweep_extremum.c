// SPDX-License-Identifier: MIT
// sweep_extremum.c: atomic_min and atomic_max in the programs of a derivative (see extremum.c).
//
//   atomic_max(B[i], v)
//
//   f_final    atomic_max(final_B[i], v)
//   f_winner   if v == final_B[i] { atomic_max(winner_B[i], me) }
//   f_last     if v == final_B[i] && winner_B[i] == me { last_B[i] = event }
//   reverse    if winner_B[i] == me && last_B[i] == event { v̄ += B̄[i];  B̄[i] = 0 }
//
// me is the invocation's number, from 1.  NaN counts as equal to NaN.  The adjoint of B's initial
// contents is the B̄ that no winner has taken.  If B is not an input, its adjoint is only read.
// Only the winner touches last_B[i] and clears B̄[i], so there is no race.
//
// f_final and f_winner compute v separately and must get the same bits: both are @exact
// (docs/autodiff.md).
#include "autodiff/reverse/sweeps.h"
#include "autodiff/storage/storage.h"

#include <string.h>

static uint32_t rank_of(const reverse *r, uint32_t id)
{
    return r->p->buffers.data[r->p->insts.data[id].aux].rank;
}

// ------------------------------------------------------------------------------------ declarations
void vy_extremum_guard(reverse *r, uint32_t winner)
{
    if (!winner || r->p->overs.count == 1 || vy_builder_failed(r->b)) return;
    vy_buf *b = &vy_builder_program(r->b)->buffers.data[winner];
    vy_dim all = vy_tape_invocations(r), most = vy_dim_const(r->b, UINT32_MAX - 1);
    vy_dim spare = vy_dim_binary(r->b, VY_DIM_SUB, most, all);
    spare = vy_dim_binary(r->b, VY_DIM_MIN, spare, vy_dim_const(r->b, 0));
    vy_dim sign = vy_dim_binary(r->b, VY_DIM_MUL, spare, vy_dim_const(r->b, 2));
    sign = vy_dim_binary(r->b, VY_DIM_ADD, sign, vy_dim_const(r->b, 1));
    vy_dim guarded = vy_dim_binary(r->b, VY_DIM_MUL, b->dims[0], sign);
    b = &vy_builder_program(r->b)->buffers.data[winner]; // dimensions may have moved it
    b->dims[0] = guarded;
}

static uint32_t declare_numbers(reverse *r, const char *prefix, uint32_t buffer, vy_made made)
{
    uint32_t b = vy_reverse_workspace(r, prefix, buffer, VY_INIT_NONE, NULL);
    if (!b || vy_builder_failed(r->b)) return 0;
    vy_builder_program(r->b)->buffers.data[b].type = VY_U32;
    vy_builder_program(r->b)->buffers.data[b].made = made;
    return b;
}

// Makes a buffer a parameter that the stages share: `made` here for later programs, else read-only.
static void share_with_stages(reverse *r, uint32_t buffer, bool made)
{
    if (!buffer || vy_builder_failed(r->b)) return;
    if (vy_is_finding(r->build.purpose) && !vy_share_workspace(vy_builder_program(r->b), buffer))
        return;
    vy_buf *b = &vy_builder_program(r->b)->buffers.data[buffer];
    if (!made) b->cls = VY_IN;
    if (!made) b->init = VY_INIT_NONE, b->init_from = NULL;
}

void vy_extremum_declare(reverse *r, uint32_t buffer)
{
    const buffer_facts *facts = &r->facts.buffers[buffer];
    built_buffer *info = &r->build.buffers[buffer];
    const vy_buf *b = &r->p->buffers.data[buffer];
    bool given = b->cls == VY_INOUT && !b->workspace;
    vy_init init = given ? VY_INIT_COPY : b->init;
    const char *from = given ? b->name : b->init_from;
    bool numbers = r->build.purpose != BUILD_FIND_FINAL;
    if (!facts->extremum || r->build.purpose == BUILD_COUNT) return;
    if (vy_is_finding(r->build.purpose))
        info->final = vy_reverse_workspace(r, "final", buffer, init, from);
    if (numbers) info->winner = declare_numbers(r, "winner", buffer, VY_MADE_WINNER);
    vy_extremum_guard(r, info->winner);
    if (numbers && facts->events && r->build.purpose != BUILD_FIND_WINNER)
        info->last = declare_numbers(r, "last", buffer, VY_MADE_LAST);
    vy_reverse_link(r, info->final, LINK_FINAL, buffer);
    vy_reverse_link(r, info->winner, LINK_WINNER, buffer);
    vy_reverse_link(r, info->last, LINK_LAST, buffer);
    share_with_stages(r, info->final, r->build.purpose == BUILD_FIND_FINAL);
    share_with_stages(r, info->winner, r->build.purpose == BUILD_FIND_WINNER);
    share_with_stages(r, info->last, r->build.purpose == BUILD_FIND_LAST);
}

// ---------------------------------------------------------------------------------- forward sweeps
vy_value vy_extremum_me(reverse *r)
{
    vy_value number = vy_tape_invocation(r);
    return vy_add(r->b, number, vy_int(r->b, VY_U32, 1));
}

static vy_value load(reverse *r, uint32_t buffer, const uint32_t *index)
{
    const vy_buf *b = &vy_builder_program(r->b)->buffers.data[buffer];
    return (vy_value){vy_emit(r->b, VY_OP_LOAD, b->type, buffer, b->rank, index)};
}

static vy_value is_mine(reverse *r, uint32_t winner, const uint32_t *index)
{
    vy_value who = load(r, winner, index);
    return vy_eq(r->b, who, vy_extremum_me(r));
}

static vy_value equals_final(reverse *r, uint32_t final, const uint32_t *args, uint32_t rank)
{
    vy_value v = {args[rank]}, f = load(r, final, args);
    // One after the other, so that the code does not depend on the C compiler.
    vy_value nan_f = vy_ne(r->b, f, f), nan_v = vy_ne(r->b, v, v);
    vy_value nans = vy_and(r->b, nan_v, nan_f);
    return vy_or(r->b, vy_eq(r->b, v, f), nans);
}

void vy_extremum_replay(reverse *r, uint32_t id, bool performs)
{
    const vy_inst *i = &r->p->insts.data[id];
    const built_buffer *info = &r->build.buffers[i->aux];
    uint32_t args[VY_MAX_RANK + 1], rank = rank_of(r, id);
    uint32_t target = r->build.purpose == BUILD_FIND_FINAL ? info->final : info->copy;
    for (uint32_t k = 0; k < i->nargs; k++) args[k] = vy_primal(r, vy_arg(r->p, id, k));
    // In a workspace nothing reads the elements that it changes.
    performs = performs && !vy_builder_program(r->b)->buffers.data[info->copy].workspace;
    if (r->build.purpose == BUILD_FIND_FINAL || (performs && !vy_is_finding(r->build.purpose))) {
        r->build.map[id] = vy_emit(r->b, (vy_op)i->op, (vy_type)i->type, target, rank + 1, args);
        return;
    }
    // Its old value is not available: if it is needed, grad.c refuses the program.
    if (i->type != VY_VOID)
        r->build.map[id] =
            vy_leaf_other(r->b, VY_LEAF_POISON, (vy_type)i->type, id, r->build.replaying);
    if (!vy_is_finding(r->build.purpose)) return;
    vy_value ties = equals_final(r, info->final, args, rank);
    if (r->build.purpose == BUILD_FIND_WINNER) {
        vy_begin_if(r->b, ties.id);
        args[rank] = vy_extremum_me(r).id;
        vy_emit(r->b, VY_OP_ATOMIC_MAX, VY_U32, info->winner, rank + 1, args);
    } else {
        if (!info->last) return;
        vy_value mine = is_mine(r, info->winner, args);
        vy_begin_if(r->b, vy_and(r->b, ties, mine).id);
        args[rank] = vy_primal(r, vy_candidate_number(r->p, id));
        vy_emit(r->b, VY_OP_STORE, VY_VOID, info->last, rank + 1, args);
    }
    vy_begin_else(r->b, 0, NULL);
    vy_end_if(r->b, 0, NULL, NULL);
}

// ------------------------------------------------------------------------------------- the reverse
void vy_extremum_reverse(reverse *r, uint32_t id)
{
    const vy_inst *i = &r->p->insts.data[id];
    const built_buffer *info = &r->build.buffers[i->aux];
    uint32_t args[VY_MAX_RANK + 1], rank = rank_of(r, id), value = vy_arg(r->p, id, rank), g;
    bool clears = info->kind == ADJ_MEMORY;
    if (info->kind == ADJ_ZERO || info->kind == ADJ_NONE) return;
    if (!clears && !vy_is_active(&r->facts, value)) return;
    vy_type type = clears ? vy_builder_program(r->b)->buffers.data[info->adjoint].type
                          : r->p->buffers.data[i->aux].type;
    for (uint32_t k = 0; k < rank; k++) args[k] = vy_primal(r, vy_arg(r->p, id, k));
    vy_value zero = vy_zero(r->b, type);
    vy_value won = is_mine(r, info->winner, args);
    uint32_t number = vy_candidate_number(r->p, id);
    if (number) {
        vy_value event = {vy_primal(r, number)};
        won = vy_and(r->b, won, vy_eq(r->b, load(r, info->last, args), event));
    }
    if (clears) {
        vy_begin_if(r->b, won.id);
        g = load(r, info->adjoint, args).id;
        args[rank] = zero.id;
        vy_emit(r->b, VY_OP_STORE, VY_VOID, info->adjoint, rank + 1, args);
        vy_begin_else(r->b, 1, &g);
        vy_end_if(r->b, 1, &zero.id, &g);
    } else {
        vy_value one = vy_float(r->b, type, 1);
        g = vy_select(r->b, won, info->kind == ADJ_ONES ? one : load(r, info->adjoint, args), zero)
                .id;
    }
    vy_contribute(r, value, g, won.id);
}
