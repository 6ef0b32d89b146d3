// SPDX-License-Identifier: MIT
// sweep.c: the reverse sweep over straight-line code.
#include "autodiff/core/adjoint.h"
#include "ir/build/build.h"
#include "autodiff/core/rules.h"
#include "autodiff/reverse/sweeps.h"
#include "autodiff/reverse/undo.h"
#include "autodiff/storage/storage.h"

static uint32_t both(reverse *r, uint32_t x, uint32_t y)
{
    return !x ? y : !y ? x : vy_emit(r->b, VY_OP_AND, VY_BOOL, 0, 2, (uint32_t[]){x, y});
}

static uint32_t zero_unless(reverse *r, uint32_t mask, uint32_t g)
{
    vy_type type = vy_id_type(vy_builder_program(r->b), g);
    uint32_t args[3] = {mask, g, vy_zero(r->b, type).id};
    return vy_emit(r->b, VY_OP_SELECT, type, 0, 3, args);
}

static uint32_t negated(reverse *r, uint32_t c) { return vy_not(r->b, (vy_value){c}).id; }

// x̄ += c ? ḡ : 0
static void contribute_where(reverse *r, uint32_t x, uint32_t c, uint32_t g, uint32_t mask)
{
    if (!vy_is_active(&r->facts, x)) return;
    const uint32_t seen = both(r, mask, c);
    vy_contribute(r, x, zero_unless(r, c, g), seen);
}

// select(c, x, y): x̄ += c ? ḡ : 0, ȳ += c ? 0 : ḡ
static void reverse_select(reverse *r, uint32_t id, uint32_t g, uint32_t mask)
{
    uint32_t c = vy_primal(r, vy_arg(r->p, id, 0)), x = vy_arg(r->p, id, 1);
    uint32_t y = vy_arg(r->p, id, 2), not_c = negated(r, c);
    contribute_where(r, x, c, g, mask);
    contribute_where(r, y, not_c, g, mask);
}

// Half v of the primal as f32.  A value that is not visible here is not used by any rule (masks.c).
static uint32_t widened(reverse *r, uint32_t v)
{
    bool here = VY_IS_LEAF(v) || (v && vy_visible(r->b, v));
    return here ? cast_to(r, VY_F32, v) : v;
}

static void reverse_rule(reverse *r, uint32_t id, uint32_t g, uint32_t mask)
{
    const vy_inst *i = &r->p->insts.data[id];
    vy_op op = (vy_op)i->op;
    bool wide = is_wide(r, g, id); // then its factors are f32, too
    rule row = {.b = r->b, .type = (vy_type)i->type, .y = r->build.map[id], .g = g, .aux = i->aux};
    uint32_t *operands[3] = {&row.a, &row.b_, &row.c};
    if (wide) row.type = VY_F32, row.y = widened(r, row.y);
    for (uint32_t k = 0; k < i->nargs; k++) {
        *operands[k] = vy_primal(r, vy_arg(r->p, id, k));
        if (wide && vy_id_type(r->p, vy_arg(r->p, id, k)) == VY_F16)
            *operands[k] = widened(r, *operands[k]);
        if (vy_is_active(&r->facts, vy_arg(r->p, id, k))) row.want |= 1u << k;
    }
    rule_kind kind = vy_rule_kind_of(op);
    vy_rule_apply(op, &row);
    for (uint32_t k = 0; k < i->nargs; k++) {
        if (!(row.want & (1u << k))) continue;
        uint32_t d = row.out[k], edge = mask;
        if (r->options->structural_zeros && d && vy_rule_is_singular(r->p, id, k))
            d = vy_rule_guarded(r->b, g, d);
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
        vy_undo_store(r, id);
        vy_rewind_store(r, id);
        vy_reverse_memory(r, id);
        return;
    }
    if (op == VY_OP_DISPATCH) {
        vy_reverse_dispatch(r, id);
        return;
    }
    if (op == VY_OP_BARRIER && r->facts.phased) {
        vy_lane_sums_make(r, true);
        vy_barrier(r->b);
    }
    if (i->type == VY_VOID || !vy_is_active(&r->facts, id)) return;
    rule_kind kind = vy_rule_kind_of(op);
    if (op == VY_OP_BITCAST) {
        refuse_bitcast(r, id);
        return;
    }
    if (op == VY_OP_APPLY) {
        vy_reverse_apply(r, id);
        return;
    }
    uint32_t g = r->build.adjoint[id], mask = r->facts.maskable[id] ? r->build.mask[id] : 0;
    if (!g) return;
    if (op == VY_OP_SELECT)
        reverse_select(r, id, g, mask);
    else if (vy_op_is_subgroup(op))
        vy_reverse_subgroup(r, id, i->type == VY_F16 ? cast_to(r, VY_F32, g) : g, mask);
    else if (op == VY_OP_STRAIGHT_THROUGH || op == VY_OP_DERIVE_AS) // ȳ of (x, y) alone
        vy_contribute(r, vy_arg(r->p, id, 1), g, mask);
    else if (op == VY_OP_CANDIDATE)
        vy_contribute(r, vy_arg(r->p, id, 0), g, mask);
    else if (op == VY_OP_CAST) // float to float: x̄ += ḡ in x's type
        vy_contribute(r, vy_arg(r->p, id, 0),
                      vy_cast(r->b, vy_id_type(r->p, vy_arg(r->p, id, 0)), (vy_value){g}).id, mask);
    else if (kind != RULE_HAND)
        reverse_rule(r, id, g, mask);
}

void vy_reverse_range(reverse *r, uint32_t first, uint32_t last)
{
    const uint32_t sums = r->build.sums.count;
    vy_undo_arrive(r, last);
    for (uint32_t id = last; id-- > first && !r->failed && !vy_builder_failed(r->b);) {
        const vy_inst *i = &r->p->insts.data[id];
        vy_at(r->b, i->line, i->column);
        if (vy_op_closes((vy_op)i->op)) {
            uint32_t opener = r->facts.s.partner[id];
            vy_at(r->b, r->p->insts.data[opener].line, r->p->insts.data[opener].column);
            if (r->facts.summed && r->facts.summed[opener]) vy_lane_sums_make(r, false);
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
        vy_undo_arrive(r, id);
    }
    if (r->build.sums.count > sums) vy_lane_sums_make(r, false);
}
