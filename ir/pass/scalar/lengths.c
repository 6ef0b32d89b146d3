// SPDX-License-Identifier: MIT
// lengths.c: what computes the length of a buffer is that length.
//
//   y: f32[(H + 2 * P - 3) / 1 + 1]
//   for i in 0..u32(i64(H) + 2 * i64(P) - 3) + 1 { y[i] }   →   for i in 0..len(y, 0) { y[i] }
//
// Bounds of loops that go over a buffer are often computed anew, in 64 bits where there is a
// division.  As a length they prove that the access is in range (ir/facts/range.c), and need no
// arithmetic but what finds the element.
//
// A length is not negative, or the launch is an error (docs/language.md 3.1), and len() is its
// lowest 32 bits.  So a u32 that equals it modulo 2³² equals it.  Sums and products by constants of
// scalars are compared as linear forms, modulo 2⁶⁴ in 64 bits, modulo 2³² in 32; quotients of forms
// by constants are variables of such forms, where both sides compute them from equal numbers of 64
// bits.
//
// Only lengths of buffers that the program accesses, which are parameters in any case; and only in
// programs that are not differentiated again, as a derivative has the buffers that lengths name.
// Linear in the program, up to the sorting of its lengths.
#include "ir/pass/pass.h"

#include <stdlib.h>
#include <string.h>

enum { TERMS = 6, QUOTIENTS = 64 };

// constant + Σ factor · variable, by variable.
typedef struct linear {
    uint64_t constant;
    struct {
        uint32_t variable; // 1 + a scalar, or QUOTIENT + a quotient
        uint64_t factor;   // not 0
    } term[TERMS];
    uint32_t count;
    bool wide; // in 64 bits
} linear;

#define QUOTIENT UINT32_C(0x80000000)

typedef struct quotient {
    linear of;
    int64_t by;
} quotient;

typedef struct length {
    linear form;
    uint32_t buffer, axis;
} length;

typedef struct lengths {
    vy_rewrite w;
    linear **form; // by instruction; NULL: no form
    length *all;   // sorted by form
    uint32_t count;
    quotient quotients[QUOTIENTS];
    uint32_t quotient_count;
    uint32_t *is; // by instruction: 1 + an element of `all`
    bool any;
} lengths;

// ------------------------------------------------------------------------------------------- forms
// By variables and factors, then by constant.
static int compare(const linear *x, const linear *y, bool constants)
{
    if (x->count != y->count) return x->count < y->count ? -1 : 1;
    for (uint32_t k = 0; k < x->count; k++) {
        const uint32_t a = x->term[k].variable, b = y->term[k].variable;
        const uint64_t m = x->term[k].factor, n = y->term[k].factor;
        if (a != b || m != n) return a < b || (a == b && m < n) ? -1 : 1;
    }
    if (!constants || x->constant == y->constant) return 0;
    return x->constant < y->constant ? -1 : 1;
}

static bool add_term(linear *l, uint32_t variable, uint64_t factor)
{
    uint32_t k = 0;
    if (!l->wide) factor &= UINT32_MAX;
    while (k < l->count && l->term[k].variable < variable) k++;
    if (k < l->count && l->term[k].variable == variable) {
        factor += l->term[k].factor;
        if (!l->wide) factor &= UINT32_MAX;
        l->term[k].factor = factor;
        if (factor) return true;
        memmove(l->term + k, l->term + k + 1, (--l->count - k) * sizeof *l->term);
        return true;
    }
    if (!factor) return true;
    if (l->count == TERMS) return false;
    memmove(l->term + k + 1, l->term + k, (l->count++ - k) * sizeof *l->term);
    l->term[k].variable = variable;
    l->term[k].factor = factor;
    return true;
}

// *l += by · x
static bool add_scaled(linear *l, const linear *x, uint64_t by)
{
    l->constant += by * x->constant;
    if (!l->wide) l->constant &= UINT32_MAX;
    for (uint32_t k = 0; k < x->count; k++)
        if (!add_term(l, x->term[k].variable, by * x->term[k].factor)) return false;
    return true;
}

static void start(linear *l, bool wide) { *l = (linear){.wide = wide}; }

// x modulo 2³²
static bool narrow(linear *out, const linear *x)
{
    start(out, false);
    return add_scaled(out, x, 1);
}

static bool product(linear *out, const linear *x, const linear *y)
{
    start(out, x->wide);
    return !y->count   ? add_scaled(out, x, y->constant)
           : !x->count ? add_scaled(out, y, x->constant)
                       : false;
}

// The form of x / by, rounded toward zero; x is a number of 64 bits, not only modulo 2⁶⁴.
static bool divide(lengths *a, linear *out, const linear *x, int64_t by)
{
    uint32_t k = 0;
    start(out, true);
    if (by == 1) return add_scaled(out, x, 1);
    if (by <= 0) return false;
    while (k < a->quotient_count &&
           (a->quotients[k].by != by || compare(&a->quotients[k].of, x, true) != 0))
        k++;
    if (k == QUOTIENTS) return false;
    if (k == a->quotient_count) a->quotients[a->quotient_count++] = (quotient){*x, by};
    return add_term(out, QUOTIENT + k, 1);
}

static bool operate(lengths *a, linear *out, vy_dim_op op, const linear *x, const linear *y)
{
    switch (op) {
    case VY_DIM_ADD:
    case VY_DIM_SUB:
        start(out, x->wide);
        return add_scaled(out, x, 1) && add_scaled(out, y, op == VY_DIM_ADD ? 1 : UINT64_MAX);
    case VY_DIM_MUL: return product(out, x, y);
    case VY_DIM_DIV: return x->wide && !y->count && divide(a, out, x, (int64_t)y->constant);
    default: return false;
    }
}

static bool is_exact_scalar(const vy_program *p, uint32_t scalar)
{
    const vy_type t = p->scalars.data[scalar].type;
    return t == VY_U32 || t == VY_I32 || t == VY_I64;
}

static bool scalar_form(const vy_program *p, linear *out, uint32_t scalar, bool wide)
{
    start(out, wide);
    return is_exact_scalar(p, scalar) && add_term(out, scalar + 1, 1);
}

// ----------------------------------------------------------------------------------------- lengths
// The forms of dimensions; a dimension refers to earlier ones.
static linear **dimension_forms(lengths *a)
{
    const vy_program *p = a->w.p;
    linear **of = vy_rewrite_table(&a->w, p->dims.count * sizeof *of);
    for (uint32_t i = 1; of && i < p->dims.count && !a->w.oom; i++) {
        const vy_dim_node *d = &p->dims.data[i];
        linear l;
        bool ok = d->op == VY_DIM_SCALAR && scalar_form(p, &l, (uint32_t)d->value, true);
        if (d->op == VY_DIM_CONST) {
            start(&l, true);
            l.constant = (uint64_t)d->value;
            ok = true;
        } else if (d->op >= VY_DIM_ADD && of[d->a] && of[d->b]) {
            ok = operate(a, &l, d->op, of[d->a], of[d->b]);
        }
        if (!ok) continue;
        of[i] = vy_rewrite_table(&a->w, sizeof l);
        if (of[i]) *of[i] = l;
    }
    return of;
}

static int by_form(const void *x, const void *y)
{
    const length *a = x, *b = y;
    const int order = compare(&a->form, &b->form, true);
    if (order) return order;
    if (a->buffer != b->buffer) return a->buffer < b->buffer ? -1 : 1;
    return a->axis < b->axis ? -1 : a->axis > b->axis;
}

// A scalar or a constant needs no other name.
static bool is_compound(const linear *l)
{
    return l->count > 1 ||
           (l->count && (l->constant || l->term[0].factor != 1 || l->term[0].variable >= QUOTIENT));
}

static bool find_lengths(lengths *a)
{
    const vy_program *p = a->w.p;
    uint8_t *accessed = vy_rewrite_table(&a->w, p->buffers.count);
    linear **of = accessed ? dimension_forms(a) : NULL;
    size_t most = 0;
    if (!of || a->w.oom) return false;
    for (uint32_t id = 1; id < p->insts.count; id++)
        if (vy_op_is_memory((vy_op)p->insts.data[id].op)) accessed[p->insts.data[id].aux] = 1;
    for (uint32_t i = 1; i < p->buffers.count; i++) {
        const vy_buf *b = &p->buffers.data[i];
        accessed[i] &= vy_is_global(b->cls) && !b->workspace && !b->view_of;
        if (accessed[i]) most += b->rank;
    }
    a->all = vy_rewrite_table(&a->w, (most + 1) * sizeof *a->all);
    for (uint32_t i = 1; a->all && i < p->buffers.count; i++)
        for (uint32_t k = 0; accessed[i] && k < p->buffers.data[i].rank; k++) {
            const linear *l = of[p->buffers.data[i].dims[k].id];
            length *at = &a->all[a->count];
            if (!l || !is_compound(l) || !narrow(&at->form, l)) continue;
            at->buffer = i;
            at->axis = k;
            a->count++;
        }
    if (a->count) qsort(a->all, a->count, sizeof *a->all, by_form);
    return !a->w.oom;
}

// ---------------------------------------------------------------------------------------- the code
static bool is_wide(vy_type t) { return t == VY_I64; }
static bool is_narrow(vy_type t) { return t == VY_U32 || t == VY_I32; }

static bool leaf_form(const lengths *a, uint32_t id, linear *out)
{
    const vy_leaf *l = &a->w.p->leaves.data[VY_LEAF_INDEX(id)];
    int64_t k;
    const vy_type t = (vy_type)l->type;
    if (!is_wide(t) && !is_narrow(t)) return false;
    if (vy_id_int(a->w.p, id, &k)) {
        start(out, is_wide(t));
        out->constant = is_wide(t) ? (uint64_t)k : (uint32_t)k;
        return true;
    }
    return l->kind == VY_LEAF_SCALAR && scalar_form(a->w.p, out, l->index, is_wide(t));
}

static bool form_of(const lengths *a, uint32_t id, linear *out)
{
    if (VY_IS_LEAF(id)) return leaf_form(a, id, out);
    if (a->form[id]) *out = *a->form[id];
    return a->form[id] != NULL;
}

// A scalar keeps its value in 64 bits; of what was computed in 32, that is known modulo 2³² only.
static bool cast_form(const lengths *a, vy_type to, uint32_t from, linear *out)
{
    linear x;
    if (!form_of(a, from, &x)) return false;
    if (is_narrow(to)) return narrow(out, &x);
    if (x.wide || !VY_IS_LEAF(from)) {
        *out = x;
        return x.wide;
    }
    const vy_leaf *l = &a->w.p->leaves.data[VY_LEAF_INDEX(from)];
    return l->kind == VY_LEAF_SCALAR && scalar_form(a->w.p, out, l->index, true);
}

static bool inst_form(lengths *a, uint32_t id, linear *out)
{
    const vy_program *p = a->w.p;
    const vy_inst *i = &p->insts.data[id];
    linear x, y;
    if (!is_wide((vy_type)i->type) && !is_narrow((vy_type)i->type)) return false;
    switch ((vy_op)i->op) {
    case VY_OP_CAST: return cast_form(a, (vy_type)i->type, vy_arg(p, id, 0), out);
    case VY_OP_ADD:
    case VY_OP_SUB:
    case VY_OP_MUL:
    case VY_OP_DIV: break;
    default: return false;
    }
    if (!form_of(a, vy_arg(p, id, 0), &x) || !form_of(a, vy_arg(p, id, 1), &y)) return false;
    const vy_dim_op op = i->op == VY_OP_ADD   ? VY_DIM_ADD
                         : i->op == VY_OP_SUB ? VY_DIM_SUB
                         : i->op == VY_OP_MUL ? VY_DIM_MUL
                                              : VY_DIM_DIV;
    return operate(a, out, op, &x, &y);
}

static const length *first_length(const lengths *a, const linear *form, bool constants)
{
    uint32_t from = 0, to = a->count; // the first that is not smaller
    while (from < to) {
        const uint32_t at = from + (to - from) / 2;
        if (compare(&a->all[at].form, form, constants) < 0)
            from = at + 1;
        else
            to = at;
    }
    const length *l = &a->all[from];
    return from < a->count && compare(&l->form, form, constants) == 0 ? l : NULL;
}

// The length that is `form`, or, in place of arithmetic in 64 bits, differs by a constant.
static const length *length_of(const lengths *a, uint32_t id, const linear *form)
{
    const vy_program *p = a->w.p;
    if (p->insts.data[id].type != VY_U32) return NULL;
    const length *l = first_length(a, form, true);
    const bool was_wide =
        p->insts.data[id].op == VY_OP_CAST && is_wide(vy_id_type(p, vy_arg(p, id, 0)));
    return l || !was_wide ? l : first_length(a, form, false);
}

static bool find_values(lengths *a)
{
    const vy_program *p = a->w.p;
    a->form = vy_rewrite_table(&a->w, p->insts.count * sizeof *a->form);
    a->is = vy_rewrite_ids(&a->w);
    for (uint32_t id = 1; a->form && a->is && id < p->insts.count && !a->w.oom; id++) {
        linear l;
        if (!inst_form(a, id, &l)) continue;
        a->form[id] = vy_rewrite_table(&a->w, sizeof l);
        if (a->form[id]) *a->form[id] = l;
        const length *is = length_of(a, id, &l);
        if (!is) continue;
        a->is[id] = (uint32_t)(is - a->all) + 1;
        a->any = true;
    }
    return !a->w.oom;
}

static uint32_t instead(void *pass, uint32_t id)
{
    lengths *a = pass;
    if (!a->is[id]) return 0;
    const length *l = &a->all[a->is[id] - 1];
    const vy_value all = vy_len(a->w.b, (vy_buffer){l->buffer}, l->axis);
    const uint32_t more = (uint32_t)(a->form[id]->constant - l->form.constant);
    const bool less = more > INT32_MAX; // −1 reads better than + 4294967295
    const vy_value by = vy_int(a->w.b, VY_U32, less ? (uint32_t)-more : more);
    const vy_value v = !more ? all : less ? vy_sub(a->w.b, all, by) : vy_add(a->w.b, all, by);
    vy_rewrite_as(&a->w, id, v.id);
    return id;
}

bool vy_pass_lengths(vy_program *p, vy_pass_context *c)
{
    if (!c->options->final) return true;
    lengths a = {.count = 0};
    bool ok = vy_rewrite_begin(&a.w, p) && find_lengths(&a) && (!a.count || find_values(&a));
    if (ok && a.any) vy_rewrite_run(&a.w, instead, &a);
    return vy_rewrite_end(&a.w, ok, &c->changed);
}
