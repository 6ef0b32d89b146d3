// SPDX-License-Identifier: MIT
// test_scaling.c: compile time is linear in the size of the program, whatever its accesses are
// like, and bounded where isl is involved (autodiff/gather/gather_find.c, affine.c).  Not measured
// by the clock: allocations are counted, since isl allocates in whatever it does, and their bytes;
// steps, for facts that spread through loops (ir/core/dataflow.h); comparisons of strings, for
// tables that are searched by name.
#include "autodiff/grad.h"
#include "ir/core/dataflow.h"
#include "ir/core/ir.h"
#include "spirv/spirv.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

// Sanitizers bring their own malloc; gcc and clang announce them in different ways.
#if defined(__has_feature)
#define SANITIZED (__has_feature(address_sanitizer) || __has_feature(thread_sanitizer))
#elif defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
#define SANITIZED 1
#else
#define SANITIZED 0
#endif
#if defined(__GLIBC__) && !SANITIZED
#define COUNTED 1
static uint64_t allocations, bytes;
void *__libc_malloc(size_t size);
void *malloc(size_t size)
{
    allocations++;
    bytes += size;
    return __libc_malloc(size);
}
static uint64_t reallocations; // the library's own tables; isl's are allocations
void *__libc_realloc(void *p, size_t size);
void *realloc(void *p, size_t size)
{
    reallocations++;
    bytes += size;
    return __libc_realloc(p, size);
}
static uint64_t comparisons;
int strcmp(const char *a, const char *b)
{
    comparisons++;
    while (*a && *a == *b) a++, b++;
    return (unsigned char)*a - (unsigned char)*b;
}
#else
#define COUNTED 0
static uint64_t allocations, reallocations, comparisons, bytes;
#endif

enum { TEXT = 1 << 22 };

typedef struct text {
    char *at;
    size_t n;
} text;

static void put(text *t, const char *format, ...)
{
    va_list args;
    va_start(args, format);
    t->n += (size_t)vsnprintf(t->at + t->n, TEXT - t->n, format, args);
    va_end(args);
    assert_true(t->n < TEXT - 1);
}

// ---------------------------------------------------------------------------------------- programs
static void taps(text *t, unsigned n) // of one buffer
{
    put(t, "program f(x: in f32[N], y: out f32[N], N: u32) over(i: N) { var s = 0.0;");
    for (unsigned k = 0; k < n; k++) put(t, " s += x[i + %u] * %u.5;", k, k % 50);
    put(t, " y[i] = s; }");
}

static void clamped(text *t, unsigned n) // two axes, borders
{
    put(t,
        "program f(x: in f32[N, M], y: out f32[N, M], N: u32, M: u32) over(i: N, j: M) { var s = 0.0;");
    for (unsigned k = 0; k < n; k++)
        put(t, " s += x[min(i + %u, N - 1), j + %u] * %u.5;", k / 8, k % 8, k % 50);
    put(t, " y[i, j] = s; }");
}

static void buffers(text *t, unsigned n) // one broadcast each
{
    put(t, "program f(");
    for (unsigned k = 0; k < n; k++) put(t, "x%u: in f32[N], ", k);
    put(t, "y: out f32[N, M], N: u32, M: u32) over(i: N, j: M) { var s = 0.0;");
    for (unsigned k = 0; k < n; k++) put(t, " s += x%u[i] * sin(f32(j) * %u.5);", k, k % 50);
    put(t, " y[i, j] = s; }");
}

static void lengths(text *t, unsigned n) // one length each
{
    put(t, "program f(");
    for (unsigned k = 0; k < n; k++) put(t, "x%u: in f32[N%u], ", k, k);
    put(t, "y: out f32[N], N: u32");
    for (unsigned k = 0; k < n; k++) put(t, ", N%u: u32", k);
    put(t, ") over(i: N) { var s = 0.0;");
    for (unsigned k = 0; k < n; k++) put(t, " s += x%u[i] * x%u[i + %u];", k, k, k + 1);
    put(t, " y[i] = s; }");
}

static void loops(text *t, unsigned n) // one after the other
{
    put(t, "program f(a: in f32[N, K], b: in f32[K, M], y: out f32[N, M], N: u32, M: u32, K: u32) "
           "over(i: N, j: M) { var s = 0.0;");
    for (unsigned k = 0; k < n; k++)
        put(t, " for k in 0..K { s += sin(a[i, k] * b[k, j + %u]) * %u.5; }", k, k % 50);
    put(t, " y[i, j] = s; }");
}

static void divisions(text *t, unsigned n) // some of whose inverses are refused
{
    put(t, "program f(");
    for (unsigned k = 0; k < n; k++) put(t, "x%u: in f32[N], ", k);
    put(t, "y: out f32[N], N: u32) over(i: N) { var s = 0.0;");
    for (unsigned k = 0; k < n; k++) put(t, " s += sin(x%u[i / %u]);", k, k + 2);
    put(t, " y[i] = s; }");
}

static void nest(text *t, unsigned n) // n deep; every sum may wrap
{
    put(t, "program f(x: in f32[N], y: out f32[N], N: u32, K: u32) over(i: N) { var s = 0.0;");
    for (unsigned k = 0; k < n; k++) put(t, " for k%u in 0..K {", k);
    put(t, " s += sin(x[i");
    for (unsigned k = 0; k < n; k++) put(t, " + k%u", k);
    put(t, "]);");
    for (unsigned k = 0; k < n; k++) put(t, " }");
    put(t, " y[i] = s; }");
}

static void shift(text *t, unsigned n) // n carried values, each yielded to the slot before it
{
    put(t, "program f(x: in f32[N], y: out f32[N], N: u32, K: u32) over(i: N) { var a0 = x[i];");
    for (unsigned k = 1; k <= n; k++) put(t, " var a%u = 0.0;", k);
    put(t, " for k in 0..K { let t = a0;");
    for (unsigned k = 0; k < n; k++) put(t, " a%u = a%u;", k, k + 1);
    put(t, " a%u = sin(t); } y[i] = a0; }", n);
}

static void settled(text *t, unsigned n) // the same, where none ever changes but the first
{
    put(t, "program f(x: in f32[N], y: out f32[N], N: u32, K: u32) over(i: N) { var a0 = x[i];");
    for (unsigned k = 1; k <= n; k++) put(t, " var a%u = 0.0;", k);
    put(t, " for k in 0..K {");
    for (unsigned k = 0; k < n; k++) put(t, " a%u = a%u;", k, k + 1);
    put(t, " } y[i] = a0; }");
}

static void names(text *t, unsigned n) // each used: buffers and scalars
{
    put(t, "program f(");
    for (unsigned k = 0; k < n; k++) put(t, "x%u: in f32[N], ", k);
    put(t, "y: out f32[N], N: u32");
    for (unsigned k = 0; k < n; k++) put(t, ", a%u: f32", k);
    put(t, ") over(i: N) { var s = 0.0;");
    for (unsigned k = 0; k < n; k++) put(t, " s += x%u[i] * x%u[i] * a%u;", k, (k + 1) % n, k);
    put(t, " y[i] = s; }");
}

static void outputs(text *t, unsigned n)
{
    put(t, "program f(x: in f32[N], N: u32");
    for (unsigned k = 0; k < n; k++) put(t, ", y%u: out f32[N]", k);
    put(t, ") over(i: N) {");
    for (unsigned k = 0; k < n; k++) put(t, " y%u[i] = sin(x[i] * %u.5);", k, k);
    put(t, " }");
}

static void pipeline(text *t, unsigned n) // of n intermediates
{
    put(t, "program f(a: in f32[N], y: out f32[N], N: u32, c: f32) over(i: N) { y[i] = a[i] * c; } "
           "pipeline p(t0: in f32[N], z: out f32[N], N: u32");
    for (unsigned k = 0; k < n; k++) put(t, ", c%u: f32", k);
    put(t, ") {");
    for (unsigned k = 1; k < n; k++) put(t, " buffer t%u: f32[N];", k);
    for (unsigned k = 1; k < n; k++) put(t, " f(t%u, t%u, c=c%u);", k - 1, k, k);
    put(t, " f(t%u, z, c=c0); }", n - 1);
}

static void dispatches(text *t, unsigned n) // 3 n, in place and of slices, with as many copies
{
    put(t,
        "program f(a: in f32[N], y: out f32[N], N: u32) over(i: N) { y[i] = sin(a[i]); } "
        "program g(y: inout f32[N], N: u32) over(i: N) { y[i] = y[i] * y[i]; } "
        "pipeline p(x: in f32[N], z: out f32[N], N: u32) { buffer t0: f32[N]; f(x, t0);"
        " buffer s: f32[%u, N];",
        n);
    for (unsigned k = 0; k < n; k++)
        put(t, " buffer t%u: f32[N]; f(t%u, s[%u]); g(s[%u]); f(s[%u], t%u);", k + 1, k, k, k, k,
            k + 1);
    put(t, " f(t%u, z); }", n);
}

static void whiles(text *t, unsigned n) // each with a condition that changes what is outside
{
    put(t, "program f(x: inout f32[N], n: inout u32[1], N: u32) over(i: N)"
           " { x[i] = sin(x[i]); if i == 0 { n[0] += 1; } } "
           "program g(x: inout f32[N], N: u32) over(i: N) { x[i] = 0.9 * x[i]; } "
           "pipeline p(x: inout f32[N], N: u32) {");
    for (unsigned k = 0; k < n; k++)
        put(t, " buffer n%u: u32[1]; while { f(x, n%u); value(n%u[0]) < 3 } { g(x); }", k, k, k);
    put(t, " }");
}

// ------------------------------------------------------------------------------------------ counts
// Allocations for the gradient; programs: how many it has.
static uint64_t cost(void (*make)(text *, unsigned), unsigned n, uint32_t *programs)
{
    text t = {.at = malloc(TEXT)};
    vy_diag d = {0};
    assert_non_null(t.at);
    make(&t, n);
    vy_module *m = vy_parse(t.at, t.n, "scaling");
    assert_non_null(m);
    if (!vy_module_ok(m)) fail_msg("%s", vy_module_diag(m)->text);
    const vy_grad_options options = {.program = make == whiles ? "p" : NULL};
    uint64_t before = allocations;
    vy_module *g = vy_grad(m, &options, &d);
    uint64_t used = allocations - before;
    if (!g) fail_msg("%s", d.text);
    *programs = vy_module_program_count(g);
    vy_module_free(g);
    vy_module_free(m);
    free(t.at);
    return used;
}

// A loop that runs ahead takes room for itself, not for the pipeline (ir/host/loop_frame.c).
static void loops_ahead_take_little_room(void **state)
{
    uint64_t asked[2];
    (void)state;
    for (uint32_t i = 0; i < 2; i++) {
        uint32_t programs;
        const uint64_t before = bytes;
        cost(whiles, !i ? 500 : COUNTED ? 4000 : 1000, &programs);
        asked[i] = bytes - before;
    }
    print_message("%llu and %llu bytes\n", (unsigned long long)asked[0],
                  (unsigned long long)asked[1]);
    if (COUNTED && asked[1] > 12 * asked[0]) fail_msg("too much room");
}

// Twice the program takes a little more than twice the work, and never more than a few million
// allocations.
static void grows_with_the_program(void **state)
{
    static const struct {
        const char *name;
        void (*make)(text *, unsigned);
        unsigned n, many;
    } rows[] = {
        {"taps", taps, 80, 2000},       {"clamped", clamped, 80, 2000},
        {"buffers", buffers, 40, 2000}, {"lengths", lengths, 5, 500},
        {"loops", loops, 20, 1000},     {"divisions", divisions, 40, 1000},
        {"nest", nest, 3, 24},
    };
    (void)state;
    for (size_t k = 0; k < sizeof rows / sizeof *rows; k++) {
        uint32_t programs;
        uint64_t once = cost(rows[k].make, rows[k].n, &programs);
        uint64_t twice = cost(rows[k].make, 2 * rows[k].n, &programs);
        uint64_t many = COUNTED ? cost(rows[k].make, rows[k].many, &programs) : 0;
        bool linear = rows[k].make == nest || rows[k].make == lengths || twice < 3 * once;
        print_message("%s: %u: %llu, twice: %llu, %u: %llu\n", rows[k].name, rows[k].n,
                      (unsigned long long)once, (unsigned long long)twice, rows[k].many,
                      (unsigned long long)many);
        if (COUNTED && (!linear || many > 20000000)) fail_msg("%s: too much work", rows[k].name);
    }
}

// Only up to a limit are accesses gathered; a buffer with more of them is accumulated atomically,
// which is correct as well.
static void too_many_are_added_atomically(void **state)
{
    static const unsigned sizes[] = {400, 600};
    (void)state;
    for (size_t k = 0; k < 2; k++) {
        text t = {.at = malloc(TEXT)};
        vy_diag d = {0};
        assert_non_null(t.at);
        taps(&t, sizes[k]);
        vy_module *m = vy_parse(t.at, t.n, "scaling");
        vy_module *g = vy_grad(m, NULL, &d);
        assert_non_null(g);
        char *out = vy_print(g, NULL);
        assert_non_null(out);
        assert_int_equal(strstr(out, "atomic_add") != NULL, sizes[k] > 512);
        free(out);
        vy_module_free(g);
        vy_module_free(m);
        free(t.at);
    }
}

// How many steps the worklist takes to find what depends on the program's loads.
static uint32_t steps_forwards(const vy_program *p, uint32_t *reached)
{
    vy_arena arena = {0};
    vy_structure s;
    vy_dataflow d;
    uint32_t steps = 0;
    uint8_t *seen = vy_arena_alloc(&arena, p->insts.count);
    assert_non_null(seen);
    assert_true(vy_structure_make(p, &s) && vy_dataflow_make(&d, p, &s, &arena));
    for (uint32_t id = 1; id < p->insts.count; id++)
        if (p->insts.data[id].op == VY_OP_LOAD) vy_dataflow_push(&d, id);
    for (uint32_t id; (id = vy_dataflow_pop(&d)); steps++)
        if (!seen[id]) seen[id] = 1, ++*reached, vy_dataflow_push_users(&d, id);
    vy_structure_free(&s);
    vy_arena_free(&arena);
    return steps;
}

// Each use of a value is followed once, however far a fact spreads through the slots of a loop.
// Otherwise the gradient of programs of this size would take minutes.
static void facts_take_one_step_for_each_use(void **state)
{
    (void)state;
    for (unsigned n = 1000; n <= 100000; n *= 10) {
        text t = {.at = malloc(TEXT)};
        vy_diag diag = {0};
        assert_non_null(t.at);
        shift(&t, n);
        vy_module *m = vy_parse(t.at, t.n, "scaling"), *g = vy_grad(m, NULL, &diag);
        if (!g) fail_msg("%s", diag.text);
        const vy_program *p = vy_module_program(m, 0);
        uint32_t reached = 0, steps = steps_forwards(p, &reached);
        print_message("%u values: %u of %u instructions, %u steps\n", n, reached, p->insts.count,
                      steps);
        assert_true(reached > 2 * n && steps <= p->args.count);
        vy_module_free(g);
        vy_module_free(m);
        free(t.at);
    }
}

// A slot that never changes may be known only by way of all others: still one rebuild, not one for
// a few slots each.  (Memory is asked for as the program grows, and for each rebuild.)
static void constant_slots_are_found_together(void **state)
{
    (void)state;
    uint64_t asked[2];
    for (unsigned k = 0; k < 2; k++) {
        text t = {.at = malloc(TEXT)};
        assert_non_null(t.at);
        settled(&t, k ? 8000 : 800);
        asked[k] = reallocations;
        vy_module *m = vy_parse(t.at, t.n, "scaling");
        asked[k] = reallocations - asked[k];
        assert_non_null(m);
        if (!vy_module_ok(m)) fail_msg("%s", vy_module_diag(m)->text);
        assert_true(vy_module_program(m, 0)->insts.count < 20);
        vy_module_free(m);
        free(t.at);
    }
    print_message("%llu and %llu allocations\n", (unsigned long long)asked[0],
                  (unsigned long long)asked[1]);
    if (COUNTED && asked[1] > 12 * asked[0]) fail_msg("too many rebuilds");
}

// ------------------------------------------------------------------------------------------- names
// Comparisons of strings from parsing to SPIR-V, for a program also for its gradient.
static uint64_t searches(void (*make)(text *, unsigned), unsigned n)
{
    static const vy_spirv_options options = {.validate = false};
    text t = {.at = malloc(TEXT)};
    vy_diag d = {0};
    assert_non_null(t.at);
    make(&t, n);
    const uint64_t before = comparisons;
    const vy_grad_options of_pipeline = {.program = "p"};
    vy_module *m = vy_parse(t.at, t.n, "scaling");
    assert_non_null(m);
    if (!vy_module_ok(m)) fail_msg("%s", vy_module_diag(m)->text);
    if (make == dispatches) {
        vy_module *forward = vy_jvp(m, &of_pipeline, &d);
        if (!forward) fail_msg("%s", d.text);
        vy_module_free(forward);
    }
    vy_module *g = make == dispatches ? vy_grad(m, &of_pipeline, &d)
                   : make == pipeline ? NULL
                                      : vy_grad(m, NULL, &d);
    vy_compiled *c = vy_compile_result(m, &options, &d);
    vy_compiled *cg = g ? vy_compile_result(g, &options, &d) : NULL;
    if (!c || (make != pipeline && !cg)) fail_msg("%s", d.text);
    const uint64_t used = comparisons - before;
    vy_compiled_free(c);
    vy_compiled_free(cg);
    vy_module_free(g);
    vy_module_free(m);
    free(t.at);
    return used;
}

// Sorting compares n log n times; scanning would compare n * n times.
static void names_are_hashed(void **state)
{
    static const struct {
        const char *name;
        void (*make)(text *, unsigned);
    } rows[] = {{"names", names},
                {"outputs", outputs},
                {"pipeline", pipeline},
                {"dispatches", dispatches}};
    enum { N = COUNTED ? 10000 : 1000 };
    (void)state;
    for (size_t k = 0; k < sizeof rows / sizeof *rows; k++) {
        const uint64_t used = searches(rows[k].make, N);
        print_message("%s: %u: %llu comparisons\n", rows[k].name, (unsigned)N,
                      (unsigned long long)used);
        if (COUNTED && used > 500ull * N) fail_msg("%s: too many comparisons", rows[k].name);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(grows_with_the_program),
        cmocka_unit_test(loops_ahead_take_little_room),
        cmocka_unit_test(too_many_are_added_atomically),
        cmocka_unit_test(facts_take_one_step_for_each_use),
        cmocka_unit_test(constant_slots_are_found_together),
        cmocka_unit_test(names_are_hashed),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
