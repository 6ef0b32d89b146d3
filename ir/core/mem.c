// SPDX-License-Identifier: MIT
#include "ir/core/mem.h"

#include "ir/vyre.h"

#include <stdlib.h>
#include <string.h>

static _Thread_local uint64_t failures; // of allocations

uint64_t vy_memory_failures(void) { return failures; }
void vy_memory_failed(void) { failures++; }

// Tests count allocations down to make any one of them fail.
static long fail_after = -1;

void vy_test_fail_after(long n) { fail_after = n; }

// Does this allocation fail for a test?
static bool is_made_to_fail(void)
{
    if (fail_after < 0 || fail_after-- != 0) return false;
    fail_after = 0; // all later ones fail too
    failures++;
    return true;
}

void *vy_realloc(void *old, size_t size)
{
    if (size == 0) {
        free(old);
        return NULL;
    }
    if (is_made_to_fail()) return NULL;
    void *p = realloc(old, size);
    failures += !p;
    return p;
}

void *vy_zeroed(size_t size)
{
    if (is_made_to_fail()) return NULL;
    void *p = calloc(1, size);
    failures += !p;
    return p;
}

void vy_free(void *memory) { free(memory); }

bool vy_vec_grow(void *vec_data, uint32_t *capacity, uint32_t need, size_t elem_size)
{
    void *old;
    memcpy(&old, vec_data, sizeof old);
    uint64_t want = (uint64_t)*capacity * 2;
    if (want < 16) want = 16;
    if (want < need) want = need;
    // `need` smaller than the capacity means that the count of elements overflowed 32 bits.
    if (want > UINT32_MAX / 2 || need <= *capacity) return false;
    void *fresh = vy_realloc(old, (size_t)want * elem_size);
    if (!fresh) return false;
    memcpy(vec_data, &fresh, sizeof fresh);
    *capacity = (uint32_t)want;
    return true;
}

void vy_vec_trim(void *vec_data, uint32_t *capacity, uint32_t count, size_t elem_size)
{
    void *old;
    memcpy(&old, vec_data, sizeof old);
    if (!count || count == *capacity) return;
    void *fresh =
        realloc(old, count * elem_size); // not counted as a failure: nothing depends on it
    if (!fresh) return;
    memcpy(vec_data, &fresh, sizeof fresh);
    *capacity = count;
}

// ------------------------------------------------------------------------------------------ arena
struct vy_arena_block {
    vy_arena_block *next;
    size_t used, size;
    max_align_t data[];
};

static void *alloc(vy_arena *a, size_t size)
{
    if (size > SIZE_MAX / 2) return NULL;
    size = (size + 15) & ~(size_t)15;
    vy_arena_block *block = a->blocks;
    if (!block || block->size - block->used < size) {
        // Blocks grow with the arena, so small modules stay small and large ones need few blocks.
        size_t want = block ? block->size * 2 : 1000;
        if (want > (size_t)1 << 20) want = (size_t)1 << 20;
        if (want < size) want = size;
        vy_arena_block *fresh = vy_zeroed(sizeof *fresh + want); // nothing is used twice
        if (!fresh) return NULL;
        fresh->next = block;
        fresh->size = want;
        a->blocks = block = fresh;
    }
    void *p = (char *)block->data + block->used;
    block->used += size;
    return p;
}

void *vy_arena_alloc(vy_arena *a, size_t size)
{
    void *p = alloc(a, size);
    a->oom |= !p;
    return p;
}

void *vy_arena_room(vy_arena *a, size_t count, size_t size)
{
    return vy_arena_alloc(a, (count + 1) * size);
}

char *vy_arena_strdup(vy_arena *a, const char *s, size_t n)
{
    char *copy = vy_arena_alloc(a, n + 1);
    if (copy && n) memcpy(copy, s, n);
    return copy;
}

void vy_arena_free(vy_arena *a)
{
    while (a->blocks) {
        vy_arena_block *next = a->blocks->next;
        vy_free(a->blocks);
        a->blocks = next;
    }
}

// ---------------------------------------------------------------------------------------- strings
static uint32_t hash_text(const char *s, size_t n)
{
    uint32_t h = 2166136261u;
    for (size_t i = 0; i < n; i++) h = (h ^ (unsigned char)s[i]) * 16777619u;
    return h;
}

static bool strings_rehash(vy_strings *s)
{
    uint32_t size = s->table_size ? s->table_size * 2 : 64;
    uint32_t *table = vy_realloc(NULL, (size_t)size * sizeof *table);
    if (!table) return false;
    memset(table, 0, (size_t)size * sizeof *table);
    for (uint32_t i = 0; i < s->table_size; i++) {
        uint32_t offset = s->table[i];
        if (!offset) continue;
        uint32_t slot = hash_text(s->data + offset, strlen(s->data + offset)) & (size - 1);
        while (table[slot]) slot = (slot + 1) & (size - 1);
        table[slot] = offset;
    }
    vy_free(s->table);
    s->table = table;
    s->table_size = size;
    return true;
}

uint32_t vy_intern(vy_strings *s, const char *text, size_t n)
{
    if (s->used * 2 >= s->table_size && !strings_rehash(s)) return 0;
    uint32_t slot = hash_text(text, n) & (s->table_size - 1);
    for (; s->table[slot]; slot = (slot + 1) & (s->table_size - 1)) {
        const char *have = s->data + s->table[slot];
        if (strncmp(have, text, n) == 0 && have[n] == 0) return s->table[slot];
    }
    if (n > UINT32_MAX / 4 || !vy_vec_reserve(s, (uint32_t)n + 2)) return 0;
    if (s->count == 0) s->data[s->count++] = 0; // offset 0 is "none"
    uint32_t offset = s->count;
    memcpy(s->data + offset, text, n);
    s->data[offset + n] = 0;
    s->count += (uint32_t)n + 1;
    s->table[slot] = offset;
    s->used++;
    return offset;
}

void vy_strings_free(vy_strings *s)
{
    vy_free(s->data);
    vy_free(s->table);
    *s = (vy_strings){0};
}
