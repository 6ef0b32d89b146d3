// SPDX-License-Identifier: MIT
// test_places.c: workspaces laid out by invocation (ir/pass/target/place_workspaces.c) hold the
// same: with and without the pass the interpreter and the device compute the same bits.
#include "autodiff/grad.h"
#include "tests/unit/device_util.h"

enum { MOST = 5 * 7 * 9, STEPS = 6 };

// Gradients, whose tapes are laid out anew, and programs with workspaces of their own.
static const struct {
    const char *text;
    bool gradient;
    const char *placed; // of a workspace
} cases[] = {
    {"program f(x: in f32[N], y: out f32[N], N: u32, T: u32) over(i: N) {\n"
     "  var a = x[i]; var b = 0.5 * a;\n"
     "  for s in 0..T { b -= 0.1 * sin(a) * b; a += 0.1 * b * a; }\n  y[i] = a * b; }",
     true, "f32[N, T, 2]"},
    {"program f(x: in f32[N, 7], y: out f32[N, 7], N: u32, T: u32) over(i: N, j: 7) {\n"
     "  var a = x[i, j]; for s in 0..T { a += sin(a); }\n  y[i, j] = a; }",
     true, "f32[N, 7, T]"},
    {"program f(x: in f32[N, 7, 9], y: out f32[N, 7, 9], N: u32, T: u32) over(i: N, j: 7, k: 9) {\n"
     "  var a = x[i, j, k]; for s in 0..T { for r in 0..s { a += sin(a) * 0.3; } }\n"
     "  y[i, j, k] = a; }",
     true, "f32[N, 7, 9, T, "},
    {"program f(x: in f32[N], y: out f32[N], N: u32, T: u32) over(i: N) {\n"
     "  var a = x[i]; var n = i;\n"
     "  for s in 0..T { n = n * 5 % 17; if n > 6 { a = a * sin(a); } else { a += 0.5; } }\n"
     "  y[i] = a; }",
     true, "f32[N, T]"},
    {"program f(x: in f64[N], y: out f64[N], N: u32, T: u32) over(i: N) {\n"
     "  var a = x[i]; for s in 0..T { a = a * a * 0.5 + 0.1; }\n  y[i] = a; }",
     true, "f64[N, T]"},
    {"program f(x: in f16[N], y: out f16[N], N: u32, T: u32) over(i: N) {\n"
     "  var a = x[i]; for s in 0..T { a = a * a * 0.5h + 0.1h; }\n  y[i] = a; }",
     true, "f16[N, T]"},
    // Out of range: a load is 0, a store does nothing.
    {"program f(x: in f32[N], y: out f32[N], @workspace t: inout f32[2, 3, 5, N], N: u32, T: u32)\n"
     "  over(i: N) { for s in 0..T { t[1, i % 4, s, i] = x[i] + f32(s); }\n"
     "  for s in 0..9 { y[i] += t[1, i % 5, s, i] * f32(s + 1) + t[0, 2, s, i]; } }",
     false, "f32[N, 3, 5, 2]"},
    {"program f(x: in f32[N], y: out f32[N], @workspace t: inout u32[3, T + 1, N], N: u32, T: u32)\n"
     "  over(i: N) { for s in 0..T { t[s % 4, s, i] += s; y[i] += f32(atomic_add(t[1, s, i], 7));\n"
     "  } y[i] += x[i] + f32(t[0, 0, i] + t[2, 2, i]); }",
     false, "u32[N, 3, T + 1]"},
    // Barriers: lanes beyond the domain take part, and touch nothing.
    {"program f(x: in f32[N], y: out f32[N], @workspace t: inout f32[2, T, N], N: u32, T: u32)\n"
     "  over(i: N) workgroup(8) { shared v: f32[8]; v[lid.x] = x[i]; barrier();\n"
     "  for s in 0..T { t[0, s, i] = v[lid.x] * f32(s + 1); t[1, s, i] = f32(s); }\n"
     "  for s in 0..T { y[i] += t[0, s, i] * t[1, s, i]; } }",
     false, "f32[N, T, 2]"},
};

static char *gradient(const char *text)
{
    vy_module *m = case_parse(text);
    vy_diag d = {0};
    vy_module *g = vy_grad(m, &(vy_grad_options){.accumulate = VY_ACCUMULATE_ATOMIC}, &d);
    if (!g || !vy_module_ok(g)) fail_msg("%s\n%s", d.text, text);
    assert_int_equal(vy_module_program_count(g), 1);
    char *printed = vy_print(g, NULL);
    vy_module_free(g);
    vy_module_free(m);
    return printed;
}

static device_case make_case(const char *text, vy_type t, uint64_t n, uint32_t steps)
{
    static unsigned char x[MOST * 8];
    const char *name = strstr(text, "grad_x") ? "grad_x" : "y";
    device_case c = {.text = text, .buffer_count = 2, .scalar_count = 1};
    for (uint32_t k = 0; k < MOST; k++)
        vy_scalar_write(t, (vy_scalar){.f = (double)(k % 11) / 8 - 0.5}, x + k * vy_type_size(t));
    c.buffers[0] = (case_buffer){"x", n, x, 0, {0}};
    c.buffers[1] = (case_buffer){name, n, NULL, 0, {0}};
    for (uint32_t k = 0; k < 2; k++) {
        if (strstr(text, "x: in f32[N, 7, 9]"))
            c.buffers[k].rank = 3, c.buffers[k].count = n * 63;
        else if (strstr(text, "x: in f32[N, 7]"))
            c.buffers[k].rank = 2, c.buffers[k].count = n * 7;
        memcpy(c.buffers[k].shape, (uint64_t[]){n, 7, 9}, sizeof(uint64_t[3]));
    }
    c.scalars[0] = (vy_eval_scalar){"T", {.u = steps}};
    return c;
}

static vy_module *optimised(const char *text, bool by_invocation, int level)
{
    vy_module *m = case_parse(text);
    assert_true(vy_optimize(m, &(vy_opt_options){.level = level, .by_invocation = by_invocation}));
    return m;
}

static void run_case(const device_case *c, const vy_module *m, gpu *g, case_run *r)
{
    *r = (case_run){.p = vy_module_program(m, 0)};
    case_prepare(c, r);
    if (g->device) case_device(c, r, g);
    case_eval(c, r, 32);
}

static void same_bits(gpu *g, const device_case *c, int level)
{
    vy_module *plain = optimised(c->text, false, level), *placed = optimised(c->text, true, level);
    case_run a, b;
    run_case(c, plain, g, &a);
    run_case(c, placed, g, &b);
    for (uint32_t k = 0; k < c->buffer_count; k++) {
        const size_t bytes = c->buffers[k].count * vy_type_size(a.types[k]);
        if (memcmp(a.eval[k], b.eval[k], bytes)) fail_msg("interpreter: %s", c->text);
        if (memcmp(a.device[k], b.device[k], bytes)) fail_msg("device: %s", c->text);
        free(a.eval[k]);
        free(a.device[k]);
        free(b.eval[k]);
        free(b.device[k]);
    }
    vy_module_free(plain);
    vy_module_free(placed);
}

static bool shows(const char *text, bool by_invocation, const char *shape)
{
    vy_module *m = optimised(text, by_invocation, 1);
    char *printed = vy_print(m, NULL);
    const bool found = strstr(printed, shape) != NULL;
    vy_free(printed);
    vy_module_free(m);
    return found;
}

static void bits_stay(void **state)
{
    gpu *g = *state;
    static const uint32_t sizes[] = {1, 4, 5};
    const vy_features have = g->device ? vkrt_device_features(g->device) : 0;
    for (size_t k = 0; k < COUNT(cases); k++) {
        char *text = cases[k].gradient ? gradient(cases[k].text) : strdup(cases[k].text);
        const vy_type t = strstr(text, "in f64")   ? VY_F64
                          : strstr(text, "in f16") ? VY_F16
                                                   : VY_F32;
        gpu none = {0};
        const bool can = t != VY_F64 || have & VY_FEATURE_BIT(FLOAT64);
        if (!shows(text, true, cases[k].placed) || shows(text, false, cases[k].placed))
            fail_msg("%s is not what becomes of\n%s", cases[k].placed, text);
        for (size_t s = 0; s < COUNT(sizes); s++)
            for (uint32_t steps = 0; steps <= STEPS; steps += 3) {
                device_case c = make_case(text, t, sizes[s], steps);
                same_bits(can ? g : &none, &c, s % 2 ? 1 : 2);
            }
        free(text);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(bits_stay)};
    return cmocka_run_group_tests(tests, gpu_open, gpu_close);
}
