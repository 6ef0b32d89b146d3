// SPDX-License-Identifier: MIT
// dispatched.c: see dispatched.h.
#include "autodiff/core/dispatched.h"

const vy_derived *vy_derive_dispatched(reverse *r, uint32_t id, const vy_host_call *call,
                                       const vy_grad_options *request, const vy_program **derived)
{
    vy_diag why = {0};
    const char *name = vy_host_callee(r->out, call)->name;
    const vy_derived *made =
        r->derive(r->out, (vy_ref){call->callee, call->pipeline}, request, &why);
    if (!made) {
        vy_reverse_fail(r, VY_E_NOT_DIFFERENTIABLE, id, why.fix, "`%s`, dispatched here: %s", name,
                        why.text);
        r->out->diag.code = why.code;
        return NULL;
    }
    const vy_host_call result = vy_made_call(made);
    *derived = vy_host_callee(r->out, &result);
    return made;
}
