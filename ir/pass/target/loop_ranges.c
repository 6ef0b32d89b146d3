// SPDX-License-Identifier: MIT
// loop_ranges.c: the iterations of a loop in which what it loads is in range.
//
//   for j in 0..n { s += g[i, j] * x[i, j - P]; }    g: f32[I, n], x: f32[H, W]
//
//   those from P to min(n, W + P) − 1 if i < H, none if not
//
// An index that is the counter plus what does not change is s + t modulo 2³² in iteration t, where
// s is its value in the first.  With E elements along the axis it is in range from t = 0 if s < E,
// else from where it wraps around to 0, which is t = 2³² − s; in both cases up to t = E − s, modulo
// 2³².  (s = E makes that 0 where it is 2³²: no iteration, in place of those after the wrap.)  Two
// numbers of 32 bits are its bounds, then, whatever the numbers are.  An index of i32 has at most
// 2³¹ such values.  Later iterations may be in range again, after one more wrap; they are not said
// to be.  An index that does not change in the loop is in range in all of its iterations or none.
//
// LLVM splits loops so, too (inductive range check elimination); there the bounds of each check are
// those of signed numbers that do not wrap around.
//
// **The trip count.**  A loop `for n in s..N step 64` over a variable s of the domain has as many
// iterations in all lanes as in the last one, or one more, as the step is no less than what lanes
// differ by: those are one number for the workgroup, so that a GPU tests it once for all lanes, and
// what does not change in the loop stays outside.
//
// Only indices that lanes of a workgroup have in common: lanes that each had bounds of their own
// would run one after the other what they run together.
#include "ir/pass/target/loop_ranges.h"
#include "ir/check/uniform.h"
#include "ir/core/access.h"
#include "ir/pass/scalar/follows.h"

bool vy_ranges_prepare(vy_loop_ranges *x, vy_rewrite *w)
{
    w->oom |= !vy_differences_by_axis(w->p, &w->s, &w->arena, x->along);
    x->freed = vy_rewrite_bytes(w);
    return !w->oom;
}

static bool is_common(const vy_loop_ranges *x, const vy_program *p, uint32_t id)
{
    for (uint32_t axis = 0; axis < 3; axis++) {
        if (p->workgroup[axis] < 2) continue;
        if (VY_IS_LEAF(id) ? vy_leaf_along(p, id, axis) : x->along[axis][id] != 0) return false;
    }
    return true;
}

static bool add_check(vy_loop_ranges *x, vy_range_check c)
{
    for (uint32_t k = 0; k < x->count; k++) {
        const vy_range_check *o = &x->checks[k];
        if (o->index == c.index && o->buffer == c.buffer && o->axis == c.axis) return true;
    }
    if (x->count == VY_RANGE_CHECKS) return false;
    x->checks[x->count++] = c;
    return true;
}

static bool look_at(vy_loop_ranges *x, const vy_program *p, uint32_t loop, uint32_t load)
{
    const uint32_t rank = vy_rank_of(p, load), known = vy_axes_known(p, load);
    for (uint32_t axis = known; axis < rank; axis++) {
        const uint32_t index = vy_arg(p, load, axis);
        if (!is_common(x, p, index)) return false;
        if (!vy_is_ahead(index, loop) && !vy_follows(p, index, loop)) return false;
        if (!add_check(x, (vy_range_check){index, p->insts.data[load].aux, axis})) return false;
    }
    x->freed[load] = known < rank;
    return true;
}

bool vy_ranges_look(vy_loop_ranges *x, const vy_rewrite *w, uint32_t loop)
{
    const vy_program *p = w->p;
    const uint32_t end = w->s.partner[loop];
    bool all = vy_iteration_type((vy_type)p->insts.data[loop].type) == VY_U32;
    x->count = 0;
    for (uint32_t id = loop + 1; all && id < end; id++) {
        const vy_inst *i = &p->insts.data[id];
        if (i->op != VY_OP_LOAD || !vy_is_global(p->buffers.data[i->aux].cls)) continue;
        all = look_at(x, p, loop, id);
    }
    return all;
}

// ------------------------------------------------------------------------------- the trip count
// Does a loop begin at a variable of the domain whose last value in the workgroup is known, and go
// at least as far as that in one step?  Sizes that do not divide 2³² may have a last workgroup that
// reaches beyond it.
static bool starts_apart(const vy_loop_ranges *x, const vy_program *p, uint32_t loop,
                         uint32_t *axis)
{
    if (!vy_has_lone_axis(p, vy_arg(p, loop, 0), axis)) return false;
    const uint32_t size = p->workgroup[*axis];
    const vy_scalar *step = vy_id_const(p, vy_arg(p, loop, 2));
    return !(size & (size - 1)) && step && step->u >= size && is_common(x, p, vy_arg(p, loop, 1));
}

bool vy_ranges_trips_are_common(const vy_loop_ranges *x, const vy_rewrite *w, uint32_t loop)
{
    const vy_program *p = w->p;
    uint32_t axis;
    return starts_apart(x, p, loop, &axis) ||
           (is_common(x, p, vy_arg(p, loop, 0)) && is_common(x, p, vy_arg(p, loop, 1)) &&
            is_common(x, p, vy_arg(p, loop, 2)));
}

vy_value vy_ranges_common_trips(const vy_loop_ranges *x, vy_rewrite *w, uint32_t loop, vy_value n)
{
    vy_builder *b = w->b;
    uint32_t axis;
    if (!starts_apart(x, w->p, loop, &axis)) return n;
    const uint32_t size = w->p->workgroup[axis];
    const vy_value group = vy_builtin_value(b, VY_WID, axis);
    const vy_value base = vy_mul(b, group, vy_int(b, VY_U32, size));
    const vy_value last = vy_add(b, base, vy_int(b, VY_U32, size - 1));
    const vy_value to = {vy_new_arg(w, loop, 1)}, step = {vy_new_arg(w, loop, 2)};
    const vy_value one = vy_int(b, VY_U32, 1), zero = vy_zero(b, VY_U32);
    vy_builder_program(b)->has_workgroup = true; // which wid depends on
    const vy_value trips = vy_add(b, vy_iteration_last(b, VY_U32, last, to, step), one);
    return vy_select(b, vy_lt(b, last, to), trips, zero);
}

// --------------------------------------------------------------------------------- the iterations
static bool is_zero(vy_builder *b, vy_value x)
{
    const vy_scalar *c = vy_id_const(vy_builder_program(b), x.id);
    return c && !c->u;
}

// Moves *first and *end together for an index that follows the counter.
static void narrow(vy_rewrite *w, uint32_t loop, uint32_t index, vy_value extent, vy_value *first,
                   vy_value *end)
{
    vy_builder *b = w->b;
    const vy_value zero = vy_zero(b, VY_U32);
    const vy_value s = vy_cast(b, VY_U32, vy_followed_first(w, index, loop));
    if (vy_id_type(w->p, index) == VY_I32)
        extent = vy_min(b, extent, vy_int(b, VY_U32, INT64_C(1) << 31));
    const vy_value inside = vy_lt(b, s, extent);
    const vy_value own = vy_select(b, inside, zero, vy_sub(b, zero, s));
    *first = is_zero(b, *first) ? own : vy_max(b, *first, own);
    *end = vy_min(b, *end, vy_sub(b, extent, s));
}

void vy_ranges_find(const vy_loop_ranges *x, vy_rewrite *w, uint32_t loop, vy_value n,
                    vy_value *first, vy_value *end)
{
    vy_builder *b = w->b;
    vy_value all = vy_bool(b, true);
    *first = vy_zero(b, VY_U32);
    *end = n;
    for (uint32_t k = 0; k < x->count; k++) {
        const vy_range_check *c = &x->checks[k];
        const vy_value extent = {vy_extent_leaf(b, c->buffer, c->axis)};
        if (vy_is_ahead(c->index, loop))
            all = vy_and_in_range(b, all, (vy_value){vy_new(w, c->index)}, extent);
        else
            narrow(w, loop, c->index, extent, first, end);
    }
    if (!is_zero(b, *first)) *first = vy_min(b, *first, n);
    *end = vy_select(b, all, vy_max(b, *first, *end), *first);
    if (!(w->p->insts.data[loop].flags & VY_FLAG_REVERSE)) return;
    const vy_value last = *end;
    *end = vy_sub(b, n, *first);
    *first = vy_sub(b, n, last);
}
