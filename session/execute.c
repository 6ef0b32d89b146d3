// SPDX-License-Identifier: MIT
// execute.c: vys_run and vys_read.
//
// The first run, and any whose sizes need other code, executes all stages: shapes, a fresh copy of
// the program or a fresh derivative (which tapes less until it fits), the optimiser with the sizes
// at hand, the compiler, the device.  Later runs upload what was set since, and run.
#include "session/task.h"

#include "session/internal.h"

#include <stdlib.h>
#include <string.h>

// -------------------------------------------------------------------------------------------- data
static bool fill(vys_bound *b, vy_diag *d)
{
    const vys_given *g = b->given;
    const uint64_t bytes = b->value.count * vy_type_size(b->value.type);
    (void)d; // shapes agree, and so do counts
    if (!bytes) return true;
    if (g->data)
        memcpy(b->value.data, g->data, bytes);
    else
        memset(b->value.data, 0, bytes);
    return true;
}

static void take_given(const vys_task *t, vys_binding *b)
{
    b->fill = fill;
    for (uint32_t i = 0; i < b->buffer_count; i++) {
        vys_bound *buf = &b->buffers[i];
        vys_given *g = vys_task_given(t, buf->info.name);
        if (!g) continue;
        buf->given = g;
        buf->state = g->state;
        buf->flat = g->flat;
        memcpy(buf->value.shape, g->shape, sizeof g->shape);
    }
}

bool vys_task_settle(vys_task *t, vy_diag *d)
{
    vys_binding *b = &t->forward;
    vys_binding_free(b);
    if (!vys_binding_create(b, t->primal, t->work.settings.f64, t->work.settings.words, d))
        return false;
    for (uint32_t i = 0; i < b->scalar_count; i++) {
        b->scalars[i].known = t->scalar_given[i];
        b->scalars[i].value = t->scalars[i];
    }
    take_given(t, b);
    return vys_binding_groups(b, t->has_groups ? t->groups : NULL, d) && vys_binding_given(b, d) &&
           vys_binding_settle(b, d);
}

// Borrows the contents of the given blocks where no run changes them on the host.
static void lend(const vys_task *t, vys_bound *b)
{
    const vys_given *g = b->given;
    const bool changes = b->info.cls == VY_INOUT && t->work.settings.interpreter;
    if (g && g->storage) {
        b->borrowed = true;
        b->value.type = g->type;
        b->storage = g->storage;
        b->storage_offset = g->offset;
        return;
    }
    if (!g || !g->data || b->info.cls == VY_OUT || changes) return;
    b->borrowed = true;
    b->value.type = g->type;
    b->value.data = g->data;
}

// Shapes of cotangents, tangents and results are decided by the others; those that were given for
// them are compared here, before any of their elements is touched.
static bool check_given(const vys_binding *b, vy_diag *d)
{
    for (uint32_t i = 0; i < b->buffer_count; i++) {
        const vys_bound *buf = &b->buffers[i];
        const vys_given *g = buf->given;
        char have[200] = "", need[200] = "";
        const bool same =
            !g || g->state == VYS_SHAPE_NONE ||
            (g->state == VYS_SHAPE_FLAT ? g->flat == buf->value.count
                                        : !memcmp(g->shape, buf->value.shape, sizeof g->shape));
        if (same) continue;
        if (g->state == VYS_SHAPE_FLAT)
            vys_append(have, sizeof have, "%llu elements", (unsigned long long)g->flat);
        else
            vys_append_shape(have, sizeof have, buf->info.rank, g->shape);
        vys_append_shape(need, sizeof need, buf->info.rank, buf->value.shape);
        return vys_fail(d, VYS_SHAPE, g->storage ? "bind it with this shape" : "give this shape",
                        "%s is %s as %s, but is %s", buf->info.name, g->storage ? "bound" : "given",
                        have, need);
    }
    return true;
}

// The data of the program that runs, decided by t->forward.
static bool bind(vys_task *t, vy_diag *d)
{
    vys_binding *b = &t->data;
    vys_binding_free(b);
    if (!vys_binding_create(b, t->runs, t->work.settings.f64, t->work.settings.words, d))
        return false;
    take_given(t, b);
    vys_binding_follow(b, &t->forward);
    for (uint32_t i = 0; i < b->buffer_count; i++) {
        vys_bound *buf = &b->buffers[i];
        const bool own = vys_binding_source(&t->forward, &buf->info) != NULL;
        buf->ones = !own && vys_begins_as_ones(buf); // a cotangent, a tangent
        lend(t, buf);
    }
    return vys_binding_settle(b, d) && check_given(b, d) && vys_binding_fill(b, d) &&
           (!t->work.settings.order || vys_binding_tape(b, t->work.settings.tape_limit, d));
}

// With keep_state: the contents after the last run become the initial ones of the next.
static bool keep_state(vys_task *t, vy_diag *d)
{
    if (!t->work.settings.keep_state || !t->done) return true;
    for (uint32_t i = 0; i < t->data.buffer_count; i++) {
        vys_bound *b = &t->data.buffers[i];
        vys_given *g = vys_task_given(t, b->info.name);
        const uint64_t bytes = b->value.count * vy_type_size(b->value.type);
        if (b->info.cls != VY_INOUT || !g || g->fresh || g->storage || !bytes) continue;
        if (!g->data) { // zeros were given
            g->data = malloc(bytes);
            if (!g->data) return vys_fail_memory(d);
            g->count = b->value.count;
        }
        if (!vys_read(t, b->info.name, b->value.type, g->data, bytes, d)) return false;
    }
    return true;
}

// -------------------------------------------------------------------------------------------- code
static void forget_code(vys_task *t)
{
    vys_runner_free(&t->runner);
    free(t->compiled_dims);
    t->compiled_dims = NULL;
}

// Compiled code is correct for all sizes, except where loops then run more iterations than the
// device allows (vkrt reports it), and fast for sizes like those it was compiled for.
static bool still_suits(const vys_task *t)
{
    const vys_binding *b = &t->forward;
    if (!t->compiled_dims) return false;
    for (uint32_t i = 1; i < vy_program_dim_count(b->program); i++) {
        const int64_t was = t->compiled_dims[i], is = b->dims[i];
        if (b->dim_states[i] != VY_DIM_IS_KNOWN) continue;
        if (is != was && (is > 2 * was || was > 2 * is)) return false;
    }
    const vys_facts facts =
        t->work.settings.interpreter ? (vys_facts){0} : vys_facts_of(t->work.device);
    const vys_launch values = vys_binding_values(&t->data);
    const vy_program *worst;
    bool complete;
    return !facts.loop_iteration_limit ||
           (vys_entry_iterations(t->runs, &values, &worst, &complete) <=
                facts.loop_iteration_limit &&
            (complete || !t->runner.iterations_known));
}

static bool note_sizes(vys_task *t, vy_diag *d)
{
    const uint32_t n = vy_program_dim_count(t->forward.program);
    t->compiled_dims = calloc((size_t)n + 1, sizeof *t->compiled_dims);
    if (!t->compiled_dims) return vys_fail_memory(d);
    for (uint32_t i = 0; i < n; i++) t->compiled_dims[i] = t->forward.dims[i];
    return true;
}

static bool run_once(vys_task *t, vy_diag *d)
{
    if (t->no_run) return vys_runner_ready(&t->runner, d);
    if (t->ranks) return vys_task_run_ranks(t, d);
    return vys_runner_run(&t->runner, &t->work, &t->stats.milliseconds, d);
}

static bool build_once(vys_task *t, vy_diag *d)
{
    if (!vys_task_code(t, d)) return false;
    vy_module *m = t->work.settings.order           ? t->work.derived
                   : t->work.settings.deterministic ? t->work.ordered
                                                    : t->code;
    const bool final = true; // it runs here and will not be differentiated again
    t->stats.compilations++;
    return bind(t, d) && vys_optimize(&t->work, m, final, &t->data, d) &&
           vys_runner_prepare(&t->runner, &t->work, &t->data, d) &&
           vys_runner_upload(&t->runner, d) && note_sizes(t, d) && run_once(t, d);
}

static bool build_and_run(vys_task *t, vy_diag *d)
{
    for (;;) {
        forget_code(t);
        if (build_once(t, d)) return true;
        vy_module *const kept =
            t->work.derived; // kept until it is replaced: t->data names its parameters
        t->work.derived = NULL;
        const bool again = t->work.settings.order && vys_derive_with_less(&t->work, d);
        t->work.derived = kept;
        if (!again) break;
    }
    forget_code(t);
    return false;
}

// ----------------------------------------------------------------------------------- runs after it
// Other sizes, for the same code.
static bool rebind_and_run(vys_task *t, vy_diag *d)
{
    return vys_runner_upload(&t->runner, d) && vys_runner_rescale(&t->runner, d) && run_once(t, d);
}

// The same sizes: only what was set, and what a run changes.
static bool refill_and_run(vys_task *t, vy_diag *d)
{
    for (uint32_t i = 0; i < t->data.buffer_count; i++) {
        vys_bound *b = &t->data.buffers[i];
        const vys_given *g = b->given;
        const bool changed = b->info.cls == VY_INOUT && !t->work.settings.keep_state;
        if (!g || g->storage || b->info.cls == VY_OUT || !(g->fresh || changed)) continue;
        if (!b->borrowed && !fill(b, d)) return false;
        if (!vys_runner_upload_one(&t->runner, b, d)) return false;
    }
    return run_once(t, d);
}

static bool run(vys_task *t, vy_diag *d)
{
    if (!t->moved && t->compiled_dims) return refill_and_run(t, d);
    if (!keep_state(t, d) || !vys_task_settle(t, d)) return false;
    t->done = false;
    vy_diag tape = {0};
    if (t->compiled_dims) {
        if (!bind(t, &tape)) { // beyond the limit now, perhaps: derive anew
            forget_code(t);
        } else if (still_suits(t)) {
            return rebind_and_run(t, d);
        }
    }
    return build_and_run(t, d);
}

// run, with or without the run itself.
static bool execute(vys_task *t, vy_diag *d)
{
    if (d->severity == VY_ERROR) return false;
    t->done = run(t, d);
    if (!t->done) {
        forget_code(t);
        return false;
    }
    t->moved = false;
    for (uint32_t i = 0; i < t->given_count; i++) t->given[i].fresh = false;
    return true;
}

bool vys_run(vys_task *t, vy_diag *d)
{
    if (!execute(t, d)) return false;
    t->stats.runs++;
    return true;
}

bool vys_prepare(vys_task *t, vy_diag *d)
{
    if (d->severity == VY_ERROR) return false;
    if (t->work.settings.interpreter)
        return vys_fail(d, VYS_USAGE, "open the session on a device",
                        "the interpreter has nothing to prepare");
    t->no_run = true;
    const bool ok = execute(t, d);
    t->no_run = t->done = false;
    return ok;
}

vkrt_plan *vys_task_plan(const vys_task *t) { return t->compiled_dims ? t->runner.plan : NULL; }

// ----------------------------------------------------------------------------------------- results
bool vys_read(vys_task *t, const char *name, vy_type type, void *data, uint64_t bytes, vy_diag *d)
{
    if (d->severity == VY_ERROR) return false;
    vys_bound *b = vys_binding_buffer(&t->data, "", name, d);
    if (!b) return false;
    const uint64_t size = b->value.count * vy_type_size(b->value.type);
    if (b->info.cls == VY_IN)
        return vys_fail(d, VYS_USAGE, "read outputs", "%s is an input: it holds what was set",
                        name);
    if (!t->done) return vys_fail(d, VYS_USAGE, "call vys_run", "%s: no run has succeeded", name);
    if (type != b->value.type)
        return vys_fail(d, VYS_DATA, "", "%s is %s, but %s is requested", name,
                        vy_type_name(b->value.type), vy_type_name(type));
    if (bytes != size)
        return vys_fail(d, VYS_SHAPE, "", "%s has %llu bytes, but %llu are requested", name,
                        (unsigned long long)size, (unsigned long long)bytes);
    return vys_runner_read_one(&t->runner, b, data, d);
}
