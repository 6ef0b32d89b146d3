// SPDX-License-Identifier: MIT
// fuzz_spirv.c: arbitrary words as a SPIR-V module.
//
// Refused with a diagnostic, or a program as sound as a parsed one (exercise.c): it prints, is
// differentiated, compiled and interpreted.
#include "spirv/read.h"
#include "tests/fuzz/fuzz.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    const uint32_t choice = (uint32_t)size * 2654435761u ^ (size ? data[size / 2] * 40503u : 0);
    const vy_read_options options = {.keep_domain = choice >> 20 & 1};
    vy_module *m = vy_spirv_read(data, size, "fuzz.spv", &options);
    require(m != NULL, "no module");
    if (vy_module_ok(m)) {
        require(vy_module_program_count(m) == 1, "no program, and no error");
        require(vy_module_check(m), "%s after reading", vy_module_diag(m)->text);
        vy_module *folded = reparsed(m, "shader");
        exercise(folded, choice);
        vy_module_free(folded);
    } else {
        require_diag(vy_module_diag(m), NULL, 0);
    }
    vy_module_free(m);
    return 0;
}
