// SPDX-License-Identifier: MIT
// binary_header.c: what identifies a binary form: magic, hash of the table of operations, digest.
#include "ir/binary/binary.h"
#include "ir/core/sha256.h"

#include <string.h>

const uint8_t vy_binary_magic[8] = {0x89, 'V', 'Y', 'R', 'E', '\r', '\n', 0x1a};

uint32_t vy_binary_table_id(void)
{
    // Operations and types are numbered by position in their tables: a different table makes a
    // different format.
    uint32_t h = 2166136261u;
    for (int op = 1; op < VY_OP_COUNT; op++)
        for (const char *s = vy_op_infos[op].id; *s; s++) h = (h ^ (uint8_t)*s) * 16777619u;
    return h ^ VY_TYPE_COUNT;
}

void vy_binary_digest(const uint8_t *block, size_t size, uint8_t digest[32])
{
    uint8_t parts[32 + 16];
    vy_sha256(block + VY_BINARY_HEADER, size - VY_BINARY_HEADER, parts);
    memcpy(parts + 32, block + 8, 16);
    vy_sha256(parts, sizeof parts, digest);
}

bool vy_binary_is(const void *data, size_t size)
{
    return size >= 8 && memcmp(data, vy_binary_magic, 8) == 0;
}
