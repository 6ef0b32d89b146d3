// SPDX-License-Identifier: MIT
// program_rule.c: derivatives of programs that state their own gradient (ir/core/program_rule.h).
//
// Where a pipeline dispatches such a program, vy_transform answers with the rule itself, and the
// roles of its parameters.
#include "autodiff/driver/program_rule.h"

#include "ir/check/check.h"
#include "ir/core/program_rule.h"

// --------------------------------------------------------------------------------- what is refused
bool vy_rule_answers(const vy_program *p, bool forward, bool explain, vy_diag *diag)
{
    if (!forward && !explain) return true;
    vy_diag_set(diag, VY_E_NOT_DIFFERENTIABLE, p->line,
                vy_check_column(p->module, p->line, p->name),
                forward ? "leave the attribute out: tangents are then made from the body"
                        : "name a program without a rule, or the rule",
                forward ? "`%s` states its gradient (@vjp), and no tangents"
                        : "`%s` states its gradient (@vjp): there is nothing to explain",
                p->name);
    return false;
}

bool vy_rule_has_names(const vy_program *p, const vy_grad_options *o, vy_diag *diag)
{
    for (uint32_t k = 0; k < o->of_count + o->wrt_count; k++) {
        const bool of = k < o->of_count;
        const char *name = of ? o->of[k] : o->wrt[k - o->of_count];
        const vy_buffer b = vy_program_find_buffer(p, name);
        if (b.id && vy_type_is_float(p->buffers.data[b.id].type) &&
            p->buffers.data[b.id].cls == (of ? VY_OUT : VY_IN))
            continue;
        vy_diag_set(diag, VY_E_BUFFER_NOT_FOUND, p->line, 0, NULL,
                    "`%s`, which states its gradient (@vjp), has no %s `%s`", p->name,
                    of ? "output" : "input", name);
        return false;
    }
    return true;
}

// ---------------------------------------------------------------------------------- in a pipeline
bool vy_rule_derived(vy_module *m, const vy_program *p, const vy_grad_options *o, vy_derived *out,
                     vy_diag *diag)
{
    const vy_program *rule = vy_program_rule(m, p, &out->result.index, &out->result.pipeline);
    if (!vy_rule_answers(p, o->forward, false, diag) || !vy_rule_has_names(p, o, diag))
        return false;
    if (!rule) {
        vy_diag_set(diag, VY_E_RULE, p->line, 0, NULL, "`%s`, the rule of `%s`, is not there",
                    p->rule, p->name);
        return false;
    }
    const uint32_t n = rule->buffers.count;
    vy_derivative_role *roles = vy_arena_alloc(&m->arena, n * sizeof *roles);
    for (uint32_t i = 1; roles && i < n; i++)
        roles[i] = vy_program_rule_role(p, &rule->buffers.data[i]);
    out->order = p->order + 1;
    out->role_count = n;
    out->roles = roles;
    if (!roles) vy_diag_set(diag, VY_E_MEMORY, 0, 0, NULL, "out of memory");
    return roles != NULL;
}
