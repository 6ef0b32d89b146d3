// SPDX-License-Identifier: MIT
// test_pipeline_run.c: pipelines executed: vy_eval_pipeline, vy_compile_pipeline and the runtime.
// Tests that need no C API are in tests/text/pipeline.
#include "tests/unit/device_util.h"

#include "ir/pipeline.h"
#include "ir/core/mem.h"
#include "spirv/spirv.h"
#include "tests/unit/failing.h"

#include <time.h>

static const char *const text =
    "program count(x: in f32[N], c: out u32[N], N: u32) over(i: N)\n"
    "{ c[i] = u32(max(x[i], 0.0)); }\n"
    "program scan(c: in u32[N], from: out u32[N + 1], N: u32) over(i: 1)\n"
    "{ var s = 0u; for k in 0..N { from[k] = s; s += c[k]; } from[N] = s; }\n"
    "program fill(x: in f32[N], from: in u32[N + 1], tape: out f32[S], @workspace w: inout f32[N],\n"
    "             N: u32, S: u32) over(i: N)\n"
    "{ for k in from[i]..from[i + 1] { w[i] += 1; tape[k] = x[i] * w[i]; } }\n"
    "program use(from: in u32[N + 1], tape: in f32[S], y: out f32[N], N: u32, S: u32) over(i: N)\n"
    "{ y[i] = sum(k in from[i]..from[i + 1]: tape[k]); }\n"
    "pipeline tape(x: in f32[N], y: out f32[N], N: u32) {\n"
    "    buffer c: u32[N];\n"
    "    buffer from: u32[N + 1];\n"
    "    count(x, c);\n"
    "    scan(c, from);\n"
    "    buffer t: f32[value(from[N])];\n"
    "    fill(x, from, t);\n"
    "    use(from, t, y);\n"
    "}\n"
    "program add(x: in f32[N], y: out f32[N], N: u32) over(i: N) { y[i] = x[i] + 1; }\n"
    "program race(y: inout f32[N], N: u32) over(i: N) { if i < 9 { y[i / N] = y[i / N] + 1; } }\n"
    "pipeline heat(u: inout f32[T + 1, N], T: u32, N: u32) { repeat t in 0..T { add(u[t], u[t + 1]); } }\n"
    "pipeline long(u: inout f32[2, N], T: i64, N: u32)\n"
    "{ repeat t in 0..T { add(u[0], u[1]); } }\n"
    "pipeline races(u: inout f32[N], N: u32) { repeat t in 0..3 { race(u); } }\n"
    "pipeline scratch(x: in f32[N], y: out f32[N], N: u32)\n"
    "{ buffer a: f32[N]; buffer b: f32[N]; add(x, a); add(a, b); add(b, y); }\n"
    "pipeline empty(x: in f32[N], N: u32) { }\n";

typedef struct fixture {
    vy_module *m;
    vy_diag diag;
} fixture;

static vy_pipeline *pick(fixture *f, const char *name)
{
    *f = (fixture){.m = case_parse(text)};
    vy_pipeline *p = vy_module_find_pipeline(f->m, name);
    assert_non_null(p);
    return p;
}

static void drop(fixture *f) { vy_module_free(f->m); }

// y = x (1 + 2 + … + ⌊x⌋)
static const float tape_x[] = {1, 2.5f, 0, 4};
static const float tape_y[] = {1, 7.5f, 0, 40};

static void expect_fail(bool ok, const vy_diag *d, const char *code, const char *what)
{
    assert_false(ok);
    assert_int_equal(d->severity, VY_ERROR);
    if (strcmp(d->code, code)) fail_msg("%s: %s", d->code, d->text);
    if (!strstr(d->text, what)) fail_msg("`%s` is not in `%s`", what, d->text);
}

// ------------------------------------------------------------------------------------ interpreter
static bool eval_tape(const vy_pipeline *p, const float *x, float *y, uint64_t n,
                      const vy_eval_options *o, vy_diag *d)
{
    const vy_eval_buffer buffers[] = {{"x", (void *)x, &n, 1}, {"y", y, &n, 1}};
    return vy_eval_pipeline(p, buffers, 2, NULL, 0, o, NULL, d);
}

static void test_eval(void **state)
{
    (void)state;
    fixture f;
    vy_pipeline *p = pick(&f, "tape");
    float y[4] = {9, 9, 9, 9};
    assert_true(eval_tape(p, tape_x, y, 4, NULL, &f.diag));
    assert_memory_equal(y, tape_y, sizeof y);
    assert_true(eval_tape(p, NULL, NULL, 0, NULL, &f.diag)); // empty buffers
    drop(&f);
}

static void test_eval_f64(void **state)
{
    (void)state;
    fixture f;
    vy_pipeline *p = pick(&f, "heat");
    double u[9] = {0.1, 0.2, 0.3};
    const vy_eval_buffer b = {"u", u, (const uint64_t[]){3, 3}, 2};
    const vy_eval_scalar t = {"T", {.u = 2}};
    assert_true(vy_eval_pipeline(p, &b, 1, &t, 1, &(vy_eval_options){.f64 = true}, NULL, &f.diag));
    assert_true(u[6] == 2.1 && u[7] == 2.2 && u[8] == 2.3);
    drop(&f);
}

static void test_eval_arguments(void **state)
{
    (void)state;
    fixture f;
    vy_pipeline *p = pick(&f, "tape");
    float x[4] = {1, 1, 1, 1}, y[4];
    const uint64_t n = 4, three = 3;
    const vy_eval_buffer all[] = {{"x", x, &n, 1}, {"y", y, &n, 1}, {"c", y, &n, 1}};
    vy_diag *d = &f.diag;
    expect_fail(vy_eval_pipeline(NULL, NULL, 0, NULL, 0, NULL, NULL, d), d, "E0003", "no pipeline");
    expect_fail(vy_eval_pipeline(p, all, 1, NULL, 0, NULL, NULL, d), d, "E0702", "buffer y");
    expect_fail(vy_eval_pipeline(p, all, 3, NULL, 0, NULL, NULL, d), d, "E0701", "'c'");
    const vy_eval_buffer lengths[] = {{"x", x, &n, 1}, {"y", y, &three, 1}};
    expect_fail(vy_eval_pipeline(p, lengths, 2, NULL, 0, NULL, NULL, d), d, "E0704", "N is 4");
    const vy_eval_buffer rank[] = {{"x", x, &n, 1}, {"y", y, &n, 0}};
    expect_fail(vy_eval_pipeline(p, rank, 2, NULL, 0, NULL, NULL, d), d, "E0703", "buffer y");
    const vy_eval_buffer overlap[] = {{"x", x, &three, 1}, {"y", x + 1, &three, 1}};
    expect_fail(vy_eval_pipeline(p, overlap, 2, NULL, 0, NULL, NULL, d), d, "E0706", "overlap");
    const vy_eval_scalar wrong = {"M", {.u = 1}};
    expect_fail(vy_eval_pipeline(p, all, 2, &wrong, 1, NULL, NULL, d), d, "E0701", "'M'");
    drop(&f);
}

// An error in a dispatch is reported at the dispatch and names its program.
static void test_eval_place(void **state)
{
    (void)state;
    fixture f;
    vy_pipeline *p = pick(&f, "long");
    float u[4] = {0};
    const vy_eval_buffer b = {"u", u, (const uint64_t[]){2, 2}, 2};
    const vy_eval_scalar t = {"T", {.i = INT64_MAX}};
    expect_fail(vy_eval_pipeline(p, &b, 1, &t, 1, &(vy_eval_options){.max_steps = 10000}, NULL,
                                 &f.diag),
                &f.diag, "E0708", "10000");
    assert_int_equal(f.diag.line, 23);
    drop(&f);
}

static void test_eval_limit(void **state)
{
    (void)state;
    fixture f;
    vy_pipeline *p = pick(&f, "tape");
    float y[4];
    // c 16, from 20, t 28 (1 + 2 + 0 + 4 elements), w of fill 16
    assert_true(eval_tape(p, tape_x, y, 4, &(vy_eval_options){.max_workspace_bytes = 80}, &f.diag));
    const vy_eval_options less = {.max_workspace_bytes = 79}, none = {.max_workspace_bytes = 63};
    expect_fail(eval_tape(p, tape_x, y, 4, &less, &f.diag), &f.diag, "E0714", "80 bytes");
    expect_fail(eval_tape(p, tape_x, y, 4, &none, &f.diag), &f.diag, "E0714", "64 bytes");
    assert_int_equal(f.diag.line, 15);
    drop(&f);
}

static void test_eval_report(void **state)
{
    (void)state;
    fixture f;
    vy_pipeline *p = pick(&f, "races");
    float u[4] = {0};
    const vy_eval_buffer b = {"u", u, (const uint64_t[]){4}, 1};
    vy_eval_report one, all;
    const vy_eval_options o = {.report_races = true};
    assert_true(vy_eval(vy_module_find(f.m, "race"), &(vy_eval_buffer){"y", u, b.shape, 1}, 1, NULL,
                        0, &o, &one, &f.diag));
    assert_true(vy_eval_pipeline(p, &b, 1, NULL, 0, &o, &all, &f.diag));
    assert_true(one.races > 0);
    assert_int_equal(all.races, 3 * one.races);
    assert_string_equal(all.first.code, "E0709");
    drop(&f);
}

static void test_eval_memory(void **state)
{
    (void)state;
    fixture f;
    vy_pipeline *p = pick(&f, "tape");
    float y[4];
    long n = 0;
    for (bool ok = false; !ok; n = next_failing(n)) {
        vy_test_fail_after(n);
        ok = eval_tape(p, tape_x, y, 4, NULL, &f.diag);
        vy_test_fail_after(-1);
        if (!ok) assert_string_equal(f.diag.code, "E0001");
    }
    assert_true(n > 20);
    assert_memory_equal(y, tape_y, sizeof y);
    drop(&f);
}

// --------------------------------------------------------------------------------------- compiler
static uint32_t count_steps(const vy_plan *plan, vy_step_kind kind)
{
    uint32_t n = 0;
    for (uint32_t i = 0; i < plan->step_count; i++) n += plan->steps[i].kind == kind;
    return n;
}

static vy_compiled *compile(fixture *f, const char *name)
{
    const vy_spirv_options o = {.validate = true};
    vy_compiled *c = vy_compile_pipeline(pick(f, name), &o, &f->diag);
    if (!c) fail_msg("%s", f->diag.text);
    return c;
}

static void test_compile(void **state)
{
    (void)state;
    fixture f;
    vy_compiled *c = compile(&f, "tape");
    const vy_plan *plan = c->plans;
    assert_int_equal(c->count, 4);
    assert_string_equal(c->kernels[2].entry, "fill");
    assert_string_equal(plan->name, "tape");
    assert_int_equal(count_steps(plan, VY_STEP_DISPATCH), 4);
    assert_int_equal(count_steps(plan, VY_STEP_READBACK), 1);
    // Each intermediate is overwritten by its first use.
    assert_int_equal(count_steps(plan, VY_STEP_FILL), 0);
    assert_string_equal(plan->buffers[plan->buffer_count - 1].name, "fill.w");
    assert_int_equal(plan->buffers[plan->buffer_count - 1].role, VY_ROLE_WORKSPACE);
    // Only the index of value() remains to be checked at run time.
    assert_int_equal(count_steps(plan, VY_STEP_CHECK), 1);
    fixture g;
    vy_compiled *again = compile(&g, "tape");
    assert_int_equal(again->word_count, c->word_count);
    assert_memory_equal(again->words, c->words, c->word_count * 4);
    vy_compiled_free(again);
    vy_compiled_free(c);
    drop(&f);
    drop(&g);
}

static void test_compile_one_kernel(void **state)
{
    (void)state;
    fixture f;
    vy_compiled *c = compile(&f, "scratch"); // three dispatches of one program
    assert_int_equal(c->count, 1);
    assert_string_equal(c->kernels->entry, "main");
    assert_int_equal(c->plans->step_count, 3);
    vy_compiled_free(c);
    drop(&f);
    c = compile(&f, "heat"); // bound slices: offsets
    uint32_t offsets = 0;
    for (uint32_t i = 0; i < c->kernels->param_count; i++)
        offsets += c->kernels->params[i].kind == VY_PARAM_OFFSET;
    assert_int_equal(offsets, 2);
    vy_compiled_free(c);
    drop(&f);
    c = compile(&f, "empty"); // a kernel that is not dispatched: a module needs one
    assert_int_equal(c->count, 1);
    assert_int_equal(c->plans->step_count, 0);
    vy_compiled_free(c);
    drop(&f);
}

static void test_compile_memory(void **state)
{
    (void)state;
    fixture f;
    vy_pipeline *p = pick(&f, "tape");
    vy_compiled *c = NULL;
    long n = 0;
    for (; !c; n = next_failing(n)) {
        vy_test_fail_after(n);
        c = vy_compile_pipeline(p, NULL, &f.diag);
        vy_test_fail_after(-1);
        if (!c) assert_string_equal(f.diag.code, "E0001");
    }
    assert_true(n > 50);
    vy_compiled_free(c);
    drop(&f);
}

// ---------------------------------------------------------------------------------------- runtime
static void good(vkrt_status status, const vkrt_error *e)
{
    if (status) fail_msg("%s", e->text);
}

static void run_tape(vkrt_plan *plan, const float *x, uint64_t n, float *y)
{
    vkrt_error e = {0};
    good(vkrt_plan_set_buffer(plan, "x", 1, &n, x, &e), &e);
    good(vkrt_plan_set_shape(plan, "y", 1, &n, &e), &e);
    good(vkrt_plan_run(plan, &e), &e);
    good(vkrt_plan_read(plan, "y", y, n * sizeof *y, &e), &e);
}

// One submission up to each value; the same sizes again record nothing; others do.
static void test_run_tape(void **state)
{
    NEED_DEVICE(state);
    fixture f;
    vkrt_error e = {0};
    vy_compiled *c = compile(&f, "tape");
    vkrt_plan *plan;
    float y[6];
    good(vkrt_plan_create(g->device, c->plans, &(vkrt_plan_desc){.trust_loops = true}, &plan, &e),
         &e);
    run_tape(plan, tape_x, 4, y);
    assert_memory_equal(y, tape_y, sizeof tape_y);
    assert_int_equal(vkrt_plan_stats(plan).submissions, 2);
    assert_int_equal(vkrt_plan_stats(plan).recorded, 2);
    int64_t found;
    assert_true(vkrt_plan_symbol(plan, "value_from", &found) && found == 7);
    const float other_x[] = {3, 3, 0, 1}, other_y[] = {18, 18, 0, 1}; // 7 elements too
    run_tape(plan, other_x, 4, y);
    assert_memory_equal(y, other_y, sizeof other_y);
    assert_int_equal(vkrt_plan_stats(plan).recorded, 0);
    const float more_x[] = {9, 9, 9, 9, 9, 9};
    run_tape(plan, more_x, 6, y);
    for (int i = 0; i < 6; i++) assert_true(y[i] == 405);
    const float none_x[] = {0, -1};
    run_tape(plan, none_x, 2, y);
    assert_true(y[0] == 0 && y[1] == 0);
    run_tape(plan, tape_x, 4, y);
    assert_memory_equal(y, tape_y, sizeof tape_y);
    vkrt_plan_destroy(plan);
    vy_compiled_free(c);
    drop(&f);
}

static void test_run_budget(void **state)
{
    NEED_DEVICE(state);
    fixture f;
    vkrt_error e = {0};
    vy_compiled *c = compile(&f, "tape");
    const uint64_t n = 4;
    for (uint64_t limit = 79; limit <= 80; limit++) {
        vkrt_plan *plan;
        good(vkrt_plan_create(g->device, c->plans,
                              &(vkrt_plan_desc){.max_workspace_bytes = limit, .trust_loops = true},
                              &plan, &e),
             &e);
        good(vkrt_plan_set_buffer(plan, "x", 1, &n, tape_x, &e), &e);
        good(vkrt_plan_set_shape(plan, "y", 1, &n, &e), &e);
        const vkrt_status status = vkrt_plan_run(plan, &e);
        assert_int_equal(status, limit == 80 ? VKRT_OK : VKRT_OVER_BUDGET);
        if (status) assert_non_null(strstr(e.text, "80 bytes"));
        vkrt_plan_destroy(plan);
    }
    vy_compiled_free(c);
    drop(&f);
}

// Rows of `n` elements on a device with any alignment of descriptors and small dispatches; the
// entire repeat is one submission.
static void run_heat(const vkrt_device_desc *desc, const gpu *g, uint32_t n, uint32_t t)
{
    fixture f;
    vkrt_error e = {0};
    vy_compiled *c = compile(&f, "heat");
    vkrt_device *device;
    vkrt_plan *plan;
    float *u = calloc((size_t)(t + 1) * n, sizeof *u);
    for (uint32_t i = 0; i < n; i++) u[i] = (float)i;
    good(vkrt_device_create(g->instance, desc, &device, &e), &e);
    good(vkrt_plan_create(device, c->plans, &(vkrt_plan_desc){.trust_loops = true}, &plan, &e), &e);
    good(vkrt_plan_set_int(plan, "T", t, &e), &e);
    good(vkrt_plan_set_buffer(plan, "u", 2, (uint64_t[]){t + 1, n}, u, &e), &e);
    good(vkrt_plan_run(plan, &e), &e);
    good(vkrt_plan_read(plan, "u", u, (t + 1) * n * sizeof *u, &e), &e);
    for (uint32_t i = 0; i < (t + 1) * n; i++) assert_true(u[i] == (float)(i % n + i / n));
    assert_int_equal(vkrt_plan_stats(plan).submissions, 1);
    assert_int_equal(vkrt_plan_stats(plan).dispatches, t);
    vkrt_plan_destroy(plan);
    vkrt_device_destroy(device);
    vy_compiled_free(c);
    drop(&f);
    free(u);
}

static void test_run_slices(void **state)
{
    NEED_DEVICE(state);
    const vkrt_device_desc plain = {.cache_dir = ""};
    const vkrt_device_desc narrow = {.cache_dir = "",
                                     .max_group_count = {1, 1, 1},
                                     .force_staging = true};
    for (uint32_t n = 1; n <= 9; n++) run_heat(&plain, g, n, 7);
    run_heat(&plain, g, 1001, 50);
    run_heat(&narrow, g, 1001, 3);
}

// One barrier for each hazard that no barrier since the earlier access has resolved: read after
// write, write after read, write after write.  Slices that share no element are no hazard.
static const struct {
    const char *steps; // of a pipeline with u: inout f32[20, N], v: inout f32[N], and T = 5
    uint32_t dispatches, barriers;
} hazards[] = {
    // independent, twice: none
    {"copy(u[0], v); copy(u[0], w);", 2, 0},
    // a chain: one between two links
    {"copy(u[0], v); copy(v, w); copy(w, z);", 3, 2},
    // both sides of a diamond at once
    {"copy(u[0], v); copy(v, w); copy(v, z); join(w, z, q);", 4, 2},
    // read, then written: though nothing flows
    {"copy(v, w); copy(u[0], v);", 2, 1},
    // each iteration reads what the last one wrote, and overwrites what it read
    {"repeat t in 0..T { copy(v, w); copy(w, v); }", 10, 9},
    // each iteration reads the slice that the last one wrote
    {"repeat t in 0..T { copy(u[t], u[t + 1]); }", 5, 4},
    // no iteration touches a slice that another one writes, in whichever order
    {"repeat t in 0..T { copy(u[t], u[t + 10]); }", 5, 0},
    {"repeat t in rev(0..T) { copy(u[t], u[t + 10]); }", 5, 0},
    {"repeat t in 0..T { copy(u[t], u[t + 10]); } join(u[9], u[15], v);", 6, 0},
    {"repeat t in 0..T { copy(u[t], u[t + 10]); } join(u[9], u[13], v);", 6, 1},
    {"repeat t in 0..T { copy(u[t], u[t + 10]); } copy(v, u[3]);", 6, 1},
    {"repeat t in 0..T { copy(v, u[2 * t]); } copy(w, u[3]);", 6, 0},
    // three slices in turn, as a recurrence of second order has them
    {"repeat t in 0..T { join(u[t % 3], u[(t + 1) % 3], u[(t + 2) % 3]); }", 5, 4},
    // more places than are noted: the last ones count as one, with what is between them
    {"repeat t in 0..9 { copy(v, u[2 * t]); } copy(w, u[13]);", 10, 0},
    {"repeat t in 0..9 { copy(v, u[2 * t]); } copy(w, u[15]);", 10, 1},
};
enum { HAZARD_N = 64 }; // such slices begin where every device lets descriptors begin

static void test_run_barriers(void **state)
{
    NEED_DEVICE(state);
    for (uint32_t k = 0; k < COUNT(hazards); k++) {
        char program[1000];
        vkrt_error e = {0};
        vy_diag d = {0};
        const vy_spirv_options o = {.validate = true};
        snprintf(program, sizeof program,
                 "program copy(x: in f32[N], y: out f32[N], N: u32) over(i: N) { y[i] = x[i]; }\n"
                 "program join(x: in f32[N], y: in f32[N], z: out f32[N], N: u32) over(i: N)\n"
                 "{ z[i] = x[i] + y[i]; }\n"
                 "pipeline p(u: inout f32[20, N], v: inout f32[N], w: inout f32[N],\n"
                 "    z: inout f32[N], q: inout f32[N], T: u32, N: u32) { %s }\n",
                 hazards[k].steps);
        vy_module *m = case_parse(program);
        vy_compiled *c = vy_compile_pipeline(vy_module_find_pipeline(m, "p"), &o, &d);
        if (!c) fail_msg("%s", d.text);
        vkrt_plan *plan;
        static float data[20][HAZARD_N] = {{1, 2, 3}};
        good(vkrt_plan_create(g->device, c->plans, NULL, &plan, &e), &e);
        good(vkrt_plan_set_int(plan, "T", 5, &e), &e);
        good(vkrt_plan_set_buffer(plan, "u", 2, (uint64_t[]){20, HAZARD_N}, data, &e), &e);
        for (int b = 0; b < 4; b++)
            good(vkrt_plan_set_buffer(plan, (const char *[]){"v", "w", "z", "q"}[b], 1,
                                      (uint64_t[]){HAZARD_N}, data[1], &e),
                 &e);
        good(vkrt_plan_run(plan, &e), &e);
        const vkrt_stats s = vkrt_plan_stats(plan);
        assert_int_equal(s.submissions, 1);
        assert_int_equal(s.dispatches, hazards[k].dispatches);
        if (s.barriers != hazards[k].barriers)
            fail_msg("%s: %u barriers", hazards[k].steps, s.barriers);
        vkrt_plan_destroy(plan);
        vy_compiled_free(c);
        vy_module_free(m);
    }
}

// As many intermediates as a long text has: what each takes of the budget is not added up for each.
static void test_run_many(void **state)
{
    NEED_DEVICE(state);
    enum { MANY = 16000 };
    char *program = malloc(MANY * 48 + 500), *at = program;
    at += sprintf(at, "program copy(x: in f32[N], y: out f32[N], N: u32) over(i: N) {"
                      " y[i] = x[i]; }\npipeline p(b0: in f32[N], y: out f32[N], N: u32) {\n");
    for (int i = 1; i <= MANY; i++)
        at += sprintf(at, "buffer b%d: f32[N]; copy(b%d, b%d);\n", i, i - 1, i);
    sprintf(at, "copy(b%d, y); }\n", MANY);
    vkrt_error e = {0};
    vy_diag d = {0};
    vy_module *m = case_parse(program);
    vy_compiled *c =
        vy_compile_pipeline(vy_module_find_pipeline(m, "p"), &(vy_spirv_options){0}, &d);
    if (!c) fail_msg("%s", d.text);
    vkrt_plan *plan;
    good(vkrt_plan_create(g->device, c->plans, &(vkrt_plan_desc){.max_workspace_bytes = 4 * MANY},
                          &plan, &e),
         &e);
    good(vkrt_plan_set_buffer(plan, "b0", 1, (uint64_t[]){1}, (float[]){1}, &e), &e);
    const clock_t start = clock();
    good(vkrt_plan_prepare(plan, &e), &e);
    const double seconds = (double)(clock() - start) / CLOCKS_PER_SEC;
    if (seconds > 1) fail_msg("%g s", seconds);
    vkrt_plan_destroy(plan);
    vy_compiled_free(c);
    vy_module_free(m);
    free(program);
}

static void test_run_check(void **state)
{
    NEED_DEVICE(state);
    fixture f;
    vkrt_error e = {0};
    vy_compiled *c = compile(&f, "tape");
    // A plan changed by hand: its check must fail.
    vy_plan plan = *c->plans;
    vy_plan_step steps[32];
    assert_true(plan.step_count <= COUNT(steps));
    memcpy(steps, plan.steps, plan.step_count * sizeof *steps);
    plan.steps = steps;
    for (uint32_t i = 0; i < plan.step_count; i++)
        if (steps[i].kind == VY_STEP_CHECK) steps[i].check = VY_CHECK_EQUAL;
    vkrt_plan *run;
    const uint64_t n = 4;
    good(vkrt_plan_create(g->device, &plan, &(vkrt_plan_desc){.trust_loops = true}, &run, &e), &e);
    good(vkrt_plan_set_buffer(run, "x", 1, &n, tape_x, &e), &e);
    good(vkrt_plan_set_shape(run, "y", 1, &n, &e), &e);
    assert_int_equal(vkrt_plan_run(run, &e), VKRT_CHECK);
    assert_non_null(strstr(e.text, "index 0 of `from` is out of range: 4 and 5"));
    vkrt_plan_destroy(run);
    for (uint32_t i = 0; i < plan.step_count; i++)
        if (steps[i].kind == VY_STEP_CHECK) steps[i].limit = plan.expr_count;
    assert_int_equal(vkrt_plan_create(g->device, &plan, NULL, &run, &e), VKRT_BAD_KERNEL);
    vy_compiled_free(c);
    drop(&f);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_eval),
        cmocka_unit_test(test_eval_f64),
        cmocka_unit_test(test_eval_arguments),
        cmocka_unit_test(test_eval_place),
        cmocka_unit_test(test_eval_limit),
        cmocka_unit_test(test_eval_report),
        cmocka_unit_test(test_eval_memory),
        cmocka_unit_test(test_compile),
        cmocka_unit_test(test_compile_one_kernel),
        cmocka_unit_test(test_compile_memory),
        cmocka_unit_test(test_run_tape),
        cmocka_unit_test(test_run_budget),
        cmocka_unit_test(test_run_slices),
        cmocka_unit_test(test_run_barriers),
        cmocka_unit_test(test_run_many),
        cmocka_unit_test(test_run_check),
    };
    return cmocka_run_group_tests(tests, gpu_open, gpu_close);
}
