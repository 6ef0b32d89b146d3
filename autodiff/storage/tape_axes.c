// SPDX-License-Identifier: MIT
// tape_axes.c: over which loops a taped value varies.
//
//   for o in 0..O {
//       for k in 0..K { s += w[o, k] * h[k]; }        h[k] is taped: K elements, not O·K
//   }
//
// A value that is the same in every iteration of a loop, with the iterations of the loops inside it
// given, is kept once for all of them: the loop is no axis of its tape.  Every iteration would
// record the same; where the first surely records everything, it alone does.
//
// Only the memory of local arrays is known not to change here.  Each loop with taped values is
// walked once, so the work is the number of instructions times their nesting.
#include "autodiff/core/reverse.h"
#include "autodiff/storage/storage.h"
#include "ir/core/access.h"
#include "ir/core/flow.h"

enum {
    MOST_LOOPS = 32,     // around a value: a bit each
    MOST_WORK = 1 << 24, // instructions × nesting: beyond, all loops are axes
    VALUE = 1,           // differs between iterations of the loop
    BOUNDS = 2,          // of a nested loop: how often it runs does
};

typedef struct axes {
    reverse *r;
    uint8_t *varies;  // by instruction, in the loop being walked: VALUE, BOUNDS
    uint32_t *writes; // by buffer: the last loop walked that writes to it
    uint8_t *asked;   // by loop: there are taped values inside
} axes;

static bool varies(const axes *x, uint32_t loop, uint32_t id)
{
    return !VY_IS_LEAF(id) && id >= loop && (x->varies[id] & VALUE);
}

static bool any_varies(const axes *x, uint32_t loop, uint32_t id, uint32_t n)
{
    for (uint32_t k = 0; k < n; k++)
        if (varies(x, loop, vy_arg(x->r->p, id, k))) return true;
    return false;
}

// Does the arm that an IF's RESULT comes from, or what it yields, vary?
static bool choice_varies(const axes *x, uint32_t loop, uint32_t id)
{
    const vy_program *p = x->r->p;
    uint32_t then, other;
    const uint32_t choice = vy_choice(p, &x->r->facts.s, id, &then, &other);
    return !choice || varies(x, loop, vy_arg(p, choice, 0)) || varies(x, loop, then) ||
           varies(x, loop, other);
}

static uint8_t loop_varies(const axes *x, uint32_t loop, uint32_t id)
{
    const vy_program *p = x->r->p;
    const bool value = varies(x, loop, vy_arg(p, id, 0)) || varies(x, loop, vy_arg(p, id, 2));
    const bool bounds = value || varies(x, loop, vy_arg(p, id, 1)) || vy_exits(p, id);
    return (uint8_t)((value ? VALUE : 0) | (bounds ? BOUNDS : 0));
}

static uint8_t walk_one(const axes *x, uint32_t loop, uint32_t id)
{
    const vy_program *p = x->r->p;
    const vy_inst *i = &p->insts.data[id];
    const vy_op op = (vy_op)i->op;
    if (op == VY_OP_LOOP) return loop_varies(x, loop, id);
    if (op == VY_OP_RESULT) return choice_varies(x, loop, id) ? VALUE : 0;
    if (op == VY_OP_LOAD && (p->buffers.data[i->aux].cls != VY_LOCAL || x->writes[i->aux] == loop))
        return VALUE;
    if (op != VY_OP_LOAD && vy_op_infos[op].effect != VY_PURE) return VALUE;
    return any_varies(x, loop, id, i->nargs) ? VALUE : 0;
}

static void walk(axes *x, uint32_t loop)
{
    const vy_program *p = x->r->p;
    const uint32_t end = x->r->facts.s.partner[loop];
    for (uint32_t id = loop; id < end; id++) {
        const vy_inst *i = &p->insts.data[id];
        if (vy_op_is_memory((vy_op)i->op) && i->op != VY_OP_LOAD) x->writes[i->aux] = loop;
    }
    x->varies[loop] = VALUE;
    for (uint32_t id = loop + 1; id < end; id++) x->varies[id] = walk_one(x, loop, id);
}

// Does the first iteration of the loop record all that any iteration would?  Not where a condition
// is between them, or another loop that may run more often later.
static bool first_records_all(const axes *x, uint32_t loop, uint32_t id)
{
    const vy_program *p = x->r->p;
    for (uint32_t up = x->r->facts.s.parent[id]; up != loop; up = x->r->facts.s.parent[up])
        if (p->insts.data[up].op != VY_OP_LOOP || x->varies[up] & BOUNDS) return false;
    return true;
}

// Decides for the taped values inside a loop that was walked.
static void decide(axes *x, uint32_t loop)
{
    reverse *r = x->r;
    for (uint32_t id = loop + 1; id < r->facts.s.partner[loop]; id++) {
        if (!vy_is_taped(r, id) || x->varies[id] & VALUE) continue;
        uint32_t k = 0;
        for (uint32_t l = r->facts.home[id]; l != loop; l = r->facts.home[l]) k++;
        if (k >= MOST_LOOPS) continue;
        r->build.same_in[id] |= 1u << k;
        if (first_records_all(x, loop, id)) r->build.first_in[id] |= 1u << k;
    }
}

static bool is_too_much(const axes *x)
{
    uint64_t work = 0;
    for (uint32_t id = 1; id < x->r->p->insts.count; id++) work += x->r->facts.s.depth[id];
    return work > MOST_WORK;
}

static void mark_loops(axes *x)
{
    const reverse *r = x->r;
    for (uint32_t id = 1; id < r->p->insts.count; id++)
        for (uint32_t l = vy_is_taped(r, id) ? r->facts.home[id] : 0; l && !x->asked[l];
             l = r->facts.home[l])
            x->asked[l] = 1;
}

bool vy_tape_axes(reverse *r)
{
    vy_arena arena = {0};
    const uint32_t n = r->p->insts.count;
    axes x = {.r = r};
    if (r->p->host || is_too_much(&x)) return true;
    x.varies = vy_arena_alloc(&arena, n);
    x.asked = vy_arena_alloc(&arena, n);
    x.writes = vy_arena_alloc(&arena, r->p->buffers.count * sizeof *x.writes);
    const bool ok = x.varies && x.asked && x.writes;
    if (ok) mark_loops(&x);
    for (uint32_t loop = 1; ok && loop < n; loop++) {
        if (!x.asked[loop] || r->p->insts.data[loop].op != VY_OP_LOOP) continue;
        walk(&x, loop);
        decide(&x, loop);
    }
    vy_arena_free(&arena);
    return ok;
}

bool vy_tape_has_axis(const reverse *r, uint32_t id, uint32_t k)
{
    return k >= MOST_LOOPS || !(r->build.same_in[id] >> k & 1);
}

bool vy_tape_waits(const reverse *r, uint32_t id, uint32_t k)
{
    return k < MOST_LOOPS && r->build.same_in[id] >> k & r->build.first_in[id] >> k & 1;
}
