// SPDX-License-Identifier: MIT
// jvp.c: the forward derivative of a program, made of a copy of it in a module of its own.
//
// Where it takes other programs before it, it is a pipeline.
//
// Unlike the primal of a gradient (derive.c) the copy is hardly simplified first: a forward
// derivative keeps nothing, so loops and arrays cost it nothing, and it reads like its source.
#include "autodiff/deterministic/sums.h"
#include "autodiff/driver/observed.h"
#include "autodiff/facts/facts.h"
#include "autodiff/forward/forward.h"
#include "autodiff/grad.h"
#include "autodiff/reverse/sweeps.h"
#include "autodiff/rewrite/extremum.h"
#include "autodiff/rewrite/rewrite.h"
#include "autodiff/rewrite/subgroup.h"
#include "autodiff/stages/result.h"
#include "autodiff/stages/stages.h"
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

// What has a better derivative in another form: see subgroup.h, extremum.h.
static bool rewrite_primal(reverse *r, vy_program *p, const vy_program *source)
{
    if (vy_has_subgroup(p) && !vy_rewrite_active(r, p, source, vy_subgroup_prepare_forward))
        return false;
    return !vy_has_extremum(p) || (vy_rewrite_active(r, p, source, vy_extremum_shared) &&
                                   vy_rewrite_active(r, p, source, vy_extremum_prepare));
}

// --------------------------------------------------------------------------- programs before it
// The programs that find the winners of atomic_min and atomic_max on buffers, in order.
typedef struct finders {
    vy_program *data[4]; // and room for the forward derivative itself
    uint32_t count;
} finders;

// Are there any that have a derivative?  *last: does one of their invocations have several
// candidates?  False after an error, too.
static bool has_winners(reverse *r, const vy_program *source, bool *last)
{
    bool any = *last = false;
    bool ok = vy_reverse_tables(r);
    if (ok) vy_reverse_choose(r, source);
    ok = ok && !r->failed && vy_activity(&r->facts);
    if (ok) vy_buffer_uses(&r->facts);
    for (uint32_t i = 1; ok && i < r->p->buffers.count; i++) {
        any |= r->facts.buffers[i].extremum;
        *last |= r->facts.buffers[i].events;
    }
    if (!ok) vy_fail_oom(r->out); // unless something else was said before
    r->failed |= !ok;
    vy_reverse_restart(r);
    return any;
}

// Builds them, and makes p, whose atomics they replace, follow them.
static bool find_winners(reverse *r, vy_program *p, const vy_program *source, finders *f)
{
    bool last, inexact;
    if (!vy_has_extremum(p) || !has_winners(r, source, &last)) return !r->failed;
    const bool ok = vy_reverse_analyse(r, source) &&
                    vy_extremum_find(r, last, f->data, &f->count, &inexact) &&
                    vy_forward_winners(r, p);
    if (ok && inexact) p->exact = true;
    vy_reverse_restart(r);
    return ok;
}

// Puts them in front of p, which the module lists.
static bool precede(vy_module *out, vy_program *p, const vy_program *source, finders *f)
{
    if (!f->count) return true;
    vy_program *tangents = vy_program_clone(p, out);
    if (!tangents) return false;
    f->data[f->count++] = tangents;
    tangents->name = vy_stage_name(out, source, "tangents");
    if (!tangents->name) return false;
    const uint32_t count = f->count;
    f->count = 0; // the module has them from here on
    return vy_stages_replace(out, p, f->data, count);
}

static bool push_forward(vy_module *out, const vy_program *source, const vy_grad_options *options)
{
    vy_pass_context c = {0};
    finders f = {0};
    vy_program *p = vy_program_clone(source, out);
    if (p) vy_program_drop_marks(p);
    reverse r = {.p = p, .options = options, .out = out, .forward = true};
    bool ok = p && vy_raise_lowered(p) && vy_pass_own_atomics(p, &c) && vy_pass_forward(p, &c) &&
              vy_pass_dce(p, &c) && rewrite_primal(&r, p, source) &&
              find_winners(&r, p, source, &f) && vy_forward(&r, p, source) && take_forward_name(p);
    if (ok && vy_vec_push(&out->programs, p)) {
        ok = precede(out, p, source, &f) &&
             (!options->deterministic || vy_order_sums(out, options->lean_sums));
    } else {
        vy_program_free(p);
        ok = false;
    }
    if (!ok) vy_fail_oom(out); // unless something else was said before
    for (uint32_t k = 0; k < out->programs.count; k++) out->programs.data[k]->stem = NULL;
    for (uint32_t k = 0; k < f.count; k++) vy_program_free(f.data[k]);
    return ok;
}

vy_module *vy_derive_forward(const vy_program *source, const vy_grad_options *options,
                             vy_diag *diag)
{
    if (vy_refuse_exact_sums(source, diag)) return NULL;
    vy_module *out = vy_result_module(source);
    if (out && push_forward(out, source, options)) {
        vy_number_roles(out, source);
        return out;
    }
    if (out)
        *diag = out->diag;
    else
        vy_diag_set(diag, VY_E_MEMORY, 0, 0, NULL, "out of memory");
    vy_module_free(out);
    return NULL;
}
