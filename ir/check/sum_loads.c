// SPDX-License-Identifier: MIT
// sum_loads.c: loads of `out` buffers that only start a sum.
//
//   y[i] += e;                        out buffers start as zero, and this adds to the zero
//   for k in 0..n { y[i] += e(k); }   also with the load before the loop and the store after it
//                                     (promote.c)
//
// The loaded value flows only into sums, and differences from which other terms are subtracted,
// that are stored to the element it came from, also through what loops carry and arms yield.  It
// has no other use.
#include "ir/check/check.h"
#include "ir/core/access.h"
#include "ir/core/flow.h"

typedef struct flow {
    const vy_program *p;
    const vy_structure *s;
    uint32_t *first; // by id: index of its first use in `user` and `place`; [n]: number of uses
    uint32_t *user, *place;
    uint32_t *seen; // by id: the last load whose value was found to flow into it
    vy_id_vec todo;
} flow;

static bool list_uses(flow *f)
{
    const vy_program *p = f->p;
    const uint32_t n = p->insts.count;
    f->first = vy_realloc(NULL, (n + 2) * sizeof *f->first);
    f->user = vy_realloc(NULL, (p->args.count + 1) * sizeof *f->user);
    f->place = vy_realloc(NULL, (p->args.count + 1) * sizeof *f->place);
    f->seen = vy_realloc(NULL, (n + 1) * sizeof *f->seen);
    if (!f->first || !f->user || !f->place || !f->seen) return false;
    for (uint32_t id = 0; id < n + 2; id++) f->first[id] = 0;
    for (uint32_t id = 0; id <= n; id++) f->seen[id] = 0;
    for (uint32_t id = 1; id < n; id++)
        for (uint32_t k = 0; k < p->insts.data[id].nargs; k++) {
            const uint32_t a = vy_arg(p, id, k);
            // CARRYs have their loop as an operand and count as uses of its variable
            if (!VY_IS_LEAF(a)) f->first[a + 2]++;
        }
    for (uint32_t id = 1; id < n + 2; id++) f->first[id] += f->first[id - 1];
    for (uint32_t id = 1; id < n; id++)
        for (uint32_t k = 0; k < p->insts.data[id].nargs; k++) {
            const uint32_t a = vy_arg(p, id, k);
            if (VY_IS_LEAF(a)) continue;
            f->user[f->first[a + 1]] = id;
            f->place[f->first[a + 1]++] = k;
        }
    return true;
}

static bool push(flow *f, uint32_t load, uint32_t id)
{
    if (f->seen[id] == load) return true;
    f->seen[id] = load;
    return vy_vec_push(&f->todo, id);
}

// Follows operand `place` of a structure marker to the CARRY and RESULT that take it.
static bool through_marker(flow *f, uint32_t load, uint32_t id, uint32_t place, bool *fine)
{
    const vy_program *p = f->p;
    const vy_op op = (vy_op)p->insts.data[id].op;
    if (vy_is_slot(op)) return true; // the operand only names the construct
    const uint32_t opener = vy_opener(p, f->s, id), skip = vy_control_args(p, f->s, id);
    *fine = place >= skip;
    if (!*fine) return true;
    const uint32_t k = place - skip;
    return (!vy_is_loop((vy_op)p->insts.data[opener].op) || push(f, load, vy_carry(opener, k))) &&
           push(f, load, vy_result(p, f->s, opener, k));
}

static bool follow(flow *f, uint32_t load, uint32_t id, uint32_t place, bool *fine)
{
    const vy_inst *i = &f->p->insts.data[id];
    switch ((vy_op)i->op) {
    case VY_OP_ADD: return push(f, load, id);
    case VY_OP_SUB: *fine = place == 0; return push(f, load, id);
    case VY_OP_FMA: *fine = place == 2; return push(f, load, id);
    case VY_OP_STORE: *fine = place + 1 == i->nargs && vy_same_element(f->p, load, id); return true;
    default: break;
    }
    if (vy_is_marker((vy_op)i->op)) return through_marker(f, load, id, place, fine);
    *fine = false;
    return true;
}

static bool starts_sum(const vy_program *p, uint32_t id) // perhaps
{
    const vy_inst *i = &p->insts.data[id];
    return i->op == VY_OP_LOAD && p->buffers.data[i->aux].cls == VY_OUT;
}

static bool find(const vy_program *p, const vy_structure *s, uint8_t *sum)
{
    flow f = {.p = p, .s = s};
    bool ok = list_uses(&f);
    // The values a load flows into are visited anew for each load: a bound for malicious programs.
    uint64_t left = 64 * (uint64_t)(p->insts.count + p->args.count);
    for (uint32_t load = 1; ok && load < p->insts.count; load++) {
        bool fine = left > 0;
        if (!starts_sum(p, load)) continue;
        f.todo.count = 0;
        ok = push(&f, load, load);
        while (ok && fine && f.todo.count) {
            const uint32_t id = f.todo.data[--f.todo.count];
            for (uint32_t u = f.first[id]; ok && fine && u<f.first[id + 1]; u++, left -= left> 0)
                ok = follow(&f, load, f.user[u], f.place[u], &fine);
        }
        sum[load] = fine;
    }
    vy_free(f.first);
    vy_free(f.user);
    vy_free(f.place);
    vy_free(f.seen);
    vy_vec_free(&f.todo);
    return ok;
}

bool vy_find_sum_loads(const vy_program *p, const vy_structure *s, uint8_t *sum)
{
    bool any = false;
    for (uint32_t id = 1; id < p->insts.count; id++) {
        sum[id] = 0;
        any |= starts_sum(p, id);
    }
    return !any || find(p, s, sum);
}
