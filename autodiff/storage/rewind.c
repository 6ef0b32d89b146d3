// SPDX-License-Identifier: MIT
// rewind.c: local arrays whose stores the reverse sweep takes back, so that loads need no tape.
//
//   local minor: f32[256];                       for s in rev(1..256) {
//   minor[0] = 1.0;                                  minor[s] = 0.0;
//   for s in 1..256 {                                … minor[s ^ 1 << j] …
//       minor[s] = … minor[s ^ 1 << j] …;   →    }
//   }
//
// An array begins as zeros.  If no two stores name one element (facts/stored_once.c), what a store
// overwrites is zero, and need not be kept: the reverse of the store puts the zero back.  So when
// the reverse sweep is at a place of the program, the array is as it was when the forward sweep was
// there, and a load may be executed again, whatever its index is.  That a store in an arm that was
// not taken, or one out of range, is taken back as well changes nothing: no other store names that
// element, which is zero.
//
// A loop's body is copied as a whole when an iteration is reversed, before any of it is reversed.
// Then the stores of this iteration have yet to be taken back, and a load finds what it found only
// if they all come before it.  One that no load of the loop follows is taken back ahead of the copy
// (EARLY): then loads before it find what they found, too.
//
// The zeros are computed from the counters of loops alone, so that they are available everywhere.
// Only arrays of the entire invocation: when the reverse begins, they are as the forward sweep
// leaves them, and no replay stores to them.
#include "autodiff/facts/facts.h"
#include "autodiff/storage/storage.h"
#include "ir/core/access.h"
#include "ir/core/flow.h"

#include <string.h>

enum { LATE = 1, EARLY = 2 }; // storage_plan.taken_back
enum {
    MOST_STORES = 16, // of one array, as all pairs are compared
    MOST_STEPS = 16,  // operations of an index
};

// ------------------------------------------------------------------------------------ which arrays
// Is it computed from constants and counters of loops around it alone, by some operations?
static bool is_plain(const grad_facts *f, uint32_t id, uint32_t *steps)
{
    if (VY_IS_LEAF(id)) return true;
    const vy_inst *i = &f->p->insts.data[id];
    if (i->op == VY_OP_LOOP) return true;
    if (++*steps > MOST_STEPS || vy_op_infos[i->op].effect != VY_PURE ||
        vy_op_is_subgroup((vy_op)i->op) || i->op == VY_OP_APPLY)
        return false;
    for (uint32_t k = 0; k < i->nargs; k++)
        if (!is_plain(f, vy_arg(f->p, id, k), steps)) return false;
    return true;
}

static bool has_plain_index(const grad_facts *f, uint32_t store)
{
    uint32_t steps = 0;
    for (uint32_t k = 0; k < vy_rank_of(f->p, store); k++)
        if (!is_plain(f, vy_arg(f->p, store, k), &steps)) return false;
    return true;
}

// Does the reverse sweep visit it, wherever the forward sweep does?
static bool is_visited(const grad_facts *f, uint32_t store)
{
    for (uint32_t up = f->s.parent[store]; up; up = f->s.parent[up])
        if (!f->busy[up]) return false;
    return true;
}

typedef struct stores {
    uint32_t id[MOST_STORES], count;
    uint32_t load; // the next one
    bool others;   // something else than one clear, stores and loads accesses the array
} stores;

// Notes an access, from the last one on.
static void note(reverse *r, stores *s, uint32_t id)
{
    const grad_facts *f = &r->facts;
    const vy_inst *i = &f->p->insts.data[id];
    if (i->op == VY_OP_LOAD) {
        s->load = id;
    } else if (i->op == VY_OP_ZERO) {
        s->others |= f->s.parent[id] || f->buffers[i->aux].first_write != id;
    } else if (i->op != VY_OP_STORE || s->count == MOST_STORES) {
        s->others = true;
    } else {
        const uint32_t loop = f->home[id];
        const bool followed = s->load && vy_encloses(f, loop, s->load);
        r->plan.taken_back[id] = loop && !followed ? EARLY : LATE;
        r->plan.rewinds[id] = s->count ? s->id[s->count - 1] : 0;
        s->id[s->count++] = id;
    }
}

// Does each store name elements that no other one names, nor itself in another iteration?
static bool are_apart(const grad_facts *f, const stores *s)
{
    for (uint32_t k = 0; k < s->count; k++) {
        if (!vy_stores_once(f, s->id[k])) return false;
        for (uint32_t j = 0; j < k; j++)
            if (!vy_stores_apart(f, s->id[j], s->id[k])) return false;
    }
    return true;
}

static bool can_be_taken_back(const grad_facts *f, const stores *s)
{
    for (uint32_t k = 0; k < s->count; k++)
        if (!is_visited(f, s->id[k]) || !has_plain_index(f, s->id[k])) return false;
    return true;
}

static bool may_rewind(const grad_facts *f, uint32_t buffer, const stores *s)
{
    const buffer_facts *info = &f->buffers[buffer];
    return f->p->buffers.data[buffer].cls == VY_LOCAL && !info->home && info->clears <= 1 &&
           s->count && !s->others && can_be_taken_back(f, s) && are_apart(f, s);
}

// Can a replay of a loop around the load execute it again, as it could not otherwise?
static bool gains(reverse *r, uint32_t load, uint32_t store)
{
    const uint32_t buffer = r->p->insts.data[load].aux;
    bool gained = false;
    for (uint32_t root = r->facts.home[load]; root && !gained; root = r->facts.home[root]) {
        r->plan.rewound[buffer] = 0;
        if (vy_can_repeat(r, load, root)) continue;
        r->plan.rewound[buffer] = store;
        gained = vy_can_repeat(r, load, root);
    }
    r->plan.rewound[buffer] = gained ? store : 0;
    return gained;
}

static bool find_arrays(reverse *r, stores *of)
{
    const grad_facts *f = &r->facts;
    bool any = false;
    for (uint32_t id = r->p->insts.count; id-- > 1;) {
        const vy_inst *i = &r->p->insts.data[id];
        if (vy_op_is_memory((vy_op)i->op)) note(r, &of[i->aux], id);
    }
    for (uint32_t b = 1; b < r->p->buffers.count; b++)
        if (!may_rewind(f, b, &of[b])) of[b].count = 0;
    for (uint32_t id = 1; id < r->p->insts.count; id++) {
        const vy_inst *i = &r->p->insts.data[id];
        if (i->op == VY_OP_LOAD && of[i->aux].count && !r->plan.rewound[i->aux])
            any |= gains(r, id, of[i->aux].id[of[i->aux].count - 1]);
    }
    return any;
}

// Marks the arrays that may be rewound; false: memory.
static bool find(reverse *r, bool *any)
{
    vy_arena arena = {0};
    stores *of = vy_arena_alloc(&arena, r->p->buffers.count * sizeof *of);
    *any = of && find_arrays(r, of);
    vy_arena_free(&arena);
    return of != NULL;
}

// ------------------------------------------------------------------------------------ does it pay?
// How often an invocation runs the instruction, inside of `around`.
static double times(const reverse *r, uint32_t id, uint32_t around)
{
    double n = 1;
    for (uint32_t l = r->facts.home[id]; l > around; l = r->facts.home[l])
        n *= vy_expected_trips(r->p, l);
    return n;
}

// Bytes that an invocation keeps by that plan.
static double bytes_kept(const reverse *r, const uint32_t *kept)
{
    double bytes = 0;
    for (uint32_t id = 1; id < r->p->insts.count; id++) {
        const uint32_t size = vy_type_size((vy_type)r->p->insts.data[id].type);
        if (kept[id] && !r->plan.stands[id])
            bytes += times(r, id, kept[id] - 1) * (size < 4 ? 4 : size);
    }
    return bytes;
}

// Bytes of the zeros that are stored.
static double bytes_taken_back(const reverse *r)
{
    double bytes = 0;
    for (uint32_t b = 1; b < r->p->buffers.count; b++)
        for (uint32_t id = r->plan.rewound[b]; id; id = r->plan.rewinds[id])
            bytes += times(r, id, 0) * vy_type_size((vy_type)r->p->buffers.data[b].type);
    return bytes;
}

// Finds anew what stands in arrays: not in those that are rewound.
static bool find_standing(reverse *r)
{
    memset(r->plan.stands, 0, r->p->insts.count * sizeof *r->plan.stands);
    return vy_find_standing(r);
}

// Plans again with these arrays rewound; a byte on a tape is written and read, a zero only stored.
static bool plan_again(reverse *r, const uint8_t *needed)
{
    const double before = bytes_kept(r, r->plan.kept);
    uint32_t *kept = vy_reverse_zeroed(r, r->p->insts.count, sizeof *kept);
    bool ok = kept && find_standing(r) && vy_plan(r, needed, kept);
    const double saved = ok ? before - bytes_kept(r, kept) : 0;
    const bool pays = saved > 0 && 2 * saved >= bytes_taken_back(r);
    if (ok && pays) memcpy(r->plan.kept, kept, r->p->insts.count * sizeof *kept);
    if (!pays) memset(r->plan.rewound, 0, r->p->buffers.count * sizeof *r->plan.rewound);
    ok = ok && (pays || find_standing(r));
    vy_free(kept);
    return ok;
}

bool vy_rewind(reverse *r, const uint8_t *needed)
{
    bool any = false;
    if (r->p->host) return true;
    if (find(r, &any) && (!any || plan_again(r, needed))) return true;
    if (!r->failed) vy_fail_oom(r->out);
    r->failed = true;
    return false;
}

// --------------------------------------------------------------------------------------- the loads
bool vy_rewind_finds(const reverse *r, uint32_t load, uint32_t root)
{
    const uint32_t buffer = r->p->insts.data[load].aux;
    uint32_t first = load; // the outermost loop around the load inside of root, or the load
    for (uint32_t l = r->facts.home[load]; l > root; l = r->facts.home[l]) first = l;
    for (uint32_t id = r->plan.rewound[buffer]; id; id = r->plan.rewinds[id]) {
        if (id < first || !vy_encloses(&r->facts, root, id)) continue;
        if (r->plan.taken_back[id] != EARLY || r->facts.home[id] != root) return false;
    }
    return true;
}

// ------------------------------------------------------------------------------------ the way back
static uint32_t copy(reverse *r, uint32_t id)
{
    const vy_inst *i = &r->p->insts.data[id];
    if (VY_IS_LEAF(id) || i->op == VY_OP_LOOP) return vy_primal(r, id);
    uint32_t args[MOST_STEPS];
    for (uint32_t k = 0; k < i->nargs; k++) args[k] = copy(r, vy_arg(r->p, id, k));
    return vy_emit(r->b, (vy_op)i->op, (vy_type)i->type, i->aux, i->nargs, args);
}

static void put_back(reverse *r, uint32_t store)
{
    const uint32_t buffer = r->p->insts.data[store].aux, rank = vy_rank_of(r->p, store);
    const built_buffer *info = &r->build.buffers[buffer];
    uint32_t args[VY_MAX_RANK + 1];
    if (!r->plan.rewound[buffer] || !info->copy || !info->stores || r->build.purpose == BUILD_PROBE)
        return;
    for (uint32_t k = 0; k < rank; k++) args[k] = copy(r, vy_arg(r->p, store, k));
    args[rank] = vy_zero(r->b, (vy_type)r->p->buffers.data[buffer].type).id;
    vy_emit(r->b, VY_OP_STORE, VY_VOID, info->copy, rank + 1, args);
}

void vy_rewind_ahead(reverse *r, uint32_t loop)
{
    for (uint32_t id = loop + 1; id < r->facts.s.partner[loop]; id++)
        if (r->plan.taken_back[id] == EARLY && r->facts.home[id] == loop) put_back(r, id);
}

void vy_rewind_store(reverse *r, uint32_t store)
{
    if (r->plan.taken_back[store] == LATE) put_back(r, store);
}
