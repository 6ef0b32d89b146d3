// SPDX-License-Identifier: MIT
// text.h: the doors of the text front end that are not public.
#ifndef VYRE_IR_TEXT_H
#define VYRE_IR_TEXT_H

#include "ir/core/ir.h"

// Text of one program as vy_print gives it, with what is no part of the text in comments.
char *vy_print_dump(const vy_program *p, size_t *size);

// ------------------------------------------------------------------------------- front end hook
// Parses `source` (functions and constants only) and inlines a call of function `name` at the
// current place of `b`.  results[n] must match what it returns.  False after an error (module's
// diag).
bool vy_inline_source(vy_builder *b, const char *source, size_t size, const char *name,
                      uint32_t nargs, const vy_value *args, uint32_t n, vy_value *results);

#endif
