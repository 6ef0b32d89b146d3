// SPDX-License-Identifier: MIT
// sweep_memory.c: adjoints of memory.
//
//   v = load B[i]        B̄[i] += v̄
//   store B[i] = v       v̄ += B̄[i];  B̄[i] = 0       (the overwritten value reached nothing)
//   atomic_add(B[i], v)  v̄ += B̄[i]
//
// All loads of one parameter add atomically, or none does (a plain store needs the proof that the
// element is touched once); the optimiser turns atomics on elements that an invocation owns into
// plain additions.
#include "autodiff/facts/facts.h"
#include "autodiff/reverse/sweeps.h"
#include "autodiff/storage/storage.h"
#include "ir/core/dims.h"
#include "ir/core/flow.h"
#include "ir/core/host.h"

// The index of the element's adjoint; returns its rank.
static uint32_t map_index(reverse *r, uint32_t id, uint32_t *index)
{
    uint32_t buffer = r->p->insts.data[id].aux, rank = vy_index_count(r->p, id);
    uint32_t before = vy_spill_index(r, buffer, index);
    for (uint32_t k = 0; k < rank; k++) index[before + k] = vy_primal(r, vy_arg(r->p, id, k));
    return before + rank;
}

// Is the index in range by its form: a domain variable or loop counter of that extent?
static bool proved(reverse *r, uint32_t buffer, uint32_t axis, uint32_t index)
{
    const vy_program *p = vy_builder_program(r->b);
    uint32_t extent = vy_extent_leaf(r->b, buffer, axis);
    if (VY_IS_LEAF(index)) {
        const vy_leaf *l = &p->leaves.data[VY_LEAF_INDEX(index)];
        if (l->kind != VY_LEAF_OVER) return false;
        return vy_equal_dims(p, p->overs.data[l->index].extent, p->buffers.data[buffer].dims[axis]);
    }
    const vy_inst *i = &p->insts.data[index];
    return i->op == VY_OP_LOOP && !vy_type_is_signed((vy_type)i->type) &&
           vy_arg(p, index, 1) == extent;
}

uint32_t vy_in_range(reverse *r, uint32_t buffer, const uint32_t *index)
{
    vy_builder *b = r->b;
    vy_value all = vy_bool(b, true);
    uint32_t rank = vy_builder_program(b)->buffers.data[buffer].rank;
    for (uint32_t k = 0; k < rank; k++) {
        if (proved(r, buffer, k, index[k])) continue;
        vy_value i = {index[k]}, extent = {vy_extent_leaf(b, buffer, k)};
        all = vy_and_in_range(b, all, i, extent);
    }
    return all.id;
}

// Adds g to the element.  ONLY: there is no other addition to it, so the sum is g.
static void accumulate(reverse *r, uint32_t buffer, const uint32_t *index, uint32_t rank,
                       uint32_t g, vy_strength strength)
{
    uint32_t args[VY_MAX_RANK + 1];
    const vy_buf *info = &vy_builder_program(r->b)->buffers.data[buffer];
    for (uint32_t k = 0; k < rank; k++) args[k] = index[k];
    args[rank] = vy_cast(r->b, info->type, (vy_value){g}).id;
    if (strength == VY_STRENGTH_ONLY)
        vy_emit(r->b, VY_OP_STORE, VY_VOID, buffer, rank + 1, args);
    else
        vy_emit_update(r->b, VY_OP_ATOMIC_ADD, strength, buffer, rank + 1, args);
}

// Is it a half float of a parameter, to which iterations of a loop add?  Those are summed as f32 by
// wide.c, which recognises atomics.
static bool is_half_sum(const reverse *r, uint32_t id)
{
    const vy_buf *b = &r->p->buffers.data[r->p->insts.data[id].aux];
    return b->type == VY_F16 && vy_is_global(b->cls) && r->facts.home[id];
}

// Is every loop around the access and every domain variable an axis of its own in the index, so
// that no element is touched twice?
static bool touches_once(const reverse *r, uint32_t id)
{
    const vy_program *p = r->p;
    if (r->facts.buffers[p->insts.data[id].aux].exclusive && !r->facts.home[id]) return true;
    uint32_t rank = p->buffers.data[p->insts.data[id].aux].rank;
    for (uint32_t loop = r->facts.home[id]; loop; loop = r->facts.home[loop]) {
        bool found = false;
        for (uint32_t k = 0; k < rank; k++) found |= vy_arg(p, id, k) == loop;
        if (!found) return false;
    }
    for (uint32_t v = 0; v < p->overs.count; v++) {
        bool found = false;
        for (uint32_t k = 0; k < rank; k++) {
            uint32_t a = vy_arg(p, id, k);
            if (!VY_IS_LEAF(a)) continue;
            const vy_leaf *l = &p->leaves.data[VY_LEAF_INDEX(a)];
            found |= l->kind == VY_LEAF_OVER && l->index == v;
        }
        if (!found) return false;
    }
    return p->overs.count > 0;
}

// In a host program, LOAD of all of an array: is the next access a store to all of it, or does it
// not live on?  Then the adjoint is 0 when the reverse arrives here, unless a dispatch before that
// has added to it (sweep_dispatch.c), for another load of the same.
static bool is_unused_later(const reverse *r, uint32_t id)
{
    const uint32_t b = r->p->insts.data[id].aux, home = r->facts.buffers[b].home;
    const uint32_t added = r->build.buffers[b].added;
    const vy_inst *all = r->p->insts.data;
    if (!r->p->host || r->p->buffers.data[b].cls != VY_LOCAL || all[id].nargs) return false;
    for (uint32_t k = id + 1; k < r->p->insts.count; k++) {
        if (k == added) return false;
        if (home && k == r->facts.s.partner[home]) return r->facts.s.parent[id] == home;
        if (!vy_op_is_memory((vy_op)all[k].op) || all[k].aux != b) continue;
        return all[k].op == VY_OP_STORE && all[k].nargs == 1 &&
               r->facts.s.parent[k] == r->facts.s.parent[id];
    }
    return false;
}

// Of a load that has a derivative in an arm alone (facts/arm_owner.c): the condition of that, as it
// was where the arm has been reversed; 0: of others.
static uint32_t condition_of(reverse *r, uint32_t id)
{
    const uint32_t store = r->facts.own_in ? r->facts.own_in[id] : 0;
    if (!store) return 0;
    const uint32_t opener = r->facts.s.parent[store];
    const vy_value c = {vy_primal(r, vy_arg(r->p, opener, 0))};
    return vy_in_then(&r->facts.s, opener, store) ? c.id : vy_not(r->b, c).id;
}

static void reverse_load(reverse *r, uint32_t id)
{
    const vy_inst *i = &r->p->insts.data[id];
    const buffer_facts *facts = &r->facts.buffers[i->aux];
    const built_buffer *info = &r->build.buffers[i->aux];
    uint32_t index[VY_MAX_RANK], g = r->build.adjoint[id];
    if (!vy_is_active(&r->facts, id) || !g || info->kind != ADJ_MEMORY || r->facts.adds[id]) return;
    const uint32_t rank = map_index(r, id, index);
    vy_buffer_class cls = r->p->buffers.data[i->aux].cls;
    bool once = cls == VY_IN && !facts->kept && facts->sites == 1 && touches_once(r, id);
    once |= is_unused_later(r, id);
    if (vy_lane_sums_take(r, id)) {
        vy_lane_sums_add(r, id, index, g);
        return;
    }
    bool alone = facts->exclusive || r->facts.own[id] || cls == VY_LOCAL, half = is_half_sum(r, id);
    const uint32_t arm = condition_of(r, id);
    if (arm) vy_begin_if(r->b, arm);
    accumulate(r, info->adjoint, index, rank, g,
               once                       ? VY_STRENGTH_ONLY
               : alone && !half           ? VY_STRENGTH_PLAIN
               : half && facts->exclusive ? VY_STRENGTH_OWNED
                                          : VY_STRENGTH_ATOMIC);
    uint32_t mask = r->facts.maskable[id] ? r->build.mask[id] : vy_bool(r->b, true).id;
    if (info->shadow)
        vy_shadow_mark(r, i->aux, index, mask ? mask : vy_bool(r->b, false).id, alone);
    if (arm) vy_end_plain_if(r->b);
}

// The adjoint of the element that `id` writes; for a store it is cleared, for an addition it stays.
static uint32_t element_adjoint(reverse *r, uint32_t id, bool clear)
{
    const vy_inst *i = &r->p->insts.data[id];
    const built_buffer *info = &r->build.buffers[i->aux];
    uint32_t index[VY_MAX_RANK + 1], rank = map_index(r, id, index);
    vy_type type = r->p->buffers.data[i->aux].type;
    if (info->kind == ADJ_ZERO) return 0;
    if (info->kind == ADJ_ONES && r->p->host) return vy_float(r->b, type, 1).id;
    if (info->kind == ADJ_ONES) {
        vy_value c = {vy_in_range(r, info->twin, index)}, zero = vy_float(r->b, type, 0);
        return vy_select(r->b, c, vy_float(r->b, type, 1), zero).id;
    }
    vy_type held = vy_builder_program(r->b)->buffers.data[info->adjoint].type;
    uint32_t g = vy_emit(r->b, VY_OP_LOAD, held, info->adjoint, rank, index);
    if (info->kind == ADJ_MEMORY && clear) {
        index[rank] = vy_zero(r->b, held).id;
        vy_emit(r->b, VY_OP_STORE, VY_VOID, info->adjoint, rank + 1, index);
        if (info->shadow) vy_shadow_clear(r, i->aux, index);
    }
    // A half that loop iterations accumulate in memory is a sum, like one that they carry.
    return is_half_sum(r, id) && info->kind == ADJ_MEMORY ? vy_cast(r->b, VY_F32, (vy_value){g}).id
                                                          : g;
}

// Of a host program: the extents with which the array begins, if the run decides them.
static uint32_t extents_of(reverse *r, uint32_t buffer, uint32_t *extents)
{
    uint32_t id = r->facts.buffers[buffer].first_write, n = 0;
    if (!r->p->host || !id || r->p->insts.data[id].op != VY_OP_ZERO) return 0;
    for (; n < r->p->insts.data[id].nargs; n++) extents[n] = vy_primal(r, vy_arg(r->p, id, n));
    return n;
}

void vy_clear_adjoint(reverse *r, uint32_t buffer)
{
    const built_buffer *info = &r->build.buffers[buffer];
    uint32_t extents[VY_MAX_RANK];
    const uint32_t n = extents_of(r, buffer, extents);
    vy_emit(r->b, VY_OP_ZERO, VY_VOID, info->adjoint, n, extents);
    if (info->shadow) vy_emit(r->b, VY_OP_ZERO, VY_VOID, info->shadow, 0, NULL);
}

// The condition under which the store or addition `id` has an effect: its element exists and was
// read.  0: always, or not needed.
static uint32_t reaches(reverse *r, uint32_t id, uint32_t value)
{
    const built_buffer *info = &r->build.buffers[r->p->insts.data[id].aux];
    uint32_t index[VY_MAX_RANK];
    if (!r->facts.maskable[id] || VY_IS_LEAF(value) || !r->facts.maskable[value] ||
        info->kind == ADJ_ZERO)
        return 0;
    map_index(r, id, index);
    if (info->shadow) return vy_shadow_read(r, r->p->insts.data[id].aux, index);
    return vy_in_range(r, info->kind == ADJ_ONES ? info->twin : info->adjoint, index);
}

static void refuse(reverse *r, uint32_t id)
{
    vy_reverse_fail(r, VY_E_NOT_DIFFERENTIABLE, id,
                    "write with `=` or atomic_add, or cut the dependence with stop_grad(…)",
                    "%s on `%s` has no derivative where its operands depend on the inputs",
                    vy_op_infos[r->p->insts.data[id].op].text,
                    vy_buffer_name(r, r->p->insts.data[id].aux));
}

void vy_reverse_memory(reverse *r, uint32_t id)
{
    const vy_inst *i = &r->p->insts.data[id];
    vy_op op = (vy_op)i->op;
    if ((r->facts.buffers[i->aux].activity & ACTIVE) != ACTIVE) return;
    if (op == VY_OP_ZERO) {
        // The old contents of the array reached nothing.  If there is only one clear (`clears`
        // includes implicit ones, see buffer_uses.c), the adjoint starts from zero anyway: at the
        // beginning of the reverse, or of each iteration.
        bool again =
            r->facts.buffers[i->aux].clears > 1 || r->p->buffers.data[i->aux].cls == VY_SHARED;
        if (again && r->build.buffers[i->aux].kind == ADJ_MEMORY) vy_clear_adjoint(r, i->aux);
        return;
    }
    const buffer_facts *info = &r->facts.buffers[i->aux];
    uint32_t rank = vy_index_count(r->p, id);
    uint32_t value = op == VY_OP_LOAD ? 0 : vy_arg(r->p, id, rank);
    if (op == VY_OP_LOAD) {
        reverse_load(r, id);
    } else if (op == VY_OP_STORE) {
        // A store of a value that does not depend on the inputs still overwrites.
        uint32_t counts = reaches(r, id, value); // before the element is cleared
        const bool clear = !r->facts.adds[id] && info->spent != id;
        vy_contribute(r, value, element_adjoint(r, id, clear), counts);
    } else if (op == VY_OP_ATOMIC_ADD && !vy_is_active(&r->facts, id)) {
        if (!vy_is_active(&r->facts, value)) return;
        uint32_t counts = reaches(r, id, value);
        vy_contribute(r, value, element_adjoint(r, id, false), counts);
    } else if (vy_is_extremum(op) && !vy_is_active(&r->facts, id)) {
        if (vy_is_contested(r->p, id)) vy_extremum_reverse(r, id); // else the winner stores, too
    } else if (op == VY_OP_ATOMIC_ADD || vy_is_extremum(op)) {
        vy_reverse_fail(r, VY_E_NOT_DIFFERENTIABLE, id,
                        "do not use the old value, or cut it with stop_grad(…)",
                        "the old value of %s on `%s` depends on the order of invocations and "
                        "has no derivative",
                        vy_op_infos[op].text, vy_buffer_name(r, i->aux));
    } else {
        refuse(r, id);
    }
}
