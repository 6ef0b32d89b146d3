// SPDX-License-Identifier: MIT
// gather_either.c: the reverse program with its gathers, or as it is: which of the two is
// dispatched a condition on scalars says at launch (gather_assume.c).
#include "autodiff/core/conditions.h"
#include "autodiff/gather/gather_attempts.h"
#include "autodiff/stages/stages.h"
#include "ir/text/print.h"

#include <string.h>

vy_dim gather_node(gather *g, vy_dim_op op, vy_dim x, vy_dim y)
{
    const vy_dim_node n = {.op = op, .a = x.id, .b = y.id};
    if (x.id && y.id && vy_vec_push(&g->r->dims, n)) return (vy_dim){g->r->dims.count - 1};
    g->failed = true;
    return (vy_dim){0};
}

vy_dim gather_number(gather *g, int64_t v)
{
    const vy_dim_node n = {.op = VY_DIM_CONST, .value = v};
    if (vy_vec_push(&g->r->dims, n)) return (vy_dim){g->r->dims.count - 1};
    g->failed = true;
    return (vy_dim){0};
}

vy_dim gather_scalar(gather *g, uint32_t k)
{
    const vy_dim_node n = {.op = VY_DIM_SCALAR, .value = k};
    if (vy_vec_push(&g->r->dims, n)) return (vy_dim){g->r->dims.count - 1};
    g->failed = true;
    return (vy_dim){0};
}

// Is d a scalar, of fewer than 33 bits?
static bool is_scalar(const gather *g, vy_dim d)
{
    return g->r->dims.data[d.id].op == VY_DIM_SCALAR &&
           vy_type_size(g->r->scalars.data[g->r->dims.data[d.id].value].type) <= 4;
}

// A factor of a condition: 0 ≤ d ≤ 2³¹, for which the condition is not another, and whose product
// with one scalar does not overflow.
static vy_dim clamped(gather *g, vy_dim d)
{
    d = gather_node(g, VY_DIM_MAX, d, gather_number(g, 0));
    return gather_node(g, VY_DIM_MIN, d, gather_number(g, INT64_C(1) << 31));
}

vy_dim gather_times(gather *g, vy_dim x, vy_dim y, bool safe)
{
    if (!x.id) return y;
    if (safe && g->failed) return x;
    if (safe) x = clamped(g, x);
    if (safe && !is_scalar(g, y)) y = clamped(g, y);
    return gather_node(g, VY_DIM_MUL, x, y);
}

vy_dim gather_less(gather *g, vy_dim x, vy_dim y)
{
    const vy_dim zero = gather_number(g, 0);
    const vy_dim d = gather_node(g, VY_DIM_MAX, gather_node(g, VY_DIM_SUB, y, x), zero);
    return gather_node(g, VY_DIM_MIN, d, gather_number(g, 1));
}

void gather_require(gather *g, vy_dim least, vy_dim most, vy_dim safe)
{
    gather_launch *all = &g->launch;
    if (g->failed) return;
    for (uint32_t k = 0; k < all->count; k++)
        if (all->within[k].least.id == least.id && all->within[k].most.id == most.id) return;
    vy_assumption *within = &all->within[all->count];
    *within = (vy_assumption){least, most};
    char *text = vy_assumption_text(g->r, within);
    const char *kept = text ? vy_arena_strdup(&g->arena, text, strlen(text)) : NULL;
    vy_free(text);
    g->failed |= !kept;
    for (uint32_t k = 0; k < all->count && kept; k++)
        if (!strcmp(all->condition[k], kept)) return;
    all->condition[all->count++] = kept;
    if (g->failed || gather_is_given(g, kept)) return;
    all->holds = all->holds.id ? gather_node(g, VY_DIM_MIN, all->holds, safe) : safe;
}

// Is something gathered by these rows?
static bool is_used(const gather *g, const vy_affine_rows *r)
{
    bool used = false;
    for (uint32_t j = 0; j < g->site_count; j++)
        used |= g->sites[j].gathered && g->sites[j].access.rows == r;
    return used;
}

vy_dim gather_holds(gather *g)
{
    vy_dim all = g->launch.holds;
    for (uint32_t k = 0; k < g->a.row_count; k++)
        if (g->a.rows[k].holds.id && is_used(g, &g->a.rows[k]))
            all = all.id ? gather_node(g, VY_DIM_MIN, all, g->a.rows[k].holds) : g->a.rows[k].holds;
    return all;
}

bool gather_is_given(const gather *g, const char *condition)
{
    bool given = false;
    for (uint32_t k = 0; k < g->assume_count; k++)
        given |= vy_condition_same(g->assume[k], condition);
    for (uint32_t k = 0; k < g->r->assumes.count && !given; k++) {
        char *text = vy_assumption_text(g->r, &g->r->assumes.data[k]);
        given = text && vy_condition_same(text, condition);
        vy_free(text);
    }
    return given;
}

void gather_assume_rows(const gather *g, const gather_site *site, vy_builder *b)
{
    const vy_affine_rows *r = site->access.rows;
    const gather_launch *all = &g->launch;
    for (uint32_t k = 0; k < all->count; k++)
        if (!all->holds.id || gather_is_given(g, all->condition[k]))
            vy_assume(b, all->within[k].least, all->within[k].most);
    for (uint32_t k = 0; r && k < r->axes; k++) {
        const vy_affine_axis *x = &r->axis[k];
        if (x->condition && (!r->holds.id || gather_is_given(g, x->condition)))
            vy_assume(b, x->within.least, x->within.most);
    }
    for (uint32_t k = 0; r && k < r->signs; k++)
        if (!r->holds.id || gather_is_given(g, r->sign[k].condition))
            vy_assume(b, r->sign[k].natural.least, r->sign[k].natural.most);
}

bool gather_note_conditions(gather *g)
{
    bool ok = true;
    for (uint32_t k = 0; k < g->launch.count && ok; k++)
        ok = vy_condition_note(g->m, g->launch.condition[k]);
    for (uint32_t k = 0; k < g->a.row_count; k++)
        for (uint32_t i = 0; i < g->a.rows[k].signs && ok && is_used(g, &g->a.rows[k]); i++)
            ok = vy_condition_note(g->m, g->a.rows[k].sign[i].condition);
    for (uint32_t k = 0; k < g->a.row_count; k++)
        for (uint32_t i = vy_first_assumed(&g->a.rows[k]);
             i < g->a.rows[k].axes && ok && is_used(g, &g->a.rows[k]); i++)
            if (g->a.rows[k].axis[i].condition)
                ok = vy_condition_note(g->m, g->a.rows[k].axis[i].condition);
    return ok;
}

vy_dim gather_either(gather *g, vy_dim holds, vy_dim iterations)
{
    if (!holds.id) return iterations;
    return iterations.id ? gather_node(g, VY_DIM_MIN, holds, iterations) : holds;
}

vy_dim gather_else(gather *g, vy_dim holds)
{
    return gather_node(g, VY_DIM_SUB, gather_number(g, 1), holds);
}

vy_program *gather_as_it_is(gather *g)
{
    const vy_program *before = g->multiples     ? g->multiples->before
                               : g->winners     ? g->winners->before
                               : g->split.whole ? g->split.whole
                                                : g->r;
    vy_program *p = vy_program_clone(before, g->m);
    if (p) p->name = vy_stage_name(g->m, g->r, "atomic");
    g->failed |= !p || !p->name;
    g->otherwise = p ? p->name : NULL;
    return p;
}

// The conditions under which the site is gathered, for readers.  NULL: memory; "": there are none.
static const char *conditions_of(const gather *g, const gather_site *site, vy_arena *arena)
{
    printer o = {.p = g->r};
    const vy_affine_rows *r = site->access.rows;
    for (uint32_t k = 0; k < g->launch.count; k++) {
        if (o.out.count) print_str(&o, " && ");
        print_str(&o, g->launch.condition[k]);
    }
    if (r && *r->text) {
        if (o.out.count) print_str(&o, " && ");
        print_str(&o, r->text);
    }
    const char *text = o.failed ? NULL : vy_arena_strdup(arena, o.out.data, o.out.count);
    vy_vec_free(&o.out);
    return text;
}

void gather_note_assumed(const gather *g, const gather_site *site, vy_gather_note *n,
                         vy_arena *arena)
{
    const vy_affine_rows *r = site->access.rows;
    const char *text = conditions_of(g, site, arena);
    if (!text || !*text) return;
    n->assumes = text;
    if (((r && r->holds.id) || g->launch.holds.id) && g->otherwise)
        n->otherwise = vy_arena_strdup(arena, g->otherwise, strlen(g->otherwise));
}
