// SPDX-License-Identifier: MIT
// test_transform_more.c: gradients that are added to existing contents; allocations that fail.
#include "tests/unit/autodiff/transform_util.h"
#include "tests/unit/failing.h"

// b begins as x, which is used beside it: the gradient is a pipeline.
#define STARTS                                                                                     \
    "program f(@workspace @init(x) b: inout f32[N, N], w: in f32[N, N], x: in f32[N, N], "         \
    "y: out f32[N, N], N: u32) over(i: N, j: N) "                                                  \
    "{ b[i, j] = b[i, j] * w[j, i]; y[i, j] = b[i, j] * x[i, j] * w[0, j]; }"

// x is updated in place.
#define UPDATES                                                                                    \
    "program f(x: inout f32[N, N], w: in f32[N, N], N: u32) over(i: N, j: N) "                     \
    "{ x[i, j] = x[i, j] * x[i, j] * w[j, i] + x[i, j]; } "

// -------------------------------------------------------------------------------------- added to
enum { SIDE = 5, MOST = SIDE * SIDE };

// Runs a derivative on data of the interpreter's choice; gradients begin as `start`.
static void run(const vy_module *m, const vy_derived *g, float start, float got[][MOST])
{
    const vy_program *p = parameters(m, g->result);
    static const uint64_t square[2] = {SIDE, SIDE}, one[1] = {1};
    vy_eval_buffer buffers[8];
    uint32_t n = 0;
    for (uint32_t i = 1; i < g->role_count; i++) {
        const vy_buffer_info b = vy_program_buffer(p, (vy_buffer){i});
        if (b.cls > VY_INOUT || b.workspace) continue;
        const bool gradient = vy_is_gradient(g->roles[i].kind);
        for (uint32_t k = 0; k < MOST; k++) {
            got[n][k] = gradient ? start : (float)((k * 7 + n) % 11) / 8 - 0.5f;
            if (b.type == VY_U32) ((uint32_t *)got[n])[k] = k % 4;
        }
        const bool scalar = g->roles[i].kind == VY_IS_SCALAR_GRADIENT;
        buffers[n] = (vy_eval_buffer){b.name, got[n], scalar ? one : square, b.rank};
        n++;
    }
    const vy_eval_scalar a = {"a", {.f = 1.5}};
    const uint32_t scalars = vy_program_find_scalar(p, "a") != UINT32_MAX;
    const vy_eval_options o = {0};
    vy_diag d = {0};
    const bool ok = g->result.pipeline ? vy_eval_pipeline(vy_module_pipeline(m, g->result.index),
                                                          buffers, n, &a, scalars, &o, NULL, &d)
                                       : vy_eval(vy_module_program(m, g->result.index), buffers, n,
                                                 &a, scalars, &o, NULL, &d);
    if (!ok) fail_msg("%s %s", d.code, d.text);
}

// What a text differentiates: its pipeline, or its only program.
static vy_ref root_of(const vy_module *m)
{
    const uint32_t n = vy_module_pipeline_count(m);
    return (vy_ref){n ? n - 1 : 0, n != 0};
}

// Gradients named in `add` end as 5 + the gradient, the others are overwritten.
static void adds_to(const char *text, const char *const *wrt, uint32_t count, vy_grad_options o)
{
    static float plain[8][MOST], added[8][MOST];
    vy_module *m = parse(text);
    const bool in_place = o.in_place; // means nothing to a gradient that is added
    o.wrt = wrt;
    o.wrt_count = count;
    o.in_place = false;
    const vy_ref root = root_of(m);
    const vy_derived *g = transform(m, root, &o);
    o.add = wrt;
    o.in_place = in_place;
    o.add_count = count > 1 ? count - 1 : 1;
    const vy_derived *h = transform(m, root, &o);
    assert_ptr_not_equal(g, h);
    assert_non_null(strstr(name_of(m, h->result), "_add_"));
    run(m, g, 5, plain);
    run(m, h, 5, added);
    const vy_program *p = parameters(m, h->result);
    uint32_t asked = 0, n = 0;
    bool other = false;
    for (uint32_t i = 1; i < h->role_count; i++) {
        const vy_buffer_info b = vy_program_buffer(p, (vy_buffer){i});
        if (b.cls > VY_INOUT || b.workspace) continue;
        const uint32_t row = n++;
        if (!vy_is_gradient(h->roles[i].kind)) continue;
        bool adds = false;
        for (uint32_t k = 0; k < o.add_count; k++) adds |= !strcmp(o.add[k], h->roles[i].of);
        assert_int_equal(h->roles[i].mode, adds ? VY_ADDS : VY_OVERWRITES);
        assert_int_equal(g->roles[i].mode, VY_OVERWRITES);
        asked += adds;
        const uint32_t elements = h->roles[i].kind == VY_IS_SCALAR_GRADIENT ? 1 : MOST;
        for (uint32_t k = 0; k < elements; k++) {
            const double want = (double)plain[row][k] + (adds ? 5 : 0);
            other |= plain[row][k] != 0;
            if (!(fabs(added[row][k] - want) < 1e-4 * (1 + fabs(want))))
                fail_msg("%s[%u] is %g, not %g\n%s", b.name, k, (double)added[row][k], want, text);
        }
    }
    assert_int_equal(asked, o.add_count);
    assert_true(other);
    vy_module_free(m);
}

static void gradients_added(void **state)
{
    (void)state;
    static const struct {
        const char *text, *wrt[3];
        uint32_t count;
    } of[] = {
        // each element once; a scalar; a gather of two matrices; counted tapes; sums over rows,
        // which reach one element from all; an index from data
        {"program f(x: in f32[N, N], w: in f32[N, N], y: out f32[N, N], a: f32, N: u32) "
         "over(i: N, j: N) { y[i, j] = a * x[i, j] * x[i, j] * w[i, j]; }",
         {"a", "x", "w"},
         3},
        {"program f(b: in f32[N, N], c: in f32[N, N], y: out f32[N, N], N: u32) "
         "over(i: N, j: N) { y[i, j] = tanh(sum(k in 0..N: b[i, k] * c[k, j])); }",
         {"b", "c"},
         2},
        {"program f(x: in f32[N, N], n: in u32[N, N], y: out f32[N, N], N: u32) over(i: N, j: N) "
         "{ var s = x[i, j]; for k in 0..n[i, j] { s = sin(s) * s + s; } y[i, j] = s; }",
         {"x"},
         1},
        {"program f(x: in f32[N, N], w: in f32[N, N], y: out f32[N, N], N: u32) over(i: N, j: N) "
         "{ y[i, j] = x[j, 0] * w[i, 0] + sin(x[j, 0]); }",
         {"x", "w"},
         2},
        {"program f(x: in f32[N, N], n: in u32[N, N], y: out f32[N, N], N: u32) over(i: N, j: N) "
         "{ y[i, j] = x[n[i, j], j] * x[i, n[j, i]]; }",
         {"x"},
         1},
        {"program f(x: in f32[N, N], y: out f32[N, N], N: u32) over(i: N, j: N) "
         "{ y[i, j] = floor(x[i, j]) + stop_grad(x[i, j]) + x[0, 0]; }",
         {"x"},
         1},
        {STARTS, {"x", "w"}, 2},
        {"program f(@workspace @init(x) b: inout f32[N, N], w: in f32[N, N], x: in f32[N, N], "
         "y: out f32[N, N], N: u32) over(i: N, j: N) "
         "{ b[i, j] = b[i, j] * w[j, i]; y[i, j] = b[i, j] * w[0, j]; }",
         {"x", "w"},
         2},
        // Of an inout: updated in place, only read, only a pipeline's, and updated by a repeat
        {UPDATES, {"x", "w"}, 2},
        {"program f(x: inout f32[N, N], y: out f32[N, N], N: u32) over(i: N, j: N) "
         "{ y[i, j] = x[i, j] * x[j, 0]; }",
         {"x"},
         1},
        {UPDATES "pipeline g(x: inout f32[N, N], w: in f32[N, N], N: u32) { f(x, w); f(x, w); }",
         {"x", "w"},
         2},
        {UPDATES "pipeline g(x: inout f32[N, N], w: in f32[N, N], N: u32) "
                 "{ buffer h: f32[N, N]; f(h, w); repeat t in 0..3 { f(x, w); } }",
         {"x", "w"},
         2},
        {"program f(x: inout f32[N, N], w: in f32[N, N], y: out f32[N, N], N: u32) "
         "over(i: N, j: N) { y[i, j] = x[i, j] * w[j, i]; x[i, j] = w[i, j]; }",
         {"x", "w"},
         2},
    };
    for (size_t k = 0; k < sizeof of / sizeof *of; k++)
        for (int way = 0; way < 7; way++)
            adds_to(of[k].text, of[k].wrt, of[k].count,
                    (vy_grad_options){.accumulate = way < 3 ? (vy_accumulate)way : 0,
                                      .deterministic = way == 3 || way == 4,
                                      .lean_sums = way == 4,
                                      .in_place = way == 6,
                                      .seed_buffer = way >= 5});
    // Names that are not requested.
    const char *const x[] = {"x"}, *const w[] = {"w"}, *const nope[] = {"nope"};
    vy_module *m = parse("program f(x: inout f32[N], w: in f32[N], N: u32) over(i: N) "
                         "{ x[i] = x[i] * w[i]; }");
    refused(m, (vy_ref){0}, &(vy_grad_options){.add = nope, .add_count = 1}, "E0501");
    refused(m, (vy_ref){0}, &(vy_grad_options){.wrt = x, .wrt_count = 1, .add = w, .add_count = 1},
            "E0501");
    vy_module_free(m);
}

// ------------------------------------------------------------------------------------------- roles
// They name parameters of the program, not of what it is differentiated as.
static void roles_of_starts(void **state)
{
    (void)state;
    vy_module *m = parse(STARTS);
    const vy_derived *g = transform(m, (vy_ref){0}, &(vy_grad_options){.seed_buffer = true});
    uint32_t gradients = 0;
    for (uint32_t i = 1; i < g->role_count; i++) {
        const vy_derivative_role *role = &g->roles[i];
        if (role->kind == VY_IS_WORKSPACE) continue;
        const vy_buffer_info of =
            vy_program_buffer(vy_module_program(m, 0), (vy_buffer){role->parameter});
        assert_string_equal(of.name, role->of);
        assert_int_equal(role->root_parameter, role->parameter);
        gradients += role->kind == VY_IS_GRADIENT;
    }
    assert_int_equal(gradients, 2);
    vy_module_free(m);
}

// ------------------------------------------------------------------------------------------ memory
// Whichever allocation fails, the module is unchanged and valid; then the same transform succeeds.
static void out_of_memory(void **state)
{
    (void)state;
    static const char *const texts[] = {F G, COUNTED, MATMUL, STARTS};
    for (size_t k = 0; k < sizeof texts / sizeof *texts; k++) {
        vy_module *m = parse(texts[k]), *out = NULL;
        char *before = vy_print(m, NULL);
        vy_diag d = {0};
        const vy_derived *g = NULL;
        long n = 0;
        for (; !g && n < 100000; n = next_failing(n)) {
            vy_test_fail_after(n);
            g = vy_transform(m, (vy_ref){0}, NULL, &d);
            vy_test_fail_after(-1);
            assert_true(vy_module_ok(m));
            if (g) break;
            assert_string_equal(d.code, "E0001");
            char *now = vy_print(m, NULL);
            assert_string_equal(now, before);
            assert_null(vy_module_derived(m, 0));
            vy_free(now);
        }
        assert_non_null(g);
        assert_true(n > 50);
        begins_with(m, before);
        for (n = 0; !out && n < 100000; n = next_failing(n)) {
            vy_test_fail_after(n);
            const bool ok = vy_module_extract(m, g->result, &out, &d);
            vy_test_fail_after(-1);
            assert_true(ok == (out != NULL));
            if (!ok) assert_string_equal(d.code, "E0001");
        }
        vy_module *alone = parse(texts[k]),
                  *want = vy_grad(alone,
                                  &(vy_grad_options){.program =
                                                         vy_program_name(vy_module_program(m, 0))},
                                  &d);
        assert_non_null(want);
        prints_alike(out, want);
        vy_module_free(want);
        vy_module_free(alone);
        vy_module_free(out);
        vy_free(before);
        vy_module_free(m);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(gradients_added),
        cmocka_unit_test(roles_of_starts),
        cmocka_unit_test(out_of_memory),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
