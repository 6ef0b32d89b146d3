// SPDX-License-Identifier: MIT
// phase_sum.c: loads of one element of a shared array by all invocations of a workgroup, so that
// its adjoint can be summed in order instead of by atomics.
//
//   let m = s[0] / f32(n);             // the total that a tree has left there
//
//   atomic_add(adj_s[0], g)    →       part_s[lindex] = g;  barrier();
//                                      if lindex == 0 { adj_s[0] += Σ part_s[…] }
//
// The index is uniform, and so is the control flow, which has barriers in the primal already, so
// that conditions around one more are recomputed (uniform_control.c).  The phase may have no other
// load that adds atomically to the array: the first invocation's plain addition would race with
// it.  Loads of elements that an invocation owns (phase_owner.c) are of other elements.
//
// A loop without barriers in which all invocations read one element after the other, `s[k]`, is
// left alone: it would have a barrier for each.
#include "autodiff/facts/facts.h"
#include "ir/check/uniform.h"
#include "ir/core/phases.h"

enum {
    MOST_LOADS = 64, // of one array: bits of a set
    MOST_WORK = 1 << 26,
};

typedef struct sums {
    grad_facts *facts;
    const vy_program *p;
    const uint32_t *differs;
    vy_phases phases;
    uint32_t load[MOST_LOADS]; // of one array: those that add
    uint32_t count;
} sums;

static bool is_uniform(const sums *s, uint32_t id)
{
    return VY_IS_LEAF(id) ? !vy_leaf_differs(s->p, id) : !s->differs[id];
}

static void find_barriers(grad_facts *f)
{
    for (uint32_t id = 1; id < f->p->insts.count; id++)
        for (uint32_t up = f->p->insts.data[id].op == VY_OP_BARRIER ? f->s.parent[id] : 0;
             up && !f->summed[up]; up = f->s.parent[up])
            f->summed[up] = 1;
}

// Do all invocations reach the load together, and name the same element?
static bool is_together(const sums *s, uint32_t load)
{
    const vy_structure *t = &s->facts->s;
    for (uint32_t k = 0; k < s->p->buffers.data[s->p->insts.data[load].aux].rank; k++)
        if (!is_uniform(s, vy_arg(s->p, load, k))) return false;
    for (uint32_t up = t->parent[load]; up; up = t->parent[up]) {
        const bool tests = s->p->insts.data[up].op == VY_OP_WHILE && load < t->test[up];
        if (s->differs[up] || !s->facts->summed[up] || tests) return false;
    }
    return true;
}

// The loads of the array that add to its adjoint, and not to elements of their own.  False: there
// are too many.
static bool collect(sums *s, uint32_t buffer)
{
    s->count = 0;
    for (uint32_t id = 1; id < s->p->insts.count; id++) {
        const vy_inst *i = &s->p->insts.data[id];
        if (i->op != VY_OP_LOAD || i->aux != buffer || !vy_is_active(s->facts, id)) continue;
        if (s->facts->own[id] || s->facts->adds[id]) continue;
        if (s->count == MOST_LOADS) return false;
        s->load[s->count++] = id;
    }
    return true;
}

// Takes those of which another one of their phase is not summed for loads that add atomically.
static void settle(sums *s, uint64_t summed)
{
    for (uint64_t before = 0; before != summed;) {
        before = summed;
        for (uint32_t k = 0; k < s->count; k++)
            if (s->phases.phase[s->load[k]].loads & ~summed) summed &= ~(UINT64_C(1) << k);
    }
    for (uint32_t k = 0; k < s->count; k++) s->facts->summed[s->load[k]] = summed >> k & 1;
}

static void find_in(sums *s, uint32_t buffer)
{
    uint64_t summed = 0;
    if (!collect(s, buffer)) return;
    for (uint32_t k = 0; k < s->count; k++)
        if (is_together(s, s->load[k])) summed |= UINT64_C(1) << k;
    if (!summed || s->phases.work > MOST_WORK) return;
    for (uint32_t k = 0; k < s->count; k++) s->phases.touch[s->load[k]].loads = UINT64_C(1) << k;
    vy_phases_find(&s->phases);
    vy_phases_fill(&s->phases);
    settle(s, summed);
    for (uint32_t k = 0; k < s->count; k++) s->phases.touch[s->load[k]] = (vy_phase_access){0};
}

// Do several invocations of a workgroup add to the array's adjoint?
static bool may_be_summed(const grad_facts *f, uint32_t buffer)
{
    const vy_buf *b = &f->p->buffers.data[buffer];
    const uint32_t *w = f->p->workgroup;
    return b->cls == VY_SHARED && !b->view_of && w[0] * w[1] * w[2] > 1 &&
           (f->buffers[buffer].activity & ACTIVE) == ACTIVE;
}

bool vy_phase_sums(grad_facts *f)
{
    vy_arena arena = {0};
    sums s = {.facts = f, .p = f->p};
    bool any = false;
    for (uint32_t i = 1; i < f->p->buffers.count; i++) any |= may_be_summed(f, i);
    if (!any || !f->phased) return true;
    s.differs = vy_differences(f->p, &f->s, NULL, &arena);
    const bool ok = s.differs && vy_phases_make(&s.phases, f->p, &f->s, &arena);
    find_barriers(f);
    for (uint32_t i = 1; ok && i < f->p->buffers.count; i++)
        if (may_be_summed(f, i)) find_in(&s, i);
    vy_arena_free(&arena);
    return ok;
}
