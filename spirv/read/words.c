// SPDX-License-Identifier: MIT
// words.c: see words.h.
#include "spirv/read/words.h"

#include "spirv/spirv_opcodes.h"

#include <string.h>

// The bound of ids that every implementation must take (SPIR-V 2.16, universal limits).
enum { HEADER = 5, MOST_WORDS = 16 << 20, MOST_IDS = 0x3fffff };

static bool wrong(read_fault *f, uint32_t at, const char *what)
{
    *f = (read_fault){at, what};
    return false;
}

typedef struct op_row {
    bool type, result;
    uint32_t least; // words of operands that are always there
    const char *name, *operands;
} op_row;

static const op_row *row_of(SpvOp op)
{
    static const op_row rows[] = {
#define X(name, number, type, result, least, version, operands, capabilities)                      \
    {type, result, least, "Op" #name, operands},
        SPV_OPCODES(X)
#undef X
    };
    enum {
#define X(name, ...) ROW_##name,
        SPV_OPCODES(X)
#undef X
    };
    switch ((uint32_t)op) { // several times for each instruction: no search
#define X(name, number, ...)                                                                       \
    case number: return &rows[ROW_##name];
        SPV_OPCODES(X)
#undef X
    default: return NULL;
    }
}

void read_has_result(SpvOp op, bool *result, bool *type)
{
    const op_row *row = row_of(op);
    *result = row && row->result;
    *type = row && row->type;
}

bool read_ends_block(SpvOp op)
{
    return op == SpvOpBranch || op == SpvOpBranchConditional || op == SpvOpSwitch ||
           op == SpvOpReturn || op == SpvOpReturnValue || op == SpvOpKill ||
           op == SpvOpUnreachable || op == SpvOpTerminateInvocation;
}

const char *read_op_name(SpvOp op)
{
    const op_row *row = row_of(op);
    return row ? row->name : "an unknown instruction";
}

const char *read_operand_kinds(SpvOp op)
{
    const op_row *row = row_of(op);
    return row ? row->operands : "";
}

const char *read_string(const read_words *m, uint32_t at, uint32_t i)
{
    const uint32_t length = read_length(m, at);
    if (i >= length) return "";
    const char *s = (const char *)&m->words[at + i];
    return memchr(s, 0, (length - i) * 4) ? s : "";
}

static uint32_t swapped(uint32_t w)
{
    return w >> 24 | (w >> 8 & 0xff00) | (w << 8 & 0xff0000) | w << 24;
}

// The words of the module in this machine's order.
static bool take_words(read_words *m, const void *data, size_t size, vy_arena *arena, read_fault *f)
{
    if (size < HEADER * 4 || size % 4) return wrong(f, 0, "it is no whole number of words");
    if (size / 4 > MOST_WORDS) return wrong(f, 0, "it has more than 16 million words");
    uint32_t *words = vy_arena_alloc(arena, size);
    if (!words) return wrong(f, 0, NULL);
    memcpy(words, data, size);
    m->words = words;
    m->count = (uint32_t)(size / 4);
    if (words[0] == swapped(SpvMagicNumber))
        for (uint32_t i = 0; i < m->count; i++) words[i] = swapped(words[i]);
    if (words[0] != SpvMagicNumber) return wrong(f, 0, "it does not begin as SPIR-V does");
    m->version = words[1];
    m->bound = words[3];
    return m->bound <= MOST_IDS || wrong(f, 3, "it has more than 4 million ids");
}

// The instruction at `at`: its length, its id, whether it begins the functions.
static bool note(read_words *m, uint32_t at, read_fault *f)
{
    const uint32_t length = read_length(m, at);
    if (length == 0 || length > m->count - at)
        return wrong(f, at, "an instruction is longer than the module");
    const op_row *row = row_of(read_op(m, at));
    if (!row) return true; // an error where it is executed
    if (length < 1 + row->type + row->result + row->least)
        return wrong(f, at, "an instruction lacks operands");
    if (read_op(m, at) == SpvOpFunction && m->functions == m->count) m->functions = at;
    if (!row->result) return true;
    const uint32_t id = m->words[at + 1 + row->type];
    if (id == 0 || id >= m->bound) return wrong(f, at, "a result id is out of bounds");
    if (m->at[id]) return wrong(f, at, "an id is defined twice");
    m->at[id] = at;
    if (row->type) m->type[id] = m->words[at + 1];
    return true;
}

bool read_words_make(read_words *m, const void *data, size_t size, vy_arena *arena, read_fault *f)
{
    *m = (read_words){0};
    if (!take_words(m, data, size, arena, f)) return false;
    m->at = vy_arena_alloc(arena, (m->bound + 1) * sizeof *m->at);
    m->type = vy_arena_alloc(arena, (m->bound + 1) * sizeof *m->type);
    if (!m->at || !m->type) return wrong(f, 0, NULL);
    m->functions = m->count;
    for (uint32_t at = HEADER; at < m->count; at = read_next(m, at))
        if (!note(m, at, f)) return false;
    return true;
}
