// SPDX-License-Identifier: MIT
// once.c: of stores that invocations make together to one element, one is left.
//
//   over(j: h, i: w) { if dims == 1 { y[i] = …; } else { y[j * w + i] = …; } }
//                                            →
//   over(j: h, i: w) { if dims == 1 { if j == 0 { y[i] = …; } } else { y[j * w + i] = …; } }
//
// A shader for one, two and three dimensions stores so, and its host launches it with one
// invocation along the others.  As h is what anybody may give, all of a column would store to one
// element, which is a race (E0313), and in a gradient each would pass the element's cotangent on.
// What the store's index, value and the conditions around it do not depend on does not tell them
// apart: all of them store one value or none does, and the first one does it for all.
//
// That leaves in memory what the shader leaves there, whatever order invocations run in, where
//   - nothing that invocations write is loaded: neither on the way to the store (what tells
//     invocations apart is then in domain_dependence.h), nor behind it, where a load might find the
//     value of another invocation;
//   - an invocation that stores there otherwise has not stored so, or the order of the two would be
//     lost: all stores to the memory are left to the first one, or are in other arms of an `if`, or
//     behind one by which those that have stored have returned.
// What is not proved so stays, and the program may have to do without a domain.
#include "ir/build/rewrite.h"
#include "ir/facts/domain_dependence.h"
#include "ir/pass/pass.h"
#include "ir/pass/scalar/iteration.h"
#include "spirv/read/reading.h"

enum { MOST_STORES = 128 }; // to one memory: pairs of them are compared

typedef struct once {
    vy_rewrite w;
    vy_along along;
    uint8_t *left; // by instruction: a store that is left to the first one along these variables
} once;

static uint32_t memory_of(const vy_program *p, uint32_t buffer)
{
    const uint32_t of = p->buffers.data[buffer].view_of;
    return of ? of : buffer;
}

static bool is_global(const vy_program *p, uint32_t id) // does it access memory that others see?
{
    const vy_inst *i = &p->insts.data[id];
    const bool accesses = i->op == VY_OP_ZERO || vy_op_infos[i->op].effect == VY_WRITE ||
                          vy_op_is_memory((vy_op)i->op);
    return accesses && p->buffers.data[i->aux].cls != VY_LOCAL;
}

static uint32_t stored_memory(const vy_program *p, uint32_t id) // 0: it is no store that others see
{
    const bool store = p->insts.data[id].op == VY_OP_STORE && is_global(p, id);
    return store ? memory_of(p, p->insts.data[id].aux) : 0;
}

// ---------------------------------------------------------------------------------- what is stored
static bool has_ids(const vy_program *p, uint32_t id)
{
    for (uint32_t k = 0; k < p->insts.data[id].nargs; k++) {
        const uint32_t a = vy_arg(p, id, k);
        if (VY_IS_LEAF(a) && p->leaves.data[VY_LEAF_INDEX(a)].kind == VY_LEAF_BUILTIN) return true;
    }
    return false;
}

// Variables of the domain, and nothing else, tell invocations apart; they do not wait for others.
static bool is_plain(const vy_program *p)
{
    for (uint32_t id = 1; id < p->insts.count; id++)
        if (vy_op_infos[p->insts.data[id].op].effect == VY_CONV || has_ids(p, id)) return false;
    return p->overs.count && p->overs.count <= VY_ALONG_AXES;
}

// Is memory that invocations write only stored to?
static bool only_stores(once *o, bool *any)
{
    const vy_program *p = o->w.p;
    uint8_t *stored = vy_rewrite_table(&o->w, p->buffers.count);
    for (uint32_t id = 1; stored && id < p->insts.count; id++) {
        const uint32_t m = stored_memory(p, id);
        if (m) stored[m] = 1;
        *any |= m != 0;
    }
    for (uint32_t id = 1; stored && id < p->insts.count; id++)
        if (is_global(p, id) && !stored_memory(p, id) &&
            (p->insts.data[id].op != VY_OP_LOAD || stored[memory_of(p, p->insts.data[id].aux)]))
            *any = false;
    return stored != NULL;
}

// Variables along which there may be several invocations.
static uint8_t several(const vy_program *p)
{
    uint8_t vars = 0;
    for (uint32_t v = 0; v < p->overs.count; v++) {
        const vy_dim_node *d = &p->dims.data[p->overs.data[v].extent.id];
        if (d->op != VY_DIM_CONST || d->value > 1) vars |= (uint8_t)(1u << v);
    }
    return vars;
}

static void find_left(once *o)
{
    const vy_program *p = o->w.p;
    const uint8_t vars = several(p);
    for (uint32_t id = 1; id < p->insts.count; id++) {
        if (!stored_memory(p, id)) continue;
        const uint32_t v = vy_arg(p, id, vy_rank_of(p, id));
        const uint8_t value = VY_IS_LEAF(v) ? vy_along_leaf(&o->along, v) : o->along.of[v];
        o->left[id] = (uint8_t)(vars & ~(vy_along_element(&o->along, id) | value));
    }
}

// ------------------------------------------------------------------------------ what else is there
// May it run both of two arms, in different iterations?
static bool in_one_loop(const once *o, uint32_t a, uint32_t b)
{
    for (uint32_t up = o->w.s.parent[a]; up; up = o->w.s.parent[up])
        if (vy_is_loop((vy_op)o->w.p->insts.data[up].op) && b > up &&
            b < vy_closer(o->w.p, &o->w.s, up))
            return true;
    return false;
}

// Has an invocation that makes the later store not made the first one, which is in another arm, or
// in one that returns?
static bool is_other_way(const once *o, uint32_t first, uint32_t later)
{
    const vy_program *p = o->w.p;
    const vy_structure *s = &o->w.s;
    vy_known known = {0};
    for (uint32_t up = s->parent[later]; up; up = s->parent[up])
        if (p->insts.data[up].op == VY_OP_IF)
            vy_learn(&o->w, &known, vy_arg(p, up, 0), vy_in_then(s, up, later), 0);
    for (uint32_t up = s->parent[first]; up; up = s->parent[up]) {
        if (p->insts.data[up].op != VY_OP_IF) continue;
        const int taken = vy_truth(&o->w, &known, vy_arg(p, up, 0));
        if (taken >= 0 && (taken == 1) != vy_in_then(s, up, first)) return true;
    }
    return false;
}

// Does an invocation make at most one of the two stores?
static bool excludes(const once *o, uint32_t first, uint32_t later)
{
    return !in_one_loop(o, first, later) && is_other_way(o, first, later);
}

// Drops variables of the stores to a memory along which some are left to the first one and others
// are not.
static void settle(once *o, const uint32_t *stores, uint32_t n)
{
    uint8_t lost = n > MOST_STORES ? 0xff : 0;
    for (uint32_t a = 0; a < n && lost != 0xff; a++)
        for (uint32_t b = 0; b < a; b++) {
            const uint8_t one = o->left[stores[a]] ^ o->left[stores[b]];
            if (one & ~lost && !excludes(o, stores[a], stores[b])) lost |= one;
        }
    for (uint32_t k = 0; k < n; k++) o->left[stores[k]] &= (uint8_t)~lost;
}

static bool settle_all(once *o)
{
    const vy_program *p = o->w.p;
    uint32_t *stores = vy_rewrite_ids(&o->w), *before = vy_rewrite_ids(&o->w);
    uint32_t *last = vy_rewrite_table(&o->w, p->buffers.count * sizeof *last);
    if (!stores || !before || !last) return false;
    for (uint32_t id = 1; id < p->insts.count; id++) {
        const uint32_t m = stored_memory(p, id);
        if (!m) continue;
        before[id] = last[m];
        last[m] = id;
    }
    for (uint32_t m = 1; m < p->buffers.count; m++) {
        uint32_t n = 0;
        for (uint32_t id = last[m]; id; id = before[id]) stores[n++] = id;
        settle(o, stores, n);
    }
    return true;
}

static bool find(once *o, bool *any)
{
    const vy_program *p = o->w.p;
    if (!only_stores(o, any)) return false;
    if (!*any) return true;
    o->left = vy_rewrite_bytes(&o->w);
    if (!o->left || !vy_along_make(&o->along, p, &o->w.s, &o->w.arena)) return false;
    find_left(o);
    *any = false;
    if (!settle_all(o)) return false;
    for (uint32_t id = 1; id < p->insts.count; id++) *any |= o->left[id] != 0;
    return true;
}

// ----------------------------------------------------------------------------------- the rewriting
static vy_value is_first(const once *o, uint8_t vars)
{
    vy_builder *b = o->w.b;
    vy_value all = {0};
    for (uint32_t v = 0; v < o->w.p->overs.count; v++) {
        if (!(vars >> v & 1)) continue;
        const vy_value over = {vy_leaf_other(b, VY_LEAF_OVER, VY_U32, v, 0)};
        const vy_value first = vy_eq(b, over, vy_zero(b, VY_U32));
        all = all.id ? vy_and(b, all, first) : first;
    }
    return all;
}

// Stores that follow one another are left to it together: the parts of a vector.
static uint32_t replace(void *pass, uint32_t id)
{
    once *o = pass;
    const uint8_t vars = o->left[id];
    if (!vars) return 0;
    vy_rewrite_at(&o->w, id);
    vy_begin_if(o->w.b, is_first(o, vars).id);
    for (; id < o->w.p->insts.count && o->left[id] == vars; id++) vy_rewrite_copy(&o->w, id);
    vy_begin_else(o->w.b, 0, NULL);
    vy_end_if(o->w.b, 0, NULL, NULL);
    return id - 1;
}

bool read_once(vy_program *p)
{
    once o = {0};
    bool any = false, changed = false;
    if (!is_plain(p)) return true;
    const bool ok = vy_rewrite_begin(&o.w, p) && find(&o, &any);
    if (ok && any) vy_rewrite_run(&o.w, replace, &o);
    return vy_rewrite_end(&o.w, ok, &changed);
}
