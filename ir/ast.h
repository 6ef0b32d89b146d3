// SPDX-License-Identifier: MIT
// ast.h: the text front end from the inside: tokens, tree, symbols.
//
//   lex.c    text → tokens          parse*.c  tokens → tree (whole file)
//   sema*.c  names and types, once per function        lower*.c  tree → builder calls
//
// Everything here lives in one scratch arena that is freed when the text has become a module.
// After the first error the lexer gives END for ever and allocation gives a dummy, so that the
// parser unwinds without a check at every step; sema and lower do not start after an error.
#ifndef VYRE_AST_H
#define VYRE_AST_H

#include "ir.h"

#define VY_MAX_SOURCE (64u << 20)      // bytes of one text
#define VY_MAX_TREE (1u << 24)         // nodes of one tree
#define VY_MAX_TREE_DEPTH 2000u        // nested operators, brackets and blocks
#define VY_MAX_CALL_DEPTH 200u         // functions inlined in one another
#define VY_MAX_LOWERED (1u << 25)      // nodes visited while inlining, over a module
#define VY_MAX_LITERAL 400u            // characters of one number
#define VY_CHEAP_NODES 12              // right side of && and || that is computed in any case

// Types of expressions made only of literals, until their surroundings decide.
enum { VY_ANY_INT = VY_TYPE_COUNT, VY_ANY_FLOAT, VY_BROKEN };

// ----------------------------------------------------------------------------------------- tokens
typedef enum vy_token_kind {
    TK_END, TK_NAME, TK_INT, TK_FLOAT, TK_TYPE,
    // punctuation
    TK_LPAREN, TK_RPAREN, TK_LBRACE, TK_RBRACE, TK_LBRACKET, TK_RBRACKET, TK_COMMA, TK_SEMICOLON,
    TK_COLON, TK_QUESTION, TK_AT, TK_DOT, TK_DOTDOT, TK_ARROW, TK_NOT, TK_TILDE,
    // binary operators
    TK_OROR, TK_ANDAND, TK_OR, TK_XOR, TK_AND, TK_EQ, TK_NE, TK_LT, TK_LE, TK_GT, TK_GE, TK_SHL,
    TK_SHR, TK_ADD, TK_SUB, TK_MUL, TK_DIV, TK_REM,
    // assignments
    TK_SET, TK_SET_ADD, TK_SET_SUB, TK_SET_MUL, TK_SET_DIV, TK_SET_REM, TK_SET_AND, TK_SET_OR,
    TK_SET_XOR, TK_SET_SHL, TK_SET_SHR,
    // keywords
    TK_BREAK, TK_CHECKPOINT, TK_CONST, TK_CONTINUE, TK_ELSE, TK_FALSE, TK_FN, TK_FOR, TK_IF, TK_LET,
    TK_LOCAL, TK_PIPELINE, TK_PROGRAM, TK_RETURN, TK_SHARED, TK_TRUE, TK_VAR, TK_WHILE,
} vy_token_kind;

typedef struct vy_decl vy_decl;
typedef struct vy_func vy_func;
typedef struct vy_expr vy_expr;
typedef struct vy_stmt vy_stmt;
typedef struct vy_builtin_info vy_builtin_info;

// One record per distinct spelling; what it means now hangs on it, so lookup costs nothing.
typedef struct vy_name_rec {
    const char *text; // terminated
    uint32_t length, hash;
    struct vy_name_rec *chain;
    vy_decl *local;   // variable or parameter visible here
    vy_decl *global;  // constant, function, program
    int16_t builtin;  // -2: not looked up yet
    const struct vy_builtin_info *info; // built-in function of that name
} vy_name_rec;

typedef struct vy_token {
    uint8_t kind;
    uint8_t type; // TK_TYPE: which; numbers: their suffix or VY_VOID
    uint32_t line, column;
    const char *text;
    uint32_t length;
    uint64_t value; // TK_INT
    vy_name_rec *name;
} vy_token;

// ------------------------------------------------------------------------------------------- tree
typedef enum vy_expr_kind {
    EX_INT, EX_FLOAT, EX_BOOL,
    EX_NAME,    // decl, or a built-in value (op = vy_builtin)
    EX_BUILTIN, // gid.x: op = vy_builtin, axis
    EX_MEMBER,  // name.member, before sema
    EX_CHAIN,   // operands in `list`, joined from the left; each operand's `link` is its operator
    EX_LOGIC,   // same for && and ||
    EX_COMPARE, // a op b
    EX_UNARY,   // op a
    EX_COND,    // a ? b : c
    EX_CALL,    // name(list)
    EX_INDEX,   // name[list]
    EX_CAST,    // type(a)
    EX_REDUCE,  // sum(ranges: body)
    EX_TUPLE,   // (list), in return only
} vy_expr_kind;

typedef struct vy_range { // k in from..to step s
    vy_decl *var;
    vy_expr *from, *to, *step;
    bool reverse;
    struct vy_range *next;
} vy_range;

struct vy_expr {
    uint8_t kind, type;
    uint8_t op;   // token kind; EX_BUILTIN: vy_builtin; EX_CAST: target; EX_CALL: after sema, see there
    uint8_t link; // in a chain: the operator before this operand
    uint32_t line, column;
    uint32_t count; // of list; EX_BUILTIN: axis
    vy_expr *next;  // sibling
    union {
        uint64_t value;                                // EX_INT, EX_BOOL
        struct { const char *text; uint32_t length; } number; // EX_FLOAT; text NULL: a constant
        struct { vy_name_rec *name; vy_decl *decl; vy_expr *list; } ref; // NAME INDEX CALL
        struct { vy_name_rec *name, *member; } member;
        struct { vy_expr *a, *b, *c; } sub;
        struct { vy_range *ranges; vy_expr *body; } reduce;
        vy_expr *list; // CHAIN LOGIC TUPLE
    } u;
};

typedef enum vy_decl_kind {
    DK_LET, DK_VAR, DK_PARAM, DK_LOOP, DK_SCALAR, DK_OVER, DK_BUFFER, DK_SHARED, DK_LOCAL,
    DK_CONST, DK_FUNC, DK_PROGRAM,
} vy_decl_kind;

struct vy_decl {
    uint8_t kind, type; // of the value; of the elements
    uint8_t cls;        // vy_buffer_class of arrays
    uint8_t state;      // DK_CONST: 0 new, 1 being evaluated, 2 known
    bool has_type, workspace, has_set, has_binding;
    bool undefined;     // DK_LOCAL: declared without clearing it; or an ST_ARRAY that only clears
    uint8_t init;
    uint32_t line, column;
    uint32_t slot;       // in the frame of its function
    uint32_t loop_depth; // how many loops of the function enclose the declaration
    uint32_t mark;       // loop whose assigned set it was put in last
    uint32_t rank, set, binding;
    vy_expr *dims;       // arrays; DK_OVER: the extent; DK_CONST: the value.  `?`: EX_NAME without name
    vy_name_rec *name, *init_from;
    vy_func *func;       // DK_FUNC, DK_PROGRAM
    vy_scalar value;     // DK_CONST
    vy_decl *next;       // in its list
    vy_decl *scope_next; // declared before it in the scopes open now
};

// What the body of a loop changes, for vy_loop_hint.
typedef struct vy_assigned {
    vy_decl *var;
    uint32_t outer_mark;
    struct vy_assigned *next;
} vy_assigned;

typedef struct vy_loop {
    struct vy_loop *parent;
    uint32_t id, depth, count;
    bool returns, breaks;
    vy_assigned *assigned;
} vy_loop;

typedef enum vy_stmt_kind {
    ST_LET, ST_TUPLE, ST_ASSIGN, ST_CALL, ST_IF, ST_FOR, ST_WHILE, ST_BREAK, ST_CONTINUE, ST_RETURN,
    ST_ARRAY, ST_BLOCK, ST_CHECKPOINT,
} vy_stmt_kind;

struct vy_stmt {
    uint8_t kind;
    uint8_t op;     // ST_ASSIGN: TK_SET…
    bool leaves;    // by break, continue or return: what follows is never reached
    bool ends;      // leaves, or never ends
    uint32_t line, column;
    vy_stmt *next;
    vy_decl *decl;  // LET ARRAY; TUPLE: list
    vy_expr *value; // LET ASSIGN CALL TUPLE RETURN; IF, WHILE: the condition
    vy_expr *target; // ASSIGN
    vy_stmt *body;  // IF FOR WHILE BLOCK CHECKPOINT
    vy_stmt *other; // IF: the else arm, an ST_IF or ST_BLOCK; WHILE: statements of the condition
    vy_range *range; // FOR
    vy_loop *loop;  // FOR WHILE
};

typedef struct vy_callee {
    vy_func *func;
    uint32_t line, column;
    struct vy_callee *next;
} vy_callee;

struct vy_func { // function or program
    vy_decl *decl;
    vy_decl *params, *overs;
    vy_expr *workgroup;
    vy_stmt *body;
    uint8_t results[VY_MAX_RANK];
    uint32_t result_count, param_count, slot_count, return_count;
    bool is_program, tail_return; // its only return is its last statement
    vy_stmt *last;                // of the body
    vy_callee *callees;
    uint8_t color; // search for recursion: 0 new, 1 on the path, 2 done
    vy_callee *walk;
    vy_func *path, *next;
};

typedef struct vy_front {
    vy_module *m;
    vy_arena arena;
    bool failed;
    // lexer
    const char *at, *end, *line_start;
    uint32_t line;
    vy_token tok;      // current
    uint32_t last_line, last_column; // end of the token before
    // names
    vy_name_rec **buckets;
    uint32_t bucket_count, name_count;
    // tree
    uint32_t nodes, depth;
    vy_func *funcs, **funcs_tail;
    vy_decl *consts, **consts_tail;
    bool has_order;
    // sema: the function being looked at
    vy_func *func;
    vy_decl *scope;
    vy_loop *loop;
    vy_loop *condition; // loop whose `while { … }` condition is being looked at
    uint32_t loop_ids, block_depth;
    bool in_const;
    _Alignas(16) char dummy[1024]; // what allocation gives after an error
} vy_front;

// lex.c
void vy_front_init(vy_front *f, vy_module *m, const char *text, size_t size);
void vy_front_free(vy_front *f);
void vy_advance(vy_front *f);                 // the next token becomes current
vy_token vy_peek(vy_front *f);                // the one after the current
bool vy_keyword_is(const char *s, size_t n);  // keyword or type name
void *vy_front_alloc(vy_front *f, size_t size); // never NULL: a dummy after an error
void vy_front_error(vy_front *f, vy_code code, uint32_t line, uint32_t column, const char *fix,
                    const char *format, ...) __attribute__((format(printf, 6, 7)));
// number.c: text ↔ floats, whatever the locale
double vy_number_parse(vy_type type, const char *text, size_t n); // rounded to type once
size_t vy_number_print(vy_type type, double value, char out[40]); // shortest that comes back

// parse.c, parse_stmt.c, parse_expr.c
bool vy_parse_text(vy_front *f);
vy_stmt *vy_parse_block(vy_front *f); // `{ … }`
vy_expr *vy_parse_expr(vy_front *f);
vy_range *vy_parse_range(vy_front *f); // `k in a..b step s`
vy_expr *vy_parse_dims(vy_front *f, uint32_t *rank); // `[…]`
vy_decl *vy_parse_decl(vy_front *f, vy_decl_kind kind); // the name only
bool vy_expect(vy_front *f, vy_token_kind kind, const char *after);
bool vy_accept(vy_front *f, vy_token_kind kind);
bool vy_at_word(const vy_front *f, const char *word); // a name spelled so
bool vy_enter(vy_front *f); // one level deeper; false beyond the limit
const char *vy_token_text(const vy_token *t, char out[48]); // for diagnostics
const char *vy_token_spelling(vy_token_kind kind);
static inline void vy_leave(vy_front *f) { f->depth--; }

// Built-in functions (builtin.c).
typedef enum vy_builtin_kind {
    BF_OP,        // a CALL row of ops.h
    BF_COMPOSED,  // vy_call knows it
    BF_SELECT, BF_POLYGAMMA, BF_LEN, BF_ATOMIC, BF_ATOMIC_CAS, BF_BARRIER, BF_BITCAST, BF_LANE,
    BF_REDUCE,    // sum, prod: only with a range
} vy_builtin_kind;
struct vy_builtin_info {
    const char *text;
    uint8_t kind, arity, rule; // vy_rule
    uint8_t op;                // vy_op; BF_BITCAST: the type
};
// NULL if there is none of that name.
const vy_builtin_info *vy_builtin_find(const char *s, size_t n);
bool vy_builtin_value_find(const char *s, size_t n, vy_builtin *out); // gid, lane, …
bool vy_word_is_taken(const char *s, size_t n); // keyword, or name of something built in

// sema.c, sema_stmt.c, sema_expr.c, sema_call.c
bool vy_sema(vy_front *f);
void vy_sema_body(vy_front *f, vy_func *fn);
void vy_sema_dims(vy_front *f, vy_decl *d);
void vy_sema_range(vy_front *f, vy_range *r);
uint8_t vy_synth(vy_front *f, vy_expr *e);              // bottom up; may stay VY_ANY_…
void vy_settle(vy_front *f, vy_expr *e, uint8_t type);  // an expression of literals gets its type
void vy_operator_error(vy_front *f, const vy_expr *at, uint8_t op, uint8_t t);
uint8_t vy_synth_literal(vy_front *f, vy_expr *e);
bool vy_is_least(const vy_expr *e, uint8_t type); // 2147483648 where −2147483648 is the least
uint8_t vy_check_value(vy_front *f, vy_expr *e);        // synth, then i32 or f32
void vy_check_as(vy_front *f, vy_expr *e, uint8_t type, const char *what);
uint8_t vy_join(vy_front *f, uint8_t so_far, vy_expr *e, uint8_t t, const char *what);
uint8_t vy_synth_call(vy_front *f, vy_expr *e);
void vy_settle_call(vy_front *f, vy_expr *e, uint8_t type);
uint8_t vy_sema_user_call(vy_front *f, vy_expr *e, vy_func **out); // VY_VOID if not one value
uint8_t vy_sema_index(vy_front *f, vy_expr *e, bool write, bool read);
const vy_builtin_info *vy_call_builtin(const vy_expr *e);
bool vy_operator_fits(uint8_t op, uint8_t type); // binary operator on operands of that type
static inline bool vy_is_any(uint8_t t) { return t == VY_ANY_INT || t == VY_ANY_FLOAT; }
void vy_declare(vy_front *f, vy_decl *d);
void vy_scope_close(vy_front *f, vy_decl *mark);
const char *vy_any_type_name(uint8_t type); // also of expressions of literals
const char *vy_operator_text(uint8_t op);

// lower.c, lower_stmt.c, lower_expr.c
typedef struct vy_lower {
    vy_front *f;
    vy_builder *b;
    vy_func *func;
    uint32_t *frame;         // by slot: vy_var, vy_value or vy_buffer id
    vy_var *results;         // of the function being inlined; NULL where it returns at its end only
    vy_value *result_values; // … then these
    uint32_t call_depth, constant_depth;
    uint64_t visited;        // nodes
    bool constant;           // in a constant's value: no control flow
    bool fixed_place;        // keep the caller's source place
} vy_lower;
bool vy_lower_module(vy_front *f); // constants, then programs
bool vy_lower_constant(vy_lower *l, vy_decl *d);
void vy_lower_block(vy_lower *l, const vy_stmt *block); // with a scope of its own
void vy_lower_body(vy_lower *l, const vy_func *fn);
vy_value vy_lower_expr(vy_lower *l, const vy_expr *e);
vy_value vy_lower_builtin(vy_lower *l, const vy_expr *e);
bool vy_lower_index(vy_lower *l, const vy_expr *e, vy_value index[VY_MAX_RANK]);
vy_buffer vy_lower_buffer(const vy_lower *l, const vy_decl *d);
// Inlines a call; results[n].
bool vy_lower_call(vy_lower *l, const vy_expr *e, uint32_t n, vy_value *results);
vy_value vy_lower_operator(vy_lower *l, uint8_t op, vy_value x, vy_value y);
// Opens the loop and binds its variable; false after an error.
bool vy_lower_range(vy_lower *l, const vy_range *r, const vy_loop_hint *hint);
vy_dim vy_lower_dim(vy_lower *l, const vy_expr *e);
bool vy_lower_dims(vy_lower *l, const vy_decl *d, vy_dim dims[VY_MAX_RANK]);
bool vy_dim_known(const vy_lower *l, vy_dim d, int64_t *value);
void vy_lower_at(vy_lower *l, uint32_t line, uint32_t column);
bool vy_lower_stopped(vy_lower *l); // after an error, or beyond a limit

#endif
