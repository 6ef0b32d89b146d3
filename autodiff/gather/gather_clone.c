// SPDX-License-Identifier: MIT
// gather_clone.c: copies the backward slice of additions to a point of a gather.
//
// The instructions are copied in their order.  Loops of the nest are not: their counters are the
// point's coordinates.  Nor are conditions that the set of points implies.  Constructs are copied
// with the carried and yielded values that are needed.
#include "autodiff/gather/gather_build.h"
#include "autodiff/gather/gather_slice.h"

#include "autodiff/core/reverse.h"

#include <string.h>

// ---------------------------------------------------------------------------------------- operands
uint32_t gather_map(gather_clone *c, uint32_t id)
{
    const uint32_t have = VY_IS_LEAF(id) ? gather_leaf(c, id) : c->map[id];
    if (have || c->g->failed || vy_builder_failed(c->b)) return have;
    vy_fail(c->g->m, VY_E_INTERNAL, c->g->r->insts.data[id].line, 0, NULL,
            "a program that gathers uses a value that is not marked as needed");
    c->g->failed = true;
    return 0;
}

// The indices of what is kept of `id`: `within` an invocation, n, and the point's place.  Returns
// how many there are.
static uint32_t add_place(gather_clone *c, uint32_t id, const uint32_t *within, uint32_t n,
                          uint32_t *args)
{
    uint32_t value[VY_MAX_RANK];
    for (uint32_t k = 0; k < c->g->r->overs.count; k++) value[k] = c->index[k].id;
    gather_place(c->g, c->b, value);
    return gather_kept_indices(c->g, id, within, n, value, args);
}

static uint32_t load_kept(gather_clone *c, uint32_t id)
{
    gather *g = c->g;
    uint32_t loops[VY_MAX_RANK], args[VY_MAX_RANK], n = gather_loops(g, id, loops);
    uint32_t buffer = gather_kept_buffer(g, c->b, g->keep[id] - 1);
    if (!buffer) return 0;
    for (uint32_t k = 0; k < n; k++) loops[k] = c->map[loops[k]];
    const uint32_t rank = add_place(c, id, loops, n, args);
    vy_type t = vy_id_type(g->r, id);
    uint32_t v = vy_emit(c->b, VY_OP_LOAD, t == VY_BOOL ? VY_U32 : t, buffer, rank, args);
    return t == VY_BOOL ? vy_cast(c->b, VY_BOOL, (vy_value){v}).id : v;
}

// A load of a local array that is kept whole.
static uint32_t load_array(gather_clone *c, uint32_t id, uint32_t last)
{
    gather *g = c->g;
    const vy_inst *i = &g->r->insts.data[id];
    uint32_t own[VY_MAX_RANK], args[VY_MAX_RANK];
    const uint32_t buffer = gather_kept_buffer(g, c->b, g->keep[last] - 1);
    if (!buffer) return 0;
    for (uint32_t k = 0; k < i->nargs; k++) own[k] = gather_map(c, vy_arg(g->r, id, k));
    const uint32_t rank = add_place(c, last, own, i->nargs, args);
    return vy_emit(c->b, VY_OP_LOAD, (vy_type)i->type, buffer, rank, args);
}

// -------------------------------------------------------------------------------------- constructs
// Constructs around the sites: implied by the point or its set (TAKEN; OTHER: an `if` whose second
// arm has the site); an `if` that guards the addition (GUARD); copied whole.
enum { TAKEN = 1, OTHER, GUARD, WHOLE };

static bool needed(const gather_clone *c, uint32_t id) { return c->needed[id]; }

// The values that a construct yields and that are needed: which, and what they are here.
typedef struct slots {
    uint32_t *k, *mapped, *made, n;
} slots;

// Are the sources of slot k of a construct needed?  Not where its RESULT is loaded as a kept value,
// and no other site computes it.
static bool is_made(const gather_clone *c, uint32_t opener, uint32_t k)
{
    const gather *g = c->g;
    const uint32_t end = vy_closer(g->r, &g->s, opener), middle = g->s.partner[opener];
    if (!g->keep[end + 1 + k]) return true;
    if (vy_is_loop((vy_op)g->r->insts.data[opener].op))
        return needed(c, opener + 1 + k) && !g->keep[opener + 1 + k];
    const uint32_t x = vy_arg(g->r, middle, k), y = vy_arg(g->r, end, k);
    return (VY_IS_LEAF(x) || needed(c, x)) && (VY_IS_LEAF(y) || needed(c, y));
}

static void live(gather_clone *c, uint32_t opener, slots *s)
{
    gather *g = c->g;
    uint32_t end = vy_closer(g->r, &g->s, opener), all = vy_slot_count(g->r, &g->s, opener);
    *s = (slots){.k = vy_arena_alloc(&g->arena, (3 * (size_t)all + 1) * sizeof *s->k)};
    if (!s->k) {
        g->failed = true;
        return;
    }
    s->mapped = s->k + all;
    s->made = s->mapped + all;
    for (uint32_t k = 0; k < all; k++)
        if (needed(c, end + 1 + k) && is_made(c, opener, k)) s->k[s->n++] = k;
}

static void map_slots(gather_clone *c, slots *s, uint32_t marker, uint32_t first)
{
    for (uint32_t j = 0; j < s->n; j++)
        s->mapped[j] = gather_map(c, vy_arg(c->g->r, marker, first + s->k[j]));
}

static void open(gather_clone *c, uint32_t id)
{
    gather *g = c->g;
    const vy_inst *i = &g->r->insts.data[id];
    slots s;
    live(c, id, &s);
    switch (i->op) {
    case VY_OP_IF: vy_begin_if(c->b, gather_map(c, vy_arg(g->r, id, 0))); return;
    case VY_OP_CHECKPOINT: return; // nothing is differentiated here
    case VY_OP_WHILE:
        map_slots(c, &s, id, vy_init_arg(g->r, id));
        vy_begin_while(c->b, 0, s.n, s.mapped, s.made);
        break;
    default:
        map_slots(c, &s, id, vy_init_arg(g->r, id));
        uint8_t reverse = i->flags & VY_FLAG_REVERSE;
        if (reverse && gather_iterations_commute(g, c->needed, c->sites, c->count, id)) reverse = 0;
        const uint32_t step = gather_map(c, vy_arg(g->r, id, 2));
        const uint32_t to = gather_map(c, vy_arg(g->r, id, 1));
        c->map[id] =
            vy_begin_loop(c->b, (vy_type)i->type, reverse, gather_map(c, vy_arg(g->r, id, 0)), to,
                          step, s.n, s.mapped, s.made);
        vy_pass_name(c->b, g->r, id, c->map[id]);
        break;
    }
    for (uint32_t j = 0; j < s.n; j++) {
        c->map[id + 1 + s.k[j]] = s.made[j];
        vy_pass_name(c->b, g->r, id + 1 + s.k[j], s.made[j]);
    }
}

static void close(gather_clone *c, uint32_t id)
{
    gather *g = c->g;
    const vy_inst *i = &g->r->insts.data[id];
    uint32_t opener = g->s.partner[id];
    slots s;
    live(c, opener, &s);
    if (i->op == VY_OP_ENDIF) {
        map_slots(c, &s, id, 0);
        vy_end_if(c->b, s.n, s.mapped, s.made);
    } else if (i->op == VY_OP_ENDLOOP) {
        uint32_t keep = vy_keep(g->r, &g->s, opener);
        map_slots(c, &s, id, vy_next_arg(g->r, opener));
        vy_end_loop(c->b, keep ? gather_map(c, keep) : 0, s.n, s.mapped, s.made);
    } else {
        map_slots(c, &s, id, 0);
        if (s.n) memcpy(s.made, s.mapped, s.n * sizeof *s.made);
    }
    for (uint32_t j = 0; j < s.n; j++) {
        c->map[id + 1 + s.k[j]] = s.made[j];
        vy_pass_name(c->b, g->r, id + 1 + s.k[j], s.made[j]);
    }
}

// The results of a construct around one site, for another one after it.  At their points, which are
// the same, it is known which arm is taken: its operands are the results.
static void forward_results(gather_clone *c, uint32_t end, uint8_t around)
{
    gather *g = c->g;
    const uint32_t opener = g->s.partner[end], all = vy_slot_count(g->r, &g->s, opener);
    const bool then = g->r->insts.data[end].op == VY_OP_ENDIF && around == TAKEN;
    for (uint32_t k = 0; k < all; k++)
        if (needed(c, end + 1 + k) && is_made(c, opener, k))
            c->map[end + 1 + k] = gather_map(c, then ? vy_slot_then(g->r, &g->s, opener, k)
                                                     : vy_slot_yield(g->r, &g->s, opener, k));
}

// A construct's marker, if it is copied.
static void marker(gather_clone *c, uint32_t id)
{
    gather *g = c->g;
    vy_op op = (vy_op)g->r->insts.data[id].op;
    uint32_t opener = vy_opener(g->r, &g->s, id);
    if (op == VY_OP_CARRY || op == VY_OP_RESULT) return; // made with their markers
    uint8_t around = c->around[opener];
    if (around == TAKEN || around == OTHER) {
        if (op == VY_OP_ENDIF || op == VY_OP_ENDCHECKPOINT) forward_results(c, id, around);
        return;
    }
    if (!around && !needed(c, opener)) return;
    if (around == GUARD) {
        uint32_t site = c->sites[0]->id;
        if (op == VY_OP_LOOP) { // it may end before the iteration that the point is
            const vy_value end = {gather_map(c, vy_arg(g->r, id, 1))};
            vy_if(c->b, vy_lt(c->b, (vy_value){c->map[id]}, end));
        } else if (op == VY_OP_ENDLOOP) {
            vy_end(c->b);
        } else if (op == VY_OP_IF) {
            vy_if(c->b, (vy_value){gather_map(c, vy_arg(g->r, id, 0))});
            if (!vy_in_then(&g->s, opener, site)) vy_else(c->b);
        } else if (op == VY_OP_ENDIF) {
            vy_end(c->b);
        }
        return;
    }
    if (vy_op_opens(op)) {
        open(c, id);
    } else if (op == VY_OP_ELSE) {
        slots s;
        live(c, opener, &s);
        map_slots(c, &s, id, 0);
        vy_begin_else(c->b, s.n, s.mapped);
    } else if (op == VY_OP_TEST) {
        vy_loop_test(c->b, gather_map(c, vy_arg(g->r, id, 0)));
    } else {
        close(c, id);
    }
}

static gather_site *site_at(const gather_clone *c, uint32_t id)
{
    for (uint32_t k = 0; k < c->count; k++)
        if (c->sites[k]->id == id) return c->sites[k];
    return NULL;
}

static void copy(gather_clone *c, uint32_t id)
{
    gather *g = c->g;
    const vy_inst *i = &g->r->insts.data[id];
    uint32_t args[VY_MAX_RANK + 4], array = i->op == VY_OP_LOAD ? gather_array_at(g, id) : 0;
    for (uint32_t k = 0; k < i->nargs; k++) {
        args[k] = gather_map(c, vy_arg(g->r, id, k));
        if (i->op == VY_OP_LOAD) args[k] = gather_tap_index(c, id, k, args[k]);
    }
    vy_pass_at(c->b, g->r, id);
    if (array && g->keep[array])
        c->map[id] = load_array(c, id, array);
    else if (i->op == VY_OP_LOAD && gather_is_begun(g, i->aux) && g->last_write[i->aux])
        c->map[id] = gather_load_begun(g, c->b, id, args);
    else
        c->map[id] = vy_emit(c->b, (vy_op)i->op, (vy_type)i->type, i->aux, i->nargs, args);
    vy_pass_name(c->b, g->r, id, c->map[id]);
}

// Finds how the constructs around the sites are treated.
static void surround(gather_clone *c, uint8_t *around)
{
    gather *g = c->g;
    for (uint32_t k = 0; k < c->count; k++) {
        const gather_site *site = c->sites[k];
        const vy_nest *n = &site->access.nest;
        for (uint32_t up = g->s.parent[site->id]; up; up = g->s.parent[up]) {
            const bool arm =
                g->r->insts.data[up].op == VY_OP_IF && !vy_in_then(&g->s, up, site->id);
            uint8_t kind = arm ? OTHER : TAKEN;
            const bool guards = site->single || vy_nest_dim(n, up) >= 0;
            for (uint32_t j = 0; j < n->inexact_count; j++)
                if (n->inexact[j] == up) kind = guards ? GUARD : WHOLE;
            around[up] = kind;
        }
    }
}

void gather_copy(gather_clone *c)
{
    gather *g = c->g;
    uint32_t all = g->r->insts.count;
    uint8_t *around = vy_realloc(NULL, 2 * (size_t)all);
    if (!around) {
        g->failed = true;
        return;
    }
    memset(around, 0, 2 * (size_t)all);
    uint8_t *need = around + all;
    surround(c, around);
    for (uint32_t k = 0; k < c->count; k++)
        for (uint32_t id = 0; (id = gather_slice_after(c->sites[k]->need, id, all)) < all;)
            need[id] = 1;
    c->around = around;
    c->needed = need;
    const vy_nest *n = &c->sites[0]->access.nest;
    memset(c->map, 0, all * sizeof *c->map); // values of an earlier walk are not in scope here
    for (uint32_t k = n->overs; k < n->count; k++) c->map[n->loop[k]] = c->index[k].id;
    for (uint32_t id = 1; id < g->r->insts.count; id++) {
        if (vy_builder_failed(c->b) || g->failed) break;
        vy_op op = (vy_op)g->r->insts.data[id].op;
        gather_site *site = site_at(c, id);
        bool copied = needed(c, id) && !gather_array(g, id); // of an array, its loads are copied
        if (copied && g->keep[id])
            c->map[id] = load_kept(c, id);
        else if (vy_is_marker(op))
            marker(c, id);
        else if (copied)
            copy(c, id);
        if (!site) continue;
        vy_pass_at(c->b, g->r, id);
        uint32_t rank = g->r->buffers.data[g->r->insts.data[id].aux].rank;
        c->add(c->user, site, (vy_value){gather_map(c, vy_arg(g->r, id, rank))});
    }
    vy_free(around);
}
