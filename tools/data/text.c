// SPDX-License-Identifier: MIT
// text.c: failing, growing text, lists of names.
#include "tools/data/tool.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

static const struct {
    const char *code;
    vy_blame blame;
    const char *fix;
} codes[] = {
#define X(id, code, blame, fix) {code, VY_BLAME_##blame, fix},
#include "tools/data/codes.h"
#undef X
};

bool fail(vy_diag *d, tool_code code, const char *fix, const char *format, ...)
{
    va_list args;
    va_start(args, format);
    vys_fail_as(d, codes[code].code, codes[code].blame, fix && *fix ? fix : codes[code].fix, format,
                args);
    va_end(args);
    return false;
}

bool fail_memory(vy_diag *d) { return fail(d, TOOL_MEMORY, NULL, "out of memory"); }

// ----------------------------------------------------------------------------------- growing text
static bool text_reserve(text *t, size_t extra)
{
    if (t->failed) return false;
    if (extra < t->capacity - t->size) return true; // one byte stays for the terminator
    size_t capacity = t->capacity ? t->capacity : 256;
    while (capacity - t->size <= extra) {
        if (capacity > SIZE_MAX / 2) return t->failed = true, false;
        capacity *= 2;
    }
    char *data = realloc(t->data, capacity);
    if (!data) return t->failed = true, false;
    t->data = data;
    t->capacity = capacity;
    return true;
}

void text_add(text *t, const void *data, size_t size)
{
    if (!text_reserve(t, size)) return;
    if (size) memcpy(t->data + t->size, data, size);
    t->size += size;
    t->data[t->size] = 0;
}

void text_puts(text *t, const char *s) { text_add(t, s, strlen(s)); }

void text_printf(text *t, const char *format, ...)
{
    va_list args, again;
    va_start(args, format);
    va_copy(again, args);
    int n = vsnprintf(NULL, 0, format, args);
    va_end(args);
    if (n < 0)
        t->failed = true;
    else if (text_reserve(t, (size_t)n)) {
        vsnprintf(t->data + t->size, (size_t)n + 1, format, again);
        t->size += (size_t)n;
    }
    va_end(again);
}

void text_free(text *t)
{
    free(t->data);
    *t = (text){0};
}

void text_join(text *t, const char *const *items, uint32_t count)
{
    for (uint32_t i = 0; i < count; i++) {
        if (i) text_puts(t, ", ");
        text_puts(t, items[i]);
    }
}

// ------------------------------------------------------------------------------------------ names
bool names_add(names *n, const char *name)
{
    if (n->count == n->capacity) {
        uint32_t capacity = n->capacity ? n->capacity * 2 : 8;
        const char **data = realloc(n->data, capacity * sizeof *data);
        if (!data) return false;
        n->data = data;
        n->capacity = capacity;
    }
    n->data[n->count++] = name;
    return true;
}

bool names_have(const names *n, const char *name)
{
    for (uint32_t i = 0; i < n->count; i++)
        if (!strcmp(n->data[i], name)) return true;
    return false;
}

void names_free(names *n)
{
    free(n->data);
    *n = (names){0};
}

double now_ms(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec * 1e3 + (double)t.tv_nsec * 1e-6;
}

double cpu_ms(void)
{
    struct timespec t = {0};
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
    return (double)t.tv_sec * 1e3 + (double)t.tv_nsec * 1e-6;
}
