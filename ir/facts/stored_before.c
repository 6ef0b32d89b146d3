// SPDX-License-Identifier: MIT
// stored_before.c: stores that surely precede a load of the same element.
//
//   for k in 0..n { if c[k] { for j in 0..k     { t[k, j] = …; } } }
//   for k in rev(0..n) { if c[k] { for j in rev(0..k) { … t[k, j] … } } }
//
// A store and a load have some constructs around both of them, in one iteration of which the store
// comes first, and each has constructs of its own.  Index by index the two are compared; where the
// store has the variable of a loop of its own, it is *paired* with the loop whose variable the load
// has there.  Then there is an iteration of the store's loops with the same variables, and it is
// executed if
//
// - each of the store's own loops is paired with one of the same values, in whatever order: its
//   bounds are compared in the same way, as they may name outer loops, and it does not exit early,
//   or the load's ends where it has counted to (`n += 1;` in each iteration);
// - each of the store's own conditions is one that holds around the load, too.
//
// Two values are equal if they are one, which is then computed where both see it; if they are
// variables of paired loops; or if one operation is applied to equal ones, which has no effect and
// is not of floats, or loads from an `in` buffer.
//
// Not found: what is stored under a condition, or so often, as memory says that may have changed.
#include "ir/facts/stored_before.h"
#include "ir/core/flow.h"

#include <string.h>

enum {
    MOST_PAIRS = 16,   // loops around a store
    MOST_STORES = 16,  // to compare with a load, of those with the same constants as indices
    MOST_VALUES = 256, // to compare for a store and a load
};

typedef struct pairing {
    const vy_program *p;
    const vy_structure *s;
    uint32_t store, load;
    uint32_t of_store[MOST_PAIRS], of_load[MOST_PAIRS]; // loops
    uint32_t count;
    uint32_t left; // of MOST_VALUES
} pairing;

// ------------------------------------------------------------------------------------------ tables
// By the buffer and the indices that are constants: the slots of a tape.
static uint32_t bucket_of(const vy_stored_before *x, uint32_t access)
{
    const vy_program *p = x->p;
    const uint32_t buffer = p->insts.data[access].aux;
    uint64_t hash = buffer;
    for (uint32_t k = 0; k < p->buffers.data[buffer].rank; k++) {
        const vy_scalar *v = vy_id_const(p, vy_arg(p, access, k));
        hash = (hash ^ (v ? v->u + 1 : 0)) * 0x9e3779b97f4a7c15u;
        hash ^= hash >> 29;
    }
    return (uint32_t)(hash % x->buckets);
}

bool vy_stored_before_make(vy_stored_before *x, const vy_program *p, vy_arena *arena)
{
    *x = (vy_stored_before){.p = p, .buckets = p->insts.count};
    x->first = vy_arena_alloc(arena, x->buckets * sizeof *x->first);
    x->next = vy_arena_alloc(arena, p->insts.count * sizeof *x->next);
    if (!x->first || !x->next || !vy_structure_make(p, &x->s)) return false;
    for (uint32_t id = 1; id < p->insts.count; id++) {
        if (p->insts.data[id].op != VY_OP_STORE) continue;
        const uint32_t bucket = bucket_of(x, id);
        x->next[id] = x->first[bucket];
        x->first[bucket] = id;
    }
    return true;
}

void vy_stored_before_free(vy_stored_before *x) { vy_structure_free(&x->s); }

// ------------------------------------------------------------------------------------ equal values
static bool encloses(const pairing *x, uint32_t opener, uint32_t id)
{
    return opener < id && id < vy_closer(x->p, x->s, opener);
}

// Pairs loop `a` of the store with loop `b` of the load, if neither contradicts what is paired.
static bool pair(pairing *x, uint32_t a, uint32_t b)
{
    for (uint32_t k = 0; k < x->count; k++)
        if (x->of_store[k] == a) return x->of_load[k] == b;
    if (x->count == MOST_PAIRS) return false;
    x->of_store[x->count] = a;
    x->of_load[x->count++] = b;
    return true;
}

// Does it compute the same bits from the same operands wherever it is?  A device may round floats
// differently in two places.
static bool is_repeatable(const vy_program *p, const vy_inst *i)
{
    if (i->op == VY_OP_LOAD) return p->buffers.data[i->aux].cls == VY_IN;
    return vy_op_infos[i->op].effect == VY_PURE && !vy_type_is_float((vy_type)i->type);
}

// Is `a`, as the store sees it, the value that the load sees as `b`?
static bool same(pairing *x, uint32_t a, uint32_t b)
{
    if (a == b) return true;
    if (VY_IS_LEAF(a) || VY_IS_LEAF(b) || !x->left) return false;
    x->left--;
    const vy_inst *i = &x->p->insts.data[a], *o = &x->p->insts.data[b];
    if (i->op != o->op || i->type != o->type) return false;
    if (i->op == VY_OP_LOOP) return !encloses(x, a, x->load) && pair(x, a, b);
    if (i->aux != o->aux || i->nargs != o->nargs || !is_repeatable(x->p, i)) return false;
    for (uint32_t k = 0; k < i->nargs; k++)
        if (!same(x, vy_arg(x->p, a, k), vy_arg(x->p, b, k))) return false;
    return true;
}

static bool same_element(pairing *x)
{
    const uint32_t rank = x->p->buffers.data[x->p->insts.data[x->store].aux].rank;
    for (uint32_t k = 0; k < rank; k++)
        if (!same(x, vy_arg(x->p, x->store, k), vy_arg(x->p, x->load, k))) return false;
    return true;
}

// -------------------------------------------------------------------------------------- constructs
static bool is_one(const vy_program *p, uint32_t id)
{
    const vy_scalar *v = vy_id_const(p, id);
    return v && v->u == 1;
}

// Is `end` what the loop's variable would be after the last iteration, counted by the loop itself?
static bool is_counted_end(const pairing *x, uint32_t loop, uint32_t end)
{
    const vy_program *p = x->p;
    if (VY_IS_LEAF(end) || p->insts.data[end].op != VY_OP_RESULT) return false;
    if (vy_opener(p, x->s, end) != loop || p->insts.data[loop].flags & VY_FLAG_REVERSE)
        return false;
    const uint32_t k = p->insts.data[end].aux, next = vy_slot_next(p, x->s, loop, k);
    if (vy_slot_init(p, loop, k) != vy_arg(p, loop, 0) || !is_one(p, vy_arg(p, loop, 2)))
        return false;
    if (VY_IS_LEAF(next) || p->insts.data[next].op != VY_OP_ADD) return false;
    return vy_arg(p, next, 0) == vy_carry(loop, k) && is_one(p, vy_arg(p, next, 1));
}

// Does the store's loop run all iterations of the one that it is paired with?
static bool runs_all(pairing *x, uint32_t loop)
{
    uint32_t k = 0;
    while (k < x->count && x->of_store[k] != loop) k++;
    if (k == x->count) return false;
    const uint32_t other = x->of_load[k], end = vy_arg(x->p, other, 1);
    if (!same(x, vy_arg(x->p, loop, 0), vy_arg(x->p, other, 0))) return false;
    if (!same(x, vy_arg(x->p, loop, 2), vy_arg(x->p, other, 2))) return false;
    return vy_exits(x->p, loop) ? is_counted_end(x, loop, end)
                                : same(x, vy_arg(x->p, loop, 1), end);
}

// Does the condition of `arm`, an IF, hold around the load, in the same way?
static bool holds(pairing *x, uint32_t arm)
{
    const bool then = vy_in_then(x->s, arm, x->store);
    for (uint32_t up = x->s->parent[x->load]; up; up = x->s->parent[up]) {
        if (x->p->insts.data[up].op != VY_OP_IF || vy_in_then(x->s, up, x->load) != then) continue;
        if (same(x, vy_arg(x->p, arm, 0), vy_arg(x->p, up, 0))) return true;
    }
    return false;
}

// Is the store executed in the iteration that has the load's variables?
static bool is_executed(pairing *x)
{
    for (uint32_t up = x->s->parent[x->store]; up; up = x->s->parent[up]) {
        const uint16_t op = x->p->insts.data[up].op;
        if (encloses(x, up, x->load)) return true; // and what is around both
        const bool ok = op == VY_OP_LOOP ? runs_all(x, up)
                        : op == VY_OP_IF ? holds(x, up)
                                         : op == VY_OP_CHECKPOINT;
        if (!ok) return false;
    }
    return true;
}

static bool precedes(const vy_stored_before *x, uint32_t store, uint32_t load)
{
    pairing pairs = {.p = x->p, .s = &x->s, .store = store, .load = load, .left = MOST_VALUES};
    return !vy_in_different_arms(x->p, &x->s, store, load) && same_element(&pairs) &&
           is_executed(&pairs);
}

bool vy_is_stored_before(const vy_stored_before *x, uint32_t load)
{
    const uint32_t buffer = x->p->insts.data[load].aux;
    uint32_t tried = 0;
    for (uint32_t id = x->first[bucket_of(x, load)]; id; id = x->next[id]) {
        if (id > load || x->p->insts.data[id].aux != buffer) continue;
        if (precedes(x, id, load)) return true;
        if (++tried == MOST_STORES) return false;
    }
    return false;
}
