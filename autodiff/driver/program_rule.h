// SPDX-License-Identifier: MIT
// program_rule.h: derivatives of programs that state their own gradient; see program_rule.c.
#ifndef VYRE_DRIVER_PROGRAM_RULE_H
#define VYRE_DRIVER_PROGRAM_RULE_H

#include "autodiff/transform.h"
#include "ir/core/ir.h"

// Is it what a rule answers?  False: *diag.
bool vy_rule_answers(const vy_program *p, bool forward, bool explain, vy_diag *diag);
// Has p the requested outputs and inputs?  False: *diag.
bool vy_rule_has_names(const vy_program *p, const vy_grad_options *o, vy_diag *diag);
// The rule of p as a derivative for this request: result and roles.  False: *diag.
bool vy_rule_derived(vy_module *m, const vy_program *p, const vy_grad_options *o, vy_derived *out,
                     vy_diag *diag);
// ---- rule_alone.c
// vy_grad of such a program.  NULL: *diag.
vy_module *vy_derive_by_rule(const vy_program *p, const vy_grad_options *o, bool explain,
                             vy_diag *diag);

#endif
