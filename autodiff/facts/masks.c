// SPDX-License-Identifier: MIT
// masks.c: facts that the sweeps need before they start.
//
// busy      openers that contain something with an adjoint: the others have no reverse.
// needed    values that the reverse sweep may need outside the arm that defines them, and that an
//           `if` therefore yields.  Over-approximated: unused yields are removed afterwards.
// maskable  every use of the value is conditional: an arm of a select, a candidate of min or max,
//           an operand whose derivative is zero by convention somewhere (abs at 0), a use inside an
//           `if` or loop that the value is defined before, a store that may have no effect, or an
//           operand of a value that is itself maskable.  Then a zero adjoint may mean "not
//           selected", and 0·inf must not turn into NaN: the value's contributions are
//           select(mask, g·d, 0), where the mask is the OR of the conditions of its uses.
//           Comparing the adjoint with zero instead would break second derivatives.
//
// A value that is not maskable is *unconditionally used*, that is, used whenever it is computed.
// In
//
//   s = 1;  for k in 0..n { s = s * q }
//
// s and s * q are unconditionally used if the loop's result is: in the last iteration by the
// result, in every other by the next iteration.  So the analysis is optimistic: all values are
// assumed unconditionally used, until every use that supports the assumption has been removed.
// Each use is removed once, hence linear time.
#include "ir/core/flow.h"
#include "ir/core/functions.h"
#include "ir/facts/range.h"
#include "autodiff/core/rules.h"
#include "autodiff/facts/facts.h"
#include "autodiff/facts/induction.h"

typedef struct masks {
    grad_facts *facts;
    uint32_t *uses;  // by value: the number of unconditional uses
    uint32_t *stack; // values whose last such use has been removed
    uint32_t count;
} masks;

static void change_use(masks *m, uint32_t id, int by)
{
    if (VY_IS_LEAF(id) || !vy_is_active(m->facts, id)) return;
    m->uses[id] += (uint32_t)by;
    if (by < 0 && m->uses[id] == 0) m->stack[m->count++] = id;
}

// A use inside a construct of a value defined before it is conditional: the arm or an iteration may
// not run.
static void change_near(masks *m, uint32_t user, uint32_t id, int by)
{
    if (!VY_IS_LEAF(id) && m->facts->s.parent[user] == m->facts->s.parent[id])
        change_use(m, id, by);
}

// The uses by RESULT `id` of an `if` or checkpoint.
static void change_yields(masks *m, uint32_t id, int by)
{
    const vy_program *p = m->facts->p;
    const vy_structure *s = &m->facts->s;
    uint32_t opener = vy_opener(p, s, id), k = p->insts.data[id].aux;
    uint32_t y = vy_slot_yield(p, s, opener, k);
    if (p->insts.data[opener].op == VY_OP_CHECKPOINT) { // its body always runs
        if (!VY_IS_LEAF(y) && (s->parent[y] == opener || s->parent[y] == s->parent[opener]))
            change_use(m, y, by);
        return;
    }
    uint32_t x = vy_slot_then(p, s, opener, k);
    if (!VY_IS_LEAF(x) && x > opener) change_use(m, x, by);
    if (!VY_IS_LEAF(y) && y > opener) change_use(m, y, by);
}

// Carried value k of a loop: its initial and next values are used by the CARRY and by the RESULT.
static void change_carried(masks *m, uint32_t opener, uint32_t k, int by)
{
    uint32_t next = vy_slot_next(m->facts->p, &m->facts->s, opener, k);
    change_near(m, opener, vy_slot_init(m->facts->p, opener, k), by);
    if (!VY_IS_LEAF(next) && next > opener) change_use(m, next, by);
}

static void change_slot(masks *m, uint32_t id, int by)
{
    const vy_program *p = m->facts->p;
    uint32_t opener = vy_opener(p, &m->facts->s, id), k = p->insts.data[id].aux;
    if (!vy_is_loop((vy_op)p->insts.data[opener].op)) {
        change_yields(m, id, by);
        return;
    }
    // CARRY and RESULT must both be unconditionally used: the edge is added once, by the CARRY, and
    // removed when either becomes maskable.
    uint32_t carry = vy_carry(opener, k), result = vy_result(p, &m->facts->s, opener, k);
    uint32_t other = id == carry ? result : carry;
    if (!vy_is_active(m->facts, other) || m->facts->maskable[other] || (by > 0 && id != carry))
        return;
    change_carried(m, opener, k, by);
}

// Is the use as operand k conditional?
static bool is_conditional(const grad_facts *f, uint32_t id, uint32_t k)
{
    vy_op op = (vy_op)f->p->insts.data[id].op;
    if (op == VY_OP_STRAIGHT_THROUGH || op == VY_OP_DERIVE_AS) return k == 0; // never
    return op == VY_OP_SELECT || vy_rule_kind_of(op) == RULE_PICK || vy_subgroup_chooses(op) ||
           vy_rule_drops(f->p, id, k);
}

// Adds (by = 1) or removes (by = −1) the uses by `id`, an unconditionally used value.
static void change_uses(masks *m, uint32_t id, int by)
{
    const vy_inst *i = &m->facts->p->insts.data[id];
    vy_op op = (vy_op)i->op;
    if (vy_is_slot(op)) {
        if (vy_is_active(m->facts, id)) change_slot(m, id, by);
    } else if (vy_op_is_memory(op)) {
        bool active = (m->facts->buffers[i->aux].activity & ACTIVE) == ACTIVE;
        if (op != VY_OP_LOAD && op != VY_OP_ZERO && active && !m->facts->maskable[id])
            change_near(m, id, vy_arg(m->facts->p, id, m->facts->p->buffers.data[i->aux].rank), by);
    } else if (!vy_is_marker(op) && vy_is_active(m->facts, id)) {
        for (uint32_t k = 0; k < i->nargs; k++)
            if (!is_conditional(m->facts, id, k))
                change_near(m, id, vy_arg(m->facts->p, id, k), by);
    }
}

// Sets `maskable` of stores that may have no effect: those that are not proved in range, or whose
// element may never be used.
static bool find_conditional_stores(masks *m, vy_arena *arena)
{
    const vy_program *p = m->facts->p;
    uint8_t *proved = vy_arena_alloc(arena, p->insts.count);
    if (!proved || !vy_prove_ranges(p, &m->facts->s, arena, proved)) return false;
    for (uint32_t id = 1; id < p->insts.count; id++) {
        vy_op op = (vy_op)p->insts.data[id].op;
        if (vy_op_infos[op].effect == VY_WRITE && op != VY_OP_ZERO)
            m->facts->maskable[id] = !proved[id] ||
                                     m->facts->buffers[p->insts.data[id].aux].shadowed ||
                                     vy_is_extremum(op); // one candidate wins
    }
    return true;
}

// The load that covers an array is not unconditionally used: its elements have masks after all.
static void uncover(masks *m, uint32_t load)
{
    const vy_program *p = m->facts->p;
    uint32_t buffer = p->insts.data[load].aux;
    if (m->facts->buffers[buffer].cover != load) return;
    m->facts->buffers[buffer].cover = 0;
    m->facts->buffers[buffer].shadowed = true;
    for (uint32_t id = 1; id < p->insts.count; id++) {
        const vy_inst *i = &p->insts.data[id];
        bool write = vy_op_infos[i->op].effect == VY_WRITE && i->op != VY_OP_ZERO;
        if (!write || i->aux != buffer || m->facts->maskable[id]) continue;
        change_uses(m, id, -1);
        m->facts->maskable[id] = 1;
    }
}

static bool find_maskable(grad_facts *f)
{
    vy_arena arena = {0};
    uint32_t n = f->p->insts.count;
    masks m = {.facts = f};
    m.uses = vy_arena_alloc(&arena, n * sizeof *m.uses);
    m.stack = vy_arena_alloc(&arena, n * sizeof *m.stack);
    bool ok = m.uses && m.stack && vy_shadow_choose(f) && find_conditional_stores(&m, &arena);
    for (uint32_t id = 1; ok && id < n; id++) change_uses(&m, id, 1);
    for (uint32_t id = 1; ok && id < n; id++)
        if (vy_is_active(f, id) && !m.uses[id]) m.stack[m.count++] = id;
    while (ok && m.count) {
        uint32_t id = m.stack[--m.count];
        change_uses(&m, id, -1);
        f->maskable[id] = 1;
        if (f->p->insts.data[id].op == VY_OP_LOAD) uncover(&m, id);
    }
    vy_arena_free(&arena);
    return ok && vy_shadow_prune(f);
}

static void need(grad_facts *f, uint32_t id)
{
    if (!VY_IS_LEAF(id) && !vy_is_tuple(f->p, id)) f->needed[id] = 1;
}

static void scan_needs(grad_facts *f, uint32_t id)
{
    const vy_inst *i = &f->p->insts.data[id];
    vy_op op = (vy_op)i->op;
    bool memory = vy_op_is_memory(op) && (f->buffers[i->aux].activity & ACTIVE) == ACTIVE;
    bool uses_values =
        memory || vy_op_opens(op) || (vy_is_active(f, id) && vy_rule_kind_of(op) != RULE_LINEAR);
    if (uses_values) need(f, id);
    if (memory && vy_is_extremum(op)) need(f, vy_candidate_number(f->p, id));
    // A carried integer that is recomputed by inverse steps starts from the loop's result.
    if (op == VY_OP_CARRY && vy_is_invertible(f, vy_arg(f->p, id, 0), i->aux))
        need(f, vy_result(f->p, &f->s, vy_arg(f->p, id, 0), i->aux));
    for (uint32_t k = 0; k < i->nargs; k++) {
        uint32_t a = vy_arg(f->p, id, k);
        // The body of a loop or checkpoint is replayed on its own and needs all values it captures.
        if (uses_values || (!VY_IS_LEAF(a) && f->scope[a] != f->scope[id])) need(f, a);
    }
}

void vy_needs(grad_facts *f)
{
    for (uint32_t id = 1; id < f->p->insts.count; id++) {
        const vy_inst *i = &f->p->insts.data[id];
        scan_needs(f, id);
        bool memory =
            vy_op_is_memory((vy_op)i->op) && (f->buffers[i->aux].activity & ACTIVE) == ACTIVE;
        bool barrier = f->phased && i->op == VY_OP_BARRIER;
        if (!vy_is_active(f, id) && !memory && !barrier) continue;
        for (uint32_t up = f->s.parent[id]; up && !f->busy[up]; up = f->s.parent[up])
            f->busy[up] = 1;
    }
}

bool vy_masks(grad_facts *f)
{
    vy_needs(f);
    return find_maskable(f);
}
