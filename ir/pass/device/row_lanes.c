// SPDX-License-Identifier: MIT
// row_lanes.c: the lanes of a workgroup walk a row together that an invocation walked alone.
//
//   program f(…) over(r: R)                 program f(…) workgroup(64) over(r: R, lane: 64)
//   {                                       {
//       var s = 0.0;                            shared row: f32[256];
//       for c in 0..C {                         var s = 0.0;
//           s += exp(x[r, c]);          →       for block in 0..(C + 255) / 256 {
//       }                                           for k in block * 256 + lane..end step 64 {
//       for c in 0..C {                                 row[k - block * 256] = exp(x[r, k]);
//           y[r, c] = exp(x[r, c]) / s;             }
//       }                                           barrier();
//   }                                               for k in 0..end - block * 256 {
//                                                       s += row[k];
//                                                   }
//                                                   barrier();
//                                               }
//                                               for k in lane..C step 64 {
//                                                   y[r, k] = exp(x[r, k]) / s;
//                                               }
//                                           }
//
// (end is the least of C and (block + 1)·256.)  For GPUs, and few rows that are long: neighbouring
// lanes then load neighbouring words, and there are 64 times as many of them (docs/performance.md,
// "Rows walked by 64 lanes").
//
// What depends on carried values, the *steps*, all lanes do for all iterations in the order of the
// program, so that each of them has the value after the loop, and it is the same, bit for bit: no
// sum is reordered.  It costs a load from shared memory and, usually, an addition for each element;
// all else is divided by 64.  What is outside of loops all lanes do, but stores are the first
// lane's.
//
// Runs before `coarsen`, which leaves programs with barriers alone.
#include "ir/pass/device/row_lanes.h"

#include <string.h>

enum { BLOCK = VY_ROW_LANES * VY_ROW_PER_LANE, TOGETHER = 8 };

typedef struct rows {
    vy_rewrite w;
    vy_row_plan plan;
    vy_buffer part[VY_TYPE_COUNT][VY_ROW_PARTS];
    vy_value lane, first; // is it the first one?
} rows;

static vy_value u32(rows *r, int64_t n) { return vy_int(r->w.b, VY_U32, n); }

static vy_value begin_loop(rows *r, vy_value from, vy_value to, int64_t step)
{
    const uint32_t by = u32(r, step).id;
    return (vy_value){vy_begin_loop(r->w.b, VY_U32, 0, from.id, to.id, by, 0, NULL, NULL)};
}

// The variable of a loop of n iterations in iteration k.  Where nothing is carried, any order does.
static uint32_t variable(rows *r, uint32_t loop, vy_value n, vy_value k)
{
    vy_builder *b = r->w.b;
    const vy_inst *i = &r->w.p->insts.data[loop];
    const vy_value from = {vy_new_arg(&r->w, loop, 0)}, step = {vy_new_arg(&r->w, loop, 2)};
    const bool ordered = vy_slot_count(r->w.p, &r->w.s, loop) > 0;
    if (ordered && i->flags & VY_FLAG_REVERSE) k = vy_sub(b, vy_sub(b, n, u32(r, 1)), k);
    return vy_add(b, from, vy_mul(b, vy_cast(b, (vy_type)i->type, k), step)).id;
}

static uint32_t except_steps(void *pass, uint32_t id)
{
    return ((rows *)pass)->plan.role[id] == VY_ROW_STEP ? id : 0;
}

static vy_buffer part_of(const rows *r, uint32_t id)
{
    return r->part[vy_id_type(r->w.p, id)][r->plan.part[id] - 1];
}

// What a lane does for iteration k.
static void copy_iteration(rows *r, uint32_t loop, uint32_t variable)
{
    vy_rewrite *w = &r->w;
    w->map[loop] = variable;
    vy_rewrite_range(w, loop + 1 + vy_slot_count(w->p, &w->s, loop), vy_closer(w->p, &w->s, loop),
                     except_steps, r);
}

// Places are those of a block, which the arrays have.
static void write_parts(rows *r, uint32_t loop, vy_value place)
{
    vy_builder *b = r->w.b;
    for (uint32_t id = loop; id < vy_closer(r->w.p, &r->w.s, loop); id++) {
        if (!r->plan.part[id]) continue;
        const uint32_t args[] = {place.id, vy_new(&r->w, id)};
        vy_emit_flags(b, vy_emit(b, VY_OP_STORE, VY_VOID, part_of(r, id).id, 2, args),
                      VY_FLAG_INRANGE);
    }
}

static void read_parts(rows *r, uint32_t loop, vy_value place)
{
    vy_builder *b = r->w.b;
    for (uint32_t id = loop; id < vy_closer(r->w.p, &r->w.s, loop); id++) {
        if (!r->plan.part[id]) continue;
        const vy_type t = vy_id_type(r->w.p, id);
        r->w.map[id] = vy_emit(b, VY_OP_LOAD, t, part_of(r, id).id, 1, &place.id);
        vy_emit_flags(b, r->w.map[id], VY_FLAG_INRANGE);
    }
}

// The iterations from `first` to before `end`, divided among the lanes.
static void divide(rows *r, uint32_t loop, vy_value n, vy_value first, vy_value end, bool steps)
{
    vy_builder *b = r->w.b;
    const vy_value k = begin_loop(r, vy_add(b, first, r->lane), end, VY_ROW_LANES);
    copy_iteration(r, loop, variable(r, loop, n, k));
    if (steps) write_parts(r, loop, vy_sub(b, k, first));
    vy_end_loop(b, 0, 0, NULL, NULL);
}

// The steps of iteration first + k, which begin and end with these values.
static void run_step(rows *r, uint32_t loop, vy_value n, vy_value first, vy_value k, uint32_t count,
                     uint32_t *values)
{
    vy_rewrite *w = &r->w;
    for (uint32_t j = 0; j < count; j++) w->map[loop + 1 + j] = values[j];
    w->map[loop] = variable(r, loop, n, vy_add(w->b, first, k));
    read_parts(r, loop, k);
    for (uint32_t id = loop; id < vy_closer(w->p, &w->s, loop); id++)
        if (r->plan.role[id] == VY_ROW_STEP) vy_rewrite_copy(w, id);
    for (uint32_t j = 0; j < count; j++) values[j] = vy_new(w, vy_slot_yield(w->p, &w->s, loop, j));
}

// … of all iterations of a block, one after the other: several in each iteration of a loop, so that
// neighbouring elements are loaded at once and the loop itself costs little.
static void run_steps(rows *r, uint32_t loop, vy_value n, vy_value first, vy_value from,
                      vy_value end, uint32_t together, uint32_t count, uint32_t *values)
{
    vy_builder *b = r->w.b;
    const uint32_t by = u32(r, together).id;
    const vy_value k = {vy_begin_loop(b, VY_U32, 0, from.id, end.id, by, count, values, values)};
    for (uint32_t j = 0; j < together; j++)
        run_step(r, loop, n, first, vy_add(b, k, u32(r, j)), count, values);
    vy_end_loop(b, 0, count, values, values);
}

// A loop that carries values: in blocks, each of which is divided first.
static void walk_blocks(rows *r, uint32_t loop, vy_value n, uint32_t count, uint32_t *values)
{
    vy_builder *b = r->w.b;
    const vy_value size = u32(r, BLOCK), zero = u32(r, 0), one = u32(r, 1);
    const vy_value more = vy_ne(b, vy_rem(b, n, size), zero);
    const vy_value last = vy_select(b, more, one, zero);
    const vy_value blocks = vy_add(b, vy_div(b, n, size), last);
    const vy_value block = {
        vy_begin_loop(b, VY_U32, 0, zero.id, blocks.id, one.id, count, values, values)};
    const vy_value first = vy_mul(b, block, size);
    const vy_value end = vy_add(b, first, vy_min(b, size, vy_sub(b, n, first)));
    divide(r, loop, n, first, end, true);
    vy_barrier(b);
    const vy_value left = vy_sub(b, end, first), rest = vy_rem(b, left, u32(r, TOGETHER));
    const vy_value most = vy_sub(b, left, rest);
    run_steps(r, loop, n, first, zero, most, TOGETHER, count, values);
    run_steps(r, loop, n, first, most, left, 1, count, values);
    vy_barrier(b);
    vy_end_loop(b, 0, count, values, values);
}

static uint32_t share_loop(rows *r, uint32_t loop)
{
    vy_rewrite *w = &r->w;
    vy_builder *b = w->b;
    const uint32_t count = vy_slot_count(w->p, &w->s, loop);
    vy_rewrite_at(w, loop);
    const vy_value trips = vy_new_trips(w, loop), runs = vy_new_runs(w, loop);
    const vy_value n = vy_select(b, runs, trips, u32(r, 0));
    uint32_t *values = vy_arena_alloc(&w->arena, (count + 1) * sizeof *values);
    w->oom |= !values;
    if (w->oom) return loop;
    for (uint32_t k = 0; k < count; k++) values[k] = vy_new(w, vy_slot_init(w->p, loop, k));
    if (count)
        walk_blocks(r, loop, n, count, values);
    else
        divide(r, loop, n, u32(r, 0), n, false);
    vy_rewrite_slots(w, vy_closer(w->p, &w->s, loop), count, values);
    return vy_last_result(w->p, &w->s, loop);
}

static uint32_t instead(void *pass, uint32_t id)
{
    rows *r = pass;
    const vy_inst *i = &r->w.p->insts.data[id];
    if (r->plan.role[id] == VY_ROW_LOOP) return share_loop(r, id);
    if (vy_op_infos[i->op].effect != VY_WRITE || r->w.p->buffers.data[i->aux].cls == VY_LOCAL)
        return 0;
    vy_begin_if(r->w.b, r->first.id);
    vy_rewrite_copy(&r->w, id);
    vy_end_plain_if(r->w.b);
    return id;
}

static void declare(rows *r)
{
    vy_builder *b = r->w.b;
    vy_program *q = vy_builder_program(b);
    const vy_dim size = vy_dim_const(b, BLOCK);
    char text[320];
    const char *name = vy_free_name(q, "lane", q->overs.data[0].name, text);
    name = vy_arena_strdup(&q->module->arena, name, strlen(name));
    r->w.oom |= !name;
    if (r->w.oom) return;
    r->lane = vy_over(b, name, vy_dim_const(b, VY_ROW_LANES));
    r->first = vy_eq(b, r->lane, u32(r, 0));
    q->workgroup[0] = VY_ROW_LANES, q->workgroup[1] = q->workgroup[2] = 1;
    q->has_workgroup = true;
    for (uint32_t i = 1; i < q->buffers.count; i++) q->buffers.data[i].owned = false; // all load
    for (uint32_t t = 0; t < VY_TYPE_COUNT; t++)
        for (uint32_t k = 0; k < r->plan.parts[t]; k++) {
            const char *row = vy_free_name(q, "row", vy_type_name((vy_type)t), text);
            r->part[t][k] = vy_shared_array(b, row, (vy_type)t, 1, &size);
        }
}

bool vy_pass_row_lanes(vy_program *p, vy_pass_context *c)
{
    rows r = {.plan = {0}};
    bool ok = vy_rewrite_begin(&r.w, p) && vy_choose_rows(&r.w, c->options, &r.plan);
    if (ok && r.plan.loops && vy_rewrite_open(&r.w)) {
        declare(&r);
        if (!r.w.oom) vy_rewrite_range(&r.w, 1, p->insts.count, instead, &r);
    }
    return vy_rewrite_end(&r.w, ok, &c->changed);
}
