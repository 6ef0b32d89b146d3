// SPDX-License-Identifier: MIT
// cse_regions.c: a construct without effect that was computed before is not computed again.
//
//   if c { s = sin x, p = s * y } else { p = 0 }        if c { s = sin x, p = s * y } else { p = 0 }
//   …                                               →   …
//   if c { t = sin x, q = t * y } else { q = 0 }        q = p
//
// The builder shares single values; a function that branches and is called twice with equal arguments (a row of
// a Jacobian each), or a loop that sums the same numbers twice, is an IF or LOOP with a body.  Two are equal if their
// instructions are, one by one, operands being the same value outside or the instruction in the same place inside.
// Nothing in them may write or synchronise, and nothing between them may write what they load: between in the order of
// execution, so that where the second stands in a loop, and the first in front of it, all of that loop counts.
//
// A hash of the outer operands and operations finds candidates, the last one of each kind only, so this is near-linear.
// Needs valid structure; keeps order, lines and names.
#include "ir/facts/memory.h"
#include "ir/pass/pass.h"

#include <string.h>

typedef struct share {
    const vy_program *p;
    vy_structure s;
    vy_writes writes;
    vy_arena arena;
    uint8_t *pure;   // by opener: no effect inside
    uint32_t *map;   // old → new
    uint32_t *table; // by hash: opener that was copied, or 0
    uint32_t mask;
    bool changed;
} share;

static uint32_t end_of(const share *x, uint32_t opener) { return vy_closer(x->p, &x->s, opener); }

static void find_pure(share *x)
{
    const vy_program *p = x->p;
    for (uint32_t id = 1; id < p->insts.count; id++) {
        vy_op op = (vy_op)p->insts.data[id].op;
        vy_effect effect = vy_op_infos[op].effect;
        if (op == VY_OP_IF || op == VY_OP_LOOP) x->pure[id] = 1;
        if (effect == VY_PURE || effect == VY_CTRL || op == VY_OP_LOAD) continue;
        for (uint32_t up = x->s.parent[id]; up && x->pure[up] != 2; up = x->s.parent[up])
            x->pure[up] = 2; // and so are those around it
    }
}

// What operand `a` of something in the construct is, in terms that two equal constructs share.
static uint32_t operand(const share *x, uint32_t opener, uint32_t a)
{
    if (VY_IS_LEAF(a)) return a;
    return a >= opener ? a - opener : x->map[a];
}

static uint32_t hash(const share *x, uint32_t opener)
{
    uint64_t h = 0;
    for (uint32_t id = opener; id <= end_of(x, opener); id++) {
        const vy_inst *i = &x->p->insts.data[id];
        h = (h ^ (h >> 31) ^ ((uint64_t)i->op << 32 | i->aux)) * 0x9E3779B97F4A7C15u;
        for (uint32_t k = 0; k < i->nargs; k++)
            h = (h ^ (h >> 29) ^ operand(x, opener, vy_arg(x->p, id, k))) * 0xBF58476D1CE4E5B9u;
    }
    return (uint32_t)(h >> 32);
}

// What may run between `first` and `second` is between `first` and here: the end of the outermost loop around `second`
// that is not around `first`, whose later iterations come to `second` again.
static uint32_t until(const share *x, uint32_t first, uint32_t second)
{
    uint32_t at = end_of(x, second);
    for (uint32_t up = x->s.parent[second]; up != x->s.parent[first]; up = x->s.parent[up])
        if (vy_is_loop((vy_op)x->p->insts.data[up].op)) at = x->s.partner[up];
    return at;
}

static bool same_inst(const share *x, uint32_t a, uint32_t first, uint32_t second, uint32_t last)
{
    const vy_program *p = x->p;
    const vy_inst *i = &p->insts.data[first + a], *j = &p->insts.data[second + a];
    const uint8_t means = VY_FLAG_EXIT | VY_FLAG_REVERSE;
    if (i->op != j->op || i->type != j->type || i->aux != j->aux || i->nargs != j->nargs)
        return false;
    if (vy_op_opens((vy_op)i->op) && (i->flags & means) != (j->flags & means)) return false;
    for (uint32_t k = 0; k < i->nargs; k++) {
        uint32_t u = vy_arg(p, first + a, k), v = vy_arg(p, second + a, k);
        if (VY_IS_LEAF(u) != VY_IS_LEAF(v) || (!VY_IS_LEAF(u) && (u >= first) != (v >= second)) ||
            operand(x, first, u) != operand(x, second, v))
            return false;
    }
    return i->op != VY_OP_LOAD || !vy_written_between(&x->writes, i->aux, first, last);
}

// Has everything that `second` stands in been open since `first`?
static bool visible(const share *x, uint32_t first, uint32_t second)
{
    uint32_t region = x->s.parent[first], up = second;
    while (up && x->s.parent[up] != region) up = x->s.parent[up];
    if (!up) return false;
    const vy_program *p = x->p;
    if (!region) return true;
    uint32_t middle = x->s.partner[region]; // an IF's ELSE, a WHILE's end: the arm must be the same
    vy_op op = (vy_op)p->insts.data[region].op;
    return op != VY_OP_IF || (first < middle) == (up < middle);
}

static bool equal(const share *x, uint32_t first, uint32_t second)
{
    uint32_t size = end_of(x, first) - first;
    if (end_of(x, second) - second != size || !visible(x, first, second)) return false;
    uint32_t last = until(x, first, second);
    for (uint32_t a = 0; a <= size; a++)
        if (!same_inst(x, a, first, second, last)) return false;
    return true;
}

static uint32_t result_count(const share *x, uint32_t opener)
{
    return vy_slot_count(x->p, &x->s, opener);
}

// Makes the results of `second` those of `first`; the last instruction that is thereby done.
static uint32_t reuse(share *x, vy_builder *b, uint32_t first, uint32_t second)
{
    uint32_t from = end_of(x, first), to = end_of(x, second), n = result_count(x, second);
    for (uint32_t k = 1; k <= n; k++) {
        x->map[to + k] = x->map[from + k];
        vy_pass_name(b, x->p, to + k, x->map[to + k]);
    }
    x->changed = true;
    return to + n;
}

static void rebuild(share *x, vy_builder *b)
{
    const vy_program *p = x->p;
    for (uint32_t id = 1; id < p->insts.count && !vy_builder_failed(b); id++) {
        if (x->pure[id] == 1) {
            uint32_t *slot = &x->table[hash(x, id) & x->mask];
            if (*slot && equal(x, *slot, id)) {
                id = reuse(x, b, *slot, id);
                continue;
            }
            *slot = id;
        }
        vy_copy_inst(b, p, id, x->map);
    }
}

static bool prepare(share *x)
{
    size_t n = x->p->insts.count, size = 16;
    while (size < n / 8) size *= 2;
    x->mask = (uint32_t)size - 1;
    x->pure = vy_arena_alloc(&x->arena, n);
    x->map = vy_arena_alloc(&x->arena, n * sizeof *x->map);
    x->table = vy_arena_alloc(&x->arena, size * sizeof *x->table);
    return x->pure && x->map && x->table && vy_structure_make(x->p, &x->s) &&
           vy_writes_make(&x->writes, x->p, VY_COUNT_WRITES, &x->arena);
}

bool vy_pass_share(vy_program *p, vy_pass_context *c)
{
    share x = {.p = p};
    bool ok = prepare(&x);
    if (!ok) vy_fail_oom(p->module);
    vy_builder *b = NULL;
    if (ok) {
        uint32_t pure = 0;
        find_pure(&x);
        for (uint32_t id = 1; id < p->insts.count; id++) pure += x.pure[id] == 1;
        if (pure > 1) ok = (b = vy_rebuild_begin(p)) != NULL;
    }
    if (b) rebuild(&x, b);
    if (b && !x.changed && !vy_builder_failed(b)) {
        vy_program_abandon(b);
    } else if (b) {
        c->changed = true;
        ok = vy_pass_finish(b, p);
    }
    vy_structure_free(&x.s);
    vy_arena_free(&x.arena);
    return ok;
}
