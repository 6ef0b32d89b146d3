// SPDX-License-Identifier: MIT
// kinds.c: several kinds of atomics on one element.
//
// Atomics of one kind give the same in any order; a minimum and a maximum, say, do not.  Their
// order is fixed where one invocation owns the element, or where one workgroup does and barriers
// are between the kinds:
//
//   atomic_max(best[wid.x], x[i]);  barrier();  atomic_min(best[wid.x], 1);
//
// Which accesses may touch one element is asked of autodiff/facts/element_groups.c.
#include <string.h>

#include "autodiff/deterministic/ordering.h"
#include "autodiff/facts/facts.h"
#include "ir/core/phases.h"

// Kinds of atomics and groups of elements share the 64 bits of a phase: groups whose numbers agree
// modulo SLOTS are taken for one.
enum { KINDS = 8, SLOTS = 64 / KINDS };
_Static_assert(VY_OP_ATOMIC_CAS - VY_OP_ATOMIC_ADD < KINDS, "a bit for each kind");

typedef struct kinds {
    const vy_ordering *o;
    vy_arena arena;
    vy_phases phases;
    uint8_t *chosen; // by buffer: atomics of several kinds
    uint32_t *kind;  // by buffer, or by the group's first access: an atomic's operation
    uint32_t *group; // by access: the first of its group
    uint32_t *slot;  // by the group's first access: 0, or one more than the group's slot
    uint32_t slots;
} kinds;

// An atomic on a buffer that floats are added to, or on an element of a parameter that other
// invocations may change?
static bool counts(const vy_ordering *o, uint32_t id)
{
    const vy_program *p = o->w.p;
    const vy_inst *i = &p->insts.data[id];
    if (!vy_op_is_atomic((vy_op)i->op)) return false;
    return o->use[i->aux] ||
           (vy_is_global(p->buffers.data[i->aux].cls) && vy_strength_of(p, id) < VY_STRENGTH_OWNED);
}

// Marks the buffers that atomics of several kinds change.
static bool find_buffers(kinds *x)
{
    const vy_program *p = x->o->w.p;
    bool any = false;
    for (uint32_t id = 1; id < p->insts.count; id++) {
        const vy_inst *i = &p->insts.data[id];
        if (!counts(x->o, id)) continue;
        if (x->kind[i->aux] && x->kind[i->aux] != i->op) any = (x->chosen[i->aux] = true);
        x->kind[i->aux] = i->op;
    }
    return any;
}

static bool is_chosen(const kinds *x, uint32_t id)
{
    return counts(x->o, id) && x->chosen[x->o->w.p->insts.data[id].aux];
}

// Do barriers order the accesses to the group's elements?  Not where floats are added: those
// additions leave their phases.
static bool has_barriers(const kinds *x, uint32_t group)
{
    const vy_program *p = x->o->w.p;
    for (uint32_t id = group; id < p->insts.count; id++)
        if (x->group[id] == group && vy_adds_floats(p, id)) return false;
    return p->buffers.data[p->insts.data[group].aux].cls == VY_SHARED ||
           vy_one_workgroup(p, &x->o->w.s, x->group, group);
}

static bool refuse(const kinds *x, uint32_t id)
{
    return vy_refuse_order(x->o, id, "use one kind of atomic on it", "other atomics change it too");
}

// Gives each group with several kinds a slot.
static bool find_groups(kinds *x)
{
    const uint32_t n = x->o->w.p->insts.count;
    for (uint32_t id = 1; id < n; id++) {
        const uint32_t group = x->group[id];
        const vy_op op = (vy_op)x->o->w.p->insts.data[id].op;
        if (!is_chosen(x, id)) continue;
        if (!x->kind[group]) x->kind[group] = op;
        if (x->kind[group] == op || x->slot[group]) continue;
        if (!has_barriers(x, group)) return refuse(x, id);
        x->slot[group] = 1 + x->slots++ % SLOTS;
    }
    return true;
}

static uint32_t slot_of(const kinds *x, uint32_t id)
{
    return is_chosen(x, id) ? x->slot[x->group[id]] : 0;
}

static bool check_phases(kinds *x)
{
    const vy_program *p = x->o->w.p;
    for (uint32_t id = 1; id < p->insts.count; id++) {
        const uint32_t slot = slot_of(x, id), kind = p->insts.data[id].op - VY_OP_ATOMIC_ADD;
        if (slot) x->phases.touch[id].updates = UINT64_C(1) << ((slot - 1) * KINDS + kind);
    }
    vy_phases_find(&x->phases);
    vy_phases_fill(&x->phases);
    for (uint32_t id = 1; id < p->insts.count; id++) {
        const uint32_t slot = slot_of(x, id);
        const uint64_t others = x->phases.phase[id].updates & ~x->phases.touch[id].updates;
        if (slot && others >> (slot - 1) * KINDS & ((1u << KINDS) - 1)) return refuse(x, id);
    }
    return true;
}

static bool make_tables(kinds *x)
{
    const vy_program *p = x->o->w.p;
    const size_t n = p->insts.count > p->buffers.count ? p->insts.count : p->buffers.count;
    x->chosen = vy_arena_alloc(&x->arena, p->buffers.count);
    x->kind = vy_arena_alloc(&x->arena, n * sizeof *x->kind);
    x->group = vy_arena_alloc(&x->arena, n * sizeof *x->group);
    x->slot = vy_arena_alloc(&x->arena, n * sizeof *x->slot);
    return x->chosen && x->kind && x->group && x->slot;
}

static bool check(kinds *x)
{
    const vy_program *p = x->o->w.p;
    if (!make_tables(x)) return vy_fail_oom(x->o->m), false;
    if (!find_buffers(x)) return true;
    memset(x->kind, 0, p->insts.count * sizeof *x->kind);
    if (!vy_element_groups(p, &x->o->w.s, x->chosen, x->group) ||
        !vy_phases_make(&x->phases, p, &x->o->w.s, &x->arena))
        return vy_fail_oom(x->o->m), false;
    return find_groups(x) && (!x->slots || check_phases(x));
}

bool vy_check_kinds(const vy_ordering *o)
{
    kinds x = {.o = o};
    const bool ok = check(&x);
    vy_arena_free(&x.arena);
    return ok;
}
