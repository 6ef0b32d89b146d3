// SPDX-License-Identifier: MIT
// place.c: where in the source text something is declared.
#include "ir/check/check.h"

#include <string.h>

static bool word_char(char c)
{
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_';
}

uint32_t vy_check_column(const vy_module *m, uint32_t line, const char *name)
{
    vy_file_place p = vy_module_place(m, line);
    const char *at = p.source, *end = at ? at + p.size : NULL;
    if (!at || !line) return 0;
    while (--p.line) {
        at = memchr(at, '\n', (size_t)(end - at));
        if (!at) return 0;
        at++;
    }
    size_t n = strlen(name);
    const char *stop = memchr(at, '\n', (size_t)(end - at));
    if (!stop) stop = end;
    for (const char *s = at; s + n <= stop; s++)
        if (memcmp(s, name, n) == 0 && (s == at || !word_char(s[-1])) &&
            (s + n == stop || !word_char(s[n])))
            return (uint32_t)(s - at) + 1;
    return 1;
}
