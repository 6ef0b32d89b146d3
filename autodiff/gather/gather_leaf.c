// SPDX-License-Identifier: MIT
// gather_leaf.c: leaves (constants, scalars, domain variables, built-ins) at the point that a
// gather visits.
//
//   over(i: N) { atomic_add(g[0], f32(lindex) · y); }       point i: lindex = i % 64
//   over(e: 1) for i in 0..N { sum += f32(i % 64) · y; }    the gather's own lindex differs
//
// A gather runs in a domain of its own, so what depends on the invocation must be expressed in
// terms of the point: domain variables are its coordinates; gid, lid, wid and lindex follow from
// these and the workgroup of the reverse program, as the coordinates follow from gid (the last one
// is x, the one before y, all others share z).  Lane and subgroup size are the device's: a value
// that depends on them is kept by the reverse program, or the addition stays atomic.  The two
// switches have no default: a new kind of leaf does not compile until it is handled here.
#include "autodiff/gather/gather_build.h"
#include "ir/build/edit.h"

// Domain variables that axis z is made of: those before the last two.
static uint32_t folded(const gather *g)
{
    return g->r->overs.count > 2 ? g->r->overs.count - 2 : 0;
}

// Can gid.z be computed?  (An open length has no place in a program without its buffer.)
static bool can_fold(const gather *g)
{
    for (uint32_t k = 1; k < folded(g); k++)
        if (gather_is_open(g->r, g->r->overs.data[k].extent.id)) return false;
    return true;
}

static bool has_builtin(const gather *g, const vy_leaf *l)
{
    switch ((vy_builtin)l->index) {
    case VY_GID:
    case VY_LID:
    case VY_WID: return l->axis < 2 || can_fold(g);
    case VY_LINDEX: return can_fold(g);
    case VY_NUM_GROUPS:
        if (l->axis >= g->r->overs.count) return true;
        if (l->axis == 2 && folded(g) > 1) return false; // a product, which could wrap
        return !gather_is_open(g->r, g->r->overs.data[g->r->overs.count - 1 - l->axis].extent.id);
    case VY_LANE:
    case VY_SUBGROUP_SIZE: return false;
    }
    return false;
}

bool gather_has_leaf(const gather *g, uint32_t id)
{
    const vy_leaf *l = &g->r->leaves.data[VY_LEAF_INDEX(id)];
    switch ((vy_leaf_kind)l->kind) {
    case VY_LEAF_CONST:
    case VY_LEAF_SCALAR:
    case VY_LEAF_LEN: // the same for all programs of a pipeline
    case VY_LEAF_OVER: return true;
    case VY_LEAF_BUILTIN: return has_builtin(g, l);
    case VY_LEAF_POISON: return false;
    }
    return false;
}

// gid on `axis`.
static vy_value global_id(gather_clone *c, uint32_t axis)
{
    const vy_program *p = c->g->r;
    const uint32_t n = p->overs.count;
    if (axis >= n) return vy_zero(c->b, VY_U32);
    if (axis < 2) return c->index[n - 1 - axis];
    vy_value z = c->index[0];
    for (uint32_t k = 1; k < folded(c->g); k++) {
        vy_value extent = vy_dim_number(c->b, p->overs.data[k].extent);
        z = vy_add(c->b, vy_mul(c->b, z, extent), c->index[k]);
    }
    return z;
}

static vy_value size_of(gather_clone *c, uint32_t axis)
{
    return vy_int(c->b, VY_U32, c->g->r->workgroup[axis]);
}

static vy_value local_id(gather_clone *c, uint32_t axis)
{
    vy_value size = size_of(c, axis);
    return vy_rem(c->b, global_id(c, axis), size);
}

// ⌈extent / size⌉; there is a point, so the extent is not 0.
static vy_value group_count(gather_clone *c, uint32_t axis)
{
    const vy_program *p = c->g->r;
    vy_value one = vy_int(c->b, VY_U32, 1);
    if (axis >= p->overs.count) return one;
    vy_value n = vy_dim_number(c->b, p->overs.data[p->overs.count - 1 - axis].extent);
    vy_value size = size_of(c, axis);
    return vy_add(c->b, vy_div(c->b, vy_sub(c->b, n, one), size), one);
}

static vy_value local_index(gather_clone *c)
{
    vy_value y = local_id(c, 1), rows = size_of(c, 1);
    vy_value plane = vy_add(c->b, vy_mul(c->b, local_id(c, 2), rows), y);
    vy_value x = local_id(c, 0);
    return vy_add(c->b, vy_mul(c->b, plane, size_of(c, 0)), x);
}

static vy_value group_id(gather_clone *c, uint32_t axis)
{
    vy_value size = size_of(c, axis);
    return vy_div(c->b, global_id(c, axis), size);
}

static uint32_t builtin(gather_clone *c, const vy_leaf *l, uint32_t id)
{
    switch ((vy_builtin)l->index) {
    case VY_GID: return global_id(c, l->axis).id;
    case VY_LID: return local_id(c, l->axis).id;
    case VY_WID: return group_id(c, l->axis).id;
    case VY_LINDEX: return local_index(c).id;
    case VY_NUM_GROUPS: return group_count(c, l->axis).id;
    case VY_LANE:
    case VY_SUBGROUP_SIZE: break; // never needed: see gather_has_leaf
    }
    return id;
}

uint32_t gather_leaf(gather_clone *c, uint32_t id)
{
    const vy_leaf *l = &c->g->r->leaves.data[VY_LEAF_INDEX(id)];
    if (l->kind == VY_LEAF_OVER) return c->index[l->index].id;
    return l->kind == VY_LEAF_BUILTIN ? builtin(c, l, id) : id;
}

bool gather_has_no_place(const gather *g, const vy_program *p)
{
    for (uint32_t id = 1; id < p->insts.count; id++)
        for (uint32_t k = 0; k < p->insts.data[id].nargs; k++) {
            const uint32_t a = vy_arg(p, id, k);
            if (!VY_IS_LEAF(a) || p->leaves.data[VY_LEAF_INDEX(a)].kind != VY_LEAF_BUILTIN)
                continue;
            vy_fail(g->m, VY_E_INTERNAL, p->insts.data[id].line, 0, NULL,
                    "a program that gathers uses a built-in of its own instead of the point's");
            return false;
        }
    return true;
}
