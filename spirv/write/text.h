// SPDX-License-Identifier: MIT
// text.h: growing text, for the serialisers.  Not installed.
#ifndef VYRE_TEXT_H
#define VYRE_TEXT_H

#include "spirv/plan.h"

typedef struct vy_text {
    char *data; // malloc'd, terminated; NULL before the first write
    size_t size, capacity;
    bool oom;
} vy_text;

void vy_text_add(vy_text *t, const char *format, ...) __attribute__((format(printf, 2, 3)));
void vy_text_json(vy_text *t, const char *s); // quoted and escaped; NULL: null
char *vy_text_take(vy_text *t, size_t *size); // NULL and freed if memory ran out

// C-like text of expression `index`, with only the brackets that C needs.  An expression that would
// take more than 2,000 characters (nodes may be shared) is written as `$index`.
void vy_text_expr(vy_text *t, const vy_expr *exprs, uint32_t index, const vy_symbol *symbols);
// The value that a dispatch gives a symbol of its kernel: an expression, or a float, which plans
// keep as bits.
void vy_text_argument(vy_text *t, const vy_plan *plan, const vy_symbol *symbol, uint32_t expr);

#endif
