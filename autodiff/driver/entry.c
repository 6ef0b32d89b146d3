// SPDX-License-Identifier: MIT
// entry.c: vy_grad: the derivative of a program or pipeline of a module, in a module of its own.
#include "autodiff/driver/observed.h"

vy_module *vy_grad_observed(const vy_module *m, const vy_grad_options *options,
                            const reverse_observer *observer, vy_diag *diag)
{
    static const vy_grad_options defaults = {0};
    if (!options) options = &defaults;
    *diag = (vy_diag){0};
    if (!vy_module_ok(m)) {
        *diag = m->diag;
        return NULL;
    }
    const vy_pipeline *pipeline =
        options->program && !observer && !vy_module_find(m, options->program)
            ? vy_module_find_pipeline(m, options->program)
            : NULL;
    if (pipeline) return vy_derive_pipeline(pipeline, options, vy_transform, diag);
    const vy_program *source = vy_choose_program(m, options->program, diag);
    return source ? vy_derive(source, options, observer, diag) : NULL;
}

vy_module *vy_grad(const vy_module *m, const vy_grad_options *options, vy_diag *diag)
{
    return vy_grad_observed(m, options, NULL, diag);
}
