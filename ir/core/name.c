// SPDX-License-Identifier: MIT
// name.c: which names a text can hold.
//
// Whatever the C API and the binary form accept must print and read back.  A name that is no
// identifier of the language is written in back quotes, so only names that are empty or contain a
// back quote, a control character or malformed UTF-8 are impossible.
#include "ir/core/ir.h"

#include <string.h>

size_t vy_utf8_length(const char *s, const char *end, uint32_t *code)
{
    const unsigned char *u = (const unsigned char *)s;
    static const uint32_t least[5] = {0, 0, 0x80, 0x800, 0x10000};
    size_t n = u[0] < 0x80 ? 1 : u[0] >> 5 == 6 ? 2 : u[0] >> 4 == 14 ? 3 : u[0] >> 3 == 30 ? 4 : 0;
    if (n == 0 || (size_t)(end - s) < n) return 0;
    *code = n == 1 ? u[0] : u[0] & (0x7Fu >> n);
    for (size_t i = 1; i < n; i++) {
        if ((u[i] & 0xC0) != 0x80) return 0;
        *code = *code << 6 | (u[i] & 0x3F);
    }
    bool surrogate = *code >= 0xD800 && *code < 0xE000;
    return *code < least[n] || *code > 0x10FFFF || surrogate ? 0 : n;
}

bool vy_name_printable(const char *name)
{
    if (!*name) return false;
    while (*name >= 32 && *name < 127 && *name != '`') name++; // of almost all names the whole
    const char *end = name + strlen(name);
    uint32_t code;
    while (name < end) {
        size_t n = vy_utf8_length(name, end, &code);
        if (n == 0 || code < 32 || code == 127 || code == '`') return false;
        name += n;
    }
    return true;
}
