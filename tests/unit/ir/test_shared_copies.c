// SPDX-License-Identifier: MIT
// test_shared_copies.c: sums in shared memory first (ir/pass/device/shared_copies.c): which programs
// get them by the sizes that are told, and that they are right for sizes that were not.
#include "ir/core/ir.h"
#include "ir/pass/pass.h"
#include "tests/told_sizes.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "tests/unit/reads_back.h"

// Numbers of the parameters, in their order.
typedef struct sizes {
    int64_t of[5];
} sizes;

static const char line[] =
    "program f(k: in i32[N], x: in f32[N], y: inout f32[M], N: u32, M: u32) over(i: N) {\n"
    "    atomic_add(y[k[i]], x[i]);\n"
    "}\n";
// Values that differ from one invocation to the next, conditions, arrays, indices out of range.
static const char rows[] =
    "program f(k: in i32[H, W], x: in f32[H, W], y: inout f32[P, Q], n: inout u32[P],\n"
    "          H: u32, W: u32, P: u32, Q: u32) over(j: H, i: W) {\n"
    "    let p = k[j, i];\n"
    "    local v: f32[3];\n"
    "    if p % 3 == 0 { v[1] = x[j, i]; }\n"
    "    v[(i + j) % 3] += 1.0;\n"
    "    for c in 0..3 { if v[c] != 0.0 { atomic_add(y[p, c], v[c]); } }\n"
    "    atomic_add(n[p], i);\n"
    "}\n";
static const char solid[] =
    "program f(k: in i32[N], x: in f32[N], y: inout f32[A, B, C], N: u32, A: u32, B: u32, C: u32)\n"
    "    over(i: N) {\n"
    "    atomic_add(y[k[i], k[i] / 2, i % 5], x[i]);\n"
    "}\n";

static int64_t number(void *user, const vy_program *p, vy_dim d)
{
    const vy_dim_node *node = &p->dims.data[d.id];
    assert_true(node->op <= VY_DIM_SCALAR);
    return node->op == VY_DIM_CONST ? node->value : ((const sizes *)user)->of[node->value];
}

static int64_t extent(void *user, const vy_program *p, uint32_t axis)
{
    return number(user, p, p->overs.data[axis].extent);
}

static vy_module *optimised(const char *text, const sizes *told, uint32_t chunk)
{
    vy_module *m = vy_parse(text, strlen(text), "test");
    assert_non_null(m);
    const vy_opt_options o = {.level = 2,
                              .chunk = chunk,
                              .extent = told ? extent : NULL,
                              .number = told ? number : NULL,
                              .user = (void *)(uintptr_t)told};
    if (!vy_module_ok(m) || !vy_optimize(m, &o)) fail_msg("%s", vy_module_diag(m)->text);
    return m;
}

// How many buffers have a copy.
static uint32_t copies_in(const vy_module *m)
{
    const vy_program *p = vy_module_find(m, "f");
    uint32_t n = 0;
    for (uint32_t i = 1; i < p->buffers.count; i++) n += p->buffers.data[i].cls == VY_SHARED;
    return n;
}

static uint32_t copies(const char *text, sizes told, uint32_t chunk)
{
    vy_module *m = optimised(text, &told, chunk);
    const uint32_t n = copies_in(m);
    vy_module_free(m);
    return n;
}

static void sizes_decide(void **state)
{
    (void)state;
    assert_int_equal(copies(line, (sizes){{1000000, 1000}}, 0), 1);
    assert_int_equal(copies(line, (sizes){{1000000, 1000}}, 8), 1); // it has no loop
    assert_int_equal(copies(line, (sizes){{1000000, 2048}}, 0), 1);
    assert_int_equal(copies(line, (sizes){{1000000, 2049}}, 0), 0); // more than a copy may have
    assert_int_equal(copies(line, (sizes){{1000000, 0}}, 0), 0);    // nothing to add to
    assert_int_equal(copies(line, (sizes){{1000000, -1}}, 0), 0);   // not known
    assert_int_equal(copies(line, (sizes){{32 * 4096, 10}}, 0), 1); // 32 workgroups
    assert_int_equal(copies(line, (sizes){{32 * 4096 - 1, 10}}, 0), 0);
    assert_int_equal(copies(line, (sizes){{200000, 1000}}, 0), 0); // of more for more elements
    assert_int_equal(copies(solid, (sizes){{1000000, 10, 10, 5}}, 0), 1);
    assert_int_equal(copies(rows, (sizes){{512, 512, 100, 3}}, 0), 2);
    assert_int_equal(copies(rows, (sizes){{8192, 32, 100, 3}}, 0), 0); // a row has too few lanes
    assert_int_equal(copies(rows, (sizes){{64, (1 << 20) + 1, 100, 3}}, 0), 0); // … too many
    assert_int_equal(copies(line, (sizes){{(1 << 20) + 1, 100}}, 0), 1);
    assert_int_equal(copies(rows, (sizes){{4096, 4096, 500, 4}}, 0), 1); // no room for the other
    assert_int_equal(copies(rows, (sizes){{4096, 4096, 1000, 4}}, 0), 1);
    assert_int_equal(copies(rows, (sizes){{4096, 4096, 3000, 4}}, 0), 0);
}

static const char *const others[] = {
    // A driver that limits iterations, and a loop whose iterations are then multiplied.
    "program f(k: in u32[N], y: inout f32[M], N: u32, M: u32, T: u32) over(i: N) {\n"
    "    var s = 1.0; for t in 0..T { s = sin(s); } atomic_add(y[k[i]], s); }\n",
    // Old values are used.
    "program f(k: in u32[N], y: inout u32[M], z: out u32[N], N: u32, M: u32) over(i: N) {\n"
    "    z[i] = atomic_add(y[k[i]], 1); }\n",
    // The contents are read.
    "program f(k: in u32[N], y: inout f32[M], z: out f32[N], N: u32, M: u32) over(i: N) {\n"
    "    z[i] = y[0]; atomic_add(y[k[i]], 1.0); }\n",
    // Other than sums.
    "program f(k: in u32[N], y: inout f32[M], N: u32, M: u32) over(i: N) {\n"
    "    atomic_max(y[k[i]], 1.0); }\n",
    // The workgroup is observed.
    "program f(k: in u32[N], y: inout f32[M], N: u32, M: u32) over(i: N) {\n"
    "    atomic_add(y[k[i]], f32(lid.x)); }\n",
    // The domain is no parameter.
    "program f(k: in u32[N, M], y: inout f32[M], N: u32, M: u32) over(i: 2 * N) {\n"
    "    atomic_add(y[k[i, 0]], 1.0); }\n",
    // It may be negative, and has no invocations then.
    "program f(k: in u32[?], y: inout f32[M], n: i32, M: u32) over(j: 2, i: n) {\n"
    "    atomic_add(y[k[i]], 1.0); }\n",
    "program f(k: in u32[?], y: inout f32[M], n: i64, M: u32) over(i: n) {\n"
    "    atomic_add(y[k[i]], 1.0); }\n",
    // 64 bits.
    "program f(k: in i64[N], y: inout f32[M], N: u32, M: u32) over(i: N) {\n"
    "    atomic_add(y[k[i]], 1.0); }\n",
    "program f(k: in u32[N], y: inout f64[M], N: u32, M: u32) over(i: N) {\n"
    "    atomic_add(y[k[i]], 1.0); }\n",
    // Each invocation has an element of its own.
    "program f(k: in u32[N], y: inout f32[N], N: u32, M: u32) over(i: N) { y[i] += f32(k[i]); }\n",
    "program f(k: in u32[N], y: inout f32[N], N: u32, M: u32) over(i: N) {\n"
    "    atomic_add(y[i], f32(k[i])); }\n",
};

static void others_stay(void **state)
{
    (void)state;
    for (size_t k = 0; k < sizeof others / sizeof *others; k++) {
        vy_module *m = vy_parse(others[k], strlen(others[k]), "test");
        const vy_opt_options o = {.level = 2,
                                  .chunk = k == 0 ? 8 : 0,
                                  .extent = told_extent,
                                  .number = told_number};
        if (!vy_module_ok(m) || !vy_optimize(m, &o)) fail_msg("%s", vy_module_diag(m)->text);
        if (copies_in(m)) fail_msg("a copy in program %zu", k);
        vy_module_free(m);
    }
}

// What is made has no condition that the reader would fold, also where an index is a constant.
static void texts_read_back(void **state)
{
    (void)state;
    static const char constant[] =
        "program f(x: in f32[N], y: inout f32[1], z: inout f32[2, 2], N: u32) over(i: N) {\n"
        "    atomic_add(y[0], x[i]); atomic_add(z[1, 0], x[i]); atomic_add(z[0, i], 1.0);\n"
        "}\n";
    const char *const texts[] = {line, rows, solid, constant};
    for (size_t k = 0; k < sizeof texts / sizeof *texts; k++) {
        vy_module *m = vy_parse(texts[k], strlen(texts[k]), "test");
        vy_opt_options o = {.level = 2};
        tell_few_elements(&o);
        if (!vy_module_ok(m) || !vy_optimize(m, &o)) fail_msg("%s", vy_module_diag(m)->text);
        assert_true(copies_in(m) > 0);
        assert_reads_back(m);
        vy_module_free(m);
    }
}

// ---------------------------------------------------------------------------- sizes of another launch
typedef struct data {
    int32_t *k;
    float *x, *y;
    uint32_t *n;
    uint64_t points, elements, rows;
} data;

// Integers, so that sums are exact.  Indices out of range on both sides, too; -0 where nothing is
// added, and before.
static data make_data(uint64_t points, uint64_t elements, uint64_t rows, int32_t range)
{
    data d = {calloc(points + 1, 4),
              calloc(points + 1, 4),
              calloc(elements + 1, 4),
              calloc(rows + 1, 4),
              points,
              elements,
              rows};
    uint32_t word = 12345;
    assert_true(d.k && d.x && d.y && d.n);
    for (uint64_t i = 0; i < points; i++) {
        word = word * 1664525u + 1013904223u;
        d.k[i] = (int32_t)(word >> 16) % (range + 4) - 2;
        d.x[i] = (float)(i % 100) - 20;
    }
    for (uint64_t i = 0; i < elements; i++) d.y[i] = -0.0f;
    return d;
}

static void free_data(data *d)
{
    free(d->k);
    free(d->x);
    free(d->y);
    free(d->n);
}

static void run(const vy_module *m, const vy_eval_buffer *buffers, uint32_t count)
{
    vy_diag d = {0};
    const vy_eval_options o = {.report_races = true};
    vy_eval_report report = {0};
    if (!vy_eval(vy_module_find(m, "f"), buffers, count, NULL, 0, &o, &report, &d))
        fail_msg("%s", d.text);
    assert_int_equal(report.races, 0);
}

static void run_line(const vy_module *m, data *d)
{
    const uint64_t points[] = {d->points}, elements[] = {d->elements};
    const vy_eval_buffer all[] = {{"k", d->k, points, 1},
                                  {"x", d->x, points, 1},
                                  {"y", d->y, elements, 1}};
    run(m, all, 3);
}

static void lines_of_any_length(void **state)
{
    (void)state;
    static const uint64_t points[] = {0, 1, 127, 128, 129, 4095, 4096, 4097, 9000},
                          elements[] = {1, 9, 10, 11, 128, 129, 300};
    const sizes told = {{200000, 10}};
    vy_module *with = optimised(line, &told, 0), *without = optimised(line, NULL, 0);
    for (size_t a = 0; a < sizeof points / sizeof *points; a++)
        for (size_t b = 0; b < sizeof elements / sizeof *elements; b++) {
            data x = make_data(points[a], elements[b], 0, (int32_t)elements[b]);
            data y = make_data(points[a], elements[b], 0, (int32_t)elements[b]);
            run_line(with, &x);
            run_line(without, &y);
            assert_memory_equal(x.y, y.y, elements[b] * sizeof *x.y);
            free_data(&x);
            free_data(&y);
        }
    vy_module_free(with);
    vy_module_free(without);
}

static void run_rows(const vy_module *m, data *d, const uint64_t *domain, const uint64_t *y)
{
    const vy_eval_buffer all[] = {{"k", d->k, domain, 2},
                                  {"x", d->x, domain, 2},
                                  {"y", d->y, y, 2},
                                  {"n", d->n, y, 1}};
    run(m, all, 4);
}

static void rows_of_any_length(void **state)
{
    (void)state;
    static const uint64_t domain[][2] = {{0, 5},   {5, 0},   {1, 1},    {7, 127},
                                         {8, 128}, {9, 129}, {17, 300}, {3, 1000}};
    static const uint64_t shape[][2] = {{1, 3}, {100, 3}, {101, 2}, {40, 5}, {300, 1}, {99, 4}};
    const sizes told = {{512, 512, 100, 3}};
    vy_module *with = optimised(rows, &told, 0), *without = optimised(rows, NULL, 0);
    for (size_t a = 0; a < sizeof domain / sizeof *domain; a++)
        for (size_t b = 0; b < sizeof shape / sizeof *shape; b++) {
            const uint64_t points = domain[a][0] * domain[a][1], n = shape[b][0] * shape[b][1];
            data x = make_data(points, n, shape[b][0], (int32_t)shape[b][0]);
            data y = make_data(points, n, shape[b][0], (int32_t)shape[b][0]);
            run_rows(with, &x, domain[a], shape[b]);
            run_rows(without, &y, domain[a], shape[b]);
            assert_memory_equal(x.y, y.y, n * sizeof *x.y);
            assert_memory_equal(x.n, y.n, shape[b][0] * sizeof *x.n);
            free_data(&x);
            free_data(&y);
        }
    vy_module_free(with);
    vy_module_free(without);
}

static void three_axes(void **state)
{
    (void)state;
    static const uint64_t shape[][3] = {{10, 10, 5}, {10, 4, 5}, {7, 30, 3}, {20, 20, 20}};
    const sizes told = {{1000000, 10, 10, 5}};
    vy_module *with = optimised(solid, &told, 0), *without = optimised(solid, NULL, 0);
    for (size_t b = 0; b < sizeof shape / sizeof *shape; b++) {
        const uint64_t points[] = {5000}, n = shape[b][0] * shape[b][1] * shape[b][2];
        data d[] = {make_data(5000, n, 0, 12), make_data(5000, n, 0, 12)};
        for (int k = 0; k < 2; k++) {
            const vy_eval_buffer all[] = {{"k", d[k].k, points, 1},
                                          {"x", d[k].x, points, 1},
                                          {"y", d[k].y, shape[b], 3}};
            run(k ? with : without, all, 3);
        }
        assert_memory_equal(d[0].y, d[1].y, n * sizeof(float));
        free_data(&d[0]);
        free_data(&d[1]);
    }
    vy_module_free(with);
    vy_module_free(without);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(sizes_decide),       cmocka_unit_test(others_stay),
        cmocka_unit_test(texts_read_back),    cmocka_unit_test(lines_of_any_length),
        cmocka_unit_test(rows_of_any_length), cmocka_unit_test(three_axes),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
