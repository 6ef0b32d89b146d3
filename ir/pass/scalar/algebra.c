// SPDX-License-Identifier: MIT
// algebra.c: the builder's inexact rules, on request.
//
//   --fast-math:   mul (mul x 2.5) 4   →   mul x 10         x − x → 0, x · 0 → 0, x / 3 → x · (1/3)
//
// The rules are rows of fold.c and fire while a program is built, but the parser builds before anybody
// can have asked for fast math, and the other passes rebuild only where they have something to do.  So
// this one builds the whole program once more.  Keeps everything else.
#include "ir/pass/pass.h"

bool vy_pass_algebra(vy_program *p, vy_pass_context *c)
{
    if (!p->fast_math || p->exact) return true;
    uint32_t *map = vy_realloc(NULL, p->insts.count * sizeof *map);
    vy_builder *b = map ? vy_rebuild_begin(p) : NULL;
    if (!map) vy_fail_oom(p->module);
    for (uint32_t id = 1; b && id < p->insts.count && !vy_builder_failed(b); id++)
        vy_copy_inst(b, p, id, map);
    bool ok = b && vy_pass_finish(b, p);
    vy_free(map);
    c->changed |= ok;
    return ok;
}
