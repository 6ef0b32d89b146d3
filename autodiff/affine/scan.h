// SPDX-License-Identifier: MIT
// scan.h: a set of integer points as loops of a program being built.
//
//   { [i, j] : i = e and 0 <= j < N }       for j in 0..N { point(e, j) }
//
// The loops are those of isl's AST builder: exact bounds, guards where bounds are not enough, a
// plain value for a dimension that the others determine.  Everything in them is computed in u32, as
// differences of non-negative numbers, so nothing wraps; what could wrap is refused.
#ifndef VYRE_LATTICE_H
#define VYRE_LATTICE_H

#include "autodiff/affine/affine.h"

#include <isl/ast.h>

// plus − minus + constant.  plus and minus are u32 values (0: none); neither they nor
// plus + constant and minus − constant wrap.
typedef struct vy_signed {
    uint32_t plus, minus;
    int64_t constant;
    int64_t most_plus, most_minus; // upper bounds
} vy_signed;

// The value of an id that isl's expressions refer to.
typedef struct vy_bound_id {
    isl_id *id; // not owned
    vy_signed value;
} vy_bound_id;
VY_VEC_TYPE(vy_bound_id_vec, vy_bound_id);

// A walk over a small constant number of taps (scan_taps.c).
typedef struct vy_taps {
    isl_set *all;       // the superset that is walked; NULL: the set itself
    isl_set *left;      // the constraints that make one of these a point of the set
    uint64_t found;     // dimensions determined by the others, as bits
    uint32_t order[64]; // of the loops: dimensions of the nest
} vy_taps;

// The last tree, reused for a set of the same representation.
typedef struct vy_lattice_memo {
    isl_set *set, *context;
    isl_ast_node *tree;
    uint32_t points;
} vy_lattice_memo;

// Lanes that divide the points among themselves: each point belongs to one lane.
typedef struct vy_lanes {
    vy_value lane;  // u32, below count
    uint32_t count; // 0, 1: not divided
} vy_lanes;

typedef struct vy_lattice {
    vy_affine *a;
    vy_builder *b;
    const vy_nest *nest; // whose space the points are of
    // The caller's parameters that are no parameters of `a`; behind them the iterators in scope.
    vy_bound_id_vec ids;
    bool refused; // something could wrap, or isl's AST has an unsupported form
    // Emits the code of one point; index: one value per dimension of the nest, of the loop's type.
    void (*point)(void *user, const vy_value *index);
    void *user;
    vy_lattice_memo *memo; // shared by the sets of one program; or NULL
    vy_lanes lanes;
    // May a superset be walked?  Then `guard` says at each call of `point` whether the point is in
    // the set; id 0: it is.
    bool wants_taps;
    vy_value guard;
    vy_taps taps;
    isl_set *context; // not owned
} vy_lattice;

// Emits loops over the points of `set` (taken), in the nest's space, given the constraints
// `context` (kept) on the parameters.  False: refused, or memory, or isl gave up; the code emitted
// so far must then be discarded.
bool vy_lattice_emit(vy_lattice *l, isl_set *set, isl_set *context);
void vy_lattice_free(vy_lattice *l);
void vy_lattice_forget(vy_lattice_memo *m);

// scan_lanes.c: divides the loop around `body`, from *from in steps of *step, among its share of
// l->lanes, and leaves there the lanes among which inner loops are divided.
void vy_lanes_take(vy_lattice *l, isl_ast_node *body, vy_value *from, int64_t *step);

// scan_names.c: the value of a parameter or iterator.
vy_signed vy_lattice_named(vy_lattice *l, isl_id *id);

// scan_tree.c
uint32_t vy_tree_points(isl_ast_node *tree); // copies of the point's code
// Loops around the point which has the fewest, of those that may have as many iterations as an
// array has rows.
uint32_t vy_tree_walks(isl_ast_node *tree);
// scan_taps.c
// Fills l->taps for a set (kept) of the nest's space; false: the set itself is walked.
bool vy_taps_find(vy_lattice *l, isl_set *set, isl_set *context);
void vy_taps_free(vy_taps *t);
// { point → loops } of the set (taken).
isl_map *vy_taps_schedule(const vy_lattice *l, isl_set *set);
// Is the walked point with these coordinates in the set?  Id 0: always, or refused.
vy_value vy_taps_guard(vy_lattice *l, const vy_signed *index);
// Is 0 ≤ dimension k < extent for everything that is walked, in the set or not?
bool vy_taps_inside(const vy_lattice *l, uint32_t k, vy_dim extent);

// scan_expression.c
vy_signed vy_lattice_expression(vy_lattice *l, isl_ast_expr *e);
vy_value vy_lattice_condition(vy_lattice *l, isl_ast_expr *e); // a bool; id 0: refused
bool vy_lattice_constant(isl_ast_expr *e, int64_t *k);         // false: no constant of 32 bits

// scan_arithmetic.c: numbers of these loops.  most_plus = −1: something could wrap.
static const vy_signed vy_signed_none = {.most_plus = -1};
vy_signed vy_signed_constant(int64_t value);
vy_signed vy_signed_value(vy_value value, int64_t most); // a u32
vy_signed vy_signed_of_i32(vy_builder *b, vy_value value);
vy_signed vy_signed_add(vy_builder *b, vy_signed x, vy_signed y);
vy_signed vy_signed_sub(vy_builder *b, vy_signed x, vy_signed y);
vy_signed vy_signed_scale(vy_builder *b, vy_signed x, int64_t by);
vy_signed vy_signed_least(vy_builder *b, vy_signed x, vy_signed y, bool greatest);
vy_signed vy_signed_floor(vy_builder *b, vy_signed x, int64_t by);     // x / by, rounded down
vy_signed vy_signed_divide(vy_builder *b, vy_signed x, int64_t by);    // of a non-negative x
vy_signed vy_signed_remainder(vy_builder *b, vy_signed x, int64_t by); // the same
// 0 exactly where `by` divides x.
vy_signed vy_signed_congruent(vy_builder *b, vy_signed x, int64_t by);
vy_signed vy_signed_select(vy_builder *b, vy_value c, vy_signed x, vy_signed y);
vy_value vy_signed_compare(vy_builder *b, vy_op op, vy_signed x, vy_signed y); // LT, LE, EQ
bool vy_signed_fits(vy_signed x);
// x modulo 2^32: x itself where it is known to be a u32.
vy_value vy_signed_modular(vy_builder *b, vy_signed x);
// max(x, 0)
vy_value vy_signed_natural(vy_builder *b, vy_signed x);

#endif
