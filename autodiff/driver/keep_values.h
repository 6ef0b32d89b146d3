// SPDX-License-Identifier: MIT
// keep_values.h: values kept for the reverse of a pipeline in place of states.
#ifndef VYRE_KEEP_VALUES_H
#define VYRE_KEEP_VALUES_H

#include "autodiff/core/reverse.h"

// `p` is the reverse of host program `host` by `r`, which has noted the derivative of each dispatch
// in r->keep.  Where some of them need not take states if values are kept, and all tapes together
// do not get larger by that, the result is the reverse of `host` with keepers, which becomes host's
// code, by a differentiation that takes the place of *r.  Else it is `p`.
vy_program *vy_keep_values(reverse *r, vy_program *host, vy_program *p);

#endif
