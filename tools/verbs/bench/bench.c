// SPDX-License-Identifier: MIT
// bench.c: `vyre-grad bench`: forward and derivative (the gradient, or with --jvp the tangents),
// timed side by side in one process.
//
// They take turns, so that a machine that slows down slows all; medians are compared.  With
// --against a gradient written by hand is a third.  What has no derivative is timed alone.
#include "tools/verbs/bench/bench.h"

#include "tools/data/number.h"

#include <stdlib.h>
#include <string.h>
#include <time.h>

static int by_value(const void *a, const void *b)
{
    const double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

// What the optimised program does; chunking for drivers that count iterations does not change it.
static bool lane_count(lane *l, vy_diag *d)
{
    vys_sizes z;
    l->flops = (vy_amount){0};
    if (l->data.what.pipeline) return true; // how often its programs run may depend on data
    if (!vys_sizes_of(&z, &l->data, d)) return false;
    vy_cost *cost = vy_program_cost(l->data.program, &z.sizes);
    if (cost) l->flops = cost->all_flops;
    l->flops.text = NULL; // the cost's
    l->flops.atmost |= cost && cost->conditional;
    vy_cost_free(cost);
    vys_sizes_free(&z);
    return cost || fail_memory(d);
}

static bool lane_begin(lane *l, command *c, vy_diag *d)
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
    return true;
}

static bool lane_warm(lane *l, command *c, vy_diag *d)
{
    double warm;
    return vys_runner_upload(&l->runner, d) && runner_run(&l->runner, c, &warm, d);
}

static bool lane_prepare(lane *l, command *c, vy_diag *d)
{
    return lane_begin(l, c, d) && runner_prepare(&l->runner, c, &l->data, d) && lane_count(l, d) &&
           lane_warm(l, c, d);
}

// The gradient by hand; its operations and bytes are what its plan says, where it does.
static bool against_prepare(benchmark *b, command *c, vy_diag *d)
{
    lane *l = &b->lanes[LANE_AGAINST];
    if (!c->o.against) return true;
    if (!against_bind(b, c, d) || !lane_begin(l, c, d) ||
        !runner_prepare_steps(&l->runner, c, &l->data, &b->hand.plan, d))
        return false;
    const double bytes = yardstick_amount(&b->hand, &l->data, "bytes");
    const double flops = yardstick_amount(&b->hand, &l->data, "operations");
    b->stated_bytes = bytes >= 0;
    b->stated_flops = flops >= 0;
    if (b->stated_bytes) l->bytes = (uint64_t)bytes;
    l->flops = (vy_amount){.known = flops >= 0, .value = flops >= 0 ? (uint64_t)flops : 0};
    return lane_warm(l, c, d) && against_compare(b, d);
}

static bool lane_run(lane *l, command *c, uint64_t i, vy_diag *d)
{
    if (l->upload && !vys_runner_upload(&l->runner, d)) return false;
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
    const uint64_t measured = vys_runner_workspace(&l->runner);
    if (measured && l->data.what.pipeline) l->data.kept = measured;
    l->median = median(l->ms, runs);
    l->least = l->ms[0];
    l->most = l->ms[runs - 1];
    l->cpu_median = median(l->cpu, runs);
}

static bool bind_forward(lane *l, specs *in, vys_entry what, command *c, vy_diag *d)
{
    const bool f64 = c->o.eval_type == EVAL_F64;
    return specs_read(in, &c->o.in, what, d) && binding_create(&l->data, what, f64, d) &&
           binding_set(&l->data, &c->o.set, d) && binding_groups(&l->data, c->o.groups, d) &&
           binding_specs(&l->data, in, "normal:0:1:1", d) && vys_binding_fill(&l->data, d);
}

// Cotangents, or in forward mode tangents.
static bool parse_given(benchmark *b, const options *o, vy_diag *d)
{
    if (o->jvp) return specs_parse(&b->given, "--dot", &o->dot, d);
    bool ok = specs_parse(&b->given, "--ct", &o->ct, d);
    for (uint32_t i = 0; ok && i < b->given.count; i++)
        ok = names_add(&b->seeds, b->given.data[i].name) || fail_memory(d);
    return ok;
}

static void lane_free(lane *l)
{
    vys_runner_free(&l->runner);
    vys_binding_free(&l->data);
    free(l->ms);
    free(l->cpu);
    *l = (lane){.title = l->title};
}

static bool bind_once(benchmark *b, command *c, vy_diag *d)
{
    lane *forward = &b->lanes[LANE_FORWARD], *l = &b->lanes[LANE_DERIVATIVE];
    const bool f64 = c->o.eval_type == EVAL_F64;
    return derive(c, b->what, &b->seeds, d) &&
           binding_create(&l->data, vys_entry_result(c->work.derived), f64, d) &&
           binding_derive(&l->data, &forward->data, &b->given, d) &&
           vys_binding_tape(&l->data, c->o.tape_limit, d);
}

// Keeps less, until what is kept is within the limit.
static bool bind_derivative(benchmark *b, command *c, vy_diag *d)
{
    while (!bind_once(b, c, d)) {
        if (!derive_with_less(c, d)) return false;
        lane_free(&b->lanes[LANE_DERIVATIVE]);
    }
    return true;
}

// May it be timed without a derivative, where it has none?  Not if one was requested.
static bool stands_alone(const command *c, const vy_diag *d)
{
    const options *o = &c->o;
    return vy_diag_is(d, VY_E_NOT_DIFFERENTIABLE) && !o->ct.count && !o->of.count &&
           !o->wrt.count && !o->against;
}

// What is timed: the forward program and its derivative, where it has one.
static bool bind(benchmark *b, uint32_t *count, command *c, vy_diag *d)
{
    if (!load_module(c, d) || !select_entry(c, c->module, &b->what, d)) return false;
    vys_entry forward = b->what;
    *count = 2;
    if (!order_sums(c, &forward, d) || !bind_forward(&b->lanes[0], &b->in, forward, c, d) ||
        !parse_given(b, &c->o, d))
        return false;
    if (bind_derivative(b, c, d)) return true;
    if (!stands_alone(c, d)) return false;
    note(c, "%s is timed without a derivative: %s", vys_entry_name(b->what), d->text);
    *d = (vy_diag){0};
    *count = 1;
    return true;
}

// Where only a run shows that too much would be kept, too, less is.
static bool prepare_derivative(benchmark *b, command *c, vy_diag *d)
{
    lane *l = &b->lanes[LANE_DERIVATIVE];
    const bool eval = c->o.engine == ENGINE_EVAL;
    while (!optimize_final(c, c->work.derived, eval, &l->data, d) || !lane_prepare(l, c, d)) {
        if (!derive_with_less(c, d)) return false;
        lane_free(l);
        if (!bind_derivative(b, c, d)) return false;
    }
    return true;
}

static bool prepare_versions(benchmark *b, uint32_t count, command *c, vy_diag *d)
{
    const bool eval = c->o.engine == ENGINE_EVAL;
    lane *l = &b->lanes[LANE_FORWARD];
    return !count || (optimize(c, forward_module(c), eval, &l->data, d) && lane_prepare(l, c, d) &&
                      (count == 1 || prepare_derivative(b, c, d)));
}

static bool time_all(benchmark *b, command *c, vy_diag *d)
{
    for (uint64_t i = 0; i < c->o.runs; i++)
        for (uint32_t k = 0; k < LANE_COUNT; k++)
            if (b->lanes[k].ms && !lane_run(&b->lanes[k], c, i, d)) return false;
    for (uint32_t k = 0; k < LANE_COUNT; k++)
        if (b->lanes[k].ms) lane_finish(&b->lanes[k], c->o.runs);
    return true;
}

static bool bench(benchmark *b, command *c, vy_diag *d)
{
    const bool eval = c->o.engine == ENGINE_EVAL;
    uint32_t count = 0;
    if (c->o.file && !bind(b, &count, c, d)) return false;
    if (!eval && !gpu_open_device(c, d)) return false;
    if (c->o.peak && !peak_measure(&b->peak, c, d)) return false;
    if (!prepare_versions(b, count, c, d) || !against_prepare(b, c, d) || !time_all(b, c, d))
        return false;
    return bench_print(b, c,
                       eval ? "reference interpreter" : vkrt_device_get_info(c->gpu->device)->name,
                       d);
}

static bool modes_agree(const options *o, vy_diag *d)
{
    if (o->dot.count && !o->jvp)
        return fail(d, TOOL_USAGE, "add --jvp", "--dot needs a derivative in forward mode");
    if (o->ct.count && o->jvp)
        return fail(d, TOOL_USAGE, "give --dot", "--ct needs a gradient, --jvp times tangents");
    if (o->against && o->jvp)
        return fail(d, TOOL_USAGE, "leave out --jvp", "--against is of gradients");
    return true;
}

static bool usable(const command *c, benchmark *b, vy_diag *d)
{
    const options *o = &c->o;
    vy_scalar v = {.f = 1e-4};
    if (!modes_agree(o, d)) return false;
    if (o->engine == ENGINE_EVAL && (o->against || o->peak))
        return fail(d, TOOL_USAGE, "leave out --engine eval", "--against and --peak need a device");
    if (o->tolerance && !o->against)
        return fail(d, TOOL_USAGE, "add --against PLAN", "--tolerance is of --against");
    if (o->tolerance &&
        (number_parse(VY_F64, o->tolerance, strlen(o->tolerance), &v) || !(v.f >= 0)))
        return fail(d, TOOL_USAGE, "",
                    "--tolerance %.40s: a number that is not negative is expected", o->tolerance);
    b->tolerance = v.f;
    return true;
}

bool verb_bench(command *c, vy_diag *d)
{
    benchmark b = {.lanes = {{.title = "forward"}, {.title = "gradient"}, {.title = "by hand"}}};
    if (c->o.jvp) b.lanes[LANE_DERIVATIVE].title = "tangents";
    const bool ok = usable(c, &b, d) && bench(&b, c, d);
    for (uint32_t i = 0; i < LANE_COUNT; i++) lane_free(&b.lanes[i]);
    yardstick_free(&b.hand);
    names_free(&b.seeds);
    specs_free(&b.in);
    specs_free(&b.given);
    return ok;
}
