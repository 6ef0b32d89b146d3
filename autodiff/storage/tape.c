// SPDX-License-Identifier: MIT
// tape.c: tapes: memory for values that a reverse loop needs and cannot recompute.  Here they are
// declared; tape_access.c stores and loads.
//
// The taped values of one type in one loop share a workspace buffer of the result, with one element
// per value, iteration of the loops around them, and invocation:
//
//   @workspace tape9: inout f32[3, T1, T2, N]
//
// (3 values; T1, T2 trip counts, outermost first; over(i: N)), so neighbours in a workgroup touch
// neighbouring words.  The trip counts follow from the parameters, or are bounded by them (n for
// `for j in 0..i` inside `for i in 0..n`).  Where a trip count depends on data, the innermost such
// loop has a counter that counts across its executions (counter.h): 32 consecutive invocations
// share a block of rows,
//
//   tape9: inout f32[rows1, T3, 3, 32]     rows1 = Σ over blocks of the largest count in the block
//
// and `base`, the first row of each block, is computed by programs that run before
// (counting_stages.c).
//
// A host program (ir/core/host.h) is one invocation, and each of its tensors has a tape of its own:
// tape_tensor.c.
//
// A program without `over` runs in as many workgroups as its caller chooses, so its invocations are
// one dimension, num_groups.x * num_groups.y * num_groups.z * W for workgroups of W.
#include "autodiff/facts/trip_bound.h"
#include "autodiff/storage/storage.h"
#include "autodiff/storage/tape_layout.h"
#include "ir/build/build.h"
#include "ir/core/dims.h"
#include "ir/core/flow.h"
#include "ir/core/host.h"

#include <stdio.h>
#include <string.h>

// ------------------------------------------------------------------------------------------- names
static bool has_parameter(const vy_program *p, const char *name)
{
    return vy_program_find_scalar(p, name) != UINT32_MAX || vy_program_find_buffer(p, name).id != 0;
}

const char *vy_reverse_free_name(const reverse *r, const char *name, uint32_t number,
                                 char text[VY_FREE_NAME])
{
    char digits[16] = "";
    if (number) snprintf(digits, sizeof digits, "%u", number);
    for (uint32_t tries = 0;; tries++) {
        snprintf(text, VY_FREE_NAME, tries ? "%.300s%s_%u" : "%.300s%s", name, digits, tries);
        if (vy_builder_failed(r->b) ||
            (!has_parameter(r->p, text) && !has_parameter(vy_builder_program(r->b), text)))
            return text;
    }
}

// ---------------------------------------------------------------------------------------- counters
void vy_tape_number_counters(reverse *r)
{
    for (uint32_t id = 1; id < r->p->insts.count; id++) {
        const vy_counter *c = vy_is_taped(r, id) ? vy_tape_counter(r, id) : NULL;
        if (c && !vy_tape_built(r, c)->row) vy_tape_built(r, c)->row = ++r->build.counters_used;
    }
}

// Declares `base`, and a number of rows for each counter in use.
static void declare_counters(reverse *r)
{
    const uint32_t used = r->build.counters_used;
    char text[VY_FREE_NAME];
    if (!used) return;
    // Its loops must have the trip counts of the counting program.
    vy_builder_program(r->b)->exact = true;
    vy_dim dims[2] = {vy_dim_const(r->b, used), vy_tape_blocks(r)};
    r->build.base =
        vy_param_buffer(r->b, vy_reverse_free_name(r, "base", 0, text), VY_IN, VY_U32, 2, dims).id;
    if (!r->build.base) return;
    vy_builder_program(r->b)->buffers.data[r->build.base].made = VY_MADE_BASE;
    vy_buffer_workspace(r->b, (vy_buffer){r->build.base});
    vy_value i = vy_tape_invocation(r), lanes = vy_int(r->b, VY_U32, VY_TAPE_LANES);
    vy_value block = vy_div(r->b, i, lanes);
    r->build.lane = vy_rem(r->b, i, lanes).id;
    for (uint32_t k = 0; k < r->plan.counters.count; k++) {
        built_counter *c = &r->build.counters[k];
        if (!c->row) continue;
        vy_value n = vy_param_scalar(r->b, vy_reverse_free_name(r, "rows", c->row, text), VY_U32);
        c->rows = vy_dim_value(r->b, n);
        if (!c->rows.id) return;
        vy_program *p = vy_builder_program(r->b);
        p->scalars.data[p->scalars.count - 1].rows = c->row;
        c->base = vy_load(r->b, (vy_buffer){r->build.base},
                          (vy_value[]){vy_int(r->b, VY_U32, c->row - 1), block})
                      .id;
    }
}

// ------------------------------------------------------------------------------------------ shapes
// How many of a tape's dimensions number the invocations.
static uint32_t domain_rank(const reverse *r) { return r->p->overs.count ? r->p->overs.count : 1; }

// Values that share a tape: they have one type and the same dimensions.
typedef struct tape_group {
    const vy_counter *counter; // or NULL
    vy_type type;
    uint32_t first, count; // values
    uint32_t rank;         // how many loops are dimensions, by their trip counts
    vy_dim loops[VY_MAX_RANK];
    uint32_t buffer;
} tape_group;
VY_VEC_TYPE(tape_group_vec, tape_group);

// The dimensions of the tape of `id`; false: too many.
static bool tape_loops(reverse *r, const vy_bounds *bounds, uint32_t id, tape_group *g)
{
    uint32_t loops[VY_MAX_RANK], n = 0;
    g->counter = vy_tape_counter(r, id);
    const uint32_t around = g->counter ? g->counter->loop : vy_tape_keeper(r, id);
    const uint32_t fixed = g->counter ? 3 : 1 + domain_rank(r);
    for (uint32_t l = r->facts.home[id], k = 0; l > around; l = r->facts.home[l], k++) {
        if (!vy_tape_has_axis(r, id, k)) continue;
        if (n + fixed >= VY_MAX_RANK) return false;
        loops[n++] = l;
    }
    g->rank = 0;
    if (r->p->host && !vy_tape_is_steady(r, id, vy_tape_keeper(r, id))) return false;
    while (n-- > 0) {
        g->loops[g->rank++] = vy_trip_bound(bounds, loops[n]);
        if (!g->loops[g->rank - 1].id && r->p->host) return vy_tape_no_bound(r, loops[n]);
    }
    return true;
}

// All dimensions of a tape, once the number of values that share it is known.
static uint32_t tape_shape(reverse *r, const tape_group *g, vy_dim *dims)
{
    const bool counted = g->counter != NULL;
    uint32_t rank = 0;
    if (r->p->host) return vy_tape_of_tensor(r, g->first, g->rank, g->loops, dims);
    if (counted) dims[rank++] = vy_tape_built(r, g->counter)->rows;
    if (!counted && g->count > 1) dims[rank++] = vy_dim_const(r->b, g->count);
    for (uint32_t k = 0; k < g->rank; k++) dims[rank++] = g->loops[k];
    if (counted && g->count > 1) dims[rank++] = vy_dim_const(r->b, g->count);
    if (counted) dims[rank++] = vy_dim_const(r->b, VY_TAPE_LANES);
    for (uint32_t k = 0; k < r->p->overs.count && !counted; k++)
        dims[rank++] = vy_dim_natural(r->b, r->build.dims[r->p->overs.data[k].extent.id]);
    if (!r->p->overs.count && !counted) dims[rank++] = vy_tape_all_groups(r);
    return rank;
}

static void refuse(reverse *r, uint32_t id)
{
    vy_reverse_fail(r, VY_E_LIMIT, id, "use fewer domain variables, or fewer nested loops",
                    "the reverse must tape a value in more than %u dimensions", VY_MAX_RANK);
}

static bool same_tape(const reverse *r, uint32_t x, uint32_t y)
{
    if (r->p->host) return x == y; // each tensor has its own
    return r->plan.kept[x] == r->plan.kept[y] && r->facts.home[x] == r->facts.home[y] &&
           r->build.same_in[x] == r->build.same_in[y] && vy_tape_type(r, x) == vy_tape_type(r, y);
}

// The end of the values that may share a tape with `first`: the end of its loop.
static uint32_t end_of_group(const reverse *r, uint32_t first)
{
    return r->facts.home[first] ? r->facts.s.partner[r->facts.home[first]] : r->p->insts.count;
}

static bool same_group(const vy_program *p, const tape_group *x, const tape_group *y)
{
    if (x->type != y->type || x->counter != y->counter || x->rank != y->rank) return false;
    for (uint32_t k = 0; k < x->rank; k++)
        if (!vy_equal_dims(p, x->loops[k], y->loops[k])) return false;
    return true;
}

// Puts `first` and all later values of its loop with the same type into a group; false after an
// error.
static bool add_to_group(reverse *r, const vy_bounds *bounds, uint32_t first,
                         tape_group_vec *groups)
{
    enum { LOOK_BACK = 64 }; // groups to compare with: the work stays linear
    tape_group g = {.type = vy_tape_type(r, first), .first = first};
    if (!tape_loops(r, bounds, first, &g)) {
        if (!r->failed) refuse(r, first);
        return false;
    }
    if (vy_builder_failed(r->b)) return false;
    const bool share = !r->p->host && !r->options->split_tapes;
    uint32_t at = groups->count;
    for (uint32_t k = groups->count; share && k-- > 0 && groups->count - k <= LOOK_BACK;)
        if (same_group(vy_builder_program(r->b), &groups->data[k], &g)) at = k;
    if (at == groups->count && !vy_vec_push(groups, g)) {
        vy_fail_oom(r->out);
        r->failed = true;
        return false;
    }
    const uint32_t end = r->options->split_tapes ? first + 1 : end_of_group(r, first);
    for (uint32_t id = first; id < end; id++) {
        if (!vy_is_taped(r, id) || !same_tape(r, first, id)) continue;
        r->build.tape[id] = at + 1;
        r->build.tape_slot[id] = ++groups->data[at].count;
    }
    return true;
}

// Tape `number`, from 1.  Its name counts tapes: numbers of instructions depend on what else the
// program has.
static void declare_tape(reverse *r, tape_group *g, uint32_t number)
{
    char name[96], own[VY_FREE_NAME];
    vy_dim dims[VY_MAX_RANK + 1];
    const uint32_t rank = tape_shape(r, g, dims);
    const char *hint = vy_string(&r->p->module->names, r->p->insts.data[g->first].name);
    if (g->count > 1) hint = "";
    char order[16] = "";
    if (r->out->order > 1) snprintf(order, sizeof order, "%u_", r->out->order);
    snprintf(name, sizeof name, "tape%s%u%s%.60s", order, number, *hint ? "_" : "", hint);
    vy_reverse_free_name(r, name, 0, own);
    const bool begins = r->p->host && vy_tape_begins(r, g->first, vy_tape_keeper(r, g->first));
    const vy_buffer_class cls = begins ? VY_LOCAL : VY_INOUT;
    g->buffer = r->p->host ? vy_build_buffer(r->b, own, cls, g->type, rank, dims).id
                           : vy_param_buffer(r->b, own, cls, g->type, rank, dims).id;
    if (!begins) vy_buffer_workspace(r->b, (vy_buffer){g->buffer});
    if (!g->buffer) return;
    if (begins) vy_tape_begin_with(r, g->first);
    vy_buf *tape = &vy_builder_program(r->b)->buffers.data[g->buffer];
    tape->made = VY_MADE_TAPE;
    if (!r->p->host) vy_buffer_owned(r->b, (vy_buffer){g->buffer});
}

static bool group_values(reverse *r, tape_group_vec *groups)
{
    vy_arena arena = {0};
    vy_lows lows;
    bool ok = vy_lows_make(&lows, r->p, &r->facts.s, &arena);
    if (!ok) {
        vy_fail_oom(r->out);
        r->failed = true;
    }
    const vy_bounds bounds = {
        .p = r->p, .lows = &lows, .b = r->b, .dims = r->build.dims, .hints = r->plan.hints};
    for (uint32_t id = 1; ok && id < r->p->insts.count; id++)
        if (vy_is_taped(r, id) && !r->build.tape[id]) ok = add_to_group(r, &bounds, id, groups);
    vy_arena_free(&arena);
    return ok;
}

bool vy_tape_declare(reverse *r)
{
    tape_group_vec groups = {0};
    if (r->build.purpose == BUILD_PROBE) return true;
    declare_counters(r);
    if (r->p->host) vy_tape_sizes(r);
    if (!vy_tape_axes(r)) {
        vy_fail_oom(r->out);
        r->failed = true;
        return false;
    }
    if (!r->p->overs.count && !r->p->host) r->build.number = vy_tape_invocation(r).id;
    const bool ok = group_values(r, &groups);
    for (uint32_t k = 0; ok && k < groups.count; k++) declare_tape(r, &groups.data[k], k + 1);
    for (uint32_t id = 1; ok && id < r->p->insts.count; id++) {
        if (!r->build.tape[id]) continue;
        const tape_group *g = &groups.data[r->build.tape[id] - 1];
        r->build.tape[id] = g->buffer;
        if (g->count == 1) r->build.tape_slot[id] = 0;
    }
    vy_vec_free(&groups);
    return ok && !vy_builder_failed(r->b);
}
