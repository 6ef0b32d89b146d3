// SPDX-License-Identifier: MIT
// ast.h: the text front end's data: tokens (token.h), tree, symbols.  They live in one scratch
// arena that is freed when the text has become a module.
#ifndef VYRE_AST_H
#define VYRE_AST_H

#include "ir/text/token.h"

#define VY_MAX_SOURCE (64u << 20) // bytes of one text with all that it imports
#define VY_MAX_IMPORTS (1u << 16) // files
#define VY_MAX_TREE (1u << 24)    // nodes of one tree
#define VY_MAX_TREE_DEPTH 2000u   // nested operators, brackets and blocks
#define VY_MAX_CALL_DEPTH 200u    // functions inlined in one another
#define VY_MAX_LOWERED (1u << 25) // nodes visited while inlining, over a module
#define VY_MAX_LITERAL 400u       // characters of one number
#define VY_CHEAP_NODES 12         // right side of && and || that is computed in any case

#define VY_MAX_SCALARS 256u   // of a value
#define VY_MAX_TYPE_DEPTH 16u // types nested in one another
#define VY_MAX_GENERICS 4u    // types that a function leaves open
#define VY_MAX_OVERLOADS 64u  // functions of one name
#define VY_MAX_STEPS 20u      // to a part of a value, once joined (sema_member.c)

// ------------------------------------------------------------------------------------ made types
typedef enum vy_made_kind { VY_VECTOR, VY_MATRIX, VY_ARRAY, VY_STRUCT } vy_made_kind;

typedef struct vy_field {
    vy_name_rec *name;
    vy_text_type type;
    uint32_t at; // its first scalar
    uint32_t line, column;
    struct vy_field *next;
} vy_field;

typedef struct vy_made_type {
    const char *name;
    vy_made_kind kind;
    vy_text_type of; // of the parts: of a matrix its columns; structs have fields
    uint32_t parts, scalars;
    vy_field *fields; // of a struct
    // while it becomes known (sema_made.c)
    bool declared;
    uint8_t state;         // 0 new, 1 being measured, 2 known
    vy_text_type same;     // an equal array before it, or itself
    uint32_t depth;        // types nested in one another below it
    vy_ast_expr *count;    // of an array
    uint32_t line, column; // of its declaration, or where it was met first
    const char *after;     // … and what for
    unsigned meant;
    struct vy_made_type *chain;
} vy_made_type;

VY_VEC_TYPE(vy_made_vec, vy_made_type *);

typedef struct vy_type_place { // a type in the tree that may change when arrays are known
    vy_text_type *where;
    struct vy_type_place *next;
} vy_type_place;

// ------------------------------------------------------------------------------------------- tree
typedef enum vy_expr_kind {
    EX_INT,
    EX_FLOAT,
    EX_BOOL,
    EX_NAME,    // decl, or a built-in value (op = vy_builtin)
    EX_BUILTIN, // gid.x: op = vy_builtin, axis
    EX_MEMBER,  // a part of a value: of.names, of[index]
    EX_MAKE,    // makes a value of a made type of a list; op: was analysed
    EX_CHAIN,   // operands in `list`, joined from the left; each operand's `link` is its operator
    EX_LOGIC,   // same for && and ||
    EX_COMPARE, // a op b
    EX_UNARY,   // op a
    EX_COND,    // a ? b : c
    EX_CALL,    // name(list)
    EX_INDEX,   // name[list]
    EX_CAST,    // type(a)
    EX_REDUCE,  // sum(ranges: body)
    EX_FIELD,   // name: list, in EX_MAKE of a struct; after sema: count = its first scalar
    EX_TUPLE,   // (list), in return only
} vy_expr_kind;

typedef struct vy_range { // k in from..to step s
    vy_decl *var;
    vy_ast_expr *from, *to, *step;
    bool reverse;
    struct vy_range *next;
} vy_range;

typedef struct vy_member { // `.name` or `[index]`: how to reach a part of a value
    vy_name_rec *name;     // NULL: an index
    vy_ast_expr *index;
    // after sema
    uint32_t count; // components; [index]: parts, of which it chooses one
    uint32_t size;  // scalars of the part
    uint32_t at;    // of a field: its first scalar
    bool is_field;
    uint8_t which;      // components, vy_component
    vy_text_type whole; // what it is a part of
    struct vy_member *next;
} vy_member;

struct vy_ast_expr {
    vy_text_type type;
    uint8_t kind;
    uint8_t op;   // token kind; literals: suffix; EX_BUILTIN: vy_builtin; EX_CAST: target;
                  // EX_INDEX: marks, vy_inst_flags
    uint8_t link; // in a chain: the operator before this operand
    uint32_t line, column;
    uint32_t count;    // of list; EX_BUILTIN: axis
    vy_ast_expr *next; // sibling
    union {
        uint64_t value; // EX_INT, EX_BOOL
        struct {
            const char *text;
            uint32_t length;
        } number; // EX_FLOAT; text NULL: a constant
        struct {
            vy_name_rec *name;
            vy_decl *decl;
            vy_ast_expr *list;
        } ref; // NAME INDEX CALL MAKE
        struct {
            vy_ast_expr *of;
            vy_member *steps;
        } member;
        struct {
            vy_ast_expr *a, *b, *c;
        } sub;
        struct {
            vy_range *ranges;
            vy_ast_expr *body;
        } reduce;
        vy_ast_expr *list; // CHAIN LOGIC TUPLE
    } u;
};

typedef enum vy_decl_kind {
    DK_LET,
    DK_VAR, // also a parameter `inout T`, `out T`, whose `cls` says which
    DK_PARAM,
    DK_LOOP,
    DK_SCALAR,
    DK_OVER,
    DK_BUFFER,
    DK_SHARED,
    DK_LOCAL,
    DK_CONST,
    DK_FUNC,
    DK_PROGRAM,
    DK_PIPELINE,
    DK_NUMBER, // of a pipeline: the counter of a repeat or a `let`; slot: a vy_dim
    DK_STRUCT,
    DK_CELL, // of a pipeline: a `var`; slot: the buffer of one i32 that has its value
} vy_decl_kind;

struct vy_decl {
    vy_text_type type; // of the value; of the elements
    uint8_t kind;
    uint8_t cls;   // vy_buffer_class of arrays
    uint8_t state; // DK_CONST: 0 new, 1 being evaluated, 2 known
    bool has_type, workspace, owned, has_set, has_binding, has_offset, uniform;
    bool undefined; // DK_LOCAL: declared without clearing it; or an ST_ARRAY that only clears
    bool written;   // `out` parameter that is a value: something assigns it, up to here
    uint8_t init;
    uint32_t line, column;
    uint32_t slot;       // in the frame of its function: the first, of one for each scalar
    uint32_t loop_depth; // how many loops of the function enclose the declaration
    uint32_t mark;       // last loop to whose assigned set it was added
    uint32_t rank, set, binding, offset;
    uint32_t *layout, layout_count; // @layout(offset, stride, …)
    uint32_t within;                // @layout(start + within, …)
    vy_ast_expr *dims; // arrays (`?`: EX_NAME without name); DK_OVER: extent; DK_CONST: value
    vy_name_rec *name, *init_from;
    vy_decl *init_decl; // PS_BUFFER: the same, after sema
    vy_func *func;      // DK_FUNC, DK_PROGRAM, DK_PIPELINE
    vy_name_rec *open;  // a parameter's type, or what an array has, if that is left open: its name
    vy_scalar value, *values; // DK_CONST: the first; all of them
    const char *given;        // DK_CONST: its value from outside, as written there; else NULL
    vy_decl *next;            // in its list
    vy_decl *scope_next;      // the previous declaration in the open scopes
    vy_decl *overload;        // DK_FUNC: the next of the same name, which has other parameters
};

// What the body of a loop changes, for vy_loop_hint.
typedef struct vy_assigned {
    vy_decl *var;
    uint32_t outer_mark;
    struct vy_assigned *next;
} vy_assigned;

typedef struct vy_loop {
    struct vy_loop *parent;
    uint32_t id, depth, count; // count: scalars of what is assigned
    bool returns, breaks, continues;
    vy_assigned *assigned;
    vy_stmt *outer_switch; // which holds the loop
} vy_loop;

typedef enum vy_stmt_kind {
    ST_LET,
    ST_TUPLE,
    ST_ASSIGN,
    ST_CALL,
    ST_IF,
    ST_FOR,
    ST_WHILE,
    ST_DO,
    ST_SWITCH,
    ST_CASE, // of a switch
    ST_BREAK,
    ST_CONTINUE,
    ST_RETURN,
    ST_ARRAY,
    ST_BLOCK,
    ST_CHECKPOINT,
} vy_stmt_kind;

struct vy_stmt {
    uint8_t kind;
    uint8_t op;  // ST_ASSIGN: TK_SET…; SWITCH: a break leaves it; BREAK: it leaves a switch;
                 // CASE: it has `default`
    bool leaves; // by break, continue or return: what follows is never reached
    bool ends;   // leaves, or never ends
    bool colon;  // CASE: `case 1:`
    uint32_t line, column;
    vy_stmt *next;
    vy_decl *decl;       // LET ARRAY; TUPLE: list
    vy_ast_expr *value;  // LET ASSIGN CALL TUPLE RETURN; IF, WHILE, DO: the condition; SWITCH;
                         // CASE: its numbers, a list
    vy_ast_expr *target; // ASSIGN
    vy_stmt *body;       // IF FOR WHILE DO BLOCK CHECKPOINT CASE; SWITCH: its cases
    vy_stmt *other;  // IF: the else arm, an ST_IF or ST_BLOCK; WHILE: statements of the condition
    vy_range *range; // FOR
    vy_loop *loop;   // FOR WHILE DO
};

typedef struct vy_callee {
    vy_func *func;
    uint32_t line, column;
    struct vy_callee *next;
} vy_callee;

typedef enum vy_pipe_stmt_kind {
    PS_BUFFER,
    PS_LET,
    PS_DISPATCH,
    PS_REPEAT,
    PS_CHECKPOINT,
    PS_VAR, // a variable begins
    PS_SET, // a variable is assigned
    PS_IF,
    PS_WHILE,
} vy_pipe_stmt_kind;

typedef struct vy_pipe_actual { // argument of a dispatch
    vy_name_rec *name;          // of a scalar given as name=value; NULL: a buffer
    uint32_t line, column;
    vy_ast_expr *value;
    vy_decl *param; // scalar: what it is given to
    struct vy_pipe_actual *next;
} vy_pipe_actual;

typedef struct vy_pipe_stmt {
    uint8_t kind, keep; // vy_keep_states
    bool reverse;       // REPEAT: rev(…)
    uint32_t line, column;
    uint32_t buffers, scalars;    // DISPATCH: how many arguments
    vy_decl *decl;                // BUFFER; LET, REPEAT: the number; VAR; SET, after sema
    vy_name_rec *name;            // DISPATCH: the program or pipeline; SET: the variable
    vy_func *func;                // DISPATCH: the same, after sema
    vy_pipe_actual *args;         // DISPATCH
    vy_ast_expr *groups;          // DISPATCH: one to three, or NULL
    vy_ast_expr *value;           // LET, VAR, SET; REPEAT: from; IF, WHILE: the condition
    vy_ast_expr *to, *keep_count; // REPEAT
    struct vy_pipe_stmt *body;    // REPEAT, CHECKPOINT, IF, WHILE
    struct vy_pipe_stmt *other;   // IF: `else`; WHILE: the steps that compute its condition
    struct vy_pipe_stmt *next;
} vy_pipe_stmt;

typedef struct vy_rule_name { // of `@vjp(g)`
    vy_name_rec *name;        // NULL: none
    uint32_t line, column;
    vy_func *func; // after sema
} vy_rule_name;

typedef struct vy_generic { // the types that a function leaves open: `fn f<T: float>` (generic.c)
    uint32_t count;
    vy_name_rec *names[VY_MAX_GENERICS];
    uint8_t types[VY_MAX_GENERICS]; // what they are in this instance
    vy_func *of;                    // the declaration, an instance itself: of f32
    vy_func *next;                  // instance
    uint32_t line;                  // where it was called first; 0: the declaration
} vy_generic;

struct vy_func { // function, program or pipeline
    vy_decl *decl;
    vy_decl *params, *overs;
    vy_ast_expr *workgroup, *assumes;
    vy_stmt *body;
    vy_pipe_stmt *steps; // of a pipeline
    uint32_t program;    // index in the module, when lowered; of a pipeline: among pipelines
    vy_text_type results[VY_MAX_RANK];
    uint32_t result_count, param_count, slot_count, return_count;
    bool is_program, tail_return; // its only return is its last statement
    bool exact, shader;           // `@exact program`, `@shader program`
    bool exact_sums;              // `@exact_sums program`
    vy_rule_name rules[VY_NAMES_OF];
    vy_generic *generic;   // NULL: it leaves none open
    bool stays;            // has a rule or is one: it is a function of the module
    vy_function_id number; // … that one
    uint32_t order;        // the n of `@order(n)` before it
    uint32_t ordinal;      // among functions, programs and pipelines, as in the text
    uint32_t unit;         // the text of one derivative, or what is between two (again.c)
    bool is_part;          // derived, and what is derived uses it
    bool shares;           // its name, with others
    const char *text;      // from its name to its end
    size_t size;           // … in bytes
    vy_func *same;         // an equal one before it, else itself (again.c)
    vy_func *distinct;     // of several of its name: one before it, of another text
    vy_stmt *last;         // of the body
    vy_callee *callees;
    uint8_t color; // search for recursion: 0 new, 1 on the path, 2 done
    vy_callee *walk;
    vy_func *path, *next;
    bool has_stand_in;     // of a pipeline: one before it was made (ir/build/pipe_stand_in.c)
    vy_func *lowered_next; // of a pipeline: the one lowered after it
};

#endif
