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
// Rows of w elements that are packed so, which a loop over 0..w goes through, are rows of w / 4
// packed ones:
//
//   (i * w + k) / 4 = i * (w / 4) + k / 4         (i * w + k) % 4 = k % 4         k < w / 4 * 4
//
// The bound of the loop is written so as well: that k / 4 is less than w / 4 is plain then.
//
// Assumed of the launch, as all of it is what it reads as only then: w is a multiple, all scalars
// of such a product are at least 1 and the product is at most 2³⁰, as is 4 times the extent of i.
// What is divided is not negative then, and does not wrap around.
#include "autodiff/gather/gather_multiples.h"

#include "ir/check/check.h"
#include "ir/pass/pass.h"

#include <string.h>

enum { MOST_NUMBER = 1 << 30, MOST_CONDITIONS = 16 };

// ------------------------------------------------------------------------------------- assumptions
// The products that instruction `id` needs to be positive, and not to wrap.
static uint32_t products_of(const multiples *m, uint32_t id, product *out)
{
    const vy_program *p = m->w.p;
    uint32_t n = 0;
    if (m->kind[id] == DIVIDED || m->kind[id] == LEFT)
        n += gather_is_divisor(p, vy_arg(p, id, 1), &out[n]);
    for (uint32_t k = 0; k < 2 && m->kind[id] == NEVER; k++)
        n += gather_is_divisor(p, vy_arg(p, vy_arg(p, id, 0), k), &out[n]);
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
            scaled r;
            if (m->kind[id] == SCALED && gather_is_scaled(p, id, m->times, &r))
                any = m->assumed[r.scalar] = true;
            if (m->kind[id] != DIVIDED && m->kind[id] != LEFT) continue;
            any |= gather_is_divisor(p, vy_arg(p, id, 1), &d);
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

static vy_value as_type(multiples *m, vy_value v, vy_type t)
{
    return vy_id_type(vy_builder_program(m->w.b), v.id) == t ? v : vy_bitcast(m->w.b, t, v);
}

// The divisor of `id`, with the first multiple of it divided.
static vy_value divided(multiples *m, uint32_t id)
{
    vy_builder *b = m->w.b;
    const vy_type t = vy_id_type(m->w.p, id);
    product d;
    vy_value all = {0};
    bool done = !gather_is_divisor(m->w.p, vy_arg(m->w.p, id, 1), &d);
    for (uint32_t k = 0; k < d.count; k++) {
        const bool here = !done && m->assumed[d.scalar[k]];
        vy_value v = here ? (vy_value){m->part[d.scalar[k]]} : scalar_value(m, d.scalar[k]);
        done |= here;
        v = as_type(m, v, t);
        all = all.id ? vy_mul(b, all, v) : v;
    }
    return all;
}

// (i * w + k) / 4, as i * (w / 4) + k / 4, and its remainder as k % 4.
static void scale(multiples *m, uint32_t id)
{
    vy_builder *b = m->w.b;
    const vy_type t = vy_id_type(m->w.p, id);
    scaled r;
    gather_is_scaled(m->w.p, id, m->times, &r);
    vy_value v = vy_int(b, t, 0);
    if (!r.rest) {
        const vy_value i = {vy_leaf_other(b, VY_LEAF_OVER, VY_U32, r.over, 0)};
        const vy_value row = as_type(m, i, t);
        const vy_value part = as_type(m, (vy_value){m->part[r.scalar]}, t);
        v = vy_mul(b, row, part);
    }
    if (r.counter) {
        const vy_value k = as_type(m, (vy_value){vy_new(&m->w, r.counter)}, t);
        const vy_value times = vy_int(b, t, m->times);
        v = r.rest ? vy_rem(b, k, times) : vy_add(b, v, vy_div(b, k, times));
    }
    vy_rewrite_as(&m->w, id, v.id);
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
    if (kind == SCALED) {
        scale(m, id);
        return id;
    }
    if (kind == WHOLE) {
        vy_rewrite_copy_leaves(&m->w, id, VY_LEAF_SCALAR, m->whole);
        return id;
    }
    const vy_type t = vy_id_type(p, id);
    const uint32_t x = gather_multiple_of(m, vy_arg(p, id, 0));
    vy_value q = {x ? m->q[x] : vy_new_arg(&m->w, id, 0)};
    q = as_type(m, q, t);
    if (kind == MULTIPLE || kind == NEAR) {
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
    m->whole = vy_rewrite_table(&m->w, (p->scalars.count + 1) * sizeof *m->whole);
    return m->kind && m->rest && m->q && m->assumed && m->positive && m->part && m->whole;
}

static void rewrite(multiples *m)
{
    const vy_program *p = m->w.p;
    if (!vy_rewrite_open(&m->w)) return;
    for (uint32_t k = 0; k < p->scalars.count; k++) {
        if (!m->assumed[k]) continue;
        const vy_value v = scalar_value(m, k);
        const vy_value times = vy_int(m->w.b, p->scalars.data[k].type, m->times);
        const vy_value part = vy_div(m->w.b, v, times);
        m->part[k] = part.id;
        m->whole[k] = vy_mul(m->w.b, part, times).id;
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
    const vy_leaf *l = gather_leaf_of(m->w.p, vy_arg(m->w.p, id, 0));
    const vy_dim extent = g->r->overs.data[l->index].extent, times = gather_number(g, m->times);
    const vy_dim safe = gather_times(g, gather_magnitude(g, (vy_dim){0}, extent), times, true);
    require_most(g, gather_node(g, VY_DIM_MUL, extent, times), safe);
}

// Of (i * w + k) / 4: w is at least 1, and i * w + k does not wrap.
static void require_scaled(multiples *m, gather *g, uint32_t id)
{
    scaled r;
    if (!gather_is_scaled(m->w.p, id, m->times, &r)) return;
    const product d = {.scalar = {r.scalar}, .count = 1};
    const vy_dim extent = g->r->overs.data[r.over].extent, w = gather_scalar(g, r.scalar);
    require_product(m, g, &d);
    const vy_dim safe = gather_times(g, gather_magnitude(g, (vy_dim){0}, extent), w, true);
    require_most(g, gather_node(g, VY_DIM_MUL, extent, w), safe);
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
        if (m->kind[id] == MULTIPLE && gather_scale_of(p, id)) require_extent(m, g, id);
        if (m->kind[id] == SCALED) require_scaled(m, g, id);
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
        for (uint32_t id = 1; id < m->w.p->insts.count; id++) gather_see_multiple(m, id);
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
