// SPDX-License-Identifier: MIT
// nest_memo.c: see nest_memo.h.
#include "autodiff/affine/nest_memo.h"

#include "ir/core/flow.h"

#include <string.h>

enum { RELATIONS = 8 }; // that are kept of a nest: those of the last accesses

typedef struct known_relation {
    uint32_t axes, unclamped, rank;
    uint32_t dim[VY_MAX_AXES];
    isl_pw_aff *index[VY_MAX_AXES];
    isl_set *context;
    isl_map *map;
} known_relation;

struct vy_known_nest {
    vy_nest_key key;
    uint64_t hash;
    isl_set *context;
    isl_space *space;
    isl_set *domain;
    vy_interval *range;
    uint32_t *inexact;                    // as places in the chain, from 0
    uint32_t count, inexact_count, inner; // inner: a place in the chain, from 1; 0: none
    vy_affine_why why;
    known_relation relation[RELATIONS];
    uint32_t relations;
};

// ----------------------------------------------------------------------------------------- the key
static void put_loop(const vy_program *p, uint32_t loop, uint32_t *to)
{
    const vy_inst *i = &p->insts.data[loop];
    to[0] = i->type;
    to[1] = i->name;
    to[2] = i->op == VY_OP_LOOP && vy_exits(p, loop);
    for (uint32_t k = 0; k < 3; k++) to[3 + k] = i->op == VY_OP_LOOP ? vy_arg(p, loop, k) : 0;
}

vy_nest_key vy_nest_key_of(vy_nest *n, const uint32_t *opener, uint32_t count, uint32_t levels)
{
    enum { WORDS = 7 };
    const vy_program *p = n->a->p;
    vy_nest_key key = {.count = 3 + count * WORDS};
    key.words = vy_arena_alloc(&n->a->arena, key.count * sizeof *key.words);
    if (!key.words) {
        n->a->failed = true;
        return key;
    }
    key.words[0] = levels;
    key.words[1] = n->a->holes;
    key.words[2] = count;
    for (uint32_t k = 0; k < count; k++) {
        uint32_t *at = key.words + 3 + k * WORDS;
        at[0] = p->insts.data[opener[k]].op;
        if (vy_is_loop((vy_op)at[0])) put_loop(p, opener[k], at + 1);
        if (at[0] == VY_OP_IF) {
            at[1] = vy_arg(p, opener[k], 0);
            at[2] = vy_in_then(n->a->s, opener[k], n->place);
        }
    }
    return key;
}

static uint64_t hash_of(vy_nest_key key)
{
    uint64_t h = 14695981039346656037u; // FNV-1a, by words
    for (uint32_t k = 0; k < key.count; k++) h = (h ^ key.words[k]) * 1099511628211u;
    return h ^ h >> 32;
}

// ----------------------------------------------------------------------------------------- domains
static bool is_of(const vy_known_nest *e, const vy_affine *a, vy_nest_key key, uint64_t hash)
{
    return e->hash == hash && e->context == a->context && e->key.count == key.count &&
           !memcmp(e->key.words, key.words, key.count * sizeof *key.words);
}

// The slot of the key: open addressing in a table that is at most half full.
static vy_known_nest **slot_of(const vy_affine *a, vy_nest_key key, uint64_t hash)
{
    uint32_t at = (uint32_t)hash & (a->known_room - 1);
    while (a->known[at] && !is_of(a->known[at], a, key, hash)) at = (at + 1) & (a->known_room - 1);
    return &a->known[at];
}

static bool grow(vy_affine *a)
{
    enum { FIRST = 16 };
    const vy_affine old = *a;
    if (a->known_room > 2 * a->known_count) return true;
    a->known_room = old.known_room ? 2 * old.known_room : FIRST;
    a->known = vy_arena_alloc(&a->arena, a->known_room * sizeof(vy_known_nest *));
    if (!a->known) {
        a->known = old.known;
        a->known_room = old.known_room;
        return false;
    }
    for (uint32_t k = 0; k < old.known_room; k++) {
        vy_known_nest *e = old.known[k];
        if (!e) continue;
        uint32_t at = (uint32_t)e->hash & (a->known_room - 1);
        while (a->known[at]) at = (at + 1) & (a->known_room - 1);
        a->known[at] = e;
    }
    return true;
}

bool vy_nest_recall(vy_nest *n, vy_nest_key key, const uint32_t *opener, uint32_t count)
{
    const vy_affine *a = n->a;
    vy_known_nest *e = a->known_room ? *slot_of(a, key, hash_of(key)) : NULL;
    if (!e) return false;
    const uint32_t overs = a->p->overs.count;
    n->overs = overs;
    n->count = overs;
    for (uint32_t k = 0; k < count && n->count < e->count; k++)
        if (a->p->insts.data[opener[k]].op == VY_OP_LOOP) n->loop[n->count++] = opener[k];
    memcpy(n->range, e->range, n->count * sizeof *n->range);
    n->space = isl_space_copy(e->space);
    n->domain = isl_set_copy(e->domain);
    n->inexact_count = e->inexact_count;
    for (uint32_t k = 0; k < e->inexact_count; k++) n->inexact[k] = opener[e->inexact[k]];
    n->inner = e->inner ? opener[e->inner - 1] : 0;
    n->why = e->why;
    n->known = e;
    vy_affine_weigh(n->a, n->domain); // what is computed next is as heavy as if this had been
    return true;
}

void vy_nest_remember(vy_nest *n, vy_nest_key key, const uint32_t *opener, uint32_t count)
{
    vy_affine *a = n->a;
    if (!vy_affine_ok(a)) return;
    a->failed |= !grow(a);
    vy_known_nest *e = a->failed ? NULL : vy_arena_alloc(&a->arena, sizeof *e);
    vy_interval *range = vy_arena_alloc(&a->arena, (n->count + 1) * sizeof *range);
    uint32_t *inexact = vy_arena_alloc(&a->arena, (n->inexact_count + 1) * sizeof *inexact);
    a->failed |= !e || !range || !inexact;
    if (a->failed) return;
    memcpy(range, n->range, n->count * sizeof *range);
    uint32_t inner = 0, next = 0; // inexact ones are in the order of the chain
    for (uint32_t k = 0; k < count; k++) {
        if (next < n->inexact_count && n->inexact[next] == opener[k]) inexact[next++] = k;
        if (n->inner == opener[k]) inner = k + 1;
    }
    *e = (vy_known_nest){.key = key,
                         .hash = hash_of(key),
                         .context = isl_set_copy(a->context),
                         .space = isl_space_copy(n->space),
                         .domain = isl_set_copy(n->domain),
                         .range = range,
                         .inexact = inexact,
                         .count = n->count,
                         .inexact_count = n->inexact_count,
                         .inner = inner,
                         .why = n->why};
    *slot_of(a, key, e->hash) = e;
    a->known_count++;
    n->known = e;
}

// --------------------------------------------------------------------------------------- relations
// The nest's entry, if nothing has narrowed its domain since.
static vy_known_nest *entry_of(const vy_affine_access *x)
{
    vy_known_nest *e = x->nest.known;
    return e && e->domain == x->nest.domain ? e : NULL;
}

bool vy_access_in_context(const vy_affine_access *x)
{
    const vy_known_nest *e = entry_of(x);
    return e && e->context == x->nest.a->context;
}

static bool is_relation(const known_relation *r, const vy_affine_access *x, uint32_t axes)
{
    if (!r->map || r->axes != axes || r->unclamped != x->unclamped || r->rank != x->rank ||
        r->context != x->nest.a->context)
        return false;
    for (uint32_t k = 0; k < x->rank; k++) {
        if (k < 32 && !(axes >> k & 1)) continue;
        if (r->dim[k] != x->dim[k].id || !x->index[k] ||
            isl_pw_aff_plain_is_equal(r->index[k], x->index[k]) != isl_bool_true)
            return false;
    }
    return true;
}

isl_map *vy_access_recall(const vy_affine_access *x, uint32_t axes)
{
    const vy_known_nest *e = entry_of(x);
    for (uint32_t k = 0; e && k < RELATIONS; k++)
        if (is_relation(&e->relation[k], x, axes)) return isl_map_copy(e->relation[k].map);
    return NULL;
}

static void forget_relation(known_relation *r)
{
    for (uint32_t k = 0; k < r->rank; k++) isl_pw_aff_free(r->index[k]);
    isl_set_free(r->context);
    isl_map_free(r->map);
    *r = (known_relation){0};
}

void vy_access_remember(const vy_affine_access *x, uint32_t axes, isl_map *map)
{
    vy_known_nest *e = entry_of(x);
    if (!e || !map) return;
    known_relation *r = &e->relation[e->relations++ % RELATIONS];
    forget_relation(r);
    *r = (known_relation){.axes = axes,
                          .unclamped = x->unclamped,
                          .rank = x->rank,
                          .context = isl_set_copy(x->nest.a->context),
                          .map = isl_map_copy(map)};
    for (uint32_t k = 0; k < x->rank; k++) {
        r->dim[k] = x->dim[k].id;
        r->index[k] = isl_pw_aff_copy(x->index[k]);
    }
}

void vy_nest_memo_free(vy_affine *a)
{
    for (uint32_t k = 0; k < a->known_room; k++) {
        vy_known_nest *e = a->known[k];
        for (uint32_t j = 0; e && j < RELATIONS; j++) forget_relation(&e->relation[j]);
        if (!e) continue;
        isl_set_free(e->context);
        isl_space_free(e->space);
        isl_set_free(e->domain);
    }
}
