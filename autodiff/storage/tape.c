// SPDX-License-Identifier: MIT
// tape.c: tapes: memory for values that a reverse loop needs and cannot recompute.
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
#include "autodiff/core/counter.h"
#include "autodiff/core/reverse.h"
#include "autodiff/facts/trip_bound.h"
#include "autodiff/storage/storage.h"
#include "ir/build/build.h"
#include "ir/core/dims.h"
#include "ir/core/flow.h"
#include "ir/core/host.h"

#include <stdio.h>
#include <string.h>

// The CHECKPOINT whose replay tapes `id`; 0: the forward sweep does.
static uint32_t keeper_of(const reverse *r, uint32_t id) { return r->plan.kept[id] - 1; }

// ---------------------------------------------------------------------------------------- counters
// The counter of the innermost unbounded loop around `id`, inside the scope that tapes it; or NULL.
static const vy_counter *counter_of(const reverse *r, uint32_t id)
{
    for (uint32_t l = r->facts.home[id]; l > keeper_of(r, id); l = r->facts.home[l]) {
        uint32_t k = r->plan.counter[l];
        if (!k) continue;
        for (; r->plan.counters.data[k - 1].context != keeper_of(r, id); k++) continue;
        return &r->plan.counters.data[k - 1]; // a loop has one for each context around it
    }
    return NULL;
}

// An extent clamped to be non-negative, as the launch does.
static vy_dim natural(reverse *r, vy_dim e)
{
    const vy_dim_node *d = &vy_builder_program(r->b)->dims.data[e.id];
    bool is = d->op == VY_DIM_SCALAR ? !vy_type_is_signed(r->p->scalars.data[d->value].type)
                                     : d->op == VY_DIM_CONST && d->value >= 0;
    return is ? e : vy_dim_binary(r->b, VY_DIM_MAX, e, vy_dim_const(r->b, 0));
}

// num_groups.x * num_groups.y * num_groups.z * W of a program without a domain
static vy_dim all_groups(reverse *r)
{
    const uint32_t *w = r->p->workgroup;
    vy_dim n = vy_dim_groups(r->b, 0);
    for (uint32_t axis = 1; axis < 3; axis++)
        n = vy_dim_binary(r->b, VY_DIM_MUL, n, vy_dim_groups(r->b, axis));
    int64_t lanes = (int64_t)w[0] * w[1] * w[2];
    return lanes == 1 ? n : vy_dim_binary(r->b, VY_DIM_MUL, n, vy_dim_const(r->b, lanes));
}

vy_dim vy_tape_invocations(reverse *r)
{
    if (!r->p->overs.count) return all_groups(r);
    vy_dim n = vy_dim_const(r->b, 1);
    for (uint32_t k = 0; !vy_builder_failed(r->b) && k < r->p->overs.count; k++) {
        vy_dim e = natural(r, vy_builder_program(r->b)->overs.data[k].extent);
        n = k ? vy_dim_binary(r->b, VY_DIM_MUL, n, e) : e;
    }
    return n;
}

vy_dim vy_tape_blocks(reverse *r)
{
    vy_dim rest = vy_dim_const(r->b, VY_TAPE_LANES - 1);
    vy_dim n = vy_dim_binary(r->b, VY_DIM_ADD, vy_tape_invocations(r), rest);
    return vy_dim_binary(r->b, VY_DIM_DIV, n, vy_dim_const(r->b, VY_TAPE_LANES));
}

// ((wid.z * num_groups.y + wid.y) * num_groups.x + wid.x) * W + lindex
static vy_value number_in_groups(reverse *r)
{
    const uint32_t *w = r->p->workgroup;
    vy_value n = vy_builtin_value(r->b, VY_WID, 2);
    for (uint32_t axis = 2; axis-- > 0;) {
        const vy_value group = vy_builtin_value(r->b, VY_WID, axis);
        n = vy_add(r->b, vy_mul(r->b, n, vy_builtin_value(r->b, VY_NUM_GROUPS, axis)), group);
    }
    const vy_value local = vy_builtin_value(r->b, VY_LINDEX, 0);
    return vy_add(r->b, vy_mul(r->b, n, vy_int(r->b, VY_U32, (int64_t)w[0] * w[1] * w[2])), local);
}

vy_value vy_tape_invocation(reverse *r)
{
    if (!r->p->overs.count) return number_in_groups(r);
    vy_value n = {0};
    for (uint32_t k = 0; k < r->p->overs.count; k++) {
        vy_value i = {vy_leaf_other(r->b, VY_LEAF_OVER, VY_U32, k, 0)};
        vy_dim d = vy_builder_program(r->b)->overs.data[k].extent;
        n = k ? vy_add(r->b, vy_mul(r->b, n, vy_dim_number(r->b, d)), i) : i;
    }
    return n;
}

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

static built_counter *built(const reverse *r, const vy_counter *c)
{
    return &r->build.counters[c - r->plan.counters.data];
}

void vy_tape_number_counters(reverse *r)
{
    for (uint32_t id = 1; id < r->p->insts.count; id++) {
        const vy_counter *c = vy_is_taped(r, id) ? counter_of(r, id) : NULL;
        if (c && !built(r, c)->row) built(r, c)->row = ++r->build.counters_used;
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
    g->counter = counter_of(r, id);
    const uint32_t around = g->counter ? g->counter->loop : keeper_of(r, id);
    const uint32_t fixed = g->counter ? 3 : 1 + domain_rank(r);
    for (uint32_t l = r->facts.home[id], k = 0; l > around; l = r->facts.home[l], k++) {
        if (!vy_tape_has_axis(r, id, k)) continue;
        if (n + fixed >= VY_MAX_RANK) return false;
        loops[n++] = l;
    }
    g->rank = 0;
    if (r->p->host && !vy_tape_is_steady(r, id, keeper_of(r, id))) return false;
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
    if (counted) dims[rank++] = built(r, g->counter)->rows;
    if (!counted && g->count > 1) dims[rank++] = vy_dim_const(r->b, g->count);
    for (uint32_t k = 0; k < g->rank; k++) dims[rank++] = g->loops[k];
    if (counted && g->count > 1) dims[rank++] = vy_dim_const(r->b, g->count);
    if (counted) dims[rank++] = vy_dim_const(r->b, VY_TAPE_LANES);
    for (uint32_t k = 0; k < r->p->overs.count && !counted; k++)
        dims[rank++] = r->build.dims[r->p->overs.data[k].extent.id];
    if (!r->p->overs.count && !counted) dims[rank++] = all_groups(r);
    return rank;
}

static void refuse(reverse *r, uint32_t id)
{
    vy_reverse_fail(r, VY_E_LIMIT, id, "use fewer domain variables, or fewer nested loops",
                    "the reverse must tape a value in more than %u dimensions", VY_MAX_RANK);
}

static vy_type kept_type(const reverse *r, uint32_t id)
{
    const undo_log *log = vy_undo_log_of(r, id);
    vy_type type = log ? vy_undo_type(r, log) : (vy_type)r->p->insts.data[id].type;
    return type == VY_BOOL || type == VY_VOID ? VY_U32 : type; // VOID: the trip count of an ENDLOOP
}

static bool same_tape(const reverse *r, uint32_t x, uint32_t y)
{
    if (r->p->host) return x == y; // each tensor has its own
    return r->plan.kept[x] == r->plan.kept[y] && r->facts.home[x] == r->facts.home[y] &&
           r->build.same_in[x] == r->build.same_in[y] && kept_type(r, x) == kept_type(r, y);
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
    tape_group g = {.type = kept_type(r, first), .first = first};
    if (!tape_loops(r, bounds, first, &g)) {
        if (!r->failed) refuse(r, first);
        return false;
    }
    if (vy_builder_failed(r->b)) return false;
    uint32_t at = groups->count;
    for (uint32_t k = groups->count; !r->p->host && k-- > 0 && groups->count - k <= LOOK_BACK;)
        if (same_group(vy_builder_program(r->b), &groups->data[k], &g)) at = k;
    if (at == groups->count && !vy_vec_push(groups, g)) {
        vy_fail_oom(r->out);
        r->failed = true;
        return false;
    }
    for (uint32_t id = first; id < end_of_group(r, first); id++) {
        if (!vy_is_taped(r, id) || !same_tape(r, first, id)) continue;
        r->build.tape[id] = at + 1;
        r->build.tape_slot[id] = ++groups->data[at].count;
    }
    return true;
}

// Tape `number`, from 1.  Its name counts tapes: numbers of instructions depend on what else the
// program has.
static void declare(reverse *r, tape_group *g, uint32_t number)
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
    const bool begins = r->p->host && vy_tape_begins(r, g->first, keeper_of(r, g->first));
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
    for (uint32_t k = 0; ok && k < groups.count; k++) declare(r, &groups.data[k], k + 1);
    for (uint32_t id = 1; ok && id < r->p->insts.count; id++) {
        if (!r->build.tape[id]) continue;
        const tape_group *g = &groups.data[r->build.tape[id] - 1];
        r->build.tape[id] = g->buffer;
        if (g->count == 1) r->build.tape_slot[id] = 0;
    }
    vy_vec_free(&groups);
    return ok && !vy_builder_failed(r->b);
}

// The number of the current iteration of a counted loop.
static uint32_t iteration_of(reverse *r, uint32_t loop)
{
    vy_type u = vy_iteration_type((vy_type)r->p->insts.data[loop].type);
    vy_value k = {r->build.map[loop]}, from = {vy_primal(r, vy_arg(r->p, loop, 0))};
    vy_value step = {vy_primal(r, vy_arg(r->p, loop, 2))};
    return vy_iteration_number(r->b, u, k, from, step).id;
}

// The index of the element for the current iteration and invocation; returns the rank.
static uint32_t tape_index(reverse *r, uint32_t id, uint32_t *index)
{
    const vy_counter *c = counter_of(r, id);
    const uint32_t around = c ? c->loop : keeper_of(r, id);
    uint32_t loops[VY_MAX_RANK], n = 0, rank = 0;
    uint32_t slot =
        r->build.tape_slot[id] ? vy_int(r->b, VY_U32, r->build.tape_slot[id] - 1).id : 0;
    for (uint32_t l = r->facts.home[id], k = 0; l > around; l = r->facts.home[l], k++)
        if (vy_tape_has_axis(r, id, k)) loops[n++] = l;
    if (c)
        index[rank++] =
            vy_add(r->b, (vy_value){built(r, c)->base}, (vy_value){r->build.map[c->at]}).id;
    if (slot && !c) index[rank++] = slot;
    while (n-- > 0) index[rank++] = iteration_of(r, loops[n]);
    if (slot && c) index[rank++] = slot;
    if (c) index[rank++] = r->build.lane;
    for (uint32_t k = 0; k < r->p->overs.count && !c; k++)
        index[rank++] = vy_leaf_other(r->b, VY_LEAF_OVER, VY_U32, k, 0);
    if (!r->p->overs.count && !c && !r->p->host) index[rank++] = r->build.number;
    if (r->p->host && !vy_tensor_rank(r, id)) index[rank++] = vy_int(r->b, VY_I64, 0).id;
    return rank;
}

void vy_tape_locate(reverse *r, uint32_t id)
{
    uint32_t index[VY_MAX_RANK + 1];
    if (vy_is_taped(r, id) && r->build.purpose == BUILD_REVERSE) tape_index(r, id, index);
}

// Are these the first iterations of the loops that alone record the value?  An id, or 0: always.
static uint32_t records(reverse *r, uint32_t id)
{
    vy_value all = {0};
    const vy_counter *c = counter_of(r, id);
    const uint32_t around = c ? c->loop : keeper_of(r, id);
    for (uint32_t l = r->facts.home[id], k = 0; l > around; l = r->facts.home[l], k++) {
        if (!vy_tape_waits(r, id, k)) continue;
        const uint32_t from = vy_primal(r, vy_arg(r->p, l, 0));
        const vy_value now = vy_eq(r->b, (vy_value){r->build.map[l]}, (vy_value){from});
        all = all.id ? vy_and(r->b, all, now) : now;
    }
    return all.id;
}

void vy_tape_record(reverse *r, uint32_t id)
{
    if (!vy_is_taped(r, id) || keeper_of(r, id) != r->build.replaying ||
        r->build.purpose != BUILD_REVERSE)
        return;
    // The last evaluation of a condition belongs to no iteration: its values are taped after the
    // TEST.
    if (r->build.untested && r->facts.home[id] == r->build.untested) return;
    const uint32_t when = records(r, id);
    if (when) vy_if(r->b, (vy_value){when});
    uint32_t args[VY_MAX_RANK + 2], rank = tape_index(r, id, args), value = r->build.map[id];
    if (r->p->insts.data[id].type == VY_BOOL) value = vy_cast(r->b, VY_U32, (vy_value){value}).id;
    args[rank] = value;
    vy_emit(r->b, VY_OP_STORE, VY_VOID, r->build.tape[id], rank + 1, args);
    if (when) vy_end(r->b);
}

uint32_t vy_tape_load(reverse *r, uint32_t id)
{
    uint32_t root = r->build.replaying;
    if (!r->plan.kept[id] || !root || !vy_encloses(&r->facts, keeper_of(r, id), root)) return 0;
    // A replayed loop evaluates its condition once more than it has iterations.
    if (r->build.untested && r->facts.home[id] == r->build.untested) return 0;
    if (r->plan.stands[id]) return vy_standing_load(r, id);
    uint32_t args[VY_MAX_RANK + 1], rank = tape_index(r, id, args);
    vy_type type = (vy_type)r->p->insts.data[id].type, kept = kept_type(r, id);
    uint32_t value = vy_emit(r->b, VY_OP_LOAD, kept, r->build.tape[id], rank, args);
    return type == VY_BOOL ? vy_cast(r->b, VY_BOOL, (vy_value){value}).id : value;
}

bool vy_tape_used(reverse *r, const vy_program *p, uint8_t *used)
{
    // By buffer: the start of its values in `values`, in the order of their slots.
    uint32_t n = r->p->insts.count, buffers = p->buffers.count;
    uint32_t *first = vy_realloc(NULL, (buffers + 1 + n) * sizeof *first), *values;
    if (!first) {
        vy_fail_oom(r->out);
        r->failed = true;
        return false;
    }
    values = first + buffers + 1;
    memset(first, 0, (buffers + 1) * sizeof *first);
    for (uint32_t id = 1; id < n; id++)
        if (vy_is_taped(r, id)) first[r->build.tape[id] + 1]++;
    for (uint32_t b = 0; b < buffers; b++) first[b + 1] += first[b];
    for (uint32_t id = 1; id < n; id++)
        if (vy_is_taped(r, id))
            values[first[r->build.tape[id]] +
                   (r->build.tape_slot[id] ? r->build.tape_slot[id] - 1 : 0)] = id;
    for (uint32_t id = 1; id < n; id++) used[id] = r->plan.stands[id] != 0;
    for (uint32_t id = 1; id < p->insts.count; id++) {
        const vy_inst *i = &p->insts.data[id];
        uint32_t count = i->op == VY_OP_LOAD ? first[i->aux + 1] - first[i->aux] : 0, slot = 0;
        if (count > 1) {
            bool counted = counter_of(r, values[first[i->aux]]) != NULL;
            slot = (uint32_t)vy_id_const(p, vy_arg(p, id, counted ? i->nargs - 2 : 0))->u;
        }
        if (count) used[values[first[i->aux] + slot]] = 1;
    }
    vy_free(first);
    return true;
}
