// SPDX-License-Identifier: MIT
// extremum_vote.c: emits the votes that extremum_shared.c describes.
#include "ir/build/edit.h"
#include "autodiff/rewrite/extremum_vote.h"

#include <math.h>
#include <string.h>

static void place_at(vy_voting *e, const vy_candidate *s) { vy_rewrite_at(&e->w, s->atomic); }

static vy_buffer local(vy_voting *e, const vy_candidate *s, const char *prefix, vy_type type)
{
    char text[320];
    const vy_buf *of = &e->w.p->buffers.data[e->w.p->insts.data[s->atomic].aux];
    vy_dim one = vy_dim_const(e->w.b, 1);
    const char *name = vy_free_name(vy_builder_program(e->w.b), prefix, of->name, text);
    return vy_local_array(e->w.b, name, type, 1, &one);
}

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

// Is the index on this axis computed inside the divergent construct, so that it has to leave it?
static bool is_inside(const vy_voting *e, const vy_candidate *s, uint32_t axis)
{
    const uint32_t a = vy_arg(e->w.p, s->atomic, axis);
    return !VY_IS_LEAF(a) && a > s->outer;
}

static void declare(vy_voting *e)
{
    for (uint32_t k = 0; k < e->sites.count; k++) {
        vy_candidate *s = &e->sites.data[k];
        uint32_t buffer = e->w.p->insts.data[s->atomic].aux;
        const vy_buf of = e->w.p->buffers.data[buffer];
        if (!e->winner[buffer].id) e->winner[buffer] = declare_winner(e, &of);
        if (!s->outer) continue;
        s->reached = local(e, s, "came", VY_U32);
        s->candidate = local(e, s, "candidate", of.type);
        for (uint32_t axis = 0; axis < of.rank; axis++)
            if (is_inside(e, s, axis))
                s->places[axis] =
                    local(e, s, "place", vy_id_type(e->w.p, vy_arg(e->w.p, s->atomic, axis)));
    }
}

static vy_value get(vy_voting *e, vy_buffer array)
{
    vy_value zero = vy_zero(e->w.b, VY_U32);
    return vy_load(e->w.b, array, &zero);
}

static void set(vy_voting *e, vy_buffer array, vy_value v)
{
    vy_value zero = vy_zero(e->w.b, VY_U32);
    vy_store(e->w.b, array, &zero, v);
}

static vy_value none_yet(vy_voting *e, const vy_candidate *s)
{
    vy_type t = e->w.p->buffers.data[e->w.p->insts.data[s->atomic].aux].type;
    bool max = e->w.p->insts.data[s->atomic].op == VY_OP_ATOMIC_MAX;
    return s->loop ? vy_float(e->w.b, t, max ? -(double)INFINITY : (double)INFINITY)
                   : vy_zero(e->w.b, t);
}

// Ahead of the divergent construct around site `s`.
static void reset(vy_voting *e, const vy_candidate *s)
{
    place_at(e, s);
    set(e, s->reached, vy_zero(e->w.b, VY_U32));
    set(e, s->candidate, none_yet(e, s));
    for (uint32_t k = 0; k < vy_candidate_rank(e, s); k++)
        if (is_inside(e, s, k))
            set(e, s->places[k],
                vy_zero(e->w.b, vy_builder_program(e->w.b)->buffers.data[s->places[k].id].type));
}

static bool is_buffer(const vy_voting *e, const vy_candidate *s)
{
    return e->w.p->buffers.data[e->w.p->insts.data[s->atomic].aux].cls != VY_SHARED;
}

// Emits the atomic, with a candidate that has no derivative; returns its old value.
static uint32_t update(vy_voting *e, const vy_candidate *s, const vy_value *index, vy_value v)
{
    const vy_inst *i = &e->w.p->insts.data[s->atomic];
    uint32_t args[VY_MAX_RANK + 1], rank = vy_candidate_rank(e, s);
    for (uint32_t k = 0; k < rank; k++) args[k] = index[k].id;
    args[rank] = vy_stop_grad(e->w.b, v).id;
    if (is_buffer(e, s)) {
        const uint32_t marked[] = {args[rank], vy_int(e->w.b, VY_U32, 0).id};
        args[rank] = vy_emit(e->w.b, VY_OP_CANDIDATE, (vy_type)i->type, 0, 2, marked);
    }
    return vy_emit(e->w.b, (vy_op)i->op, (vy_type)i->type, i->aux, rank + 1, args);
}

static void replace_atomic(vy_voting *e, vy_candidate *s)
{
    const vy_inst *i = &e->w.p->insts.data[s->atomic];
    vy_value index[VY_MAX_RANK];
    uint32_t rank = vy_candidate_rank(e, s);
    vy_value v = {vy_new_arg(&e->w, s->atomic, rank)};
    for (uint32_t k = 0; k < rank; k++) index[k].id = vy_new_arg(&e->w, s->atomic, k);
    place_at(e, s);
    if (!s->loop) e->w.map[s->atomic] = update(e, s, index, v);
    if (!s->outer) {
        for (uint32_t k = 0; k < rank; k++) s->index[k] = index[k];
        s->is_here = vy_bool(e->w.b, true);
        s->value = v;
        return;
    }
    if (s->loop) { // in a tie the later one wins
        vy_op op = i->op == VY_OP_ATOMIC_MAX ? VY_OP_MAX : VY_OP_MIN;
        uint32_t both[2] = {get(e, s->candidate).id, v.id};
        v.id = vy_emit(e->w.b, op, vy_value_type(e->w.b, v), 0, 2, both);
    }
    set(e, s->candidate, v);
    set(e, s->reached, vy_int(e->w.b, VY_U32, 1));
    for (uint32_t k = 0; k < rank; k++)
        if (is_inside(e, s, k)) set(e, s->places[k], index[k]);
}

static void take_out(vy_voting *e, vy_candidate *s)
{
    if (!s->outer) return;
    place_at(e, s);
    vy_value reached = get(e, s->reached), zero = vy_zero(e->w.b, VY_U32);
    s->is_here = vy_ne(e->w.b, reached, zero);
    s->value = get(e, s->candidate);
    for (uint32_t k = 0; k < vy_candidate_rank(e, s); k++)
        s->index[k] =
            is_inside(e, s, k) ? get(e, s->places[k]) : (vy_value){vy_new_arg(&e->w, s->atomic, k)};
    if (!s->loop) return;
    vy_if(e->w.b, s->is_here);
    update(e, s, s->index, s->value);
    vy_end(e->w.b);
}

// In a workspace, forgets earlier winners of the element.
static void forget(vy_voting *e, const vy_candidate *s)
{
    if (!is_buffer(e, s)) return;
    place_at(e, s);
    vy_if(e->w.b, s->is_here);
    vy_atomic(e->w.b, "and", e->winner[e->w.p->insts.data[s->atomic].aux], s->index,
              vy_zero(e->w.b, VY_U32));
    vy_end(e->w.b);
}

// Its number among all candidates of the array at this point, from 1: invocations first.
static vy_value number(vy_voting *e, const vy_candidate *s)
{
    uint32_t buffer = e->w.p->insts.data[s->atomic].aux;
    vy_value lane = vy_builtin_value(e->w.b, VY_LINDEX, 0);
    vy_value first = vy_mul(e->w.b, lane, vy_int(e->w.b, VY_U32, e->counts[buffer]));
    return vy_add(e->w.b, first, vy_int(e->w.b, VY_U32, s->number + 1));
}

static void vote(vy_voting *e, const vy_candidate *s)
{
    uint32_t buffer = e->w.p->insts.data[s->atomic].aux;
    vy_builder *b = e->w.b;
    place_at(e, s);
    vy_if(b, s->is_here);
    vy_value own = vy_stop_grad(b, s->value);
    vy_value final = vy_stop_grad(b, vy_load(b, (vy_buffer){buffer}, s->index));
    // In statements of their own: the C compiler chooses the order of evaluation in expressions.
    vy_value nan_own = vy_ne(b, own, own), nan_final = vy_ne(b, final, final);
    vy_value both_nan = vy_and(b, nan_own, nan_final), equal = vy_eq(b, own, final);
    vy_if(b, vy_or(b, equal, both_nan));
    vy_atomic(b, "max", e->winner[buffer], s->index, number(e, s));
    vy_end(b);
    vy_end(b);
}

static void store_winner(vy_voting *e, const vy_candidate *s)
{
    uint32_t buffer = e->w.p->insts.data[s->atomic].aux;
    vy_builder *b = e->w.b;
    place_at(e, s);
    vy_if(b, s->is_here);
    vy_value won = vy_load(b, e->winner[buffer], s->index);
    vy_if(b, vy_eq(b, won, number(e, s)));
    uint32_t pair[2] = {vy_load(b, (vy_buffer){buffer}, s->index).id, s->value.id};
    vy_value v = {vy_emit(b, VY_OP_STRAIGHT_THROUGH, vy_value_type(b, s->value), 0, 2, pair)};
    vy_store(b, (vy_buffer){buffer}, s->index, v);
    vy_end(b);
    vy_end(b);
}

// Casts the votes of the sites whose phase, or region, ends ahead of instruction `point`.
static void cast_votes(vy_voting *e, uint32_t point)
{
    vy_candidate *sites = e->sites.data;
    uint32_t first = e->first_at[point];
    if (!first) return;
    vy_scope(e->w.b);
    for (uint32_t k = first; k; k = sites[k - 1].next)
        e->counts[e->w.p->insts.data[sites[k - 1].atomic].aux] = 0;
    for (uint32_t k = first; k; k = sites[k - 1].next) {
        uint32_t buffer = e->w.p->insts.data[sites[k - 1].atomic].aux;
        take_out(e, &sites[k - 1]);
        sites[k - 1].number = e->counts[buffer]++;
        forget(e, &sites[k - 1]);
        if (!sites[k - 1].number && !is_buffer(e, &sites[k - 1]))
            vy_emit(e->w.b, VY_OP_ZERO, VY_VOID, e->winner[buffer].id, 0, NULL);
    }
    vy_barrier(e->w.b);
    for (uint32_t k = first; k; k = sites[k - 1].next) vote(e, &sites[k - 1]);
    vy_barrier(e->w.b);
    for (uint32_t k = first; k; k = sites[k - 1].next) store_winner(e, &sites[k - 1]);
    vy_barrier(e->w.b);
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
        if (s->outer) reset(e, s);
    }
    if (e->own[id]) replace_own(e, id);
    if (e->of[id]) replace_atomic(e, &e->sites.data[e->of[id] - 1]);
    return e->own[id] || e->of[id] ? id : 0;
}

void vy_voting_rewrite(vy_voting *e)
{
    uint32_t n = e->w.p->insts.count;
    if (!vy_rewrite_open(&e->w)) return;
    declare(e);
    vy_rewrite_range(&e->w, 1, n, insert_votes, e);
    if (!vy_rewrite_stopped(&e->w)) cast_votes(e, n);
}
