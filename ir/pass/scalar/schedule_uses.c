// SPDX-License-Identifier: MIT
// schedule_uses.c: a value that is used once moves to where it is used.
//
//   a = f32(N)                        b = load g[0]
//   b = load g[0]              →      a = f32(N)
//   c = mul d (div b a)               c = mul d (div b a)
//
//     let v1 = f32(N);
//     let c = d * (g[0] / v1);          let c = d * (g[0] / f32(N));
//
// Passes leave instructions in the order in which they thought of them.  Execution does not care, but
// readers do: only what stands in the order in which an expression is evaluated can be printed as one,
// everything else becomes a `let`.  And a value that waits for its use takes a register meanwhile.
//
// Only within a region: into a loop would repeat the work, into an arm is ifconvert's business.  A load
// moves unless its buffer may be written on the way.  Needs valid structure; keeps lines and names.
#include "ir/pass/pass.h"
#include "ir/core/flow.h"

#include <string.h>

typedef struct order {
    const vy_program *p;
    vy_structure s;
    uint32_t *user; // the one instruction that uses it, once; NONE: nobody; MANY
    uint32_t *root; // where it will be computed: just before this one, or itself
    uint32_t *region;
    uint32_t *write; // by buffer: the nearest write behind the place that is looked at
    uint32_t fence;  // the same for barriers and subgroup operations
    uint32_t *map;
} order;

enum { NONE = 0, MANY = UINT32_MAX };

static void find_users(order *o)
{
    for (uint32_t id = 1; id < o->p->insts.count; id++)
        for (uint32_t k = 0; k < o->p->insts.data[id].nargs; k++) {
            uint32_t a = vy_arg(o->p, id, k);
            if (!VY_IS_LEAF(a)) o->user[a] = o->user[a] == NONE ? id : MANY;
        }
}

// The opener, or for the second arm of an IF its ELSE.
static void find_regions(order *o)
{
    uint32_t *innermost = o->map; // scratch: by opener, the arm that is open
    for (uint32_t id = 1; id < o->p->insts.count; id++) {
        vy_op op = (vy_op)o->p->insts.data[id].op;
        uint32_t up = o->s.parent[id];
        o->region[id] = up ? innermost[up] : 0;
        if (vy_op_opens(op)) innermost[id] = id;
        if (op == VY_OP_ELSE) {
            uint32_t opener = o->s.partner[o->s.partner[id]];
            o->region[id] = innermost[opener]; // its operands are the first arm's
            innermost[opener] = id;
        } else if (vy_op_closes(op)) {
            o->region[id] = innermost[o->s.partner[id]];
        }
    }
}

static bool may_move(const order *o, uint32_t id)
{
    const vy_inst *i = &o->p->insts.data[id];
    uint32_t user = o->user[id];
    if (user == NONE || user == MANY || o->region[user] != o->region[id]) return false;
    if (vy_op_infos[i->op].effect == VY_PURE) return true;
    if (i->op != VY_OP_LOAD) return false;
    uint32_t to = o->root[user], write = o->write[i->aux];
    return write > to && o->fence > to;
}

// Backwards, so that it is known where users go.
static void find_roots(order *o)
{
    bool views = false;
    for (uint32_t i = 1; i < o->p->buffers.count; i++) {
        o->write[i] = UINT32_MAX;
        views |= o->p->buffers.data[i].view_of != 0;
    }
    o->fence = UINT32_MAX;
    for (uint32_t id = o->p->insts.count; id-- > 1;) {
        const vy_inst *i = &o->p->insts.data[id];
        vy_effect effect = vy_op_infos[i->op].effect;
        o->root[id] = may_move(o, id) ? o->root[o->user[id]] : id;
        if (effect == VY_WRITE) o->write[i->aux] = id;
        if (effect == VY_CONV || (effect == VY_WRITE && views)) o->fence = id;
    }
}

// Copies `id` after the values that were to wait for it, each after those that were to wait for it.
static bool emit_tree(order *o, vy_builder *b, uint32_t id, vy_id_vec *stack)
{
    stack->count = 0;
    if (!vy_vec_push(stack, id) || !vy_vec_push(stack, 0u)) return false;
    while (stack->count && !vy_builder_failed(b)) {
        uint32_t top = stack->data[stack->count - 2], *k = &stack->data[stack->count - 1];
        uint32_t wait = 0;
        while (*k < o->p->insts.data[top].nargs && !wait) {
            uint32_t a = vy_arg(o->p, top, (*k)++);
            if (!VY_IS_LEAF(a) && o->root[a] != a) wait = a;
        }
        if (wait) {
            if (!vy_vec_push(stack, wait) || !vy_vec_push(stack, 0u)) return false;
            continue;
        }
        vy_copy_inst(b, o->p, top, o->map);
        stack->count -= 2;
    }
    return true;
}

// The carries of its loop, other than its own, that the tree of the k-th next value reads: as bits.
static bool reads(const order *o, uint32_t end, uint32_t tree, uint64_t *bits, vy_id_vec *stack)
{
    uint32_t opener = o->s.partner[end];
    *bits = 0;
    stack->count = 0;
    if (!vy_vec_push(stack, tree)) return false;
    while (stack->count) {
        uint32_t id = stack->data[--stack->count];
        for (uint32_t k = 0; k < o->p->insts.data[id].nargs; k++) {
            uint32_t a = vy_arg(o->p, id, k);
            if (VY_IS_LEAF(a)) continue;
            if (o->p->insts.data[a].op == VY_OP_CARRY && vy_arg(o->p, a, 0) == opener)
                *bits |= 1ull << o->p->insts.data[a].aux;
            else if (o->root[a] != a && !vy_vec_push(stack, a))
                return false;
        }
    }
    return true;
}

// Next values in an order in which each carried value is read before its variable is assigned, as far
// as there is one: else the text needs copies of old values.
static bool emit_nexts(order *o, vy_builder *b, uint32_t end, vy_id_vec *stack)
{
    enum { MOST = 64 };
    uint32_t first = vy_next_arg(o->p, o->s.partner[end]);
    uint32_t n = o->p->insts.data[end].nargs - first;
    uint64_t bits[MOST], left = 0;
    if (n > MOST) return true;
    for (uint32_t k = 0; k < n; k++) {
        uint32_t a = vy_arg(o->p, end, first + k);
        if (VY_IS_LEAF(a) || o->root[a] == a) continue;
        if (!reads(o, end, a, &bits[k], stack)) return false;
        bits[k] &= ~(1ull << k);
        left |= 1ull << k;
    }
    while (left && !vy_builder_failed(b)) {
        uint64_t wanted = 0;
        for (uint32_t k = 0; k < n; k++) wanted |= left >> k & 1 ? bits[k] : 0;
        uint32_t k = (uint32_t)__builtin_ctzll(left & ~wanted ? left & ~wanted : left);
        uint32_t a = vy_arg(o->p, end, first + k);
        if (!emit_tree(o, b, a, stack)) return false;
        o->root[a] = a; // done
        left &= ~(1ull << k);
    }
    return true;
}

static bool rebuild(order *o, vy_program *p)
{
    vy_id_vec stack = {0};
    vy_builder *b = vy_rebuild_begin(p);
    bool ok = b != NULL;
    memset(o->map, 0, p->insts.count * sizeof *o->map);
    for (uint32_t id = 1; id < p->insts.count && ok && !vy_builder_failed(b); id++)
        if (o->root[id] == id)
            ok = (p->insts.data[id].op != VY_OP_ENDLOOP || emit_nexts(o, b, id, &stack)) &&
                 emit_tree(o, b, id, &stack);
    vy_vec_free(&stack);
    if (b && !ok) {
        vy_program_abandon(b);
        return false;
    }
    return ok && vy_pass_finish(b, p);
}

bool vy_pass_order(vy_program *p, vy_pass_context *c)
{
    size_t n = p->insts.count, buffers = p->buffers.count;
    order o = {.p = p};
    uint32_t *block = vy_realloc(NULL, (4 * n + buffers) * sizeof *block);
    bool ok = block && vy_structure_make(p, &o.s);
    if (ok) {
        memset(block, 0, (4 * n + buffers) * sizeof *block);
        o.user = block, o.root = block + n, o.region = block + 2 * n, o.map = block + 3 * n;
        o.write = block + 4 * n;
        find_users(&o);
        find_regions(&o);
        find_roots(&o);
        bool any = false;
        for (uint32_t id = 1; id < n; id++) any |= o.root[id] != id;
        ok = !any || rebuild(&o, p);
        c->changed |= any;
    }
    if (!ok) vy_fail_oom(p->module); // unless something else was said before
    vy_structure_free(&o.s);
    vy_free(block);
    return ok;
}
