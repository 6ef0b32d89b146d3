// SPDX-License-Identifier: MIT
// peak.c: what the device can do at most, measured: bytes per second of a copy much larger than its
// caches, and multiply-adds per second of independent chains that touch no memory.
//
// Data sheets say more than any program gets, and nothing about a device made of software; times of
// real programs are compared with these instead.
#include "tools/verbs/bench/bench.h"

#include <string.h>

enum { CHAINS = 16, RUNS = 7 };

static const char copy_text[] =
    "program peak_copy(x: in f32[n], y: out f32[n], n: u32) workgroup(256) over(i: n)\n"
    "{\n"
    "    y[i] = x[i];\n"
    "}\n";

// x ← x b + c from different beginnings; with 0 < b < 1 nothing overflows or becomes subnormal.
static void chains_text(text *t)
{
    text_puts(
        t, "program peak_mad(y: out f32[n], b: f32, c: f32, n: u32, iterations: u32) workgroup(64)"
           " over(i: n)\n{\n");
    for (int k = 0; k < CHAINS; k++) text_printf(t, "    var x%d = f32(i) + %d.0;\n", k, k);
    text_puts(t, "    for t in 0..iterations {\n");
    for (int k = 0; k < CHAINS; k++) text_printf(t, "        x%d = x%d * b + c;\n", k, k);
    text_puts(t, "    }\n    y[i] = x0");
    for (int k = 1; k < CHAINS; k++) text_printf(t, " + x%d", k);
    text_puts(t, ";\n}\n");
}

typedef struct probe { // one built-in kernel, ready
    vy_module *module;
    vy_compiled *compiled;
    vkrt_plan *plan;
} probe;

static bool probe_make(probe *p, const char *source, size_t size, command *c, vy_diag *d)
{
    const vy_spirv_options o = {.validate = !c->o.no_validate};
    vkrt_error e = {0};
    vy_diag why = {0};
    p->module = vy_parse(source, size, "peak");
    if (!p->module || !vy_module_ok(p->module)) return fail_memory(d);
    p->compiled = vy_compile(vy_module_program(p->module, 0), &o, &why);
    if (!p->compiled) return *d = why, false;
    return !vkrt_plan_create(c->gpu->device, p->compiled->plans, NULL, &p->plan, &e) ||
           gpu_fail(&e, d);
}

static void probe_free(probe *p)
{
    vkrt_plan_destroy(p->plan);
    vy_compiled_free(p->compiled);
    vy_module_free(p->module);
}

// Shortest of some runs, in seconds; the first, which allocates, does not count.
static bool probe_time(probe *p, double *seconds, vy_diag *d)
{
    uint64_t least = UINT64_MAX;
    vkrt_error e = {0};
    for (int i = 0; i <= RUNS; i++) {
        if (vkrt_plan_run(p->plan, &e)) return gpu_fail(&e, d);
        const vkrt_stats s = vkrt_plan_stats(p->plan);
        const uint64_t ns = s.has_device_ns ? s.device_ns : s.host_ns;
        if (i && ns < least) least = ns;
    }
    *seconds = (double)(least ? least : 1) * 1e-9;
    return true;
}

static bool measure_copy(peak *p, command *c, vy_diag *d)
{
    const vkrt_device_info *info = vkrt_device_get_info(c->gpu->device);
    uint64_t bytes = (uint64_t)256 << 20;
    if (bytes > info->max_storage_buffer_bytes) bytes = info->max_storage_buffer_bytes;
    if (bytes > info->max_allocation_bytes) bytes = info->max_allocation_bytes;
    if (bytes > info->device_memory_bytes / 8) bytes = info->device_memory_bytes / 8;
    const uint64_t n = bytes / 4;
    probe copy = {0};
    vkrt_error e = {0};
    double seconds = 0;
    bool ok = probe_make(&copy, copy_text, sizeof copy_text - 1, c, d);
    if (ok && (vkrt_plan_set_buffer(copy.plan, "x", 1, &n, NULL, &e) ||
               vkrt_plan_set_shape(copy.plan, "y", 1, &n, &e)))
        ok = gpu_fail(&e, d);
    ok = ok && probe_time(&copy, &seconds, d);
    if (ok) p->bytes = 8 * (double)n / seconds;
    probe_free(&copy);
    return ok;
}

static bool measure_arithmetic(peak *p, command *c, vy_diag *d)
{
    const bool software = !strcmp(vkrt_device_get_info(c->gpu->device)->type, "CPU");
    const uint64_t n = software ? 1 << 14 : 1 << 20, iterations = 1024;
    probe mad = {0};
    vkrt_error e = {0};
    text source = {0};
    double seconds = 0;
    chains_text(&source);
    bool ok =
        (!source.failed || fail_memory(d)) && probe_make(&mad, source.data, source.size, c, d);
    if (ok && (vkrt_plan_set_shape(mad.plan, "y", 1, &n, &e) ||
               vkrt_plan_set_float(mad.plan, "b", 0.75, &e) ||
               vkrt_plan_set_float(mad.plan, "c", 0.5, &e) ||
               vkrt_plan_set_int(mad.plan, "iterations", (int64_t)iterations, &e)))
        ok = gpu_fail(&e, d);
    ok = ok && probe_time(&mad, &seconds, d);
    if (ok) p->flops = 2.0 * CHAINS * (double)iterations * (double)n / seconds;
    probe_free(&mad);
    text_free(&source);
    return ok;
}

bool peak_measure(peak *p, command *c, vy_diag *d)
{
    progress_begin(c, "measuring the device");
    const bool ok = measure_copy(p, c, d) && measure_arithmetic(p, c, d);
    progress_end();
    return ok;
}
