// SPDX-License-Identifier: MIT
// lower_pipe.c: tree to builder calls: pipelines.
//
// A `let` and a counter are names of integer expressions, so they emit nothing here; every value(…)
// becomes a separate step before the step that contains it.
#include "ir/text/lower.h"
#include "ir/build/pipe_build.h"

#include <stdio.h>
#include <string.h>

static void lower_steps(vy_lower *l, const vy_pipe_stmt *list);

// Sibling blocks may declare the same name; in the signature names are unique.
static const char *buffer_name(vy_lower *l, vy_name_rec *name)
{
    if (name->pipe != l->func) {
        name->pipe = l->func;
        name->suffix = 1;
        return name->text;
    }
    char *text = vy_front_alloc(l->f, name->length + (size_t)12);
    for (;;) {
        if (l->f->failed) return "";
        int n = snprintf(text, name->length + (size_t)12, "%s_%u", name->text, ++name->suffix);
        vy_name_rec *fresh = vy_front_name(l->f, text, (uint32_t)n);
        if (fresh->pipe == l->func) continue;
        fresh->pipe = l->func;
        fresh->suffix = 1;
        return fresh->text;
    }
}

static void begin_buffer(vy_lower *l, const vy_decl *d, uint32_t c, vy_buffer b)
{
    const char *from = NULL;
    if (d->init == VY_INIT_COPY) {
        const vy_buffer other = {l->frame[d->init_decl->slot + c]};
        from = vy_program_buffer(vy_builder_program(l->b), other).name;
    }
    vy_buffer_init(l->b, b, (vy_init)d->init, from);
}

static void lower_buffer(vy_lower *l, const vy_decl *d, uint32_t c) // column c
{
    vy_dim dims[VY_MAX_RANK];
    vy_column column;
    const uint32_t rank = vy_lower_column(l, d, c, dims, &column);
    if (!rank) return;
    vy_lower_at(l, d->line, d->column);
    vy_name_rec *name = vy_front_name(l->f, column.name, (uint32_t)strlen(column.name));
    if (l->f->failed) return;
    vy_buffer b = vy_pipeline_buffer(l->pipe, buffer_name(l, name), column.type, rank, dims);
    l->frame[d->slot + c] = b.id;
    if (d->init && !vy_lower_stopped(l)) begin_buffer(l, d, c, b);
}

static void lower_buffers(vy_lower *l, const vy_decl *d)
{
    for (uint32_t c = 0; c < vy_columns(l->f, d->type) && !vy_lower_stopped(l); c++)
        lower_buffer(l, d, c);
}

// -------------------------------------------------------------------------------------- dispatches
static bool lower_scalar(vy_lower *l, const vy_pipe_actual *a, vy_pipe_scalar *out)
{
    const vy_decl *p = a->param;
    *out = (vy_pipe_scalar){.name = p->name->text};
    if (!vy_type_is_integer((vy_type)p->type))
        return vy_lower_given(l, a->value, p->name, (vy_type)p->type, out);
    out->kind = VY_PIPE_DIM;
    out->dim = vy_lower_dim(l, a->value);
    return !vy_lower_stopped(l);
}

static const vy_decl *buffer_of(const vy_ast_expr *e)
{
    return (e->kind == EX_CALL ? e->u.ref.list : e)->u.ref.decl;
}

static uint32_t count_buffers(const vy_lower *l, const vy_pipe_stmt *s)
{
    uint32_t n = 0;
    for (const vy_pipe_actual *a = s->args; a; a = a->next)
        if (!a->name) n += vy_columns(l->f, buffer_of(a->value)->type);
    return n;
}

// All its columns, of which *n become more.
static bool lower_slice(vy_lower *l, const vy_ast_expr *e, vy_pipe_arg *out, uint32_t *n)
{
    const vy_decl *d = buffer_of(e);
    vy_pipe_arg arg = {.flat = e->kind == EX_CALL};
    if (arg.flat) e = e->u.ref.list;
    vy_dim *index = vy_front_alloc(l->f, (e->kind == EX_NAME ? 1 : e->count) * sizeof *index);
    if (l->f->failed) return false;
    for (const vy_ast_expr *i = e->kind == EX_NAME ? NULL : e->u.ref.list; i; i = i->next)
        index[arg.rank++] = vy_lower_dim(l, i);
    arg.index = arg.rank ? index : NULL;
    for (uint32_t c = 0; c < vy_columns(l->f, d->type); c++) {
        arg.buffer.id = l->frame[d->slot + c];
        out[(*n)++] = arg;
    }
    return !vy_lower_stopped(l);
}

static bool lower_actuals(vy_lower *l, const vy_pipe_stmt *s, vy_pipe_arg *args, uint32_t *n,
                          vy_pipe_scalar *scalars)
{
    uint32_t k = 0;
    for (const vy_pipe_actual *a = s->args; a && !vy_lower_stopped(l); a = a->next)
        if (a->name ? !lower_scalar(l, a, &scalars[k++]) : !lower_slice(l, a->value, args, n))
            return false;
    return true;
}

static void lower_dispatch(vy_lower *l, const vy_pipe_stmt *s)
{
    vy_pipe_arg *args = vy_front_alloc(l->f, count_buffers(l, s) * sizeof *args + 1);
    vy_pipe_scalar *scalars = vy_front_alloc(l->f, s->scalars * sizeof *scalars + 1);
    vy_dim groups[3];
    uint32_t n = 0, g = 0;
    if (l->f->failed) return;
    for (const vy_ast_expr *e = s->groups; e; e = e->next) groups[g++] = vy_lower_dim(l, e);
    if (!lower_actuals(l, s, args, &n, scalars)) return;
    while (g && g < 3) groups[g++] = vy_dim_const(l->b, 1);
    if (vy_lower_stopped(l)) return;
    vy_lower_at(l, s->line, s->column);
    const vy_dim *given = g ? groups : NULL;
    const uint32_t k = s->scalars, program = s->func->same->program;
    if (s->func->decl->kind == DK_PIPELINE)
        vy_pipeline_call(l->pipe, vy_module_pipeline(l->f->m, program), n, args, k, scalars, given);
    else
        vy_pipeline_dispatch(l->pipe, vy_module_program(l->f->m, program), n, args, k, scalars,
                             given);
}

// ------------------------------------------------------------------------------------------ steps
static void lower_repeat(vy_lower *l, const vy_pipe_stmt *s)
{
    vy_dim from = vy_lower_dim(l, s->value), to = vy_lower_dim(l, s->to), keep = {0};
    if (s->keep_count) keep = vy_lower_dim(l, s->keep_count);
    if (vy_lower_stopped(l)) return;
    vy_lower_at(l, s->line, s->column);
    vy_dim t =
        vy_pipeline_repeat(l->pipe, s->decl->name->text, from, to, (vy_keep_states)s->keep, keep);
    if (s->reverse && !vy_lower_stopped(l)) { // from + to − 1 − t
        const vy_dim last = vy_dim_binary(l->b, VY_DIM_SUB, to, vy_dim_const(l->b, 1));
        t = vy_dim_binary(l->b, VY_DIM_SUB, vy_dim_binary(l->b, VY_DIM_ADD, last, from), t);
    }
    l->frame[s->decl->slot] = t.id;
    lower_steps(l, s->body);
    vy_pipeline_close(l->pipe);
}

static void lower_set(vy_lower *l, const vy_pipe_stmt *s, vy_buffer cell)
{
    const vy_dim v = vy_lower_dim(l, s->value);
    vy_lower_at(l, s->line, s->column);
    if (!vy_lower_stopped(l))
        vy_pipe_assign(l->pipe, VY_PIPE_SET, &(vy_pipe_arg){.buffer = cell}, v);
}

static void lower_var(vy_lower *l, const vy_pipe_stmt *s)
{
    const vy_decl *d = s->decl;
    const vy_dim one = vy_dim_const(l->b, 1);
    const vy_buffer cell = vy_pipeline_buffer(l->pipe, buffer_name(l, d->name), VY_I32, 1, &one);
    lower_set(l, s, cell);
    l->frame[d->slot] = cell.id;
}

// `if c` runs its steps c times, and `else` 1 − c times.
static void lower_arm(vy_lower *l, const vy_pipe_stmt *list, vy_dim times, const char *counter)
{
    if (vy_lower_stopped(l)) return;
    vy_pipeline_repeat(l->pipe, counter, vy_dim_const(l->b, 0), times, VY_KEEP_ALL, (vy_dim){0});
    lower_steps(l, list);
    vy_pipeline_close(l->pipe);
}

static void lower_if(vy_lower *l, const vy_pipe_stmt *s)
{
    const vy_dim c = vy_lower_condition(l, s->value);
    vy_lower_at(l, s->line, s->column);
    lower_arm(l, s->body, c, "then");
    if (s->other && !vy_lower_stopped(l)) lower_arm(l, s->other, vy_dim_not(l->b, c), "otherwise");
}

static void lower_while(vy_lower *l, const vy_pipe_stmt *s)
{
    const vy_dim keep = s->keep_count ? vy_lower_dim(l, s->keep_count) : (vy_dim){0};
    vy_lower_at(l, s->line, s->column);
    vy_pipeline_while(l->pipe, (vy_keep_states)s->keep, keep);
    lower_steps(l, s->other);
    const vy_dim c = vy_lower_test(l, s->value);
    vy_lower_at(l, s->line, s->column);
    vy_pipeline_test(l->pipe, c);
    lower_steps(l, s->body);
    vy_pipeline_close(l->pipe);
}

static void lower_steps(vy_lower *l, const vy_pipe_stmt *list)
{
    for (const vy_pipe_stmt *s = list; s && !vy_lower_stopped(l); s = s->next) {
        vy_lower_at(l, s->line, s->column);
        switch ((vy_pipe_stmt_kind)s->kind) {
        case PS_BUFFER: lower_buffers(l, s->decl); break;
        case PS_LET: l->frame[s->decl->slot] = vy_lower_dim(l, s->value).id; break;
        case PS_DISPATCH: lower_dispatch(l, s); break;
        case PS_REPEAT: lower_repeat(l, s); break;
        case PS_VAR: lower_var(l, s); break;
        case PS_SET: lower_set(l, s, vy_lower_buffer(l, s->decl)); break;
        case PS_IF: lower_if(l, s); break;
        case PS_WHILE: lower_while(l, s); break;
        case PS_CHECKPOINT:
            vy_pipeline_checkpoint(l->pipe);
            lower_steps(l, s->body);
            vy_pipeline_close(l->pipe);
            break;
        }
    }
}

// ------------------------------------------------------------------------ names of what is inlined
static const char *inlined_name(void *user, const char *name)
{
    vy_lower *l = user;
    vy_name_rec *rec = vy_front_name(l->f, name, (uint32_t)strlen(name));
    return l->f->failed ? "" : buffer_name(l, rec);
}

static bool declared(void *user, const char *name)
{
    const vy_lower *l = user;
    const vy_name_rec *rec = vy_front_name(l->f, name, (uint32_t)strlen(name));
    return l->f->failed || rec->global;
}

// Buffers that are declared later have other names.
static void name_parameters(vy_lower *l, const vy_func *fn)
{
    for (const vy_decl *d = fn->params; d && !l->f->failed; d = d->next)
        for (uint32_t c = 0; c < vy_columns(l->f, d->type); c++)
            inlined_name(l, vy_column_at(l->f, d->name->text, d->type, c).name);
}

// ---------------------------------------------------------------------------------------- together
bool vy_lower_pipeline(vy_front *f, vy_func *fn)
{
    vy_lower l = {.f = f, .func = fn};
    l.frame = vy_front_alloc(f, fn->slot_count * sizeof *l.frame + 1);
    if (f->failed) return false;
    l.pipe = vy_pipeline_begin(f->m, fn->decl->name->text);
    if (!l.pipe) return false;
    const vy_pipe_names names = {&l, inlined_name, declared};
    l.pipe->names = &names;
    l.b = vy_pipeline_params(l.pipe);
    vy_builder_program(l.b)->order = fn->order;
    const vy_func *as = fn->rules[VY_DERIVE_AS].func;
    if (as) vy_pipeline_derive_as(l.pipe, as->same->decl->name->text);
    vy_lower_head(&l, fn);
    name_parameters(&l, fn);
    lower_steps(&l, fn->steps);
    if (f->failed) {
        vy_pipeline_abandon(l.pipe);
        return false;
    }
    const uint32_t before = vy_module_pipeline_count(f->m);
    if (!vy_pipeline_end(l.pipe)) return false;
    fn->program = vy_module_pipeline_count(f->m) - 1;
    fn->has_stand_in = fn->program > before;
    return true;
}
