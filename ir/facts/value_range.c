// SPDX-License-Identifier: MIT
// value_range.c: constant bounds of integer values, and which additions cannot wrap.
//
//   i = over variable of extent 8        0 … 7
//   j = and i 3                          0 … 3
//   k = add j 1                          1 … 4, does not wrap
//
// One forward walk; what a loop carries may be anything.  The transfer functions of operations are
// in interval.h.
#include "ir/facts/range.h"
#include "ir/core/flow.h"

static vy_interval number(const vy_intervals *v) { return (vy_interval){0, v->most}; }

static vy_interval leaf_interval(const vy_intervals *v, const vy_leaf *l)
{
    const vy_program *p = v->p;
    vy_interval r = vy_interval_of_type((vy_type)l->type);
    const vy_dim_node *d = NULL;
    switch ((vy_leaf_kind)l->kind) {
    case VY_LEAF_CONST:
        if (!vy_type_is_integer((vy_type)l->type)) return r;
        if (l->type == VY_U64 && l->value.u > INT64_MAX) return r;
        return (vy_interval){l->value.i, l->value.i};
    case VY_LEAF_OVER: // below an extent, which is a u32
        r = (vy_interval){0, v->most - 1};
        d = &p->dims.data[p->overs.data[l->index].extent.id];
        if (d->op == VY_DIM_CONST && d->value >= 1 && d->value <= UINT32_MAX) r.hi = d->value - 1;
        return r;
    case VY_LEAF_LEN:
        r = number(v);
        d = &p->dims.data[p->buffers.data[l->index].dims[l->axis].id];
        if (d->op == VY_DIM_CONST && d->value >= 0 && d->value <= UINT32_MAX)
            r.lo = r.hi = d->value;
        return r;
    case VY_LEAF_BUILTIN: {
        const uint32_t *w = p->workgroup;
        uint64_t all = (uint64_t)w[0] * w[1] * w[2];
        r = number(v);
        if (l->index == VY_LID && w[l->axis]) r.hi = w[l->axis] - 1;
        if (l->index == VY_LINDEX && all && all <= UINT32_MAX) r.hi = (int64_t)all - 1;
        return r;
    }
    default: return r;
    }
}

vy_interval vy_interval_of(const vy_intervals *v, uint32_t id)
{
    if (!VY_IS_LEAF(id)) return v->of[id];
    return leaf_interval(v, &v->p->leaves.data[VY_LEAF_INDEX(id)]);
}

static vy_interval binary(vy_intervals *v, uint32_t id)
{
    const vy_inst *i = &v->p->insts.data[id];
    bool exact;
    vy_interval r =
        vy_interval_binary((vy_op)i->op, (vy_type)i->type, vy_interval_of(v, vy_arg(v->p, id, 0)),
                           vy_interval_of(v, vy_arg(v->p, id, 1)), &exact);
    v->exact[id] = exact;
    return r;
}

static vy_interval cast(vy_intervals *v, uint32_t id)
{
    const uint32_t from = vy_arg(v->p, id, 0);
    bool exact;
    vy_interval r = vy_interval_cast(vy_id_type(v->p, from), vy_id_type(v->p, id),
                                     vy_interval_of(v, from), &exact);
    v->exact[id] = exact;
    return r;
}

static vy_interval result(const vy_intervals *v, uint32_t id)
{
    const vy_program *p = v->p;
    uint32_t sources[3], n = vy_slot_sources(p, v->s, id, sources);
    if (vy_is_loop((vy_op)p->insts.data[vy_opener(p, v->s, id)].op))
        return vy_interval_of_type(vy_id_type(p, id));
    vy_interval r = vy_interval_of(v, sources[0]);
    return n == 1 ? r : vy_interval_join(r, vy_interval_of(v, sources[1]));
}

static vy_interval compute(vy_intervals *v, uint32_t id)
{
    const vy_program *p = v->p;
    const vy_inst *i = &p->insts.data[id];
    if (!vy_type_is_integer((vy_type)i->type)) return (vy_interval){INT64_MIN, INT64_MAX};
    const vy_interval whole = vy_interval_of_type((vy_type)i->type);
    switch ((vy_op)i->op) {
    case VY_OP_LOOP:
        return vy_interval_counter((vy_type)i->type, vy_interval_of(v, vy_arg(p, id, 0)),
                                   vy_interval_of(v, vy_arg(p, id, 1)));
    case VY_OP_RESULT: return result(v, id);
    case VY_OP_LOAD: return vy_interval_of_type(p->buffers.data[i->aux].type);
    case VY_OP_SELECT:
        return vy_interval_join(vy_interval_of(v, vy_arg(p, id, 1)),
                                vy_interval_of(v, vy_arg(p, id, 2)));
    case VY_OP_CAST: return cast(v, id);
    case VY_OP_BITCAST: // between integers it is a cast
        return vy_type_is_integer(vy_id_type(p, vy_arg(p, id, 0))) ? cast(v, id) : whole;
    default: return i->nargs == 2 && vy_op_infos[i->op].effect == VY_PURE ? binary(v, id) : whole;
    }
}

static bool make(vy_intervals *v, vy_arena *arena)
{
    const vy_program *p = v->p;
    v->of = vy_arena_alloc(arena, p->insts.count * sizeof *v->of);
    v->exact = vy_arena_alloc(arena, p->insts.count);
    if (!v->of || !v->exact) return false;
    for (uint32_t id = 1; id < p->insts.count; id++) v->of[id] = compute(v, id);
    return true;
}

bool vy_intervals_make(vy_intervals *v, const vy_program *p, const vy_structure *s, vy_arena *arena)
{
    *v = (vy_intervals){.p = p, .s = s, .most = UINT32_MAX};
    return make(v, arena);
}

bool vy_intervals_make_small(vy_intervals *v, const vy_program *p, const vy_structure *s,
                             vy_arena *arena)
{
    *v = (vy_intervals){.p = p, .s = s, .most = (1 << 30) - 1};
    return make(v, arena);
}
