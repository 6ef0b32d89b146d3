// SPDX-License-Identifier: MIT
// derive_pipeline.c: derivatives of pipelines, in reverse and forward mode.
//
//   1. a copy of the pipeline and of the programs it dispatches, in a module to work in
//   2. what is passed as flat(…) by copies (ir/host/flatten.c); in reverse mode, each `while`
//      counted: a repeat (ir/host/count_whiles.c)
//   3. the pipeline as a host program (ir/core/host.h), in which slices of buffers are values
//   4. differentiated like any program: forward sweep, reverse sweep, tapes (autodiff/reverse);
//      what it dispatches is differentiated on the way, once for each request (vy_transform, which
//      the caller passes on)
//   5. as steps again (ir/host/lower.c), with states that are their own tape (states.c), in a
//      module with what it dispatches; neighbouring stages become one (fuse_stages.c)
#include "autodiff/driver/gather_left.h"
#include "autodiff/driver/keep_values.h"
#include "autodiff/driver/observed.h"
#include "autodiff/forward/forward.h"
#include "autodiff/reverse/sweeps.h"
#include "ir/core/derive_as.h"
#include "ir/core/pipe.h"
#include "ir/host/host_build.h"
#include "ir/pass/pass.h"

#include <stdio.h>

static void keep_gradients(vy_program *p)
{
    for (uint32_t i = 1; i < p->buffers.count; i++) {
        vy_buf *b = &p->buffers.data[i];
        if (b->init == VY_INIT_KEEP) b->cls = VY_INOUT, b->init = VY_INIT_NONE;
    }
}

// Leaves out stores that are stored over, and what only they need.  Each that goes may have read
// what another one stored, so again; chains longer than the limit keep their beginning.
static bool drop_dead_stores(vy_program *p)
{
    enum { MOST_ROUNDS = 64 };
    vy_pass_context c = {.changed = true};
    for (uint32_t n = 0; c.changed && n < MOST_ROUNDS; n++) {
        c.changed = false;
        if (!vy_pass_dse(p, &c) || (c.changed && !vy_pass_dce(p, &c))) return false;
    }
    return true;
}

// The reverse of `host`, with values kept in place of states: where stages are joined, so that what
// computes them for the reverse is a part of what computes them anyway.  (What is differentiated
// again would have more stages to differentiate.)  NULL: work's diag.
static vy_program *reverse_host(vy_program *host, const reverse_observer *observer, reverse *r)
{
    keep_plan *k = r->keep;
    const bool joined = !r->options->apart || (observer && observer->joins);
    if (r->options->again || !joined) return vy_attempt(r, host);
    k->made = vy_arena_room(&k->arena, host->insts.count, sizeof *k->made);
    if (!k->made) {
        vy_fail_oom(r->out);
        return NULL;
    }
    vy_program *p = vy_attempt(r, host);
    return p ? vy_keep_values(r, host, p) : NULL;
}

// The derivative of `host`, which it may rewrite, as a host program; NULL: work's diag.
static vy_program *derive_host(vy_program *host, const vy_grad_options *options,
                               const reverse_observer *observer, reverse *r)
{
    if (options->forward) return vy_forward(r, host, host) ? host : NULL;
    vy_program *p = reverse_host(host, observer, r);
    if (p && observer) observer->note(observer->user, r, p);
    if (p && drop_dead_stores(p) && vy_drop_unused(p, VY_DROP_MADE)) {
        keep_gradients(p);
        return p;
    }
    vy_program_free(p);
    return NULL;
}

// What the tries of one derivative share.
typedef struct pipeline_try {
    const vy_grad_options *options;
    vy_derive_call *call;
    const reverse_observer *observer;
    vy_counted_loops which; // are counted before the outermost one runs
    bool own;               // iterations with intermediates of their own sizes are checkpoints
    bool uncut;             // its repeats are not cut into segments again
    const char *name;       // of what is differentiated
    bool revolved;          // set: the result has the schedule of revolve
    bool lacks_bound;       // set: more loops must be counted
    bool varies_in_size;    // set: such iterations must be checkpoints
} pipeline_try;

static vy_pipeline *differentiate(vy_module *work, vy_program *host, const uint32_t *hints,
                                  pipeline_try *t)
{
    const vy_grad_options *options = t->options;
    char text[320];
    keep_plan keep = {0};
    reverse r = {.p = host,
                 .options = options,
                 .out = work,
                 .forward = options->forward,
                 .derive = t->call,
                 .keep = &keep,
                 .plan = {.hints = hints}};
    vy_program *p = derive_host(host, options, t->observer, &r);
    t->lacks_bound |= r.lacks_bound;
    t->varies_in_size |= r.varies_in_size;
    snprintf(text, sizeof text, "%.300s_%s", t->name, options->forward ? "jvp" : "grad");
    vy_pipeline *l = p ? vy_host_lower(p, text) : NULL;
    if (p != host) vy_program_free(p);
    if (!options->forward) vy_reverse_free(&r);
    vy_vec_free(&keep.forms);
    vy_arena_free(&keep.arena);
    return l;
}

// Programs and pipeline of the result have one order, which the text says once.
static void set_order(vy_module *m, uint32_t order)
{
    for (uint32_t i = 0; i < m->programs.count; i++) m->programs.data[i]->order = order;
    for (uint32_t i = 0; i < m->pipelines.count; i++)
        m->pipelines.data[i]->signature->order = order;
    m->order = order;
}

static vy_host_revolved *report_of(const pipeline_try *t)
{
    return t->observer ? t->observer->revolved : NULL;
}

static void *user_of(const pipeline_try *t) { return t->observer ? t->observer->user : NULL; }

// The derivative as steps, the last pipeline of `work`; with `revolve`, the binomial schedule where
// the source requests it.  NULL: the module's diag, or what has no such form keeps √n states now.
static vy_pipeline *derive_once(vy_module *work, vy_pipeline *source, bool revolve, pipeline_try *t)
{
    uint32_t *hints = NULL;
    vy_program *host = vy_host_raise(source, t->uncut ? 0 : t->options->checkpoint, revolve, t->own,
                                     t->options->forward ? NULL : &hints);
    vy_pipeline *l = host ? differentiate(work, host, hints, t) : NULL;
    vy_program_free(host);
    vy_free(hints);
    if (!l || !revolve) return l;
    if (!vy_host_revolve(work, source, report_of(t), user_of(t))) return NULL;
    vy_host_limit_revolve(source, report_of(t), user_of(t));
    return work->pipelines.data[work->pipelines.count - 1];
}

// How many repeats are to have the schedule.  What will be differentiated again has none: the
// derivative of its nest would have tapes as long as the product of its bounds.
static uint32_t count_revolving(vy_pipeline *l, const pipeline_try *t)
{
    uint32_t n = 0;
    if (t->options->forward) return 0;
    vy_host_refuse_revolve(l, t->options->again ? "it is differentiated again" : NULL, report_of(t),
                           user_of(t));
    for (uint32_t i = 0; i < l->steps.count; i++) n += vy_host_revolves(l, i);
    return n;
}

static bool keep_states(vy_module *work, const reverse_observer *observer)
{
    return vy_host_keep_states(work, work->pipelines.count - 1, observer ? observer->moved : NULL,
                               observer ? observer->user : NULL);
}

// Joins stages, and leaves out the programs that are part of others now.
static bool fuse_stages(vy_module **out, vy_diag *diag)
{
    const uint32_t last = (*out)->pipelines.count - 1, before = (*out)->programs.count;
    vy_module *all = *out;
    if (!vy_host_fuse_stages(all, last)) {
        *diag = all->diag;
        return false;
    }
    if (all->programs.count == before) return true;
    const bool ok = vy_module_extract(all, (vy_ref){last, true}, out, diag);
    vy_module_free(all);
    if (!ok) *out = NULL;
    return ok;
}

// `out`, or NULL: *diag.
static vy_module *finish(vy_module *out, uint32_t order, const pipeline_try *t, vy_diag *diag)
{
    const vy_grad_options *options = t->options;
    const bool gathers = options->accumulate != VY_ACCUMULATE_ATOMIC && !options->again;
    bool ok = !gathers || vy_gather_left(out, order, options);
    if (!ok) *diag = out->diag;
    if (ok && !options->again && !options->apart) ok = fuse_stages(&out, diag);
    if (ok && !vy_pipe_order_buffers(out->pipelines.data[out->pipelines.count - 1])) {
        vy_diag_set(diag, VY_E_MEMORY, 0, 0, NULL, "out of memory");
        ok = false;
    }
    if (ok) {
        set_order(out, order);
        return out;
    }
    vy_module_free(out);
    return NULL;
}

// What is differentiated, ready for it: the last pipeline of `work`.
static bool prepare_source(vy_module *work, const pipeline_try *t)
{
    const vy_grad_options *o = t->options;
    const uint32_t last = work->pipelines.count - 1; // after rules
    if (!vy_host_flatten(work, last)) return false;
    if (o->forward) return true;
    if (!vy_host_count_whiles(work, last, t->which)) return false;
    if (!o->checkpoint || !o->revolve || t->uncut) return true;
    if (vy_host_request_revolve(work->pipelines.data[last], o->revolve)) return true;
    vy_diag_set(&work->diag, VY_E_MEMORY, 0, 0, NULL, "out of memory");
    return false;
}

static vy_pipeline *derive_steps(vy_module *work, vy_pipeline *source, pipeline_try *t)
{
    uint32_t revolving = count_revolving(source, t), before = UINT32_MAX;
    vy_pipeline *l = derive_once(work, source, revolving, t);
    // Those that have no form for it keep √n states then.
    while (!l && vy_module_ok(work) && revolving && revolving < before) {
        before = revolving;
        revolving = count_revolving(source, t);
        l = derive_once(work, source, revolving, t);
    }
    t->revolved = l && revolving;
    if (t->options->revolve && t->options->revolved) *t->options->revolved = t->revolved;
    return l;
}

static vy_module *derive(vy_module *work, pipeline_try *t, uint32_t order, vy_diag *diag)
{
    const uint32_t last = work->pipelines.count - 1;
    vy_module *out = NULL;
    if (!prepare_source(work, t)) {
        *diag = work->diag;
        return NULL;
    }
    work->order = order;
    vy_pipeline *l = derive_steps(work, work->pipelines.data[last], t);
    if (l && !t->options->forward && !keep_states(work, t->observer)) l = NULL;
    if (!l)
        *diag = work->diag;
    else if (vy_module_extract(work, (vy_ref){work->pipelines.count - 1, true}, &out, diag))
        out = finish(out, order, t, diag);
    return out;
}

// Segments of segments of segments, one for each order, have lengths and positions that are roots
// of roots: expressions too large for a pipeline.  Then the last order cuts no more.
static bool is_cut_too_often(const pipeline_try *t, uint32_t order, const vy_diag *diag)
{
    return order > 1 && t->options->checkpoint && !t->uncut && vy_diag_is(diag, VY_E_LIMIT);
}

// What the failure of one try shows to be missing, for the next one.  False: nothing.
static bool try_more(pipeline_try *t, uint32_t order, const vy_diag *diag)
{
    const bool more = t->lacks_bound && t->which < VY_COUNT_ALL, own = t->varies_in_size && !t->own,
               uncut = is_cut_too_often(t, order, diag);
    t->which += more;
    t->own |= own;
    t->uncut |= uncut;
    t->lacks_bound = t->varies_in_size = false;
    return more || own || uncut;
}

// NULL: *diag.
static vy_module *try_all(const vy_pipeline *source, pipeline_try *t, vy_diag *diag)
{
    const vy_module *m = source->module;
    const vy_pipeline *body = vy_derived_as(source);
    vy_module *out = NULL;
    uint32_t at = 0;
    while (m->pipelines.data[at] != body) at++;
    const uint32_t order = vy_next_order(source->signature);
    for (bool more = true; !out && more; more = try_more(t, order, diag)) {
        vy_module *work = NULL;
        if (vy_module_extract(m, (vy_ref){at, true}, &work, diag))
            out = derive(work, t, order, diag);
        vy_module_free(work);
    }
    return out;
}

// The same derivative without the schedule, of which it is a part then.  False: *diag.
static bool add_plain(vy_module *out, const vy_pipeline *source, const pipeline_try *t,
                      vy_diag *diag)
{
    vy_grad_options o = *t->options;
    o.again = true, o.deterministic = o.plain_too = false, o.accumulate = VY_ACCUMULATE_ATOMIC;
    vy_module *plain = vy_derive_pipeline(source, &o, t->call, NULL, diag);
    const bool ok = plain && vy_derive_as(out, plain, diag);
    vy_module_free(plain);
    return ok;
}

vy_module *vy_derive_pipeline(const vy_pipeline *source, const vy_grad_options *options,
                              vy_derive_call *call, const reverse_observer *observer, vy_diag *diag)
{
    if (vy_refuse_exact_stages(source, diag)) return NULL;
    const uint64_t before = vy_memory_failures();
    // Batches are there to keep less than all of them would: no repeat to cut into segments.
    pipeline_try t = {.options = options,
                      .call = call,
                      .observer = observer,
                      .name = source->name,
                      .uncut = options->batches > 1};
    vy_module *out = try_all(source, &t, diag);
    if (out && t.revolved && options->plain_too && !add_plain(out, source, &t, diag)) {
        vy_module_free(out);
        out = NULL;
    }
    if (vy_memory_failures() == before) return out;
    vy_module_free(out);
    vy_diag_set(diag, VY_E_MEMORY, 0, 0, NULL, "out of memory");
    return NULL;
}
