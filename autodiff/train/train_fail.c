// SPDX-License-Identifier: MIT
// train_fail.c: errors of a request, and lists of names.
#include "autodiff/train/train_build.h"

#include <stdarg.h>
#include <string.h>

bool train_fail(training *t, vy_code code, uint32_t line, const char *fix, const char *format, ...)
{
    va_list args;
    if (t->diag->severity == VY_ERROR) return false;
    va_start(args, format);
    vy_diag_set_args(t->diag, code, line, line ? 1 : 0, fix, format, args);
    va_end(args);
    return false;
}

bool train_no_memory(training *t) { return train_fail(t, VY_E_MEMORY, 0, NULL, "out of memory"); }

bool train_is_listed(const char *const *names, uint32_t count, const char *name)
{
    for (uint32_t k = 0; k < count; k++)
        if (!strcmp(names[k], name)) return true;
    return false;
}
