// SPDX-License-Identifier: MIT
// plan.c: the storage plan: which of the values that a reversed loop needs are taped, and which are
// recomputed?
//
// First a trial build in which every value of a replayed body is poison.  The poison that survives
// dead-code removal is exactly what the reverse sweep needs.  Then, innermost loops first, a
// minimum cut through the body's dependences decides:
//
//   source → v_in     cost of recomputing v (infinite for what a replay cannot compute)
//   v_in → v_out      cost of taping v: bytes to write and to read back
//   u_out → v_in      v is computed from u: may not be cut
//   v_out → sink      the reverse needs v: may not be cut
//
// A nested loop is one node, as expensive as all its iterations: a loop's sum is taped rather than
// computed a third time.  Values from outside the loop that recomputation uses become needed there.
// (Minimum cuts for this choice: Enzyme; and the selection problem of Balinski 1970.)
#include "autodiff/storage/min_cut.h"
#include "autodiff/facts/facts.h"
#include "autodiff/facts/induction.h"
#include "autodiff/storage/storage.h"
#include "ir/core/flow.h"
#include "ir/core/functions.h"
#include "ir/facts/price.h"

#include <string.h>

enum {
    MOST_COST = 1 << 20, // sums saturate here
    MOST_NODES = 20000,  // of one body: beyond, only what must be taped is
    MOST_WORK = 1 << 27, // instructions × nesting
};

typedef struct planner {
    reverse *r;
    uint8_t *need;    // by instruction: the reverse needs it (ENDLOOP: the loop's trip count)
    uint32_t *node;   // by instruction: its v_in; v_out = v_in + 1; 0: none
    uint32_t *all;    // by opener of a nested loop or checkpoint: the node of what it computes
    uint32_t *kept;   // the plan
    vy_id_vec memory; // by buffer: node of an array that replays of the body recompute; 0: none
    vy_cut cut;
    uint32_t region, keeper;
    bool frugal;   // recomputation is free
    uint8_t *live; // by instruction: forward liveness (forward_live.c); NULL: everything is live
} planner;

// ------------------------------------------------------------------------------------------- costs
static int32_t cost_of_operation(vy_op op) { return vy_price_of(op)->again; }

static int32_t limited(double cost) { return cost > MOST_COST ? MOST_COST : (int32_t)cost; }

// All iterations of a nested loop, or a checkpoint once.
static int32_t cost_of_region(const reverse *r, uint32_t opener)
{
    int32_t cost = 1;
    for (uint32_t id = opener + 1; id < r->facts.s.partner[opener]; id++) {
        vy_op op = (vy_op)r->p->insts.data[id].op;
        if (vy_is_loop(op) || op == VY_OP_CHECKPOINT) {
            cost += cost_of_region(r, id);
            id = r->facts.s.partner[id];
        } else {
            cost += cost_of_operation(op);
        }
        cost = limited(cost);
    }
    const bool loop = vy_is_loop((vy_op)r->p->insts.data[opener].op);
    return limited(loop ? cost * vy_expected_trips(r->p, opener) : cost);
}

// --------------------------------------------------------------------------------------- the graph
static void mark_needed(planner *g, uint32_t id)
{
    const uint32_t same = VY_IS_LEAF(id) ? 0 : g->r->facts.again[id];
    if (!VY_IS_LEAF(id)) g->need[same ? same : id] = 1;
}

// An edge from `from` (an operand) to node `to`, if it is a value of this body.
static void depends(planner *g, uint32_t to, uint32_t from)
{
    if (VY_IS_LEAF(from) || !g->node[from]) return;
    vy_cut_add(&g->cut, g->node[from] + 1, to, VY_CUT_NEVER);
}

static int32_t scaled(const planner *g, int32_t cost) { return g->frugal ? 0 : cost; }

// The node of the array that instruction `id` accesses, if replays of the body recompute it; or 0.
static uint32_t array_node(planner *g, uint32_t id)
{
    const vy_inst *i = &g->r->p->insts.data[id];
    if (!vy_op_is_memory((vy_op)i->op) || !vy_is_remade(g->r, i->aux, g->region)) return 0;
    uint32_t *node = &g->memory.data[i->aux];
    return *node ? *node : (*node = vy_cut_node(&g->cut));
}

// Can no tape hold it?  Of a host program also what has another size in each iteration, which the
// min cut would prefer to what is computed from it, not knowing how much it is.
static bool is_untaped(const planner *g, uint32_t id)
{
    const reverse *r = g->r;
    return r->facts.together[id] || vy_is_tuple(r->p, id) ||
           (r->p->host && !vy_tape_fits(r, id, g->keeper));
}

// The nodes of a value: v_in and v_out, joined by an edge with the cost of taping it.
static void add_value(planner *g, uint32_t id, int32_t again, uint32_t bytes)
{
    uint32_t in = vy_cut_node(&g->cut), out = vy_cut_node(&g->cut);
    g->node[id] = in;
    if (g->cut.oom) return;
    vy_cut_add(&g->cut, 0, in, again);
    int32_t keep = is_untaped(g, id) ? VY_CUT_NEVER : (int32_t)bytes * VY_PRICE_TAPE_BYTE;
    if (g->r->plan.stands[id]) keep = scaled(g, vy_prices[VY_WORK_LOAD].again);
    vy_cut_add(&g->cut, in, out, keep);
    if (g->need[id]) vy_cut_add(&g->cut, out, 1, VY_CUT_NEVER);
}

static uint32_t bytes_of(const reverse *r, uint32_t id)
{
    uint32_t n = vy_type_size((vy_type)r->p->insts.data[id].type);
    // What a repeat of a host program carries is all of a buffer; loads are of slices, mostly.
    const bool whole = r->p->host && vy_is_slot((vy_op)r->p->insts.data[id].op);
    return (n < 2 ? 4 : n) << whole;
}

// A nested loop or checkpoint: one node for everything that it computes.
static void add_nested(planner *g, uint32_t opener)
{
    const vy_program *p = g->r->p;
    uint32_t end = g->r->facts.s.partner[opener], all = vy_cut_node(&g->cut);
    if (g->cut.oom) return;
    g->all[opener] = all;
    vy_cut_add(&g->cut, 0, all, scaled(g, cost_of_region(g->r, opener)));
    for (uint32_t id = opener; id <= end && !g->cut.oom; id++) {
        for (uint32_t k = 0; k < vy_computed_args(p, id); k++) depends(g, all, vy_arg(p, id, k));
        uint32_t array = array_node(g, id);
        if (array && p->insts.data[id].op == VY_OP_LOAD)
            vy_cut_add(&g->cut, array, all, VY_CUT_NEVER);
        if (array && p->insts.data[id].op != VY_OP_LOAD)
            vy_cut_add(&g->cut, all, array, VY_CUT_NEVER);
    }
    add_value(g, end, 0, 4); // its trip count
    vy_cut_add(&g->cut, all, g->node[end], VY_CUT_NEVER);
}

static void add_result(planner *g, uint32_t id)
{
    const reverse *r = g->r;
    uint32_t sources[3], n = vy_slot_sources(r->p, &r->facts.s, id, sources);
    uint32_t opener = vy_opener(r->p, &r->facts.s, id), end = vy_closer(r->p, &r->facts.s, opener);
    add_value(g, id, 0, bytes_of(r, id));
    if (g->cut.oom) return;
    if (r->p->insts.data[opener].op != VY_OP_IF) {
        vy_cut_add(&g->cut, g->node[end], g->node[id], VY_CUT_NEVER);
        return;
    }
    depends(g, g->node[id], vy_arg(r->p, opener, 0));
    for (uint32_t k = 0; k < n; k++) depends(g, g->node[id], sources[k]);
}

// Is it how often a loop of a pipeline runs?  Computing that again would take running the loop
// ahead once more, on what may have changed since: the forward sweep keeps the number.
static bool is_count(const planner *g, uint32_t id)
{
    const vy_inst *i = &g->r->p->insts.data[id];
    return i->op == VY_OP_LOAD && g->r->p->buffers.data[i->aux].made == VY_MADE_COUNT;
}

static void add_operation(planner *g, uint32_t id)
{
    const vy_program *p = g->r->p;
    const vy_inst *i = &p->insts.data[id];
    vy_op op = (vy_op)i->op;
    bool never = op == VY_OP_CARRY
                     ? !vy_has_closed_form(g->r, g->region, id - g->region - 1) &&
                           !vy_is_invertible(&g->r->facts, g->region, id - g->region - 1)
                     : is_count(g, id) || !vy_can_repeat(g->r, id, g->region);
    add_value(g, id, never ? VY_CUT_NEVER : scaled(g, cost_of_operation(op)), bytes_of(g->r, id));
    for (uint32_t k = 0; k < vy_computed_args(p, id) && !g->cut.oom && op != VY_OP_CARRY; k++)
        depends(g, g->node[id], vy_arg(p, id, k));
}

// The contents of an array depend on all stores: if it is needed, all of them are replayed.
static void add_store(planner *g, uint32_t id, uint32_t array)
{
    vy_cut_add(&g->cut, 0, array, scaled(g, vy_prices[VY_WORK_STORE].again));
    for (uint32_t k = 0; k < g->r->p->insts.data[id].nargs && !g->cut.oom; k++)
        depends(g, array, vy_arg(g->r->p, id, k));
}

static void add_body(planner *g)
{
    const vy_program *p = g->r->p;
    for (uint32_t id = g->region + 1; id < g->r->facts.s.partner[g->region] && !g->cut.oom; id++) {
        vy_op op = (vy_op)p->insts.data[id].op;
        uint32_t array = array_node(g, id);
        if (array && op != VY_OP_LOAD) add_store(g, id, array);
        if (vy_is_loop(op) || op == VY_OP_CHECKPOINT) {
            add_nested(g, id);
            id = g->r->facts.s.partner[id];
        } else if (op == VY_OP_RESULT) {
            add_result(g, id);
        } else if (g->r->facts.again[id]) {
            g->node[id] = g->node[g->r->facts.again[id]];
        } else if (p->insts.data[id].type != VY_VOID) {
            add_operation(g, id);
            if (array && op == VY_OP_LOAD && !g->cut.oom)
                vy_cut_add(&g->cut, array, g->node[id], VY_CUT_NEVER);
        }
    }
}

// ------------------------------------------------------------------------------------ the decision
// Is the node's value computed again, for the sake of something that is needed?
static bool is_remade(const planner *g, uint32_t node)
{
    return node && !vy_cut_at_source(&g->cut, node) && vy_cut_is_used(&g->cut, node);
}

static bool recomputed(const planner *g, uint32_t id) { return is_remade(g, g->node[id]); }

// Marks the operands of `id` from outside the body, which recomputing it needs.
static void mark_outside(planner *g, uint32_t id)
{
    const vy_program *p = g->r->p;
    for (uint32_t k = 0; k < vy_computed_args(p, id); k++) {
        uint32_t a = vy_arg(p, id, k);
        if (!VY_IS_LEAF(a) && a < g->region) mark_needed(g, a);
    }
}

static void read_plan(planner *g)
{
    const reverse *r = g->r;
    uint32_t end = r->facts.s.partner[g->region];
    for (uint32_t id = g->region + 1; id < end; id++) {
        vy_op op = (vy_op)r->p->insts.data[id].op;
        if (vy_is_loop(op) || op == VY_OP_CHECKPOINT) {
            // It runs again for any of its results, its trip count or what it stores.
            uint32_t close = r->facts.s.partner[id];
            const bool again = is_remade(g, g->all[id]);
            for (uint32_t k = id; again && k <= close; k++) mark_outside(g, k);
            id = close;
        } else if (vy_op_is_memory(op) && op != VY_OP_LOAD && array_node(g, id)) {
            if (is_remade(g, array_node(g, id))) mark_outside(g, id);
        } else if (recomputed(g, id)) {
            mark_outside(g, id);
            if (op == VY_OP_CARRY) { // recomputed from its initial or its final value
                uint32_t k = id - g->region - 1;
                bool closed = vy_has_closed_form(r, g->region, k);
                mark_needed(g, closed ? vy_carry_init(&r->facts, g->region, k) : end + 1 + k);
            }
        }
    }
    for (uint32_t id = g->region + 1; id < end; id++) {
        uint32_t in = r->facts.again[id] ? 0 : g->node[id];
        if (in && !r->facts.together[id] && vy_cut_at_source(&g->cut, in) &&
            !vy_cut_at_source(&g->cut, in + 1))
            g->kept[id] = is_count(g, id) ? 1 : g->keeper + 1;
    }
}

static bool plan_region(planner *g, uint32_t region)
{
    const reverse *r = g->r;
    g->region = region;
    g->frugal = r->options->frugal || r->options->checkpoint ||
                r->p->insts.data[region].op == VY_OP_CHECKPOINT || (g->live && !g->live[region]);
    g->keeper = r->facts.scope[region];
    while (g->keeper && r->p->insts.data[g->keeper].op != VY_OP_CHECKPOINT)
        g->keeper = r->facts.scope[g->keeper];
    vy_cut_clear(&g->cut);
    add_body(g);
    if (g->cut.first.count <= MOST_NODES && vy_cut_run(&g->cut)) read_plan(g);
    for (uint32_t id = region + 1; id < r->facts.s.partner[region]; id++) {
        const vy_inst *i = &r->p->insts.data[id];
        g->node[id] = 0;
        if (vy_op_is_memory((vy_op)i->op)) g->memory.data[i->aux] = 0;
    }
    return !g->cut.oom;
}

static bool too_much(const reverse *r)
{
    uint64_t work = 0;
    for (uint32_t id = 1; id < r->p->insts.count; id++) work += r->facts.s.depth[id] + 1;
    return work > MOST_WORK;
}

// Fills `live` if the program has a derive_as.
static bool find_live(planner *g, vy_arena *arena)
{
    const vy_program *p = g->r->p;
    bool any = false;
    for (uint32_t id = 1; id < p->insts.count; id++) any |= p->insts.data[id].op == VY_OP_DERIVE_AS;
    if (!any) return true;
    uint8_t *arrays = vy_arena_alloc(arena, p->buffers.count);
    g->live = vy_arena_alloc(arena, p->insts.count);
    return arrays && g->live && vy_forward_live(&g->r->facts, arena, g->live, arrays);
}

bool vy_plan(reverse *r, const uint8_t *needed, uint32_t *kept)
{
    planner g = {.r = r, .kept = kept};
    vy_arena arena = {0};
    if (too_much(r)) return true;
    g.need = vy_arena_alloc(&arena, r->p->insts.count);
    g.node = vy_arena_alloc(&arena, r->p->insts.count * sizeof *g.node);
    g.all = vy_arena_alloc(&arena, r->p->insts.count * sizeof *g.all);
    bool ok = g.need && g.node && g.all && find_live(&g, &arena);
    if (r->p->host) vy_tape_sizes(r);
    if (ok) memcpy(g.need, needed, r->p->insts.count);
    for (uint32_t i = 0; ok && i < r->p->buffers.count; i++) ok = vy_vec_push(&g.memory, 0u);
    for (uint32_t id = r->p->insts.count; ok && id-- > 1;) {
        vy_op op = (vy_op)r->p->insts.data[id].op;
        if (vy_is_loop(op) || op == VY_OP_CHECKPOINT) ok = plan_region(&g, id);
    }
    vy_arena_free(&arena);
    vy_cut_free(&g.cut);
    vy_vec_free(&g.memory);
    if (!ok) {
        vy_fail_oom(r->out);
        r->failed = true;
    }
    return ok;
}
