// SPDX-License-Identifier: MIT
// addition.h: `M[i] += v`, in whatever form it stands in a program, and what becomes of the element
// around it.
//
//   t = M[i]; M[i] = t + v − w;       plain: load, sum and store
//   atomic_add(M[i], v);              atomic
//   atomic_add(M[i], v) @owned;       owned: no other invocation comes to the element
//   atomic_add(M[i], v) @owned @once; only: nor does this one come back, and the element is zero
//
// Passes merge such additions, keep their sums in variables, weaken their atomics or put them in an
// order.  All of them ask the same: is it the same element, is there nothing but additions, does
// the element change from iteration to iteration?  The strengths are those of ir/core/access.h.
//
// Additions come in no promised order, so one whose old value nobody uses ("silent") may be made
// later, together with others, as long as nobody looks at the element in between.
#ifndef VYRE_ADDITION_H
#define VYRE_ADDITION_H

#include "ir/core/access.h"
#include "ir/facts/memory.h"

typedef struct vy_addition_facts {
    const vy_program *p;
    const vy_structure *s;
    uint32_t *uses;    // by instruction: how often its value is an operand
    vy_writes touched; // reads and writes, by memory
} vy_addition_facts;
bool vy_addition_facts_make(vy_addition_facts *a, const vy_program *p, const vy_structure *s,
                            vy_arena *arena); // false: memory

typedef struct vy_addition {
    vy_strength strength;
    uint32_t load, store; // of a plain one; else both are the ATOMIC_ADD
    uint32_t term;        // 0: several, or some are taken away (plain ones only)
    bool old_used;        // somebody wants what the element was before
} vy_addition;
// What STORE or ATOMIC_ADD `id` adds to its element.  False: it does something else.
bool vy_addition_at(const vy_addition_facts *a, uint32_t id, vy_addition *out);

// Is `id` an ATOMIC_ADD whose old value nobody uses?
bool vy_adds_silently(const vy_addition_facts *a, uint32_t id);
// Does everything that touches the memory of access `site` in from < id < to add silently, and no
// barrier lets other invocations see the element meanwhile?  False also if there is very much.
bool vy_only_added(const vy_addition_facts *a, uint32_t site, uint32_t from, uint32_t to);
// The same of all accesses to memory m, whatever barriers there are.
bool vy_only_added_ever(const vy_addition_facts *a, uint32_t m);

// -------------------------------------------------------------------------------- around the loops
// Are the indices of an access, but for axis `but` (VY_NO_AXIS), known before the loop begins?
bool vy_index_invariant(const vy_program *p, uint32_t access, uint32_t loop, uint32_t but);
// The outermost loop behind which silent addition `site` could be made once instead of in its
// iterations: around it the index (but axis `but`) does not change and the memory is only added to.  0:
// none.  from: `site`, or a construct that it must not leave.  *sparse: that loop may run without
// coming to `site`.
uint32_t vy_addition_way_out(const vy_addition_facts *a, uint32_t site, uint32_t from, uint32_t but,
                             bool *sparse);
// Does an invocation come to no element twice by this access?  Loops around it, if any (*iterations),
// have counters that are indices of their own.
bool vy_reached_once(const vy_program *p, const vy_structure *s, uint32_t access, bool *iterations);

#endif
