// SPDX-License-Identifier: MIT
// test_session_check.c: vys_check on right and wrong derivatives, programs and pipelines.
#include "session/check.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

static vys_session *session;

static vys_task *task(const char *text, const vys_settings *settings)
{
    vys_task *t = NULL;
    vy_diag d = {0};
    if (!vys_task_parse(session, text, strlen(text), "test", settings, &t, &d))
        fail_msg("%s", d.text);
    return t;
}

static void set(vys_task *t, const char *name, uint64_t n, const float *x)
{
    vy_diag d = {0};
    if (!vys_set(t, name, VY_F32, 1, &n, x, &d)) fail_msg("%s", d.text);
}

static vy_check_result *checked(vys_task *t, const vys_check_options *o)
{
    vy_diag d = {0};
    vy_check_result *r = NULL;
    if (!vys_check(t, o, &r, &d)) fail_msg("[%s] %s", d.code, d.text);
    return r;
}

static uint64_t compared(const vy_check_result *r, vy_check_test test)
{
    uint64_t n = 0;
    for (uint32_t i = 0; i < r->count; i++)
        if (r->rows[i].test == test) n += r->rows[i].compared;
    return n;
}

static const vys_settings gradient = {.order = 1};

static void test_right(void **state)
{
    (void)state;
    vys_task *t =
        task("program f(x: in f32[N], y: inout f32[N], z: out f32[1], N: u32) over(i: N) {\n"
             "    y[i] = y[i] * sin(x[i]);\n"
             "    atomic_add(z[0], y[i]);\n"
             "}\n",
             &gradient);
    set(t, "x", 4, (float[]){1, 2, 3, 4});
    set(t, "y", 4, (float[]){2, 3, 4, 5});
    for (int again = 0; again < 2; again++) {
        vy_check_result *r = checked(t, NULL);
        assert_true(r->passed);
        assert_null(r->unverified);
        assert_int_equal(compared(r, VY_CHECK_DIFFERENCES), 8);
        assert_int_equal(compared(r, VY_CHECK_TANGENTS), 8);
        vy_check_free(r);
        vy_diag d = {0}; // a run between two checks: neither disturbs the other
        float slope[4];
        assert_true(vys_run(t, &d));
        assert_true(vys_read(t, "grad_x", VY_F32, slope, sizeof slope, &d));
        assert_true(slope[0] > 2.16f &&
                    slope[0] < 2.162f); // 2 · 2 cos 1: y, and z which adds it up
    }
    vy_check_result *r = checked(t, &(vys_check_options){.samples = 1});
    assert_int_equal(compared(r, VY_CHECK_DIFFERENCES), 2);
    vy_check_free(r);
    vys_task_free(t);
}

static void test_wrong(void **state)
{
    (void)state;
    vys_task *t =
        task("fn rule(x: f32, ct: f32) -> f32 { return ct; }\n"
             "@vjp(rule) fn twice(x: f32) -> f32 { return 2.0 * x; }\n"
             "program f(x: in f32[N], y: out f32[N], N: u32) over(i: N) { y[i] = twice(x[i]); }\n",
             &gradient);
    set(t, "x", 2, (float[]){1, 2});
    vy_check_result *r = checked(t, NULL);
    assert_false(r->passed);
    assert_int_equal(r->rows[0].test, VY_CHECK_DIFFERENCES);
    assert_int_equal(r->rows[0].failed, 2);
    vy_check_free(r);
    vys_task_free(t);
}

static void test_pipeline(void **state)
{
    (void)state;
    vys_task *t =
        task("program f(x: in f32[N], y: out f32[N], N: u32) over(i: N) { y[i] = x[i] * x[i]; }\n"
             "pipeline p(x: in f32[N], z: out f32[N], N: u32) {\n"
             "    buffer y: f32[N];\n"
             "    f(x, y);\n"
             "    f(y, z);\n"
             "}\n",
             &(vys_settings){.order = 1, .of = (const char *[]){"z"}, .of_count = 1});
    set(t, "x", 3, (float[]){1, 2, 3});
    vy_check_result *r = checked(t, NULL);
    assert_true(r->passed);
    assert_int_equal(compared(r, VY_CHECK_DIFFERENCES), 3);
    vy_check_free(r);
    vys_task_free(t);
}

static void refused(const char *text, const vys_settings *settings, bool data, const char *code)
{
    vys_task *t = task(text, settings);
    vy_diag d = {0};
    vy_check_result *r = NULL;
    if (data) set(t, "x", 2, (float[]){1, 2});
    assert_false(vys_check(t, NULL, &r, &d));
    assert_null(r);
    assert_string_equal(d.code, code);
    vys_task_free(t);
}

static void test_refused(void **state)
{
    (void)state;
    const char *const text =
        "program f(x: in f32[N], y: out f32[N], N: u32) over(i: N) { y[i] = x[i] * x[i]; }\n";
    refused(text, NULL, true, "E0801");
    refused(text, &(vys_settings){.order = 2}, true, "E0801");
    refused(text, &(vys_settings){.order = 1, .forward = true}, true, "E0801");
    refused(text, &gradient, false, "E0805");
}

static int set_up(void **state)
{
    (void)state;
    vy_diag d = {0};
    return vys_open(&(vys_session_desc){.interpreter = true}, &session, &d) ? 0 : -1;
}

static int tear_down(void **state)
{
    (void)state;
    vys_close(session);
    return 0;
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_right),
        cmocka_unit_test(test_wrong),
        cmocka_unit_test(test_pipeline),
        cmocka_unit_test(test_refused),
    };
    return cmocka_run_group_tests(tests, set_up, tear_down);
}
