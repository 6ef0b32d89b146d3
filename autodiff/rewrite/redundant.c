// SPDX-License-Identifier: MIT
// redundant.c: of stores of one value by several invocations to one element, one is left.
//
//   o[gid.y, k] = e;     →     if lid.x == 0 && wid.x == 0 { o[gid.y, k] = e; }
//
// In the reverse each of them would pass the element's cotangent on, which is then counted as often
// as there are invocations.  That the values are equal, that all or none of the invocations get
// there and that nothing reads the element before the next barrier is proved by
// ir/check/redundant.c; what is not proved so is refused (E0313, autodiff/driver/grad.c).  The
// first invocation along an axis is in the domain if any is.
#include "autodiff/rewrite/redundant.h"

#include "ir/build/rewrite.h"
#include "ir/check/redundant.h"

typedef struct once {
    vy_rewrite w;
    const uint8_t *active;
    vy_redundancy *stores;
} once;

static bool is_redundant(const once *o, uint32_t id)
{
    const vy_program *p = o->w.p;
    if (!o->stores[id].same) return false;
    const uint32_t v = vy_arg(p, id, p->buffers.data[p->insts.data[id].aux].rank);
    return !VY_IS_LEAF(v) && o->active[v];
}

// Is this the first invocation along all these axes?
static vy_value is_first(vy_builder *b, uint8_t axes)
{
    vy_value all = {0};
    for (uint32_t k = 0; k < VY_LAUNCH_AXES; k++) {
        if (!(axes >> k & 1)) continue;
        const vy_builtin of = k < VY_GROUP_AXES ? VY_LID : VY_WID;
        const vy_value id = vy_builtin_value(b, of, k % VY_GROUP_AXES);
        const vy_value first = vy_eq(b, id, vy_zero(b, VY_U32));
        all = all.id ? vy_and(b, all, first) : first;
    }
    return all;
}

static uint32_t replace(void *pass, uint32_t id)
{
    once *o = pass;
    if (!is_redundant(o, id)) return 0;
    vy_rewrite_at(&o->w, id);
    vy_begin_if(o->w.b, is_first(o->w.b, o->stores[id].same).id);
    vy_rewrite_copy(&o->w, id);
    vy_begin_else(o->w.b, 0, NULL);
    vy_end_if(o->w.b, 0, NULL, NULL);
    return id;
}

static bool find_redundant(once *o, bool *any)
{
    o->stores = vy_rewrite_table(&o->w, o->w.p->insts.count * sizeof *o->stores);
    if (!o->stores || !vy_find_redundant(o->w.p, &o->w.s, o->stores)) return false;
    for (uint32_t id = 1; id < o->w.p->insts.count; id++) *any |= is_redundant(o, id);
    return true;
}

bool vy_store_once(vy_program *p, const uint8_t *active)
{
    once o = {.active = active};
    bool any = false, changed = false;
    const bool ok = vy_rewrite_begin(&o.w, p) && find_redundant(&o, &any);
    if (ok && any) vy_rewrite_run(&o.w, replace, &o);
    return vy_rewrite_end(&o.w, ok, &changed);
}
