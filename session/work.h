// SPDX-License-Identifier: MIT
// work.h: the stages of one program: differentiated, optimised, compiled, run.
//
// The steps of session.h one by one, for tools that do something between them (vyre-grad).
#ifndef VYRE_SESSION_WORK_H
#define VYRE_SESSION_WORK_H

#include "session/target.h"

#ifdef __cplusplus
extern "C" {
#endif

enum { VYS_WAYS = 16 }; // to keep less, at most

typedef struct vys_work {
    vys_settings settings;
    const vy_module *module; // source: the caller's
    vkrt_device *device;     // the caller's; NULL: none is open
    vy_module *derived;      // by vys_derive
    vy_module *ordered;      // by vys_order_sums
    vy_module *before;       // a copy of what is derived, where it may run in batches
    const vy_program *before_of;
    bool lean; // deterministic: terms of all invocations take more than the tape limit
    // What vys_derive tapes: 0 the fastest choice, 1 only what is needed, from 2 on checkpoints
    // (keep_less.c).
    uint32_t storage;
    vy_diag least; // of the errors of one run for tapes: the one with the fewest bytes
    uint64_t least_bytes;
    uint32_t tries; // how many there were
    // What tapes of the first program take by each way of `storage`, as far as that was tried.
    uint64_t needs[VYS_WAYS];
    bool split;           // each value has a tape of its own
    bool divides;         // the domain of what is differentiated may run in batches
    uint32_t batches;     // in how many it does because all at once is too much; 0: all at once
    uint64_t batch_bytes; // the least that a try with fewer batches took; UINT64_MAX: not known
    uint32_t idle;        // tries with more batches since then
    bool again;           // the caller differentiates the result once more: it is no last order
    bool text;            // the derivative is written as one, and may be differentiated (plain_too)
    bool once;            // what is derived is written, and nothing is derived again in batches
    bool revolves;        // a pipeline: false once its repeats turn out not to follow that schedule
} vys_work;

VYS_API void vys_work_free(vys_work *w); // what it made
// Before a module is freed of which something was derived: another one may get its address.
VYS_API void vys_forget_source(vys_work *w);

// What `storage` means for the derivative that was made last; *states: of REVOLVE, else 0.
typedef enum vys_store {
    VYS_STORE_FASTEST,
    VYS_STORE_LEAN,
    VYS_STORE_SQRT,
    VYS_STORE_REVOLVE,
    VYS_STORE_SEGMENTS,
} vys_store;
VYS_API vys_store vys_stores(const vys_work *w, uint32_t *states);

// Differentiates `from` into w->derived as the settings say.  `seeds`: names of buffers whose
// cotangent is a buffer: then all cotangents of that order are.
VYS_API bool vys_derive(vys_work *w, vys_entry from, const char *const *seeds, uint32_t seed_count,
                        vy_diag *d);
// After an error: if tapes are too large (E0811, E0714), and settings.keep leaves the choice to us,
// selects the next way that tapes less (keep_less.c), drops w->derived and the error, and returns
// true: derive again.
VYS_API bool vys_derive_with_less(vys_work *w, vy_diag *d);
// Where sums are to be deterministic, *what becomes the same in w->ordered, where no sum depends on
// the order of invocations.
VYS_API bool vys_order_sums(vys_work *w, vys_entry *what, vy_diag *d);
// The options that vys_derive passes to vy_grad.  again: for a derivative, all of whose gradients
// are outputs: their names are stored in *results, which the caller frees.
VYS_API bool vys_grad_options(vys_work *w, vys_entry from, bool again, bool seeded,
                              const char ***results, vy_grad_options *g, vy_diag *d);
// Runs the optimiser on `m`, in place.  data: the data that the result will run with; NULL: any.
// final: it runs here and will not be differentiated again.
VYS_API bool vys_optimize(vys_work *w, vy_module *m, bool final, vys_binding *data, vy_diag *d);

#ifdef __cplusplus
}
#endif
#endif
