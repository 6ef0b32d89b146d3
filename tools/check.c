// SPDX-License-Identifier: MIT
// check.c: `vyre-grad check`.
//
// The tests are the library's (autodiff/check.h); here are the data they run on, the derivatives they
// compare, and the device.
#include "tools/check.h"

#include "autodiff/grad.h"

#include <stdlib.h>
#include <string.h>

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
static bool bind_data(checking *k, command *c, vy_diag *d)
{
    binding *b = &k->start;
    if (!binding_create(b, k->source, false, d) || !binding_set(b, &c->o.set, d) ||
        !binding_groups(b, c->o.groups, d))
        return false;
    k->chosen_data = k->in.count;
    if (!default_data(&k->in, b, d) || !binding_specs(b, &k->in, NULL, d) ||
        !default_scalars(b, d) || !vys_binding_fill(b, d))
        return false;
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

// ---------------------------------------------------------------------------------------- execution
static vy_check_subject subject(vys_entry r) { return (vy_check_subject){r.program, r.pipeline}; }

static bool outputs_of(const checking *k, const command *c, names *of, vy_diag *d)
{
    const vy_program *p = checked_program(k).program;
    bool ok = true;
    for (uint32_t i = 0; ok && !k->first.module && i < c->o.of.count; i++)
        ok = names_add(of, c->o.of.data[i]);
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
                          .samples = c->o.samples};
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
        !specs_parse(&k->ct, "--ct", &c->o.ct, d) ||
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
    specs_free(&k.ct);
    specs_free(&k.device_ct);
    derivative *const made[] = {&k.first, &k.gradient, &k.valued, &k.seeded};
    for (size_t i = 0; i < COUNT_OF(made); i++) vy_module_free(made[i]->module);
    return ok;
}
