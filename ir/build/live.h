// SPDX-License-Identifier: MIT
// live.h: which instructions of a program are live, and the program without the rest: for cleanup.c
// and dce.c.
#ifndef VYRE_LIVE_H
#define VYRE_LIVE_H

#include "ir/build/rewrite.h"

// Instructions that passes have added to a program by copying, and may in all: growth.c.
typedef struct vy_growth {
    uint64_t copied, most; // 0: no pass has asked yet
} vy_growth;

// A pass rebuilds one program and sets `changed` when it did something.  False: see the module's
// diag.
typedef struct vy_pass_context {
    const vy_opt_options *options;
    bool changed;
    vy_growth *growth; // NULL: no limit
} vy_pass_context;

// Everything that a rebuild needs to know about the old program to omit what is dead.
typedef struct vy_sweep {
    vy_rewrite w;
    uint8_t *live;  // by instruction; a slot is live when its CARRY (loops) or RESULT is
    uint32_t *same; // by instruction: an earlier value that it always equals, else itself
} vy_sweep;

static inline uint32_t vy_same(const vy_sweep *w, uint32_t id)
{
    return VY_IS_LEAF(id) ? id : w->same[id];
}
// At first nothing is live and nothing the same.  False: out of memory; vy_sweep_end must be called
// in either case.
bool vy_sweep_begin(vy_sweep *w, vy_program *p);
// Marks what is live.  The roots are writes and barriers, and with `keep_all` everything that is
// not a marker.
bool vy_sweep_mark(vy_sweep *w, bool keep_all);
// Rebuilds the program without what is dead or the same as something else, with constant IFs
// spliced and loops that never run removed.  Where only values have no use, they are taken out of
// it as it is.  *changed is set if there was anything to do.  !ok: out of memory.  False: see the
// module's diag.
bool vy_sweep_end(vy_sweep *w, bool ok, bool *changed);

bool vy_pass_cleanup(vy_program *p, vy_pass_context *c); // constant IFs, invariant carries, dead
                                                         // yields; run by vy_program_end too
// One round of it, which leaves little, and dce at once: for a program that is cleaned up again.
bool vy_sweep_dead(vy_program *p);

#endif
