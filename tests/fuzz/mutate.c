// SPDX-License-Identifier: MIT
// mutate.c: libFuzzer's mutations for program text.
//
// A program with flipped bytes is rarely a program.  Half of the mutations therefore work on words
// and statements: delete, copy, exchange, replace by a word of the language.  The other half is
// libFuzzer's.
#include "tests/fuzz/fuzz.h"

#include <string.h>

size_t LLVMFuzzerMutate(uint8_t *data, size_t size, size_t max);
size_t LLVMFuzzerCustomMutator(uint8_t *data, size_t size, size_t max, unsigned seed);
size_t LLVMFuzzerCustomCrossOver(const uint8_t *a, size_t a_size, const uint8_t *b, size_t b_size,
                                 uint8_t *out, size_t max, unsigned seed);

static const char *const words[] = {
#define PREFIX(n) 0
#define INFIX(n) 0
#define SPECIAL(n) 0
#define CALL(n) n
#define LOWERED(n) n
#define X(id, text, form, rule, effect, fold, deriv, spirv, cost) text,
    VY_OPS(X)
#undef X
        "i32",
    "u32",
    "i64",
    "u64",
    "f16",
    "f32",
    "f64",
    "bool",
    "i8",
    "u8",
    "i16",
    "u16",
    "0",
    "1",
    "2",
    "-1",
    "3u",
    "0.5",
    "1.5f64",
    "inf",
    "nan",
    "pi",
    "4294967295",
    "0x7fffffff",
    "9223372036854775807i64",
    "1e30",
    "true",
    "false",
    "let",
    "var",
    "const",
    "fn",
    "program",
    "local",
    "shared",
    "in",
    "out",
    "inout",
    "over(q: N)",
    "step",
    "rev",
    "break;",
    "continue;",
    "return;",
    "barrier();",
    "checkpoint {",
    "while true {",
    "if",
    "else",
    "{",
    "}",
    "(",
    ")",
    "[",
    "]",
    ";",
    ",",
    "..",
    "? 1 :",
    "+=",
    "*=",
    "-=",
    "&&",
    "||",
    "!",
    "sum(k in 0..3: k)",
    "max(k in 0..n: k)",
    "gid.x",
    "lid.x",
    "wid.y",
    "lane",
    "lindex",
    "num_groups.x",
    "subgroup_size",
    "len(x)",
    "relu(",
    "digamma(",
    "clamp(",
    "polygamma(2, ",
    "atomic_sub(",
    "stop_grad(",
    "@workspace",
    "@init(ones)",
    "@binding(2)",
    "@set(1)",
    "undefined",
    "workgroup(8)",
    "`a b`",
    "bitcast_u32(",
    "mod(",
    "fract(",
};
enum { WORDS = sizeof words / sizeof *words, MOST = 4096 };

typedef struct span {
    uint32_t at, size;
} span;

static uint32_t next(uint32_t *s, uint32_t below) // xorshift
{
    *s ^= *s << 13, *s ^= *s >> 17, *s ^= *s << 5;
    return below ? *s % below : 0;
}

static bool is_word(uint8_t c)
{
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_';
}

static uint32_t tokens(const uint8_t *d, size_t size, span *out)
{
    uint32_t n = 0;
    for (size_t k = 0; k < size && n < MOST;) {
        size_t start = k;
        if (d[k] <= ' ') {
            k++;
            continue;
        }
        while (k < size && is_word(d[k])) k++;
        if (k == start) k++;
        out[n++] = (span){(uint32_t)start, (uint32_t)(k - start)};
    }
    return n;
}

// From token k to the end of its statement: `;`, or the bracket that closes what it opened.
static span statement(const uint8_t *d, const span *t, uint32_t n, uint32_t k)
{
    uint32_t start = t[k].at, depth = 0;
    for (; k < n; k++) {
        uint8_t c = d[t[k].at];
        if (c == '{' || c == '(' || c == '[') depth++;
        if ((c == '}' || c == ')' || c == ']') && (depth == 0 || (--depth == 0 && c == '}'))) break;
        if (c == ';' && depth == 0) break;
    }
    uint32_t end = k < n ? t[k].at + t[k].size : t[n - 1].at + t[n - 1].size;
    return (span){start, end - start};
}

// A token that begins a statement, near one picked at random.
static uint32_t beginning(const uint8_t *d, const span *t, uint32_t n, uint32_t *s)
{
    uint32_t k = next(s, n);
    while (k > 0 && !strchr(";{}", d[t[k - 1].at])) k--;
    return k;
}

// Replaces the span by `size` bytes of `with`, with spaces around; 0 where there is no room.
static size_t splice(uint8_t *d, size_t size, size_t max, span where, const uint8_t *with, size_t n)
{
    if (size - where.size + n + 2 > max) return 0;
    size_t tail = where.at + where.size;
    memmove(d + where.at + n + 2, d + tail, size - tail);
    d[where.at] = ' ';
    memcpy(d + where.at + 1, with, n);
    d[where.at + n + 1] = ' ';
    return size - where.size + n + 2;
}

size_t LLVMFuzzerCustomMutator(uint8_t *data, size_t size, size_t max, unsigned seed)
{
    static span t[MOST];
    static uint8_t copy[1 << 16];
    uint32_t s = seed * 2654435761u | 1, n = tokens(data, size, t);
    if (n < 2 || next(&s, 2)) return LLVMFuzzerMutate(data, size, max);
    span a = t[next(&s, n)], b = t[next(&s, n)];
    const char *word = words[next(&s, WORDS)];
    size_t made = 0;
    switch (next(&s, 7)) {
    case 0: made = splice(data, size, max, a, (const uint8_t *)"", 0); break;
    case 1: made = splice(data, size, max, a, (const uint8_t *)word, strlen(word)); break;
    case 2:
        made = splice(data, size, max, (span){a.at, 0}, (const uint8_t *)word, strlen(word));
        break;
    case 3: // another word of the text
        if (b.size > sizeof copy) break;
        memcpy(copy, data + b.at, b.size);
        made = splice(data, size, max, a, copy, b.size);
        break;
    case 4: // a statement less
        a = statement(data, t, n, beginning(data, t, n, &s));
        made = splice(data, size, max, a, (const uint8_t *)"", 0);
        break;
    default: // a copy of a statement or an expression elsewhere
        a = statement(data, t, n, next(&s, 2) ? beginning(data, t, n, &s) : next(&s, n));
        if (a.size > sizeof copy) break;
        memcpy(copy, data + a.at, a.size);
        made = splice(data, size, max, (span){t[beginning(data, t, n, &s)].at, 0}, copy, a.size);
    }
    return made ? made : LLVMFuzzerMutate(data, size, max);
}

// Inserts a statement of b into a.
size_t LLVMFuzzerCustomCrossOver(const uint8_t *a, size_t a_size, const uint8_t *b, size_t b_size,
                                 uint8_t *out, size_t max, unsigned seed)
{
    static span t[MOST];
    uint32_t s = seed * 2654435761u | 1, n = tokens(b, b_size, t);
    if (!n || a_size > max) return 0;
    span from = statement(b, t, n, beginning(b, t, n, &s));
    memcpy(out, a, a_size);
    n = tokens(a, a_size, t);
    if (!n) return 0;
    return splice(out, a_size, max, (span){t[beginning(a, t, n, &s)].at, 0}, b + from.at,
                  from.size);
}
