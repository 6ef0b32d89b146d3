// SPDX-License-Identifier: MIT
// sweeps.h: the program of the derivative, from its parameters to its sweeps.
#ifndef VYRE_GRAD_REVERSE_H
#define VYRE_GRAD_REVERSE_H

#include "autodiff/core/reverse.h"

// ---- build.c
// Each returns a program, simplified, or NULL; the module does not list it yet.
vy_program *vy_reverse_build(reverse *r, build_purpose purpose); // BUILD_REVERSE or BUILD_PROBE
vy_program *vy_reverse_count(reverse *r); // the longest lengths of tapes, by block of invocations
// Drops what nobody uses, checks, and adds the program to the result; frees it after an error.
bool vy_reverse_finish(reverse *r, vy_program *p);
// ---- request.c
void vy_reverse_choose(reverse *r, const vy_program *source); // marks outputs and inputs
// ---- prune.c
// Removes compiler-made buffers and arrays that no instruction uses, with `all` every buffer that
// neither code nor a shape nor the domain needs, and renumbers the rest.  False: memory (the
// module's diag).
bool vy_drop_unused(vy_program *p, bool all);
// Of a program that runs after others: drops all parameters it does not use, and takes as `in` what
// it does not write (its length, its contents): a dispatch clears what it takes as `out`, and with
// it what the others wrote.  False: memory.
bool vy_drop_stage(vy_program *p);
// From `first` on, those that are no extent of a buffer.  False: memory.
bool vy_drop_scalars(vy_program *p, uint32_t first);
// Those that neither code nor a shape nor the domain needs.  False: memory.
bool vy_drop_unused_scalars(vy_program *p);
// Marks the dimensions that buffers and the domain are made of; dims: zeroes, one per dimension.
// (prune.c)
void vy_dims_in_use(const vy_program *p, uint8_t *dims);
// Workspace `buffer` of p becomes a parameter, which a pipeline hands from stage to stage.  One as
// long as a buffer of open length is of open length itself then.  False: memory (the module's
// diag).  (prune.c)
bool vy_share_workspace(vy_program *p, uint32_t buffer);
// ---- params.c
bool vy_reverse_params(reverse *r); // chooses adjoint kinds, declares the result's parameters
// ---- declare.c
// Dimensions of the primal in the result; those that depend on a length left open only once a
// buffer of that length is declared.
bool vy_reverse_copy_dims(reverse *r);
bool vy_reverse_is_open(const reverse *r, uint32_t buffer); // the primal's length is `?`
// Declare a buffer, a workspace, of the shape of primal buffer `like`.
uint32_t vy_reverse_declare(reverse *r, const char *name, vy_buffer_class cls, uint32_t like);
// Buffer `like` itself, with its name.
uint32_t vy_reverse_declare_copy(reverse *r, vy_buffer_class cls, uint32_t like);
// Parameters that several programs of one derivative have: each is one buffer of the pipeline, so
// its declarations in all of them have one link.
typedef enum link_kind {
    LINK_COPY, // the primal's buffer
    LINK_COTANGENT,
    LINK_FINAL, // what extremum_stages.c passes on
    LINK_WINNER,
    LINK_LAST,
    LINK_KINDS,
} link_kind;
void vy_reverse_link(reverse *r, uint32_t buffer, link_kind kind, uint32_t like);
bool vy_reverse_scalars(reverse *r); // declares those of the primal
uint32_t vy_reverse_declare_workspace(reverse *r, const char *name, uint32_t like, vy_init init,
                                      const char *from);
// `grad_x`, `grad2_x`, … ; `ct_x` …
const char *vy_derived_name(reverse *r, const char *prefix, const char *name);
// Declares workspace `prefix_NAME` of the shape of primal buffer `like`.
uint32_t vy_reverse_workspace(reverse *r, const char *prefix, uint32_t like, vy_init init,
                              const char *from);
// ---- replay.c
void vy_replay(reverse *r, uint32_t first, uint32_t last); // copies instructions [first, last]
// ---- sweep.c
void vy_reverse_range(reverse *r, uint32_t first, uint32_t last);
// ---- contribute.c
// Adds `g` to the adjoint of `id`; `edge` says when this use counts (0: always).
void vy_contribute(reverse *r, uint32_t id, uint32_t g, uint32_t edge);
void vy_set_adjoint(reverse *r, uint32_t id, uint32_t adjoint, uint32_t mask);
// Names a carried adjoint after the value it belongs to, for readers: `adj_s`.
void vy_name_adjoint(reverse *r, uint32_t adjoint, uint32_t of);
// ---- sweep_control.c
void vy_reverse_if(reverse *r, uint32_t opener);
void vy_reverse_checkpoint(reverse *r, uint32_t opener);
// ---- sweep_loop.c
void vy_reverse_loop(reverse *r, uint32_t opener);
// ---- sweep_memory.c
void vy_reverse_memory(reverse *r, uint32_t id);
// Every axis of `index` (ids of the result) is inside buffer `buffer` (of the result): a bool.
uint32_t vy_in_range(reverse *r, uint32_t buffer, const uint32_t *index);
void vy_clear_adjoint(reverse *r, uint32_t buffer); // of an array, with its shadow

// ---- shadow_elements.c
// `buffer` and `condition` are of the primal and of the result, `index` is of the result.
uint32_t vy_shadow_read(reverse *r, uint32_t buffer, const uint32_t *index); // a bool
void vy_shadow_clear(reverse *r, uint32_t buffer, const uint32_t *index);
// alone: no other invocation touches the element.
void vy_shadow_mark(reverse *r, uint32_t buffer, const uint32_t *index, uint32_t condition,
                    bool alone);
// ---- sweep_extremum.c
void vy_extremum_declare(reverse *r, uint32_t buffer); // what the program being built needs for it
void vy_extremum_replay(reverse *r, uint32_t id, bool performs);
void vy_extremum_reverse(reverse *r, uint32_t id);
// ---- build.c
// The forward sweep with what BUILD_FIND_… says in place of the atomics; or NULL.
vy_program *vy_reverse_find(reverse *r, build_purpose purpose, const char *suffix);
// ---- sweep_subgroup.c
// The reverse of an operation with an adjoint.
void vy_reverse_subgroup(reverse *r, uint32_t id, uint32_t g, uint32_t mask);

#endif
