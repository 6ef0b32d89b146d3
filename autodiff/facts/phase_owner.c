// SPDX-License-Identifier: MIT
// phase_owner.c: loads whose element no other invocation touches in the same phase (between two
// barriers), so that additions to its adjoint need no atomics.
//
//   if l < h { s[l] += s[l + h]; }          adj_s[l + h] += …;  adj_s[l] += …
//   barrier();
//
// The reverse of a phase consists of the same accesses, so what holds for the element in the
// primal's phase holds for its adjoint.  Three proofs:
//
// 1. In the phase, every invocation that loads the element also stores to it, plainly and with the
//    same index values.  If another invocation touched it too, the primal would have a race.
// 2. The array is shared, and all loads of it that may be in the phase, except those of 1 and 3,
//    have the same index, which differs between any two invocations of the workgroup: s[l + h],
//    t[2 * l], t[lid.y, lid.x].  No other invocation loads the element then; one that stored to or
//    updated it would race with the load.  Or all such loads are executed by a single invocation:
//    `if lid.x == 0 { y[wid.x] = s[0] + s[1]; }`.
// 3. As 1, but the invocation stores only in an arm, the only one in which the load's derivative
//    is used (arm_owner.c).
//
// For 2 the index is decomposed into multiples of the invocation's coordinates plus a term that is
// uniform throughout the phase.
#include "ir/core/phases.h"
#include "autodiff/facts/facts.h"
#include "autodiff/facts/padding.h"
#include "ir/core/access.h"
#include "ir/check/uniform.h"

enum {
    MOST_LOADS = 64, // of one array: bits of a set
    MOST_DEPTH = 8,  // of an index
    MOST_WORK = 1 << 26,
};

typedef struct owners {
    grad_facts *facts;
    const vy_program *p;
    const uint32_t *differs;
    uint32_t *barriers; // by instruction: how many barriers precede it
    vy_dataflow flow;
    vy_phases phases;
} owners;

// ------------------------------------------------------------------------------- proof by a store
static bool count_barriers(owners *o, vy_arena *arena)
{
    uint32_t n = o->p->insts.count;
    o->barriers = vy_arena_alloc(arena, ((size_t)n + 1) * sizeof *o->barriers);
    for (uint32_t id = 0; o->barriers && id < n; id++)
        o->barriers[id + 1] = o->barriers[id] + (o->p->insts.data[id].op == VY_OP_BARRIER);
    return o->barriers != NULL;
}

// The ancestor of `load` in the same region as `store`, or the load itself; 0: none.
static uint32_t beside(const owners *o, uint32_t load, uint32_t store)
{
    const vy_structure *s = &o->facts->s;
    uint32_t region = s->parent[store], up = load;
    while (up && s->parent[up] != region) up = s->parent[up];
    if (!up || !region || o->p->insts.data[region].op != VY_OP_IF) return up;
    return vy_in_then(s, region, up) == vy_in_then(s, region, store) ? up : 0;
}

// Does every invocation that executes `load` also execute `store`, with the same index, in the same
// phase and the same iteration of the loops around it?
static bool stores_too(const owners *o, uint32_t load, uint32_t store)
{
    const vy_program *p = o->p;
    uint32_t rank = p->buffers.data[p->insts.data[load].aux].rank;
    for (uint32_t k = 0; k < rank; k++)
        if (vy_arg(p, load, k) != vy_arg(p, store, k)) return false;
    uint32_t up = beside(o, load, store);
    if (!up) return false;
    uint32_t region = o->facts->s.parent[store];
    if (region && p->insts.data[region].op == VY_OP_WHILE) return false; // its TEST may be between
    uint32_t last = vy_op_opens((vy_op)p->insts.data[up].op) ? vy_closer(p, &o->facts->s, up) : up;
    return o->barriers[up < store ? up : store] == o->barriers[last > store ? last : store];
}

static bool proved_by_store(const owners *o, uint32_t load, const uint32_t *stores, uint32_t n)
{
    for (uint32_t k = 0; k < n; k++)
        if (stores_too(o, load, stores[k])) return true;
    return false;
}

// The store of an arm that proves it; 0: none.
static uint32_t proved_by_arm(const owners *o, uint32_t load, const uint32_t *stores, uint32_t n)
{
    for (uint32_t k = 0; k < n; k++) {
        if (!vy_used_where_stored(o->facts, &o->flow, load, stores[k])) continue;
        const uint32_t last = vy_closer(o->p, &o->facts->s, o->facts->s.parent[stores[k]]);
        if (o->barriers[load] == o->barriers[last]) return stores[k];
    }
    return 0;
}

// --------------------------------------------------------------------------- proof by the index
// Σ of[c] · coordinate c of the invocation (x, y, z in the workgroup) + a uniform term.
typedef struct form {
    int64_t of[3];
} form;

static bool uniform(const owners *o, uint32_t id, uint32_t before)
{
    if (VY_IS_LEAF(id)) return !vy_leaf_differs(o->p, id);
    return !o->differs[id] && id < before;
}

static bool add_form(form *to, form x, int64_t by)
{
    for (uint32_t c = 0; c < 3; c++) {
        int64_t product;
        if (__builtin_mul_overflow(x.of[c], by, &product) ||
            __builtin_add_overflow(to->of[c], product, &to->of[c]))
            return false;
    }
    return true;
}

static bool leaf_form(const owners *o, uint32_t id, form *f)
{
    const vy_leaf *l = &o->p->leaves.data[VY_LEAF_INDEX(id)];
    const uint32_t *w = o->p->workgroup;
    if (l->kind == VY_LEAF_OVER && o->p->overs.count <= VY_LAUNCH_AXES) { // wid · size + lid
        f->of[vy_launch_axis(o->p, l->index)] = 1;
        return true;
    }
    if (l->kind != VY_LEAF_BUILTIN) return false;
    if (l->index == VY_LID) f->of[l->axis] = 1;
    if (l->index == VY_LINDEX) *f = (form){{1, w[0], (int64_t)w[0] * w[1]}};
    return l->index == VY_LID || l->index == VY_LINDEX;
}

// Is it its operand, as an integer of 32 bits of either sign?  The numbers of an invocation are
// small.
static bool is_same_number(const owners *o, const vy_inst *i, uint32_t id)
{
    if (i->op != VY_OP_BITCAST && i->op != VY_OP_CAST) return false;
    const vy_type from = vy_id_type(o->p, vy_arg(o->p, id, 0)), to = (vy_type)i->type;
    return vy_type_is_integer(from) && vy_type_size(from) == 4 && vy_type_is_integer(to) &&
           vy_type_size(to) == 4;
}

// `before`: uniform operands must be defined before it, so that they do not change in the phase.
static bool form_of(const owners *o, uint32_t id, uint32_t before, uint32_t depth, form *f)
{
    *f = (form){{0}};
    if (uniform(o, id, before)) return true;
    if (VY_IS_LEAF(id)) return leaf_form(o, id, f);
    const vy_inst *i = &o->p->insts.data[id];
    if (depth < MOST_DEPTH && is_same_number(o, i, id))
        return form_of(o, vy_arg(o->p, id, 0), before, depth + 1, f);
    if (depth == MOST_DEPTH || i->nargs != 2 || !vy_type_is_integer((vy_type)i->type)) return false;
    uint32_t a = vy_arg(o->p, id, 0), b = vy_arg(o->p, id, 1);
    form x, y;
    const vy_scalar *k = vy_id_const(o->p, i->op == VY_OP_MUL && vy_id_const(o->p, a) ? a : b);
    switch ((vy_op)i->op) {
    case VY_OP_ADD:
    case VY_OP_SUB:
        return form_of(o, a, before, depth + 1, &x) && form_of(o, b, before, depth + 1, &y) &&
               add_form(f, x, 1) && add_form(f, y, i->op == VY_OP_ADD ? 1 : -1);
    case VY_OP_MUL:
        return k && k->i > 0 && k->i < 1 << 20 &&
               form_of(o, vy_id_const(o->p, a) ? b : a, before, depth + 1, &x) &&
               add_form(f, x, k->i);
    case VY_OP_SHL:
        return k && k->u < 20 && form_of(o, a, before, depth + 1, &x) &&
               add_form(f, x, INT64_C(1) << k->u);
    default: return false;
    }
}

// Do invocations with different coordinates get different sums?  Then adds those coordinates to
// *separated.  Mixed radix: each multiple is greater than the sum of all smaller ones; nothing
// wraps.
static bool separates(const owners *o, form f, uint8_t *separated)
{
    const uint32_t *w = o->p->workgroup;
    uint8_t now = 0;
    int64_t reach = 0;
    for (;;) {
        uint32_t best = 3;
        for (uint32_t c = 0; c < 3; c++) {
            int64_t size = f.of[c] < 0 ? -f.of[c] : f.of[c];
            if (!size || now & 1u << c || w[c] == 1) continue;
            int64_t least = best == 3 ? INT64_MAX : f.of[best] < 0 ? -f.of[best] : f.of[best];
            if (size < least) best = c;
        }
        if (best == 3) break;
        int64_t size = f.of[best] < 0 ? -f.of[best] : f.of[best];
        if (size <= reach || size > 1 << 20) return false;
        reach += size * (w[best] - 1);
        now |= (uint8_t)(1u << best);
    }
    *separated |= now;
    return true;
}

// Does every iteration of the loop execute a barrier, so that no two are in one phase?
static bool separates_iterations(const owners *o, uint32_t loop)
{
    for (uint32_t id = loop + 1; id < o->facts->s.partner[loop]; id++)
        if (o->p->insts.data[id].op == VY_OP_BARRIER && o->facts->s.parent[id] == loop) return true;
    return false;
}

static bool is_injective(const owners *o, uint32_t load)
{
    const vy_program *p = o->p;
    uint32_t before = load;
    uint8_t separated = 0, all = 0;
    for (uint32_t loop = o->facts->home[load]; loop; loop = o->facts->home[loop])
        if (!separates_iterations(o, loop)) before = loop;
    for (uint32_t c = 0; c < 3; c++) all |= (uint8_t)((p->workgroup[c] > 1) << c);
    for (uint32_t k = 0; k < p->buffers.data[p->insts.data[load].aux].rank; k++) {
        form f;
        uint8_t here = 0;
        if (form_of(o, vy_arg(p, load, k), before, 0, &f) && separates(o, f, &here))
            separated |= here;
    }
    return (separated & all) == all;
}

bool vy_lane_owns(const grad_facts *f, const uint32_t *differs, uint32_t access)
{
    const owners o = {.facts = (grad_facts *)f, .p = f->p, .differs = differs};
    return is_injective(&o, access);
}

// The `if` around it that only one invocation of the workgroup enters: `lid.x == 0`; 0: none.
static uint32_t single_of(const owners *o, uint32_t load)
{
    const vy_program *p = o->p;
    uint32_t before = load;
    uint8_t all = 0;
    for (uint32_t c = 0; c < 3; c++) all |= (uint8_t)((p->workgroup[c] > 1) << c);
    for (uint32_t loop = o->facts->home[load]; loop; loop = o->facts->home[loop])
        if (!separates_iterations(o, loop)) before = loop;
    for (uint32_t up = o->facts->s.parent[load]; up; up = o->facts->s.parent[up]) {
        if (p->insts.data[up].op != VY_OP_IF || !vy_in_then(&o->facts->s, up, load)) continue;
        uint32_t equal = vy_arg(p, up, 0);
        if (VY_IS_LEAF(equal) || p->insts.data[equal].op != VY_OP_EQ) continue;
        form x, y;
        uint8_t separated = 0;
        if (form_of(o, vy_arg(p, equal, 0), before, 0, &x) &&
            form_of(o, vy_arg(p, equal, 1), before, 0, &y) && add_form(&x, y, -1) &&
            separates(o, x, &separated) && (separated & all) == all)
            return up;
    }
    return 0;
}

// Is the load, and are all others of its phase (of a set, by number), in one such `if`?
static bool is_single(const owners *o, const uint32_t *loads, uint32_t k, uint64_t in_phase)
{
    const uint32_t only = single_of(o, loads[k]);
    bool all = only != 0;
    for (uint32_t j = 0; j < MOST_LOADS && all; j++)
        all = !(in_phase >> j & 1) || single_of(o, loads[j]) == only;
    return all;
}

// ---------------------------------------------------------------------------------- one array
static void prove(owners *o, const uint32_t *loads, uint32_t n, const uint32_t *stores,
                  uint32_t store_count)
{
    uint64_t others = 0; // loads that are not proved by a store
    bool shared = o->p->buffers.data[o->p->insts.data[loads[0]].aux].cls == VY_SHARED;
    for (uint32_t k = 0; k < n; k++) {
        o->facts->own[loads[k]] = proved_by_store(o, loads[k], stores, store_count);
        if (!o->facts->own[loads[k]])
            o->facts->own_in[loads[k]] = proved_by_arm(o, loads[k], stores, store_count);
        o->facts->own[loads[k]] |= o->facts->own_in[loads[k]] != 0;
        if (!o->facts->own[loads[k]]) others |= UINT64_C(1) << k;
    }
    if (!shared || !others || o->phases.work > MOST_WORK) return;
    for (uint32_t k = 0; k < n; k++) o->phases.touch[loads[k]].loads = UINT64_C(1) << k;
    vy_phases_find(&o->phases);
    vy_phases_fill(&o->phases);
    for (uint32_t k = 0; k < n; k++) {
        if (o->facts->own[loads[k]]) continue;
        uint64_t in_phase = o->phases.phase[loads[k]].loads & others;
        bool alone = is_injective(o, loads[k]);
        for (uint32_t j = 0; j < n && alone; j++)
            if (in_phase >> j & 1) alone = vy_same_element(o->p, loads[k], loads[j]);
        if (!alone) alone = is_single(o, loads, k, in_phase);
        o->facts->own[loads[k]] = alone;
    }
    for (uint32_t k = 0; k < n; k++) o->phases.touch[loads[k]] = (vy_phase_access){0};
}

static bool collect(owners *o, uint32_t buffer, vy_id_vec *loads, vy_id_vec *stores)
{
    bool ok = true;
    loads->count = stores->count = 0;
    for (uint32_t id = 1; ok && id < o->p->insts.count; id++) {
        const vy_inst *i = &o->p->insts.data[id];
        if (!vy_op_is_memory((vy_op)i->op) || i->aux != buffer) continue;
        if (i->op == VY_OP_LOAD && vy_is_active(o->facts, id)) ok = vy_vec_push(loads, id);
        if (i->op == VY_OP_STORE) ok = ok && vy_vec_push(stores, id);
    }
    return ok;
}

bool vy_own(grad_facts *f)
{
    vy_arena arena = {0};
    vy_id_vec loads = {0}, stores = {0};
    owners o = {.facts = f, .p = f->p};
    if (!f->phased) return true;
    if (!vy_phase_facts_make(f)) return false;
    o.differs = vy_differences(f->p, &f->s, NULL, &arena);
    bool ok = o.differs && count_barriers(&o, &arena) &&
              vy_dataflow_make(&o.flow, f->p, &f->s, &arena) &&
              vy_phases_make(&o.phases, f->p, &f->s, &arena);
    for (uint32_t i = 1; ok && i < f->p->buffers.count; i++) {
        const vy_buf *b = &f->p->buffers.data[i];
        bool visible = b->cls == VY_SHARED || b->cls == VY_OUT || b->cls == VY_INOUT;
        if (!visible || b->view_of || (f->buffers[i].activity & ACTIVE) != ACTIVE) continue;
        ok = collect(&o, i, &loads, &stores);
        if (ok && loads.count && loads.count <= MOST_LOADS && stores.count <= MOST_LOADS)
            prove(&o, loads.data, loads.count, stores.data, stores.count);
    }
    vy_vec_free(&loads);
    vy_vec_free(&stores);
    vy_arena_free(&arena);
    return ok;
}
