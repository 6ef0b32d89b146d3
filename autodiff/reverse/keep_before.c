// SPDX-License-Identifier: MIT
// keep_before.c: finds the keeper of a dispatch in the primal (core/keep_plan.h).
#include "autodiff/reverse/keep.h"

const keep_form *vy_keep_before(const reverse *r, uint32_t id, const vy_derived *made,
                                uint32_t *keeper)
{
    uint32_t at = id - 1;
    while (at && r->p->insts.data[at].op == VY_OP_PICK) at--;
    if (!at || r->p->insts.data[at].op != VY_OP_DISPATCH) return NULL;
    const vy_host_call *call = vy_host_call_of(r->p, at);
    for (uint32_t k = 0; k < r->keep->forms.count && !call->pipeline; k++) {
        const keep_form *f = r->keep->forms.data[k];
        if (!f->known || f->made != made || f->keeper != call->callee) continue;
        *keeper = at;
        return f;
    }
    return NULL;
}
