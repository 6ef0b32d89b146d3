// SPDX-License-Identifier: MIT
// front.h: the text front end, step by step.
//
//   front.c   memory, the first error, names
//   lex.c     text → tokens           parse*.c  tokens → tree, the whole file
//   sema*.c   names and types, once per function     lower*.c  tree → builder calls
//
// After the first error the lexer returns only END and allocation returns a dummy, so that the
// parser unwinds without a check at every step; sema and lower do not start after an error.
#ifndef VYRE_FRONT_H
#define VYRE_FRONT_H

#include "ir/text/ast.h"
#include "ir/build/edit.h"

#define VY_ARRAY_SLOTS 64u

typedef struct vy_room { // bytes follow it
    struct vy_room *below;
    size_t used, size;
} vy_room;

typedef struct vy_front {
    vy_module *m;
    vy_arena arena;
    bool failed;
    // lexer
    const char *at, *end, *line_start;
    uint32_t line;
    vy_token tok;                    // current
    uint32_t last_line, last_column; // end of the previous token
    const char *last_end;            // … in the text
    // imports
    const vy_parse_options *options; // or NULL
    vy_file *file;                   // the one being read
    size_t read;                     // bytes of all files
    uint32_t lines;                  // of all files
    // names
    vy_name_rec **buckets;
    uint32_t bucket_count, name_count;
    // types
    vy_made_vec made; // structs and arrays
    vy_made_type *arrays[VY_ARRAY_SLOTS];
    vy_type_place *type_places;
    const vy_type_place *places_known; // what vy_sema_made has done
    uint32_t made_known;
    vy_decl *structs, **structs_tail;
    // tree
    uint32_t nodes, depth;
    vy_func *funcs, **funcs_tail;
    vy_func *pipes, **pipes_tail;
    vy_func *first, *last; // pipelines, those dispatched before those that dispatch them
    vy_decl *consts, **consts_tail;
    vy_rule_name rules[VY_NAMES_OF]; // read, and their declaration has not followed yet
    uint32_t order; // the n of `@order(n)` that was read, and its declaration has not followed yet
    bool has_order; // … was it?
    uint32_t ordinals, units;       // functions, programs and pipelines that were read; their units
    const vy_func *read_last;       // the last of them
    vy_func *next_func, *next_pipe; // the first of later units (again.c)
    bool lowered, shader;           // the parser is in a `@lowered`, a `@shader program`
    const uint8_t *types;           // of the instance that is read; NULL: f32
    // sema: the function being analysed
    vy_func *func;
    vy_decl *scope;
    vy_loop *loop;
    vy_loop *condition; // loop whose `while { … }` condition is being analysed
    vy_stmt *in_switch; // the innermost one, if no loop in it is nearer
    vy_func *(*make_instance)(struct vy_front *f, const vy_ast_expr *e, vy_func *of,
                              const uint8_t *types); // instance.c
    uint32_t loop_ids, block_depth;
    uint32_t reductions; // how many there are around the expression
    bool in_const;
    bool in_numbers;       // in what types depend on: constants made of several are not known yet
    vy_room *room, *spare; // room.c
    bool in_steps;         // of a pipeline: value(…) is allowed in integer expressions
    _Alignas(16) char dummy[1040]; // what allocation gives after an error
} vy_front;

// front.c
void vy_front_free(vy_front *f);
void *vy_front_alloc(vy_front *f, size_t size); // never NULL: a dummy after an error
// NAME SEPARATOR PART; `name` after an error.
const char *vy_front_joined(vy_front *f, const char *name, const char *separator, const char *part);
vy_name_rec *vy_front_name(vy_front *f, const char *s, uint32_t n); // the record of a spelling
void vy_front_error(vy_front *f, vy_code code, uint32_t line, uint32_t column, const char *fix,
                    const char *format, ...) __attribute__((format(printf, 6, 7)));

// lex.c
void vy_front_init(vy_front *f, vy_module *m, const char *text, size_t size); // at its first token
void vy_advance(vy_front *f);                // the next token becomes current
vy_token vy_peek(vy_front *f);               // the one after the current
bool vy_peek_field(vy_front *f);             // after the current: a name, no `default`, and `:`
bool vy_keyword_is(const char *s, size_t n); // keyword or type name

const char *vy_keyword_name(uint32_t i); // NULL past the end

// spelling.c: kinds of words that are allowed where an unknown word was found
enum {
    VY_SPELL_VALUES = 1,
    VY_SPELL_ARRAYS = 2,
    VY_SPELL_FUNCTIONS = 4,
    VY_SPELL_PROGRAMS = 8,
    VY_SPELL_WORDS = 16, // keywords
    VY_SPELL_TYPES = 32,
    VY_SPELL_ATTRIBUTES = 64,
    VY_SPELL_CONSTANTS = 128,   // of the module, before names are declared
    VY_SPELL_ACCESS = 256,      // in, out, inout
    VY_SPELL_ALONE = 512,       // statements of one word
    VY_SPELL_STEPS = 1024,      // words that begin a step of a pipeline
    VY_SPELL_LITERALS = 2048,   // true, pi, …
    VY_SPELL_REDUCTIONS = 4096, // functions that take a range
    VY_SPELL_MADE = 8192        // types made of others
};
// "did you mean `x`?", living as long as the front end, or `otherwise` where nothing is near.
const char *vy_spelling_fix(vy_front *f, const char *word, size_t n, unsigned kinds,
                            const char *otherwise);

// define.c: replaces values of constants; false after an error
void vy_define_refused(vy_front *f, const vy_decl *d); // the error lies in the value given for it
bool vy_define_constants(vy_front *f, const vy_define *defines, uint32_t count);

// number.c: text ↔ floats, whatever the locale
double vy_number_parse(vy_type type, const char *text, size_t n); // rounded to type once
size_t vy_number_print(vy_type type, double value, char out[40]); // shortest that round-trips

// parse*.c
bool vy_parse_text(vy_front *f);
vy_stmt *vy_parse_block(vy_front *f); // `{ … }`
vy_stmt *vy_parse_stmt(vy_front *f);
vy_stmt *vy_new_stmt(vy_front *f, vy_stmt_kind kind, const vy_token *at);
bool vy_at_switch(vy_front *f); // parse_switch.c
vy_stmt *vy_parse_switch(vy_front *f);
vy_ast_expr *vy_parse_expr(vy_front *f);
vy_ast_expr *vy_new_expr(vy_front *f, vy_expr_kind kind, const vy_token *at);
vy_ast_expr *vy_parse_operand(vy_front *f);              // parse_primary.c
vy_ast_expr *vy_parse_one(vy_front *f);                  // a literal 1, here
bool vy_at_step(vy_front *f);                            // `++;` or `--;`
vy_range *vy_parse_range(vy_front *f);                   // `k in a..b step s`
vy_ast_expr *vy_parse_dims(vy_front *f, uint32_t *rank); // `[…]`
vy_decl *vy_parse_decl(vy_front *f, vy_decl_kind kind);  // the name only
vy_func *vy_parse_head(vy_front *f, vy_decl_kind kind);  // name and parameters
void vy_parse_init(vy_front *f, vy_decl *d);             // `(ones)` or `(NAME)`
vy_func *vy_parse_pipeline(vy_front *f);                 // parse_pipe.c
vy_func *vy_parse_function(vy_front *f);
// parse_generic.c
void vy_parse_generic(vy_front *f, vy_func *fn); // `<T: float>`: T is a type from here
void vy_end_generic(vy_front *f, vy_func *fn);   // … up to here, after the function
// import.c
bool vy_import_begin(vy_front *f, const char *file); // the text itself is called so
void vy_parse_import(vy_front *f);                   // `import "…";`: that file is read next
bool vy_import_end(
    vy_front *f); // at the end of a file: goes on in its importer; false: there is none
// parse_token.c
// parse_type.c
uint8_t vy_parse_type(vy_front *f, const char *after, unsigned meant);
vy_text_type vy_parse_stored_type(vy_front *f, const char *after, unsigned meant); // also vec3
// Also vec3, f32[4], structs; *where stays where it is.
void vy_parse_value_type(vy_front *f, vy_text_type *where, const char *after, unsigned meant);
void vy_parse_struct(vy_front *f);
vy_text_type vy_type_of_value(vy_front *f,
                              const vy_ast_expr *e); // named by e: a struct, if no vector
// e makes a value of `type`, or of an array of `count`; without it `[…]` may follow.
void vy_parse_made(vy_front *f, vy_ast_expr *e, vy_text_type type, vy_ast_expr *count);
// An unsigned number in brackets: the argument of an attribute.
uint32_t vy_parse_attribute_number(vy_front *f, const char *name);
bool vy_expect(vy_front *f, vy_token_kind kind, const char *after);
// The same; `meant`: what a misspelt word may be (VY_SPELL_…).
bool vy_expect_word(vy_front *f, vy_token_kind kind, const char *after, unsigned meant);
// Error: a statement or step begins with the word `at`, which begins none here.
void vy_begins_wrongly(vy_front *f, const char *what, const vy_token *at, unsigned meant);
bool vy_accept(vy_front *f, vy_token_kind kind);
bool vy_at_word(const vy_front *f, const char *word);   // a name spelled so
bool vy_enter(vy_front *f);                             // one level deeper; false beyond the limit
void vy_close_block(vy_front *f, const vy_token *open); // the `}` of the block opened there
const char *vy_token_text(const vy_token *t, char out[48]); // for diagnostics
const char *vy_token_spelling(vy_token_kind kind);
static inline void vy_leave(vy_front *f) { f->depth--; }

// Built-in functions (builtin.c).
typedef enum vy_builtin_kind {
    BF_OP,       // a CALL row of ops.h
    BF_COMPOSED, // vy_call knows it
    BF_SELECT,
    BF_POLYGAMMA,
    BF_LEN,
    BF_ATOMIC,
    BF_ATOMIC_CAS,
    BF_BARRIER,
    BF_BITCAST,
    BF_REDUCE, // sum, prod: only with a range
    BF_GEOMETRY,
    BF_MATRIX,
    BF_LIBRARY,
} vy_builtin_kind;
struct vy_builtin_info {
    const char *text;
    uint8_t kind, arity, rule; // vy_rule
    uint8_t op;                // vy_op; BF_BITCAST: the type; BF_GEOMETRY: vy_geometric;
                               // BF_LIBRARY: VY_LIB_…
};
// NULL if there is none of that name.
const char *vy_builtin_function_name(uint32_t i); // NULL past the end; "": not a function
const char *vy_builtin_value_name(uint32_t i);
const vy_builtin_info *vy_builtin_find(const char *s, size_t n);
bool vy_builtin_value_find(const char *s, size_t n, vy_builtin *out); // gid, lane, …
bool vy_word_is_taken(const char *s, size_t n); // keyword, or name of a built-in

// Functions of vectors and the library, whose names a function of the module may take.
const vy_builtin_info *vy_geometry_find(const char *s, size_t n);

// made_type.c: types that are made of others
const char *vy_made_type_name(uint32_t i);                // of vectors; NULL past the end
vy_text_type vy_made_type_named(const char *s, size_t n); // a vector; VY_VOID: there is none
vy_text_type vy_vector_type(vy_text_type of, uint32_t n); // n = 1: itself; VY_BROKEN: none
const vy_made_type *vy_made_of(const vy_front *f, vy_text_type t); // NULL: a scalar
vy_made_type *vy_made_new(vy_front *f, vy_made_kind kind, vy_text_type *t);
vy_made_type *vy_made_open(vy_front *f, vy_text_type t); // a struct or array, to complete it
const char *vy_array_name(vy_front *f, const vy_made_type *m);
// The first array of the same size and elements, or t itself, which later ones then find.
vy_text_type vy_array_first(vy_front *f, vy_text_type t);
// The type of an array of n of these, 1 to VY_MAX_SCALARS scalars in all; VY_VOID: nested too deep,
// or an error.
vy_text_type vy_array_type(vy_front *f, vy_text_type of, uint32_t n);
vy_text_type vy_made_number(uint32_t i); // of the i-th struct or array
static inline bool vy_is_made(vy_text_type t) { return t >= VY_MADE; }
bool vy_is_vector(const vy_front *f, vy_text_type t);
bool vy_is_matrix(const vy_front *f, vy_text_type t);
vy_text_type vy_matrix_type(const vy_front *f, vy_text_type of, uint32_t columns, uint32_t rows);
uint32_t vy_scalars(const vy_front *f, vy_text_type t);                // of its values
vy_type vy_scalar_type(const vy_front *f, vy_text_type t, uint32_t k); // of scalar k
// Type of all scalars, if t is a number or vector; VY_VOID: it is a struct or array.
vy_text_type vy_element(const vy_front *f, vy_text_type t);
bool vy_has_float(const vy_front *f, vy_text_type t);
bool vy_stored_only(vy_text_type t); // i8 …
char vy_component_name(uint32_t k);
// The components that `.xyz` names, two bits for each; 0: it is no such word.
uint32_t vy_components(const vy_name_rec *word, uint8_t *which);
static inline uint32_t vy_component(uint8_t which, uint32_t k) { return which >> 2 * k & 3; }
// columns.c: the buffers that one of type t is
typedef struct vy_column {
    const char *name; // `p.at`
    vy_type type;
    bool vector;                                // of vectors, which the last axis is
    uint32_t axes, size[VY_MAX_TYPE_DEPTH + 2]; // behind those that the buffer is declared with
} vy_column;
uint32_t vy_columns(const vy_front *f, vy_text_type t);
// std430.c: where column c of the first element of a buffer begins; strides along all axes.
uint32_t vy_std430(const vy_front *f, vy_text_type t, uint32_t c, uint32_t *strides);
vy_column vy_column_at(vy_front *f, const char *name, vy_text_type t, uint32_t c);
uint32_t vy_result_scalars(const vy_front *f, const vy_func *fn);
// The name of scalar k of what d declares: `v_x`; of a scalar its own.
const char *vy_scalar_name(vy_front *f, const vy_decl *d, uint32_t k);

// sema*.c
bool vy_sema(vy_front *f);
void vy_sema_body(vy_front *f, vy_func *fn);
void vy_sema_block(vy_front *f, vy_stmt *block); // with a scope of its own
void vy_sema_switch(vy_front *f, vy_stmt *s);    // sema_switch.c
void vy_sema_dims(vy_front *f, vy_decl *d);
void vy_sema_dim(vy_front *f, vy_ast_expr *e);       // one integer expression
void vy_sema_condition(vy_front *f, vy_ast_expr *e); // of `if` and `while` in a pipeline
void vy_sema_parameters(vy_front *f, vy_func *fn);
void vy_sema_range(vy_front *f, vy_range *r);
vy_text_type vy_synth(vy_front *f, vy_ast_expr *e); // bottom up; may stay VY_ANY_…
void vy_settle(vy_front *f, vy_ast_expr *e,
               vy_text_type type); // an expression of literals gets its type
void vy_operator_error(vy_front *f, const vy_ast_expr *at, uint8_t op, vy_text_type t);
vy_text_type vy_synth_literal(vy_front *f, vy_ast_expr *e);
bool vy_is_least(const vy_ast_expr *e,
                 vy_text_type type); // 2147483648 if the type's minimum is −2147483648
vy_text_type vy_check_value(vy_front *f, vy_ast_expr *e); // synth, then i32 or f32
void vy_check_as(vy_front *f, vy_ast_expr *e, vy_text_type type, const char *what);
// The same, after vy_synth.
void vy_need(vy_front *f, vy_ast_expr *e, vy_text_type type, const char *what);
vy_text_type vy_join(vy_front *f, vy_text_type so_far, vy_ast_expr *e, vy_text_type t,
                     const char *what);
void vy_types_differ(vy_front *f, const vy_ast_expr *e, vy_text_type have, vy_text_type t,
                     const char *what);
// … of operands: a scalar goes with each component of a vector.
vy_text_type vy_widen(vy_front *f, vy_text_type so_far, vy_ast_expr *e, vy_text_type t,
                      const char *what);
// How `have` becomes `need`, if one of them is made; or NULL.
const char *vy_made_fix(vy_front *f, vy_text_type need, vy_text_type have);
vy_text_type vy_synth_member(vy_front *f, vy_ast_expr *e); // sema_member.c
bool vy_is_part(const vy_ast_expr *e);          // an EX_INDEX of a value, not of a buffer
void vy_sema_part(vy_front *f, vy_ast_expr *e); // … becomes an EX_MEMBER, also below e
vy_text_type vy_synth_make(vy_front *f, vy_ast_expr *e, vy_text_type t); // a call of vec3 …
vy_text_type vy_synth_made(vy_front *f, vy_ast_expr *e);                 // of a struct or array
bool vy_sema_made(vy_front *f); // sema_made.c, after constants
// sema_matrix.c: the type of a op b; VY_BROKEN: there is none
vy_text_type vy_operator_type(const vy_front *f, uint8_t op, vy_text_type a, vy_text_type b);
bool vy_is_product(const vy_front *f, uint8_t op, vy_text_type a, vy_text_type b); // of matrices
vy_text_type vy_synth_products(vy_front *f, vy_ast_expr *e); // a chain with matrices
vy_text_type vy_synth_matrix(vy_front *f, vy_ast_expr *e, const vy_builtin_info *b);
vy_text_type vy_synth_geometry(vy_front *f, vy_ast_expr *e, const vy_builtin_info *b);
// sema_library.c: types of the results, of which there are VY_MOST_RESULTS at most
#define VY_MOST_RESULTS 2u
uint32_t vy_synth_library(vy_front *f, vy_ast_expr *e, vy_text_type *results);
void vy_settle_library(vy_front *f, vy_ast_expr *e, vy_text_type type);
bool vy_is_library_call(const vy_front *f, const vy_ast_expr *e);         // of none of the module's
vy_text_type vy_sema_element_part(vy_front *f, vy_ast_expr *e, vy_op op); // of a buffer, written
bool vy_sema_target(vy_front *f, const vy_ast_expr *e); // may components be assigned?
// sema_place.c
void vy_note_assigned(vy_front *f, vy_loop *loop, vy_decl *d);
vy_text_type vy_sema_place(vy_front *f, vy_ast_expr *e);             // it is assigned
void vy_sema_changed(vy_front *f, vy_ast_expr *a, const vy_decl *p); // an argument is
vy_decl *vy_place_variable(const vy_ast_expr *e);                    // which e names first
void vy_note_written(const vy_ast_expr *e);                          // its variable is
void vy_check_written(vy_front *f, const vy_ast_expr *e,
                      const vy_decl *d);                 // it was, where it is read
void vy_check_stored(vy_front *f, const vy_ast_expr *e); // may e, an element, be?
vy_text_type vy_synth_call(vy_front *f, vy_ast_expr *e);
void vy_settle_call(vy_front *f, vy_ast_expr *e, vy_text_type type);
vy_text_type vy_sema_user_call(vy_front *f, vy_ast_expr *e,
                               vy_func **out); // VY_VOID if not one value
// marks: a mask of those that the access may have
vy_text_type vy_sema_index(vy_front *f, vy_ast_expr *e, bool write, uint8_t marks);
// sema_row.c: what an element with `count` indices, fewer than the buffer has dimensions, is.
// VY_VOID: that depends on the launch, is too large for a value, or there are not fewer.
vy_text_type vy_row_type(vy_front *f, const vy_decl *d, uint32_t count);
const vy_builtin_info *vy_call_builtin(const vy_ast_expr *e);
bool vy_operator_fits(uint8_t op, vy_text_type type); // binary operator on operands of that type
static inline bool vy_is_any(vy_text_type t) { return t == VY_ANY_INT || t == VY_ANY_FLOAT; }
void vy_declare(vy_front *f, vy_decl *d); // sema_scope.c
// Error: `d` is called like `old`.
void vy_name_taken(vy_front *f, const vy_decl *d, const vy_decl *old, const char *fix);
// again.c: derived declarations of one name
void vy_declare_global(vy_front *f, vy_decl *d);
void vy_again_read(vy_front *f, vy_func *fn);       // the parser did
void vy_again_begin(vy_front *f);                   // nothing has been passed
void vy_again_pass(vy_front *f, const vy_func *fn); // names denote what they do in fn
vy_decl *vy_again_find(const vy_name_rec *n, const vy_func *from); // what n denotes there
void vy_again_use(const vy_func *from, vy_func *fn); // `from` dispatches fn, or names it as rule
bool vy_again_name(vy_front *f);                     // after sema: one name for each
void vy_scope_close(vy_front *f, vy_decl *mark);
const char *vy_any_type_name(const vy_front *f, vy_text_type type); // also of literals
const char *vy_operator_text(uint8_t op);

// The buffer of a slice or element, in a pipeline; NULL after an error.
vy_decl *vy_sema_find_buffer(vy_front *f, const vy_ast_expr *e);
void vy_sema_element(vy_front *f, vy_ast_expr *e); // value(buf[…])
void vy_sema_pipeline(vy_front *f, vy_func *fn);
bool vy_sema_rules(vy_front *f); // sema_rule.c: names of rules
void vy_note_callee(vy_front *f, vy_func *fn, uint32_t line, uint32_t column);

#endif
