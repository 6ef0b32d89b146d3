// SPDX-License-Identifier: MIT
// gather_begun.h: buffers that a gather reads as they began (gather_begun.c); one entry for each.
#ifndef VYRE_GATHER_BEGUN_H
#define VYRE_GATHER_BEGUN_H

#include "autodiff/gather/gather_build.h"

typedef struct gather_begun {
    uint32_t place; // one of its accesses; 0: there is none
    bool others;    // it has accesses elsewhere
    bool proved, required;
    vy_assumption within[2 * VY_ROW_AXES];
    const char *condition[2 * VY_ROW_AXES];
    uint32_t count;
    vy_dim holds; // id 0: in every launch
} gather_begun;

#endif
