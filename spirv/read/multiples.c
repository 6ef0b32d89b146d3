// SPDX-License-Identifier: MIT
// multiples.c: multiples of the ids of invocations and workgroups, see guards.h.
//
//   wid.x * 64 + lid.x        gid.x           of workgroups of 64
//   gid.x * 4, gid.x << 2     gid.x, 4 times
//   wid.x * 32 + lid.x * 4    gid.x, 4 times  of workgroups of 8
//
// They are computed modulo 2^32, as what they are a multiple of.
#include "spirv/read/guards.h"

// What x is; false: nothing of the kind.
static bool builtin_of(const vy_program *p, uint32_t x, read_multiple *out)
{
    const vy_leaf *l = VY_IS_LEAF(x) ? &p->leaves.data[VY_LEAF_INDEX(x)] : NULL;
    if (!l || l->kind != VY_LEAF_BUILTIN) return false;
    const bool flat = l->index == VY_LINDEX && p->workgroup[1] == 1 && p->workgroup[2] == 1;
    *out = (read_multiple){.of = flat ? VY_LID : (vy_builtin)l->index,
                           .axis = flat ? 0 : l->axis,
                           .factor = 1};
    return out->of == VY_GID || out->of == VY_WID || out->of == VY_LID;
}

// By what x is multiplied, and what that is; 0: by nothing that is positive.
static uint32_t factor_of(const vy_program *p, uint32_t x, uint32_t *rest)
{
    const vy_op op = (vy_op)read_inst(p, x)->op;
    if (op != VY_OP_MUL && op != VY_OP_SHL) return 0;
    for (uint32_t k = 0; k < 2; k++) {
        const vy_scalar *c = vy_id_const(p, read_plain(p, vy_arg(p, x, 1 - k)));
        *rest = vy_arg(p, x, k);
        if (c && op == VY_OP_MUL && c->i > 0 && c->i <= INT32_MAX) return (uint32_t)c->i;
        if (c && op == VY_OP_SHL && !k && c->u < 31) return 1u << c->u;
    }
    return 0;
}

static bool scaled(const vy_program *p, uint32_t x, read_multiple *out)
{
    uint64_t factor = 1;
    uint32_t rest;
    for (x = read_plain(p, x); !builtin_of(p, x, out); x = read_plain(p, rest)) {
        const uint32_t by = factor_of(p, x, &rest);
        factor *= by;
        if (!by || factor > INT32_MAX) return false;
    }
    out->factor = (uint32_t)factor;
    return true;
}

// The first id of a workgroup and the one in it; as often.
static bool is_global(const vy_program *p, const read_multiple *group, const read_multiple *local)
{
    return group->of == VY_WID && local->of == VY_LID && group->axis == local->axis &&
           group->factor == (uint64_t)local->factor * p->workgroup[group->axis];
}

bool read_multiple_of(const vy_program *p, uint32_t x, read_multiple *out)
{
    read_multiple parts[2];
    if (scaled(p, x, out)) return out->of != VY_LID;
    x = read_plain(p, x);
    if (read_inst(p, x)->op != VY_OP_ADD) return false;
    for (uint32_t k = 0; k < 2; k++)
        if (!scaled(p, vy_arg(p, x, k), &parts[k])) return false;
    const uint32_t local = parts[1].of == VY_LID;
    if (!is_global(p, &parts[!local], &parts[local])) return false;
    *out = (read_multiple){.of = VY_GID, .axis = parts[0].axis, .factor = parts[local].factor};
    return true;
}

int read_axis_of(const vy_program *p, uint32_t id)
{
    read_multiple m;
    return read_multiple_of(p, id, &m) && m.of == VY_GID && m.factor == 1 ? (int)m.axis : -1;
}
