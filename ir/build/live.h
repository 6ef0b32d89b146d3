// SPDX-License-Identifier: MIT
// live.h: what of a program is needed, and the program without the rest: for cleanup.c and dce.c.
#ifndef VYRE_LIVE_H
#define VYRE_LIVE_H

#include "ir/build/rewrite.h"

// A pass rebuilds one program; *changed is set when it did something.  False: the module's diag.
typedef struct vy_pass_context {
    const vy_opt_options *options;
    bool changed;
} vy_pass_context;

// Everything a rebuild that drops things needs to know about the old program.
typedef struct vy_sweep {
    vy_rewrite w;
    uint8_t *live;  // by instruction id; a slot is live when its CARRY (loops) or RESULT is
    uint32_t *same; // by instruction id: an earlier value it always equals, else the id itself
} vy_sweep;

static inline uint32_t vy_same(const vy_sweep *w, uint32_t id)
{
    return VY_IS_LEAF(id) ? id : w->same[id];
}
// Nothing is live, nothing the same.  False: memory; vy_sweep_end is due all the same.
bool vy_sweep_begin(vy_sweep *w, vy_program *p);
// Marks what is needed.  The roots are writes and barriers, and with `keep_all` everything that is
// not a marker.
bool vy_sweep_mark(vy_sweep *w, bool keep_all);
// Rebuilds the program without what is dead or the same as something else, with constant IFs
// spliced and loops that never run removed.  *changed is set when there was anything to do.  !ok:
// memory ran out.  False: the module's diag.
bool vy_sweep_end(vy_sweep *w, bool ok, bool *changed);

bool vy_pass_cleanup(vy_program *p, vy_pass_context *c); // constant IFs, invariant carries, dead
                                                         // yields; run by vy_program_end too

#endif
