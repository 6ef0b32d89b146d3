// SPDX-License-Identifier: MIT
// plan.h: the storage plan: what is taped for the reverse sweep, and what is known about lengths.
// A build shows what is missing or stored in vain; the next one starts from the corrected plan.
#ifndef VYRE_GRAD_PLAN_H
#define VYRE_GRAD_PLAN_H

#include "autodiff/core/counter.h"
#include "autodiff/core/facts.h"
#include "autodiff/core/undo_plan.h"

// A shared array that replays of `root` store to again, see shared_replay.c.
typedef struct reverse_stage {
    uint32_t buffer, root;
    uint32_t next; // of the same root; + 1
    bool unread;   // no replayed load reads it: its stores and barriers are omitted in replays
    bool loaded, settled;
} reverse_stage;
VY_VEC_TYPE(reverse_stage_vec, reverse_stage);

typedef struct storage_plan {
    uint32_t *kept;      // by instruction id: 1 + the CHECKPOINT whose replay tapes it; 1: the
                         // forward sweep does; 0: it is not taped
    uint32_t *stands;    // by instruction id: the store whose array has the value until the end,
                         // see standing.c; or 0
    uint32_t *rewound;   // by buffer: the first of its stores if the reverse sweep takes them
                         // back, see rewind.c; or 0
    uint32_t *rewinds;   // by store: the next one to that array, or 0; NULL: no array is rewound
    uint8_t *taken_back; // by store: when it would be; NULL likewise
    bool *spilled;       // by buffer: its adjoint is in a workspace, see spill.c
    uint32_t fewer_sums; // how often the number of arrays of sweep_lane_sums.c has been halved
    uint32_t *stage;     // by load of a shared array: see shared_replay.c
    uint32_t *staged_at; // by loop or checkpoint: + 1, the first of its stages
    reverse_stage_vec stages;
    vy_writes writes;        // of shared arrays, where there are any
    vy_arena arena;          // of `writes`
    const uint32_t *hints;   // by instruction: upper bound, see trip_bound.h; or NULL
    vy_counter_vec counters; // loops whose trip count depends on data
    uint32_t *counter;       // by loop: + 1, the first of its counters; 0: none
    undo_plan undo;          // of a host program: what is undone instead
} storage_plan;

// Makes the tables, zeroed; `counters` and `hints` are set before.  False: memory; call
// vy_storage_free either way.
bool vy_storage_make(storage_plan *s, const vy_program *p);
bool vy_storage_make_rewound(storage_plan *s, const vy_program *p); // rewinds, taken_back
void vy_storage_free(storage_plan *s);

#endif
