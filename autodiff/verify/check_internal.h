// SPDX-License-Identifier: MIT
// check_internal.h: the parts of vy_grad_check.
//
//   check.c             the order of things, and what is not finite
//   check_image.c       data of one run of a program, and running it
//   check_tangent.c     gradients against dual numbers, the reference
//   check_direction.c   … along one direction each, or all together
//   check_forward.c     forward mode against all of them along these directions
//   check_difference.c  … and against finite differences, a second opinion
//   check_promises.c    the other tests
//   check_rows.c        the result as data
#ifndef VYRE_CHECK_INTERNAL_H
#define VYRE_CHECK_INTERNAL_H

#include "autodiff/check.h"
#include "autodiff/transform.h"

#include "ir/eval/eval.h"

// A program's parameters with their contents.  In a *wide* image floats are double.
typedef struct image {
    const vy_program *p; // of a pipeline its signature
    const vy_pipeline *pipeline;
    bool wide;
    vy_eval_buffer *buffers; // in the order of p's parameters, workspaces excepted
    vy_type *types;          // of the elements in memory
    uint64_t *counts;        // elements
    bool *shared;            // the data is another image's
    uint32_t *at;            // by vy_buffer.id of p: which of them + 1, 0: none
    uint32_t count;
    vy_eval_scalar *scalars;
    uint32_t *scalar_at; // by scalar of p: which of them + 1, 0: none
    uint32_t scalar_count;
} image;

typedef struct output { // of the primal, that was differentiated
    const char *name;
    const double *cotangent; // in the image of the gradient; NULL: ones
} output;

typedef struct check {
    const vy_check_request *q;
    vy_check_result *r;
    vy_diag *d;
    image base;        // the primal's data, wide
    image at;          // after a run of the primal on `base`
    image plus, minus; // after probes; all three share base's inputs
    output *outputs;
    uint32_t output_count;
    uint64_t centre;  // path hash of the primal on `base`
    uint64_t *path;   // not NULL: of runs with dual numbers, mixed here
    uint64_t samples; // most elements of a gradient to compare
    double share;     // of the gradients whose elements are compared; 1: all
    double tolerance;
    bool cut;    // the primal says stop_grad or straight_through
    double unit; // how far rounding may take a sum, per size of its terms
    // By buffer of `base`, NULL for integers: tangents of a run with dual numbers, and a bound of
    // the rounding errors of what the primal leaves there.
    double **dots, **noise;
    vy_dual_buffer *duals; // the tangents with their names, dual_count of them
    uint32_t dual_count;
    vy_check_row *tangents; // TANGENTS rows, one per gradient buffer, until they are added
    uint32_t tangent_count;
} check;

// All that return bool fill c->d when they fail.
bool vy_check_memory(check *c); // fills it and returns false
bool vy_check_bad(check *c, const char *format, ...) __attribute__((format(printf, 2, 3)));

// check_image.c
// The primal's data from the request.
bool vy_image_primal(check *c, bool wide, image *m);
// The same program: `in` buffers are base's, others are its own, empty until vy_image_restart.
bool vy_image_share(check *c, const image *base, image *m);
void vy_image_restart(const image *base, image *m); // `inout` contents as in base
// A derivative `s` of the program of `primal`: its data, gradients filled with NaN, cotangents from
// the request or random (seed not 0), tangents 0.
bool vy_image_derived(check *c, const image *primal, vy_check_subject s, uint64_t seed, image *m);
void vy_image_free(image *m);
int vy_image_find(const image *m, const char *name); // -1: not there
static inline vy_buffer_class vy_image_class(const image *m, uint32_t i)
{
    return vy_program_buffer(m->p, vy_program_find_buffer(m->p, m->buffers[i].name)).cls;
}
static inline uint64_t vy_image_bytes(const image *m, uint32_t i)
{
    return m->counts[i] * vy_type_size(m->types[i]);
}

typedef struct check_run { // zero: a plain run
    vy_eval_hooks hooks;
    uint64_t shuffle_seed;
    bool races;
    bool reports;          // all of them
    vy_eval_report report; // filled
} check_run;
// Every run of a program, primal or derivative, goes through here.
bool vy_check_run(check *c, image *m, check_run *run);

// The buffer or scalar of `primal` that buffer i of `derived` is the gradient of; false: it is no
// gradient.
typedef struct gradient_of {
    int buffer, scalar; // index, or -1
} gradient_of;
bool vy_gradient_of(const image *primal, const image *derived, uint32_t i, gradient_of *out);

// What buffer i of a derivative is to the program of `primal`.
vy_derivative_role vy_image_role(const image *primal, const image *derived, uint32_t i);

// The programs of a subject, by index; NULL past the end.
const vy_program *vy_check_program_at(vy_check_subject s, uint32_t index);
const vy_program *vy_check_parameters(vy_check_subject s);

// splitmix64 of a number: for samples, signs, cotangents
uint64_t vy_check_random(uint64_t x);

// What a probe moves: an element, a scalar, or elements along `along`.
typedef struct probe {
    gradient_of of;
    double *data;        // first of them, in c->base
    const double *was;   // their values
    const double *along; // how far each moves; NULL: 1
    uint64_t count, first;
} probe;
static inline double *vy_check_moved(check *c, gradient_of of)
{
    return of.buffer >= 0 ? (double *)c->base.buffers[of.buffer].data
                          : &c->base.scalars[of.scalar].value.f;
}
// Moves them by h, and back.
void vy_check_move(const probe *p, double h);
void vy_check_put_back(const probe *p);

typedef struct sum { // Neumaier's: adds up with an error of about one rounding
    double high, low;
} sum;
void vy_sum_add(sum *s, double term);
double vy_sum_total(const sum *s);

void vy_check_note(const check *c, vy_check_row *row, const vy_diag *d); // its place and text
// check_tangent.c
bool vy_check_tangent_memory(check *c); // and c->noise
void vy_check_tangent_free(check *c);
// The derivative of Σ cotangent · output along the probe, by dual numbers; leaves c->dots.
bool vy_check_slope(check *c, const probe *p, vy_dual_mode mode, double *slope);
// The same along n probes at once.
bool vy_check_slopes(check *c, const probe *p, uint32_t n, vy_dual_mode mode, double *slope);
typedef enum opinion { AGREES, DIFFERS, NO_OPINION } opinion;
// The size of the terms that an element of the gradient is the sum of, on average over all `count`.
bool vy_check_terms(check *c, gradient_of of, uint64_t count, double *size);
// Is `got` that slope?
bool vy_check_compare_slope(check *c, const probe *p, double got, double *slope, opinion *o);
bool vy_check_tangent_rows(check *c); // adds c->tangents
// *yes: does the slope along the n probes itself change by `much` when what moves changes in its
// last bits and the program takes the same path?
bool vy_check_trembles(check *c, const probe *p, uint32_t n, double slope, double much, bool *yes);

// check_direction.c: DIRECTION rows; `derived` is the gradient after a run, wide; c->outputs are
// its cotangents.
bool vy_check_direction(check *c, image *derived);

// check_forward.c: the FORWARD row.  p: what all gradients move, along directions; expected: the
// sum of their products with these, for the cotangents of c->outputs.
bool vy_check_forward(check *c, const probe *p, uint32_t n, double expected);

// check_difference.c: DIFFERENCES rows, and c->tangents
bool vy_check_differences(check *c, const image *derived);
// A difference for one element, of which dual numbers gave `slope`.
bool vy_check_difference(check *c, const probe *p, vy_check_row *row, double got, double slope,
                         opinion o);

// check_promises.c
bool vy_check_primal(check *c); // PRIMAL rows
// The other rows, from a first run of the gradient.
bool vy_check_promises(check *c, const image *derived);

// check_rows.c
vy_check_row *vy_check_row_add(vy_check_result *r, vy_check_test test, const char *buffer);
// Notes a compared element, by the row's floor as it is now.
void vy_check_row_note(vy_check_row *row, uint64_t index, double got, double expected);
bool vy_check_row_kink(vy_check_row *row, uint64_t index);      // false: memory
void vy_check_row_close(vy_check_result *r, vy_check_row *row); // verdict

#endif
