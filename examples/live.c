// SPDX-License-Identifier: MIT
// live.c: an engine that trains while it draws, with its own device, buffers and command buffer.
//
//   live splats.vyre FRAMES STEPS          writes frame000.png, …; prints the loss after each
//
// Each frame is one command buffer, recorded once and submitted FRAMES times: STEPS steps of the
// training, then the picture, drawn from the same buffers that the training changes, then the
// engine's own copy of it to where the host looks.  Nothing that is trained ever leaves the device,
// and the engine needs no barrier of its own (vkrt/engine.h says which are recorded).  There is no
// window: instead of presenting a frame, it is written as a file.
#include "gpu.h"

#include "session/fit.h"
#include "session/load.h"

#include <cjson/cJSON.h>
#include <png.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { SIDE = 48, SPLATS = 50, PIXELS = SIDE * SIDE, CHANNELS = 3 };
enum { CENTRE, SHAPE, COLOUR, SEEN, PICTURE, SHOWN, BUFFERS };

typedef struct scene {
    gpu gpu;
    gpu_buffer buffers[BUFFERS]; // the engine's
    vkrt_device *device;         // the engine's, as Vyre sees it
    vkrt_storage *storages[BUFFERS];
    vys_session *session;
    vys_task *training, *drawing;
    vkrt_recording *recorded[2];
} scene;

static const struct {
    const char *name;
    uint32_t rank;
    uint64_t shape[3];
} shapes[BUFFERS] = {
    [CENTRE] = {"centre", 2, {SPLATS, 2}},
    [SHAPE] = {"shape", 2, {SPLATS, 3}},
    [COLOUR] = {"colour", 2, {SPLATS, 3}},
    [SEEN] = {"seen", 3, {SIDE, SIDE, CHANNELS}},
    [PICTURE] = {"picture", 3, {SIDE, SIDE, CHANNELS}},
    [SHOWN] = {"shown", 3, {SIDE, SIDE, CHANNELS}},
};

static bool is_good(vkrt_status status, const vkrt_error *e)
{
    if (status) fprintf(stderr, "%s: %s\n", e->text, e->fix);
    return !status;
}

// ---------------------------------------------------------------------------------------- engine
static bool make_buffers(scene *s)
{
    bool ok = true;
    for (int i = 0; ok && i < BUFFERS; i++) {
        uint64_t bytes = sizeof(float);
        for (uint32_t k = 0; k < shapes[i].rank; k++) bytes *= shapes[i].shape[k];
        vkrt_error e = {0};
        ok = gpu_make_buffer(&s->gpu, &s->buffers[i], bytes);
        const vkrt_storage_desc desc = {.size = sizeof desc,
                                        .vk_buffer = (uint64_t)s->buffers[i].handle,
                                        .mapped = s->buffers[i].mapped,
                                        .bytes = bytes};
        ok = ok && is_good(vkrt_storage_create(s->device, &desc, &s->storages[i], &e), &e);
    }
    return ok;
}

static bool open_engine(scene *s, vy_diag *d)
{
    cJSON *nothing = cJSON_CreateObject(); // no feature of Vulkan beyond 1.2 itself
    vkrt_error e = {0};
    bool ok = nothing && gpu_open(&s->gpu, nothing);
    cJSON_Delete(nothing);
    const vkrt_wrap_desc wrap = {.size = sizeof wrap,
                                 .instance = s->gpu.instance,
                                 .physical_device = s->gpu.physical,
                                 .device = s->gpu.device,
                                 .queue = s->gpu.queue,
                                 .queue_family = s->gpu.family,
                                 .api_version = VK_API_VERSION_1_2};
    ok = ok && is_good(vkrt_device_wrap(&wrap, NULL, &s->device, &e), &e) && make_buffers(s);
    return ok && vys_open(&(vys_session_desc){.use = s->device}, &s->session, d);
}

static void close_engine(scene *s)
{
    for (int i = 0; i < 2; i++) vkrt_recording_free(s->recorded[i]);
    vys_task_free(s->training);
    vys_task_free(s->drawing);
    vys_close(s->session);
    for (int i = 0; i < BUFFERS; i++) vkrt_storage_destroy(s->storages[i]);
    vkrt_device_destroy(s->device);
    for (int i = 0; i < BUFFERS && s->gpu.device; i++) gpu_free_buffer(&s->gpu, &s->buffers[i]);
    gpu_close(&s->gpu);
}

// ----------------------------------------------------------------------------------------- tasks
static bool bind(scene *s, vys_task *t, const char *name, int buffer, vy_diag *d)
{
    return vys_bind(t, name, VY_F32, shapes[buffer].rank, shapes[buffer].shape, s->storages[buffer],
                    0, d);
}

// What is to be learnt, drawn by a program of its own.
static bool draw_seen(scene *s, const vy_module *m, vy_diag *d)
{
    vys_task *t = NULL;
    const bool ok = vys_task_build(s->session, m, &(vys_settings){.program = "sunset"}, &t, d) &&
                    bind(s, t, "picture", SEEN, d) && vys_run(t, d);
    vys_task_free(t);
    return ok;
}

static void scatter(const scene *s)
{
    float *centre = s->buffers[CENTRE].mapped, *colour = s->buffers[COLOUR].mapped;
    for (int i = 0; i < SPLATS; i++) { // a lattice without visible rows
        centre[2 * i] = (float)((i * 618 + 309) % 1000) / 1000;
        centre[2 * i + 1] = ((float)i + 0.5f) / SPLATS;
        for (int c = 0; c < CHANNELS; c++) colour[CHANNELS * i + c] = 0.2f;
    }
}

static bool make_training(scene *s, const vy_module *m, uint32_t steps, vy_diag *d)
{
    static const char *const params[] = {"centre", "shape", "colour"};
    const vys_fit how = {.train = {.loss = "loss", .params = params, .param_count = 3, .lr = 0.05},
                         .steps = steps};
    scatter(s);
    bool ok =
        vys_fit_build(s->session, m, &how, &(vys_settings){.program = "splats"}, &s->training, d);
    for (int i = CENTRE; ok && i <= SEEN; i++) ok = bind(s, s->training, shapes[i].name, i, d);
    return ok && vys_prepare(s->training, d);
}

static bool make_drawing(scene *s, const vy_module *m, vy_diag *d)
{
    bool ok = vys_task_build(s->session, m, &(vys_settings){.program = "draw"}, &s->drawing, d);
    for (int i = CENTRE; ok && i <= COLOUR; i++) ok = bind(s, s->drawing, shapes[i].name, i, d);
    return ok && bind(s, s->drawing, "picture", PICTURE, d) && vys_prepare(s->drawing, d);
}

// ---------------------------------------------------------------------------------------- frames
static bool record_frame(scene *s)
{
    const VkCommandBuffer commands = s->gpu.commands;
    const VkCommandBufferBeginInfo begin = {.sType = VK_STRUCTURE_TYPE_COMMAND_BUFFER_BEGIN_INFO};
    const vkrt_record_desc desc = {.size = sizeof desc, .commands = commands};
    const VkBufferCopy all = {.size = sizeof(float) * PIXELS * CHANNELS};
    const VkMemoryBarrier to_host = {.sType = VK_STRUCTURE_TYPE_MEMORY_BARRIER,
                                     .srcAccessMask = VK_ACCESS_TRANSFER_WRITE_BIT,
                                     .dstAccessMask = VK_ACCESS_HOST_READ_BIT};
    vkrt_plan *plans[] = {vys_task_plan(s->training), vys_task_plan(s->drawing)};
    vkrt_error e = {0};
    if (!good(vkBeginCommandBuffer(commands, &begin), "vkBeginCommandBuffer")) return false;
    for (int i = 0; i < 2; i++)
        if (!is_good(vkrt_plan_record(plans[i], &desc, &s->recorded[i], &e), &e)) return false;
    vkCmdCopyBuffer(commands, s->buffers[PICTURE].handle, s->buffers[SHOWN].handle, 1, &all);
    vkCmdPipelineBarrier(commands, VK_PIPELINE_STAGE_TRANSFER_BIT, VK_PIPELINE_STAGE_HOST_BIT, 0, 1,
                         &to_host, 0, NULL, 0, NULL);
    return good(vkEndCommandBuffer(commands), "vkEndCommandBuffer");
}

static bool submit(scene *s)
{
    const VkSubmitInfo info = {.sType = VK_STRUCTURE_TYPE_SUBMIT_INFO,
                               .commandBufferCount = 1,
                               .pCommandBuffers = &s->gpu.commands};
    gpu *g = &s->gpu;
    return good(vkQueueSubmit(g->queue, 1, &info, g->fence), "vkQueueSubmit") &&
           good(vkWaitForFences(g->device, 1, &g->fence, VK_TRUE, UINT64_MAX), "waiting") &&
           good(vkResetFences(g->device, 1, &g->fence), "vkResetFences");
}

static bool write_frame(const scene *s, uint32_t frame)
{
    static unsigned char pixels[PIXELS * CHANNELS];
    const float *from = s->buffers[SHOWN].mapped;
    char path[40];
    png_image image = {.version = PNG_IMAGE_VERSION,
                       .width = SIDE,
                       .height = SIDE,
                       .format = PNG_FORMAT_RGB};
    for (int i = 0; i < PIXELS * CHANNELS; i++) {
        const float x = from[i] < 0 ? 0 : from[i] > 1 ? 1 : from[i];
        pixels[i] = (unsigned char)(255 * x + 0.5f);
    }
    snprintf(path, sizeof path, "frame%03u.png", frame);
    if (png_image_write_to_file(&image, path, 0, pixels, 0, NULL)) return true;
    fprintf(stderr, "%s: %s\n", path, image.message);
    return false;
}

static bool run_frames(scene *s, uint32_t frames, uint32_t steps)
{
    float *losses = calloc(steps, sizeof *losses);
    vkrt_error e = {0};
    bool ok = losses != NULL;
    for (uint32_t k = 0; ok && k < frames; k++) {
        ok = submit(s) && write_frame(s, k) &&
             is_good(vkrt_plan_read(vys_task_plan(s->training), "losses", losses,
                                    steps * sizeof *losses, &e),
                     &e);
        if (ok) printf("frame %u: loss %.6g\n", k, losses[steps - 1]);
    }
    free(losses);
    return ok;
}

int main(int argc, char **argv)
{
    scene s = {0};
    vy_module *m = NULL;
    vy_diag d = {0};
    char message[2000];
    if (argc != 4) return fprintf(stderr, "usage: live splats.vyre FRAMES STEPS\n"), 2;
    const uint32_t frames = (uint32_t)atoi(argv[2]), steps = (uint32_t)atoi(argv[3]);
    const bool ok = vys_load(argv[1], NULL, &m, &d) && open_engine(&s, &d) &&
                    draw_seen(&s, m, &d) && make_training(&s, m, steps, &d) &&
                    make_drawing(&s, m, &d) && record_frame(&s) && run_frames(&s, frames, steps);
    if (d.severity == VY_ERROR) {
        vy_module_diag_format(m, &d, false, message, sizeof message);
        fprintf(stderr, "%s", message);
    }
    close_engine(&s);
    vy_module_free(m);
    return !(ok && !s.gpu.messages);
}
