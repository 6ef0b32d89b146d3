// SPDX-License-Identifier: MIT
// archive.c: `--out y=@r.npz --out z=@r.npz`: results of one run that go into one archive.
//
// Arrays are collected as .npy files until all are known; then each archive becomes one output.
#include "tools/command/archive.h"

#include <stdlib.h>
#include <string.h>

typedef struct archive {
    char *path;
    npz_member *members;
    uint32_t count;
} archive;

struct archives {
    archive *data;
    uint32_t count;
};

static archive *archive_at(command *c, const char *path)
{
    archives *all = c->archives ? c->archives : (c->archives = calloc(1, sizeof *all));
    for (uint32_t i = 0; all && i < all->count; i++)
        if (!strcmp(all->data[i].path, path)) return &all->data[i];
    char *copy = all ? strdup(path) : NULL;
    archive *more = copy ? realloc(all->data, (all->count + 1) * sizeof *more) : NULL;
    if (!more) return free(copy), NULL;
    all->data = more;
    more[all->count] = (archive){.path = copy};
    return &more[all->count++];
}

static bool is_taken(const archive *a, const char *name)
{
    for (uint32_t i = 0; i < a->count; i++)
        if (!strcmp(a->members[i].name, name)) return true;
    return false;
}

bool archive_add(command *c, const spec *to, const array *a, vy_diag *d)
{
    const char *name = to->member ? to->member : to->name;
    archive *into = archive_at(c, to->text);
    if (!into) return fail_memory(d);
    if (is_taken(into, name))
        return fail(d, TOOL_USAGE, "give one another name: --out NAME=@FILE.npz:OTHER",
                    "--out writes %s into %s twice", name, into->path);
    npz_member *more = realloc(into->members, (into->count + 1) * sizeof *more);
    if (!more) return fail_memory(d);
    into->members = more;
    more[into->count] = (npz_member){.name = strdup(name)};
    npz_member *m = &more[into->count++];
    npy_write(a, &m->file);
    return (m->name && !m->file.failed) || fail_memory(d);
}

bool archives_write(command *c, vy_diag *d)
{
    bool ok = true;
    for (uint32_t i = 0; c->archives && ok && i < c->archives->count; i++) {
        const archive *a = &c->archives->data[i];
        text file = {0};
        ok = npz_write(a->members, a->count, a->path, &file, d) &&
             output_add(&c->files, a->path, file.data, file.size, d);
        text_free(&file);
    }
    return ok;
}

void archives_free(command *c)
{
    for (uint32_t i = 0; c->archives && i < c->archives->count; i++) {
        archive *a = &c->archives->data[i];
        for (uint32_t k = 0; k < a->count; k++) {
            free(a->members[k].name);
            text_free(&a->members[k].file);
        }
        free(a->members);
        free(a->path);
    }
    if (c->archives) free(c->archives->data);
    free(c->archives);
    c->archives = NULL;
}
