// SPDX-License-Identifier: MIT
// emit.h: internals of the emitter.  Not installed.
//
// A function is emitted into three streams that are joined at its end:
//
//   variables   local arrays
//   prologue    what is computed once at the top: parameters, built-ins, extents, the domain check.
//               A stream of its own because it is made on demand, but dominates all code.
//   code        the body
//
// f->out is the stream that helpers write to.
#ifndef VYRE_EMIT_H
#define VYRE_EMIT_H

#include "spirv/words/module.h"
#include "spirv/describe/describe.h"

// --------------------------------------------------------------------------------------- emit.c
typedef struct vy_emit_extent {
    bool constant;
    uint32_t value;          // if constant
    uint32_t field;          // else: field of the parameter block + 1
    uint32_t length_of;      // else: the buffer whose length it is
    uint32_t groups;         // else: the axis + 1 whose workgroups it counts
    uint32_t id, id31, id64; // as u32; at most 2³¹ (for signed indices); as u64.  0: not made yet
} vy_emit_extent;

typedef struct vy_memory { // of a buffer, which several variables may be views of
    uint32_t variables;
    bool loaded, stored; // through any of them
} vy_memory;

typedef struct vy_array { // a buffer, shared or local array of the function
    uint32_t var;
    uint32_t elem;       // type of an element in memory
    uint32_t array_type; // shared, local
    uint32_t length;     // shared, local: elements in memory, at least 1
    uint32_t pointer;    // pointer to one
    SpvStorageClass cls;
    vy_mem_form form;
    vy_type type;            // element type as declared
    vy_emit_extent *extents; // rank entries
    uint32_t offset_field;   // VY_PARAM_OFFSET: field of the parameter block + 1
    bool measured;           // its length is asked for
    uint32_t length_id;      // hosted.c: of the first axis
    vy_memory memory;        // at the first variable of that memory
} vy_array;

typedef struct vy_emit_frame { // an open construct
    uint32_t opener;           // instruction
    uint32_t closer;           // IF: its ELSE
    uint32_t cond;             // IF: id of the condition
    uint32_t merge, other;     // labels: merge; else or continue.  merge 0: an IF without blocks
    uint32_t header;           // label of the block that branches (IF) or of the loop header
    uint32_t first_end;        // block where the first arm ended, or before a loop's guard or body
    uint32_t phis, carries;    // loops: offset in code of the first phi, and how many
    uint32_t go,
        go_phi; // loops: false in the iteration that leaves, and the place of its phi; or 0
    // Label after the guard of a LOOP, or after the body of a WHILE that its condition guards; or 0
    uint32_t skip;
    uint32_t count; // LOOP: trip count, where it is computed
    uint32_t limit; // LOOP: what its counter is compared with
    // LOOP: the phi that counts, its position, its type and, if known early, its next value
    uint32_t counter, counter_phi, counter_next, counter_step;
    vy_type counter_type;
    bool test_first;       // loops: see emit_control.c
    const uint32_t *inits; // loops, while they begin
} vy_emit_frame;
VY_VEC_TYPE(vy_frame_vec, vy_emit_frame);

// What spirv/target/ remembers of a function; 0: not needed yet.
typedef struct vy_target_state {
    uint32_t zero, no;                  // a 0 and a `false` that no optimiser recognises
    uint32_t watch_pointer, watch_word; // the word that records that the driver ended loops
    uint32_t *arrays; // by instruction: accesses to local and shared arrays up to it
    bool *many;       // by instruction: reached by very many operand paths (lavapipe_ways.c)
} vy_target_state;

typedef struct vy_fn {
    vy_spv *m;
    const vy_program *p;
    vy_facts *facts;
    vy_describe *d; // NULL in a library function
    vy_words variables, prologue, code;
    vy_words *out;
    uint32_t block;          // label of the block being written
    uint32_t *ids;           // by instruction
    uint32_t *leaf_ids;      // by leaf
    vy_array *arrays;        // by buffer id
    vy_emit_extent *extents; // of all arrays
    vy_frame_vec frames;
    vy_words init_ids;
    vy_emit_frame closed;        // the construct closed last: its RESULTs directly follow it
    uint32_t closed_end;         // block where its last arm, or its continue target, ended
    uint32_t *params;            // by field of the parameter block: id of its value
    uint32_t *members;           // by field: member of the struct
    uint32_t *blocks;            // by field: the variable that it is a member of
    SpvStorageClass param_class; // of those that the host of a shader does not have
    uint32_t base_field[3], count_field[3]; // GROUP_BASE, NUM_GROUPS by axis: field + 1
    uint32_t in_domain;                     // bool: this lane is not padding; 0: none is
    vy_emit_extent *over_extents;           // by over variable
    uint32_t *over_ids;
    uint32_t input_values[VY_INPUT_COUNT * 3], input_vectors[VY_INPUT_COUNT], global_ids[3];
    bool exact;   // no contraction
    bool library; // a function of the library: its store is the return value
    uint32_t returned;
    bool lines, names; // write OpLine, OpName
    uint32_t last_line, last_column;
    vy_words interface;         // global variables in use
    vy_words listed;            // by id: is it in the interface?
    vy_target_state target;     // of spirv/target/
    bool spins;                 // there is a vy_spin
    uint32_t ifs, loops;        // open now
    uint32_t nesting, at, line; // the greatest depth, and the line of the instruction there
} vy_fn;

// Emits the entry point of a program and describes it.  False with m->diag or m->oom set.
bool vy_emit_kernel(vy_spv *m, const vy_program *p, const char *entry, vy_describe *d);
// Emits everything from the first to the last instruction of f->p.
bool vy_emit_body(vy_fn *f);
bool vy_fn_begin(vy_fn *f, vy_spv *m, const vy_program *p);
// Appends the finished function; params are pairs of type and id.
void vy_fn_join(vy_fn *f, uint32_t function, uint32_t type, uint32_t fn_type, uint32_t n_params,
                const uint32_t *params, uint32_t label);
void vy_fn_free(vy_fn *f);
uint32_t vy_val(vy_fn *f, uint32_t id);               // SPIR-V id of an operand
uint32_t vy_factor(vy_fn *f, uint32_t i, uint32_t k); // of operand k of a product or quotient i
void vy_interface(vy_fn *f, uint32_t variable);       // a global variable the entry point uses

// One instruction with a result; the operands follow the result id.
uint32_t vy_op_n(vy_fn *f, SpvOp op, uint32_t type, uint32_t n, const uint32_t *operands);
#define VY_DO(f, op, type, ...)                                                                    \
    vy_op_n(f, op, type, sizeof((uint32_t[]){__VA_ARGS__}) / 4, (uint32_t[]){__VA_ARGS__})
uint32_t vy_ext(vy_fn *f, uint32_t inst, uint32_t type, uint32_t n, const uint32_t *operands);
#define VY_EXT(f, inst, type, ...)                                                                 \
    vy_ext(f, inst, type, sizeof((uint32_t[]){__VA_ARGS__}) / 4, (uint32_t[]){__VA_ARGS__})
// IAdd or IMul in u32, folding constants.
uint32_t vy_u32_op(vy_fn *f, SpvOp op, uint32_t a, uint32_t b);
uint32_t vy_and_bool(vy_fn *f, uint32_t a, uint32_t b); // 0 is true
uint32_t vy_select_id(vy_fn *f, uint32_t type, uint32_t c, uint32_t a, uint32_t b);
static inline uint32_t vy_bool_type(vy_fn *f) { return vy_spv_type(f->m, VY_BOOL); }

// ------------------------------------------------------------------------------------------ hooks
// Workarounds for driver faults (vy_spv.hooks).  Each is NULL where nothing is needed.  They are
// defined in spirv/target/, which alone knows about drivers.
typedef struct vy_hooks {
    uint32_t (*bound)(vy_fn *f, vy_type type, uint32_t bound); // computed bound of a loop counter
    uint32_t (*answer)(vy_fn *f, uint32_t answer); // computed condition of a WHILE or `break`
    bool (*test_first)(vy_fn *f, uint32_t loop);   // must this LOOP not be tested at its end?
    SpvLoopControlMask (*loop_control)(vy_fn *f);  // hints of a loop
    uint32_t (*address)(vy_fn *f, uint32_t i, uint32_t address); // that instruction i accesses
    uint32_t (*widen)(vy_fn *f, vy_type to, uint32_t v);         // i32 to 64 bits
    uint32_t (*rounded)(vy_fn *f, vy_type t, uint32_t code, uint32_t x); // Trunc, RoundEven
    uint32_t (*factor)(vy_fn *f, vy_type t, uint32_t x);                 // of a product, numerator
    uint32_t (*lanes)(vy_fn *f); // bool: this lane takes part in the kernel; 0: all do
    // Sqrt or InverseSqrt of f32, instruction i, where the device's is IEEE's at all numbers.
    uint32_t (*root)(vy_fn *f, uint32_t i, uint32_t code, uint32_t x);
    void (*end)(vy_fn *f); // at the end of a kernel, which all its invocations reach
} vy_hooks;

// --------------------------------------------------------------------------------- emit_counted.c
// What the header and the continue block of a LOOP need.
typedef struct vy_counted {
    vy_type type, unsigned_type;
    uint32_t t, ut; // their ids
    bool reverse;
    uint32_t from, to, step, count; // count: 0 for the forms that compare the variable itself
    uint32_t limit;                 // what the counting phi is compared with
} vy_counted;

// All but count, which vy_counted_first makes, and limit.
vy_counted vy_counted_loop(vy_fn *f, uint32_t loop);
// i + step cannot wrap, so the variable itself can be compared with `to`.
bool vy_counted_simple(vy_fn *f, uint32_t loop);
uint32_t vy_counted_first(vy_fn *f, vy_counted *c,
                          bool simple); // initial value of the counting phi
uint32_t vy_counted_limit(vy_fn *f, uint32_t loop, const vy_counted *c);
uint32_t vy_counted_test(vy_fn *f, const vy_counted *c, uint32_t phi); // condition to run the body
// The loop variable, at the top of the body; *next is the phi's next value if it is known there.
uint32_t vy_counted_variable(vy_fn *f, const vy_counted *c, uint32_t phi, uint32_t *next);

// -------------------------------------------------------------------------------------- emit_if.c
bool vy_emit_if(vy_fn *f, uint32_t i); // false: memory
void vy_emit_else(vy_fn *f, uint32_t i);
void vy_emit_endif(vy_fn *f);
// RESULT i, number k, of the `if` that ENDIF `end` has closed.
uint32_t vy_emit_if_result(vy_fn *f, uint32_t i, uint32_t end, uint32_t k);

// ---------------------------------------------------------------------------------- emit_blocks.c
void vy_label(vy_fn *f, uint32_t id);     // starts a block
void vy_branch(vy_fn *f, uint32_t label); // ends one
void vy_branch_if(vy_fn *f, uint32_t cond, uint32_t yes, uint32_t no);
bool vy_push_frame(vy_fn *f, vy_emit_frame frame); // of an open construct; false: memory
// Track the nesting depth, as a driver with a stack of masks does.
void vy_nest(vy_fn *f, uint32_t ifs, uint32_t loops);
void vy_unnest(vy_fn *f, uint32_t ifs, uint32_t loops);
// if (cond) { … }.  The end makes the phi: `value` where the body ran, else `otherwise`; type 0: no
// value.  cond 0 is true: then there is no branch at all.
typedef struct vy_guard {
    uint32_t header, merge;
} vy_guard;
vy_guard vy_guard_begin(vy_fn *f, uint32_t cond);
uint32_t vy_guard_end(vy_fn *f, vy_guard g, uint32_t type, uint32_t value, uint32_t otherwise);
// do { state = …next } while (!done).  begin returns the state's id; end takes its next value and
// the condition to leave.  The state of the last iteration is visible afterwards.
typedef struct vy_spin {
    uint32_t header, merge, next_label, patch;
} vy_spin;
uint32_t vy_spin_begin(vy_fn *f, vy_spin *s, uint32_t type, uint32_t initial);
void vy_spin_end(vy_fn *f, vy_spin *s, uint32_t done, uint32_t next);

// ------------------------------------------------------------------------- one file per kind of op
bool vy_emit_control(vy_fn *f, uint32_t i);                                       // emit_control.c
void vy_need_subgroup(vy_fn *f, SpvCapability c, vy_features feature, vy_type t); // emit_subgroup.c
uint32_t vy_emit_op(vy_fn *f, uint32_t i);  // emit_ops.c: PURE rows
uint32_t vy_emit_div(vy_fn *f, uint32_t i); // emit_int.c
uint32_t vy_emit_rem(vy_fn *f, uint32_t i);
uint32_t vy_emit_shift(vy_fn *f, uint32_t i);
uint32_t vy_emit_popcount(vy_fn *f, uint32_t i);
uint32_t vy_cast_id(vy_fn *f, vy_type to, vy_type from, uint32_t v); // emit_cast.c
uint32_t vy_emit_isnan(vy_fn *f, uint32_t i);                        // emit_float.c
uint32_t vy_emit_isinf(vy_fn *f, uint32_t i);
// emit_math.c: MATH rows of ir/core/ops.h.  native: in GLSL.std.450 or 0; own: f32 in the default
// mode.
typedef enum vy_math { VY_MATH_PLAIN, VY_MATH_BOUNDED, VY_MATH_MENDED } vy_math;
uint32_t vy_emit_function(vy_fn *f, uint32_t i, uint32_t native, vy_math own);
uint32_t vy_emit_sqrt(vy_fn *f, uint32_t i);
// library.c.  plain: of mathplain.vyre (f32), else of mathlib.vyre.
uint32_t vy_library_call(vy_fn *f, vy_op op, vy_type t, bool plain, uint32_t aux, uint32_t n,
                         const uint32_t *x);
bool vy_emit_library(vy_spv *m);             // library.c: the functions called and not yet emitted
uint32_t vy_emit_load(vy_fn *f, uint32_t i); // emit_memory.c
void vy_emit_store(vy_fn *f, uint32_t i);
void vy_emit_zero(vy_fn *f, uint32_t i);
uint32_t vy_emit_atomic(vy_fn *f, uint32_t i); // emit_atomics.c
void vy_emit_barrier(vy_fn *f);                // emit_subgroup.c
uint32_t vy_emit_subgroup(vy_fn *f, uint32_t i);
uint32_t vy_emit_at_least(vy_fn *f, uint32_t i);
void vy_params_declare(vy_fn *f); // params.c
uint32_t vy_param_id(vy_fn *f, uint32_t field);
// hosted.c: kernels that are bound as a shader is.  Can the length of the buffer's first axis be
// asked for, and what is it?  The buffer whose length a scalar is; 0: none.
bool vy_has_length(const vy_fn *f, uint32_t buffer);
uint32_t vy_length_of_scalar(const vy_fn *f, uint32_t scalar);
uint32_t vy_length_id(vy_fn *f, uint32_t buffer);
bool vy_is_strided(const vy_fn *f, uint32_t buffer);
uint32_t vy_strided_address(vy_fn *f, uint32_t buffer, const uint32_t *index); // in elements
uint32_t vy_uniform_block(vy_fn *f, uint32_t buffer);                          // its type
uint32_t vy_read_uniform(vy_fn *f, const vy_array *a, uint32_t address);
uint32_t vy_num_groups(vy_fn *f, uint32_t axis);
uint32_t vy_leaf_id(vy_fn *f, uint32_t leaf); // leaves.c: leaf index
uint32_t vy_subgroup_size(vy_fn *f);
uint32_t vy_lane(vy_fn *f);
uint32_t vy_lindex(vy_fn *f); // index of the invocation in its workgroup
uint32_t vy_local_x(vy_fn *f);
uint32_t vy_group_x(vy_fn *f); // as dispatched
typedef enum vy_extent_form { VY_EXTENT_U32, VY_EXTENT_31, VY_EXTENT_U64 } vy_extent_form;
uint32_t vy_extent_id(vy_fn *f, vy_emit_extent *e, vy_extent_form form);
// Makes the over variables.  bool: inside the domain, or 0.  *group: bool: the same on axes along
// which workgroups have one invocation, so that all of a workgroup is inside, or is not; or 0.
uint32_t vy_domain_check(vy_fn *f, uint32_t *group);
uint32_t vy_half_of_word(vy_fn *f, uint32_t word, uint32_t half); // f16 number 0 or 1 of a u32
bool vy_arrays_declare(vy_fn *f);  // arrays.c: shared and local arrays; false: m->diag
bool vy_buffers_declare(vy_fn *f); // arrays.c: buffers
// emit_memory.c, for atomics
typedef struct vy_address {
    uint32_t ok;      // bool, 0: always
    uint32_t address; // u32, in elements; unclamped
    bool safe;        // … but it is that of an element, or of element 0, also where ok is false
} vy_address;
vy_address vy_find_place(vy_fn *f, uint32_t i, bool zero_on_padding);
uint32_t vy_element_pointer(vy_fn *f, const vy_array *a, uint32_t address);
uint32_t vy_read_element(vy_fn *f, const vy_array *a, uint32_t address);
void vy_write_element(vy_fn *f, const vy_array *a, uint32_t address, uint32_t value);

// do { old = the f16 element; … } while another invocation changed its word.
typedef struct vy_halves {
    uint32_t u32, half, pointer, scope, word, old;
    vy_spin spin;
} vy_halves;
vy_halves vy_halves_begin(vy_fn *f, const vy_array *a, uint32_t address);
uint32_t vy_halves_end(vy_fn *f, vy_halves *h, uint32_t value); // returns the old value

void vy_no_contraction(vy_fn *f, uint32_t id); // where f->exact

#endif
