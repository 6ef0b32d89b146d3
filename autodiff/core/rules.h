// SPDX-License-Identifier: MIT
// rules.h: derivative rows of the table of operations, made executable.
#ifndef VYRE_RULES_H
#define VYRE_RULES_H

#include "ir/build/edit.h"

typedef struct rule {
    vy_builder *b;
    vy_type type;            // of the operation
    uint32_t a, b_, c, y, g; // operands, result, adjoint of the result
    uint32_t aux;
    uint32_t want;   // bit k: operand k is active
    uint32_t out[3]; // contributions to the operands' adjoints
    uint32_t pick;   // PICK2: the condition; else 0
} rule;
typedef enum rule_kind {
    RULE_LINEAR,  // partials are ±1: no mask is needed
    RULE_PARTIAL, // contributions in out[]
    RULE_PICK,    // contributions in out[], pick set
    RULE_ZERO,
    RULE_NONE, // no derivative (integers)
    RULE_HAND,
} rule_kind;
rule_kind vy_rule_kind_of(vy_op op);
// Is the derivative of `id` with respect to operand k zero by convention for some operand values?
// Then vy_rule_kept is the condition, a bool, under which contribution `d` is not; 0: always.
bool vy_rule_drops(const vy_program *p, uint32_t id, uint32_t k);
uint32_t vy_rule_kept(vy_builder *b, uint32_t d, uint32_t g);
void vy_rule_apply(vy_op op, rule *r);
// May the partial derivative of `id` with respect to operand k be infinite or NaN where operands
// and result are finite?
bool vy_rule_is_singular(const vy_program *p, uint32_t id, uint32_t k);
// `product` of adjoint or tangent g and a partial derivative, but 0 where it is 0·inf.  Where g is
// 0 and the partial finite it stays a product, and so linear in g: a derivative of this program
// with respect to g is taken at 0, too.
uint32_t vy_rule_guarded(vy_builder *b, uint32_t g, uint32_t product);

#endif
