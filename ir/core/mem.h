// SPDX-License-Identifier: MIT
// mem.h: arena, growable arrays, interned strings.  All report lack of memory to the caller.
#ifndef VYRE_MEM_H
#define VYRE_MEM_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

// All memory of the library comes through these, so that tests can make any allocation fail:
// vy_test_fail_after(n) lets n allocations pass and fails all later ones (negative: never).
void *vy_realloc(void *old, size_t size); // NULL when out; size 0 frees
// Zeros.  Of a large one the system has pages made only where they are written.  NULL when out.
void *vy_zeroed(size_t size);
void vy_free(void *memory);

// Records the failure of an allocation that does not go through vy_realloc (vy_memory_failures).
void vy_memory_failed(void);
void vy_test_fail_after(long n);

// ---- growable arrays: data, count, capacity; free with vy_free(v.data)
#define VY_VEC_TYPE(name, T)                                                                       \
    typedef struct name {                                                                          \
        T *data;                                                                                   \
        uint32_t count, capacity;                                                                  \
    } name
bool vy_vec_grow(void *vec_data, uint32_t *capacity, uint32_t need, size_t elem_size);
// Makes room for `extra` more elements.  False when memory is out (the array is unchanged).
#define vy_vec_reserve(v, extra)                                                                   \
    ((v)->capacity - (v)->count >= (uint32_t)(extra) ||                                            \
     vy_vec_grow(&(v)->data, &(v)->capacity, (v)->count + (uint32_t)(extra), sizeof *(v)->data))
// Appends; false when memory is out.
#define vy_vec_push(v, item)                                                                       \
    (vy_vec_reserve(v, 1) ? ((v)->data[(v)->count++] = (item), true) : false)
// Gives back what it has room for beyond its elements, unless memory for that is out.
void vy_vec_trim(void *vec_data, uint32_t *capacity, uint32_t count, size_t elem_size);
#define vy_vec_fit(v) vy_vec_trim(&(v)->data, &(v)->capacity, (v)->count, sizeof *(v)->data)
#define vy_vec_free(v) (vy_free((v)->data), (v)->data = NULL, (v)->count = (v)->capacity = 0)

// ---- arena: memory that lives as long as its owner
typedef struct vy_arena_block vy_arena_block;
typedef struct vy_arena {
    vy_arena_block *blocks;
    bool oom; // an allocation has failed
} vy_arena;
void *vy_arena_alloc(vy_arena *a, size_t size); // zeroed, aligned to 16; NULL when out
// Room for `count` elements, and one more, so that there is a pointer also for none.
void *vy_arena_room(vy_arena *a, size_t count, size_t size);
char *vy_arena_strdup(vy_arena *a, const char *s, size_t n);
void vy_arena_free(vy_arena *a);

// ---- interned strings: equal strings have equal offsets; offset 0 is "none"
typedef struct vy_strings {
    char *data;
    uint32_t count, capacity;
    uint32_t *table;
    uint32_t table_size, used;
} vy_strings;
uint32_t vy_intern(vy_strings *s, const char *text, size_t n); // 0 when memory is out
static inline const char *vy_string(const vy_strings *s, uint32_t offset)
{
    return offset ? s->data + offset : "";
}
void vy_strings_free(vy_strings *s);

#endif
