// SPDX-License-Identifier: MIT
// pipe_build.h: a pipeline being built.
//
//   pipeline.c       steps, one after the other
//   pipe_scalars.c   the scalars of a dispatch
//   pipe_inline.c    the steps of another pipeline, with arguments for its parameters
//   pipe_kernels.c   the programs that copy, fill and add, and set and count numbers
//   pipe_condition.c the programs that compute conditions on floats
//   pipe_stand_in.c  what is differentiated in the place of one that dispatches such
//   pipe_edit.c      one step of a finished pipeline replaced
//   pipe_drop.c      buffers taken out of the signature
#ifndef VYRE_PIPE_BUILD_H
#define VYRE_PIPE_BUILD_H

#include "ir/build/build.h"

typedef enum vy_pipe_kernel_kind {
    VY_PIPE_COPY,    // x in, y out: y = x
    VY_PIPE_ADD,     // x in, y inout: y = y + x
    VY_PIPE_FILL,    // y out: y = value
    VY_PIPE_COUNT,   // y inout: y = y + 1
    VY_PIPE_FLATTEN, // x in, of any shape, y out: the same elements in one dimension
    VY_PIPE_SHAPE,   // x in, of one dimension, y out: the same elements in its shape
    VY_PIPE_SET,     // y out, of one element: y = v, a scalar
    VY_PIPE_MOST,    // y inout, of one element: y = max(y, v)
} vy_pipe_kernel_kind;

typedef struct vy_pipe_kernel {
    vy_pipe_kernel_kind kind;
    vy_type type;
    uint32_t rank;
    double value; // FILL
    const vy_program *program;
} vy_pipe_kernel;
VY_VEC_TYPE(vy_pipe_kernel_vec, vy_pipe_kernel);

// Names that are not in the module or the signature yet, but will be.
typedef struct vy_pipe_names {
    void *user;
    // A name like `name` for an intermediate, which no other gets.
    const char *(*buffer)(void *user, const char *name);
    bool (*is_taken)(void *user, const char *name); // by a declaration of the module
} vy_pipe_names;

struct vy_pipe {
    vy_module *m;
    vy_builder *b; // of the signature
    vy_pipe_step_vec steps;
    vy_id_vec open; // steps that are not closed yet
    uint32_t last;  // the program dispatched last: the search for the next one starts there
    // Of pipelines, as steps (VY_PIPE_CALL), checked at the end.  partner: the first of their steps
    // here; test: behind the last.
    vy_pipe_step_vec calls;
    uint32_t inlined; // pipelines so far
    vy_pipe_kernel_vec kernels;
    uint32_t conditions;        // programs for them so far
    const vy_pipe_names *names; // NULL: those of the module and the signature are all
};

// vy_pipeline_end, but for what it adds for calls.  also: NULL, or what is done with the checked
// pipeline that q has become before it becomes a part of the module; false: see the module's diag.
vy_pipeline *vy_pipe_end(vy_pipe *q, bool (*also)(const vy_pipe *q, vy_pipeline *l));
// Frees what the pipe has besides its builder, and the pipe.
void vy_pipe_free(vy_pipe *q);

// Opens a finished pipeline at one of its steps: the pipe returned has its signature and the steps
// before `at`, and what is added to it takes the place of `at`.  vy_pipeline_resume appends the
// steps after `at`, installs the result as the contents of `l`, and frees the pipe.  Until then `l`
// is unchanged, and after vy_pipeline_abandon too.  NULL, false: see the module's diag.
vy_pipe *vy_pipeline_reopen(const vy_pipeline *l, uint32_t at);
bool vy_pipeline_resume(vy_pipe *q, vy_pipeline *l, uint32_t at);

// Takes intermediates that no step begins out of the signature, and renumbers the rest.
void vy_pipe_drop_buffers(vy_pipe *q);

// Dispatches the program that does this with all elements of `y`, made where there is none yet.
void vy_pipe_move(vy_pipe *q, vy_pipe_kernel_kind kind, const vy_pipe_arg *x, const vy_pipe_arg *y,
                  double value);

// SET or MOST of a buffer, or slice, of one integer.
void vy_pipe_assign(vy_pipe *q, vy_pipe_kernel_kind kind, const vy_pipe_arg *y, vy_dim v);

// An operand of a condition on floats: the element `index` of a buffer; if `buffer` is 0 a scalar
// parameter, a constant, or an integer (DIM) as a float.
typedef struct vy_pipe_operand {
    vy_buffer buffer;
    const vy_dim *index;
    vy_pipe_scalar scalar;
} vy_pipe_operand;

typedef struct vy_pipe_condition {
    vy_type type; // of all operands
    uint32_t count;
    const vy_pipe_operand *operands;
    // Is it true of these values?  Builds the program that the device runs.
    vy_value (*build)(void *user, vy_builder *b, const vy_value *operands);
    void *user;
} vy_pipe_condition;

// 1 where the condition holds at this point, else 0: computed on the device, and read.
vy_dim vy_pipe_holds(vy_pipe *q, const vy_pipe_condition *c);

// ---- pipe_scalars.c
// An error in the text of a pipeline, at the place of the builder; it has failed then.
void vy_pipe_fail(vy_pipe *q, vy_code code, const char *fix, const char *format, const char *x,
                  const char *y);
// Scalars of a dispatch of `p`, in its order: the given ones, and those that shapes determine.
// all: one per scalar, with its name.  False: an error.
bool vy_pipe_scalars(vy_pipe *q, const vy_program *p, const vy_pipe_arg *args, vy_pipe_scalar *all,
                     uint32_t count, const vy_pipe_scalar *given);

// Fills step *s with copies of what it passes to `p`; s->arg_count is given.  False: an error.
bool vy_pipe_bind(vy_pipe *q, const vy_program *p, vy_pipe_step *s, const vy_pipe_arg *args,
                  uint32_t scalar_count, const vy_pipe_scalar *scalars, const vy_dim *groups);

// Appends the steps of `l`, a finished pipeline of the same module.  args: one per parameter that
// is a buffer; scalars: one per scalar, none is INFER; groups: three, where `l` takes them.  They
// fit (vy_check_arguments).
void vy_pipe_inline(vy_pipe *q, const vy_pipeline *l, const vy_pipe_arg *args,
                    const vy_pipe_scalar *scalars, const vy_dim *groups);

// ---- pipe_stand_in.c
// NAME_plain, or that with a number, in the module's arena; NULL: memory.
const char *vy_stand_in_name(vy_module *m, const vy_pipe_names *names, const char *name);

#endif
