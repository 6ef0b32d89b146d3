// SPDX-License-Identifier: MIT
// explain_pipeline.c: vy_explain_pipeline: what became of a pipeline, from its derivative.
//
// The pipeline is differentiated once.  An observer notes what its host program tapes and where
// adjoints live (notes.c), and which derivatives of programs were requested (pipe_requests.c).
// Steps and bytes are those of the optimised result (pipe_steps.c).
#include "autodiff/explain/explain_pipe.h"

#include "autodiff/core/conditions.h"
#include "autodiff/deterministic.h"
#include "autodiff/driver/observed.h"
#include "autodiff/driver/batches.h"
#include "autodiff/driver/starts_meet.h"
#include "autodiff/transform.h"
#include "ir/core/program_rule.h"
#include "ir/host/host_build.h"

#include <stdio.h>
#include <string.h>

static void observe(void *user, const reverse *r, const vy_program *result)
{
    pipe_explaining *w = user;
    vy_notes_take(&w->x.notes, r, result);
    vy_requests_take(w, r, result);
}

static void observe_move(void *user, const char *tape, const char *into)
{
    pipe_explaining *w = user;
    vy_notes_move(&w->x.notes, tape, into);
}

// Attempts repeat what earlier ones said.
static void observe_schedule(void *user, uint32_t line, const char *why)
{
    pipe_explaining *w = user;
    char text[160];
    if (why)
        snprintf(text, sizeof text, "line %u: √n states, not checkpoint(revolve): %s", line, why);
    else
        snprintf(text, sizeof text, "line %u: checkpoint(revolve), of at most %d states", line,
                 VY_REVOLVE_MOST);
    for (uint32_t k = 0; k < w->schedules.count; k++)
        if (strcmp(w->schedules.data[k], text) == 0) return;
    const char *kept = vy_arena_strdup(&w->x.memory->arena, text, strlen(text));
    if (!kept || !vy_vec_push(&w->schedules, kept)) w->x.failed = true;
}

// ---------------------------------------------------------------------------------------- buffers
// Adjoints of intermediates are local arrays of the host program, and intermediates of the result.
static vy_adjoint_kind adjoint_of(const note_buffer *n)
{
    return n->adjoint == VY_ADJOINT_ARRAY ? VY_ADJOINT_WORKSPACE : n->adjoint;
}

static void explain_buffers(pipe_explaining *w)
{
    const notes *n = &w->x.notes;
    const vy_program *p = w->source->signature;
    vy_explain_buffer *list = vy_explain_array(&w->x, n->buffers.count, sizeof *list);
    uint32_t count = 0;
    for (uint32_t i = 0; list && i < n->buffers.count; i++) {
        const note_buffer *note = &n->buffers.data[i];
        const uint32_t id = vy_program_find_buffer(p, note->name).id;
        if (!id) continue;
        const vy_buf *b = &p->buffers.data[id];
        vy_explain_buffer *out = &list[count++];
        *out = (vy_explain_buffer){.name = note->name,
                                   .cls = b->workspace ? VY_LOCAL : b->cls,
                                   .type = b->type,
                                   .shape = vy_explain_shape(&w->x, p, id),
                                   .adjoint = adjoint_of(note),
                                   .adjoint_name = note->adjoint_name};
    }
    w->e->buffers = list;
    w->e->buffer_count = count;
}

// ------------------------------------------------------------------------------------------ tapes
static void explain_value(const pipe_count *g, const note_value *n, vy_explain_kept *out)
{
    vy_count *c = g->c;
    const vy_program *p = g->l->signature;
    const uint32_t tape = vy_program_find_buffer(p, n->tape).id;
    const vy_buf *b = &p->buffers.data[tape];
    const vy_poly all = vy_count_extent(c, g->dims, b, 0, b->rank);
    const vy_poly each = vy_count_extent(c, g->dims, b, b->rank - n->rank, b->rank);
    *out = (vy_explain_kept){.name = n->from ? n->from : n->name,
                             .before = n->before,
                             .line = n->line,
                             .type = n->type,
                             .tape = n->tape,
                             .loop = n->loop,
                             .loop_line = n->loop_line,
                             .why = n->why,
                             .each = vy_count_amount(c, each),
                             .all = vy_count_amount(c, vy_poly_scale(&c->space, all,
                                                                     vy_type_size(b->type), 1))};
}

static void explain_kept(pipe_explaining *w, const pipe_count *g)
{
    const notes *n = &w->x.notes;
    vy_explain_kept *list = vy_explain_array(&w->x, n->values.count, sizeof *list);
    uint32_t count = 0;
    for (uint32_t i = 0; list && i < n->values.count; i++)
        if (vy_program_find_buffer(g->l->signature, n->values.data[i].tape).id)
            explain_value(g, &n->values.data[i], &list[count++]);
    w->e->kept = list;
    w->e->kept_count = count;
}

// --------------------------------------------------------------------------------------- together
// Are counts unknown although all sizes are known?  Then they can be found by running.
static bool is_open(const vy_explain_pipe *p)
{
    bool open = false;
    for (int k = 0; k < VY_PIPE_WORK_COUNT; k++) open |= !p->work[k].known;
    return open;
}

static vy_explain_pipe totals(pipe_explaining *w, const pipe_count *n)
{
    vy_explain_pipe out = {.name = vy_explain_text(&w->x, n->l->name),
                           .bytes = vy_count_amount(n->c, n->bytes)};
    uint64_t work[VY_PIPE_WORK_COUNT];
    for (int k = 0; k < VY_PIPE_WORK_COUNT; k++) out.work[k] = vy_count_amount(n->c, n->work[k]);
    if (!is_open(&out) || !vy_pipe_run(&w->x, n, work)) return out;
    for (int k = 0; k < VY_PIPE_WORK_COUNT; k++) {
        out.work[k].known = true;
        out.work[k].value = work[k];
    }
    return out;
}

static bool count(pipe_explaining *w, const vy_sizes *sizes, pipe_count *n)
{
    vy_sizes mapped;
    return vy_explain_sizes(&w->x, n->l->signature, sizes, &mapped) &&
           vy_pipe_count(&w->x, &mapped, n);
}

static void explain_conditions(pipe_explaining *w)
{
    const vy_module *m = w->result->module;
    vy_arena *arena = &w->x.memory->arena;
    const char **list = vy_arena_room(arena, m->conditions.count, sizeof *list);
    bool ok = list != NULL;
    for (uint32_t k = 0; ok && k < m->conditions.count; k++)
        ok = (list[k] =
                  vy_arena_strdup(arena, m->conditions.data[k], strlen(m->conditions.data[k])));
    w->e->conditions = list;
    w->e->condition_count = ok ? m->conditions.count : 0;
    w->x.failed |= !ok;
}

static void explain_schedules(pipe_explaining *w)
{
    const uint32_t n = w->schedules.count;
    const char **list = vy_explain_array(&w->x, n + 1, sizeof *list);
    for (uint32_t k = 0; list && k < n; k++) list[k] = w->schedules.data[k];
    w->e->schedules = list;
    w->e->schedule_count = list ? n : 0;
}

static void put_together(pipe_explaining *w, const vy_sizes *sizes)
{
    static const vy_sizes unknown = {0};
    explain_memory *memory = w->x.memory;
    pipe_count f = {.c = &memory->forward, .l = w->run};
    pipe_count g = {.c = &memory->gradient, .l = w->result};
    if (!sizes) sizes = &unknown;
    w->x.forward = w->source->signature;
    if (count(w, sizes, &f) && count(w, sizes, &g)) {
        w->x.pipeline = w->source;
        explain_buffers(w);
        w->x.pipeline = w->result;
        explain_conditions(w);
        explain_schedules(w);
        explain_kept(w, &g);
        vy_explain_spaces(w, &g);
        w->e->forward = totals(w, &f);
        w->e->gradient = totals(w, &g);
    }
    vy_vec_free(&f.spaces);
    vy_vec_free(&g.spaces);
    w->x.failed |= memory->forward.space.failed || memory->gradient.space.failed;
}

// What runs forwards where sums are to be deterministic; elsewhere, and where they cannot be, the
// pipeline itself.
static vy_module *order_sums(const vy_module *m, const vy_grad_options *options)
{
    vy_diag ignored = {0};
    return options->deterministic ? vy_deterministic(m, options->program, &ignored) : NULL;
}

// The pipeline alone, its gradient, and what runs forwards if that is another one, all of them
// optimised.  False: *diag, or memory.
static bool make_all(pipe_explaining *w, const vy_module *m, const vy_grad_options *options,
                     const vy_opt_options *optimize, vy_module *made[3], vy_diag *diag)
{
    const reverse_observer observer = {.note = observe,
                                       .user = w,
                                       .joins = !options->apart,
                                       .moved = observe_move,
                                       .revolved = observe_schedule};
    vy_grad_options apart = *options;
    apart.apart = true;
    uint32_t at = 0;
    while (at < m->pipelines.count && strcmp(m->pipelines.data[at]->name, options->program)) at++;
    if (at == m->pipelines.count) {
        vy_diag_set(diag, VY_E_GRAD_PROGRAM, 0, 0, NULL, "there is no pipeline `%s`",
                    options->program);
        return false;
    }
    if (!vy_module_extract(m, (vy_ref){at, true}, &made[0], diag)) return false;
    made[1] = vy_derive_pipeline(m->pipelines.data[at], &apart, vy_transform, &observer, diag);
    made[1] = vy_conditions_known(made[1], options, diag);
    made[2] = order_sums(made[0], options);
    for (int k = 0; k < 3 && made[1]; k++) {
        if (!made[k] || vy_optimize(made[k], optimize)) continue;
        *diag = made[k]->diag;
        return false;
    }
    return made[1] && !w->x.failed && !w->x.notes.failed;
}

static bool begin_explanation(pipe_explaining *w)
{
    vy_pipeline_explanation *e = vy_realloc(NULL, sizeof *e);
    explain_memory *memory = vy_realloc(NULL, sizeof *memory);
    if (!e || !memory) {
        vy_free(e);
        vy_free(memory);
        return false;
    }
    *memory = (explain_memory){0};
    *e = (vy_pipeline_explanation){.memory = memory};
    *w = (pipe_explaining){.e = e, .x.memory = memory, .x.notes.arena = &memory->arena};
    return true;
}

static const vy_pipeline *last_of(const vy_module *m)
{
    return m->pipelines.data[m->pipelines.count - 1];
}

static bool explain(pipe_explaining *w, const vy_module *m, const vy_grad_options *options,
                    const vy_opt_options *optimize, const vy_sizes *sizes, vy_diag *diag)
{
    vy_module *made[3] = {NULL, NULL, NULL};
    bool ok = make_all(w, m, options, optimize, made, diag);
    if (ok) {
        w->source = last_of(made[0]); // after rules
        w->result = last_of(made[1]);
        w->run = made[2] ? last_of(made[2]) : w->source;
        vy_explain_requests(w); // by what is dispatched for each, before stages become one
        ok = options->apart || vy_host_fuse_stages(made[1], made[1]->pipelines.count - 1);
        if (!ok) *diag = made[1]->diag;
    }
    if (ok) put_together(w, sizes);
    vy_notes_free(&w->x.notes);
    vy_requests_free(&w->requests);
    vy_vec_free(&w->schedules);
    for (int k = 0; k < 3; k++) vy_module_free(made[k]);
    return ok && !w->x.failed;
}

// The program that the request means, if it is differentiated as a pipeline that dispatches it;
// else NULL.
static const vy_program *program_apart(const vy_module *m, const vy_grad_options *o)
{
    vy_diag ignored = {0};
    if (o->program && !vy_module_find(m, o->program)) return NULL;
    const vy_program *p = vy_choose_program(m, o->program, &ignored);
    if (!p || vy_program_has_rule(p)) return NULL;
    return vy_wants_batches(p, o) || vy_starts_meet(p, o) ? p : NULL;
}

bool vy_explains_pipeline(const vy_module *m, const vy_grad_options *options)
{
    vy_grad_options o;
    vy_diag ignored;
    if (!options || !vy_take_options(&o, sizeof o, sizeof o, options, "vy_grad_options", &ignored))
        return false;
    if (program_apart(m, &o)) return true;
    return o.program && !vy_module_find(m, o.program) && vy_module_find_pipeline(m, o.program);
}

// Of such a program: explains the pipeline, with the sizes of its parameters.
static bool explain_apart(pipe_explaining *w, const vy_program *p, const vy_grad_options *options,
                          const vy_opt_options *optimize, const vy_sizes *sizes, vy_diag *diag)
{
    vy_grad_options request = *options;
    vy_sizes mapped = {0};
    request.program = p->name;
    vy_module *work = vy_wants_batches(p, options) ? vy_in_batches(p, &request, diag)
                                                   : vy_apart(p, &request, diag);
    if (!work) return false;
    const vy_pipeline *l = work->pipelines.data[work->pipelines.count - 1];
    w->x.forward = p;
    const bool ok = (!sizes || vy_explain_sizes(&w->x, l->signature, sizes, &mapped)) &&
                    explain(w, work, &request, optimize, sizes ? &mapped : NULL, diag);
    vy_module_free(work);
    return ok;
}

vy_pipeline_explanation *vy_explain_pipeline(const vy_module *m, const vy_grad_options *options,
                                             const vy_opt_options *optimize, const vy_sizes *sizes,
                                             vy_diag *diag)
{
    const uint64_t before = vy_memory_failures();
    pipe_explaining w = {0};
    explain_options taken;
    if (!vy_explain_take(&taken, options, optimize, diag)) return NULL;
    options = taken.derivative;
    optimize = taken.optimize;
    const vy_program *p = program_apart(m, options);
    const bool ok =
        begin_explanation(&w) && (p ? explain_apart(&w, p, options, optimize, sizes, diag)
                                    : explain(&w, m, options, optimize, sizes, diag));
    if (ok && vy_memory_failures() == before) return w.e;
    if (diag->severity != VY_ERROR) vy_diag_set(diag, VY_E_MEMORY, 0, 0, NULL, "out of memory");
    vy_pipeline_explanation_free(w.e);
    return NULL;
}

const char *vy_pipe_work_name(vy_pipe_work k)
{
    static const char *const names[] = {"dispatches", "copies", "fills", "values"};
    return (unsigned)k < VY_PIPE_WORK_COUNT ? names[k] : "";
}

void vy_pipeline_explanation_free(vy_pipeline_explanation *e)
{
    if (!e) return;
    vy_explain_release(e->memory);
    vy_free(e);
}
