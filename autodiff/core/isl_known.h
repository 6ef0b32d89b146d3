// SPDX-License-Identifier: MIT
// isl_known.h: functions of isl whose answers are remembered: asked the same again, by whatever
// attempt, they are not computed again.
//
//   isl_set *both = vy_isl_set_intersect(isl_set_copy(x), isl_set_copy(y));     // as isl_set_…
//
// The question is the function, its numbers, and its operands *by identity*: as answers are shared,
// what is made in the same way from the same names is the same object, and no object has to be
// compared, hashed or printed to find that out.  For that everything on the way is made by these
// functions, from the spaces on; what is not only is never found.  An entry holds its operands, so
// no other object takes their place in memory, and nothing is changed that somebody else holds: two
// questions that differ share no answer.
//
// Answers belong to the context (vy_isl_memory), which the attempts at one program share.  Nothing
// is remembered of what isl gave up, or gave with an error, and after an error nothing is recalled,
// so that a function fails wherever isl's does.  The rows below are isl's functions of these names;
// they take and keep what isl's do (`KEEPS`).
#ifndef VYRE_ISL_KNOWN_H
#define VYRE_ISL_KNOWN_H

#include "autodiff/core/isl_memory.h"

#include <isl/aff.h>
#include <isl/ast.h>
#include <isl/id.h>
#include <isl/local_space.h>
#include <isl/map.h>
#include <isl/set.h>
#include <isl/space.h>
#include <isl/val.h>

#include <stdint.h>

// TAKES1(result, function, operand), TAKES2: two operands.  N1 … N5: numbers after the operands.
// VALUE, BOUND: a number as an isl_val.  KEEPS1, KEEPS2: a bool, of operands that stay the
// caller's.
#define VY_ISL_KNOWN(TAKES1, TAKES2, N1, N2, N3, N4, N5, ID, VALUE, BOUND, KEEPS1, KEEPS2)         \
    /* spaces */                                                                                   \
    N2(space, space_add_dims, space)                                                               \
    N3(space, space_insert_dims, space)                                                            \
    ID(space, space_set_dim_id, space)                                                             \
    TAKES1(space, space_from_domain, space)                                                        \
    TAKES1(space, space_map_from_set, space)                                                       \
    TAKES1(local_space, local_space_from_space, space)                                             \
    /* expressions */                                                                              \
    N2(aff, aff_var_on_domain, local_space)                                                        \
    VALUE(aff, aff_val_on_domain_space, space)                                                     \
    TAKES2(aff, aff_align_params, aff, space)                                                      \
    TAKES2(basic_set, aff_lt_basic_set, aff, aff)                                                  \
    TAKES2(basic_set, aff_ge_basic_set, aff, aff)                                                  \
    TAKES2(set, aff_lt_set, aff, aff)                                                              \
    TAKES2(aff_list, aff_list_add, aff_list, aff)                                                  \
    TAKES2(multi_aff, multi_aff_from_aff_list, space, aff_list)                                    \
    /* functions of pieces */                                                                      \
    TAKES1(pw_aff, pw_aff_from_aff, aff)                                                           \
    TAKES2(pw_aff, pw_aff_add, pw_aff, pw_aff)                                                     \
    TAKES2(pw_aff, pw_aff_sub, pw_aff, pw_aff)                                                     \
    TAKES2(pw_aff, pw_aff_mul, pw_aff, pw_aff)                                                     \
    TAKES2(pw_aff, pw_aff_min, pw_aff, pw_aff)                                                     \
    TAKES2(pw_aff, pw_aff_max, pw_aff, pw_aff)                                                     \
    TAKES2(pw_aff, pw_aff_union_add, pw_aff, pw_aff)                                               \
    TAKES2(pw_aff, pw_aff_intersect_domain, pw_aff, set)                                           \
    TAKES2(pw_aff, pw_aff_gist_params, pw_aff, set)                                                \
    TAKES1(pw_aff, pw_aff_floor, pw_aff)                                                           \
    TAKES1(pw_aff, pw_aff_coalesce, pw_aff)                                                        \
    VALUE(pw_aff, pw_aff_add_constant_val, pw_aff)                                                 \
    VALUE(pw_aff, pw_aff_scale_val, pw_aff)                                                        \
    VALUE(pw_aff, pw_aff_scale_down_val, pw_aff)                                                   \
    VALUE(pw_aff, pw_aff_mod_val, pw_aff)                                                          \
    TAKES2(set, pw_aff_lt_set, pw_aff, pw_aff)                                                     \
    TAKES2(set, pw_aff_le_set, pw_aff, pw_aff)                                                     \
    TAKES2(set, pw_aff_gt_set, pw_aff, pw_aff)                                                     \
    TAKES2(set, pw_aff_ge_set, pw_aff, pw_aff)                                                     \
    TAKES2(set, pw_aff_eq_set, pw_aff, pw_aff)                                                     \
    TAKES2(set, pw_aff_ne_set, pw_aff, pw_aff)                                                     \
    TAKES1(set, pw_aff_domain, pw_aff)                                                             \
    TAKES1(set, pw_aff_nonneg_set, pw_aff)                                                         \
    /* sets */                                                                                     \
    TAKES1(set, set_universe, space)                                                               \
    TAKES1(set, set_empty, space)                                                                  \
    TAKES1(set, set_from_basic_set, basic_set)                                                     \
    TAKES2(basic_set, basic_set_intersect_params, basic_set, basic_set)                            \
    TAKES2(set, set_intersect, set, set)                                                           \
    TAKES2(set, set_intersect_params, set, set)                                                    \
    TAKES2(set, set_subtract, set, set)                                                            \
    TAKES2(set, set_union, set, set)                                                               \
    TAKES2(set, set_gist, set, set)                                                                \
    TAKES2(set, set_gist_params, set, set)                                                         \
    TAKES2(set, set_align_params, set, space)                                                      \
    TAKES2(set, set_set_tuple_id, set, id)                                                         \
    TAKES1(set, set_reset_tuple_id, set)                                                           \
    TAKES1(set, set_coalesce, set)                                                                 \
    TAKES1(set, set_params, set)                                                                   \
    TAKES1(set, set_remove_divs, set)                                                              \
    TAKES1(basic_set, set_affine_hull, set)                                                        \
    TAKES1(basic_set, set_simple_hull, set)                                                        \
    N1(pw_aff, set_dim_max, set)                                                                   \
    N3(set, set_lower_bound_si, set)                                                               \
    N3(set, set_upper_bound_si, set)                                                               \
    BOUND(set, set_lower_bound_val, set)                                                           \
    BOUND(set, set_upper_bound_val, set)                                                           \
    N3(set, set_drop_constraints_involving_dims, set)                                              \
    N3(set, set_project_out, set)                                                                  \
    KEEPS1(set_is_empty, set)                                                                      \
    KEEPS2(set_is_subset, set, set)                                                                \
    KEEPS2(set_is_disjoint, set, set)                                                              \
    /* relations */                                                                                \
    TAKES1(map, map_from_pw_aff, pw_aff)                                                           \
    TAKES1(map, map_from_multi_aff, multi_aff)                                                     \
    TAKES1(map, map_from_domain, set)                                                              \
    TAKES1(map, map_universe, space)                                                               \
    TAKES1(map, set_identity, set)                                                                 \
    TAKES2(map, map_flat_range_product, map, map)                                                  \
    TAKES2(map, map_intersect_domain, map, set)                                                    \
    TAKES2(map, map_intersect_params, map, set)                                                    \
    TAKES2(map, map_align_params, map, space)                                                      \
    TAKES2(map, map_union, map, map)                                                               \
    TAKES1(map, map_coalesce, map)                                                                 \
    TAKES1(set, map_domain, map)                                                                   \
    TAKES1(set, map_range, map)                                                                    \
    N1(map, map_reset_tuple_id, map)                                                               \
    N3(map, map_project_out, map)                                                                  \
    N4(map, map_equate, map)                                                                       \
    N5(map, map_move_dims, map)                                                                    \
    ID(map, map_set_dim_id, map)                                                                   \
    KEEPS1(map_is_empty, map)                                                                      \
    KEEPS1(map_is_injective, map)                                                                  \
    KEEPS2(map_is_equal, map, map)                                                                 \
    KEEPS2(map_is_disjoint, map, map)                                                              \
    KEEPS2(map_plain_is_equal, map, map)

typedef enum isl_dim_type vy_isl_dim;
#define VY_ISL_TAKES1(R, name, A) isl_##R *vy_isl_##name(isl_##A *a);
#define VY_ISL_TAKES2(R, name, A, B) isl_##R *vy_isl_##name(isl_##A *a, isl_##B *b);
#define VY_ISL_N1(R, name, A) isl_##R *vy_isl_##name(isl_##A *a, int64_t i);
#define VY_ISL_N2(R, name, A) isl_##R *vy_isl_##name(isl_##A *a, vy_isl_dim t, int64_t i);
#define VY_ISL_N3(R, name, A)                                                                      \
    isl_##R *vy_isl_##name(isl_##A *a, vy_isl_dim t, int64_t i, int64_t j);
#define VY_ISL_N4(R, name, A)                                                                      \
    isl_##R *vy_isl_##name(isl_##A *a, vy_isl_dim t, int64_t i, vy_isl_dim u, int64_t j);
#define VY_ISL_N5(R, name, A)                                                                      \
    isl_##R *vy_isl_##name(isl_##A *a, vy_isl_dim t, int64_t i, vy_isl_dim u, int64_t j, int64_t k);
#define VY_ISL_ID(R, name, A)                                                                      \
    isl_##R *vy_isl_##name(isl_##A *a, vy_isl_dim t, int64_t i, isl_id *id);
#define VY_ISL_VALUE(R, name, A) isl_##R *vy_isl_##name(isl_##A *a, int64_t value);
#define VY_ISL_BOUND(R, name, A)                                                                   \
    isl_##R *vy_isl_##name(isl_##A *a, vy_isl_dim t, int64_t i, int64_t value);
#define VY_ISL_KEEPS1(name, A) isl_bool vy_isl_##name(isl_##A *a);
#define VY_ISL_KEEPS2(name, A, B) isl_bool vy_isl_##name(isl_##A *a, isl_##B *b);
VY_ISL_KNOWN(VY_ISL_TAKES1, VY_ISL_TAKES2, VY_ISL_N1, VY_ISL_N2, VY_ISL_N3, VY_ISL_N4, VY_ISL_N5,
             VY_ISL_ID, VY_ISL_VALUE, VY_ISL_BOUND, VY_ISL_KEEPS1, VY_ISL_KEEPS2)

// What begins a chain: of numbers alone.
isl_space *vy_isl_space_set_alloc(isl_ctx *ctx, uint32_t params, uint32_t dims);
isl_space *vy_isl_space_params_alloc(isl_ctx *ctx, uint32_t params);
isl_aff_list *vy_isl_aff_list_alloc(isl_ctx *ctx, int count);
// A variable of the space (taken), and a number on it.
isl_pw_aff *vy_isl_variable(isl_space *space, vy_isl_dim type, uint32_t k);
isl_pw_aff *vy_isl_number(isl_space *space, int64_t value);

// Something that the caller makes of three objects and a number, as the tree of a schedule: looks
// it up, and remembers it.  Both keep everything; NULL: it is not known.
isl_ast_node *vy_isl_known_tree(isl_map *of, isl_set *context, isl_space *names, int64_t number);
void vy_isl_remember_tree(isl_map *of, isl_set *context, isl_space *names, int64_t number,
                          isl_ast_node *tree);

// When there are as many, all are forgotten, so that memory does not grow with time: a set of
// twenty variables takes 20 kB.
enum { VY_ISL_MOST_ANSWERS = 8192 };
// How many answers the context has, for tests.
uint32_t vy_isl_known_count(const vy_isl_memory *m);
// isl_memory.c: frees them.
void vy_isl_forget(vy_isl_memory *m);

#endif
