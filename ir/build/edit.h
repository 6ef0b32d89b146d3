// SPDX-License-Identifier: MIT
// edit.h: the builder for passes and differentiation: instructions by id, from an old program into
// a new one.  (The builder of vyre.h, which checks its arguments, is for users.)
#ifndef VYRE_EDIT_H
#define VYRE_EDIT_H

#include "ir/core/access.h"

// A pass makes a new program from an old one:
//
//   vy_builder *b = vy_rebuild_begin(old);       // same parameters, buffers, dims; empty code
//   … vy_emit, vy_begin_*, …
//   vy_program *fresh = vy_rebuild_end(b);       // NULL after an error (module's diag says which)
//   vy_program_replace(old, fresh);              // old's contents become fresh's; handle stays
//
// Leaf ids of the old program stay valid in the new one.
vy_builder *vy_rebuild_begin(const vy_program *old);
// Room for that many instructions from the beginning: a long program is then not moved as it grows.
bool vy_build_expect(vy_builder *b, uint32_t instructions);
vy_program *vy_rebuild_end(vy_builder *b);
void vy_program_replace(vy_program *old, vy_program *fresh);
// A copy owned by module `m` (its programs do not list it; free with vy_program_free).  NULL: m's
// diag.
vy_program *vy_program_clone(const vy_program *p, vy_module *m);
// The same for a pipeline; programs[k]: the number in `m` of what was program k.
vy_pipeline *vy_pipeline_clone(const vy_pipeline *l, vy_module *m, const uint32_t *programs);
vy_program *vy_builder_program(vy_builder *b); // as built so far

// layout.c: places of a shader's parameters.  Gives buffer b its own list of strides, in the arena
// of m.
bool vy_layout_own(vy_module *m, vy_buf *b);
// The parameter being built has the place of one of the program that it is derived from.
void vy_layout_keep(vy_builder *b, vy_buffer made, const vy_buf *of);
void vy_layout_keep_scalar(vy_builder *b, vy_value made, const vy_scalar_param *of);
bool vy_builder_failed(const vy_builder *b);

// Emits a PURE, READ, WRITE or CONV operation: folds, canonicalises, shares.  Operand ids are of
// the program being built.  Returns the id of the value (an instruction, a leaf or a shared earlier
// value), 0 after an error or for VOID operations.
// May its two operands be exchanged?  The builder chooses their order then.
bool vy_op_commutes(vy_op op);
// Its last axis is that of vectors, or is not: it is printed so.
void vy_build_vector(vy_builder *b, vy_buffer buf, bool vector);
uint32_t vy_emit(vy_builder *b, vy_op op, vy_type type, uint32_t aux, uint32_t nargs,
                 const uint32_t *args);
// Sets flags on the instruction emitted last (INRANGE, OWNED).
void vy_emit_flags(vy_builder *b, uint32_t id, uint8_t flags);
// M[index] = f(M[index], v) as an atomic of that strength, or as load, operation and store.
// atomic: names f (not ATOMIC_CAS).  args: the index and v.  Returns the old value.
uint32_t vy_emit_update(vy_builder *b, vy_op atomic, vy_strength strength, uint32_t buffer,
                        uint32_t nargs, const uint32_t *args);
uint32_t vy_leaf_const(vy_builder *b, vy_type type, vy_scalar value);
void vy_leaf_drop(vy_leaf *l); // the leaf of a removed parameter; it has no uses
// Buffer b of the program becomes buffer to[b], in instructions, leaves and dimensions; 0: it is
// removed, and no instruction uses it.  (The caller changes the table of buffers itself.)
void vy_renumber_buffers(vy_program *p, const uint32_t *to);
uint32_t vy_leaf_other(vy_builder *b, vy_leaf_kind kind, vy_type type, uint32_t index,
                       uint32_t axis);

// Structure, low level: exactly the markers drawn in ir.h.  The arrays are copied.
void vy_begin_if(vy_builder *b, uint32_t cond);
void vy_begin_else(vy_builder *b, uint32_t n, const uint32_t *then_yields);
// Replaces the yields of the ELSE of the innermost IF, when they are known only at its end.
void vy_else_yields(vy_builder *b, uint32_t n, const uint32_t *ids);
// results[n] receives the values after the construct (an instruction or, where both yields are the
// same, that value).
void vy_end_if(vy_builder *b, uint32_t n, const uint32_t *else_yields, uint32_t *results);
// type: of the loop variable.  carries[n] receives the CARRY ids.  Returns the loop variable.
uint32_t vy_begin_loop(vy_builder *b, vy_type type, uint8_t flags, uint32_t from, uint32_t to,
                       uint32_t step, uint32_t n, const uint32_t *inits, uint32_t *carries);
// The iterations of a LOOP have numbers from 0, unsigned and of its variable's width: to − from may
// exceed the greatest signed number.
static inline vy_type vy_iteration_type(vy_type variable)
{
    return vy_type_size(variable) == 8 ? VY_U64 : VY_U32;
}
// (k − from)/step: the number of the iteration in which the loop variable is k.
vy_value vy_iteration_number(vy_builder *b, vy_type u, vy_value k, vy_value from, vy_value step);
// (to − from − 1)/step: the greatest such number, if the loop runs at all.
vy_value vy_iteration_last(vy_builder *b, vy_type u, vy_value from, vy_value to, vy_value step);
void vy_begin_while(vy_builder *b, uint8_t flags, uint32_t n, const uint32_t *inits,
                    uint32_t *carries);
void vy_loop_test(vy_builder *b, uint32_t cond);
// keep: 0 unless the loop may exit early (sets flag EXIT).  results[n] as above.
void vy_end_loop(vy_builder *b, uint32_t keep, uint32_t n, const uint32_t *nexts,
                 uint32_t *results);
// An IF with one arm and no yields: begins it unless the condition is known to hold (true: it was
// begun), and ends it.
bool vy_begin_if_unsure(vy_builder *b, uint32_t cond);
void vy_end_plain_if(vy_builder *b);
void vy_begin_checkpoint(vy_builder *b);
void vy_end_checkpoint(vy_builder *b, uint32_t n, const uint32_t *yields, uint32_t *results);

// Copies instruction `id` of `old` with operands (and markers) mapped through map[], which is
// indexed by old instruction id and is set for the copy.  Leaves map to themselves.  Copying every
// instruction in order copies the program.
void vy_copy_inst(vy_builder *b, const vy_program *old, uint32_t id, uint32_t *map);
// The same with these operands, ids of the program being built, in place of the mapped ones.
void vy_copy_with(vy_builder *b, const vy_program *old, uint32_t id, const uint32_t *args,
                  uint32_t *map);
// The same for a memory operation, which then accesses buffer `aux`.
void vy_copy_to(vy_builder *b, const vy_program *old, uint32_t id, uint32_t aux,
                const uint32_t *args, uint32_t *map);
static inline uint32_t vy_map(const uint32_t *map, uint32_t id)
{
    return VY_IS_LEAF(id) ? id : map[id];
}

// vy_program_end, with a step that changes the program before it is checked.  The step gets it
// without dead code, cleans up last (vy_pass_cleanup), and says whether it worked; if not, the
// module has the error.
typedef bool vy_program_step(vy_program *p, void *user);
vy_program *vy_program_end_after(vy_builder *b, vy_program_step *step, void *user);

// ------------------------------------------------------------- builder, for the text front end
// Variables that a loop's body assigns, so that only those are carried; NULL: all visible ones.
typedef struct vy_loop_hint {
    const vy_var *vars;
    uint32_t count;
    bool returns;    // the body contains a `return` of the function being built
    uint32_t leaves; // the outermost block around the loop that the body leaves; 0: none
} vy_loop_hint;
vy_value vy_for_hint(vy_builder *b, const char *name, vy_value from, vy_value to, vy_value step,
                     bool reverse, const vy_loop_hint *hint);
void vy_while_hint(vy_builder *b, const vy_loop_hint *hint);
// A function body being inlined: `return` inside leaves it, not the program.  results: one variable
// per returned value, made by the caller before with zero as initial value.
void vy_function_begin(vy_builder *b);
void vy_function_end(vy_builder *b);

// A block that may be left from anywhere inside, out of loops and other blocks too: what follows in
// it is then not executed.  The handle is valid until its end.
uint32_t vy_block_begin(vy_builder *b);
void vy_block_leave(vy_builder *b, uint32_t block); // vy_end ends it

// A local array that is cleared later, by its ZERO (text: `local v: f32[8] undefined;`).
vy_buffer vy_local_undefined(vy_builder *b, const char *name, vy_type type, uint32_t rank,
                             const vy_dim *dims);

// Sets the buffer's role with respect to the program of which the one being built is a derivative.
void vy_buffer_role(vy_builder *b, vy_buffer buf, const vy_derivative_role *role);

// The extent of an axis as a u32 leaf of the program being built: the constant, u32 scalar
// parameter or num_groups that its dimension is, else a VY_LEAF_LEN leaf.
uint32_t vy_extent_leaf(vy_builder *b, uint32_t buffer, uint32_t axis);
// `so_far`, and 0 ≤ index < extent; index: of any integer type.
vy_value vy_and_in_range(vy_builder *b, vy_value so_far, vy_value index, vy_value extent);

// What is built next gets the source place of `id` of `old`.
void vy_pass_at(vy_builder *b, const vy_program *old, uint32_t id);
// Gives value `fresh`, if it has no name yet, the debug name of `id` of `old`.
void vy_pass_name(vy_builder *b, const vy_program *old, uint32_t id, uint32_t fresh);
// Installs what `b` built as the new contents of *p.
bool vy_pass_finish(vy_builder *b, vy_program *p);
// Sets the workgroup of a program that declares none.
void vy_default_workgroup(vy_program *p);
// A node of another program's dimensions as one of the program being built: a constant, a number
// of workgroups, or arithmetic on what `made` has: that program's dimensions, here, as far as they
// have one.  (vy_dim){0}: an operand has none, or it is a scalar, a length or a step, which the
// caller knows.
vy_dim vy_dim_copy(vy_builder *b, const vy_dim_node *n, const vy_dim *made);
vy_dim vy_dim_own_scalar(vy_builder *b, uint32_t k); // scalar parameter k, as a dimension
// The value of a dimension of the program being built, as u32, which it must fit.
vy_value vy_dim_number(vy_builder *b, vy_dim d);
// In integer type `t`: the value of a dimension without operands (of the program's parameters; not
// of VY_DIM_STEP), and of operation `op` of two values.
vy_value vy_dim_leaf_value(vy_builder *b, vy_type t, const vy_dim_node *d);
vy_value vy_dim_operation_value(vy_builder *b, vy_type t, uint32_t op, vy_value x, vy_value y);
// A constant of the type of `like`, a float; and a function of one operand by its name.
static inline vy_value vy_float_like(vy_builder *b, vy_value like, double value)
{
    return vy_float(b, vy_value_type(b, like), value);
}
static inline vy_value vy_call_of(vy_builder *b, const char *function, vy_value x)
{
    return vy_call(b, function, 1, &x);
}

#endif
