// SPDX-License-Identifier: MIT
// vulkan_only.c: runs the files that `vyre-grad … -o DIR` writes with Vulkan alone: without Vyre's
// libraries and runtime.
//
//   vulkan_only X.spv X.json NAME=VALUE[,VALUE…] …
//
// Everything it needs is in the manifest: bindings, buffer sizes, the layout of the parameters,
// group counts, the steps in order.  Every scalar and every `in` buffer is given on the command
// line.  For brevity all memory is visible to the host, and each dispatch is waited for.
// VYRE_VALIDATION=1 turns the validation layers on; any message makes the exit status 1.
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

static bool load(app *a, const char *spv, const char *json)
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

static bool read_arguments(app *a, char **arguments)
{
    const cJSON *item;
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
static bool make_buffers(app *a, char **arguments)
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

// ------------------------------------------------------------------------------------------- steps
// A fill or copy of all elements, or of those that the step names.
static bool part_of(app *a, const cJSON *step, const char *key, const buffer *b, uint64_t count,
                    uint64_t *first)
{
    int64_t v = 0;
    if (list(step, key) && !value_of(&a->values, string(step, key), 0, &v)) return false;
    *first = (uint64_t)v;
    return (*first <= b->count && count <= b->count - *first) ||
           wrong("a step goes beyond the end of %s", b->name);
}

static bool fill_or_copy(app *a, const cJSON *step, bool copy)
{
    buffer *to = find_buffer(a, string(step, copy ? "to" : "buffer"));
    buffer *from = to && copy ? find_buffer(a, string(step, "from")) : to;
    int64_t n;
    uint64_t at, from_at = 0;
    if (!to || !from) return false;
    n = (int64_t)to->count;
    if (list(step, "elements") && !value_of(&a->values, string(step, "elements"), 0, &n))
        return false;
    if (size_of(from->type) != size_of(to->type) ||
        (!list(step, "elements") && from->bytes != to->bytes))
        return wrong("a copy between unlike buffers");
    if (!part_of(a, step, "offset", to, (uint64_t)n, &at) ||
        !part_of(a, step, "from_offset", from, copy ? (uint64_t)n : 0, &from_at))
        return false;
    const uint32_t v = number(step, "value"), size = size_of(to->type);
    char *target = (char *)to->on.mapped + at * size;
    if (copy) memmove(target, (char *)from->on.mapped + from_at * size, (uint64_t)n * size);
    for (int64_t i = 0; !copy && i < n; i++) store(to->type, v, v, target + (uint64_t)i * size);
    return true;
}

static bool read_back(app *a, const cJSON *step)
{
    const buffer *b = find_buffer(a, string(step, "buffer"));
    int64_t i, value = 0;
    if (!b || !value_of(&a->values, string(step, "element"), 0, &i)) return false;
    if ((uint64_t)i >= b->count) return wrong("%s has no element %" PRId64, b->name, i);
    const char *at = (char *)b->on.mapped + (uint64_t)i * size_of(b->type);
    if (!strcmp(b->type, "i32"))
        value = *(const int32_t *)at;
    else
        memcpy(&value, at, size_of(b->type)); // little end first
    return symbols_set(&a->values, string(step, "symbol"), value, 0) || wrong("too many symbols");
}

static bool check(app *a, const cJSON *step)
{
    const bool equal = list(step, "equals") != NULL;
    int64_t v, limit;
    if (!value_of(&a->values, string(step, "value"), INT64_MIN, &v) ||
        !value_of(&a->values, string(step, equal ? "equals" : "below"), INT64_MIN, &limit))
        return false;
    return (equal ? v == limit : v >= 0 && v < limit) ||
           wrong("%s: %" PRId64 " and %" PRId64, string(step, "error"), v, limit);
}

// Runs `count` steps (-1: all) from `step` on.
static bool run_steps(app *a, const cJSON *step, int count)
{
    for (; step && count; step = step->next, count--) {
        const char *what = string(step, "do");
        bool ok = true;
        if (!strcmp(what, "fill") || !strcmp(what, "copy")) {
            ok = fill_or_copy(a, step, *what == 'c');
        } else if (!strcmp(what, "dispatch")) {
            ok = dispatch(a, step);
        } else if (!strcmp(what, "readback")) {
            ok = read_back(a, step);
        } else if (!strcmp(what, "check")) {
            ok = check(a, step);
        } else if (!strcmp(what, "test")) { // directly in a repeat
            int64_t goes_on;
            if (!value_of(&a->values, string(step, "value"), INT64_MIN, &goes_on)) return false;
            a->left = !goes_on;
            if (a->left) return true;
        } else if (!strcmp(what, "repeat")) {
            const int body = (int)number(step, "count");
            int64_t times;
            ok = value_of(&a->values, string(step, "times"), INT64_MIN, &times);
            a->left = false;
            for (int64_t t = 0; ok && t < times && !a->left; t++)
                ok = (symbols_set(&a->values, string(step, "symbol"), t, 0) ||
                      wrong("too many symbols")) &&
                     run_steps(a, step->next, body);
            a->left = false;
            for (int i = 0; i < body && step->next; i++, count -= count > 0) step = step->next;
        } else {
            return wrong("this example knows no step `%s`", what);
        }
        if (!ok) return false;
    }
    return true;
}

static void print_results(const app *a)
{
    for (uint32_t i = 0; i < a->buffer_count; i++) {
        const buffer *b = &a->buffers[i];
        if (strcmp(string(b->info, "role"), "out") && strcmp(string(b->info, "role"), "inout"))
            continue;
        printf("%s =", b->name);
        for (uint64_t k = 0; k < b->count; k++) {
            const char *at = (char *)b->on.mapped + k * size_of(b->type);
            int64_t integer = 0;
            memcpy(&integer, at, size_of(b->type));
            if (!strcmp(b->type, "f32"))
                printf(" %.9g", (double)*(float *)at);
            else if (!strcmp(b->type, "f64"))
                printf(" %.17g", *(double *)at);
            else if (!strcmp(b->type, "i32"))
                printf(" %" PRId32, (int32_t)integer);
            else
                printf(" %" PRId64, integer);
        }
        printf("\n");
    }
}

static void clean_up(app *a)
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

int main(int argc, char **argv)
{
    app a = {0};
    bool ok = argc >= 3 || wrong("usage: vulkan_only X.spv X.json NAME=VALUE[,VALUE…] …");
    ok = ok && load(&a, argv[1], argv[2]) && read_arguments(&a, argv + 3);
    // Every kernel lists the features that the entire module needs.
    ok = ok && gpu_open(&a.gpu, list(a.manifest, "kernels")->child) && make_buffers(&a, argv + 3) &&
         make_kernels(&a) && run_steps(&a, list(a.manifest, "steps")->child, -1);
    if (ok) print_results(&a);
    clean_up(&a);
    return !(ok && !a.gpu.messages);
}
