// SPDX-License-Identifier: MIT
// online_softmax_find.c: recognises loops whose sums are rescaled to a running maximum, and what
// memory they use.
//
// The maximum is a carried value whose next one is max(it, s) or min, perhaps in an arm of an `if`
// that leaves it alone otherwise, perhaps under stop_grad.  What is summed is a carried value or a
// local array of which each iteration updates the same elements, each once: an index is the
// variable of an inner loop, or the same in all iterations, so no two updates alias.  Degrees
// (homogeneity.c) say whether it is legal.
#include "autodiff/rewrite/online_softmax.h"
#include "ir/core/access.h"
#include "ir/core/flow.h"

enum { MOST_UPDATES = 64 }; // stores that update one array

static const vy_inst *inst(const vy_rescaled *r, uint32_t id) { return &r->d.p->insts.data[id]; }
static uint32_t closer(const vy_rescaled *r) { return r->d.s->partner[r->d.loop]; }
static bool outside(const vy_rescaled *r, uint32_t id) { return VY_IS_LEAF(id) || id < r->d.loop; }

// ------------------------------------------------------------------------------------- the maximum
static bool is_extremum(const vy_rescaled *r, uint32_t id, uint32_t carry)
{
    vy_op op = (vy_op)inst(r, id)->op;
    if (op != VY_OP_MAX && op != VY_OP_MIN) return false;
    return (vy_arg(r->d.p, id, 0) == carry) != (vy_arg(r->d.p, id, 1) == carry);
}

// Marks the instructions that compute the next maximum, `id`, from the previous one.
static bool mark_chain(vy_rescaled *r, uint32_t id, uint32_t carry)
{
    const vy_program *p = r->d.p;
    for (;;) {
        if (outside(r, id)) return false;
        r->d.chain[id] = 1;
        if (is_extremum(r, id, carry)) return true;
        if (inst(r, id)->op == VY_OP_STOP_GRAD) {
            id = vy_arg(p, id, 0);
            r->stopped = true; // only if nothing else uses the maximum
            if (outside(r, id) || r->uses[id] != 1 || !is_extremum(r, id, carry)) return false;
            continue;
        }
        uint32_t x, y, opener = vy_choice(p, r->d.s, id, &x, &y);
        if (!opener || (x == carry) == (y == carry)) return false;
        r->d.chain[opener] = y == carry ? 1 : 2;
        r->ifs++;
        id = y == carry ? x : y;
    }
}

static void clear_chain(vy_rescaled *r)
{
    for (uint32_t id = r->d.loop; id <= closer(r); id++) r->d.chain[id] = 0;
    r->ifs = 0;
    r->stopped = false;
}

// ----------------------------------------------------------------------------------------- memory
// The declaration or clearing of `buffer` before the loop, in the same region, with no access
// between.
static bool cleared_before(const vy_rescaled *r, uint32_t buffer)
{
    uint32_t parent = r->d.s->parent[r->d.loop];
    for (uint32_t id = r->d.loop; id-- > parent + 1;) {
        const vy_inst *i = inst(r, id);
        if (i->op == VY_OP_ELSE && vy_opener(r->d.p, r->d.s, id) == parent) return false;
        if (!vy_op_is_memory((vy_op)i->op) || i->aux != buffer) continue;
        return i->op == VY_OP_ZERO && r->d.s->parent[id] == parent;
    }
    return false;
}

// Does the store run once for each element that it can reach, in each iteration that has a new
// maximum?
static bool updates_once(const vy_rescaled *r, uint32_t id)
{
    const vy_program *p = r->d.p;
    uint32_t rank = p->buffers.data[inst(r, id)->aux].rank, ifs = 0, used = 0, loops = 0;
    for (uint32_t up = r->d.s->parent[id]; up != r->d.loop; up = r->d.s->parent[up]) {
        const vy_inst *o = inst(r, up);
        if (o->op == VY_OP_IF) {
            uint8_t arm = vy_in_then(r->d.s, up, id) ? 1 : 2;
            if (r->d.chain[up] != arm) return false;
            ifs++;
            continue;
        }
        if (o->op != VY_OP_LOOP || vy_exits(r->d.p, up)) return false;
        bool found = false;
        for (uint32_t k = 0; k < 3; k++)
            if (!outside(r, vy_arg(p, up, k))) return false;
        for (uint32_t k = 0; k < rank; k++) found |= vy_arg(p, id, k) == up;
        if (!found) return false;
        loops++;
    }
    for (uint32_t k = 0; k < rank; k++) {
        uint32_t index = vy_arg(p, id, k);
        used += !outside(r, index);
        // Only variables of inner loops around the store; one on two axes makes `used` too large.
        if (!outside(r, index) && inst(r, index)->op != VY_OP_LOOP) return false;
    }
    return ifs == r->ifs && used == loops;
}

static bool same_place(const vy_rescaled *r, uint32_t load, uint32_t store)
{
    const vy_program *p = r->d.p;
    if (r->d.s->parent[load] != r->d.s->parent[store]) return false;
    for (uint32_t up = r->d.s->parent[load]; up > r->d.loop; up = r->d.s->parent[up])
        if (inst(r, up)->op == VY_OP_IF &&
            vy_in_then(r->d.s, up, load) != vy_in_then(r->d.s, up, store))
            return false;
    for (uint32_t k = 0; k < p->buffers.data[inst(r, load)->aux].rank; k++)
        if (vy_arg(p, load, k) != vy_arg(p, store, k)) return false;
    return true;
}

// Is the array a sum?  Records for each load which store updates its element.
static bool is_sum(vy_rescaled *r, uint32_t buffer)
{
    uint32_t stores[MOST_UPDATES], n = 0, first = r->d.loop + 1, last = closer(r);
    if (!cleared_before(r, buffer)) return false;
    for (uint32_t id = first; id < last; id++) {
        const vy_inst *i = inst(r, id);
        if (!vy_op_is_memory((vy_op)i->op) || i->aux != buffer || i->op == VY_OP_LOAD) continue;
        if (i->op != VY_OP_STORE || n == MOST_UPDATES || !updates_once(r, id)) return false;
        for (uint32_t k = 0; k < n; k++)
            if (!vy_different_elements(r->d.p, stores[k], id)) return false;
        stores[n++] = id;
    }
    for (uint32_t id = first; id < last; id++) {
        if (inst(r, id)->op != VY_OP_LOAD || inst(r, id)->aux != buffer) continue;
        for (uint32_t k = 0; k < n; k++)
            if (same_place(r, id, stores[k])) r->d.update[id] = stores[k];
    }
    return n > 0;
}

// Cleared at the start of each iteration, before anything else is done with it?
static bool is_scratch(const vy_rescaled *r, uint32_t buffer)
{
    for (uint32_t id = r->d.loop + 1; id < closer(r); id++) {
        const vy_inst *i = inst(r, id);
        if (vy_op_is_memory((vy_op)i->op) && i->aux == buffer)
            return i->op == VY_OP_ZERO && r->d.s->parent[id] == r->d.loop;
    }
    return false;
}

static void choose_roles(vy_rescaled *r)
{
    const vy_program *p = r->d.p;
    for (uint32_t i = 0; i < p->buffers.count; i++) {
        r->d.role[i] = VY_ARRAY_FIXED;
        r->d.held[i] = (vy_degree){.kind = VY_DEGREE_UNSEEN};
    }
    for (uint32_t id = r->d.loop + 1; id < closer(r); id++) {
        uint32_t buffer = inst(r, id)->aux;
        r->d.update[id] = 0;
        if (vy_op_infos[inst(r, id)->op].effect != VY_WRITE) continue;
        r->d.role[buffer] = VY_ARRAY_OTHER;
    }
    for (uint32_t i = 1; i < p->buffers.count; i++) {
        if (r->d.role[i] == VY_ARRAY_FIXED || p->buffers.data[i].cls != VY_LOCAL) continue;
        if (is_scratch(r, i))
            r->d.role[i] = VY_ARRAY_SCRATCH;
        else if (is_sum(r, i))
            r->d.role[i] = VY_ARRAY_SUM;
    }
}

// ------------------------------------------------------------------------------------ the decision
static bool changes(vy_degree d) { return d.kind == VY_DEGREE_FACTOR && (d.old || d.now); }

bool vy_rescaled_sum(const vy_rescaled *r, uint32_t k)
{
    vy_degree d = r->d.at[r->d.loop + 1 + k];
    vy_type type = (vy_type)inst(r, r->d.loop + 1 + k)->type;
    return k != r->k && vy_type_is_float(type) && d.kind == VY_DEGREE_FACTOR;
}

// Is there a sum that is rescaled, and has a derivative?  Arrays that are no sums lose the role.
static bool has_sums(vy_rescaled *r, const uint8_t *active)
{
    const vy_program *p = r->d.p;
    uint32_t end = closer(r), n = vy_slot_count(p, r->d.s, r->d.loop);
    bool any = false;
    for (uint32_t k = 0; k < n; k++)
        any |= vy_rescaled_sum(r, k) && changes(r->d.at[r->d.loop + 1 + k]) && active[end + 1 + k];
    for (uint32_t i = 1; i < p->buffers.count; i++)
        if (r->d.role[i] == VY_ARRAY_SUM && r->d.held[i].kind != VY_DEGREE_FACTOR)
            r->d.role[i] = VY_ARRAY_OTHER;
    for (uint32_t id = r->d.loop + 1; id < p->insts.count && !any; id++) {
        const vy_inst *i = inst(r, id);
        any = i->op == VY_OP_LOAD && active[id] && r->d.role[i->aux] == VY_ARRAY_SUM &&
              changes(r->d.held[i->aux]);
    }
    return any;
}

// Is there nothing in the body that a second copy must not hold?
static bool can_be_copied(const vy_rescaled *r)
{
    for (uint32_t id = r->d.loop + 1; id < closer(r); id++) {
        vy_op op = (vy_op)inst(r, id)->op;
        if (op == VY_OP_WHILE || op == VY_OP_CHECKPOINT) return false;
        if (vy_op_infos[op].effect == VY_CONV) return false;
    }
    return true;
}

static bool is_rescaled(vy_rescaled *r, const uint8_t *active)
{
    uint32_t end = closer(r), n = vy_slot_count(r->d.p, r->d.s, r->d.loop);
    choose_roles(r);
    r->d.behind = false;
    r->d.reference = r->d.loop + 1 + r->k;
    if (!vy_degrees_body(&r->d)) return false;
    uint32_t keep = vy_keep(r->d.p, r->d.s, r->d.loop);
    if (keep && !outside(r, keep) && !vy_degree_stays(r->d.at[keep])) return false;
    if (!has_sums(r, active)) return false;
    for (uint32_t k = 0; k < n; k++) r->d.at[end + 1 + k] = r->d.at[r->d.loop + 1 + k];
    r->cancels = !r->stopped && vy_degrees_cancel(&r->d);
    return true;
}

bool vy_rescaled_find(vy_rescaled *r, const uint8_t *active)
{
    const vy_program *p = r->d.p;
    uint32_t n = vy_slot_count(p, r->d.s, r->d.loop);
    for (uint32_t k = 0; k < n; k++) {
        uint32_t carry = r->d.loop + 1 + k;
        if (!vy_type_is_float((vy_type)inst(r, carry)->type)) continue;
        clear_chain(r);
        if (!mark_chain(r, vy_slot_next(p, r->d.s, r->d.loop, k), carry)) continue;
        r->k = k;
        if (can_be_copied(r) && is_rescaled(r, active)) return true;
    }
    return false;
}
