// SPDX-License-Identifier: MIT
// test_spirv.c: the emitter without a device: validity for every target and mode, reproducible
// bytes, features, descriptions, serialisers, lack of memory.
#include "ir/core/ir.h"
#include "spirv/spirv.h"
#include "spirv/write/text.h"
#include <spirv/unified1/spirv.h>
#include "ir/build/edit.h"
#include "tests/unit/failing.h"

#include <pthread.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cjson/cJSON.h>
#include <cmocka.h>

#define COUNT(a) (sizeof(a) / sizeof *(a))

// Every type, operation and statement of the language is somewhere in here.
static const char *const corpus[] = {
    "program ints(a: in i32[N], b: in i32[N], o: out i32[N, 8], N: u32) over(i: N) {\n"
    "  o[i,0] = a[i] / b[i]; o[i,1] = a[i] % b[i]; o[i,2] = a[i] << b[i]; o[i,3] = a[i] >> b[i];\n"
    "  o[i,4] = min(a[i], b[i]); o[i,5] = max(a[i], b[i]); o[i,6] = popcount(a[i]);\n"
    "  o[i,7] = (sign(a[i]) + abs(b[i]) * 7 % 5) & ~a[i] | b[i] ^ 3; }",
    "program longs(a: in i64[N], b: in u64[N], o: out i64[N, 8], N: u32) over(i: N) {\n"
    "  o[i,0] = a[i] / i64(b[i]); o[i,1] = a[i] % i64(b[i]); o[i,2] = a[i] << 3; o[i,3] = a[i] >> i64(b[i]);\n"
    "  o[i,4] = min(a[i], i64(b[i])); o[i,5] = i64(popcount(b[i])); o[i,6] = i64(f64(a[i])); o[i,7] = i64(f32(b[i])); }",
    "program casts(x: in f32[N], h: in f16[N], d: in f64[N], oi: out i32[N], ou: out u32[N], ol: out i64[N],\n"
    "  ob: out bool[N], oh: out f16[N], od: out f64[N], N: u32) over(i: N) {\n"
    "  oi[i] = i32(x[i]) + i32(h[i]) + i32(d[i]) + bitcast_i32(x[i]); ou[i] = u32(x[i]); ol[i] = i64(x[i]) + i64(d[i]);\n"
    "  ob[i] = bool(x[i]) || isnan(h[i]) || isinf(d[i]) || isnan(x[i]); oh[i] = f16(d[i]) + f16(x[i]) + h[i] + f16(i);\n"
    "  od[i] = f64(h[i]) + f64(x[i]) + f64(i); }",
    "program small(a: in i8[N], b: in u8[N], c: in i16[N], d: in u16[N], oa: out i8[N], ob: out u8[N], oc: out i16[N],\n"
    "  od: out u16[N], N: u32) over(i: N) { shared s: i32[64]; s[lid.x] = c[i]; barrier();\n"
    "  oa[i] = a[i] + i32(b[i]); ob[i] = b[i] * 2u; oc[i] = s[63u - lid.x]; od[i] = d[i]; }",
    "program math(x: in f32[N], o: out f32[N], N: u32) over(i: N) { var v = x[i];\n"
    "  v += sqrt(v) + rsqrt(v) + cbrt(v) + exp(v) + exp2(v) + expm1(v) + log(v) + log2(v) + log10(v) + log1p(v);\n"
    "  v += sin(v) + cos(v) + tan(v) + asin(v) + acos(v) + atan(v) + sinh(v) + cosh(v) + tanh(v) + asinh(v) + acosh(v) + atanh(v);\n"
    "  v += floor(v) + ceil(v) + trunc(v) + round(v) + fract(v) + erf(v) + erfc(v) + lgamma(v) + digamma(v) + sigmoid(v) + relu(v);\n"
    "  v += softplus(v) + recip(v) + pow(v, 2.0) + pow(v, v) + pow(v, 2.5) + pow(v, -3.0) + atan2(v, x[i]) + hypot(v, x[i]);\n"
    "  v += mod(v, x[i]) + polygamma(2, v) + fma(v, v, v) + sign(v) + stop_grad(v) + clamp(v, 0.0, 1.0) + mix(v, x[i], 0.5);\n"
    "  o[i] = v + smoothstep(0.0, 1.0, v) + step(0.5, v); }",
    "program mathd(x: in f64[N], o: out f64[N], N: u32) over(i: N) { var v = x[i];\n"
    "  v += sqrt(v) + exp(v) + log(v) + sin(v) + tanh(v) + erf(v) + lgamma(v) + pow(v, v) + atan2(v, x[i]); o[i] = v; }",
    "program mathh(x: in f16[N], o: out f16[N], N: u32) over(i: N) { let v = x[i];\n"
    "  o[i] = sqrt(v) + exp(v) + expm1(v) + sin(v) + erf(v) + pow(v, v) + round(v); }",
    "program flow(x: in f32[N, M], o: out f32[N], N: u32, M: i32) over(i: N) { var s = 0.0;\n"
    "  for k in 0..M { if x[i, k] > 0.0 { s += x[i, k]; continue; } else if x[i, k] < -5.0 { break; } s *= 2.0; }\n"
    "  for k in rev(0..M) step 3 { s += f32(k); } for k in 0..M step 2 { s -= x[i, k]; } for k in 0..10 step 3 { s += f32(k); }\n"
    "  var n = 0; while s > 1.0 && n < 100 { s = s / 2.0; n += 1; if n == 50 { return; } }\n"
    "  local v: f32[4]; v[n] = s; v[1] += 2.0; checkpoint { s = v[0] * s; }\n"
    "  o[i] = (n > 3 ? v[0] : v[1] + exp(v[2])) + s + sum(k in 0..M: x[i, k]); }",
    "program atomics(x: in f32[N], f: inout f32[16], h: inout f16[15], c: inout i32[8], u: inout u32[4], o: out f32[N],\n"
    "  N: u32) over(i: N) { shared s: f32[4]; atomic_add(f[i % 16u], x[i]); atomic_sub(f[1], 1.0);\n"
    "  o[i] = atomic_add(s[lid.x], x[i]); atomic_add(h[i % 15u], f16(x[i])); atomic_sub(c[i % 8u], 1);\n"
    "  let q = atomic_min(c[3], i32(i)); atomic_or(u[0], i); atomic_and(u[1], i); atomic_xor(u[2], i);\n"
    "  atomic_add(u[3], atomic_exchange(u[2], u32(q)) + atomic_cas(u[1], 1u, 2u)); }",
    "program bits(x: in f32[N], g: inout f32[16], o: out f32[N], N: u32) over(i: N) {\n"
    "  o[i] = atomic_max(g[i % 16u], x[i]) + atomic_exchange(g[1], x[i]) + atomic_cas(g[2], 1.0, x[i]) + atomic_min(g[0], 1.0); }",
    "program sub(x: in f32[N], b: in u32[N], o: out f32[N], ob: out u32[N], cnt: in u32[1], N: u32) over(i: N) {\n"
    "  shared t: f32[64]; t[lindex] = subgroup_add(x[i]) + subgroup_mul(x[i]) + subgroup_min(x[i]) + subgroup_max(x[i]) +\n"
    "  subgroup_inclusive_add(x[i]) + subgroup_exclusive_add(x[i]);\n"
    "  for k in 0..cnt[0] { barrier(); if lindex == 0u { t[0] = t[1] + f32(k); } } barrier();\n"
    "  o[i] = t[63u-lindex] + subgroup_broadcast(x[i], 0) + subgroup_broadcast(x[i], 3) + subgroup_shuffle(x[i], lane + 1u) +\n"
    "  subgroup_shuffle_xor(x[i], 1);\n"
    "  ob[i] = subgroup_and(b[i]) + subgroup_or(b[i]) + subgroup_xor(b[i]) + u32(subgroup_any(x[i] > 0.0)) +\n"
    "  u32(subgroup_all(x[i] > 0.0)) + subgroup_size; }",
    "program odd(x: in f32[N], o: out f32[N], N: u32) workgroup(48) over(i: N) { o[i] = subgroup_shuffle(x[i], lane + 1u); }",
    "program ids(o: out u32[?], p: out u32[A*(A+1)/2, 3], A: u32, e: f32, h: f16, t: bool, z: f64) workgroup(4, 2, 2) {\n"
    "  o[gid.x] = wid.y + num_groups.z + lid.z + len(o) + len(p, 0) + u32(e) + u32(t) + u32(z) + u32(h); p[1, 2] = 3u; }",
    "program rank4(o: out u32[A, B, C, D], A: i32, B: u32, C: u32, D: u32) over(a: A, b: B, c: C, d: D) {\n"
    "  o[a, b, c, d] = a + b * c + d; }",
    "program subtypes(x: in f16[N], l: in i64[N], d: in f64[N], o: out f64[N], N: u32) over(i: N) {\n"
    "  o[i] = f64(subgroup_add(x[i])) + f64(subgroup_max(l[i])) + subgroup_min(d[i]) + f64(subgroup_and(l[i] > 3)) +\n"
    "  f64(subgroup_xor(x[i] > 0.0)) + f64(subgroup_or(l[i] < 0)) + f64(subgroup_shuffle(x[i] > 1.0, lane)); }",
    "program nothing(@set(1) @binding(3) x: in f32[4], @set(1) @binding(0) y: out f32[0]) over(i: 4) { y[i] = x[7]; }",
    "program empty() workgroup(1) { }"};

static vy_module *parse(const char *text)
{
    vy_module *m = vy_parse(text, strlen(text), "test.vyre");
    if (!vy_module_ok(m)) fail_msg("%s\n%s", vy_module_diag(m)->text, text);
    return m;
}

static vy_compiled *compile(vy_module *m, const vy_spirv_options *o)
{
    vy_diag d;
    vy_compiled *c = vy_compile(vy_module_program(m, 0), o, &d);
    if (!c) fail_msg("%s: %s", vy_program_name(vy_module_program(m, 0)), d.text);
    return c;
}

static vy_compiled *compile_text(const char *text, const vy_spirv_options *o, vy_module **m)
{
    *m = parse(text);
    return compile(*m, o);
}

static void drop(vy_compiled *c, vy_module *m)
{
    vy_compiled_free(c);
    vy_module_free(m);
}

static void valid_for_every_target_and_mode(void **state)
{
    (void)state;
    for (size_t i = 0; i < COUNT(corpus); i++)
        for (int k = 0; k < 24; k++) {
            vy_module *m = parse(corpus[i]);
            vy_spirv_options o = {.target = (vy_target)(k % 3),
                                  .validate = true,
                                  .precise = k / 3 % 2,
                                  .enabled = k / 6 % 2 ? ~(vy_features)0 : 0,
                                  .strip = k >= 12,
                                  .unchecked = k >= 18,
                                  .fast_math = k >= 18};
            vy_opt_options opt = {.level = k % 2 * 2};
            assert_true(vy_optimize(m, &opt));
            drop(compile(m, &o), m);
        }
}

static void same_input_same_bytes(void **state)
{
    (void)state;
    for (size_t i = 0; i < COUNT(corpus); i++) {
        vy_module *ma, *mb;
        vy_spirv_options o = {.precise = i % 2, .enabled = ~(vy_features)0};
        vy_compiled *a = compile_text(corpus[i], &o, &ma), *b = compile_text(corpus[i], &o, &mb);
        assert_int_equal(a->word_count, b->word_count);
        assert_memory_equal(a->words, b->words, a->word_count * 4);
        drop(b, mb);
        b = compile(ma, &o); // the program was not changed by compiling it
        assert_memory_equal(a->words, b->words, a->word_count * 4);
        vy_compiled_free(b);
        drop(a, ma);
    }
}

// What a module says of its buffers, by id.
typedef struct said {
    uint32_t pointee[1000]; // of pointer types
    uint32_t type[1000];    // of variables in storage buffers: their pointer type
    bool read_only[1000];   // variables
} said;

static said *read_buffers(const vy_compiled *c)
{
    said *s = calloc(1, sizeof *s);
    for (size_t at = 5; at < c->word_count; at += c->words[at] >> 16) {
        const uint32_t *w = c->words + at, op = w[0] & 0xffff;
        if ((op == SpvOpTypePointer || op == SpvOpDecorate) && w[1] >= COUNT(s->pointee)) continue;
        if (op == SpvOpTypePointer) s->pointee[w[1]] = w[3];
        if (op == SpvOpVariable && w[3] == SpvStorageClassStorageBuffer) s->type[w[2]] = w[1];
        if (op == SpvOpDecorate && w[2] == SpvDecorationNonWritable) s->read_only[w[1]] = true;
    }
    return s;
}

// NVIDIA's compiler takes NonWritable on one variable as said of its type: loads of the others were
// then kept across stores.
static void no_type_of_a_buffer_is_both_written_and_read_only(void **state)
{
    (void)state;
    uint32_t both = 0, variables = 0;
    for (size_t i = 0; i < COUNT(corpus); i++) {
        vy_module *m;
        vy_compiled *c = compile_text(corpus[i], &(vy_spirv_options){0}, &m);
        said *s = read_buffers(c);
        for (size_t a = 0; a < COUNT(s->type); a++)
            for (size_t b = 0; s->type[a] && s->read_only[a] && b < COUNT(s->type); b++)
                if (s->type[b] && !s->read_only[b]) {
                    variables++;
                    both += s->pointee[s->type[a]] == s->pointee[s->type[b]];
                }
        free(s);
        drop(c, m);
    }
    assert_true(variables > 10);
    assert_int_equal(both, 0);
}

static bool has(const vy_compiled *c, const char *what)
{
    char *text = vy_spirv_disassemble(c->words, c->word_count, false, NULL);
    bool found = strstr(text, what) != NULL;
    free(text);
    return found;
}

static void features_are_used_only_when_enabled(void **state)
{
    (void)state;
    static const char *const text =
        "program t(x: in f32[N], o: out f32[1], N: u32) over(i: N) { atomic_add(o[0], x[i]); }";
    vy_module *m;
    vy_spirv_options o = {.validate = true};
    vy_compiled *c = compile_text(text, &o, &m);
    assert_int_equal(c->kernels[0].features, 0);
    assert_true(has(c, "OpAtomicCompareExchange"));
    drop(c, m);
    o.enabled = VY_FEATURE_BIT(ATOMIC_FLOAT32_ADD);
    c = compile_text(text, &o, &m);
    assert_int_equal(c->kernels[0].features, VY_FEATURE_BIT(ATOMIC_FLOAT32_ADD));
    assert_true(has(c, "OpAtomicFAddEXT"));
    assert_false(has(c, "OpAtomicCompareExchange"));
    drop(c, m);
    o = (vy_spirv_options){.precise = true,
                           .enabled = VY_FEATURE_BIT(SIGNED_ZERO_INF_NAN_32),
                           .validate = true};
    c = compile_text(text, &o, &m);
    assert_true(has(c, "SignedZeroInfNanPreserve 32") && has(c, "SPV_KHR_float_controls"));
    assert_true(has(c, "NoContraction"));
    drop(c, m);
    o.precise = false; // the default mode preserves them, too, but requests no rounding mode
    o.enabled |= VY_FEATURE_BIT(ROUNDING_RTE_32);
    c = compile_text(text, &o, &m);
    assert_true(has(c, "SignedZeroInfNanPreserve 32") && !has(c, "RoundingModeRTE"));
    drop(c, m);
    o.fast_math = true;
    c = compile_text(text, &o, &m);
    assert_false(has(c, "SignedZeroInfNanPreserve"));
    drop(c, m);
}

// Text of the SPIR-V after --fast-math or without, or NULL; free() it.
static char *spirv_text(const char *text, const vy_spirv_options *o)
{
    vy_module *m = parse(text);
    vy_opt_options opt = {.level = 2, .fast_math = o->fast_math};
    assert_true(vy_optimize(m, &opt));
    vy_compiled *c = compile(m, o);
    char *got = vy_spirv_disassemble(c->words, c->word_count, false, NULL);
    drop(c, m);
    return got;
}

static uint32_t occurrences(const char *text, const char *what)
{
    uint32_t n = 0;
    for (; (text = strstr(text, what)); text += strlen(what)) n++;
    return n;
}

static void float_modes_do_not_change_exact_programs(void **state)
{
    (void)state;
#define BODY                                                                                       \
    "program t(x: in f32[N], o: out f32[N], N: u32) over(i: N) {\n"                                \
    "  var s = x[i]; while s * s - 4.0 < exp(s) / 3.0 { s = s * 2.5 * 4.0 + 0.0; } o[i] = s; }"
    const vy_spirv_options plain = {.validate = true}, fast = {.validate = true, .fast_math = true},
                           precise = {.validate = true, .precise = true};
    char *a = spirv_text("@exact " BODY, &plain), *b = spirv_text("@exact " BODY, &fast),
         *c = spirv_text(BODY, &precise), *d = spirv_text(BODY, &plain),
         *e = spirv_text(BODY, &fast);
#undef BODY
    assert_string_equal(a, b); // so --fast-math does not affect it,
    assert_string_equal(a, c); // --precise has nothing to add,
    assert_string_not_equal(d, e);
    uint32_t arithmetic = occurrences(a, " = OpFMul ") + occurrences(a, " = OpFAdd ") +
                          occurrences(a, " = OpFSub ") + occurrences(a, " = OpFDiv ");
    assert_true(arithmetic > 6); // those of exp among them
    assert_int_equal(occurrences(a, " NoContraction"), arithmetic);
    assert_int_equal(occurrences(a, " Exp "), 0);
    // The default mode: our own function, in which only the polynomial may be contracted.
    assert_int_equal(occurrences(d, "OpName %exp_plain "), 1);
    assert_int_equal(occurrences(d, " Exp "), 0);
    uint32_t fixed = occurrences(d, " NoContraction");
    assert_true(fixed > 0 && fixed < arithmetic);
    assert_int_equal(occurrences(e, " NoContraction"), 0);
    assert_int_equal(occurrences(e, " Exp "), 1);
    free(a), free(b), free(c), free(d), free(e);
}

static void what_no_device_has_is_refused(void **state)
{
    (void)state;
    static const struct {
        const char *text, *code, *fix;
    } rows[] = {
        {"program t(o: inout f64[1]) over(i: 9) { atomic_add(o[0], 1.0); }", "E0601",
         "--enable shader_atomic_int64"},
        {"program t(o: inout i64[1]) over(i: 9) { atomic_add(o[0], 1); }", "E0601",
         "--enable shader_atomic_int64"},
    };
    for (size_t i = 0; i < COUNT(rows); i++) {
        vy_module *m = parse(rows[i].text);
        vy_diag d;
        assert_null(vy_compile(vy_module_program(m, 0), NULL, &d));
        assert_string_equal(d.code, rows[i].code);
        assert_int_equal(d.line, 1);
        assert_non_null(strstr(d.fix, rows[i].fix));
        vy_module_free(m);
    }
}

static void clears_are_dropped_where_all_is_written(void **state)
{
    (void)state;
    static const struct {
        const char *body;
        bool clear;
    } rows[] = {{"o[i, j] = 1.0;", false},
                {"o[j, i] = 1.0;", true},
                {"if i > 2u { o[i, j] = 1.0; }", true},
                {"o[i, j / M] = 1.0;", true},
                {"atomic_add(o[i, j], 1.0);", true},
                {"", true}};
    char text[200];
    for (size_t i = 0; i < COUNT(rows); i++) {
        snprintf(text, sizeof text,
                 "program t(o: out f32[N, M], N: u32, M: u32) over(i: N, j: M) { %s }",
                 rows[i].body);
        vy_module *m;
        vy_compiled *c = compile_text(text, NULL, &m);
        assert_int_equal(c->kernels[0].bindings[0].clear, rows[i].clear);
        drop(c, m);
    }
}

static void parameters_beyond_the_limit_go_to_a_buffer(void **state)
{
    (void)state;
    static const char *const text =
        "program t(o: out f64[1], a: f64, b: u32, c: f64, d: f16, e: bool) over(i: 1) {\n"
        "  o[0] = a + c + f64(b) + f64(d) + f64(e); }";
    vy_module *m;
    vy_spirv_options o = {.validate = true};
    vy_compiled *c = compile_text(text, &o, &m);
    const vy_kernel *k = &c->kernels[0];
    static const uint32_t offsets[] = {0, 8, 16, 24, 28, 32};
    assert_int_equal(k->param_count, 6);
    for (uint32_t i = 0; i < 6; i++) assert_int_equal(k->params[i].offset, offsets[i]);
    assert_int_equal(k->param_bytes, 36);
    assert_int_equal(k->param_set, VY_NO_BINDING);
    drop(c, m);
    o.max_push_bytes = 32;
    c = compile_text(text, &o, &m);
    assert_int_equal(c->kernels[0].param_set, 0);
    assert_int_equal(c->kernels[0].param_binding, 1);
    drop(c, m);
}

static void compiler_made_buffers_are_prepared(void **state)
{
    (void)state;
    vy_module *m = vy_module_new();
    vy_builder *b = vy_program_begin(m, "t");
    vy_value n = vy_param_scalar(b, "N", VY_U32);
    vy_dim d = vy_dim_value(b, n);
    vy_buffer x = vy_param_buffer(b, "x", VY_IN, VY_F32, 1, &d);
    vy_buffer ones = vy_param_buffer(b, "ones", VY_IN, VY_F32, 1, &d);
    vy_buffer copy = vy_param_buffer(b, "copy", VY_INOUT, VY_F32, 1, &d);
    vy_buffer scratch = vy_param_buffer(b, "scratch", VY_INOUT, VY_F32, 1, &d);
    vy_buffer_workspace(b, ones);
    vy_buffer_workspace(b, copy);
    vy_buffer_workspace(b, scratch);
    vy_buffer_init(b, ones, VY_INIT_ONES, NULL);
    vy_buffer_init(b, copy, VY_INIT_COPY, "x");
    vy_value i = vy_over(b, "i", d);
    vy_store(b, scratch, &i, vy_add(b, vy_load(b, ones, &i), vy_load(b, copy, &i)));
    vy_store(b, copy, &i, vy_load(b, x, &i));
    if (!vy_program_end(b)) fail_msg("%s", vy_module_diag(m)->text);
    vy_compiled *c = compile(m, NULL);
    const vy_plan *p = &c->plans[0];
    assert_int_equal(p->step_count, 3);
    assert_int_equal(p->steps[0].kind, VY_STEP_FILL);
    assert_int_equal(p->steps[0].pattern, 0x3F800000);
    assert_int_equal(p->steps[1].kind, VY_STEP_COPY);
    assert_string_equal(p->buffers[p->steps[1].source].name, "x");
    assert_int_equal(p->steps[2].kind, VY_STEP_DISPATCH); // which clears
    assert_int_equal(p->buffers[3].role, VY_ROLE_WORKSPACE);
    assert_true(c->kernels[0].bindings[3].clear);
    assert_false(c->kernels[0].bindings[1].clear || c->kernels[0].bindings[2].clear);
    drop(c, m);
}

static void several_programs_make_one_module(void **state)
{
    (void)state;
    vy_module *m =
        parse("program one(x: in f32[4], y: out f32[4]) over(i: 4) { y[i] = erf(x[i]); }\n"
              "program two(x: in f64[4], y: out f64[4]) over(i: 4) { y[i] = x[i]; }\n"
              "program three(x: in f32[4], y: out f32[4]) over(i: 4) { y[i] = erf(x[3u - i]); }");
    const vy_program *programs[3];
    for (uint32_t i = 0; i < 3; i++) programs[i] = vy_module_program(m, i);
    for (int t = 0; t < 3; t++) {
        vy_diag d;
        vy_spirv_options o = {.target = (vy_target)t, .validate = true};
        vy_compiled *c = vy_compile_module(programs, 3, &o, &d);
        if (!c) fail_msg("%s", d.text);
        assert_string_equal(c->kernels[2].entry, "three");
        assert_true(c->kernels[0].features & VY_FEATURE_BIT(FLOAT64)); // the module needs it
        assert_ptr_equal(c->kernels[0].words, c->kernels[2].words);
        vy_compiled_free(c);
    }
    vy_module_free(m);
}

static const vy_symbol *symbol_named(const vy_symbol *list, uint32_t n, const char *name)
{
    for (uint32_t i = 0; i < n; i++)
        if (strcmp(list[i].name, name) == 0) return &list[i];
    return NULL;
}

// num_groups in dimensions: what the caller of a program passes; in a pipeline, what the dispatch
// step determines.
static void group_counts_as_sizes(void **state)
{
    (void)state;
    vy_module *m;
    vy_compiled *c =
        compile_text("program t(part: out f32[num_groups.x, num_groups.z + 1]) workgroup(4)\n"
                     "{ part[wid.x, 0] = f32(len(part, 1)); }",
                     NULL, &m);
    const vy_kernel *k = c->kernels;
    const vy_symbol *x = symbol_named(k->symbols, k->symbol_count, "num_groups.x");
    const vy_symbol *z = symbol_named(k->symbols, k->symbol_count, "num_groups.z");
    assert_int_equal(k->symbol_count, 2);
    assert_int_equal(x->kind, VY_SYMBOL_GROUPS);
    assert_int_equal(x->axis, 0);
    assert_int_equal(z->kind, VY_SYMBOL_GROUPS);
    assert_int_equal(z->axis, 2);
    assert_string_equal(z->type, "u32");
    char *json = vy_manifest(c->plans, NULL);
    assert_non_null(strstr(json, "\"shape\": [\"num_groups.x\", \"num_groups.z+1\"]"));
    assert_non_null(strstr(json, "\"scalars\": []"));
    free(json);
    vy_compiled_free(c);
    vy_module_free(m);

    const char *text =
        "program t(part: out f32[num_groups.x]) { part[wid.x] = 1; }\n"
        "pipeline p(y: out f32[2 * num_groups.y]) { @groups(num_groups.y * 2) t(y); }";
    vy_diag diag;
    m = vy_parse(text, strlen(text), NULL);
    assert_true(vy_module_ok(m));
    assert_true(vy_pipeline_takes_groups(vy_module_pipeline(m, 0)));
    c = vy_compile_pipeline(vy_module_pipeline(m, 0), NULL, &diag);
    assert_non_null(c);
    const vy_plan *p = c->plans;
    assert_int_equal(p->symbol_count, 1);
    assert_int_equal(p->symbols[0].kind, VY_SYMBOL_GROUPS);
    assert_int_equal(p->symbols[0].axis, 1);
    int64_t counts[] = {7}, values[64];
    assert_true(p->expr_count <= 64 &&
                vy_expr_eval(p->exprs, p->expr_count, counts, NULL, values, NULL, NULL));
    const vy_plan_step *s = &p->steps[p->step_count - 1];
    assert_int_equal(s->kind, VY_STEP_DISPATCH);
    assert_int_equal(values[s->groups[0]], 14);
    assert_int_equal(values[s->symbols[0]], 14); // the kernel's num_groups.x
    assert_int_equal(values[p->buffers[0].dims[0]], 14);
    json = vy_manifest(p, NULL);
    assert_non_null(strstr(json, "\"symbols\": {\"num_groups.x\": \"num_groups.y*2\"}"));
    free(json);
    vy_compiled_free(c);
    vy_module_free(m);
}

static void group_count_axis(void **state)
{
    (void)state;
    vy_module *m = vy_module_new();
    vy_builder *b = vy_program_begin(m, "f");
    assert_int_equal(vy_dim_groups(b, 3).id, 0);
    assert_true(vy_builder_failed(b));
    vy_program_abandon(b);
    vy_module_free(m);
}

static void manifest_and_header(void **state)
{
    (void)state;
    vy_module *m;
    vy_compiled *c = compile_text(
        "program t(x: in f32[N, D*(D+1)/2], z: in f32[?], y: out f32[N - (D - 1)], N: u32, D: u32, s: f32)\n"
        "  workgroup(32) over(i: N) { y[i] = x[i, 2] * s + z[i]; }",
        NULL, &m);
    size_t size;
    char *json = vy_manifest(&c->plans[0], &size);
    assert_int_equal(strlen(json), size);
    cJSON *root = cJSON_Parse(json);
    assert_non_null(root);
    const cJSON *kernel = cJSON_GetArrayItem(cJSON_GetObjectItem(root, "kernels"), 0);
    const cJSON *bindings = cJSON_GetObjectItem(kernel, "bindings");
    const cJSON *x = cJSON_GetArrayItem(bindings, 0), *y = cJSON_GetArrayItem(bindings, 2);
    assert_string_equal(cJSON_GetArrayItem(cJSON_GetObjectItem(x, "shape"), 1)->valuestring,
                        "D*(D+1)/2");
    assert_string_equal(cJSON_GetArrayItem(cJSON_GetObjectItem(y, "shape"), 0)->valuestring,
                        "N-(D-1)");
    assert_string_equal(cJSON_GetArrayItem(cJSON_GetObjectItem(kernel, "groups"), 0)->valuestring,
                        "ceil(N/32)");
    assert_string_equal(cJSON_GetObjectItem(kernel, "entry")->valuestring, "main");
    const cJSON *params = cJSON_GetObjectItem(kernel, "params");
    assert_string_equal(cJSON_GetObjectItem(params, "in")->valuestring, "push_constants");
    const cJSON *steps = cJSON_GetObjectItem(root, "steps");
    assert_int_equal(cJSON_GetArraySize(steps), 1);
    cJSON_Delete(root);
    free(json);
    char *header = vy_c_header(&c->plans[0], "my_kernel", NULL);
    assert_non_null(strstr(header, "static const uint32_t my_kernel_spirv["));
    assert_non_null(strstr(header, "MY_KERNEL_BINDING_Z = 1"));
    assert_non_null(strstr(header, "float s; // offset 8"));
    free(header);
    drop(c, m);
}

static void names_are_kept_unless_stripped_and_lines_on_request(void **state)
{
    (void)state;
    static const char *const text =
        "program t(pred: in f32[N], y: out f32[N], N: u32) over(row: N) {\n  let twice = pred[row] * 2.0;\n  y[row] = twice; }";
    vy_module *m;
    vy_compiled *c = compile_text(text, NULL, &m);
    char *s = vy_spirv_disassemble(c->words, c->word_count, false, NULL);
    assert_non_null(strstr(s, "\"pred\"") ? strstr(s, "\"twice\"") : NULL);
    assert_false(strstr(s, "OpLine") ||
                 strstr(s, "OpString")); // the file name is not part of the program
    free(s);
    drop(c, m);
    c = compile_text(text, &(vy_spirv_options){.lines = true}, &m);
    assert_true(has(c, "OpLine") && has(c, "OpString") && has(c, "OpSource"));
    drop(c, m);
    c = compile_text(text, &(vy_spirv_options){.strip = true, .lines = true}, &m);
    assert_false(has(c, "OpName") || has(c, "OpLine") || has(c, "OpString"));
    drop(c, m);
}

static void lack_of_memory_is_an_error(void **state)
{
    (void)state;
    for (size_t i = 0; i < COUNT(corpus); i += 2) {
        vy_module *m = parse(corpus[i]);
        vy_diag d;
        vy_compiled *c = NULL;
        for (long n = 0; !c && n < 100000; n = next_failing(n)) {
            vy_test_fail_after(n);
            c = vy_compile(vy_module_program(m, 0), NULL, &d);
            vy_test_fail_after(-1);
            if (!c) assert_string_equal(d.code, "E0001");
        }
        assert_non_null(c);
        drop(c, m);
    }
}

// The functions of the library are parsed once per process, by whichever thread is first.
static const char functions[] =
    "program f(x: in f32[N], d: in f64[N], y: out f32[N], z: out f64[N], N: u32) over(i: N) {\n"
    "    y[i] = tanh(x[i]) + erf(x[i]) + lgamma(x[i]) + sin(x[i]);\n"
    "    z[i] = tanh(d[i]) + erf(d[i]) + lgamma(d[i]) + sin(d[i]);\n"
    "}\n";

static void *compile_functions(void *unused)
{
    (void)unused;
    vy_module *m = vy_parse(functions, sizeof functions - 1, "functions.vyre");
    vy_diag d;
    vy_compiled *c = m ? vy_compile(vy_module_program(m, 0), NULL, &d) : NULL;
    vy_module_free(m);
    return c;
}

static void threads_share_library_functions(void **state)
{
    enum { THREADS = 4 };
    (void)state;
    pthread_t thread[THREADS];
    void *made[THREADS];
    for (int k = 0; k < THREADS; k++)
        assert_int_equal(pthread_create(&thread[k], NULL, compile_functions, NULL), 0);
    for (int k = 0; k < THREADS; k++) assert_int_equal(pthread_join(thread[k], &made[k]), 0);
    vy_compiled *later = compile_functions(NULL);
    assert_non_null(later);
    for (int k = 0; k < THREADS; k++) {
        vy_compiled *c = made[k];
        assert_non_null(c);
        assert_int_equal(c->word_count, later->word_count);
        assert_memory_equal(c->words, later->words, c->word_count * 4);
        vy_compiled_free(c);
    }
    vy_compiled_free(later);
}

static void a_validator_failure_is_reported(void **state)
{
    (void)state;
    uint32_t words[] = {0x07230203, 0x00010300, 0, 1, 0};
    vy_diag d = {0};
    assert_false(vy_spirv_validate(words, 5, VY_VULKAN_1_1, &d));
    assert_string_equal(d.code, "E0604");
    assert_null(vy_spirv_disassemble((uint32_t[]){1, 2, 3}, 3, false, NULL));
}

static void names_of_targets_and_features(void **state)
{
    (void)state;
    vy_target t;
    vy_features f;
    assert_true(vy_target_from_name("vulkan1.2", &t) && t == VY_VULKAN_1_2);
    assert_true(vy_target_from_name("1.3", &t) && t == VY_VULKAN_1_3);
    assert_false(vy_target_from_name("vulkan1.9", &t));
    assert_true(vy_feature_from_name("shader_int8", 11, &f) && f == VY_FEATURE_BIT(INT8));
    assert_false(vy_feature_from_name("shader", 6, &f));
    assert_null(vy_feature_name(VY_FEATURE_COUNT));
}

// Text of any length, with what JSON escapes, across the sizes at which the text grows.
static void test_text(void **state)
{
    (void)state;
    char names[3000], wanted[20000];
    memset(names, 'x', sizeof names);
    for (size_t n = 0; n < 200; n += n < 70 ? 1 : 13) {
        vy_text t = {0};
        size_t size;
        wanted[0] = 0;
        for (size_t k = 0; k < 20; k++) {
            const int m = (int)(n * (k % 3 + 1));
            vy_text_json(&t, "a\"b\\c\n\x01");
            vy_text_add(&t, "%.*s%u,", m, names, (unsigned)k);
            vy_text_add(&t, "plain ");
            sprintf(wanted + strlen(wanted), "\"a\\\"b\\\\c\\u000a\\u0001\"%.*s%u,plain ", m, names,
                    (unsigned)k);
        }
        char *got = vy_text_take(&t, &size);
        assert_string_equal(got, wanted);
        assert_int_equal(size, strlen(wanted));
        free(got);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(threads_share_library_functions), // first: before any is parsed
        cmocka_unit_test(test_text),
        cmocka_unit_test(valid_for_every_target_and_mode),
        cmocka_unit_test(same_input_same_bytes),
        cmocka_unit_test(no_type_of_a_buffer_is_both_written_and_read_only),
        cmocka_unit_test(features_are_used_only_when_enabled),
        cmocka_unit_test(float_modes_do_not_change_exact_programs),
        cmocka_unit_test(what_no_device_has_is_refused),
        cmocka_unit_test(clears_are_dropped_where_all_is_written),
        cmocka_unit_test(parameters_beyond_the_limit_go_to_a_buffer),
        cmocka_unit_test(compiler_made_buffers_are_prepared),
        cmocka_unit_test(several_programs_make_one_module),
        cmocka_unit_test(group_counts_as_sizes),
        cmocka_unit_test(group_count_axis),
        cmocka_unit_test(manifest_and_header),
        cmocka_unit_test(names_are_kept_unless_stripped_and_lines_on_request),
        cmocka_unit_test(lack_of_memory_is_an_error),
        cmocka_unit_test(a_validator_failure_is_reported),
        cmocka_unit_test(names_of_targets_and_features),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
