// SPDX-License-Identifier: MIT
// mutate_spirv.c: mutations of SPIR-V modules that keep most of the grammar.
//
// A module with flipped bits is refused at once.  Here instructions stay instructions: an operand
// becomes another of its kind (an id of the same type, where there is one), instructions and blocks
// are removed, copied and exchanged, operations replaced by others with the same operands.  One in
// eight mutations is left to libFuzzer.
#include "spirv/spirv_opcodes.h"
#include "tests/fuzz/fuzz.h"

#include <stdlib.h>
#include <string.h>

size_t LLVMFuzzerMutate(uint8_t *data, size_t size, size_t max);
size_t LLVMFuzzerCustomMutator(uint8_t *data, size_t size, size_t max, unsigned seed);
size_t LLVMFuzzerCustomCrossOver(const uint8_t *a, size_t a_size, const uint8_t *b, size_t b_size,
                                 uint8_t *out, size_t max, unsigned seed);

enum { HEADER = 5, MOST_WORDS = 1 << 15, OP_LABEL = 248, OP_BRANCH = 249, OP_END = 56 };

typedef struct row {
    uint32_t number;
    bool type, result;
    uint32_t least;
    const char *operands;
} row;

static const row rows[] = {
#define X(name, number, type, result, least, version, operands, capabilities)                      \
    {number, type, result, least, operands},
    SPV_OPCODES(X)
#undef X
};
enum { ROWS = sizeof rows / sizeof *rows };

static const row *row_of(uint32_t op)
{
    for (uint32_t k = 0; k < ROWS; k++)
        if (rows[k].number == op) return &rows[k];
    return NULL;
}

typedef struct code {
    uint32_t words[MOST_WORDS], count, most;
    uint32_t at[MOST_WORDS], n; // where instructions begin
    uint32_t s;                 // of the random numbers
} code;

static uint32_t next(code *c, uint32_t below) // xorshift
{
    c->s ^= c->s << 13, c->s ^= c->s >> 17, c->s ^= c->s << 5;
    return below ? c->s % below : 0;
}

static uint32_t op_at(const code *c, uint32_t at) { return c->words[at] & 0xffff; }

static uint32_t length_at(const code *c, uint32_t at) { return c->words[at] >> 16; }

static bool take(code *c, const uint8_t *data, size_t size, size_t max)
{
    c->count = (uint32_t)(size / 4);
    c->most = max / 4 < MOST_WORDS ? (uint32_t)(max / 4) : MOST_WORDS;
    c->n = 0;
    if (size % 4 || c->count <= HEADER || c->count > c->most) return false;
    memcpy(c->words, data, size);
    for (uint32_t at = HEADER; at < c->count; at += length_at(c, at)) {
        if (!length_at(c, at) || length_at(c, at) > c->count - at) break;
        c->at[c->n++] = at;
    }
    return c->n > 1;
}

static uint32_t any(code *c) { return c->at[next(c, c->n)]; }

// ------------------------------------------------------------------------------------------ edits
// Replaces `gone` words at `at` by these.
static bool splice(code *c, uint32_t at, uint32_t gone, const uint32_t *words, uint32_t n)
{
    if (c->count - gone + n > c->most) return false;
    memmove(c->words + at + n, c->words + at + gone, (c->count - at - gone) * sizeof(uint32_t));
    if (n) memcpy(c->words + at, words, n * sizeof(uint32_t));
    c->count = c->count - gone + n;
    return true;
}

// Exchanges two ranges of words, a before b.
static bool exchange(code *c, uint32_t a, uint32_t a_end, uint32_t b, uint32_t b_end)
{
    static uint32_t copy[MOST_WORDS];
    if (a_end > b || b_end <= b) return false;
    uint32_t n = 0;
    memcpy(copy + n, c->words + b, (b_end - b) * sizeof *copy), n += b_end - b;
    memcpy(copy + n, c->words + a_end, (b - a_end) * sizeof *copy), n += b - a_end;
    memcpy(copy + n, c->words + a, (a_end - a) * sizeof *copy);
    memcpy(c->words + a, copy, (b_end - a) * sizeof *copy);
    return true;
}

// ------------------------------------------------------------------------------------------- kinds
// Does word i of the instruction hold an id?  By the grammar: "IdRef IdRef? PairIdRefIdRef* …".
static bool is_id(const code *c, uint32_t at, uint32_t i)
{
    const row *r = row_of(op_at(c, at));
    if (!r) return false;
    const uint32_t front = 1 + r->type + r->result;
    if (i < front) return i > 0;
    const char *kind = r->operands;
    for (uint32_t k = front; k < i; k++) {
        const char *end = kind + strcspn(kind, " ");
        if (*end && end[-1] != '*') kind = end + 1;
    }
    const bool pair = !strncmp(kind, "PairLiteral", 11);
    return !strncmp(kind, "Id", 2) || !strncmp(kind, "PairIdRef", 9) || (pair && i % 2 == 0);
}

static uint32_t result_of(const code *c, uint32_t at)
{
    const row *r = row_of(op_at(c, at));
    const uint32_t i = r ? 1 + r->type : 0;
    return r && r->result && i < length_at(c, at) ? c->words[at + i] : 0;
}

// What an id is, for choosing another: its type, or its operation where it has none.
static uint32_t sort_of(const code *c, uint32_t id)
{
    for (uint32_t k = 0; k < c->n; k++) {
        const row *r = row_of(op_at(c, c->at[k]));
        if (r && r->result && result_of(c, c->at[k]) == id)
            return r->type ? c->words[c->at[k] + 1] : 1u << 31 | r->number;
    }
    return 0;
}

static uint32_t another_id(code *c, uint32_t id)
{
    const bool alike = next(c, 8) != 0;
    const uint32_t sort = alike ? sort_of(c, id) : 0;
    for (uint32_t tries = 0; tries < 200; tries++) {
        const uint32_t other = result_of(c, any(c));
        if (other && other != id && (!alike || sort_of(c, other) == sort)) return other;
    }
    return id + 1;
}

static uint32_t another_literal(code *c, uint32_t w)
{
    static const uint32_t edges[] = {0,          1,          2,          3,          4,
                                     7,          16,         31,         32,         63,
                                     64,         255,        256,        1024,       65535,
                                     0x7fffffff, 0x80000000, 0xffffffff, 0x3f800000, 0x7fc00000};
    switch (next(c, 4)) {
    case 0: return w + 1;
    case 1: return w - 1;
    case 2: return w ^ 1u << next(c, 32);
    default: return edges[next(c, sizeof edges / sizeof *edges)];
    }
}

// --------------------------------------------------------------------------------------- mutations
static bool operand(code *c)
{
    const uint32_t at = any(c), n = length_at(c, at);
    if (n < 2) return false;
    const uint32_t i = 1 + next(c, n - 1);
    uint32_t *w = &c->words[at + i];
    *w = is_id(c, at, i) ? another_id(c, *w) : another_literal(c, *w);
    return true;
}

static bool remove_one(code *c)
{
    const uint32_t at = any(c);
    return splice(c, at, length_at(c, at), NULL, 0);
}

// A copy before another instruction, with an id of its own.
static bool copy_one(code *c)
{
    static uint32_t copy[MOST_WORDS];
    const uint32_t at = any(c), n = length_at(c, at);
    const row *r = row_of(op_at(c, at));
    memcpy(copy, c->words + at, n * sizeof *copy);
    if (r && r->result && 1 + r->type < (int)n) copy[1 + r->type] = c->words[3]++;
    return splice(c, any(c), 0, copy, n);
}

static bool exchange_two(code *c)
{
    const uint32_t k = next(c, c->n), far = next(c, 2) ? 2 : c->n;
    const uint32_t a = c->at[k], b = c->at[(k + 1 + next(c, far)) % c->n];
    return exchange(c, a < b ? a : b, (a < b ? a : b) + length_at(c, a < b ? a : b), a < b ? b : a,
                    (a < b ? b : a) + length_at(c, a < b ? b : a));
}

static bool other_operation(code *c)
{
    const uint32_t at = any(c);
    const row *r = row_of(op_at(c, at));
    for (uint32_t tries = 0; r && tries < 50; tries++) {
        const row *o = &rows[next(c, ROWS)];
        if (o == r || o->type != r->type || o->result != r->result || o->least != r->least)
            continue;
        c->words[at] = (c->words[at] & 0xffff0000) | o->number;
        return true;
    }
    return false;
}

// The block around instruction k: from its label to the next label or the function's end.
static bool block(const code *c, uint32_t k, uint32_t *begin, uint32_t *end)
{
    while (k > 0 && op_at(c, c->at[k]) != OP_LABEL) k--;
    *begin = c->at[k++];
    while (k < c->n && op_at(c, c->at[k]) != OP_LABEL && op_at(c, c->at[k]) != OP_END) k++;
    *end = k < c->n ? c->at[k] : c->count;
    return op_at(c, *begin) == OP_LABEL;
}

static bool exchange_blocks(code *c)
{
    uint32_t a, a_end, b, b_end;
    const uint32_t k = next(c, c->n), l = next(c, c->n);
    if (!block(c, k < l ? k : l, &a, &a_end) || !block(c, k < l ? l : k, &b, &b_end)) return false;
    return a != b && exchange(c, a, a_end, b, b_end);
}

// The block ends at instruction k with a branch to some block.
static bool cut_block(code *c)
{
    uint32_t begin, end;
    const uint32_t k = next(c, c->n), at = c->at[k];
    if (!block(c, k, &begin, &end) || at == begin || at >= end) return false;
    const uint32_t label = another_id(c, c->words[begin + 1]);
    return splice(c, at, end - at, (uint32_t[]){2u << 16 | OP_BRANCH, label}, 2);
}

// An instruction gets one operand more or less.
static bool other_length(code *c)
{
    const uint32_t at = any(c), n = length_at(c, at), op = op_at(c, at);
    if (next(c, 2) && n > 1) {
        c->words[at] = (n - 1) << 16 | op;
        return splice(c, at + n - 1, 1, NULL, 0);
    }
    c->words[at] = (n + 1) << 16 | op;
    const uint32_t w = c->words[at + n - 1];
    return n < 0xffff && splice(c, at + n, 0, &w, 1);
}

static bool header(code *c)
{
    uint32_t *w = &c->words[1 + next(c, HEADER - 1)];
    *w = another_literal(c, *w);
    return true;
}

static bool (*const mutations[])(code *) = {
    operand,         operand,         operand,   operand,      operand,
    operand,         remove_one,      copy_one,  exchange_two, other_operation,
    other_operation, exchange_blocks, cut_block, other_length, remove_one,
};
enum { MUTATIONS = sizeof mutations / sizeof *mutations };

static code module; // too large for a stack

size_t LLVMFuzzerCustomMutator(uint8_t *data, size_t size, size_t max, unsigned seed)
{
    code *c = &module;
    c->s = seed * 2654435761u | 1;
    next(c, 2);
    if (!take(c, data, size, max) || next(c, 8) == 0) return LLVMFuzzerMutate(data, size, max);
    for (uint32_t tries = 0; tries < 8; tries++) {
        if (!(next(c, 64) ? mutations[next(c, MUTATIONS)] : header)(c)) continue;
        memcpy(data, c->words, c->count * sizeof(uint32_t));
        return c->count * sizeof(uint32_t);
    }
    return LLVMFuzzerMutate(data, size, max);
}

// An instruction of b before one of a.
size_t LLVMFuzzerCustomCrossOver(const uint8_t *a, size_t a_size, const uint8_t *b, size_t b_size,
                                 uint8_t *out, size_t max, unsigned seed)
{
    static uint32_t copy[MOST_WORDS];
    code *c = &module;
    c->s = seed * 2654435761u | 1;
    if (!take(c, b, b_size, b_size)) return 0;
    const uint32_t at = any(c), n = length_at(c, at);
    memcpy(copy, c->words + at, n * sizeof *copy);
    if (!take(c, a, a_size, max) || !splice(c, any(c), 0, copy, n)) return 0;
    memcpy(out, c->words, c->count * sizeof(uint32_t));
    return c->count * sizeof(uint32_t);
}
