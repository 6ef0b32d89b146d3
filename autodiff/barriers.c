// SPDX-License-Identifier: MIT
// barriers.c: takes out barriers that part nothing.
//
//   barrier();                     the reverse copies the primal's barriers, and replays do once more; when dead
//   (stores nobody needs: gone)    code is gone, some stand between accesses that may come in any order
//   barrier();               →  one
//
// A barrier is needed if some memory is touched both since the barrier before it, on any way there, and up to
// the next one, on any way from it, unless both only load, or both only update atomically.  Taking one out
// makes the stretches around it one, so they are tried one after the other, each on what is left.
//
// Memory in which each invocation has elements of its own (tapes), `in` buffers and local arrays need none.
#include "reverse.h"

#include <string.h>

enum {
    BITS = 64,           // memories that are told apart; the last stands for all others
    MOST_WORK = 1 << 26, // instructions visited
};

// Which memories are loaded, stored to, updated atomically.
typedef struct touch {
    uint64_t loads, stores, updates;
} touch;

typedef struct barriers {
    vy_program *p;
    vy_structure s;
    vy_arena arena;
    uint8_t *bit;  // by buffer: + 1; 0: needs no barriers
    touch *loop;   // by loop: at its head, as far as known
    touch *before; // by barrier; by IF: behind its condition; by WHILE: at its TEST
    touch *other;  // by IF: at the end of the arm that was walked first
    uint8_t *gone; // by barrier
    uint64_t work;
} barriers;

static touch both(touch x, touch y)
{
    return (touch){x.loads | y.loads, x.stores | y.stores, x.updates | y.updates};
}

static bool conflict(touch x, touch y)
{
    return (x.stores & (y.loads | y.stores | y.updates)) | (y.stores & (x.loads | x.updates)) |
           (x.loads & y.updates) | (x.updates & y.loads);
}

static bool same(touch x, touch y)
{
    return x.loads == y.loads && x.stores == y.stores && x.updates == y.updates;
}

static touch access(const barriers *b, uint32_t id)
{
    const vy_inst *i = &b->p->insts.data[id];
    touch t = {0};
    if (!vy_op_is_memory((vy_op)i->op) || !b->bit[i->aux]) return t;
    uint64_t bit = UINT64_C(1) << (b->bit[i->aux] - 1);
    if (i->op == VY_OP_LOAD)
        t.loads = bit;
    else if (vy_op_is_atomic((vy_op)i->op))
        t.updates = bit;
    else
        t.stores = bit;
    return t;
}

static bool stops(const barriers *b, uint32_t id)
{
    return b->p->insts.data[id].op == VY_OP_BARRIER && !b->gone[id];
}

// The state behind instruction `id`, walking forward; *grew: a loop's head must be walked again.
static touch forward(barriers *b, uint32_t id, touch t, bool *grew)
{
    uint32_t partner = b->s.partner[id];
    switch ((vy_op)b->p->insts.data[id].op) {
    case VY_OP_BARRIER: b->before[id] = t; return stops(b, id) ? (touch){0} : t;
    case VY_OP_IF: return b->before[id] = t;
    case VY_OP_ELSE:
        id = b->s.partner[partner];
        b->other[id] = t;
        return b->before[id];
    case VY_OP_ENDIF: return both(t, b->other[partner]);
    case VY_OP_LOOP:
    case VY_OP_WHILE: return b->loop[id] = both(t, b->loop[id]);
    case VY_OP_TEST: return b->before[partner] = t;
    case VY_OP_ENDLOOP: {
        touch head = both(t, b->loop[partner]);
        *grew |= !same(head, b->loop[partner]);
        b->loop[partner] = head;
        return both(head, b->before[partner]);
    }
    default: return both(t, access(b, id));
    }
}

// The state ahead of instruction `id`, walking backward; *after: what it is behind a barrier.
static touch backward(barriers *b, uint32_t id, touch t, bool *grew)
{
    uint32_t partner = b->s.partner[id];
    switch ((vy_op)b->p->insts.data[id].op) {
    case VY_OP_BARRIER: return stops(b, id) ? (touch){0} : t;
    case VY_OP_ENDIF: return b->other[partner] = t; // behind the construct
    case VY_OP_ELSE: {
        uint32_t opener = b->s.partner[partner];
        touch behind = b->other[opener];
        b->other[opener] = t; // ahead of the second arm
        return behind;
    }
    case VY_OP_IF: return both(t, b->other[id]);
    case VY_OP_ENDLOOP: b->other[partner] = t; return both(t, b->loop[partner]);
    case VY_OP_TEST: return both(t, b->other[partner]);
    case VY_OP_LOOP:
    case VY_OP_WHILE: {
        touch ahead = both(t, b->other[id]);
        *grew |= !same(both(ahead, b->loop[id]), b->loop[id]);
        b->loop[id] = both(ahead, b->loop[id]);
        return b->loop[id];
    }
    default: return both(t, access(b, id));
    }
}

static void walk_forward(barriers *b)
{
    uint32_t n = b->p->insts.count;
    memset(b->loop, 0, n * sizeof *b->loop);
    memset(b->before, 0, n * sizeof *b->before);
    for (bool grew = true; grew;) {
        touch t = {0};
        grew = false;
        for (uint32_t id = 1; id < n; id++) t = forward(b, id, t, &grew);
        b->work += n;
    }
}

// The first barrier that parts nothing, or 0.
static uint32_t find_useless(barriers *b)
{
    uint32_t n = b->p->insts.count, found = 0;
    walk_forward(b);
    memset(b->loop, 0, n * sizeof *b->loop);
    for (bool grew = true; grew;) {
        touch t = {0};
        grew = false;
        found = 0;
        for (uint32_t id = n; id-- > 1;) {
            if (stops(b, id) && !conflict(b->before[id], t)) found = id;
            t = backward(b, id, t, &grew);
        }
        b->work += n;
    }
    return found;
}

// -------------------------------------------------------------------------------- which memories
// Axes on which access `id` has domain variable `v` itself.
static uint32_t axes_of(const vy_program *p, uint32_t id, uint32_t v)
{
    uint32_t axes = 0;
    for (uint32_t k = 0; k < p->buffers.data[p->insts.data[id].aux].rank; k++) {
        uint32_t a = vy_arg(p, id, k);
        const vy_leaf *l = VY_IS_LEAF(a) ? &p->leaves.data[VY_LEAF_INDEX(a)] : NULL;
        if (l && l->kind == VY_LEAF_OVER && l->index == v) axes |= 1u << k;
    }
    return axes;
}

// Has each invocation elements of its own: is, for each domain variable, some axis that variable in all
// accesses?  (As in ir/owner.c.)
static bool find_owned(const barriers *b, uint8_t *own)
{
    const vy_program *p = b->p;
    uint32_t overs = p->overs.count;
    uint32_t *axes = vy_realloc(NULL, ((size_t)p->buffers.count * overs + 1) * sizeof *axes);
    if (!axes) return false;
    memset(axes, 0xFF, (size_t)p->buffers.count * overs * sizeof *axes);
    for (uint32_t id = 1; id < p->insts.count; id++) {
        const vy_inst *i = &p->insts.data[id];
        if (!vy_op_is_memory((vy_op)i->op) || i->op == VY_OP_ZERO) continue;
        for (uint32_t v = 0; v < overs; v++) axes[i->aux * overs + v] &= axes_of(p, id, v);
    }
    for (uint32_t i = 1; i < p->buffers.count && overs; i++) {
        own[i] = 1;
        for (uint32_t v = 0; v < overs; v++) own[i] &= axes[i * overs + v] != 0;
    }
    vy_free(axes);
    return true;
}

static bool number_memories(const reverse *r, barriers *b, uint8_t *own)
{
    const vy_program *p = b->p;
    uint32_t next = 0;
    if (!find_owned(b, own)) return false;
    for (uint32_t id = 1; id < r->p->insts.count && !r->counting; id++)
        if (r->tape[id]) own[r->tape[id]] = 1;
    for (uint32_t i = 1; i < r->p->buffers.count && !r->counting; i++)
        if (r->buffers[i].exclusive && r->p->buffers.data[i].cls == VY_IN)
            own[r->buffers[i].adjoint] = 1;
    for (uint32_t i = 1; i < p->buffers.count; i++) {
        bool shared = p->buffers.data[i].cls == VY_SHARED;
        if (shared || (!vy_memory_private(p, i) && !own[i]))
            b->bit[i] = (uint8_t)(next < BITS ? ++next : BITS);
    }
    for (uint32_t i = 1; i < p->buffers.count; i++) // names of one memory: as the last
        if (p->buffers.data[i].view_of) b->bit[i] = b->bit[p->buffers.data[i].view_of] = BITS;
    return true;
}

static bool prepare(barriers *b)
{
    size_t n = b->p->insts.count;
    b->bit = vy_arena_alloc(&b->arena, b->p->buffers.count);
    b->loop = vy_arena_alloc(&b->arena, n * sizeof *b->loop);
    b->before = vy_arena_alloc(&b->arena, n * sizeof *b->before);
    b->other = vy_arena_alloc(&b->arena, n * sizeof *b->other);
    b->gone = vy_arena_alloc(&b->arena, n);
    return b->bit && b->loop && b->before && b->other && b->gone && vy_structure_make(b->p, &b->s);
}

static bool take_out(barriers *b)
{
    const vy_program *p = b->p;
    uint32_t *map = vy_arena_alloc(&b->arena, p->insts.count * sizeof *map);
    vy_builder *fresh = map ? vy_rebuild_begin(b->p) : NULL;
    if (!fresh) {
        vy_fail_oom(p->module);
        return false;
    }
    for (uint32_t id = 1; id < p->insts.count; id++)
        if (!b->gone[id]) vy_copy_inst(fresh, p, id, map);
    return vy_pass_finish(fresh, b->p);
}

bool vy_reverse_barriers(const reverse *r, vy_program *p)
{
    barriers b = {.p = p};
    bool any = false;
    if (!r->phased) return true;
    uint8_t *own = vy_arena_alloc(&b.arena, p->buffers.count);
    bool ok = own && prepare(&b) && number_memories(r, &b, own);
    if (!ok) vy_fail_oom(p->module);
    while (ok && b.work < MOST_WORK) {
        uint32_t id = find_useless(&b);
        if (!id) break;
        b.gone[id] = any = true;
    }
    if (any) ok = take_out(&b);
    vy_structure_free(&b.s);
    vy_arena_free(&b.arena);
    return ok;
}
