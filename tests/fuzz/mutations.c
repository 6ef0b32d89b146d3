// SPDX-License-Identifier: MIT
// mutations.c: tries mutations of SPIR-V modules on every build, without libFuzzer.
//
//   mutate_spirv SEED COUNT MODULE…    the same arguments give the same modules
//
// Each is written to mutated.spv before it is read: after a crash it is there.  One that takes
// longer than 5 seconds of processor time, or makes the process larger than 500 MB, is a finding
// (a sanitizer's build takes four times that).
#include "tests/fuzz/fuzz.h"

#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/time.h>
#include <unistd.h>

size_t LLVMFuzzerMutate(uint8_t *data, size_t size, size_t max);
size_t LLVMFuzzerCustomMutator(uint8_t *data, size_t size, size_t max, unsigned seed);

#ifdef VY_CHECKS // sanitizers, and the checker between passes
enum { SLOWER = 4 };
#else
enum { SLOWER = 1 };
#endif
enum { MOST_BYTES = 1 << 16, SECONDS = 5 * SLOWER, MEGABYTES = 500 * SLOWER, MOST_MUTATIONS = 6 };

static uint32_t state = 1;

static uint32_t next(uint32_t below) // xorshift
{
    state ^= state << 13, state ^= state >> 17, state ^= state << 5;
    return state % below;
}

// libFuzzer's own, where there is none: a byte.
size_t LLVMFuzzerMutate(uint8_t *data, size_t size, size_t max)
{
    (void)max;
    if (size) data[next((uint32_t)size)] ^= (uint8_t)(1u << next(8));
    return size;
}

static void too_long(int signal)
{
    (void)signal;
    static const char text[] = "finding: mutated.spv takes too long\n";
    if (write(2, text, sizeof text - 1)) _exit(1);
    _exit(1);
}

static void limit_time(int seconds)
{
    setitimer(ITIMER_PROF, &(struct itimerval){.it_value.tv_sec = seconds}, NULL);
}

static size_t read_module(const char *path, uint8_t *data)
{
    FILE *f = fopen(path, "rb");
    require(f != NULL, "%s cannot be read", path);
    const size_t size = fread(data, 1, MOST_BYTES, f);
    fclose(f);
    return size;
}

static void run(const uint8_t *data, size_t size)
{
    FILE *f = fopen("mutated.spv", "wb");
    require(f && fwrite(data, 1, size, f) == size && !fclose(f), "mutated.spv cannot be written");
    uint8_t *exact = malloc(size ? size : 1); // so that a sanitizer sees a read beyond it
    require(exact != NULL, "memory");
    memcpy(exact, data, size);
    limit_time(SECONDS);
    LLVMFuzzerTestOneInput(exact, size);
    limit_time(0);
    free(exact);
    struct rusage u;
    getrusage(RUSAGE_SELF, &u);
    require(u.ru_maxrss < MEGABYTES * 1024L, "mutated.spv takes %ld MB", u.ru_maxrss / 1024);
}

int main(int argc, char **argv)
{
    static uint8_t data[MOST_BYTES];
    require(argc > 3, "usage: mutate_spirv SEED COUNT MODULE…");
    const uint32_t seed = (uint32_t)strtoul(argv[1], NULL, 10);
    const uint32_t count = (uint32_t)strtoul(argv[2], NULL, 10);
    signal(SIGPROF, too_long);
    for (uint32_t k = 0; k < count; k++) {
        state = (seed + k) * 2654435761u | 1;
        for (int warm = 0; warm < 4; warm++) next(2);
        size_t size = read_module(argv[3 + next((uint32_t)argc - 3)], data);
        for (uint32_t n = 1 + next(MOST_MUTATIONS); n > 0; n--)
            size = LLVMFuzzerCustomMutator(data, size, sizeof data, next(1u << 30));
        run(data, size);
    }
    printf("%u mutated modules\n", count);
    return 0;
}
