// SPDX-License-Identifier: MIT
// gather_versions.c: programs in the place of one reverse program, of which a launch runs one each:
// that whose condition holds.
//
//   repeat once in 0..(dims == 2) { f_case1(…); }         then f_case1_gather_a and f_case1_atomic
//   repeat once in 0..1 - (dims == 2) { f_case2(…); }
//
// What tells them apart is known in each of them, and each is gathered by itself.  gather_cases.c,
// gather_units.c, gather_apart.c and gather_groups.c make them.
#include "autodiff/gather/gather_attempts.h"
#include "autodiff/stages/stages.h"
#include "ir/check/check.h"
#include "ir/pass/pass.h"

#include <stdio.h>
#include <string.h>

// By buffer: it is written.
static void find_written(const vy_program *p, uint8_t *written)
{
    for (uint32_t id = 1; id < p->insts.count; id++)
        if (vy_op_infos[p->insts.data[id].op].effect == VY_WRITE)
            written[p->insts.data[id].aux] = 1;
}

// Do both write the same buffers?  A dispatch clears what it has as `out`, and only the version
// that runs does.
static bool write_alike(gather_versions *all, const vy_program *p, const vy_program *q)
{
    const uint32_t n = p->buffers.count;
    uint8_t *x = vy_arena_alloc(&all->g->arena, n), *y = vy_arena_alloc(&all->g->arena, n);
    all->g->failed |= !x || !y;
    if (!x || !y || q->buffers.count != n) return false;
    find_written(p, x);
    find_written(q, y);
    for (uint32_t i = 1; i < n; i++)
        if (x[i] != y[i] && vy_is_global(p->buffers.data[i].cls) &&
            !(all->cleared && all->cleared[i]))
            return false;
    return true;
}

vy_program *gather_clean_version(gather_versions *all, const vy_program *of, vy_program *q)
{
    vy_pass_context context = {0};
    if (!q || !vy_pass_cleanup(q, &context) || !vy_pass_dce(q, &context) || !gather_guard_once(q) ||
        !vy_check_program(q)) {
        all->g->failed = true;
        vy_program_free(q);
        return NULL;
    }
    const bool scalars = q->scalars.count == of->scalars.count;
    all->refused |= !scalars;
    if (scalars && write_alike(all, of, q)) return q;
    vy_program_free(q);
    return NULL;
}

void gather_take_version(gather_versions *all, vy_program *p, vy_dim holds)
{
    all->refused |= all->count == GATHER_VERSIONS;
    if (!all->refused && !all->g->failed && holds.id) {
        all->holds[all->count] = holds;
        all->version[all->count++] = p;
    } else if (p != all->g->r) {
        vy_program_free(p);
    }
}

void gather_free_versions(gather_versions *all)
{
    for (uint32_t k = 0; k < all->count; k++) vy_program_free(all->version[k]);
}

// The programs of the module but p.
typedef struct others {
    const vy_program **of;
    uint32_t count;
} others;

static others others_than(const gather *g, vy_arena *arena, const vy_program *p)
{
    others all = {vy_arena_alloc(arena, (g->m->programs.count + 1) * sizeof *all.of), 0};
    for (uint32_t k = 0; all.of && k < g->m->programs.count; k++)
        if (g->m->programs.data[k] != p) all.of[all.count++] = g->m->programs.data[k];
    return all;
}

static bool is_among(const others *all, const vy_program *p)
{
    for (uint32_t k = 0; k < all->count; k++)
        if (all->of[k] == p) return true;
    return false;
}

// The notes are of the last version.  Those of another only count its places, unless it has none
// that count; its programs are what the module has more than before.
static bool note_elsewhere(const gather *g, const others *before, bool counts)
{
    for (uint32_t k = 0; k < g->m->programs.count; k++) {
        const vy_program *q = g->m->programs.data[k];
        if (is_among(before, q)) continue;
        const char *copy = vy_arena_strdup(g->notes->arena, q->name, strlen(q->name));
        if (!copy || !vy_vec_push(&g->notes->elsewhere, copy)) return false;
    }
    if (!counts) g->notes->notes.count = 0;
    for (uint32_t k = 0; k < g->notes->notes.count; k++) {
        vy_gather_note *n = &g->notes->notes.data[k];
        *n = (vy_gather_note){.buffer = n->buffer,
                              .sites = n->sites,
                              .gathered = n->owned ? n->sites : n->gathered};
    }
    return true;
}

// How buffers of the whole begin: in its versions they are the pipeline's.
static bool find_starts(gather *g)
{
    const uint32_t count = g->r->buffers.count;
    gather_start *starts = vy_arena_alloc(&g->arena, count * sizeof *starts);
    for (uint32_t i = 1; starts && i < count; i++) starts[i] = gather_start_of(g, i);
    g->starts = starts;
    g->start_count = starts ? count : 0;
    return starts != NULL;
}

bool gather_replace_by_versions(gather_versions *all, const char *const *names, gather_one *one)
{
    gather *g = all->g;
    for (uint32_t k = 0; k < all->count; k++) {
        all->name[k] = all->version[k]->name = vy_stage_name(g->m, g->r, names[k]);
        if (!all->name[k]) return false;
    }
    const uint32_t count = all->count;
    if (!find_starts(g)) return false;
    all->count = 0; // they are the module's
    if (!vy_stages_replace_by_one(g->m, g->r, all->version, all->holds, count)) return false;
    bool ok = true;
    for (uint32_t k = 0; k < count && ok; k++) {
        gather own = *g;
        own.r = all->version[k];
        own.arena = (vy_arena){0};
        own.calmly = all->calmly && k + 1 == count;
        const others before = others_than(g, &g->arena, own.r);
        ok = before.of != NULL;
        const bool looks = k > 0 || !all->bare;
        if (ok && looks && gather_has_additions(own.r))
            ok = vy_affine_name_scalars(own.r) && one(&own);
        if (ok && g->notes && k + 1 < count) ok = note_elsewhere(g, &before, !all->general);
    }
    return ok;
}

bool gather_note_version(const gather *g, const char *condition, const char *otherwise)
{
    vy_arena *arena = g->notes->arena;
    for (uint32_t k = 0; k < g->notes->notes.count; k++) {
        vy_gather_note *n = &g->notes->notes.data[k];
        const char *more = n->assumes ? n->assumes : "";
        const size_t length = strlen(more) + strlen(condition) + sizeof " && ";
        char *text = vy_arena_alloc(arena, length);
        if (!text) return false;
        snprintf(text, length, "%s%s%s", condition, *more ? " && " : "", more);
        n->assumes = text;
        if (!n->otherwise) n->otherwise = vy_arena_strdup(arena, otherwise, strlen(otherwise));
        if (!n->otherwise) return false;
    }
    return true;
}

gather_probe gather_probe_version(gather_versions *all, const vy_program *p, bool thrifty,
                                  gather_one *one)
{
    gather_probe found = {0};
    if (!gather_has_additions(p)) return (gather_probe){.all = true};
    gather own = *all->g;
    own.arena = (vy_arena){0};
    own.notes = NULL;
    own.probe = &found;
    own.thrifty = thrifty;
    own.calmly = all->calmly;
    own.r = vy_program_clone(p, all->g->m);
    const bool ok = own.r && vy_affine_name_scalars(own.r) && one(&own);
    all->g->failed |= !ok;
    vy_program_free(own.r);
    return ok ? found : (gather_probe){0};
}
