// SPDX-License-Identifier: MIT
// runner.h: one program or pipeline with its data, ready to be executed again and again by either
// engine.
#ifndef VYRE_SESSION_RUNNER_H
#define VYRE_SESSION_RUNNER_H

#include "session/work.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef struct vys_runner {
    vys_entry what;
    vys_binding *data; // the caller's
    vy_compiled *compiled;
    const vy_plan *steps; // what runs: of `compiled`, or the caller's
    vkrt_plan *plan;      // NULL: the interpreter
    vy_eval_report seen;  // of the interpreter's last run, with settings.report
    // The iterations stay below the device's limit for certain; else kernels watch their loops.
    bool iterations_known;
} vys_runner;

// Fills *d from an error of vkrt, with the code that the same mistake has elsewhere; always false.
// `words` may be NULL.
VYS_API bool vys_vkrt_fail(const vkrt_error *e, const vys_words *words, vy_diag *d);

// Compiles for w->device, unless w->settings.interpreter.  vys_runner_free in every case, before
// vys_binding_free.
VYS_API bool vys_runner_prepare(vys_runner *r, const vys_work *w, vys_binding *b, vy_diag *d);
// The same for a plan that exists already, whose buffers and scalars are the binding's; device
// only.
VYS_API bool vys_runner_prepare_steps(vys_runner *r, const vys_work *w, vys_binding *b,
                                      const vy_plan *steps, vy_diag *d);
// Gives the engine the contents of the binding's buffers.
VYS_API bool vys_runner_upload(vys_runner *r, vy_diag *d);
VYS_API bool vys_runner_upload_one(vys_runner *r, const vys_bound *b, vy_diag *d);
// Gives it the scalars and numbers of workgroups of the binding again.
VYS_API bool vys_runner_rescale(vys_runner *r, vy_diag *d);
// Allocates what it needs: the plan can be recorded or submitted.  On a device only.
VYS_API bool vys_runner_ready(vys_runner *r, vy_diag *d);
// Runs once; *ms: time on the device, or in the interpreter.
VYS_API bool vys_runner_run(vys_runner *r, const vys_work *w, double *ms, vy_diag *d);
// Fetches `out` and `inout` buffers into the binding.
VYS_API bool vys_runner_read(vys_runner *r, vy_diag *d);
// One of them, to `data`, which has its size.
VYS_API bool vys_runner_read_one(const vys_runner *r, const vys_bound *b, void *data, vy_diag *d);
// Bytes that workspaces and intermediates took on the device, at their most; 0: the interpreter.
VYS_API uint64_t vys_runner_workspace(const vys_runner *r);
VYS_API void vys_runner_free(vys_runner *r);

#ifdef __cplusplus
}
#endif
#endif
