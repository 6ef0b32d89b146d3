// SPDX-License-Identifier: MIT
// forward_extremum.c: atomic_min and atomic_max of buffers in forward mode.
//
//   atomic_max(best[k], v);   →   if winner_best[k] == me { best[k] = v; }
//
// The programs that find the winners before the reverse (stages/extremum_stages.c) run before this
// one, too.  Only the winner's candidate is left of the atomic, and it is a store: it has the value
// that the atomics arrive at, and the tangent of a store.  Where no candidate won, the element and
// its tangent stay.  Among several candidates of the winner `last_best` says which one it was.
#include "autodiff/forward/forward.h"

#include "autodiff/reverse/sweeps.h"
#include "autodiff/storage/storage.h"
#include "ir/pass/pass.h"

typedef struct winners {
    vy_rewrite w;
    reverse *r;
    uint32_t *winner, *last; // by buffer: what the programs before this one have found; 0: nothing
} winners;

// What the programs before this one pass on about buffer i.
static uint32_t declare_winner(winners *x, uint32_t i, const char *prefix, link_kind kind,
                               vy_made made)
{
    const vy_buf *b = &x->w.p->buffers.data[i];
    char own[VY_FREE_NAME];
    const char *name = vy_derived_name(x->r, prefix, b->name);
    if (x->r->failed) return 0;
    name = vy_reverse_free_name(x->r, name, 0, own);
    const vy_buffer found = {vy_forward_workspace(&x->w, i, name, VY_U32)};
    if (vy_builder_failed(x->w.b)) return 0;
    const vy_derivative_role role = {.kind = VY_IS_WORKSPACE, .of = b->name, .parameter = i};
    vy_buffer_role(x->w.b, found, &role);
    vy_reverse_link(x->r, found.id, kind, i);
    vy_buf *fresh = &vy_builder_program(x->w.b)->buffers.data[found.id];
    fresh->cls = VY_IN;
    fresh->made = made;
    return found.id;
}

static void declare_all(winners *x)
{
    for (uint32_t i = 1; i < x->w.p->buffers.count && !vy_rewrite_stopped(&x->w); i++) {
        const buffer_facts *facts = &x->r->facts.buffers[i];
        if (!facts->extremum) continue;
        x->winner[i] = declare_winner(x, i, "winner", LINK_WINNER, VY_MADE_WINNER);
        vy_extremum_guard(x->r, x->winner[i]);
        if (facts->events) x->last[i] = declare_winner(x, i, "last", LINK_LAST, VY_MADE_LAST);
    }
}

static vy_value load(winners *x, uint32_t buffer, const uint32_t *index, uint32_t rank)
{
    return (vy_value){vy_emit(x->w.b, VY_OP_LOAD, VY_U32, buffer, rank, index)};
}

static uint32_t store_if_won(void *pass, uint32_t id)
{
    winners *x = pass;
    const vy_inst *i = &x->w.p->insts.data[id];
    if (!vy_is_contested(x->w.p, id) || !x->winner[i->aux]) return 0;
    uint32_t args[VY_MAX_RANK + 1];
    const uint32_t rank = vy_rank_of(x->w.p, id), number = vy_candidate_number(x->w.p, id);
    vy_rewrite_at(&x->w, id);
    vy_new_args(&x->w, id, rank + 1, args);
    if (number) args[rank] = vy_new_arg(&x->w, vy_arg(x->w.p, id, rank), 0);
    const vy_value who = load(x, x->winner[i->aux], args, rank);
    vy_value won = vy_eq(x->w.b, who, vy_extremum_me(x->r));
    if (number) {
        const vy_value last = load(x, x->last[i->aux], args, rank);
        won = vy_and(x->w.b, won, vy_eq(x->w.b, last, (vy_value){vy_new(&x->w, number)}));
    }
    vy_begin_if(x->w.b, won.id);
    vy_emit(x->w.b, VY_OP_STORE, VY_VOID, i->aux, rank + 1, args);
    vy_begin_else(x->w.b, 0, NULL);
    vy_end_if(x->w.b, 0, NULL, NULL);
    return id;
}

static bool refuse_old_values(winners *x)
{
    const vy_program *p = x->w.p;
    const uint32_t *used = vy_rewrite_uses(&x->w);
    for (uint32_t id = 1; used && id < p->insts.count; id++) {
        const vy_inst *i = &p->insts.data[id];
        if (!used[id] || !vy_is_contested(p, id)) continue;
        if (!x->r->facts.buffers[i->aux].extremum) continue;
        vy_forward_refuse_atomic(x->r, id, "the old value");
        return true;
    }
    return false;
}

bool vy_forward_winners(reverse *r, vy_program *p)
{
    vy_pass_context c = {0};
    winners x = {.r = r};
    vy_reverse_link_parameters(r, p);
    bool ok = vy_rewrite_begin(&x.w, p);
    x.winner = vy_rewrite_table(&x.w, p->buffers.count * sizeof *x.winner);
    x.last = vy_rewrite_table(&x.w, p->buffers.count * sizeof *x.last);
    ok = ok && !x.w.oom;
    if (ok && !refuse_old_values(&x) && vy_rewrite_open(&x.w)) {
        r->b = x.w.b;
        declare_all(&x);
        vy_rewrite_range(&x.w, 1, p->insts.count, store_if_won, &x);
    }
    ok = vy_rewrite_end(&x.w, ok, &c.changed);
    return ok && !r->failed && vy_pass_dce(p, &c);
}
