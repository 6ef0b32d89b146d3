// SPDX-License-Identifier: MIT
// sema_expr.c: types of expressions.
//
// Types are synthesised bottom up (vy_synth).  An expression made only of literals stays VY_ANY_INT
// or VY_ANY_FLOAT until its context is known; then all of it gets that type top down (vy_settle),
// and so is evaluated in it.  Either walk visits a node once.
#include "ir/text/front.h"

#include <string.h>

const char *vy_any_type_name(const vy_front *f, vy_text_type type)
{
    if (type == VY_ANY_INT) return "an integer literal";
    if (type == VY_ANY_FLOAT) return "a float literal";
    if (vy_is_made(type)) return vy_made_of(f, type)->name;
    return vy_type_name((vy_type)type);
}

const char *vy_operator_text(uint8_t op)
{
    static const char *const texts[] = {"||", "&&", "|",  "^",  "&", "==", "!=", "<", "<=",
                                        ">",  ">=", "<<", ">>", "+", "-",  "*",  "/", "%"};
    return op >= TK_OROR && op <= TK_REM ? texts[op - TK_OROR] : "=";
}

bool vy_operator_fits(uint8_t op, vy_text_type t)
{
    bool integer = t == VY_ANY_INT || (t >= VY_I32 && t <= VY_U64);
    bool number = integer || t == VY_ANY_FLOAT || vy_type_is_float((vy_type)t);
    switch (op) {
    case TK_ADD:
    case TK_SUB:
    case TK_MUL:
    case TK_DIV:
    case TK_LT:
    case TK_LE:
    case TK_GT:
    case TK_GE: return number;
    case TK_REM:
    case TK_SHL:
    case TK_SHR: return integer;
    case TK_AND:
    case TK_OR:
    case TK_XOR: return integer || t == VY_BOOL;
    case TK_EQ:
    case TK_NE: return number || t == VY_BOOL || vy_is_made(t);
    default: return false;
    }
}

static vy_text_type broken(vy_ast_expr *e) { return e->type = VY_BROKEN; }

void vy_operator_error(vy_front *f, const vy_ast_expr *at, uint8_t op, vy_text_type t)
{
    vy_front_error(f, VY_E_TYPE_WRONG, at->line, at->column,
                   vy_is_made(t) && op >= TK_LT && op <= TK_GE      ? "compare components, like v.x"
                   : t == VY_BOOL && (op == TK_ADD || op == TK_MUL) ? "use & | ^ ! or u32(x)"
                                                                    : NULL,
                   "`%s` is not for values of type %s", vy_operator_text(op),
                   vy_any_type_name(f, t));
}

void vy_types_differ(vy_front *f, const vy_ast_expr *e, vy_text_type have, vy_text_type t,
                     const char *what)
{
    vy_front_error(f, VY_E_TYPES_DIFFER, e->line, e->column, vy_made_fix(f, have, t),
                   "%s needs values of one type, not %s and %s", what, vy_any_type_name(f, have),
                   vy_any_type_name(f, t));
}

vy_text_type vy_join(vy_front *f, vy_text_type so_far, vy_ast_expr *e, vy_text_type t,
                     const char *what)
{
    if (t == VY_BROKEN || so_far == VY_BROKEN) return VY_BROKEN;
    if (so_far == VY_VOID || so_far == t) return t;
    if (vy_is_any(t)) return so_far == VY_ANY_INT ? t : so_far;
    if (vy_is_any(so_far)) return t;
    vy_types_differ(f, e, so_far, t, what);
    return VY_BROKEN;
}

// ------------------------------------------------------------------------------------------ names
static vy_text_type literal_name(vy_ast_expr *e)
{
    static const char *const names[] = {"inf", "nan", "pi"};
    for (uint32_t i = 0; i < 3; i++) {
        if (strcmp(e->u.ref.name->text, names[i]) != 0) continue;
        e->kind = EX_FLOAT;
        e->op = VY_VOID;
        e->u.number.text = NULL;
        e->u.number.length = i;
        return e->type = VY_ANY_FLOAT;
    }
    return VY_BROKEN;
}

static vy_text_type name_error(vy_front *f, vy_ast_expr *e, const char *name)
{
    const vy_decl *d = e->u.ref.name->local ? e->u.ref.name->local : e->u.ref.name->global;
    if (d && (d->kind == DK_BUFFER || d->kind == DK_SHARED || d->kind == DK_LOCAL))
        vy_front_error(f, VY_E_RANK, e->line, e->column, "name an element, like `x[i]`",
                       "`%s` is an array, not a value", name);
    else if (d && d->kind >= DK_FUNC)
        vy_front_error(f, VY_E_NAME_KIND, e->line, e->column, "call functions like `f(x)`",
                       "`%s` is not a value", name);
    else if (f->in_const && d)
        vy_front_error(f, VY_E_CONSTANT, e->line, e->column, NULL,
                       "`%s` is not known at compile time", name);
    else
        vy_front_error(f, VY_E_NAME_UNKNOWN, e->line, e->column,
                       vy_spelling_fix(f, name, strlen(name), VY_SPELL_VALUES | VY_SPELL_LITERALS,
                                       NULL),
                       "`%s` is not declared", name);
    return broken(e);
}

static vy_text_type synth_name(vy_front *f, vy_ast_expr *e)
{
    if (!e->u.ref.name) return name_error(f, e, "?");
    vy_name_rec *n = e->u.ref.name;
    vy_decl *d = n->local ? n->local : n->global;
    bool array = d && (d->kind == DK_BUFFER || d->kind == DK_SHARED || d->kind == DK_LOCAL);
    bool value = d && !array && d->kind < DK_FUNC && (!f->in_const || d->kind == DK_CONST);
    if (value && f->in_numbers && vy_is_made(d->type)) {
        vy_front_error(f, VY_E_CONSTANT, e->line, e->column, "write the number itself",
                       "constants that are one number, and sizes of arrays, do not depend on `%s`, "
                       "which is made of several",
                       n->text);
        return broken(e);
    }
    if (value) {
        vy_check_written(f, e, d);
        e->u.ref.decl = d;
        return e->type = d->type;
    }
    vy_builtin id;
    if (!d && literal_name(e) != VY_BROKEN) return e->type;
    if (!d && !f->in_const && vy_builtin_value_find(n->text, n->length, &id)) {
        if (id <= VY_NUM_GROUPS) {
            vy_front_error(f, VY_E_NAME_KIND, e->line, e->column, "write `gid.x`, `gid.y` …",
                           "`%s` has three components", n->text);
            return broken(e);
        }
        e->kind = EX_BUILTIN;
        e->op = (uint8_t)id;
        e->count = 0;
        return e->type = VY_U32;
    }
    return name_error(f, e, n->text);
}

static void refuse_mark(vy_front *f, const vy_ast_expr *e, uint8_t allowed)
{
    if (e->op / VY_FLAG_FIRST > e->count) {
        vy_front_error(f, VY_E_MARK, e->line, e->column, "write how many of the first indices are",
                       "@in_range(%u) of `%s`, which has %u here", e->op / VY_FLAG_FIRST,
                       e->u.ref.name->text, e->count);
        return;
    }
    uint8_t wrong = e->op & (uint8_t)~allowed;
    const bool once = allowed & VY_FLAG_OWNED && wrong & VY_FLAG_ONCE;
    vy_front_error(f, VY_E_MARK, e->line, e->column,
                   once ? "it is allowed only on atomic_add, after @owned"
                        : "it is allowed only on atomics",
                   "mark `@%s` means nothing on this access to `%s`",
                   vy_mark_name(wrong & VY_FLAG_OWNED ? VY_FLAG_OWNED : VY_FLAG_ONCE),
                   e->u.ref.name->text);
}

void vy_check_stored(vy_front *f, const vy_ast_expr *e)
{
    if (e->u.ref.decl->cls == VY_IN)
        vy_front_error(f, VY_E_ACCESS, e->line, e->column, NULL,
                       "`%s` is an `in` buffer: it may only be read", e->u.ref.name->text);
}

vy_text_type vy_sema_index(vy_front *f, vy_ast_expr *e, bool write, uint8_t marks)
{
    vy_decl *d = e->u.ref.name->local;
    const char *name = e->u.ref.name->text;
    if (!d || (d->kind != DK_BUFFER && d->kind != DK_SHARED && d->kind != DK_LOCAL)) {
        bool known = d || e->u.ref.name->global;
        vy_front_error(f, known ? VY_E_NAME_KIND : VY_E_NAME_UNKNOWN, e->line, e->column,
                       known ? "only buffers and arrays have elements"
                             : vy_spelling_fix(f, name, strlen(name), VY_SPELL_ARRAYS,
                                               "declare it as a parameter: name: in f32[N]"),
                       known ? "`%s` is not a buffer" : "`%s` is not declared", name);
        return broken(e);
    }
    e->u.ref.decl = d;
    if (f->in_const) {
        vy_front_error(f, VY_E_CONSTANT, e->line, e->column, NULL,
                       "an element of `%s` is not known at compile time", name);
        return broken(e);
    }
    const vy_text_type row = vy_row_type(f, d, e->count);
    if (e->count != d->rank && row == VY_VOID) {
        vy_front_error(f, VY_E_RANK, e->line, e->column, NULL, "`%s` has %u dimensions, not %u",
                       name, d->rank, e->count);
        return broken(e);
    }
    if (write) vy_check_stored(f, e);
    if (f->failed) return broken(e);
    if (e->op & ~marks || e->op / VY_FLAG_FIRST > e->count) refuse_mark(f, e, marks);
    for (vy_ast_expr *i = e->u.ref.list; i && !f->failed; i = i->next) {
        vy_text_type t = vy_check_value(f, i);
        if (!f->failed && !vy_operator_fits(TK_REM, t))
            vy_front_error(f, VY_E_TYPE_WRONG, i->line, i->column, "write u32(x)",
                           "an index must be an integer, not %s", vy_any_type_name(f, t));
    }
    if (row != VY_VOID) return e->type = row;
    return e->type = vy_is_made(d->type) ? d->type : (vy_text_type)vy_type_loaded((vy_type)d->type);
}

// -------------------------------------------------------------------------------------- operators
static vy_text_type synth_chain(vy_front *f, vy_ast_expr *e)
{
    vy_text_type t = VY_VOID;
    bool matrix = false;
    for (vy_ast_expr *o = e->u.list; o && !f->failed; o = o->next)
        matrix |= vy_is_matrix(f, vy_synth(f, o));
    if (matrix && !f->failed) return vy_synth_products(f, e);
    for (vy_ast_expr *o = e->u.list; o && !f->failed; o = o->next) {
        const char *text = vy_operator_text(o == e->u.list && o->next ? o->next->link : o->link);
        char what[8] = {'`', text[0], text[1], text[1] ? '`' : 0, 0};
        if (!text[1]) what[2] = '`';
        t = vy_widen(f, t, o, o->type, what);
    }
    if (f->failed) return broken(e);
    const vy_text_type element = vy_element(f, t);
    for (vy_ast_expr *o = e->u.list; o && !f->failed; o = o->next) {
        if (o != e->u.list && !vy_operator_fits(o->link, element))
            vy_operator_error(f, e, o->link, t);
        else if (!vy_is_any(t) && vy_is_any(o->type))
            vy_settle(f, o, element);
    }
    return e->type = t;
}

static vy_text_type synth_compare(vy_front *f, vy_ast_expr *e)
{
    vy_ast_expr *a = e->u.sub.a, *b = e->u.sub.b;
    vy_text_type t = vy_synth(f, a);
    if (!f->failed) t = vy_join(f, t, b, vy_synth(f, b), "a comparison");
    if (f->failed) return broken(e);
    if (vy_is_any(t)) t = t == VY_ANY_INT ? VY_I32 : VY_F32;
    vy_settle(f, a, t);
    vy_settle(f, b, t);
    if (!vy_operator_fits(e->op, t)) vy_operator_error(f, e, e->op, t);
    return e->type = VY_BOOL;
}

static vy_text_type synth_unary(vy_front *f, vy_ast_expr *e)
{
    vy_ast_expr *a = e->u.sub.a;
    bool least = e->op == TK_SUB && vy_is_least(a, a->op);
    vy_text_type t = least ? (a->type = a->op) : vy_synth(f, a);
    if (f->failed) return broken(e);
    const vy_text_type element = vy_element(f, t);
    bool fits = e->op == TK_NOT     ? element == VY_BOOL
                : e->op == TK_TILDE ? vy_operator_fits(TK_REM, element)
                                    : vy_operator_fits(TK_ADD, element);
    if (!fits)
        vy_front_error(f, VY_E_TYPE_WRONG, e->line, e->column,
                       e->op == TK_NOT ? "compare it: `x == 0`" : NULL,
                       "`%s` is not for values of type %s",
                       e->op == TK_NOT     ? "!"
                       : e->op == TK_TILDE ? "~"
                                           : "-",
                       vy_any_type_name(f, t));
    return e->type = t;
}

static vy_text_type synth_cond(vy_front *f, vy_ast_expr *e)
{
    vy_check_as(f, e->u.sub.a, VY_BOOL, "the condition");
    vy_ast_expr *b = e->u.sub.b, *c = e->u.sub.c;
    if (f->failed) return broken(e);
    vy_text_type t = vy_synth(f, b);
    if (!f->failed) t = vy_join(f, t, c, vy_synth(f, c), "`? :`");
    if (f->failed) return broken(e);
    if (!vy_is_any(t)) {
        vy_settle(f, b, t);
        vy_settle(f, c, t);
    }
    return e->type = t;
}

static vy_text_type synth_cast(vy_front *f, vy_ast_expr *e)
{
    const vy_text_type t = vy_check_value(f, e->u.sub.a);
    if (!f->failed && vy_is_made(t))
        vy_front_error(f, VY_E_TYPE_WRONG, e->line, e->column,
                       "convert a component, or the whole: ivec3(v)",
                       "`%s` converts one number, this is %s", vy_type_name((vy_type)e->op),
                       vy_any_type_name(f, t));
    if (!f->failed && vy_type_loaded((vy_type)e->op) != e->op)
        vy_front_error(f, VY_E_TYPE_WRONG, e->line, e->column,
                       "a store to a buffer of small integers truncates by itself",
                       "there is no conversion to %s", vy_type_name((vy_type)e->op));
    return e->type = e->op;
}

static vy_text_type synth_reduce(vy_front *f, vy_ast_expr *e)
{
    vy_decl *mark = f->scope;
    if (f->in_const) {
        vy_front_error(f, VY_E_CONSTANT, e->line, e->column, NULL,
                       "a loop is not allowed in a constant");
        return broken(e);
    }
    f->reductions++;
    for (vy_range *r = e->u.reduce.ranges; r && !f->failed; r = r->next) vy_sema_range(f, r);
    vy_text_type t = f->failed ? VY_BROKEN : vy_synth(f, e->u.reduce.body);
    f->reductions--;
    const bool sums = vy_operator_fits(TK_ADD, vy_element(f, t));
    if (!f->failed && (!sums || (vy_is_matrix(f, t) && e->op != TK_ADD)))
        vy_operator_error(f, e, sums ? e->op : TK_ADD, t);
    vy_scope_close(f, mark);
    return e->type = t;
}

static vy_text_type synth_logic(vy_front *f, vy_ast_expr *e)
{
    for (vy_ast_expr *o = e->u.list; o && !f->failed; o = o->next)
        vy_check_as(f, o, VY_BOOL, e->op == TK_OROR ? "`||`" : "`&&`");
    return e->type = VY_BOOL;
}

static vy_text_type synth_call(vy_front *f, vy_ast_expr *e)
{
    vy_text_type t = vy_synth_call(f, e);
    if (t == VY_VOID && !f->failed)
        vy_front_error(f, VY_E_NO_VALUE, e->line, e->column, "make it a statement",
                       "`%s` has no value", e->u.ref.name->text);
    return t;
}

static vy_text_type synth_index(vy_front *f, vy_ast_expr *e)
{
    if (vy_is_part(e)) return vy_synth_member(f, e);
    return vy_sema_index(f, e, false, vy_marks_allowed(VY_OP_LOAD, e->op));
}

vy_text_type vy_synth(vy_front *f, vy_ast_expr *e)
{
    if (f->failed) return broken(e);
    switch (e->kind) {
    case EX_INT:
    case EX_FLOAT: return vy_synth_literal(f, e);
    case EX_BOOL: return e->type = VY_BOOL;
    case EX_NAME: return synth_name(f, e);
    case EX_MEMBER: return vy_synth_member(f, e);
    case EX_BUILTIN: return e->type = VY_U32;
    case EX_CHAIN: return synth_chain(f, e);
    case EX_LOGIC: return synth_logic(f, e);
    case EX_COMPARE: return synth_compare(f, e);
    case EX_UNARY: return synth_unary(f, e);
    case EX_COND: return synth_cond(f, e);
    case EX_CALL: return synth_call(f, e);
    case EX_INDEX: return synth_index(f, e);
    case EX_CAST: return synth_cast(f, e);
    case EX_MAKE: return e->op ? e->type : vy_synth_made(f, e);
    case EX_REDUCE: return synth_reduce(f, e);
    default: break;
    }
    vy_front_error(f, VY_E_NO_VALUE, e->line, e->column, "tuples are allowed only after `return`",
                   "a tuple is not a value");
    return broken(e);
}
