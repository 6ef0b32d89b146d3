// SPDX-License-Identifier: MIT
// gather_own.c: additions that are left once what can be gathered is, to elements that are one
// invocation's each if a condition holds at launch.
//
//   atomic_add(ga[z * cstep + y * w + x], v)           over(z: c, y: h, x: w)
//
//   repeat once in 0..holds { f_own(…); }              ga[…] = ga[…] + v
//   repeat once in 0..1 - holds { f_atomic(…); }       the reverse program as it is
//
// The condition is that of gather_assume.c: strides make rows, and nothing wraps.  Then the index
// is as good as several, one along each axis, and isl is asked whether two invocations ever have
// the same: the map { invocation → elements } of all places that add to a buffer is to be
// injective.
// Loops are projected out, and where a place is reached less often than isl knows, the map has only
// more in it.  All accesses of the buffer are such places (gather_vain.c), so no other invocation
// touches the element in this dispatch, whatever barriers there are; and those of one invocation
// are in the order of the program.  Out of range the load gives zero and the store does nothing, as
// an atomic does nothing.  Half floats stay: atomic ones are summed in f32.
//
// It is all or nothing: a program that needs some atomics stays as it is.  What is left once other
// additions are gathered is a program like any other, that runs under the conditions of those.
#include "autodiff/facts/facts.h"
#include "autodiff/gather/gather_attempts.h"
#include "autodiff/gather/gather_owning.h"
#include "autodiff/stages/stages.h"
#include "ir/build/rewrite.h"
#include "ir/check/check.h"
#include "ir/core/access.h"
#include "ir/core/flow.h"

#include <string.h>

// ------------------------------------------------------------------------------------------- proof
bool gather_same_axes(const vy_affine_access *x, const vy_affine_access *y)
{
    bool same = x->flat == y->flat && x->rows == y->rows && x->rank == y->rank;
    for (uint32_t k = 0; k < y->flat && same; k++)
        same = x->extent[k].base == y->extent[k].base && x->extent[k].offset == y->extent[k].offset;
    return same;
}

isl_map *gather_elements(gather *g, gather_site *site, uint32_t skip, bool loops)
{
    vy_affine_access *x = &site->access;
    uint32_t axes = 0;
    vy_affine_reset(&g->a);
    site->wraps = true;
    site->why = "is too involved";
    if (vy_affine_spent(&g->a) || !vy_access_make(x, &g->a, site->id, UINT32_MAX)) return NULL;
    for (uint32_t k = 0; k < x->rank; k++) {
        axes |= (uint32_t) !(skip >> vy_buffer_axis(x, k) & 1) << k;
        if (x->index[k]) continue;
        site->why = vy_affine_why_text(x->why[k]);
        site->wraps = x->why[k] == VY_AFFINE_WRAP || x->why[k] == VY_AFFINE_PRODUCT;
        // A stride may be a quotient, of what is not negative.
        site->divides =
            x->why[k] == VY_AFFINE_DIVISION || (x->why[k] == VY_AFFINE_PRODUCT && g->calm.scalar);
        return NULL;
    }
    isl_map *m = vy_access_map(x, axes);
    if (loops) return m;
    return vy_isl_map_project_out(m, isl_dim_in, x->nest.overs, x->nest.count - x->nest.overs);
}

uint32_t gather_components(const gather *g, uint32_t buffer)
{
    const uint32_t rank = g->r->buffers.data[buffer].rank;
    uint32_t mask = 0;
    for (uint32_t k = 1; k < rank && rank < 32; k++) mask |= 1u << k;
    for (uint32_t k = 0; k < g->site_count; k++)
        for (uint32_t j = 1; g->sites[k].access.buffer == buffer && j < rank && rank < 32; j++)
            if (!vy_id_const(g->r, vy_arg(g->r, g->sites[k].id, j))) mask &= ~(1u << j);
    return mask;
}

// Is an earlier place reached as often as number k, and the same without the axes in `skip`?
static bool is_again(const gather *g, uint32_t k, uint32_t skip)
{
    const gather_site *y = &g->sites[k];
    const uint32_t rank = g->r->buffers.data[y->access.buffer].rank;
    bool again = false;
    for (uint32_t at = 0; at < k && !again; at++) {
        const gather_site *x = &g->sites[at];
        again = x->access.buffer == y->access.buffer && gather_is_beside(g, x->id, y->id);
        for (uint32_t j = 0; j < rank && again; j++)
            again = skip >> j & 1 || vy_arg(g->r, x->id, j) == vy_arg(g->r, y->id, j);
    }
    return again;
}

// Are the buffer's elements one invocation's each, if those that differ on the axes in `skip` alone
// are taken for one?  Else *why.
static bool has_owners(gather *g, uint32_t buffer, uint32_t skip, const char **why)
{
    isl_map *all = NULL;
    const gather_site *first = NULL;
    bool ok = true;
    for (uint32_t k = 0; k < g->site_count && ok; k++) {
        gather_site *site = &g->sites[k];
        if (site->access.buffer != buffer || is_again(g, k, skip)) continue;
        vy_access_free(&site->access);
        isl_map *m = gather_elements(g, site, skip, false);
        if (!first) first = site;
        ok = m && gather_same_axes(&first->access, &site->access);
        *why = m ? "is in rows of another length than others" : site->why;
        all = all && ok ? vy_isl_map_union(all, m) : all ? (isl_map_free(m), all) : m;
    }
    vy_affine_reset(&g->a);
    vy_affine_limit(&g->a, g->r->overs.count);
    if (ok) *why = "may be to one element in several invocations";
    ok = ok && !vy_affine_spent(&g->a) && vy_isl_map_is_injective(all) == isl_bool_true;
    isl_map_free(all);
    g->failed |= g->a.failed;
    return ok;
}

static bool all_have_owners(gather *g)
{
    vy_affine_begin_round(&g->a);
    for (uint32_t i = 1; i < g->r->buffers.count && !g->failed; i++) {
        bool any = false;
        for (uint32_t k = 0; k < g->site_count; k++) any |= g->sites[k].access.buffer == i;
        const uint32_t skip = gather_components(g, i);
        const char **why = &g->owners->why[i];
        if (any && !has_owners(g, i, skip, why) && (!skip || !has_owners(g, i, 0, why)))
            return false;
        *why = NULL;
    }
    return !g->failed;
}

// ------------------------------------------------------------------------------------- the program
typedef struct plain {
    vy_rewrite w;
    const gather *g;
} plain;

static uint32_t add_plainly(void *pass, uint32_t id)
{
    plain *x = pass;
    const vy_inst *i = &x->w.p->insts.data[id];
    uint32_t args[VY_MAX_RANK + 1];
    if (!gather_can_own((vy_op)i->op) || !x->g->owners->alone[i->aux]) return 0;
    vy_rewrite_at(&x->w, id);
    vy_new_args(&x->w, id, i->nargs, args);
    x->w.map[id] = vy_emit_update(x->w.b, (vy_op)i->op, VY_STRENGTH_PLAIN, i->aux, i->nargs, args);
    return id;
}

// Gives p, a copy of the reverse program as it was, the dimensions that were added since.
static bool take_dims(gather *g, vy_program *p)
{
    for (uint32_t k = p->dims.count; k < g->r->dims.count; k++) {
        const vy_dim_node n = g->r->dims.data[k];
        if (!vy_vec_push(&p->dims, n)) return false;
    }
    return true;
}

// The reverse program without atomics; NULL: memory, or m's diag.
static vy_program *make_plain(gather *g)
{
    plain x = {.g = g};
    bool changed = false;
    vy_program *p = gather_as_it_is(g);
    if (!p || !take_dims(g, p)) {
        vy_program_free(p);
        return NULL;
    }
    const bool ok = vy_rewrite_begin(&x.w, p);
    if (ok && vy_rewrite_open(&x.w)) {
        for (uint32_t k = 0; k < g->site_count; k++) gather_assume_rows(g, &g->sites[k], x.w.b);
        vy_rewrite_range(&x.w, 1, p->insts.count, add_plainly, &x);
    }
    if (vy_rewrite_end(&x.w, ok, &changed) && vy_check_program(p)) return p;
    vy_program_free(p);
    return NULL;
}

static bool replace(gather *g)
{
    vy_program *stages[2] = {make_plain(g)};
    const vy_dim holds = gather_holds(g);
    if (!stages[0]) return false;
    if (!holds.id) {
        stages[0]->name = g->r->name;
        vy_program_replace(g->r, stages[0]);
        return true;
    }
    stages[0]->name = vy_stage_name(g->m, g->r, "own");
    stages[1] = gather_as_it_is(g);
    const vy_dim iterations[2] = {holds, gather_else(g, holds)};
    if (stages[0]->name && stages[1] && !g->failed)
        return vy_stages_replace_some(g->m, g->r, stages, iterations, 2);
    vy_program_free(stages[0]);
    vy_program_free(stages[1]);
    return false;
}

static bool make(gather *g)
{
    for (uint32_t k = 0; k < g->site_count; k++) g->sites[k].gathered = true;
    if (g->probe) *g->probe = (gather_probe){.all = true, .open = gather_holds(g).id != 0};
    if (g->probe) return true;
    gather_end_grid(g);
    vy_program *kept = g->notes ? vy_program_clone(g->r, g->m) : NULL; // g->r is replaced
    bool ok = (kept || !g->notes) && replace(g) && gather_note_conditions(g);
    if (ok && g->notes) ok = gather_take_owned(g, kept);
    vy_program_free(kept);
    return ok;
}

// ------------------------------------------------------------------------------------ the attempts
// How many conditions the rows have beside that nothing wraps.
static uint32_t count_conditions(const gather *g)
{
    uint32_t n = 0;
    for (uint32_t k = 0; k < g->a.row_count; k++)
        for (uint32_t i = 1; i < g->a.rows[k].axes; i++)
            n += g->a.rows[k].axis[i].condition != NULL;
    return n;
}

static bool prove(gather *g, bool *made);

static bool prove_calm(gather *g, gather_calm calm, bool *made)
{
    gather second = *g->begin;
    second.begin = g->begin;
    second.split = g->split;
    second.launch = g->launch;
    second.grid = g->grid;
    second.owners = g->owners;
    second.calm = calm;
    const bool ok =
        gather_make_tables(&second) && g->owners->proof->again(&second) && prove(&second, made);
    return gather_clean_up(&second) && ok;
}

// Proves, or tries again with calm scalars: also where rows have conditions that may be due to
// numbers that wrap, if there are fewer then.  False: memory, or m's diag.
static bool prove(gather *g, bool *made)
{
    g->affine = true;
    gather_assume_calm(g);
    bool ok = !g->failed && gather_begin(g, g->source);
    for (uint32_t k = 0; k < g->site_count; k++) { // until it is known
        g->sites[k].wraps = true;
        g->sites[k].divides = g->vain && g->calm.scalar;
    }
    const bool proved = ok && !g->vain && g->owners->proof->holds(g);
    const uint32_t most = g->calm.scalar ? g->calm.left : UINT32_MAX,
                   n = proved ? count_conditions(g) : most;
    gather_calm calm = ok && n ? gather_calmer(g) : (gather_calm){0};
    calm.left = n;
    if (ok && calm.scalar && !g->failed) ok = prove_calm(g, calm, made);
    if (ok && !*made && n < most) ok = *made = g->owners->proof->make(g);
    return ok && !g->failed;
}

// With `split`, over coordinates (gather_split.h), if there are some.
static bool attempt(const gather *begin, bool split, bool *made, bool *tried)
{
    gather g = *begin;
    g.begin = begin;
    bool ok = !split || gather_split_domain(&g);
    const uint32_t dims = g.r->dims.count;
    if (ok && (g.split.whole || !split)) {
        bool vain = false;
        *tried = true;
        ok = gather_begin_grid(&g) && gather_make_tables(&g) && g.owners->proof->find(&g, &vain);
        if (ok && !vain) {
            gather_require_grid(&g);
            ok = vy_affine_name_scalars(g.r) && prove(&g, made);
        }
    }
    if (!*made) {
        gather_end_grid(&g);
        g.r->dims.count = dims;
        if (g.split.whole) vy_program_replace(g.r, g.split.whole);
    } else
        vy_program_free(g.split.whole);
    return gather_clean_up(&g) && ok && !g.failed;
}

bool gather_prove(gather *begin, bool split, bool *made)
{
    bool tried = false, ok = true;
    *made = false;
    begin->owns = true;
    begin->vain = false;
    if (split) ok = attempt(begin, true, made, &tried);
    if (ok && !tried) ok = attempt(begin, false, made, &tried);
    return ok;
}

// --------------------------------------------------------------------------------------- the whole
static bool find(gather *g, bool *vain)
{
    const bool ok = gather_find(g);
    *vain = ok && gather_owns_in_vain(g);
    return ok;
}

static bool find_again(gather *g) { return gather_find(g) && gather_add_places(g); }

bool gather_own(const gather *before, bool split, bool *made)
{
    static const gather_proof proof = {find, find_again, all_have_owners, make};
    gather begin = *before;
    gather_winners all;
    vy_arena arena = {0};
    gather_owners owners = {.proof = &proof};
    bool ok = gather_try_winners(begin.r, true, &all);
    owners.why = vy_arena_alloc(&arena, begin.r->buffers.count * sizeof *owners.why);
    ok = ok && owners.why;
    *made = false;
    begin.owners = &owners;
    begin.thrifty |= split;
    if (!begin.r->overs.count) begin.assume_count = 0; // of workgroups none can be stated
    begin.winners = all.before ? &all : NULL;
    if (ok) ok = gather_prove(&begin, split, made);
    if (!*made && all.before) {
        vy_program_replace(begin.r, all.before);
        all.before = NULL;
    }
    gather_free_winners(&all);
    if (ok && !*made && begin.notes && !begin.notes->counts_only) ok = gather_note_shared(&begin);
    vy_arena_free(&arena);
    return ok;
}
