// SPDX-License-Identifier: MIT
// test_vkrt.c: the runtime on any device (lavapipe in CI), validation layer on.
#define _POSIX_C_SOURCE 200809L
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <dlfcn.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <threads.h>
#include <unistd.h>

#include "vkrt/vkrt.h"

#define VK_NO_PROTOTYPES
#include <vulkan/vulkan.h>

#include "tests/unit/vkrt/vkrt_kernels.h"
#include "spirv/plan.h"

// vkrt/plan_internal.h: cannot be included beside vulkan.h.
void vkrt_part_box(const uint32_t groups[3], const uint32_t limit[3], uint64_t from, uint64_t want,
                   uint32_t base[3], uint32_t count[3]);

static vkrt_instance *instance; // shared by the tests; with validation
static vkrt_device *device;     // without a disk cache
static vkrt_error error;

static void ok(vkrt_status status)
{
    if (status) print_error("%s: %s (%s)\n", vkrt_status_text(status), error.text, error.fix);
    assert_int_equal(status, VKRT_OK);
}

// Asserts that the call failed with this status and, unless NULL, that its text contains the words.
static void fails(vkrt_status status, vkrt_status expected, const char *a, const char *b)
{
    if (status != expected)
        print_error("got '%s': %s\n", vkrt_status_text(status), status ? error.text : "");
    assert_int_equal(status, expected);
    assert_int_equal(error.code, expected);
    if (a && !strstr(error.text, a)) fail_msg("'%s' lacks '%s'", error.text, a);
    if (b && !strstr(error.text, b)) fail_msg("'%s' lacks '%s'", error.text, b);
    assert_true(error.fix[0] != '\0');
}

static void needs_device(void **state)
{
    (void)state;
    if (!device) skip();
}

static void no_messages(vkrt_instance *in)
{
    if (!in) return;
    for (uint32_t i = 0; i < vkrt_instance_message_count(in) && i < 4; i++)
        print_error("%s\n", vkrt_instance_message(in, i));
    assert_int_equal(vkrt_instance_message_count(in), 0);
}

static vkrt_device *open_device(vkrt_device_desc desc)
{
    vkrt_device *d;
    if (!desc.cache_dir) desc.cache_dir = "";
    // Submissions are counted: as many as on a CPU, where they may take any time.
    if (!desc.part_ns) desc.part_ns = UINT64_MAX;
    ok(vkrt_device_create(instance, &desc, &d, &error));
    return d;
}

static vkrt_plan *plan_for(vkrt_device *d, const vy_kernel *kernel)
{
    vkrt_plan *plan;
    ok(vkrt_plan_create_for_kernel(d, kernel, NULL, &plan, &error));
    return plan;
}

// Runs y = 3x + 1 over n elements and checks every one.
static void run_affine(vkrt_device *d, const vy_kernel *kernel, uint32_t n)
{
    float *x = malloc((n + 1) * sizeof *x), *y = malloc((n + 1) * sizeof *y);
    for (uint32_t i = 0; i < n; i++) x[i] = (float)i;
    vkrt_plan *plan = plan_for(d, kernel);
    ok(vkrt_plan_set_float(plan, "a", 3.0, &error));
    ok(vkrt_plan_set_buffer(plan, "x", 1, (uint64_t[]){n}, x, &error));
    for (int again = 0; again < 2; again++) {
        ok(vkrt_plan_run(plan, &error));
        const vkrt_stats s = vkrt_plan_stats(plan);
        assert_int_equal(s.recorded, again ? 0 : s.submissions ? s.submissions : 1);
    }
    ok(vkrt_plan_read(plan, "y", y, n * sizeof *y, &error));
    for (uint32_t i = 0; i < n; i++)
        if (y[i] != 3.0f * x[i] + 1.0f) fail_msg("y[%u] = %g of %u", i, (double)y[i], n);
    assert_int_equal(vkrt_plan_stats(plan).uploaded_bytes, n * sizeof *x);
    vkrt_plan_destroy(plan);
    free(x);
    free(y);
}

// --- Dispatches ----------------------------------------------------------------------------------

static void test_one_dimension(void **state)
{
    needs_device(state);
    const uint32_t sizes[] = {1, 63, 64, 65, 1000, 70001};
    for (size_t i = 0; i < COUNT(sizes); i++) run_affine(device, &affine_kernel, sizes[i]);
}

static void test_empty_buffers(void **state)
{
    needs_device(state);
    run_affine(device, &affine_kernel, 0);
    run_affine(device, &block_kernel, 0);
}

static void test_split_1d(void **state)
{
    needs_device(state);
    vkrt_device *d = open_device((vkrt_device_desc){.max_group_count = {3, 1, 1}});
    run_affine(d, &affine_kernel, 64 * 7 + 5);
    run_affine(d, &block_kernel, 64 * 7 + 5);
    vkrt_device_destroy(d);
    vy_kernel unsplittable = affine_kernel;
    unsplittable.param_count = 2;
    d = open_device((vkrt_device_desc){.max_group_count = {3, 1, 1}});
    vkrt_plan *plan = plan_for(d, &unsplittable);
    ok(vkrt_plan_set_float(plan, "a", 3.0, &error));
    ok(vkrt_plan_set_buffer(plan, "x", 1, (uint64_t[]){1000}, NULL, &error));
    fails(vkrt_plan_run(plan, &error), VKRT_LIMIT, "16 workgroups", "3");
    vkrt_plan_destroy(plan);
    vkrt_device_destroy(d);
}

// A dispatch in parts of a few groups, each a submission of its own; run again, with part sizes
// from the measured times.
static void test_parts(void **state)
{
    needs_device(state);
    const uint64_t groups[] = {1, 2, 5, 1000};
    for (size_t i = 0; i < COUNT(groups); i++) {
        vkrt_device *d =
            open_device((vkrt_device_desc){.part_groups = groups[i], .part_ns = UINT64_MAX});
        run_affine(d, &affine_kernel, 64 * 7 + 5);
        run_affine(d, &block_kernel, 64 * 7 + 5);
        vkrt_device_destroy(d);
    }
    // A target of 1 ns: with any measurement, parts are single groups.
    vkrt_device *d = open_device((vkrt_device_desc){.part_ns = 1});
    vkrt_plan *plan = plan_for(d, &affine_kernel);
    ok(vkrt_plan_set_float(plan, "a", 3.0, &error));
    float x[64 * 20], y[64 * 20];
    for (uint32_t i = 0; i < COUNT(x); i++) x[i] = (float)i;
    ok(vkrt_plan_set_buffer(plan, "x", 1, (uint64_t[]){COUNT(x)}, x, &error));
    const uint32_t submissions[] = {1, 20, 20};
    for (uint32_t run = 0; run < 3; run++) {
        ok(vkrt_plan_run(plan, &error));
        assert_int_equal(vkrt_plan_stats(plan).submissions, submissions[run]);
        assert_int_equal(vkrt_plan_stats(plan).dispatches, 1);
        ok(vkrt_plan_read(plan, "y", y, sizeof y, &error));
        for (uint32_t i = 0; i < COUNT(x); i++) assert_true(y[i] == 3.0f * x[i] + 1.0f);
    }
    vkrt_plan_destroy(plan);
    vkrt_device_destroy(d);
}

// However a dispatch is cut, its boxes cover every workgroup exactly once, and each is within the
// device's limits.
static void test_part_boxes(void **state)
{
    (void)state;
    const uint32_t shapes[][3] = {{1, 1, 1}, {7, 1, 1}, {5, 4, 3}, {1, 6, 5}, {3, 1, 8}},
                   limits[][3] = {{9, 9, 9}, {2, 9, 9}, {2, 3, 2}, {9, 1, 1}};
    for (size_t s = 0; s < COUNT(shapes); s++)
        for (size_t l = 0; l < COUNT(limits); l++)
            for (uint64_t want = 1; want < 70; want += want < 12 ? 1 : 13) {
                const uint32_t *g = shapes[s], *limit = limits[l];
                unsigned char seen[5 * 4 * 8] = {0};
                const uint64_t total = (uint64_t)g[0] * g[1] * g[2];
                for (uint64_t at = 0; at < total;) {
                    uint32_t base[3], count[3];
                    const uint64_t left = total - at, most = want < left ? want : left;
                    vkrt_part_box(g, limit, at, most, base, count);
                    const uint64_t n = (uint64_t)count[0] * count[1] * count[2];
                    assert_true(n > 0 && n <= most);
                    for (int i = 0; i < 3; i++)
                        assert_true(count[i] <= limit[i] && base[i] + count[i] <= g[i]);
                    for (uint32_t z = base[2]; z < base[2] + count[2]; z++)
                        for (uint32_t y = base[1]; y < base[1] + count[1]; y++)
                            for (uint32_t x = base[0]; x < base[0] + count[0]; x++)
                                assert_int_equal(seen[(z * g[1] + y) * g[0] + x]++, 0);
                    at += n;
                }
                for (uint64_t i = 0; i < total; i++) assert_int_equal(seen[i], 1);
            }
    const uint32_t huge[] = {1u << 31, 1u << 20, 1u << 12}, most[] = {65535, 65535, 65535};
    uint32_t base[3], count[3];
    vkrt_part_box(huge, most, (1ull << 62) - 1 + (1ull << 62), 1, base, count);
    assert_true(base[0] < huge[0] && base[1] < huge[1] && base[2] < huge[2]);
}

static void run_matmul(vkrt_device *d, uint32_t m, uint32_t n, uint32_t k)
{
    float *a = malloc(m * k * sizeof *a), *b = malloc(k * n * sizeof *b),
          *c = malloc(m * n * sizeof *c);
    for (uint32_t i = 0; i < m * k; i++) a[i] = (float)(i % 7);
    for (uint32_t i = 0; i < k * n; i++) b[i] = (float)(i % 5);
    vkrt_plan *plan = plan_for(d, &matmul_kernel);
    ok(vkrt_plan_set_buffer(plan, "a", 2, (uint64_t[]){m, k}, a, &error));
    ok(vkrt_plan_set_flat(plan, "b", (uint64_t)k * n, b, &error));           // determines N
    for (int again = 0; again < 2; again++) ok(vkrt_plan_run(plan, &error)); // c is cleared
    ok(vkrt_plan_read(plan, "c", c, m * n * sizeof *c, &error));
    for (uint32_t i = 0; i < m; i++)
        for (uint32_t j = 0; j < n; j++) {
            float sum = 0;
            for (uint32_t t = 0; t < k; t++) sum += a[i * k + t] * b[t * n + j];
            assert_true(c[i * n + j] == sum);
        }
    int64_t value;
    assert_true(vkrt_plan_symbol(plan, "N", &value) && value == n);
    uint32_t index;
    assert_true(vkrt_plan_find_buffer(plan, "c", &index));
    vkrt_buffer_info info = vkrt_plan_buffer(plan, index);
    assert_true(info.rank == 2 && info.shape[0] == m && info.shape[1] == n);
    assert_int_equal(info.bytes, m * n * 4);
    vkrt_plan_destroy(plan);
    free(a), free(b), free(c);
}

static void test_two_dimensions(void **state)
{
    needs_device(state);
    run_matmul(device, 13, 21, 5);
    run_matmul(device, 1, 1, 1);
    vkrt_device *d = open_device((vkrt_device_desc){.max_group_count = {2, 1, 1}});
    run_matmul(d, 19, 42, 3);
    vkrt_device_destroy(d);
}

static void run_visit(vkrt_device *d)
{
    enum { A = 2, B = 3, C = 5, D = 9 };
    const char *const names[] = {"A", "B", "C", "D"};
    const int64_t sizes[] = {A, B, C, D};
    vkrt_plan *plan = plan_for(d, &visit_kernel);
    for (int i = 0; i < 4; i++) ok(vkrt_plan_set_int(plan, names[i], sizes[i], &error));
    ok(vkrt_plan_run(plan, &error));
    uint32_t visits[A * B * C * D], groups[3];
    ok(vkrt_plan_read(plan, "visits", visits, sizeof visits, &error));
    ok(vkrt_plan_read(plan, "groups", groups, sizeof groups, &error));
    for (uint32_t i = 0; i < A * B * C * D; i++)
        assert_int_equal(visits[i], 1 + i % D + 100 * (i / D % C) + 10000 * (i / D / C));
    assert_int_equal(groups[0], 3); // of 9 in fours
    assert_int_equal(groups[1], 2); // of 5
    assert_int_equal(groups[2], 2); // of 2 x 3 folded
    vkrt_plan_destroy(plan);
}

static void test_folded_dimensions(void **state)
{
    needs_device(state);
    run_visit(device);
    vkrt_device *d = open_device((vkrt_device_desc){.max_group_count = {1, 1, 1}});
    run_visit(d);
    vkrt_device_destroy(d);
}

static void test_given_groups(void **state)
{
    needs_device(state);
    vy_kernel kernel = affine_kernel;
    vy_kernel_binding bindings[2];
    memcpy(bindings, affine_kernel.bindings, sizeof bindings);
    assert_true(kernel.binding_count == 2 && bindings[1].access == VY_ACCESS_OUT);
    bindings[1].clear = true; // one group does not write all of it
    kernel.bindings = bindings;
    kernel.domain_rank = 0;
    vkrt_plan *plan = plan_for(device, &kernel);
    float y[200];
    ok(vkrt_plan_set_float(plan, "a", 0.0, &error));
    ok(vkrt_plan_set_buffer(plan, "x", 1, (uint64_t[]){200}, NULL, &error));
    ok(vkrt_plan_set_buffer(plan, "y", 1, (uint64_t[]){200}, NULL, &error));
    fails(vkrt_plan_run(plan, &error), VKRT_UNSET, "group counts", "affine");
    for (uint32_t groups = 1; groups <= 2; groups++) {
        ok(vkrt_plan_set_groups(plan, (uint32_t[]){groups, 1, 1}, &error));
        ok(vkrt_plan_run(plan, &error));
        ok(vkrt_plan_read(plan, "y", y, sizeof y, &error));
        for (uint32_t i = 0; i < 200; i++) assert_true(y[i] == (i < 64 * groups ? 1.0f : 0.0f));
    }
    vkrt_plan_destroy(plan);
}

// A shape that names the group counts follows them from run to run.
static void test_groups_as_sizes(void **state)
{
    needs_device(state);
    const vy_expr exprs[] = {{VY_EXPR_SYMBOL, 0, 0, 0},
                             {VY_EXPR_CONST, 0, 0, 3},
                             {VY_EXPR_MUL, 0, 1, 0}};
    vy_symbol symbols[] = {{"num_groups.y", VY_SYMBOL_GROUPS, "u32", 0, 1}};
    const uint32_t dims[] = {2};
    const vy_plan_buffer buffers[] = {{"y", VY_ROLE_OUT, "u32", 4, 1, dims}};
    const vy_plan_step steps[] = {{.kind = VY_STEP_FILL, .buffer = 0, .pattern = 9}};
    const vy_plan p = {.name = "sized",
                       .buffers = buffers,
                       .buffer_count = 1,
                       .symbols = symbols,
                       .symbol_count = 1,
                       .exprs = exprs,
                       .expr_count = 3,
                       .steps = steps,
                       .step_count = 1};
    vkrt_plan *plan;
    ok(vkrt_plan_create(device, &p, NULL, &plan, &error));
    fails(vkrt_plan_run(plan, &error), VKRT_UNSET, "group counts", "sized");
    for (uint32_t n = 1; n <= 3; n++) {
        uint32_t y[9];
        ok(vkrt_plan_set_groups(plan, (uint32_t[]){50, n, 50}, &error));
        ok(vkrt_plan_run(plan, &error));
        assert_int_equal(vkrt_plan_buffer(plan, 0).count, 3 * n);
        ok(vkrt_plan_read(plan, "y", y, 12 * n, &error));
        for (uint32_t i = 0; i < 3 * n; i++) assert_int_equal(y[i], 9);
    }
    vkrt_plan_destroy(plan);
    symbols[0].axis = 3;
    fails(vkrt_plan_create(device, &p, NULL, &plan, &error), VKRT_BAD_KERNEL, "num_groups.y",
          "no axis");
}

static void test_staging(void **state)
{
    needs_device(state);
    vkrt_device *d = open_device((vkrt_device_desc){.force_staging = true});
    run_affine(d, &affine_kernel, 1500000); // more than one staging piece
    run_affine(d, &block_kernel, 100);
    vkrt_device_destroy(d);
}

static void test_param_block(void **state)
{
    needs_device(state);
    run_affine(device, &block_kernel, 1000);
}

// --- Plans ---------------------------------------------------------------------------------------

// acc := 0; T(T+1)/2 times acc += x, in nested repeats; sum := acc; found := count(x > 0), which
// sizes the last buffer; and fills of every element size.
enum { X_N, X_T, X_ONE, X_T_NOW, X_INNER, X_ZERO, X_FOUND, X_A };
enum { B_X, B_ACC, B_SUM, B_ONES, B_TOTAL, B_FOUND, B_DOUBLES, B_HALVES, B_BYTES };
enum { K_ADD, K_COUNT, K_AFFINE };
static const vy_symbol nest_symbols[] = {
    {.name = "N", .type = "u32"},
    {.name = "T", .type = "u32"},
    {.name = "t", .kind = VY_SYMBOL_REPEAT, .type = "u32"},
    {.name = "s", .kind = VY_SYMBOL_REPEAT, .type = "u32"},
    {.name = "found", .kind = VY_SYMBOL_READBACK, .type = "u32"},
    {.name = "a", .type = "f32"},
};
static const vy_expr nest_exprs[] = {
    [X_N] = SYMBOL_EXPR(0),
    [X_T] = SYMBOL_EXPR(1),
    [X_ONE] = CONST_EXPR(1),
    [X_T_NOW] = SYMBOL_EXPR(2),
    [X_INNER] = {.op = VY_EXPR_ADD, .a = X_T_NOW, .b = X_ONE},
    [X_ZERO] = CONST_EXPR(0),
    [X_FOUND] = SYMBOL_EXPR(4),
    [X_A] = SYMBOL_EXPR(5),
};
#define BUFFER(n, r, t, size, dim)                                                                 \
    {                                                                                              \
        n, r, t, size, 1, (const uint32_t[]) { dim }                                               \
    }
static const vy_plan_buffer nest_buffers[] = {
    [B_X] = BUFFER("x", VY_ROLE_IN, "f32", 4, X_N),
    [B_ACC] = BUFFER("acc", VY_ROLE_WORKSPACE, "f32", 4, X_N),
    [B_SUM] = BUFFER("sum", VY_ROLE_OUT, "f32", 4, X_N),
    [B_ONES] = BUFFER("ones", VY_ROLE_OUT, "f32", 4, X_N),
    [B_TOTAL] = BUFFER("total", VY_ROLE_OUT, "u32", 4, X_ONE),
    [B_FOUND] = BUFFER("positive", VY_ROLE_OUT, "f32", 4, X_FOUND),
    [B_DOUBLES] = BUFFER("doubles", VY_ROLE_OUT, "f64", 8, X_N),
    [B_HALVES] = BUFFER("halves", VY_ROLE_OUT, "f16", 2, X_N),
    [B_BYTES] = BUFFER("bytes", VY_ROLE_OUT, "u8", 1, X_N),
};
#define ARGS(a, b)                                                                                 \
    .args = (const vy_plan_arg[])                                                                  \
    {                                                                                              \
        {a, VY_NO_EXPR}, { b, VY_NO_EXPR }                                                         \
    }
static const vy_plan_step nest_steps[] = {
    {.kind = VY_STEP_FILL, .buffer = B_ACC, .pattern = 0},
    {.kind = VY_STEP_FILL, .buffer = B_ONES, .pattern = 0x3f800000},
    {.kind = VY_STEP_FILL, .buffer = B_HALVES, .pattern = 0x3c00},
    {.kind = VY_STEP_FILL, .buffer = B_BYTES, .pattern = 7},
    {.kind = VY_STEP_REPEAT, .count = 2, .expr = X_T, .symbol = 2},
    {.kind = VY_STEP_REPEAT, .count = 1, .expr = X_INNER, .symbol = 3},
    {.kind = VY_STEP_DISPATCH, .kernel = K_ADD, ARGS(B_X, B_ACC), .symbols = U32(X_N)},
    {.kind = VY_STEP_COPY, .buffer = B_SUM, .source = B_ACC},
    {.kind = VY_STEP_DISPATCH, .kernel = K_COUNT, ARGS(B_X, B_TOTAL), .symbols = U32(X_N)},
    {.kind = VY_STEP_READBACK, .buffer = B_TOTAL, .expr = X_ZERO, .symbol = 4},
    {.kind = VY_STEP_DISPATCH,
     .kernel = K_AFFINE,
     ARGS(B_X, B_FOUND),
     .symbols = (const uint32_t[]){X_FOUND, X_A}},
    {.kind = VY_STEP_FILL, .buffer = B_DOUBLES, .pattern = 0x3ff0000000000000},
};

static void check_nest(vkrt_plan *plan, const float *x, uint32_t n, uint32_t t)
{
    float *y = malloc(n * sizeof *y);
    double *d = malloc(n * sizeof *d);
    uint16_t *h = malloc(n * sizeof *h);
    uint8_t *b = malloc(n);
    uint32_t found = 0, total;
    for (uint32_t i = 0; i < n; i++) found += x[i] > 0;
    ok(vkrt_plan_read(plan, "total", &total, sizeof total, &error));
    assert_int_equal(total, found);
    ok(vkrt_plan_read(plan, "positive", y, found * sizeof *y, &error));
    for (uint32_t i = 0; i < found; i++) assert_true(y[i] == -2.0f * x[i] + 1.0f);
    ok(vkrt_plan_read(plan, "sum", y, n * sizeof *y, &error));
    for (uint32_t i = 0; i < n; i++) assert_true(y[i] == x[i] * (float)(t * (t + 1) / 2));
    ok(vkrt_plan_read(plan, "ones", y, n * sizeof *y, &error));
    ok(vkrt_plan_read(plan, "doubles", d, n * sizeof *d, &error));
    ok(vkrt_plan_read(plan, "halves", h, n * sizeof *h, &error));
    ok(vkrt_plan_read(plan, "bytes", b, n, &error));
    for (uint32_t i = 0; i < n; i++)
        assert_true(y[i] == 1.0f && d[i] == 1.0 && h[i] == 0x3c00 && b[i] == 7);
    free(y), free(d), free(h), free(b);
}

static void run_nest(vkrt_device *d, uint32_t n)
{
    const vy_kernel kernels[] = {
        [K_ADD] = add_kernel, [K_COUNT] = count_kernel, [K_AFFINE] = affine_kernel};
    vy_plan p = {"nest",
                 kernels,
                 COUNT(kernels),
                 nest_buffers,
                 COUNT(nest_buffers),
                 nest_symbols,
                 COUNT(nest_symbols),
                 nest_exprs,
                 COUNT(nest_exprs),
                 nest_steps,
                 COUNT(nest_steps)};
    vkrt_plan *plan;
    ok(vkrt_plan_create(d, &p, &(vkrt_plan_desc){.time_dispatches = true}, &plan, &error));
    float *x = malloc(n * sizeof *x);
    for (uint32_t i = 0; i < n; i++) x[i] = (float)((int)(i % 7) - 3);
    ok(vkrt_plan_set_buffer(plan, "x", 1, (uint64_t[]){n}, x, &error));
    ok(vkrt_plan_set_int(plan, "T", 3, &error));
    ok(vkrt_plan_set_float(plan, "a", -2, &error));
    ok(vkrt_plan_run(plan, &error));
    check_nest(plan, x, n, 3);
    vkrt_stats s = vkrt_plan_stats(plan);
    assert_int_equal(s.submissions, 2);
    assert_int_equal(s.recorded, 2);
    assert_int_equal(s.dispatches, 6 + 1 + 1);
    // One before each add, one before the copy, one between clearing and counting; and the
    // doublings of the 8-byte fill.  Nothing between the four fills and nothing for readers of x.
    uint32_t doublings = 0;
    for (uint64_t done = 4096; done < 8 * n; done *= 2) doublings++;
    assert_int_equal(s.barriers, 6 + 1 + 1 + doublings);
    if (s.has_device_ns) {
        assert_int_equal(s.time_count, s.dispatches);
        assert_int_equal(s.times[0].step, 6);
        assert_string_equal(s.times[7].kernel, "affine");
        assert_true(s.device_ns > 0 && s.host_ns > 0);
    }
    ok(vkrt_plan_run(plan, &error)); // nothing changed: nothing recorded
    check_nest(plan, x, n, 3);
    assert_int_equal(vkrt_plan_stats(plan).recorded, 0);
    x[0] = 5; // count finds another element: the second part is recorded anew
    ok(vkrt_plan_set_buffer(plan, "x", 1, (uint64_t[]){n}, x, &error));
    ok(vkrt_plan_run(plan, &error));
    check_nest(plan, x, n, 3);
    int64_t value = 0;
    assert_true(vkrt_plan_symbol(plan, "found", &value) && value == n / 7 * 3 + 1);
    ok(vkrt_plan_set_int(plan, "T", 0, &error));
    ok(vkrt_plan_run(plan, &error));
    check_nest(plan, x, n, 0);
    vkrt_plan_destroy(plan);
    free(x);
}

static void test_plan(void **state)
{
    needs_device(state);
    run_nest(device, 7 * 11);
    run_nest(device, 7 * 1001);
    vkrt_device *d = open_device((vkrt_device_desc){.force_staging = true});
    run_nest(d, 7 * 1001);
    vkrt_device_destroy(d);
}

// u[t + 1] += u[t]: slices of one buffer.
static vkrt_status run_slices(uint32_t n, uint32_t steps, int64_t shift, float *u)
{
    const vy_symbol symbols[] = {{.name = "N", .type = "u32"},
                                 {.name = "T", .type = "u32"},
                                 {.name = "t", .kind = VY_SYMBOL_REPEAT, .type = "u32"}};
    const vy_expr exprs[] = {
        SYMBOL_EXPR(0),
        SYMBOL_EXPR(1),
        SYMBOL_EXPR(2),
        CONST_EXPR(1),
        {.op = VY_EXPR_ADD, .a = 1, .b = 3}, // 4: T + 1
        {.op = VY_EXPR_MUL, .a = 2, .b = 0}, // 5: t N
        CONST_EXPR(shift),                   // 6
        {.op = VY_EXPR_ADD, .a = 5, .b = 0}, // 7: (t + 1) N
        {.op = VY_EXPR_ADD, .a = 7, .b = 6}, // 8: … + shift
    };
    const vy_plan_buffer buffers[] = {{"u", VY_ROLE_INOUT, "f32", 4, 2, (const uint32_t[]){4, 0}}};
    const vy_plan_step plan_steps[] = {
        {.kind = VY_STEP_REPEAT, .count = 1, .expr = 1, .symbol = 2},
        {.kind = VY_STEP_DISPATCH,
         .args = (const vy_plan_arg[]){{0, 5}, {0, 8}},
         .symbols = U32(0)},
    };
    vy_plan p = {"slices", &add_kernel,  1,          buffers,          1, symbols, COUNT(symbols),
                 exprs,    COUNT(exprs), plan_steps, COUNT(plan_steps)};
    vkrt_plan *plan;
    ok(vkrt_plan_create(device, &p, NULL, &plan, &error));
    ok(vkrt_plan_set_int(plan, "T", steps, &error));
    ok(vkrt_plan_set_buffer(plan, "u", 2, (uint64_t[]){steps + 1, n}, u, &error));
    vkrt_status status = vkrt_plan_run(plan, &error);
    if (!status) ok(vkrt_plan_read(plan, "u", u, (steps + 1) * n * sizeof *u, &error));
    vkrt_plan_destroy(plan);
    return status;
}

static void test_slices(void **state)
{
    needs_device(state);
    enum { N = 64, T = 40 };
    float u[(T + 1) * N];
    for (uint32_t i = 0; i < COUNT(u); i++) u[i] = 1;
    ok(run_slices(N, T, 0, u));
    for (uint32_t i = 0; i < COUNT(u); i++) assert_true(u[i] == (float)(i / N + 1));
    fails(run_slices(3, 2, 0, u), VKRT_UNALIGNED, "unaligned slice", "'u'");
    fails(run_slices(N, 2, N, u), VKRT_BAD_SHAPE, "'acc' takes 256 bytes", "768 bytes");
    fails(run_slices(N, 2, -N / 2, u), VKRT_BAD_ARGUMENT, "'x' and 'acc' overlap", "'u'");
    fails(run_slices(N, 2, -2 * N, u), VKRT_BAD_SHAPE, "-64", "'u'");
}

// More dispatches than fit one submission when each is timed.
static void test_long_repeat(void **state)
{
    needs_device(state);
    enum { T = 2500 };
    const vy_symbol symbols[] = {{.name = "N", .type = "u32"},
                                 {.name = "t", .kind = VY_SYMBOL_REPEAT, .type = "u32"}};
    const vy_expr exprs[] = {SYMBOL_EXPR(0), CONST_EXPR(T)};
    const vy_plan_buffer buffers[] = {BUFFER("x", VY_ROLE_IN, "f32", 4, 0),
                                      BUFFER("acc", VY_ROLE_INOUT, "f32", 4, 0)};
    const vy_plan_step steps[] = {
        {.kind = VY_STEP_REPEAT, .count = 1, .expr = 1, .symbol = 1},
        {.kind = VY_STEP_DISPATCH, ARGS(0, 1), .symbols = U32(0)},
    };
    vy_plan p = {"long", &add_kernel, 1, buffers, 2, symbols, 2, exprs, 2, steps, 2};
    vkrt_plan *plan;
    float x[2] = {1, 2}, acc[2] = {0, 5};
    ok(vkrt_plan_create(device, &p, &(vkrt_plan_desc){.time_dispatches = true}, &plan, &error));
    ok(vkrt_plan_set_buffer(plan, "x", 1, (uint64_t[]){2}, x, &error));
    ok(vkrt_plan_set_buffer(plan, "acc", 1, (uint64_t[]){2}, acc, &error));
    ok(vkrt_plan_run(plan, &error));
    ok(vkrt_plan_read(plan, "acc", acc, sizeof acc, &error));
    assert_true(acc[0] == T && acc[1] == 5 + 2 * T);
    vkrt_stats s = vkrt_plan_stats(plan);
    assert_int_equal(s.dispatches, T);
    assert_int_equal(s.submissions, 3);
    if (s.has_device_ns) assert_int_equal(s.time_count, T);
    vkrt_plan_destroy(plan);
}

// --- Shapes and scalars --------------------------------------------------------------------------

static void test_inference(void **state)
{
    needs_device(state);
    vkrt_plan *plan = plan_for(device, &matmul_kernel);
    fails(vkrt_plan_run(plan, &error), VKRT_UNSET, "'M'", NULL);
    ok(vkrt_plan_set_buffer(plan, "a", 2, (uint64_t[]){2, 3}, NULL, &error));
    ok(vkrt_plan_set_buffer(plan, "b", 2, (uint64_t[]){4, 5}, NULL, &error));
    fails(vkrt_plan_run(plan, &error), VKRT_BAD_SHAPE, "K is 3 by axis 1 of buffer 'a'",
          "4 by axis 0 of buffer 'b'");
    ok(vkrt_plan_set_buffer(plan, "b", 2, (uint64_t[]){3, 5}, NULL, &error));
    ok(vkrt_plan_run(plan, &error));
    ok(vkrt_plan_set_int(plan, "K", 7, &error));
    fails(vkrt_plan_run(plan, &error), VKRT_BAD_SHAPE, "K is 7", "'a' has extent 3");
    ok(vkrt_plan_set_int(plan, "K", 3, &error));
    ok(vkrt_plan_set_flat(plan, "a", 7, NULL, &error));
    ok(vkrt_plan_set_int(plan, "M", 2, &error));
    fails(vkrt_plan_run(plan, &error), VKRT_BAD_SHAPE, "[2, 3] has 6", "7 were given");
    vkrt_plan_destroy(plan);

    plan = plan_for(device, &add_kernel);
    ok(vkrt_plan_set_buffer(plan, "x", 1, (uint64_t[]){4}, NULL, &error));
    fails(vkrt_plan_run(plan, &error), VKRT_UNSET, "'acc' has no contents", NULL);
    fails(vkrt_plan_set_buffer(plan, "x", 2, (uint64_t[]){2, 2}, NULL, &error), VKRT_BAD_SHAPE,
          "1 axes", "[2, 2]");
    fails(vkrt_plan_set_buffer(plan, "z", 1, (uint64_t[]){2}, NULL, &error), VKRT_BAD_ARGUMENT,
          "'z'", "x, acc");
    fails(vkrt_plan_set_shape(plan, "x", 1, (uint64_t[]){INT64_MAX}, &error), VKRT_BAD_SHAPE,
          "overflows", NULL);
    uint64_t range = vkrt_device_get_info(device)->max_storage_buffer_bytes;
    fails(vkrt_plan_set_shape(plan, "x", 1, (uint64_t[]){range / 4 + 1}, &error), VKRT_LIMIT,
          "maxStorageBufferRange", "'x'");
    vkrt_plan_destroy(plan);
}

// An extent that only a bound buffer determines, as `x: in f32[?]`.
static void test_open_extent(void **state)
{
    needs_device(state);
    vy_kernel kernel = add_kernel;
    const vy_symbol symbols[] = {{"len(x)", VY_SYMBOL_EXTENT, "u32", 0, 0}};
    kernel.symbols = symbols;
    vkrt_plan *plan = plan_for(device, &kernel);
    fails(vkrt_plan_run(plan, &error), VKRT_UNSET, "'x' has no size", NULL);
    float acc[3] = {1, 2, 3};
    ok(vkrt_plan_set_buffer(plan, "x", 1, (uint64_t[]){3}, acc, &error));
    ok(vkrt_plan_set_buffer(plan, "acc", 1, (uint64_t[]){3}, acc, &error));
    ok(vkrt_plan_run(plan, &error));
    ok(vkrt_plan_read(plan, "acc", acc, sizeof acc, &error));
    assert_true(acc[0] == 2 && acc[1] == 4 && acc[2] == 6);
    vkrt_plan_destroy(plan);
}

static void test_scalars(void **state)
{
    needs_device(state);
    static const struct {
        const char *type;
        double value;
        bool fits;
        int64_t bits;
    } rows[] = {
        {"u32", 4294967295.0, true, 4294967295},
        {"u32", 4294967296.0, false, 0},
        {"u32", -1, false, 0},
        {"u32", 1.5, false, 0},
        {"i32", -2147483648.0, true, -2147483648LL},
        {"i8", 128, false, 0},
        {"u16", 65535, true, 65535},
        {"bool", 2, false, 0},
        {"f32", 0.1, true, 0x3dcccccd},
        {"f32", 1e300, false, 0},
        {"f32", INFINITY, true, 0x7f800000},
        {"f64", 1, true, 0x3ff0000000000000},
        {"f16", 1, true, 0x3c00},
        {"f16", 65519, true, 0x7bff},
        {"f16", 65520, false, 0},
        {"f16", -0.0, true, 0x8000},
        {"f16", 0x1p-24, true, 1},
        {"f16", 0x1p-25, true, 0},         // a tie, to even
        {"f16", 0x1.001p-14, true, 0x400}, // likewise
        {"f16", 2049, true, 0x6800},       // likewise
        {"f16", 2051, true, 0x6802},
        {"f16", 0.1, true, 0x2e66},
    };
    for (size_t i = 0; i < COUNT(rows); i++) {
        vy_kernel kernel = add_kernel;
        const vy_symbol symbols[] = {{.name = "N", .type = rows[i].type}};
        kernel.symbols = symbols;
        vkrt_plan *plan = plan_for(device, &kernel);
        vkrt_status status = vkrt_plan_set_float(plan, "N", rows[i].value, &error);
        int64_t bits;
        if (status != (rows[i].fits ? VKRT_OK : VKRT_BAD_ARGUMENT)) fail_msg("row %zu", i);
        if (status)
            assert_non_null(strstr(error.text, rows[i].type));
        else if (!vkrt_plan_symbol(plan, "N", &bits) || bits != rows[i].bits)
            fail_msg("row %zu: %llx", i, (unsigned long long)bits);
        fails(vkrt_plan_set_int(plan, "q", 1, &error), VKRT_BAD_ARGUMENT, "'q'", "N");
        vkrt_plan_destroy(plan);
    }
}

static void test_malformed(void **state)
{
    needs_device(state);
    const uint32_t junk[8] = {0x07230203, 0x10000, 0, 8, 0, 0xffff0001, 1, 2};
    const vy_expr late[] = {{.op = VY_EXPR_ADD, .a = 0, .b = 0}};
    vy_kernel k = add_kernel;
    k.entry = "absent";
    fails(vkrt_device_check(device, &k, &error), VKRT_BAD_KERNEL, "'absent'", "add");
    k = add_kernel;
    k.hosted = true;
    fails(vkrt_device_check(device, &k, &error), VKRT_BAD_KERNEL, "the shader that it is made from",
          "add");
    k = add_kernel;
    k.words = junk, k.word_count = 8;
    fails(vkrt_device_check(device, &k, &error), VKRT_BAD_KERNEL, "'main'", "add");
    k.word_count = 1;
    fails(vkrt_device_check(device, &k, &error), VKRT_BAD_KERNEL, "not SPIR-V", "add");
    k = add_kernel;
    k.exprs = late;
    fails(vkrt_device_check(device, &k, &error), VKRT_BAD_KERNEL, "uses a later one", NULL);
    k = add_kernel;
    k.param_bytes = 0;
    fails(vkrt_device_check(device, &k, &error), VKRT_BAD_KERNEL, "outside the block", NULL);
    k = add_kernel;
    k.local_size[0] = 1u << 30;
    fails(vkrt_device_check(device, &k, &error), VKRT_LIMIT, "workgroup size 1073741824", NULL);
    const vy_plan_step step = {.kind = VY_STEP_REPEAT, .count = 1, .expr = 0};
    const vy_plan p = {.name = "p",
                       .exprs = n_exprs,
                       .expr_count = 1,
                       .symbols = n_symbols,
                       .symbol_count = 1,
                       .steps = &step,
                       .step_count = 1};
    vkrt_plan *plan;
    fails(vkrt_plan_create(device, &p, NULL, &plan, &error), VKRT_BAD_KERNEL, "beyond the end",
          NULL);
    assert_null(plan);
}

// --- Asynchrony ----------------------------------------------------------------------------------

static void test_submit_and_wait(void **state)
{
    needs_device(state);
    vkrt_plan *plan = plan_for(device, &affine_kernel);
    float y[100];
    ok(vkrt_plan_wait(plan, 0, &error));
    ok(vkrt_plan_set_float(plan, "a", 1, &error));
    ok(vkrt_plan_set_buffer(plan, "x", 1, (uint64_t[]){100}, NULL, &error));
    ok(vkrt_plan_submit(plan, &error));
    fails(vkrt_plan_submit(plan, &error), VKRT_BUSY, "running", NULL);
    fails(vkrt_plan_read(plan, "y", y, sizeof y, &error), VKRT_BUSY, "running", NULL);
    vkrt_status status = vkrt_plan_wait(plan, 0, &error); // may be done already
    assert_true(status == VKRT_OK || status == VKRT_TIMEOUT);
    ok(vkrt_plan_wait(plan, UINT64_MAX, &error));
    ok(vkrt_plan_read(plan, "y", y, sizeof y, &error));
    assert_true(y[99] == 1);
    fails(vkrt_plan_read(plan, "y", y, 8, &error), VKRT_BAD_ARGUMENT, "400 bytes", "not 8");
    ok(vkrt_plan_submit(plan, &error));
    vkrt_plan_destroy(plan); // while it runs
}

static int thread_runs(void *d)
{
    for (int i = 0; i < 5; i++) run_affine(d, &affine_kernel, 5000);
    return 0;
}

static void test_two_devices(void **state)
{
    needs_device(state);
    vkrt_instance *other_instance;
    vkrt_device *other;
    ok(vkrt_instance_create(NULL, &other_instance, &error));
    ok(vkrt_device_create(other_instance, &(vkrt_device_desc){.cache_dir = ""}, &other, &error));
    vkrt_plan *a = plan_for(device, &affine_kernel), *b = plan_for(other, &affine_kernel);
    vkrt_plan *plans[] = {a, b};
    for (int i = 0; i < 2; i++) {
        ok(vkrt_plan_set_float(plans[i], "a", 1, &error));
        ok(vkrt_plan_set_buffer(plans[i], "x", 1, (uint64_t[]){1000}, NULL, &error));
        ok(vkrt_plan_submit(plans[i], &error));
    }
    float y[1000];
    for (int i = 1; i >= 0; i--) {
        ok(vkrt_plan_wait(plans[i], UINT64_MAX, &error));
        ok(vkrt_plan_read(plans[i], "y", y, sizeof y, &error));
        assert_true(y[0] == 1 && y[999] == 1);
        vkrt_plan_destroy(plans[i]);
    }
    thrd_t thread;
    assert_int_equal(thrd_create(&thread, thread_runs, other), thrd_success);
    thread_runs(device);
    thrd_join(thread, NULL);
    vkrt_device_destroy(other);
    no_messages(other_instance);
    vkrt_instance_destroy(other_instance);
}

// --- Devices -------------------------------------------------------------------------------------

static void test_device_choice(void **state)
{
    needs_device(state);
    assert_true(vkrt_instance_device_count(instance) > 0);
    const vkrt_device_info *first = vkrt_instance_device_info(instance, 0);
    assert_null(vkrt_instance_device_info(instance, 1000));
    assert_true(first->name[0] && first->max_workgroup_invocations >= 128 && first->subgroup_size);
    char part[8];
    snprintf(part, sizeof part, "%.5s", first->name + 1);
    for (char *p = part; *p; p++)
        *p ^= (*p >= 'a' && *p <= 'z') || (*p >= 'A' && *p <= 'Z') ? 32 : 0;
    uint32_t index = 99;
    ok(vkrt_instance_find_device(instance, part, &index, &error)); // in the other letter case
    assert_int_equal(index, 0);
    ok(vkrt_instance_find_device(instance, "0", &index, &error));
    fails(vkrt_instance_find_device(instance, "no such GPU", &index, &error), VKRT_NO_DEVICE,
          "no such GPU", first->name);
    fails(vkrt_instance_find_device(instance, "12345", &index, &error), VKRT_NO_DEVICE, "12345",
          first->name);
    char *before = getenv("VYRE_DEVICE") ? strdup(getenv("VYRE_DEVICE")) : NULL;
    setenv("VYRE_DEVICE", "absent thing", 1);
    vkrt_device *d;
    fails(vkrt_device_create(instance, NULL, &d, &error), VKRT_NO_DEVICE, "absent thing", NULL);
    assert_null(d);
    setenv("VYRE_DEVICE", "0", 1);
    ok(vkrt_instance_find_device(instance, NULL, &index, &error));
    unsetenv("VYRE_DEVICE");
    if (before) setenv("VYRE_DEVICE", before, 1);
    free(before);
}

static void test_missing_feature(void **state)
{
    needs_device(state);
    vkrt_device *d = open_device((vkrt_device_desc){.without = VY_FEATURE_BIT(FLOAT64)});
    vkrt_plan *plan;
    fails(vkrt_plan_create_for_kernel(d, &block_kernel, NULL, &plan, &error), VKRT_MISSING_FEATURE,
          "shader_float64", "block");
    vkrt_device_destroy(d);
    char text[1024];
    vy_features all = ((vy_features)1 << VY_FEATURE_COUNT) - 1;
    vy_features absent = all & ~vkrt_device_features(device);
    vy_kernel kernel = add_kernel;
    kernel.features = absent;
    if (absent)
        fails(vkrt_device_check(device, &kernel, &error), VKRT_MISSING_FEATURE, "add needs", NULL);
    assert_non_null(strstr(vkrt_features_text(all, text, sizeof text), "subgroup_shuffle, "));
    assert_int_equal(strlen(vkrt_features_text(all, text, 10)), 9);
    kernel.features = 0;
    kernel.vulkan_version = 1u << 22 | 99u << 12;
    fails(vkrt_device_check(device, &kernel, &error), VKRT_MISSING_FEATURE, "Vulkan 1.99", NULL);
}

static vkrt_function no_functions(void *vk_instance, const char *name)
{
    (void)vk_instance, (void)name;
    return NULL;
}

static void test_no_vulkan(void **state)
{
    needs_device(state);
    vkrt_instance *in;
    vkrt_instance_desc desc = {.validation = VKRT_VALIDATION_OFF, .loader = no_functions};
    fails(vkrt_instance_create(&desc, &in, &error), VKRT_NO_LOADER, "loader", NULL);
    assert_null(in);
    char *before = getenv("VK_ICD_FILENAMES") ? strdup(getenv("VK_ICD_FILENAMES")) : NULL;
    char *drivers = getenv("VK_DRIVER_FILES") ? strdup(getenv("VK_DRIVER_FILES")) : NULL;
    setenv("VK_ICD_FILENAMES", "/nonexistent.json", 1);
    setenv("VK_DRIVER_FILES", "/nonexistent.json", 1);
    desc.loader = NULL;
    fails(vkrt_instance_create(&desc, &in, &error), VKRT_NO_DRIVER, "driver", NULL);
    assert_int_equal(vkrt_instance_create(&desc, &in, NULL), VKRT_NO_DRIVER);
    before ? setenv("VK_ICD_FILENAMES", before, 1) : unsetenv("VK_ICD_FILENAMES");
    drivers ? setenv("VK_DRIVER_FILES", drivers, 1) : unsetenv("VK_DRIVER_FILES");
    free(before), free(drivers);
    char *layers = getenv("VK_LAYER_PATH") ? strdup(getenv("VK_LAYER_PATH")) : NULL;
    setenv("VK_LAYER_PATH", "/nonexistent", 1);
    desc.validation = VKRT_VALIDATION_ON;
    fails(vkrt_instance_create(&desc, &in, &error), VKRT_NO_LAYER, "validation", NULL);
    layers ? setenv("VK_LAYER_PATH", layers, 1) : unsetenv("VK_LAYER_PATH");
    free(layers);
}

// The layer is active: a kernel whose description hides its push constants is reported.
static void test_validation_speaks(void **state)
{
    needs_device(state);
    vkrt_instance *in;
    vkrt_device *d;
    vkrt_instance_desc desc = {.validation = VKRT_VALIDATION_ON};
    ok(vkrt_instance_create(&desc, &in, &error));
    ok(vkrt_device_create(in, &(vkrt_device_desc){.cache_dir = ""}, &d, &error));
    vy_kernel kernel = add_kernel;
    kernel.param_bytes = kernel.param_count = 0;
    vkrt_device_compile(d, &kernel, NULL, &error);
    assert_true(vkrt_instance_message_count(in) > 0);
    assert_non_null(strstr(vkrt_instance_message(in, 0), "VUID"));
    assert_null(vkrt_instance_message(in, 1u << 20));
    vkrt_device_destroy(d);
    vkrt_instance_destroy(in);
}

// Every Vulkan call that can fail is made to fail once, at each of its uses: the error comes back,
// and nothing is left behind, which the validation layer would report.
static struct {
    const char *name;
    VkResult result;
    int countdown;
} fault;
static PFN_vkGetInstanceProcAddr true_instance_function;
static PFN_vkGetDeviceProcAddr true_device_function;

static bool strikes(const char *name)
{
    return fault.name && strcmp(fault.name, name) == 0 && --fault.countdown == 0;
}

#define FAULTY(X)                                                                                  \
    X(vkAllocateMemory,                                                                            \
      (VkDevice d, const VkMemoryAllocateInfo *i, const VkAllocationCallbacks *a,                  \
       VkDeviceMemory *o),                                                                         \
      (d, i, a, o))                                                                                \
    X(vkMapMemory,                                                                                 \
      (VkDevice d, VkDeviceMemory m, VkDeviceSize o, VkDeviceSize s, VkMemoryMapFlags f,           \
       void **p),                                                                                  \
      (d, m, o, s, f, p))                                                                          \
    X(vkCreateBuffer,                                                                              \
      (VkDevice d, const VkBufferCreateInfo *i, const VkAllocationCallbacks *a, VkBuffer *o),      \
      (d, i, a, o))                                                                                \
    X(vkCreateShaderModule,                                                                        \
      (VkDevice d, const VkShaderModuleCreateInfo *i, const VkAllocationCallbacks *a,              \
       VkShaderModule *o),                                                                         \
      (d, i, a, o))                                                                                \
    X(vkCreatePipelineLayout,                                                                      \
      (VkDevice d, const VkPipelineLayoutCreateInfo *i, const VkAllocationCallbacks *a,            \
       VkPipelineLayout *o),                                                                       \
      (d, i, a, o))                                                                                \
    X(vkCreateDescriptorPool,                                                                      \
      (VkDevice d, const VkDescriptorPoolCreateInfo *i, const VkAllocationCallbacks *a,            \
       VkDescriptorPool *o),                                                                       \
      (d, i, a, o))                                                                                \
    X(vkCreateFence,                                                                               \
      (VkDevice d, const VkFenceCreateInfo *i, const VkAllocationCallbacks *a, VkFence *o),        \
      (d, i, a, o))                                                                                \
    X(vkCreateQueryPool,                                                                           \
      (VkDevice d, const VkQueryPoolCreateInfo *i, const VkAllocationCallbacks *a,                 \
       VkQueryPool *o),                                                                            \
      (d, i, a, o))                                                                                \
    X(vkAllocateCommandBuffers,                                                                    \
      (VkDevice d, const VkCommandBufferAllocateInfo *i, VkCommandBuffer *o), (d, i, o))           \
    X(vkAllocateDescriptorSets,                                                                    \
      (VkDevice d, const VkDescriptorSetAllocateInfo *i, VkDescriptorSet *o), (d, i, o))           \
    X(vkQueueSubmit, (VkQueue q, uint32_t n, const VkSubmitInfo *i, VkFence f), (q, n, i, f))

#define X(name, parameters, arguments)                                                             \
    static PFN_##name true_##name;                                                                 \
    static VKAPI_ATTR VkResult VKAPI_CALL faulty_##name parameters                                 \
    {                                                                                              \
        return strikes(#name) ? fault.result : true_##name arguments;                              \
    }
FAULTY(X)
#undef X

static VKAPI_ATTR PFN_vkVoidFunction VKAPI_CALL device_function(VkDevice d, const char *name)
{
#define X(faulty, parameters, arguments)                                                           \
    if (strcmp(name, #faulty) == 0) {                                                              \
        true_##faulty = (PFN_##faulty)true_device_function(d, name);                               \
        return (PFN_vkVoidFunction)faulty_##faulty;                                                \
    }
    FAULTY(X)
#undef X
    return true_device_function(d, name);
}

static vkrt_function instance_function(void *in, const char *name)
{
    PFN_vkVoidFunction f = true_instance_function(in, name);
    if (strcmp(name, "vkGetDeviceProcAddr") != 0) return (vkrt_function)f;
    true_device_function = (PFN_vkGetDeviceProcAddr)f;
    return (vkrt_function)device_function;
}

static vkrt_status run_with_fault(vkrt_instance *in)
{
    vkrt_device *d = NULL;
    vkrt_plan *plan = NULL;
    float x[8] = {0};
    vkrt_device_desc desc = {.cache_dir = "", .force_staging = true};
    vkrt_status status = vkrt_device_create(in, &desc, &d, &error);
    if (!status) status = vkrt_plan_create_for_kernel(d, &block_kernel, NULL, &plan, &error);
    if (!status) status = vkrt_plan_set_float(plan, "a", 3, &error);
    if (!status) status = vkrt_plan_set_buffer(plan, "x", 1, (uint64_t[]){8}, x, &error);
    if (!status) status = vkrt_plan_run(plan, &error);
    if (!status) status = vkrt_plan_read(plan, "y", x, sizeof x, &error);
    if (!status) assert_true(x[7] == 1);
    if (status == VKRT_DEVICE_LOST && plan) // the device stays lost
        fails(vkrt_plan_set_buffer(plan, "x", 1, (uint64_t[]){8}, x, NULL), VKRT_DEVICE_LOST, NULL,
              NULL);
    if (status == VKRT_OUT_OF_DEVICE_MEMORY && plan && !vkrt_plan_prepare(plan, NULL))
        ok(vkrt_plan_run(plan, &error)); // but memory may become available again
    vkrt_plan_destroy(plan);
    vkrt_device_destroy(d);
    return status;
}

static void test_faults(void **state)
{
    needs_device(state);
    void *library = dlopen("libvulkan.so.1", RTLD_NOW | RTLD_LOCAL);
    assert_non_null(library);
    *(void **)&true_instance_function = dlsym(library, "vkGetInstanceProcAddr");
    vkrt_instance_desc desc = {.validation = VKRT_VALIDATION_ON, .loader = instance_function};
    vkrt_instance *in;
    ok(vkrt_instance_create(&desc, &in, &error));
#define X(name, parameters, arguments) #name,
    const char *const names[] = {FAULTY(X)};
#undef X
    for (size_t i = 0; i < COUNT(names); i++) {
        int use = 1;
        for (; use < 20; use++) {
            bool submit = strcmp(names[i], "vkQueueSubmit") == 0;
            fault.name = names[i];
            fault.result = submit ? VK_ERROR_DEVICE_LOST : VK_ERROR_OUT_OF_DEVICE_MEMORY;
            fault.countdown = use;
            vkrt_status status = run_with_fault(in);
            if (fault.countdown > 0) break; // the call has fewer uses
            // Another memory type may have served; every other fault is reported.
            if (status || !strstr(names[i], "Memory"))
                fails(status, submit ? VKRT_DEVICE_LOST : VKRT_OUT_OF_DEVICE_MEMORY, NULL, NULL);
        }
        assert_true(use > 1 && use < 20);
    }
    fault.name = NULL;
    ok(run_with_fault(in));
    no_messages(in);
    vkrt_instance_destroy(in);
    dlclose(library);
}

static void test_wrapped_device(void **state)
{
    needs_device(state);
    void *library = dlopen("libvulkan.so.1", RTLD_NOW | RTLD_LOCAL);
    assert_non_null(library);
    PFN_vkGetInstanceProcAddr get;
    *(void **)&get = dlsym(library, "vkGetInstanceProcAddr");
#define GET(in, name) PFN_##name name = (PFN_##name)get(in, #name)
    GET(NULL, vkCreateInstance);
    VkApplicationInfo app = {.sType = VK_STRUCTURE_TYPE_APPLICATION_INFO,
                             .apiVersion = VK_API_VERSION_1_2};
    VkInstanceCreateInfo info = {.sType = VK_STRUCTURE_TYPE_INSTANCE_CREATE_INFO,
                                 .pApplicationInfo = &app};
    VkInstance in;
    assert_int_equal(vkCreateInstance(&info, NULL, &in), VK_SUCCESS);
    GET(in, vkEnumeratePhysicalDevices);
    GET(in, vkCreateDevice);
    GET(in, vkGetDeviceQueue);
    GET(in, vkDestroyDevice);
    GET(in, vkDestroyInstance);
    VkPhysicalDevice physical;
    uint32_t count = 1;
    assert_true(vkEnumeratePhysicalDevices(in, &count, &physical) >= 0 && count == 1);
    float priority = 1;
    VkDeviceQueueCreateInfo queue_info = {.sType = VK_STRUCTURE_TYPE_DEVICE_QUEUE_CREATE_INFO,
                                          .queueCount = 1,
                                          .pQueuePriorities = &priority};
    VkDeviceCreateInfo device_info = {.sType = VK_STRUCTURE_TYPE_DEVICE_CREATE_INFO,
                                      .queueCreateInfoCount = 1,
                                      .pQueueCreateInfos = &queue_info};
    VkDevice handle;
    VkQueue queue;
    assert_int_equal(vkCreateDevice(physical, &device_info, NULL, &handle), VK_SUCCESS);
    vkGetDeviceQueue(handle, 0, 0, &queue);
    vkrt_wrap_desc wrap = {.instance = in,
                           .physical_device = physical,
                           .device = handle,
                           .queue = queue,
                           .api_version = VK_API_VERSION_1_2,
                           .loader = (vkrt_loader)get};
    vkrt_device_desc desc = {.cache_dir = "", .part_ns = UINT64_MAX};
    vkrt_device *d;
    ok(vkrt_device_wrap(&wrap, &desc, &d, &error));
    run_affine(d, &affine_kernel, 1000);
    fails(vkrt_device_check(d, &block_kernel, &error), VKRT_MISSING_FEATURE, "shader_float64",
          NULL); // the creator of the device did not enable it
    vkrt_device_destroy(d);
    wrap.queue_family = 77;
    fails(vkrt_device_wrap(&wrap, &desc, &d, &error), VKRT_BAD_ARGUMENT, "77", NULL);
    wrap.queue = NULL;
    fails(vkrt_device_wrap(&wrap, &desc, &d, &error), VKRT_BAD_ARGUMENT, "NULL", NULL);
    vkDestroyDevice(handle, NULL);
    vkDestroyInstance(in, NULL);
    dlclose(library);
}

// --- All -----------------------------------------------------------------------------------------

static int set_up(void **state)
{
    (void)state;
    setenv("VYRE_VALIDATION", "1", 1);
    setenv("VYRE_POISON", "0", 1); // barriers are counted
    vkrt_status status = vkrt_instance_create(NULL, &instance, &error);
    if (status == VKRT_NO_LOADER || status == VKRT_NO_DRIVER) return 0; // every test skips itself
    ok(status);
    if (vkrt_instance_device_count(instance) > 0) device = open_device((vkrt_device_desc){0});
    return 0;
}

static int after_each(void **state)
{
    (void)state;
    no_messages(instance);
    return 0;
}

static int tear_down(void **state)
{
    (void)state;
    vkrt_device_destroy(device);
    no_messages(instance); // objects left behind are reported when the device goes
    vkrt_instance_destroy(instance);
    return 0;
}

int main(void)
{
#define TEST(name) cmocka_unit_test_teardown(name, after_each)
    const struct CMUnitTest tests[] = {
        TEST(test_one_dimension),
        TEST(test_empty_buffers),
        TEST(test_split_1d),
        TEST(test_parts),
        TEST(test_part_boxes),
        TEST(test_two_dimensions),
        TEST(test_folded_dimensions),
        TEST(test_given_groups),
        TEST(test_groups_as_sizes),
        TEST(test_staging),
        TEST(test_param_block),
        TEST(test_plan),
        TEST(test_slices),
        TEST(test_inference),
        TEST(test_open_extent),
        TEST(test_scalars),
        TEST(test_malformed),
        TEST(test_submit_and_wait),
        TEST(test_two_devices),
        TEST(test_device_choice),
        TEST(test_missing_feature),
        TEST(test_no_vulkan),
        TEST(test_validation_speaks),
        TEST(test_faults),
        TEST(test_wrapped_device),
        TEST(test_long_repeat),
    };
    return cmocka_run_group_tests(tests, set_up, tear_down);
}
