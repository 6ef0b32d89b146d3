// SPDX-License-Identifier: MIT
// algebra.c: the builder's inexact rules, on request.
//
//   --fast-math:   mul (mul x 2.5) 4   →   mul x 10         x − x → 0, x · 0 → 0, x / 3 → x · (1/3)
//
// The rules are rows of fold.c and fire while a program is built, but the parser builds it before
// fast math can be requested, and the other passes rebuild a program only if they change it.  So
// this one rebuilds the entire program.  Keeps everything else.
#include "ir/pass/pass.h"

bool vy_pass_algebra(vy_program *p, vy_pass_context *c)
{
    if (!p->fast_math || p->exact) return true;
    vy_rewrite w;
    bool ok = vy_rewrite_begin(&w, p);
    if (ok) vy_rewrite_run(&w, NULL, NULL);
    return vy_rewrite_end(&w, ok, &c->changed) && vy_pass_cleanup(p, c); // arms that became equal
}
