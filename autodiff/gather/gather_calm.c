// SPDX-License-Identifier: MIT
// gather_calm.c: scalars that the launch shows to be far from where arithmetic wraps around, or not
// to be negative.
//
//   let sx = i32(i) * 4;
//   if sx == w - 1 { … a[z * cstep + sx] … }        over(z: c, i: outw)
//
// An i32 that a shader is given may be anything, and so w - 1 = 2³¹ - 1 for w = -2³¹: what is
// affine here has a case for each way to wrap around, and many of them are too many.  No size of a
// picture comes near that.  So where additions stay atomic that numbers which wrap may be the
// reason of, the analysis is repeated with the scalars that it met calm, between ±2²⁶.  If fewer
// buffers are added to atomically then, that is a condition of the launch, as are those of
// gather_assume.c.  Where the analysis did not come as far as to meet all scalars, those that the
// indices, bounds of loops and conditions around an addition are computed from are taken, too.
//
//   let x = i32(i) + offset;
//   … a[x / 4] …                                           over(i: n)
//
// A quotient is rounded to 0, which is affine of numbers of one sign alone.  Where that may be the
// reason, scalars that are divided are taken not to be negative, too.  That may be the reason once
// numbers do not wrap: then there is a third attempt.  Where products are, a last attempt takes
// those of scalars to be small (gather_multiplied.c).
#include "autodiff/gather/gather_attempts.h"

#include "ir/core/flow.h"

uint32_t gather_left_atomic(const gather *g)
{
    uint32_t n = 0;
    for (uint32_t b = 1; b < g->r->buffers.count; b++) {
        bool left = false;
        for (uint32_t k = 0; k < g->site_count; k++)
            left |= g->sites[k].access.buffer == b && !g->sites[k].gathered;
        n += left;
    }
    return n;
}

// May what is not known of scalars be all that leaves buffer b to atomic additions?
static bool is_left_for_scalars(const gather *g, uint32_t b)
{
    bool any = false;
    for (uint32_t k = 0; k < g->site_count; k++) {
        const gather_site *site = &g->sites[k];
        if (site->access.buffer != b || site->gathered || site->joins) continue;
        if (!site->wraps && !site->divides) return false;
        any = true;
    }
    return any;
}

// What stays atomic may do so since numbers could wrap around, or what is divided be negative, or
// since not all scalars were met.
typedef struct reasons {
    bool wraps, divides, unmet, factors;
} reasons;

static void see_reasons(const gather *g, uint32_t b, reasons *all)
{
    for (uint32_t k = 0; k < g->site_count; k++) {
        if (g->sites[k].access.buffer != b || g->sites[k].gathered) continue;
        all->wraps |= g->sites[k].wraps;
        all->divides |= g->sites[k].divides;
        all->unmet |= g->sites[k].involved;
        all->factors |= g->sites[k].factors;
    }
}

static bool is_integer_of_32_bits(vy_type t)
{
    return vy_type_is_integer(t) && vy_type_size(t) == 4;
}

// What the scalar is taken to be.
static uint8_t kind_of(const gather *g, const uint8_t *divided, uint32_t scalar)
{
    const vy_type t = g->r->scalars.data[scalar].type;
    if (!is_integer_of_32_bits(t)) return VY_AFFINE_ANY;
    if (g->split.kind && g->split.kind[scalar] == VY_AFFINE_NATURAL) return VY_AFFINE_NATURAL;
    return divided && divided[scalar] ? divided[scalar] : VY_AFFINE_IS_CALM;
}

static void take_kind(uint8_t *calm, uint32_t scalar, uint8_t kind)
{
    if (calm[scalar] < kind) calm[scalar] = kind;
}

// Marks operand x of what decides where an addition is, or takes it if it is a scalar.
static void see_operand(const gather *g, uint32_t x, uint8_t *in, uint8_t *calm,
                        const uint8_t *divided)
{
    const vy_program *p = g->r;
    const vy_leaf *l = VY_IS_LEAF(x) ? &p->leaves.data[VY_LEAF_INDEX(x)] : NULL;
    const vy_type t = l ? (vy_type)l->type : (vy_type)p->insts.data[x].type;
    if (!l)
        in[x] |= vy_type_is_integer(t) || (t == VY_BOOL && !divided);
    else if (l->kind == VY_LEAF_SCALAR)
        take_kind(calm, l->index, kind_of(g, divided, l->index));
}

// The scalar w if `id` is w - 1; NULL: it is something else.
static const vy_leaf *one_more(const vy_program *p, uint32_t id)
{
    int64_t c;
    if (VY_IS_LEAF(id) || (p->insts.data[id].op != VY_OP_SUB && p->insts.data[id].op != VY_OP_ADD))
        return NULL;
    const uint32_t w = vy_arg(p, id, 0);
    const vy_leaf *l = VY_IS_LEAF(w) ? &p->leaves.data[VY_LEAF_INDEX(w)] : NULL;
    const bool is = l && l->kind == VY_LEAF_SCALAR && vy_id_int(p, vy_arg(p, id, 1), &c) &&
                    c == (p->insts.data[id].op == VY_OP_SUB ? 1 : -1);
    return is && is_integer_of_32_bits((vy_type)l->type) ? l : NULL;
}

// x == min(max(x, 0), w - 1): is x within a picture?  It is one of at least one row.
static void see_clamp(const gather *g, uint32_t id, uint8_t *calm)
{
    const vy_program *p = g->r;
    const vy_op op = (vy_op)p->insts.data[id].op;
    uint32_t lo, hi;
    if (op != VY_OP_EQ && op != VY_OP_NE) return;
    if (!vy_affine_clamp(p, vy_arg(p, id, 0), vy_arg(p, id, 1), &lo, &hi)) return;
    const vy_leaf *l = one_more(p, hi);
    if (l) take_kind(calm, l->index, VY_AFFINE_POSITIVE);
}

// uint(x) < uint(w): is x within a picture, of at least no rows?
static void see_unsigned(const gather *g, uint32_t id, uint8_t *calm)
{
    const vy_program *p = g->r;
    if (p->insts.data[id].op != VY_OP_LT) return;
    const uint32_t w = vy_arg(p, id, 1), of = gather_plain(p, w);
    const vy_leaf *l = VY_IS_LEAF(of) ? &p->leaves.data[VY_LEAF_INDEX(of)] : NULL;
    if (l && l->kind == VY_LEAF_SCALAR && l->type == VY_I32 && vy_id_type(p, w) == VY_U32)
        take_kind(calm, l->index, VY_AFFINE_NATURAL);
}

// The bounds of the loops around an addition, and the conditions.
static void see_openers(const gather *g, uint32_t id, uint8_t *in, uint8_t *calm)
{
    for (uint32_t up = g->s.parent[id]; up; up = g->s.parent[up]) {
        const vy_op op = (vy_op)g->r->insts.data[up].op;
        const uint32_t n = op == VY_OP_LOOP ? 2 : op == VY_OP_IF ? 1 : 0;
        for (uint32_t k = 0; k < n; k++) see_operand(g, vy_arg(g->r, up, k), in, calm, NULL);
    }
}

// The analysis gave up on the way, at a quotient or at what could wrap around, so it has not met
// what else is in the index, or in the bounds of loops: takes the scalars that these are computed
// from.
static void see_indices(gather *g, uint8_t *calm, const uint8_t *divided)
{
    const vy_program *p = g->r;
    uint8_t *in = vy_arena_alloc(&g->arena, p->insts.count); // by instruction: it is in an index
    uint32_t from[3];
    g->failed |= !in;
    for (uint32_t k = 0; k < g->site_count && in; k++) {
        const gather_site *site = &g->sites[k];
        if (site->gathered || !(divided ? site->divides : site->wraps)) continue;
        in[site->id] = 1;
        if (!divided) see_openers(g, site->id, in, calm);
    }
    for (uint32_t id = p->insts.count; id-- > 1 && in;) {
        const bool adds = p->insts.data[id].op == VY_OP_ATOMIC_ADD;
        if (in[id]) {
            see_clamp(g, id, calm);
            see_unsigned(g, id, calm);
        }
        for (uint32_t k = 0; in[id] && k < p->insts.data[id].nargs - adds; k++)
            see_operand(g, vy_arg(p, id, k), in, calm, divided);
        if (!in[id] || p->insts.data[id].op != VY_OP_RESULT) continue;
        for (uint32_t k = vy_slot_sources(p, &g->s, id, from); k-- > 0;)
            see_operand(g, from[k], in, calm, divided);
    }
}

void gather_leave_for_calm(gather_site *site)
{
    site->why = "could wrap around";
    site->wraps = site->involved = true;
}

gather_calm gather_calmer(gather *g)
{
    const gather_calm none = {0};
    bool any = false;
    reasons why = {0};
    if (g->calm.products || (g->calm.signs && g->owns)) return none;
    gather_see_divided_factors(g);
    for (uint32_t b = 1; b < g->r->buffers.count; b++)
        if (is_left_for_scalars(g, b)) see_reasons(g, b, &why);
    const uint8_t *divided = why.divides && !g->calm.signs ? gather_divided(g) : NULL;
    const uint8_t *multiplied =
        !divided && g->calm.scalar && why.factors && !g->owns ? gather_multiplied(g) : NULL;
    if (!multiplied && g->calm.signs) return none;
    if (!divided && !why.wraps) return none;
    if (!divided && !multiplied && g->calm.scalar && why.factors) return none; // which none changes
    uint8_t *calm = vy_arena_alloc(&g->arena, g->r->scalars.count + 1);
    g->failed |= !calm;
    for (uint32_t k = 0; calm && k < g->r->scalars.count; k++)
        if ((divided && divided[k]) || (g->split.kind && g->split.kind[k]))
            calm[k] = kind_of(g, divided, k);
    for (uint32_t k = 0; calm && k < g->a.params.count; k++) {
        const vy_affine_param *q = &g->a.params.data[k];
        if (!q->is_dim) calm[q->index] = kind_of(g, divided, q->index);
    }
    if (calm && (divided || why.unmet || g->calm.scalar)) see_indices(g, calm, divided);
    for (uint32_t k = 0; calm && k < g->r->scalars.count; k++) {
        const uint8_t before = g->calm.scalar ? g->calm.scalar[k] : VY_AFFINE_ANY;
        if (multiplied && calm[k] < multiplied[k]) calm[k] = multiplied[k];
        any |= calm[k] > before;
        if (calm[k] < before) calm[k] = before;
    }
    const uint32_t left = g->calm.scalar ? g->calm.left : gather_left_atomic(g);
    const gather_calm all = {calm, divided || g->calm.signs, multiplied != NULL, left};
    return any || multiplied ? all : none;
}

bool gather_is_calm_in_vain(const gather *g)
{
    return g->calm.scalar && gather_left_atomic(g) >= g->calm.left;
}

// The kinds of scalars, and the numbers that they make then.
static const uint8_t *make_numbers(gather *g)
{
    const uint8_t *kind = g->calm.scalar ? g->calm.scalar : g->split.kind;
    if (!g->numbers) g->numbers = vy_launch_numbers_make(g->r, kind, g->calm.products, &g->arena);
    g->failed |= !g->numbers;
    return kind;
}

bool gather_begin_affine(gather *g)
{
    const uint8_t *kind = make_numbers(g);
    g->a = (vy_affine){.calm = kind,
                       .calm_extents = g->calm.scalar != NULL,
                       .numbers = g->numbers,
                       .multiples = g->owns,
                       .quotients = g->owns,
                       .memory = g->isl};
    const bool ok = !g->failed && vy_affine_begin_with(&g->a, g->r, &g->s);
    g->a.thrifty = g->thrifty;
    return ok;
}

// The greatest, or the least of those of the kind.
static vy_dim extreme(gather *g, bool greatest, uint8_t kind)
{
    vy_dim all = {0};
    for (uint32_t k = 0; k < g->r->scalars.count && !g->failed; k++) {
        if (greatest ? !g->calm.scalar[k] : g->calm.scalar[k] != kind) continue;
        if (!greatest && !vy_type_is_signed(g->r->scalars.data[k].type)) continue;
        const vy_dim d = gather_scalar(g, k);
        all = all.id ? gather_node(g, greatest ? VY_DIM_MAX : VY_DIM_MIN, all, d) : d;
    }
    return all;
}

// Those of the kind are at least `bound`.
static void require_least(gather *g, uint8_t kind, int64_t bound)
{
    const vy_dim least = extreme(g, false, kind);
    if (!least.id || g->failed) return;
    const vy_dim holds = gather_less(g, gather_number(g, bound - 1), least);
    gather_require(g, gather_number(g, bound), least, holds);
}

vy_dim gather_magnitude(gather *g, vy_dim x, vy_dim d)
{
    const vy_dim_node n = g->r->dims.data[d.id];
    if (n.op == VY_DIM_MUL)
        return gather_magnitude(g, gather_magnitude(g, x, (vy_dim){n.a}), (vy_dim){n.b});
    const vy_dim minus = gather_node(g, VY_DIM_SUB, gather_number(g, 0), d);
    return gather_times(g, x, gather_node(g, VY_DIM_MAX, d, minus), true);
}

// Extents that are products of scalars are calm, too.
static void require_extents(gather *g, vy_dim most, vy_dim above)
{
    for (uint32_t k = 0; k < g->r->overs.count && k < GATHER_PARTS && !g->failed; k++) {
        const vy_dim extent = g->r->overs.data[k].extent;
        if (g->r->dims.data[extent.id].op != VY_DIM_MUL) continue;
        gather_require(g, extent, most,
                       gather_less(g, gather_magnitude(g, (vy_dim){0}, extent), above));
    }
}

// The products that are numbers are no more than `most`, which is one less than `above`.
static void require_products(gather *g, vy_dim most, vy_dim above)
{
    for (uint32_t id = 1; id < g->r->insts.count && g->numbers && !g->failed; id++) {
        const vy_dim product = {g->numbers[id].product};
        if (!product.id) continue;
        gather_require(g, product, most,
                       gather_less(g, gather_magnitude(g, (vy_dim){0}, product), above));
    }
}

void gather_assume_calm(gather *g)
{
    if (!g->calm.scalar) return;
    if (g->calm.products) make_numbers(g);
    const vy_dim greatest = extreme(g, true, VY_AFFINE_ANY);
    const vy_dim most = gather_number(g, VY_AFFINE_CALM),
                 above = gather_number(g, VY_AFFINE_CALM + 1);
    gather_require(g, greatest, most, gather_less(g, greatest, above));
    require_extents(g, most, above);
    if (g->calm.products) require_products(g, most, above);
    require_least(g, VY_AFFINE_IS_CALM, -VY_AFFINE_CALM);
    require_least(g, VY_AFFINE_NATURAL, 0);
    require_least(g, VY_AFFINE_POSITIVE, 1);
}
