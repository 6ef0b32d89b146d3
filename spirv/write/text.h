// SPDX-License-Identifier: MIT
// text.h: growing text, for the serialisers.  Not installed.
#ifndef VYRE_TEXT_H
#define VYRE_TEXT_H

#include "spirv/plan.h"

typedef struct vy_text {
    char *data; // malloc'd, terminated; NULL before the first write
    size_t size, capacity;
    bool oom;
    const vy_expr *exprs;    // that have been measured
    uint32_t *lengths;       // of the first `measured` of them, in characters
    uint32_t measured, room; // how many, and for how many there is room
} vy_text;

void vy_text_add(vy_text *t, const char *format, ...) __attribute__((format(printf, 2, 3)));
void vy_text_json(vy_text *t, const char *s); // quoted and escaped; NULL: null
char *vy_text_take(vy_text *t, size_t *size); // NULL and freed if memory ran out

// C-like text of expression `index`, with only the brackets that C needs.  One of more than 2,000
// characters (nodes may be shared) is written as `$index`, which must be defined.
void vy_text_expr(vy_text *t, const vy_expr *exprs, uint32_t index, const vy_symbol *symbols);
// Defines what has been written so and is not defined yet: begin (before $index is text after)
// {between …} end, or nothing.  The text may name others, which are defined after it.
typedef struct vy_definition_marks {
    const char *begin, *before, *is, *after, *between, *end;
} vy_definition_marks;
void vy_text_definitions(vy_text *t, const vy_expr *exprs, const vy_symbol *symbols,
                         const vy_definition_marks *marks);
// The value that a dispatch gives a symbol of its kernel: an expression, or a float, which plans
// keep as bits.
void vy_text_argument(vy_text *t, const vy_plan *plan, const vy_symbol *symbol, uint32_t expr);

#endif
