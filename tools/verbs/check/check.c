// SPDX-License-Identifier: MIT
// check.c: `vyre-grad check`.
//
// The library makes the tests (autodiff/check.h); this file provides the data they run on, the
// derivatives they compare, and the device.
#include "tools/verbs/check/check.h"

#include "autodiff/grad.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

// Limits in instructions × invocations: of a run on data that `check` chose; of all probes of the
// second round.
#define MOST_STEPS (UINT64_C(1) << 33)
#define MORE_BUDGET (UINT64_C(1) << 27)

// ------------------------------------------------------------------------------------- derivatives
// The gradient as requested, and with values and random cotangents.  At higher orders the source is
// not the program that was differentiated, so only as requested.
static bool derive_all(checking *k, command *c, vy_diag *d)
{
    const bool twice = c->o.order > 1, deterministic = c->o.deterministic;
    // Accumulators hold floats of the declared type, but differences need double.  The device runs
    // the programs with accumulators.
    c->o.deterministic = false;
    bool ok = check_derive(k, c, false, false, c->o.order, &k->gradient, d);
    if (twice) ok = ok && check_derive(k, c, false, false, c->o.order - 1, &k->first, d);
    if (twice) snprintf(k->no_forward, sizeof k->no_forward, "order 1 only");
    if (!twice)
        ok = ok && check_derive(k, c, true, false, 1, &k->valued, d) &&
             check_derive(k, c, false, true, 1, &k->seeded, d) && check_derive_forward(k, c, d);
    c->o.deterministic = deterministic;
    return ok;
}

// Optimised as `run --engine eval` does.
static bool optimize_all(checking *k, command *c, vy_diag *d)
{
    vy_module *const modules[] = {c->module,        k->first.module,  k->gradient.module,
                                  k->valued.module, k->seeded.module, k->forward.module};
    for (size_t i = 0; i < COUNT_OF(modules); i++)
        if (modules[i] && !optimize(c, modules[i], true, NULL, d)) return false;
    return true;
}

// -------------------------------------------------------------------------------------------- data
static bool bind_derived(checking *k, command *c, vy_diag *d)
{
    binding *b = &k->start;
    if (k->first.module && (!binding_create(&k->primal, k->first.what, false, d) ||
                            !binding_derive(&k->primal, b, &k->ct, d)))
        return false;
    return binding_create(&k->cotangents, k->gradient.what, false, d) &&
           binding_derive(&k->cotangents, checked_data(k), &k->ct, d) &&
           vys_binding_tape(&k->cotangents, c->o.tape_limit, d);
}

static void drop_derived(checking *k)
{
    derivative *const made[] = {&k->first, &k->gradient, &k->valued, &k->seeded, &k->forward};
    for (size_t i = 0; i < COUNT_OF(made); i++) {
        vy_module_free(made[i]->module);
        *made[i] = (derivative){0};
    }
}

// Keeps less, as `run` does, where tapes are beyond the limit.
static bool bind_within(checking *k, command *c, vy_diag *d)
{
    while (!bind_derived(k, c, d)) {
        if (k->first.module || !derive_with_less(c, d)) return false;
        vys_binding_free(&k->cotangents);
        k->cotangents = (binding){0};
        drop_derived(k);
        if (!derive_all(k, c, d)) return false;
    }
    return true;
}

// --------------------------------------------------------------------------------------- execution
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
        if (vy_is_gradient(b.role.kind)) ok = names_add(of, b.name);
    }
    return ok || fail_memory(d);
}

// A derivative may read for lanes that pad its last workgroup.  At higher orders the program it was
// derived from determines whether accesses are out of range.  *no: they are not checked.
static bool leaves_out_range(const checking *k, const command *c, bool *no, vy_diag *d)
{
    liking how = FINE;
    vy_diag why;
    if (k->first.module && !check_try(k, c, MOST_STEPS, &how, &why, d)) return false;
    *no = k->first.module && how != OUT_OF_RANGE;
    return true;
}

static bool run_check(checking *k, command *c, vy_diag *d)
{
    const binding *data = checked_data(k);
    names of = {0};
    vy_eval_buffer *buffers = check_buffers(data, d);
    vy_eval_buffer *cotangents = buffers ? check_buffers(&k->cotangents, d) : NULL;
    vy_eval_scalar *scalars = calloc(data->scalar_count + 1, sizeof *scalars);
    bool ok = cotangents && (scalars || fail_memory(d)) && outputs_of(k, c, &of, d);
    for (uint32_t i = 0; ok && i < data->scalar_count; i++)
        scalars[i] = (vy_eval_scalar){data->scalars[i].info.name, data->scalars[i].value};
    vy_check_request q = {.primal = subject(checked_program(k)),
                          .gradient = subject(k->gradient.what),
                          .valued = subject(k->valued.what),
                          .seeded = subject(k->seeded.what),
                          .forward = subject(k->forward.what),
                          .no_forward = k->no_forward[0] ? k->no_forward : NULL,
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
                          .max_steps = check_chose(k, false) ? MOST_STEPS : 0,
                          .budget = k->second ? MORE_BUDGET : 0,
                          .allow_out_of_range = c->o.allow == ALLOW_OUT_OF_RANGE};
    vys_binding_has_groups(data, q.groups);
    progress_begin(c, "checking");
    ok = ok && leaves_out_range(k, c, &q.no_range, d);
    if (ok) k->result = vy_grad_check(&q, d);
    progress_end();
    names_free(&of);
    free(buffers);
    free(cotangents);
    free(scalars);
    return k->result != NULL;
}

// The outputs that vy_grad chooses, taken before optimisation, which may remove the store that
// makes an `inout` buffer an output.
static bool default_outputs(checking *k, vy_diag *d)
{
    const vy_program *p = k->source.program;
    bool ok = true;
    for (uint32_t i = 1; ok && i <= vy_program_buffer_count(p); i++)
        if (vy_grad_default_of(p, (vy_buffer){i}))
            ok = names_add(&k->of, vy_program_buffer(p, (vy_buffer){i}).name);
    return ok || fail_memory(d);
}

// The options for data, copied, because each round changes them.
static bool parse_data(checking *k, const command *c, vy_diag *d)
{
    return specs_read(&k->in, &c->o.in, k->source, d) && specs_parse(&k->ct, "--ct", &c->o.ct, d) &&
           specs_parse(&k->device_ct, "--ct", &c->o.ct, d) && default_outputs(k, d);
}

static bool run_round(checking *k, command *c, vy_diag *d)
{
    return run_check(k, c, d) &&
           (k->result->program.code || (check_named(k, c, d) && check_device(k, c, d)));
}

static void free_round(checking *k)
{
    vy_check_free(k->result);
    vys_binding_free(&k->start);
    vys_binding_free(&k->primal);
    vys_binding_free(&k->cotangents);
    specs_free(&k->in);
    names_free(&k->of);
    specs_free(&k->ct);
    specs_free(&k->device_ct);
}

// The same derivatives in several workgroups, where `check` chose the sizes.
static bool second_round(checking *k, command *c, vy_diag *d)
{
    bool found = false;
    if (!check_passed(k)) return true;
    checking *more = calloc(1, sizeof *more);
    if (!more) return fail_memory(d);
    *more = (checking){.named = k->named,
                       .source = k->source,
                       .first = k->first,
                       .gradient = k->gradient,
                       .valued = k->valued,
                       .seeded = k->seeded,
                       .forward = k->forward,
                       .second = true};
    memcpy(more->no_forward, k->no_forward, sizeof more->no_forward);
    const bool ok = parse_data(more, c, d) && check_grow(k, more, c, &found, d) &&
                    (!found || (bind_derived(more, c, d) && run_round(more, c, d)));
    if (ok && found) return k->more = more, true;
    free_round(more);
    free(more);
    return ok;
}

static bool select_source(checking *k, command *c, vy_diag *d)
{
    if (!select_entry(c, c->module, &k->named, d)) return false;
    k->source = k->named;
    if (k->named.pipeline) k->source = vys_entry_pipeline(vy_check_stand_in(k->named.pipeline));
    return true;
}

static bool check_file(checking *k, command *c, vy_diag *d)
{
    const double start = now_ms();
    if (!load_module(c, d)) return false;
    check_lanes(c);
    if (!select_source(k, c, d) || !parse_data(k, c, d) || !derive_all(k, c, d) ||
        !check_choose(k, c, d) || !bind_within(k, c, d) ||
        !specs_all_used(&k->ct, false, &k->cotangents, &k->start, d) || !optimize_all(k, c, d) ||
        !run_round(k, c, d) || !second_round(k, c, d))
        return false;
    k->ms = now_ms() - start;
    return true;
}

static void report_wrong(const checking *k, const command *c, vy_diag wrong)
{
    const size_t n = strlen(wrong.fix);
    if (k->elsewhere[0])
        snprintf(wrong.fix + n, sizeof wrong.fix - n,
                 "%snothing is wrong at some sizes: if the program is for such alone, check it "
                 "with%s",
                 n ? "; " : "", k->elsewhere);
    report(c, &wrong, false);
}

// A fault of the program itself, as a diagnostic with a place in its text.
static void report_program(const checking *k, const command *c)
{
    const vy_check_result *r = k->result;
    if (r->program.code) report_wrong(k, c, r->program);
    if (r->program.code || !r->out_of_range_count || c->o.allow == ALLOW_OUT_OF_RANGE) return;
    vy_diag range = r->out_of_range;
    text fix = {0};
    text_puts(&fix, "guard the access, or say that it is meant: --allow out-of-range");
    check_advice(k, &fix);
    if (!fix.failed) snprintf(range.fix, sizeof range.fix, "%s", fix.data);
    text_free(&fix);
    report(c, &range, false);
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
    if (ok) report_program(&k, c);
    if (ok && k.more) report_program(k.more, c);
    if (k.more) free_round(k.more);
    free(k.more);
    free_round(&k);
    drop_derived(&k);
    return ok;
}
