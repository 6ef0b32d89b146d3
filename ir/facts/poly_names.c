// SPDX-License-Identifier: MIT
// poly_names.c: the variables of polynomials, found by name in a hash table.  One that is a bound
// has a text for readers only: two of them are never the same.
#include "ir/facts/poly.h"

#include <string.h>

static uint32_t hash_text(const char *text)
{
    uint32_t h = 2166136261u;
    for (; *text; text++) h = (h ^ (unsigned char)*text) * 16777619u;
    return h ^ h >> 15;
}

static uint32_t *place(vy_poly_space *s, const char *text)
{
    uint32_t slot = hash_text(text) & (s->table_size - 1);
    while (s->table[slot] && strcmp(s->vars.data[s->table[slot]].text, text) != 0)
        slot = (slot + 1) & (s->table_size - 1);
    return &s->table[slot];
}

static bool grow_table(vy_poly_space *s)
{
    if (s->vars.count * 2 < s->table_size) return true;
    uint32_t size = s->table_size ? s->table_size * 2 : 64;
    uint32_t *table = vy_realloc(NULL, size * sizeof *table);
    if (!table) return false;
    memset(table, 0, size * sizeof *table);
    vy_free(s->table);
    s->table = table;
    s->table_size = size;
    for (uint32_t i = 1; i < s->vars.count; i++)
        if (!s->vars.data[i].bound && !s->vars.data[i].beyond) *place(s, s->vars.data[i].text) = i;
    return true;
}

static uint32_t new_var(vy_poly_space *s, const char *text, bool bound)
{
    if (!s->vars.count && !vy_vec_push(&s->vars, (vy_poly_var){.text = ""})) s->failed = true;
    const char *copy = vy_arena_strdup(&s->arena, text, strlen(text));
    if (!copy || s->failed || !vy_vec_push(&s->vars, ((vy_poly_var){.text = copy, .bound = bound})))
        s->failed = true;
    return s->failed ? 0 : s->vars.count - 1;
}

uint32_t vy_poly_name(vy_poly_space *s, const char *text)
{
    if (s->failed || !grow_table(s)) {
        s->failed = true;
        return 0;
    }
    uint32_t *slot = place(s, text);
    if (!*slot) *slot = new_var(s, text, false);
    return *slot;
}

uint32_t vy_poly_bound(vy_poly_space *s, const char *text)
{
    return s->failed ? 0 : new_var(s, text, true);
}

uint32_t vy_poly_fresh(vy_poly_space *s) { return s->failed ? 0 : new_var(s, "?", false); }
