// SPDX-License-Identifier: MIT
// gather_split.c: see gather_split.h.  Flat indices of a domain that the program takes apart.
//
//   over(i: W * H) { let y = i / W;  let x = i % W;  … a[x * H + y] … }
//
// A quotient by a number that only the launch knows is not affine, so the additions would stay
// atomic.  With a variable for each coordinate all of that is affine, and i is y * W + x.  So the
// reverse program is analysed, and gathered, over(y: H, x: W).  What is left of it has one variable
// again, and is launched as the program is.
//
// Where the extent is no product with the strides, over(i: n), there are ⌈n / W⌉ rows, and a
// condition y * W + x < n around everything.  That rows are not empty, and that there is one, holds
// at launch, or the reverse program runs as it is (gather_either.c).
#include "autodiff/gather/gather_split.h"

#include "ir/build/rewrite.h"
#include "ir/check/check.h"
#include "ir/pass/pass.h"
#include "ir/text/print.h"

#include <stdio.h>
#include <string.h>

// ----------------------------------------------------------------------------------------- extents
static vy_dim factor_dim(gather *g, vy_extent e)
{
    const vy_dim base = {e.base};
    return e.offset ? gather_node(g, VY_DIM_ADD, base, gather_number(g, e.offset)) : base;
}

// safe: as a number that cannot overflow, else as it reads.
static vy_dim stride_dim(gather *g, const gather_stride *s, bool safe)
{
    vy_dim d = {0};
    if (!s->count || s->constant != 1) d = gather_number(g, s->constant);
    for (uint32_t k = 0; k < s->count && !g->failed; k++)
        d = gather_times(g, d, factor_dim(g, s->factor[k]), safe);
    return d;
}

// The factors of a dimension; false: it has another form, or too many.
static bool factors_of(const gather_splitting *s, uint32_t dim, gather_stride *out)
{
    const vy_dim_node *d = &s->p->dims.data[dim];
    if (d->op == VY_DIM_MUL) return factors_of(s, d->a, out) && factors_of(s, d->b, out);
    if (d->op == VY_DIM_CONST) {
        out->constant *= d->value;
        return d->value > 0 && d->value < INT32_MAX && out->constant < INT32_MAX;
    }
    if (out->count == VY_ROW_FACTORS) return false;
    out->factor[out->count++] = s->a.facts.form[dim];
    return s->a.facts.form[dim].base != VY_NO_BASE;
}

// May the factor be less than 1, in a launch whose domain is not empty?
static bool may_be_zero(const gather_splitting *s, vy_extent e)
{
    const vy_dim_node *d = &s->p->dims.data[e.base];
    return s->guarded || d->op != VY_DIM_SCALAR ||
           vy_type_is_signed(s->p->scalars.data[d->value].type);
}

// Extents of the parts, and whether the last row may not be full.
static bool find_extents(gather_splitting *s)
{
    gather *g = s->g;
    gather_stride rows = {.constant = 1}, ratio;
    const uint32_t last = s->count - 1;
    const vy_dim all = s->p->overs.data[s->over].extent;
    if (gather_is_open(s->p, all.id)) return false;
    for (uint32_t k = 0; k < last; k++)
        s->extent[k] = gather_stride_ratio(&s->stride[k], &s->stride[k + 1], &ratio)
                           ? stride_dim(g, &ratio, false)
                           : (vy_dim){0};
    s->guarded =
        !factors_of(s, all.id, &rows) || !gather_stride_ratio(&s->stride[last], &rows, &ratio);
    if (!s->guarded) {
        s->extent[last] = stride_dim(g, &ratio, false);
        return !g->failed;
    }
    const vy_dim one = gather_number(g, 1);
    const vy_dim row = gather_node(g, VY_DIM_MAX, stride_dim(g, &s->stride[last], true), one);
    const vy_dim more = gather_node(g, VY_DIM_SUB, gather_node(g, VY_DIM_ADD, all, row), one);
    s->extent[last] = gather_node(g, VY_DIM_DIV, more, row);
    return !g->failed;
}

// -------------------------------------------------------------------------------------- conditions
// That no stride is 0; where the last row may not be full, that there is one.
static void find_conditions(gather_splitting *s)
{
    gather *g = s->g;
    const gather_stride *row = &s->stride[s->count - 1];
    const vy_dim one = gather_number(g, 1), all = s->p->overs.data[s->over].extent;
    gather_require_numbers(s);
    for (uint32_t k = 0; k < row->count && !g->failed; k++) {
        if (!may_be_zero(s, row->factor[k])) continue;
        const vy_dim f = factor_dim(g, row->factor[k]);
        gather_require(g, one, f, gather_less(g, gather_number(g, 0), f));
    }
    if (!s->guarded || g->failed) return;
    const vy_dim more = gather_node(g, VY_DIM_ADD, all, one);
    const vy_dim fits = gather_less(g, stride_dim(g, row, true), more);
    gather_require(g, stride_dim(g, row, false), all, fits);
}

// --------------------------------------------------------------------------------------- rewriting
typedef struct splitting {
    vy_rewrite w;
    const gather_splitting *s;
    uint32_t *variable; // by old domain variable
    vy_value part[GATHER_PARTS];
} splitting;

static uint32_t over_leaf(vy_builder *b, uint32_t k)
{
    return vy_leaf_other(b, VY_LEAF_OVER, VY_U32, k, 0);
}

// What a part is, from the variables of its strides.
static vy_value part_value(splitting *x, gather_part part)
{
    const uint32_t high = part.high == GATHER_OPEN ? x->s->count : part.high;
    return gather_number_of(x->s, x->w.b, x->part, part.low, high);
}

static uint32_t split_copy(void *pass, uint32_t id)
{
    splitting *x = pass;
    vy_builder *b = x->w.b;
    const vy_program *p = x->w.p;
    vy_rewrite_at(&x->w, id);
    if (x->s->part[id].is) {
        vy_value v = part_value(x, x->s->part[id]);
        const vy_type t = (vy_type)p->insts.data[id].type;
        if (t != VY_U32) v = vy_bitcast(b, t, v);
        vy_rewrite_as(&x->w, id, v.id);
        return id;
    }
    if (gather_signs_differ(x->s, id)) {
        x->w.map[id] = vy_bool(b, false).id;
        return id;
    }
    vy_rewrite_copy_over(&x->w, id, x->variable);
    return id;
}

// The name of the variable of part k: that of the first value that it is.
static const char *part_name(const gather_splitting *s, uint32_t k, vy_program *q)
{
    char text[64];
    const char *name = NULL;
    const uint32_t high = k + 1 == s->count ? GATHER_OPEN : k + 1;
    for (uint32_t id = 1; id < s->p->insts.count && !name; id++)
        if (s->part[id].is && s->part[id].low == k && s->part[id].high == high &&
            s->p->insts.data[id].name)
            name = vy_string(&s->p->module->names, s->p->insts.data[id].name);
    if (!name || !*name) name = s->p->overs.data[s->over].name;
    snprintf(text, sizeof text, "%.40s", name);
    for (uint32_t n = 2; !gather_is_free(q, text, q->overs.count); n++)
        snprintf(text, sizeof text, "%.40s_%u", name, n);
    return vy_arena_strdup(&q->module->arena, text, strlen(text));
}

static bool add_over(splitting *x, vy_over_var v)
{
    if (v.name && vy_vec_push(&vy_builder_program(x->w.b)->overs, v)) return true;
    x->w.oom = true;
    return false;
}

// The domain variables of the new program, outermost parts first.
static void declare(splitting *x)
{
    const gather_splitting *s = x->s;
    vy_program *q = vy_builder_program(x->w.b);
    q->overs.count = 0;
    for (uint32_t k = 0; k < s->p->overs.count; k++) {
        if (k != s->over) {
            x->variable[k] = over_leaf(x->w.b, q->overs.count);
            if (!add_over(x, s->p->overs.data[k])) return;
            continue;
        }
        for (uint32_t i = s->count; i-- > 0;) {
            x->part[i] = (vy_value){over_leaf(x->w.b, q->overs.count)};
            if (!add_over(x, (vy_over_var){part_name(s, i, q), s->extent[i]})) return;
        }
    }
    x->variable[s->over] = part_value(x, (gather_part){.high = GATHER_OPEN, .is = true}).id;
}

static void split_body(splitting *x)
{
    const gather_splitting *s = x->s;
    vy_builder *b = x->w.b;
    if (s->guarded) {
        const vy_value end = vy_dim_number(b, s->p->overs.data[s->over].extent);
        vy_begin_if(b, vy_lt(b, (vy_value){x->variable[s->over]}, end).id);
    }
    vy_rewrite_range(&x->w, 1, s->p->insts.count, split_copy, x);
    if (s->guarded) vy_end_plain_if(b);
}

// Puts p, over coordinates, in the place of p.
static bool rewrite(gather_splitting *s, vy_program *p)
{
    splitting x = {.s = s};
    bool changed = false;
    vy_pass_context c = {0};
    bool ok = vy_rewrite_begin(&x.w, p);
    x.variable = ok ? vy_rewrite_table(&x.w, (p->overs.count + 1) * sizeof *x.variable) : NULL;
    if (x.variable && vy_rewrite_open(&x.w)) {
        declare(&x);
        if (!vy_rewrite_stopped(&x.w)) split_body(&x);
    }
    return vy_rewrite_end(&x.w, ok && x.variable, &changed) && vy_pass_cleanup(p, &c) &&
           vy_pass_dce(p, &c) && vy_check_program(p);
}

// --------------------------------------------------------------------------------------- the whole
// What the rest has to be given its variable back.
static bool remember(gather_splitting *s)
{
    gather_split *split = &s->g->split;
    gather_splitting *kept = vy_arena_alloc(&s->g->arena, sizeof *kept);
    const uint32_t n = s->p->overs.count;
    vy_over_var *before = vy_arena_alloc(&s->g->arena, (n + 1) * sizeof *before);
    if (!kept || !before) return false;
    memcpy(before, s->p->overs.data, n * sizeof *before);
    *kept = *s;
    kept->part = NULL;
    kept->before = before;
    kept->before_count = n;
    const vy_dim row = stride_dim(s->g, &s->stride[s->count - 1], false);
    split->all[split->count] = s->guarded
                                   ? gather_node(s->g, VY_DIM_MUL, s->extent[s->count - 1], row)
                                   : s->p->overs.data[s->over].extent;
    split->how[split->count++] = kept;
    split->guarded |= s->guarded;
    if (!split->whole) split->whole = vy_program_clone(s->g->r, s->g->m);
    return split->whole != NULL;
}

// *done: a variable became coordinates.
static bool split_one(gather *g, bool *done)
{
    gather_splitting s = {.g = g, .p = g->r};
    *done = false;
    if (!gather_find_parts(&s)) return !g->failed;
    if (g->r->overs.count + s.count - 1 > GATHER_PARTS || !find_extents(&s)) return !g->failed;
    find_conditions(&s);
    if (g->failed || !remember(&s)) return false;
    *done = true;
    return rewrite(&s, g->r);
}

bool gather_split_domain(gather *g)
{
    bool done = !vy_uses_leaf(g->r, VY_LEAF_BUILTIN), ok = true;
    while (ok && done && g->split.count < GATHER_SPLITS) ok = split_one(g, &done);
    return ok;
}

// --------------------------------------------------------------------------------- and back again
// Part k of the only variable.
static uint32_t coordinate(const gather_splitting *s, vy_builder *b, vy_value all, uint32_t k)
{
    gather_stride ratio;
    vy_value v = all;
    if (k) {
        const vy_value low = gather_stride_value(b, &s->stride[k]);
        v = vy_div(b, all, low);
    }
    if (k + 1 < s->count && gather_stride_ratio(&s->stride[k], &s->stride[k + 1], &ratio)) {
        const vy_value size = gather_stride_value(b, &ratio);
        v = vy_rem(b, v, size);
    }
    return v.id;
}

static uint32_t join_copy(void *pass, uint32_t id)
{
    splitting *x = pass;
    vy_rewrite_copy_over(&x->w, id, x->variable);
    return id;
}

// The variables of a program over coordinates, from those of the domain as it was.
static void join_variables(splitting *x)
{
    const gather_splitting *s = x->s;
    vy_program *q = vy_builder_program(x->w.b);
    uint32_t at = 0;
    q->overs.count = 0;
    for (uint32_t k = 0; k < s->before_count; k++) {
        if (!add_over(x, s->before[k])) return;
        const vy_value v = {over_leaf(x->w.b, k)};
        if (k != s->over) x->variable[at++] = v.id;
        for (uint32_t i = s->count; k == s->over && i-- > 0;)
            x->variable[at++] = coordinate(s, x->w.b, v, i);
    }
}

static bool join_one(const gather_splitting *s, vy_program *p)
{
    splitting x = {.s = s};
    bool changed = false;
    bool ok = vy_rewrite_begin(&x.w, p);
    x.variable = ok ? vy_rewrite_table(&x.w, (p->overs.count + 1) * sizeof *x.variable) : NULL;
    if (x.variable && vy_rewrite_open(&x.w)) {
        join_variables(&x);
        vy_rewrite_range(&x.w, 1, p->insts.count, join_copy, &x);
    }
    if (!vy_rewrite_end(&x.w, ok && x.variable, &changed)) return false;
    for (uint32_t k = 0; k < p->leaves.count; k++) {
        vy_leaf *l = &p->leaves.data[k];
        if (l->kind == VY_LEAF_OVER && l->index >= p->overs.count) vy_leaf_drop(l);
    }
    return vy_check_program(p);
}

bool gather_join_domain(gather *g, vy_program *p)
{
    bool ok = true;
    for (uint32_t k = g->split.count; k-- > 0 && ok;) ok = join_one(g->split.how[k], p);
    return ok;
}
