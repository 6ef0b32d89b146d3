// SPDX-License-Identifier: MIT
// derived_bytes.c: a hash of what each program of some files becomes, in each mode.
//
//   derived_bytes FILE…
//
// Prints a line per program or pipeline and mode: FILE NAME MODE, and the hashes of the derivative's
// text and binary form (which has its leaves in the order in which they were made), or the code of the
// refusal.  Files that are no modules are passed over.  Two builds of the same sources must print the
// same: tests/scripts/house/same_bytes.py compares gcc's with clang's.
#include "autodiff/grad.h"
#include "ir/pipeline.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

typedef struct mode {
    const char *name;
    vy_grad_options options;
} mode;

static const mode modes[] = {
    {"grad", {0}},
    {"atomic", {.accumulate = VY_ACCUMULATE_ATOMIC, .seed_buffer = true}},
    {"sqrt", {.checkpoint = 1, .with_value = true}},
    {"deterministic", {.deterministic = true}},
    {"jvp", {.forward = true}},
};

static uint64_t hash_of(const void *bytes, size_t size)
{
    uint64_t hash = 0xcbf29ce484222325ull; // FNV-1a
    for (size_t k = 0; k < size; k++)
        hash = (hash ^ ((const uint8_t *)bytes)[k]) * 0x100000001b3ull;
    return hash;
}

static void show(const char *file, const vy_module *m, const char *name, const mode *how)
{
    vy_grad_options o = how->options;
    vy_diag d = {0};
    o.program = name;
    vy_module *g = o.forward ? vy_jvp(m, &o, &d) : vy_grad(m, &o, &d);
    size_t size = 0, bytes = 0;
    char *text = g ? vy_print(g, &size) : NULL;
    void *binary = g ? vy_binary_write(g, &bytes) : NULL;
    printf("%s %s %s ", file, name, how->name);
    if (text && binary)
        printf("%016llx %016llx\n", (unsigned long long)hash_of(text, size),
               (unsigned long long)hash_of(binary, bytes));
    else
        printf("%s\n", g ? "out of memory" : d.code);
    free(text);
    free(binary);
    vy_module_free(g);
}

static void show_all(const char *file, const vy_module *m)
{
    for (size_t k = 0; k < sizeof modes / sizeof *modes; k++) {
        for (uint32_t i = 0; i < vy_module_program_count(m); i++)
            show(file, m, vy_program_name(vy_module_program(m, i)), &modes[k]);
        for (uint32_t i = 0; i < vy_module_pipeline_count(m); i++)
            show(file, m, vy_pipeline_name(vy_module_pipeline(m, i)), &modes[k]);
    }
}

static char *read_all(const char *path, size_t *size)
{
    FILE *f = fopen(path, "r");
    char *text = NULL;
    *size = 0;
    if (f && fseek(f, 0, SEEK_END) == 0) {
        const long n = ftell(f);
        rewind(f);
        text = n >= 0 ? malloc((size_t)n + 1) : NULL;
        if (text) *size = fread(text, 1, (size_t)n, f);
    }
    if (f) fclose(f);
    return text;
}

int main(int argc, char **argv)
{
    for (int i = 1; i < argc; i++) {
        size_t size;
        char *text = read_all(argv[i], &size);
        if (!text) return fprintf(stderr, "derived_bytes: cannot read %s\n", argv[i]), 2;
        vy_module *m = vy_parse(text, size, argv[i]);
        if (m && vy_module_ok(m)) show_all(argv[i], m);
        vy_module_free(m);
        free(text);
    }
    return 0;
}
