// SPDX-License-Identifier: MIT
// ordered_partials.c: small buffers to which all invocations add: each stores its term, and further
// programs add the terms up.
//
//   f_sums:  over(i: N)          … for k in 0..D { terms_g[k, i] = v; }
//   f_parts_g:                   parts_g[k, b] = Σ terms_g[k, j]  over j = b, b + B, b + 2B …
//   f_total_g:                   g[k] = Σ parts_g[k, b]           over b
//
// Parameters, biases, scalars: all invocations add to the same elements, so all would contend for
// one accumulator.  A term each costs a store and a load; nothing of the program runs twice.
// The order of additions depends on the size of the domain alone: an invocation adds what it has
// for an element in program order, parts are every B-th term, so that neighbours read neighbouring
// ones, and B makes parts of 256 terms, of √n where there are more than 65,536 of them.
//
// Suits a buffer if all places that add to it do so at indices that are the same in all
// invocations: constants, scalars, and what depends on loops alone.  (Each invocation has its own
// terms for all elements, so the others could have any index; that was slower than accumulators.)
// Axes on which no index ever changes are omitted.  There are as many terms as elements times
// invocations, too much for large buffers; how many is known only with the sizes, so callers with a
// limit request accumulators instead when they hit it (`lean`).
//
// Sums of f16 are terms of f32, rounded once.
#include "autodiff/deterministic/ordering.h"
#include "ir/build/build.h"
#include "ir/check/uniform.h"
#include "ir/facts/addition.h"

#include <string.h>

enum {
    PART = 256,  // terms of a part, at least
    SMALL = 256, // elements of a small axis of constant length, at most
};

// --------------------------------------------------------------------------------------- choosing
typedef struct choosing {
    vy_ordering *o;
    const uint32_t *differs;
    uint8_t *loops;  // by instruction: depends on a loop
    uint32_t *sites; // by buffer: how many, and
    uint32_t *site;  // … one of them
} choosing;

static bool by_loops(const choosing *c, uint32_t id) { return !VY_IS_LEAF(id) && c->loops[id]; }

static void find_loops(choosing *c)
{
    const vy_program *p = c->o->w.p;
    for (uint32_t id = 1; id < p->insts.count; id++) {
        vy_op op = (vy_op)p->insts.data[id].op;
        c->loops[id] = vy_is_loop(op) || op == VY_OP_CARRY || op == VY_OP_RESULT;
        for (uint32_t k = 0; k < p->insts.data[id].nargs; k++)
            c->loops[id] |= by_loops(c, vy_arg(p, id, k));
    }
}

// Can dimension `d` of the domain be computed in the program (without overflow: it fits u32)?
static bool computes(const vy_program *p, uint32_t d)
{
    const vy_dim_node *n = &p->dims.data[d];
    switch (n->op) {
    case VY_DIM_CONST: return true;
    case VY_DIM_SCALAR: return vy_type_size(p->scalars.data[n->value].type) == 4;
    case VY_DIM_ADD:
    case VY_DIM_SUB:
    case VY_DIM_MUL: return computes(p, n->a) && computes(p, n->b);
    default: return false;
    }
}

static bool domain_suits(const vy_program *p)
{
    for (uint32_t k = 1; k < p->overs.count; k++)
        if (!computes(p, p->overs.data[k].extent.id)) return false;
    return p->overs.count > 0;
}

// With this index at a site, may the terms have axis k of the buffer, or omit it if it is fixed?
static bool axis_suits(const choosing *c, uint32_t buffer, uint32_t k, uint32_t index)
{
    const vy_program *p = c->o->w.p;
    if (VY_IS_LEAF(index) ? vy_leaf_differs(p, index) : c->differs[index] != 0) return false;
    if (c->o->partials[buffer].fixed[k]) return true;
    const vy_dim_node *d = &p->dims.data[p->buffers.data[buffer].dims[k].id];
    if (d->op == VY_DIM_UNKNOWN) return false; // it has one dimension, and the terms had two
    if (by_loops(c, index)) return true;
    return d->op == VY_DIM_CONST && d->value <= SMALL;
}

// Leaves that are known where the totals are made.
static bool can_fix(const vy_program *p, uint32_t index)
{
    if (!VY_IS_LEAF(index)) return false;
    vy_leaf_kind kind = (vy_leaf_kind)p->leaves.data[VY_LEAF_INDEX(index)].kind;
    return kind == VY_LEAF_CONST || kind == VY_LEAF_SCALAR;
}

static void note_fixed(choosing *c, uint32_t site)
{
    const vy_inst *i = &c->o->w.p->insts.data[site];
    uint32_t *fixed = c->o->partials[i->aux].fixed;
    bool first = c->sites[i->aux]++ == 0;
    c->site[i->aux] = site;
    for (uint32_t k = 0; k + 1 < i->nargs; k++) {
        uint32_t index = vy_arg(c->o->w.p, site, k);
        if (first)
            fixed[k] = can_fix(c->o->w.p, index) ? index : 0;
        else if (fixed[k] != index)
            fixed[k] = 0;
    }
}

static bool site_suits(const choosing *c, uint32_t site)
{
    const vy_inst *i = &c->o->w.p->insts.data[site];
    for (uint32_t k = 0; k + 1 < i->nargs; k++)
        if (!axis_suits(c, i->aux, k, vy_arg(c->o->w.p, site, k))) return false;
    return true;
}

static bool is_site(const vy_program *p, uint32_t id)
{
    return vy_adds_floats(p, id) && vy_strength_of(p, id) == VY_STRENGTH_ATOMIC;
}

// The axes of the terms of buffer `id`, the last one left to the caller.  Their number without it.
static uint32_t axes_of(const vy_ordering *o, uint32_t id, vy_dim *dims)
{
    const vy_buf *of = &o->w.p->buffers.data[id];
    uint32_t n = 0;
    for (uint32_t k = 0; k < of->rank; k++)
        if (!o->partials[id].fixed[k]) dims[n++] = of->dims[k];
    return n;
}

// Is there a dimension left for the invocations?
static bool rank_suits(const vy_ordering *o, uint32_t id)
{
    vy_dim dims[VY_MAX_RANK];
    return axes_of(o, id, dims) < VY_MAX_RANK;
}

bool vy_partial_choose(vy_ordering *o)
{
    const vy_program *p = o->w.p;
    choosing c = {.o = o};
    if (o->lean || !domain_suits(p)) return true;
    c.loops = vy_arena_alloc(&o->w.arena, p->insts.count);
    c.sites = vy_arena_alloc(&o->w.arena, p->buffers.count * sizeof *c.sites);
    c.site = vy_arena_alloc(&o->w.arena, p->buffers.count * sizeof *c.site);
    if (!c.loops || !c.sites || !c.site) return false;
    c.differs = vy_differences(p, &o->w.s, NULL, &o->w.arena);
    if (!c.differs) return false;
    find_loops(&c);
    for (uint32_t id = 1; id < p->insts.count; id++)
        if (is_site(p, id)) note_fixed(&c, id);
    for (uint32_t i = 1; i < p->buffers.count; i++)
        o->partials[i].on = o->use[i] == VY_USE_ADDED && p->buffers.data[i].cls != VY_SHARED;
    for (uint32_t id = 1; id < p->insts.count; id++)
        if (is_site(p, id)) o->partials[p->insts.data[id].aux].on &= site_suits(&c, id);
    for (uint32_t i = 1; i < p->buffers.count; i++) {
        bool iterations;
        o->partials[i].on = o->partials[i].on && rank_suits(o, i);
        o->partials[i].once = o->partials[i].on && c.sites[i] == 1 &&
                              vy_reached_once(p, &o->w.s, c.site[i], &iterations);
    }
    return true;
}

// -------------------------------------------------------------------------------------- the terms
static vy_type type_of_terms(vy_type t) { return t == VY_F16 ? VY_F32 : t; }

static vy_dim times(vy_builder *b, vy_dim x, vy_dim y)
{
    const vy_program *p = vy_builder_program(b);
    const vy_dim_node *n = &p->dims.data[x.id];
    if (n->op == VY_DIM_CONST && n->value == 1) return y;
    return vy_dim_binary(b, VY_DIM_MUL, x, y);
}

// `b` has the dimensions of `of`.
static vy_dim invocations(vy_builder *b, const vy_program *of)
{
    vy_dim all = vy_dim_const(b, 1);
    for (uint32_t k = 0; k < of->overs.count; k++)
        all = times(b, all, vy_dim_natural(b, of->overs.data[k].extent));
    return all;
}

static vy_buffer declare_partials(const vy_ordering *o, vy_builder *b, vy_buffer_class cls,
                                  uint32_t id, const char *name, vy_dim last)
{
    vy_dim dims[VY_MAX_RANK + 1];
    uint32_t n = axes_of(o, id, dims);
    dims[n] = last;
    vy_type t = type_of_terms(o->w.p->buffers.data[id].type);
    vy_buffer made = vy_param_buffer(b, name, cls, t, n + 1, dims);
    if (cls == VY_INOUT) vy_buffer_workspace(b, made);
    return made;
}

void vy_partial_declare(vy_ordering *o, uint32_t id)
{
    char text[320];
    const char *of = o->w.p->buffers.data[id].name;
    const char *name = vy_free_name(vy_builder_program(o->w.b), "terms", of, text);
    o->partials[id].terms =
        declare_partials(o, o->w.b, VY_INOUT, id, name, invocations(o->w.b, o->w.p));
}

static vy_value u32(vy_builder *b, uint32_t v) { return vy_int(b, VY_U32, v); }

static vy_value dim_value(vy_builder *b, uint32_t d)
{
    const vy_dim_node n = vy_builder_program(b)->dims.data[d];
    if (n.op == VY_DIM_CONST) return vy_int(b, VY_U32, n.value);
    if (n.op == VY_DIM_SCALAR) {
        vy_type t = vy_builder_program(b)->scalars.data[n.value].type;
        return vy_cast(b, VY_U32,
                       (vy_value){vy_leaf_other(b, VY_LEAF_SCALAR, t, (uint32_t)n.value, 0)});
    }
    vy_value x = dim_value(b, n.a), y = dim_value(b, n.b);
    return n.op == VY_DIM_ADD   ? vy_add(b, x, y)
           : n.op == VY_DIM_SUB ? vy_sub(b, x, y)
                                : vy_mul(b, x, y);
}

// Number of the invocation, row-major.
static vy_value invocation(vy_builder *b)
{
    vy_value at = {vy_leaf_other(b, VY_LEAF_OVER, VY_U32, 0, 0)};
    for (uint32_t k = 1; k < vy_builder_program(b)->overs.count; k++) {
        vy_value n = dim_value(b, vy_builder_program(b)->overs.data[k].extent.id);
        vy_value own = {vy_leaf_other(b, VY_LEAF_OVER, VY_U32, k, 0)};
        at = vy_add(b, vy_mul(b, at, n), own);
    }
    return at;
}

void vy_partial_add(vy_ordering *o, uint32_t id, const vy_value *at, vy_value v)
{
    const vy_partial *q = &o->partials[id];
    vy_value place[VY_MAX_RANK + 1];
    uint32_t n = 0;
    for (uint32_t k = 0; k < o->w.p->buffers.data[id].rank; k++)
        if (!q->fixed[k]) place[n++] = at[k];
    place[n] = invocation(o->w.b);
    v = vy_cast(o->w.b, type_of_terms(o->w.p->buffers.data[id].type), v);
    if (!q->once) v = vy_add(o->w.b, vy_load(o->w.b, q->terms, place), v);
    vy_store(o->w.b, q->terms, place, v);
}

// -------------------------------------------------------------------------------------- the totals
static vy_dim elements(const vy_ordering *o, vy_builder *b, uint32_t id)
{
    vy_dim dims[VY_MAX_RANK + 1], all = vy_dim_const(b, 1);
    uint32_t n = axes_of(o, id, dims);
    for (uint32_t k = 0; k < n; k++) all = times(b, all, dims[k]);
    return all;
}

// ⌈n / max(256, √n)⌉
static vy_dim parts_of(vy_builder *b, vy_dim n)
{
    vy_dim root = vy_dim_binary(b, VY_DIM_SQRT, n, n);
    vy_dim each = vy_dim_binary(b, VY_DIM_MAX, vy_dim_const(b, PART), root);
    vy_dim less = vy_dim_binary(b, VY_DIM_SUB, each, vy_dim_const(b, 1));
    return vy_dim_binary(b, VY_DIM_DIV, vy_dim_binary(b, VY_DIM_ADD, n, less), each);
}

// Σ of buf[at…, j] over j = from, from + step … below `to`.
static vy_value add_up(vy_builder *b, vy_buffer buf, uint32_t n, vy_value *at, vy_value from,
                       vy_value to, vy_value step)
{
    vy_type t = vy_builder_program(b)->buffers.data[buf.id].type;
    vy_var sum = vy_var_new(b, "sum", vy_zero(b, t));
    at[n] = vy_for_step(b, "j", from, to, step, false);
    vy_value term = vy_load(b, buf, at);
    vy_set(b, sum, vy_add(b, vy_get(b, sum), term));
    vy_end(b);
    return vy_get(b, sum);
}

// The same as parameter `of` of another program.
static void take_link(vy_builder *b, vy_buffer buf, const vy_buf *of)
{
    if (!vy_builder_failed(b)) vy_builder_program(b)->buffers.data[buf.id].link = of->link;
}

// *parts: what the sums are in.
static vy_program *make_parts(vy_ordering *o, uint32_t id, const vy_buf *kept, vy_buf *parts)
{
    vy_builder *b = vy_total_begin(o, id, "parts");
    if (!b) return NULL;
    vy_dim dims[VY_MAX_RANK + 1], terms = invocations(b, o->w.p), count = parts_of(b, terms);
    uint32_t n = axes_of(o, id, dims);
    vy_buffer from = declare_partials(o, b, VY_IN, id, kept->name, terms);
    vy_buffer to = declare_partials(o, b, VY_INOUT, id, parts->name, count);
    take_link(b, from, kept);
    if (!vy_builder_failed(b)) parts->link = vy_builder_program(b)->buffers.data[to.id].link;
    vy_value at[VY_MAX_RANK + 1], e = vy_over(b, "e", times(b, elements(o, b, id), count));
    vy_value step = vy_len(b, to, n), part = n ? vy_rem(b, e, step) : e;
    if (n) vy_split_index(b, from, n, vy_div(b, e, step), at);
    vy_value sum = add_up(b, from, n, at, part, vy_len(b, from, n), step);
    at[n] = part;
    vy_store(b, to, at, sum);
    return vy_total_end(b);
}

// Are the indices in range that every addition has?  Perhaps there was none, so nothing has shown
// it, and the total is stored even so: without checks (`unchecked`), too, only if they are.
static vy_value fixed_in_range(const vy_ordering *o, vy_builder *b, uint32_t id)
{
    const uint32_t *fixed = o->partials[id].fixed;
    vy_value in = vy_bool(b, true);
    for (uint32_t a = 0; a < o->w.p->buffers.data[id].rank; a++)
        if (fixed[a])
            in = vy_and_in_range(b, in, (vy_value){fixed[a]}, vy_len(b, (vy_buffer){id}, a));
    return in;
}

static vy_program *make_total(vy_ordering *o, uint32_t id, const vy_buf *parts)
{
    vy_builder *b = vy_total_begin(o, id, "total");
    if (!b) return NULL;
    const vy_partial *q = &o->partials[id];
    const vy_buf of = o->w.p->buffers.data[id];
    vy_dim dims[VY_MAX_RANK + 1];
    uint32_t n = axes_of(o, id, dims), k = 0;
    vy_dim count = parts_of(b, invocations(b, o->w.p));
    vy_buffer from = declare_partials(o, b, VY_IN, id, parts->name, count);
    take_link(b, from, parts);
    vy_builder_program(b)->buffers.data[from.id].made = VY_MADE_PARTS;
    vy_value at[VY_MAX_RANK + 1], to[VY_MAX_RANK];
    vy_split_index(b, from, n, vy_over(b, "e", elements(o, b, id)), at);
    vy_value one = u32(b, 1), parts_held = vy_len(b, from, n);
    vy_value sum = add_up(b, from, n, at, u32(b, 0), parts_held, one);
    for (uint32_t a = 0; a < of.rank; a++) to[a] = q->fixed[a] ? (vy_value){q->fixed[a]} : at[k++];
    const bool guarded = vy_begin_if_unsure(b, fixed_in_range(o, b, id).id);
    if (!vy_total_starts(o, id)) {
        vy_value old = vy_load(b, (vy_buffer){id}, to);
        sum = vy_add(b, vy_cast(b, vy_value_type(b, sum), old), sum);
    }
    vy_store(b, (vy_buffer){id}, to, vy_cast(b, of.type, sum));
    if (guarded) vy_end_plain_if(b);
    return vy_total_end(b);
}

uint32_t vy_partial_totals(vy_ordering *o, uint32_t id, const vy_buf *kept, vy_program **made)
{
    char text[320];
    vy_buf parts = {.name = vy_free_name(o->w.p, "parts", o->w.p->buffers.data[id].name, text)};
    if (!(made[0] = make_parts(o, id, kept, &parts))) return 0;
    return (made[1] = make_total(o, id, &parts)) ? 2 : 1;
}
