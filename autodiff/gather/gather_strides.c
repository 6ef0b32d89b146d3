// SPDX-License-Identifier: MIT
// gather_strides.c: strides of flat indices; and which of two is the inner one, where nothing
// proves it.
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

#include <string.h>

enum { MOST_SITES = 64 }; // of a buffer

static bool add_stride(vy_affine_rows *r, const vy_flat_term *t)
{
    if (t->count > VY_ROW_FACTORS) return false;
    if (vy_row_of(r, t) >= 0) return true;
    if (r->axes == VY_ROW_AXES) return false;
    memcpy(r->axis[r->axes].factor, t->factor, t->count * sizeof *t->factor);
    r->axis[r->axes].times = 1;
    r->axis[r->axes++].count = t->count;
    return true;
}

bool gather_terms(const gather *g, const gather_site *site, vy_flat_terms *t)
{
    const uint32_t index = vy_arg(g->r, site->id, 0);
    return vy_type_size(vy_id_type(g->r, index)) >= 4 &&
           vy_flat_terms_of(&g->a, site->id, index, t);
}

static int64_t common_divisor(int64_t x, int64_t y)
{
    while (y) {
        const int64_t rest = x % y;
        x = y;
        y = rest;
    }
    return x;
}

// What all terms along an axis are multiplied by belongs to its stride: rows of 4 · M in 4 · k · M.
static void find_times(const gather *g, vy_affine_rows *r)
{
    int64_t times[VY_ROW_AXES] = {0};
    vy_flat_terms t;
    for (uint32_t k = 0; k < g->site_count; k++) {
        if (g->sites[k].access.buffer != r->buffer || !gather_terms(g, &g->sites[k], &t)) continue;
        vy_take_strides(&g->a, r, &t);
        for (uint32_t i = 0; i < t.count; i++) {
            const int axis = vy_row_of(r, &t.term[i]);
            if (axis >= 0) times[axis] = common_divisor(times[axis], t.term[i].constant);
        }
    }
    for (uint32_t k = 0; k < r->axes; k++)
        if (r->axis[k].count && times[k] > 1 && times[k] < 1 << 20) r->axis[k].times = times[k];
}

bool gather_find_strides(const gather *g, vy_affine_rows *r)
{
    vy_flat_terms t;
    uint32_t places = 0;
    const vy_flat_term one = {.count = 0};
    for (uint32_t k = 0; k < g->site_count; k++) {
        if (g->sites[k].access.buffer != r->buffer) continue;
        if (places++ == MOST_SITES || !gather_terms(g, &g->sites[k], &t)) return false;
        for (uint32_t i = 0; i < t.count; i++)
            if (t.term[i].count && !add_stride(r, &t.term[i])) return false;
    }
    const bool ok = r->axes && add_stride(r, &one);
    if (ok && g->owns) find_times(g, r);
    return ok;
}

// ------------------------------------------------------------------------------------------- order
// The last scalar that a stride is a product of, from 1; 0: there is none.
static uint32_t last_scalar(const vy_program *p, const vy_affine_axis *x)
{
    uint32_t last = 0;
    for (uint32_t k = 0; k < x->count; k++) {
        const vy_dim_node *d = &p->dims.data[x->factor[k].base];
        if (d->op == VY_DIM_SCALAR && d->value >= last) last = (uint32_t)d->value + 1;
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
    const uint32_t a = last_scalar(g->r, &r->axis[x]), b = last_scalar(g->r, &r->axis[y]);
    if (!are_parts(g->r, a, b)) return a < b;
    const uint32_t u = variable(g, r, x), v = variable(g, r, y);
    return u && v && u != v ? u > v : a < b;
}
