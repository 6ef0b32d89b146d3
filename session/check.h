// SPDX-License-Identifier: MIT
// check.h: is the derivative of a task right?  autodiff/check.h on the task's own data.
//
//   vys_task_parse(s, text, size, "f.vyre", &(vys_settings){.order = 1}, &t, &d);
//   vys_set(t, …);                                  // as for vys_run
//   vy_check_result *r;
//   if (vys_check(t, NULL, &r, &d)) printf("%s\n", r->passed ? "right" : "wrong");
//   vy_check_free(r);
#ifndef VYRE_SESSION_CHECK_H
#define VYRE_SESSION_CHECK_H

#include "session/session.h"

#include "autodiff/check.h"

#ifdef __cplusplus
extern "C" {
#endif

// All zero: the defaults of vy_check_request.
typedef struct vys_check_options {
    size_t size;      // of the struct, or 0 (vyre.h)
    double tolerance; // of finite differences
    uint64_t samples; // elements of a buffer to compare at most
    bool allow_out_of_range;
} vys_check_options;

// Compares the gradient that the task's settings ask for, in the interpreter and in double, with
// differences, dual numbers and forward mode, and tests its other guarantees.  The task has order 1
// and reverse mode; it need not have run, and its results stay.  The result refers to the task: it
// is freed (vy_check_free) before that, and before the next check.  False with *d: E0801, E0805,
// E0806, what vy_grad reports.
VYS_API bool vys_check(vys_task *t, const vys_check_options *options, vy_check_result **out,
                       vy_diag *d);

#ifdef __cplusplus
}
#endif
#endif
