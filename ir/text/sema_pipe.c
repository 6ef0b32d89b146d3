// SPDX-License-Identifier: MIT
// sema_pipe.c: resolves names in a pipeline.  Whether arguments fit their parameters is checked
// when the pipeline is built (check_dispatch.c).
#include "ir/text/front.h"

#include <string.h>

static void sema_steps(vy_front *f, vy_pipe_stmt *list);

// -------------------------------------------------------------------------------------- dispatches
// `x`, `x[t]`, `flat(x)`, `flat(x[t])`
static void sema_slice(vy_front *f, vy_ast_expr *e)
{
    if (e->kind == EX_CALL && !strcmp(e->u.ref.name->text, "flat")) {
        if (e->count != 1)
            vy_front_error(f, VY_E_ARGUMENTS, e->line, e->column, "write flat(x) or flat(x[t])",
                           "`flat` takes one buffer");
        e = e->u.ref.list;
        if (f->failed) return;
    }
    vy_decl *d = e->u.ref.decl = vy_sema_find_buffer(f, e);
    if (!d || e->kind == EX_NAME) return;
    if (e->count == 0 || e->count >= d->rank)
        vy_front_error(f, VY_E_RANK, e->line, e->column,
                       "index leading dimensions only, and leave at least one",
                       "`%s` has %u dimensions, a slice of it cannot have %u indices",
                       d->name->text, d->rank, e->count);
    for (vy_ast_expr *i = e->u.ref.list; i && !f->failed; i = i->next) vy_sema_dim(f, i);
}

static void sema_scalar(vy_front *f, const vy_func *program, vy_pipe_actual *a)
{
    vy_decl *p = program->params;
    while (p && p->name != a->name) p = p->next;
    if (!p || p->kind != DK_SCALAR) {
        vy_front_error(f, p ? VY_E_PIPE_ARGUMENTS : VY_E_PIPE_SCALAR, a->line, a->column,
                       p ? "pass buffers by position" : "name a scalar parameter of the program",
                       p ? "`%s` is a buffer of `%s`, not a scalar"
                         : "`%s` is not a scalar of `%s`",
                       a->name->text, program->decl->name->text);
        return;
    }
    a->param = p;
    vy_ast_expr *e = a->value;
    vy_decl *d = e->kind == EX_NAME && e->u.ref.name ? e->u.ref.name->local : NULL;
    if (vy_type_is_integer((vy_type)p->type)) {
        vy_sema_dim(f, e);
    } else if (d && d->kind == DK_SCALAR) {
        e->u.ref.decl = d;
        if (d->type != p->type)
            vy_front_error(f, VY_E_TYPES_DIFFER, e->line, e->column,
                           "declare them with the same type", "`%s` is %s, `%s` of `%s` is %s",
                           d->name->text, vy_type_name((vy_type)d->type), p->name->text,
                           program->decl->name->text, vy_type_name((vy_type)p->type));
    } else {
        f->in_const = true;
        vy_check_as(f, e, p->type, "the scalar");
        f->in_const = false;
    }
}

static void sema_dispatch(vy_front *f, vy_pipe_stmt *s)
{
    vy_decl *d = vy_again_find(s->name, f->func);
    if (!d || (d->kind != DK_PROGRAM && d->kind != DK_PIPELINE)) {
        vy_front_error(f, d ? VY_E_NAME_KIND : VY_E_NAME_UNKNOWN, s->line, s->column,
                       d ? "steps of a pipeline dispatch programs and pipelines"
                         : vy_spelling_fix(f, s->name->text, s->name->length, VY_SPELL_PROGRAMS,
                                           "declare it with `program`"),
                       d ? "`%s` is neither a program nor a pipeline" : "there is no program `%s`",
                       s->name->text);
        return;
    }
    s->func = d->func;
    vy_again_use(f->func, d->func);
    vy_note_callee(f, d->func, s->line, s->column);
    for (vy_pipe_actual *a = s->args; a && !f->failed; a = a->next) {
        if (a->name)
            sema_scalar(f, s->func, a);
        else
            sema_slice(f, a->value);
    }
    for (vy_ast_expr *e = s->groups; e && !f->failed; e = e->next) vy_sema_dim(f, e);
}

// ------------------------------------------------------------------------------------------ steps
static void sema_buffer(vy_front *f, vy_decl *d)
{
    for (const vy_ast_expr *e = d->dims; e; e = e->next)
        if (e->kind == EX_NAME && !e->u.ref.name)
            vy_front_error(f, VY_E_EXTENT, e->line, e->column,
                           "give a size, like len(x) or value(n[0])",
                           "`?` is allowed only as the size of a parameter");
    vy_sema_dims(f, d);
    d->init_decl = d->init == VY_INIT_COPY ? d->init_from->local : NULL;
    if (d->init == VY_INIT_COPY && !(d->init_decl && d->init_decl->kind == DK_BUFFER))
        vy_front_error(f, VY_E_NAME_UNKNOWN, d->line, d->column, "name a buffer that is visible",
                       "there is no buffer `%s` to copy", d->init_from->text);
    vy_declare(f, d);
}

static void sema_block(vy_front *f, vy_pipe_stmt *s)
{
    vy_decl *mark = f->scope;
    if (s->kind == PS_REPEAT) {
        vy_sema_dim(f, s->value);
        vy_sema_dim(f, s->to);
        if (s->keep_count) vy_sema_dim(f, s->keep_count);
        s->decl->type = VY_I64;
        vy_declare(f, s->decl);
    }
    sema_steps(f, s->body);
    vy_scope_close(f, mark);
}

static void sema_cell(vy_front *f, vy_pipe_stmt *s)
{
    vy_sema_dim(f, s->value);
    s->decl->type = VY_I64;
    vy_declare(f, s->decl);
}

static void sema_set(vy_front *f, vy_pipe_stmt *s)
{
    vy_decl *d = s->decl = s->name->local;
    if (!d)
        vy_front_error(f, VY_E_NAME_UNKNOWN, s->line, s->column,
                       vy_spelling_fix(f, s->name->text, s->name->length, VY_SPELL_VALUES,
                                       "declare it before: var NAME = 0;"),
                       "`%s` is not declared", s->name->text);
    else if (d->kind != DK_CELL)
        vy_front_error(f, VY_E_NAME_KIND, s->line, s->column, "declare it with `var`",
                       "`%s` cannot be assigned to", s->name->text);
    vy_sema_dim(f, s->value);
}

static void sema_arm(vy_front *f, vy_pipe_stmt *list)
{
    vy_decl *mark = f->scope;
    sema_steps(f, list);
    vy_scope_close(f, mark);
}

static void sema_if(vy_front *f, vy_pipe_stmt *s)
{
    vy_sema_condition(f, s->value);
    sema_arm(f, s->body);
    sema_arm(f, s->other);
}

static void sema_while(vy_front *f, vy_pipe_stmt *s)
{
    vy_decl *mark = f->scope;
    if (s->keep_count) vy_sema_dim(f, s->keep_count);
    sema_steps(f, s->other);
    vy_sema_condition(f, s->value);
    sema_steps(f, s->body);
    vy_scope_close(f, mark);
}

static void sema_steps(vy_front *f, vy_pipe_stmt *list)
{
    for (vy_pipe_stmt *s = list; s && !f->failed; s = s->next) {
        switch ((vy_pipe_stmt_kind)s->kind) {
        case PS_BUFFER: sema_buffer(f, s->decl); break;
        case PS_LET:
            vy_sema_dim(f, s->value);
            s->decl->type = VY_I64;
            vy_declare(f, s->decl);
            break;
        case PS_DISPATCH: sema_dispatch(f, s); break;
        case PS_REPEAT:
        case PS_CHECKPOINT: sema_block(f, s); break;
        case PS_VAR: sema_cell(f, s); break;
        case PS_SET: sema_set(f, s); break;
        case PS_IF: sema_if(f, s); break;
        case PS_WHILE: sema_while(f, s); break;
        }
    }
}

void vy_sema_pipeline(vy_front *f, vy_func *fn)
{
    f->func = fn;
    f->scope = NULL;
    f->loop = NULL;
    vy_sema_parameters(f, fn);
    for (const vy_decl *d = fn->params; d && !f->failed; d = d->next)
        if (d->workspace || d->init || d->owned)
            vy_front_error(f, VY_E_ATTRIBUTE, d->line, d->column,
                           d->owned ? "write it in the programs that the pipeline dispatches"
                                    : "declare it with `buffer` inside the pipeline",
                           "parameters of pipelines are neither @workspace, @init nor @owned");
    f->in_steps = true;
    sema_steps(f, fn->steps);
    f->in_steps = false;
    vy_scope_close(f, NULL);
    f->func = NULL;
}
