// SPDX-License-Identifier: MIT
// domain_dependence.c: along which domain variables values differ.
//
//   over(i: M, k: K)   b[k, j]: differs along k        s = s + a[i, j] * b[k, j]: along both
//
// A value differs along a variable if it is made of one that does, or if it stands where the
// variable decides who reaches it.  What a loop carries depends on what its back edge brings, so
// the walk is repeated until nothing changes; each turn follows every chain but those that go
// backwards.
#include "ir/facts/domain_dependence.h"
#include "ir/core/flow.h"

enum { MAX_ROUNDS = 32 };

uint8_t vy_along_leaf(const vy_along *a, uint32_t id)
{
    const vy_leaf *l = &a->p->leaves.data[VY_LEAF_INDEX(id)];
    if (l->kind != VY_LEAF_OVER || l->index < a->first) return 0;
    return (uint8_t)(1u << (l->index - a->first));
}

static uint8_t get(const vy_along *a, uint32_t id)
{
    return VY_IS_LEAF(id) ? vy_along_leaf(a, id) : a->of[id];
}

static uint8_t operands(const vy_along *a, uint32_t id, uint32_t from, uint32_t to)
{
    uint8_t bits = 0;
    for (uint32_t k = from; k < to; k++) bits |= get(a, vy_arg(a->p, id, k));
    return bits;
}

// What comes out of a construct.
static uint8_t result(const vy_along *a, uint32_t id)
{
    uint32_t sources[3], n = vy_slot_sources(a->p, a->s, id, sources);
    uint8_t bits = a->route[vy_opener(a->p, a->s, id)];
    for (uint32_t k = 0; k < n; k++) bits |= get(a, sources[k]);
    return bits;
}

// What decides who reaches `id`; an ELSE or closing marker belongs to its opener.
static uint8_t route(const vy_along *a, uint32_t id)
{
    const vy_op op = (vy_op)a->p->insts.data[id].op;
    const bool later = op == VY_OP_ELSE || vy_op_closes(op);
    const uint32_t up = later ? vy_opener(a->p, a->s, id) : a->s->parent[id];
    return up ? a->route[up] : 0;
}

static uint8_t value(const vy_along *a, uint32_t id)
{
    const vy_inst *i = &a->p->insts.data[id];
    uint8_t bits = route(a, id);
    switch ((vy_op)i->op) {
    case VY_OP_IF:
    case VY_OP_LOOP: return bits | operands(a, id, 0, vy_control_args(a->p, a->s, id));
    case VY_OP_CARRY: {
        uint32_t loop = vy_arg(a->p, id, 0);
        return bits | get(a, vy_slot_init(a->p, loop, i->aux)) |
               get(a, vy_slot_next(a->p, a->s, loop, i->aux));
    }
    case VY_OP_RESULT: return bits | result(a, id);
    default: break;
    }
    if (vy_op_infos[i->op].effect == VY_WRITE) return UINT8_MAX;
    return vy_is_marker((vy_op)i->op) ? bits : bits | operands(a, id, 0, i->nargs);
}

// What else decides the way through a construct than what is known where it begins.
static uint32_t decides_later(const vy_along *a, uint32_t id, uint8_t *bits)
{
    uint32_t opener = vy_opener(a->p, a->s, id), n = vy_control_args(a->p, a->s, id);
    *bits = 0;
    if (opener == id || !n) return 0;
    *bits = operands(a, id, 0, n);
    return opener;
}

static bool round_of(vy_along *a)
{
    bool changed = false;
    for (uint32_t id = 1; id < a->p->insts.count; id++) {
        vy_op op = (vy_op)a->p->insts.data[id].op;
        uint8_t bits = a->of[id] | value(a, id), more;
        changed |= bits != a->of[id];
        a->of[id] = bits;
        if (vy_op_opens(op)) a->route[id] |= bits;
        uint32_t opener = decides_later(a, id, &more);
        if (!opener || (a->route[opener] & more) == more) continue;
        a->route[opener] |= more;
        a->of[opener] |= more;
        changed = true;
    }
    return changed;
}

bool vy_along_make(vy_along *a, const vy_program *p, const vy_structure *s, vy_arena *arena,
                   bool *settled)
{
    uint32_t overs = p->overs.count;
    *a = (vy_along){.p = p, .s = s, .first = overs > VY_ALONG_AXES ? overs - VY_ALONG_AXES : 0};
    a->of = vy_arena_alloc(arena, p->insts.count);
    a->route = vy_arena_alloc(arena, p->insts.count);
    *settled = false;
    if (!a->of || !a->route) return false;
    for (uint32_t round = 0; round < MAX_ROUNDS && !*settled; round++) *settled = !round_of(a);
    return true;
}
