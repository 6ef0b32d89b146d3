// SPDX-License-Identifier: MIT
// function.h: functions with a derivative of their own (ir/core/functions.h), as they are built,
// called, inlined and moved.
#ifndef VYRE_FUNCTION_H
#define VYRE_FUNCTION_H

#include "ir/core/functions.h"

// ---- function.c
// A function that will be built: it may be called before.  0: memory, or an earlier error.
vy_function_id vy_function_reserve(vy_module *m, uint32_t result_count, const vy_type *results);
vy_builder *vy_function_open(vy_module *m, const char *name); // its parameters: vy_param_scalar
bool vy_function_close(vy_builder *b, vy_function_id fn, const vy_value *results);
// The call of a function with a rule, which need not be built yet; the arguments fit.  results[]:
// its values.  False: b has failed.
bool vy_function_call(vy_builder *b, uint32_t function, uint32_t n, const uint32_t *args,
                      uint32_t *results);

// ---- inline.c
// The code of the function at this place; results[]: its values.  False: b has failed.
bool vy_inline(vy_builder *b, uint32_t function, const uint32_t *args, uint32_t *results,
               vy_inline_mode mode);
// Inlines all calls of the program.  False: its module's diag.
bool vy_inline_calls(vy_program *p, vy_inline_mode mode, bool *changed);

// A copy of p, in a module of its own, without calls.  NULL: *scratch says why, or is NULL for want
// of memory; the caller frees both.
vy_program *vy_without_calls(const vy_program *p, vy_inline_mode mode, vy_module **scratch);

// ---- move_functions.c
// Copies the functions that `to` does not have yet (by name) from the module of p into it, if p
// calls any.  copy: of p, in `to`: its calls get the numbers there; or NULL.  False: memory, as
// `to` says.
typedef vy_program *vy_clone_call(const vy_program *p, vy_module *to); // vy_program_clone
bool vy_functions_follow(const vy_program *p, vy_module *to, vy_clone_call *clone,
                         vy_program *copy);

#endif
