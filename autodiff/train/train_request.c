// SPDX-License-Identifier: MIT
// train_request.c: what can be trained; everything else is refused at the declaration it is about.
#include "autodiff/train/train_build.h"

#include <stdio.h>
#include <string.h>

// ----------------------------------------------------------------------------------------- entries
static bool find_named(training *t, const char *name)
{
    const vy_module *m = t->m;
    for (uint32_t i = 0; i < m->programs.count; i++)
        if (!strcmp(m->programs.data[i]->name, name)) return t->source = (vy_ref){i, false}, true;
    for (uint32_t i = 0; i < m->pipelines.count; i++)
        if (!strcmp(m->pipelines.data[i]->name, name)) return t->source = (vy_ref){i, true}, true;
    return train_fail(t, VY_E_GRAD_PROGRAM, 0, NULL, "there is no program or pipeline `%s`", name);
}

static bool find_source(training *t)
{
    const vy_module *m = t->m;
    const uint32_t pipelines = m->pipelines.count;
    bool ok = true;
    if (t->o->program)
        ok = find_named(t, t->o->program);
    else if (pipelines)
        t->source = (vy_ref){pipelines - 1, true};
    else if (m->programs.count != 1)
        ok = train_fail(t, VY_E_GRAD_PROGRAM, 0, NULL, "the module has %u programs",
                        m->programs.count);
    if (!ok) return false;
    t->primal = t->source.pipeline ? m->pipelines.data[t->source.index]->signature
                                   : m->programs.data[t->source.index];
    return true;
}

// ------------------------------------------------------------------------------------------- names
// Buffers of the class, those that suit first said: "w, b".
static void list_buffers(const vy_program *p, vy_buffer_class cls, bool floats, char text[200])
{
    size_t n = 0;
    text[0] = 0;
    for (uint32_t i = 1; i < p->buffers.count && n < 160; i++) {
        const vy_buf *b = &p->buffers.data[i];
        if (b->cls != cls || b->workspace || (floats && !vy_type_is_float(b->type))) continue;
        n += (size_t)snprintf(text + n, 200 - n, "%s%.30s", n ? ", " : "", b->name);
    }
}

// The buffer of that name and class; NULL: refused, `what` says what it was to be.
static const vy_buf *buffer_called(training *t, const char *what, const char *name,
                                   vy_buffer_class cls)
{
    const char *kind = cls == VY_IN ? "an `in` buffer" : "an `out` buffer";
    char list[200], fix[260];
    const uint32_t id = vy_program_find_buffer(t->primal, name).id;
    const vy_buf *b = &t->primal->buffers.data[id];
    if (id && b->cls == cls && !b->workspace) return b;
    list_buffers(t->primal, cls, true, list);
    snprintf(fix, sizeof fix, *list ? "such buffers of floats are: %s" : "declare one%s", list);
    if (id && b->cls == VY_INOUT)
        snprintf(fix, sizeof fix,
                 cls == VY_IN ? "declare it `in`, and change a copy of it"
                              : "declare it `out`: it begins as zeros in every step");
    if (id)
        train_fail(t, VY_E_BUFFER_NOT_FOUND, b->line, fix, "%s `%s` is not %s of `%s`", what, name,
                   kind, t->primal->name);
    else
        train_fail(t, VY_E_BUFFER_NOT_FOUND, 0, fix, "%s `%s`: `%s` has no buffer of that name",
                   what, name, t->primal->name);
    return NULL;
}

static bool is_trainable(vy_type type) { return type == VY_F32 || type == VY_F64; }

static bool check_loss(training *t)
{
    if (!t->o->loss)
        return train_fail(t, VY_E_BUFFER_NOT_FOUND, 0, "name it", "which output is the loss?");
    const vy_buf *b = buffer_called(t, "the loss", t->o->loss, VY_OUT);
    if (!b) return false;
    bool one = is_trainable(b->type);
    for (uint32_t k = 0; k < b->rank; k++) {
        const vy_dim_node *d = &t->primal->dims.data[b->dims[k].id];
        one &= d->op == VY_DIM_CONST && d->value == 1;
    }
    t->type = b->type;
    return one || train_fail(t, VY_E_BUFFER_NOT_FOUND, b->line,
                             "declare it `out f32[1]` (or f64) and add up what it consists of",
                             "the loss `%s` is no single f32 or f64", b->name);
}

static bool check_parameter(training *t, uint32_t k)
{
    const char *name = t->o->params[k];
    const vy_buf *b = buffer_called(t, "parameter", name, VY_IN);
    if (!b) return false;
    if (train_is_listed(t->o->params, k, name))
        return train_fail(t, VY_E_BUFFER_NOT_FOUND, b->line, "name it once",
                          "parameter `%s` is named twice", name);
    if (t->primal->dims.data[b->dims[0].id].op == VY_DIM_UNKNOWN)
        return train_fail(t, VY_E_BUFFER_NOT_FOUND, b->line, "declare it with a scalar: [N]",
                          "parameter `%s` has an open length", name);
    if (b->type == t->type) return true;
    return train_fail(t, VY_E_BUFFER_NOT_FOUND, b->line,
                      "declare parameters with the type of the loss",
                      "parameter `%s` holds %s, the loss `%s` is %s", name, vy_type_name(b->type),
                      t->o->loss, vy_type_name(t->type));
}

static bool check_batch(training *t, uint32_t k)
{
    const char *name = t->o->batch[k];
    const vy_buf *b = buffer_called(t, "batch: buffer", name, VY_IN);
    if (!b) return false;
    const int scalar = vy_program_dim_scalar(t->primal, b->dims[0]);
    const bool first = t->batch_scalar == UINT32_MAX;
    if (train_is_listed(t->o->params, t->o->param_count, name) ||
        train_is_listed(t->o->batch, k, name))
        return train_fail(t, VY_E_BUFFER_NOT_FOUND, b->line, "name data that is no parameter, once",
                          "batch: `%s` is a parameter, or named twice", name);
    if (scalar < 0 || t->primal->scalars.data[scalar].type != VY_U32 ||
        (!first && (uint32_t)scalar != t->batch_scalar))
        return train_fail(t, VY_E_BUFFER_NOT_FOUND, b->line,
                          "declare all of them with one u32 scalar as their first dimension",
                          "batch: the first dimension of `%s` does not count rows", name);
    t->batch_scalar = (uint32_t)scalar;
    return true;
}

static bool check_schedule(training *t)
{
    const vy_train_options *o = t->o;
    const bool good = vy_round_to(t->type, o->lr) > 0 && o->lr < 1e30 &&
                      (o->schedule != VY_RATE_COSINE || o->last >= 0) &&
                      (o->schedule != VY_RATE_STEP || o->factor > 0) &&
                      (o->schedule == VY_RATE_CONSTANT || o->period > 0);
    return good || train_fail(t, VY_E_BUFFER_NOT_FOUND, 0, "give positive numbers",
                              "the learning rate must be positive, in the type of the loss too");
}

bool train_check_request(training *t)
{
    t->batch_scalar = UINT32_MAX;
    if (!find_source(t) || !check_loss(t) || !check_schedule(t)) return false;
    if (!t->o->param_count)
        return train_fail(t, VY_E_BUFFER_NOT_FOUND, 0, "name `in` buffers of floats",
                          "there are no parameters to train");
    for (uint32_t k = 0; k < t->o->param_count; k++)
        if (!check_parameter(t, k)) return false;
    for (uint32_t k = 0; k < t->o->batch_count; k++)
        if (!check_batch(t, k)) return false;
    return !t->o->split || !t->o->batch_count ||
           train_fail(t, VY_E_GRAD_PROGRAM, 0, "leave the batches out",
                      "each device would choose the rows of a batch among its own");
}
