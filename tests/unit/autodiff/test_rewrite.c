// SPDX-License-Identifier: MIT
// test_rewrite.c: the rewrites before reverse mode (autodiff/storage/sqrt_segments.c,
// autodiff/storage/counter.c and autodiff/rewrite/argmax.c) preserve a program's results bit for
// bit.
#include "autodiff/core/counter.h"
#include "autodiff/storage/sqrt_segments.h"
#include "autodiff/rewrite/argmax.h"
#include "tests/unit/eval_util.h"
#include "tests/unit/autodiff/gradcheck.h"
#include "autodiff/storage/storage.h"
#include "ir/build/edit.h"
#include "ir/check/check.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>

enum { ELEMENTS = 8 };

// Parameters of all programs here; `real` receives the counts that the program makes itself.
#define PARAMETERS                                                                                 \
    "(x: in f32[8], y: out f32[8], h: out u32[8], real: out u32[8], seen: out u32[8], "            \
    "a: %s, b: %s, s: %s) over(i: 1)\n"

typedef struct results {
    float y[ELEMENTS];
    uint32_t h[ELEMENTS], real[ELEMENTS], seen[ELEMENTS];
} results;

static const float usual[ELEMENTS] = {0.5f, 1.25f, -0.75f, 2, 1.5f, -3, 0.25f, 1};

static vy_module *parse(const char *body, const char *type)
{
    char text[2000], head[300];
    snprintf(head, sizeof head, PARAMETERS, type, type, type);
    const char *at = strstr(body, "main");
    assert_non_null(at);
    int n = snprintf(text, sizeof text, "%.*sprogram p%s", (int)(at - body), body, head);
    for (at += 4; *at; at++) // `T` stands for the type
        n += snprintf(text + n, sizeof text - (size_t)n, *at == 'T' ? "%s" : "%.1s",
                      *at == 'T' ? type : at);
    vy_module *m = vy_parse(text, strlen(text), "rewrite");
    assert_non_null(m);
    if (!vy_module_ok(m)) fail_msg("%s\n%s", vy_module_diag(m)->text, text);
    return m;
}

static results run(const vy_program *p, const float *x, const int64_t v[3])
{
    static const char *const names[3] = {"a", "b", "s"};
    static const uint64_t eight = ELEMENTS;
    results r;
    memset(&r, 0, sizeof r);
    const vy_eval_buffer buffers[] = {{"x", (void *)(uintptr_t)x, &eight, 1},
                                      {"y", r.y, &eight, 1},
                                      {"h", r.h, &eight, 1},
                                      {"real", r.real, &eight, 1},
                                      {"seen", r.seen, &eight, 1}};
    const vy_eval_options options = {.max_steps = 50000000};
    vy_eval_scalar scalars[3];
    for (int k = 0; k < 3; k++) scalars[k] = (vy_eval_scalar){names[k], {.i = v[k]}};
    vy_diag d;
    if (!vy_eval(p, buffers, COUNT(buffers), scalars, 3, &options, NULL, &d))
        fail_msg("%s [%s]", d.text, d.code);
    return r;
}

static void same(const char *how, const char *body, const char *type, const int64_t v[3],
                 const results *x, const results *y)
{
    if (memcmp(x->y, y->y, sizeof x->y) == 0 && memcmp(x->h, y->h, sizeof x->h) == 0 &&
        memcmp(x->real, y->real, sizeof x->real) == 0)
        return;
    fail_msg("%s, %s, a = %lld, b = %lld, s = %lld: h = %u, %u then %u, %u; y = %.9g then %.9g\n%s",
             how, type, (long long)v[0], (long long)v[1], (long long)v[2], x->h[0], x->h[1],
             y->h[0], y->h[1], (double)x->y[0], (double)y->y[0], body);
}

static void print_on_failure(const vy_program *p)
{
    if (!getenv("REWRITE_PRINT")) return;
    char *text = vy_print(p->module, NULL);
    print_message("%s\n", text ? text : "");
    free(text);
}

// ---------------------------------------------------------------------------------------- segments
static uint64_t state = 1;

static uint32_t below(uint32_t n)
{
    state = state * 6364136223846793005u + 1442695040888963407u;
    return (uint32_t)(state >> 33) % n;
}

// Chooses some of the counted loops, none inside another.
static bool choose(const vy_program *p, uint8_t *chosen, bool all)
{
    vy_structure s;
    assert_true(vy_structure_make(p, &s));
    bool any = false;
    for (uint32_t id = 1; id < p->insts.count; id++) {
        if (p->insts.data[id].op != VY_OP_LOOP) continue;
        bool inside = false;
        for (uint32_t up = s.parent[id]; up; up = s.parent[up]) inside |= chosen[up];
        if (inside || (!all && below(3) == 0)) continue;
        chosen[id] = 1;
        any = true;
    }
    vy_structure_free(&s);
    return any;
}

static void cut(vy_program *p, uint32_t **hints, bool all)
{
    uint8_t *chosen = calloc(p->insts.count, 1);
    assert_non_null(chosen);
    if (choose(p, chosen, all) && !vy_segment(p, chosen, hints))
        fail_msg("%s", vy_module_diag(p->module)->text);
    free(chosen);
    print_on_failure(p);
}

#define HASH "c = c * 31 + u32(k);"
#define STOP "n += 1; if n >= 40 { break; }"
#define END " h[0] = c; h[1] = n; y[0] = f; }"
#define BEGIN "main { var c = 1u; var n = 0u; var f = x[0]; "

static const char *const loops[] = {
    BEGIN "for k in a..b step s { " HASH STOP " }" END,
    BEGIN "for k in rev(a..b) step s { " HASH STOP " f = f * x[1] + f32(n); }" END,
    BEGIN "for k in a..b { " HASH STOP " f = sin(f) * x[1]; }" END,
    BEGIN "for k in rev(a..b) { if c % 3 == 1 { c += 5; continue; } " HASH " } " END,
};

// Loops that have a small trip count or stop by themselves.
static bool is_short(const char *body, int64_t a, int64_t b)
{
    return strstr(body, "break") || b <= a || (uint64_t)b - (uint64_t)a < 200;
}

static void check_segments(const char *body, const char *type, const int64_t *list, uint32_t count)
{
    enum { VARIANTS = 4 };
    vy_module *m = parse(body, type), *other[VARIANTS];
    uint32_t *hints[VARIANTS] = {NULL};
    for (uint32_t k = 0; k < VARIANTS; k++) {
        other[k] = parse(body, type);
        for (uint32_t rounds = 0; rounds <= k; rounds++)
            cut(vy_module_program(other[k], 0), &hints[k], k == 0);
        assert_true(vy_check_program(vy_module_program(other[k], 0)));
    }
    for (uint32_t k = 0; k < count * count * count; k++) {
        const int64_t v[3] = {list[k % count], list[k / count % count], list[k / count / count]};
        if (v[2] <= 0 || !is_short(body, v[0], v[1])) continue;
        const results want = run(vy_module_program(m, 0), usual, v);
        const uint32_t which = k % VARIANTS;
        const results got = run(vy_module_program(other[which], 0), usual, v);
        same("cut", body, type, v, &want, &got);
    }
    for (uint32_t k = 0; k < VARIANTS; k++) {
        vy_free(hints[k]);
        vy_module_free(other[k]);
    }
    vy_module_free(m);
}

static void segments(void **unused)
{
    (void)unused;
    static const int64_t u32s[] = {0,         1,          2,
                                   17,        100,        1 << 20,
                                   INT32_MAX, UINT32_MAX, UINT32_MAX - 30};
    static const int64_t i32s[] = {0,      1, 3, -3, 100, -17, INT32_MAX, INT32_MIN, INT32_MIN + 40,
                                   1 << 30};
    static const int64_t u64s[] = {0, 1, 3, 64, (1ll << 40) + 1, INT64_MAX, -1, -40}; // as signed
    static const int64_t i64s[] = {0, 2, -5, 90, INT64_MAX, INT64_MIN, INT64_MIN + 50, 1ll << 62};
    for (uint32_t k = 0; k < COUNT(loops); k++) {
        check_segments(loops[k], "u32", u32s, COUNT(u32s));
        check_segments(loops[k], "i32", i32s, COUNT(i32s));
        check_segments(loops[k], "i64", i64s, COUNT(i64s));
        check_segments(loops[k], "u64", u64s,
                       6); // beyond the largest i64: not a possible extent
    }
}

// Trip counts around squares, where ⌈√n⌉ changes: each iteration once, in order.
static void squares(void **unused)
{
    (void)unused;
    static const int64_t roots[] = {1, 2, 3, 10, 31, 46, 100};
    vy_module *m = parse(BEGIN "for k in 0..b { " HASH " f += 1; }" END, "u32");
    vy_module *other = parse(BEGIN "for k in 0..b { " HASH " f += 1; }" END, "u32");
    uint32_t *hints = NULL;
    cut(vy_module_program(other, 0), &hints, true);
    for (uint32_t k = 0; k < COUNT(roots); k++)
        for (int64_t d = -1; d <= 1; d++) {
            const int64_t v[3] = {0, roots[k] * roots[k] + d, 1};
            const results want = run(vy_module_program(m, 0), usual, v);
            const results got = run(vy_module_program(other, 0), usual, v);
            same("cut", "square", "u32", v, &want, &got);
            assert_true(got.y[0] == usual[0] + (float)v[1]);
        }
    vy_free(hints);
    vy_module_free(other);
    vy_module_free(m);
}

// ---------------------------------------------------------------------------------------- counters
#define NEXT "fn next(m: inout f32[2], x: f32) -> f32 { m[0] += x; m[1] += 1; return m[0]; } "
#define SUM                                                                                        \
    "fn to(x: in f32[8], n: u32) -> f32 { var f = 0.0; for k in 0..n { f += abs(x[k & 7]); } return f; } "

// real[k]: what the k-th counter reaches, in the order of their loops; a checkpoint's before the
// program's.
static const char *const counted[] = {
    // a while, and one that never runs
    "main { var c = 0u; var f = x[3]; while f < 1000 { f *= f; c += 1; } real[0] = c; y[0] = f;"
    " var d = 0u; while f < 0 { d += 1; } real[1] = d; }",
    // bounds are data; forwards, backwards, with a step
    "main { var c = 0u; var q = 1u; for k in u32(x[3])..u32(x[3]) * 9 step 2 { c += 1; q = q * 3 + k; }"
    " real[0] = c; var d = 0u; for k in rev(0..i32(x[4] * 10)) step 4 { d += 1; q = q * 5 + u32(k); }"
    " real[1] = d; h[0] = q; var e = 0u; for k in 0..i32(x[5]) { e += 1; } real[2] = e; }",
    // in nests an inner loop's counter is the sum over the outer's iterations
    "main { var c = 0u; var d = 0u; var f = x[0]; while c < 5 { c += 1; var g = f; "
    "while g < 40 { g = g * 3 + 1; d += 1; } f += g; } real[0] = c; real[1] = d; y[0] = f; }",
    // inside arms, one of which is taken only sometimes; for around while
    "main { var d = 0u; var e = 0u; for k in 0..8 { if x[k] > 0.3 { var g = x[k]; "
    "while g < 9 { g += x[k]; d += 1; } y[k] = g; } else { for j in 0..u32(-x[k]) { e += 1; } } }"
    " real[0] = d; real[1] = e; }",
    // break and continue: the last iteration counts too
    "main { var c = 0u; var f = 1.0; while true { c += 1; f *= 1.7; if f < 3 { continue; } "
    "if f > 90 { break; } h[1] += 1; } real[0] = c; y[0] = f; }",
    // a condition that writes: its last evaluation is an iteration of its own
    NEXT "main { local m: f32[2]; var c = 0u; while next(m, x[4]) < 20 { c += 1; }"
         " real[0] = c + 1; y[0] = m[0]; y[1] = m[1]; }",
    // the same with a break in the body, once taken and once not
    NEXT
    "main { local m: f32[2]; var c = 0u; while next(m, x[4]) < 20 { c += 1; if m[1] == 4 { break; } }"
    " real[0] = c; y[0] = m[0]; y[1] = m[1]; }",
    NEXT
    "main { local m: f32[2]; var c = 0u; while next(m, x[4]) < 20 { c += 1; if m[1] == 40 { break; } }"
    " real[0] = c + 1; y[0] = m[0]; y[1] = m[1]; }",
    // one with a loop in it
    SUM
    "main { var c = 0u; while to(x, c) < 9 { c += 1; } real[0] = c + 1; real[1] = c * (c + 1) / 2; "
    "h[0] = c; }",
    // a condition that never holds
    NEXT
    "main { local m: f32[2]; while next(m, 50) < 20 { h[2] += 1; } real[0] = 1; y[0] = m[0]; }",
    // a checkpoint: the most of one execution, and all of them together
    "main { var most = 0u; var sum = 0u; var f = x[3]; for j in 0..6 { var c = 0u; checkpoint { "
    "var g = f; while g < 50 { g = g * 2 + f32(j); c += 1; } f += 7; y[j] = g; } "
    "most = max(most, c); sum += c; } real[0] = most; real[1] = sum; }",
    // checkpoints in checkpoints
    "main { var inner = 0u; var outer = 0u; var sum = 0u; var f = 1.0; for j in 0..4 { var o = 0u; "
    "checkpoint { for l in 0..3 { var c = 0u; checkpoint { var g = f; "
    "while g < 60 { g = g * 1.5 + f32(l); c += 1; } f += 3; } inner = max(inner, c); o += c; } }"
    " outer = max(outer, o); sum += o; } y[0] = f; real[0] = inner; real[1] = outer; real[2] = sum; }",
    // out of two loops at once
    "fn find(x: in f32[8], h: out u32[8], real: out u32[8]) -> f32 { var c = 0u; var d = 0u; "
    "while true { c += 1; for k in 0..u32(x[3] * 2) { d += 1; real[0] = c; real[1] = d; "
    "if d == 11 { return x[k]; } } } return 0; } "
    "main { y[0] = find(x, h, real); }",
};

// A copy of `p` that writes the final counts to `seen`.
static void show_counts(vy_program *p, const vy_counter_vec *counters)
{
    vy_builder *b = vy_rebuild_begin(p);
    uint32_t *map = calloc(p->insts.count, sizeof *map);
    assert_true(b && map);
    const uint32_t seen = vy_program_find_buffer(p, "seen").id;
    for (uint32_t id = 1; id < p->insts.count; id++) vy_copy_inst(b, p, id, map);
    for (uint32_t k = 0; k < counters->count; k++)
        vy_emit(b, VY_OP_STORE, VY_VOID, seen, 2,
                (uint32_t[]){vy_int(b, VY_U32, k).id, vy_map(map, counters->data[k].most)});
    free(map);
    vy_program *fresh = vy_rebuild_end(b);
    assert_non_null(fresh);
    vy_program_replace(p, fresh);
}

static void check_counters(const char *body, bool segmented)
{
    static const int64_t v[3] = {0, 1, 1};
    vy_module *m = parse(body, "u32"), *other = parse(body, "u32");
    vy_program *p = vy_module_program(other, 0);
    uint32_t *hints = NULL;
    vy_counter_vec counters = {0};
    if (segmented) cut(p, &hints, true);
    assert_true(vy_count_loops(p, &hints, &counters));
    for (uint32_t k = 0; k < counters.count; k++) {
        const vy_counter *c = &counters.data[k];
        const vy_op op = (vy_op)p->insts.data[c->loop].op;
        assert_true(op == VY_OP_LOOP || op == VY_OP_WHILE);
        if (c->context) assert_int_equal(p->insts.data[c->context].op, VY_OP_CHECKPOINT);
        assert_int_equal(p->insts.data[c->at].op, VY_OP_CARRY);
        assert_int_equal(vy_arg(p, c->at, 0), c->loop);
    }
    show_counts(p, &counters);
    print_on_failure(p);
    const results want = run(vy_module_program(m, 0), usual, v), got = run(p, usual, v);
    same("counted", body, "u32", v, &want, &got);
    for (uint32_t k = 0; k < ELEMENTS && !segmented; k++)
        if (got.seen[k] != got.real[k])
            fail_msg("counter %u is %u, not %u\n%s", k, got.seen[k], got.real[k], body);
    vy_vec_free(&counters);
    vy_free(hints);
    vy_module_free(other);
    vy_module_free(m);
}

static void counters(void **unused)
{
    (void)unused;
    for (uint32_t k = 0; k < COUNT(counted); k++) {
        check_counters(counted[k], false);
        check_counters(counted[k], true);
    }
}

// ----------------------------------------------------------------------------------------- winners
static const char *const contests[] = {
    "main { var v = x[0]; for k in 1..8u { v = max(v, x[k]); } y[0] = v; }",
    "main { var v = x[0]; for k in 1..8u { v = max(x[k], v); } y[0] = v; }",
    "main { var v = inf; for k in rev(0..8u) { v = min(v, x[k] * x[k] - x[7 - k]); } y[0] = v; }",
    "main { var v = x[0]; for k in 0..8u step 3 { v = min(x[k], v); } y[0] = v; }",
    "main { var v = x[0]; for k in 0..8 { v = max(v, x[k]); if k == 4 { break; } } y[0] = v; }",
    "main { var v = x[0]; for k in 0..8 { if x[k] > 1.6 { break; } v = max(v, x[k]); } y[0] = v; }",
    "main { var v = x[0]; for k in 0..a { v = max(v, x[k]); } y[0] = v; }", // a = 0: no iteration
    "main { var v = x[0]; var w = x[1]; for k in 0..8 { v = max(v, x[k]); w = min(x[k] * 2, w); } "
    "y[0] = v; y[1] = w; }",
    "main { for j in 0..8 { var v = -inf; for k in 0..8 { v = max(v, x[k] - abs(x[j])); } y[j] = v; } }",
    "main { var v = x[0]; for k in 0..8 { var e = 0.0; for j in 0..3 { e += x[k] * x[(k + j) % 8]; } "
    "v = max(v, e); } y[0] = v; }",
    "main { var v = x[0]; for j in 0..2 { for k in 0..4 { v = max(v, x[j * 4 + k]); } } y[0] = v; }",
    "main { var v = x[0]; for j in 0..a { for k in rev(j..5) { v = min(x[j + k], v); } } y[0] = v; }",
    "main { var v = -inf; for j in 0..2 { for k in 0..2 { for t in 0..j + 1 { v = max(x[j + k * 2 + t], "
    "v); } } } y[0] = v; }",
    "main { var v = x[0]; var w = x[1]; for j in 0..2 { for k in 0..4 { v = max(v, x[j * 4 + k]); "
    "w = min(w, x[k]); } w = w * 0.5; } y[0] = v; y[1] = w; }",
    "main { var v = x[0]; var q = 0.0; for j in 0..2 { for k in 0..4 { v = max(v, x[j * 4 + k]); } "
    "q += v; } y[0] = v; y[1] = q; }",
};

static void winner_values(void **unused)
{
    (void)unused;
    static const int64_t v[3] = {0, 1, 1};
    for (uint32_t k = 0; k < COUNT(contests); k++) {
        vy_module *m = parse(contests[k], "u32"), *other = parse(contests[k], "u32");
        const vy_program *p = vy_module_program(m, 0);
        assert_true(vy_has_winner(p));
        const uint32_t before = p->insts.count;
        assert_true(vy_winner(vy_module_program(other, 0), NULL));
        print_on_failure(vy_module_program(other, 0));
        const bool arm = strstr(contests[k], "break; } v") != NULL; // after a break: not an argmax
        assert_true((vy_module_program(other, 0)->insts.count > before) != arm);
        static const float hard[] = {1, 1, 2, -1, NAN, INFINITY, -INFINITY, 0.0f, -0.0f};
        for (uint32_t round = 0; round < 300; round++) {
            float x[ELEMENTS];
            for (uint32_t e = 0; e < ELEMENTS; e++)
                x[e] = round % 3 ? hard[below(round % 3 == 1 ? 4 : COUNT(hard))]
                                 : (float)below(1000) / 100 - 5;
            const results want = run(p, x, v), got = run(vy_module_program(other, 0), x, v);
            for (uint32_t e = 0; e < ELEMENTS; e++) // any NaN is a NaN
                if (!(isnan(want.y[e]) && isnan(got.y[e])) &&
                    memcmp(&want.y[e], &got.y[e], sizeof(float)) != 0)
                    fail_msg("y[%u] = %g, was %g\n%s", e, (double)got.y[e], (double)want.y[e],
                             contests[k]);
        }
        vy_module_free(other);
        vy_module_free(m);
    }
}

static void winner_gradients(void **unused)
{
    (void)unused;
    char text[1000];
    for (uint32_t k = 0; k < COUNT(contests); k++)
        for (uint32_t seed = 1; seed <= 6; seed++) {
            snprintf(text, sizeof text,
                     "program p(x: in f32[8], y: out f32[8], a: u32) over(i: 1) %s",
                     strstr(contests[k], "main") + 4);
            gradcheck c = {.text = text, .seed = seed, .seeded = seed % 2};
            c.scalars[0] = (gradcheck_scalar){.name = "a", .value = k % 2 ? 5 : 0};
            c.step = 1e-5;
            const char *wrong = gradcheck_run(&c);
            if (wrong) fail_msg("%s\n%s", wrong, text);
        }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(segments),         cmocka_unit_test(squares),
        cmocka_unit_test(counters),         cmocka_unit_test(winner_values),
        cmocka_unit_test(winner_gradients),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
