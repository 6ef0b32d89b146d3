// SPDX-License-Identifier: MIT
// entry.c: vy_grad and vy_jvp: the derivative of a program or pipeline, in a module of its own.
#include "autodiff/core/conditions.h"
#include "autodiff/driver/alone.h"
#include "autodiff/driver/batches.h"
#include "autodiff/driver/fields.h"
#include "autodiff/driver/observed.h"
#include "autodiff/driver/program_rule.h"
#include "autodiff/driver/starts_meet.h"
#include "autodiff/stages/stages.h"
#include "ir/core/vector_buffers.h"
#include "ir/core/derive_as.h"
#include "ir/core/program_rule.h"

static const vy_grad_options defaults = {0};

// The pipeline that the request names, or NULL.
static const vy_pipeline *find_pipeline(const vy_module *m, const char *name)
{
    return name && !vy_module_find(m, name) ? vy_module_find_pipeline(m, name) : NULL;
}

static bool begin_derivative(const vy_module *m, vy_diag *diag)
{
    *diag = (vy_diag){0};
    if (!vy_module_ok(m)) *diag = m->diag;
    return vy_module_ok(m);
}

static vy_module *derive_reverse(const vy_module *m, const vy_grad_options *options,
                                 const reverse_observer *observer, vy_diag *diag)
{
    const vy_pipeline *pipeline = observer ? NULL : find_pipeline(m, options->program);
    vy_grad_options once = *options; // all at once
    once.batches = 0;
    if (pipeline) return vy_derive_pipeline(pipeline, &once, vy_transform, NULL, diag);
    const vy_program *source = vy_choose_program(m, options->program, diag);
    if (source && !observer && vy_wants_batches(source, options))
        return vy_derive_batches(source, options, vy_transform, diag);
    options = &once;
    if (source && vy_program_has_rule(source))
        return vy_derive_by_rule(source, options, observer != NULL, diag);
    if (source && !observer && vy_starts_meet(source, options))
        return vy_derive_apart(source, options, vy_transform, diag);
    return source ? vy_derive(source, options, observer, diag) : NULL;
}

vy_module *vy_grad_observed(const vy_module *m, const vy_grad_options *options,
                            const reverse_observer *observer, vy_diag *diag)
{
    vy_named_fields f;
    if (!options) options = &defaults;
    if (!begin_derivative(m, diag) || !vy_fields_name(&f, m, options, diag)) return NULL;
    vy_module *out = derive_reverse(m, &f.o, observer, diag);
    vy_fields_free(&f);
    return vy_conditions_known(out, options, diag);
}

static vy_module *derive_forward(const vy_module *m, const vy_grad_options *options, vy_diag *diag)
{
    const vy_pipeline *pipeline = find_pipeline(m, options->program);
    if (pipeline) return vy_derive_pipeline(pipeline, options, vy_transform, NULL, diag);
    const vy_program *source = vy_choose_program(m, options->program, diag);
    if (source && vy_program_has_rule(source))
        return vy_derive_by_rule(source, options, false, diag);
    return source ? vy_derive_forward(source, options, diag) : NULL;
}

static vy_module *derive(const vy_module *m, const vy_grad_options *options, vy_diag *diag)
{
    vy_named_fields f;
    if (!options->forward) return vy_grad_observed(m, options, NULL, diag);
    if (!begin_derivative(m, diag) || !vy_fields_name(&f, m, options, diag)) return NULL;
    vy_module *out = derive_forward(m, &f.o, diag);
    vy_fields_free(&f);
    return vy_conditions_known(out, options, diag);
}

// The same without exact sums, which are sums of integers and so have no derivative.  False: *diag.
static bool add_plain(vy_module *out, const vy_module *m, const vy_grad_options *options,
                      vy_diag *diag)
{
    vy_grad_options o = *options;
    o.again = true, o.deterministic = o.plain_too = false, o.accumulate = VY_ACCUMULATE_ATOMIC;
    vy_module *plain = derive(m, &o, diag);
    bool ok = plain != NULL;
    if (ok && !plain->pipelines.count)
        ok = vy_alone(plain, plain->programs.data[0], "alone", NULL, diag) != NULL;
    ok = ok && vy_derive_as(out, plain, diag);
    vy_module_free(plain);
    return ok;
}

// Are there sums of integers in the place of those of floats?
static bool is_exact(const vy_module *m)
{
    bool any = false;
    for (uint32_t i = 0; i < m->programs.count; i++) any |= vy_exact_sums(m->programs.data[i]);
    for (uint32_t i = 0; i < m->pipelines.count; i++)
        any |= vy_exact_sums(m->pipelines.data[i]->signature);
    return any;
}

// What is one program, with sums in shared memory alone, as the pipeline that dispatches it: that
// can say what is differentiated in its place.  False: *diag, or memory.
static bool make_pipeline(vy_module *out, vy_diag *diag)
{
    vy_program *p = out->programs.data[0];
    const char *name = p->name;
    p->name = vy_stage_name(out, p, "sums");
    return p->name && vy_alone(out, p, name, NULL, diag);
}

static vy_module *derive_once(const vy_module *m, const vy_grad_options *options, vy_diag *diag)
{
    vy_module *out = derive(m, options, diag);
    const bool text = out && options->plain_too && options->deterministic && is_exact(out);
    const uint32_t n = text ? out->pipelines.count : 0;
    if (!text || (n && out->pipelines.data[n - 1]->signature->rules[VY_DERIVE_AS])) return out;
    if ((n || make_pipeline(out, diag)) && add_plain(out, m, options, diag)) return out;
    if (diag->severity != VY_ERROR) vy_diag_set(diag, VY_E_MEMORY, 0, 0, NULL, "out of memory");
    vy_module_free(out);
    return NULL;
}

// What is not said in the text is not kept beside it.
static vy_module *derive_text(const vy_module *m, const vy_grad_options *options, vy_diag *diag)
{
    vy_module *out = derive_once(m, options, diag);
    if (out) vy_settle_module_vectors(out);
    return out;
}

vy_module *vy_grad(const vy_module *m, const vy_grad_options *options, vy_diag *diag)
{
    vy_grad_options o;
    if (!vy_take_options(&o, sizeof o, sizeof o, options, "vy_grad_options", diag)) return NULL;
    return derive_text(m, &o, diag);
}

vy_module *vy_jvp(const vy_module *m, const vy_grad_options *options, vy_diag *diag)
{
    vy_grad_options o;
    if (!vy_take_options(&o, sizeof o, sizeof o, options, "vy_grad_options", diag)) return NULL;
    o.forward = true;
    return derive_text(m, &o, diag);
}
