// SPDX-License-Identifier: MIT
// sema_stmt.c: names and types in statements; what loops assign.
#include "ir/build/library.h"
#include "ir/text/front.h"

#include <string.h>

static void sema_stmt(vy_front *f, vy_stmt *s);

static void sema_list(vy_front *f, vy_stmt *block)
{
    for (vy_stmt *s = block->body; s && !f->failed; s = s->next) {
        sema_stmt(f, s);
        block->leaves |= s->leaves;
        block->ends |= s->leaves || s->ends;
    }
}

void vy_sema_block(vy_front *f, vy_stmt *block)
{
    vy_decl *mark = f->scope;
    f->block_depth++;
    sema_list(f, block);
    f->block_depth--;
    vy_scope_close(f, mark);
}

// ------------------------------------------------------------------------------------------ loops
static vy_loop *open_loop(vy_front *f)
{
    vy_loop *loop = vy_front_alloc(f, sizeof *loop);
    *loop = (vy_loop){.parent = f->loop,
                      .id = ++f->loop_ids,
                      .depth = f->loop ? f->loop->depth + 1 : 1,
                      .outer_switch = f->in_switch};
    f->loop = loop;
    f->in_switch = NULL;
    return loop;
}

// Variables that a loop assigns are also assigned by the loop around it.
static void close_loop(vy_front *f)
{
    vy_loop *loop = f->loop;
    f->loop = loop->parent;
    f->in_switch = loop->outer_switch;
    if (f->failed) return;
    for (vy_assigned *a = loop->assigned; a; a = a->next) {
        a->var->mark = a->outer_mark;
        vy_note_assigned(f, loop->parent, a->var);
    }
    if (loop->parent) loop->parent->returns |= loop->returns;
}

static void sema_for(vy_front *f, vy_stmt *s)
{
    vy_decl *mark = f->scope;
    vy_sema_range(f, s->range);
    s->loop = open_loop(f);
    vy_sema_block(f, s->body);
    close_loop(f);
    vy_scope_close(f, mark);
}

static void sema_while(vy_front *f, vy_stmt *s)
{
    vy_decl *mark = f->scope;
    vy_loop *outer = f->condition;
    s->loop = open_loop(f);
    f->condition = s->loop;
    if (s->other) sema_list(f, s->other);
    vy_check_as(f, s->value, VY_BOOL, "the condition");
    f->condition = outer;
    vy_sema_block(f, s->body);
    s->ends = s->value->kind == EX_BOOL && s->value->u.value && !s->loop->breaks;
    close_loop(f);
    vy_scope_close(f, mark);
}

static void sema_do(vy_front *f, vy_stmt *s)
{
    s->loop = open_loop(f);
    vy_sema_block(f, s->body);
    vy_check_as(f, s->value, VY_BOOL, "the condition");
    const bool once = s->body->ends && !s->loop->continues;
    const bool forever = s->value->kind == EX_BOOL && s->value->u.value;
    s->ends = !s->loop->breaks && (once || forever);
    close_loop(f);
}

static void sema_if(vy_front *f, vy_stmt *first)
{
    vy_stmt *s = first;
    bool leave = true, end = true; // all arms
    for (; s && s->kind == ST_IF && !f->failed; s = s->other) {
        vy_check_as(f, s->value, VY_BOOL, "the condition");
        vy_sema_block(f, s->body);
        leave &= s->body->leaves;
        end &= s->body->ends;
    }
    if (!s || f->failed) return; // no else
    vy_sema_block(f, s);
    first->leaves = leave && s->leaves;
    first->ends = end && s->ends;
}

// ------------------------------------------------------------------------------------ assignments
static void sema_let(vy_front *f, vy_stmt *s)
{
    vy_decl *d = s->decl;
    if (!d->has_type) {
        d->type = vy_check_value(f, s->value);
    } else if (vy_stored_only(d->type)) {
        vy_front_error(f, VY_E_TYPE_WRONG, d->line, d->column, "use i32 or u32",
                       "variable `%s` cannot be a %s", d->name->text,
                       vy_type_name((vy_type)d->type));
    } else if (s->value) {
        vy_check_as(f, s->value, d->type, "the variable");
    }
    vy_declare(f, d);
}

// How many values the call gives, and their types.
static uint32_t sema_results(vy_front *f, vy_ast_expr *e, vy_text_type *own,
                             const vy_text_type **types)
{
    vy_func *fn = NULL;
    *types = own;
    if (vy_is_library_call(f, e)) return vy_synth_library(f, e, own);
    if (e->kind == EX_CALL) vy_sema_user_call(f, e, &fn);
    if (fn) *types = fn->results;
    return fn ? fn->result_count : 1;
}

static void sema_tuple(vy_front *f, vy_stmt *s)
{
    vy_text_type own[VY_MOST_RESULTS];
    const vy_text_type *types;
    uint32_t n = 0;
    for (vy_decl *d = s->decl; d; d = d->next) n++;
    const uint32_t have = sema_results(f, s->value, own, &types);
    if (f->failed) return;
    if (have != n) {
        vy_front_error(f, VY_E_RETURN, s->value->line, s->value->column,
                       "call a function that returns as many values",
                       "%u names need a function with %u results, this has %u", n, n, have);
        return;
    }
    uint32_t i = 0;
    for (vy_decl *d = s->decl; d; d = d->next) {
        d->type = types[i++];
        vy_declare(f, d);
    }
}

static uint8_t assigned_operator(uint8_t set)
{
    static const uint8_t ops[] = {TK_SET, TK_ADD, TK_SUB, TK_MUL, TK_DIV, TK_REM,
                                  TK_AND, TK_OR,  TK_XOR, TK_SHL, TK_SHR};
    return ops[set - TK_SET];
}

// `m *= n`, `v *= m`: v becomes v m
static void check_product(vy_front *f, const vy_stmt *s, vy_text_type t, vy_text_type u)
{
    if (vy_operator_type(f, TK_MUL, t, u) != t)
        vy_front_error(f, VY_E_TYPES_DIFFER, s->value->line, s->value->column,
                       "write the product out, like x = m * x", "%s times %s is no %s",
                       vy_any_type_name(f, t), vy_any_type_name(f, u), vy_any_type_name(f, t));
}

static void sema_assign(vy_front *f, vy_stmt *s)
{
    bool compound = s->op != TK_SET;
    if (compound) vy_check_written(f, s->target, vy_place_variable(s->target));
    vy_text_type t = f->failed ? VY_BROKEN : vy_sema_place(f, s->target);
    if (f->failed) return;
    s->op = assigned_operator(s->op);
    if (compound && !vy_operator_fits(s->op, vy_element(f, t)))
        vy_front_error(f, VY_E_TYPE_WRONG, s->line, s->column, NULL,
                       "`%s=` is not for values of type %s", vy_operator_text(s->op),
                       vy_any_type_name(f, t));
    const vy_text_type u = vy_synth(f, s->value);
    vy_note_written(s->target);
    if (f->failed) return;
    if (compound && vy_is_product(f, s->op, t, u)) {
        check_product(f, s, t, u);
        return;
    }
    if (compound && !vy_is_made(u)) t = vy_element(f, t);
    vy_need(f, s->value, t, "what it is assigned to");
}

static void sema_call_statement(vy_front *f, vy_stmt *s)
{
    vy_ast_expr *e = s->value;
    if (e->kind == EX_CALL) {
        const vy_decl *g = vy_again_find(e->u.ref.name, f->func);
        const vy_builtin_info *b = vy_call_builtin(e);
        if (g && g->kind == DK_FUNC) {
            vy_func *fn;
            vy_sema_user_call(f, e, &fn);
            return;
        }
        if (b && (b->kind == BF_ATOMIC || b->kind == BF_ATOMIC_CAS)) {
            vy_check_value(f, e);
            return;
        }
        if (!b || b->kind == BF_BARRIER) { // unknown ones are reported there
            vy_synth_call(f, e);
            if (b || f->failed) return;
        }
    }
    if (e->kind == EX_NAME && e->u.ref.name) { // also `contniue;`
        const vy_name_rec *n = e->u.ref.name;
        vy_front_error(f, VY_E_NO_EFFECT, e->line, e->column,
                       n->local || n->global
                           ? NULL
                           : vy_spelling_fix(f, n->text, n->length, VY_SPELL_ALONE, NULL),
                       "the statement `%.40s;` does nothing", n->text);
        return;
    }
    vy_front_error(f, VY_E_NO_EFFECT, e->line, e->column, NULL,
                   "this statement computes a value that nothing uses");
}

// -------------------------------------------------------------------------------- leaving, arrays
static void sema_break(vy_front *f, vy_stmt *s)
{
    const char *word = s->kind == ST_BREAK ? "break" : "continue";
    s->leaves = true;
    if (s->kind == ST_BREAK && f->in_switch)
        s->op = f->in_switch->op = 1;
    else if (!f->loop)
        vy_front_error(f, VY_E_PLACE, s->line, s->column, "use `return;` to leave the program",
                       "`%s` is not inside a loop", word);
    else if (f->loop == f->condition)
        vy_front_error(f, VY_E_PLACE, s->line, s->column, "move it to the loop's body",
                       "`%s` in the condition of a loop", word);
    else if (s->kind == ST_BREAK)
        f->loop->breaks = true;
    else
        f->loop->continues = true;
}

// Of the module, or of the language: `return sincos(x);`
static bool is_tuple_call(vy_front *f, const vy_ast_expr *e)
{
    if (vy_is_library_call(f, e)) return vy_library_at(vy_call_builtin(e)->op)->gives[1] != 0;
    const vy_decl *g = e->kind == EX_CALL ? vy_again_find(e->u.ref.name, f->func) : NULL;
    return g && g->kind == DK_FUNC && g->func->result_count > 1;
}

// `return g(x);` where g returns a tuple of the same types.
static void sema_return_call(vy_front *f, vy_stmt *s)
{
    const vy_func *own = f->func;
    vy_text_type given[VY_MOST_RESULTS];
    const vy_text_type *types;
    const uint32_t count = sema_results(f, s->value, given, &types);
    if (f->failed) return;
    bool same = count == own->result_count;
    for (uint32_t i = 0; same && i < count; i++) same = types[i] == own->results[i];
    if (!same)
        vy_front_error(f, VY_E_RETURN, s->line, s->column, NULL,
                       "`%s` returns other values than `%s`", s->value->u.ref.name->text,
                       own->decl->name->text);
}

static void sema_return(vy_front *f, vy_stmt *s)
{
    vy_func *fn = f->func;
    vy_ast_expr *e = s->value;
    s->leaves = true;
    fn->return_count++;
    if (f->loop) f->loop->returns = true;
    if (f->condition)
        vy_front_error(f, VY_E_PLACE, s->line, s->column, "move it to the loop's body",
                       "`return` in the condition of a loop");
    uint32_t given = !e ? 0 : e->kind == EX_TUPLE ? e->count : 1;
    if (e && is_tuple_call(f, e) && fn->result_count > 1) {
        sema_return_call(f, s);
        return;
    }
    if (given != fn->result_count) {
        vy_front_error(f, VY_E_RETURN, s->line, s->column, NULL,
                       "%s `%s` returns %u values, not %u", fn->is_program ? "program" : "function",
                       fn->decl->name->text, fn->result_count, given);
        return;
    }
    uint32_t i = 0;
    for (vy_ast_expr *v = given > 1 ? e->u.list : e; v && i < given; v = v->next)
        vy_check_as(f, v, fn->results[i++], "the function's result");
}

static void sema_array(vy_front *f, vy_stmt *s)
{
    vy_decl *d = s->decl;
    if (!d->rank) { // `local v;`, `shared v;` clear it
        vy_decl *old = d->name->local;
        bool local = d->kind == DK_LOCAL;
        if (!old || old->kind != d->kind)
            vy_front_error(f, VY_E_NAME_UNKNOWN, d->line, d->column,
                           local ? "declare it: `local v: f32[8];`"
                                 : "declare it: `shared v: f32[8];`",
                           "`%s` is not a %s array", d->name->text, local ? "local" : "shared");
        s->decl = old;
        s->op = 1; // clears only
        return;
    }
    bool top = f->func->is_program && f->block_depth == 1 && !f->loop;
    if (d->kind == DK_SHARED && !top)
        vy_front_error(f, VY_E_PLACE, s->line, s->column, "move it to the top of the program",
                       "shared array `%s` is not declared at the top of a program", d->name->text);
    vy_sema_dims(f, d);
    vy_declare(f, d);
}

static void sema_stmt(vy_front *f, vy_stmt *s)
{
    switch (s->kind) {
    case ST_LET: sema_let(f, s); break;
    case ST_TUPLE: sema_tuple(f, s); break;
    case ST_ASSIGN: sema_assign(f, s); break;
    case ST_CALL: sema_call_statement(f, s); break;
    case ST_IF: sema_if(f, s); break;
    case ST_FOR: sema_for(f, s); break;
    case ST_WHILE: sema_while(f, s); break;
    case ST_DO: sema_do(f, s); break;
    case ST_SWITCH: vy_sema_switch(f, s); break;
    case ST_BREAK:
    case ST_CONTINUE: sema_break(f, s); break;
    case ST_RETURN: sema_return(f, s); break;
    case ST_ARRAY: sema_array(f, s); break;
    case ST_BLOCK: vy_sema_block(f, s); break;
    case ST_CHECKPOINT:
        vy_sema_block(f, s->body);
        s->leaves = s->body->leaves;
        s->ends = s->body->ends;
        break;
    default: break;
    }
}

static void check_outputs(vy_front *f, const vy_func *fn)
{
    for (const vy_decl *p = fn->params; p && !f->failed; p = p->next)
        if (p->kind == DK_VAR && p->cls == VY_OUT && !p->written)
            vy_front_error(f, VY_E_READ_OUT, p->line, p->column, "assign to it, or leave it out",
                           "`%s` is an `out` parameter, and `%s` never assigns it", p->name->text,
                           fn->decl->name->text);
}

void vy_sema_body(vy_front *f, vy_func *fn)
{
    f->block_depth = 0;
    f->condition = NULL;
    f->in_switch = NULL;
    vy_sema_block(f, fn->body);
    if (f->failed) return;
    if (fn->result_count && !fn->body->ends)
        vy_front_error(f, VY_E_RETURN, fn->decl->line, fn->decl->column, NULL,
                       "function `%s` may end without returning a value", fn->decl->name->text);
    check_outputs(f, fn);
    vy_stmt *last = fn->body->body;
    while (last && last->next) last = last->next;
    fn->last = last;
    fn->tail_return = fn->return_count == 1 && last && last->kind == ST_RETURN;
}
