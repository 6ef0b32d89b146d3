// SPDX-License-Identifier: MIT
// raise_number.c: dimension expressions of a pipeline as i64 instructions of a host program.
#include "ir/host/raise.h"

static vy_value raised(raising *r, vy_dim d);

static vy_value make_number(raising *r, vy_dim dim)
{
    const vy_dim_node d = r->l->signature->dims.data[dim.id];
    if (d.op == VY_DIM_STEP) return (vy_value){r->steps[d.value]};
    if (d.op < VY_DIM_ADD) return vy_dim_leaf_value(r->b, VY_I64, &d);
    const vy_value x = raised(r, (vy_dim){d.a}), y = raised(r, (vy_dim){d.b});
    return vy_dim_operation_value(r->b, VY_I64, d.op, x, y);
}

static vy_value raised(raising *r, vy_dim dim)
{
    uint32_t *known = &r->known[dim.id];
    if (vy_builder_failed(r->b)) return (vy_value){0};
    if (!*known || !vy_visible(r->b, *known)) *known = make_number(r, dim).id;
    return (vy_value){*known};
}

uint32_t raise_number(raising *r, vy_dim d) { return raised(r, d).id; }

void *raise_room(raising *r, size_t count, size_t size)
{
    void *p = vy_arena_alloc(&r->arena, (count + 1) * size);
    if (!p) vy_build_oom(r->b);
    return p;
}

uint32_t raise_numbers(raising *r, uint32_t n, const vy_dim *dims, uint32_t *out)
{
    for (uint32_t k = 0; k < n; k++) out[k] = raised(r, dims[k]).id;
    return n;
}
