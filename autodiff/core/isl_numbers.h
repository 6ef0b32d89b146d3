// SPDX-License-Identifier: MIT
// isl_numbers.h: room for GMP's numbers of one or a few words, of which isl makes and frees
// millions.  A list of free blocks for each size, as malloc and free take a tenth of isl's time.
// Each thread has its own, from the first context that it begins to the end of its last.
#ifndef VYRE_ISL_NUMBERS_H
#define VYRE_ISL_NUMBERS_H

#include <stdbool.h>
#include <stddef.h>

enum { VY_ISL_SMALL = 64 }; // bytes of the largest block

static inline bool vy_isl_is_small(size_t size) { return size <= VY_ISL_SMALL; }
// A block of this size or a little more; NULL: memory.
void *vy_isl_number_take(size_t size);
void vy_isl_number_give(void *block, size_t size);
// Do both sizes have blocks of one length?
bool vy_isl_number_fits(size_t had, size_t size);
// Frees all of the thread's.
void vy_isl_numbers_free(void);

#endif
