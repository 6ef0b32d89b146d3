// SPDX-License-Identifier: MIT
// count.h: how often everything in a program happens, as polynomials (poly.h); what cost.h and
// autodiff/explain.h are made from.
#ifndef VYRE_COUNT_H
#define VYRE_COUNT_H

#include "ir/cost.h"
#include "ir/facts/poly.h"

// How often the body of a loop runs, per invocation and in total.
typedef struct vy_loop_count {
    const vy_program *program;
    uint32_t opener; // 0: the entire program
    bool closed;     // its trip count is a polynomial: it runs from `from` to before `to` …
    bool unit;       // … and these are the values of its variable
    vy_poly from, to;
    vy_poly each, all;
} vy_loop_count;
VY_VEC_TYPE(vy_loop_count_vec, vy_loop_count);

typedef struct vy_count {
    vy_poly_space space;
    vy_poly each[VY_COST_COUNT], all[VY_COST_COUNT];
    vy_poly *dims;              // of the program counted last, by dimension node
    uint32_t *over, over_count; // its domain variables
    vy_poly invocations;
    vy_loop_count_vec loops; // in program order
    bool conditional;
    // For vy_count_dims, or NULL: of a pipeline, names of what its steps give, by step; of a
    // program that a pipeline dispatches, the values of its scalars.
    const char *const *steps;
    const vy_poly *scalars;
} vy_count;

// False: out of memory; call vy_count_free in either case.
bool vy_count_make(vy_count *c, const vy_program *p, const vy_sizes *sizes);
// Adds another program that runs in the same domain.
bool vy_count_add(vy_count *c, const vy_program *p, const vy_sizes *sizes);
// The dimensions of another program, by node, in the count's arena; NULL: out of memory.
vy_poly *vy_count_dims(vy_count *c, const vy_program *p, const vy_sizes *sizes);
void vy_count_free(vy_count *c);
// Text and value; the text lives as long as the count.
vy_amount vy_count_amount(vy_count *c, vy_poly x);
// Product of the extents of a buffer from axis `first` to before `last`; dims: of its program.
vy_poly vy_count_extent(vy_count *c, const vy_poly *dims, const vy_buf *b, uint32_t first,
                        uint32_t last);

// trip_estimate.c: an upper bound of the trip count of every loop, by its opener's id; −1 where
// none is known.  The values are those of scalars by index and of dimensions by id, where known.
// False: out of memory.
bool vy_loop_trips(const vy_program *p, const int64_t *scalars, const bool *scalar_known,
                   const int64_t *dim_values, const bool *dim_known, int64_t *trips);

#endif
