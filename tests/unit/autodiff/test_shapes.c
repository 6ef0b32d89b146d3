// SPDX-License-Identifier: MIT
// test_shapes.c: shapes of buffers with flat indices (autodiff/shapes.h): which are found, and that
// programs with them compute what the flat ones do, also where indices overlap, wrap, are negative
// or leave the buffer.
#include "autodiff/shapes.h"
#include "ir/core/ir.h"
#include "tests/unit/eval_util.h"
#include "tests/unit/failing.h"

#include <stdio.h>
#include <stdlib.h>

static vy_module *parsed(const char *text)
{
    vy_module *m = vy_parse(text, strlen(text), "shapes");
    assert_non_null(m);
    if (!vy_module_ok(m)) fail_msg("%s\n%s", vy_module_diag(m)->text, text);
    return m;
}

// The declaration of a buffer in the printed module, without blanks at the end: "x: in f32[M, K]".
static void declaration(const vy_module *m, const char *name, char out[100])
{
    size_t size;
    char *text = vy_print(m, &size), key[20];
    assert_non_null(text);
    snprintf(key, sizeof key, "%s: ", name);
    const char *at = strstr(text, key);
    assert_non_null(at);
    const char *end = strchr(at, ']');
    snprintf(out, 100, "%.*s", (int)(end + 1 - at), at);
    free(text);
}

#define HEAD "(x: in f32[?], y: inout f32[?], c: in u32[?], M: u32, N: u32, K: u32, S: i32, T: i32)"
#define BODY(over, body) "program f" HEAD " " over " { " body " }"

static void expect(const char *text, const vy_define *given, const char *want)
{
    char got[100];
    vy_module *m = parsed(text);
    if (!vy_recover_shapes(m, given, given ? 1 : 0)) fail_msg("%s", vy_module_diag(m)->text);
    declaration(m, "x", got);
    if (strcmp(got, want) != 0) fail_msg("%s\n%s, not %s", text, got, want);
    vy_module_free(m);
}

static void found(void **state)
{
    (void)state;
    static const struct {
        const char *text, *shape;
    } rows[] = {
        {BODY("over(i: M)", "for k in 0..K { atomic_add(y[0], x[i * K + k]); }"),
         "x: in f32[M, K]"},
        {BODY("over(i: M)", "for k in 0..K { atomic_add(y[0], x[k * M + i]); }"),
         "x: in f32[K, M]"},
        {BODY("over(j: N, i: M)", "for k in 0..K { atomic_add(y[0], x[(j * M + i) * K + k]); }"),
         "x: in f32[N, M, K]"},
        // Strides that are sums, and terms that are strides.
        {BODY("over(j: N, i: M)",
              "atomic_add(y[0], x[j * (M + 1) + i] + x[(j + 1) * (M + 1) + i + 1]);"),
         "x: in f32[N + 1, M + 1]"},
        {BODY("over(j: N, i: M)",
              "if j > 0 { atomic_add(y[0], x[j * M + i - M] + x[j * M + M - 1 - i]); }"),
         "x: in f32[N, M]"},
        // A border: the first extent is that of the picture.
        {BODY(
             "over(j: N, i: M)",
             "if i > 0 && i + 2 < M && j + 2 < N { atomic_add(y[0], x[j * M + i - 1] + x[j * M + i + 1]); }"),
         "x: in f32[N, M]"},
        {BODY("over(j: N, i: M)", "atomic_add(y[0], x[j * M + (i + 1) % M]);"), "x: in f32[N, M]"},
        {BODY("over(j: N, i: M)", "atomic_add(y[0], x[min(j, K) * M + i]);"),
         "x: in f32[min(K + 1, N), M]"},
        {BODY("over(j: N, i: M)", "atomic_add(y[0], x[3 * j * M + i]);"),
         "x: in f32[N * 3 - 2, M]"},
        // In the other sign: a negative stride is that of no buffer.
        {BODY("over(j: N, i: M)", "for k in 0..S { atomic_add(y[0], x[i32(j) * S + k]); }"),
         "x: in f32[N, S]"},
        // The proof needs that S, which would be an extent, is below 2³⁰: then i + k does not wrap.
        {BODY("over(i: T)", "for k in 0..S { let a = i32(i) + k - S / 2;"
                            " if a >= 0 && a < T { atomic_add(y[0], x[a * S + k]); } }"),
         "x: in f32[T, S]"},
        // Not: i may reach the next row; nothing bounds the row; data decide; the length is used.
        {BODY("over(i: M)", "for k in 0..K { atomic_add(y[0], x[i * K + k + 1]); }"),
         "x: in f32[?]"},
        {BODY("over(i: M)", "for k in 0..N { atomic_add(y[0], x[i * K + k]); }"), "x: in f32[?]"},
        {BODY("over(i: M)", "for k in 0..K { atomic_add(y[0], x[(i - 1) * K + k]); }"),
         "x: in f32[?]"},
        {BODY("over(i: M)", "for k in 0..K { atomic_add(y[0], x[c[i] * K + k]); }"),
         "x: in f32[?]"},
        {BODY("over(i: M)", "for k in 0..K { atomic_add(y[0], x[i * K + c[k]]); }"),
         "x: in f32[?]"},
        {BODY("over(i: M)", "for k in 0..K { atomic_add(y[0], x[i * K + k] + f32(len(x))); }"),
         "x: in f32[?]"},
        {BODY("over(i: M)", "for k in 0..K { atomic_add(y[0], x[i * K + k] + x[k * N + i]); }"),
         "x: in f32[?]"},
        {BODY("over(i: M)", "atomic_add(y[0], x[i]);"), "x: in f32[?]"},
        {BODY("over(i: M)", "for k in 0..K { atomic_add(y[0], x[i * K - k]); }"), "x: in f32[?]"},
    };
    for (size_t k = 0; k < COUNT(rows); k++) expect(rows[k].text, NULL, rows[k].shape);
}

static void given(void **state)
{
    (void)state;
    const char *text = BODY("over(i: M)", "for k in 0..K { atomic_add(y[0], x[i * K + k]); }");
    expect(text, &(vy_define){"x", "?"}, "x: in f32[?]");
    expect(text, &(vy_define){"x", "M, K"}, "x: in f32[M, K]");
    expect(text, &(vy_define){"x", "M + 2, K"}, "x: in f32[M + 2, K]");
    expect(text, &(vy_define){"x", "2 * K"}, "x: in f32[2 * K]");
    // Not proved: so many elements, flat.
    expect(text, &(vy_define){"x", "N, K"}, "x: in f32[N * K]");
    expect(text, &(vy_define){"x", "M, N"}, "x: in f32[M * N]");
    static const vy_define wrong[] = {
        {"z", "M"}, {"x", "M,"}, {"x", "M; K"}, {"x", "Q"}, {"x", ""}};
    for (size_t k = 0; k < COUNT(wrong); k++) {
        vy_module *m = parsed(text);
        assert_false(vy_recover_shapes(m, &wrong[k], 1));
        assert_string_equal(vy_module_diag(m)->code, "E0122");
        vy_module_free(m);
    }
}

// ---------------------------------------------------------------------------------- random programs
static uint64_t seed;

static uint32_t below(uint32_t n)
{
    seed = seed * 6364136223846793005u + 1442695040888963407u;
    return (uint32_t)(seed >> 33) % n;
}

static const char *one_of(const char *const *list, uint32_t n) { return list[below(n)]; }
#define ONE_OF(...)                                                                                \
    one_of((const char *const[]){__VA_ARGS__},                                                     \
           (uint32_t)COUNT(((const char *const[]){__VA_ARGS__})))

static void write_row(char *out, size_t size)
{
    snprintf(out, size, "%s",
             ONE_OF("i", "j", "k", "i", "j", "(i + 1u)", "(j - 1u)", "(k + 1u) % K", "i / 2u",
                    "(M - 1u - i)", "min(i, N)", "(i + j)", "0u", "K"));
}

static void write_column(char *out, size_t size)
{
    snprintf(out, size, "%s",
             ONE_OF("i", "j", "k", "k", "j", "(j + 1u)", "(k - 1u)", "(j + 1u) % N", "k / 2u",
                    "N - 1u - j", "k + 4294967295u", "2u * k", "min(k, K - 1u)", "j + N", "k + K",
                    "i - K", "i % 3u"));
}

static const char *stride(void)
{
    return ONE_OF("K", "N", "M", "K", "N", "(K + 1u)", "(N + 1u)", "(K - 1u)", "W");
}

static void write_index(char *out, size_t size)
{
    char row[24], column[24], more[24];
    write_row(row, sizeof row);
    write_row(more, sizeof more);
    write_column(column, sizeof column);
    const char *s = stride();
    if (below(3))
        snprintf(out, size, "%s * %s + %s", row, s, column);
    else
        snprintf(out, size, "(%s * %s + %s) * %s + %s", row, ONE_OF("M", "N", "K"), more, s,
                 column);
}

static void write_guard(char *out, size_t size)
{
    snprintf(out, size, "%s",
             ONE_OF("true", "true", "true", "j > 0u", "k > 0u && k + 1u < K", "i < N",
                    "j + 1u < N && k + 1u < K", "k < N", "j < K", "k < W", "i > 0u && j > 0u",
                    "c[0] > 1u"));
}

static void write_program(char *out, size_t size)
{
    char a[120], b[160], guard[60], other[60];
    write_index(a, sizeof a);
    if (below(2))
        write_index(b, sizeof b);
    else
        snprintf(b, sizeof b, "%s + %s", a, ONE_OF("1u", "K", "N", "0u", "4294967295u"));
    write_guard(guard, sizeof guard);
    write_guard(other, sizeof other);
    snprintf(
        out, size,
        "program f(x: in f32[?], y: inout f32[?], c: in u32[2], M: u32, N: u32, K: u32, W: u32)"
        " over(i: M, j: N) {\n    for k in 0u..%s {\n        if %s {\n"
        "            let v = x[%s];\n            if %s { atomic_add(y[%s], v); }\n        }\n    }\n}\n",
        ONE_OF("K", "K", "K", "K + 1u", "N", "W"), guard, a, other, b);
}

enum { MOST = 4096 };
typedef struct sizes {
    vy_eval_scalar of[4]; // M, N, K, W
} sizes;

// The number of elements of a buffer with these sizes; -1: it is open, or there are too many.
static int64_t elements(const vy_program *p, const char *name, const sizes *z)
{
    const vy_buffer b = vy_program_find_buffer(p, name);
    const vy_buffer_info info = vy_program_buffer(p, b);
    int64_t scalars[4], values[200], n = 1;
    bool known[4] = {true, true, true, true};
    vy_dim_state states[200];
    assert_true(vy_program_dim_count(p) <= COUNT(values));
    for (uint32_t k = 0; k < 4; k++) scalars[k] = z->of[k].value.i;
    vy_program_dim_values(p, scalars, known, NULL, NULL, values, states);
    for (uint32_t k = 0; k < info.rank; k++) {
        if (states[info.dims[k].id] != VY_DIM_IS_KNOWN) return -1;
        n *= values[info.dims[k].id];
    }
    return n < MOST ? n : -1;
}

static void run(const vy_program *p, const sizes *z, uint64_t xs, uint64_t ys, float *y)
{
    static float x[MOST];
    uint32_t c[2] = {2, 1};
    uint64_t shapes[3][8] = {{xs}, {ys}, {2}};
    vy_eval_buffer data[] = {{"x", x, shapes[0], 1},
                             {"y", y, shapes[1], 1},
                             {"c", c, shapes[2], 1}};
    for (uint32_t k = 0; k < MOST; k++) x[k] = (float)(k + 1);
    for (uint32_t k = 0; k < MOST; k++) y[k] = (float)k / 7;
    for (uint32_t k = 0; k < 2; k++) {
        const vy_buffer_info info = vy_program_buffer(p, vy_program_find_buffer(p, data[k].name));
        int64_t scalars[4], values[200];
        bool known[4] = {true, true, true, true};
        vy_dim_state states[200];
        for (uint32_t j = 0; j < 4; j++) scalars[j] = z->of[j].value.i;
        vy_program_dim_values(p, scalars, known, NULL, NULL, values, states);
        data[k].rank = info.rank;
        for (uint32_t j = 0; j < info.rank && info.rank > 1; j++)
            shapes[k][j] = (uint64_t)values[info.dims[j].id];
    }
    vy_diag d;
    if (!vy_eval(p, data, 3, z->of, 4, NULL, NULL, &d)) fail_msg("%s [%s]", d.text, d.code);
}

// Runs both for some sizes.  The data has as many elements as the shapes say.
static void compare(const vy_module *flat, const vy_module *shaped, const char *text)
{
    static float before[MOST], after[MOST];
    const vy_program *p = vy_module_program(flat, 0), *q = vy_module_program(shaped, 0);
    for (uint32_t round = 0; round < 6; round++) {
        sizes z = {{{.name = "M"}, {.name = "N"}, {.name = "K"}, {.name = "W"}}};
        for (uint32_t k = 0; k < 4; k++) z.of[k].value.i = 1 + below(4);
        int64_t xs = elements(q, "x", &z), ys = elements(q, "y", &z);
        if (xs < 0) xs = below(40);
        if (ys < 0) ys = below(40);
        run(p, &z, (uint64_t)xs, (uint64_t)ys, before);
        run(q, &z, (uint64_t)xs, (uint64_t)ys, after);
        for (uint32_t k = 0; k < MOST; k++)
            if (before[k] != after[k])
                fail_msg("%s\nM %d N %d K %d W %d: y[%u] is %g, was %g", text, (int)z.of[0].value.i,
                         (int)z.of[1].value.i, (int)z.of[2].value.i, (int)z.of[3].value.i, k,
                         after[k], before[k]);
    }
}

static void random_programs(void **state)
{
    (void)state;
    const char *of = getenv("VYRE_FRESH_SEED"), *count = getenv("VYRE_COUNT");
    const uint32_t n = count ? (uint32_t)atoi(count) : 400;
    uint32_t shaped = 0;
    seed = of ? strtoull(of, NULL, 10) : 13;
    for (uint32_t k = 0; k < n; k++) {
        char text[1200], x[100], y[100];
        write_program(text, sizeof text);
        vy_module *flat = parsed(text), *m = parsed(text);
        if (!vy_recover_shapes(m, NULL, 0)) fail_msg("%s\n%s", vy_module_diag(m)->text, text);
        declaration(m, "x", x);
        declaration(m, "y", y);
        if (!strchr(x, '?') || !strchr(y, '?')) {
            shaped++;
            compare(flat, m, text);
        }
        vy_module_free(flat);
        vy_module_free(m);
    }
    print_message("%u of %u programs have a shape\n", shaped, n);
    assert_true(shaped * 20 > n);
}

// Shapes, or E0001 and no crash, whichever allocation fails.
static void no_memory(void **state)
{
    (void)state;
    const char *text = BODY("over(j: N, i: M)", "atomic_add(y[0], x[j * M + i]);");
    long n = 0;
    for (bool done = false; !done && n < 5000; n = next_failing(n)) {
        vy_module *m = parsed(text);
        vy_test_fail_after(n);
        done = vy_recover_shapes(m, &(vy_define){"x", "N, M"}, 1);
        vy_test_fail_after(-1);
        assert_int_equal(done, vy_module_ok(m));
        if (!done) assert_string_equal(vy_module_diag(m)->code, "E0001");
        vy_module_free(m);
    }
    assert_true(n > 30 && n < 5000);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(found), cmocka_unit_test(given),
                                       cmocka_unit_test(random_programs),
                                       cmocka_unit_test(no_memory)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
