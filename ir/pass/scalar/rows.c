// SPDX-License-Identifier: MIT
// rows.c: see rows.h.
#include "ir/pass/scalar/rows.h"

static uint64_t constant_trips(const vy_program *p, uint32_t loop)
{
    uint64_t n;
    return vy_constant_trips(p, loop, &n) ? n : 0;
}

uint32_t vy_loop_around(const vy_program *p, const vy_structure *s, uint32_t id)
{
    uint32_t up = s->parent[id];
    while (up && !vy_is_loop((vy_op)p->insts.data[up].op)) up = s->parent[up];
    return up;
}

void vy_row_trips(const vy_program *p, const vy_structure *s, uint64_t *trips)
{
    for (uint32_t id = 1; id < p->insts.count; id++) {
        vy_op op = (vy_op)p->insts.data[id].op;
        if (op == VY_OP_LOOP && !vy_next_arg(p, id)) trips[id] = constant_trips(p, id);
        if (trips[id] > VY_MAX_ROW) trips[id] = 0;
        uint32_t around = vy_is_loop(op) ? vy_loop_around(p, s, id) : 0;
        if (around) trips[around] = 0;
    }
}

uint64_t vy_row_elements(const vy_program *p, uint32_t buffer)
{
    const vy_buf *b = &p->buffers.data[buffer];
    uint64_t n = b->cls == VY_LOCAL;
    for (uint32_t k = 0; k < b->rank && n && n <= VY_MAX_ROW; k++)
        n *= (uint64_t)p->dims.data[b->dims[k].id].value;
    return n <= VY_MAX_ROW ? n : 0;
}
