// SPDX-License-Identifier: MIT
// extract.c: a module of one program or pipeline, with what it dispatches.
#include "autodiff/core/conditions.h"
#include "autodiff/transform.h"
#include "ir/build/edit.h"
#include "ir/core/program_rule.h"

#include <string.h>

static bool no_memory(vy_diag *diag)
{
    vy_diag_set(diag, VY_E_MEMORY, 0, 0, NULL, "out of memory");
    return false;
}

enum { NOT_NEEDED = UINT32_MAX };

// Copies the programs that are needed, in their order; programs[k] becomes the number of the copy.
static bool take_programs(vy_module *out, const vy_module *m, uint32_t *programs)
{
    for (uint32_t i = 0; i < m->programs.count; i++) {
        if (programs[i] == NOT_NEEDED) continue;
        vy_program *p = vy_program_clone(m->programs.data[i], out);
        programs[i] = out->programs.count;
        if (p && vy_vec_push(&out->programs, p)) continue;
        vy_program_free(p);
        return false;
    }
    return true;
}

static bool take_pipeline(vy_module *out, const vy_pipeline *l, const uint32_t *programs)
{
    vy_pipeline *copy = vy_pipeline_clone(l, out, programs);
    if (copy && vy_vec_push(&out->pipelines, copy)) return true;
    vy_pipeline_free(copy);
    return false;
}

// What the pipeline dispatches is needed.
static void need_steps(const vy_pipeline *l, uint32_t *programs)
{
    for (uint32_t i = 0; l && i < l->steps.count; i++)
        if (l->steps.data[i].kind == VY_PIPE_DISPATCH) programs[l->steps.data[i].program] = 0;
}

// True: that rule is needed, and was not before.
static bool need_rule(const vy_module *m, const vy_program *p, vy_rule_of kind, uint32_t *programs,
                      uint8_t *pipelines)
{
    uint32_t at;
    bool pipeline;
    if (!vy_program_rule(m, p, kind, &at, &pipeline)) return false;
    if (pipeline ? pipelines[at] : programs[at] != NOT_NEEDED) return false;
    if (pipeline)
        pipelines[at] = 1, need_steps(m->pipelines.data[at], programs);
    else
        programs[at] = 0;
    return true;
}

// … and the rules of programs that are needed, and what pipelines that are needed are derived as.
// pipelines[k]: is pipeline k needed?
static void need_rules(const vy_module *m, uint32_t *programs, uint8_t *pipelines)
{
    for (bool more = true; more;) {
        more = false;
        for (uint32_t i = 0; i < m->programs.count; i++)
            for (uint32_t k = 0; k < VY_RULES_OF && programs[i] != NOT_NEEDED; k++)
                more |= need_rule(m, m->programs.data[i], (vy_rule_of)k, programs, pipelines);
        for (uint32_t i = 0; i < m->pipelines.count; i++)
            more |= pipelines[i] && need_rule(m, m->pipelines.data[i]->signature, VY_DERIVE_AS,
                                              programs, pipelines);
    }
}

static bool take_rules(vy_module *out, const vy_module *m, const uint8_t *pipelines,
                       const vy_pipeline *except, const uint32_t *programs)
{
    bool ok = true;
    for (uint32_t k = 0; ok && k < m->pipelines.count; k++)
        if (pipelines[k] && m->pipelines.data[k] != except)
            ok = take_pipeline(out, m->pipelines.data[k], programs);
    return ok;
}

static bool extract(const vy_module *m, vy_ref root, vy_module *out)
{
    const vy_pipeline *l = root.pipeline ? m->pipelines.data[root.index] : NULL;
    vy_arena arena = {0};
    uint32_t *programs = vy_arena_alloc(&arena, (m->programs.count + 1) * sizeof *programs);
    uint8_t *rules = vy_arena_alloc(&arena, m->pipelines.count + 1);
    if (!programs || !rules) {
        vy_arena_free(&arena);
        return false;
    }
    for (uint32_t i = 0; i < m->programs.count; i++) programs[i] = NOT_NEEDED;
    if (l)
        rules[root.index] = 1;
    else
        programs[root.index] = 0;
    need_steps(l, programs);
    need_rules(m, programs, rules);
    out->order = l ? l->signature->order : m->programs.data[root.index]->order;
    const bool ok = vy_take_files(out, m) && vy_conditions_take(out, m) &&
                    take_programs(out, m, programs) && take_rules(out, m, rules, l, programs) &&
                    (!l || take_pipeline(out, l, programs));
    vy_arena_free(&arena);
    return ok;
}

bool vy_module_extract(const vy_module *m, vy_ref root, vy_module **out, vy_diag *diag)
{
    const uint64_t before = vy_memory_failures();
    *out = NULL;
    *diag = (vy_diag){0};
    if (root.index >= (root.pipeline ? m->pipelines.count : m->programs.count)) {
        vy_diag_set(diag, VY_E_API, 0, 0, "see vy_module_extract in autodiff/transform.h",
                    "the module has no %s %u", root.pipeline ? "pipeline" : "program", root.index);
        return false;
    }
    vy_module *made = vy_module_new();
    if (made && extract(m, root, made) && vy_memory_failures() == before) return *out = made, true;
    vy_module_free(made);
    return no_memory(diag);
}
