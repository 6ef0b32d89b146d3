// SPDX-License-Identifier: MIT
// algebra.c: the builder's inexact rules, on request.
//
//   --fast-math:   mul (mul x 2.5) 4   →   mul x 10         x − x → 0, x · 0 → 0, x / 3 → x · (1/3)
//
// The rules are rows of fold.c and fire while a program is built, but the parser builds before
// anybody can have asked for fast math, and the other passes rebuild only where they have something
// to do.  So this one builds the whole program once more.  Keeps everything else.
#include "ir/pass/pass.h"

bool vy_pass_algebra(vy_program *p, vy_pass_context *c)
{
    if (!p->fast_math || p->exact) return true;
    vy_rewrite w;
    bool ok = vy_rewrite_begin(&w, p);
    if (ok) vy_rewrite_run(&w, NULL, NULL);
    return vy_rewrite_end(&w, ok, &c->changed);
}
