// SPDX-License-Identifier: MIT
// pipe_steps.c: how often the steps of a pipeline run, and what memory they need, as polynomials.
//
//   buffer u: f32[2, N];           1 fill, 8·N bytes
//   repeat t in 0..T {
//       copy(u[0], tape[t]);       T copies: the program does nothing else
//       step(u[0], k, u[1]);       T dispatches, which clear their outputs and workspaces
//   }
//
// The walk is that of count.c: what is in a repeat is summed over its counter when it ends.  A
// repeat whose bounds are not polynomials in the counters around it has a variable,
// `iterations(t@12)`.  A @workspace counts once for all dispatches of its program with the same
// scalars, which share it (spirv/plan/plan_dispatch.c).
#include "autodiff/explain/explain_pipe.h"

#include "ir/core/flow.h"
#include "ir/core/pipe.h"
#include "ir/text/print.h"

#include <stdio.h>
#include <string.h>

typedef struct block { // a repeat that is open
    uint32_t step;     // + 1
    vy_poly outside[VY_PIPE_WORK_COUNT];
} block;
VY_VEC_TYPE(block_vec, block);

typedef struct owner { // of workspaces: a program dispatched with these scalars
    const vy_program *p;
    const vy_poly *scalars;
} owner;
VY_VEC_TYPE(owner_vec, owner);

typedef struct walk {
    pipe_count *n;
    explaining *x;
    uint8_t *cleared; // by buffer of the signature
    uint8_t *kinds;   // by program of the module: vy_pipe_work
    uint8_t *varies;  // by dimension: depends on a counter, other than as a polynomial
    uint32_t at;      // number of the step + 1
    block_vec open;
    owner_vec owners;
} walk;

static vy_poly_space *space(const walk *w) { return &w->n->c->space; }

static void add(walk *w, vy_pipe_work kind)
{
    w->n->work[kind] = vy_poly_add(space(w), w->n->work[kind], vy_poly_const(space(w), 1));
    w->n->each[w->at][kind]++;
}

// ------------------------------------------------------------------------------- what programs do
static bool stores_loaded(const vy_program *p, uint32_t store, uint32_t load)
{
    const uint32_t rank = p->buffers.data[p->insts.data[store].aux].rank;
    bool same = load && rank == p->buffers.data[p->insts.data[load].aux].rank &&
                vy_arg(p, store, rank) == load;
    for (uint32_t k = 0; same && k < rank; k++) same = vy_arg(p, store, k) == vy_arg(p, load, k);
    return same;
}

// y[i] = x[i] and y[i] = 0, for all elements of the domain, are a copy and a fill.
static vy_pipe_work kind_of(const vy_program *p)
{
    uint32_t load = 0, store = 0, loads = 0, stores = 0;
    for (uint32_t id = 1; id < p->insts.count; id++) {
        const vy_op op = (vy_op)p->insts.data[id].op;
        if (op == VY_OP_LOAD) load = id, loads++;
        if (op == VY_OP_STORE) store = id, stores++;
        if (op != VY_OP_LOAD && op != VY_OP_STORE && op != VY_OP_LOOP && op != VY_OP_ENDLOOP)
            return VY_PIPE_COMPUTES;
    }
    if (stores != 1) return VY_PIPE_COMPUTES;
    if (loads == 1 && stores_loaded(p, store, load)) return VY_PIPE_COPIES;
    const uint32_t rank = p->buffers.data[p->insts.data[store].aux].rank;
    return !loads && vy_id_const(p, vy_arg(p, store, rank)) ? VY_PIPE_FILLS : VY_PIPE_COMPUTES;
}

// ------------------------------------------------------------------------------------- workspaces
static void add_space(walk *w, const char *name, const vy_program *p, uint32_t buffer,
                      const vy_poly *dims)
{
    const vy_buf *b = &p->buffers.data[buffer];
    const vy_poly extent = vy_count_extent(w->n->c, dims, b, 0, b->rank);
    const vy_poly bytes = vy_poly_scale(space(w), extent, vy_type_size(b->type), 1);
    const pipe_space s = {name, p, buffer, bytes};
    w->n->bytes = vy_poly_add(space(w), w->n->bytes, bytes);
    if (!vy_vec_push(&w->n->spaces, s)) w->x->failed = true;
}

static void add_intermediates(walk *w)
{
    const vy_program *p = w->n->l->signature;
    for (uint32_t i = 1; i < p->buffers.count; i++)
        if (p->buffers.data[i].workspace) add_space(w, p->buffers.data[i].name, p, i, w->n->dims);
}

static bool has_workspace(const vy_program *p)
{
    for (uint32_t i = 1; i < p->buffers.count; i++)
        if (p->buffers.data[i].workspace) return true;
    return false;
}

static const vy_poly *scalars_of(walk *w, const vy_program *p, const vy_pipe_step *s)
{
    vy_poly *list = vy_explain_array(w->x, p->scalars.count + 1, sizeof *list);
    for (uint32_t i = 0; list && i < p->scalars.count; i++) {
        char text[80];
        snprintf(text, sizeof text, "scalar %u of line %u", i, s->line); // no extent has floats
        list[i] = s->scalars[i].kind == VY_PIPE_DIM
                      ? w->n->dims[s->scalars[i].dim.id]
                      : vy_poly_of(space(w), vy_poly_name(space(w), text));
    }
    return list;
}

static bool is_shared(walk *w, const vy_program *p, const vy_poly *scalars)
{
    for (uint32_t i = 0; i < w->owners.count; i++) {
        const owner *o = &w->owners.data[i];
        bool same = o->p == p;
        for (uint32_t k = 0; same && k < p->scalars.count; k++)
            same = vy_poly_sub(space(w), scalars[k], o->scalars[k]).count == 0;
        if (same) return true;
    }
    return false;
}

static void add_owned(walk *w, const vy_program *p, const vy_pipe_step *s)
{
    vy_count *c = w->n->c;
    const vy_poly *scalars = has_workspace(p) ? scalars_of(w, p, s) : NULL;
    char text[320];
    if (!scalars || is_shared(w, p, scalars)) return;
    c->scalars = scalars;
    const vy_poly *dims = vy_count_dims(c, p, NULL);
    c->scalars = NULL;
    if (!dims || !vy_vec_push(&w->owners, ((owner){p, scalars}))) {
        w->x->failed = true;
        return;
    }
    for (uint32_t i = 1; i < p->buffers.count; i++) {
        if (!p->buffers.data[i].workspace) continue;
        snprintf(text, sizeof text, "%.150s.%.150s", p->name, p->buffers.data[i].name);
        add_space(w, vy_explain_text(w->x, text), p, i, dims);
    }
}

// ------------------------------------------------------------------------------------------ steps
static void begin_buffer(walk *w, const vy_buf *b, bool clear)
{
    if (b->init == VY_INIT_COPY)
        add(w, VY_PIPE_COPIES);
    else if (b->init == VY_INIT_ONES || clear)
        add(w, VY_PIPE_FILLS);
}

static void dispatch(walk *w, const vy_pipe_step *s)
{
    const vy_program *p = w->n->l->module->programs.data[s->program];
    for (uint32_t i = 1; i < p->buffers.count; i++) {
        const vy_buf *b = &p->buffers.data[i];
        if (vy_is_global(b->cls)) begin_buffer(w, b, false);
    }
    add(w, (vy_pipe_work)w->kinds[s->program]);
    add_owned(w, p, s);
}

static void open_repeat(walk *w, uint32_t step)
{
    block b = {.step = step + 1};
    memcpy(b.outside, w->n->work, sizeof b.outside);
    memset(w->n->work, 0, sizeof w->n->work);
    if (!vy_vec_push(&w->open, b)) w->x->failed = true;
}

// How often a repeat runs, if its bounds depend on counters around it other than as polynomials,
// or it is a `while`.
static vy_poly iterations(walk *w, const vy_pipe_step *s)
{
    char text[160];
    snprintf(text, sizeof text, "iterations(%.100s@%u)", s->counter, s->line);
    return vy_poly_of(space(w), vy_poly_name(space(w), text));
}

static bool contains(vy_poly x, uint32_t var)
{
    for (uint32_t i = 0; i < x.count; i++)
        for (uint32_t k = 0; k < x.terms[i].count; k++)
            if (x.terms[i].factors[k].var == var) return true;
    return false;
}

// The steps inside of a repeat.  They get one name where they depend on the counter, which is no
// longer known behind the repeat, and in deep nests with such bounds (checkpoint(revolve, k)),
// which would have unreadable formulas.
static vy_poly inside(walk *w, int kind, bool odd, uint32_t counter, const vy_pipe_step *s)
{
    enum { MOST_TERMS = 6 };
    static const char *const names[VY_PIPE_WORK_COUNT] = {"dispatches", "copies", "fills",
                                                          "values"};
    const vy_poly each = w->n->work[kind];
    char text[160];
    if (!odd || (each.count <= MOST_TERMS && !contains(each, counter))) return each;
    snprintf(text, sizeof text, "%s(%.100s@%u)", names[kind], s->counter, s->line);
    return vy_poly_of(space(w), vy_poly_name(space(w), text));
}

static void close_repeat(walk *w)
{
    const block *b = &w->open.data[--w->open.count];
    const vy_pipe_step *s = &w->n->l->steps.data[b->step - 1];
    const bool odd = s->test || w->varies[s->from.id] || w->varies[s->to.id];
    const vy_poly from = w->n->dims[s->from.id], to = w->n->dims[s->to.id];
    const uint32_t counter = vy_poly_name(space(w), w->n->c->steps[b->step - 1]);
    for (int k = 0; k < VY_PIPE_WORK_COUNT; k++) {
        const vy_poly each = inside(w, k, odd, counter, s);
        const vy_poly all = odd ? vy_poly_mul(space(w), each, iterations(w, s))
                                : vy_poly_sum(space(w), each, counter, from, to);
        w->n->work[k] = vy_poly_add(space(w), b->outside[k], all);
    }
}

static void walk_steps(walk *w)
{
    const vy_pipeline *l = w->n->l;
    const vy_buf *buffers = l->signature->buffers.data;
    for (uint32_t i = 1; i < l->signature->buffers.count; i++)
        if (!buffers[i].workspace) begin_buffer(w, &buffers[i], false);
    for (uint32_t i = 0; i < l->steps.count && !w->x->failed; i++) {
        const vy_pipe_step *s = &l->steps.data[i];
        w->at = i + 1;
        switch (s->kind) {
        case VY_PIPE_BUFFER:
            begin_buffer(w, &buffers[s->buffer.id], w->cleared[s->buffer.id]);
            break;
        case VY_PIPE_DISPATCH: dispatch(w, s); break;
        case VY_PIPE_VALUE: add(w, VY_PIPE_READS); break;
        case VY_PIPE_REPEAT: open_repeat(w, i); break;
        case VY_PIPE_TEST:
        case VY_PIPE_CHECKPOINT: break;
        case VY_PIPE_END:
            if (l->steps.data[s->partner].kind == VY_PIPE_REPEAT) close_repeat(w);
            break;
        }
    }
}

// ----------------------------------------------------------------------------------------- tables
// `value(n[0])`, as the text of the pipeline has it.
static const char *name_value(walk *w, const vy_pipe_step *s)
{
    printer o = {.p = w->n->l->signature, .pipeline = w->n->l};
    print_step_element(&o, s, 0);
    const char *text =
        o.failed ? NULL : vy_arena_strdup(&w->x->memory->arena, o.out.data, o.out.count);
    vy_vec_free(&o.out);
    if (!text) w->x->failed = true;
    return text;
}

// What formulas call the results of steps; counters, which they do not show, are step3.
static void name_steps(walk *w)
{
    const vy_pipe_step_vec *steps = &w->n->l->steps;
    const char **names = vy_explain_array(w->x, steps->count + 1, sizeof *names);
    char text[40];
    for (uint32_t i = 0; names && i < steps->count; i++) {
        const vy_pipe_step *s = &steps->data[i];
        snprintf(text, sizeof text, "step%u", i);
        if (s->kind == VY_PIPE_VALUE) names[i] = name_value(w, s);
        if (s->kind == VY_PIPE_REPEAT) names[i] = vy_explain_text(w->x, text);
    }
    w->n->c->steps = names;
}

static bool is_counter(const vy_pipeline *l, const vy_dim_node *d)
{
    return d->op == VY_DIM_STEP && l->steps.data[d->value].kind == VY_PIPE_REPEAT;
}

// By step: is it inside a repeat?
static uint8_t *find_repeated(walk *w)
{
    const vy_pipe_step_vec *steps = &w->n->l->steps;
    uint8_t *repeated = vy_explain_array(w->x, steps->count + 1, 1);
    for (uint32_t i = 0, open = 0; repeated && i < steps->count; i++) {
        const vy_pipe_step *s = &steps->data[i];
        if (s->kind == VY_PIPE_END && steps->data[s->partner].kind == VY_PIPE_REPEAT) open--;
        repeated[i] = open != 0;
        if (s->kind == VY_PIPE_REPEAT) open++;
    }
    return repeated;
}

static void find_varying(walk *w)
{
    const vy_program *p = w->n->l->signature;
    uint8_t *uses = vy_explain_array(w->x, p->dims.count + 1, 1); // any counter, in any way
    const uint8_t *repeated = find_repeated(w);
    w->varies = vy_explain_array(w->x, p->dims.count + 1, 1);
    for (uint32_t i = 1; uses && w->varies && i < p->dims.count; i++) {
        const vy_dim_node *d = &p->dims.data[i];
        uses[i] = d->op < VY_DIM_ADD ? is_counter(w->n->l, d) : uses[d->a] || uses[d->b];
        // A value that is read in each iteration is no polynomial in the counter.
        if (d->op == VY_DIM_STEP && !uses[i] && repeated)
            uses[i] = w->varies[i] = repeated[d->value];
        if (d->op < VY_DIM_ADD) continue;
        w->varies[i] = d->op > VY_DIM_MUL ? uses[i] : w->varies[d->a] || w->varies[d->b];
    }
}

static void find_kinds(walk *w)
{
    const vy_program_vec *programs = &w->n->l->module->programs;
    w->kinds = vy_explain_array(w->x, programs->count + 1, 1);
    for (uint32_t i = 0; w->kinds && i < programs->count; i++)
        w->kinds[i] = (uint8_t)kind_of(programs->data[i]);
}

bool vy_pipe_count(explaining *x, const vy_sizes *sizes, pipe_count *n)
{
    walk w = {.n = n, .x = x};
    w.cleared = vy_explain_array(x, n->l->signature->buffers.count, 1);
    n->each = vy_explain_array(x, n->l->steps.count + 1, sizeof *n->each);
    name_steps(&w);
    find_varying(&w);
    find_kinds(&w);
    if (!x->failed && !vy_pipe_cleared(n->l, &x->memory->arena, w.cleared)) x->failed = true;
    n->dims = x->failed ? NULL : vy_count_dims(n->c, n->l->signature, sizes);
    if (n->dims) {
        add_intermediates(&w);
        walk_steps(&w);
    }
    vy_vec_free(&w.open);
    vy_vec_free(&w.owners);
    x->failed |= !n->dims || n->c->space.failed;
    return !x->failed;
}
