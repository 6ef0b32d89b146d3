// SPDX-License-Identifier: MIT
// emit.c: `grad`, `compile`, `print`: a module as text, SPIR-V, C header, manifest.
#include "tools/command/runner.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

// What one file name asks for.
typedef enum form {
    FORM_TEXT = 1,
    FORM_SPIRV = 2,
    FORM_HEADER = 4,
    FORM_MANIFEST = 8,
    FORM_BINARY = 16,
    FORM_ASSEMBLY = 32, // by no suffix: stdout
} form;
#define FORMS_ALL 63

static const struct {
    form form;
    const char *suffix;
} forms[] = {
    {FORM_TEXT, ".vyre"},     {FORM_SPIRV, ".spv"},  {FORM_HEADER, ".h"},
    {FORM_MANIFEST, ".json"}, {FORM_BINARY, ".vyb"}, // the binary form of programs
};

// One result being written.
typedef struct product {
    command *c;
    vy_module *module;
    vys_entry what;
    vy_compiled *compiled; // if a form needs it
} product;

static bool output_is_directory(const char *path)
{
    return path[strlen(path) - 1] == '/' || is_directory(path);
}

static bool is_device(const char *path) // or a pipe: /dev/stdout
{
    struct stat s;
    return stat(path, &s) == 0 && !S_ISREG(s.st_mode);
}

// The form that -o asks for; 0: a directory for all; as it was: a device, which may have any name.
static bool output_form(const char *path, unsigned allowed, unsigned *out, vy_diag *d)
{
    const unsigned otherwise = *out;
    *out = 0;
    if (!*path) return fail(d, TOOL_FORM, NULL, "-o: the name is empty");
    if (output_is_directory(path))
        return allowed & FORM_SPIRV || fail(d, TOOL_FORM, "name a file ending in .vyre",
                                            "-o %s: print writes one file", path);
    for (size_t i = 0; i < COUNT_OF(forms); i++)
        if (ends_in(path, forms[i].suffix)) *out = forms[i].form;
    if (!*out && is_device(path)) *out = otherwise;
    if (*out & allowed) return true;
    return fail(d, TOOL_FORM, allowed & FORM_SPIRV ? NULL : "end PATH in .vyre",
                "-o %s: its suffix names no form that can be written", path);
}

static bool make_form(const product *p, form f, char **data, size_t *size, vy_diag *d)
{
    const char *name = vys_entry_name(p->what);
    *data = NULL;
    *size = 0;
    switch (f) {
    case FORM_TEXT: // to be read, and differentiated again: without what passes have marked
        vy_drop_marks(p->module);
        *data = vy_print(p->module, size);
        break;
    case FORM_BINARY: *data = vy_binary_write(p->module, size); break;
    case FORM_HEADER: *data = vy_c_header(p->compiled->plans, name, size); break;
    case FORM_MANIFEST: *data = vy_manifest(p->compiled->plans, size); break;
    case FORM_SPIRV:
        *size = p->compiled->word_count * 4;
        *data = malloc(*size);
        if (*data) memcpy(*data, p->compiled->words, *size);
        break;
    case FORM_ASSEMBLY: {
        const int color = p->c->o.color;
        const bool paint =
            color == COLOR_ALWAYS || (color == COLOR_AUTO && p->c->color && isatty(STDOUT_FILENO));
        *data = vy_spirv_disassemble(p->compiled->words, p->compiled->word_count, paint, size);
        break;
    }
    }
    return *data || fail_memory(d);
}

static bool write_form(const product *p, form f, const char *path, vy_diag *d)
{
    char *data;
    size_t size;
    bool ok = make_form(p, f, &data, &size, d);
    if (ok && path) {
        ok = output_add(&p->c->files, path, data, size, d);
    } else if (ok) {
        text_add(&p->c->out, data, size);
        ok = !p->c->out.failed || fail_memory(d);
    }
    free(data);
    return ok;
}

static bool write_directory(const product *p, const char *path, vy_diag *d)
{
    const unsigned all = FORM_TEXT | FORM_SPIRV | FORM_HEADER | FORM_MANIFEST;
    if (mkdir(path, 0777) && errno != EEXIST)
        return fail(d, TOOL_WRITE, NULL, "cannot make %s: %s", path, strerror(errno));
    for (size_t i = 0; i < COUNT_OF(forms); i++) {
        text name = {0};
        if (!(forms[i].form & all)) continue;
        text_printf(&name, "%s%s%s%s", path, path[strlen(path) - 1] == '/' ? "" : "/",
                    vys_entry_name(p->what), forms[i].suffix);
        bool ok = name.failed ? fail_memory(d) : write_form(p, forms[i].form, name.data, d);
        text_free(&name);
        if (!ok) return false;
    }
    return true;
}

// A .spv that takes several steps to run is not enough: the manifest goes beside it.
static bool write_steps(const product *p, const char *path, vy_diag *d)
{
    char *beside = malloc(strlen(path) + 2);
    if (!beside) return fail_memory(d);
    strcpy(beside, path);
    strcpy(beside + strlen(path) - 4, ".json");
    bool ok = write_form(p, FORM_MANIFEST, beside, d);
    if (ok) note(p->c, "several steps: %s says in which order", beside);
    free(beside);
    return ok;
}

static bool write_product(product *p, form otherwise, vy_diag *d)
{
    const char *path = p->c->o.output;
    unsigned wanted = otherwise;
    vy_spirv_options o;
    if (path && !output_form(path, FORMS_ALL, &wanted, d)) return false;
    if (!spirv_options(p->c, &o, d)) return false;
    o.host_layout = true;
    if (wanted != FORM_TEXT && wanted != FORM_BINARY) {
        const double start = now_ms();
        progress_begin(p->c, "compiling");
        p->compiled = vys_entry_compile(p->what, &o, d);
        progress_end();
        if (!p->compiled) return fail_memory(d); // unless it said why
        verbose(p->c, "%s: %u instructions, %zu words of SPIR-V in %.1f ms%s",
                vys_entry_name(p->what), vys_entry_instructions(p->what), p->compiled->word_count,
                now_ms() - start, p->compiled->validation.done ? ", validated" : "");
        note_validation(p->c, vys_entry_name(p->what), p->compiled);
    }
    if (path && !wanted) return write_directory(p, path, d);
    if (!write_form(p, (form)wanted, path, d)) return false;
    const bool steps = wanted == FORM_SPIRV && p->compiled->plans->step_count > 1;
    return !steps || write_steps(p, path, d);
}

// Of what becomes SPIR-V alone.  Text and binary files, also among all forms (0), may be
// differentiated.
static const vy_module *if_final(const vy_module *m, unsigned wanted)
{
    return !wanted || wanted == FORM_TEXT || wanted == FORM_BINARY ? NULL : m;
}

bool write_all_forms(command *c, vy_module *m, const char *folder, vy_diag *d)
{
    vy_spirv_options o;
    product result = {.c = c, .module = m, .what = vys_entry_result(m)};
    if (!optimize(c, m, false, NULL, d) || !spirv_options(c, &o, d)) return false;
    o.host_layout = true;
    result.compiled = vys_entry_compile(result.what, &o, d);
    if (result.compiled) note_validation(c, vys_entry_name(result.what), result.compiled);
    const bool ok = result.compiled ? write_directory(&result, folder, d) : fail_memory(d);
    vy_compiled_free(result.compiled);
    return ok;
}

bool verb_grad(command *c, vy_diag *d)
{
    unsigned wanted = FORM_TEXT;
    if (c->o.output && !output_form(c->o.output, FORMS_ALL, &wanted, d)) return false;
    if (!load_module(c, d)) return false;
    vys_entry p;
    const double start = now_ms();
    c->work.text = !wanted || wanted == FORM_TEXT || wanted == FORM_BINARY;
    c->work.once = true;
    if (!select_entry(c, c->module, &p, d) || !derive(c, p, NULL, d)) return false;
    c->final = if_final(c->work.derived, wanted);
    if (!optimize(c, c->work.derived, false, NULL, d)) return false;
    product result = {.c = c, .module = c->work.derived, .what = vys_entry_result(c->work.derived)};
    verbose(c, "%s: differentiated and optimised in %.1f ms, %u instructions", vys_entry_name(p),
            now_ms() - start, vys_entry_instructions(result.what));
    bool ok = write_product(&result, FORM_TEXT, d);
    vy_compiled_free(result.compiled);
    return ok;
}

bool verb_compile(command *c, vy_diag *d)
{
    unsigned wanted = FORM_ASSEMBLY;
    if (c->o.output && !output_form(c->o.output, FORMS_ALL, &wanted, d)) return false;
    if (!load_module(c, d)) return false;
    vys_entry p;
    if (!select_entry(c, c->module, &p, d) || !order_sums(c, &p, d)) return false;
    c->final = if_final(forward_module(c), wanted);
    if (!optimize(c, forward_module(c), false, NULL, d)) return false;
    product result = {.c = c, .module = forward_module(c), .what = p};
    bool ok = write_product(&result, FORM_ASSEMBLY, d);
    vy_compiled_free(result.compiled);
    return ok;
}

bool verb_print(command *c, vy_diag *d)
{
    unsigned wanted = FORM_TEXT;
    if (c->o.output && !output_form(c->o.output, FORM_TEXT | FORM_BINARY, &wanted, d)) return false;
    if (!load_module(c, d)) return false;
    vys_entry named;
    if (c->o.program && !select_entry(c, c->module, &named, d)) return false;
    size_t size;
    char *data;
    data = wanted == FORM_TEXT ? vy_print(c->module, &size) : vy_binary_write(c->module, &size);
    if (!data) return fail_memory(d);
    if (c->o.output) {
        bool ok = output_add(&c->files, c->o.output, data, size, d);
        free(data);
        return ok;
    }
    text_add(&c->out, data, size);
    free(data);
    return !c->out.failed || fail_memory(d);
}
