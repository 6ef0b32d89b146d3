// SPDX-License-Identifier: MIT
// bind.h: options of the command as data of a run (session/bind.h).
#ifndef VYRE_TOOL_BIND_H
#define VYRE_TOOL_BIND_H

#include "tools/data/data.h"
#include "tools/command/options.h"

#include "session/bind.h"

typedef vys_binding binding;
typedef vys_bound bound_buffer;
typedef vys_bound_scalar bound_scalar;

extern const vys_words option_words;

typedef struct specs {
    spec *data;
    uint32_t count;
    spec fallback; // of binding_specs
    names folders; // @DIR/, without the @
} specs;
bool specs_parse(specs *s, const char *option, const names *arguments, vy_diag *d);
bool outputs_parse(specs *s, const options *o, vy_diag *d); // --out
// Takes over what the SPEC owns, also where memory for it is missing.
bool specs_add(specs *s, spec now, vy_diag *d);
void specs_free(specs *s);
spec *specs_find(const specs *s, const char *name); // NULL: none

// folder.c: @DIR/ of --in and --out.
// Parses --in; every other buffer of `what` that has contents is read from the folders, if any.
bool specs_read(specs *s, const names *arguments, vys_entry what, vy_diag *d);
// Makes the folder of --out, if there is one, before anything long runs.
bool folder_make(const specs *out, vy_diag *d);
// The result goes into the folder of --out, if there is one, and --out does not name it.
bool folder_result(specs *out, const char *name, vy_diag *d);

bool binding_create(binding *b, vys_entry what, bool f64, vy_diag *d);
// --set NAME=VALUE
bool binding_set(binding *b, const names *assignments, vy_diag *d);
// --groups X[,Y[,Z]] (NULL: not given)
bool binding_groups(binding *b, const char *option, vy_diag *d);
// Applies the SPECs.  `fallback`: the data of float buffers without one ("normal:0:1:1"; others:
// zeros), or NULL: a missing SPEC is an error.
bool binding_specs(binding *b, specs *in, const char *fallback, vy_diag *d);
// Fills the binding of a derived program: scalars and buffers of the same name start as in
// `forward`, cotangents as `ct` specifies, else as ones.
bool binding_derive(binding *b, const binding *forward, specs *ct, vy_diag *d);
// The SPEC for cotangent buffer `grad_o` or `ct_o` (of any order), or tangent `dot_x`, or
// NULL.
spec *specs_find_seed(const specs *ct, const vy_buffer_info *cotangent);
// Has every --ct reached a cotangent, a buffer of `derived` that `forward` has not?  tangents:
// every --dot a tangent.
bool specs_all_used(const specs *ct, bool tangents, const binding *derived, const binding *forward,
                    vy_diag *d);

#endif
