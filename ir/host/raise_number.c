// SPDX-License-Identifier: MIT
// raise_number.c: dimension expressions of a pipeline as i64 instructions of a host program.
#include "ir/host/raise.h"

static vy_value number(raising *r, vy_dim d);

static vy_value binary(raising *r, const vy_dim_node *d)
{
    vy_builder *b = r->b;
    const vy_value x = number(r, (vy_dim){d->a}), y = number(r, (vy_dim){d->b});
    switch (d->op) {
    case VY_DIM_ADD: return vy_add(b, x, y);
    case VY_DIM_SUB: return vy_sub(b, x, y);
    case VY_DIM_MUL: return vy_mul(b, x, y);
    case VY_DIM_DIV: return vy_div(b, x, y);
    case VY_DIM_REM: return vy_rem(b, x, y);
    case VY_DIM_MIN: return vy_min(b, x, y);
    case VY_DIM_MAX: return vy_max(b, x, y);
    default:
        return vy_cast(b, VY_I64, vy_call(b, "sqrt", 1, &(vy_value){vy_cast(b, VY_F64, x).id}));
    }
}

static vy_value make_number(raising *r, vy_dim dim)
{
    const vy_dim_node d = r->l->signature->dims.data[dim.id];
    switch (d.op) {
    case VY_DIM_CONST: return vy_int(r->b, VY_I64, d.value);
    case VY_DIM_STEP: return (vy_value){r->steps[d.value]};
    case VY_DIM_UNKNOWN:
        return vy_cast(r->b, VY_I64, vy_len(r->b, (vy_buffer){(uint32_t)d.value}, 0));
    case VY_DIM_GROUPS:
        return vy_cast(r->b, VY_I64, vy_builtin_value(r->b, VY_NUM_GROUPS, (uint32_t)d.value));
    case VY_DIM_SCALAR: {
        const vy_type own = r->l->signature->scalars.data[d.value].type;
        const uint32_t leaf = vy_leaf_other(r->b, VY_LEAF_SCALAR, own, (uint32_t)d.value, 0);
        return vy_cast(r->b, VY_I64, (vy_value){leaf});
    }
    default: return binary(r, &d);
    }
}

static vy_value number(raising *r, vy_dim dim)
{
    uint32_t *known = &r->known[dim.id];
    if (vy_builder_failed(r->b)) return (vy_value){0};
    if (!*known || !vy_visible(r->b, *known)) *known = make_number(r, dim).id;
    return (vy_value){*known};
}

uint32_t raise_number(raising *r, vy_dim d) { return number(r, d).id; }

void *raise_room(raising *r, size_t count, size_t size)
{
    void *p = vy_arena_alloc(&r->arena, (count + 1) * size);
    if (!p) vy_build_oom(r->b);
    return p;
}

uint32_t raise_numbers(raising *r, uint32_t n, const vy_dim *dims, uint32_t *out)
{
    for (uint32_t k = 0; k < n; k++) out[k] = number(r, dims[k]).id;
    return n;
}
