// SPDX-License-Identifier: MIT
// bench.c: `vyre-grad bench`: forward and derivative, timed side by side in one process.
//
// The two take turns, so that a machine that slows down slows both; medians are compared.  A pipeline
// is timed alone, as it has no derivative yet.
#include "tools/json_out.h"
#include "tools/runner.h"

#include <stdio.h>
#include <stdlib.h>
#include <time.h>

typedef struct lane { // one of the two programs; without buffers: not there
    const char *title;
    binding data;
    runner runner;
    bool upload; // has `inout` buffers, which every run must find as they were
    double *ms;
    double *
        cpu; // CPU time of this process meanwhile, in ms: what a device made of software really takes
    double median, least, most, cpu_median;
    uint64_t bytes;  // of bound buffers: `in` read, `out` written, `inout` both
    vy_amount flops; // float operations of one run, counted statically (ir/cost.h)
} lane;

static int by_value(const void *a, const void *b)
{
    const double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

// What the optimised program does; chunks for drivers that count turns add up to the same.
static bool lane_count(lane *l, vy_diag *d)
{
    launch_sizes z;
    l->flops = (vy_amount){0};
    if (l->data.what.pipeline) return true; // how often its programs run may depend on data
    if (!sizes_of(&z, &l->data, d)) return false;
    vy_cost *cost = vy_program_cost(l->data.program, &z.sizes);
    if (cost) l->flops = cost->all_flops;
    l->flops.text = NULL; // the cost's
    l->flops.atmost |= cost && cost->conditional;
    vy_cost_free(cost);
    sizes_free(&z);
    return cost || fail_memory(d);
}

static bool lane_prepare(lane *l, command *c, vy_diag *d)
{
    l->ms = calloc(c->o.runs, sizeof *l->ms);
    l->cpu = calloc(c->o.runs, sizeof *l->cpu);
    if (!l->ms || !l->cpu) return fail_memory(d);
    for (uint32_t i = 0; i < l->data.buffer_count; i++) {
        const bound_buffer *b = &l->data.buffers[i];
        const uint64_t bytes = b->value.count * vy_type_size(b->value.type);
        l->bytes += b->info.cls == VY_INOUT ? 2 * bytes : bytes;
        l->upload |= b->info.cls == VY_INOUT;
    }
    double warm;
    return runner_prepare(&l->runner, c, &l->data, d) && lane_count(l, d) &&
           runner_upload(&l->runner, d) && runner_run(&l->runner, c, &warm, d);
}

static double cpu_ms(void)
{
    struct timespec t = {0};
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
    return (double)t.tv_sec * 1e3 + (double)t.tv_nsec * 1e-6;
}

static bool lane_run(lane *l, command *c, uint64_t i, vy_diag *d)
{
    if (l->upload && !runner_upload(&l->runner, d)) return false;
    const double before = cpu_ms();
    const bool ok = runner_run(&l->runner, c, &l->ms[i], d);
    l->cpu[i] = cpu_ms() - before;
    return ok;
}

static double median(double *ms, uint64_t runs) // sorts
{
    qsort(ms, runs, sizeof *ms, by_value);
    return runs % 2 ? ms[runs / 2] : (ms[runs / 2 - 1] + ms[runs / 2]) / 2;
}

static void lane_finish(lane *l, uint64_t runs)
{
    l->median = median(l->ms, runs);
    l->least = l->ms[0];
    l->most = l->ms[runs - 1];
    l->cpu_median = median(l->cpu, runs);
}

static double rate(const lane *l)
{
    return l->median > 0 ? (double)l->bytes / l->median * 1e-6 : -1;
}

// Negative where the operations depend on data.
static double flop_rate(const lane *l)
{
    return l->median > 0 && l->flops.known ? (double)l->flops.value / l->median * 1e-6 : -1;
}

static bool lane_json(const lane *l, cJSON *top)
{
    if (!l->ms) return cJSON_AddNullToObject(top, l->title) != NULL;
    cJSON *o = cJSON_AddObjectToObject(top, l->title);
    return o && json_string(o, "program", runnable_name(l->data.what)) &&
           json_number(o, "ms", l->median, 6) && json_number(o, "min_ms", l->least, 6) &&
           json_number(o, "max_ms", l->most, 6) && json_number(o, "cpu_ms", l->cpu_median, 6) &&
           json_integer(o, "bytes", l->bytes) && json_number(o, "gb_per_s", rate(l), 6) &&
           json_integer(o, "workspace_bytes", l->data.kept) &&
           (l->flops.known ? json_integer(o, "flops", l->flops.value)
                           : json_string(o, "flops", NULL)) &&
           cJSON_AddBoolToObject(o, "flops_at_most", l->flops.known && l->flops.atmost) &&
           json_number(o, "gflop_per_s", flop_rate(l), 6);
}

static bool has_ratio(const lane lanes[2]) { return lanes[1].ms && lanes[0].median > 0; }

static bool print_json(const lane lanes[2], command *c, const char *device, vy_diag *d)
{
    cJSON *top = cJSON_CreateObject();
    bool ok =
        top && json_string(top, "program", runnable_name(lanes[0].data.what)) &&
        json_string(top, "engine", c->o.engine == ENGINE_EVAL ? "eval" : "vulkan") &&
        json_string(top, "device", device) && json_integer(top, "runs", c->o.runs) &&
        lane_json(&lanes[0], top) && lane_json(&lanes[1], top) &&
        json_number(top, "ratio", has_ratio(lanes) ? lanes[1].median / lanes[0].median : -1, 4);
    if (ok) return json_finish(top, &c->out) || fail_memory(d);
    cJSON_Delete(top);
    return fail_memory(d);
}

static bool print_text(const lane lanes[2], command *c, const char *device, vy_diag *d)
{
    text_printf(&c->out, "device    %s\n", device);
    for (int i = 0; i < 2 && lanes[i].ms; i++) {
        const lane *l = &lanes[i];
        text_printf(&c->out, "%-9s %.4g ms", l->title, l->median);
        if (rate(l) >= 0) text_printf(&c->out, ", %.4g GB/s", rate(l));
        if (flop_rate(l) >= 0)
            text_printf(&c->out, ", %s%.4g GFLOP/s", l->flops.atmost ? "at most " : "",
                        flop_rate(l));
        text_printf(&c->out, " (median of %llu, %.4g to %.4g ms, %llu bytes",
                    (unsigned long long)c->o.runs, l->least, l->most, (unsigned long long)l->bytes);
        if (l->data.kept)
            text_printf(&c->out, ", workspace %llu", (unsigned long long)l->data.kept);
        if (l->flops.known)
            text_printf(&c->out, ", %llu flops", (unsigned long long)l->flops.value);
        text_puts(&c->out, ")\n");
    }
    if (has_ratio(lanes))
        text_printf(&c->out, "ratio     %.3g\n", lanes[1].median / lanes[0].median);
    return !c->out.failed || fail_memory(d);
}

static bool bind_forward(lane *l, specs *in, runnable what, command *c, vy_diag *d)
{
    const bool f64 = c->o.eval_type == EVAL_F64;
    return specs_parse(in, "--in", &c->o.in, d) && binding_create(&l->data, what, f64, d) &&
           binding_set(&l->data, &c->o.set, d) && binding_groups(&l->data, c->o.groups, d) &&
           binding_specs(&l->data, in, "normal:0:1:1", d) && binding_fill(&l->data, d);
}

static bool bind_gradient(lane lanes[2], specs *ct, runnable what, command *c, vy_diag *d)
{
    const bool f64 = c->o.eval_type == EVAL_F64;
    names seeds = {0};
    bool ok = specs_parse(ct, "--ct", &c->o.ct, d);
    for (uint32_t i = 0; ok && i < ct->count; i++)
        ok = names_add(&seeds, ct->data[i].name) || fail_memory(d);
    while (ok) {
        ok = derive(c, what, &seeds, d) &&
             binding_create(&lanes[1].data, runnable_result(c->derived), f64, d) &&
             binding_derive(&lanes[1].data, &lanes[0].data, ct, d) &&
             binding_tape(&lanes[1].data, c->o.tape_limit, d);
        if (ok || !derive_with_less(c, d)) break;
        ok = true; // with tapes that are within the limit, perhaps
        binding_free(&lanes[1].data);
        lanes[1].data = (binding){0};
    }
    names_free(&seeds);
    return ok;
}

static bool bench(lane lanes[2], specs *in, specs *ct, command *c, vy_diag *d)
{
    const bool eval = c->o.engine == ENGINE_EVAL;
    runnable what;
    if (!load_module(c, d) || !select_runnable(c, c->module, &what, d)) return false;
    const int count = what.pipeline ? 1 : 2;
    if (count == 1)
        note(c, "pipeline %s: timed without its derivative, which does not exist yet",
             runnable_name(what));
    if (count == 1 && (c->o.ct.count || c->o.of.count || c->o.wrt.count))
        return derive(c, what, NULL, d); // which says why not
    if (!bind_forward(&lanes[0], in, what, c, d)) return false;
    if (count == 2 && !bind_gradient(lanes, ct, what, c, d)) return false;
    if (!eval && !gpu_open_device(c, d)) return false;
    if (!optimize(c, c->module, eval, &lanes[0].data, d) ||
        (c->derived && !optimize(c, c->derived, eval, &lanes[1].data, d)))
        return false;
    for (int k = 0; k < count; k++)
        if (!lane_prepare(&lanes[k], c, d)) return false;
    for (uint64_t i = 0; i < c->o.runs; i++)
        for (int k = 0; k < count; k++)
            if (!lane_run(&lanes[k], c, i, d)) return false;
    for (int k = 0; k < count; k++) lane_finish(&lanes[k], c->o.runs);
    const char *device =
        eval ? "reference interpreter" : vkrt_device_get_info(c->gpu->device)->name;
    return c->o.json ? print_json(lanes, c, device, d) : print_text(lanes, c, device, d);
}

bool verb_bench(command *c, vy_diag *d)
{
    lane lanes[2] = {{.title = "forward"}, {.title = "gradient"}};
    specs in = {0}, ct = {0};
    bool ok = c->o.dot.count || c->o.out.count
                  ? fail(d, TOOL_USAGE, "leave it out", "bench takes neither --out nor --dot")
                  : bench(lanes, &in, &ct, c, d);
    for (int i = 0; i < 2; i++) {
        runner_free(&lanes[i].runner);
        binding_free(&lanes[i].data);
        free(lanes[i].ms);
        free(lanes[i].cpu);
    }
    specs_free(&in);
    specs_free(&ct);
    return ok;
}
