// SPDX-License-Identifier: MIT
// library.c: the table of functions that expand into operations.
#include "ir/build/library.h"

#include <string.h>

static const vy_library_function functions[] = {
#define X(name, takes, gives) {#name, takes, gives, vy_build_##name},
    VY_LIBRARY(X)
#undef X
};

const vy_library_function *vy_library_at(uint32_t i) { return &functions[i]; }

bool vy_library_is_by_component(const vy_library_function *f)
{
    return strchr("FIUNW", f->takes[0]) != NULL;
}
