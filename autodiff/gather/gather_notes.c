// SPDX-License-Identifier: MIT
// gather_notes.c: what became of the additions to each buffer, for `explain`.
#include "autodiff/gather/gather_attempts.h"
#include "autodiff/gather/gather_owning.h"

#include <string.h>

static vy_gather_note *note_of(vy_gather_notes *notes, const char *name)
{
    for (uint32_t j = 0; j < notes->notes.count; j++)
        if (strcmp(notes->notes.data[j].buffer, name) == 0) return &notes->notes.data[j];
    vy_gather_note fresh = {.buffer = vy_arena_strdup(notes->arena, name, strlen(name))};
    if (!fresh.buffer || !vy_vec_push(&notes->notes, fresh)) return NULL;
    return &notes->notes.data[notes->notes.count - 1];
}

bool gather_note_left(const gather *g, const vy_program *r, vy_gather_notes *notes)
{
    for (uint32_t id = 1; id < r->insts.count; id++) {
        const vy_inst *i = &r->insts.data[id];
        if (i->op != VY_OP_ATOMIC_ADD || !g->left[i->aux]) continue;
        vy_gather_note *n = note_of(notes, r->buffers.data[i->aux].name);
        if (!n) return false;
        n->sites = g->left[i->aux];
        n->why = "is beyond a limit of the analysis";
        n->line = i->line;
        g->left[i->aux] = 0; // noted once
    }
    return true;
}

// The note of a buffer that is added to plainly; what was noted before is no more.
static bool note_owned(const gather *g, const vy_program *r, uint32_t buffer)
{
    const gather_site whole = {0};
    vy_gather_notes *notes = g->notes;
    vy_gather_note *n = note_of(notes, r->buffers.data[buffer].name);
    if (!n) return false;
    *n = (vy_gather_note){.buffer = n->buffer, .owned = true};
    for (uint32_t id = 1; id < r->insts.count; id++)
        n->sites += r->insts.data[id].op == VY_OP_ATOMIC_ADD && r->insts.data[id].aux == buffer;
    gather_note_assumed(g, &whole, n, notes->arena);
    for (uint32_t k = 0; k < g->site_count; k++)
        if (g->sites[k].access.buffer == buffer && g->sites[k].access.rows)
            gather_note_assumed(g, &g->sites[k], n, notes->arena);
    return true;
}

bool gather_take_owned(const gather *g, const vy_program *r)
{
    if (!g->made->rest) g->notes->notes.count = 0;
    for (uint32_t i = 1; i < r->buffers.count; i++)
        if (g->owners->alone[i] && !note_owned(g, r, i)) return false;
    return true;
}

bool gather_note_shared(const gather *g)
{
    const vy_program *r = g->r;
    for (uint32_t id = 1; id < r->insts.count; id++) {
        const vy_inst *i = &r->insts.data[id];
        if (i->op != VY_OP_ATOMIC_ADD || !vy_is_gradient(r->buffers.data[i->aux].role.kind))
            continue;
        const char *why = g->owners->why[i->aux];
        vy_gather_note *n = note_of(g->notes, r->buffers.data[i->aux].name);
        if (!n) return false;
        if (n->why || n->gathered || n->owned) continue;
        n->why = why ? why : "is in a program in which others stay atomic";
        n->line = i->line;
    }
    return true;
}

bool gather_note_before(const gather *g, const vy_gather_note_vec *before)
{
    for (uint32_t k = 0; k < before->count; k++) {
        vy_gather_note *n = note_of(g->notes, before->data[k].buffer);
        if (!n) return false;
        if (n->why || n->gathered || n->owned) continue;
        n->why = before->data[k].why;
        n->line = before->data[k].line;
    }
    return true;
}

bool gather_take_notes(const gather *g, const vy_program *r, vy_gather_notes *notes)
{
    for (uint32_t k = 0; k < g->site_count; k++) {
        const gather_site *site = &g->sites[k];
        vy_gather_note *n = note_of(notes, r->buffers.data[site->access.buffer].name);
        if (!n) return false;
        n->sites++;
        n->gathered += site->gathered;
        if (!n->map) n->map = site->text;
        if (!n->program && site->gathered) {
            const gather_program *q = &g->programs[site->program - 1];
            n->program = vy_arena_strdup(notes->arena, q->name, strlen(q->name));
            if (q->partial)
                n->partial = vy_arena_strdup(notes->arena, q->partial, strlen(q->partial));
            if (q->tree) n->tree = vy_arena_strdup(notes->arena, q->tree, strlen(q->tree));
        }
        // Of places with and without rows the conditions are those of all.
        if (site->gathered && (!n->assumes || site->access.rows))
            gather_note_assumed(g, site, n, notes->arena);
        if (!site->gathered && !n->why) n->why = site->why, n->line = r->insts.data[site->id].line;
    }
    return gather_note_left(g, r, notes);
}
