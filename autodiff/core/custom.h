// SPDX-License-Identifier: MIT
// custom.h: derivatives of functions that state their own, by inlining the rule.
//
//   y = APPLY f x, n, z      @vjp(g):  (x̄, z̄) += g(x, n, z, ȳ)    n: an integer
//                            @jvp(h):  ẏ = h(x, n, z, ẋ, ż)
//
// Of several results (ir/core/functions.h) g takes all cotangents, and h returns all tangents.
//
// Where only the other rule is given, it serves too, for a derivative is linear: with g alone,
// ẏ_o = Σ_k g_k(…, e_o) ẋ_k, where e_o is 1 for result o and else 0; with h alone,
// x̄_k += Σ_o ȳ_o h_o(…, e_k).  A rule that has a rule itself stays a call.
#ifndef VYRE_CUSTOM_H
#define VYRE_CUSTOM_H

#include "ir/core/functions.h"
#include "ir/build/edit.h"

typedef struct vy_custom {
    vy_builder *b;
    const vy_function *f;
    const uint32_t *args; // the operands, in the program being built
    uint32_t count;
    uint32_t *room; // custom_room(count) ids
} vy_custom;
static inline size_t vy_custom_room(uint32_t count) { return 2 * (size_t)count + VY_MAX_RANK; }

// cotangents[o]: of result o, of its type; 0: none.  out[k]: what they contribute to the adjoint of
// operand k, 0 of one that is no float.  wanted: by operand.  False: b has failed.
bool vy_custom_reverse(const vy_custom *c, const uint32_t *cotangents, const uint8_t *wanted,
                       uint32_t *out);
// dots[k]: the tangent of operand k; 0: none.  out[o]: that of result o; 0: b has failed, or none.
// guard: is a product with the tangent of that operand 0 where it is 0·inf (vy_rule_guarded)?
// wanted: by result.
void vy_custom_forward(const vy_custom *c, const uint32_t *dots, const uint8_t *guard,
                       const uint8_t *wanted, uint32_t *out);

#endif
