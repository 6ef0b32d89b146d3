// SPDX-License-Identifier: MIT
// sema_call.c: names and types in calls.
#include "ir/text/overload.h"

#include <string.h>

const vy_builtin_info *vy_call_builtin(const vy_ast_expr *e)
{
    vy_name_rec *n = e->u.ref.name;
    if (n->builtin == -2) {
        const vy_builtin_info *info = vy_builtin_find(n->text, n->length);
        if (!info) info = vy_geometry_find(n->text, n->length);
        n->builtin = info ? 1 : -1;
        n->info = info;
    }
    return n->info;
}

static bool count_is(vy_front *f, const vy_ast_expr *e, const char *name, uint32_t n)
{
    if (e->count == n) return true;
    vy_front_error(f, VY_E_ARGUMENTS, e->line, e->column, NULL, "`%s` takes %u arguments, not %u",
                   name, n, e->count);
    return false;
}

// --------------------------------------------------------------------------------- user functions
static void sema_buffer_argument(vy_front *f, vy_ast_expr *a, const vy_decl *p, const char *name)
{
    vy_decl *d = vy_named_array(a);
    if (!d) {
        vy_front_error(f, VY_E_NAME_KIND, a->line, a->column, "pass the name of a buffer",
                       "parameter `%s` of `%s` is a buffer", p->name->text, name);
        return;
    }
    a->u.ref.decl = d;
    if (d->type != p->type || d->rank != p->rank)
        vy_front_error(f, VY_E_TYPES_DIFFER, a->line, a->column,
                       "pass a buffer of the same element type and number of dimensions",
                       "parameter `%s` of `%s` is %s with %u dimensions, `%s` is %s with %u",
                       p->name->text, name, vy_any_type_name(f, p->type), p->rank, d->name->text,
                       vy_any_type_name(f, d->type), d->rank);
    else if (p->cls != VY_IN && d->cls == VY_IN)
        vy_front_error(f, VY_E_ACCESS, a->line, a->column, NULL,
                       "`%s` may only be read, but `%s` writes it", d->name->text, name);
}

static bool takes_out(const vy_decl *p) { return p && p->kind == DK_VAR && p->cls == VY_OUT; }

static void sema_value_argument(vy_front *f, vy_ast_expr *a, const vy_decl *p)
{
    if (vy_named_array(a)) vy_synth(f, a); // which is an error
    if (f->failed) return;
    if (p->kind == DK_VAR)
        vy_sema_changed(f, a, p);
    else
        vy_need(f, a, p->type, "the parameter");
}

static void sema_argument(vy_front *f, vy_ast_expr *a, vy_decl *p, const char *name)
{
    if (p->kind != DK_BUFFER) {
        sema_value_argument(f, a, p);
        return;
    }
    // The callee may not have been analysed yet: `f32[]` has one dimension.
    if (p->rank == 0) p->rank = 1;
    sema_buffer_argument(f, a, p, name);
}

// Is parameter k of one of them `out`?
static bool may_be_out(const vy_decl *g, uint32_t k)
{
    for (; g; g = g->overload) {
        const vy_decl *p = g->func->params;
        for (uint32_t i = 0; p && i < k; i++) p = p->next;
        if (takes_out(p)) return true;
    }
    return false;
}

// The types of the arguments, before it is known which function they are for.
static void synth_arguments(vy_front *f, const vy_ast_expr *e, const vy_decl *g)
{
    uint32_t k = 0;
    for (vy_ast_expr *a = e->u.ref.list; a && !f->failed; a = a->next, k++) {
        if (may_be_out(g, k)) vy_note_written(a);
        if (!vy_named_array(a)) vy_synth(f, a);
    }
}

// The function that is called, of those of one name.
static vy_decl *find_called(vy_front *f, vy_ast_expr *e, vy_decl *g)
{
    const bool one = !g->overload;
    if (one && !count_is(f, e, g->name->text, g->func->param_count)) return NULL;
    synth_arguments(f, e, g);
    return f->failed ? NULL : one ? g : vy_choose_overload(f, e, g);
}

void vy_note_callee(vy_front *f, vy_func *fn, uint32_t line, uint32_t column)
{
    vy_callee *last = f->func->callees;
    if (last && last->func == fn) return;
    vy_callee *c = vy_front_alloc(f, sizeof *c);
    if (f->failed) return;
    *c = (vy_callee){fn, line, column, last};
    f->func->callees = c;
}

vy_text_type vy_sema_user_call(vy_front *f, vy_ast_expr *e, vy_func **out)
{
    vy_decl *g = vy_again_find(e->u.ref.name, f->func);
    const char *name = e->u.ref.name->text;
    *out = NULL;
    if (!g || g->kind != DK_FUNC) {
        bool known = g || e->u.ref.name->local;
        vy_front_error(f, known ? VY_E_NAME_KIND : VY_E_NAME_UNKNOWN, e->line, e->column,
                       known ? g && g->kind == DK_STRUCT ? "write Name { field: value, … }"
                                                         : "only functions can be called"
                             : vy_spelling_fix(f, name, strlen(name),
                                               VY_SPELL_FUNCTIONS | VY_SPELL_TYPES | VY_SPELL_MADE,
                                               "declare it with `fn`"),
                       known ? "`%s` is not a function" : "there is no function `%s`", name);
        return e->type = VY_BROKEN;
    }
    if (f->in_const) {
        vy_front_error(f, VY_E_CONSTANT, e->line, e->column, NULL,
                       "a call of `%s` is not allowed in a constant", name);
        return e->type = VY_BROKEN;
    }
    g = find_called(f, e, g);
    if (!g) return e->type = VY_BROKEN;
    vy_func *fn = vy_instance(f, e, g->func);
    if (!fn) return e->type = VY_BROKEN;
    vy_ast_expr *a = e->u.ref.list;
    for (vy_decl *p = fn->params; p && !f->failed; p = p->next, a = a->next)
        sema_argument(f, a, p, name);
    if (f->failed) return e->type = VY_BROKEN;
    vy_note_callee(f, fn, e->line, e->column);
    e->u.ref.decl = fn->decl;
    *out = fn;
    return e->type = fn->result_count == 1 ? fn->results[0] : VY_VOID;
}

// -------------------------------------------------------------------------------------- built in
static bool rule_fits(uint8_t rule, vy_text_type t)
{
    bool integer = vy_operator_fits(TK_REM, t);
    // An integer literal may still become a float.
    bool is_float = t == VY_ANY_INT || t == VY_ANY_FLOAT || vy_type_is_float((vy_type)t);
    switch (rule) {
    case VY_RULE_F:
    case VY_RULE_FB: return is_float;
    case VY_RULE_N:
    case VY_RULE_C: return is_float || integer;
    case VY_RULE_I: return integer;
    case VY_RULE_IB: return integer || t == VY_BOOL;
    case VY_RULE_CB: return is_float || integer || t == VY_BOOL;
    default: return true;
    }
}

static void rule_error(vy_front *f, const vy_ast_expr *e, const char *name, vy_text_type t)
{
    vy_front_error(f, VY_E_TYPE_WRONG, e->line, e->column, NULL,
                   "`%s` is not for values of type %s", name, vy_any_type_name(f, t));
}

// All arguments from `a` on must have one type.
static vy_text_type synth_alike(vy_front *f, vy_ast_expr *e, vy_ast_expr *a,
                                const vy_builtin_info *b)
{
    vy_text_type t = VY_VOID;
    for (vy_ast_expr *x = a; x && !f->failed; x = x->next)
        t = vy_widen(f, t, x, vy_synth(f, x), b->text);
    if (f->failed) return e->type = VY_BROKEN;
    if (vy_is_matrix(f, t) || !rule_fits(b->rule, vy_element(f, t))) rule_error(f, e, b->text, t);
    bool to_bool = b->rule == VY_RULE_FB;
    if (to_bool && vy_is_any(t)) t = VY_F32;
    if (b->rule == VY_RULE_F && t == VY_ANY_INT) t = VY_ANY_FLOAT;
    if (!vy_is_any(t))
        for (vy_ast_expr *x = a; x && !f->failed; x = x->next)
            if (vy_is_any(x->type)) vy_settle(f, x, vy_element(f, t));
    return e->type = to_bool ? vy_vector_type(VY_BOOL, vy_scalars(f, t)) : t;
}

// The element that an atomic updates, which determines the type of its operands.
static vy_text_type synth_atomic(vy_front *f, vy_ast_expr *e, const vy_builtin_info *b)
{
    vy_ast_expr *target = e->u.ref.list;
    const bool part = target->kind == EX_MEMBER && target->u.member.of->kind == EX_INDEX;
    if (target->kind != EX_INDEX && !part) {
        vy_front_error(f, VY_E_NAME_KIND, target->line, target->column, "pass an element: `x[i]`",
                       "`%s` works on an element of a buffer", b->text);
        return e->type = VY_BROKEN;
    }
    const vy_op op = b->op == VY_OP_SUB ? VY_OP_ATOMIC_ADD : (vy_op)b->op;
    vy_text_type t = part ? vy_sema_element_part(f, target, op)
                          : vy_sema_index(f, target, true, vy_marks_allowed(op, target->op));
    if (f->failed) return e->type = VY_BROKEN;
    const vy_text_type stored = part || vy_is_made(t) ? t : target->u.ref.decl->type;
    const bool vector = vy_is_vector(f, stored) && b->kind == BF_ATOMIC;
    if (!rule_fits(b->rule, vector ? vy_element(f, stored) : stored)) {
        rule_error(f, e, b->text, stored);
        return e->type = VY_BROKEN;
    }
    for (vy_ast_expr *v = target->next; v && !f->failed; v = v->next)
        vy_check_as(f, v, t, "the element");
    return e->type = t;
}

static vy_text_type synth_len(vy_front *f, vy_ast_expr *e)
{
    vy_ast_expr *a = e->u.ref.list, *axis = a ? a->next : NULL;
    vy_decl *d = a && a->kind == EX_NAME && a->u.ref.name ? a->u.ref.name->local : NULL;
    if (e->count > 2 || !d ||
        (d->kind != DK_BUFFER && d->kind != DK_SHARED && d->kind != DK_LOCAL)) {
        vy_front_error(f, VY_E_ARGUMENTS, e->line, e->column, "write len(x) or len(x, 1)",
                       "`len` takes the name of a buffer, and an axis");
        return e->type = VY_BROKEN;
    }
    a->u.ref.decl = d;
    if (!axis && d->rank > 1) {
        vy_front_error(f, VY_E_ARGUMENTS, e->line, e->column, "write len(x, 0)",
                       "`%s` has %u dimensions: name an axis", d->name->text, d->rank);
    } else if (axis && (axis->kind != EX_INT || axis->u.value >= d->rank)) {
        vy_front_error(f, VY_E_ARGUMENTS, axis->line, axis->column, "axes count from 0",
                       "`%s` has the axes 0 to %u, as literals", d->name->text, d->rank - 1);
    }
    return e->type = VY_U32;
}

static vy_text_type synth_polygamma(vy_front *f, vy_ast_expr *e)
{
    vy_ast_expr *n = e->u.ref.list;
    vy_text_type t = vy_synth(f, n->next);
    if (f->failed) return e->type = VY_BROKEN;
    if (n->kind != EX_INT || n->u.value > 1000)
        vy_front_error(f, VY_E_CONSTANT, n->line, n->column, "write a literal from 0 to 1000",
                       "the order of `polygamma` must be an integer literal");
    if (vy_is_matrix(f, t) || !rule_fits(VY_RULE_F, vy_element(f, t)))
        rule_error(f, e, "polygamma", t);
    return e->type = t == VY_ANY_INT ? VY_ANY_FLOAT : t;
}

static vy_text_type synth_bitcast(vy_front *f, vy_ast_expr *e, const vy_builtin_info *b)
{
    vy_ast_expr *a = e->u.ref.list;
    vy_text_type t = vy_check_value(f, a);
    if (!f->failed && (t == VY_BOOL || vy_type_size((vy_type)t) != vy_type_size((vy_type)b->op)))
        rule_error(f, e, b->text, t);
    return e->type = b->op;
}

// A value, and the number of a lane or candidate.
static vy_text_type synth_numbered(vy_front *f, vy_ast_expr *e, const vy_builtin_info *b,
                                   vy_rule rule, const char *what)
{
    vy_text_type t = vy_synth(f, e->u.ref.list);
    if (!f->failed && !rule_fits(rule, t)) rule_error(f, e, b->text, t);
    vy_check_as(f, e->u.ref.list->next, VY_U32, what);
    return e->type = t;
}

static vy_text_type synth_select(vy_front *f, vy_ast_expr *e)
{
    vy_ast_expr *c = e->u.ref.list, *a = c->next, *b = a->next;
    vy_check_as(f, c, VY_BOOL, "the condition");
    vy_text_type t = f->failed ? VY_BROKEN : vy_synth(f, a);
    if (!f->failed) t = vy_join(f, t, b, vy_synth(f, b), "`select`");
    if (!f->failed && !vy_is_any(t)) {
        vy_settle(f, a, t);
        vy_settle(f, b, t);
    }
    return e->type = t;
}

static vy_text_type synth_library(vy_front *f, vy_ast_expr *e, const vy_builtin_info *b)
{
    vy_text_type results[VY_MOST_RESULTS];
    const uint32_t n = vy_synth_library(f, e, results);
    if (!f->failed && n > 1)
        vy_front_error(f, VY_E_NO_VALUE, e->line, e->column, "write let (p, q) = …",
                       "`%s` returns %u values, one is needed here", b->text, n);
    return e->type = f->failed ? VY_BROKEN : results[0];
}

static bool allowed_in_const(const vy_builtin_info *b)
{
    if (b->kind == BF_OP) return vy_op_infos[b->op].effect == VY_PURE;
    return b->kind == BF_COMPOSED || b->kind == BF_SELECT || b->kind == BF_POLYGAMMA ||
           b->kind == BF_BITCAST || b->kind == BF_GEOMETRY || b->kind == BF_MATRIX ||
           b->kind == BF_LIBRARY;
}

static vy_text_type synth_operation(vy_front *f, vy_ast_expr *e, const vy_builtin_info *b)
{
    if (vy_op_has_lane(b->op)) return synth_numbered(f, e, b, VY_RULE_CB, "the lane");
    if (b->op == VY_OP_CANDIDATE) return synth_numbered(f, e, b, VY_RULE_F, "the number");
    if (b->op == VY_OP_SG_ANY || b->op == VY_OP_SG_ALL) {
        vy_check_as(f, e->u.ref.list, VY_BOOL, "the argument");
        return e->type = VY_BOOL;
    }
    return synth_alike(f, e, e->u.ref.list, b);
}

bool vy_is_library_call(const vy_front *f, const vy_ast_expr *e)
{
    const vy_builtin_info *b = e->kind == EX_CALL ? vy_call_builtin(e) : NULL;
    const vy_decl *g = b ? vy_again_find(e->u.ref.name, f->func) : NULL;
    return b && b->kind == BF_LIBRARY && !(g && g->kind == DK_FUNC);
}

vy_text_type vy_synth_call(vy_front *f, vy_ast_expr *e)
{
    const vy_builtin_info *b = vy_call_builtin(e);
    const vy_decl *g = vy_again_find(e->u.ref.name, f->func);
    const bool own = g && g->kind == DK_FUNC;
    const vy_name_rec *name = e->u.ref.name;
    const vy_text_type made = own || b ? VY_VOID : vy_made_type_named(name->text, name->length);
    if (made) return vy_synth_make(f, e, made);
    if (!b || own) {
        vy_func *fn;
        vy_text_type t = vy_sema_user_call(f, e, &fn);
        if (!f->failed && t == VY_VOID)
            vy_front_error(f, VY_E_NO_VALUE, e->line, e->column, NULL,
                           "`%s` returns %u values, one is needed here", e->u.ref.name->text,
                           fn->result_count);
        return t;
    }
    if (f->in_const && !allowed_in_const(b)) {
        vy_front_error(f, VY_E_CONSTANT, e->line, e->column, NULL,
                       "`%s` is not allowed in a constant", b->text);
        return e->type = VY_BROKEN;
    }
    if (b->kind == BF_LEN) return synth_len(f, e);
    if (b->kind == BF_REDUCE) {
        vy_front_error(f, VY_E_ARGUMENTS, e->line, e->column, "write sum(k in 0..n: x[k])",
                       "`%s` needs a range", b->text);
        return e->type = VY_BROKEN;
    }
    if (!count_is(f, e, b->text, b->arity)) return e->type = VY_BROKEN;
    switch (b->kind) {
    case BF_SELECT: return synth_select(f, e);
    case BF_POLYGAMMA: return synth_polygamma(f, e);
    case BF_ATOMIC:
    case BF_ATOMIC_CAS: return synth_atomic(f, e, b);
    case BF_BITCAST: return synth_bitcast(f, e, b);
    case BF_BARRIER: return e->type = VY_VOID;
    case BF_COMPOSED: return synth_alike(f, e, e->u.ref.list, b);
    case BF_GEOMETRY: return vy_synth_geometry(f, e, b);
    case BF_MATRIX: return vy_synth_matrix(f, e, b);
    case BF_LIBRARY: return synth_library(f, e, b);
    default: return synth_operation(f, e, b);
    }
}

// A call with only literals as arguments gets its type from the context.
void vy_settle_call(vy_front *f, vy_ast_expr *e, vy_text_type type)
{
    const vy_builtin_info *b = vy_call_builtin(e);
    const bool candidate = b->kind == BF_OP && b->op == VY_OP_CANDIDATE;
    if (b->kind == BF_LIBRARY) {
        vy_settle_library(f, e, type);
        return;
    }
    if (!rule_fits(candidate ? VY_RULE_F : b->rule, type)) {
        rule_error(f, e, b->text, type);
        return;
    }
    bool lane = vy_op_has_lane(b->op) && b->kind == BF_OP;
    vy_ast_expr *a = e->u.ref.list;
    if (b->kind == BF_SELECT || b->kind == BF_POLYGAMMA) a = a->next;
    for (; a && !f->failed; a = a->next) {
        vy_settle(f, a, type);
        if (lane || candidate) break;
    }
}
