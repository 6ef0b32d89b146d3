// SPDX-License-Identifier: MIT
// iteration_domain.c: the iteration domain of an instruction as a set: the ranges of domain
// variables and loop counters, and the conditions under which the instruction is reached.
//
//   over(i: N) { for k in 0..i { if k > 0 { … } } }
//   { [i, k] : 0 <= i < N and 0 <= k < i and k > 0 }
//
// Data-dependent conditions are over-approximated, and the `if` is recorded as inexact.  So are, on
// request, conditions that exclude only points where two numbers are equal.
#include "autodiff/affine/nest_memo.h"
#include "autodiff/affine/single.h"
#include "ir/core/flow.h"

#include <stdio.h>
#include <string.h>

typedef struct chain {
    uint32_t *opener; // around the place, outermost first
    uint32_t count;
} chain;

static bool make_chain(vy_nest *n, chain *c)
{
    const vy_structure *s = n->a->s;
    c->count = s->depth[n->place];
    c->opener = vy_arena_alloc(&n->a->arena, (c->count + 1) * sizeof *c->opener);
    if (!c->opener) return false;
    uint32_t at = c->count;
    for (uint32_t up = s->parent[n->place]; up && at; up = s->parent[up]) c->opener[--at] = up;
    return true;
}

// -------------------------------------------------------------------------------------- dimensions
// Gives dimension k a name that no earlier dimension has.
static void name_dimension(vy_nest *n, uint32_t k, const char *name)
{
    char text[48];
    snprintf(text, sizeof text, "%.40s", *name ? name : "k");
    for (uint32_t j = 0, number = 2; j < k; j++) {
        const char *other = isl_space_get_dim_name(n->space, isl_dim_set, j);
        if (!other || strcmp(other, text) != 0) continue;
        snprintf(text, sizeof text, "%.30s_%u", *name ? name : "k", number++);
        j = UINT32_MAX; // restart from the first
    }
    isl_id *id = isl_id_alloc(n->a->ctx, text, NULL);
    n->space = vy_isl_space_set_dim_id(n->space, isl_dim_set, k, id);
}

// The space of the domain variables and the `loops` outermost loops of the chain.
static bool make_space(vy_nest *n, const chain *c, uint32_t loops)
{
    const vy_program *p = n->a->p;
    n->overs = p->overs.count;
    n->count = n->overs;
    for (uint32_t k = 0; k < c->count && loops; k++)
        if (p->insts.data[c->opener[k]].op == VY_OP_LOOP) {
            n->loop[n->count++] = c->opener[k];
            loops--;
        }
    isl_space_free(n->space);
    n->space = vy_isl_space_set_alloc(n->a->ctx, 0, n->count);
    for (uint32_t k = 0; k < n->count; k++) {
        const char *name = k < n->overs
                               ? p->overs.data[k].name
                               : vy_string(&p->module->names, p->insts.data[n->loop[k]].name);
        name_dimension(n, k, name);
    }
    isl_set_free(n->domain);
    n->domain = vy_affine_within(vy_isl_set_universe(isl_space_copy(n->space)),
                                 isl_set_copy(n->a->context));
    return n->space && n->domain;
}

static void constrain(vy_nest *n, isl_set *set)
{
    n->domain = vy_isl_set_intersect(n->domain, set);
    vy_affine_weigh(n->a, n->domain);
}

// Of an extent (w + 1) / 2, which is a parameter if w + 1 may be negative: where the variable has a
// value at all w + 1 is positive, and twice the next value is at most that.
static void add_quotient(vy_nest *n, uint32_t k)
{
    const vy_program *p = n->a->p;
    const vy_dim_node *d = &p->dims.data[p->overs.data[k].extent.id];
    const vy_dim_node *by = d->op == VY_DIM_DIV ? &p->dims.data[d->b] : NULL;
    if (!n->a->quotients || !by || by->op != VY_DIM_CONST || by->value < 2 || by->value > 1 << 20)
        return;
    vy_number of = vy_affine_dim_number(n->a, isl_space_copy(n->space), d->a);
    isl_pw_aff *v = vy_isl_variable(isl_space_copy(n->space), isl_dim_set, k);
    v = vy_isl_pw_aff_scale_val(vy_isl_pw_aff_add_constant_val(v, 1), by->value);
    constrain(n, vy_affine_at_least(of.pa, v));
}

static void add_over(vy_nest *n, uint32_t k)
{
    vy_number extent =
        vy_affine_dim_number(n->a, isl_space_copy(n->space), n->a->p->overs.data[k].extent.id);
    n->domain = vy_isl_set_lower_bound_si(n->domain, isl_dim_set, k, 0);
    constrain(n, vy_affine_less(vy_nest_axis(n, k), extent.pa));
    n->range[k] = (vy_interval){0, vy_affine_most_extent(n->a, k)};
    if (extent.range.hi < n->range[k].hi) n->range[k].hi = extent.range.hi;
}

// Where a loop begins is a maximum of numbers that the counter reaches, where it ends a minimum:
//
//   for k in max(0, pad - y)..min(size, width - y)
//
// A constraint for each is a conjunction; the maximum itself would be a case for each of them, and
// the bounds of several loops the product of their cases.
enum { BOUND_DEPTH = 4 }; // of maxima in each other

// Constrains counter k by the bound `id`, lower or upper, and says in *range where that is.
// False: it is not affine, and n->why says why.  An upper bound suffices where another operand of a
// minimum is not affine, as in `for k in 0..min(8, n / w)`: then the loop may end *early.
static bool bound(vy_nest *n, uint32_t k, uint32_t id, bool lower, int depth, bool *early,
                  vy_interval *range)
{
    const vy_program *p = n->a->p;
    const vy_op op = lower ? VY_OP_MAX : VY_OP_MIN;
    if (depth && !VY_IS_LEAF(id) && p->insts.data[id].op == op) {
        vy_interval x, y;
        const bool first = bound(n, k, vy_arg(p, id, 0), lower, depth - 1, early, &x);
        if (!first && lower) return false;
        const bool second = bound(n, k, vy_arg(p, id, 1), lower, depth - 1, early, &y);
        *early |= first != second;
        if (!first || !second || !vy_interval_exactly(op, x, y, range)) *range = first ? x : y;
        return lower ? second : first || second;
    }
    const vy_number v = vy_affine_number(n, id, &n->why);
    if (!v.pa) return false;
    *range = v.range;
    constrain(n, lower ? vy_affine_at_least(vy_nest_axis(n, k), v.pa)
                       : vy_affine_less(vy_nest_axis(n, k), v.pa));
    return true;
}

// k − from is a multiple of the step.
static bool stride(vy_nest *n, uint32_t k, uint32_t from, int64_t step)
{
    const vy_number v = vy_affine_number(n, from, &n->why);
    if (!v.pa) return false;
    isl_pw_aff *iterations = vy_isl_pw_aff_sub(vy_nest_axis(n, k), v.pa);
    constrain(n,
              vy_isl_pw_aff_eq_set(vy_isl_pw_aff_mod_val(iterations, step), vy_nest_number(n, 0)));
    return true;
}

// from ≤ k < to, and k − from a multiple of the step.  It may end *early.
static bool add_loop(vy_nest *n, uint32_t k, bool *early)
{
    const vy_program *p = n->a->p;
    const uint32_t loop = n->loop[k];
    int64_t step;
    if (vy_exits(p, loop)) {
        n->why = VY_AFFINE_DATA;
        return false;
    }
    if (!vy_id_int(p, vy_arg(p, loop, 2), &step) || step < 1) {
        n->why = VY_AFFINE_PRODUCT;
        return false;
    }
    vy_interval from, to;
    *early = false;
    if (!bound(n, k, vy_arg(p, loop, 0), true, BOUND_DEPTH, early, &from)) return false;
    if (!bound(n, k, vy_arg(p, loop, 1), false, BOUND_DEPTH, early, &to)) return false;
    n->range[k] = vy_interval_counter(vy_id_type(p, loop), from, to);
    return step == 1 || stride(n, k, vy_arg(p, loop, 0), step);
}

// -------------------------------------------------------------------------------------- conditions
// Adds the conjuncts of the condition that are affine.  False: some are not.
static bool add_conjuncts(vy_nest *n, uint32_t cond, bool holds, int depth)
{
    const vy_program *p = n->a->p;
    vy_affine_why why;
    isl_set *set = vy_affine_condition(n, cond, holds, &why);
    if (set) {
        constrain(n, set);
        return true;
    }
    if (VY_IS_LEAF(cond) || depth == 0) return false;
    vy_op op = (vy_op)p->insts.data[cond].op;
    if (op == VY_OP_NOT) return add_conjuncts(n, vy_arg(p, cond, 0), !holds, depth - 1);
    if (op == (holds ? VY_OP_AND : VY_OP_OR)) {
        bool a = add_conjuncts(n, vy_arg(p, cond, 0), holds, depth - 1);
        return add_conjuncts(n, vy_arg(p, cond, 1), holds, depth - 1) && a;
    }
    return false;
}

// Is the condition x ≠ y of integers, or a conjunction of such?
static bool is_hole(const vy_nest *n, uint32_t cond, bool holds, int depth)
{
    const vy_program *p = n->a->p;
    if (VY_IS_LEAF(cond) || depth == 0) return false;
    vy_op op = (vy_op)p->insts.data[cond].op;
    if (op == (holds ? VY_OP_NE : VY_OP_EQ))
        return vy_type_is_integer(vy_id_type(p, vy_arg(p, cond, 0)));
    if (op == VY_OP_NOT) return is_hole(n, vy_arg(p, cond, 0), !holds, depth - 1);
    if (op == (holds ? VY_OP_AND : VY_OP_OR))
        return is_hole(n, vy_arg(p, cond, 0), holds, depth - 1) &&
               is_hole(n, vy_arg(p, cond, 1), holds, depth - 1);
    // `if a { b } else { false }`
    uint32_t then, other, opener = holds ? vy_choice(p, n->a->s, cond, &then, &other) : 0;
    const vy_scalar *no = opener ? vy_id_const(p, other) : NULL;
    return no && !no->u && is_hole(n, vy_arg(p, opener, 0), true, depth - 1) &&
           is_hole(n, then, true, depth - 1);
}

// Adds bounds and conditions from the outside in.  False: a loop that was to be a dimension cannot
// be one; *done is how many outer ones can.
static bool add_chain(vy_nest *n, const chain *c, uint32_t *done)
{
    const vy_program *p = n->a->p;
    uint32_t next = n->overs;
    n->inexact_count = 0;
    n->inner = 0;
    for (uint32_t k = 0; k < n->overs; k++) {
        add_over(n, k);
        add_quotient(n, k);
    }
    for (uint32_t k = 0; k < c->count; k++) {
        uint32_t opener = c->opener[k];
        vy_op op = (vy_op)p->insts.data[opener].op;
        if (op == VY_OP_CHECKPOINT && !n->inner) continue;
        if (vy_is_loop(op) && !n->inner && next < n->count && n->loop[next] == opener) {
            bool early = false;
            *done = next - n->overs;
            if (!add_loop(n, next, &early)) return false;
            if (early) n->inexact[n->inexact_count++] = opener;
            next++;
            continue;
        }
        if (vy_is_loop(op) && !n->inner) n->inner = opener;
        bool then = vy_in_then(n->a->s, opener, n->place);
        bool exact = op == VY_OP_IF && !n->inner &&
                     !(n->a->holes && is_hole(n, vy_arg(p, opener, 0), then, 4)) &&
                     add_conjuncts(n, vy_arg(p, opener, 0), then, 4);
        if (!exact) n->inexact[n->inexact_count++] = opener;
    }
    return true;
}

bool vy_nest_make(vy_nest *n, vy_affine *a, uint32_t place, uint32_t levels)
{
    enum { MAX_DIMS = 10 };
    *n = (vy_nest){.a = a, .place = place};
    chain c;
    uint32_t room = a->p->overs.count < MAX_DIMS ? MAX_DIMS - a->p->overs.count : 0;
    if (levels > room) levels = room;
    if (!make_chain(n, &c)) {
        a->failed = true;
        return false;
    }
    size_t most = a->p->overs.count + c.count + 1;
    n->loop = vy_arena_alloc(&a->arena, most * sizeof *n->loop);
    n->range = vy_arena_alloc(&a->arena, most * sizeof *n->range);
    n->inexact = vy_arena_alloc(&a->arena, most * sizeof *n->inexact);
    a->failed |= !n->loop || !n->range || !n->inexact;
    if (a->failed) return false;
    uint32_t loops = 0; // candidate dimensions: those before the first that cannot be one
    for (uint32_t k = 0; k < c.count && loops < levels; k++) {
        vy_op op = (vy_op)a->p->insts.data[c.opener[k]].op;
        if (op == VY_OP_WHILE) {
            n->why = VY_AFFINE_DATA;
            break;
        }
        loops += op == VY_OP_LOOP;
    }
    vy_affine_limit(a, a->p->overs.count + loops);
    const vy_nest_key key = vy_nest_key_of(n, c.opener, c.count, levels);
    if (!key.words) return false;
    if (vy_nest_recall(n, key, c.opener, c.count)) return true;
    do {
        if (!make_space(n, &c, loops)) return false;
    } while (!add_chain(n, &c, &loops));
    n->domain = vy_affine_within(n->domain, isl_set_copy(a->context));
    n->domain = vy_isl_set_coalesce(n->domain);
    if (n->domain) vy_nest_remember(n, key, c.opener, c.count);
    return n->domain && !a->failed;
}

bool vy_nest_ends_early(const vy_nest *n)
{
    for (uint32_t k = 0; k < n->inexact_count; k++)
        if (vy_nest_dim(n, n->inexact[k]) >= 0) return true;
    return false;
}

void vy_nest_free(vy_nest *n)
{
    isl_space_free(n->space);
    isl_set_free(n->domain);
    n->space = NULL;
    n->domain = NULL;
}
