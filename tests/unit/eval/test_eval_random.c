// SPDX-License-Identifier: MIT
// test_eval_random.c: random programs, the interpreter against a naive one.
//
// The naive one runs one invocation at a time, recursively over the structure, with a cell for
// every instruction, without the real one's lists of lanes, moves and shared registers.
// VYRE_SEED and VYRE_COUNT choose other programs.
#include "tests/unit/eval_util.h"

#include "ir/core/ir.h"

#include <stdio.h>
#include <stdlib.h>

#define DOMAIN 90
#define ROW 4

// -------------------------------------------------------------------------------------- generator
typedef struct gen {
    vy_builder *b;
    uint64_t random;
    vy_var vars[40]; // those from 8 on belong to the blocks that are open
    uint32_t var_count;
    vy_value i;
    vy_buffer x, y, local;
    uint32_t budget; // statements left
    uint32_t loops;  // open loops, targets of break and continue
} gen;

static uint32_t pick(gen *g, uint32_t n)
{
    g->random = g->random * 6364136223846793005ull + 1442695040888963407ull;
    return (uint32_t)((g->random >> 33) % n);
}

static vy_value var_value(gen *g) { return vy_get(g->b, g->vars[pick(g, g->var_count)]); }

static vy_value condition(gen *g)
{
    const vy_value x = var_value(g), y = var_value(g);
    switch (pick(g, 4)) {
    case 0: return vy_lt(g->b, x, y);
    case 1: return vy_ne(g->b, vy_and(g->b, x, u32(g->b, 1 + pick(g, 7))), u32(g->b, 0));
    case 2: return vy_and(g->b, vy_le(g->b, x, y), vy_lt(g->b, g->i, u32(g->b, pick(g, DOMAIN))));
    default: return vy_eq(g->b, vy_rem(g->b, x, u32(g->b, 3)), u32(g->b, pick(g, 3)));
    }
}

static vy_value expression(gen *g, uint32_t depth)
{
    vy_builder *b = g->b;
    if (depth == 0) return pick(g, 4) ? var_value(g) : u32(b, pick(g, 100));
    const vy_value x = expression(g, depth - 1), y = expression(g, pick(g, depth));
    switch (pick(g, 12)) {
    case 0: return vy_sub(b, x, y);
    case 1: return vy_mul(b, x, y);
    case 2: return vy_xor(b, x, y);
    case 3: return vy_min(b, x, y);
    case 4: return vy_shr(b, x, y);
    case 5: return vy_select(b, condition(g), x, y);
    case 6: return vy_div(b, x, y);
    case 7: return load1(b, g->x, vy_rem(b, x, u32(b, 70))); // sometimes out of range
    case 8: return load1(b, g->local, vy_and(b, x, u32(b, 7)));
    case 9: return vy_load(b, g->y, (vy_value[]){g->i, vy_rem(b, x, u32(b, 5))});
    case 10: return vy_cast(b, VY_U32, vy_mul(b, vy_cast(b, VY_F32, x), f32(b, 0.37)));
    default: return vy_add(b, x, y);
    }
}

static void block(gen *g, uint32_t depth);

static void loop(gen *g, uint32_t depth)
{
    vy_builder *b = g->b;
    const vy_value from = pick(g, 2) ? u32(b, pick(g, 4)) : vy_and(b, var_value(g), u32(b, 3));
    const vy_value to = pick(g, 2) ? u32(b, pick(g, 9)) : vy_and(b, var_value(g), u32(b, 7));
    const vy_value step = vy_or(b, vy_and(b, var_value(g), u32(b, 2)), u32(b, 1));
    const vy_value k =
        pick(g, 3) ? vy_for(b, "k", from, to) : vy_for_step(b, "k", from, to, step, pick(g, 2));
    vy_set(b, g->vars[pick(g, g->var_count)], vy_add(b, k, var_value(g)));
    g->loops++;
    block(g, depth);
    g->loops--;
    vy_end(b);
}

// A counter of its own bounds the trip count; it is incremented first so that `continue` cannot
// skip it.
static void while_loop(gen *g, uint32_t depth)
{
    vy_builder *b = g->b;
    vy_var n = vy_var_new(b, "n", u32(b, 0));
    vy_while(b);
    vy_set(b, g->vars[pick(g, g->var_count)], expression(g, 1));
    const vy_value limit = vy_and(b, var_value(g), u32(b, 7));
    vy_while_test(b, vy_lt(b, vy_get(b, n), limit));
    vy_set(b, n, vy_add(b, vy_get(b, n), u32(b, 1)));
    g->loops++;
    block(g, depth);
    g->loops--;
    vy_end(b);
}

static void branch(gen *g, uint32_t depth)
{
    vy_builder *b = g->b;
    vy_if(b, condition(g));
    const uint32_t leave = pick(g, 8);
    if (leave == 0 && g->loops)
        vy_break(b);
    else if (leave == 1 && g->loops)
        vy_continue(b);
    else if (leave == 2 && pick(g, 3) == 0)
        vy_return(b);
    else
        block(g, depth);
    if (pick(g, 2)) {
        vy_else(b);
        block(g, depth);
    }
    vy_end(b);
}

static void statement(gen *g, uint32_t depth)
{
    vy_builder *b = g->b;
    switch (depth ? pick(g, 11) : pick(g, 5)) {
    case 0:
        vy_store(b, g->y, (vy_value[]){g->i, u32(b, pick(g, ROW + 1))}, expression(g, 2));
        break;
    case 1: store1(b, g->local, vy_and(b, var_value(g), u32(b, 7)), expression(g, 1)); break;
    case 5:
    case 6: loop(g, depth - 1); break;
    case 7: while_loop(g, depth - 1); break;
    case 8:
    case 9: branch(g, depth - 1); break;
    case 10: {
        const uint32_t loops = g->loops;
        g->loops = 0;
        vy_checkpoint(b);
        block(g, 0);
        vy_end(b);
        g->loops = loops;
        break;
    }
    case 4: { // a swap: loop-carried values that exchange
        const uint32_t p = pick(g, g->var_count), q = pick(g, g->var_count);
        const vy_value v = vy_get(b, g->vars[p]);
        vy_set(b, g->vars[p], vy_get(b, g->vars[q]));
        vy_set(b, g->vars[q], v);
        break;
    }
    default: vy_set(b, g->vars[pick(g, g->var_count)], expression(g, 2)); break;
    }
}

static void block(gen *g, uint32_t depth)
{
    const uint32_t visible = g->var_count;
    for (uint32_t n = 1 + pick(g, 4); n > 0 && g->budget; n--) {
        g->budget--;
        if (g->var_count < COUNT(g->vars) && pick(g, 4) == 0) {
            const vy_value v = expression(g, 1);
            g->vars[g->var_count++] = vy_var_new(g->b, "t", v);
        }
        statement(g, depth);
    }
    g->var_count = visible;
}

static test_program random_program(uint64_t seed)
{
    test_program t = begin("random");
    vy_builder *b = t.b;
    gen g = {.b = b, .random = seed * 0x9e3779b97f4a7c15ull, .budget = 60, .var_count = 8};
    vy_dim n = vy_dim_const(b, DOMAIN), eight = vy_dim_const(b, 8);
    g.x = param(b, "x", VY_IN, VY_U32, 64);
    g.y = vy_param_buffer(b, "y", VY_INOUT, VY_U32, 2, (vy_dim[]){n, vy_dim_const(b, ROW)});
    g.i = vy_over(b, "i", n);
    g.local = vy_local_array(b, "v", VY_U32, 1, &eight);
    for (uint32_t k = 0; k < g.var_count; k++)
        g.vars[k] =
            vy_var_new(b, "s",
                       k & 1 ? u32(b, pick(&g, 50))
                             : load1(b, g.x, vy_and(b, vy_add(b, g.i, u32(b, k)), u32(b, 63))));
    while (g.budget) block(&g, 4);
    vy_value sum = u32(b, 0);
    for (uint32_t k = 0; k < g.var_count; k++)
        sum = vy_add(b, vy_mul(b, sum, u32(b, 3)), vy_get(b, g.vars[k]));
    vy_store(b, g.y, (vy_value[]){g.i, u32(b, 0)}, sum);
    finish(&t);
    return t;
}

// ----------------------------------------------------------------------------------- naive machine
typedef struct naive {
    const vy_program *p;
    vy_structure s;
    vy_scalar *values;
    uint32_t i; // the invocation
    const uint32_t *x;
    uint32_t *y, local[8];
} naive;

static vy_scalar value_of(const naive *n, uint32_t id)
{
    if (!VY_IS_LEAF(id)) return n->values[id];
    const vy_leaf *l = &n->p->leaves.data[VY_LEAF_INDEX(id)];
    if (l->kind == VY_LEAF_CONST) return l->value;
    assert_int_equal(l->kind, VY_LEAF_OVER);
    return (vy_scalar){.u = n->i};
}

static uint32_t *cell(naive *n, uint32_t id)
{
    const uint32_t buffer = n->p->insts.data[id].aux;
    const uint64_t a = value_of(n, vy_arg(n->p, id, 0)).u;
    const char *name = n->p->buffers.data[buffer].name;
    if (*name == 'x') return a < 64 ? (uint32_t *)&n->x[a] : NULL;
    if (*name == 'v') return a < 8 ? &n->local[a] : NULL;
    const uint64_t b = value_of(n, vy_arg(n->p, id, 1)).u;
    return a < DOMAIN && b < ROW ? &n->y[a * ROW + b] : NULL;
}

static void run_region(naive *n, uint32_t from, uint32_t to);

// values[to + k] = operands `first + k` of marker `id`, as a parallel copy.
static void transfer(naive *n, uint32_t id, uint32_t first, uint32_t to)
{
    const uint32_t count = n->p->insts.data[id].nargs - first;
    vy_scalar *copy = calloc(count + 1, sizeof *copy);
    for (uint32_t k = 0; k < count; k++) copy[k] = value_of(n, vy_arg(n->p, id, first + k));
    for (uint32_t k = 0; k < count; k++) n->values[to + k] = copy[k];
    free(copy);
}

// Runs one iteration of a loop.  Returns whether the loop continues.
static bool iterate(naive *n, uint32_t loop, uint32_t end)
{
    const vy_inst *l = &n->p->insts.data[loop];
    const uint32_t exits = l->flags & VY_FLAG_EXIT ? 1 : 0;
    if (l->op == VY_OP_WHILE) {
        uint32_t test = loop + 1;
        while (n->s.partner[test] != loop || n->p->insts.data[test].op != VY_OP_TEST) test++;
        run_region(n, loop + 1, test);
        if (!value_of(n, vy_arg(n->p, test, 0)).u) return false;
        run_region(n, test + 1, end);
    } else {
        run_region(n, loop + 1, end);
    }
    const bool keep = !exits || value_of(n, vy_arg(n->p, end, 0)).u;
    transfer(n, end, exits, loop + 1);
    return keep;
}

static void run_loop(naive *n, uint32_t loop, uint32_t end)
{
    const vy_inst *l = &n->p->insts.data[loop];
    const uint32_t count = l->nargs - (l->op == VY_OP_LOOP ? 3 : 0);
    transfer(n, loop, l->nargs - count, loop + 1);
    if (l->op == VY_OP_WHILE) {
        while (iterate(n, loop, end)) continue;
    } else {
        const int64_t from = (int64_t)value_of(n, vy_arg(n->p, loop, 0)).u;
        const int64_t to = (int64_t)value_of(n, vy_arg(n->p, loop, 1)).u;
        const int64_t step = (int64_t)value_of(n, vy_arg(n->p, loop, 2)).u;
        int64_t first = from, last = from;
        while (last + step < to) last += step;
        const bool back = l->flags & VY_FLAG_REVERSE;
        if (back) first = last;
        for (int64_t v = first; v >= from && v < to; v += back ? -step : step) {
            n->values[loop].u = (uint64_t)v;
            if (!iterate(n, loop, end)) break;
        }
    }
    for (uint32_t k = 0; k < count; k++) n->values[end + 1 + k] = n->values[loop + 1 + k];
}

static void run_plain(naive *n, uint32_t id)
{
    const vy_inst *i = &n->p->insts.data[id];
    uint32_t *at;
    vy_scalar args[3] = {{.u = 0}};
    switch (i->op) {
    case VY_OP_LOAD:
        at = cell(n, id);
        n->values[id].u = at ? *at : 0;
        return;
    case VY_OP_STORE:
        at = cell(n, id);
        if (at) *at = (uint32_t)value_of(n, vy_arg(n->p, id, i->nargs - 1)).u;
        return;
    case VY_OP_ZERO: memset(n->local, 0, sizeof n->local); return;
    case VY_OP_CARRY:
    case VY_OP_RESULT: return;
    default: break;
    }
    for (uint32_t k = 0; k < i->nargs && k < 3; k++) args[k] = value_of(n, vy_arg(n->p, id, k));
    const vy_type type = vy_id_type(n->p, vy_arg(n->p, id, i->nargs - 1));
    assert_true(
        vy_scalar_eval((vy_op)i->op, type, (vy_type)i->type, args, i->aux, false, &n->values[id]));
}

static void run_region(naive *n, uint32_t from, uint32_t to)
{
    for (uint32_t id = from; id < to; id++) {
        const uint16_t op = n->p->insts.data[id].op;
        const uint32_t partner = n->s.partner[id];
        if (op == VY_OP_IF) {
            const uint32_t end = n->s.partner[partner];
            const bool yes = value_of(n, vy_arg(n->p, id, 0)).u;
            run_region(n, yes ? id + 1 : partner + 1, yes ? partner : end);
            transfer(n, yes ? partner : end, 0, end + 1);
            id = end;
        } else if (op == VY_OP_CHECKPOINT) {
            run_region(n, id + 1, partner);
            transfer(n, partner, 0, partner + 1);
            id = partner;
        } else if (op == VY_OP_LOOP || op == VY_OP_WHILE) {
            run_loop(n, id, partner);
            id = partner;
        } else {
            run_plain(n, id);
        }
    }
}

static void run_naive(const vy_program *p, const uint32_t *x, uint32_t *y)
{
    naive n = {.p = p, .x = x, .y = y};
    n.values = calloc(p->insts.count, sizeof *n.values);
    assert_true(vy_structure_make(p, &n.s));
    for (n.i = 0; n.i < DOMAIN; n.i++) {
        memset(n.local, 0, sizeof n.local);
        run_region(&n, 1, p->insts.count);
    }
    vy_structure_free(&n.s);
    free(n.values);
}

// ------------------------------------------------------------------------------------------- tests
static uint64_t setting(const char *name, uint64_t otherwise)
{
    const char *s = getenv(name);
    return s ? strtoull(s, NULL, 10) : otherwise;
}

static void test_random_programs(void **state)
{
    (void)state;
    const uint64_t first = setting("VYRE_SEED", 1), count = setting("VYRE_COUNT", 300);
    uint32_t x[64];
    for (uint32_t k = 0; k < 64; k++) x[k] = k * 2654435761u >> (k % 29);
    for (uint64_t seed = first; seed < first + count; seed++) {
        test_program t = random_program(seed);
        uint32_t want[DOMAIN * ROW], got[DOMAIN * ROW];
        for (uint32_t k = 0; k < COUNT(want); k++) want[k] = got[k] = k;
        run_naive(t.p, x, want);
        const uint64_t s64 = 64, shape[2] = {DOMAIN, ROW};
        const vy_eval_buffer v[2] = {{"x", x, &s64, 1}, {"y", got, shape, 2}};
        const vy_eval_options o = {.report_races = true, .shuffle_seed = seed & 1};
        vy_eval_report r;
        vy_diag d;
        if (!vy_eval(t.p, v, 2, NULL, 0, &o, &r, &d)) fail_msg("seed %d: %s", (int)seed, d.text);
        for (uint32_t k = 0; k < COUNT(want); k++)
            if (got[k] != want[k])
                fail_msg("seed %d: y[%u, %u] is %u, expected %u", (int)seed, k / ROW, k % ROW,
                         got[k], want[k]);
        assert_int_equal(r.races, 0);
        drop(&t);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_random_programs)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
