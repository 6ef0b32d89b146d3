// SPDX-License-Identifier: MIT
// vector_params.h: which scalar parameters are the components of one vector.
//
// Programs have no parameters of vectors: `vec3 dir` of a shader is dir.0, dir.1, dir.2, and a
// program of the language has dir_x, dir_y, dir_z.  Those that follow each other, have one type and
// such names are a vector to the printer and to the pass that groups operations.  Should they be
// scalars, vec3(…) of them means the same.
#ifndef VYRE_VECTOR_PARAMS_H
#define VYRE_VECTOR_PARAMS_H

#include "ir/core/vector_buffers.h"

typedef struct vy_vector_param {
    uint32_t first;  // the scalar parameter that is its first component
    uint8_t n, lane; // of how many components; which one it is, from 1, or 0: it is none
} vy_vector_param;

// By scalar parameter (p->scalars.count entries).
void vy_vector_params(const vy_program *p, vy_vector_param *params);
// That of a value, which is such a component; NULL: it is none.
const vy_vector_param *vy_vector_param_of(const vy_program *p, const vy_vector_param *params,
                                          uint32_t value);
// The length of the vector's name in that of its first component.
size_t vy_vector_param_stem(const char *first);

#endif
