// SPDX-License-Identifier: MIT
// program_rule.h: derivatives of programs that state their own; see program_rule.c.
#ifndef VYRE_DRIVER_PROGRAM_RULE_H
#define VYRE_DRIVER_PROGRAM_RULE_H

#include "autodiff/core/reverse.h"
#include "ir/core/ir.h"

// A rule explains nothing: false, with *diag.
bool vy_rule_explains(const vy_program *p, vy_diag *diag);
// Has p the requested outputs and inputs?  False: *diag.
bool vy_rule_has_names(const vy_program *p, const vy_grad_options *o, vy_diag *diag);
// The rule of p, or a derivative of it that `derive` makes, as a derivative for this request:
// result and roles.  False: *diag.
bool vy_rule_derived(vy_module *m, const vy_program *p, const vy_grad_options *o,
                     vy_derive_call *derive, vy_derived *out, vy_diag *diag);
// ---- rule_alone.c
// vy_grad or vy_jvp of such a program.  NULL: *diag.
vy_module *vy_derive_by_rule(const vy_program *p, const vy_grad_options *o, bool explain,
                             vy_diag *diag);

#endif
