// SPDX-License-Identifier: MIT
// explain.h: what the two forms of `vyre-grad explain` share.
#ifndef VYRE_TOOL_EXPLAIN_H
#define VYRE_TOOL_EXPLAIN_H

#include "tools/json_out.h"

#include "autodiff/explain.h"

bool explain_json(const vy_explanation *e, text *out); // false: memory
void explain_text(const vy_explanation *e, text *out);

// ---- explain_cells.c
// "f32[K, D]"
void explain_type(vy_type type, const char *shape, text *out);
// Operations of the gradient divided by those of the forward program; negative: not known.
double explain_ratio(const vy_explanation *e);
// A formula in common notation: 5 + 12·K·D².
void explain_formula(const char *s, text *out);
// … and its value: 4·N·T = 160
void explain_amount(const vy_amount *a, const char *unit, text *out);
// Pads the text since `start` to `width` columns and two more.
void explain_pad(text *out, size_t start, size_t width);
void explain_cell(const char *s, size_t width, text *out);
void explain_formula_cell(const char *s, size_t width, text *out);
// Columns are as wide as their contents, within limits.
void explain_widen(size_t *width, const char *formula);

// ---- explain_gradients.c
void explain_gradients(const vy_explanation *e, text *out);
// Adjoints that are not gradients, where there are any.
void explain_adjoints(const vy_explanation *e, text *out);
void explain_accesses(const vy_explanation *e, text *out);

#endif
