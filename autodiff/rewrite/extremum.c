// SPDX-License-Identifier: MIT
// extremum.c: atomic_min and atomic_max of floats before they are differentiated.
//
//   for k in 0..K { atomic_max(best[c[k]], e(k)); }
//
// The final value of the element is one of the candidates, or its initial value.  Its derivative is
// that candidate's, among equals the last one's (docs/language.md 9.2): of the highest invocation
// and, in that invocation, of the last one that it executes.  Three programs determine which one
// that is before the reverse (extremum_stages.c):
//
//   f_final     runs the primal up to the atomics, on a copy:
//                   final_best = best in the end
//   f_winner    again; a candidate that equals the final value votes:
//                   atomic_max(winner_best[i], invocation)
//   f_last      again; such a candidate of the winning invocation records which one it is:
//                   last_best[i] = event
//
// and in the reverse the candidate that matches both takes the adjoint.  Where no loop and no
// second atomic lets an invocation offer two candidates, f_last is not needed.  Otherwise the
// events of an invocation are counted: here, in an array of one element, which becomes an ordinary
// carried integer of the program.
//
// Other accesses to the memory in the same program must be to other elements (element_groups.c), or
// the element must be one invocation's own, whose atomics are no longer atomics here
// (own_atomics.c).  Anything else has no order with the atomics of other invocations, and is
// refused.
#include "autodiff/rewrite/extremum.h"

#include "autodiff/facts/facts.h"

#include "ir/build/rewrite.h"
#include "ir/pass/pass.h"

#include <stdio.h>

bool vy_has_extremum(const vy_program *p)
{
    for (uint32_t id = 1; id < p->insts.count; id++) {
        const vy_inst *i = &p->insts.data[id];
        if (vy_is_extremum((vy_op)i->op) && vy_type_is_float(p->buffers.data[i->aux].type))
            return true;
    }
    return false;
}

typedef struct extremum {
    vy_rewrite w;
    uint32_t *group;   // by access to a buffer with such a site: see element_groups.c
    uint32_t *first;   // by group: its first site
    uint8_t *repeats;  // by buffer: an invocation may update an element more than once
    vy_buffer *events; // by buffer: the array that counts
    bool any;          // repeats any
} extremum;

static bool in_loop(const extremum *e, uint32_t id)
{
    for (uint32_t up = e->w.s.parent[id]; up; up = e->w.s.parent[up])
        if (vy_is_loop((vy_op)e->w.p->insts.data[up].op)) return true;
    return false;
}

// Access `id` to elements in which atomic `site` finds extrema.
static bool refuse_access(const extremum *e, uint32_t site, uint32_t id)
{
    const vy_program *p = e->w.p;
    const vy_inst *i = &p->insts.data[id], *s = &p->insts.data[site];
    vy_op op = (vy_op)i->op;
    const char *what = op == VY_OP_LOAD    ? "a load"
                       : op == VY_OP_STORE ? "a store"
                                           : vy_op_infos[op].text;
    vy_fail(p->module, VY_E_NOT_DIFFERENTIABLE, i->line, i->column,
            "do it in a program of its own, before or after this one, or use indices that cannot "
            "be equal",
            "%s touches elements of `%s` that %s may change in another invocation; the result "
            "depends on which comes first, and has no derivative",
            what, p->buffers.data[i->aux].name, vy_op_infos[s->op].text);
    return false;
}

static bool check_accesses(extremum *e)
{
    const vy_program *p = e->w.p;
    for (uint32_t id = 1; id < p->insts.count; id++) {
        const vy_inst *i = &p->insts.data[id];
        uint32_t site = e->first[e->group[id]];
        if (!site) continue;
        if (i->op != p->insts.data[site].op) return refuse_access(e, site, id);
        e->any |= e->repeats[i->aux] |= id != site || in_loop(e, id);
    }
    return true;
}

static bool is_site(const extremum *e, const uint8_t *active, uint32_t id)
{
    return active[id] && vy_is_contested(e->w.p, id);
}

static bool find_sites(extremum *e, const uint8_t *active)
{
    const vy_program *p = e->w.p;
    uint8_t *chosen = vy_rewrite_table(&e->w, p->buffers.count);
    e->group = vy_rewrite_ids(&e->w);
    e->first = vy_rewrite_ids(&e->w);
    e->repeats = vy_rewrite_table(&e->w, p->buffers.count);
    e->events = vy_rewrite_table(&e->w, p->buffers.count * sizeof *e->events);
    if (e->w.oom) return false;
    for (uint32_t id = 1; id < p->insts.count; id++)
        if (is_site(e, active, id)) chosen[p->insts.data[id].aux] = 1;
    if (!vy_element_groups(p, &e->w.s, chosen, e->group)) return false;
    for (uint32_t id = p->insts.count; id-- > 1;)
        if (is_site(e, active, id)) e->first[e->group[id]] = id;
    return true;
}

// ---------------------------------------------------------------------------------------- events
static void declare_events(extremum *e)
{
    char name[300];
    vy_dim one = vy_dim_const(e->w.b, 1);
    for (uint32_t i = 1; i < e->w.p->buffers.count; i++) {
        if (!e->repeats[i]) continue;
        snprintf(name, sizeof name, "events_%.280s", e->w.p->buffers.data[i].name);
        e->events[i] = vy_local_array(e->w.b, name, VY_U32, 1, &one);
    }
}

static uint32_t count_event(void *pass, uint32_t id)
{
    extremum *e = pass;
    const vy_inst *i = &e->w.p->insts.data[id];
    if (!vy_is_contested(e->w.p, id) || !e->repeats[i->aux]) return 0;
    vy_builder *b = e->w.b;
    uint32_t args[VY_MAX_RANK + 1];
    vy_rewrite_at(&e->w, id);
    vy_value zero = vy_zero(b, VY_U32), one = vy_int(b, VY_U32, 1);
    vy_value event = vy_add(b, vy_load(b, e->events[i->aux], &zero), one);
    vy_store(b, e->events[i->aux], &zero, event);
    vy_new_args(&e->w, id, i->nargs, args);
    uint32_t *value = &args[i->nargs - 1], numbered[] = {*value, event.id};
    *value = vy_emit(b, VY_OP_CANDIDATE, (vy_type)i->type, 0, 2, numbered);
    e->w.map[id] = vy_emit(b, (vy_op)i->op, (vy_type)i->type, i->aux, i->nargs, args);
    return id;
}

// ------------------------------------------------------------------------------------- entry point
bool vy_extremum_prepare(vy_program *p, const uint8_t *active)
{
    extremum e = {0};
    bool ok = vy_rewrite_begin(&e.w, p) && find_sites(&e, active) && check_accesses(&e);
    bool changed = false;
    if (ok && e.any && vy_rewrite_open(&e.w)) {
        declare_events(&e);
        vy_rewrite_range(&e.w, 1, p->insts.count, count_event, &e);
    }
    if (!vy_rewrite_end(&e.w, ok, &changed) || !changed) return vy_module_ok(p->module);
    vy_opt_options options = {.level = 2};
    vy_pass_context c = {.options = &options};
    return vy_pass_scalarise(p, &c) && vy_pass_forward(p, &c) && vy_pass_cleanup(p, &c) &&
           vy_pass_dce(p, &c);
}
