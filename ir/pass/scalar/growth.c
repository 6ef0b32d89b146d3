// SPDX-License-Identifier: MIT
// growth.c: how much passes may add to a program by copying what its loops do.
//
// jam_iterations makes four iterations of a loop one, jam_loops four or eight, and both keep the
// loop for those that remain; strip_mine for GPUs makes three loops of one, uniform_starts two.
// Each has a limit for a loop, and a program of a thousand such loops would be five times as long
// all the same.  That costs time in all passes that follow, in the driver's compiler, and of a
// GPU's cache of instructions; a long program has more such loops than run most of the time.
//
// So they share an account: as many instructions as the program has when the first of them asks,
// at least MOST_COPIED.  It is spent in the order of passes, and of loops in the text: which loops
// get copies depends on the program alone.  A loop that gets none stays as it is, which is right.
//
// Copies that a driver needs to compute what the program says (strip_mine under options->chunk) are
// not limited.  Passes that look at a program as a whole have limits of their own (unroll.c,
// check_ahead.c, interior.c).
#include "ir/pass/pass.h"

// All kernels of tests, examples and layers of networks stay below (docs/performance.md).
enum { MOST_COPIED = 16384 };

bool vy_may_copy(const vy_pass_context *c, const vy_program *p, uint64_t instructions)
{
    vy_growth *g = c->growth;
    if (!g) return true;
    if (!g->most) g->most = p->insts.count > MOST_COPIED ? p->insts.count : MOST_COPIED;
    if (instructions > g->most - g->copied) return false;
    g->copied += instructions;
    return true;
}
