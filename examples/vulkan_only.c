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

int main(int argc, char **argv)
{
    app a = {0};
    bool ok = argc >= 3 || wrong("usage: vulkan_only X.spv X.json NAME=VALUE[,VALUE…] …");
    ok = ok && load(&a, argv[1], argv[2]) && read_arguments(&a, argv + 3);
    // Every kernel lists the features that the entire module needs.
    ok = ok && gpu_open(&a.gpu, list(a.manifest, "kernels")->child) && make_buffers(&a, argv + 3) &&
         make_kernels(&a) && run_steps(&a, list(a.manifest, "steps")->child, -1);
    if (ok) print_results(&a);
    free_all(&a);
    return !(ok && !a.gpu.messages);
}
