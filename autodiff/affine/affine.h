// SPDX-License-Identifier: MIT
// affine.h: integer expressions of a program as isl knows them: piecewise quasi-affine functions of
// the domain variables and loop counters around a place, with scalars and lengths as parameters.
//
//   vy_affine a;
//   if (vy_affine_begin(&a, p, &structure)) {
//       vy_nest n;
//       if (vy_nest_make(&n, &a, id, UINT32_MAX)) {          // what surrounds instruction `id`
//           isl_pw_aff *x = vy_affine_value(&n, index, &why); // NULL: `why` says why not
//           …
//       }
//       vy_nest_free(&n);
//   }
//   vy_affine_end(&a);
//
// isl's integers do not wrap and its division floors.  So nothing enters isl as it stands that may
// wrap where the place is reached: a sum that may leave its type by one turn (`i - 1` of a u32,
// `i32(n)`) becomes piecewise, wrapped as the machine wraps it; what may leave it further is
// refused.  Division and remainder are by positive constants, of what is never negative there.
//
// Taken for granted: extents of buffers and of the domain are below VY_AFFINE_EXTENT; a buffer of
// four-byte elements cannot be longer in any binding.
//
// Memory that isl does not get is remembered (isl_memory.h): then vy_affine_end says so, whatever
// the answers were, and what asked ends in that error.
//
// isl runs with ISL_ON_ERROR_CONTINUE and a limit on its operations: an object is NULL after an
// error, and every function of isl takes that.  vy_affine_ok says whether what was computed since
// the last vy_affine_reset can be believed.
#ifndef VYRE_AFFINE_H
#define VYRE_AFFINE_H

#include "autodiff/core/isl_memory.h"
#include "ir/facts/range.h"

#include <isl/aff.h>
#include <isl/ctx.h>
#include <isl/id.h>
#include <isl/local_space.h>
#include <isl/map.h>
#include <isl/set.h>
#include <isl/space.h>
#include <isl/val.h>

#define VY_AFFINE_EXTENT (INT64_C(1) << 30)

// Why an expression is not affine.
typedef enum vy_affine_why {
    VY_AFFINE_FINE,
    VY_AFFINE_DATA,    // it depends on data: memory, a float, a value that a loop carries
    VY_AFFINE_WRAP,    // it could wrap around
    VY_AFFINE_PRODUCT, // a product of two numbers that are no constants
    // A division or remainder not by a positive constant, or of what may be negative.
    VY_AFFINE_DIVISION,
    VY_AFFINE_OPERATION, // another operation
    VY_AFFINE_BUILTIN,   // the place in the dispatch (gid, lid, …)
    VY_AFFINE_LIMIT,     // isl's limit of operations was reached
    VY_AFFINE_WHY_COUNT
} vy_affine_why;
// "depends on data", …: completes "an index …".
const char *vy_affine_why_text(vy_affine_why why);

// A parameter of every set and map: a scalar of the program, or a dimension that is no affine
// function of scalars (a product, a length left open).
typedef struct vy_affine_param {
    isl_id *id;
    bool is_dim;
    bool natural;   // never negative
    bool turned;    // a scalar of type u32 converted to i32: a number of its own
    uint32_t index; // of the scalar; or the dimension node
} vy_affine_param;
VY_VEC_TYPE(vy_affine_param_vec, vy_affine_param);

typedef struct vy_affine {
    const vy_program *p;
    const vy_structure *s;
    isl_ctx *ctx;
    vy_arena arena;
    vy_intervals intervals;
    vy_dim_facts facts;
    vy_affine_param_vec params;
    uint8_t *extent;       // by scalar: the program has an extent that is it
    int64_t *most;         // by scalar: upper bound, as extents give it
    isl_set *context;      // of the parameters: what is known about them
    bool round, spent;     // tasks share their operations; and have none left
    bool few;              // a quarter of the operations is enough
    uint32_t dims, weight; // of what is being looked at: see affine_limit.c
    bool holes;            // nests leave conditions x ≠ y loose
    bool failed;           // memory
    vy_isl_memory memory;
} vy_affine;

// False: memory; vy_affine_end is right in every case.
bool vy_affine_begin(vy_affine *a, const vy_program *p, const vy_structure *s);
// False: memory ran out on the way; nothing that was concluded may be used.
bool vy_affine_end(vy_affine *a);
// Was everything since the last reset computed within the limits?
bool vy_affine_ok(const vy_affine *a);
void vy_affine_reset(vy_affine *a); // a new task may use as many operations again …
// … but for the tasks of a round, which share them: once they are spent, isl need not be asked any
// more.
void vy_affine_begin_round(vy_affine *a);
bool vy_affine_spent(const vy_affine *a);
// Of operations, for spaces of so many dimensions; lower from what is heavier than all that was
// weighed since.
void vy_affine_limit(vy_affine *a, uint32_t dims);
void vy_affine_weigh(vy_affine *a, isl_set *set);                      // keeps it
void vy_affine_weigh_both(vy_affine *a, isl_pw_aff *x, isl_pw_aff *y); // about to be combined
// The number that the parameter is, as u32 (a scalar that is no u32 is converted), in a program
// being built that has the scalars, dimensions and buffers of a->p.
vy_value vy_affine_param_value(const vy_affine *a, uint32_t param, vy_builder *b);
// A function with rough bounds, which decide most questions without isl.
typedef struct vy_number {
    isl_pw_aff *pa; // NULL: none
    vy_interval range;
} vy_number;
// Takes `space`.  No function: there are too many parameters already.
vy_number vy_affine_param_number(vy_affine *a, isl_space *space, bool is_dim, uint32_t index);
// i32(scalar) of a u32 that may be no i32.  Takes `space`.
vy_number vy_affine_turned_number(vy_affine *a, isl_space *space, uint32_t scalar);
vy_number vy_affine_dim_number(vy_affine *a, isl_space *space, uint32_t dim);
static inline void vy_affine_drop(vy_number x, vy_number y)
{
    isl_pw_aff_free(x.pa);
    isl_pw_aff_free(y.pa);
}
// x op y in integers that do not wrap; ADD SUB MUL MIN MAX, and DIV REM by a positive constant of
// what is not negative.  Takes both.
vy_number vy_affine_combine(vy_op op, vy_number x, vy_number y);
// The values of a type, less those next to ±2^63: isl's numbers have no end.
vy_interval vy_affine_type(vy_type t);
// Dimension d of the program over `space`, a set space.  A dimension below zero counts as itself.
isl_pw_aff *vy_affine_dim(vy_affine *a, isl_space *space, vy_dim d); // takes space

// ------------------------------------------------------------------------------------------- nests
// What surrounds an instruction: dimension k of its space is domain variable k, and behind those
// come the counted loops around it, outermost first.
typedef struct vy_nest {
    vy_affine *a;
    uint32_t place;     // instruction
    uint32_t overs;     // dimensions that are domain variables
    uint32_t count;     // all dimensions
    uint32_t *loop;     // by dimension: LOOP, or 0 for domain variables
    vy_interval *range; // by dimension: rough bounds
    isl_space *space;
    isl_set *domain; // where the place is reached, or more: see `loose`
    // Openers around the place, outermost first, that the domain does not say everything about:
    // an `if` on data, a loop that leaves early, a `while`, and whatever is inside a loop that is
    // no dimension.
    uint32_t *loose;
    uint32_t loose_count;
    // Outermost loop around the place that is no dimension, or 0: the nest is complete.
    uint32_t inner;
    vy_affine_why why; // `inner` is none because …
} vy_nest;

// At most `levels` loops become dimensions (UINT32_MAX: all that are affine, up to ten dimensions).
// False: memory, or isl gave up; vy_nest_free is right in every case.
bool vy_nest_make(vy_nest *n, vy_affine *a, uint32_t place, uint32_t levels);
void vy_nest_free(vy_nest *n);
// A constant, and dimension k, as functions on the nest's space.
isl_pw_aff *vy_nest_number(const vy_nest *n, int64_t value);
isl_pw_aff *vy_nest_axis(const vy_nest *n, uint32_t k);
// The domain, with what is known of parameters that came after it; and of that, where pa < bound.
isl_set *vy_nest_reached(const vy_nest *n);
isl_set *vy_nest_below(const vy_nest *n, isl_pw_aff *pa, int64_t bound);
// x as a value of type t holds it.  Takes x; no function: *why.
vy_number vy_affine_fit(const vy_nest *n, vy_number x, vy_type t, vy_affine_why *why);
// Integer `id` over the nest's space, right wherever the domain says; NULL: *why says why not.
isl_pw_aff *vy_affine_value(vy_nest *n, uint32_t id, vy_affine_why *why);
// The same with rough bounds.
vy_number vy_affine_number(vy_nest *n, uint32_t id, vy_affine_why *why);
// Where in the nest's space `id`, a bool, is `holds`; NULL: *why says why that is no such set.
isl_set *vy_affine_condition(vy_nest *n, uint32_t id, bool holds, vy_affine_why *why);
// Dimension that is `id` itself (domain variable or loop counter), or -1.
int vy_nest_dim(const vy_nest *n, uint32_t id);

#endif
