// SPDX-License-Identifier: MIT
// bench_compile.c: what the library's compiler costs: text → gradient → SPIR-V, in milliseconds.
//
//   bench_compile [SECONDS [PROGRAM]]      time spent on each row (1); only the program named
//
// Rows are programs of a given number of operations; columns the stages, each the median over runs;
// the printed table is Markdown (tools/benchmark puts it together with others).  Not validated: the
// validator is not ours.  `grad` needs the primal alone, `optimise` and `emit` work on the
// gradient.
#include "autodiff/grad.h"
#include "ir/vyre.h"
#include "spirv/read.h"
#include "spirv/spirv.h"

#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

enum { PARSE, GRAD, OPTIMISE, EMIT, TOTAL, STAGES, MAX_RUNS = 1001 };

typedef struct source {
    char *text;
    size_t size, capacity;
} source;

static void put(source *s, const char *format, ...)
{
    va_list args;
    if (s->capacity - s->size < 512) {
        s->capacity = s->capacity * 2 + 4096;
        s->text = realloc(s->text, s->capacity);
        if (!s->text) exit(2);
    }
    va_start(args, format);
    s->size += (size_t)vsnprintf(s->text + s->size, s->capacity - s->size, format, args);
    va_end(args);
}

// ---------------------------------------------------------------------------------------- programs
static void ten_lines(source *s, uint32_t n)
{
    (void)n;
    put(s, "program mse(pred: in f32[N], target: in f32[N], scale: in f32[1], loss: out f32[1],\n"
           "            N: u32)\n"
           "    workgroup(64) over(i: N)\n"
           "{\n"
           "    let e = tanh(pred[i] * scale[0]) - target[i];\n"
           "    var w = 1.0;\n"
           "    if e < 0 { w = 0.25; }\n"
           "    let term = w * e * e / f32(N);\n"
           "    atomic_add(loss[0], term);\n"
           "}\n");
}

// n operations, each on the result of the one before
static void chain(source *s, uint32_t n)
{
    put(s, "program chain(x: in f32[N], w: in f32[N], y: out f32[N], N: u32) over(i: N)\n{\n"
           "    let a = w[i];\n    var v = x[i];\n");
    for (uint32_t k = 0; k < n; k += 4)
        put(s, "    v = sin(v) * a + v * %u.5;\n", k % 1000); // 4 operations
    put(s, "    y[i] = v;\n}\n");
}

// one sum of n/3 terms, each of its own elements
static void wide_sum(source *s, uint32_t n)
{
    put(s,
        "program wide(x: in f32[N, %u], w: in f32[%u], y: out f32[N], N: u32) over(i: N)\n{\n"
        "    y[i] = 0.0",
        n / 4 + 1, n / 4 + 1);
    for (uint32_t k = 0; k < n / 4; k++)
        put(s, "%s+ x[i, %u] * w[%u]", k % 4 ? " " : "\n        ", k, k);
    put(s, ";\n}\n");
}

// n/10 loops of ten operations, in nests of two
static void loops(source *s, uint32_t n)
{
    put(s,
        "program loops(x: in f32[N, M], w: in f32[M], y: out f32[N], N: u32, M: u32) over(i: N)\n"
        "{\n    var total = 0.0;\n");
    for (uint32_t k = 0; k < n; k += 10)
        put(s,
            "    for j in 0..M {\n"
            "        let d = x[i, j] - w[j] * %u.25;\n"
            "        total += sum(k in 0..M: w[k] * exp(-d * d)) * cos(d);\n"
            "    }\n",
            k % 1000);
    put(s, "    y[i] = total;\n}\n");
}

// n/2 taps of one buffer: an access map, its inverse and a walk for each; beyond 512 they are added
// atomically
static void taps(source *s, uint32_t n)
{
    put(s, "program taps(x: in f32[N], y: out f32[N], N: u32) over(i: N)\n{\n    y[i] = 0.0");
    for (uint32_t k = 0; k < n / 2; k++)
        put(s, "%s+ x[i + %u] * %u.5", k % 4 ? " " : "\n        ", k, k % 100);
    put(s, ";\n}\n");
}

// ------------------------------------------------------------------------------------------ timing
static double now_ms(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec * 1e3 + (double)t.tv_nsec * 1e-6;
}

static int by_value(const void *a, const void *b)
{
    const double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

static void fail(const vy_diag *d, const source *s)
{
    char message[2000];
    vy_diag_format(d, "bench", s->text, s->size, false, message, sizeof message);
    fprintf(stderr, "%s", message);
    exit(1);
}

typedef struct sizes {
    uint32_t primal, gradient;
    size_t words, instructions; // of the SPIR-V
} sizes;

static size_t spirv_instructions(const vy_compiled *c)
{
    size_t count = 0;
    for (size_t at = 5; at < c->word_count; at += c->words[at] >> 16) count++;
    return count;
}

// One whole compilation: ms[PARSE … TOTAL].
static sizes compile_once(const source *s, double ms[STAGES], vy_compiled **compiled)
{
    vy_diag d = {0};
    double at[STAGES];
    at[0] = now_ms();
    vy_module *m = vy_parse(s->text, s->size, "bench.vyre"); // checks too
    if (!m) exit(2);
    if (!vy_module_ok(m)) fail(vy_module_diag(m), s);
    at[1] = now_ms();
    vy_module *g = vy_grad(m, &(vy_grad_options){0}, &d);
    if (!g) fail(&d, s);
    at[2] = now_ms();
    if (!vy_optimize(g, &(vy_opt_options){.level = 2})) fail(vy_module_diag(g), s);
    at[3] = now_ms();
    vy_compiled *c = vy_compile(vy_module_program(g, 0), NULL, &d);
    if (!c) fail(&d, s);
    at[4] = now_ms();
    const sizes result = {vy_program_instruction_count(vy_module_program(m, 0)),
                          vy_program_instruction_count(vy_module_program(g, 0)), c->word_count,
                          spirv_instructions(c)};
    for (int k = 0; k < TOTAL; k++) ms[k] = at[k + 1] - at[k];
    ms[TOTAL] = at[4] - at[0];
    *compiled = c;
    vy_module_free(g);
    vy_module_free(m);
    return result;
}

// Its SPIR-V read as a shader; nan: it is not, since a function is read again at each of its calls,
// and the program would be too large.
static double read_once(const vy_compiled *c)
{
    const double start = now_ms();
    vy_module *m = vy_spirv_read(c->words, c->word_count * 4, "bench.spv", NULL);
    if (!m) exit(2);
    const double ms = vy_module_ok(m) ? now_ms() - start : NAN;
    vy_module_free(m);
    return ms;
}

static bool goes_on(uint32_t runs, double start, double seconds)
{
    return runs < MAX_RUNS && (runs < 3 || now_ms() - start < seconds * 1e3);
}

static double median(double *all, uint32_t runs)
{
    qsort(all, runs, sizeof *all, by_value);
    return all[runs / 2];
}

// Reading is timed in runs of its own: between two compilations it would leave them cold caches.
static double reading(const vy_compiled *c, double seconds)
{
    static double all[MAX_RUNS];
    const double start = now_ms();
    uint32_t runs = 0;
    while (goes_on(runs, start, seconds) && !isnan(all[runs] = read_once(c))) runs++;
    return runs ? median(all, runs) : NAN;
}

static void row(const char *name, void (*make)(source *, uint32_t), uint32_t n, double seconds)
{
    static double all[STAGES][MAX_RUNS];
    source s = {0};
    vy_compiled *c;
    double ms[STAGES];
    uint32_t runs = 0;
    make(&s, n);
    sizes z = compile_once(&s, ms, &c); // warms caches; the emitter's own functions are parsed here
    for (const double start = now_ms(); goes_on(runs, start, seconds); runs++) {
        vy_compiled_free(c);
        z = compile_once(&s, ms, &c);
        for (int k = 0; k < STAGES; k++) all[k][runs] = ms[k];
    }
    for (int k = 0; k < STAGES; k++) ms[k] = median(all[k], runs);
    printf("| %s | %u | %u | %zu | %.3g | %.3g | %.3g | %.3g | **%.3g** | %.2f | %.3g | %u |\n",
           name, z.primal, z.gradient, z.words, ms[PARSE], ms[GRAD], ms[OPTIMISE], ms[EMIT],
           ms[TOTAL], ms[TOTAL] * 1e3 / (z.primal ? z.primal : 1),
           reading(c, seconds) * 1e3 / (double)(z.instructions ? z.instructions : 1), runs);
    fflush(stdout);
    vy_compiled_free(c);
    free(s.text);
}

int main(int argc, char **argv)
{
    static const struct {
        const char *name;
        void (*make)(source *, uint32_t);
        uint32_t from, to;
    } programs[] = {{"ten lines", ten_lines, 10, 10},
                    {"chain", chain, 1000, 100000},
                    {"wide sum", wide_sum, 1000, 100000},
                    {"loops", loops, 1000, 100000},
                    {"taps", taps, 100, 10000}};
    const double seconds = argc > 1 ? strtod(argv[1], NULL) : 1;
    printf("| program | instructions | of gradient | SPIR-V words | parse, check | grad | optimise "
           "| emit | total ms | µs per instruction | read, µs per instruction | runs |\n"
           "|---|---|---|---|---|---|---|---|---|---|---|---|\n");
    for (size_t k = 0; k < sizeof programs / sizeof programs[0]; k++) {
        if (argc > 2 && strcmp(argv[2], programs[k].name) != 0) continue;
        for (uint32_t n = programs[k].from; n <= programs[k].to; n *= 10)
            row(programs[k].name, programs[k].make, n, seconds);
    }
    return 0;
}
