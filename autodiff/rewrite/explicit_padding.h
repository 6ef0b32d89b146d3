// SPDX-License-Identifier: MIT
// explicit_padding.h: padding lanes written out.
#ifndef VYRE_UNPAD_H
#define VYRE_UNPAD_H

#include "ir/core/ir.h"

// Rewrites a program whose domain may not fill its workgroups so that its domain does, and means
// the same: what docs/language.md 3.3 says of padding lanes stands in the code.  *done says whether
// there was anything to do.  False: the module's diag.
bool vy_unpad(vy_program *p, bool *done);

#endif
