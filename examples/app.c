// SPDX-License-Identifier: MIT
// app.c: manifest, arguments and buffers.
#include "app.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

// ---------------------------------------------------------------------------------------- manifest
bool value_of(symbols *s, const char *expression, int64_t least, int64_t *value)
{
    if (!expression) return wrong("the manifest has no expression where one is needed");
    const char *why = evaluate(expression, s, value);
    if (why) return wrong("cannot evaluate `%s`: %s", expression, why);
    return *value >= least || wrong("`%s` is %" PRId64, expression, *value);
}

static char *read_file(const char *path, size_t *size)
{
    FILE *f = fopen(path, "rb");
    char *data = NULL;
    long end = -1;
    if (f && fseek(f, 0, SEEK_END) == 0) end = ftell(f);
    if (end >= 0) data = calloc(1, (size_t)end + 8);
    if (data) {
        rewind(f);
        *size = fread(data, 1, (size_t)end, f);
    }
    if (f) fclose(f);
    if (!data) wrong("cannot read %s", path);
    return data;
}

// Is this the module that the manifest was written with?  A run that was stopped may leave one of
// each.
static bool belongs(const app *a)
{
    const cJSON *module = list(a->manifest, "module");
    const unsigned char *bytes = (const unsigned char *)a->code;
    uint64_t hash = 0xcbf29ce484222325u; // FNV-1a
    for (size_t i = 0; i < a->code_bytes; i++) hash = (hash ^ bytes[i]) * 0x100000001b3u;
    char text[17];
    snprintf(text, sizeof text, "%016" PRIx64, hash);
    return number(module, "bytes") == a->code_bytes && strcmp(string(module, "fnv1a"), text) == 0;
}

bool load(app *a, const char *spv, const char *json)
{
    size_t size;
    a->code = (uint32_t *)read_file(spv, &a->code_bytes);
    a->text = a->code ? read_file(json, &size) : NULL;
    if (!a->text) return false;
    if (a->code_bytes < 20 || a->code_bytes % 4 || a->code[0] != 0x07230203)
        return wrong("%s is no SPIR-V module", spv);
    a->manifest = cJSON_Parse(a->text);
    if (number(a->manifest, "vyre") != 1) return wrong("%s is no Vyre manifest, version 1", json);
    if (!belongs(a)) return wrong("%s is of another run than %s: write both again", json, spv);
    if (!cJSON_IsArray(list(a->manifest, "steps"))) return wrong("%s describes no steps", json);
    return cJSON_GetArraySize(list(a->manifest, "kernels")) > 0 ||
           wrong("%s describes no kernel", json);
}

// ----------------------------------------------------------------------------- data from arguments
uint32_t size_of(const char *type)
{
    return !strcmp(type, "f64") || !strcmp(type, "i64") || !strcmp(type, "u64") ? 8 : 4;
}

void store(const char *type, double real, int64_t integer, void *to)
{
    if (!strcmp(type, "f32"))
        memcpy(to, &(float){(float)real}, sizeof(float));
    else if (!strcmp(type, "f64"))
        memcpy(to, &real, sizeof real);
    else
        memcpy(to, &integer, size_of(type)); // little end first
}

// VALUE[,VALUE…] into `to` (may be NULL), at most `most` of them.  Returns how many there are.
static uint64_t numbers(const char *text, const char *type, char *to, uint64_t most)
{
    uint64_t n = 0;
    for (const char *at = text; *at; at += strcspn(at, ","), at += *at == ',') {
        if (to && n < most)
            store(type, strtod(at, NULL), strtoll(at, NULL, 0), to + n * size_of(type));
        n++;
    }
    return n;
}

static const char *argument(char **arguments, const char *name)
{
    const size_t n = strlen(name);
    for (char **a = arguments; *a; a++)
        if (strncmp(*a, name, n) == 0 && (*a)[n] == '=') return *a + n + 1;
    return NULL;
}

bool read_arguments(app *a, char **arguments)
{
    const cJSON *item;
    a->values.expressions = list(a->manifest, "expressions");
    cJSON_ArrayForEach(item, list(a->manifest, "scalars"))
    {
        const char *name = string(item, "name"), *text = argument(arguments, name);
        if (!text) return wrong("give the scalar %s=VALUE (%s)", name, string(item, "type"));
        if (!symbols_set(&a->values, name, strtoll(text, NULL, 0), strtod(text, NULL)))
            return wrong("too many scalars for this example");
    }
    cJSON_ArrayForEach(item, list(a->manifest, "buffers"))
    {
        if (a->buffer_count == MAX_BUFFERS) return wrong("too many buffers for this example");
        buffer *b = &a->buffers[a->buffer_count++];
        *b = (buffer){.info = item, .name = string(item, "name"), .type = string(item, "type")};
        if (number(item, "element_size") != size_of(b->type))
            return wrong("%s: this example knows no %s", b->name, b->type);
        const char *text = argument(arguments, b->name);
        const bool needed = !strncmp(string(item, "role"), "in", 2); // in, inout
        if (!text && needed) return wrong("give the buffer %s=VALUE,…", b->name);
        char len[80];
        snprintf(len, sizeof len, "len(%.70s)", b->name);
        if (text && !symbols_set(&a->values, len, (int64_t)numbers(text, b->type, NULL, 0), 0))
            return wrong("too many buffers for this example");
    }
    return true;
}

// Elements of a buffer, once all names in its shape have values.
static bool measure(app *a, buffer *b)
{
    const cJSON *axis;
    b->count = 1;
    cJSON_ArrayForEach(axis, list(b->info, "shape"))
    {
        int64_t n;
        if (!value_of(&a->values, axis->valuestring, 0, &n)) return false;
        if (__builtin_mul_overflow(b->count, (uint64_t)n, &b->count)) b->count = UINT64_MAX;
    }
    if (b->count > a->gpu.limits.maxStorageBufferRange / size_of(b->type))
        return wrong("%s has %" PRIu64 " elements, more than the device allows", b->name, b->count);
    b->bytes = b->count * size_of(b->type);
    return true;
}

// Memory for its present size, which may depend on values read back or on counters.
static bool provide(app *a, buffer *b)
{
    if (!measure(a, b)) return false;
    if (b->on.handle && b->bytes <= b->room) return true;
    gpu_free_buffer(&a->gpu, &b->on);
    b->room = b->bytes;
    return gpu_make_buffer(&a->gpu, &b->on, b->bytes);
}

buffer *find_buffer(app *a, const char *name)
{
    for (uint32_t i = 0; i < a->buffer_count; i++)
        if (strcmp(a->buffers[i].name, name) == 0)
            return provide(a, &a->buffers[i]) ? &a->buffers[i] : NULL;
    wrong("the manifest names no buffer `%s`", name);
    return NULL;
}

// ----------------------------------------------------------------------------------------- buffers
// The caller's buffers; workspaces are created when a step needs them.
bool make_buffers(app *a, char **arguments)
{
    for (uint32_t i = 0; i < a->buffer_count; i++) {
        buffer *b = &a->buffers[i];
        const char *text = argument(arguments, b->name);
        if (!strcmp(string(b->info, "role"), "workspace")) continue;
        if (!provide(a, b)) return false;
        const uint64_t given = text ? numbers(text, b->type, b->on.mapped, b->count) : b->count;
        if (given != b->count)
            return wrong("%s has %" PRIu64 " elements, but %" PRIu64 " are given", b->name,
                         b->count, given);
    }
    return true;
}

void free_all(app *a)
{
    if (a->gpu.device) {
        vkDeviceWaitIdle(a->gpu.device);
        for (uint32_t i = 0; i < a->buffer_count; i++) gpu_free_buffer(&a->gpu, &a->buffers[i].on);
        free_kernels(a);
    }
    gpu_close(&a->gpu);
    cJSON_Delete(a->manifest);
    free(a->text);
    free(a->code);
}
