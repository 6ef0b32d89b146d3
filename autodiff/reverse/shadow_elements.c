// SPDX-License-Identifier: MIT
// shadow_elements.c: reads, clears and marks the shadow of one element (see shadow.c).  params.c
// declares shadows: each is a parameter or array like its adjoint.
#include "autodiff/reverse/sweeps.h"

static uint32_t as_bit(reverse *r, uint32_t condition)
{
    return vy_cast(r->b, VY_U32, (vy_value){condition}).id;
}

static uint32_t rank_of(const reverse *r, uint32_t shadow)
{
    return vy_builder_program(r->b)->buffers.data[shadow].rank;
}

uint32_t vy_shadow_read(reverse *r, uint32_t buffer, const uint32_t *index)
{
    uint32_t shadow = r->build.buffers[buffer].shadow, rank = rank_of(r, shadow);
    vy_value seen = {vy_emit(r->b, VY_OP_LOAD, VY_U32, shadow, rank, index)};
    return vy_ne(r->b, seen, vy_zero(r->b, VY_U32)).id;
}

void vy_shadow_clear(reverse *r, uint32_t buffer, const uint32_t *index)
{
    uint32_t args[VY_MAX_RANK + 1], rank = rank_of(r, r->build.buffers[buffer].shadow);
    for (uint32_t k = 0; k < rank; k++) args[k] = index[k];
    args[rank] = vy_zero(r->b, VY_U32).id;
    vy_emit(r->b, VY_OP_STORE, VY_VOID, r->build.buffers[buffer].shadow, rank + 1, args);
}

// All invocations that read an element mark it: atomically, unless no other one touches it.
void vy_shadow_mark(reverse *r, uint32_t buffer, const uint32_t *index, uint32_t condition,
                    bool alone)
{
    uint32_t shadow = r->build.buffers[buffer].shadow;
    uint32_t args[VY_MAX_RANK + 1], rank = rank_of(r, shadow);
    const vy_scalar *k = vy_id_const(vy_builder_program(r->b), condition);
    if (k && !k->u) return;
    for (uint32_t d = 0; d < rank; d++) args[d] = index[d];
    args[rank] = as_bit(r, condition);
    if (!alone) {
        vy_emit(r->b, VY_OP_ATOMIC_OR, VY_U32, shadow, rank + 1, args);
        return;
    }
    if (!k) {
        uint32_t have = vy_emit(r->b, VY_OP_LOAD, VY_U32, shadow, rank, args);
        args[rank] = vy_emit(r->b, VY_OP_OR, VY_U32, 0, 2, (uint32_t[]){have, args[rank]});
    }
    vy_emit(r->b, VY_OP_STORE, VY_VOID, shadow, rank + 1, args);
}
