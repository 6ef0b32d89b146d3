// SPDX-License-Identifier: MIT
// flat.c: see flat.h.
//
// A product of two numbers that are not constant is not affine.  But x[(b * H + h) * W + w] has the
// strides H·W, W and 1, every term of it is a multiple of one of them, and with
//
//   b · H·W  +  h · W  +  w        →  [b, h, w]
//
// there is one element for each b, h, w if 0 <= w < W and 0 <= h < H wherever it is reached.
// The strides are
//
// - the factors of the extent, where that is f32[B * H * W].  If 0 <= b < B, too, the index is less
//   than the extent, so no intermediate result wrapped either.
// - those that a condition checked at launch makes strides (vy_affine_rows).
// - those of the index, where the extent is another: f32[n].  Then b has no other bound than those
//   of the places that reach the access, and the index must be proved not to wrap: where b < B, and
//   some buffer has B · H · W elements.  (Without that, 2^32 is a multiple of strides, and the
//   element of [b, h, w] may also be that of another b.)
#include "autodiff/affine/flat.h"
#include "autodiff/affine/flat_terms.h"
#include "ir/core/flow.h"

#include <string.h>

enum { MAX_FACTORS = VY_FLAT_FACTORS };

typedef struct factors {
    uint32_t node[MAX_FACTORS]; // dimension nodes, outermost first
    uint32_t count;
} factors;

static bool split_extent(const vy_program *p, uint32_t node, factors *f)
{
    const vy_dim_node *d = &p->dims.data[node];
    if (d->op == VY_DIM_MUL) return split_extent(p, d->a, f) && split_extent(p, d->b, f);
    if (f->count == MAX_FACTORS) return false;
    f->node[f->count++] = node;
    return true;
}

typedef struct flattening {
    vy_affine_access *x;
    vy_affine_access whole; // x as it was: its other indices, while those of the axes are summed
    factors f;
    const vy_affine_rows *rows; // or NULL
    vy_flat_terms terms;
} flattening;

// The axis whose stride is the product of t's factors: the extents of all later axes, in any order.
static int axis_of(const flattening *l, const vy_flat_term *t)
{
    const vy_affine *a = l->x->nest.a;
    if (t->count >= l->f.count) return -1;
    uint32_t axis = l->f.count - 1 - t->count, used = 0;
    for (uint32_t k = axis + 1; k < l->f.count; k++) {
        vy_extent e = a->facts.form[l->f.node[k]];
        uint32_t j = 0;
        while (j < t->count &&
               ((used >> j & 1) || t->factor[j].base != e.base || t->factor[j].offset != e.offset))
            j++;
        if (j == t->count) return -1;
        used |= 1u << j;
    }
    return (int)axis;
}

// Adds term t to its axis.
static bool add_to_axis(flattening *l, const vy_flat_term *t)
{
    vy_affine_access *x = l->x;
    vy_affine_why why;
    const int axis = l->rows ? vy_row_of(l->rows, t) : axis_of(l, t);
    if (axis < 0) return false;
    isl_pw_aff *v = l->rows ? vy_row_value(&x->nest, &l->rows->axis[axis], t, &why)
                            : vy_flat_value(&x->nest, t, &why);
    if (!v) {
        x->why[0] = why;
        return false;
    }
    x->index[axis] = x->index[axis] ? vy_isl_pw_aff_add(x->index[axis], v) : v;
    return true;
}

void vy_access_clear(vy_affine_access *x)
{
    for (uint32_t k = 0; k < VY_MAX_AXES; k++) {
        isl_pw_aff_free(x->index[k]);
        x->index[k] = NULL;
    }
}

// The indices by axis, from the terms.
static bool sum_terms(flattening *l)
{
    vy_affine_access *x = l->x;
    bool ok = true;
    for (uint32_t k = 0; k < l->terms.count && ok; k++) ok = add_to_axis(l, &l->terms.term[k]);
    for (uint32_t k = 0; k < l->f.count && ok; k++)
        if (!x->index[k]) x->index[k] = vy_nest_number(&x->nest, 0);
    return ok;
}

// Are the indices of all axes from `first` on in range?
static bool in_range(const flattening *l, uint32_t first)
{
    vy_affine_access *x = l->x;
    for (uint32_t k = first; k < l->f.count; k++) {
        isl_space *space = isl_space_copy(x->nest.space);
        if (vy_nest_inside(&x->nest, x->index[k],
                           vy_affine_dim(x->nest.a, space, (vy_dim){l->f.node[k]})))
            continue;
        x->why[0] = VY_AFFINE_WRAP;
        return false;
    }
    return true;
}

// Axis k of the buffer, after those recovered from its first.
static void take_other(vy_affine_access *x, const vy_affine_access *whole, uint32_t k)
{
    const uint32_t to = x->rank++;
    x->extent[to] = whole->extent[k];
    x->dim[to] = whole->dim[k];
    x->index[to] = whole->index[k];
    x->why[to] = whole->why[k];
    x->value[to] = whole->value[k];
}

static void take_axes(flattening *l, bool strided)
{
    vy_affine_access *x = l->x;
    x->flat = l->f.count;
    x->strided = strided;
    for (uint32_t k = 0; k < x->flat; k++) {
        x->dim[k] = (vy_dim){l->f.node[k]};
        x->extent[k] = x->nest.a->facts.form[l->f.node[k]];
        x->why[k] = VY_AFFINE_FINE;
        x->value[k] = 0;
    }
    x->rank = x->flat;
    for (uint32_t k = 1; k < l->whole.rank; k++) take_other(x, &l->whole, k);
}

// --------------------------------------------------------------------------- strides of the extent
static bool by_extent(flattening *l)
{
    const vy_affine *a = l->x->nest.a;
    l->f.count = 0;
    if (!split_extent(a->p, l->x->dim[0].id, &l->f) || l->f.count < 2 || !sum_terms(l) ||
        !in_range(l, 0)) {
        vy_access_clear(l->x);
        return false;
    }
    take_axes(l, false);
    return true;
}

// ---------------------------------------------------------------------------- strides of the index
static const vy_flat_term *with_factors(const flattening *l, uint32_t count)
{
    for (uint32_t k = 0; k < l->terms.count; k++)
        if (l->terms.term[k].count == count) return &l->terms.term[k];
    return NULL;
}

// Extents of the inner axes: W is the factor of some term, H what the next one has besides W.
static bool find_strides(flattening *l, uint32_t extent)
{
    uint32_t most = 0;
    for (uint32_t k = 0; k < l->terms.count; k++)
        if (most < l->terms.term[k].count) most = l->terms.term[k].count;
    if (most == 0 || most + 1 >= MAX_FACTORS) return false;
    l->f.count = most + 1;
    l->f.node[0] = extent;
    const vy_extent *inner = NULL;
    for (uint32_t n = 1; n <= most; n++) {
        const vy_flat_term *t = with_factors(l, n);
        const uint32_t k = t ? vy_other_factor(t->factor, inner, n - 1) : n;
        if (k >= n || t->factor[k].offset) return false;
        l->f.node[most + 1 - n] = t->factor[k].base;
        inner = t->factor;
    }
    return true;
}

// The forms of the factors of a buffer's extents, without constants; false: too many, or 0.
static bool factors_of(const vy_affine *a, const vy_buf *b, vy_extent *form, uint32_t *count)
{
    factors f = {0};
    *count = 0;
    if (vy_type_size(b->type) < 4) return false; // may have 2³² elements
    for (uint32_t k = 0; k < b->rank; k++)
        if (!split_extent(a->p, b->dims[k].id, &f)) return false;
    for (uint32_t k = 0; k < f.count; k++) {
        const vy_dim_node *d = &a->p->dims.data[f.node[k]];
        if (d->op == VY_DIM_CONST && d->value < 1) return false;
        if (d->op != VY_DIM_CONST) form[(*count)++] = a->facts.form[f.node[k]];
    }
    return true;
}

// Has something as many elements as the outermost index has values, times the strides?
static bool is_bounded(const flattening *l, const vy_extent *form, uint32_t count)
{
    const vy_affine_access *x = l->x;
    vy_extent inner[MAX_FACTORS];
    if (count != l->f.count) return false;
    for (uint32_t k = 1; k < count; k++) inner[k - 1] = x->nest.a->facts.form[l->f.node[k]];
    const uint32_t k = vy_other_factor(form, inner, count - 1);
    if (k >= count || form[k].offset) return false;
    return vy_nest_inside(&x->nest, x->index[0],
                          vy_affine_dim(x->nest.a, isl_space_copy(x->nest.space),
                                        (vy_dim){form[k].base}));
}

static bool never_wraps(const flattening *l)
{
    const vy_affine *a = l->x->nest.a;
    vy_extent form[MAX_FACTORS];
    uint32_t count;
    for (uint32_t i = 1; i < a->p->buffers.count; i++)
        if (factors_of(a, &a->p->buffers.data[i], form, &count) && is_bounded(l, form, count))
            return true;
    for (uint32_t i = 0; i < a->product_count; i++)
        if (is_bounded(l, a->products[i].factor, a->products[i].count)) return true;
    return false;
}

static bool by_index(flattening *l)
{
    vy_affine_access *x = l->x;
    const uint32_t extent = x->dim[0].id;
    if (vy_type_size(vy_id_type(x->nest.a->p, x->value[0])) < 4 || !find_strides(l, extent) ||
        !sum_terms(l) || !in_range(l, 1) || !never_wraps(l)) {
        vy_access_clear(x);
        return false;
    }
    take_axes(l, true);
    return true;
}

// --------------------------------------------------------------------------- strides by assumption
static bool by_rows(flattening *l, const vy_affine_rows *r)
{
    const vy_flat_terms before = l->terms;
    vy_take_strides(l->x->nest.a, r, &l->terms);
    l->rows = r;
    l->f.count = r->axes;
    for (uint32_t k = 0; k < r->axes; k++) l->f.node[k] = r->axis[k].extent.id;
    isl_set *all = l->x->nest.domain;
    l->x->nest.domain = vy_rows_signed(l->x->nest.a, r, isl_set_copy(all));
    const bool ok = sum_terms(l) && in_range(l, 0);
    isl_set_free(ok ? all : l->x->nest.domain);
    if (!ok) {
        l->x->nest.domain = all;
        vy_access_clear(l->x);
        l->rows = NULL;
        l->terms = before;
        return false;
    }
    take_axes(l, false);
    l->x->rows = r;
    return true;
}

// wraps: by that of no stride, which nothing else has shown.
static bool by_assumption(flattening *l, bool wraps)
{
    const vy_affine *a = l->x->nest.a;
    for (uint32_t k = 0; k < a->row_count; k++)
        if (a->rows[k].buffer == l->x->buffer)
            return a->rows[k].wraps == wraps && by_rows(l, &a->rows[k]);
    return false;
}

static bool take_apart(flattening *l)
{
    if (by_assumption(l, false) || by_extent(l)) return true;
    const vy_affine_why why = l->x->why[0];
    if (by_index(l) || by_assumption(l, true)) return true;
    l->x->why[0] = why;
    return false;
}

bool vy_unflatten(vy_affine_access *x)
{
    flattening l = {.x = x, .whole = *x};
    if (x->rank > VY_MAX_AXES - MAX_FACTORS) return false;
    if (!vy_flat_terms_of(x->nest.a, x->id, x->value[0], &l.terms)) return false;
    memset(x->index, 0, sizeof x->index);
    if (take_apart(&l)) return true;
    memcpy(x->index, l.whole.index, sizeof x->index);
    return false;
}

uint32_t vy_flat_along(const vy_affine_access *x, uint32_t k)
{
    const vy_affine *a = x->nest.a;
    flattening l = {.x = (vy_affine_access *)x, .rows = x->rows, .f = {.count = x->flat}};
    uint32_t only = 0;
    for (uint32_t j = 0; j < x->flat; j++) l.f.node[j] = x->dim[j].id;
    if (!vy_flat_terms_of(a, x->id, vy_arg(a->p, x->id, 0), &l.terms)) return 0;
    if (l.rows) vy_take_strides(a, l.rows, &l.terms);
    const int64_t stride = l.rows ? l.rows->axis[k].constant : 1;
    for (uint32_t j = 0; j < l.terms.count; j++) {
        const vy_flat_term *t = &l.terms.term[j];
        if ((l.rows ? vy_row_of(l.rows, t) : axis_of(&l, t)) != (int)k) continue;
        if (only || t->minus || t->guards || t->constant != stride) return 0;
        only = t->value;
        if (!only) return 0;
    }
    return only;
}
