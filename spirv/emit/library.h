// SPDX-License-Identifier: MIT
// library.h: the functions of mathlib.vyre and mathplain.vyre, by their row in the table
// that gen_text.py makes of them.
#ifndef VYRE_LIBRARY_PROGRAM_H
#define VYRE_LIBRARY_PROGRAM_H
#include "ir/core/ir.h"

uint32_t vy_library_find(const char *name); // UINT32_MAX: there is none of that name
const char *vy_library_name(uint32_t item);
vy_type vy_library_type(uint32_t item); // of its arguments and its result
// The function as a program: scalars in, the result stored to r[0].  Shared by all threads, unless
// *own is set: a module that the caller frees.  NULL: *d is set, or memory was lacking.
const vy_program *vy_library_program(uint32_t item, uint32_t order, vy_module **own, vy_diag *d);
#endif
