// SPDX-License-Identifier: MIT
// print_operand.c: what an operation is applied to: an expression, or what stands for the operands
// of all of a group (print_vector.c): `v`, `v.zyx`, `s`, `vec3(a, b, c)`.
#include "ir/text/print.h"

#include "ir/core/vector_buffers.h"

static const char axes[] = "xyzw";

void print_component(printer *o, uint32_t k)
{
    const char text[] = {'.', axes[k], 0};
    print_str(o, text);
}

// `.x`, `[k]`; of a component that is not there `[i32(7)]`, as a literal would be an error.
void print_element_component(printer *o, uint32_t index, uint32_t n)
{
    const vy_scalar *k = vy_id_const(o->p, index);
    const vy_type type = vy_id_type(o->p, index);
    if (k && k->u < n && type == VY_I32) {
        print_component(o, (uint32_t)k->u);
        return;
    }
    const bool beyond = k && k->u >= n;
    print_str(o, "[");
    if (beyond) print_str(o, vy_type_name(type));
    if (beyond) print_str(o, "(");
    print_expr(o, index, 0, beyond);
    print_str(o, beyond ? ")]" : "]");
}

// The name of what holds a group: of a `let`, or of a variable.
static void print_group_name(printer *o, uint32_t id)
{
    print_name_of(o, o->name[id] ? o->name[id] : o->vars.data[o->var[id] - 1].name);
}

// `v.zyx`, of components of one group; false: they are not.
static bool print_swizzle(printer *o, const uint32_t *values, uint32_t n)
{
    const uint32_t first = values[0];
    char text[sizeof axes + 1] = ".";
    for (uint32_t j = 0; j < n; j++) {
        const uint32_t a = values[j];
        const bool together = !VY_IS_LEAF(a) && o->lane[a] && !VY_IS_LEAF(first) &&
                              print_group_begin(o, a) == print_group_begin(o, first);
        if (!together) return false;
        text[1 + j] = axes[o->lane[a] - 1];
    }
    print_group_name(o, first);
    print_str(o, text);
    return true;
}

static bool are_one(const uint32_t *values, uint32_t n)
{
    for (uint32_t j = 1; j < n; j++)
        if (values[j] != values[0]) return false;
    return true;
}

// vec3(a, b, c), or vec3(a)
static void print_scalars(printer *o, const uint32_t *values, uint32_t n, vy_type type)
{
    const uint32_t different = are_one(values, n) ? 1 : n;
    if (different > 1 && print_swizzle(o, values, n)) return;
    print_vector_type(o, type, n);
    for (uint32_t j = 0; j < different; j++) {
        print_str(o, j ? ", " : "(");
        if (values[j])
            print_expr(o, values[j], 0, true);
        else
            print_scalar(o, type, (vy_scalar){0}, true, type);
    }
    print_str(o, ")");
}

void print_vector_of(printer *o, const uint32_t *values, uint32_t n, vy_type type, int precedence)
{
    const uint32_t group = print_group_at(o, values, n);
    const bool param = print_is_param(o, values, n);
    const vy_vector_param *v = param ? vy_vector_param_of(o->p, o->params, values[0]) : NULL;
    if (print_param_name(o, v))
        print_name_of(o, print_param_name(o, v));
    else if (!group)
        print_scalars(o, values, n, type);
    else if (o->inlined[group])
        print_operation(o, group, precedence);
    else
        print_group_name(o, group);
}

void print_operand(printer *o, uint32_t id, uint32_t k, int precedence, bool typed)
{
    const uint32_t op = o->p->insts.data[id].op, n = o->lanes[id];
    const bool widens = op != VY_OP_SELECT && !vy_op_is_memory((vy_op)op);
    uint32_t values[VY_MOST_COMPONENTS];
    if (!n || (op == VY_OP_SELECT && k == 0) ||
        (widens && !print_group_of(o, id, k) && print_is_broadcast(o, id, k))) {
        print_expr(o, print_arg(o, id, k), precedence, typed);
        return;
    }
    for (uint32_t j = 0; j < n; j++) values[j] = print_arg(o, id + j, k);
    print_vector_of(o, values, n, vy_id_type(o->p, values[0]), precedence);
}
