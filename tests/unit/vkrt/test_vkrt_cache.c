// SPDX-License-Identifier: MIT
// test_vkrt_cache.c: compiled kernels, in memory and on disk: found again, released, bounded; and
// anything else under the name of a cache file.
#define _GNU_SOURCE
#include "vkrt/internal.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <dirent.h>
#include <fcntl.h>
#include <stdio.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#define vkrt_block vkrt_block_words // the runtime has a type of that name too
#include "tests/unit/vkrt/vkrt_kernels.h"
#include "spirv/kernel.h"

static vkrt_instance *instance;
static vkrt_error error;
static char folder[64]; // of this test, empty at its start

static void ok(vkrt_status status)
{
    if (status) print_error("%s: %s (%s)\n", vkrt_status_text(status), error.text, error.fix);
    assert_int_equal(status, VKRT_OK);
}

static void run_shell(const char *format, const char *argument)
{
    char command[512];
    snprintf(command, sizeof command, format, argument);
    assert_int_equal(system(command), 0);
}

#define NEEDS_DEVICE()                                                                             \
    (void)state;                                                                                   \
    if (!instance || vkrt_instance_device_count(instance) == 0) skip()

static vkrt_device *open_device(const char *dir)
{
    vkrt_device *d;
    vkrt_device_desc desc = {.cache_dir = dir};
    ok(vkrt_device_create(instance, &desc, &d, &error));
    return d;
}

// The affine kernel with a different generator word, which drivers ignore: another kernel.
typedef struct variant {
    vy_kernel kernel;
    uint32_t words[4096];
} variant;

static const vy_kernel *vary(variant *v, uint32_t number)
{
    v->kernel = affine_kernel;
    assert_true(affine_kernel.word_count <= COUNT(v->words));
    memcpy(v->words, affine_kernel.words, affine_kernel.word_count * sizeof(uint32_t));
    v->words[2] = number;
    v->kernel.words = v->words;
    return &v->kernel;
}

// ------------------------------------------------------------------------------------ found again
static vkrt_cache compile_cached(const char *dir)
{
    vkrt_device *d = open_device(dir);
    vkrt_cache first, second;
    ok(vkrt_device_compile(d, &affine_kernel, &first, &error));
    ok(vkrt_device_compile(d, &affine_kernel, &second, &error));
    assert_int_equal(second, VKRT_CACHE_MEMORY);
    vkrt_plan *plan;
    ok(vkrt_plan_create_for_kernel(d, &affine_kernel, NULL, &plan, &error));
    const char *name;
    assert_int_equal(vkrt_plan_kernel_cache(plan, 0, &name, NULL), VKRT_CACHE_MEMORY);
    assert_string_equal(name, "affine");
    vkrt_plan_destroy(plan);
    vkrt_device_destroy(d);
    return first;
}

// Starts a process that compiles kernels 0 … count − 1 in the folder.
static pid_t start_child(const char *dir, uint32_t count)
{
    char text[16];
    snprintf(text, sizeof text, "%u", count);
    pid_t child = fork();
    assert_true(child >= 0);
    if (child == 0) {
        setenv("VYRE_CACHE_DIR", dir, 1);
        setenv("VKRT_TEST_CACHE", text, 1);
        execl("/proc/self/exe", "test_vkrt_cache", (char *)NULL);
        _exit(99);
    }
    return child;
}

static int end_of(pid_t child)
{
    int status;
    assert_int_equal(waitpid(child, &status, 0), child);
    assert_true(WIFEXITED(status));
    return WEXITSTATUS(status);
}

// The exit status: 10 + how its last kernel was found.
static int child_main(uint32_t count)
{
    vkrt_instance_desc desc = {.validation = VKRT_VALIDATION_OFF};
    vkrt_device *d;
    vkrt_cache cache = VKRT_CACHE_MISS;
    variant v;
    if (vkrt_instance_create(&desc, &instance, &error) ||
        vkrt_device_create(instance, NULL, &d, &error))
        return 1;
    for (uint32_t i = 0; i < count; i++)
        if (vkrt_device_compile(d, count == 1 ? &affine_kernel : vary(&v, i), &cache, &error))
            return 2;
    vkrt_device_destroy(d);
    vkrt_instance_destroy(instance);
    return 10 + (int)cache;
}

static void test_found_again(void **state)
{
    NEEDS_DEVICE();
    char nested[80];
    snprintf(nested, sizeof nested, "%s/a/b", folder);
    assert_int_equal(compile_cached(nested), VKRT_CACHE_MISS);
    assert_int_equal(end_of(start_child(nested, 1)), 10 + VKRT_CACHE_DISK);
    assert_int_equal(compile_cached(nested), VKRT_CACHE_DISK);
    run_shell("for f in %s/*; do printf x | dd of=$f bs=1 seek=70 conv=notrunc 2>/dev/null; done",
              nested);
    assert_int_equal(compile_cached(nested), VKRT_CACHE_MISS); // and written anew
    assert_int_equal(end_of(start_child(nested, 1)), 10 + VKRT_CACHE_DISK);
    run_shell("for f in %s/*; do printf x >>$f; done", nested);
    assert_int_equal(compile_cached(nested), VKRT_CACHE_MISS);
    assert_int_equal(compile_cached("/dev/null/nowhere"), VKRT_CACHE_MISS);
    assert_int_equal(compile_cached(""), VKRT_CACHE_MISS);
}

// ------------------------------------------------------------------- something else in its place
// The cache may neither wait for it, follow it, nor keep it; reading a device or a pipe would hang.
static void test_something_else_in_its_place(void **state)
{
    NEEDS_DEVICE();
    static const struct {
        const char *make;
        vkrt_cache then;
    } cases[] = {
        {"for f in %1$s/*; do rm $f && mkfifo $f; done", VKRT_CACHE_DISK},
        {"for f in %1$s/*; do mv $f %1$s.real && ln -s %1$s.real $f; done", VKRT_CACHE_DISK},
        {"for f in %1$s/*; do rm $f && ln -s /dev/zero $f; done", VKRT_CACHE_DISK},
        {"for f in %1$s/*; do rm $f && ln -s nowhere $f; done", VKRT_CACHE_DISK},
        {"for f in %1$s/*; do : >$f; done", VKRT_CACHE_DISK},
        {"for f in %1$s/*; do rm $f && mkdir $f; done",
         VKRT_CACHE_MISS}, // stays, and there is no cache
    };
    for (size_t i = 0; i < COUNT(cases); i++) {
        compile_cached(folder);
        assert_int_equal(compile_cached(folder), VKRT_CACHE_DISK);
        run_shell(cases[i].make, folder);
        assert_int_equal(compile_cached(folder), VKRT_CACHE_MISS);
        assert_int_equal(compile_cached(folder), cases[i].then);
    }
    run_shell("test -z \"$(find %s -name '*.bin.*')\"", folder); // no unfinished file stays
    run_shell("rm %s.real", folder);
}

// ----------------------------------------------------------------------------------------- bounded
static void make_file(const char *name, size_t bytes, int age)
{
    char path[256];
    snprintf(path, sizeof path, "%s/%s", folder, name);
    int fd = open(path, O_WRONLY | O_CREAT | O_EXCL, 0600);
    assert_true(fd >= 0);
    char block[4096];
    memset(block, 'x', sizeof block);
    for (size_t at = 0; at < bytes; at += sizeof block)
        assert_int_equal(write(fd, block, sizeof block), sizeof block);
    const struct timespec then = {time(NULL) - age, 0};
    assert_int_equal(futimens(fd, (struct timespec[2]){then, then}), 0);
    close(fd);
}

static bool there(const char *name)
{
    char path[256];
    snprintf(path, sizeof path, "%s/%s", folder, name);
    return access(path, F_OK) == 0;
}

static void kernel_name(char name[80], int n)
{
    snprintf(name, 80, VKRT_CACHE_PREFIX "%016x-%032x" VKRT_CACHE_SUFFIX, 7, (unsigned)n);
    assert_int_equal(strlen(name), VKRT_CACHE_NAME_CHARS);
}

static void test_oldest_go_first(void **state)
{
    (void)state;
    char name[80], temporary[96];
    for (int n = 0; n < 40; n++) { // 40 of 64 KiB: 2.5 MiB; number 39 was used last
        kernel_name(name, n);
        make_file(name, 64 << 10, 1000 - n);
    }
    make_file("notes.txt", 4 << 20, 100000); // not the cache's
    make_file("vkrt-cache-of-mine.bin", 4096, 100000);
    make_file("pipelines-0-0-0-0.bin", 4096, 10); // of an earlier version
    kernel_name(name, 3);
    snprintf(temporary, sizeof temporary, "%s.AbCdEf", name);
    make_file(temporary, 4096, 7200); // of a process that was killed
    kernel_name(name, 4);
    snprintf(name + VKRT_CACHE_NAME_CHARS, 8, ".AbCdEf");
    make_file(name, 4096, 60); // being written
    setenv("VYRE_CACHE_MIB", "3", 1);
    vkrt_cache_trim(folder);
    kernel_name(temporary, 0);
    assert_true(there(temporary)); // within the limit: all stay
    setenv("VYRE_CACHE_MIB", "2", 1);
    vkrt_cache_trim(folder);
    unsetenv("VYRE_CACHE_MIB");
    assert_true(there("notes.txt") && there("vkrt-cache-of-mine.bin") && there(name));
    assert_false(there("pipelines-0-0-0-0.bin"));
    int left = 0, first = 40;
    for (int n = 39; n >= 0; n--) {
        kernel_name(name, n);
        if (there(name)) left++, first = n;
    }
    assert_int_equal(left, 24); // 1.5 MiB, three quarters of the limit
    assert_int_equal(first, 16);
    kernel_name(name, 3);
    strcat(name, ".AbCdEf");
    assert_false(there(name));
    vkrt_cache_trim("/dev/null/nowhere"); // no folder: nothing happens
    vkrt_cache_trim(NULL);
}

// Using a file renews it.
static void test_use_counts(void **state)
{
    NEEDS_DEVICE();
    vkrt_device *d = open_device(folder);
    vkrt_cache cache;
    ok(vkrt_device_compile(d, &affine_kernel, &cache, &error));
    vkrt_device_destroy(d);
    run_shell("touch -d '2 days ago' %s/*", folder);
    struct stat st;
    assert_int_equal(compile_cached(folder), VKRT_CACHE_DISK);
    run_shell("mv %1$s/vkrt-*.bin %1$s/x", folder);
    char path[96];
    snprintf(path, sizeof path, "%s/x", folder);
    assert_int_equal(stat(path, &st), 0);
    assert_true(time(NULL) - st.st_mtime < 24 * 3600);
}

// Several processes write, read and trim one folder; each compiles all kernels, and no partial file
// stays.
static void test_several_processes(void **state)
{
    NEEDS_DEVICE();
    enum { PROCESSES = 4, KERNELS = 80 };
    setenv("VYRE_CACHE_MIB", "0", 1); // trimming removes everything
    pid_t children[PROCESSES];
    for (int i = 0; i < PROCESSES; i++) children[i] = start_child(folder, KERNELS);
    for (int i = 0; i < PROCESSES; i++) {
        int how = end_of(children[i]);
        assert_true(how == 10 + VKRT_CACHE_MISS || how == 10 + VKRT_CACHE_DISK);
    }
    unsetenv("VYRE_CACHE_MIB");
    run_shell("test -z \"$(find %s -type f)\"", folder);
    assert_int_equal(end_of(start_child(folder, KERNELS)), 10 + VKRT_CACHE_MISS);
    assert_int_equal(end_of(start_child(folder, KERNELS)), 10 + VKRT_CACHE_DISK);
    run_shell("test $(ls %s | wc -l) = 80", folder);
}

// ---------------------------------------------------------------------------------------- released
static uint32_t kept(const vkrt_device *d)
{
    uint32_t count = 0;
    for (const vkrt_pipeline *p = d->pipelines; p; p = p->next) count++;
    return count;
}

static void test_released_with_the_plan(void **state)
{
    NEEDS_DEVICE();
    enum { MANY = 100 };
    static variant v[MANY];
    vkrt_device *d = open_device("");
    vkrt_plan *plans[MANY], *again;
    vkrt_cache cache;
    for (uint32_t i = 0; i < MANY; i++)
        ok(vkrt_plan_create_for_kernel(d, vary(&v[i], i), NULL, &plans[i], &error));
    assert_int_equal(kept(d), MANY); // in use: all stay
    ok(vkrt_plan_create_for_kernel(d, &v[5].kernel, NULL, &again, &error));
    assert_int_equal(kept(d), MANY); // one kernel, two plans
    for (uint32_t i = 0; i < MANY; i++) vkrt_plan_destroy(plans[i]);
    assert_int_equal(kept(d), VKRT_IDLE_PIPELINES + 1);
    ok(vkrt_device_compile(d, &v[5].kernel, &cache, &error));
    assert_int_equal(cache, VKRT_CACHE_MEMORY); // `again` uses it
    vkrt_plan_destroy(again);
    assert_int_equal(kept(d), VKRT_IDLE_PIPELINES);
    ok(vkrt_device_compile(d, &v[MANY - 1].kernel, &cache, &error));
    assert_int_equal(cache, VKRT_CACHE_MEMORY); // among the last
    ok(vkrt_device_compile(d, &v[6].kernel, &cache, &error));
    assert_int_equal(cache, VKRT_CACHE_MISS); // released
    for (uint32_t i = 0; i < MANY; i++) ok(vkrt_device_compile(d, vary(&v[0], i), NULL, &error));
    assert_int_equal(kept(d), VKRT_IDLE_PIPELINES);
    vkrt_device_destroy(d);
}

// --------------------------------------------------------------------------------------------- all
static int set_up(void **state)
{
    (void)state;
    setenv("VYRE_VALIDATION", "1", 1);
    vkrt_status status = vkrt_instance_create(NULL, &instance, &error);
    if (status == VKRT_NO_LOADER || status == VKRT_NO_DRIVER) return 0; // every test skips itself
    ok(status);
    return 0;
}

static int tear_down(void **state)
{
    (void)state;
    vkrt_instance_destroy(instance);
    return 0;
}

static int before_each(void **state)
{
    (void)state;
    strcpy(folder, "/tmp/vkrt-cache-XXXXXX");
    return mkdtemp(folder) ? 0 : -1;
}

static int after_each(void **state)
{
    (void)state;
    run_shell("rm -r %s", folder);
    const uint32_t count = instance ? vkrt_instance_message_count(instance) : 0;
    for (uint32_t i = 0; i < count; i++) print_error("%s\n", vkrt_instance_message(instance, i));
    return count ? -1 : 0;
}

int main(void)
{
    if (getenv("VKRT_TEST_CACHE")) return child_main((uint32_t)atoi(getenv("VKRT_TEST_CACHE")));
#define TEST(name) cmocka_unit_test_setup_teardown(name, before_each, after_each)
    const struct CMUnitTest tests[] = {
        TEST(test_found_again),       TEST(test_something_else_in_its_place),
        TEST(test_oldest_go_first),   TEST(test_use_counts),
        TEST(test_several_processes), TEST(test_released_with_the_plan),
    };
    return cmocka_run_group_tests(tests, set_up, tear_down);
}
