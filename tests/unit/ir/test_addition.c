// SPDX-License-Identifier: MIT
// test_addition.c: additions to elements of memory (ir/facts/addition.h, ir/core/access.h): what
// adds to what, out of which loops it can be moved, and that all strengths compute the same.
#include "tests/unit/eval_util.h"
#include "ir/build/edit.h"
#include "ir/facts/addition.h"

#include <stdio.h>

typedef struct analysed {
    vy_module *m;
    const vy_program *p;
    vy_structure s;
    vy_arena arena;
    vy_addition_facts a;
} analysed;

// Parses `program f(PARAMETERS) over(i: N) BODY`.
static analysed analyse(const char *body)
{
    analysed q = {0};
    char text[2048];
    snprintf(text, sizeof text,
             "program f(x: in f32[N], y: inout f32[N], z: inout f32[N, 4], k: inout u32[N],"
             " N: u32, M: u32) over(i: N) { %s }",
             body);
    q.m = vy_parse(text, strlen(text), "addition");
    assert_non_null(q.m);
    if (!vy_module_ok(q.m)) fail_msg("%s\n%s", vy_module_diag(q.m)->text, text);
    q.p = vy_module_program(q.m, 0);
    assert_true(vy_structure_make(q.p, &q.s));
    assert_true(vy_addition_facts_make(&q.a, q.p, &q.s, &q.arena));
    return q;
}

static void leave(analysed *q)
{
    vy_structure_free(&q->s);
    vy_arena_free(&q->arena);
    vy_module_free(q->m);
}

// The n-th instruction of that kind, from 1.
static uint32_t nth(const analysed *q, vy_op op, uint32_t n)
{
    for (uint32_t id = 1; id < q->p->insts.count; id++)
        if (q->p->insts.data[id].op == op && !--n) return id;
    fail_msg("there is no such instruction");
    return 0;
}

// ------------------------------------------------------------------------------------ what is added
static void plain_additions(void **state)
{
    (void)state;
    static const struct {
        const char *body;
        bool adds, term; // the last store adds; what it adds is one value
    } rows[] = {
        {"y[i] = y[i] + x[i];", true, true},
        {"y[i] += x[i];", true, true},
        {"y[i] = x[i] + y[i];", true, true},
        {"k[i] += 3;", true, true},
        {"y[i] = x[i] + y[i] - 1.0;", true, false},
        {"y[i] -= x[i];", true, false},
        {"y[i] = x[i] - y[i];", false, false}, // the old value is subtracted
        {"y[i] = 2.0 * y[i];", false, false},
        {"y[i] = y[i] * x[i] + 1.0;", false, false},
        {"z[i, 1] = z[i, 0] + x[i];", false, false}, // other elements, on either axis
        {"z[i, 1] = z[i ^ 1, 1] + x[i];", false, false},
        {"y[i] = z[i, 0] + x[i];", false, false},                        // another buffer
        {"let o = y[i]; y[i] = o + x[i]; z[i, 0] = o;", false, false},   // the old value is used
        {"let o = y[i]; z[i, 0] = 1.0; y[i] = o + x[i];", true, true},   // a store elsewhere
        {"let o = y[i]; y[i] = 1.0; y[i] = o + x[i];", false, false},    // written in between
        {"let o = y[i]; if M > 1 { y[i] = o + x[i]; }", false, false},   // in another region
        {"let o = y[i]; barrier(); y[i] = o + x[i];", false, false},     // visible to others
        {"let o = y[i]; let t = o + x[i]; y[i] = t + t;", false, false}, // twice
    };
    for (size_t k = 0; k < COUNT(rows); k++) {
        analysed q = analyse(rows[k].body);
        vy_addition found;
        uint32_t store = 0;
        for (uint32_t id = 1; id < q.p->insts.count; id++)
            if (q.p->insts.data[id].op == VY_OP_STORE && q.p->insts.data[id].aux != 3) store = id;
        if (!store) store = nth(&q, VY_OP_STORE, 1);
        if (vy_addition_at(&q.a, store, &found) != rows[k].adds) fail_msg("%s", rows[k].body);
        if ((found.term != 0) != rows[k].term) fail_msg("%s: term", rows[k].body);
        if (rows[k].adds) {
            assert_int_equal(found.strength, VY_STRENGTH_PLAIN);
            assert_int_equal(q.p->insts.data[found.load].op, VY_OP_LOAD);
            assert_true(vy_same_element(q.p, found.load, found.store) && found.store == store);
        }
        leave(&q);
    }
}

static void atomic_additions(void **state)
{
    (void)state;
    analysed q = analyse("atomic_add(y[0], x[i]); let o = atomic_add(y[1], 2.0); z[i, 0] = o;"
                         "atomic_max(k[0], 1);");
    vy_addition first, second;
    uint32_t one = nth(&q, VY_OP_ATOMIC_ADD, 1), two = nth(&q, VY_OP_ATOMIC_ADD, 2);
    assert_true(vy_addition_at(&q.a, one, &first) && vy_addition_at(&q.a, two, &second));
    assert_true(first.strength == VY_STRENGTH_ATOMIC && !first.old_used && second.old_used);
    assert_true(first.load == one && first.store == one);
    assert_int_equal(first.term, nth(&q, VY_OP_LOAD, 1));
    assert_true(vy_adds_silently(&q.a, one) && !vy_adds_silently(&q.a, two));
    uint32_t most = nth(&q, VY_OP_ATOMIC_MAX, 1);
    assert_false(vy_addition_at(&q.a, most, &first));
    assert_int_equal(vy_strength_of(q.p, most), VY_STRENGTH_ATOMIC);
    assert_int_equal(vy_strength_of(q.p, nth(&q, VY_OP_STORE, 1)), VY_STRENGTH_NONE);
    vy_program *p = vy_module_program(q.m, 0);
    assert_true(vy_set_strength(p, one, VY_STRENGTH_OWNED));
    assert_false(vy_set_strength(p, one, VY_STRENGTH_OWNED)); // already so
    assert_int_equal(vy_strength_of(p, one), VY_STRENGTH_OWNED);
    assert_true(vy_set_strength(p, one, VY_STRENGTH_ONLY));
    assert_false(vy_set_strength(p, one, VY_STRENGTH_OWNED)); // and that is weaker
    assert_int_equal(vy_strength_of(p, one), VY_STRENGTH_ONLY);
    leave(&q);
}

// ------------------------------------------------------------------------------------ around loops
// Where the last ATOMIC_ADD can go; depths count from the outermost loop, 0: nowhere.
static void ways_out(void **state)
{
    (void)state;
    static const struct {
        const char *body;
        uint32_t out; // the n-th loop
        bool sparse;
    } rows[] = {
        {"for a in 0..M { atomic_add(y[0], x[a]); }", 1, false},
        {"for a in 0..M { for b in 0..M { atomic_add(y[0], x[b]); } }", 1, true},
        {"for a in 0..M { for b in 0..M { atomic_add(y[a], x[b]); } }", 2, false},
        {"for a in 0..M { let t = a + 1; for b in 0..M { atomic_add(y[t], x[b]); } }", 2, false},
        {"for a in 0..M { if x[a] > 1.0 { atomic_add(y[i], 1.0); } }", 1, true},
        {"for a in 0..M { atomic_add(y[a], 1.0); }", 0, false},
        {"for a in 0..M { atomic_add(z[i, a], 1.0); }", 0, false},
        {"for a in 0..M { atomic_add(y[0], y[1]); }", 0, false},                  // a load
        {"for a in 0..M { z[i, 1] = 2.0; atomic_add(z[i, 0], 1.0); }", 0, false}, // a store
        {"for a in 0..M { atomic_max(k[1], 2); atomic_add(k[0], 1); }", 0, false},
        {"for a in 0..M { let o = atomic_add(y[1], 1.0); z[i, 0] = o; atomic_add(y[0], 1.0); }", 0,
         false},
        {"for a in 0..M { atomic_add(y[1], 1.0); atomic_add(y[0], 1.0); }", 1, false},
        {"for a in 0..M { z[i, 0] = 1.0; atomic_add(y[0], 1.0); }", 1, false}, // other memory
        {"for a in 0..M { barrier(); atomic_add(y[0], 1.0); }", 0, false},
        {"var n = 0u; while n < M { n += 1; atomic_add(y[0], 1.0); }", 0, false},
        {"for a in 0..M { z[i, 1] = 2.0; for b in 0..M { atomic_add(z[i, 0], 1.0); } }", 2, false},
    };
    for (size_t k = 0; k < COUNT(rows); k++) {
        analysed q = analyse(rows[k].body);
        uint32_t site = 0;
        for (uint32_t id = 1; id < q.p->insts.count; id++)
            if (q.p->insts.data[id].op == VY_OP_ATOMIC_ADD) site = id;
        bool sparse = false;
        uint32_t out = vy_addition_way_out(&q.a, site, site, VY_NO_AXIS, &sparse);
        uint32_t want = rows[k].out ? nth(&q, VY_OP_LOOP, rows[k].out) : 0;
        if (out != want || sparse != rows[k].sparse)
            fail_msg("%s: %u, %d", rows[k].body, out, sparse);
        leave(&q);
    }
}

static void rows_and_iterations(void **state)
{
    (void)state;
    analysed q = analyse("for a in 0..M { for c in 0..4 { atomic_add(z[i, c], x[a]); } }");
    uint32_t site = nth(&q, VY_OP_ATOMIC_ADD, 1), outer = nth(&q, VY_OP_LOOP, 1);
    uint32_t inner = nth(&q, VY_OP_LOOP, 2);
    bool sparse, iterations;
    assert_int_equal(vy_addition_way_out(&q.a, site, inner, 1, &sparse), outer);
    assert_false(sparse);
    assert_int_equal(vy_addition_way_out(&q.a, site, site, VY_NO_AXIS, &sparse), 0);
    assert_false(vy_reached_once(q.p, &q.s, site, &iterations)); // the outer loop repeats it
    assert_true(vy_only_added_ever(&q.a, q.p->insts.data[site].aux));
    leave(&q);
    q = analyse("for c in 0..4 { if x[c] > 0.0 { atomic_add(z[i, c], 1.0); } } z[i, 0] = 1.0;");
    site = nth(&q, VY_OP_ATOMIC_ADD, 1);
    assert_true(vy_reached_once(q.p, &q.s, site, &iterations) && iterations);
    assert_false(vy_only_added_ever(&q.a, q.p->insts.data[site].aux));
    leave(&q);
    q = analyse("if M > 1 { atomic_add(y[i], 1.0); }");
    assert_true(vy_reached_once(q.p, &q.s, nth(&q, VY_OP_ATOMIC_ADD, 1), &iterations) &&
                !iterations);
    leave(&q);
}

// ---------------------------------------------------------------------------------------- emission
// The same update with each strength computes the same and gives the same old value.
static void strengths_agree(void **state)
{
    (void)state;
    static const struct {
        vy_op op;
        float sum;
    } rows[] = {{VY_OP_ATOMIC_ADD, 7}, {VY_OP_ATOMIC_MIN, 2}, {VY_OP_ATOMIC_EXCHANGE, 2}};
    static const vy_strength all[] = {VY_STRENGTH_ATOMIC, VY_STRENGTH_OWNED, VY_STRENGTH_PLAIN};
    for (size_t k = 0; k < COUNT(rows); k++)
        for (size_t n = 0; n < COUNT(all); n++) {
            float y[3] = {5, 5, 5}, old[3] = {0};
            test_program t = begin("p");
            vy_buffer b = param(t.b, "y", VY_INOUT, VY_F32, 3),
                      o = param(t.b, "old", VY_OUT, VY_F32, 3);
            vy_value i = vy_over(t.b, "i", vy_dim_const(t.b, 3)), two = f32(t.b, 2);
            const uint32_t args[2] = {i.id, two.id};
            store1(t.b, o, i, (vy_value){vy_emit_update(t.b, rows[k].op, all[n], b.id, 2, args)});
            finish(&t);
            RUN(&t, {"y", y, 3}, {"old", old, 3});
            assert_true(y[1] == rows[k].sum && y[2] == rows[k].sum && old[0] == 5 && old[2] == 5);
            uint32_t atomics = 0;
            for (uint32_t id = 1; id < t.p->insts.count; id++)
                atomics += vy_strength_of(t.p, id) == all[n];
            assert_int_equal(atomics, all[n] != VY_STRENGTH_PLAIN);
            drop(&t);
        }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(plain_additions), cmocka_unit_test(atomic_additions),
        cmocka_unit_test(ways_out),        cmocka_unit_test(rows_and_iterations),
        cmocka_unit_test(strengths_agree),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
