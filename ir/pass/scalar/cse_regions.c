// SPDX-License-Identifier: MIT
// cse_regions.c: common-subexpression elimination of entire constructs without side effects.
//
//   if c { s = sin x, p = s * y } else { p = 0 }       if c { s = sin x, p = s * y } else { p = 0 }
//   …                                               →  …
//   if c { t = sin x, q = t * y } else { q = 0 }       q = p
//
// The builder shares single values; a function that branches and is called twice with equal
// arguments (for a row of a Jacobian each), or a loop that sums the same numbers twice, is an IF or
// LOOP with a body.  Two are equal if their instructions are pairwise equal, where operands must be
// the same value outside or the corresponding instruction inside.  Nothing in them may write or
// synchronise, and nothing executed between them may write what they load; so if the second is in a
// loop that does not contain the first, that entire loop counts.
//
// A hash of the operations and outer operands finds candidates, only the last one of each kind, so
// this is near-linear.  Needs valid structure; keeps order, lines and names.
#include "ir/facts/memory.h"
#include "ir/pass/pass.h"

#include <string.h>

typedef struct share {
    vy_rewrite w;
    vy_writes writes;
    uint8_t *pure;   // by opener: 1: an IF or LOOP without side effects; 2: with some
    uint32_t *table; // by hash: the last opener that was copied, or 0
    uint32_t mask;
    bool changed;
} share;

static uint32_t end_of(const share *x, uint32_t opener)
{
    return vy_closer(x->w.p, &x->w.s, opener);
}

static void find_pure(share *x)
{
    const vy_program *p = x->w.p;
    for (uint32_t id = 1; id < p->insts.count; id++) {
        vy_op op = (vy_op)p->insts.data[id].op;
        vy_effect effect = vy_op_infos[op].effect;
        if (op == VY_OP_IF || op == VY_OP_LOOP) x->pure[id] = 1;
        if (effect == VY_PURE || effect == VY_CTRL || op == VY_OP_LOAD) continue;
        for (uint32_t up = x->w.s.parent[id]; up && x->pure[up] != 2; up = x->w.s.parent[up])
            x->pure[up] = 2; // and so are those around it
    }
}

// A name for operand `a` of an instruction in the construct, the same for two equal constructs.
static uint32_t operand(const share *x, uint32_t opener, uint32_t a)
{
    if (VY_IS_LEAF(a)) return a;
    return a >= opener ? a - opener : x->w.map[a];
}

static uint32_t hash(const share *x, uint32_t opener)
{
    uint64_t h = 0;
    for (uint32_t id = opener; id <= end_of(x, opener); id++) {
        const vy_inst *i = &x->w.p->insts.data[id];
        h = (h ^ (h >> 31) ^ ((uint64_t)i->op << 32 | i->aux)) * 0x9E3779B97F4A7C15u;
        for (uint32_t k = 0; k < i->nargs; k++)
            h = (h ^ (h >> 29) ^ operand(x, opener, vy_arg(x->w.p, id, k))) * 0xBF58476D1CE4E5B9u;
    }
    return (uint32_t)(h >> 32);
}

// All instructions that may execute between `first` and `second` are between `first` and here: the
// end of the outermost loop around `second` that is not around `first`, whose later iterations
// execute `second` again.
static uint32_t until(const share *x, uint32_t first, uint32_t second)
{
    uint32_t at = end_of(x, second);
    for (uint32_t up = x->w.s.parent[second]; up != x->w.s.parent[first]; up = x->w.s.parent[up])
        if (vy_is_loop((vy_op)x->w.p->insts.data[up].op)) at = x->w.s.partner[up];
    return at;
}

static bool same_inst(const share *x, uint32_t a, uint32_t first, uint32_t second, uint32_t last)
{
    const vy_program *p = x->w.p;
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

// Does `first` dominate `second`: is its region still open there?
static bool visible(const share *x, uint32_t first, uint32_t second)
{
    uint32_t region = x->w.s.parent[first], up = second;
    while (up && x->w.s.parent[up] != region) up = x->w.s.parent[up];
    if (!up) return false;
    const vy_program *p = x->w.p;
    if (!region) return true;
    if (p->insts.data[region].op != VY_OP_IF) return true;
    return vy_in_then(&x->w.s, region, first) == vy_in_then(&x->w.s, region, up); // the same arm
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

// Maps the results of `second` to those of `first`; returns the last instruction thereby done.
static uint32_t reuse(share *x, uint32_t first, uint32_t second)
{
    uint32_t from = end_of(x, first), to = end_of(x, second);
    uint32_t n = vy_slot_count(x->w.p, &x->w.s, second);
    vy_rewrite_slots(&x->w, to, n, x->w.map + from + 1);
    x->changed = true;
    return to + n;
}

static uint32_t instead(void *pass, uint32_t id)
{
    share *x = pass;
    if (x->pure[id] != 1) return 0;
    uint32_t *slot = &x->table[hash(x, id) & x->mask];
    if (*slot && equal(x, *slot, id)) return reuse(x, *slot, id);
    *slot = id;
    return 0;
}

static bool prepare_sharing(share *x)
{
    size_t n = x->w.p->insts.count, size = 16;
    while (size < n / 8) size *= 2;
    x->mask = (uint32_t)size - 1;
    x->pure = vy_rewrite_bytes(&x->w);
    x->table = vy_rewrite_table(&x->w, size * sizeof *x->table);
    return !x->w.oom && vy_writes_make(&x->writes, x->w.p, VY_COUNT_WRITES, &x->w.arena);
}

bool vy_pass_cse_regions(vy_program *p, vy_pass_context *c)
{
    if (!(vy_constructs(p) & (VY_IFS | VY_LOOPS))) return true;
    share x = {0};
    bool ok = vy_rewrite_begin(&x.w, p) && prepare_sharing(&x);
    uint32_t pure = 0;
    if (ok) find_pure(&x);
    for (uint32_t id = 1; ok && id < p->insts.count; id++) pure += x.pure[id] == 1;
    if (pure > 1) vy_rewrite_run(&x.w, instead, &x);
    if (!x.changed) vy_rewrite_drop(&x.w);
    return vy_rewrite_end(&x.w, ok, &c->changed);
}
