// SPDX-License-Identifier: MIT
// fuse_loops.c: adjacent loops over the same range become one.
//
//   for k in 0..n { a += f(x[k]); }             for k in 0..n {
//   let c = z[i];                          →        a += f(x[k]);
//   for k in 0..n { b += c * f(x[k]); }             b += c * f(x[k]);    // f(x[k]) computed once
//   y[i] = a + b;                               }
//
// The gathered and the own contributions to a gradient (autodiff/gather/gather.c) are two loops
// over the same points, and the backward sweep of a row walks it repeatedly.  What such loops have
// in common, above all loads, is shared by the builder once they are one.
//
// Iteration k of the second then runs before iterations k+1, k+2, … of the first.  This is
// unobservable if
//   - both are counted, with the same bounds, step and direction, and neither can be left early;
//     the second may have the other direction if its iterations may run in either (sum_order.c):
//     what it writes is indexed by its counter, too, or only added to, and a gradient
//   - the second uses no result of the first: neither in its body, nor as an initial value (a sum
//     that continues the first one's sum would be added up in another order)
//   - memory that one of them writes and both access is indexed by the loop's own counter on one
//     axis, in every access of both: then different iterations access different elements, and
//     within one iteration the order stays
//   - there is no barrier, subgroup operation or clearing of a shared array in or between them
// Instructions between them may be values and loads only; they are computed before both loops, or
// after both if they use results of the first.  Loops that access no common memory are not fused:
// there is little to share, and the sum of each would occupy registers during the other.
//
// Pairs are fused, also inside fused loops, until there are none, in at most ROUNDS rounds.  Needs
// valid structure; keeps lines and names, and the order of everything else.
#include "ir/facts/memory.h"
#include "ir/pass/pass.h"
#include "ir/pass/scalar/sum_order.h"

// How a loop accesses some memory.
typedef struct touch {
    uint32_t loop;   // the loop that this describes, or 0
    uint32_t buffer; // as which buffer the memory is accessed
    uint32_t axes;   // mask of axes on which every index is the counter
    bool writes;
    bool adds; // to a gradient, and does nothing else with it
} touch;

typedef struct fuse_loops {
    vy_rewrite w;
    touch *first, *second; // by memory: for the two loops of the current pair
    uint32_t *next;        // by LOOP: the one it is fused with, or 0
    uint8_t *taken;        // by LOOP: it is another one's next
    uint8_t *late;         // by instruction between two loops: it moves after them
    vy_sum_order order;
    bool any;
} fuse_loops;

static uint32_t end_of(const fuse_loops *f, uint32_t loop) { return f->w.s.partner[loop]; }

static uint32_t slots(const fuse_loops *f, uint32_t loop)
{
    return f->w.p->insts.data[end_of(f, loop)].nargs;
}

// The first instruction after the loop and its results.
static uint32_t after(const fuse_loops *f, uint32_t loop)
{
    return end_of(f, loop) + 1 + slots(f, loop);
}

// ------------------------------------------------------------------------------------------ memory
static uint32_t counter_axes(const vy_program *p, uint32_t loop, uint32_t id)
{
    uint32_t rank = p->buffers.data[p->insts.data[id].aux].rank, axes = 0;
    if (p->insts.data[id].op == VY_OP_ZERO) return 0;
    for (uint32_t k = 0; k < rank && k < 32; k++)
        if (vy_arg(p, id, k) == loop) axes |= 1u << k;
    return axes;
}

static void note(const fuse_loops *f, touch *table, uint32_t loop, uint32_t id)
{
    const vy_program *p = f->w.p;
    uint32_t buffer = p->insts.data[id].aux;
    touch *t = &table[vy_memory_of(p, buffer)];
    if (t->loop != loop)
        *t = (touch){.loop = loop, .buffer = buffer, .axes = UINT32_MAX, .adds = true};
    // Views of the same memory have other shapes.
    t->axes &= t->buffer == buffer ? counter_axes(p, loop, id) : 0;
    t->writes |= vy_op_infos[p->insts.data[id].op].effect == VY_WRITE;
    t->adds &= p->insts.data[id].op == VY_OP_ATOMIC_ADD &&
               vy_is_gradient(p->buffers.data[buffer].role.kind);
}

// Notes what a loop accesses.  False: it does something that is ordered with other invocations.
static bool note_all(const fuse_loops *f, touch *table, uint32_t loop)
{
    const vy_program *p = f->w.p;
    for (uint32_t id = loop + 1; id < end_of(f, loop); id++) {
        vy_op op = (vy_op)p->insts.data[id].op;
        if (vy_op_infos[op].effect == VY_CONV || vy_clears_shared(p, id)) return false;
        if (vy_op_is_memory(op)) note(f, table, loop, id);
    }
    return true;
}

static bool written(const fuse_loops *f, const touch *table, uint32_t loop, uint32_t load)
{
    const touch *t = &table[vy_memory_of(f->w.p, f->w.p->insts.data[load].aux)];
    return t->loop == loop && t->writes;
}

// May iterations of the second run before later iterations of the first, and is there anything to
// share?
static bool memory_allows(const fuse_loops *f, uint32_t loop, uint32_t next)
{
    bool common = false;
    for (uint32_t id = next + 1; id < end_of(f, next); id++) {
        if (!vy_op_is_memory((vy_op)f->w.p->insts.data[id].op)) continue;
        uint32_t m = vy_memory_of(f->w.p, f->w.p->insts.data[id].aux);
        const touch *x = &f->first[m], *y = &f->second[m];
        if (x->loop != loop) continue;
        common = true;
        if (!x->writes && !y->writes) continue;
        if (x->buffer != y->buffer || !(x->axes & y->axes)) return false;
    }
    return common;
}

// ------------------------------------------------------------------------------------------- pairs
static bool same_range(const fuse_loops *f, uint32_t x, uint32_t y)
{
    const vy_program *p = f->w.p;
    const vy_inst *i = &p->insts.data[x], *j = &p->insts.data[y];
    if (i->type != j->type || vy_exits(p, x) || vy_exits(p, y)) return false;
    for (uint32_t k = 0; k < 3; k++)
        if (vy_arg(p, x, k) != vy_arg(p, y, k)) return false;
    return true;
}

// Do both run in one direction, or may the second take that of the first?  Each of its iterations
// must then access elements of its own of what it writes, or add to a gradient, as other
// invocations do meanwhile.
static bool same_direction(fuse_loops *f, uint32_t loop, uint32_t next)
{
    const vy_program *p = f->w.p;
    if (p->insts.data[loop].flags == p->insts.data[next].flags) return true;
    for (uint32_t id = next + 1; id < end_of(f, next); id++) {
        if (!vy_op_is_memory((vy_op)p->insts.data[id].op)) continue;
        const touch *t = &f->second[vy_memory_of(p, p->insts.data[id].aux)];
        if (t->writes && !t->axes && !t->adds) return false;
    }
    return vy_sums_commute(&f->order, next, &f->w.arena, &f->w.oom);
}

// Does `id` use a result of the loop, or a value that has to be computed after it?
static bool uses(const fuse_loops *f, uint32_t loop, uint32_t id)
{
    const vy_program *p = f->w.p;
    for (uint32_t k = 0; k < p->insts.data[id].nargs; k++) {
        uint32_t a = vy_arg(p, id, k);
        if (VY_IS_LEAF(a) || a < end_of(f, loop)) continue;
        if (a < after(f, loop) || f->late[a]) return true;
    }
    return false;
}

static bool is_loop(const fuse_loops *f, uint32_t id)
{
    return id < f->w.p->insts.count && f->w.p->insts.data[id].op == VY_OP_LOOP;
}

// Decides for each instruction between two loops whether it moves before or after both.  False: one
// can do neither.
static bool place_between(const fuse_loops *f, uint32_t loop, uint32_t next)
{
    const vy_program *p = f->w.p;
    for (uint32_t id = after(f, loop); id < next; id++) {
        f->late[id] = uses(f, loop, id);
        if (p->insts.data[id].op != VY_OP_LOAD) continue;
        if (f->late[id] ? written(f, f->second, next, id) : written(f, f->first, loop, id))
            return false;
    }
    for (uint32_t id = next; id < end_of(f, next) + 1; id++)
        if (uses(f, loop, id)) return false;
    return true;
}

// The loop after `loop` that can be fused with it, or 0.
static uint32_t find_next(fuse_loops *f, uint32_t loop)
{
    enum { FAR = 64 };
    const vy_program *p = f->w.p;
    uint32_t next = after(f, loop);
    for (uint32_t n = 0; n < FAR && next < p->insts.count && !is_loop(f, next); n++, next++) {
        vy_effect effect = vy_op_infos[p->insts.data[next].op].effect;
        if (effect != VY_PURE && effect != VY_READ) return 0;
    }
    if (!is_loop(f, next) || f->w.s.parent[next] != f->w.s.parent[loop]) return 0;
    if (!same_range(f, loop, next) || !note_all(f, f->first, loop)) return 0;
    if (!note_all(f, f->second, next) || !memory_allows(f, loop, next)) return 0;
    return place_between(f, loop, next) && same_direction(f, loop, next) ? next : 0;
}

// ---------------------------------------------------------------------------------------- the copy
static uint32_t fuse_with_next(void *pass, uint32_t id);

// The values that were between the loops.
static void copy_between(fuse_loops *f, uint32_t loop, uint32_t next, bool late)
{
    for (uint32_t id = after(f, loop); id < next && !vy_rewrite_stopped(&f->w); id++)
        if (f->late[id] == late) vy_rewrite_moved(&f->w, id, NULL, f->w.map);
}

static void fuse_pair(fuse_loops *f, uint32_t loop, uint32_t next)
{
    vy_rewrite *w = &f->w;
    uint32_t n = slots(f, loop), m = slots(f, next);
    vy_remade l;
    copy_between(f, loop, next, false);
    if (!vy_remake(w, &l, loop, m)) return;
    for (uint32_t k = 0; k < m; k++) l.in[n + k] = vy_new(w, vy_slot_init(w->p, next, k));
    vy_remake_begin(w, &l);
    w->map[next] = w->map[loop];
    vy_rewrite_slots(w, next, m, l.out + n);
    vy_remake_body(w, &l, fuse_with_next, f);
    vy_rewrite_range(w, next + 1 + m, end_of(f, next), fuse_with_next, f);
    vy_remake_next(w, &l);
    for (uint32_t k = 0; k < m && !vy_rewrite_stopped(w); k++)
        l.in[n + k] = vy_new(w, vy_slot_next(w->p, &w->s, next, k));
    vy_remake_end(w, &l);
    vy_rewrite_slots(w, end_of(f, next), m, l.out + n);
    copy_between(f, loop, next, true);
}

// Recursion is as deep as loops nest.
static uint32_t fuse_with_next(void *pass, uint32_t id)
{
    fuse_loops *f = pass;
    uint32_t next = f->next[id];
    if (!next) return 0;
    fuse_pair(f, id, next);
    return after(f, next) - 1;
}

static bool make_touches(fuse_loops *f)
{
    f->order = (vy_sum_order){.p = f->w.p, .s = &f->w.s};
    f->next = vy_rewrite_ids(&f->w);
    f->taken = vy_rewrite_bytes(&f->w);
    f->late = vy_rewrite_bytes(&f->w);
    f->first = vy_rewrite_table(&f->w, f->w.p->buffers.count * sizeof *f->first);
    f->second = vy_rewrite_table(&f->w, f->w.p->buffers.count * sizeof *f->second);
    return !f->w.oom;
}

static void find_pairs(fuse_loops *f)
{
    for (uint32_t id = 1; id < f->w.p->insts.count; id++) {
        if (!is_loop(f, id) || f->taken[id]) continue;
        uint32_t next = find_next(f, id);
        if (!next) continue;
        f->next[id] = next;
        f->taken[next] = 1;
        f->any = true;
    }
}

bool vy_pass_fuse_loops(vy_program *p, vy_pass_context *c)
{
    if (!(vy_constructs(p) & VY_LOOPS)) return true;
    enum { ROUNDS = 16 };
    bool ok = true, again = true;
    for (uint32_t round = 0; ok && again && round < ROUNDS; round++) {
        fuse_loops f = {0};
        again = false;
        ok = vy_rewrite_begin(&f.w, p) && make_touches(&f);
        if (ok) find_pairs(&f);
        if (ok && f.any && !f.w.oom) vy_rewrite_run(&f.w, fuse_with_next, &f);
        ok = vy_rewrite_end(&f.w, ok, &again);
        c->changed |= again;
    }
    return ok;
}
