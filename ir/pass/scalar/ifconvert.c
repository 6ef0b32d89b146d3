// SPDX-License-Identifier: MIT
// ifconvert.c: computes both arms of a cheap IF and selects.
//
//   IF [c]                            a = mul x 2
//     a = mul x 2              →      b = add x 1
//   ELSE [a]  b = add x 1             r = select c a b
//   ENDIF [b]  RESULT 0
//
// A branch costs more than a few arithmetic operations, and values in different arms cannot be
// shared.  But both arms then always execute: only pure and cheap operations qualify (no division,
// no functions), at most LIMIT in both arms together, selects included.  Loads stay guarded: they
// cost memory traffic, and their condition is often the proof that they are in range.  Inner IFs
// are decided first, and their cost is that of what they become.
//
// `flatten_ifs` is for drivers that run lanes in lock step on a CPU (options->lanes): an `if` that
// nearly all lanes enter saves nothing there, and each value that it yields is chosen by lane.  It
// takes what `i != j` guards, with loads of `in` buffers, as long as it is no function of the
// library.  (Mesa 25's lavapipe jumps over an arm that no lane enters, 22.3's does not, so other
// conditions stay.)  What holds of an access in an arm may not hold outside: such loads lose the
// mark that they are in range, which `mark_in_range` proves again, and stay where it proves nothing
// because the caller has (options->unchecked).
//
// Needs valid structure; keeps lines and names.
#include "ir/pass/pass.h"
#include "ir/core/flow.h"
#include "ir/facts/price.h"

enum { LIMIT = 6, LIMIT_IN_LOCK_STEP = 64, LOAD = 8, ROOT = 4, TOO_MUCH = 1000 };

typedef struct ifconvert {
    vy_rewrite w;
    uint8_t *flat; // by IF: it becomes selects
    bool any;
    bool in_lock_step; // `flatten_ifs`
    bool unchecked;    // … where accesses get no guards
} ifconvert;

// Is it an integer condition that few lanes do not meet?
static bool is_likely(const vy_program *p, uint32_t opener)
{
    const uint32_t c = vy_arg(p, opener, 0);
    return !VY_IS_LEAF(c) && p->insts.data[c].op == VY_OP_NE &&
           !vy_type_is_float(vy_id_type(p, vy_arg(p, c, 0)));
}

static uint32_t limit_of(const ifconvert *c, uint32_t opener)
{
    return c->in_lock_step && is_likely(c->w.p, opener) ? LIMIT_IN_LOCK_STEP : LIMIT;
}

static uint32_t cost_of(const ifconvert *c, uint32_t id)
{
    const vy_inst *i = &c->w.p->insts.data[id];
    if (vy_is_cheap((vy_op)i->op)) return 1;
    if (!c->in_lock_step) return TOO_MUCH;
    switch ((vy_op)i->op) {
    case VY_OP_LOAD:
        return c->w.p->buffers.data[i->aux].cls == VY_IN && !c->unchecked ? LOAD : TOO_MUCH;
    case VY_OP_DIV:
    case VY_OP_SQRT:
    case VY_OP_RSQRT: return vy_type_is_float((vy_type)i->type) ? ROOT : TOO_MUCH;
    default: return TOO_MUCH;
    }
}

static bool choose_ifs(ifconvert *c)
{
    const vy_program *p = c->w.p;
    // By depth: cost of the construct open there.  Saturates far below overflow.
    uint32_t *sum = vy_arena_alloc(&c->w.arena, (VY_MAX_NESTING + 2) * sizeof *sum);
    if (!sum) return false;
    for (uint32_t id = 1; id < p->insts.count; id++) {
        vy_op op = (vy_op)p->insts.data[id].op;
        uint32_t depth = c->w.s.depth[id], add = 0;
        if (vy_op_opens(op))
            sum[depth + 1] = 0;
        else if (op == VY_OP_ENDIF) {
            add = sum[depth + 1] + p->insts.data[id].nargs;
            uint32_t opener = c->w.s.partner[id];
            if (add <= limit_of(c, opener) && p->insts.data[id].nargs)
                c->flat[opener] = c->any = true;
            else
                add = TOO_MUCH;
        } else if (vy_op_closes(op))
            add = TOO_MUCH;
        else if (!vy_is_marker(op))
            add = cost_of(c, id);
        sum[depth] = sum[depth] + add > TOO_MUCH ? TOO_MUCH : sum[depth] + add;
    }
    return true;
}

// Is `then` a result of another `if` on the same condition, which yields `other` in its other arm?
static bool is_selected(const vy_rewrite *w, uint32_t opener, uint32_t then, uint32_t other)
{
    uint32_t yes, no, earlier = vy_choice(w->p, &w->s, then, &yes, &no);
    return earlier && vy_arg(w->p, earlier, 0) == vy_arg(w->p, opener, 0) && no == other;
}

static void emit_selects(ifconvert *c, uint32_t end)
{
    vy_rewrite *w = &c->w;
    uint32_t opener = vy_opener(w->p, &w->s, end), n = vy_slot_count(w->p, &w->s, opener);
    for (uint32_t k = 0; k < n; k++) {
        const uint32_t then = vy_slot_then(w->p, &w->s, opener, k);
        const uint32_t other = vy_slot_yield(w->p, &w->s, opener, k);
        uint32_t args[3] = {vy_new_arg(w, opener, 0), vy_new(w, then), vy_new(w, other)};
        uint32_t result = vy_result(w->p, &w->s, opener, k);
        vy_rewrite_at(w, result);
        if (is_selected(w, opener, then, other)) {
            vy_rewrite_as(w, result, args[1]);
            continue;
        }
        vy_rewrite_as(w, result, vy_emit(w->b, VY_OP_SELECT, vy_id_type(w->p, result), 0, 3, args));
    }
}

static uint32_t instead(void *pass, uint32_t id)
{
    ifconvert *c = pass;
    vy_op op = (vy_op)c->w.p->insts.data[id].op;
    if (op == VY_OP_LOAD && c->flat[c->w.s.parent[id]]) {
        vy_rewrite_moved(&c->w, id, NULL, c->w.map);
        return id;
    }
    if (!vy_is_marker(op) || !c->flat[vy_opener(c->w.p, &c->w.s, id)]) return 0;
    if (op == VY_OP_ENDIF) emit_selects(c, id);
    return id;
}

static bool convert(vy_program *p, bool in_lock_step, vy_pass_context *context)
{
    const vy_opt_options *o = context->options;
    if (!(vy_constructs(p) & VY_IFS)) return true;
    ifconvert c = {.in_lock_step = in_lock_step, .unchecked = o && o->unchecked};
    bool ok = vy_rewrite_begin(&c.w, p) && (c.flat = vy_rewrite_bytes(&c.w)) && choose_ifs(&c);
    if (ok && c.any) vy_rewrite_run(&c.w, instead, &c);
    return vy_rewrite_end(&c.w, ok, &context->changed);
}

bool vy_pass_ifconvert(vy_program *p, vy_pass_context *context)
{
    return convert(p, false, context);
}

bool vy_pass_flatten_ifs(vy_program *p, vy_pass_context *context)
{
    const vy_opt_options *o = context->options;
    return !o || !o->lanes || convert(p, true, context);
}
