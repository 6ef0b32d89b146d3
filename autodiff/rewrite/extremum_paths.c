// SPDX-License-Identifier: MIT
// extremum_paths.c: do floats decide which candidates there are?
//
//   if sin(x[i]) > 0.5 { atomic_max(best[0], x[i]); }
//
// f_final and f_winner are @exact, so they agree about the condition; the reverse has its own
// forward sweep, and where the device's sine gives another answer there, the winner would not
// execute its atomic, or its events would be counted differently.  Then the reverse must be @exact
// too.  Loads, comparisons, selects and rounding to integers give the same result in every program;
// so conditions like x[i] > 0 need nothing.
#include "autodiff/rewrite/extremum.h"
#include "ir/core/dataflow.h"

typedef struct paths {
    const grad_facts *facts;
    vy_dataflow flow;
    uint8_t *marks; // by instruction: whether there is a candidate depends on it
} paths;

static void mark(paths *x, uint32_t id)
{
    if (VY_IS_LEAF(id) || x->marks[id]) return;
    x->marks[id] = 1;
    vy_dataflow_push(&x->flow, id);
}

static void mark_all(paths *x, const uint32_t *ids, uint32_t n)
{
    for (uint32_t k = 0; k < n; k++) mark(x, ids[k]);
}

// One step backwards from marked instruction `id`: from a CARRY or RESULT to its sources and its
// construct, from a construct to the operands that control it.
static void follow(paths *x, uint32_t id)
{
    const vy_program *p = x->facts->p;
    const vy_structure *s = &x->facts->s;
    vy_op op = (vy_op)p->insts.data[id].op;
    uint32_t ids[4];
    if (s->parent[id]) mark(x, s->parent[id]);
    if (vy_is_slot(op)) {
        mark(x, vy_opener(p, s, id));
        mark_all(x, ids, vy_slot_sources(p, s, id, ids));
    } else if (vy_op_opens(op)) {
        mark_all(x, ids, vy_deciders(p, s, id, ids));
    } else {
        mark_all(x, vy_args(p, id), p->insts.data[id].nargs);
    }
}

// May the value differ between programs that compute it?
static bool is_inexact(const grad_facts *f, uint32_t id)
{
    const vy_inst *i = &f->p->insts.data[id];
    vy_op op = (vy_op)i->op;
    if (op == VY_OP_LOAD) return vy_is_written(f->p, i->aux);
    if (vy_op_is_memory(op) || vy_op_is_subgroup(op)) return true;
    if (vy_op_infos[op].effect != VY_PURE || !vy_type_is_float((vy_type)i->type)) return false;
    switch (vy_op_infos[op].work) { // exact: selects an operand, changes a sign, or rounds
    case VY_WORK_FREE:
    case VY_WORK_SIMPLE:
    case VY_WORK_LIMIT:
    case VY_WORK_ROUND: return false;
    default: return true;
    }
}

static void mark_candidates(paths *x)
{
    const vy_program *p = x->facts->p;
    for (uint32_t id = 1; id < p->insts.count; id++) {
        const vy_inst *i = &p->insts.data[id];
        if (!vy_is_contested(p, id) || !x->facts->buffers[i->aux].extremum) continue;
        uint32_t rank = p->buffers.data[i->aux].rank;
        mark_all(x, vy_args(p, id), rank); // not the candidate itself, but its number
        uint32_t number = vy_candidate_number(p, id);
        if (number) mark(x, number);
        if (x->facts->s.parent[id]) mark(x, x->facts->s.parent[id]);
    }
}

bool vy_extremum_inexact(const grad_facts *f, bool *inexact)
{
    vy_arena arena = {0};
    paths x = {.facts = f, .marks = vy_arena_alloc(&arena, f->p->insts.count)};
    bool ok = x.marks && vy_dataflow_make(&x.flow, f->p, &f->s, &arena);
    *inexact = false;
    if (ok) mark_candidates(&x);
    for (uint32_t id; ok && (id = vy_dataflow_pop(&x.flow));) follow(&x, id);
    for (uint32_t id = 1; ok && id < f->p->insts.count; id++)
        *inexact |= x.marks[id] && is_inexact(f, id);
    vy_arena_free(&arena);
    return ok;
}
