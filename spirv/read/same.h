// SPDX-License-Identifier: MIT
// same.h: whether a function of one module is, word for word, a function of another.
#ifndef VYRE_READ_SAME_H
#define VYRE_READ_SAME_H

#include "spirv/read/words.h"

enum { READ_EXACT = 1, READ_DECORATED = 2 }; // NoContraction; anything else

// By id: how it is decorated.  NULL: memory is out.
uint8_t *read_decorations(const read_words *w, vy_arena *arena);

typedef struct read_side { // one of two modules that are compared
    const read_words *w;
    const uint8_t *decorated;
} read_side;

// Whether function f of a is function g of b but for the numbers of ids: the same instructions and
// decorations, types, constants and functions that they use.  b is a module that we have written
// ourselves, hence the time is that of g at most.  Fails only for lack of memory.
bool read_same_function(read_side a, uint32_t f, read_side b, uint32_t g, bool *same);

#endif
