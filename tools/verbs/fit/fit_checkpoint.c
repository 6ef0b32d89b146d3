// SPDX-License-Identifier: MIT
// fit_checkpoint.c: everything a training needs to go on, in one file.
//
//   "vyre-fit 2\n", identity, step, number of parts, of each: length and text of its name and of
//   its value (fit_identity.c); number of buffers, of each: length of its name, name, type, rank,
//   shape, elements; at the end a hash of all this.  Numbers: 64 bits, little endian.  In
//   "vyre-fit 1\n" there are no parts.
//
// The identity is a hash of the training pipeline's text (program, optimiser, learning rates, seed)
// and of the scalars: a file of another training is refused.
#include "tools/verbs/fit/fit.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static const char magic[] = "vyre-fit 2\n", first_magic[] = "vyre-fit 1\n";
enum { MAGIC = sizeof magic - 1 };

// ----------------------------------------------------------------------------------------- writing
static void put(text *t, uint64_t v) { text_add(t, &v, sizeof v); }

static void put_word(text *t, const char *word)
{
    put(t, strlen(word));
    text_puts(t, word);
}

static void put_parts(text *t, const parts *p)
{
    put(t, p->count);
    for (uint32_t i = 0; i < p->count; i++) {
        put_word(t, p->data[i].name);
        put_word(t, p->data[i].value);
    }
}

static void put_buffer(text *t, const bound_buffer *b)
{
    const array *a = &b->value;
    put_word(t, b->info.name);
    put(t, a->type);
    put(t, a->rank);
    for (uint32_t k = 0; k < a->rank; k++) put(t, a->shape[k]);
    text_add(t, a->data, (size_t)(a->count * vy_type_size(a->type)));
}

static void put_all(const fit *f, const parts *p, text *t)
{
    uint64_t count = 0;
    for (uint32_t i = 0; i < f->data.buffer_count; i++)
        count += fit_is_kept(f, &f->data.buffers[i]);
    text_puts(t, magic);
    put(t, f->identity);
    put(t, f->done);
    put_parts(t, p);
    put(t, count);
    for (uint32_t i = 0; i < f->data.buffer_count; i++)
        if (fit_is_kept(f, &f->data.buffers[i])) put_buffer(t, &f->data.buffers[i]);
    if (!t->failed) put(t, fit_hash(0, t->data, t->size));
}

// A path that does not exist: NAME-STEP.fit, NAME-STEP-2.fit, …
static void new_path(const fit *f, char path[320])
{
    snprintf(path, 320, "%.250s-%" PRIu64 ".fit", f->train.program, f->done);
    for (unsigned k = 2; !access(path, F_OK); k++)
        snprintf(path, 320, "%.250s-%" PRIu64 "-%u.fit", f->train.program, f->done, k);
}

bool fit_check_save(const fit *f, vy_diag *d)
{
    char path[320];
    const outputs none = {0};
    new_path(f, path);
    return output_check(&none, path, d);
}

bool fit_save(const fit *f, const command *c, vy_diag *d)
{
    char path[320];
    text t = {0};
    parts p = {0};
    outputs now = {0};
    new_path(f, path);
    bool ok = fit_parts(f, c, &p, d);
    if (ok) put_all(f, &p, &t);
    ok = ok && (!t.failed || fail_memory(d)) && output_add(&now, path, t.data, t.size, d) &&
         output_commit(&now, d);
    output_discard(&now);
    parts_free(&p);
    text_free(&t);
    if (ok) note(c, "step %" PRIu64 " is kept: go on with --resume %s", f->done, path);
    return ok;
}

// ----------------------------------------------------------------------------------------- reading
typedef struct reader {
    const char *at, *end;
    bool ok;
} reader;

static const void *take_bytes(reader *r, uint64_t size)
{
    const char *at = r->at;
    r->ok = r->ok && size <= (uint64_t)(r->end - r->at);
    if (r->ok) r->at += size;
    return r->ok ? at : NULL;
}

static uint64_t get(reader *r)
{
    uint64_t v = 0;
    const void *at = take_bytes(r, sizeof v);
    if (at) memcpy(&v, at, sizeof v);
    return v;
}

static const char *get_word(reader *r, uint64_t *n)
{
    *n = get(r);
    return take_bytes(r, *n);
}

static bool get_parts(reader *r, parts *p, vy_diag *d)
{
    uint64_t n, m;
    for (uint64_t count = get(r); r->ok && count; count--) {
        const char *name = get_word(r, &n), *value = get_word(r, &m);
        if (r->ok && !parts_add(p, name, n, value, m)) return fail_memory(d);
    }
    return true;
}

static bool get_buffer(reader *r, saved_buffer *b, vy_diag *d)
{
    uint64_t n;
    const char *name = get_word(r, &n);
    array *a = &b->value;
    a->type = (vy_type)get(r);
    a->rank = (uint32_t)get(r);
    r->ok = r->ok && n < 10000 && a->type < VY_TYPE_COUNT && a->type && a->rank <= VYS_MAX_RANK;
    for (uint32_t k = 0; r->ok && k < a->rank; k++) a->shape[k] = get(r);
    if (!r->ok) return true;
    b->name = strndup(name, n);
    if (!b->name) return fail_memory(d);
    uint64_t bytes = vy_type_size(a->type);
    for (uint32_t k = 0; k < a->rank; k++)
        r->ok &= !__builtin_mul_overflow(bytes, a->shape[k], &bytes);
    const void *data = take_bytes(r, bytes);
    if (!data) return true;
    if (!vys_array_alloc(a, b->name, a->type, d)) return false;
    if (bytes) memcpy(a->data, data, bytes);
    return true;
}

static bool read_all(saved *s, reader *r, bool parts, vy_diag *d)
{
    s->identity = get(r);
    s->step = get(r);
    if (parts && !get_parts(r, &s->parts, d)) return false;
    const uint64_t count = get(r);
    r->ok = r->ok && count <= (uint64_t)(r->end - r->at);
    s->buffers = r->ok ? calloc(count + 1, sizeof *s->buffers) : NULL;
    if (!s->buffers) return !r->ok || fail_memory(d);
    for (; r->ok && s->count < count; s->count++)
        if (!get_buffer(r, &s->buffers[s->count], d)) return false;
    r->ok = r->ok && r->at == r->end;
    return true;
}

bool fit_load(saved *s, const char *path, vy_diag *d)
{
    text t = {0};
    uint64_t sum = 0;
    bool ok = file_read(path, DATA_LIMIT, &t, d);
    const bool long_enough = ok && t.size >= MAGIC + sizeof sum;
    if (long_enough) memcpy(&sum, t.data + t.size - sizeof sum, sizeof sum);
    reader r = {t.data, t.data, false};
    const bool parts = long_enough && !memcmp(t.data, magic, MAGIC);
    if ((parts || (long_enough && !memcmp(t.data, first_magic, MAGIC))) &&
        sum == fit_hash(0, t.data, t.size - sizeof sum))
        r = (reader){t.data + MAGIC, t.data + t.size - sizeof sum, true};
    ok = ok && read_all(s, &r, parts, d);
    if (ok && !r.ok)
        ok = fail(d, TOOL_RESUME, NULL, "%.200s is no checkpoint of `fit`, or damaged", path);
    text_free(&t);
    return ok;
}

static bool other_shape(const char *path, const saved_buffer *from, const bound_buffer *to,
                        vy_diag *d)
{
    text here = {0}, there = {0};
    shape_text(from->value.rank, from->value.shape, &there);
    if (to) shape_text(to->value.rank, to->value.shape, &here);
    if (!to)
        fail(d, TOOL_RESUME, NULL, "%.100s: `%.60s` is neither trained nor the optimiser's here",
             path, from->name);
    else if (!here.failed && !there.failed)
        fail(d, TOOL_RESUME, "give data of that shape, in that type",
             "%.100s: `%.60s` is %s[%s] there, %s[%s] here", path, from->name,
             vy_type_name(from->value.type), there.data ? there.data : "",
             vy_type_name(to->value.type), here.data ? here.data : "");
    text_free(&here);
    text_free(&there);
    return d->code ? false : fail_memory(d);
}

static bool same_shape(const array *a, const array *b)
{
    return a->type == b->type && a->rank == b->rank &&
           !memcmp(a->shape, b->shape, a->rank * sizeof *a->shape);
}

bool fit_take(fit *f, const command *c, vy_diag *d)
{
    if (f->resumed.identity != f->identity) return fit_differs(f, c, d);
    for (uint32_t i = 0; i < f->resumed.count; i++) {
        const saved_buffer *from = &f->resumed.buffers[i];
        bound_buffer *to = fit_buffer(f, from->name);
        if (to && !fit_is_kept(f, to)) to = NULL;
        if (!to || !same_shape(&to->value, &from->value))
            return other_shape(c->o.resume, from, to, d);
        if (from->value.count)
            memcpy(to->value.data, from->value.data,
                   (size_t)(from->value.count * vy_type_size(from->value.type)));
    }
    return true;
}

void saved_free(saved *s)
{
    for (uint32_t i = 0; s->buffers && i < s->count; i++) {
        free(s->buffers[i].name);
        vys_array_free(&s->buffers[i].value);
    }
    free(s->buffers);
    parts_free(&s->parts);
    *s = (saved){0};
}
