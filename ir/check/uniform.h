// SPDX-License-Identifier: MIT
// uniform.h: which values differ between the invocations of a workgroup.
#ifndef VYRE_UNIFORM_H
#define VYRE_UNIFORM_H

#include "ir/core/ir.h"

// By instruction: 0 where the value is the same in all invocations of a workgroup that reach it
// (for an IF, LOOP or WHILE: where all of them branch the same way), else the source of the
// difference.  If `all` (an earlier result) is given, domain variables are not treated as sources
// of divergence: only differences that come from data or built-ins count.  NULL: out of memory.
const uint32_t *vy_differences(const vy_program *p, const vy_structure *s, const uint32_t *all,
                               vy_arena *arena);
// The same between invocations that differ only in one axis: of lid (0 to 2), or of wid (3 to 5).
// loads: by buffer, is what is loaded of it a source?  An operation that differs in place is not
// looked for: a value that differs may be one of iterations that only some invocations run.
const uint32_t *vy_differences_along(const vy_program *p, const vy_structure *s, uint32_t axis,
                                     const uint8_t *loads, vy_arena *arena);
// The same by axis of lid, where what is loaded is a source but from `in` buffers.  False: out of
// memory.
bool vy_differences_by_axis(const vy_program *p, const vy_structure *s, vy_arena *arena,
                            const uint32_t *along[3]);
bool vy_leaf_along(const vy_program *p, uint32_t leaf, uint32_t axis);
bool vy_leaf_differs(const vy_program *p, uint32_t id);
// Is `id` a variable of the domain that has an axis of the workgroup to itself, which is then
// *axis, so that it is wid × size + lid, or that of the nearest invocation inside?
bool vy_has_lone_axis(const vy_program *p, uint32_t id, uint32_t *axis);

#endif
