// SPDX-License-Identifier: MIT
// additions.c: which additions of floats there are, and whether their order can be fixed.
#include "autodiff/deterministic/ordering.h"
#include "autodiff/facts/facts.h"

bool vy_adds_floats(const vy_program *p, uint32_t id)
{
    const vy_inst *i = &p->insts.data[id];
    return i->op == VY_OP_ATOMIC_ADD && vy_type_is_float(p->buffers.data[i->aux].type) &&
           p->buffers.data[i->aux].cls != VY_LOCAL;
}

bool vy_refuse_order(const vy_ordering *o, uint32_t id, const char *fix, const char *why)
{
    const vy_inst *i = &o->w.p->insts.data[id];
    vy_fail(o->m, VY_E_NO_ORDER, i->line, i->column, fix,
            "the order of %s `%s` cannot be fixed: %s",
            o->use[i->aux] ? "additions to" : "atomics on", o->w.p->buffers.data[i->aux].name, why);
    return false;
}

static bool can_replace(const vy_ordering *o, uint32_t id)
{
    const vy_buf *b = &o->w.p->buffers.data[o->w.p->insts.data[id].aux];
    if (b->view_of) return vy_refuse_order(o, id, NULL, "it shares its memory with another buffer");
    return true;
}

static bool mark_additions(vy_ordering *o, const uint32_t *uses)
{
    const vy_program *p = o->w.p;
    for (uint32_t id = 1; id < p->insts.count; id++) {
        if (!vy_adds_floats(p, id)) continue;
        if (vy_strength_of(p, id) >= VY_STRENGTH_OWNED) {
            o->owned = true;
            continue;
        }
        o->use[p->insts.data[id].aux] = VY_USE_ADDED;
        if (!can_replace(o, id)) return false;
        if (uses[id])
            return vy_refuse_order(o, id, "do not use the old value",
                                   "the old value is used, which depends on the order");
    }
    return true;
}

bool vy_find_additions(vy_ordering *o)
{
    const vy_program *p = o->w.p;
    const uint32_t *uses = vy_rewrite_uses(&o->w);
    if (!uses || !mark_additions(o, uses)) return false;
    for (uint32_t id = 1; id < p->insts.count; id++) {
        const vy_inst *i = &p->insts.data[id];
        if (!vy_op_is_memory((vy_op)i->op) || !o->use[i->aux] || vy_adds_floats(p, id)) continue;
        o->use[i->aux] |= VY_USE_PLAIN;
    }
    return true;
}

bool vy_adds_halves(const vy_program *p, uint32_t id)
{
    return vy_adds_floats(p, id) && p->buffers.data[p->insts.data[id].aux].type == VY_F16;
}
