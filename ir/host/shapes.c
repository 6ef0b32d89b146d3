// SPDX-License-Identifier: MIT
// shapes.c: the shapes of tensors of a host program, which are no part of the values.
#include "ir/core/flow.h"
#include "ir/host/host_build.h"

// The LOAD or PICK whose shape the tensor has, or 0: a sum has that of its terms, a carried tensor
// that of what it carries.  One of them is soon found, so few sources are looked at.
static uint32_t shaped_like(const vy_program *h, const vy_structure *s, uint32_t id, uint32_t depth)
{
    enum { DEEP = 64 };
    if (VY_IS_LEAF(id) || depth > DEEP) return 0;
    uint32_t sources[3], n = 0, found = 0;
    const vy_inst *i = &h->insts.data[id];
    if (i->op == VY_OP_LOAD || i->op == VY_OP_PICK) return id;
    if (vy_is_slot((vy_op)i->op)) n = vy_slot_sources(h, s, id, sources);
    if (i->op == VY_OP_ADD && vy_type_is_float((vy_type)i->type))
        for (; n < 2; n++) sources[n] = vy_arg(h, id, n);
    for (uint32_t k = 0; k < n && !found; k++) found = shaped_like(h, s, sources[k], depth + 1);
    return found;
}

uint32_t vy_host_shaped_like(const vy_program *h, const vy_structure *s, uint32_t id)
{
    return h->host ? shaped_like(h, s, id, 0) : 0;
}

static vy_tensor shape_of_result(const vy_module *m, const vy_program *h, uint32_t pick)
{
    const vy_host_call *c = vy_host_call_of(h, vy_arg(h, pick, 0));
    const vy_program *p = vy_host_callee(m, c);
    for (uint32_t i = 1, n = 0, given = 0; i < p->buffers.count; i++) {
        if (!vy_pipe_binds(&p->buffers.data[i])) continue;
        if (vy_host_gives(&p->buffers.data[i]) && given++ == h->insts.data[pick].aux)
            return c->shapes[n];
        n++;
    }
    return (vy_tensor){0};
}

vy_tensor vy_host_shape(const vy_module *m, const vy_program *h, const vy_structure *s, uint32_t id)
{
    const uint32_t shaped = vy_host_shaped_like(h, s, id);
    if (!shaped) return (vy_tensor){0};
    const vy_inst *i = &h->insts.data[shaped];
    if (i->op == VY_OP_PICK) return shape_of_result(m, h, shaped);
    const vy_buf *b = &h->buffers.data[i->aux];
    return (vy_tensor){b->type, b->rank - i->nargs, b->dims + i->nargs};
}
