// SPDX-License-Identifier: MIT
// device_util.h: runs one program in the interpreter and on the device, and compares the results.
#ifndef VYRE_TESTS_DEVICE_UTIL_H
#define VYRE_TESTS_DEVICE_UTIL_H

#include "ir/core/ir.h"
#include "spirv/spirv.h"
#include "vkrt/vkrt.h"

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
#define MAX_BUFFERS 12
#define NEED_DEVICE(state)                                                                         \
    gpu *g = *(state);                                                                             \
    if (!g->device) skip()

typedef struct gpu {
    vkrt_instance *instance;
    vkrt_device *device;
} gpu;

// Opens the device once per test program; tests skip where there is none.
static inline int gpu_open(void **state)
{
    gpu *g = calloc(1, sizeof *g);
    vkrt_error e = {0};
    *state = g;
    if (vkrt_instance_create(NULL, &g->instance, &e) == VKRT_OK)
        vkrt_device_create(g->instance, &(vkrt_device_desc){.cache_dir = ""}, &g->device, &e);
    if (!g->device) print_message("no Vulkan device: %s\n", e.text);
    return 0;
}

static inline int gpu_close(void **state)
{
    gpu *g = *state;
    uint32_t messages = g->instance ? vkrt_instance_message_count(g->instance) : 0;
    for (uint32_t i = 0; i < messages && i < 3; i++)
        print_message("validation: %s\n", vkrt_instance_message(g->instance, i));
    vkrt_device_destroy(g->device);
    vkrt_instance_destroy(g->instance);
    free(g);
    return messages ? -1 : 0; // with VYRE_VALIDATION=1 the layers must be silent
}

typedef struct case_buffer {
    const char *name;
    uint64_t count;   // elements; the shape is flat unless `shape` says more
    const void *data; // initial contents; NULL: zero
    uint32_t rank;
    uint64_t shape[4];
} case_buffer;

typedef struct device_case {
    const char *text; // one program
    case_buffer buffers[MAX_BUFFERS];
    uint32_t buffer_count;
    vy_eval_scalar scalars[4];
    uint32_t scalar_count;
    uint32_t groups[3];
    vy_spirv_options options; // enabled: the device's features except `without`
    vy_features without;
    double ulp;      // per element, of its type; 0: bit for bit (all NaNs alike)
    double absolute; // or this far apart
    int opt;         // optimisation level
    bool gpu;        // optimised as for a GPU; the interpreter runs what is written
} device_case;

static inline vy_module *case_parse(const char *text)
{
    char message[2000];
    vy_module *m = vy_parse(text, strlen(text), "case.vyre");
    if (!vy_module_ok(m)) {
        vy_diag_format(vy_module_diag(m), "case", text, strlen(text), false, message,
                       sizeof message);
        fail_msg("%s", message);
    }
    return m;
}

// Distance in units of the last place, counting floats of the type in order.
static inline double ulp_distance(vy_type t, double a, double b)
{
    if (isnan(a) || isnan(b)) return isnan(a) && isnan(b) ? 0 : INFINITY;
    if (a == b) return 0;
    int digits = t == VY_F16   ? 11
                 : t == VY_F32 ? 24
                               : 53,
        least = t == VY_F16   ? -14
                : t == VY_F32 ? -126
                              : -1022;
    double smallest = ldexp(1, least);
    if (fabs(a) < smallest * 1.01 && fabs(b) < smallest * 1.01) return 0; // subnormals may flush
    if (isinf(a) || isinf(b)) { // the neighbour of the greatest finite value
        double top = ldexp(2 - ldexp(1, 1 - digits), t == VY_F16 ? 15 : t == VY_F32 ? 127 : 1023);
        double finite = isinf(a) ? b : a;
        return !isinf(finite) && fabs(finite) >= top * (1 - ldexp(1, 4 - digits)) &&
                       signbit(a) == signbit(b)
                   ? 2
                   : INFINITY;
    }
    int e;
    frexp(fmax(fabs(a), fabs(b)), &e);
    if (e - 1 < least) e = least + 1;
    return fabs(a - b) / ldexp(1, e - digits);
}

static inline void compare_element(const device_case *c, const char *name, vy_type t, uint64_t i,
                                   vy_scalar want, vy_scalar got)
{
    bool is_float = vy_type_is_float(t);
    if (!is_float) {
        if (want.u != got.u)
            fail_msg("%s[%llu]: device %lld, interpreter %lld\n%s", name, (unsigned long long)i,
                     (long long)got.i, (long long)want.i, c->text);
        return;
    }
    if (c->ulp == 0 && c->absolute == 0
            ? vy_scalar_same(t, want, got)
            : ulp_distance(t, want.f, got.f) <= c->ulp || fabs(want.f - got.f) <= c->absolute)
        return;
    fail_msg("%s[%llu]: device %.17g, interpreter %.17g (%.3g ulp)\n%s", name,
             (unsigned long long)i, got.f, want.f, ulp_distance(t, want.f, got.f), c->text);
}

typedef struct case_run {
    const vy_program *p;
    unsigned char *eval[MAX_BUFFERS], *device[MAX_BUFFERS];
    vy_type types[MAX_BUFFERS];
    vy_buffer_class classes[MAX_BUFFERS];
} case_run;

static inline void case_prepare(const device_case *c, case_run *r)
{
    for (uint32_t i = 0; i < c->buffer_count; i++) {
        vy_buffer b = vy_program_find_buffer(r->p, c->buffers[i].name);
        vy_buffer_info info = vy_program_buffer(r->p, b);
        size_t bytes = c->buffers[i].count * vy_type_size(info.type);
        r->types[i] = info.type;
        r->classes[i] = info.cls;
        r->eval[i] = calloc(1, bytes + 1);
        r->device[i] = calloc(1, bytes + 1);
        if (c->buffers[i].data) memcpy(r->eval[i], c->buffers[i].data, bytes);
    }
}

static inline void case_eval(const device_case *c, case_run *r, uint32_t subgroup_size)
{
    vy_eval_buffer buffers[MAX_BUFFERS];
    vy_eval_options o = {.subgroup_size = subgroup_size};
    vy_diag d = {0};
    memcpy(o.groups, c->groups, sizeof o.groups);
    for (uint32_t i = 0; i < c->buffer_count; i++) {
        const case_buffer *b = &c->buffers[i];
        buffers[i] = (vy_eval_buffer){b->name, r->eval[i], b->rank ? b->shape : &b->count,
                                      b->rank ? b->rank : 1};
    }
    if (!vy_eval(r->p, buffers, c->buffer_count, c->scalars, c->scalar_count, &o, NULL, &d))
        fail_msg("interpreter: %s\n%s", d.text, c->text);
}

static inline void case_device(const device_case *c, case_run *r, gpu *g)
{
    vkrt_error e = {0};
    vy_diag d;
    vy_spirv_options o = c->options;
    vkrt_plan *plan = NULL;
    o.enabled = vkrt_device_features(g->device) & ~c->without;
    o.validate = true;
    vy_compiled *k = vy_compile(r->p, &o, &d);
    if (!k) fail_msg("%s\n%s", d.text, c->text);
    bool ok = vkrt_plan_create(g->device, &k->plans[0], &(vkrt_plan_desc){.trust_loops = true},
                               &plan, &e) == VKRT_OK;
    for (uint32_t i = 0; ok && i < c->buffer_count; i++) {
        const case_buffer *b = &c->buffers[i];
        ok = vkrt_plan_set_buffer(plan, b->name, b->rank ? b->rank : 1,
                                  b->rank ? b->shape : &b->count, b->data, &e) == VKRT_OK;
    }
    for (uint32_t i = 0; ok && i < c->scalar_count; i++) {
        uint64_t bits = 0;
        vy_type t = VY_VOID;
        for (uint32_t s = 0; s < vy_program_scalar_count(r->p); s++)
            if (strcmp(vy_program_scalar(r->p, s).name, c->scalars[i].name) == 0)
                t = vy_program_scalar(r->p, s).type;
        vy_scalar_write(t, c->scalars[i].value, &bits);
        ok = vkrt_plan_set_bits(plan, c->scalars[i].name, bits, &e) == VKRT_OK;
    }
    if (ok && c->groups[0]) ok = vkrt_plan_set_groups(plan, c->groups, &e) == VKRT_OK;
    ok = ok && vkrt_plan_run(plan, &e) == VKRT_OK;
    for (uint32_t i = 0; ok && i < c->buffer_count; i++) {
        if (r->classes[i] == VY_IN) continue;
        ok = vkrt_plan_read(plan, c->buffers[i].name, r->device[i],
                            c->buffers[i].count * vy_type_size(r->types[i]), &e) == VKRT_OK;
    }
    if (!ok) fail_msg("device: %s\n%s", e.text, c->text);
    vkrt_plan_destroy(plan);
    vy_compiled_free(k);
}

// Runs the case in the interpreter and on the device and compares every out and inout buffer.
static inline void check_case(gpu *g, const device_case *c)
{
    vy_module *m = case_parse(c->text);
    vy_module *written = c->gpu ? case_parse(c->text) : NULL;
    const bool adds = vkrt_device_features(g->device) & VY_FEATURE_BIT(SUBGROUP_ARITHMETIC);
    vy_opt_options opt = {.level = c->opt,
                          .workgroup = c->gpu ? 256 : 0,
                          .subgroup_add = c->gpu && adds,
                          .workgroup_sums = c->gpu};
    assert_true(vy_optimize(m, &opt));
    case_run r = {.p = vy_module_program(m, 0)};
    uint32_t size = vkrt_device_get_info(g->device)->subgroup_size;
    case_prepare(c, &r);
    case_device(c, &r, g);
    if (written) r.p = vy_module_program(written, 0);
    case_eval(c, &r, size);
    for (uint32_t i = 0; i < c->buffer_count; i++) {
        uint32_t stride = vy_type_size(r.types[i]);
        for (uint64_t k = 0; r.classes[i] != VY_IN && k < c->buffers[i].count; k++)
            compare_element(c, c->buffers[i].name, r.types[i], k,
                            vy_scalar_read(r.types[i], r.eval[i] + k * stride),
                            vy_scalar_read(r.types[i], r.device[i] + k * stride));
        free(r.eval[i]);
        free(r.device[i]);
    }
    vy_module_free(m);
    vy_module_free(written);
}

#endif
