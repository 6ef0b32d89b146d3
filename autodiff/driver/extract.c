// SPDX-License-Identifier: MIT
// extract.c: a module of one program or pipeline, with what it dispatches.
#include "autodiff/transform.h"
#include "ir/build/edit.h"

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

static bool extract(const vy_module *m, vy_ref root, vy_module *out)
{
    const vy_pipeline *l = root.pipeline ? m->pipelines.data[root.index] : NULL;
    uint32_t *programs = vy_realloc(NULL, (m->programs.count + 1) * sizeof *programs);
    if (!programs) return false;
    for (uint32_t i = 0; i < m->programs.count; i++) programs[i] = NOT_NEEDED;
    if (!l) programs[root.index] = 0;
    for (uint32_t i = 0; l && i < l->steps.count; i++)
        if (l->steps.data[i].kind == VY_PIPE_DISPATCH) programs[l->steps.data[i].program] = 0;
    out->order = l ? l->signature->order : m->programs.data[root.index]->order;
    const bool ok = vy_take_files(out, m) && take_programs(out, m, programs) &&
                    (!l || take_pipeline(out, l, programs));
    vy_free(programs);
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
