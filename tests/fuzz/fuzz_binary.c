// SPDX-License-Identifier: MIT
// fuzz_binary.c: arbitrary bytes as binary form: unchanged, and with a correct header.
//
// The digest would reject nearly every input, so the harness computes it: input that starts with
// the magic is an entire file, whose header is repaired; other input is a payload.  A module that
// reads must be as valid as a parsed one (exercise.c).
#include "ir/binary/binary.h"
#include "tests/fuzz/fuzz.h"

#include <stdlib.h>
#include <string.h>

static void put(uint8_t *to, uint64_t value, int bytes)
{
    for (int k = 0; k < bytes; k++) to[k] = (uint8_t)(value >> 8 * k);
}

static void read_block(const uint8_t *data, size_t size)
{
    vy_module *m = vy_binary_read(data, size);
    require(m != NULL, "no module");
    if (vy_module_ok(m)) {
        require(vy_module_check(m), "%s after reading", vy_module_diag(m)->text);
        // A module not made by the builder is valid but may be unfolded; parsing its text folds it.
        vy_module *folded = reparsed(m, "binary");
        for (uint32_t i = 0; i < vy_module_program_count(m) && i < 8; i++) exercise_eval(m, i, 0);
        exercise(folded, (uint32_t)size * 2654435761u ^ data[size - 1] * 40503u);
        vy_module_free(folded);
    } else {
        require_diag(vy_module_diag(m), NULL, 0);
    }
    vy_module_free(m);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    bool whole = vy_binary_is(data, size);
    read_block(data, size);
    size_t skip = !whole ? 0 : size < VY_BINARY_HEADER ? size : VY_BINARY_HEADER;
    size_t payload = size - skip;
    uint8_t *block = malloc(VY_BINARY_HEADER + payload);
    require(block != NULL, "memory");
    memcpy(block, vy_binary_magic, 8);
    put(block + 8, VY_BINARY_VERSION, 4);
    put(block + 12, vy_binary_table_id(), 4);
    put(block + 16, payload, 8);
    if (payload) memcpy(block + VY_BINARY_HEADER, data + skip, payload);
    vy_binary_digest(block, VY_BINARY_HEADER + payload, block + VY_BINARY_DIGEST);
    read_block(block, VY_BINARY_HEADER + payload);
    free(block);
    return 0;
}
