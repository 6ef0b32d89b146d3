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

// The attributes of parameters, each of which is written once.
enum { SET, BINDING, WORKSPACE, INIT, OWNED, UNIFORM, OFFSET, LAYOUT, ATTRIBUTES };
static const char *const attributes[] = {"set",   "binding", "workspace", "init",
                                         "owned", "uniform", "offset",    "layout"};

static uint32_t layout_number(vy_front *f)
{
    const uint64_t value = f->tok.value;
    if (f->tok.kind == TK_INT && value > INT32_MAX)
        vy_front_error(f, VY_E_LITERAL_RANGE, f->tok.line, f->tok.column, NULL,
                       "a number of @layout is too large");
    vy_expect(f, TK_INT, "as the attribute's value");
    return f->failed ? 0 : (uint32_t)value;
}

// `(offset, stride, …)` or `(start + within, stride, …)`
static void parse_layout(vy_front *f, vy_decl *d)
{
    d->layout = vy_front_alloc(f, (VY_MAX_RANK + 1) * sizeof *d->layout);
    vy_expect(f, TK_LPAREN, "after the attribute");
    d->layout[d->layout_count++] = layout_number(f);
    if (vy_accept(f, TK_ADD)) d->layout[0] += d->within = layout_number(f);
    while (vy_accept(f, TK_COMMA)) {
        const uint32_t stride = layout_number(f);
        if (d->layout_count <= VY_MAX_RANK) d->layout[d->layout_count] = stride;
        d->layout_count++;
    }
    vy_expect(f, TK_RPAREN, "after the attribute's value");
}

static void parse_attribute(vy_front *f, vy_decl *d, int which)
{
    switch (which) {
    case SET: d->set = vy_parse_attribute_number(f, "set"); break;
    case BINDING: d->binding = vy_parse_attribute_number(f, "binding"); break;
    case INIT: vy_parse_init(f, d); break;
    case OFFSET: d->offset = vy_parse_attribute_number(f, "offset"); break;
    case LAYOUT: parse_layout(f, d); break;
    default: break;
    }
}

// Reads them; a bit for each that is there.
static unsigned parse_parameter_attributes(vy_front *f, vy_decl *d)
{
    unsigned seen = 0;
    while (f->tok.kind == TK_AT && !f->failed) {
        vy_token at = f->tok;
        vy_advance(f);
        int which = 0;
        char text[48];
        while (which < ATTRIBUTES && !vy_at_word(f, attributes[which])) which++;
        if (which == ATTRIBUTES)
            vy_front_error(f, VY_E_ATTRIBUTE, at.line, at.column, NULL,
                           "there is no attribute %s of a parameter", vy_token_text(&f->tok, text));
        else if (seen & 1u << which)
            vy_front_error(f, VY_E_ATTRIBUTE, at.line, at.column, "write it once",
                           "attribute %s is given twice", vy_token_text(&f->tok, text));
        seen |= 1u << which;
        vy_advance(f);
        parse_attribute(f, d, which);
    }
    d->has_set = seen & 1u << SET;
    d->has_binding = seen & 1u << BINDING;
    d->workspace = seen & 1u << WORKSPACE;
    d->owned = seen & 1u << OWNED;
    d->uniform = seen & 1u << UNIFORM;
    d->has_offset = seen & 1u << OFFSET;
    return seen;
}

// Where attributes are allowed: before buffers of programs, and those of a shader's scalars.
static void check_attributes(vy_front *f, const vy_token *at, unsigned seen, const vy_decl *d,
                             bool program)
{
    const unsigned scalar = 1u << OFFSET | 1u << UNIFORM | 1u << SET | 1u << BINDING;
    const bool place = seen & 1u << OFFSET && !(seen & ~scalar) && d->kind == DK_SCALAR;
    const bool buffer = d->kind == DK_BUFFER && program && !(seen & 1u << OFFSET);
    if (!seen || buffer || (place && f->shader)) return;
    if (place)
        vy_front_error(f, VY_E_ATTRIBUTE, at->line, at->column, "write `@shader program`",
                       "only the scalars of a shader have offsets");
    else
        vy_front_error(f, VY_E_ATTRIBUTE, at->line, at->column, NULL,
                       "attributes are allowed only before buffers of programs");
}

// What a shader's buffer has is with its binding.
static void check_layout(vy_front *f, const vy_token *at, const vy_decl *d)
{
    if (d->kind != DK_BUFFER || (!d->layout && !d->uniform)) return;
    if (!f->shader || !d->has_binding)
        vy_front_error(f, VY_E_ATTRIBUTE, at->line, at->column,
                       "write `@shader program`, and @binding",
                       "only the buffers that a shader binds have @layout and @uniform");
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
    vy_decl given = {0};
    vy_token at = f->tok;
    const unsigned seen = parse_parameter_attributes(f, &given);
    vy_decl *d = vy_parse_decl(f, program ? DK_SCALAR : DK_PARAM);
    vy_name_rec *name = d->name;
    uint32_t line = d->line, column = d->column;
    uint8_t kind = d->kind;
    *d = given;
    d->name = name, d->line = line, d->column = column, d->kind = kind;
    vy_expect(f, TK_COLON, "after the parameter's name");
    bool buffer = accept_access(f, &d->cls);
    const uint8_t next = f->tok.kind == TK_NAME ? vy_peek(f).kind : TK_END;
    const bool access = next == TK_TYPE || next == TK_NAME; // `x: inn f32[N]`
    const unsigned meant = access ? VY_SPELL_ACCESS : VY_SPELL_TYPES;
    d->open = f->tok.kind == TK_TYPE ? f->tok.name : NULL;
    const bool value = buffer && !program && vy_peek(f).kind != TK_LBRACKET;
    if (value) d->kind = d->cls == VY_IN ? DK_PARAM : DK_VAR;
    buffer &= !value;
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
    check_attributes(f, &at, seen, d, program);
    check_layout(f, &at, d);
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
    if (kind == DK_FUNC && f->tok.kind == TK_LT) vy_parse_generic(f, fn);
    parse_parameters(f, fn);
    return fn;
}
