// SPDX-License-Identifier: MIT
// ends.c: where the derivative of an input ends although its value goes on.
//
// A float that reaches the outputs only through integers, comparisons, indices or floor has
// gradient zero, which is right and hardly ever what was meant.  So it is reported, with the first
// place at which a derivative is lost.  Each value and buffer has two flags, for the one input in
// question:
//
//   SMOOTH  depends on it differentiably: what activity.c calls varied
//   SEEN    depends on it in any way, also by index or condition
//
// Both spread through memory, arms and loops (dataflow.h).  If some output is SEEN and none is
// SMOOTH, the gradient is zero by rule, and the first instruction that has a SMOOTH operand but a
// result that is only SEEN is the place.
#include "autodiff/grad.h"
#include "autodiff/facts/facts.h"
#include "ir/core/dataflow.h"

enum { SMOOTH = 1, SEEN = 2 };

typedef struct ends {
    const vy_program *p;
    vy_structure s;
    uint8_t *values, *buffers;
    uint8_t *decided; // by opening marker: whether its body executes depends on something SEEN
    vy_dataflow flow;
} ends;

static uint8_t flags_of(const ends *e, uint32_t id) { return VY_IS_LEAF(id) ? 0 : e->values[id]; }

// Whether the body of a construct executes depends on something SEEN, and so do the writes in it.
// Constructs that are marked already are skipped, which makes this linear.
static void decide_inside(ends *e, uint32_t opener)
{
    const vy_program *p = e->p;
    for (uint32_t id = opener; id < vy_closer(p, &e->s, opener); id++) {
        vy_op op = (vy_op)p->insts.data[id].op;
        if (vy_op_infos[op].effect == VY_WRITE) vy_dataflow_push(&e->flow, id);
        if (!vy_op_opens(op)) continue;
        if (e->decided[id])
            id = vy_closer(p, &e->s, id);
        else
            e->decided[id] = 1;
    }
}

// A construct is SEEN: so is what it carries and yields.
static void decide(ends *e, uint32_t opener)
{
    const vy_program *p = e->p;
    bool loop = vy_is_loop((vy_op)p->insts.data[opener].op);
    for (uint32_t k = 0, n = vy_slot_count(p, &e->s, opener); k < n; k++) {
        if (loop) vy_dataflow_push(&e->flow, vy_carry(opener, k));
        vy_dataflow_push(&e->flow, vy_result(p, &e->s, opener, k));
    }
    decide_inside(e, opener);
}

static void add(ends *e, uint32_t id, uint8_t more)
{
    if ((e->values[id] | more) == e->values[id]) return;
    e->values[id] |= more;
    vy_dataflow_push_users(&e->flow, id);
    if (vy_op_opens((vy_op)e->p->insts.data[id].op)) decide(e, id);
}

static void add_buffer(ends *e, uint32_t buffer, uint8_t more)
{
    if ((e->buffers[buffer] | more) == e->buffers[buffer]) return;
    e->buffers[buffer] |= more;
    vy_dataflow_push_accesses(&e->flow, buffer);
}

// A construct is SEEN if its condition, one of its bounds or its exit test is.
static void spread_control(ends *e, uint32_t opener)
{
    uint32_t deciders[4], n = vy_deciders(e->p, &e->s, opener, deciders);
    for (uint32_t k = 0; k < n; k++) add(e, opener, flags_of(e, deciders[k]) & SEEN);
}

// CARRY and RESULT: the flags of their sources, and SEEN if the construct is.
static void spread_slot(ends *e, uint32_t id)
{
    uint32_t sources[3], n = vy_slot_sources(e->p, &e->s, id, sources);
    uint8_t flags = e->values[vy_opener(e->p, &e->s, id)] & SEEN;
    for (uint32_t k = 0; k < n; k++) flags |= flags_of(e, sources[k]);
    add(e, id, flags);
}

static bool passes(const ends *e, uint32_t id, uint32_t k)
{
    const vy_inst *i = &e->p->insts.data[id];
    if (vy_op_is_memory((vy_op)i->op)) return k >= e->p->buffers.data[i->aux].rank; // no index
    return vy_derivative_passes(e->p, id, k);
}

static void spread(ends *e, uint32_t id)
{
    const vy_inst *i = &e->p->insts.data[id];
    const vy_op op = (vy_op)i->op;
    uint8_t flags = 0;
    if (vy_is_slot(op)) {
        spread_slot(e, id);
        return;
    }
    if (vy_is_marker(op)) {
        if (vy_op_opens(op)) spread_control(e, id);
        return;
    }
    for (uint32_t k = 0; k < i->nargs; k++)
        flags |= flags_of(e, vy_arg(e->p, id, k)) & (passes(e, id, k) ? SMOOTH | SEEN : SEEN);
    if (vy_op_infos[op].effect == VY_WRITE && op != VY_OP_ZERO)
        add_buffer(e, i->aux, flags | (e->decided[e->s.parent[id]] ? SEEN : 0));
    if (vy_op_is_memory(op) && i->type != VY_VOID) flags |= e->buffers[i->aux];
    add(e, id, flags);
}

// The first instruction at which something SMOOTH is lost; 0: none.
static uint32_t first_end(const ends *e)
{
    for (uint32_t id = 1; id < e->p->insts.count; id++) {
        const vy_inst *i = &e->p->insts.data[id];
        if (vy_is_marker((vy_op)i->op)) continue;
        for (uint32_t k = 0; k < i->nargs; k++) {
            const uint32_t a = vy_arg(e->p, id, k);
            if (!passes(e, id, k) && flags_of(e, a) & SMOOTH &&
                vy_type_is_float(vy_id_type(e->p, a)))
                return id;
        }
    }
    return 0;
}

// ------------------------------------------------------------------------------------ all inputs
static void reach(ends *e, uint32_t id)
{
    if (VY_IS_LEAF(id) || e->values[id]) return;
    e->values[id] = SMOOTH;
    vy_dataflow_push(&e->flow, id);
}

// Against the direction of spread(), for SMOOTH alone: what passes a derivative to `id` is reached
// too.
static void reach_back(ends *e, uint32_t id)
{
    const vy_inst *i = &e->p->insts.data[id];
    const vy_op op = (vy_op)i->op;
    if (vy_is_slot(op)) {
        uint32_t sources[3], n = e->values[id] ? vy_slot_sources(e->p, &e->s, id, sources) : 0;
        for (uint32_t k = 0; k < n; k++) reach(e, sources[k]);
        return;
    }
    if (vy_is_marker(op)) return;
    if (e->values[id] && vy_op_is_memory(op) && i->type != VY_VOID) add_buffer(e, i->aux, SMOOTH);
    const bool written = vy_op_infos[op].effect == VY_WRITE && e->buffers[i->aux];
    for (uint32_t k = 0; (e->values[id] || written) && k < i->nargs; k++)
        if (passes(e, id, k)) reach(e, vy_arg(e->p, id, k));
}

bool vy_grad_reaches(const vy_program *p, bool *reaches)
{
    ends e = {.p = p};
    vy_arena arena = {0};
    e.values = vy_arena_alloc(&arena, p->insts.count + 1);
    e.buffers = vy_arena_alloc(&arena, p->buffers.count + 1);
    const bool ok = e.values && e.buffers && vy_structure_make(p, &e.s) &&
                    vy_dataflow_make(&e.flow, p, &e.s, &arena);
    for (uint32_t i = 1; ok && i < p->buffers.count; i++)
        if (vy_grad_default_of(p, (vy_buffer){i})) add_buffer(&e, i, SMOOTH);
    for (uint32_t id; ok && (id = vy_dataflow_pop(&e.flow));) reach_back(&e, id);
    for (uint32_t i = 0; ok && i < p->buffers.count; i++) reaches[i] = e.buffers[i] != 0;
    vy_structure_free(&e.s);
    vy_arena_free(&arena);
    return ok;
}

// ------------------------------------------------------------------------------------- one input
bool vy_grad_ends(const vy_program *p, vy_buffer input, vy_grad_end *out)
{
    ends e = {.p = p};
    vy_arena arena = {0};
    bool smooth = false, seen = false;
    *out = (vy_grad_end){0};
    e.values = vy_arena_alloc(&arena, p->insts.count + 1);
    e.buffers = vy_arena_alloc(&arena, p->buffers.count + 1);
    e.decided = vy_arena_alloc(&arena, p->insts.count + 1);
    bool ok = e.values && e.buffers && e.decided && vy_structure_make(p, &e.s);
    if (ok && vy_dataflow_make(&e.flow, p, &e.s, &arena)) {
        e.buffers[input.id] = SMOOTH | SEEN;
        vy_dataflow_push_all(&e.flow);
        for (uint32_t id; (id = vy_dataflow_pop(&e.flow));) spread(&e, id);
        for (uint32_t i = 1; i < p->buffers.count; i++) {
            if (!vy_grad_default_of(p, (vy_buffer){i})) continue;
            smooth |= i != input.id && (e.buffers[i] & SMOOTH);
            seen |= i != input.id && (e.buffers[i] & SEEN);
            if (i == input.id) smooth = true; // its own initial contents
        }
        const uint32_t at = seen && !smooth ? first_end(&e) : 0;
        const vy_inst *end = &p->insts.data[at];
        if (at)
            *out = (vy_grad_end){.line = end->line,
                                 .column = end->column,
                                 .what = end->op == VY_OP_CAST ? vy_type_name((vy_type)end->type)
                                                               : vy_op_infos[end->op].text};
    }
    vy_structure_free(&e.s);
    vy_arena_free(&arena);
    return out->what != NULL;
}
