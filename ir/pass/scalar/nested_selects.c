// SPDX-License-Identifier: MIT
// nested_selects.c: a choice inside of a choice by the same condition.
//
//   select(c, select(c, g, 0) * a, 0)      →   select(c, g * a, 0)
//
// A reverse selects each contribution by the conditions under which the value it belongs to counts,
// so that no infinite factor meets a zero adjoint; of a chain of operations only the last select is
// needed.  From each select the condition goes down to operands of which all uses are under it.
// Only through operations on floats: an integer that is not chosen may be an index or a divisor,
// which the inner select keeps valid.  Linear.  Keeps order, lines and names; same bits.
#include "ir/pass/pass.h"

typedef struct nested {
    vy_rewrite w;
    uint32_t *uses;
    uint32_t
        *condition; // by value: it is used only where this one has a known value; 0: everywhere
    uint8_t *holds; // by value: that value
} nested;

static bool is_float_value(const vy_program *p, uint32_t id)
{
    return !VY_IS_LEAF(id) && vy_op_infos[p->insts.data[id].op].effect == VY_PURE &&
           vy_type_is_float(vy_id_type(p, id));
}

// Users come after what they use and are visited first: where all are under one condition, none is
// left.
static void pass_down(nested *x, uint32_t id, uint32_t condition, bool holds)
{
    if (!is_float_value(x->w.p, id)) return;
    const bool other = x->condition[id] && (x->condition[id] != condition || x->holds[id] != holds);
    x->condition[id] = condition;
    x->holds[id] = holds;
    if (!other) x->uses[id]--;
}

static bool is_under(const nested *x, uint32_t id) { return x->condition[id] && !x->uses[id]; }

static void visit(nested *x, uint32_t id)
{
    const vy_program *p = x->w.p;
    if (p->insts.data[id].op == VY_OP_SELECT) {
        for (uint32_t k = 1; k < 3; k++) pass_down(x, vy_arg(p, id, k), vy_arg(p, id, 0), k == 1);
    } else if (is_under(x, id)) {
        for (uint32_t k = 0; k < p->insts.data[id].nargs; k++)
            pass_down(x, vy_arg(p, id, k), x->condition[id], x->holds[id]);
    }
}

static bool is_nested(const nested *x, uint32_t id)
{
    return x->w.p->insts.data[id].op == VY_OP_SELECT && is_under(x, id) &&
           x->condition[id] == vy_arg(x->w.p, id, 0);
}

static bool find_nested(nested *x)
{
    bool any = false;
    for (uint32_t id = x->w.p->insts.count; id-- > 1;) {
        if (is_float_value(x->w.p, id)) visit(x, id);
        any |= is_nested(x, id);
    }
    return any;
}

static uint32_t take_chosen(void *pass, uint32_t id)
{
    nested *x = pass;
    if (!is_nested(x, id)) return 0;
    x->w.map[id] = vy_new_arg(&x->w, id, x->holds[id] ? 1 : 2);
    return id;
}

bool vy_pass_nested_selects(vy_program *p, vy_pass_context *c)
{
    nested x = {0};
    bool ok = vy_rewrite_begin(&x.w, p);
    x.uses = ok ? vy_rewrite_uses(&x.w) : NULL;
    x.condition = ok ? vy_rewrite_ids(&x.w) : NULL;
    x.holds = ok ? vy_rewrite_bytes(&x.w) : NULL;
    ok &= x.uses && x.condition && x.holds;
    if (ok && find_nested(&x)) vy_rewrite_run(&x.w, take_chosen, &x);
    return vy_rewrite_end(&x.w, ok, &c->changed);
}
