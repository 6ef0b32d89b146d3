// SPDX-License-Identifier: MIT
// drop_unread.h: parameters that a derivative does not read.
#ifndef VYRE_DROP_UNREAD_H
#define VYRE_DROP_UNREAD_H

#include "ir/core/ir.h"

// Takes them out of all programs and pipelines of `m`, the result of one differentiation.  False:
// memory (m's diag).
bool vy_drop_unread(vy_module *m);
// Of one pipeline, those that no step has.
bool vy_drop_unread_of(vy_pipeline *l);

#endif
