// SPDX-License-Identifier: MIT
// inspect_corpus.c: how a driver compiles all programs of many files, forward and gradient.
//
//   inspect_corpus DRIVER[,DRIVER…] FILE…      (drivers as `inspect --driver` takes them)
//
// Programs are optimised as for a GPU with the optional features of AMD's; each kernel is compiled
// once, however many files contain it.  Prints one line per driver and kernel, fields separated by
// tabs:
//   DRIVER  FILE  PROGRAM  forward|gradient  KERNEL  ok|error TEXT  NAME=VALUE …
// and at the end `# N programs, N gradients refused, N kernels, N different`.  Run by
// tests/scripts/spirv/radv.py.
#include "session/work.h"
#include "tools/command/probe.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

typedef struct kernel {
    probe_job job;
    const char *file, *program;
    bool gradient;
    uint64_t hash;
} kernel;

typedef struct corpus {
    kernel *kernels;
    uint32_t count, capacity;
    uint32_t *slots, slot_count; // kernel + 1 by hash
    uint32_t programs, refused, seen;
} corpus;

// Compiled programs stay in memory until the end: the kernels point into them.

static void *must(void *p)
{
    if (p) return p;
    fputs("inspect_corpus: out of memory\n", stderr);
    exit(2);
}

static uint64_t hash_of(const vy_kernel *k)
{
    uint64_t h = 14695981039346656037u;
    for (size_t i = 0; i < k->word_count; i++) h = (h ^ k->words[i]) * 1099511628211u;
    for (const char *c = k->entry; *c; c++) h = (h ^ (unsigned char)*c) * 1099511628211u;
    return h;
}

static bool is_new(corpus *c, uint64_t hash)
{
    for (uint64_t at = hash;; at++) {
        uint32_t *slot = &c->slots[at % c->slot_count];
        if (*slot && c->kernels[*slot - 1].hash != hash) continue;
        if (!*slot) return *slot = c->count + 1, true;
        return false;
    }
}

static void add(corpus *c, const vy_compiled *compiled, const char *file, const char *program,
                bool gradient)
{
    for (uint32_t i = 0; i < compiled->plans[0].kernel_count; i++) {
        const vy_kernel *k = &compiled->plans[0].kernels[i];
        const uint64_t hash = hash_of(k);
        c->seen++;
        if (c->count == c->capacity || !is_new(c, hash)) continue;
        c->kernels[c->count++] = (kernel){{k->name, k->entry, k->words, k->word_count, k->features},
                                          file,
                                          program,
                                          gradient,
                                          hash};
    }
}

// --- Compiling -----------------------------------------------------------------------------------

static const vys_facts GPU = {
    .known = true,
    .subgroup_size = 64,
    .features = VY_FEATURE_BIT(FLOAT64) | VY_FEATURE_BIT(FLOAT16) | VY_FEATURE_BIT(INT64) |
                VY_FEATURE_BIT(INT16) | VY_FEATURE_BIT(INT8) | VY_FEATURE_BIT(STORAGE_16BIT) |
                VY_FEATURE_BIT(STORAGE_8BIT) | VY_FEATURE_BIT(SUBGROUP_BASIC) |
                VY_FEATURE_BIT(SUBGROUP_VOTE) | VY_FEATURE_BIT(SUBGROUP_ARITHMETIC) |
                VY_FEATURE_BIT(SUBGROUP_BALLOT) | VY_FEATURE_BIT(SUBGROUP_SHUFFLE) |
                VY_FEATURE_BIT(SUBGROUP_EXTENDED_TYPES),
};

static vy_compiled *finish(vy_module *m, vys_entry what)
{
    const vys_settings settings = {.no_validate = true}; // other tests validate them all
    const vys_asked asked = {&GPU, &settings, NULL};
    const vy_opt_options opt = vys_opt_options(&asked, true);
    const vy_spirv_options o = vys_spirv_options(&GPU, &settings);
    vy_diag d = {0};
    if (!vy_optimize(m, &opt)) return NULL;
    return vys_entry_compile(what, &o, &d);
}

static void add_program(corpus *c, const char *text, size_t size, const char *file, uint32_t index,
                        bool pipeline)
{
    vy_module *m = must(vy_parse(text, size, file));
    const vys_entry what = pipeline ? vys_entry_pipeline(vy_module_pipeline(m, index))
                                    : vys_entry_program(vy_module_program(m, index));
    const char *name = must(strdup(vys_entry_name(what)));
    vy_diag d = {0};
    vys_work w = {.module = m};
    c->programs++;
    if (!pipeline && vys_derive(&w, what, NULL, 0, &d)) {
        vy_compiled *made = finish(w.derived, vys_entry_result(w.derived));
        if (made) add(c, made, file, name, true);
        c->refused += !made;
    } else {
        c->refused++;
    }
    vys_work_free(&w);
    vy_compiled *made = finish(m, what);
    if (made) add(c, made, file, name, false);
    vy_module_free(m);
}

static void add_file(corpus *c, const char *path)
{
    FILE *f = fopen(path, "rb");
    char *data = NULL;
    size_t size = 0, n;
    do {
        data = must(realloc(data, size + 65536));
        n = f ? fread(data + size, 1, 65536, f) : 0;
        size += n;
    } while (n);
    if (f) fclose(f);
    vy_module *m = must(vy_parse(data, size, path));
    const bool ok = vy_module_ok(m); // false for tests of diagnostics
    const uint32_t programs = vy_module_program_count(m), pipelines = vy_module_pipeline_count(m);
    vy_module_free(m);
    for (uint32_t i = 0; ok && i < programs; i++) add_program(c, data, size, path, i, false);
    for (uint32_t i = 0; ok && i < pipelines; i++) add_program(c, data, size, path, i, true);
    free(data);
}

// --- Inspecting ----------------------------------------------------------------------------------

static void print_kernel(const char *driver, const kernel *k, const probe_result *r)
{
    printf("%s\t%s\t%s\t%s\t%s\t", driver, k->file, k->program,
           k->gradient ? "gradient" : "forward", k->job.name);
    if (r->status) {
        printf("error %s\n", r->error.text);
        return;
    }
    printf("ok\t");
    for (uint32_t i = 0; i < r->inspection->executable_count; i++)
        for (uint32_t n = 0; n < r->inspection->executables[i].figure_count; n++) {
            const vkrt_figure *f = &r->inspection->executables[i].figures[n];
            printf("%s=%.0f ", f->name, f->value);
        }
    printf("\n");
}

static bool look(const corpus *c, const char *driver)
{
    driver_choice choice;
    probe p = {0};
    vy_diag d = {0};
    probe_job *jobs = must(calloc(c->count + 1, sizeof *jobs));
    for (uint32_t i = 0; i < c->count; i++) jobs[i] = c->kernels[i].job;
    const bool ok =
        driver_find(driver, &choice, &d) && probe_run(&p, &choice, NULL, jobs, c->count, 60, &d);
    if (!ok) fprintf(stderr, "inspect_corpus: %s: %s\n", driver, d.text);
    if (ok) printf("# %s: %s, %s\n", driver, p.device, p.driver);
    for (uint32_t i = 0; ok && i < c->count; i++)
        print_kernel(driver, &c->kernels[i], &p.results[i]);
    probe_free(&p);
    driver_free(&choice);
    free(jobs);
    return ok && !p.messages;
}

int main(int argc, char **argv)
{
    enum { MOST = 1 << 16 };
    if (argc < 3) return 2;
    corpus c = {.capacity = MOST, .slot_count = 4 * MOST};
    c.kernels = must(calloc(MOST, sizeof *c.kernels));
    c.slots = must(calloc(c.slot_count, sizeof *c.slots));
    for (int i = 2; i < argc; i++) add_file(&c, argv[i]);
    bool ok = c.count < MOST;
    for (char *driver = strtok(argv[1], ","); ok && driver; driver = strtok(NULL, ","))
        ok = look(&c, driver);
    printf("# %u programs, %u gradients refused, %u kernels, %u different\n", c.programs, c.refused,
           c.seen, c.count);
    return ok ? 0 : 2;
}
