// SPDX-License-Identifier: MIT
// fail.c: errors of a module that is read: the instruction, and its line where the module has one.
#include "spirv/read/reading.h"

#include <stdarg.h>
#include <stdio.h>

bool read_no_memory(reading *r)
{
    vy_fail_oom(r->m);
    return false;
}

bool read_fail(reading *r, vy_code code, const char *fix, const char *format, ...)
{
    char text[300];
    va_list args;
    if (fix && !*fix) fix = NULL; // that of the code
    va_start(args, format);
    vsnprintf(text, sizeof text, format, args);
    va_end(args);
    const bool in = r->at >= READ_HEADER && r->at < r->w.count;
    if (in && !r->line)
        vy_fail(r->m, code, 0, 0, fix, "%s (%s, word %u)", text,
                read_op_name(read_op(&r->w, r->at)), r->at);
    else
        vy_fail(r->m, code, r->line, r->column, fix, "%s%s%s%s", text, in ? " (" : "",
                in ? read_op_name(read_op(&r->w, r->at)) : "", in ? ")" : "");
    return false;
}

bool read_refuse(reading *r, const char *fix, const char *what)
{
    return read_fail(r, VY_E_SHADER_UNSUPPORTED, fix, "%s cannot be read", what);
}
