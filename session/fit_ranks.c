// SPDX-License-Identifier: MIT
// fit_ranks.c: runs of a training task whose other ranks have other rows of the data.
//
// The task of each rank holds its own rows: they are its one part (ranks.h).  Weights follow from
// how many rows the others have, which every run asks them, as data may have been set again.
#include "session/task.h"

#include <stdlib.h>
#include <string.h>

static void free_names(char **names)
{
    for (uint32_t i = 0; names && names[i]; i++) free(names[i]);
    free(names);
}

static char **copy_names(const char *const *names, uint32_t count)
{
    char **copy = calloc((size_t)count + 1, sizeof *copy);
    for (uint32_t i = 0; copy && i < count; i++) {
        copy[i] = strdup(names[i]);
        if (copy[i]) continue;
        free_names(copy);
        return NULL;
    }
    return copy;
}

void vys_task_ranks_free(vys_task_ranks *r)
{
    if (!r) return;
    free_names(r->names);
    free_names(r->params);
    vy_module_free(r->trained);
    free(r);
}

bool vys_task_share(vys_task *t, const vys_fit *fit, const vy_training *made, vy_module *trained,
                    vy_diag *d)
{
    vys_task_ranks *r = t->ranks = calloc(1, sizeof *r);
    if (!r) {
        vy_module_free(trained);
        return vys_fail_memory(d);
    }
    *r = (vys_task_ranks){.own = *fit->comm,
                          .comm = &r->own,
                          .names = copy_names(fit->shard, fit->shard_count),
                          .params = copy_names(fit->train.params, fit->train.param_count),
                          .param_count = fit->train.param_count,
                          .trained = trained,
                          .made = *made};
    r->shard = (vys_shard){.names = (const char *const *)r->names,
                           .count = fit->shard_count,
                           .sums = fit->sums};
    return (r->names && r->params) || vys_fail_memory(d);
}

// The share of this rank in the rows of all.
static bool weigh(const vys_task_ranks *r, double *weight, uint64_t timeout_ns, vy_diag *d)
{
    double rows = (double)r->shard.rows;
    const char *why = r->comm->begin_sum(r->comm->user, &rows, 1, VY_F64);
    if (!why) why = r->comm->finish(r->comm->user, timeout_ns);
    if (why) return vys_fail(d, VYS_RANKS, NULL, "%.300s", why);
    if (!r->shard.rows)
        return vys_fail(d, VYS_SHAPE, "take fewer ranks", "%s has no rows on rank %u",
                        r->shard.names[0], r->comm->rank);
    *weight = r->shard.sums ? 1 : (double)r->shard.rows / rows;
    return true;
}

static bool is_on_host(const vys_task *t, vy_diag *d)
{
    for (uint32_t i = 0; i < t->data.buffer_count; i++)
        if (t->data.buffers[i].storage)
            return vys_fail(d, VYS_USAGE, "set it",
                            "%s is in a storage: several devices do not "
                            "train on that",
                            t->data.buffers[i].info.name);
    return true;
}

static bool begin(vys_task *t, double *weight, vy_diag *d)
{
    vys_task_ranks *r = t->ranks;
    const char *const *params = (const char *const *)r->params;
    if (!is_on_host(t, d) || !vys_shard_rows(&r->shard, &t->data, params, r->param_count, d) ||
        !weigh(r, weight, t->work.settings.timeout_ns, d))
        return false;
    if (r->checked || r->comm->ranks == 1) return true;
    r->checked =
        vys_shard_check(&r->shard, &t->data, &t->runner, &t->work, &r->made, r->param_count, d);
    return r->checked;
}

bool vys_task_run_ranks(vys_task *t, vy_diag *d)
{
    vys_task_ranks *r = t->ranks;
    vys_part part = {.data = &t->data, .run = &t->runner};
    vys_ranks all = {.comm = r->comm,
                     .made = &r->made,
                     .params = (const char *const *)r->params,
                     .gradients = r->param_count,
                     .parts = &part,
                     .count = 1,
                     .timeout_ns = t->work.settings.timeout_ns};
    const vys_bound_scalar *count = vys_binding_scalar(&t->data, "", r->made.count, d);
    if (!count || !begin(t, &part.weight, d)) return false;
    // The last half of the last step leaves it as it is.
    const bool ok =
        vys_ranks_begin(&all, d) &&
        vys_ranks_run(&all, &t->work, (uint32_t)count->value.u, &t->stats.milliseconds, d);
    vys_ranks_free(&all);
    return ok;
}
