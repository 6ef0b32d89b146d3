// SPDX-License-Identifier: MIT
// bench_call.c: what a call of a compiled gradient takes from C, its data on the device.
//
//   bench_call FILE WRT COUNT NAME=LENGTH[,LENGTH]…
//
// The program of FILE is differentiated with respect to WRT.  Its buffers NAME, f32 of these
// lengths, and the gradient are storages of the device; nothing is copied.  For each line on
// standard input COUNT calls are timed, and the median is printed in µs: tools/call-overhead
// measures the same from Python, in turns.
#include "session/session.h"

#include "session/load.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

static int fail(const vy_diag *d)
{
    fprintf(stderr, "%s: %s (%s)\n", d->code, d->text, d->fix);
    return 1;
}

static double now_us(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return 1e6 * (double)t.tv_sec + 1e-3 * (double)t.tv_nsec;
}

static int by_value(const void *a, const void *b)
{
    const double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

// Binds `name` to a storage of its own, filled with ones.
static bool bind(vys_session *s, vys_task *t, const char *name, uint32_t rank,
                 const uint64_t *shape, vy_diag *d)
{
    vkrt_storage_desc desc = {.size = sizeof desc, .bytes = 4, .host_visible = true};
    vkrt_storage *storage;
    vkrt_error e = {0};
    for (uint32_t i = 0; i < rank; i++) desc.bytes *= shape[i];
    if (vkrt_storage_create(vys_session_device(s), &desc, &storage, &e)) {
        fprintf(stderr, "%s\n", e.text);
        return false;
    }
    float *at = vkrt_storage_mapped(storage);
    for (uint64_t i = 0; i < desc.bytes / 4; i++) at[i] = 1;
    const bool ok = vys_bind(t, name, VY_F32, rank, shape, storage, 0, d);
    vkrt_storage_destroy(storage); // the task holds it
    return ok;
}

// NAME=LENGTH[,LENGTH]…; the gradient of `wrt` beside it.
static bool bind_argument(vys_session *s, vys_task *t, char *argument, const char *wrt, vy_diag *d)
{
    uint64_t shape[VYS_MAX_RANK];
    uint32_t rank = 0;
    char *lengths = strchr(argument, '='), gradient[80];
    if (!lengths) return false;
    *lengths = '\0';
    while (lengths && rank < VYS_MAX_RANK) {
        shape[rank++] = strtoull(lengths + 1, &lengths, 10);
        if (*lengths != ',') lengths = NULL;
    }
    snprintf(gradient, sizeof gradient, "grad_%s", wrt);
    return bind(s, t, argument, rank, shape, d) &&
           (strcmp(argument, wrt) || bind(s, t, gradient, rank, shape, d));
}

static bool measure(vys_task *t, double *times, size_t count, vy_diag *d)
{
    for (size_t i = 0; i < count; i++) {
        const double start = now_us();
        if (!vys_run(t, d)) return false;
        times[i] = now_us() - start;
    }
    qsort(times, count, sizeof *times, by_value);
    printf("%.3f\n", times[count / 2]);
    fflush(stdout);
    return true;
}

int main(int argc, char **argv)
{
    vy_diag d = {0};
    vys_session *s;
    vys_task *t;
    char line[8];
    if (argc < 5) return 2;
    const size_t count = strtoull(argv[3], NULL, 10);
    double *times = calloc(count + 1, sizeof *times);
    vy_module *m = NULL;
    const vys_settings settings = {.order = 1,
                                   .wrt = (const char *const *)&argv[2],
                                   .wrt_count = 1};
    if (!times || !count || !vys_load(argv[1], NULL, &m, &d) || !vys_open(NULL, &s, &d) ||
        !vys_task_build(s, m, &settings, &t, &d))
        return fail(&d);
    bool ok = true;
    for (int i = 4; ok && i < argc; i++) ok = bind_argument(s, t, argv[i], argv[2], &d);
    ok = ok && vys_run(t, &d);
    while (ok && fgets(line, sizeof line, stdin)) ok = measure(t, times, count, &d);
    vys_task_free(t);
    vys_close(s);
    vy_module_free(m);
    free(times);
    return ok ? 0 : fail(&d);
}
