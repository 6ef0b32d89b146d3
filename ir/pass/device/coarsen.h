// SPDX-License-Identifier: MIT
// coarsen.h: between coarsen.c, which chooses, coarsen_price.c, which says what instructions cost,
// coarsen_memory.c, which says what copies of an invocation may do to memory, and unroll_and_jam.c
// and interior.c, which rewrite.
#ifndef VYRE_COARSEN_H
#define VYRE_COARSEN_H

#include "ir/facts/domain_dependence.h"
#include "ir/pass/pass.h"

// unroll_and_jam.c: `factor` invocations along `axis` become one; adjacent: neighbours, also along
// the last one.  False: the module has the error.
bool vy_jam(vy_program *p, uint32_t axis, uint32_t factor, bool adjacent);

// interior.c: what was jammed gets an arm for blocks that lie inside the domain.  False: as above.
bool vy_split_interior(vy_program *p);

// coarsen_memory.c.  owned: by buffer (vy_find_owned).  use: by buffer, zeroed; receives what the
// others are called with.  False: the copies of an invocation would disturb each other, or other
// invocations.
bool vy_copies_suit(const vy_program *p, const bool *owned, uint8_t *use);
// What is loaded and stored by its owner alone is declared `@owned`, before copies are made.
void vy_declare_owned(vy_program *p, const bool *owned, const uint8_t *use);
// The same for what one copy does from one marker to the next.  False without *oom: no.
bool vy_steps_suit(const vy_along *a, const uint8_t *use, vy_arena *arena, bool *oom);
// Is it a write that each copy makes in its step, also a copy beyond the end of the domain?
bool vy_writes_at_once(const vy_program *p, const uint8_t *use, uint32_t id);
// Along which variables is it a write of its own for each copy?  Along the others, the copies add
// to one element, and one addition serves all.
uint8_t vy_written_along(const vy_along *a, uint32_t id);

// coarsen_price.c: the price of an instruction; does it add floats to an element that is the same
// for a row of lanes, where `along` says along which of the last `axes` variables elements differ?
// The basic blocks that an instruction makes.
double vy_price_of_copy(const vy_program *p, uint32_t id);
bool vy_adds_for_all_lanes(const vy_program *p, uint32_t id, uint8_t along, uint32_t axes);
uint32_t vy_blocks_of_copy(const vy_inst *i);
uint64_t vy_local_elements(const vy_program *p, uint32_t buffer); // 0: it is no local array

// coarsen.c, for tests: blocks by `factor` along every variable where possible, whatever the cost.
bool vy_coarsen_all(vy_program *p, uint32_t factor, bool adjacent);

#endif
