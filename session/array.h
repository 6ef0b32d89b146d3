// SPDX-License-Identifier: MIT
// array.h: arrays of numbers on the host.
#ifndef VYRE_SESSION_ARRAY_H
#define VYRE_SESSION_ARRAY_H

#include "session/fail.h"

#ifdef __cplusplus
extern "C" {
#endif

#define VYS_MAX_RANK 32

// Row-major elements.  `type` is what is stored: where the interpreter computes in f64, that is f64
// for every float.
typedef struct vys_array {
    vy_type type;
    uint32_t rank;
    uint64_t shape[VYS_MAX_RANK];
    uint64_t count; // product of the shape
    void *data;     // count elements; NULL: not filled yet
} vys_array;

VYS_API void vys_array_free(vys_array *a);
// Sets count from shape and allocates zeros.  False (with *d): overflow, more than the machine has.
VYS_API bool vys_array_alloc(vys_array *a, const char *name, vy_type type, vy_diag *d);

#ifdef __cplusplus
}
#endif
#endif
