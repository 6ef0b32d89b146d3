// SPDX-License-Identifier: MIT
// count.c: numbers of operations and of iterations as polynomials.
//
//   for i in 0..n {        each iteration of i: 1 add, and i iterations of j with 1 mul each
//     for j in 0..i { p *= x[j]; }                →  mul: Σ_{i<n} i = n²/2 − n/2,  load: the same
//     s += p;                                     →  add: n
//   }
//
// One walk: what is in a loop is collected in a list and, at the loop's end, summed over its
// variable.  Bounds are polynomials in parameters and the variables of enclosing loops; a loop
// whose bounds are not (data, `while`) gets a variable `iterations(k@12)`, with an upper bound of
// its value where interval analysis finds one (trip_estimate.c).  Each loop costs time proportional
// to its depth, so the walk is near-linear.
#include "ir/facts/count_values.h"
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
    uint32_t var;  // the loop's bound variable, or the variable of its iterations
    uint32_t start;
    int64_t plain[VY_COST_COUNT]; // straight-line operations so far
} frame;
VY_VEC_TYPE(frame_vec, frame);

typedef struct walk {
    vy_count *c;
    const vy_program *p;
    vy_count_values v; // of integers
    int64_t *trips;    // by opener: upper bounds of trip counts; −1: none
    item_vec items;
    frame_vec frames;
} walk;

// -------------------------------------------------------------------------------------- operations
// On memory that its invocation owns, an atomic counts as a load, an addition and a store.
static void count_atomic(const vy_program *p, const vy_inst *i, int64_t *plain)
{
    const bool owned = i->flags & VY_FLAG_OWNED, once = i->flags & VY_FLAG_ONCE;
    const vy_type element = p->buffers.data[i->aux].type;
    plain[VY_COST_ATOMIC] += !owned;
    plain[VY_COST_LOAD] += owned && !once;
    plain[VY_COST_STORE] += owned;
    plain[VY_COST_ADD] += i->op == VY_OP_ATOMIC_ADD && vy_type_is_float(element) && !once;
}

static void count_inst(const walk *w, const vy_inst *i, int64_t *plain)
{
    const bool real = vy_type_is_float((vy_type)i->type);
    const vy_buf *b = vy_op_is_memory((vy_op)i->op) ? &w->p->buffers.data[i->aux] : NULL;
    switch (vy_op_infos[i->op].work) {
    case VY_WORK_ADD: plain[VY_COST_ADD] += real; break;
    case VY_WORK_MUL: plain[VY_COST_MUL] += real; break;
    case VY_WORK_FMA: plain[VY_COST_ADD]++, plain[VY_COST_MUL]++; break;
    case VY_WORK_DIV: plain[VY_COST_DIV] += real; break;
    case VY_WORK_ROOT:
    case VY_WORK_MATH: plain[VY_COST_MATH]++; break;
    case VY_WORK_LOAD: plain[VY_COST_LOAD] += vy_is_global(b->cls); break;
    case VY_WORK_STORE: plain[VY_COST_STORE] += vy_is_global(b->cls); break;
    case VY_WORK_ATOMIC: count_atomic(w->p, i, plain); break;
    default: break;
    }
}

// ------------------------------------------------------------------------------------------- loops
static void push_item(walk *w, uint32_t class, vy_poly amount)
{
    if (!vy_vec_push(&w->items, ((item){class, amount}))) w->c->space.failed = true;
}

// The variable of a loop whose trip count is not a polynomial.
static uint32_t iterations_variable(walk *w, uint32_t opener)
{
    const vy_inst *i = &w->p->insts.data[opener];
    const char *name = vy_string(&w->p->module->names, i->name);
    vy_poly_space *s = &w->c->space;
    char text[160];
    snprintf(text, sizeof text, "iterations(%.100s@%u)", name, i->line);
    uint32_t var = vy_poly_name(s, text);
    int64_t most = w->trips[opener];
    if (s->failed) return 0;
    vy_poly_var *v = &s->vars.data[var]; // shared by loops of one line
    bool first = !v->atmost;
    v->known = most >= 0 && (first || v->known);
    v->atmost = true;
    if (first || v->value < (double)most) v->value = (double)most;
    return var;
}

// The bounds of a loop, if its trip count is a polynomial.
static void find_bounds(walk *w, uint32_t id, vy_loop_count *l)
{
    vy_poly_space *s = &w->c->space;
    const vy_scalar *step = vy_id_const(w->p, vy_arg(w->p, id, 2));
    int64_t a, b;
    if (!step || step->i < 1 || !vy_count_value(&w->v, vy_arg(w->p, id, 0), &l->from) ||
        !vy_count_value(&w->v, vy_arg(w->p, id, 1), &l->to))
        return;
    if (vy_poly_is_const(l->from, &a) && vy_poly_is_const(l->to, &b) && b < a) l->to = l->from;
    l->closed = l->unit = step->i == 1;
    if (l->unit) return;
    // ⌈(to − from)/step⌉ iterations; the loop's variable itself is not expressed.
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
                     : iterations_variable(w, id);
    if (l.unit) {
        w->v.value[id] = vy_poly_of(s, f.var);
        w->v.has[id] = true;
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

// Closes the innermost frame: sums its items over its loop, those of one class into one item, and
// those of inner loops one by one.
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
        if (vy_is_loop(op))
            open_loop(w, id);
        else if (op == VY_OP_ENDLOOP)
            close_frame(w);
        else if (op == VY_OP_IF)
            w->c->conditional = true;
        else if (vy_op_infos[op].effect != VY_CTRL) {
            vy_count_note(&w->v, id);
            count_inst(w, i, w->frames.data[w->frames.count - 1].plain);
        }
    }
    return !s->failed;
}

// ------------------------------------------------------------------------------ the entire program
// Upper bounds of trip counts, for loops where they are not polynomials.
static bool bound_trips(walk *w)
{
    const vy_program *p = w->p;
    const vy_sizes *z = w->v.sizes;
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
        runs = vy_count_named(s, "invocations", w->v.sizes->invocations != 0,
                              (double)w->v.sizes->invocations);
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

bool vy_count_add(vy_count *c, const vy_program *p, const vy_sizes *sizes)
{
    walk w = {.c = c, .p = p};
    vy_poly_space *s = &c->space;
    // The outermost frame is the program, as a loop with one iteration.
    vy_loop_count whole = {.program = p, .closed = true, .to = vy_poly_const(s, 1)};
    frame outermost = {.loop = c->loops.count, .var = vy_poly_bound(s, "")};
    bool ok = vy_count_values_make(&w.v, c, p, sizes) && make_domain(c, p) &&
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

void vy_count_free(vy_count *c)
{
    vy_vec_free(&c->loops);
    vy_poly_free(&c->space);
}

vy_amount vy_count_amount(vy_count *c, vy_poly x)
{
    vy_amount a = {.text = vy_poly_text(&c->space, x)};
    double value;
    if (vy_poly_is_beyond(&c->space, x)) a.text = "?";
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
