// SPDX-License-Identifier: MIT
// explain.h: what the two forms of `vyre-grad explain` share.
#ifndef VYRE_TOOL_EXPLAIN_H
#define VYRE_TOOL_EXPLAIN_H

#include "tools/command/command.h"
#include "tools/data/json_out.h"

#include "autodiff/explain.h"

// c->module: whose lines are shown.
bool explain_json(const vy_explanation *e, const command *c, text *out); // false: memory
void explain_text(const vy_explanation *e, const command *c, text *out);

// ---- explain_json.c: parts of both objects.  False and NULL: memory.
bool explain_put_amount(cJSON *o, const char *key, const vy_amount *a);
// Null if it is 0; with `file_key`, the file, where it is an import.
bool explain_put_line(cJSON *o, const char *key, const vy_module *m, const char *file_key,
                      uint32_t line);
cJSON *explain_item(cJSON *list);                                         // a new object at its end
cJSON *explain_put_workspace(const vy_explain_workspace *w, cJSON *list); // all but its bytes
// shaped: those whose shape is that of their flat indices.
bool explain_put_buffers(const vy_explain_buffer *buffers, uint32_t count, const names *shaped,
                         cJSON *list);

// ---- explain_pipeline.c, explain_pipeline_json.c
void explain_pipeline_text(const vy_pipeline_explanation *e, const command *c, text *out);
bool explain_pipeline_json(const vy_pipeline_explanation *e, const command *c,
                           text *out); // false: memory

// ---- explain_keep.c
// Whether workspaces of so many bytes are beyond the limit, and less can be kept: then c->work is
// set to keep less.
bool explain_with_less(command *c, const vy_amount *bytes);
void explain_keep_text(const command *c, const vy_amount *bytes, text *out);
bool explain_keep_json(const command *c, const vy_amount *bytes, cJSON *top); // false: memory

// ---- explain_cells.c
void explain_line(const vy_module *m, uint32_t line, text *out); // "line 3", "line 3 of b.vyre"
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
void explain_gradients(const vy_explanation *e, const vy_module *m, text *out);
// Shapes of flat indices, where some were found.
void explain_shapes(const vy_explanation *e, const names *shaped, text *out);
// Adjoints that are not gradients, where there are any.
void explain_adjoints(const vy_explanation *e, text *out);
void explain_accesses(const vy_explanation *e, const vy_module *m, text *out);

#endif
