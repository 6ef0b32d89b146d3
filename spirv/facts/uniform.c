// SPDX-License-Identifier: MIT
// uniform.c: which values are the same in every lane of a workgroup, padding lanes included.
//
// Three properties.  *alike*: the same in all lanes that a device runs together, including
// lanes that are not invocations at all (where a row of a workgroup does not fill the device's
// vector), whose loads return anything; so no loaded value is alike.  It decides which loops
// all lanes leave together (emit_control.c).  *uniform* trusts loads:
//
// Where a program has barriers or subgroup operations, lanes outside the domain stay alive and
// their loads return zero.  Without an exception that would be a trap: in
// `for k in 0..count[0] { … barrier(); }` the padding lanes would read a count of zero and miss the
// barrier.  So padding lanes do execute a load of an `in` buffer at a uniform index; such a value
// may decide control flow around barriers (the checker's rule), and has no other effect in a
// padding lane.
//
// *equal*: the same in all lanes of a subgroup that execute the instruction at the same time, which
// may be few: what decides that they do is not looked at, so counters of loops are equal that begin
// alike, wherever they end.  A guess, as lanes need not run side by side; it decides where to ask
// for equality when the program runs (combined.c).
//
// Optimistic: everything starts uniform and is lowered to a fixpoint (dataflow.h), so that carried
// values of uniform loops stay uniform.
#include "spirv/facts/facts.h"
#include "ir/core/dataflow.h"

#include <string.h>

static bool leaf_uniform(const vy_program *p, uint32_t id)
{
    const vy_leaf *l = &p->leaves.data[VY_LEAF_INDEX(id)];
    if (l->kind == VY_LEAF_OVER) return false;
    if (l->kind != VY_LEAF_BUILTIN) return true;
    return l->index == VY_WID || l->index == VY_NUM_GROUPS || l->index == VY_SUBGROUP_SIZE;
}

bool vy_is_uniform(const vy_program *p, const bool *u, uint32_t id)
{
    return VY_IS_LEAF(id) ? leaf_uniform(p, id) : u[id];
}

static bool all_uniform(const vy_program *p, const bool *u, const uint32_t *ids, uint32_t n)
{
    for (uint32_t k = 0; k < n; k++)
        if (!vy_is_uniform(p, u, ids[k])) return false;
    return true;
}

// A CARRY or RESULT: its sources and, unless the construct is a checkpoint, what decides it.
static bool slot(const vy_program *p, const vy_structure *s, const bool *u, vy_sameness kind,
                 uint32_t i)
{
    uint32_t opener = vy_opener(p, s, i), sources[3], n = vy_slot_sources(p, s, i, sources);
    bool together = p->insts.data[opener].op == VY_OP_CHECKPOINT || u[opener];
    if (kind == VY_EQUAL && vy_is_loop((vy_op)p->insts.data[opener].op))
        together = p->insts.data[i].op == VY_OP_CARRY || u[vy_closer(p, s, opener)];
    return together && all_uniform(p, u, sources, n);
}

static bool are_deciders_uniform(const vy_program *p, const vy_structure *s, const bool *u,
                                 uint32_t opener)
{
    uint32_t deciders[4];
    return all_uniform(p, u, deciders, vy_deciders(p, s, opener, deciders));
}

// Is the counter of a LOOP equal, wherever it ends?
static bool counts_alike(const vy_program *p, const bool *u, uint32_t loop)
{
    const vy_inst *i = &p->insts.data[loop];
    return vy_is_uniform(p, u, vy_arg(p, loop, i->flags & VY_FLAG_REVERSE ? 1 : 0)) &&
           vy_is_uniform(p, u, vy_arg(p, loop, 2));
}

static bool evaluate(const vy_program *p, const vy_structure *s, const bool *u, vy_sameness kind,
                     uint32_t i)
{
    const vy_inst *in = &p->insts.data[i];
    switch ((vy_op)in->op) {
    case VY_OP_LOOP:
        if (kind == VY_EQUAL) return counts_alike(p, u, i);
        return are_deciders_uniform(p, s, u, i);
    case VY_OP_IF:
    case VY_OP_WHILE: return are_deciders_uniform(p, s, u, i);
    case VY_OP_TEST:
    case VY_OP_ENDLOOP: return kind == VY_EQUAL || u[s->partner[i]];
    case VY_OP_CARRY:
    case VY_OP_RESULT: return slot(p, s, u, kind, i);
    case VY_OP_AT_LEAST: return kind != VY_ALIKE || all_uniform(p, u, vy_args(p, i), in->nargs);
    case VY_OP_LOAD:
        return kind != VY_ALIKE && p->buffers.data[in->aux].cls == VY_IN &&
               all_uniform(p, u, vy_args(p, i), in->nargs);
    default:
        if (kind == VY_EQUAL && vy_op_is_reduction((vy_op)in->op)) return true;
        return vy_op_infos[in->op].effect == VY_PURE && all_uniform(p, u, vy_args(p, i), in->nargs);
    }
}

// Queues the markers, carries and results of a construct that is no longer uniform.
static void push_construct(vy_dataflow *d, uint32_t opener)
{
    bool loop = vy_is_loop((vy_op)d->p->insts.data[opener].op);
    uint32_t end = vy_closer(d->p, d->s, opener), n = vy_slot_count(d->p, d->s, opener);
    if (d->s->test[opener]) vy_dataflow_push(d, d->s->test[opener]);
    vy_dataflow_push(d, end);
    for (uint32_t k = 0; k < n; k++) {
        if (loop) vy_dataflow_push(d, vy_carry(opener, k));
        vy_dataflow_push(d, end + 1 + k);
    }
}

// Of loops whose lanes may leave one after the other, results differ (u of the end marker).
static void leave_apart(vy_dataflow *d, bool *u, uint32_t opener)
{
    const uint32_t end = vy_closer(d->p, d->s, opener);
    if (!u[end] || are_deciders_uniform(d->p, d->s, u, opener)) return;
    u[end] = false;
    for (uint32_t k = 0; k < vy_slot_count(d->p, d->s, opener); k++)
        vy_dataflow_push(d, end + 1 + k);
}

static void lower(vy_dataflow *d, bool *u, vy_sameness kind)
{
    vy_dataflow_push_all(d);
    for (uint32_t i; (i = vy_dataflow_pop(d));) {
        if (kind == VY_EQUAL && vy_is_loop((vy_op)d->p->insts.data[i].op)) leave_apart(d, u, i);
        if (!u[i] || evaluate(d->p, d->s, u, kind, i)) continue;
        u[i] = false;
        vy_dataflow_push_users(d, i);
        if (vy_op_opens((vy_op)d->p->insts.data[i].op)) push_construct(d, i);
    }
}

bool *vy_uniform_make(const vy_program *p, vy_sameness kind)
{
    vy_structure s;
    vy_dataflow d;
    vy_arena arena = {0};
    uint32_t n = p->insts.count;
    if (!vy_structure_make(p, &s)) return NULL;
    bool *u = vy_dataflow_make(&d, p, &s, &arena) ? vy_realloc(NULL, n + 1) : NULL;
    if (u) {
        memset(u, 1, n + 1);
        lower(&d, u, kind);
    }
    vy_arena_free(&arena);
    vy_structure_free(&s);
    return u;
}
