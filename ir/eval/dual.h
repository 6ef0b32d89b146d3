// SPDX-License-Identifier: MIT
// dual.h: forward-mode derivatives in the interpreter (dual numbers): every float is accompanied by
// its tangent, the derivative along one direction.
//
// Gradients are compared with it, so it shares nothing with the code that generates them: not the
// column of derivatives in ops.h, no pass, no rewriting.  The rules are written once more, by hand,
// in dual_rules.c, and applied while the unmodified program runs (eval_dual.c).  Unlike a finite
// difference it is exact to rounding, and right at kinks too, where it follows the conventions of
// docs/language.md 9.2.
//
// "Does not depend" is not "depends with slope 0": sqrt(stop_grad(x)) at 0 has no slope, x·0 has
// slope 0; inf times the former contributes nothing, inf times the latter is NaN.  A tangent of the
// former kind is VY_DUAL_NONE.
#ifndef VYRE_DUAL_H
#define VYRE_DUAL_H

#include "ir/pipeline.h"
#include "ir/vyre.h"

#include <string.h>

typedef enum vy_dual_mode {
    VY_DUAL_TANGENT,   // the derivative along the given tangents
    VY_DUAL_MAGNITUDE, // the sum of the absolute values of the derivative's terms: times the unit
                       // roundoff, it bounds the rounding error of adding them in any order
    VY_DUAL_ROUNDING,  // a first-order bound of the rounding error of each value, for exact inputs
} vy_dual_mode;

typedef struct vy_dual_buffer {
    const char *name; // a float parameter
    // By element, row-major: read of `in`, written of `out`, both of `inout`; 0: does not depend.
    double *tangent;
} vy_dual_buffer;

typedef struct vy_dual_scalar {
    const char *name; // a float parameter
    double tangent;
} vy_dual_scalar;

typedef struct vy_dual {
    vy_dual_mode mode;
    const vy_dual_buffer *buffers; // others do not depend, or their tangents are not returned
    uint32_t buffer_count;
    const vy_dual_scalar *scalars; // likewise
    uint32_t scalar_count;
    // For dispatches of pipelines: tangents may be VY_DUAL_NONE and are updated in place.
    bool in_place;
} vy_dual;

// One run of a program or of a pipeline, as by vy_eval or vy_eval_pipeline, with tangents.  Should
// be used with options->f64: otherwise values are rounded to their types, but tangents are not.
bool vy_eval_dual(const vy_program *p, const vy_pipeline *pipeline, const vy_eval_buffer *buffers,
                  uint32_t buffer_count, const vy_eval_scalar *scalars, uint32_t scalar_count,
                  const vy_eval_options *options, const vy_dual *dual, vy_diag *diag);

// A quiet NaN that no arithmetic produces.
#define VY_DUAL_NONE_BITS 0x7FF800000ADD1F00u
static inline double vy_dual_none(void)
{
    const uint64_t bits = VY_DUAL_NONE_BITS;
    double t;
    memcpy(&t, &bits, sizeof t);
    return t;
}
static inline bool vy_dual_is_none(double t)
{
    uint64_t bits;
    memcpy(&bits, &t, sizeof bits);
    return bits == VY_DUAL_NONE_BITS;
}

// dual_rules.c.  The partial derivative of operation `op` (ops.h; `aux` is polygamma's order) with
// respect to operand k, at operands v with value y.  False: the value does not depend on the
// operand, by the nature of the operation or by convention.
bool vy_dual_partial(uint32_t op, uint32_t aux, const double v[3], double y, uint32_t k,
                     double *partial);

#endif
