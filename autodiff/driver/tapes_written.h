// SPDX-License-Identifier: MIT
// tapes_written.h: a derivative writes the tapes that it reads.
#ifndef VYRE_TAPES_WRITTEN_H
#define VYRE_TAPES_WRITTEN_H

#include "ir/core/ir.h"

// Of all programs of `m`, the result of one differentiation.  False: one does not, or memory (m's
// diag).
bool vy_tapes_written(vy_module *m);

#endif
