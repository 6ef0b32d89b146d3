// SPDX-License-Identifier: MIT
// count_values.h: dimensions and integers of the program that count.c walks, as polynomials.
#ifndef VYRE_COUNT_VALUES_H
#define VYRE_COUNT_VALUES_H

#include "ir/facts/count.h"

typedef struct vy_count_values {
    vy_count *c;
    const vy_program *p;
    const vy_sizes *sizes;
    vy_poly *value; // by integer instruction; valid where has[] is set
    uint8_t *has;
} vy_count_values;

// Fills c->dims too.  False: out of memory.
bool vy_count_values_make(vy_count_values *w, vy_count *c, const vy_program *p,
                          const vy_sizes *sizes);
// The variable of that name; sets its value if it is known.
vy_poly vy_count_named(vy_poly_space *s, const char *text, bool known, double value);
// Computes the polynomial of an instruction from those of its operands.
void vy_count_note(vy_count_values *w, uint32_t id);
// False: it is not a polynomial.
bool vy_count_value(const vy_count_values *w, uint32_t id, vy_poly *out);

#endif
