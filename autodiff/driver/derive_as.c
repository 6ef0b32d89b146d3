// SPDX-License-Identifier: MIT
// derive_as.c: what a derivative with the schedule of revolve is differentiated as.
//
//   pipeline f_grad_plain(…) { … a tape of ⌈√n⌉ states … }
//   @derive_as(f_grad_plain) pipeline f_grad(…) { … the schedule with k states … }
//
// The schedule is a nest of repeats whose bounds are searches for positions (ir/host/revolve.c).
// Its own derivative would be right, but its tapes would have a row for each iteration that these
// bounds allow, their product, and expressions that grow from level to level.  So differentiating
// the text gives what `--order` differentiates.
#include "autodiff/driver/observed.h"
#include "ir/build/pipe_build.h"
#include "ir/check/check.h"
#include "ir/core/derive_as.h"
#include "ir/core/pipe.h"

#include <stdio.h>
#include <string.h>

static bool has_name(const vy_module *m, const char *name)
{
    return vy_module_find(m, name) || vy_module_find_pipeline(m, name);
}

static bool no_memory(vy_diag *diag)
{
    vy_diag_set(diag, VY_E_MEMORY, 0, 0, NULL, "out of memory");
    return false;
}

// Names that mean something else in `out` get a number.
static bool separate(const vy_module *out, vy_module *plain, vy_diag *diag)
{
    char text[400];
    for (uint32_t i = 0; i < plain->programs.count; i++) {
        const vy_program *p = plain->programs.data[i], *q = vy_module_find(out, p->name);
        if (q ? vy_same_program(p, q) : !vy_module_find_pipeline(out, p->name)) continue;
        uint32_t n = 2;
        do snprintf(text, sizeof text, "%.300s%u", p->name, n++);
        while (has_name(out, text) || has_name(plain, text));
        if (!vy_module_rename(plain, p->name, text, diag)) return false;
    }
    return true;
}

// Copies the programs that `out` lacks; programs[k]: the number there of program k.
static bool add_programs(vy_module *out, const vy_module *plain, uint32_t *programs)
{
    for (uint32_t i = 0; i < plain->programs.count; i++) {
        const vy_program *p = plain->programs.data[i];
        for (programs[i] = 0; programs[i] < out->programs.count; programs[i]++)
            if (strcmp(out->programs.data[programs[i]]->name, p->name) == 0) break;
        if (programs[i] < out->programs.count) continue;
        vy_program *copy = vy_program_clone(p, out);
        if (copy && vy_vec_push(&out->programs, copy)) continue;
        vy_program_free(copy);
        return false;
    }
    return true;
}

// Puts a copy of the pipeline before the last one of `out`; NULL: memory.
static vy_pipeline *add_before(vy_module *out, const vy_pipeline *l, const uint32_t *programs)
{
    vy_pipeline *main = out->pipelines.data[out->pipelines.count - 1];
    vy_pipeline *copy = vy_pipeline_clone(l, out, programs);
    if (!copy || !vy_vec_push(&out->pipelines, main)) {
        vy_pipeline_free(copy);
        return NULL;
    }
    return out->pipelines.data[out->pipelines.count - 2] = copy;
}

// Copies what programs have as rules, unless `out` has it, and the derivative; that, or NULL.
static vy_pipeline *add_pipelines(vy_module *out, const vy_module *plain, const uint32_t *programs)
{
    const uint32_t last = plain->pipelines.count - 1;
    for (uint32_t i = 0; i < last; i++) {
        const vy_pipeline *l = plain->pipelines.data[i];
        if (!vy_module_find_pipeline(out, l->name) && !add_before(out, l, programs)) return NULL;
    }
    return add_before(out, plain->pipelines.data[last], programs);
}

// Both have the same parameters, but for what one of them does not need: then it stays as it is.
static void name(vy_pipeline *main, const char *plain)
{
    char text[240];
    main->signature->rules[VY_DERIVE_AS] = plain;
    if (vy_derive_as_mismatch(main, text)) main->signature->rules[VY_DERIVE_AS] = NULL;
}

bool vy_derive_as(vy_module *out, vy_module *plain, vy_diag *diag)
{
    if (!separate(out, plain, diag)) return false;
    vy_pipeline *main = out->pipelines.data[out->pipelines.count - 1], *copy = NULL;
    uint32_t *programs = vy_realloc(NULL, (plain->programs.count + 1) * sizeof *programs);
    const char *free = vy_stand_in_name(out, NULL, main->name);
    if (programs && free && add_programs(out, plain, programs))
        copy = add_pipelines(out, plain, programs);
    vy_free(programs);
    if (!copy) return no_memory(diag);
    copy->name = copy->signature->name = free;
    name(main, free);
    return true;
}

// -------------------------------------------------------------------------------------- exact sums
static bool refuse(const vy_module *m, const char *name, uint32_t line, uint32_t column,
                   vy_diag *diag)
{
    vy_diag_set(diag, VY_E_NOT_DIFFERENTIABLE, line,
                column ? column : vy_check_column(m, line, name),
                "differentiate what it was made of (`grad --order 2`), or make it with `plain_too` "
                "(autodiff/grad.h)",
                "%.100s has exact sums, which are sums of integers: its derivative would be 0",
                name);
    return true;
}

bool vy_refuse_exact_sums(const vy_program *p, vy_diag *diag)
{
    return vy_exact_sums(p) && refuse(p->module, p->name, p->line, 0, diag);
}

bool vy_refuse_exact_stages(const vy_pipeline *l, vy_diag *diag)
{
    l = vy_derived_as(l);
    for (uint32_t i = 0; i < l->steps.count; i++) {
        const vy_pipe_step *s = &l->steps.data[i];
        const vy_program *p = NULL;
        if (s->kind == VY_PIPE_DISPATCH) p = l->module->programs.data[s->program];
        if (p && vy_exact_sums(p)) return refuse(l->module, p->name, s->line, s->column, diag);
    }
    return false;
}
