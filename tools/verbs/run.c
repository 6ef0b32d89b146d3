// SPDX-License-Identifier: MIT
// run.c: `vyre-grad run`.
//
// The forward program and its derivative are two runs on copies of the same data: a derivative, in
// reverse or forwards, is self-contained and leaves the primal as it is.
#include "tools/data/json_out.h"
#include "tools/command/runner.h"

#include <stdio.h>
#include <string.h>

typedef struct result {
    const char *name;
    const array *value;
} result;

typedef struct session {
    specs in, out;
    specs given; // of the derivative: cotangents; forwards: tangents
    binding forward, backward;
    binding initial; // what the forward run began with, where that is needed after it
    runner run_forward, run_backward;
    names shown; // forward buffers
    double compile_ms, device_ms;
} session;

// ---------------------------------------------------------------------------------------- requests
static bool bad_output(vys_entry what, const char *name, vy_diag *d)
{
    const vy_program *p = what.program;
    names have = {0};
    text fix = {0};
    for (uint32_t i = 1; i <= vy_program_buffer_count(p); i++) {
        vy_buffer_info b = vy_program_buffer(p, (vy_buffer){i});
        if ((b.cls == VY_OUT || b.cls == VY_INOUT) && !b.workspace && !names_add(&have, b.name))
            fix.failed = true;
    }
    text_puts(&fix, have.count ? "its outputs are: " : "it has no outputs");
    text_join(&fix, have.data, have.count);
    if (fix.failed)
        fail_memory(d);
    else
        fail(d, TOOL_USAGE, fix.data, "--of %s: %s has no output of that name", name,
             vys_entry_name(what));
    names_free(&have);
    text_free(&fix);
    return false;
}

// Forward outputs to print: --of, else what the forward program results in (beside a gradient:
// float outputs), else whatever it may write.
static bool choose_outputs(session *s, const command *c, vys_entry what, vy_diag *d)
{
    const vy_program *p = what.program;
    const names *of = &c->o.of;
    for (uint32_t i = 0; i < of->count; i++) {
        const vy_buffer b = vy_program_find_buffer(p, of->data[i]);
        const vy_buffer_info info = b.id ? vy_program_buffer(p, b) : (vy_buffer_info){.cls = VY_IN};
        const vy_buffer_class cls = info.workspace ? VY_IN : info.cls;
        if (cls != VY_OUT && cls != VY_INOUT) return bad_output(what, of->data[i], d);
        if (!names_have(&s->shown, of->data[i]) && !names_add(&s->shown, of->data[i]))
            return fail_memory(d);
    }
    for (int round = 0; round < 2 && !s->shown.count; round++)
        for (uint32_t i = 1; i <= vy_program_buffer_count(p); i++) {
            const vy_buffer_info b = vy_program_buffer(p, (vy_buffer){i});
            const bool any = (b.cls == VY_OUT || b.cls == VY_INOUT) && !b.workspace;
            const bool first = c->o.grad || c->o.jvp ? vys_entry_default_of(what, (vy_buffer){i})
                                                     : vys_entry_is_output(what, (vy_buffer){i});
            if ((round ? any : first) && !names_add(&s->shown, b.name)) return fail_memory(d);
        }
    return true;
}

static bool is_result(const session *s, const vy_buffer_info *info)
{
    const bool written = info->cls == VY_INOUT && vy_is_tangent(info->role.kind);
    return (info->cls == VY_OUT || written) && !vys_binding_source(&s->forward, info);
}

// Result `index`, or false after the last: the forward outputs, then gradients or tangents.
static bool result_at(const session *s, uint32_t index, result *out)
{
    if (index < s->shown.count) {
        *out = (result){s->shown.data[index],
                        &vys_binding_find(&s->forward, s->shown.data[index])->value};
        return true;
    }
    index -= s->shown.count;
    for (uint32_t i = 0; i < s->backward.buffer_count; i++) {
        const bound_buffer *b = &s->backward.buffers[i];
        if (!is_result(s, &b->info)) continue;
        if (index-- == 0) return *out = (result){b->info.name, &b->value}, true;
    }
    return false;
}

static const bound_buffer *find_out(const session *s, const char *name)
{
    const bound_buffer *b = vys_binding_find(&s->forward, name);
    return b || !s->backward.buffers ? b : vys_binding_find(&s->backward, name);
}

// --out NAME=@file.npy, and @DIR/ for all that is printed
static bool check_out(session *s, vy_diag *d)
{
    result r;
    for (uint32_t i = 0; result_at(s, i, &r); i++)
        if (!folder_result(&s->out, r.name, d)) return false;
    for (uint32_t i = 0; i < s->out.count; i++) {
        const spec *o = &s->out.data[i];
        const bound_buffer *b = find_out(s, o->name);
        if (!b)
            return fail(d, TOOL_USAGE,
                        "name a buffer of the program, with --grad grad_X, with --jvp dot_Y",
                        "--out %s: there is no buffer of that name", o->name);
        if (!check_output(o, &b->value, d)) return false;
    }
    return folder_make(&s->out, d);
}

static bool check_options(const command *c, vy_diag *d)
{
    const options *o = &c->o;
    if (o->dot.count && !o->jvp)
        return fail(d, TOOL_USAGE, "add --jvp", "--dot needs a derivative in forward mode");
    if (o->ct.count && !o->grad)
        return fail(d, TOOL_USAGE, "add --grad", "--ct needs a derivative");
    if (o->wrt.count && !o->grad && !o->jvp)
        return fail(d, TOOL_USAGE, "add --grad", "--wrt needs a derivative");
    return true;
}

// --------------------------------------------------------------------------------------- execution
static bool derive_for(session *s, command *c, vys_entry what, vy_diag *d)
{
    names seeds = {0};
    bool ok = true;
    for (uint32_t i = 0; ok && i < s->given.count; i++)
        ok = names_add(&seeds, s->given.data[i].name) || fail_memory(d);
    ok = ok && derive(c, what, &seeds, d);
    names_free(&seeds);
    return ok;
}

static bool bind_forward(session *s, command *c, vys_entry what, binding *to, vy_diag *d)
{
    const bool f64 = c->o.eval_type == EVAL_F64;
    return binding_create(to, what, f64, d) && binding_set(to, &c->o.set, d) &&
           binding_groups(to, c->o.groups, d) && binding_specs(to, &s->in, NULL, d) &&
           vys_binding_fill(to, d);
}

static bool bind_backward(session *s, command *c, const binding *from, vy_diag *d)
{
    const bool f64 = c->o.eval_type == EVAL_F64;
    return binding_create(&s->backward, vys_entry_result(c->work.derived), f64, d) &&
           specs_all_used(&s->given, c->o.jvp, &s->backward, &s->forward, d) &&
           binding_derive(&s->backward, from, &s->given, d) &&
           vys_binding_tape(&s->backward, c->o.tape_limit, d);
}

static bool execute(runner *r, session *s, command *c, binding *b, vy_diag *d)
{
    double ms = 0, start = now_ms();
    if (!runner_prepare(r, c, b, d)) return false;
    s->compile_ms += now_ms() - start;
    if (!vys_runner_upload(r, d) || !runner_run(r, c, &ms, d) || !vys_runner_read(r, d))
        return false;
    verbose(c, "%s: ran for %.3f ms", vys_entry_name(b->what), ms);
    s->device_ms += ms;
    return true;
}

static void drop_backward(session *s)
{
    vys_runner_free(&s->run_backward);
    vys_binding_free(&s->backward);
    s->run_backward = (runner){0};
    s->backward = (binding){0};
}

// Derives and binds again, keeping less, until the tapes are within the limit.  from: the inputs of
// the forward run, as they were before it.
static bool prepare_backward(session *s, command *c, vys_entry what, const binding *from,
                             vy_diag *d)
{
    while (!derive_for(s, c, what, d) || !bind_backward(s, c, from, d)) {
        if (!derive_with_less(c, d)) return false;
        drop_backward(s);
    }
    return true;
}

// Some tapes have a length only when the program before has run.
static bool run_backward(session *s, command *c, vys_entry what, vy_diag *d)
{
    while (!optimize_final(c, c->work.derived, c->o.engine == ENGINE_EVAL, &s->backward, d) ||
           !execute(&s->run_backward, s, c, &s->backward, d)) {
        if (!derive_with_less(c, d)) return false;
        drop_backward(s);
        // The forward run has changed its `inout` buffers.
        const bool bound = s->initial.buffers != NULL;
        if (!bound && !bind_forward(s, c, s->forward.what, &s->initial, d)) return false;
        if (!prepare_backward(s, c, what, &s->initial, d)) return false;
    }
    return true;
}

static bool parse_given(session *s, const options *o, vy_diag *d)
{
    return o->jvp ? specs_parse(&s->given, "--dot", &o->dot, d)
                  : specs_parse(&s->given, "--ct", &o->ct, d);
}

static bool session_run(session *s, command *c, vy_diag *d)
{
    const bool eval = c->o.engine == ENGINE_EVAL;
    double start = now_ms();
    if (!check_options(c, d) || !load_module(c, d)) return false;
    vys_entry what;
    if (!select_entry(c, c->module, &what, d) || !choose_outputs(s, c, what, d) ||
        !specs_read(&s->in, &c->o.in, what, d) || !parse_given(s, &c->o, d) ||
        !outputs_parse(&s->out, &c->o, d))
        return false;
    vys_entry forward = what;
    if (!order_sums(c, &forward, d) || !bind_forward(s, c, forward, &s->forward, d)) return false;
    s->compile_ms = now_ms() - start;
    if (!eval && !gpu_open_device(c, d)) return false;
    start = now_ms(); // for this device
    if (((c->o.grad || c->o.jvp) && !prepare_backward(s, c, what, &s->forward, d)) ||
        !check_out(s, d) || !optimize(c, forward_module(c), eval, &s->forward, d))
        return false;
    s->compile_ms += now_ms() - start;
    return execute(&s->run_forward, s, c, &s->forward, d) &&
           (!c->work.derived || run_backward(s, c, what, d));
}

// ----------------------------------------------------------------------------------------- results
static bool print_json(const session *s, command *c, vy_diag *d)
{
    const bool eval = c->o.engine == ENGINE_EVAL;
    cJSON *top = cJSON_CreateObject();
    bool ok =
        top && json_string(top, "program", vys_entry_name(s->forward.what)) &&
        json_string(top, "engine", eval ? "eval" : "vulkan") &&
        json_string(top, "device",
                    eval ? "reference interpreter" : vkrt_device_get_info(c->gpu->device)->name);
    cJSON *results = ok ? cJSON_AddObjectToObject(top, "outputs") : NULL;
    ok = results != NULL;
    result r;
    for (uint32_t i = 0; ok && result_at(s, i, &r); i++) {
        cJSON *item = json_array(r.value);
        ok = item && cJSON_AddItemToObject(results, r.name, item);
        if (!ok) cJSON_Delete(item);
    }
    cJSON *time = ok ? cJSON_AddObjectToObject(top, "time_ms") : NULL;
    ok = time && json_number(time, "compile", s->compile_ms, 6) &&
         json_number(time, "device", s->device_ms, 6);
    if (ok) return json_finish(top, &c->out) || fail_memory(d);
    cJSON_Delete(top);
    return fail_memory(d);
}

static bool write_out(const session *s, command *c, vy_diag *d)
{
    for (uint32_t i = 0; i < s->out.count; i++) {
        const spec *o = &s->out.data[i];
        if (!write_array(c, o, &find_out(s, o->name)->value, d)) return false;
    }
    return true;
}

bool verb_run(command *c, vy_diag *d)
{
    session s = {0};
    result r;
    bool ok = session_run(&s, c, d);
    if (c->sampler_assumed)
        note(c, "samplers that --sampler does not describe are taken as linear,clamp");
    if (ok && c->o.json)
        ok = print_json(&s, c, d);
    else
        for (uint32_t i = 0; ok && result_at(&s, i, &r); i++)
            array_print(r.name, r.value, c->o.verbose, &c->out);
    ok = ok && write_out(&s, c, d);
    vys_runner_free(&s.run_forward);
    vys_runner_free(&s.run_backward);
    vys_binding_free(&s.forward);
    vys_binding_free(&s.initial);
    vys_binding_free(&s.backward);
    specs_free(&s.in);
    specs_free(&s.given);
    specs_free(&s.out);
    names_free(&s.shown);
    return ok;
}
