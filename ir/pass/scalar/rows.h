// SPDX-License-Identifier: MIT
// rows.h: loops over rows in local arrays, which become values (the pass `registers`, unroll.c).
#ifndef VYRE_ROWS_H
#define VYRE_ROWS_H

#include "ir/build/rewrite.h"

enum {
    VY_MAX_ROW = 64 // elements of an array that becomes values
};

// By loop: the trip count if it is constant, at most VY_MAX_ROW, and the loop has none in it; else
// 0.  trips: zeroes.
void vy_row_trips(const vy_program *p, const vy_structure *s, uint64_t *trips);
// The elements of a local array, if they are at most VY_MAX_ROW; else 0.
uint64_t vy_row_elements(const vy_program *p, uint32_t buffer);
// The innermost loop around `id`; 0: none.
uint32_t vy_loop_around(const vy_program *p, const vy_structure *s, uint32_t id);

// row_copies.c.  The program with the rows that loops work on in arrays of their own; NULL: there
// are none, or an error (*ok is false; the module's diag says which).  Free it with
// vy_program_free.
vy_program *vy_copy_rows(vy_program *p, bool *ok);

#endif
