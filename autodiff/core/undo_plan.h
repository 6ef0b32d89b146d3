// SPDX-License-Identifier: MIT
// undo_plan.h: part of the storage plan of a host program: buffers whose contents the reverse sweep
// finds in place, because it undoes what the forward sweep wrote to them.
//
//   repeat t in 0..T { walls(u, g); energy(u, l); }      walls overwrites two rows of u
//
// Each write to such a buffer has a *log*: the old contents of what it overwrites.  On the way
// back, the reverse of the write puts them back, so that the buffer holds what it held before, and
// the loads of that time can be executed again.  All writes of a buffer have a log, or none.
//
//   form   how the partial writing of a parameter is undone: two programs (reverse/undo_form.c)
//   log    of one write: a value that is kept like any other, named by the STORE
//   event  the STORE, or the opener of the construct with the STORE, after whose reverse a load can
//          be executed again (reverse/undo_find.c)
#ifndef VYRE_UNDO_PLAN_H
#define VYRE_UNDO_PLAN_H

#include "ir/core/ir.h"

typedef struct undo_form {
    uint32_t callee, buffer; // the program; its `inout` parameter
    bool known;              // there is a form: NAME_log_u, NAME_undo_u, programs of the module
    uint32_t log, undo;
    uint32_t next; // of the same callee; + 1
} undo_form;
VY_VEC_TYPE(undo_form_vec, undo_form);

typedef struct undo_log {
    uint32_t store;
    uint32_t form;     // + 1; 0: all of the slice is overwritten, and the log is what was there
    uint32_t dispatch; // that the stored value is a result of, or 0
    uint32_t load;     // with a form: of the slice, the operand that the dispatch updates
    uint32_t next;     // taken before the same instruction; + 1
} undo_log;
VY_VEC_TYPE(undo_log_vec, undo_log);

typedef struct undo_plan {
    bool any;        // else there are no tables
    uint8_t *undone; // by buffer
    uint32_t *log;   // by STORE: + 1; 0: it has none
    uint32_t *taken; // by instruction: the first log that is taken before it; + 1
    uint32_t *event; // by LOAD: its event; 0: none
    uint32_t *first; // by event: the first load that can be executed again then
    uint32_t *next;  // by LOAD: the next one with the same event
    undo_log_vec logs;
    undo_form_vec forms;
    vy_arena arena;
} undo_plan;

void vy_undo_plan_free(undo_plan *u);

#endif
