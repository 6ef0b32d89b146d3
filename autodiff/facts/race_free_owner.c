// SPDX-License-Identifier: MIT
// race_free_owner.c: buffers each element of which is loaded by at most one invocation, so that
// additions to their adjoints need no atomics.  Proofs: `@owned`, their index maps (injective.c),
// or that the primal has no race:
//
//   out[p[i]] = x[p[i]] * w;
//   grad_x[p[i]] += grad_out[p[i]] * w;       // a plain addition, no atomic
//
// No analysis of p[i] could prove that two invocations never touch the same element, but the
// program says so: if they did, both would store one element of `out`, and a program with a race is
// wrong (docs/language.md 8.3).  So a load of x is exclusive if, wherever it is executed, the same
// invocation also stores, plainly and with the very same index values, to one buffer that all loads
// of x have in common.  Further conditions, and what goes wrong without them:
// - no barrier in the program: invocations may store one element in turn, in different phases;
// - the store is in range, or both buffers have the same shape: a store out of range does nothing,
//   so two of them are no race, and x may be longer;
// - the buffers of the stores have no views: aliasing parameters are not compared here.
//
// All of them exclude other invocations only.  An invocation that reaches an element twice loads,
// adds and stores.

#include "autodiff/facts/facts.h"
#include "ir/core/access.h"
#include "ir/facts/range.h"

#include <string.h>

enum {
    MOST_OWNERS = 4, // candidate owners of one buffer
    MOST_STORES = 64 // of one first index that are tried for one load: keeps the search linear
};

// The buffers whose stores may prove the loads of one buffer.
typedef struct owners {
    uint32_t buffer[MOST_OWNERS];
    uint32_t count;
    bool begun;
} owners;

typedef struct proof {
    const grad_facts *facts;
    const uint32_t *same;  // classes of equal dimensions
    const uint8_t *inside; // by instruction: its indices are in range
    // By instruction, then by leaf: the last plain store whose first index it is.
    uint32_t *first;
    uint32_t *next; // by store: the preceding one with the same first index
    owners *found;  // by buffer
} proof;

static uint32_t slot(const vy_program *p, uint32_t id)
{
    return VY_IS_LEAF(id) ? p->insts.count + VY_LEAF_INDEX(id) : id;
}

// Is the load in an `if` of the same condition, in the arm that `store` is in of `branch`?  The
// reverse sweep has its own `if` for each of the forward sweep.
static bool in_equal_arm(const proof *q, uint32_t load, uint32_t store, uint32_t branch)
{
    const vy_program *p = q->facts->p;
    const vy_structure *s = &q->facts->s;
    const bool then = vy_in_then(s, branch, store);
    for (uint32_t at = s->parent[load]; at; at = s->parent[at])
        if (p->insts.data[at].op == VY_OP_IF && vy_arg(p, at, 0) == vy_arg(p, branch, 0) &&
            vy_in_then(s, at, load) == then)
            return true;
    return false;
}

// Does every invocation that executes `load` execute `store`, in the same iterations of the loops
// around it?
static bool implies(const proof *q, uint32_t load, uint32_t store)
{
    const vy_program *p = q->facts->p;
    const vy_structure *s = &q->facts->s;
    uint32_t region = s->parent[store];
    if (!region) return true;
    if (load < region || load > vy_closer(p, s, region))
        return p->insts.data[region].op == VY_OP_IF && in_equal_arm(q, load, store, region) &&
               implies(q, load, region);
    if (p->insts.data[region].op == VY_OP_IF) // the same arm
        return vy_in_then(s, region, load) == vy_in_then(s, region, store);
    if (p->insts.data[region].op != VY_OP_WHILE) return true;
    for (uint32_t id = load; id < store; id++) // the condition runs once more than the body
        if (p->insts.data[id].op == VY_OP_TEST && s->partner[id] == region) return false;
    return true;
}

static bool same_shape(const proof *q, uint32_t x, uint32_t y)
{
    const vy_buf *a = &q->facts->p->buffers.data[x], *b = &q->facts->p->buffers.data[y];
    if (x == y) return true;
    for (uint32_t k = 0; k < a->rank; k++)
        if (q->same[a->dims[k].id] != q->same[b->dims[k].id]) return false;
    return true;
}

static bool proves(const proof *q, uint32_t load, uint32_t store)
{
    const vy_program *p = q->facts->p;
    uint32_t x = p->insts.data[load].aux, y = p->insts.data[store].aux;
    return vy_same_index(p, load, store, VY_NO_AXIS) && implies(q, load, store) &&
           (q->inside[store] || same_shape(q, x, y));
}

// Narrows the owners of the load's buffer to those whose stores prove this load.
static void narrow_owners(proof *q, uint32_t load)
{
    const vy_program *p = q->facts->p;
    owners *all = &q->found[p->insts.data[load].aux], now = {.begun = true};
    uint32_t store = q->first[slot(p, vy_arg(p, load, 0))];
    for (uint32_t n = 0; store && n < MOST_STORES; n++, store = q->next[store]) {
        uint32_t y = p->insts.data[store].aux, k = 0;
        bool wanted = !all->begun, known = false;
        for (k = 0; k < all->count; k++) wanted |= all->buffer[k] == y;
        for (k = 0; k < now.count; k++) known |= now.buffer[k] == y;
        if (wanted && !known && now.count < MOST_OWNERS && proves(q, load, store))
            now.buffer[now.count++] = y;
    }
    *all = now;
}

// Lists the plain stores by their first index.
static void list_stores(proof *q)
{
    const vy_program *p = q->facts->p;
    for (uint32_t id = 1; id < p->insts.count; id++) {
        const vy_inst *i = &p->insts.data[id];
        if (i->op != VY_OP_STORE || !vy_is_global(p->buffers.data[i->aux].cls)) continue;
        uint32_t *first = &q->first[slot(p, vy_arg(p, id, 0))];
        q->next[id] = *first;
        *first = id;
    }
}

static bool no_phases(const vy_program *p)
{
    for (uint32_t i = 1; i < p->buffers.count; i++)
        if (p->buffers.data[i].view_of) return false;
    for (uint32_t id = 1; id < p->insts.count; id++)
        if (p->insts.data[id].op == VY_OP_BARRIER) return false;
    return true;
}

static bool prove_by_stores(grad_facts *f)
{
    const vy_program *p = f->p;
    if (!no_phases(p)) return true;
    vy_arena arena = {0};
    uint32_t n = p->insts.count;
    uint8_t *inside = vy_arena_alloc(&arena, n);
    proof q = {.facts = f,
               .same = vy_dim_classes(p, &arena),
               .inside = inside,
               .first = vy_arena_alloc(&arena, ((size_t)n + p->leaves.count) * sizeof *q.first),
               .next = vy_arena_alloc(&arena, n * sizeof *q.next),
               .found = vy_arena_alloc(&arena, p->buffers.count * sizeof *q.found)};
    bool ok = q.same && inside && q.first && q.next && q.found &&
              vy_prove_ranges(p, &f->s, &arena, inside);
    if (ok) list_stores(&q);
    for (uint32_t id = 1; ok && id < n; id++)
        if (vy_adds_outside(f, id)) narrow_owners(&q, id);
    for (uint32_t i = 1; ok && i < p->buffers.count; i++)
        f->buffers[i].exclusive = q.found[i].count > 0;
    vy_arena_free(&arena);
    return ok;
}

static bool prove_by_maps(grad_facts *f)
{
    const vy_program *p = f->p;
    uint8_t *sites = vy_realloc(NULL, p->insts.count), *found = vy_realloc(NULL, p->buffers.count);
    bool ok = sites && found;
    for (uint32_t id = 0; ok && id < p->insts.count; id++)
        sites[id] = id && vy_adds_outside(f, id) && !f->buffers[p->insts.data[id].aux].exclusive;
    ok = ok && vy_injective(p, &f->s, sites, false, found);
    for (uint32_t i = 1; ok && i < p->buffers.count; i++) f->buffers[i].exclusive |= found[i];
    vy_free(sites);
    vy_free(found);
    return ok;
}

// `@owned`, as the tapes of a derivative are that is differentiated again.
static bool take_owned(grad_facts *f)
{
    for (uint32_t i = 1; i < f->p->buffers.count; i++)
        f->buffers[i].exclusive |= f->p->buffers.data[i].owned;
    return true;
}

bool vy_exclusive(grad_facts *f) { return prove_by_stores(f) && take_owned(f) && prove_by_maps(f); }
