// SPDX-License-Identifier: MIT
// derive.c: from a program to its derivative, and to the form that is optimised for where it runs.
#include "session/work.h"

#include "session/internal.h"

#include "autodiff/deterministic.h"

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
    w->derived = w->ordered = NULL;
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

// What is kept less and less: the values of `storage`.
enum {
    FASTEST,
    LEAN,                          // only what cannot be recomputed
    SQRT,                          // √n states of long loops
    REVOLVE,                       // of outermost repeats MOST_STATES, then one less, … 1
    MOST_STATES = 10,              // as the schedule has (ir/host/revolve.c)
    AGAIN = REVOLVE + MOST_STATES, // checkpoints in checkpoints: segments of segments
    LEAST = AGAIN + 1,             // … in checkpoints
};

static uint32_t cuts(uint32_t storage)
{
    return storage < AGAIN ? storage >= SQRT : storage - AGAIN + 2;
}

static uint32_t states_of(uint32_t storage)
{
    if (storage < REVOLVE) return 0;
    return storage < AGAIN ? AGAIN - storage : 1;
}

bool vys_grad_options(vys_work *w, vys_entry from, bool again, bool seeded, const char ***results,
                      vy_grad_options *g, vy_diag *d)
{
    const vys_settings *s = &w->settings;
    const uint32_t storage = s->keep == VYS_KEEP_SQRT && w->storage < SQRT ? SQRT : w->storage;
    if (!s->forward) w->revolves = from.pipeline != NULL;
    *g = (vy_grad_options){.program = vys_entry_name(from),
                           .apart = s->level == VYS_O0 || s->level == VYS_O1,
                           .seed_buffer = seeded,
                           .with_value = s->with_value,
                           .deterministic = s->deterministic,
                           .lean_sums = w->lean,
                           .frugal = storage > FASTEST,
                           .checkpoint = cuts(storage),
                           .revolve = states_of(storage),
                           .revolved = &w->revolves,
                           .plain_too = w->text,
                           .accumulate = s->accumulate,
                           .assume = s->assume,
                           .assume_count = s->assume_count,
                           .of = s->of_count ? s->of : NULL,
                           .of_count = s->of_count,
                           .wrt = s->wrt_count ? s->wrt : NULL,
                           .wrt_count = s->wrt_count};
    *results = NULL;
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

bool vys_derive(vys_work *w, vys_entry from, const char *const *seeds, uint32_t seed_count,
                vy_diag *d)
{
    const vy_module *source = w->module;
    vy_module *last = NULL;
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

// Where no repeat follows the schedule, fewer states change nothing.
static uint32_t less(const vys_work *w)
{
    const bool skip = w->storage >= SQRT && w->storage < AGAIN && !w->revolves;
    return skip ? AGAIN : w->storage + 1;
}

vys_store vys_stores(const vys_work *w, uint32_t *states)
{
    static const vys_store stores[] = {VYS_STORE_FASTEST, VYS_STORE_LEAN, VYS_STORE_SQRT};
    const bool revolves = w->storage >= REVOLVE && w->storage < AGAIN;
    *states = revolves && w->revolves ? states_of(w->storage) : 0;
    if (w->storage < REVOLVE) return stores[w->storage];
    if (revolves) return w->revolves ? VYS_STORE_REVOLVE : VYS_STORE_SQRT;
    return VYS_STORE_SEGMENTS;
}

// The first number before " bytes": what tapes need, in all errors that say so.  Else UINT64_MAX.
static uint64_t bytes_in(const char *text)
{
    const char *end = strstr(text, " bytes"), *at = end;
    while (at && at > text && at[-1] >= '0' && at[-1] <= '9') at--;
    return at == end ? UINT64_MAX : strtoull(at, NULL, 10);
}

static void note_need(vys_work *w, const vy_diag *d)
{
    const uint64_t bytes = bytes_in(d->text);
    if (w->storage == FASTEST && !w->lean) w->tries = 0; // the first way of this run
    if (!w->tries++ || bytes < w->least_bytes) w->least = *d, w->least_bytes = bytes;
}

// Nothing keeps less: the error is the one of the way that needs least, not of the last one.
static bool give_up(vys_work *w, vy_diag *d)
{
    if (w->tries > 1) {
        *d = w->least;
        vys_append(d->text, sizeof d->text, " (the least of %u ways to keep less)", w->tries);
    }
    w->tries = 0;
    return false;
}

bool vys_derive_with_less(vys_work *w, vy_diag *d)
{
    const vys_settings *s = &w->settings;
    const bool tape = vys_diag_is(d, VYS_TAPE) || vy_diag_is(d, VY_E_EVAL_LIMIT);
    const bool terms = s->deterministic && !w->lean;
    if (!tape) return false;
    note_need(w, d);
    if (!terms && (s->keep != VYS_KEEP_AUTO || w->storage >= LEAST || order(s) > 1))
        return give_up(w, d);
    if (terms)
        w->lean = true;
    else
        w->storage = less(w);
    vy_module_free(w->derived);
    w->derived = NULL;
    *d = (vy_diag){0};
    return true;
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
    vys_step(&w->settings, "optimising");
    const bool ok = vy_optimize(m, &opt);
    vys_step(&w->settings, NULL);
    if (!ok) return take_diag(m, d);
    return !data || vys_binding_refresh(data, d);
}
