// SPDX-License-Identifier: MIT
// eval_fail.c: failure of a run, and allocation, which may fail.
#include "ir/eval/eval.h"

#include <string.h>

void vy_eval_fail_args(vy_machine *m, vy_code code, uint32_t line, uint32_t column,
                       const char *format, va_list args)
{
    vy_diag_set_args(m->diag, code, line, column, NULL, format, args);
    m->failed = true;
}

void vy_eval_fail(vy_machine *m, vy_code code, uint32_t line, uint32_t column, const char *format,
                  ...)
{
    va_list args;
    va_start(args, format);
    vy_eval_fail_args(m, code, line, column, format, args);
    va_end(args);
}

void *vy_eval_alloc(vy_machine *m, uint64_t count, uint64_t size)
{
    uint64_t bytes;
    void *block = NULL;
    if (count == 0) count = 1;
    if (!__builtin_mul_overflow(count, size, &bytes) && bytes <= PTRDIFF_MAX)
        block = vy_realloc(NULL, (size_t)bytes);
    if (block)
        memset(block, 0, (size_t)bytes);
    else
        vy_eval_fail(m, VY_E_MEMORY, 0, 0, "out of memory");
    return block;
}
