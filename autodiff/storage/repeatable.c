// SPDX-License-Identifier: MIT
// repeatable.c: what a replay can recompute.
#include "autodiff/storage/storage.h"
#include "autodiff/facts/induction.h"
#include "autodiff/facts/padding.h"
#include "ir/core/flow.h"

bool vy_is_remade(const reverse *r, uint32_t buffer, uint32_t root)
{
    uint32_t home = r->facts.buffers[buffer].home;
    vy_buffer_class cls = r->p->buffers.data[buffer].cls;
    if (cls == VY_SHARED) return vy_restages(r, root, buffer);
    if (cls != VY_LOCAL || !home) return false;
    return home == root || vy_encloses(&r->facts, root, home);
}

// A load may be repeated while the body of `root` is reversed if no write to the buffer can have
// happened since: none comes later in program order or shares a loop with it, or those that do are
// taken back (rewind.c).  Only the lifetime of the array counts.
static bool load_is_stable(const reverse *r, uint32_t id, uint32_t root)
{
    uint32_t buffer = r->p->insts.data[id].aux;
    const buffer_facts *facts = &r->facts.buffers[buffer];
    const built_buffer *info = &r->build.buffers[buffer];
    vy_buffer_class cls = r->p->buffers.data[buffer].cls;
    if (cls == VY_SHARED) return vy_restage_finds(r, id, root);
    if (!info->stores) return true; // it still has its initial contents
    if (vy_is_remade(r, buffer, root)) return true;
    uint32_t outermost = 0;
    for (uint32_t loop = r->facts.home[id]; loop > facts->home; loop = r->facts.home[loop])
        outermost = loop;
    if (r->plan.rewound[buffer] && vy_rewind_finds(r, id, root)) return true;
    return facts->last_write < (outermost ? outermost : id);
}

// Padding lanes load 0 from a tape, so what a replay computes from it there differs from the
// forward run; this matters only for operations that read the values of padding lanes.  (Operations
// with derivatives do not, see subgroup.c.)
bool vy_subgroup_repeats(const reverse *r, uint32_t id)
{
    vy_op op = (vy_op)r->p->insts.data[id].op;
    bool reads = vy_subgroup_chooses(op) && op != VY_OP_SG_EXCLUSIVE_ADD;
    return !reads || vy_is_active(&r->facts, id) || !vy_has_padding(r->p);
}

bool vy_can_repeat(const reverse *r, uint32_t id, uint32_t root)
{
    vy_op op = (vy_op)r->p->insts.data[id].op;
    if (op == VY_OP_LOAD) return load_is_stable(r, id, root);
    if (vy_op_is_subgroup(op)) return vy_subgroup_repeats(r, id);
    return !vy_op_is_atomic(op) && vy_op_infos[op].effect != VY_CONV;
}

bool vy_has_closed_form(const reverse *r, uint32_t opener, uint32_t k)
{
    return r->facts.together[vy_carry(opener, k)] || vy_induction_step(&r->facts, opener, k) != 0;
}
