// SPDX-License-Identifier: MIT
// task.h: what the files behind session.h share.
#ifndef VYRE_SESSION_TASK_H
#define VYRE_SESSION_TASK_H

#include "session/fit.h"
#include "session/ranks.h"
#include "session/runner.h"
#include "session/session.h"

struct vys_session {
    vkrt_instance *instance; // NULL: the device is the caller's, or there is none
    vkrt_device *device;
};

// The contents set for a buffer: one block of memory from which every run starts.
typedef struct vys_given {
    char *name;
    vy_type type; // of the elements kept: the buffer's, or f64
    vys_shape_state state;
    uint64_t shape[VYS_MAX_RANK], flat;
    uint64_t count;        // elements in `data`
    void *data;            // NULL: zeros
    vkrt_storage *storage; // a holder of it; NULL: the contents are `data`
    uint64_t offset;
    bool fresh; // set since the last run
} vys_given;

// What a training on several devices has (fit_ranks.c).
typedef struct vys_task_ranks {
    vys_comm own; // as the caller gave it
    const vys_comm *comm;
    char **names, **params; // with a NULL at the end
    vys_shard shard;
    uint32_t param_count;
    vy_module *trained; // to which `made` refers
    vy_training made;
    bool checked;
} vys_task_ranks;

struct vys_task {
    vys_session *session;
    vys_work work;
    char *program, **of, **wrt, **assume; // copies of what the settings refer to
    vy_module *source;                    // ours
    vy_module *code;        // order 0: the copy of it that runs, unless work.ordered does
    vys_entry primal, runs; // of the source; of what runs
    bool derived_is_fresh;  // work.derived has not been optimised
    vys_given *given;
    uint32_t given_count;
    bool *scalar_given; // by index in the primal
    vy_scalar *scalars;
    uint32_t groups[3];
    bool has_groups;
    vys_binding forward; // of the primal: shapes and scalars only
    vys_binding data;    // of what runs
    vys_runner runner;
    int64_t *compiled_dims; // of the primal: what `runner` was compiled for; NULL: it is not ready
    bool moved;             // something that decides sizes was set since the last run
    bool done;              // the last run succeeded
    bool no_run;            // vys_prepare
    vys_fit_names fit;      // of a training; strings of `source`
    vys_task_ranks *ranks;  // NULL: it is one of a single device, or none
    vy_module *checked[4];  // derivatives that vys_check made, to which its result refers
    vys_stats stats;
};

// Makes t->runs and its module for another build, as derived, ordered or copied from the source.
bool vys_task_code(vys_task *t, vy_diag *d);
// Shapes and scalars of the primal (t->forward) from what was given.
bool vys_task_settle(vys_task *t, vy_diag *d);
vys_given *vys_task_given(const vys_task *t, const char *name); // NULL: not set
void vys_given_free(vys_given *g);
// fit_ranks.c.  Takes over `trained`, also where it fails.
bool vys_task_share(vys_task *t, const vys_fit *fit, const vy_training *made, vy_module *trained,
                    vy_diag *d);
bool vys_task_run_ranks(vys_task *t, vy_diag *d);
void vys_task_ranks_free(vys_task_ranks *r); // NULL is fine
// An `inout` buffer begins as zeros; its shape follows from others.
bool vys_task_zeros(vys_task *t, const char *name, vy_diag *d);

#endif
