// SPDX-License-Identifier: MIT
// facts.h: facts of the primal.
#ifndef VYRE_GRAD_FACTS_H
#define VYRE_GRAD_FACTS_H

#include "autodiff/core/reverse.h"

// ---- activity.c
// Operand k of pure operation `id` passes a derivative to the result.
bool vy_derivative_passes(const vy_program *p, uint32_t id, uint32_t k);
bool vy_activity(reverse *r); // fills activity, leaf_activity, buffers[].activity; false: memory
// ---- masks.c
void vy_masks(reverse *r); // fills maskable, needed, busy
// ---- buffer_uses.c
void vy_buffer_uses(grad_facts *f); // fills the accesses of buffers[]; needs activity, adds
// ---- order_dependence.c
bool vy_order(reverse *r); // refuses what the old values of atomics decide; needs busy
// ---- race_free_owner.c
bool vy_exclusive(reverse *r); // fills buffers[].exclusive; false: memory
// ---- injective.c
// By buffer: do the index maps prove that no two invocations touch one element, in the accesses that sites[] names by
// instruction?  thorough: also where each domain variable has an axis to itself, which ir/pass/sums/mark_owned.c finds in the result,
// and where only a condition tells invocations apart.  False: memory.
bool vy_injective(const vy_program *p, const vy_structure *s, const uint8_t *sites, bool thorough,
                  uint8_t *injective);
// ---- store_adds.c
bool vy_additions(reverse *r); // fills adds; false after an error
// ---- phase_owner.c
bool vy_own(reverse *r); // fills own; false after an error
// ---- uniform_control.c
bool vy_together(reverse *r); // fills together; false after an error
// After the check of a derived program failed: was it for that?  Says it of the primal then.
void vy_together_explain(reverse *r);
// ---- forward_live.c
// Marks the instructions that the forward run computes for their values, and the buffers it loads from;
// both tables begin as zeros.  False: memory.
bool vy_valued(const reverse *r, vy_arena *arena, uint8_t *live, uint8_t *arrays);
// ---- shadow.c
bool vy_shadow_choose(reverse *r); // fills buffers[].shadowed; false: memory
bool vy_shadow_prune(reverse *r);  // clears it where masks decide nothing; false: memory
// `buffer` and `condition` are of the primal and of the result, `index` is of the result.
uint32_t vy_shadow_read(reverse *r, uint32_t buffer, const uint32_t *index); // a bool
void vy_shadow_clear(reverse *r, uint32_t buffer, const uint32_t *index);
// alone: no other invocation touches the element.
void vy_shadow_mark(reverse *r, uint32_t buffer, const uint32_t *index, uint32_t condition,
                    bool alone);
// ---- full_reads.c
// The load that reads every element of a local array after its `n` writes are done, or 0.
uint32_t vy_covering_load(const reverse *r, uint32_t buffer, const uint32_t *writes, uint32_t n);

#endif
