// SPDX-License-Identifier: MIT
// test_engine.c: vkrt/engine.h inside a small engine (engine.c): its buffers, command buffers and
// semaphores, with the validation layers silent.
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <malloc.h>
#include <stdlib.h>
#include <string.h>

#include "vkrt/engine.h"

#include "tests/unit/vkrt/engine.h"
#include "tests/unit/vkrt/vkrt_kernels.h"

#define STORAGE(...) (&(vkrt_storage_desc){.size = sizeof(vkrt_storage_desc), __VA_ARGS__})
#define SHAPE(n) ((uint64_t[]){n})

static engine e;
static vkrt_device *device; // e's
static vkrt_error error;

static void ok(vkrt_status status)
{
    if (status) print_error("%s: %s (%s)\n", vkrt_status_text(status), error.text, error.fix);
    assert_int_equal(status, VKRT_OK);
}

static void fails(vkrt_status status, vkrt_status expected, const char *words)
{
    assert_int_equal(status, expected);
    if (!strstr(error.text, words)) fail_msg("'%s' lacks '%s'", error.text, words);
    assert_true(error.fix[0] != '\0');
}

static void needs_device(void)
{
    if (!device) skip();
}

static vkrt_plan *plan_for(const vy_kernel *kernel)
{
    vkrt_plan *plan;
    ok(vkrt_plan_create_for_kernel(device, kernel, NULL, &plan, &error));
    return plan;
}

static vkrt_storage *storage_of(const engine_buffer *b, uint64_t offset, uint64_t bytes,
                                bool mapped)
{
    vkrt_storage *s;
    ok(vkrt_storage_create(device,
                           STORAGE(.vk_buffer = (uint64_t)b->handle, .offset = offset,
                                   .bytes = bytes, .mapped = mapped ? b->mapped + offset : NULL),
                           &s, &error));
    return s;
}

static void bind(vkrt_plan *plan, const char *name, uint64_t n, vkrt_storage *s, uint64_t offset)
{
    ok(vkrt_plan_bind(plan, name, 1, SHAPE(n), s, offset, &error));
}

static vkrt_device *wrap(const VkAllocationCallbacks *callbacks)
{
    const vkrt_wrap_desc wrap = {.size = sizeof wrap,
                                 .instance = e.instance,
                                 .physical_device = e.physical,
                                 .device = e.device,
                                 .queue = e.queue,
                                 .api_version = VK_API_VERSION_1_2,
                                 .loader = (vkrt_loader)e.get};
    const vkrt_device_desc desc = {.size = sizeof desc, .cache_dir = "", .allocator = callbacks};
    vkrt_device *d;
    ok(vkrt_device_wrap(&wrap, &desc, &d, &error));
    return d;
}

// --- Buffers -------------------------------------------------------------------------------------

enum { N = 100, GAP = 512, ROOM = 4096 };

// acc += x on parts of one buffer of the engine's: only those are read and written.
static void run_in_parts(bool mapped)
{
    engine_buffer b = engine_make(&e, 2 * ROOM);
    float *x = (float *)(b.mapped + GAP), *acc = (float *)(b.mapped + ROOM + GAP);
    memset(b.mapped, 0x55, 2 * ROOM);
    for (int i = 0; i < N; i++) x[i] = (float)i, acc[i] = 1;
    vkrt_storage *first = storage_of(&b, 256, ROOM - 256, mapped);
    vkrt_storage *second = storage_of(&b, ROOM, ROOM, mapped);
    vkrt_plan *plan = plan_for(&add_kernel);
    bind(plan, "x", N, first, GAP - 256);
    bind(plan, "acc", N, second, GAP);
    ok(vkrt_plan_run(plan, &error));
    ok(vkrt_plan_run(plan, &error)); // goes on from there
    assert_int_equal(vkrt_plan_stats(plan).recorded, 0);
    assert_int_equal(vkrt_plan_stats(plan).uploaded_bytes, 0);
    assert_int_equal(vkrt_plan_stats(plan).device_bytes, 0);
    for (int i = 0; i < N; i++) assert_true(acc[i] == 1 + 2 * (float)i && x[i] == (float)i);
    for (int i = 0; i < 2 * ROOM; i++) {
        const int in = i % ROOM;
        if (in < GAP || in >= GAP + 4 * N) assert_int_equal(b.mapped[i], 0x55);
    }
    float part[3];
    ok(vkrt_plan_read_part(plan, "acc", 40, part, sizeof part, &error));
    assert_true(part[0] == 21 && part[2] == 25);
    ok(vkrt_plan_write_part(plan, "x", 8, (float[]){-1, -2}, 8, &error));
    assert_true(x[1] == 1 && x[2] == -1 && x[3] == -2 && x[4] == 4);
    vkrt_plan_destroy(plan);
    vkrt_storage_destroy(first);
    vkrt_storage_destroy(second);
    engine_free(&e, &b);
}

static void test_buffers_of_the_engine(void **state)
{
    (void)state;
    needs_device();
    run_in_parts(true);
    run_in_parts(false);
}

// Fills and copies of elements of every size leave what is beside them alone.
enum { B_BYTES, B_HALVES, B_DOUBLES, B_COPY, KINDS };
static const vy_plan_buffer kinds[] = {
    {"bytes", VY_ROLE_OUT, "u8", 1, 1, n_dims},
    {"halves", VY_ROLE_OUT, "f16", 2, 1, n_dims},
    {"doubles", VY_ROLE_OUT, "f64", 8, 1, n_dims},
    {"copy", VY_ROLE_OUT, "u8", 1, 1, n_dims},
};
// The last byte alone: Vulkan fills words, so it is copied.
static const vy_expr kind_exprs[] = {SYMBOL_EXPR(0),
                                     CONST_EXPR(1),
                                     {.op = VY_EXPR_SUB, .a = 0, .b = 1}};
static const vy_plan_part last = {.offset = 2, .count = 1};
static const vy_plan_step kind_steps[] = {
    {.kind = VY_STEP_FILL, .buffer = B_BYTES, .pattern = 7},
    {.kind = VY_STEP_FILL, .buffer = B_HALVES, .pattern = 0x3c01},
    {.kind = VY_STEP_FILL, .buffer = B_DOUBLES, .pattern = 0x3ff0000000000000},
    {.kind = VY_STEP_COPY, .buffer = B_COPY, .source = B_BYTES},
    {.kind = VY_STEP_FILL, .buffer = B_BYTES, .pattern = 9, .part = &last},
};

static void check_kinds(const engine_buffer *b, uint32_t n)
{
    const unsigned char *at = (const unsigned char *)b->mapped;
    for (int k = 0; k < KINDS; k++) {
        const uint64_t size = n * kinds[k].elem_size, words = (size + 3) / 4 * 4;
        for (uint64_t i = 0; i < ROOM; i++)
            if (i < 256 || i >= 256 + words) assert_int_equal(at[(uint64_t)k * ROOM + i], 0x55);
    }
    for (uint32_t i = 0; i < n; i++) {
        const char *element = b->mapped + 256;
        assert_int_equal(element[B_BYTES * ROOM + i], i + 1 < n ? 7 : 9);
        assert_int_equal(((const uint16_t *)(element + B_HALVES * ROOM))[i], 0x3c01);
        assert_true(((const double *)(element + B_DOUBLES * ROOM))[i] == 1.0);
        assert_int_equal(element[B_COPY * ROOM + i], 7);
    }
}

static void test_fills(void **state)
{
    (void)state;
    needs_device();
    const vy_plan p = {"kinds",
                       NULL,
                       0,
                       kinds,
                       KINDS,
                       n_symbols,
                       1,
                       kind_exprs,
                       COUNT(kind_exprs),
                       kind_steps,
                       COUNT(kind_steps)};
    const uint32_t sizes[] = {1, 3, 101, 400};
    for (size_t i = 0; i < COUNT(sizes); i++) {
        engine_buffer b = engine_make(&e, KINDS * ROOM);
        memset(b.mapped, 0x55, KINDS * ROOM);
        vkrt_storage *s = storage_of(&b, 0, KINDS * ROOM, false);
        vkrt_plan *plan;
        ok(vkrt_plan_create(device, &p, NULL, &plan, &error));
        ok(vkrt_plan_set_int(plan, "N", sizes[i], &error));
        for (uint64_t k = 0; k < KINDS; k++) bind(plan, kinds[k].name, sizes[i], s, k * ROOM + 256);
        ok(vkrt_plan_run(plan, &error));
        check_kinds(&b, sizes[i]);
        vkrt_plan_destroy(plan);
        vkrt_storage_destroy(s);
        engine_free(&e, &b);
    }
}

// One plan writes what the next reads, both in flight at once; nothing goes through the host.
static void test_shared_storage(void **state)
{
    (void)state;
    needs_device();
    vkrt_storage *y;
    float x[N], got[N];
    for (int i = 0; i < N; i++) x[i] = (float)i;
    ok(vkrt_storage_create(device, STORAGE(.bytes = sizeof x, .host_visible = true), &y, &error));
    assert_non_null(vkrt_storage_mapped(y));
    assert_true(vkrt_storage_bytes(y) == sizeof x && vkrt_storage_buffer(y, NULL) != 0);
    vkrt_plan *affine = plan_for(&affine_kernel), *add = plan_for(&add_kernel);
    ok(vkrt_plan_set_float(affine, "a", 3, &error));
    ok(vkrt_plan_set_buffer(affine, "x", 1, SHAPE(N), x, &error));
    ok(vkrt_plan_set_buffer(add, "acc", 1, SHAPE(N), NULL, &error));
    bind(affine, "y", N, y, 0);
    bind(add, "x", N, y, 0);
    vkrt_storage_destroy(y); // the plans hold it
    ok(vkrt_plan_submit(affine, &error));
    ok(vkrt_plan_submit(add, &error));
    fails(vkrt_storage_read(y, 0, got, 4, &error), VKRT_BUSY, "running");
    ok(vkrt_plan_wait(affine, UINT64_MAX, &error));
    ok(vkrt_plan_wait(add, UINT64_MAX, &error));
    ok(vkrt_plan_read(add, "acc", got, sizeof got, &error));
    for (int i = 0; i < N; i++) assert_true(got[i] == 3 * (float)i + 1);
    const float *seen = vkrt_storage_mapped(y);
    ok(vkrt_storage_read(y, 4, got, 8, &error));
    assert_true(seen[1] == 4 && got[0] == 4 && got[1] == 7);
    ok(vkrt_storage_write(y, 0, x, sizeof x, &error));
    ok(vkrt_plan_run(add, &error));
    ok(vkrt_plan_read(add, "acc", got, sizeof got, &error));
    for (int i = 0; i < N; i++) assert_true(got[i] == 4 * (float)i + 1);
    ok(vkrt_plan_set_buffer(add, "x", 1, SHAPE(N), x, &error)); // memory of its own again
    vkrt_plan_destroy(affine);
    ok(vkrt_plan_run(add, &error));
    vkrt_plan_destroy(add);
}

static void test_wrong_bindings(void **state)
{
    (void)state;
    needs_device();
    vkrt_storage *s, *none;
    float x[N] = {0};
    ok(vkrt_storage_create(device, STORAGE(.bytes = ROOM), &s, &error));
    vkrt_plan *plan = plan_for(&add_kernel);
    fails(vkrt_plan_bind(plan, "z", 1, SHAPE(N), s, 0, &error), VKRT_BAD_ARGUMENT, "no buffer 'z'");
    fails(vkrt_plan_bind(plan, "x", 2, (uint64_t[]){1, N}, s, 0, &error), VKRT_BAD_SHAPE, "1 axes");
    fails(vkrt_plan_bind(plan, "x", 1, SHAPE(N), s, 4, &error), VKRT_UNALIGNED, "multiples");
    fails(vkrt_plan_bind(plan, "x", 1, SHAPE(ROOM), s, 0, &error), VKRT_BAD_ARGUMENT,
          "needs 16384");
    fails(vkrt_plan_bind(plan, "x", 1, SHAPE(1), s, 2 * ROOM, &error), VKRT_BAD_ARGUMENT, "has 0");
    bind(plan, "x", N, s, 0);
    bind(plan, "acc", N, s, 256);
    fails(vkrt_plan_run(plan, &error), VKRT_BAD_ARGUMENT, "overlaps");
    bind(plan, "acc", N, s, 1024);
    ok(vkrt_storage_write(s, 0, x, sizeof x, &error));
    ok(vkrt_storage_write(s, 1024, x, sizeof x, &error));
    ok(vkrt_plan_run(plan, &error));
    fails(vkrt_storage_write(s, ROOM - 4, x, 8, &error), VKRT_BAD_ARGUMENT, "8 bytes");
    fails(vkrt_storage_write(s, 0, NULL, 8, &error), VKRT_BAD_ARGUMENT, "no data");
    fails(vkrt_plan_read_part(plan, "acc", 396, x, 8, &error), VKRT_BAD_ARGUMENT, "has 400");
    ok(vkrt_plan_bind(plan, "x", 0, NULL, NULL, 0, &error));
    fails(vkrt_plan_run(plan, &error), VKRT_UNSET, "no contents");
    fails(vkrt_storage_create(device, STORAGE(0), &none, &error), VKRT_BAD_ARGUMENT, "no bytes");
    fails(vkrt_storage_create(device, STORAGE(.bytes = 6, .vk_buffer = 1), &none, &error),
          VKRT_BAD_ARGUMENT, "words");
    fails(vkrt_storage_create(device, STORAGE(.bytes = 8, .vk_buffer = 1, .offset = 8), &none,
                              &error),
          VKRT_UNALIGNED, "byte 8");
    fails(vkrt_storage_create(device, STORAGE(.bytes = 8, .mapped = x), &none, &error),
          VKRT_BAD_ARGUMENT, "caller's");
    vkrt_plan_destroy(plan);
    plan = plan_for(&affine_kernel);
    fails(vkrt_plan_write_part(plan, "y", 0, x, 4, &error), VKRT_UNSET, "no contents");
    bind(plan, "y", N, s, 0);
    fails(vkrt_plan_write_part(plan, "y", 0, x, 4, &error), VKRT_BAD_ARGUMENT, "by the plan");
    vkrt_plan_destroy(plan);
    vkrt_storage_destroy(s);
}

// A descriptor of another version: shorter ones are filled up, unknown members must be zero.
static void test_sizes_of_descriptors(void **state)
{
    (void)state;
    needs_device();
    struct {
        vkrt_storage_desc known;
        uint64_t later;
    } d = {.known = {.size = sizeof d, .bytes = 16}};
    vkrt_storage *s;
    ok(vkrt_storage_create(device, &d.known, &s, &error));
    vkrt_storage_destroy(s);
    d.later = 1;
    fails(vkrt_storage_create(device, &d.known, &s, &error), VKRT_BAD_ARGUMENT, "does not know");
    d.known.size = 0;
    fails(vkrt_storage_create(device, &d.known, &s, &error), VKRT_BAD_ARGUMENT, "size is 0");
    d.known.size = offsetof(vkrt_storage_desc, vk_buffer);
    d.known.vk_buffer = 0xbad; // beyond what the size covers
    ok(vkrt_storage_create(device, &d.known, &s, &error));
    assert_true(vkrt_storage_buffer(s, NULL) != 0xbad);
    vkrt_storage_destroy(s);
}

// --- Command buffers -----------------------------------------------------------------------------

// The engine fills x, our run adds it to acc, the engine copies acc to where the host looks: no
// barrier of the engine's, synchronisation validation silent.
static void test_recorded(void **state)
{
    (void)state;
    needs_device();
    engine_buffer b = engine_make(&e, 3 * ROOM);
    vkrt_storage *s = storage_of(&b, 0, 3 * ROOM, true);
    vkrt_plan *plan = plan_for(&add_kernel);
    vkrt_recording *r;
    bind(plan, "x", N, s, 0);
    bind(plan, "acc", N, s, ROOM);
    VkCommandBuffer commands = engine_begin(&e);
    const float two = 2;
    uint32_t bits;
    memcpy(&bits, &two, 4);
    memset(b.mapped, 0, 3 * ROOM);
    e.CmdFillBuffer(commands, b.handle, 0, 4 * N, bits);
    ok(vkrt_plan_record(plan,
                        &(vkrt_record_desc){.size = sizeof(vkrt_record_desc),
                                            .commands = commands,
                                            .before = VK_PIPELINE_STAGE_TRANSFER_BIT},
                        &r, &error));
    e.CmdCopyBuffer(commands, b.handle, b.handle, 1,
                    &(VkBufferCopy){ROOM, 2 * ROOM, sizeof(float) * N});
    assert_int_equal(e.EndCommandBuffer(commands), VK_SUCCESS);
    for (int times = 1; times <= 3; times++) {
        engine_submit(&e, commands);
        const float *seen = (const float *)(b.mapped + 2 * ROOM);
        for (int i = 0; i < N; i++) assert_true(seen[i] == 2 * (float)times);
    }
    fails(vkrt_plan_bind(plan, "x", 1, SHAPE(N), s, 256, &error), VKRT_BUSY, "recorded");
    fails(vkrt_plan_set_buffer(plan, "x", 1, SHAPE(N), NULL, &error), VKRT_BUSY, "recorded");
    float acc[N];
    ok(vkrt_plan_read(plan, "acc", acc, sizeof acc, &error));
    assert_true(acc[0] == 6 && acc[N - 1] == 6);
    ok(vkrt_plan_run(plan, &error)); // by itself as well
    ok(vkrt_plan_read(plan, "acc", acc, sizeof acc, &error));
    assert_true(acc[0] == 8);
    vkrt_recording_free(r);
    bind(plan, "x", N, s, 256);
    vkrt_plan_destroy(plan);
    vkrt_storage_destroy(s);
    engine_free(&e, &b);
}

static void test_not_recordable(void **state)
{
    (void)state;
    needs_device();
    static const vy_plan_buffer buffers[] = {{"y", VY_ROLE_OUT, "u32", 4, 1, n_dims}};
    static const vy_plan_step steps[] = {
        {.kind = VY_STEP_FILL, .buffer = 0, .pattern = 1},
        {.kind = VY_STEP_READBACK, .buffer = 0, .expr = 0, .symbol = 1},
    };
    static const vy_symbol symbols[] = {{.name = "N", .type = "u32"},
                                        {.name = "v", .kind = VY_SYMBOL_READBACK, .type = "u32"}};
    const vy_plan p = {"reads", NULL, 0, buffers, 1, symbols, 2, n_exprs, 1, steps, COUNT(steps)};
    vkrt_plan *plan;
    vkrt_recording *r;
    ok(vkrt_plan_create(device, &p, NULL, &plan, &error));
    ok(vkrt_plan_set_int(plan, "N", 4, &error));
    VkCommandBuffer commands = engine_begin(&e);
    vkrt_record_desc d = {.size = sizeof d, .commands = commands};
    fails(vkrt_plan_record(plan, &d, &r, &error), VKRT_LIMIT, "reads values back");
    assert_null(r);
    d.commands = NULL;
    fails(vkrt_plan_record(plan, &d, &r, &error), VKRT_BAD_ARGUMENT, "NULL");
    vkrt_plan_destroy(plan);
}

// --- Semaphores ----------------------------------------------------------------------------------

static void set_value(VkSemaphore s, uint64_t value)
{
    const VkSemaphoreSignalInfo info = {.sType = VK_STRUCTURE_TYPE_SEMAPHORE_SIGNAL_INFO,
                                        .semaphore = s,
                                        .value = value};
    assert_int_equal(e.SignalSemaphore(e.device, &info), VK_SUCCESS);
}

// A run waits for the engine, and the engine for the run; also of a plan whose steps end with a
// value read back, and of one that has nothing to do.
static void run_between(vkrt_plan *plan)
{
    VkSemaphore before = engine_timeline(&e), after = engine_timeline(&e);
    const vkrt_semaphore wait = {(uint64_t)before, 5}, signal = {(uint64_t)after, 7};
    const vkrt_submit_desc d = {
        .size = sizeof d, .waits = &wait, .wait_count = 1, .signals = &signal, .signal_count = 1};
    ok(vkrt_plan_submit_with(plan, &d, &error));
    const VkSemaphoreWaitInfo info = {.sType = VK_STRUCTURE_TYPE_SEMAPHORE_WAIT_INFO,
                                      .semaphoreCount = 1,
                                      .pSemaphores = &after,
                                      .pValues = &signal.value};
    assert_int_equal(e.WaitSemaphores(e.device, &info, 30000000), VK_TIMEOUT);
    set_value(before, 5);
    ok(vkrt_plan_wait(plan, UINT64_MAX, &error));
    assert_int_equal(e.WaitSemaphores(e.device, &info, 5000000000), VK_SUCCESS);
    e.QueueWaitIdle(e.queue);
    e.DestroySemaphore(e.device, before, NULL);
    e.DestroySemaphore(e.device, after, NULL);
}

static void test_semaphores(void **state)
{
    (void)state;
    needs_device();
    vkrt_plan *plan = plan_for(&add_kernel);
    for (uint64_t n = 0; n <= 8; n += 8) { // nothing to do, too
        float acc[8] = {0};
        ok(vkrt_plan_set_buffer(plan, "x", 1, &n, (float[8]){1, 2, 3}, &error));
        ok(vkrt_plan_set_buffer(plan, "acc", 1, &n, NULL, &error));
        run_between(plan);
        ok(vkrt_plan_read(plan, "acc", acc, n * sizeof *acc, &error));
        assert_true(!n || (acc[0] == 1 && acc[2] == 3));
    }
    vkrt_plan_destroy(plan);
}

// --- Memory of the host --------------------------------------------------------------------------

typedef struct counts {
    uint64_t made, freed;
} counts;

static void *allocate(void *user, size_t size, size_t alignment, VkSystemAllocationScope scope)
{
    (void)scope;
    ((counts *)user)->made++;
    return aligned_alloc(alignment, (size + alignment - 1) / alignment * alignment);
}

static void release(void *user, void *memory)
{
    ((counts *)user)->freed += memory != NULL;
    free(memory);
}

static void *reallocate(void *user, void *old, size_t size, size_t alignment,
                        VkSystemAllocationScope scope)
{
    const size_t had = malloc_usable_size(old);
    void *moved = size ? allocate(user, size, alignment, scope) : NULL;
    if (moved && old) memcpy(moved, old, had < size ? had : size);
    release(user, old);
    return moved;
}

// Everything that a driver allocates for our objects it frees by the same functions.
static void test_allocators(void **state)
{
    (void)state;
    needs_device();
    counts n = {0};
    const VkAllocationCallbacks callbacks = {.pUserData = &n,
                                             .pfnAllocation = allocate,
                                             .pfnReallocation = reallocate,
                                             .pfnFree = release};
    vkrt_device *d = wrap(&callbacks);
    vkrt_plan *plan;
    float y[4];
    ok(vkrt_plan_create_for_kernel(d, &affine_kernel, NULL, &plan, &error));
    ok(vkrt_plan_set_float(plan, "a", 2, &error));
    ok(vkrt_plan_set_buffer(plan, "x", 1, SHAPE(4), (float[]){1, 2, 3, 4}, &error));
    ok(vkrt_plan_run(plan, &error));
    ok(vkrt_plan_read(plan, "y", y, sizeof y, &error));
    assert_true(y[3] == 9);
    vkrt_plan_destroy(plan);
    vkrt_device_destroy(d);
    assert_true(n.made > 20);
    assert_int_equal(n.made, n.freed);
}

// --- All -----------------------------------------------------------------------------------------

static int set_up(void **state)
{
    (void)state;
    if (engine_open(&e)) device = wrap(NULL); // else every test skips itself
    return 0;
}

static int after_each(void **state)
{
    (void)state;
    assert_int_equal(e.messages, 0);
    return 0;
}

static int tear_down(void **state)
{
    (void)state;
    vkrt_device_destroy(device);
    engine_close(&e);
    assert_int_equal(e.messages, 0);
    return 0;
}

int main(void)
{
#define TEST(name) cmocka_unit_test_teardown(name, after_each)
    const struct CMUnitTest tests[] = {
        TEST(test_buffers_of_the_engine),
        TEST(test_fills),
        TEST(test_shared_storage),
        TEST(test_wrong_bindings),
        TEST(test_sizes_of_descriptors),
        TEST(test_recorded),
        TEST(test_not_recordable),
        TEST(test_semaphores),
        TEST(test_allocators),
    };
    return cmocka_run_group_tests(tests, set_up, tear_down);
}
