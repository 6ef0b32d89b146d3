// SPDX-License-Identifier: MIT
// eval_dual.c: computes tangents alongside the values, see dual.h.
//
// Each register is paired with one for its tangent, and so is each element of a float buffer.  An
// instruction runs as usual; then the tangent of its result is computed, from operands that are
// still available, since no instruction's result shares a register with its operands.  Control flow
// moves tangents as it moves values (eval_flow.c).
//
// Order.  Additions add tangents in the order in which values are added.  Of candidates that tie in
// an atomic_min or atomic_max, the one of the highest invocation wins, whatever the order
// (docs/language.md 9.2): to this end, the number of the invocation that set an element is kept.
#include "ir/eval/eval.h"

#include <float.h>
#include <math.h>

static bool is_float(vy_type t) { return vy_type_is_float(t); }

static double *dots_of(const vy_machine *m, uint32_t reg)
{
    return &m->dots[(size_t)reg * m->lane_capacity].f;
}

// ------------------------------------------------------------------------------------------ memory
static void forget(double *dot, uint64_t count)
{
    const double none = vy_dual_none();
    for (uint64_t e = 0; e < count; e++) dot[e] = none;
}

// The number of elements of the buffer; of a local array, in all lanes.
static uint64_t element_count(const vy_machine *m, const vy_bound *b)
{
    return b->cls == VY_LOCAL ? b->count * m->lane_capacity : b->count;
}

void vy_dual_restart(vy_machine *m, uint32_t id)
{
    const vy_bound *b = &m->bounds[id];
    forget(b->dot, element_count(m, b));
    if (b->winner) memset(b->winner, 0, b->count * sizeof *b->winner);
}

void vy_dual_release(vy_bound *b)
{
    if (b->dot_owned) vy_free(b->dot);
    vy_free(b->winner);
    b->dot = NULL;
    b->winner = NULL;
    b->dot_owned = false;
}

// Finds, for each buffer, the caller's tangents and whether the program has an extremum atomic on
// it.
static void describe(vy_machine *m)
{
    const vy_dual *d = m->hooks->dual;
    for (uint32_t k = 0; k < d->buffer_count; k++) {
        vy_bound *b = &m->bounds[vy_eval_parameter(m->p, d->buffers[k].name)];
        if (!b->tangents) b->tangents = &d->buffers[k];
    }
    m->bounds[0].tangents = NULL; // was set for names of no parameter
    for (uint32_t id = 1; id < m->p->insts.count; id++) {
        const vy_inst *i = &m->p->insts.data[id];
        if (i->op == VY_OP_ATOMIC_MIN || i->op == VY_OP_ATOMIC_MAX)
            m->bounds[i->aux].extrema = true;
    }
}

// A buffer that starts as a copy of another has the same tangents.
static void copy_start(vy_machine *m, uint32_t id)
{
    const vy_buf *info = &m->p->buffers.data[id];
    const vy_bound *b = &m->bounds[id];
    if (info->init != VY_INIT_COPY || !info->init_from || !b->dot) return;
    if (b->given && b->cls != VY_OUT) return; // the caller's contents stay
    const vy_bound *from = &m->bounds[vy_eval_parameter(m->p, info->init_from)];
    for (uint64_t e = 0; from->dot && e < b->count && e < from->count; e++)
        b->dot[e] = from->dot[e];
}

static bool allocate(vy_machine *m, uint32_t id)
{
    vy_bound *b = &m->bounds[id];
    const vy_dual_buffer *from = b->tangents;
    vy_dual_release(b);
    if (!is_float(m->p->buffers.data[id].type)) return true;
    if (from && m->hooks->dual->in_place) {
        b->dot = from->tangent;
    } else {
        b->dot = vy_eval_alloc(m, element_count(m, b), sizeof *b->dot);
        b->dot_owned = b->dot != NULL;
        if (!b->dot) return false;
        from = b->cls == VY_OUT ? NULL : from;
        for (uint64_t e = 0; from && e < b->count; e++)
            b->dot[e] = from->tangent[e] != 0 ? from->tangent[e] : vy_dual_none();
    }
    if (!from || b->cls == VY_OUT) forget(b->dot, element_count(m, b));
    if (b->extrema) b->winner = vy_eval_alloc(m, b->count, sizeof *b->winner);
    return !m->failed;
}

bool vy_dual_make_one(vy_machine *m, uint32_t id)
{
    if (!allocate(m, id)) return false;
    copy_start(m, id);
    return true;
}

bool vy_dual_make(vy_machine *m)
{
    if (!m->hooks->dual) return true;
    describe(m);
    for (uint32_t id = 1; id < m->p->buffers.count; id++) {
        const vy_bound *b = &m->bounds[id];
        // Local arrays are allocated with the lanes, a pipeline's intermediates when reached.
        if (b->cls == VY_LOCAL || (m->pipeline && !b->given)) continue;
        if (!allocate(m, id)) return false;
    }
    for (uint32_t id = 1; id < m->p->buffers.count; id++) copy_start(m, id);
    return true;
}

void vy_dual_finish(vy_machine *m)
{
    const vy_dual *d = m->hooks->dual;
    for (uint32_t id = 1; id < m->p->buffers.count && !d->in_place; id++) {
        const vy_bound *b = &m->bounds[id];
        const vy_dual_buffer *to = b->tangents;
        if (!to || !b->dot || b->cls == VY_IN) continue;
        for (uint64_t e = 0; e < b->count; e++)
            to->tangent[e] = vy_dual_is_none(b->dot[e]) ? 0 : b->dot[e];
    }
}

bool vy_dual_leaves(vy_machine *m)
{
    const vy_dual *d = m->hooks->dual;
    double *scalars = vy_eval_alloc(m, m->p->scalars.count + 1, sizeof *scalars);
    for (uint32_t k = 0; scalars && k < d->scalar_count; k++) {
        const uint32_t i = vy_program_find_scalar(m->p, d->scalars[k].name);
        if (i != UINT32_MAX && scalars[i] == 0) scalars[i] = d->scalars[k].tangent;
    }
    for (uint32_t k = 0; scalars && k < m->p->leaves.count; k++) {
        const vy_leaf *l = &m->p->leaves.data[k];
        if (m->leaf_regs[k] == UINT32_MAX) continue;
        double *t = dots_of(m, m->leaf_regs[k]);
        const double of = l->kind == VY_LEAF_SCALAR ? scalars[l->index] : 0;
        const double tangent = of != 0 ? of : vy_dual_none();
        for (uint32_t l = 0; l < m->lane_capacity; l++) t[l] = tangent;
    }
    vy_free(scalars);
    return scalars != NULL;
}

// ------------------------------------------------------------------------------------------ values
static double plus(double a, double b)
{
    return vy_dual_is_none(a) ? b : vy_dual_is_none(b) ? a : a + b;
}

// Adds the rounding error of a newly computed value y to the bound t.
static double rounded(const vy_machine *m, double t, double y)
{
    if (m->hooks->dual->mode != VY_DUAL_ROUNDING || y == 0 || !isfinite(y)) return t;
    return plus(t, fabs(y) * (DBL_EPSILON / 2));
}

static bool rounds(uint32_t op)
{
    switch (op) {
    case VY_OP_NEG:
    case VY_OP_ABS:
    case VY_OP_MIN:
    case VY_OP_MAX:
    case VY_OP_CLAMP:
    case VY_OP_SIGN:
    case VY_OP_FLOOR:
    case VY_OP_CEIL:
    case VY_OP_TRUNC:
    case VY_OP_ROUND: return false;
    default: return true;
    }
}

static double combine(const vy_machine *m, uint32_t op, uint32_t aux, uint32_t n, const double *v,
                      const double *t, double y)
{
    const vy_dual_mode mode = m->hooks->dual->mode;
    double total = vy_dual_none(), partial;
    for (uint32_t k = 0; k < n; k++) {
        if (vy_dual_is_none(t[k]) || !vy_dual_partial(op, aux, v, y, k, &partial)) continue;
        total = plus(total, (mode == VY_DUAL_TANGENT ? partial : fabs(partial)) * t[k]);
    }
    return rounds(op) ? rounded(m, total, y) : total;
}

static void step_pure(vy_machine *m, const vy_xinst *x)
{
    const bool rounding = m->hooks->dual->mode == VY_DUAL_ROUNDING;
    const vy_scalar *a = vy_reg(m, x->a), *b = vy_reg(m, x->b), *c = vy_reg(m, x->c);
    const double *ta = dots_of(m, x->a), *tb = dots_of(m, x->b), *tc = dots_of(m, x->c);
    const vy_scalar *y = vy_reg(m, x->dst);
    double *d = dots_of(m, x->dst);
    const double none = vy_dual_none();
    switch ((vy_op)x->op) {
    case VY_OP_SELECT: VY_EACH_ACTIVE(m, l, d[l] = a[l].u ? tb[l] : tc[l];) return;
    case VY_OP_CAST:
        VY_EACH_ACTIVE(m, l, d[l] = is_float((vy_type)x->operand_type) ? ta[l] : none;)
        return;
    case VY_OP_BITCAST: VY_EACH_ACTIVE(m, l, d[l] = none;) return;
    case VY_OP_STOP_GRAD: // it has no derivative, but the operand's rounding error
        VY_EACH_ACTIVE(m, l, d[l] = rounding ? ta[l] : none;)
        return;
    case VY_OP_CANDIDATE: VY_EACH_ACTIVE(m, l, d[l] = ta[l];) return;
    case VY_OP_DERIVE_AS:
    case VY_OP_STRAIGHT_THROUGH: VY_EACH_ACTIVE(m, l, d[l] = rounding ? ta[l] : tb[l];) return;
    default: break;
    }
    for (uint32_t k = 0; k < m->nact; k++) {
        const uint32_t l = m->act[k];
        const double v[3] = {a[l].f, b[l].f, c[l].f}, t[3] = {ta[l], tb[l], tc[l]};
        d[l] = combine(m, x->op, x->aux, x->nargs, v, t, y[l].f);
    }
}

// -------------------------------------------------------------------------------- loads and stores
static double *place(const vy_machine *m, const vy_bound *b, uint32_t lane)
{
    return b->dot + (b->cls == VY_LOCAL ? lane * b->count : 0) + m->offsets[lane];
}

// A shared array is cleared entirely, a local array only in active lanes.
static void step_zero(vy_machine *m, const vy_xinst *x, const vy_bound *b)
{
    if (b->cls == VY_SHARED)
        vy_dual_restart(m, x->aux);
    else if (b->cls == VY_LOCAL)
        VY_EACH_ACTIVE(m, l, forget(b->dot + l * b->count, b->count);)
}

// Does the candidate of this lane replace the element?
static bool wins(const vy_machine *m, const vy_xinst *x, const vy_bound *b, uint32_t l, double old,
                 double v)
{
    const uint64_t all = (uint64_t)m->workgroup[0] * m->workgroup[1] * m->workgroup[2];
    const uint64_t me = m->group * all + m->linear[l] + 1;
    uint64_t *winner = &b->winner[m->offsets[l]];
    const bool keeps = x->op == VY_OP_ATOMIC_MIN ? old < v : old > v;
    if (keeps || (old == v && me < *winner)) return false;
    *winner = me;
    return true;
}

static double updated(const vy_machine *m, const vy_xinst *x, const vy_bound *b, uint32_t l,
                      double old, const double v[2], double before, const double t[2])
{
    const vy_scalar was = {.f = old}, expected = {.f = v[0]};
    switch ((vy_op)x->op) {
    case VY_OP_ATOMIC_ADD: return rounded(m, plus(before, t[0]), old + v[0]);
    case VY_OP_ATOMIC_MIN:
    case VY_OP_ATOMIC_MAX: return wins(m, x, b, l, old, v[0]) ? t[0] : before;
    case VY_OP_ATOMIC_EXCHANGE: return t[0];
    case VY_OP_ATOMIC_CAS: return vy_scalar_same(VY_F64, was, expected) ? t[1] : before;
    default: return before;
    }
}

static void step_atomic(vy_machine *m, const vy_xinst *x, const vy_bound *b)
{
    const uint32_t first = m->operands[x->args + b->rank],
                   second = m->operands[x->args + x->nargs - 1];
    const vy_scalar *old = x->type == VY_VOID ? m->scratch : vy_reg(m, x->dst);
    double *d = x->type == VY_VOID ? NULL : dots_of(m, x->dst);
    for (uint32_t k = 0; k < m->nact; k++) {
        const uint32_t l = m->act[k];
        double before = vy_dual_none();
        if (m->offsets[l] >= 0) {
            const double v[2] = {vy_reg(m, first)[l].f, vy_reg(m, second)[l].f};
            const double t[2] = {dots_of(m, first)[l], dots_of(m, second)[l]};
            double *at = place(m, b, l);
            before = *at;
            *at = updated(m, x, b, l, old[l].f, v, before, t);
        }
        if (d) d[l] = before;
    }
}

static void step_memory(vy_machine *m, const vy_xinst *x)
{
    const vy_bound *b = &m->bounds[x->aux];
    if (!b->dot) return;
    if (x->op == VY_OP_LOAD) {
        double *d = dots_of(m, x->dst);
        VY_EACH_ACTIVE(m, l, d[l] = m->offsets[l] >= 0 ? *place(m, b, l) : vy_dual_none();)
    } else if (x->op == VY_OP_STORE) {
        const double *t = dots_of(m, m->operands[x->args + b->rank]);
        VY_EACH_ACTIVE(m, l, {
            if (m->offsets[l] < 0) continue;
            *place(m, b, l) = t[l];
            if (b->winner) b->winner[m->offsets[l]] = 0;
        })
    } else if (x->op == VY_OP_ZERO) {
        step_zero(m, x, b);
    } else {
        step_atomic(m, x, b);
    }
}

// --------------------------------------------------------------------------------------- subgroups
static uint32_t end_of_subgroup(const vy_machine *m, uint32_t k)
{
    const uint32_t size = m->options.subgroup_size, group = m->act[k] / size;
    while (k < m->nact && m->act[k] / size == group) k++;
    return k;
}

static double apply(vy_op op, double a, double b)
{
    return op == VY_OP_ADD   ? a + b
           : op == VY_OP_MUL ? a * b
           : op == VY_OP_MIN ? (a < b ? a : b)
                             : (a > b ? a : b);
}

static void step_fold(vy_machine *m, const vy_xinst *x, vy_op op, bool scan, bool exclusive)
{
    const vy_scalar *s = vy_reg(m, x->a);
    const double *ts = dots_of(m, x->a);
    double *d = dots_of(m, x->dst);
    for (uint32_t k = 0, end; k < m->nact; k = end) {
        double acc = 0, t = vy_dual_none();
        bool first = true;
        end = end_of_subgroup(m, k);
        for (uint32_t i = k; i < end; i++) {
            const uint32_t l = m->act[i];
            const double before = t;
            if (!m->padding[l]) {
                const double v[2] = {acc, s[l].f}, both[2] = {t, ts[l]};
                acc = first ? v[1] : apply(op, acc, v[1]);
                t = first ? ts[l] : combine(m, op, 0, 2, v, both, acc);
                first = false;
            }
            if (scan) d[l] = exclusive ? before : t;
        }
        for (uint32_t i = k; i < end && !scan; i++) d[m->act[i]] = t;
    }
}

// m->marks still holds the active lanes.
static void step_shuffle(vy_machine *m, const vy_xinst *x)
{
    const uint64_t size = m->options.subgroup_size;
    const double *ts = dots_of(m, x->a);
    const vy_scalar *which = vy_reg(m, x->b);
    double *d = dots_of(m, x->dst);
    for (uint32_t k = 0; k < m->nact; k++) {
        const uint32_t l = m->act[k];
        const uint64_t lane = x->op == VY_OP_SG_SHUFFLE_XOR ? which[l].u ^ l % size : which[l].u;
        const uint64_t from = l - l % size + lane;
        d[l] = lane < size && from < m->lanes && m->marks[from] ? ts[from] : vy_dual_none();
    }
}

static void step_subgroup(vy_machine *m, const vy_xinst *x)
{
    switch ((vy_op)x->op) {
    case VY_OP_SG_ADD: step_fold(m, x, VY_OP_ADD, false, false); break;
    case VY_OP_SG_MUL: step_fold(m, x, VY_OP_MUL, false, false); break;
    case VY_OP_SG_MIN: step_fold(m, x, VY_OP_MIN, false, false); break;
    case VY_OP_SG_MAX: step_fold(m, x, VY_OP_MAX, false, false); break;
    case VY_OP_SG_INCLUSIVE_ADD: step_fold(m, x, VY_OP_ADD, true, false); break;
    case VY_OP_SG_EXCLUSIVE_ADD: step_fold(m, x, VY_OP_ADD, true, true); break;
    default: step_shuffle(m, x); break;
    }
}

void vy_dual_step(vy_machine *m, const vy_xinst *x)
{
    const vy_op op = (vy_op)x->op;
    if (vy_op_infos[op].effect == VY_CTRL) return;
    if (vy_op_is_memory(op)) {
        step_memory(m, x);
    } else if (is_float((vy_type)x->type)) {
        if (vy_op_is_subgroup(op))
            step_subgroup(m, x);
        else
            step_pure(m, x);
    }
}
