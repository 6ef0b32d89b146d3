// SPDX-License-Identifier: MIT
// check.c: see check.h.
//
// The derivatives are made again: what runs on a device may keep less, and is one of several.
#include "session/check.h"

#include "session/internal.h"
#include "session/task.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { GRADIENT, VALUED, SEEDED, FORWARD, KINDS };

typedef struct checking {
    vys_task *t;
    vy_module *made[KINDS];
    const char *no_forward; // or NULL
    char why[sizeof((vy_diag *)0)->text];
    vy_eval_buffer *buffers;
    vy_eval_scalar *scalars;
    void **filled; // contents that nobody gave: zeros
} checking;

// The names in a result are those of modules that live as long as the task.
static void keep_modules(checking *c)
{
    for (uint32_t i = 0; i < KINDS; i++) {
        vy_module_free(c->t->checked[i]);
        c->t->checked[i] = c->made[i];
        c->made[i] = NULL;
    }
}

static void end(checking *c)
{
    for (uint32_t i = 0; c->filled && i < c->t->forward.buffer_count; i++) free(c->filled[i]);
    free(c->filled);
    free(c->buffers);
    free(c->scalars);
    for (uint32_t i = 0; i < KINDS; i++) vy_module_free(c->made[i]);
}

static bool derive(checking *c, uint32_t kind, vy_diag *d)
{
    vys_work w = c->t->work;
    vy_grad_options g;
    const char **results;
    if (!vys_grad_options(&w, c->t->primal, false, kind == SEEDED, &results, &g, d)) return false;
    free(results);
    g.revolved = NULL;
    g.with_value = kind == VALUED;
    const vy_module *m = c->t->work.module;
    c->made[kind] = kind == FORWARD ? vy_jvp(m, &g, d) : vy_grad(m, &g, d);
    return c->made[kind] || vys_fail_memory(d); // unless it said why
}

// A program without a forward derivative is checked without it.
static bool derive_forward(checking *c, vy_diag *d)
{
    vy_diag why = {0};
    if (derive(c, FORWARD, &why)) return true;
    if (!vy_diag_is(&why, VY_E_NOT_DIFFERENTIABLE)) {
        *d = why;
        return false;
    }
    snprintf(c->why, sizeof c->why, "%s", why.text);
    c->no_forward = c->why;
    return true;
}

// Contents that a storage has, in memory of ours.
static bool fetch(const vys_given *g, const vys_bound *x, void *data, vy_diag *d)
{
    vkrt_error e = {0};
    const uint64_t bytes = x->value.count * vy_type_size(x->info.type);
    if (!g || !g->storage || x->info.cls == VY_OUT) return true;
    return !vkrt_storage_read(g->storage, g->offset, data, bytes, &e) || vys_vkrt_fail(&e, NULL, d);
}

static bool collect(checking *c, vy_diag *d)
{
    const vys_binding *b = &c->t->forward;
    c->buffers = calloc((size_t)b->buffer_count + 1, sizeof *c->buffers);
    c->scalars = calloc((size_t)b->scalar_count + 1, sizeof *c->scalars);
    c->filled = calloc((size_t)b->buffer_count + 1, sizeof *c->filled);
    if (!c->buffers || !c->scalars || !c->filled) return vys_fail_memory(d);
    for (uint32_t i = 0; i < b->buffer_count; i++) {
        const vys_bound *x = &b->buffers[i];
        const vys_given *g = x->given;
        void *data = g ? g->data : NULL;
        if (!data) {
            c->filled[i] = calloc(x->value.count + 1, vy_type_size(x->info.type));
            if (!c->filled[i]) return vys_fail_memory(d);
            data = c->filled[i];
            if (!fetch(g, x, data, d)) return false;
        }
        c->buffers[i] = (vy_eval_buffer){x->info.name, data, x->value.shape, x->value.rank};
    }
    for (uint32_t i = 0; i < b->scalar_count; i++)
        c->scalars[i] = (vy_eval_scalar){b->scalars[i].info.name, b->scalars[i].value};
    return true;
}

static vy_check_subject subject(const vy_module *m)
{
    return m ? vy_check_result_of(m) : (vy_check_subject){0};
}

static vy_check_result *compare(checking *c, const vys_check_options *o, vy_diag *d)
{
    const vys_settings *s = &c->t->work.settings;
    vy_check_request q = {.primal = {c->t->primal.pipeline ? NULL : c->t->primal.program,
                                     c->t->primal.pipeline},
                          .gradient = subject(c->made[GRADIENT]),
                          .valued = subject(c->made[VALUED]),
                          .seeded = subject(c->made[SEEDED]),
                          .forward = subject(c->made[FORWARD]),
                          .no_forward = c->no_forward,
                          .of = s->of_count ? s->of : NULL,
                          .of_count = s->of_count,
                          .buffers = c->buffers,
                          .buffer_count = c->t->forward.buffer_count,
                          .scalars = c->scalars,
                          .scalar_count = c->t->forward.scalar_count,
                          .subgroup_size = s->subgroup_size,
                          .tolerance = o->tolerance,
                          .samples = o->samples,
                          .allow_out_of_range = o->allow_out_of_range};
    vys_binding_has_groups(&c->t->forward, q.groups);
    return vy_grad_check(&q, d);
}

bool vys_check(vys_task *t, const vys_check_options *options, vy_check_result **out, vy_diag *d)
{
    vys_check_options taken;
    checking c = {.t = t};
    *out = NULL;
    if (!vys_take(&taken, sizeof taken, options, "vys_check_options", d)) return false;
    if (t->work.settings.order != 1 || t->work.settings.forward || t->work.settings.f64)
        return vys_fail(d, VYS_USAGE, "check a task of order 1 in reverse mode, without f64",
                        "this task has no gradient that can be checked");
    const bool ok = vys_task_settle(t, d) && derive(&c, GRADIENT, d) && derive(&c, VALUED, d) &&
                    derive(&c, SEEDED, d) && derive_forward(&c, d) && collect(&c, d);
    if (ok) *out = compare(&c, &taken, d);
    if (*out) keep_modules(&c);
    end(&c);
    return *out != NULL;
}
