// SPDX-License-Identifier: MIT
// token.h: tokens, names and files of a text.
#ifndef VYRE_TOKEN_H
#define VYRE_TOKEN_H

#include "ir/core/ir.h"

// A type of the text: a vy_type; or that of an expression made only of literals, until its context
// determines one; or one made of others (made_type.c).
typedef uint16_t vy_text_type;
enum { VY_ANY_INT = VY_TYPE_COUNT, VY_ANY_FLOAT, VY_BROKEN, VY_MADE };

// clang-format off
typedef enum vy_token_kind {
    TK_END, TK_NAME, TK_INT, TK_FLOAT, TK_TYPE, TK_STRING,
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
// clang-format on

typedef struct vy_decl vy_decl;
typedef struct vy_func vy_func;
typedef struct vy_ast_expr vy_ast_expr;
typedef struct vy_stmt vy_stmt;
typedef struct vy_builtin_info vy_builtin_info;

// One record per distinct spelling; it points to the current meaning, so lookup costs nothing.
typedef struct vy_name_rec {
    const char *text; // terminated
    uint32_t length, hash;
    struct vy_name_rec *chain;
    vy_decl *local;    // variable or parameter visible here
    vy_decl *global;   // constant, function, program, pipeline: the one that is
                       // not derived, else the first (again.c)
    vy_decl *derived;  // of derived ones the last in or before the unit analysed
    uint32_t unit;     // of the last derived one that was read
    vy_decl *owner;    // of several the one that keeps the name
    vy_func *distinct; // of several the last one of another text
    uint32_t distinct_count;
    uint32_t again;                     // the last number that was appended to it
    const vy_func *pipe;                // pipeline of `pipe_index`
    uint32_t suffix;                    // others of the same spelling follow it there
    struct vy_file *file;               // whose identity is spelled so
    vy_text_type made;                  // struct of that name, declared or not; VY_VOID: none
    uint8_t stands_for;                 // in the text of a generic function: the type
    int16_t builtin;                    // -2: not looked up yet
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

// A file that is read: the text itself, or an import.
typedef struct vy_file {
    const char *name;
    bool open;                // it is being read, or imports one that is
    struct vy_file *importer; // which imported it first
    // where its importer goes on
    const char *at, *end, *line_start;
    uint32_t line, last_line, last_column;
    vy_token tok;
} vy_file;

#endif
