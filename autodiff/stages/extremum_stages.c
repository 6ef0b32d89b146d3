// SPDX-License-Identifier: MIT
// extremum_stages.c: the programs that find the winners of atomic_min and atomic_max, before the
// reverse.
//
//   pipeline f_grad(x: in f32[N], grad_x: out f32[N], N: u32) {
//       buffer final_best: f32[1];
//       f_final(x, final_best);
//       buffer winner_best: u32[1];
//       f_winner(x, final_best, winner_best);
//       f_reverse(x, winner_best, grad_x);
//   }
//
// Each is a slice of the primal, the same forward sweep with something else in place of the
// atomics.
#include "autodiff/rewrite/extremum.h"

#include "autodiff/stages/stages.h"
#include "autodiff/reverse/sweeps.h"
#include "autodiff/stages/result.h"

static vy_program *finding_program(reverse *r, build_purpose purpose, const char *suffix)
{
    vy_program *p = vy_reverse_find(r, purpose, suffix);
    if (!p || !vy_reverse_finish(r, p)) return NULL;
    r->out->programs.count--; // listed when it replaces the reverse
    p->name = vy_stage_name(r->out, p, suffix);
    return p;
}

build_purpose vy_extremum_asks(const vy_program *p)
{
    return vy_program_find_made(p, VY_MADE_LAST)     ? BUILD_FIND_LAST
           : vy_program_find_made(p, VY_MADE_WINNER) ? BUILD_FIND_WINNER
                                                     : BUILD_REVERSE;
}

bool vy_extremum_find(reverse *r, bool last, vy_program **stages, uint32_t *n, bool *inexact)
{
    bool ok = (stages[*n] = finding_program(r, BUILD_FIND_FINAL, "final")) && ++*n;
    ok = ok && (stages[*n] = finding_program(r, BUILD_FIND_WINNER, "winner")) && ++*n;
    ok = ok && (!last || ((stages[*n] = finding_program(r, BUILD_FIND_LAST, "last")) && ++*n));
    if (!ok || vy_extremum_inexact(&r->facts, inexact)) return ok;
    vy_fail_oom(r->out);
    return false;
}

bool vy_extremum_stages(reverse *r, vy_program *p, build_purpose asks)
{
    vy_program *stages[4];
    uint32_t n = 0;
    bool inexact;
    if (asks == BUILD_REVERSE) return true;
    bool ok = vy_extremum_find(r, asks == BUILD_FIND_LAST, stages, &n, &inexact);
    ok = ok && (stages[n] = vy_program_clone(p, r->out)) && ++n;
    if (ok && inexact) stages[n - 1]->exact = true;
    // `p` goes; a pipeline there is none yet takes its name.
    if (ok && !r->out->pipelines.count) stages[n - 1]->name = vy_stage_name(r->out, p, "reverse");
    if (ok && vy_module_ok(r->out)) return vy_stages_replace(r->out, p, stages, n);
    for (uint32_t k = 0; k < n; k++) vy_program_free(stages[k]);
    return false;
}
