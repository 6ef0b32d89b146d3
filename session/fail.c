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
    vys_fail_as(d, codes[code].code, codes[code].blame, fix && *fix ? fix : codes[code].fix, format,
                args);
    va_end(args);
    return false;
}

bool vys_diag_is(const vy_diag *d, vys_code code)
{
    return d->code && strcmp(d->code, codes[code].code) == 0;
}

bool vys_fail_memory(vy_diag *d) { return vys_fail(d, VYS_MEMORY, NULL, "out of memory"); }

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
