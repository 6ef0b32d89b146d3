// SPDX-License-Identifier: MIT
// fit.c: see fit.h.  A training is a task without a derivative of its own: the pipeline that is
// built here contains it.
#include "session/fit.h"

#include "session/internal.h"
#include "session/task.h"

#include <stdlib.h>

// What the caller gives, as this version has it.
typedef struct request {
    vys_fit fit;
    vys_comm comm;
    vys_settings settings;
} request;

static bool take(request *to, const vys_fit *fit, const vys_settings *settings, vy_diag *d)
{
    if (!vys_take(&to->fit, sizeof to->fit, fit, "vys_fit", d) ||
        !vys_take(&to->comm, sizeof to->comm, to->fit.comm, "vys_comm", d) ||
        !vys_take(&to->settings, sizeof to->settings, settings, "vys_settings", d))
        return false;
    if (to->fit.comm) to->fit.comm = &to->comm;
    // What follows the last member known here was compared: the nested struct ends where ours does.
    vy_train_options *train = &to->fit.train;
    if (train->size > sizeof *train) train->size = sizeof *train;
    return true;
}

static bool check(const vys_fit *fit, vy_diag *d)
{
    if (!fit->steps) return vys_fail(d, VYS_USAGE, "set steps", "vys_fit: steps is at least 1");
    if (fit->comm && fit->comm->rank >= fit->comm->ranks)
        return vys_fail(d, VYS_USAGE, "ranks count from 0", "vys_comm: rank or ranks are wrong");
    if (!fit->comm != !fit->shard_count)
        return vys_fail(d, VYS_USAGE, "give both or neither",
                        "vys_fit: comm connects ranks, shard names what each has rows of");
    if (!fit->train.batch_count == !fit->batch) return true;
    return vys_fail(d, VYS_USAGE, "give both or neither",
                    "vys_fit: train.batch names buffers, `batch` says how many rows");
}

static vy_module *train(vys_session *s, const vy_module *m, const vys_fit *fit,
                        const vys_settings *settings, vy_training *made, vy_diag *d)
{
    vys_work w = {.settings = *settings, .module = m, .device = vys_session_device(s)};
    vy_train_options o = fit->train;
    vys_entry from;
    vy_grad_options g;
    const char **results = NULL;
    w.settings.order = 1;
    w.settings.of_count = w.settings.wrt_count = 0;
    if (!vys_entry_find(m, settings->program, settings->words, &from, d) ||
        !vys_grad_options(&w, from, false, false, &results, &g, d))
        return NULL;
    free(results);
    o.program = vys_entry_name(from);
    o.grad = &g;
    o.split = fit->comm != NULL;
    vy_module *trained = vy_train(m, &o, made, d);
    if (!trained) vys_fail_memory(d); // unless it said why
    return trained;
}

vys_fit_names vys_fit_names_of(const vys_task *t) { return t->fit; }

// The same names as strings of the task's own module.
static bool keep_names(vys_task *t, const vy_training *made, vy_diag *d)
{
    const vys_bound *losses = vys_binding_buffer(&t->forward, "", made->losses, d);
    const vys_bound *step = losses ? vys_binding_buffer(&t->forward, "", made->step, d) : NULL;
    const vys_bound_scalar *count =
        step ? vys_binding_scalar(&t->forward, "", made->count, d) : NULL;
    if (count) t->fit = (vys_fit_names){losses->info.name, step->info.name, count->info.name};
    return count != NULL;
}

// What the caller does not give: how many steps, and zeros.
static bool begin_fit(vys_task *t, const vys_fit *fit, const vy_training *made, vy_diag *d)
{
    bool ok = keep_names(t, made, d) && vys_set_int(t, made->window, fit->steps, d) &&
              vys_set_int(t, made->count, fit->steps, d) && vys_task_zeros(t, made->step, d);
    for (uint32_t i = 0; ok && i < made->state_count; i++)
        ok = vys_task_zeros(t, made->states[i], d);
    ok = ok && (!made->begin || vys_set_int(t, made->begin, 1, d));
    for (uint32_t i = 0; ok && made->gradients && i < fit->train.param_count; i++)
        ok = vys_task_zeros(t, made->gradients[i], d);
    if (made->gradients)
        ok = ok && vys_set_int(t, made->first, 0, d) && vys_set_int(t, made->derivatives, 0, d) &&
             vys_task_zeros(t, made->losses, d);
    return ok && (!made->batch || vys_set_int(t, made->batch, fit->batch, d));
}

bool vys_fit_build(vys_session *s, const vy_module *m, const vys_fit *fit,
                   const vys_settings *settings, vys_task **out, vy_diag *d)
{
    request r;
    vys_settings own;
    vy_training made;
    *out = NULL;
    if (!take(&r, fit, settings, d)) return false;
    fit = &r.fit;
    own = r.settings;
    if (!vy_module_ok(m)) {
        *d = *vy_module_diag(m);
        return false;
    }
    vy_module *trained = check(fit, d) ? train(s, m, fit, &own, &made, d) : NULL;
    if (!trained) return false;
    own.program = made.pipeline;
    own.order = own.of_count = own.wrt_count = 0;
    own.keep_state = true;
    bool ok = vys_task_build(s, trained, &own, out, d) && begin_fit(*out, fit, &made, d);
    if (ok && fit->comm)
        ok = vys_task_share(*out, fit, &made, trained, d);
    else
        vy_module_free(trained);
    if (ok) return true;
    vys_task_free(*out);
    *out = NULL;
    return false;
}

bool vys_fit_parse(vys_session *s, const char *text, size_t size, const char *file,
                   const vys_fit *fit, const vys_settings *settings, vys_task **out, vy_diag *d)
{
    *out = NULL;
    if (d->severity == VY_ERROR) return false;
    vy_module *m = vy_parse(text, size, file ? file : "");
    if (!m) return vys_fail_memory(d);
    const bool ok = vys_fit_build(s, m, fit, settings, out, d);
    vy_module_free(m);
    return ok;
}
