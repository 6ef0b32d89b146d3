// SPDX-License-Identifier: MIT
// train_pipeline.c: the pipeline of a training: its parameters, then its steps.
//
//   repeat t in 0..count {
//       choose_rows(step, chosen, …); take_rows(flat(x), chosen, flat(x_batch));     batches only
//       f_grad(x_batch, …, w, losses[t], grad_w);
//       rate(losses[t], step, rate, lr=…);
//       settle(losses[t], step, rate, recent_losses, ended, tolerance=…);            with one only
//       adam(flat(w), flat(grad_w), flat(w_mean), flat(w_square), rate, step);       each parameter
//       next_step(losses[t], step);
//   }
//
// With `split` the derivative is dispatched in a loop of its own, before that of the updates.
// Optimisers that search have steps of their own (train_search.c).
#include "autodiff/train/train_build.h"

#include <stdio.h>
#include <string.h>

// ---------------------------------------------------------------------------------------- shapes
// Dimensions of the derivative as dimensions of the pipeline, whose first scalars are its own.
static void copy_dims(training *t)
{
    const vy_program *p = t->result;
    for (uint32_t i = 1; i < p->dims.count && !train_failed(t); i++) {
        const vy_dim_node *n = &p->dims.data[i];
        t->dims[i] = n->op == VY_DIM_SCALAR ? vy_dim_own_scalar(t->b, (uint32_t)n->value)
                                            : vy_dim_copy(t->b, n, t->dims);
    }
}

// -------------------------------------------------------------------------------------- parameters
static train_place place_of(const training *t, uint32_t id)
{
    const vy_derivative_role *r = &t->derived->roles[id];
    const vy_buf *b = &t->result->buffers.data[id];
    if (vy_is_gradient(r->kind)) return TRAIN_GRADIENT;
    if (r->kind == VY_IS_VALUE && b->cls == VY_OUT)
        return !strcmp(r->of, t->o->loss) ? TRAIN_LOSS : TRAIN_RESULT;
    if (train_is_listed(t->o->params, t->o->param_count, b->name)) return TRAIN_PARAMETER;
    return train_is_listed(t->o->batch, t->o->batch_count, b->name) ? TRAIN_BATCH : TRAIN_DATA;
}

static void declare_source(training *t, uint32_t id)
{
    const vy_buf *b = &t->result->buffers.data[id];
    train_slot *s = &t->slots[id];
    s->place = place_of(t, id);
    if (s->place == TRAIN_DATA) s->made = train_parameter(t, b, b->name, b->cls, NULL);
    if (s->place == TRAIN_PARAMETER)
        s->made = s->full = train_parameter(t, b, b->name, VY_INOUT, NULL);
    if (s->place != TRAIN_BATCH) return;
    const vy_dim rows = vy_dim_value(t->b, t->rows);
    s->full = train_parameter(t, b, b->name, VY_IN, &rows);
}

static void declare_states(training *t, uint32_t id)
{
    const vy_buf *b = &t->result->buffers.data[id];
    t->slots[id].first_state = t->state_count;
    for (uint32_t k = 1; k < t->optimiser->buffers.count && !train_failed(t); k++) {
        if (!train_is_state(t->optimiser, k)) continue;
        const char *name = train_own_name(t, b->name, t->optimiser->buffers.data[k].name);
        ((const char **)t->out->states)[t->state_count] = name;
        t->states[t->state_count++] = train_parameter(t, b, name, VY_INOUT, NULL);
    }
}

static void declare_losses(training *t, uint32_t id)
{
    vy_dim shape[VY_MAX_RANK + 1] = {vy_dim_value(t->b, t->window)};
    const vy_buf *b = &t->result->buffers.data[id];
    for (uint32_t k = 0; k < b->rank; k++) shape[k + 1] = vy_dim_const(t->b, 1);
    t->out->losses = train_own_name(t, "", "losses");
    if (b->rank >= VY_MAX_RANK)
        vy_fail(t->m, VY_E_BUFFER_NOT_FOUND, b->line, 1, "declare it `out f32[1]`",
                "the loss has too many dimensions");
    else
        t->losses = vy_param_buffer(t->b, t->out->losses, t->o->split ? VY_INOUT : VY_OUT, b->type,
                                    b->rank + 1, shape);
}

static void declare_scalars(training *t)
{
    for (uint32_t i = 0; i < t->result->scalars.count; i++)
        vy_param_scalar(t->b, t->result->scalars.data[i].name, t->result->scalars.data[i].type);
    t->window = train_own_scalar(t, "window", &t->out->window);
    t->count = train_own_scalar(t, "count", &t->out->count);
    if (t->o->batch_count) t->rows = train_own_scalar(t, "rows", &t->out->rows);
    if (t->searches) t->begin = train_own_scalar(t, "begin", &t->out->begin);
    if (!t->o->split) return;
    t->first = train_own_scalar(t, "first", &t->out->first);
    t->derivatives = train_own_scalar(t, "derivatives", &t->out->derivatives);
}

// With `split` they are parameters: the caller reads and replaces them.
static void declare_gradient(training *t, uint32_t id)
{
    const vy_buf *b = &t->result->buffers.data[id];
    const char *of = t->derived->roles[id].of;
    t->slots[id].made = train_parameter(t, b, b->name, VY_INOUT, NULL);
    for (uint32_t k = 0; k < t->o->param_count; k++)
        if (!strcmp(of, t->o->params[k])) ((const char **)t->out->gradients)[k] = b->name;
}

static void declare_all(training *t)
{
    const uint32_t n = t->result->buffers.count;
    declare_scalars(t);
    copy_dims(t);
    for (uint32_t i = 1; i < n && !train_failed(t); i++)
        if (vy_pipe_binds(&t->result->buffers.data[i])) declare_source(t, i);
    const vy_dim one = vy_dim_const(t->b, 1);
    t->out->step = train_own_name(t, "", "step");
    t->step = vy_param_buffer(t->b, t->out->step, VY_INOUT, VY_U32, 1, &one);
    for (uint32_t i = 1; i < n && !train_failed(t); i++)
        if (t->slots[i].place == TRAIN_PARAMETER && !t->searches) declare_states(t, i);
    if (t->searches) train_search_states(t);
    train_settle_states(t);
    for (uint32_t i = 1; i < n && !train_failed(t); i++)
        if (t->slots[i].place == TRAIN_LOSS)
            declare_losses(t, i);
        else if (t->slots[i].place == TRAIN_GRADIENT && t->o->split)
            declare_gradient(t, i);
    t->out->state_count = t->state_count;
}

static void declare_intermediates(training *t)
{
    const vy_dim one = vy_dim_const(t->b, 1);
    t->rate_now = vy_pipeline_buffer(t->q, train_own_name(t, "", "rate"), t->type, 1, &one);
    for (uint32_t i = 1; i < t->result->buffers.count && !train_failed(t); i++) {
        const vy_buf *b = &t->result->buffers.data[i];
        train_slot *s = &t->slots[i];
        if ((s->place == TRAIN_GRADIENT && !t->o->split) || s->place == TRAIN_RESULT)
            s->made = train_intermediate(t, b, b->name);
        if (s->place == TRAIN_BATCH)
            s->made = train_intermediate(t, b, train_own_name(t, b->name, "batch"));
        if (s->place == TRAIN_LOSS && t->searches) s->made = train_intermediate(t, b, b->name);
        if (s->place == TRAIN_PARAMETER && t->searches)
            s->made = train_intermediate(t, b, train_own_name(t, b->name, "at"));
        const char *of = s->place == TRAIN_GRADIENT ? t->derived->roles[i].of : NULL;
        if (of) s->of = vy_program_find_buffer(t->result, of).id;
    }
}

// ------------------------------------------------------------------------------------------- steps
static void take_rows(training *t)
{
    if (!t->o->batch_count || train_failed(t)) return;
    const vy_pipe_scalar given[] = {train_number("rows", vy_dim_value(t->b, t->rows)),
                                    train_number("seed", vy_dim_const(t->b, t->o->seed))};
    vy_pipeline_dispatch(t->q, t->choose, 2,
                         (vy_pipe_arg[]){train_entire(t->step), train_entire(t->chosen)}, 2, given,
                         NULL);
    for (uint32_t i = 1; i < t->result->buffers.count && !train_failed(t); i++) {
        const train_slot *s = &t->slots[i];
        if (s->place != TRAIN_BATCH) continue;
        const vy_program *p = train_take_rows(t, t->result->buffers.data[i].type);
        const vy_pipe_arg args[] = {train_flat(s->full), train_entire(t->chosen),
                                    train_flat(s->made)};
        if (p) vy_pipeline_dispatch(t->q, p, 3, args, 0, NULL, NULL);
    }
}

static void optimise(training *t, const train_slot *gradient)
{
    const vy_program *p = t->optimiser;
    const train_slot *w = &t->slots[gradient->of];
    vy_pipe_arg *args = train_room(t, p->buffers.count, sizeof *args);
    uint32_t n = 0, state = w->first_state;
    for (uint32_t i = 1; args && i < p->buffers.count; i++) {
        const vy_buf *b = &p->buffers.data[i];
        if (!vy_pipe_binds(b)) continue;
        args[n++] = i == 1                 ? train_flat(w->made)
                    : i == 2               ? train_flat(gradient->made)
                    : train_is_state(p, i) ? train_flat(t->states[state++])
                    : b->type == VY_U32    ? train_entire(t->step)
                                           : train_entire(t->rate_now);
    }
    if (args) vy_pipeline_dispatch(t->q, p, n, args, 0, NULL, NULL);
}

// Ends the loop of derivatives; begins that of updates.
static vy_dim begin_updates(training *t, vy_dim from)
{
    if (train_failed(t)) return from;
    vy_pipeline_close(t->q);
    const vy_dim to = vy_dim_value(t->b, t->count);
    return vy_pipeline_repeat(t->q, "u", from, to, VY_KEEP_ALL, (vy_dim){0});
}

static void add_steps(training *t)
{
    const bool split = t->o->split;
    const vy_dim from = split ? vy_dim_value(t->b, t->first) : vy_dim_const(t->b, 0);
    const vy_dim to = vy_dim_value(t->b, split ? t->derivatives : t->count);
    vy_dim at = vy_pipeline_repeat(t->q, "t", from, to, VY_KEEP_ALL, (vy_dim){0});
    take_rows(t);
    train_differentiate(t, &at);
    if (split) at = begin_updates(t, from);
    if (!train_failed(t)) train_choose_rate(t, &at);
    for (uint32_t i = 1; i < t->result->buffers.count && !train_failed(t); i++)
        if (t->slots[i].place == TRAIN_GRADIENT) optimise(t, &t->slots[i]);
    if (train_failed(t)) return;
    train_count_step(t, &at);
    vy_pipeline_close(t->q);
}

// ---------------------------------------------------------------------------------------- together
static void declare_chosen(training *t)
{
    if (!t->o->batch_count || train_failed(t)) return;
    const vy_scalar_param *s = &t->result->scalars.data[t->batch_scalar];
    const vy_value v = {vy_leaf_other(t->b, VY_LEAF_SCALAR, s->type, t->batch_scalar, 0)};
    const vy_dim batch = vy_dim_value(t->b, v);
    t->out->batch = s->name;
    t->chosen = vy_pipeline_buffer(t->q, train_own_name(t, "", "chosen"), VY_U32, 1, &batch);
}

static const char *pipeline_name(training *t)
{
    const size_t size = strlen(t->primal->name) + 20;
    char *text = train_room(t, size, 1);
    if (!text) return "fit";
    snprintf(text, size, "%s_fit", t->primal->name);
    for (uint32_t k = 2; vy_module_find(t->m, text) || vy_module_find_pipeline(t->m, text); k++)
        snprintf(text, size, "%s_fit_%u", t->primal->name, k);
    return text;
}

static bool make_tables(training *t)
{
    const size_t states =
        TRAIN_SETTLE_STATES +
        (t->searches ? train_search_size(t) : (size_t)t->o->param_count * t->states_each);
    t->dims = train_room(t, t->result->dims.count, sizeof *t->dims);
    t->slots = train_room(t, t->result->buffers.count, sizeof *t->slots);
    t->states = train_room(t, states, sizeof *t->states);
    t->out->states = train_room(t, states, sizeof *t->out->states);
    if (t->o->split)
        t->out->gradients = train_room(t, t->o->param_count, sizeof *t->out->gradients);
    return t->dims && t->slots && t->states && t->out->states &&
           (t->out->gradients || !t->o->split);
}

bool train_build(training *t)
{
    t->out->pipeline = pipeline_name(t);
    t->q = make_tables(t) ? vy_pipeline_begin(t->m, t->out->pipeline) : NULL;
    t->b = vy_pipeline_params(t->q);
    if (!train_failed(t)) declare_all(t);
    if (!train_failed(t)) declare_intermediates(t);
    declare_chosen(t);
    if (!train_failed(t)) t->searches ? train_search_steps(t) : add_steps(t);
    const bool ok = t->diag->severity != VY_ERROR && !train_failed(t);
    if (ok && vy_pipeline_end(t->q)) return true;
    if (!ok) vy_pipeline_abandon(t->q);
    if (t->diag->severity != VY_ERROR) *t->diag = t->m->diag;
    return t->diag->severity == VY_ERROR ? false : train_no_memory(t);
}
