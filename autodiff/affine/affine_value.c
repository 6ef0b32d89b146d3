// SPDX-License-Identifier: MIT
// affine_value.c: expressions of a program as piecewise quasi-affine functions, and conditions as
// sets.
//
//   i * 4 + (j & 3)               4i + (j mod 4)
//   min(i, N - 1), i == 0 ? 1 : i  a piece for each case
//
// What wraps: affine_fit.c.  Quotients: affine_divide.c.
#include "autodiff/affine/affine.h"
#include "ir/core/flow.h"

enum {
    MAX_STEPS = 256 // instructions visited for one value
};

typedef struct walk {
    vy_nest *n;
    vy_affine_why *why;
    int steps;
} walk;

static const vy_number none = {0};

static vy_number refuse(walk *w, vy_affine_why why)
{
    if (*w->why == VY_AFFINE_FINE) *w->why = why;
    return none;
}

// x reduced to the range of type t.  Takes x.
static vy_number fit(walk *w, vy_number x, vy_type t)
{
    vy_affine_why why = VY_AFFINE_FINE;
    x = vy_affine_fit(w->n, x, t, &why);
    return x.pa ? x : refuse(w, why);
}

// ------------------------------------------------------------------------------------------ values
static vy_number value(walk *w, uint32_t id);
static isl_set *condition(walk *w, uint32_t id, bool holds);

static vy_number dimension(walk *w, int k)
{
    vy_nest *n = w->n;
    return (vy_number){vy_nest_axis(n, (uint32_t)k), n->range[k]};
}

static vy_number leaf(walk *w, uint32_t id)
{
    vy_affine *a = w->n->a;
    const vy_leaf *l = &a->p->leaves.data[VY_LEAF_INDEX(id)];
    int64_t c;
    if (!vy_type_is_integer((vy_type)l->type)) return refuse(w, VY_AFFINE_DATA);
    switch ((vy_leaf_kind)l->kind) {
    case VY_LEAF_CONST:
        if (!vy_id_int(a->p, id, &c) || c > INT64_MAX / 2 || c < INT64_MIN / 2)
            return refuse(w, VY_AFFINE_WRAP);
        return (vy_number){vy_nest_number(w->n, c), {c, c}};
    case VY_LEAF_SCALAR:
        return vy_affine_param_number(a, isl_space_copy(w->n->space), false, l->index);
    case VY_LEAF_LEN:
        return vy_affine_dim_number(a, isl_space_copy(w->n->space),
                                    a->p->buffers.data[l->index].dims[l->axis].id);
    case VY_LEAF_BUILTIN: {
        const vy_number at = vy_affine_place(w->n, l);
        return at.pa ? at : refuse(w, VY_AFFINE_BUILTIN);
    }
    default: return refuse(w, VY_AFFINE_DATA);
    }
}

// Replaces a function with a single value by that constant, which is simpler for isl.
static vy_number as_constant(walk *w, vy_number x)
{
    if (x.range.lo != x.range.hi) return x;
    isl_pw_aff_free(x.pa);
    x.pa = vy_nest_number(w->n, x.range.lo);
    return x;
}

// `id`, which is of x and y, as the number of a launch.  Takes both.
static vy_number launched(walk *w, uint32_t id, vy_number x, vy_number y)
{
    vy_affine *a = w->n->a;
    vy_affine_drop(x, y);
    x = vy_affine_dim_number(a, isl_space_copy(w->n->space), a->numbers[id].dim);
    x.range = a->numbers[id].range;
    return x.pa ? x : refuse(w, VY_AFFINE_LIMIT);
}

// `id`, which is x / y or x % y.  Takes both.
static vy_number divided(walk *w, uint32_t id, vy_number x, vy_number y)
{
    vy_affine *a = w->n->a;
    const vy_op op = (vy_op)a->p->insts.data[id].op;
    vy_affine_why why = VY_AFFINE_FINE;
    if (y.range.lo != y.range.hi && a->numbers && a->numbers[id].dim) return launched(w, id, x, y);
    x = vy_affine_divide(w->n, op, x, y, &why);
    return x.pa ? fit(w, x, (vy_type)a->p->insts.data[id].type) : refuse(w, why);
}

static vy_number binary(walk *w, uint32_t id, vy_op op, uint32_t a, uint32_t b)
{
    const vy_type type = (vy_type)w->n->a->p->insts.data[id].type;
    vy_number x = value(w, a), y = x.pa ? value(w, b) : none;
    if (!x.pa || !y.pa) {
        vy_affine_drop(x, y);
        return none;
    }
    if (op == VY_OP_DIV || op == VY_OP_REM) return divided(w, id, x, y);
    // The builder writes x - 1 of unsigned numbers as x + 4294967295.
    bool minus =
        op == VY_OP_ADD && y.range.lo == y.range.hi && y.range.lo > INT32_MAX && type == VY_U32;
    if (minus) y.range.lo = y.range.hi -= INT64_C(1) << 32;
    if (op == VY_OP_MUL && x.range.lo != x.range.hi && y.range.lo != y.range.hi) {
        if (w->n->a->numbers && w->n->a->numbers[id].product) return launched(w, id, x, y);
        vy_affine_drop(x, y);
        return refuse(w, VY_AFFINE_PRODUCT);
    }
    x = as_constant(w, x);
    y = as_constant(w, y);
    vy_affine_weigh_both(w->n->a, x.pa, y.pa);
    vy_number r = vy_affine_combine(op, x, y);
    return fit(w, r, type);
}

// Shifts and masks by constants are multiplications, divisions and remainders by powers of two.
static vy_number bits(walk *w, uint32_t id, vy_op op)
{
    const vy_program *p = w->n->a->p;
    int64_t c;
    if (!vy_id_int(p, vy_arg(p, id, 1), &c) || c < 0) return refuse(w, VY_AFFINE_OPERATION);
    bool mask = op == VY_OP_AND && c < INT32_MAX && (c & (c + 1)) == 0;
    if (!mask && (op == VY_OP_AND || c > 30)) return refuse(w, VY_AFFINE_OPERATION);
    int64_t by = mask ? c + 1 : INT64_C(1) << c;
    vy_number x = value(w, vy_arg(p, id, 0));
    if (!x.pa) return none;
    if (op == VY_OP_SHL)
        x = vy_affine_combine(VY_OP_MUL, x, (vy_number){vy_nest_number(w->n, by), {by, by}});
    else
        x = vy_affine_divide_down(w->n, mask ? VY_OP_REM : VY_OP_DIV, x, by);
    return fit(w, x, (vy_type)p->insts.data[id].type);
}

// a where c holds, else b; each is analysed only in the subdomain where it is chosen.
static vy_number choice(walk *w, uint32_t c, uint32_t a, uint32_t b)
{
    vy_nest *n = w->n;
    isl_set *saved = n->domain, *yes = condition(w, c, true);
    if (!yes) return none;
    isl_set *no = vy_isl_set_subtract(isl_set_copy(saved), isl_set_copy(yes));
    n->domain = vy_isl_set_intersect(isl_set_copy(saved), isl_set_copy(yes));
    vy_number x = value(w, a);
    isl_set_free(n->domain);
    n->domain = isl_set_copy(no);
    vy_number y = x.pa ? value(w, b) : none;
    isl_set_free(n->domain);
    n->domain = saved;
    if (!x.pa || !y.pa) {
        isl_set_free(yes);
        isl_set_free(no);
        vy_affine_drop(x, y);
        return none;
    }
    vy_number r = {.range = vy_interval_join(x.range, y.range)};
    r.pa = vy_isl_pw_aff_union_add(vy_isl_pw_aff_intersect_domain(x.pa, yes),
                                   vy_isl_pw_aff_intersect_domain(y.pa, no));
    r.pa = vy_isl_pw_aff_coalesce(r.pa);
    return r;
}

// The values that the arms of an `if` yield for result `id`, and its condition; 0: no such result.
static uint32_t arms(const walk *w, uint32_t id, uint32_t *then, uint32_t *other)
{
    const vy_program *p = w->n->a->p;
    uint32_t opener = vy_choice(p, w->n->a->s, id, then, other);
    return opener ? vy_arg(p, opener, 0) : 0;
}

// A u32 parameter that may exceed INT32_MAX: its i32 cast gets a fresh isl parameter, as the
// wrapped form would be piecewise.
static bool needs_own_param(walk *w, uint32_t id, vy_number x)
{
    const vy_leaf *l = VY_IS_LEAF(id) ? &w->n->a->p->leaves.data[VY_LEAF_INDEX(id)] : NULL;
    if (!l || l->kind != VY_LEAF_SCALAR || l->type != VY_U32 || x.range.hi <= INT32_MAX)
        return false;
    isl_set *high = vy_isl_pw_aff_gt_set(isl_pw_aff_copy(x.pa), vy_nest_number(w->n, INT32_MAX));
    high = vy_isl_set_intersect(high, vy_nest_reached(w->n));
    bool some = vy_isl_set_is_empty(high) != isl_bool_true;
    isl_set_free(high);
    return some;
}

static vy_number negated(walk *w, uint32_t id, vy_type type)
{
    const vy_number x = value(w, id);
    if (!x.pa) return none;
    const vy_number zero = {vy_nest_number(w->n, 0), {0, 0}};
    return fit(w, vy_affine_combine(VY_OP_SUB, zero, x), type);
}

// The value cast to an integer type, or its bits taken as one.
static vy_number converted(walk *w, uint32_t id, vy_type type)
{
    const vy_program *p = w->n->a->p;
    if (!vy_type_is_integer(vy_id_type(p, id))) return refuse(w, VY_AFFINE_DATA);
    const vy_number x = value(w, id);
    if (x.pa && type == VY_I32 && needs_own_param(w, id, x)) {
        isl_pw_aff_free(x.pa);
        return vy_affine_as_i32_number(w->n->a, isl_space_copy(w->n->space),
                                       p->leaves.data[VY_LEAF_INDEX(id)].index);
    }
    return x.pa ? fit(w, x, type) : none;
}

static vy_number value(walk *w, uint32_t id)
{
    const vy_program *p = w->n->a->p;
    int k = vy_nest_dim(w->n, id);
    uint32_t then, other, cond;
    if (k >= 0) return dimension(w, k);
    if (VY_IS_LEAF(id)) return leaf(w, id);
    if (++w->steps > MAX_STEPS) return refuse(w, VY_AFFINE_LIMIT);
    const vy_inst *i = &p->insts.data[id];
    if (!vy_type_is_integer((vy_type)i->type)) return refuse(w, VY_AFFINE_DATA);
    vy_op op = (vy_op)i->op;
    switch (op) {
    case VY_OP_ADD:
    case VY_OP_SUB:
    case VY_OP_MUL:
    case VY_OP_DIV:
    case VY_OP_REM:
    case VY_OP_MIN:
    case VY_OP_MAX: return binary(w, id, op, vy_arg(p, id, 0), vy_arg(p, id, 1));
    case VY_OP_SHL:
    case VY_OP_SHR:
    case VY_OP_AND: return bits(w, id, op);
    case VY_OP_NEG: return negated(w, vy_arg(p, id, 0), (vy_type)i->type);
    case VY_OP_CAST:
    case VY_OP_BITCAST: return converted(w, vy_arg(p, id, 0), (vy_type)i->type);
    case VY_OP_SELECT: return choice(w, vy_arg(p, id, 0), vy_arg(p, id, 1), vy_arg(p, id, 2));
    case VY_OP_RESULT:
        cond = arms(w, id, &then, &other);
        return cond ? choice(w, cond, then, other) : refuse(w, VY_AFFINE_DATA);
    default:
        return refuse(w, vy_op_infos[op].effect == VY_PURE ? VY_AFFINE_OPERATION : VY_AFFINE_DATA);
    }
}

vy_number vy_affine_number(vy_nest *n, uint32_t id, vy_affine_why *why)
{
    *why = VY_AFFINE_FINE;
    walk w = {.n = n, .why = why};
    vy_number x = value(&w, id);
    if (!x.pa && *why == VY_AFFINE_FINE) *why = VY_AFFINE_LIMIT;
    return x;
}

isl_pw_aff *vy_affine_value(vy_nest *n, uint32_t id, vy_affine_why *why)
{
    return vy_affine_number(n, id, why).pa;
}

// -------------------------------------------------------------------------------------- conditions
// Where a and b both equal `holds`.  One operand may wrap where the other fails, so if one order is
// refused, the other is tried: the second operand is analysed only where the first holds.
static isl_set *both(walk *w, uint32_t a, uint32_t b, bool holds)
{
    vy_nest *n = w->n;
    for (int swapped = 0; swapped < 2; swapped++) {
        vy_affine_why before = *w->why;
        isl_set *x = condition(w, swapped ? b : a, holds), *saved = n->domain;
        if (x) {
            n->domain = vy_isl_set_intersect(isl_set_copy(saved), isl_set_copy(x));
            isl_set *y = condition(w, swapped ? a : b, holds);
            isl_set_free(n->domain);
            n->domain = saved;
            if (y) return vy_isl_set_intersect(x, y);
            isl_set_free(x);
        }
        if (!swapped) *w->why = before;
    }
    return NULL;
}

static isl_set *complement(walk *w, isl_set *set)
{
    return set ? vy_isl_set_subtract(vy_isl_set_universe(isl_space_copy(w->n->space)), set) : NULL;
}

// The exclusive or that is compared with 0 in (x ^ y) < 0, of GLSL's remainder; 0: none is.
static uint32_t xor_of_signs(const walk *w, vy_op op, uint32_t a, uint32_t b)
{
    const vy_program *p = w->n->a->p;
    int64_t zero;
    const bool is = op == VY_OP_LT && !VY_IS_LEAF(a) && p->insts.data[a].op == VY_OP_XOR &&
                    vy_type_is_signed(vy_id_type(p, a)) && vy_id_int(p, b, &zero) && zero == 0;
    return is ? a : 0;
}

// x == min(max(x, lo), hi), as a conjunction; NULL: it is something else, or no conjunction.
static isl_set *clamped(walk *w, uint32_t a, uint32_t b)
{
    uint32_t lo, hi;
    const uint32_t x = vy_affine_clamp(w->n->a->p, a, b, &lo, &hi);
    const vy_number v = x ? value(w, x) : none, l = v.pa ? value(w, lo) : none;
    return v.pa ? vy_affine_between(v, l, l.pa ? value(w, hi) : none) : NULL;
}

static isl_set *comparison(walk *w, vy_op op, uint32_t a, uint32_t b, bool holds)
{
    const bool equal = op == (holds ? VY_OP_EQ : VY_OP_NE);
    isl_set *between = equal ? clamped(w, a, b) : NULL;
    if (between) return between;
    const uint32_t mixed = xor_of_signs(w, op, a, b);
    if (mixed) {
        a = vy_arg(w->n->a->p, mixed, 0);
        b = vy_arg(w->n->a->p, mixed, 1);
    }
    vy_number x = value(w, a), y = x.pa ? value(w, b) : none;
    if (!x.pa || !y.pa) {
        vy_affine_drop(x, y);
        return NULL;
    }
    vy_affine_weigh_both(w->n->a, x.pa, y.pa);
    if (mixed) return vy_affine_signs_differ(w->n, x, y, holds);
    switch (op) {
    case VY_OP_LT:
        return holds ? vy_isl_pw_aff_lt_set(x.pa, y.pa) : vy_isl_pw_aff_ge_set(x.pa, y.pa);
    case VY_OP_LE:
        return holds ? vy_isl_pw_aff_le_set(x.pa, y.pa) : vy_isl_pw_aff_gt_set(x.pa, y.pa);
    default:
        return (op == VY_OP_EQ) == holds ? vy_isl_pw_aff_eq_set(x.pa, y.pa)
                                         : vy_isl_pw_aff_ne_set(x.pa, y.pa);
    }
}

static isl_set *chosen(walk *w, uint32_t c, uint32_t a, uint32_t b, bool holds)
{
    isl_set *yes = condition(w, c, true), *no = complement(w, isl_set_copy(yes));
    isl_set *x = yes ? condition(w, a, holds) : NULL, *y = x ? condition(w, b, holds) : NULL;
    if (!y) {
        isl_set_free(yes);
        isl_set_free(no);
        isl_set_free(x);
        return NULL;
    }
    return vy_isl_set_union(vy_isl_set_intersect(yes, x), vy_isl_set_intersect(no, y));
}

static isl_set *condition(walk *w, uint32_t id, bool holds)
{
    const vy_program *p = w->n->a->p;
    const vy_scalar *c = vy_id_const(p, id);
    uint32_t then, other, cond;
    isl_space *space = isl_space_copy(w->n->space);
    if (c) return (c->u != 0) == holds ? vy_isl_set_universe(space) : vy_isl_set_empty(space);
    isl_space_free(space);
    if (VY_IS_LEAF(id) || ++w->steps > MAX_STEPS) {
        refuse(w, VY_IS_LEAF(id) ? VY_AFFINE_DATA : VY_AFFINE_LIMIT);
        return NULL;
    }
    const vy_inst *i = &p->insts.data[id];
    vy_op op = (vy_op)i->op;
    switch (op) {
    case VY_OP_NOT: return condition(w, vy_arg(p, id, 0), !holds);
    case VY_OP_AND:
    case VY_OP_OR: {
        bool as = (op == VY_OP_OR) != holds; // `a or b` fails where both fail
        isl_set *set = both(w, vy_arg(p, id, 0), vy_arg(p, id, 1), op == VY_OP_AND);
        return as ? set : complement(w, set);
    }
    case VY_OP_LT:
    case VY_OP_LE:
    case VY_OP_EQ:
    case VY_OP_NE:
        if (vy_type_is_integer(vy_id_type(p, vy_arg(p, id, 0))))
            return comparison(w, op, vy_arg(p, id, 0), vy_arg(p, id, 1), holds);
        refuse(w, VY_AFFINE_DATA);
        return NULL;
    case VY_OP_SELECT:
        return chosen(w, vy_arg(p, id, 0), vy_arg(p, id, 1), vy_arg(p, id, 2), holds);
    case VY_OP_RESULT:
        cond = arms(w, id, &then, &other);
        if (cond) return chosen(w, cond, then, other, holds);
        refuse(w, VY_AFFINE_DATA);
        return NULL;
    default: refuse(w, VY_AFFINE_DATA); return NULL;
    }
}

isl_set *vy_affine_condition(vy_nest *n, uint32_t id, bool holds, vy_affine_why *why)
{
    *why = VY_AFFINE_FINE;
    walk w = {.n = n, .why = why};
    return condition(&w, id, holds);
}
