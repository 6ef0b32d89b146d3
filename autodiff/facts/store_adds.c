// SPDX-License-Identifier: MIT
// store_adds.c: stores that add to what is there.
//
//   v = B[i] + e;  B[i] = v           ē += B̄[i]
//
// Reversed instruction by instruction this takes B̄[i] out at the store and puts it back at the
// load.  Then the adjoint of a sum in memory would be written in every iteration of a loop in which it
// does not change, and no program over elements could read it (gather.h).  So the store does not
// clear, and the load does not add: what they hand on is the same.
//
// Which stores those are ir/facts/addition.h says: plain additions, of floats here.
#include "autodiff/facts/facts.h"
#include "ir/facts/addition.h"

bool vy_additions(grad_facts *f)
{
    const vy_program *p = f->p;
    vy_arena arena = {0};
    vy_addition_facts facts;
    vy_addition found;
    bool ok = vy_addition_facts_make(&facts, p, &f->s, &arena);
    for (uint32_t id = 1; ok && id < p->insts.count; id++) {
        if (p->insts.data[id].op != VY_OP_STORE || !vy_addition_at(&facts, id, &found)) continue;
        if (vy_type_is_float(p->buffers.data[p->insts.data[id].aux].type))
            f->adds[found.load] = f->adds[found.store] = 1;
    }
    vy_arena_free(&arena);
    return ok;
}
