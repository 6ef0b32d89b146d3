// SPDX-License-Identifier: MIT
// facts.h: facts of the primal.
//
// Each analysis fills tables of grad_facts, which vy_grad_facts_make has made, from the program and
// the results of earlier analyses: activity first, then vy_find_phased, vy_additions, vy_masks; the
// others in any order.
#ifndef VYRE_GRAD_FACTS_H
#define VYRE_GRAD_FACTS_H

#include "autodiff/core/facts.h"
#include "ir/core/dataflow.h"
#include "ir/facts/range.h"

// ---- activity.c
// Does operand k of pure operation `id` pass a derivative to the result?
bool vy_derivative_passes(const vy_program *p, uint32_t id, uint32_t k);
// From the request (buffers[].of and .wrt, leaf_wrt): fills activity, leaf_activity,
// buffers[].activity.  False: memory.
bool vy_activity(grad_facts *f);
// ---- masks.c
// Fills maskable, needed, busy, buffers[].shadowed and .cover.  False: memory.
bool vy_masks(grad_facts *f);
void vy_needs(grad_facts *f); // the part of vy_masks that host programs need: `needed`, `busy`
// ---- rotation.c
// Of a host program: fills last_load and spent of buffers[]; needs activity, uses.  False: memory.
bool vy_rotations(grad_facts *f);
// ---- equal_loads.c
bool vy_equal_loads(grad_facts *f); // of a host program: fills again; false: memory
// ---- buffer_uses.c
void vy_buffer_uses(grad_facts *f); // fills how buffers[] are accessed; needs activity, adds
// Does the reverse have the primal's barriers?  Fills phased; needs buffers[].activity.
void vy_find_phased(grad_facts *f);
// ---- order_dependence.c
// The atomic whose old value the reverse would need, or 0; needs busy.  False: memory.
bool vy_order(const grad_facts *f, uint32_t *atomic);
// ---- race_free_owner.c
bool vy_exclusive(grad_facts *f); // fills buffers[].exclusive; false: memory
// ---- injective.c
// By buffer: do the index maps prove that no two invocations touch one element, in the accesses
// for which sites[] (by instruction) is set?  thorough: also where each domain variable has an axis
// to itself, which ir/pass/sums/mark_owned.c finds in the result, and where only a condition
// distinguishes invocations.  False: memory.
bool vy_injective(const vy_program *p, const vy_structure *s, const uint8_t *sites, bool thorough,
                  uint8_t *injective);
// ---- element_groups.c
// By instruction that accesses one of the chosen buffers: the first access of its group; accesses
// of different groups never touch one element.  Others: unchanged.  False: memory.
bool vy_element_groups(const vy_program *p, const vy_structure *s, const uint8_t *chosen,
                       uint32_t *group);
// The part without isl, for one pair: do the accesses to one buffer never touch one element?
typedef struct vy_apart {
    const vy_program *p;
    const vy_structure *s;
    vy_intervals bounds;
} vy_apart;
bool vy_apart_make(vy_apart *g, const vy_program *p, const vy_structure *s, vy_arena *arena);
bool vy_surely_apart(const vy_apart *g, uint32_t x, uint32_t y);
// ---- workgroup_elements.c
// Is index k of the access the workgroup's own place along an axis of the launch?  The axis plus
// one, or 0.
uint32_t vy_workgroup_axis(const vy_program *p, const vy_structure *s, uint32_t access, uint32_t k);
// Does one workgroup alone touch the elements of this group of vy_element_groups?
bool vy_one_workgroup(const vy_program *p, const vy_structure *s, const uint32_t *groups,
                      uint32_t group);
// ---- store_adds.c
bool vy_additions(grad_facts *f); // fills adds; false: memory
// ---- phase_owner.c
bool vy_own(grad_facts *f); // fills own and own_in; false: memory
// ---- phase_sum.c
bool vy_phase_sums(grad_facts *f); // fills summed; needs own, adds.  False: memory
// ---- phase_owner.c
// Do any two invocations of a workgroup name different elements with this access, in whatever
// iterations of one phase?  Of f only the structure and `home` are used.
bool vy_lane_owns(const grad_facts *f, const uint32_t *differs, uint32_t access);
// ---- arm_owner.c
// Do derivatives reach the load only through the arm of the store, which is to the same element?
bool vy_used_where_stored(const grad_facts *f, const vy_dataflow *d, uint32_t load, uint32_t store);
// ---- uniform_control.c
bool vy_together(grad_facts *f); // fills together; false: memory
// After the check of a derived program failed: if the cause is a non-uniform barrier, replaces the
// diagnostic by one about the primal.
void vy_together_explain(vy_module *out, bool is_limited);
// ---- forward_live.c
// Forward liveness: marks the instructions whose values the forward run needs, and the buffers it
// loads from; both tables must be zero before.  False: memory.
bool vy_forward_live(const grad_facts *f, vy_arena *arena, uint8_t *live, uint8_t *arrays);
// ---- shadow.c
bool vy_shadow_choose(grad_facts *f); // fills buffers[].shadowed; false: memory
bool vy_shadow_prune(grad_facts *f);  // clears it where no mask has an effect; false: memory
// ---- full_reads.c
// The load that reads every element of a local array after all its `n` writes, or 0.
uint32_t vy_covering_load(const grad_facts *f, uint32_t buffer, const uint32_t *writes, uint32_t n);

#endif
