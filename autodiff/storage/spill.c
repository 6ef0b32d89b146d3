// SPDX-License-Identifier: MIT
// spill.c: adjoints of shared arrays that do not fit into shared memory.
//
// Every device has 16 KiB of it per workgroup.  A result that needs more keeps adjoints, largest
// first, in a workspace instead, where each workgroup has its own slice:
//
//   shared adj_t: f32[64, 64];   →   @workspace adj_t: inout f32[num_groups.z, …y, …x, 64, 64]
//
// Arrays for sums in a fixed order (reverse/sweep_lane_sums.c) become fewer before that, or none.
//
// The same barriers order its accesses, and a workspace starts as zero anyway.  How much a result
// needs is known only after dead-code removal, so it is built again.
#include "autodiff/core/reverse.h"
#include "autodiff/storage/storage.h"

#include <stdio.h>

uint64_t vy_array_bytes(const vy_program *p, const vy_buf *b)
{
    uint64_t n = vy_type_size(b->type);
    for (uint32_t k = 0; k < b->rank; k++) n *= (uint64_t)p->dims.data[b->dims[k].id].value;
    return n;
}

bool vy_shared_bytes(const vy_program *p, uint64_t *bytes)
{
    vy_arena arena = {0};
    uint8_t *used = vy_arena_alloc(&arena, p->buffers.count);
    *bytes = 0;
    for (uint32_t id = 1; used && id < p->insts.count; id++) {
        const vy_inst *i = &p->insts.data[id];
        if (!vy_op_is_memory((vy_op)i->op) || used[i->aux]) continue;
        used[i->aux] = 1;
        const vy_buf *b = &p->buffers.data[i->aux];
        if (b->cls == VY_SHARED) *bytes += vy_array_bytes(p, b);
    }
    vy_arena_free(&arena);
    return used != NULL;
}

static uint64_t adjoint_bytes(const reverse *r, uint32_t buffer)
{
    vy_buf b = r->p->buffers.data[buffer];
    b.type = vy_adjoint_type(r, b.type);
    return vy_array_bytes(r->p, &b);
}

// The largest shared array whose adjoint is still in shared memory, or 0.  In derivatives of
// derivatives, arrays are cleared by their workgroup; a slice cannot be cleared like that.
static uint32_t choose_spilled(const reverse *r)
{
    uint32_t best = 0;
    uint64_t most = 0;
    for (uint32_t i = 1; i < r->p->buffers.count; i++) {
        const vy_buf *b = &r->p->buffers.data[i];
        const buffer_facts *facts = &r->facts.buffers[i];
        const built_buffer *info = &r->build.buffers[i];
        if (b->cls != VY_SHARED || info->kind != ADJ_MEMORY || r->plan.spilled[i] || facts->clears)
            continue;
        uint64_t bytes = adjoint_bytes(r, i);
        if (bytes > most) best = i, most = bytes;
    }
    return best;
}

bool vy_spill(reverse *r, const vy_program *p)
{
    uint64_t bytes;
    bool any = false;
    if (!vy_shared_bytes(p, &bytes)) {
        vy_fail_oom(r->out);
        r->failed = true;
        return false;
    }
    if (bytes > VY_SHARED_BYTES && r->build.sums.adjoints.count) {
        r->plan.fewer_sums++;
        return true;
    }
    while (bytes > VY_SHARED_BYTES) {
        uint32_t i = choose_spilled(r);
        if (!i) break;
        uint64_t least = adjoint_bytes(r, i);
        if (r->build.buffers[i].shadow)
            least += vy_array_bytes(p, &p->buffers.data[r->build.buffers[i].shadow]);
        bytes -= least < bytes ? least : bytes;
        r->plan.spilled[i] = any = true;
    }
    return any;
}

// ------------------------------------------------------------------------------------------ slices
void vy_group_dims(vy_builder *b, const uint32_t workgroup[3], vy_dim dims[VY_GROUP_RANK])
{
    const vy_program *p = vy_builder_program(b);
    uint32_t overs = p->overs.count;
    vy_dim size[VY_GROUP_RANK], one = vy_dim_const(b, 1), zero = vy_dim_const(b, 0);
    for (uint32_t axis = 0; axis < VY_GROUP_RANK; axis++) {
        dims[VY_GROUP_RANK - 1 - axis] = vy_dim_groups(b, axis);
        size[axis] = one;
    }
    if (!overs) return;
    for (uint32_t k = 0; k < overs; k++) { // the last is x, the one before it y, all others are z
        uint32_t from_end = overs - 1 - k, axis = from_end < 2 ? from_end : 2;
        vy_dim e = vy_dim_binary(b, VY_DIM_MAX, p->overs.data[k].extent, zero);
        size[axis] = size[axis].id == one.id ? e : vy_dim_binary(b, VY_DIM_MUL, size[axis], e);
    }
    for (uint32_t axis = 0; axis < VY_GROUP_RANK; axis++) {
        int64_t w = workgroup[axis];
        vy_dim n = vy_dim_binary(b, VY_DIM_ADD, size[axis], vy_dim_const(b, w - 1));
        dims[VY_GROUP_RANK - 1 - axis] = vy_dim_binary(b, VY_DIM_DIV, n, vy_dim_const(b, w));
    }
}

void vy_group_index(vy_builder *b, uint32_t index[VY_GROUP_RANK])
{
    for (uint32_t axis = 0; axis < VY_GROUP_RANK; axis++)
        index[axis] = vy_builtin_value(b, VY_WID, VY_GROUP_RANK - 1 - axis).id;
}

uint32_t vy_spill_declare(reverse *r, const char *name, vy_type type, uint32_t like)
{
    const vy_buf *b = &r->p->buffers.data[like];
    vy_dim dims[VY_MAX_RANK + VY_GROUP_RANK];
    if (b->rank + VY_GROUP_RANK > VY_MAX_RANK) {
        vy_reverse_fail(r, VY_E_LIMIT, 0, "give the array fewer dimensions",
                        "the adjoint of `%s` in a workspace has more than %u dimensions", b->name,
                        VY_MAX_RANK);
        return 0;
    }
    vy_group_dims(r->b, r->p->workgroup, dims);
    for (uint32_t k = 0; k < b->rank; k++) dims[VY_GROUP_RANK + k] = r->build.dims[b->dims[k].id];
    uint32_t made = vy_param_buffer(r->b, name, VY_INOUT, type, b->rank + VY_GROUP_RANK, dims).id;
    vy_buffer_workspace(r->b, (vy_buffer){made});
    return made;
}

uint32_t vy_spill_index(reverse *r, uint32_t buffer, uint32_t *index)
{
    if (!r->plan.spilled[buffer]) return 0;
    vy_group_index(r->b, index);
    return VY_GROUP_RANK;
}
