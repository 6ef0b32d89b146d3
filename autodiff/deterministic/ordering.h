// SPDX-License-Identifier: MIT
// ordering.h: the parts of vy_order_sums, which rids a module of atomic additions of floats.
//
//   additions.c      which additions there are
//   kinds.c          whether the order of other atomics is fixed
//   deterministic.c  the program without them
//   totals.c         programs that make totals
//   ordered_partials.c  small buffers to which all invocations add: a term from each, added up by
//                    further programs
//   exact_sum.c      any buffers: exact accumulators
//   accumulators.c   where those of an element are
//   ordering_shared.c  … of shared arrays
//   wide.c           half floats, added up as f32 by atomics: not in an order, but rounded once
#ifndef VYRE_ORDERING_H
#define VYRE_ORDERING_H

#include "ir/core/access.h"
#include "ir/core/ir.h"
#include "ir/build/rewrite.h"
#include "ir/pass/pass.h"
#include "autodiff/core/reverse.h"
#include "autodiff/deterministic/exact_sum.h"
#include "autodiff/deterministic/sums.h"

// How a program uses a buffer.
enum {
    VY_USE_ADDED = 1, // atomic additions
    VY_USE_PLAIN = 2, // also loads or stores
};

// How the terms of one buffer are kept apart (ordered_partials.c).
typedef struct vy_partial {
    bool on;
    bool once; // an invocation adds at most one term to an element
    // By axis: the leaf that is the index at every site; 0: the terms have the axis.
    uint32_t fixed[VY_MAX_RANK];
    vy_buffer terms;
} vy_partial;

typedef struct vy_ordering {
    vy_rewrite w; // until the program without the additions is made
    vy_module *m;
    bool lean; // no partial sums
    // Half floats only, of these buffers, whose sums are f32 and in any order; or NULL.
    const vy_adjoint_buffers *wide;
    vy_arena arena;       // of what follows
    uint8_t *use;         // by buffer
    vy_buffer *sums;      // by buffer: its accumulators in the program being built
    vy_partial *partials; // by buffer
    uint8_t *sliced;      // by buffer: a shared array whose accumulators are in a workspace
    uint8_t *row;         // by buffer: its accumulators are one row, of one dimension
    bool owned;           // some addition is one invocation's own
} vy_ordering;

// additions.c
// Is `id` an atomic addition of floats to memory that others see?
bool vy_adds_floats(const vy_program *p, uint32_t id);
bool vy_adds_halves(const vy_program *p, uint32_t id); // … of half floats
// Fills o->use: what is added to, and whether it is also used otherwise.  False: the module's diag.
bool vy_find_additions(vy_ordering *o);
// Sets the module's diag: atomic `id` has no order that could be fixed.  Returns false.
bool vy_refuse_order(const vy_ordering *o, uint32_t id, const char *fix, const char *why);

// kinds.c
// Refuses atomics of several kinds whose order changes an element.  False: the module's diag.
bool vy_check_kinds(const vy_ordering *o);

// totals.c
// Begins a program `suffix_BUFFER` with the parameters of o->w.p, numbered as there, and no domain.
vy_builder *vy_total_begin(vy_ordering *o, uint32_t id, const char *suffix);
// Ends it; NULL: the module's diag says why.
vy_program *vy_total_end(vy_builder *b);
// Do the totals initialise the buffer?
bool vy_total_starts(const vy_ordering *o, uint32_t id);
// Splits a linear index e, in row-major order, into places on the first n axes of `buf`.
void vy_split_index(vy_builder *b, vy_buffer buf, uint32_t n, vy_value e, vy_value *at);

// deterministic.c
// Replaces program p by stages whose additions have an order or, with `wide`, whose additions of
// half floats to these buffers are in f32.
bool vy_order_program(vy_module *m, vy_program *p, bool lean, const vy_adjoint_buffers *wide);

// wide.c
void vy_wide_choose(vy_ordering *o); // fills o->use
// The sums of buffer `id` of o->w.p, called `name` in program b.
vy_buffer vy_wide_declare(const vy_ordering *o, vy_builder *b, vy_buffer_class cls, uint32_t id,
                          const char *name);
// Replaces instruction `id`, if it casts a half that is a sum to f32, by the sum before rounding.
// False: it is no such cast.
bool vy_wide_cast(vy_ordering *o, uint32_t id);
// owned: one invocation owns the element, as for the addition that this replaces.
void vy_wide_add(vy_builder *b, vy_buffer sums, const vy_value *at, vy_value v, bool owned);
// The element: what the buffer held (id 0: nothing) and the sum, as f16.
vy_value vy_wide_total(vy_builder *b, vy_buffer sums, const vy_value *at, vy_value held);

// ordered_partials.c
// Sets o->partials for the buffers that terms suit.  False: memory.
bool vy_partial_choose(vy_ordering *o);
void vy_partial_declare(vy_ordering *o, uint32_t id);
// In place of an atomic addition of v to element `at` of buffer `id`.
void vy_partial_add(vy_ordering *o, uint32_t id, const vy_value *at, vy_value v);
// Makes the two programs that add up the terms of buffer `id`, which are `kept`.  Returns how many
// it has made.
uint32_t vy_partial_totals(vy_ordering *o, uint32_t id, const vy_buf *kept, vy_program **made);

// accumulators.c
void vy_row_choose(vy_ordering *o); // fills o->row, once o->use is filled
// Declares the accumulators of buffer `id` of o->w.p in program `b`.
vy_buffer vy_sums_declare(const vy_ordering *o, vy_builder *b, vy_buffer_class cls, uint32_t id,
                          const char *name);
// The accumulator of element `index` of buffer `id`, among o->sums[id].
vy_sum_place vy_sums_at(vy_ordering *o, uint32_t id, const vy_value *index);
// The same in the program of a total, for element e in row-major order, which is `index`.
vy_sum_place vy_sums_of(const vy_ordering *o, vy_builder *b, vy_buffer sums, uint32_t id,
                        vy_value e, const vy_value *index);
// ordering_shared.c
bool vy_shared_choose(vy_ordering *o); // fills o->sliced; false: the module's diag
vy_buffer vy_shared_declare(vy_ordering *o, uint32_t id, const char *name);
// After a clear of a shared array: clears its accumulators.
void vy_shared_clear(vy_ordering *o, uint32_t id);

#endif
