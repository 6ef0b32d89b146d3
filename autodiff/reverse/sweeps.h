// SPDX-License-Identifier: MIT
// sweeps.h: builds the programs of a derivative, from parameters to sweeps.
#ifndef VYRE_GRAD_REVERSE_H
#define VYRE_GRAD_REVERSE_H

#include "autodiff/core/reverse.h"

// ---- build.c
// Each returns a program, simplified, or NULL; the module does not list it yet.
vy_program *vy_reverse_build(reverse *r, build_purpose purpose); // BUILD_REVERSE or BUILD_PROBE
vy_program *vy_reverse_count(reverse *r); // counts rows of tapes, by block of invocations
// Drops what is unused, checks the program and adds it to the result; frees it after an error.
bool vy_reverse_finish(reverse *r, vy_program *p);
// ---- request.c
void vy_reverse_choose(reverse *r, const vy_program *source); // marks outputs and inputs
// ---- starts.c
// Finds the buffers that share an adjoint with what begins as a copy of them; false: refused.
bool vy_find_heirs(reverse *r);
// Have two buffers of p one type and shape, if one begins as a copy of the other?
bool vy_starts_alike(const vy_program *p, const vy_buf *x, const vy_buf *y);
// ---- prune.c
// Removes what neither code nor a shape nor the domain needs, and renumbers the rest.  False:
// memory (the module's diag).
typedef enum vy_droppable {
    VY_DROP_MADE,      // compiler-made buffers and arrays
    VY_DROP_UNREAD,    // and `in` parameters
    VY_DROP_UNTOUCHED, // and `inout` ones
    VY_DROP_ALL,       // all buffers
} vy_droppable;
bool vy_drop_unused(vy_program *p, vy_droppable which);
// For a program that runs after others: drops all unused parameters, and makes those that it does
// not write (but whose length or contents it reads) `in`: a dispatch clears `out` buffers, and
// would destroy what the other programs wrote.  False: memory.
bool vy_drop_stage(vy_program *p);
// Drops the scalars from number `first` on that are no extent of a buffer.  False: memory.
bool vy_drop_scalars(vy_program *p, uint32_t first);
// Drops the scalars that neither code nor a shape nor the domain needs.  False: memory.
bool vy_drop_unused_scalars(vy_program *p);
// Marks the dimensions on which buffers and the domain depend; dims: one zero per dimension.
void vy_dims_in_use(const vy_program *p, uint8_t *dims);
// Makes workspace `buffer` of p a parameter that the stages of a pipeline share.  If its length
// depends on an open length, it becomes open itself.  False: memory (the module's diag).
bool vy_share_workspace(vy_program *p, uint32_t buffer);
// ---- params.c
bool vy_reverse_params(reverse *r); // chooses adjoint kinds, declares the result's parameters
// ---- simple_outputs.c
// Is each element of the `out` buffer stored at most once, then only added to, and never read?
// Then the cotangent can be read directly, and nothing needs to be cleared.
bool vy_reverse_is_simple(const reverse *r, uint32_t buffer);
// ---- declare.c
// Copies the dimensions of the primal to the result; those that depend on an open length only once
// a buffer of that length is declared.
bool vy_reverse_copy_dims(reverse *r);
// The axes of the domain; once the inputs are declared, whose open lengths they may be.
void vy_reverse_domain(reverse *r);
bool vy_reverse_is_open(const reverse *r, uint32_t buffer); // the primal's length is `?`
// Declares a buffer, or a workspace, of the shape of primal buffer `like`.
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
// Links the parameters of p, a copy of the primal.
void vy_reverse_link_parameters(reverse *r, vy_program *p);
void vy_reverse_link(reverse *r, uint32_t buffer, link_kind kind, uint32_t like);
// Records what parameter b of the result is to buffer `like`, or to a scalar, of the primal, which
// may have a role in an earlier derivation itself.  (Parameters have the same numbers in the primal
// as in the source.)
void vy_reverse_role(reverse *r, uint32_t b, vy_derivative_kind kind, uint32_t like);
void vy_reverse_scalar_role(reverse *r, uint32_t b, vy_derivative_kind kind, uint32_t scalar);
// Has no buffer of the result that name?  Else the differentiation fails.
bool vy_reverse_is_free(reverse *r, const char *name);
bool vy_reverse_scalars(reverse *r); // declares those of the primal
uint32_t vy_reverse_declare_workspace(reverse *r, const char *name, uint32_t like, vy_init init,
                                      const char *from);
// `grad_x`, `grad2_x`, … ; `ct_x` …
const char *vy_derived_name(reverse *r, const char *prefix, const char *name);
// Declares workspace `prefix_NAME` of the shape of primal buffer `like`.
uint32_t vy_reverse_workspace(reverse *r, const char *prefix, uint32_t like, vy_init init,
                              const char *from);
// ---- replay.c
void vy_replay(reverse *r, uint32_t first, uint32_t last); // copies instructions [first, last)
void vy_replay_values(reverse *r, uint32_t first, uint32_t last); // without writes and barriers
// ---- recount.c
// Does the loop carry what decides whether a barrier is reached, other than a closed form?  Then
// vy_recount sets it (build.map) to what it is after `times` iterations; `variable` gives the
// loop's variable in one of them.
bool vy_has_recount(const reverse *r, uint32_t opener);
typedef uint32_t vy_loop_variable(reverse *r, uint32_t opener, uint32_t number);
void vy_recount(reverse *r, uint32_t opener, uint32_t times, vy_loop_variable *variable);
// ---- sweep.c
void vy_reverse_range(reverse *r, uint32_t first, uint32_t last);
// ---- contribute.c
// Adds `g` to the adjoint of `id`; `edge` is the condition of this use (0: unconditional).
void vy_contribute(reverse *r, uint32_t id, uint32_t g, uint32_t edge);
void vy_set_adjoint(reverse *r, uint32_t id, uint32_t adjoint, uint32_t mask);
// Names a carried adjoint after its value, for readers: `adj_s`.
void vy_name_adjoint(reverse *r, uint32_t adjoint, uint32_t of);
// ---- sweep_control.c
void vy_reverse_if(reverse *r, uint32_t opener);
void vy_reverse_checkpoint(reverse *r, uint32_t opener);
// ---- sweep_loop.c
void vy_reverse_loop(reverse *r, uint32_t opener);
// ---- sweep_memory.c
void vy_reverse_memory(reverse *r, uint32_t id);
// A bool: every axis of `index` (ids of the result) is inside `buffer` (of the result).
uint32_t vy_in_range(reverse *r, uint32_t buffer, const uint32_t *index);
void vy_clear_adjoint(reverse *r, uint32_t buffer); // of an array, with its shadow

// ---- sweep_lane_sums.c
void vy_lane_sums_declare(reverse *r);                   // at the beginning of the reverse
bool vy_lane_sums_take(const reverse *r, uint32_t load); // is what the load adds summed so?
// Adds g, of each invocation, to the element of the adjoint once vy_lane_sums_make is called.
void vy_lane_sums_add(reverse *r, uint32_t load, const uint32_t *index, uint32_t g);
void vy_lane_sums_make(reverse *r, bool at_barrier); // at_barrier: one follows
// ---- sweep_custom.c
void vy_reverse_apply(reverse *r, uint32_t id);
// ---- sweep_dispatch.c: of host programs
void vy_reverse_dispatch(reverse *r, uint32_t id);
void vy_replay_dispatch(reverse *r, uint32_t id); // and the PICKs of its results

// ---- shadow_elements.c
// `buffer` is of the primal, `condition` and `index` are of the result.
uint32_t vy_shadow_read(reverse *r, uint32_t buffer, const uint32_t *index); // a bool
void vy_shadow_clear(reverse *r, uint32_t buffer, const uint32_t *index);
// alone: no other invocation touches the element.
void vy_shadow_mark(reverse *r, uint32_t buffer, const uint32_t *index, uint32_t condition,
                    bool alone);
// ---- sweep_extremum.c
// Declares the buffers that the program being built needs for an extremum of `buffer`.
void vy_extremum_declare(reverse *r, uint32_t buffer);
vy_value vy_extremum_me(reverse *r); // the invocation's number, from 1
// Invocation numbers are u32, from 1.  A domain of several variables may have more invocations:
// then an extent of `winner` becomes negative, and the run is refused.
void vy_extremum_guard(reverse *r, uint32_t winner);
void vy_extremum_replay(reverse *r, uint32_t id, bool performs);
void vy_extremum_reverse(reverse *r, uint32_t id);
// ---- build.c
// The forward sweep with the atomics replaced as BUILD_FIND_… says; or NULL.
vy_program *vy_reverse_find(reverse *r, build_purpose purpose, const char *suffix);
// ---- sweep_subgroup.c
// The reverse of operation `id`, whose adjoint is `g`.
void vy_reverse_subgroup(reverse *r, uint32_t id, uint32_t g, uint32_t mask);
// The product of the other lanes' x, a value of the result; 0: an error.
uint32_t vy_subgroup_others(reverse *r, uint32_t x);

#endif
