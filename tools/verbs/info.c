// SPDX-License-Identifier: MIT
// info.c: `vyre-grad info`: what one needs to know to call a program.
//
// The manifest is the one description of a compiled program; this verb shows it, for people as
// text.
#include "tools/command/gpu.h"
#include "tools/data/json_out.h"
#include "tools/command/runner.h"

#include <stdlib.h>
#include <string.h>

static const char *string_of(const cJSON *o, const char *key)
{
    const cJSON *item = cJSON_GetObjectItemCaseSensitive(o, key);
    return cJSON_IsString(item) ? item->valuestring : "";
}

static unsigned number_of(const cJSON *o, const char *key)
{
    const cJSON *item = cJSON_GetObjectItemCaseSensitive(o, key);
    return cJSON_IsNumber(item) && item->valuedouble > 0 ? (unsigned)item->valuedouble : 0;
}

static const cJSON *list_of(const cJSON *o, const char *key)
{
    return cJSON_GetObjectItemCaseSensitive(o, key);
}

static void add_list(const cJSON *list, const char *between, const char *empty, text *out)
{
    const cJSON *item;
    bool any = false;
    cJSON_ArrayForEach(item, list)
    {
        if (any) text_puts(out, between);
        any = true;
        if (cJSON_IsString(item))
            text_puts(out, item->valuestring);
        else
            text_printf(out, "%.0f", item->valuedouble);
    }
    if (!any) text_puts(out, empty);
}

// The part of a shader's binding that a parameter is.
static void from_text(const cJSON *from, text *out)
{
    if (!list_of(from, "strides")) return;
    text_printf(out, "  %s from byte %u, strides ", string_of(from, "block"),
                number_of(from, "offset"));
    add_list(list_of(from, "strides"), ", ", "", out);
}

static void constants_text(const cJSON *kernel, text *out)
{
    const cJSON *c;
    cJSON_ArrayForEach(c, list_of(kernel, "constants"))
    {
        const cJSON *from = list_of(c, "from");
        if (strcmp(string_of(from, "block"), "uniform") == 0)
            text_printf(out, "  set %u binding %-3u ", number_of(from, "set"),
                        number_of(from, "binding"));
        else
            text_puts(out, "  push constant     ");
        text_printf(out, "offset %-4u %-4s %s\n", number_of(from, "offset"), string_of(c, "type"),
                    string_of(c, "name"));
    }
}

static void bindings_text(const cJSON *kernel, text *out)
{
    const cJSON *b;
    cJSON_ArrayForEach(b, list_of(kernel, "bindings"))
    {
        text_printf(out, "  set %u binding %-3u %-5s %s: %s[", number_of(b, "set"),
                    number_of(b, "binding"), string_of(b, "access"), string_of(b, "name"),
                    string_of(b, "type"));
        add_list(list_of(b, "shape"), ", ", "", out);
        text_puts(out, "]");
        from_text(list_of(b, "from"), out);
        if (cJSON_IsTrue(list_of(b, "workspace"))) text_puts(out, "  workspace");
        if (cJSON_IsTrue(list_of(b, "clear"))) text_puts(out, "  cleared before each dispatch");
        text_puts(out, "\n");
    }
}

static void params_text(const cJSON *kernel, text *out)
{
    const cJSON *params = list_of(kernel, "params"), *where = list_of(params, "in"), *f;
    constants_text(kernel, out);
    if (list_of(kernel, "constants") && !number_of(params, "bytes")) return;
    if (cJSON_IsObject(where))
        text_printf(out, "  parameter buffer: set %u binding %u, %u bytes\n",
                    number_of(where, "set"), number_of(where, "binding"),
                    number_of(params, "bytes"));
    else
        text_printf(out, "  push constants: %u bytes\n", number_of(params, "bytes"));
    cJSON_ArrayForEach(f, list_of(params, "fields"))
        text_printf(out, "    offset %-4u %-4s %s%s%s\n", number_of(f, "offset"),
                    string_of(f, "type"), string_of(f, "name"), *string_of(f, "value") ? " = " : "",
                    string_of(f, "value"));
}

static void kernel_text(const cJSON *kernel, text *out)
{
    bindings_text(kernel, out);
    params_text(kernel, out);
}

static void groups_text(const cJSON *kernel, text *out)
{
    const cJSON *groups = list_of(kernel, "groups");
    text_puts(out, "  workgroup ");
    add_list(list_of(kernel, "local_size"), " x ", "1", out);
    text_puts(out, ", groups ");
    add_list(cJSON_IsArray(groups) ? groups : NULL, " x ", "given by the caller", out);
}

static void scalars_text(const cJSON *manifest, text *out)
{
    const cJSON *s;
    cJSON_ArrayForEach(s, list_of(manifest, "scalars"))
        text_printf(out, "  scalar %s: %s\n", string_of(s, "name"), string_of(s, "type"));
}

static void module_text(const cJSON *kernel, size_t words, text *out)
{
    text_printf(out, "  SPIR-V %s, %zu words, Vulkan %s, features: ", string_of(kernel, "spirv"),
                words, string_of(kernel, "vulkan"));
    add_list(list_of(kernel, "features"), ", ", "none", out);
    text_puts(out, "\n");
}

static void program_text(const vy_program *p, const cJSON *manifest, size_t words, text *out)
{
    const cJSON *kernel = cJSON_GetArrayItem(list_of(manifest, "kernels"), 0);
    text_printf(out, "program %s\n", vy_program_name(p));
    groups_text(kernel, out);
    text_printf(out, ", %u instructions\n", vy_program_instruction_count(p));
    for (uint32_t i = 0; i < vy_program_over_count(p); i++)
        text_printf(out, "%s%s", i ? ", " : "  over ", vy_program_over(p, i).name);
    if (vy_program_over_count(p)) text_puts(out, "\n");
    scalars_text(manifest, out);
    kernel_text(kernel, out);
    module_text(kernel, words, out);
}

// Names of what a dispatch binds, in the order of the kernel's bindings.
static void arguments_text(const cJSON *step, text *out)
{
    const cJSON *b;
    cJSON_ArrayForEach(b, list_of(step, "buffers"))
    {
        if (b->prev && b != list_of(step, "buffers")->child) text_puts(out, ", ");
        if (cJSON_IsString(b))
            text_puts(out, b->valuestring);
        else
            text_printf(out, "%s from element %s", string_of(b, "buffer"), string_of(b, "offset"));
    }
}

static void step_text(const cJSON *s, text *out)
{
    const char *what = string_of(s, "do");
    if (!strcmp(what, "dispatch")) {
        text_printf(out, "%s(", string_of(s, "kernel"));
        arguments_text(s, out);
        text_puts(out, ")\n");
    } else if (!strcmp(what, "repeat")) {
        text_printf(out, "repeat %s times, counting %s\n", string_of(s, "times"),
                    string_of(s, "symbol"));
    } else if (!strcmp(what, "readback")) {
        text_printf(out, "%s = element %s of %s\n", string_of(s, "symbol"), string_of(s, "element"),
                    string_of(s, "buffer"));
    } else if (!strcmp(what, "fill")) {
        text_printf(out, "fill %s with %u\n", string_of(s, "buffer"), number_of(s, "value"));
    } else if (!strcmp(what, "copy")) {
        text_printf(out, "copy %s to %s\n", string_of(s, "from"), string_of(s, "to"));
    } else {
        const char *below = string_of(s, "below");
        text_printf(out, "check %s %s %s\n", string_of(s, "value"), *below ? "<" : "=",
                    *below ? below : string_of(s, "equals"));
    }
}

// Indented as the repeats nest: ends[] are their last steps.
static bool steps_text(const cJSON *manifest, text *out)
{
    const cJSON *steps = list_of(manifest, "steps"), *s;
    uint32_t depth = 0, at = 0;
    uint32_t *ends = calloc((size_t)cJSON_GetArraySize(steps) + 1, sizeof *ends);
    cJSON_ArrayForEach(s, steps)
    {
        if (!ends) break;
        while (depth && at >= ends[depth - 1]) depth--;
        text_printf(out, "  %*s", (int)(2 * depth), "");
        step_text(s, out);
        if (!strcmp(string_of(s, "do"), "repeat")) ends[depth++] = at + 1 + number_of(s, "count");
        at++;
    }
    free(ends);
    return ends != NULL;
}

static bool pipeline_text(const vy_pipeline *p, const cJSON *manifest, size_t words, text *out)
{
    const cJSON *b, *kernel;
    text_printf(out, "pipeline %s\n", vy_pipeline_name(p));
    scalars_text(manifest, out);
    cJSON_ArrayForEach(b, list_of(manifest, "buffers"))
    {
        text_printf(out, "  %-9s %s: %s[", string_of(b, "role"), string_of(b, "name"),
                    string_of(b, "type"));
        add_list(list_of(b, "shape"), ", ", "", out);
        text_puts(out, "]\n");
    }
    text_puts(out, "steps\n");
    if (!steps_text(manifest, out)) return false;
    cJSON_ArrayForEach(kernel, list_of(manifest, "kernels"))
    {
        text_printf(out, "kernel %s\n", string_of(kernel, "name"));
        groups_text(kernel, out);
        text_puts(out, "\n");
        kernel_text(kernel, out);
    }
    module_text(list_of(manifest, "kernels")->child, words, out);
    return !out->failed;
}

// What a device lacks, if one was named: features, and the float controls of --precise.
static bool device_text(command *c, const vy_kernel *k, vy_diag *d)
{
    static const vy_features controls =
        VY_FEATURE_BIT(SIGNED_ZERO_INF_NAN_32) | VY_FEATURE_BIT(ROUNDING_RTE_32);
    if (!c->o.device || c->o.json) return true;
    if (!gpu_open_device(c, d)) return false;
    char missing[2000];
    vkrt_error e = {0};
    const vkrt_device_info *info = vkrt_device_get_info(c->gpu->device);
    const vy_features lacks = controls & ~info->features;
    text_printf(&c->out, "  on %s: ", info->name);
    if (vkrt_device_check(c->gpu->device, k, &e))
        text_printf(&c->out, "cannot run: %s\n", e.text);
    else
        text_puts(&c->out, "can run\n");
    if (lacks)
        text_printf(&c->out, "    --precise cannot keep nan, inf and -0 everywhere: no %s\n",
                    vkrt_features_text(lacks, missing, sizeof missing));
    return true;
}

static bool describe(command *c, vys_entry what, cJSON *list, vy_diag *d)
{
    vy_spirv_options o;
    if (!spirv_options(c, &o, d)) return false;
    o.host_layout = true;
    o.validate = false; // nothing of it leaves the tool
    vy_compiled *compiled = vys_entry_compile(what, &o, d);
    if (!compiled) return fail_memory(d); // unless it said why
    char *manifest = vy_manifest(compiled->plans, NULL);
    cJSON *parsed = manifest ? cJSON_Parse(manifest) : NULL;
    bool ok = parsed != NULL;
    if (ok && list) {
        ok = cJSON_AddItemToArray(list, parsed);
        if (ok) parsed = NULL; // the list's now
    } else if (ok) {
        if (c->out.size) text_puts(&c->out, "\n");
        if (what.pipeline)
            ok = pipeline_text(what.pipeline, parsed, compiled->word_count, &c->out);
        else
            program_text(what.program, parsed, compiled->word_count, &c->out);
        ok = ok && !c->out.failed;
    }
    if (!ok) fail_memory(d);
    ok = ok && device_text(c, compiled->kernels, d);
    cJSON_Delete(parsed);
    free(manifest);
    vy_compiled_free(compiled);
    return ok;
}

static bool describe_all(command *c, cJSON *programs, cJSON *pipelines, vy_diag *d)
{
    const vy_module *m = c->module;
    bool ok = true;
    for (uint32_t i = 0; ok && i < vy_module_program_count(m); i++)
        ok = describe(c, vys_entry_program(vy_module_program(m, i)), programs, d);
    for (uint32_t i = 0; ok && i < vy_module_pipeline_count(m); i++)
        ok = describe(c, vys_entry_pipeline(vy_module_pipeline(m, i)), pipelines, d);
    return ok;
}

bool verb_info(command *c, vy_diag *d)
{
    if (!load_module(c, d)) return false;
    vys_entry what = {0};
    const bool one = c->o.program || !vy_module_program_count(c->module);
    if (one && !select_entry(c, c->module, &what, d)) return false;
    if (!optimize(c, c->module, false, NULL, d)) return false;
    const bool has_pipelines =
        one ? what.pipeline != NULL : vy_module_pipeline_count(c->module) > 0;
    cJSON *top = c->o.json ? cJSON_CreateObject() : NULL;
    cJSON *programs = top ? cJSON_AddArrayToObject(top, "programs") : NULL, *pipelines = NULL;
    if (programs && has_pipelines) pipelines = cJSON_AddArrayToObject(top, "pipelines");
    bool ok = !c->o.json || (programs && (pipelines || !has_pipelines)) || fail_memory(d);
    if (one)
        ok = ok && describe(c, what, what.pipeline ? pipelines : programs, d);
    else
        ok = ok && describe_all(c, programs, pipelines, d);
    if (ok && top) return json_finish(top, &c->out) || fail_memory(d);
    cJSON_Delete(top);
    return ok;
}
