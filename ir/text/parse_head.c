// SPDX-License-Identifier: MIT
// parse_head.c: heads of programs and functions: parameters, their types and attributes.
#include "ir/text/front.h"

void vy_parse_init(vy_front *f, vy_decl *d)
{
    vy_expect(f, TK_LPAREN, "after the attribute");
    d->init = vy_at_word(f, "ones") ? VY_INIT_ONES : VY_INIT_COPY;
    d->init_from = f->tok.name;
    vy_expect(f, TK_NAME, "as the attribute's value");
    vy_expect(f, TK_RPAREN, "after the attribute's value");
}

static void parse_parameter_attributes(vy_front *f, vy_decl *d)
{
    while (f->tok.kind == TK_AT) {
        vy_token at = f->tok;
        vy_advance(f);
        bool set = vy_at_word(f, "set"), binding = vy_at_word(f, "binding");
        bool workspace = vy_at_word(f, "workspace"), init = vy_at_word(f, "init");
        bool owned = vy_at_word(f, "owned");
        char text[48];
        if (!set && !binding && !workspace && !init && !owned)
            vy_front_error(f, VY_E_ATTRIBUTE, at.line, at.column, NULL,
                           "there is no attribute %s of a parameter", vy_token_text(&f->tok, text));
        if ((set && d->has_set) || (binding && d->has_binding) || (workspace && d->workspace) ||
            (init && d->init) || (owned && d->owned))
            vy_front_error(f, VY_E_ATTRIBUTE, at.line, at.column, "write it once",
                           "attribute %s is given twice", vy_token_text(&f->tok, text));
        vy_advance(f);
        if (set) d->set = vy_parse_attribute_number(f, "set");
        if (binding) d->binding = vy_parse_attribute_number(f, "binding");
        if (init) vy_parse_init(f, d);
        d->has_set |= set;
        d->has_binding |= binding;
        d->workspace |= workspace;
        d->owned |= owned;
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
    vy_expect(f, TK_COLON, "after the parameter's name");
    bool buffer = accept_access(f, &d->cls);
    const uint8_t next = f->tok.kind == TK_NAME ? vy_peek(f).kind : TK_END;
    const bool access = next == TK_TYPE || next == TK_NAME; // `x: inn f32[N]`
    const unsigned meant = access ? VY_SPELL_ACCESS : VY_SPELL_TYPES;
    if (buffer)
        d->type = vy_parse_stored_type(f, "of the parameter", meant);
    else if (program || access)
        d->type = vy_parse_type(f, "of the parameter", meant);
    else
        vy_parse_value_type(f, &d->type, "of the parameter", meant);
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
                       "attributes are allowed only before buffers of programs");
    return d;
}

vy_ast_expr *vy_parse_dims(vy_front *f, uint32_t *rank)
{
    vy_ast_expr *list = NULL, **tail = &list;
    uint32_t n = 0;
    vy_token open = f->tok;
    vy_expect(f, TK_LBRACKET, "with the dimensions");
    while (f->tok.kind != TK_RBRACKET && !f->failed) {
        vy_ast_expr *e;
        if (f->tok.kind == TK_QUESTION) {
            e = vy_front_alloc(f, sizeof *e);
            *e = (vy_ast_expr){.kind = EX_NAME, .line = f->tok.line, .column = f->tok.column};
            vy_advance(f);
        } else {
            e = vy_parse_expr(f);
        }
        *tail = e;
        tail = &e->next;
        n++;
        if (!vy_accept(f, TK_COMMA)) break;
    }
    vy_expect(f, TK_RBRACKET, "after the dimensions");
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
    vy_expect(f, TK_RPAREN, "after the parameters");
}

vy_func *vy_parse_head(vy_front *f, vy_decl_kind kind)
{
    vy_func *fn = vy_front_alloc(f, sizeof *fn);
    fn->is_program = kind != DK_FUNC;
    fn->text = f->tok.text;
    fn->decl = vy_parse_decl(f, kind);
    fn->decl->func = fn;
    parse_parameters(f, fn);
    return fn;
}
