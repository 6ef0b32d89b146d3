// SPDX-License-Identifier: MIT
// build.h: the internals of the builder, which most files of this folder share.
#ifndef VYRE_BUILD_H
#define VYRE_BUILD_H

#include "ir/core/ir.h"

// What sharing needs to know about an instruction.
typedef struct build_note {
    uint32_t region;  // serial of its region
    uint32_t version; // LOAD: version of the memory it read
} build_note;

typedef struct build_region {
    uint32_t serial;
    uint32_t opener; // IF, LOOP, WHILE or CHECKPOINT
    uint32_t middle; // ELSE, TEST or 0
} build_region;

// ---- api.c
// Are all operands of `what` usable here?  Reports the first that is not.
bool vy_usable(vy_builder *b, const char *what, uint32_t n, const vy_value *v);
// ---- variables.c
typedef struct build_variable {
    uint32_t value;  // current
    uint32_t name;   // offset in module names
    uint32_t logged; // serial of the last frame that logged its old value
    uint32_t mark;
    vy_type type;
} build_variable;

typedef struct build_undo {
    uint32_t var, value, logged;
} build_undo;

typedef enum build_frame_kind {
    FRAME_FUNCTION,
    FRAME_SCOPE,
    FRAME_BLOCK, // may be left from anywhere inside
    FRAME_IF,
    FRAME_GUARD, // implicit `if live` after a statement that may have left early
    FRAME_LOOP,
    FRAME_WHILE,
    FRAME_CHECKPOINT,
} build_frame_kind;

typedef struct build_frame {
    build_frame_kind kind;
    uint32_t serial;     // id of the frame in `logged`; SCOPE and FUNCTION share their parent's
    uint32_t undo_start; // first entry of the undo log that is this frame's
    uint32_t var_start;  // variables from here on were declared inside
    uint32_t then_start; // IF: first entry of then_values that is this frame's
    uint32_t carry_start, carry_count; // LOOP, WHILE: entries of carried
    uint32_t live, keep; // flag variables (index + 1); FUNCTION, BLOCK: live; LOOP, WHILE: both
    uint32_t condition;  // GUARD
    bool in_else;
} build_frame;

typedef struct build_carried {
    uint32_t var, carry;
} build_carried;

VY_VEC_TYPE(build_note_vec, build_note);
VY_VEC_TYPE(build_region_vec, build_region);
VY_VEC_TYPE(build_variable_vec, build_variable);
VY_VEC_TYPE(build_undo_vec, build_undo);
VY_VEC_TYPE(build_frame_vec, build_frame);
VY_VEC_TYPE(build_carried_vec, build_carried);
VY_VEC_TYPE(build_byte_vec, uint8_t);

// An entry of the table of shared values.  Probes compare hashes first; growing needs only these.
typedef struct build_entry {
    uint32_t id; // 0: free
    uint32_t hash;
} build_entry;

struct vy_builder {
    vy_module *m;
    vy_program *p;
    bool failed;
    bool rebuild; // made by vy_rebuild_begin
    uint32_t line, column;
    // sharing of equal values
    build_entry *table; // open addressing; size is a power of two
    uint32_t table_size, table_used;
    uint64_t looked; // lines of it that were looked at, which tests/unit/ir/test_sharing.c counts
    build_note_vec notes;     // parallel to the instructions
    build_region_vec regions; // open ones; [0] is the whole program
    build_byte_vec open;      // by region serial
    vy_id_vec versions;       // by buffer
    uint32_t parameters;      // buffers that are parameters
    uint32_t clock, epoch;    // memory versions; loads of written memory older than epoch are stale
    uint32_t *leaf_table;
    uint32_t leaf_table_size;
    // structured variables
    build_variable_vec vars;
    build_undo_vec undo;
    build_undo_vec then_values;
    build_frame_vec frames;
    build_carried_vec carried;
    uint32_t frame_serial, mark_serial;
    uint64_t inlined; // instructions of functions (inline.c)
    vy_id_vec scratch[3];
};

// Fails the builder and the module.
void vy_build_fail(vy_builder *b, vy_code code, const char *format, ...)
    __attribute__((format(printf, 3, 4)));
void vy_build_oom(vy_builder *b);
// The value of `op` by constant folding or an algebraic rule, or 0: `op` is to be emitted.  A rule
// may emit other operations.
uint32_t vy_fold(vy_builder *b, vy_op op, vy_type type, uint32_t aux, uint32_t nargs,
                 const uint32_t *args);
// The value of a PURE operation that has been computed already and is visible here, or 0.
uint32_t vy_made_before(vy_builder *b, vy_op op, vy_type type, uint32_t nargs,
                        const uint32_t *args);
// Appends an instruction as it is; 0 after an error.
uint32_t vy_append(vy_builder *b, vy_inst inst, const uint32_t *args, uint32_t version);
// Enters leaf `index` into the table.  False: out of memory.
bool vy_leaf_insert(vy_builder *b, uint32_t index);
// Opens a region of `opener` (0: the entire program).  False: out of memory.
bool vy_open_region(vy_builder *b, uint32_t opener);
// True if `id` may be used here.
bool vy_visible(const vy_builder *b, uint32_t id);
// A buffer whose `?` dimensions may be other buffers' lengths (intermediates of pipelines).
vy_buffer vy_build_buffer(vy_builder *b, const char *name, vy_buffer_class cls, vy_type type,
                          uint32_t rank, const vy_dim *dims);
vy_dim vy_dim_step(vy_builder *b, uint32_t step); // VY_DIM_STEP
// An extent of the domain as a length: a negative one counts as 0, as in the launch, while one of a
// buffer is an error.
vy_dim vy_dim_natural(vy_builder *b, vy_dim d);
// The innermost frame, and a new one.
build_frame *vy_frame_top(vy_builder *b);
bool vy_frame_push(vy_builder *b, build_frame_kind kind);
// Variables by index (+ 1 where new): see variables.c.
uint32_t vy_variable_new(vy_builder *b, vy_type type, uint32_t name, uint32_t value);
bool vy_variable_valid(vy_builder *b, vy_var v, const char *function);
void vy_variable_assign(vy_builder *b, uint32_t var, uint32_t value);
void vy_variable_name(vy_builder *b, uint32_t var, uint32_t value);
// Undoes the assignments logged since `start`.
void vy_variables_rewind(vy_builder *b, uint32_t start);
// Closes the innermost frame if it is a guard; variables declared inside stay declared.
void vy_guard_close(vy_builder *b);
void vy_if_end(vy_builder *b);        // branches.c
void vy_loop_end(vy_builder *b);      // loops.c
bool vy_control_begin(vy_builder *b); // base frame
void vy_control_end(vy_builder *b);   // closes it; an open construct is an error
void vy_control_free(vy_builder *b);

#endif
