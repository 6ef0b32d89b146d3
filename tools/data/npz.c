// SPDX-License-Identifier: MIT
// npz.c: see npz.h.  What reads and writes archives is a module (npz_zip.c): libzip brings
// libraries that no other start of the command should load.
#include "tools/data/npz.h"

#include "tools/data/module.h"

#include <dlfcn.h>
#include <stdio.h>
#include <string.h>

// A function of the module, to *function; false: there is no module.
static bool find(const char *name, void *function)
{
    static void *library;
    char why[200];
    if (!library) library = module_load("vyre-npz.so", why);
    void *symbol = library ? dlsym(library, name) : NULL;
    if (symbol) memcpy(function, &symbol, sizeof symbol);
    return symbol != NULL;
}

static bool unavailable(const char *what, const char *path, vy_diag *d)
{
    return fail(d, TOOL_UNAVAILABLE, "write .npy, or build with libzip (Debian: libzip-dev)",
                "%s %s: this build reads and writes no .npz", what, path);
}

bool npz_available(const char *what, const char *path, vy_diag *d)
{
    __typeof__(npz_zip_read) *read;
    return find("npz_zip_read", &read) || unavailable(what, path, d);
}

bool npz_read(const char *path, const char *member, text *out, vy_diag *d)
{
    __typeof__(npz_zip_read) *read;
    if (!find("npz_zip_read", &read)) return unavailable("--in", path, d);
    return read(path, member, out, d);
}

bool npz_has(const char *path, const char *member, bool *has, vy_diag *d)
{
    __typeof__(npz_zip_has) *look;
    if (!find("npz_zip_has", &look)) return unavailable("--in", path, d);
    return look(path, member, has, d);
}

bool npz_write(const npz_member *members, uint32_t count, const char *path, text *out, vy_diag *d)
{
    __typeof__(npz_zip_write) *write;
    if (!find("npz_zip_write", &write)) return unavailable("--out", path, d);
    return write(members, count, path, out, d);
}
