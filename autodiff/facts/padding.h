// SPDX-License-Identifier: MIT
// padding.h: lanes of the last workgroups that are outside the domain.
#ifndef VYRE_PADDING_H
#define VYRE_PADDING_H

#include "ir/core/ir.h"

enum { VY_LAUNCH_AXES = 3 };

// The launch axis of a domain variable.
uint32_t vy_launch_axis(const vy_program *p, uint32_t variable);
// Is the extent of that domain variable provably a multiple of the workgroup's?
bool vy_axis_is_full(const vy_program *p, uint32_t variable);
// How many axes workgroups have beyond those of the domain; 0 if there is no domain.
uint32_t vy_spare_axes(const vy_program *p);
// May a dispatch of the program have padding lanes?
bool vy_has_padding(const vy_program *p);

#endif
