// SPDX-License-Identifier: MIT
// eval_util.h: programs built through the C API and run in the interpreter.
#ifndef VYRE_TESTS_EVAL_UTIL_H
#define VYRE_TESTS_EVAL_UTIL_H

#include "ir/vyre.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <cmocka.h>

#define COUNT(a) (sizeof(a) / sizeof *(a))

typedef struct test_program {
    vy_module *m;
    vy_builder *b;
    vy_program *p;
} test_program;

static inline test_program begin(const char *name)
{
    test_program t = {.m = vy_module_new()};
    assert_non_null(t.m);
    t.b = vy_program_begin(t.m, name);
    return t;
}

static inline void finish(test_program *t)
{
    t->p = vy_program_end(t->b);
    if (!t->p) fail_msg("%s", vy_module_diag(t->m)->text);
}

static inline void drop(test_program *t) { vy_module_free(t->m); }

static inline vy_value u32(vy_builder *b, int64_t v) { return vy_int(b, VY_U32, v); }
static inline vy_value i32(vy_builder *b, int64_t v) { return vy_int(b, VY_I32, v); }
static inline vy_value f32(vy_builder *b, double v) { return vy_float(b, VY_F32, v); }
static inline vy_value gid(vy_builder *b, uint32_t axis)
{
    return vy_builtin_value(b, VY_GID, axis);
}
static inline vy_value lid(vy_builder *b, uint32_t axis)
{
    return vy_builtin_value(b, VY_LID, axis);
}

static inline vy_buffer param(vy_builder *b, const char *name, vy_buffer_class cls, vy_type type,
                              int64_t extent)
{
    const vy_dim d = vy_dim_const(b, extent);
    return vy_param_buffer(b, name, cls, type, 1, &d);
}

static inline vy_value load1(vy_builder *b, vy_buffer x, vy_value i) { return vy_load(b, x, &i); }
static inline void store1(vy_builder *b, vy_buffer x, vy_value i, vy_value v)
{
    vy_store(b, x, &i, v);
}
static inline vy_value atomic1(vy_builder *b, const char *op, vy_buffer x, vy_value i, vy_value v)
{
    return vy_atomic(b, op, x, &i, v);
}

// Up to six buffers of rank 1 by name, data and extent.
typedef struct arg {
    const char *name;
    void *data;
    uint64_t extent;
} arg;

static inline bool try_run(const test_program *t, size_t n, const arg *args,
                           const vy_eval_options *options, vy_eval_report *report, vy_diag *diag)
{
    vy_eval_buffer buffers[6];
    assert_true(n <= COUNT(buffers));
    for (size_t k = 0; k < n; k++)
        buffers[k] = (vy_eval_buffer){args[k].name, args[k].data, &args[k].extent, 1};
    return vy_eval(t->p, buffers, (uint32_t)n, NULL, 0, options, report, diag);
}

static inline void run_with(const test_program *t, size_t n, const arg *args,
                            const vy_eval_options *options, vy_eval_report *report)
{
    vy_diag d;
    if (!try_run(t, n, args, options, report, &d)) fail_msg("%s [%s]", d.text, d.code);
}

#define ARGS(...)                                                                                  \
    COUNT(((arg[]){__VA_ARGS__})), (arg[]) { __VA_ARGS__ }
#define RUN(t, ...) run_with(t, ARGS(__VA_ARGS__), NULL, NULL)

#endif
