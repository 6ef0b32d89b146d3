// SPDX-License-Identifier: MIT
// eval_shape.c: infers scalars from shapes, evaluates dimensions and the size of the launch.
#include "ir/eval/eval.h"
#include "ir/text/print.h"

#include <inttypes.h>

// The scalar, if the dimension consists of nothing else, or UINT32_MAX.
static uint32_t only_scalar(const vy_program *p, vy_dim d)
{
    const vy_dim_node *n = &p->dims.data[d.id];
    return d.id && n->op == VY_DIM_SCALAR ? (uint32_t)n->value : UINT32_MAX;
}

static bool fits(vy_type type, uint64_t extent)
{
    const vy_scalar v = {.u = extent};
    return extent <= INT64_MAX && vy_type_is_integer(type) && vy_wrap(type, v).u == extent;
}

typedef struct source {
    uint32_t buffer, axis; // buffer 0: the caller gave the scalar itself
} source;

static bool infer_axis(vy_machine *m, source *from, bool *have, source here, uint64_t extent)
{
    const vy_program *p = m->p;
    const vy_buf *b = &p->buffers.data[here.buffer];
    const uint32_t s = only_scalar(p, b->dims[here.axis]);
    if (s == UINT32_MAX) return true;
    const char *name = p->scalars.data[s].name;
    if (!have[s]) {
        if (!fits(p->scalars.data[s].type, extent)) {
            vy_eval_fail(m, VY_E_EVAL_SHAPE, b->line, 0,
                         "extent %" PRIu64 " of %s, axis %u, does not fit scalar %s of type %s",
                         extent, b->name, here.axis, name, vy_type_name(p->scalars.data[s].type));
            return false;
        }
        have[s] = true;
        from[s] = here;
        m->scalars[s].u = extent;
    } else if (m->scalars[s].u != extent) {
        if (from[s].buffer)
            vy_eval_fail(m, VY_E_EVAL_SHAPE, b->line, 0,
                         "%s is %" PRIu64 " by %s, axis %u, but %" PRIu64 " by %s, axis %u", name,
                         m->scalars[s].u, p->buffers.data[from[s].buffer].name, from[s].axis,
                         extent, b->name, here.axis);
        else
            vy_eval_fail(m, VY_E_EVAL_SHAPE, b->line, 0,
                         "scalar %s is given as %" PRId64 ", but %s, axis %u, has extent %" PRIu64,
                         name, m->scalars[s].i, b->name, here.axis, extent);
        return false;
    }
    return true;
}

// Or only a number of elements (`hooks.flat`)?
static bool has_shape(const vy_machine *m, uint32_t id, const vy_eval_buffer *given)
{
    return given->rank == m->p->buffers.data[id].rank;
}

bool vy_eval_infer(vy_machine *m, const vy_eval_buffer *const *given, bool *have)
{
    const vy_program *p = m->p;
    source *from = vy_eval_alloc(m, p->scalars.count, sizeof *from);
    if (!from) return false;
    for (uint32_t id = 1; id < p->buffers.count && !m->failed; id++)
        for (uint32_t k = 0; given[id] && has_shape(m, id, given[id]) && k < given[id]->rank; k++)
            if (!infer_axis(m, from, have, (source){id, k}, given[id]->shape[k])) break;
    vy_free(from);
    for (uint32_t i = 0; i < p->scalars.count && !m->failed; i++)
        if (!have[i])
            vy_eval_fail(m, VY_E_EVAL_MISSING, p->scalars.data[i].line, 0,
                         "scalar %s is not given and cannot be inferred", p->scalars.data[i].name);
    return !m->failed;
}

// -------------------------------------------------------------------------------------- dimensions
static vy_dim_result scalar_node(const vy_machine *m, uint32_t s, int64_t *out)
{
    const vy_type type = m->p->scalars.data[s].type;
    *out = m->scalars[s].i;
    return type == VY_U64 && *out < 0 ? VY_DIM_OVERFLOWS : VY_DIM_FINE;
}

static vy_dim_result divide_node(vy_dim_op op, int64_t a, int64_t b, int64_t *out)
{
    if (b == 0) return VY_DIM_DIVIDES_BY_ZERO;
    if (a == INT64_MIN && b == -1) return VY_DIM_OVERFLOWS;
    *out = op == VY_DIM_DIV ? a / b : a % b;
    return VY_DIM_FINE;
}

// The number of workgroups that the caller gives for a launch without a domain.
static uint32_t group_count(const vy_machine *m, uint32_t axis)
{
    const uint32_t n = m->options.groups[axis];
    return n || m->hooks->exact_groups ? n : 1;
}

static vy_dim_result evaluate_node(const vy_machine *m, const vy_eval_buffer *const *given,
                                   const vy_dim_node *n, int64_t *out)
{
    switch (n->op) {
    case VY_DIM_CONST: *out = n->value; return VY_DIM_FINE;
    case VY_DIM_SCALAR: return scalar_node(m, (uint32_t)n->value, out);
    case VY_DIM_UNKNOWN: {
        const vy_eval_buffer *b = given[(uint32_t)n->value];
        if (!b || !b->rank) return VY_DIM_MISSING;
        *out = (int64_t)b->shape[0];
        return *out < 0 ? VY_DIM_OVERFLOWS : VY_DIM_FINE;
    }
    case VY_DIM_GROUPS: *out = group_count(m, (uint32_t)n->value); return VY_DIM_FINE;
    case VY_DIM_STEP:
        if (!m->step_known || !m->step_known[n->value]) return VY_DIM_MISSING;
        *out = m->step_values[n->value];
        return VY_DIM_FINE;
    default: break;
    }
    if (m->dim_states[n->a] != VY_DIM_FINE) return m->dim_states[n->a];
    if (m->dim_states[n->b] != VY_DIM_FINE) return m->dim_states[n->b];
    const int64_t a = m->dim_values[n->a], b = m->dim_values[n->b];
    bool overflow = false;
    switch (n->op) {
    case VY_DIM_ADD: overflow = __builtin_add_overflow(a, b, out); break;
    case VY_DIM_SUB: overflow = __builtin_sub_overflow(a, b, out); break;
    case VY_DIM_MUL: overflow = __builtin_mul_overflow(a, b, out); break;
    case VY_DIM_DIV:
    case VY_DIM_REM: return divide_node(n->op, a, b, out);
    case VY_DIM_MIN: *out = a < b ? a : b; break;
    case VY_DIM_MAX: *out = a > b ? a : b; break;
    case VY_DIM_SQRT: *out = vy_isqrt(a); break;
    default: return VY_DIM_MISSING;
    }
    return overflow ? VY_DIM_OVERFLOWS : VY_DIM_FINE;
}

void vy_eval_dims(vy_machine *m, const vy_eval_buffer *const *given)
{
    for (uint32_t d = 1; d < m->p->dims.count; d++)
        if (given || m->p->dims.data[d].op != VY_DIM_UNKNOWN)
            m->dim_states[d] =
                (uint8_t)evaluate_node(m, given, &m->p->dims.data[d], &m->dim_values[d]);
}

// An unused dimension may be invalid, so nodes keep their state and errors are reported at uses.
const char *vy_eval_dim_trouble(const vy_machine *m, vy_dim d)
{
    static const char *const trouble[] = {
        [VY_DIM_MISSING] = "is not known",
        [VY_DIM_FINE] = NULL,
        [VY_DIM_OVERFLOWS] = "does not fit 64 bits",
        [VY_DIM_DIVIDES_BY_ZERO] = "divides by zero",
    };
    return trouble[m->dim_states[d.id]];
}

static bool dim_value(vy_machine *m, vy_dim d, const char *what, uint32_t axis, uint32_t line,
                      int64_t *out)
{
    const char *trouble = vy_eval_dim_trouble(m, d);
    *out = m->dim_values[d.id];
    if (!trouble) return true;
    vy_eval_fail(m, VY_E_EVAL_DIM, line, 0, "the extent of %s, axis %u, %s", what, axis, trouble);
    return false;
}

// Axis k of a buffer: not negative, and what is given.
static bool axis_extent(vy_machine *m, uint32_t id, const vy_eval_buffer *given, uint32_t k,
                        uint64_t *out)
{
    const vy_buf *info = &m->p->buffers.data[id];
    int64_t extent;
    if (!dim_value(m, info->dims[k], info->name, k, info->line, &extent)) return false;
    *out = (uint64_t)extent;
    if (extent < 0) {
        vy_eval_fail(m, VY_E_EVAL_DIM, info->line, 0, "the extent of %s, axis %u, is %" PRId64,
                     info->name, k, extent);
        return false;
    }
    if (given && has_shape(m, id, given) && given->shape[k] != *out) {
        vy_eval_fail(m, VY_E_EVAL_SHAPE, info->line, 0,
                     "%s, axis %u, is declared with extent %" PRId64 ", but %" PRIu64 " is given",
                     info->name, k, extent, given->shape[k]);
        return false;
    }
    return true;
}

bool vy_eval_shape(vy_machine *m, uint32_t id, const vy_eval_buffer *given)
{
    const vy_buf *info = &m->p->buffers.data[id];
    vy_bound *b = &m->bounds[id];
    b->count = 1;
    if (!b->dims) b->dims = vy_eval_alloc(m, b->rank, sizeof *b->dims);
    if (!b->dims) return false;
    bool overflow = false, empty = false; // empty: even if the product of the others overflows
    for (uint32_t k = 0; k < b->rank; k++) {
        if (!axis_extent(m, id, given, k, &b->dims[k])) return false;
        overflow |= __builtin_mul_overflow(b->count, b->dims[k], &b->count);
        empty |= b->dims[k] == 0;
    }
    if (empty) b->count = 0;
    if ((overflow && !empty) || b->count > (uint64_t)PTRDIFF_MAX / 8) {
        vy_eval_fail(m, VY_E_EVAL_DIM, info->line, 0, "buffer %s has too many elements",
                     info->name);
        return false;
    }
    if (given && !has_shape(m, id, given) && given->shape[0] != b->count) {
        vy_eval_fail(m, VY_E_EVAL_SHAPE, info->line, 0,
                     "%s is declared with %" PRIu64 " elements, but %" PRIu64 " are given",
                     info->name, b->count, given->shape[0]);
        return false;
    }
    if (given && b->count && !b->data) {
        vy_eval_fail(m, VY_E_EVAL_MISSING, info->line, 0, "buffer %s is given without data",
                     info->name);
        return false;
    }
    return true;
}

bool vy_eval_shapes(vy_machine *m, const vy_eval_buffer *const *given)
{
    const vy_program *p = m->p;
    vy_eval_dims(m, given);
    for (uint32_t id = 1; id < p->buffers.count; id++) {
        if (m->pipeline && p->buffers.data[id].workspace) continue; // when its step is reached
        if (!vy_eval_shape(m, id, given[id])) return false;
        vy_bound *b = &m->bounds[id];
        if (b->cls == VY_LOCAL) {
            b->lane_stride = b->count * b->size;
            m->local_bytes += b->lane_stride;
        }
    }
    return true;
}

// ------------------------------------------------------------------------------------------ launch
// A workgroup has no more invocations than this (devices have 1024 or so).
#define MAX_WORKGROUP (1u << 20)

// Over variables: the last is x, the one before y, all others together are z.
static bool domain(vy_machine *m)
{
    const vy_program *p = m->p;
    const uint32_t rank = p->overs.count;
    bool overflow = false, empty = false;
    for (uint32_t k = 0; k < 3; k++) m->size[k] = 1;
    for (uint32_t k = 0; k < rank; k++) {
        const vy_over_var *v = &p->overs.data[k];
        int64_t extent;
        if (!dim_value(m, v->extent, v->name, k, p->line, &extent)) return false;
        m->extents[k] = extent < 0 ? 0 : (uint64_t)extent;
        empty |= extent <= 0;
        overflow |= extent > UINT32_MAX;
        uint64_t *size = &m->size[rank - 1 - k < 2 ? rank - 1 - k : 2];
        overflow |= __builtin_mul_overflow(*size, m->extents[k], size);
    }
    for (uint32_t k = 0; k < 3 && !rank; k++) // u32 × 20 bits: no overflow
        m->size[k] = (uint64_t)group_count(m, k) * m->workgroup[k];
    if (empty) {
        m->size[0] = m->size[1] = m->size[2] = 0;
    } else if (overflow) {
        vy_eval_fail(m, VY_E_EVAL_LAUNCH, p->line, 0, "the domain of %s is too large", p->name);
        return false;
    }
    return true;
}

// One side of what the program assumes.
static bool assumed_side(vy_machine *m, vy_dim d, int64_t *out)
{
    const char *trouble = vy_eval_dim_trouble(m, d);
    *out = m->dim_values[d.id];
    if (!trouble) return true;
    vy_eval_fail(m, VY_E_EVAL_DIM, m->p->line, 0, "what %s assumes %s", m->p->name, trouble);
    return false;
}

static bool assumed(vy_machine *m)
{
    for (uint32_t k = 0; k < m->p->assumes.count; k++) {
        const vy_assumption *a = &m->p->assumes.data[k];
        int64_t least, most;
        if (!assumed_side(m, a->least, &least) || !assumed_side(m, a->most, &most)) return false;
        if (least <= most) continue;
        char *text = vy_assumption_text(m->p, a);
        vy_eval_fail(m, VY_E_EVAL_ASSUMED, m->p->line, 0,
                     "%s assumes %s, which does not hold: %" PRId64 " and %" PRId64, m->p->name,
                     text ? text : "something", least, most);
        vy_free(text);
        return false;
    }
    return true;
}

bool vy_eval_launch(vy_machine *m)
{
    uint64_t lanes = 1;
    for (uint32_t k = 0; k < 3; k++) {
        m->workgroup[k] = m->p->workgroup[k] ? m->p->workgroup[k] : 1;
        if (m->workgroup[k] <= MAX_WORKGROUP) lanes *= m->workgroup[k];
        if (m->workgroup[k] > MAX_WORKGROUP || lanes > MAX_WORKGROUP) {
            vy_eval_fail(m, VY_E_EVAL_LAUNCH, m->p->line, 0, "the workgroup of %s is too large",
                         m->p->name);
            return false;
        }
    }
    if (!assumed(m) || !domain(m)) return false;
    m->group_count = 1;
    bool overflow = false;
    for (uint32_t k = 0; k < 3; k++) {
        m->groups[k] = m->size[k] / m->workgroup[k] + (m->size[k] % m->workgroup[k] != 0);
        overflow |= __builtin_mul_overflow(m->group_count, m->groups[k], &m->group_count);
    }
    if (overflow) {
        vy_eval_fail(m, VY_E_EVAL_LAUNCH, m->p->line, 0, "the domain of %s is too large",
                     m->p->name);
        return false;
    }
    return true;
}
