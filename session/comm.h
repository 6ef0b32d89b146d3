// SPDX-License-Identifier: MIT
// comm.h: how the processes of one training exchange numbers: functions of the caller's.
//
// `vyre-grad fit --shard` gives those of MPI, `vyre.fit(comm=…)` those of a Python object; NCCL or
// threads of one process do as well.  Every rank calls the same functions in the same order.
//
// Each function returns NULL, or a text that says why it failed, which lives until the next call.
// Sums must be the same bits on every rank: parameters that differ would drift apart.
#ifndef VYRE_SESSION_COMM_H
#define VYRE_SESSION_COMM_H

#include "session/fail.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef struct vys_comm {
    size_t size;          // of the struct, or 0 (vyre.h)
    uint32_t rank, ranks; // rank < ranks
    uint32_t local_rank;  // among the ranks of this machine, for the choice of a device
    void *user;           // first argument of the functions
    // Begins to replace data[count], VY_F32 or VY_F64, by its sum over all ranks.  The memory
    // belongs to the call until it is finished.
    const char *(*begin_sum)(void *user, void *data, uint64_t count, vy_type type);
    // Begins to write the `bytes` that every rank has in `own` to all[ranks * bytes], in the order
    // of the ranks.  NULL: sums cannot be ordered.
    const char *(*begin_gather)(void *user, const void *own, void *all, uint64_t bytes);
    // Waits for the oldest call that was begun and not finished, at most so long; 0: for ever.
    const char *(*finish)(void *user, uint64_t timeout_ns);
    // Ends all ranks, this one too, with that status.  NULL: errors are only returned.
    void (*abort)(void *user, int status);
    // Lets what was begun go on, without waiting; called while the device computes.  NULL: it goes
    // on by itself.
    void (*progress)(void *user);
} vys_comm;

#ifdef __cplusplus
}
#endif
#endif
