// SPDX-License-Identifier: MIT
// dozen_lines.c: from the text of a program to its gradient, computed on the device.
//
//   dozen_lines FILE.vyre NAME=VALUE[,VALUE…] …
//   dozen_lines examples/gmm.vyre m=2 gamma=0.7 alpha=0.5,0.5 x=…    every `in` buffer, and scalars
//                                                                    that are no whole dimension
// Prints the gradient of all float outputs (cotangents 1) with respect to all float inputs.
// `differentiate` and `compute` are the point; the rest is reading and printing.
#include "autodiff/grad.h"
#include "ir/vyre.h"
#include "spirv/spirv.h"
#include "vkrt/vkrt.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static bool show(const vy_diag *d, const char *file, const char *text, size_t size)
{
    char message[2000];
    vy_diag_format(d, file, text, size, false, message, sizeof message);
    fprintf(stderr, "%s", message);
    return false;
}

// Parse, differentiate, optimise, compile.  NULL after a message.
static vy_compiled *differentiate(const char *file, const char *text, size_t size,
                                  vy_features features)
{
    vy_diag d = {0};
    vy_compiled *compiled = NULL;
    vy_module *module = vy_parse(text, size, file);
    if (!module) return NULL;
    vy_module *gradient = NULL;
    if (vy_module_ok(module))
        gradient = vy_grad(module, &(vy_grad_options){0}, &d);
    else
        d = *vy_module_diag(module);
    if (gradient && vy_optimize(gradient, &(vy_opt_options){.level = 2}))
        compiled =
            vy_compile_result(gradient, &(vy_spirv_options){.enabled = features, .validate = true},
                              &d);
    if (!compiled) show(&d, file, text, size);
    vy_module_free(gradient);
    vy_module_free(module);
    return compiled;
}

// Numbers separated by commas, stored as `type`; the caller frees them.  NULL if they are none.
static void *numbers(const char *list, const char *type, uint64_t *count)
{
    double *values = malloc((strlen(list) + 1) * sizeof *values);
    float *floats = (float *)values; // wide enough for either
    char *end;
    *count = 0;
    for (const char *at = list; values; at = end + 1) {
        double v = strtod(at, &end);
        if (end == at || (*end && *end != ',')) return free(values), NULL;
        if (strcmp(type, "f32") == 0)
            floats[*count] = (float)v;
        else
            values[*count] = v;
        ++*count;
        if (!*end) break;
    }
    return values;
}

// One NAME=VALUE: contents of a buffer, or a scalar.
static bool give(vkrt_plan *plan, const char *argument, vkrt_error *e)
{
    char name[64];
    const char *equals = strchr(argument, '=');
    const size_t n = equals ? (size_t)(equals - argument) : sizeof name;
    uint32_t index;
    uint64_t count;
    if (n >= sizeof name) {
        snprintf(e->text, sizeof e->text, "%.200s: NAME=VALUE is expected", argument);
        return false;
    }
    memcpy(name, argument, n);
    name[n] = 0;
    if (!vkrt_plan_find_buffer(plan, name, &index))
        return vkrt_plan_set_float(plan, name, strtod(equals + 1, NULL), e) == VKRT_OK;
    const char *type = vkrt_plan_buffer(plan, index).type;
    void *data = *type == 'f' && strcmp(type, "f16") ? numbers(equals + 1, type, &count) : NULL;
    if (!data) snprintf(e->text, sizeof e->text, "%s: f32 or f64 numbers are expected", name);
    bool ok = data && vkrt_plan_set_flat(plan, name, count, data, e) == VKRT_OK;
    free(data);
    return ok;
}

static bool print_result(vkrt_plan *plan, vkrt_buffer_info b, vkrt_error *e)
{
    void *data = malloc(b.bytes + 1);
    bool ok = data && vkrt_plan_read(plan, b.name, data, b.bytes, e) == VKRT_OK;
    if (ok) printf("%s =", b.name);
    for (uint64_t i = 0; ok && i < b.count; i++) {
        if (strcmp(b.type, "f32") == 0)
            printf(" %.9g", (double)((float *)data)[i]);
        else
            printf(" %.17g", ((double *)data)[i]);
    }
    if (ok) printf("\n");
    free(data);
    return ok;
}

// Upload, run, read back.
static bool compute(vkrt_device *device, const vy_plan *what, char **arguments, int count,
                    vkrt_error *e)
{
    vkrt_plan *plan;
    if (vkrt_plan_create(device, what, NULL, &plan, e)) return false;
    bool ok = true;
    for (int i = 0; ok && i < count; i++) ok = give(plan, arguments[i], e);
    ok = ok && vkrt_plan_run(plan, e) == VKRT_OK;
    for (uint32_t i = 0; ok && i < what->buffer_count; i++)
        if (what->buffers[i].role == VY_ROLE_OUT)
            ok = print_result(plan, vkrt_plan_buffer(plan, i), e);
    vkrt_plan_destroy(plan);
    return ok;
}

static char *read_file(const char *path, size_t *size)
{
    FILE *f = fopen(path, "rb");
    char *text = NULL;
    long end = -1;
    if (f && fseek(f, 0, SEEK_END) == 0) end = ftell(f);
    if (end >= 0) text = malloc((size_t)end + 1);
    if (text) {
        rewind(f);
        *size = fread(text, 1, (size_t)end, f);
    }
    if (f) fclose(f);
    return text;
}

int main(int argc, char **argv)
{
    size_t size = 0;
    char *text = argc > 1 ? read_file(argv[1], &size) : NULL;
    if (!text) {
        fprintf(stderr,
                argc > 1 ? "cannot read %s\n" : "usage: %s FILE.vyre NAME=VALUE[,VALUE] …\n",
                argv[argc > 1]);
        return 1;
    }
    vkrt_error e = {0};
    vkrt_instance *instance = NULL;
    vkrt_device *device = NULL;
    vy_compiled *gradient = NULL;
    bool ok = vkrt_instance_create(NULL, &instance, &e) == VKRT_OK &&
              vkrt_device_create(instance, NULL, &device, &e) == VKRT_OK;
    if (ok) gradient = differentiate(argv[1], text, size, vkrt_device_features(device));
    if (gradient) ok = compute(device, gradient->plans, argv + 2, argc - 2, &e);
    if (!ok) fprintf(stderr, "%s\n%s%s\n", e.text, *e.fix ? "fix: " : "", e.fix);
    // With VYRE_VALIDATION=1 the validation layers watch; they should have nothing to say.
    uint32_t messages = instance ? vkrt_instance_message_count(instance) : 0;
    for (uint32_t i = 0; i < messages && vkrt_instance_message(instance, i); i++)
        fprintf(stderr, "%s\n", vkrt_instance_message(instance, i));
    vkrt_device_destroy(device);
    vkrt_instance_destroy(instance);
    vy_compiled_free(gradient);
    free(text);
    return !(ok && gradient && !messages);
}
