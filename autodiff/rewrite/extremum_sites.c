// SPDX-License-Identifier: MIT
// extremum_sites.c: which atomic_min and atomic_max of floats a workgroup decides by itself, and in
// which order they are with other accesses to the same elements.
//
// What may touch one element is asked of the index maps (element_groups.c), what may be between the
// same two barriers of the phases (phases.c).  Of the accesses to an element in one phase,
//
//   t[lindex] = 0; atomic_max(t[lindex], e); s += t[lindex];     all are one invocation's own: the
//                                                                atomic is a load, an operation and
//                                                                a store, in program order
//   atomic_max(t[c], e); atomic_max(t[d], g);                    only maxima: the winner is found
//                                                                before the phase ends
//   atomic_max(t[c], e); atomic_min(t[d], g);                    the result depends on which comes
//   atomic_max(t[c], e); s += t[d];                              first: refused.  The second is a
//                                                                race unless it is one's own
//
// On a buffer this is needed only where a group has other accesses, else extremum.c takes it; and
// possible only where no other workgroup touches the elements, as barriers order one workgroup.
#include "autodiff/facts/facts.h"
#include "ir/core/phases.h"
#include "autodiff/rewrite/extremum_vote.h"
#include "ir/core/access.h"

enum { MOST = 63 }; // accesses to one buffer that have a bit of their own; the last bit is shared

typedef struct survey {
    vy_voting *e;
    const uint32_t *differs;
    vy_phases phases;
    vy_apart apart;
    grad_facts facts; // for lanes that own an element: `home` only
    uint32_t access[MOST + 1], count;
} survey;

static const vy_inst *inst_of(const vy_voting *e, uint32_t id) { return &e->w.p->insts.data[id]; }

static bool is_active(const vy_voting *e, uint32_t id)
{
    return vy_is_extremum((vy_op)inst_of(e, id)->op) && e->active[id];
}

static bool is_shared(const vy_voting *e, uint32_t id)
{
    return e->w.p->buffers.data[inst_of(e, id)->aux].cls == VY_SHARED;
}

// Refuses site `id`: text of the diagnostic after the memory's name.  Returns false.
static bool refuse(const vy_voting *e, uint32_t id, const char *fix, const char *why)
{
    const vy_inst *i = inst_of(e, id);
    vy_fail(e->w.p->module, VY_E_NOT_DIFFERENTIABLE, i->line, i->column, fix, "%s on %s `%s` %s",
            vy_op_infos[i->op].text, is_shared(e, id) ? "shared array" : "buffer",
            e->w.p->buffers.data[i->aux].name, why);
    return false;
}

// ---------------------------------------------------------------------------- whose elements
uint32_t vy_candidate_group(const vy_voting *e, const vy_candidate *s, uint32_t k)
{
    return vy_workgroup_axis(e->w.p, &e->w.s, s->atomic, k);
}

bool vy_candidate_inside(const vy_voting *e, const vy_candidate *s, uint32_t k)
{
    const uint32_t a = vy_arg(e->w.p, s->atomic, k);
    return !VY_IS_LEAF(a) && a >= s->outer && !vy_candidate_group(e, s, k);
}

// Is there an access of another kind in the group of this site?
static bool is_mixed(const vy_voting *e, uint32_t site)
{
    for (uint32_t id = 1; id < e->w.p->insts.count; id++)
        if (e->group[id] == e->group[site] && inst_of(e, id)->op != inst_of(e, site)->op)
            return true;
    return false;
}

// --------------------------------------------------------------------------------- one buffer
// Gives each access a bit of the phases' sets.
static void number_accesses(survey *x, uint32_t buffer)
{
    const vy_program *p = x->e->w.p;
    x->count = 0;
    for (uint32_t id = 1; id < p->insts.count; id++) {
        const vy_inst *i = inst_of(x->e, id);
        x->phases.touch[id] = (vy_phase_access){0};
        if (!vy_op_is_memory((vy_op)i->op) || i->aux != buffer) continue;
        const uint32_t k = x->count < MOST ? x->count++ : MOST;
        x->access[k] = id;
        x->phases.touch[id].loads = UINT64_C(1) << k;
    }
    vy_phases_find(&x->phases);
    vy_phases_fill(&x->phases);
}

// May access k touch the element of the site?  What shares a bit may.
static bool may_touch(const survey *x, uint32_t k, uint32_t site)
{
    const uint32_t id = x->access[k];
    if (k == MOST || inst_of(x->e, id)->op == VY_OP_ZERO) return true;
    // Groups hold for the entire program: t[lindex] = 0 joins t[0] and t[1], in another phase.
    return x->e->group[id] == x->e->group[site] && !vy_surely_apart(&x->apart, id, site);
}

// Is every access to the element in the phase its own invocation's?
static bool is_own(const survey *x, uint32_t site)
{
    const uint64_t in_phase = x->phases.phase[site].loads;
    for (uint32_t k = 0; k <= MOST; k++) {
        if (!(in_phase >> k & 1) || !may_touch(x, k, site)) continue;
        if (k == MOST || inst_of(x->e, x->access[k])->op == VY_OP_ZERO) return false;
        if (!vy_same_element(x->e->w.p, x->access[k], site)) return false;
    }
    return vy_lane_owns(&x->facts, x->differs, site);
}

// The first access in the set that may touch the element and is no atomic of the same kind; 0:
// none.  others: atomics, or everything else.
static uint32_t other_access(const survey *x, uint64_t set, uint32_t site, bool atomics)
{
    for (uint32_t k = 0; k <= MOST; k++) {
        if (!(set >> k & 1) || !may_touch(x, k, site)) continue;
        const vy_op op = (vy_op)inst_of(x->e, x->access[k])->op;
        if (vy_op_is_atomic(op) == atomics && op != (vy_op)inst_of(x->e, site)->op)
            return x->access[k];
    }
    return 0;
}

static bool check_site(const survey *x, uint32_t site)
{
    if (other_access(x, x->phases.phase[site].loads, site, true))
        return refuse(
            x->e, site,
            "put a barrier between them, or use two arrays, or indices that cannot be equal",
            "may change an element that another kind of atomic changes between the same barriers; "
            "the result depends on which comes first, and has no derivative");
    if (other_access(x, x->phases.after[site].loads, site, false))
        return refuse(
            x->e, site,
            "put a barrier after it, or use two arrays, or indices that cannot be equal",
            "may change an element that is loaded or stored before the next barrier; the result "
            "depends on which comes first, and has no derivative");
    return true;
}

static bool survey_buffer(survey *x, uint32_t buffer)
{
    vy_voting *e = x->e;
    number_accesses(x, buffer);
    for (uint32_t id = 1; id < e->w.p->insts.count; id++) {
        if (!e->sites_at[id] || inst_of(e, id)->aux != buffer) continue;
        e->own[id] = is_own(x, id);
        e->any_own |= e->own[id];
        if (!e->own[id] && !check_site(x, id)) return false;
    }
    return true;
}

// --------------------------------------------------------------------------------- all of them
static bool has_barrier(const vy_program *p)
{
    for (uint32_t id = 1; id < p->insts.count; id++)
        if (p->insts.data[id].op == VY_OP_BARRIER) return true;
    return false;
}

static bool find_groups(vy_voting *e, uint8_t *buffers)
{
    const vy_program *p = e->w.p;
    e->group = vy_rewrite_ids(&e->w);
    e->sites_at = vy_rewrite_bytes(&e->w);
    e->own = vy_rewrite_bytes(&e->w);
    if (e->w.oom) return false;
    for (uint32_t id = 1; id < p->insts.count; id++)
        if (is_active(e, id)) buffers[inst_of(e, id)->aux] = 1;
    return vy_element_groups(p, &e->w.s, buffers, e->group);
}

static bool survey_buffers(survey *x, const uint8_t *buffers)
{
    vy_voting *e = x->e;
    bool ok = vy_grad_facts_make(&x->facts, e->w.p) &&
              vy_phases_make(&x->phases, e->w.p, &e->w.s, &e->w.arena) &&
              vy_apart_make(&x->apart, e->w.p, &e->w.s, &e->w.arena);
    if (!ok) vy_fail_oom(e->w.p->module);
    for (uint32_t i = 1; ok && i < e->w.p->buffers.count; i++)
        ok = !buffers[i] || survey_buffer(x, i);
    vy_grad_facts_free(&x->facts);
    return ok;
}

bool vy_candidate_sites(vy_voting *e, const uint32_t *differs)
{
    const vy_program *p = e->w.p;
    uint8_t *buffers = vy_rewrite_table(&e->w, p->buffers.count);
    const bool phased = has_barrier(p);
    bool any = false;
    if (!buffers || !find_groups(e, buffers)) return false;
    for (uint32_t id = 1; id < p->insts.count; id++) {
        if (!is_active(e, id)) continue;
        e->sites_at[id] =
            is_shared(e, id) ||
            (phased && is_mixed(e, id) && vy_one_workgroup(p, &e->w.s, e->group, e->group[id]));
        any |= e->sites_at[id];
    }
    survey x = {.e = e, .differs = differs};
    if (any && !survey_buffers(&x, buffers)) return false;
    for (uint32_t id = 1; id < p->insts.count; id++) e->sites_at[id] &= !e->own[id];
    return true;
}
