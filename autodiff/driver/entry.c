// SPDX-License-Identifier: MIT
// entry.c: vy_grad and vy_jvp: the derivative of a program or pipeline, in a module of its own.
#include "autodiff/driver/observed.h"
#include "autodiff/driver/program_rule.h"
#include "autodiff/driver/starts_meet.h"
#include "ir/core/program_rule.h"

static const vy_grad_options defaults = {0};

// The pipeline that the request names, or NULL.
static const vy_pipeline *find_pipeline(const vy_module *m, const char *name)
{
    return name && !vy_module_find(m, name) ? vy_module_find_pipeline(m, name) : NULL;
}

static bool begin(const vy_module *m, vy_diag *diag)
{
    *diag = (vy_diag){0};
    if (!vy_module_ok(m)) *diag = m->diag;
    return vy_module_ok(m);
}

vy_module *vy_grad_observed(const vy_module *m, const vy_grad_options *options,
                            const reverse_observer *observer, vy_diag *diag)
{
    if (!options) options = &defaults;
    if (!begin(m, diag)) return NULL;
    const vy_pipeline *pipeline = observer ? NULL : find_pipeline(m, options->program);
    if (pipeline) return vy_derive_pipeline(pipeline, options, vy_transform, NULL, diag);
    const vy_program *source = vy_choose_program(m, options->program, diag);
    if (source && vy_program_has_rule(source))
        return vy_derive_by_rule(source, options, observer != NULL, diag);
    if (source && !observer && vy_starts_meet(source, options))
        return vy_derive_apart(source, options, vy_transform, diag);
    return source ? vy_derive(source, options, observer, diag) : NULL;
}

vy_module *vy_grad(const vy_module *m, const vy_grad_options *options, vy_diag *diag)
{
    return vy_grad_observed(m, options, NULL, diag);
}

vy_module *vy_jvp(const vy_module *m, const vy_grad_options *options, vy_diag *diag)
{
    vy_grad_options forward = options ? *options : defaults;
    forward.forward = true;
    if (!begin(m, diag)) return NULL;
    const vy_pipeline *pipeline = find_pipeline(m, forward.program);
    if (pipeline) return vy_derive_pipeline(pipeline, &forward, vy_transform, NULL, diag);
    const vy_program *source = vy_choose_program(m, forward.program, diag);
    if (source && vy_program_has_rule(source))
        return vy_derive_by_rule(source, &forward, false, diag);
    return source ? vy_derive_forward(source, &forward, diag) : NULL;
}
