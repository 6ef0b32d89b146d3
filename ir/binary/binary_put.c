// SPDX-License-Identifier: MIT
// binary_put.c: writes numbers and strings of the binary form.
#include "ir/binary/binary.h"

#include <string.h>

typedef vy_binary_writer writer;

void vy_binary_put_bytes(writer *w, const void *data, size_t n)
{
    // The count is 32 bits; a module beyond 4 GiB is refused as out of memory.
    if (w->failed || n > UINT32_MAX / 2 || !vy_vec_reserve(&w->out, (uint32_t)n)) {
        w->failed = true;
        return;
    }
    if (n) memcpy(w->out.data + w->out.count, data, n);
    w->out.count += (uint32_t)n;
}

void vy_binary_put(writer *w, uint64_t v)
{
    uint8_t bytes[10];
    int n = 0;
    do {
        bytes[n] = (uint8_t)(v & 0x7F);
        v >>= 7;
        if (v) bytes[n] |= 0x80;
        n++;
    } while (v);
    vy_binary_put_bytes(w, bytes, (size_t)n);
}

void vy_binary_put_signed(writer *w, int64_t v)
{
    vy_binary_put(w, (uint64_t)v << 1 ^ (uint64_t)(v >> 63));
}

void vy_binary_put_string(writer *w, const char *s)
{
    size_t n = s ? strlen(s) : 0;
    vy_binary_put(w, n);
    vy_binary_put_bytes(w, s, n);
}
