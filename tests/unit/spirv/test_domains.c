// SPDX-License-Identifier: MIT
// test_domains.c: workgroups of every shape against domains of every rank and size, on both
// engines.
//
// Each point of the domain runs once, whatever the workgroup: with fewer axes than the domain has
// variables, as many, or more; extents that are a multiple of the workgroup, others, one, none.
// Expected values are computed here, so that errors common to both engines are found as well.
#include "session/session.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#define COUNT(a) (sizeof(a) / sizeof *(a))

static const char *const workgroups[] = {"1",    "64",   "5",       "32, 2",   "8, 8",
                                         "1, 7", "3, 5", "4, 4, 4", "1, 1, 8", "2, 3, 5"};
static const uint64_t last_sizes[] = {0, 1, 7, 16};
enum { MOST_RANK = 5, MOST = 16 * 3 * 2 * 2 * 3 };
static const uint64_t other_sizes[MOST_RANK] = {3, 2, 2, 3, 0}; // of the axes before the last

typedef struct request {
    const char *name;
    uint32_t order;
    vy_accumulate accumulate;
    bool deterministic;
} request;

static const request requests[] = {{"forward", 0, VY_ACCUMULATE_AUTO, false},
                                   {"auto", 1, VY_ACCUMULATE_AUTO, false},
                                   {"atomic", 1, VY_ACCUMULATE_ATOMIC, false},
                                   {"gather", 1, VY_ACCUMULATE_GATHER, false},
                                   {"deterministic", 1, VY_ACCUMULATE_AUTO, true}};

typedef struct launch {
    char text[1000];
    const char *workgroup;
    uint32_t rank;
    uint64_t shape[MOST_RANK], count;
    float x[MOST + 1], y[MOST + 1];
} launch;

// y[i…] += x[i…] w; s += x²
static void compose(launch *l)
{
    static const char *const dims[] = {"A", "B", "C", "D", "E"};
    char shape[40] = "", index[40] = "", over[60] = "", scalars[60] = "";
    l->count = 1;
    for (uint32_t k = 0; k < l->rank; k++) {
        const char *comma = k ? ", " : "";
        sprintf(shape + strlen(shape), "%s%s", comma, dims[k]);
        sprintf(index + strlen(index), "%si%u", comma, k);
        sprintf(over + strlen(over), "%si%u: %s", comma, k, dims[k]);
        sprintf(scalars + strlen(scalars), ", %s: u32", dims[k]);
        l->count *= l->shape[k];
    }
    for (uint64_t k = 0; k < l->count; k++) {
        l->x[k] = (float)(k % 13) / 4 - 1;
        l->y[k] = (float)(k % 5);
    }
    snprintf(l->text, sizeof l->text,
             "program p(x: in f32[%s], w: in f32[1], y: inout f32[%s], s: inout f32[1]%s)\n"
             "    workgroup(%s) over(%s)\n"
             "{ y[%s] += x[%s] * w[0]; atomic_add(s[0], x[%s] * x[%s]); }\n",
             shape, shape, scalars, l->workgroup, over, index, index, index, index);
}

static void near(const launch *l, const char *what, const char *name, uint64_t k, double got,
                 double want)
{
    if (fabs(got - want) > 1e-4 * fmax(1, fabs(want)))
        fail_msg("%s: %s[%llu] is %g, not %g\n%s", what, name, (unsigned long long)k, got, want,
                 l->text);
}

static void check_results(const launch *l, const request *r, vys_task *t, const char *what)
{
    static float first[MOST + 1];
    float sum[1] = {0};
    vy_diag d = {0};
    const bool forward = r->order == 0;
    const char *each = forward ? "y" : "grad_x", *one = forward ? "s" : "grad_w";
    if (!vys_read(t, each, VY_F32, first, 4 * l->count, &d) ||
        !vys_read(t, one, VY_F32, sum, sizeof sum, &d))
        fail_msg("%s: [%s] %s\n%s", what, d.code, d.text, l->text);
    double want = forward ? 0.5 : 0;
    for (uint64_t k = 0; k < l->count; k++) {
        const double x = l->x[k];
        near(l, what, each, k, first[k], forward ? l->y[k] + 3 * x : 3 + 2 * x);
        want += forward ? x * x : x;
    }
    near(l, what, one, 0, sum[0], want);
}

static void run(const launch *l, const request *r, vys_session *s, const char *engine)
{
    static const char *const wrt[] = {"x", "w"};
    const float w = 3, half = 0.5f;
    const uint64_t one = 1;
    const vys_settings settings = {.order = r->order,
                                   .wrt = r->order ? wrt : NULL,
                                   .wrt_count = r->order ? 2 : 0,
                                   .accumulate = r->accumulate,
                                   .deterministic = r->deterministic,
                                   .no_validate = true};
    char what[80];
    vys_task *t = NULL;
    vy_diag d = {0};
    snprintf(what, sizeof what, "%s, %s", r->name, engine);
    if (!vys_task_parse(s, l->text, strlen(l->text), "domain", &settings, &t, &d) ||
        !vys_set(t, "x", VY_F32, l->rank, l->shape, l->x, &d) ||
        !vys_set(t, "w", VY_F32, 1, &one, &w, &d) ||
        !vys_set(t, "y", VY_F32, l->rank, l->shape, l->y, &d) ||
        !vys_set(t, "s", VY_F32, 1, &one, &half, &d) || !vys_run(t, &d))
        fail_msg("%s: [%s] %s\n%s", what, d.code, d.text, l->text);
    check_results(l, r, t, what);
    vys_task_free(t);
}

typedef struct engines {
    vys_session *eval, *device; // device NULL: there is none
} engines;

static void every_point_runs_once(void **state)
{
    const engines *e = *state;
    static launch l;
    for (uint32_t g = 0; g < COUNT(workgroups); g++)
        for (l.rank = 1; l.rank <= MOST_RANK; l.rank++)
            for (uint32_t n = 0; n < COUNT(last_sizes); n++) {
                l.workgroup = workgroups[g];
                memcpy(l.shape, other_sizes, sizeof l.shape);
                l.shape[l.rank - 1] = last_sizes[n];
                compose(&l);
                for (uint32_t k = 0; k < COUNT(requests); k++) {
                    run(&l, &requests[k], e->eval, "interpreter");
                    if (e->device && (k == 0 || k == 1 + (g + l.rank + n) % 4))
                        run(&l, &requests[k], e->device, "device");
                }
            }
}

static int open_engines(void **state)
{
    static engines e;
    vy_diag d = {0};
    if (!vys_open(&(vys_session_desc){.interpreter = true}, &e.eval, &d)) return -1;
    if (!vys_open(&(vys_session_desc){.cache_dir = ""}, &e.device, &d))
        print_message("no device: %s\n", d.text);
    *state = &e;
    return 0;
}

static int close_engines(void **state)
{
    engines *e = *state;
    const char *said = e->device ? vys_session_message(e->device, 0) : NULL;
    if (said) print_message("validation: %s\n", said);
    vys_close(e->eval);
    vys_close(e->device);
    return said ? -1 : 0;
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(every_point_runs_once)};
    return cmocka_run_group_tests(tests, open_engines, close_engines);
}
