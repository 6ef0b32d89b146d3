// SPDX-License-Identifier: MIT
// keep.h: derivatives split so that values are kept in place of states (core/keep_plan.h).
#ifndef VYRE_REVERSE_KEEP_H
#define VYRE_REVERSE_KEEP_H

#include "autodiff/core/keep_plan.h"
#include "autodiff/core/reverse.h"
#include "ir/core/host.h"

// What a buffer of a derivative is.
typedef enum keep_use {
    VY_KEEP_OTHER,
    VY_KEEP_INPUT, // what the primal reads, and the reverse can read as well
    VY_KEEP_STATE, // likewise, but whoever runs the reverse would have to keep it
} keep_use;

enum { VY_KEEP_MOST = 4 }; // values of one dispatch

typedef struct keep_cut {
    uint32_t count, value[VY_KEEP_MOST];
    uint32_t bytes; // of all of them, for one invocation
} keep_cut;

typedef enum keep_found { VY_KEEP_NOT_FOUND, VY_KEEP_FOUND, VY_KEEP_NO_MEMORY } keep_found;

// ---- keep_find.c
// The values of `p` that are to be kept, so that it can do without what `uses` (by buffer) calls
// states.
keep_found vy_keep_find(const vy_program *p, const keep_use *uses, keep_cut *out);
// ---- keep_programs.c
// The program that computes the values of the cut and writes them, and `p` with loads in their
// place; neither is listed by the module.  NULL: there is none, or out of memory.
vy_program *vy_keep_writer(const vy_program *p, const keep_use *uses, const keep_cut *cut);
vy_program *vy_keep_reader(const vy_program *p, const keep_use *uses, const keep_cut *cut);
// ---- keep_before.c
// The form whose keeper is dispatched by the primal directly before `id`, of which `made` is the
// derivative.  *keeper: that DISPATCH.  NULL: none.
const keep_form *vy_keep_before(const reverse *r, uint32_t id, const vy_derived *made,
                                uint32_t *keeper);

#endif
