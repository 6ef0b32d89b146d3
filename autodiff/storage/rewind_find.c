// SPDX-License-Identifier: MIT
// rewind_find.c: which local arrays are rewound (rewind.c).
//
// Those whose stores the reverse sweep can take back, if a load may then be executed again that a
// tape would be needed for.  Whether that is less is found by planning with and without it: tapes
// may hold what was computed from such loads, too.
#include "autodiff/facts/facts.h"
#include "autodiff/storage/storage.h"
#include "ir/core/flow.h"

#include <string.h>

enum { MOST_STORES = 16 }; // to one array, as all pairs are compared

// ------------------------------------------------------------------------------------ which arrays
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
    bool others;   // something else accesses it than one clear ahead of all constructs, stores and
                   // loads
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
        r->plan.taken_back[id] = loop && !followed ? VY_REWIND_EARLY : VY_REWIND_LATE;
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
        if (!is_visited(f, s->id[k]) || !vy_rewind_has_place(f, s->id[k])) return false;
    return true;
}

static bool may_rewind(const grad_facts *f, uint32_t buffer, const stores *s)
{
    return f->p->buffers.data[buffer].cls == VY_LOCAL && s->count && !s->others &&
           can_be_taken_back(f, s) && are_apart(f, s);
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

static bool has_arrays(const vy_program *p)
{
    for (uint32_t b = 1; b < p->buffers.count; b++)
        if (p->buffers.data[b].cls == VY_LOCAL) return true;
    return false;
}

bool vy_rewind(reverse *r, const uint8_t *needed)
{
    bool any = false;
    if (r->p->host || !has_arrays(r->p)) return true;
    if (vy_storage_make_rewound(&r->plan, r->p) && find(r, &any) && (!any || plan_again(r, needed)))
        return true;
    if (!r->failed) vy_fail_oom(r->out);
    r->failed = true;
    return false;
}
