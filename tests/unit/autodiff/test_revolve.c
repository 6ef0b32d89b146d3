// SPDX-License-Identifier: MIT
// test_revolve.c: `repeat … checkpoint(revolve, k)`: the gradient is that of the plain repeat bit
// for bit, at most the binomial number of steps run again, and k snapshots are kept.
#include "tests/unit/eval_util.h"
#include "autodiff/explain.h"
#include "autodiff/grad.h"
#include "ir/core/ir.h"
#include "tests/unit/failing.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define STEPS                                                                                      \
    "program grow(u: inout f32[N], a: in f32[N], N: u32) over(i: N) {\n"                           \
    "    u[i] = sin(u[i]) * a[i] + u[i] * u[i] * 0.5;\n}\n"                                        \
    "program mix(u: in f32[N], v: out f32[N], a: in f32[N], N: u32) over(i: N) {\n"                \
    "    v[i] = u[i] + a[i] * (u[max(i, 1) - 1] - u[i]) * u[i];\n}\n"                              \
    "program plus(u: in f32[N], v: inout f32[N], N: u32) over(i: N) {\n"                           \
    "    v[i] += u[i] * u[i];\n}\n"                                                                \
    "program total(u: in f32[N], y: out f32[1], N: u32) over(one: 1) {\n"                          \
    "    var s = 0.0;\n    for i in 0..N { s += u[i] * u[i]; }\n    y[0] = s;\n}\n"                \
    "pipeline f(x: in f32[N], a: in f32[N], y: out f32[1], N: u32, T: u32) {\n"

// %s: `checkpoint(…)` or nothing.
static const char *const bodies[] = {
    // in place
    STEPS "    @init(x) buffer u: f32[N];\n"
          "    repeat t in 0..T %s { grow(u, a); }\n    total(u, y);\n}\n",
    // two states, an intermediate
    STEPS "    @init(x) buffer u: f32[N]; @init(a) buffer w: f32[N];\n"
          "    repeat t in 0..T %s { buffer v: f32[N]; mix(u, v, w); grow(v, a); mix(v, u, a);"
          " grow(w, x); }\n    total(u, y);\n}\n",
    // an intermediate that begins as zeros
    STEPS "    @init(x) buffer u: f32[N];\n"
          "    repeat t in 0..T %s { buffer v: f32[N]; plus(u, v); grow(u, v); grow(u, a); }\n"
          "    total(u, y);\n}\n",
    // slices numbered by a remainder
    STEPS "    buffer u: f32[2, N];\n    mix(x, u[1], a);\n"
          "    repeat t in 1..T + 1 %s { mix(u[t % 2], u[(t + 1) % 2], a); }\n"
          "    total(u[(T + 1) % 2], y);\n}\n",
    // inside another repeat, whose iterations are checkpoints of it
    STEPS "    @init(x) buffer u: f32[N];\n    repeat s in 0..2 {\n"
          "        repeat t in 0..T %s { grow(u, a); }\n    }\n    total(u, y);\n}\n",
};

enum { N = 5 };

// bodies[which] with `kept` in place of its %s; percent signs are otherwise not special.
static char *text_of(int which, const char *kept)
{
    const char *at = strstr(bodies[which], "%s");
    char *text = malloc(strlen(bodies[which]) + strlen(kept) + 1);
    sprintf(text, "%.*s%s%s", (int)(at - bodies[which]), bodies[which], kept, at + 2);
    return text;
}

static vy_module *parse(int which, const char *kept)
{
    char *text = text_of(which, kept);
    vy_module *m = vy_parse(text, strlen(text), "f");
    if (!vy_module_ok(m)) fail_msg("%s: %s", text, vy_module_diag(m)->text);
    free(text);
    return m;
}

static void gradient(int which, const char *kept, uint32_t T, float out[2 * N])
{
    const float x[N] = {0.3F, -0.2F, 0.5F, 0.1F, 0.7F}, a[N] = {0.9F, 0.8F, -0.7F, 0.2F, 0.4F};
    vy_module *m = parse(which, kept);
    vy_diag d = {0};
    vy_module *g = vy_grad(m, &(vy_grad_options){.program = "f"}, &d);
    if (!g) fail_msg("%s: %s", kept, d.text);
    const uint64_t shape[1] = {N};
    const vy_eval_buffer buffers[] = {{"x", (void *)x, shape, 1},
                                      {"a", (void *)a, shape, 1},
                                      {"grad_x", out, shape, 1},
                                      {"grad_a", out + N, shape, 1}};
    const vy_eval_scalar scalars[] = {{"N", {.u = N}}, {"T", {.u = T}}};
    const vy_pipeline *l = vy_module_pipeline(g, vy_module_pipeline_count(g) - 1);
    vy_eval_report report = {0};
    if (!vy_eval_pipeline(l, buffers, 4, scalars, 2, NULL, &report, &d))
        fail_msg("%s, T = %u: %s", kept, T, d.text);
    vy_module_free(g);
    vy_module_free(m);
}

static void test_same_bits(void **state)
{
    (void)state;
    static const uint32_t lengths[] = {0, 1, 2, 3, 5, 9, 16, 40}, snapshots[] = {1, 2, 3, 7, 50};
    for (int which = 0; which < (int)(sizeof bodies / sizeof *bodies); which++)
        for (size_t i = 0; i < sizeof lengths / sizeof *lengths; i++) {
            float plain[2 * N] = {0}, revolved[2 * N] = {0};
            gradient(which, "", lengths[i], plain);
            for (size_t k = 0; k < sizeof snapshots / sizeof *snapshots; k++) {
                char kept[40];
                if (snapshots[k] > 7 && i > 4) continue;
                snprintf(kept, sizeof kept, "checkpoint(revolve, %u)", snapshots[k]);
                gradient(which, kept, lengths[i], revolved);
                if (memcmp(plain, revolved, sizeof plain) != 0)
                    fail_msg("body %d, %s, T = %u: other bits", which, kept, lengths[i]);
            }
        }
}

static uint64_t choose(uint64_t n, uint64_t k)
{
    uint64_t c = 1;
    for (uint64_t i = 1; i <= k; i++) c = c * (n - k + i) / i;
    return n < k ? 0 : c;
}

// The least number of steps that run again: r·T − C(k + r, k + 1), r the least with C(k + r, k) ≥ T.
static uint64_t binomial(uint64_t T, uint64_t k)
{
    uint64_t r = 0;
    while (choose(k + r, k) < T) r++;
    return T ? r * T - choose(k + r, k + 1) : 0;
}

static void count(uint32_t T, uint32_t k)
{
    char kept[40];
    snprintf(kept, sizeof kept, "checkpoint(revolve, %u)", k);
    vy_module *m = parse(0, kept);
    vy_diag d = {0};
    const vy_sizes sizes = {.scalars = (int64_t[]){N, T}, .known = (bool[]){true, true}};
    vy_pipeline_explanation *e =
        vy_explain_pipeline(m, &(vy_grad_options){.program = "f", .apart = true}, NULL, &sizes, &d);
    if (!e) fail_msg("%s", d.text);
    // The loss forwards is left out; backwards 1, each step once forwards, once to be reversed, and
    // its gradient.
    const vy_amount *all = &e->gradient.work[VY_PIPE_COMPUTES], *bytes = &e->kept[0].all;
    const uint64_t expected = 1 + 3 * (uint64_t)T + binomial(T, k);
    if (!all->known || all->value != expected)
        fail_msg("T = %u, k = %u: %llu dispatches, not %llu", T, k, (unsigned long long)all->value,
                 (unsigned long long)expected);
    if (!bytes->known || bytes->value != 4 * (uint64_t)N * k)
        fail_msg("T = %u, k = %u: %llu bytes are kept", T, k, (unsigned long long)bytes->value);
    vy_pipeline_explanation_free(e);
    vy_module_free(m);
}

static void test_counts(void **state)
{
    (void)state;
    static const uint32_t lengths[] = {0, 1, 2, 3, 4, 7, 11, 36, 60};
    for (size_t i = 0; i < sizeof lengths / sizeof *lengths; i++)
        for (uint32_t k = 1; k <= 4; k++) count(lengths[i], k);
}

// No allocation that fails leaks or crashes.
static void test_memory(void **state)
{
    (void)state;
    vy_module *m = parse(1, "checkpoint(revolve, 2)");
    vy_module *g = NULL;
    for (long n = 0; !g; n = next_failing(n)) {
        vy_diag d = {0};
        vy_test_fail_after(n);
        g = vy_grad(m, &(vy_grad_options){.program = "f"}, &d);
        vy_test_fail_after(-1);
        if (!g) assert_true(vy_diag_is(&d, VY_E_MEMORY));
    }
    vy_module_free(g);
    vy_module_free(m);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_same_bits),
                                       cmocka_unit_test(test_counts),
                                       cmocka_unit_test(test_memory)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
