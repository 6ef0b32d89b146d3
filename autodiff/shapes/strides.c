// SPDX-License-Identifier: MIT
// strides.c: open buffers, and the strides of their indices.
//
//   a[(b * H + h) * W + w]   a[w]      strides H·W, W, 1:  [·, H, W]
//
// The strides of all indices of a buffer have to be one chain: W is the factor of some term, H what
// the next one has besides.
#include "autodiff/shapes/shapes_build.h"

enum { MOST_ACCESSES = 512 };

vy_dim shapes_node(shapes *s, vy_dim_node n)
{
    if (vy_vec_push(&s->w.p->dims, n)) return (vy_dim){s->w.p->dims.count - 1};
    s->w.oom = true;
    return (vy_dim){0};
}

static bool is_open(const vy_program *p, const vy_buf *b)
{
    return vy_is_global(b->cls) && !b->view_of && !b->workspace && b->rank && !b->layout.strides &&
           vy_type_size(b->type) >= 4 && // else it is a part of its binding
           p->dims.data[b->dims[0].id].op == VY_DIM_UNKNOWN;
}

// Of a buffer whose length is used for anything else the shape is not ours to choose.
static void drop_measured(shapes *s)
{
    const vy_program *p = s->w.p;
    for (uint32_t id = 1; id < p->insts.count; id++)
        for (uint32_t k = 0; k < p->insts.data[id].nargs; k++) {
            const uint32_t a = vy_arg(p, id, k);
            const vy_leaf *l = VY_IS_LEAF(a) ? &p->leaves.data[VY_LEAF_INDEX(a)] : NULL;
            if (l && l->kind == VY_LEAF_LEN) s->buffers[l->index].is = false;
        }
    for (uint32_t i = 1; i < p->dims.count; i++) {
        const vy_dim_node *n = &p->dims.data[i];
        for (uint32_t k = 0; k < 2 && n->op >= VY_DIM_ADD; k++) {
            const vy_dim_node *of = &p->dims.data[k ? n->b : n->a];
            if (of->op == VY_DIM_UNKNOWN) s->buffers[of->value].is = false;
        }
    }
    for (uint32_t i = 1; i < p->buffers.count; i++) {
        const uint32_t of = p->buffers.data[i].view_of;
        if (of) s->buffers[of].is = false;
    }
}

static bool add_access(shapes *s, uint32_t id)
{
    shapes_access x = {.id = id};
    shapes_buffer *b = shapes_of(s, &x);
    if (!vy_flat_terms_of(&s->a, 0, vy_arg(s->w.p, id, 0), &x.terms) ||
        vy_type_size(vy_id_type(s->w.p, vy_arg(s->w.p, id, 0))) != 4 ||
        s->accesses.count == MOST_ACCESSES) {
        b->is = b->given;
        b->one = b->given;
        return true;
    }
    s->at[id] = s->accesses.count + 1;
    return vy_vec_push(&s->accesses, x);
}

void shapes_candidates(shapes *s)
{
    const vy_program *p = s->w.p;
    for (uint32_t i = 1; i < p->buffers.count; i++)
        s->buffers[i].is = is_open(p, &p->buffers.data[i]);
    drop_measured(s);
}

bool shapes_read(shapes *s)
{
    const vy_program *p = s->w.p;
    bool ok = true;
    for (uint32_t id = 1; ok && id < p->insts.count; id++)
        if (vy_op_is_memory((vy_op)p->insts.data[id].op) && s->buffers[p->insts.data[id].aux].is)
            ok = add_access(s, id);
    return ok;
}

// ----------------------------------------------------------------------------------------- chains
static const vy_flat_term *with_factors(const shapes *s, const shapes_buffer *b, uint32_t count)
{
    for (uint32_t i = 0; i < s->accesses.count; i++) {
        const shapes_access *x = &s->accesses.data[i];
        for (uint32_t k = 0; k < x->terms.count && shapes_of(s, x) == b; k++)
            if (x->terms.term[k].count == count) return &x->terms.term[k];
    }
    return NULL;
}

static bool find_chain(const shapes *s, shapes_buffer *b)
{
    const vy_extent *inner = NULL;
    uint32_t n = 1;
    for (const vy_flat_term *t; (t = with_factors(s, b, n)); n++) {
        const uint32_t k = vy_other_factor(t->factor, inner, n - 1);
        if (k >= n || n == SHAPES_AXES) return false;
        for (uint32_t j = n - 1; j > 0; j--) b->extent[j] = b->extent[j - 1];
        b->extent[0] = t->factor[k];
        inner = t->factor;
    }
    b->inner = n - 1;
    return n > 1;
}

// The axis whose stride is the product of t's factors; -1: none.
static int axis_of(const shapes_buffer *b, const vy_flat_term *t)
{
    uint32_t used = 0;
    if (t->count > b->inner) return -1;
    for (uint32_t k = b->inner - t->count; k < b->inner; k++) {
        uint32_t j = 0;
        while (j < t->count && (used >> j & 1 || !vy_same_form(t->factor[j], b->extent[k]))) j++;
        if (j == t->count) return -1;
        used |= 1u << j;
    }
    return (int)(b->inner - t->count);
}

// A term that is a stride, a[i + W], as 1 times it; false: it is none.
static bool as_stride(const shapes *s, const shapes_buffer *b, vy_flat_term *t, int *axis)
{
    vy_flat_term more = *t;
    if (t->count == VY_FLAT_FACTORS || !vy_flat_constant(&s->a, t->value, &more.factor[t->count]))
        return false;
    more.value = 0;
    more.count++;
    *axis = axis_of(b, &more);
    if (*axis < 0) return false;
    *t = more;
    return true;
}

bool shapes_axes(shapes *s, shapes_access *x, bool strides)
{
    const shapes_buffer *b = shapes_of(s, x);
    bool any = !strides;
    for (uint32_t k = 0; k < x->terms.count; k++) {
        vy_flat_term *t = &x->terms.term[k];
        int axis = -1;
        if (strides && as_stride(s, b, t, &axis))
            any = true;
        else
            axis = axis_of(b, t);
        if (axis < 0) return false;
        x->axis[k] = (uint8_t)axis;
    }
    return any;
}

void shapes_strides(shapes *s)
{
    const vy_program *p = s->w.p;
    for (uint32_t i = 1; i < p->buffers.count; i++) {
        shapes_buffer *b = &s->buffers[i];
        if (b->is && !b->given) b->is = find_chain(s, b);
    }
}

// Scalars that are extents are below VY_AFFINE_EXTENT, and so much less that sums of a few do not
// wrap.
void shapes_bound(shapes *s)
{
    for (uint32_t i = 1; i < s->w.p->buffers.count; i++) {
        const shapes_buffer *b = &s->buffers[i];
        for (uint32_t k = 0; k < b->inner && b->is && !b->one; k++) {
            const vy_extent e = b->extent[k];
            const vy_dim_node *d = &s->w.p->dims.data[e.base];
            const int64_t most = VY_AFFINE_EXTENT - 1 - e.offset;
            if (d->op == VY_DIM_SCALAR && most < s->a.most[d->value]) s->a.most[d->value] = most;
        }
    }
}
