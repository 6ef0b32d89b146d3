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
#include "autodiff/shapes/shapes_build.h"

enum { MOST_PIECES = 4, LITTLE = 64 };

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
            v = isl_pw_aff_add_constant_val(v, isl_val_int_from_si(n->a->ctx, -(INT64_C(1) << 32)));
        v = isl_pw_aff_scale_val(v, isl_val_int_from_si(n->a->ctx,
                                                        t->minus ? -t->constant : t->constant));
        sum = isl_pw_aff_add(sum, v);
    }
    return sum;
}

static isl_pw_aff *extent_on(vy_nest *n, vy_extent e)
{
    isl_pw_aff *v = vy_affine_dim(n->a, isl_space_copy(n->space), (vy_dim){e.base});
    return isl_pw_aff_add_constant_val(v, isl_val_int_from_si(n->a->ctx, e.offset));
}

// Is 0 ≤ v, and v < extent (NULL: nothing), wherever the access is reached?  Takes `extent`.
static bool inside(const vy_nest *n, isl_pw_aff *v, isl_pw_aff *extent)
{
    isl_set *good = isl_pw_aff_ge_set(isl_pw_aff_copy(v), vy_nest_number(n, 0));
    if (extent) good = isl_set_intersect(good, isl_pw_aff_lt_set(isl_pw_aff_copy(v), extent));
    isl_set *here = vy_nest_reached(n);
    const isl_bool all = isl_set_is_subset(here, good);
    isl_set_free(here);
    isl_set_free(good);
    return all == isl_bool_true;
}

// Adds what the access reaches along the first axis.
static void add_first(const vy_nest *n, shapes_buffer *b, isl_pw_aff *v)
{
    isl_map *map = isl_map_from_pw_aff(isl_pw_aff_copy(v));
    isl_set *range = isl_map_range(isl_map_intersect_domain(map, vy_nest_reached(n)));
    b->first = b->first ? isl_set_union(b->first, range) : range;
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
    ok = ok && ((shapes_axes(s, x, false) && prove_axes(&n, b, x)) ||
                (shapes_axes(s, x, true) && prove_axes(&n, b, x)));
    vy_nest_free(&n);
    return ok && vy_affine_ok(&s->a);
}

// ----------------------------------------------------------------------------------- first extents
typedef struct bound {
    shapes *s;
    isl_pw_aff *most; // what the first index reaches
    isl_aff *piece[MOST_PIECES];
    uint32_t pieces;
    bool failed;
} bound;

static vy_dim number(shapes *s, int64_t v)
{
    return shapes_node(s, (vy_dim_node){.op = VY_DIM_CONST, .value = v});
}

static vy_dim binary(shapes *s, vy_dim_op op, vy_dim x, vy_dim y)
{
    return x.id && y.id ? shapes_node(s, (vy_dim_node){.op = op, .a = x.id, .b = y.id})
                        : (vy_dim){0};
}

static bool take_integer(isl_val *v, int64_t *out) // takes v
{
    const bool ok = isl_val_is_int(v) == isl_bool_true && isl_val_cmp_si(v, INT32_MAX) <= 0 &&
                    isl_val_cmp_si(v, INT32_MIN) >= 0;
    *out = ok ? isl_val_get_num_si(v) : 0;
    isl_val_free(v);
    return ok;
}

// The dimension that parameter k of aff is; id 0: none.
static vy_dim parameter(shapes *s, isl_aff *aff, unsigned k)
{
    isl_space *space = isl_aff_get_domain_space(aff);
    isl_id *id = isl_space_get_dim_id(space, isl_dim_param, k);
    vy_dim d = {0};
    for (uint32_t i = 0; i < s->a.params.count && !d.id; i++) {
        const vy_affine_param *q = &s->a.params.data[i];
        if (q->id != id || q->as_i32) continue;
        d = q->is_dim ? (vy_dim){q->index}
                      : shapes_node(s, (vy_dim_node){.op = VY_DIM_SCALAR, .value = q->index});
    }
    isl_id_free(id);
    isl_space_free(space);
    return d;
}

// What the sum of scalars, each times its factor, is less than: where it is that scalar less a few,
// the scalar.
static int64_t rounded(int64_t constant, uint32_t terms, int64_t factor)
{
    const bool little = constant < 0 && constant >= -LITTLE;
    return terms == 1 && factor == 1 && little ? 0 : constant;
}

// aff + 1 as a dimension; id 0: it is none.  only: it may be rounded.
static vy_dim piece_extent(shapes *s, isl_aff *aff, bool only)
{
    int64_t constant, c, last = 0;
    vy_dim sum = {0};
    uint32_t terms = 0;
    if (!take_integer(isl_aff_get_constant_val(aff), &constant)) return (vy_dim){0};
    if (isl_aff_dim(aff, isl_dim_div) > 0) return (vy_dim){0};
    for (int k = 0; k < (int)isl_aff_dim(aff, isl_dim_param); k++) {
        if (!take_integer(isl_aff_get_coefficient_val(aff, isl_dim_param, k), &c))
            return (vy_dim){0};
        if (!c) continue;
        vy_dim d = parameter(s, aff, (unsigned)k);
        if (c != 1) d = binary(s, VY_DIM_MUL, d, number(s, c));
        sum = terms++ ? binary(s, VY_DIM_ADD, sum, d) : d;
        last = c;
        if (!sum.id) return sum;
    }
    constant += 1;
    if (only) constant = rounded(constant, terms, last);
    if (!terms) return number(s, constant);
    if (constant < 0) return binary(s, VY_DIM_SUB, sum, number(s, -constant));
    return constant ? binary(s, VY_DIM_ADD, sum, number(s, constant)) : sum;
}

static isl_stat add_piece(isl_set *where, isl_aff *aff, void *user)
{
    bound *b = user;
    isl_set_free(where);
    b->failed |= b->pieces == MOST_PIECES;
    if (b->failed)
        isl_aff_free(aff);
    else
        b->piece[b->pieces++] = aff;
    return isl_stat_ok;
}

// Is what is reached the greatest (least) of the pieces, wherever something is?
static bool is_extremum(const bound *b, bool greatest)
{
    isl_pw_aff *all = isl_pw_aff_from_aff(isl_aff_copy(b->piece[0]));
    for (uint32_t k = 1; k < b->pieces; k++) {
        isl_pw_aff *v = isl_pw_aff_from_aff(isl_aff_copy(b->piece[k]));
        all = greatest ? isl_pw_aff_max(all, v) : isl_pw_aff_min(all, v);
    }
    isl_set *differ = isl_pw_aff_ne_set(isl_pw_aff_copy(b->most), all);
    const isl_bool none = isl_set_is_empty(differ);
    isl_set_free(differ);
    return none == isl_bool_true;
}

static vy_dim extremum(bound *b)
{
    const bool greatest = is_extremum(b, true);
    vy_dim all = {0};
    if (b->failed || (!greatest && !is_extremum(b, false))) return all;
    for (uint32_t k = 0; k < b->pieces; k++) {
        const vy_dim d = piece_extent(b->s, b->piece[k], b->pieces == 1);
        all = k ? binary(b->s, greatest ? VY_DIM_MAX : VY_DIM_MIN, all, d) : d;
    }
    return all;
}

// The first extent, from all that is reached.
static bool find_first(shapes *s, shapes_buffer *b)
{
    bound out = {.s = s};
    vy_affine_reset(&s->a);
    vy_affine_limit(&s->a, 1);
    isl_set *context = isl_set_params(isl_set_copy(b->first));
    out.most = isl_set_dim_max(isl_set_coalesce(isl_set_copy(b->first)), 0);
    isl_pw_aff *simple = isl_pw_aff_gist_params(isl_pw_aff_copy(out.most), context);
    simple = isl_pw_aff_coalesce(simple);
    const bool ok = isl_pw_aff_foreach_piece(simple, add_piece, &out) == isl_stat_ok;
    b->dim[0] = ok && out.pieces ? extremum(&out) : (vy_dim){0};
    for (uint32_t k = 0; k < out.pieces; k++) isl_aff_free(out.piece[k]);
    isl_pw_aff_free(simple);
    isl_pw_aff_free(out.most);
    return vy_affine_ok(&s->a) && b->dim[0].id;
}

static bool find_dimensions(shapes *s, shapes_buffer *b)
{
    if (b->given) return true;
    if (!b->first || !find_first(s, b)) return false;
    for (uint32_t k = 0; k < b->inner; k++) {
        const vy_extent e = b->extent[k];
        b->dim[k + 1] = (vy_dim){e.base};
        if (e.offset) b->dim[k + 1] = binary(s, VY_DIM_ADD, b->dim[k + 1], number(s, e.offset));
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
