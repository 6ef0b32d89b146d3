// SPDX-License-Identifier: MIT
// test_low_bits.c: what ir/facts/low_bits.c says of operations on integers, against values with
// these bits.
//
// Every operation of the table on two integers, every type, everything that can be known of up to
// three bits, and constants; above the known bits samples.  The reference is vy_scalar_eval.
#include "ir/facts/low_bits.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

enum { KNOWN = 15, CONSTANTS = 9, ALL = KNOWN + CONSTANTS, HIGHER = 8 };

static const vy_type types[] = {VY_I32, VY_U32, VY_I64, VY_U64};

// Everything that can be known of at most three bits, then constants.
static vy_low_bits knowledge(vy_type t, uint32_t k)
{
    static const int64_t constants[CONSTANTS] = {0, 1, 2, 3, 8, 31, 33, -1, -4};
    const uint32_t width = 8 * (uint32_t)vy_type_size(t);
    if (k >= KNOWN) {
        const uint64_t v = (uint64_t)constants[k - KNOWN];
        return (vy_low_bits){width, width == 32 ? (uint32_t)v : v};
    }
    uint32_t count = 0;
    while (k >= (2u << count) - 1) count++;
    return (vy_low_bits){count, k - ((1u << count) - 1)};
}

// A value of type t with these bits.
static vy_scalar value(vy_type t, vy_low_bits x, uint32_t sample)
{
    static const uint64_t higher[HIGHER] = {
        0, 1, 2, 7, UINT64_C(0x40000000), UINT64_C(0x7ffffffffffffff), UINT64_MAX, 12345};
    vy_scalar v = {.u = x.bits | (x.count < 64 ? higher[sample] << x.count : 0)};
    if (vy_type_size(t) == 8) return v;
    if (vy_type_is_signed(t))
        v.i = (int32_t)(uint32_t)v.u;
    else
        v.u = (uint32_t)v.u;
    return v;
}

static bool has(vy_scalar v, vy_low_bits x)
{
    const uint64_t all = x.count < 64 ? (UINT64_C(1) << x.count) - 1 : UINT64_MAX;
    return (v.u & all) == x.bits;
}

static void check_pair(vy_op op, vy_type t, vy_low_bits x, vy_low_bits y)
{
    vy_low_bits said = vy_low_bits_binary(op, t, x, y);
    const uint32_t width = 8 * (uint32_t)vy_type_size(t);
    if (said.count > width) said.count = width, said.bits &= (UINT64_C(1) << width) - 1;
    for (uint32_t a = 0; a < HIGHER; a++)
        for (uint32_t b = 0; b < HIGHER; b++) {
            const vy_scalar args[] = {value(t, x, a), value(t, y, b)};
            vy_scalar v;
            assert_true(vy_scalar_eval(op, t, t, args, 0, false, &v));
            if (!has(v, said))
                fail_msg("%s of %s: %lld, %lld gives %lld, not …%llx in %u bits",
                         vy_op_infos[op].id, vy_type_name(t), (long long)args[0].i,
                         (long long)args[1].i, (long long)v.i, (unsigned long long)said.bits,
                         said.count);
        }
}

static void test_operations(void **state)
{
    (void)state;
    for (int op = 1; op < VY_OP_COUNT; op++) {
        const vy_op_info *info = &vy_op_infos[op];
        const bool whole =
            info->rule == VY_RULE_N || info->rule == VY_RULE_I || info->rule == VY_RULE_IB;
        if (info->effect != VY_PURE || info->arity != 2 || !whole) continue;
        for (size_t k = 0; k < sizeof types / sizeof *types; k++)
            for (uint32_t a = 0; a < ALL; a++)
                for (uint32_t b = 0; b < ALL; b++)
                    check_pair((vy_op)op, types[k], knowledge(types[k], a), knowledge(types[k], b));
    }
}

static bool is(vy_low_bits x, uint32_t count, uint64_t bits)
{
    return x.count == count && x.bits == bits;
}

// It says as much as it can.
static void test_close(void **state)
{
    (void)state;
    const vy_low_bits none = {0, 0}, odd = {1, 1}, two = {32, 2}, six = {32, 6};
    assert_true(is(vy_low_bits_binary(VY_OP_MUL, VY_U32, two, none), 1, 0));
    assert_true(is(vy_low_bits_binary(VY_OP_MUL, VY_U32, two, odd), 2, 2));
    assert_true(is(vy_low_bits_binary(VY_OP_ADD, VY_U32, odd, six), 1, 1));
    assert_true(is(vy_low_bits_binary(VY_OP_SHL, VY_U32, odd, two), 3, 4));
    assert_true(is(vy_low_bits_binary(VY_OP_OR, VY_U32, none, (vy_low_bits){32, 3}), 2, 3));
    assert_true(is(vy_low_bits_binary(VY_OP_AND, VY_U32, none, (vy_low_bits){32, 12}), 2, 0));
    assert_true(is(vy_low_bits_binary(VY_OP_REM, VY_U32, (vy_low_bits){4, 13}, six), 1, 1));
    assert_true(is(vy_low_bits_binary(VY_OP_MAX, VY_U32, (vy_low_bits){4, 13}, six), 0, 0));
    assert_true(is(vy_low_bits_binary(VY_OP_MIN, VY_U32, (vy_low_bits){4, 14}, six), 3, 6));
    assert_true(vy_low_bits_differ(odd, two));
    assert_false(vy_low_bits_differ(odd, (vy_low_bits){4, 13}));
    assert_false(vy_low_bits_differ(none, two));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_operations),
        cmocka_unit_test(test_close),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
