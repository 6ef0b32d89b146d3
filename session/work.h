// SPDX-License-Identifier: MIT
// work.h: one program on its way: differentiated, optimised, compiled, run.
//
// The steps of session.h one by one, for tools that do something between them (vyre-grad).
#ifndef VYRE_SESSION_WORK_H
#define VYRE_SESSION_WORK_H

#include "session/target.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef struct vys_work {
    vys_settings settings;
    const vy_module *module; // source: the caller's
    vkrt_device *device;     // the caller's; NULL: none is open
    vy_module *derived;      // by vys_derive
    vy_module *ordered;      // by vys_order_sums
    bool lean; // deterministic: terms of all invocations take more than the tape limit
    // How little vys_derive keeps: 0 what is fastest, 1 what must be, 2 … checkpoints.
    uint32_t storage;
} vys_work;

VYS_API void vys_work_free(vys_work *w); // what it made

// Differentiates `from` into w->derived as the settings say.  `seeds`: names of buffers whose
// cotangent is a buffer: then all cotangents of that order are.
VYS_API bool vys_derive(vys_work *w, vys_entry from, const char *const *seeds, uint32_t seed_count,
                        vy_diag *d);
// After an error: if it says that tapes are too large (E0811, E0714), and settings.keep leaves the
// choice to us, takes the next step that keeps less, drops w->derived and the error, and returns
// true: derive again.
VYS_API bool vys_derive_with_less(vys_work *w, vy_diag *d);
// Where sums are to be deterministic, *what becomes the same in w->ordered, where no sum depends on
// the order of invocations.
VYS_API bool vys_order_sums(vys_work *w, vys_entry *what, vy_diag *d);
// What vys_derive asks vy_grad for.  again: of a derivative, all gradients of which are outputs:
// *results, which the caller frees, takes their names.
VYS_API bool vys_grad_options(const vys_work *w, vys_entry from, bool again, bool seeded,
                              const char ***results, vy_grad_options *g, vy_diag *d);
// Runs the optimiser on `m`, in place.  data: what the result will be run with; NULL: anything.
// final: it runs here, and nobody differentiates it any more.
VYS_API bool vys_optimize(vys_work *w, vy_module *m, bool final, vys_binding *data, vy_diag *d);

#ifdef __cplusplus
}
#endif
#endif
