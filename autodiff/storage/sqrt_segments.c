// SPDX-License-Identifier: MIT
// sqrt_segments.c: √n checkpointing, as a change of the primal.
//
//   for k in 0..n { BODY }        becomes      for s in 0..⌈n/c⌉ {
//                                                  checkpoint {
//                                                      for j in 0..min(c, n − s·c) { k = s·c + j;
//                                                      BODY }
//                                                  }
//                                              }
//
// with c = ⌈√n⌉.  The reverse of a checkpoint replays it and records on a tape that the next one
// uses again, so what was n entries becomes ⌈n/c⌉ for the segments and c for the iterations of one;
// the body runs once more.  Doing it again to the result nests: fourth roots, and so on.
#include "autodiff/storage/sqrt_segments.h"

#include "autodiff/facts/trip_bound.h"
#include "ir/core/flow.h"
#include "ir/build/edit.h"

#include <string.h>

typedef struct segmenter {
    const vy_program *p;
    vy_structure s;
    vy_builder *b;
    const uint8_t *chosen;
    uint32_t *map;
    vy_id_vec hints; // by instruction of the new program
    bool oom;
} segmenter;

static uint32_t emit2(segmenter *g, vy_op op, vy_type type, uint32_t x, uint32_t y)
{
    return vy_emit(g->b, op, type, 0, 2, (uint32_t[]){x, y});
}

static uint32_t number(segmenter *g, vy_type type, int64_t v) { return vy_int(g->b, type, v).id; }

static uint32_t cast(segmenter *g, vy_type type, uint32_t v)
{
    return vy_cast(g->b, type, (vy_value){v}).id;
}

// The trip count as an unsigned number of the same width: to <= from ? 0 : (to − from − 1)/step +
// 1.
static uint32_t trip_count(segmenter *g, uint32_t loop, vy_type u)
{
    uint32_t b[3];
    for (uint32_t k = 0; k < 3; k++) b[k] = vy_map(g->map, vy_arg(g->p, loop, k));
    uint32_t span = emit2(g, VY_OP_SUB, u, cast(g, u, b[1]), cast(g, u, b[0]));
    span = emit2(g, VY_OP_SUB, u, span, number(g, u, 1));
    uint32_t n =
        emit2(g, VY_OP_ADD, u, emit2(g, VY_OP_DIV, u, span, cast(g, u, b[2])), number(g, u, 1));
    uint32_t none = vy_le(g->b, (vy_value){b[1]}, (vy_value){b[0]}).id;
    return vy_select(g->b, (vy_value){none}, (vy_value){number(g, u, 0)}, (vy_value){n}).id;
}

// ⌈√n⌉, at least 1, exactly: the device's root, one step of Newton's method, and a correction.
static uint32_t root(segmenter *g, vy_type u, uint32_t n)
{
    vy_builder *b = g->b;
    vy_value one = vy_int(b, u, 1), m = vy_sub(b, vy_max(b, (vy_value){n}, one), one);
    vy_value s = vy_call(b, "sqrt", 1, &(vy_value){vy_cast(b, VY_F32, m).id});
    s = vy_max(b, vy_cast(b, u, s), one);
    s = vy_div(b, vy_add(b, s, vy_div(b, m, s)), vy_int(b, u, 2));
    s = vy_max(b, s, one);
    s = vy_select(b, vy_lt(b, vy_div(b, m, s), s), vy_sub(b, s, one), s);
    return vy_add(b, s, one).id;
}

static bool grow_hints(segmenter *g, uint32_t count)
{
    uint32_t have = g->hints.count;
    if (count > have && !vy_vec_reserve(&g->hints, count - have)) g->oom = true;
    for (; g->hints.count < count && !g->oom; g->hints.count++) g->hints.data[g->hints.count] = 0;
    return !g->oom;
}

// Notes that the value `id` of the new program is at most `bound`.
static void hint(segmenter *g, uint32_t id, vy_dim bound)
{
    if (!VY_IS_LEAF(id) && bound.id && grow_hints(g, id + 1)) g->hints.data[id] = bound.id;
}

// ⌈√n⌉ = isqrt(n − 1) + 1 of the loop's trip count, or none.
static vy_dim root_bound(segmenter *g, uint32_t loop, const uint32_t *old_hints)
{
    vy_bounds bounds = {.p = g->p, .b = g->b, .hints = old_hints};
    vy_dim n = vy_trip_bound(&bounds, loop), one = vy_dim_const(g->b, 1);
    if (!n.id) return n;
    vy_dim m = vy_dim_binary(g->b, VY_DIM_SUB, n, one);
    return vy_dim_binary(g->b, VY_DIM_ADD, vy_dim_binary(g->b, VY_DIM_SQRT, m, m), one);
}

static void copy_range(segmenter *g, uint32_t first, uint32_t last, const uint32_t *old_hints);

// The value of the loop variable in iteration `at` counted from 0.
static uint32_t variable(segmenter *g, uint32_t loop, vy_type t, vy_type u, uint32_t n, uint32_t at)
{
    if (g->p->insts.data[loop].flags & VY_FLAG_REVERSE)
        at = emit2(g, VY_OP_SUB, u, emit2(g, VY_OP_SUB, u, n, number(g, u, 1)), at);
    uint32_t from = vy_map(g->map, vy_arg(g->p, loop, 0));
    uint32_t step = vy_map(g->map, vy_arg(g->p, loop, 2));
    return emit2(g, VY_OP_ADD, t, from, emit2(g, VY_OP_MUL, t, cast(g, t, at), step));
}

static void keep_name(segmenter *g, uint32_t old, uint32_t id)
{
    uint32_t name = g->p->insts.data[old].name;
    if (name) vy_name(g->b, (vy_value){id}, vy_string(&g->p->module->names, name));
}

typedef struct nest {
    uint32_t loop, end, carried, total; // total: with `go`, where the loop leaves early
    bool leaves;
    uint32_t *in, *out; // of `total` entries
} nest;

// for j in 0..min(c, n − s·c) { k = …; BODY }
static void inner_loop(segmenter *g, nest *x, vy_type u, uint32_t n, uint32_t c, uint32_t s,
                       const uint32_t *old_hints)
{
    const vy_program *p = g->p;
    vy_type t = (vy_type)p->insts.data[x->loop].type;
    uint32_t base = emit2(g, VY_OP_MUL, u, s, c);
    uint32_t count = emit2(g, VY_OP_MIN, u, c, emit2(g, VY_OP_SUB, u, n, base));
    uint32_t j =
        vy_begin_loop(g->b, u, 0, number(g, u, 0), count, number(g, u, 1), x->total, x->in, x->out);
    for (uint32_t k = 0; k < x->carried; k++) {
        g->map[x->loop + 1 + k] = x->out[k];
        keep_name(g, x->loop + 1 + k, x->out[k]);
    }
    g->map[x->loop] = variable(g, x->loop, t, u, n, emit2(g, VY_OP_ADD, u, base, j));
    keep_name(g, x->loop, g->map[x->loop]);
    vy_bounds bounds = {.p = p, .b = g->b, .hints = old_hints};
    hint(g, g->map[x->loop], vy_upper_bound(&bounds, vy_arg(p, x->loop, 1))); // it stays below
    copy_range(g, x->loop + 1 + x->carried, x->end, old_hints);
    uint32_t keep = x->leaves ? vy_map(g->map, vy_keep(p, &g->s, x->loop)) : 0;
    for (uint32_t k = 0; k < x->carried; k++)
        x->in[k] = vy_map(g->map, vy_slot_next(p, &g->s, x->loop, k));
    if (x->leaves) x->in[x->carried] = keep;
    vy_end_loop(g->b, keep, x->total, x->in, x->out);
}

// ⌈n/c⌉; n + c − 1 might wrap.
static uint32_t rounded_up(segmenter *g, vy_type u, uint32_t n, uint32_t c)
{
    vy_value zero = vy_int(g->b, u, 0), one = vy_int(g->b, u, 1);
    vy_value rest = {emit2(g, VY_OP_REM, u, n, c)}, full = {emit2(g, VY_OP_DIV, u, n, c)};
    return vy_add(g->b, full, vy_select(g->b, vy_eq(g->b, rest, zero), zero, one)).id;
}

static void cut_loop(segmenter *g, uint32_t loop, const uint32_t *old_hints)
{
    const vy_inst *o = &g->p->insts.data[loop];
    nest x = {.loop = loop, .end = g->s.partner[loop], .carried = vy_slot_count(g->p, &g->s, loop)};
    x.leaves = vy_exits(g->p, loop);
    x.total = x.carried + x.leaves;
    vy_id_vec ids = {0};
    if (!vy_vec_reserve(&ids, 2 * x.total + 1)) {
        g->oom = true;
        return;
    }
    x.in = ids.data, x.out = x.in + x.total;
    vy_type t = (vy_type)o->type, u = vy_type_size(t) == 8 ? VY_U64 : VY_U32;
    uint32_t n = trip_count(g, loop, u), c = root(g, u, n), zero = number(g, u, 0);
    uint32_t segments = rounded_up(g, u, n, c);
    vy_dim bound = root_bound(g, loop, old_hints);
    hint(g, c, bound);
    hint(g, segments, bound); // ⌈n/c⌉ ≤ c
    for (uint32_t k = 0; k < x.carried; k++) x.in[k] = vy_map(g->map, vy_slot_init(g->p, loop, k));
    if (x.leaves) x.in[x.carried] = vy_bool(g->b, true).id;
    uint32_t s = vy_begin_loop(g->b, u, 0, zero, segments, number(g, u, 1), x.total, x.in, x.out);
    for (uint32_t k = 0; k < x.carried; k++) keep_name(g, loop + 1 + k, x.out[k]);
    memcpy(x.in, x.out, x.total * sizeof *x.in);
    vy_begin_checkpoint(g->b);
    inner_loop(g, &x, u, n, c, s, old_hints);
    memcpy(x.in, x.out, x.total * sizeof *x.in);
    vy_end_checkpoint(g->b, x.total, x.in, x.out);
    memcpy(x.in, x.out, x.total * sizeof *x.in);
    vy_end_loop(g->b, x.leaves ? x.in[x.carried] : 0, x.total, x.in, x.out);
    for (uint32_t k = 0; k < x.carried; k++) {
        g->map[x.end + 1 + k] = x.out[k];
        keep_name(g, x.end + 1 + k, x.out[k]);
    }
    vy_vec_free(&ids);
}

static void copy_range(segmenter *g, uint32_t first, uint32_t last, const uint32_t *old_hints)
{
    for (uint32_t id = first; id < last && !g->oom && !vy_builder_failed(g->b); id++) {
        const vy_inst *i = &g->p->insts.data[id];
        vy_at(g->b, i->line, i->column);
        if (!g->chosen[id]) {
            vy_copy_inst(g->b, g->p, id, g->map);
            if (old_hints && old_hints[id]) hint(g, g->map[id], (vy_dim){old_hints[id]});
            continue;
        }
        cut_loop(g, id, old_hints);
        id = vy_closer(g->p, &g->s, id) + vy_slot_count(g->p, &g->s, id); // its RESULTs are mapped
    }
}

bool vy_segment(vy_program *p, const uint8_t *chosen, uint32_t **hints)
{
    segmenter g = {.p = p, .chosen = chosen};
    g.map = vy_realloc(NULL, p->insts.count * sizeof *g.map);
    g.oom = !g.map || !vy_structure_make(p, &g.s);
    g.b = g.oom ? NULL : vy_rebuild_begin(p);
    vy_program *fresh = NULL;
    if (g.b) {
        memset(g.map, 0, p->insts.count * sizeof *g.map);
        copy_range(&g, 1, p->insts.count, *hints);
        if (grow_hints(&g, vy_builder_program(g.b)->insts.count))
            fresh = vy_rebuild_end(g.b);
        else
            vy_program_abandon(g.b);
    }
    if (g.oom) vy_fail_oom(p->module);
    vy_structure_free(&g.s);
    vy_free(g.map);
    if (fresh) {
        vy_program_replace(p, fresh);
        vy_free(*hints);
        *hints = g.hints.data;
    } else {
        vy_vec_free(&g.hints);
    }
    return fresh != NULL;
}
