// SPDX-License-Identifier: MIT
// lower.h: from the checked tree to calls of the builder: what the files lower*.c share.
#ifndef VYRE_LOWER_H
#define VYRE_LOWER_H

#include "ir/text/front.h"

typedef struct vy_lower {
    vy_front *f;
    vy_builder *b;
    vy_pipe *pipe; // whose signature b builds, or NULL
    vy_func *func;
    uint32_t *frame;         // by slot: vy_var, vy_value, vy_buffer or vy_dim id
    vy_var *results;         // of the function being inlined; NULL where it returns at its end only
    vy_value *result_values; // … then these
    uint32_t call_depth, constant_depth;
    uint32_t switch_block, do_block; // what `break`, `continue` leave (vy_block_leave); 0: a loop
    uint64_t visited;                // nodes
    bool constant;                   // in a constant's value: no control flow
    bool fixed_place;                // keep the caller's source position
} vy_lower;
// room.c: memory for scalars; what was taken since a mark is given back together
typedef struct vy_room_mark {
    const vy_room *chunk;
    size_t used;
} vy_room_mark;
vy_room_mark vy_room_here(const vy_lower *l);
void *vy_room_take(vy_lower *l, uint32_t n); // n vy_value or vy_var, zero; n ≤ VY_MAX_SCALARS
void vy_room_back(vy_lower *l, vy_room_mark mark);
void vy_room_free(vy_front *f);

bool vy_lower_functions(vy_front *f);               // lower_function.c: those that stay
bool vy_lower_module(vy_front *f);                  // constants, then programs
void vy_lower_head(vy_lower *l, const vy_func *fn); // parameters, domain, workgroup
bool vy_lower_pipeline(vy_front *f, vy_func *fn);
vy_dim vy_lower_element(vy_lower *l, const vy_ast_expr *e);   // value(buf[…])
vy_dim vy_lower_condition(vy_lower *l, const vy_ast_expr *e); // 1 where it holds, else 0
vy_dim vy_lower_test(vy_lower *l, const vy_ast_expr *e);      // the same, but an integer is itself
// A float or bool for a dispatch: a scalar parameter of the pipeline, or a constant.
bool vy_lower_given(vy_lower *l, const vy_ast_expr *e, vy_name_rec *name, vy_type type,
                    vy_pipe_scalar *out);
bool vy_lower_constant(vy_lower *l, vy_decl *d);
bool vy_lower_constants(vy_front *f); // all of them
// The value of a constant integer expression.
bool vy_lower_count(vy_front *f, const vy_ast_expr *e, vy_type type, uint64_t *n);
bool vy_keep_constants(vy_front *f); // their names stay with the module, for diagnostics
void vy_lower_block(vy_lower *l, const vy_stmt *block); // with a scope of its own
void vy_lower_switch(vy_lower *l, const vy_stmt *s);    // lower_switch.c
void vy_lower_body(vy_lower *l, const vy_func *fn);
vy_value vy_lower_expr(vy_lower *l, const vy_ast_expr *e); // a scalar
// Any value: its scalars, for which there is room; returns how many.
uint32_t vy_lower_value(vy_lower *l, const vy_ast_expr *e, vy_value *v);
uint32_t vy_lower_builtin(vy_lower *l, const vy_ast_expr *e, vy_value *v);
// lower_matrix.c: x op y of types a and b, in x, which has room for any matrix; gives the type.
vy_text_type vy_lower_product(vy_lower *l, uint8_t op, vy_text_type a, vy_value *x, vy_text_type b,
                              const vy_value *y);
uint32_t vy_lower_products(vy_lower *l, const vy_ast_expr *e, vy_value *v); // of a chain
void vy_lower_make_matrix(vy_lower *l, const vy_ast_expr *e, vy_value *v);
void vy_lower_library(vy_lower *l, const vy_ast_expr *e, uint32_t n, vy_value *v); // n scalars
uint32_t vy_lower_matrix(vy_lower *l, const vy_ast_expr *e, vy_value *const *args, vy_value *v);
// lower_member.c: parts of values.  The indices on the way to a part:
typedef vy_value vy_path[VY_MAX_STEPS];
void vy_lower_path(vy_lower *l, const vy_ast_expr *e, vy_path path);
// v, a value, becomes the part; the part of `whole`, of n scalars, becomes `part`.
void vy_take_part(vy_lower *l, const vy_member *steps, const vy_value *path, vy_value *v);
void vy_put_part(vy_lower *l, const vy_member *steps, const vy_value *path, vy_value *whole,
                 uint32_t n, const vy_value *part);
void vy_lower_assign(vy_lower *l, const vy_stmt *s); // lower_place.c
// A variable that begins as v[], one for each scalar.
void vy_lower_variable(vy_lower *l, const vy_decl *d, const vy_value *v);
bool vy_lower_index(vy_lower *l, const vy_ast_expr *e, vy_value index[VY_MAX_RANK]);
// lower_element.c: elements of buffers and arrays, and components of those that are vectors
bool vy_is_element(const vy_ast_expr *e);
uint32_t vy_lower_load(vy_lower *l, const vy_ast_expr *e, vy_value *v);
vy_buffer vy_lower_place(vy_lower *l, const vy_ast_expr *e, vy_value index[VY_MAX_RANK]); // of one
// The dimensions of column c of d, which is `column`; gives its rank, 0 after an error.
uint32_t vy_lower_column(vy_lower *l, const vy_decl *d, uint32_t c, vy_dim dims[VY_MAX_RANK],
                         vy_column *column);
vy_buffer vy_lower_buffer(const vy_lower *l, const vy_decl *d);
// Inlines a call; results[n]: the scalars of its values.
bool vy_lower_call(vy_lower *l, const vy_ast_expr *e, uint32_t n, vy_value *results);
void vy_lower_function_body(vy_lower *l, uint32_t n, vy_value *results); // of l->func
// x op y of n and m scalars, in x; returns how many.
uint32_t vy_lower_operator(vy_lower *l, uint8_t op, uint32_t n, vy_value *x, uint32_t m,
                           const vy_value *y);
// Opens the loop and binds its variable; false after an error.
bool vy_lower_range(vy_lower *l, const vy_range *r, const vy_loop_hint *hint);
vy_dim vy_lower_dim(vy_lower *l, const vy_ast_expr *e);
bool vy_lower_dims(vy_lower *l, const vy_decl *d, vy_dim dims[VY_MAX_RANK]);
bool vy_dim_known(const vy_lower *l, vy_dim d, int64_t *value);
void vy_lower_at(vy_lower *l, uint32_t line, uint32_t column);
bool vy_lower_stopped(vy_lower *l); // after an error, or beyond a limit

#endif
