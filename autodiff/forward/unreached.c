// SPDX-License-Identifier: MIT
// unreached.c: tangents that may be zero because nothing reaches the value.
//
//   y = max(x, 0.0)         where 0 is the larger one, no input reaches y
//   z = abs(x)              at 0, by convention
//   s carried from 0.0      before the first iteration
//   t[k]                    before something active is stored there
//
// A sum is reached if one of its terms is.  A forward data-flow fact that only grows.
#include "autodiff/core/rules.h"
#include "autodiff/facts/facts.h"
#include "autodiff/forward/forward.h"
#include "ir/core/dataflow.h"

static bool is_unreached(const forward *f, uint32_t id)
{
    return !VY_IS_LEAF(id) && f->unreached[id];
}

// One of several values, of which each may be it: is any of them not reached?
static bool any_unreached(const forward *f, uint32_t n, const uint32_t *ids)
{
    for (uint32_t k = 0; k < n; k++)
        if (!vy_forward_is_active(f, ids[k]) || is_unreached(f, ids[k])) return true;
    return false;
}

// A sum over the active operands.
static bool is_sum_unreached(const forward *f, uint32_t id)
{
    for (uint32_t k = 0; k < f->w.p->insts.data[id].nargs; k++) {
        const uint32_t a = vy_arg(f->w.p, id, k);
        if (vy_forward_is_active(f, a) && vy_derivative_passes(f->w.p, id, k) &&
            !is_unreached(f, a) && !vy_rule_drops(f->w.p, id, k))
            return false;
    }
    return true;
}

static bool visit(const forward *f, uint32_t id)
{
    const vy_program *p = f->w.p;
    const vy_inst *i = &p->insts.data[id];
    uint32_t s[3];
    if (vy_op_is_memory((vy_op)i->op)) return p->buffers.data[i->aux].cls != VY_IN;
    if (vy_op_is_subgroup((vy_op)i->op)) return true; // lanes that do not exist give 0
    if (vy_is_slot((vy_op)i->op)) return any_unreached(f, vy_slot_sources(p, &f->w.s, id, s), s);
    const uint32_t first = i->op == VY_OP_SELECT;
    if (first || vy_rule_kind_of((vy_op)i->op) == RULE_PICK)
        return any_unreached(f, i->nargs - first, vy_args(p, id) + first);
    return is_sum_unreached(f, id);
}

bool vy_find_unreached(forward *f)
{
    vy_dataflow flow;
    if (!vy_dataflow_make(&flow, f->w.p, &f->w.s, &f->w.arena)) return false;
    vy_dataflow_push_all(&flow);
    for (uint32_t id; (id = vy_dataflow_pop(&flow));) {
        if (f->unreached[id] || !vy_forward_is_active(f, id) || !visit(f, id)) continue;
        f->unreached[id] = 1;
        vy_dataflow_push_users(&flow, id);
    }
    return true;
}
