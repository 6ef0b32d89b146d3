// SPDX-License-Identifier: MIT
// explicit_padding.h: padding lanes made explicit.
#ifndef VYRE_UNPAD_H
#define VYRE_UNPAD_H

#include "ir/core/ir.h"

// Rewrites a program whose domain may not fill its workgroups into an equivalent one whose domain
// does: the rules of docs/language.md 3.3 for padding lanes become code.  *done: whether there was
// anything to do.  False: the module's diag.
bool vy_unpad(vy_program *p, bool *done);

// Rewrites a program with more than three domain variables into an equivalent one with three, whose
// padding can be made explicit.  False: the module's diag.
bool vy_fold_domain(vy_program *p);

// Has it a parameter or domain variable of that name?
bool vy_unpad_takes(const vy_program *p, const char *name);

#endif
