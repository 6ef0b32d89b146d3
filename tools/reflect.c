// SPDX-License-Identifier: MIT
// reflect.c: the one place of the command that looks inside a program.  Each function here is a wish
// for ir/vyre.h; when it is granted there, this file goes.
#include "tools/reflect.h"

#include "ir/ir.h"

// Dimension nodes refer to earlier ones; recursion is as deep as the expression that was written.
dim_state dim_value(const vy_program *p, vy_dim d, const int64_t *scalars, const bool *known,
                    int64_t *value)
{
    const vy_dim_node *n = &p->dims.data[d.id];
    int64_t a = 0, b = 0;
    if (n->op == VY_DIM_CONST) return *value = n->value, DIM_KNOWN;
    if (n->op == VY_DIM_UNKNOWN) return DIM_OPEN;
    if (n->op == VY_DIM_SCALAR) {
        if (!known[n->value]) return DIM_OPEN;
        return *value = scalars[n->value], DIM_KNOWN;
    }
    dim_state s = dim_value(p, (vy_dim){n->a}, scalars, known, &a);
    if (s != DIM_KNOWN) return s;
    s = dim_value(p, (vy_dim){n->b}, scalars, known, &b);
    if (s != DIM_KNOWN) return s;
    bool ok = true, divides = b != 0 && !(a == INT64_MIN && b == -1);
    switch (n->op) {
    case VY_DIM_ADD: ok = !__builtin_add_overflow(a, b, value); break;
    case VY_DIM_SUB: ok = !__builtin_sub_overflow(a, b, value); break;
    case VY_DIM_MUL: ok = !__builtin_mul_overflow(a, b, value); break;
    case VY_DIM_DIV: ok = divides, *value = divides ? a / b : 0; break;
    case VY_DIM_REM: ok = divides, *value = divides ? a % b : 0; break;
    case VY_DIM_MIN: *value = a < b ? a : b; break;
    case VY_DIM_MAX: *value = a > b ? a : b; break;
    default: ok = false;
    }
    return ok ? DIM_KNOWN : DIM_BAD;
}

int dim_scalar(const vy_program *p, vy_dim d)
{
    const vy_dim_node *n = &p->dims.data[d.id];
    return n->op == VY_DIM_SCALAR ? (int)n->value : -1;
}

bool dim_is_unknown(const vy_program *p, vy_dim d)
{
    return p->dims.data[d.id].op == VY_DIM_UNKNOWN;
}

vy_scalar element_read(vy_type type, const void *memory) { return vy_scalar_read(type, memory); }

void element_write(vy_type type, vy_scalar value, void *memory)
{
    vy_scalar_write(type, value, memory);
}

double float_round(vy_type type, double value) { return vy_round_to(type, value); }
