// SPDX-License-Identifier: MIT
// entry.c: see entry.h.
#include "session/entry.h"

#include "session/internal.h"

#include "autodiff/grad.h"

#include <stdlib.h>
#include <string.h>

vys_entry vys_entry_program(const vy_program *p) { return (vys_entry){p, NULL}; }

vys_entry vys_entry_pipeline(const vy_pipeline *p)
{
    return (vys_entry){vy_pipeline_signature(p), p};
}

vys_entry vys_entry_result(const vy_module *m)
{
    const uint32_t n = vy_module_pipeline_count(m);
    return n ? vys_entry_pipeline(vy_module_pipeline(m, n - 1))
             : vys_entry_program(vy_module_program(m, 0));
}

// The last pipeline, else the only program; of those that are not imported (`own`), or of all.
static void choose_default(const vy_module *m, bool own, const vy_program **p,
                           const vy_pipeline **q)
{
    uint32_t programs = 0;
    for (uint32_t i = 0; i < vy_module_program_count(m); i++) {
        const vy_program *k = vy_module_program(m, i);
        if (!own || !vy_program_imported(k)) *p = programs++ ? NULL : k;
    }
    for (uint32_t i = 0; i < vy_module_pipeline_count(m); i++) {
        const vy_pipeline *k = vy_module_pipeline(m, i);
        if (!own || !vy_program_imported(vy_pipeline_signature(k))) *q = k;
    }
    if (*q) *p = NULL;
}

// Whether the text itself declares a program or pipeline, or everything is imported.
static bool declares(const vy_module *m)
{
    bool own = false;
    for (uint32_t i = 0; i < vy_module_program_count(m); i++)
        own |= !vy_program_imported(vy_module_program(m, i));
    for (uint32_t i = 0; i < vy_module_pipeline_count(m); i++)
        own |= !vy_program_imported(vy_pipeline_signature(vy_module_pipeline(m, i)));
    return own;
}

static bool entry_called(const vy_module *m, const char *wanted, vys_entry *out)
{
    const vy_program *p = wanted ? vy_module_find(m, wanted) : NULL;
    const vy_pipeline *q = wanted ? vy_module_find_pipeline(m, wanted) : NULL;
    if (!wanted) choose_default(m, declares(m), &p, &q);
    if (q) *out = vys_entry_pipeline(q);
    if (p) *out = vys_entry_program(p);
    return p || q;
}

// Reports E0803 with the entries that exist.
static void not_found(const vy_module *m, const char *wanted, const vys_words *words, vy_diag *d)
{
    const uint32_t programs = vy_module_program_count(m), pipelines = vy_module_pipeline_count(m);
    const uint32_t count = programs + pipelines;
    const char **have = calloc(count + 1, sizeof *have), *file = vy_module_file(m);
    char fix[sizeof d->fix] = "";
    if (!have) {
        vys_fail_memory(d);
        return;
    }
    for (uint32_t i = 0; i < count; i++)
        have[i] = i < programs ? vy_program_name(vy_module_program(m, i))
                               : vy_pipeline_name(vy_module_pipeline(m, i - programs));
    const char *near = wanted ? vy_nearest_name(wanted, count, have) : NULL;
    if (near) vys_append(fix, sizeof fix, "%s%s? ", words->select[1], near);
    vys_append(fix, sizeof fix, "%s", words->select[0]);
    for (uint32_t i = 0; i < count; i++)
        vys_append(fix, sizeof fix, "%s%s", i ? ", " : "", have[i]);
    if (!*file) file = "the module";
    if (!count)
        vys_fail(d, VYS_SELECT, "write one", "%s holds no program", file);
    else if (wanted)
        vys_fail(d, VYS_SELECT, fix, "there is no program %s%s", wanted,
                 pipelines ? " and no such pipeline" : "");
    else
        vys_fail(d, VYS_SELECT, fix, "%s holds %u programs", file, programs);
    free(have);
}

bool vys_entry_find(const vy_module *m, const char *name, const vys_words *words, vys_entry *out,
                    vy_diag *d)
{
    if (entry_called(m, name, out)) return true;
    not_found(m, name, words ? words : &vys_plain_words, d);
    return false;
}

const char *vys_entry_name(vys_entry r)
{
    return r.pipeline ? vy_pipeline_name(r.pipeline) : vy_program_name(r.program);
}

vy_compiled *vys_entry_compile(vys_entry r, const vy_spirv_options *o, vy_diag *d)
{
    return r.pipeline ? vy_compile_pipeline(r.pipeline, o, d) : vy_compile(r.program, o, d);
}

// The program that step `i` dispatches; NULL: it is another step.
static const vy_program *dispatched(vys_entry r, uint32_t i)
{
    const vy_pipe_step *s = vy_pipeline_step(r.pipeline, i);
    if (s->kind != VY_PIPE_DISPATCH) return NULL;
    return vy_module_program(vy_pipeline_module(r.pipeline), s->program);
}

uint32_t vys_entry_instructions(vys_entry r)
{
    uint32_t total = 0;
    if (!r.pipeline) return vy_program_instruction_count(r.program);
    const vy_module *m = vy_pipeline_module(r.pipeline);
    const uint32_t steps = vy_pipeline_step_count(r.pipeline);
    bool *counted = calloc(vy_module_program_count(m) + 1, sizeof *counted);
    for (uint32_t i = 0; counted && i < steps; i++) {
        const vy_pipe_step *s = vy_pipeline_step(r.pipeline, i);
        if (s->kind != VY_PIPE_DISPATCH || counted[s->program]) continue;
        counted[s->program] = true;
        total += vy_program_instruction_count(vy_module_program(m, s->program));
    }
    free(counted);
    return total;
}

// Whether some dispatch takes the buffer, or a part, as `out` or `inout`.
static bool written(vys_entry r, vy_buffer b)
{
    for (uint32_t i = 0; i < vy_pipeline_step_count(r.pipeline); i++) {
        const vy_pipe_step *s = vy_pipeline_step(r.pipeline, i);
        const vy_program *p = dispatched(r, i);
        for (uint32_t id = 1, n = 0; p && id <= vy_program_buffer_count(p); id++) {
            const vy_buffer_info info = vy_program_buffer(p, (vy_buffer){id});
            if (info.cls > VY_INOUT || info.workspace) continue;
            if (s->args[n++].buffer.id == b.id && info.cls != VY_IN) return true;
        }
    }
    return false;
}

bool vys_entry_default_of(vys_entry r, vy_buffer b)
{
    if (!r.pipeline) return vy_grad_default_of(r.program, b);
    const vy_buffer_info info = vy_program_buffer(r.program, b);
    if (!vy_type_is_float(info.type) || info.workspace) return false;
    return info.cls == VY_OUT || (info.cls == VY_INOUT && written(r, b));
}

bool vys_entry_is_output(vys_entry r, vy_buffer b)
{
    const vy_buffer_info info = vy_program_buffer(r.program, b);
    if (vy_type_is_float(info.type) || info.workspace) return vys_entry_default_of(r, b);
    return info.cls == VY_OUT || (info.cls == VY_INOUT && (!r.pipeline || written(r, b)));
}

// The sizes of one dispatch that are known before the run.
typedef struct launch {
    int64_t *scalars, *dims;
    vy_dim_state *states;
    bool *known;
} launch;

static void launch_free(launch *l)
{
    free(l->scalars);
    free(l->dims);
    free(l->states);
    free(l->known);
}

// False: memory.
static bool launch_of(launch *l, const vy_pipe_step *s, const vy_program *p, const int64_t *dims,
                      const vy_dim_state *states)
{
    const uint32_t n = vy_program_scalar_count(p), m = vy_program_dim_count(p);
    *l = (launch){calloc(n + 1, sizeof *l->scalars), calloc(m + 1, sizeof *l->dims),
                  calloc(m + 1, sizeof *l->states), calloc(n + 1, sizeof *l->known)};
    if (!l->scalars || !l->dims || !l->states || !l->known) return false;
    for (uint32_t i = 0; i < n; i++) {
        const vy_pipe_scalar *from = &s->scalars[i];
        l->known[i] = from->kind == VY_PIPE_DIM && states[from->dim.id] == VY_DIM_IS_KNOWN;
        if (l->known[i]) l->scalars[i] = dims[from->dim.id];
    }
    vy_program_dim_values(p, l->scalars, l->known, NULL, NULL, l->dims, l->states);
    return true;
}

// Iterations of one dispatch, as far as its scalars are known before the run.
static uint64_t dispatch_iterations(const vy_pipe_step *s, const vy_program *p, const int64_t *dims,
                                    const vy_dim_state *states, bool *complete)
{
    launch l;
    *complete = false;
    const uint64_t iterations = launch_of(&l, s, p, dims, states)
                                    ? vy_program_loop_iterations(p, l.scalars, l.dims, complete)
                                    : 0;
    for (uint32_t i = 0; *complete && i < vy_program_scalar_count(p); i++)
        *complete = l.known[i] || !vy_type_is_integer(vy_program_scalar(p, i).type);
    launch_free(&l);
    return iterations;
}

// Its dimensions are computed again: the optimiser may have added some.
static bool launch_again(launch *l, const vy_program *p, const vys_launch *v)
{
    const uint32_t m = vy_program_dim_count(p);
    *l = (launch){.dims = calloc(m + 1, sizeof *l->dims),
                  .states = calloc(m + 1, sizeof *l->states)};
    if (!l->dims || !l->states) return false;
    vy_program_dim_values(p, v->scalars, v->known, v->lengths, v->groups, l->dims, l->states);
    return true;
}

// The least and the greatest value over all launches, -1: one is not known.
typedef struct span {
    int64_t least, most;
} span;

static void widen(span *s, bool ok, const launch *l, vy_dim d)
{
    const int64_t n = ok && l->states[d.id] == VY_DIM_IS_KNOWN ? l->dims[d.id] : -1;
    if (n < s->least) s->least = n;
    if (n > s->most) s->most = n;
}

static span span_of(vys_entry r, const vy_program *p, vy_dim d, const vys_launch *v)
{
    span s = {INT64_MAX, -1};
    launch l;
    if (!r.pipeline && p == r.program) {
        widen(&s, launch_again(&l, p, v), &l, d);
        launch_free(&l);
    }
    for (uint32_t i = 0; r.pipeline && i < vy_pipeline_step_count(r.pipeline); i++) {
        if (dispatched(r, i) != p) continue;
        widen(&s, launch_of(&l, vy_pipeline_step(r.pipeline, i), p, v->dims, v->states), &l, d);
        launch_free(&l);
    }
    return s.least < 0 || s.least == INT64_MAX ? (span){-1, -1} : s;
}

int64_t vys_entry_extent(vys_entry r, const vy_program *p, uint32_t axis, const vys_launch *v)
{
    return span_of(r, p, vy_program_over(p, axis).extent, v).least;
}

int64_t vys_entry_number(vys_entry r, const vy_program *p, vy_dim d, const vys_launch *v)
{
    return span_of(r, p, d, v).most;
}

static uint64_t program_iterations(const vy_program *p, const vys_launch *v, bool *complete)
{
    launch l;
    uint64_t iterations = 0;
    *complete = launch_again(&l, p, v);
    if (*complete) iterations = vy_program_loop_iterations(p, v->scalars, l.dims, complete);
    for (uint32_t i = 1; *complete && i < vy_program_dim_count(p); i++)
        *complete = l.states[i] == VY_DIM_IS_KNOWN;
    launch_free(&l);
    return iterations;
}

uint64_t vys_entry_program_iterations(vys_entry r, const vy_program *p, const vys_launch *v,
                                      bool *complete)
{
    uint64_t most = 0;
    *complete = r.pipeline || p == r.program; // else it is not launched at all
    if (!r.pipeline) return *complete ? program_iterations(p, v, complete) : 0;
    for (uint32_t i = 0; i < vy_pipeline_step_count(r.pipeline); i++) {
        bool known;
        if (dispatched(r, i) != p) continue;
        const uint64_t iterations =
            dispatch_iterations(vy_pipeline_step(r.pipeline, i), p, v->dims, v->states, &known);
        *complete &= known; // unless what decides a later dispatch comes from an earlier one
        if (iterations > most) most = iterations;
    }
    return most;
}

uint64_t vys_entry_iterations(vys_entry r, const vys_launch *v, const vy_program **worst,
                              bool *complete)
{
    uint64_t most = 0;
    *worst = r.program;
    if (!r.pipeline) return vys_entry_program_iterations(r, r.program, v, complete);
    *complete = true;
    for (uint32_t i = 0; i < vy_pipeline_step_count(r.pipeline); i++) {
        const vy_program *p = dispatched(r, i);
        bool known;
        if (!p) continue;
        const uint64_t iterations =
            dispatch_iterations(vy_pipeline_step(r.pipeline, i), p, v->dims, v->states, &known);
        *complete &= known;
        if (iterations > most) most = iterations, *worst = p;
    }
    return most;
}
