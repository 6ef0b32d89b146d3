// SPDX-License-Identifier: MIT
// extents.c: what ids are compared with, as dimensions, see guards.h.
//
// As a dimension it is computed without wrapping.  Sums and products that wrap are then less than
// zero, or more than any launch has.  Of those that are divided, or of which the least counts, that
// does not show: the program assumes that they do not wrap (`assume(n + 3 <= 2147483647)`), which
// its launch checks.
#include "spirv/read/guards.h"

enum { DEEPEST = 32 };

uint32_t read_plain(const vy_program *p, uint32_t id)
{
    while (read_inst(p, id)->op == VY_OP_BITCAST && read_is_word(vy_id_type(p, vy_arg(p, id, 0))) &&
           read_is_word((vy_type)read_inst(p, id)->type))
        id = vy_arg(p, id, 0);
    return id;
}

static bool is_number(const vy_program *p, uint32_t id) // that a dimension may consist of
{
    if (!read_is_word(vy_id_type(p, id))) return false;
    if (vy_id_const(p, id)) return true;
    const vy_leaf *l = VY_IS_LEAF(id) ? &p->leaves.data[VY_LEAF_INDEX(id)] : NULL;
    return l && (l->kind == VY_LEAF_SCALAR || l->kind == VY_LEAF_LEN);
}

static bool is_extent(const vy_program *p, uint32_t id, uint32_t depth)
{
    id = read_plain(p, id);
    if (is_number(p, id)) return true;
    if (depth == DEEPEST || read_inst(p, id)->nargs != 2 || !read_is_word(vy_id_type(p, id)))
        return false;
    const uint32_t a = vy_arg(p, id, 0), b = vy_arg(p, id, 1);
    const vy_scalar *c = vy_id_const(p, b);
    if (!is_extent(p, a, depth + 1)) return false;
    switch (read_inst(p, id)->op) {
    case VY_OP_ADD:
    case VY_OP_SUB:
    case VY_OP_MUL:
    case VY_OP_MIN:
    case VY_OP_MAX: return is_extent(p, b, depth + 1);
    case VY_OP_DIV: return c && c->i > 0;
    case VY_OP_SHR: return c && c->u < 31;
    default: return false;
    }
}

bool read_is_extent(const vy_program *p, uint32_t id) { return is_extent(p, id, 0); }

static bool is_natural(const vy_program *p, uint32_t id, uint32_t depth)
{
    id = read_plain(p, id);
    const vy_scalar *c = vy_id_const(p, id);
    if (depth == DEEPEST) return false;
    if (c) return c->i >= 0;
    if (VY_IS_LEAF(id)) return vy_id_type(p, id) == VY_U32;
    const vy_op op = (vy_op)read_inst(p, id)->op;
    const bool keeps = op == VY_OP_ADD || op == VY_OP_MUL || op == VY_OP_DIV || op == VY_OP_SHR ||
                       op == VY_OP_MIN || op == VY_OP_MAX;
    return keeps && is_natural(p, vy_arg(p, id, 0), depth + 1) &&
           is_natural(p, vy_arg(p, id, 1), depth + 1);
}

bool read_is_natural(const vy_program *p, uint32_t id) { return is_natural(p, id, 0); }

bool read_may_wrap(const vy_program *p, uint32_t id)
{
    const vy_op op = (vy_op)read_inst(p, read_plain(p, id))->op;
    return op == VY_OP_ADD || op == VY_OP_SUB || op == VY_OP_MUL;
}
