// SPDX-License-Identifier: MIT
// sema.c: what names mean in a module: constants, functions, programs, parameters, recursion.
//
// Every function is looked at once, called or not; inlining it then only walks the annotated tree.
#include "ir/text/front.h"

#include <stdio.h>
#include <string.h>

// ----------------------------------------------------------------------------------------- scopes
static const char *decl_kind_name(const vy_decl *d)
{
    static const char *const names[] = {"variable", "variable", "parameter", "loop variable",
                                        "scalar",   "variable", "buffer",    "shared array",
                                        "array",    "constant", "function",  "program",
                                        "pipeline", "number"};
    return names[d->kind];
}

void vy_declare(vy_front *f, vy_decl *d)
{
    if (f->failed) return;
    vy_decl *old = d->name->local;
    if (old) {
        vy_front_error(f, VY_E_NAME_TAKEN, d->line, d->column, NULL,
                       "`%s` is already the name of a %s, declared on line %u", d->name->text,
                       decl_kind_name(old), old->line);
        return;
    }
    d->name->local = d;
    d->scope_next = f->scope;
    f->scope = d;
    d->slot = f->func ? f->func->slot_count++ : 0;
    d->loop_depth = f->loop ? f->loop->depth : 0;
}

void vy_scope_close(vy_front *f, vy_decl *mark)
{
    while (f->scope != mark) {
        f->scope->name->local = NULL;
        f->scope = f->scope->scope_next;
    }
}

static void declare_global(vy_front *f, vy_decl *d)
{
    const vy_name_rec *n = d->name;
    if (n->global)
        vy_front_error(f, VY_E_NAME_TAKEN, d->line, d->column, NULL,
                       "`%s` is already the name of a %s, declared on line %u", n->text,
                       decl_kind_name(n->global), n->global->line);
    if (d->kind == DK_FUNC && vy_builtin_find(n->text, n->length))
        vy_front_error(f, VY_E_NAME_TAKEN, d->line, d->column, NULL,
                       "`%s` is a function of the language", n->text);
    d->name->global = d;
}

// ------------------------------------------------------------------------------------- dimensions
static bool is_dim_operator(uint8_t op)
{
    return op == TK_ADD || op == TK_SUB || op == TK_MUL || op == TK_DIV || op == TK_REM;
}

static void sema_dim_name(vy_front *f, vy_expr *e)
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
    bool scalar =
        d->kind == DK_SCALAR || d->kind == DK_CONST || d->kind == DK_PARAM || d->kind == DK_NUMBER;
    if (!scalar || !vy_type_is_integer((vy_type)d->type))
        vy_front_error(f, VY_E_EXTENT, e->line, e->column, NULL,
                       "`%s` is no integer scalar or constant, so no dimension", n->text);
    e->u.ref.decl = d;
}

static void sema_dim_call(vy_front *f, vy_expr *e)
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

void vy_sema_dim(vy_front *f, vy_expr *e)
{
    if (f->failed) return;
    switch (e->kind) {
    case EX_INT: return;
    case EX_NAME: sema_dim_name(f, e); return;
    case EX_CALL: sema_dim_call(f, e); return;
    case EX_MEMBER: // check_dims.c knows where it may stand
        vy_synth(f, e);
        if (f->failed || (e->kind == EX_BUILTIN && e->op == VY_NUM_GROUPS)) return;
        break;
    case EX_UNARY:
        if (e->op != TK_SUB) break;
        vy_sema_dim(f, e->u.sub.a);
        return;
    case EX_CHAIN:
        for (vy_expr *o = e->u.list; o; o = o->next) {
            if (o != e->u.list && !is_dim_operator(o->link)) goto bad;
            vy_sema_dim(f, o);
        }
        return;
    default: break;
    }
bad:
    vy_front_error(f, VY_E_EXTENT, e->line, e->column, NULL, "this is not allowed in a dimension");
}

void vy_sema_dims(vy_front *f, vy_decl *d)
{
    for (vy_expr *e = d->dims; e && !f->failed; e = e->next) {
        bool unknown = e->kind == EX_NAME && !e->u.ref.name;
        if (!unknown) {
            vy_sema_dim(f, e);
            continue;
        }
        if (f->func && !f->func->is_program && d->kind == DK_BUFFER) continue;
        if (d->kind != DK_BUFFER || d->rank != 1)
            vy_front_error(f, VY_E_EXTENT, e->line, e->column, "give a size",
                           "`?` stands for the size of a one-dimensional buffer only");
    }
}

// ------------------------------------------------------------------------- functions and programs
void vy_sema_parameters(vy_front *f, vy_func *fn)
{
    for (vy_decl *d = fn->params; d; d = d->next) {
        if (d->kind != DK_BUFFER && vy_type_loaded((vy_type)d->type) != d->type)
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
    for (vy_decl *d = fn->overs; d; d = d->next) vy_declare(f, d);
    for (vy_expr *e = fn->workgroup; e && !f->failed; e = e->next) vy_sema_dim(f, e);
    for (uint32_t i = 0; i < fn->result_count; i++)
        if (vy_type_loaded((vy_type)fn->results[i]) != fn->results[i])
            vy_front_error(f, VY_E_TYPE_WRONG, fn->decl->line, fn->decl->column, NULL,
                           "function `%s` cannot return a %s", fn->decl->name->text,
                           vy_type_name((vy_type)fn->results[i]));
}

static void sema_function(vy_front *f, vy_func *fn)
{
    f->func = fn;
    f->scope = NULL;
    f->loop = NULL;
    vy_sema_parameters(f, fn);
    if (!f->failed) vy_sema_body(f, fn);
    vy_scope_close(f, NULL);
    f->func = NULL;
}

// ---------------------------------------------------------------------------------------- recursion
// Names the functions of the circle that `fn` closes.
static void report_recursion(vy_front *f, const vy_func *from, const vy_func *fn,
                             const vy_callee *call)
{
    char path[160];
    const vy_func *list[4];
    int n = 0;
    for (const vy_func *p = from; p && p != fn && n < 4; p = p->path) list[n++] = p;
    size_t used = (size_t)snprintf(path, sizeof path, "%.30s", fn->decl->name->text);
    while (n-- > 0)
        used += (size_t)snprintf(path + used, sizeof path - used, " → %.24s",
                                 list[n]->decl->name->text);
    vy_front_error(f, VY_E_RECURSION, call->line, call->column, NULL,
                   "function `%s` calls itself: %s → %.30s", fn->decl->name->text, path,
                   fn->decl->name->text);
}

static void find_recursion(vy_front *f, vy_func *root)
{
    root->color = 1;
    root->walk = root->callees;
    for (vy_func *top = root; top && !f->failed;) {
        vy_callee *c = top->walk;
        if (!c) {
            top->color = 2;
            top = top->path;
            continue;
        }
        top->walk = c->next;
        if (c->func->color == 1) report_recursion(f, top, c->func, c);
        if (c->func->color != 0) continue;
        c->func->color = 1;
        c->func->walk = c->func->callees;
        c->func->path = top;
        top = c->func;
    }
}

bool vy_sema(vy_front *f)
{
    for (vy_decl *d = f->consts; d && !f->failed; d = d->next) declare_global(f, d);
    for (vy_func *fn = f->funcs; fn && !f->failed; fn = fn->next) declare_global(f, fn->decl);
    for (vy_func *fn = f->pipes; fn && !f->failed; fn = fn->next) declare_global(f, fn->decl);
    f->in_const = true;
    for (vy_decl *d = f->consts; d && !f->failed; d = d->next) {
        if (vy_type_loaded((vy_type)d->type) != d->type)
            vy_front_error(f, VY_E_TYPE_WRONG, d->line, d->column, NULL,
                           "constant `%s` cannot be a %s", d->name->text,
                           vy_type_name((vy_type)d->type));
        vy_check_as(f, d->dims, d->type, "the constant");
        if (f->failed && d->given) vy_define_refused(f, d);
    }
    f->in_const = false;
    for (vy_func *fn = f->funcs; fn && !f->failed; fn = fn->next) sema_function(f, fn);
    for (vy_func *fn = f->pipes; fn && !f->failed; fn = fn->next) vy_sema_pipeline(f, fn);
    for (vy_func *fn = f->funcs; fn && !f->failed; fn = fn->next)
        if (fn->color == 0) find_recursion(f, fn);
    return !f->failed;
}
