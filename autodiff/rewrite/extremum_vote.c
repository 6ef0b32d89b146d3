// SPDX-License-Identifier: MIT
// extremum_vote.c: emits the votes that extremum_shared.c describes.
#include "ir/build/edit.h"
#include "autodiff/rewrite/extremum_vote.h"

#include <string.h>

// Numbers by element: where the workgroup has the element, or in a workspace.
static vy_buffer declare_winner(vy_voting *e, const vy_buf *of)
{
    char text[320];
    const char *name = vy_free_name(vy_builder_program(e->w.b), "winner", of->name, text);
    if (of->cls == VY_SHARED) return vy_shared_array(e->w.b, name, VY_U32, of->rank, of->dims);
    vy_dim dims[VY_MAX_RANK];
    memcpy(dims, of->dims, of->rank * sizeof *dims);
    if (e->w.p->dims.data[dims[0].id].op == VY_DIM_UNKNOWN)
        dims[0] = vy_dim_binary(e->w.b, VY_DIM_MAX, dims[0], vy_dim_const(e->w.b, 0));
    const vy_buffer made = vy_param_buffer(e->w.b, name, VY_INOUT, VY_U32, of->rank, dims);
    vy_buffer_workspace(e->w.b, made);
    return made;
}

static void declare_winners(vy_voting *e)
{
    for (uint32_t k = 0; k < e->sites.count; k++) {
        const uint32_t buffer = vy_candidate_inst(e, &e->sites.data[k])->aux;
        const vy_buf of = e->w.p->buffers.data[buffer];
        if (!e->winner[buffer].id) e->winner[buffer] = declare_winner(e, &of);
    }
}

static bool is_buffer(const vy_voting *e, const vy_candidate *s)
{
    return vy_candidate_buf(e, s)->cls != VY_SHARED;
}

// In a workspace, forgets earlier winners of the element.
static void forget(vy_voting *e, vy_candidate *s)
{
    vy_if(e->w.b, s->is_here);
    vy_atomic(e->w.b, "and", e->winner[e->w.p->insts.data[s->atomic].aux], s->index,
              vy_zero(e->w.b, VY_U32));
    vy_end(e->w.b);
}

// Its number among all candidates of the array at this point, from 1: invocations first.
static vy_value candidate_ordinal(vy_voting *e, const vy_candidate *s)
{
    uint32_t buffer = e->w.p->insts.data[s->atomic].aux;
    vy_value lane = vy_builtin_value(e->w.b, VY_LINDEX, 0);
    vy_value first = vy_mul(e->w.b, lane, vy_int(e->w.b, VY_U32, e->counts[buffer]));
    return vy_add(e->w.b, first, vy_int(e->w.b, VY_U32, s->number + 1));
}

static void vote(vy_voting *e, vy_candidate *s)
{
    uint32_t buffer = e->w.p->insts.data[s->atomic].aux;
    vy_builder *b = e->w.b;
    vy_if(b, s->is_here);
    vy_value own = vy_stop_grad(b, s->value);
    vy_value final = vy_stop_grad(b, vy_load(b, (vy_buffer){buffer}, s->index));
    // In statements of their own: the C compiler chooses the order of evaluation in expressions.
    vy_value nan_own = vy_ne(b, own, own), nan_final = vy_ne(b, final, final);
    vy_value both_nan = vy_and(b, nan_own, nan_final), equal = vy_eq(b, own, final);
    vy_if(b, vy_or(b, equal, both_nan));
    vy_atomic(b, "max", e->winner[buffer], s->index, candidate_ordinal(e, s));
    vy_end(b);
    vy_end(b);
}

static void store_winner(vy_voting *e, vy_candidate *s)
{
    uint32_t buffer = e->w.p->insts.data[s->atomic].aux;
    vy_builder *b = e->w.b;
    vy_if(b, s->is_here);
    vy_value won = vy_load(b, e->winner[buffer], s->index);
    vy_if(b, vy_eq(b, won, candidate_ordinal(e, s)));
    uint32_t pair[2] = {vy_load(b, (vy_buffer){buffer}, s->index).id, s->value.id};
    vy_value v = {vy_emit(b, VY_OP_STRAIGHT_THROUGH, vy_value_type(b, s->value), 0, 2, pair)};
    vy_store(b, (vy_buffer){buffer}, s->index, v);
    vy_end(b);
    vy_end(b);
}

// Ahead of the votes: numbers the candidates, clears what they are counted in.
static void prepare_votes(vy_voting *e, uint32_t first)
{
    vy_candidate *sites = e->sites.data;
    for (uint32_t k = first; k; k = sites[k - 1].next)
        e->counts[vy_candidate_inst(e, &sites[k - 1])->aux] = 0;
    for (uint32_t k = first; k; k = sites[k - 1].next) {
        vy_candidate *s = &sites[k - 1];
        const uint32_t buffer = vy_candidate_inst(e, s)->aux;
        vy_candidate_take_out(e, s);
        s->number = e->counts[buffer]++;
        if (is_buffer(e, s))
            vy_candidate_each(e, s, forget);
        else if (!s->number)
            vy_emit(e->w.b, VY_OP_ZERO, VY_VOID, e->winner[buffer].id, 0, NULL);
    }
}

static void each_site(vy_voting *e, uint32_t first, vy_candidate_do *f)
{
    for (uint32_t k = first; k; k = e->sites.data[k - 1].next)
        vy_candidate_each(e, &e->sites.data[k - 1], f);
    vy_barrier(e->w.b);
}

// Casts the votes of the sites whose phase, or region, ends ahead of instruction `point`.
static void cast_votes(vy_voting *e, uint32_t point)
{
    const uint32_t first = e->first_at[point];
    if (!first) return;
    vy_scope(e->w.b);
    prepare_votes(e, first);
    vy_barrier(e->w.b);
    each_site(e, first, vote);
    each_site(e, first, store_winner);
    vy_end(e->w.b);
}

// One invocation's own: a load, an operation and a store.
static void replace_own(vy_voting *e, uint32_t id)
{
    const vy_inst *i = &e->w.p->insts.data[id];
    uint32_t args[VY_MAX_RANK + 1];
    vy_rewrite_at(&e->w, id);
    vy_new_args(&e->w, id, i->nargs, args);
    e->w.map[id] = vy_emit_update(e->w.b, (vy_op)i->op, VY_STRENGTH_PLAIN, i->aux, i->nargs, args);
}

static uint32_t insert_votes(void *pass, uint32_t id)
{
    vy_voting *e = pass;
    cast_votes(e, id);
    for (; e->opened < e->sites.count; e->opened++) {
        const vy_candidate *s = &e->sites.data[e->opened];
        if ((s->outer ? s->outer : s->atomic) > id) break;
        if (s->outer && vy_candidate_leads(e, s)) vy_candidate_reset(e, &e->sites.data[e->opened]);
    }
    if (e->own[id]) replace_own(e, id);
    if (e->of[id]) vy_candidate_replace(e, &e->sites.data[e->of[id] - 1]);
    return e->own[id] || e->of[id] ? id : 0;
}

void vy_voting_rewrite(vy_voting *e)
{
    uint32_t n = e->w.p->insts.count;
    if (!vy_rewrite_open(&e->w)) return;
    declare_winners(e);
    vy_candidate_declare(e);
    vy_rewrite_range(&e->w, 1, n, insert_votes, e);
    if (!vy_rewrite_stopped(&e->w)) cast_votes(e, n);
}
