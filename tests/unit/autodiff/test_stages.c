// SPDX-License-Identifier: MIT
// test_stages.c: one program of a result becomes several (autodiff/stages/stages.c): what the
// pipeline looks like, and that it computes what its steps say.
#include "autodiff/grad.h"
#include "autodiff/stages/stages.h"
#include "tests/unit/eval_util.h"
#include "ir/build/edit.h"

#include <stdio.h>
#include <stdlib.h>

// Twice the square root of the sum of two squares, in one program and in two that pass `sum` on.
#define PARAMETERS "x: in f32[N], y: in f32[?], out: out f32[N], N: u32"
static const char whole[] =
    "program f_grad(" PARAMETERS ") over(i: N) { out[i] = 2 * sqrt(x[i] * x[i] + y[i] * y[i]); }\n";
static const char stages[] =
    "program f_squares(x: in f32[N], y: in f32[?], @workspace own: inout f32[N],\n"
    "    @workspace @init(x) begun: inout f32[N], @workspace sum: inout f32[N, 2], N: u32) over(i: N) {\n"
    "    own[i] = y[i]; sum[i, 1] = own[i] * y[i]; begun[i] *= x[i]; }\n"
    "program f_root(@workspace sum: inout f32[N, 2], @workspace begun: inout f32[N],\n"
    "    out: out f32[N], N: u32) over(i: N) { out[i] = sqrt(sum[i, 1] + begun[i]); }\n"
    "program f_double(out: inout f32[N], N: u32) over(i: N) { out[i] = 2 * out[i]; }\n";

static vy_module *parse(const char *text)
{
    vy_module *m = vy_parse(text, strlen(text), "stages");
    assert_non_null(m);
    if (!vy_module_ok(m)) fail_msg("%s\n%s", vy_module_diag(m)->text, text);
    return m;
}

// Parameters of p that have a name that q has, too, are the same.
static void link_as(vy_program *p, const vy_program *q)
{
    for (uint32_t i = 1; i < p->buffers.count; i++) {
        vy_buf *b = &p->buffers.data[i];
        const uint32_t same = vy_program_find_buffer(q, b->name).id;
        if (same) b->link = q->buffers.data[same].link;
    }
    for (uint32_t i = 0; i < p->scalars.count; i++) {
        vy_scalar_param *s = &p->scalars.data[i];
        const uint32_t same = vy_program_find_scalar(q, s->name);
        if (same != UINT32_MAX) s->link = q->scalars.data[same].link;
    }
}

// The programs of `text`, for `m`.
static uint32_t linked_stages(vy_module *m, const char *text, vy_program *list[3])
{
    vy_module *from = parse(text);
    uint32_t n = vy_module_program_count(from);
    assert_true(n <= 3);
    for (uint32_t i = 0; i < n; i++) {
        list[i] = vy_program_clone(vy_module_program(from, i), m);
        assert_non_null(list[i]);
        link_as(list[i], vy_module_find(m, "f_grad"));
        for (uint32_t k = i; k-- > 0;) link_as(list[i], list[k]);
    }
    vy_module_free(from);
    return n;
}

// Replaces program f_grad of `m` by the programs of `text`.
static bool replace(vy_module *m, const char *text)
{
    vy_program *list[3];
    const uint32_t n = linked_stages(m, text, list);
    return vy_stages_replace(m, vy_module_find(m, "f_grad"), list, n);
}

static void run(const vy_module *m, const char *pipeline, float *x, float *y, float *out)
{
    static const uint64_t three = 3;
    const vy_eval_buffer buffers[] = {{"x", x, &three, 1},
                                      {"y", y, &three, 1},
                                      {"out", out, &three, 1}};
    const vy_eval_options options = {.max_steps = 100000};
    vy_diag d;
    const vy_pipeline *l = vy_module_find_pipeline(m, pipeline);
    assert_non_null(l);
    if (!vy_eval_pipeline(l, buffers, 3, NULL, 0, &options, NULL, &d))
        fail_msg("%s [%s]", d.text, d.code);
}

static void expect_text(const vy_module *m, const char *part)
{
    char *text = vy_print(m, NULL);
    assert_non_null(text);
    if (!strstr(text, part)) fail_msg("no\n%s\nin\n%s", part, text);
    vy_module *again = parse(text); // and the text is valid
    vy_module_free(again);
    free(text);
}

static void check_values(const vy_module *m, const char *pipeline)
{
    float x[3] = {3, 5, 8}, y[3] = {4, 12, 15}, out[3] = {7, 7, 7};
    run(m, pipeline, x, y, out);
    assert_true(out[0] == 10 && out[1] == 26 && out[2] == 34);
}

static void test_alone(void **state)
{
    (void)state;
    vy_module *m = parse(whole);
    assert_true(replace(m, stages));
    assert_null(vy_module_find(m, "f_grad"));
    expect_text(m, "pipeline f_grad(x: in f32[N], y: in f32[?], out: out f32[N], N: u32) {\n"
                   "    @init(x) buffer begun: f32[N];\n"
                   "    buffer sum: f32[N, 2];\n"
                   "    f_squares(x, y, begun, sum);\n"
                   "    f_root(sum, begun, out);\n"
                   "    f_double(out);\n"
                   "}\n");
    check_values(m, "f_grad");
    vy_module_free(m);
}

// In pipelines: twice, in a repeat, with a value read after it, beside a buffer that is called
// `sum`.
static void test_in_pipelines(void **state)
{
    (void)state;
    static const char rest[] =
        "program count(n: inout u32[1], x: in f32[N], N: u32) over(i: N) { atomic_add(n[0], 1); }\n"
        "program copy(x: in f32[K], out: out f32[K], K: u32) over(i: K) { out[i] = x[i]; }\n"
        "pipeline twice(x: in f32[M], y: in f32[?], out: out f32[M], M: u32) {\n"
        "    buffer sum: u32[1];\n"
        "    buffer part: f32[M];\n"
        "    f_grad(x, y, part);\n"
        "    repeat t in 0..2 { f_grad(x, y, part); count(sum, part); }\n"
        "    buffer result: f32[value(sum[0]) / 2];\n"
        "    f_grad(x, y, result);\n"
        "    copy(result, out);\n"
        "}\n";
    char text[2000];
    snprintf(text, sizeof text, "%s%s", whole, rest);
    vy_module *m = parse(text);
    assert_true(replace(m, stages));
    expect_text(m, "        @init(x) buffer begun2: f32[M];\n"
                   "        buffer sum3: f32[M, 2];\n"
                   "        f_squares(x, y, begun2, sum3);\n");
    expect_text(m, "    buffer result: f32[value(sum[0]) / 2];\n");
    check_values(m, "twice");
    vy_module_free(m);
}

static void rename_buffer(vy_program *p, const char *name, const char *as)
{
    p->buffers.data[vy_program_find_buffer(p, name).id].name = as;
    vy_names_drop(p);
}

// Names tell nothing: `sum` and `out` have other ones in the stages behind, and those of a third.
static void test_links(void **state)
{
    (void)state;
    vy_module *m = parse(whole);
    vy_program *list[3];
    const uint32_t n = linked_stages(m, stages, list);
    rename_buffer(list[1], "sum", "own");
    rename_buffer(list[1], "out", "y");
    rename_buffer(list[2], "out", "begun");
    assert_true(vy_stages_replace(m, vy_module_find(m, "f_grad"), list, n));
    expect_text(m, "    f_squares(x, y, begun, sum);\n"
                   "    f_root(sum, begun, out);\n"
                   "    f_double(out);\n");
    check_values(m, "f_grad");
    vy_module_free(m);
}

static void test_names(void **state)
{
    (void)state;
    vy_module *m = parse(whole);
    vy_program *p = vy_module_find(m, "f_grad");
    assert_string_equal(vy_stage_name(m, p, "sum"), "f_grad_sum");
    p->stem = "f"; // as a derivative of f has it
    assert_string_equal(vy_stage_name(m, p, "gather_x"), "f_gather_x");
    assert_string_equal(vy_stage_name(m, p, "grad"), "f_grad2");
    vy_module_free(m);
}

// A stage with a scalar that nothing determines is refused.
static void test_unknown_scalar(void **state)
{
    (void)state;
    vy_module *m = parse(whole);
    assert_false(replace(
        m, "program f_other(out: out f32[N], @workspace w: inout f32[K], N: u32, K: u32) over(i: N)"
           " { if i == 0 { w[0] = 1; } out[i] = w[0]; }\n"));
    assert_string_equal(vy_module_diag(m)->code, "E0322");
    vy_module_free(m);
}

// A dispatch clears its `out` buffers: no stage may do so to what an earlier one wrote.
static void test_clears(void **state)
{
    (void)state;
    static const char *const lost[] = {
        "program f_first(x: in f32[N], out: out f32[N], N: u32) over(i: N) { out[i] = x[i]; }\n"
        "program f_second(y: in f32[?], out: out f32[N], N: u32) over(i: N) { out[i] = y[i]; }\n",
        "program f_first(x: in f32[N], out: out f32[N], N: u32) over(i: N) { out[i] = x[i]; }\n"
        "program f_second(out: out f32[N], @workspace w: inout f32[N], N: u32) over(i: N) { w[i] = 1; }\n"};
    for (uint32_t k = 0; k < COUNT(lost); k++) {
        vy_module *m = parse(whole);
        assert_false(replace(m, lost[k]));
        const vy_diag *d = vy_module_diag(m);
        assert_non_null(d);
        assert_string_equal(d->code, "E0301");
        assert_non_null(strstr(d->text, "stage `f_second` clears `out`, which `f_first` writes"));
        vy_module_free(m);
    }
}

// Versions of a program, of which each launch runs one: the second writes nothing, and clears for
// itself what the first would write.
static void test_versions(void **state)
{
    (void)state;
    static const char text[] =
        "program f_some(x: in f32[N], out: out f32[N], N: u32) over(i: N) { out[i] = x[i]; }\n"
        "program f_none(x: in f32[N], out: out f32[N], N: u32) over(i: N) { }\n";
    for (int64_t first = 0; first < 2; first++) {
        vy_module *m = parse(whole);
        vy_program *list[3], *p = vy_module_find(m, "f_grad");
        assert_int_equal(linked_stages(m, text, list), 2);
        vy_dim holds[2];
        for (uint32_t k = 0; k < 2; k++) {
            const vy_dim_node n = {.op = VY_DIM_CONST, .value = k == 0 ? first : 1 - first};
            assert_true(vy_vec_push(&p->dims, n));
            holds[k].id = p->dims.count - 1;
        }
        assert_true(vy_stages_replace_by_one(m, p, list, holds, 2));
        float x[] = {3, 5, 8}, y[] = {4, 12, 15}, out[] = {7, 7, 7};
        run(m, "f_grad", x, y, out);
        for (uint32_t i = 0; i < 3; i++) assert_float_equal(out[i], first ? x[i] : 0, 0);
        vy_module_free(m);
    }
}

// A tape has elements of one invocation for each program that records on it.  A program that gathers
// has another domain, and reads those of others: what differentiates it must not add plainly.
static void test_whose_elements(void **state)
{
    (void)state;
    static const char text[] =
        "program f(x: in f32[N, 9], k: in f32[M, 9], y: out f32[N], N: u32, M: u32) over(i: N) {\n"
        "    local a: f32[9]; for c in 0..9 { a[c] = 2.0 * x[i, c]; } a[0] += 1.0; var s = 0.0;\n"
        "    for j in 0..M { for c in 0..9 { s += a[c] * k[j, c]; } }\n"
        "    if x[i, 1] < 2.0 { a[1] = 0.0; } y[i] = s - a[0] + a[1]; }\n";
    vy_module *m = parse(text);
    vy_diag d;
    vy_module *grad = vy_grad(m, NULL, &d);
    if (!grad) fail_msg("%s", d.text);
    uint32_t own = 0, read = 0;
    for (uint32_t k = 0; k < grad->programs.count; k++)
        for (uint32_t i = 1; i < grad->programs.data[k]->buffers.count; i++) {
            const vy_buf *b = &grad->programs.data[k]->buffers.data[i];
            if (b->made != VY_MADE_TAPE) continue;
            own += b->owned;
            read += grad->programs.data[k]->gathers;
            assert_false(b->owned && grad->programs.data[k]->gathers);
        }
    assert_true(own > 0 && read > 0);
    vy_module_free(grad);
    vy_module_free(m);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_alone),          cmocka_unit_test(test_in_pipelines),
        cmocka_unit_test(test_links),          cmocka_unit_test(test_names),
        cmocka_unit_test(test_unknown_scalar), cmocka_unit_test(test_clears),
        cmocka_unit_test(test_versions),       cmocka_unit_test(test_whose_elements),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
