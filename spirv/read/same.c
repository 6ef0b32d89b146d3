// SPDX-License-Identifier: MIT
// same.c: see same.h.
//
// Both functions are walked side by side.  Each id of one is paired with the id of the other at its
// first occurrence, and must have this partner wherever else it occurs.  Ids of a module (types,
// constants, the import of GLSL.std.450, functions that are called) are compared by what defines
// them.  Those of a function are paired before or where they are defined, so that its definition
// tells.  Names and lines are left out: nothing is computed with them.
#include "spirv/read/same.h"

#include <string.h>

typedef struct pair {
    uint32_t a, b;
} pair;
VY_VEC_TYPE(pair_vec, pair);

typedef struct comparison {
    read_side a, b;
    vy_arena arena;
    uint32_t *partner; // by id of b: its id of a; 0: none yet
    uint32_t *table;   // of a, hashed: index + 1 of a pair; functions have few of a module's ids
    uint32_t mask;     // the table's size − 1
    pair_vec pairs;
} comparison;

static bool same_functions(comparison *c, uint32_t f, uint32_t g);

// ------------------------------------------------------------------------------------------- pairs
static uint32_t *slot(const comparison *c, uint32_t id)
{
    uint32_t at = id * 2654435769u >> 7 & c->mask;
    while (c->table[at] && c->pairs.data[c->table[at] - 1].a != id) at = (at + 1) & c->mask;
    return &c->table[at];
}

// At most one pair for each id of b: the table has room for twice as many.
static bool make_pair(comparison *c, uint32_t a, uint32_t b)
{
    if (!vy_vec_push(&c->pairs, ((pair){a, b}))) {
        c->arena.oom = true;
        return false;
    }
    *slot(c, a) = c->pairs.count;
    c->partner[b] = a;
    return true;
}

// ------------------------------------------------------------------------------------ instructions
static bool same_ids(comparison *c, uint32_t a, uint32_t b);

static bool is_kind(const char *kind, const char *name)
{
    return !strncmp(kind, name, strlen(name));
}

// Operands from word i on, by their kinds in the grammar.  Behind the last kind come more words of
// a literal, and what masks say, which are literals in all functions of ours.
static bool same_operands(comparison *c, uint32_t at, uint32_t bt, uint32_t i, const char *kind)
{
    const uint32_t n = read_length(c->a.w, at);
    for (; i < n; i++) {
        const uint32_t a = read_word(c->a.w, at, i), b = read_word(c->b.w, bt, i);
        const bool ids = is_kind(kind, "Id") || is_kind(kind, "PairIdRefIdRef");
        if (!ids && is_kind(kind, "Pair")) return false; // OpSwitch: none is in our functions
        if (ids ? !same_ids(c, a, b) : a != b) return false;
        const size_t length = strcspn(kind, " ");
        if (length && kind[length - 1] != '*') kind += length + (kind[length] == ' ');
    }
    return true;
}

static bool same_instructions(comparison *c, uint32_t at, uint32_t bt)
{
    bool result, type;
    const SpvOp op = read_op(c->a.w, at);
    if (op != read_op(c->b.w, bt) || read_length(c->a.w, at) != read_length(c->b.w, bt))
        return false;
    read_has_result(op, &result, &type);
    uint32_t i = 1;
    for (; i < 1u + type + result; i++)
        if (!same_ids(c, read_word(c->a.w, at, i), read_word(c->b.w, bt, i))) return false;
    return same_operands(c, at, bt, i, read_operand_kinds(op));
}

static bool same_ids(comparison *c, uint32_t a, uint32_t b)
{
    const uint32_t at = read_definition(c->a.w, a), bt = read_definition(c->b.w, b);
    if (!at || !bt) return false;
    if (c->partner[b] || *slot(c, a)) return c->partner[b] == a;
    if (c->a.decorated[a] != c->b.decorated[b] || c->a.decorated[a] & READ_DECORATED) return false;
    if (!make_pair(c, a, b)) return false;
    if (read_op(c->b.w, bt) == SpvOpFunction)
        return read_op(c->a.w, at) == SpvOpFunction && same_functions(c, a, b);
    const bool global = at < c->a.w->functions;
    if (global != (bt < c->b.w->functions)) return false;
    return !global || same_instructions(c, at, bt);
}

// --------------------------------------------------------------------------------------- functions
static bool says_nothing(SpvOp op)
{
    return op == SpvOpLine || op == SpvOpNoLine || op == SpvOpNop;
}

static uint32_t skip(const read_words *w, uint32_t at) // to what computes
{
    while (at < w->count && says_nothing(read_op(w, at))) at = read_next(w, at);
    return at;
}

static bool same_functions(comparison *c, uint32_t f, uint32_t g)
{
    const read_words *a = c->a.w, *b = c->b.w;
    uint32_t at = read_definition(a, f), bt = read_definition(b, g);
    while (at < a->count && bt < b->count) {
        if (!same_instructions(c, at, bt)) return false;
        if (read_op(b, bt) == SpvOpFunctionEnd) return true;
        at = skip(a, read_next(a, at));
        bt = skip(b, read_next(b, bt));
    }
    return false;
}

bool read_same_function(read_side a, uint32_t f, read_side b, uint32_t g, bool *same)
{
    comparison c = {.a = a, .b = b, .mask = 1};
    while (c.mask < 2 * b.w->bound) c.mask = c.mask * 2 + 1;
    c.partner = vy_arena_alloc(&c.arena, (b.w->bound + 1) * sizeof *c.partner);
    c.table = vy_arena_alloc(&c.arena, ((size_t)c.mask + 1) * sizeof *c.table);
    *same = c.partner && c.table && same_ids(&c, f, g);
    const bool failed = c.arena.oom;
    vy_vec_free(&c.pairs);
    vy_arena_free(&c.arena);
    return !failed;
}

// ------------------------------------------------------------------------------------- decorations
static void decorate(uint8_t *of, const read_words *w, uint32_t id, uint8_t how)
{
    if (id < w->bound) of[id] |= how;
}

uint8_t *read_decorations(const read_words *w, vy_arena *arena)
{
    uint8_t *of = vy_arena_alloc(arena, w->bound + 1);
    for (uint32_t at = 5; of && at < w->functions; at = read_next(w, at)) { // after the header
        const SpvOp op = read_op(w, at);
        const uint32_t id = read_word(w, at, 1);
        const bool exact = read_word(w, at, 2) == SpvDecorationNoContraction;
        if (op == SpvOpDecorate) decorate(of, w, id, exact ? READ_EXACT : READ_DECORATED);
        if (op == SpvOpDecorateId || op == SpvOpDecorateString || op == SpvOpMemberDecorate)
            decorate(of, w, id, READ_DECORATED);
        if (op == SpvOpGroupMemberDecorate || op == SpvOpGroupDecorate)
            for (uint32_t i = 2; i < read_length(w, at); i++)
                decorate(of, w, read_word(w, at, i), id < w->bound ? of[id] | READ_DECORATED : 0);
    }
    return of;
}
