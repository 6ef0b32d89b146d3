// SPDX-License-Identifier: MIT
// redundant.h: stores that several invocations of a workgroup make to one element.
#ifndef VYRE_REDUNDANT_H
#define VYRE_REDUNDANT_H

#include "ir/core/ir.h"

// Axes of a launch are bits: lid.x, lid.y, lid.z, and then wid.x, wid.y, wid.z.
enum { VY_GROUP_AXES = 3, VY_LAUNCH_AXES = 6 };

typedef struct vy_redundancy {
    // Invocations that differ in these axes of lid alone store to one element, all of them or none.
    uint8_t axes;
    // … and the same value, and nothing reads it before the next barrier.  Of wid, too.  0: not
    // proved of all axes that the element does not depend on.
    uint8_t same;
} vy_redundancy;

// Fills stores[] by instruction, which is zero before.  False: out of memory.
bool vy_find_redundant(const vy_program *p, const vy_structure *s, vy_redundancy *stores);
// A quick test: can there be such stores?
bool vy_may_be_redundant(const vy_program *p);

#endif
