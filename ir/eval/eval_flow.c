// SPDX-License-Identifier: MIT
// eval_flow.c: control flow by lists of active lanes.
//
// An opener saves the current list in its frame and builds shorter ones in the two lists of its
// depth; closing it restores the outer list.  Lists never change while an inner construct is open,
// so each can be compacted in place.
#include "ir/core/flow.h"
#include "ir/eval/eval.h"

static uint32_t *list_of(const vy_machine *m, uint32_t depth, uint32_t which)
{
    return m->lists + ((size_t)depth * 2 + which) * m->lane_capacity;
}

static void jump(vy_machine *m, uint32_t target) { m->pc = target; }

static void restore(vy_machine *m, const vy_frame *f) { vy_set_active(m, f->act, f->nact); }

// Moves operands within one register file: that of the values, or that of the tangents.
static void move_in(vy_machine *m, const vy_xinst *x, vy_scalar *file)
{
    const uint32_t *from = m->operands + x->moves, *to = m->operands + x->to;
    const size_t lanes = m->lane_capacity;
    for (uint32_t i = 0; i < x->nmoves; i++) {
        const vy_scalar *s = file + from[i] * lanes;
        vy_scalar *d = x->clash ? m->scratch + i * lanes : file + to[i] * lanes;
        if (s != d) VY_EACH_ACTIVE(m, l, d[l] = s[l];)
    }
    for (uint32_t i = 0; x->clash && i < x->nmoves; i++) {
        const vy_scalar *s = m->scratch + i * lanes;
        vy_scalar *d = file + to[i] * lanes;
        VY_EACH_ACTIVE(m, l, d[l] = s[l];)
    }
}

// Moves the operands that leave or re-enter a construct, for the active lanes, as a parallel copy.
static void move(vy_machine *m, const vy_xinst *x)
{
    move_in(m, x, m->regs);
    if (m->dots) move_in(m, x, m->dots);
}

// ---------------------------------------------------------------------------------------------- if
static void run_if(vy_machine *m, const vy_xinst *x)
{
    const vy_scalar *cond = vy_reg(m, x->a);
    uint32_t *yes = list_of(m, x->depth, 0), *no = list_of(m, x->depth, 1), nyes = 0, nno = 0;
    vy_frame *f = &m->frames[x->depth];
    VY_EACH_ACTIVE(m, l, if (cond[l].u) yes[nyes++] = l; else no[nno++] = l;)
    *f = (vy_frame){m->act, m->nact, nno};
    if (nyes) {
        vy_set_active(m, yes, nyes);
    } else {
        vy_set_active(m, no, nno);
        jump(m, x->target);
    }
}

static void run_else(vy_machine *m, const vy_xinst *x)
{
    const vy_frame *f = &m->frames[x->depth];
    move(m, x);
    if (f->nelse) {
        vy_set_active(m, list_of(m, x->depth, 1), f->nelse);
    } else {
        restore(m, f);
        jump(m, x->target);
    }
}

static void run_endif(vy_machine *m, const vy_xinst *x)
{
    move(m, x);
    restore(m, &m->frames[x->depth]);
}

static void run_checkpoint(vy_machine *m, const vy_xinst *x)
{
    (void)m;
    (void)x;
}

static void run_endcheckpoint(vy_machine *m, const vy_xinst *x) { move(m, x); }

// ------------------------------------------------------------------------------------------- loops
static void bad_step(vy_machine *m, const vy_xinst *x, vy_scalar step)
{
    const vy_inst *i = &m->p->insts.data[x->inst];
    vy_eval_fail(m, VY_E_EVAL_STEP, i->line, i->column, "the step of this loop is %lld",
                 (long long)step.i);
}

static void enter(vy_machine *m, const vy_xinst *x, uint32_t n)
{
    if (n) {
        m->frames[x->depth] = (vy_frame){m->act, m->nact, 0};
        vy_set_active(m, list_of(m, x->depth, 0), n);
    } else {
        jump(m, x->target);
    }
}

static void run_loop(vy_machine *m, const vy_xinst *x)
{
    const vy_scalar *from = vy_reg(m, x->a), *to = vy_reg(m, x->b), *step = vy_reg(m, x->c);
    vy_scalar *var = vy_reg(m, x->dst), *left = vy_reg(m, x->aux);
    uint32_t *list = list_of(m, x->depth, 0), n = 0;
    move(m, x);
    for (uint32_t k = 0; k < m->nact; k++) {
        const uint32_t l = m->act[k];
        // The step of a padding lane may come from a load, which is 0 there.
        if (!vy_trips((vy_type)x->type, from[l], to[l], step[l], &left[l].u) && !m->padding[l]) {
            bad_step(m, x, step[l]);
            return;
        }
        if (!left[l].u) continue;
        vy_scalar v = from[l];
        if (x->flags & VY_FLAG_REVERSE) v.u += (left[l].u - 1) * step[l].u;
        var[l] = vy_wrap((vy_type)x->type, v);
        list[n++] = l;
    }
    enter(m, x, n);
}

static void run_while(vy_machine *m, const vy_xinst *x)
{
    uint32_t *list = list_of(m, x->depth, 0);
    move(m, x);
    for (uint32_t k = 0; k < m->nact; k++) list[k] = m->act[k];
    enter(m, x, m->nact);
}

// Runs another iteration with the first n lanes of the list, or leaves the loop if there are none.
static void next_round(vy_machine *m, const vy_xinst *x, uint32_t n, bool again)
{
    if (m->options.max_steps && m->steps > m->options.max_steps) {
        const vy_inst *i = &m->p->insts.data[x->inst];
        vy_eval_fail(m, VY_E_EVAL_STEPS, i->line, i->column, "gave up after %llu steps",
                     (unsigned long long)m->options.max_steps);
    } else if (n) {
        vy_set_active(m, list_of(m, x->depth, 0), n);
        if (again) jump(m, x->target);
    } else {
        restore(m, &m->frames[x->depth]);
        if (!again) jump(m, x->target);
    }
}

static void run_test(vy_machine *m, const vy_xinst *x)
{
    const vy_scalar *cond = vy_reg(m, x->a);
    uint32_t *list = list_of(m, x->depth, 0), n = 0;
    VY_EACH_ACTIVE(m, l, if (cond[l].u) list[n++] = l;)
    next_round(m, x, n, false);
}

static void run_endloop(vy_machine *m, const vy_xinst *x)
{
    const bool exits = x->flags & VY_FLAG_EXIT, reverse = x->flags & VY_FLAG_REVERSE;
    const vy_scalar *keep = vy_reg(m, x->a), *step = vy_reg(m, x->c);
    vy_scalar *var = vy_reg(m, x->dst), *left = vy_reg(m, x->aux);
    uint32_t *list = list_of(m, x->depth, 0), n = 0;
    // `keep` may be a register that the move writes.
    VY_EACH_ACTIVE(m, l, m->marks[l] = !exits || keep[l].u;)
    move(m, x);
    for (uint32_t k = 0; k < m->nact; k++) {
        const uint32_t l = m->act[k];
        if (!m->marks[l] || --left[l].u == 0) continue;
        var[l].u += reverse ? 0 - step[l].u : step[l].u;
        list[n++] = l;
    }
    next_round(m, x, n, true);
}

static void run_endwhile(vy_machine *m, const vy_xinst *x)
{
    const bool exits = x->flags & VY_FLAG_EXIT;
    const vy_scalar *keep = vy_reg(m, x->a);
    uint32_t *list = list_of(m, x->depth, 0), n = 0;
    VY_EACH_ACTIVE(m, l, m->marks[l] = !exits || keep[l].u;)
    move(m, x);
    VY_EACH_ACTIVE(m, l, if (m->marks[l]) list[n++] = l;)
    next_round(m, x, n, true);
}

vy_handler vy_eval_flow(vy_op op, vy_op opener)
{
    switch (op) {
    case VY_OP_IF: return run_if;
    case VY_OP_ELSE: return run_else;
    case VY_OP_ENDIF: return run_endif;
    case VY_OP_CHECKPOINT: return run_checkpoint;
    case VY_OP_ENDCHECKPOINT: return run_endcheckpoint;
    case VY_OP_LOOP: return run_loop;
    case VY_OP_WHILE: return run_while;
    case VY_OP_TEST: return run_test;
    case VY_OP_ENDLOOP: return opener == VY_OP_LOOP ? run_endloop : run_endwhile;
    default: return NULL;
    }
}
