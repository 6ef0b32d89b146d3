// SPDX-License-Identifier: MIT
// pipe_spaces.c: the workspaces of a pipeline's derivative: of what each is, and its bytes.
#include "autodiff/explain/explain_pipe.h"

#include <stdlib.h>
#include <string.h>

// What a buffer of the result is, by its name.  Sorted, as pipelines may have very many.
typedef struct named_role {
    const char *name;
    uint32_t order; // of those with one name the first counts
    explain_role role;
} named_role;

static int by_name(const void *a, const void *b)
{
    const named_role *x = a, *y = b;
    const int c = strcmp(x->name, y->name);
    return c ? c : (x->order > y->order) - (x->order < y->order);
}

static named_role *name_roles(pipe_explaining *w, uint32_t *count)
{
    const notes *n = &w->x.notes;
    named_role *list = vy_explain_array(&w->x, 3 * n->buffers.count + 1, sizeof *list);
    *count = 0;
    for (uint32_t i = 0; list && i < n->buffers.count; i++) {
        const note_buffer *b = &n->buffers.data[i];
        const named_role roles[] = {{b->adjoint_name, 0, {VY_WORK_ADJOINT, b->name, 0}},
                                    {b->name, 0, {VY_WORK_CONTENTS, b->name, 0}},
                                    {b->copy, 0, {VY_WORK_COPY, b->name, 0}}};
        for (uint32_t k = 0; k < 3; k++) {
            if (!roles[k].name) continue;
            list[*count] = roles[k];
            list[*count].order = *count;
            ++*count;
        }
    }
    if (*count) qsort(list, *count, sizeof *list, by_name);
    return list;
}

static explain_role role_of(const pipe_explaining *w, const named_role *roles, uint32_t count,
                            const pipe_space *s)
{
    if (s->p->buffers.data[s->buffer].made == VY_MADE_TAPE)
        return (explain_role){VY_WORK_TAPE, NULL, 0};
    if (s->p != w->result->signature) count = 0; // of a program that is dispatched
    uint32_t first = 0;
    for (uint32_t end = count; first < end;) {
        const uint32_t middle = first + (end - first) / 2;
        if (strcmp(roles[middle].name, s->name) < 0)
            first = middle + 1;
        else
            end = middle;
    }
    const bool found = first < count && strcmp(roles[first].name, s->name) == 0;
    return found ? roles[first].role : (explain_role){VY_WORK_OTHER, NULL, 0};
}

void vy_explain_spaces(pipe_explaining *w, const pipe_count *g)
{
    vy_explain_workspace *list = vy_explain_array(&w->x, g->spaces.count, sizeof *list);
    uint32_t named;
    const named_role *roles = name_roles(w, &named);
    vy_poly tapes = {0};
    for (uint32_t i = 0; list && roles && i < g->spaces.count; i++) {
        const pipe_space *s = &g->spaces.data[i];
        const explain_role role = role_of(w, roles, named, s);
        const vy_type type = s->p->buffers.data[s->buffer].type;
        list[i] = (vy_explain_workspace){.name = vy_explain_text(&w->x, s->name),
                                         .of = role.of,
                                         .kind = role.kind,
                                         .type = type,
                                         .shape = vy_explain_shape(&w->x, s->p, s->buffer),
                                         .all = vy_count_amount(g->c, s->bytes)};
        if (role.kind == VY_WORK_TAPE) tapes = vy_poly_add(&g->c->space, tapes, s->bytes);
    }
    w->e->workspaces = list;
    w->e->workspace_count = list ? g->spaces.count : 0;
    w->e->tape = vy_count_amount(g->c, tapes);
}
