// SPDX-License-Identifier: MIT
// sema_dim.c: dimensions, and declarations that have them: parameters and domains.
#include "ir/text/front.h"

#include <string.h>

static bool is_dim_operator(uint8_t op)
{
    return op == TK_ADD || op == TK_SUB || op == TK_MUL || op == TK_DIV || op == TK_REM;
}

static void sema_dim_name(vy_front *f, vy_ast_expr *e)
{
    vy_name_rec *n = e->u.ref.name;
    vy_decl *d = n->local ? n->local : n->global;
    if (!d) {
        vy_front_error(f, VY_E_NAME_UNKNOWN, e->line, e->column,
                       vy_spelling_fix(f, n->text, n->length, VY_SPELL_VALUES,
                                       "declare it as a scalar parameter: name: u32"),
                       "`%s` is not declared", n->text);
        return;
    }
    bool scalar = d->kind == DK_SCALAR || d->kind == DK_CONST || d->kind == DK_PARAM ||
                  d->kind == DK_NUMBER || d->kind == DK_CELL;
    if (!scalar || !vy_type_is_integer((vy_type)d->type))
        vy_front_error(f, VY_E_EXTENT, e->line, e->column, NULL,
                       "`%s` is not an integer scalar or constant, so it cannot be a dimension",
                       n->text);
    e->u.ref.decl = d;
}

static void sema_dim_call(vy_front *f, vy_ast_expr *e)
{
    const char *name = e->u.ref.name->text;
    if (strcmp(name, "len") == 0 && (e->count == 1 || e->count == 2)) {
        vy_synth(f, e);
        vy_settle(f, e, VY_U32);
        return;
    }
    if (e->count == 1 && strcmp(name, "isqrt") == 0) {
        vy_sema_dim(f, e->u.ref.list);
        return;
    }
    if (e->count == 2 && (strcmp(name, "min") == 0 || strcmp(name, "max") == 0)) {
        vy_sema_dim(f, e->u.ref.list);
        vy_sema_dim(f, e->u.ref.list->next);
        return;
    }
    if (f->in_steps && strcmp(name, "value") == 0) {
        vy_sema_element(f, e);
        return;
    }
    vy_front_error(f, VY_E_EXTENT, e->line, e->column, NULL,
                   "`%s(…)` is not allowed in a dimension", name);
}

void vy_sema_dim(vy_front *f, vy_ast_expr *e)
{
    if (f->failed) return;
    switch (e->kind) {
    case EX_INT: return;
    case EX_NAME: sema_dim_name(f, e); return;
    case EX_CALL: sema_dim_call(f, e); return;
    case EX_MEMBER: // check_dims.c knows where it is allowed
        vy_synth(f, e);
        if (f->failed || (e->kind == EX_BUILTIN && e->op == VY_NUM_GROUPS)) return;
        break;
    case EX_UNARY:
        if (e->op != TK_SUB) break;
        vy_sema_dim(f, e->u.sub.a);
        return;
    case EX_CHAIN:
        for (vy_ast_expr *o = e->u.list; o; o = o->next) {
            if (o != e->u.list && !is_dim_operator(o->link)) goto bad;
            vy_sema_dim(f, o);
        }
        return;
    default: break;
    }
bad:
    if (f->in_steps && e->kind == EX_INDEX)
        vy_front_error(f, VY_E_EXTENT, e->line, e->column, "write value(x[i])",
                       "a pipeline reads an element of a buffer with value(…)");
    else if (f->in_steps && e->kind == EX_FLOAT)
        vy_front_error(f, VY_E_EXTENT, e->line, e->column,
                       "keep floats in buffers; compare them in conditions: value(x[0]) < 0.5",
                       "a pipeline itself computes with integers");
    else
        vy_front_error(f, VY_E_EXTENT, e->line, e->column, NULL,
                       "this is not allowed in a dimension");
}

void vy_sema_dims(vy_front *f, vy_decl *d)
{
    const vy_made_type *m = vy_made_of(f, d->type);
    if (m && d->rank + m->depth + 1 > VY_MAX_RANK)
        vy_front_error(f, VY_E_LIMIT, d->line, d->column, "use fewer dimensions",
                       "%s in more than %u dimensions", vy_any_type_name(f, d->type),
                       VY_MAX_RANK - m->depth - 1);
    for (vy_ast_expr *e = d->dims; e && !f->failed; e = e->next) {
        bool unknown = e->kind == EX_NAME && !e->u.ref.name;
        if (!unknown) {
            vy_sema_dim(f, e);
            continue;
        }
        if (f->func && !f->func->is_program && d->kind == DK_BUFFER) continue;
        if (d->kind != DK_BUFFER || e != d->dims)
            vy_front_error(f, VY_E_EXTENT, e->line, e->column, "give a size",
                           "`?` is allowed only as the first size of a buffer");
    }
}

static void sema_assumed(vy_front *f, vy_ast_expr *e)
{
    if (e->kind != EX_COMPARE || (e->op != TK_LE && e->op != TK_GE)) {
        vy_front_error(f, VY_E_EXTENT, e->line, e->column, "write `a <= b` or `a >= b`",
                       "this cannot be assumed");
        return;
    }
    vy_sema_dim(f, e->u.sub.a);
    vy_sema_dim(f, e->u.sub.b);
}

void vy_sema_parameters(vy_front *f, vy_func *fn)
{
    for (vy_decl *d = fn->params; d; d = d->next) {
        if (d->kind != DK_BUFFER && vy_stored_only(d->type))
            vy_front_error(f, VY_E_TYPE_WRONG, d->line, d->column,
                           "use i32 or u32; small integers are element types of buffers",
                           "parameter `%s` cannot be a %s", d->name->text,
                           vy_type_name((vy_type)d->type));
        vy_declare(f, d);
    }
    for (vy_decl *d = fn->params; d && !f->failed; d = d->next) {
        if (d->kind != DK_BUFFER) continue;
        if (d->rank == 0) d->rank = 1; // f32[] in a function
        vy_sema_dims(f, d);
    }
    for (vy_decl *d = fn->overs; d && !f->failed; d = d->next) vy_sema_dim(f, d->dims);
    for (vy_ast_expr *e = fn->assumes; e && !f->failed; e = e->next) sema_assumed(f, e);
    for (vy_decl *d = fn->overs; d; d = d->next) vy_declare(f, d);
    for (vy_ast_expr *e = fn->workgroup; e && !f->failed; e = e->next) vy_sema_dim(f, e);
    for (uint32_t i = 0; i < fn->result_count; i++)
        if (vy_stored_only(fn->results[i]))
            vy_front_error(f, VY_E_TYPE_WRONG, fn->decl->line, fn->decl->column, NULL,
                           "function `%s` cannot return a %s", fn->decl->name->text,
                           vy_type_name((vy_type)fn->results[i]));
    if (vy_result_scalars(f, fn) > VY_MAX_SCALARS)
        vy_front_error(f, VY_E_LIMIT, fn->decl->line, fn->decl->column, "return fewer values",
                       "function `%s` returns %u scalars, of at most %u", fn->decl->name->text,
                       vy_result_scalars(f, fn), VY_MAX_SCALARS);
}

vy_decl *vy_sema_find_buffer(vy_front *f, const vy_ast_expr *e)
{
    bool named = (e->kind == EX_NAME || e->kind == EX_INDEX) && e->u.ref.name;
    vy_decl *d = named ? e->u.ref.name->local : NULL;
    if (d && d->kind == DK_BUFFER) return d;
    if (named && !d)
        vy_front_error(f, VY_E_NAME_UNKNOWN, e->line, e->column,
                       vy_spelling_fix(f, e->u.ref.name->text, e->u.ref.name->length,
                                       VY_SPELL_ARRAYS, "declare it before: buffer NAME: f32[N];"),
                       "`%s` is not declared", e->u.ref.name->text);
    else if (d && d->kind == DK_SCALAR)
        vy_front_error(f, VY_E_NAME_KIND, e->line, e->column,
                       "scalars are inferred, or given as name=value",
                       "`%s` is a scalar; buffers are passed here", e->u.ref.name->text);
    else
        vy_front_error(f, VY_E_NAME_KIND, e->line, e->column, "write `x` or a slice like `x[t]`",
                       "this is not a buffer");
    return NULL;
}

void vy_sema_element(vy_front *f, vy_ast_expr *e)
{
    vy_ast_expr *x = e->u.ref.list;
    if (e->count != 1 || x->kind != EX_INDEX) {
        vy_front_error(f, VY_E_ARGUMENTS, e->line, e->column, "write value(x[i])",
                       "`value` takes one element of a buffer");
        return;
    }
    vy_decl *d = x->u.ref.decl = vy_sema_find_buffer(f, x);
    if (d && x->count != d->rank)
        vy_front_error(f, VY_E_RANK, x->line, x->column, NULL, "`%s` has %u dimensions, not %u",
                       d->name->text, d->rank, x->count);
    if (d && !f->failed && vy_is_made(d->type))
        vy_front_error(f, VY_E_TYPE_WRONG, x->line, x->column, "keep it in a buffer of numbers",
                       "`value` takes a number, an element of `%s` is %s", d->name->text,
                       vy_any_type_name(f, d->type));
    for (vy_ast_expr *i = x->u.ref.list; i && !f->failed; i = i->next) vy_sema_dim(f, i);
}
