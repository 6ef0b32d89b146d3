// SPDX-License-Identifier: MIT
// clamped.c: see clamped.h.
#include "autodiff/affine/clamped.h"
#include "autodiff/affine/flat.h"
#include "autodiff/affine/single.h"
#include "ir/core/flow.h"

enum {
    FEW = 9,                         // cases that are worth their number
    NEAR = 64,                       // numbers around an element
    FARTHEST = (1 << 30) + (1 << 20) // that a number may be from 0, so that its sums are 32 bits
};

// -------------------------------------------------------------------------------- what is clamped
// Without changes of the sign: an element that exists has the same number.
static uint32_t plain(const vy_program *p, uint32_t id)
{
    while (!VY_IS_LEAF(id)) {
        const vy_op op = (vy_op)p->insts.data[id].op;
        const vy_type to = vy_id_type(p, id);
        if ((op != VY_OP_BITCAST && op != VY_OP_CAST) || vy_type_size(to) != 4) break;
        const vy_type from = vy_id_type(p, vy_arg(p, id, 0));
        if (!vy_type_is_integer(from) || vy_type_size(from) != 4) break;
        id = vy_arg(p, id, 0);
    }
    return id;
}

// `id` as an expression of parameters alone; NULL: it is something else.
static isl_aff *bound_of(vy_nest *n, uint32_t id)
{
    vy_affine_why why;
    isl_pw_aff *v = vy_affine_value(n, id, &why);
    isl_aff *x = v ? vy_affine_single(v) : NULL;
    isl_pw_aff_free(v);
    if (x && (isl_aff_dim(x, isl_dim_div) != 0 ||
              isl_aff_involves_dims(x, isl_dim_in, 0, n->count) != isl_bool_false))
        x = isl_aff_free(x);
    return x;
}

static bool is_op(const vy_program *p, uint32_t id, vy_op op)
{
    return !VY_IS_LEAF(id) && p->insts.data[id].op == op;
}

// If `id` is x and a bound of it, the lesser or the greater of both: that bound, and *x; else NULL.
static isl_aff *take_bound(vy_nest *n, uint32_t id, bool lesser, uint32_t *x)
{
    const vy_program *p = n->a->p;
    if (!is_op(p, id, lesser ? VY_OP_MIN : VY_OP_MAX)) return NULL;
    for (uint32_t k = 0; k < 2; k++) {
        isl_aff *b = bound_of(n, vy_arg(p, id, 1 - k));
        if (!b) continue;
        *x = vy_arg(p, id, k);
        return b;
    }
    return NULL;
}

// The value that is the index along axis k; 0: there is no one.
static uint32_t value_along(const vy_affine_access *x, uint32_t k)
{
    return k < x->flat ? vy_flat_along(x, k) : x->value[k];
}

static void free_axis(vy_clamped *c)
{
    isl_pw_aff_free(c->of);
    isl_aff_free(c->lo);
    isl_aff_free(c->hi);
    *c = (vy_clamped){0};
}

// *wraps: but that may wrap around before.
static bool find_clamp(vy_affine_access *x, uint32_t k, vy_clamped *c, bool *wraps)
{
    vy_nest *n = &x->nest;
    vy_affine_why why;
    uint32_t id = plain(n->a->p, value_along(x, k)), of = 0;
    if (!id) return false;
    c->hi = take_bound(n, id, true, &of);
    c->lo = take_bound(n, c->hi ? of : id, false, &of);
    c->lo_last = !c->hi;
    if (c->lo && !c->hi) c->hi = take_bound(n, of, true, &of);
    if (!of) return false;
    const vy_number v = vy_affine_number(n, of, &why);
    c->of = v.pa;
    c->most = v.range.hi > -v.range.lo ? v.range.hi : -v.range.lo;
    const bool near = v.pa && v.range.lo > -FARTHEST && v.range.hi < FARTHEST;
    *wraps |= v.pa && !near && isl_pw_aff_n_piece(v.pa) > 1;
    if (!near) free_axis(c);
    return near;
}

typedef struct counting {
    isl_set *where;
    uint32_t cases;
} counting;

static isl_stat count_case(isl_set *domain, isl_aff *aff, void *user)
{
    counting *c = user;
    isl_set *here = vy_isl_set_intersect(domain, isl_set_copy(c->where));
    c->cases += vy_isl_set_is_empty(here) != isl_bool_true;
    isl_set_free(here);
    isl_aff_free(aff);
    return isl_stat_ok;
}

// Cases of the index along axis k that are reached.
static uint32_t cases_of(const vy_affine_access *x, uint32_t k)
{
    counting c = {.cases = 0};
    if (isl_pw_aff_n_piece(x->index[k]) < 2) return 1;
    c.where = vy_nest_reached(&x->nest);
    isl_pw_aff_foreach_piece(x->index[k], count_case, &c);
    isl_set_free(c.where);
    return c.cases;
}

// Are numbers reached that differ from the bound by more than the neighbourhood of an element has?
static bool is_beyond(const vy_affine_access *x, const vy_clamped *c, bool above)
{
    const isl_aff *bound = above ? c->hi : c->lo;
    if (!bound) return false;
    isl_pw_aff *end = vy_isl_pw_aff_from_aff(isl_aff_copy((isl_aff *)bound));
    isl_pw_aff *of = isl_pw_aff_copy(c->of);
    end = vy_isl_pw_aff_add_constant_val(end, above ? NEAR : -NEAR);
    isl_set *far = above ? vy_affine_at_least(of, end) : vy_affine_at_least(end, of);
    far = vy_isl_set_intersect(far, vy_nest_reached(&x->nest));
    const bool some = vy_isl_set_is_empty(far) != isl_bool_true;
    isl_set_free(far);
    return some;
}

// What is clamped from afar is taken as it is before.  The ends of a constant neighbourhood, i + 1
// where i is the last one, are cases without loops, and worth their number while they are few.
bool vy_access_unclamp(vy_affine_access *x, uint32_t axes, vy_clamps *out, bool *wraps)
{
    uint32_t cases = 1;
    bool any = false, near[VY_MAX_AXES] = {0};
    *wraps = false;
    for (uint32_t k = 0; k < x->rank; k++) {
        vy_clamped *c = &out->axis[k];
        if (!(axes >> k & 1) || isl_pw_aff_n_piece(x->index[k]) < 2 || !find_clamp(x, k, c, wraps))
            continue;
        near[k] = !is_beyond(x, c, true) && !is_beyond(x, c, false);
        if (near[k] && cases <= FEW) cases *= cases_of(x, k);
        any |= !near[k];
    }
    for (uint32_t k = 0; k < x->rank; k++) {
        if (near[k] && cases <= FEW) free_axis(&out->axis[k]);
        any |= near[k] && cases > FEW;
    }
    return any && vy_affine_ok(x->nest.a);
}

// x with what is clamped as it is before.  Not owned.
static vy_affine_access before(const vy_affine_access *x, const vy_clamps *c)
{
    vy_affine_access y = *x;
    for (uint32_t k = 0; k < x->rank; k++) {
        if (!c->axis[k].of) continue;
        y.index[k] = c->axis[k].of;
        y.unclamped |= 1u << k;
    }
    return y;
}

isl_map *vy_unclamped_map(const vy_affine_access *x, uint32_t axes, const vy_clamps *c)
{
    const vy_affine_access y = before(x, c);
    return vy_access_map(&y, axes);
}

const char *vy_unclamped_text(const vy_affine_access *x, const vy_clamps *c, vy_arena *arena)
{
    const vy_affine_access y = before(x, c);
    return vy_access_text(&y, arena);
}

static bool same_bound(isl_aff *x, isl_aff *y)
{
    return x && y ? isl_aff_plain_is_equal(x, y) == isl_bool_true : !x && !y;
}

bool vy_same_clamps(const vy_clamps *x, const vy_clamps *y, uint32_t axes)
{
    bool same = !x == !y;
    for (uint32_t k = 0; x && y && k < 32 && same; k++) {
        const vy_clamped *c = &x->axis[k], *d = &y->axis[k];
        if (axes >> k & 1)
            same = !c->of == !d->of && c->lo_last == d->lo_last && same_bound(c->lo, d->lo) &&
                   same_bound(c->hi, d->hi);
    }
    return same;
}

void vy_clamps_free(vy_clamps *c)
{
    for (uint32_t k = 0; k < VY_MAX_AXES; k++) free_axis(&c->axis[k]);
}

// ------------------------------------------------------------------------------------------- ends
// The expression of parameters in the program being built.
static vy_signed number_of(vy_lattice *l, isl_aff *x)
{
    isl_val *v = isl_aff_get_constant_val(x);
    vy_signed sum = isl_val_is_int(v) == isl_bool_true && isl_val_cmp_si(v, INT32_MAX) <= 0 &&
                            isl_val_cmp_si(v, -INT32_MAX) >= 0
                        ? vy_signed_constant(isl_val_get_num_si(v))
                        : vy_signed_none;
    isl_val_free(v);
    for (int k = 0; k < (int)isl_aff_dim(x, isl_dim_param); k++) {
        v = isl_aff_get_coefficient_val(x, isl_dim_param, k);
        const bool is = isl_val_is_int(v) == isl_bool_true && isl_val_cmp_si(v, INT32_MAX) <= 0 &&
                        isl_val_cmp_si(v, -INT32_MAX) >= 0;
        const int64_t by = is ? isl_val_get_num_si(v) : 0;
        isl_val_free(v);
        if (!is) return vy_signed_none;
        if (!by) continue;
        isl_space *space = isl_aff_get_domain_space(x);
        isl_id *id = isl_space_get_dim_id(space, isl_dim_param, (unsigned)k);
        isl_space_free(space);
        sum = vy_signed_add(l->b, sum, vy_signed_scale(l->b, vy_lattice_named(l, id), by));
        isl_id_free(id);
    }
    return sum;
}

static vy_value less(vy_lattice *l, vy_signed x, vy_signed y)
{
    const vy_value is = vy_signed_compare(l->b, VY_OP_LT, x, y);
    l->refused |= !is.id;
    return is;
}

static vy_value either(vy_lattice *l, vy_value x, vy_value y)
{
    return x.id && y.id ? vy_or(l->b, x, y) : (vy_value){x.id ? x.id : y.id};
}

// May e, which is not negative, be less than the bound?
static bool may_be_below(isl_aff *lo)
{
    if (!lo || isl_aff_involves_dims(lo, isl_dim_param, 0,
                                     (unsigned)isl_aff_dim(lo, isl_dim_param)) != isl_bool_false)
        return lo != NULL;
    isl_val *v = isl_aff_get_constant_val(lo);
    const bool positive = isl_val_is_pos(v) == isl_bool_true;
    isl_val_free(v);
    return positive;
}

// Where no number becomes e: beyond the bounds, or between ones that are out of order, of which the
// last one is it for all numbers.  Id 0: nowhere.
static vy_value nowhere(vy_lattice *l, const vy_clamped *c, vy_signed e, vy_signed lo, vy_signed hi)
{
    const vy_value never = {0};
    vy_value under = may_be_below(c->lo) ? less(l, e, lo) : never;
    vy_value over = c->hi ? less(l, hi, e) : never;
    if (under.id && c->hi && !c->lo_last) under = vy_and(l->b, under, less(l, e, hi));
    if (over.id && c->lo && c->lo_last) over = vy_and(l->b, over, less(l, lo, e));
    return either(l, under, over);
}

void vy_clamped_ends(vy_lattice *l, const vy_clamped *c, vy_signed e, vy_signed *least,
                     vy_signed *most)
{
    const vy_signed far = vy_signed_constant(c->most + 1);
    const vy_signed lo = c->lo ? number_of(l, c->lo) : e, hi = c->hi ? number_of(l, c->hi) : e;
    *least = *most = vy_signed_none;
    if (!vy_signed_fits(lo) || !vy_signed_fits(hi)) return;
    *least = *most = e;
    if (c->lo) *least = vy_signed_select(l->b, less(l, lo, e), e, vy_signed_constant(-c->most - 1));
    if (c->hi) *most = vy_signed_select(l->b, less(l, e, hi), e, far);
    const vy_value none = nowhere(l, c, e, lo, hi);
    if (none.id) *least = vy_signed_select(l->b, none, far, *least);
}
