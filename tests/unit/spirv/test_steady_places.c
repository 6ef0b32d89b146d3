// SPDX-License-Identifier: MIT
// test_steady_places.c: addresses made of the part that a loop changes and the part that it leaves
// alone (spirv/facts/steady_places.c): on the device and in the interpreter, the same bits; and no
// other driver's modules change.
#include "spirv/quirks.h"
#include "tests/unit/device_util.h"

enum { B = 3, O = 4, H = 5, W = 6, IN = B * O * H * W, OUT = B * H * W };

static const vy_quirks gpu_spares = VY_QUIRK_BIT(MANY_WAYS);

#define OPEN                                                                                       \
    "@lowered program t(x: in i32[3, 4, 5, 6], y: out i32[3, 5, 6], N: u32) over(b: 3, i: 5, j: "  \
    "6) { var s = 1i32; "
#define CLOSE " y[b, i, j] @in_range = s; }"

static const struct {
    const char *text;
    bool steady; // has such an address
} cases[] = {
    {OPEN "for o in 0..N { s = s * 3i32 + x[b, o, i, j] @in_range; }" CLOSE, true},
    {OPEN "for o in 0..N { s = s * 3i32 + x[b, o, 4u - i, j] @in_range; }" CLOSE, true},
    {OPEN "for o in 0..N { s = s * 3i32 + x[o % 3u, b, i, j] @in_range; }" CLOSE, true},
    {OPEN "for o in 0..N { for u in 0..3u { s = s * 3i32 + x[b, o, u, (j + u) % 6u] @in_range; "
          "} }" CLOSE,
     true},
    // Loops in each other: the inner one changes an index before those that the outer one does.
    {OPEN "for o in 0..N { for p in 0..N { s = s * 3i32 + x[p % 3u, 1u, o, j] @in_range; } }" CLOSE,
     true},
    {OPEN "for o in 0..N { for p in 0..o { s = s * 3i32 + x[b, p, o, j] @in_range; } }" CLOSE,
     true},
    {OPEN "for o in 0..N { for p in 0..N { s = s * 3i32 + x[b, p, o, j] @in_range; } "
          "s = s * 3i32 + x[b, o, i, j] @in_range; }" CLOSE,
     true},
    {OPEN "for o in 0..N { for p in 0..N { s = s * 3i32; } s += x[b, o, i, j] @in_range; }" CLOSE,
     true},
    // What a loop carries, or loads, changes.
    {OPEN "var k = 0u; for o in 0..N { s = s * 3i32 + x[b, k, i, k] @in_range; "
          "k = (k + 3u) % 4u; }" CLOSE,
     false},
    {OPEN "for o in 0..N { let k = u32(x[b, o, i, j] & 3i32); "
          "s = s * 3i32 + x[b, 2u, i, k] @in_range; }" CLOSE,
     false},
    {OPEN "for o in 0..N { s = s * 3i32 + x[b, 3u - i % 4u, 0u, o] @in_range; }" CLOSE, false},
    // Of the last index alone it is the row-major address.
    {OPEN "for o in 0..N { let k = (i + o) % 5u; s = s * 3i32 + x[b, o, k, j] @in_range; }" CLOSE,
     false},
    // Not proved in range, and in no loop.
    {OPEN "for o in 0..N { s = s * 3i32 + x[b, o, i + 1u, j]; }" CLOSE, false},
    {OPEN "s = x[b, N % 4u, i, j] @in_range;" CLOSE, false},
};

static vy_compiled *compiled(const char *text, vy_quirks spared)
{
    vy_module *m = case_parse(text);
    vy_diag d;
    const vy_spirv_options o = {.validate = true, .spared = spared};
    vy_compiled *c = vy_compile(vy_module_program(m, 0), &o, &d);
    if (!c) fail_msg("%s\n%s", d.text, text);
    vy_module_free(m);
    return c;
}

static void addresses_have_two_parts(void **state)
{
    (void)state;
    for (size_t k = 0; k < COUNT(cases); k++) {
        vy_compiled *plain = compiled(cases[k].text, 0),
                    *parts = compiled(cases[k].text, gpu_spares);
        const bool same = plain->word_count == parts->word_count &&
                          !memcmp(plain->words, parts->words, plain->word_count * 4);
        if (same == cases[k].steady) fail_msg("%s", cases[k].text);
        vy_compiled_free(plain);
        vy_compiled_free(parts);
    }
}

static void run(gpu *g, const char *text, uint32_t n)
{
    static int32_t data[IN];
    for (int32_t k = 0; k < IN; k++) data[k] = k * 37 % 101;
    vy_module *m = case_parse(text);
    case_run r = {.p = vy_module_program(m, 0)};
    const device_case c = {
        .text = text,
        .buffers = {{.name = "x", .count = IN, .data = data, .rank = 4, .shape = {B, O, H, W}},
                    {.name = "y", .count = OUT, .rank = 3, .shape = {B, H, W}}},
        .buffer_count = 2,
        .scalars = {{"N", {.u = n}}},
        .scalar_count = 1,
        .options = {.spared = gpu_spares}};
    case_prepare(&c, &r);
    case_device(&c, &r, g);
    case_eval(&c, &r, 8);
    if (memcmp(r.eval[1], r.device[1], OUT * sizeof *data)) fail_msg("N = %u: %s", n, text);
    for (int k = 0; k < 2; k++) free(r.eval[k]), free(r.device[k]);
    vy_module_free(m);
}

static void numbers_are_the_same(void **state)
{
    NEED_DEVICE(state);
    for (size_t k = 0; k < COUNT(cases); k++)
        for (uint32_t n = 0; n <= O; n++) run(g, cases[k].text, n);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(addresses_have_two_parts),
        cmocka_unit_test(numbers_are_the_same),
    };
    return cmocka_run_group_tests(tests, gpu_open, gpu_close);
}
