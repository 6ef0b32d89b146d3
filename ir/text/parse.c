// SPDX-License-Identifier: MIT
// parse.c: declarations: constants, functions, programs.  Pipelines are in parse_pipe.c, heads of
// functions and programs in parse_head.c.
//
// The entire file and what it imports become a tree before any name is looked up, so declarations
// may be in any order.
#include "ir/text/front.h"

#include <string.h>

// ------------------------------------------------------------------------- functions and programs
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
        vy_parse_value_type(f, &fn->results[fn->result_count++], "of the result", VY_SPELL_TYPES);
    } while (tuple && vy_accept(f, TK_COMMA));
    if (tuple) vy_expect(f, TK_RPAREN, "after the types of the results");
}

vy_func *vy_parse_function(vy_front *f)
{
    vy_func *fn = vy_parse_head(f, DK_FUNC);
    parse_results(f, fn);
    fn->body = vy_parse_block(f);
    if (fn->generic) vy_end_generic(f, fn);
    return fn;
}

static void parse_workgroup(vy_front *f, vy_func *fn)
{
    vy_token at = f->tok;
    vy_ast_expr **tail = &fn->workgroup;
    uint32_t n = 0;
    vy_advance(f);
    vy_expect(f, TK_LPAREN, "after `workgroup`");
    do {
        *tail = vy_parse_expr(f);
        tail = &(*tail)->next;
        n++;
    } while (vy_accept(f, TK_COMMA));
    vy_expect(f, TK_RPAREN, "after the workgroup's sizes");
    if (n > 3)
        vy_front_error(f, VY_E_GROUP_SIZE, at.line, at.column, NULL, "a workgroup with %u sizes",
                       n);
}

static void parse_over(vy_front *f, vy_func *fn)
{
    vy_decl **tail = &fn->overs;
    uint32_t n = 0;
    vy_advance(f);
    vy_expect(f, TK_LPAREN, "after `over`");
    do {
        vy_decl *d = *tail = vy_parse_decl(f, DK_OVER);
        vy_expect(f, TK_COLON, "after the variable of the domain");
        d->type = VY_U32;
        d->dims = vy_parse_expr(f);
        tail = &d->next;
        if (++n > VY_MAX_RANK)
            vy_front_error(f, VY_E_LIMIT, d->line, d->column, "use fewer dimensions",
                           "a domain of more than %u dimensions", VY_MAX_RANK);
    } while (vy_accept(f, TK_COMMA));
    vy_expect(f, TK_RPAREN, "after the domain");
}

static void parse_assumes(vy_front *f, vy_func *fn)
{
    vy_ast_expr **tail = &fn->assumes;
    vy_advance(f);
    vy_expect(f, TK_LPAREN, "after `assume`");
    do {
        *tail = vy_parse_expr(f);
        tail = &(*tail)->next;
    } while (vy_accept(f, TK_COMMA));
    vy_expect(f, TK_RPAREN, "after what is assumed");
}

typedef struct clause { // after the parameters of a program
    const char *word;
    void (*parse)(vy_front *f, vy_func *fn);
} clause;

static vy_func *parse_program(vy_front *f)
{
    static const clause clauses[] = {{"workgroup", parse_workgroup},
                                     {"over", parse_over},
                                     {"assume", parse_assumes}};
    enum { CLAUSES = sizeof clauses / sizeof *clauses };
    bool given[CLAUSES] = {false};
    vy_func *fn = vy_parse_head(f, DK_PROGRAM);
    for (;;) {
        uint32_t k = 0;
        while (k < CLAUSES && !vy_at_word(f, clauses[k].word)) k++;
        if (k == CLAUSES) break;
        if (given[k])
            vy_front_error(f, VY_E_SYNTAX, f->tok.line, f->tok.column, "write it once",
                           "`%s` is given twice", clauses[k].word);
        given[k] = true;
        clauses[k].parse(f, fn);
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
    vy_expect(f, TK_COLON, "after the constant's name");
    vy_parse_value_type(f, &d->type, "of the constant", VY_SPELL_TYPES);
    vy_expect(f, TK_SET, "before the constant's value");
    d->dims = vy_parse_expr(f);
    vy_expect(f, TK_SEMICOLON, "after the constant");
    *f->consts_tail = d;
    f->consts_tail = &d->next;
}

// The list to which a declaration is added.
static void append(vy_front *f, vy_func *fn, vy_func ***tail)
{
    fn->order = f->order;
    vy_again_read(f, fn);
    fn->size = f->failed ? 0 : (size_t)(f->last_end - fn->text);
    fn->same = fn;
    f->order = 0; // of this one only
    f->has_order = false;
    memcpy(fn->rules, f->rules, sizeof fn->rules);
    memset(f->rules, 0, sizeof f->rules);
    **tail = fn;
    *tail = &fn->next;
}

// `@exact`, `@exact_sums`, `@lowered`, `@shader` or several of them before `program`.
static void parse_marked_program(vy_front *f)
{
    bool exact = false, sums = false, lowered = false, shader = false;
    vy_token at;
    char text[48];
    do {
        at = f->tok;
        bool *given = vy_at_word(f, "exact")        ? &exact
                      : vy_at_word(f, "exact_sums") ? &sums
                      : vy_at_word(f, "lowered")    ? &lowered
                      : vy_at_word(f, "shader")     ? &shader
                                                    : NULL;
        if (!given || *given) break;
        *given = true;
        vy_advance(f);
    } while (vy_accept(f, TK_AT));
    if (!vy_accept(f, TK_PROGRAM)) {
        vy_front_error(f, VY_E_ATTRIBUTE, at.line, at.column, "write it right before `program`",
                       "attribute %s is allowed only before a program", vy_token_text(&at, text));
        return;
    }
    f->lowered = lowered;
    f->shader = shader;
    vy_func *fn = parse_program(f);
    f->lowered = f->shader = false;
    fn->exact = exact;
    fn->exact_sums = sums;
    fn->shader = shader;
    append(f, fn, &f->funcs_tail);
}

static const char *const rule_words[VY_NAMES_OF] = {"vjp", "jvp", "derive_as"};

static bool has_rule(const vy_front *f) { return f->rules[VY_VJP].name || f->rules[VY_JVP].name; }

// Is what follows the attribute something that may have it?
static bool rule_fits(const vy_front *f, vy_rule_of kind)
{
    if (kind == VY_DERIVE_AS) return f->tok.kind == TK_PIPELINE && !has_rule(f);
    return f->tok.kind == TK_FN || f->tok.kind == TK_AT || f->tok.kind == TK_PROGRAM;
}

// `@vjp(NAME)`
static void parse_rule(vy_front *f, const vy_token *at, vy_rule_of kind)
{
    vy_rule_name *r = &f->rules[kind];
    vy_advance(f);
    if (r->name)
        vy_front_error(f, VY_E_ATTRIBUTE, at->line, at->column, "write it once",
                       "attribute `%s` is given twice", rule_words[kind]);
    vy_expect(f, TK_LPAREN, "after the attribute");
    *r = (vy_rule_name){.name = f->tok.name, .line = f->tok.line, .column = f->tok.column};
    vy_expect(f, TK_NAME, "which is the rule");
    vy_expect(f, TK_RPAREN, "after the rule's name");
    if (f->failed || rule_fits(f, kind)) return;
    if (kind == VY_DERIVE_AS)
        vy_front_error(f, VY_E_ATTRIBUTE, at->line, at->column, "write it right before `pipeline`",
                       "attribute `derive_as` belongs to a pipeline");
    else
        vy_front_error(f, VY_E_ATTRIBUTE, at->line, at->column,
                       "write it right before `fn` or `program`",
                       "a rule belongs to a function or program");
}

// The rule that the attribute is; VY_NAMES_OF: none.
static vy_rule_of rule_here(const vy_front *f)
{
    uint32_t k = 0;
    while (k < VY_NAMES_OF && !vy_at_word(f, rule_words[k])) k++;
    return (vy_rule_of)k;
}

static void parse_module_attribute(vy_front *f)
{
    vy_token at = f->tok;
    vy_advance(f);
    if (vy_at_word(f, "exact") || vy_at_word(f, "exact_sums") || vy_at_word(f, "lowered") ||
        vy_at_word(f, "shader")) {
        parse_marked_program(f);
    } else if (vy_at_word(f, "order")) {
        vy_advance(f);
        if (has_rule(f))
            vy_front_error(f, VY_E_ATTRIBUTE, at.line, at.column, "write it before the rule",
                           "a rule is written right before what it belongs to");
        f->has_order = true; // of two in a row the last one counts
        f->order = vy_parse_attribute_number(f, "order");
    } else if (rule_here(f) < VY_NAMES_OF) {
        parse_rule(f, &at, rule_here(f));
    } else if (!f->failed) {
        char text[48];
        vy_front_error(f, VY_E_ATTRIBUTE, at.line, at.column,
                       vy_spelling_fix(f, f->tok.text, f->tok.length, VY_SPELL_ATTRIBUTES, NULL),
                       "there is no attribute %s of a declaration", vy_token_text(&f->tok, text));
    }
}

static void parse_declaration(vy_front *f)
{
    vy_token at = f->tok;
    char text[48];
    if (f->tok.kind == TK_AT)
        parse_module_attribute(f);
    else if (vy_accept(f, TK_CONST))
        parse_constant(f);
    else if (vy_accept(f, TK_FN))
        append(f, vy_parse_function(f), &f->funcs_tail);
    else if (vy_accept(f, TK_PROGRAM))
        append(f, parse_program(f), &f->funcs_tail);
    else if (vy_accept(f, TK_PIPELINE))
        append(f, vy_parse_pipeline(f), &f->pipes_tail);
    else if (vy_at_word(f, "import"))
        vy_parse_import(f);
    else if (vy_at_word(f, "struct"))
        vy_parse_struct(f);
    else
        vy_front_error(f, VY_E_SYNTAX, at.line, at.column,
                       vy_spelling_fix(f, at.text, at.length, VY_SPELL_WORDS,
                                       "a file holds imports, constants, structs, functions, "
                                       "programs and pipelines"),
                       "expected `program`, `pipeline`, `fn`, `const` or `import`, found %s",
                       vy_token_text(&at, text));
}

static void end_file(vy_front *f)
{
    if (f->has_order && (f->funcs || f->pipes))
        vy_front_error(f, VY_E_ATTRIBUTE, f->tok.line, f->tok.column,
                       "write it before the program or pipeline that it belongs to",
                       "nothing follows attribute `order`");
    if (f->file && f->file->importer) f->order = 0, f->has_order = false;
}

bool vy_parse_text(vy_front *f)
{
    do {
        while (f->tok.kind != TK_END && !f->failed) parse_declaration(f);
        end_file(f);
    } while (vy_import_end(f));
    return !f->failed;
}
