// SPDX-License-Identifier: MIT
// diag.c: diagnostics as values.
#include "ir/core/ir.h"

#include <stdio.h>
#include <string.h>

static const struct {
    const char *code;
    vy_blame blame;
    const char *fix;
} codes[VY_E_COUNT] = {
#define X(id, code, blame, fix) {code, VY_BLAME_##blame, fix},
#include "ir/diag_codes.h"
#undef X
};

const char *vy_version(void) { return VY_VERSION; }

bool vy_diag_is(const vy_diag *d, vy_code code)
{
    return d->code && strcmp(d->code, codes[code].code) == 0;
}

void vy_diag_set_args(vy_diag *d, vy_code code, uint32_t line, uint32_t column, const char *fix,
                      const char *format, va_list args)
{
    if (d->severity == VY_ERROR) return; // the first error sticks
    *d = (vy_diag){.severity = VY_ERROR,
                   .blame = codes[code].blame,
                   .code = codes[code].code,
                   .line = line,
                   .column = column};
    vsnprintf(d->text, sizeof d->text, format, args);
    snprintf(d->fix, sizeof d->fix, "%s", fix ? fix : codes[code].fix);
}

void vy_diag_set(vy_diag *d, vy_code code, uint32_t line, uint32_t column, const char *fix,
                 const char *format, ...)
{
    va_list args;
    va_start(args, format);
    vy_diag_set_args(d, code, line, column, fix, format, args);
    va_end(args);
}

void vy_fail(vy_module *m, vy_code code, uint32_t line, uint32_t column, const char *fix,
             const char *format, ...)
{
    va_list args;
    va_start(args, format);
    vy_diag_set_args(&m->diag, code, line, column, fix, format, args);
    va_end(args);
}

void vy_fail_oom(vy_module *m) { vy_fail(m, VY_E_MEMORY, 0, 0, NULL, "out of memory"); }

bool vy_module_memory(vy_module *m, uint64_t before)
{
    if (vy_memory_failures() != before) vy_fail_oom(m);
    return vy_module_ok(m);
}

// ------------------------------------------------------------------------------------- formatting
typedef struct sink {
    char *out;
    size_t size, length;
} sink;

static void put(sink *s, const char *text, size_t n)
{
    for (size_t i = 0; i < n; i++, s->length++)
        if (s->length + 1 < s->size) s->out[s->length] = text[i];
}

static void puts_to(sink *s, const char *text) { put(s, text, strlen(text)); }

// Line d->line of the source and a caret; of a long line only what is around the column.
static void put_source_line(sink *s, const vy_diag *d, const char *source, size_t size)
{
    size_t at = 0;
    for (uint32_t line = 1; line < d->line; line++) {
        const char *newline = at < size ? memchr(source + at, '\n', size - at) : NULL;
        if (!newline) return;
        at = (size_t)(newline - source) + 1;
    }
    const char *newline = at < size ? memchr(source + at, '\n', size - at) : NULL;
    size_t length = newline ? (size_t)(newline - source) - at : size - at;
    size_t column = d->column ? d->column - 1 : 0, from = 0;
    if (column > 120) from = column - 60;
    if (from > length) return;
    if (length - from > 160) length = from + 160;
    puts_to(s, "  ");
    for (size_t i = from; i < length; i++) {
        char c = source[at + i];
        put(s, (unsigned char)c < 32 || c == 127 ? " " : &c, 1);
    }
    puts_to(s, "\n");
    if (!d->column) return;
    puts_to(s, "  ");
    for (size_t i = from; i < column && i < length; i++)
        if (((unsigned char)source[at + i] & 0xC0) != 0x80)
            put(s, " ", 1); // one per UTF-8 character
    puts_to(s, "^\n");
}

size_t vy_diag_format(const vy_diag *d, const char *file, const char *source, size_t source_size,
                      bool color, char *out, size_t size)
{
    sink s = {out, size, 0};
    char place[64] = "";
    if (d->line && d->column)
        snprintf(place, sizeof place, ":%u:%u", d->line, d->column);
    else if (d->line)
        snprintf(place, sizeof place, ":%u", d->line);
    if (file && *file) {
        puts_to(&s, file);
        puts_to(&s, place);
        puts_to(&s, ": ");
    }
    const char *word = d->severity == VY_WARNING ? "warning" : "error";
    const char *paint = d->severity == VY_WARNING ? "\033[1;35m" : "\033[1;31m";
    if (color) puts_to(&s, paint);
    puts_to(&s, word);
    if (color) puts_to(&s, "\033[0m");
    puts_to(&s, ": ");
    puts_to(&s, d->text);
    if (d->code) {
        puts_to(&s, " [");
        puts_to(&s, d->code);
        puts_to(&s, "]");
    }
    puts_to(&s, "\n");
    if (source && d->line) put_source_line(&s, d, source, source_size);
    if (d->fix[0]) {
        puts_to(&s, "fix: ");
        puts_to(&s, d->fix);
        puts_to(&s, "\n");
    }
    if (size) out[s.length < size ? s.length : size - 1] = 0;
    return s.length;
}
