// SPDX-License-Identifier: MIT
// deterministic.h: sums whose bits do not depend on the order in which invocations run.
#ifndef VYRE_DETERMINISTIC_H
#define VYRE_DETERMINISTIC_H

#include "ir/vyre.h"

#ifdef __cplusplus
extern "C" {
#endif

// A copy of module `m` that computes what `name` (a program or a pipeline of it; NULL: the only
// program, else the last pipeline) computes, with the same parameters, and adds no floats by
// atomics.  Elements that several invocations add to become the exact sum of the terms, rounded
// once.  A program that becomes several is replaced by a pipeline.  Programs that `name` does not
// dispatch are dropped.
//
// Errors (vy_diag): E0506 an atomic addition that cannot be replaced, with place and fix: one whose
// old value is used, or to shared memory.  NULL then, with *diag filled.  The caller frees the
// module.
VY_API vy_module *vy_deterministic(const vy_module *m, const char *name, vy_diag *diag);

#ifdef __cplusplus
}
#endif
#endif
