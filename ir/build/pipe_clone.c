// SPDX-License-Identifier: MIT
// pipe_clone.c: copies a pipeline into another module.
//
// Its programs must be there already: programs[k] is the number that program k of the old module
// has in the new one.
#include "ir/build/edit.h"

#include <string.h>

static void *keep(vy_module *m, const void *data, size_t size)
{
    void *copy = vy_arena_alloc(&m->arena, size + 1);
    if (copy && size) memcpy(copy, data, size);
    return copy;
}

static const char *keep_name(vy_module *m, const char *name)
{
    return vy_arena_strdup(&m->arena, name, strlen(name));
}

static bool keep_dispatch(vy_module *m, vy_pipe_step *s, const vy_program *p,
                          const uint32_t *programs)
{
    vy_pipe_arg *args = keep(m, s->args, s->arg_count * sizeof *args);
    vy_pipe_scalar *scalars = keep(m, s->scalars, p->scalars.count * sizeof *scalars);
    bool ok = args && scalars;
    for (uint32_t i = 0; ok && i < s->arg_count; i++)
        ok = (args[i].index = keep(m, args[i].index, args[i].rank * sizeof *args[i].index));
    for (uint32_t i = 0; ok && i < p->scalars.count; i++)
        ok = (scalars[i].name = keep_name(m, scalars[i].name));
    if (ok && s->groups) ok = (s->groups = keep(m, s->groups, 3 * sizeof *s->groups));
    s->args = args;
    s->scalars = scalars;
    s->program = programs[s->program];
    return ok;
}

// What a step points to is in its module's arena, so it is copied into the new one's.
static bool keep_step(vy_module *m, vy_pipe_step *s, const vy_module *old, const uint32_t *programs)
{
    switch (s->kind) {
    case VY_PIPE_DISPATCH: return keep_dispatch(m, s, old->programs.data[s->program], programs);
    case VY_PIPE_VALUE:
        return (s->index = keep(m, s->index, s->index_count * sizeof *s->index)) != NULL;
    case VY_PIPE_REPEAT: return (s->counter = keep_name(m, s->counter)) != NULL;
    default: return true;
    }
}

vy_pipeline *vy_pipeline_clone(const vy_pipeline *old, vy_module *m, const uint32_t *programs)
{
    vy_pipeline *l = vy_realloc(NULL, sizeof *l);
    if (l) *l = (vy_pipeline){.module = m, .line = old->line};
    bool ok = l && (l->signature = vy_program_clone(old->signature, m));
    for (uint32_t i = 0; ok && i < old->steps.count; i++) {
        vy_pipe_step s = old->steps.data[i];
        ok = keep_step(m, &s, old->module, programs) && vy_vec_push(&l->steps, s);
    }
    if (ok) {
        l->name = l->signature->name;
        return l;
    }
    vy_fail_oom(m);
    vy_pipeline_free(l);
    return NULL;
}
