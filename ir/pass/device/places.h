// SPDX-License-Identifier: MIT
// places.h: where an invocation stands in its workgroup (group_quotients.c, uniform_starts.c,
// check_forms.c).
#ifndef VYRE_PASS_PLACES_H
#define VYRE_PASS_PLACES_H

#include "ir/core/ir.h"

// Is `id` a variable of the domain that has an axis of the workgroup to itself, which is then
// *axis, so that it is wid × size + lid, or that of the nearest invocation inside?
bool vy_has_lone_axis(const vy_program *p, uint32_t id, uint32_t *axis);

#endif
