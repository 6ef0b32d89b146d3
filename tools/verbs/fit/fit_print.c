// SPDX-License-Identifier: MIT
// fit_print.c: progress on stderr, results on stdout.
#include "tools/verbs/fit/fit.h"
#include "tools/data/json_out.h"
#include "tools/data/number.h"

#include <math.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

// ---------------------------------------------------------------------------------------- progress
static void line(const fit *f, const command *c, char *text, size_t size)
{
    const double seconds = (now_ms() - f->began) * 1e-3;
    const uint64_t made = f->done - f->first, known = fit_loss_count(f);
    const double rate = seconds > 0 ? (double)made / seconds : 0;
    const double left = rate > 0 ? (double)(c->o.steps - f->done) / rate : 0;
    snprintf(text, size, "step %llu of %llu: loss %.6g, %.0f steps/s, %.0f s left",
             (unsigned long long)f->done, (unsigned long long)c->o.steps,
             known ? f->losses[known - 1] : NAN, rate, f->settled ? 0 : left);
}

// A terminal gets a line that is written over; anything else a line after every twentieth part.
void fit_report(const fit *f, const command *c, bool last)
{
    static uint64_t reported; // parts
    char text[200];
    if (c->o.quiet) return;
    line(f, c, text, sizeof text);
    if (isatty(STDERR_FILENO)) {
        fprintf(stderr, "\r" TOOL_NAME ": %s\033[K%s", text, last ? "\n" : "");
        fflush(stderr);
        return;
    }
    const uint64_t part = f->done / (c->o.steps < 20 ? 1 : c->o.steps / 20);
    if (last || part != reported) note(c, "%s", text);
    reported = part;
}

// -------------------------------------------------------------------------------------- statistics
typedef struct statistics {
    double least, greatest, mean;
    uint64_t bad; // not finite
} statistics;

static statistics statistics_of(const array *a)
{
    statistics s = {INFINITY, -INFINITY, 0, 0};
    for (uint64_t i = 0; i < a->count; i++) {
        const double v =
            vy_scalar_read(a->type, (const char *)a->data + i * vy_type_size(a->type)).f;
        s.bad += !isfinite(v);
        if (!isfinite(v)) continue;
        s.least = v < s.least ? v : s.least;
        s.greatest = v > s.greatest ? v : s.greatest;
        s.mean += v;
    }
    const uint64_t good = a->count - s.bad;
    s.mean = good ? s.mean / (double)good : NAN;
    return s;
}

static void print_stopped(const fit *f, command *c)
{
    char loss[NUMBER_TEXT];
    const vy_scalar v = {.f = f->losses[f->done - f->first]};
    const size_t n = number_text(VY_F64, v, loss);
    text_printf(&c->out, "stopped: the loss is %.*s at step %llu\n", (int)n, loss,
                (unsigned long long)f->done);
    for (uint32_t i = 0; i < c->o.params.count; i++) {
        const bound_buffer *b = fit_buffer(f, c->o.params.data[i]);
        const statistics s = statistics_of(&b->value);
        text_printf(&c->out, "%s: min %.6g, max %.6g, mean %.6g, %llu of %llu not finite\n",
                    b->info.name, s.least, s.greatest, s.mean, (unsigned long long)s.bad,
                    (unsigned long long)b->value.count);
    }
}

// ----------------------------------------------------------------------------------------- results
// The losses of all steps of this run, shaped [steps].
static array losses(const fit *f, uint64_t from)
{
    const uint64_t made = fit_loss_count(f);
    return (array){.type = VY_F64,
                   .rank = 1,
                   .shape = {made - from},
                   .count = made - from,
                   .data = f->losses + from};
}

static void tell_ranks(const fit *f, const command *c)
{
    uint64_t bytes;
    const char *name;
    verbose(c, "%u parts on %u ranks; bytes that each rank gives in a step:", f->ranks.parts,
            f->ranks.comm.ranks);
    for (uint32_t i = 0; (bytes = vys_ranks_bytes(&f->ranks.all, i, &name)); i++)
        verbose(c, "%12llu %s", (unsigned long long)bytes, name);
}

static void print_text(const fit *f, command *c)
{
    if (c->o.shard) tell_ranks(f, c);
    if (f->stopped) {
        print_stopped(f, c);
        return;
    }
    const uint64_t made = fit_loss_count(f);
    char last[NUMBER_TEXT];
    const vy_type type = fit_buffer(f, f->made.losses)->value.type;
    const size_t n = number_text(type, (vy_scalar){.f = f->losses[made - 1]}, last);
    text_printf(&c->out, "%s after %llu steps: %.*s%s\n", c->o.of.data[0],
                (unsigned long long)f->done, (int)n, last, f->settled ? " (converged)" : "");
    for (uint32_t i = 0; i < c->o.params.count; i++) {
        const bound_buffer *b = fit_buffer(f, c->o.params.data[i]);
        array_print(b->info.name, &b->value, c->o.verbose, &c->out);
    }
}

static bool add_statistics(const fit *f, const command *c, cJSON *top)
{
    cJSON *all = cJSON_AddObjectToObject(top, "stopped");
    bool ok = all && json_integer(all, "step", f->done);
    for (uint32_t i = 0; ok && i < c->o.params.count; i++) {
        const bound_buffer *b = fit_buffer(f, c->o.params.data[i]);
        const statistics s = statistics_of(&b->value);
        cJSON *one = cJSON_AddObjectToObject(all, b->info.name);
        ok = one && cJSON_AddNumberToObject(one, "min", s.least) &&
             cJSON_AddNumberToObject(one, "max", s.greatest) &&
             cJSON_AddNumberToObject(one, "mean", s.mean) &&
             json_integer(one, "not_finite", s.bad) && json_integer(one, "count", b->value.count);
    }
    return ok;
}

static bool add_array(cJSON *top, const char *name, const array *a)
{
    cJSON *item = json_array(a);
    if (item && cJSON_AddItemToObject(top, name, item)) return true;
    cJSON_Delete(item);
    return false;
}

// What a step exchanges, by name: bytes that each rank gives.
static bool add_ranks(const fit *f, cJSON *top)
{
    uint64_t bytes;
    const char *name;
    cJSON *ranks = cJSON_AddObjectToObject(top, "ranks");
    bool ok = ranks && json_integer(ranks, "count", f->ranks.comm.ranks) &&
              json_integer(ranks, "parts", f->ranks.parts) &&
              json_integer(ranks, "bytes", f->ranks.all.sent) &&
              json_integer(ranks, "early_bytes", f->ranks.all.early);
    cJSON *each = ok ? cJSON_AddObjectToObject(ranks, "bytes_per_step") : NULL;
    ok = each != NULL;
    for (uint32_t i = 0; ok && (bytes = vys_ranks_bytes(&f->ranks.all, i, &name)); i++)
        ok = json_integer(each, name, bytes);
    return ok;
}

static bool print_json(const fit *f, command *c, vy_diag *d)
{
    const bool eval = c->o.engine == ENGINE_EVAL;
    const array all = losses(f, 0);
    cJSON *top = cJSON_CreateObject();
    bool ok =
        top && json_string(top, "program", f->train.program) &&
        json_string(top, "engine", eval ? "eval" : "vulkan") &&
        json_string(top, "device",
                    eval ? "reference interpreter" : vkrt_device_get_info(c->gpu->device)->name) &&
        json_integer(top, "steps", f->done) &&
        cJSON_AddBoolToObject(top, "interrupted", f->interrupted) &&
        cJSON_AddBoolToObject(top, "converged", f->settled) && add_array(top, "losses", &all) &&
        (!f->stopped || add_statistics(f, c, top));
    cJSON *results = ok ? cJSON_AddObjectToObject(top, "outputs") : NULL;
    ok = results != NULL;
    for (uint32_t i = 0; ok && i < c->o.params.count; i++) {
        const bound_buffer *b = fit_buffer(f, c->o.params.data[i]);
        ok = add_array(results, b->info.name, &b->value);
    }
    ok = ok && json_integer(top, "workspace_bytes", vys_runner_workspace(&f->run));
    ok = ok && (!c->o.shard || add_ranks(f, top));
    cJSON *time = ok ? cJSON_AddObjectToObject(top, "time_ms") : NULL;
    ok = time && json_number(time, "compile", f->compile_ms, 6) &&
         json_number(time, "device", f->device_ms, 6) &&
         json_number(time, "training", now_ms() - f->began, 6) &&
         json_number(time, "processor", cpu_ms() - f->cpu_began, 6);
    if (ok) return json_finish(top, &c->out) || fail_memory(d);
    cJSON_Delete(top);
    return fail_memory(d);
}

// What no step has changed is seldom meant to be trained.
static void tell_unchanged(const fit *f, const command *c)
{
    const uint64_t steps = f->done - f->first;
    for (uint32_t i = 0; steps && !f->stopped && i < f->train.param_count; i++)
        if (fit_contents(f, i) == f->start[i])
            note(c, "%s has not changed in %llu steps; perhaps the loss does not depend on it",
                 f->train.params[i], (unsigned long long)steps);
}

bool fit_print(fit *f, command *c, vy_diag *d)
{
    tell_unchanged(f, c);
    if (c->o.json) return print_json(f, c, d);
    print_text(f, c);
    return !c->out.failed || fail_memory(d);
}
