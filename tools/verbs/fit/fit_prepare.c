// SPDX-License-Identifier: MIT
// fit_prepare.c: from the request to a pipeline with its data, ready to run.
#include "tools/verbs/fit/fit.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { MOST_STEPS = 1024 }; // of one window: how many losses are kept on the device

// ------------------------------------------------------------------------------------- derivative
static uint64_t identity_of(const vy_module *m)
{
    size_t size = 0;
    char *printed = vy_print(m, &size);
    const uint64_t hash = fit_hash(0, printed, printed ? size : 0);
    free(printed);
    return hash;
}

bool fit_train(fit *f, command *c, vys_entry what, vy_diag *d)
{
    vy_grad_options g;
    const char **results = NULL;
    if (!take_settings(c, d) || !vys_grad_options(&c->work, what, false, false, &results, &g, d))
        return false;
    free(results);
    f->train.program = vys_entry_name(what);
    f->train.grad = &g;
    progress_begin(c, "differentiating");
    c->work.derived = vy_train(c->module, &f->train, &f->made, d);
    progress_end();
    f->train.grad = NULL;
    if (!c->work.derived) return fail_memory(d); // unless it said why
    f->identity = identity_of(c->work.derived);
    return true;
}

// -------------------------------------------------------------------------------------------- data
static bool add_zeros(fit *f, command *c, const char *name, const array *like, vy_diag *d)
{
    text t = {0};
    text_puts(&t, name);
    if (like) {
        text_puts(&t, "[");
        shape_text(like->rank, like->shape, &t);
        text_puts(&t, "]");
    }
    text_puts(&t, "=zeros");
    if (!t.failed && names_add(&c->o.owned, t.data)) return names_add(&f->zeros, t.data);
    text_free(&t);
    return fail_memory(d);
}

static bool is_given(const command *c, const char *name)
{
    const size_t n = strlen(name);
    for (uint32_t i = 0; i < c->o.in.count; i++) {
        const char *in = c->o.in.data[i];
        if (!strncmp(in, name, n) && (in[n] == '=' || in[n] == '[')) return true;
    }
    return false;
}

// With --shard the loss and gradients of a step are read and replaced.
static bool add_split(fit *f, command *c, vy_diag *d)
{
    bool ok = add_zeros(f, c, f->made.losses, NULL, d);
    for (uint32_t i = 0; ok && i < f->train.param_count; i++)
        ok = add_zeros(f, c, f->made.gradients[i], NULL, d);
    return ok;
}

// SPECs: those given; zeros for what is the optimiser's, and for what the checkpoint brings.
static bool collect_specs(fit *f, command *c, vy_diag *d)
{
    names *all = &f->zeros;
    all->count = 0;
    specs_free(&f->in);
    for (uint32_t i = 0; i < c->o.in.count; i++)
        if (!names_add(all, c->o.in.data[i])) return fail_memory(d);
    if (!add_zeros(f, c, f->made.step, NULL, d) || (f->made.gradients && !add_split(f, c, d)))
        return false;
    for (uint32_t i = 0; i < f->made.state_count; i++)
        if (!add_zeros(f, c, f->made.states[i], NULL, d)) return false;
    for (uint32_t i = 0; i < f->resumed.count; i++) {
        const saved_buffer *b = &f->resumed.buffers[i];
        const bool param = names_have(&c->o.params, b->name) && !is_given(c, b->name);
        if (param && !add_zeros(f, c, b->name, &b->value, d)) return false;
    }
    return specs_read(&f->in, all, vys_entry_result(c->work.derived), d);
}

static bool give(fit *f, const char *name, uint64_t value, vy_diag *d)
{
    bound_scalar *s = vys_binding_scalar(&f->data, "", name, d);
    if (!s) return false;
    if (s->known)
        return fail(d, TOOL_USAGE, "leave it out", "--set gives %s, which fit decides", name);
    s->known = true;
    s->value.u = value;
    return true;
}

static bool give_split(fit *f, vy_diag *d)
{
    return !f->train.split || (give(f, f->made.first, 0, d) && give(f, f->made.derivatives, 0, d));
}

static bool change(fit *f, const char *name, uint64_t value, bool *changed, vy_diag *d)
{
    bound_scalar *s = vys_binding_scalar(&f->data, "", name, d);
    if (!s) return false;
    *changed |= s->value.u != value;
    s->value.u = value;
    f->data.values[s - f->data.scalars] = (int64_t)value;
    return true;
}

bool fit_set_count(fit *f, uint64_t steps, vy_diag *d)
{
    bool changed = false;
    if (!change(f, f->made.count, steps, &changed, d) ||
        (f->made.begin && !change(f, f->made.begin, f->done == f->first, &changed, d)))
        return false;
    return !changed || vys_runner_rescale(&f->run, d);
}

// Are there enough rows, and do all values of scalars that decide what a step does enter identity?
static bool check_rows(fit *f, const command *c, vy_diag *d)
{
    const binding *b = &f->data;
    for (uint32_t i = 0; i < b->scalar_count; i++) {
        const bound_scalar *s = &b->scalars[i];
        if (fit_is_size(f, s->info.name))
            f->identity = fit_hash(f->identity, &s->value, sizeof s->value);
        if (!f->made.rows || strcmp(s->info.name, f->made.rows) || s->value.u >= f->batch_rows)
            continue;
        return fail(d, TOOL_SHAPE, "give more data, or make the batch smaller",
                    "a batch of %llu rows, but there are %llu", (unsigned long long)f->batch_rows,
                    (unsigned long long)s->value.u);
    }
    f->identity = fit_shard_identity(f, c, f->identity);
    return true;
}

// "N is 4 by --set, but 8 by y": the batch has set N, and y has a row for each sample, too.
static bool blame_batch(const fit *f, vy_diag *d)
{
    const size_t n = f->made.batch ? strlen(f->made.batch) : 0;
    const bool its = n && !strncmp(d->text, f->made.batch, n) && !strncmp(d->text + n, " is ", 4);
    const char *given = its ? strstr(d->text, "by --set, but ") : NULL;
    char buffer[100];
    if (!given || sscanf(given, "by --set, but %*u by %99s", buffer) != 1) return false;
    *d = (vy_diag){0};
    return fail(d, TOOL_SHAPE, "name all buffers that have rows of samples in --batch",
                "--batch takes %llu rows, but %s is not among its buffers and has another length",
                (unsigned long long)f->batch_rows, buffer);
}

static bool bind_data(fit *f, command *c, vy_diag *d)
{
    const bool f64 = c->o.eval_type == EVAL_F64;
    binding *b = &f->data;
    return collect_specs(f, c, d) && binding_create(b, vys_entry_result(c->work.derived), f64, d) &&
           binding_set(b, &c->o.set, d) && give(f, f->made.window, f->window, d) &&
           give(f, f->made.count, !f->train.split, d) && give_split(f, d) &&
           (!f->made.batch || give(f, f->made.batch, f->batch_rows, d)) &&
           (!f->made.begin || give(f, f->made.begin, 1, d)) && binding_groups(b, c->o.groups, d) &&
           binding_specs(b, &f->in, NULL, d) && vys_binding_fill(b, d);
}

static bool bind(fit *f, command *c, vy_diag *d)
{
    binding *b = &f->data;
    // Of another training, the shapes of a checkpoint need not suit these data.
    if (!bind_data(f, c, d)) return (!c->o.resume || !fit_is_other(f, c, d)) && blame_batch(f, d);
    return check_rows(f, c, d) && (c->o.shard || vys_binding_tape(b, c->o.tape_limit, d)) &&
           (!c->o.resume || fit_take(f, c, d));
}

// A training may take hours: what cannot be written is refused before it.
static bool check_out(fit *f, const command *c, vy_diag *d)
{
    for (uint32_t i = 0; i < f->train.param_count; i++)
        if (!folder_result(&f->out, f->train.params[i], d)) return false;
    for (uint32_t i = 0; i < f->out.count; i++) {
        const spec *o = &f->out.data[i];
        const bound_buffer *b = fit_buffer(f, o->name);
        if (!b || !fit_is_kept(f, b))
            return fail(d, TOOL_USAGE, "write one of --params", "--out %s: it is not trained",
                        o->name);
        if (!check_output(o, &b->value, d)) return false;
    }
    if (!folder_make(&f->out, d)) return false;
    for (uint32_t i = 0; i < f->out.count; i++)
        if (!output_check(&c->files, f->out.data[i].text, d)) return false;
    return (!c->o.plot || output_check(&c->files, c->o.plot, d)) &&
           (!c->o.output || output_check(&c->files, c->o.output, d)) &&
           (!c->o.checkpoint_every || fit_check_save(f, d));
}

// ---------------------------------------------------------------------------------------- together
// Not again where the derivative is made again.
static bool compare_ranks(fit *f, command *c, vy_diag *d)
{
    return f->ranks.agreed || (fit_ranks_agree(f, c, true, d) && fit_ranks_same(f, c, d));
}

static bool prepare_once(fit *f, command *c, vys_entry what, vy_diag *d)
{
    const bool eval = c->o.engine == ENGINE_EVAL;
    if (!fit_train(f, c, what, d) || !bind(f, c, d) || (!f->ranks.comm.rank && !check_out(f, c, d)))
        return false;
    if (c->o.shard) return compare_ranks(f, c, d) && fit_shard_prepare(f, c, d);
    return optimize_final(c, c->work.derived, eval, &f->data, d) &&
           runner_prepare(&f->run, c, &f->data, d) && vys_runner_upload(&f->run, d);
}

static bool make_room(fit *f, vy_diag *d)
{
    f->read = calloc(f->window + 1, sizeof(double));
    f->start = calloc(f->train.param_count + 1, sizeof *f->start);
    for (uint32_t i = 0; f->start && i < f->train.param_count; i++)
        f->start[i] = fit_contents(f, i);
    return (f->read && f->start) || fail_memory(d);
}

bool fit_prepare(fit *f, command *c, vy_diag *d)
{
    vys_entry what;
    const double start = now_ms();
    if (!select_entry(c, c->module, &what, d)) return false;
    f->first = f->done = f->resumed.step;
    if (f->first >= c->o.steps)
        return fail(d, TOOL_USAGE, "--steps counts from the beginning: give more",
                    "%s has made %llu steps already", c->o.resume, (unsigned long long)f->first);
    f->window = c->o.steps - f->first < MOST_STEPS ? c->o.steps - f->first : MOST_STEPS;
    if (c->o.engine == ENGINE_VULKAN &&
        ((c->o.shard && !fit_ranks_choose_device(f, c, d)) || !gpu_open_device(c, d)))
        return false;
    while (!prepare_once(f, c, what, d)) {
        if (!derive_with_less(c, d)) return false;
        fit_shard_free(f);
        vys_runner_free(&f->run);
        vys_binding_free(&f->data);
    }
    f->compile_ms = now_ms() - start;
    return make_room(f, d) && (!c->o.shard || fit_ranks_agree(f, c, true, d));
}
