// SPDX-License-Identifier: MIT
// text.h: interfaces of the text front end that are not public.
#ifndef VYRE_IR_TEXT_H
#define VYRE_IR_TEXT_H

#include "ir/core/ir.h"

// ------------------------------------------------------------------------------- front end hook
// Parses `source` (functions and constants only) and inlines a call of function `name` at the
// current place of `b`.  results[n] must match what it returns.  False after an error (module's
// diag).
bool vy_inline_source(vy_builder *b, const char *source, size_t size, const char *name,
                      uint32_t nargs, const vy_value *args, uint32_t n, vy_value *results);

#endif
