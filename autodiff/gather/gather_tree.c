// SPDX-License-Identifier: MIT
// gather_tree.c: few elements to which many points add: a workgroup for each element instead of an
// invocation.
//
//   program f_gather_b(…) over(o: O) {        program f_gather_b_few(…) workgroup(64)
//       var v = 0.0;                              over(o: O, t: 64) {
//       for i in 0..M { for j in 0..N {           shared part: f32[64];
//           v += g[i, o, j];                      var v = 0.0;
//       } }                               →       for i in t / 8..M step 8 {
//       grad_b[o] = v;                                for j in t % 8..N step 8 { v += g[i, o, j]; }
//   }                                             }
//                                                 part[t] = v;   barrier();
//                                                 if t < 8 { part[t] = part[t] + part[t + 8] + … }
//                                                 barrier();
//                                                 if t == 0 { grad_b[o] = part[0] + … + part[7]; }
//                                             }
//
// The number of elements is known when the program runs.  So both are made, and the pipeline
// dispatches one of them, with a repeat that runs once or not at all:
//
//   repeat once in 0..few { f_gather_b_few(…); }
//   repeat once in 0..1 - few { f_gather_b(…); }
//
//   few = min(1, max(0, min(256, points / 256) + 1 − elements))
//
// With one invocation for each, up to 256 elements are at most four workgroups: all but a few per
// cent of a large device would be idle.  An element has at least 256 points, four for each lane:
// with fewer, the two barriers would cost more than they save.  What the form costs on no more than
// two cores is in docs/performance.md.
//
// The program keeps its workgroup of 64, whatever the user's is: what a lane adds, and in which
// order lanes are added up, depends on sizes alone.  No lane is padding: the lanes are the domain's
// last axis.  A tree of two levels by eights has two barriers, one by halves seven; on lavapipe it
// is the barriers that cost (docs/performance.md).
#include "autodiff/gather/gather_build.h"
#include "autodiff/facts/trip_bound.h"

#include <stdio.h>

enum { ROW = 8, SMALL = 256, POINTS = 256 };

// ---------------------------------------------------------------------------------------- how many
// Multiplies *x, a product of `count` factors, by d; d is clamped to 2^20 and the product before it
// to 2^40, so that nothing overflows.
static void times(vy_builder *b, vy_dim *x, vy_dim d, uint32_t *count)
{
    enum { MOST = 20 };
    if (*count > 1) *x = vy_dim_binary(b, VY_DIM_MIN, *x, vy_dim_const(b, INT64_C(1) << 2 * MOST));
    if (*count > 0)
        *x = vy_dim_binary(b, VY_DIM_MUL, *x,
                           vy_dim_binary(b, VY_DIM_MIN, d, vy_dim_const(b, 1 << MOST)));
    else
        *x = d;
    ++*count;
}

static vy_dim elements(const gather_site *site, vy_builder *b)
{
    vy_dim n = vy_dim_const(b, 1);
    uint32_t count = 0;
    for (uint32_t k = 0; k < site->access.rank; k++)
        if (site->axes >> k & 1) times(b, &n, site->access.dim[k], &count);
    return n;
}

// The number of points, or a lower estimate: loops without a known trip bound count once.
static vy_dim points(const gather *g, const gather_site *site, vy_builder *b)
{
    const vy_nest *nest = &site->access.nest;
    const vy_bounds bounds = {.p = g->r, .lows = &g->lows, .b = b};
    vy_dim n = vy_dim_const(b, 1);
    uint32_t count = 0;
    for (uint32_t k = 0; k < nest->count; k++) {
        vy_dim d =
            k < nest->overs ? g->r->overs.data[k].extent : vy_trip_bound(&bounds, nest->loop[k]);
        if (d.id && !gather_is_open(vy_builder_program(b), d.id)) times(b, &n, d, &count);
    }
    return n;
}

vy_dim gather_is_small(const gather *g, const gather_site *site, vy_builder *b)
{
    vy_dim zero = vy_dim_const(b, 0), one = vy_dim_const(b, 1);
    vy_dim by = vy_dim_const(b, POINTS);
    vy_dim each = vy_dim_binary(b, VY_DIM_DIV, points(g, site, b), by);
    vy_dim most = vy_dim_binary(b, VY_DIM_MIN, each, vy_dim_const(b, SMALL));
    vy_dim count = elements(site, b);
    most = vy_dim_binary(b, VY_DIM_SUB, vy_dim_binary(b, VY_DIM_ADD, most, one), count);
    return vy_dim_binary(b, VY_DIM_MIN, vy_dim_binary(b, VY_DIM_MAX, most, zero), one);
}

// ---------------------------------------------------------------------------------------- the sums
static vy_buffer part(vy_builder *b, vy_type t)
{
    char text[32] = "part";
    const vy_dim lanes = vy_dim_const(b, GATHER_LANES);
    for (uint32_t k = 2; !gather_name_is_free(b, text); k++)
        snprintf(text, sizeof text, "part%u", k);
    return vy_shared_array(b, text, t, 1, &lanes);
}

// from + Σ parts[at + k·step], k = 1 … 7, in this order.
static vy_value add_up(vy_builder *b, vy_buffer parts, vy_value at, uint32_t step)
{
    vy_var sum = vy_var_new(b, NULL, vy_load(b, parts, &at));
    vy_value row = vy_int(b, VY_U32, ROW), k = vy_for(b, "k", vy_int(b, VY_U32, 1), row);
    vy_value from = vy_add(b, at, vy_mul(b, k, vy_int(b, VY_U32, step)));
    vy_value term = vy_load(b, parts, &from);
    vy_set(b, sum, vy_add(b, vy_get(b, sum), term));
    vy_end(b);
    return vy_get(b, sum);
}

void gather_fold(vy_builder *b, vy_value lane, vy_value *sum, uint32_t n)
{
    vy_buffer parts[GATHER_SUMS];
    vy_at(b, 0, 0);
    for (uint32_t k = 0; k < n; k++) {
        parts[k] = part(b, vy_value_type(b, sum[k]));
        vy_store(b, parts[k], &lane, sum[k]);
    }
    vy_barrier(b);
    vy_if(b, vy_lt(b, lane, vy_int(b, VY_U32, ROW)));
    for (uint32_t k = 0; k < n; k++)
        vy_store(b, parts[k], &lane, add_up(b, parts[k], lane, GATHER_LANES / ROW));
    vy_end(b);
    vy_barrier(b);
    vy_value zero = vy_zero(b, VY_U32);
    vy_if(b, vy_eq(b, lane, zero));
    for (uint32_t k = 0; k < n; k++) sum[k] = add_up(b, parts[k], zero, 1);
}
