// SPDX-License-Identifier: MIT
// train_programs.c: texts of shaders/optimisers/ as programs of the module.
//
// They are written for f32.  For another type the word f32 is replaced in the text before it is
// read, so that `adam` for f64 parameters is `adam` in f64 and there is one text to read and copy.
#include "autodiff/train/train_build.h"

#include "autodiff/optimiser_texts.h"

#include <ctype.h>
#include <stdio.h>
#include <string.h>

#define TEXTS (sizeof optimiser_texts / sizeof *optimiser_texts)

static const struct {
    const char *name;
    double rate; // where none is given
} optimisers[] = {{"sgd", 1e-3}, {"momentum", 1e-3}, {"adam", 1e-3}, {"lbfgs", 1}};

const char *vy_train_text(const char *name)
{
    for (size_t i = 0; i < TEXTS; i++)
        if (!strcmp(optimiser_texts[i].name, name)) return optimiser_texts[i].text;
    return NULL;
}

const char *vy_train_optimiser(uint32_t index)
{
    return index < sizeof optimisers / sizeof *optimisers ? optimisers[index].name : NULL;
}

double vy_train_rate(const char *name)
{
    for (uint32_t i = 0; name && vy_train_optimiser(i); i++)
        if (!strcmp(name, optimisers[i].name)) return optimisers[i].rate;
    return 1e-3;
}

// -------------------------------------------------------------------------------------------- text
static bool is_word(char c) { return isalnum((unsigned char)c) || c == '_'; }

// Every word f32 as `type`; NULL: memory.
static char *in_type(training *t, const char *text, const char *type)
{
    const size_t n = strlen(text), m = strlen(type);
    char *out = vy_arena_alloc(t->arena, n * 2 + 8), *to = out;
    for (size_t i = 0; out && i < n;) {
        const bool word = !strncmp(text + i, "f32", 3) && !is_word(text[i + 3]) &&
                          (i == 0 || !is_word(text[i - 1]));
        if (word)
            memcpy(to, type, m), to += m, i += 3;
        else
            *to++ = text[i++];
    }
    return out;
}

// A name that no program or pipeline has; NULL: memory.
static const char *free_name(training *t, const char *name)
{
    char text[300];
    int n = snprintf(text, sizeof text, "%.270s", name);
    for (uint32_t k = 2; vy_module_find(t->m, text) || vy_module_find_pipeline(t->m, text); k++)
        n = snprintf(text, sizeof text, "%.270s_%u", name, k);
    return vy_arena_strdup(t->arena, text, (size_t)n);
}

// Adds a copy of `p` to the module.
static const vy_program *add_copy(training *t, const vy_program *p, const char *name)
{
    const char *kept = free_name(t, name);
    vy_program *copy = kept ? vy_program_clone(p, t->m) : NULL;
    if (copy) copy->name = kept;
    if (copy && vy_vec_push(&t->m->programs, copy)) return copy;
    vy_program_free(copy);
    train_no_memory(t);
    return NULL;
}

static const char *const phases[TRAIN_PHASES] = {"propose", "judge", "accept"};

// An optimiser that searches is three pipelines, with all that they dispatch.
static bool is_search(const vy_module *m) { return vy_module_find_pipeline(m, phases[0]) != NULL; }

static bool take_phase(training *t, const vy_module *m, uint32_t k, const uint32_t *programs)
{
    const vy_pipeline *from = vy_module_find_pipeline(m, phases[k]);
    if (!from)
        return train_fail(t, VY_E_GRAD_PROGRAM, 0, "write one as in shaders/optimisers/README.md",
                          "the optimiser has no pipeline `%s`", phases[k]);
    vy_pipeline *copy = vy_pipeline_clone(from, t->m, programs);
    const char *name = copy ? free_name(t, phases[k]) : NULL;
    if (name) copy->name = copy->signature->name = name;
    t->phases[k] = copy;
    if (name && vy_vec_push(&t->m->pipelines, copy)) return true;
    vy_pipeline_free(copy);
    return train_no_memory(t);
}

static bool take_search(training *t, const vy_module *m)
{
    uint32_t *programs = train_room(t, m->programs.count, sizeof *programs);
    if (!programs) return train_no_memory(t);
    for (uint32_t i = 0; i < m->programs.count; i++) {
        programs[i] = t->m->programs.count;
        if (!add_copy(t, m->programs.data[i], m->programs.data[i]->name)) return false;
    }
    for (uint32_t k = 0; k < TRAIN_PHASES; k++)
        if (!take_phase(t, m, k, programs)) return false;
    t->searches = true;
    return train_search_check(t);
}

// Its place is in another text than that of the program, so the message says it.
static void text_error(training *t, const vy_diag *d)
{
    *t->diag = *d;
    t->diag->line = t->diag->column = 0;
    snprintf(t->diag->text, sizeof t->diag->text, "line %u of the optimiser: %.360s", d->line,
             d->text);
}

// The module of a text; NULL: *t->diag.
static vy_module *parse(training *t, const char *text, const char *type)
{
    const char *own = in_type(t, text, type);
    vy_module *m = own ? vy_parse(own, strlen(own), "the optimiser") : NULL;
    if (m && vy_module_ok(m)) return m;
    if (m)
        text_error(t, vy_module_diag(m));
    else
        train_no_memory(t);
    vy_module_free(m);
    return NULL;
}

// Reads a text; adds its program `name` (NULL: the last) as `as`.
static const vy_program *read(training *t, const char *text, const char *type, const char *name,
                              const char *as)
{
    vy_module *m = parse(t, text, type);
    const vy_program *p = NULL, *made = NULL;
    if (!m) return NULL;
    if (name)
        p = vy_module_find(m, name);
    else if (m->programs.count)
        p = m->programs.data[m->programs.count - 1];
    if (!p)
        train_fail(t, VY_E_GRAD_PROGRAM, 0, "write one as in shaders/optimisers/README.md",
                   "the optimiser's text has no program");
    else
        made = add_copy(t, p, as ? as : p->name);
    vy_module_free(m);
    return made;
}

// --------------------------------------------------------------------------------------- optimiser
static bool is_number(const vy_program *p, const vy_buf *b, vy_type type)
{
    const vy_dim_node *d = &p->dims.data[b->dims[0].id];
    return b->cls == VY_IN && b->rank == 1 && b->type == type && d->op == VY_DIM_CONST &&
           d->value == 1;
}

bool train_is_state(const vy_program *optimiser, uint32_t buffer)
{
    return buffer > 2 && optimiser->buffers.data[buffer].cls == VY_INOUT;
}

static bool bad_optimiser(training *t, const char *name)
{
    return train_fail(
        t, VY_E_GRAD_PROGRAM, 0,
        "its buffers are: w: inout f32[n], gradient: in f32[n], states: inout f32[n], then "
        "rate: in f32[1] and step: in u32[1] where it needs them",
        "`%s` of the optimiser is not what optimisers take", name);
}

// Its buffers by place: parameter, gradient, states, rate, step; its one scalar is their length.
static bool check_optimiser(training *t)
{
    const vy_program *p = t->optimiser;
    uint32_t bound = 0;
    for (uint32_t i = 1; i < p->buffers.count; i++) {
        const vy_buf *b = &p->buffers.data[i];
        if (!vy_is_global(b->cls)) continue;
        const bool all = b->rank == 1 && b->type == t->type && !b->workspace &&
                         vy_program_dim_scalar(p, b->dims[0]) == 0;
        const bool one = i > 2 && (is_number(p, b, t->type) || is_number(p, b, VY_U32));
        const bool good = i == 2 ? all && b->cls == VY_IN : (all && b->cls == VY_INOUT) || one;
        if (!good) return bad_optimiser(t, b->name);
        t->states_each += train_is_state(p, i);
        bound++;
    }
    if (bound < 2) return bad_optimiser(t, "the parameters");
    return p->scalars.count == 1 || bad_optimiser(t, "the scalars");
}

static bool unknown_optimiser(training *t, const char *name)
{
    return train_fail(t, VY_E_GRAD_PROGRAM, 0,
                      "optimisers are sgd, momentum, adam, lbfgs, or your own text",
                      "there is no optimiser `%s`", name);
}

// A program for each parameter, or pipelines for all.
static bool read_optimiser(training *t, const char *text, const char *type)
{
    vy_module *m = parse(t, text, type);
    const bool search = m && is_search(m), ok = search && take_search(t, m);
    vy_module_free(m);
    if (!m || search) return ok;
    t->optimiser = read(t, text, type, NULL, NULL);
    return t->optimiser && check_optimiser(t);
}

static bool is_optimiser(const char *name)
{
    for (uint32_t i = 0; vy_train_optimiser(i); i++)
        if (!strcmp(vy_train_optimiser(i), name)) return true;
    return false;
}

const vy_program *train_take_rows(training *t, vy_type type)
{
    char name[40];
    snprintf(name, sizeof name, "take_rows_%s", vy_type_name(type));
    for (uint32_t i = 0; i < t->m->programs.count; i++) {
        const vy_program *p = t->m->programs.data[i];
        if (!strncmp(p->name, name, strlen(name)) && p->buffers.count == 4 &&
            p->buffers.data[1].type == type)
            return p;
    }
    return read(t, vy_train_text("rows"), vy_type_name(type), NULL, name);
}

bool train_add_programs(training *t)
{
    static const char *const rates[] = {"rate_constant", "rate_cosine", "rate_step"};
    const char *name = t->o->optimiser ? t->o->optimiser : "adam", *type = vy_type_name(t->type);
    const char *own = t->o->optimiser_text, *training = vy_train_text("training");
    if (!own && !is_optimiser(name)) return unknown_optimiser(t, name);
    if (!read_optimiser(t, own ? own : vy_train_text(name), type)) return false;
    t->rate = read(t, training, type, rates[t->o->schedule], rates[t->o->schedule]);
    const bool settles = t->o->tolerance > 0;
    const char *next = settles ? "next_step_unless" : "next_step";
    t->next = t->rate ? read(t, training, type, next, next) : NULL;
    if (t->next && settles) t->settle = read(t, training, type, "settle", "settle");
    if (!t->next || (settles && !t->settle)) return false;
    if (t->searches) {
        t->pack = read(t, training, type, "pack", "pack");
        t->unpack = t->pack ? read(t, training, type, "unpack", "unpack") : NULL;
        return t->unpack != NULL;
    }
    if (!t->o->batch_count) return true;
    t->choose = read(t, training, type, "choose_rows", "choose_rows");
    return t->choose != NULL;
}
