// SPDX-License-Identifier: MIT
// ends.c: where the derivative of an input ends although its value goes on.
//
// A float that reaches the outputs only through integers, comparisons, indices or floor has gradient
// zero, which is right and hardly ever what was meant.  So it is said, with the first place at which a
// derivative is lost.  Per value and buffer there are two flags, for the one input that is looked at:
//
//   SMOOTH  depends on it differentiably: what activity.c calls varied
//   SEEN    depends on it in any way, also by index or condition
//
// Both spread through memory, arms and loops until nothing changes.  If some output is SEEN and none is
// SMOOTH, the gradient is zero by rule, and the first instruction that takes something SMOOTH and hands
// on something that is only SEEN is the place.
#include "autodiff/grad.h"
#include "autodiff/facts/facts.h"

enum { SMOOTH = 1, SEEN = 2 };

typedef struct ends {
    const vy_program *p;
    vy_structure s;
    uint8_t *values, *buffers;
    bool changed;
} ends;

static uint8_t flags_of(const ends *e, uint32_t id) { return VY_IS_LEAF(id) ? 0 : e->values[id]; }

static void add(ends *e, uint8_t *flags, uint8_t more)
{
    if ((*flags | more) == *flags) return;
    *flags |= more;
    e->changed = true;
}

// What decides whether `id` happens: the operands of the constructs around it.
static uint8_t deciders(const ends *e, uint32_t id)
{
    uint8_t seen = 0;
    for (uint32_t up = e->s.parent[id]; up; up = e->s.parent[up]) seen |= e->values[up] & SEEN;
    return seen;
}

// A construct is SEEN if what decides about it is: its condition, its bounds, the test that leaves it.
static void spread_control(ends *e, uint32_t id, vy_op op)
{
    const bool leaves = op == VY_OP_ENDLOOP && e->p->insts.data[id].flags & VY_FLAG_EXIT;
    const uint32_t n = op == VY_OP_LOOP ? 3 : op == VY_OP_IF || op == VY_OP_TEST || leaves ? 1 : 0;
    const uint32_t opener = op == VY_OP_TEST || leaves ? e->s.partner[id] : id;
    for (uint32_t k = 0; k < n; k++)
        add(e, &e->values[opener], flags_of(e, vy_arg(e->p, id, k)) & SEEN);
}

// CARRY and RESULT: what they take over, and what decides how often or which.
static void spread_slot(ends *e, uint32_t id, vy_op op)
{
    const uint32_t marker = vy_arg(e->p, id, 0);
    uint32_t sources[3], n = vy_slot_sources(e->p, &e->s, id, sources);
    uint8_t flags = e->values[op == VY_OP_CARRY ? marker : e->s.partner[marker]] & SEEN;
    for (uint32_t k = 0; k < n; k++) flags |= flags_of(e, sources[k]);
    add(e, &e->values[id], flags);
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
    if (op == VY_OP_CARRY || op == VY_OP_RESULT) {
        spread_slot(e, id, op);
        return;
    }
    if (vy_op_infos[op].effect == VY_CTRL) {
        spread_control(e, id, op);
        return;
    }
    for (uint32_t k = 0; k < i->nargs; k++)
        flags |= flags_of(e, vy_arg(e->p, id, k)) & (passes(e, id, k) ? SMOOTH | SEEN : SEEN);
    if (vy_op_infos[op].effect == VY_WRITE && op != VY_OP_ZERO)
        add(e, &e->buffers[i->aux], flags | deciders(e, id));
    if (vy_op_is_memory(op) && i->type != VY_VOID) flags |= e->buffers[i->aux];
    add(e, &e->values[id], flags);
}

// The first instruction at which something SMOOTH is lost; 0: none.
static uint32_t first_end(const ends *e)
{
    for (uint32_t id = 1; id < e->p->insts.count; id++) {
        const vy_inst *i = &e->p->insts.data[id];
        if (vy_op_infos[i->op].effect == VY_CTRL) continue;
        for (uint32_t k = 0; k < i->nargs; k++) {
            const uint32_t a = vy_arg(e->p, id, k);
            if (!passes(e, id, k) && flags_of(e, a) & SMOOTH &&
                vy_type_is_float(vy_id_type(e->p, a)))
                return id;
        }
    }
    return 0;
}

bool vy_grad_ends(const vy_program *p, vy_buffer input, vy_grad_end *out)
{
    ends e = {.p = p};
    vy_arena arena = {0};
    bool smooth = false, seen = false;
    *out = (vy_grad_end){0};
    e.values = vy_arena_alloc(&arena, p->insts.count + 1);
    e.buffers = vy_arena_alloc(&arena, p->buffers.count + 1);
    if (e.values && e.buffers && vy_structure_make(p, &e.s)) {
        e.buffers[input.id] = SMOOTH | SEEN;
        do {
            e.changed = false;
            for (uint32_t id = 1; id < p->insts.count; id++) spread(&e, id);
        } while (e.changed);
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
        vy_structure_free(&e.s);
    }
    vy_arena_free(&arena);
    return out->what != NULL;
}
