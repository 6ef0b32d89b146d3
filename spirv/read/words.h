// SPDX-License-Identifier: MIT
// words.h: a SPIR-V module as words: where everything in it is defined.
//
// Nothing of the module is trusted: words are counted before they are read, ids are below the bound
// that the header states, and each has one definition.
#ifndef VYRE_READ_WORDS_H
#define VYRE_READ_WORDS_H

#include "ir/core/mem.h"

#include <spirv/unified1/spirv.h>

typedef struct read_words {
    const uint32_t *words; // in this machine's order of bytes
    uint32_t count, bound, version;
    uint32_t *at;       // by id: the word at which its definition begins; 0: it has none
    uint32_t *type;     // by id: the id of its type; 0: it has none
    uint32_t functions; // the word at which the first function begins, or `count`
} read_words;

// What is wrong with a module that cannot be taken apart: at which word, and in words.
typedef struct read_fault {
    uint32_t at;
    const char *what; // NULL: memory
} read_fault;

// Takes the module apart; everything that it needs is the arena's.
bool read_words_make(read_words *m, const void *data, size_t size, vy_arena *arena, read_fault *f);

static inline SpvOp read_op(const read_words *m, uint32_t at)
{
    return (SpvOp)(m->words[at] & SpvOpCodeMask);
}
static inline uint32_t read_length(const read_words *m, uint32_t at)
{
    return m->words[at] >> SpvWordCountShift;
}
static inline uint32_t read_next(const read_words *m, uint32_t at)
{
    return at + read_length(m, at);
}
// Word i of the instruction; 0 past its end.
static inline uint32_t read_word(const read_words *m, uint32_t at, uint32_t i)
{
    return i < read_length(m, at) ? m->words[at + i] : 0;
}
// Where id is defined; 0: nowhere.  The word at 0 is the magic number, no instruction.
static inline uint32_t read_definition(const read_words *m, uint32_t id)
{
    return id < m->bound ? m->at[id] : 0;
}
// The value that the instruction at `at` computes; 0: it computes none.
static inline uint32_t read_result(const read_words *m, uint32_t at)
{
    const uint32_t id = read_word(m, at, 2);
    return id && read_definition(m, id) == at ? id : 0;
}
// The operation that defines id; SpvOpNop: none.
static inline SpvOp read_op_of(const read_words *m, uint32_t id)
{
    const uint32_t at = read_definition(m, id);
    return at ? read_op(m, at) : SpvOpNop;
}
// Word i of the instruction that defines id; 0 past its end.
static inline uint32_t read_word_of(const read_words *m, uint32_t id, uint32_t i)
{
    const uint32_t at = read_definition(m, id);
    return at ? read_word(m, at, i) : 0;
}
// The string that begins at word i of an instruction, "" where it does not end in it.  Where the
// words that follow it begin is i + its length / 4 + 1.
const char *read_string(const read_words *m, uint32_t at, uint32_t i);
// Whether the operation has a result id, and a type before it.
void read_has_result(SpvOp op, bool *result, bool *type);
bool read_ends_block(SpvOp op);     // branches, returns, …
const char *read_op_name(SpvOp op); // "OpLoad"; "an unknown instruction"
// Of its operands after the result's id, as in the grammar: "IdRef LiteralInteger*".
const char *read_operand_kinds(SpvOp op);

#endif
