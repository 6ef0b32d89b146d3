// SPDX-License-Identifier: MIT
// report.c: diagnostics and notes on stderr.
#include "tools/command/command.h"
#include "tools/data/json_out.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static bool is_ours(const vy_diag *d)
{
    static const char *const codes[] = {
#define X(id, code, blame, fix) code,
#include "tools/data/codes.h"
#undef X
    };
    for (size_t i = 0; i < sizeof codes / sizeof *codes; i++)
        if (strcmp(d->code, codes[i]) == 0) return true;
    return false;
}

// Diagnostics of the command line and of data begin with the command's name, all others with the
// program's file.
static vy_file_place place_of(const command *c, const vy_diag *d)
{
    const text *t = &c->contents;
    if (d->line && !c->about && c->module) {
        const vy_file_place in = vy_module_place(c->module, d->line);
        if (in.file != vy_module_file(c->module)) return in; // an import
    }
    vy_file_place p = {.file = TOOL_NAME, d->line};
    if (d->line && !vy_binary_is(t->data, t->size)) // whose lines are those of its text
        p.source = t->data, p.size = t->size;
    if (d->line == 0 && (!d->code || is_ours(d))) return p;
    if (d->line && c->about)
        p.file = c->about;
    else if (c->o.file)
        p.file = strcmp(c->o.file, "-") ? c->o.file : "stdin";
    return p;
}

void report(const command *c, const vy_diag *d, bool json)
{
    const vy_file_place p = place_of(c, d);
    vy_diag local = *d;
    local.line = p.line;
    const size_t size = vy_diag_format(&local, p.file, p.source, p.size, c->color, NULL, 0) + 1;
    char *formatted = malloc(size);
    if (formatted) {
        vy_diag_format(&local, p.file, p.source, p.size, c->color, formatted, size);
        fputs(formatted, stderr);
    } else {
        fprintf(stderr, "%s: error: %s [%s]\n", p.file, d->text, d->code ? d->code : "");
    }
    free(formatted);
    if (!json) return;
    text out = {0};
    vy_diag ignored = {0};
    if (json_diag(&local, p.file, &out)) stdout_write(out.data, out.size, &ignored);
    text_free(&out);
}

static void say(const char *format, va_list args)
{
    fputs(TOOL_NAME ": ", stderr);
    vfprintf(stderr, format, args);
    fputc('\n', stderr);
}

void note(const command *c, const char *format, ...)
{
    if (c->o.quiet) return;
    va_list args;
    va_start(args, format);
    say(format, args);
    va_end(args);
}

void verbose(const command *c, const char *format, ...)
{
    if (!c->o.verbose) return;
    va_list args;
    va_start(args, format);
    say(format, args);
    va_end(args);
}
