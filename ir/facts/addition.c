// SPDX-License-Identifier: MIT
// addition.c: additions to elements of memory, and where else they could be made.
#include "ir/facts/addition.h"

enum { MAX_ACCESSES = 64, MAX_TERMS = 16 };

bool vy_addition_facts_make(vy_addition_facts *a, const vy_program *p, const vy_structure *s,
                            vy_arena *arena)
{
    *a = (vy_addition_facts){.p = p, .s = s};
    a->uses = vy_arena_alloc(arena, p->insts.count * sizeof *a->uses);
    if (!a->uses || !vy_writes_make(&a->touched, p, VY_COUNT_READS | VY_COUNT_WRITES, arena))
        return false;
    vy_count_uses(p, a->uses);
    return true;
}

// -------------------------------------------------------------------------------- what is added
static bool untouched(const vy_addition_facts *a, uint32_t load, uint32_t store)
{
    uint32_t memory = vy_memory_of(a->p, a->p->insts.data[store].aux);
    uint32_t next = vy_first_after(&a->touched, memory, load);
    return a->touched.at[next] == store && !vy_barrier_between(&a->touched, load, store);
}

// The load of a sum that is stored to the element it comes from, or 0.  Each value on the way has
// no use but the next one; other terms may be added to it or subtracted from it, but it is not
// subtracted itself.  Everything is in one region.
static uint32_t load_of(const vy_addition_facts *a, uint32_t store)
{
    const vy_program *p = a->p;
    uint32_t stack[MAX_TERMS] = {vy_arg(p, store, vy_rank_of(p, store))}, n = 1;
    while (n) {
        uint32_t id = stack[--n];
        if (VY_IS_LEAF(id) || a->uses[id] != 1 || a->s->parent[id] != a->s->parent[store]) continue;
        const vy_inst *i = &p->insts.data[id];
        if (i->op == VY_OP_LOAD && vy_same_element(p, id, store) && untouched(a, id, store))
            return id;
        if ((i->op != VY_OP_ADD && i->op != VY_OP_SUB) || n + 2 > MAX_TERMS) continue;
        if (i->op == VY_OP_ADD) stack[n++] = vy_arg(p, id, 1);
        stack[n++] = vy_arg(p, id, 0);
    }
    return 0;
}

// What is added to the load, if it is one value.
static uint32_t term_of(const vy_program *p, uint32_t load, uint32_t sum)
{
    if (VY_IS_LEAF(sum) || p->insts.data[sum].op != VY_OP_ADD) return 0;
    uint32_t x = vy_arg(p, sum, 0), y = vy_arg(p, sum, 1);
    return x == load ? y : y == load ? x : 0;
}

bool vy_adds_silently(const vy_addition_facts *a, uint32_t id)
{
    return a->p->insts.data[id].op == VY_OP_ATOMIC_ADD && !a->uses[id];
}

bool vy_addition_at(const vy_addition_facts *a, uint32_t id, vy_addition *out)
{
    const vy_program *p = a->p;
    const vy_op op = (vy_op)p->insts.data[id].op;
    *out = (vy_addition){0};
    if (op != VY_OP_STORE && op != VY_OP_ATOMIC_ADD) return false;
    const uint32_t value = vy_arg(p, id, vy_rank_of(p, id));
    if (op == VY_OP_ATOMIC_ADD) {
        *out = (vy_addition){vy_strength_of(p, id), id, id, value, a->uses[id] > 0};
        return true;
    }
    const vy_type t = p->buffers.data[p->insts.data[id].aux].type;
    const uint32_t load = vy_type_loaded(t) == t ? load_of(a, id) : 0;
    if (load) *out = (vy_addition){VY_STRENGTH_PLAIN, load, id, term_of(p, load, value), false};
    return load != 0;
}

// -------------------------------------------------------------------------- nothing but additions
bool vy_only_added(const vy_addition_facts *a, uint32_t site, uint32_t from, uint32_t to)
{
    const vy_writes *t = &a->touched;
    uint32_t memory = vy_memory_of(a->p, a->p->insts.data[site].aux), seen = 0;
    if (vy_barrier_between(t, from, to)) return false;
    for (uint32_t n = vy_first_after(t, memory, from); n < t->start[memory + 1]; n++) {
        if (t->at[n] >= to) break;
        if (++seen > MAX_ACCESSES || !vy_adds_silently(a, t->at[n])) return false;
    }
    return true;
}

bool vy_only_added_ever(const vy_addition_facts *a, uint32_t m)
{
    for (uint32_t n = a->touched.start[m]; n < a->touched.start[m + 1]; n++)
        if (!vy_adds_silently(a, a->touched.at[n])) return false;
    return true;
}

// -------------------------------------------------------------------------------- around the loops
bool vy_index_invariant(const vy_program *p, uint32_t access, uint32_t loop, uint32_t but)
{
    for (uint32_t k = 0; k < vy_rank_of(p, access); k++) {
        uint32_t index = vy_arg(p, access, k);
        if (k != but && !VY_IS_LEAF(index) && index >= loop) return false;
    }
    return true;
}

uint32_t vy_addition_way_out(const vy_addition_facts *a, uint32_t site, uint32_t from, uint32_t but,
                             bool *sparse)
{
    uint32_t out = 0;
    // Is `site` reached in each iteration of construct c?
    bool certain = from == site || a->s->parent[site] == from;
    for (uint32_t c = a->s->parent[from]; c; c = a->s->parent[c], certain = false) {
        vy_op op = (vy_op)a->p->insts.data[c].op;
        if (op == VY_OP_IF) continue;
        if (op != VY_OP_LOOP || !vy_index_invariant(a->p, site, c, but) ||
            !vy_only_added(a, site, c, a->s->partner[c]))
            break;
        out = c;
        *sparse = !certain;
    }
    return out;
}

static bool is_index(const vy_program *p, uint32_t access, uint32_t value)
{
    for (uint32_t k = 0; k < vy_rank_of(p, access); k++)
        if (vy_arg(p, access, k) == value) return true;
    return false;
}

bool vy_reached_once(const vy_program *p, const vy_structure *s, uint32_t access, bool *iterations)
{
    *iterations = false;
    for (uint32_t up = s->parent[access]; up; up = s->parent[up]) {
        if (!vy_is_loop((vy_op)p->insts.data[up].op)) continue;
        if (p->insts.data[up].op != VY_OP_LOOP || !is_index(p, access, up)) return false;
        *iterations = true;
    }
    return true;
}
