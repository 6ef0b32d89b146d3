// SPDX-License-Identifier: MIT
// test_again.c: derived declarations that share names (ir/text/again.c): what each denotes, which
// are one, who keeps the name, and what is refused; vy_module_rename.
#include "tests/unit/eval_util.h"
#include "ir/core/ir.h"
#include "ir/pipeline.h"
#include "tests/unit/failing.h"

#include <stdlib.h>
#include <string.h>

#define HEAD "(x: in f32[1], y: out f32[1]) "
#define TIMES(name, factor) "program " name HEAD "over(i: 1) { y[i] = x[i] * " factor "; }\n"
#define CALLS(name, fn) "program " name HEAD "over(i: 1) { y[i] = " fn "(x[i]); }\n"
#define RUNS(name, of) "pipeline " name HEAD "{ " of "(x, y); }\n"
#define FN(name, factor) "fn " name "(x: f32) -> f32 { return x * " factor "; }\n"
#define D "@order(1) "
#define D2 "@order(2) "

static vy_module *parse(const char *text) { return vy_parse(text, strlen(text), "t"); }

// What a program or pipeline of a good text makes of 1.
static void expect(const char *text, const char *name, double value)
{
    vy_module *m = parse(text);
    if (!vy_module_ok(m)) fail_msg("%s", vy_module_diag(m)->text);
    const vy_program *p = vy_module_find(m, name);
    const vy_pipeline *l = p ? NULL : vy_module_find_pipeline(m, name);
    assert_true(p || l);
    float x[1] = {1}, y[1] = {0};
    const vy_eval_buffer buffers[] = {{"x", x, (uint64_t[]){1}, 1}, {"y", y, (uint64_t[]){1}, 1}};
    vy_diag d;
    assert_true(p ? vy_eval(p, buffers, 2, NULL, 0, NULL, NULL, &d)
                  : vy_eval_pipeline(l, buffers, 2, NULL, 0, NULL, NULL, &d));
    assert_float_equal(y[0], value, 1e-6);
    vy_module_free(m);
}

static void expect_count(const char *text, uint32_t programs, uint32_t pipelines)
{
    vy_module *m = parse(text);
    if (!vy_module_ok(m)) fail_msg("%s", vy_module_diag(m)->text);
    assert_int_equal(vy_module_program_count(m), programs);
    assert_int_equal(vy_module_pipeline_count(m), pipelines);
    vy_module_free(m);
}

static void expect_taken(const char *text, uint32_t line)
{
    vy_module *m = parse(text);
    assert_true(vy_diag_is(vy_module_diag(m), VY_E_NAME_TAKEN));
    assert_int_equal(vy_module_diag(m)->line, line);
    vy_module_free(m);
}

#define ONE D TIMES("f", "2.0") D RUNS("one", "f")
#define TWO D TIMES("f", "3.0") D RUNS("two", "f")
#define SOURCE TIMES("f", "5.0") RUNS("net", "f")

static void test_denotes(void **state)
{
    (void)state;
    static const char *const texts[] = {ONE TWO SOURCE, SOURCE TWO ONE, TWO SOURCE ONE,
                                        "const C: f32 = 1.0;\n" ONE SOURCE TWO};
    for (int k = 0; k < 4; k++) {
        expect(texts[k], "one", 2);
        expect(texts[k], "two", 3);
        expect(texts[k], "net", 5);
        expect(texts[k], "f", 5);
        expect_count(texts[k], 3, 3);
    }
    expect(ONE RUNS("mine", "f") TWO, "mine", 2); // the last before it
    expect(RUNS("mine", "f") ONE TWO, "mine", 2); // the first
    expect(ONE D RUNS("later", "f") TWO, "later", 2);
}

// A function is declared before what calls it, or after it in the same text.
static void test_functions(void **state)
{
    (void)state;
    const char *text = D CALLS("p", "g") D FN("g", "2.0") D CALLS("q", "g") D FN("g", "3.0")
        D CALLS("r", "g") FN("g", "5.0") CALLS("s", "g");
    expect(text, "q", 2);
    expect(text, "r", 3);
    expect(text, "s", 5);
    expect(D FN("h", "g(x) * 2.0") D FN("g", "2.0") D CALLS("q", "h") D FN("h", "g(x) * 2.0")
               D FN("g", "3.0") D CALLS("r", "h"),
           "r", 6); // written alike, but of another g
    expect(D FN("g", "2.0") D CALLS("p", "g") D FN("k", "g(x)") D FN("g", "3.0") D CALLS("r", "k"),
           "r",
           3); // functions begin a text
    expect(D FN("g", "2.0") D CALLS("p", "g") FN("g", "5.0") D CALLS("r", "g"), "r", 5);
}

#define RULED(rule)                                                                                \
    D "@vjp(b) fn f(x: f32) -> f32 { return x; }\n" D                                              \
      "fn b(x: f32, ct: f32) -> f32 { return ct * " rule "; }\n"

static void test_rules(void **state)
{
    (void)state;
    static const char *const texts[] = {RULED("2.0") D CALLS("p", "f") RULED("3.0")
                                            D CALLS("q", "f"),
                                        RULED("2.0") D CALLS("p", "f") RULED("2.0")
                                            D CALLS("q", "f")};
    for (int k = 0; k < 2; k++) {
        vy_module *m = parse(texts[k]);
        assert_true(vy_module_ok(m));
        assert_int_equal(m->functions.count, k ? 2 : 4); // written alike, with other rules
        vy_module_free(m);
    }
}

static void test_one(void **state)
{
    (void)state;
    expect_count(ONE ONE, 1, 1);
    expect_count(ONE TWO ONE TWO, 2, 2);
    expect_count(ONE D TIMES("f", "2.0") D RUNS("other", "f"), 1, 2);
    expect_count(ONE D2 TIMES("f", "2.0") D2 RUNS("other", "f"), 2, 2);
    const char *text = TWO D TIMES("g", "7.0") D RUNS("h", "g") ONE D TIMES("f", "2.0");
    expect(text, "f", 2); // requested: it keeps the name, and one dispatches it
    expect(text, "f2", 3);
    expect_count(text, 3, 3);
}

static void test_taken(void **state)
{
    (void)state;
    expect_taken(SOURCE SOURCE, 3);
    expect_taken(D TIMES("f", "2.0") D TIMES("f", "3.0"), 2);
    expect_taken(D TIMES("f", "2.0") D2 TIMES("f", "2.0"), 2);
    expect_taken(D TIMES("f", "2.0") TIMES("f", "2.0"), 2);
    expect_taken(ONE RUNS("one", "f"), 3);
    expect_taken(ONE "const f: f32 = 1.0;\n", 1);                // constants are declared first
    expect_taken(ONE D TIMES("f", "4.0") D RUNS("one", "f"), 4); // written alike, but of another f
}

static void test_rename(void **state)
{
    (void)state;
    vy_module *m = parse("@vjp(back) " TIMES("f", "2.0") RUNS(
        "net",
        "f") "program back(grad_y: in f32[1], grad_x: out f32[1]) over(i: 1) { grad_x[i] = grad_y[i]; }");
    vy_diag d;
    assert_true(vy_module_ok(m));
    assert_true(vy_module_rename(m, "back", "for", &d));
    assert_true(vy_module_rename(m, "net", "net", &d));
    assert_true(vy_module_rename(m, "net", "all", &d));
    assert_false(vy_module_rename(m, "all", "f", &d));
    assert_true(vy_diag_is(&d, VY_E_NAME_TAKEN));
    assert_false(vy_module_rename(m, "net", "g", &d));
    assert_true(vy_diag_is(&d, VY_E_NAME_UNKNOWN));
    assert_false(vy_module_rename(m, "f", "a`b", &d));
    assert_true(vy_diag_is(&d, VY_E_API));
    size_t size;
    char *text = vy_print(m, &size);
    vy_module *again = vy_parse(text, size, "t");
    assert_true(vy_module_equal(m, again));
    assert_non_null(strstr(text, "@vjp(`for`)"));
    vy_module_free(again);
    vy_module_free(m);
    free(text);
}

static void test_memory(void **state)
{
    (void)state;
    bool done = false;
    for (long n = 0; !done; n = next_failing(n)) {
        vy_test_fail_after(n);
        vy_module *m = parse(ONE TWO SOURCE ONE);
        vy_diag d = {0};
        const bool named = m && vy_module_ok(m) && vy_module_rename(m, "one", "first", &d);
        vy_test_fail_after(-1);
        done = named && vy_module_find_pipeline(m, "first");
        if (m && !done) assert_true(vy_diag_is(d.code ? &d : vy_module_diag(m), VY_E_MEMORY));
        vy_module_free(m);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_denotes), cmocka_unit_test(test_functions),
        cmocka_unit_test(test_rules),   cmocka_unit_test(test_one),
        cmocka_unit_test(test_taken),   cmocka_unit_test(test_rename),
        cmocka_unit_test(test_memory),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
