// SPDX-License-Identifier: MIT
// info.c: `vyre-grad info`: what one needs to know to call a program.
//
// The manifest is the one description of a compiled program; this verb shows it, for people as text.
#include "tools/gpu.h"
#include "tools/json_out.h"
#include "tools/runner.h"

#include <stdlib.h>

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
        if (cJSON_IsTrue(list_of(b, "workspace"))) text_puts(out, "  workspace");
        if (cJSON_IsTrue(list_of(b, "clear"))) text_puts(out, "  cleared before each dispatch");
        text_puts(out, "\n");
    }
}

static void params_text(const cJSON *kernel, text *out)
{
    const cJSON *params = list_of(kernel, "params"), *where = list_of(params, "in"), *f;
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

static void program_text(const vy_program *p, const cJSON *manifest, const vy_kernel *k, text *out)
{
    const cJSON *kernel = cJSON_GetArrayItem(list_of(manifest, "kernels"), 0);
    const cJSON *groups = list_of(kernel, "groups"), *s;
    text_printf(out, "program %s\n  workgroup ", vy_program_name(p));
    add_list(list_of(kernel, "local_size"), " x ", "1", out);
    text_puts(out, ", groups ");
    add_list(cJSON_IsArray(groups) ? groups : NULL, " x ", "given by the caller", out);
    text_printf(out, ", %u instructions\n", vy_program_instruction_count(p));
    for (uint32_t i = 0; i < vy_program_over_count(p); i++)
        text_printf(out, "%s%s", i ? ", " : "  over ", vy_program_over(p, i).name);
    if (vy_program_over_count(p)) text_puts(out, "\n");
    cJSON_ArrayForEach(s, list_of(manifest, "scalars"))
        text_printf(out, "  scalar %s: %s\n", string_of(s, "name"), string_of(s, "type"));
    bindings_text(kernel, out);
    params_text(kernel, out);
    text_printf(out, "  SPIR-V %s, %zu words, Vulkan %s, features: ", string_of(kernel, "spirv"),
                k->word_count, string_of(kernel, "vulkan"));
    add_list(list_of(kernel, "features"), ", ", "none", out);
    text_puts(out, "\n");
}

// What a device lacks, if one was named: features needed, and the float controls --precise wants.
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

static bool describe(command *c, const vy_program *p, cJSON *list, vy_diag *d)
{
    vy_spirv_options o;
    if (!spirv_options(c, &o, d)) return false;
    o.validate = false; // nothing of it leaves the tool
    vy_compiled *compiled = vy_compile(p, &o, d);
    if (!compiled) return fail_memory(d); // unless it said why
    char *manifest = vy_manifest(compiled->plans, NULL);
    cJSON *parsed = manifest ? cJSON_Parse(manifest) : NULL;
    bool ok = parsed != NULL;
    if (ok && list) {
        ok = cJSON_AddItemToArray(list, parsed);
        if (ok) parsed = NULL; // the list's now
    } else if (ok) {
        if (c->out.size) text_puts(&c->out, "\n");
        program_text(p, parsed, compiled->kernels, &c->out);
        ok = !c->out.failed;
    }
    if (!ok) fail_memory(d);
    ok = ok && device_text(c, compiled->kernels, d);
    cJSON_Delete(parsed);
    free(manifest);
    vy_compiled_free(compiled);
    return ok;
}

bool verb_info(command *c, vy_diag *d)
{
    if (!load_module(c, d)) return false;
    const uint32_t count = vy_module_program_count(c->module);
    const bool one = c->o.program || !count;
    const vy_program *p = one ? select_program(c, c->module, d) : NULL;
    if ((one && !p) || !optimize(c, c->module, false, d)) return false;
    cJSON *top = c->o.json ? cJSON_CreateObject() : NULL;
    cJSON *list = top ? cJSON_AddArrayToObject(top, "programs") : NULL;
    bool ok = !c->o.json || list || fail_memory(d);
    for (uint32_t i = 0; ok && i < (one ? 1 : count); i++)
        ok = describe(c, one ? p : vy_module_program(c->module, i), list, d);
    if (ok && top) return json_finish(top, &c->out) || fail_memory(d);
    cJSON_Delete(top);
    return ok;
}
