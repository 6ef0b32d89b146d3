// SPDX-License-Identifier: MIT
// train_parts.c: names, shapes and dispatches that all training pipelines have.
//
// Names of the source are kept; ours get a number where they are taken.
#include "autodiff/train/train_build.h"

#include <stdio.h>
#include <string.h>

void *train_room(training *t, size_t count, size_t size)
{
    void *memory = vy_arena_alloc(t->arena, count * size + 1);
    if (!memory) vy_fail(t->m, VY_E_MEMORY, 0, 0, NULL, "out of memory");
    return memory;
}

// ------------------------------------------------------------------------------------------- names
static bool is_free(const training *t, const char *name)
{
    const vy_program *now = vy_builder_program(t->b);
    const vy_program *both[] = {now, t->result};
    for (int i = 0; i < 2; i++)
        if (vy_program_find_buffer(both[i], name).id ||
            vy_program_find_scalar(both[i], name) != UINT32_MAX)
            return false;
    return true;
}

const char *train_own_name(training *t, const char *of, const char *what)
{
    const size_t size = strlen(of) + strlen(what) + 16;
    char *text = train_room(t, size, 1);
    if (!text) return "";
    snprintf(text, size, "%s%s%s", of, *of ? "_" : "", what);
    for (uint32_t k = 2; !is_free(t, text); k++)
        snprintf(text, size, "%s%s%s_%u", of, *of ? "_" : "", what, k);
    return text;
}

vy_value train_own_scalar(training *t, const char *what, const char **name)
{
    *name = train_own_name(t, "", what);
    return vy_param_scalar(t->b, *name, VY_U32);
}

// ---------------------------------------------------------------------------------------- shapes

// The shape of a buffer of the derivative; false: it is open (`?`), or depends on what is.
static bool shape_of(const training *t, const vy_buf *b, vy_dim *shape)
{
    bool known = true;
    for (uint32_t k = 0; k < b->rank; k++) {
        shape[k] = t->dims[b->dims[k].id];
        known &= shape[k].id != 0;
    }
    return known;
}

vy_buffer train_parameter(training *t, const vy_buf *b, const char *name, vy_buffer_class cls,
                          const vy_dim *first)
{
    vy_dim shape[VY_MAX_RANK];
    const bool known = shape_of(t, b, shape);
    if (first) shape[0] = *first;
    if (!known && b->rank == 1) shape[0] = vy_dim_unknown(t->b);
    return vy_param_buffer(t->b, name, cls, b->type, b->rank, shape);
}

vy_buffer train_intermediate(training *t, const vy_buf *b, const char *name)
{
    vy_dim shape[VY_MAX_RANK];
    if (shape_of(t, b, shape)) return vy_pipeline_buffer(t->q, name, b->type, b->rank, shape);
    vy_fail(t->m, VY_E_BUFFER_NOT_FOUND, b->line, 1, "declare its length with a scalar: [N]",
            "`%s` has an open length, which a training does not follow", b->name);
    return (vy_buffer){0};
}

void train_settle_states(training *t)
{
    const vy_buf *recent = t->settle ? &t->settle->buffers.data[4] : NULL;
    const vy_dim one = vy_dim_const(t->b, 1);
    if (!recent || train_failed(t)) return;
    const vy_dim span = vy_dim_const(t->b, t->settle->dims.data[recent->dims[0].id].value);
    const char **names = (const char **)t->out->states;
    const uint32_t n = t->state_count;
    names[n] = train_own_name(t, "", "recent_losses");
    t->states[n] = t->recent = vy_param_buffer(t->b, names[n], VY_INOUT, t->type, 1, &span);
    names[n + 1] = train_own_name(t, "", "ended");
    t->states[n + 1] = t->ended = vy_param_buffer(t->b, names[n + 1], VY_INOUT, VY_U32, 1, &one);
    t->state_count += TRAIN_SETTLE_STATES;
}

// ------------------------------------------------------------------------------------------- steps
static vy_pipe_scalar constant(const training *t, const char *name, double value)
{
    return (vy_pipe_scalar){.name = name,
                            .kind = VY_PIPE_CONST,
                            .value.f = vy_round_to(t->type, value)};
}

void train_differentiate(training *t, const vy_dim *at)
{
    const vy_program *p = t->result;
    const vy_ref r = t->derived->result;
    vy_pipe_arg *args = train_room(t, p->buffers.count, sizeof *args);
    vy_pipe_scalar *scalars = train_room(t, p->scalars.count, sizeof *scalars);
    vy_dim groups[3];
    uint32_t n = 0;
    if (!args || !scalars || train_failed(t)) return;
    for (uint32_t i = 1; i < p->buffers.count; i++) {
        if (!vy_pipe_binds(&p->buffers.data[i])) continue;
        const bool loss = t->slots[i].place == TRAIN_LOSS && !t->searches;
        args[n++] = loss ? (vy_pipe_arg){.buffer = t->losses, .rank = 1, .index = at}
                         : train_entire(t->slots[i].made);
    }
    for (uint32_t i = 0; i < p->scalars.count; i++)
        scalars[i] =
            (vy_pipe_scalar){.name = p->scalars.data[i].name, .kind = VY_PIPE_PARAM, .scalar = i};
    const vy_pipeline *l = r.pipeline ? t->m->pipelines.data[r.index] : NULL;
    const bool counts = l ? vy_pipeline_takes_groups(l) : p->overs.count == 0;
    for (uint32_t k = 0; k < 3 && counts; k++) groups[k] = vy_dim_groups(t->b, k);
    if (l)
        vy_pipeline_call(t->q, l, n, args, p->scalars.count, scalars, counts ? groups : NULL);
    else
        vy_pipeline_dispatch(t->q, p, n, args, p->scalars.count, scalars, counts ? groups : NULL);
}

vy_pipe_arg train_loss_row(const training *t, const vy_dim *at)
{
    const bool row = vy_builder_program(t->b)->buffers.data[t->losses.id].rank > 2;
    return (vy_pipe_arg){.buffer = t->losses, .rank = 1, .index = at, .flat = row};
}

static void settle(training *t, const vy_dim *at)
{
    const vy_pipe_arg args[] = {train_loss_row(t, at), train_entire(t->step),
                                train_entire(t->rate_now), train_entire(t->recent),
                                train_entire(t->ended)};
    const vy_pipe_scalar given = constant(t, "tolerance", t->o->tolerance);
    vy_pipeline_dispatch(t->q, t->settle, 5, args, 1, &given, NULL);
}

void train_choose_rate(training *t, const vy_dim *at)
{
    const vy_train_options *o = t->o;
    const vy_pipe_arg args[] = {train_loss_row(t, at), train_entire(t->step),
                                train_entire(t->rate_now)};
    vy_pipe_scalar given[3] = {constant(t, "lr", o->lr)};
    if (o->schedule == VY_RATE_COSINE) given[1] = constant(t, "end", o->last);
    if (o->schedule == VY_RATE_COSINE)
        given[2] = train_number("steps", vy_dim_const(t->b, o->period));
    if (o->schedule == VY_RATE_STEP) given[1] = constant(t, "factor", o->factor);
    if (o->schedule == VY_RATE_STEP)
        given[2] = train_number("every", vy_dim_const(t->b, o->period));
    vy_pipeline_dispatch(t->q, t->rate, 3, args, o->schedule ? 3 : 1, given, NULL);
    if (t->settle) settle(t, at);
}

void train_count_step(training *t, const vy_dim *at)
{
    const vy_pipe_arg loss = train_loss_row(t, at), args[] = {loss, train_entire(t->step)},
                      until[] = {loss, train_entire(t->ended), train_entire(t->step)};
    vy_pipeline_dispatch(t->q, t->next, t->settle ? 3 : 2, t->settle ? until : args, 0, NULL, NULL);
}
