// SPDX-License-Identifier: MIT
// test_eval_ops.c: every PURE row on every type, on edge values: the interpreter, whose common rows
// have specialised loops, against vy_scalar_eval.  Once with all lanes active and once with some.
#include "tests/unit/eval_util.h"

#include "ir/core/ir.h"
#include "ir/build/edit.h"

#include <math.h>

#define LANES 216 // 6³ combinations

// Six values of a type that provoke faults.
static vy_scalar edge(vy_type type, uint32_t k)
{
    static const double floats[] = {0.75, -0.0, (double)INFINITY, (double)NAN, -2.5, 3e9};
    static const int64_t integers[] = {0, -1, INT64_MIN, INT64_MAX, 35, -2147483648};
    vy_scalar v;
    if (vy_type_is_float(type))
        v.f = vy_round_to(type, floats[k % 6]);
    else
        v = vy_wrap(type, (vy_scalar){.i = integers[k % 6]});
    return v;
}

static uint32_t nth(uint32_t lane, uint32_t operand)
{
    const uint32_t divisors[3] = {1, 6, 36};
    return lane / divisors[operand] % 6;
}

typedef struct row {
    vy_op op;
    vy_type types[3], result;
    uint32_t arity;
} row;

static void fill(const row *r, bool f64, uint32_t operand, unsigned char *memory)
{
    const vy_type type = r->types[operand];
    const vy_type kept = f64 && vy_type_is_float(type) ? VY_F64 : type;
    for (uint32_t l = 0; l < LANES; l++)
        vy_scalar_write(kept, edge(type, nth(l, operand)), memory + l * vy_type_size(kept));
}

static void compare(const row *r, bool f64, bool sparse, const unsigned char *got)
{
    const vy_type kept = f64 && vy_type_is_float(r->result) ? VY_F64 : r->result;
    for (uint32_t l = 0; l < LANES; l++) {
        vy_scalar args[3] = {{.u = 0}}, want = {.u = 0};
        for (uint32_t k = 0; k < r->arity; k++) args[k] = edge(r->types[k], nth(l, k));
        if (!sparse || l % 7 == 3)
            assert_true(
                vy_scalar_eval(r->op, r->types[r->arity - 1], r->result, args, 0, f64, &want));
        if (vy_scalar_same(kept, vy_scalar_read(kept, got + l * vy_type_size(kept)), want))
            continue;
        fail_msg("%s on %s to %s, lane %u%s%s", vy_op_infos[r->op].id,
                 vy_type_name(r->types[r->arity - 1]), vy_type_name(r->result), l,
                 f64 ? ", f64 mode" : "", sparse ? ", sparse" : "");
    }
}

static void check_row(const row *r, bool f64, bool sparse)
{
    static const char *const names[] = {"a", "b", "c"};
    static unsigned char memory[4][LANES * 8];
    test_program t = begin("row");
    vy_builder *b = t.b;
    vy_buffer in[3], y = param(b, "y", VY_OUT, r->result, LANES);
    for (uint32_t k = 0; k < r->arity; k++) in[k] = param(b, names[k], VY_IN, r->types[k], LANES);
    vy_value i = vy_over(b, "i", vy_dim_const(b, LANES));
    uint32_t args[3];
    if (sparse) vy_if(b, vy_eq(b, vy_rem(b, i, u32(b, 7)), u32(b, 3)));
    for (uint32_t k = 0; k < r->arity; k++) args[k] = load1(b, in[k], i).id;
    const uint32_t id = vy_emit(b, r->op, r->result, 0, r->arity, args);
    store1(b, y, i, (vy_value){id});
    if (sparse) vy_end(b);
    finish(&t);
    arg list[4] = {{"y", memory[3], LANES}};
    for (uint32_t k = 0; k < r->arity; k++) {
        fill(r, f64, k, memory[k]);
        list[k + 1] = (arg){names[k], memory[k], LANES};
    }
    const vy_eval_options o = {.f64 = f64};
    run_with(&t, r->arity + 1, list, &o, NULL);
    compare(r, f64, sparse, memory[3]);
    drop(&t);
}

static void check_all_modes(const row *r)
{
    for (int mode = 0; mode < 4; mode++) check_row(r, mode & 1, mode & 2);
}

static void test_rows(void **state)
{
    (void)state;
    uint32_t count = 0;
    for (int op = 1; op < VY_OP_COUNT; op++) {
        const vy_op_info *info = &vy_op_infos[op];
        if (info->effect != VY_PURE || info->rule == VY_RULE_S) continue;
        for (int type = VY_BOOL; type <= VY_F64; type++) {
            const vy_type result = vy_rule_type(info->rule, (vy_type)type);
            row r = {(vy_op)op, {(vy_type)type, (vy_type)type, (vy_type)type}, result, info->arity};
            if (result == VY_VOID) continue;
            check_all_modes(&r);
            count++;
        }
    }
    assert_true(count > 150);
}

static void test_conversions(void **state)
{
    (void)state;
    for (int from = VY_BOOL; from <= VY_F64; from++) {
        const vy_type arm = (vy_type)from;
        check_all_modes(&(row){VY_OP_SELECT, {VY_BOOL, arm, arm}, arm, 3});
        for (int to = VY_BOOL; to <= VY_F64; to++)
            check_all_modes(&(row){VY_OP_CAST, {arm}, (vy_type)to, 1});
    }
    static const vy_type words[] = {VY_I32, VY_U32, VY_F32};
    for (int k = 0; k < 9; k++)
        check_all_modes(&(row){VY_OP_BITCAST, {words[k / 3]}, words[k % 3], 1});
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_rows),
        cmocka_unit_test(test_conversions),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
