// SPDX-License-Identifier: MIT
// inspect.c: `vyre-grad inspect`: what a driver's compiler makes of each kernel.
//
// Of a program: of the SPIR-V that `compile` (with --grad: `grad`) would write with the same
// options.
#include "tools/command/probe.h"

#include "tools/command/gpu.h"
#include "tools/data/amd_loops.h"
#include "tools/data/json_out.h"
#include "tools/command/runner.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define FAILED "E0903" // the code of a kernel that the driver does not take

typedef struct jobs {
    probe_job *data;
    uint32_t count;
} jobs;

static bool jobs_add(jobs *j, probe_job job, vy_diag *d)
{
    probe_job *grown = realloc(j->data, (j->count + 1u) * sizeof *grown);
    if (!grown) return fail_memory(d);
    j->data = grown;
    j->data[j->count++] = job;
    return true;
}

// --------------------------------------------------------------------------------- what to look at
// Kernels that are one module have the same words; each entry point is looked at once.
static bool add_kernels(jobs *j, const vy_plan *plan, vy_diag *d)
{
    for (uint32_t i = 0; i < plan->kernel_count; i++) {
        const vy_kernel *k = &plan->kernels[i];
        bool have = false;
        for (uint32_t n = 0; n < j->count && !have; n++)
            have = j->data[n].words == k->words && !strcmp(j->data[n].entry, k->entry);
        const probe_job job = {k->name, k->entry, k->words, k->word_count, k->features};
        if (!have && !jobs_add(j, job, d)) return false;
    }
    return true;
}

static vy_compiled *compile_program(command *c, vy_diag *d)
{
    vys_entry p;
    vy_spirv_options o;
    if (!load_module(c, d) || !select_entry(c, c->module, &p, d)) return NULL;
    if (c->o.grad ? !derive(c, p, NULL, d) : !order_sums(c, &p, d)) return NULL;
    vy_module *m = c->o.grad ? c->work.derived : forward_module(c);
    if (!optimize_final(c, m, false, NULL, d) || !spirv_options(c, &o, d)) return NULL;
    vy_compiled *compiled =
        vys_entry_compile(c->o.grad ? vys_entry_result(c->work.derived) : p, &o, d);
    if (!compiled) fail_memory(d); // unless it said why
    if (compiled) note_validation(c, vys_entry_name(p), compiled);
    return compiled;
}

// Entry points of a SPIR-V file, named as they are there.
static bool add_entries(jobs *j, const uint32_t *words, size_t count, const command *c, vy_diag *d)
{
    enum { ENTRY_POINT = 15, COMPUTE = 5 };
    if (count < 5 || words[0] != 0x07230203)
        return fail(d, TOOL_INPUT, "give a SPIR-V module of this machine's byte order",
                    "%s is not SPIR-V", c->o.file);
    for (size_t at = 5; at < count;) {
        const uint32_t length = words[at] >> 16, op = words[at] & 0xffff;
        if (!length || length > count - at)
            return fail(d, TOOL_INPUT, "write it again", "%s is damaged or cut off", c->o.file);
        const char *name = (const char *)&words[at + 3];
        const bool entry = op == ENTRY_POINT && length > 3 && words[at + 1] == COMPUTE &&
                           memchr(name, 0, (length - 3u) * sizeof *words);
        if (entry && (!c->o.program || !strcmp(c->o.program, name)) &&
            !jobs_add(j, (probe_job){name, name, words, count, 0}, d))
            return false;
        at += length;
    }
    return j->count || fail(d, TOOL_SELECT, "leave -p out, or name one of its entry points",
                            "%s has no compute entry point%s%s", c->o.file, c->o.program ? " " : "",
                            c->o.program ? c->o.program : "");
}

// The manifest beside a .spv, if there is one, says which features a kernel needs besides those
// that capabilities name.
static bool add_needs(jobs *j, const char *path, vy_diag *d)
{
    text name = {0}, data = {0};
    vy_diag absent = {0};
    text_add(&name, path, strlen(path) - 4);
    text_puts(&name, ".json");
    bool ok = !name.failed || fail_memory(d);
    cJSON *manifest = NULL;
    if (ok && file_read(name.data, FILE_LIMIT, &data, &absent) && data.data)
        manifest = cJSON_ParseWithLength(data.data, data.size);
    const cJSON *k, *f;
    cJSON_ArrayForEach(k, cJSON_GetObjectItemCaseSensitive(manifest, "kernels"))
    {
        const cJSON *entry = cJSON_GetObjectItemCaseSensitive(k, "entry");
        for (uint32_t i = 0; i < j->count; i++) {
            if (!cJSON_IsString(entry) || strcmp(entry->valuestring, j->data[i].entry)) continue;
            cJSON_ArrayForEach(f, cJSON_GetObjectItemCaseSensitive(
                                      k, "features")) for (uint32_t bit = 0; cJSON_IsString(f) &&
                                                                             bit < VY_FEATURE_COUNT;
                                                           bit++) if (!strcmp(vy_feature_name(bit),
                                                                              f->valuestring))
                j->data[i]
                    .needs |= (vy_features)1 << bit;
        }
    }
    cJSON_Delete(manifest);
    text_free(&name);
    text_free(&data);
    return ok;
}

static bool find_jobs(command *c, jobs *j, vy_compiled **compiled, vy_diag *d)
{
    if (!ends_in(c->o.file, ".spv")) {
        *compiled = compile_program(c, d);
        return *compiled && add_kernels(j, (*compiled)->plans, d);
    }
    if (!file_read(c->o.file, FILE_LIMIT, &c->contents, d)) return false;
    if (c->contents.size % 4)
        return fail(d, TOOL_INPUT, "write it again", "the size of %s is not a multiple of 4 bytes",
                    c->o.file);
    const uint32_t *words = (const uint32_t *)c->contents.data;
    const size_t count = c->contents.size / 4;
    vy_diag invalid = {0};
    if (!add_entries(j, words, count, c, d) || !add_needs(j, c->o.file, d)) return false;
    // Compilers may do anything with what is no valid SPIR-V: run for ever, take all memory.
    if (c->o.no_validate || vy_spirv_validate(words, count, VY_VULKAN_1_3, &invalid)) return true;
    return fail(d, TOOL_INPUT,
                "spirv-val says where; --no-validate gives it to the driver as it is", "%s: %s",
                c->o.file, invalid.text);
}

// ---------------------------------------------------------------------------------------- printing
static void figure_text(const vkrt_figure *f, size_t width, bool verbose, text *out)
{
    text_printf(out, "  %-*s  ", (int)width, f->name);
    if (!f->whole)
        text_printf(out, "%8.6g", f->value);
    else if (f->value < 0)
        text_printf(out, "%8" PRId64, (int64_t)f->integer);
    else
        text_printf(out, "%8" PRIu64, f->integer);
    if (verbose && *f->description) text_printf(out, "  %s", f->description);
    text_puts(out, "\n");
}

// Innermost loops that compute, a line each.
static bool loops_text(const vkrt_executable *e, text *out)
{
    amd_loop *loops = NULL;
    uint32_t count = 0;
    if (e->assembly && !amd_loops(e->assembly, &loops, &count)) return false;
    for (uint32_t i = 0; i < count; i++) {
        const amd_loop *l = &loops[i];
        if (!l->multiply_adds) continue;
        text_printf(out,
                    "  Innermost loop: %u instructions, %u of memory, for %u multiply-adds: "
                    "%.3g and %.2g each\n",
                    l->instructions, l->memory, l->multiply_adds,
                    (double)l->instructions / l->multiply_adds,
                    (double)l->memory / l->multiply_adds);
    }
    free(loops);
    return true;
}

static bool result_text(const probe_job *job, const probe_result *r, bool verbose, text *out)
{
    bool ok = true;
    text_printf(out, "%s\n", job->name);
    if (r->status) {
        text_printf(out, "  error: %s [%s]\n", r->error.text, FAILED);
        if (*r->error.fix) text_printf(out, "  fix: %s\n", r->error.fix);
        return true;
    }
    for (uint32_t i = 0; ok && i < r->inspection->executable_count; i++) {
        const vkrt_executable *e = &r->inspection->executables[i];
        size_t width = 0;
        for (uint32_t n = 0; n < e->figure_count; n++)
            if (strlen(e->figures[n].name) > width) width = strlen(e->figures[n].name);
        if (r->inspection->executable_count > 1) text_printf(out, "  %s\n", e->name);
        if (e->subgroup_size)
            text_printf(out, "  %-*s  %8u\n", (int)width, "Subgroup size", e->subgroup_size);
        for (uint32_t n = 0; n < e->figure_count; n++)
            figure_text(&e->figures[n], width, verbose, out);
        ok = loops_text(e, out);
    }
    if (!r->inspection->executable_count) text_puts(out, "  the driver reports nothing about it\n");
    return ok;
}

static bool loops_json(cJSON *to, const vkrt_executable *e)
{
    amd_loop *loops = NULL;
    uint32_t count = 0;
    if (!e->assembly) return true;
    cJSON *list = cJSON_AddArrayToObject(to, "loops");
    bool ok = list && amd_loops(e->assembly, &loops, &count);
    for (uint32_t i = 0; ok && i < count; i++) {
        cJSON *item = cJSON_CreateObject();
        ok = item && cJSON_AddItemToArray(list, item) &&
             json_integer(item, "instructions", loops[i].instructions) &&
             json_integer(item, "multiply_adds", loops[i].multiply_adds) &&
             json_integer(item, "memory", loops[i].memory);
    }
    free(loops);
    return ok;
}

static bool executable_json(cJSON *list, const vkrt_executable *e)
{
    cJSON *o = cJSON_CreateObject();
    bool ok = o && cJSON_AddItemToArray(list, o) && json_string(o, "name", e->name) &&
              json_integer(o, "subgroup_size", e->subgroup_size);
    cJSON *figures = ok ? cJSON_AddArrayToObject(o, "statistics") : NULL;
    ok = figures != NULL;
    for (uint32_t i = 0; ok && i < e->figure_count; i++) {
        const vkrt_figure *f = &e->figures[i];
        cJSON *item = cJSON_CreateObject();
        ok = item && cJSON_AddItemToArray(figures, item) && json_string(item, "name", f->name) &&
             (f->whole && f->value >= 0 ? json_integer(item, "value", f->integer)
                                        : json_number(item, "value", f->value, 17)) &&
             json_string(item, "description", f->description);
    }
    return ok && loops_json(o, e);
}

static bool result_json(cJSON *list, const probe_job *job, const probe_result *r)
{
    cJSON *o = cJSON_CreateObject();
    bool ok = o && cJSON_AddItemToArray(list, o) && json_string(o, "name", job->name);
    if (ok && r->status) {
        cJSON *e = cJSON_AddObjectToObject(o, "error");
        return e && json_string(e, "code", FAILED) && json_string(e, "text", r->error.text) &&
               json_string(e, "fix", r->error.fix);
    }
    cJSON *executables = ok ? cJSON_AddArrayToObject(o, "executables") : NULL;
    ok = executables != NULL;
    for (uint32_t i = 0; ok && i < r->inspection->executable_count; i++)
        ok = executable_json(executables, &r->inspection->executables[i]);
    return ok;
}

static bool print_all(command *c, const jobs *j, const probe *p, vy_diag *d)
{
    cJSON *top = c->o.json ? cJSON_CreateObject() : NULL, *list = NULL;
    bool ok = true;
    if (c->o.json) {
        ok = top && json_string(top, "device", p->device) && json_string(top, "driver", p->driver);
        list = ok ? cJSON_AddArrayToObject(top, "kernels") : NULL;
        ok = list != NULL;
    } else {
        text_printf(&c->out, "%s, %s\n", p->device, p->driver);
    }
    for (uint32_t i = 0; ok && i < j->count; i++) {
        if (list)
            ok = result_json(list, &j->data[i], &p->results[i]);
        else
            ok = result_text(&j->data[i], &p->results[i], c->o.verbose, &c->out);
    }
    if (ok && top) return json_finish(top, &c->out) || fail_memory(d);
    cJSON_Delete(top);
    return (ok && !c->out.failed) || fail_memory(d);
}

bool verb_inspect(command *c, vy_diag *d)
{
    jobs j = {0};
    probe p = {0};
    driver_choice choice;
    vy_compiled *compiled = NULL;
    bool ok = driver_find(c->o.driver, &choice, d) && find_jobs(c, &j, &compiled, d);
    if (ok) {
        progress_begin(c, "compiling");
        ok = probe_run(&p, &choice, c->o.device, j.data, j.count, c->o.timeout, d);
        progress_end();
    }
    ok = ok && print_all(c, &j, &p, d);
    for (uint32_t i = 0; ok && i < j.count; i++)
        if (p.results[i].status)
            c->status = STATUS_SYSTEM; // what succeeded is printed all the same
    if (ok && p.messages)
        ok = fail(d, TOOL_VALIDATION, NULL, "the validation layers have %u messages", p.messages);
    probe_free(&p);
    driver_free(&choice);
    vy_compiled_free(compiled);
    free(j.data);
    return ok;
}
