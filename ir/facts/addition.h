// SPDX-License-Identifier: MIT
// addition.h: `M[i] += v`, in whatever form a program has it, and what else happens to the element.
//
//   t = M[i]; M[i] = t + v − w;       plain: load, sum and store
//   atomic_add(M[i], v);              atomic
//   atomic_add(M[i], v) @owned;       owned: no other invocation accesses the element
//   atomic_add(M[i], v) @owned @once; only: the only access of its invocation to it; it is zero
//
// Passes merge such additions, keep their sums in variables, weaken their atomics or put them in an
// order.  All of them need to know: is it the same element, are there only additions, does the
// element change from iteration to iteration?  The strengths are those of ir/core/access.h.
//
// Additions have no guaranteed order, so one whose old value is unused ("silent") may be made
// later, together with others, as long as nothing reads the element in between.
#ifndef VYRE_ADDITION_H
#define VYRE_ADDITION_H

#include "ir/core/access.h"
#include "ir/facts/memory.h"

typedef struct vy_addition_facts {
    const vy_program *p;
    const vy_structure *s;
    uint32_t *uses;    // by instruction: its number of uses
    vy_writes touched; // reads and writes, by memory
} vy_addition_facts;
bool vy_addition_facts_make(vy_addition_facts *a, const vy_program *p, const vy_structure *s,
                            vy_arena *arena); // false: out of memory

typedef struct vy_addition {
    vy_strength strength;
    uint32_t load, store; // of a plain one; else both are the ATOMIC_ADD
    uint32_t term;        // 0: several, or subtracted ones (plain ones only)
    bool old_used;        // the old value of the element is used
} vy_addition;
// What STORE or ATOMIC_ADD `id` adds to its element.  False: it does something else.
bool vy_addition_at(const vy_addition_facts *a, uint32_t id, vy_addition *out);

// Is `id` an ATOMIC_ADD whose old value is unused?
bool vy_adds_silently(const vy_addition_facts *a, uint32_t id);
// Do all accesses to the memory of access `site` in from < id < to add silently, and is there no
// barrier, at which other invocations could read the element?  False if there are too many
// accesses.
bool vy_only_added(const vy_addition_facts *a, uint32_t site, uint32_t from, uint32_t to);
// The same for all accesses to memory m, whatever barriers there are.
bool vy_only_added_ever(const vy_addition_facts *a, uint32_t m);

// -------------------------------------------------------------------------------- around the loops
// Are the indices of an access, except on axis `but` (VY_NO_AXIS), known before the loop begins?
bool vy_index_invariant(const vy_program *p, uint32_t access, uint32_t loop, uint32_t but);
// The outermost loop after which silent addition `site` could be made once instead of in the loop's
// iterations: in it the index (except on axis `but`) does not change and the memory is only added
// to.  0: none.  from: `site`, or a construct that it must not leave.  *sparse: that loop may run
// without reaching `site`.
uint32_t vy_addition_way_out(const vy_addition_facts *a, uint32_t site, uint32_t from, uint32_t but,
                             bool *sparse);
// Does an invocation reach no element twice by this access?  Then the variable of each loop around
// it (*iterations: there are any) is an index of the access.
bool vy_reached_once(const vy_program *p, const vy_structure *s, uint32_t access, bool *iterations);

#endif
