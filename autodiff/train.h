// SPDX-License-Identifier: MIT
// train.h: a program or pipeline with a loss, as a pipeline that trains it.
//
//   before   program mse(x: in f32[N, D], y: in f32[N], w: in f32[D], loss: out f32[1], …)
//   after    pipeline mse_fit(x: in f32[N, D], y: in f32[N], w: inout f32[D],
//                             w_mean: inout f32[D], w_square: inout f32[D], step: inout u32[1],
//                             losses: out f32[window, 1], …, window: u32, count: u32) {
//                buffer grad_w: f32[D];
//                buffer rate: f32[1];
//                repeat t in 0..count {
//                    mse_grad(x, y, w, losses[t], grad_w);
//                    rate_constant(losses[t], step, rate, lr=0.001);
//                    adam(flat(w), flat(grad_w), flat(w_mean), flat(w_square), rate, step);
//                    next_step(losses[t], step);
//                }
//            }
//
// One run is `count` steps, and everything that a step needs from earlier ones is in buffers, so
// that runs follow each other without the host.  The optimiser is a program of the language, one
// for parameters of any rank; those of the library are in the folder shaders/optimisers/ of the
// source, and installed (its README says how to write one).
//
// An optimiser that asks for losses and gradients in several places before it moves (L-BFGS) is
// three pipelines over all parameters as one vector, between which the derivative is dispatched in
// a `while`.  It refuses batches: losses of one step are compared.
//
// Where gradients are summed over several devices between the two halves of a step
// (session/ranks.h), `split` makes loops of their own of both, and gradients and losses parameters:
//
//                repeat t in first..derivatives { mse_grad(x, y, w, losses[t], grad_w); }
//                repeat t in first..count { rate_constant(…); adam(…); next_step(…); }
//
// A run with count = first differentiates step `first`, one with derivatives = first makes it.
#ifndef VYRE_TRAIN_H
#define VYRE_TRAIN_H

#include "autodiff/grad.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef enum vy_schedule { VY_RATE_CONSTANT, VY_RATE_COSINE, VY_RATE_STEP } vy_schedule;

typedef struct vy_train_options {
    size_t size;               // of the struct, or 0 (vyre.h)
    const char *program;       // NULL: the only program of the module, else its last pipeline
    const char *loss;          // an output with one element, f32 or f64
    const char *const *params; // `in` buffers of the same type
    uint32_t param_count;
    const char *optimiser;      // "sgd", "momentum", "adam", "lbfgs"; NULL: adam
    const char *optimiser_text; // another one: a text whose last program it is, or which searches
    vy_schedule schedule;
    double lr;       // the first learning rate, > 0
    double last;     // COSINE: the last one
    double factor;   // STEP: by which it is multiplied …
    uint32_t period; // … after as many steps; COSINE: steps from `lr` to `last`
    // Buffers whose first dimension, a scalar of the program, counts rows: each step gets as many
    // rows as that scalar says, chosen from all those bound, without repetition within an epoch.
    const char *const *batch;
    uint32_t batch_count;
    uint32_t seed; // of their order
    // > 0: training ends where the losses of 8 steps in a row differ by no more than this times the
    // greatest of them; later steps change nothing then, and are not counted by `step`.  0: never.
    double tolerance;
    bool split; // gradients are read and replaced between the halves of a step; E0505 with batches
    const vy_grad_options *grad; // how it is differentiated; of, wrt and with_value are set here
} vy_train_options;

// What the pipeline has beside the parameters of the program.  Strings belong to its module.
typedef struct vy_training {
    const char *pipeline;
    const char *losses, *step;  // out f32[window, 1]; inout u32[1], of the next step
    const char *window, *count; // u32 scalars: length of `losses`; steps of one run, at most that
    const char *rows, *batch;   // u32 scalars: rows of the data, of a batch; NULL: no batches
    // u32 scalar of optimisers that search: 1, or 0 in a run that goes on where the one before
    // ended, with the same parameters and data: what was found there is not computed again.
    const char *begin; // NULL: there is none
    // Of `split` (else NULL): u32 scalars, and by parameter the inout buffer that its gradient is;
    // `losses` is an inout buffer, too.  `count` is then where the loop of updates ends.
    const char *first, *derivatives;
    const char *const *gradients;
    uint32_t state_count;      // inout buffers of the optimiser
    const char *const *states; // they begin as zeros, as `step` does
} vy_training;

// Returns a new module with the pipeline, which is its last, and what it dispatches; *out describes
// it.  NULL: *diag says why (E0001, E0501, E0505, what vy_grad reports, what is wrong with
// optimiser_text).
VY_API vy_module *vy_train(const vy_module *m, const vy_train_options *options, vy_training *out,
                           vy_diag *diag);
// The texts of the folder shaders/optimisers/: "sgd", …; NULL: there is none of that name.
VY_API const char *vy_train_text(const char *name);
// Names of the library's optimisers; NULL past the last.
VY_API const char *vy_train_optimiser(uint32_t index);
// The learning rate that suits one of them where nothing is known; NULL: a text of one's own.
VY_API double vy_train_rate(const char *name);

#ifdef __cplusplus
}
#endif
#endif
