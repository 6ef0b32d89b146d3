// SPDX-License-Identifier: MIT
// train.c: vy_train: see autodiff/train.h.
//
//   1. a copy of the source in a module to work in; what is requested is checked there
//   2. its derivative beside it (vy_transform), with the loss as a value
//   3. optimiser, learning rate, choice of rows: programs from texts
//   4. the pipeline that dispatches them
//   5. a module of the pipeline and what it dispatches
#include "autodiff/train/train_build.h"

#include <stdlib.h>
#include <string.h>

static bool derive(training *t)
{
    vy_grad_options g = t->o->grad ? *t->o->grad : (vy_grad_options){0};
    g.program = NULL;
    g.of = &t->o->loss, g.of_count = 1;
    g.wrt = t->o->params, g.wrt_count = t->o->param_count;
    g.add_count = 0;
    g.seed_buffer = g.in_place = g.forward = g.again = false;
    g.with_value = true;
    t->derived = vy_transform(t->m, t->source, &g, t->diag);
    if (!t->derived) return false;
    const vy_ref r = t->derived->result;
    t->result =
        r.pipeline ? t->m->pipelines.data[r.index]->signature : t->m->programs.data[r.index];
    return true;
}

// A copy of the whole source: its text form is not needed, its binary form is exact.
static vy_module *copy(const vy_module *m, vy_diag *diag)
{
    size_t size;
    void *data = vy_binary_write(m, &size);
    vy_module *made = data ? vy_binary_read(data, size) : NULL;
    free(data);
    if (made && vy_module_ok(made)) return made;
    if (made)
        *diag = *vy_module_diag(made);
    else
        vy_diag_set(diag, VY_E_MEMORY, 0, 0, NULL, "out of memory");
    vy_module_free(made);
    return NULL;
}

static const char *keep_name(vy_module *m, const char *name)
{
    return name ? vy_arena_strdup(&m->arena, name, strlen(name)) : NULL;
}

static bool keep_gradients(training *t, vy_module *m)
{
    const uint32_t n = t->o->param_count;
    if (!t->o->split) return t->out->gradients = NULL, true;
    const char **names = vy_arena_alloc(&m->arena, n * sizeof *names);
    bool ok = names != NULL;
    for (uint32_t i = 0; ok && i < n; i++)
        ok = (names[i] = keep_name(m, t->out->gradients[i])) != NULL;
    t->out->gradients = names;
    return ok;
}

// Strings of *t->out as strings of `m`; false: memory.
static bool keep_names(training *t, vy_module *m)
{
    vy_training *o = t->out;
    const char **all[] = {&o->pipeline, &o->losses, &o->step,  &o->window, &o->count,
                          &o->rows,     &o->batch,  &o->begin, &o->first,  &o->derivatives};
    bool ok = true;
    for (size_t i = 0; i < sizeof all / sizeof *all; i++) {
        const bool had = *all[i] != NULL;
        *all[i] = keep_name(m, *all[i]);
        ok &= !had || *all[i];
    }
    const char **states = vy_arena_alloc(&m->arena, (o->state_count + 1) * sizeof *states);
    for (uint32_t i = 0; states && i < o->state_count; i++)
        ok &= (states[i] = keep_name(m, o->states[i])) != NULL;
    o->states = states;
    return ok && states && keep_gradients(t, m);
}

// The last pipeline of t->m with what it dispatches.
static vy_module *extract(training *t)
{
    vy_module *out = NULL;
    const vy_ref last = {t->m->pipelines.count - 1, true};
    if (!vy_module_extract(t->m, last, &out, t->diag)) return NULL;
    if (keep_names(t, out)) return out;
    vy_module_free(out);
    train_no_memory(t);
    return NULL;
}

static bool take(const vy_train_options *options, vy_train_options *o, vy_grad_options *grad,
                 vy_diag *diag)
{
    if (!vy_take_options(o, sizeof *o, sizeof *o, options, "vy_train_options", diag) ||
        !vy_take_options(grad, sizeof *grad, sizeof *grad, o->grad, "vy_grad_options", diag))
        return false;
    if (o->grad) o->grad = grad;
    return true;
}

vy_module *vy_train(const vy_module *m, const vy_train_options *options, vy_training *out,
                    vy_diag *diag)
{
    vy_train_options o;
    vy_grad_options grad;
    const uint64_t before = vy_memory_failures();
    *diag = (vy_diag){0};
    *out = (vy_training){0};
    if (!vy_module_ok(m)) {
        *diag = *vy_module_diag(m);
        return NULL;
    }
    if (!take(options, &o, &grad, diag)) return NULL;
    training t = {.o = &o, .m = copy(m, diag), .diag = diag, .out = out};
    vy_module *made = NULL;
    if (!t.m) return NULL;
    t.arena = &t.m->arena;
    if (train_check_request(&t) && derive(&t) && train_add_programs(&t) && train_build(&t))
        made = extract(&t);
    vy_module_free(t.m);
    if (vy_memory_failures() == before) return made;
    vy_module_free(made);
    *diag = (vy_diag){0};
    vy_diag_set(diag, VY_E_MEMORY, 0, 0, NULL, "out of memory");
    return NULL;
}
