// SPDX-License-Identifier: MIT
// test_pipeline.c: pipelines: builder, inference of scalars, checker, binary form, allocations that
// fail.
#include "tests/unit/eval_util.h"
#include "ir/binary/binary.h"
#include "ir/core/pipe.h"
#include "tests/unit/failing.h"

#include <stdio.h>
#include <stdlib.h>

static const char programs[] =
    "program mm(a: in f32[M, K], b: in f32[K, N], c: out f32[M, N], M: u32, N: u32, K: u32)\n"
    "    over(i: M, j: N) { c[i, j] = a[i, 0] * b[0, j]; }\n"
    "program axpy(x: in f32[N], y: inout f32[N], N: u32, s: f32, on: bool, k: i32) over(i: N)\n"
    "{ if on { y[i] += s * x[i] * f32(k); } }\n"
    "program count(x: in f32[?], n: inout u32[2]) { if gid.x < len(x) { atomic_add(n[0], 1u); } }\n"
    "program copy(x: in f32[N], y: out f32[N], N: u32) over(i: N) { y[i] = x[i]; }\n"
    "program more(n: inout i32[1]) over(i: 1) { n[0] += 1; }\n";

static const char rich[] =
    "pipeline rich(x: in f32[A, B], w: in f32[B, C], f: in f32[?], u: inout f32[T, A, C],\n"
    "    y: out f32[A, C], n: inout u32[2], A: u32, B: u32, C: u32, T: u32, lr: f32, go: bool) {\n"
    "    mm(x, w, y);\n"
    "    @groups(len(f) / 64 + 1, 2) count(f, n);\n"
    "    let k = value(n[value(n[1])]);\n"
    "    buffer tape: f32[k, value(n[0]) + k];\n"
    "    @init(ones) buffer one: f32[A, C];\n"
    "    @init(one) buffer two: f32[A, C];\n"
    "    repeat t in 1..T checkpoint(revolve, 3) {\n"
    "        buffer h: f32[A, C];\n"
    "        axpy(u[t - 1, 0], u[t, 0], s=lr, on=go, k=t * 2 - 7);\n"
    "        repeat s in 0..A checkpoint(sqrt) { axpy(two[s], h[s], s=-nan, on=true, k=-1); }\n"
    "        checkpoint { buffer g: f32[C]; copy(h[0], g); copy(g, u[t, A - 1]); }\n"
    "    }\n"
    "    repeat t in 0..min(T, k) checkpoint(4) { buffer h: f32[A, C]; copy(h[t], y[0]); }\n"
    "    var j = 2;\n"
    "    while { let m = value(n[0]); m * m > j && value(x[0, 0]) + lr < 3 } checkpoint(k) {\n"
    "        copy(two[0], y[0]);\n"
    "        j += 1;\n"
    "        while value(n[1]) { buffer h: f32[A, C]; copy(h[j], y[0]); }\n"
    "    }\n"
    "    if j == 1 { copy(two[0], y[0]); } else { j = k; }\n"
    "}\n"
    "pipeline base(x: in f32[A, B], y: out f32[A, B], A: u32, B: u32) { copy(x[0], y[0]); }\n"
    "@derive_as(base) pipeline other(x: in f32[A, B], y: out f32[A, B], A: u32, B: u32) { }\n";

static vy_module *parse2(const char *a, const char *b)
{
    char *text = malloc(strlen(a) + strlen(b) + 1);
    strcpy(text, a);
    strcat(text, b);
    vy_module *m = vy_parse(text, strlen(text), "pipeline");
    free(text);
    assert_non_null(m);
    return m;
}

static vy_module *make_rich(void)
{
    vy_module *m = parse2(programs, rich);
    if (!vy_module_ok(m)) fail_msg("%s", vy_module_diag(m)->text);
    return m;
}

static void expect(vy_module *m, const char *code)
{
    const vy_diag *d = vy_module_diag(m);
    if (d->severity != VY_ERROR) fail_msg("expected %s, nothing was reported", code);
    if (strcmp(d->code, code) != 0) fail_msg("expected %s, got %s: %s", code, d->code, d->text);
    assert_true(d->fix[0] != 0 && d->text[0] != 0);
    vy_module_free(m);
}

// --------------------------------------------------------------------------------- through the API
typedef struct built {
    vy_module *m;
    vy_pipe *q;
    vy_builder *b;
    vy_dim n, t;
    vy_buffer x, y, u;
    const vy_program *copy, *axpy, *count;
} built;

// x: in f32[N], y: out f32[N], u: inout f32[T, N]
static built begin_pipe(void)
{
    built t = {.m = parse2(programs, "")};
    t.copy = vy_module_find(t.m, "copy");
    t.axpy = vy_module_find(t.m, "axpy");
    t.count = vy_module_find(t.m, "count");
    t.q = vy_pipeline_begin(t.m, "pipe");
    t.b = vy_pipeline_params(t.q);
    t.n = vy_dim_value(t.b, vy_param_scalar(t.b, "N", VY_U32));
    t.t = vy_dim_value(t.b, vy_param_scalar(t.b, "T", VY_U32));
    t.x = vy_param_buffer(t.b, "x", VY_IN, VY_F32, 1, &t.n);
    t.y = vy_param_buffer(t.b, "y", VY_OUT, VY_F32, 1, &t.n);
    t.u = vy_param_buffer(t.b, "u", VY_INOUT, VY_F32, 2, (vy_dim[]){t.t, t.n});
    return t;
}

static vy_pipe_arg whole(vy_buffer b) { return (vy_pipe_arg){.buffer = b}; }
static vy_pipe_arg slice(vy_buffer b, const vy_dim *index)
{
    return (vy_pipe_arg){.buffer = b, .rank = 1, .index = index};
}

static void dispatch2(built *t, const vy_program *p, vy_pipe_arg a, vy_pipe_arg b)
{
    vy_pipeline_dispatch(t->q, p, 2, (vy_pipe_arg[]){a, b}, 0, NULL, NULL);
}

static void end_fails(built *t, const char *code)
{
    assert_null(vy_pipeline_end(t->q));
    assert_int_equal(vy_module_pipeline_count(t->m), 0);
    expect(t->m, code);
}

static void test_build(void **state)
{
    (void)state;
    built t = begin_pipe();
    vy_buffer h = vy_pipeline_buffer(t.q, "h", VY_F32, 1, &t.n);
    dispatch2(&t, t.copy, whole(t.x), whole(h));
    vy_dim k = vy_pipeline_repeat(t.q, "k", vy_dim_const(t.b, 0), t.t, VY_KEEP_SQRT, (vy_dim){0});
    const vy_pipe_scalar given[] = {{.name = "k", .kind = VY_PIPE_DIM, .dim = k},
                                    {.name = "on", .kind = VY_PIPE_CONST, .value.u = 1},
                                    {.name = "s", .kind = VY_PIPE_CONST, .value.f = 0.5}};
    vy_pipeline_dispatch(t.q, t.axpy, 2, (vy_pipe_arg[]){whole(h), slice(t.u, &k)}, 3, given, NULL);
    vy_pipeline_close(t.q);
    vy_pipeline *l = vy_pipeline_end(t.q);
    if (!l) fail_msg("%s", vy_module_diag(t.m)->text);
    assert_ptr_equal(vy_module_find_pipeline(t.m, "pipe"), l);
    assert_ptr_equal(vy_module_pipeline(t.m, 0), l);
    assert_null(vy_module_pipeline(t.m, 1));
    assert_int_equal(vy_module_pipeline_count(t.m), 1);
    assert_ptr_equal(vy_pipeline_module(l), t.m);
    assert_string_equal(vy_pipeline_name(l), "pipe");
    assert_int_equal(vy_pipeline_step_count(l), 5);
    const vy_pipe_step *s = vy_pipeline_step(l, 3);
    assert_null(vy_pipeline_step(l, 5));
    assert_int_equal(s->kind, VY_PIPE_DISPATCH);
    assert_string_equal(s->scalars[0].name, "N");
    assert_int_equal(s->scalars[0].kind, VY_PIPE_DIM); // inferred
    assert_int_equal(vy_program_dim_scalar(vy_pipeline_signature(l), s->scalars[0].dim), 0);
    assert_true(s->scalars[1].value.f == 0.5);
    assert_int_equal(s->scalars[3].dim.id, k.id);
    assert_int_equal(vy_pipeline_step(l, 2)->partner, 4);
    assert_int_equal(vy_pipeline_step(l, 4)->partner, 2);
    // A value known only while the pipeline runs.
    int64_t values[32], scalars[2] = {5, 7};
    vy_dim_state states[32];
    assert_true(vy_program_dim_count(vy_pipeline_signature(l)) < 32);
    vy_program_dim_values(vy_pipeline_signature(l), scalars, (bool[]){true, true}, NULL, NULL,
                          values, states);
    assert_int_equal(states[k.id], VY_DIM_IS_OPEN);
    assert_int_equal(values[t.t.id], 7);
    assert_true(vy_module_check(t.m));
    assert_true(vy_optimize(t.m, NULL));
    assert_int_equal(vy_pipeline_step_count(l), 5);
    vy_module_free(t.m);
}

static const char inners[] =
    "pipeline blend(a: in f32[N], b: inout f32[N], N: u32, T: u32, s: f32) {\n"
    "    buffer h: f32[2, N];\n    copy(a, h[T % 2]);\n"
    "    repeat t in 0..T { axpy(h[t % 2], b, s=s, on=true, k=t); }\n}\n"
    "pipeline counts(x: in f32[?], n: inout u32[2]) { @groups(num_groups.x) count(x, n); }\n";

// The pipeline of begin_pipe in a module that has these.
static built begin_outer(const vy_pipeline **blend, const vy_pipeline **counts)
{
    built t = {.m = parse2(programs, inners)};
    if (!vy_module_ok(t.m)) fail_msg("%s", vy_module_diag(t.m)->text);
    *blend = vy_module_find_pipeline(t.m, "blend");
    *counts = vy_module_find_pipeline(t.m, "counts");
    t.q = vy_pipeline_begin(t.m, "pipe");
    t.b = vy_pipeline_params(t.q);
    t.n = vy_dim_value(t.b, vy_param_scalar(t.b, "N", VY_U32));
    t.t = vy_dim_value(t.b, vy_param_scalar(t.b, "T", VY_U32));
    t.x = vy_param_buffer(t.b, "x", VY_IN, VY_F32, 1, &t.n);
    t.u = vy_param_buffer(t.b, "u", VY_INOUT, VY_F32, 2, (vy_dim[]){t.t, t.n});
    t.y = vy_param_buffer(t.b, "n", VY_INOUT, VY_U32, 1, (vy_dim[]){vy_dim_const(t.b, 2)});
    return t;
}

static void call(built *t, const vy_pipeline *p, vy_pipe_arg a, vy_pipe_arg b, vy_dim last,
                 const vy_dim *groups)
{
    const vy_pipe_scalar given[] = {{.name = "s", .kind = VY_PIPE_CONST, .value.f = 0.5},
                                    {.name = "T", .kind = VY_PIPE_DIM, .dim = last}};
    vy_pipeline_call(t->q, p, 2, (vy_pipe_arg[]){a, b}, last.id ? 2 : 0, given, groups);
}

// Calls through the API are those of the text.
static void test_call(void **state)
{
    (void)state;
    static const char outer[] =
        "pipeline pipe(x: in f32[N], u: inout f32[T, N], n: inout u32[2], N: u32, T: u32) {\n"
        "    blend(x, u[0], T=3, s=0.5);\n"
        "    repeat k in 1..T { blend(u[k - 1], u[k], T=k, s=0.5); }\n"
        "    @groups(T) counts(x, n);\n}\n";
    const vy_pipeline *blend, *counts;
    const vy_dim none = {0};
    built t = begin_outer(&blend, &counts);
    const vy_dim zero = vy_dim_const(t.b, 0), one = vy_dim_const(t.b, 1);
    call(&t, blend, whole(t.x), slice(t.u, &zero), vy_dim_const(t.b, 3), NULL);
    const vy_dim k = vy_pipeline_repeat(t.q, "k", one, t.t, VY_KEEP_ALL, none);
    const vy_dim before = vy_dim_binary(t.b, VY_DIM_SUB, k, one);
    call(&t, blend, slice(t.u, &before), slice(t.u, &k), k, NULL);
    vy_pipeline_close(t.q);
    call(&t, counts, whole(t.x), whole(t.y), none, (vy_dim[]){t.t, one, one});
    const vy_pipeline *l = vy_pipeline_end(t.q);
    if (!l) fail_msg("%s", vy_module_diag(t.m)->text);
    char text[sizeof inners + sizeof outer];
    snprintf(text, sizeof text, "%s%s", inners, outer);
    vy_module *m = parse2(programs, text);
    if (!vy_module_ok(m)) fail_msg("%s", vy_module_diag(m)->text);
    assert_true(vy_module_equal(t.m, m));
    assert_int_equal(vy_pipeline_step_count(l), 13);
    assert_true(vy_program_find_buffer(vy_pipeline_signature(l), "blend_h").id > 0);
    assert_true(vy_program_find_buffer(vy_pipeline_signature(l), "blend_h_2").id > 0);
    vy_module_free(m);
    vy_module_free(t.m);
}

static void call_fails(built *t, const char *code)
{
    assert_null(vy_pipeline_end(t->q));
    assert_int_equal(vy_module_pipeline_count(t->m), 2);
    expect(t->m, code);
}

static void test_call_errors(void **state)
{
    (void)state;
    const vy_pipeline *blend, *counts;
    const vy_dim none = {0};
    built t = begin_outer(&blend, &counts);
    vy_dim zero;
    call(&t, NULL, whole(t.x), whole(t.y), none, NULL); // of no module
    call_fails(&t, "E0003");
    t = begin_outer(&blend, &counts);
    zero = vy_dim_const(t.b, 0);
    call(&t, blend, whole(t.x), whole(t.u), zero, NULL); // of another rank
    call_fails(&t, "E0321");
    t = begin_outer(&blend, &counts);
    zero = vy_dim_const(t.b, 0);
    call(&t, blend, whole(t.x), slice(t.u, &zero), none, NULL); // T is not given
    call_fails(&t, "E0322");
    t = begin_outer(&blend, &counts);
    zero = vy_dim_const(t.b, 0);
    call(&t, blend, slice(t.u, &zero), slice(t.u, &zero), t.t, NULL);
    call_fails(&t, "E0324");
    t = begin_outer(&blend, &counts);
    call(&t, counts, whole(t.x), whole(t.y), none, NULL); // groups are not given
    call_fails(&t, "E0325");
    t = begin_outer(&blend, &counts);
    zero = vy_dim_const(t.b, 0);
    call(&t, counts, whole(t.x), whole(t.y), none, (vy_dim[]){zero, zero, zero});
    call_fails(&t, "E0325");
    t = begin_outer(&blend, &counts);
    call(&t, counts, whole(t.x), whole((vy_buffer){99}), none, NULL); // no such buffer
    call_fails(&t, "E0003");
    vy_pipeline_call(NULL, blend, 0, NULL, 0, NULL, NULL);
}

// What is differentiated in the place of a pipeline is named; it may be built later.
static void test_derive_as(void **state)
{
    (void)state;
    built t = begin_pipe();
    vy_pipeline_derive_as(t.q, "other");
    dispatch2(&t, t.copy, whole(t.x), whole(t.y));
    assert_non_null(vy_pipeline_end(t.q));
    assert_false(vy_module_check(t.m));
    expect(t.m, "E0220");
    t = begin_pipe();
    vy_pipeline_derive_as(t.q, "no\nname");
    end_fails(&t, "E0003");
    vy_pipeline_derive_as(NULL, "other");
}

// What calls one in whose place another one is differentiated gets such a one, before it.
static void test_call_derived_as(void **state)
{
    (void)state;
    vy_module *m =
        parse2(programs, "pipeline plain(x: in f32[N], y: out f32[N], N: u32) {"
                         " buffer h: f32[N]; copy(x, h); copy(h, y); }\n"
                         "@derive_as(plain) pipeline clever(x: in f32[N], y: out f32[N], N: u32)"
                         " { copy(x, y); }\n");
    assert_true(vy_module_ok(m));
    vy_pipe *q = vy_pipeline_begin(m, "outer");
    vy_builder *b = vy_pipeline_params(q);
    const vy_dim n = vy_dim_value(b, vy_param_scalar(b, "N", VY_U32));
    const vy_pipe_arg args[] = {whole(vy_param_buffer(b, "x", VY_IN, VY_F32, 1, &n)),
                                whole(vy_param_buffer(b, "y", VY_OUT, VY_F32, 1, &n))};
    vy_pipeline_call(q, vy_module_pipeline(m, 1), 2, args, 0, NULL, NULL);
    const vy_pipe_arg h = whole(vy_pipeline_buffer(q, "h", VY_F32, 1, &n));
    vy_pipeline_call(q, vy_module_pipeline(m, 1), 2, (vy_pipe_arg[]){args[0], h}, 0, NULL, NULL);
    const vy_pipeline *l = vy_pipeline_end(q);
    assert_non_null(l);
    assert_int_equal(vy_module_pipeline_count(m), 4);
    assert_string_equal(vy_pipeline_name(vy_module_pipeline(m, 2)), "outer_plain");
    assert_ptr_equal(vy_module_pipeline(m, 3), l);
    assert_true(vy_module_check(m));
    char *text = vy_print(m, NULL);
    vy_module *read = vy_parse(text, strlen(text), "pipeline"); // intermediates are in order
    assert_true(read && vy_module_ok(read) && vy_module_equal(m, read));
    free(text);
    vy_module_free(read);
    vy_module_free(m);
}

static void test_api_errors(void **state)
{
    (void)state;
    built t = begin_pipe();
    vy_pipeline_close(t.q); // nothing is open
    end_fails(&t, "E0003");
    t = begin_pipe();
    vy_pipeline_checkpoint(t.q);
    end_fails(&t, "E0003");
    t = begin_pipe();
    dispatch2(&t, NULL, whole(t.x), whole(t.y)); // no program of this module
    end_fails(&t, "E0003");
    t = begin_pipe();
    dispatch2(&t, t.copy, whole(t.x), whole((vy_buffer){77}));
    end_fails(&t, "E0003");
    t = begin_pipe();
    vy_pipeline_repeat(t.q, "k", (vy_dim){0}, t.t, VY_KEEP_ALL, (vy_dim){0});
    end_fails(&t, "E0003");
    t = begin_pipe();
    vy_over(t.b, "i", t.n);
    end_fails(&t, "E0003");
    t = begin_pipe();
    vy_pipeline_value(t.q, (vy_buffer){0}, &t.n);
    end_fails(&t, "E0003");
    t = begin_pipe();
    const vy_pipe_scalar given[] = {{.name = "s", .kind = VY_PIPE_CONST},
                                    {.name = "on", .kind = VY_PIPE_CONST},
                                    {.name = "k", .kind = VY_PIPE_PARAM, .scalar = 9}};
    vy_pipeline_dispatch(t.q, t.axpy, 2, (vy_pipe_arg[]){whole(t.x), slice(t.u, &t.n)}, 3, given,
                         NULL);
    end_fails(&t, "E0003");
    t = begin_pipe();
    vy_pipeline_buffer(t.q, "x", VY_F32, 1, &t.n);
    end_fails(&t, "E0305");
    t = begin_pipe();
    vy_pipeline_buffer(t.q, "h", VY_F32, 0, &t.n);
    end_fails(&t, "E0002");
    t = begin_pipe();
    for (int i = 0; i < 1001; i++) vy_pipeline_checkpoint(t.q);
    end_fails(&t, "E0002");
    t = begin_pipe();
    vy_pipeline_buffer(t.q, "h", VY_F32, 1, &t.n);
    vy_param_buffer(t.b, "late", VY_IN, VY_F32, 1, &t.n);
    end_fails(&t, "E0301");
    t = begin_pipe();
    vy_buffer_init(t.b, t.y, VY_INIT_ONES, NULL);
    end_fails(&t, "E0106");
    t = begin_pipe();
    vy_pipeline_test(t.q, t.n); // in no `while`
    end_fails(&t, "E0003");
    t = begin_pipe();
    vy_pipeline_while(t.q, VY_KEEP_ALL, (vy_dim){0});
    vy_pipeline_close(t.q); // without a test
    end_fails(&t, "E0003");
    t = begin_pipe();
    vy_pipeline_while(t.q, VY_KEEP_ALL, (vy_dim){0});
    vy_pipeline_test(t.q, t.n);
    vy_pipeline_test(t.q, t.n);
    end_fails(&t, "E0003");
    t = begin_pipe();
    vy_pipeline_while(t.q, VY_KEEP_ALL, (vy_dim){0});
    vy_pipeline_checkpoint(t.q);
    vy_pipeline_test(t.q, t.n); // not directly in it
    end_fails(&t, "E0003");
    t = begin_pipe();
    vy_pipeline_while(t.q, VY_KEEP_ALL, (vy_dim){0});
    vy_pipeline_test(t.q, (vy_dim){99});
    end_fails(&t, "E0003");
    t = begin_pipe();
    vy_pipeline_abandon(t.q);
    vy_pipeline_abandon(NULL);
    assert_null(vy_pipeline_end(NULL));
    assert_true(vy_module_ok(t.m));
    vy_module_free(t.m);
}

// i = 0; while (u[0, i] exists && i < 3) y = u[i], i += 1; if i >= T, y = x.
static void test_while(void **state)
{
    (void)state;
    for (uint32_t rows = 1; rows <= 4; rows++) {
        built t = begin_pipe();
        const vy_dim zero = vy_dim_const(t.b, 0), one = vy_dim_const(t.b, 1),
                     three = vy_dim_const(t.b, 3);
        const vy_buffer i = vy_pipeline_buffer(t.q, "i", VY_I32, 1, &one);
        const vy_program *more = vy_module_find(t.m, "more");
        dispatch2(&t, t.copy, whole(t.x), whole(t.y));
        vy_pipeline_while(t.q, VY_KEEP_ALL, (vy_dim){0});
        const vy_dim now = vy_pipeline_value(t.q, i, &zero);
        vy_pipeline_test(t.q, vy_dim_binary(t.b, VY_DIM_MIN, vy_dim_less(t.b, now, t.t),
                                            vy_dim_not(t.b, vy_dim_less(t.b, three, now))));
        dispatch2(&t, t.copy, slice(t.u, &now), whole(t.y));
        vy_pipeline_dispatch(t.q, more, 1, (vy_pipe_arg[]){whole(i)}, 0, NULL, NULL);
        vy_pipeline_close(t.q);
        const vy_dim end = vy_pipeline_value(t.q, i, &zero);
        vy_pipeline_repeat(t.q, "then", zero, vy_dim_differ(t.b, end, three), VY_KEEP_ALL,
                           (vy_dim){0});
        dispatch2(&t, t.copy, whole(t.x), whole(t.y));
        vy_pipeline_close(t.q);
        const vy_pipeline *p = vy_pipeline_end(t.q);
        if (!p) fail_msg("%s", vy_module_diag(t.m)->text);
        float x[1] = {7}, y[1], u[4] = {1, 2, 3, 4};
        const vy_eval_buffer buffers[] = {{"x", x, (uint64_t[]){1}, 1},
                                          {"y", y, (uint64_t[]){1}, 1},
                                          {"u", u, (uint64_t[]){rows, 1}, 2}};
        vy_diag d;
        if (!vy_eval_pipeline(p, buffers, 3, NULL, 0, NULL, NULL, &d)) fail_msg("%s", d.text);
        assert_true(y[0] == (rows == 3 ? 3 : 7));
        vy_module_free(t.m);
    }
}

// Counters, values and buffers used outside of their scope.
static void test_order(void **state)
{
    (void)state;
    vy_dim zero = {0};
    built t = begin_pipe();
    vy_dim k = vy_pipeline_repeat(t.q, "k", vy_dim_const(t.b, 0), t.t, VY_KEEP_ALL, zero);
    vy_pipeline_close(t.q);
    vy_pipeline_repeat(t.q, "j", k, t.t, VY_KEEP_ALL, zero); // after its repeat
    vy_pipeline_close(t.q);
    end_fails(&t, "E0326");
    t = begin_pipe();
    vy_buffer i = vy_param_buffer(t.b, "i", VY_IN, VY_U32, 1, &t.n);
    vy_pipeline_checkpoint(t.q);
    k = vy_pipeline_value(t.q, i, (vy_dim[]){vy_dim_const(t.b, 0)});
    vy_pipeline_close(t.q);
    k = vy_dim_binary(t.b, VY_DIM_ADD, k, t.n);
    vy_pipeline_buffer(t.q, "h", VY_F32, 1, &k); // after its block
    end_fails(&t, "E0326");
    t = begin_pipe();
    vy_pipeline_checkpoint(t.q);
    vy_buffer h = vy_pipeline_buffer(t.q, "h", VY_F32, 1, &t.n);
    vy_pipeline_close(t.q);
    dispatch2(&t, t.copy, whole(t.x), whole(h));
    end_fails(&t, "E0326");
    t = begin_pipe();
    vy_dim any = vy_dim_unknown(t.b); // a length that nothing determines
    vy_pipeline_buffer(t.q, "h", VY_F32, 1, &any);
    end_fails(&t, "E0326");
    t = begin_pipe();
    vy_pipeline_repeat(t.q, "k", t.n, t.t, VY_KEEP_EVERY, vy_dim_const(t.b, 0));
    vy_pipeline_close(t.q);
    end_fails(&t, "E0327");
}

// ----------------------------------------------------------------------------------- text and back
static void test_round_trip(void **state)
{
    (void)state;
    vy_module *a = make_rich();
    size_t size, again;
    char *text = vy_print(a, &size);
    assert_non_null(text);
    vy_module *b = vy_parse(text, size, "printed");
    if (!vy_module_ok(b)) fail_msg("%s\n%s", vy_module_diag(b)->text, text);
    assert_true(vy_module_equal(a, b));
    char *second = vy_print(b, &again);
    assert_string_equal(text, second);
    free(text);
    free(second);
    vy_module_free(a);
    vy_module_free(b);
}

// Any single change makes the modules unequal.
static void test_different(void **state)
{
    (void)state;
    static const char *const changes[][2] = {
        {"value(n[1])", "value(n[0])"},
        {"len(f) / 64", "len(f) / 65"},
        {"len(f) / 64 + 1, 2", "len(f) / 64 + 1, 1"},
        {"@init(ones) ", ""},
        {"@init(one) ", "@init(ones) "},
        {"1..T", "0..T"},
        {"..min(T, k)", "..max(T, k)"},
        {"revolve, 3", "revolve, 4"},
        {"revolve, 3", "3"},
        {"m * m > j", "m * m > k"},
        {" checkpoint(k)", ""},
        {"while value(n[1])", "repeat s in 0..value(n[1])"},
        {" checkpoint(sqrt)", ""},
        {"s=lr", "s=0.25"},
        {"s=-nan", "s=1"},
        {"on=go", "on=false"},
        {"t * 2 - 7", "t * 2 - 8"},
        {"u[t - 1, 0]", "u[t - 1, 1]"},
        {"u[t - 1, 0]", "two[0]"},
        {"copy(g, u[t, A - 1]);", ""},
        {"        checkpoint {", "        repeat c in 0..1 {"},
        {"mm(x, w, y);", "repeat i in 0..1 { mm(x, w, y); }"},
        {"y: out f32[A, C]", "y: inout f32[A, C]"},
    };
    vy_module *a = make_rich();
    for (size_t i = 0; i < COUNT(changes); i++) {
        char text[sizeof rich + 100];
        const char *at = strstr(rich, changes[i][0]);
        assert_non_null(at);
        snprintf(text, sizeof text, "%.*s%s%s", (int)(at - rich), rich, changes[i][1],
                 at + strlen(changes[i][0]));
        vy_module *b = parse2(programs, text);
        if (!vy_module_ok(b)) fail_msg("%s: %s", changes[i][1], vy_module_diag(b)->text);
        if (vy_module_equal(a, b)) fail_msg("not seen: %s", changes[i][1]);
        vy_module_free(b);
    }
    // Equality ignores the names of counters and lets.
    char text[sizeof rich];
    strcpy(text, rich);
    char *at = strstr(text, "repeat s in 0..A");
    at[7] = 'z';
    memcpy(strstr(text, "two[s], h[s]"), "two[z], h[z]", 12);
    vy_module *b = parse2(programs, text);
    if (!vy_module_ok(b)) fail_msg("%s", vy_module_diag(b)->text);
    assert_true(vy_module_equal(a, b));
    vy_module_free(b);
    vy_module_free(a);
}

// Whatever is cut out of the text or inserted into it gives a diagnostic, or a module that prints
// and reads back.
static void test_damaged_text(void **state)
{
    (void)state;
    static const char *const tokens[] = {"t",      "0",       "[",          "]",        "(",
                                         ")",      "{",       "}",          ";",        ",",
                                         "..",     "=",       "k=",         "value(n[", "len(u",
                                         "let ",   "buffer ", "checkpoint", "repeat",   "sqrt",
                                         "@init(", "?",       "-",          "* T",      "h",
                                         "g",      "copy",    "@groups(3)", "f32"};
    uint64_t random = 88172645463325252u;
    uint32_t fine = 0;
    for (int round = 0; round < 6000; round++) {
        char text[sizeof programs + sizeof rich + 64];
        size_t start = sizeof programs - 1, n = start + sizeof rich - 1;
        memcpy(text, programs, start);
        memcpy(text + start, rich, sizeof rich - 1);
        for (int change = 0; change <= round % 3; change++) {
            random ^= random << 13, random ^= random >> 7, random ^= random << 17;
            size_t at = start + random % (n - start), cut = (random >> 32) % 8;
            if (cut > n - at) cut = n - at;
            const char *t = round & 1 ? "" : tokens[(random >> 40) % COUNT(tokens)];
            memmove(text + at + strlen(t), text + at + cut, n - at - cut);
            memcpy(text + at, t, strlen(t));
            n += strlen(t) - cut;
        }
        vy_module *m = vy_parse(text, n, "damaged"), *again = NULL;
        assert_non_null(m);
        size_t size;
        char *printed = vy_module_ok(m) ? vy_print(m, &size) : NULL;
        if (printed) {
            again = vy_parse(printed, size, "printed");
            if (!vy_module_ok(again)) fail_msg("%s\n%s", vy_module_diag(again)->text, printed);
            if (!vy_module_equal(m, again)) fail_msg("another module:\n%s", printed);
            fine++;
        }
        free(printed);
        vy_module_free(again);
        vy_module_free(m);
    }
    assert_true(fine > 100);
}

// A value that is not used immediately keeps its position by a `let`.
static void test_value_place(void **state)
{
    (void)state;
    vy_module *m =
        parse2(programs, "pipeline p(x: in f32[N], n: inout u32[2], y: out f32[N], N: u32) {\n"
                         "    let a = value(n[0]);\n"
                         "    @groups(1) count(x, n);\n"
                         "    buffer h: f32[a];\n"
                         "    buffer g: f32[value(n[0])];\n"
                         "    repeat t in 0..a - value(n[1]) { copy(x, y); }\n}\n");
    if (!vy_module_ok(m)) fail_msg("%s", vy_module_diag(m)->text);
    char *text = vy_print(m, NULL);
    assert_non_null(strstr(text, "    let v1 = value(n[0]);\n    @groups(1) count(x, n);\n"
                                 "    buffer h: f32[v1];\n    buffer g: f32[value(n[0])];\n"
                                 "    repeat t in 0..v1 - value(n[1]) {\n"));
    free(text);
    vy_module_free(m);
}

// ------------------------------------------------------------------------------------- binary form
static void test_binary(void **state)
{
    (void)state;
    vy_module *a = make_rich();
    size_t size, again;
    uint8_t *block = vy_binary_write(a, &size);
    vy_module *b = vy_binary_read(block, size);
    if (!vy_module_ok(b)) fail_msg("%s", vy_module_diag(b)->text);
    assert_true(vy_module_equal(a, b));
    const vy_pipe_step *x = vy_pipeline_step(vy_module_pipeline(a, 0), 7),
                       *y = vy_pipeline_step(vy_module_pipeline(b, 0), 7);
    assert_true(x->line == y->line && x->column == y->column && x->line > 0);
    uint8_t *second = vy_binary_write(b, &again);
    assert_int_equal(size, again);
    assert_memory_equal(block, second, size);
    vy_free(block);
    vy_free(second);
    vy_module_free(a);
    vy_module_free(b);
}

static const char *read_code(const void *data, size_t size)
{
    vy_module *m = vy_binary_read(data, size);
    assert_non_null(m);
    const char *code = vy_module_ok(m) ? NULL : vy_module_diag(m)->code;
    if (code) {
        assert_int_equal(vy_module_pipeline_count(m), 0);
    } else { // what is accepted is usable
        size_t n;
        char *text = vy_print(m, &n);
        void *again = vy_binary_write(m, &n);
        assert_true(text && again);
        assert_true(vy_module_equal(m, m));
        free(text);
        vy_free(again);
    }
    vy_module_free(m);
    return code;
}

static void test_binary_damage(void **state)
{
    (void)state;
    static const uint8_t values[] = {0, 1, 2, 3, 4, 5, 13, 64, 127, 128, 255};
    vy_module *m = make_rich();
    size_t size, start;
    vy_module *head = parse2(programs, "");
    uint8_t *block = vy_binary_write(m, &size);
    vy_free(vy_binary_write(head, &start));     // test_ir.c tests what precedes the pipeline
    for (size_t n = start - 1; n < size; n++) { // in a block of its own: overreads are noticed
        uint8_t *cut = malloc(n);
        memcpy(cut, block, n);
        for (int k = 0; k < 8; k++) cut[16 + k] = (uint8_t)((n - VY_BINARY_HEADER) >> 8 * k);
        vy_binary_digest(cut, n, cut + VY_BINARY_DIGEST);
        const char *code = read_code(cut, n);
        if (!code || strcmp(code, "E0404") != 0) fail_msg("cut at %zu: %s", n, code ? code : "ok");
        free(cut);
    }
    uint32_t refused = 0, malformed = 0;
    for (size_t at = start - 1; at < size; at++)
        for (size_t v = 0; v < COUNT(values); v++) {
            uint8_t *copy = malloc(size);
            memcpy(copy, block, size);
            copy[at] = values[v];
            vy_binary_digest(copy, size, copy + VY_BINARY_DIGEST);
            const char *code = read_code(copy, size);
            refused += code != NULL;
            malformed += code && strcmp(code, "E0404") == 0;
            free(copy);
        }
    assert_true(refused > 1000 && malformed > 500);
    vy_free(block);
    vy_module_free(head);
    vy_module_free(m);
}

// ------------------------------------------------------------------------------------------ memory
static void test_no_memory(void **state)
{
    (void)state;
    bool done = false;
    for (long n = 0; !done; n++) {
        assert_true(n < 100000);
        static const char calls[] =
            "pipeline add(x: in f32[N], y: out f32[N], N: u32) {\n"
            "    @init(x) buffer h: f32[N]; repeat t in 0..2 { blend(h, y, T=t, s=0.5); } }\n"
            "pipeline calls(x: in f32[T, N], y: out f32[N], T: u32, N: u32) { add(x[0], y); }\n";
        char text[sizeof programs + sizeof rich + sizeof inners + sizeof calls];
        snprintf(text, sizeof text, "%s%s%s%s", programs, rich, inners, calls);
        vy_test_fail_after(n);
        vy_module *m = vy_parse(text, strlen(text), "memory");
        vy_test_fail_after(-1);
        if (m && !vy_module_ok(m)) assert_string_equal(vy_module_diag(m)->code, "E0001");
        done = m && vy_module_ok(m);
        vy_module_free(m);
    }
    vy_module *m = make_rich();
    for (long n = 0;; n = next_failing(n)) {
        size_t size;
        vy_test_fail_after(n);
        char *text = vy_print(m, &size);
        vy_test_fail_after(-1);
        free(text);
        if (text) break;
    }
    size_t size = 0;
    void *block = NULL;
    for (long n = 0; !block; n = next_failing(n)) {
        vy_test_fail_after(n);
        block = vy_binary_write(m, &size);
        vy_test_fail_after(-1);
    }
    done = false;
    for (long n = 0; !done; n = next_failing(n)) {
        vy_test_fail_after(n);
        vy_module *b = vy_binary_read(block, size);
        vy_test_fail_after(-1);
        if (b && !vy_module_ok(b)) assert_string_equal(vy_module_diag(b)->code, "E0001");
        done = b && vy_module_ok(b);
        vy_module_free(b);
    }
    vy_free(block);
    vy_module_free(m);
}

// -------------------------------------------------------------------------------------------- size
// Time is linear in the text: a hundred thousand dispatches with slices do not take minutes.
static void test_many(void **state)
{
    (void)state;
    enum { N = 100000 };
    built t = begin_pipe();
    vy_dim at = vy_dim_const(t.b, 0);
    vy_buffer h = {0};
    for (uint32_t i = 0; i < N; i++) {
        char name[16];
        snprintf(name, sizeof name, "h%u", i);
        vy_buffer g = vy_pipeline_buffer(t.q, name, VY_F32, 1, &t.n);
        if (h.id)
            dispatch2(&t, t.copy, whole(h), whole(g));
        else
            dispatch2(&t, t.copy, slice(t.u, &at), whole(g));
        h = g;
    }
    vy_pipeline *l = vy_pipeline_end(t.q);
    if (!l) fail_msg("%s", vy_module_diag(t.m)->text);
    size_t size;
    void *block = vy_binary_write(t.m, &size);
    vy_module *m = vy_binary_read(block, size);
    assert_true(vy_module_equal(t.m, m));
    char *text = vy_print(m, &size);
    assert_true(size > N * 30);
    free(text);
    vy_free(block);
    vy_module_free(m);
    vy_module_free(t.m);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_build),           cmocka_unit_test(test_api_errors),
        cmocka_unit_test(test_derive_as),       cmocka_unit_test(test_call),
        cmocka_unit_test(test_call_derived_as), cmocka_unit_test(test_call_errors),
        cmocka_unit_test(test_while),           cmocka_unit_test(test_order),
        cmocka_unit_test(test_round_trip),      cmocka_unit_test(test_different),
        cmocka_unit_test(test_value_place),     cmocka_unit_test(test_damaged_text),
        cmocka_unit_test(test_binary),          cmocka_unit_test(test_binary_damage),
        cmocka_unit_test(test_no_memory),       cmocka_unit_test(test_many),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
