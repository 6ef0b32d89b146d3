// SPDX-License-Identifier: MIT
// pass.h: all passes.  One file each; see the head of each file.
#ifndef VYRE_PASS_H
#define VYRE_PASS_H

#include "ir/build/live.h"
#include "ir/build/rewrite.h"

bool vy_pass_dce(vy_program *p, vy_pass_context *c);
bool vy_pass_forward(vy_program *p, vy_pass_context *c); // store→load, redundant loads
bool vy_pass_dse(vy_program *p, vy_pass_context *c);     // dead stores
bool vy_pass_licm(vy_program *p, vy_pass_context *c);
bool vy_pass_unroll(vy_program *p, vy_pass_context *c);
bool vy_pass_ifconvert(vy_program *p, vy_pass_context *c);  // cheap pure arms → select
bool vy_pass_guards(vy_program *p, vy_pass_context *c);     // sets VY_FLAG_INRANGE
bool vy_pass_algebra(vy_program *p, vy_pass_context *c);    // inexact rules, if fast_math
bool vy_pass_fuse(vy_program *p, vy_pass_context *c);       // neighbouring ifs on one condition
bool vy_pass_fuse_loops(vy_program *p, vy_pass_context *c); // neighbouring loops over one range
bool vy_pass_sink(vy_program *p, vy_pass_context *c);       // additions to one element
bool vy_pass_settle(vy_program *p, vy_pass_context *c);  // results that every iteration sets alike
bool vy_pass_final(vy_program *p, vy_pass_context *c);   // marks for derivatives, options->final
bool vy_pass_share(vy_program *p, vy_pass_context *c);   // constructs computed before
bool vy_pass_steady(vy_program *p, vy_pass_context *c);  // carries that never change
bool vy_pass_order(vy_program *p, vy_pass_context *c);   // values stand where they are used
bool vy_pass_coarsen(vy_program *p, vy_pass_context *c); // options->coarsen elements each
bool vy_pass_chunk(vy_program *p, vy_pass_context *c);   // options->chunk iterations per turn
bool vy_pass_owner(vy_program *p, vy_pass_context *c);   // sets VY_FLAG_OWNED
bool vy_pass_once(vy_program *p, vy_pass_context *c);    // sets VY_FLAG_ONCE
bool vy_pass_scalarise(vy_program *p, vy_pass_context *c);  // local arrays → values
bool vy_pass_reduce(vy_program *p, vy_pass_context *c);     // one atomic addition per subgroup
bool vy_pass_combine(vy_program *p, vy_pass_context *c);    // … and index
bool vy_pass_rows(vy_program *p, vy_pass_context *c);       // a row that a loop adds to
bool vy_pass_registers(vy_program *p, vy_pass_context *c);  // rows in local arrays become values
bool vy_pass_promote(vy_program *p, vy_pass_context *c);    // memory that a loop updates
bool vy_pass_accumulate(vy_program *p, vy_pass_context *c); // elements that a loop adds to
bool vy_pass_arrays(vy_program *p, vy_pass_context *c);     // arrays nobody uses

// Does `chunk` work on the loops of the program?
static inline bool vy_is_chunked(const vy_program *p, const vy_opt_options *o)
{
    return o && o->chunk > 1 && !(o->few_turns && o->few_turns(o->user, p));
}

// Could a program tell the size of its workgroups: no domain, a built-in, shared memory, a barrier?
bool vy_sees_workgroup(const vy_program *p);
// Workgroups whose rows fill `lanes`, where the program cannot tell (workgroup_shape.c).
void vy_reshape(vy_program *p, uint32_t lanes);

#endif
