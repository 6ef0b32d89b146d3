// SPDX-License-Identifier: MIT
// test_parse.c: the text front end and the printer: exact round trips, hostile input, allocations
// that fail.
#define _GNU_SOURCE // nftw, memmem
#include "tests/unit/eval_util.h"
#include "ir/core/ir.h"
#include "ir/text/text.h"
#include "tests/unit/failing.h"

#include <ftw.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

// ------------------------------------------------------------------------------------ round trips
// parse(print(m)) is m, and printing it again gives the same text.
static void check_round_trip(const vy_module *m, const char *what)
{
    size_t size;
    char *text = vy_print(m, &size);
    assert_non_null(text);
    vy_module *again = vy_parse(text, size, "printed");
    assert_non_null(again);
    const vy_diag *d = vy_module_diag(again);
    char *second = vy_module_ok(again) ? vy_print(again, NULL) : NULL;
    bool same = second && strcmp(text, second) == 0;
    if (!same || !vy_module_equal(m, again))
        fprintf(stderr, "%s----\n%s", text, second ? second : "");
    if (!second) fail_msg("%s: line %u of what was printed: %s", what, d->line, d->text);
    if (!same) fail_msg("%s: printing it again differs", what);
    if (!vy_module_equal(m, again)) fail_msg("%s: not the same program", what);
    free(text);
    free(second);
    vy_module_free(again);
}

static char *read_file(const char *path, size_t *size)
{
    FILE *f = fopen(path, "rb");
    if (!f) return NULL;
    fseek(f, 0, SEEK_END);
    long n = ftell(f);
    rewind(f);
    char *text = malloc((size_t)n + 1);
    *size = fread(text, 1, (size_t)n, f);
    fclose(f);
    return text;
}

static int files, programs;

// Each file at each level; where a build is slow, each file at one (VYRE_SHARE is 3 otherwise).
static bool left_out(int level)
{
    return number_in("VYRE_SHARE", 1) > 3 &&
           (files + number_in("VYRE_FRESH_SEED", 0)) % 3 != (level + 1) / 2;
}

static int visit(const char *path, const struct stat *st, int type, struct FTW *walk)
{
    (void)st, (void)walk;
    size_t n = strlen(path), size;
    if (type != FTW_F || n < 5 || strcmp(path + n - 5, ".vyre") != 0) return 0;
    char *text = read_file(path, &size);
    if (!text) return 0;
    files++;
    for (int level = -1; level <= 3; level += 2) {
        if (left_out(level)) continue;
        vy_module *m = vy_parse(text, size, path);
        vy_opt_options options = {.level = level};
        if (vy_module_ok(m) && level > 0) vy_optimize(m, &options);
        if (vy_module_ok(m)) {
            programs += (int)vy_module_program_count(m);
            check_round_trip(m, path);
        } else if (strstr(path, "/diag/") == NULL && !strstr(path, "errors") && level < 0) {
            // Files elsewhere should parse.
            if (!memmem(text, size, "//~ ERROR", 9))
                print_message("%s: %s\n", path, vy_module_diag(m)->text);
        }
        vy_module_free(m);
    }
    free(text);
    return 0;
}

static void test_files(void **state)
{
    (void)state;
    const char *root = getenv("SRC");
    char path[4096];
    const char *folders[] = {"tests/text", "examples", "spirv"};
    if (!root) root = ".";
    for (int i = 0; i < 3; i++) {
        snprintf(path, sizeof path, "%s/%s", root, folders[i]);
        nftw(path, visit, 16, FTW_PHYS);
    }
    print_message("%d programs of %d files\n", programs, files);
    if (getenv("SRC")) assert_true(programs > 50);
}

// ----------------------------------------------------------------------------- random API programs
// Programs through the C API: invalid names, every construct, variables of all types.
typedef struct maker {
    vy_builder *b;
    uint64_t seed;
    vy_value n, i;
    vy_buffer x, y, t;
    vy_var vars[64];
    int count, loops;
} maker;

static uint32_t pick(maker *g, uint32_t n)
{
    g->seed = g->seed * 6364136223846793005u + 1442695040888963407u;
    return (uint32_t)(g->seed >> 33) % n;
}

static vy_value value_of(maker *g, int depth);

static vy_value index_of(maker *g)
{
    switch (pick(g, 4)) {
    case 0: return g->i;
    case 1: return u32(g->b, pick(g, 5));
    case 2: return vy_add(g->b, g->i, u32(g->b, 1));
    default: return vy_cast(g->b, VY_U32, value_of(g, 0));
    }
}

static vy_value value_of(maker *g, int depth)
{
    vy_builder *b = g->b;
    static const char *const unary[] = {"sin", "exp", "abs", "sqrt", "relu", "isnan"};
    static const double constants[] = {0,        -0.0,      1,   0.1,   -3,
                                       INFINITY, -INFINITY, NAN, 1e-40, 3.4e38};
    uint32_t k = depth <= 0 ? pick(g, 3) : pick(g, 10);
    switch (k) {
    case 0: return vy_float(b, VY_F32, constants[pick(g, 10)]);
    case 1:
    case 2: return vy_get(b, g->vars[pick(g, (uint32_t)g->count)]);
    case 3: return load1(b, pick(g, 2) ? g->x : g->t, index_of(g));
    case 4: return vy_add(b, value_of(g, depth - 1), value_of(g, depth - 1));
    case 5: return vy_sub(b, value_of(g, depth - 1), value_of(g, depth - 1));
    case 6: return vy_mul(b, value_of(g, depth - 1), value_of(g, depth - 1));
    case 7: return vy_neg(b, value_of(g, depth - 1));
    case 8: {
        vy_value c = vy_lt(b, value_of(g, depth - 1), value_of(g, depth - 1));
        return vy_select(b, c, value_of(g, depth - 1), value_of(g, depth - 1));
    }
    default: {
        vy_value v = value_of(g, depth - 1);
        return vy_call(b, unary[pick(g, 5)], 1, &v);
    }
    }
}

static vy_value condition(maker *g)
{
    vy_value c = vy_lt(g->b, value_of(g, 1), value_of(g, 1));
    return pick(g, 3) ? c : vy_and(g->b, c, vy_not(g->b, vy_eq(g->b, g->i, g->n)));
}

static void statements(maker *g, int depth);

static void statement(maker *g, int depth)
{
    static const char *const names[] = {"", "a", "a", "for", "1st", "sin", "dot product", "v3",
                                        "gid",
                                        // names that no text can hold are dropped
                                        "back`quote", "line\nbreak", "\xff", "caf\xc3\xa9"};
    vy_builder *b = g->b;
    vy_var v = g->vars[pick(g, (uint32_t)g->count)];
    switch (pick(g, depth > 0 ? 13 : 5)) {
    case 0: {
        vy_value initial = value_of(g, 3);
        if (g->count < 60) g->vars[g->count++] = vy_var_new(b, names[pick(g, 13)], initial);
        break;
    }
    case 1:
    case 2: vy_set(b, v, value_of(g, 3)); break;
    case 3:
        store1(b, pick(g, 2) ? g->y : g->t, vy_add(b, index_of(g), g->i), value_of(g, 3));
        break;
    case 4: {
        vy_value index = index_of(g);
        vy_atomic(b, pick(g, 2) ? "add" : "max", g->y, &index, value_of(g, 1));
        break;
    }
    case 5:
    case 6:
        vy_if(b, condition(g));
        statements(g, depth - 1);
        if (pick(g, 2)) {
            vy_else(b);
            statements(g, depth - 1);
        }
        vy_end(b);
        break;
    case 7:
    case 8:
        vy_for_step(b, names[pick(g, 13)], u32(b, pick(g, 3)), g->n, u32(b, 1 + pick(g, 2)),
                    pick(g, 2));
        g->loops++;
        statements(g, depth - 1);
        g->loops--;
        vy_end(b);
        break;
    case 9:
        vy_while(b);
        vy_while_test(b, condition(g));
        g->loops++;
        statements(g, depth - 1);
        g->loops--;
        vy_end(b);
        break;
    case 10:
        vy_checkpoint(b);
        statements(g, depth - 1);
        vy_end(b);
        break;
    case 11:
        vy_if(b, condition(g));
        if (!g->loops || pick(g, 4) == 0)
            vy_return(b);
        else if (pick(g, 2))
            vy_break(b);
        else
            vy_continue(b);
        vy_end(b);
        break;
    default:
        vy_scope(b);
        statements(g, depth - 1);
        vy_end(b);
        break;
    }
}

static void statements(maker *g, int depth)
{
    int count = g->count;
    for (uint32_t k = 1 + pick(g, 5); k > 0; k--) statement(g, depth);
    g->count = count;
}

static vy_module *random_module(uint64_t seed)
{
    vy_module *m = vy_module_new();
    maker g = {.seed = seed * 77, .b = vy_program_begin(m, seed % 3 ? "random" : "two words")};
    vy_builder *b = g.b;
    g.n = vy_param_scalar(b, "N", VY_U32);
    vy_dim d = vy_dim_value(b, g.n), eight = vy_dim_const(b, 8);
    g.x = vy_param_buffer(b, "x", VY_IN, VY_F32, 1, &d);
    g.y = vy_param_buffer(b, seed % 2 ? "y" : "let", VY_INOUT, VY_F32, 1, &d);
    g.i = vy_over(b, "i", d);
    g.t = vy_local_array(b, "t", VY_F32, 1, &eight);
    g.vars[g.count++] = vy_var_new(b, "first", vy_float(b, VY_F32, 1));
    for (uint32_t k = 0; k < 3; k++) statement(&g, 3);
    vy_if(b, vy_lt(b, g.i, u32(b, 1))); // E0313 would report a store by all invocations as a race
    for (uint32_t k = 0; k < 3; k++) statement(&g, 3);
    for (int k = 0; k < g.count; k++) store1(b, g.y, u32(b, (uint32_t)k), vy_get(b, g.vars[k]));
    vy_end(b);
    vy_program_end(b);
    return m;
}

static void test_random(void **state)
{
    (void)state;
    for (uint64_t seed = 1; seed <= 400; seed++) {
        vy_module *m = random_module(seed);
        char what[40];
        snprintf(what, sizeof what, "seed %d", (int)seed);
        if (!vy_module_ok(m)) fail_msg("%s: %s", what, vy_module_diag(m)->text);
        check_round_trip(m, what);
        vy_opt_options options = {.level = 1 + (int)(seed % 3)};
        assert_true(vy_optimize(m, &options));
        check_round_trip(m, what);
        vy_module_free(m);
    }
}

// ----------------------------------------------------------------------------------------- hostile
static void check_code(const char *text, size_t size, const char *code)
{
    vy_module *m = vy_parse(text, size, "hostile");
    assert_non_null(m);
    const vy_diag *d = vy_module_diag(m);
    if (!code) {
        if (!vy_module_ok(m)) fail_msg("%u:%u: %s", d->line, d->column, d->text);
        check_round_trip(m, "hostile");
    } else {
        assert_int_equal(d->severity, VY_ERROR);
        assert_string_equal(d->code, code);
        assert_true(d->text[0] && d->fix[0]);
    }
    vy_module_free(m);
}

#define HEAD "program p(x: in f32[N], y: out f32[N], N: u32) over(i: N) { "

// HEAD, `first`, n times `again`, `last`.
static void check_long(const char *first, const char *again, size_t n, const char *last,
                       const char *code)
{
    size_t a = strlen(again), size = strlen(HEAD) + strlen(first) + n * a + strlen(last);
    char *text = malloc(size + 1), *s = text;
    s += sprintf(s, "%s%s", HEAD, first);
    for (size_t k = 0; k < n; k++, s += a) memcpy(s, again, a);
    strcpy(s, last);
    check_code(text, size, code);
    free(text);
}

static void test_hostile(void **state)
{
    (void)state;
    check_code("", 0, NULL);
    check_code("\xEF\xBB\xBF// only a comment", 20, NULL);
    check_code("\0\0\0\0", 4, "E0101");
    check_code("program", 7, "E0105");
    check_code("/*", 2, "E0103");
    check_code("/", 1, "E0105");
    check_code("`", 1, "E0101");
    check_code("\xF0\x9F", 2, "E0102");
    check_code("0x", 2, "E0104");
    check_code("program p(", 10, "E0105");
    check_long("y[i] = ", "(", 1000000, "", "E0002");
    check_long("y[i] = ", "-", 1000000, "1; }", "E0002");
    check_long("", "{", 1000000, "", "E0002");
    check_long("", "if i > 0 {", 100000, "", "E0002");
    check_long("y[i] = ", "i > 0 ? 1 : ", 100000, "2; }", "E0002");
    check_long("y[i] = ", "9", 1000000, "; }", "E0002");
    check_long("let ", "a", 1000000, " = 1; }", NULL);
    check_long("y[i] = x[0]", " + x[i]", 100000, "; }", NULL);
    check_long("y[i] = 0", " + 1", 100000, "; }", NULL);
    check_long("var a = x[i];", " a = sin(a);", 100000, " y[i] = a; }", NULL);
    check_long("", "if x[i] > 0 { return; } y[i] = 1;", 2000, "}", NULL);
    check_long("if i == 0 { y[i] = 1; }", " else if i == 1 { y[i] = 2; }", 900, "}", NULL);
    check_long("if i == 0 { y[i] = 1; }", " else if i == 1 { y[i] = 2; }", 9000, "}", "E0002");
    check_long("if true", " && i < N", 50000, " { y[i] = 1; } }", NULL);
    check_long("", "{ let a = x[i]; y[i] = a * a; }", 20000, "}", NULL);
    check_long("", "for k in 0..3 {", 900, "y[i] = 1;", "E0105");
}

static void test_large_file(void **state)
{
    (void)state;
    size_t size = 100u << 20;
    char *text = malloc(size);
    memset(text, 'a', size);
    check_code(text, size, "E0002");
    free(text);
}

static void test_explosion(void **state)
{
    (void)state;
    char text[8192], *s = text;
    for (int k = 0; k < 60; k++)
        s += sprintf(s, "fn g%d(x: f32) -> f32 { return g%d(x) * g%d(x + 1); }\n", k, k + 1, k + 1);
    s += sprintf(s, "fn g60(x: f32) -> f32 { return x; }\n" HEAD "y[i] = g0(x[i]); }");
    check_code(text, (size_t)(s - text), "E0002");
}

// Cut and damaged texts: any diagnostic will do, or a program that survives the round trip.
static const char sample[] =
    "const A: f32 = 1.5e-3; const K: u32 = 1; struct S { a: vec2; w: f32[2]; } // x\n"
    "fn f(a: f32, b: inout f32[]) -> (f32, u32) { if a > 0 { return (a, 1); } b[0] += A;\n"
    "    return (inf, 0x10); }\n"
    "@order(1) program p(@set(1) @binding(3) x: inout f32[N, 2 * N], y: out f64[?], N: u32)\n"
    "    workgroup(8, 8) over(i: N, j: N - 1) {\n"
    "  shared s: f32[4]; local v: i32[3]; var t = x[i, j]; let (q, r) = f(t, s);\n"
    "  var z = S { a: vec2(t), w: f32[K + 1](t, 1) }; z.w[r] *= z.a.yx[lane]; --z.a.y; t = z.w[0];\n"
    "  for k in rev(0..N) step 2 { if t > 3 && x[k, 0] < 1 { break; } t *= q; continue; }\n"
    "  while t < 5 { t = t + (r > 2 ? sin(t) : max(k in 0..3, l in 0..k: x[k, l])); }\n"
    "  checkpoint { v[1] = ~i32(t) & 0xFF ^ 7 % 3; } barrier();\n"
    "  y[gid.x] = f64(atomic_add(s[lane], subgroup_add(t))) - 1.5f64 * f64(v[0] << 2); }\n";

static void test_truncated(void **state)
{
    (void)state;
    size_t n = sizeof sample - 1;
    for (size_t k = 0; k <= n; k++) {
        char *text = malloc(k ? k : 1); // of exactly this size, so that overreads are found
        memcpy(text, sample, k);
        vy_module *m = vy_parse(text, k, "cut");
        assert_non_null(m);
        vy_module_free(m);
        free(text);
    }
}

static void test_damaged(void **state)
{
    (void)state;
    static const char *const tokens[] = {"(",  ")",   "{",  "}",   "[",   "]",      ";",
                                         "x",  "1.5", "..", "for", "if ", "return", "-",
                                         "&&", "?",   ":",  "u32", "0",   ","};
    maker g = {.seed = 5};
    char text[sizeof sample + 64];
    int fine = 0;
    for (int round = 0; round < 20000; round++) {
        size_t n = sizeof sample - 1, at = pick(&g, (uint32_t)n);
        memcpy(text, sample, n);
        if (round % 3 == 0) {
            text[at] = (char)pick(&g, 256);
        } else if (round % 3 == 1) {
            size_t cut = pick(&g, 12) % (n - at);
            memmove(text + at, text + at + cut, n - at - cut);
            n -= cut;
        } else {
            const char *t = tokens[pick(&g, 20)];
            memmove(text + at + strlen(t), text + at, n - at);
            memcpy(text + at, t, strlen(t));
            n += strlen(t);
        }
        vy_module *m = vy_parse(text, n, "damaged");
        assert_non_null(m);
        if (vy_module_ok(m)) {
            check_round_trip(m, "damaged");
            fine++;
        }
        vy_module_free(m);
    }
    assert_true(fine > 100);
}

// ------------------------------------------------------------------------------------------ memory
static void test_no_memory(void **state)
{
    (void)state;
    bool done = false;
    for (long n = 0; !done; n = next_failing(n)) {
        assert_true(n < 100000);
        vy_test_fail_after(n);
        vy_module *m = vy_parse(sample, sizeof sample - 1, "memory");
        vy_test_fail_after(-1);
        if (m && !vy_module_ok(m)) assert_string_equal(vy_module_diag(m)->code, "E0001");
        done = m && vy_module_ok(m);
        vy_module_free(m);
    }
    vy_module *m = vy_parse(sample, sizeof sample - 1, "memory");
    for (long n = 0;; n = next_failing(n)) {
        size_t size = 1;
        vy_test_fail_after(n);
        char *text = vy_print(m, &size);
        vy_test_fail_after(-1);
        if (!text) {
            assert_int_equal(size, 0);
            continue;
        }
        free(text);
        break;
    }
    vy_module_free(m);
}

// ----------------------------------------------------------------------------------- inline source
static void test_inline_source(void **state)
{
    (void)state;
    static const char source[] = "const TWO: f32 = 2;\n"
                                 "fn half(x: f32) -> f32 { return x / TWO; }\n"
                                 "fn both(x: f32, n: i32) -> (f32, f32) { return (x, x); }\n"
                                 "fn both(x: f32, n: u32) -> (f32, f32) {\n"
                                 "    if n > 3 { return (x, half(x)); }\n"
                                 "    return (-x, 0);\n}\n";
    vy_module *m = vy_module_new();
    vy_builder *b = vy_program_begin(m, "p");
    vy_value n = vy_param_scalar(b, "N", VY_U32);
    vy_dim d = vy_dim_value(b, n);
    vy_buffer x = vy_param_buffer(b, "x", VY_IN, VY_F32, 1, &d);
    vy_buffer y = vy_param_buffer(b, "y", VY_OUT, VY_F32, 1, &d);
    vy_value i = vy_over(b, "i", d), results[2];
    vy_value args[2] = {load1(b, x, i), n};
    assert_true(vy_inline_source(b, source, sizeof source - 1, "both", 2, args, 2, results));
    store1(b, y, i, vy_add(b, results[0], results[1]));
    assert_non_null(vy_program_end(b));
    check_round_trip(m, "inlined");

    b = vy_program_begin(m, "q");
    assert_false(vy_inline_source(b, source, sizeof source - 1, "none", 0, NULL, 0, NULL));
    vy_program_abandon(b);
    assert_string_equal(vy_module_diag(m)->code, "E0003");
    vy_module_free(m);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_files),         cmocka_unit_test(test_random),
        cmocka_unit_test(test_hostile),       cmocka_unit_test(test_large_file),
        cmocka_unit_test(test_explosion),     cmocka_unit_test(test_truncated),
        cmocka_unit_test(test_damaged),       cmocka_unit_test(test_no_memory),
        cmocka_unit_test(test_inline_source),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
