// SPDX-License-Identifier: MIT
// lane_loads.c: what all lanes of a subgroup would load in eight iterations, eight lanes load at
// once.
//
//   for j in 0..N {                     for first in 0..N step 8 {
//       … x[j] …                            let all = x[min(first + lane, N - 1)];
//   }                            →          for k in 0..min(8, N - first) {
//                                               … subgroup_broadcast(all, k) …
//                                           }
//                                       }
//
// On a CPU driver a load is one by one for each lane, also where all of them load the same element:
// eight loads and what puts them together.  Eight iterations need as many of them as one did, and
// what a lane has loaded is given to the others by one instruction.  A GPU loads such elements
// once.  Measured on lavapipe: docs/performance.md.
//
// Which loops.  Innermost counted ones without exit, which the entire workgroup runs together
// (subgroup_broadcast wants that).  Which loads.  Of `in` buffers, in each iteration, at an index
// that is the same for all invocations of a row of the workgroup, a subgroup being a part of one;
// it is made of the counter and of what does not change in the loop, so that another lane can
// compute it for its own iteration.  Every such iteration exists, so the load was made before, too,
// and proofs that it is in range hold.
//
// A lane that serves others has to exist: whole_domain.c.  Right where subgroups have at least the
// lanes that options->subgroup_size says, in the order of rows.
//
// Runs only where a session knows the device to be of that kind (options->lanes) and the sizes of
// the launch; not where loops are strip-mined because their iterations are counted: these loops
// have more.
#include "ir/pass/target/lane_loads.h"
#include "ir/check/uniform.h"
#include "ir/core/access.h"

enum {
    LEAST_TRIPS = 16,
    MOST_LOADS = 64, // of a loop: each takes a register until the loop ends
};
static const double most_waste = 1.125; // invocations beyond the end of the domain

typedef struct lane_loads {
    vy_rewrite w;
    const vy_opt_options *options;
    const uint32_t *differs; // in the workgroup
    const uint32_t *along;   // in a row of it
    uint8_t *chosen;         // by instruction: a loop with such loads
    uint8_t *shared;         // by instruction: such a load
    uint8_t *index;          // by instruction: part of an index of one
    uint8_t *computable;     // by instruction of a loop: what indices may be made of
    uint32_t *lanes;         // by load: what the lanes have loaded
    uint32_t count;
    vy_value row, k; // while a body is built: the row's first lane, and which lane of the row has
                     // this iteration's elements
} lane_loads;

// --------------------------------------------------------------------------------------- choosing
static bool runs_long_enough(const lane_loads *x, uint32_t loop)
{
    const vy_scalar *from = vy_id_const(x->w.p, vy_arg(x->w.p, loop, 0));
    const vy_scalar *to = vy_id_const(x->w.p, vy_arg(x->w.p, loop, 1));
    const vy_scalar *step = vy_id_const(x->w.p, vy_arg(x->w.p, loop, 2));
    if (!step) return false;
    return !from || !to || to->u - from->u >= LEAST_TRIPS * step->u;
}

static bool loop_suits(const lane_loads *x, uint32_t loop)
{
    const vy_program *p = x->w.p;
    const vy_type t = (vy_type)p->insts.data[loop].type;
    if (p->insts.data[loop].op != VY_OP_LOOP || vy_type_size(t) != 4 || vy_exits(p, loop))
        return false;
    for (uint32_t at = loop; at; at = x->w.s.parent[at])
        if (x->differs[at]) return false;
    for (uint32_t id = loop + 1; id < x->w.s.partner[loop]; id++)
        if (vy_is_loop((vy_op)p->insts.data[id].op)) return false;
    return runs_long_enough(x, loop);
}

// Marks the values of the loop that a lane can compute for another iteration.
static void find_computable(lane_loads *x, uint32_t loop)
{
    const vy_program *p = x->w.p;
    x->computable[loop] = 1;
    for (uint32_t id = loop + 1; id < x->w.s.partner[loop]; id++) {
        const vy_inst *i = &p->insts.data[id];
        bool ok = vy_op_infos[i->op].effect == VY_PURE;
        for (uint32_t k = 0; ok && k < i->nargs; k++) {
            const uint32_t a = vy_arg(p, id, k);
            ok = VY_IS_LEAF(a) || a < loop || x->computable[a];
        }
        x->computable[id] = ok;
    }
}

static bool is_word(vy_type t) { return t == VY_F32 || t == VY_U32 || t == VY_I32; }

static bool load_suits(const lane_loads *x, uint32_t loop, uint32_t id)
{
    const vy_program *p = x->w.p;
    const vy_inst *i = &p->insts.data[id];
    const vy_buf *b = &p->buffers.data[i->aux];
    if (b->cls != VY_IN || !is_word(b->type) || x->w.s.parent[id] != loop) return false;
    for (uint32_t k = 0; k < b->rank; k++) {
        const uint32_t a = vy_arg(p, id, k);
        if (VY_IS_LEAF(a) ? vy_leaf_along(p, a, 0) : x->along[a] != 0) return false;
        if (!VY_IS_LEAF(a) && a > loop && !x->computable[a]) return false;
    }
    return true;
}

// From the last one: what an index is made of comes before it.
static void mark_indices(lane_loads *x, uint32_t loop)
{
    const vy_program *p = x->w.p;
    for (uint32_t id = x->w.s.partner[loop] - 1; id > loop; id--)
        for (uint32_t k = 0; (x->shared[id] || x->index[id]) && k < p->insts.data[id].nargs; k++) {
            const uint32_t a = vy_arg(p, id, k);
            if (!VY_IS_LEAF(a) && a > loop) x->index[a] = 1;
        }
}

static void choose_loop(lane_loads *x, uint32_t loop)
{
    uint32_t loads = 0, others = 0;
    find_computable(x, loop);
    for (uint32_t id = loop + 1; id < x->w.s.partner[loop]; id++) {
        const vy_inst *i = &x->w.p->insts.data[id];
        if (i->op != VY_OP_LOAD || x->w.p->buffers.data[i->aux].cls == VY_LOCAL) continue;
        x->shared[id] = loads < MOST_LOADS && load_suits(x, loop, id);
        loads += x->shared[id];
        others += !x->shared[id];
    }
    if (!loads || loads < others) {
        for (uint32_t id = loop + 1; id < x->w.s.partner[loop]; id++) x->shared[id] = 0;
        return;
    }
    mark_indices(x, loop);
    x->chosen[loop] = 1;
    x->count++;
}

static bool prepare_lanes(lane_loads *x)
{
    const vy_program *p = x->w.p;
    uint8_t **tables[] = {&x->chosen, &x->shared, &x->index, &x->computable};
    for (size_t k = 0; k < sizeof tables / sizeof *tables; k++)
        *tables[k] = vy_rewrite_bytes(&x->w);
    x->lanes = vy_rewrite_ids(&x->w);
    uint8_t *sources = vy_rewrite_table(&x->w, p->buffers.count);
    if (x->w.oom) return false;
    for (uint32_t i = 1; i < p->buffers.count; i++) sources[i] = p->buffers.data[i].cls != VY_IN;
    x->differs = vy_differences(p, &x->w.s, NULL, &x->w.arena);
    x->along = vy_differences_along(p, &x->w.s, 0, sources, &x->w.arena);
    return x->differs && x->along;
}

static void choose_loops(lane_loads *x)
{
    for (uint32_t id = 1; id < x->w.p->insts.count; id++)
        if (loop_suits(x, id)) choose_loop(x, id);
}

// ------------------------------------------------------------------------------------ rebuilding
// The counter in iteration t of n.
static vy_value counter_of(lane_loads *x, uint32_t loop, vy_value t, vy_value n)
{
    const vy_inst *i = &x->w.p->insts.data[loop];
    vy_builder *b = x->w.b;
    if (i->flags & VY_FLAG_REVERSE) t = vy_sub(b, vy_sub(b, n, vy_int(b, VY_U32, 1)), t);
    const vy_value step = vy_cast(b, VY_U32, (vy_value){vy_new_arg(&x->w, loop, 2)});
    const vy_value from = vy_cast(b, VY_U32, (vy_value){vy_new_arg(&x->w, loop, 0)});
    return vy_cast(b, (vy_type)i->type, vy_add(b, from, vy_mul(b, t, step)));
}

// Each lane loads what its own iteration, of those that begin with `first`, will want.
static void load_all(lane_loads *x, uint32_t loop, vy_value first, vy_value n)
{
    vy_builder *b = x->w.b;
    const vy_value lane = vy_builtin_value(b, VY_LANE, 0);
    const vy_value own = vy_rem(b, lane, vy_int(b, VY_U32, x->options->subgroup_size));
    const vy_value last = vy_sub(b, vy_sub(b, n, vy_int(b, VY_U32, 1)), first);
    const vy_value t = vy_add(b, first, vy_min(b, own, last));
    x->row = vy_sub(b, lane, own);
    x->w.map[loop] = counter_of(x, loop, t, n).id;
    for (uint32_t id = loop + 1; id < x->w.s.partner[loop] && !vy_rewrite_stopped(&x->w); id++) {
        if (x->shared[id] || x->index[id]) vy_rewrite_copy(&x->w, id);
        if (x->shared[id]) x->lanes[id] = x->w.map[id];
    }
}

// Do all rows of the workgroup load the same?
static bool is_of_group(const lane_loads *x, uint32_t id)
{
    const vy_program *p = x->w.p;
    for (uint32_t k = 0; k < vy_rank_of(p, id); k++) {
        const uint32_t a = vy_arg(p, id, k);
        if (VY_IS_LEAF(a) ? vy_leaf_differs(p, a) : x->differs[a] != 0) return false;
    }
    return true;
}

static uint32_t instead_of_load(void *pass, uint32_t id)
{
    lane_loads *x = pass;
    if (!x->shared[id]) return 0;
    vy_rewrite_at(&x->w, id);
    const vy_value all = {x->lanes[id]};
    const vy_value v = is_of_group(x, id)
                           ? vy_subgroup_lane(x->w.b, "broadcast", all, x->k)
                           : vy_subgroup_lane(x->w.b, "shuffle", all, vy_add(x->w.b, x->row, x->k));
    vy_rewrite_as(&x->w, id, v.id);
    return id;
}

// The iterations whose elements the lanes have loaded.  in: carried values; out: after them.
static void emit_iterations(lane_loads *x, uint32_t loop, vy_value first, vy_value n,
                            const uint32_t *in, uint32_t *out)
{
    const vy_program *p = x->w.p;
    vy_builder *b = x->w.b;
    const uint32_t slots = vy_slot_count(p, &x->w.s, loop), end = x->w.s.partner[loop];
    const uint32_t zero = vy_int(b, VY_U32, 0).id, one = vy_int(b, VY_U32, 1).id;
    const vy_value left = vy_sub(b, n, first), all = vy_int(b, VY_U32, x->options->subgroup_size);
    uint32_t *values = vy_rewrite_table(&x->w, (slots + 1) * sizeof *values);
    if (!values) return;
    x->k.id = vy_begin_loop(b, VY_U32, 0, zero, vy_min(b, left, all).id, one, slots, in, values);
    vy_rewrite_slots(&x->w, loop, slots, values);
    vy_rewrite_as(&x->w, loop, counter_of(x, loop, vy_add(b, first, x->k), n).id);
    vy_rewrite_range(&x->w, loop + 1 + slots, end, instead_of_load, x);
    if (vy_rewrite_stopped(&x->w)) return;
    for (uint32_t s = 0; s < slots; s++) values[s] = vy_new_arg(&x->w, end, s);
    vy_end_loop(b, 0, slots, values, out);
}

static void split(lane_loads *x, uint32_t loop)
{
    const vy_program *p = x->w.p;
    vy_builder *b = x->w.b;
    const uint32_t slots = vy_slot_count(p, &x->w.s, loop), end = x->w.s.partner[loop];
    uint32_t *values = vy_rewrite_table(&x->w, 2 * ((size_t)slots + 1) * sizeof *values);
    if (!values) return;
    uint32_t *carries = values + slots + 1;
    vy_rewrite_at(&x->w, loop);
    for (uint32_t s = 0; s < slots; s++)
        values[s] = vy_new_arg(&x->w, loop, vy_init_arg(p, loop) + s);
    const vy_value zero = vy_zero(b, VY_U32), trips = vy_new_trips(&x->w, loop);
    const vy_value n = vy_select(b, vy_new_runs(&x->w, loop), trips, zero);
    const vy_value many = vy_int(b, VY_U32, x->options->subgroup_size);
    const vy_value first = {
        vy_begin_loop(b, VY_U32, 0, zero.id, n.id, many.id, slots, values, carries)};
    load_all(x, loop, first, n);
    emit_iterations(x, loop, first, n, carries, values);
    if (vy_rewrite_stopped(&x->w)) return;
    vy_end_loop(b, 0, slots, values, carries);
    vy_rewrite_slots(&x->w, end, slots, carries);
}

static uint32_t instead(void *pass, uint32_t id)
{
    lane_loads *x = pass;
    if (!x->chosen[id]) return 0;
    split(x, id);
    return vy_last_result(x->w.p, &x->w.s, id);
}

// ------------------------------------------------------------------------------------------ pass
static bool program_suits(const vy_program *p, const vy_opt_options *o)
{
    if (!o || o->lanes < 2 || o->lanes != o->subgroup_size) return false;
    if (!o->subgroup_shuffle || !vy_program_row_fills(p, o->lanes)) return false;
    if (vy_is_chunked(p, o) || !vy_domain_rounds_up(p)) return false;
    const double share = vy_rounded_up_share(p, o);
    return share > 0 && share <= most_waste;
}

// *any: there is a loop that suits.  rewrites: replaces it.
static bool run(vy_program *p, const vy_opt_options *o, bool rewrites, bool *any, bool *changed)
{
    lane_loads x = {.options = o};
    const bool ok = vy_rewrite_begin(&x.w, p) && prepare_lanes(&x);
    if (ok) choose_loops(&x);
    *any = x.count > 0;
    if (ok && *any && rewrites) vy_rewrite_run(&x.w, instead, &x);
    return vy_rewrite_end(&x.w, ok, changed);
}

bool vy_pass_lane_loads(vy_program *p, vy_pass_context *c)
{
    bool any;
    if (!program_suits(p, c->options)) return true;
    if (!run(p, c->options, false, &any, &c->changed)) return false;
    if (!any) return true;
    return vy_round_domain_up(p) && run(p, c->options, true, &any, &c->changed);
}
