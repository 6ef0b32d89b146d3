// SPDX-License-Identifier: MIT
// sweep_lane_sums.c: adjoints of one element of a shared array to which all invocations of a
// workgroup add (facts/phase_sum.c), summed in a fixed order and without atomics.
//
//   part_s[lindex] = g;                       where the load is reversed
//   barrier();                                where its phase ends: one for all sums of the phase
//   if lindex == 0 {
//       var sum = 0.0;
//       for k in 0..64 { sum += part_s[k]; }
//       adj_s[0] = adj_s[0] + sum;
//   }
//   barrier();
//
// A tree would have a barrier for each of its levels, which cost more than the additions (on
// lavapipe several times as much, docs/performance.md); only large workgroups have two levels.
//
// What says that an element was read at all (shadow_elements.c) is gathered likewise, with `|`.
//
// The element is that of no other access up to the barrier that ends the phase, so the sum may be
// made there.  Lanes outside the domain store nothing: what is added of them has been cleared.  The
// first lane of a workgroup is inside.
#include "autodiff/facts/padding.h"
#include "autodiff/reverse/sweeps.h"
#include "autodiff/storage/storage.h"

#include <string.h>

enum { SERIAL = 256 }; // invocations at most whose values the first one adds up alone

static uint32_t lanes_of(const reverse *r)
{
    return r->p->workgroup[0] * r->p->workgroup[1] * r->p->workgroup[2];
}

// ------------------------------------------------------------------------------------------- parts
static void declare_part(reverse *r, reverse_parts *parts, const char *prefix, uint32_t like)
{
    char text[320];
    vy_builder *b = r->b;
    const uint32_t most = (uint32_t)REVERSE_SUMS >> r->plan.fewer_sums;
    const vy_dim lanes = vy_dim_const(b, lanes_of(r));
    const char *name = vy_free_name(vy_builder_program(b), prefix, vy_buffer_name(r, like), text);
    if (parts->count == most) return;
    const vy_buffer part = vy_shared_array(b, name, parts->type, 1, &lanes);
    parts->array[parts->count++] = part.id;
    if (part.id && vy_has_padding(r->p)) vy_emit(b, VY_OP_ZERO, VY_VOID, part.id, 0, NULL);
}

static vy_type type_of(const reverse *r, uint32_t load)
{
    return vy_adjoint_type(r, (vy_type)r->p->insts.data[load].type);
}

static bool is_summed(const reverse *r, uint32_t load)
{
    return r->facts.summed && r->facts.summed[load] &&
           r->build.buffers[r->p->insts.data[load].aux].kind == ADJ_MEMORY;
}

void vy_lane_sums_declare(reverse *r)
{
    reverse_sums *s = &r->build.sums;
    if (r->options->accumulate == VY_ACCUMULATE_ATOMIC) return;
    s->masks.type = VY_U32;
    for (uint32_t id = r->p->insts.count; id-- > 1;) {
        const uint32_t b = r->p->insts.data[id].aux;
        if (r->p->insts.data[id].op != VY_OP_LOAD || !is_summed(r, id)) continue;
        if (!s->adjoints.count) s->adjoints.type = type_of(r, id);
        if (type_of(r, id) != s->adjoints.type) continue;
        declare_part(r, &s->adjoints, "part", b);
        if (r->build.buffers[b].shadow) declare_part(r, &s->masks, "part_seen", b);
    }
}

// ---------------------------------------------------------------------------------------- addition
bool vy_lane_sums_take(const reverse *r, uint32_t load)
{
    const reverse_parts *parts = &r->build.sums.adjoints;
    return is_summed(r, load) && parts->count && type_of(r, load) == parts->type;
}

// The element is added to once the sums are made.
static void note(reverse *r, uint32_t part, uint32_t to, const uint32_t *index)
{
    const uint32_t rank = vy_builder_program(r->b)->buffers.data[to].rank;
    reverse_sum *sum = &r->build.sums.sum[r->build.sums.count++];
    *sum = (reverse_sum){.part = part, .to = to, .rank = rank};
    memcpy(sum->index, index, rank * sizeof *index);
}

// … v of each invocation.
static void add(reverse *r, reverse_parts *parts, uint32_t to, const uint32_t *index, vy_value v)
{
    if (parts->used == parts->count) vy_lane_sums_make(r, false);
    const vy_value lane = vy_builtin_value(r->b, VY_LINDEX, 0);
    const vy_buffer part = {parts->array[parts->used++]};
    note(r, part.id, to, index);
    vy_store(r->b, part, &lane, vy_cast(r->b, parts->type, v));
}

// … that it was read.
static void add_mask(reverse *r, uint32_t shadow, const uint32_t *index, uint32_t mask)
{
    const vy_scalar *k = vy_id_const(vy_builder_program(r->b), mask);
    if (!k) add(r, &r->build.sums.masks, shadow, index, (vy_value){mask});
    if (k && k->u) note(r, 0, shadow, index); // that of the first invocation
}

void vy_lane_sums_add(reverse *r, uint32_t load, const uint32_t *index, uint32_t g)
{
    const built_buffer *b = &r->build.buffers[r->p->insts.data[load].aux];
    add(r, &r->build.sums.adjoints, b->adjoint, index, (vy_value){g});
    if (!b->shadow) return;
    const uint32_t mask = r->facts.maskable[load] ? r->build.mask[load] : vy_bool(r->b, true).id;
    if (mask) add_mask(r, b->shadow, index, mask);
}

// ------------------------------------------------------------------------------------------- sums
static bool is_mask(const reverse *r, const reverse_sum *s)
{
    return vy_builder_program(r->b)->buffers.data[s->to].type == VY_U32;
}

static vy_value sum_of(reverse *r, const reverse_sum *s, vy_value x, vy_value y)
{
    if (!is_mask(r, s)) return vy_add(r->b, x, y);
    return (vy_value){vy_emit(r->b, VY_OP_OR, VY_U32, 0, 2, (uint32_t[]){x.id, y.id})};
}

static vy_value part_at(reverse *r, const reverse_sum *s, vy_value at)
{
    if (!s->part) return vy_int(r->b, VY_U32, 1);
    return vy_load(r->b, (vy_buffer){s->part}, &at);
}

// Of each sum: part[at] + part[at + step] + …, `n` of them, in this order.
static void add_up(reverse *r, vy_value at, uint32_t step, uint32_t n, vy_value *result)
{
    vy_builder *b = r->b;
    const reverse_sums *s = &r->build.sums;
    vy_var sum[REVERSE_WAITING];
    for (uint32_t k = 0; k < s->count; k++)
        sum[k] = vy_var_new(b, NULL, part_at(r, &s->sum[k], at));
    const vy_value first = vy_add(b, at, vy_int(b, VY_U32, step));
    const vy_value end = vy_add(b, at, vy_int(b, VY_U32, (int64_t)n * step));
    const vy_value from = vy_for_step(b, "k", first, end, vy_int(b, VY_U32, step), false);
    for (uint32_t k = 0; k < s->count; k++) {
        if (!s->sum[k].part) continue;
        const vy_value term = part_at(r, &s->sum[k], from);
        vy_set(b, sum[k], sum_of(r, &s->sum[k], vy_get(b, sum[k]), term));
    }
    vy_end(b);
    for (uint32_t k = 0; k < s->count; k++) result[k] = vy_get(b, sum[k]);
}

// How many invocations add up the others' values before the first one adds up theirs; 1: none.  One
// that is outside the domain adds up nothing, so then all that it would add up have to be outside,
// too, as they are along one axis.
static uint32_t rows_of(const reverse *r)
{
    const uint32_t lanes = lanes_of(r);
    uint32_t rows = 1;
    if (lanes <= SERIAL || (lanes > r->p->workgroup[0] && vy_has_padding(r->p))) return 1;
    while (rows * rows < lanes) rows *= 2;
    return lanes % rows ? 1 : rows;
}

static void make_rows(reverse *r, vy_value lane, uint32_t rows)
{
    vy_builder *b = r->b;
    vy_value sum[REVERSE_WAITING];
    vy_if(b, vy_lt(b, lane, vy_int(b, VY_U32, rows)));
    add_up(r, lane, rows, lanes_of(r) / rows, sum);
    for (uint32_t k = 0; k < r->build.sums.count; k++)
        if (r->build.sums.sum[k].part)
            vy_store(b, (vy_buffer){r->build.sums.sum[k].part}, &lane, sum[k]);
    vy_end(b);
    vy_barrier(b);
}

static void add_sum(reverse *r, const reverse_sum *s, vy_value sum)
{
    uint32_t args[VY_MAX_RANK + 1];
    memcpy(args, s->index, s->rank * sizeof *args);
    args[s->rank] = sum.id;
    if (!is_mask(r, s)) {
        vy_emit_update(r->b, VY_OP_ATOMIC_ADD, VY_STRENGTH_PLAIN, s->to, s->rank + 1, args);
        return;
    }
    const vy_value have = {vy_emit(r->b, VY_OP_LOAD, VY_U32, s->to, s->rank, args)};
    args[s->rank] = sum_of(r, s, have, sum).id;
    vy_emit(r->b, VY_OP_STORE, VY_VOID, s->to, s->rank + 1, args);
}

// Where the first invocation begins: at 0, as a constant or as what has that value there.  Mesa
// unrolls a loop of constant bounds, if it is short; that takes it long to compile, and llvmpipe
// long to run.  The loads of programs with a domain test whether the invocation is inside, which
// makes the loop too long for that, and lavapipe runs one of constant bounds faster
// (docs/performance.md).
static vy_value beginning(reverse *r, vy_value lane)
{
    return r->p->overs.count ? vy_zero(r->b, VY_U32) : lane;
}

void vy_lane_sums_make(reverse *r, bool at_barrier)
{
    vy_builder *b = r->b;
    reverse_sums *s = &r->build.sums;
    vy_value sum[REVERSE_WAITING];
    if (!s->count || r->failed || vy_builder_failed(b)) return;
    const uint32_t lanes = lanes_of(r), rows = rows_of(r);
    const vy_value lane = vy_builtin_value(b, VY_LINDEX, 0), zero = vy_zero(b, VY_U32);
    vy_barrier(b);
    if (rows > 1) make_rows(r, lane, rows);
    vy_if(b, vy_eq(b, lane, zero));
    add_up(r, beginning(r, lane), 1, rows > 1 ? rows : lanes, sum);
    for (uint32_t k = 0; k < s->count; k++) add_sum(r, &s->sum[k], sum[k]);
    vy_end(b);
    s->count = s->adjoints.used = s->masks.used = 0;
    if (!at_barrier) vy_barrier(b);
}
