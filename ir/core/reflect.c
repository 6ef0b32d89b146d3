// SPDX-License-Identifier: MIT
// reflect.c: values of dimensions, for callers that bind data.
#include "ir/core/ir.h"

int64_t vy_isqrt(int64_t a)
{
    int64_t x = a > 0 ? a : 0, next = x / 2 + x % 2;
    while (next < x) { // Newton's method from above
        x = next;
        next = (x + a / x) / 2;
    }
    return x;
}

uint32_t vy_program_dim_count(const vy_program *p) { return p->dims.count; }

static vy_dim_state combine(const vy_dim_node *n, int64_t a, int64_t b, int64_t *value)
{
    bool ok = true, divides = b != 0 && !(a == INT64_MIN && b == -1);
    switch (n->op) {
    case VY_DIM_ADD: ok = !__builtin_add_overflow(a, b, value); break;
    case VY_DIM_SUB: ok = !__builtin_sub_overflow(a, b, value); break;
    case VY_DIM_MUL: ok = !__builtin_mul_overflow(a, b, value); break;
    case VY_DIM_DIV: ok = divides, *value = divides ? a / b : 0; break;
    case VY_DIM_REM: ok = divides, *value = divides ? a % b : 0; break;
    case VY_DIM_MIN: *value = a < b ? a : b; break;
    case VY_DIM_MAX: *value = a > b ? a : b; break;
    case VY_DIM_SQRT: *value = vy_isqrt(a); break;
    default: ok = false;
    }
    return ok ? VY_DIM_IS_KNOWN : VY_DIM_IS_BAD;
}

// Nodes refer to earlier ones, so one pass is enough, however deep an expression is.
void vy_program_dim_values(const vy_program *p, const int64_t *scalars, const bool *known,
                           const int64_t *lengths, const int64_t *groups, int64_t *values,
                           vy_dim_state *states)
{
    for (uint32_t i = 1; i < p->dims.count; i++) {
        const vy_dim_node *n = &p->dims.data[i];
        values[i] = 0;
        states[i] = VY_DIM_IS_KNOWN;
        if (n->op == VY_DIM_CONST)
            values[i] = n->value;
        else if (n->op == VY_DIM_UNKNOWN && lengths && lengths[n->value] >= 0)
            values[i] = lengths[n->value];
        else if (n->op == VY_DIM_GROUPS && groups && groups[n->value] >= 0)
            values[i] = groups[n->value];
        else if (n->op == VY_DIM_SCALAR && known[n->value])
            values[i] = scalars[n->value];
        else if (n->op < VY_DIM_ADD)
            states[i] = VY_DIM_IS_OPEN;
        else if (states[n->a] || states[n->b])
            states[i] = states[n->a] > states[n->b] ? states[n->a] : states[n->b];
        else
            states[i] = combine(n, values[n->a], values[n->b], &values[i]);
    }
}

int vy_program_dim_scalar(const vy_program *p, vy_dim d)
{
    const vy_dim_node *n = &p->dims.data[d.id];
    return n->op == VY_DIM_SCALAR ? (int)n->value : -1;
}

bool vy_pipeline_takes_groups(const vy_pipeline *p)
{
    for (uint32_t i = 1; i < p->signature->dims.count; i++)
        if (p->signature->dims.data[i].op == VY_DIM_GROUPS) return true;
    return false;
}
