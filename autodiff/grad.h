// SPDX-License-Identifier: MIT
// grad.h: reverse-mode differentiation of whole programs.
#ifndef VYRE_GRAD_H
#define VYRE_GRAD_H

#include "ir/vyre.h"

#ifdef __cplusplus
extern "C" {
#endif

// How a gradient is accumulated where several invocations reach one element.
typedef enum vy_accumulate {
    // By programs over its elements, which sum the contributions, where that pays.
    VY_ACCUMULATE_AUTO,
    // By atomic additions: the result is one program wherever possible, and has no compiler-made
    // buffers but tapes and sums of halves (see `again`), so it can be differentiated again.
    VY_ACCUMULATE_ATOMIC,
    // By programs over its elements wherever possible.
    VY_ACCUMULATE_GATHER,
} vy_accumulate;

// Zero-initialised means defaults.
typedef struct vy_grad_options {
    size_t size;           // of the struct, or 0 (vyre.h)
    const char *program;   // NULL: the only program of the module
    const char *const *of; // outputs; NULL: float `out` buffers, and float `inout` ones it writes
    uint32_t of_count;
    const char *const *wrt; // inputs; NULL: all float `in` and `inout` buffers
    uint32_t wrt_count;
    // The members of `wrt` whose gradients are added to the buffers' contents: such a gradient is
    // `inout` and never cleared.  That of an `inout` x too: the gradient of its initial contents is
    // added to what the caller's grad_x holds, and the cotangent of its final contents is another
    // buffer, ct_x, also where `in_place` is set.
    const char *const *add;
    uint32_t add_count;
    bool seed_buffer; // the cotangents are buffers grad_o (ct_x for inout x); else all ones
    // An element of a cotangent that is exactly 0 means that nothing used the value: it contributes
    // 0 also where a derivative is infinite, not 0·inf.  So between the dispatches of a pipeline.
    bool structural_zeros;
    // With seed_buffer: the gradient of an `inout` buffer and the cotangent of its final contents
    // are one buffer, `grad_x: inout`: given as the cotangent, replaced by the gradient.
    bool in_place;
    bool lean_inputs;   // the result has no `in` parameters that it does not read
    bool with_value;    // also write the forward outputs
    bool forward;       // vy_transform: the forward derivative, as vy_jvp; vy_jvp itself is that
    bool deterministic; // no sum depends on the order of invocations; see deterministic.h
    // Deterministic: accumulators only, where the terms of all invocations take too much memory.
    bool lean_sums;
    bool frugal; // tape only what cannot be recomputed, however long that takes
    // 0: a value that the reverse needs and cannot recompute is taped for every iteration.  1: long
    // loops tape ⌈√n⌉ states and recompute a segment of ⌈√n⌉ iterations at a time.  2, 3: the same
    // again inside and across the segments (fourth roots, eighth roots); implies frugal.  Any
    // number is accepted; cutting stops when no loop is left to cut.
    uint32_t checkpoint;
    // Of a pipeline, with `checkpoint`: its outermost repeats keep `revolve` states (from 1 up;
    // more than 10 are 10), at the positions at which the fewest iterations run again, in place of
    // ⌈√n⌉.  0, and where a repeat does not allow it: ⌈√n⌉.  *revolved, unless NULL, is then set to
    // whether the derivative does that; else it is left alone.
    uint32_t revolve;
    bool *revolved;
    vy_accumulate accumulate;
    // Conditions on scalars that hold in every launch, as vy_explain says them ("h * w <= cstep",
    // vy_explain_gradient.assumes): for gradients that are gathered under these alone there is no
    // second form, which adds atomically.  A launch in which one does not hold has wrong gradients.
    const char *const *assume;
    uint32_t assume_count;
    // The result will be differentiated again: sums of halves in memory stay halves, and it stays
    // one program.
    bool again;
    // Neighbouring stages of a pipeline's derivative stay programs of their own.
    bool apart;
    // The result is a text, or kept as one, and may be differentiated: where a repeat of a pipeline
    // has the schedule of `checkpoint(revolve, k)`, it names the pipeline without it, which the
    // module has as well (`@derive_as`, vy_pipeline_derive_as).  So does a pipeline with exact sums
    // (deterministic), as sums of integers have the derivative 0; what would be one program is a
    // pipeline then.  What has exact sums and names none cannot be differentiated again, nor its
    // text (E0502).  Not of vy_transform.
    bool plain_too;
    // Of a program whose domain allows it (vy_grad_batches): the domain runs in so many batches,
    // cut along its first variable whose extent is no constant, one after the other, that share
    // their tapes and add their gradients; the result is a pipeline.  0, 1, and else: all at once.
    // Not of vy_transform, vy_jvp.
    uint32_t batches;
    // Each value has a tape of its own, where values of one type and shape would share a longer
    // one: where a device limits the length of a buffer.
    bool split_tapes;
} vy_grad_options;

// Derives ∂(Σ outputs·cotangents)/∂(inputs) of one program, or of a pipeline that `program` names.
// Returns a new module holding one program, NAME_grad, with (in this order) the primal's `in` and
// `inout` buffers, the cotangents, the forward outputs if requested, the gradients `grad_w` (`out`,
// same type and shape as w; f32[1] and the like for a scalar w), compiler-made workspaces, and the
// primal's scalars.  Where the length of a tape depends on data there are three programs, and
// NAME_grad is a pipeline (ir/pipeline.h) with these parameters that dispatches them; so of a
// pipeline.  vy_compile_result (spirv.h) takes either; the interpreter has vy_eval and
// vy_eval_pipeline.
//
// vy_program_buffer (vy_pipeline_signature) gives each parameter's `role`: its relation to the
// source.
//
// Errors (vy_diag): E0501 an output or input that does not exist; E0502 something that has no
// derivative; each with place and fix.  NULL then, with *diag filled.  The module is the caller's
// to free.
VY_API vy_module *vy_grad(const vy_module *m, const vy_grad_options *options, vy_diag *diag);

// Forward mode: tangents beside values.  Returns a new module holding one program, NAME_jvp, or a
// pipeline of that name where others run before it (atomic_min, atomic_max, deterministic), with
// (in this order) the primal's `in` and `inout` buffers, its outputs if requested (with_value) or
// if the tangents need their values, the tangents of the inputs (`dot_w`, `in`, same type and shape
// as w; `inout` for an inout w, where the tangent of its final contents replaces that of its
// initial ones; `in f32[1]` and the like for a scalar), those of the outputs (`dot_o`, `out`;
// `inout` for an inout o that is not in wrt, which must hold zeros then), compiler-made workspaces,
// and the primal's scalars.  An inout buffer of the primal is changed as the primal does.
//
// Of the options it reads program, of, wrt, with_value, deterministic and lean_sums.  Errors as for
// vy_grad; E0502 also for exchanges by atomics, and old values of atomics.
VY_API vy_module *vy_jvp(const vy_module *m, const vy_grad_options *options, vy_diag *diag);

// Can the domain of p run in batches (vy_grad_options.batches)?  It has one, and its invocations
// have nothing in common but sums: they observe neither their workgroup nor memory of the program's
// own, and atomics only add.
VY_API bool vy_grad_batches(const vy_program *p);

// The default choice of outputs and inputs (docs/language.md 9.1).
VY_API bool vy_grad_default_of(const vy_program *p, vy_buffer b);
VY_API bool vy_grad_default_wrt(const vy_program *p, vy_buffer b);

// Where the derivative of a float buffer ends although its value reaches the outputs, namely only
// through integers, comparisons, indices, floor and the like.  Its gradient is then zero by
// definition, which is seldom intended.
typedef struct vy_grad_end {
    uint32_t line, column; // of the first such operation in the program's text; 0: it has no text
    const char *what;      // the operation, as the language writes it
} vy_grad_end;
// True, with *end filled, if there is such an end; false also if the gradient is zero because the
// value does not reach an output at all.
VY_API bool vy_grad_ends(const vy_program *p, vy_buffer input, vy_grad_end *end);
// For all buffers at once, by id (vy_program_buffer_count + 1 entries): does its value reach an
// output differentiably, so that vy_grad_ends is false?  False: memory.
VY_API bool vy_grad_reaches(const vy_program *p, bool *reaches);

#ifdef __cplusplus
}
#endif
#endif
