// SPDX-License-Identifier: MIT
// poison.c: plans to tape the values for which poison is left in a build.
//
// See autodiff/reverse/replay.c.
#include "autodiff/core/reverse.h"
#include "autodiff/storage/storage.h"

// Which copy tapes what the replay of `root` cannot compute: the CHECKPOINT around it, or 0.
static uint32_t recorder(const reverse *r, uint32_t root)
{
    uint32_t up = r->facts.scope[root];
    while (up && r->p->insts.data[up].op != VY_OP_CHECKPOINT) up = r->facts.scope[up];
    return up;
}

// Marks the values for which used poison stands; true if there are new ones to tape.
bool vy_reverse_poison(reverse *r, const vy_program *p)
{
    bool found = false;
    uint32_t stuck = 0;
    for (uint32_t id = 1; id < p->insts.count && !r->failed; id++) {
        for (uint32_t k = 0; k < p->insts.data[id].nargs; k++) {
            uint32_t a = vy_arg(p, id, k);
            if (!VY_IS_LEAF(a)) continue;
            const vy_leaf *l = &p->leaves.data[VY_LEAF_INDEX(a)];
            if (l->kind != VY_LEAF_POISON) continue;
            const vy_inst *made = &r->p->insts.data[l->index];
            if (vy_op_is_atomic((vy_op)made->op)) {
                vy_reverse_fail(
                    r, VY_E_NOT_DIFFERENTIABLE, l->index,
                    "compute the index or condition without the old value",
                    "the reverse needs the old value of %s, which depends on the order of "
                    "invocations",
                    vy_op_infos[made->op].text);
                return false;
            }
            if (r->facts.together[l->index]) {
                vy_reverse_fail(r, VY_E_INTERNAL, l->index, NULL,
                                "what decides whether a barrier is reached is not recomputed");
                return false;
            }
            // It is taped by the next outer copy that may have the value.
            uint32_t keeper = recorder(r, l->axis);
            if (r->plan.kept[l->index] && r->plan.kept[l->index] <= keeper + 1) {
                stuck = l->index;
                continue;
            }
            r->plan.kept[l->index] = keeper + 1;
            found = true;
        }
    }
    if (stuck && !found && !r->failed)
        vy_reverse_fail(r, VY_E_INTERNAL, stuck, NULL,
                        "a taped value is not available where it is needed");
    return found;
}
