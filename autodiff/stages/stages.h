// SPDX-License-Identifier: MIT
// stages.h: one program of a derivative becomes several, dispatched one after the other.
#ifndef VYRE_STAGES_H
#define VYRE_STAGES_H

#include "ir/core/ir.h"

// Replaces `whole`, a program of module `m`, by `count` programs that run in its place: in every
// pipeline that dispatches it or, where there is no pipeline, as a new one that has the name and
// the parameters of `whole`.  The stages are finished programs owned by m that m does not list yet;
// their names must be free (vy_stage_name).  Buffers and scalars are the same where their links are
// (vy_buf.link: copies of a program keep them):
//
//   scalar of a stage            the same of `whole`
//   buffer that `whole` binds    the same (it may be `out` in the first stage and `inout` in the
//                                next: a dispatch clears what it takes as `out`)
//   @workspace of one stage      stays that
//   anything else                an intermediate of the pipeline, made before the first stage that
//                                has it, with the shape and initial contents that this stage
//                                declares (zeros); so stages pass values to each other by declaring
//                                workspaces of one link
//
// A stage without a domain runs in the groups of `whole`, which then has none either.  In a stage
// that has a domain where `whole` has none, num_groups is what it is in `whole`: it becomes a
// scalar (stages_groups.c).  False: m's diag says why; the result is then of no use, but may be
// freed.  All programs belong to m in every case, `whole` is freed.
bool vy_stages_replace(vy_module *m, vy_program *whole, vy_program *const *stages, uint32_t count);
// The same where sizes decide which stages run: iterations[k], a dimension of `whole`, is how often
// stage k does, id 0: once.
bool vy_stages_replace_some(vy_module *m, vy_program *whole, vy_program *const *stages,
                            const vy_dim *iterations, uint32_t count);
// The same for versions of `whole`, of which each launch runs one: holds[k], a dimension of
// `whole`, is 1 where that is version k, else 0.  What one clears no other has written.
bool vy_stages_replace_by_one(vy_module *m, vy_program *whole, vy_program *const *versions,
                              const vy_dim *holds, uint32_t count);

// Makes scalars of num_groups in a stage of `whole`, as replacing does: taken[axis] is which, from
// 1; 0: it does not need it.  False: memory.
bool vy_stage_take_groups(vy_module *m, const vy_program *whole, vy_program *stage,
                          uint32_t taken[3]);

// Does no stage clear what an earlier one writes?  Else m's diag says which.  (clears.c)
bool vy_stages_keep(vy_module *m, vy_program *const *stages, const vy_dim *iterations,
                    uint32_t count);

// What a stage of p is called: NAME_suffix, or with a number behind it where the module has that
// name, in m's arena; NULL: memory (m's diag).  NAME is what p was derived from, or p itself.
const char *vy_stage_name(vy_module *m, const vy_program *p, const char *suffix);

#endif
