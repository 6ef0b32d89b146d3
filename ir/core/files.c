// SPDX-License-Identifier: MIT
// files.c: which of a module's files a line is in.
//
// Every place in a module is a line and a column, and a text may import others.  Lines count on
// through all files: those of the text itself first, then those of each import,
//
//   a.vyre, 10 lines   1 … 10
//   b.vyre, 4 lines   11 … 14      line 12 of the module is line 2 of b.vyre
//
// so that no instruction, buffer or diagnostic needs to say its file, and a module without imports
// is as it was.  Whatever shows a line asks here first.
#include "ir/core/ir.h"

#include <stdio.h>
#include <string.h>

uint32_t vy_source_number(const vy_module *m, uint32_t line)
{
    uint32_t low = 0, high = m->imports.count;
    while (low < high) {
        const uint32_t mid = low + (high - low) / 2;
        if (m->imports.data[mid].before < line)
            low = mid + 1;
        else
            high = mid;
    }
    return low;
}

// The import that holds the line; NULL: the text itself.
static const vy_source *source_of(const vy_module *m, uint32_t line)
{
    const uint32_t n = vy_source_number(m, line);
    return n ? &m->imports.data[n - 1] : NULL;
}

vy_file_place vy_module_place(const vy_module *m, uint32_t line)
{
    const vy_source *s = source_of(m, line);
    if (!s) return (vy_file_place){m->file, line, m->source, m->source_size};
    return (vy_file_place){s->file, line - s->before, s->text, s->size};
}

const char *vy_line_text(const vy_module *m, uint32_t line, uint32_t here, char out[120])
{
    const vy_file_place p = vy_module_place(m, line);
    const size_t length = strlen(p.file), skip = length > 80 ? length - 80 : 0; // the end says more
    if (source_of(m, line) == source_of(m, here))
        snprintf(out, 120, "line %u", p.line);
    else
        snprintf(out, 120, "line %u of `%s%s`", p.line, skip ? "…" : "", p.file + skip);
    return out;
}

size_t vy_module_diag_format(const vy_module *m, const vy_diag *d, bool color, char *out,
                             size_t size)
{
    const vy_file_place p = vy_module_place(m, d->line);
    vy_diag local = *d;
    local.line = p.line;
    return vy_diag_format(&local, p.file, p.source, p.size, color, out, size);
}

const char *vy_module_import(const vy_module *m, uint32_t index)
{
    return index < m->imports.count ? m->imports.data[index].file : NULL;
}

bool vy_program_imported(const vy_program *p) { return source_of(p->module, p->line) != NULL; }

static const char *copy(vy_module *to, const char *text)
{
    return vy_arena_strdup(&to->arena, text, strlen(text));
}

bool vy_keep_unread(vy_module *m, uint32_t count, const char *const *names)
{
    const char **list = vy_arena_alloc(&m->arena, (count + 1) * sizeof *list);
    if (!list) return false;
    for (uint32_t i = 0; i < count; i++)
        if (!(list[i] = copy(m, names[i]))) return false;
    m->unread = list;
    m->unread_count = count;
    return true;
}

bool vy_program_leaves_unread(const vy_program *p, const char *name)
{
    for (uint32_t i = 0; i < p->module->unread_count; i++)
        if (!strcmp(p->module->unread[i], name)) return true;
    return false;
}

bool vy_take_files(vy_module *to, const vy_module *from)
{
    const char *file = copy(to, from->file);
    if (!file || !vy_keep_unread(to, from->unread_count, from->unread)) return false;
    to->file = file;
    for (uint32_t i = 0; i < from->imports.count; i++) {
        const vy_source *s = &from->imports.data[i];
        const vy_source taken = {.file = copy(to, s->file), .before = s->before};
        if (!taken.file || !vy_vec_push(&to->imports, taken)) return false;
    }
    return true;
}
