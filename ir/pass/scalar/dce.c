// SPDX-License-Identifier: MIT
// dce.c: takes out values that reach no write, barrier or decision of a construct that has one.
//
// An unused value is easy; a carried value that feeds only itself, or the counter of a `while`
// whose body was emptied, is used and yet useless.  So needs are followed from the writes
// (live_mark.c) rather than uses counted.
//
//   x = load a[i]              b[i] = 1
//   y = exp x            →
//   b[i] = 1
//
// A loop without effect and without a needed result goes, also if it would never end.
// Needs valid structure; keeps everything else as it is.
#include "ir/pass/pass.h"

bool vy_pass_dce(vy_program *p, vy_pass_context *c)
{
    vy_sweep w;
    bool ok = vy_sweep_begin(&w, p) && vy_sweep_mark(&w, false);
    return vy_sweep_end(&w, ok, &c->changed);
}
