// SPDX-License-Identifier: MIT
// whole_counts.c: loads from shared arrays that count: a stored value or a condition certainly
// depends on them.
//
//   v = v + t[7 - lid.x];                 counts, whichever arm is taken
//   let u = t[lid.x + 1];                 does not: the optimiser may have hoisted it from the arm,
//   if i + 1 < N { v = v + u; }           or made a select of the `if`
//
// A forward analysis: each value has the set of loads on which it depends whatever conditions say;
// a value chosen by a condition has the intersection of both sides.  Loads inside an arm stay in
// the set, since the walk of the lanes knows whether they were executed.  Sets are 64 loads at a
// time.  Values start with all loads and lose those of which their operands do not certainly
// consist: sets only shrink (ir/core/dataflow.h).
#include "spirv/facts/whole.h"

#include <string.h>

typedef struct counting {
    const vy_program *p;
    const vy_structure *s;
    const vy_whole_uses *u;
    vy_dataflow *flow;
    // By instruction: the opener of the arm or loop that decides whether it executes; 0: it does.
    uint32_t *guard;
    uint32_t *before; // by instruction: how many loads from shared arrays come before it
    uint64_t *made;   // by instruction: on which of the 64 loads from `first` on its value depends
    uint32_t first;
} counting;

// ----------------------------------------------------------------------------------------- guards
// The guard of an arm is its IF or ELSE.  That of a body is its loop, unless all invocations
// certainly run the same iterations.
static bool runs_same_iterations(const counting *c, uint32_t opener)
{
    const vy_inst *i = &c->p->insts.data[opener];
    return i->op == VY_OP_LOOP && c->u->shared[opener] && !vy_exits(c->p, opener);
}

static void find_guards(counting *c)
{
    c->guard[0] = 0;
    for (uint32_t id = 1; id < c->p->insts.count; id++) {
        const uint32_t up = c->s->parent[id], middle = c->s->partner[up];
        const vy_op op = up ? (vy_op)c->p->insts.data[up].op : VY_OP_CHECKPOINT;
        if (op == VY_OP_IF)
            c->guard[id] = vy_in_then(c->s, up, id) ? up : middle;
        else if (op != VY_OP_CHECKPOINT && !runs_same_iterations(c, up))
            c->guard[id] = up;
        else
            c->guard[id] = c->guard[up];
    }
}

// ------------------------------------------------------------------------------------------- sets
static bool is_load(const vy_program *p, uint32_t id)
{
    const vy_inst *i = &p->insts.data[id];
    return i->op == VY_OP_LOAD && p->buffers.data[i->aux].cls == VY_SHARED;
}

static uint64_t below(const counting *c, uint32_t id)
{
    const uint32_t n = c->before[id];
    return n <= c->first        ? 0
           : n - c->first >= 64 ? UINT64_MAX
                                : (UINT64_C(1) << (n - c->first)) - 1;
}

// The loads among the instructions in [from, to).
static uint64_t inside(const counting *c, uint32_t from, uint32_t to)
{
    return below(c, to) & ~below(c, from);
}

static uint64_t made_of(const counting *c, uint32_t id) { return VY_IS_LEAF(id) ? 0 : c->made[id]; }

static uint64_t made_of_args(const counting *c, uint32_t id, uint32_t n)
{
    uint64_t all = 0;
    for (uint32_t k = 0; k < n; k++) all |= made_of(c, vy_arg(c->p, id, k));
    return all;
}

static uint64_t made_of_result(const counting *c, uint32_t id)
{
    const uint32_t opener = vy_opener(c->p, c->s, id), end = vy_closer(c->p, c->s, opener),
                   k = c->p->insts.data[id].aux;
    const vy_op op = (vy_op)c->p->insts.data[opener].op;
    if (op == VY_OP_IF) {
        const uint32_t middle = c->s->partner[opener];
        const uint64_t x = made_of(c, vy_slot_then(c->p, c->s, opener, k)),
                       y = made_of(c, vy_slot_yield(c->p, c->s, opener, k));
        return (x & y) | (x & inside(c, opener, middle)) | (y & inside(c, middle, end));
    }
    if (op == VY_OP_CHECKPOINT) return made_of(c, vy_slot_yield(c->p, c->s, opener, k));
    const uint64_t x = made_of(c, vy_slot_init(c->p, opener, k)),
                   y = made_of(c, vy_slot_next(c->p, c->s, opener, k));
    return runs_same_iterations(c, opener) ? y : (x & y) | (y & inside(c, opener, end));
}

static uint64_t made(const counting *c, uint32_t id)
{
    const vy_inst *i = &c->p->insts.data[id];
    const uint32_t opener = i->op == VY_OP_CARRY ? vy_arg(c->p, id, 0) : 0;
    switch ((vy_op)i->op) {
    case VY_OP_CARRY:
        return made_of(c, vy_slot_init(c->p, opener, i->aux)) &
               made_of(c, vy_slot_next(c->p, c->s, opener, i->aux));
    case VY_OP_RESULT: return made_of_result(c, id);
    case VY_OP_SELECT:
        return made_of(c, vy_arg(c->p, id, 0)) |
               (made_of(c, vy_arg(c->p, id, 1)) & made_of(c, vy_arg(c->p, id, 2)));
    default:
        return made_of_args(c, id, vy_value_args(c->p, id)) |
               (is_load(c->p, id) ? inside(c, id, id + 1) : 0);
    }
}

static void find_made(counting *c)
{
    memset(c->made, 0xff, c->p->insts.count * sizeof *c->made);
    vy_dataflow_push_all(c->flow);
    for (uint32_t id; (id = vy_dataflow_pop(c->flow));) {
        const uint64_t x = made(c, id);
        if (x != c->made[id]) vy_dataflow_push_users(c->flow, id);
        c->made[id] = x;
    }
}

// Loads on which the value stored or the condition tested at `id` depends, without those before the
// guard that decides whether `id` is executed.
static uint64_t needed(const counting *c, uint32_t id)
{
    const vy_op op = (vy_op)c->p->insts.data[id].op;
    const bool write = vy_op_infos[op].effect == VY_WRITE;
    const uint32_t n = write ? c->p->insts.data[id].nargs : vy_control_args(c->p, c->s, id);
    const uint32_t guard =
        c->guard[op == VY_OP_TEST ? c->s->parent[id] : id]; // the first test always executes
    return n ? made_of_args(c, id, n) & ~below(c, guard) : 0;
}

static void mark(const counting *c)
{
    uint64_t all = 0;
    for (uint32_t id = 1; id < c->p->insts.count; id++) all |= needed(c, id);
    for (uint32_t id = 1; id < c->p->insts.count; id++)
        if (is_load(c->p, id) && all & inside(c, id, id + 1)) c->u->counts[id] = 1;
}

static void find_counted(counting *c)
{
    const uint32_t n = c->p->insts.count;
    uint32_t loads = 0;
    for (uint32_t id = 0; id <= n; id++) {
        c->before[id] = loads;
        loads += id && id < n && is_load(c->p, id);
    }
    for (c->first = 0; c->first < loads; c->first += 64) {
        find_made(c);
        mark(c);
    }
}

bool vy_whole_find_counting(vy_dataflow *flow, const vy_whole_uses *u)
{
    const size_t n = flow->p->insts.count;
    counting c = {.p = flow->p, .s = flow->s, .u = u, .flow = flow};
    c.guard = vy_realloc(NULL, n * sizeof *c.guard);
    c.before = vy_realloc(NULL, (n + 1) * sizeof *c.before);
    c.made = vy_realloc(NULL, n * sizeof *c.made);
    const bool ok = c.guard && c.before && c.made;
    if (ok) {
        find_guards(&c);
        find_counted(&c);
    }
    vy_free(c.guard);
    vy_free(c.before);
    vy_free(c.made);
    return ok;
}
