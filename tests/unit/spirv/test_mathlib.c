// SPDX-License-Identifier: MIT
// test_mathlib.c: every function of spirv/mathlib.vyre and mathplain.vyre within the bounds of
// tests/math/bounds.txt.  scripts/spirv/functions.py does the same on devices, with the special values.
//
// The functions run in the interpreter, whose + − · / and square root are correctly rounded; the
// reference is x87 long double, and the double functions of ir/core/special.h for the gamma family.
// The bounds include the error that a device's less accurate division adds (bounds.txt says how
// they were measured).
#include "ir/core/special.h"
#include "ir/vyre.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <float.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { POINTS = 3000, MOST = 400000 };

typedef struct row {
    char name[40]; // "polygamma:2" is split
    unsigned order;
    bool f32, plain;
    double lo, hi, ulp, abs;
} row;

static long double sigmoidl(long double x) { return 1 / (1 + expl(-x)); }
static long double softplusl(long double x)
{
    return x > 0 ? x + log1pl(expl(-x)) : log1pl(expl(x));
}
static long double rsqrtl(long double x) { return 1 / sqrtl(x); }
static long double digammal(long double x) { return vy_ref_digamma((double)x); }

static const struct {
    const char *name;
    long double (*one)(long double);
    long double (*two)(long double, long double);
    double slack; // error of the reference itself, in ULP of f64
} references[] = {
    {"exp", expl, NULL, 0},           {"exp2", exp2l, NULL, 0},
    {"expm1", expm1l, NULL, 0},       {"log", logl, NULL, 0},
    {"log2", log2l, NULL, 0},         {"log10", log10l, NULL, 0},
    {"log1p", log1pl, NULL, 0},       {"pow", NULL, powl, 0},
    {"cbrt", cbrtl, NULL, 0},         {"rsqrt", rsqrtl, NULL, 0},
    {"hypot", NULL, hypotl, 0},       {"sin", sinl, NULL, 0},
    {"cos", cosl, NULL, 0},           {"tan", tanl, NULL, 0},
    {"asin", asinl, NULL, 0},         {"acos", acosl, NULL, 0},
    {"atan", atanl, NULL, 0},         {"atan2", NULL, atan2l, 0},
    {"sinh", sinhl, NULL, 0},         {"cosh", coshl, NULL, 0},
    {"tanh", tanhl, NULL, 0},         {"asinh", asinhl, NULL, 0},
    {"acosh", acoshl, NULL, 0},       {"atanh", atanhl, NULL, 0},
    {"erf", erfl, NULL, 0},           {"erfc", erfcl, NULL, 0},
    {"lgamma", lgammal, NULL, 0},     {"sigmoid", sigmoidl, NULL, 0},
    {"softplus", softplusl, NULL, 0}, {"digamma", digammal, NULL, 4},
    {"polygamma", NULL, NULL, 4},     {"fmod", NULL, fmodl, 0},
};

static uint64_t seed = 88172645463325252u;

static uint64_t next_random(void)
{
    seed ^= seed << 13;
    seed ^= seed >> 7;
    return seed ^= seed << 17;
}

// An argument in lo … hi: any bit pattern, or evenly over the everyday range.
static double argument(const row *r)
{
    for (int tries = 0; tries < 200; tries++) {
        double x;
        uint64_t bits = next_random();
        if (bits & 1) {
            double a = fmax(r->lo, -12), b = fmin(r->hi, 12);
            x = a + (b - a) * ((double)(bits >> 11) * 0x1p-53);
        } else if (r->f32) {
            uint32_t u = (uint32_t)(bits >> 32);
            float f;
            memcpy(&f, &u, sizeof f);
            x = f;
        } else {
            bits = next_random();
            memcpy(&x, &bits, sizeof x);
        }
        if (r->f32) x = (float)x;
        bool normal = r->f32 ? fabs(x) >= FLT_MIN : fabs(x) >= DBL_MIN;
        if (isfinite(x) && normal && x >= r->lo && x <= r->hi) return x;
    }
    return r->f32 ? (float)fmin(fmax(1, r->lo), r->hi) : fmin(fmax(1, r->lo), r->hi);
}

static long double exact(const row *r, size_t ref, double x, double y)
{
    if (references[ref].one) return references[ref].one(x);
    if (references[ref].two) return references[ref].two(x, y);
    return vy_ref_polygamma(r->order, x);
}

// Error in ULP of the type, 0 where the rules at the head of bounds.txt accept the value.
static double error_of(const row *r, double got, long double want)
{
    long double most = r->f32 ? FLT_MAX : DBL_MAX, least = r->f32 ? FLT_MIN : DBL_MIN;
    int digits = r->f32 ? 24 : 53, lowest = r->f32 ? -126 : -1022;
    if (isnan(want)) return isnan(got) ? 0 : INFINITY;
    int e = want == 0 || isinf(want) ? lowest : ilogbl(want);
    long double ulp = ldexpl(1, (e > lowest ? e : lowest) - digits + 1);
    if (fabsl(want) > most - r->ulp * ulp && isinf(got) && (got > 0) == (want > 0)) return 0;
    if (fabsl(want) < least && got == 0) return 0;
    if (isnan(got) || isinf(got)) return INFINITY;
    if (fabsl(got - want) <= r->abs) return 0;
    return (double)(fabsl(got - want) / ulp);
}

static void make_program(const row *r, size_t ref, const char *library, char *text, size_t size)
{
    const char *type = r->f32 ? "f32" : "f64", *of = r->plain ? "plain" : type;
    char call[120];
    if (strcmp(r->name, "polygamma") == 0)
        snprintf(call, sizeof call, "polygamma_%s(%u, x[i])", type, r->order);
    else
        snprintf(call, sizeof call, "%s_%s(x[i]%s)", r->name, of,
                 references[ref].two ? ", z[i]" : "");
    int n = snprintf(text, size,
                     "%s\nprogram t(x: in %s[N], z: in %s[N], y: out %s[N], N: u32) over(i: N) "
                     "{ y[i] = %s; }",
                     library, type, type, type, call);
    assert_true(n > 0 && (size_t)n < size);
}

static void check_row(const row *r, const char *library)
{
    static char text[MOST + 1000];
    static double x[POINTS], z[POINTS];
    static float xf[POINTS], zf[POINTS], yf[POINTS];
    static double y[POINTS];
    size_t ref = 0, count = sizeof references / sizeof *references;
    while (ref < count && strcmp(references[ref].name, r->name) != 0) ref++;
    if (ref == count) fail_msg("%s has no reference", r->name);
    make_program(r, ref, library, text, sizeof text);
    vy_module *m = vy_parse(text, strlen(text), "mathlib");
    if (!vy_module_ok(m)) fail_msg("%s: %s", r->name, vy_module_diag(m)->text);
    for (int i = 0; i < POINTS; i++) {
        x[i] = argument(r), z[i] = argument(r);
        xf[i] = (float)x[i], zf[i] = (float)z[i];
    }
    uint64_t shape = POINTS;
    vy_eval_buffer buffers[3] = {{"x", r->f32 ? (void *)xf : x, &shape, 1},
                                 {"z", r->f32 ? (void *)zf : z, &shape, 1},
                                 {"y", r->f32 ? (void *)yf : y, &shape, 1}};
    vy_diag d = {0};
    vy_program *p = vy_module_program(m, 0);
    if (!vy_eval(p, buffers, 3, NULL, 0, NULL, NULL, &d)) fail_msg("%s: %s", r->name, d.text);
    double bound = r->ulp + (r->f32 ? 0 : references[ref].slack);
    for (int i = 0; i < POINTS; i++) {
        double got = r->f32 ? (double)yf[i] : y[i];
        long double want = exact(r, ref, x[i], z[i]);
        double e = error_of(r, got, want);
        if (!(e <= bound))
            fail_msg("%s %s(%a, %a) = %a, exact %La: %.3g ULP, promised %.3g", r->name,
                     r->plain ? "plain"
                     : r->f32 ? "f32"
                              : "f64",
                     x[i], z[i], got, want, e, bound);
    }
    vy_module_free(m);
}

// Appends the file to the text at `at`; returns the new end.
static size_t read_file(const char *root, const char *name, char *text, size_t at)
{
    char path[4096];
    snprintf(path, sizeof path, "%s/%s", root, name);
    FILE *f = fopen(path, "rb");
    if (!f) fail_msg("cannot read %s", path);
    size_t n = fread(text + at, 1, MOST - at - 1, f);
    fclose(f);
    assert_true(n > 0 && at + n < MOST - 1);
    text[at + n] = 0;
    return at + n;
}

static void every_function_within_its_bound(void **state)
{
    (void)state;
    const char *root = getenv("SRC") ? getenv("SRC") : ".";
    char path[4096], line[300], name[40], type[8];
    static char library[MOST];
    read_file(root, "spirv/mathplain.vyre", library,
              read_file(root, "spirv/mathlib.vyre", library, 0));
    snprintf(path, sizeof path, "%s/tests/math/bounds.txt", root);
    FILE *f = fopen(path, "r");
    if (!f) fail_msg("cannot read %s", path);
    int rows = 0;
    while (fgets(line, sizeof line, f)) {
        row r = {0};
        if (sscanf(line, "%39s %7s %lf %lf %lf %lf", name, type, &r.lo, &r.hi, &r.ulp, &r.abs) !=
                6 ||
            name[0] == '#')
            continue;
        r.plain = strcmp(type, "plain") == 0;
        r.f32 = r.plain || strcmp(type, "f32") == 0;
        if (r.plain && strcmp(name, "rsqrt") == 0) continue; // the device's own instruction
        if (sscanf(name, "polygamma:%u", &r.order) == 1) snprintf(name, sizeof name, "polygamma");
        memcpy(r.name, name, sizeof r.name);
        check_row(&r, library);
        rows++;
    }
    fclose(f);
    assert_true(rows >= 93);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(every_function_within_its_bound)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
