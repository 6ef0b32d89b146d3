// SPDX-License-Identifier: MIT
// numbers.c: what the form of a dimension of a pipeline tells about its value.
#include "ir/core/pipe.h"
#include "ir/host/host_build.h"

enum { DEEP = 32 }; // expressions that are nested deeper tell nothing

static bool is_natural(const vy_pipeline *l, vy_dim dim, uint32_t depth)
{
    const vy_program *p = l->signature;
    const vy_dim_node *d = &p->dims.data[dim.id];
    if (depth > DEEP) return false;
    switch (d->op) {
    case VY_DIM_CONST: return d->value >= 0;
    case VY_DIM_SCALAR: return !vy_type_is_signed(p->scalars.data[d->value].type);
    case VY_DIM_STEP: {
        const vy_pipe_step *s = &l->steps.data[d->value];
        return s->kind == VY_PIPE_VALUE ? !vy_type_is_signed(p->buffers.data[s->buffer.id].type)
                                        : is_natural(l, s->from, depth + 1);
    }
    case VY_DIM_SUB:
    case VY_DIM_REM: return false;
    case VY_DIM_MAX:
        return is_natural(l, (vy_dim){d->a}, depth + 1) || is_natural(l, (vy_dim){d->b}, depth + 1);
    case VY_DIM_ADD:
    case VY_DIM_MUL:
    case VY_DIM_DIV:
    case VY_DIM_MIN:
        return is_natural(l, (vy_dim){d->a}, depth + 1) && is_natural(l, (vy_dim){d->b}, depth + 1);
    default: return true; // lengths, numbers of workgroups, roots
    }
}

static bool is_open(const vy_pipeline *l, vy_dim dim, uint32_t depth)
{
    const vy_dim_node *d = &l->signature->dims.data[dim.id];
    if (depth > DEEP) return true;
    if (d->op == VY_DIM_STEP) {
        const vy_pipe_step *s = &l->steps.data[d->value];
        return s->kind == VY_PIPE_VALUE || is_open(l, s->to, depth + 1);
    }
    if (d->op < VY_DIM_ADD) return false;
    const bool a = is_open(l, (vy_dim){d->a}, depth + 1), b = is_open(l, (vy_dim){d->b}, depth + 1);
    return d->op == VY_DIM_MIN ? a && b : d->op == VY_DIM_SUB ? a : a || b;
}

static bool is_varying(const vy_pipeline *l, vy_dim dim, uint32_t depth)
{
    const vy_dim_node *d = &l->signature->dims.data[dim.id];
    if (d->op == VY_DIM_STEP || depth > DEEP) return true;
    return d->op >= VY_DIM_ADD &&
           (is_varying(l, (vy_dim){d->a}, depth + 1) || is_varying(l, (vy_dim){d->b}, depth + 1));
}

bool vy_host_varies(const vy_pipeline *l, vy_dim d) { return is_varying(l, d, 0); }
bool vy_host_natural(const vy_pipeline *l, vy_dim d) { return is_natural(l, d, 0); }
bool vy_host_open(const vy_pipeline *l, vy_dim d) { return is_open(l, d, 0); }
