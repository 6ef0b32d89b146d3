// SPDX-License-Identifier: MIT
// matrix.h: linear algebra of small matrices, for the front ends that have them: the text (ir/text)
// and the reader of shaders (spirv/read).  Matrices are columns one after the other, as in GLSL.
#ifndef VYRE_MATRIX_H
#define VYRE_MATRIX_H

#include "ir/vyre.h"

#define VY_MAX_ENTRIES 16u // of a matrix

// v = x y, of rows × inner and inner × columns entries; v is neither of them.
void vy_matrix_product(vy_builder *b, uint32_t rows, uint32_t inner, uint32_t columns,
                       const vy_value *x, const vy_value *y, vy_value *v);
void vy_matrix_transpose(uint32_t rows, uint32_t columns, const vy_value *x, vy_value *v);
// Of n × n entries, n from 1 to 4.
vy_value vy_matrix_determinant(vy_builder *b, uint32_t n, const vy_value *x);
void vy_matrix_inverse(vy_builder *b, uint32_t n, const vy_value *x, vy_value *v);

#endif
