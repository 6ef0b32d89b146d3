// SPDX-License-Identifier: MIT
// eval_partial.c: shared arrays that the domain's last workgroups fill only partially.
//
// Invocations outside the domain store nothing.  An element of a shared array that one of them
// would have stored stays undefined, and an invocation inside that reads it computes with arbitrary
// contents.  So in a launch with such invocations the interpreter records, for each element of a
// shared array, whether a store to it was dropped in this workgroup and whether it was filled.  To
// read an element that was dropped and not filled is an error, even if no reports are requested.
//
// In invocations outside, variables of the domain are clamped to its last point, and loads do not
// give the values that these invocations would have loaded.  Where the index of a store, or a
// condition around it, depends on such values, it is unclear what would have been stored: then all
// unfilled elements of the array count as dropped in a workgroup with such invocations.  Where
// reads of unwritten elements are reported anyway, that report takes precedence: it says more.
#include "ir/core/dataflow.h"
#include "ir/eval/eval.h"

#include <stdio.h>

// ----------------------------------------------------------------------------------------- unclear
// By instruction: does its value depend on variables of the domain or on loads; does such a value
// control whether it executes?
typedef struct clarity {
    const vy_program *p;
    vy_structure s;
    uint8_t *value, *inside;
} clarity;

static bool is_unclear(const clarity *c, uint32_t id)
{
    if (!VY_IS_LEAF(id)) return c->value[id];
    return c->p->leaves.data[VY_LEAF_INDEX(id)].kind == VY_LEAF_OVER;
}

static bool any_unclear(const clarity *c, const uint32_t *ids, uint32_t n)
{
    for (uint32_t k = 0; k < n; k++)
        if (is_unclear(c, ids[k])) return true;
    return false;
}

static bool decided_unclear(const clarity *c, uint32_t opener)
{
    uint32_t ids[4];
    return any_unclear(c, ids, vy_deciders(c->p, &c->s, opener, ids));
}

static bool find_value(const clarity *c, uint32_t id)
{
    const vy_inst *i = &c->p->insts.data[id];
    const vy_op op = (vy_op)i->op;
    uint32_t ids[3];
    if (op == VY_OP_LOAD) return true;
    if (vy_op_opens(op)) return decided_unclear(c, id);
    if (!vy_is_slot(op)) return !vy_is_marker(op) && any_unclear(c, vy_args(c->p, id), i->nargs);
    return decided_unclear(c, vy_opener(c->p, &c->s, id)) ||
           any_unclear(c, ids, vy_slot_sources(c->p, &c->s, id, ids));
}

static bool find_inside(const clarity *c, uint32_t id)
{
    const uint32_t up = c->s.parent[id];
    if (!up || c->inside[up]) return up;
    return c->p->insts.data[up].op == VY_OP_WHILE || vy_exits(c->p, up) || c->value[up];
}

// A construct is unclear if a value that controls it is; then so are its CARRYs and RESULTs.
static void push_dependents(const clarity *c, vy_dataflow *d, uint32_t id)
{
    vy_dataflow_push_users(d, id);
    if (!vy_op_opens((vy_op)c->p->insts.data[id].op)) return;
    const uint32_t n = vy_slot_count(c->p, &c->s, id);
    for (uint32_t k = 0; k < n; k++) {
        if (vy_is_loop((vy_op)c->p->insts.data[id].op)) vy_dataflow_push(d, vy_carry(id, k));
        vy_dataflow_push(d, vy_result(c->p, &c->s, id, k));
    }
}

static void find_values(const clarity *c, vy_dataflow *d)
{
    vy_dataflow_push_all(d);
    for (uint32_t id; (id = vy_dataflow_pop(d));) {
        if (c->value[id] || !find_value(c, id)) continue;
        c->value[id] = 1;
        push_dependents(c, d, id);
    }
}

static void find_unclear(const clarity *c, vy_bound *bounds)
{
    for (uint32_t id = 1; id < c->p->insts.count; id++) {
        const vy_inst *i = &c->p->insts.data[id];
        c->inside[id] = find_inside(c, id);
        if (!vy_op_is_memory((vy_op)i->op) || i->op == VY_OP_LOAD || i->op == VY_OP_ZERO) continue;
        vy_bound *b = &bounds[i->aux];
        b->unclear |= c->inside[id];
        for (uint32_t k = 0; k < b->rank; k++) b->unclear |= is_unclear(c, vy_arg(c->p, id, k));
    }
}

static bool mark_unclear(vy_machine *m)
{
    clarity c = {.p = m->p};
    vy_dataflow d;
    vy_arena arena = {0};
    c.value = vy_eval_alloc(m, m->p->insts.count, sizeof *c.value);
    c.inside = vy_eval_alloc(m, m->p->insts.count, sizeof *c.inside);
    const bool made = c.value && c.inside && vy_structure_make(m->p, &c.s) &&
                      vy_dataflow_make(&d, m->p, &c.s, &arena);
    if (made) {
        find_values(&c, &d);
        find_unclear(&c, m->bounds);
    } else if (!m->failed) {
        vy_eval_fail(m, VY_E_MEMORY, 0, 0, "out of memory");
    }
    vy_structure_free(&c.s);
    vy_arena_free(&arena);
    vy_free(c.value);
    vy_free(c.inside);
    return made;
}

// -------------------------------------------------------------------------------- what was dropped
bool vy_partial_make(vy_machine *m)
{
    bool partial = false, any = false;
    if (!m->p->overs.count) return true;
    for (uint32_t k = 0; k < 3; k++) partial |= m->size[k] % m->workgroup[k] != 0;
    for (uint32_t id = 1; partial && id < m->p->buffers.count; id++) {
        vy_bound *b = &m->bounds[id];
        if (b->cls != VY_SHARED) continue;
        any = true;
        b->dropped = vy_eval_alloc(m, b->count, sizeof *b->dropped);
        b->filled = vy_eval_alloc(m, b->count, sizeof *b->filled);
        if (m->failed) return false;
    }
    return !any || mark_unclear(m);
}

// The element that a lane outside the domain would have stored to; false: none.
static bool aimed_at(const vy_machine *m, const vy_xinst *x, const vy_bound *b, uint32_t lane,
                     uint64_t *place)
{
    *place = 0;
    for (uint32_t axis = 0; axis < b->rank; axis++) {
        const uint64_t index = vy_reg(m, m->operands[x->args + axis])[lane].u;
        if (index >= b->dims[axis]) return false;
        *place = *place * b->dims[axis] + index;
    }
    return true;
}

void vy_partial_store(vy_machine *m, const vy_xinst *x, vy_bound *b)
{
    const uint64_t now = m->group + 1;
    VY_EACH_ACTIVE(m, l, if (m->offsets[l] >= 0) b->filled[m->offsets[l]] = now;)
    VY_EACH_ACTIVE(m, l, {
        uint64_t place;
        if (m->offsets[l] >= 0 || !m->padding[l] || !aimed_at(m, x, b, l, &place)) continue;
        b->dropped[place] = now;
    })
}

void vy_partial_zero(vy_machine *m, const vy_bound *b)
{
    for (uint64_t e = 0; e < b->count; e++) b->filled[e] = m->group + 1;
}

static bool is_partial(const vy_machine *m)
{
    for (uint32_t l = 0; l < m->lanes; l++)
        if (m->padding[l]) return true;
    return false;
}

void vy_partial_load(vy_machine *m, const vy_xinst *x, const vy_bound *b)
{
    const uint64_t now = m->group + 1,
                   all = (uint64_t)m->workgroup[0] * m->workgroup[1] * m->workgroup[2];
    VY_EACH_ACTIVE(m, l, {
        const int64_t off = m->offsets[l];
        if (off < 0 || b->filled[off] == now || m->failed) continue;
        if (b->dropped[off] != now && !(b->unclear && !b->written && is_partial(m))) continue;
        const vy_inst *i = &m->p->insts.data[x->inst];
        const uint64_t number = m->group * all + m->linear[l] + 1;
        char who[96] = "";
        if (number <= UINT32_MAX) vy_eval_who(m, (uint32_t)number, who, sizeof who);
        vy_eval_fail(m, VY_E_EVAL_PARTIAL, i->line, i->column,
                     "invocation (%s) reads an element of `%s` that an invocation outside of the "
                     "domain would have stored: sizes are not multiples of the workgroup's",
                     who, m->p->buffers.data[x->aux].name);
    })
}
