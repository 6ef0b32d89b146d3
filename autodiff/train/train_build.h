// SPDX-License-Identifier: MIT
// train_build.h: what the files that make a training pipeline share.
#ifndef VYRE_TRAIN_BUILD_H
#define VYRE_TRAIN_BUILD_H

#include "autodiff/train.h"
#include "autodiff/transform.h"
#include "ir/build/edit.h"
#include "ir/core/pipe.h"

typedef enum train_place { // what a buffer of the derivative is in the pipeline
    TRAIN_DATA,            // a parameter as it is
    TRAIN_BATCH,           // an intermediate: the chosen rows of a parameter
    TRAIN_PARAMETER,       // a parameter that the optimiser changes
    TRAIN_LOSS,            // a row of `losses`
    TRAIN_RESULT,          // an intermediate: an output that nothing reads
    TRAIN_GRADIENT,        // an intermediate
} train_place;

typedef struct train_slot { // by buffer of the derivative
    train_place place;
    vy_buffer full, made; // BATCH: all rows; what is passed
    uint32_t of;          // GRADIENT: buffer of the derivative that is the parameter
    uint32_t first_state; // PARAMETER: in `states`
} train_slot;

typedef struct training {
    const vy_train_options *o;
    vy_module *m; // to work in: the program, its derivative, the optimiser, the pipeline
    vy_diag *diag;
    vy_training *out;
    vy_arena *arena; // of m
    vy_ref source;
    const vy_program *primal; // parameters of the source
    const vy_derived *derived;
    const vy_program *result; // parameters of the derivative
    vy_type type;             // of the loss and of all parameters
    const vy_program *optimiser, *rate, *next, *choose;
    // the pipeline
    vy_pipe *q;
    vy_builder *b;
    vy_dim *dims; // by dimension of `result`: in the pipeline
    train_slot *slots;
    vy_buffer *states;
    uint32_t state_count, states_each;
    vy_buffer losses, step, rate_now, chosen;
    vy_value window, count, rows;
    uint32_t batch_scalar; // of `result`; UINT32_MAX: no batches
} training;

bool train_fail(training *t, vy_code code, uint32_t line, const char *fix, const char *format, ...)
    __attribute__((format(printf, 5, 6)));
bool train_no_memory(training *t);
bool train_is_listed(const char *const *names, uint32_t count, const char *name);

// train_request.c: false with *t->diag; sets source, primal, type.
bool train_check_request(training *t);
// train_programs.c: the optimiser and what else runs beside the derivative, added to t->m.
bool train_add_programs(training *t);
// The program that takes rows of buffers of this type, added at its first use; NULL: *t->diag.
const vy_program *train_take_rows(training *t, vy_type type);
// Is a buffer of an optimiser, by its number, one of its own?
bool train_is_state(const vy_program *optimiser, uint32_t buffer);
// train_pipeline.c
bool train_build(training *t);

#endif
