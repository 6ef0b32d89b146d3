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
// A loop's body is copied as a whole when an iteration is reversed, before any of it is
// reversed. Then the stores of this iteration have yet to be taken back, and a load finds what
// it found only if they all come before it.  One that no load of the loop follows is taken back
// ahead of the copy (EARLY): then loads before it find what they found, too.  Ahead of the copy
// it is in no arm, so the place may be one that the arm excludes, as in `if k >= 5 { a[k - 5] =
// …; }`: then it is stored only in range, as the result may access nothing out of range where
// the program does not.
//
// The places of the zeros are computed from what is available everywhere, such as the counters of
// loops.  Only arrays of the entire invocation: when the reverse begins, they are as the forward
// sweep leaves them, and no replay stores to them.  Which ones: rewind_find.c.
#include "autodiff/storage/storage.h"
#include "ir/core/access.h"
#include "ir/core/flow.h"

enum { MOST_STEPS = 16 }; // operations of an index

// ------------------------------------------------------------------------------------- its places
static bool is_available(const grad_facts *f, uint32_t id)
{
    return VY_IS_LEAF(id) || !f->s.parent[id] || f->p->insts.data[id].op == VY_OP_LOOP;
}

// Is it computed, by some operations on integers, from what is available everywhere: constants,
// counters of the loops around it, and what is computed outside of any construct?  A device may
// round the copy of a float operation in another way, and the place would be another one.
static bool is_plain(const grad_facts *f, uint32_t id, uint32_t *steps)
{
    if (is_available(f, id)) return true;
    const vy_inst *i = &f->p->insts.data[id];
    if (++*steps > MOST_STEPS || vy_op_infos[i->op].effect != VY_PURE ||
        vy_op_is_subgroup((vy_op)i->op) || i->op == VY_OP_APPLY ||
        vy_type_is_float((vy_type)i->type))
        return false;
    for (uint32_t k = 0; k < i->nargs; k++)
        if (!is_plain(f, vy_arg(f->p, id, k), steps)) return false;
    return true;
}

bool vy_rewind_has_place(const grad_facts *f, uint32_t store)
{
    uint32_t steps = 0;
    for (uint32_t k = 0; k < vy_rank_of(f->p, store); k++)
        if (!is_plain(f, vy_arg(f->p, store, k), &steps)) return false;
    return true;
}

// --------------------------------------------------------------------------------------- the loads
bool vy_rewind_finds(const reverse *r, uint32_t load, uint32_t root)
{
    const uint32_t buffer = r->p->insts.data[load].aux;
    uint32_t first = load; // the outermost loop around the load inside of root, or the load
    for (uint32_t l = r->facts.home[load]; l > root; l = r->facts.home[l]) first = l;
    for (uint32_t id = r->plan.rewound[buffer]; id; id = r->plan.rewinds[id]) {
        if (id < first || !vy_encloses(&r->facts, root, id)) continue;
        if (r->plan.taken_back[id] != VY_REWIND_EARLY || r->facts.home[id] != root) return false;
    }
    return true;
}

// ------------------------------------------------------------------------------------ the way back
static uint32_t copy(reverse *r, uint32_t id)
{
    if (is_available(&r->facts, id)) return vy_primal(r, id);
    const vy_inst *i = &r->p->insts.data[id];
    uint32_t args[MOST_STEPS];
    for (uint32_t k = 0; k < i->nargs; k++) args[k] = copy(r, vy_arg(r->p, id, k));
    return vy_emit(r->b, (vy_op)i->op, (vy_type)i->type, i->aux, i->nargs, args);
}

static bool is_put_back(const reverse *r, uint32_t store)
{
    const uint32_t buffer = r->p->insts.data[store].aux;
    const built_buffer *info = &r->build.buffers[buffer];
    return r->plan.rewound[buffer] && info->copy && info->stores && r->build.purpose != BUILD_PROBE;
}

// Stores zero; `guarded`: if that is in range.
static void put_back(reverse *r, uint32_t store, bool guarded)
{
    const uint32_t buffer = r->p->insts.data[store].aux, rank = vy_rank_of(r->p, store);
    const uint32_t place = r->build.buffers[buffer].copy;
    uint32_t args[VY_MAX_RANK + 1];
    vy_value inside = vy_bool(r->b, true);
    for (uint32_t k = 0; k < rank; k++) args[k] = copy(r, vy_arg(r->p, store, k));
    args[rank] = vy_zero(r->b, (vy_type)r->p->buffers.data[buffer].type).id;
    for (uint32_t k = 0; k < rank && guarded; k++)
        inside = vy_and_in_range(r->b, inside, (vy_value){args[k]},
                                 (vy_value){vy_extent_leaf(r->b, place, k)});
    if (guarded) vy_begin_if(r->b, inside.id);
    vy_emit(r->b, VY_OP_STORE, VY_VOID, place, rank + 1, args);
    if (!guarded) return;
    vy_begin_else(r->b, 0, NULL);
    vy_end_if(r->b, 0, NULL, NULL);
}

// Does the body of the loop execute it in some iterations only?
static bool is_in_arm(const reverse *r, uint32_t store, uint32_t loop)
{
    for (uint32_t up = r->facts.s.parent[store]; up != loop; up = r->facts.s.parent[up])
        if (r->p->insts.data[up].op != VY_OP_CHECKPOINT) return true;
    return false;
}

void vy_rewind_ahead(reverse *r, uint32_t loop)
{
    if (!r->plan.taken_back) return;
    for (uint32_t id = loop + 1; id < r->facts.s.partner[loop]; id++)
        if (r->plan.taken_back[id] == VY_REWIND_EARLY && r->facts.home[id] == loop &&
            is_put_back(r, id))
            put_back(r, id, is_in_arm(r, id, loop));
}

void vy_rewind_store(reverse *r, uint32_t store)
{
    if (r->plan.taken_back && r->plan.taken_back[store] == VY_REWIND_LATE && is_put_back(r, store))
        put_back(r, store, false);
}
