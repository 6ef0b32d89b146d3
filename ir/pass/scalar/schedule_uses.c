// SPDX-License-Identifier: MIT
// schedule_uses.c: moves a value with a single use next to that use.
//
//   a = f32(N)                        b = load g[0]
//   b = load g[0]              →      a = f32(N)
//   c = mul d (div b a)               c = mul d (div b a)
//
//     let v1 = f32(N);
//     let c = d * (g[0] / v1);          let c = d * (g[0] / f32(N));
//
// Passes leave instructions in the order in which they created them.  Execution does not care, but
// readers do: only instructions in the order in which an expression is evaluated can be printed as
// one expression, all others become a `let`.  And a value computed long before its use occupies a
// register.
//
// Only within a region: moving into a loop would repeat the work; into the arm of an IF, the
// reverse of ifconvert, is not attempted.  A load moves unless its buffer may be written on the
// way.  Needs valid structure; keeps lines and names.
#include "ir/pass/pass.h"
#include "ir/core/flow.h"

#include <string.h>

typedef struct order {
    vy_rewrite w;
    uint32_t *root;   // it will be computed just before this one; itself: it does not move
    vy_arena finding; // of the next two, which only find_roots needs: the rebuild takes much memory
    uint32_t *user;   // the only instruction that uses it, once; NONE: it is unused; MANY
    uint32_t *region;
    uint32_t *write; // by buffer: the nearest write after the current instruction
    uint32_t fence;  // the same for barriers and subgroup operations
    vy_id_vec stack; // scratch
} order;

enum { NONE = 0, MANY = UINT32_MAX };

static void find_users(order *o)
{
    for (uint32_t id = 1; id < o->w.p->insts.count; id++)
        for (uint32_t k = 0; k < o->w.p->insts.data[id].nargs; k++) {
            uint32_t a = vy_arg(o->w.p, id, k);
            if (!VY_IS_LEAF(a)) o->user[a] = o->user[a] == NONE ? id : MANY;
        }
}

// A region is named by its opener, or for the second arm of an IF by its ELSE.
static void find_regions(order *o)
{
    uint32_t *innermost = o->w.map; // as scratch: by opener, the region that is open
    for (uint32_t id = 1; id < o->w.p->insts.count; id++) {
        vy_op op = (vy_op)o->w.p->insts.data[id].op;
        uint32_t up = o->w.s.parent[id];
        o->region[id] = up ? innermost[up] : 0;
        if (vy_op_opens(op)) innermost[id] = id;
        if (op == VY_OP_ELSE) {
            uint32_t opener = vy_opener(o->w.p, &o->w.s, id);
            o->region[id] = innermost[opener]; // its operands are the first arm's
            innermost[opener] = id;
        } else if (vy_op_closes(op)) {
            o->region[id] = innermost[o->w.s.partner[id]];
        }
    }
}

static bool may_move(const order *o, uint32_t id)
{
    const vy_inst *i = &o->w.p->insts.data[id];
    uint32_t user = o->user[id];
    if (user == NONE || user == MANY || o->region[user] != o->region[id]) return false;
    if (vy_op_infos[i->op].effect == VY_PURE) return true;
    if (i->op != VY_OP_LOAD) return false;
    uint32_t to = o->root[user], write = o->write[i->aux];
    return write > to && o->fence > to;
}

// Backwards, so that the place of each user is already known.
static void find_roots(order *o)
{
    bool views = false;
    for (uint32_t i = 1; i < o->w.p->buffers.count; i++) {
        o->write[i] = UINT32_MAX;
        views |= o->w.p->buffers.data[i].view_of != 0;
    }
    o->fence = UINT32_MAX;
    for (uint32_t id = o->w.p->insts.count; id-- > 1;) {
        const vy_inst *i = &o->w.p->insts.data[id];
        vy_effect effect = vy_op_infos[i->op].effect;
        o->root[id] = may_move(o, id) ? o->root[o->user[id]] : id;
        if (effect == VY_WRITE) o->write[i->aux] = id;
        if (effect == VY_CONV || (effect == VY_WRITE && views)) o->fence = id;
    }
}

// Copies `id`, preceded by the values that move to it, in post-order.
static bool emit_tree(order *o, uint32_t id)
{
    vy_id_vec *stack = &o->stack;
    stack->count = 0;
    if (!vy_vec_push(stack, id) || !vy_vec_push(stack, 0u)) return false;
    while (stack->count && !vy_builder_failed(o->w.b)) {
        uint32_t top = stack->data[stack->count - 2], *k = &stack->data[stack->count - 1];
        uint32_t operand = 0;
        while (*k < o->w.p->insts.data[top].nargs && !operand) {
            uint32_t a = vy_arg(o->w.p, top, (*k)++);
            if (!VY_IS_LEAF(a) && o->root[a] != a) operand = a;
        }
        if (operand) {
            if (!vy_vec_push(stack, operand) || !vy_vec_push(stack, 0u)) return false;
            continue;
        }
        vy_rewrite_copy(&o->w, top);
        stack->count -= 2;
    }
    return true;
}

// A mask of the carries of the loop that ends at `end` which the tree of a next value reads.
static bool reads(order *o, uint32_t end, uint32_t tree, uint64_t *bits)
{
    vy_id_vec *stack = &o->stack;
    uint32_t opener = o->w.s.partner[end];
    *bits = 0;
    stack->count = 0;
    if (!vy_vec_push(stack, tree)) return false;
    while (stack->count) {
        uint32_t id = stack->data[--stack->count];
        for (uint32_t k = 0; k < o->w.p->insts.data[id].nargs; k++) {
            uint32_t a = vy_arg(o->w.p, id, k);
            if (VY_IS_LEAF(a)) continue;
            if (o->w.p->insts.data[a].op == VY_OP_CARRY && vy_arg(o->w.p, a, 0) == opener)
                *bits |= 1ull << o->w.p->insts.data[a].aux;
            else if (o->root[a] != a && !vy_vec_push(stack, a))
                return false;
        }
    }
    return true;
}

// Emits next values in an order in which each carried value is read before its variable is
// assigned, as far as there is one: otherwise the text needs copies of old values.
static bool emit_nexts(order *o, uint32_t end)
{
    enum { MOST = 64 };
    uint32_t first = vy_next_arg(o->w.p, o->w.s.partner[end]);
    uint32_t n = o->w.p->insts.data[end].nargs - first;
    uint64_t bits[MOST], left = 0;
    if (n > MOST) return true;
    for (uint32_t k = 0; k < n; k++) {
        uint32_t a = vy_arg(o->w.p, end, first + k);
        if (VY_IS_LEAF(a) || o->root[a] == a) continue;
        if (!reads(o, end, a, &bits[k])) return false;
        bits[k] &= ~(1ull << k);
        left |= 1ull << k;
    }
    while (left && !vy_builder_failed(o->w.b)) {
        uint64_t wanted = 0;
        for (uint32_t k = 0; k < n; k++) wanted |= left >> k & 1 ? bits[k] : 0;
        uint32_t k = (uint32_t)__builtin_ctzll(left & ~wanted ? left & ~wanted : left);
        uint32_t a = vy_arg(o->w.p, end, first + k);
        if (!emit_tree(o, a)) return false;
        o->root[a] = a; // done
        left &= ~(1ull << k);
    }
    return true;
}

static uint32_t instead(void *pass, uint32_t id)
{
    order *o = pass;
    if (o->root[id] != id) return id; // emitted at its use
    bool last = o->w.p->insts.data[id].op == VY_OP_ENDLOOP;
    o->w.oom |= (last && !emit_nexts(o, id)) || !emit_tree(o, id);
    return id;
}

static bool prepare_order(order *o)
{
    const size_t n = o->w.p->insts.count;
    o->root = vy_rewrite_ids(&o->w);
    o->user = vy_arena_alloc(&o->finding, n * sizeof *o->user);
    o->region = vy_arena_alloc(&o->finding, n * sizeof *o->region);
    o->write = vy_rewrite_table(&o->w, o->w.p->buffers.count * sizeof *o->write);
    return !o->w.oom && o->user && o->region;
}

static bool anything_moves(const order *o)
{
    for (uint32_t id = 1; id < o->w.p->insts.count; id++)
        if (o->root[id] != id) return true;
    return false;
}

bool vy_pass_schedule_uses(vy_program *p, vy_pass_context *c)
{
    order o = {0};
    bool ok = vy_rewrite_begin(&o.w, p) && prepare_order(&o);
    if (ok) {
        find_users(&o);
        find_regions(&o);
        find_roots(&o);
        vy_arena_free(&o.finding);
        memset(o.w.map, 0, p->insts.count * sizeof *o.w.map); // find_regions used it as scratch
        if (anything_moves(&o)) vy_rewrite_run(&o.w, instead, &o);
    }
    vy_arena_free(&o.finding);
    vy_vec_free(&o.stack);
    return vy_rewrite_end(&o.w, ok, &c->changed);
}
