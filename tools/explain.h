// SPDX-License-Identifier: MIT
// explain.h: what the two forms of `vyre-grad explain` share.
#ifndef VYRE_TOOL_EXPLAIN_H
#define VYRE_TOOL_EXPLAIN_H

#include "tools/json_out.h"

#include "autodiff/explain.h"

// "f32[K, D]"
void explain_type(vy_type type, const char *shape, text *out);
bool explain_json(const vy_explanation *e, text *out); // false: memory
void explain_text(const vy_explanation *e, text *out);
// Gradient over forward operations; negative where it is not known.
double explain_ratio(const vy_explanation *e);

#endif
