// SPDX-License-Identifier: MIT
// folder.c: --in @DIR/ and --out @DIR/: a file DIR/NAME.npy for each parameter or result; or
// --in @FILE.npz, --out @FILE.npz: an array NAME of the archive.
//
// What is given by name goes before; of several folders to read the last that has the file counts,
// so that `--in @data/ --in @trained/` replaces what training has changed.  A parameter that has no
// file anywhere is an error in every verb, also where data would be chosen: a misspelt file must
// not become random numbers.
#include "tools/command/bind.h"
#include "tools/data/file.h"
#include "tools/data/npz.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

// DIR/NAME.npy; NULL: memory, or a name that is no file's.
static char *path_in(const char *folder, const char *name)
{
    text path = {0};
    if (strchr(name, '/')) return NULL;
    text_printf(&path, "%s%s.npy", folder, name);
    if (path.failed) text_free(&path);
    return path.data;
}

static bool is_archive(const char *folder) { return ends_in(folder, ".npz"); }

static bool add_file(specs *s, const char *name, const char *folder, vy_diag *d)
{
    const bool archive = is_archive(folder);
    return specs_add(s,
                     (spec){.kind = archive ? SPEC_NPZ : SPEC_NPY,
                            .name = strdup(name),
                            .text = archive ? strdup(folder) : path_in(folder, name)},
                     d);
}

// ----------------------------------------------------------------------------------------- reading
static bool folders_exist(const specs *s, vy_diag *d)
{
    for (uint32_t i = 0; i < s->folders.count; i++) {
        struct stat at;
        const char *path = s->folders.data[i];
        if (!is_archive(path) && stat(path, &at)) // with the slash at its end a file is ENOTDIR
            return fail(d, TOOL_READ, "", "--in: cannot open the folder %s: %s", path,
                        strerror(errno));
    }
    return true;
}

// *in: the last of them that has the file; NULL: none.  False with *d: an archive is unreadable.
static bool find_file(const specs *s, const char *name, const char **in, vy_diag *d)
{
    *in = NULL;
    for (uint32_t i = s->folders.count; i-- > 0 && !*in;) {
        const char *folder = s->folders.data[i];
        bool has = false;
        char *path = is_archive(folder) ? NULL : path_in(folder, name);
        if (is_archive(folder) && !npz_has(folder, name, &has, d)) return false;
        if (has || (path && !access(path, F_OK))) *in = folder;
        free(path);
    }
    return true;
}

static bool no_file(const specs *s, const char *name, vy_diag *d)
{
    char fix[160];
    const char *last = s->folders.data[s->folders.count - 1];
    snprintf(fix, sizeof fix, "save it there with numpy.save, or add --in %.100s=SPEC", name);
    if (is_archive(last))
        return fail(d, TOOL_MISSING, fix, "no data for %s: %s has no such array", name, last);
    return fail(d, TOOL_MISSING, fix, "no data for %s: there is no %s%s.npy", name, last, name);
}

bool specs_read(specs *s, const names *arguments, vys_entry what, vy_diag *d)
{
    const vy_program *p = what.program;
    if (!specs_parse(s, "--in", arguments, d)) return false;
    if (!s->folders.count) return true;
    if (!folders_exist(s, d)) return false;
    for (uint32_t i = 1; i <= vy_program_buffer_count(p); i++) {
        const vy_buffer_info b = vy_program_buffer(p, (vy_buffer){i});
        if (b.cls == VY_OUT || b.workspace || specs_find(s, b.name)) continue;
        const char *in;
        if (!find_file(s, b.name, &in, d) || (in && !add_file(s, b.name, in, d))) return false;
        // Cotangents and tangents have values where nothing is given.
        const bool own = b.role.kind == VY_IS_PARAMETER || b.role.kind == VY_IS_PRIMAL;
        if (!in && own) return no_file(s, b.name, d);
    }
    return true;
}

// ----------------------------------------------------------------------------------------- writing
bool folder_make(const specs *out, vy_diag *d)
{
    if (!out->folders.count) return true;
    if (out->folders.count > 1)
        return fail(d, TOOL_USAGE, "name one folder", "--out gives @%s and @%s",
                    out->folders.data[0], out->folders.data[1]);
    const char *path = out->folders.data[0];
    if (is_archive(path)) return npz_available("--out", path, d);
    return !mkdir(path, 0777) || (errno == EEXIST && is_directory(path)) ||
           fail(d, TOOL_WRITE, NULL, "cannot make the folder %s: %s", path, strerror(errno));
}

bool folder_result(specs *out, const char *name, vy_diag *d)
{
    if (!out->folders.count || specs_find(out, name)) return true;
    if (strchr(name, '/'))
        return fail(d, TOOL_USAGE, "add --out NAME=@FILE for it",
                    "--out @%s: %s is not the name of a file", out->folders.data[0], name);
    return add_file(out, name, out->folders.data[0], d);
}
