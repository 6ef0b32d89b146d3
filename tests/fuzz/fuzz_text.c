// SPDX-License-Identifier: MIT
// fuzz_text.c: arbitrary bytes as program text.  A text that parses must print, read back,
// optimise, differentiate, compile and run (exercise.c); any other must be refused with a
// diagnostic at a position in the text.
#include "tests/fuzz/fuzz.h"

#include <string.h>

static uint32_t lines_of(const uint8_t *data, size_t size)
{
    uint32_t n = 1;
    for (size_t k = 0; k < size; k++) n += data[k] == '\n';
    return n;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    vy_module *m = vy_parse((const char *)data, size, "fuzz.vyre");
    require(m != NULL, "no module");
    if (vy_module_ok(m)) {
        uint32_t choice = 2166136261u; // FNV-1a: the same options for the same text
        for (size_t k = 0; k < size; k++) choice = (choice ^ data[k]) * 16777619u;
        exercise(m, choice ^ choice >> 15);
    } else {
        const vy_diag *d = vy_module_diag(m);
        require_diag(d, (const char *)data, size);
        require(strcmp(d->code, "E0301") != 0, "unsound program from text: %s", d->text);
        require(d->line <= lines_of(data, size), "line %u is beyond the text", d->line);
    }
    vy_module_free(m);
    return 0;
}
