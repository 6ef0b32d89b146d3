// SPDX-License-Identifier: MIT
// load.c: see load.h.
#include "session/load.h"

#include "session/file.h"
#include "session/import.h"
#include "session/internal.h"
#include "session/shader.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

// The folders as vys_import_file takes them; NULL: memory.
static const char **folders_of(const vys_load_options *o)
{
    const char **out = calloc((size_t)o->include_count + 1, sizeof *out);
    for (uint32_t i = 0; out && i < o->include_count; i++) out[i] = o->includes[i];
    return out;
}

static vy_module *parse(const char *text, size_t size, const char *name, const vys_load_options *o)
{
    char identity[VYS_IDENTITY];
    const char **folders = folders_of(o);
    if (!folders) return NULL;
    vys_file_identity(name, identity); // so that a file that imports it is a cycle
    vy_module *m = vy_parse_from(text, size, name,
                                 &(vy_parse_options){.defines = o->defines,
                                                     .define_count = o->define_count,
                                                     .import = vys_import_file,
                                                     .user = folders,
                                                     .identity = *identity ? identity : NULL});
    free(folders);
    return m;
}

// What follows the last member known here was compared: the nested struct ends where ours does.
static bool take(vys_load_options *to, const vys_load_options *from, vy_diag *d)
{
    if (!vys_take(to, sizeof *to, from, "vys_load_options", d)) return false;
    if (to->read.size > sizeof to->read) to->read.size = sizeof to->read;
    return true;
}

bool vys_load_data(const void *data, size_t size, const char *name, const vys_load_options *options,
                   vy_module **out, vy_diag *d)
{
    vys_load_options taken;
    *out = NULL;
    if (!take(&taken, options, d)) return false;
    options = &taken;
    if (vy_spirv_is(data, size))
        *out = vy_spirv_read(data, size, name, &options->read);
    else if (vy_binary_is(data, size))
        *out = vy_binary_read(data, size);
    else
        *out = parse(data, size, name, options);
    if (!*out) return vys_fail_memory(d);
    if (vy_module_ok(*out)) return true;
    *d = *vy_module_diag(*out);
    return false;
}

// "NAME=VALUE", as compilers take it; NULL: memory.
static char *joined(const vy_define *def)
{
    const size_t n = strlen(def->name) + strlen(def->value) + 2;
    char *out = malloc(n);
    if (out) snprintf(out, n, "%s=%s", def->name, def->value);
    return out;
}

static bool compile(const char *path, const vys_load_options *o, void **words, size_t *size,
                    vy_diag *d)
{
    char **defines = calloc((size_t)o->define_count + 1, sizeof *defines);
    bool ok = defines != NULL;
    for (uint32_t i = 0; ok && i < o->define_count; i++) {
        defines[i] = joined(&o->defines[i]);
        ok = defines[i] != NULL;
    }
    if (!ok) vys_fail_memory(d);
    ok = ok && vys_shader_compile(path,
                                  &(vys_shader_options){.defines = (const char *const *)defines,
                                                        .define_count = o->define_count,
                                                        .includes = o->includes,
                                                        .include_count = o->include_count},
                                  words, size, d);
    for (uint32_t i = 0; defines && i < o->define_count; i++) free(defines[i]);
    free(defines);
    return ok;
}

bool vys_load(const char *path, const vys_load_options *options, vy_module **out, vy_diag *d)
{
    vys_load_options taken;
    void *data = NULL;
    size_t size;
    *out = NULL;
    if (!take(&taken, options, d)) return false;
    options = &taken;
    bool ok = vys_shader_takes(path) ? compile(path, options, &data, &size, d)
                                     : vys_file_read(path, &data, &size, d);
    ok = ok && vys_load_data(data, size, path, options, out, d);
    free(data);
    return ok;
}
