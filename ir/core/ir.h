// SPDX-License-Identifier: MIT
// ir.h: the inside of programs, for the passes of ir/, autodiff/ and spirv/.  Not installed.
//
// A Program's code is ONE array of instructions in execution order.  Instruction 0 is a dummy; the
// id of a value is the index of the instruction that makes it, and an operand's id is smaller than
// its user's.  Values that exist independently of place (constants, scalar parameters, `over`
// variables, built-ins, lengths) are *leaves*, kept in a table of their own and named by ids with
// the top bit set; they are always in scope.
//
// Control flow is paired markers.  Operands in brackets; `k` is the instruction's aux.
//
//   IF [cond]                       LOOP [from, to, step, init…]     its value is the loop variable
//     …                               CARRY k [loop] …               one per carried value, at once
//   ELSE [then-yields…]               …                              after the LOOP
//     …                             ENDLOOP [(keep), next…]          keep: bool, only if flag EXIT:
//   ENDIF [else-yields…]            RESULT k [endloop] …             leave after this iteration if
//   RESULT k [endif] …                                               false
//                                   WHILE [init…]
//   CHECKPOINT []                     CARRY k [while] …
//     …                               …condition…
//   ENDCHECKPOINT [yields…]           TEST [cond]                    exit if false; the results are
//   RESULT k [endcheckpoint] …        …body…                         the carries' current values
//                                   ENDLOOP [(keep), next…]
//                                   RESULT k [endloop] …
//
// Every IF has an ELSE.  CARRYs come directly after their LOOP/WHILE and RESULTs directly after
// the closing marker, in order of k, all of them present.  A value is visible from its definition
// to the end of its region; a WHILE's condition region and body are one region.  With EXIT set and
// keep false the results are the next values of that iteration.  LOOP visits from, from+step, …
// < to; with flag REVERSE the same values backwards.
#ifndef VYRE_IR_H
#define VYRE_IR_H

#include "ir/core/mem.h"
#include "ir/core/op_info.h"
#include "ir/pipeline.h"
#include "ir/vyre.h"

#include <stdarg.h>

#define VY_LEAF_BIT 0x80000000u
#define VY_IS_LEAF(id) (((id)&VY_LEAF_BIT) != 0)
#define VY_LEAF_INDEX(id) ((id) & ~VY_LEAF_BIT)

// Stated limits; exceeding one is a diagnostic (LIMIT).
#define VY_MAX_INSTRUCTIONS (1u << 26)
#define VY_MAX_NESTING 1000u
#define VY_MAX_INLINED_STEPS (1u << 20) // of a pipeline into which others are inlined
#define VY_ZERO_STEP 16u // elements of a local array that a device clears per iteration of a loop
#define VY_MAX_RANK 32u

enum vy_inst_flags {
    VY_FLAG_REVERSE = 1, // LOOP
    VY_FLAG_EXIT = 2,    // LOOP, WHILE: ENDLOOP's first operand is `keep`
    // Marks: what passes have proved of an access.  A program that has one is a lowered program,
    // `@lowered program f(…) { … y[i] @in_range = …; }` (docs/language.md 16; marks.c).
    VY_FLAG_INRANGE = 4, // LOAD, STORE, ATOMIC_*: every index is in range
    VY_FLAG_OWNED = 8,   // ATOMIC_*: no other invocation updates the element
    VY_FLAG_ONCE = 16,   // ATOMIC_ADD, owned: nothing has touched the element, which is zero
    VY_FLAG_FIRST = 32,  // × n, in place of INRANGE: the first n indices are in range; n ≤ 7
    VY_FLAG_FIRSTS = 7 * VY_FLAG_FIRST,
    VY_FLAG_MARKS = VY_FLAG_INRANGE | VY_FLAG_OWNED | VY_FLAG_ONCE | VY_FLAG_FIRSTS,
};

typedef struct vy_inst {
    uint16_t op;  // vy_op
    uint8_t type; // vy_type of the value; VY_VOID for none
    uint8_t flags;
    uint32_t nargs;
    uint32_t args; // index of the first operand in vy_program.args
    uint32_t aux;  // memory ops: buffer id; CARRY/RESULT: k; POLYGAMMA: n;
                   // APPLY: the function
    uint32_t line; // source place; 0: none
    uint16_t column;
    uint16_t reserved;
    uint32_t name; // debug name: offset in vy_module.names, 0: none
} vy_inst;

typedef enum vy_leaf_kind {
    VY_LEAF_CONST,   // value
    VY_LEAF_SCALAR,  // index = scalar parameter
    VY_LEAF_OVER,    // index = over variable
    VY_LEAF_BUILTIN, // index = vy_builtin, axis
    VY_LEAF_LEN,     // index = buffer id, axis; u32
    // index = the value that differentiation could not compute; never in a finished program.
    VY_LEAF_POISON,
} vy_leaf_kind;

typedef struct vy_leaf {
    uint8_t kind, type;
    uint32_t index, axis;
    vy_scalar value;
} vy_leaf;

// Nodes refer to earlier nodes.  Same meaning as vy_expr in spirv/kernel.h.
typedef struct vy_dim_node {
    vy_dim_op op;
    uint32_t a, b; // operand nodes (ids as in vy_dim: from 1; node 0 is a dummy)
    int64_t value;
} vy_dim_node;

// What differentiation made a buffer for; the programs of one derivative find it by this.
typedef enum vy_made {
    VY_MADE_FOR_NOTHING,
    VY_MADE_TAPE,   // values that the reverse sweep reads
    VY_MADE_BASE,   // where the rows of a block begin on tapes of counted length
    VY_MADE_WINNER, // which invocation an extremum is from
    VY_MADE_LAST,   // which of that invocation's events
    VY_MADE_SUMS,   // accumulators, from which a total is made
    VY_MADE_PARTS,  // terms, from which a total is made
    VY_MADE_EXTENT, // nothing: the length of tapes is its extent (ir/host/count_whiles.c)
    VY_MADE_COUNT,  // how often a loop runs, found by running it ahead (the same)
} vy_made;

// While a derivative is built: the initial contents of a gradient that is added to what the
// caller's buffer holds.  The result has it as `inout`.
#define VY_INIT_KEEP ((vy_init)(VY_INIT_COPY + 1))

typedef struct vy_buf {
    const char *name; // in the module's arena
    vy_buffer_class cls;
    vy_type type;
    uint32_t rank;
    vy_dim *dims; // in the module's arena
    uint32_t set, binding;
    uint32_t view_of; // 0, or the buffer whose binding this is a view of (other front ends)
    bool workspace;
    vy_made made; // not in the text
    bool vector;  // declared as one of vectors: its rows are (for the printer; print_vector.c)
    // INOUT: each element that a dispatch loads, the same invocation has stored before.  OUT: it
    // stores all elements before it does anything else with them.  So the buffer may hold anything
    // at the start (ir/pass/scalar/mark_stored.c).  Not in the text
    bool stored_first;
    bool owned; // `@owned`: all accesses to an element in one dispatch are by one invocation
    vy_init init;
    const char *init_from;
    vy_derivative_role role; // in derivatives; names in the module's arena.  Not in the text
    // Programs of a module that were made from one another (rebuilt, cloned) have parameters in
    // common: those with equal links.  Otherwise unique within the module.  Not in the text
    uint32_t link;
    uint32_t line;
    vy_layout layout;
} vy_buf;

// Is it in memory that all workgroups see (a parameter or workspace), not shared or local?
static inline bool vy_is_global(vy_buffer_class cls) { return cls <= VY_INOUT; }

typedef struct vy_scalar_param {
    const char *name;
    vy_type type;
    uint32_t line;
    uint32_t rows; // in derivatives: the counter whose tapes have this many rows; 0: none
    uint32_t link; // as that of buffers
    vy_layout layout;
} vy_scalar_param;

typedef struct vy_over_var {
    const char *name;
    vy_dim extent;
} vy_over_var;

// What holds of every launch: least ≤ most.
typedef struct vy_assumption {
    vy_dim least, most;
} vy_assumption;

// A tensor of a host program: its dimensions are of the program, its list is in the module's arena.
typedef struct vy_tensor {
    vy_type type;
    uint32_t rank;
    const vy_dim *dims;
} vy_tensor;

// What a DISPATCH of a host program calls (host.h).  In the module's arena.
typedef struct vy_host_call {
    uint32_t callee; // in the module
    bool pipeline;   // a pipeline, or a program
    bool groups;     // three operands after the scalars are numbers of workgroups
    uint32_t tensors, scalars, extents; // operands of each kind; extents of results, as numbers
    uint32_t count;                     // parameters that are bound
    const vy_tensor *shapes;            // of their arguments
    const uint32_t *keys;               // of the extents
} vy_host_call;

VY_VEC_TYPE(vy_inst_vec, vy_inst);
VY_VEC_TYPE(vy_id_vec, uint32_t);
VY_VEC_TYPE(vy_leaf_vec, vy_leaf);
VY_VEC_TYPE(vy_dim_vec, vy_dim_node);
VY_VEC_TYPE(vy_buf_vec, vy_buf);
VY_VEC_TYPE(vy_scalar_vec, vy_scalar_param);
VY_VEC_TYPE(vy_over_vec, vy_over_var);
VY_VEC_TYPE(vy_assumption_vec, vy_assumption);
VY_VEC_TYPE(vy_host_call_vec, const vy_host_call *);

typedef struct vy_names vy_names; // names.c

// A function whose calls stay calls (functions.h).
typedef enum vy_rule_of {
    VY_VJP,
    VY_JVP,
    VY_RULES_OF,                // of functions and programs
    VY_DERIVE_AS = VY_RULES_OF, // of pipelines: derive_as.h
    VY_NAMES_OF
} vy_rule_of;
typedef struct vy_function {
    struct vy_program *code; // NULL while it is being built
    uint32_t result_count;
    uint8_t results[VY_MAX_RANK]; // vy_type
    uint32_t rules[VY_RULES_OF];  // 1 + the function that is its derivative; 0: none
} vy_function;
VY_VEC_TYPE(vy_function_vec, vy_function);

// Side tables over one program (structure.c), indexed by instruction id.
typedef struct vy_structure {
    uint32_t *partner; // IF→ELSE→ENDIF→IF; LOOP/WHILE→ENDLOOP→LOOP; TEST→its WHILE;
                       // CHECKPOINT↔ENDCHECKPOINT; others 0.  flow.h has names for these steps
    uint32_t *parent;  // the innermost opening marker that encloses the instruction (for ELSE and
                       // closing markers: the parent of their opener); 0 at top level.  CARRY: its
                       // loop
    uint32_t *depth;   // how many openers enclose it
    uint32_t *test;    // of a WHILE: its TEST
    uint32_t deepest;  // no depth is greater
    uint32_t count;    // of the instructions
} vy_structure;

struct vy_program {
    vy_module *module;
    const char *name;
    // Its gradient, its tangents are this program or pipeline (program_rule.c); of the signature of
    // a pipeline: what is differentiated in its place (derive_as.c); or NULL.
    const char *rules[VY_NAMES_OF];
    const char *stem; // while its stages are made: the program it is derived from; or NULL
    uint32_t line;
    uint32_t order;        // of the derivative: the n of `@order(n)`
    uint32_t workgroup[3]; // {0,0,0} until known; defaulted by vy_program_end
    bool has_workgroup;    // written by the user
    vy_inst_vec insts;     // [0] is a dummy
    vy_id_vec args;
    vy_leaf_vec leaves;
    vy_dim_vec dims;    // [0] is a dummy
    vy_buf_vec buffers; // [0] is a dummy: buffer ids count from 1
    vy_scalar_vec scalars;
    vy_over_vec overs;
    vy_assumption_vec assumes; // `assume(h * w <= cstep)`: checked by whatever launches it
    bool fast_math;            // how builders of derived code may fold
    bool exact;                // `@exact`: overrides fast_math, see vy_exact
    bool exact_sums;           // `@exact_sums`: see vy_exact_sums (derive_as.h)
    bool shader;    // `@shader`: it is bound as a shader is; sets and bindings are those of layouts
    bool signature; // parameters and intermediates of a pipeline (pipeline.h); no code
    bool host;      // a host program (host.h)
    bool function;  // the code of a function (functions.h)
    bool gathers;   // sums a gradient over its elements (autodiff/gather); not in the text
    vy_host_call_vec calls;
    vy_names *by_name[2]; // index of the buffers and of the scalars, or NULL
    // What passes have found of the code, for the next one; a rebuilt program has neither.
    vy_structure kept; // {0}: none
    bool clean;        // vy_pass_cleanup finds nothing in it
};

VY_VEC_TYPE(vy_program_vec, vy_program *);
VY_VEC_TYPE(vy_pipe_step_vec, vy_pipe_step);

struct vy_pipeline {
    vy_module *module;
    const char *name;
    vy_program *signature;  // owned; not among the module's programs
    vy_pipe_step_vec steps; // what they point to is in the module's arena
    uint32_t line;
};
VY_VEC_TYPE(vy_pipeline_vec, vy_pipeline *);
VY_VEC_TYPE(vy_derived_vec, struct vy_derived_entry *);
void vy_program_free(vy_program *p);   // NULL is fine
void vy_pipeline_free(vy_pipeline *p); // NULL is fine

// A file that a text imports.  The strings are in the module's arena.
typedef struct vy_source {
    const char *file;
    const char *text; // NULL in modules that were not parsed
    size_t size;
    uint32_t before; // lines of the module before its first
} vy_source;
VY_VEC_TYPE(vy_source_vec, vy_source);
VY_VEC_TYPE(vy_text_vec, const char *);

struct vy_module {
    vy_arena arena; // names and other small things that live as long as the module
    const char *file;
    const char *source;
    size_t source_size;
    vy_source_vec imports; // by line (files.c)
    uint32_t order;        // for programs that will be begun in it
    uint32_t links;        // the last link that a parameter has
    vy_program_vec programs;
    vy_pipeline_vec pipelines;
    vy_function_vec functions; // those whose calls stay calls (functions.h)
    vy_derived_vec derived;    // which of them are derivatives, and of what (autodiff/transform.h)
    vy_diag diag;
    vy_strings names;       // interned debug names
    const char **constants; // of the text
    uint32_t constant_count;
    const char **unread; // scalars of a shader that nothing reads, and so are no parameters
    uint32_t unread_count;
    vy_text_vec conditions; // that gradients are gathered under (autodiff/core/conditions.h)
};

// The largest integer whose square is at most `a`; 0 for negative ones.
int64_t vy_isqrt(int64_t a);

// --------------------------------------------------------------------------------------- access
static inline const uint32_t *vy_args(const vy_program *p, uint32_t id)
{
    return p->args.data ? p->args.data + p->insts.data[id].args : NULL; // a program may have none
}
static inline uint32_t vy_arg(const vy_program *p, uint32_t id, uint32_t k)
{
    return p->args.data[p->insts.data[id].args + k];
}
static inline vy_type vy_id_type(const vy_program *p, uint32_t id)
{
    return (vy_type)(VY_IS_LEAF(id) ? p->leaves.data[VY_LEAF_INDEX(id)].type
                                    : p->insts.data[id].type);
}
// The constant behind an id, or NULL.
static inline const vy_scalar *vy_id_const(const vy_program *p, uint32_t id)
{
    if (!VY_IS_LEAF(id)) return NULL;
    const vy_leaf *l = &p->leaves.data[VY_LEAF_INDEX(id)];
    return l->kind == VY_LEAF_CONST ? &l->value : NULL;
}

// A shared array is cleared by its entire workgroup, each invocation clearing a share: like a
// barrier, all invocations of the workgroup must reach it.
static inline bool vy_clears_shared(const vy_program *p, uint32_t id)
{
    const vy_inst *i = &p->insts.data[id];
    return i->op == VY_OP_ZERO && p->buffers.data[i->aux].cls == VY_SHARED;
}
void vy_program_drop_marks(vy_program *p); // vy_drop_marks of one
// What the optimiser once proved of its buffers need not hold of what was made of it since.
void vy_program_forget_stored(vy_program *p);

// ---------------------------------------------------------------------------------- diagnostics
// files.c: which file a line is in.
uint32_t vy_source_number(const vy_module *m, uint32_t line); // 0: the text itself, 1: import 0, …
// "line 3", or "line 3 of `b.vyre`" where line `here` is in another file.
const char *vy_line_text(const vy_module *m, uint32_t line, uint32_t here, char out[120]);
// Names of files, and of what a shader leaves unread; false: memory.
bool vy_take_files(vy_module *to, const vy_module *from);
bool vy_keep_unread(vy_module *m, uint32_t count, const char *const *names);

// Records the first error of the module; later ones are ignored.  `code` is a row of diag_codes.h.
// `fix` may be NULL: the code's standard fix is used.
void vy_fail(vy_module *m, vy_code code, uint32_t line, uint32_t column, const char *fix,
             const char *format, ...) __attribute__((format(printf, 6, 7)));
void vy_fail_oom(vy_module *m);
// Fails the module if an allocation has failed since `before`, a count of vy_memory_failures.
// Returns vy_module_ok.
bool vy_module_memory(vy_module *m, uint64_t before);
void vy_diag_set(vy_diag *d, vy_code code, uint32_t line, uint32_t column, const char *fix,
                 const char *format, ...) __attribute__((format(printf, 6, 7)));
void vy_diag_set_args(vy_diag *d, vy_code code, uint32_t line, uint32_t column, const char *fix,
                      const char *format, va_list args); // the same, for functions that wrap it

// ----------------------------------------------------------------------------------------- names
// Length of the UTF-8 sequence at `s`, 0 if it is malformed; *code: its character.
size_t vy_utf8_length(const char *s, const char *end, uint32_t *code);
// "PREFIX_OF", with a number in between where a buffer of `p` is called that.
const char *vy_free_name(const vy_program *p, const char *prefix, const char *of, char text[320]);
// The same after number *last, up to which all are taken (0: none is known); sets it to its own.
const char *vy_next_free_name(const vy_program *p, const char *prefix, const char *of,
                              uint32_t *last, char text[320]);
// vy_module_equal of two programs (equal.c).
bool vy_same_program(const vy_program *a, const vy_program *b);
// The first buffer made for that purpose; 0: none.
uint32_t vy_program_find_made(const vy_program *p, vy_made made);
// They keep searches by name fast: call the first after an append to the tables of buffers and
// scalars, the second where entries are renamed, removed or renumbered.
void vy_names_added(vy_program *p);
void vy_names_drop(vy_program *p);
// Can the text express it, in back quotes if necessary?
bool vy_name_printable(const char *name);

// --------------------------------------------------------------------------------------- scalars
// Value of a PURE operation on constants; `type` is the operands' type (for SELECT the arms', with
// args[0] the condition; for CAST and BITCAST the operand's, and `result` the result's).  Returns
// false for rows that have none.  With f64 set, floats of every type are computed in double.
bool vy_scalar_eval(vy_op op, vy_type type, vy_type result, const vy_scalar *args, uint32_t aux,
                    bool f64, vy_scalar *out);
vy_scalar vy_wrap(vy_type type, vy_scalar value);            // integer bits wrapped to the type
bool vy_scalar_same(vy_type type, vy_scalar a, vy_scalar b); // same bits; all NaNs alike
uint16_t vy_f16_bits(double value);
double vy_f16_value(uint16_t bits);

// ---------------------------------------------------------------------------------- structure
bool vy_structure_make(const vy_program *p, vy_structure *s); // false: out of memory
void vy_structure_free(vy_structure *s);
// The same for passes: the one that was kept with the program, if any; then it has none.
bool vy_structure_take(vy_program *p, vy_structure *s);
// Keeps it for the next pass, if the code is as it was, in place of freeing it.
void vy_structure_keep(vy_program *p, vy_structure *s);

#endif
