// SPDX-License-Identifier: MIT
// fit_checkpoint.c: everything a training needs to go on, in one file.
//
//   "vyre-fit 1\n", identity, step, number of buffers, then of each: length of its name, name,
//   type, rank, shape, elements; at the end a hash of all this.  Numbers: 64 bits, little endian.
//
// The identity is a hash of the training pipeline's text (program, optimiser, learning rates, seed)
// and of the scalars: a file of another training is refused.
#include "tools/fit.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static const char magic[] = "vyre-fit 1\n";
enum { MAGIC = sizeof magic - 1 };

uint64_t fit_hash(uint64_t hash, const void *data, size_t size)
{
    const unsigned char *at = data;
    hash ^= 0xcbf29ce484222325u;
    for (size_t i = 0; i < size; i++) hash = (hash ^ at[i]) * 0x100000001b3u;
    return hash;
}

// ----------------------------------------------------------------------------------------- writing
static void put(text *t, uint64_t v) { text_add(t, &v, sizeof v); }

static void put_buffer(text *t, const bound_buffer *b)
{
    const array *a = &b->value;
    put(t, strlen(b->info.name));
    text_puts(t, b->info.name);
    put(t, a->type);
    put(t, a->rank);
    for (uint32_t k = 0; k < a->rank; k++) put(t, a->shape[k]);
    text_add(t, a->data, (size_t)(a->count * vy_type_size(a->type)));
}

static void put_all(const fit *f, text *t)
{
    uint64_t count = 0;
    for (uint32_t i = 0; i < f->data.buffer_count; i++)
        count += fit_is_kept(f, &f->data.buffers[i]);
    text_puts(t, magic);
    put(t, f->identity);
    put(t, f->done);
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

bool fit_save(const fit *f, const command *c, vy_diag *d)
{
    char path[320];
    text t = {0};
    outputs now = {0};
    new_path(f, path);
    put_all(f, &t);
    const bool ok = (!t.failed || fail_memory(d)) && output_add(&now, path, t.data, t.size, d) &&
                    output_commit(&now, d);
    output_discard(&now);
    text_free(&t);
    if (ok) note(c, "step %" PRIu64 " is kept: go on with --resume %s", f->done, path);
    return ok;
}

// ----------------------------------------------------------------------------------------- reading
typedef struct reader {
    const char *at, *end;
    bool ok;
} reader;

static const void *take(reader *r, uint64_t size)
{
    const char *at = r->at;
    r->ok = r->ok && size <= (uint64_t)(r->end - r->at);
    if (r->ok) r->at += size;
    return r->ok ? at : NULL;
}

static uint64_t get(reader *r)
{
    uint64_t v = 0;
    const void *at = take(r, sizeof v);
    if (at) memcpy(&v, at, sizeof v);
    return v;
}

static bool get_buffer(reader *r, saved_buffer *b, vy_diag *d)
{
    const uint64_t n = get(r);
    const char *name = take(r, n);
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
    const void *data = take(r, bytes);
    if (!data) return true;
    if (!vys_array_alloc(a, b->name, a->type, d)) return false;
    if (bytes) memcpy(a->data, data, bytes);
    return true;
}

static bool read_all(saved *s, reader *r, vy_diag *d)
{
    s->identity = get(r);
    s->step = get(r);
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
    if (long_enough && !memcmp(t.data, magic, MAGIC) &&
        sum == fit_hash(0, t.data, t.size - sizeof sum))
        r = (reader){t.data + MAGIC, t.data + t.size - sizeof sum, true};
    ok = ok && read_all(s, &r, d);
    if (ok && !r.ok)
        ok = fail(d, TOOL_RESUME, NULL, "%.200s is no checkpoint of `fit`, or damaged", path);
    text_free(&t);
    return ok;
}

bool fit_take(fit *f, const char *path, vy_diag *d)
{
    if (f->resumed.identity != f->identity)
        return fail(d, TOOL_RESUME, NULL,
                    "%.200s belongs to another training: program, scalars, optimiser, learning "
                    "rates or batches differ",
                    path);
    for (uint32_t i = 0; i < f->resumed.count; i++) {
        const saved_buffer *from = &f->resumed.buffers[i];
        bound_buffer *to = fit_buffer(f, from->name);
        const bool same = to && fit_is_kept(f, to) && to->value.type == from->value.type &&
                          to->value.rank == from->value.rank &&
                          !memcmp(to->value.shape, from->value.shape,
                                  from->value.rank * sizeof *from->value.shape);
        if (!same)
            return fail(d, TOOL_RESUME, NULL, "%.200s: `%.60s` has another type or shape here",
                        path, from->name);
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
    *s = (saved){0};
}
