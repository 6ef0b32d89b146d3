// SPDX-License-Identifier: MIT
// derive.c: from a program to its derivative, and to the form that is optimised for where it runs.
#include "session/work.h"

#include "session/internal.h"

#include "autodiff/deterministic.h"
#include "autodiff/transform.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static bool take_diag(const vy_module *m, vy_diag *d)
{
    if (d->severity != VY_ERROR) *d = *vy_module_diag(m);
    return false;
}

void vys_work_free(vys_work *w)
{
    vy_module_free(w->derived);
    vy_module_free(w->ordered);
    vy_module_free(w->before);
    w->derived = w->ordered = w->before = NULL;
}

void vys_forget_source(vys_work *w)
{
    vy_module_free(w->before);
    w->before = NULL;
    w->before_of = NULL;
}

// ------------------------------------------------------------------------------------- derivatives
// Gradients among the outputs of a derivative; false: memory.
static bool gradients(const vy_program *p, const char ***names, uint32_t *count)
{
    const uint32_t n = vy_program_buffer_count(p);
    *count = 0;
    *names = calloc(n + 1, sizeof **names);
    for (uint32_t i = 1; *names && i <= n; i++) {
        const vy_buffer_info b = vy_program_buffer(p, (vy_buffer){i});
        if (vy_is_gradient(b.role.kind)) (*names)[(*count)++] = b.name;
    }
    return *names != NULL;
}

bool vys_grad_options(vys_work *w, vys_entry from, bool again, bool seeded, const char ***results,
                      vy_grad_options *g, vy_diag *d)
{
    const vys_settings *s = &w->settings;
    if (!s->forward) { // tangents keep nothing: what is known of the reverse stays
        w->revolves = from.pipeline != NULL;
        w->divides = !from.pipeline && !again && vy_grad_batches(from.program);
    }
    *g = (vy_grad_options){.program = vys_entry_name(from),
                           .apart = s->level == VYS_O0 || s->level == VYS_O1,
                           .seed_buffer = seeded,
                           .with_value = s->with_value,
                           .deterministic = s->deterministic,
                           .revolved = &w->revolves,
                           .plain_too = w->text,
                           .accumulate = s->accumulate,
                           .assume = s->assume,
                           .assume_count = s->assume_count,
                           .of = s->of_count ? s->of : NULL,
                           .of_count = s->of_count,
                           .wrt = s->wrt_count ? s->wrt : NULL,
                           .wrt_count = s->wrt_count};
    vys_keep_options(w, g);
    *results = NULL;
    if (s->batches > 1 && !again && !s->forward && !w->divides)
        return vys_fail(d, VYS_USAGE, "leave the number of batches out",
                        "%s cannot run in batches: its domain is none of independent invocations",
                        vys_entry_name(from));
    if (!again) return true;
    if (!gradients(from.program, results, &g->of_count)) return vys_fail_memory(d);
    g->of = g->of_count ? *results : NULL;
    return true;
}

static uint32_t order(const vys_settings *s) { return s->order ? s->order : 1; }

static vy_module *derive_once(vys_work *w, const vy_module *m, vys_entry from, uint32_t done,
                              bool seeded, vy_accumulate how, vy_diag *d)
{
    vy_grad_options g;
    const char **results;
    const bool ok = vys_grad_options(w, from, done > 0, seeded, &results, &g, d);
    const bool last = !w->again && done + 1 == order(&w->settings);
    g.deterministic &= last; // a program to be derived again adds by atomics
    g.accumulate = last ? how : VY_ACCUMULATE_ATOMIC;
    g.again = !last;
    vy_module *derived = NULL;
    if (ok) derived = w->settings.forward ? vy_jvp(m, &g, d) : vy_grad(m, &g, d);
    if (!derived) vys_fail_memory(d); // unless it said why
    free(results);
    if (derived && vy_module_ok(derived)) return derived;
    if (derived) take_diag(derived, d);
    vy_module_free(derived);
    return NULL;
}

static bool has_wide_integers(const vy_module *m)
{
    for (uint32_t k = 0; k < vy_module_program_count(m); k++) {
        const vy_program *p = vy_module_program(m, k);
        if (vy_program_computes(p, VY_I64) || vy_program_computes(p, VY_U64)) return true;
    }
    return false;
}

// Programs over the elements may divide in 64 bits where the program itself does not; a device that
// has no such integers adds by atomics then.
static vy_module *derive_for(vys_work *w, const vy_module *m, vys_entry from, uint32_t done,
                             bool seeded, vy_diag *d)
{
    vy_module *derived = derive_once(w, m, from, done, seeded, w->settings.accumulate, d);
    const vys_facts facts = w->settings.interpreter ? (vys_facts){0} : vys_facts_of(w->device);
    if (!derived || !facts.known || facts.features & VY_FEATURE_BIT(INT64)) return derived;
    if (w->settings.accumulate != VY_ACCUMULATE_AUTO || has_wide_integers(m)) return derived;
    if (!has_wide_integers(derived)) return derived;
    vy_module_free(derived);
    return derive_once(w, m, from, done, seeded, VY_ACCUMULATE_ATOMIC, d);
}

static bool seeded_by(const vys_settings *s, const vy_program *p, const char *const *seeds,
                      uint32_t seed_count)
{
    bool seeded = s->seed_buffer;
    for (uint32_t i = 0; i < seed_count; i++) seeded |= vy_program_find_buffer(p, seeds[i]).id != 0;
    return seeded;
}

static bool name_result(const vys_work *w, vy_diag *d)
{
    vy_module *m = w->derived;
    const char *name = w->settings.name;
    return !name || vy_module_rename(m, vys_entry_name(vys_entry_result(m)), name, d);
}

// What is derived again, in batches, is the program as it was: since then it may have been
// optimised for a run, and adds in subgroups, of which a batch is no part.  *m and *from: that.
static bool take_source(vys_work *w, const vy_module **m, vys_entry *from, vy_diag *d)
{
    uint32_t at = 0;
    *m = w->module;
    if (w->once || from->pipeline || w->settings.forward || w->settings.keep != VYS_KEEP_AUTO)
        return true;
    if (!w->before || w->before_of != from->program) {
        if (!vy_grad_batches(from->program)) return true;
        while (vy_module_program(*m, at) && vy_module_program(*m, at) != from->program) at++;
        if (!vy_module_program(*m, at)) return true; // of another module
        vys_forget_source(w);
        if (!vy_module_extract(*m, (vy_ref){at, false}, &w->before, d)) return vys_fail_memory(d);
        w->before_of = from->program;
    }
    *m = w->before;
    return vys_entry_find(*m, vys_entry_name(*from), w->settings.words, from, d);
}

bool vys_derive(vys_work *w, vys_entry from, const char *const *seeds, uint32_t seed_count,
                vy_diag *d)
{
    const vy_module *source;
    vy_module *last = NULL;
    if (!take_source(w, &source, &from, d)) return false;
    vys_step(&w->settings, "differentiating");
    for (uint32_t i = 0; i < order(&w->settings); i++) {
        const bool seeded = seeded_by(&w->settings, from.program, seeds, seed_count);
        vy_module *next = derive_for(w, source, from, i, seeded, d);
        vy_module_free(last);
        last = next;
        if (!next) break;
        source = next;
        from = vys_entry_result(next);
    }
    vys_step(&w->settings, NULL);
    w->derived = last;
    return last && name_result(w, d);
}

bool vys_order_sums(vys_work *w, vys_entry *what, vy_diag *d)
{
    if (!w->settings.deterministic) return true;
    const char *name = vys_entry_name(*what);
    w->ordered = vy_deterministic(w->module, name, d);
    if (!w->ordered) return vys_fail_memory(d); // unless it said why
    return vys_entry_find(w->ordered, name, w->settings.words, what, d);
}

// --------------------------------------------------------------------------------------- optimiser
bool vys_optimize(vys_work *w, vy_module *m, bool final, vys_binding *data, vy_diag *d)
{
    const vys_facts facts = w->settings.interpreter ? (vys_facts){0} : vys_facts_of(w->device);
    const vys_asked asked = {&facts, &w->settings, data};
    const vy_opt_options opt = vys_opt_options(&asked, final);
    if (!vys_tune_check(&w->settings, m, d)) return false;
    vys_step(&w->settings, "optimising");
    const bool ok = vy_optimize(m, &opt);
    vys_step(&w->settings, NULL);
    if (!ok) return take_diag(m, d);
    return !data || vys_binding_refresh(data, d);
}
