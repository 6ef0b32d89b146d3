// SPDX-License-Identifier: MIT
// library.h: functions that expand into operations where they are called.
//
// Each has a row: its name, a letter for each parameter and result, and the function that builds
// it.  The text front end reads types from the letters (ir/text/sema_library.c):
//
//   F  a float, or a vector of floats     I  i32   U  u32   N  an integer   W  u32 or u64
//      These go by components: all of a call have the same number of them, except for scalars, and
//      `build` is called for each component.  All F are of one type, and so are all N.
//   S  one float     V Q M  a vector of 3 or of 4 floats, a 3 × 3 matrix: all of one float type
//   C  u32 or a vector of 2, 3 or 4   K  … of 2   P  a vector of 2 or 4
//   As results also: R  a float of the size of W by components, X  a vector of four u32, Y  as many
//   f32 as P has components.
#ifndef VYRE_LIBRARY_H
#define VYRE_LIBRARY_H

#include "ir/vyre.h"

#define VY_MOST_TAKEN 3u // parameters
#define VY_MOST_GIVEN 9u // scalars of one result, and results of a component

typedef struct vy_taken { // what a parameter is
    const vy_value *v;
    uint32_t n;
} vy_taken;

// clang-format off
#define VY_LIBRARY(X)                                                                     \
    X(copysign, "FF", "F")          /* magnitude, sign */                                 \
    X(ldexp, "FI", "F")             /* x, n: x 2^n */                                     \
    X(frexp, "F", "FI")             /* mantissa, exponent */                              \
    X(sincos, "F", "FF")            /* sine, cosine */                                    \
    X(clz, "N", "N")                /* zeros above the highest bit that is set */         \
    X(ctz, "N", "N")                /* zeros below the lowest */                          \
    X(philox, "CK", "X")            /* counter, key: four random words */                 \
    X(random_uniform, "W", "R")     /* of bits: 0 … 1, without 1 */                       \
    X(random_normal, "P", "Y")      /* of bits: mean 0, deviation 1 */                    \
    X(random_int, "UU", "U")        /* of bits, n: 0 … n − 1 */                           \
    X(quat_mul, "QQ", "Q")          /* p, q: rotates by q, then by p */                   \
    X(quat_conjugate, "Q", "Q")     /* the opposite rotation */                           \
    X(quat_rotate, "QV", "V")       /* q, v: v rotated */                                 \
    X(quat_axis_angle, "VS", "Q")   /* axis of length 1, radians */                       \
    X(quat_matrix, "Q", "M")        /* that rotates as q does */                          \
    X(quat_slerp, "QQS", "Q")       /* p, q, t: the part t of the way from p to q */
// clang-format on

// v: VY_MOST_GIVEN
typedef void vy_library_build(vy_builder *b, const vy_taken *x, vy_value *v);

#define X(name, takes, gives) extern vy_library_build vy_build_##name;
VY_LIBRARY(X) // numbers.c, philox.c, quaternion.c
#undef X

enum {
#define X(name, takes, gives) VY_LIB_##name,
    VY_LIBRARY(X)
#undef X
};

typedef struct vy_library_function {
    const char *name, *takes, *gives;
    vy_library_build *build;
} vy_library_function;

const vy_library_function *vy_library_at(uint32_t i); // VY_LIB_…
bool vy_library_is_by_component(const vy_library_function *f);

#endif
