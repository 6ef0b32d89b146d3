// SPDX-License-Identifier: MIT
// lower_places.c: where each tensor of a host program lives.
//
//   a = LOAD u[i]              the slice itself, if nothing writes to it before the last use of a;
//                              else a copy
//   STORE y[i] ← PICK k d      d writes to y[i] at once, if nothing accesses y in between
//   g = LOAD v[i]; STORE v[i] ← 0; … g …
//                              the constant is stored after the last use of g
//
// One linear walk collects the accesses of each buffer in the order in which they happen; a tensor
// looks at those between its definition and its last use, and is copied where they are too many.
// Slices of one buffer that two arguments of one dispatch name must be different, or the pipeline
// is wrong already (docs/language.md 6): so a dispatch may read one slice while it writes another,
// if the indices are different values.
#include "ir/core/flow.h"
#include "ir/host/lower.h"

#include <stdlib.h>
#include <string.h>

enum {
    FAR = 256,  // instructions between a dispatch and a STORE of its result
    MANY = 512, // accesses to a buffer between a LOAD of a slice and its last use
};

// -------------------------------------------------------------------------------------------- uses
// Where a use at `user` of a value defined at `def` ends: loops use it until they end.
static uint32_t end_of_use(const lowering *w, uint32_t user, uint32_t def)
{
    const bool closes = vy_op_closes((vy_op)w->h->insts.data[user].op);
    uint32_t end = user;
    for (uint32_t up = closes ? w->s.partner[user] : w->s.parent[user];
         up != w->s.parent[def] && up; up = w->s.parent[up])
        end = vy_closer(w->h, &w->s, up);
    return end;
}

static void find_last_uses(lowering *w)
{
    for (uint32_t id = 1; id < w->h->insts.count; id++)
        for (uint32_t k = 0; k < w->h->insts.data[id].nargs; k++) {
            const uint32_t a = vy_arg(w->h, id, k);
            if (!lower_is_tensor(w, a)) continue;
            const uint32_t end = end_of_use(w, id, a);
            if (end > w->last[a]) w->last[a] = end;
        }
}

// ---------------------------------------------------------------------------------- direct results
// The instruction that makes the stored tensor, or 0.  A sum of integers is none: it is a dimension
// expression, which no step stores anywhere but the STORE itself.
static uint32_t maker_of(const lowering *w, uint32_t store)
{
    const uint32_t v = vy_arg(w->h, store, w->h->insts.data[store].nargs - 1);
    if (!lower_is_tensor(w, v)) return 0;
    const vy_op op = (vy_op)w->h->insts.data[v].op;
    return op == VY_OP_PICK ? vy_arg(w->h, v, 0) : op == VY_OP_ADD ? v : 0;
}

// Does the dispatch have an argument that surely must not share memory with what `store` names: the
// same slice, other than as the operand that is updated in place?
static bool reads_same(const lowering *w, uint32_t maker, uint32_t store, uint32_t updated)
{
    for (uint32_t k = 0; k < w->h->insts.data[maker].nargs; k++) {
        const uint32_t a = vy_arg(w->h, maker, k);
        if (VY_IS_LEAF(a) || k == updated || w->h->insts.data[a].op != VY_OP_LOAD) continue;
        if (lower_is_tensor(w, a) && vy_host_same_slice(w->h, a, store)) return true;
    }
    return false;
}

// May a `while` end between the two instructions of one block?
static bool may_end_between(const lowering *w, uint32_t id, uint32_t next)
{
    const uint32_t up = w->s.parent[id];
    if (!up || w->h->insts.data[up].op != VY_OP_WHILE) return false;
    return id < w->s.test[up] && w->s.test[up] < next;
}

// Nothing between the maker and the STORE accesses the buffer, or computes the indices.  Two direct
// results of one dispatch in one buffer are surely different slices.
static bool is_near(const lowering *w, uint32_t maker, uint32_t store)
{
    const vy_program *h = w->h;
    const uint32_t buffer = h->insts.data[store].aux;
    if (w->s.parent[maker] != w->s.parent[store] || store - maker > FAR) return false;
    if (may_end_between(w, maker, store)) return false;
    for (uint32_t k = 0; k < vy_index_count(h, store); k++)
        if (!VY_IS_LEAF(vy_arg(h, store, k)) && vy_arg(h, store, k) > maker) return false;
    for (uint32_t id = maker + 1; id < store; id++) {
        const vy_inst *i = &h->insts.data[id];
        if (vy_op_opens((vy_op)i->op)) return false;
        if (!vy_op_is_memory((vy_op)i->op) || i->aux != buffer) continue;
        if (!w->is_direct[id] || maker_of(w, id) != maker || !vy_host_other_slice(h, id, store))
            return false;
    }
    return true;
}

static void find_direct(lowering *w)
{
    for (uint32_t id = 1; id < w->h->insts.count; id++) {
        if (w->h->insts.data[id].op != VY_OP_STORE) continue;
        const uint32_t maker = maker_of(w, id);
        if (!maker) continue;
        const uint32_t value = vy_arg(w->h, id, w->h->insts.data[id].nargs - 1);
        if (w->direct[value] || !is_near(w, maker, id) ||
            reads_same(w, maker, id, lower_updated_by(w, value)))
            continue;
        w->direct[value] = id;
        w->is_direct[id] = 1;
    }
}

// ---------------------------------------------------------------------------------------- accesses
typedef struct access {
    uint32_t at, id; // when it happens
} access;

typedef struct accesses {
    access *all;     // by buffer, in the order in which they happen
    uint32_t *first; // by buffer, and the end
} accesses;

static uint32_t happens(const lowering *w, uint32_t id)
{
    return w->early[id] ? w->early[id] : w->is_direct[id] ? maker_of(w, id) : id;
}

static int by_time(const void *x, const void *y)
{
    const access *a = x, *b = y;
    if (a->at != b->at) return a->at < b->at ? -1 : 1;
    return a->id < b->id ? -1 : a->id > b->id;
}

static bool collect(lowering *w, accesses *c)
{
    const vy_program *h = w->h;
    c->first = lower_room(w, h->buffers.count + 2, sizeof *c->first);
    c->all = lower_room(w, h->insts.count, sizeof *c->all);
    if (w->oom) return false;
    for (uint32_t id = 1; id < h->insts.count; id++)
        if (vy_op_is_memory((vy_op)h->insts.data[id].op)) c->first[h->insts.data[id].aux + 2]++;
    for (uint32_t b = 2; b < h->buffers.count + 2; b++) c->first[b] += c->first[b - 1];
    for (uint32_t id = 1; id < h->insts.count; id++)
        if (vy_op_is_memory((vy_op)h->insts.data[id].op))
            c->all[c->first[h->insts.data[id].aux + 1]++] = (access){happens(w, id), id};
    for (uint32_t b = 1; b < h->buffers.count; b++)
        qsort(c->all + c->first[b], c->first[b + 1] - c->first[b], sizeof *c->all, by_time);
    return true;
}

// The first access of its buffer that happens after `at`.
static uint32_t after(const accesses *c, uint32_t buffer, uint32_t at)
{
    uint32_t low = c->first[buffer], high = c->first[buffer + 1];
    while (low < high) {
        const uint32_t middle = low + (high - low) / 2;
        if (c->all[middle].at <= at)
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

static bool is_write(const vy_program *h, uint32_t id)
{
    return vy_op_infos[h->insts.data[id].op].effect == VY_WRITE;
}

// A STORE of a constant that may as well happen after `end`: until then everything else that
// touches the buffer has to do with other slices.
static bool can_wait(const lowering *w, const accesses *c, uint32_t store, uint32_t end)
{
    const vy_program *h = w->h;
    const vy_inst *i = &h->insts.data[store];
    if (i->op != VY_OP_STORE || !vy_id_const(h, vy_arg(h, store, i->nargs - 1))) return false;
    if (w->s.parent[store] != w->s.parent[end] || may_end_between(w, store, end)) return false;
    const uint32_t last = c->first[i->aux + 1];
    for (uint32_t k = after(c, i->aux, store); k < last && c->all[k].at <= end; k++)
        if (!vy_host_other_slice(h, c->all[k].id, store)) return false;
    return true;
}

// Does access `a` leave the slice of LOAD `id` as it is, until the last use at `end`?
static bool leaves(lowering *w, const accesses *c, const access *a, uint32_t id, uint32_t end)
{
    const vy_program *h = w->h;
    if (!is_write(h, a->id) || w->dead[a->id] || (w->nothing[a->id] && !w->early[a->id]) ||
        vy_host_other_slice(h, a->id, id))
        return true;
    if (a->at == end && w->early[a->id]) return true; // the loop changes it in place
    const bool same = vy_host_same_slice(h, a->id, id);
    if (a->at == end && w->is_direct[a->id]) {
        if (!same) // arguments of one dispatch
            return h->insts.data[end].op == VY_OP_DISPATCH &&
                   vy_index_count(h, a->id) == vy_index_count(h, id);
        const uint32_t value = vy_arg(h, a->id, h->insts.data[a->id].nargs - 1);
        const uint32_t k = lower_updated_by(w, value);
        return k != UINT32_MAX && vy_arg(h, end, k) == id;
    }
    if (!same || w->after[a->id] || !can_wait(w, c, a->id, end)) return false;
    w->after[a->id] = end;
    w->next_off[a->id] = w->put_off[end];
    w->put_off[end] = a->id;
    return true;
}

// ---------------------------------------------------------------------------------- dead constants
static bool is_constant(const vy_program *h, uint32_t id)
{
    const vy_inst *i = &h->insts.data[id];
    return i->op == VY_OP_ZERO ||
           (i->op == VY_OP_STORE && vy_id_const(h, vy_arg(h, id, i->nargs - 1)));
}

// The next accesses that may touch the slice begin by overwriting it, in the same block.
static bool is_overwritten(const lowering *w, const accesses *c, uint32_t id)
{
    enum { LOOK = 8 };
    const vy_program *h = w->h;
    const uint32_t buffer = h->insts.data[id].aux, first = after(c, buffer, id);
    for (uint32_t k = first; k < c->first[buffer + 1] && k < first + LOOK; k++) {
        const uint32_t next = c->all[k].id;
        if (vy_host_other_slice(h, next, id)) continue;
        const bool direct = w->is_direct[next];
        // What it updates in place was loaded before, and is not this constant.
        return direct && vy_host_same_slice(h, next, id) && w->s.parent[next] == w->s.parent[id] &&
               !may_end_between(w, id, next);
    }
    return false;
}

// Is there no access to the buffer after `id` while it lives?  home: the construct at whose end the
// lifetime ends; 0: with the program.
static bool is_last(const lowering *w, const accesses *c, uint32_t buffer, uint32_t id,
                    uint32_t home)
{
    const uint32_t next = after(c, buffer, id);
    if (w->s.parent[id] != home) return false; // the next iteration may come to it
    const uint32_t end = home ? vy_closer(w->h, &w->s, home) : UINT32_MAX;
    return next == c->first[buffer + 1] || c->all[next].at > end;
}

static void find_dead_of(lowering *w, const accesses *c, uint32_t b)
{
    const vy_program *h = w->h;
    const bool own = h->buffers.data[b].cls == VY_LOCAL || h->buffers.data[b].workspace;
    uint32_t home = 0;
    for (uint32_t k = c->first[b]; k < c->first[b + 1]; k++) {
        const uint32_t id = c->all[k].id;
        if (w->scope[id]) home = w->s.parent[id];
        if (w->scope[id] || !is_constant(h, id)) continue;
        w->dead[id] = (own && is_last(w, c, b, id, home)) || is_overwritten(w, c, id);
    }
}

static void find_dead(lowering *w, const accesses *c)
{
    for (uint32_t b = 1; b < w->h->buffers.count; b++) find_dead_of(w, c, b);
}

static void find_copied(lowering *w, const accesses *c)
{
    for (uint32_t id = 1; id < w->h->insts.count; id++) {
        const vy_inst *i = &w->h->insts.data[id];
        if (i->op != VY_OP_LOAD || !w->last[id]) continue;
        const uint32_t first = after(c, i->aux, id), last = c->first[i->aux + 1];
        for (uint32_t k = first; k < last && c->all[k].at <= w->last[id]; k++)
            if (k - first == MANY || !leaves(w, c, &c->all[k], id, w->last[id])) {
                w->copied[id] = c->all[k].id;
                break;
            }
    }
}

// --------------------------------------------------------------------------------------- lifetimes
// Does a lifetime of its own begin with every ZERO of the buffer that is not within one?  It ends
// with the loop around that.
static bool has_scopes(lowering *w, const accesses *c, uint32_t b, bool mark)
{
    const vy_program *h = w->h;
    uint32_t end = 0;
    for (uint32_t k = c->first[b]; k < c->first[b + 1]; k++) {
        const access *a = &c->all[k];
        if (a->at < end) continue;
        if (h->insts.data[a->id].op != VY_OP_ZERO) return false;
        const uint32_t up = w->s.parent[a->id];
        end = up ? vy_closer(h, &w->s, up) : UINT32_MAX;
        if (mark) w->scope[a->id] = 1;
    }
    return true;
}

static void find_scopes(lowering *w, const accesses *c)
{
    for (uint32_t b = 1; b < w->h->buffers.count; b++)
        if (w->h->buffers.data[b].cls == VY_LOCAL && has_scopes(w, c, b, false))
            w->scoped[b] = has_scopes(w, c, b, true);
}

bool lower_decide(lowering *w)
{
    accesses c;
    find_last_uses(w);
    find_direct(w);
    lower_decide_carries(w);
    if (!collect(w, &c)) return false;
    find_scopes(w, &c);
    find_dead(w, &c);
    find_copied(w, &c);
    return !w->oom;
}
