// SPDX-License-Identifier: MIT
// shadow.c: masks of memory elements: is the value of an element used?
//
//   y[i] = sqrt(x[i]);  if x[i] <= 0 { y[i] = 0; }
//
// At x = −1 the root was overwritten and reached nothing, but its adjoint, read from the memory of
// adjoints, is a plain 0, and 0 · √' is NaN.  Values have masks for this (masks.c); the mask of an
// element is its *shadow*, a u32 beside its adjoint:
//
//   v = load B[i]      B̄[i] += v̄;             seen[i] |= mask of v
//   store B[i] = v     v̄ += B̄[i], B̄[i] = 0;   mask of v |= seen[i], seen[i] = 0
//
// It starts as 1 where an element has a cotangent.  A shadow costs memory and time, so a buffer has
// one only if
//   - some element may be overwritten before it is read, or, in arrays and in buffers that are not
//     differentiated outputs, may never be read, or by a load of no use; an output's only store to
//     an element is always used; and
//   - some product before such a store could turn its zero adjoint into NaN.
#include "ir/facts/memory.h"
#include "autodiff/core/rules.h"
#include "autodiff/facts/facts.h"

enum { MOST = 64 }; // stores of one buffer that are compared with each other

// ----------------------------------------------------------------------------------- which buffers
static bool shares_loop(const grad_facts *f, uint32_t x, uint32_t y)
{
    uint32_t a = f->home[x], b = f->home[y];
    while (a != b) // an inner loop has a higher id than an outer
        if (a > b)
            a = f->home[a];
        else
            b = f->home[b];
    return a != 0;
}

static bool is_apart(const grad_facts *f, uint32_t x, uint32_t y)
{
    const vy_program *p = f->p;
    for (uint32_t k = 0; k < p->buffers.data[p->insts.data[x].aux].rank; k++) {
        uint32_t a = vy_arg(p, x, k), b = vy_arg(p, y, k);
        // After a barrier, this invocation's i + 1 is another invocation's i.
        bool constant = vy_id_const(p, a) && vy_id_const(p, b);
        bool known = constant || !(f->phased || shares_loop(f, x, y));
        if (known && vy_values_differ(p, a, b)) return true;
    }
    return false;
}

// Are they in different arms of one `if`, without a common loop that could execute both?
static bool is_exclusive(const grad_facts *f, uint32_t x, uint32_t y)
{
    return !shares_loop(f, x, y) && vy_in_different_arms(f->p, &f->s, x, y);
}

// May a later one of the buffer's `n` writes overwrite what `store` wrote?
static bool may_be_lost(const grad_facts *f, uint32_t store, const uint32_t *writes, uint32_t n)
{
    const bool adds = f->adds[store] || f->p->insts.data[store].op == VY_OP_ATOMIC_ADD;
    if (n > MOST || (!adds && !vy_stores_once(f, store))) return true;
    for (uint32_t k = 0; k < n; k++) {
        uint32_t w = writes[k];
        if (w == store || f->p->insts.data[w].op == VY_OP_ATOMIC_ADD || f->adds[w]) continue;
        if (w < store && !shares_loop(f, store, w)) continue;
        if (is_apart(f, store, w) || is_exclusive(f, store, w)) continue;
        if (!vy_stores_apart(f, store, w)) return true;
    }
    return false;
}

static bool needs_shadow(const grad_facts *f, uint32_t buffer, const uint32_t *writes, uint32_t n,
                         uint32_t *cover)
{
    const vy_buf *b = &f->p->buffers.data[buffer];
    const buffer_facts *info = &f->buffers[buffer];
    bool array = b->cls == VY_LOCAL;
    *cover = 0;
    if ((info->activity & ACTIVE) != ACTIVE || b->cls == VY_IN || b->view_of) return false;
    for (uint32_t k = 0; k < n; k++) {
        const vy_inst *i = &f->p->insts.data[writes[k]];
        if (i->op != VY_OP_STORE && i->op != VY_OP_ATOMIC_ADD) continue;
        if (!vy_is_active(f, vy_arg(f->p, writes[k], i->nargs - 1))) continue;
        if (info->of && !may_be_lost(f, writes[k], writes, n)) continue;
        if (array && !*cover) *cover = vy_covering_load(f, buffer, writes, n);
        if (!*cover) return true;
    }
    return false;
}

bool vy_shadow_choose(grad_facts *f)
{
    vy_arena arena = {0};
    vy_writes w;
    bool ok = vy_writes_make(&w, f->p, VY_COUNT_WRITES, &arena);
    for (uint32_t i = 1; ok && i < f->p->buffers.count; i++)
        f->buffers[i].shadowed = needs_shadow(f, i, w.at + w.start[i], w.start[i + 1] - w.start[i],
                                              &f->buffers[i].cover);
    vy_arena_free(&arena);
    return ok;
}

// Can the mask of `id` affect an adjoint before it?  Slots of constructs are assumed to.
static bool has_effect(const grad_facts *f, const uint8_t *effect, uint32_t id)
{
    const vy_inst *i = &f->p->insts.data[id];
    if (!vy_is_active(f, id) || !f->maskable[id]) return false;
    if (i->op == VY_OP_LOAD) return f->buffers[i->aux].shadowed;
    if (i->op == VY_OP_CARRY || i->op == VY_OP_RESULT) return true;
    bool any = vy_rule_kind_of((vy_op)i->op) == RULE_PARTIAL || i->op == VY_OP_SG_MUL;
    for (uint32_t k = 0; k < i->nargs && !any; k++) {
        uint32_t a = vy_arg(f->p, id, k);
        any = !VY_IS_LEAF(a) && effect[a];
    }
    return any;
}

bool vy_shadow_prune(grad_facts *f)
{
    uint32_t n = f->p->insts.count;
    vy_arena arena = {0};
    uint8_t *effect = vy_arena_alloc(&arena, n),
            *used = vy_arena_alloc(&arena, f->p->buffers.count);
    bool ok = effect && used;
    for (uint32_t id = 1; ok && id < n; id++) {
        const vy_inst *i = &f->p->insts.data[id];
        effect[id] = has_effect(f, effect, id);
        if (i->op != VY_OP_STORE && i->op != VY_OP_ATOMIC_ADD) continue;
        uint32_t value = vy_arg(f->p, id, i->nargs - 1);
        if (!VY_IS_LEAF(value) && effect[value]) used[i->aux] = 1;
    }
    for (uint32_t b = 1; ok && b < f->p->buffers.count; b++) f->buffers[b].shadowed &= used[b];
    vy_arena_free(&arena);
    return ok;
}
