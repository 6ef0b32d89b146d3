// SPDX-License-Identifier: MIT
// observed.h: a differentiation from the inside.
#ifndef VYRE_GRAD_DRIVER_H
#define VYRE_GRAD_DRIVER_H

#include "autodiff/core/reverse.h"
#include "autodiff/gather/gather.h"

// ---- grad.c
// vy_grad that shows its tables to `observer` (or NULL) when the result is built, before unused
// parameters are dropped.
typedef struct reverse_observer {
    void (*note)(void *user, const reverse *r, const vy_program *result);
    void *user;
    struct vy_gather_notes *gathers; // or NULL
    bool narrow;                     // sums of half floats stay as they are
    bool joins;                      // the stages of a pipeline, `apart` here, are joined later
    // A tape of a pipeline became a part of that buffer (ir/host/states.c).  Or NULL.
    void (*moved)(void *user, const char *tape, const char *into);
    // What became of a repeat that requests `checkpoint(revolve, k)` (ir/host/host_build.h), or
    // NULL.
    void (*revolved)(void *user, uint32_t line, const char *why);
} reverse_observer;
// Differentiates r->p = primal, which it may rewrite, into module r->out; cuts loops into segments
// as often as the options say.
bool vy_differentiate(vy_program *primal, const vy_program *source,
                      const reverse_observer *observer, reverse *r);
// The reverse program of r->p, before it becomes several; NULL: r->out's diag.
vy_program *vy_attempt(reverse *r, const vy_program *source);
// All facts of r->p, before something is built.  False: the module's diag.
bool vy_reverse_analyse(reverse *r, const vy_program *source);
// ---- prepare.c
// Runs a pass over the primal that needs to know which instructions have derivatives (of atomics:
// whether their memory has).  r->p is primal.  False: the module's diag.
bool vy_rewrite_active(reverse *r, vy_program *primal, const vy_program *source,
                       bool (*pass)(vy_program *p, const uint8_t *active));
void vy_reverse_restart(reverse *r); // forgets everything but the request
// ---- derive_pipeline.c
// The derivative of a pipeline, in a module of its own.  call: vy_transform.  observer: NULL, or it
// is shown the host programs (ir/core/host.h); r->out->derived are the requests.
vy_module *vy_derive_pipeline(const vy_pipeline *source, const vy_grad_options *options,
                              vy_derive_call *call, const reverse_observer *observer,
                              vy_diag *diag);
// ---- derive_as.c: in texts, of vy_grad_options.plain_too
// The last pipeline of `out` is differentiated as the last one of `plain`, which becomes a part of
// `out` with what it dispatches.  Its names in `plain` may change.  False: *diag.
bool vy_derive_as(vy_module *out, vy_module *plain, vy_diag *diag);
// An error if floats are added as integers (vy_exact_sums); for a pipeline in what is dispatched by
// what is differentiated in its place.
bool vy_refuse_exact_sums(const vy_program *p, vy_diag *diag);
bool vy_refuse_exact_stages(const vy_pipeline *l, vy_diag *diag);
// ---- derive.c
// The derivative of one program, in a module of its own.
vy_module *vy_derive(const vy_program *source, const vy_grad_options *options,
                     const reverse_observer *observer, vy_diag *diag);
// The program that a request names, or the only one; NULL: *diag.
const vy_program *vy_choose_program(const vy_module *m, const char *name, vy_diag *diag);
uint32_t vy_next_order(const vy_program *p); // of its derivative
// An empty module for the derivative of p, with its order; NULL: memory.
vy_module *vy_result_module(const vy_program *p);
// The roles of the module's parameters name those of `source` by its numbers.
void vy_number_roles(vy_module *m, const vy_program *source);
// ---- jvp.c
// The forward derivative of one program, in a module of its own.
vy_module *vy_derive_forward(const vy_program *source, const vy_grad_options *options,
                             vy_diag *diag);
// ---- entry.c
vy_module *vy_grad_observed(const vy_module *m, const vy_grad_options *options,
                            const reverse_observer *observer, vy_diag *diag);
// ---- text_roles.c
// Has `p` a parameter of a name that its n-th derivative would give to one made for parameter `of`?
bool vy_text_is_taken(const vy_program *p, const char *of, uint32_t n);
// Gives the gradients of a derivative that was read from text their role.
void vy_text_gradients(vy_program *p);

#endif
