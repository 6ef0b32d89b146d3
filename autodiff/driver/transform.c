// SPDX-License-Identifier: MIT
// transform.c: derivatives in the module of the program they are of; see transform.h.
//
// A derivative is made in a module of its own, as for vy_grad.  If that fails, the module of the
// source has not been touched; else the result moves in, with names that are free there:
//
//   1. look the request up, by which parameters it names and not by how
//   2. differentiate (vy_derive)
//   3. copy the programs, then the pipelines that dispatch them; without memory all are removed
//   4. note the request, with the roles of the result's parameters
#include "autodiff/transform.h"

#include "autodiff/core/conditions.h"
#include "autodiff/driver/observed.h"
#include "autodiff/driver/program_rule.h"
#include "autodiff/driver/starts_meet.h"
#include "ir/core/program_rule.h"
#include "ir/build/edit.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

enum { REQUEST_OF = 1, REQUEST_WRT = 2, REQUEST_ADD = 4 };

struct vy_derived_entry {
    vy_derived shown;
    vy_grad_options how;      // without names
    const uint8_t *requested; // by buffer of the source, then by scalar: flags REQUEST_…
};

static bool no_memory(vy_diag *diag)
{
    vy_diag_set(diag, VY_E_MEMORY, 0, 0, NULL, "out of memory");
    return false;
}

// ---------------------------------------------------------------------------------------- requests
static uint32_t parameters_of(const vy_program *p) { return p->buffers.count + p->scalars.count; }

// Marks the parameters that the names denote.  An unknown name marks place 0, which is no buffer: a
// request that is refused for it cannot equal one that was answered.
static void mark_names(const vy_program *p, const char *const *names, uint32_t count, uint8_t flag,
                       uint8_t *requested)
{
    for (uint32_t k = 0; k < count; k++) {
        const uint32_t b = vy_program_find_buffer(p, names[k]).id;
        const uint32_t s = vy_program_find_scalar(p, names[k]);
        requested[b || s == UINT32_MAX ? b : p->buffers.count + s] |= flag;
    }
}

static void mark_defaults(const vy_program *p, uint8_t flags, uint8_t *requested)
{
    for (uint32_t i = 1; i < p->buffers.count; i++) {
        if (vy_grad_default_of(p, (vy_buffer){i})) requested[i] |= flags & REQUEST_OF;
        if (vy_grad_default_wrt(p, (vy_buffer){i})) requested[i] |= flags & REQUEST_WRT;
    }
}

static void mark(const vy_program *p, const vy_grad_options *o, uint8_t *requested)
{
    mark_defaults(p, (o->of ? 0 : REQUEST_OF) | (o->wrt ? 0 : REQUEST_WRT), requested);
    if (o->of) mark_names(p, o->of, o->of_count, REQUEST_OF, requested);
    if (o->wrt) mark_names(p, o->wrt, o->wrt_count, REQUEST_WRT, requested);
    mark_names(p, o->add, o->add_count, REQUEST_ADD, requested);
}

static bool same_assumptions(const vy_grad_options *x, const vy_grad_options *y)
{
    bool same = x->assume_count == y->assume_count;
    for (uint32_t k = 0; same && k < x->assume_count; k++)
        same = strcmp(x->assume[k], y->assume[k]) == 0;
    return same;
}

static bool same_way(const vy_grad_options *x, const vy_grad_options *y)
{
    return x->forward == y->forward && x->seed_buffer == y->seed_buffer &&
           x->structural_zeros == y->structural_zeros && x->in_place == y->in_place &&
           x->with_value == y->with_value && x->deterministic == y->deterministic &&
           x->lean_sums == y->lean_sums && x->lean_inputs == y->lean_inputs &&
           x->frugal == y->frugal && x->checkpoint == y->checkpoint && x->revolve == y->revolve &&
           x->accumulate == y->accumulate && x->again == y->again && x->apart == y->apart &&
           x->split_tapes == y->split_tapes && same_assumptions(x, y);
}

static const vy_derived *find_derived(const vy_module *m, vy_ref source, const vy_grad_options *o,
                                      const uint8_t *requested, uint32_t count)
{
    for (uint32_t i = 0; i < m->derived.count; i++) {
        const struct vy_derived_entry *e = m->derived.data[i];
        if (e->shown.source.index == source.index && e->shown.source.pipeline == source.pipeline &&
            same_way(&e->how, o) && memcmp(e->requested, requested, count) == 0)
            return &e->shown;
    }
    return NULL;
}

// ------------------------------------------------------------------------------------------- names
static const char *parameter_name(const vy_program *p, uint32_t i)
{
    return i < p->buffers.count ? p->buffers.data[i].name
                                : p->scalars.data[i - p->buffers.count].name;
}

// Appends what was requested where it is not the default.  Returns the length that it needs.
static size_t list(const vy_program *p, const uint8_t *requested, const uint8_t *usual,
                   uint8_t flag, char *text, size_t size)
{
    bool same = true;
    size_t n = 0;
    for (uint32_t i = 1; i < parameters_of(p); i++) same &= !((requested[i] ^ usual[i]) & flag);
    if (same) return 0;
    n += (size_t)snprintf(text, size,
                          flag == REQUEST_OF    ? "_of"
                          : flag == REQUEST_WRT ? "_wrt"
                                                : "_add");
    for (uint32_t i = 1; i < parameters_of(p); i++)
        if (requested[i] & flag)
            n += (size_t)snprintf(n < size ? text + n : NULL, n < size ? size - n : 0, "_%s",
                                  parameter_name(p, i));
    return n;
}

// FNV-1a, 40 bits.  Of parameters only: a text may declare arrays elsewhere among them.
static uint64_t number_of(const vy_program *p, const uint8_t *requested)
{
    uint64_t h = 0xcbf29ce484222325u;
    for (uint32_t i = 0; i < parameters_of(p); i++)
        if (i >= p->buffers.count || vy_is_global(p->buffers.data[i].cls))
            h = (h ^ requested[i]) * 0x100000001b3u;
    return (h ^ h >> 40) & 0xffffffffffu;
}

enum { LONGEST = 100 }; // of what is requested, in a name
#define RESULT_NAME 420

static void result_name(const vy_program *p, const uint8_t *requested, const uint8_t *usual,
                        bool forward, char text[RESULT_NAME])
{
    char what[LONGEST + 1] = "";
    size_t n = list(p, requested, usual, REQUEST_OF, what, sizeof what);
    if (n <= LONGEST) n += list(p, requested, usual, REQUEST_WRT, what + n, sizeof what - n);
    if (n <= LONGEST) n += list(p, requested, usual, REQUEST_ADD, what + n, sizeof what - n);
    if (n > LONGEST) snprintf(what, sizeof what, "_%010" PRIx64, number_of(p, requested));
    snprintf(text, RESULT_NAME, "%.280s_%s%s", p->name, forward ? "jvp" : "grad", what);
}

// `name`, with a number appended if the module has it already; NULL: memory.
static const char *free_name(vy_module *m, const char *name)
{
    char text[RESULT_NAME + 12];
    int n = snprintf(text, sizeof text, "%.*s", RESULT_NAME, name);
    for (uint32_t k = 2; vy_module_find(m, text) || vy_module_find_pipeline(m, text); k++)
        n = snprintf(text, sizeof text, "%.*s%u", RESULT_NAME, name, k);
    return vy_arena_strdup(&m->arena, text, (size_t)n);
}

// --------------------------------------------------------------------------------------- moving in
static bool add_program(vy_module *m, const vy_program *from, const char *name)
{
    const char *kept = free_name(m, name);
    vy_program *p = kept ? vy_program_clone(from, m) : NULL;
    if (p) p->name = kept;
    if (p && vy_vec_push(&m->programs, p)) return true;
    vy_program_free(p);
    return false;
}

static bool add_pipeline(vy_module *m, const vy_pipeline *from, const char *name,
                         const uint32_t *programs)
{
    const char *kept = free_name(m, name);
    vy_pipeline *l = kept ? vy_pipeline_clone(from, m, programs) : NULL;
    if (l) l->name = l->signature->name = kept;
    if (l && vy_vec_push(&m->pipelines, l)) return true;
    vy_pipeline_free(l);
    return false;
}

static vy_ref result_of(const vy_module *m)
{
    const uint32_t n = m->pipelines.count;
    return n ? (vy_ref){n - 1, true} : (vy_ref){0, false};
}

// Copies everything of `from`, calling its result `name`; *result: where that is now.
static bool add_all(vy_module *m, const vy_module *from, const char *name, vy_ref *result)
{
    const vy_ref main = result_of(from);
    uint32_t *programs = vy_realloc(NULL, (from->programs.count + 1) * sizeof *programs);
    bool ok = programs != NULL;
    for (uint32_t i = 0; ok && i < from->programs.count; i++) {
        const vy_program *p = from->programs.data[i];
        programs[i] = m->programs.count;
        ok = add_program(m, p, !main.pipeline && i == main.index ? name : p->name);
    }
    for (uint32_t i = 0; ok && i < from->pipelines.count; i++) {
        const vy_pipeline *l = from->pipelines.data[i];
        ok = add_pipeline(m, l, i == main.index ? name : l->name, programs);
    }
    if (ok && main.pipeline) *result = (vy_ref){m->pipelines.count - 1, true};
    ok = ok && vy_conditions_take(m, from);
    if (ok && !main.pipeline) *result = (vy_ref){programs[main.index], false};
    vy_free(programs);
    return ok;
}

static void drop(vy_module *m, uint32_t programs, uint32_t pipelines)
{
    while (m->pipelines.count > pipelines)
        vy_pipeline_free(m->pipelines.data[--m->pipelines.count]);
    while (m->programs.count > programs) vy_program_free(m->programs.data[--m->programs.count]);
}

static bool note_roles(vy_module *m, vy_derived *d)
{
    const vy_program *p = d->result.pipeline ? m->pipelines.data[d->result.index]->signature
                                             : m->programs.data[d->result.index];
    const uint32_t n = p->buffers.count;
    vy_derivative_role *roles = vy_arena_alloc(&m->arena, n * sizeof *roles);
    for (uint32_t i = 1; roles && i < n; i++) roles[i] = vy_program_buffer(p, (vy_buffer){i}).role;
    d->order = p->order;
    d->role_count = n;
    d->roles = roles;
    return roles != NULL;
}

// NULL: memory, and the module is as it was.
static const vy_derived *move_in(vy_module *m, struct vy_derived_entry *e, const vy_module *made,
                                 const char *name)
{
    const uint32_t programs = m->programs.count, pipelines = m->pipelines.count;
    const uint64_t before = vy_memory_failures();
    const vy_diag was = m->diag;
    if (add_all(m, made, name, &e->shown.result) && note_roles(m, &e->shown) &&
        vy_vec_push(&m->derived, e)) {
        if (vy_memory_failures() == before) return &e->shown;
        m->derived.count--;
    }
    drop(m, programs, pipelines);
    m->diag = was;
    return NULL;
}

// ---------------------------------------------------------------------------------------- together
static const vy_program *source_of(const vy_module *m, vy_ref source, vy_diag *diag)
{
    if (source.pipeline && source.index < m->pipelines.count)
        return m->pipelines.data[source.index]->signature;
    if (!source.pipeline && source.index < m->programs.count) return m->programs.data[source.index];
    vy_diag_set(diag, VY_E_API, 0, 0, "see vy_transform in autodiff/transform.h",
                "the module has no %s %u", source.pipeline ? "pipeline" : "program", source.index);
    return NULL;
}

static const vy_derived *by_rule(vy_module *m, struct vy_derived_entry *e, const vy_program *p,
                                 const vy_grad_options *o, vy_diag *diag)
{
    if (!vy_rule_derived(m, p, o, vy_transform, &e->shown, diag)) return NULL;
    return vy_vec_push(&m->derived, e) ? &e->shown : (no_memory(diag), NULL);
}

static vy_module *derive(vy_module *m, vy_ref source, const vy_program *p, const vy_grad_options *o,
                         vy_diag *diag)
{
    vy_grad_options alone = *o;
    alone.batches = 0;
    alone.plain_too = false; // which results that move into a module have no place for
    if (source.pipeline)
        return vy_derive_pipeline(m->pipelines.data[source.index], &alone, vy_transform, NULL,
                                  diag);
    if (o->forward) return vy_derive_forward(p, o, diag);
    if (vy_starts_meet(p, o)) return vy_derive_apart(p, o, vy_transform, diag);
    return vy_derive(p, o, NULL, diag);
}

// What the caller assumes, for requests to come: its texts need not live as long.
static bool keep_assumptions(vy_module *m, struct vy_derived_entry *e)
{
    const uint32_t count = e->how.assume_count;
    const char **kept = vy_arena_room(&m->arena, count, sizeof *kept);
    bool ok = kept != NULL;
    for (uint32_t k = 0; ok && k < count; k++)
        ok = (kept[k] = vy_arena_strdup(&m->arena, e->how.assume[k], strlen(e->how.assume[k])));
    e->how.assume = kept;
    return ok;
}

static const vy_derived *transform(vy_module *m, vy_ref source, const vy_grad_options *o,
                                   const vy_program *p, vy_diag *diag)
{
    const uint32_t count = parameters_of(p);
    struct vy_derived_entry *e = vy_arena_alloc(&m->arena, sizeof *e);
    uint8_t *requested = e ? vy_arena_alloc(&m->arena, 2 * (size_t)count) : NULL;
    if (!requested) return no_memory(diag), NULL;
    uint8_t *usual = requested + count; // of a request without names
    char name[RESULT_NAME];
    mark(p, o, requested);
    const vy_derived *found = find_derived(m, source, o, requested, count);
    if (found) return found;
    *e = (struct vy_derived_entry){.shown.source = source, .how = *o, .requested = requested};
    e->how.program = NULL;
    e->how.of = e->how.wrt = e->how.add = NULL;
    if (!keep_assumptions(m, e)) return no_memory(diag), NULL;
    if (!source.pipeline && vy_program_has_rule(p)) return by_rule(m, e, p, o, diag);
    vy_module *made = derive(m, source, p, o, diag);
    if (!made) return NULL;
    mark_defaults(p, REQUEST_OF | REQUEST_WRT, usual);
    result_name(p, requested, usual, o->forward, name);
    const vy_derived *d = move_in(m, e, made, name);
    vy_module_free(made);
    if (!d) no_memory(diag);
    return d;
}

const vy_derived *vy_transform(vy_module *m, vy_ref source, const vy_grad_options *request,
                               vy_diag *diag)
{
    vy_grad_options o;
    *diag = (vy_diag){0};
    if (!vy_module_ok(m)) {
        *diag = m->diag;
        return NULL;
    }
    if (!vy_take_options(&o, sizeof o, sizeof o, request, "vy_grad_options", diag)) return NULL;
    const vy_program *p = source_of(m, source, diag);
    return p ? transform(m, source, &o, p, diag) : NULL;
}

const vy_derived *vy_module_derived(const vy_module *m, uint32_t index)
{
    return index < m->derived.count ? &m->derived.data[index]->shown : NULL;
}
