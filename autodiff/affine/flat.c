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
// - those of the index, where the extent is another: f32[n].  Then b has no other bound than those
//   of the places that reach the access, and the index must be proved not to wrap: where b < B, and
//   some buffer has B · H · W elements.  (Without that, 2^32 is a multiple of strides, and the
//   element of [b, h, w] may also be that of another b.)
#include "autodiff/affine/flat.h"
#include "ir/core/flow.h"

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

// The form of what is constant throughout a launch: T, T + 1, the length of a buffer.
static bool constant_form(const vy_affine *a, uint32_t id, vy_extent *e)
{
    int64_t c;
    if (VY_IS_LEAF(id)) return leaf_form(a, id, e);
    if (a->p->insts.data[id].op != VY_OP_ADD) return false;
    if (!vy_id_int(a->p, vy_arg(a->p, id, 1), &c) || c > INT32_MAX) return false;
    if (!leaf_form(a, vy_arg(a->p, id, 0), e)) return false;
    e->offset += c;
    return true;
}

// Multiplies t by `id` if that is a product of launch constants.
static bool multiply(const vy_affine *a, uint32_t id, term *t)
{
    vy_extent e;
    if (constant_form(a, id, &e)) {
        if (t->count == MAX_FACTORS) return false;
        t->factor[t->count++] = e;
        return true;
    }
    if (VY_IS_LEAF(id) || a->p->insts.data[id].op != VY_OP_MUL) return false;
    return multiply(a, vy_arg(a->p, id, 0), t) && multiply(a, vy_arg(a->p, id, 1), t);
}

// Where `id` is one of two values, of which a condition around the access knows the one: that; else
// `id`.  (Indices that a reverse needs are values of the forward sweep's arms.)
static uint32_t chosen(const flattening *l, uint32_t id)
{
    const vy_affine *a = l->x->nest.a;
    if (VY_IS_LEAF(id)) return id;
    const vy_op op = (vy_op)a->p->insts.data[id].op;
    uint32_t then, other, opener = vy_choice(a->p, a->s, id, &then, &other);
    uint32_t condition = opener ? vy_arg(a->p, opener, 0) : 0;
    if (op == VY_OP_SELECT) {
        condition = vy_arg(a->p, id, 0);
        then = vy_arg(a->p, id, 1);
        other = vy_arg(a->p, id, 2);
    }
    for (uint32_t up = a->s->parent[l->x->id]; up && condition; up = a->s->parent[up])
        if (a->p->insts.data[up].op == VY_OP_IF && vy_arg(a->p, up, 0) == condition)
            return vy_in_then(a->s, up, l->x->id) ? then : other;
    return id;
}

static bool collect(flattening *l, uint32_t id, term t, int depth)
{
    id = chosen(l, id);
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
    for (uint32_t k = 0; k < l->count && ok; k++) ok = add_to_axis(l, &l->terms[k]);
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
        if (inside(&x->nest, x->index[k], vy_affine_dim(x->nest.a, space, (vy_dim){l->f.node[k]})))
            continue;
        x->why[0] = VY_AFFINE_WRAP;
        return false;
    }
    return true;
}

static void take_axes(flattening *l, bool strided)
{
    vy_affine_access *x = l->x;
    x->flat = true;
    x->strided = strided;
    x->rank = l->f.count;
    for (uint32_t k = 0; k < x->rank; k++) {
        x->dim[k] = (vy_dim){l->f.node[k]};
        x->extent[k] = x->nest.a->facts.form[l->f.node[k]];
        x->why[k] = VY_AFFINE_FINE;
        x->value[k] = 0;
    }
}

// --------------------------------------------------------------------------- strides of the extent
static bool by_extent(flattening *l)
{
    const vy_affine *a = l->x->nest.a;
    l->f.count = 0;
    if (!split_extent(a->p, a->p->buffers.data[l->x->buffer].dims[0].id, &l->f) || l->f.count < 2 ||
        !sum_terms(l) || !in_range(l, 0)) {
        vy_access_clear(l->x);
        return false;
    }
    take_axes(l, false);
    return true;
}

// ---------------------------------------------------------------------------- strides of the index
static bool same_form(vy_extent x, vy_extent y) { return x.base == y.base && x.offset == y.offset; }

// The only factor of `all` that is not one of the `count` factors of `some`; count: there is none.
static uint32_t other_factor(const vy_extent *all, const vy_extent *some, uint32_t count)
{
    uint32_t used = 0, other = count;
    for (uint32_t k = 0; k <= count; k++) {
        uint32_t j = 0;
        while (j < count && (used >> j & 1 || !same_form(all[k], some[j]))) j++;
        if (j < count)
            used |= 1u << j;
        else
            other = k;
    }
    return used == (1u << count) - 1 ? other : count + 1;
}

static const term *with_factors(const flattening *l, uint32_t count)
{
    for (uint32_t k = 0; k < l->count; k++)
        if (l->terms[k].count == count) return &l->terms[k];
    return NULL;
}

// Extents of the inner axes: W is the factor of some term, H what the next one has besides W.
static bool find_strides(flattening *l, uint32_t extent)
{
    uint32_t most = 0;
    for (uint32_t k = 0; k < l->count; k++)
        if (most < l->terms[k].count) most = l->terms[k].count;
    if (most == 0 || most + 1 >= MAX_FACTORS) return false;
    l->f.count = most + 1;
    l->f.node[0] = extent;
    const vy_extent *inner = NULL;
    for (uint32_t n = 1; n <= most; n++) {
        const term *t = with_factors(l, n);
        const uint32_t k = t ? other_factor(t->factor, inner, n - 1) : n;
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
    const uint32_t k = other_factor(form, inner, count - 1);
    if (k >= count || form[k].offset) return false;
    return inside(&x->nest, x->index[0],
                  vy_affine_dim(x->nest.a, isl_space_copy(x->nest.space), (vy_dim){form[k].base}));
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
    const uint32_t extent = x->nest.a->p->buffers.data[x->buffer].dims[0].id;
    if (vy_type_size(vy_id_type(x->nest.a->p, x->value[0])) < 4 || !find_strides(l, extent) ||
        !sum_terms(l) || !in_range(l, 1) || !never_wraps(l)) {
        vy_access_clear(x);
        return false;
    }
    take_axes(l, true);
    return true;
}

bool vy_unflatten(vy_affine_access *x)
{
    flattening l = {.x = x};
    if (!collect(&l, x->value[0], (term){.constant = 1}, 24)) return false;
    if (by_extent(&l)) return true;
    const vy_affine_why why = x->why[0];
    if (by_index(&l)) return true;
    x->why[0] = why;
    return false;
}
