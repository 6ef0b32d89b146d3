// SPDX-License-Identifier: MIT
// gather_multiples.c: quotients of multiples, by what the launch shows to be a multiple, too.
//
//   let s = i32(i) * 4 + 1;  … a[s / w], b[s % w]         w % 4 <= 0
//
//   s / w = i / (w / 4)         s % w = i % (w / 4) * 4 + 1
//
// (4q + c) / 4d, where 0 ≤ c < 4, is q / d, and the remainder is 4 (q % d) + c.  So elements that
// are packed by four, out of rows whose length is a multiple of four, have coordinates like any
// others (gather_split.h), of which w / 4 is the length of a row.  w may be a product, w * h, of
// which w is the multiple.
//
// Assumed of the launch, as all of it is what it reads as only then: w is a multiple, all scalars
// of such a product are at least 1 and the product is at most 2³⁰, as is 4 times the extent of i.
// What is divided is not negative then, and does not wrap around.
#include "autodiff/gather/gather_attempts.h"

#include "ir/build/rewrite.h"
#include "ir/check/check.h"
#include "ir/pass/pass.h"

#include <string.h>

enum { MOST_FACTORS = 4, MOST_TIMES = 16, MOST_NUMBER = 1 << 30, MOST_CONDITIONS = 16 };

// A product of scalars.
typedef struct product {
    uint32_t scalar[MOST_FACTORS], count;
} product;

// What an instruction is.
typedef enum kind {
    OTHER,
    NATURAL,  // never negative
    MULTIPLE, // times · q + rest
    SAME,     // as its last operand, GLSL's v % w: select((v ^ w) < 0 && v != 0, v + w, v)
    DIVIDED,  // q / d
    LEFT,     // q % d · times + rest, a MULTIPLE
    NEVER,    // false: (v ^ w) < 0 of numbers that are not negative
} kind;

typedef struct multiples {
    vy_rewrite w;
    int64_t times;
    uint8_t *kind;  // by instruction
    uint8_t *rest;  // … of a MULTIPLE or LEFT
    uint32_t *q;    // … in the new program
    bool *assumed;  // by scalar: it is a multiple
    bool *positive; // … it is at least 1
    uint32_t *part; // … and what it is then, divided by times
} multiples;

// --------------------------------------------------------------------------------------- operands
static bool is_narrow(vy_type t) { return vy_type_is_integer(t) && vy_type_size(t) == 4; }

static const vy_leaf *leaf_of(const vy_program *p, uint32_t id)
{
    id = gather_plain(p, id);
    return VY_IS_LEAF(id) ? &p->leaves.data[VY_LEAF_INDEX(id)] : NULL;
}

static bool product_of(const vy_program *p, uint32_t id, product *out)
{
    const vy_leaf *l = leaf_of(p, id);
    id = gather_plain(p, id);
    if (!l)
        return p->insts.data[id].op == VY_OP_MUL && product_of(p, vy_arg(p, id, 0), out) &&
               product_of(p, vy_arg(p, id, 1), out);
    if (l->kind != VY_LEAF_SCALAR || !is_narrow((vy_type)l->type) || out->count == MOST_FACTORS)
        return false;
    out->scalar[out->count++] = l->index;
    return true;
}

static bool is_divisor(const vy_program *p, uint32_t id, product *out)
{
    *out = (product){0};
    return product_of(p, id, out);
}

static uint8_t kind_of(const multiples *m, uint32_t id)
{
    const vy_program *p = m->w.p;
    int64_t c;
    product d;
    id = gather_plain(p, id);
    if (!VY_IS_LEAF(id)) {
        if (m->kind[id] == OTHER && is_divisor(p, id, &d)) return NATURAL;
        return m->kind[id] == SAME ? kind_of(m, vy_arg(p, id, 2)) : m->kind[id];
    }
    if (vy_id_int(p, id, &c)) return c >= 0 && c <= INT32_MAX ? NATURAL : OTHER;
    const vy_leaf *l = &p->leaves.data[VY_LEAF_INDEX(id)];
    return l->kind == VY_LEAF_SCALAR && is_narrow((vy_type)l->type) ? NATURAL : OTHER;
}

// The instruction of which `id` is the value, if that is a multiple and a rest; 0: it is not.
static uint32_t multiple(const multiples *m, uint32_t id)
{
    const vy_program *p = m->w.p;
    for (id = gather_plain(p, id); !VY_IS_LEAF(id) && m->kind[id] == SAME;)
        id = gather_plain(p, vy_arg(p, id, 2));
    return !VY_IS_LEAF(id) && (m->kind[id] == MULTIPLE || m->kind[id] == LEFT) ? id : 0;
}

// ------------------------------------------------------------------------------------------- forms
// i * 4, i << 2: by what; 0: it is none.
static int64_t scale_of(const vy_program *p, uint32_t id)
{
    int64_t c;
    const vy_op op = (vy_op)p->insts.data[id].op;
    if (op != VY_OP_MUL && op != VY_OP_SHL) return 0;
    const vy_leaf *l = leaf_of(p, vy_arg(p, id, 0));
    if (!l || l->kind != VY_LEAF_OVER || !vy_id_int(p, vy_arg(p, id, 1), &c) || c < 0 ||
        c > MOST_TIMES)
        return 0;
    if (op == VY_OP_SHL) c = c > 4 ? 0 : INT64_C(1) << c;
    return c;
}

// (v ^ w) < 0 of a multiple and of what is not negative.
static bool is_sign(const multiples *m, uint32_t id)
{
    const vy_program *p = m->w.p;
    int64_t zero;
    if (VY_IS_LEAF(id) || p->insts.data[id].op != VY_OP_LT) return false;
    const uint32_t x = vy_arg(p, id, 0);
    if (!vy_id_int(p, vy_arg(p, id, 1), &zero) || zero || VY_IS_LEAF(x) ||
        p->insts.data[x].op != VY_OP_XOR)
        return false;
    return kind_of(m, vy_arg(p, x, 0)) && kind_of(m, vy_arg(p, x, 1)) &&
           (multiple(m, vy_arg(p, x, 0)) || multiple(m, vy_arg(p, x, 1)));
}

// Is it false, as a sign differs?
static bool is_never(const multiples *m, uint32_t id)
{
    const vy_program *p = m->w.p;
    if (VY_IS_LEAF(id)) return false;
    if (p->insts.data[id].op != VY_OP_AND) return m->kind[id] == NEVER;
    return is_never(m, vy_arg(p, id, 0)) || is_never(m, vy_arg(p, id, 1));
}

static void see_sum(multiples *m, uint32_t id)
{
    const vy_program *p = m->w.p;
    const uint32_t x = multiple(m, vy_arg(p, id, 0));
    int64_t c;
    if (!x || m->kind[x] != MULTIPLE || !vy_id_int(p, vy_arg(p, id, 1), &c)) return;
    if (c < 0 || m->rest[x] + c >= m->times) return;
    m->kind[id] = MULTIPLE;
    m->rest[id] = (uint8_t)(m->rest[x] + c);
}

static void see_quotient(multiples *m, uint32_t id, bool remainder)
{
    const vy_program *p = m->w.p;
    const uint32_t x = multiple(m, vy_arg(p, id, 0));
    product d;
    if (!x || !is_divisor(p, vy_arg(p, id, 1), &d)) return;
    m->kind[id] = remainder ? LEFT : DIVIDED;
    m->rest[id] = m->rest[x];
}

// What instruction `id` is, if scalars are as they would be assumed to be.
static void see(multiples *m, uint32_t id)
{
    const vy_inst *i = &m->w.p->insts.data[id];
    if (is_sign(m, id)) m->kind[id] = NEVER;
    if (!is_narrow((vy_type)i->type)) return;
    switch ((vy_op)i->op) {
    case VY_OP_MUL:
    case VY_OP_SHL: {
        const int64_t by = scale_of(m->w.p, id);
        if (by == m->times) m->kind[id] = MULTIPLE;
        return;
    }
    case VY_OP_ADD: see_sum(m, id); return;
    case VY_OP_DIV: see_quotient(m, id, false); return;
    case VY_OP_REM: see_quotient(m, id, true); return;
    case VY_OP_SELECT:
        if (is_never(m, vy_arg(m->w.p, id, 0))) m->kind[id] = SAME;
        return;
    default: return;
    }
}

// ------------------------------------------------------------------------------------- assumptions
// The products that instruction `id` needs to be positive, and not to wrap.
static uint32_t products_of(const multiples *m, uint32_t id, product *out)
{
    const vy_program *p = m->w.p;
    uint32_t n = 0;
    if (m->kind[id] == DIVIDED || m->kind[id] == LEFT)
        n += is_divisor(p, vy_arg(p, id, 1), &out[n]);
    for (uint32_t k = 0; k < 2 && m->kind[id] == NEVER; k++)
        n += is_divisor(p, vy_arg(p, vy_arg(p, id, 0), k), &out[n]);
    return n;
}

static bool has_assumed(const multiples *m, const product *d)
{
    bool any = false;
    for (uint32_t k = 0; k < d->count; k++) any |= m->assumed[d->scalar[k]];
    return any;
}

// Of divisors that are one scalar that is the multiple, of others without such a one the first.
// False: there are no divisors.
static bool choose(multiples *m)
{
    const vy_program *p = m->w.p;
    product d;
    bool any = false;
    for (uint32_t most = 1; most <= MOST_FACTORS; most += MOST_FACTORS - 1)
        for (uint32_t id = 1; id < p->insts.count; id++) {
            if (m->kind[id] != DIVIDED && m->kind[id] != LEFT) continue;
            any |= is_divisor(p, vy_arg(p, id, 1), &d);
            if (d.count <= most && !has_assumed(m, &d)) m->assumed[d.scalar[0]] = true;
        }
    return any;
}

// --------------------------------------------------------------------------------------- rewriting
static vy_value scalar_value(multiples *m, uint32_t k)
{
    const vy_type t = m->w.p->scalars.data[k].type;
    return (vy_value){vy_leaf_other(m->w.b, VY_LEAF_SCALAR, t, k, 0)};
}

// The divisor of `id`, with the first multiple of it divided.
static vy_value divided(multiples *m, uint32_t id)
{
    vy_builder *b = m->w.b;
    const vy_type t = vy_id_type(m->w.p, id);
    product d;
    vy_value all = {0};
    bool done = !is_divisor(m->w.p, vy_arg(m->w.p, id, 1), &d);
    for (uint32_t k = 0; k < d.count; k++) {
        const bool here = !done && m->assumed[d.scalar[k]];
        vy_value v = here ? (vy_value){m->part[d.scalar[k]]} : scalar_value(m, d.scalar[k]);
        done |= here;
        if (vy_id_type(vy_builder_program(b), v.id) != t) v = vy_bitcast(b, t, v);
        all = all.id ? vy_mul(b, all, v) : v;
    }
    return all;
}

static uint32_t instead(void *pass, uint32_t id)
{
    multiples *m = pass;
    vy_builder *b = m->w.b;
    const vy_program *p = m->w.p;
    const uint8_t kind = m->kind[id];
    if (kind == OTHER || kind == NATURAL) return 0;
    vy_rewrite_at(&m->w, id);
    if (kind == NEVER) {
        m->w.map[id] = vy_bool(b, false).id;
        return id;
    }
    if (kind == SAME) {
        m->w.map[id] = vy_new_arg(&m->w, id, 2);
        return id;
    }
    const uint32_t x = multiple(m, vy_arg(p, id, 0));
    const vy_type t = vy_id_type(p, id);
    vy_value q = {x ? m->q[x] : vy_new_arg(&m->w, id, 0)};
    if (vy_id_type(vy_builder_program(b), q.id) != t) q = vy_bitcast(b, t, q);
    if (kind == MULTIPLE) {
        m->q[id] = q.id;
        return 0;
    }
    const vy_value d = divided(m, id);
    vy_value v = kind == DIVIDED ? vy_div(b, q, d) : vy_rem(b, q, d);
    m->q[id] = v.id;
    if (kind == LEFT) {
        v = vy_mul(b, v, vy_int(b, t, m->times));
        v = vy_add(b, v, vy_int(b, t, m->rest[id]));
    }
    vy_rewrite_as(&m->w, id, v.id);
    return id;
}

static bool prepare(multiples *m)
{
    const vy_program *p = m->w.p;
    m->kind = vy_rewrite_bytes(&m->w);
    m->rest = vy_rewrite_bytes(&m->w);
    m->q = vy_rewrite_ids(&m->w);
    m->assumed = vy_rewrite_table(&m->w, (p->scalars.count + 1) * sizeof *m->assumed);
    m->positive = vy_rewrite_table(&m->w, (p->scalars.count + 1) * sizeof *m->positive);
    m->part = vy_rewrite_table(&m->w, (p->scalars.count + 1) * sizeof *m->part);
    return m->kind && m->rest && m->q && m->assumed && m->positive && m->part;
}

static void rewrite(multiples *m)
{
    const vy_program *p = m->w.p;
    if (!vy_rewrite_open(&m->w)) return;
    for (uint32_t k = 0; k < p->scalars.count; k++) {
        if (!m->assumed[k]) continue;
        const vy_value v = scalar_value(m, k);
        m->part[k] = vy_div(m->w.b, v, vy_int(m->w.b, p->scalars.data[k].type, m->times)).id;
    }
    vy_rewrite_range(&m->w, 1, p->insts.count, instead, m);
}

// -------------------------------------------------------------------------------------- conditions
// d, which is computed safely as `safe`, is at most 2³⁰.
static void require_most(gather *g, vy_dim d, vy_dim safe)
{
    const vy_dim above = gather_number(g, MOST_NUMBER + INT64_C(1));
    const vy_dim most = gather_number(g, MOST_NUMBER), holds = gather_less(g, safe, above);
    gather_require(g, d, most, holds);
}

static void require_product(multiples *m, gather *g, const product *d)
{
    vy_dim all = {0}, safe = {0};
    for (uint32_t k = 0; k < d->count && !g->failed; k++) {
        const vy_dim s = gather_scalar(g, d->scalar[k]);
        const vy_dim one = gather_number(g, 1);
        all = all.id ? gather_node(g, VY_DIM_MUL, all, s) : s;
        safe = gather_times(g, safe, s, true);
        const vy_dim holds = gather_less(g, gather_number(g, 0), s);
        if (!m->positive[d->scalar[k]]) gather_require(g, one, s, holds);
        m->positive[d->scalar[k]] = true;
    }
    require_most(g, all, safe);
}

static void require_extent(multiples *m, gather *g, uint32_t id)
{
    const vy_leaf *l = leaf_of(m->w.p, vy_arg(m->w.p, id, 0));
    const vy_dim extent = g->r->overs.data[l->index].extent, times = gather_number(g, m->times);
    const vy_dim safe = gather_times(g, gather_magnitude(g, (vy_dim){0}, extent), times, true);
    require_most(g, gather_node(g, VY_DIM_MUL, extent, times), safe);
}

// What the rewritten program assumes, as conditions of g.  False: memory, or there are too many.
static bool require_all(multiples *m, gather *g)
{
    const vy_program *p = m->w.p;
    product d[2];
    for (uint32_t k = 0; k < p->scalars.count && !g->failed; k++) {
        if (!m->assumed[k]) continue;
        const vy_dim zero = gather_number(g, 0), s = gather_scalar(g, k);
        const vy_dim rest = gather_node(g, VY_DIM_REM, s, gather_number(g, m->times));
        gather_require(g, rest, zero, gather_less(g, rest, gather_number(g, 1)));
    }
    for (uint32_t id = 1; id < p->insts.count && !g->failed; id++) {
        if (g->launch.count > MOST_CONDITIONS) return false;
        const uint32_t n = products_of(m, id, d);
        for (uint32_t k = 0; k < n; k++) require_product(m, g, &d[k]);
        if (m->kind[id] == MULTIPLE && scale_of(p, id)) require_extent(m, g, id);
    }
    return !g->failed;
}

// --------------------------------------------------------------------------------------- the whole
// Finds what is divided, as multiples of the number that packs.  False: nothing is.
static bool find(multiples *m)
{
    static const uint8_t packs[] = {4, 8, 2, 16};
    for (uint32_t k = 0; k < sizeof packs; k++) {
        m->times = packs[k];
        memset(m->kind, 0, m->w.p->insts.count);
        for (uint32_t id = 1; id < m->w.p->insts.count; id++) see(m, id);
        if (choose(m)) return true;
    }
    return false;
}

bool gather_try_multiples(gather *begin, gather_multiples *out)
{
    *out = (gather_multiples){0};
    multiples m = {0};
    vy_pass_context c = {0};
    bool changed = false, ok = vy_rewrite_begin(&m.w, begin->r) && prepare(&m);
    const bool any = ok && find(&m);
    gather own = *begin;
    own.arena = (vy_arena){0};
    const bool fits = any && require_all(&m, &own);
    ok &= !own.failed;
    out->arena = own.arena;
    if (fits && ok) {
        out->before = vy_program_clone(begin->r, begin->m);
        ok = out->before != NULL;
        if (ok) rewrite(&m);
    }
    ok = vy_rewrite_end(&m.w, ok, &changed) && ok;
    if (!out->before || !ok) return ok;
    begin->launch = own.launch;
    return vy_pass_cleanup(begin->r, &c) && vy_pass_dce(begin->r, &c) && vy_check_program(begin->r);
}

void gather_free_multiples(gather_multiples *all)
{
    vy_program_free(all->before);
    vy_arena_free(&all->arena);
}
