// SPDX-License-Identifier: MIT
// memory.c: which accesses may touch the same memory.
//
// Distinct parameters never alias (docs/language.md 3.1); views of one binding do.  Within a buffer
// two accesses do not alias only if on some axis the indices surely differ: 3 and 4, i and i+1
// (wrapping arithmetic is fine: equal sums would need equal constants).  Other invocations may
// write what is not `in` or local, but a program without races observes that only after a barrier;
// so a barrier counts as a write to all such memory.
#include "ir/facts/memory.h"

// x = base + constant, in the wrapping arithmetic of its type.
static uint32_t split(const vy_program *p, uint32_t id, uint64_t *constant)
{
    const vy_scalar *k = vy_id_const(p, id);
    *constant = 0;
    if (k) {
        *constant = k->u;
        return 0;
    }
    const vy_inst *i = VY_IS_LEAF(id) ? NULL : &p->insts.data[id];
    if (!i || (i->op != VY_OP_ADD && i->op != VY_OP_SUB)) return id;
    k = vy_id_const(p, vy_arg(p, id, 1));
    if (!k || vy_type_is_float((vy_type)i->type)) return id;
    vy_scalar by = {.u = i->op == VY_OP_ADD ? k->u : 0 - k->u};
    *constant = vy_wrap((vy_type)i->type, by).u;
    return vy_arg(p, id, 0);
}

bool vy_values_differ(const vy_program *p, uint32_t x, uint32_t y)
{
    uint64_t kx, ky;
    if (vy_id_type(p, x) != vy_id_type(p, y)) return false;
    return split(p, x, &kx) == split(p, y, &ky) && kx != ky;
}

bool vy_indices_meet(const vy_program *p, uint32_t rank, const uint32_t *x, const uint32_t *y)
{
    for (uint32_t k = 0; k < rank; k++)
        if (vy_values_differ(p, x[k], y[k])) return false;
    return true;
}

static uint32_t write_of(const vy_program *p, uint32_t id, int which)
{
    const vy_inst *i = &p->insts.data[id];
    if (i->op == VY_OP_BARRIER) return 0;
    bool writes = vy_op_infos[i->op].effect == VY_WRITE;
    bool reads = i->op == VY_OP_LOAD || vy_op_is_atomic((vy_op)i->op);
    bool counts = (writes && which & VY_COUNT_WRITES) || (reads && which & VY_COUNT_READS);
    return counts ? vy_memory_of(p, i->aux) : UINT32_MAX;
}

bool vy_writes_make(vy_writes *w, const vy_program *p, int which, vy_arena *arena)
{
    uint32_t n = p->buffers.count, total = 0;
    w->p = p;
    w->start = vy_arena_alloc(arena, ((size_t)n + 1) * sizeof *w->start);
    if (!w->start) return false;
    for (uint32_t id = 1; id < p->insts.count; id++) {
        uint32_t m = write_of(p, id, which);
        if (m != UINT32_MAX) w->start[m]++, total++;
    }
    w->at = vy_arena_alloc(arena, ((size_t)total + 1) * sizeof *w->at);
    if (!w->at) return false;
    for (uint32_t m = 0, sum = 0; m <= n; m++) { // counts become ends
        sum += w->start[m];
        w->start[m] = sum;
    }
    for (uint32_t id = p->insts.count; id-- > 1;) {
        uint32_t m = write_of(p, id, which);
        if (m != UINT32_MAX) w->at[--w->start[m]] = id;
    }
    return true;
}

uint32_t vy_first_after(const vy_writes *w, uint32_t m, uint32_t id)
{
    uint32_t lo = w->start[m], hi = w->start[m + 1];
    while (lo < hi) {
        uint32_t middle = lo + (hi - lo) / 2;
        if (w->at[middle] <= id)
            lo = middle + 1;
        else
            hi = middle;
    }
    return lo;
}

// Is there a write to memory m in from < id < to?
static bool any_between(const vy_writes *w, uint32_t m, uint32_t from, uint32_t to)
{
    uint32_t n = vy_first_after(w, m, from);
    return n < w->start[m + 1] && w->at[n] < to;
}

bool vy_barrier_between(const vy_writes *w, uint32_t from, uint32_t to)
{
    return any_between(w, 0, from, to);
}

bool vy_written_between(const vy_writes *w, uint32_t buffer, uint32_t from, uint32_t to)
{
    if (any_between(w, vy_memory_of(w->p, buffer), from, to)) return true;
    return !vy_memory_private(w->p, buffer) && vy_barrier_between(w, from, to);
}
