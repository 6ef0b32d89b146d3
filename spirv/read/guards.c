// SPDX-License-Identifier: MIT
// guards.c: see guards.h.
//
//   if (gid.x >= n || gid.y >= m) return;      all effects are where gid.x < n && gid.y < m
//   y[gid.x] = …
//
// Effects happen in the arms of `if`s; what holds around each of them counts, as after a second
// return there may be several `if`s, one behind the other.  Their conditions are taken apart; of
// each comparison of an id with an extent something is known where it holds, or where it does not.
// Extents are computed of parameters, so it does not matter where they are compared.
#include "spirv/read/guards.h"

enum {
    DEEPEST = 32,
    MOST_PARTS = 256, // of one condition
};

read_effect read_effect_of(const vy_program *p, uint32_t id)
{
    const vy_inst *i = &p->insts.data[id];
    const vy_effect effect = vy_op_infos[i->op].effect;
    if (effect == VY_CONV) return READ_GROUP_EFFECT;
    if (effect != VY_WRITE || p->buffers.data[i->aux].cls == VY_LOCAL) return READ_NO_EFFECT;
    return p->buffers.data[i->aux].cls == VY_SHARED ? READ_GROUP_EFFECT : READ_BUFFER_EFFECT;
}

// ---------------------------------------------------------------------------------- comparisons
// x as a multiple of an id and an offset.  An unsigned offset that is less than zero as a dimension
// would wrap.
static bool split(const vy_program *p, uint32_t x, read_multiple *id, uint32_t *offset)
{
    const bool is_signed = vy_id_type(p, x) == VY_I32;
    const uint32_t sum = read_plain(p, x);
    *offset = 0;
    if (read_multiple_of(p, x, id)) return true;
    if (read_inst(p, sum)->op != VY_OP_ADD) return false;
    for (uint32_t k = 0; k < 2; k++) {
        const uint32_t rest = vy_arg(p, sum, 1 - k);
        if (!read_multiple_of(p, vy_arg(p, sum, k), id) || !read_is_extent(p, rest) ||
            (!is_signed && !read_is_natural(p, rest)))
            continue;
        *offset = rest;
        return true;
    }
    return false;
}

static bool make_bound(const vy_program *p, uint32_t x, uint32_t extent, bool one, read_bound *out)
{
    read_multiple id;
    uint32_t offset;
    if (!split(p, x, &id, &offset) || !read_is_extent(p, extent)) return false;
    *out = (read_bound){.axis = id.axis,
                        .factor = id.factor,
                        .extent = extent,
                        .offset = offset,
                        .of_group = id.of == VY_WID,
                        .one = one,
                        .is_signed = vy_id_type(p, x) == VY_I32};
    return true;
}

bool read_bound_of(const vy_program *p, uint32_t id, bool sense, read_bound *out)
{
    const vy_op op = (vy_op)read_inst(p, id)->op;
    if (op != VY_OP_LT && op != VY_OP_LE && op != VY_OP_EQ && op != VY_OP_NE) return false;
    const uint32_t a = vy_arg(p, id, 0), b = vy_arg(p, id, 1);
    if (op == VY_OP_LT)
        return sense ? make_bound(p, a, b, false, out) : make_bound(p, b, a, true, out);
    if (op == VY_OP_LE)
        return sense ? make_bound(p, a, b, true, out) : make_bound(p, b, a, false, out);
    const uint32_t zero = vy_id_const(p, a) ? a : b, x = zero == a ? b : a;
    const vy_scalar *c = vy_id_const(p, zero);
    return (op == VY_OP_EQ) == sense && c && c->u == 0 && make_bound(p, x, zero, true, out) &&
           !(out->offset && out->is_signed); // which may be less than zero
}

// ------------------------------------------------------------------------------------ conditions
typedef struct reader {
    const vy_program *p;
    const vy_structure *s;
    read_bounds *out;
    uint32_t left; // parts that may still be looked at
} reader;

static void add_bound(read_bounds *to, const read_bound *b)
{
    for (uint32_t k = 0; k < to->count; k++)
        if (read_same_bound(&to->data[k], b)) return;
    if (to->count < READ_MOST_BOUNDS) to->data[to->count++] = *b;
}

static bool is_pair(const vy_inst *x, const vy_inst *y, vy_op one, vy_op other)
{
    return (x->op == one && y->op == other) || (x->op == other && y->op == one);
}

// Is `id` true or false where `given` is `sense`?  -1: not known.
static int truth(const vy_program *p, uint32_t id, uint32_t given, bool sense)
{
    const vy_scalar *c = vy_id_const(p, id);
    if (c) return c->u != 0;
    if (id == given) return sense;
    const vy_inst *x = read_inst(p, id), *y = read_inst(p, given);
    if (y->op == VY_OP_NOT) return truth(p, id, vy_arg(p, given, 0), !sense);
    if (x->op == VY_OP_NOT) {
        const int t = truth(p, vy_arg(p, id, 0), given, sense);
        return t < 0 ? t : !t;
    }
    const bool less = is_pair(x, y, VY_OP_LT, VY_OP_LE), equal = is_pair(x, y, VY_OP_EQ, VY_OP_NE);
    if (!less && !equal) return -1;
    if (vy_type_is_float(vy_id_type(p, vy_arg(p, id, 0)))) return -1; // of NaN both may be false
    const uint32_t a = vy_arg(p, id, 0), b = vy_arg(p, id, 1);
    const bool turned = vy_arg(p, given, 0) == b && vy_arg(p, given, 1) == a;
    const bool same = vy_arg(p, given, 0) == a && vy_arg(p, given, 1) == b;
    if (!turned && !(equal && same)) return -1;
    return !sense;
}

static void learn(reader *r, uint32_t id, bool sense, uint32_t depth);

// What is known where `given ? yes : no` is `sense`: one of the two cannot be the reason.
static void learn_choice(reader *r, uint32_t given, uint32_t yes, uint32_t no, bool sense,
                         uint32_t depth)
{
    const int if_yes = truth(r->p, yes, given, true), if_no = truth(r->p, no, given, false);
    if (if_no == !sense) {
        learn(r, given, true, depth);
        learn(r, yes, sense, depth);
    } else if (if_yes == !sense) {
        learn(r, given, false, depth);
        learn(r, no, sense, depth);
    }
}

static void learn(reader *r, uint32_t id, bool sense, uint32_t depth)
{
    const vy_inst *i = read_inst(r->p, id);
    uint32_t yes, no;
    read_bound b;
    if (depth == DEEPEST || VY_IS_LEAF(id) || !r->left) return;
    r->left--;
    if (read_bound_of(r->p, id, sense, &b)) add_bound(r->out, &b);
    const uint32_t choice = vy_choice(r->p, r->s, id, &yes, &no);
    if (choice) learn_choice(r, vy_arg(r->p, choice, 0), yes, no, sense, depth + 1);
    if (i->op == VY_OP_SELECT)
        learn_choice(r, vy_arg(r->p, id, 0), vy_arg(r->p, id, 1), vy_arg(r->p, id, 2), sense,
                     depth + 1);
    if (i->op == VY_OP_NOT) learn(r, vy_arg(r->p, id, 0), !sense, depth + 1);
    for (uint32_t k = 0; k < 2 && i->op == (sense ? VY_OP_AND : VY_OP_OR); k++)
        learn(r, vy_arg(r->p, id, k), sense, depth + 1);
}

static void learn_condition(const vy_program *p, const vy_structure *s, uint32_t opener, bool then,
                            read_bounds *out)
{
    reader r = {p, s, out, MOST_PARTS};
    learn(&r, vy_arg(p, opener, 0), then, 0);
}

// ------------------------------------------------------------------------------------ all effects
static uint32_t first_effect(const vy_program *p, read_effect least)
{
    uint32_t id = 1;
    while (id < p->insts.count && read_effect_of(p, id) < least) id++;
    return id < p->insts.count ? id : 0;
}

// Sets of bounds have a bit for each; by construct those of its first arm, and above them those of
// its second one.
static uint32_t set_at(const vy_program *p, const vy_structure *s, const uint32_t *sets,
                       uint32_t id)
{
    const uint32_t up = s->parent[id];
    const bool second = p->insts.data[up].op == VY_OP_IF && !vy_in_then(s, up, id);
    return second ? sets[up] >> READ_MOST_BOUNDS : sets[up] & ((1u << READ_MOST_BOUNDS) - 1);
}

static uint32_t set_of(const vy_program *p, const vy_structure *s, uint32_t opener, bool then,
                       const read_bounds *all)
{
    read_bounds known = {0};
    uint32_t set = 0;
    learn_condition(p, s, opener, then, &known);
    for (uint32_t k = 0; k < all->count; k++)
        for (uint32_t i = 0; i < known.count; i++)
            if (read_same_bound(&all->data[k], &known.data[i])) set |= 1u << k;
    return set;
}

static uint32_t sets_of(const vy_program *p, const vy_structure *s, const uint32_t *sets,
                        uint32_t opener, const read_bounds *all)
{
    const uint32_t around = set_at(p, s, sets, opener);
    if (p->insts.data[opener].op != VY_OP_IF) return around;
    const uint32_t then = around | set_of(p, s, opener, true, all);
    return then | (around | set_of(p, s, opener, false, all)) << READ_MOST_BOUNDS;
}

void read_guards(const vy_program *p, const vy_structure *s, read_effect least, uint32_t *sets,
                 read_bounds *out)
{
    read_bounds all = {0};
    const uint32_t first = first_effect(p, least);
    for (uint32_t up = s->parent[first]; up; up = s->parent[up])
        if (p->insts.data[up].op == VY_OP_IF)
            learn_condition(p, s, up, vy_in_then(s, up, first), &all);
    uint32_t left = (1u << all.count) - 1;
    for (uint32_t id = 1; left && id < p->insts.count; id++) {
        if (vy_is_marker((vy_op)p->insts.data[id].op)) sets[id] = sets_of(p, s, sets, id, &all);
        if (read_effect_of(p, id) >= least) left &= set_at(p, s, sets, id);
    }
    for (uint32_t k = 0; k < all.count; k++)
        if (left >> k & 1) add_bound(out, &all.data[k]);
}
