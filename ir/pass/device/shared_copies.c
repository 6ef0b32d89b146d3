// SPDX-License-Identifier: MIT
// shared_copies.c: many invocations that add to few elements add to a copy in shared memory first.
//
//   program f(…) over(i: N)                 program f(…) workgroup(128) over(block: B, lane: 128)
//   {                                       {
//       atomic_add(g[k[i]], x[i]);      →       shared copy_g: f32[1000];  // zero
//   }                                           let left = N - block * 8064;   barrier();
//                                               for r in 0..63 {
//                                                   if r * 128 + lane < left {
//                                                       let i = block * 8064 + r * 128 + lane;
//                                                       if k[i] < 1000 {
//                                                           atomic_add(copy_g[k[i]], x[i]);
//                                                       } else {
//                                                           atomic_add(g[k[i]], x[i]);
//                                                       }
//                                                   }
//                                               }
//                                               barrier();
//                                               for e in lane..1000 step 128 {
//                                                   if copy_g[e] != 0.0 {
//                                                       atomic_add(g[e], copy_g[e]);
//                                                   }
//                                               }
//                                           }
//
// Additions to one element are made one after the other, by a GPU in its second cache, by the cores
// of a CPU in each other's.  Shared memory belongs to a workgroup.  The number of elements and that
// of invocations are known when a session prepares a launch (vy_opt_options.number), and not where
// SPIR-V is written to a file: such kernels stay as they are.  What is made is right for all sizes,
// also for those of another launch: elements beyond the copy are added to where they are.
//
// A workgroup has so many invocations of the old program that it adds up far more than it passes
// on.  An element to which nothing was added is left alone: adding +0 would change -0.  A domain of
// two axes is cut into blocks of rows.
//
// Runs after `subgroup_reduce`, which takes what a whole workgroup adds to one element, and before
// `subgroup_runs`: a copy has no need of it.
#include "ir/build/live.h"
#include "ir/facts/addition.h"
#include "ir/pass/device/known_sizes.h"
#include "ir/pass/sums/subgroup_reduce.h"

#include <string.h>

enum {
    LANES = 128,   // every device has them
    WORDS = 2048,  // half of the shared memory that every device has
    PASSED_ON = 8, // times fewer elements are passed on than a workgroup takes
    LEAST = 4096,  // invocations of the old program in a workgroup
    BLOCKS = 32,   // workgroups, at least
    MOST_COPIES = 4,
    LONGEST_ROW = 1 << 20, // a lane's iterations stay far below what lavapipe runs
};

typedef struct copy {
    uint32_t buffer;
    uint32_t elements; // of all copies, but for launches of other sizes
    vy_buffer part;
} copy;

typedef struct sharing {
    vy_rewrite w;
    const vy_opt_options *options;
    copy copies[MOST_COPIES];
    uint32_t count;
    uint8_t *of;      // by buffer: 1 + its copy
    uint64_t rows;    // iterations of the old program one after the other …
    uint32_t over[2]; // the variables of its domain
    vy_value block, lane;
} sharing;

// ------------------------------------------------------------------------------------- is it worth
static bool may_have_copy(const sharing *s, const uint8_t *sums, uint32_t buffer)
{
    const vy_buf *b = &s->w.p->buffers.data[buffer];
    return sums[vy_memory_of(s->w.p, buffer)] && !b->view_of && vy_type_size(b->type) == 4 &&
           b->rank > 0;
}

// Is it an addition at an index of 32 bits, which others may add to?
static bool is_addition(const vy_program *p, uint32_t id)
{
    const vy_inst *i = &p->insts.data[id];
    if (i->op != VY_OP_ATOMIC_ADD || vy_strength_of(p, id) != VY_STRENGTH_ATOMIC) return false;
    for (uint32_t k = 0; k + 1 < i->nargs; k++) {
        const vy_type t = vy_id_type(p, vy_arg(p, id, k));
        if (t != VY_U32 && t != VY_I32) return false;
    }
    return true;
}

// The buffers with few elements, as far as there is room.
static uint32_t choose_buffers(sharing *s, const uint8_t *sums)
{
    const vy_program *p = s->w.p;
    uint32_t words = 0;
    for (uint32_t id = 1; id < p->insts.count; id++) {
        const uint32_t buffer = p->insts.data[id].aux;
        if (!is_addition(p, id) || s->of[buffer] || !may_have_copy(s, sums, buffer)) continue;
        const uint64_t n = vy_known_elements(p, s->options, buffer);
        if (!n || n > WORDS - words || s->count == MOST_COPIES) continue;
        s->copies[s->count++] = (copy){.buffer = buffer, .elements = (uint32_t)n};
        s->of[buffer] = (uint8_t)s->count;
        words += (uint32_t)n;
    }
    return words;
}

static bool has_loop(const vy_program *p)
{
    for (uint32_t id = 1; id < p->insts.count; id++)
        if (p->insts.data[id].op == VY_OP_LOOP || p->insts.data[id].op == VY_OP_WHILE) return true;
    return false;
}

// A parameter, or constant, that is a number of 32 bits and not negative.
static bool is_plain(const vy_program *p, vy_dim extent)
{
    const vy_dim_node *d = &p->dims.data[extent.id];
    if (d->op == VY_DIM_SCALAR) return p->scalars.data[d->value].type == VY_U32;
    return d->op == VY_DIM_UNKNOWN || (d->op == VY_DIM_CONST && d->value == (uint32_t)d->value);
}

// Of one or two axes?
static bool has_plain_domain(const vy_program *p)
{
    for (uint32_t k = 0; k < p->overs.count; k++)
        if (!is_plain(p, p->overs.data[k].extent)) return false;
    return p->overs.count == 1 || p->overs.count == 2;
}

// A driver that limits the iterations of an invocation must not get more of them.
static bool suits(const vy_program *p, const vy_opt_options *o)
{
    return o && o->number && o->extent && has_plain_domain(p) && !vy_sees_workgroup(p) &&
           !(o->chunk && has_loop(p));
}

// Chooses rows; false: there are too few invocations.
static bool choose_rows(sharing *s, uint32_t words)
{
    const vy_program *p = s->w.p;
    const vy_opt_options *o = s->options;
    const uint32_t last = p->overs.count - 1;
    const uint64_t least = words * PASSED_ON > LEAST ? words * PASSED_ON : LEAST;
    const int64_t width = o->extent(o->user, p, last);
    const int64_t height = last ? o->extent(o->user, p, 0) : 1;
    if (width < LANES || height < 1 || (last && width > LONGEST_ROW)) return false;
    const uint64_t row = last ? (uint64_t)width : LANES;
    s->rows = (least + row - 1) / row;
    return vy_known_product((uint64_t)width, (uint64_t)height) / BLOCKS >= s->rows * row;
}

static bool prepare(sharing *s)
{
    s->of = vy_arena_alloc(&s->w.arena, s->w.p->buffers.count);
    const uint8_t *sums = s->of ? vy_find_sums(s->w.p, &s->w.s, &s->w.arena) : NULL;
    s->w.oom |= !sums;
    const uint32_t words = sums ? choose_buffers(s, sums) : 0;
    return words && choose_rows(s, words);
}

// ------------------------------------------------------------------------------------- the copies
static vy_value u32(sharing *s, int64_t n) { return vy_int(s->w.b, VY_U32, n); }

static vy_value begin_loop(sharing *s, vy_value from, vy_value to, int64_t step)
{
    const uint32_t by = u32(s, step).id;
    return (vy_value){vy_begin_loop(s->w.b, VY_U32, 0, from.id, to.id, by, 0, NULL, NULL)};
}

static void end_loop(sharing *s) { vy_end_loop(s->w.b, 0, 0, NULL, NULL); }

static void declare_copy(sharing *s, copy *c)
{
    vy_builder *b = s->w.b;
    const vy_buf *of = &s->w.p->buffers.data[c->buffer];
    const vy_dim n = vy_dim_const(b, c->elements);
    char text[320];
    const char *name = vy_free_name(vy_builder_program(b), "copy", of->name, text);
    c->part = vy_shared_array(b, name, of->type, 1, &n);
    if (c->part.id) vy_emit(b, VY_OP_ZERO, VY_VOID, c->part.id, 0, NULL);
}

static uint32_t new_arg(const sharing *s, uint32_t id, uint32_t k)
{
    const uint32_t a = vy_arg(s->w.p, id, k);
    const vy_leaf *l = VY_IS_LEAF(a) ? &s->w.p->leaves.data[VY_LEAF_INDEX(a)] : NULL;
    return l && l->kind == VY_LEAF_OVER ? s->over[l->index] : vy_new(&s->w, a);
}

// In the place of the addition `id`.  No buffer of Vulkan has 2^32 bytes, so that the number of an
// element that it has does not wrap.
static void add_to_copy(sharing *s, uint32_t id, const copy *c)
{
    vy_builder *b = s->w.b;
    const vy_inst *i = &s->w.p->insts.data[id];
    const uint32_t rank = i->nargs - 1;
    uint32_t args[VY_MAX_RANK + 1];
    for (uint32_t k = 0; k <= rank; k++) args[k] = new_arg(s, id, k);
    vy_rewrite_at(&s->w, id);
    vy_value inside = {0}, number = {0};
    for (uint32_t k = 0; k < rank; k++) {
        const vy_value length = {vy_extent_leaf(b, c->buffer, k)};
        const vy_value at = vy_cast(b, VY_U32, (vy_value){args[k]});
        if (rank > 1) { // the number of an element beyond the others' is another's
            const vy_value reaches = vy_lt(b, at, length);
            inside = inside.id ? vy_and(b, inside, reaches) : reaches;
        }
        number = k ? vy_add(b, vy_mul(b, number, length), at) : at;
    }
    const vy_value held = vy_lt(b, number, u32(s, c->elements));
    inside = inside.id ? vy_and(b, inside, held) : held;
    vy_begin_if(b, inside.id);
    vy_atomic(b, "add", c->part, &number, (vy_value){args[rank]});
    vy_begin_else(b, 0, NULL);
    vy_emit_flags(b, vy_emit(b, VY_OP_ATOMIC_ADD, (vy_type)i->type, i->aux, i->nargs, args),
                  i->flags);
    vy_end_if(b, 0, NULL, NULL);
}

// What the workgroup has added up.
static void pass_on(sharing *s, const copy *c)
{
    vy_builder *b = s->w.b;
    const vy_buf *of = &s->w.p->buffers.data[c->buffer];
    vy_value at[VY_MAX_RANK];
    vy_value e = begin_loop(s, s->lane, u32(s, c->elements), LANES);
    const vy_value sum = vy_load(b, c->part, &e);
    vy_begin_if(b, vy_ne(b, sum, vy_zero(b, of->type)).id);
    for (uint32_t k = of->rank; k-- > 1;) {
        const vy_value length = {vy_extent_leaf(b, c->buffer, k)};
        at[k] = vy_rem(b, e, length);
        e = vy_div(b, e, length);
    }
    at[0] = e;
    vy_atomic(b, "add", (vy_buffer){c->buffer}, at, sum);
    vy_end_plain_if(b);
    end_loop(s);
}

// -------------------------------------------------------------------------------------- the domain
static const char *free_variable(sharing *s, const char *of)
{
    char text[320];
    vy_program *p = vy_builder_program(s->w.b);
    const char *name = vy_free_name(p, of, s->w.p->overs.data[0].name, text);
    return vy_arena_strdup(&p->module->arena, name, strlen(name));
}

static void declare_domain(sharing *s)
{
    vy_builder *b = s->w.b;
    vy_program *q = vy_builder_program(b);
    const vy_dim cut = s->w.p->overs.data[0].extent;
    const int64_t taken = (int64_t)(s->w.p->overs.count > 1 ? s->rows : s->rows * LANES);
    const vy_dim more = vy_dim_binary(b, VY_DIM_ADD, cut, vy_dim_const(b, taken - 1));
    const char *names[] = {free_variable(s, "block"), free_variable(s, "lane")};
    s->w.oom |= !names[0] || !names[1];
    if (s->w.oom) return;
    q->overs.count = 0;
    s->block = vy_over(b, names[0], vy_dim_binary(b, VY_DIM_DIV, more, vy_dim_const(b, taken)));
    s->lane = vy_over(b, names[1], vy_dim_const(b, LANES));
    q->workgroup[0] = LANES, q->workgroup[1] = q->workgroup[2] = 1;
    q->has_workgroup = true;
}

static uint32_t instead(void *pass, uint32_t id)
{
    sharing *s = pass;
    const vy_inst *i = &s->w.p->insts.data[id];
    if (i->op == VY_OP_ATOMIC_ADD && s->of[i->aux] && is_addition(s->w.p, id))
        add_to_copy(s, id, &s->copies[s->of[i->aux] - 1]);
    else
        vy_rewrite_copy_over(&s->w, id, s->over);
    return id;
}

// The old program, once, for what begins at `from` of an axis and has `left` of it, more than 0:
// its element `number`.  No sum exceeds 32 bits.
static void body_at(sharing *s, uint32_t axis, vy_value from, vy_value left, vy_value number)
{
    vy_builder *b = s->w.b;
    vy_begin_if(b, vy_lt(b, number, left).id);
    s->over[axis] = vy_add(b, from, number).id;
    vy_rewrite_range(&s->w, 1, s->w.p->insts.count, instead, s);
    vy_end_plain_if(b);
}

static void walk_row(sharing *s)
{
    vy_builder *b = s->w.b;
    const vy_value width = vy_dim_number(b, s->w.p->overs.data[1].extent);
    const vy_value last = vy_div(b, width, u32(s, LANES));
    const vy_value count = vy_add(b, last, u32(s, 1)), zero = u32(s, 0);
    const vy_value n = begin_loop(s, zero, count, 1);
    const vy_value from = vy_mul(b, n, u32(s, LANES));
    body_at(s, 1, from, vy_sub(b, width, from), s->lane);
    end_loop(s);
}

static void walk(sharing *s)
{
    vy_builder *b = s->w.b;
    const bool flat = s->w.p->overs.count == 1;
    const vy_value extent = vy_dim_number(b, s->w.p->overs.data[0].extent);
    const int64_t taken = (int64_t)(flat ? s->rows * LANES : s->rows);
    const vy_value from = vy_mul(b, s->block, u32(s, taken)), left = vy_sub(b, extent, from);
    const vy_value zero = u32(s, 0), rows = u32(s, (int64_t)s->rows);
    const vy_value r = begin_loop(s, zero, rows, 1);
    if (flat) {
        body_at(s, 0, from, left, vy_add(b, vy_mul(b, r, u32(s, LANES)), s->lane));
    } else {
        vy_begin_if(b, vy_lt(b, r, left).id);
        s->over[0] = vy_add(b, from, r).id;
        walk_row(s);
        vy_end_plain_if(b);
    }
    end_loop(s);
}

static void rebuild(sharing *s)
{
    vy_builder *b = s->w.b;
    declare_domain(s);
    for (uint32_t k = 0; k < s->count && !s->w.oom; k++) declare_copy(s, &s->copies[k]);
    if (s->w.oom) return;
    vy_barrier(b);
    walk(s);
    vy_barrier(b);
    for (uint32_t k = 0; k < s->count; k++) pass_on(s, &s->copies[k]);
}

bool vy_pass_shared_copies(vy_program *p, vy_pass_context *context)
{
    if (!suits(p, context->options)) return true;
    sharing s = {.options = context->options};
    bool ok = vy_rewrite_begin(&s.w, p);
    const bool any = ok && prepare(&s);
    ok = ok && !s.w.oom;
    if (any && vy_rewrite_open(&s.w)) rebuild(&s);
    if (!vy_rewrite_end(&s.w, ok, &context->changed)) return false;
    return !any || vy_pass_cleanup(p, context); // a constant index is inside, or is not
}
