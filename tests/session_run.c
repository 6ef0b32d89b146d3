// SPDX-License-Identifier: MIT
// session_run.c: programs with data through the default path of the C API (session/session.h), one
// request after another in one process: an engine for the oracles of tests/fuzz beside the command.
//
//   session_run < requests
//
// A request is a line `NAME BYTES` and that many bytes: options of `vyre-grad run`, one a line, an
// empty line, and the text of the program.
//
//   p1 98
//   --grad
//   --in
//   x=uniform:0.3:1.6:1
//
//   program f(x: in f32[4], y: out f32[4]) over(i: 4) { y[i] = x[i] * x[i]; }
//
// It takes --in --set --groups --of --wrt --ct --grad --jvp --order --seed --deterministic
// --accumulate --checkpoint --tape-limit --precise --fast-math -O --coarsen --engine eval|vulkan
// --eval-type --subgroup-size --shuffle; the engine is vulkan, as in the command.  The program
// runs, with --grad its gradient too, with --jvp its tangents along ones, and all twice: results
// that differ between two runs are reported as an error, unless `--runs 1` says to run once (sums
// by atomics of floats depend on the order of invocations).
//
// An answer is one line: {"outputs": {"y": {"type": "f32", "shape": [4], "data": [1, 4, 9, 16]},
// …}} with the float outputs (all outputs if none is of float) and the gradients, or
// {"error": {"code": "E0806", "text": "…", "fix": "…"}}.
#include "tools/command/bind.h"

#include "session/session.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

typedef struct request {
    char *bytes, *text; // options, program
    size_t text_size;
    names words; // argv, in `bytes`
    options o;
    bool once; // --runs 1, which is not an option of `run`
} request;

static vys_session *engines[2]; // device, interpreter

static vys_session *opened(bool interpreter, vy_diag *d)
{
    const vys_session_desc desc = {.interpreter = interpreter};
    if (!engines[interpreter]) vys_open(&desc, &engines[interpreter], d);
    return engines[interpreter];
}

static vys_settings settings_of(const options *o, bool grad)
{
    static const vys_keep keeps[] = {VYS_KEEP_AUTO, VYS_KEEP_ALL, VYS_KEEP_SQRT};
    return (vys_settings){.program = o->program,
                          .of = o->of.data,
                          .of_count = grad ? o->of.count : 0,
                          .wrt = o->wrt.data,
                          .wrt_count = grad ? o->wrt.count : 0,
                          .order = grad ? (uint32_t)o->order : 0,
                          .forward = grad && o->jvp,
                          .seed_buffer = o->seed == SEED_BUFFER || o->ct.count,
                          .with_value = o->with_value,
                          .deterministic = o->deterministic,
                          .accumulate = (vy_accumulate)o->accumulate,
                          .keep = keeps[o->checkpoint],
                          .tape_limit = o->tape_limit,
                          .level = (vys_level)(VYS_O0 + o->level),
                          .precise = o->precise,
                          .fast_math = o->fast_math,
                          .coarsen = (uint32_t)o->coarsen,
                          .f64 = o->eval_type == EVAL_F64,
                          .subgroup_size = (uint32_t)o->subgroup_size,
                          .shuffle_seed = o->shuffle};
}

// ------------------------------------------------------------------------------------------- data
// The values that --in and --set specify, with their shapes.
static bool make_data(const request *r, specs *in, binding *b, vy_module **m, vy_diag *d)
{
    const options *o = &r->o;
    vys_entry entry;
    *m = vy_parse(r->text, r->text_size, "request");
    if (!*m) return fail_memory(d);
    if (!vy_module_ok(*m)) return *d = *vy_module_diag(*m), false;
    return vys_entry_find(*m, o->program, &option_words, &entry, d) &&
           specs_parse(in, "--in", &o->in, d) &&
           binding_create(b, entry, o->eval_type == EVAL_F64, d) && binding_set(b, &o->set, d) &&
           binding_groups(b, o->groups, d) && binding_specs(b, in, NULL, d) &&
           vys_binding_fill(b, d);
}

static bool give(vys_task *t, const request *r, const binding *b, vy_diag *d)
{
    uint32_t groups[3];
    for (uint32_t i = 0; i < b->buffer_count; i++) {
        const bound_buffer *buf = &b->buffers[i];
        const array *a = &buf->value;
        const bool out = buf->info.cls == VY_OUT;
        if (out && !buf->given) continue;
        if (!vys_set(t, buf->info.name, a->type, a->rank, a->shape, out ? NULL : a->data, d))
            return false;
    }
    for (uint32_t i = 0; i < b->scalar_count; i++) {
        const bound_scalar *s = &b->scalars[i];
        if (s->from) continue; // the session infers it as well
        if (vy_type_is_float(s->info.type) ? !vys_set_float(t, s->info.name, s->value.f, d)
                                           : !vys_set_int(t, s->info.name, s->value.i, d))
            return false;
    }
    (void)r;
    return !vys_binding_has_groups(b, groups) || vys_set_groups(t, groups, d);
}

// --ct: the shape of a cotangent is that of its buffer.
static bool give_cotangents(vys_task *t, const request *r, const binding *b, vy_diag *d)
{
    specs ct = {0};
    vys_parameter p;
    bool ok = specs_parse(&ct, "--ct", &r->o.ct, d);
    for (uint32_t i = 0; ok && vys_task_parameter(t, i, &p); i++) {
        spec *s = p.role == VYS_ROLE_COTANGENT ? specs_find(&ct, p.of) : NULL;
        const bound_buffer *base = s ? vys_binding_find(b, p.root) : NULL;
        if (!base) continue;
        array a = base->value;
        a.data = NULL;
        ok = vys_array_alloc(&a, p.name, base->value.type, d) && spec_fill(s, p.type, &a, d) &&
             vys_set(t, p.name, a.type, a.rank, a.shape, a.data, d);
        free(a.data);
    }
    specs_free(&ct);
    return ok;
}

// ----------------------------------------------------------------------------------------- results
static void put_string(text *out, const char *s)
{
    text_puts(out, "\"");
    for (; *s; s++) {
        if (*s == '"' || *s == '\\') text_puts(out, "\\");
        if ((unsigned char)*s >= ' ') text_add(out, s, 1);
    }
    text_puts(out, "\"");
}

static bool wanted(const vys_parameter *p, bool grad, bool floats)
{
    if (grad)
        return p->role == VYS_ROLE_GRADIENT || (p->role == VYS_ROLE_TANGENT && p->cls != VY_IN);
    return p->role == VYS_ROLE_BUFFER && p->cls != VY_IN && vy_type_is_float(p->type) == floats;
}

// Reads one result; on the second run it must equal that of the first.
static bool result(vys_task *t, const vys_parameter *p, bool f64, array *a, vy_diag *d)
{
    a->rank = p->rank;
    memcpy(a->shape, p->shape, p->rank * sizeof *a->shape);
    return vys_array_alloc(a, p->name, f64 && vy_type_is_float(p->type) ? VY_F64 : p->type, d) &&
           vys_read(t, p->name, a->type, a->data, a->count * vy_type_size(a->type), d);
}

static bool results(vys_task *t, const request *r, bool grad, bool again, uint32_t *shown,
                    text *out, vy_diag *d)
{
    const bool f64 = r->o.eval_type == EVAL_F64 && r->o.engine == ENGINE_EVAL;
    bool ok = true, some = false;
    vys_parameter p;
    for (int round = 0; ok && round < (grad ? 1 : 2) && !some; round++)
        for (uint32_t i = 0; ok && vys_task_parameter(t, i, &p); i++) {
            array a = {0}, b = {0};
            if (!wanted(&p, grad, !round)) continue;
            some = true;
            ok = result(t, &p, f64, &a, d);
            if (ok && again) {
                ok = vys_run(t, d) && result(t, &p, f64, &b, d);
                if (ok && memcmp(a.data, b.data, a.count * vy_type_size(a.type)))
                    ok = fail(d, TOOL_DISAGREE, "", "%s differs between two runs", p.name);
            }
            text_puts(out, (*shown)++ ? ", " : "");
            put_string(out, p.name);
            text_printf(out, ": {\"type\": \"%s\", \"shape\": [", vy_type_name(a.type));
            for (uint32_t k = 0; k < a.rank; k++)
                text_printf(out, "%s%llu", k ? ", " : "", (unsigned long long)a.shape[k]);
            text_puts(out, "], \"data\": ");
            if (ok) array_json(&a, out);
            text_puts(out, "}");
            vys_array_free(&a);
            vys_array_free(&b);
        }
    return ok;
}

// ---------------------------------------------------------------------------------------- requests
static bool run_task(const request *r, const binding *b, bool grad, uint32_t *shown, text *out,
                     vy_diag *d)
{
    const vys_settings settings = settings_of(&r->o, grad);
    vys_session *s = opened(r->o.engine == ENGINE_EVAL, d);
    vys_task *t = NULL;
    const bool ok = s && vys_task_parse(s, r->text, r->text_size, "request", &settings, &t, d) &&
                    give(t, r, b, d) && (!grad || give_cotangents(t, r, b, d)) && vys_run(t, d) &&
                    results(t, r, grad, !r->once, shown, out, d);
    vys_task_free(t);
    return ok;
}

static bool read_request(request *r, char *bytes, size_t size, vy_diag *d)
{
    r->bytes = bytes;
    bool ok = names_add(&r->words, "vyre-grad") && names_add(&r->words, "run") &&
              names_add(&r->words, "request");
    char *at = bytes, *end;
    while (ok && *at && *at != '\n') {
        end = strchr(at, '\n');
        if (!end) return fail(d, TOOL_USAGE, "", "options end with an empty line");
        *end = 0;
        const bool runs = strcmp(at, "--runs") == 0 && strncmp(end + 1, "1\n", 2) == 0;
        r->once |= runs;
        ok = runs || names_add(&r->words, at);
        at = end + (runs ? 3 : 1);
    }
    r->text = *at ? at + 1 : at;
    r->text_size = size - (size_t)(r->text - bytes);
    if (!ok) return fail_memory(d);
    return options_read(&r->o, (int)r->words.count, (char **)r->words.data, d);
}

static void answer(char *bytes, size_t size)
{
    request r = {0};
    specs in = {0};
    binding b = {0};
    vy_module *m = NULL;
    vy_diag d = {0};
    text out = {0};
    uint32_t shown = 0;
    text_puts(&out, "{\"outputs\": {");
    bool ok = read_request(&r, bytes, size, &d) && make_data(&r, &in, &b, &m, &d) &&
              run_task(&r, &b, false, &shown, &out, &d) &&
              (!(r.o.grad || r.o.jvp) || run_task(&r, &b, true, &shown, &out, &d));
    text_puts(&out, "}}");
    if (out.failed) ok = fail_memory(&d);
    if (!ok) {
        text_free(&out);
        text_puts(&out, "{\"error\": {\"code\": ");
        put_string(&out, d.code ? d.code : "");
        text_puts(&out, ", \"text\": ");
        put_string(&out, d.text);
        text_puts(&out, ", \"fix\": ");
        put_string(&out, d.fix);
        text_puts(&out, "}}");
    }
    puts(out.data ? out.data : "{\"error\": {\"code\": \"E0001\", \"text\": \"out of memory\"}}");
    fflush(stdout);
    text_free(&out);
    vys_binding_free(&b);
    specs_free(&in);
    vy_module_free(m);
    options_free(&r.o);
    names_free(&r.words);
}

int main(void)
{
    char name[200];
    size_t size;
    while (scanf("%199s %zu", name, &size) == 2 && getchar() == '\n') {
        char *bytes = malloc(size + 1);
        if (!bytes || fread(bytes, 1, size, stdin) != size) return 1;
        bytes[size] = 0;
        answer(bytes, size);
        free(bytes);
    }
    vys_close(engines[0]);
    vys_close(engines[1]);
    return 0;
}
