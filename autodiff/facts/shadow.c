// SPDX-License-Identifier: MIT
// shadow.c: was what memory holds asked for?
//
//   y[i] = sqrt(x[i]);  if x[i] <= 0 { y[i] = 0; }
//
// At x = −1 the root was overwritten and reached nothing, but its adjoint, read from the memory of
// adjoints, is a plain 0, and 0 · √' is NaN.  Values have masks for this (masks.c); the mask of an element is
// its *shadow*, a u32 beside its adjoint:
//
//   v = load B[i]      B̄[i] += v̄;             seen[i] |= mask of v
//   store B[i] = v     v̄ += B̄[i], B̄[i] = 0;   mask of v |= seen[i], seen[i] = 0
//
// It starts as 1 where an element has a cotangent.  A shadow costs memory and time, so a buffer has one
// only if
//   - some element may be overwritten before anybody saw it, or, for arrays and for buffers that nobody
//     asked for, may never be seen; one store per element of an output is always seen, and
//   - some product in front of such a store could make a NaN out of its adjoint.
#include "ir/facts/memory.h"
#include "autodiff/core/reverse.h"
#include "autodiff/core/rules.h"
#include "autodiff/facts/facts.h"

enum { MOST = 64 }; // stores of one buffer that are compared with each other

// ----------------------------------------------------------------------------------- which buffers
static bool shares_loop(const reverse *r, uint32_t x, uint32_t y)
{
    uint32_t a = r->facts.home[x], b = r->facts.home[y];
    while (a != b) // what stands inside another has a higher id
        if (a > b)
            a = r->facts.home[a];
        else
            b = r->facts.home[b];
    return a != 0;
}

static bool is_apart(const reverse *r, uint32_t x, uint32_t y)
{
    const vy_program *p = r->p;
    for (uint32_t k = 0; k < p->buffers.data[p->insts.data[x].aux].rank; k++) {
        uint32_t a = vy_arg(p, x, k), b = vy_arg(p, y, k);
        // Behind a barrier i + 1 is another invocation's i.
        bool constant = vy_id_const(p, a) && vy_id_const(p, b);
        bool known = constant || !(r->facts.phased || shares_loop(r, x, y));
        if (known && vy_values_differ(p, a, b)) return true;
    }
    return false;
}

// They stand in different arms of one `if`, which no loop brings back.
static bool is_exclusive(const reverse *r, uint32_t x, uint32_t y)
{
    if (shares_loop(r, x, y)) return false;
    for (uint32_t up = r->facts.s.parent[x]; up; up = r->facts.s.parent[up]) {
        if (r->p->insts.data[up].op != VY_OP_IF || !vy_encloses(&r->facts, up, x)) continue;
        uint32_t middle = r->facts.s.partner[up], end = r->facts.s.partner[middle];
        if (y > up && y < end) return (x < middle) != (y < middle);
    }
    return false;
}

// May a later write of the buffer's `n` writes destroy what `store` wrote?
static bool may_be_lost(const reverse *r, uint32_t store, const uint32_t *writes, uint32_t n)
{
    if (n > MOST || (!r->facts.adds[store] && !vy_stores_once(&r->facts, store))) return true;
    for (uint32_t k = 0; k < n; k++) {
        uint32_t w = writes[k];
        if (w == store || r->p->insts.data[w].op == VY_OP_ATOMIC_ADD || r->facts.adds[w]) continue;
        if (w < store && !shares_loop(r, store, w)) continue;
        if (!is_apart(r, store, w) && !is_exclusive(r, store, w)) return true;
    }
    return false;
}

static bool wants_shadow(const reverse *r, uint32_t buffer, const uint32_t *writes, uint32_t n,
                         uint32_t *cover)
{
    const vy_buf *b = &r->p->buffers.data[buffer];
    const buffer_facts *info = &r->facts.buffers[buffer];
    bool array = b->cls == VY_LOCAL;
    *cover = 0;
    if ((info->activity & ACTIVE) != ACTIVE || b->cls == VY_IN || b->view_of) return false;
    for (uint32_t k = 0; k < n; k++) {
        const vy_inst *i = &r->p->insts.data[writes[k]];
        bool adds = array && i->op == VY_OP_ATOMIC_ADD;
        if ((i->op != VY_OP_STORE && !adds) ||
            !vy_is_active(&r->facts, vy_arg(r->p, writes[k], i->nargs - 1)))
            continue;
        if (info->of && !may_be_lost(r, writes[k], writes, n)) continue;
        if (array && !*cover) *cover = vy_covering_load(r, buffer, writes, n);
        if (!*cover) return true;
    }
    return false;
}

bool vy_shadow_choose(reverse *r)
{
    vy_arena arena = {0};
    vy_writes w;
    bool ok = vy_writes_make(&w, r->p, VY_COUNT_WRITES, &arena);
    for (uint32_t i = 1; ok && i < r->p->buffers.count; i++)
        r->facts.buffers[i].shadowed =
            wants_shadow(r, i, w.at + w.start[i], w.start[i + 1] - w.start[i],
                         &r->facts.buffers[i].cover);
    vy_arena_free(&arena);
    return ok;
}

// Can the mask of `id` decide anything in front of it?  Slots of constructs are taken to.
static bool asks(const reverse *r, const uint8_t *asked, uint32_t id)
{
    const vy_inst *i = &r->p->insts.data[id];
    if (!vy_is_active(&r->facts, id) || !r->facts.maskable[id]) return false;
    if (i->op == VY_OP_LOAD) return r->facts.buffers[i->aux].shadowed;
    if (i->op == VY_OP_CARRY || i->op == VY_OP_RESULT) return true;
    bool any = vy_rule_kind_of((vy_op)i->op) == RULE_PARTIAL || i->op == VY_OP_SG_MUL;
    for (uint32_t k = 0; k < i->nargs && !any; k++) {
        uint32_t a = vy_arg(r->p, id, k);
        any = !VY_IS_LEAF(a) && asked[a];
    }
    return any;
}

bool vy_shadow_prune(reverse *r)
{
    uint32_t n = r->p->insts.count;
    vy_arena arena = {0};
    uint8_t *asked = vy_arena_alloc(&arena, n), *used = vy_arena_alloc(&arena, r->p->buffers.count);
    bool ok = asked && used;
    for (uint32_t id = 1; ok && id < n; id++) {
        const vy_inst *i = &r->p->insts.data[id];
        asked[id] = asks(r, asked, id);
        if (i->op != VY_OP_STORE && i->op != VY_OP_ATOMIC_ADD) continue;
        uint32_t value = vy_arg(r->p, id, i->nargs - 1);
        if (!VY_IS_LEAF(value) && asked[value]) used[i->aux] = 1;
    }
    for (uint32_t b = 1; ok && b < r->p->buffers.count; b++)
        r->facts.buffers[b].shadowed &= used[b];
    vy_arena_free(&arena);
    return ok;
}

// ------------------------------------------------------------------------------- in the result
// (Declared by params.c: it is a parameter or array like the adjoint.)
static uint32_t as_bit(reverse *r, uint32_t condition)
{
    return vy_cast(r->b, VY_U32, (vy_value){condition}).id;
}

static uint32_t rank_of(const reverse *r, uint32_t shadow)
{
    return vy_builder_program(r->b)->buffers.data[shadow].rank;
}

uint32_t vy_shadow_read(reverse *r, uint32_t buffer, const uint32_t *index)
{
    uint32_t shadow = r->build.buffers[buffer].shadow, rank = rank_of(r, shadow);
    vy_value seen = {vy_emit(r->b, VY_OP_LOAD, VY_U32, shadow, rank, index)};
    return vy_ne(r->b, seen, vy_zero(r->b, VY_U32)).id;
}

void vy_shadow_clear(reverse *r, uint32_t buffer, const uint32_t *index)
{
    uint32_t args[VY_MAX_RANK + 1], rank = rank_of(r, r->build.buffers[buffer].shadow);
    for (uint32_t k = 0; k < rank; k++) args[k] = index[k];
    args[rank] = vy_zero(r->b, VY_U32).id;
    vy_emit(r->b, VY_OP_STORE, VY_VOID, r->build.buffers[buffer].shadow, rank + 1, args);
}

// Invocations that read one element of a buffer all mark it: atomically, unless it is their own array.
void vy_shadow_mark(reverse *r, uint32_t buffer, const uint32_t *index, uint32_t condition,
                    bool alone)
{
    uint32_t shadow = r->build.buffers[buffer].shadow;
    uint32_t args[VY_MAX_RANK + 1], rank = rank_of(r, shadow);
    const vy_scalar *k = vy_id_const(vy_builder_program(r->b), condition);
    if (k && !k->u) return;
    for (uint32_t d = 0; d < rank; d++) args[d] = index[d];
    args[rank] = as_bit(r, condition);
    if (!alone) {
        vy_emit(r->b, VY_OP_ATOMIC_OR, VY_U32, shadow, rank + 1, args);
        return;
    }
    if (!k) {
        uint32_t have = vy_emit(r->b, VY_OP_LOAD, VY_U32, shadow, rank, args);
        args[rank] = vy_emit(r->b, VY_OP_OR, VY_U32, 0, 2, (uint32_t[]){have, args[rank]});
    }
    vy_emit(r->b, VY_OP_STORE, VY_VOID, shadow, rank + 1, args);
}
