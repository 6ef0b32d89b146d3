// SPDX-License-Identifier: MIT
// lower_stmt.c: statements to builder calls.
#include "ir/text/lower.h"
#include "ir/build/edit.h"

#include <stdlib.h>

static void lower_list(vy_lower *l, const vy_stmt *s);

void vy_lower_block(vy_lower *l, const vy_stmt *block)
{
    if (!block->body) return;
    vy_scope(l->b);
    lower_list(l, block->body);
    vy_end(l->b);
}

// ------------------------------------------------------------------------------------------ loops
static int by_declaration(const void *a, const void *b)
{
    uint32_t x = ((const vy_var *)a)->id, y = ((const vy_var *)b)->id;
    return x < y ? -1 : x > y;
}

// What a loop carries: variables that its body assigns and, if it returns, the function's results.
static void lower_hint(vy_lower *l, const vy_loop *loop, vy_loop_hint *hint)
{
    uint32_t results = loop->returns && l->results ? vy_result_scalars(l->f, l->func) : 0, n = 0;
    vy_var *vars = vy_realloc(NULL, (loop->count + results + 1) * sizeof *vars);
    *hint = (vy_loop_hint){.vars = vars, .returns = loop->returns};
    if (!vars) {
        vy_fail_oom(l->f->m);
        return;
    }
    for (const vy_assigned *a = loop->assigned; a; a = a->next)
        for (uint32_t k = 0; k < vy_scalars(l->f, a->var->type); k++)
            vars[n++] = (vy_var){l->frame[a->var->slot + k]};
    for (uint32_t i = 0; i < results; i++) vars[n++] = l->results[i];
    // In the order of their declaration, on which the printer relies.
    if (n > 1) qsort(vars, n, sizeof *vars, by_declaration);
    hint->count = n;
}

bool vy_lower_range(vy_lower *l, const vy_range *r, const vy_loop_hint *hint)
{
    vy_value from = vy_lower_expr(l, r->from), to = vy_lower_expr(l, r->to);
    vy_value step = r->step ? vy_lower_expr(l, r->step) : vy_int(l->b, (vy_type)r->var->type, 1);
    if (vy_lower_stopped(l)) return false;
    const vy_scalar *k = vy_id_const(vy_builder_program(l->b), step.id);
    if (k && (vy_type_is_signed((vy_type)r->var->type) ? k->i <= 0 : k->u == 0)) {
        vy_front_error(l->f, VY_E_STEP, r->step->line, r->step->column, NULL,
                       "the step of a loop is not positive");
        return false;
    }
    vy_lower_at(l, r->var->line, r->var->column);
    vy_value v = vy_for_hint(l->b, r->var->name->text, from, to, step, r->reverse, hint);
    l->frame[r->var->slot] = v.id;
    return !vy_builder_failed(l->b);
}

static void lower_for(vy_lower *l, const vy_stmt *s)
{
    vy_loop_hint hint;
    lower_hint(l, s->loop, &hint);
    if (!vy_lower_stopped(l) && vy_lower_range(l, s->range, &hint)) {
        vy_lower_block(l, s->body);
        vy_end(l->b);
    }
    vy_free((void *)hint.vars);
}

static void lower_while(vy_lower *l, const vy_stmt *s)
{
    vy_loop_hint hint;
    lower_hint(l, s->loop, &hint);
    if (!vy_lower_stopped(l)) {
        vy_while_hint(l->b, &hint);
        if (s->other) lower_list(l, s->other->body);
        vy_value c = vy_lower_expr(l, s->value);
        vy_lower_at(l, s->line, s->column);
        vy_while_test(l->b, c);
        vy_lower_block(l, s->body);
        vy_end(l->b);
    }
    vy_free((void *)hint.vars);
}

// `continue` goes on to the condition.
static void lower_do(vy_lower *l, const vy_stmt *s)
{
    vy_loop_hint hint;
    lower_hint(l, s->loop, &hint);
    if (!vy_lower_stopped(l)) {
        vy_while_hint(l->b, &hint);
        vy_while_test(l->b, vy_bool(l->b, true));
        l->do_block = vy_block_begin(l->b);
        vy_lower_block(l, s->body);
        vy_end(l->b);
        const vy_value c = vy_lower_expr(l, s->value);
        vy_lower_at(l, s->value->line, s->value->column);
        vy_if(l->b, c);
        vy_else(l->b);
        vy_break(l->b);
        vy_end(l->b);
        vy_end(l->b);
    }
    vy_free((void *)hint.vars);
}

static void lower_loop(vy_lower *l, const vy_stmt *s)
{
    const uint32_t outer = l->do_block;
    l->do_block = 0;
    if (s->kind == ST_FOR)
        lower_for(l, s);
    else if (s->kind == ST_WHILE)
        lower_while(l, s);
    else
        lower_do(l, s);
    l->do_block = outer;
}

// `if !c { … }` becomes the else arm of `c`: no negation is computed.
static void lower_if(vy_lower *l, const vy_stmt *s)
{
    uint32_t open = 0;
    for (; s && s->kind == ST_IF && !vy_lower_stopped(l); s = s->other) {
        const vy_ast_expr *e = s->value;
        bool swapped = false;
        for (; !s->other && e->kind == EX_UNARY && e->op == TK_NOT; e = e->u.sub.a)
            swapped = !swapped;
        vy_value c = vy_lower_expr(l, e);
        vy_lower_at(l, s->line, s->column);
        vy_if(l->b, c);
        open++;
        if (swapped) vy_else(l->b);
        vy_lower_block(l, s->body);
        if (s->other) vy_else(l->b);
    }
    if (s && !vy_lower_stopped(l)) vy_lower_block(l, s);
    while (open-- > 0) vy_end(l->b);
}

// ------------------------------------------------------------------------------------ assignments
void vy_lower_variable(vy_lower *l, const vy_decl *d, const vy_value *v)
{
    for (uint32_t k = 0; k < vy_scalars(l->f, d->type); k++)
        l->frame[d->slot + k] = vy_var_new(l->b, vy_scalar_name(l->f, d, k), v[k]).id;
}

static void lower_let(vy_lower *l, const vy_stmt *s)
{
    const vy_text_type t = s->decl->type;
    vy_value *v = vy_room_take(l, vy_scalars(l->f, t));
    if (s->value) vy_lower_value(l, s->value, v);
    for (uint32_t k = 0; !s->value && k < vy_scalars(l->f, t); k++)
        v[k] = vy_zero(l->b, vy_scalar_type(l->f, t, k));
    vy_lower_at(l, s->line, s->column);
    vy_lower_variable(l, s->decl, v);
}

// The n scalars of the results of a call, of the module's functions or of those of the language.
static bool lower_results(vy_lower *l, const vy_ast_expr *e, uint32_t n, vy_value *v)
{
    if (e->u.ref.decl) return vy_lower_call(l, e, n, v);
    vy_lower_library(l, e, n, v);
    return true;
}

static void lower_tuple(vy_lower *l, const vy_stmt *s)
{
    uint32_t n = 0;
    for (const vy_decl *d = s->decl; d; d = d->next) n += vy_scalars(l->f, d->type);
    vy_value *results = vy_room_take(l, n);
    if (!lower_results(l, s->value, n, results)) return;
    n = 0;
    for (const vy_decl *d = s->decl; d; n += vy_scalars(l->f, d->type), d = d->next)
        vy_lower_variable(l, d, results + n);
}

static void lower_call(vy_lower *l, const vy_stmt *s)
{
    const vy_ast_expr *e = s->value;
    const vy_decl *g = e->u.ref.decl;
    const uint32_t n = g ? vy_result_scalars(l->f, g->func) : 1;
    vy_value *results = vy_room_take(l, n);
    if (g)
        vy_lower_call(l, e, n, results);
    else
        vy_lower_builtin(l, e, results);
}

static void lower_return(vy_lower *l, const vy_stmt *s)
{
    const uint32_t values = l->func->result_count, n = vy_result_scalars(l->f, l->func);
    vy_value *v = vy_room_take(l, n);
    const vy_ast_expr *e = s->value;
    uint32_t i = 0;
    if (values > 1 && e->kind == EX_CALL) {
        if (!lower_results(l, e, n, v)) return;
    } else {
        for (e = values > 1 ? e->u.list : e; i < n; e = e->next) i += vy_lower_value(l, e, v + i);
    }
    if (vy_lower_stopped(l)) return;
    vy_lower_at(l, s->line, s->column);
    for (i = 0; i < n; i++) {
        if (l->results)
            vy_set(l->b, l->results[i], v[i]);
        else
            l->result_values[i] = v[i];
    }
    if (s != l->func->last) vy_return(l->b);
}

static void lower_leave(vy_lower *l, const vy_stmt *s)
{
    const uint32_t block = s->kind == ST_CONTINUE ? l->do_block : s->op ? l->switch_block : 0;
    vy_lower_at(l, s->line, s->column);
    if (block)
        vy_block_leave(l->b, block);
    else if (s->kind == ST_BREAK)
        vy_break(l->b);
    else
        vy_continue(l->b);
}

static void lower_array(vy_lower *l, const vy_stmt *s, uint32_t c) // column c
{
    const vy_decl *d = s->decl;
    vy_dim dims[VY_MAX_RANK];
    vy_column column;
    vy_lower_at(l, s->line, s->column);
    if (s->op) { // `local v;`, `shared v;`
        vy_emit(l->b, VY_OP_ZERO, VY_VOID, l->frame[d->slot + c], 0, NULL);
        return;
    }
    const uint32_t rank = vy_lower_column(l, d, c, dims, &column);
    if (!rank) return;
    const char *name = column.name;
    vy_buffer b = d->kind == DK_SHARED ? vy_shared_array(l->b, name, column.type, rank, dims)
                  : d->undefined       ? vy_local_undefined(l->b, name, column.type, rank, dims)
                                       : vy_local_array(l->b, name, column.type, rank, dims);
    l->frame[d->slot + c] = b.id;
    vy_build_vector(l->b, b, column.vector);
}

static void lower_arrays(vy_lower *l, const vy_stmt *s)
{
    for (uint32_t c = 0; c < vy_columns(l->f, s->decl->type) && !vy_lower_stopped(l); c++)
        lower_array(l, s, c);
}

// ------------------------------------------------------------------------------------- statements
static void lower_any(vy_lower *l, const vy_stmt *s)
{
    switch (s->kind) {
    case ST_LET: lower_let(l, s); break;
    case ST_TUPLE: lower_tuple(l, s); break;
    case ST_ASSIGN: vy_lower_assign(l, s); break;
    case ST_CALL: lower_call(l, s); break;
    case ST_IF: lower_if(l, s); break;
    case ST_FOR:
    case ST_WHILE:
    case ST_DO: lower_loop(l, s); break;
    case ST_SWITCH: vy_lower_switch(l, s); break;
    case ST_RETURN: lower_return(l, s); break;
    case ST_ARRAY:
        if (s->decl->kind != DK_SHARED || s->op) lower_arrays(l, s);
        break;
    case ST_BLOCK: vy_lower_block(l, s); break;
    case ST_BREAK:
    case ST_CONTINUE: lower_leave(l, s); break;
    case ST_CHECKPOINT:
        vy_lower_at(l, s->line, s->column);
        vy_checkpoint(l->b);
        vy_lower_block(l, s->body);
        vy_end(l->b);
        break;
    default: break;
    }
}

static void lower_stmt(vy_lower *l, const vy_stmt *s)
{
    const vy_room_mark mark = vy_room_here(l);
    lower_any(l, s);
    vy_room_back(l, mark);
}

// Code after a statement that always leaves is unreachable.
static void lower_list(vy_lower *l, const vy_stmt *s)
{
    for (; s && !vy_lower_stopped(l); s = s->next) {
        lower_stmt(l, s);
        if (s->leaves) break;
    }
}

void vy_lower_body(vy_lower *l, const vy_func *fn)
{
    // Shared arrays come first: the place of their declaration does not matter, their numbers do.
    if (fn->is_program)
        for (const vy_stmt *s = fn->body->body; s && !vy_lower_stopped(l); s = s->next)
            if (s->kind == ST_ARRAY && s->decl->kind == DK_SHARED && !s->op) lower_arrays(l, s);
    lower_list(l, fn->body->body);
}
