// SPDX-License-Identifier: MIT
// recorded.c: a training as one command buffer: what `fit` is measured against (tools/benchmark).
//
//   recorded X.spv X.json WINDOWS NAME=VALUE[,VALUE…] …
//
// The files are those of `fit --write-pipeline`.  One run of the pipeline is recorded once, as one
// command buffer with the barriers that the accesses in the manifest ask for, and submitted WINDOWS
// times.  After each the host waits and reads the losses.  Prints wall-clock and processor time of
// all windows in milliseconds, then the losses of the last one.
#include "app.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

typedef struct access {
    bool read, written; // since the last barrier
} access;

typedef struct tape {
    app a;
    access now[MAX_BUFFERS]; // by buffer of the app
    launch **launches;       // kept until the commands have run
    uint32_t count, room;
} tape;

// ---------------------------------------------------------------------------------------- barriers
static access *access_of(tape *t, const buffer *b) { return &t->now[b - t->a.buffers]; }

// Ordered after what was recorded before, where that touches the same buffer.
static void order(tape *t, const buffer *b, bool writes)
{
    enum { STAGES = VK_PIPELINE_STAGE_COMPUTE_SHADER_BIT | VK_PIPELINE_STAGE_TRANSFER_BIT };
    const VkMemoryBarrier barrier = {.sType = VK_STRUCTURE_TYPE_MEMORY_BARRIER,
                                     .srcAccessMask =
                                         VK_ACCESS_SHADER_WRITE_BIT | VK_ACCESS_TRANSFER_WRITE_BIT,
                                     .dstAccessMask = VK_ACCESS_SHADER_READ_BIT |
                                                      VK_ACCESS_SHADER_WRITE_BIT |
                                                      VK_ACCESS_TRANSFER_WRITE_BIT};
    const access *x = access_of(t, b);
    if (!x->written && !(writes && x->read)) return;
    vkCmdPipelineBarrier(t->a.gpu.commands, STAGES, STAGES, 0, 1, &barrier, 0, NULL, 0, NULL);
    memset(t->now, 0, sizeof t->now);
}

static void note(tape *t, const buffer *b, bool writes)
{
    access_of(t, b)->written |= writes;
    access_of(t, b)->read |= !writes;
}

static void fill(tape *t, const buffer *b, uint64_t first, uint64_t count)
{
    const uint32_t size = size_of(b->type);
    order(t, b, true);
    vkCmdFillBuffer(t->a.gpu.commands, b->on.handle, first * size, count * size, 0);
    note(t, b, true);
}

// ------------------------------------------------------------------------------------------- steps
static bool writes(const binding *n) { return strcmp(string(n->info, "access"), "in") != 0; }

static void record_launch(tape *t, const launch *l)
{
    for (uint32_t i = 0; i < l->binding_count; i++) {
        const binding *n = &l->bindings[i];
        if (n->clear && n->count) fill(t, n->b, n->first, n->count);
    }
    if (l->empty) return;
    for (uint32_t i = 0; i < l->binding_count; i++)
        order(t, l->bindings[i].b, writes(&l->bindings[i]));
    launch_record(l, t->a.gpu.commands);
    for (uint32_t i = 0; i < l->binding_count; i++)
        note(t, l->bindings[i].b, writes(&l->bindings[i]));
}

static bool record_dispatch(tape *t, const cJSON *step)
{
    if (t->count == t->room) {
        const uint32_t room = t->room * 2 + 64;
        launch **more = realloc(t->launches, room * sizeof(launch *));
        if (!more) return wrong("out of memory");
        t->launches = more, t->room = room;
    }
    launch *l = launch_make(&t->a, step);
    if (!l) return false;
    t->launches[t->count++] = l;
    record_launch(t, l);
    return true;
}

static bool record_fill(tape *t, const cJSON *step)
{
    const buffer *b = find_buffer(&t->a, string(step, "buffer"));
    if (!b) return false;
    if (list(step, "elements") || number(step, "value"))
        return wrong("recorded fills entire buffers with zeros only");
    fill(t, b, 0, b->count);
    return true;
}

// `count` steps (-1: all) from `step` on.
static bool record_steps(tape *t, const cJSON *step, int count)
{
    for (; step && count; step = step->next, count--) {
        const char *what = string(step, "do");
        bool ok = true;
        if (!strcmp(what, "dispatch")) {
            ok = record_dispatch(t, step);
        } else if (!strcmp(what, "fill")) {
            ok = record_fill(t, step);
        } else if (!strcmp(what, "repeat")) {
            const int body = (int)number(step, "count");
            int64_t times;
            ok = value_of(&t->a.values, string(step, "times"), INT64_MIN, &times);
            for (int64_t k = 0; ok && k < times; k++)
                ok = symbols_set(&t->a.values, string(step, "symbol"), k, 0) &&
                     record_steps(t, step->next, body);
            for (int i = 0; i < body && step->next; i++, count -= count > 0) step = step->next;
        } else if (strcmp(what, "check") != 0) {
            return wrong("recorded knows no step `%s`", what);
        }
        if (!ok) return false;
    }
    return true;
}

static bool record(tape *t)
{
    const VkCommandBufferBeginInfo begin = {.sType = VK_STRUCTURE_TYPE_COMMAND_BUFFER_BEGIN_INFO};
    const VkMemoryBarrier to_host = {.sType = VK_STRUCTURE_TYPE_MEMORY_BARRIER,
                                     .srcAccessMask = VK_ACCESS_SHADER_WRITE_BIT,
                                     .dstAccessMask = VK_ACCESS_HOST_READ_BIT};
    const VkCommandBuffer commands = t->a.gpu.commands;
    if (!good(vkBeginCommandBuffer(commands, &begin), "vkBeginCommandBuffer") ||
        !record_steps(t, list(t->a.manifest, "steps")->child, -1))
        return false;
    vkCmdPipelineBarrier(commands, VK_PIPELINE_STAGE_COMPUTE_SHADER_BIT, VK_PIPELINE_STAGE_HOST_BIT,
                         0, 1, &to_host, 0, NULL, 0, NULL);
    return good(vkEndCommandBuffer(commands), "vkEndCommandBuffer");
}

// ------------------------------------------------------------------------------------------- times
static double milliseconds(clockid_t clock)
{
    struct timespec now;
    clock_gettime(clock, &now);
    return (double)now.tv_sec * 1e3 + (double)now.tv_nsec * 1e-6;
}

static bool run_window(const gpu *g)
{
    const VkSubmitInfo submit = {.sType = VK_STRUCTURE_TYPE_SUBMIT_INFO,
                                 .commandBufferCount = 1,
                                 .pCommandBuffers = &g->commands};
    return good(vkResetFences(g->device, 1, &g->fence), "vkResetFences") &&
           good(vkQueueSubmit(g->queue, 1, &submit, g->fence), "vkQueueSubmit") &&
           good(vkWaitForFences(g->device, 1, &g->fence, VK_TRUE, UINT64_MAX), "vkWaitForFences");
}

static bool measure_windows(tape *t, long count)
{
    const buffer *losses = find_buffer(&t->a, "losses");
    float *read = losses ? malloc(losses->bytes + 1) : NULL;
    const double wall = milliseconds(CLOCK_MONOTONIC), cpu = milliseconds(CLOCK_PROCESS_CPUTIME_ID);
    bool ok = read != NULL;
    for (long i = 0; ok && i < count; i++) {
        ok = run_window(&t->a.gpu);
        memcpy(read, losses->on.mapped, losses->bytes);
    }
    if (ok) {
        printf("%.6f\n", milliseconds(CLOCK_MONOTONIC) - wall);
        printf("%.6f\n", milliseconds(CLOCK_PROCESS_CPUTIME_ID) - cpu);
        for (uint64_t i = 0; i < losses->count; i++) printf("%.9g ", (double)read[i]);
        printf("\n");
    }
    free(read);
    return ok;
}

int main(int argc, char **argv)
{
    tape t = {0};
    app *a = &t.a;
    bool ok = argc >= 4 || wrong("usage: recorded X.spv X.json WINDOWS NAME=VALUE[,VALUE…] …");
    ok = ok && load(a, argv[1], argv[2]) && read_arguments(a, argv + 4) &&
         gpu_open(&a->gpu, list(a->manifest, "kernels")->child) && make_buffers(a, argv + 4) &&
         make_kernels(a) && record(&t) && measure_windows(&t, strtol(argv[3], NULL, 10));
    if (a->gpu.device) vkDeviceWaitIdle(a->gpu.device);
    for (uint32_t i = 0; i < t.count; i++) launch_free(t.launches[i]);
    free(t.launches);
    free_all(a);
    return !(ok && !a->gpu.messages);
}
