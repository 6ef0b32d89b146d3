// SPDX-License-Identifier: MIT
// eval_subgroup.c: operations among the lanes of a subgroup, and the barrier.
//
// Subgroups are runs of `subgroup_size` lanes of the workgroup in linear order.  In reductions
// padding lanes are the identity; a fold starts with its first term rather than with the identity,
// so that a sum of −0 alone is −0.  Reading another lane yields 0 if that lane is not active.
#include "ir/eval/eval.h"

#include <math.h>
#include <string.h>

static vy_op fold_op(vy_op op)
{
    switch (op) {
    case VY_OP_SG_ADD:
    case VY_OP_SG_INCLUSIVE_ADD:
    case VY_OP_SG_EXCLUSIVE_ADD: return VY_OP_ADD;
    case VY_OP_SG_MUL: return VY_OP_MUL;
    case VY_OP_SG_MIN: return VY_OP_MIN;
    case VY_OP_SG_MAX: return VY_OP_MAX;
    case VY_OP_SG_AND:
    case VY_OP_SG_ALL: return VY_OP_AND;
    case VY_OP_SG_XOR: return VY_OP_XOR;
    default: return VY_OP_OR;
    }
}

// The result of a reduction if all lanes are padding.
static vy_scalar identity_of(vy_op fold, vy_type type)
{
    const bool is_float = vy_type_is_float(type), is_signed = vy_type_is_signed(type);
    vy_scalar v = {.u = 0};
    if (fold == VY_OP_MUL) {
        if (is_float)
            v.f = 1;
        else
            v.u = 1;
    } else if (fold == VY_OP_AND) {
        v.u = UINT64_MAX;
    } else if (fold == VY_OP_MIN || fold == VY_OP_MAX) {
        const bool greatest = fold == VY_OP_MIN;
        const uint32_t bits = vy_type_size(type) * 8;
        if (is_float)
            v.f = greatest ? (double)INFINITY : -(double)INFINITY;
        else if (is_signed)
            v.u = (UINT64_MAX >> (65 - bits)) ^ (greatest ? 0 : UINT64_MAX);
        else
            v.u = greatest ? UINT64_MAX : 0;
    }
    return is_float ? v : vy_wrap(type, v);
}

// One past the active lanes act[k], act[k+1] … of one subgroup.
static uint32_t subgroup_end(const vy_machine *m, uint32_t k)
{
    const uint32_t size = m->options.subgroup_size, group = m->act[k] / size;
    while (k < m->nact && m->act[k] / size == group) k++;
    return k;
}

static void fold_step(const vy_machine *m, vy_op fold, vy_type type, vy_scalar *acc, vy_scalar term,
                      bool first)
{
    const vy_scalar args[3] = {*acc, term, {.u = 0}};
    if (first)
        *acc = term;
    else
        vy_scalar_eval(fold, type, type, args, 0, m->options.f64, acc);
}

static void run_reduce(vy_machine *m, const vy_xinst *x)
{
    const vy_op fold = fold_op((vy_op)x->op);
    const vy_type type = (vy_type)x->type;
    const vy_scalar *s = vy_reg(m, x->a);
    vy_scalar *d = vy_reg(m, x->dst);
    const bool ordered = fold == VY_OP_MIN || fold == VY_OP_MAX;
    for (uint32_t k = 0, end; k < m->nact; k = end) {
        vy_scalar acc = identity_of(fold, type);
        bool first = true;
        end = subgroup_end(m, k);
        for (uint32_t i = k; i < end; i++) {
            const uint32_t l = m->act[i];
            if (m->padding[l]) continue;
            fold_step(m, fold, type, &acc, s[l], first);
            first = false;
        }
        for (uint32_t i = k; i < end; i++) {
            const uint32_t l = m->act[i];
            if (ordered && m->hooks->path_hash && !m->padding[l])
                vy_path_mix(m, x, l, vy_scalar_same(type, acc, s[l]));
            d[l] = acc;
        }
    }
}

static void run_scan(vy_machine *m, const vy_xinst *x)
{
    const bool exclusive = x->op == VY_OP_SG_EXCLUSIVE_ADD;
    const vy_type type = (vy_type)x->type;
    const vy_scalar *s = vy_reg(m, x->a);
    vy_scalar *d = vy_reg(m, x->dst);
    for (uint32_t k = 0, end; k < m->nact; k = end) {
        vy_scalar acc = {.u = 0};
        bool first = true;
        end = subgroup_end(m, k);
        for (; k < end; k++) {
            const uint32_t l = m->act[k];
            const vy_scalar before = acc;
            if (!m->padding[l]) {
                fold_step(m, VY_OP_ADD, type, &acc, s[l], first);
                first = false;
            }
            d[l] = exclusive ? before : acc;
        }
    }
}

static void run_shuffle(vy_machine *m, const vy_xinst *x)
{
    const uint64_t size = m->options.subgroup_size;
    const vy_scalar *s = vy_reg(m, x->a), *which = vy_reg(m, x->b);
    vy_scalar *d = vy_reg(m, x->dst);
    memset(m->marks, 0, m->lanes);
    VY_EACH_ACTIVE(m, l, m->marks[l] = 1;)
    for (uint32_t k = 0; k < m->nact; k++) {
        const uint32_t l = m->act[k];
        uint64_t lane = which[l].u;
        if (x->op == VY_OP_SG_SHUFFLE_XOR) lane ^= l % size;
        const uint64_t from = l - l % size + lane;
        const bool there = lane < size && from < m->lanes && m->marks[from];
        d[l] = there ? s[from] : (vy_scalar){.u = 0};
    }
}

static void run_barrier(vy_machine *m, const vy_xinst *x)
{
    (void)x;
    m->epoch++;
}

vy_handler vy_eval_subgroup(vy_op op)
{
    switch (op) {
    case VY_OP_BARRIER: return run_barrier;
    case VY_OP_SG_INCLUSIVE_ADD:
    case VY_OP_SG_EXCLUSIVE_ADD: return run_scan;
    case VY_OP_SG_BROADCAST:
    case VY_OP_SG_SHUFFLE:
    case VY_OP_SG_SHUFFLE_XOR: return run_shuffle;
    default: return run_reduce;
    }
}
