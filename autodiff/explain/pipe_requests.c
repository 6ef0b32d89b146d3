// SPDX-License-Identifier: MIT
// pipe_requests.c: the derivatives of what a pipeline dispatches: how their gradients are summed.
//
// They are noted by name while the module in which the pipeline is differentiated lives: programs,
// roles of parameters, which programs write which gradient.  How those sum is read from the
// programs of the finished, optimised result.  A request that the result does not dispatch was part
// of an attempt that was given up, and is not shown.
#include "autodiff/explain/explain_pipe.h"

#include "autodiff/transform.h"
#include "ir/core/host.h"

#include <string.h>

// ------------------------------------------------------------------------------------------ notes
static bool writes(const vy_program *p, uint32_t buffer)
{
    return p->buffers.data[buffer].cls == VY_OUT || p->buffers.data[buffer].cls == VY_INOUT;
}

static void add_writer(pipe_explaining *w, const vy_program *p, uint32_t buffer)
{
    const note_writer n = {vy_explain_text(&w->x, p->name),
                           vy_explain_text(&w->x, p->buffers.data[buffer].name)};
    if (!vy_vec_push(&w->requests.writers, n)) w->x.failed = true;
}

// The steps of a derivative that write parameter `buffer` of it.
static void add_writers(pipe_explaining *w, const vy_pipeline *l, uint32_t buffer)
{
    for (uint32_t i = 0; i < l->steps.count; i++) {
        const vy_pipe_step *s = &l->steps.data[i];
        if (s->kind != VY_PIPE_DISPATCH) continue;
        const vy_program *p = l->module->programs.data[s->program];
        for (uint32_t b = 1, n = 0; b < p->buffers.count; b++) {
            if (!vy_pipe_binds(&p->buffers.data[b])) continue;
            if (s->args[n++].buffer.id == buffer && writes(p, b)) add_writer(w, p, b);
        }
    }
}

// The gradient of an `inout` parameter replaces the cotangent of its final contents.
static vy_derivative_mode mode_of(const vy_module *m, const vy_derived *d, uint32_t buffer)
{
    const vy_derivative_role *role = &d->roles[buffer];
    const vy_program *p = d->source.pipeline ? m->pipelines.data[d->source.index]->signature
                                             : m->programs.data[d->source.index];
    const bool scalar = role->kind == VY_IS_SCALAR_GRADIENT;
    const bool replaced = !scalar && p->buffers.data[role->parameter].cls == VY_INOUT;
    return role->mode == VY_ADDS && replaced ? VY_IN_PLACE : role->mode;
}

static void take_result(pipe_explaining *w, const vy_module *m, const vy_derived *d,
                        uint32_t buffer)
{
    const vy_derivative_role *role = &d->roles[buffer];
    const vy_pipeline *l = d->result.pipeline ? m->pipelines.data[d->result.index] : NULL;
    const vy_program *p = l ? l->signature : m->programs.data[d->result.index];
    note_result n = {.name = vy_explain_text(&w->x, p->buffers.data[buffer].name),
                     .of = vy_explain_text(&w->x, role->of ? role->of : ""),
                     .mode = mode_of(m, d, buffer),
                     .first = w->requests.writers.count};
    if (l)
        add_writers(w, l, buffer);
    else
        add_writer(w, p, buffer);
    n.count = w->requests.writers.count - n.first;
    if (!vy_vec_push(&w->requests.results, n)) w->x.failed = true;
}

// The programs of a derivative, each once.
static void take_programs(pipe_explaining *w, const vy_module *m, const vy_derived *d,
                          note_request *n)
{
    const vy_pipeline *l = d->result.pipeline ? m->pipelines.data[d->result.index] : NULL;
    n->programs = vy_explain_array(&w->x, l ? l->steps.count + 1 : 1, sizeof *n->programs);
    if (!n->programs) return;
    if (!l) n->programs[n->program_count++] = n->name;
    for (uint32_t i = 0; l && i < l->steps.count; i++) {
        if (l->steps.data[i].kind != VY_PIPE_DISPATCH) continue;
        const char *name = m->programs.data[l->steps.data[i].program]->name;
        bool again = false;
        for (uint32_t k = 0; k < n->program_count; k++) again |= !strcmp(n->programs[k], name);
        if (!again) n->programs[n->program_count++] = vy_explain_text(&w->x, name);
    }
}

static const char *name_of(const vy_module *m, vy_ref r)
{
    return r.pipeline ? m->pipelines.data[r.index]->name : m->programs.data[r.index]->name;
}

// The first dispatch of a derivative in a host program; 0: none.
static uint32_t dispatch_of(const vy_program *result, const vy_derived *d)
{
    for (uint32_t id = 1; id < result->insts.count; id++) {
        if (result->insts.data[id].op != VY_OP_DISPATCH) continue;
        const vy_host_call *call = vy_host_call_of(result, id);
        if (call->callee == d->result.index && call->pipeline == d->result.pipeline) return id;
    }
    return 0;
}

static void take_request(pipe_explaining *w, const vy_module *m, const vy_program *result,
                         const vy_derived *d)
{
    const uint32_t at = dispatch_of(result, d);
    if (!at) return;
    note_request n = {.line = result->insts.data[at].line,
                      .of = vy_explain_text(&w->x, name_of(m, d->source)),
                      .name = vy_explain_text(&w->x, name_of(m, d->result)),
                      .first = w->requests.results.count};
    take_programs(w, m, d, &n);
    for (uint32_t b = 1; b < d->role_count; b++)
        if (vy_is_gradient(d->roles[b].kind)) take_result(w, m, d, b);
    n.count = w->requests.results.count - n.first;
    if (!vy_vec_push(&w->requests.requests, n)) w->x.failed = true;
}

void vy_requests_take(pipe_explaining *w, const reverse *r, const vy_program *result)
{
    const vy_derived *d;
    for (uint32_t i = 0; (d = vy_module_derived(r->out, i)) && !w->x.failed; i++)
        take_request(w, r->out, result, d);
    for (uint32_t i = 0; r->keep && i < r->keep->forms.count && !w->x.failed; i++)
        if (r->keep->forms.data[i]->known)
            take_request(w, r->out, result, &r->keep->forms.data[i]->rest);
}

void vy_requests_free(request_notes *n)
{
    vy_vec_free(&n->requests);
    vy_vec_free(&n->results);
    vy_vec_free(&n->writers);
}

// ----------------------------------------------------------------------------------------- answer
// The result of several programs that write one gradient.
static vy_sum_kind both(vy_sum_kind x, vy_sum_kind y)
{
    const bool ordered = x >= VY_SUM_TERMS || y >= VY_SUM_TERMS;
    const bool gathers = x == VY_SUM_GATHER || y == VY_SUM_GATHER;
    const bool atomic = x == VY_SUM_ATOMIC || y == VY_SUM_ATOMIC;
    if (!ordered && gathers && atomic) return VY_SUM_BOTH;
    return x > y ? x : y;
}

static void add_sum(pipe_explaining *w, const note_writer *n, vy_explain_result *out)
{
    const vy_program *p = vy_module_find(w->result->module, n->program);
    const uint32_t buffer = p ? vy_program_find_buffer(p, n->buffer).id : 0;
    uint32_t places;
    if (!buffer) return;
    vy_sum_kind kind = vy_explain_sum(p, buffer, &places);
    if (!places) return;
    if (p->gathers) kind = VY_SUM_GATHER;
    if (p->gathers && !out->program) out->program = n->program;
    if (vy_explain_ordered_kind(p) != VY_SUM_ZERO) kind = vy_explain_ordered_kind(p);
    out->sum = both(out->sum, kind);
}

static void explain_results(pipe_explaining *w, const note_request *n, vy_explain_request *out)
{
    vy_explain_result *list = vy_explain_array(&w->x, n->count, sizeof *list);
    for (uint32_t i = 0; list && i < n->count; i++) {
        const note_result *r = &w->requests.results.data[n->first + i];
        list[i] = (vy_explain_result){.name = r->name, .of = r->of, .mode = r->mode};
        for (uint32_t k = 0; k < r->count; k++)
            add_sum(w, &w->requests.writers.data[r->first + k], &list[i]);
    }
    out->results = list;
    out->result_count = list ? n->count : 0;
}

void vy_explain_requests(pipe_explaining *w)
{
    const note_request_vec *notes = &w->requests.requests;
    vy_explain_request *list = vy_explain_array(&w->x, notes->count, sizeof *list);
    for (uint32_t i = 0; list && i < notes->count; i++) {
        const note_request *n = &notes->data[i];
        vy_explain_request *out = &list[i];
        *out = (vy_explain_request){.of = n->of,
                                    .line = n->line,
                                    .name = n->name,
                                    .programs = n->programs,
                                    .program_count = n->program_count};
        explain_results(w, n, out);
    }
    w->e->requests = list;
    w->e->request_count = list ? notes->count : 0;
}
