// SPDX-License-Identifier: MIT
// access.c: see access.h.
//
// Flat indices.  x: f32[B * H * W], x[(b * H + h) * W + w]: a product of two numbers that are not
// constant is not affine.  The extent names the factors, B H W, so the strides are H·W, W, 1; every
// term of the index is a multiple of one of them:
//
//   b · H·W  +  h · W  +  w        →  [b, h, w]
//
// if 0 <= w < W, 0 <= h < H, 0 <= b < B wherever the access is reached.  Then the index is less
// than the extent, so no intermediate result wrapped either.
#include "autodiff/affine/access.h"
#include "ir/core/flow.h"

#include <stdlib.h>
#include <string.h>

// ------------------------------------------------------------------------------------ flat indices
enum { MAX_FACTORS = 8, MAX_TERMS = 32 };

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

// value · factor[0] · factor[1] …; factors are given by their forms.
typedef struct term {
    uint32_t value; // 0: 1
    bool minus;
    int64_t constant; // one more factor
    vy_extent factor[MAX_FACTORS];
    uint32_t count;
} term;

typedef struct flattening {
    vy_affine_access *x;
    factors f;
    term terms[MAX_TERMS];
    uint32_t count;
} flattening;

// The form of a leaf that is constant throughout a launch.
static bool leaf_form(const vy_affine *a, uint32_t id, vy_extent *e)
{
    if (!VY_IS_LEAF(id)) return false;
    const vy_leaf *l = &a->p->leaves.data[VY_LEAF_INDEX(id)];
    if (l->kind == VY_LEAF_LEN)
        *e = a->facts.form[a->p->buffers.data[l->index].dims[l->axis].id];
    else if (l->kind == VY_LEAF_SCALAR && vy_type_is_integer((vy_type)l->type))
        *e = (vy_extent){a->facts.scalar[l->index], 0};
    else
        return false;
    return e->base != VY_NO_BASE && e->base != 0;
}

// Multiplies t by `id` if that is a product of launch constants.
static bool multiply(const vy_affine *a, uint32_t id, term *t)
{
    vy_extent e;
    if (leaf_form(a, id, &e)) {
        if (t->count == MAX_FACTORS) return false;
        t->factor[t->count++] = e;
        return true;
    }
    if (VY_IS_LEAF(id) || a->p->insts.data[id].op != VY_OP_MUL) return false;
    return multiply(a, vy_arg(a->p, id, 0), t) && multiply(a, vy_arg(a->p, id, 1), t);
}

static bool collect(flattening *l, uint32_t id, term t, int depth)
{
    const vy_affine *a = l->x->nest.a;
    const vy_program *p = a->p;
    const vy_inst *i = VY_IS_LEAF(id) ? NULL : &p->insts.data[id];
    int64_t c;
    if (depth == 0) return false;
    if (i && (i->op == VY_OP_ADD || i->op == VY_OP_SUB)) {
        term minus = t;
        minus.minus ^= i->op == VY_OP_SUB;
        return collect(l, vy_arg(p, id, 0), t, depth - 1) &&
               collect(l, vy_arg(p, id, 1), minus, depth - 1);
    }
    if (i && i->op == VY_OP_MUL)
        for (uint32_t k = 0; k < 2; k++) {
            term scaled = t;
            if (vy_id_int(p, vy_arg(p, id, k), &c) && c > 0 && c < INT32_MAX &&
                !__builtin_mul_overflow(scaled.constant, c, &scaled.constant))
                return collect(l, vy_arg(p, id, 1 - k), scaled, depth - 1);
            if (multiply(a, vy_arg(p, id, k), &scaled))
                return collect(l, vy_arg(p, id, 1 - k), scaled, depth - 1);
        }
    if (l->count == MAX_TERMS) return false;
    t.value = id;
    l->terms[l->count++] = t;
    return true;
}

// The axis whose stride is the product of t's factors: the extents of all later axes, in any order.
static int axis_of(const flattening *l, const term *t)
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

// Is 0 ≤ v < extent wherever the access is reached?
static bool inside(const vy_nest *n, isl_pw_aff *v, isl_pw_aff *extent)
{
    isl_val *zero = isl_val_zero(n->a->ctx);
    isl_pw_aff *none =
        isl_pw_aff_from_aff(isl_aff_val_on_domain_space(isl_space_copy(n->space), zero));
    isl_set *good = isl_set_intersect(isl_pw_aff_ge_set(isl_pw_aff_copy(v), none),
                                      isl_pw_aff_lt_set(isl_pw_aff_copy(v), extent));
    isl_bool all = isl_set_is_subset(n->domain, good);
    isl_set_free(good);
    return all == isl_bool_true;
}

// Adds term t to its axis.
static bool add_to_axis(flattening *l, const term *t)
{
    vy_affine_access *x = l->x;
    vy_affine_why why;
    int axis = axis_of(l, t);
    int64_t c = t->minus ? -t->constant : t->constant, k;
    if (axis < 0) return false;
    isl_pw_aff *v = vy_affine_value(&x->nest, t->value, &why);
    if (!v) {
        x->why[0] = why;
        return false;
    }
    if (vy_id_int(x->nest.a->p, t->value, &k) && k > INT32_MAX) // x + 4294967295
        v = isl_pw_aff_add_constant_val(v,
                                        isl_val_int_from_si(x->nest.a->ctx, -(INT64_C(1) << 32)));
    v = isl_pw_aff_scale_val(v, isl_val_int_from_si(x->nest.a->ctx, c));
    x->index[axis] = x->index[axis] ? isl_pw_aff_add(x->index[axis], v) : v;
    return true;
}

static void clear_indices(vy_affine_access *x)
{
    for (uint32_t k = 0; k < VY_MAX_AXES; k++) {
        isl_pw_aff_free(x->index[k]);
        x->index[k] = NULL;
    }
}

// Replaces the single index of x by one per recovered axis.  False: x is unchanged.
static bool unflatten(vy_affine_access *x)
{
    vy_affine *a = x->nest.a;
    const vy_buf *buf = &a->p->buffers.data[x->buffer];
    flattening l = {.x = x};
    if (!split_extent(a->p, buf->dims[0].id, &l.f) || l.f.count < 2) return false;
    bool ok = collect(&l, x->value[0], (term){.constant = 1}, 24);
    for (uint32_t k = 0; k < l.count && ok; k++) ok = add_to_axis(&l, &l.terms[k]);
    for (uint32_t k = 0; k < l.f.count && ok; k++) {
        isl_space *space = isl_space_copy(x->nest.space);
        if (!x->index[k])
            x->index[k] = isl_pw_aff_from_aff(
                isl_aff_val_on_domain_space(isl_space_copy(space), isl_val_zero(a->ctx)));
        ok = inside(&x->nest, x->index[k], vy_affine_dim(a, space, (vy_dim){l.f.node[k]}));
        if (!ok) x->why[0] = VY_AFFINE_WRAP;
    }
    if (!ok) {
        clear_indices(x);
        return false;
    }
    x->flat = true;
    x->rank = l.f.count;
    for (uint32_t k = 0; k < x->rank; k++) {
        x->dim[k] = (vy_dim){l.f.node[k]};
        x->extent[k] = a->facts.form[l.f.node[k]];
        x->why[k] = VY_AFFINE_FINE;
        x->value[k] = 0;
    }
    return true;
}

// ---------------------------------------------------------------------------------------- accesses
bool vy_access_make(vy_affine_access *x, vy_affine *a, uint32_t id, uint32_t levels)
{
    *x = (vy_affine_access){.id = id, .buffer = a->p->insts.data[id].aux};
    const vy_buf *buf = &a->p->buffers.data[x->buffer];
    if (!vy_nest_make(&x->nest, a, id, levels)) return false;
    x->rank = buf->rank;
    for (uint32_t k = 0; k < x->rank; k++) {
        x->value[k] = vy_arg(a->p, id, k);
        x->dim[k] = buf->dims[k];
        x->extent[k] = a->facts.form[buf->dims[k].id];
        x->index[k] = vy_affine_value(&x->nest, x->value[k], &x->why[k]);
    }
    if (x->rank == 1 && x->why[0] == VY_AFFINE_PRODUCT) unflatten(x);
    return vy_affine_ok(a);
}

void vy_access_free(vy_affine_access *x)
{
    clear_indices(x);
    vy_nest_free(&x->nest);
}

bool vy_access_exact(const vy_affine_access *x)
{
    for (uint32_t k = 0; k < x->rank; k++)
        if (!x->index[k]) return false;
    return x->nest.domain && !x->nest.loose_count && !x->nest.inner;
}

isl_map *vy_access_map(const vy_affine_access *x, uint32_t axes)
{
    const vy_nest *n = &x->nest;
    isl_map *map = isl_map_from_domain(isl_set_copy(n->domain));
    for (uint32_t k = 0; k < x->rank; k++) {
        if (k < 32 && !(axes >> k & 1)) continue;
        if (!x->index[k]) {
            isl_map_free(map);
            return NULL;
        }
        isl_space *space = isl_space_copy(n->space);
        isl_pw_aff *zero = isl_pw_aff_from_aff(
            isl_aff_val_on_domain_space(isl_space_copy(space), isl_val_zero(n->a->ctx)));
        isl_pw_aff *end = vy_affine_dim(n->a, space, x->dim[k]);
        isl_set *exists = isl_set_intersect(isl_pw_aff_ge_set(isl_pw_aff_copy(x->index[k]), zero),
                                            isl_pw_aff_lt_set(isl_pw_aff_copy(x->index[k]), end));
        map = isl_map_intersect_domain(map, exists);
        map = isl_map_flat_range_product(map, isl_map_from_pw_aff(isl_pw_aff_copy(x->index[k])));
    }
    // The context is implied; the caller's constraints need not repeat it.
    map = isl_map_intersect_params(map, isl_set_copy(n->a->context));
    return isl_map_coalesce(map);
}

const char *vy_access_text(const vy_affine_access *x, vy_arena *arena)
{
    isl_map *map = vy_access_map(x, UINT32_MAX);
    map = isl_map_gist_params(map, isl_set_copy(x->nest.a->context));
    map = isl_map_drop_unused_params(map);
    char *text = isl_map_to_str(map);
    isl_map_free(map);
    const char *copy = text ? vy_arena_strdup(arena, text, strlen(text)) : NULL;
    free(text);
    return copy;
}
