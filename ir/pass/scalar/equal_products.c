// SPDX-License-Identifier: MIT
// equal_products.c: terms of a gradient that are products of the same factors become one.
//
//   s = m * r * r * r has three terms for r, each with its factors in another order:
//
//   let t = r * (r * m) * g;  let u = (r * m) * (r * g);  let v = m * (r * (r * g));
//   … (t + u + v) * -0.5 …                            →   … t * -1.5 …
//
// and so do the two terms of a square, which x² + y² + z² has along each axis:
//
//   … t + (t + w) …                                   →   … t * 2 + w …
//
// Powers that are written as products: forces, kernels of smoothed particles, falloffs.  Where the
// chosen one overflows, so does the sum; the sum of three rounds oftener.  As in adjoint_terms.c
// only of values that are used linearly and end in gradients, and only where a device runs the
// program.  Linear: a product counts at most eight factors.
#include "ir/build/build.h"
#include "ir/pass/pass.h"
#include "ir/pass/scalar/sum_order.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { FACTORS = 8, MOST = 64 };

typedef struct products {
    vy_rewrite w;
    vy_sum_order order;
    uint32_t *base;  // by sum: the product of which it is a multiple; 0: none is known
    uint32_t *times; // … how many times
    uint32_t *uses;
    uint32_t count;
} products;

static int in_order(const void *a, const void *b)
{
    const uint32_t x = *(const uint32_t *)a, y = *(const uint32_t *)b;
    return x < y ? -1 : x > y;
}

static bool is_product(const vy_program *p, uint32_t id)
{
    return !VY_IS_LEAF(id) && p->insts.data[id].op == VY_OP_MUL;
}

// The factors of a product in order.  0: it is none, or has more than FACTORS.
static uint32_t factors_of(const vy_program *p, uint32_t id, uint32_t *out)
{
    uint32_t n = 1;
    if (!is_product(p, id)) return 0;
    out[0] = id;
    for (uint32_t k = 0; k < n;) {
        const uint32_t x = out[k];
        if (!is_product(p, x)) {
            k++;
            continue;
        }
        if (n == FACTORS) return 0;
        out[k] = vy_arg(p, x, 0);
        out[n++] = vy_arg(p, x, 1);
    }
    qsort(out, n, sizeof *out, in_order);
    return n;
}

static bool are_equal(const vy_program *p, uint32_t a, uint32_t b)
{
    uint32_t x[FACTORS], y[FACTORS];
    if (a == b) return is_product(p, a);
    const uint32_t n = factors_of(p, a, x);
    return n && factors_of(p, b, y) == n && memcmp(x, y, n * sizeof *x) == 0;
}

static uint32_t base_of(const products *x, uint32_t id)
{
    if (VY_IS_LEAF(id)) return 0;
    return x->base[id] ? x->base[id] : is_product(x->w.p, id) ? id : 0;
}

static uint32_t times_of(const products *x, uint32_t id) { return x->base[id] ? x->times[id] : 1; }

static bool may_differ(products *x, uint32_t id)
{
    return vy_is_adjoint(&x->order, id, &x->w.arena, &x->w.oom);
}

static uint32_t multiple(products *x, uint32_t id, uint32_t base, double times)
{
    const vy_type type = (vy_type)x->w.p->insts.data[id].type;
    vy_rewrite_at(&x->w, id);
    const vy_value product = {vy_new(&x->w, base)};
    vy_rewrite_as(&x->w, id, vy_mul(x->w.b, product, vy_float(x->w.b, type, times)).id);
    x->count++;
    return id;
}

// a + (a + w): a multiply-add in place of two additions.
static uint32_t square(products *x, uint32_t id)
{
    const vy_program *p = x->w.p;
    for (uint32_t side = 0; side < 4; side++) {
        const uint32_t a = vy_arg(p, id, side & 1), s = vy_arg(p, id, 1 - (side & 1));
        if (VY_IS_LEAF(s) || p->insts.data[s].op != VY_OP_ADD || x->uses[s] != 1) continue;
        if (vy_arg(p, s, side / 2) != a || !may_differ(x, id)) continue;
        vy_rewrite_at(&x->w, id);
        const vy_value t = {vy_new(&x->w, a)}, w = {vy_new_arg(&x->w, s, 1 - side / 2)};
        const vy_value twice = vy_mul(x->w.b, t, vy_float(x->w.b, vy_id_type(p, a), 2));
        vy_rewrite_as(&x->w, id, vy_add(x->w.b, twice, w).id);
        x->count++;
        return id;
    }
    return 0;
}

static uint32_t sum(products *x, uint32_t id)
{
    const uint32_t a = vy_arg(x->w.p, id, 0), b = vy_arg(x->w.p, id, 1);
    const uint32_t first = base_of(x, a), second = base_of(x, b);
    if (!first || !second || !are_equal(x->w.p, first, second)) return square(x, id);
    const uint32_t times = times_of(x, a) + times_of(x, b);
    if (times > MOST || !may_differ(x, id)) return 0;
    x->base[id] = first;
    x->times[id] = times;
    return a == b ? 0 : multiple(x, id, first, times); // x + x is as cheap
}

// A multiple times a constant.
static uint32_t scaled(products *x, uint32_t id)
{
    const vy_program *p = x->w.p;
    for (uint32_t side = 0; side < 2; side++) {
        const uint32_t of = vy_arg(p, id, side);
        const vy_scalar *k = vy_id_const(p, vy_arg(p, id, 1 - side));
        if (!k || VY_IS_LEAF(of) || !x->base[of]) continue;
        const double scale = k->f * x->times[of];
        const bool normal = fabs(scale) > 1e-30 && fabs(scale) < 1e30;
        return normal && may_differ(x, id) ? multiple(x, id, x->base[of], scale) : 0;
    }
    return 0;
}

static uint32_t instead(void *pass, uint32_t id)
{
    products *x = pass;
    const vy_inst *i = &x->w.p->insts.data[id];
    if (i->type != VY_F32 && i->type != VY_F64) return 0;
    return i->op == VY_OP_ADD ? sum(x, id) : i->op == VY_OP_MUL ? scaled(x, id) : 0;
}

bool vy_pass_equal_products(vy_program *p, vy_pass_context *c)
{
    if (!c->options || !c->options->registers || c->options->precise || p->exact) return true;
    products x = {.count = 0};
    bool ok = vy_rewrite_begin(&x.w, p), changed = false;
    x.base = ok ? vy_rewrite_ids(&x.w) : NULL;
    x.times = x.base ? vy_rewrite_ids(&x.w) : NULL;
    x.uses = x.times ? vy_rewrite_uses(&x.w) : NULL;
    x.order = (vy_sum_order){.p = p, .s = &x.w.s};
    if (x.uses) vy_rewrite_run(&x.w, instead, &x);
    if (x.uses && !x.count) vy_rewrite_drop(&x.w);
    ok = vy_rewrite_end(&x.w, ok && x.uses, &changed);
    c->changed |= x.count > 0;
    return ok;
}
