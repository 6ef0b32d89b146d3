// SPDX-License-Identifier: MIT
// dce.c: removes values that reach no write, no barrier and no condition or bound of a construct
// that contains one.
//
// An unused value is easy; a carried value that feeds only itself, or the counter of a `while`
// whose body was emptied, is used and yet dead.  So liveness is propagated from the writes
// (live_mark.c) instead of counting uses.
//
//   x = load a[i]              b[i] = 1
//   y = exp x            →
//   b[i] = 1
//
// A loop without effect and without a live result is removed, even if it would never end.
// Needs valid structure; keeps everything else as it is.
#include "ir/pass/pass.h"

bool vy_pass_dce(vy_program *p, vy_pass_context *c)
{
    vy_sweep w;
    bool ok = vy_sweep_begin(&w, p) && vy_sweep_mark(&w, false);
    return vy_sweep_end(&w, ok, &c->changed);
}

// Cleanup first: it makes more values dead.  And last: an arm that dce emptied is a select to the
// parser, and a program must read back as the one that was printed.
bool vy_pass_tidy(vy_program *p, vy_pass_context *c)
{
    return vy_pass_cleanup(p, c) && vy_pass_dce(p, c) && vy_pass_cleanup(p, c);
}
