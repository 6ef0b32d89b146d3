// SPDX-License-Identifier: MIT
// binary_get.c: reads numbers and strings of the binary form, trusting nothing.
//
// Every count is bounded by the bytes that are left, every number by the field it is stored in.
#include "ir/binary/binary.h"

#include <string.h>

typedef vy_binary_reader reader;

uint64_t vy_binary_bad(reader *r, const char *what)
{
    if (!r->wrong) r->wrong = what;
    return 0;
}

uint64_t vy_binary_get(reader *r)
{
    uint64_t v = 0;
    for (int shift = 0; shift < 64; shift += 7) {
        if (r->at == r->end) return vy_binary_bad(r, "it ends too early");
        uint8_t byte = *r->at++;
        if (shift == 63 && byte > 1) break;
        v |= (uint64_t)(byte & 0x7F) << shift;
        if (!(byte & 0x80)) return byte == 0 && shift ? vy_binary_bad(r, "a number is padded") : v;
    }
    return vy_binary_bad(r, "a number is too large");
}

uint64_t vy_binary_get_max(reader *r, uint64_t max)
{
    uint64_t v = vy_binary_get(r);
    return v <= max ? v : vy_binary_bad(r, "a number is out of range");
}

uint32_t vy_binary_get_u32(reader *r) { return (uint32_t)vy_binary_get_max(r, UINT32_MAX); }

int64_t vy_binary_get_signed(reader *r)
{
    uint64_t v = vy_binary_get(r);
    return (int64_t)(v >> 1 ^ (0 - (v & 1)));
}

uint32_t vy_binary_get_count(reader *r, uint32_t least)
{
    uint64_t left = (uint64_t)(r->end - r->at), n = vy_binary_get(r);
    if (n > left / least || n > VY_MAX_INSTRUCTIONS)
        return (uint32_t)vy_binary_bad(r, "a count is too large");
    return (uint32_t)n;
}

const char *vy_binary_get_bytes(reader *r, uint32_t *n)
{
    *n = vy_binary_get_count(r, 1);
    if (!vy_binary_ok(r) || *n > (size_t)(r->end - r->at)) {
        vy_binary_bad(r, "it ends too early");
        *n = 0;
        return "";
    }
    const uint8_t *s = r->at;
    r->at += *n;
    if (memchr(s, 0, *n)) vy_binary_bad(r, "a string holds a zero byte");
    return (const char *)s;
}

const char *vy_binary_get_string(reader *r)
{
    uint32_t n;
    const char *s = vy_binary_get_bytes(r, &n);
    char *copy = vy_arena_strdup(&r->m->arena, s, n);
    if (!copy) r->no_memory = true;
    return copy;
}

const char *vy_binary_get_name(reader *r)
{
    const char *name = vy_binary_get_string(r);
    if (name && !vy_name_printable(name)) vy_binary_bad(r, "a name cannot be written as text");
    return name;
}

void vy_binary_keep(reader *r, bool pushed)
{
    if (!pushed) r->no_memory = true;
}
