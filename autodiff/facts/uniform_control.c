// SPDX-License-Identifier: MIT
// uniform_control.c: values that decide whether a barrier is reached.
//
//   for t in 0..T { var h = W; while h > 0 { …; barrier(); h /= 2; } }
//
// These decisions must be uniform across the workgroup, and the checker has to be able to prove it:
// from parameters, workgroup numbers and elements of `in` buffers.  A tape holds the same number
// for all invocations, but that cannot be proved, and lanes outside the domain load zero from it.
// So the operands of such conditions and bounds, and the trip counts of such loops, are recomputed
// where they are needed, or have a closed form, and are never taped.  That is always possible
// (autodiff/reverse/recount.c).
//
// A carried value is recomputed by running its entire loop.  Only inside an iteration that is
// reversed on its own would it have to be taped; so carried values are marked only of the loops
// around the construct.
#include "autodiff/facts/facts.h"
#include "ir/core/dataflow.h"

#include <string.h>

enum { MOST_WORK = 1 << 26 }; // beyond it, values may be taped, and the checker refuses them

typedef struct slicer {
    grad_facts *facts;
    vy_dataflow flow;
    uint32_t *seen; // by instruction: the construct for which it was visited
    uint64_t work;
} slicer;

static void visit(slicer *s, uint32_t construct, uint32_t id)
{
    if (VY_IS_LEAF(id) || s->seen[id] == construct) return;
    s->seen[id] = construct;
    vy_dataflow_push(&s->flow, id);
}

static void visit_args(slicer *s, uint32_t construct, uint32_t id)
{
    uint32_t n = vy_value_args(s->facts->p, id);
    for (uint32_t k = 0; k < n; k++) visit(s, construct, vy_arg(s->facts->p, id, k));
}

// The values that decide the trip count of a loop, or the arm of an `if`.
static void visit_control(slicer *s, uint32_t construct, uint32_t opener)
{
    uint32_t deciders[4], n = vy_deciders(s->facts->p, &s->facts->s, opener, deciders);
    for (uint32_t k = 0; k < n; k++) visit(s, construct, deciders[k]);
}

static void visit_slot(slicer *s, uint32_t construct, uint32_t id)
{
    uint32_t sources[3], n = vy_slot_sources(s->facts->p, &s->facts->s, id, sources);
    visit_control(s, construct, vy_opener(s->facts->p, &s->facts->s, id));
    for (uint32_t k = 0; k < n; k++) visit(s, construct, sources[k]);
}

static void drain(slicer *s, uint32_t construct)
{
    const vy_program *p = s->facts->p;
    for (uint32_t id; (id = vy_dataflow_pop(&s->flow));) {
        vy_op op = (vy_op)p->insts.data[id].op;
        bool carry = op == VY_OP_CARRY;
        bool around = carry && vy_encloses(s->facts, vy_arg(p, id, 0), construct);
        if (!carry || around) s->facts->together[id] = 1;
        s->work++;
        if (carry || op == VY_OP_RESULT)
            visit_slot(s, construct, id);
        else
            visit_args(s, construct, id);
    }
}

// Constructs that contain a convergent operation: a barrier, a subgroup operation, or the clear of
// a shared array.
static void mark_convergent(const grad_facts *f, uint8_t *convergent)
{
    for (uint32_t id = 1; id < f->p->insts.count; id++) {
        if (vy_op_infos[f->p->insts.data[id].op].effect != VY_CONV && !vy_clears_shared(f->p, id))
            continue;
        for (uint32_t up = f->s.parent[id]; up && !convergent[up]; up = f->s.parent[up])
            convergent[up] = 1;
    }
}

bool vy_together(grad_facts *f)
{
    vy_arena arena = {0};
    uint32_t n = f->p->insts.count;
    slicer s = {.facts = f, .seen = vy_arena_alloc(&arena, n * sizeof *s.seen)};
    uint8_t *convergent = vy_arena_alloc(&arena, n);
    bool ok = s.seen && convergent && vy_dataflow_make(&s.flow, f->p, &f->s, &arena);
    if (ok) mark_convergent(f, convergent);
    for (uint32_t id = 1; ok && id < n && s.work < MOST_WORK; id++) {
        if (!convergent[id] || !vy_op_opens((vy_op)f->p->insts.data[id].op)) continue;
        if (f->p->insts.data[id].op != VY_OP_IF) f->together[f->s.partner[id]] = 1; // its count
        visit_control(&s, id, id);
        drain(&s, id);
    }
    f->limited = s.work >= MOST_WORK;
    vy_arena_free(&arena);
    return ok;
}

void vy_together_explain(vy_module *out, bool is_limited)
{
    vy_diag *d = &out->diag;
    if (!vy_diag_is(d, VY_E_NONUNIFORM)) return;
    uint32_t line = d->line, column = d->column;
    *d = (vy_diag){0};
    vy_fail(out, is_limited ? VY_E_LIMIT : VY_E_INTERNAL, line, column,
            is_limited ? "split the program into smaller ones" : NULL,
            "what decides whether this operation among invocations is reached %s",
            is_limited ? "takes too long to find" : "is not uniform in the derivative");
}
