// SPDX-License-Identifier: MIT
// count_values.c: dimensions and integers of a program as polynomials, for count.c.
//
//   M: u32, dim M*K, let n = M + 1      M,  K·M,  M + 1
//
// The bounds of loops are made of these; an integer from data is not a polynomial.
#include "ir/facts/count_values.h"

#include <stdio.h>

// -------------------------------------------------------------------------------------- dimensions
vy_poly vy_count_named(vy_poly_space *s, const char *text, bool known, double value)
{
    uint32_t var = vy_poly_name(s, text);
    if (s->failed) return (vy_poly){0};
    s->vars.data[var].known = known;
    s->vars.data[var].value = value;
    return vy_poly_of(s, var);
}

static vy_poly scalar(const vy_count_values *w, uint32_t index)
{
    const vy_sizes *z = w->sizes;
    if (w->c->scalars) return w->c->scalars[index];
    bool known = z->scalars && z->known && z->known[index];
    return vy_count_named(&w->c->space, w->p->scalars.data[index].name, known,
                          known ? (double)z->scalars[index] : 0);
}

static vy_poly length(const vy_count_values *w, uint32_t buffer)
{
    char text[320];
    uint64_t n = w->sizes->lengths ? w->sizes->lengths[buffer] : UINT64_MAX;
    snprintf(text, sizeof text, "len(%.300s)", w->p->buffers.data[buffer].name);
    return vy_count_named(&w->c->space, text, n != UINT64_MAX, (double)n);
}

static vy_poly group_count(const vy_count_values *w, uint32_t axis)
{
    static const char *const names[] = {"num_groups.x", "num_groups.y", "num_groups.z"};
    const uint32_t n = w->sizes->groups[axis];
    return vy_count_named(&w->c->space, names[axis], n != 0, n);
}

static vy_poly *make_dims(const vy_count_values *w)
{
    vy_poly_space *s = &w->c->space;
    vy_poly *dims = vy_arena_alloc(&s->arena, (w->p->dims.count + 1) * sizeof *dims);
    if (!dims) s->failed = true;
    for (uint32_t i = 1; i < w->p->dims.count && !s->failed; i++) {
        const vy_dim_node *d = &w->p->dims.data[i];
        bool leaf = d->op < VY_DIM_ADD;
        vy_poly *out = &dims[i], a = dims[leaf ? 0 : d->a], b = dims[leaf ? 0 : d->b];
        const char *name;
        char text[40];
        switch (d->op) {
        case VY_DIM_CONST: *out = vy_poly_const(s, d->value); break;
        case VY_DIM_SCALAR: *out = scalar(w, (uint32_t)d->value); break;
        case VY_DIM_UNKNOWN: *out = length(w, (uint32_t)d->value); break;
        case VY_DIM_ADD: *out = vy_poly_add(s, a, b); break;
        case VY_DIM_SUB: *out = vy_poly_sub(s, a, b); break;
        case VY_DIM_MUL: *out = vy_poly_mul(s, a, b); break;
        case VY_DIM_GROUPS: *out = group_count(w, (uint32_t)d->value); break;
        case VY_DIM_STEP:
            snprintf(text, sizeof text, "step%lld", (long long)d->value);
            name = w->c->steps ? w->c->steps[d->value] : NULL;
            *out = vy_count_named(s, name ? name : text, false, 0);
            break;
        default: *out = vy_poly_special(s, d->op, a, b);
        }
    }
    return dims;
}

// ------------------------------------------------------------------------------ values of integers
static bool leaf_value(const vy_count_values *w, uint32_t id, vy_poly *out)
{
    const vy_leaf *l = &w->p->leaves.data[VY_LEAF_INDEX(id)];
    vy_poly_space *s = &w->c->space;
    if (!vy_type_is_integer((vy_type)l->type)) return false;
    switch (l->kind) {
    case VY_LEAF_CONST: *out = vy_poly_const(s, l->value.i); return true;
    case VY_LEAF_SCALAR: *out = scalar(w, l->index); return true;
    case VY_LEAF_OVER: *out = vy_poly_of(s, w->c->over[l->index]); return true;
    case VY_LEAF_LEN: *out = w->c->dims[w->p->buffers.data[l->index].dims[l->axis].id]; return true;
    case VY_LEAF_BUILTIN:
        if (l->index != VY_NUM_GROUPS || w->p->overs.count) return false;
        *out = group_count(w, l->axis);
        return true;
    default: return false;
    }
}

bool vy_count_value(const vy_count_values *w, uint32_t id, vy_poly *out)
{
    if (VY_IS_LEAF(id)) return leaf_value(w, id, out);
    *out = w->value[id];
    return w->has[id];
}

// `a < b ? x : 0`, as in a computed trip count, is taken as x: no loop ends before its start.
static bool guarded_count(const vy_count_values *w, uint32_t id, uint32_t *x)
{
    const vy_program *p = w->p;
    uint32_t c = vy_arg(p, id, 0);
    if (VY_IS_LEAF(c)) return false;
    const vy_scalar *yes = vy_id_const(p, vy_arg(p, id, 1)), *no = vy_id_const(p, vy_arg(p, id, 2));
    bool less = p->insts.data[c].op == VY_OP_LT && no && no->u == 0;
    bool more = p->insts.data[c].op == VY_OP_LE && yes && yes->u == 0;
    *x = vy_arg(p, id, less ? 1 : 2);
    return less || more;
}

// The polynomials are kept small: a longer one counts as unknown.
void vy_count_note(vy_count_values *w, uint32_t id)
{
    enum { MOST = 48 };
    const vy_inst *i = &w->p->insts.data[id];
    vy_poly_space *s = &w->c->space;
    vy_poly a, b, r;
    if (!vy_type_is_integer((vy_type)i->type)) return;
    uint32_t same = i->op == VY_OP_CAST ? vy_arg(w->p, id, 0) : 0;
    if (same || (i->op == VY_OP_SELECT && guarded_count(w, id, &same))) {
        w->has[id] = vy_count_value(w, same, &w->value[id]);
        return;
    }
    bool known = i->op == VY_OP_ADD || i->op == VY_OP_SUB || i->op == VY_OP_MUL ||
                 i->op == VY_OP_DIV || i->op == VY_OP_MIN || i->op == VY_OP_MAX;
    if (!known || !vy_count_value(w, vy_arg(w->p, id, 0), &a) ||
        !vy_count_value(w, vy_arg(w->p, id, 1), &b) || a.count > MOST || b.count > MOST)
        return;
    if (i->op == VY_OP_ADD)
        r = vy_poly_add(s, a, b);
    else if (i->op == VY_OP_SUB)
        r = vy_poly_sub(s, a, b);
    else if (i->op == VY_OP_MUL) {
        if (a.count * b.count > MOST) return;
        r = vy_poly_mul(s, a, b);
    } else {
        if (vy_poly_has_bound(s, a) || vy_poly_has_bound(s, b)) return;
        r = vy_poly_special(s,
                            i->op == VY_OP_DIV   ? VY_DIM_DIV
                            : i->op == VY_OP_MIN ? VY_DIM_MIN
                                                 : VY_DIM_MAX,
                            a, b);
    }
    w->has[id] = !vy_poly_is_beyond(s, r); // a constant beyond 64 bits is not a size
    w->value[id] = r;
}

// ------------------------------------------------------------------------------ the entire program
static const vy_sizes unknown_sizes = {0};

vy_poly *vy_count_dims(vy_count *c, const vy_program *p, const vy_sizes *sizes)
{
    const vy_count_values w = {.c = c, .p = p, .sizes = sizes ? sizes : &unknown_sizes};
    return make_dims(&w);
}

bool vy_count_values_make(vy_count_values *w, vy_count *c, const vy_program *p,
                          const vy_sizes *sizes)
{
    vy_poly_space *s = &c->space;
    *w = (vy_count_values){.c = c, .p = p, .sizes = sizes ? sizes : &unknown_sizes};
    w->value = vy_arena_alloc(&s->arena, (p->insts.count + 1) * sizeof *w->value);
    w->has = vy_arena_alloc(&s->arena, p->insts.count + 1);
    c->dims = make_dims(w);
    return w->value && w->has && !s->failed;
}
