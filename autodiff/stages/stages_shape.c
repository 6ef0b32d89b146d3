// SPDX-License-Identifier: MIT
// stages_shape.c: how long things of a stage are, in the pipeline that runs it.
#include "ir/build/build.h"
#include "autodiff/stages/stages_build.h"
#include "ir/build/edit.h"

#include <string.h>

void *cut_table(vy_module *m, size_t count, size_t size)
{
    void *p = vy_realloc(NULL, (count + 1) * size);
    if (p) return memset(p, 0, (count + 1) * size);
    vy_fail_oom(m);
    return NULL;
}

// ------------------------------------------------------------------------------------------ shapes
// A stage's scalar, in the pipeline.
static vy_dim scalar_dim(cut *c, const vy_program *stage, int64_t scalar)
{
    const vy_scalar_param *own = &stage->scalars.data[scalar];
    if (!c->whole)
        return vy_dim_value(c->b, (vy_value){vy_leaf_other(c->b, VY_LEAF_SCALAR, own->type,
                                                           (uint32_t)scalar, 0)});
    const uint32_t same = c->own_scalar[own->link];
    if (same) return c->step->scalars[same - 1].dim;
    int axis = cut_groups_axis(c, stage, (uint32_t)scalar);
    if (axis >= 0) return c->step->groups[axis];
    vy_fail(c->m, VY_E_INTERNAL, 0, 0, NULL, "stage `%s` has a scalar of its own, `%s`",
            stage->name, own->name);
    return (vy_dim){0};
}

// The length of a buffer of unknown length (`?`, rank 1), in the pipeline.
vy_dim cut_length(cut *c, const vy_program *stage, int64_t buffer)
{
    if (!c->whole) return vy_dim_unknown(c->b);
    const vy_pipe_arg *a = &c->args[cut_own(c, stage, (uint32_t)buffer)];
    if (a->buffer.id) return c->b->p->buffers.data[a->buffer.id].dims[a->rank];
    vy_fail(c->m, VY_E_INTERNAL, 0, 0, NULL, "stage `%s` has a buffer of unknown length",
            stage->name);
    return (vy_dim){0};
}

// The nodes that dimension d is made of, which refer to earlier ones.  Others may stand there that
// mean nothing here: lengths of buffers that this stage does not have.
static uint8_t *nodes_of(const cut *c, const vy_program *stage, vy_dim d)
{
    uint8_t *needed = cut_table(c->m, d.id + 1, 1);
    if (!needed) return NULL;
    needed[d.id] = 1;
    for (uint32_t i = d.id; i > 0; i--) {
        const vy_dim_node *n = &stage->dims.data[i];
        if (needed[i] && n->op >= VY_DIM_ADD) needed[n->a] = needed[n->b] = 1;
    }
    return needed;
}

vy_dim cut_dim(cut *c, const vy_program *stage, vy_dim *dims, vy_dim d)
{
    uint8_t *needed = nodes_of(c, stage, d);
    for (uint32_t i = 1; i <= d.id && vy_module_ok(c->m); i++) {
        const vy_dim_node *n = &stage->dims.data[i];
        if (!needed[i] || (dims[i].id && n->op != VY_DIM_UNKNOWN)) continue;
        if (n->op == VY_DIM_SCALAR)
            dims[i] = scalar_dim(c, stage, n->value);
        else if (n->op == VY_DIM_GROUPS && c->whole)
            dims[i] = c->step->groups[n->value];
        else if (n->op != VY_DIM_UNKNOWN)
            dims[i] = vy_dim_copy(c->b, n, dims);
        else if (i == d.id || n->value) // a node of its own for each buffer
            dims[i] = cut_length(c, stage, n->value);
    }
    vy_free(needed);
    return dims[d.id];
}

// The buffer of the whole that says how long one of open length is which only stages have: it
// belongs to the same parameter of the primal.
static uint32_t same_owner(const vy_program *p, const vy_buf *b)
{
    for (uint32_t i = 1; b->role.kind == VY_IS_WORKSPACE && i < p->buffers.count; i++) {
        const vy_buf *other = &p->buffers.data[i];
        if (other->role.kind == VY_IS_WORKSPACE && other->role.parameter == b->role.parameter)
            return i;
    }
    return 0;
}

// Of open length, as stages share it (vy_share_workspace): the whole says how long it is, or what
// it begins as a copy of.
static vy_dim open_length(cut *c, const vy_buf *b)
{
    const vy_program *p = c->whole;
    if (c->start[b->link].init == VY_INIT_COPY) return cut_length(c, p, c->start[b->link].from);
    const uint32_t same = c->own[b->link] ? c->own[b->link] : same_owner(p, b);
    vy_dim *dims = cut_table(c->m, p->dims.count, sizeof *dims);
    vy_dim d = {0};
    if (same && dims) d = cut_dim(c, p, dims, p->buffers.data[same].dims[0]);
    vy_free(dims);
    return d;
}

void cut_shape(cut *c, const vy_program *p, uint32_t i, vy_dim *dims, vy_dim *shape)
{
    const vy_buf *b = &p->buffers.data[i];
    uint32_t first = 0;
    if (b->rank && p->dims.data[b->dims[0].id].op == VY_DIM_UNKNOWN) {
        shape[0] = open_length(c, b);
        first = shape[0].id != 0;
    }
    for (uint32_t a = first; a < b->rank && vy_module_ok(c->m); a++)
        shape[a] = cut_dim(c, p, dims, c->start[b->link].dims[a]);
}

int cut_groups_axis(const cut *c, const vy_program *stage, uint32_t scalar)
{
    for (uint32_t k = 0; k < c->count; k++)
        for (uint32_t axis = 0; axis < 3 && c->stages[k] == stage; axis++)
            if (c->groups[3 * k + axis] == scalar + 1) return (int)axis;
    return -1;
}
