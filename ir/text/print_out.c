// SPDX-License-Identifier: MIT
// print_out.c: appends characters, numbers and names to the text.
#include "ir/text/print.h"

#include "ir/text/front.h"

#include <string.h>

void print_bytes(printer *o, const char *text, size_t n)
{
    if (o->failed) return;
    if (!vy_vec_reserve(&o->out, n)) {
        o->failed = true;
        return;
    }
    memcpy(o->out.data + o->out.count, text, n);
    o->out.count += (uint32_t)n;
}

void print_str(printer *o, const char *text) { print_bytes(o, text, strlen(text)); }

void print_u64(printer *o, uint64_t value)
{
    char text[24];
    char *s = text + sizeof text;
    do *--s = (char)('0' + value % 10);
    while (value /= 10);
    print_bytes(o, s, (size_t)(text + sizeof text - s));
}

void print_indent(printer *o)
{
    static const char spaces[] = "                                                                ";
    uint32_t depth = o->frames.count + 1;
    for (uint32_t i = 0; i < o->frames.count; i++) depth -= o->frames.data[i].chains;
    for (; depth > 16; depth -= 16) print_bytes(o, spaces, 64);
    print_bytes(o, spaces, depth * 4);
}

void print_identifier(printer *o, const char *name)
{
    size_t n = strlen(name);
    bool plain = n && !(name[0] >= '0' && name[0] <= '9') && !vy_keyword_is(name, n);
    for (size_t i = 0; plain && i < n; i++) {
        char c = name[i];
        plain =
            (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_';
    }
    if (!plain) print_str(o, "`");
    print_bytes(o, name, n);
    if (!plain) print_str(o, "`");
}
