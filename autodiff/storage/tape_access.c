// SPDX-License-Identifier: MIT
// tape_access.c: stores values on their tapes, loads them, and finds which are loaded at all.
//
// The index of an element follows the dimensions that tape.c declares: the iterations of the loops
// around the value, and the invocation.  A copy of the primal records a value only if it is the one
// that the plan says (a replay of its checkpoint, or the forward sweep), and loads one only inside
// that.
#include "autodiff/storage/storage.h"
#include "autodiff/storage/tape_layout.h"
#include "ir/build/build.h"
#include "ir/core/flow.h"
#include "ir/core/host.h"

#include <string.h>

const vy_counter *vy_tape_counter(const reverse *r, uint32_t id)
{
    for (uint32_t l = r->facts.home[id]; l > vy_tape_keeper(r, id); l = r->facts.home[l]) {
        uint32_t k = r->plan.counter[l];
        if (!k) continue;
        for (; r->plan.counters.data[k - 1].context != vy_tape_keeper(r, id); k++) continue;
        return &r->plan.counters.data[k - 1]; // a loop has one for each context around it
    }
    return NULL;
}

vy_type vy_tape_type(const reverse *r, uint32_t id)
{
    const undo_log *log = vy_undo_log_of(r, id);
    vy_type type = log ? vy_undo_type(r, log) : (vy_type)r->p->insts.data[id].type;
    // Tensors are copied as they are: a host program cannot convert one.
    if (type == VY_BOOL && r->p->host && vy_tensor_rank(r, id)) return VY_BOOL;
    return type == VY_BOOL || type == VY_VOID ? VY_U32 : type; // VOID: the trip count of an ENDLOOP
}

// The number of the current iteration of a counted loop.
static uint32_t iteration_of(reverse *r, uint32_t loop)
{
    vy_type u = vy_iteration_type((vy_type)r->p->insts.data[loop].type);
    vy_value k = {r->build.map[loop]}, from = {vy_primal(r, vy_arg(r->p, loop, 0))};
    vy_value step = {vy_primal(r, vy_arg(r->p, loop, 2))};
    return vy_iteration_number(r->b, u, k, from, step).id;
}

// The index of the element for the current iteration and invocation; returns the rank.
static uint32_t tape_index(reverse *r, uint32_t id, uint32_t *index)
{
    const vy_counter *c = vy_tape_counter(r, id);
    const uint32_t around = c ? c->loop : vy_tape_keeper(r, id);
    uint32_t loops[VY_MAX_RANK], n = 0, rank = 0;
    uint32_t slot =
        r->build.tape_slot[id] ? vy_int(r->b, VY_U32, r->build.tape_slot[id] - 1).id : 0;
    for (uint32_t l = r->facts.home[id], k = 0; l > around; l = r->facts.home[l], k++)
        if (vy_tape_has_axis(r, id, k)) loops[n++] = l;
    if (c)
        index[rank++] =
            vy_add(r->b, (vy_value){vy_tape_built(r, c)->base}, (vy_value){r->build.map[c->at]}).id;
    if (slot && !c) index[rank++] = slot;
    while (n-- > 0) index[rank++] = iteration_of(r, loops[n]);
    if (slot && c) index[rank++] = slot;
    if (c) index[rank++] = r->build.lane;
    for (uint32_t k = 0; k < r->p->overs.count && !c; k++)
        index[rank++] = vy_leaf_other(r->b, VY_LEAF_OVER, VY_U32, k, 0);
    if (!r->p->overs.count && !c && !r->p->host) index[rank++] = r->build.number;
    if (r->p->host && !vy_tensor_rank(r, id)) index[rank++] = vy_int(r->b, VY_I64, 0).id;
    return rank;
}

void vy_tape_locate(reverse *r, uint32_t id)
{
    uint32_t index[VY_MAX_RANK + 1];
    if (vy_is_taped(r, id) && r->build.purpose == BUILD_REVERSE) tape_index(r, id, index);
}

// Are these the first iterations of the loops that alone record the value?  An id, or 0: always.
static uint32_t records(reverse *r, uint32_t id)
{
    vy_value all = {0};
    const vy_counter *c = vy_tape_counter(r, id);
    const uint32_t around = c ? c->loop : vy_tape_keeper(r, id);
    for (uint32_t l = r->facts.home[id], k = 0; l > around; l = r->facts.home[l], k++) {
        if (!vy_tape_waits(r, id, k)) continue;
        const uint32_t from = vy_primal(r, vy_arg(r->p, l, 0));
        const vy_value now = vy_eq(r->b, (vy_value){r->build.map[l]}, (vy_value){from});
        all = all.id ? vy_and(r->b, all, now) : now;
    }
    return all.id;
}

void vy_tape_record(reverse *r, uint32_t id)
{
    if (!vy_is_taped(r, id) || vy_tape_keeper(r, id) != r->build.replaying ||
        r->build.purpose != BUILD_REVERSE)
        return;
    // The last evaluation of a condition belongs to no iteration: its values are taped after the
    // TEST.
    if (r->build.untested && r->facts.home[id] == r->build.untested) return;
    const uint32_t when = records(r, id);
    if (when) vy_if(r->b, (vy_value){when});
    uint32_t args[VY_MAX_RANK + 2], rank = tape_index(r, id, args), value = r->build.map[id];
    if (r->p->insts.data[id].type == VY_BOOL && vy_tape_type(r, id) != VY_BOOL)
        value = vy_cast(r->b, VY_U32, (vy_value){value}).id;
    args[rank] = value;
    vy_emit(r->b, VY_OP_STORE, VY_VOID, r->build.tape[id], rank + 1, args);
    if (when) vy_end(r->b);
}

uint32_t vy_tape_load(reverse *r, uint32_t id)
{
    uint32_t root = r->build.replaying;
    if (!r->plan.kept[id] || !root || !vy_encloses(&r->facts, vy_tape_keeper(r, id), root))
        return 0;
    // A replayed loop evaluates its condition once more than it has iterations.
    if (r->build.untested && r->facts.home[id] == r->build.untested) return 0;
    if (r->plan.stands[id]) return vy_standing_load(r, id);
    uint32_t args[VY_MAX_RANK + 1], rank = tape_index(r, id, args);
    vy_type type = (vy_type)r->p->insts.data[id].type, kept = vy_tape_type(r, id);
    uint32_t value = vy_emit(r->b, VY_OP_LOAD, kept, r->build.tape[id], rank, args);
    return type == VY_BOOL && kept != VY_BOOL ? vy_cast(r->b, VY_BOOL, (vy_value){value}).id
                                              : value;
}

bool vy_tape_used(reverse *r, const vy_program *p, uint8_t *used)
{
    // By buffer: the start of its values in `values`, in the order of their slots.
    uint32_t n = r->p->insts.count, buffers = p->buffers.count;
    uint32_t *first = vy_realloc(NULL, (buffers + 1 + n) * sizeof *first), *values;
    if (!first) {
        vy_fail_oom(r->out);
        r->failed = true;
        return false;
    }
    values = first + buffers + 1;
    memset(first, 0, (buffers + 1) * sizeof *first);
    for (uint32_t id = 1; id < n; id++)
        if (vy_is_taped(r, id)) first[r->build.tape[id] + 1]++;
    for (uint32_t b = 0; b < buffers; b++) first[b + 1] += first[b];
    for (uint32_t id = 1; id < n; id++)
        if (vy_is_taped(r, id))
            values[first[r->build.tape[id]] +
                   (r->build.tape_slot[id] ? r->build.tape_slot[id] - 1 : 0)] = id;
    for (uint32_t id = 1; id < n; id++) used[id] = r->plan.stands[id] != 0;
    for (uint32_t id = 1; id < p->insts.count; id++) {
        const vy_inst *i = &p->insts.data[id];
        uint32_t count = i->op == VY_OP_LOAD ? first[i->aux + 1] - first[i->aux] : 0, slot = 0;
        if (count > 1) {
            bool counted = vy_tape_counter(r, values[first[i->aux]]) != NULL;
            slot = (uint32_t)vy_id_const(p, vy_arg(p, id, counted ? i->nargs - 2 : 0))->u;
        }
        if (count) used[values[first[i->aux] + slot]] = 1;
    }
    vy_free(first);
    return true;
}
