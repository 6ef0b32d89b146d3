// SPDX-License-Identifier: MIT
// session.c: opening an engine, and tasks without their data (given.c) and runs (execute.c).
#include "session/task.h"

#include "session/internal.h"

#include <stdlib.h>
#include <string.h>

// ----------------------------------------------------------------------------------------- engines
static bool open_device(vys_session *s, const vys_session_desc *desc, vy_diag *d)
{
    vkrt_error e = {0};
    const vkrt_device_desc wanted = {.device = desc->device, .cache_dir = desc->cache_dir};
    s->device = desc->use;
    if (desc->use || desc->interpreter) return true;
    return (!vkrt_instance_create(NULL, &s->instance, &e) &&
            !vkrt_device_create(s->instance, &wanted, &s->device, &e)) ||
           vys_vkrt_fail(&e, NULL, d);
}

bool vys_open(const vys_session_desc *desc, vys_session **out, vy_diag *d)
{
    vys_session_desc taken;
    *out = NULL;
    if (!vys_take(&taken, sizeof taken, desc, "vys_session_desc", d)) return false;
    vys_session *s = calloc(1, sizeof *s);
    if (!s) return vys_fail_memory(d);
    if (open_device(s, &taken, d)) {
        *out = s;
        return true;
    }
    vys_close(s);
    return false;
}

void vys_close(vys_session *s)
{
    if (!s) return;
    if (s->instance) vkrt_device_destroy(s->device);
    vkrt_instance_destroy(s->instance);
    free(s);
}

vys_facts vys_session_facts(const vys_session *s) { return vys_facts_of(s->device); }

vkrt_device *vys_session_device(const vys_session *s) { return s->device; }

const char *vys_session_message(const vys_session *s, uint32_t index)
{
    if (!s->instance || index >= vkrt_instance_message_count(s->instance)) return NULL;
    const char *text = vkrt_instance_message(s->instance, index);
    return text || index > 0 ? text : "a message that there was no memory to keep";
}

// ------------------------------------------------------------------------------------------- tasks
// A copy of a module: vy_optimize works in place, and another size may need another result.
static vy_module *copy_module(const vy_module *m, vy_diag *d)
{
    size_t size;
    void *data = vy_binary_write(m, &size);
    vy_module *copy = data ? vy_binary_read(data, size) : NULL;
    free(data);
    if (copy && vy_module_ok(copy)) return copy;
    if (copy)
        *d = *vy_module_diag(copy);
    else
        vys_fail_memory(d);
    vy_module_free(copy);
    return NULL;
}

// The module that runs; *old is to be freed once nothing refers to it any more.
static bool derive_again(vys_task *t, vy_module **old, vy_diag *d)
{
    *old = t->work.derived;
    t->work.derived = NULL;
    if (vys_derive(&t->work, t->primal, NULL, 0, d)) return true;
    t->work.derived = *old;
    *old = NULL;
    return false;
}

static bool order_again(vys_task *t, vys_entry *runs, vy_module **old, vy_diag *d)
{
    *old = t->work.ordered;
    t->work.ordered = NULL;
    if (vys_order_sums(&t->work, runs, d)) return true;
    vy_module_free(t->work.ordered);
    t->work.ordered = *old;
    *old = NULL;
    return false;
}

static bool copy_again(vys_task *t, vys_entry *runs, vy_module **old, vy_diag *d)
{
    vy_module *copy = copy_module(t->source, d);
    if (!copy || !vys_entry_find(copy, vys_entry_name(t->primal), NULL, runs, d)) {
        vy_module_free(copy);
        return false;
    }
    *old = t->code;
    t->code = copy;
    return true;
}

bool vys_task_code(vys_task *t, vy_diag *d)
{
    vy_module *old = NULL;
    vys_entry runs = t->primal;
    bool ok = true;
    if (t->work.settings.order) {
        if (!t->derived_is_fresh) ok = derive_again(t, &old, d);
        if (ok) runs = vys_entry_result(t->work.derived);
    } else if (t->work.settings.deterministic) {
        ok = order_again(t, &runs, &old, d);
    } else {
        ok = copy_again(t, &runs, &old, d);
    }
    if (!ok) return false;
    t->derived_is_fresh = false;
    t->runs = runs;
    vys_binding_free(&t->data); // its names were the old module's
    vy_module_free(old);
    return true;
}

static char *copy_text(const char *s)
{
    char *copy = malloc(strlen(s) + 1);
    if (copy) strcpy(copy, s);
    return copy;
}

static char **copy_names(const char *const *names, uint32_t count)
{
    char **copy = calloc((size_t)count + 1, sizeof *copy);
    for (uint32_t i = 0; copy && i < count; i++) {
        copy[i] = copy_text(names[i]);
        if (copy[i]) continue;
        while (i > 0) free(copy[--i]);
        free(copy);
        return NULL;
    }
    return copy;
}

static void free_names(char **names, uint32_t count)
{
    for (uint32_t i = 0; names && i < count; i++) free(names[i]);
    free(names);
}

static bool take_settings(vys_task *t, const vys_settings *asked, vy_diag *d)
{
    vys_settings *s = &t->work.settings;
    vys_settings given;
    if (!vys_take(&given, sizeof given, asked, "vys_settings", d) || !vys_settings_check(&given, d))
        return false;
    asked = &given;
    t->of = copy_names(asked->of, asked->of_count);
    t->wrt = copy_names(asked->wrt, asked->wrt_count);
    t->assume = copy_names(asked->assume, asked->assume_count);
    if (asked->program) t->program = copy_text(asked->program);
    if (!t->of || !t->wrt || !t->assume || (asked->program && !t->program))
        return vys_fail_memory(d);
    *s = *asked;
    s->of = (const char *const *)t->of;
    s->wrt = (const char *const *)t->wrt;
    s->assume = (const char *const *)t->assume;
    s->program = t->program;
    s->tune = NULL, s->tune_count = 0;
    s->interpreter = !t->session->device;
    s->f64 &= s->interpreter;
    t->work.device = t->session->device;
    t->work.module = t->source;
    return true;
}

// Finds the entry, its derivative (whose errors are reported now), and their parameters.
static bool prepare_task(vys_task *t, vy_diag *d)
{
    if (!vys_entry_find(t->source, t->program, NULL, &t->primal, d)) return false;
    t->runs = t->primal;
    if (t->work.settings.order) {
        if (!vys_derive(&t->work, t->primal, NULL, 0, d)) return false;
        t->derived_is_fresh = true;
        t->runs = vys_entry_result(t->work.derived);
    }
    const vys_words *words = t->work.settings.words;
    const uint32_t scalars = vy_program_scalar_count(t->primal.program);
    t->scalar_given = calloc((size_t)scalars + 1, sizeof *t->scalar_given);
    t->scalars = calloc((size_t)scalars + 1, sizeof *t->scalars);
    if (!t->scalar_given || !t->scalars) return vys_fail_memory(d);
    return vys_binding_create(&t->forward, t->primal, false, words, d) &&
           vys_binding_create(&t->data, t->runs, false, words, d);
}

// Takes the source, also when it fails.
static bool make_task(vys_session *s, vy_module *source, const vys_settings *settings,
                      vys_task **out, vy_diag *d)
{
    vys_task *t = calloc(1, sizeof *t);
    if (!t) {
        vy_module_free(source);
        return vys_fail_memory(d);
    }
    t->session = s;
    t->source = source;
    if (take_settings(t, settings, d) && prepare_task(t, d)) {
        *out = t;
        return true;
    }
    vys_task_free(t);
    return false;
}

bool vys_task_parse(vys_session *s, const char *text, size_t size, const char *file,
                    const vys_settings *settings, vys_task **out, vy_diag *d)
{
    *out = NULL;
    if (d->severity == VY_ERROR) return false;
    vy_module *m = vy_parse(text, size, file ? file : "");
    if (!m) return vys_fail_memory(d);
    if (vy_module_ok(m)) return make_task(s, m, settings, out, d);
    *d = *vy_module_diag(m);
    vy_module_free(m);
    return false;
}

bool vys_task_build(vys_session *s, const vy_module *m, const vys_settings *settings,
                    vys_task **out, vy_diag *d)
{
    *out = NULL;
    if (d->severity == VY_ERROR) return false;
    if (!vy_module_ok(m)) {
        *d = *vy_module_diag(m);
        return false;
    }
    vy_module *copy = copy_module(m, d);
    return copy && make_task(s, copy, settings, out, d);
}

void vys_task_free(vys_task *t)
{
    if (!t) return;
    vys_task_ranks_free(t->ranks);
    vys_runner_free(&t->runner);
    vys_binding_free(&t->data);
    vys_binding_free(&t->forward);
    for (uint32_t i = 0; i < t->given_count; i++) vys_given_free(&t->given[i]);
    free(t->given);
    free(t->scalar_given);
    free(t->scalars);
    free(t->compiled_dims);
    vys_work_free(&t->work);
    vy_module_free(t->code);
    for (size_t i = 0; i < sizeof t->checked / sizeof *t->checked; i++)
        vy_module_free(t->checked[i]);
    vy_module_free(t->source);
    free_names(t->of, t->work.settings.of_count);
    free_names(t->wrt, t->work.settings.wrt_count);
    free_names(t->assume, t->work.settings.assume_count);
    free(t->program);
    free(t);
}

static vys_role role_of(vy_derivative_kind kind)
{
    if (vy_is_gradient(kind)) return VYS_ROLE_GRADIENT;
    if (vy_is_tangent(kind)) return VYS_ROLE_TANGENT;
    return kind == VY_IS_COTANGENT ? VYS_ROLE_COTANGENT : VYS_ROLE_BUFFER;
}

bool vys_task_parameter(const vys_task *t, uint32_t index, vys_parameter *out)
{
    *out = (vys_parameter){0};
    if (index < t->data.buffer_count) {
        const vys_bound *b = &t->data.buffers[index];
        const bool known = b->state == VYS_SHAPE_FULL;
        const vy_derivative_kind kind = b->info.role.kind;
        *out = (vys_parameter){.name = b->info.name,
                               .role = role_of(kind),
                               .mode = b->info.role.mode,
                               .of = role_of(kind) == VYS_ROLE_BUFFER ? NULL : b->info.role.of,
                               .root = b->info.role.root,
                               .cls = b->info.cls,
                               .type = b->info.type,
                               .rank = b->info.rank,
                               .shape = known ? b->value.shape : NULL,
                               .count = known ? b->value.count : 0};
        return true;
    }
    index -= t->data.buffer_count;
    if (index >= t->data.scalar_count) return false;
    const vy_scalar_info *s = &t->data.scalars[index].info;
    *out = (vys_parameter){.name = s->name, .role = VYS_ROLE_SCALAR, .type = s->type};
    return true;
}

vys_stats vys_task_stats(const vys_task *t)
{
    vys_stats s = t->stats;
    s.storage = t->work.storage;
    s.workspace_bytes = vys_runner_workspace(&t->runner);
    return s;
}
