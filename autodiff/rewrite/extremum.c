// SPDX-License-Identifier: MIT
// extremum.c: atomic_min and atomic_max of floats before they are differentiated.
//
//   for k in 0..K { atomic_max(best[c[k]], e(k)); }
//
// The element is in the end one of the candidates, or what it was before.  The derivative of it is
// that one's, among equals the last's (docs/language.md 9.2): of the highest invocation, and in
// this invocation of the last that it came to.  Which one that is, three programs find out before
// the reverse (extremum_stages.c):
//
//   f_final     runs the primal up to the atomics, on a copy:              final_best = best in the end
//   f_winner    again; a candidate that equals the final value votes:      atomic_max(winner_best[i], invocation)
//   f_last      again; one of the winning invocation says which it is:     last_best[i] = event
//
// and in the reverse the candidate for which both are right takes the adjoint.  Where no loop and
// no second atomic lets an invocation come twice, f_last is not needed.  Otherwise the events of an
// invocation are counted: here, in an array of one element, which becomes an ordinary carried
// integer of the program.
//
// Everything else that touches the memory in the same program is refused: there is no order between
// it and the atomics of other invocations.
#include "autodiff/rewrite/extremum.h"

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
    const vy_program *p;
    vy_structure s;
    vy_arena arena;
    vy_builder *b;
    uint32_t *first;   // by buffer: its first active site, or 0
    uint8_t *repeats;  // by buffer: an invocation may come to it more than once
    vy_buffer *events; // by buffer: the array that counts
    uint32_t *map;
} extremum;

static bool in_loop(const extremum *e, uint32_t id)
{
    for (uint32_t up = e->s.parent[id]; up; up = e->s.parent[up])
        if (vy_is_loop((vy_op)e->p->insts.data[up].op)) return true;
    return false;
}

static bool has_open_length(const vy_program *p, const vy_buf *b)
{
    return b->rank && p->dims.data[b->dims[0].id].op == VY_DIM_UNKNOWN;
}

// Access `id` to memory that atomic `site` finds extrema in.
static bool refuse(const extremum *e, uint32_t site, uint32_t id)
{
    const vy_program *p = e->p;
    const vy_inst *i = &p->insts.data[id], *s = &p->insts.data[site];
    vy_op op = (vy_op)i->op;
    const char *what = op == VY_OP_LOAD    ? "a load"
                       : op == VY_OP_STORE ? "a store"
                                           : vy_op_infos[op].text;
    vy_fail(p->module, VY_E_GRAD_UNSUPPORTED, i->line, i->column,
            "do it in a program of its own, before or after this one",
            "%s touches `%s`, which %s changes in the same program; there is no order between "
            "them, and so no derivative",
            what, p->buffers.data[i->aux].name, vy_op_infos[s->op].text);
    return false;
}

static bool check(extremum *e)
{
    const vy_program *p = e->p;
    for (uint32_t id = 1; id < p->insts.count; id++) {
        const vy_inst *i = &p->insts.data[id];
        uint32_t site = vy_op_is_memory((vy_op)i->op) ? e->first[i->aux] : 0;
        if (!site) continue;
        const vy_buf *b = &p->buffers.data[i->aux];
        if (i->op != p->insts.data[site].op) return refuse(e, site, id);
        e->repeats[i->aux] |= id != site || in_loop(e, id);
        if (!has_open_length(p, b)) continue;
        vy_fail(p->module, VY_E_GRAD_UNSUPPORTED, i->line, i->column, "declare how long it is",
                "%s on `%s`, whose length is open, cannot be differentiated yet",
                vy_op_infos[i->op].text, b->name);
        return false;
    }
    return true;
}

static bool begin(extremum *e, const uint8_t *active)
{
    const vy_program *p = e->p;
    e->first = vy_arena_alloc(&e->arena, p->buffers.count * sizeof *e->first);
    e->repeats = vy_arena_alloc(&e->arena, p->buffers.count);
    e->events = vy_arena_alloc(&e->arena, p->buffers.count * sizeof *e->events);
    e->map = vy_arena_alloc(&e->arena, p->insts.count * sizeof *e->map);
    if (!e->first || !e->repeats || !e->events || !e->map || !vy_structure_make(p, &e->s))
        return false;
    for (uint32_t id = p->insts.count; id-- > 1;) {
        const vy_inst *i = &p->insts.data[id];
        bool shared = vy_op_is_memory((vy_op)i->op) && p->buffers.data[i->aux].cls == VY_SHARED;
        if (vy_is_extremum((vy_op)i->op) && active[id] && !shared) e->first[i->aux] = id;
    }
    return true;
}

// ---------------------------------------------------------------------------------------- events
static void declare_events(extremum *e)
{
    char name[300];
    vy_dim one = vy_dim_const(e->b, 1);
    for (uint32_t i = 1; i < e->p->buffers.count; i++) {
        if (!e->repeats[i]) continue;
        snprintf(name, sizeof name, "events_%.280s", e->p->buffers.data[i].name);
        e->events[i] = vy_local_array(e->b, name, VY_U32, 1, &one);
    }
}

static void count_event(extremum *e, uint32_t id)
{
    const vy_inst *i = &e->p->insts.data[id];
    uint32_t *args = vy_arena_alloc(&e->arena, (i->nargs + 1) * sizeof *args);
    if (!args) {
        vy_fail_oom(e->p->module);
        return;
    }
    vy_at(e->b, i->line, i->column);
    vy_value zero = vy_zero(e->b, VY_U32), one = vy_int(e->b, VY_U32, 1);
    vy_value event = vy_add(e->b, vy_load(e->b, e->events[i->aux], &zero), one);
    vy_store(e->b, e->events[i->aux], &zero, event);
    for (uint32_t k = 0; k < i->nargs; k++) args[k] = vy_map(e->map, vy_arg(e->p, id, k));
    args[i->nargs] = event.id;
    e->map[id] = vy_emit(e->b, (vy_op)i->op, (vy_type)i->type, i->aux, i->nargs + 1, args);
}

static vy_program *number_events(extremum *e)
{
    e->b = vy_rebuild_begin(e->p);
    if (!e->b) return NULL;
    declare_events(e);
    for (uint32_t id = 1; id < e->p->insts.count && !vy_builder_failed(e->b); id++) {
        const vy_inst *i = &e->p->insts.data[id];
        if (vy_op_is_memory((vy_op)i->op) && e->repeats[i->aux])
            count_event(e, id);
        else
            vy_copy_inst(e->b, e->p, id, e->map);
    }
    return vy_rebuild_end(e->b);
}

// ------------------------------------------------------------------------------------- entry point
bool vy_extremum_prepare(vy_program *p, const uint8_t *active)
{
    extremum e = {.p = p};
    bool any = false, ok = begin(&e, active);
    if (!ok) vy_fail_oom(p->module);
    ok = ok && check(&e);
    for (uint32_t i = 1; ok && i < p->buffers.count; i++) any |= e.repeats[i];
    vy_program *fresh = any ? number_events(&e) : NULL;
    vy_structure_free(&e.s);
    vy_arena_free(&e.arena);
    if (fresh) vy_program_replace(p, fresh);
    vy_opt_options options = {.level = 2};
    vy_pass_context c = {.options = &options};
    if (!ok || !any || !vy_module_ok(p->module)) return ok && vy_module_ok(p->module);
    return vy_pass_scalarise(p, &c) && vy_pass_forward(p, &c) && vy_pass_cleanup(p, &c) &&
           vy_pass_dce(p, &c);
}
