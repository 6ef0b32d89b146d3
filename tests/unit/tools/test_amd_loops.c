// SPDX-License-Identifier: MIT
// test_amd_loops.c: which instructions of an AMD GPU's assembly are counted, and in which loops.
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tools/data/amd_loops.c"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#define ENDING "\ts_endpgm\n"

static void expect_loops(const char *text, uint32_t count, const amd_loop *want)
{
    amd_loop *loops;
    uint32_t n;
    assert_true(amd_loops(text, &loops, &n));
    assert_int_equal(n, count);
    for (uint32_t i = 0; i < n; i++) {
        assert_int_equal(loops[i].instructions, want[i].instructions);
        assert_int_equal(loops[i].multiply_adds, want[i].multiply_adds);
        assert_int_equal(loops[i].memory, want[i].memory);
    }
    free(loops);
}

static void only_innermost_loops(void **state)
{
    (void)state;
    // The outer loop has an addition of its own before and after the inner one.
    expect_loops("BB0:\n\tv_mov_b32 v0, 0 ; 1\nBB1:\n\tv_fma_f32 v1, v1, v2, v3\nBB2:\n"
                 "\tbuffer_load_dword v4, v3, s[0:3], 0 offen ; e0301000 80000403\n"
                 "\tv_fmac_f32_e32 v1, v4, v2 ; 56020504\n\ts_cbranch_scc1 BB2 ; bf85fffd\n"
                 "BB3:\n\tv_fma_f32 v1, v1, v2, v3\n\ts_cbranch_vccnz BB1\n" ENDING,
                 1, &(amd_loop){3, 1, 1});
    // Two in a row; the second has a branch out of it and two back to its beginning.
    expect_loops("BB1:\n\tds_read_b32 v0, v1\n\ts_branch BB1\nBB2:\n\ts_cbranch_execz BB4\nBB3:\n"
                 "\tv_mac_f32 v1, v2, v3\n\ts_cbranch_scc0 BB2\n\tglobal_store_dword v0, v1, off\n"
                 "\ts_branch BB2\nBB4:\n" ENDING,
                 2, (amd_loop[]){{2, 0, 1}, {5, 1, 1}});
    // A loop that ends the kernel.
    expect_loops("BB0:\n\ts_nop 0\n\ts_branch BB0\n", 1, &(amd_loop){2, 0, 0});
}

static void counts_by_kind(void **state)
{
    (void)state;
    expect_loops("BB0:\n\tv_dual_fmac_f32 v0, v1, v2 :: v_dual_fmac_f32 v3, v4, v5 ; c8\n"
                 "\tv_dual_fmac_f32 v0, v1, v2 :: v_dual_mul_f32 v3, v4, v5 ; :: v_fma_\n"
                 "\tv_pk_fma_f16 v0, v1, v2, v3\n\tv_mad_u32_u24 v0, v1, v2, v3\n"
                 "\tv_fma_mix_f32 v0, v1, v2, v3\n\ts_load_dwordx4 s[0:3], s[4:5], 0x0\n"
                 "\ts_buffer_load_dword s0, s[0:3], 0x0\n\tscratch_load_b32 v0, v1, off\n"
                 "\tbuffer_atomic_cmpswap v[0:1], v2, s[0:3], 0\n\tbuffer_gl0_inv\n"
                 "\ts_cbranch_scc1 BB0\n",
                 1, &(amd_loop){11, 6, 4});
}

// Text of other compilers, labels that do not exist, nothing.
static void other_text(void **state)
{
    (void)state;
    expect_loops("", 0, NULL);
    expect_loops("BB0:", 0, NULL);
    expect_loops(
        "\ts_branch BB7\n\ts_branch BB\n\ts_branch\nBB99999999999:\n\ts_branch BB2147483647", 0,
        NULL);
    expect_loops("(8) add(8) g1<1>F g2<8,8,1>F g3<8,8,1>F { align1 1Q };\nLABEL0:\nwhile", 0, NULL);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(only_innermost_loops),
        cmocka_unit_test(counts_by_kind),
        cmocka_unit_test(other_text),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
