// SPDX-License-Identifier: MIT
// import.c: files that a text imports.
//
//   a.vyre:  import "b.vyre";  program p …        reads a to the import, b, then the rest of a
//
// An import is read where it is written, by the same lexer; a list of open files holds how far each
// importer was read.  Nothing recurses, so imports may be nested as deep as there are files.  A
// file that was read already is not read again (docs/language.md 1.1), and one that is still open
// imports itself.  Lines count on (ir/core/files.c).  The parser reads no files: a callback gives
// their text or refuses, and where texts are not trusted it may refuse all.
#include "ir/text/front.h"

#include <stdio.h>
#include <string.h>

struct vy_import {
    vy_front *f;
    const char *path, *why; // why: it is refused
    uint32_t line, column;
    bool given;
};

const char *vy_import_path(const vy_import *i) { return i->path; }
const char *vy_import_from(const vy_import *i) { return i->f->file->name; }

static const char *keep(vy_front *f, const char *text, size_t size)
{
    char *copy = vy_arena_strdup(&f->m->arena, text, size);
    if (copy) return copy;
    vy_fail_oom(f->m);
    f->failed = true;
    return "";
}

void vy_import_refuse(vy_import *i, const char *why)
{
    if (!i->why && !i->given) i->why = keep(i->f, why, strlen(why));
}

// ------------------------------------------------------------------------------------------ errors
static void refuse(vy_import *i)
{
    vy_front_error(i->f, VY_E_IMPORT, i->line, i->column, NULL, "cannot import `%.150s`: %.200s",
                   i->path, i->why);
}

// Names `a` → `b` → `a`: from the file `again`, which is open, down to the one that imports it.
static void chain(const vy_file *at, const vy_file *again, char *out, size_t size)
{
    uint32_t length = 0;
    for (const vy_file *k = at; k != again; k = k->importer) length++;
    int used = snprintf(out, size, "`%.90s`", again->name);
    for (uint32_t n = length; n-- > 0;) {
        const vy_file *k = at;
        for (uint32_t up = 0; up < n; up++) k = k->importer;
        const bool last = (size_t)used + strlen(k->name) + 120 > size && n > 0;
        used += snprintf(out + used, size - (size_t)used, last ? " → …" : " → `%.90s`", k->name);
        if (last) break;
    }
    snprintf(out + used, size - (size_t)used, " → `%.90s`", again->name);
}

static void refuse_cycle(const vy_import *i, const vy_file *again)
{
    char names[sizeof i->f->m->diag.text - 40];
    chain(i->f->file, again, names, sizeof names);
    vy_front_error(i->f, VY_E_IMPORT_CYCLE, i->line, i->column, NULL,
                   "files import one another: %s", names);
}

static bool within_limits(const vy_import *i, size_t size)
{
    vy_front *f = i->f;
    const bool many = f->m->imports.count >= VY_MAX_IMPORTS;
    if (!many && size <= VY_MAX_SOURCE - f->read) return true;
    vy_front_error(f, VY_E_LIMIT, i->line, i->column, NULL,
                   many ? "more than %u imported files" : "the imported texts exceed %u bytes",
                   many ? VY_MAX_IMPORTS : VY_MAX_SOURCE);
    return false;
}

// ----------------------------------------------------------------------------------------- reading
static uint32_t count_lines(const char *text, size_t size)
{
    uint32_t lines = 1;
    const char *end = text + size;
    for (const char *s = text; size && (s = memchr(s, '\n', (size_t)(end - s))); s++) lines++;
    return lines;
}

static void suspend(vy_front *f, vy_file *file)
{
    file->at = f->at, file->end = f->end, file->line_start = f->line_start;
    file->line = f->line, file->last_line = f->last_line, file->last_column = f->last_column;
    file->tok = f->tok;
}

static void resume(vy_front *f, const vy_file *file)
{
    f->at = file->at, f->end = file->end, f->line_start = file->line_start;
    f->line = file->line, f->last_line = file->last_line, f->last_column = file->last_column;
    f->tok = file->tok;
}

// The lexer goes on at the start of the text.
static void enter(vy_front *f, vy_file *file, const char *text, size_t size)
{
    suspend(f, file);
    file->open = true;
    file->importer = f->file;
    f->file = file;
    f->at = f->line_start = text;
    f->end = text + size;
    f->line = f->lines + 1;
    f->read += size;
    f->lines += count_lines(text, size);
    if (size >= 3 && memcmp(text, "\xEF\xBB\xBF", 3) == 0) f->at += 3;
    vy_advance(f);
}

static void read_new(vy_import *i, vy_file *file, const char *name, const char *text, size_t size)
{
    vy_front *f = i->f;
    if (!within_limits(i, size)) return;
    const vy_source s = {keep(f, name, strlen(name)), keep(f, text, size), size, f->lines};
    if (!f->failed && !vy_vec_push(&f->m->imports, s)) {
        vy_fail_oom(f->m);
        f->failed = true;
    }
    if (f->failed) return;
    file->name = s.file;
    enter(f, file, s.text, size);
}

void vy_import_give(vy_import *i, const char *name, const char *identity, const char *text,
                    size_t size)
{
    vy_front *f = i->f;
    if (i->given || i->why || f->failed) return;
    i->given = true;
    const char *id = identity ? identity : name;
    vy_name_rec *known = vy_front_name(f, id, (uint32_t)strlen(id));
    if (f->failed || (known->file && !known->file->open)) return;
    if (known->file) {
        refuse_cycle(i, known->file);
        return;
    }
    vy_file *file = vy_front_alloc(f, sizeof *file);
    known->file = file;
    if (!f->failed) read_new(i, file, name, text, size);
}

// ------------------------------------------------------------------------------------- the grammar
bool vy_import_begin(vy_front *f, const char *name)
{
    const char *id = f->options->identity ? f->options->identity : name;
    vy_name_rec *known = vy_front_name(f, id, (uint32_t)strlen(id));
    vy_file *file = vy_front_alloc(f, sizeof *file);
    if (f->failed) return false;
    known->file = f->file = file;
    *file = (vy_file){.name = name, .open = true};
    f->read = f->m->source_size;
    f->lines = count_lines(f->m->source, f->m->source_size);
    return true;
}

bool vy_import_end(vy_front *f)
{
    vy_file *file = f->file;
    if (f->failed || !file || !file->importer) return false;
    file->open = false;
    f->file = file->importer;
    resume(f, file);
    return true;
}

void vy_parse_import(vy_front *f)
{
    vy_import i = {.f = f, .line = f->tok.line, .column = f->tok.column};
    if (f->has_order)
        vy_front_error(f, VY_E_ATTRIBUTE, i.line, i.column,
                       "write it after the import: each file counts its own",
                       "attribute `order` does not apply to an import");
    vy_advance(f);
    const vy_token path = f->tok;
    vy_expect(f, TK_STRING, "after `import`");
    vy_expect(f, TK_SEMICOLON, "after the path");
    if (f->failed) return;
    i.path = keep(f, path.text + 1, path.length - 2);
    if (!f->failed && f->options && f->options->import)
        f->options->import(f->options->user, &i);
    else if (!f->failed)
        vy_import_refuse(&i, "files are not read here");
    if (!i.given && !f->failed) vy_import_refuse(&i, "nothing was given for it");
    if (i.why && !f->failed) refuse(&i);
}
