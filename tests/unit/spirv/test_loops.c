// SPDX-License-Identifier: MIT
// test_loops.c: every way to enter, continue and leave a loop, on the device against the
// interpreter.
//
// Programs are composed from tables: a header, a body, an exit, and a guard around the loop.
// Invocations leave their loops in different iterations, so that state which a driver corrupts for
// those that left first is noticed.  Precise mode, so that both engines round alike.  Every
// combination of header, body and exit runs, with levels, guards and sizes in turn; gradients of
// every header × exit with the bodies in turn.
//   VYRE_SHARE=N     every Nth, from one on that VYRE_FRESH_SEED chooses, as the runner asks
//   VYRE_LOOPS=all   every combination, gradients too (minutes)
//   VYRE_LOOPS=TEXT  prints and runs those whose name contains TEXT, "rev/swap/break after/data"
#include "session/session.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#define COUNT(a) (sizeof(a) / sizeof *(a))

typedef struct part {
    const char *name, *text, *end; // `end` of headers: what closes them
} part;

// Each gives the body a u32 `k`; trip counts differ.
static const part headers[] = {
    {"literals", "for k in 0u..6u {", "}"},
    {"scalar", "for k in 0u..K {", "}"},
    {"from i", "for k in i..N {", "}"},
    {"to i", "for k in 0u..i % 9u {", "}"},
    {"data", "for k in 0u..n[i] {", "}"},
    {"from data", "for k in n[i]..K + 2u {", "}"},
    {"rev from i", "for k in rev(i..N) {", "}"},
    {"rev data", "for k in rev(0u..n[i]) {", "}"},
    {"step", "for k in i..N + i step 3u {", "}"},
    {"rev step", "for k in rev(i..N) step K {", "}"},
    {"signed", "for k_ in -2..i32(n[i]) { let k = u32(k_ + 2);", "}"},
    {"while counter", "while q < n[i] { let k = q; q += 1u;", "}"},
    {"while data", "while x[q] < 0.7 && q < N { let k = q; q += 1u;", "}"},
    {"while array", "while { let h = v[q % 4u] + x[q]; h < 0.6 && q < 12u } { let k = q; q += 1u;",
     "}"},
    {"nested", "for j in 0u..n[i] { for k in j..K {", "}}"},
    {"triangle", "for j in 0u..3u { for k in j..3u {", "}}"},
    {"rev from minimum", "for k_ in rev(min(i32(n[i]), 2)..7) { let k = u32(k_);", "}"},
    {"rev from clamp", "for k_ in rev(clamp(i32(n[i]) - 3, -2, 1)..4) { let k = u32(k_ + 2);", "}"},
    {"rev from scalar", "for k_ in rev(min(i32(K), 2)..7) { let k = u32(k_);", "}"},
    {"to minimum", "for k in 0u..min(n[i], 5u) {", "}"},
    {"while down", "while p > min(i32(n[i]), 2) { p -= 1; let k = u32(p);", "}"},
    {"while falling", "while g > min(w[i], 1.0) { g -= 0.5; let k = u32(g * 2.0);", "}"},
    {"in while", "while q < n[i] { q += 2u; for k in q..i % 7u + 3u {", "}}"},
};

static const part bodies[] = {
    {"horner", "a = a * 0.5 + x[k];", ""},
    {"subtract", "a = x[k] - a;", ""},
    {"two", "let t = a; a = b * 0.5 + x[k]; b = t * 0.25 - x[i];", ""},
    {"swap", "let t = a; a = b; b = t + x[k];", ""},
    {"array", "v[k % 4u] += x[k]; a = v[(k + i) % 4u];", ""},
    {"choice", "if x[k] > 0.1 { a += x[k]; } else { b += 0.5; }", ""},
    {"kinds", "f = f != (x[k] > 0.2); m += i32(k) - 3; u = u * 3u + k; a += f ? 0.5 : x[k];", ""},
    {"last", "a = x[k];", ""},
    {"index", "u = k; a += x[k];", ""},
    {"product", "b = x[k] * w[i]; a += b;", ""},
    {"store", "s[i] = s[i] * 0.5 + x[k]; a = s[i];", ""},
    {"greatest", "a = max(a * 0.9, x[k] * w[k]);", ""},
    {"function", "a = sqrt(abs(a) + x[k] * x[k]);", ""},
};

// `text` before the body, `end` after it.
static const part exits[] = {
    {"none", "", ""},
    {"break before", "if f32(k) > w[i] * 4.0 { break; }", ""},
    {"break after", "", "if a + b > w[i] * 2.0 { break; }"},
    {"continue", "if (k + i) % 3u == 1u { continue; }", ""},
    {"return", "", "if a > w[i] * 2.5 { y[i] = a; return; }"},
    {"break in if", "", "if x[k] > 0.0 { if a > w[i] { break; } a += 0.125; }"},
    {"both", "if (k + i) % 4u == 1u { continue; }", "if a + b > w[i] * 2.0 { break; }"},
    {"break at minimum", "", "if i32(k) <= min(i32(n[i]), 2) { break; }"},
    {"break twice", "if x[k] > 0.9 { break; }", "if a < w[i] - 1.5 { break; }"},
};

static const part guards[] = {
    {"plain", "", ""},
    {"domain", "if i < N {", "}"},
    {"data", "if x[i] > -0.5 {", "}"},
    {"count", "if n[i] > 1u {", "}"},
};

enum { MOST = 61 };
static const uint32_t sizes[] = {MOST, 8, 1};

typedef struct data {
    float x[MOST], w[MOST], s[MOST];
    uint32_t n[MOST];
} data;

typedef struct table {
    vys_session *eval, *device; // device NULL: there is none
    data in;
    uint32_t share, first; // every share-th combination is run
    const char *only;
    uint32_t runs, wrong;
} table;

static void fill(data *d)
{
    for (uint32_t i = 0; i < MOST; i++) {
        d->x[i] = (float)((int)(i * 37 % 64) - 30) / 32;
        d->w[i] = (float)(i * 29 % 32) / 16;
        d->s[i] = (float)(i * 11 % 16) / 8 - 1;
        d->n[i] = (i * 7 + 3) % 9;
    }
}

static void compose(char *text, size_t size, const part *guard, const part *header,
                    const part *body, const part *exit)
{
    snprintf(
        text, size,
        "program p(x: in f32[N], w: in f32[N], n: in u32[N], s: inout f32[N], y: out f32[N], z: out f32[N],\n"
        "          N: u32, K: u32) over(i: N)\n"
        "{\n"
        "    var a = 0.25; var b = w[i]; var q = 0u; var m = 0; var u = 1u; var f = false; var p = 8; var g = 4.0;\n"
        "    local v: f32[4];\n"
        "    %s %s %s %s %s %s %s\n"
        "    y[i] = a + b * x[u %% N] + v[1] * 2.0 + v[i %% 4u];\n"
        "    z[i] = f32(m) + f32(u %% 1000u) + f32(q) + (f ? 0.5 : x[i]) * a;\n"
        "}\n",
        guard->text, header->text, exit->text, body->text, exit->end, header->end, guard->end);
}

static bool run(vys_session *s, const data *in, const char *text, int level, bool gradient,
                uint32_t n, float *y, float *z, vy_diag *d)
{
    static const char *const wrt[] = {"x", "w"};
    const vys_settings settings = {.level = level ? VYS_O2 : VYS_O0,
                                   .order = gradient,
                                   .wrt = gradient ? wrt : NULL,
                                   .wrt_count = gradient ? 2 : 0,
                                   .precise = true,
                                   .no_validate = true};
    const uint64_t count = n;
    vys_task *t = NULL;
    bool ok = vys_task_parse(s, text, strlen(text), "loop", &settings, &t, d) &&
              vys_set(t, "x", VY_F32, 1, &count, in->x, d) &&
              vys_set(t, "w", VY_F32, 1, &count, in->w, d) &&
              vys_set(t, "n", VY_U32, 1, &count, in->n, d) &&
              vys_set(t, "s", VY_F32, 1, &count, in->s, d) && vys_set_int(t, "K", 5, d) &&
              vys_run(t, d) && vys_read(t, gradient ? "grad_x" : "y", VY_F32, y, 4 * count, d) &&
              vys_read(t, gradient ? "grad_w" : "z", VY_F32, z, 4 * count, d);
    vys_task_free(t);
    return ok;
}

static bool same(float a, float b)
{
    return isnan(a) || isnan(b) ? isnan(a) && isnan(b) : fabsf(a - b) <= 2e-5f * fmaxf(1, fabsf(a));
}

static void check(table *t, const char *name, const char *text, int level, bool gradient,
                  uint32_t n)
{
    float want[2][MOST], got[2][MOST];
    vy_diag d = {0};
    if (!run(t->eval, &t->in, text, level, gradient, n, want[0], want[1], &d) ||
        !run(t->device, &t->in, text, level, gradient, n, got[0], got[1], &d))
        fail_msg("%s: [%s] %s\n%s", name, d.code, d.text, text);
    t->runs++;
    for (uint32_t k = 0; k < 2 * n; k++) {
        const float a = want[k / n][k % n], b = got[k / n][k % n];
        if (same(a, b)) continue;
        if (t->wrong++ < 5)
            print_message("%s -O%d%s N=%u: %s[%u] is %g, not %g\n%s", name, level,
                          gradient ? " gradient" : "", n, k < n ? "first" : "second", k % n, b, a,
                          text);
        return;
    }
}

static void check_all(table *t, const char *name, const char *text, uint32_t combination,
                      bool gradient)
{
    const bool all = t->only != NULL;
    for (int level = 0; level <= 2; level += 2)
        for (uint32_t k = 0; k < COUNT(sizes); k++)
            if (all || (level == (int)(combination % 2) * 2 &&
                        k == (combination % 5 ? 0 : 1 + combination / 5 % 2)))
                check(t, name, text, level, gradient, sizes[k]);
}

static void each_loop(table *t, bool gradient)
{
    char text[2000], name[200];
    uint32_t combination = 0;
    t->runs = t->wrong = 0;
    for (uint32_t h = 0; h < COUNT(headers); h++)
        for (uint32_t b = 0; b < COUNT(bodies); b++)
            for (uint32_t e = 0; e < COUNT(exits); e++, combination++)
                for (uint32_t g = 0; g < COUNT(guards); g++) {
                    const bool chosen = g == (h + b + e) % COUNT(guards) &&
                                        (!gradient || b == (h + 3 * e) % COUNT(bodies));
                    if (!t->only &&
                        (!chosen || (combination / COUNT(exits) + e + t->first) % t->share))
                        continue;
                    snprintf(name, sizeof name, "%s/%s/%s/%s", headers[h].name, bodies[b].name,
                             exits[e].name, guards[g].name);
                    if (t->only && strcmp(t->only, "all") && !strstr(name, t->only)) continue;
                    compose(text, sizeof text, &guards[g], &headers[h], &bodies[b], &exits[e]);
                    check_all(t, name, text, h + b + e, gradient);
                }
    print_message("%u of %u runs differ\n", t->wrong, t->runs);
    assert_int_equal(t->wrong, 0);
}

static void loops_give_what_the_interpreter_gives(void **state)
{
    table *t = *state;
    if (!t->device) skip();
    each_loop(t, false);
}

static void their_gradients_too(void **state)
{
    table *t = *state;
    if (!t->device) skip();
    each_loop(t, true);
}

static int open_engines(void **state)
{
    static table t;
    vy_diag d = {0};
    fill(&t.in);
    t.only = getenv("VYRE_LOOPS");
    t.share = getenv("VYRE_SHARE") ? (uint32_t)atoi(getenv("VYRE_SHARE")) : 1;
    if (t.share == 0) t.share = 1;
    const char *seed = getenv("VYRE_FRESH_SEED");
    t.first = seed ? (uint32_t)strtoul(seed, NULL, 10) % t.share : 0;
    if (!vys_open(&(vys_session_desc){.interpreter = true}, &t.eval, &d)) return -1;
    if (!vys_open(&(vys_session_desc){.cache_dir = ""}, &t.device, &d))
        print_message("no device: %s\n", d.text);
    *state = &t;
    return 0;
}

static int close_engines(void **state)
{
    table *t = *state;
    const char *said = t->device ? vys_session_message(t->device, 0) : NULL;
    if (said) print_message("validation: %s\n", said);
    vys_close(t->eval);
    vys_close(t->device);
    return said ? -1 : 0;
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(loops_give_what_the_interpreter_gives),
        cmocka_unit_test(their_gradients_too),
    };
    return cmocka_run_group_tests(tests, open_engines, close_engines);
}
