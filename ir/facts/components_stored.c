// SPDX-License-Identifier: MIT
// components_stored.c: groups of values that rows store, and that slots take, from these back.
//
//   store y[i, 0], a * v.x    store y[i, 1], b * v.y        y[i] = vec2(a, b) * v
//
// They are computed alike, from a group among others; what else they need has no common origin.
#include "ir/facts/component_finder.h"

typedef vy_component_finder finder;

enum { MOST_TRIES = 64 };

static const vy_inst *inst(const finder *f, uint32_t id) { return &f->p->insts.data[id]; }

typedef struct tuple {
    uint32_t id[VY_MOST_COMPONENTS];
    uint32_t size;
} tuple;

static tuple operands(const finder *f, const tuple *t, uint32_t k)
{
    tuple a = {.size = t->size};
    for (uint32_t j = 0; j < t->size; j++)
        a.id[j] = vy_arg(f->p, t->id[j], k ^ vy_component_exchanged(f, t->id[j], false));
    return a;
}

static bool are_constant(const finder *f, const tuple *t)
{
    bool all = true;
    for (uint32_t j = 0; j < t->size; j++) all &= vy_id_const(f->p, t->id[j]) != NULL;
    return all;
}

static bool are_one(const tuple *t)
{
    bool all = true;
    for (uint32_t j = 1; j < t->size; j++) all &= t->id[j] == t->id[0];
    return all;
}

static bool are_group(const finder *f, const tuple *t)
{
    const uint32_t g = vy_component_group(f, t->id[0]);
    bool all = g && f->c->groups.data[g].size == t->size;
    for (uint32_t j = 0; all && j < t->size; j++)
        all = vy_component_group(f, t->id[j]) == g && f->c->component[t->id[j]] == j;
    return all;
}

static bool needs_one_of(const finder *f, uint32_t id, const uint32_t *ids, uint32_t n)
{
    for (uint32_t k = 0; k < inst(f, id)->nargs; k++)
        for (uint32_t j = 0; j < n; j++)
            if (vy_arg(f->p, id, k) == ids[j]) return true;
    return false;
}

bool vy_components_nest(const finder *f, const uint32_t *ids, uint32_t n)
{
    bool any = false;
    for (uint32_t j = 0; j < n; j++) any |= needs_one_of(f, ids[j], ids, n);
    return any;
}

bool vy_components_alike(const finder *f, const uint32_t *ids, uint32_t n)
{
    for (uint32_t j = 0; j < n; j++) {
        if (VY_IS_LEAF(ids[j]) || !vy_component_computed(f, ids[j])) return false;
        const vy_inst *a = inst(f, ids[0]), *b = inst(f, ids[j]);
        if (a->op != b->op || a->type != b->type || a->nargs != b->nargs || a->aux != b->aux ||
            f->c->stretch[ids[j]] != f->c->stretch[ids[0]])
            return false;
    }
    return !vy_components_nest(f, ids, n);
}

// Alike, and free to become a group.
static bool may_group(const finder *f, const tuple *t)
{
    if (!vy_components_alike(f, t->id, t->size)) return false;
    for (uint32_t j = 0; j < t->size; j++) {
        if (vy_component_group(f, t->id[j])) return false;
        for (uint32_t i = 0; i < j; i++)
            if (t->id[i] == t->id[j]) return false;
    }
    return true;
}

// Makes a group of these values if one of their operands is one.
static bool form(finder *f, const tuple *t, uint32_t *tries)
{
    bool any = false;
    if (!*tries || !may_group(f, t)) return false;
    --*tries;
    for (uint32_t k = 0; k < inst(f, t->id[0])->nargs; k++) {
        const tuple a = operands(f, t, k);
        const bool one = are_one(&a);
        if (!one && k == 0 && inst(f, t->id[0])->op == VY_OP_SELECT) return false;
        if (!one && !are_constant(f, &a)) any |= are_group(f, &a) || form(f, &a, tries);
    }
    if (!any || !vy_vec_push(&f->c->groups, (vy_group){.size = t->size})) return false;
    for (uint32_t k = 0; k < t->size; k++) {
        vy_component_leave(f, t->id[k]);
        if (!vy_component_enter(f, t->id[k], f->c->groups.count - 1, k)) return false;
    }
    return true;
}

static void take(finder *f, const uint32_t *values, uint32_t n, void *unused)
{
    (void)unused;
    tuple t = {.size = n};
    uint32_t tries = MOST_TRIES;
    for (uint32_t j = 0; j < n; j++) t.id[j] = values[j];
    form(f, &t, &tries);
}

void vy_components_stored(finder *f)
{
    const uint32_t rows = f->done.count;
    for (uint32_t r = 0; r < rows; r++) {
        const vy_group *g = &f->c->groups.data[f->done.data[r]];
        const vy_inst *i = inst(f, g->member[0]);
        tuple t = {.size = g->size};
        uint32_t tries = MOST_TRIES;
        if (i->op != VY_OP_STORE && i->op != VY_OP_ATOMIC_ADD) continue;
        for (uint32_t k = 0; k < g->size; k++) t.id[k] = vy_arg(f->p, g->member[k], i->nargs - 1u);
        form(f, &t, &tries);
    }
    vy_component_slot_values(f, take, NULL);
}
