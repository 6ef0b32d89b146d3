// SPDX-License-Identifier: MIT
// text.c: failing, growing text, lists of names, the nearest name.
#include "tools/tool.h"

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
#include "tools/codes.h"
#undef X
};

bool fail(vy_diag *d, tool_code code, const char *fix, const char *format, ...)
{
    if (d->severity == VY_ERROR) return false; // the first error sticks
    *d = (vy_diag){.severity = VY_ERROR, .blame = codes[code].blame, .code = codes[code].code};
    va_list args;
    va_start(args, format);
    vsnprintf(d->text, sizeof d->text, format, args);
    va_end(args);
    snprintf(d->fix, sizeof d->fix, "%s", fix ? fix : codes[code].fix);
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

// Edits (insert, delete, replace, swap neighbours) between two words; words are cut at 31.
static unsigned distance(const char *a, const char *b)
{
    enum { MAX = 31 };
    size_t n = strnlen(a, MAX), m = strnlen(b, MAX);
    unsigned row[3][MAX + 1];
    for (unsigned j = 0; j <= m; j++) row[0][j] = j;
    for (unsigned i = 1; i <= n; i++) {
        unsigned *now = row[i % 3], *last = row[(i + 2) % 3], *before = row[(i + 1) % 3];
        now[0] = i;
        for (unsigned j = 1; j <= m; j++) {
            unsigned best = last[j - 1] + (a[i - 1] != b[j - 1]);
            if (last[j] + 1 < best) best = last[j] + 1;
            if (now[j - 1] + 1 < best) best = now[j - 1] + 1;
            bool swapped = i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1];
            if (swapped && before[j - 2] + 1 < best) best = before[j - 2] + 1;
            now[j] = best;
        }
    }
    return row[n % 3][m];
}

const char *nearest_name(const char *word, const char *const *candidates, uint32_t count)
{
    const char *best = NULL;
    unsigned least = (unsigned)(strlen(word) / 3 + 1); // one edit in three letters
    for (uint32_t i = 0; i < count; i++) {
        unsigned d = distance(word, candidates[i]);
        if (d <= least && (!best || d < least)) best = candidates[i], least = d;
    }
    return best;
}

double now_ms(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec * 1e3 + (double)t.tv_nsec * 1e-6;
}
