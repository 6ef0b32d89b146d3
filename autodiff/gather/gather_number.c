// SPDX-License-Identifier: MIT
// gather_number.c: where a maximum was as one number, of which a gather reads one for each window.
//
//   place = any ? (at_j - from_j) * (to_k - from_k) + (at_k - from_k) : none;    any: place != none
//   for j { for k { if (j - from_j) * (to_k - from_k) + (k - from_k) == place { … } } }
//
// The numbers of two iterations differ, as that of one loop is less than its length, and of several
// loops all iterations run, which are fewer than 2³².
#include "autodiff/gather/gather_won.h"

#define NONE 0xffffffffu

static const vy_inst *inst(const vy_rewrite *w, uint32_t id) { return &w->p->insts.data[id]; }

// Are the loop's bounds known after `outer` has ended?
static bool is_known(const vy_rewrite *w, uint32_t loop, uint32_t outer)
{
    const vy_program *p = w->p;
    const vy_type t = (vy_type)inst(w, loop)->type;
    for (uint32_t k = 0; k < 2; k++)
        if (!VY_IS_LEAF(vy_arg(p, loop, k)) && vy_arg(p, loop, k) >= outer) return false;
    return t == VY_I32 || t == VY_U32;
}

// Has it as many iterations as its bounds differ by?
static bool is_whole(const vy_rewrite *w, uint32_t loop)
{
    int64_t step;
    return vy_id_int(w->p, vy_arg(w->p, loop, 2), &step) && step == 1 &&
           !vy_keep(w->p, &w->s, loop);
}

// Is what follows the loop in its region, up to the end of that, where the addition is?
static bool is_around(const vy_rewrite *w, uint32_t loop, uint32_t site)
{
    const uint32_t up = w->s.parent[loop];
    if (site < vy_closer(w->p, &w->s, loop)) return false;
    return !up || (site < vy_closer(w->p, &w->s, up) &&
                   (inst(w, up)->op != VY_OP_IF ||
                    vy_in_then(&w->s, up, loop) == vy_in_then(&w->s, up, site)));
}

static bool is_same(const gather_won *x, const gather_won *y)
{
    bool same = x->loops == y->loops;
    for (uint32_t k = 0; k < x->loops && same; k++) same = x->loop[k] == y->loop[k];
    return same;
}

static gather_numbered *number_of(const gather_numbers *all, uint32_t any)
{
    for (uint32_t k = 0; k < all->count; k++)
        if (all->data[k].won.any == any) return &all->data[k];
    return NULL;
}

bool gather_see_number(gather_numbers *all, const vy_rewrite *w, const gather_won *won,
                       uint32_t site)
{
    const uint32_t outer = vy_opener(w->p, &w->s, won->any);
    gather_numbered *old = number_of(all, won->any);
    bool fits = is_around(w, outer, site) && (!old || is_same(&old->won, won));
    for (uint32_t k = 0; k < won->loops && fits; k++)
        fits = is_known(w, won->loop[k], outer) && (won->loops == 1 || is_whole(w, won->loop[k]));
    if (old) old->refused |= !fits;
    return old || vy_vec_push(all, ((gather_numbered){.won = *won, .refused = !fits}));
}

// The number of an iteration, of which `at` are the loops' variables.
static vy_value number(vy_builder *b, const gather_numbered *n, const uint32_t *at)
{
    vy_value sum = {0};
    for (uint32_t k = 0; k < n->won.loops; k++) {
        const vy_value in = vy_sub(b, vy_bitcast(b, VY_U32, (vy_value){at[k]}), n->from[k]);
        sum = k ? vy_add(b, vy_mul(b, sum, n->length[k]), in) : in;
    }
    return sum;
}

static void make(vy_rewrite *w, gather_numbered *n)
{
    vy_builder *b = w->b;
    uint32_t at[GATHER_DEEPEST];
    for (uint32_t k = 0; k < n->won.loops; k++) {
        const vy_value to = {vy_new_arg(w, n->won.loop[k], 1)};
        n->from[k] = vy_bitcast(b, VY_U32, (vy_value){vy_new_arg(w, n->won.loop[k], 0)});
        n->length[k] = vy_sub(b, vy_bitcast(b, VY_U32, to), n->from[k]);
        at[k] = vy_new(w, n->won.at[k]);
    }
    const vy_value none = vy_int(b, VY_U32, NONE), any = {vy_new(w, n->won.any)};
    n->place = vy_select(b, any, number(b, n, at), none);
    w->map[n->won.any] = vy_ne(b, n->place, none).id;
}

uint32_t gather_make_numbers(gather_numbers *all, vy_rewrite *w, uint32_t id)
{
    const uint32_t loop = all->count ? vy_rewrite_ended(w, id) : 0;
    bool any = false;
    for (uint32_t k = 0; loop && k < all->count; k++) {
        gather_numbered *n = &all->data[k];
        if (n->refused || vy_opener(w->p, &w->s, n->won.any) != loop) continue;
        if (!any) vy_rewrite_copy(w, id);
        any = true;
        make(w, n);
    }
    return any ? id : 0;
}

const gather_numbered *gather_made_number(const gather_numbers *all, const gather_won *won)
{
    const gather_numbered *n = number_of(all, won->any);
    return n && !n->refused && n->place.id ? n : NULL;
}

uint32_t gather_is_number(vy_rewrite *w, const gather_numbered *n, const uint32_t *at)
{
    return vy_eq(w->b, number(w->b, n, at), n->place).id;
}
