// SPDX-License-Identifier: MIT
// gather.h: gradients that are summed element by element in a program of their own, not by atomic
// additions.
#ifndef VYRE_GATHER_H
#define VYRE_GATHER_H

#include "ir/core/ir.h"

// What became of one gradient buffer to which the reverse program adds atomically.
typedef struct vy_gather_note {
    const char *buffer;
    uint32_t sites, gathered; // places that add to it; of those, how many were gathered
    const char *program;      // that sums; NULL: none
    bool owned;               // none was, but each element is one invocation's: they are plain
    const char *partial;      // whose sums `program` adds up; NULL: none
    const char *tree; // that sums small buffers instead of it (or the same program); NULL: none
    // What `program` takes to hold of scalars, which decides at launch whether it runs or this one,
    // which adds atomically; NULL: it takes nothing, there is no other.
    const char *assumes, *otherwise;
    const char *map; // the first place's access, as isl prints it; NULL: not affine
    const char *why; // of the first place that was not gathered: completes "the index …"; or NULL
    uint32_t line;   // … its line
} vy_gather_note;
VY_VEC_TYPE(vy_gather_note_vec, vy_gather_note);

VY_VEC_TYPE(vy_gather_name_vec, const char *);

typedef struct vy_gather_notes {
    vy_arena *arena; // of the strings
    vy_gather_note_vec notes;
    vy_gather_name_vec elsewhere; // programs that run for other scalars than those of the notes
    bool counts_only;             // no maps: to print one takes as long as to find it
} vy_gather_notes;

typedef struct vy_gather_options {
    bool lean;                 // uses no memory that grows with the trip counts of loops
    bool always;               // also where atomic additions would be faster
    bool allow_small;          // also for outputs of small constant size
    const vy_program *source;  // NULL, or of what `whole` is the derivative: sizes that it has
    const char *const *assume; // conditions on scalars that hold in every launch
    uint32_t assume_count;
    bool gradients; // of gradients only; they may be `inout`: what is gathered is added to them
} vy_gather_options;

// Moves additions from `whole`, a reverse program of module m, to programs over the elements of the
// buffers that they add to; `whole` then becomes several stages (stages.h).  notes: NULL, or
// receives what became of each buffer.  False: m's diag says why.
bool vy_gather(vy_module *m, vy_program *whole, const vy_gather_options *o, vy_gather_notes *notes);

#endif
