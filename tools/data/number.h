// SPDX-License-Identifier: MIT
// number.h: numbers as text.
#ifndef VYRE_TOOL_NUMBER_H
#define VYRE_TOOL_NUMBER_H

#include "ir/vyre.h"

#define NUMBER_TEXT 40

// The shortest decimal that reads back as the same value of its type: 2, 0.1, 1e-7, -0, inf, nan;
// bools are true and false.  Returns the length.
size_t number_text(vy_type type, vy_scalar value, char out[NUMBER_TEXT]);

// Reads all of s[n] as a value of the type.  Integers must fit (decimal or 0x…), floats round to
// their type (inf, nan, an overflow becomes inf only if written so), bools are true, false, 1, 0.
// Returns NULL, or why it is not one.
const char *number_parse(vy_type type, const char *s, size_t n, vy_scalar *out);

#endif
