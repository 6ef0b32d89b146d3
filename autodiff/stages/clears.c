// SPDX-License-Identifier: MIT
// clears.c: no stage throws away what an earlier one has written.
//
//   f_sums(x, w, grad_x, terms);           writes grad_x: out
//   f_parts(grad_x, terms, parts);         takes it as `out`, too: the dispatch clears it before it runs
//
// A dispatch clears what it takes as `out`, whether its program writes there or not.  So a stage
// takes as `out` only what it is the first to write; vy_drop_stage sees to that.  Should it ever
// fail, the result would be zeros without a word; here it is an error.
#include "autodiff/stages/stages.h"

#include <string.h>

static bool writes(const vy_program *p, uint32_t buffer)
{
    for (uint32_t id = 1; id < p->insts.count; id++)
        if (vy_op_infos[p->insts.data[id].op].effect == VY_WRITE && p->insts.data[id].aux == buffer)
            return true;
    return false;
}

bool vy_stages_keep(vy_module *m, vy_program *const *stages, const vy_dim *iterations,
                    uint32_t count)
{
    for (uint32_t k = 1; k < count; k++)
        for (uint32_t i = 1; i < stages[k]->buffers.count; i++) {
            const vy_buf *b = &stages[k]->buffers.data[i];
            if (b->cls != VY_OUT || b->workspace) continue;
            for (uint32_t j = 0; j < k; j++) {
                uint32_t same = vy_program_find_buffer(stages[j], b->name).id;
                if (!same || !writes(stages[j], same)) continue;
                // Two forms of one program, of which sizes choose one, both write all of it.
                if (iterations && iterations[j].id && iterations[k].id && writes(stages[k], i))
                    continue;
                vy_fail(m, VY_E_INTERNAL, 0, 0, NULL, "stage `%s` clears `%s`, which `%s` writes",
                        stages[k]->name, b->name, stages[j]->name);
                return false;
            }
        }
    return true;
}
