// SPDX-License-Identifier: MIT
// test_session.c: the session layer through its public header, on both engines, as a user's program
// sees it.
#include "autodiff/grad.h"
#include "ir/core/ir.h"
#include "session/bind.h"
#include "session/fit.h"
#include "session/session.h"
#include "tests/unit/failing.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

// ---------------------------------------------------------------------------- memory that runs out
// Linked with --wrap: all of our own allocations go through these, those of drivers and isl do not.
static long allocations_left = -1; // that succeed; negative: all

static bool refused(void)
{
    if (allocations_left > 0) allocations_left--;
    return allocations_left == 0;
}

void *__real_malloc(size_t size);
void *__real_calloc(size_t n, size_t size);
void *__real_realloc(void *p, size_t size);
void *__wrap_malloc(size_t size);
void *__wrap_calloc(size_t n, size_t size);
void *__wrap_realloc(void *p, size_t size);
void *__wrap_malloc(size_t size) { return refused() ? NULL : __real_malloc(size); }
void *__wrap_calloc(size_t n, size_t size) { return refused() ? NULL : __real_calloc(n, size); }
void *__wrap_realloc(void *p, size_t size)
{
    return size && refused() ? NULL : __real_realloc(p, size);
}

// ----------------------------------------------------------------------------------------- helpers
#define COUNT(a) (sizeof(a) / sizeof *(a))

typedef struct engines {
    vys_session *list[2]; // interpreter, device (NULL: there is none)
} engines;

static int open_engines(void **state)
{
    static engines e;
    vy_diag d = {0};
    if (!vys_open(&(vys_session_desc){.interpreter = true}, &e.list[0], &d)) return -1;
    if (!vys_open(&(vys_session_desc){.cache_dir = ""}, &e.list[1], &d))
        print_message("no device: %s\n", d.text);
    *state = &e;
    return 0;
}

static int close_engines(void **state)
{
    engines *e = *state;
    const char *said = e->list[1] ? vys_session_message(e->list[1], 0) : NULL;
    if (said) print_message("validation: %s\n", said);
    vys_close(e->list[0]);
    vys_close(e->list[1]);
    return said ? -1 : 0;
}

// Runs the rest of the test on both engines.
#define EACH_ENGINE(s)                                                                             \
    for (int engine_ = 0; engine_ < 2; engine_++)                                                  \
        for (vys_session *s = ((engines *)*state)->list[engine_]; s; s = NULL)

static void good(bool ok, const vy_diag *d)
{
    if (!ok) fail_msg("[%s] %s (%s)", d->code, d->text, d->fix);
}

static vys_task *task(vys_session *s, const char *text, const vys_settings *settings)
{
    vys_task *t;
    vy_diag d = {0};
    good(vys_task_parse(s, text, strlen(text), "test", settings, &t, &d), &d);
    return t;
}

static void set(vys_task *t, const char *name, uint64_t n, const float *x)
{
    vy_diag d = {0};
    good(vys_set(t, name, VY_F32, 1, &n, x, &d), &d);
}

static void set_int(vys_task *t, const char *name, int64_t value)
{
    vy_diag d = {0};
    good(vys_set_int(t, name, value, &d), &d);
}

static void run(vys_task *t)
{
    vy_diag d = {0};
    good(vys_run(t, &d), &d);
}

static void expect(vys_task *t, const char *name, uint64_t n, const float *want, double tolerance)
{
    float got[64] = {0};
    vy_diag d = {0};
    assert_true(n <= COUNT(got));
    good(vys_read(t, name, VY_F32, got, n * sizeof *got, &d), &d);
    for (uint64_t i = 0; i < n; i++)
        if (!(fabs((double)got[i] - want[i]) <= tolerance * fmax(1, fabs((double)want[i]))))
            fail_msg("%s[%d] = %.9g, not %.9g", name, (int)i, (double)got[i], (double)want[i]);
}

#define FLOATS(...)                                                                                \
    (const float[]) { __VA_ARGS__ }

static void refuses(bool ok, const vy_diag *d, const char *code, const char *about)
{
    assert_false(ok);
    if (!d->code || strcmp(d->code, code) || !strstr(d->text, about))
        fail_msg("[%s] %s, instead of [%s] … %s", d->code, d->text, code, about);
}

static const char SQUARES[] = "program f(x: in f32[N], w: in f32[1], y: out f32[N], N: u32) "
                              "over(i: N) { y[i] = w[0] * x[i] * x[i]; }";

// ------------------------------------------------------------------------------------------- tests
static void value_and_gradient(void **state)
{
    EACH_ENGINE(s)
    {
        vys_task *t = task(s, SQUARES, &(vys_settings){.order = 1, .with_value = true});
        set(t, "x", 3, FLOATS(1, 2, 3));
        set(t, "w", 1, FLOATS(2));
        run(t); // N is 3 by x
        expect(t, "y", 3, FLOATS(2, 8, 18), 0);
        expect(t, "grad_x", 3, FLOATS(4, 8, 12), 0);
        expect(t, "grad_w", 1, FLOATS(14), 0);
        vys_task_free(t);
    }
}

static void cotangents_and_choice(void **state)
{
    const char *of[] = {"y"}, *wrt[] = {"x"};
    EACH_ENGINE(s)
    {
        vys_task *t = task(s, SQUARES,
                           &(vys_settings){.order = 1,
                                           .seed_buffer = true,
                                           .of = of,
                                           .of_count = 1,
                                           .wrt = wrt,
                                           .wrt_count = 1});
        set(t, "x", 3, FLOATS(1, 2, 3));
        set(t, "w", 1, FLOATS(2));
        run(t); // a cotangent that is not set is ones
        expect(t, "grad_x", 3, FLOATS(4, 8, 12), 0);
        set(t, "grad_y", 3, FLOATS(1, 10, 100));
        run(t);
        expect(t, "grad_x", 3, FLOATS(4, 80, 1200), 0);
        vys_parameter p;
        uint32_t roles[4] = {0};
        for (uint32_t i = 0; vys_task_parameter(t, i, &p); i++) {
            roles[p.role]++;
            const bool gradient = p.role == VYS_ROLE_GRADIENT;
            if (p.rank) assert_int_equal(p.mode, gradient ? VY_OVERWRITES : VY_READS);
        }
        assert_int_equal(roles[VYS_ROLE_BUFFER], 2);
        assert_int_equal(roles[VYS_ROLE_COTANGENT], 1);
        assert_int_equal(roles[VYS_ROLE_GRADIENT], 1);
        assert_int_equal(roles[VYS_ROLE_SCALAR], 1);
        vy_diag d = {0};
        refuses(vys_set(t, "grad_x", VY_F32, 1, (uint64_t[]){3}, NULL, &d), &d, "E0807", "grad_x");
        vys_task_free(t);
    }
}

// Forward mode: tangents that nobody gives are ones; of an inout output alone, zeros.
static void tangents(void **state)
{
    const char *of[] = {"y", "u"}, *wrt[] = {"x"};
    EACH_ENGINE(s)
    {
        vys_settings o = {.order = 1, .forward = true, .of = of, .of_count = 2};
        o.wrt = wrt;
        o.wrt_count = 1;
        vys_task *t =
            task(s,
                 "program f(x: in f32[N], u: inout f32[N], y: out f32[N], N: u32) over(i: N) "
                 "{ u[i] = u[i] * x[i]; y[i] = u[i] * u[i]; }",
                 &o);
        set(t, "x", 2, FLOATS(1, 2));
        set(t, "u", 2, FLOATS(3, 4));
        run(t);
        expect(t, "dot_u", 2, FLOATS(3, 4), 0);
        expect(t, "dot_y", 2, FLOATS(18, 64), 0);
        set(t, "dot_x", 2, FLOATS(0, 0.5f));
        run(t);
        expect(t, "dot_y", 2, FLOATS(0, 32), 0);
        vys_parameter p;
        uint32_t count = 0;
        for (uint32_t i = 0; vys_task_parameter(t, i, &p); i++) {
            count += p.role == VYS_ROLE_TANGENT;
            if (p.cls == VY_INOUT) assert_int_equal(p.mode, VY_IN_PLACE);
        }
        assert_int_equal(count, 3);
        vys_task_free(t);
        vy_diag d = {0};
        o.order = 2;
        refuses(vys_task_parse(s, "", 0, NULL, &o, &t, &d), &d, "E0801", "order 1");
    }
}

// The optimiser puts local arrays behind the results that are declared after them: each is still
// found by its name (dot_b had what dot_a has).
static void tangents_behind_arrays(void **state)
{
    static const char text[] =
        "program f(a: inout f32[N], b: out f32[N], c: out f32[N], N: u32) over(i: N) { "
        "local l: f32[2]; for k in 0..N { l[k] = 1; } "
        "b[i] = 2 * a[i]; c[i] = 3 * a[i]; a[i] += l[i]; }";
    static const char *const names[] = {"dot_a", "dot_b", "dot_c"};
    EACH_ENGINE(s)
    {
        vys_task *t = task(s, text, &(vys_settings){.order = 1, .forward = true});
        set(t, "a", 2, FLOATS(1, 2));
        set(t, "dot_a", 2, FLOATS(1, 1));
        run(t);
        for (int k = 0; k < 3; k++)
            expect(t, names[k], 2, FLOATS((float)(k + 1), (float)(k + 1)), 0);
        vys_task_free(t);
    }
}

// A scalar that nothing uses has a gradient, zero, also where the program is no text.
static void unused_scalar(void **state)
{
    static const char text[] =
        "program f(x: in f32[N], y: out f32[N], N: u32, k: f32) over(i: N) { y[i] = x[i]; }";
    const char *wrt[] = {"k"};
    EACH_ENGINE(s)
    {
        vy_module *m = vy_parse(text, strlen(text), "f");
        vy_diag d = {0};
        vys_task *t;
        good(vys_task_build(s, m, &(vys_settings){.order = 1, .wrt = wrt, .wrt_count = 1}, &t, &d),
             &d);
        vy_module_free(m);
        set(t, "x", 2, FLOATS(1, 2));
        vys_set_float(t, "k", 3, &d);
        run(t);
        expect(t, "grad_k", 1, FLOATS(0), 0);
        vys_task_free(t);
    }
}

static void second_order(void **state)
{
    EACH_ENGINE(s)
    {
        vys_task *t = task(
            s,
            "program f(x: in f32[N], y: out f32[N], N: u32) over(i: N) { y[i] = x[i]*x[i]*x[i]; }",
            &(vys_settings){.order = 2});
        set(t, "x", 2, FLOATS(1, 3));
        run(t);
        expect(t, "grad2_x", 2, FLOATS(6, 18), 0);
        vys_task_free(t);
    }
}

// Every mistake is reported with the command's code, and the task stays usable.
static void mistakes(void **state)
{
    static const char text[] =
        "program f(x: in f32[N], w: in f32[N, 2], y: out f32[N], N: u32, k: u32, a: f32, b: u8) "
        "over(i: N) { y[i] = x[i] * w[i, 1] * f32(k) * a; }";
    static const char plain[] =
        "program f(x: in f32[N], w: in f32[N, 2], y: out f32[N], N: u32, k: u32, "
        "a: f32) over(i: N) { y[i] = x[i] * w[i, 1] * f32(k) * a; }";
    EACH_ENGINE(s)
    {
        vys_task *t = NULL;
        vy_diag d = {0};
        assert_false(vys_task_parse(s, text, strlen(text), "f", NULL, &t, &d)); // u8: no scalar
        assert_null(t);
        t = task(s, plain, NULL);
        d = (vy_diag){0};
        refuses(vys_set(t, "xx", VY_F32, 1, (uint64_t[]){3}, NULL, &d), &d, "E0801", "xx");
        assert_non_null(strstr(d.fix, "its buffers are: x, w, y"));
        assert_false(
            vys_set(t, "x", VY_F32, 1, (uint64_t[]){3}, NULL, &d)); // the first error sticks
        d = (vy_diag){0};
        refuses(vys_set(t, "x", VY_F64, 1, (uint64_t[]){3}, NULL, &d), &d, "E0807", "f32");
        d = (vy_diag){0};
        refuses(vys_set(t, "x", VY_F32, 2, (uint64_t[]){3, 1}, NULL, &d), &d, "E0806", "axes");
        d = (vy_diag){0};
        refuses(vys_set_int(t, "k", -1, &d), &d, "E0807", "-1");
        d = (vy_diag){0};
        refuses(vys_set_float(t, "k", 1.5, &d), &d, "E0807", "1.5");
        d = (vy_diag){0};
        refuses(vys_set_groups(t, (uint32_t[]){1, 1, 1}, &d), &d, "E0801", "domain");
        d = (vy_diag){0};
        refuses(vys_run(t, &d), &d, "E0805", "x has no data");
        set(t, "x", 3, FLOATS(1, 2, 3));
        d = (vy_diag){0};
        refuses(vys_run(t, &d), &d, "E0805", "w has no data");
        d = (vy_diag){0};
        good(vys_set_flat(t, "w", VY_F32, 8, FLOATS(1, 2, 3, 4, 5, 6, 7, 8), &d), &d);
        refuses(vys_run(t, &d), &d, "E0805", "scalar k");
        set_int(t, "k", 2);
        d = (vy_diag){0};
        good(vys_set_float(t, "a", 0.5, &d), &d);
        refuses(vys_run(t, &d), &d, "E0806", "w has 8 elements, but its declaration says [3, 2]");
        d = (vy_diag){0};
        good(vys_set_flat(t, "w", VY_F32, 6, FLOATS(1, 2, 3, 4, 5, 6), &d), &d);
        good(vys_set_int(t, "N", 4, &d), &d);
        refuses(vys_run(t, &d), &d, "E0806", "N is 4 by its value, but 3 by x");
        set_int(t, "N", 3);
        float y[3];
        d = (vy_diag){0};
        refuses(vys_read(t, "y", VY_F32, y, sizeof y, &d), &d, "E0801", "no run has succeeded");
        run(t);
        expect(t, "y", 3, FLOATS(2, 8, 18), 0);
        d = (vy_diag){0};
        refuses(vys_read(t, "y", VY_F32, y, sizeof y - 4, &d), &d, "E0806", "bytes");
        d = (vy_diag){0};
        refuses(vys_read(t, "x", VY_F32, y, sizeof y, &d), &d, "E0801", "input");
        vys_task_free(t);

        d = (vy_diag){0};
        refuses(vys_task_parse(s, plain, strlen(plain), "f", &(vys_settings){.program = "g"}, &t,
                               &d),
                &d, "E0803", "no program g");
        d = (vy_diag){0};
        refuses(vys_task_parse(
                    s, plain, strlen(plain), "f",
                    &(vys_settings){.order = 1, .wrt = (const char *[]){"z"}, .wrt_count = 1}, &t,
                    &d),
                &d, "E0501", "z");
        d = (vy_diag){0};
        refuses(vys_task_parse(s, plain, strlen(plain), "f", &(vys_settings){.size = 1}, &t, &d),
                &d, "E0801", "vys_settings.size is too small");
        static const struct {
            vys_settings settings;
            const char *text;
        } unsupported[] = {
            {{.order = 9}, "order is 1 to 8"},
            {{.order = 1000}, "order is 1 to 8"},
            {{.subgroup_size = 7}, "subgroup_size is a power of two, at most 128"},
            {{.subgroup_size = 256}, "subgroup_size is a power of two, at most 128"},
            {{.precise = true, .fast_math = true}, "precise and fast_math contradict"},
            {{.level = (vys_level)9}, "level has no value 9"},
            {{.keep = (vys_keep)9}, "keep has no value 9"},
            {{.target = (vy_target)9}, "target has no value 9"},
            {{.accumulate = (vy_accumulate)9}, "accumulate has no value 9"},
        };
        for (size_t i = 0; i < COUNT(unsupported); i++) {
            d = (vy_diag){0};
            refuses(vys_task_parse(s, plain, strlen(plain), "f", &unsupported[i].settings, &t, &d),
                    &d, "E0801", unsupported[i].text);
            assert_null(t);
        }
    }
    vys_session *none;
    vy_diag d = {0};
    const struct {
        vys_session_desc known;
        uint64_t later;
    } newer = {{.size = sizeof newer, .interpreter = true}, 1};
    refuses(vys_open(&newer.known, &none, &d), &d, "E0801", "a member that this version does not");
    d = (vy_diag){0};
    refuses(vys_open(&(vys_session_desc){.device = "no such device"}, &none, &d), &d, "E0903", "");
    assert_null(none);
}

// More iterations than lavapipe runs before it silently leaves a loop.
static void long_loops(void **state)
{
    static const char text[] =
        "program f(x: in f32[N], y: out f32[N], N: u32, K: u32) over(i: N) "
        "{ var s = 0.0; for k in 0..K { if x[i]*f32(k) >= 0.0 { s += x[i]; } } y[i] = s; }";
    EACH_ENGINE(s)
    {
        vys_task *t = task(s, text, &(vys_settings){.order = 1, .with_value = true});
        set(t, "x", 2, FLOATS(1, 2));
        set_int(t, "K", 10); // compiled for short loops first
        run(t);
        expect(t, "grad_x", 2, FLOATS(10, 10), 0);
        set_int(t, "K", 100000);
        run(t);
        expect(t, "y", 2, FLOATS(100000, 200000), 0);
        expect(t, "grad_x", 2, FLOATS(100000, 100000), 0);
        vys_task_free(t);
    }
}

// Tapes whose lengths only the data determine: three programs, with values read back in between.
static void pipelines(void **state)
{
    EACH_ENGINE(s)
    {
        vys_task *t = task(s,
                           "program f(x: in f32[N], y: out f32[N], N: u32) over(i: N) "
                           "{ var v = x[i]; while v < 100 { v = v * v + 1; } y[i] = v; }",
                           &(vys_settings){.order = 1, .with_value = true});
        set(t, "x", 2, FLOATS(1, 3));
        run(t);
        expect(t, "y", 2, FLOATS(677, 101), 0);
        expect(t, "grad_x", 2, FLOATS(4160, 120), 0);
        set(t, "x", 4, FLOATS(1, 3, 1, 200)); // other lengths everywhere
        run(t);
        expect(t, "grad_x", 4, FLOATS(4160, 120, 4160, 1), 0);
        vys_task_free(t);

        t = task(s,
                 "program add(x: inout f32[N], n: u32, N: u32) over(i: N) { x[i] += f32(n); } "
                 "pipeline twice(x: inout f32[N], steps: in u32[1], N: u32) "
                 "{ let n = value(steps[0]); repeat t in 0..n { add(x, n = t + 1); } }",
                 NULL);
        vy_diag d = {0};
        set(t, "x", 2, FLOATS(10, 20));
        good(vys_set(t, "steps", VY_U32, 1, (uint64_t[]){1}, (uint32_t[]){3}, &d), &d);
        run(t);
        expect(t, "x", 2, FLOATS(16, 26), 0);
        run(t); // from what was set
        expect(t, "x", 2, FLOATS(16, 26), 0);
        vys_task_free(t);
    }
}

static void fewer_bytes(void **state)
{
    static const char text[] =
        "program f(x: in f32[N], y: out f32[N], N: u32, K: u32) over(i: N) "
        "{ var v = x[i]; for k in 0..K { v = sin(v) * x[i] + v; } y[i] = v; }";
    EACH_ENGINE(s)
    {
        float full[8], less[8], x[8];
        vy_diag d = {0};
        for (int i = 0; i < 8; i++) x[i] = 0.1f * (float)i + 0.2f;
        vys_task *t = task(s, text, &(vys_settings){.order = 1});
        set(t, "x", 8, x);
        set_int(t, "K", 400);
        run(t);
        assert_int_equal(vys_task_stats(t).storage, 0);
        good(vys_read(t, "grad_x", VY_F32, full, sizeof full, &d), &d);
        vys_task_free(t);

        t = task(s, text, &(vys_settings){.order = 1, .tape_limit = 2000});
        set(t, "x", 8, x);
        set_int(t, "K", 400);
        run(t);
        assert_true(vys_task_stats(t).storage > 1);
        good(vys_read(t, "grad_x", VY_F32, less, sizeof less, &d), &d);
        assert_memory_equal(full, less, sizeof full);
        set_int(t, "K", 10); // and again
        run(t);
        vys_task_free(t);

        t = task(s, text, &(vys_settings){.order = 1, .tape_limit = 2000, .keep = VYS_KEEP_ALL});
        set(t, "x", 8, x);
        set_int(t, "K", 400);
        refuses(vys_run(t, &d), &d, "E0811", "bytes on tapes");
        set_int(t, "K", 10);
        run(t);
        vys_task_free(t);

        // sizes that exceed the limit only after code was compiled
        t = task(s, text, &(vys_settings){.order = 1, .tape_limit = 2000});
        set(t, "x", 8, x);
        set_int(t, "K", 20);
        run(t);
        set_int(t, "K", 400);
        run(t);
        good((d = (vy_diag){0}, vys_read(t, "grad_x", VY_F32, less, sizeof less, &d)), &d);
        assert_memory_equal(full, less, sizeof full);
        vys_task_free(t);
    }
}

static void deterministic(void **state)
{
    static const char text[] = "program f(x: in f32[N], k: in u32[N], w: in f32[4], y: out f32[N], "
                               "s: out f32[1], N: u32) over(i: N) "
                               "{ y[i] = sin(x[i] * w[k[i]]); atomic_add(s[0], x[i] * 0.1); }";
    enum { N = 1000 };
    static float x[N];
    static uint32_t k[N];
    for (int i = 0; i < N; i++) x[i] = sinf((float)i) * 100, k[i] = (uint32_t)(i * 7 % 4);
    EACH_ENGINE(s)
    {
        float first[5], again[5];
        vy_diag d = {0};
        for (uint32_t order = 0; order < 2; order++) {
            vys_task *t = task(s, text, &(vys_settings){.order = order, .deterministic = true});
            const char *name = order ? "grad_w" : "s";
            const uint64_t bytes = order ? 16 : 4;
            set(t, "x", N, x);
            set(t, "w", 4, FLOATS(0.1f, 0.2f, 0.3f, 0.4f));
            good(vys_set(t, "k", VY_U32, 1, (uint64_t[]){N}, k, &d), &d);
            for (int n = 0; n < 5; n++) {
                run(t);
                good(vys_read(t, name, VY_F32, n ? again : first, bytes, &d), &d);
                if (n) assert_memory_equal(first, again, bytes);
            }
            vys_task_free(t);
        }
    }
}

// Compiled code is reused, also for other contents and sizes; `inout` buffers start from what was
// set.
static void again(void **state)
{
    static const char text[] =
        "program f(x: in f32[N], w: inout f32[N], y: out f32[N], N: u32, a: f32) "
        "over(i: N) { w[i] += a * x[i]; y[i] = w[i]; }";
    EACH_ENGINE(s)
    {
        for (int keep = 0; keep < 2; keep++) {
            vy_diag d = {0};
            vys_task *t = task(s, text, &(vys_settings){.keep_state = keep});
            set(t, "x", 2, FLOATS(1, 2));
            set(t, "w", 2, FLOATS(10, 20));
            good(vys_set_float(t, "a", 1, &d), &d);
            run(t);
            expect(t, "w", 2, FLOATS(11, 22), 0);
            run(t);
            if (!keep) expect(t, "w", 2, FLOATS(11, 22), 0);
            if (keep) expect(t, "w", 2, FLOATS(12, 24), 0);
            set(t, "x", 2, FLOATS(5, 6));
            run(t);
            if (!keep) expect(t, "w", 2, FLOATS(15, 26), 0);
            if (keep) expect(t, "w", 2, FLOATS(17, 30), 0);
            good(vys_set_float(t, "a", 2, &d), &d);
            run(t);
            if (!keep) expect(t, "y", 2, FLOATS(20, 32), 0);
            if (keep) expect(t, "y", 2, FLOATS(27, 42), 0);
            assert_int_equal(vys_task_stats(t).runs, 4);
            assert_int_equal(vys_task_stats(t).compilations, 1);
            set(t, "w", 3, FLOATS(1, 2, 3));
            refuses(vys_run(t, &d), &d, "E0806", "N is 2");
            set(t, "x", 3, FLOATS(1, 1, 1));
            run(t);
            expect(t, "y", 3, FLOATS(3, 4, 5), 0);
            set(t, "x", 1, FLOATS(1));
            set(t, "w", 1, NULL); // zeros
            run(t);
            expect(t, "y", 1, FLOATS(2), 0);
            run(t);
            if (!keep) expect(t, "y", 1, FLOATS(2), 0);
            if (keep) expect(t, "y", 1, FLOATS(4), 0);
            set(t, "x", 0, NULL);
            set(t, "w", 0, NULL);
            run(t);
            vys_task_free(t);
        }
    }
}

static void open_lengths_and_groups(void **state)
{
    EACH_ENGINE(s)
    {
        vys_task *t = task(s,
                           "program f(x: in f32[?], y: out f32[?], N: u32) over(i: N) "
                           "{ if i < len(x) { y[i] = x[i] * x[i]; } }",
                           NULL);
        vy_diag d = {0};
        set_int(t, "N", 3);
        set(t, "x", 3, FLOATS(1, 2, 3));
        refuses(vys_run(t, &d), &d, "E0806", "nothing says how long y is");
        set(t, "y", 3, NULL);
        run(t);
        expect(t, "y", 3, FLOATS(1, 4, 9), 0);
        vys_task_free(t);

        t = task(s, "program g(y: out f32[8]) workgroup(4) { y[gid.x] = f32(wid.x + 1); }", NULL);
        d = (vy_diag){0};
        refuses(vys_run(t, &d), &d, "E0805", "workgroups");
        d = (vy_diag){0};
        good(vys_set_groups(t, (uint32_t[]){2, 1, 1}, &d), &d);
        run(t);
        expect(t, "y", 8, FLOATS(1, 1, 1, 1, 2, 2, 2, 2), 0);
        good(vys_set_groups(t, (uint32_t[]){1, 1, 1}, &d), &d);
        run(t);
        expect(t, "y", 8, FLOATS(1, 1, 1, 1, 0, 0, 0, 0), 0);
        vys_task_free(t);
    }
}

static void built_programs(void **state)
{
    vy_module *m = vy_module_new();
    vy_builder *b = vy_program_begin(m, "scale");
    vy_value n = vy_param_scalar(b, "N", VY_U32);
    vy_dim dim = vy_dim_value(b, n);
    vy_buffer x = vy_param_buffer(b, "x", VY_IN, VY_F32, 1, &dim);
    vy_buffer y = vy_param_buffer(b, "y", VY_OUT, VY_F32, 1, &dim);
    vy_value i = vy_over(b, "i", dim);
    vy_value v = vy_load(b, x, &i);
    vy_store(b, y, &i, vy_mul(b, v, v));
    assert_non_null(vy_program_end(b));
    EACH_ENGINE(s)
    {
        vys_task *t;
        vy_diag d = {0};
        good(vys_task_build(s, m, &(vys_settings){.order = 1}, &t, &d), &d);
        set(t, "x", 2, FLOATS(3, 4));
        run(t);
        expect(t, "grad_x", 2, FLOATS(6, 8), 0);
        vys_task_free(t);
    }
    vy_module_free(m);
}

static void doubles_in_the_interpreter(void **state)
{
    vys_session *s = ((engines *)*state)->list[0];
    vys_task *t = task(s, SQUARES, &(vys_settings){.order = 1, .f64 = true});
    vy_diag d = {0};
    double x[2] = {0.1, 0.2}, got[2];
    good(vys_set(t, "x", VY_F64, 1, (uint64_t[]){2}, x, &d), &d);
    set(t, "w", 1, FLOATS(0.5f)); // floats become doubles
    run(t);
    good(vys_read(t, "grad_x", VY_F64, got, sizeof got, &d), &d);
    assert_true(got[0] == 0.1 && got[1] == 0.2);
    vys_task_free(t);
}

// Two sessions have their own devices, and one lends its device to a third.
static void two_sessions(void **state)
{
    vys_session *a = ((engines *)*state)->list[1], *b, *c;
    vy_diag d = {0};
    if (!a) skip();
    good(vys_open(&(vys_session_desc){.cache_dir = ""}, &b, &d), &d);
    good(vys_open(&(vys_session_desc){.use = vys_session_device(b)}, &c, &d), &d);
    vys_session *all[] = {a, b, c};
    vys_task *t[3];
    for (int i = 0; i < 3; i++) t[i] = task(all[i], SQUARES, &(vys_settings){.order = 1});
    for (int i = 0; i < 3; i++) {
        set(t[i], "x", 2, (float[]){(float)i, 2});
        set(t[i], "w", 1, FLOATS(1));
    }
    for (int n = 0; n < 2; n++)
        for (int i = 0; i < 3; i++) run(t[i]);
    for (int i = 0; i < 3; i++) expect(t[i], "grad_x", 2, (float[]){2 * (float)i, 4}, 0);
    for (int i = 0; i < 3; i++) vys_task_free(t[i]);
    vys_close(c);
    vys_close(b);
}

// More memory than host or device has: an error, and the session stays usable.
static void too_much(void **state)
{
    EACH_ENGINE(s)
    {
        vy_diag d = {0};
        vys_task *t =
            task(s, "program f(y: out f32[N, 4096], N: u32) over(i: 1) { y[0, 0] = 1.0; }", NULL);
        set_int(t, "N", 4000000000);
        refuses(vys_run(t, &d), &d, "E0001", "y"); // 65 TB
        set_int(t, "N", 1);
        run(t);
        float y[4096];
        d = (vy_diag){0};
        good(vys_read(t, "y", VY_F32, y, sizeof y, &d), &d);
        assert_true(y[0] == 1 && y[4095] == 0);
        vys_task_free(t);

        if (!vys_session_device(s)) continue; // the interpreter would count to 4e9
        t = task(s,
                 "program f(x: in f32[N], y: out f32[N], N: u32, K: u32) over(i: N) "
                 "{ var v = x[i]; for k in 0..K { v = sin(v) * x[i] + v; } y[i] = v; }",
                 &(vys_settings){.order = 1,
                                 .keep = VYS_KEEP_ALL,
                                 .tape_limit = (uint64_t)1 << 60});
        set(t, "x", 2, FLOATS(1, 2));
        set_int(t, "K", 4000000000);
        d = (vy_diag){0};
        refuses(vys_run(t, &d), &d, "E0903", "");
        set_int(t, "K", 3);
        run(t);
        vys_task_free(t);
    }
}

// --------------------------------------------------------------------------------- below the layer
// A caller who compiles without the session gets an error where the device would silently compute
// wrong results beyond a limit.
static vy_compiled *compiled(const char *text, bool derived, const vy_opt_options *opt,
                             const vy_spirv_options *spirv)
{
    vy_diag d = {0};
    vy_module *m = vy_parse(text, strlen(text), "below"), *g = m;
    assert_true(vy_module_ok(m));
    if (derived) g = vy_grad(m, &(vy_grad_options){0}, &d);
    good(g != NULL, &d);
    assert_true(vy_optimize(g, opt));
    vy_compiled *c = vy_compile_result(g, spirv, &d);
    good(c != NULL, &d);
    if (g != m) vy_module_free(g);
    vy_module_free(m);
    return c;
}

static vkrt_status run_below(vkrt_device *device, const vy_compiled *c, bool trust, int64_t k,
                             float got[2], vkrt_error *e)
{
    vkrt_plan *plan;
    const vkrt_plan_desc desc = {.trust_loops = trust};
    vkrt_status status = vkrt_plan_create(device, c->plans, &desc, &plan, e);
    if (status) return status;
    const uint64_t n = 2;
    vkrt_plan_set_buffer(plan, "x", 1, &n, FLOATS(1, 2), NULL);
    vkrt_plan_set_int(plan, "K", k, NULL);
    status = vkrt_plan_run(plan, e);
    if (!status) status = vkrt_plan_read(plan, "grad_x", got, 8, e);
    vkrt_plan_destroy(plan);
    return status;
}

static void limits_are_errors(void **state)
{
    static const char loop[] =
        "program f(x: in f32[N], y: out f32[N], N: u32, K: u32) over(i: N) "
        "{ var s = 0.0; for k in 0..K { if x[i]*f32(k) >= 0.0 { s += x[i]; } } y[i] = s; }";
    static const char open[] =
        "program f(x: in f32[N], y: out f32[N], N: u32, K: u32) over(i: N) "
        "{ var v = x[i]; var s = 0.0; while v < f32(K) { v += 1.0; s += x[i]; } "
        "y[i] = s; }";
    vys_session *s = ((engines *)*state)->list[1];
    if (!s) skip();
    vkrt_device *device = vys_session_device(s);
    const vkrt_device_info *info = vkrt_device_get_info(device);
    const vy_spirv_options spirv = {.enabled = vkrt_device_features(device), .validate = true};
    const vy_opt_options plain = {.level = 2}, chunked = {.level = 2, .chunk = 8};
    float got[2];
    vkrt_error e = {0};

    vy_compiled *c = compiled(loop, true, &plain, &spirv);
    assert_true(c->kernels[0].iteration_count > 0 && !c->kernels[0].iterations_open);
    assert_int_equal(run_below(device, c, false, 100, got, &e), VKRT_OK);
    assert_true(got[0] == 100 && got[1] == 100);
    if (info->loop_iteration_limit) {
        assert_int_equal(run_below(device, c, false, 100000, got, &e), VKRT_LIMIT);
        if (!strstr(e.text, "its loops may take 10000") || !strstr(e.fix, "chunk"))
            fail_msg("%s (%s)", e.text, e.fix);
        vy_compiled_free(c);
        c = compiled(loop, true, &chunked, &spirv);
        assert_int_equal(run_below(device, c, false, 100000, got, &e), VKRT_OK);
        assert_true(got[0] == 100000 && got[1] == 100000);
    }
    vy_compiled_free(c);

    c = compiled(open, true, &plain, &spirv);
    if (info->loop_iteration_limit) {
        assert_int_equal(run_below(device, c, false, 10, got, &e), VKRT_LIMIT);
        assert_non_null(strstr(e.text, "depend on data"));
    }
    assert_int_equal(run_below(device, c, true, 10, got, &e), VKRT_OK);
    vy_compiled_free(c);

    const vy_spirv_options other = {.enabled = spirv.enabled,
                                    .subgroup_size = info->subgroup_size * 2};
    c = compiled(loop, true, &plain, &other);
    assert_int_equal(run_below(device, c, false, 10, got, &e), VKRT_LIMIT);
    assert_non_null(strstr(e.text, "subgroups"));
    vy_compiled_free(c);

    char deep[4000] =
        "program f(x: in f32[N], y: out f32[N], N: u32, K: u32) over(i: N) { var s = 0.0; ";
    for (int i = 0; i < 100; i++) sprintf(deep + strlen(deep), "if x[i] > %d.0 { s += 1.0; ", i);
    memset(deep + strlen(deep), '}', 100);
    strcat(deep, " y[i] = s; }");
    c = compiled(deep, false, &(vy_opt_options){0}, &spirv);
    assert_in_range(c->kernels[0].nesting, 99, 101);
    const vkrt_status status = vkrt_device_check(device, &c->kernels[0], &e);
    assert_int_equal(status, info->nesting_limit ? VKRT_LIMIT : VKRT_OK);
    vy_compiled_free(c);
}

// -------------------------------------------------------------------------------- allocations fail
// From parsing to reading; false with the diagnostic.
static bool whole(vys_session *s, const char *text, const vys_settings *settings, float got[4],
                  vy_diag *d)
{
    vys_task *t;
    const float x[2] = {0.5f, 0.75f};
    const uint64_t n = 2;
    bool ok = vys_task_parse(s, text, strlen(text), "memory", settings, &t, d) &&
              vys_set(t, "x", VY_F32, 1, &n, x, d) && vys_set_int(t, "K", 5, d) && vys_run(t, d) &&
              vys_read(t, settings->order ? "grad_x" : "y", VY_F32, got, 8, d) &&
              vys_set(t, "x", VY_F32, 1, &n, x, d) && vys_run(t, d) && vys_set_int(t, "K", 6, d) &&
              vys_run(t, d) && vys_read(t, settings->order ? "grad_x" : "y", VY_F32, got + 2, 8, d);
    vys_task_free(t);
    return ok;
}

static void every_allocation(void **state)
{
    static const char loop[] =
        "program f(x: in f32[N], y: out f32[N], N: u32, K: u32) over(i: N) "
        "{ var v = x[i]; for k in 0..K { v = sin(v) * x[i] + v; } y[i] = v; }";
    static const vys_settings settings[] = {{.no_validate = true},
                                            {.order = 1, .no_validate = true},
                                            {.order = 1, .tape_limit = 130, .no_validate = true}};
    EACH_ENGINE(s)
    for (size_t k = 0; k < COUNT(settings); k++) {
        float want[4], got[4];
        vy_diag d = {0};
        good(whole(s, loop, &settings[k], want, &d), &d);
        long n = 0;
        bool ok = false;
        for (; !ok && n < 1000000; n = next_failing(n)) {
            d = (vy_diag){0};
            memset(got, 0, sizeof got);
            allocations_left = n + 1;
            ok = whole(s, loop, &settings[k], got, &d);
            allocations_left = -1;
            if (!ok && strcmp(d.code, "E0001") && strcmp(d.code, "E0903"))
                fail_msg("%ld: [%s] %s", n, d.code, d.text);
        }
        assert_true(ok && n > 100);
        assert_memory_equal(want, got, sizeof want);
    }
}

// ---------------------------------------------------------------------------------------- training
static const char trained[] =
    "program mse(x: in f32[N, 2], y: in f32[N], w: in f32[2, 1], loss: out f32[1], N: u32)"
    " over(i: N) { let e = x[i, 0] * w[0, 0] + x[i, 1] * w[1, 0] - y[i];"
    " atomic_add(loss[0], e * e); }";

// `runs` runs of `steps` steps: the parameters.  NULL: adam, with batches.
static bool train_by(vys_session *s, const char *optimiser, uint32_t steps, int runs, float w[2],
                     vy_diag *d)
{
    const float x[] = {0, 1, 1, 1, 2, 1, 3, 1}, y[] = {1, 3, 5, 8};
    const char *params[] = {"w"}, *batch[] = {"x", "y"};
    const vys_fit fit = {.train = {.loss = "loss",
                                   .params = params,
                                   .param_count = 1,
                                   .optimiser = optimiser,
                                   .lr = optimiser ? 1 : 0.05,
                                   .batch = batch,
                                   .batch_count = optimiser ? 0 : 2,
                                   .seed = 3},
                         .steps = steps,
                         .batch = optimiser ? 0 : 3};
    vys_task *t;
    w[0] = w[1] = 0;
    bool ok = vys_fit_parse(s, trained, sizeof trained - 1, "mse", &fit,
                            &(vys_settings){.no_validate = true}, &t, d) &&
              vys_set(t, "x", VY_F32, 2, (uint64_t[]){4, 2}, x, d) &&
              vys_set_flat(t, "y", VY_F32, 4, y, d) && vys_set_flat(t, "w", VY_F32, 2, w, d);
    for (int i = 0; ok && i < runs; i++) ok = vys_run(t, d);
    ok = ok && vys_read(t, "w", VY_F32, w, 2 * sizeof *w, d);
    vys_task_free(t);
    return ok;
}

static bool train(vys_session *s, uint32_t steps, int runs, float w[2], vy_diag *d)
{
    return train_by(s, NULL, steps, runs, w, d);
}

// The least squares have a closed form, which L-BFGS reaches; runs go on from each other.
static void training_searches(void **state)
{
    EACH_ENGINE(s)
    {
        float once[2], twice[2];
        vy_diag d = {0};
        good(train_by(s, "lbfgs", 8, 1, once, &d) && train_by(s, "lbfgs", 4, 2, twice, &d), &d);
        for (int i = 0; i < 2; i++) {
            assert_true(fabsf(once[i] - (i ? 0.8f : 2.3f)) <= 1e-4f);
            assert_true(fabsf(once[i] - twice[i]) <= 1e-4f);
        }
    }
}

// A run continues where the last one ended.
static void training(void **state)
{
    EACH_ENGINE(s)
    {
        float once[2], twice[2];
        vy_diag d = {0};
        good(train(s, 20, 1, once, &d) && train(s, 10, 2, twice, &d), &d);
        for (int i = 0; i < 2; i++) assert_true(fabsf(once[i] - twice[i]) <= 1e-5f);
        assert_true(once[0] > 0.3f);
    }
}

static void training_errors(void **state)
{
    vys_session *s;
    vys_task *t;
    vy_diag d = {0};
    const char *params[] = {"y"}, *none[] = {"v"};
    (void)state;
    good(vys_open(&(vys_session_desc){.interpreter = true}, &s, &d), &d);
    const vy_train_options y = {.loss = "loss", .params = params, .param_count = 1, .lr = 0.1};
    vy_train_options v = y;
    v.params = none;
    const struct {
        vys_fit fit;
        const char *code;
    } wrong[] = {{{.train = y}, "E0801"},
                 {{.train = y, .steps = 1, .batch = 4}, "E0801"},
                 {{.train = y, .steps = 1, .size = 3}, "E0801"},
                 {{.train = v, .steps = 1}, "E0501"},
                 {{.train = {.loss = "loss", .lr = 1}, .steps = 1}, "E0501"},
                 {{.train = {.params = params, .param_count = 1, .lr = 1}, .steps = 1}, "E0501"}};
    for (size_t i = 0; i < COUNT(wrong); i++) {
        d = (vy_diag){0};
        assert_false(
            vys_fit_parse(s, trained, sizeof trained - 1, "mse", &wrong[i].fit, NULL, &t, &d));
        assert_string_equal(d.code, wrong[i].code);
        assert_null(t);
    }
    vys_close(s);
}

static void memory_runs_out(vys_session *s, const char *optimiser)
{
    float want[2], got[2];
    vy_diag d = {0};
    good(train_by(s, optimiser, 2, 2, want, &d), &d);
    bool ok = false;
    for (long n = 0; !ok && n < 1000000; n = next_failing(n)) {
        d = (vy_diag){0};
        allocations_left = n + 1;
        ok = train_by(s, optimiser, 2, 2, got, &d);
        allocations_left = -1;
        if (!ok && strcmp(d.code, "E0001")) fail_msg("%ld: [%s] %s", n, d.code, d.text);
    }
    assert_true(ok);
    assert_memory_equal(want, got, sizeof want);
}

static void training_memory(void **state)
{
    vys_session *s;
    vy_diag d = {0};
    (void)state;
    good(vys_open(&(vys_session_desc){.interpreter = true}, &s, &d), &d);
    memory_runs_out(s, NULL);
    memory_runs_out(s, "lbfgs");
    vys_close(s);
}

// ------------------------------------------------------------------------------ names tell nothing
static void rename_buffer(vy_program *p, const char *from, const char *to)
{
    p->buffers.data[vy_program_find_buffer(p, from).id].name = to;
    vy_names_drop(p);
}

static vys_binding bound(const vy_program *p)
{
    vys_binding b;
    vy_diag d = {0};
    good(vys_binding_create(&b, vys_entry_program(p), false, NULL, &d), &d);
    return b;
}

static float first(const vys_binding *b, const char *name)
{
    const vys_bound *buf = vys_binding_find(b, name);
    assert_non_null(buf);
    assert_int_equal(buf->value.count, 3);
    return *(const float *)buf->value.data;
}

// The derivative takes x and N of its source under other names; its cotangent, which is called x
// now, is none of the source's buffers.
static void roles_decide(void **state)
{
    (void)state;
    vy_diag d = {0};
    vy_module *m = vy_parse(SQUARES, strlen(SQUARES), "test");
    vy_module *g = vy_grad(m, &(vy_grad_options){.seed_buffer = true}, &d);
    assert_non_null(g);
    vy_program *p = g->programs.data[0];
    rename_buffer(p, "x", "first");
    rename_buffer(p, "grad_y", "x");
    p->scalars.data[0].name = "rows";
    vy_names_drop(p);
    vys_binding forward = bound(vy_module_program(m, 0)), b = bound(p);
    forward.scalars[0].known = true;
    forward.scalars[0].value.u = 3;
    good(vys_binding_fill(&forward, &d), &d);
    ((float *)vys_binding_find(&forward, "x")->value.data)[0] = 5;
    good(vys_binding_derive(&b, &forward, NULL, NULL, &d), &d);
    assert_true(b.scalars[0].known && b.scalars[0].value.u == 3);
    assert_true(first(&b, "first") == 5 && first(&b, "x") == 1);
    assert_ptr_equal(vys_binding_source(&forward, &vys_binding_find(&b, "first")->info),
                     vys_binding_find(&forward, "x"));
    vys_binding_free(&b);
    vys_binding_free(&forward);
    vy_module_free(g);
    vy_module_free(m);
}

// In a second derivative the cotangent of the first one is a buffer of its source, but none of the
// first source; `w` is.
static void roles_again(void **state)
{
    (void)state;
    vy_diag d = {0};
    const char *const of[] = {"grad_x"};
    const vy_grad_options first_options = {.seed_buffer = true,
                                           .again = true,
                                           .accumulate = VY_ACCUMULATE_ATOMIC};
    vy_module *m = vy_parse(SQUARES, strlen(SQUARES), "test");
    vy_module *g = vy_grad(m, &first_options, &d);
    assert_non_null(g);
    vy_module *h = vy_grad(g, &(vy_grad_options){.of = of, .of_count = 1}, &d);
    assert_non_null(h);
    vys_binding forward = bound(vy_module_program(m, 0));
    vys_binding b = bound(vy_module_program(h, 0));
    const vys_bound *w = vys_binding_find(&b, "w"), *ct = vys_binding_find(&b, "grad_y");
    assert_int_equal(ct->info.role.kind, VY_IS_PRIMAL);
    assert_null(vys_binding_source(&forward, &ct->info));
    assert_ptr_equal(vys_binding_source(&forward, &w->info), vys_binding_find(&forward, "w"));
    vys_binding_free(&b);
    vys_binding_free(&forward);
    vy_module_free(h);
    vy_module_free(g);
    vy_module_free(m);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(value_and_gradient),
        cmocka_unit_test(cotangents_and_choice),
        cmocka_unit_test(tangents),
        cmocka_unit_test(tangents_behind_arrays),
        cmocka_unit_test(unused_scalar),
        cmocka_unit_test(second_order),
        cmocka_unit_test(mistakes),
        cmocka_unit_test(long_loops),
        cmocka_unit_test(pipelines),
        cmocka_unit_test(fewer_bytes),
        cmocka_unit_test(deterministic),
        cmocka_unit_test(again),
        cmocka_unit_test(open_lengths_and_groups),
        cmocka_unit_test(built_programs),
        cmocka_unit_test(doubles_in_the_interpreter),
        cmocka_unit_test(two_sessions),
        cmocka_unit_test(too_much),
        cmocka_unit_test(limits_are_errors),
        cmocka_unit_test(every_allocation),
        cmocka_unit_test(training),
        cmocka_unit_test(training_searches),
        cmocka_unit_test(training_errors),
        cmocka_unit_test(training_memory),
        cmocka_unit_test(roles_decide),
        cmocka_unit_test(roles_again),
    };
    return cmocka_run_group_tests(tests, open_engines, close_engines);
}
