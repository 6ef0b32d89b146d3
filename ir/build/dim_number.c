// SPDX-License-Identifier: MIT
// dim_number.c: the value of a dimension, as instructions.
#include "ir/core/ir.h"
#include "ir/build/edit.h"

// Are 32 bits enough?  Sums and products are right modulo 2³²; other operations need the exact
// values of their operands.
typedef enum width { EXACT, MODULO, WIDE } width;

static width width_of(const vy_program *p, uint32_t dim)
{
    const vy_dim_node *d = &p->dims.data[dim];
    if (d->op == VY_DIM_CONST) return d->value >= 0 && d->value <= UINT32_MAX ? EXACT : MODULO;
    if (d->op == VY_DIM_SCALAR) return p->scalars.data[d->value].type == VY_U32 ? EXACT : MODULO;
    if (d->op == VY_DIM_UNKNOWN || d->op == VY_DIM_GROUPS) return EXACT;
    width a = width_of(p, d->a), b = width_of(p, d->b);
    if (d->op <= VY_DIM_MUL) return a == WIDE || b == WIDE ? WIDE : MODULO;
    return a == EXACT && b == EXACT && d->op != VY_DIM_SQRT ? EXACT : WIDE;
}

vy_value vy_dim_leaf_value(vy_builder *b, vy_type t, const vy_dim_node *d)
{
    const vy_program *p = vy_builder_program(b);
    const uint32_t number = (uint32_t)d->value;
    switch (d->op) {
    case VY_DIM_CONST: return vy_int(b, t, d->value);
    case VY_DIM_UNKNOWN: return vy_cast(b, t, vy_len(b, (vy_buffer){number}, 0));
    case VY_DIM_GROUPS: return vy_cast(b, t, vy_builtin_value(b, VY_NUM_GROUPS, number));
    default: {
        const vy_type own = p->scalars.data[number].type;
        const uint32_t leaf = vy_leaf_other(b, VY_LEAF_SCALAR, own, number, 0);
        return vy_cast(b, t, (vy_value){leaf});
    }
    }
}

vy_value vy_dim_operation_value(vy_builder *b, vy_type t, uint32_t op, vy_value x, vy_value y)
{
    switch (op) {
    case VY_DIM_ADD: return vy_add(b, x, y);
    case VY_DIM_SUB: return vy_sub(b, x, y);
    case VY_DIM_MUL: return vy_mul(b, x, y);
    case VY_DIM_DIV: return vy_div(b, x, y);
    case VY_DIM_REM: return vy_rem(b, x, y);
    case VY_DIM_MIN: return vy_min(b, x, y);
    case VY_DIM_MAX: return vy_max(b, x, y);
    default: return vy_cast(b, t, vy_call(b, "sqrt", 1, &(vy_value){vy_cast(b, VY_F64, x).id}));
    }
}

static vy_value number_of(vy_builder *b, vy_type t, uint32_t dim)
{
    const vy_dim_node d = vy_builder_program(b)->dims.data[dim];
    if (d.op < VY_DIM_ADD) return vy_dim_leaf_value(b, t, &d);
    const vy_value x = number_of(b, t, d.a), y = number_of(b, t, d.b);
    return vy_dim_operation_value(b, t, d.op, x, y);
}

vy_value vy_dim_number(vy_builder *b, vy_dim d)
{
    if (vy_builder_failed(b)) return (vy_value){0};
    vy_type t = width_of(vy_builder_program(b), d.id) == WIDE ? VY_I64 : VY_U32;
    return vy_cast(b, VY_U32, number_of(b, t, d.id));
}
