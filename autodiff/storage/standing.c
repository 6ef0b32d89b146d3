// SPDX-License-Identifier: MIT
// standing.c: values that need no tape, because they stand in a local array until the end.
//
//   local h: f32[O];
//   for o in 0..O { h[o] = tanh(…); }         the value of tanh, of iteration o, is h[o] ever after
//
// The array lives as long as the invocation, nothing else writes to it, and every loop around the
// store has its variable as an index, so no other iteration stores to the element.  Keeping such a
// value costs only the load.  Nothing stands in an array that the reverse sweep changes (rewind.c).
#include "autodiff/core/reverse.h"
#include "autodiff/storage/storage.h"
#include "ir/core/access.h"
#include "ir/core/flow.h"
#include "ir/facts/range.h"

typedef struct standing {
    const reverse *r;
    uint32_t *store; // by buffer: its only store, as long as it is a local array that may do
    uint8_t *proved; // by instruction: an access in range
} standing;

// Notes each write to a local array: one ZERO at most, before one STORE.
static void find_stores(standing *x)
{
    enum { NONE = UINT32_MAX };
    const vy_program *p = x->r->p;
    for (uint32_t id = 1; id < p->insts.count; id++) {
        const vy_inst *i = &p->insts.data[id];
        if (!vy_op_is_memory((vy_op)i->op) || i->op == VY_OP_LOAD) continue;
        uint32_t *store = &x->store[i->aux];
        const bool first = i->op == VY_OP_ZERO && !x->r->facts.s.parent[id] &&
                           x->r->facts.buffers[i->aux].first_write == id;
        if (first) continue;
        *store = *store || i->op != VY_OP_STORE ? NONE : id;
    }
    for (uint32_t b = 1; b < p->buffers.count; b++)
        if (x->store[b] == NONE || p->buffers.data[b].cls != VY_LOCAL || x->r->plan.rewound[b])
            x->store[b] = 0;
}

// Is each index a number, or the variable of a loop?
static bool has_simple_indices(const vy_program *p, uint32_t store)
{
    for (uint32_t k = 0; k < vy_rank_of(p, store); k++) {
        const uint32_t a = vy_arg(p, store, k);
        if (!VY_IS_LEAF(a) && p->insts.data[a].op != VY_OP_LOOP) return false;
    }
    return true;
}

static bool is_index(const vy_program *p, uint32_t store, uint32_t loop)
{
    for (uint32_t k = 0; k < vy_rank_of(p, store); k++)
        if (vy_arg(p, store, k) == loop) return true;
    return false;
}

// Does the value that the store stores stand there?
static bool stands(const standing *x, uint32_t store, uint32_t value)
{
    const reverse *r = x->r;
    const vy_program *p = r->p;
    const vy_inst *i = &p->insts.data[store];
    if (VY_IS_LEAF(value) || r->facts.s.parent[value] != r->facts.s.parent[store]) return false;
    if (p->insts.data[value].type != p->buffers.data[i->aux].type) return false;
    if (!x->proved[store] || !has_simple_indices(p, store)) return false;
    for (uint32_t l = r->facts.home[store]; l; l = r->facts.home[l])
        if (!is_index(p, store, l)) return false;
    return true;
}

static bool find_all_standing(standing *x, vy_arena *arena)
{
    const vy_program *p = x->r->p;
    x->store = vy_arena_alloc(arena, p->buffers.count * sizeof *x->store);
    x->proved = vy_arena_alloc(arena, p->insts.count);
    if (!x->store || !x->proved) return false;
    find_stores(x);
    if (!vy_prove_ranges(p, &x->r->facts.s, arena, x->proved)) return false;
    for (uint32_t b = 1; b < p->buffers.count; b++) {
        const uint32_t store = x->store[b];
        const uint32_t value = store ? vy_arg(p, store, p->buffers.data[b].rank) : 0;
        if (store && x->r->facts.home[store] && stands(x, store, value))
            x->r->plan.stands[value] = store;
    }
    return true;
}

bool vy_find_standing(reverse *r)
{
    vy_arena arena = {0};
    standing x = {.r = r};
    const bool ok = r->p->host || find_all_standing(&x, &arena);
    vy_arena_free(&arena);
    return ok;
}

uint32_t vy_standing_load(reverse *r, uint32_t id)
{
    const vy_program *p = r->p;
    const uint32_t store = r->plan.stands[id], buffer = p->insts.data[store].aux;
    uint32_t args[VY_MAX_RANK];
    for (uint32_t k = 0; k < vy_rank_of(p, store); k++) args[k] = vy_primal(r, vy_arg(p, store, k));
    return vy_emit(r->b, VY_OP_LOAD, (vy_type)p->insts.data[id].type, r->build.buffers[buffer].copy,
                   vy_rank_of(p, store), args);
}
