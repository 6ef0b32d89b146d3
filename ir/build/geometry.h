// SPDX-License-Identifier: MIT
// geometry.h: functions of vectors, for the front ends that have them: the text (ir/text) and the
// reader of shaders (spirv/read).
#ifndef VYRE_GEOMETRY_H
#define VYRE_GEOMETRY_H

#include "ir/vyre.h"

#define VY_MAX_COMPONENTS 4u

typedef enum vy_geometric {
    VY_DOT,
    VY_CROSS, // n = 3
    VY_LENGTH,
    VY_DISTANCE,
    VY_NORMALIZE,
    VY_REFLECT,     // incident, normal
    VY_REFRACT,     // incident, normal, ratio of indices (a scalar)
    VY_FACEFORWARD, // vector, incident, reference normal
} vy_geometric;

// v = f(x, y, z) of vectors of n components, as GLSL defines it; those that f does not take may be
// NULL.  Returns how many values v has.  `length`, `distance` and `normalize` have derivative 0 at
// the zero vector.
uint32_t vy_geometry(vy_builder *b, vy_geometric f, uint32_t n, const vy_value *x,
                     const vy_value *y, const vy_value *z, vy_value *v);

#endif
