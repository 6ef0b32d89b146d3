// SPDX-License-Identifier: MIT
// undo.h: buffers of host programs whose contents the reverse sweep finds in place, because it
// undoes what the forward sweep wrote (autodiff/core/undo_plan.h).
#ifndef VYRE_UNDO_H
#define VYRE_UNDO_H

#include "autodiff/core/reverse.h"

// ---- undo_form.c
// Makes the programs that log and undo what form->callee writes to form->buffer; form->known says
// whether there are such.  False: the module's diag.
bool vy_undo_form_make(vy_module *m, undo_form *form);
// ---- undo_pinned.c
// Does at most one value of the domain variable get to the store?
bool vy_undo_is_pinned(const vy_program *p, const vy_structure *s, uint32_t store, uint32_t over);
// ---- undo_find.c
// Finds the buffers of which all writes can be undone, and when their loads can be executed again:
// fills plan.undo.  False: memory.
bool vy_undo_find(reverse *r);
// ---- undo_events.c
// Is it inside of nothing but loops that run to their end and are reversed?
bool vy_undo_in_loops(const reverse *r, uint32_t id);
// Lists the logs and events of the buffers that are undone.  False: memory.
bool vy_undo_list(reverse *r);
// ---- undo_worth.c
// Is the log, which has a form, smaller than the slice?
bool vy_undo_is_less(const reverse *r, const undo_log *log);
// Elements of all tapes of a program, where extents that are not constant are of one nominal size.
double vy_undo_tapes(const vy_program *p);
// Of which buffers does `p`, the program just built, log more than it saves?  Takes them out of the
// plan; true if there are any, so that it must be built again.
bool vy_undo_settle(reverse *r, const vy_program *p);
// ---- undo_sweep.c
// The forward sweep arrives at instruction `id`: takes the logs that are taken before it.
void vy_undo_take_logs(reverse *r, uint32_t id);
// A replay arrives at STORE `id`: its log is on a tape.
void vy_undo_replay_log(reverse *r, uint32_t id);
// The reverse sweep arrives at STORE `id`: puts back what it overwrote.
void vy_undo_store(reverse *r, uint32_t id);
// The contents of all buffers are those before `id`, or at the end of the block that it closes:
// executes again the loads that it is the event of.
void vy_undo_arrive(reverse *r, uint32_t id);

#endif
