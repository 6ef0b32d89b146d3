// SPDX-License-Identifier: MIT
// check.c: `vyre-grad check`.
//
// The tests are the library's (autodiff/check.h); here are the data they run on, the derivatives they
// compare, and the device.
#include "tools/check.h"

#include "autodiff/grad.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

// Instructions × invocations of the program on data that `check` chose, and of any other run on it.
enum { CHOSEN_STEPS = 1 << 27 };
#define MOST_STEPS ((uint64_t)CHOSEN_STEPS * 64)

// ------------------------------------------------------------------------------------- derivatives
bool check_derive(checking *k, command *c, bool value, bool seeded, uint64_t order, derivative *out,
                  vy_diag *d)
{
    names seeds = {0};
    const options asked = c->o;
    bool ok = true;
    for (uint32_t i = 0; ok && i < k->ct.count; i++)
        ok = names_add(&seeds, k->ct.data[i].name) || fail_memory(d);
    c->o.with_value = value;
    c->o.order = order;
    if (seeded) c->o.seed = SEED_BUFFER;
    ok = ok && derive(c, k->source, &seeds, d);
    c->o = asked;
    names_free(&seeds);
    out->module = c->work.derived;
    c->work.derived = NULL;
    if (ok) out->what = vys_entry_result(out->module);
    return ok;
}

// The gradient as it is asked for, and with values and random cotangents.  Of second order the source is
// no longer what was differentiated, so only as asked for.
static bool derive_all(checking *k, command *c, vy_diag *d)
{
    const bool twice = c->o.order > 1, deterministic = c->o.deterministic;
    // Accumulators hold floats of the declared type; differences need double.  The device runs those.
    c->o.deterministic = false;
    bool ok = check_derive(k, c, false, false, c->o.order, &k->gradient, d);
    if (twice) ok = ok && check_derive(k, c, false, false, 1, &k->first, d);
    if (!twice)
        ok = ok && check_derive(k, c, true, false, 1, &k->valued, d) &&
             check_derive(k, c, false, true, 1, &k->seeded, d);
    c->o.deterministic = deterministic;
    return ok;
}

// As `run --engine eval` would run them.
static bool optimize_all(checking *k, command *c, vy_diag *d)
{
    vy_module *const modules[] = {c->module, k->first.module, k->gradient.module, k->valued.module,
                                  k->seeded.module};
    for (size_t i = 0; i < COUNT_OF(modules); i++)
        if (modules[i] && !optimize(c, modules[i], true, NULL, d)) return false;
    return true;
}

// --------------------------------------------------------------------------------------------- data
static vy_eval_buffer *eval_buffers(const binding *b, vy_diag *d)
{
    vy_eval_buffer *list = calloc(b->buffer_count + 1, sizeof *list);
    if (!list) fail_memory(d);
    for (uint32_t i = 0; list && i < b->buffer_count; i++) {
        const bound_buffer *from = &b->buffers[i];
        list[i] = (vy_eval_buffer){from->info.name, from->value.data, from->value.shape,
                                   from->value.rank};
    }
    return list;
}

static bool bind_start(checking *k, const command *c, bool apart, vy_diag *d)
{
    binding *b = &k->start;
    vys_binding_free(b);
    while (k->in.count > k->chosen_data) spec_free(&k->in.data[--k->in.count]);
    k->apart = apart;
    return binding_create(b, k->source, false, d) && binding_set(b, &c->o.set, d) &&
           binding_groups(b, c->o.groups, d) && default_data(&k->in, b, apart, d) &&
           binding_specs(b, &k->in, NULL, d) && default_scalars(b, d) && vys_binding_fill(b, d);
}

static bool chosen(const checking *k, bool integers)
{
    for (uint32_t i = k->chosen_data; i < k->in.count; i++)
        if (!integers || k->in.data[i].kind == SPEC_CYCLE || k->in.data[i].kind == SPEC_IOTA)
            return true;
    return false;
}

// Runs the program once on what was chosen, for a bounded number of steps.
static bool try_data(const checking *k, const command *c, bool *fine, vy_diag *d)
{
    const binding *b = &k->start;
    const vy_check_subject s = {k->source.program, k->source.pipeline};
    vy_eval_options o = {.subgroup_size = (uint32_t)c->o.subgroup_size,
                         .report_races = true,
                         .report_uninitialised = true,
                         .max_steps = CHOSEN_STEPS};
    vy_eval_report report = {0};
    vy_eval_buffer *buffers = eval_buffers(b, d);
    vy_eval_scalar *scalars = calloc(b->scalar_count + 1, sizeof *scalars);
    bool ok = buffers && (scalars || fail_memory(d));
    for (uint32_t i = 0; ok && i < b->scalar_count; i++)
        scalars[i] = (vy_eval_scalar){b->scalars[i].info.name, b->scalars[i].value};
    vys_binding_has_groups(b, o.groups);
    if (ok)
        ok = s.pipeline ? vy_eval_pipeline(s.pipeline, buffers, b->buffer_count, scalars,
                                           b->scalar_count, &o, &report, d)
                        : vy_eval(s.program, buffers, b->buffer_count, scalars, b->scalar_count, &o,
                                  &report, d);
    *fine = ok && !report.races && !report.uninitialised;
    free(buffers);
    free(scalars);
    return ok;
}

// Integers that repeat may be used as places to store to, or as counts: 0, 1, 2, … then is another choice.  What
// neither suits is the user's to give.
static bool choose_data(checking *k, const command *c, vy_diag *d)
{
    bool fine = false;
    k->chosen_data = k->in.count;
    for (int apart = 0; apart < 2 && !fine; apart++) {
        vy_diag why = {0};
        if (!bind_start(k, c, apart != 0, d)) return false;
        if (!chosen(k, false)) return true;
        const bool ran = try_data(k, c, &fine, &why);
        const bool endless = !ran && why.code && !strcmp(why.code, "E0708");
        if (apart == 0 && !fine && chosen(k, true)) continue;
        if (endless) {
            *d = why;
            snprintf(d->fix, sizeof d->fix,
                     "`check` chose the data (`--in NAME=SPEC` gives other ones): give data on "
                     "which the program ends sooner");
            return false;
        }
        if (!fine) return bind_start(k, c, false, d); // as it is told then
        return bind_start(k, c, apart != 0, d);
    }
    return bind_start(k, c, k->apart, d);
}

static bool bind_data(checking *k, command *c, vy_diag *d)
{
    binding *b = &k->start;
    if (!choose_data(k, c, d)) return false;
    if (k->first.module && (!binding_create(&k->primal, k->first.what, false, d) ||
                            !binding_derive(&k->primal, b, &k->ct, d)))
        return false;
    return binding_create(&k->cotangents, k->gradient.what, false, d) &&
           binding_derive(&k->cotangents, checked_data(k), &k->ct, d) &&
           vys_binding_tape(&k->cotangents, c->o.tape_limit, d);
}

static bool check_ct(const checking *k, vy_diag *d)
{
    for (uint32_t i = 0; i < k->ct.count; i++) {
        bool used = false;
        for (uint32_t n = 0; n < k->cotangents.buffer_count; n++) {
            const vy_buffer_info *b = &k->cotangents.buffers[n].info;
            used |= b->cls != VY_OUT && !vys_binding_find(&k->start, b->name) &&
                    specs_find_seed(&k->ct, b->name) == &k->ct.data[i];
        }
        if (!used)
            return fail(d, TOOL_USAGE, "name it in --of",
                        "--ct %s: it is none of the outputs that are differentiated",
                        k->ct.data[i].name);
    }
    return true;
}

// ---------------------------------------------------------------------------------------- execution
static vy_check_subject subject(vys_entry r) { return (vy_check_subject){r.program, r.pipeline}; }

static bool outputs_of(const checking *k, const command *c, names *of, vy_diag *d)
{
    const vy_program *p = checked_program(k).program;
    bool ok = true;
    const names *asked = c->o.of.count ? &c->o.of : &k->of;
    for (uint32_t i = 0; ok && !k->first.module && i < asked->count; i++)
        ok = names_add(of, asked->data[i]);
    for (uint32_t i = 1; ok && k->first.module && i <= vy_program_buffer_count(p); i++) {
        const vy_buffer_info b = vy_program_buffer(p, (vy_buffer){i});
        if (b.cls == VY_OUT && !b.workspace && !strncmp(b.name, "grad", 4))
            ok = names_add(of, b.name);
    }
    return ok || fail_memory(d);
}

static bool run_check(checking *k, command *c, vy_diag *d)
{
    const binding *data = checked_data(k);
    names of = {0};
    vy_eval_buffer *buffers = eval_buffers(data, d);
    vy_eval_buffer *cotangents = buffers ? eval_buffers(&k->cotangents, d) : NULL;
    vy_eval_scalar *scalars = calloc(data->scalar_count + 1, sizeof *scalars);
    bool ok = cotangents && (scalars || fail_memory(d)) && outputs_of(k, c, &of, d);
    for (uint32_t i = 0; ok && i < data->scalar_count; i++)
        scalars[i] = (vy_eval_scalar){data->scalars[i].info.name, data->scalars[i].value};
    vy_check_request q = {.primal = subject(checked_program(k)),
                          .gradient = subject(k->gradient.what),
                          .valued = subject(k->valued.what),
                          .seeded = subject(k->seeded.what),
                          .of = of.count ? of.data : NULL,
                          .of_count = of.count,
                          .buffers = buffers,
                          .buffer_count = data->buffer_count,
                          .scalars = scalars,
                          .scalar_count = data->scalar_count,
                          .cotangents = cotangents,
                          .cotangent_count = k->cotangents.buffer_count,
                          .subgroup_size = (uint32_t)c->o.subgroup_size,
                          .samples = c->o.samples,
                          .max_steps = chosen(k, false) ? MOST_STEPS : 0};
    vys_binding_has_groups(data, q.groups);
    progress_begin(c, "checking");
    if (ok) k->result = vy_grad_check(&q, d);
    progress_end();
    names_free(&of);
    free(buffers);
    free(cotangents);
    free(scalars);
    return k->result != NULL;
}

// As vy_grad chooses them: optimising may fold away the store that makes an `inout` buffer an output.
static bool default_outputs(checking *k, vy_diag *d)
{
    const vy_program *p = k->source.program;
    bool ok = true;
    for (uint32_t i = 1; ok && i <= vy_program_buffer_count(p); i++)
        if (vy_grad_default_of(p, (vy_buffer){i}))
            ok = names_add(&k->of, vy_program_buffer(p, (vy_buffer){i}).name);
    return ok || fail_memory(d);
}

static bool refuse(const command *c, vy_diag *d)
{
    if (c->o.dot.count)
        return fail(d, TOOL_UNAVAILABLE, "leave it out",
                    "--dot is not available yet in this version");
    if (c->o.out.count)
        return fail(d, TOOL_USAGE, "use `run --grad --out`", "`check` writes no arrays");
    return true;
}

static bool check_file(checking *k, command *c, vy_diag *d)
{
    const double start = now_ms();
    if (!refuse(c, d) || !load_module(c, d)) return false;
    check_lanes(c);
    if (!select_entry(c, c->module, &k->source, d) || !specs_parse(&k->in, "--in", &c->o.in, d) ||
        !specs_parse(&k->ct, "--ct", &c->o.ct, d) || !default_outputs(k, d) ||
        !specs_parse(&k->device_ct, "--ct", &c->o.ct, d) || !derive_all(k, c, d) ||
        !bind_data(k, c, d) || !check_ct(k, d) || !optimize_all(k, c, d) || !run_check(k, c, d) ||
        (!k->result->program.code && !check_device(k, c, d)))
        return false;
    k->ms = now_ms() - start;
    return true;
}

bool verb_check(command *c, vy_diag *d)
{
    checking k = {0};
    bool ok = check_file(&k, c, d);
    if (ok && c->o.json)
        ok = check_json(&k, c, d);
    else if (ok)
        check_print(&k, c);
    if (ok && !check_passed(&k)) c->status = STATUS_CHECK;
    if (ok && k.result->program.code) report(c, &k.result->program, false);
    vy_check_free(k.result);
    vys_binding_free(&k.start);
    vys_binding_free(&k.primal);
    vys_binding_free(&k.cotangents);
    specs_free(&k.in);
    names_free(&k.of);
    specs_free(&k.ct);
    specs_free(&k.device_ct);
    derivative *const made[] = {&k.first, &k.gradient, &k.valued, &k.seeded};
    for (size_t i = 0; i < COUNT_OF(made); i++) vy_module_free(made[i]->module);
    return ok;
}
