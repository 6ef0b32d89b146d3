// SPDX-License-Identifier: MIT
// invariant_results.c: what every iteration of a loop sets to the same value need not be carried through it.
//
//   var any = false;                        for c in 0..C { … }
//   for c in 0..C { …; any = true; }   →    let any = 0 < C;
//
// Masks of a gradient are like this (autodiff/facts/masks.c): a value was used if the loop ran at all.  After
// the loop the variable is the value if there was an iteration, else what it was before; this says so
// and leaves the slot, now unused, to dce and cleanup.
//
// And what can only become what it was stays it: `v = c` before, `v = c || v` in the loop.
//
// The first only for counted loops that are not left early, values from before the loop, and variables that the body
// does not read (or the first iteration would read another value than the rest).  Needs valid structure;
// keeps order, lines and names.
#include "ir/pass/pass.h"
#include "ir/core/flow.h"

#include <string.h>

typedef struct settle {
    const vy_program *p;
    vy_structure s;
    uint8_t *used; // CARRYs that something reads
    uint32_t *map;
} settle;

// The slot of RESULT `id` takes the same value in every iteration.
static bool settled(const settle *x, uint32_t id)
{
    const vy_program *p = x->p;
    uint32_t end = vy_arg(p, id, 0), k = p->insts.data[id].aux;
    if (p->insts.data[end].op != VY_OP_ENDLOOP) return false;
    uint32_t loop = x->s.partner[end];
    if (p->insts.data[loop].op != VY_OP_LOOP || vy_exits(p, loop)) return false;
    uint32_t next = vy_arg(p, end, k);
    return (VY_IS_LEAF(next) || next < loop) && !x->used[loop + 1 + k];
}

// CARRY `id` is its initial value for ever: x = c, then x = c || x.
static bool constant(const settle *x, uint32_t id)
{
    const vy_program *p = x->p;
    uint32_t loop = vy_arg(p, id, 0), k = p->insts.data[id].aux;
    uint32_t initial = vy_arg(p, loop, vy_init_arg(p, loop) + k);
    uint32_t next = vy_arg(p, x->s.partner[loop], vy_next_arg(p, loop) + k);
    if (VY_IS_LEAF(next)) return false;
    vy_op op = (vy_op)p->insts.data[next].op;
    if (op != VY_OP_OR && op != VY_OP_AND) return false;
    uint32_t a = vy_arg(p, next, 0), b = vy_arg(p, next, 1);
    return (a == initial && b == id) || (a == id && b == initial);
}

// Does instruction `id` read operand k?  A loop hands on what its body or somebody behind it reads.
static bool reads(const settle *x, uint32_t id, uint32_t k)
{
    const vy_program *p = x->p;
    if (!vy_is_loop((vy_op)p->insts.data[id].op) || k < vy_init_arg(p, id)) return true;
    uint32_t slot = k - vy_init_arg(p, id);
    return x->used[id + 1 + slot] || x->used[x->s.partner[id] + 1 + slot];
}

static void find_used(settle *x)
{
    for (uint32_t id = x->p->insts.count; id-- > 1;)
        for (uint32_t k = 0; k < x->p->insts.data[id].nargs; k++) {
            uint32_t a = vy_arg(x->p, id, k);
            if (!VY_IS_LEAF(a) && reads(x, id, k)) x->used[a] = 1;
        }
}

// Behind the RESULTs of a loop: what its settled ones are.
static void replace(settle *x, vy_builder *b, uint32_t end, uint32_t count)
{
    const vy_program *p = x->p;
    uint32_t loop = x->s.partner[end];
    vy_value from = {vy_map(x->map, vy_arg(p, loop, 0))}, to = {vy_map(x->map, vy_arg(p, loop, 1))};
    for (uint32_t k = 0; k < count && !vy_builder_failed(b); k++) {
        uint32_t id = end + 1 + k;
        if (!settled(x, id)) continue;
        vy_value next = {vy_map(x->map, vy_arg(p, end, k))};
        vy_value initial = {vy_map(x->map, vy_arg(p, loop, vy_init_arg(p, loop) + k))};
        vy_value v = vy_select(b, vy_lt(b, from, to), next, initial);
        vy_pass_name(b, p, id, v.id);
        x->map[id] = v.id;
    }
}

static bool rebuild(settle *x, vy_program *p)
{
    vy_builder *b = vy_rebuild_begin(p);
    for (uint32_t id = 1; b && id < p->insts.count && !vy_builder_failed(b); id++) {
        vy_copy_inst(b, p, id, x->map);
        const vy_inst *i = &p->insts.data[id];
        if (i->op == VY_OP_CARRY && constant(x, id)) {
            uint32_t loop = vy_arg(p, id, 0);
            x->map[id] = vy_map(x->map, vy_arg(p, loop, vy_init_arg(p, loop) + i->aux));
        }
        if (i->op != VY_OP_RESULT) continue;
        uint32_t end = vy_arg(p, id, 0), count = id - end;
        bool last = id + 1 == p->insts.count || p->insts.data[id + 1].op != VY_OP_RESULT ||
                    vy_arg(p, id + 1, 0) != end;
        if (last && p->insts.data[end].op == VY_OP_ENDLOOP) replace(x, b, end, count);
    }
    return b && vy_pass_finish(b, p);
}

// One round; *any: there was something to do.
static bool round_of(vy_program *p, bool *any)
{
    settle x = {.p = p};
    x.used = vy_realloc(NULL, p->insts.count);
    x.map = vy_realloc(NULL, p->insts.count * sizeof *x.map);
    bool ok = x.used && x.map && vy_structure_make(p, &x.s);
    *any = false;
    if (ok) {
        memset(x.used, 0, p->insts.count);
        memset(x.map, 0, p->insts.count * sizeof *x.map);
        find_used(&x);
        for (uint32_t id = 1; id < p->insts.count; id++) {
            vy_op op = (vy_op)p->insts.data[id].op;
            *any |= op == VY_OP_RESULT && x.used[id] && settled(&x, id);
            *any |= op == VY_OP_CARRY && x.used[id] && constant(&x, id);
        }
        ok = !*any || rebuild(&x, p);
    }
    if (!ok) vy_fail_oom(p->module); // unless something else was said before
    vy_structure_free(&x.s);
    vy_free(x.used);
    vy_free(x.map);
    return ok;
}

// A round for each loop of a nest, from the inside.
bool vy_pass_settle(vy_program *p, vy_pass_context *c)
{
    bool any = true, ok = true;
    for (int round = 0; ok && any && round < 4; round++) {
        ok = round_of(p, &any);
        c->changed |= any;
    }
    return ok;
}
