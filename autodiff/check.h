// SPDX-License-Identifier: MIT
// check.h: is a derivative right?  Compares it with finite differences, and tests its other
// guarantees.
//
// Everything here runs in the reference interpreter, floats in double.  The derivative is an
// argument, not made here, so anything that claims to be one can be checked:
//
//   vy_module *g = vy_grad(m, &(vy_grad_options){0}, &d);
//   vy_check_request q = {.primal = {vy_module_program(m, 0)}, .gradient = vy_check_result_of(g),
//                         .buffers = buffers, .buffer_count = 2};
//   vy_check_result *r = vy_grad_check(&q, &d);
//   if (r && !r->passed) … r->rows[i] …
//   vy_check_free(r);
#ifndef VYRE_CHECK_H
#define VYRE_CHECK_H

#include "ir/pipeline.h"
#include "ir/vyre.h"

#ifdef __cplusplus
extern "C" {
#endif

// What a row of the result tests.  `buffer` is the gradient buffer unless stated otherwise.
typedef enum vy_check_test {
    VY_CHECK_DIFFERENCES, // elements of a gradient against central differences
    // ⟨gradient, v⟩ against the slope along random v by dual numbers; the cotangents are random.
    VY_CHECK_DIRECTION,
    VY_CHECK_PRIMAL, // buffer: an output; with_value writes the same as the forward program
    VY_CHECK_POISON, // the old contents of gradient buffers do not matter
    VY_CHECK_TWICE,  // a second run, with workgroups in another order, gives the same
    VY_CHECK_INPUTS, // buffer: an input; it is unchanged
    VY_CHECK_RACES,  // the gradient program has no data race; no buffer
    VY_CHECK_DEVICE, // these two are for callers that also run a gradient elsewhere: its values,
    VY_CHECK_DEVICE_TWICE, // and those of a second run; see vy_check_compare
    VY_CHECK_TANGENTS, // elements of a gradient against dual numbers (ir/eval/dual.h), at kinks too
    // The primal itself: it has no data race and reads nothing uninitialised; no buffer.
    VY_CHECK_PROGRAM,
    VY_CHECK_DEVICE_FORWARD, // for such callers, too; buffer: an output of the primal run elsewhere
    VY_CHECK_RANGE,          // accesses of the primal are in range; no buffer; no row if all are
    // ⟨ct, J v⟩ by forward mode against ⟨Jᵀ ct, v⟩ by the gradient, with random cotangents ct,
    // along the directions v of all gradients; no buffer; no row without `forward`, `no_forward`
    VY_CHECK_FORWARD,
    // For callers that check vy_check_stand_in(l): what l computes against that; buffer: an output.
    VY_CHECK_STAND_IN,
    VY_CHECK_TESTS
} vy_check_test;
VY_API const char *vy_check_test_name(vy_check_test test); // "differences"

typedef enum vy_check_verdict {
    VY_CHECK_PASSED,
    VY_CHECK_FAILED,
    VY_CHECK_SKIPPED
} vy_check_verdict;

typedef struct vy_check_row {
    vy_check_test test;
    vy_check_verdict verdict;
    const char *buffer;
    // An element fails when |got − expected| > tolerance · max(floor, |got|, |expected|).
    double tolerance;
    double floor;      // 1, or less: the size of a small gradient
    double size;       // TANGENTS: average magnitude of the terms that an element is the sum of
    uint64_t elements; // of the buffer
    uint64_t compared; // elements compared; DIRECTION: that took part in a comparison
    uint64_t failed;   // of those compared
    uint64_t unsure;   // tried, but the finite differences are not finite or contradict one another
    uint64_t kinks;    // tried, but the probes took different paths, or left the domain
    uint64_t *kink_at; // their indices
    bool has_worst;    // the compared element with the largest error:
    uint64_t worst;    // its index; DIRECTION: the first element of the group
    double got, expected, error; // error = |got − expected| / max(floor, |got|, |expected|)
    char note[200];              // why it was skipped, what races; may be empty
} vy_check_row;

// The first element of a result that is not finite, and its origin.
typedef struct vy_check_nonfinite {
    const char *buffer; // NULL: all are finite
    uint64_t index;
    double value;
    // Text of the operation that first made a non-finite value from finite ones, "sqrt"; "load": it
    // was in the data.  NULL: unknown.
    const char *operation;
    uint32_t line, column; // of it or of its primal counterpart in the source; 0: none
} vy_check_nonfinite;

typedef struct vy_check_result {
    bool passed;            // no row failed
    const char *unverified; // not NULL: a gradient for which no comparison was possible
    vy_check_row *rows;
    uint32_t count, capacity;
    vy_check_nonfinite forward, gradient; // of the outputs; of the gradients
    uint64_t runs;                        // of the interpreter
    // What is wrong with the primal, as a diagnostic of its source; then nothing else was checked.
    vy_diag program;
    // An access of the primal that is out of range.  It is defined (a load gives 0, a store does
    // nothing), but seldom intended.
    vy_diag out_of_range;
    uint64_t out_of_range_count;
} vy_check_result;

// What is run: `pipeline` if it is not NULL, else `program`.
typedef struct vy_check_subject {
    const vy_program *program;
    const vy_pipeline *pipeline;
} vy_check_subject;
// The result in a module that vy_grad returned: its last pipeline, else its first program.
VY_API vy_check_subject vy_check_result_of(const vy_module *m);
// What has differences to compare the derivative of `l` with: l itself, or, where it has exact sums
// (of integers: their differences are 0), what is differentiated in its place (@derive_as).
VY_API const vy_pipeline *vy_check_stand_in(const vy_pipeline *l);

// Zero-initialised means defaults.  The request is not retained, but rows point to names of the
// programs.
typedef struct vy_check_request {
    size_t size; // of the struct, or 0 (vyre.h)
    vy_check_subject primal;
    vy_check_subject gradient; // its derivative by vy_grad, without with_value
    vy_check_subject valued;   // the same with_value; none: no PRIMAL rows
    vy_check_subject seeded;   // the same with seed_buffer; none: `gradient`, with its cotangents
    vy_check_subject forward;  // by vy_jvp, of the same outputs and inputs; none: no FORWARD row
    const char *no_forward;    // then: why there is none, for a row that was skipped; or NULL
    const char *const *of;     // what was differentiated; NULL: vy_grad_default_of (programs only)
    uint32_t of_count;
    // The primal's, as for vy_eval without f64; `data` of `out` buffers may be NULL.  Not written.
    const vy_eval_buffer *buffers;
    uint32_t buffer_count;
    const vy_eval_scalar *scalars; // in their own types
    uint32_t scalar_count;
    // By their names in `gradient` (grad_o, ct_x); omitted ones are all ones.
    const vy_eval_buffer *cotangents;
    uint32_t cotangent_count;
    uint32_t groups[3], subgroup_size; // as in vy_eval_options
    // Of DIFFERENCES.  0: 1e-6, or 1e-3 if `gradient` holds constants that were rounded to f16.
    double tolerance;
    uint64_t samples;   // elements of a buffer to compare at most; 0: 256, fewer if a run is long
    uint64_t seed;      // of samples, directions and random cotangents
    uint64_t max_steps; // as in vy_eval_options, of any one run
    uint64_t budget;    // if samples = 0: instructions × invocations of all probes; 0: default
    bool allow_out_of_range; // accesses of the primal out of range are intended: RANGE rows pass
    // They are not checked: `primal` is a derivative, which reads for lanes that pad a workgroup.
    bool no_range;
} vy_check_request;

// Runs all tests.  The result has, in this order, DIFFERENCES and DIRECTION rows per gradient
// buffer, FORWARD, TANGENTS rows per gradient buffer, then those of the other tests; or, if the
// primal is wrong, PROGRAM alone.  NULL with *diag filled: memory, or a program that cannot be run
// on that data.  Cost: about 5·samples runs of the primal per gradient buffer, each with time for
// its outputs; samples are spread evenly over a buffer and are the same every time.  If there are
// very many gradients, only some, evenly spread, are compared element by element (the rows of the
// others are skipped), and directions are tried together.
VY_API vy_check_result *vy_grad_check(const vy_check_request *request, vy_diag *diag);
VY_API void vy_check_free(vy_check_result *r); // NULL is fine

// Appends a row that compares all elements of two arrays of `type`; tolerance 0: the bits must be
// the same (all NaNs are equal); else elements whose expected value is not finite are not compared.
// `buffer` must outlive the result.  NULL: out of memory.
VY_API vy_check_row *vy_check_compare(vy_check_result *r, vy_check_test test, const char *buffer,
                                      vy_type type, uint64_t count, const void *got,
                                      const void *expected, double tolerance);
// The same with a floor.
VY_API vy_check_row *vy_check_compare_to(vy_check_result *r, vy_check_test test, const char *buffer,
                                         vy_type type, uint64_t count, const void *got,
                                         const void *expected, double tolerance, double floor);
// A floor for elements of that array: their largest magnitude, or `size` if that is more, at most
// 1.
VY_API double vy_check_floor_of(vy_type type, uint64_t count, const void *data, double size);
// Does some sum of floats in it depend on the order of invocations, so that two runs may differ in
// their last bits?
VY_API bool vy_check_order_matters(vy_check_subject s);
// Appends a row that was not run, with the reason.
VY_API vy_check_row *vy_check_skip(vy_check_result *r, vy_check_test test, const char *buffer,
                                   const char *why);

#ifdef __cplusplus
}
#endif
#endif
