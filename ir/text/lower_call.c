// SPDX-License-Identifier: MIT
// lower_call.c: calls: functions are inlined by walking their tree again, built-in ones emitted.
#include "ir/text/place.h"
#include "ir/build/edit.h"
#include "ir/build/function.h"
#include "ir/build/geometry.h"

#include <string.h>

// -------------------------------------------------------------------------------------- built in
static vy_value lower_exchange(vy_lower *l, const vy_ast_expr *e)
{
    const vy_ast_expr *target = e->u.ref.list;
    vy_value index[VY_MAX_RANK];
    const vy_buffer buf = vy_lower_place(l, target, index);
    if (vy_lower_stopped(l)) return (vy_value){0};
    const vy_value v = vy_lower_expr(l, target->next), w = vy_lower_expr(l, target->next->next);
    vy_lower_at(l, e->line, e->column);
    const vy_value old = vy_atomic_cas(l->b, buf, index, v, w);
    vy_emit_flags(l->b, old.id, target->kind == EX_INDEX ? target->op : 0);
    return old;
}

// One for each component, in v what was there.
static uint32_t lower_atomic(vy_lower *l, const vy_ast_expr *e, const vy_builtin_info *b,
                             vy_value *v)
{
    const vy_ast_expr *target = e->u.ref.list;
    vy_value *by = vy_room_take(l, vy_scalars(l->f, target->type));
    vy_element_at *at = vy_element_find(l, target);
    if (!vy_lower_stopped(l)) vy_lower_value(l, target->next, by);
    vy_lower_at(l, e->line, e->column);
    if (!vy_lower_stopped(l)) vy_element_atomic(l, at, b->text + strlen("atomic_"), by, v);
    return vy_scalars(l->f, e->type);
}

static vy_value lower_operation(vy_lower *l, const vy_builtin_info *b, uint32_t n,
                                const vy_value *args)
{
    uint32_t ids[3] = {0};
    if (b->kind == BF_COMPOSED) return vy_call(l->b, b->text, n, args);
    for (uint32_t i = 0; i < n; i++) ids[i] = args[i].id;
    vy_type t = vy_value_type(l->b, args[b->op == VY_OP_SELECT ? 1 : 0]);
    if (b->rule == VY_RULE_FB) t = VY_BOOL;
    return (vy_value){vy_emit(l->b, (vy_op)b->op, t, 0, n, ids)};
}

enum { MOST_ARGUMENTS = 3 };

// A scalar goes with each component of the others.
static vy_value argument(const vy_lower *l, const vy_ast_expr *a, const vy_value *v, uint32_t k)
{
    return v[vy_scalars(l->f, a->type) == 1 ? 0 : k];
}

static vy_value lower_number_function(vy_lower *l, const vy_ast_expr *e, const vy_value *args)
{
    const vy_builtin_info *b = vy_call_builtin(e);
    if (b->kind == BF_POLYGAMMA)
        return vy_polygamma(l->b, (uint32_t)e->u.ref.list->u.value, args[1]);
    if (b->kind == BF_BITCAST) return vy_bitcast(l->b, (vy_type)b->op, args[0]);
    return lower_operation(l, b, e->count, args);
}

// A function of scalars, of each component.
static uint32_t lower_each(vy_lower *l, const vy_ast_expr *e, vy_value *const args[MOST_ARGUMENTS],
                           vy_value *v)
{
    const uint32_t n = vy_scalars(l->f, e->type);
    for (uint32_t k = 0; k < n; k++) {
        vy_value of[MOST_ARGUMENTS];
        uint32_t i = 0;
        for (const vy_ast_expr *a = e->u.ref.list; a && i < MOST_ARGUMENTS; a = a->next, i++)
            of[i] = argument(l, a, args[i], k);
        v[k] = lower_number_function(l, e, of);
    }
    return n;
}

static vy_value lower_len(vy_lower *l, const vy_ast_expr *e)
{
    const vy_ast_expr *a = e->u.ref.list;
    return vy_len(l->b, vy_lower_buffer(l, a->u.ref.decl),
                  a->next ? (uint32_t)a->next->u.value : 0);
}

uint32_t vy_lower_builtin(vy_lower *l, const vy_ast_expr *e, vy_value *v)
{
    const vy_builtin_info *b = vy_call_builtin(e);
    const vy_ast_expr *a = e->u.ref.list;
    vy_value *args[MOST_ARGUMENTS] = {NULL};
    uint32_t n = 0;
    if (vy_lower_stopped(l)) return 1;
    if (b->kind == BF_ATOMIC) return lower_atomic(l, e, b, v);
    if (b->kind == BF_ATOMIC_CAS) return v[0] = lower_exchange(l, e), 1;
    if (b->kind == BF_LEN) return v[0] = lower_len(l, e), 1;
    if (b->kind == BF_LIBRARY)
        return vy_lower_library(l, e, vy_scalars(l->f, e->type), v), vy_scalars(l->f, e->type);
    for (; a && n < MOST_ARGUMENTS; a = a->next, n++) {
        args[n] = vy_room_take(l, vy_scalars(l->f, a->type));
        if (b->kind != BF_POLYGAMMA || n) vy_lower_value(l, a, args[n]); // its order is a literal
    }
    if (vy_lower_stopped(l)) return vy_scalars(l->f, e->type);
    vy_lower_at(l, e->line, e->column);
    if (b->kind == BF_BARRIER) return vy_barrier(l->b), 0;
    if (b->kind == BF_MATRIX) return vy_lower_matrix(l, e, args, v);
    if (b->kind == BF_GEOMETRY)
        return vy_geometry(l->b, (vy_geometric)b->op, vy_scalars(l->f, e->u.ref.list->type),
                           args[0], args[1], args[2], v);
    return lower_each(l, e, args, v);
}

// -------------------------------------------------------------------------------------- functions
// A dimension that the function states and the buffer has, both known, must agree.
static void check_shape(vy_lower *inner, const vy_decl *p, const vy_ast_expr *at)
{
    const vy_program *prog = vy_builder_program(inner->b);
    uint32_t axis = 0;
    for (const vy_ast_expr *e = p->dims; e && !inner->f->failed; e = e->next, axis++) {
        int64_t want, have;
        bool number = e->kind == EX_INT;
        bool name = e->kind == EX_NAME && e->u.ref.name && e->u.ref.decl->kind == DK_CONST;
        if (!number && !name) continue;
        want = number ? (int64_t)e->u.value : e->u.ref.decl->value.i;
        vy_dim d = prog->buffers.data[inner->frame[p->slot]].dims[axis];
        if (!vy_dim_known(inner, d, &have) || want == have) continue;
        vy_front_error(inner->f, VY_E_EXTENT, at->line, at->column, "pass a buffer of that size",
                       "parameter `%s` has %lld elements along axis %u, the buffer has %lld",
                       p->name->text, (long long)want, axis, (long long)have);
    }
}

static void bind_value(vy_lower *l, const vy_ast_expr *e, uint32_t *slots)
{
    const uint32_t n = vy_scalars(l->f, e->type);
    vy_value *v = vy_room_take(l, n);
    vy_lower_value(l, e, v);
    for (uint32_t k = 0; k < n; k++) slots[k] = v[k].id;
}

// `inout`, `out`: a variable of the function, and where it is copied back to.
static vy_place *bind_place(vy_lower *l, vy_lower *inner, const vy_decl *p, const vy_ast_expr *a)
{
    const uint32_t n = vy_scalars(l->f, p->type);
    vy_value *v = vy_room_take(l, n);
    vy_place *at = vy_place_find(l, a);
    vy_lower_at(l, a->line, a->column);
    for (uint32_t k = 0; k < n; k++) v[k] = vy_zero(l->b, vy_scalar_type(l->f, p->type, k));
    if (p->cls == VY_INOUT) vy_place_read(l, at, v);
    if (!vy_lower_stopped(l)) vy_lower_variable(inner, p, v);
    return at;
}

static void bind_buffer(const vy_lower *l, vy_lower *inner, const vy_decl *p, const vy_decl *given)
{
    for (uint32_t c = 0; c < vy_columns(l->f, p->type); c++)
        inner->frame[p->slot + c] = l->frame[given->slot + c];
}

// Gives the places that the call changes, in the order of the parameters.
static vy_place *bind_arguments(vy_lower *l, vy_lower *inner, const vy_ast_expr *e)
{
    const vy_ast_expr *a = e->u.ref.list;
    vy_place *places = NULL, **tail = &places;
    for (const vy_decl *p = inner->func->params; p; p = p->next, a = a->next) {
        if (p->kind == DK_BUFFER)
            bind_buffer(l, inner, p, a->u.ref.decl);
        else if (p->kind == DK_VAR)
            *tail = bind_place(l, inner, p, a), tail = &(*tail)->next;
        else
            bind_value(l, a, &inner->frame[p->slot]);
        if (vy_lower_stopped(l)) return NULL;
    }
    a = e->u.ref.list;
    for (const vy_decl *p = inner->func->params; p; p = p->next, a = a->next)
        if (p->kind == DK_BUFFER && p->dims) check_shape(inner, p, a);
    return places;
}

static void copy_back(vy_lower *l, const vy_lower *inner, vy_place *at)
{
    for (const vy_decl *p = inner->func->params; at && !vy_lower_stopped(l); p = p->next) {
        if (p->kind != DK_VAR) continue;
        const uint32_t n = vy_scalars(l->f, p->type), *slots = &inner->frame[p->slot];
        vy_value *v = vy_room_take(l, n);
        for (uint32_t k = 0; k < n; k++) v[k] = vy_get(l->b, (vy_var){slots[k]});
        vy_place_write(l, at, v);
        at = at->next;
    }
}

// Variables for what `return` gives, at zero.
static void begin_results(vy_lower *l, const vy_func *fn, vy_var *vars)
{
    uint32_t n = 0;
    for (uint32_t i = 0; i < fn->result_count; i++)
        for (uint32_t k = 0; k < vy_scalars(l->f, fn->results[i]); k++)
            vars[n++] =
                vy_var_new(l->b, NULL, vy_zero(l->b, vy_scalar_type(l->f, fn->results[i], k)));
}

void vy_lower_function_body(vy_lower *inner, uint32_t n, vy_value *results)
{
    const vy_func *fn = inner->func;
    vy_var *vars = vy_room_take(inner, n);
    inner->result_values = results;
    if (!fn->tail_return && n) {
        begin_results(inner, fn, vars);
        inner->results = vars;
    }
    vy_function_begin(inner->b);
    vy_lower_body(inner, fn);
    vy_function_end(inner->b);
    for (uint32_t i = 0; inner->results && i < n; i++) results[i] = vy_get(inner->b, vars[i]);
}

static bool has_rule(const vy_func *fn) { return fn->rules[VY_VJP].name || fn->rules[VY_JVP].name; }

// A call that stays one.
static void apply(vy_lower *inner, const vy_ast_expr *e, vy_value *results)
{
    const vy_func *fn = inner->func;
    uint32_t n = 0, ids[VY_MAX_RANK];
    for (const vy_decl *p = fn->params; p; p = p->next) n += vy_scalars(inner->f, p->type);
    // Values only: they have the first slots, in order.
    const uint32_t *args = inner->frame;
    vy_lower_at(inner, e->line, e->column);
    if (!vy_function_call(inner->b, fn->number.id - 1, n, args, ids)) return;
    for (uint32_t k = 0; k < vy_result_scalars(inner->f, fn); k++) results[k].id = ids[k];
}

bool vy_lower_call(vy_lower *l, const vy_ast_expr *e, uint32_t n, vy_value *results)
{
    if (vy_lower_stopped(l)) return false;
    vy_func *fn = e->u.ref.decl->func;
    vy_lower inner = *l;
    inner.func = fn;
    inner.results = NULL;
    if (++inner.call_depth > VY_MAX_CALL_DEPTH) {
        vy_front_error(l->f, VY_E_LIMIT, e->line, e->column, "nest fewer calls",
                       "calls are nested more than %u deep", VY_MAX_CALL_DEPTH);
        return false;
    }
    inner.frame = vy_realloc(NULL, (fn->slot_count + 1) * sizeof *inner.frame);
    if (!inner.frame) {
        vy_fail_oom(l->f->m);
        l->f->failed = true;
        return false;
    }
    vy_place *places = bind_arguments(l, &inner, e);
    inner.visited = l->visited;
    if (!vy_lower_stopped(l) && has_rule(fn))
        apply(&inner, e, results);
    else if (!vy_lower_stopped(l))
        vy_lower_function_body(&inner, n, results);
    l->visited = inner.visited;
    if (places) vy_lower_at(l, e->line, e->column);
    copy_back(l, &inner, places);
    vy_free(inner.frame);
    return !vy_lower_stopped(l);
}
