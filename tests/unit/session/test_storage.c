// SPDX-License-Identifier: MIT
// test_storage.c: tasks whose data is in storages on the device: shared by several, recorded in
// command buffers, checked.
#include "session/check.h"
#include "session/session.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>

#include <cmocka.h>

enum { N = 5 };

static vys_session *session;
static const vys_settings gradient = {.order = 1};

static void good(bool ok, const vy_diag *d)
{
    if (!ok) fail_msg("[%s] %s (%s)", d->code, d->text, d->fix);
}

static void fails(bool ok, const vy_diag *d, const char *code, const char *words)
{
    assert_false(ok);
    if (strcmp(d->code, code) || !strstr(d->text, words)) fail_msg("[%s] %s", d->code, d->text);
}

static vys_task *task(const char *text, const vys_settings *settings)
{
    vys_task *t = NULL;
    vy_diag d = {0};
    good(vys_task_parse(session, text, strlen(text), "test", settings, &t, &d), &d);
    return t;
}

static vkrt_storage *storage(uint64_t bytes)
{
    vkrt_storage *s = NULL;
    vkrt_error e;
    const vkrt_storage_desc desc = {.size = sizeof desc, .bytes = bytes, .host_visible = true};
    if (vkrt_storage_create(vys_session_device(session), &desc, &s, &e)) fail_msg("%s", e.text);
    return s;
}

static void bind(vys_task *t, const char *name, uint64_t n, vkrt_storage *s, uint64_t offset)
{
    vy_diag d = {0};
    good(vys_bind(t, name, VY_F32, 1, &n, s, offset, &d), &d);
}

static void run(vys_task *t)
{
    vy_diag d = {0};
    good(vys_run(t, &d), &d);
}

static double largest(const vy_check_result *r)
{
    double most = 0;
    for (uint32_t i = 0; i < r->count; i++)
        if (r->rows[i].test == VY_CHECK_DIFFERENCES && r->rows[i].got > most) most = r->rows[i].got;
    return most;
}

#define LOSS                                                                                       \
    "program f(w: in f32[N], loss: out f32[1], N: u32) over(i: N) {\n"                             \
    "    atomic_add(loss[0], w[i] * w[i] * w[i]);\n"                                               \
    "}\n"
#define STEP                                                                                       \
    "program step(w: inout f32[N], g: in f32[N], N: u32) over(i: N) { w[i] -= 0.125 * g[i]; }\n"

// A training of two tasks that share parameters and gradient: nothing goes through the host, and
// runs continue from what is there.
static void test_shared(void **state)
{
    (void)state;
    if (!session) skip();
    vkrt_storage *s = storage(1024);
    float *w = vkrt_storage_mapped(s), expected[N];
    const float *g = w + 64;
    memset(w, 0x55, 1024);
    for (int i = 0; i < N; i++) w[i] = expected[i] = 0.25f * (float)(i + 1);
    vys_task *slope = task(LOSS, &gradient), *step = task(STEP, NULL);
    bind(slope, "w", N, s, 0);
    bind(slope, "grad_w", N, s, 256);
    bind(step, "w", N, s, 0);
    bind(step, "g", N, s, 256);
    vkrt_storage_destroy(s); // the tasks hold it
    for (int k = 0; k < 3; k++) {
        run(slope);
        for (int i = 0; i < N; i++) assert_true(g[i] == 3 * w[i] * w[i]);
        run(step);
        for (int i = 0; i < N; i++) {
            expected[i] -= 0.375f * expected[i] * expected[i];
            assert_true(w[i] - expected[i] < 1e-6f && expected[i] - w[i] < 1e-6f);
        }
    }
    vy_diag d = {0};
    float read[N];
    good(vys_read(slope, "grad_w", VY_F32, read, sizeof read, &d), &d);
    assert_memory_equal(read, g, sizeof read);
    vy_check_result *r = NULL;
    for (int i = 0; i < N; i++) w[i] = 2;
    good(vys_check(slope, NULL, &r, &d), &d);
    assert_true(r->passed && largest(r) > 11.9); // at the values that are there
    vy_check_free(r);
    good(vys_set(slope, "w", VY_F32, 1, (uint64_t[]){2}, (float[]){1, 2}, &d), &d);
    vy_diag sizes = {0};
    fails(vys_run(slope, &sizes), &sizes, "E0806", "grad_w is bound as [5], but is [2]");
    vys_task_free(slope);
    vys_task_free(step);
}

// What was bound is the task's own again: the storage keeps what it has, and sizes may change.
static void test_unbound(void **state)
{
    (void)state;
    if (!session) skip();
    vkrt_storage *s = storage(1024);
    float *w = vkrt_storage_mapped(s), g[2];
    vy_diag d = {0};
    vys_task *slope = task(LOSS, &gradient);
    memset(w, 0, 1024);
    w[0] = 1;
    bind(slope, "w", N, s, 0);
    bind(slope, "grad_w", N, s, 256);
    run(slope);
    assert_true(w[64] == 3);
    good(vys_bind(slope, "grad_w", VY_F32, 0, NULL, NULL, 0, &d), &d);
    good(vys_set(slope, "w", VY_F32, 1, (uint64_t[]){2}, (float[]){2, 4}, &d), &d);
    run(slope);
    good(vys_read(slope, "grad_w", VY_F32, g, sizeof g, &d), &d);
    assert_true(g[0] == 12 && g[1] == 48 && w[0] == 1 && w[64] == 3);
    good(vys_bind(slope, "w", VY_F32, 0, NULL, NULL, 0, &d), &d);
    good(vys_bind(slope, "w", VY_F32, 0, NULL, NULL, 0, &d), &d); // twice is no error
    vy_diag none = {0}, data = {0};
    fails(vys_run(slope, &data), &data, "E0805", "w has no data");
    fails(vys_bind(slope, "v", VY_F32, 0, NULL, NULL, 0, &none), &none, "E0801", "v");
    vys_task_free(slope);
    vkrt_storage_destroy(s);
}

// A prepared task is the caller's to submit.
static void test_prepared(void **state)
{
    (void)state;
    if (!session) skip();
    vys_task *t = task(STEP, NULL);
    vy_diag d = {0};
    vkrt_error e;
    float w[2];
    assert_null(vys_task_plan(t));
    good(vys_set(t, "w", VY_F32, 1, (uint64_t[]){2}, (float[]){1, 2}, &d), &d);
    good(vys_set(t, "g", VY_F32, 1, (uint64_t[]){2}, (float[]){8, 16}, &d), &d);
    good(vys_prepare(t, &d), &d);
    vkrt_plan *plan = vys_task_plan(t);
    assert_non_null(plan);
    assert_int_equal(vkrt_plan_read(plan, "w", w, sizeof w, &e), VKRT_OK);
    assert_true(w[0] == 1 && w[1] == 2); // nothing ran
    assert_int_equal(vkrt_plan_write_part(plan, "g", 4, (float[]){24}, 4, &e), VKRT_OK);
    for (int k = 0; k < 2; k++) {
        assert_int_equal(vkrt_plan_submit_with(plan, NULL, &e), VKRT_OK);
        assert_int_equal(vkrt_plan_wait(plan, UINT64_MAX, &e), VKRT_OK);
    }
    assert_int_equal(vkrt_plan_read(plan, "w", w, sizeof w, &e), VKRT_OK);
    assert_true(w[0] == -1 && w[1] == -4);
    fails(vys_read(t, "w", VY_F32, w, sizeof w, &d), &d, "E0801", "no run has succeeded");
    vys_task_free(t);
}

static void test_wrong(void **state)
{
    (void)state;
    if (!session) skip();
    vkrt_storage *s = storage(64);
    vys_task *t = task(LOSS, &gradient);
    vy_diag d[5] = {0};
    const uint64_t n = 64, one = 1;
    fails(vys_bind(t, "v", VY_F32, 1, &n, s, 0, &d[0]), &d[0], "E0801", "v");
    fails(vys_bind(t, "w", VY_F64, 1, &n, s, 0, &d[1]), &d[1], "E0807", "w is f32");
    bind(t, "w", 64, s, 0);
    fails(vys_run(t, &d[2]), &d[2], "E0806", "needs 256 bytes");
    bind(t, "w", 4, s, 4);
    fails(vys_run(t, &d[3]), &d[3], "E0806", "multiples");
    vys_task_free(t);
    vkrt_storage_destroy(s);
    vys_session *host;
    vy_diag e[4] = {0};
    good(vys_open(&(vys_session_desc){.interpreter = true}, &host, &e[0]), &e[0]);
    good(vys_task_parse(host, LOSS, strlen(LOSS), "test", NULL, &t, &e[1]), &e[1]);
    fails(vys_bind(t, "w", VY_F32, 1, &one, NULL, 0, &e[2]), &e[2], "E0801", "interpreter");
    fails(vys_prepare(t, &e[3]), &e[3], "E0801", "interpreter");
    vys_task_free(t);
    vys_close(host);
}

static int set_up(void **state)
{
    (void)state;
    vy_diag d = {0};
    if (!vys_open(NULL, &session, &d)) session = NULL; // every test skips itself
    return 0;
}

static int tear_down(void **state)
{
    (void)state;
    const char *message = session ? vys_session_message(session, 0) : NULL;
    if (message) print_error("%s\n", message);
    vys_close(session);
    return message != NULL;
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_shared),
        cmocka_unit_test(test_unbound),
        cmocka_unit_test(test_prepared),
        cmocka_unit_test(test_wrong),
    };
    return cmocka_run_group_tests(tests, set_up, tear_down);
}
