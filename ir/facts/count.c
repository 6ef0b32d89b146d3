// SPDX-License-Identifier: MIT
// count.c: operations and turns of loops as polynomials.
//
//   for i in 0..n {        each turn of i: 1 add, and i turns of j with 1 mul each
//     for j in 0..i { p *= x[j]; }                →  mul: Σ_{i<n} i = n²/2 − n/2,  load: the same
//     s += p;                                     →  add: n
//   }
//
// One walk: what stands in a loop is collected in a list and, at the loop's end, summed over its
// variable.  Bounds are polynomials in parameters and the variables of loops around; a loop whose
// bounds are none (data, `while`) takes a variable `turns(k@12)`, with an upper bound of its value
// where interval analysis knows one (trip_estimate.c).  Each loop costs its distance to the top, so
// the walk is near-linear.
#include "ir/facts/count.h"
#include "ir/core/flow.h"

#include <stdio.h>
#include <string.h>

enum { ITEM_LOOP = VY_COST_COUNT }; // classes beyond are loops: ITEM_LOOP + index

typedef struct item {
    uint32_t class;
    vy_poly amount;
} item;
VY_VEC_TYPE(item_vec, item);

typedef struct frame {
    uint32_t loop; // index in c->loops
    uint32_t var;  // bound variable, or of its turns
    uint32_t start;
    int64_t plain[VY_COST_COUNT]; // straight-line operations so far
} frame;
VY_VEC_TYPE(frame_vec, frame);

typedef struct walk {
    vy_count *c;
    const vy_program *p;
    const vy_sizes *sizes;
    vy_poly *value; // of integer instructions; meaningful where has[] is set
    uint8_t *has;
    int64_t *trips; // upper bounds; −1: none
    item_vec items;
    frame_vec frames;
} walk;

// -------------------------------------------------------------------------------------- dimensions

static vy_poly named(vy_poly_space *s, const char *text, bool known, double value)
{
    uint32_t var = vy_poly_name(s, text);
    if (s->failed) return (vy_poly){0};
    s->vars.data[var].known = known;
    s->vars.data[var].value = value;
    return vy_poly_of(s, var);
}

static vy_poly scalar(const walk *w, uint32_t index)
{
    const vy_sizes *z = w->sizes;
    bool known = z->scalars && z->known && z->known[index];
    return named(&w->c->space, w->p->scalars.data[index].name, known,
                 known ? (double)z->scalars[index] : 0);
}

static vy_poly length(const walk *w, uint32_t buffer)
{
    char text[320];
    uint64_t n = w->sizes->lengths ? w->sizes->lengths[buffer] : UINT64_MAX;
    snprintf(text, sizeof text, "len(%.300s)", w->p->buffers.data[buffer].name);
    return named(&w->c->space, text, n != UINT64_MAX, (double)n);
}

static vy_poly group_count(const walk *w, uint32_t axis)
{
    static const char *const names[] = {"num_groups.x", "num_groups.y", "num_groups.z"};
    const uint32_t n = w->sizes->groups[axis];
    return named(&w->c->space, names[axis], n != 0, n);
}

static vy_poly *make_dims(walk *w)
{
    vy_poly_space *s = &w->c->space;
    vy_poly *dims = vy_arena_alloc(&s->arena, (w->p->dims.count + 1) * sizeof *dims);
    if (!dims) s->failed = true;
    for (uint32_t i = 1; i < w->p->dims.count && vy_poly_ok(s); i++) {
        const vy_dim_node *d = &w->p->dims.data[i];
        bool leaf = d->op < VY_DIM_ADD;
        vy_poly *out = &dims[i], a = dims[leaf ? 0 : d->a], b = dims[leaf ? 0 : d->b];
        char text[40];
        switch (d->op) {
        case VY_DIM_CONST: *out = vy_poly_const(s, d->value); break;
        case VY_DIM_SCALAR: *out = scalar(w, (uint32_t)d->value); break;
        case VY_DIM_UNKNOWN: *out = length(w, (uint32_t)d->value); break;
        case VY_DIM_ADD: *out = vy_poly_add(s, a, b); break;
        case VY_DIM_SUB: *out = vy_poly_sub(s, a, b); break;
        case VY_DIM_MUL: *out = vy_poly_mul(s, a, b); break;
        case VY_DIM_GROUPS: *out = group_count(w, (uint32_t)d->value); break;
        case VY_DIM_STEP:
            snprintf(text, sizeof text, "step%lld", (long long)d->value);
            *out = named(s, text, false, 0);
            break;
        default: *out = vy_poly_special(s, d->op, a, b);
        }
    }
    return dims;
}

// ------------------------------------------------------------------------------ values of integers
static bool leaf_value(const walk *w, uint32_t id, vy_poly *out)
{
    const vy_leaf *l = &w->p->leaves.data[VY_LEAF_INDEX(id)];
    vy_poly_space *s = &w->c->space;
    if (!vy_type_is_integer((vy_type)l->type)) return false;
    switch (l->kind) {
    case VY_LEAF_CONST: *out = vy_poly_const(s, l->value.i); return true;
    case VY_LEAF_SCALAR: *out = scalar(w, l->index); return true;
    case VY_LEAF_OVER: *out = vy_poly_of(s, w->c->over[l->index]); return true;
    case VY_LEAF_LEN: *out = w->c->dims[w->p->buffers.data[l->index].dims[l->axis].id]; return true;
    case VY_LEAF_BUILTIN:
        if (l->index != VY_NUM_GROUPS || w->p->overs.count) return false;
        *out = group_count(w, l->axis);
        return true;
    default: return false;
    }
}

static bool value_of(const walk *w, uint32_t id, vy_poly *out)
{
    if (VY_IS_LEAF(id)) return leaf_value(w, id, out);
    *out = w->value[id];
    return w->has[id];
}

// `a < b ? x : 0`, as in a count of iterations, is taken as x: no loop ends before its start.
static bool guarded_count(const walk *w, uint32_t id, uint32_t *x)
{
    const vy_program *p = w->p;
    uint32_t c = vy_arg(p, id, 0);
    if (VY_IS_LEAF(c)) return false;
    const vy_scalar *yes = vy_id_const(p, vy_arg(p, id, 1)), *no = vy_id_const(p, vy_arg(p, id, 2));
    bool less = p->insts.data[c].op == VY_OP_LT && no && no->u == 0;
    bool more = p->insts.data[c].op == VY_OP_LE && yes && yes->u == 0;
    *x = vy_arg(p, id, less ? 1 : 2);
    return less || more;
}

// Polynomials of integers are kept small: what is longer counts as unknown.
static void note_value(walk *w, uint32_t id)
{
    enum { MOST = 48 };
    const vy_inst *i = &w->p->insts.data[id];
    vy_poly_space *s = &w->c->space;
    vy_poly a, b, r;
    if (!vy_type_is_integer((vy_type)i->type)) return;
    uint32_t same = i->op == VY_OP_CAST ? vy_arg(w->p, id, 0) : 0;
    if (same || (i->op == VY_OP_SELECT && guarded_count(w, id, &same))) {
        w->has[id] = value_of(w, same, &w->value[id]);
        return;
    }
    bool known = i->op == VY_OP_ADD || i->op == VY_OP_SUB || i->op == VY_OP_MUL ||
                 i->op == VY_OP_DIV || i->op == VY_OP_MIN || i->op == VY_OP_MAX;
    if (!known || !value_of(w, vy_arg(w->p, id, 0), &a) || !value_of(w, vy_arg(w->p, id, 1), &b) ||
        a.count > MOST || b.count > MOST)
        return;
    bool overflow = s->overflow;
    if (i->op == VY_OP_ADD)
        r = vy_poly_add(s, a, b);
    else if (i->op == VY_OP_SUB)
        r = vy_poly_sub(s, a, b);
    else if (i->op == VY_OP_MUL) {
        if (a.count * b.count > MOST) return;
        r = vy_poly_mul(s, a, b);
    } else {
        if (vy_poly_has_bound(s, a) || vy_poly_has_bound(s, b)) return;
        r = vy_poly_special(s,
                            i->op == VY_OP_DIV   ? VY_DIM_DIV
                            : i->op == VY_OP_MIN ? VY_DIM_MIN
                                                 : VY_DIM_MAX,
                            a, b);
    }
    w->has[id] = !s->overflow; // a constant beyond 64 bits is no size
    s->overflow = overflow;
    w->value[id] = r;
}

// -------------------------------------------------------------------------------------- operations
static void count_inst(const walk *w, const vy_inst *i, int64_t *plain)
{
    vy_op op = (vy_op)i->op;
    bool real = vy_type_is_float((vy_type)i->type);
    bool global = vy_op_is_memory(op) && w->p->buffers.data[i->aux].cls <= VY_INOUT;
    bool owned = vy_op_is_atomic(op) && (i->flags & VY_FLAG_OWNED);
    if (vy_op_is_atomic(op)) {
        vy_type element = w->p->buffers.data[i->aux].type;
        plain[VY_COST_ATOMIC] += !owned;
        bool once = i->flags & VY_FLAG_ONCE;
        plain[VY_COST_LOAD] += owned && !once;
        plain[VY_COST_STORE] += owned;
        plain[VY_COST_ADD] += vy_type_is_float(element) && op == VY_OP_ATOMIC_ADD && !once;
        return;
    }
    plain[VY_COST_LOAD] += op == VY_OP_LOAD && global;
    plain[VY_COST_STORE] += op == VY_OP_STORE && global;
    if (!real) return;
    plain[VY_COST_ADD] += op == VY_OP_ADD || op == VY_OP_SUB || op == VY_OP_FMA;
    plain[VY_COST_MUL] += op == VY_OP_MUL || op == VY_OP_FMA;
    plain[VY_COST_DIV] += op == VY_OP_DIV;
    plain[VY_COST_MATH] += vy_op_is_function(op);
}

// ------------------------------------------------------------------------------------------- loops
static void push_item(walk *w, uint32_t class, vy_poly amount)
{
    if (!vy_vec_push(&w->items, ((item){class, amount}))) w->c->space.failed = true;
}

// The variable of a loop whose turns are no polynomial.
static uint32_t turns_variable(walk *w, uint32_t opener)
{
    const vy_inst *i = &w->p->insts.data[opener];
    const char *name = vy_string(&w->p->module->names, i->name);
    vy_poly_space *s = &w->c->space;
    char text[160];
    snprintf(text, sizeof text, "turns(%.100s@%u)", name, i->line);
    uint32_t var = vy_poly_name(s, text);
    int64_t most = w->trips[opener];
    if (s->failed) return 0;
    vy_poly_var *v = &s->vars.data[var]; // loops of one line share it
    bool first = !v->atmost;
    v->known = most >= 0 && (first || v->known);
    v->atmost = true;
    if (first || v->value < (double)most) v->value = (double)most;
    return var;
}

// The bounds of a loop whose turns are a polynomial.
static void find_bounds(walk *w, uint32_t id, vy_loop_count *l)
{
    vy_poly_space *s = &w->c->space;
    const vy_scalar *step = vy_id_const(w->p, vy_arg(w->p, id, 2));
    int64_t a, b;
    if (!step || step->i < 1 || !value_of(w, vy_arg(w->p, id, 0), &l->from) ||
        !value_of(w, vy_arg(w->p, id, 1), &l->to))
        return;
    if (vy_poly_is_const(l->from, &a) && vy_poly_is_const(l->to, &b) && b < a) l->to = l->from;
    l->closed = l->unit = step->i == 1;
    if (l->unit) return;
    // ⌈(to − from)/step⌉ turns; the variable itself is no polynomial.
    vy_poly span = vy_poly_sub(s, l->to, l->from);
    if (vy_poly_has_bound(s, span)) return;
    span = vy_poly_add(s, span, vy_poly_const(s, step->i - 1));
    l->from = vy_poly_const(s, 0);
    l->to = vy_poly_special(s, VY_DIM_DIV, span, vy_poly_const(s, step->i));
    l->closed = true;
}

static void open_loop(walk *w, uint32_t id)
{
    const vy_inst *i = &w->p->insts.data[id];
    vy_poly_space *s = &w->c->space;
    frame f = {.loop = w->c->loops.count, .start = w->items.count};
    vy_loop_count l = {.program = w->p, .opener = id};
    w->c->conditional |= vy_exits(w->p, id);
    if (i->op == VY_OP_LOOP) find_bounds(w, id, &l);
    f.var = l.closed ? vy_poly_bound(s, vy_string(&w->p->module->names, i->name))
                     : turns_variable(w, id);
    if (l.unit) {
        w->value[id] = vy_poly_of(s, f.var);
        w->has[id] = true;
    }
    if (!vy_vec_push(&w->frames, f) || !vy_vec_push(&w->c->loops, l)) s->failed = true;
    push_item(w, ITEM_LOOP + f.loop, vy_poly_const(s, 1));
}

static vy_poly over_loop(walk *w, const frame *f, vy_poly body)
{
    const vy_loop_count *l = &w->c->loops.data[f->loop];
    vy_poly_space *s = &w->c->space;
    if (l->closed) return vy_poly_sum(s, body, f->var, l->from, l->to);
    return vy_poly_mul(s, body, vy_poly_of(s, f->var));
}

// Replaces the items of the innermost frame by one per class, and each loop's own, summed.
static void close_frame(walk *w)
{
    frame *f = &w->frames.data[w->frames.count - 1];
    vy_poly_space *s = &w->c->space;
    uint32_t kept = f->start, end = w->items.count;
    vy_poly *list = vy_arena_alloc(&s->arena, (end - f->start + 1) * sizeof *list);
    item sums[VY_COST_COUNT];
    uint32_t sum_count = 0;
    if (!list) s->failed = true;
    for (uint32_t k = 0; k < VY_COST_COUNT && list; k++) {
        uint32_t n = 0;
        for (uint32_t i = f->start; i < end; i++)
            if (w->items.data[i].class == k) list[n++] = w->items.data[i].amount;
        if (f->plain[k]) list[n++] = vy_poly_const(s, f->plain[k]);
        if (n) sums[sum_count++] = (item){k, over_loop(w, f, vy_poly_total(s, list, n))};
    }
    for (uint32_t i = f->start; i < end; i++) {
        item t = w->items.data[i];
        if (t.class < ITEM_LOOP) continue;
        t.amount = over_loop(w, f, t.amount);
        w->items.data[kept++] = t;
    }
    w->items.count = kept;
    w->frames.count--;
    for (uint32_t i = 0; i < sum_count; i++) push_item(w, sums[i].class, sums[i].amount);
}

static bool walk_code(walk *w)
{
    vy_poly_space *s = &w->c->space;
    for (uint32_t id = 1; id < w->p->insts.count && !s->failed; id++) {
        const vy_inst *i = &w->p->insts.data[id];
        vy_op op = (vy_op)i->op;
        if (op == VY_OP_LOOP || op == VY_OP_WHILE)
            open_loop(w, id);
        else if (op == VY_OP_ENDLOOP)
            close_frame(w);
        else if (op == VY_OP_IF)
            w->c->conditional = true;
        else if (vy_op_infos[op].effect != VY_CTRL) {
            note_value(w, id);
            count_inst(w, i, w->frames.data[w->frames.count - 1].plain);
        }
    }
    return !s->failed;
}

// --------------------------------------------------------------------------------------- the whole
// Upper bounds of turns, for loops that are no polynomials.
static bool bound_trips(walk *w)
{
    const vy_program *p = w->p;
    const vy_sizes *z = w->sizes;
    vy_arena *arena = &w->c->space.arena;
    int64_t *values = vy_arena_alloc(arena, (p->dims.count + 1) * sizeof *values);
    bool *known = vy_arena_alloc(arena, p->dims.count + 1);
    bool *none = vy_arena_alloc(arena, p->scalars.count + 1);
    w->trips = vy_arena_alloc(arena, (p->insts.count + 1) * sizeof *w->trips);
    if (!values || !known || !none || !w->trips) return false;
    for (uint32_t i = 1; i < p->dims.count; i++) {
        double v;
        bool atmost = false;
        known[i] = vy_poly_value(&w->c->space, w->c->dims[i], &v, &atmost) && v < 9e15 && v > -9e15;
        values[i] = known[i] ? (int64_t)v : 0;
    }
    bool any = z->scalars && z->known;
    return vy_loop_trips(p, any ? z->scalars : values, any ? z->known : none, values, known,
                         w->trips);
}

static void finish(walk *w)
{
    vy_count *c = w->c;
    vy_poly_space *s = &c->space;
    const vy_program *p = w->p;
    vy_poly none = {0}, runs = vy_poly_const(s, 1);
    if (!p->overs.count)
        runs = named(s, "invocations", w->sizes->invocations != 0, (double)w->sizes->invocations);
    for (uint32_t i = 0; i < w->items.count; i++) {
        item t = w->items.data[i];
        vy_poly all = p->overs.count ? t.amount : vy_poly_mul(s, t.amount, runs);
        for (uint32_t k = p->overs.count; k-- > 0;)
            all = vy_poly_sum(s, all, c->over[k], none, c->dims[p->overs.data[k].extent.id]);
        if (t.class < ITEM_LOOP) {
            c->each[t.class] = vy_poly_add(s, c->each[t.class], t.amount);
            c->all[t.class] = vy_poly_add(s, c->all[t.class], all);
        } else {
            c->loops.data[t.class - ITEM_LOOP].each = t.amount;
            c->loops.data[t.class - ITEM_LOOP].all = all;
        }
    }
    for (uint32_t k = 0; k < p->overs.count; k++)
        runs = vy_poly_mul(s, runs, c->dims[p->overs.data[k].extent.id]);
    c->invocations = runs;
}

// Domain variables; programs of one domain share them.
static bool make_domain(vy_count *c, const vy_program *p)
{
    if (c->over && c->over_count == p->overs.count) return true;
    c->over_count = p->overs.count;
    c->over = vy_arena_alloc(&c->space.arena, (p->overs.count + 1) * sizeof *c->over);
    for (uint32_t k = 0; k < p->overs.count && c->over; k++)
        c->over[k] = vy_poly_bound(&c->space, p->overs.data[k].name);
    return c->over && !c->space.failed;
}

static const vy_sizes unknown_sizes = {0};

bool vy_count_add(vy_count *c, const vy_program *p, const vy_sizes *sizes)
{
    walk w = {.c = c, .p = p, .sizes = sizes ? sizes : &unknown_sizes};
    vy_poly_space *s = &c->space;
    w.value = vy_arena_alloc(&s->arena, (p->insts.count + 1) * sizeof *w.value);
    w.has = vy_arena_alloc(&s->arena, p->insts.count + 1);
    // The outermost frame is the program itself: a loop with one turn.
    vy_loop_count whole = {.program = p, .closed = true, .to = vy_poly_const(s, 1)};
    frame outermost = {.loop = c->loops.count, .var = vy_poly_bound(s, "")};
    c->dims = make_dims(&w);
    bool ok = w.value && w.has && !s->failed && make_domain(c, p) &&
              vy_vec_push(&w.frames, outermost) && vy_vec_push(&c->loops, whole) &&
              bound_trips(&w) && walk_code(&w);
    if (ok) {
        close_frame(&w);
        finish(&w);
    }
    vy_vec_free(&w.items);
    vy_vec_free(&w.frames);
    return ok && !s->failed;
}

bool vy_count_make(vy_count *c, const vy_program *p, const vy_sizes *sizes)
{
    *c = (vy_count){0};
    return vy_count_add(c, p, sizes);
}

vy_poly *vy_count_dims(vy_count *c, const vy_program *p, const vy_sizes *sizes)
{
    walk w = {.c = c, .p = p, .sizes = sizes ? sizes : &unknown_sizes};
    return make_dims(&w);
}

void vy_count_free(vy_count *c)
{
    vy_vec_free(&c->loops);
    vy_poly_free(&c->space);
}

vy_amount vy_count_amount(vy_count *c, vy_poly x)
{
    vy_amount a = {.text = vy_poly_text(&c->space, x)};
    double value;
    if (c->space.overflow) return (vy_amount){.text = "?"};
    a.known = vy_poly_value(&c->space, x, &value, &a.atmost) && value < 1e18;
    if (a.known) a.value = value > 0 ? (uint64_t)value : 0;
    return a;
}

vy_poly vy_count_extent(vy_count *c, const vy_poly *dims, const vy_buf *b, uint32_t first,
                        uint32_t last)
{
    vy_poly product = vy_poly_const(&c->space, 1);
    for (uint32_t k = first; k < last; k++)
        product = vy_poly_mul(&c->space, product, dims[b->dims[k].id]);
    return product;
}
