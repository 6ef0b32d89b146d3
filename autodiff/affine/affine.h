// SPDX-License-Identifier: MIT
// affine.h: integer expressions of a program in isl's terms: piecewise quasi-affine functions of
// the domain variables and loop counters around an instruction; scalars and lengths are parameters.
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
// isl's integers do not wrap and its division floors.  So an expression that may wrap where the
// instruction is reached does not enter isl unchanged: one that may exceed its type by one period
// (`i - 1` of a u32, `i32(n)`) becomes piecewise, wrapped as the machine wraps it; one that may
// exceed it further is refused.  Divisors must be positive constants, dividends non-negative there.
//
// Assumed: extents of buffers and of the domain are below VY_AFFINE_EXTENT; a buffer of four-byte
// elements cannot be longer in any binding.
//
// A failed allocation in isl is recorded (isl_memory.h): vy_affine_end then returns false whatever
// the answers were, and the caller reports that error.
//
// isl runs with ISL_ON_ERROR_CONTINUE and a limit on its operations: an object is NULL after an
// error, and every function of isl accepts NULL.  vy_affine_ok says whether the results computed
// since the last vy_affine_reset are valid.
#ifndef VYRE_AFFINE_H
#define VYRE_AFFINE_H

#include "autodiff/affine/launch_numbers.h"
#include "autodiff/core/isl_known.h"
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
    VY_AFFINE_DATA,    // it depends on data: memory, a float, a value carried by a loop
    VY_AFFINE_WRAP,    // it could wrap around
    VY_AFFINE_PRODUCT, // a product of two non-constants
    // The divisor is no positive constant, or the dividend may be negative.
    VY_AFFINE_DIVISION,
    VY_AFFINE_OPERATION, // another operation
    VY_AFFINE_BUILTIN,   // the place in the dispatch (gid, lid, …)
    VY_AFFINE_LIMIT,     // isl's limit of operations was reached
    VY_AFFINE_WHY_COUNT
} vy_affine_why;
// "depends on data", …: completes "an index …".
const char *vy_affine_why_text(vy_affine_why why);

// A parameter of the sets and maps: a scalar of the program, or a dimension that is no affine
// function of scalars (a product, a length left open).
typedef struct vy_affine_param {
    isl_id *id;
    bool is_dim;
    bool natural;   // never negative
    bool as_i32;    // i32(scalar) of a u32 scalar: a parameter separate from the scalar's own
    uint32_t index; // of the scalar; or the dimension node
} vy_affine_param;
VY_VEC_TYPE(vy_affine_param_vec, vy_affine_param);

// Factors whose product is below VY_AFFINE_EXTENT, as forms of the program's dimensions.
typedef struct vy_affine_product {
    vy_extent factor[8];
    uint32_t count;
} vy_affine_product;

// The rows of a flat buffer under a condition that scalars decide when the program is launched:
//
//   a[z * S + y * w + x]                      axes z, y, x of strides S, w, 1, if h · w ≤ S
//   a[(z / 4 * S + y * w + x) * 4 + z % 4]    strides 4·S, 4·w, 1, if h · 4·w ≤ 4·S
//
// Then no two of its indices are one element, and none has wrapped.
enum { VY_ROW_AXES = 6, VY_ROW_FACTORS = 4 };
typedef struct vy_affine_axis {
    // Their product, times the constant, is the stride: as forms of dimensions.
    vy_extent factor[VY_ROW_FACTORS];
    uint32_t count;
    int64_t constant;      // at least 1
    vy_dim stride, extent; // no index reaches the extent
    // If this holds its rows stay within the next greater stride (the outermost: no index wraps);
    // ids 0: they do in any case.  The same for readers, or NULL.
    vy_assumption within;
    const char *condition;
} vy_affine_axis;
// A scalar that has to be at least `least`, 0 or 1, for indices along the axes to be at least 0.
typedef struct vy_affine_sign {
    uint32_t scalar, least;
    vy_assumption natural;
    const char *condition;
} vy_affine_sign;
typedef struct vy_affine_rows {
    uint32_t buffer, axes, signs;
    vy_affine_sign sign[VY_ROW_AXES];
    vy_affine_axis axis[VY_ROW_AXES]; // outermost first; the last is of stride 1
    vy_dim holds;                     // 1 if the condition does, else 0; id 0: it is taken to
    const char *text;                 // the condition, for readers
    bool partly; // a launch may reach fewer rows than there are: elements may not exist
    bool wraps;  // nothing is assumed of strides, only that no index wraps: if nothing shows that
    bool summed; // what is added is none of the strides, vy_take_strides
    bool steps;  // what is added and decided by the launch is a stride, by itself: a[i + n / 4]
} vy_affine_rows;
// The outermost axis whose condition is reported: that nothing wraps goes without saying where
// strides are assumed.
static inline uint32_t vy_first_assumed(const vy_affine_rows *r) { return r->wraps ? 0 : 1; }

// Of a scalar.  The launch refuses buffers of negative lengths; a negative extent of the domain is
// 0 (docs/language.md).
typedef enum vy_affine_extent_of {
    VY_AFFINE_NO_EXTENT,
    VY_AFFINE_DOMAIN, // an extent of the domain is it or a multiple, and it is no buffer's length
    VY_AFFINE_LENGTH,
} vy_affine_extent_of;

typedef struct vy_affine {
    const vy_program *p;
    const vy_structure *s;
    isl_ctx *ctx;
    vy_arena arena;
    vy_intervals intervals;
    vy_dim_facts facts;
    vy_affine_param_vec params;
    uint8_t *extent; // by scalar: what equals it, a vy_affine_extent_of
    int64_t *most;   // by scalar: upper bound that follows from extents, or from calm
    // By scalar: what integers of 32 bits are taken to be, which the caller has checked; or NULL.
    const uint8_t *calm;
    bool calm_extents;               // extents of the domain that are products are calm, too
    const vy_launch_number *numbers; // or NULL
    bool multiples;                  // strides of flat indices may have constant factors, 4 · M
    bool quotients;                  // extents of the domain that are (w + 1) / 2 say what w bounds
    vy_interval *number_range;       // by base of a dimension, if there are numbers
    uint8_t *number_whole;           // by dimension: is it a product that is a number
    isl_set *context;                // constraints on the parameters
    // Sizes of what the program itself need not have: of outputs of a program that it is made from.
    const vy_affine_product *products;
    uint32_t product_count;
    // What the caller has checked at launch, where it may be taken to hold.
    const vy_affine_rows *rows;
    uint32_t row_count;
    bool round, spent;     // tasks share one budget of operations; it is used up
    bool thrifty;          // a quarter of the budget is enough
    uint32_t dims, weight; // of the current task, see affine_limit.c
    bool holes;            // nests over-approximate conditions x ≠ y and record them as inexact
    bool failed;           // out of memory
    struct vy_known_nest **known; // a hash table, see nest_memo.h
    uint32_t known_room, known_count;
    vy_isl_memory own, *memory; // `own`, or what several share
} vy_affine;

// Gives each integer scalar of p a dimension, so that it has a form: before vy_affine_begin, where
// strides of flat indices may be scalars.  False: memory.
bool vy_affine_name_scalars(vy_program *p);
// False: memory.  Call vy_affine_end either way.
bool vy_affine_begin(vy_affine *a, const vy_program *p, const vy_structure *s);
// The same, where a->calm, a->calm_extents, a->numbers, a->multiples and a->memory may be given
// before; the rest of *a is zero.  a->memory: a context that several use one after the other, or in
// each other, so that what isl has answered one of them is known to all; it is begun if it is zero,
// and the caller ends it, after them.  They are the caller's until the end.
bool vy_affine_begin_with(vy_affine *a, const vy_program *p, const vy_structure *s);
// False: memory ran out at some point; no result may be used.
bool vy_affine_end(vy_affine *a);
// Was everything since the last reset computed within the limits?
bool vy_affine_ok(const vy_affine *a);
// Starts a task with a fresh budget of operations …
void vy_affine_reset(vy_affine *a);
// … except in a round, whose tasks share one budget: once it is spent, there is no point in using
// isl.
void vy_affine_begin_round(vy_affine *a);
bool vy_affine_spent(const vy_affine *a);
// Sets the limit of operations for spaces of `dims` dimensions.  Weighing a set, or two functions
// about to be combined, lowers it if they are heavier than everything weighed since.
void vy_affine_limit(vy_affine *a, uint32_t dims);
void vy_affine_weigh(vy_affine *a, isl_set *set);         // keeps `set`
void vy_affine_weigh_maximum(vy_affine *a, isl_set *set); // of which a maximum is needed; keeps it
void vy_affine_weigh_both(vy_affine *a, isl_pw_aff *x, isl_pw_aff *y);
// Takes `fits`, a set of parameters.  False: isl gave up, and the context is unchanged.
bool vy_affine_add_to_context(vy_affine *a, isl_set *fits);
vy_interval vy_affine_scalar_range(const vy_affine *a, uint32_t scalar);
// The value of a parameter as u32 (other scalar types are converted), in a program being built that
// has the scalars, dimensions and buffers of a->p.
vy_value vy_affine_param_value(const vy_affine *a, uint32_t param, vy_builder *b);
// A function with conservative bounds, which decide most questions without isl.
typedef struct vy_number {
    isl_pw_aff *pa; // NULL: none
    vy_interval range;
} vy_number;
// Takes `space`.  No function: there are too many parameters.
vy_number vy_affine_param_number(vy_affine *a, isl_space *space, bool is_dim, uint32_t index);
// i32(scalar) of a u32 that may exceed INT32_MAX.  Takes `space`.
vy_number vy_affine_as_i32_number(vy_affine *a, isl_space *space, uint32_t scalar);
vy_number vy_affine_dim_number(vy_affine *a, isl_space *space, uint32_t dim);
static inline void vy_affine_drop(vy_number x, vy_number y)
{
    isl_pw_aff_free(x.pa);
    isl_pw_aff_free(y.pa);
}
// x op y without wrapping: ADD SUB MUL MIN MAX, and DIV REM of a non-negative x by a positive
// constant.  Takes both.
vy_number vy_affine_combine(vy_op op, vy_number x, vy_number y);
// The range of a type; of 64-bit types only the half around zero, as isl's integers are unbounded.
vy_interval vy_affine_type(vy_type t);
// Dimension d of the program over `space`, a set space (taken).  Negative dimensions are not
// clamped.
isl_pw_aff *vy_affine_dim(vy_affine *a, isl_space *space, vy_dim d);
// The greatest extent that domain variable k may have, and that a dimension may be that is no sum;
// is that the extent of a domain variable which is calm (calm_extents)?
int64_t vy_affine_most_extent(const vy_affine *a, uint32_t k);
int64_t vy_affine_most_dim(const vy_affine *a, uint32_t base);
bool vy_affine_is_calm_extent(const vy_affine *a, uint32_t base);

// ------------------------------------------------------------------------------------------- nests
// The iteration domain of an instruction: the first dimensions of its space are the domain
// variables, then come the counted loops around it, outermost first.
typedef struct vy_nest {
    vy_affine *a;
    uint32_t place;     // instruction
    uint32_t overs;     // number of domain variables
    uint32_t count;     // all dimensions
    uint32_t *loop;     // by dimension: LOOP, or 0 for domain variables
    vy_interval *range; // by dimension: conservative bounds
    isl_space *space;
    isl_set *domain; // where the instruction is reached; a superset where `inexact` has entries
    // Openers around the instruction, outermost first, that the domain over-approximates: an `if`
    // on data, a loop that leaves early, a `while`, and everything inside a loop that is no
    // dimension; and a dimension that may end before the number below which its counter is.
    uint32_t *inexact;
    uint32_t inexact_count;
    // Outermost loop around the instruction that is no dimension; 0: all are.
    uint32_t inner;
    vy_affine_why why;           // why `inner` is no dimension
    struct vy_known_nest *known; // where it is remembered; NULL: nowhere
} vy_nest;

// At most `levels` loops become dimensions (UINT32_MAX: all that are affine, up to ten dimensions).
// False: memory, or isl gave up.  Call vy_nest_free either way.
bool vy_nest_make(vy_nest *n, vy_affine *a, uint32_t place, uint32_t levels);
void vy_nest_free(vy_nest *n);
// May one of its dimensions end before the number below which its counter is?  Then the greatest
// index need not be reached in any launch.
bool vy_nest_ends_early(const vy_nest *n);
// The dimension of the domain variable along an axis of the launch; -1: there is none.
int vy_nest_over(const vy_nest *n, uint32_t axis);
// The workgroup along an axis, or the place in it: quotient and remainder of the domain variable;
// .pa NULL: not of one.  Invocations that pad the domain may have another place, and no effect.
vy_number vy_affine_place(const vy_nest *n, const vy_leaf *l);
// A constant, or dimension k, as a function on the nest's space.
isl_pw_aff *vy_nest_number(const vy_nest *n, int64_t value);
isl_pw_aff *vy_nest_axis(const vy_nest *n, uint32_t k);
// The domain, with the constraints on parameters created since; and its subset where pa < bound.
isl_set *vy_nest_reached(const vy_nest *n);
isl_set *vy_nest_below(const vy_nest *n, isl_pw_aff *pa, int64_t bound);
// Is 0 ≤ v < extent wherever the nest is reached?  Keeps v, takes `extent`; false: isl gave up.
bool vy_nest_inside(const vy_nest *n, isl_pw_aff *v, isl_pw_aff *extent);
// x reduced to the range of type t, as the machine wraps it.  Takes x; no function: *why is set.
vy_number vy_affine_fit(const vy_nest *n, vy_number x, vy_type t, vy_affine_why *why);
// x / y or x % y of the program; no function: *why is set.  Takes both.
vy_number vy_affine_divide(const vy_nest *n, vy_op op, vy_number x, vy_number y,
                           vy_affine_why *why);
// DIV or REM of x by the positive constant, rounded down: a shift or a mask.  Takes x.
vy_number vy_affine_divide_down(const vy_nest *n, vy_op op, vy_number x, int64_t by);
// Where (x ^ y) < 0 equals `holds`.  Takes both.
isl_set *vy_affine_signs_differ(const vy_nest *n, vy_number x, vy_number y, bool holds);
// Integer `id` as a function on the nest's space, valid within the domain; NULL: *why is set.
isl_pw_aff *vy_affine_value(vy_nest *n, uint32_t id, vy_affine_why *why);
// The same with conservative bounds.
vy_number vy_affine_number(vy_nest *n, uint32_t id, vy_affine_why *why);
// Where in the nest's space the bool `id` equals `holds`; NULL: *why is set.
isl_set *vy_affine_condition(vy_nest *n, uint32_t id, bool holds, vy_affine_why *why);
// That of x and y which the other one clamps to lo and hi; 0: none does.
uint32_t vy_affine_clamp(const vy_program *p, uint32_t x, uint32_t y, uint32_t *lo, uint32_t *hi);
// lo ≤ v ≤ hi, a conjunction.  NULL: the bounds may be out of order, or hi is none.  Takes them.
isl_set *vy_affine_between(vy_number v, vy_number lo, vy_number hi);
// The dimension that `id` is (domain variable or loop counter), or -1.
int vy_nest_dim(const vy_nest *n, uint32_t id);

#endif
