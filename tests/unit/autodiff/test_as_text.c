// SPDX-License-Identifier: MIT
// test_as_text.c: derivatives of texts of derivatives are those of the derivatives themselves
// (derive_text.h; tests/scripts/autodiff/derivatives_as_text.py has many more programs).
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "tests/unit/autodiff/derive_text.h"

static vy_module *parse(const char *text)
{
    vy_module *m = vy_parse(text, strlen(text), "t.vyre");
    assert_non_null(m);
    if (!vy_module_ok(m)) fail_msg("%s", vy_module_diag(m)->text);
    return m;
}

static void same(const char *text)
{
    vy_module *m = parse(text);
    const int before = compared;
    wrong = 0;
    check_all("t.vyre", m);
    assert_int_equal(wrong, 0);
    assert_true(compared > before);
    vy_module_free(m);
}

// How many places of the text's derivative contain `what`.
static uint32_t places(const char *text, const char *what)
{
    vy_module *m = parse(text);
    vy_diag d;
    vy_module *g = derive(m, root_of(m), &modes[0], &d);
    if (!g) fail_msg("%s", d.text);
    char *printed = vy_print(g, NULL);
    assert_non_null(printed);
    uint32_t n = 0;
    for (const char *p = printed; (p = strstr(p, what)); p++) n++;
    free(printed);
    vy_module_free(g);
    vy_module_free(m);
    return n;
}

// ---- tapes of counted length: nothing but `@owned` says whose elements they have
#define COUNTED                                                                                    \
    "program f(x: in f32[N], y: out f32[N], N: u32) over(i: N) "                                   \
    "{ var v = x[i]; while v <= 50.0 { v = v * v; } y[i] = v; }"
#define NO_DOMAIN                                                                                  \
    "program f(x: in f32[N], y: out f32[N], N: u32) { var v = x[gid.x]; "                          \
    "for k in 0..3 { v = sin(v) * x[(gid.x + k) % N]; } y[gid.x] = v; }"

static void test_tapes(void **state)
{
    (void)state;
    same(COUNTED);
    same(NO_DOMAIN);
    vy_module *m = parse(COUNTED);
    vy_diag d;
    vy_module *g = derive(m, "f", &modes[0], &d);
    char *text = g ? vy_print(g, NULL) : NULL;
    assert_non_null(text);
    assert_non_null(strstr(text, "@owned tape"));
    assert_int_equal(places(text, "atomic_add(grad"), 0); // the tape's own
    free(text);
    vy_module_free(g);
    vy_module_free(m);
}

// ---- arrays before workspaces in the module, behind them in its text; what a gather of a program
// with a workgroup still lists of it
#define STAGED                                                                                     \
    "program f(x: in f32[?], y: out f32[?], M: u32) workgroup(1) { shared s: f32[3000]; "          \
    "for k in 0..2 { s[k] = x[wid.x * 2 + k]; } barrier(); "                                       \
    "for k in 0..2 { y[wid.x + M * k] = s[1 - k] * s[1 - k]; } }"
#define LARGE                                                                                      \
    "program f(x: in f32[N], y: in f32[M], o: out f32[N], N: u32, M: u32) "                        \
    "workgroup(256) over(i: N) { shared t: f32[2]; "                                               \
    "if lindex == 0 { t[0] = x[i] * y[0]; t[1] = sum(k in 0..M: y[k]); } barrier(); "              \
    "o[i] = t[0] * x[i] + t[1] * x[i]; }"

static void test_workgroups(void **state)
{
    (void)state;
    same(STAGED);
    same(LARGE);
}

// ---- programs that are dispatched for their values, and gathered
#define STENCIL                                                                                    \
    "program step(u: in f32[N], k: in f32[N], v: out f32[N], N: u32) over(i: N) "                  \
    "{ let h = u[i]; var s = h; if i > 0 { s += (k[i] + k[i - 1]) * (u[i - 1] - h); } "            \
    "if i + 1 < N { s += (k[i] + k[i + 1]) * (u[i + 1] - h); } v[i] = s * s; } "                   \
    "pipeline twice(u: in f32[N], k: in f32[N], v: out f32[N], N: u32) "                           \
    "{ buffer w: f32[N]; step(u, k, w); step(w, k, v); }"

static void test_gathers(void **state)
{
    (void)state;
    same(STENCIL);
}

// ---- sums in a fixed order, and what else adds stages
static void test_stages(void **state)
{
    (void)state;
    same("program f(x: in f32[N], at: in u32[N], y: out f32[4], N: u32) over(i: N) "
         "{ atomic_add(y[at[i] % 4], x[i] * x[i]); }");
    same("program f(x: in f32[N], y: out f32[1], N: u32) over(i: N) { atomic_max(y[0], x[i]); }");
    same("program f(x: in f32[N], y: out f32[(N + 1) / 2], N: u32) over(i: (N + 1) / 2) "
         "{ let v = x[2 * i]; y[i] = v * v; }");
    same("program f(x: in f16[M], at: in u32[N], y: out f16[N], M: u32, N: u32) over(i: N) "
         "{ let v = x[at[i]]; y[i] = v * v; }");
    same("program f(x: in f32[?], y: out f32[num_groups.x]) { atomic_max(y[wid.x], x[gid.x]); }");
    // The version of sizes that are not granted is made first and runs last: so do its intermediates.
    same(
        "program f(x: in f32[N], w: in f32[5], at: in u32[N], y: out f32[N], N: u32, T: u32) over(i: N) "
        "{ y[i] = w[min(7 - T, 3)] * x[at[i]]; }");
}

// ---- what `@owned` does
#define PERMUTED(owned)                                                                            \
    "program f(" owned " x: in f32[N], p: in u32[N], y: out f32[N], N: u32) over(i: N) "           \
    "{ let v = x[p[i]]; y[i] = v * v; }"
#define ADDED(owned)                                                                               \
    "program f(x: in f32[N], p: in u32[N], " owned " y: inout f32[N], N: u32) over(i: N) "         \
    "{ atomic_add(y[p[i]], x[i]); }"

static void test_owned(void **state)
{
    (void)state;
    assert_int_equal(places(PERMUTED(""), "atomic_add("), 1);
    assert_int_equal(places(PERMUTED("@owned"), "atomic_add("), 0);
    same(PERMUTED("@owned"));
    vy_module *m = parse(ADDED("@owned")), *plain = parse(ADDED(""));
    assert_false(vy_module_equal(m, plain));
    assert_true(vy_program_buffer(vy_module_program(m, 0), (vy_buffer){3}).owned);
    vy_module_free(m);
    vy_module_free(plain);
}

// Runs ADDED or PERMUTED at p.
static bool runs(const char *text, const uint32_t p[3], vy_diag *d)
{
    vy_module *m = parse(text);
    float x[3] = {1, 2, 3}, y[3] = {0, 0, 0};
    uint32_t at[3] = {p[0], p[1], p[2]};
    const uint64_t three = 3;
    const vy_eval_buffer buffers[] = {{"x", x, &three, 1},
                                      {"p", at, &three, 1},
                                      {"y", y, &three, 1}};
    *d = (vy_diag){0};
    const bool ok = vy_eval(vy_module_program(m, 0), buffers, 3, NULL, 0, NULL, NULL, d);
    vy_module_free(m);
    return ok;
}

static void test_false_claims(void **state)
{
    (void)state;
    vy_diag d;
    const uint32_t fine[] = {2, 0, 1}, twice[] = {2, 0, 2}, outside[] = {7, 7, 0};
    assert_true(runs(PERMUTED("@owned"), fine, &d));
    assert_true(runs(PERMUTED("@owned"), outside, &d)); // no element
    assert_true(runs(PERMUTED(""), twice, &d));
    assert_false(runs(PERMUTED("@owned"), twice, &d));
    assert_true(vy_diag_is(&d, VY_E_EVAL_MARK));
    assert_true(runs(ADDED("@owned"), fine, &d));
    assert_false(runs(ADDED("@owned"), twice, &d));
    assert_true(vy_diag_is(&d, VY_E_EVAL_MARK));
}

// ---- what a comparison passes over, and what it does not
static void test_texts(void **state)
{
    (void)state;
    // names, everywhere
    assert_true(same_text("fn f_1(\nfn g_2(\nf_1(g_2(x))\n", "fn f_a(\nfn g_b(\nf_a(g_b(x))\n"));
    assert_true(same_text("fn f_1(\nfn f_2(\nf_1(x)\n", "fn f_2(\nfn f_1(\nf_2(x)\n"));
    assert_false(same_text("fn f_1(\nfn f_2(\nf_1(x)\n", "fn f_1(\nfn f_2(\nf_2(x)\n"));
    assert_false(same_text("fn f_1(\nfn f_2(\nf_1(x)\n", "fn f_1(\nfn f_1(\nf_1(x)\n"));
    assert_false(same_text("@vjp(f_1)\n@vjp(f_2)\n", "@vjp(f_1)\n@vjp(f_1)\n"));
    assert_false(same_text("f_1(x)\n", "g_1(x)\n"));
    assert_false(same_text("y_1 = f(x)\n", "y_2 = f(x)\n"));
    // the order of declarations, and of arrays that are cleared in one place
    const char *declared = "local a: f32[8] undefined;\nlocal b: f32[2];\nx = 1;\nlocal a;\n}\n";
    assert_true(
        same_text(declared, "local b: f32[2];\nlocal a: f32[8] undefined;\nx = 1;\nlocal a;\n}\n"));
    assert_true(same_text("local a: f32[8];\nlocal b: f32[8];\nx = 1;\n",
                          "local b: f32[8] undefined;\nlocal a: f32[8];\nlocal b;\nx = 1;\n"));
    assert_false(same_text(declared, "local a: f32[8];\nlocal b: f32[2];\nx = 1;\n}\n"));
    assert_false(
        same_text(declared, "local a: f32[8] undefined;\nlocal b: f32[2];\nx = 1;\n}\nlocal a;\n"));
    assert_false(same_text(declared, "local a: f32[8] undefined;\nlocal b: f32[2];\nx = 1;\n}\n"));
    assert_false(
        same_text(declared, "local a: f32[4] undefined;\nlocal b: f32[2];\nx = 1;\nlocal a;\n}\n"));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_texts),        cmocka_unit_test(test_tapes),
        cmocka_unit_test(test_workgroups),   cmocka_unit_test(test_gathers),
        cmocka_unit_test(test_stages),       cmocka_unit_test(test_owned),
        cmocka_unit_test(test_false_claims),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
