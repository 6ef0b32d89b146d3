// SPDX-License-Identifier: MIT
// fit.h: training, as a task of session.h.
//
//   vys_session *s; vys_task *t; vy_diag d = {0};
//   vys_open(NULL, &s, &d);
//   vys_fit_parse(s, text, strlen(text), "f.vyre",
//                 &(vys_fit){.train = {.loss = "loss", .params = (const char *[]){"w", "b"},
//                                      .param_count = 2, .lr = 0.1}, .steps = 500}, NULL, &t, &d);
//   vys_set(t, "x", VY_F32, 2, (uint64_t[]){n, k}, x, &d);    // data, and where parameters begin
//   …
//   vys_run(t, &d);                                           // 500 steps; again: 500 more
//   vys_read(t, "w", VY_F32, w, sizeof w, &d);
//   vys_read(t, "losses", VY_F32, losses, sizeof losses, &d);
//   vys_task_free(t);
//   vys_close(s);
//
// The task runs the pipeline that vy_train makes (autodiff/train.h): all steps of a run follow each
// other on the device.  Its parameters are those of the program, and `losses`, `step` (of the next
// run), the buffers of the optimiser; names that the program has already get a number.  A loss that
// is no finite number ends the training: later steps change nothing, and `losses` shows where.  So
// does train.tolerance; `step` is then the number of steps that changed something.
//
// On several devices, with `comm`, every rank (process, or thread with a session of its own) makes
// the same calls, but sets only its own rows of the buffers `shard`, and runs end with the same
// parameters and losses on all of them.  The rows of a rank may be any number from 1 up.
#ifndef VYRE_SESSION_FIT_H
#define VYRE_SESSION_FIT_H

#include "session/comm.h"
#include "session/session.h"

#include "autodiff/train.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef struct vys_fit {
    size_t size;              // of the struct, or 0 (vyre.h)
    uint32_t steps;           // of one run, from 1 up
    uint32_t batch;           // rows of a batch, where train.batch names buffers
    const vys_comm *comm;     // its `user` outlives the task; NULL: one device
    const char *const *shard; // with comm: buffers of which each rank has rows (session/shard.h)
    uint32_t shard_count;
    bool sums;              // the loss adds up over rows; else it is their mean
    vy_train_options train; // `program` and `grad` are those of the settings; grows: the last one
} vys_fit;

// What a training calls its own: `losses` and so on, or with a number where the program has that
// name.  They live as long as the task; all NULL: the task is no training.
typedef struct vys_fit_names {
    const char *losses; // out f32[steps, 1], of the last run
    const char *step;   // inout u32[1], of the next step
    const char *count;  // scalar: steps of the next run, at most vys_fit.steps
} vys_fit_names;
VYS_API vys_fit_names vys_fit_names_of(const vys_task *t);

// settings: NULL or as for vys_task_parse; `order`, `of`, `wrt` and `keep_state` are not read.
// Errors: those of vy_parse and vy_train; E0801.  Of runs with `comm` also E0905, and E0806 where
// the loss does not follow from the losses of rows.
VYS_API bool vys_fit_parse(vys_session *s, const char *text, size_t size, const char *file,
                           const vys_fit *fit, const vys_settings *settings, vys_task **out,
                           vy_diag *d);
// The same for a module that was built or read.
VYS_API bool vys_fit_build(vys_session *s, const vy_module *m, const vys_fit *fit,
                           const vys_settings *settings, vys_task **out, vy_diag *d);

#ifdef __cplusplus
}
#endif
#endif
