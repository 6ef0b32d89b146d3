// SPDX-License-Identifier: MIT
// compile.c: the public entry: programs → words, kernels, plans, in one owned result.
#include "ir/build/edit.h"
#include "ir/build/function.h"
#include "spirv/emit/emit.h"
#include "spirv/describe/describe.h"
#include "spirv/plan/make.h"
#include "spirv/target/target.h"

#include <string.h>

typedef struct vy_result { // what a vy_compiled points into
    vy_compiled pub;
    vy_arena arena;
    uint32_t *words;
} vy_result;

static const uint32_t target_versions[] = {0x00010300, 0x00010500, 0x00010600};

// Lines refer to the files of the first program's module, in the order of vy_source_number.  Only
// on request: their paths are not part of the program, and the same program in another folder would
// yield other bytes.
static void declare_source(vy_spv *m, const vy_program *p)
{
    const char *file = vy_module_file(p->module);
    if (!m->options->lines || m->options->strip || !file || !*file) return;
    m->file = vy_spv_id(m);
    vy_words *to = &m->sections[VY_SEC_SOURCE];
    vy_spv_put_text(m, to, SpvOpString, 1, &m->file, file, 0, NULL);
    for (uint32_t i = 0; i < p->module->imports.count; i++) {
        const uint32_t id = vy_spv_id(m);
        vy_spv_put_text(m, to, SpvOpString, 1, &id, vy_module_import(p->module, i), 0, NULL);
    }
    VY_PUT(m, to, SpvOpSource, SpvSourceLanguageUnknown, 0, m->file);
}

// What is compiled: programs, or the pipeline that dispatches them.  A pipeline that dispatches
// none gets a kernel that does nothing, as Vulkan rejects modules without an entry point.
typedef struct job {
    const vy_program *const *programs;
    uint32_t count;
    const vy_pipeline *pipeline;
    vy_pipe_kernels used; // by the pipeline
    vy_module *idle;      // holds the program that does nothing
    vy_module *inlined;   // holds copies without calls, or NULL
    vy_pipeline *copy;    // … of the pipeline
} job;

static bool make_idle(job *j, vy_arena *arena)
{
    j->idle = vy_module_new();
    vy_builder *b = j->idle ? vy_program_begin(j->idle, j->pipeline->name) : NULL;
    j->used.programs[0] = b ? vy_program_end(b) : NULL;
    j->used.sliced[0] = vy_arena_alloc(arena, sizeof **j->used.sliced);
    j->used.count = 1;
    return j->used.programs[0] && j->used.sliced[0];
}

static bool emit_programs(vy_spv *m, vy_result *r, const job *j, vy_kernel *kernels, vy_plan *plans)
{
    const vy_place_of free = vy_describe_free_place(j->programs, j->count);
    for (uint32_t i = 0; i < j->count; i++) {
        const vy_program *p = j->programs[i];
        vy_describe d;
        const bool hosted = p->shader && m->options->host_layout;
        kernels[i].entry = j->count == 1 && !hosted
                               ? "main"
                               : vy_arena_strdup(&r->arena, p->name, strlen(p->name));
        if (!kernels[i].entry) return false;
        vy_describe_begin(&d, p, &r->arena, &kernels[i]);
        d.number = i;
        if (j->pipeline) d.sliced = j->used.sliced[i];
        bool ok = !d.oom && vy_describe_places(&d, hosted ? &free : NULL) &&
                  vy_emit_kernel(m, p, kernels[i].entry, &d) && vy_describe_end(&d, m) &&
                  (j->pipeline || vy_plan_make(&kernels[i], &r->arena, &plans[i]));
        vy_describe_free(&d);
        if (!ok) return false;
    }
    return !j->pipeline || vy_plan_pipeline(j->pipeline, &j->used, kernels, &r->arena, plans);
}

// As options->validate and validation_limit say.
static bool validated(const vy_spv *m, const uint32_t *words, size_t count, vy_validation *v)
{
    const vy_spirv_options *o = m->options;
    if (!o->validate) return true;
    if (o->validation_limit && !vy_spirv_validation_work(words, count, v)) return false;
    v->done = v->steps <= o->validation_limit;
    return !v->done || vy_spirv_validate(words, count, o->target, m->diag);
}

// SPIR-V's own limit on ids; libspirv enforces it.
#define MAX_IDS 0x3FFFFFu

static bool finish(vy_spv *m, vy_result *r, vy_kernel *kernels, uint32_t count)
{
    size_t n = 0;
    if (m->next_id > MAX_IDS) {
        vy_diag_set(m->diag, VY_E_SPIRV_LIMIT, 0, 0, NULL,
                    "the module needs %u ids; SPIR-V allows %u", m->next_id, MAX_IDS);
        return false;
    }
    r->words = vy_spv_finish(m, &n);
    if (!r->words) return false;
    for (uint32_t i = 0; i < count; i++) {
        kernels[i].words = r->words;
        kernels[i].word_count = n;
        kernels[i].features = m->features;
    }
    r->pub.words = r->words;
    r->pub.word_count = n;
    return validated(m, r->words, n, &r->pub.validation);
}

static bool compile(vy_result *r, job *j, const vy_spirv_options *options, vy_diag *diag)
{
    static const vy_spirv_options defaults;
    if (!options) options = &defaults;
    if (j->pipeline) {
        if (!vy_pipe_kernels_make(j->pipeline, &r->arena, &j->used)) return false;
        if (j->used.count == 0 && !make_idle(j, &r->arena)) return false;
        j->programs = j->used.programs;
        j->count = j->used.count;
    }
    if (j->count == 0) {
        vy_diag_set(diag, VY_E_API, 0, 0, NULL, "vy_compile_module: no program");
        return false;
    }
    vy_kernel *kernels = vy_arena_alloc(&r->arena, (j->count + 1) * sizeof *kernels);
    vy_plan *plans = vy_arena_alloc(&r->arena, (j->count + 1) * sizeof *plans);
    if (!kernels || !plans) return false;
    const vy_hooks hooks = vy_target_hooks(options);
    vy_spv m = {.options = options,
                .hooks = &hooks,
                .version = target_versions[options->target],
                .diag = diag,
                .next_id = 1};
    declare_source(&m, j->programs[0]);
    const bool ok = emit_programs(&m, r, j, kernels, plans) && finish(&m, r, kernels, j->count);
    vy_spv_free(&m);
    r->pub.count = j->count;
    r->pub.kernels = kernels;
    r->pub.plans = plans;
    return ok;
}

// ------------------------------------------------------------------------------ functions' calls
// The job without calls of functions (ir/core/functions.h), of which vy_optimize leaves none under
// options->final: copies of all programs, and of the pipeline.
static bool copy_programs(vy_result *r, job *j, const vy_program *const *from, uint32_t count)
{
    const vy_program **made = vy_arena_alloc(&r->arena, (count + 1) * sizeof *made);
    uint32_t *number = vy_arena_alloc(&r->arena, (count + 1) * sizeof *number);
    bool changed = false;
    for (uint32_t i = 0; made && number && i < count; i++) {
        vy_program *p = vy_program_clone(from[i], j->inlined);
        if (!p || !vy_vec_push(&j->inlined->programs, p)) {
            vy_program_free(p);
            return false;
        }
        made[number[i] = i] = p;
        if (!vy_inline_calls(p, VY_INLINE_VALUES, &changed)) return false;
    }
    if (!made || !number) return false;
    j->programs = made;
    if (j->pipeline && !(j->copy = vy_pipeline_clone(j->pipeline, j->inlined, number)))
        return false;
    j->pipeline = j->copy;
    return true;
}

static bool inline_calls(vy_result *r, job *j, vy_diag *diag)
{
    const vy_program_vec *all = j->pipeline ? &j->pipeline->module->programs : NULL;
    const vy_program *const *from = all ? (const vy_program *const *)all->data : j->programs;
    const uint32_t count = all ? all->count : j->count;
    bool any = false;
    for (uint32_t i = 0; i < count && !any; i++) any = vy_program_applies(from[i]);
    if (!any) return true;
    j->inlined = vy_module_new();
    if (j->inlined && vy_take_files(j->inlined, from[0]->module) &&
        copy_programs(r, j, from, count))
        return true;
    if (j->inlined && !vy_module_ok(j->inlined)) *diag = j->inlined->diag;
    return false;
}

static void free_inlined(job *j)
{
    vy_pipeline_free(j->copy);
    vy_module_free(j->inlined);
}

static vy_compiled *compile_job(job *j, const vy_spirv_options *options, vy_diag *diag)
{
    const uint64_t before = vy_memory_failures();
    vy_diag unused;
    vy_spirv_options o;
    if (!diag) diag = &unused;
    memset(diag, 0, sizeof *diag);
    if (!vy_take_options(&o, sizeof o, sizeof o, options, "vy_spirv_options", diag)) return NULL;
    vy_result *r = vy_realloc(NULL, sizeof *r);
    if (r) memset(r, 0, sizeof *r);
    const bool ok =
        r && inline_calls(r, j, diag) && compile(r, j, &o, diag) && vy_memory_failures() == before;
    vy_module_free(j->idle);
    free_inlined(j);
    if (ok) return &r->pub;
    if (diag->severity != VY_ERROR) vy_diag_set(diag, VY_E_MEMORY, 0, 0, NULL, "out of memory");
    if (r) vy_compiled_free(&r->pub);
    return NULL;
}

vy_compiled *vy_compile_module(const vy_program *const *programs, uint32_t count,
                               const vy_spirv_options *options, vy_diag *diag)
{
    return compile_job(&(job){.programs = programs, .count = count}, options, diag);
}

vy_compiled *vy_compile_pipeline(const vy_pipeline *p, const vy_spirv_options *options,
                                 vy_diag *diag)
{
    return compile_job(&(job){.pipeline = p}, options, diag);
}

vy_compiled *vy_compile(const vy_program *p, const vy_spirv_options *options, vy_diag *diag)
{
    return vy_compile_module(&p, 1, options, diag);
}

vy_compiled *vy_compile_result(const vy_module *m, const vy_spirv_options *options, vy_diag *diag)
{
    uint32_t n = vy_module_pipeline_count(m);
    if (n) return vy_compile_pipeline(vy_module_pipeline(m, n - 1), options, diag);
    const vy_program *p = vy_module_program(m, 0);
    return vy_compile_module(&p, p ? 1 : 0, options, diag);
}

void vy_compiled_free(vy_compiled *c)
{
    if (!c) return;
    vy_result *r = (vy_result *)c; // pub is the first member
    vy_free(r->words);
    vy_arena_free(&r->arena);
    vy_free(r);
}
