// SPDX-License-Identifier: MIT
// keep_form.h: how a derivative is split so that values are kept in place of states.
#ifndef VYRE_KEEP_FORM_H
#define VYRE_KEEP_FORM_H

#include "autodiff/reverse/keep.h"

// The form of `made`, a derivative of a program in `m` of which the parameters marked in `states`
// (by buffer) would have to be kept: known already, or made now.  NULL: there is none that pays, or
// an error (the module's diag).
const keep_form *vy_keep_form(keep_plan *k, vy_module *m, const vy_derived *made,
                              const uint8_t *states);

#endif
