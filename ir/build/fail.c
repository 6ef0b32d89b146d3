// SPDX-License-Identifier: MIT
// fail.c: how a builder fails: it and its module keep the first error, and nothing is built after
// it.
#include "ir/build/build.h"
#include "ir/build/edit.h"

#include <stdarg.h>
#include <stdio.h>

void vy_build_fail(vy_builder *b, vy_code code, const char *format, ...)
{
    char text[sizeof b->m->diag.text];
    va_list args;
    va_start(args, format);
    vsnprintf(text, sizeof text, format, args);
    va_end(args);
    vy_fail(b->m, code, b->line, b->column, NULL, "%s", text);
    b->failed = true;
}

void vy_build_oom(vy_builder *b)
{
    vy_fail_oom(b->m);
    b->failed = true;
}

bool vy_builder_failed(const vy_builder *b) { return b->failed || !vy_module_ok(b->m); }
