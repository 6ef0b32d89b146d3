// SPDX-License-Identifier: MIT
// isl_numbers.c: see isl_numbers.h.
#include "autodiff/core/isl_numbers.h"

#include <stdlib.h>

enum { STEP = 16, SIZES = VY_ISL_SMALL / STEP, FIRST = 4096, LAST = 1 << 18 };

typedef struct block {
    struct block *next;
} block;

// Blocks are cut from chunks, which become longer.
typedef struct chunk {
    struct chunk *next;
    _Alignas(STEP) char room[];
} chunk;

static _Thread_local struct {
    block *free[SIZES]; // by size
    chunk *chunks;
    char *from, *to; // what is left of the last one
    size_t length;   // of the next one
} numbers;

static size_t size_of(size_t size) { return size ? (size - 1) / STEP : 0; }

bool vy_isl_number_fits(size_t had, size_t size) { return size_of(had) == size_of(size); }

static bool add_chunk(void)
{
    const size_t length = numbers.length ? numbers.length : FIRST;
    chunk *c = malloc(sizeof *c + length);
    if (!c) return false;
    c->next = numbers.chunks;
    numbers.chunks = c;
    numbers.from = c->room;
    numbers.to = c->room + length;
    numbers.length = length < LAST ? 2 * length : LAST;
    return true;
}

void *vy_isl_number_take(size_t size)
{
    const size_t k = size_of(size), length = (k + 1) * STEP;
    block *b = numbers.free[k];
    if (b) {
        numbers.free[k] = b->next;
        return b;
    }
    if ((size_t)(numbers.to - numbers.from) < length && !add_chunk()) return NULL;
    char *p = numbers.from;
    numbers.from += length;
    return p;
}

void vy_isl_number_give(void *p, size_t size)
{
    block *b = p;
    b->next = numbers.free[size_of(size)];
    numbers.free[size_of(size)] = b;
}

void vy_isl_numbers_free(void)
{
    while (numbers.chunks) {
        chunk *next = numbers.chunks->next;
        free(numbers.chunks);
        numbers.chunks = next;
    }
    for (size_t k = 0; k < SIZES; k++) numbers.free[k] = NULL;
    numbers.from = numbers.to = NULL;
    numbers.length = 0;
}
