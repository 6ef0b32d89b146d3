// SPDX-License-Identifier: MIT
// test_trip_limit.c: loops that run longer than some drivers allow (vkrt.h, loop_iteration_limit)
// give the interpreter's results or an error, in programs, derivatives and pipelines, through the
// session and below it.
#include "session/session.h"
#include "spirv/spirv.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#define COUNT(a) (sizeof(a) / sizeof *(a))
enum { N = 8 };

#define PROGRAM(workgroup, code)                                                                   \
    "program p(x: in f32[N], n: in u32[N], m: inout f32[2], y: out f32[N], N: u32) " workgroup     \
    " over(i: N) { var s = 0.0; var a = 0u; " code " y[i] = s; }"

// Invocation i runs about n[i] iterations.
static const struct {
    const char *name, *text;
    bool derivative;
} programs[] = {
    {"while", PROGRAM("", "while a < n[i] { a += 1u; s += x[i]; }"), true},
    {"for", PROGRAM("", "for k in 0u..n[i] { s += x[i]; }"), true},
    {"reversed", PROGRAM("", "for k in rev(0u..n[i]) step 2 { s += x[i] * f32(k % 2u); }"), true},
    {"break", PROGRAM("", "while x[i] < 9.0 { if a >= n[i] { break; } a += 1u; s += x[i]; }"),
     true},
    {"early return",
     PROGRAM("", "if n[i] < 4u { y[i] = x[i]; return; } "
                 "while a < n[i] { a += 1u; s += x[i]; }"),
     true},
    {"two",
     PROGRAM("", "while a < n[i] / 2u { a += 1u; s += x[i]; } "
                 "while a < n[i] { a += 1u; s -= x[i] * 0.5; }"),
     true},
    {"nested",
     PROGRAM("", "for j in 0u..4u { while a < n[i] * (j + 1u) / 4u { a += 1u; s += x[i]; } }"),
     true},
    {"short behind",
     PROGRAM("", "while a < n[i] { a += 1u; } for k in 0u..n[(i + 1u) % N] % 9u { s += x[i]; }"),
     true},
    // Lanes are long in different outer iterations: a driver that runs them together runs the
    // iterations of all.
    {"one by one",
     PROGRAM("", "for j in 0u..8u { for k in 0u..select(j == i, n[i], 1u) { s += x[i]; } }"),
     false},
    // A compare-exchange loop in each iteration.
    {"exchange",
     PROGRAM("", "for k in 0u..n[i] { atomic_max(m[k % 2u], f32(k) * 0.5); s += 1.0; }"), false},
    // Its trip count is known, those of the exchange loops are not.
    {"uncounted",
     PROGRAM("", "for k in 0u..N * 7500u { atomic_max(m[k % 2u], f32(k) * x[i]); s += 1.0; }"),
     false},
    {"barrier",
     PROGRAM("workgroup(8)", "shared t: f32[8]; while a < n[i] { a += 1u; s += x[i]; } "
                             "t[lid.x] = s; barrier(); s = t[(lid.x + 1u) % 8u];"),
     false},
    {"short rows",
     PROGRAM("workgroup(2, 4)", "while a < n[i] { a += 1u; s += x[i]; } s += f32(lid.x);"), false},
    {"deep",
     PROGRAM("", "if n[i] > 2u { if x[i] > 0.0 { while a < n[i] { a += 1u; s += x[i]; } } }"),
     false},
};

static const uint32_t counts[][N] = {
    {5, 3, 0, 1, 9, 2, 3, 4},
    {60000, 3, 0, 1, 9, 2, 3, 4},
    {65529, 3, 0, 1, 9, 2, 3, 4},
    {3, 65530, 0, 1, 9, 2, 3, 4},
    {65531, 65531, 65531, 65531, 65531, 65531, 65531, 65531},
    {3, 4, 65532, 1, 9, 2, 3, 4},
    {3, 4, 5, 65533, 9, 2, 3, 4},
    {3, 4, 5, 1, 65534, 2, 3, 4},
    {3, 4, 5, 1, 2, 65535, 3, 4},
    {65536, 4, 5, 1, 2, 3, 3, 4},
    {9000, 9000, 9000, 9000, 9000, 9000, 9000, 9000},
    {20000, 20000, 20000, 20000, 20000, 20000, 20000, 20000},
    {3, 200000, 70000, 1, 9, 2, 3, 65000},
};

typedef struct result {
    float y[N], x[N], m[2];
} result;

static vys_session *engines[2]; // interpreter, device

static int open_engines(void **state)
{
    vy_diag d = {0};
    (void)state;
    if (!vys_open(&(vys_session_desc){.interpreter = true}, &engines[0], &d)) return -1;
    if (!vys_open(&(vys_session_desc){0}, &engines[1], &d))
        print_message("no device: %s\n", d.text);
    return 0;
}

static int close_engines(void **state)
{
    const char *said = engines[1] ? vys_session_message(engines[1], 0) : NULL;
    (void)state;
    if (said) print_message("validation: %s\n", said);
    vys_close(engines[0]);
    vys_close(engines[1]);
    return said ? -1 : 0;
}

static const float xs[N] = {1, 0.5f, 2, 0.25f, 1.5f, 1, 3, 4}; // sums of them are exact

static bool run_on(vys_session *s, uint32_t program, const uint32_t *n, bool derivative, result *r,
                   vy_diag *d)
{
    const char *text = programs[program].text;
    const uint64_t count = N, two = 2;
    const vys_settings settings = {.order = derivative, .with_value = true};
    vys_task *t;
    *r = (result){0};
    *d = (vy_diag){0};
    if (!vys_task_parse(s, text, strlen(text), "ended", &settings, &t, d)) return false;
    bool ok = vys_set(t, "x", VY_F32, 1, &count, xs, d) && vys_set(t, "n", VY_U32, 1, &count, n, d);
    ok = ok && vys_set(t, "m", VY_F32, 1, &two, NULL, d);
    ok = ok && vys_run(t, d) && vys_read(t, "y", VY_F32, r->y, sizeof r->y, d);
    if (derivative) ok = ok && vys_read(t, "grad_x", VY_F32, r->x, sizeof r->x, d);
    if (!derivative) ok = ok && vys_read(t, "m", VY_F32, r->m, sizeof r->m, d);
    vys_task_free(t);
    return ok;
}

// Small enough iteration counts for every program to run.
static bool is_small(const uint32_t *n)
{
    uint32_t sum = 0;
    for (int i = 0; i < N; i++) sum += n[i];
    return sum < 100;
}

static void compare(uint32_t p, const uint32_t *n, bool derivative, uint32_t *errors)
{
    result want, got;
    vy_diag d;
    if (!run_on(engines[0], p, n, derivative, &want, &d))
        fail_msg("%s: %s", programs[p].name, d.text);
    if (!engines[1]) return;
    if (run_on(engines[1], p, n, derivative, &got, &d)) {
        if (memcmp(&want, &got, sizeof want))
            fail_msg("%s%s, n = %u %u …: other numbers", programs[p].name,
                     derivative ? ", derivative" : "", n[0], n[1]);
        return;
    }
    const vkrt_device_info *info = vkrt_device_get_info(vys_session_device(engines[1]));
    if (!info->loop_iteration_limit || strcmp(d.code, "E0903") ||
        (is_small(n) && strcmp(programs[p].name, "uncounted")))
        fail_msg("%s: [%s] %s (%s)", programs[p].name, d.code, d.text, d.fix);
    ++*errors;
}

static void right_or_refused(void **state)
{
    uint32_t errors = 0, runs = 0;
    (void)state;
    for (uint32_t p = 0; p < COUNT(programs); p++)
        for (uint32_t k = 0; k < COUNT(counts); k++)
            for (int grad = 0; grad <= programs[p].derivative; grad++, runs++)
                compare(p, counts[k], grad, &errors);
    print_message("%u runs, %u refused\n", runs, errors);
}

// ---------------------------------------------------------------------------------------- below it
// A caller who compiles without the session sets watch_loops; plans of such kernels then need no
// trust_loops.
static void below_the_session(void **state)
{
    (void)state;
    if (!engines[1]) skip();
    vkrt_device *device = vys_session_device(engines[1]);
    const vkrt_device_info *info = vkrt_device_get_info(device);
    const vy_spirv_options o = {.enabled = vkrt_device_features(device),
                                .validate = true,
                                .watch_loops = true,
                                .lanes = info->subgroup_size};
    const char *text = programs[0].text;
    const uint64_t count = N, two = 2;
    for (uint32_t k = 0; k < COUNT(counts); k++) {
        vy_diag d = {0};
        vkrt_error e = {0};
        vkrt_plan *plan = NULL;
        vy_module *m = vy_parse(text, strlen(text), "below");
        vy_compiled *c = vy_compile(vy_module_program(m, 0), &o, &d);
        if (!c) fail_msg("%s", d.text);
        assert_true(c->kernels[0].watched && c->kernels[0].iterations_open);
        vkrt_status status = vkrt_plan_create_for_kernel(device, c->kernels, NULL, &plan, &e);
        assert_int_equal(status, VKRT_BAD_ARGUMENT); // nothing would check the result
        status = vkrt_plan_create(device, c->plans, NULL, &plan, &e);
        if (status) fail_msg("%s", e.text);
        vkrt_plan_set_buffer(plan, "x", 1, &count, xs, NULL);
        vkrt_plan_set_buffer(plan, "n", 1, &count, counts[k], NULL);
        vkrt_plan_set_buffer(plan, "m", 1, &two, NULL, NULL);
        status = vkrt_plan_run(plan, &e);
        float y[N] = {0};
        for (int i = 0; !status && i < N; i++) {
            status = vkrt_plan_read(plan, "y", y, sizeof y, &e);
            if (y[i] != (float)counts[k][i] * xs[i]) fail_msg("%g", (double)y[i]);
        }
        if (status) {
            if (status != VKRT_LIMIT || !info->loop_iteration_limit || is_small(counts[k]))
                fail_msg("%s", e.text);
            assert_non_null(strstr(e.text, "p: '"));
            assert_non_null(strstr(e.text, "65535 iterations"));
        }
        vkrt_plan_destroy(plan);
        vy_compiled_free(c);
        vy_module_free(m);
    }
}

// A kernel whose loops are short, whatever the data, is not changed by watch_loops.
static void short_loops_do_not_watch(void **state)
{
    static const char text[] =
        "program p(x: in f32[N], y: out f32[N], N: u32) workgroup(64) over(i: N) "
        "{ var s = 0.0; for k in 0..9 { s = s * 0.5 + x[(i + u32(k)) % N]; } y[i] = s; }";
    vy_diag d = {0};
    (void)state;
    vy_module *m = vy_parse(text, strlen(text), "short");
    const vy_spirv_options plain = {.validate = true},
                           watch = {.validate = true, .watch_loops = true, .lanes = 8};
    vy_compiled *a = vy_compile(vy_module_program(m, 0), &plain, &d);
    vy_compiled *b = vy_compile(vy_module_program(m, 0), &watch, &d);
    assert_true(a && b && !b->kernels[0].watched);
    assert_int_equal(a->word_count, b->word_count);
    assert_memory_equal(a->words, b->words, a->word_count * 4);
    vy_compiled_free(a);
    vy_compiled_free(b);
    vy_module_free(m);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(right_or_refused),
        cmocka_unit_test(below_the_session),
        cmocka_unit_test(short_loops_do_not_watch),
    };
    return cmocka_run_group_tests(tests, open_engines, close_engines);
}
