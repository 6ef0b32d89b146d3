// SPDX-License-Identifier: MIT
// notes.h: what explain.c keeps of a differentiation, whose tables are freed when it is done.
//
// What can be seen in the result (how gradients are added up, bytes, iterations) is taken from the
// result.  Only what cannot is noted: which value of the source a tape holds and why, where
// adjoints live.  Buffers of the result are noted by name: unused ones are dropped and numbers
// change.
#ifndef VYRE_NOTES_H
#define VYRE_NOTES_H

#include "autodiff/explain.h"
#include "autodiff/core/reverse.h"

typedef struct note_value {
    const char *name, *from, *tape, *loop; // from: NULL if it was not loaded
    uint32_t line, loop_line;
    vy_type type;
    vy_kept_why why;
    // Of a host program: the program dispatched that takes it, or NULL; how many axes it has.
    const char *before;
    uint32_t rank;
} note_value;
VY_VEC_TYPE(note_value_vec, note_value);

typedef struct note_buffer {
    const char *name;
    vy_adjoint_kind adjoint;
    const char *adjoint_name; // or NULL
    const char *mask;         // buffer of the result with the masks of its elements, or NULL
    const char *copy; // buffer of the result with its contents, if it is a workspace; or NULL
    bool rewound;     // see vy_explain_buffer
} note_buffer;
VY_VEC_TYPE(note_buffer_vec, note_buffer);

typedef struct note_gradient {
    const char *name, *of;
} note_gradient;
VY_VEC_TYPE(note_gradient_vec, note_gradient);

typedef struct note_loop {
    uint32_t line, column;
    bool reverse;          // the source's own direction
    uint32_t first, count; // in notes.carried
} note_loop;
VY_VEC_TYPE(note_loop_vec, note_loop);
VY_VEC_TYPE(note_carried_vec, vy_explain_carried);

typedef struct notes {
    vy_arena *arena; // of the strings
    note_value_vec values;
    note_buffer_vec buffers;
    note_gradient_vec gradients;
    note_loop_vec loops;
    note_carried_vec carried;
    bool failed; // memory
} notes;

void vy_notes_take(void *notes, const reverse *r, const vy_program *result);
void vy_notes_move(void *notes, const char *tape, const char *into); // a reverse_observer's `moved`
void vy_notes_free(notes *n);

#endif
