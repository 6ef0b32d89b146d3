// SPDX-License-Identifier: MIT
// jvp.c: vy_jvp: chooses the program and makes a copy of it, in a module of its own, the forward
// derivative.
//
// Unlike the primal of a gradient (derive.c) the copy is hardly simplified first: a forward
// derivative keeps nothing, so loops and arrays cost it nothing, and it reads like its source.
#include "autodiff/driver/observed.h"
#include "autodiff/forward/forward.h"
#include "autodiff/grad.h"
#include "autodiff/rewrite/rewrite.h"
#include "autodiff/rewrite/subgroup.h"
#include "ir/pass/pass.h"

#include <stdio.h>

static bool take_forward_name(vy_program *p)
{
    char text[300];
    const int n = snprintf(text, sizeof text, "%.280s_jvp", p->name);
    p->name = vy_arena_strdup(&p->module->arena, text, (size_t)n);
    p->order = p->module->order;
    return p->name != NULL;
}

// What has a better derivative in another form: see subgroup.h.
static bool rewrite_primal(reverse *r, vy_program *p, const vy_program *source)
{
    return !vy_has_subgroup(p) || vy_rewrite_active(r, p, source, vy_subgroup_prepare_forward);
}

static bool push_forward(vy_module *out, const vy_program *source, const vy_grad_options *options)
{
    vy_pass_context c = {0};
    vy_program *p = vy_program_clone(source, out);
    if (p) vy_program_drop_marks(p);
    reverse r = {.p = p, .options = options, .out = out, .forward = true};
    bool ok = p && vy_pass_own_atomics(p, &c) && vy_pass_forward(p, &c) && vy_pass_dce(p, &c) &&
              rewrite_primal(&r, p, source) && vy_forward(&r, p, source) && take_forward_name(p);
    if (ok && vy_vec_push(&out->programs, p)) return true;
    vy_fail_oom(out); // unless something else was said before
    vy_program_free(p);
    return false;
}

vy_module *vy_jvp(const vy_module *m, const vy_grad_options *options, vy_diag *diag)
{
    static const vy_grad_options defaults = {0};
    if (!options) options = &defaults;
    *diag = (vy_diag){0};
    if (!vy_module_ok(m)) {
        *diag = m->diag;
        return NULL;
    }
    const vy_program *source = vy_choose_program(m, options->program, diag);
    if (!source || !vy_refuse_lowered(source, diag)) return NULL;
    vy_module *out = vy_result_module(source);
    if (out && push_forward(out, source, options)) return out;
    if (out)
        *diag = out->diag;
    else
        vy_diag_set(diag, VY_E_MEMORY, 0, 0, NULL, "out of memory");
    vy_module_free(out);
    return NULL;
}
