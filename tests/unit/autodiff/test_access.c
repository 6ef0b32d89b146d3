// SPDX-License-Identifier: MIT
// test_access.c: which elements an access touches, as isl relations (autodiff/affine/access.c):
// what enters isl, what wraps, what is refused and why.
#include "autodiff/affine/access.h"
#include "tests/unit/eval_util.h"

#include <string.h>

// The relation of the last write of the only program, as it enters isl.
static const char *relation(const char *text, vy_arena *arena, vy_affine_why *why, bool *exact)
{
    vy_module *m = vy_parse(text, strlen(text), "access");
    vy_structure s;
    vy_affine a;
    vy_affine_access x;
    const char *out = NULL;
    assert_non_null(m);
    if (!vy_module_ok(m)) fail_msg("%s\n%s", vy_module_diag(m)->text, text);
    const vy_program *p = vy_module_program(m, 0);
    assert_true(vy_structure_make(p, &s));
    assert_true(vy_affine_begin(&a, p, &s));
    uint32_t id = 0;
    for (uint32_t i = 1; i < p->insts.count; i++)
        if (vy_op_infos[p->insts.data[i].op].effect == VY_WRITE) id = i;
    assert_true(vy_access_make(&x, &a, id, UINT32_MAX));
    *why = VY_AFFINE_FINE;
    for (uint32_t k = 0; k < x.rank && !*why; k++) *why = x.why[k];
    *exact = vy_access_exact(&x);
    if (!*why) out = vy_access_text(&x, arena);
    vy_access_free(&x);
    vy_affine_end(&a);
    vy_structure_free(&s);
    vy_module_free(m);
    return out;
}

static void expect(const char *text, const char *map)
{
    vy_arena arena = {0};
    vy_affine_why why;
    bool exact;
    const char *got = relation(text, &arena, &why, &exact);
    if (!got || strcmp(got, map) != 0)
        fail_msg("%s\n%s\nnot %s", text, got ? got : vy_affine_why_text(why), map);
    if (!exact) fail_msg("%s\nsomething was left out", text);
    vy_arena_free(&arena);
}

static void expect_why(const char *text, vy_affine_why want)
{
    vy_arena arena = {0};
    vy_affine_why why;
    bool exact;
    const char *got = relation(text, &arena, &why, &exact);
    if (why != want)
        fail_msg("%s\n%s\nnot: %s", text, got ? got : vy_affine_why_text(why),
                 vy_affine_why_text(want));
    vy_arena_free(&arena);
}

#define BODY(over, body)                                                                           \
    "program f(x: out f32[N], z: out f32[M, K], c: in u32[N], N: u32, M: u32, K: u32)" over        \
    " { " body " }"

static void maps(void **state)
{
    (void)state;
    expect(BODY("over(i: N)", "x[i] = 1.0;"), "[N] -> { [i] -> [i] : 0 <= i < N }");
    expect(BODY("over(i: N)", "x[i + 1] = 1.0;"), "[N] -> { [i] -> [1 + i] : 0 <= i <= -2 + N }");
    expect(BODY("over(i: N)", "x[i - 1] = 1.0;"), "[N] -> { [i] -> [-1 + i] : 0 < i < N }");
    // Where it wraps around, the minimum is the other.
    expect(BODY("over(i: N)", "x[min(i - 1, N - 1)] = 1.0;"),
           "[N] -> { [i] -> [-1 + i] : 0 < i < N; [i = 0] -> [-1 + N] : N > 0 }");
    // In the arm where the condition fails.
    expect(BODY("over(i: N)", "if i <= K { z[0, 0] = 2.0; } else { x[i] = 1.0; }"),
           "[K, N] -> { [i] -> [i] : K < i < N }");
    expect(BODY("over(i: N)", "if i > 0 { x[i - 1] = 1.0; }"),
           "[N] -> { [i] -> [-1 + i] : 0 < i < N }");
    expect(BODY("over(i: N)", "x[i32(i) - 1] = 1.0;"), "[N] -> { [i] -> [-1 + i] : 0 < i < N }");
    expect(BODY("over(i: N)", "x[2 * i + 1] = 1.0;"),
           "[N] -> { [i] -> [1 + 2i] : i >= 0 and 2i <= -2 + N }");
    expect(BODY("over(i: N)", "atomic_add(x[i / 2], 1.0);"),
           "[N] -> { [i] -> [o0] : 0 <= i < N and -1 + i <= 2o0 <= i }");
    expect(
        BODY("over(i: N)", "atomic_add(x[(i + 3) % 4], 1.0);"),
        "[N] -> { [i] -> [o0] : (1 - i + o0) mod 4 = 0 and 0 <= i < N and 0 <= o0 <= 3 and o0 < N }");
    expect(BODY("over(i: N)", "x[min(i + 1, N - 1)] = 1.0;"),
           "[N] -> { [i] -> [1 + i] : 0 <= i <= -2 + N; [i = -1 + N] -> [-1 + N] : N > 0 }");
    expect(BODY("over(i: N)", "x[N - 1 - i] = 1.0;"),
           "[N] -> { [i] -> [-1 + N - i] : 0 <= i < N }");
    expect(BODY("over(i: M)", "for k in 0..i { z[i, k] = 1.0; }"),
           "[K, M] -> { [i, k] -> [i, k] : i < M and 0 <= k < i and k < K }");
    expect(BODY("over(i: M)", "for k in 1..K step 3 { z[i, k] = 1.0; }"),
           "[K, M] -> { [i, k] -> [i, k] : (-1 + k) mod 3 = 0 and 0 <= i < M and 0 < k < K }");
    expect(
        BODY("over(i: M)", "for k in 0..K { if k + i < 9 && k != 4 { z[i, k] = 1.0; } }"),
        "[K, M] -> { [i, k] -> [i, k] : 0 <= i < M and 0 <= k <= 8 - i and k < K and (k >= 5 or k <= 3) }");
    expect(
        BODY("over(i: M, j: K)", "z[i, i == j ? 0 : j] = 1.0;"),
        "[K, M] -> { [i, j] -> [i, j] : i < M and j < K and ((0 <= j < i) or (i >= 0 and j > i)); [i, j = i] -> [i, 0] : 0 <= i < M and i < K }");
    expect("program f(x: out f32[M * K], M: u32, K: u32) over(i: M, k: K) { x[i * K + k] = 1.0; }",
           "[K, M] -> { [i, k] -> [i, k] : 0 <= i < M and 0 <= k < K }");
    expect(
        "program f(x: out f32[B * H * W], B: u32, H: u32, W: u32) over(b: B, h: H, w: W)"
        "{ if h > 0 { x[b * H * W + (h - 1) * W + w] = 1.0; } }",
        "[W, H, B] -> { [b, h, w] -> [b, -1 + h, w] : 0 <= b < B and 0 < h < H and 0 <= w < W }");
    // strides of the index: of a buffer of n elements, where another one has B · T
    expect("program f(x: out f32[n], y: in f32[B, T], B: u32, T: u32, n: u32) over(b: B, i: T) {"
           "x[b * T + i] = 1.0; }",
           "[n, T, B] -> { [b, i] -> [b, i] : 0 <= b < B and b < n and 0 <= i < T }");
    expect("program f(x: out f32[n], y: in f32[3 * T * B], B: u32, T: u32, n: u32) over(b: B) {"
           "for i in 0..T { if i > 0 { x[i - 1 + T * b] = 1.0; } } }",
           "[n, T, B] -> { [b, i] -> [b, -1 + i] : 0 <= b < B and b < n and 0 < i < T }");
    expect(
        "program f(x: out f32[n], y: in f32[B, H, W], B: u32, H: u32, W: u32, n: u32)"
        "over(b: B, h: H, w: W) { x[(b * H + h) * W + w] = 1.0; }",
        "[n, W, H, B] -> { [b, h, w] -> [b, h, w] : 0 <= b < B and b < n and 0 <= h < H and 0 <= w < W }");
    // one of two values, known by a condition around the access
    expect("program f(x: out f32[H * W], H: u32, W: u32) over(h: H, w: W) {"
           "let c = h > 0; let at = c ? (h - 1) * W + w : 0; if c { x[at] = 1.0; } }",
           "[W, H] -> { [h, w] -> [-1 + h, w] : 0 < h < H and 0 <= w < W }");
    expect("program f(x: out f32[16 * N], N: u32) over(i: N) { x[16 * i + 3] = 1.0; }",
           "[N] -> { [i] -> [3 + 16i] : 0 <= i < N }");
    expect("program f(x: out f32[?], N: u32) over(i: N) { x[i + 3] = 1.0; }",
           "[len_x, N] -> { [i] -> [3 + i] : 0 <= i < N and i <= -4 + len_x }");
    expect(
        "program f(x: out f32[N], N: u32, pad: u32) over(i: N) { if i >= pad { x[i - pad] = 1.0; } }",
        "[pad, N] -> { [i] -> [-pad + i] : pad <= i < N }");
}

#define STRIDED(y, domain, index)                                                                  \
    "program f(x: out f32[n], " y ", B: u32, T: u32, n: u32) over(" domain ") { x[" index          \
    "] = 1.0; }"

static void refusals(void **state)
{
    (void)state;
    expect_why(BODY("over(i: N)", "x[c[i]] = 1.0;"), VY_AFFINE_DATA);
    expect_why(BODY("over(i: N)", "x[16 * i] = 1.0;"), VY_AFFINE_WRAP);
    expect_why(BODY("over(i: N)", "x[i * i] = 1.0;"), VY_AFFINE_PRODUCT);
    expect_why(BODY("over(i: N)", "x[i * K] = 1.0;"), VY_AFFINE_PRODUCT);
    expect_why(BODY("over(i: N)", "x[i / K] = 1.0;"), VY_AFFINE_DIVISION);
    // B · T may exceed 2^32, rows may overlap, and there may be fewer rows than b has values
    expect_why(
        "program f(x: out f32[n], B: u32, T: u32, n: u32) over(b: B, i: T) { x[b * T + i] = 1.0; }",
        VY_AFFINE_PRODUCT);
    expect_why(STRIDED("y: in f32[B, T, n]", "b: B, i: T", "b * T + i"), VY_AFFINE_PRODUCT);
    expect_why(STRIDED("y: in f32[B, n]", "b: B, i: T", "b * T + i"), VY_AFFINE_PRODUCT);
    expect_why(STRIDED("y: in f32[B, T]", "b: B, i: n", "b * T + i"), VY_AFFINE_PRODUCT);
    expect_why(STRIDED("y: in f32[B, T]", "b: n, i: T", "b * T + i"), VY_AFFINE_PRODUCT);
    expect_why(STRIDED("y: in f16[B, T]", "b: B, i: T", "b * T + i"), VY_AFFINE_PRODUCT);
    expect_why(BODY("over(i: N)", "atomic_add(x[(i32(i) - 1) / 2], 1.0);"), VY_AFFINE_DIVISION);
    expect_why(BODY("over(i: N)", "x[i ^ 1] = 1.0;"), VY_AFFINE_OPERATION);
    expect_why("program f(x: out f32[N], N: u32, S: i32) over(i: N) { x[i32(i) + 8 * S] = 1.0; }",
               VY_AFFINE_WRAP);
    expect_why(BODY("", "x[gid.x] = 1.0;"), VY_AFFINE_BUILTIN);
}

// ------------------------------------------------------------------------------ what is remembered
static bool same_nest(const vy_nest *x, const vy_nest *y)
{
    bool same = x->count == y->count && x->overs == y->overs && x->inner == y->inner &&
                x->why == y->why && x->inexact_count == y->inexact_count;
    for (uint32_t k = 0; same && k < x->count; k++)
        same = x->range[k].lo == y->range[k].lo && x->range[k].hi == y->range[k].hi &&
               (k < x->overs || x->loop[k] == y->loop[k]);
    for (uint32_t k = 0; same && k < x->inexact_count; k++) same = x->inexact[k] == y->inexact[k];
    return same;
}

// An access beside the others, which may remember theirs, and alone, is one relation.
static void expect_as_alone(vy_affine *beside, const vy_program *p, const vy_structure *s,
                            uint32_t id)
{
    vy_affine alone;
    vy_affine_access x, y;
    vy_arena arena = {0};
    assert_true(vy_affine_begin(&alone, p, s));
    assert_true(vy_access_make(&x, beside, id, UINT32_MAX));
    assert_true(vy_access_make(&y, &alone, id, UINT32_MAX));
    const char *ours = vy_access_text(&x, &arena), *its = vy_access_text(&y, &arena);
    if (!ours != !its || (ours && strcmp(ours, its)))
        fail_msg("%%%u: %s\nalone: %s", id, ours, its);
    // Spaces of two contexts cannot be compared; their names can.
    for (uint32_t k = 0; k < x.nest.count && k < y.nest.count; k++)
        assert_string_equal(isl_space_get_dim_name(x.nest.space, isl_dim_set, k),
                            isl_space_get_dim_name(y.nest.space, isl_dim_set, k));
    if (!same_nest(&x.nest, &y.nest)) fail_msg("%%%u: the nests differ", id);
    vy_access_free(&x);
    vy_access_free(&y);
    vy_affine_end(&alone);
    vy_arena_free(&arena);
}

// Loops that are alike in all but one respect.
static void alike(void **state)
{
    (void)state;
    static const char text[] =
        "program f(x: inout f32[N, N], c: in u32[N], N: u32, M: u32) over(i: N) {"
        " for j in 0..N { atomic_add(x[i, j], 1.0); } for j in 0..N { atomic_add(x[i, j], 2.0); }"
        " for k in 0..N { atomic_add(x[i, k], 1.0); } for j in 0..M { atomic_add(x[i, j], 1.0); }"
        " for j in 1..N { atomic_add(x[i, j], 1.0); } for j in 0..N step 2 { atomic_add(x[i, j], 1.0); }"
        " for j in 0..N { atomic_add(x[i, j + 1], 1.0); } for j in 0..i32(N) { atomic_add(x[i, j], 1.0); }"
        " for j in 0..N { if c[j] > 0u { break; } atomic_add(x[i, j], 3.0); }"
        " for j in 0..c[0] { atomic_add(x[i, j], 1.0); } for j in 0..c[1] { atomic_add(x[i, j], 1.0); }"
        " for j in 0..N { if j > 3u { atomic_add(x[i, j], 1.0); } else { atomic_add(x[i, j], 2.0); } }"
        " for j in 0..N { if j > 4u { atomic_add(x[i, j], 1.0); } }"
        " for j in 0..N { if c[j] > 1u { if j > 2u { if c[i] > 2u { atomic_add(x[i, j], 1.0); } } } }"
        " for j in 0..N { if j > 2u { if c[j] > 1u { if c[i] > 2u { atomic_add(x[i, j], 1.0); } } } }"
        " for k in 0..N { for j in 0..k { atomic_add(x[k, j], 1.0); } for j in k..N { atomic_add(x[k, j], 1.0); } }"
        " for k in 0..N { for j in 0..k { atomic_add(x[k, j], 1.0); } } }";
    vy_module *m = vy_parse(text, sizeof text - 1, "alike");
    vy_structure s;
    vy_affine a;
    if (!vy_module_ok(m)) fail_msg("%s", vy_module_diag(m)->text);
    const vy_program *p = vy_module_program(m, 0);
    assert_true(vy_structure_make(p, &s));
    assert_true(vy_affine_begin(&a, p, &s));
    for (int round = 0; round < 2; round++)
        for (uint32_t id = 1; id < p->insts.count; id++)
            if (vy_op_is_memory((vy_op)p->insts.data[id].op)) expect_as_alone(&a, p, &s, id);
    assert_true(vy_affine_end(&a));
    vy_structure_free(&s);
    vy_module_free(m);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(maps), cmocka_unit_test(refusals),
                                       cmocka_unit_test(alike)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
