// SPDX-License-Identifier: MIT
// transform_util.h: what tests of vy_transform share.
#ifndef VYRE_TRANSFORM_UTIL_H
#define VYRE_TRANSFORM_UTIL_H

#include "autodiff/transform.h"
#include "ir/core/ir.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#define F                                                                                          \
    "program f(x: in f32[N], w: in f32[N], y: out f32[N], a: f32, N: u32) over(i: N) "             \
    "{ y[i] = a * x[i] * x[i] * w[i]; } "
#define G "program g(x: in f32[N], y: out f32[N], N: u32) over(i: N) { y[i] = x[i]; } "
// Three programs and a pipeline; two gathers and a pipeline.
#define COUNTED                                                                                    \
    "program c(x: in f32[N], n: in u32[N], y: out f32[N], N: u32) over(i: N) "                     \
    "{ var s = x[i]; for k in 0..n[i] { s = sin(s) * s; } y[i] = s; } "
#define MATMUL                                                                                     \
    "program m(a: in f32[M, K], b: in f32[K, N], c: out f32[M, N], M: u32, N: u32, K: u32) "       \
    "over(i: M, j: N) { c[i, j] = tanh(sum(k in 0..K: a[i, k] * b[k, j])); } "

static inline vy_module *parse(const char *text)
{
    vy_module *m = vy_parse(text, strlen(text), "t.vyre");
    assert_non_null(m);
    if (!vy_module_ok(m)) fail_msg("%s", vy_module_diag(m)->text);
    return m;
}

static inline const vy_derived *transform(vy_module *m, vy_ref source, const vy_grad_options *o)
{
    vy_diag d = {0};
    const vy_derived *g = vy_transform(m, source, o, &d);
    if (!g) fail_msg("%s %s", d.code, d.text);
    assert_true(vy_module_ok(m));
    assert_true(vy_module_check(m));
    return g;
}

static inline const vy_program *parameters(const vy_module *m, vy_ref r)
{
    return r.pipeline ? vy_pipeline_signature(vy_module_pipeline(m, r.index))
                      : vy_module_program(m, r.index);
}

static inline const char *name_of(const vy_module *m, vy_ref r)
{
    return r.pipeline ? vy_pipeline_name(vy_module_pipeline(m, r.index))
                      : vy_program_name(vy_module_program(m, r.index));
}

// The module's text now begins with its text before.
static inline void begins_with(const vy_module *m, const char *before)
{
    char *now = vy_print(m, NULL);
    assert_non_null(now);
    if (strncmp(now, before, strlen(before)) != 0) fail_msg("%s\nbefore:\n%s", now, before);
    vy_free(now);
}

static inline void prints_alike(const vy_module *a, const vy_module *b)
{
    char *x = vy_print(a, NULL), *y = vy_print(b, NULL);
    assert_non_null(x);
    assert_non_null(y);
    assert_string_equal(x, y);
    assert_true(vy_module_equal(a, b));
    vy_free(x);
    vy_free(y);
}

static inline void refused(vy_module *m, vy_ref source, const vy_grad_options *o, const char *code)
{
    char *before = vy_print(m, NULL);
    vy_diag d = {0};
    assert_null(vy_transform(m, source, o, &d));
    assert_string_equal(d.code, code);
    assert_true(*d.fix);
    assert_true(vy_module_ok(m));
    begins_with(m, before);
    vy_free(before);
}

#endif
