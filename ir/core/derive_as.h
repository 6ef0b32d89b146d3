// SPDX-License-Identifier: MIT
// derive_as.h: pipelines in whose place another one is differentiated.
//
//   pipeline plain(x: in f32[N], …) { … }
//   @derive_as(plain) pipeline clever(x: in f32[N], …) { … }     computes what plain computes
//
// `plain` is found by its name, in the module that the pipeline is in.  This is how the text of a
// derivative with the schedule of revolve says what it is the derivative of
// (autodiff/driver/derive_as.c): its own repeats, whose bounds are searches for positions, would
// have tapes as long as the product of these bounds.  What dispatches such a pipeline names one,
// too (ir/build/pipe_stand_in.c).  `plain` may name another one.
#ifndef VYRE_DERIVE_AS_H
#define VYRE_DERIVE_AS_H

#include "ir/core/ir.h"
#include "ir/pipeline.h"

// The pipeline that l names; NULL: none is called so, or l names none.
const vy_pipeline *vy_named_as(const vy_pipeline *l);
// What is differentiated in the place of `l`, which names none itself: l, if that says nothing.
const vy_pipeline *vy_derived_as(const vy_pipeline *l);
// Does the program add floats as integers (autodiff/deterministic)?  Integers have no derivative,
// so its own would be 0, silently.  `@exact_sums`, or known by what made its accumulators; of the
// signature of a pipeline: is an intermediate such an accumulator?
bool vy_exact_sums(const vy_program *p);
// Why the pipeline cannot have what it names; NULL: it names none, or one that fits.
const char *vy_derive_as_mismatch(const vy_pipeline *l, char text[240]);

#endif
