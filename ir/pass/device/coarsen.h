// SPDX-License-Identifier: MIT
// coarsen.h: between coarsen.c, which chooses, and unroll_and_jam.c, which rewrites.
#ifndef VYRE_COARSEN_H
#define VYRE_COARSEN_H

#include "ir/pass/pass.h"

// unroll_and_jam.c: `factor` invocations along `axis` become one.  False: the module has the error.
bool vy_jam(vy_program *p, uint32_t axis, uint32_t factor);

// coarsen.c, for tests: blocks by `factor` along every variable where possible, whatever the cost.
bool vy_coarsen_all(vy_program *p, uint32_t factor);

#endif
