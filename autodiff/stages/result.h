// SPDX-License-Identifier: MIT
// result.h: derivatives that take several programs.
#ifndef VYRE_GRAD_STAGES_H
#define VYRE_GRAD_STAGES_H

#include "autodiff/core/reverse.h"

// ---- counting_stages.c
// Adds the reverse program to the result, with what must run before it.  Frees it after an error.
bool vy_reverse_result(reverse *r, vy_program *p);

// ---- extremum_stages.c
// The last program that the reverse program needs before it: the one that finds winners, or which
// event of theirs it was; BUILD_REVERSE: none.
build_purpose vy_extremum_asks(const vy_program *p);
// The programs that find that, of which `last` says whether there are three, appended to `stages`,
// whose count is *n; the caller frees them, after an error too.  *inexact: as in
// vy_extremum_inexact.  False: the module's diag.
bool vy_extremum_find(reverse *r, bool last, vy_program **stages, uint32_t *n, bool *inexact);
// Puts in front of `p`, the reverse program, which the result lists, the programs that find that.
// False: the module's diag.
bool vy_extremum_stages(reverse *r, vy_program *p, build_purpose asks);

#endif
