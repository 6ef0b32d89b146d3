// SPDX-License-Identifier: MIT
// prune.c: drops compiler-made parameters that proved unused.
#include "autodiff/reverse/sweeps.h"

#include <string.h>

// Marks the operands of marked dimensions; operands come before their users.
static void use_operands(const vy_program *p, uint8_t *dims)
{
    for (uint32_t i = p->dims.count; i-- > 1;) {
        const vy_dim_node *d = &p->dims.data[i];
        if (dims[i] && d->op >= VY_DIM_ADD) dims[d->a] = dims[d->b] = 1;
    }
}

static void use_assumed(const vy_program *p, uint8_t *dims)
{
    for (uint32_t k = 0; k < p->assumes.count; k++)
        dims[p->assumes.data[k].least.id] = dims[p->assumes.data[k].most.id] = 1;
}

// Marks the buffers whose open length (`?`) occurs in shapes, in the domain or in what is
// assumed; dims: scratch, one
// per dimension.  The buffer that an open length belongs to has no other one.
static void use_lengths(const vy_program *p, uint32_t *map, uint8_t *dims)
{
    for (uint32_t k = 0; k < p->overs.count; k++) dims[p->overs.data[k].extent.id] = 1;
    use_assumed(p, dims);
    for (uint32_t i = 1; i < p->buffers.count; i++)
        for (uint32_t k = 0; map[i] && k < p->buffers.data[i].rank; k++)
            dims[p->buffers.data[i].dims[k].id] = 1;
    use_operands(p, dims);
    for (uint32_t i = 1; i < p->dims.count; i++)
        if (dims[i] && p->dims.data[i].op == VY_DIM_UNKNOWN) map[p->dims.data[i].value] = 1;
}

static bool may_drop(const vy_buf *b, vy_droppable which)
{
    return which == VY_DROP_ALL || b->workspace || b->cls == VY_SHARED || b->cls == VY_LOCAL ||
           (which >= VY_DROP_UNREAD && b->cls == VY_IN) ||
           (which == VY_DROP_UNTOUCHED && b->cls == VY_INOUT);
}

static void use_buffers(const vy_program *p, vy_droppable which, uint32_t *map)
{
    for (uint32_t id = 1; id < p->insts.count; id++) {
        const vy_inst *i = &p->insts.data[id];
        if (vy_op_is_memory((vy_op)i->op)) map[i->aux] = 1;
        for (uint32_t k = 0; k < i->nargs; k++) {
            uint32_t a = vy_arg(p, id, k);
            const vy_leaf *l = VY_IS_LEAF(a) ? &p->leaves.data[VY_LEAF_INDEX(a)] : NULL;
            if (l && l->kind == VY_LEAF_LEN) map[l->index] = 1;
        }
    }
    const bool inits = which != VY_DROP_MADE;
    for (uint32_t i = 1; inits && i < p->buffers.count; i++)
        if (!may_drop(&p->buffers.data[i], which)) map[i] = 1; // also where no code touches it
    for (uint32_t i = 1; inits && i < p->buffers.count; i++) { // @init(x) uses x
        const vy_buf *b = &p->buffers.data[i];
        if (map[i] && b->init == VY_INIT_COPY) map[vy_program_find_buffer(p, b->init_from).id] = 1;
    }
}

// Drops unmarked buffers and renumbers the rest; map: 1 where a buffer is used, then its new
// number.
static void drop_unmarked(vy_program *p, vy_droppable which, uint32_t *map)
{
    uint32_t kept = 1, binding = 0;
    for (uint32_t i = 1; i < p->buffers.count; i++) {
        vy_buf buf = p->buffers.data[i];
        if (may_drop(&buf, which) && !map[i]) continue;
        if (vy_is_global(buf.cls) && !buf.layout.given) buf.binding = binding++;
        p->buffers.data[kept] = buf;
        map[i] = kept++;
    }
    p->buffers.count = kept;
    vy_renumber_buffers(p, map);
}

bool vy_drop_unused(vy_program *p, vy_droppable which)
{
    const size_t size = p->buffers.count * sizeof(uint32_t) + p->dims.count;
    uint32_t *map = vy_realloc(NULL, size);
    if (!map) {
        vy_fail_oom(p->module);
        return false;
    }
    memset(map, 0, size);
    use_buffers(p, which, map);
    if (which != VY_DROP_MADE) use_lengths(p, map, (uint8_t *)(map + p->buffers.count));
    drop_unmarked(p, which, map);
    vy_free(map);
    return true;
}

bool vy_drop_stage(vy_program *p)
{
    if (!vy_drop_unused(p, VY_DROP_ALL) || !vy_drop_unused_scalars(p)) return false;
    uint8_t *written = vy_realloc(NULL, p->buffers.count);
    if (!written) {
        vy_fail_oom(p->module);
        return false;
    }
    memset(written, 0, p->buffers.count);
    for (uint32_t id = 1; id < p->insts.count; id++)
        if (vy_op_infos[p->insts.data[id].op].effect == VY_WRITE)
            written[p->insts.data[id].aux] = 1;
    for (uint32_t i = 1; i < p->buffers.count; i++) {
        vy_buf *b = &p->buffers.data[i];
        if (vy_is_global(b->cls) && !b->workspace && b->init == VY_INIT_NONE && !written[i])
            b->cls = VY_IN;
    }
    vy_free(written);
    return true;
}

// Does dimension d depend on an open length?  dims: scratch, one zero per dimension.
static bool is_open(const vy_program *p, vy_dim d, uint8_t *dims)
{
    dims[d.id] = 1;
    use_operands(p, dims);
    for (uint32_t i = 1; i <= d.id; i++)
        if (dims[i] && p->dims.data[i].op == VY_DIM_UNKNOWN) return true;
    return false;
}

bool vy_share_workspace(vy_program *p, uint32_t buffer)
{
    vy_buf *b = &p->buffers.data[buffer];
    const vy_dim_node unknown = {.op = VY_DIM_UNKNOWN, .value = buffer};
    b->workspace = false;
    if (b->rank == 0 || p->dims.data[b->dims[0].id].op < VY_DIM_ADD) return true;
    uint8_t *dims = vy_realloc(NULL, p->dims.count);
    // b->dims may be shared
    vy_dim *own = vy_arena_alloc(&p->module->arena, b->rank * sizeof *own);
    bool ok = dims && own;
    if (ok && is_open(p, b->dims[0], memset(dims, 0, p->dims.count))) {
        ok = vy_vec_push(&p->dims, unknown);
        memcpy(own, b->dims, b->rank * sizeof *own);
        own->id = p->dims.count - 1;
        b->dims = own;
    }
    vy_free(dims);
    if (!ok) vy_fail_oom(p->module);
    return ok;
}

// Drops the scalars that `keep` does not mark and renumbers the rest; keep: then 1 + new numbers.
static void keep_scalars(vy_program *p, uint32_t *keep)
{
    uint32_t kept = 0;
    for (uint32_t s = 0; s < p->scalars.count; s++) {
        if (!keep[s]) continue;
        p->scalars.data[kept] = p->scalars.data[s];
        keep[s] = ++kept;
    }
    p->scalars.count = kept;
    vy_names_drop(p);
    for (uint32_t i = 1; i < p->dims.count; i++) {
        vy_dim_node *d = &p->dims.data[i];
        if (d->op != VY_DIM_SCALAR) continue;
        *d = keep[d->value] ? (vy_dim_node){.op = VY_DIM_SCALAR, .value = keep[d->value] - 1}
                            : (vy_dim_node){.op = VY_DIM_CONST};
    }
    for (uint32_t k = 0; k < p->leaves.count; k++) {
        vy_leaf *l = &p->leaves.data[k];
        if (l->kind != VY_LEAF_SCALAR) continue;
        if (keep[l->index])
            l->index = keep[l->index] - 1;
        else
            vy_leaf_drop(l);
    }
}

static uint32_t *new_marks(const vy_program *p, uint32_t count)
{
    uint32_t *marks = vy_realloc(NULL, (count + (size_t)1) * sizeof *marks);
    if (marks) return memset(marks, 0, (count + (size_t)1) * sizeof *marks);
    vy_fail_oom(p->module);
    return NULL;
}

bool vy_drop_scalars(vy_program *p, uint32_t first)
{
    if (first >= p->scalars.count) return true;
    uint32_t *keep = new_marks(p, p->scalars.count);
    if (!keep) return false;
    for (uint32_t s = 0; s < first; s++) keep[s] = 1;
    for (uint32_t i = 1; i < p->buffers.count; i++)
        for (uint32_t k = 0; k < p->buffers.data[i].rank; k++) {
            const vy_dim_node *d = &p->dims.data[p->buffers.data[i].dims[k].id];
            if (d->op == VY_DIM_SCALAR) keep[d->value] = 1;
        }
    keep_scalars(p, keep);
    vy_free(keep);
    return true;
}

void vy_dims_in_use(const vy_program *p, uint8_t *dims)
{
    for (uint32_t i = 1; i < p->buffers.count; i++)
        for (uint32_t k = 0; k < p->buffers.data[i].rank; k++)
            dims[p->buffers.data[i].dims[k].id] = 1;
    for (uint32_t k = 0; k < p->overs.count; k++) dims[p->overs.data[k].extent.id] = 1;
    use_assumed(p, dims);
    use_operands(p, dims);
}

// Marks the scalars on which the dimensions in use depend; false: memory.
static bool use_dims(const vy_program *p, uint32_t *scalars)
{
    uint8_t *dims = vy_realloc(NULL, p->dims.count);
    if (!dims) {
        vy_fail_oom(p->module);
        return false;
    }
    memset(dims, 0, p->dims.count);
    vy_dims_in_use(p, dims);
    for (uint32_t i = 1; i < p->dims.count; i++)
        if (dims[i] && p->dims.data[i].op == VY_DIM_SCALAR) scalars[p->dims.data[i].value] = 1;
    vy_free(dims);
    return true;
}

bool vy_drop_unused_scalars(vy_program *p)
{
    uint32_t *keep = new_marks(p, p->scalars.count);
    const bool ok = keep && use_dims(p, keep);
    for (uint32_t id = 1; ok && id < p->insts.count; id++)
        for (uint32_t k = 0; k < p->insts.data[id].nargs; k++) {
            uint32_t a = vy_arg(p, id, k);
            const vy_leaf *l = VY_IS_LEAF(a) ? &p->leaves.data[VY_LEAF_INDEX(a)] : NULL;
            if (l && l->kind == VY_LEAF_SCALAR) keep[l->index] = 1;
        }
    if (ok) keep_scalars(p, keep);
    vy_free(keep);
    return ok;
}
