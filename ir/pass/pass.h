// SPDX-License-Identifier: MIT
// pass.h: all passes.  One file each; see the head of each file.
#ifndef VYRE_PASS_H
#define VYRE_PASS_H

#include "ir/build/live.h"
#include "ir/build/rewrite.h"

bool vy_pass_dce(vy_program *p, vy_pass_context *c);
// Behind passes that rewrite a program after the last `cleanup` of the pipeline (passes.c).
bool vy_pass_tidy(vy_program *p, vy_pass_context *c);
bool vy_pass_forward(vy_program *p, vy_pass_context *c); // store→load, redundant loads
bool vy_pass_dse(vy_program *p, vy_pass_context *c);     // dead stores
bool vy_pass_licm(vy_program *p, vy_pass_context *c);
// Stores of a loop's first iteration → before it.
bool vy_pass_hoist_first(vy_program *p, vy_pass_context *c);
bool vy_pass_count_loops(vy_program *p, vy_pass_context *c);    // a `while` that counts → for
bool vy_pass_constant_trips(vy_program *p, vy_pass_context *c); // … from constants, in any way
bool vy_pass_unroll(vy_program *p, vy_pass_context *c);
bool vy_pass_ifconvert(vy_program *p, vy_pass_context *c);      // cheap pure arms → select
bool vy_pass_flatten_ifs(vy_program *p, vy_pass_context *c);    // likely arms, options->lanes
bool vy_pass_equal_products(vy_program *p, vy_pass_context *c); // of gradients' sums
bool vy_pass_adjoint_terms(vy_program *p, vy_pass_context *c);  // equal but for rounding
bool vy_pass_early_sums(vy_program *p, vy_pass_context *c);     // in an earlier loop of the range
bool vy_pass_online_sums(vy_program *p, vy_pass_context *c);    // of exponentials: one walk
bool vy_pass_meeting_sums(vy_program *p, vy_pass_context *c);   // two sums of a loop into one
bool vy_pass_mark_in_range(vy_program *p, vy_pass_context *c);  // sets VY_FLAG_INRANGE
bool vy_pass_algebra(vy_program *p, vy_pass_context *c);        // inexact rules, if fast_math
bool vy_pass_implied(vy_program *p, vy_pass_context *c);        // conditions whose value is known
bool vy_pass_lengths(vy_program *p, vy_pass_context *c);        // computed lengths of buffers
bool vy_pass_sliding_loads(vy_program *p, vy_pass_context *c);  // neighbours that a loop keeps
bool vy_pass_nested_selects(vy_program *p, vy_pass_context *c); // choices inside of choices
bool vy_pass_select_factors(vy_program *p, vy_pass_context *c); // of products on one condition
bool vy_pass_share_arms(vy_program *p, vy_pass_context *c);     // of later ifs on one condition
bool vy_pass_fuse_ifs(vy_program *p, vy_pass_context *c);       // neighbouring ifs on one condition
bool vy_pass_fuse_loops(vy_program *p, vy_pass_context *c);     // neighbouring loops over one range
bool vy_pass_merge_additions(vy_program *p, vy_pass_context *c); // additions to one element
// Results that every iteration sets to the same value.
bool vy_pass_invariant_results(vy_program *p, vy_pass_context *c);
// Removes marks for derivatives; only under options->final.
bool vy_pass_drop_ad_marks(vy_program *p, vy_pass_context *c);
bool vy_pass_inline_calls(vy_program *p, vy_pass_context *c);      // the same
bool vy_pass_cse_regions(vy_program *p, vy_pass_context *c);       // repeated constructs
bool vy_pass_invariant_carries(vy_program *p, vy_pass_context *c); // carries that never change
bool vy_pass_schedule_uses(vy_program *p, vy_pass_context *c);     // moves values next to their use
bool vy_pass_group_vectors(vy_program *p, vy_pass_context *c);     // components of vectors together
bool vy_pass_coarsen(vy_program *p, vy_pass_context *c);           // options->coarsen elements each
bool vy_pass_row_lanes(vy_program *p, vy_pass_context *c);         // a row by 64 lanes together
bool vy_pass_group_quotients(vy_program *p, vy_pass_context *c);   // of its places
bool vy_pass_uniform_starts(vy_program *p, vy_pass_context *c);    // of a workgroup's loops
bool vy_pass_workgroup_planes(vy_program *p, vy_pass_context *c);  // of lanes that load the same
bool vy_pass_check_ahead(vy_program *p, vy_pass_context *c);       // of loops, for a workgroup
bool vy_pass_jam_iterations(vy_program *p, vy_pass_context *c);    // of long sums, side by side
bool vy_pass_shared_slots(vy_program *p, vy_pass_context *c);      // of what registers cannot hold
bool vy_pass_lane_loads(vy_program *p, vy_pass_context *c);        // lanes load for each other
bool vy_pass_jam_loops(vy_program *p, vy_pass_context *c); // four iterations share inner loops
// options->chunk iterations of a loop become one.
bool vy_pass_strip_mine(vy_program *p, vy_pass_context *c);
bool vy_pass_mark_owned(vy_program *p, vy_pass_context *c);         // sets VY_FLAG_OWNED
bool vy_pass_mark_single_access(vy_program *p, vy_pass_context *c); // sets VY_FLAG_ONCE
bool vy_pass_mark_stored(vy_program *p, vy_pass_context *c);        // sets vy_buf.stored_first
bool vy_pass_scalarise(vy_program *p, vy_pass_context *c);          // local arrays → values
// One atomic addition per subgroup.
bool vy_pass_subgroup_reduce(vy_program *p, vy_pass_context *c);
bool vy_pass_shared_copies(vy_program *p, vy_pass_context *c); // … per element and workgroup
bool vy_pass_subgroup_runs(vy_program *p, vy_pass_context *c); // … per run of equal indices
bool vy_pass_promote_rows(vy_program *p, vy_pass_context *c);  // a row that a loop adds to
bool vy_pass_equal_carries(vy_program *p, vy_pass_context *c);
bool vy_pass_registers(vy_program *p, vy_pass_context *c); // rows in local arrays become values
bool vy_pass_promote_elements(vy_program *p, vy_pass_context *c); // memory that a loop updates
bool vy_pass_promote_sums(vy_program *p, vy_pass_context *c);     // elements that a loop adds to
bool vy_pass_place_workspaces(vy_program *p, vy_pass_context *c); // options->by_invocation
bool vy_pass_dead_arrays(vy_program *p, vy_pass_context *c);      // unused arrays

// May a pass that copies what loops do, for speed alone, add so many instructions?  All of them
// together at most double a large program (growth.c).  Counts them if so.
bool vy_may_copy(const vy_pass_context *c, const vy_program *p, uint64_t instructions);

// Does `strip_mine` apply to the loops of the program?
static inline bool vy_is_chunked(const vy_program *p, const vy_opt_options *o)
{
    return o && o->chunk > 1 && !(o->few_iterations && o->few_iterations(o->user, p));
}

// Can the program observe the size of its workgroups: no domain, a built-in, shared memory, a
// barrier?
bool vy_sees_workgroup(const vy_program *p);
// Makes rows of workgroups fill `o->lanes`, where the program cannot observe it
// (workgroup_shape.c).
void vy_reshape(vy_program *p, const vy_opt_options *o);
// Larger workgroups for a large domain (the same).
void vy_enlarge_workgroup(vy_program *p, const vy_opt_options *o);

#endif
