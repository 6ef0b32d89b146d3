// SPDX-License-Identifier: MIT
// fit_identity.c: what makes one training another one, in words.
//
// A checkpoint belongs to the training whose identity is the hash of its text and scalars
// (fit_checkpoint.c).  A hash does not say what differs, so the file also names the parts that went
// into it: options as they take effect, a hash of the program's text, scalars.  They explain a
// refusal; they do not decide it.
#include "tools/verbs/fit/fit.h"

#include "tools/data/number.h"

#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const char TEXT[] = "the program's text";

void parts_free(parts *p)
{
    for (uint32_t i = 0; i < p->count; i++) free(p->data[i].name), free(p->data[i].value);
    free(p->data);
    *p = (parts){0};
}

bool parts_add(parts *p, const char *name, size_t n, const char *value, size_t m)
{
    part *more = realloc(p->data, (p->count + 1) * sizeof *more);
    if (!more) return false;
    p->data = more;
    p->data[p->count++] = (part){strndup(name, n), strndup(value, m)};
    return p->data[p->count - 1].name && p->data[p->count - 1].value;
}

__attribute__((format(printf, 3, 4))) static bool add(parts *p, const char *name,
                                                      const char *format, ...)
{
    char value[400];
    va_list args;
    va_start(args, format);
    vsnprintf(value, sizeof value, format, args);
    va_end(args);
    return parts_add(p, name, strlen(name), value, strlen(value));
}

static bool add_names(parts *p, const char *name, const names *list, const char *end)
{
    text all = {0};
    for (uint32_t i = 0; i < list->count; i++)
        text_printf(&all, "%s%s", i ? "," : "", list->data[i]);
    text_puts(&all, end);
    const bool ok = !all.failed && parts_add(p, name, strlen(name), all.data, all.size);
    text_free(&all);
    return ok;
}

static bool add_rate(parts *p, const vy_train_options *t)
{
    if (t->schedule == VY_RATE_COSINE)
        return add(p, "--lr", "cosine:%.9g:%.9g:%" PRIu32, t->lr, t->last, t->period);
    if (t->schedule == VY_RATE_STEP)
        return add(p, "--lr", "step:%.9g:%.9g:%" PRIu32, t->lr, t->factor, t->period);
    return add(p, "--lr", "%.9g", t->lr);
}

static bool add_batch(parts *p, const fit *f)
{
    char end[60] = "";
    if (f->batch.count)
        snprintf(end, sizeof end, ":%" PRIu64 ":%" PRIu32, f->batch_rows, f->train.seed);
    return add_names(p, "--batch", &f->batch, end);
}

static bool add_optimiser(parts *p, const fit *f, const command *c)
{
    const vy_train_options *t = &f->train;
    if (!t->optimiser_text)
        return add(p, "--optimizer", "%s", t->optimiser ? t->optimiser : "adam");
    const uint64_t hash = fit_hash(0, t->optimiser_text, strlen(t->optimiser_text));
    return add(p, "--optimizer", "%s (hash %016" PRIx64 ")", c->o.optimizer, hash);
}

// As one gives them.
static bool add_assumptions(parts *p, const names *list)
{
    text all = {0};
    for (uint32_t i = 0; i < list->count; i++)
        text_printf(&all, "%s\"%s\"", i ? " --assume " : "", list->data[i]);
    const bool ok = !all.failed && parts_add(p, "--assume", 8, all.size ? all.data : "", all.size);
    text_free(&all);
    return ok;
}

static bool add_derivation(parts *p, const options *o)
{
    static const char *const sums[] = {"auto", "atomic", "gather"};
    static const char *const kept[] = {"auto", "none", "sqrt"};
    return add(p, "--accumulate", "%s", sums[o->accumulate]) &&
           add(p, "--checkpoint", "%s", kept[o->checkpoint]) &&
           add(p, "--tape-limit", "%" PRIu64, o->tape_limit ? o->tape_limit : (uint64_t)1 << 30) &&
           add(p, "--deterministic", "%s", o->deterministic ? "yes" : "no") &&
           add_assumptions(p, &o->assume);
}

// Only with --deterministic do the parts decide what is computed.
static bool add_shard(parts *p, const fit *f, const options *o)
{
    return add(p, "--shard", "%s", o->shard ? o->shard : "") &&
           (!o->shard || !o->deterministic || add(p, "--parts", "%" PRIu32, f->ranks.parts));
}

static bool add_text(parts *p, const vy_module *m)
{
    size_t size = 0;
    char *printed = vy_print(m, &size);
    const bool ok = printed && add(p, TEXT, "hash %016" PRIx64, fit_hash(0, printed, size));
    free(printed);
    return ok;
}

static bool add_scalars(parts *p, const fit *f)
{
    bool ok = true;
    for (uint32_t i = 0; ok && i < f->data.scalar_count; i++) {
        char value[NUMBER_TEXT + 1];
        const bound_scalar *s = &fit_whole(f)->scalars[i];
        if (!s->known || !fit_is_size(f, s->info.name)) continue;
        value[number_text(s->info.type, s->value, value)] = 0;
        ok = add(p, s->info.name, "%s", value);
    }
    return ok;
}

bool fit_parts(const fit *f, const command *c, parts *p, vy_diag *d)
{
    const bool ok = add(p, "-p", "%s", f->train.program) && add(p, "--of", "%s", f->train.loss) &&
                    add_names(p, "--params", &c->o.params, "") && add_optimiser(p, f, c) &&
                    add_rate(p, &f->train) && add_batch(p, f) &&
                    add(p, "--tolerance", "%.9g", f->train.tolerance) && add_derivation(p, &c->o) &&
                    add_names(p, "-D", &c->o.define, "") && add_shard(p, f, &c->o) &&
                    add_text(p, c->module) && add_scalars(p, f);
    return ok || fail_memory(d);
}

// ----------------------------------------------------------------------------------- a difference
static const part *part_called(const parts *p, const char *name)
{
    for (uint32_t i = 0; i < p->count; i++)
        if (!strcmp(p->data[i].name, name)) return &p->data[i];
    return NULL;
}

static void say_fix(const part *there, char fix[300])
{
    const char *name = there->name, *value = there->value;
    if (!strcmp(name, TEXT))
        snprintf(fix, 300, "resume with the text that it was started with");
    else if (name[0] != '-')
        snprintf(fix, 300, "give data for which %.60s is %.60s", name, value);
    else if (!*value || !strcmp(value, "no"))
        snprintf(fix, 300, "leave %s out", name);
    else
        snprintf(fix, 300, "give %s %.200s", name, strcmp(value, "yes") ? value : "");
}

static void differences(const parts *here, const parts *there, text *what, char fix[300])
{
    for (uint32_t i = 0; i < there->count; i++) {
        const part *was = &there->data[i], *is = part_called(here, was->name);
        if (!is || !strcmp(is->value, was->value)) continue;
        text_printf(what, "%s %s is %.70s here, %.70s there", what->size ? ";" : ":", was->name,
                    *is->value ? is->value : "none", *was->value ? was->value : "none");
        if (!*fix) say_fix(was, fix);
    }
}

bool fit_is_other(const fit *f, const command *c, vy_diag *d)
{
    text what = {0};
    parts here = {0};
    vy_diag now = {0};
    char fix[300] = "";
    const bool ok = fit_parts(f, c, &here, d);
    if (ok) differences(&here, &f->resumed.parts, &what, fix);
    if (ok && !what.failed && what.size)
        fail(&now, TOOL_RESUME, fix, "%.100s belongs to another training%s", c->o.resume,
             what.data);
    if (now.code) *d = now;
    parts_free(&here);
    text_free(&what);
    return now.code != NULL;
}

bool fit_differs(const fit *f, const command *c, vy_diag *d)
{
    if (fit_is_other(f, c, d)) return false;
    return fail(d, TOOL_RESUME, NULL, "%.200s belongs to another training: %s", c->o.resume,
                f->resumed.parts.count
                    ? "another version of vyre-grad wrote it, or a scalar has another name"
                    : "program, scalars, optimiser, learning rates or batches differ");
}
