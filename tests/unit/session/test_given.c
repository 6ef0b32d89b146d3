// SPDX-License-Identifier: MIT
// test_given.c: shapes of what a caller gives for the parameters of a derivative.  Those of the
// program decide them; data of another size is refused before any of it is read.
#include "session/session.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

static const char text[] =
    "program f(x: in f32[N, 2], s: inout f32[N], y: out f32[N, 2], N: u32) over(i: N) {\n"
    "    for k in 0..2 { y[i, k] = x[i, k] * x[i, k] * s[i]; }\n"
    "    s[i] = s[i] * s[i];\n"
    "}\n";

static void good(bool ok, const vy_diag *d)
{
    if (!ok) fail_msg("[%s] %s (%s)", d->code, d->text, d->fix);
}

// Exactly as many elements as are said, so that a sanitizer sees one that is read beyond them.
static void give(vys_task *t, const char *name, uint32_t rank, uint64_t rows, bool flat)
{
    const uint64_t shape[2] = {rows, 2}, count = rank == 2 ? 2 * rows : rows;
    float *data = malloc(count * sizeof *data + !count);
    vy_diag d = {0};
    assert_non_null(data);
    for (uint64_t i = 0; i < count; i++) data[i] = 1;
    good(flat ? vys_set_flat(t, name, VY_F32, count, data, &d)
              : vys_set(t, name, VY_F32, rank, shape, data, &d),
         &d);
    free(data);
}

static void runs(vys_task *t)
{
    vy_diag d = {0};
    good(vys_run(t, &d), &d);
}

static void refuses(vys_task *t, const char *about)
{
    vy_diag d = {0};
    assert_false(vys_run(t, &d));
    if (!d.code || strcmp(d.code, "E0806") || !strstr(d.text, about) || !*d.fix)
        fail_msg("[%s] %s, instead of %s", d.code, d.text, about);
}

typedef struct case_of {
    bool forward_mode;
    const char *name;
    uint32_t rank;
} case_of;

static const case_of cases[] = {{false, "grad_y", 2},
                                {false, "ct_s", 1},
                                {true, "dot_x", 2},
                                {true, "dot_s", 1}};

static void try(vys_session *session, const case_of *c)
{
    const vys_settings s = {.order = 1, .seed_buffer = true, .forward = c->forward_mode};
    vys_task *t;
    vy_diag d = {0};
    good(vys_task_parse(session, text, strlen(text), "f", &s, &t, &d), &d);
    give(t, "x", 2, 3, false);
    give(t, "s", 1, 3, false);
    give(t, c->name, c->rank, 2, false);
    refuses(t, c->name);
    give(t, c->name, c->rank, 4, true);
    refuses(t, c->name);
    give(t, c->name, c->rank, 3, true);
    runs(t);
    give(t, "x", 2, 5, false); // the others keep their size
    give(t, "s", 1, 5, false);
    refuses(t, c->name);
    give(t, c->name, c->rank, 5, false);
    runs(t);
    vys_task_free(t);
}

static void test_shapes(void **state)
{
    for (int engine = 0; engine < 2; engine++) {
        vys_session *s;
        vy_diag d = {0};
        if (!vys_open(&(vys_session_desc){.interpreter = !engine, .cache_dir = ""}, &s, &d)) {
            assert_true(engine); // there is no device
            continue;
        }
        for (size_t k = 0; k < sizeof cases / sizeof *cases; k++) try(s, &cases[k]);
        vys_close(s);
    }
    (void)state;
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_shapes)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
