// SPDX-License-Identifier: MIT
// explain.c: explain.h.  Differentiates with an observer (notes.c), optimises forward program and
// result, counts both (ir/facts/count.c), and puts together what the two programs and the notes
// say.
#include "autodiff/explain/explain_build.h"

#include "autodiff/driver/observed.h"

#include <string.h>

// ------------------------------------------------------------------------------------------- names
static const char *pick(const char *const *names, size_t n, unsigned k)
{
    return k < n ? names[k] : "";
}
#define PICK(k, ...)                                                                               \
    pick((const char *const[]){__VA_ARGS__},                                                       \
         sizeof((const char *const[]){__VA_ARGS__}) / sizeof(char *), (unsigned)(k))

const char *vy_sum_kind_name(vy_sum_kind k)
{
    return PICK(k, "zero", "store", "add", "atomic", "gather", "both", "terms", "exact", "wide");
}
const char *vy_adjoint_kind_name(vy_adjoint_kind k)
{
    return PICK(k, "none", "gradient", "workspace", "array", "seed", "ones", "zero");
}
const char *vy_work_kind_name(vy_work_kind k)
{
    return PICK(k, "tape", "adjoint", "mask", "copy", "contents", "other");
}
const char *vy_kept_why_name(vy_kept_why k)
{
    return PICK(k, "carried", "overwritten", "once", "costly", "log");
}
const char *vy_access_kind_name(vy_access_kind k) { return PICK(k, "load", "store", "atomic"); }
const char *vy_had_how_name(vy_had_how h) { return PICK(h, "not stored", "closed form", "tape"); }

// -------------------------------------------------------------------------------- the two programs
// The program alone, in a module of its own, optimised.  NULL: *diag.
static vy_module *optimised_forward(const vy_program *p, const vy_opt_options *o, vy_diag *diag)
{
    vy_module *m = vy_module_new();
    vy_program *clone = m ? vy_program_clone(p, m) : NULL;
    if (clone && vy_vec_push(&m->programs, clone)) {
        if (vy_optimize(m, o)) return m;
        *diag = m->diag;
    } else {
        vy_program_free(clone);
        vy_diag_set(diag, VY_E_MEMORY, 0, 0, NULL, "out of memory");
    }
    vy_module_free(m);
    return NULL;
}

static const vy_program *source_program(const vy_module *m, const vy_grad_options *o)
{
    return o && o->program ? vy_module_find(m, o->program) : m->programs.data[0];
}

bool vy_explain_sizes(explaining *x, const vy_program *r, const vy_sizes *from, vy_sizes *to)
{
    const vy_program *f = x->forward;
    int64_t *scalars = vy_explain_array(x, r->scalars.count + 1, sizeof *scalars);
    bool *known = vy_explain_array(x, r->scalars.count + 1, sizeof *known);
    uint64_t *lengths = vy_explain_array(x, r->buffers.count + 1, sizeof *lengths);
    *to = *from;
    to->scalars = scalars;
    to->known = known;
    to->lengths = lengths;
    if (x->failed) return false;
    for (uint32_t i = 0; i < r->scalars.count && from->scalars && from->known; i++) {
        const uint32_t k = vy_program_find_scalar(f, r->scalars.data[i].name);
        if (k == UINT32_MAX) continue;
        scalars[i] = from->scalars[k];
        known[i] = from->known[k];
    }
    for (uint32_t i = 1; i < r->buffers.count; i++) {
        const vy_buf *b = &r->buffers.data[i];
        const uint32_t same = vy_program_find_buffer(f, b->role.of ? b->role.of : b->name).id;
        lengths[i] = from->lengths && same ? from->lengths[same] : UINT64_MAX;
    }
    return true;
}

// ---------------------------------------------------------------------------------------- together
static vy_cost cost_of(vy_count *c)
{
    enum { FLOPS = VY_COST_MATH + 1 };
    vy_cost out = {.conditional = c->conditional};
    for (uint32_t k = 0; k < VY_COST_COUNT; k++) {
        out.each[k] = vy_count_amount(c, c->each[k]);
        out.all[k] = vy_count_amount(c, c->all[k]);
    }
    out.each_flops = vy_count_amount(c, vy_poly_total(&c->space, c->each, FLOPS));
    out.all_flops = vy_count_amount(c, vy_poly_total(&c->space, c->all, FLOPS));
    out.invocations = vy_count_amount(c, c->invocations);
    return out;
}

static void put_together(explaining *x, const vy_module *derived)
{
    vy_explanation *e = x->e;
    const char **steps = vy_explain_array(x, derived->programs.count, sizeof *steps);
    for (uint32_t i = 0; steps && i < derived->programs.count; i++)
        steps[i] = vy_explain_text(x, derived->programs.data[i]->name);
    e->steps = steps;
    e->step_count = derived->programs.count;
    e->program = vy_explain_text(x, x->forward->name);
    vy_explain_index(x);
    if (x->failed) return;
    vy_explain_gradients(x);
    vy_explain_buffers(x);
    vy_explain_accesses(x);
    vy_explain_storage(x);
    vy_explain_loops(x);
    e->forward = cost_of(&x->memory->forward);
    e->gradient = cost_of(&x->memory->gradient);
    x->failed |= x->memory->forward.space.failed || x->memory->gradient.space.failed;
}

// A step of the result that runs in the program's own domain.
static bool is_copy(const explaining *x, const vy_program *p)
{
    const vy_program *f = x->forward;
    if (p->overs.count != f->overs.count) return false;
    for (uint32_t k = 0; k < f->overs.count; k++)
        if (strcmp(p->overs.data[k].name, f->overs.data[k].name) != 0) return false;
    return true;
}

// Is `p` the form for small buffers of a gather that has the usual form, too, which does the same,
// or that without it?
static bool is_other_form(const vy_gather_note *n, const vy_program *p)
{
    if (n->otherwise && strcmp(n->otherwise, p->name) == 0) return true;
    return n->tree && strcmp(n->tree, p->name) == 0 && strcmp(n->tree, n->program) != 0;
}

// Does it run for other scalars than those that are counted?
static bool is_elsewhere(const vy_gather_notes *notes, const vy_program *p)
{
    for (uint32_t k = 0; k < notes->elsewhere.count; k++)
        if (!strcmp(notes->elsewhere.data[k], p->name)) return true;
    return false;
}

// Is `p` what sums a gradient, or a part of that?
static bool sums_up(const vy_gather_note *n, const vy_program *p)
{
    return (n->program && strcmp(n->program, p->name) == 0) ||
           (n->partial && strcmp(n->partial, p->name) == 0);
}

// Is `p` a step without code of the program (sums over blocks), or the second of two that do the
// same?
static bool is_between(const explaining *x, const vy_program *p)
{
    if (is_elsewhere(&x->gathers, p)) return true;
    for (uint32_t k = 0; k < x->gathers.notes.count; k++) {
        const vy_gather_note *n = &x->gathers.notes.data[k];
        if (is_other_form(n, p)) return true;
        if (sums_up(n, p)) return false;
    }
    return !is_copy(x, p);
}

// The step that reverses: the last that does not only sum; the first, if all do.  Not one that runs
// for other scalars.
static const vy_program *reversing(const explaining *x)
{
    const vy_program *last = NULL, *first = NULL;
    for (uint32_t i = 0; i < x->derived->programs.count; i++) {
        const vy_program *p = x->derived->programs.data[i];
        bool sums = false;
        if (is_elsewhere(&x->gathers, p)) continue;
        for (uint32_t k = 0; k < x->gathers.notes.count && !sums; k++) {
            const vy_gather_note *n = &x->gathers.notes.data[k];
            sums = sums_up(n, p) || is_other_form(n, p);
        }
        if (!first) first = p;
        if (!sums) last = p;
    }
    return last ? last : first ? first : x->derived->programs.data[0];
}

static bool count_both(explaining *x, const vy_module *derived, const vy_sizes *sizes)
{
    static const vy_sizes unknown = {0};
    vy_count *g = &x->memory->gradient;
    vy_sizes mapped;
    if (!sizes) sizes = &unknown;
    if (!vy_count_make(&x->memory->forward, x->forward, sizes)) return false;
    // Steps of other domains have other invocations: what one of those does is that of `result`.
    for (uint32_t i = 0; i < derived->programs.count; i++) {
        const vy_program *p = derived->programs.data[i];
        if (p == x->result || is_between(x, p)) continue;
        if (!is_copy(x, p)) memset(g->each, 0, sizeof g->each);
        if (!vy_explain_sizes(x, p, sizes, &mapped) || !vy_count_add(g, p, &mapped)) return false;
        if (!is_copy(x, p)) memset(g->each, 0, sizeof g->each);
    }
    if (x->signature) {
        if (!vy_explain_sizes(x, x->signature, sizes, &mapped)) return false;
        x->signature_dims = vy_count_dims(g, x->signature, &mapped);
    }
    return vy_explain_sizes(x, x->result, sizes, &mapped) && vy_count_add(g, x->result, &mapped);
}

// ------------------------------------------------------------------------------------ ordered sums
// What became of the atomic additions to gradient g: its total is made of parts or of accumulators.
static void how_ordered(const vy_module *ordered, vy_explain_gradient *g)
{
    vy_sum_kind was = g->sum;
    const bool added = was == VY_SUM_ADD && g->type == VY_F16;
    if (was != VY_SUM_ATOMIC && was != VY_SUM_BOTH && !added) return;
    for (uint32_t i = 0; i < ordered->programs.count && g->sum == was; i++) {
        const vy_program *p = ordered->programs.data[i];
        uint32_t id = vy_program_find_buffer(p, g->name).id;
        if (!id || p->buffers.data[id].cls == VY_IN) continue;
        const vy_sum_kind kind = vy_explain_ordered_kind(p);
        if (kind != VY_SUM_ZERO) g->sum = kind;
    }
}

// The explanation is of the result before its sums were ordered; this is what ordering changed.
static void explain_order(explaining *x, const vy_module *ordered, const vy_sizes *sizes)
{
    vy_explanation *e = x->e;
    const char **steps = vy_explain_array(x, ordered->programs.count, sizeof *steps);
    if (!steps) return;
    for (uint32_t i = 0; i < ordered->programs.count; i++)
        steps[i] = vy_explain_text(x, ordered->programs.data[i]->name);
    e->steps = steps;
    e->step_count = ordered->programs.count;
    for (uint32_t i = 0; i < e->gradient_count; i++) // the list is ours
        how_ordered(ordered, (vy_explain_gradient *)&e->gradients[i]);
    const uint32_t n = ordered->pipelines.count;
    if (n) x->steps = ordered->pipelines.data[n - 1];
    const vy_program *signature = n ? x->steps->signature : NULL;
    static const vy_sizes unknown = {0};
    vy_sizes mapped;
    if (signature && vy_explain_sizes(x, signature, sizes ? sizes : &unknown, &mapped))
        vy_explain_ordered(x, signature, vy_count_dims(&x->memory->gradient, signature, &mapped));
    x->failed |= x->memory->gradient.space.failed;
}

// Are halves added up in memory?  Then as f32, which may be another result (wide.c).
static bool adds_halves(const vy_explanation *e)
{
    bool any = false;
    for (uint32_t i = 0; i < e->gradient_count; i++)
        any |= e->gradients[i].type == VY_F16 &&
               (e->gradients[i].sum == VY_SUM_ATOMIC || e->gradients[i].sum == VY_SUM_BOTH ||
                e->gradients[i].sum == VY_SUM_ADD);
    return any;
}

// The gradient, without an order of sums, with notes of how it was made; and the program itself.
// Both are optimised.
static vy_module *derive_observed(explaining *x, const vy_module *m, const vy_grad_options *options,
                                  const vy_opt_options *optimize, vy_module **forward,
                                  vy_diag *diag)
{
    vy_grad_options plain = options ? *options : (vy_grad_options){0};
    plain.deterministic = false;
    x->notes.arena = x->gathers.arena = &x->memory->arena;
    reverse_observer observer = {vy_notes_take, &x->notes, &x->gathers, .narrow = true};
    vy_module *derived = vy_grad_observed(m, &plain, &observer, diag);
    if (derived && !vy_optimize(derived, optimize)) *diag = derived->diag;
    if (derived && vy_module_ok(derived))
        *forward = optimised_forward(source_program(m, options), optimize, diag);
    return derived;
}

bool vy_explain_take(explain_options *to, const vy_grad_options *derivative,
                     const vy_opt_options *optimize, vy_diag *diag)
{
    *diag = (vy_diag){0};
    if (!vy_take_options(&to->own, sizeof to->own, sizeof to->own, derivative, "vy_grad_options",
                         diag) ||
        !vy_take_options(&to->own_optimize, sizeof to->own_optimize, sizeof to->own_optimize,
                         optimize, "vy_opt_options", diag))
        return false;
    to->derivative = derivative ? &to->own : NULL;
    to->optimize = optimize ? &to->own_optimize : NULL;
    return true;
}

vy_explanation *vy_explain(const vy_module *m, const vy_grad_options *options,
                           const vy_opt_options *optimize, const vy_sizes *sizes, vy_diag *diag)
{
    const uint64_t before = vy_memory_failures();
    explain_options taken;
    if (!vy_explain_take(&taken, options, optimize, diag)) return NULL;
    options = taken.derivative;
    optimize = taken.optimize;
    vy_explanation *e = vy_realloc(NULL, sizeof *e);
    explain_memory *memory = vy_realloc(NULL, sizeof *memory);
    if (e) *e = (vy_explanation){.memory = memory};
    if (memory) *memory = (explain_memory){0};
    explaining x = {.e = e, .memory = memory, .failed = !e || !memory};
    vy_module *derived = NULL, *forward = NULL, *ordered = NULL;
    if (options && options->deterministic && !(ordered = vy_grad(m, options, diag)))
        x.failed = diag->severity != VY_ERROR;
    if (!x.failed && diag->severity != VY_ERROR)
        derived = derive_observed(&x, m, options, optimize, &forward, diag);
    if (forward && !x.notes.failed) {
        x.forward = forward->programs.data[0];
        x.derived = derived;
        x.result = reversing(&x);
        if (derived->pipelines.count) {
            x.steps = derived->pipelines.data[0];
            x.signature = x.steps->signature;
        }
        if (count_both(&x, derived, sizes))
            put_together(&x, derived);
        else
            x.failed = true;
        if (!ordered && !x.failed && adds_halves(e)) ordered = vy_grad(m, options, diag);
        if (ordered && !x.failed) explain_order(&x, ordered, sizes);
    }
    x.failed |= x.notes.failed || vy_memory_failures() != before;
    vy_notes_free(&x.notes);
    vy_vec_free(&x.gathers.notes);
    vy_vec_free(&x.gathers.elsewhere);
    vy_module_free(ordered);
    vy_module_free(derived);
    vy_module_free(forward);
    if (forward && !x.failed) return e;
    if (diag->severity != VY_ERROR) vy_diag_set(diag, VY_E_MEMORY, 0, 0, NULL, "out of memory");
    if (!e) vy_free(memory);
    vy_explanation_free(e);
    return NULL;
}

void vy_explain_release(explain_memory *memory)
{
    if (!memory) return;
    vy_count_free(&memory->forward);
    vy_count_free(&memory->gradient);
    vy_arena_free(&memory->arena);
    vy_free(memory);
}

void vy_explanation_free(vy_explanation *e)
{
    if (!e) return;
    vy_explain_release(e->memory);
    vy_free(e);
}
