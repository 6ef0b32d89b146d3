// SPDX-License-Identifier: MIT
// print_operand.c: what an operation is applied to: an expression, or what stands for the operands
// of all of a group (print_vector.c): `v`, `v.zyx`, `s`, `vec3(a, b, c)`.
#include "ir/text/print.h"

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

// `v.zyx`, of components of one group; false: they are not.
static bool print_swizzle(printer *o, uint32_t id, uint32_t k)
{
    const uint32_t first = print_arg(o, id, k);
    char text[sizeof axes + 1] = ".";
    for (uint32_t j = 0; j < o->lanes[id]; j++) {
        const uint32_t a = print_arg(o, id + j, k);
        const bool together = !VY_IS_LEAF(a) && o->lane[a] && !VY_IS_LEAF(first) &&
                              print_group_begin(o, a) == print_group_begin(o, first);
        if (!together) return false;
        text[1 + j] = axes[o->lane[a] - 1];
    }
    print_name_of(o, o->name[first]);
    print_str(o, text);
    return true;
}

// vec3(a, b, c), or vec3(a)
static void print_made(printer *o, uint32_t id, uint32_t k)
{
    const uint32_t n = print_is_broadcast(o, id, k) ? 1 : o->lanes[id];
    if (n > 1 && print_swizzle(o, id, k)) return;
    print_vector_type(o, vy_id_type(o->p, print_arg(o, id, k)), o->lanes[id]);
    for (uint32_t j = 0; j < n; j++) {
        print_str(o, j ? ", " : "(");
        print_expr(o, print_arg(o, id + j, k), 0, true);
    }
    print_str(o, ")");
}

void print_operand(printer *o, uint32_t id, uint32_t k, int precedence, bool typed)
{
    const uint32_t group = print_group_of(o, id, k), op = o->p->insts.data[id].op;
    const bool widens = op != VY_OP_SELECT && !vy_op_is_memory((vy_op)op);
    if (!o->lanes[id] || (op == VY_OP_SELECT && k == 0) ||
        (!group && widens && print_is_broadcast(o, id, k)))
        print_expr(o, print_arg(o, id, k), precedence, typed);
    else if (!group)
        print_made(o, id, k);
    else if (o->inlined[group])
        print_operation(o, group, precedence);
    else
        print_name_of(o, o->name[group]);
}
