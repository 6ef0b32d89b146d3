// SPDX-License-Identifier: MIT
// hoist_first.c: what only the first iteration of a loop stores is stored before the loop.
//
//   for o in 0..O {                               for k in 0..K { tape[k, n] = h[k]; }
//     for k in 0..K {                             for o in 0..O {
//       v = h[k];                           →       for k in 0..K { s += h[k] * w[o, k]; }
//       if o == 0 { tape[k, n] = v; }             }
//       s += v * w[o, k];
//     }
//   }
//
// Gradients are full of it: a value that is the same in every iteration is taped by the first
// (autodiff/storage/tape_axes.c).  A device then tests the condition and masks the store in every
// innermost iteration; where lanes store one by one, that takes as long as the sum itself.
//
// The stores, and all that they need inside the loop, are copied: pure operations, and loads of
// memory that the loop does not write; with the loops in between, whose bounds must not depend on
// this loop either.  Their order among one another stays.  Nothing else in the loop may access the
// element that is stored to, and there is no barrier in it, so nobody can observe the difference.
// The number of copied instructions is bounded, as they are executed once more.  If the loop may
// not run at all, `if from < to` is put around the copy.
//
// Needs valid structure; keeps lines and names.
#include "ir/facts/memory.h"
#include "ir/pass/pass.h"

enum {
    ACCESSES = 64,              // to a buffer in the loop
    MOST = 32,                  // instructions of a copy
    OPERANDS = VY_MAX_RANK + 2, // of one of them
};

typedef struct site {
    uint32_t loop, branch; // the loop, and the `if` on its first iteration
    uint32_t next;         // of the same loop; 1 + index
    uint32_t nest;         // loops between the two
    uint32_t count;
    uint32_t ids[MOST]; // what is copied, ascending: loops, values, stores
} site;
VY_VEC_TYPE(site_vec, site);

typedef struct hoist {
    vy_rewrite w;
    vy_writes writes, touched; // touched: reads too
    uint32_t *first, *last;    // by LOOP: 1 + a site
    uint32_t *dropped;         // by IF: its last instruction
    uint32_t *moved;           // by instruction: its copy, while a site is copied
    site_vec sites;
} hoist;

static const vy_inst *inst(const hoist *h, uint32_t id) { return &h->w.p->insts.data[id]; }

// --------------------------------------------------------------------------------------- the sites
// The loop whose first iteration the condition of an `if` is true in; 0: another condition.
static uint32_t first_of(const hoist *h, uint32_t branch)
{
    const vy_program *p = h->w.p;
    const uint32_t cond = vy_arg(p, branch, 0);
    if (VY_IS_LEAF(cond) || inst(h, cond)->op != VY_OP_EQ) return 0;
    for (uint32_t k = 0; k < 2; k++) {
        const uint32_t counter = vy_arg(p, cond, k);
        if (VY_IS_LEAF(counter) || inst(h, counter)->op != VY_OP_LOOP) continue;
        if (vy_arg(p, cond, 1 - k) == vy_arg(p, counter, 0)) return counter;
    }
    return 0;
}

// Are there only counted loops, never left early, between the `if` and the loop?
static bool count_nest(const hoist *h, site *s)
{
    uint32_t up = h->w.s.parent[s->branch];
    for (; up && up != s->loop; up = h->w.s.parent[up]) {
        if (inst(h, up)->op != VY_OP_LOOP || vy_exits(h->w.p, up)) return false;
        s->nest++;
    }
    return up && !vy_exits(h->w.p, s->loop);
}

static bool on_chain(const hoist *h, const site *s, uint32_t construct)
{
    uint32_t up = s->branch;
    while (up != s->loop && up != construct) up = h->w.s.parent[up];
    return up == construct;
}

static bool add(site *s, uint32_t id)
{
    if (s->count == MOST) return false;
    uint32_t at = s->count++;
    for (; at && s->ids[at - 1] > id; at--) s->ids[at] = s->ids[at - 1];
    s->ids[at] = id;
    return true;
}

static bool is_listed(const site *s, uint32_t id)
{
    for (uint32_t k = 0; k < s->count; k++)
        if (s->ids[k] == id) return true;
    return false;
}

// Would the value be the same before the loop?
static bool may_move(const hoist *h, const site *s, uint32_t id)
{
    const vy_inst *i = inst(h, id);
    if (i->nargs > OPERANDS || !on_chain(h, s, h->w.s.parent[id])) return false;
    if (i->op == VY_OP_LOAD)
        return !vy_written_between(&h->writes, i->aux, s->loop, h->w.s.partner[s->loop]);
    return vy_op_infos[i->op].effect == VY_PURE;
}

static bool need(const hoist *h, site *s, uint32_t id, uint32_t args);

// Lists a value that a copy needs.  Recursion is as deep as the list is long.
static bool need_value(const hoist *h, site *s, uint32_t id)
{
    if (VY_IS_LEAF(id) || id < s->loop || is_listed(s, id)) return true;
    return may_move(h, s, id) && add(s, id) && need(h, s, id, inst(h, id)->nargs);
}

static bool need(const hoist *h, site *s, uint32_t id, uint32_t args)
{
    for (uint32_t k = 0; k < args; k++)
        if (!need_value(h, s, vy_arg(h->w.p, id, k))) return false;
    return true;
}

static bool need_nest(const hoist *h, site *s)
{
    for (uint32_t up = h->w.s.parent[s->branch]; up != s->loop; up = h->w.s.parent[up])
        if (!add(s, up)) return false;
    for (uint32_t up = h->w.s.parent[s->branch]; up != s->loop; up = h->w.s.parent[up])
        if (!need(h, s, up, 3)) return false;
    return true;
}

// Is access `id` to an element other than that of the store, in whatever iterations the two
// execute?  k and k + 1 of a loop inside are not: those of two iterations may be equal.
static bool is_apart(const hoist *h, const site *s, uint32_t store, uint32_t id)
{
    const vy_program *p = h->w.p;
    if (inst(h, id)->aux != inst(h, store)->aux) return false; // another view of it
    for (uint32_t k = 0; k < vy_rank_of(p, id); k++) {
        const uint32_t x = vy_arg(p, store, k);
        if ((VY_IS_LEAF(x) || x < s->loop) && vy_values_differ(p, x, vy_arg(p, id, k))) return true;
    }
    return false;
}

// A store to an element that nothing else in the loop accesses, and whose operands are available.
static bool need_store(const hoist *h, site *s, uint32_t id)
{
    const uint32_t buffer = inst(h, id)->aux, memory = vy_memory_of(h->w.p, buffer);
    const vy_buffer_class cls = h->w.p->buffers.data[buffer].cls;
    if (cls == VY_LOCAL || cls == VY_SHARED || inst(h, id)->nargs > OPERANDS) return false;
    const vy_writes *t = &h->touched;
    uint32_t seen = 0;
    for (uint32_t n = vy_first_after(t, memory, s->loop); n < t->start[memory + 1]; n++) {
        const uint32_t other = t->at[n];
        if (other >= h->w.s.partner[s->loop]) break;
        if (++seen > ACCESSES || (other != id && !is_apart(h, s, id, other))) return false;
    }
    return add(s, id) && need(h, s, id, inst(h, id)->nargs);
}

// Only stores, and values for them.
static bool need_arm(const hoist *h, site *s)
{
    const uint32_t other = h->w.s.partner[s->branch];
    if (h->w.s.partner[other] != other + 1) return false; // it has a second arm
    bool any = false;
    for (uint32_t id = s->branch + 1; id < other; id++) {
        const vy_op op = (vy_op)inst(h, id)->op;
        if (op == VY_OP_STORE) {
            if (!need_store(h, s, id)) return false;
            any = true;
        } else if (op != VY_OP_LOAD && vy_op_infos[op].effect != VY_PURE) {
            return false;
        }
    }
    return any && !vy_slot_count(h->w.p, &h->w.s, s->branch);
}

static bool is_site(const hoist *h, site *s)
{
    const uint32_t loop = s->loop = first_of(h, s->branch);
    return loop && count_nest(h, s) &&
           !vy_barrier_between(&h->writes, loop, h->w.s.partner[loop]) && need_nest(h, s) &&
           need_arm(h, s);
}

static bool choose_sites(hoist *h)
{
    for (uint32_t id = 1; id < h->w.p->insts.count; id++) {
        site s = {.branch = id};
        if (inst(h, id)->op != VY_OP_IF || !is_site(h, &s)) continue;
        if (!vy_vec_push(&h->sites, s)) return false;
        const uint32_t number = h->sites.count, loop = s.loop;
        if (h->last[loop])
            h->sites.data[h->last[loop] - 1].next = number;
        else
            h->first[loop] = number;
        h->last[loop] = number;
        h->dropped[id] = vy_closer(h->w.p, &h->w.s, id);
    }
    return true;
}

// ------------------------------------------------------------------------------------- rebuilding
static void copy_one(hoist *h, const site *s, uint32_t id)
{
    const vy_inst *i = inst(h, id);
    const uint32_t n = i->op == VY_OP_LOOP ? 3 : i->nargs;
    uint32_t args[OPERANDS];
    for (uint32_t k = 0; k < n; k++) {
        const uint32_t v = vy_arg(h->w.p, id, k);
        args[k] = VY_IS_LEAF(v) || v < s->loop ? vy_new(&h->w, v) : h->moved[v];
    }
    if (i->op != VY_OP_LOOP) {
        vy_rewrite_moved(&h->w, id, args, h->moved);
        return;
    }
    h->moved[id] = vy_begin_loop(h->w.b, (vy_type)i->type, i->flags & VY_FLAG_REVERSE, args[0],
                                 args[1], args[2], 0, NULL, NULL);
    vy_pass_name(h->w.b, h->w.p, id, h->moved[id]);
}

static void copy_site(hoist *h, const site *s)
{
    vy_builder *b = h->w.b;
    vy_rewrite_at(&h->w, s->branch);
    const bool guarded = vy_begin_if_unsure(b, vy_new_runs(&h->w, s->loop).id);
    for (uint32_t k = 0; k < s->count && !vy_rewrite_stopped(&h->w); k++) copy_one(h, s, s->ids[k]);
    for (uint32_t k = 0; k < s->nest; k++) vy_end_loop(b, 0, 0, NULL, NULL);
    if (guarded) vy_end_plain_if(b);
}

static uint32_t instead(void *pass, uint32_t id)
{
    hoist *h = pass;
    for (uint32_t n = h->first[id]; n && !vy_rewrite_stopped(&h->w); n = h->sites.data[n - 1].next)
        copy_site(h, &h->sites.data[n - 1]);
    return h->dropped[id];
}

static bool prepare_sites(hoist *h)
{
    h->first = vy_rewrite_ids(&h->w);
    h->last = vy_rewrite_ids(&h->w);
    h->dropped = vy_rewrite_ids(&h->w);
    h->moved = vy_rewrite_ids(&h->w);
    return !h->w.oom && vy_writes_make(&h->writes, h->w.p, VY_COUNT_WRITES, &h->w.arena) &&
           vy_writes_make(&h->touched, h->w.p, VY_COUNT_WRITES | VY_COUNT_READS, &h->w.arena);
}

bool vy_pass_hoist_first(vy_program *p, vy_pass_context *c)
{
    if (p->host || (vy_constructs(p) & (VY_LOOPS | VY_IFS)) != (VY_LOOPS | VY_IFS)) return true;
    hoist h = {0};
    bool ok = vy_rewrite_begin(&h.w, p) && prepare_sites(&h) && choose_sites(&h);
    if (ok && h.sites.count) vy_rewrite_run(&h.w, instead, &h);
    vy_vec_free(&h.sites);
    return vy_rewrite_end(&h.w, ok, &c->changed);
}
