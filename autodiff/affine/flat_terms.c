// SPDX-License-Identifier: MIT
// flat_terms.c: see flat_terms.h.
//
// Sums, products and changes of sign are those of the ring of the index's type, so terms say what
// it is only modulo 2³².  Whoever uses them shows that it is in range, and has not wrapped.
#include "autodiff/affine/flat_terms.h"
#include "ir/core/flow.h"

enum { DEEPEST = 24, MOST_STEPS = 1024, KNOWN = 4 };

typedef struct collecting {
    const vy_affine *a;
    uint32_t place;
    vy_flat_terms *out;
    uint32_t steps; // after MOST_STEPS choices stay whole, as their values may share operands
} collecting;

// Is `id` an integer with another sign, or of another type that has the same bits?
static bool changes_sign(const vy_program *p, uint32_t id)
{
    if (VY_IS_LEAF(id)) return false;
    const vy_op op = (vy_op)p->insts.data[id].op;
    if (op != VY_OP_BITCAST && op != VY_OP_CAST) return false;
    const vy_type from = vy_id_type(p, vy_arg(p, id, 0)), to = vy_id_type(p, id);
    if (!vy_type_is_integer(from) || !vy_type_is_integer(to)) return false;
    return op == VY_OP_BITCAST || vy_type_size(from) == vy_type_size(to);
}

// Without changes of the sign.
static uint32_t plain(const vy_affine *a, uint32_t id)
{
    while (changes_sign(a->p, id)) id = vy_arg(a->p, id, 0);
    return id;
}

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

// The form of a quotient that is.
static bool number_form(const vy_affine *a, uint32_t id, vy_extent *e)
{
    const uint32_t d = a->numbers ? a->numbers[id].dim : 0;
    const vy_op op = (vy_op)a->p->insts.data[id].op;
    if (!d || (op != VY_OP_DIV && op != VY_OP_REM && op != VY_OP_SHR)) return false;
    *e = a->facts.form[d];
    return e->base != VY_NO_BASE && e->base != 0;
}

bool vy_flat_constant(const vy_affine *a, uint32_t id, vy_extent *e)
{
    int64_t c;
    id = plain(a, id);
    if (VY_IS_LEAF(id)) return leaf_form(a, id, e);
    if (number_form(a, id, e)) return true;
    if (a->p->insts.data[id].op != VY_OP_ADD) return false;
    if (!vy_id_int(a->p, vy_arg(a->p, id, 1), &c) || c > INT32_MAX) return false;
    if (!leaf_form(a, plain(a, vy_arg(a->p, id, 0)), e)) return false;
    e->offset += c;
    return true;
}

// Multiplies t by `id` if that is a product of launch constants.
static bool multiply(const vy_affine *a, uint32_t id, vy_flat_term *t)
{
    vy_extent e;
    if (vy_flat_constant(a, id, &e)) {
        if (t->count == VY_FLAT_FACTORS) return false;
        t->factor[t->count++] = e;
        return true;
    }
    id = plain(a, id);
    int64_t c;
    if (a->multiples && vy_id_int(a->p, id, &c))
        return c > 0 && c < INT32_MAX && !__builtin_mul_overflow(t->constant, c, &t->constant);
    if (VY_IS_LEAF(id) || a->p->insts.data[id].op != VY_OP_MUL) return false;
    return multiply(a, vy_arg(a->p, id, 0), t) && multiply(a, vy_arg(a->p, id, 1), t);
}

// The condition by which `id` is one of two values; 0: it is not.
static uint32_t choice_of(const vy_affine *a, uint32_t id, uint32_t *then, uint32_t *other)
{
    if (VY_IS_LEAF(id)) return 0;
    if (a->p->insts.data[id].op == VY_OP_SELECT) {
        *then = vy_arg(a->p, id, 1);
        *other = vy_arg(a->p, id, 2);
        return vy_arg(a->p, id, 0);
    }
    const uint32_t opener = vy_choice(a->p, a->s, id, then, other);
    return opener ? vy_arg(a->p, opener, 0) : 0;
}

// Of condition `id`, which is as `holds` says: is `condition` known by it, and to be what?
static bool knows(const vy_affine *a, uint32_t id, bool holds, uint32_t condition, int depth,
                  bool *is)
{
    uint32_t then, other;
    *is = holds;
    if (id == condition) return true;
    if (VY_IS_LEAF(id) || depth == 0) return false;
    const vy_op op = (vy_op)a->p->insts.data[id].op;
    if (op == VY_OP_NOT) return knows(a, vy_arg(a->p, id, 0), !holds, condition, depth - 1, is);
    if ((op == VY_OP_AND && holds) || (op == VY_OP_OR && !holds))
        return knows(a, vy_arg(a->p, id, 0), holds, condition, depth - 1, is) ||
               knows(a, vy_arg(a->p, id, 1), holds, condition, depth - 1, is);
    // c ? x : false, and c ? x : c, hold where both c and x do.
    const uint32_t c = choice_of(a, id, &then, &other);
    const vy_scalar *none = c ? vy_id_const(a->p, other) : NULL;
    return c && holds && ((none && !none->u) || other == c) &&
           (knows(a, c, true, condition, depth - 1, is) ||
            knows(a, then, true, condition, depth - 1, is));
}

// Where `id` is one of two values, of which a condition around the place knows the one: that; else
// `id`.  (Indices that a reverse needs are values of the forward sweep's arms.)
static uint32_t chosen_once(const collecting *l, uint32_t id)
{
    const vy_affine *a = l->a;
    uint32_t then, other, condition = l->place ? choice_of(a, id, &then, &other) : 0;
    bool holds;
    for (uint32_t up = a->s->parent[l->place]; up && condition; up = a->s->parent[up])
        if (a->p->insts.data[up].op == VY_OP_IF &&
            knows(a, vy_arg(a->p, up, 0), vy_in_then(a->s, up, l->place), condition, KNOWN, &holds))
            return holds ? then : other;
    return id;
}

static uint32_t chosen(const collecting *l, uint32_t id)
{
    uint32_t one = chosen_once(l, id);
    for (int k = 0; k < KNOWN && one != id; k++) {
        id = one;
        one = chosen_once(l, plain(l->a, id));
    }
    return one;
}

static bool collect(collecting *l, uint32_t id, vy_flat_term t, int depth);

// Is a term from number `first` on multiplied by more than `count` launch constants?
static bool has_products(const vy_flat_terms *t, uint32_t first, uint32_t count)
{
    for (uint32_t k = first; k < t->count; k++)
        if (t->term[k].count > count) return true;
    return false;
}

// The terms of both values of a choice, if that gains anything; false: none are added.
static bool collect_choice(collecting *l, uint32_t id, const vy_flat_term *t, int depth)
{
    uint32_t then, other;
    const uint32_t condition = choice_of(l->a, id, &then, &other), first = l->out->count;
    if (!condition || t->guards == VY_FLAT_GUARDS || l->steps > MOST_STEPS) return false;
    vy_flat_term one = *t, two = *t;
    one.guard[one.guards++] = (vy_flat_guard){condition, true};
    two.guard[two.guards++] = (vy_flat_guard){condition, false};
    if (collect(l, then, one, depth - 1) && collect(l, other, two, depth - 1) &&
        has_products(l->out, first, t->count))
        return true;
    l->out->count = first;
    return false;
}

static bool collect_product(collecting *l, uint32_t id, const vy_flat_term *t, int depth, bool *is)
{
    const vy_program *p = l->a->p;
    int64_t c;
    *is = true;
    for (uint32_t k = 0; k < 2; k++) {
        vy_flat_term scaled = *t;
        if (vy_id_int(p, vy_arg(p, id, k), &c) && c > 0 && c < INT32_MAX &&
            !__builtin_mul_overflow(scaled.constant, c, &scaled.constant))
            return collect(l, vy_arg(p, id, 1 - k), scaled, depth - 1);
        if (multiply(l->a, vy_arg(p, id, k), &scaled))
            return collect(l, vy_arg(p, id, 1 - k), scaled, depth - 1);
    }
    return *is = false;
}

static bool collect(collecting *l, uint32_t id, vy_flat_term t, int depth)
{
    const vy_program *p = l->a->p;
    id = plain(l->a, chosen(l, id));
    const vy_op op = VY_IS_LEAF(id) ? VY_OP_NONE : (vy_op)p->insts.data[id].op;
    bool is = false;
    if (depth == 0) return false;
    l->steps++;
    if (op == VY_OP_ADD || op == VY_OP_SUB) {
        vy_flat_term second = t;
        second.minus ^= op == VY_OP_SUB;
        return collect(l, vy_arg(p, id, 0), t, depth - 1) &&
               collect(l, vy_arg(p, id, 1), second, depth - 1);
    }
    if (op == VY_OP_MUL) {
        const bool ok = collect_product(l, id, &t, depth, &is);
        if (is) return ok;
    }
    if (collect_choice(l, id, &t, depth)) return true;
    if (l->out->count == VY_FLAT_TERMS) return false;
    t.value = id;
    l->out->term[l->out->count++] = t;
    return true;
}

bool vy_flat_terms_of(const vy_affine *a, uint32_t place, uint32_t id, vy_flat_terms *out)
{
    collecting l = {.a = a, .place = place, .out = out};
    out->count = 0;
    return collect(&l, id, (vy_flat_term){.constant = 1}, DEEPEST);
}

// Where all guards are as they have to be; the nest's domain becomes that.  NULL: *why.
static isl_set *guarded(vy_nest *n, const vy_flat_term *t, vy_affine_why *why)
{
    isl_set *where = isl_set_copy(n->domain);
    for (uint32_t k = 0; k < t->guards && where; k++) {
        isl_set *holds = vy_affine_condition(n, t->guard[k].condition, t->guard[k].holds, why);
        where = holds ? vy_isl_set_intersect(where, holds) : isl_set_free(where);
        if (!where) break;
        isl_set_free(n->domain);
        n->domain = isl_set_copy(where);
    }
    return where;
}

// The term's value; wraps x + 4294967295 to x − 1.
static isl_pw_aff *value_of(vy_nest *n, const vy_flat_term *t, vy_affine_why *why)
{
    int64_t c;
    isl_pw_aff *v = t->value ? vy_affine_value(n, t->value, why) : vy_nest_number(n, 1);
    if (t->value && vy_id_int(n->a->p, t->value, &c) && c > INT32_MAX)
        v = vy_isl_pw_aff_add_constant_val(v, -(INT64_C(1) << 32));
    c = t->minus ? -t->constant : t->constant;
    return v ? vy_isl_pw_aff_scale_val(v, c) : NULL;
}

isl_pw_aff *vy_flat_value(vy_nest *n, const vy_flat_term *t, vy_affine_why *why)
{
    if (!t->guards) return value_of(n, t, why);
    isl_set *all = isl_set_copy(n->domain), *where = guarded(n, t, why);
    isl_pw_aff *v = where ? value_of(n, t, why) : NULL;
    isl_set_free(n->domain);
    n->domain = all;
    if (v) {
        isl_set *rest = vy_isl_set_subtract(isl_set_copy(all), isl_set_copy(where));
        isl_pw_aff *zero = vy_isl_pw_aff_intersect_domain(vy_nest_number(n, 0), rest);
        v = vy_isl_pw_aff_union_add(vy_isl_pw_aff_intersect_domain(v, isl_set_copy(where)), zero);
        v = vy_isl_pw_aff_coalesce(v);
    }
    isl_set_free(where);
    return v;
}

uint32_t vy_other_factor(const vy_extent *all, const vy_extent *some, uint32_t count)
{
    uint32_t used = 0, other = count;
    for (uint32_t k = 0; k <= count; k++) {
        uint32_t j = 0;
        while (j < count && (used >> j & 1 || !vy_same_form(all[k], some[j]))) j++;
        if (j < count)
            used |= 1u << j;
        else
            other = k;
    }
    return used == (1u << count) - 1 ? other : count + 1;
}

bool vy_same_factors(const vy_extent *x, const vy_extent *y, uint32_t count)
{
    uint32_t used = 0;
    for (uint32_t k = 0; k < count; k++) {
        uint32_t j = 0;
        while (j < count && (used >> j & 1 || !vy_same_form(x[k], y[j]))) j++;
        if (j == count) return false;
        used |= 1u << j;
    }
    return true;
}

int vy_row_of(const vy_affine_rows *r, const vy_flat_term *t)
{
    uint32_t k = 0;
    while (k < r->axes && (r->axis[k].count != t->count ||
                           !vy_same_factors(r->axis[k].factor, t->factor, t->count) ||
                           t->constant % r->axis[k].constant))
        k++;
    return k < r->axes ? (int)k : -1;
}

isl_pw_aff *vy_row_value(vy_nest *n, const vy_affine_axis *x, const vy_flat_term *t,
                         vy_affine_why *why)
{
    vy_flat_term along = *t;
    along.constant /= x->constant;
    return vy_flat_value(n, &along, why);
}

bool vy_take_strides(const vy_affine *a, const vy_affine_rows *r, vy_flat_terms *t)
{
    bool any = false;
    for (uint32_t k = 0; k < t->count && !r->summed; k++) {
        vy_flat_term more = t->term[k];
        if (more.count == VY_FLAT_FACTORS || !more.value ||
            !vy_flat_constant(a, more.value, &more.factor[more.count]))
            continue;
        more.value = 0;
        more.count++;
        if (vy_row_of(r, &more) < 0) continue;
        t->term[k] = more;
        any = true;
    }
    return any;
}

isl_set *vy_rows_signed(vy_affine *a, const vy_affine_rows *r, isl_set *set)
{
    for (uint32_t k = 0; k < r->signs; k++) {
        isl_space *space = vy_isl_space_set_alloc(a->ctx, 0, 0);
        isl_pw_aff *v = vy_affine_param_number(a, space, false, r->sign[k].scalar).pa;
        v = vy_isl_pw_aff_add_constant_val(v, -(int64_t)r->sign[k].least);
        set = vy_isl_set_intersect_params(set, vy_isl_set_params(vy_isl_pw_aff_nonneg_set(v)));
    }
    return set;
}
