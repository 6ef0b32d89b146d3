// SPDX-License-Identifier: MIT
// store_adds.c: additive stores: stores that add to the element's old value.
//
//   v = B[i] + e;  B[i] = v           ē += B̄[i]
//
// Reversed instruction by instruction, the store would load and clear B̄[i] and the load would add
// it back.  Then the adjoint of a sum in memory would be written in every iteration of a loop in
// which it does not change, and no program over elements could read it (gather.h).  So the reversed
// store does not clear, and the reversed load does not add: the contributions are the same.
//
// ir/facts/addition.h finds these stores: plain additions, here only of floats.
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
