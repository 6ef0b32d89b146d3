// SPDX-License-Identifier: MIT
// rule_alone.c: the derivative of a program that states its own, by itself.
//
// It is differentiated as the pipeline that dispatches it once, so that seeds, requested inputs and
// values that the rule reads are the pipeline's business (reverse/sweep_dispatch.c):
//
//   program mm with @vjp(mm_back)      →      pipeline mm_grad(a, b, grad_c, grad_a, grad_b, …) {
//                                                 mm_back(a, b, grad_c, grad_a, grad_b, …); }
#include "autodiff/driver/alone.h"
#include "autodiff/driver/observed.h"
#include "autodiff/driver/program_rule.h"

vy_module *vy_derive_by_rule(const vy_program *p, const vy_grad_options *o, bool explain,
                             vy_diag *diag)
{
    vy_module *work = NULL, *out = NULL;
    uint32_t at = 0;
    if ((explain && !vy_rule_explains(p, diag)) || !vy_rule_has_names(p, o, diag)) return NULL;
    while (p->module->programs.data[at] != p) at++;
    if (!vy_module_extract(p->module, (vy_ref){at, false}, &work, diag)) return NULL;
    const vy_pipeline *l = vy_alone(work, vy_module_find(work, p->name), p->name, NULL, diag);
    if (l) out = vy_derive_pipeline(l, o, vy_transform, NULL, diag);
    vy_module_free(work);
    if (!l && diag->severity != VY_ERROR)
        vy_diag_set(diag, VY_E_MEMORY, 0, 0, NULL, "out of memory");
    return out;
}
