// SPDX-License-Identifier: MIT
// module.h: a SPIR-V module under construction: section buffers, joined at the end; deduplicated
// types and constants.  Not installed.
//
// After memory has run out (m->oom), all functions remain harmless; the caller checks once at the
// end.
// SPIR-V ids are plain uint32_t, 0 is none.
#ifndef VYRE_MODULE_H
#define VYRE_MODULE_H

#include "ir/core/ir.h"
#include "spirv/spirv.h"

#include <spirv/unified1/GLSL.std.450.h>
#include <spirv/unified1/spirv.h>

VY_VEC_TYPE(vy_words, uint32_t);

// ------------------------------------------------------------------------------------- module.c
typedef enum vy_section {
    VY_SEC_ENTRY,       // OpEntryPoint
    VY_SEC_MODES,       // OpExecutionMode
    VY_SEC_SOURCE,      // OpString, OpSource
    VY_SEC_NAMES,       // OpName, OpMemberName
    VY_SEC_ANNOTATIONS, // OpDecorate, OpMemberDecorate
    VY_SEC_GLOBALS,     // types, constants, variables
    VY_SEC_FUNCTIONS,
    VY_SEC_COUNT
} vy_section;

typedef struct vy_lib_call { // a function of mathlib.vyre in use
    vy_op op;
    vy_type type;
    bool plain;     // one of mathplain.vyre
    uint32_t order; // of POLYGAMMA
    uint32_t item, id;
} vy_lib_call;
VY_VEC_TYPE(vy_lib_vec, vy_lib_call);

typedef struct vy_spv {
    const vy_spirv_options *options;
    uint32_t version;             // as in the header of the module
    const struct vy_hooks *hooks; // workarounds for drivers (spirv/emit/emit.h)
    vy_diag *diag;
    vy_features features;
    bool oom;
    vy_words sections[VY_SEC_COUNT];
    vy_words caps; // capabilities, sorted and made unique at the end
    uint32_t next_id;
    uint32_t extensions; // bit set of vy_extension
    uint32_t glsl;       // OpExtInstImport
    uint32_t file;       // OpString of the source file; those of its imports follow
    uint32_t *table;     // interned types and constants: word offset in GLOBALS + 1
    uint32_t table_size, table_used;
    vy_words known; // u32 constants: id, value, …; ids ascend
    uint32_t types[VY_TYPE_COUNT];
    uint32_t uint3_type;
    uint32_t input_vars[8]; // built-in inputs, by vy_input
    // struct { runtime array }: whether any variable of the memory is written, by element and form
    uint32_t block_types[2][VY_TYPE_COUNT * 3];
    vy_lib_vec lib;       // in order of first use
    uint32_t lib_nesting; // depth that their calls can add to a kernel's
    uint32_t lib_done;
    vy_strings names;    // debug names so far
    vy_words name_count; // how often each was used, by offset in `names`
} vy_spv;

typedef enum vy_extension {
    VY_EXT_8BIT_STORAGE,
    VY_EXT_16BIT_STORAGE,
    VY_EXT_FLOAT_CONTROLS,
    VY_EXT_ATOMIC_FLOAT_ADD,
    VY_EXT_COUNT
} vy_extension;

uint32_t vy_spv_id(vy_spv *m);
// Appends an instruction of `n` operand words.
void vy_spv_put(vy_spv *m, vy_words *to, SpvOp op, uint32_t n, const uint32_t *operands);
// Same, with a string after the first n operands.
void vy_spv_put_text(vy_spv *m, vy_words *to, SpvOp op, uint32_t n, const uint32_t *operands,
                     const char *text, uint32_t n_after, const uint32_t *after);
#define VY_PUT(m, to, op, ...)                                                                     \
    vy_spv_put(m, to, op, sizeof((uint32_t[]){__VA_ARGS__}) / 4, (uint32_t[]){__VA_ARGS__})
#define VY_GLOBAL(m, op, ...) VY_PUT(m, &(m)->sections[VY_SEC_GLOBALS], op, __VA_ARGS__)
#define VY_DECORATE(m, ...)                                                                        \
    VY_PUT(m, &(m)->sections[VY_SEC_ANNOTATIONS], SpvOpDecorate, __VA_ARGS__)

void vy_spv_capability(vy_spv *m, SpvCapability c);
void vy_spv_extension(vy_spv *m, vy_extension x); // omitted where the version includes it
void vy_spv_feature(vy_spv *m, vy_features bits);
void vy_spv_name(vy_spv *m, uint32_t id, const char *name); // unless stripped
// Joins the sections.  malloc'd words, NULL when out of memory.
uint32_t *vy_spv_finish(vy_spv *m, size_t *count);
void vy_spv_free(vy_spv *m);

// ---------------------------------------------------------------------------- validation_work.c
// What it takes to validate a module that we have written, except `done`.  False: out of memory.
bool vy_spirv_validation_work(const uint32_t *words, size_t count, vy_validation *out);

// -------------------------------------------------------------------------------------- types.c
// A type or constant with these operands, made at most once.  type: 0 for OpType….
uint32_t vy_spv_intern(vy_spv *m, SpvOp op, uint32_t type, uint32_t n, const uint32_t *operands);
#define VY_INTERN(m, op, type, ...)                                                                \
    vy_spv_intern(m, op, type, sizeof((uint32_t[]){__VA_ARGS__}) / 4, (uint32_t[]){__VA_ARGS__})
uint32_t vy_spv_type(vy_spv *m, vy_type t); // of values; declares what the type needs
uint32_t vy_spv_int_type(vy_spv *m, uint32_t width, bool is_signed); // no capability declared
uint32_t vy_spv_pointer(vy_spv *m, SpvStorageClass cls, uint32_t pointee);
uint32_t vy_spv_const(vy_spv *m, vy_type t, vy_scalar value);
uint32_t vy_spv_u32(vy_spv *m, uint32_t value);
bool vy_spv_known_u32(const vy_spv *m, uint32_t id, uint32_t *value); // id is a u32 constant
uint32_t vy_spv_bool(vy_spv *m, bool value);
uint32_t vy_spv_float(vy_spv *m, vy_type t, double value);
uint32_t vy_spv_int(vy_spv *m, vy_type t, int64_t value);
uint32_t vy_spv_zero(vy_spv *m, vy_type t);
uint32_t vy_spv_input(vy_spv *m, uint32_t input); // variable of a built-in, see vy_input
vy_type vy_unsigned_of(vy_type integer);          // i32 → u32 …
uint32_t vy_type_bits(vy_type t);                 // 32 for bool

typedef enum vy_input {
    VY_INPUT_GLOBAL_ID,
    VY_INPUT_LOCAL_ID,
    VY_INPUT_NUM_GROUPS, // hosted kernels only: a dispatch may be split
    VY_INPUT_GROUP_ID,
    VY_INPUT_LINDEX,
    VY_INPUT_LANE,
    VY_INPUT_SUBGROUP_SIZE,
    VY_INPUT_COUNT
} vy_input;

#endif
