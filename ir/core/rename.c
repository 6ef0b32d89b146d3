// SPDX-License-Identifier: MIT
// rename.c: programs and pipelines get other names.
//
// Steps refer to programs by number, rules (`@vjp(NAME)`, `@derive_as(NAME)`) by name, and these
// follow.
#include "ir/core/pipe.h"

#include <string.h>

static bool is_there(const vy_module *m, const char *name)
{
    bool found = vy_module_find(m, name) != NULL;
    for (uint32_t i = 0; i < m->pipelines.count; i++)
        found |= strcmp(m->pipelines.data[i]->name, name) == 0;
    return found;
}

static bool refuse(const vy_module *m, const char *from, const char *to, vy_diag *diag)
{
    *diag = (vy_diag){0};
    if (!vy_name_printable(to))
        vy_diag_set(diag, VY_E_API, 0, 0, "see docs/language.md 2", "`%.200s` cannot be a name",
                    to);
    else if (!is_there(m, from))
        vy_diag_set(diag, VY_E_NAME_UNKNOWN, 0, 0, NULL, "there is no program `%.200s`", from);
    else if (strcmp(from, to) && is_there(m, to))
        vy_diag_set(diag, VY_E_NAME_TAKEN, 0, 0, NULL, "`%.200s` is already the name of a program",
                    to);
    return diag->severity == VY_ERROR;
}

static void rename_program(vy_program *p, const char *from, const char *to)
{
    if (strcmp(p->name, from) == 0) p->name = to;
    for (int k = 0; k < VY_NAMES_OF; k++)
        if (p->rules[k] && strcmp(p->rules[k], from) == 0) p->rules[k] = to;
}

bool vy_module_rename(vy_module *m, const char *from, const char *to, vy_diag *diag)
{
    if (refuse(m, from, to, diag)) return false;
    const char *was = vy_arena_strdup(&m->arena, from, strlen(from));
    const char *kept = was ? vy_arena_strdup(&m->arena, to, strlen(to)) : NULL;
    if (!kept) return vy_diag_set(diag, VY_E_MEMORY, 0, 0, NULL, "out of memory"), false;
    for (uint32_t i = 0; i < m->programs.count; i++) rename_program(m->programs.data[i], was, kept);
    for (uint32_t i = 0; i < m->pipelines.count; i++) {
        vy_pipeline *l = m->pipelines.data[i];
        if (strcmp(l->name, was) == 0) l->name = kept;
        rename_program(l->signature, was, kept);
    }
    return true;
}
