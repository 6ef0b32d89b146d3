// SPDX-License-Identifier: MIT
// extremum_candidate.c: takes candidates for extrema out of the divergent construct around them, to
// where the workgroup votes (extremum_shared.c).
//
//   for k in lindex..n {                    local candidate: f32[4] = −∞; local came: u32[4] = 0;
//       atomic_max(t[k % 4], e(k));         for k in lindex..n {
//   }                                   →       candidate[k % 4] = max(candidate[k % 4], e(k));
//                                               came[k % 4] = 1;
//                                           }
//                                           for c in 0..4 {
//                                               if came[c] != 0 { atomic_max(t[c], candidate[c]); }
//                                           }
//
// The arrays have one element where the index is the same in all iterations, and become values.
#include "autodiff/rewrite/extremum_vote.h"
#include "ir/build/edit.h"

#include <math.h>
#include <string.h>

static void place_at(vy_voting *e, const vy_candidate *s) { vy_rewrite_at(&e->w, s->atomic); }

// ------------------------------------------------------------------------------------- the arrays
static vy_buffer declare_local(vy_voting *e, const vy_candidate *s, const char *name, vy_type type,
                               uint32_t axes)
{
    const vy_buf *of = vy_candidate_buf(e, s);
    vy_dim dims[VY_MAX_RANK];
    uint32_t rank = 0;
    for (uint32_t k = 0; k < of->rank; k++)
        if (axes >> k & 1) dims[rank++] = of->dims[k];
    if (!rank) dims[rank++] = vy_dim_const(e->w.b, 1);
    return vy_local_array(e->w.b, name, type, rank, dims);
}

// A row of elements for each invocation of the workgroup, which owns them.
static vy_buffer declare_rows(vy_voting *e, const vy_candidate *s, const char *name, vy_type type)
{
    const vy_buf *of = vy_candidate_buf(e, s);
    vy_dim dims[VY_MAX_RANK];
    uint32_t shape[3];
    vy_program_workgroup(e->w.p, shape);
    dims[0] = vy_dim_const(e->w.b, (int64_t)shape[0] * shape[1] * shape[2]);
    memcpy(dims + 1, of->dims, of->rank * sizeof *dims);
    const vy_buffer made = vy_param_buffer(e->w.b, name, VY_INOUT, type, of->rank + 1, dims);
    vy_buffer_workspace(e->w.b, made);
    return made;
}

static vy_buffer declare_candidate(vy_voting *e, const vy_candidate *s, const char *prefix,
                                   vy_type type, uint32_t axes)
{
    char text[320];
    const char *name =
        vy_free_name(vy_builder_program(e->w.b), prefix, vy_candidate_buf(e, s)->name, text);
    return s->wide && axes ? declare_rows(e, s, name, type) : declare_local(e, s, name, type, axes);
}

static bool has_place(const vy_voting *e, const vy_candidate *s, uint32_t axis)
{
    return vy_candidate_inside(e, s, axis) && !(s->spanned >> axis & 1);
}

static void declare_places(vy_voting *e, vy_candidate *s)
{
    for (uint32_t k = 0; k < vy_candidate_rank(e, s); k++)
        if (has_place(e, s, k))
            s->places[k] = declare_candidate(e, s, "place",
                                             vy_id_type(e->w.p, vy_arg(e->w.p, s->atomic, k)), 0);
}

void vy_candidate_declare(vy_voting *e)
{
    for (uint32_t k = 0; k < e->sites.count; k++) {
        vy_candidate *s = &e->sites.data[k];
        const vy_candidate *l = &e->sites.data[s->leader];
        if (!s->outer) continue;
        const vy_type type = (vy_type)vy_candidate_buf(e, s)->type;
        s->reached = l == s ? declare_candidate(e, s, "came", VY_U32, s->spanned) : l->reached;
        s->candidate =
            l == s ? declare_candidate(e, s, "candidate", type, s->spanned) : l->candidate;
        if (l == s) declare_places(e, s);
        if (l != s) s->places = l->places;
    }
}

// The element of the arrays for index[] of the memory: writes its indices.
static void element(vy_voting *e, const vy_candidate *s, const vy_value *index, vy_value *out)
{
    uint32_t n = 0;
    if (s->wide) *out++ = vy_builtin_value(e->w.b, VY_LINDEX, 0);
    for (uint32_t k = 0; k < vy_candidate_rank(e, s); k++)
        if (s->wide || s->spanned >> k & 1) out[n++] = index[k];
    if (!n) out[0] = vy_zero(e->w.b, VY_U32);
}

static vy_value get(vy_voting *e, const vy_candidate *s, vy_buffer array, const vy_value *index)
{
    vy_value at[VY_MAX_RANK + 1];
    element(e, s, index, at);
    return vy_load(e->w.b, array, at);
}

static void set(vy_voting *e, const vy_candidate *s, vy_buffer array, const vy_value *index,
                vy_value v)
{
    vy_value at[VY_MAX_RANK + 1];
    element(e, s, index, at);
    vy_store(e->w.b, array, at, v);
}

static vy_value get_place(vy_voting *e, vy_buffer place)
{
    vy_value zero = vy_zero(e->w.b, VY_U32);
    return vy_load(e->w.b, place, &zero);
}

static void set_place(vy_voting *e, vy_buffer place, vy_value v)
{
    vy_value zero = vy_zero(e->w.b, VY_U32);
    vy_store(e->w.b, place, &zero, v);
}

// ---------------------------------------------------------------------------------- each element
// A workgroup beyond the memory has no row in the workspace.
static void open_guard(vy_voting *e, const vy_candidate *s)
{
    const uint32_t buffer = vy_candidate_inst(e, s)->aux;
    vy_value all = vy_bool(e->w.b, true);
    for (uint32_t k = 0; k < vy_candidate_rank(e, s); k++) {
        if (s->spanned >> k & 1) continue;
        vy_value extent = {vy_extent_leaf(e->w.b, buffer, k)};
        all = vy_and_in_range(e->w.b, all, s->index[k], extent);
    }
    vy_if(e->w.b, all);
}

static void open_loops(vy_voting *e, vy_candidate *s)
{
    const uint32_t buffer = vy_candidate_inst(e, s)->aux;
    if (s->wide) open_guard(e, s);
    for (uint32_t k = 0; k < vy_candidate_rank(e, s); k++) {
        if (!(s->spanned >> k & 1)) continue;
        vy_value extent = {vy_extent_leaf(e->w.b, buffer, k)};
        s->index[k] = vy_for(e->w.b, "element", vy_zero(e->w.b, VY_U32), extent);
    }
}

static void close_loops(vy_voting *e, const vy_candidate *s)
{
    for (uint32_t axes = s->spanned; axes; axes &= axes - 1) vy_end(e->w.b);
    if (s->wide) vy_end(e->w.b);
}

static void read_arrays(vy_voting *e, vy_candidate *s)
{
    vy_value reached = get(e, s, s->reached, s->index), zero = vy_zero(e->w.b, VY_U32);
    s->is_here = vy_ne(e->w.b, reached, zero);
    s->value = get(e, s, s->candidate, s->index);
}

void vy_candidate_each(vy_voting *e, vy_candidate *s, vy_candidate_do *f)
{
    place_at(e, s);
    open_loops(e, s);
    if (s->spanned) read_arrays(e, s);
    f(e, s);
    close_loops(e, s);
}

// Its index on an axis where that is the same wherever it is needed.
static vy_value fixed_index(vy_voting *e, const vy_candidate *s, uint32_t k)
{
    const uint32_t group = vy_candidate_group(e, s, k);
    if (group) return vy_builtin_value(e->w.b, VY_WID, group - 1);
    return (vy_value){vy_new_arg(&e->w, s->atomic, k)};
}

// ------------------------------------------------------------------------------- ahead of it
static vy_value none_yet(vy_voting *e, const vy_candidate *s)
{
    const vy_type t = (vy_type)vy_candidate_buf(e, s)->type;
    const bool max = vy_candidate_inst(e, s)->op == VY_OP_ATOMIC_MAX;
    return s->loop ? vy_float(e->w.b, t, max ? -(double)INFINITY : (double)INFINITY)
                   : vy_zero(e->w.b, t);
}

void vy_candidate_reset(vy_voting *e, vy_candidate *s)
{
    place_at(e, s);
    for (uint32_t k = 0; k < vy_candidate_rank(e, s); k++) {
        if (has_place(e, s, k))
            set_place(e, s->places[k],
                      vy_zero(e->w.b, vy_id_type(e->w.p, vy_arg(e->w.p, s->atomic, k))));
        else if (!(s->spanned >> k & 1))
            s->index[k] = fixed_index(e, s, k);
    }
    open_loops(e, s);
    set(e, s, s->reached, s->index, vy_zero(e->w.b, VY_U32));
    set(e, s, s->candidate, s->index, none_yet(e, s));
    close_loops(e, s);
}

// --------------------------------------------------------------------------------- in its place
static bool is_buffer(const vy_voting *e, const vy_candidate *s)
{
    return vy_candidate_buf(e, s)->cls != VY_SHARED;
}

// Emits the atomic, with a candidate that has no derivative; returns its old value.
static uint32_t update(vy_voting *e, const vy_candidate *s, const vy_value *index, vy_value v)
{
    const vy_inst *i = vy_candidate_inst(e, s);
    uint32_t args[VY_MAX_RANK + 1], rank = vy_candidate_rank(e, s);
    for (uint32_t k = 0; k < rank; k++) args[k] = index[k].id;
    args[rank] = vy_stop_grad(e->w.b, v).id;
    if (is_buffer(e, s)) {
        const uint32_t marked[] = {args[rank], vy_int(e->w.b, VY_U32, 0).id};
        args[rank] = vy_emit(e->w.b, VY_OP_CANDIDATE, (vy_type)i->type, 0, 2, marked);
    }
    return vy_emit(e->w.b, (vy_op)i->op, (vy_type)i->type, i->aux, rank + 1, args);
}

// In a tie the later one wins.
static vy_value with_earlier(vy_voting *e, const vy_candidate *s, const vy_value *index, vy_value v)
{
    const bool max = vy_candidate_inst(e, s)->op == VY_OP_ATOMIC_MAX;
    const uint32_t both[] = {get(e, s, s->candidate, index).id, v.id};
    const vy_op op = max ? VY_OP_MAX : VY_OP_MIN;
    return (vy_value){vy_emit(e->w.b, op, vy_value_type(e->w.b, v), 0, 2, both)};
}

static void keep_candidate(vy_voting *e, vy_candidate *s, const vy_value *index, vy_value v)
{
    if (s->loop) v = with_earlier(e, s, index, v);
    set(e, s, s->candidate, index, v);
    set(e, s, s->reached, index, vy_int(e->w.b, VY_U32, 1));
    for (uint32_t k = 0; k < vy_candidate_rank(e, s); k++)
        if (has_place(e, s, k)) set_place(e, s->places[k], index[k]);
}

void vy_candidate_replace(vy_voting *e, vy_candidate *s)
{
    vy_value index[VY_MAX_RANK];
    const uint32_t rank = vy_candidate_rank(e, s);
    const vy_value v = {vy_new_arg(&e->w, s->atomic, rank)};
    for (uint32_t k = 0; k < rank; k++) index[k].id = vy_new_arg(&e->w, s->atomic, k);
    place_at(e, s);
    if (s->in_place) e->w.map[s->atomic] = update(e, s, index, v);
    if (s->outer) {
        keep_candidate(e, s, index, v);
        return;
    }
    memcpy(s->index, index, rank * sizeof *index);
    s->is_here = vy_bool(e->w.b, true);
    s->value = v;
}

// ------------------------------------------------------------------------------------- behind it
static void update_here(vy_voting *e, vy_candidate *s)
{
    vy_if(e->w.b, s->is_here);
    update(e, s, s->index, s->value);
    vy_end(e->w.b);
}

void vy_candidate_take_out(vy_voting *e, vy_candidate *s)
{
    if (!s->outer) return;
    place_at(e, s);
    for (uint32_t k = 0; k < vy_candidate_rank(e, s); k++)
        if (!(s->spanned >> k & 1))
            s->index[k] = has_place(e, s, k) ? get_place(e, s->places[k]) : fixed_index(e, s, k);
    if (!s->spanned) read_arrays(e, s);
    if (!s->in_place) vy_candidate_each(e, s, update_here);
}
