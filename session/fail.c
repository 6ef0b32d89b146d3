// SPDX-License-Identifier: MIT
// fail.c: see fail.h.
#include "session/fail.h"

#include "session/internal.h"

#include <stdio.h>
#include <string.h>
#include <time.h>

static const struct {
    const char *code;
    vy_blame blame;
    const char *fix;
} codes[] = {
#define X(id, code, blame, fix) {code, VY_BLAME_##blame, fix},
#include "session/codes.h"
#undef X
};

bool vys_fail_as(vy_diag *d, const char *code, vy_blame blame, const char *fix, const char *format,
                 va_list args)
{
    if (d->severity == VY_ERROR) return false; // the first error sticks
    *d = (vy_diag){.severity = VY_ERROR, .blame = blame, .code = code};
    vsnprintf(d->text, sizeof d->text, format, args);
    snprintf(d->fix, sizeof d->fix, "%s", fix);
    return false;
}

bool vys_fail(vy_diag *d, vys_code code, const char *fix, const char *format, ...)
{
    va_list args;
    va_start(args, format);
    vys_fail_as(d, codes[code].code, codes[code].blame, fix ? fix : codes[code].fix, format, args);
    va_end(args);
    return false;
}

bool vys_fail_memory(vy_diag *d) { return vys_fail(d, VYS_MEMORY, NULL, "out of memory"); }

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

const char *vys_nearest_name(const char *word, const char *const *candidates, uint32_t count)
{
    const char *best = NULL;
    unsigned least = (unsigned)(strlen(word) / 3 + 1); // one edit in three letters
    for (uint32_t i = 0; i < count; i++) {
        unsigned d = distance(word, candidates[i]);
        if (d <= least && (!best || d < least)) best = candidates[i], least = d;
    }
    return best;
}

// ------------------------------------------------------------------------------------------ words
const vys_words vys_plain_words = {
    .given = "its value",
    .scalar = {"give scalar ", " a value"},
    .data = {"give buffer ", " its contents; its name is ", ""},
    .length = {"give the shape of ", "", ""},
    .groups = "say how many workgroups there are",
    .no_groups = "leave the number of workgroups out",
    .select = {"name one of: ", "did you mean "},
    .tape = "raise the limit, or run fewer invocations or iterations",
};

void vys_append(char *line, size_t size, const char *format, ...)
{
    const size_t used = strlen(line);
    va_list args;
    va_start(args, format);
    vsnprintf(line + used, size - used, format, args);
    va_end(args);
}

void vys_append_shape(char *line, size_t size, uint32_t rank, const uint64_t *shape)
{
    vys_append(line, size, "[");
    for (uint32_t i = 0; i < rank; i++)
        vys_append(line, size, "%s%llu", i ? ", " : "", (unsigned long long)shape[i]);
    vys_append(line, size, "]");
}

double vys_now_ms(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec * 1e3 + (double)t.tv_nsec * 1e-6;
}
