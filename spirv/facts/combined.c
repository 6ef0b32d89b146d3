// SPDX-License-Identifier: MIT
// combined.c: additions whose lanes are likely to name one element when they add.
//
//   for k in rev(0..end) { if k < mine { … atomic_add(g[order[k]], v) … } }      splats of a tile
//   if x > 0 { atomic_add(loss[0], x) }
//
// Which lanes add is known only when the program runs, so no subgroup operation of the program
// could do it (ir/pass/sums/subgroup_reduce.c, which runs before and takes what an entire workgroup
// adds).  A device's reductions take the lanes that are active as they are: those sum up, and one
// adds the sum (emit_atomics.c).  That they name one element is asked for then; here is a guess
// which additions are worth asking, where each index is made of what is equal among lanes of a
// subgroup that are side by side (uniform.c).  Additions by one invocation have no others to meet:
// arms of `i == 3`, or of the leader of a sum.  n log n at most.
#include "spirv/facts/facts.h"
#include "ir/core/access.h"
#include "ir/core/flow.h"

#include <string.h>

static bool adds_in_subgroups(vy_type t)
{
    return t == VY_F32 || t == VY_F64 || t == VY_I32 || t == VY_U32;
}

// Is it `==` of something that each lane has its own of?
static bool picks_one(const vy_program *p, const bool *equal, uint32_t condition)
{
    if (VY_IS_LEAF(condition) || p->insts.data[condition].op != VY_OP_EQ) return false;
    return !vy_is_uniform(p, equal, vy_arg(p, condition, 0)) ||
           !vy_is_uniform(p, equal, vy_arg(p, condition, 1));
}

static bool is_alone(const vy_program *p, const vy_structure *s, const bool *equal, uint32_t id)
{
    for (uint32_t c = s->parent[id]; c; c = s->parent[c])
        if (p->insts.data[c].op == VY_OP_IF && picks_one(p, equal, vy_arg(p, c, 0))) return true;
    return false;
}

static bool is_worth_asking(const vy_program *p, const bool *equal, uint32_t id)
{
    const vy_buf *b = &p->buffers.data[p->insts.data[id].aux];
    if (!vy_is_global(b->cls) || !adds_in_subgroups(b->type)) return false;
    for (uint32_t k = 0; k < b->rank; k++)
        if (!vy_is_uniform(p, equal, vy_arg(p, id, k))) return false;
    return true;
}

static bool is_candidate(const vy_program *p, const uint32_t *uses, uint32_t id)
{
    return p->insts.data[id].op == VY_OP_ATOMIC_ADD && !uses[id] &&
           vy_strength_of(p, id) == VY_STRENGTH_ATOMIC;
}

static void choose(const vy_program *p, const vy_structure *s, const bool *equal,
                   const uint32_t *uses, bool *combined)
{
    for (uint32_t id = 1; id < p->insts.count; id++)
        combined[id] = is_candidate(p, uses, id) && is_worth_asking(p, equal, id) &&
                       !is_alone(p, s, equal, id);
}

bool *vy_combined_make(const vy_program *p)
{
    vy_structure s;
    const size_t n = p->insts.count + 1;
    if (!vy_structure_make(p, &s)) return NULL;
    uint32_t *uses = vy_realloc(NULL, n * sizeof *uses);
    bool *equal = vy_uniform_make(p, VY_EQUAL), *combined = vy_realloc(NULL, n);
    const bool ok = uses && equal && combined;
    if (ok) {
        memset(uses, 0, n * sizeof *uses);
        memset(combined, 0, n);
        vy_count_uses(p, uses);
        choose(p, &s, equal, uses, combined);
    } else {
        vy_free(combined);
    }
    vy_free(uses);
    vy_free(equal);
    vy_structure_free(&s);
    return ok ? combined : NULL;
}
