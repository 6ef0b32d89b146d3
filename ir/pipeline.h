// SPDX-License-Identifier: MIT
// pipeline.h: a pipeline is a fixed sequence of program dispatches over named buffers
// (docs/language.md 6).
//
// Its parameters are kept as a program without code, the *signature*: everything that works on the
// parameters of a program (reflection, shape inference, binding of data) works on a pipeline.  The
// intermediates (`buffer h: f32[B, H];`) are workspace buffers of the signature, of class VY_INOUT;
// dimensions, slice positions and counts are dimension expressions of the signature (vy_dim), in
// which a VY_DIM_STEP node is a number that is known only while the pipeline runs, and num_groups
// (vy_dim_groups) what the caller of the pipeline gives.  An intermediate starts as zeros, or as
// vy_buffer_init sets it; its name is no other buffer's.
//
//   vy_pipe     *q = vy_pipeline_begin(m, "mlp");
//   vy_builder  *b = vy_pipeline_params(q);             // vy_param_buffer, vy_param_scalar, …
//   …
//   vy_buffer    h = vy_pipeline_buffer(q, "h", VY_F32, 2, dims);
//   vy_pipeline_dispatch(q, matmul, 3, (vy_pipe_arg[]){{x}, {w1}, {h}}, 0, NULL, NULL);
//   vy_pipeline_call(q, solve, 2, (vy_pipe_arg[]){{h}, {y}}, 0, NULL, NULL); // of pipeline `solve`
//   vy_pipeline *p = vy_pipeline_end(q);                // NULL after an error (the module's diag)
#ifndef VYRE_PIPELINE_H
#define VYRE_PIPELINE_H

#include "ir/vyre.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef struct vy_pipeline vy_pipeline;
typedef struct vy_pipe vy_pipe; // one being built

typedef enum vy_pipe_kind {
    VY_PIPE_BUFFER,     // the lifetime of intermediate `buffer` begins: sized, cleared to zero
    VY_PIPE_DISPATCH,   // one program
    VY_PIPE_VALUE,      // reads element `index` of `buffer`; later VY_DIM_STEP nodes name this step
    VY_PIPE_REPEAT,     // runs the steps up to its END for each t in from..to; VY_DIM_STEP: t
    VY_PIPE_TEST,       // directly in a `while`: leaves it if `from` is 0
    VY_PIPE_CHECKPOINT, // `checkpoint { … }` up to its END
    VY_PIPE_END,        // closes the innermost REPEAT or CHECKPOINT
} vy_pipe_kind;

typedef enum vy_keep_states { // which states a repeat keeps for its reverse
    VY_KEEP_ALL,
    VY_KEEP_SQRT,    // checkpoint(sqrt)
    VY_KEEP_EVERY,   // checkpoint(k)
    VY_KEEP_REVOLVE, // checkpoint(revolve, k)
} vy_keep_states;

// What a buffer parameter of a dispatched program is bound to: a buffer of the signature, or with
// rank > 0 the slice buffer[index[0], …] of its leading `rank` dimensions.
typedef struct vy_pipe_arg {
    vy_buffer buffer;
    uint32_t rank;
    const vy_dim *index; // dimensions of the signature; copied
    // Text: `flat(b)`.  The elements that remain, row-major, are passed to a parameter of another
    // shape with as many.  One with a single dimension is of their number, `elements`, which is
    // filled in by the builder; one with several gets its shape from the scalars.
    bool flat;
    vy_dim elements;
} vy_pipe_arg;

// A scalar parameter of a dispatched program.
typedef struct vy_pipe_scalar {
    const char *name; // of the program's parameter; copied
    enum { VY_PIPE_INFER, VY_PIPE_DIM, VY_PIPE_PARAM, VY_PIPE_CONST } kind;
    vy_dim dim;      // DIM: an integer expression
    uint32_t scalar; // PARAM: scalar parameter of the signature, same type, bit for bit
    vy_scalar value; // CONST: in the parameter's type
    // In a finished pipeline integers are DIM, however they were given; floats and bools never.
} vy_pipe_scalar;

typedef struct vy_pipe_step {
    vy_pipe_kind kind;
    uint32_t line, column;
    uint32_t program;        // DISPATCH: index in the module
    uint32_t arg_count;      // DISPATCH: one per buffer parameter that is not a workspace
    const vy_pipe_arg *args; //           of the program, in its order
    // DISPATCH: one per scalar parameter of the program, in its order; after vy_pipeline_end none
    // is INFER.
    const vy_pipe_scalar *scalars;
    const vy_dim *groups; // DISPATCH of a program without `over`: three; else NULL
    vy_buffer buffer;     // BUFFER, VALUE
    uint32_t index_count; // VALUE: rank of the buffer
    const vy_dim *index;  // VALUE
    vy_dim from, to;      // REPEAT; TEST: from
    const char *counter;  // REPEAT: name of t
    vy_keep_states keep;  // REPEAT
    vy_dim keep_count;    // REPEAT: k
    uint32_t partner;     // REPEAT, CHECKPOINT: their END; END, TEST: the opener
    uint32_t test;        // REPEAT that is a `while`: its TEST; else 0
} vy_pipe_step;

// ------------------------------------------------------------------------------------- reflection
VY_API uint32_t vy_module_pipeline_count(const vy_module *m);
VY_API vy_pipeline *vy_module_pipeline(const vy_module *m, uint32_t index); // NULL past the end
VY_API vy_pipeline *vy_module_find_pipeline(const vy_module *m, const char *name); // NULL if absent
VY_API const char *vy_pipeline_name(const vy_pipeline *p);
VY_API vy_module *vy_pipeline_module(const vy_pipeline *p);
// The parameters, as a program without code.
VY_API const vy_program *vy_pipeline_signature(const vy_pipeline *p);
// True: it uses num_groups, so its caller gives the number of workgroups.
VY_API bool vy_pipeline_takes_groups(const vy_pipeline *p);
VY_API uint32_t vy_pipeline_step_count(const vy_pipeline *p);
VY_API const vy_pipe_step *vy_pipeline_step(const vy_pipeline *p, uint32_t index);

// --------------------------------------------------------------------------------------- building
// Parameters first, then steps front to back; vy_at gives the place of the steps that follow.
// Errors stick in the module's diag, and later calls do nothing.  NULL: the module failed, or
// memory is out; the other functions take that.
VY_API vy_pipe *vy_pipeline_begin(vy_module *m, const char *name);
// The builder of the signature.  It belongs to the pipe; do not end it.
VY_API vy_builder *vy_pipeline_params(vy_pipe *q);
// An intermediate, which lives from here to the end of the innermost repeat or checkpoint.
VY_API vy_buffer vy_pipeline_buffer(vy_pipe *q, const char *name, vy_type type, uint32_t rank,
                                    const vy_dim *dims);
// p: of the same module.  args: one per buffer parameter that is not a workspace.  scalars: those
// given explicitly, in any order; the others are inferred from the shapes of the buffers.  groups:
// three, for a program without `over`; else NULL.
VY_API void vy_pipeline_dispatch(vy_pipe *q, const vy_program *p, uint32_t arg_count,
                                 const vy_pipe_arg *args, uint32_t scalar_count,
                                 const vy_pipe_scalar *scalars, const vy_dim *groups);
// The same for a pipeline of the module, whose steps are inlined: its intermediates begin here,
// with names of their own, and end with the block that is open; `out` parameters begin as zeros.
// groups: three, if vy_pipeline_takes_groups; else NULL.  If another pipeline is differentiated in
// the place of p, vy_pipeline_end adds one before this one, NAME_plain, that is in its place.
VY_API void vy_pipeline_call(vy_pipe *q, const vy_pipeline *p, uint32_t arg_count,
                             const vy_pipe_arg *args, uint32_t scalar_count,
                             const vy_pipe_scalar *scalars, const vy_dim *groups);
// The value that element `index` (one dimension per axis) of an integer buffer has at this point.
VY_API vy_dim vy_pipeline_value(vy_pipe *q, vy_buffer buffer, const vy_dim *index);
// Returns the counter.  keep_count: k, for EVERY and REVOLVE.  Closed by vy_pipeline_close.
VY_API vy_dim vy_pipeline_repeat(vy_pipe *q, const char *counter, vy_dim from, vy_dim to,
                                 vy_keep_states keep, vy_dim keep_count);
// `while`: the steps up to vy_pipeline_test compute the condition, an integer, 0 for false; those
// up to vy_pipeline_close are the body.  It is a repeat without bound that the test leaves.
// `if c` is a repeat from 0 to c, where c is 0 or 1.
VY_API void vy_pipeline_while(vy_pipe *q, vy_keep_states keep, vy_dim keep_count);
VY_API void vy_pipeline_test(vy_pipe *q, vy_dim condition);
VY_API void vy_pipeline_checkpoint(vy_pipe *q); // closed by vy_pipeline_close
VY_API void vy_pipeline_close(vy_pipe *q);
// What is differentiated in its place is that pipeline of the module (text: `@derive_as(other)
// pipeline`, docs/language.md 6.9), which has the same parameters and computes the same.  It may be
// built later; vy_module_check says whether it fits (E0220).
VY_API void vy_pipeline_derive_as(vy_pipe *q, const char *other);
// Checks and appends the pipeline; frees q in every case.  NULL after an error.
VY_API vy_pipeline *vy_pipeline_end(vy_pipe *q);
VY_API void vy_pipeline_abandon(vy_pipe *q); // appends nothing, frees q

// ------------------------------------------------------------------------------------ interpreter
// Runs all steps in the reference interpreter, with the arguments of vy_eval: `buffers` are the
// parameters of the pipeline (not its intermediates), options->groups is the value of num_groups,
// options->max_steps counts the steps of all dispatches, and one for each step of the pipeline.
// `out` parameters are cleared first, and before every dispatch that takes them as `out`.  Returns
// false with *diag filled on error: what vy_eval reports, with the source place of the dispatch; a
// slice or value out of range; a size that is negative or overflows; overlapping memory.
VY_API bool vy_eval_pipeline(const vy_pipeline *p, const vy_eval_buffer *buffers,
                             uint32_t buffer_count, const vy_eval_scalar *scalars,
                             uint32_t scalar_count, const vy_eval_options *options,
                             vy_eval_report *report, vy_diag *diag);

#ifdef __cplusplus
}
#endif
#endif
