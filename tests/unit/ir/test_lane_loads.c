// SPDX-License-Identifier: MIT
// test_lane_loads.c: loads that lanes make for each other (ir/pass/target/lane_loads.c) in domains
// of whole workgroups (whole_domain.c): which programs get them, and that these compute the same
// bits for domains and loops of any size, with no access out of range, in the interpreter.
// tests/scripts/spirv/lane_loads.py does so on the device.
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

static uint32_t count(const vy_module *m, vy_op op)
{
    const vy_program *p = vy_module_find(m, "f");
    uint32_t n = 0;
    for (uint32_t id = 1; id < p->insts.count; id++) n += p->insts.data[id].op == op;
    return n;
}

static uint32_t shared(const vy_module *m)
{
    return count(m, VY_OP_SG_BROADCAST) + count(m, VY_OP_SG_SHUFFLE);
}

static vy_module *parsed(const char *text)
{
    vy_module *m = vy_parse(text, strlen(text), "test");
    assert_non_null(m);
    if (!vy_module_ok(m)) fail_msg("%s\n%s", vy_module_diag(m)->text, text);
    return m;
}

// For subgroups of so many lanes.  0: as for a device that has none.
static vy_module *optimised(const char *text, uint32_t lanes, uint32_t elements)
{
    vy_module *m = parsed(text);
    vy_opt_options o = {.level = 2, .coarsen = elements};
    if (lanes) tell_lanes(&o, lanes);
    if (!vy_optimize(m, &o) || !vy_module_check(m)) fail_msg("%s", vy_module_diag(m)->text);
    return m;
}

#define HEAD                                                                                       \
    "program f(x: in u32[N], q: in u32[M, N], a: in u32[L], y: inout u32[M, L],\n"                 \
    "    z: inout u32[N], w: inout u32[L], N: u32, M: u32, L: u32)\n"
#define LINE HEAD "    over(i: L) {\n    var s = a[i];\n"
#define TILE HEAD "    workgroup(8, 8) over(i: M, j: L) {\n    var s = a[j];\n"

typedef struct sharing {
    uint32_t loads; // that are shared
    const char *text;
} sharing;

// All arithmetic is of integers, in an order that matters.
static const sharing some[] = {
    {1, LINE "    for j in 0..N { s = s * 3 + x[j]; }\n    w[i] = s;\n}\n"},
    // Backwards, steps, bounds that are no constants and may not be met; two carried values.
    {2, LINE "    var t = 1u32;\n"
             "    for j in rev(1..N) step 3 { s = s * 3 + x[j - 1] + x[N - j]; t = t * 5 + s; }\n"
             "    w[i] = s + t;\n}\n"},
    {1, LINE "    for j in -3..i32(N) - 3 { s = s * 5 + x[j + 3] + u32(j); }\n    w[i] = s;\n}\n"},
    {1,
     LINE "    for j in rev(-3..i32(N) - 3) step 2 { s = s * 5 + x[j + 3]; }\n    w[i] = s;\n}\n"},
    {1, LINE "    for j in 5..N - min(N, 2) { s = s * 3 + x[j]; }\n    w[i] = s;\n}\n"},
    // An outer loop that loads, too; of a loop that ends at once.
    {1, LINE
     "    for k in 0..N { s = s * 7 + x[k]; for j in k..N { s = s * 3 + x[j]; } }\n    w[i] = s;\n}\n"},
    // Outer loops and conditions that the workgroup has in common, also of an outer counter.
    {1,
     LINE "    for k in 0..M { for j in k * 7..N { s = s * 3 + x[j - k]; } }\n    w[i] = s;\n}\n"},
    {1, LINE "    if N % 2 == 1 { for j in 0..N { s = s * 3 + x[j]; } }\n    w[i] = s;\n}\n"},
    {1, LINE "    var k = 0u32;\n"
             "    while k < 3 { for j in 0..N { s = s * 3 + x[j] + k; } k = k * 2 + 1; }\n"
             "    w[i] = s;\n}\n"},
    // A load that is not made in each iteration, and one that all lanes make of their own.
    {2, LINE "    for j in 0..N {\n"
             "        s = s * 3 + x[j] + x[N - 1 - j];\n"
             "        if j + 1 < N { s = s * 5 + x[j + 1]; }\n"
             "    }\n    w[i] = s;\n}\n"},
    {2, LINE "    for j in 0..N { s = s * 3 + x[j] + x[min(j * 2, N - 1)] + a[(i + j) % L]; }\n"
             "    w[i] = s;\n}\n"},
    // An index that was loaded, and one that follows what is carried: those loads are not shared.
    {1, LINE "    for j in 0..N { s = s * 3 + x[x[j] % N]; }\n    w[i] = s;\n}\n"},
    {1, LINE "    var k = 0u32;\n"
             "    for j in 0..N { s = s * 3 + x[j] + x[k]; k = (k * 5 + x[j]) % N; }\n"
             "    w[i] = s;\n}\n"},
    // Additions of all invocations, in the loop and after it.
    {1, LINE "    for j in 0..N {\n"
             "        s = s * 3 + x[j];\n"
             "        if i % 2 == 0 { atomic_add(z[j], s); }\n"
             "    }\n    atomic_max(w[i / 2], s);\n}\n"},
    // What an invocation keeps for itself.
    {1, LINE "    local v: u32[99];\n"
             "    for j in 0..N { v[j % 99] = v[j % 99] * 3 + x[j] + i; }\n"
             "    w[i] = v[0] + v[1] * 2 + v[2] * 3 + v[3] * 4 + s;\n}\n"},
    {1, LINE "    local v: u32[99];\n"
             "    for j in 0..N { v[j % 99] = v[(j + i) % 99] * v[j * 7 % 99] + x[j] + i; }\n"
             "    w[i] = v[0] + v[1] * 2 + v[2] * 3 + v[3] * 4 + s;\n}\n"},
    // Rows, which load different elements.
    {1, TILE "    for k in 0..N { s = s * 3 + q[i, k]; }\n    y[i, j] = s;\n}\n"},
    {2, TILE "    for k in rev(0..N) { s = s * 3 + q[i, k] * x[k]; }\n    y[i, j] = s;\n}\n"},
    {1, HEAD "    over(i: M, j: L) {\n    var s = a[j];\n"
             "    for k in 0..N { s = s * 3 + q[i, k] * a[j]; }\n    y[i, j] = s;\n}\n"},
    // Rows of a constant number, and elements that are not there.
    {1, HEAD "    workgroup(8, 8) over(i: 16, j: L) {\n    var s = a[j] + i;\n"
             "    for k in 0..N { s = s * 3 + q[i, k]; }\n    if i < M { y[i, j] = s; }\n}\n"},
    // Three axes, of which one is a constant; a constant alone.
    {1, HEAD "    over(b: 3, i: M, j: L) {\n    var s = a[j] + b;\n"
             "    for k in 0..N { s = s * 3 + q[i, k]; }\n    atomic_add(y[i, j], s);\n}\n"},
    {1, HEAD
     "    workgroup(8, 2, 2) over(c: 3, b: M, i: 5, j: L) {\n    var s = a[j] + b * 5 + i * c;\n"
     "    for k in 0..N { s = s * 3 + q[b, k]; }\n    atomic_add(y[b, j], s);\n}\n"},
    // Sizes that invocations cannot compute, where they need not; sizes that are divided.
    {1, HEAD "    workgroup(64) over(i: M * M, j: L) {\n    var s = a[j] + i;\n"
             "    for k in 0..N { s = s * 3 + x[k]; }\n    atomic_add(w[j], s);\n}\n"},
    {1, HEAD "    over(i: (L + 2) / 3) {\n    var s = i;\n"
             "    for k in 0..N { s = s * 3 + x[k]; }\n    w[i] = s;\n}\n"},
    {1, HEAD "    over(i: 60) {\n    var s = i;\n"
             "    for k in 0..N { s = s * 3 + x[k]; }\n    if i < L { w[i] = s; }\n}\n"},
};

static const char *const none[] = {
    // Elements of each lane.
    LINE "    for j in 0..N { s = s * 3 + x[(i + j) % N]; }\n    w[i] = s;\n}\n",
    TILE "    for k in 0..N { s = s * 3 + x[(j + k) % N]; }\n    y[i, j] = s;\n}\n",
    HEAD "    over(i: M) {\n    var s = i;\n    for j in 0..N { s = s * 3 + q[i, j]; }\n"
         "    if L > 0 { y[i, 0] = s; }\n}\n",
    HEAD "    over(i: 64) {\n    var s = i;\n    for j in 0..N { s = s * 3 + q[i, j]; }\n"
         "    if i < L { w[i] = s; }\n}\n",
    LINE
    "    local v: u32[4];\n    v[i % 4] = i;\n    v[i / 2 % 4] += 1;\n    let k = v[3] + v[2];\n"
    "    for j in 0..N { s = s * 3 + x[(j + k) % N]; }\n    w[i] = s;\n}\n",
    // The loop is not that of the whole workgroup.
    LINE "    for j in i..N { s = s * 3 + x[j]; }\n    w[i] = s;\n}\n",
    LINE "    if i % 2 == 0 { for j in 0..N { s = s * 3 + x[j]; } }\n    w[i] = s;\n}\n",
    TILE "    for k in i..N { s = s * 3 + q[i, k]; }\n    y[i, j] = s;\n}\n",
    LINE
    "    var k = 0u32;\n"
    "    while k < i % 3 { for j in 0..N { s = s * 3 + x[j]; } k = k + 1; }\n    w[i] = s;\n}\n",
    // It may end early.
    LINE "    for j in 0..N { s = s * 3 + x[j]; if s % 64 == 0 { break; } }\n    w[i] = s;\n}\n",
    LINE "    for j in 0..N { s = s * 3 + x[j]; if x[j] == 7 { break; } }\n    w[i] = s;\n}\n",
    // Elements that do not follow the counter, or of what an invocation keeps for itself.
    LINE "    for j in 0..N { s = s * 3 + x[s % N]; }\n    w[i] = s;\n}\n",
    LINE "    local v: u32[64];\n    for j in 0..64 { v[j] = i * j; }\n"
         "    for j in 0..64 { s = s * 3 + v[63 - j]; }\n    w[i] = s;\n}\n",
    // What it writes.
    LINE "    for j in 0..N { s = s * 3 + x[j] + w[i]; }\n    w[i] = s;\n}\n",
    LINE "    for j in 0..N { s = s * 3 + x[j]; }\n    w[i] = s + atomic_add(z[0], 1u32);\n}\n",
    // A row of the workgroup is no row of subgroups.
    HEAD "    workgroup(20, 7) over(i: M, j: L) {\n    var s = a[j];\n"
         "    for k in 0..N { s = s * 3 + x[k]; }\n    y[i, j] = s;\n}\n",
    // Sizes that invocations cannot compute.
    HEAD
    "    over(i: (L + 1) / 3) {\n    var s = i;\n    for k in 0..N { s = s * 3 + x[k]; }\n    w[i] = s;\n}\n",
    HEAD
    "    over(i: L * M) {\n    var s = i;\n    for k in 0..N { s = s * 3 + x[k]; }\n    atomic_add(w[i / M], s);\n}\n",
    // Invocations that have no place in the domain.
    HEAD
    "    workgroup(64, 2) over(i: L) {\n    var s = i;\n    for k in 0..N { s = s * 3 + x[k]; }\n    w[i] = s;\n}\n",
    // The workgroup is observed.
    LINE "    for j in 0..N { s = s * 3 + x[j]; }\n    w[i] = s + lane;\n}\n",
    // Few iterations; mostly other loads.
    LINE "    for j in 0..15 { s = s * 3 + x[j]; }\n    w[i] = s;\n}\n",
    LINE
    "    for j in 0..N { s = s * 3 + x[j] + x[(i + j) % N] * x[(i * j) % N]; }\n    w[i] = s;\n}\n",
    // Words that are no 32 bits: not every device hands them over.
    "program f(x: in f64[N], w: inout f64[L], N: u32, L: u32) over(i: L) {\n"
    "    var s = 0.0f64; for j in 0..N { s = s * 0.5f64 + x[j]; } w[i] = s; }\n",
    "program f(x: in u32[N], w: inout u32[L], N: u64, L: u32) over(i: L) {\n"
    "    var s = 0u32; for j in 0u64..N { s = s * 3 + x[j]; } w[i] = s; }\n",
};

static void choice(void **state)
{
    (void)state;
    for (size_t k = 0; k < sizeof some / sizeof *some; k++) {
        vy_module *m = optimised(some[k].text, 8, 1);
        if (shared(m) != some[k].loads) {
            char *text = vy_print(m, NULL);
            fail_msg("program %zu shares %u loads\n%s", k, shared(m), text);
        }
        vy_module_free(m);
        m = optimised(some[k].text, 0, 1);
        if (shared(m)) fail_msg("program %zu, for a device without lanes", k);
        vy_module_free(m);
    }
    for (size_t k = 0; k < sizeof none / sizeof *none; k++) {
        vy_module *m = optimised(none[k], 8, 1);
        if (shared(m)) fail_msg("other program %zu shares loads", k);
        vy_module_free(m);
    }
}

// What is stated of the domain, and how many conditions there are.
static void check_domain(const char *text, const char *domain, uint32_t ifs)
{
    vy_module *m = optimised(text, 8, 1);
    char *lowered = vy_print(m, NULL);
    if (!strstr(lowered, domain) || count(m, VY_OP_IF) != ifs)
        fail_msg("no `%s`, or not %u ifs:\n%s", domain, ifs, lowered);
    vy_free(lowered);
    vy_module_free(m);
}

static void domains(void **state)
{
    (void)state;
    check_domain(some[0].text, "workgroup(64) over(i: (L + 63) / 64 * 64)", 1);
    check_domain(HEAD
                 "    workgroup(8, 2, 4) over(b: M, i: 6, j: L) {\n    var s = a[j];\n"
                 "    for k in 0..N { s = s * 3 + q[b, k]; }\n    atomic_add(y[b, j], s);\n}\n",
                 "over(b: (M + 3) / 4 * 4, i: 6, j: (L + 7) / 8 * 8)", 1);
    // What an invocation keeps for itself is written beyond the domain, too.
    check_domain(LINE "    local v: u32[99];\n"
                      "    for j in 0..N { v[j % 99] = v[j % 99] * 3 + x[j] + i; }\n"
                      "    w[i] = v[0] + s;\n}\n",
                 "over(i: (L + 63) / 64 * 64)", 1);
}

// ---------------------------------------------------------------------------------------- options
static int64_t size_of(void *user, const vy_program *p, uint32_t axis)
{
    (void)p, (void)axis;
    return *(const int64_t *)user;
}

static bool shares(vy_opt_options o, int64_t size)
{
    vy_module *m = parsed(some[0].text);
    o.extent = size_of, o.user = &size;
    assert_true(vy_optimize(m, &o));
    const bool yes = shared(m) > 0;
    vy_module_free(m);
    return yes;
}

static bool few(void *user, const vy_program *p)
{
    (void)user, (void)p;
    return true;
}

static void options_decide(void **state)
{
    (void)state;
    const vy_opt_options all = {.level = 2,
                                .lanes = 8,
                                .subgroup_size = 8,
                                .subgroup_shuffle = true};
    vy_opt_options o = all;
    assert_true(shares(all, 4096));
    assert_true(shares(all, 57));
    assert_false(shares(all, 56)); // more than an eighth is wasted
    assert_false(shares(all, 65));
    assert_false(shares(all, 0));
    assert_false(shares(all, -1)); // not known
    o.subgroup_shuffle = false;
    assert_false(shares(o, 4096));
    o = all, o.lanes = 0;
    assert_false(shares(o, 4096));
    o = all, o.lanes = 4; // subgroups that are no part of a row
    assert_false(shares(o, 4096));
    o = all, o.lanes = o.subgroup_size = 1;
    assert_false(shares(o, 4096));
    o = all, o.subgroup_size = 0;
    assert_false(shares(o, 4096));
    o = all, o.chunk = 8; // iterations are counted
    assert_false(shares(o, 4096));
    o.few_iterations = few;
    assert_true(shares(o, 4096));
}

// --------------------------------------------------------------------------------------- the bits
enum { N = 0, M, L };

typedef struct data {
    uint64_t size[3];
    uint32_t *x, *q, *a, *y, *z, *w;
} data;

static uint32_t *words(uint64_t n, uint32_t *word)
{
    uint32_t *x = calloc(n + 1, sizeof *x);
    assert_non_null(x);
    for (uint64_t i = 0; i < n; i++) x[i] = (*word = *word * 1664525u + 1013904223u) >> 8;
    return x;
}

static data make_data(uint64_t n, uint64_t m, uint64_t l)
{
    uint32_t word = 7;
    data d = {.size = {n, m, l}};
    d.x = words(n, &word), d.q = words(m * n, &word), d.a = words(l, &word);
    d.y = words(m * l, &word), d.z = words(n, &word), d.w = words(l, &word);
    return d;
}

static void free_data(data *d)
{
    free(d->x), free(d->q), free(d->a), free(d->y), free(d->z), free(d->w);
}

// Returns how often an index was out of range, which is none of the faults looked for.
static uint64_t run(const vy_module *m, data *d, uint32_t subgroup)
{
    const uint64_t *n = d->size, q[] = {n[M], n[N]}, y[] = {n[M], n[L]};
    const vy_eval_buffer all[] = {{"x", d->x, &n[N], 1}, {"q", d->q, q, 2},
                                  {"a", d->a, &n[L], 1}, {"y", d->y, y, 2},
                                  {"z", d->z, &n[N], 1}, {"w", d->w, &n[L], 1}};
    const vy_eval_scalar scalars[] = {{"N", {.u = n[N]}}, {"M", {.u = n[M]}}, {"L", {.u = n[L]}}};
    const vy_eval_options o = {.report_races = true,
                               .report_out_of_range = true,
                               .subgroup_size = subgroup};
    vy_eval_report report = {0};
    vy_diag diag = {0};
    if (!vy_eval(vy_module_find(m, "f"), all, 6, scalars, 3, &o, &report, &diag))
        fail_msg("%s", diag.text);
    if (report.races) fail_msg("%s", report.first.text);
    return report.out_of_range;
}

static bool same(const data *a, const data *b)
{
    const uint64_t *n = a->size;
    return !memcmp(a->y, b->y, n[M] * n[L] * 4) && !memcmp(a->z, b->z, n[N] * 4) &&
           !memcmp(a->w, b->w, n[L] * 4);
}

static void compare(const vy_module *with, const char *text, uint64_t n, uint64_t m, uint64_t l,
                    uint32_t subgroup)
{
    // Loads that the program makes under `!=` are guarded where all lanes make them.
    const bool guarded = strstr(text, "!=") != NULL;
    vy_module *own = parsed(text);
    data a = make_data(n, m, l), b = make_data(n, m, l);
    const uint64_t outside = run(with, &a, subgroup), before = run(own, &b, 0);
    if (!same(&a, &b) || (outside && !before && !guarded))
        fail_msg("N = %d, M = %d, L = %d, subgroups of %u\n%s", (int)n, (int)m, (int)l, subgroup,
                 text);
    free_data(&a);
    free_data(&b);
    vy_module_free(own);
}

static void same_bits(void **state)
{
    (void)state;
    static const uint32_t trips[] = {0, 1, 7, 8, 9, 16, 31};
    static const uint32_t lines[] = {0, 1, 7, 63, 64, 65, 130}, rows[] = {1, 0, 3, 8, 9};
    for (size_t k = 0; k < sizeof some / sizeof *some; k++)
        for (uint32_t lanes = 4; lanes <= 8; lanes *= 2) {
            vy_module *with = optimised(some[k].text, lanes, k % 2 ? 1 : 4);
            for (size_t t = 0; t < sizeof trips / sizeof *trips; t++)
                for (size_t l = 0; l < sizeof lines / sizeof *lines; l++)
                    compare(with, some[k].text, trips[t], rows[(t + l) % 5], lines[l],
                            lanes << (t + l) % 4);
            vy_module_free(with);
        }
}

// What holds of an access in an arm may not hold where all lanes make it (flatten_ifs).
static void marks_of_arms(void **state)
{
    (void)state;
    static const char text[] =
        "@lowered " LINE "    for j in 0..N {\n"
        "        if j != 0 { s = s * 3 + x[j - 1] @in_range; }\n"
        "        if j + 1 != N { s = s + j; } else { s = s * 3 + x[j + 1 - N] @in_range; }\n"
        "    }\n    w[i] = s;\n}\n";
    vy_module *m = parsed(text);
    vy_opt_options o = {.level = 2};
    tell_lanes(&o, 8);
    assert_true(vy_optimize(m, &o));
    assert_int_equal(count(m, VY_OP_IF), 1); // that of the domain
    assert_int_equal(shared(m), 2);
    for (uint32_t n = 1; n < 20; n += 6) compare(m, text, n, 1, 70, 8);
    vy_module_free(m);
    // Accesses that nothing guards stay where they are.
    m = parsed(text), o.unchecked = true;
    assert_true(vy_optimize(m, &o));
    assert_int_equal(count(m, VY_OP_IF), 2);
    vy_module_free(m);
    // … and so do those of memory that others write.
    m = parsed(LINE "    for j in 0..N { if j != i { s = s * 3 + w[i]; } }\n    w[i] = s;\n}\n");
    o.unchecked = false;
    assert_true(vy_optimize(m, &o));
    assert_int_equal(count(m, VY_OP_IF), 1);
    vy_module_free(m);
}

static void texts_read_back(void **state)
{
    (void)state;
    for (size_t k = 0; k < sizeof some / sizeof *some; k++) {
        vy_module *m = optimised(some[k].text, 8, 1);
        assert_reads_back(m);
        vy_module_free(m);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(choice),         cmocka_unit_test(domains),
        cmocka_unit_test(options_decide), cmocka_unit_test(marks_of_arms),
        cmocka_unit_test(same_bits),      cmocka_unit_test(texts_read_back),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
