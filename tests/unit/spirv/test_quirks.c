// SPDX-License-Identifier: MIT
// test_quirks.c: workarounds for faults of drivers (spirv/quirks.h, spirv/target/).
//
// For each fault a program that the driver gets wrong: written files contain the workaround, SPIR-V
// for a driver without the fault does not, and computes the same there.  On the driver with the
// fault, where it shows, results are wrong without the workaround.
#include "session/target.h"

#include "tests/unit/device_util.h"

enum { N = 4, NEVER = 0, MESA_22 = 23, EVERY = 1000 };
static const int32_t ints[N] = {-3, 0, 1, 5};

static const char deep[] = // 34 conditions in one another, and a loop with an exit in them
    "program t(x: in i32[N], y: out i32[N], N: u32) over(i: N) { var a = x[i]; var k = 0i32;"
#define IF4(a, b, c, d)                                                                            \
    "if x[i] > -" #a "0i32 { if x[i] > -" #b "1i32 { if x[i] > -" #c "2i32 { if x[i] > -" #d       \
    "3i32 {"
    IF4(1, 2, 3, 4) IF4(5, 6, 7, 8) IF4(9, 10, 11, 12) IF4(13, 14, 15, 16) IF4(17, 18, 19, 20)
        IF4(21, 22, 23, 24) IF4(25, 26, 27, 28)
            IF4(29, 30, 31,
                32) "while k < 60i32 { if k == x[i] + 50i32 { break; } a += k; k += 1i32; }"
                    "}}}} }}}} }}}} }}}} }}}} }}}} }}}} }}}} y[i] = a; }";
#undef IF4

static const struct {
    vy_quirks bit;
    const char *text;
    const char *idiom; // what only the workaround emits
    uint32_t shown;    // results are wrong without it in llvmpipe of Mesa 22.3, and before this one
} rows[] = {
    {VY_QUIRK_BIT(GUESSED_BOUNDS),
     "program t(x: in i32[N], y: out i32[N], N: u32) over(i: N) {"
     "  var a = 1i32; var k = 4i32; while k > min(x[i], 1i32) { a = a * 2i32 + 1i32; k -= 1i32; }"
     "  y[i] = a; }",
     " OpLogicalNotEqual ", NEVER},
    {VY_QUIRK_BIT(GUESSED_BOUNDS),
     "program t(x: in i32[N], y: out i32[N], N: u32) over(i: N) {"
     "  var a = 1i32;"
     "  for k in rev(clamp(x[i], -2i32, 1i32)..2i32) { a = a * 2i32 + 1i32; } y[i] = a; }",
     " OpShiftRightLogical ", EVERY},
    {VY_QUIRK_BIT(GUESSED_LENGTHS),
     "program t(x: in i32[N], y: out i32[N], N: u32) over(i: N) {"
     "  var sum = 0i32; local v: i32[4];"
     "  for k in 0u..N { let b = v[k]; if k < 4u { y[i] = 4i32; }"
     "    if k + 1u < 4u { v[k + 1u] = b + 1i32; } sum += b; }"
     "  y[i] = sum; }",
     NULL, EVERY},
    {VY_QUIRK_BIT(WIDENED_SIGNS),
     "program t(x: in i32[N], y: out i32[N], N: u32) over(i: N) {"
     "  y[i] = i64(x[i]) < 1i64 ? 1i32 : 0i32; }",
     " OpShiftRightArithmetic ", EVERY},
    {VY_QUIRK_BIT(MANY_WAYS),
     "program t(x: in i32[N], y: out i32[N], N: u32) over(i: N) {"
     "  var h = N; for k in 0..24 { h = h ^ (h >> 15u); h = h * 2246822519u; h = h ^ (h >> 13u); }"
     "  y[i] = x[h % N] * x[i]; }",
     "%uint_31", NEVER},
    {VY_QUIRK_BIT(ROUNDED_DOUBLES),
     "program t(x: in i32[N], y: out i32[N], N: u32) over(i: N) {"
     "  let a = trunc(f64(x[i]) * 0.25f64); let b = round(f64(x[i]) * 0.125f64);"
     "  y[i] = (1.0f64 / a < 0.0f64 ? 1i32 : 0i32) + (1.0f64 / b < 0.0f64 ? 2i32 : 0i32); }",
     " Ceil ", NEVER},
    {VY_QUIRK_BIT(FOLDED_ZEROS),
     "program t(x: in i32[N], y: out i32[N], N: u32) over(i: N) {"
     "  let a = bitcast_f32(x[i] * 16777216i32) * 0.0; y[i] = isnan(a) ? 1i32 : bitcast_i32(a); }",
     " OpShiftRightLogical ", MESA_22},
    {VY_QUIRK_BIT(FOLDED_ZEROS),
     "program t(x: in i32[N], y: out i32[N], N: u32) over(i: N) {"
     "  y[i] = isnan(0.0 / f32(x[i])) ? 1i32 : 0i32; }",
     " OpShiftRightLogical ", EVERY},
    {VY_QUIRK_BIT(FOLDED_ZEROS),
     "program t(x: in i32[N], y: out i32[N], N: u32) over(i: N) {"
     "  y[i] = isinf(f32(x[i]) / 0.0) ? 1i32 : 0i32; }",
     " OpShiftRightLogical ", EVERY},
    {VY_QUIRK_BIT(FOLDED_ZEROS),
     "program t(x: in i32[N], y: out i32[N], N: u32) over(i: N) {"
     "  y[i] = isnan(fma(1.0 / f32(x[i]), 0.0, 1.0)) ? 1i32 : 0i32; }",
     " OpShiftRightLogical ", MESA_22},
    {VY_QUIRK_BIT(DEEP_UNROLLING), deep, " DontUnroll", NEVER},
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

static bool has(const vy_compiled *c, const char *what)
{
    char *text = vy_spirv_disassemble(c->words, c->word_count, false, NULL);
    const bool found = strstr(text, what) != NULL;
    free(text);
    return found;
}

static bool same(const vy_compiled *a, const vy_compiled *b)
{
    return a->word_count == b->word_count && !memcmp(a->words, b->words, a->word_count * 4);
}

static void spared_ones_leave_nothing(void **state)
{
    (void)state;
    for (size_t i = 0; i < COUNT(rows); i++) {
        vy_compiled *any = compiled(rows[i].text, 0), *none = compiled(rows[i].text, VY_QUIRKS_ALL),
                    *one = compiled(rows[i].text, rows[i].bit),
                    *others = compiled(rows[i].text, VY_QUIRKS_ALL & ~rows[i].bit);
        const char *idiom = rows[i].idiom;
        if (same(any, one) || same(none, others)) fail_msg("%s", rows[i].text);
        if (idiom &&
            (!has(any, idiom) || !has(others, idiom) || has(one, idiom) || has(none, idiom)))
            fail_msg("%s: %s", idiom, rows[i].text);
        vy_compiled_free(any);
        vy_compiled_free(none);
        vy_compiled_free(one);
        vy_compiled_free(others);
    }
}

static bool can_run(gpu *g, const char *text)
{
    vy_compiled *c = compiled(text, 0);
    const bool can = vkrt_device_check(g->device, c->kernels, NULL) == VKRT_OK;
    vy_compiled_free(c);
    return can;
}

static bool right_without(gpu *g, const char *text, vy_quirks spared)
{
    vy_module *m = case_parse(text);
    case_run r = {.p = vy_module_program(m, 0)};
    const device_case c = {.text = text,
                           .buffers = {{.name = "x", .count = N, .data = ints},
                                       {.name = "y", .count = N}},
                           .buffer_count = 2,
                           .options = {.spared = spared}};
    case_prepare(&c, &r);
    case_device(&c, &r, g);
    case_eval(&c, &r, 8);
    const bool right = !memcmp(r.eval[1], r.device[1], sizeof ints);
    for (int k = 0; k < 2; k++) free(r.eval[k]), free(r.device[k]);
    vy_module_free(m);
    return right;
}

static void devices_are_right_without_what_they_lack(void **state)
{
    NEED_DEVICE(state);
    const vkrt_device_info *info = vkrt_device_get_info(g->device);
    const vy_quirks here = vy_device_quirks(info->driver_id, info->driver_major);
    enum { LLVMPIPE = 13 }; // a VkDriverId
    const uint32_t known = info->driver_id == LLVMPIPE ? info->driver_major : EVERY;
    for (size_t i = 0; i < COUNT(rows); i++) {
        if (!can_run(g, rows[i].text)) continue; // no 64-bit integers
        assert_true(right_without(g, rows[i].text, VY_QUIRKS_ALL & ~here));
        if (!(here & rows[i].bit) || known >= rows[i].shown) continue;
        if (right_without(g, rows[i].text, VY_QUIRKS_ALL))
            fail_msg("%s: right without the work-around: %s", info->driver, rows[i].text);
    }
}

static vy_quirks spared_for(uint32_t driver_id, uint32_t major, vy_driver driver)
{
    const vys_facts facts = {.driver_id = driver_id, .driver_major = major};
    const vys_settings settings = {.driver = driver};
    return vys_spirv_options(&facts, &settings).spared;
}

static void sessions_spare_what_the_driver_lacks(void **state)
{
    (void)state;
    enum { RADV = 3, NVIDIA = 4, INTEL_WINDOWS = 5, LLVMPIPE = 13, VENUS = 22, NEWER = 1000 };
    const vy_quirks pipes = VY_QUIRK_BIT(MANY_WAYS) | VY_QUIRK_BIT(ROUNDED_DOUBLES) |
                            VY_QUIRK_BIT(FOLDED_ZEROS) | VY_QUIRK_BIT(DEEP_UNROLLING);
    assert_int_equal(spared_for(0, 0, VY_DRIVER_ANY), 0);
    assert_int_equal(spared_for(0, 0, VY_DRIVER_OTHER), VY_QUIRKS_ALL);
    assert_int_equal(spared_for(0, 0, VY_DRIVER_MESA), pipes);
    assert_int_equal(spared_for(0, 0, VY_DRIVER_LAVAPIPE), 0);
    assert_int_equal(spared_for(NVIDIA, 550, VY_DRIVER_ANY), VY_QUIRKS_ALL);
    assert_int_equal(spared_for(INTEL_WINDOWS, 31, VY_DRIVER_LAVAPIPE), VY_QUIRKS_ALL);
    assert_int_equal(spared_for(RADV, 22, VY_DRIVER_ANY), pipes);
    assert_int_equal(spared_for(RADV, 25, VY_DRIVER_ANY), VY_QUIRKS_ALL);
    assert_int_equal(spared_for(LLVMPIPE, 22, VY_DRIVER_OTHER),
                     0); // the driver's own version overrides the setting
    assert_int_equal(spared_for(LLVMPIPE, 25, VY_DRIVER_ANY), VY_QUIRKS_ALL & ~pipes);
    assert_int_equal(spared_for(RADV, 0, VY_DRIVER_ANY), pipes);
    assert_int_equal(spared_for(VENUS, 25, VY_DRIVER_ANY), 0);
    assert_int_equal(spared_for(NEWER, 25, VY_DRIVER_ANY), 0);
    vy_driver driver;
    assert_true(vy_driver_from_name("lavapipe", &driver) && driver == VY_DRIVER_LAVAPIPE);
    assert_false(vy_driver_from_name("llvmpipe", &driver));
    for (uint32_t k = 0; k < VY_QUIRK_COUNT; k++) assert_true(vy_quirk_name(k) && vy_quirk_text(k));
    assert_null(vy_quirk_name(VY_QUIRK_COUNT));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(spared_ones_leave_nothing),
        cmocka_unit_test(devices_are_right_without_what_they_lack),
        cmocka_unit_test(sessions_spare_what_the_driver_lacks),
    };
    return cmocka_run_group_tests(tests, gpu_open, gpu_close);
}
