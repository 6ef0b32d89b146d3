// SPDX-License-Identifier: MIT
// parse.c: declarations: constants, functions, programs and their parameters; pipelines are in
// parse_pipe.c.
//
// The whole file becomes a tree before any name is looked up, so declarations may stand in any
// order.
#include "ir/text/front.h"

#include <stdio.h>
#include <string.h>

// ------------------------------------------------------------------------------------------ tools
const char *vy_token_spelling(vy_token_kind kind)
{
    static const char *const names[] = {
        [TK_END] = "the end of the file",
        [TK_NAME] = "a name",
        [TK_INT] = "a number",
        [TK_FLOAT] = "a number",
        [TK_TYPE] = "a type",
        [TK_LPAREN] = "`(`",
        [TK_RPAREN] = "`)`",
        [TK_LBRACE] = "`{`",
        [TK_RBRACE] = "`}`",
        [TK_LBRACKET] = "`[`",
        [TK_RBRACKET] = "`]`",
        [TK_COMMA] = "`,`",
        [TK_SEMICOLON] = "`;`",
        [TK_COLON] = "`:`",
        [TK_DOTDOT] = "`..`",
        [TK_SET] = "`=`",
        [TK_ARROW] = "`->`",
        [TK_FN] = "`fn`",
        [TK_PROGRAM] = "`program`",
    };
    bool known = (size_t)kind < sizeof names / sizeof *names && names[kind];
    return known ? names[kind] : "a symbol";
}

const char *vy_token_text(const vy_token *t, char out[48])
{
    if (t->kind == TK_END) return "the end of the file";
    snprintf(out, 48, "`%.*s`", t->length > 40 ? 40 : (int)t->length, t->text);
    return out;
}

bool vy_accept(vy_front *f, vy_token_kind kind)
{
    if (f->tok.kind != kind || f->failed) return false;
    vy_advance(f);
    return true;
}

bool vy_expect(vy_front *f, vy_token_kind kind, const char *after)
{
    const unsigned meant = kind == TK_TYPE     ? VY_SPELL_TYPES
                           : kind == TK_LBRACE ? VY_SPELL_WORDS // `ovr(i: N) {`
                                               : 0;
    return vy_expect_word(f, kind, after, meant);
}

bool vy_expect_word(vy_front *f, vy_token_kind kind, const char *after, unsigned meant)
{
    if (vy_accept(f, kind)) return true;
    if (f->failed) return false;
    char text[48];
    // A missing `;` is best shown where it is missing, not on the next line.
    bool before = kind == TK_SEMICOLON && f->last_line < f->tok.line;
    const char *fix =
        f->tok.kind == TK_NAME ? vy_spelling_fix(f, f->tok.text, f->tok.length, meant, NULL) : NULL;
    vy_front_error(f, VY_E_SYNTAX, before ? f->last_line : f->tok.line,
                   before ? f->last_column : f->tok.column, fix, "expected %s %s, found %s",
                   vy_token_spelling(kind), after, vy_token_text(&f->tok, text));
    return false;
}

void vy_begins_wrongly(vy_front *f, const char *what, const vy_token *at, unsigned meant)
{
    char next[48];
    if (f->failed) return;
    vy_front_error(f, VY_E_SYNTAX, at->line, at->column,
                   vy_spelling_fix(f, at->text, at->length, meant, NULL),
                   "a %s that begins with `%.*s` does not go on with %s", what,
                   at->length > 40 ? 40 : (int)at->length, at->text, vy_token_text(&f->tok, next));
}

bool vy_at_word(const vy_front *f, const char *word)
{
    return f->tok.kind == TK_NAME && f->tok.text[0] != '`' && strlen(word) == f->tok.length &&
           memcmp(f->tok.text, word, f->tok.length) == 0;
}

bool vy_enter(vy_front *f)
{
    f->depth++;
    if (f->depth <= VY_MAX_TREE_DEPTH && f->nodes <= VY_MAX_TREE) return true;
    if (f->failed) return false;
    bool deep = f->depth > VY_MAX_TREE_DEPTH;
    vy_front_error(f, VY_E_LIMIT, f->tok.line, f->tok.column,
                   deep ? "put inner parts into variables" : NULL,
                   deep ? "brackets and blocks are nested more than %u deep"
                        : "the text has more than %u operators, names and statements",
                   deep ? VY_MAX_TREE_DEPTH : VY_MAX_TREE);
    return false;
}

vy_decl *vy_parse_decl(vy_front *f, vy_decl_kind kind)
{
    vy_decl *d = vy_front_alloc(f, sizeof *d);
    *d = (vy_decl){.kind = (uint8_t)kind, .line = f->tok.line, .column = f->tok.column};
    f->nodes++;
    d->name = f->tok.name;
    char text[48];
    if (f->tok.kind != TK_NAME && !f->failed && vy_keyword_is(f->tok.text, f->tok.length))
        vy_front_error(f, VY_E_KEYWORD, f->tok.line, f->tok.column, NULL,
                       "%s is a keyword and no name", vy_token_text(&f->tok, text));
    else
        vy_expect(f, TK_NAME, "here");
    return d;
}

static uint8_t parse_type(vy_front *f, const char *after, unsigned meant)
{
    uint8_t type = f->tok.type;
    if (!vy_expect_word(f, TK_TYPE, after, meant)) return VY_F32;
    return type;
}

// An unsigned number in brackets: the argument of an attribute.
static uint32_t parse_attribute_number(vy_front *f, const char *name)
{
    vy_expect(f, TK_LPAREN, "behind the attribute");
    uint64_t value = f->tok.value;
    if (f->tok.kind == TK_INT && value > UINT32_MAX)
        vy_front_error(f, VY_E_LITERAL_RANGE, f->tok.line, f->tok.column, NULL,
                       "the number of @%s is too large", name);
    vy_expect(f, TK_INT, "as the attribute's value");
    vy_expect(f, TK_RPAREN, "behind the attribute's value");
    return (uint32_t)value;
}

// ------------------------------------------------------------------------------------- parameters
void vy_parse_init(vy_front *f, vy_decl *d)
{
    vy_expect(f, TK_LPAREN, "behind the attribute");
    d->init = vy_at_word(f, "ones") ? VY_INIT_ONES : VY_INIT_COPY;
    d->init_from = f->tok.name;
    vy_expect(f, TK_NAME, "as the attribute's value");
    vy_expect(f, TK_RPAREN, "behind the attribute's value");
}

static void parse_parameter_attributes(vy_front *f, vy_decl *d)
{
    while (f->tok.kind == TK_AT) {
        vy_token at = f->tok;
        vy_advance(f);
        bool set = vy_at_word(f, "set"), binding = vy_at_word(f, "binding");
        bool workspace = vy_at_word(f, "workspace"), init = vy_at_word(f, "init");
        char text[48];
        if (!set && !binding && !workspace && !init)
            vy_front_error(f, VY_E_ATTRIBUTE, at.line, at.column, NULL,
                           "there is no attribute %s of a parameter", vy_token_text(&f->tok, text));
        if ((set && d->has_set) || (binding && d->has_binding) || (workspace && d->workspace) ||
            (init && d->init))
            vy_front_error(f, VY_E_ATTRIBUTE, at.line, at.column, "write it once",
                           "attribute %s is given twice", vy_token_text(&f->tok, text));
        vy_advance(f);
        if (set) d->set = parse_attribute_number(f, "set");
        if (binding) d->binding = parse_attribute_number(f, "binding");
        if (init) vy_parse_init(f, d);
        d->has_set |= set;
        d->has_binding |= binding;
        d->workspace |= workspace;
    }
}

static bool accept_access(vy_front *f, uint8_t *cls)
{
    static const char *const words[] = {"in", "out", "inout"};
    static const uint8_t classes[] = {VY_IN, VY_OUT, VY_INOUT};
    for (int i = 0; i < 3; i++) {
        if (!vy_at_word(f, words[i])) continue;
        *cls = classes[i];
        vy_advance(f);
        return true;
    }
    return false;
}

// `[@…] name: TYPE` or `[@…] name: in|out|inout TYPE[…]`
static vy_decl *parse_parameter(vy_front *f, bool program)
{
    vy_decl attributes = {0};
    vy_token at = f->tok;
    parse_parameter_attributes(f, &attributes);
    vy_decl *d = vy_parse_decl(f, program ? DK_SCALAR : DK_PARAM);
    vy_name_rec *name = d->name;
    uint32_t line = d->line, column = d->column;
    uint8_t kind = d->kind;
    *d = attributes;
    d->name = name, d->line = line, d->column = column, d->kind = kind;
    vy_expect(f, TK_COLON, "behind the parameter's name");
    bool buffer = accept_access(f, &d->cls);
    const bool access = f->tok.kind == TK_NAME && vy_peek(f).kind == TK_TYPE; // `x: inn f32[N]`
    d->type = parse_type(f, "of the parameter", access ? VY_SPELL_ACCESS : VY_SPELL_TYPES);
    if (buffer) {
        d->kind = DK_BUFFER;
        d->dims = vy_parse_dims(f, &d->rank);
        if (program && d->rank == 0)
            vy_front_error(f, VY_E_EXTENT, d->line, d->column, "write [N] or [?]",
                           "buffer `%s` has no dimensions", d->name ? d->name->text : "");
    } else if (f->tok.kind == TK_LBRACKET) {
        vy_front_error(f, VY_E_SYNTAX, f->tok.line, f->tok.column,
                       "write `in`, `out` or `inout` before the type",
                       "buffer `%s` does not say how it is accessed", d->name->text);
    }
    if (at.kind == TK_AT && (!buffer || !program))
        vy_front_error(f, VY_E_ATTRIBUTE, at.line, at.column, NULL,
                       "attributes stand before buffers of programs only");
    return d;
}

vy_expr *vy_parse_dims(vy_front *f, uint32_t *rank)
{
    vy_expr *list = NULL, **tail = &list;
    uint32_t n = 0;
    vy_token open = f->tok;
    vy_expect(f, TK_LBRACKET, "with the dimensions");
    while (f->tok.kind != TK_RBRACKET && !f->failed) {
        vy_expr *e;
        if (f->tok.kind == TK_QUESTION) {
            e = vy_front_alloc(f, sizeof *e);
            *e = (vy_expr){.kind = EX_NAME, .line = f->tok.line, .column = f->tok.column};
            vy_advance(f);
        } else {
            e = vy_parse_expr(f);
        }
        *tail = e;
        tail = &e->next;
        n++;
        if (!vy_accept(f, TK_COMMA)) break;
    }
    vy_expect(f, TK_RBRACKET, "behind the dimensions");
    if (n > VY_MAX_RANK)
        vy_front_error(f, VY_E_LIMIT, open.line, open.column, "use fewer dimensions",
                       "more than %u dimensions", VY_MAX_RANK);
    *rank = n;
    return list;
}

static void parse_parameters(vy_front *f, vy_func *fn)
{
    vy_decl **tail = &fn->params;
    vy_expect(f, TK_LPAREN, "before the parameters");
    while (f->tok.kind != TK_RPAREN && !f->failed) {
        *tail = parse_parameter(f, fn->is_program);
        tail = &(*tail)->next;
        fn->param_count++;
        if (!vy_accept(f, TK_COMMA)) break;
    }
    vy_expect(f, TK_RPAREN, "behind the parameters");
}

// ------------------------------------------------------------------------- functions and programs
vy_func *vy_parse_head(vy_front *f, vy_decl_kind kind)
{
    vy_func *fn = vy_front_alloc(f, sizeof *fn);
    fn->is_program = kind != DK_FUNC;
    fn->decl = vy_parse_decl(f, kind);
    fn->decl->func = fn;
    parse_parameters(f, fn);
    return fn;
}

static void parse_results(vy_front *f, vy_func *fn)
{
    if (!vy_accept(f, TK_ARROW)) return;
    bool tuple = vy_accept(f, TK_LPAREN);
    do {
        if (fn->result_count == VY_MAX_RANK) {
            vy_front_error(f, VY_E_LIMIT, f->tok.line, f->tok.column, "return fewer values",
                           "a function returns at most %u values", VY_MAX_RANK);
            return;
        }
        fn->results[fn->result_count++] = parse_type(f, "of the result", VY_SPELL_TYPES);
    } while (tuple && vy_accept(f, TK_COMMA));
    if (tuple) vy_expect(f, TK_RPAREN, "behind the types of the results");
}

static vy_func *parse_function(vy_front *f)
{
    vy_func *fn = vy_parse_head(f, DK_FUNC);
    parse_results(f, fn);
    fn->body = vy_parse_block(f);
    return fn;
}

static void parse_workgroup(vy_front *f, vy_func *fn)
{
    vy_token at = f->tok;
    vy_expr **tail = &fn->workgroup;
    uint32_t n = 0;
    vy_advance(f);
    vy_expect(f, TK_LPAREN, "behind `workgroup`");
    do {
        *tail = vy_parse_expr(f);
        tail = &(*tail)->next;
        n++;
    } while (vy_accept(f, TK_COMMA));
    vy_expect(f, TK_RPAREN, "behind the workgroup's sizes");
    if (n > 3)
        vy_front_error(f, VY_E_GROUP_SIZE, at.line, at.column, NULL, "a workgroup with %u sizes",
                       n);
}

static void parse_over(vy_front *f, vy_func *fn)
{
    vy_decl **tail = &fn->overs;
    uint32_t n = 0;
    vy_advance(f);
    vy_expect(f, TK_LPAREN, "behind `over`");
    do {
        vy_decl *d = *tail = vy_parse_decl(f, DK_OVER);
        vy_expect(f, TK_COLON, "behind the variable of the domain");
        d->type = VY_U32;
        d->dims = vy_parse_expr(f);
        tail = &d->next;
        if (++n > VY_MAX_RANK)
            vy_front_error(f, VY_E_LIMIT, d->line, d->column, "use fewer dimensions",
                           "a domain of more than %u dimensions", VY_MAX_RANK);
    } while (vy_accept(f, TK_COMMA));
    vy_expect(f, TK_RPAREN, "behind the domain");
}

static vy_func *parse_program(vy_front *f)
{
    vy_func *fn = vy_parse_head(f, DK_PROGRAM);
    for (;;) {
        bool workgroup = vy_at_word(f, "workgroup"), over = vy_at_word(f, "over");
        if (!workgroup && !over) break;
        if (workgroup ? fn->workgroup != NULL : fn->overs != NULL)
            vy_front_error(f, VY_E_SYNTAX, f->tok.line, f->tok.column, "write it once",
                           "`%s` is given twice", over ? "over" : "workgroup");
        if (workgroup)
            parse_workgroup(f, fn);
        else
            parse_over(f, fn);
    }
    fn->body = vy_parse_block(f);
    return fn;
}

// ---------------------------------------------------------------------------------------- modules
static void parse_constant(vy_front *f)
{
    vy_decl *d = vy_parse_decl(f, DK_CONST);
    if (f->tok.kind == TK_SET)
        vy_front_error(f, VY_E_SYNTAX, f->tok.line, f->tok.column,
                       "write `const NAME: TYPE = VALUE;`", "constant `%s` has no type",
                       d->name->text);
    vy_expect(f, TK_COLON, "behind the constant's name");
    d->type = parse_type(f, "of the constant", VY_SPELL_TYPES);
    vy_expect(f, TK_SET, "before the constant's value");
    d->dims = vy_parse_expr(f);
    vy_expect(f, TK_SEMICOLON, "behind the constant");
    *f->consts_tail = d;
    f->consts_tail = &d->next;
}

// The list a declaration goes into.
static void append(vy_func *fn, vy_func ***tail)
{
    **tail = fn;
    *tail = &fn->next;
}

static void parse_exact(vy_front *f)
{
    vy_token at = f->tok;
    vy_advance(f);
    if (!vy_accept(f, TK_PROGRAM)) {
        vy_front_error(f, VY_E_ATTRIBUTE, at.line, at.column, "write it right before `program`",
                       "attribute `exact` does not stand before a program");
        return;
    }
    vy_func *fn = parse_program(f);
    fn->exact = true;
    append(fn, &f->funcs_tail);
}

static void parse_module_attribute(vy_front *f)
{
    vy_token at = f->tok;
    vy_advance(f);
    if (vy_at_word(f, "exact")) {
        parse_exact(f);
    } else if (vy_at_word(f, "order")) {
        vy_advance(f);
        if (f->has_order)
            vy_front_error(f, VY_E_ATTRIBUTE, at.line, at.column, "write it once",
                           "attribute `order` is given twice");
        f->has_order = true;
        f->m->order = parse_attribute_number(f, "order");
    } else if (vy_at_word(f, "vjp") || vy_at_word(f, "jvp")) {
        vy_front_error(f, VY_E_NOT_YET, at.line, at.column,
                       "leave the attribute out: the derivative is then made from the body",
                       "custom derivatives (@%.3s) are not supported yet", f->tok.text);
    } else if (!f->failed) {
        char text[48];
        vy_front_error(f, VY_E_ATTRIBUTE, at.line, at.column,
                       vy_spelling_fix(f, f->tok.text, f->tok.length, VY_SPELL_ATTRIBUTES, NULL),
                       "there is no attribute %s of a declaration", vy_token_text(&f->tok, text));
    }
}

bool vy_parse_text(vy_front *f)
{
    while (f->tok.kind != TK_END && !f->failed) {
        vy_token at = f->tok;
        char text[48];
        if (f->tok.kind == TK_AT)
            parse_module_attribute(f);
        else if (vy_accept(f, TK_CONST))
            parse_constant(f);
        else if (vy_accept(f, TK_FN))
            append(parse_function(f), &f->funcs_tail);
        else if (vy_accept(f, TK_PROGRAM))
            append(parse_program(f), &f->funcs_tail);
        else if (vy_accept(f, TK_PIPELINE))
            append(vy_parse_pipeline(f), &f->pipes_tail);
        else
            vy_front_error(f, VY_E_SYNTAX, at.line, at.column,
                           vy_spelling_fix(f, at.text, at.length, VY_SPELL_WORDS,
                                           "a file holds constants, functions, programs and "
                                           "pipelines"),
                           "expected `program`, `pipeline`, `fn` or `const`, found %s",
                           vy_token_text(&at, text));
    }
    return !f->failed;
}
