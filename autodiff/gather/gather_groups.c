// SPDX-License-Identifier: MIT
// gather_groups.c: programs without a domain, as programs over the invocations of their launch.
//
//   program f(…) workgroup(16, 16) { let x = gid.x;  let z = wid.z / C;  … atomic_add(a[z], v); }
//
//   repeat once in 0..holds { f_grid(…, groups_x=num_groups.x, …); }
//                               over(z: groups_z, y: groups_y * 16, x: groups_x * 16)
//   repeat once in 0..1 - holds { f_atomic(…); }
//
// A gather walks the points of a domain that reach an element.  A program without one has points,
// too, but how many only the launch knows: as many as its workgroups have invocations.  So there is
// a second program whose domain these are, of entire workgroups, so that it runs what the program
// without a domain does; num_groups is a scalar of it (stages/stages_groups.c).  In it gid, lid and
// wid are variables of the domain, their remainders and quotients, and it is gathered like any
// other: divided into coordinates, by cases of scalars, in tiles that are apart.
//
// An axis that the program does not look at has no variable: all invocations along it would do the
// same, and one workgroup is all that launches have there.  That is the condition, and that no axis
// has more than GATHER_GRID invocations, so that what is computed from a place need not wrap.  It
// is done only where no addition is left to atomics then; what invocations exchange, or do at
// barriers, stays with the program as it is.
#include "autodiff/core/conditions.h"
#include "autodiff/gather/gather_attempts.h"
#include "autodiff/gather/gather_owning.h"
#include "autodiff/stages/stages.h"
#include "ir/build/rewrite.h"
#include "ir/check/check.h"
#include "ir/pass/pass.h"

#include <stdio.h>

typedef struct grid {
    vy_rewrite w;
    uint32_t size[3];     // of a workgroup
    bool has[3];          // by axis: it has a variable
    vy_value variable[3]; // if so
    uint32_t *value;      // by leaf of the old program: what a built-in is; 0: it stays
} grid;

// ------------------------------------------------------------------------------------ what is used
static bool is_lane(const vy_leaf *l)
{
    return l->kind == VY_LEAF_BUILTIN && (l->index == VY_LANE || l->index == VY_SUBGROUP_SIZE);
}

// Finds the axes that the program looks at.  False: it looks at lanes, or at none.
static bool find_axes(grid *x, const vy_program *p)
{
    bool any = false;
    vy_program_workgroup(p, x->size);
    for (uint32_t axis = 0; axis < 3; axis++) x->has[axis] = x->size[axis] > 1;
    for (uint32_t k = 0; k < p->args.count; k++) {
        const uint32_t a = p->args.data[k];
        const vy_leaf *l = VY_IS_LEAF(a) ? &p->leaves.data[VY_LEAF_INDEX(a)] : NULL;
        if (!l || l->kind != VY_LEAF_BUILTIN) continue;
        if (is_lane(l)) return false;
        if (l->index <= VY_WID) x->has[l->axis] = true;
    }
    for (uint32_t axis = 0; axis < 3; axis++) any |= x->has[axis];
    return any;
}

// --------------------------------------------------------------------------------------- rewriting
static void declare_domain(grid *x)
{
    vy_builder *b = x->w.b;
    uint32_t size[3] = {1, 1, 1}, rank = 0;
    char text[32];
    for (uint32_t axis = 0; axis < 3; axis++)
        if (x->has[axis]) size[rank++] = x->size[axis];
    for (uint32_t axis = 3; axis-- > 0;) {
        if (!x->has[axis]) continue;
        snprintf(text, sizeof text, "%c", "xyz"[axis]);
        for (uint32_t k = 2; !gather_name_is_free(b, text); k++)
            snprintf(text, sizeof text, "%c%u", "xyz"[axis], k);
        vy_dim n = vy_dim_groups(b, axis);
        if (x->size[axis] > 1) n = vy_dim_binary(b, VY_DIM_MUL, n, vy_dim_const(b, x->size[axis]));
        x->variable[axis] = vy_over(b, text, n);
    }
    vy_workgroup(b, size[0], size[1], size[2]);
}

static vy_value number(const grid *x, uint32_t n) { return vy_int(x->w.b, VY_U32, n); }

static vy_value local_id(const grid *x, uint32_t axis)
{
    if (x->size[axis] == 1) return number(x, 0);
    const vy_value size = number(x, x->size[axis]);
    return vy_rem(x->w.b, x->variable[axis], size);
}

static vy_value group_id(const grid *x, uint32_t axis)
{
    const vy_value size = number(x, x->size[axis]);
    return vy_div(x->w.b, x->variable[axis], size);
}

static vy_value local_index(const grid *x)
{
    vy_builder *b = x->w.b;
    vy_value v = local_id(x, 2);
    for (uint32_t axis = 2; axis-- > 0;) {
        const vy_value rows = vy_mul(b, v, number(x, x->size[axis]));
        v = vy_add(b, rows, local_id(x, axis));
    }
    return v;
}

// What a built-in is at a point of the domain; id 0: it stays.
static vy_value at_point(const grid *x, const vy_leaf *l)
{
    switch ((vy_builtin)l->index) {
    case VY_GID: return x->variable[l->axis];
    case VY_LID: return local_id(x, l->axis);
    case VY_WID: return group_id(x, l->axis);
    case VY_LINDEX: return local_index(x);
    case VY_NUM_GROUPS:
    case VY_LANE:
    case VY_SUBGROUP_SIZE: break;
    }
    return (vy_value){0};
}

static uint32_t with_places(void *pass, uint32_t id)
{
    grid *x = pass;
    const uint32_t n = x->w.p->insts.data[id].nargs;
    bool any = false;
    uint32_t *args = vy_rewrite_table(&x->w, (n + 1) * sizeof *args);
    for (uint32_t k = 0; args && k < n; k++) {
        const uint32_t a = vy_arg(x->w.p, id, k);
        const vy_leaf *l = VY_IS_LEAF(a) ? &x->w.p->leaves.data[VY_LEAF_INDEX(a)] : NULL;
        const bool is = l && l->kind == VY_LEAF_BUILTIN && l->index != VY_NUM_GROUPS;
        uint32_t *value = is ? &x->value[VY_LEAF_INDEX(a)] : NULL;
        args[k] = is ? *value : vy_new(&x->w, a);
        any |= is;
    }
    if (!any || !args) return 0;
    vy_rewrite_at(&x->w, id);
    vy_copy_with(x->w.b, x->w.p, id, args, x->w.map);
    return id;
}

// The values of all built-ins that are looked at, ahead of everything.
static void find_values(grid *x)
{
    const vy_program *p = x->w.p;
    for (uint32_t k = 0; k < p->args.count; k++) {
        const uint32_t a = p->args.data[k], at = VY_LEAF_INDEX(a);
        if (!VY_IS_LEAF(a) || p->leaves.data[at].kind != VY_LEAF_BUILTIN || x->value[at]) continue;
        x->value[at] = at_point(x, &p->leaves.data[at]).id;
    }
}

// g->r over the invocations of its launch, in which num_groups is not a scalar yet.  NULL: memory,
// an error, or it cannot be one.
static vy_program *version_of(gather *g, grid *x)
{
    vy_pass_context c = {0};
    const bool ok = vy_rewrite_begin(&x->w, g->r);
    const bool can = ok && find_axes(x, g->r);
    x->value = can ? vy_rewrite_table(&x->w, (g->r->leaves.count + 1) * sizeof *x->value) : NULL;
    if (x->value && vy_rewrite_open(&x->w)) {
        declare_domain(x);
        find_values(x);
        vy_rewrite_range(&x->w, 1, g->r->insts.count, with_places, x);
    }
    vy_program *p = vy_rewrite_take(&x->w, ok && (x->value || !can));
    if (!p || (vy_pass_cleanup(p, &c) && vy_pass_dce(p, &c))) return p;
    g->failed = true;
    vy_program_free(p);
    return NULL;
}

// Is all of it gathered?  It is asked of the program that it becomes as a stage.
static bool is_gathered(gather_versions *all, const vy_program *version, gather_one *one)
{
    gather *g = all->g;
    uint32_t taken[3];
    vy_program *stage = vy_program_clone(version, g->m);
    bool ok = stage && vy_stage_take_groups(g->m, g->r, stage, taken) && vy_check_program(stage);
    g->failed |= !ok;
    gather_probe found = {0};
    if (ok) found = gather_probe_version(all, stage, true, one);
    g->keeps = found.keeps;
    vy_program_free(stage);
    return found.all;
}

// -------------------------------------------------------------------------------------- conditions
// That the launch is one of the domain: 1 where it is, else 0.
static vy_dim require(gather *g, const grid *x)
{
    g->assume_count = 0; // of workgroups nothing can be stated
    for (uint32_t axis = 0; axis < 3 && !g->failed; axis++) {
        const vy_dim one = gather_number(g, 1), n = gather_groups_along(g, axis);
        if (g->failed) break;
        const vy_dim places = gather_all_along(g, axis);
        const vy_dim all = x->has[axis] ? places : n;
        const int64_t most = x->has[axis] ? GATHER_GRID : 1;
        const vy_dim last = gather_number(g, most), end = gather_number(g, most + 1);
        gather_require(g, all, last, gather_less(g, all, end));
        if (x->has[axis] || g->failed) continue;
        const vy_dim zero = gather_number(g, 0);
        gather_require(g, one, n, gather_less(g, zero, n));
    }
    return g->launch.holds;
}

static bool note(const gather *g, const gather_launch *launch, const char *otherwise)
{
    const uint32_t n = launch->count;
    for (uint32_t k = 0; k < n; k++) {
        if (!vy_condition_note(g->m, launch->condition[k])) return false;
        if (g->notes && !gather_note_version(g, launch->condition[n - 1 - k], otherwise))
            return false;
    }
    return true;
}

// --------------------------------------------------------------------------------------- the whole
// Puts both in the place of the whole.
static bool replace(gather_versions *all, const grid *x, vy_program *version, gather_one *one)
{
    static const char *const names[] = {"atomic", "grid"};
    gather *g = all->g, launch = *g;
    launch.arena = (vy_arena){0};
    const vy_dim holds = require(&launch, x);
    vy_program *as_it_is = vy_program_clone(g->r, g->m);
    g->failed |= launch.failed || !as_it_is;
    bool ok = !g->failed;
    if (ok)
        gather_take_version(all, as_it_is, gather_else(g, holds));
    else
        vy_program_free(as_it_is);
    if (ok)
        gather_take_version(all, version, holds);
    else
        vy_program_free(version);
    ok = ok && !g->failed && gather_replace_by_versions(all, names, one) &&
         note(g, &launch.launch, all->name[0]);
    vy_arena_free(&launch.arena);
    return ok;
}

bool gather_by_groups(gather *begin, gather_one *one, bool *done)
{
    gather g = *begin;
    grid x = {0};
    gather_versions all = {.g = &g, .general = true, .bare = true};
    *done = false;
    vy_program *version = begin->meets ? NULL : version_of(&g, &x);
    bool ok = true;
    if (version && gather_has_additions(version) && is_gathered(&all, version, one)) {
        *done = true;
        ok = replace(&all, &x, version, one);
    } else {
        vy_program_free(version);
    }
    gather_free_versions(&all);
    vy_arena_free(&g.arena);
    return ok && !g.failed && vy_module_ok(g.m);
}
