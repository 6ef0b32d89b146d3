// SPDX-License-Identifier: MIT
// gather.h: gradients that a program of their own adds up, element by element, instead of atomic
// additions.
#ifndef VYRE_GATHER_H
#define VYRE_GATHER_H

#include "ir/core/ir.h"

// What became of one gradient buffer to which the reverse program adds atomically.
typedef struct vy_gather_note {
    const char *buffer;
    uint32_t sites, gathered; // places that add to it; of those, how many were gathered
    const char *program;      // that sums; NULL: none
    const char *tree; // that sums where elements are few, instead of it; it too, or NULL: none
    const char *map;  // the first place's access, as isl prints it; NULL: not affine
    const char *why; // of the first place that was not gathered: completes "the index …"; or NULL
    uint32_t line;   // … its line
} vy_gather_note;
VY_VEC_TYPE(vy_gather_note_vec, vy_gather_note);

typedef struct vy_gather_notes {
    vy_arena *arena; // of the strings
    vy_gather_note_vec notes;
} vy_gather_notes;

typedef struct vy_gather_options {
    bool lean;   // no memory is taken that grows with the iterations of loops
    bool always; // also where adding atomically would be faster
    bool few;    // also for outputs of constant size
} vy_gather_options;

// Takes additions out of `whole`, a reverse program of module m, and gives them to programs over
// the elements of the buffers they go to; `whole` becomes several stages then (stages.h).  notes:
// NULL, or where to say what became of which buffer.  False: m's diag says why.
bool vy_gather(vy_module *m, vy_program *whole, const vy_gather_options *o, vy_gather_notes *notes);

#endif
