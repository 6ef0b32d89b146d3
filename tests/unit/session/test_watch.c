// SPDX-License-Identifier: MIT
// test_watch.c: buffers that are final before a run ends (vkrt_plan_watch): reported once, in order,
// with the values that they keep.
#include "session/session.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>

#include <cmocka.h>

enum { N = 64 };

// The parts are of different sizes, so that they stay programs of their own.
static const char text[] =
    "program total(x: in f32[N], s: out f32[1], N: u32) over(i: N) { atomic_add(s[0], x[i]); }\n"
    "program spread(x: in f32[N], s: in f32[1], y: out f32[N], N: u32) over(i: N)\n"
    "{ y[i] = x[i] * s[0]; }\n"
    "program more(x: in f32[N], y: inout f32[N], N: u32) over(i: N) { y[i] += x[i]; }\n"
    "pipeline line(x: in f32[N], s: out f32[1], y: out f32[N], z: out f32[1], N: u32)\n"
    "{ total(x, s); spread(x, s, y); total(y, z); }\n"
    "pipeline again(x: in f32[N], s: out f32[1], y: out f32[N], z: out f32[1], N: u32)\n"
    "{ total(x, s); spread(x, s, y); total(y, s); total(x, z); }\n"
    "pipeline loop(x: in f32[N], y: inout f32[N], z: out f32[1], N: u32, K: u32)\n"
    "{ repeat t in 0..K { more(x, y); total(y, z); } }\n";

static vys_session *session;

typedef struct seen {
    vkrt_plan *plan;
    const char *const *names;
    uint32_t count, order[4];
    float first[4]; // element 0 of each, as it was then
    bool others_wait;
    uint32_t idle;
} seen;

static void ready(void *user, uint32_t buffer)
{
    seen *s = user;
    vkrt_error e = {0};
    float data[N], z;
    const uint64_t bytes = strcmp(s->names[buffer], "y") ? sizeof z : sizeof data;
    assert_true(s->count < 4);
    assert_int_equal(vkrt_plan_read(s->plan, s->names[buffer], data, bytes, &e), VKRT_OK);
    s->order[s->count] = buffer;
    s->first[s->count++] = data[0];
    s->others_wait &= vkrt_plan_read(s->plan, "z", &z, sizeof z, &e) == VKRT_BUSY;
}

static void idle(void *user) { ((seen *)user)->idle++; }

static vys_task *task(const char *name, int64_t repeats)
{
    vys_task *t = NULL;
    vy_diag d = {0};
    float x[N], y[N] = {0};
    const uint64_t n = N;
    for (int i = 0; i < N; i++) x[i] = (float)(i + 1);
    bool ok = vys_task_parse(session, text, strlen(text), "f", &(vys_settings){.program = name}, &t,
                             &d) &&
              vys_set(t, "x", VY_F32, 1, &n, x, &d) &&
              (repeats < 0 ||
               (vys_set_int(t, "K", repeats, &d) && vys_set(t, "y", VY_F32, 1, &n, y, &d))) &&
              vys_prepare(t, &d);
    if (!ok) fail_msg("[%s] %s", d.code, d.text);
    return t;
}

static void watch(seen *s, vys_task *t, const char *const *names, uint32_t count, uint32_t *at)
{
    vkrt_error e = {0};
    *s = (seen){.plan = vys_task_plan(t), .names = names, .others_wait = true};
    const vkrt_watch_desc desc = {.size = sizeof desc,
                                  .buffers = names,
                                  .count = count,
                                  .ready = ready,
                                  .idle = idle,
                                  .user = s,
                                  .final_at = at};
    if (vkrt_plan_watch(s->plan, &desc, &e)) fail_msg("%s", e.text);
}

static void run(seen *s)
{
    vkrt_error e = {0};
    s->count = 0;
    if (vkrt_plan_run(s->plan, &e)) fail_msg("%s", e.text);
}

static float value(const seen *s, const char *name)
{
    vkrt_error e = {0};
    float data[N];
    const uint64_t bytes = strcmp(name, "y") ? sizeof *data : sizeof data;
    if (vkrt_plan_read(s->plan, name, data, bytes, &e)) fail_msg("%s", e.text);
    return data[0];
}

static void test_line(void **state)
{
    static const char *const names[] = {"z", "y", "s"};
    const float sum = N * (N + 1) / 2;
    uint32_t at[3];
    seen s;
    (void)state;
    if (!session) skip();
    vys_task *t = task("line", -1);
    watch(&s, t, names, 3, at);
    assert_true(at[2] < at[1] && at[1] < at[0] && at[0] == UINT32_MAX);
    for (int again = 0; again < 2; again++) {
        run(&s);
        assert_int_equal(s.count, 2);
        assert_true(s.order[0] == 2 && s.order[1] == 1 && s.others_wait);
        assert_true(s.first[0] == sum && s.first[1] == sum);
        assert_true(value(&s, "z") == sum * sum && value(&s, "y") == sum);
    }
    vkrt_error e = {0};
    const char *const none[] = {"nothing"};
    vkrt_watch_desc wrong = {.size = sizeof wrong, .buffers = none, .count = 1, .ready = ready};
    assert_int_equal(vkrt_plan_watch(s.plan, &wrong, &e), VKRT_BAD_ARGUMENT);
    wrong.count = 0;
    assert_int_equal(vkrt_plan_watch(s.plan, &wrong, &e), VKRT_OK);
    run(&s);
    assert_int_equal(s.count, 0); // nothing is watched any more
    vys_task_free(t);
}

// The last of several writers counts.
static void test_again(void **state)
{
    static const char *const names[] = {"s", "y"};
    const float sum = N * (N + 1) / 2;
    uint32_t at[2];
    seen s;
    (void)state;
    if (!session) skip();
    vys_task *t = task("again", -1);
    watch(&s, t, names, 2, at);
    assert_true(at[1] < at[0] && at[0] < UINT32_MAX);
    run(&s);
    assert_true(s.count == 2 && s.order[0] == 1 && s.order[1] == 0 && s.others_wait);
    assert_true(s.first[0] == sum && s.first[1] > sum && s.first[1] == value(&s, "s"));
    vys_task_free(t);
}

// The last of several iterations counts.
static void test_loop(void **state)
{
    static const char *const names[] = {"y"};
    (void)state;
    if (!session) skip();
    for (uint32_t repeats = 0; repeats < 4; repeats++) {
        seen s;
        uint32_t at;
        vys_task *t = task("loop", repeats);
        watch(&s, t, names, 1, &at);
        assert_true(at != UINT32_MAX);
        run(&s);
        assert_int_equal(s.count, repeats > 0);
        assert_true(!repeats || s.first[0] == (float)repeats);
        assert_true(value(&s, "y") == (float)repeats);
        vys_task_free(t);
    }
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
        cmocka_unit_test(test_line),
        cmocka_unit_test(test_again),
        cmocka_unit_test(test_loop),
    };
    return cmocka_run_group_tests_name("watch", tests, set_up, tear_down);
}
