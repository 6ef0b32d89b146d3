// SPDX-License-Identifier: MIT
// lane_loads.h: between lane_loads.c, which shares loads among the lanes of a subgroup, and
// whole_domain.c, which makes sure that all of them exist.
#ifndef VYRE_LANE_LOADS_H
#define VYRE_LANE_LOADS_H

#include "ir/pass/pass.h"

// whole_domain.c.  May invocations beyond the end of the domain run, without storing anything?
bool vy_domain_rounds_up(const vy_program *p);
// How many invocations there then are for each that there was; 0: that is not known.
double vy_rounded_up_share(const vy_program *p, const vy_opt_options *o);
// Rounds the domain up to whole workgroups.  False: the module has the error.
bool vy_round_domain_up(vy_program *p);

#endif
