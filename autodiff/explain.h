// SPDX-License-Identifier: MIT
// explain.h: the decisions of reverse mode about a program or pipeline, as plain data: how each
// gradient is accumulated, what is taped, what is recomputed, and what it costs.
#ifndef VYRE_EXPLAIN_H
#define VYRE_EXPLAIN_H

#include "autodiff/grad.h"
#include "ir/cost.h"

#ifdef __cplusplus
extern "C" {
#endif

// How a gradient buffer is filled.
typedef enum vy_sum_kind {
    VY_SUM_ZERO,   // not at all: it keeps its initial contents
    VY_SUM_STORE,  // stored: every element belongs to one invocation, which reaches it once
    VY_SUM_ADD,    // loaded, added to, stored: every element belongs to one invocation
    VY_SUM_ATOMIC, // atomic additions: several invocations may reach one element
    VY_SUM_GATHER, // a program over its elements sums the contributions
    VY_SUM_BOTH,   // some contributions are added atomically, then such a program adds the rest
    VY_SUM_TERMS,  // deterministic: each invocation stores a term, separate programs add them up
    VY_SUM_EXACT,  // deterministic: exact integer accumulators, rounded by a separate program
    VY_SUM_WIDE,   // half floats: atomic additions of f32, rounded once by a separate program
} vy_sum_kind;
// "zero", "store", "add", "atomic", "gather", "both", "terms", "exact", "wide"
VY_API const char *vy_sum_kind_name(vy_sum_kind k);

// Where the adjoint of a buffer lives.
typedef enum vy_adjoint_kind {
    VY_ADJOINT_NONE,      // no derivative passes through it
    VY_ADJOINT_GRADIENT,  // in its gradient buffer, a result
    VY_ADJOINT_WORKSPACE, // in a workspace
    VY_ADJOINT_ARRAY,     // in a local array of each invocation
    VY_ADJOINT_SEED,      // is the caller's cotangent, read where it is needed
    VY_ADJOINT_ONES,      // is 1 everywhere: no memory
    VY_ADJOINT_ZERO,      // is 0 everywhere: an output that is not differentiated
} vy_adjoint_kind;
VY_API const char *vy_adjoint_kind_name(vy_adjoint_kind k);

typedef enum vy_work_kind {
    VY_WORK_TAPE,     // values that the reverse sweep needs again
    VY_WORK_ADJOINT,  // the adjoint of a buffer
    VY_WORK_MASK,     // which elements' adjoints were reached at all
    VY_WORK_COPY,     // contents of a parameter that the program overwrites
    VY_WORK_CONTENTS, // contents of an output that is read again
    VY_WORK_OTHER,
} vy_work_kind;
VY_API const char *vy_work_kind_name(vy_work_kind k);

// Why a value is on a tape.
typedef enum vy_kept_why {
    VY_KEPT_CARRIED,     // a loop carries it: the reverse would have to run the loop up to there
    VY_KEPT_OVERWRITTEN, // it was loaded from memory that is overwritten later
    VY_KEPT_ONCE,        // only the forward run can compute it: atomics, subgroup operations
    VY_KEPT_COSTLY,      // recomputing it would cost more
    VY_KEPT_LOG, // of a pipeline: what a dispatch overwrites; the reverse puts it back in its place
} vy_kept_why;
VY_API const char *vy_kept_why_name(vy_kept_why k);

// How the reverse gets a value that a loop carries.
typedef enum vy_had_how {
    VY_HAD_NOT, // not stored: it is not needed, or recomputed
    // An integer that grows by the same amount each iteration: initial value + iteration · amount.
    VY_HAD_CLOSED,
    VY_HAD_TAPE,
} vy_had_how;
VY_API const char *vy_had_how_name(vy_had_how h);

typedef struct vy_explain_gradient {
    const char *name, *of; // grad_x, x
    vy_type type;
    const char *shape; // "K, D"
    vy_sum_kind sum;
    uint32_t places;      // instructions that write it
    const char *start;    // "zero", "ones", or the buffer it starts as a copy of
    const char *variable; // ATOMIC: no axis of the buffer is this domain variable in every access;
                          // NULL: the program has no domain
    uint32_t line;        // … the first access in which no axis is; 0: not known
    // GATHER, BOTH, ATOMIC where several invocations may reach one element:
    const char *program; // the summing program; NULL: none
    // What it takes to hold of scalars, or NULL; if that does not at launch, `otherwise` adds
    // atomically (NULL: the caller says that it does).
    const char *assumes, *otherwise;
    const char *tree; // one that also sums if the number of elements is small; NULL: none
    // The first access that is summed: { domain and loops → element }, by isl; or NULL.
    const char *map;
    // Why the first access that is not summed so is not: completes "the access …"; or NULL.
    const char *why;
    uint32_t why_line; // … its line
} vy_explain_gradient;

typedef struct vy_explain_buffer { // of the forward program
    const char *name;
    vy_buffer_class cls;
    vy_type type;
    const char *shape;
    vy_adjoint_kind adjoint;
    const char *adjoint_name; // GRADIENT, WORKSPACE, ARRAY, SEED; else NULL
    // A local array on no tape: the reverse sweep puts back the zeros that stores overwrote, and
    // loads from it again.
    bool rewound;
} vy_explain_buffer;

typedef enum vy_access_kind { VY_ACCESS_LOAD, VY_ACCESS_STORE, VY_ACCESS_ATOMIC } vy_access_kind;
VY_API const char *vy_access_kind_name(vy_access_kind k);

typedef struct vy_explain_access { // of a float buffer, in the forward program
    const char *buffer;
    vy_access_kind kind;
    uint32_t line;
    const char *relation; // { domain variables, loop counters → elements }, as isl prints it; NULL:
    uint32_t axis;        // … this axis of the index is not affine,
    const char *why;      // … because it `why`
    bool exact;           // false: the relation is over-approximated
} vy_explain_access;

typedef struct vy_explain_workspace {
    const char *name, *of; // of: buffer of the forward program; NULL for tapes
    vy_work_kind kind;
    vy_type type;
    const char *shape;
    bool per_invocation; // `each` is given
    vy_amount each, all; // bytes
} vy_explain_workspace;

typedef struct vy_explain_value {
    const char *name; // "" if the source gives it none
    const char *from; // the buffer it was loaded from, or NULL
    uint32_t line;
    vy_type type;
    const char *tape; // the workspace it is in
    const char *loop; // innermost loop around it, "" at top level
    uint32_t loop_line;
    vy_kept_why why;
    bool per_invocation; // `each` is given
    vy_amount each, all; // bytes
} vy_explain_value;

typedef struct vy_explain_carried {
    const char *name; // "" if the source gives it none
    vy_type type;
    vy_had_how how;
} vy_explain_carried;

// One loop of the source, in all its copies.  The amounts count iterations of its body.
typedef struct vy_explain_loop {
    const char *name; // of its variable; "while"
    uint32_t line, column;
    uint32_t forward_copies, again_copies, reversed_copies;
    vy_amount forward_each, forward_all;   // in the forward program
    vy_amount again_each, again_all;       // in the gradient, forwards
    vy_amount reversed_each, reversed_all; // in the gradient, backwards
    const vy_explain_carried *carried;     // values it carries from iteration to iteration
    uint32_t carried_count;
} vy_explain_loop;

typedef struct vy_explanation {
    const char *program;      // the forward one's name
    const char *const *steps; // programs of the result, in the order in which they run
    uint32_t step_count;
    const vy_explain_gradient *gradients;
    uint32_t gradient_count;
    const vy_explain_buffer *buffers;
    uint32_t buffer_count;
    const vy_explain_access *accesses; // in large programs, only the first ones
    uint32_t access_count, accesses_left_out;
    const vy_explain_loop *loops;
    uint32_t loop_count;
    const vy_explain_value *values; // on tapes
    uint32_t value_count;
    const vy_explain_workspace *workspaces; // tapes too
    uint32_t workspace_count;
    vy_amount tape_each, tape_all; // bytes of all tapes; `each`: of those sized by the domain
    vy_amount work_all;            // bytes of all workspaces
    // Of one run; `memory` is NULL.  If the result has several steps: of those that run the
    // program's own code; the sums over blocks between them are not counted.
    vy_cost forward, gradient;
    void *memory;
} vy_explanation;

// Differentiates a program, optimises forward program and result, and describes the outcome.
// `optimize` NULL: level 2.  `sizes` (NULL: none known) are those of the forward program.  The
// module is not changed.  Errors as vy_grad; NULL then, with *diag filled.  The caller frees the
// explanation, which refers to nothing else.
VY_API vy_explanation *vy_explain(const vy_module *m, const vy_grad_options *options,
                                  const vy_opt_options *optimize, const vy_sizes *sizes,
                                  vy_diag *diag);
VY_API void vy_explanation_free(vy_explanation *e); // NULL is fine

// ------------------------------------------------------------------------------------- pipelines
// What a step of a pipeline does on the device.
typedef enum vy_pipe_work {
    VY_PIPE_COMPUTES, // dispatches a program
    VY_PIPE_COPIES,   // copies a buffer or a slice, also by a program that does nothing else
    VY_PIPE_FILLS,    // fills one with a constant, likewise: where a lifetime begins, or later
    VY_PIPE_READS,    // waits for a `value`
    VY_PIPE_WORK_COUNT
} vy_pipe_work;
VY_API const char *vy_pipe_work_name(vy_pipe_work k); // "dispatches", "copies", "fills", "values"

typedef struct vy_explain_kept { // what the gradient of a pipeline keeps on a tape
    const char *name;            // of the buffer it is of; "": an integer without one
    const char *before;          // the program that is dispatched next on it, or NULL
    uint32_t line;               // … that dispatch
    vy_type type;
    const char *tape;   // the workspace it is in
    const char *loop;   // innermost repeat around it; "": one made by the compiler, or
    uint32_t loop_line; // … at top level, 0
    vy_kept_why why;
    vy_amount each, all; // elements per iteration; bytes in all
} vy_explain_kept;

typedef struct vy_explain_result { // a gradient that a derivative of a dispatched program gives
    const char *name, *of;         // of its parameter, and of the program's
    vy_derivative_mode mode;
    vy_sum_kind sum;     // not WIDE
    const char *program; // that gathers; or NULL
} vy_explain_result;

// A request for the derivative of a dispatched program: the same outputs, inputs and modes.
typedef struct vy_explain_request {
    const char *of;              // the program
    uint32_t line;               // of a step that dispatches it; 0: not known
    const char *name;            // of the derivative
    const char *const *programs; // that make it up, in their order
    uint32_t program_count;
    const vy_explain_result *results;
    uint32_t result_count;
} vy_explain_request;

typedef struct vy_explain_pipe { // the forward pipeline, or its gradient
    const char *name;
    vy_amount work[VY_PIPE_WORK_COUNT]; // steps of a run
    vy_amount bytes;                    // of all intermediates, which live as long as the run
} vy_explain_pipe;

typedef struct vy_pipeline_explanation {
    vy_explain_pipe forward, gradient;
    const vy_explain_buffer *buffers; // parameters and intermediates of the forward pipeline
    uint32_t buffer_count;
    const vy_explain_kept *kept;
    uint32_t kept_count;
    const vy_explain_request *requests; // in the order in which they were made
    uint32_t request_count;
    // On scalars of what is dispatched, under which gradients are gathered: what can be assumed
    // (vy_grad_options.assume).
    const char *const *conditions;
    uint32_t condition_count;
    // Where `checkpoint(revolve, k)` is not followed as it is written, by line: what is kept.
    const char *const *schedules;
    uint32_t schedule_count;
    // Of the gradient; of a dispatched program: PROGRAM.NAME.  `of`: an intermediate of the forward
    // pipeline (CONTENTS), or what a buffer is the adjoint or a copy of.
    const vy_explain_workspace *workspaces;
    uint32_t workspace_count;
    vy_amount tape; // bytes of those that are tapes
    void *memory;
} vy_pipeline_explanation;

// Does the request name a pipeline, or a program that is differentiated as the pipeline that
// dispatches it (driver/starts_meet.c, driver/batches.c)?  Then vy_explain_pipeline explains it,
// else vy_explain.
VY_API bool vy_explains_pipeline(const vy_module *m, const vy_grad_options *options);
// The same of the pipeline, or such a program, that `options->program` names.
VY_API vy_pipeline_explanation *vy_explain_pipeline(const vy_module *m,
                                                    const vy_grad_options *options,
                                                    const vy_opt_options *optimize,
                                                    const vy_sizes *sizes, vy_diag *diag);
VY_API void vy_pipeline_explanation_free(vy_pipeline_explanation *e); // NULL is fine

#ifdef __cplusplus
}
#endif
#endif
