// SPDX-License-Identifier: MIT
// steady_places.c: loads whose last indices stay as they are while a loop runs.
//
//   for o in 0..O { … g[b, o, i - 2, j] … }        (b * O + o) * (I * J) + ((i - 2) * J + j)
//
// The row-major address ((b * O + o) * I + i - 2) * J + j is made anew in each iteration: only the
// indices before o are steady in it.  As a part for (b, o) plus a part for (i, j), the second part
// is made before the loop, and the first one is shared by loads that differ in i or j, in a scalar
// register where lanes have b in common.
//
// By loops whose number of iterations is not known; shorter ones a driver unrolls.  Linear.
#include "spirv/facts/facts.h"
#include "ir/core/access.h"
#include "ir/core/flow.h"

#include <string.h>

typedef struct steady {
    const vy_program *p;
    const vy_structure *s;
    uint32_t *changes; // by value: how many of the long loops around it, from outside, change it
    uint8_t *axes;
} steady;

static uint32_t changes_of(const steady *x, uint32_t id)
{
    return VY_IS_LEAF(id) ? 0 : x->changes[id];
}

static bool is_long(const vy_program *p, uint32_t id)
{
    uint64_t trips;
    return vy_is_loop((vy_op)p->insts.data[id].op) && !vy_constant_trips(p, id, &trips);
}

// Where the first of the indices begin that are steady in the innermost of `loops` long loops; 0:
// none, or all.
static uint8_t first_steady(const steady *x, uint32_t load, uint32_t loops)
{
    const uint32_t rank = vy_rank_of(x->p, load);
    uint32_t k = rank;
    while (k && changes_of(x, vy_arg(x->p, load, k - 1)) < loops) k--;
    return k < rank ? (uint8_t)k : 0;
}

static void find(steady *x)
{
    const vy_program *p = x->p;
    uint32_t loops = 0;
    for (uint32_t id = 1; id < p->insts.count; id++) {
        const vy_inst *i = &p->insts.data[id];
        if (i->op == VY_OP_ENDLOOP) loops -= is_long(p, x->s->partner[id]);
        loops += is_long(p, id);
        const bool made = vy_op_infos[i->op].effect == VY_PURE;
        x->changes[id] = made || (i->op == VY_OP_LOOP && !is_long(p, id)) ? 0 : loops;
        for (uint32_t k = 0; made && k < i->nargs; k++) {
            const uint32_t n = changes_of(x, vy_arg(p, id, k));
            if (n > x->changes[id]) x->changes[id] = n;
        }
        if (i->op == VY_OP_LOAD && loops && i->flags & VY_FLAG_INRANGE)
            x->axes[id] = first_steady(x, id, loops);
    }
}

uint8_t *vy_steady_places_make(const vy_program *p)
{
    vy_structure s;
    vy_arena arena = {0};
    uint8_t *axes = vy_realloc(NULL, p->insts.count + 1);
    uint32_t *changes = vy_arena_room(&arena, p->insts.count, sizeof *changes);
    bool ok = axes && changes && vy_structure_make(p, &s);
    if (ok) {
        memset(axes, 0, p->insts.count + 1);
        find(&(steady){p, &s, changes, axes});
        vy_structure_free(&s);
    } else {
        vy_free(axes);
    }
    vy_arena_free(&arena);
    return ok ? axes : NULL;
}
