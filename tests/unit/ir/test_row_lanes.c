// SPDX-License-Identifier: MIT
// test_row_lanes.c: rows that a workgroup walks together (ir/pass/device/row_lanes.c): which
// programs get it, and that they compute the same bits for rows of any length.
#include "ir/core/ir.h"
#include "tests/told_sizes.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "tests/unit/reads_back.h"

static bool is_walked(const vy_module *m)
{
    const vy_program *p = vy_module_find(m, "f");
    for (uint32_t i = 1; i < p->buffers.count; i++)
        if (p->buffers.data[i].cls == VY_SHARED) return true;
    return p->overs.count && strncmp(p->overs.data[p->overs.count - 1].name, "lane", 4) == 0;
}

static vy_module *optimised(const char *text, bool rows)
{
    vy_module *m = vy_parse(text, strlen(text), "test");
    vy_opt_options o = {.level = 2, .coarsen = 4};
    assert_non_null(m);
    if (rows) tell_long_rows(&o);
    if (!vy_module_ok(m) || !vy_optimize(m, &o) || !vy_module_check(m))
        fail_msg("%s", vy_module_diag(m)->text);
    return m;
}

#define HEAD                                                                                       \
    "program f(x: in f32[R, C], w: in f32[C], y: inout f32[R, C], z: inout f32[R], R: u32, C: u32)"

// Two axes of a matrix, R by C, of which each invocation has a row.
static const char *const walked[] = {
    // Sums, maxima, an order that matters, both directions.
    HEAD "over(r: R) {\n"
         "    var top = -inf; var s = 0.0;\n"
         "    for c in 0..C { top = max(top, x[r, c]); }\n"
         "    for c in rev(0..C) { s = 0.5 * s + exp(x[r, c] - top); }\n"
         "    for c in 0..C { y[r, c] = exp(x[r, c] - top) / s; }\n"
         "    z[r] = s;\n"
         "}\n",
    // What several steps need, of two types, and the variable itself.
    HEAD "over(r: R) {\n"
         "    var most = -inf; var where = 0u; var n = 0; var last = 0.0;\n"
         "    for c in 0..C {\n"
         "        let v = x[r, c] * w[c];\n"
         "        if v > most { most = v; where = c; }\n"
         "        n = n * 3 + i32(v); last = v;\n"
         "    }\n"
         "    z[r] = most + f32(where) + f32(n % 100) + last;\n"
         "}\n",
    // Steps, other bounds; loops that do not run; additions that others make, too.
    HEAD "over(r: R) {\n"
         "    var s = 1.0;\n"
         "    for c in 3..C step 2 { s = s * 0.75 + x[r, c]; atomic_add(z[c % R], 1.0); }\n"
         "    for c in 7..5 { s += x[r, c]; }\n"
         "    for c in -3..i32(C) - 3 { s = s * 0.5 + x[r, c + 3]; }\n"
         "    for c in 0..C { y[r, C - 1 - c] = s; }\n"
         "}\n",
    // Conditions and loops in an iteration; a condition that all lanes have around the loop.
    HEAD "over(r: R) {\n"
         "    var s = 0.0;\n"
         "    if C % 2 == 1 {\n"
         "        for c in 0..C {\n"
         "            var v = x[r, c];\n"
         "            if v > 0.0 { for k in 0..c % 4 { v = sin(v) + w[k]; } }\n"
         "            s -= v; s = s * 0.9;\n"
         "        }\n"
         "    }\n"
         "    z[r] = s;\n"
         "}\n",
    // What belonged to one invocation all lanes load.
    "program f(@owned x: in f32[R, C], w: in f32[C], y: inout f32[R, C], @owned z: inout f32[R],\n"
    "          R: u32, C: u32) over(r: R) {\n"
    "    var s = x[r, 0]; for c in 0..C { s = 0.5 * s + x[r, c]; } z[r] = s;\n"
    "}\n",
    // A flat matrix.
    "program f(x: in f32[R * C], w: in f32[C], y: inout f32[R * C], z: inout f32[R], R: u32, C: u32)\n"
    "    over(a: R, b: 1) {\n"
    "    var s = 0.0;\n"
    "    for c in 0..C { s += x[a * C + c] * w[c]; }\n"
    "    for c in 0..C { y[a * C + c] = s * x[a * C + c]; }\n"
    "}\n",
};

static const char *const others[] = {
    // Columns: invocations are neighbours already.
    "program f(x: in f32[C, R], y: out f32[R], R: u32, C: u32) over(r: R) {\n"
    "    var s = 0.0; for c in 0..C { s += x[c, r]; } y[r] = s; }\n",
    // More columns than rows.
    "program f(x: in f32[R, C], q: in f32[C, R], y: out f32[R], R: u32, C: u32) over(r: R) {\n"
    "    var s = 0.0; for c in 0..C { s += x[r, c] * q[c, r] * q[C - 1 - c, r]; } y[r] = s; }\n",
    // An iteration reads what another one has stored.
    HEAD "over(r: R) { for c in 1..C { y[r, c] = x[r, c] + 0.5 * y[r, c - 1]; } }\n",
    HEAD "over(r: R) { for c in 0..C { y[r, c] = x[r, c]; }\n"
         "    var s = 0.0; for c in 0..C { s += y[r, C - 1 - c]; } z[r] = s; }\n",
    // Two loops, or iterations, store the same elements.
    HEAD "over(r: R) { for c in 0..C { y[r, c] = x[r, c]; }\n"
         "    for c in 0..C { if x[r, c] > 0.0 { y[r, C - 1 - c] = 2.0; } } }\n",
    HEAD "over(r: R) { for c in 0..C { y[r, c / 2] = x[r, c]; } }\n",
    HEAD "over(r: R) { for c in 0..C { y[r, c] = x[r, c]; y[r, C - 1 - c] = 1.0; } }\n",
    // What is stored depends on the iterations before: a running sum.
    HEAD "over(r: R) { var s = 0.0; for c in 0..C { s += x[r, c]; y[r, c] = s; } }\n",
    // An index, and a condition, that do.
    HEAD
    "over(r: R) { var k = 0u; for c in 0..C { k = (k + u32(w[k % C])) % C; if x[r, c] > 9.0 { k = 0; } }\n"
    "    z[r] = f32(k); }\n",
    // The loop may end early, or is a `while`.
    HEAD
    "over(r: R) { var s = 0.0; for c in 0..C { s += x[r, c]; if s > 9.0 { break; } } z[r] = s; }\n",
    HEAD "over(r: R) { for c in 0..C { y[r, c] = x[r, c]; if w[c] > 9.0 { break; } } }\n",
    // Arrays of an invocation that iterations store to.
    HEAD
    "over(r: R) { local v: f32[4]; for c in 0..C { v[c % 4] += x[r, c]; } z[r] = v[C % 4]; }\n",
    // More values than are handed over.
    HEAD
    "over(r: R) { var a = 0.0; var b = 0.0; var d = 0.0; var e = 0.0; var g = 0.0;\n"
    "    for c in 0..C { let v = x[r, c]; a += v; b += sin(v); d += cos(v); e += v * v; g += exp(v); }\n"
    "    z[r] = a + b * d + e * g; }\n",
    // The old value of an atomic.
    HEAD "over(r: R) { var s = 0.0; for c in 0..C { s += x[r, c]; }\n"
         "    y[r, 0] = s + atomic_add(z[0], 1.0); }\n",
    // The workgroup is observed.
    HEAD "over(r: R) { var s = 0.0; for c in 0..C { s += x[r, c]; } z[r] = s + f32(lid.x); }\n",
    // Barriers would be where the domain's variable decides.
    HEAD "over(r: R) { var s = 0.0; if r > 0 { for c in 0..C { s += x[r, c]; } } z[r] = s; }\n",
    HEAD "over(r: R) { var s = 0.0; for c in 0..C - r { s += x[r, c]; } z[r] = s; }\n",
    // Three axes.
    "program f(x: in f32[R, C], z: inout f32[R], R: u32, C: u32) over(a: R, b: 1, d: 1) {\n"
    "    var s = 0.0; for c in 0..C { s += x[a, c]; } z[a] = s; }\n",
};

static void choice(void **state)
{
    (void)state;
    for (size_t k = 0; k < sizeof walked / sizeof *walked; k++) {
        vy_module *m = optimised(walked[k], true);
        if (!is_walked(m)) fail_msg("program %zu stays", k);
        vy_module_free(m);
        m = optimised(walked[k], false);
        if (is_walked(m)) fail_msg("program %zu, with no sizes told", k);
        vy_module_free(m);
    }
    for (size_t k = 0; k < sizeof others / sizeof *others; k++) {
        vy_module *m = optimised(others[k], true);
        if (is_walked(m)) fail_msg("other program %zu is walked", k);
        vy_module_free(m);
    }
}

// -------------------------------------------------------------------------------------- the sizes
typedef struct told {
    int64_t rows, length;
} told;

static int64_t rows_of(void *user, const vy_program *p, uint32_t axis)
{
    (void)p;
    return axis ? 1 : ((const told *)user)->rows;
}

static int64_t length_of(void *user, const vy_program *p, vy_dim d)
{
    const vy_dim_node *n = &p->dims.data[d.id];
    const told *t = user;
    return n->op == VY_DIM_SCALAR && n->value == 0 ? t->rows : t->length;
}

static bool walks(int64_t rows, int64_t length)
{
    told t = {rows, length};
    vy_module *m = vy_parse(walked[0], strlen(walked[0]), "test");
    const vy_opt_options o = {
        .level = 2, .extent = rows_of, .number = length_of, .rows = 16384, .user = &t};
    assert_non_null(m);
    assert_true(vy_module_ok(m) && vy_optimize(m, &o));
    const bool yes = is_walked(m);
    vy_module_free(m);
    return yes;
}

static void sizes_decide(void **state)
{
    (void)state;
    assert_true(walks(1000, 1000));
    assert_true(walks(1, 128));
    assert_false(walks(1, 127)); // a lane has less than two elements
    assert_false(walks(1000, 127));
    assert_true(walks(16384, 128));
    assert_false(walks(16385, 1000)); // enough invocations
    assert_false(walks(0, 1000));
    assert_false(walks(-1, 1000));
    assert_false(walks(1000, 0));
}

// --------------------------------------------------------------------------------------- the bits
typedef struct data {
    float *x, *w, *y, *z;
} data;

static data make_data(uint64_t rows, uint64_t length)
{
    data d = {calloc(rows * length + 1, 4), calloc(length + 4, 4), calloc(rows * length + 1, 4),
              calloc(rows + 1, 4)};
    uint32_t word = 7;
    assert_true(d.x && d.w && d.y && d.z);
    for (uint64_t i = 0; i < rows * length; i++) {
        word = word * 1664525u + 1013904223u;
        d.x[i] = (float)(int32_t)word / 1e9f;
    }
    for (uint64_t i = 0; i < length; i++) d.w[i] = (float)(i % 17) - 8;
    return d;
}

static void free_data(data *d) { free(d->x), free(d->w), free(d->y), free(d->z); }

static void run(const vy_module *m, data *d, uint64_t rows, uint64_t length, uint64_t seed)
{
    const bool flat = vy_module_find(m, "f")->buffers.data[1].rank == 1;
    const uint64_t matrix[] = {flat ? rows * length : rows, length}, row[] = {length},
                   of[] = {rows};
    const uint32_t rank = flat ? 1 : 2;
    const vy_eval_buffer all[] = {{"x", d->x, matrix, rank},
                                  {"w", d->w, row, 1},
                                  {"y", d->y, matrix, rank},
                                  {"z", d->z, of, 1}};
    const vy_eval_scalar scalars[] = {{"R", {.i = (int64_t)rows}}, {"C", {.i = (int64_t)length}}};
    const vy_eval_options o = {.report_races = true, .shuffle_seed = seed};
    vy_eval_report report = {0};
    vy_diag diag = {0};
    if (!vy_eval(vy_module_find(m, "f"), all, 4, scalars, 2, &o, &report, &diag))
        fail_msg("%s", diag.text);
    assert_int_equal(report.races, 0);
}

static void same_bits(void **state)
{
    (void)state;
    static const uint64_t lengths[] = {1, 2, 4, 63, 64, 65, 127, 255, 256, 257, 511, 513, 1000};
    for (size_t k = 0; k < sizeof walked / sizeof *walked; k++) {
        vy_module *with = optimised(walked[k], true), *without = optimised(walked[k], false);
        for (size_t i = 0; i < sizeof lengths / sizeof *lengths; i++)
            for (uint64_t rows = 0; rows < 4; rows++) {
                data a = make_data(rows, lengths[i]), b = make_data(rows, lengths[i]);
                run(with, &a, rows, lengths[i], rows * i);
                run(without, &b, rows, lengths[i], 0);
                if (memcmp(a.y, b.y, rows * lengths[i] * 4) || memcmp(a.z, b.z, rows * 4))
                    fail_msg("program %zu, %d rows of %d", k, (int)rows, (int)lengths[i]);
                free_data(&a);
                free_data(&b);
            }
        vy_module_free(with);
        vy_module_free(without);
    }
}

static void texts_read_back(void **state)
{
    (void)state;
    for (size_t k = 0; k < sizeof walked / sizeof *walked; k++) {
        vy_module *m = optimised(walked[k], true);
        assert_true(is_walked(m));
        assert_reads_back(m);
        vy_module_free(m);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(choice),
        cmocka_unit_test(sizes_decide),
        cmocka_unit_test(same_bits),
        cmocka_unit_test(texts_read_back),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
