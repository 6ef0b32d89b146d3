// SPDX-License-Identifier: MIT
// spelling.c: guesses which known word an unknown one should be, for the `fix` of diagnostics.
//
// A name from another language is replaced by ours for the same thing (`others`).  Else a word is
// proposed that differs only in capitals; then one that differs only in capitals, doubled letters
// and `_`; then one within an edit distance of a third of the letters, so that nothing else is
// guessed for names of one or two letters.  Among equally near words the alphabetically first is
// proposed: the answer does not depend on the order of the candidates.
#include "ir/text/front.h"

#include <stdio.h>
#include <string.h>

typedef struct spelling {
    const char *word;
    size_t length;
    const char *best;
    unsigned least; // the distance of `best`; before one is found, the bound on it
} spelling;

// Distances: equal but for capitals; but for doubled letters and `_` too; else the number of edits.
enum { SAME_LETTERS, SAME_SOUND, EDITS };

// Words that are allowed in one kind of place only.
static const struct {
    unsigned kinds;
    const char *word;
} placed[] = {
    {VY_SPELL_ATTRIBUTES, "set"},
    {VY_SPELL_ATTRIBUTES, "binding"},
    {VY_SPELL_ATTRIBUTES, "workspace"},
    {VY_SPELL_ATTRIBUTES, "init"},
    {VY_SPELL_ATTRIBUTES, "owned"},
    {VY_SPELL_ATTRIBUTES, "uniform"},
    {VY_SPELL_ATTRIBUTES, "offset"},
    {VY_SPELL_ATTRIBUTES, "layout"},
    {VY_SPELL_ATTRIBUTES, "shader"},
    {VY_SPELL_ATTRIBUTES, "exact"},
    {VY_SPELL_ATTRIBUTES, "exact_sums"},
    {VY_SPELL_ATTRIBUTES, "lowered"},
    {VY_SPELL_ATTRIBUTES, "order"},
    {VY_SPELL_ATTRIBUTES, "vjp"},
    {VY_SPELL_ATTRIBUTES, "jvp"},
    {VY_SPELL_ATTRIBUTES, "derive_as"},
    {VY_SPELL_ACCESS, "in"},
    {VY_SPELL_ACCESS, "out"},
    {VY_SPELL_ACCESS, "inout"},
    {VY_SPELL_ALONE, "break"},
    {VY_SPELL_ALONE, "continue"},
    {VY_SPELL_ALONE, "return"},
    {VY_SPELL_STEPS, "buffer"},
    {VY_SPELL_STEPS, "let"},
    {VY_SPELL_STEPS, "repeat"},
    {VY_SPELL_STEPS, "checkpoint"},
    {VY_SPELL_STEPS, "if"},
    {VY_SPELL_STEPS, "while"},
    {VY_SPELL_STEPS, "var"},
    {VY_SPELL_LITERALS, "true"},
    {VY_SPELL_LITERALS, "false"},
    {VY_SPELL_LITERALS, "inf"},
    {VY_SPELL_LITERALS, "nan"},
    {VY_SPELL_LITERALS, "pi"},
    {VY_SPELL_REDUCTIONS, "sum"},
    {VY_SPELL_REDUCTIONS, "prod"},
    {VY_SPELL_REDUCTIONS, "max"},
    {VY_SPELL_REDUCTIONS, "min"},
};

// Names in other languages.
static const struct {
    unsigned kinds;
    const char *theirs, *ours;
} others[] = {
    {VY_SPELL_TYPES, "float", "f32"},
    {VY_SPELL_TYPES, "double", "f64"},
    {VY_SPELL_TYPES, "half", "f16"},
    {VY_SPELL_TYPES, "int", "i32"},
    {VY_SPELL_TYPES, "uint", "u32"},
    {VY_SPELL_TYPES, "unsigned", "u32"},
    {VY_SPELL_MADE, "float2", "vec2"},
    {VY_SPELL_MADE, "float3", "vec3"},
    {VY_SPELL_MADE, "float4", "vec4"},
    {VY_SPELL_MADE, "int2", "ivec2"},
    {VY_SPELL_MADE, "int3", "ivec3"},
    {VY_SPELL_MADE, "int4", "ivec4"},
    {VY_SPELL_MADE, "uint2", "uvec2"},
    {VY_SPELL_MADE, "uint3", "uvec3"},
    {VY_SPELL_MADE, "uint4", "uvec4"},
    {VY_SPELL_FUNCTIONS, "ln", "log"},
    {VY_SPELL_FUNCTIONS, "power", "pow"},
    {VY_SPELL_FUNCTIONS, "fabs", "abs"},
    {VY_SPELL_FUNCTIONS, "lerp", "mix"},
    {VY_SPELL_FUNCTIONS, "fmin", "min"},
    {VY_SPELL_FUNCTIONS, "fmax", "max"},
    {VY_SPELL_FUNCTIONS, "frac", "fract"},
    {VY_SPELL_FUNCTIONS, "inversesqrt", "rsqrt"},
    {VY_SPELL_LITERALS, "True", "true"},
    {VY_SPELL_LITERALS, "False", "false"},
};

// Edit distance (insert, delete, replace, swap neighbours) of two words, by their first 31 letters.
static unsigned distance(const char *a, size_t n, const char *b, size_t m)
{
    enum { MAX = 31 };
    unsigned row[3][MAX + 1];
    if (n > MAX) n = MAX;
    if (m > MAX) m = MAX;
    for (unsigned j = 0; j <= m; j++) row[0][j] = j;
    for (unsigned i = 1; i <= n; i++) {
        unsigned *now = row[i % 3], *last = row[(i + 2) % 3], *before = row[(i + 1) % 3];
        now[0] = i;
        for (unsigned j = 1; j <= m; j++) {
            unsigned best = last[j - 1] + (a[i - 1] != b[j - 1]);
            if (last[j] + 1 < best) best = last[j] + 1;
            if (now[j - 1] + 1 < best) best = now[j - 1] + 1;
            const bool swapped = i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1];
            if (swapped && before[j - 2] + 1 < best) best = before[j - 2] + 1;
            now[j] = best;
        }
    }
    return row[n % 3][m];
}

static char small(char c) { return c >= 'A' && c <= 'Z' ? (char)(c | 32) : c; }

// Are both equal but for capitals; if `sound`, also but for doubled letters and `_`?
static bool alike(const char *a, size_t n, const char *b, size_t m, bool sound)
{
    size_t i = 0, j = 0;
    char last = 0;
    for (;; last = small(a[i]), i++, j++) {
        while (sound && i < n && (a[i] == '_' || small(a[i]) == last)) i++;
        while (sound && j < m && (b[j] == '_' || small(b[j]) == last)) j++;
        if (i >= n || j >= m) return i >= n && j >= m;
        if (small(a[i]) != small(b[j])) return false;
    }
}

static spelling of_word(const char *word, size_t n)
{
    return (spelling){.word = word, .length = n, .least = EDITS + (unsigned)(n / 3)};
}

static void try_word(spelling *s, const char *candidate)
{
    const size_t m = strlen(candidate);
    if (m == 0 || (m == s->length && memcmp(candidate, s->word, m) == 0)) return;
    const unsigned d = alike(s->word, s->length, candidate, m, false) ? SAME_LETTERS
                       : alike(s->word, s->length, candidate, m, true)
                           ? SAME_SOUND
                           : EDITS + distance(s->word, s->length, candidate, m);
    if (d > s->least) return;
    if (s->best && d == s->least && strcmp(candidate, s->best) >= 0) return;
    s->best = candidate;
    s->least = d;
}

const char *vy_nearest_name(const char *word, uint32_t count, const char *const *candidates)
{
    spelling s = of_word(word, strlen(word));
    for (uint32_t i = 0; i < count; i++) try_word(&s, candidates[i]);
    return s.best;
}

// Is the declaration of a kind that is allowed here?
static bool fits(const vy_decl *d, unsigned kinds)
{
    switch (d->kind) {
    case DK_FUNC: return kinds & VY_SPELL_FUNCTIONS;
    case DK_STRUCT: return kinds & VY_SPELL_MADE;
    case DK_PROGRAM:
    case DK_PIPELINE: return kinds & VY_SPELL_PROGRAMS;
    case DK_BUFFER:
    case DK_SHARED:
    case DK_LOCAL: return kinds & VY_SPELL_ARRAYS;
    default: return kinds & VY_SPELL_VALUES;
    }
}

static void try_visible(vy_front *f, spelling *s, unsigned kinds)
{
    for (uint32_t i = 0; i < f->bucket_count; i++)
        for (const vy_name_rec *n = f->buckets[i]; n; n = n->chain)
            if ((n->local && fits(n->local, kinds)) || (n->global && fits(n->global, kinds)))
                try_word(s, n->text);
}

const char *vy_spelling_fix(vy_front *f, const char *word, size_t n, unsigned kinds,
                            const char *otherwise)
{
    spelling s = of_word(word, n);
    const char *text;
    try_visible(f, &s, kinds);
    for (const vy_decl *d = kinds & VY_SPELL_CONSTANTS ? f->consts : NULL; d; d = d->next)
        try_word(&s, d->name->text);
    if (kinds & VY_SPELL_FUNCTIONS)
        for (uint32_t i = 0; (text = vy_builtin_function_name(i)); i++) try_word(&s, text);
    if (kinds & VY_SPELL_VALUES)
        for (uint32_t i = 0; (text = vy_builtin_value_name(i)); i++) try_word(&s, text);
    if (kinds & VY_SPELL_WORDS)
        for (uint32_t i = 0; (text = vy_keyword_name(i)); i++) try_word(&s, text);
    if (kinds & VY_SPELL_TYPES)
        for (int t = VY_VOID + 1; t < VY_TYPE_COUNT; t++) try_word(&s, vy_type_name((vy_type)t));
    if (kinds & VY_SPELL_MADE)
        for (uint32_t i = 0; (text = vy_made_type_name(i)); i++) try_word(&s, text);
    for (size_t i = 0; i < sizeof placed / sizeof *placed; i++)
        if (kinds & placed[i].kinds) try_word(&s, placed[i].word);
    for (size_t i = 0; i < sizeof others / sizeof *others; i++)
        if (kinds & others[i].kinds && strlen(others[i].theirs) == n &&
            memcmp(others[i].theirs, word, n) == 0)
            s.best = others[i].ours;
    if (!s.best) return otherwise;
    const size_t size = strlen(s.best) + sizeof "did you mean ``?";
    char *fix = vy_front_alloc(f, size);
    if (!f->failed) snprintf(fix, size, "did you mean `%s`?", s.best);
    return f->failed ? otherwise : fix;
}
