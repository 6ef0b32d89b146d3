// SPDX-License-Identifier: MIT
// test_device_code.c: memory, control flow, domains, parameters, atomics, barriers and subgroups:
// the device against the interpreter.
#include "tests/unit/device_util.h"
#include "ir/core/ir.h"
#include "spirv/kernel.h"

// ------------------------------------------------------------------------------- memory, indices
static void out_of_range_is_harmless(void **state)
{
    NEED_DEVICE(state);
    static const char *const types[] = {"i32", "u32", "i64", "u64"};
    static const int64_t index[] = {0,         1,         4,          5,         -1,
                                    INT32_MIN, INT32_MAX, UINT32_MAX, INT64_MIN, 1ll << 32};
    float x[15], y[10] = {0};
    unsigned char raw[80];
    char text[700];
    for (int i = 0; i < 15; i++) x[i] = (float)(i + 1);
    for (size_t t = 0; t < COUNT(types); t++) {
        vy_type type;
        vy_type_from_name(types[t], 3, &type);
        for (int i = 0; i < 10; i++)
            vy_scalar_write(type, vy_wrap(type, (vy_scalar){.i = index[i]}),
                            raw + i * vy_type_size(type));
        snprintf(
            text, sizeof text,
            "program t(k: in %s[N], x: in f32[M, 5], o: out f32[N], s: out f32[3, 5], c: out u32[5],\n"
            "  N: u32, M: u32) over(i: N) {\n"
            "  o[i] = x[k[i], 2] + x[1, k[i]] * 100.0 + f32(atomic_add(c[k[i]], 1u));\n"
            "  s[1, k[i]] = 1.0; s[k[i], 3] = 2.0;\n  local v: f32[3]; v[k[i]] = 5.0; o[i] += v[2] + v[k[i]]; }",
            types[t]);
        device_case c = {.text = text, .buffer_count = 5, .opt = t % 2 ? 2 : 0};
        c.buffers[0] = (case_buffer){"k", 10, raw, 0, {0}};
        c.buffers[1] = (case_buffer){"x", 15, x, 2, {3, 5}};
        c.buffers[2] = (case_buffer){"o", 10, y, 0, {0}};
        c.buffers[3] = (case_buffer){"s", 15, NULL, 2, {3, 5}};
        c.buffers[4] = (case_buffer){"c", 5, NULL, 0, {0}};
        check_case(g, &c);
    }
}

static void small_types_are_stored(void **state)
{
    NEED_DEVICE(state);
    static const char *const types[] = {"i8", "u8", "i16", "u16", "bool", "f16", "i64", "f64"};
    char text[400];
    uint64_t bytes[40];
    for (int i = 0; i < 40; i++) bytes[i] = 0x0101010101010101u * (uint64_t)(i * 3 % 2);
    for (size_t t = 0; t < COUNT(types); t++) {
        snprintf(
            text, sizeof text,
            "program t(x: in %s[N], o: out %s[N], N: u32) over(i: N) { o[i] = x[N - 1u - i]; }",
            types[t], types[t]);
        vy_type type;
        vy_type_from_name(types[t], strlen(types[t]), &type);
        uint32_t ones[40];
        for (int i = 0; i < 40; i++) ones[i] = (uint32_t)(i & 1);
        device_case c = {.text = text, .buffer_count = 2};
        c.buffers[0] =
            (case_buffer){"x", 37, type == VY_BOOL ? (void *)ones : (void *)bytes, 0, {0}};
        c.buffers[1] = (case_buffer){"o", 37, NULL, 0, {0}};
        check_case(g, &c);
    }
}

// ------------------------------------------------------------------------------------ control flow
static void control_flow(void **state)
{
    NEED_DEVICE(state);
    static const char *const bodies[] = {
        "for k in 0..n { s += f32(k) * x[i]; }",
        "for k in 0..n step 3 { s = s * 0.5 + f32(k); }",
        "for k in rev(0..n) step 3 { s = s * 0.5 + f32(k); }",
        "for k in rev(-3..n) { s = s * 0.5 + f32(k); }",
        "for k in 2147483640..2147483647 step 4 { s += f32(k - 2147483600); }",
        "for k in rev(2147483640..2147483647) step 4 { s = s * 2.0 + f32(k - 2147483600); }",
        "for k in -2147483647..n step 1000000000 { s += 1.0; }",
        "for k in n..0 { s += 1.0; }",
        "for k in 0u..u32(n) step 2u { if k == 4u { continue; } if k > 8u { break; } s += f32(k); }",
        "for k in rev(0..n) { if k == 2 { break; } s += f32(k); }",
        "var j = 0; while j < n && s < 20.0 { s += f32(j); j += 1; if j == 6 { continue; } s += 0.5; }",
        "var j = 0; while true { j += 1; if j > n { break; } for k in 0..j { if k > 3 { break; } s += 1.0; } }",
        "if n > 5 { if x[i] > 0.0 { s = 1.0; } else { s = 2.0; } } else if n > 2 { s = 3.0; }",
        "if n % 3 == 0 { return; } s = 4.0; if n % 2 == 0 { o[i] = 9.0; return; } s += 1.0;",
        "local v: f32[4]; for k in 0..n { v[k % 4] += f32(k); } s = v[0] + v[1] * 2.0 + v[3];",
        "for k in 0i64..i64(n) step 2i64 { s += f32(k); }",
        "checkpoint { s = x[i] * 2.0; s += 1.0; }",
        "s = sum(k in 0..n: f32(k)) + max(k in 0..n: f32(k % 4)) + prod(k in 1..4, l in 1..3: f32(k + l)); s = s > 1e9 ? 0.0 : s;",
    };
    char text[700];
    int32_t n[67];
    float x[67];
    for (int i = 0; i < 67; i++) {
        n[i] = i % 13 - 1;
        x[i] = (float)(i % 7 - 3);
    }
    for (size_t k = 0; k < 2 * COUNT(bodies); k++) {
        snprintf(text, sizeof text,
                 "program t(c: in i32[N], x: in f32[N], o: out f32[N], N: u32) over(i: N) {\n"
                 "    let n = c[i];\n    var s = 0.0;\n    %s\n    o[i] = s;\n}\n",
                 bodies[k / 2]);
        device_case c = {.text = text,
                         .buffer_count = 3,
                         .opt = k % 2 ? 2 : 0,
                         .options.precise = true};
        c.buffers[0] = (case_buffer){"c", 67, n, 0, {0}};
        c.buffers[1] = (case_buffer){"x", 67, x, 0, {0}};
        c.buffers[2] = (case_buffer){"o", 67, NULL, 0, {0}};
        check_case(g, &c);
    }
}

static void domains_of_any_rank(void **state)
{
    NEED_DEVICE(state);
    static const char *const texts[] = {
        "program t(o: out u32[5, 7, 3, 2, 9]) over(a: 5, b: 7, c: 3, d: 2, e: 9) {\n"
        "  o[a, b, c, d, e] = a * 10000u + b * 1000u + c * 100u + d * 10u + e + 1u; }",
        "program t(o: out u32[30, 63], A: u32) workgroup(8, 4) over(i: A * (A - 1), j: 63) {\n"
        "  o[i, j] = gid.x + gid.y * 100u + wid.y * 7u + num_groups.x + lid.x * 3u + lindex; }",
        "program t(o: out u32[1890]) workgroup(5, 2, 3) {\n"
        "  o[gid.x + gid.y * 315u + gid.z * 630u] = wid.x + wid.y * 10u + num_groups.z + lindex * 100u; }"};
    uint32_t groups[] = {63, 1, 1};
    for (size_t t = 0; t < COUNT(texts); t++) {
        device_case c = {.text = texts[t], .buffer_count = 1};
        c.buffers[0] = (case_buffer){"o", 1890, NULL, 0, {0}};
        if (t == 0) c.buffers[0] = (case_buffer){"o", 1890, NULL, 0, {0}};
        if (t == 1) {
            c.buffers[0] = (case_buffer){"o", 1890, NULL, 2, {30, 63}};
            c.scalars[c.scalar_count++] = (vy_eval_scalar){"A", {.u = 6}};
        }
        if (t == 2) memcpy(c.groups, groups, sizeof groups);
        if (t == 0) {
            // Rank 5 does not fit case_buffer's shape: flatten by a program of the same domain.
            c.text =
                "program t(o: out u32[1890]) over(a: 5, b: 7, c: 3, d: 2, e: 9) {\n"
                "  o[(((a * 7u + b) * 3u + c) * 2u + d) * 9u + e] = a * 10000u + b * 1000u + c * 100u "
                "+ d * 10u + e + 1u; }";
        }
        check_case(g, &c);
    }
}

static void scalars_of_every_type(void **state)
{
    NEED_DEVICE(state);
    device_case c = {
        .text = "program t(o: out f64[10], a: bool, b: i32, c: u64, d: f64) over(i: 10) {\n"
                "  o[i] = f64(a) + f64(b) * 10.0 + f64(c) + d; }",
        .buffer_count = 1,
        .scalar_count = 4,
        .options.max_push_bytes = 0};
    c.buffers[0] = (case_buffer){"o", 10, NULL, 0, {0}};
    c.scalars[0] = (vy_eval_scalar){"a", {.u = 1}};
    c.scalars[1] = (vy_eval_scalar){"b", {.i = -5}};
    c.scalars[2] = (vy_eval_scalar){"c", {.u = 1ull << 40}};
    c.scalars[3] = (vy_eval_scalar){"d", {.f = 0.125}};
    check_case(g, &c);
    c.options.max_push_bytes = 8; // the parameter buffer
    check_case(g, &c);
    c.text =
        "program t(o: out f64[10], a: bool, b: i32, d: f16) over(i: 10) { o[i] = f64(d) + f64(b); }";
    c.scalars[2] = (vy_eval_scalar){"d", {.f = 1.5}};
    c.scalar_count = 3;
    c.options.max_push_bytes = 0;
    check_case(g, &c);
}

// ---------------------------------------------------------------------- atomics, groups, subgroups
static void atomics_by_both_strategies(void **state)
{
    NEED_DEVICE(state);
    static const char *const text =
        "program t(x: in f32[N], h: inout f16[7], f: inout f32[7], m: inout f32[7], d: inout f64[3],\n"
        "          u: inout u32[8], s: inout i32[4], l: inout i64[2], N: u32) over(i: N) {\n"
        "  shared t: f32[2]; if lindex == 0u { t[0] = 0.0; t[1] = 100.0; } barrier();\n"
        "  atomic_add(h[i % 7u], f16(x[i])); atomic_add(f[i % 7u], x[i]); atomic_sub(f[3], 1.0);\n"
        "  atomic_max(m[i % 7u], x[i]); atomic_min(m[6], -x[i]); atomic_add(d[i % 3u], f64(x[i]));\n"
        "  atomic_add(u[0], i); atomic_or(u[1], i); atomic_xor(u[2], i); atomic_max(u[3], i);\n"
        "  atomic_min(s[0], i32(i) - 50); atomic_sub(s[1], 3); atomic_add(l[1], i64(i) * 4000000000i64);\n"
        "  atomic_and(u[4], ~i); atomic_add(t[0], x[i]); atomic_min(t[1], x[i]); barrier();\n"
        "  if lindex == 0u { atomic_add(f[5], t[0]); atomic_min(m[5], t[1]); }\n}\n";
    float x[200];
    for (int i = 0; i < 200; i++)
        x[i] = (float)(i % 9); // sums are exact in any order, f16 included
    device_case c = {.text = text, .buffer_count = 8};
    const char *names[] = {"x", "h", "f", "m", "d", "u", "s", "l"};
    uint64_t counts[] = {200, 7, 7, 7, 3, 8, 4, 2};
    for (int i = 0; i < 8; i++)
        c.buffers[i] = (case_buffer){names[i], counts[i], i ? NULL : x, 0, {0}};
    check_case(g, &c);
    c.without = VY_FEATURE_BIT(ATOMIC_FLOAT32_ADD) | VY_FEATURE_BIT(ATOMIC_FLOAT32_ADD_SHARED) |
                VY_FEATURE_BIT(ATOMIC_FLOAT64_ADD);
    check_case(g, &c);
}

// Sums over subgroups, then over the workgroup, then one addition; larger workgroups.  Products of
// multiples of 1/4 are exact in any order.
static void sums_as_on_a_gpu(void **state)
{
    NEED_DEVICE(state);
    static const char *const bodies[] = {
        "atomic_add(s[0], x[i] * x[i]);",
        "atomic_add(s[n % 4], x[i]); atomic_add(k[2], n); atomic_add(s[1], 1.0);",
        "if x[i] > 0.5 { atomic_add(s[3], x[i]); atomic_add(k[0], 1u); } atomic_add(k[0], 2u);",
        "if i == 300 { atomic_add(s[0], 5.0); }",
        "for j in 0..3u { atomic_add(s[j], x[i]); } atomic_add(s[3], x[i]);",
        "atomic_add(s[u32(x[i] > 1.0)], x[i]); atomic_add(s[9], 1.0);",
    };
    char text[400];
    float x[301];
    for (int i = 0; i < 301; i++) x[i] = (float)(i % 9 - 3) / 4;
    for (size_t b = 0; b < 3 * COUNT(bodies); b++) {
        const char *over[] = {"over(i: N)", "workgroup(128) over(i: N)", "workgroup(7) over(i: N)"};
        snprintf(
            text, sizeof text,
            "program t(x: in f32[N], s: inout f32[4], k: out u32[3], N: u32, n: u32) %s {\n%s\n}\n",
            over[b % 3], bodies[b / 3]);
        device_case c = {.text = text,
                         .buffers = {{"x", 301, x, 0, {0}},
                                     {"s", 4, NULL, 0, {0}},
                                     {"k", 3, NULL, 0, {0}}},
                         .buffer_count = 3,
                         .scalars = {{"n", {.u = 6}}},
                         .scalar_count = 1,
                         .opt = 2,
                         .without = b % 2 ? VY_FEATURE_BIT(ATOMIC_FLOAT32_ADD_SHARED) : 0,
                         .gpu = true};
        check_case(g, &c);
    }
}

static void old_values_and_exchanges(void **state)
{
    NEED_DEVICE(state);
    device_case c = {
        .text =
            "program t(f: inout f32[4], u: inout u32[4], o: out f32[12]) over(i: 1) {\n"
            "  o[0] = atomic_exchange(f[0], 2.5); o[1] = atomic_cas(f[1], 0.0, 3.5);\n"
            "  o[2] = atomic_cas(f[1], 3.5, 4.5); o[3] = atomic_cas(f[2], -0.0, 9.0);\n"
            "  o[4] = atomic_add(f[3], 1.0); o[5] = atomic_add(f[3], 1.0); o[6] = atomic_max(f[3], 7.0);\n"
            "  o[7] = f32(atomic_exchange(u[0], 5u)); o[8] = f32(atomic_cas(u[0], 5u, 6u));\n"
            "  o[9] = f32(atomic_add(u[9], 1u)) + atomic_add(f[4], 1.0); o[10] = f[3]; }",
        .buffer_count = 3};
    c.buffers[0] = (case_buffer){"f", 4, NULL, 0, {0}};
    c.buffers[1] = (case_buffer){"u", 4, NULL, 0, {0}};
    c.buffers[2] = (case_buffer){"o", 12, NULL, 0, {0}};
    check_case(g, &c);
}

static void padding_lanes_take_part_in_barriers(void **state)
{
    NEED_DEVICE(state);
    static const char *const text =
        "program t(x: in f32[N], n: in u32[1], o: out f32[N], total: out f32[1], N: u32) over(i: N) {\n"
        "  shared t: f32[64];\n"
        "  t[lindex] = 0.0; barrier(); t[lindex] = x[i] + 1.0; barrier();\n"
        "  var s = 0.0;\n"
        "  for k in 0u..n[0] { s += t[(lindex + k) % 64u]; barrier(); t[lindex] = s; barrier(); }\n"
        "  o[i] = s; atomic_add(total[0], 1.0);\n}\n";
    float x[100];
    uint32_t n = 3;
    for (int i = 0; i < 100; i++) x[i] = (float)(i % 5);
    device_case c = {.text = text, .buffer_count = 4};
    c.buffers[0] = (case_buffer){"x", 64, x, 0, {0}};
    c.buffers[1] = (case_buffer){"n", 1, &n, 0, {0}};
    c.buffers[2] = (case_buffer){"o", 64, NULL, 0, {0}};
    c.buffers[3] = (case_buffer){"total", 1, NULL, 0, {0}};
    check_case(g, &c);
}

static void subgroup_operations(void **state)
{
    NEED_DEVICE(state);
    static const char *const exprs[] = {
        "subgroup_add(x)",
        "subgroup_mul(x)",
        "subgroup_min(x)",
        "subgroup_max(x)",
        "subgroup_inclusive_add(x)",
        "subgroup_exclusive_add(x)",
        "subgroup_broadcast(x, 0)",
        "subgroup_broadcast(x, 5)",
        "subgroup_shuffle(x, (lane + 3u) % subgroup_size)",
        "subgroup_shuffle(x, lane + 1u)",
        "subgroup_shuffle_xor(x, 1)",
        "select(subgroup_any(b > 5u), x, -x)",
        "select(subgroup_all(b > 5u), x, -x)",
        "f32(subgroup_and(b) + subgroup_or(b) * 3u + subgroup_xor(b) * 7u)",
        "f32(subgroup_add(i32(b)))",
        "f32(subgroup_min(i32(b) - 3)) + f32(subgroup_max(b)) + f32(subgroup_inclusive_add(b))",
        "f32(lane + subgroup_size)"};
    char text[400];
    float x[100];
    uint32_t b[100];
    for (int i = 0; i < 100; i++) {
        x[i] = (float)(i % 3 + 1);
        b[i] = (uint32_t)(i % 11);
    }
    for (size_t k = 0; k < COUNT(exprs); k++) {
        snprintf(text, sizeof text,
                 "program t(xs: in f32[N], bs: in u32[N], o: out f32[N], N: u32) over(i: N) {\n"
                 "  let x = xs[i]; let b = bs[i];\n  o[i] = %s;\n}\n",
                 exprs[k]);
        device_case c = {.text = text, .buffer_count = 3};
        c.buffers[0] = (case_buffer){"xs", 100, x, 0, {0}};
        c.buffers[1] = (case_buffer){"bs", 100, b, 0, {0}};
        c.buffers[2] = (case_buffer){"o", 100, NULL, 0, {0}};
        check_case(g, &c);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(out_of_range_is_harmless),
        cmocka_unit_test(small_types_are_stored),
        cmocka_unit_test(control_flow),
        cmocka_unit_test(domains_of_any_rank),
        cmocka_unit_test(scalars_of_every_type),
        cmocka_unit_test(atomics_by_both_strategies),
        cmocka_unit_test(sums_as_on_a_gpu),
        cmocka_unit_test(old_values_and_exchanges),
        cmocka_unit_test(padding_lanes_take_part_in_barriers),
        cmocka_unit_test(subgroup_operations),
    };
    return cmocka_run_group_tests(tests, gpu_open, gpu_close);
}
