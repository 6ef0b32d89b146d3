// SPDX-License-Identifier: MIT
// ranks.h: steps of a training whose gradients are summed over several processes.
//
//   each part of this rank    run: loss and gradients of its rows, on the device
//   each array                once it is final, while the last part still runs: read it, begin its
//                             sum over the ranks; then, in the same order, finish the sum, and
//                             give it to the first part
//   the first part            run: the optimiser
//   the other parts           its parameters
//
// While one array travels the next is computed or read (overlap.h).  Sums are those of the
// communicator; with `ordered` the arrays of all parts are gathered instead, and every rank adds
// them in the order of the parts: for a fixed number of parts the bits do not depend on how many
// ranks there are.
#ifndef VYRE_SESSION_RANKS_H
#define VYRE_SESSION_RANKS_H

#include "session/comm.h"
#include "session/shard.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef struct vys_part {
    vys_binding *data;
    vys_runner *run;
    double weight; // of its loss and gradients in the sums
} vys_part;

typedef struct vys_ranks {
    const vys_comm *comm;      // every rank has as many parts
    const vy_training *made;   // with `split`
    const char *const *params; // what is trained
    uint32_t gradients;        // as many
    vys_part *parts;           // of this rank, in order
    uint32_t count;            // 1, unless `ordered`
    bool ordered;
    uint64_t timeout_ns;         // for each sum; 0: none
    uint64_t sent;               // bytes that this rank has given to sums so far
    uint64_t early;              // … of these, before the derivative of its step was done
    struct vys_overlap *overlap; // vys_ranks_free
    char *own, *all; // vys_ranks_free; `ordered`: of one array, this rank's and all parts
} vys_ranks;

VYS_API bool vys_ranks_begin(vys_ranks *r, vy_diag *d); // once all else is set
VYS_API void vys_ranks_free(vys_ranks *r);
// Steps 0 … steps − 1 of a window.  *ms: time on the device, added up.
VYS_API bool vys_ranks_run(vys_ranks *r, const vys_work *w, uint32_t steps, double *ms, vy_diag *d);
// Bytes that one step gives to sums, of the loss (index 0) and of each gradient; 0 past the last.
VYS_API uint64_t vys_ranks_bytes(const vys_ranks *r, uint32_t index, const char **name);
// Which half of which step the next run of a part makes.
VYS_API bool vys_part_phase(const vys_part *p, const vy_training *made, uint32_t step,
                            bool derivative, vy_diag *d);

// all[ranks * bytes]: what every rank gives.  Errors: E0905.
VYS_API bool vys_comm_gather(const vys_comm *c, const void *own, void *all, uint64_t bytes,
                             uint64_t timeout_ns, vy_diag *d);

#ifdef __cplusplus
}
#endif
#endif
