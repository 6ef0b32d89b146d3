// SPDX-License-Identifier: MIT
// select_factors.c: products that count under one condition, by factors that count under it.
//
//   s += select(c, a * x, 0); t += select(c, a * y, 0)
//                          →   let d = select(c, a, 0); let u = select(c, x, 0); …
//                              s += d * u; t += d * v
//
// A gather selects each term, so that no infinite factor meets a term that does not exist.  In a
// block of elements (coarsen.c) few factors make many terms: with both factors zero, a term is zero
// too, and a multiply-add needs no choice of its own.  Same bits; where a driver may contract, a
// multiply-add rounds once.
//
// Per condition and block of code: as many selects as there are different factors, in place of one
// for each product, and of its addition where that becomes a multiply-add.  n log n.
#include "ir/pass/pass.h"

#include <stdlib.h>

typedef struct factor {
    uint32_t condition, block, value; // block: the construct, and which arm of it
    uint32_t select;                  // the term
    uint32_t fresh;                   // of the first of equal ones: the selected value
} factor;

VY_VEC_TYPE(factor_vec, factor);

typedef struct factors {
    vy_rewrite w;
    uint32_t *uses;
    factor_vec all;   // by condition, block, value
    uint32_t *of[2];  // by select: 1 + the first factor equal to that of its product
    uint8_t *removed; // products that only such a select uses
} factors;

static uint32_t block_of(const factors *f, uint32_t id)
{
    const uint32_t up = f->w.s.parent[id];
    const bool other = up && f->w.p->insts.data[up].op == VY_OP_IF && !vy_in_then(&f->w.s, up, id);
    return 2 * up + other;
}

static bool is_positive_zero(const vy_program *p, uint32_t id)
{
    const vy_scalar *c = vy_id_const(p, id);
    return c && c->f == 0 && !__builtin_signbit(c->f);
}

// The product that select `id` is a term of; 0: it is none.
static uint32_t product_of(const factors *f, uint32_t id)
{
    const vy_program *p = f->w.p;
    const vy_inst *i = &p->insts.data[id];
    if (i->op != VY_OP_SELECT || !vy_type_is_float((vy_type)i->type)) return 0;
    const uint32_t m = vy_arg(p, id, 1);
    if (VY_IS_LEAF(m) || p->insts.data[m].op != VY_OP_MUL || f->uses[m] != 1) return 0;
    if (!is_positive_zero(p, vy_arg(p, id, 2)) || block_of(f, m) != block_of(f, id)) return 0;
    return vy_id_const(p, vy_arg(p, m, 0)) || vy_id_const(p, vy_arg(p, m, 1)) ? 0 : m;
}

static int by_value(const void *x, const void *y)
{
    const factor *a = x, *b = y;
    if (a->condition != b->condition) return a->condition < b->condition ? -1 : 1;
    if (a->block != b->block) return a->block < b->block ? -1 : 1;
    if (a->value != b->value) return a->value < b->value ? -1 : 1;
    return a->select < b->select ? -1 : a->select > b->select;
}

static bool is_together(const factor *a, const factor *b)
{
    return a->condition == b->condition && a->block == b->block;
}

static bool find_terms(factors *f)
{
    for (uint32_t id = 1; id < f->w.p->insts.count; id++) {
        const uint32_t m = product_of(f, id);
        for (uint32_t k = 0; m && k < 2; k++) {
            const factor one = {.condition = vy_arg(f->w.p, id, 0),
                                .block = block_of(f, id),
                                .value = vy_arg(f->w.p, m, k),
                                .select = id};
            if (!vy_vec_push(&f->all, one)) return false;
        }
    }
    if (f->all.count) qsort(f->all.data, f->all.count, sizeof *f->all.data, by_value);
    return true;
}

// Takes the terms from `from` to `to`, which are of one condition and block.
static void take(factors *f, uint32_t from, uint32_t to)
{
    uint32_t first = from;
    for (uint32_t k = from; k < to; k++) {
        const factor *one = &f->all.data[k];
        const uint32_t m = vy_arg(f->w.p, one->select, 1);
        if (one->value != f->all.data[first].value) first = k;
        for (uint32_t side = 0; side < 2; side++)
            if (vy_arg(f->w.p, m, side) == one->value) f->of[side][one->select] = first + 1;
        f->removed[m] = 1;
    }
}

// contracts: the addition of a term and its product become one operation.
static bool choose(factors *f, bool contracts)
{
    bool any = false;
    for (uint32_t from = 0, to; from < f->all.count; from = to) {
        uint32_t different = 1;
        for (to = from + 1; to < f->all.count && is_together(&f->all.data[from], &f->all.data[to]);
             to++)
            different += f->all.data[to].value != f->all.data[to - 1].value;
        const uint32_t products = (to - from) / 2;
        if (different > products || (different == products && !contracts)) continue;
        take(f, from, to);
        any = true;
    }
    return any;
}

static vy_value selected(factors *f, uint32_t number, uint32_t condition)
{
    factor *one = &f->all.data[number];
    if (one->fresh) return (vy_value){one->fresh};
    const vy_value c = {vy_new(&f->w, condition)}, v = {vy_new(&f->w, one->value)};
    const vy_value zero = vy_zero(f->w.b, vy_id_type(f->w.p, one->value));
    const vy_value made = vy_select(f->w.b, c, v, zero);
    one->fresh = made.id;
    return made;
}

static uint32_t instead(void *pass, uint32_t id)
{
    factors *f = pass;
    if (f->removed[id]) return id;
    if (!f->of[0][id]) return 0;
    const uint32_t condition = vy_arg(f->w.p, id, 0);
    vy_rewrite_at(&f->w, id);
    const vy_value x = selected(f, f->of[0][id] - 1, condition);
    const vy_value y = selected(f, f->of[1][id] - 1, condition);
    vy_rewrite_as(&f->w, id, vy_mul(f->w.b, x, y).id);
    return id;
}

bool vy_pass_select_factors(vy_program *p, vy_pass_context *c)
{
    factors f = {.uses = NULL};
    bool ok = vy_rewrite_begin(&f.w, p);
    f.uses = ok ? vy_rewrite_uses(&f.w) : NULL;
    f.of[0] = ok ? vy_rewrite_ids(&f.w) : NULL;
    f.of[1] = ok ? vy_rewrite_ids(&f.w) : NULL;
    f.removed = ok ? vy_rewrite_bytes(&f.w) : NULL;
    ok = ok && !f.w.oom && find_terms(&f);
    // lavapipe, which has lanes, multiplies and adds apart.
    if (ok && choose(&f, !p->exact && !c->options->lanes)) vy_rewrite_run(&f.w, instead, &f);
    vy_vec_free(&f.all);
    return vy_rewrite_end(&f.w, ok, &c->changed);
}
