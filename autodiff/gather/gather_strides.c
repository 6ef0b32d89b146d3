// SPDX-License-Identifier: MIT
// gather_strides.c: what indices of a buffer are multiples of, and which of two strides is the
// inner one, where nothing proves it.
//
//   a[(z / 4 * S + y * w + x) * 4 + z % 4]       4·S, 4·w, 1
//
// Hosts declare the scalar of an inner stride first: w before cstep, nb1 before nb2.  Of the parts
// of one vector, stride.x and stride.y, that says nothing: there the domain does,
//
//   over(z: d, y: h, x: w)     a[z * stride.x + y * stride.y + x * stride.z]
//
// as what is computed in that order is mostly stored so.  A stride that another is a multiple of is
// the inner one in any case.  Of another order only the condition does not hold.
#include "autodiff/affine/flat_terms.h"
#include "autodiff/gather/gather_build.h"
#include "ir/core/divisor.h"

#include <string.h>

enum {
    MOST_SITES = 64,         // of a buffer
    MOST_CONSTANT = 1 << 20, // in a stride
};

// ----------------------------------------------------------------------------------------- strides
// Of the terms of one product the stride is the greatest that they all are multiples of: it is at
// most 1 for what has no factors.
static bool add_stride(vy_affine_rows *r, const vy_flat_term *t)
{
    const int64_t constant = t->count && t->constant <= MOST_CONSTANT ? t->constant : 1;
    uint32_t k = 0;
    if (t->count > VY_ROW_FACTORS) return false;
    while (k < r->axes && (r->axis[k].count != t->count ||
                           !vy_same_factors(r->axis[k].factor, t->factor, t->count)))
        k++;
    if (k == VY_ROW_AXES) return false;
    vy_affine_axis *x = &r->axis[k];
    if (k == r->axes) {
        memcpy(x->factor, t->factor, t->count * sizeof *t->factor);
        x->count = t->count;
        r->axes++;
    }
    x->constant = vy_common_divisor(constant, x->constant);
    return true;
}

bool gather_terms_of(const gather *g, const gather_site *site, vy_flat_terms *t)
{
    const uint32_t index = vy_arg(g->r, site->id, 0);
    return vy_type_size(vy_id_type(g->r, index)) >= 4 &&
           vy_flat_terms_of(&g->a, site->id, index, t);
}

// Is the term a multiple of what the launch decides, and of nothing else?  As a multiple of 1.
static bool is_step(const gather *g, const vy_flat_term *t, vy_flat_term *step)
{
    *step = *t;
    step->count = 1;
    return !t->count && t->value && vy_flat_constant(&g->a, t->value, &step->factor[0]);
}

// Is what the term adds by itself a quotient, or what a place multiplies by a greater constant?
// (Anything else may as well be an offset within a row.)
static bool needs_step(const gather *g, uint32_t buffer, const vy_flat_term *t)
{
    vy_flat_term step;
    vy_flat_terms all;
    if (!is_step(g, t, &step)) return false;
    bool needs = g->r->dims.data[step.factor[0].base].op == VY_DIM_DIV;
    for (uint32_t k = 0; k < g->site_count && !needs; k++) {
        if (g->sites[k].access.buffer != buffer || !gather_terms_of(g, &g->sites[k], &all))
            continue;
        for (uint32_t i = 0; i < all.count && !needs; i++)
            needs = all.term[i].count == 1 && all.term[i].constant > step.constant &&
                    vy_same_form(all.term[i].factor[0], step.factor[0]);
    }
    return needs;
}

bool gather_has_steps(const gather *g, uint32_t buffer)
{
    vy_flat_terms t;
    bool any = false;
    for (uint32_t k = 0; k < g->site_count && !any; k++) {
        if (g->sites[k].access.buffer != buffer || !gather_terms_of(g, &g->sites[k], &t)) continue;
        for (uint32_t i = 0; i < t.count && !any; i++) any = needs_step(g, buffer, &t.term[i]);
    }
    return any;
}

// Of a[i + n / 4] the step n / 4 is a stride, where r says so.
static bool add_step(const gather *g, vy_affine_rows *r, const vy_flat_term *t)
{
    vy_flat_term step;
    return !r->steps || !needs_step(g, r->buffer, t) || !is_step(g, t, &step) ||
           add_stride(r, &step);
}

bool gather_find_strides(const gather *g, vy_affine_rows *r)
{
    vy_flat_terms t;
    uint32_t places = 0;
    const vy_flat_term one = {.count = 0};
    for (uint32_t k = 0; k < g->site_count; k++) {
        if (g->sites[k].access.buffer != r->buffer) continue;
        if (places++ == MOST_SITES || !gather_terms_of(g, &g->sites[k], &t)) return false;
        for (uint32_t i = 0; i < t.count; i++)
            if ((t.term[i].count && !add_stride(r, &t.term[i])) || !add_step(g, r, &t.term[i]))
                return false;
    }
    return r->axes && add_stride(r, &one);
}

// ------------------------------------------------------------------------------------------- order

// The last scalar that a stride is a product of, or of quotients of it, from 1; 0: there is none.
// *divided: it is a quotient.
static uint32_t last_scalar(const vy_program *p, const vy_affine_axis *x, bool *divided)
{
    uint32_t last = 0;
    for (uint32_t k = 0; k < x->count; k++) {
        const vy_dim_node *d = &p->dims.data[x->factor[k].base];
        const bool quotient = d->op == VY_DIM_DIV;
        if (quotient) d = &p->dims.data[d->a];
        if (d->op != VY_DIM_SCALAR || d->value < last) continue;
        last = (uint32_t)d->value + 1;
        *divided = quotient;
    }
    return last;
}

// Are scalars x and y, from 1, parts of one vector or array?
static bool are_parts(const vy_program *p, uint32_t x, uint32_t y)
{
    const char *a = x ? p->scalars.data[x - 1].name : "", *b = y ? p->scalars.data[y - 1].name : "";
    const char *part = strrchr(a, '.');
    return part && part[1] >= '0' && part[1] <= '9' && !strncmp(a, b, (size_t)(part + 1 - a)) &&
           !strchr(b + (part + 1 - a), '.');
}

static uint32_t without_casts(const vy_program *p, uint32_t id)
{
    while (!VY_IS_LEAF(id) &&
           (p->insts.data[id].op == VY_OP_BITCAST || p->insts.data[id].op == VY_OP_CAST))
        id = vy_arg(p, id, 0);
    return id;
}

// The innermost variable of the domain that is multiplied by the stride, from 1; 0: there is none.
static uint32_t variable(const gather *g, const vy_affine_rows *r, uint32_t axis)
{
    uint32_t innermost = 0;
    vy_flat_terms t;
    for (uint32_t k = 0; k < g->site_count; k++) {
        const gather_site *site = &g->sites[k];
        if (site->access.buffer != r->buffer ||
            !vy_flat_terms_of(&g->a, site->id, vy_arg(g->r, site->id, 0), &t))
            continue;
        for (uint32_t i = 0; i < t.count; i++) {
            const uint32_t id = without_casts(g->r, t.term[i].value);
            const vy_leaf *l = VY_IS_LEAF(id) ? &g->r->leaves.data[VY_LEAF_INDEX(id)] : NULL;
            if (l && l->kind == VY_LEAF_OVER && l->index >= innermost &&
                vy_row_of(r, &t.term[i]) == (int)axis)
                innermost = l->index + 1;
        }
    }
    return innermost;
}

// Is y a multiple of x, by more factors?
static bool divides(const vy_affine_axis *x, const vy_affine_axis *y)
{
    uint32_t used = 0, k = 0;
    for (; k < x->count; k++) {
        uint32_t j = 0;
        while (j < y->count && (used >> j & 1 || !vy_same_form(x->factor[k], y->factor[j]))) j++;
        if (j == y->count) return false;
        used |= 1u << j;
    }
    return x->count < y->count;
}

bool gather_is_inner(const gather *g, const vy_affine_rows *r, uint32_t x, uint32_t y)
{
    if (divides(&r->axis[x], &r->axis[y])) return true;
    if (divides(&r->axis[y], &r->axis[x])) return false;
    bool quotient = false, of = false;
    const uint32_t a = last_scalar(g->r, &r->axis[x], &quotient),
                   b = last_scalar(g->r, &r->axis[y], &of);
    if (a == b && quotient != of) return quotient;
    if (!are_parts(g->r, a, b)) return a < b;
    const uint32_t u = variable(g, r, x), v = variable(g, r, y);
    return u && v && u != v ? u > v : a < b;
}
