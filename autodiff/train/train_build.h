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
    // What is passed; BATCH: of all rows, `full`; PARAMETER: what is trained, `full`.
    vy_buffer full, made;
    vy_dim offset;        // PARAMETER, of a search: where it begins in the vector of all
    uint32_t of;          // GRADIENT: buffer of the derivative that is the parameter
    uint32_t first_state; // PARAMETER: in `states`
} train_slot;

enum { TRAIN_SETTLE_STATES = 2 };
enum { TRAIN_PROPOSE, TRAIN_JUDGE, TRAIN_ACCEPT, TRAIN_PHASES };

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
    const vy_program *settle; // NULL: there is no tolerance
    bool searches;            // the optimiser is three pipelines (train_search.c)
    const vy_pipeline *phases[TRAIN_PHASES];
    const vy_program *pack, *unpack;
    // the pipeline
    vy_pipe *q;
    vy_builder *b;
    vy_dim *dims; // by dimension of `result`: in the pipeline
    train_slot *slots;
    vy_buffer *states;
    uint32_t state_count, states_each;
    vy_buffer losses, step, rate_now, chosen;
    vy_buffer recent, ended; // of `settle`
    vy_value window, count, rows;
    vy_value first, derivatives; // of `split`
    vy_value begin;              // of a search
    vy_dim total;                // elements of all parameters
    struct train_wire *wires;
    uint32_t wire_count;
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
// train_parts.c
void *train_room(training *t, size_t count, size_t size);
const char *train_own_name(training *t, const char *of, const char *what);
vy_value train_own_scalar(training *t, const char *what, const char **name);
// first: instead of its first dimension, if not NULL.
vy_buffer train_parameter(training *t, const vy_buf *b, const char *name, vy_buffer_class cls,
                          const vy_dim *first);
vy_buffer train_intermediate(training *t, const vy_buf *b, const char *name);
// What `settle` has; at most TRAIN_SETTLE_STATES of `states`.
void train_settle_states(training *t);
// Dispatches of step `at`.
void train_differentiate(training *t, const vy_dim *at);
void train_choose_rate(training *t, const vy_dim *at);
void train_count_step(training *t, const vy_dim *at);
vy_pipe_arg train_loss_row(const training *t, const vy_dim *at);
// train_search.c: what a training has whose optimiser searches.
bool train_search_check(training *t);
size_t train_search_size(const training *t);
void train_search_states(training *t);
void train_search_steps(training *t);

static inline bool train_failed(const training *t) { return !vy_module_ok(t->m) || !t->b; }
static inline vy_pipe_arg train_flat(vy_buffer b)
{
    return (vy_pipe_arg){.buffer = b, .flat = true};
}
static inline vy_pipe_arg train_entire(vy_buffer b) { return (vy_pipe_arg){.buffer = b}; }
static inline vy_pipe_scalar train_number(const char *name, vy_dim d)
{
    return (vy_pipe_scalar){.name = name, .kind = VY_PIPE_DIM, .dim = d};
}

#endif
