// SPDX-License-Identifier: MIT
// prove.c: an index is that of a shape where each axis is in its range.
//
//   over(i: M) for k in 0..K: a[i * K + k]       0 ≤ k < K;   0 ≤ i < M, so the first extent is M
//
// Along every axis but the first the extent is the stride's factor, and isl shows that the index
// is less wherever the access is reached.  The first extent is what the index reaches at most, as
// a sum of scalars; one that is a little less than a scalar is that scalar: a stencil that leaves
// out its border is of a picture that has one.  (A longer buffer is as right: no index reaches its
// end.)
//
// So no index is out of range, and none has wrapped: extents are those of buffers that exist.
#include "autodiff/affine/single.h"
#include "autodiff/affine/most.h"
#include "autodiff/shapes/shapes_build.h"

// The index of an access along an axis, as an integer; NULL: it is not affine.
static isl_pw_aff *index_of(vy_nest *n, const shapes_access *x, uint32_t axis)
{
    isl_pw_aff *sum = vy_nest_number(n, 0);
    vy_affine_why why;
    for (uint32_t k = 0; k < x->terms.count && sum; k++) {
        const vy_flat_term *t = &x->terms.term[k];
        int64_t c;
        if (x->axis[k] != axis) continue;
        isl_pw_aff *v = t->value ? vy_affine_value(n, t->value, &why) : vy_nest_number(n, 1);
        if (t->value && vy_id_int(n->a->p, t->value, &c) && c > INT32_MAX) // x + 4294967295
            v = vy_isl_pw_aff_add_constant_val(v, -(INT64_C(1) << 32));
        v = vy_isl_pw_aff_scale_val(v, t->minus ? -t->constant : t->constant);
        sum = vy_isl_pw_aff_add(sum, v);
    }
    return sum;
}

static isl_pw_aff *extent_on(vy_nest *n, vy_extent e)
{
    isl_pw_aff *v = vy_affine_dim(n->a, isl_space_copy(n->space), (vy_dim){e.base});
    return vy_isl_pw_aff_add_constant_val(v, e.offset);
}

// Is 0 ≤ v, and v < extent (NULL: nothing), wherever the access is reached?  Takes `extent`.
static bool inside(const vy_nest *n, isl_pw_aff *v, isl_pw_aff *extent)
{
    if (extent) return vy_nest_inside(n, v, extent);
    isl_set *here = vy_nest_reached(n);
    const bool all = vy_affine_always_at_least(here, v, vy_nest_number(n, 0));
    isl_set_free(here);
    return all;
}

// Adds what the access reaches along the first axis.
static void add_first(const vy_nest *n, shapes_buffer *b, isl_pw_aff *v)
{
    isl_map *map = vy_isl_map_from_pw_aff(isl_pw_aff_copy(v));
    isl_set *range = vy_isl_map_range(vy_isl_map_intersect_domain(map, vy_nest_reached(n)));
    b->first = b->first ? vy_isl_set_union(b->first, range) : range;
    if (!b->first) b->is = false;
}

static bool is_in_rows(vy_nest *n, const shapes_buffer *b, const shapes_access *x)
{
    bool ok = true;
    for (uint32_t axis = 1; axis <= b->inner && ok; axis++) {
        isl_pw_aff *v = index_of(n, x, axis);
        ok = v && inside(n, v, extent_on(n, b->extent[axis - 1]));
        isl_pw_aff_free(v);
    }
    return ok;
}

// Is the access proved to be in range, with these axes?
static bool prove_axes(vy_nest *n, shapes_buffer *b, const shapes_access *x)
{
    isl_pw_aff *v = is_in_rows(n, b, x) ? index_of(n, x, 0) : NULL;
    isl_pw_aff *end =
        v && b->given ? vy_affine_dim(n->a, isl_space_copy(n->space), b->dim[0]) : NULL;
    const bool ok = v && inside(n, v, end);
    if (ok && !b->given) add_first(n, b, v);
    isl_pw_aff_free(v);
    return ok;
}

static bool prove_access(shapes *s, shapes_access *x)
{
    shapes_buffer *b = shapes_of(s, x);
    vy_nest n = {0};
    vy_affine_reset(&s->a);
    bool ok = !vy_affine_spent(&s->a) && vy_nest_make(&n, &s->a, x->id, UINT32_MAX);
    ok = ok && !vy_nest_ends_early(&n); // the shape would have rows that are not reached
    ok = ok && ((shapes_axes(s, x, false) && prove_axes(&n, b, x)) ||
                (shapes_axes(s, x, true) && prove_axes(&n, b, x)));
    vy_nest_free(&n);
    return ok && vy_affine_ok(&s->a);
}

// ------------------------------------------------------------------------------------- dimensions
// The first extent, from all that is reached.
static bool find_first(shapes *s, shapes_buffer *b)
{
    vy_affine_reset(&s->a);
    b->dim[0] = vy_affine_end_of(&s->a, s->w.p, b->first, true);
    s->w.oom |= s->a.failed;
    return b->dim[0].id != 0;
}

// d + c
static vy_dim moved_by(shapes *s, vy_dim d, int64_t c)
{
    const vy_dim by = shapes_node(s, (vy_dim_node){.op = VY_DIM_CONST, .value = c});
    if (!d.id || !by.id) return (vy_dim){0};
    return shapes_node(s, (vy_dim_node){.op = VY_DIM_ADD, .a = d.id, .b = by.id});
}

static bool find_dimensions(shapes *s, shapes_buffer *b)
{
    if (b->given) return true;
    if (!b->first || !find_first(s, b)) return false;
    for (uint32_t k = 0; k < b->inner; k++) {
        const vy_extent e = b->extent[k];
        b->dim[k + 1] = (vy_dim){e.base};
        if (e.offset) b->dim[k + 1] = moved_by(s, b->dim[k + 1], e.offset);
    }
    return b->dim[b->inner].id != 0;
}

static void drop(shapes_buffer *b, bool *any)
{
    *any |= b->inner > 0;
    b->is = b->one = b->given;
}

bool shapes_prove(shapes *s)
{
    bool dropped = false;
    vy_affine_begin_round(&s->a);
    for (uint32_t i = 0; i < s->accesses.count; i++) {
        shapes_buffer *b = shapes_of(s, &s->accesses.data[i]);
        if (b->is && !b->one && !prove_access(s, &s->accesses.data[i])) drop(b, &dropped);
    }
    for (uint32_t i = 1; i < s->w.p->buffers.count; i++) {
        shapes_buffer *b = &s->buffers[i];
        if (b->is && !b->one && !find_dimensions(s, b)) drop(b, &dropped);
        isl_set_free(b->first);
        b->first = NULL;
    }
    return dropped;
}
