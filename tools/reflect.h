// SPDX-License-Identifier: MIT
// reflect.h: the few facts of a program that ir/vyre.h does not tell (yet).
#ifndef VYRE_TOOL_REFLECT_H
#define VYRE_TOOL_REFLECT_H

#include "ir/vyre.h"

// Values of all dimensions of a program, indexed by vy_dim.id, given those of its integer scalars.
// OPEN: it needs a scalar that is not known, or is `?`.  BAD: overflow or division by zero.
typedef enum dim_state { DIM_KNOWN, DIM_OPEN, DIM_BAD } dim_state;
uint32_t dim_count(const vy_program *p); // one more than the largest id
void dim_values(const vy_program *p, const int64_t *scalars, const bool *known, int64_t *values,
                dim_state *states);
// The scalar parameter that the dimension is, whole, or -1.
int dim_scalar(const vy_program *p, vy_dim d);

// One element between memory and scalar; `type` may be storage-only.
vy_scalar element_read(vy_type type, const void *memory);
void element_write(vy_type type, vy_scalar value, void *memory);
double float_round(vy_type type, double value); // to f16, f32 or f64

#endif
