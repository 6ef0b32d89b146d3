// SPDX-License-Identifier: MIT
// most.c: see most.h.
#include "autodiff/affine/most.h"
#include "autodiff/affine/single.h"

#include <isl/constraint.h>

enum { MOST_PIECES = 4, LITTLE = 64, MOST_TIMES = 1 << 16 };

typedef struct bound {
    vy_affine *a;
    vy_program *p;
    bool round;
    isl_pw_aff *most; // the greatest element
    isl_aff *piece[MOST_PIECES];
    uint32_t pieces;
    bool failed;
} bound;

static vy_dim node(bound *b, vy_dim_node n)
{
    if (vy_vec_push(&b->p->dims, n)) return (vy_dim){b->p->dims.count - 1};
    b->a->failed = true;
    return (vy_dim){0};
}

static vy_dim constant_dim(bound *b, int64_t v)
{
    return node(b, (vy_dim_node){.op = VY_DIM_CONST, .value = v});
}

static vy_dim binary(bound *b, vy_dim_op op, vy_dim x, vy_dim y)
{
    return x.id && y.id ? node(b, (vy_dim_node){.op = op, .a = x.id, .b = y.id}) : (vy_dim){0};
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
static vy_dim parameter(bound *b, isl_aff *aff, unsigned k)
{
    isl_space *space = isl_aff_get_domain_space(aff);
    isl_id *id = isl_space_get_dim_id(space, isl_dim_param, k);
    vy_dim d = {0};
    for (uint32_t i = 0; i < b->a->params.count && !d.id; i++) {
        const vy_affine_param *q = &b->a->params.data[i];
        if (q->id != id || q->as_i32) continue;
        d = q->is_dim ? (vy_dim){q->index}
                      : node(b, (vy_dim_node){.op = VY_DIM_SCALAR, .value = q->index});
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

// d / by, as isl and dimensions round it alike: of what may be negative, which they do not, 0.
static vy_dim quotient(bound *b, vy_dim d, int64_t by)
{
    if (!d.id || by == 1) return d;
    const vy_number n = vy_affine_dim_number(b->a, vy_isl_space_set_alloc(b->a->ctx, 0, 0), d.id);
    isl_pw_aff_free(n.pa);
    if (n.range.lo < 0) d = binary(b, VY_DIM_MAX, d, constant_dim(b, 0));
    return binary(b, VY_DIM_DIV, d, constant_dim(b, by));
}

// aff / by + 1 as a dimension; id 0: it is none.  only: it may be rounded.
static vy_dim piece_extent(bound *b, isl_aff *aff, int64_t by, bool only)
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
        vy_dim d = parameter(b, aff, (unsigned)k);
        if (c != 1) d = binary(b, VY_DIM_MUL, d, constant_dim(b, c));
        sum = terms++ ? binary(b, VY_DIM_ADD, sum, d) : d;
        last = c;
        if (!sum.id) return sum;
    }
    constant += by;
    if (only) constant = rounded(constant, terms, last);
    if (!terms) return constant_dim(b, constant / by);
    if (constant < 0) sum = binary(b, VY_DIM_SUB, sum, constant_dim(b, -constant));
    if (constant > 0) sum = binary(b, VY_DIM_ADD, sum, constant_dim(b, constant));
    return quotient(b, sum, by);
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

// A question about all cases of the greatest element.
typedef struct comparing {
    const bound *b;
    bool greatest;
} comparing;

static isl_pw_aff *everywhere(isl_aff *aff) { return vy_isl_pw_aff_from_aff(aff); } // takes aff

// Where the greatest element is `aff`, is that no less (no more) than all pieces, and one of them?
// Takes both.
static isl_stat compare_case(isl_set *where, isl_aff *aff, void *user)
{
    const comparing *c = user;
    isl_stat is = isl_stat_ok;
    for (uint32_t k = 0; k < c->b->pieces && is == isl_stat_ok; k++) {
        isl_pw_aff *x = everywhere(isl_aff_copy(aff)),
                   *y = everywhere(isl_aff_copy(c->b->piece[k]));
        isl_set *good = c->greatest ? vy_affine_at_least(x, y) : vy_affine_at_least(y, x);
        if (vy_isl_set_is_subset(where, good) != isl_bool_true) is = isl_stat_error;
        isl_set_free(good);
    }
    isl_set_free(where);
    isl_aff_free(aff);
    return is;
}

// Is what is reached the greatest (least) of the pieces, wherever something is?  One case after the
// other, each a conjunction with one more constraint: the greatest of all pieces would have as many
// cases as there are orders of them, to be compared with each of those.  (What is reached is one of
// the pieces in any case.)
static bool is_extremum(const bound *b, bool greatest)
{
    comparing c = {b, greatest};
    return isl_pw_aff_foreach_piece(b->most, compare_case, &c) == isl_stat_ok;
}

static vy_dim extremum(bound *b)
{
    const bool greatest = is_extremum(b, true);
    vy_dim all = {0};
    if (b->failed || (!greatest && !is_extremum(b, false))) return all;
    for (uint32_t k = 0; k < b->pieces; k++) {
        const vy_dim d = piece_extent(b, b->piece[k], 1, b->round && b->pieces == 1);
        all = k ? binary(b, greatest ? VY_DIM_MAX : VY_DIM_MIN, all, d) : d;
    }
    return all;
}

// Is everything in `reached` less than parameter `at` of it?
static bool is_below(isl_set *reached, unsigned at)
{
    isl_local_space *space = vy_isl_local_space_from_space(isl_set_get_space(reached));
    isl_aff *end = vy_isl_aff_var_on_domain(isl_local_space_copy(space), isl_dim_param, at);
    isl_set *below = vy_isl_aff_lt_set(vy_isl_aff_var_on_domain(space, isl_dim_set, 0), end);
    const bool all = vy_isl_set_is_subset(reached, below) == isl_bool_true;
    isl_set_free(below);
    return all;
}

// A parameter that everything in `reached` is below; id 0: there is none.
static vy_dim parameter_above(bound *b, isl_set *reached, bool scalars)
{
    vy_affine *a = b->a;
    for (uint32_t i = 0; i < a->params.count; i++) {
        const vy_affine_param *q = &a->params.data[i];
        const int at = isl_set_find_dim_by_id(reached, isl_dim_param, q->id);
        if (q->as_i32 || (scalars && q->is_dim) || at < 0 || !is_below(reached, (unsigned)at))
            continue;
        return q->is_dim ? (vy_dim){q->index}
                         : node(b, (vy_dim_node){.op = VY_DIM_SCALAR, .value = q->index});
    }
    return (vy_dim){0};
}

typedef struct above {
    bound b;
    vy_dim end;
    uint32_t count;
    int64_t times; // the greatest n (times_of) that is taken
} above;

// n, if the constraint says that n times the element is no more than a sum of scalars; else 0.
static int64_t times_of(isl_constraint *c, int64_t most)
{
    int64_t by;
    if (!take_integer(isl_constraint_get_coefficient_val(c, isl_dim_set, 0), &by)) return 0;
    if (by > 0 && isl_constraint_is_equality(c) != isl_bool_true) return 0;
    by = by < 0 ? -by : by;
    return by <= most ? by : 0;
}

// Takes the constraint c: the element, or a few times that, is no more than a sum of scalars?  (Of
// a sum that is negative the quotient says less than the constraint.)
static isl_stat see_constraint(isl_constraint *c, void *user)
{
    above *x = user;
    const int64_t by = times_of(c, x->times);
    if (by && x->count < MOST_PIECES) {
        isl_aff *sum = isl_constraint_get_bound(c, isl_dim_set, 0);
        sum = isl_aff_scale_val(sum, isl_val_int_from_si(x->b.a->ctx, by));
        const vy_dim end = sum ? piece_extent(&x->b, sum, by, false) : (vy_dim){0};
        isl_aff_free(sum);
        x->count += end.id != 0;
        if (end.id) x->end = x->end.id ? binary(&x->b, VY_DIM_MIN, x->end, end) : end;
    }
    isl_constraint_free(c);
    return isl_stat_ok;
}

vy_dim vy_affine_above(vy_affine *a, vy_program *p, isl_set *reached)
{
    above x = {.b = {.a = a, .p = p}};
    x.end = parameter_above(&x.b, reached, false);
    if (!x.end.id) {
        isl_basic_set *hull = vy_isl_set_simple_hull(vy_isl_set_remove_divs(isl_set_copy(reached)));
        for (x.times = 1; x.times <= MOST_TIMES && !x.end.id; x.times *= MOST_TIMES)
            isl_basic_set_foreach_constraint(hull, see_constraint, &x);
        isl_basic_set_free(hull);
    }
    return vy_affine_ok(a) ? x.end : (vy_dim){0};
}

// Is something in it divided?
static bool has_quotient(const vy_program *p, vy_dim d)
{
    const vy_dim_node *n = &p->dims.data[d.id];
    if (n->op == VY_DIM_DIV) return true;
    return n->op >= VY_DIM_ADD && n->op != VY_DIM_SQRT &&
           (has_quotient(p, (vy_dim){n->a}) || has_quotient(p, (vy_dim){n->b}));
}

vy_dim vy_affine_end_of(vy_affine *a, vy_program *p, isl_set *reached, bool round)
{
    bound b = {.a = a, .p = p, .round = round};
    vy_affine_limit(a, 1);
    vy_affine_weigh_maximum(a, reached);
    isl_set *context = vy_isl_set_params(isl_set_copy(reached));
    const bool could = vy_affine_ok(a);
    b.most = vy_isl_set_dim_max(vy_isl_set_coalesce(isl_set_copy(reached)), 0);
    if (could && !vy_affine_ok(a)) a->memory->given_up++;
    isl_pw_aff *simple = vy_isl_pw_aff_gist_params(isl_pw_aff_copy(b.most), context);
    simple = vy_isl_pw_aff_coalesce(simple);
    const bool ok = isl_pw_aff_foreach_piece(simple, add_piece, &b) == isl_stat_ok;
    vy_dim end = ok && b.pieces ? extremum(&b) : (vy_dim){0};
    if (a->quotients && end.id && has_quotient(p, end)) {
        const vy_dim scalar = parameter_above(&b, reached, true);
        end = scalar.id ? scalar : end;
    }
    for (uint32_t k = 0; k < b.pieces; k++) isl_aff_free(b.piece[k]);
    isl_pw_aff_free(simple);
    isl_pw_aff_free(b.most);
    return vy_affine_ok(a) ? end : (vy_dim){0};
}
