// SPDX-License-Identifier: MIT
// fail.c: how a builder fails: it and its module keep the first error, and nothing is built after
// it.
#include "ir/build/build.h"
#include "ir/build/edit.h"

void vy_build_fail(vy_builder *b, vy_code code, const char *format, ...)
{
    va_list args;
    va_start(args, format);
    vy_diag_set_args(&b->m->diag, code, b->line, b->column, NULL, format, args);
    va_end(args);
    b->failed = true;
}

void vy_build_oom(vy_builder *b)
{
    vy_fail_oom(b->m);
    b->failed = true;
}

// Asked at every step: vy_module_ok, without the call.
bool vy_builder_failed(const vy_builder *b) { return b->failed || b->m->diag.severity == VY_ERROR; }
