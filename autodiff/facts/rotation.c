// SPDX-License-Identifier: MIT
// rotation.c: slices that a repeat of a host program writes in order, and who loads each last.
//
//   LOOP t = 0..T { a = LOAD u (t % 3); b = LOAD u ((t + 1) % 3);  …  STORE u ((t + 2) % 3) ← c }
//   LOAD u ((T + 1) % 3)
//
// The value in a slice is loaded by b in one iteration and by a in the next, which is the last
// time: the reverse meets a first, and finds the adjoint of the slice 0.  So the gradient
// overwrites it, instead of being added to it (buffer_facts.last_load).
//
// Where each slice is overwritten in this way before the next value comes into it, the reverse of
// the STORE need not clear it either (buffer_facts.spent): a value is loaded by a before anything
// else of the reverse reads the slice.  That takes a itself to be differentiated whenever the STORE
// is: a and c are operand and result of one dispatch.
#include "autodiff/facts/facts.h"
#include "ir/core/flow.h"
#include "ir/core/host.h"
#include "ir/core/program_rule.h"
#include "ir/host/host_build.h"

#include <string.h>

// The first index of an access: base + offset, % count.  count 0: as it is.
typedef struct place {
    uint32_t base;
    int64_t offset, count;
} place;

typedef struct rotation { // of one buffer
    uint32_t loop, load, store;
    place last, ahead; // what `load` loads, what `store` stores to
    bool broken;
    bool first_only; // `last_load` holds, `spent` does not
} rotation;

static bool find_place(const vy_program *p, uint32_t id, place *at)
{
    if (!vy_index_count(p, id)) return false;
    uint32_t index = vy_arg(p, id, 0);
    *at = (place){0};
    if (!VY_IS_LEAF(index) && p->insts.data[index].op == VY_OP_REM) {
        if (!vy_id_int(p, vy_arg(p, index, 1), &at->count) || at->count <= 0) return false;
        index = vy_arg(p, index, 0);
    }
    at->base = vy_host_base(p, index, &at->offset);
    return true;
}

// Does the loop count 0, 1, …?
static bool counts_up(const vy_program *p, uint32_t loop)
{
    int64_t from, by;
    return p->insts.data[loop].op == VY_OP_LOOP && vy_id_int(p, vy_arg(p, loop, 0), &from) &&
           from == 0 && vy_id_int(p, vy_arg(p, loop, 2), &by) && by == 1;
}

// Is it an access of the loop's own iterations, the index its counter and an offset?
static bool is_of(const grad_facts *f, uint32_t loop, uint32_t id, place *at)
{
    return find_place(f->p, id, at) && at->base == loop && f->home[id] == loop;
}

// ------------------------------------------------------------------------------------ candidates
static bool is_candidate(const grad_facts *f, uint32_t buffer)
{
    const vy_buffer_class cls = f->p->buffers.data[buffer].cls;
    const buffer_facts *b = &f->buffers[buffer];
    if (b->start || b->heir || b->kept || b->of) return false;
    return cls == VY_IN || (cls == VY_LOCAL && b->clears == 1);
}

// Is the loop passed once while the buffer lives?
static bool is_home(const grad_facts *f, uint32_t loop, uint32_t buffer)
{
    return loop && counts_up(f->p, loop) && f->scope[loop] == f->buffers[buffer].home;
}

static void find_store(const grad_facts *f, uint32_t id, rotation *r)
{
    const uint32_t loop = f->home[id], buffer = f->p->insts.data[id].aux;
    place at;
    if (!is_home(f, loop, buffer) || !is_of(f, loop, id, &at)) return;
    r->store = id; // of two, the other one is none of those that look_at permits
    r->loop = loop;
    r->ahead = at;
}

static void find_load(const grad_facts *f, uint32_t id, rotation *r)
{
    const uint32_t loop = f->home[id], buffer = f->p->insts.data[id].aux;
    place at;
    if (!is_home(f, loop, buffer) || (r->loop && r->loop != loop) || !is_of(f, loop, id, &at))
        return;
    r->loop = loop;
    if (r->load && at.offset > r->last.offset) return; // of one slice, the one that comes last
    r->load = id;
    r->last = at;
}

// -------------------------------------------------------------------------------- what it must be
// Another load in an iteration: of a slice that `load` loads afterwards.
static bool is_sooner(const grad_facts *f, const rotation *r, uint32_t id)
{
    place at;
    if (!find_place(f->p, id, &at) || at.base != r->loop || at.count != r->last.count ||
        at.offset < r->last.offset || (at.offset == r->last.offset && id > r->load))
        return false;
    if (!at.count) return true;
    return at.offset < r->ahead.offset || (at.offset == r->ahead.offset && id > r->store);
}

// A load after the loop: of a slice that `load` has not loaded.
static bool is_of_rest(const grad_facts *f, const rotation *r, uint32_t id)
{
    place at;
    int64_t end;
    const uint32_t to = vy_host_base(f->p, vy_arg(f->p, r->loop, 1), &end);
    if (!find_place(f->p, id, &at) || at.base != to || at.count != r->last.count) return false;
    const int64_t offset = at.offset - end;
    return offset >= r->last.offset && (!at.count || offset < r->ahead.offset);
}

// A store before the loop: to a slice that the first iterations load.
static bool is_start(const grad_facts *f, const rotation *r, uint32_t id)
{
    place at;
    return find_place(f->p, id, &at) && at.base == 0 && !at.count && at.offset >= 0 &&
           at.offset < r->ahead.offset;
}

static void look_at(const grad_facts *f, uint32_t id, rotation *r)
{
    const vy_op op = (vy_op)f->p->insts.data[id].op;
    const bool before = id<r->loop, after = id> f->s.partner[r->loop];
    if (op == VY_OP_ZERO) return;
    if (vy_index_count(f->p, id) != 1) r->first_only = true;
    if (id == r->load || id == r->store || (op == VY_OP_LOAD && before)) return;
    if (op == VY_OP_STORE && before)
        r->first_only |= !is_start(f, r, id);
    else if (op != VY_OP_LOAD)
        r->broken = true;
    else
        r->broken |= !(after ? is_of_rest(f, r, id) : is_sooner(f, r, id));
}

// The slices that are loaded and stored fit: of one count, and the store is ahead.
static void check_slices(rotation *r)
{
    const int64_t ahead = r->ahead.offset - r->last.offset;
    if (r->store && (r->ahead.count != r->last.count || ahead <= 0)) r->broken = true;
    if (r->last.count && (!r->store || r->ahead.offset >= r->last.count)) r->broken = true;
    if (r->last.offset < 0) r->broken = true;
    if (!r->store || r->last.offset) r->first_only = true;
}

// Is the load an operand of the dispatch, and no other one the same slice?
static bool is_own_operand(const vy_program *p, uint32_t load, uint32_t dispatch)
{
    bool is = false;
    for (uint32_t k = 0; k < vy_host_call_of(p, dispatch)->tensors; k++) {
        const uint32_t a = vy_arg(p, dispatch, k);
        is |= a == load;
        if (a == load || VY_IS_LEAF(a) || p->insts.data[a].op != VY_OP_LOAD) continue;
        if (p->insts.data[a].aux == p->insts.data[load].aux && !vy_host_other_slice(p, a, load))
            return false;
    }
    return is;
}

// Is the load an operand of the dispatch whose result the store stores, and both have adjoints?
// What a rule gives is added, even to a slice without an adjoint yet.
static bool is_one_step(const grad_facts *f, const rotation *r)
{
    const vy_program *p = f->p;
    const uint32_t pick = vy_arg(p, r->store, 1);
    if (VY_IS_LEAF(pick) || p->insts.data[pick].op != VY_OP_PICK) return false;
    const uint32_t d = vy_arg(p, pick, 0);
    const vy_host_call *call = vy_host_call_of(p, d);
    if (call->pipeline || vy_program_has_rule(p->module->programs.data[call->callee])) return false;
    return is_own_operand(p, r->load, d) && vy_is_active(f, r->load) && vy_is_active(f, pick);
}

static void each_access(const grad_facts *f, rotation *all,
                        void (*visit)(const grad_facts *f, uint32_t id, rotation *r), vy_op only)
{
    for (uint32_t id = 1; id < f->p->insts.count; id++) {
        const vy_inst *i = &f->p->insts.data[id];
        if (!vy_op_is_memory((vy_op)i->op) || (only && i->op != only)) continue;
        if (is_candidate(f, i->aux) && !all[i->aux].broken) visit(f, id, &all[i->aux]);
    }
}

static void look_if_found(const grad_facts *f, uint32_t id, rotation *r)
{
    if (r->load) look_at(f, id, r);
}

bool vy_rotations(grad_facts *f)
{
    const uint32_t count = f->p->buffers.count;
    rotation *all = vy_realloc(NULL, count * sizeof *all);
    if (!all) return false;
    memset(all, 0, count * sizeof *all);
    each_access(f, all, find_store, VY_OP_STORE);
    each_access(f, all, find_load, VY_OP_LOAD);
    each_access(f, all, look_if_found, VY_OP_NONE);
    for (uint32_t b = 1; b < count; b++) {
        rotation *r = &all[b];
        if (r->load) check_slices(r);
        if (!r->load || r->broken) continue;
        f->buffers[b].last_load = r->load;
        if (!r->first_only && is_one_step(f, r)) f->buffers[b].spent = r->store;
    }
    vy_free(all);
    return true;
}
