// SPDX-License-Identifier: MIT
// induction.h: induction variables: the step of a carried integer, and whether it is invertible.
#ifndef VYRE_INDUCTION_H
#define VYRE_INDUCTION_H

#include "autodiff/core/facts.h"

// The initial value of carry k of a loop.
uint32_t vy_carry_init(const grad_facts *f, uint32_t opener, uint32_t k);
// The c of an integer induction s' = s + c; the carry itself where it never changes; else 0.
uint32_t vy_induction_step(const grad_facts *f, uint32_t opener, uint32_t k);
// The operand of step `id` that depends on the carried value; 0: the step is not invertible.
uint32_t vy_undone_operand(const grad_facts *f, uint32_t id, uint32_t opener);
// Fills the invertible steps from the next value of carry k back to the carried value; returns how
// many; 0: some step is not invertible, or there is none.
enum { VY_UNDO_STEPS = 24 };
uint32_t vy_undo_chain(const grad_facts *f, uint32_t opener, uint32_t k,
                       uint32_t steps[VY_UNDO_STEPS]);
// Are all steps of carry k invertible?
bool vy_is_invertible(const grad_facts *f, uint32_t opener, uint32_t k);

#endif
