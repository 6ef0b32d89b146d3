// SPDX-License-Identifier: MIT
// forward.c: a copy of the primal, and beside each active value its tangent.
#include "autodiff/forward/forward.h"

#include "autodiff/core/rules.h"
#include "autodiff/facts/facts.h"
#include "ir/check/check.h"
#include "ir/pass/pass.h"
#include "autodiff/reverse/sweeps.h"

#include <string.h>

static uint32_t select_value(forward *f, uint32_t c, uint32_t x, uint32_t y)
{
    return vy_select(f->w.b, (vy_value){c}, (vy_value){x}, (vy_value){y}).id;
}

// ------------------------------------------------------------------------------------------ values
// What operand k adds to the tangent of `id`; 0: nothing.
static uint32_t term_of(forward *f, uint32_t id, uint32_t k, rule *r)
{
    const uint32_t operand = vy_arg(f->w.p, id, k);
    r->g = vy_forward_dot(f, operand);
    r->want = 1u << k;
    r->out[k] = 0;
    if (!r->g) return 0;
    vy_rule_apply((vy_op)f->w.p->insts.data[id].op, r);
    const bool reached = VY_IS_LEAF(operand) || !f->unreached[operand];
    const bool certain = reached && !f->r->options->structural_zeros;
    return certain || !vy_rule_is_singular(f->w.p, id, k)
               ? r->out[k]
               : vy_rule_guarded(f->w.b, r->g, r->out[k]);
}

static uint32_t by_rule(forward *f, uint32_t id)
{
    const vy_program *p = f->w.p;
    const vy_inst *i = &p->insts.data[id];
    rule r = {.b = f->w.b, .type = (vy_type)i->type, .y = f->w.map[id], .aux = i->aux};
    if (i->nargs > 0) r.a = vy_new_arg(&f->w, id, 0);
    if (i->nargs > 1) r.b_ = vy_new_arg(&f->w, id, 1);
    if (i->nargs > 2) r.c = vy_new_arg(&f->w, id, 2);
    if (vy_rule_kind_of((vy_op)i->op) == RULE_PICK) {
        vy_rule_apply((vy_op)i->op, &r);
        const uint32_t second = vy_forward_tangent(f, vy_arg(p, id, 1));
        return select_value(f, r.pick, vy_forward_tangent(f, vy_arg(p, id, 0)), second);
    }
    uint32_t sum = 0;
    for (uint32_t k = 0; k < i->nargs; k++) {
        const uint32_t term = term_of(f, id, k, &r);
        if (term) sum = sum ? vy_add(f->w.b, (vy_value){sum}, (vy_value){term}).id : term;
    }
    return sum;
}

// The sum of each lane's tangent times the other lanes' values: one of these may be 0.
static uint32_t of_product(forward *f, uint32_t id, uint32_t dot)
{
    const uint32_t others = vy_subgroup_others(f->r, vy_new_arg(&f->w, id, 0));
    if (!others) return 0;
    const uint32_t term = vy_mul(f->w.b, (vy_value){dot}, (vy_value){others}).id;
    return vy_emit(f->w.b, VY_OP_SG_ADD, (vy_type)f->w.p->insts.data[id].type, 0, 1, &term);
}

// The tangents of the lanes go the way of the values; a maximum or minimum has become a shuffle
// from the lane that wins (rewrite/subgroup.c).
static uint32_t among_lanes(forward *f, uint32_t id)
{
    const vy_inst *i = &f->w.p->insts.data[id];
    uint32_t args[2] = {vy_forward_tangent(f, vy_arg(f->w.p, id, 0)), 0};
    switch ((vy_op)i->op) {
    case VY_OP_SG_BROADCAST:
    case VY_OP_SG_SHUFFLE:
    case VY_OP_SG_SHUFFLE_XOR: args[1] = vy_new_arg(&f->w, id, 1); break;
    case VY_OP_SG_MUL: return of_product(f, id, args[0]);
    default: break;
    }
    return vy_emit(f->w.b, (vy_op)i->op, (vy_type)i->type, i->aux, i->nargs, args);
}

static uint32_t tangent_of(forward *f, uint32_t id)
{
    const vy_program *p = f->w.p;
    const vy_inst *i = &p->insts.data[id];
    if (vy_op_is_subgroup((vy_op)i->op)) return among_lanes(f, id);
    switch ((vy_op)i->op) {
    case VY_OP_SELECT: {
        const uint32_t y = vy_forward_tangent(f, vy_arg(p, id, 2));
        const uint32_t x = vy_forward_tangent(f, vy_arg(p, id, 1));
        return select_value(f, vy_new_arg(&f->w, id, 0), x, y);
    }
    case VY_OP_CAST: {
        const vy_value t = {vy_forward_tangent(f, vy_arg(p, id, 0))};
        return vy_cast(f->w.b, (vy_type)i->type, t).id;
    }
    case VY_OP_STRAIGHT_THROUGH: return vy_forward_tangent(f, vy_arg(p, id, 1));
    case VY_OP_BITCAST:
        vy_reverse_fail(f->r, VY_E_NOT_DIFFERENTIABLE, id,
                        "compute with floats, or cut the derivative off with stop_grad",
                        "the bits of a float have no derivative");
        return 0;
    default: return by_rule(f, id);
    }
}

// -------------------------------------------------------------------------------------- constructs
static uint32_t step(void *pass, uint32_t id);

// Is the tangent of slot k carried, or yielded, too?
static bool is_carried(const forward *f, uint32_t opener, uint32_t k)
{
    const bool loop = vy_is_loop((vy_op)f->w.p->insts.data[opener].op);
    return vy_forward_is_active(f, vy_result(f->w.p, &f->w.s, opener, k)) ||
           (loop && vy_forward_is_active(f, vy_carry(opener, k)));
}

typedef uint32_t slot_value(const vy_program *p, const vy_structure *s, uint32_t opener,
                            uint32_t k);

static uint32_t init_of(const vy_program *p, const vy_structure *s, uint32_t opener, uint32_t k)
{
    (void)s;
    return vy_slot_init(p, opener, k);
}

// The tangents of these values of the slots, behind the slots' own.
static void fill(forward *f, vy_remade *l, slot_value *value)
{
    uint32_t at = l->own;
    for (uint32_t k = 0; k < l->own && !vy_rewrite_stopped(&f->w); k++)
        if (is_carried(f, l->opener, k))
            l->in[at++] = vy_forward_tangent(f, value(f->w.p, &f->w.s, l->opener, k));
}

// The slots' tangents are these values from now on; first: that of slot 0.
static void take_tangents(forward *f, const vy_remade *l, uint32_t first)
{
    uint32_t at = l->own;
    for (uint32_t k = 0; k < l->own && !vy_rewrite_stopped(&f->w); k++)
        if (is_carried(f, l->opener, k)) f->dot[first + k] = l->out[at++];
}

static uint32_t construct(forward *f, uint32_t id)
{
    const vy_op op = (vy_op)f->w.p->insts.data[id].op;
    uint32_t more = 0;
    vy_remade l;
    for (uint32_t k = 0; k < vy_slot_count(f->w.p, &f->w.s, id); k++) more += is_carried(f, id, k);
    if (!more) return 0;
    if (!vy_remake(&f->w, &l, id, more)) return id;
    if (vy_is_loop(op)) fill(f, &l, init_of);
    vy_remake_begin(&f->w, &l);
    if (vy_is_loop(op)) take_tangents(f, &l, vy_carry(id, 0));
    vy_remake_body(&f->w, &l, step, f);
    if (op == VY_OP_IF) {
        vy_remake_then(&f->w, &l);
        fill(f, &l, vy_slot_then);
        vy_remake_else(&f->w, &l);
        vy_remake_other(&f->w, &l, step, f);
    }
    vy_remake_next(&f->w, &l);
    fill(f, &l, vy_slot_yield);
    vy_remake_end(&f->w, &l);
    take_tangents(f, &l, vy_result(f->w.p, &f->w.s, id, 0));
    return vy_remake_last(&f->w, &l);
}

// ------------------------------------------------------------------------------------ the program
static uint32_t step(void *pass, uint32_t id)
{
    forward *f = pass;
    const vy_op op = (vy_op)f->w.p->insts.data[id].op;
    if (op == VY_OP_IF || op == VY_OP_CHECKPOINT || vy_is_loop(op)) return construct(f, id);
    if (vy_op_is_memory(op)) {
        vy_rewrite_at(&f->w, id);
        vy_forward_memory(f, id);
        return id;
    }
    if (op == VY_OP_DISPATCH) return vy_forward_dispatch(f, id);
    if (op == VY_OP_CANDIDATE) { // has done its duty
        f->w.map[id] = vy_new_arg(&f->w, id, 0);
        return id;
    }
    if (vy_is_slot(op) || vy_is_marker(op) || !vy_forward_is_active(f, id)) return 0;
    if (op == VY_OP_APPLY) return vy_forward_apply(f, id);
    vy_rewrite_copy(&f->w, id);
    vy_rewrite_at(&f->w, id);
    f->dot[id] = tangent_of(f, id);
    return id;
}

static bool make_tables(forward *f)
{
    const vy_program *p = f->w.p;
    f->dot = vy_rewrite_ids(&f->w);
    f->unreached = vy_rewrite_bytes(&f->w);
    f->leaf_dot = vy_rewrite_table(&f->w, (p->leaves.count + 1) * sizeof *f->leaf_dot);
    f->twin = vy_rewrite_table(&f->w, p->buffers.count * sizeof *f->twin);
    return !f->w.oom;
}

static void build(forward *f)
{
    if (!vy_rewrite_open(&f->w)) return;
    f->r->b = f->w.b;
    if (vy_forward_declare(f)) vy_rewrite_range(&f->w, 1, f->w.p->insts.count, step, f);
}

// Outputs whose values the tangents need are the caller's after all: unlike a workspace, an output
// does not keep the result from being differentiated again.
static void return_outputs(vy_program *p)
{
    for (uint32_t i = 1; i < p->buffers.count; i++) {
        vy_buf *b = &p->buffers.data[i];
        if (b->role.kind != VY_IS_VALUE || !b->workspace) continue;
        b->workspace = false;
        b->cls = VY_OUT;
    }
}

// Puts the parameters in front of the intermediates, as in a pipeline.  False: memory.
static bool parameters_first(vy_program *p)
{
    const uint32_t count = p->buffers.count;
    uint32_t *to = vy_realloc(NULL, count * sizeof *to), n = 1;
    vy_buf *all = vy_realloc(NULL, count * sizeof *all);
    for (uint32_t inner = 0; to && all && inner < 2; inner++)
        for (uint32_t i = 1; i < count; i++) {
            const vy_buf *b = &p->buffers.data[i];
            if ((!vy_is_global(b->cls) || b->workspace) != inner) continue;
            to[i] = n;
            all[n++] = *b;
        }
    const bool ok = n == count;
    if (ok) {
        memcpy(p->buffers.data + 1, all + 1, (count - 1) * sizeof *all);
        vy_renumber_buffers(p, to);
        vy_names_drop(p);
    } else {
        vy_fail_oom(p->module);
    }
    vy_free(to);
    vy_free(all);
    return ok;
}

// Leaves out what the tangents do not need.
static bool finish(vy_program *p)
{
    vy_pass_context c = {0};
    if (p->host) // its parts are checked as programs, it itself as a pipeline
        return vy_pass_cleanup(p, &c) && vy_pass_dce(p, &c) && vy_drop_unused(p, VY_DROP_MADE) &&
               parameters_first(p);
    if (!vy_pass_cleanup(p, &c) || !vy_pass_dce(p, &c) || !vy_pass_dse(p, &c) ||
        !vy_pass_dce(p, &c) || !vy_drop_unused(p, VY_DROP_MADE))
        return false;
    return_outputs(p);
    return vy_check_program(p);
}

bool vy_forward(reverse *r, vy_program *p, const vy_program *source)
{
    forward f = {.r = r};
    vy_pass_context c = {0};
    bool ok = vy_rewrite_begin(&f.w, p) && make_tables(&f) && vy_reverse_tables(r);
    if (ok) vy_reverse_choose(r, source);
    ok = ok && !r->failed && vy_activity(&r->facts) && vy_find_unreached(&f);
    if (ok) build(&f);
    ok = vy_rewrite_end(&f.w, ok || r->failed, &c.changed) && !r->failed;
    vy_reverse_free(r);
    return ok && finish(p);
}
