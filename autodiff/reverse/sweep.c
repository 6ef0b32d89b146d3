// SPDX-License-Identifier: MIT
// sweep.c: the reverse sweep over straight-line code, and adjoint bookkeeping.
#include "autodiff/core/adjoint.h"
#include "ir/build/build.h"
#include "autodiff/core/rules.h"
#include "autodiff/reverse/sweeps.h"

#include <stdio.h>

static uint32_t emit2(reverse *r, vy_op op, vy_type type, uint32_t x, uint32_t y)
{
    return vy_emit(r->b, op, type, 0, 2, (uint32_t[]){x, y});
}

// Inside an arm, assignments to what was there before it are logged: the arm's end merges them.
void vy_set_adjoint(reverse *r, uint32_t id, uint32_t adjoint, uint32_t mask)
{
    uint32_t *slot = VY_IS_LEAF(id) ? &r->leaf_adjoint[VY_LEAF_INDEX(id)] : &r->adjoint[id];
    uint32_t *mask_slot = VY_IS_LEAF(id) ? NULL : &r->mask[id];
    if (r->arm && (VY_IS_LEAF(id) || id < r->arm)) {
        reverse_undo u = {id, *slot, mask_slot ? *mask_slot : 0};
        if (!vy_vec_push(&r->log, u)) {
            vy_fail_oom(r->out);
            r->failed = true;
            return;
        }
    }
    *slot = adjoint;
    if (mask_slot) *mask_slot = mask;
}

// Two adjoints of `id`; the sum of halves is f32 (adjoint.h).
static uint32_t add(reverse *r, uint32_t id, uint32_t x, uint32_t y)
{
    vy_type own = vy_id_type(r->p, id), type = own == VY_F16 ? VY_F32 : own;
    return emit2(r, VY_OP_ADD, type, cast_to(r, type, x), cast_to(r, type, y));
}

void vy_contribute(reverse *r, uint32_t id, uint32_t g, uint32_t edge)
{
    if (!g || !vy_is_active(r, id)) return;
    uint32_t have = VY_IS_LEAF(id) ? r->leaf_adjoint[VY_LEAF_INDEX(id)] : r->adjoint[id];
    uint32_t mask = VY_IS_LEAF(id) ? 0 : r->mask[id];
    const vy_scalar *k = vy_id_const(vy_builder_program(r->b), g);
    if (!VY_IS_LEAF(id) && r->maskable[id]) {
        uint32_t now = edge ? edge : vy_bool(r->b, true).id;
        mask = mask ? emit2(r, VY_OP_OR, VY_BOOL, mask, now) : now;
    }
    // A contribution that is zero by a rule is dropped; −0 + 0 would change nothing that shows.
    uint32_t sum = have && k && k->f == 0 ? have : have ? add(r, id, have, g) : g;
    vy_set_adjoint(r, id, sum, mask);
}

static uint32_t both(reverse *r, uint32_t x, uint32_t y)
{
    return !x ? y : !y ? x : emit2(r, VY_OP_AND, VY_BOOL, x, y);
}

static uint32_t zero_unless(reverse *r, uint32_t mask, uint32_t g)
{
    vy_type type = vy_id_type(vy_builder_program(r->b), g);
    uint32_t args[3] = {mask, g, vy_zero(r->b, type).id};
    return vy_emit(r->b, VY_OP_SELECT, type, 0, 3, args);
}

static uint32_t negated(reverse *r, uint32_t c) { return vy_not(r->b, (vy_value){c}).id; }

// select(c, x, y): x̄ += c ? ḡ : 0, ȳ += c ? 0 : ḡ
static void reverse_select(reverse *r, uint32_t id, uint32_t g, uint32_t mask)
{
    uint32_t c = vy_primal(r, vy_arg(r->p, id, 0)), x = vy_arg(r->p, id, 1);
    uint32_t y = vy_arg(r->p, id, 2), not_c = negated(r, c);
    if (vy_is_active(r, x)) vy_contribute(r, x, zero_unless(r, c, g), both(r, mask, c));
    if (vy_is_active(r, y)) vy_contribute(r, y, zero_unless(r, not_c, g), both(r, mask, not_c));
}

// Half v of the primal as f32; what is not to be had here (masks.c), no rule asks for.
static uint32_t widened(reverse *r, uint32_t v)
{
    bool here = VY_IS_LEAF(v) || (v && vy_visible(r->b, v));
    return here ? cast_to(r, VY_F32, v) : v;
}

static void reverse_rule(reverse *r, uint32_t id, uint32_t g, uint32_t mask)
{
    const vy_inst *i = &r->p->insts.data[id];
    vy_op op = (vy_op)i->op;
    bool wide = is_wide(r, g, id); // then what it is multiplied with is f32, too
    rule row = {.b = r->b, .type = (vy_type)i->type, .y = r->map[id], .g = g, .aux = i->aux};
    uint32_t *operands[3] = {&row.a, &row.b_, &row.c};
    if (wide) row.type = VY_F32, row.y = widened(r, row.y);
    for (uint32_t k = 0; k < i->nargs; k++) {
        *operands[k] = vy_primal(r, vy_arg(r->p, id, k));
        if (wide && vy_id_type(r->p, vy_arg(r->p, id, k)) == VY_F16)
            *operands[k] = widened(r, *operands[k]);
        if (vy_is_active(r, vy_arg(r->p, id, k))) row.want |= 1u << k;
    }
    rule_kind kind = vy_rule_kind_of(op);
    vy_rule_apply(op, &row);
    for (uint32_t k = 0; k < i->nargs; k++) {
        if (!(row.want & (1u << k))) continue;
        uint32_t d = row.out[k], edge = mask;
        if (vy_rule_drops(r->p, id, k)) edge = both(r, mask, vy_rule_kept(r->b, d, g));
        if (mask && kind == RULE_PARTIAL) d = zero_unless(r, mask, d);
        if (kind == RULE_PICK) edge = both(r, mask, k == 0 ? row.pick : negated(r, row.pick));
        vy_contribute(r, vy_arg(r->p, id, k), d, edge);
    }
}

static void refuse_bitcast(reverse *r, uint32_t id)
{
    vy_reverse_fail(r, VY_E_NOT_DIFFERENTIABLE, id,
                    "write the computation with float operations, or cut it with stop_grad(…)",
                    "a float that depends on the inputs returns to float through a bitcast, "
                    "which has no derivative");
}

static void reverse_inst(reverse *r, uint32_t id)
{
    const vy_inst *i = &r->p->insts.data[id];
    vy_op op = (vy_op)i->op;
    if (vy_op_is_memory(op)) {
        vy_reverse_memory(r, id);
        return;
    }
    if (op == VY_OP_BARRIER && r->phased) vy_barrier(r->b);
    if (i->type == VY_VOID || !vy_is_active(r, id)) return;
    rule_kind kind = vy_rule_kind_of(op);
    if (op == VY_OP_BITCAST) {
        refuse_bitcast(r, id);
        return;
    }
    uint32_t g = r->adjoint[id], mask = r->maskable[id] ? r->mask[id] : 0;
    if (!g) return;
    if (op == VY_OP_SELECT)
        reverse_select(r, id, g, mask);
    else if (vy_op_is_subgroup(op))
        vy_reverse_subgroup(r, id, i->type == VY_F16 ? cast_to(r, VY_F32, g) : g, mask);
    else if (op == VY_OP_STRAIGHT_THROUGH) // ȳ of straight_through(x, y) alone
        vy_contribute(r, vy_arg(r->p, id, 1), g, mask);
    else if (op == VY_OP_CAST) // float to float: x̄ += ḡ in x's type
        vy_contribute(r, vy_arg(r->p, id, 0),
                      vy_cast(r->b, vy_id_type(r->p, vy_arg(r->p, id, 0)), (vy_value){g}).id, mask);
    else if (kind != RULE_HAND)
        reverse_rule(r, id, g, mask);
}

void vy_name_adjoint(reverse *r, uint32_t adjoint, uint32_t of)
{
    char name[80];
    const char *own = "";
    if (VY_IS_LEAF(of)) {
        const vy_leaf *l = &r->p->leaves.data[VY_LEAF_INDEX(of)];
        if (l->kind == VY_LEAF_SCALAR) own = r->p->scalars.data[l->index].name;
    } else {
        const vy_inst *i = &r->p->insts.data[of];
        own = vy_string(&r->p->module->names, i->name);
        if (!*own && i->op == VY_OP_LOAD) own = vy_buffer_name(r, i->aux);
    }
    snprintf(name, sizeof name, "adj_%.70s", own);
    if (*own) vy_name(r->b, (vy_value){adjoint}, name);
}

void vy_reverse_range(reverse *r, uint32_t first, uint32_t last)
{
    for (uint32_t id = last; id-- > first && !r->failed && !vy_builder_failed(r->b);) {
        const vy_inst *i = &r->p->insts.data[id];
        vy_at(r->b, i->line, i->column);
        if (vy_op_closes((vy_op)i->op)) {
            uint32_t opener = r->s.partner[id];
            vy_at(r->b, r->p->insts.data[opener].line, r->p->insts.data[opener].column);
            if (i->op == VY_OP_ENDIF)
                vy_reverse_if(r, opener);
            else if (i->op == VY_OP_ENDLOOP)
                vy_reverse_loop(r, opener);
            else
                vy_reverse_checkpoint(r, opener);
            id = opener;
        } else if (vy_op_infos[i->op].effect != VY_CTRL) {
            reverse_inst(r, id);
        }
    }
}
