// SPDX-License-Identifier: MIT
// vyre.h: programs as data.  Parse them, build them, print them, check them, run them in the
// reference interpreter.  Differentiation is in autodiff/grad.h, SPIR-V in spirv/spirv.h.
//
// A *module* holds *programs*, each one compute kernel: parameters (buffers and scalars), an
// invocation domain `over(i: M, j: N)`, and a body in structured SSA form.
//
// Errors.  Nothing here prints, exits or aborts on bad input.  The first error of a module sticks
// in its vy_diag (vy_module_diag); later calls on that module do nothing and return a null handle,
// so a caller may build an entire program and check once.  Memory.  A module owns everything made
// in it; vy_module_free frees it.  Strings passed in are copied.  Threads.  Different modules may
// be used by different threads; one module by one thread at a time.
#ifndef VYRE_H
#define VYRE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

// On Windows: VY_BUILD while the libraries are built, VY_STATIC where they are linked statically.
#ifndef VY_API
#if defined(_WIN32) && defined(VY_BUILD)
#define VY_API __declspec(dllexport)
#elif defined(_WIN32) && !defined(VY_STATIC)
#define VY_API __declspec(dllimport)
#elif defined(_WIN32)
#define VY_API
#else
#define VY_API __attribute__((visibility("default")))
#endif
#endif

// The version of this header, and that of the library: equal, or the library is newer and takes
// what the header has.
//
// A struct of options begins with its size, so that later versions can have more members: sizeof
// the struct, or 0, then it is as version 0.1 has it.  All zero: defaults.  A member that the
// library does not know must be zero (E0003; of session/, E0801).
#define VY_VERSION_MAJOR 0
#define VY_VERSION_MINOR 1
#define VY_VERSION_PATCH 0
#define VY_VERSION "0.1.0"
VY_API const char *vy_version(void);

// ---------------------------------------------------------------------------------------- types
// Storage-only types (i8 u8 i16 u16) are element types of buffers: a load widens them to i32 or
// u32, a store truncates.
typedef enum vy_type {
    VY_VOID,
    VY_BOOL,
    VY_I32,
    VY_U32,
    VY_I64,
    VY_U64,
    VY_F16,
    VY_F32,
    VY_F64,
    VY_I8,
    VY_U8,
    VY_I16,
    VY_U16,
    VY_TYPE_COUNT
} vy_type;

VY_API const char *vy_type_name(vy_type type); // "f32"
VY_API bool vy_type_from_name(const char *s, size_t n, vy_type *out);
VY_API uint32_t vy_type_size(vy_type type); // bytes in a buffer; bool: 4, void: 0
VY_API bool vy_type_is_float(vy_type type);
VY_API bool vy_type_is_integer(vy_type type); // storage-only types included
VY_API bool vy_type_is_signed(vy_type type);  // signed integer
VY_API vy_type vy_type_loaded(vy_type type);  // i8 → i32 …; others: themselves

// A scalar of any type: floats in `f` (rounded to their type), signed integers sign-extended in
// `i`, unsigned and bool zero-extended in `u`.
typedef union vy_scalar {
    double f;
    int64_t i;
    uint64_t u;
} vy_scalar;

// One element between memory and scalar (little endian).  `type` may be storage-only.
VY_API vy_scalar vy_scalar_read(vy_type type, const void *memory);
VY_API void vy_scalar_write(vy_type type, vy_scalar value, void *memory);
VY_API double vy_round_to(vy_type float_type, double value); // to f16, f32 or f64, nearest even

// Handles.  id 0 is none.
typedef struct vy_value {
    uint32_t id;
} vy_value; // an SSA value
typedef struct vy_buffer {
    uint32_t id;
} vy_buffer; // a buffer, shared or local array
typedef struct vy_var {
    uint32_t id;
} vy_var; // a mutable variable while building
typedef struct vy_dim {
    uint32_t id;
} vy_dim; // a dimension: integer expression of scalars

typedef struct vy_module vy_module;
typedef struct vy_program vy_program;

// ---------------------------------------------------------------------------------- diagnostics
// Codes are listed in docs/diagnostics.md, one failing program each in tests/text/diag.
typedef enum vy_severity { VY_OK, VY_WARNING, VY_ERROR } vy_severity;
typedef enum vy_blame {
    VY_BLAME_PROGRAM, // the program or the request is wrong (exit status 1)
    VY_BLAME_SYSTEM,  // memory, device or file system (exit status 2)
} vy_blame;

typedef struct vy_diag {
    vy_severity severity; // VY_OK: nothing happened
    vy_blame blame;
    const char *code;      // "E0203", static
    uint32_t line, column; // from 1; 0 where there is none
    char text[400];
    char fix[300]; // what to do about it; may be empty
} vy_diag;
// For libraries that have such structs, too: copies `from` into *to, of `known` bytes, and sets its
// size to that.  from NULL: all zero.  `first`: the size where none is given.  False with *diag.
VY_API bool vy_take_options(void *to, size_t known, size_t first, const void *from,
                            const char *what, vy_diag *diag);

// Every diagnostic of the library by name: VY_E_MEMORY is E0001.  docs/diagnostics.md explains
// them.
typedef enum vy_code {
#define X(id, code, blame, fix) VY_E_##id,
#include "ir/diag_codes.h"
#undef X
    VY_E_COUNT
} vy_code;
VY_API bool vy_diag_is(const vy_diag *d, vy_code code);
// Writes `FILE:LINE:COL: error: TEXT [CODE]`, the source line, a caret and `fix: …` into `out`
// (at most `size` bytes, always terminated).  Returns the length it would have taken.  `source` may
// be NULL.  `color` adds ANSI colours.
VY_API size_t vy_diag_format(const vy_diag *d, const char *file, const char *source,
                             size_t source_size, bool color, char *out, size_t size);

// How many allocations of the library have failed in this thread so far.  An analysis that may
// answer "not proved" must not do so for lack of memory: if this number has changed during a call
// of the library, what the call computed is not a result, and it reports E0001.
VY_API uint64_t vy_memory_failures(void);

// --------------------------------------------------------------------------------------- modules
// Returns NULL only when memory is out.
VY_API vy_module *vy_module_new(void);
VY_API void vy_module_free(vy_module *m); // NULL is fine
VY_API const vy_diag *vy_module_diag(const vy_module *m);
VY_API bool vy_module_ok(const vy_module *m); // no error so far

// Parses `size` bytes of program text (need not be terminated).  `file` names it in diagnostics and
// in debug information.  Always returns a module unless memory is out (NULL); test vy_module_ok.  A
// module without an error has been checked (vy_module_check).
VY_API vy_module *vy_parse(const char *text, size_t size, const char *file);

// The same with other values for constants of the text: `value` is a number in the language's
// syntax, `true` or `false`.  A name that is no constant of the text, a value that does not fit its
// type, or a name given twice is an error of the module.
typedef struct vy_define {
    const char *name, *value;
} vy_define;
VY_API vy_module *vy_parse_with(const char *text, size_t size, const char *file,
                                const vy_define *defines, uint32_t count);

// Imports.  A text may begin with `import "PATH";` (docs/language.md 1.1).  The library reads no
// files: a callback gives the text of each, by vy_import_give, or says why it does not.  A file is
// recognised by its identity, however its path is written; vys_import_file (session/import.h) is a
// callback for the file system.
typedef struct vy_import vy_import; // one request, valid during the call
typedef void vy_import_read(void *user, vy_import *request);
VY_API const char *vy_import_path(const vy_import *i); // as written
VY_API const char *vy_import_from(const vy_import *i); // the name of the file that imports it
// Copies everything.  `name` is shown in diagnostics, and vy_import_from of what this text imports.
// `identity` NULL: the name.  The text is ignored where it is known already.
VY_API void vy_import_give(vy_import *i, const char *name, const char *identity, const char *text,
                           size_t size);
VY_API void vy_import_refuse(vy_import *i, const char *why); // "it does not exist"

typedef struct vy_parse_options {
    size_t size;              // of the struct, or 0 (vyre.h)
    const vy_define *defines; // of constants of any of the files
    uint32_t define_count;
    vy_import_read *import; // NULL: an import is an error
    void *user;
    const char *identity; // of the text itself; NULL: `file`
} vy_parse_options;
VY_API vy_module *vy_parse_from(const char *text, size_t size, const char *file,
                                const vy_parse_options *options); // NULL: vy_parse

// Lines of a module count on through its files: first those of the text itself, then those of what
// it imports, in the order of their imports.  So one number says file and line.
typedef struct vy_file_place {
    const char *file;
    uint32_t line;      // in that file; 0: none
    const char *source; // the file's text, or NULL
    size_t size;
} vy_file_place;
VY_API vy_file_place vy_module_place(const vy_module *m, uint32_t line);
// vy_diag_format for a diagnostic about this module or its derivatives, wherever its line is.
VY_API size_t vy_module_diag_format(const vy_module *m, const vy_diag *d, bool color, char *out,
                                    size_t size);
// The files that were imported, in order, by name; NULL past the end.
VY_API const char *vy_module_import(const vy_module *m, uint32_t index);
// Whether it is declared in an imported file (of a pipeline: its signature).
VY_API bool vy_program_imported(const vy_program *p);

// The file name and text a module was parsed from ("" and NULL otherwise).
VY_API const char *vy_module_file(const vy_module *m);
VY_API const char *vy_module_source(const vy_module *m, size_t *size);
// The largest n of `@order(n)` in it: how many derivative transforms made what it holds.
VY_API uint32_t vy_module_order(const vy_module *m);

VY_API uint32_t vy_module_program_count(const vy_module *m);
VY_API vy_program *vy_module_program(const vy_module *m, uint32_t index); // NULL past the end
// Renames a program or pipeline.  Error: *diag; the name is taken (E0202), or cannot be one.
VY_API bool vy_module_rename(vy_module *m, const char *from, const char *to, vy_diag *diag);
VY_API vy_program *vy_module_find(const vy_module *m, const char *name); // NULL if absent

// Prints canonical text: parse(print(m)) equals m, print(parse(t)) is a fixed point.  Returns a
// malloc'd, terminated string and its length in *size (may be NULL), or NULL when memory is out.
// Programs that vy_optimize has changed are printed as `@lowered` text with the marks of the passes
// (docs/language.md 16); for text that people read or that is differentiated again, call
// vy_drop_marks first.
VY_API char *vy_print(const vy_module *m, size_t *size);
// Removes what passes have proved of single accesses (that an index is in range, that no other
// invocation updates an element).  Programs mean the same; vy_optimize proves most of it again.
VY_API void vy_drop_marks(vy_module *m);

// Structural equality: same parameters, instructions, marks, types, constants; debug names of
// values, line numbers and the order of interned leaves and of intermediates do not count.
VY_API bool vy_module_equal(const vy_module *a, const vy_module *b);

// Binary form: magic, version, 256-bit digest (SHA-256) of the payload and the header's fields.
// vy_binary_write returns a malloc'd block.  vy_binary_read refuses anything corrupted, truncated
// or of another version with a diagnostic; the module it returns has been checked.
VY_API void *vy_binary_write(const vy_module *m, size_t *size);
VY_API vy_module *vy_binary_read(const void *data, size_t size);
VY_API bool vy_binary_is(const void *data, size_t size); // starts with the magic

// Checks the whole module: types, structure, uniform control flow around barriers, `out` buffers
// read before written, …  Returns vy_module_ok(m).
VY_API bool vy_module_check(vy_module *m);

// ------------------------------------------------------------------------------------ reflection
typedef enum vy_buffer_class {
    VY_IN,     // parameter, read only
    VY_OUT,    // parameter, cleared before each dispatch
    VY_INOUT,  // parameter
    VY_SHARED, // per workgroup
    VY_LOCAL,  // per invocation
} vy_buffer_class;

// How the contents of an `out` or workspace buffer start, zero otherwise (text: @init(ones),
// @init(NAME)).
typedef enum vy_init { VY_INIT_NONE, VY_INIT_ONES, VY_INIT_COPY } vy_init;

// The role of a derivative's parameter (autodiff/grad.h) with respect to the program that was
// differentiated.  Text does not express it: in a program that was parsed all are VY_IS_PARAMETER.
typedef enum vy_derivative_kind {
    VY_IS_PARAMETER,       // of a program that is no derivative
    VY_IS_PRIMAL,          // the same parameter of the source, with the same contents
    VY_IS_VALUE,           // what the source writes to the parameter
    VY_IS_GRADIENT,        // of a buffer
    VY_IS_SCALAR_GRADIENT, // of a scalar: one element
    VY_IS_COTANGENT,       // of an output; of an `inout` buffer: of its final contents
    VY_IS_WORKSPACE,       // compiler-made
    VY_IS_TANGENT,        // of an input, given; of an `inout` buffer: replaced by that of its final
                          // contents
    VY_IS_SCALAR_TANGENT, // of a scalar, given: one element
    VY_IS_TANGENT_OUT,    // of an output; an `inout` one begins as zeros
} vy_derivative_kind;

typedef enum vy_derivative_mode {
    VY_READS,      // given by the caller, and left unchanged
    VY_OVERWRITES, // its previous contents do not matter
    VY_IN_PLACE,   // given, and changed: `inout` of the source whose final contents are requested
    VY_ADDS,       // a gradient that is added to the previous contents
} vy_derivative_mode;

typedef struct vy_derivative_role {
    vy_derivative_kind kind;
    vy_derivative_mode mode;
    const char *of;     // the parameter of the source, or NULL.  WORKSPACE: one of that length
    uint32_t parameter; // its vy_buffer.id there; of a scalar: its index
    // In derivatives of derivatives: the parameter of the first source whose shape it has, and its
    // vy_buffer.id or index there.
    const char *root;
    uint32_t root_parameter;
    // Its relation to that one.  PRIMAL, VALUE: it is that parameter.  Else it belongs to a
    // derivative of it: the kind that it had there.
    vy_derivative_kind root_kind;
} vy_derivative_role;
static inline bool vy_is_tangent(vy_derivative_kind kind)
{
    return kind == VY_IS_TANGENT || kind == VY_IS_SCALAR_TANGENT || kind == VY_IS_TANGENT_OUT;
}
// Is it the parameter of the source, and no derivative of it?
static inline bool vy_is_source(vy_derivative_kind kind)
{
    return kind == VY_IS_PRIMAL || kind == VY_IS_VALUE;
}
static inline bool vy_is_gradient(vy_derivative_kind kind)
{
    return kind == VY_IS_GRADIENT || kind == VY_IS_SCALAR_GRADIENT;
}

typedef struct vy_buffer_info {
    const char *name;
    vy_buffer_class cls;
    vy_type type;
    uint32_t rank;
    const vy_dim *dims;
    uint32_t set, binding; // parameters
    bool workspace;        // compiler-made: the runtime allocates it (text: @workspace)
    bool owned;            // each element is one invocation's (text: @owned)
    vy_init init;
    const char *init_from; // VY_INIT_COPY: name of the parameter it starts as a copy of
    vy_derivative_role role;
    uint32_t line;
} vy_buffer_info;

typedef struct vy_scalar_info {
    const char *name;
    vy_type type;
    uint32_t line;
} vy_scalar_info;

typedef struct vy_over_info {
    const char *name;
    vy_dim extent;
} vy_over_info;

VY_API const char *vy_program_name(const vy_program *p);
// The n of `@order(n)`: how many derivative transforms made it.
VY_API uint32_t vy_program_order(const vy_program *p);
// Does the text it was parsed from have a constant of that name?
VY_API bool vy_program_has_constant(const vy_program *p, const char *name);
// Has the shader that it was read from a scalar of that name, which nothing reads?
VY_API bool vy_program_leaves_unread(const vy_program *p, const char *name);
VY_API uint32_t vy_program_buffer_count(const vy_program *p); // parameters, shared and local arrays
// Valid until the program changes.  Buffers are numbered from 1, as handles are.
VY_API vy_buffer_info vy_program_buffer(const vy_program *p, vy_buffer b);
// The parameter or shared array of that name; id 0: none.  (Local arrays may share a name with
// others: those that passes make have the name of what they replace.)
VY_API vy_buffer vy_program_find_buffer(const vy_program *p, const char *name);
VY_API uint32_t vy_program_scalar_count(const vy_program *p);
VY_API vy_scalar_info vy_program_scalar(const vy_program *p, uint32_t index);
// Index of the scalar of that name; UINT32_MAX: none.
VY_API uint32_t vy_program_find_scalar(const vy_program *p, const char *name);
VY_API uint32_t vy_program_over_count(const vy_program *p);
VY_API vy_over_info vy_program_over(const vy_program *p, uint32_t index);
VY_API void vy_program_workgroup(const vy_program *p, uint32_t xyz[3]);
// Does an instruction have a value of this type?
VY_API bool vy_program_computes(const vy_program *p, vy_type type);
VY_API bool vy_program_exact(const vy_program *p); // text: `@exact program`; see vy_exact
// Does it have what only a `@lowered program` may: marks of passes, or operations that only passes
// make?
VY_API bool vy_program_lowered(const vy_program *p);
VY_API uint32_t vy_program_instruction_count(const vy_program *p);
// Values of all dimensions and extents of a program, indexed by vy_dim.id, given the values of its
// integer scalars, the lengths of the buffers declared `?` by vy_buffer.id, and num_groups by axis
// (-1: not known; NULL: none is).  OPEN: it depends on one that is not known.  BAD: overflow,
// division by zero.
typedef enum vy_dim_state { VY_DIM_IS_KNOWN, VY_DIM_IS_OPEN, VY_DIM_IS_BAD } vy_dim_state;
VY_API uint32_t vy_program_dim_count(const vy_program *p); // one more than the largest id
VY_API void vy_program_dim_values(const vy_program *p, const int64_t *scalars, const bool *known,
                                  const int64_t *lengths, const int64_t *groups, int64_t *values,
                                  vy_dim_state *states);
// Is the size of its workgroup along x a multiple of `lanes`?  (True if `lanes` is 0.)
VY_API bool vy_program_row_fills(const vy_program *p, uint32_t lanes);
// Upper bound of the iterations that all loops of one invocation run together, given the values of
// scalars (by index) and dimensions (by vy_dim.id).  *complete: false where a loop depends on data
// (or memory is out); such a loop counts as one iteration.
VY_API uint64_t vy_program_loop_iterations(const vy_program *p, const int64_t *scalars,
                                           const int64_t *dim_values, bool *complete);
// Index of the scalar parameter that is the whole dimension, or -1.
VY_API int vy_program_dim_scalar(const vy_program *p, vy_dim d);

// ---------------------------------------------------------------------------------------- building
// A program is built front to back.  The builder folds constants, applies exact algebraic rules and
// shares equal values as it goes.
//
//   vy_module *m = vy_module_new();
//   vy_builder *b = vy_program_begin(m, "scale");
//   vy_value   n = vy_param_scalar(b, "N", VY_U32);
//   vy_dim     d = vy_dim_value(b, n);
//   vy_buffer  x = vy_param_buffer(b, "x", VY_IN, VY_F32, 1, &d);
//   vy_buffer  y = vy_param_buffer(b, "y", VY_OUT, VY_F32, 1, &d);
//   vy_value   i = vy_over(b, "i", d);
//   vy_store(b, y, &i, vy_mul(b, vy_load(b, x, &i), vy_float(b, VY_F32, 2)));
//   vy_program *p = vy_program_end(b);
typedef struct vy_builder vy_builder;

VY_API vy_builder *vy_program_begin(vy_module *m, const char *name);
// Finishes and appends the program; frees the builder in every case.  NULL after an error.
VY_API vy_program *vy_program_end(vy_builder *b);
// Gives up: frees the builder, appends nothing.
VY_API void vy_program_abandon(vy_builder *b);
VY_API vy_module *vy_builder_module(vy_builder *b);

// Source place of what is built next (line 0: none).
VY_API void vy_at(vy_builder *b, uint32_t line, uint32_t column);
// Debug name of a value; shows in printed text and in SPIR-V.
VY_API void vy_name(vy_builder *b, vy_value v, const char *name);

// Dimensions: constants, scalar parameters, + − * / % min max isqrt of those, and `?`.
VY_API vy_dim vy_dim_const(vy_builder *b, int64_t value);
VY_API vy_dim vy_dim_value(vy_builder *b, vy_value scalar_parameter);
// What dimensions are made of.  Those before VY_DIM_ADD have no operands, and are made by functions
// of their own (vy_dim_const, …).
typedef enum vy_dim_op {
    VY_DIM_CONST,   // value
    VY_DIM_SCALAR,  // value = scalar parameter index
    VY_DIM_UNKNOWN, // `?`: value = buffer id (rank 1)
    VY_DIM_STEP,    // pipelines only: value = index of the VALUE or REPEAT step that gives it
    VY_DIM_GROUPS,  // num_groups: value = axis; of programs without a domain, and of pipelines
    VY_DIM_ADD,
    VY_DIM_SUB,
    VY_DIM_MUL,
    VY_DIM_DIV,
    VY_DIM_REM,
    VY_DIM_MIN,
    VY_DIM_MAX,
    VY_DIM_SQRT, // isqrt(a), rounded down, 0 if a is negative; b is a again
} vy_dim_op;
// op: VY_DIM_ADD or a later one; for VY_DIM_SQRT pass x as y.
VY_API vy_dim vy_dim_binary(vy_builder *b, vy_dim_op op, vy_dim x, vy_dim y);
// Conditions, 1 or 0: x < y, x != y, and the negation of one.  The minimum of two is `and`, the
// maximum `or`.
VY_API vy_dim vy_dim_less(vy_builder *b, vy_dim x, vy_dim y);
VY_API vy_dim vy_dim_differ(vy_builder *b, vy_dim x, vy_dim y);
VY_API vy_dim vy_dim_not(vy_builder *b, vy_dim condition);
// num_groups.x, .y, .z (axis 0, 1, 2), of a program without a domain or of a pipeline: how many
// workgroups the caller runs it in.
VY_API vy_dim vy_dim_groups(vy_builder *b, uint32_t axis);
VY_API vy_dim vy_dim_unknown(vy_builder *b); // `?`: rank 1 only

// Parameters; dims outermost first.  Bindings default to the order of declaration in set 0.
VY_API vy_buffer vy_param_buffer(vy_builder *b, const char *name, vy_buffer_class cls, vy_type type,
                                 uint32_t rank, const vy_dim *dims);
VY_API vy_value vy_param_scalar(vy_builder *b, const char *name, vy_type type);
VY_API void vy_buffer_binding(vy_builder *b, vy_buffer buf, uint32_t set, uint32_t binding);
// A shader's parameters stay where its host has them (text: `@shader program`, docs/language.md
// 17.1): derivatives keep those places, and what differentiation adds is in a set of its own.
typedef struct vy_layout {
    bool given;              // a place of the shader; else differentiation made the parameter
    bool uniform;            // in a uniform block; else buffers are storage, scalars push constants
    uint32_t set, binding;   // of all but push constants
    uint32_t offset;         // bytes to the first element
    uint32_t within;         // of which these are inside of the element of an open array of structs
    const uint32_t *strides; // of buffers: bytes from one index to the next, by axis; NULL: dense
} vy_layout;
VY_API void vy_shader(vy_builder *b); // before the following two
VY_API void vy_buffer_layout(vy_builder *b, vy_buffer buf, const vy_layout *layout);
VY_API void vy_scalar_layout(vy_builder *b, vy_value scalar, const vy_layout *layout);
// Marks a compiler-made buffer, which the runtime allocates (text: @workspace).
VY_API void vy_buffer_workspace(vy_builder *b, vy_buffer buf);
// Promises that all accesses to an element of a parameter in one dispatch are by one invocation
// (text: @owned): its gradient is added to without atomics.  The interpreter checks it (E0716).
VY_API void vy_buffer_owned(vy_builder *b, vy_buffer buf);
// What an `out` or workspace buffer starts with (from: for VY_INIT_COPY, else NULL).
VY_API void vy_buffer_init(vy_builder *b, vy_buffer buf, vy_init init, const char *from);
VY_API void vy_workgroup(vy_builder *b, uint32_t x, uint32_t y, uint32_t z);
// Floats of this program are computed as written, in every float mode (text: `@exact program`):
// nothing is contracted or reassociated, f32 functions are the library's and not the device's, and
// the builder folds only what every device rounds alike.  So two programs that share a computation
// get the same bits.  Must be called before the first instruction; not for pipelines (E0003).
VY_API void vy_exact(vy_builder *b);
// The program's gradient, its tangents are that program or pipeline of the module (text:
// `@vjp(rule) program`, `@jvp(rule) program`, docs/language.md 4.2).  It may be built later;
// vy_module_check says whether it fits (E0220).
VY_API void vy_program_vjp(vy_builder *b, const char *rule);
VY_API void vy_program_jvp(vy_builder *b, const char *rule);
VY_API vy_value vy_over(vy_builder *b, const char *name, vy_dim extent); // u32; the last is fastest
// least <= most in every launch of the program (text: `assume(h * w <= cstep)` after its
// parameters, docs/language.md 3.2).  A launch for which it does not hold is an error (E0717).
VY_API void vy_assume(vy_builder *b, vy_dim least, vy_dim most);
// Arrays: shared per workgroup (undefined at start), local per invocation (zeroed where declared).
VY_API vy_buffer vy_shared_array(vy_builder *b, const char *name, vy_type type, uint32_t rank,
                                 const vy_dim *dims);
VY_API vy_buffer vy_local_array(vy_builder *b, const char *name, vy_type type, uint32_t rank,
                                const vy_dim *dims);

// Values that are always in scope.
VY_API vy_value vy_float(vy_builder *b, vy_type type, double value); // rounded to type
VY_API vy_value vy_int(vy_builder *b, vy_type type, int64_t value);  // any numeric type; wrapped
VY_API vy_value vy_bool(vy_builder *b, bool value);
VY_API vy_value vy_const(vy_builder *b, vy_type type, vy_scalar value);
VY_API vy_value vy_zero(vy_builder *b, vy_type type);
typedef enum vy_builtin {
    VY_GID,
    VY_LID,
    VY_WID,
    VY_NUM_GROUPS, // three axes each
    VY_LINDEX,
    VY_LANE,
    VY_SUBGROUP_SIZE, // axis 0
} vy_builtin;
VY_API vy_value vy_builtin_value(vy_builder *b, vy_builtin id, uint32_t axis); // u32
VY_API vy_value vy_len(vy_builder *b, vy_buffer buf, uint32_t axis);           // u32
VY_API vy_type vy_value_type(const vy_builder *b, vy_value v);

// Operations, as the language names them.  Operand types must agree; there are no conversions.
VY_API vy_value vy_add(vy_builder *b, vy_value x, vy_value y);
VY_API vy_value vy_sub(vy_builder *b, vy_value x, vy_value y);
VY_API vy_value vy_mul(vy_builder *b, vy_value x, vy_value y);
VY_API vy_value vy_div(vy_builder *b, vy_value x, vy_value y);
VY_API vy_value vy_rem(vy_builder *b, vy_value x, vy_value y); // integers
VY_API vy_value vy_neg(vy_builder *b, vy_value x);
VY_API vy_value vy_fma(vy_builder *b, vy_value x, vy_value y, vy_value z);
VY_API vy_value vy_min(vy_builder *b, vy_value x, vy_value y);
VY_API vy_value vy_max(vy_builder *b, vy_value x, vy_value y);
VY_API vy_value vy_and(vy_builder *b, vy_value x, vy_value y); // integers, bools
VY_API vy_value vy_or(vy_builder *b, vy_value x, vy_value y);
VY_API vy_value vy_xor(vy_builder *b, vy_value x, vy_value y);
VY_API vy_value vy_not(vy_builder *b, vy_value x);
VY_API vy_value vy_shl(vy_builder *b, vy_value x, vy_value count);
VY_API vy_value vy_shr(vy_builder *b, vy_value x, vy_value count);
VY_API vy_value vy_eq(vy_builder *b, vy_value x, vy_value y);
VY_API vy_value vy_ne(vy_builder *b, vy_value x, vy_value y);
VY_API vy_value vy_lt(vy_builder *b, vy_value x, vy_value y);
VY_API vy_value vy_le(vy_builder *b, vy_value x, vy_value y);
VY_API vy_value vy_select(vy_builder *b, vy_value c, vy_value x, vy_value y);
VY_API vy_value vy_cast(vy_builder *b, vy_type to, vy_value x);
VY_API vy_value vy_bitcast(vy_builder *b, vy_type to, vy_value x); // 32- or 64-bit types
VY_API vy_value vy_stop_grad(vy_builder *b, vy_value x);
// Functions by name: abs sign sqrt rsqrt cbrt exp … (docs/language.md 7.1), and those defined in
// terms of others: recip relu fract mod step clamp mix smoothstep digamma.  Unknown names and wrong
// arities are errors of the module.
VY_API vy_value vy_call(vy_builder *b, const char *function, uint32_t count, const vy_value *args);
VY_API vy_value vy_polygamma(vy_builder *b, uint32_t n, vy_value x);

// Memory; `index` holds one integer value per axis.
VY_API vy_value vy_load(vy_builder *b, vy_buffer buf, const vy_value *index);
VY_API void vy_store(vy_builder *b, vy_buffer buf, const vy_value *index, vy_value value);
// op: "add" "sub" "min" "max" "and" "or" "xor" "exchange"; returns the old value.
VY_API vy_value vy_atomic(vy_builder *b, const char *op, vy_buffer buf, const vy_value *index,
                          vy_value value);
VY_API vy_value vy_atomic_cas(vy_builder *b, vy_buffer buf, const vy_value *index,
                              vy_value expected, vy_value value);
VY_API void vy_barrier(vy_builder *b);
// op: "add" "mul" "min" "max" "and" "or" "xor" "inclusive_add" "exclusive_add" "any" "all".
VY_API vy_value vy_subgroup(vy_builder *b, const char *op, vy_value x);
// op: "broadcast" "shuffle" "shuffle_xor"; lane or mask is u32.
VY_API vy_value vy_subgroup_lane(vy_builder *b, const char *op, vy_value x, vy_value lane);

// Mutable variables.  They become SSA values while building.
VY_API vy_var vy_var_new(vy_builder *b, const char *name, vy_value initial);
VY_API vy_value vy_get(vy_builder *b, vy_var v);
VY_API void vy_set(vy_builder *b, vy_var v, vy_value value);

// Control flow.  Each begin is closed by vy_end.  Values computed inside a construct, or after a
// statement that may have left it early, reach later code through variables.
VY_API void vy_if(vy_builder *b, vy_value condition);
VY_API void vy_else(vy_builder *b);
VY_API vy_value vy_for(vy_builder *b, const char *name, vy_value from, vy_value to); // step 1
VY_API vy_value vy_for_step(vy_builder *b, const char *name, vy_value from, vy_value to,
                            vy_value step, bool reverse);
// while: vy_while; …compute the condition…; vy_while_test(c); …body…; vy_end.
VY_API void vy_while(vy_builder *b);
VY_API void vy_while_test(vy_builder *b, vy_value condition);
VY_API void vy_checkpoint(vy_builder *b);
VY_API void vy_scope(vy_builder *b); // plain { … }
VY_API void vy_end(vy_builder *b);
VY_API void vy_break(vy_builder *b);
VY_API void vy_continue(vy_builder *b);
VY_API void vy_return(vy_builder *b);

// The candidate of which `word` is most likely a misspelling (at most one edit in three letters; of
// equally near ones the first in the alphabet), or NULL.
VY_API const char *vy_nearest_name(const char *word, uint32_t count, const char *const *candidates);

// ------------------------------------------------------------------------------------ interpreter
// One dispatch of one program in the reference interpreter: it defines what programs mean.
typedef struct vy_eval_buffer {
    const char *name;      // parameter
    void *data;            // row-major, in the buffer's own type; written in place
    const uint64_t *shape; // rank entries
    uint32_t rank;
} vy_eval_buffer;

typedef struct vy_eval_scalar {
    const char *name;
    vy_scalar value; // in the parameter's type
} vy_eval_scalar;

typedef struct vy_eval_options {
    size_t size;            // of the struct, or 0 (vyre.h)
    bool f64;               // compute and keep all floats in double: float buffers are double[]
    uint32_t subgroup_size; // 0: 32
    uint32_t groups[3];     // programs without `over`; 0 counts as 1
    bool report_races;
    bool report_out_of_range;
    bool report_uninitialised; // shared arrays and `out` buffers read before written
    // 0: workgroups, and the invocations of each, run in order; else in a pseudo-random order (the
    // invocations of a program with subgroup operations stay in order).
    uint64_t shuffle_seed;
    uint64_t max_steps; // instructions × lanes before giving up with a diagnostic; 0: no limit
    // Limit, in bytes, of compiler-made buffers and a pipeline's intermediates together (in their
    // own types, also with f64); more is an error.  0: no limit.
    uint64_t max_workspace_bytes;
} vy_eval_options;

typedef struct vy_eval_report {
    uint64_t races, out_of_range, uninitialised; // numbers of findings
    vy_diag first; // one of the first findings; races and uninitialised reads take precedence
    vy_diag first_out_of_range; // the first of that kind
} vy_eval_report;

// Every buffer parameter that is not a workspace must be given; workspace buffers are allocated and
// freed inside (unless given).  Scalars that appear as whole dimensions are inferred when they are
// not given; contradictions are errors.  `out` buffers are cleared first.
// Returns false with *diag filled on error.  `report` may be NULL.
VY_API bool vy_eval(const vy_program *p, const vy_eval_buffer *buffers, uint32_t buffer_count,
                    const vy_eval_scalar *scalars, uint32_t scalar_count,
                    const vy_eval_options *options, vy_eval_report *report, vy_diag *diag);

// ------------------------------------------------------------------- functions with a derivative
// A function whose derivative is stated by another one (text: `@vjp(g) fn f(…)`, docs/language.md
// 4.1).  Its calls stay calls until the program runs; a derivative is made of the rule's code.
//
//   static void clip(vy_builder *b, const vy_value *x, vy_value *y, void *user) { y[0] = x[0]; }
//   static void pass(vy_builder *b, const vy_value *x, vy_value *y, void *user)
//   {
//       vy_value one = vy_float(b, VY_F32, 1);
//       y[0] = vy_max(b, vy_neg(b, one), vy_min(b, x[1], one)); // x[1]: the cotangent
//   }
//   vy_type f[2] = {VY_F32, VY_F32};
//   vy_function_id c = vy_function_define(m, "clip", 1, f, 1, f, clip, NULL);
//   vy_function_vjp(m, c, vy_function_define(m, "pass", 2, f, 1, f, pass, NULL));
//   …                                                           // while a program is built:
//   vy_apply(b, c, 1, &x, &y);
typedef struct vy_function_id {
    uint32_t id; // 0: none
} vy_function_id;
// Builds the function's code: operations, `if` and loops on the arguments, which make results[…].
typedef void vy_function_body(vy_builder *b, const vy_value *args, vy_value *results, void *user);
// Defines a function before the programs that call it are begun.  0: the module's diag says why
// (E0003; E0220 where the code uses memory, barriers or subgroups).
VY_API vy_function_id vy_function_define(vy_module *m, const char *name, uint32_t param_count,
                                         const vy_type *params, uint32_t result_count,
                                         const vy_type *results, vy_function_body *body,
                                         void *user);
VY_API vy_function_id vy_function_find(const vy_module *m,
                                       const char *name); // of the text too; 0: none
// States f's derivative.  g: its parameters and the cotangents of its float results → the gradients
// of its float parameters.  h: its parameters and the tangents of the float ones → the tangents of
// its float results.  f takes and returns a float at least.  With one of the two, the other is made
// of it.  False: E0220.
VY_API bool vy_function_vjp(vy_module *m, vy_function_id f, vy_function_id g);
VY_API bool vy_function_jvp(vy_module *m, vy_function_id f, vy_function_id h);
// Calls it; a function without a rule is inlined.  False: the builder has failed.
VY_API bool vy_apply(vy_builder *b, vy_function_id f, uint32_t n, const vy_value *args,
                     vy_value *results);

// -------------------------------------------------------------------------------------- optimiser
typedef struct vy_opt_options {
    size_t size;    // of the struct, or 0 (vyre.h)
    int level;      // 0 … 3
    bool fast_math; // rules that give up exactness
    bool unchecked; // drop range guards
    // Strip-mining of innermost loops by this factor (ir/pass/target/strip_mine.c), for drivers
    // that limit how many iterations the loops of an invocation run; 0: 1.
    uint32_t chunk;
    // … True: in every launch the loops of `p` run so few iterations that it needs no strip-mining.
    // NULL: not known.
    bool (*few_iterations)(void *user, const vy_program *p);
    // Workgroups get an x size that is a multiple of this where programs cannot observe it, for
    // drivers that run lanes beyond the row; 0: they keep their sizes.
    uint32_t lanes;
    // Invocations of a workgroup of a domain so large that every such workgroup still finds enough
    // others to run beside, where no size is stated and the program cannot observe it; 0: the
    // default sizes.  At most what the device takes.
    uint32_t workgroup;
    bool final;     // the result will not be differentiated: stop_grad, straight_through and what
                    // else serves derivatives only is dropped
    bool registers; // loops over short rows are fully unrolled: a device has registers
    // The most elements of its domain that one invocation computes, where that saves loads
    // (ir/pass/device/coarsen.c); 0: 1.
    uint32_t coarsen;
    uint64_t invocations; // … as long as a domain keeps this many invocations
    uint32_t carried;     // … and no loop carries more values than this; 0: 40
    // … The extent of the domain of `p` along an axis in every launch, for both; -1: not known,
    // and assumed to be large.  NULL: nothing is known.
    int64_t (*extent)(void *user, const vy_program *p, uint32_t axis);
    bool subgroup_add;      // the device has subgroup arithmetic: sums may use it
    bool subgroup_types;    // … on f16 and 64-bit integers too
    bool subgroup_shuffle;  // … and shuffles: sums over runs of equal indices may use them
    bool workgroup_sums;    // … and are summed over the workgroup then: GPUs
    const char *dump_after; // name of a pass, "all", or NULL
    void (*dump)(void *user, const char *pass, const char *text);
    void *user;
    const char *skip; // omit this pass (tests)
    // The elements that one invocation computes are neighbours, and those that all lie inside the
    // domain are computed without conditions: for GPUs, which load four words at once.
    bool adjacent;
    // Of every subgroup of the device, for subgroup_shuffle; 0, or more than 128: not known.  Sums
    // are right, but not combined, where it is another.
    uint32_t subgroup_size;
    // What an invocation keeps in a workspace is together (ir/pass/target/place_workspaces.c): for
    // drivers on CPUs, which load lane by lane.
    bool by_invocation;
    // The greatest value of a dimension of `p` in all launches; -1: not known.  With `extent`, many
    // invocations that add to few elements add up in shared memory first
    // (ir/pass/device/shared_copies.c); NULL: they do not.
    int64_t (*number)(void *user, const vy_program *p, vy_dim d);
    // Where a domain has no more invocations than this, each is done by a workgroup of 64 if it
    // walks long rows (ir/pass/device/row_lanes.c): for GPUs.  Needs `extent`, `number`.  0: none.
    uint32_t rows;
    // Sums and products of gradients are rounded as they are written, on devices as in the
    // interpreter, though `registers` is set.
    bool precise;
    // Loops that begin at an invocation's place in the domain begin at its workgroup's, with a
    // condition on what they do (ir/pass/device/uniform_starts.c): for GPUs, which load once what
    // all lanes of a subgroup load.  So workgroups of three axes become planes
    // (workgroup_planes.c), and what loops check is checked before them (check_ahead.c).
    bool uniform_starts;
} vy_opt_options;

// Runs the pipeline on every program of the module, in place.  Returns vy_module_ok(m).
VY_API bool vy_optimize(vy_module *m, const vy_opt_options *options);
// Names of the passes in order; NULL past the end.
VY_API const char *vy_opt_pass_name(uint32_t index);

#ifdef __cplusplus
}
#endif
#endif
