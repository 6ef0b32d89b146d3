// SPDX-License-Identifier: MIT
// stages.c: one program of a derivative becomes several, dispatched one after the other.
//
//   program f_grad(x, grad_x, N)         pipeline f_grad(x: in …, grad_x: out …, N: u32) {
//                                   →        f_reverse(x, adj);         // stages: the caller's
//                                            buffer adj: f32[N];        // shared by the stages
//                                            f_gather_x(adj, grad_x);
//                                        }
//
// The stages know nothing of pipelines: parameters of one link are one buffer.  Shapes of what they
// share are written in scalars of the replaced program, which the dispatch of it says how to
// compute.
#include "autodiff/stages/stages_build.h"
#include "ir/build/pipe_build.h"
#include "autodiff/reverse/sweeps.h"
#include "ir/core/pipe.h"

#include <stdio.h>
#include <string.h>

// ------------------------------------------------------------------------------------------- names
static bool is_taken(const vy_module *m, const char *name)
{
    return vy_module_find(m, name) || vy_module_find_pipeline(m, name);
}

const char *vy_stage_name(vy_module *m, const vy_program *p, const char *suffix)
{
    // Names of any length are legal; this one is for readers.
    const char *base = p->stem ? p->stem : p->name;
    char text[320];
    int length = snprintf(text, sizeof text, "%.200s_%.90s", base, suffix);
    for (uint32_t k = 2; is_taken(m, text); k++)
        length = snprintf(text, sizeof text, "%.200s_%.90s%u", base, suffix, k);
    const char *name = vy_arena_strdup(&m->arena, text, (size_t)length);
    if (!name) vy_fail_oom(m);
    return name;
}

// ----------------------------------------------------------------------------------- intermediates
// A name that no buffer of the pipeline has.
static const char *free_name(const cut *c, const char *name, char text[300])
{
    snprintf(text, 300, "%.280s", name);
    for (uint32_t k = 2; vy_program_find_buffer(c->b->p, text).id; k++)
        snprintf(text, 300, "%.280s%u", name, k);
    return text;
}

// Is what is passed an entire buffer with the dimensions of buffer `made` of the pipeline?
static bool is_entire(const cut *c, const vy_pipe_arg *a, vy_buffer made)
{
    const vy_program *p = c->b->p;
    const vy_buf *x = &p->buffers.data[a->buffer.id], *y = &p->buffers.data[made.id];
    bool same = !a->flat && a->rank == 0 && x->rank == y->rank;
    for (uint32_t k = 0; same && k < y->rank; k++) same = vy_equal_dims(p, x->dims[k], y->dims[k]);
    return same;
}

// Says how `made` begins.  `@init` copies an entire buffer, a program what is passed in part.
static void begin(cut *c, const start *s, vy_buffer made)
{
    const vy_pipe_arg *from = s->from ? &c->args[s->from] : NULL;
    const vy_pipe_arg to = {.buffer = made};
    if (s->init == VY_INIT_NONE || !made.id) return;
    if (!from || is_entire(c, from, made))
        vy_buffer_init(c->b, made, s->init,
                       from ? c->b->p->buffers.data[from->buffer.id].name : NULL);
    else
        vy_pipe_move(c->q, from->flat ? VY_PIPE_SHAPE : VY_PIPE_COPY, from, &to, 0);
}

// Declares buffer i of stage p, an intermediate that no earlier stage has.
static void declare_buffer(cut *c, const vy_program *p, uint32_t i, vy_dim *dims)
{
    const vy_buf *b = &p->buffers.data[i];
    const start *s = &c->start[b->link];
    char text[300];
    vy_dim *shape = cut_table(c->m, b->rank, sizeof *shape);
    if (shape) cut_shape(c, p, i, dims, shape);
    if (shape && vy_module_ok(c->m)) {
        const vy_buffer made =
            vy_pipeline_buffer(c->q, free_name(c, b->name, text), b->type, b->rank, shape);
        if (made.id) c->b->p->buffers.data[made.id].made = b->made;
        begin(c, s, made);
        c->made[b->link] = made;
    }
    vy_free(shape);
}

// Makes parameters of stage p of what it shares with others, and declares what none before it had.
static void declare_shared_parameters(cut *c, vy_program *p, vy_dim *dims)
{
    for (uint32_t i = 1; i < p->buffers.count && vy_module_ok(c->m); i++) {
        vy_buf *b = &p->buffers.data[i];
        const bool bound = c->args[cut_own(c, p, i)].buffer.id != 0;
        if (!vy_is_global(b->cls) || bound || (b->workspace && c->users[b->link] == 1)) continue;
        if (!vy_share_workspace(p, i)) return;
        b->init = VY_INIT_NONE; // the pipeline fills it
        b->init_from = NULL;
        if (!c->made[b->link].id) declare_buffer(c, p, i, dims);
    }
}

// ------------------------------------------------------------------------------------- dispatches
// Scalar i of stage p in the pipeline.
static vy_pipe_scalar scalar_for(cut *c, const vy_program *p, uint32_t i)
{
    vy_pipe_scalar scalar = {0};
    const uint32_t own = c->own_scalar[p->scalars.data[i].link], of = cut_length_of(c, p, i);
    const int axis = cut_groups_axis(c, p, i);
    if (own) scalar = c->step->scalars[own - 1];
    if (axis >= 0) scalar = (vy_pipe_scalar){.kind = VY_PIPE_DIM, .dim = c->step->groups[axis]};
    if (of) scalar = (vy_pipe_scalar){.kind = VY_PIPE_DIM, .dim = cut_length(c, p, of)};
    scalar.name = p->scalars.data[i].name;
    return scalar;
}

static void dispatch(cut *c, const vy_program *p)
{
    vy_pipe_arg *args = cut_table(c->m, p->buffers.count, sizeof *args);
    vy_pipe_scalar *scalars = cut_table(c->m, p->scalars.count, sizeof *scalars);
    uint32_t n = 0;
    for (uint32_t i = 1; args && i < p->buffers.count; i++) {
        const vy_buf *b = &p->buffers.data[i];
        if (!vy_pipe_binds(b)) continue;
        const vy_buffer made = c->made[b->link];
        args[n++] = made.id ? (vy_pipe_arg){.buffer = made} : c->args[cut_own(c, p, i)];
    }
    for (uint32_t i = 0; scalars && i < p->scalars.count; i++) scalars[i] = scalar_for(c, p, i);
    if (args && scalars && vy_module_ok(c->m))
        vy_pipeline_dispatch(c->q, p, n, args, p->scalars.count, scalars,
                             p->overs.count ? NULL : c->step->groups);
    vy_free(args);
    vy_free(scalars);
}

// Dispatches stage k as often as c->iterations says: as iterations of a repeat.
static void dispatch_iterations(cut *c, uint32_t k)
{
    vy_dim *dims = cut_table(c->m, c->whole->dims.count, sizeof *dims);
    char text[300];
    if (!dims) return;
    vy_dim iterations = cut_dim(c, c->whole, dims, c->iterations[k]);
    vy_free(dims);
    snprintf(text, sizeof text, "once");
    for (uint32_t n = 2; vy_program_find_buffer(c->b->p, text).id ||
                         vy_program_find_scalar(c->b->p, text) != UINT32_MAX;
         n++)
        snprintf(text, sizeof text, "once%u", n);
    const vy_dim zero = vy_dim_const(c->b, 0);
    vy_pipeline_repeat(c->q, text, zero, iterations, VY_KEEP_ALL, zero);
    dispatch(c, c->stages[k]);
    vy_pipeline_close(c->q);
}

static bool replace_step(cut *c, vy_pipeline *l, uint32_t at)
{
    vy_pipe_step step = l->steps.data[at];
    uint32_t n = 0, most = 0;
    for (uint32_t k = 0; k < c->count; k++)
        if (most < c->stages[k]->dims.count) most = c->stages[k]->dims.count;
    c->step = &step;
    c->args = cut_table(c->m, c->whole->buffers.count, sizeof *c->args);
    c->made = cut_table(c->m, c->m->links, sizeof *c->made);
    vy_dim *dims = cut_table(c->m, most, sizeof *dims);
    c->q = c->args && c->made && dims ? vy_pipeline_reopen(l, at) : NULL;
    if (c->q) {
        c->b = vy_pipeline_params(c->q);
        vy_at(c->b, step.line, step.column);
        for (uint32_t i = 1; i < c->whole->buffers.count; i++)
            if (vy_pipe_binds(&c->whole->buffers.data[i])) c->args[i] = step.args[n++];
        for (uint32_t k = 0; k < c->count && vy_module_ok(c->m); k++) {
            memset(dims, 0, most * sizeof *dims);
            declare_shared_parameters(c, c->stages[k], dims);
            if (c->iterations && c->iterations[k].id)
                dispatch_iterations(c, k);
            else
                dispatch(c, c->stages[k]);
        }
    }
    bool ok = vy_pipeline_resume(c->q, l, at);
    vy_free(c->args);
    vy_free(c->made);
    vy_free(dims);
    return ok;
}

// Which parameters of the whole and of the stages are the same, and what those start with: declared
// in the first pipeline, the stages no longer say.  False: memory.
static bool link_parameters(cut *c)
{
    const vy_program *w = c->whole;
    const uint32_t links = c->m->links;
    c->own = cut_table(c->m, links, sizeof *c->own);
    c->own_scalar = cut_table(c->m, links, sizeof *c->own_scalar);
    c->users = cut_table(c->m, links, sizeof *c->users);
    c->start = cut_table(c->m, links, sizeof *c->start);
    if (!c->own || !c->own_scalar || !c->users || !c->start) return false;
    for (uint32_t i = 1; i < w->buffers.count; i++) c->own[w->buffers.data[i].link] = i;
    for (uint32_t i = 0; i < w->scalars.count; i++) c->own_scalar[w->scalars.data[i].link] = i + 1;
    for (uint32_t k = 0; k < c->count; k++)
        for (uint32_t i = 1; i < c->stages[k]->buffers.count; i++) {
            const vy_buf *b = &c->stages[k]->buffers.data[i];
            if (!vy_is_global(b->cls) || c->users[b->link]++) continue;
            const uint32_t from = b->init_from ? vy_program_find_buffer(w, b->init_from).id : 0;
            c->start[b->link] = (start){b->init, from, b->dims};
        }
    return true;
}

static void unlink_parameters(cut *c)
{
    vy_free(c->own);
    vy_free(c->own_scalar);
    vy_free(c->users);
    vy_free(c->start);
    vy_free(c->groups);
    vy_free(c->length);
}

// --------------------------------------------------------------------------------------- pipelines
// Declares the parameters of `p` for pipeline c->q; fills args with the buffers that p binds.
static void copy_parameters(cut *c, const vy_program *p, vy_dim *dims, vy_pipe_arg *args)
{
    uint32_t n = 0;
    for (uint32_t i = 0; i < p->scalars.count; i++)
        vy_param_scalar(c->b, p->scalars.data[i].name, p->scalars.data[i].type);
    for (uint32_t i = 1; i < p->buffers.count && vy_module_ok(c->m); i++) {
        const vy_buf *b = &p->buffers.data[i];
        if (!vy_pipe_binds(b)) continue;
        vy_dim *shape = cut_table(c->m, b->rank, sizeof *shape);
        for (uint32_t a = 0; shape && a < b->rank; a++) shape[a] = cut_dim(c, p, dims, b->dims[a]);
        if (shape) {
            args[n].buffer = vy_param_buffer(c->b, b->name, b->cls, b->type, b->rank, shape);
            vy_buffer_role(c->b, args[n++].buffer, &b->role);
        }
        vy_free(shape);
    }
}

// A pipeline that has the name and parameters of `p` and dispatches it.
static vy_pipeline *wrap(vy_module *m, const vy_program *p)
{
    cut c = {.m = m, .q = vy_pipeline_begin(m, p->name)};
    vy_pipe_arg *args = cut_table(m, p->buffers.count, sizeof *args);
    vy_pipe_scalar *scalars = cut_table(m, p->scalars.count, sizeof *scalars);
    vy_dim *dims = cut_table(m, p->dims.count, sizeof *dims), groups[3];
    c.b = vy_pipeline_params(c.q);
    if (c.b && args && scalars && dims) {
        uint32_t n = 0;
        copy_parameters(&c, p, dims, args);
        while (args[n].buffer.id) n++;
        for (uint32_t k = 0; k < 3 && !p->overs.count; k++) groups[k] = vy_dim_groups(c.b, k);
        for (uint32_t i = 0; i < p->scalars.count; i++)
            scalars[i] = (vy_pipe_scalar){.name = p->scalars.data[i].name,
                                          .kind = VY_PIPE_PARAM,
                                          .scalar = i};
        vy_at(c.b, p->line, 0);
        vy_pipeline_dispatch(c.q, p, n, args, p->scalars.count, scalars,
                             p->overs.count ? NULL : groups);
    }
    vy_free(args);
    vy_free(scalars);
    vy_free(dims);
    if (vy_module_ok(m)) return vy_pipeline_end(c.q);
    vy_pipeline_abandon(c.q);
    return NULL;
}

// Takes program `index` out of the module.
static void remove_program(vy_module *m, uint32_t index)
{
    vy_program_free(m->programs.data[index]);
    for (uint32_t i = index + 1; i < m->programs.count; i++)
        m->programs.data[i - 1] = m->programs.data[i];
    m->programs.count--;
    for (uint32_t l = 0; l < m->pipelines.count; l++)
        for (uint32_t i = 0; i < m->pipelines.data[l]->steps.count; i++) {
            vy_pipe_step *s = &m->pipelines.data[l]->steps.data[i];
            if (s->kind == VY_PIPE_DISPATCH && s->program > index) s->program--;
        }
}

// From here on the module owns the stages.
static bool add_stages(vy_module *m, vy_program *const *stages, uint32_t count)
{
    uint32_t done = 0;
    while (done < count && vy_vec_push(&m->programs, stages[done])) done++;
    if (done == count) return true;
    vy_fail_oom(m);
    while (done < count) vy_program_free(stages[done++]);
    return false;
}

// Of each launch `one` stage runs, or those do that `iterations` says.
static bool replace(vy_module *m, vy_program *whole, vy_program *const *stages,
                    const vy_dim *iterations, uint32_t count, bool one)
{
    uint32_t index = 0;
    while (m->programs.data[index] != whole) index++;
    cut c = {.m = m, .whole = whole, .stages = stages, .iterations = iterations, .count = count};
    bool ok = add_stages(m, stages, count) && cut_take_scalars(&c) && link_parameters(&c) &&
              (one || vy_stages_keep(m, stages, iterations, count)) &&
              (m->pipelines.count || wrap(m, whole));
    for (uint32_t l = 0; ok && l < m->pipelines.count; l++) {
        vy_pipeline *p = m->pipelines.data[l];
        // From the end: behind a step that is replaced nothing is looked at again.
        for (uint32_t i = p->steps.count; ok && i-- > 0;) {
            const vy_pipe_step *step = &p->steps.data[i];
            if (step->kind == VY_PIPE_DISPATCH && step->program == index)
                ok = replace_step(&c, p, i);
        }
    }
    unlink_parameters(&c);
    for (uint32_t k = 0; k < count; k++) // initial contents are now declared in the pipelines
        for (uint32_t i = 1; ok && i < stages[k]->buffers.count; i++)
            if (stages[k]->buffers.data[i].init == VY_INIT_NONE)
                stages[k]->buffers.data[i].init_from = NULL;
    remove_program(m, index);
    return ok && vy_module_ok(m);
}

bool vy_stages_replace(vy_module *m, vy_program *whole, vy_program *const *stages, uint32_t count)
{
    return replace(m, whole, stages, NULL, count, false);
}

bool vy_stages_replace_some(vy_module *m, vy_program *whole, vy_program *const *stages,
                            const vy_dim *iterations, uint32_t count)
{
    return replace(m, whole, stages, iterations, count, false);
}

bool vy_stages_replace_by_one(vy_module *m, vy_program *whole, vy_program *const *versions,
                              const vy_dim *holds, uint32_t count)
{
    return replace(m, whole, versions, holds, count, true);
}
