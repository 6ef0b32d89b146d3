// SPDX-License-Identifier: MIT
// spelling.c: which known word was meant by an unknown one, for the `fix` of diagnostics.
//
// A word is meant if one edit in three letters makes it of the other, so that nothing is guessed for
// names of one or two letters.  Among equally near words the first in the alphabet is proposed: the
// answer does not depend on the order in which they are looked at.
#include "front.h"

#include <stdio.h>
#include <string.h>

typedef struct spelling {
    const char *word;
    size_t length;
    const char *best;
    unsigned least; // edits to `best`; before one is found, how many are allowed
} spelling;

// Edits (insert, delete, replace, swap neighbours) between two words, as far as their first 31 letters say.
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

static spelling of_word(const char *word, size_t n)
{
    return (spelling){.word = word, .length = n, .least = (unsigned)(n / 3)};
}

static void try_word(spelling *s, const char *candidate)
{
    const unsigned d = distance(s->word, s->length, candidate, strlen(candidate));
    if (d > s->least || d == 0) return;
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

// Does the declaration belong to what may stand here?
static bool fits(const vy_decl *d, unsigned kinds)
{
    switch (d->kind) {
    case DK_FUNC: return kinds & VY_SPELL_FUNCTIONS;
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
    static const char *const attributes[] = {"set",   "binding", "workspace", "init",
                                             "exact", "order",   "vjp",       "jvp"};
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
    for (size_t i = 0; kinds & VY_SPELL_ATTRIBUTES && i < sizeof attributes / sizeof *attributes;
         i++)
        try_word(&s, attributes[i]);
    if (!s.best) return otherwise;
    const size_t size = strlen(s.best) + sizeof "did you mean ``?";
    char *fix = vy_front_alloc(f, size);
    if (!f->failed) snprintf(fix, size, "did you mean `%s`?", s.best);
    return f->failed ? otherwise : fix;
}
