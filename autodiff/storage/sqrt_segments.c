// SPDX-License-Identifier: MIT
// sqrt_segments.c: √n checkpointing, as a transformation of the primal.
//
//   for k in 0..n { BODY }    becomes    for s in 0..⌈n/c⌉ {
//                                            checkpoint {
//                                                for j in 0..min(c, n − s·c) { k = s·c + j; BODY }
//                                            }
//                                        }
//
// with c = ⌈√n⌉.  The reverse of a checkpoint replays it and records on a tape that the next one
// reuses, so instead of n entries there are ⌈n/c⌉ for the segments and c for the iterations of one
// segment; the body runs once more.  Applied to the result again, it nests: fourth roots, and so
// on.
#include "autodiff/storage/sqrt_segments.h"

#include "autodiff/facts/trip_bound.h"
#include "ir/build/rewrite.h"

#include <string.h>

typedef struct segmenter {
    vy_rewrite w;
    const uint8_t *chosen;
    vy_lows lows;
    const uint32_t *old_hints;
    vy_id_vec hints; // by instruction of the new program
} segmenter;

static uint32_t emit2(segmenter *g, vy_op op, vy_type type, uint32_t x, uint32_t y)
{
    return vy_emit(g->w.b, op, type, 0, 2, (uint32_t[]){x, y});
}

static uint32_t number(segmenter *g, vy_type type, int64_t v) { return vy_int(g->w.b, type, v).id; }

static uint32_t cast(segmenter *g, vy_type type, uint32_t v)
{
    return vy_cast(g->w.b, type, (vy_value){v}).id;
}

// The trip count of the loop, if it does not exit early.
static uint32_t trip_count(segmenter *g, uint32_t loop, vy_type u)
{
    vy_value n = vy_new_trips(&g->w, loop), from = {vy_new_arg(&g->w, loop, 0)};
    vy_value none = vy_le(g->w.b, (vy_value){vy_new_arg(&g->w, loop, 1)}, from);
    return vy_select(g->w.b, none, vy_zero(g->w.b, u), n).id;
}

// ⌈√n⌉, at least 1, exact: the device's root, one step of Newton's method, and a correction.
static uint32_t root(segmenter *g, vy_type u, uint32_t n)
{
    vy_builder *b = g->w.b;
    vy_value one = vy_int(b, u, 1), m = vy_sub(b, vy_max(b, (vy_value){n}, one), one);
    vy_value s = vy_call(b, "sqrt", 1, &(vy_value){vy_cast(b, VY_F32, m).id});
    s = vy_max(b, vy_cast(b, u, s), one);
    vy_value two = vy_int(b, u, 2);
    s = vy_div(b, vy_add(b, s, vy_div(b, m, s)), two);
    s = vy_max(b, s, one);
    vy_value less = vy_sub(b, s, one);
    s = vy_select(b, vy_lt(b, vy_div(b, m, s), s), less, s);
    return vy_add(b, s, one).id;
}

static bool grow_hints(segmenter *g, uint32_t count)
{
    uint32_t have = g->hints.count;
    if (count > have && !vy_vec_reserve(&g->hints, count - have)) g->w.oom = true;
    for (; g->hints.count < count && !g->w.oom; g->hints.count++) g->hints.data[g->hints.count] = 0;
    return !g->w.oom;
}

// Records that the value `id` of the new program is at most `bound`.
static void hint(segmenter *g, uint32_t id, vy_dim bound)
{
    if (!VY_IS_LEAF(id) && bound.id && grow_hints(g, id + 1)) g->hints.data[id] = bound.id;
}

static vy_bounds bounds_of(const segmenter *g)
{
    return (vy_bounds){.p = g->w.p, .lows = &g->lows, .b = g->w.b, .hints = g->old_hints};
}

// ⌈√n⌉ = isqrt(n − 1) + 1 of the loop's trip count, or none.
static vy_dim root_bound(segmenter *g, uint32_t loop)
{
    const vy_bounds bounds = bounds_of(g);
    vy_dim n = vy_trip_bound(&bounds, loop), one = vy_dim_const(g->w.b, 1);
    if (!n.id) return n;
    vy_dim m = vy_dim_binary(g->w.b, VY_DIM_SUB, n, one);
    return vy_dim_binary(g->w.b, VY_DIM_ADD, vy_dim_binary(g->w.b, VY_DIM_SQRT, m, m), one);
}

// The value of the loop variable in iteration `at` counted from 0.
static uint32_t variable(segmenter *g, uint32_t loop, vy_type t, vy_type u, uint32_t n, uint32_t at)
{
    if (g->w.p->insts.data[loop].flags & VY_FLAG_REVERSE)
        at = emit2(g, VY_OP_SUB, u, emit2(g, VY_OP_SUB, u, n, number(g, u, 1)), at);
    uint32_t from = vy_new_arg(&g->w, loop, 0);
    uint32_t step = vy_new_arg(&g->w, loop, 2);
    return emit2(g, VY_OP_ADD, t, from, emit2(g, VY_OP_MUL, t, cast(g, t, at), step));
}

static uint32_t replace_loop(void *pass, uint32_t id);

// for j in 0..min(c, n − s·c) { k = …; BODY }
static void inner_loop(segmenter *g, vy_remade *x, vy_type u, uint32_t n, uint32_t c, uint32_t s)
{
    uint32_t loop = x->opener, base = emit2(g, VY_OP_MUL, u, s, c);
    uint32_t count = emit2(g, VY_OP_MIN, u, c, emit2(g, VY_OP_SUB, u, n, base));
    uint32_t bounds[3] = {number(g, u, 0), count, number(g, u, 1)};
    uint32_t j = vy_remake_counted(&g->w, x, u, 0, bounds);
    uint32_t at = emit2(g, VY_OP_ADD, u, base, j);
    vy_rewrite_as(&g->w, loop, variable(g, loop, vy_id_type(g->w.p, loop), u, n, at));
    const vy_bounds b = bounds_of(g);
    hint(g, g->w.map[loop], vy_upper_bound(&b, vy_arg(g->w.p, loop, 1))); // k < to
    vy_remake_body(&g->w, x, replace_loop, g);
    vy_remake_next(&g->w, x);
    if (x->keep) x->in[x->own] = x->keep;
    vy_remake_close(&g->w, x);
}

// ⌈n/c⌉; n + c − 1 might wrap.
static uint32_t rounded_up(segmenter *g, vy_type u, uint32_t n, uint32_t c)
{
    vy_value zero = vy_int(g->w.b, u, 0), one = vy_int(g->w.b, u, 1);
    vy_value rest = {emit2(g, VY_OP_REM, u, n, c)}, full = {emit2(g, VY_OP_DIV, u, n, c)};
    return vy_add(g->w.b, full, vy_select(g->w.b, vy_eq(g->w.b, rest, zero), zero, one)).id;
}

// The values carried into a construct, or yielded by it, enter the next one.
static void pass_on(const vy_remade *x) { memcpy(x->in, x->out, x->total * sizeof *x->in); }

static uint32_t cut_loop(segmenter *g, uint32_t loop)
{
    const bool leaves = vy_exits(g->w.p, loop); // then the condition to go on is carried, too
    vy_type t = vy_id_type(g->w.p, loop), u = vy_iteration_type(t);
    vy_remade x;
    if (!vy_remake(&g->w, &x, loop, leaves)) return loop;
    vy_rewrite_at(&g->w, loop);
    uint32_t n = trip_count(g, loop, u), c = root(g, u, n), zero = number(g, u, 0);
    uint32_t segments = rounded_up(g, u, n, c);
    vy_dim bound = root_bound(g, loop);
    hint(g, c, bound);
    hint(g, segments, bound); // ⌈n/c⌉ ≤ c
    if (leaves) x.in[x.own] = vy_bool(g->w.b, true).id;
    uint32_t s = vy_remake_counted(&g->w, &x, u, 0, (uint32_t[]){zero, segments, number(g, u, 1)});
    pass_on(&x);
    vy_begin_checkpoint(g->w.b);
    inner_loop(g, &x, u, n, c, s);
    pass_on(&x);
    vy_end_checkpoint(g->w.b, x.total, x.in, x.out);
    pass_on(&x);
    x.keep = leaves ? x.in[x.own] : 0;
    vy_remake_end(&g->w, &x);
    return vy_remake_last(&g->w, &x);
}

static uint32_t replace_loop(void *pass, uint32_t id)
{
    segmenter *g = pass;
    if (g->chosen[id]) return cut_loop(g, id);
    vy_rewrite_copy(&g->w, id);
    if (g->old_hints && g->old_hints[id]) hint(g, g->w.map[id], (vy_dim){g->old_hints[id]});
    return id;
}

bool vy_segment(vy_program *p, const uint8_t *chosen, uint32_t **hints)
{
    segmenter g = {.chosen = chosen, .old_hints = *hints};
    bool ok = vy_rewrite_begin(&g.w, p) && vy_lows_make(&g.lows, p, &g.w.s, &g.w.arena);
    bool changed = false;
    if (ok) vy_rewrite_run(&g.w, replace_loop, &g);
    if (g.w.b) grow_hints(&g, vy_builder_program(g.w.b)->insts.count);
    if (!vy_rewrite_end(&g.w, ok, &changed)) {
        vy_vec_free(&g.hints);
        return false;
    }
    vy_free(*hints);
    *hints = g.hints.data;
    return true;
}
