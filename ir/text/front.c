// SPDX-License-Identifier: MIT
// front.c: shared by all phases of the front end: memory, the first error, names.
//
// Names are interned: all phases after the lexer compare pointers.
#include "ir/text/lower.h"

#include <stdio.h>
#include <string.h>

// ------------------------------------------------------------------------------ memory and errors
void *vy_front_alloc(vy_front *f, size_t size)
{
    void *p = NULL;
    if (!f->failed || size > sizeof f->dummy) p = vy_arena_alloc(&f->arena, size);
    if (p) return p;
    if (!f->failed) vy_fail_oom(f->m);
    f->failed = true;
    f->tok.kind = TK_END;
    return memset(f->dummy, 0, sizeof f->dummy);
}

const char *vy_front_joined(vy_front *f, const char *name, const char *separator, const char *part)
{
    const size_t n = strlen(name) + strlen(separator) + strlen(part) + 1;
    char *text = vy_front_alloc(f, n);
    if (f->failed) return name;
    snprintf(text, n, "%s%s%s", name, separator, part);
    return text;
}

void vy_front_error(vy_front *f, vy_code code, uint32_t line, uint32_t column, const char *fix,
                    const char *format, ...)
{
    va_list args;
    va_start(args, format);
    vy_diag_set_args(&f->m->diag, code, line, column, fix, format, args);
    va_end(args);
    f->failed = true;
    f->tok.kind = TK_END;
}

void vy_front_free(vy_front *f)
{
    vy_room_free(f);
    vy_vec_free(&f->made);
    vy_arena_free(&f->arena);
}

// ------------------------------------------------------------------------------------------ names
static bool names_grow(vy_front *f)
{
    uint32_t size = f->bucket_count ? f->bucket_count * 4 : 64;
    vy_name_rec **fresh = vy_arena_alloc(&f->arena, size * sizeof *fresh);
    if (!fresh) return false;
    for (uint32_t i = 0; i < f->bucket_count; i++) {
        for (vy_name_rec *n = f->buckets[i], *next; n; n = next) {
            next = n->chain;
            n->chain = fresh[n->hash & (size - 1)];
            fresh[n->hash & (size - 1)] = n;
        }
    }
    f->buckets = fresh;
    f->bucket_count = size;
    return true;
}

vy_name_rec *vy_front_name(vy_front *f, const char *s, uint32_t n)
{
    uint32_t hash = 2166136261u;
    for (uint32_t i = 0; i < n; i++) hash = (hash ^ (unsigned char)s[i]) * 16777619u;
    if (f->name_count >= f->bucket_count && !f->failed && !names_grow(f)) {
        vy_fail_oom(f->m);
        f->failed = true;
    }
    if (f->failed) return vy_front_alloc(f, sizeof(vy_name_rec));
    vy_name_rec **bucket = &f->buckets[hash & (f->bucket_count - 1)];
    for (vy_name_rec *r = *bucket; r; r = r->chain)
        if (r->hash == hash && r->length == n && memcmp(r->text, s, n) == 0) return r;
    vy_name_rec *r = vy_front_alloc(f, sizeof *r + n + 1);
    if (f->failed) return r;
    char *text = memcpy((char *)(r + 1), s, n);
    *r = (vy_name_rec){.text = text, .length = n, .hash = hash, .chain = *bucket, .builtin = -2};
    *bucket = r;
    f->name_count++;
    return r;
}
