// SPDX-License-Identifier: MIT
// test_sharing.c: what it costs to find an equal instruction in a large program (ir/build/build.c).
#include "ir/build/build.h"
#include "ir/build/edit.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>

#include <cmocka.h>

// Three instructions use each value, so the lines of neighbours are full, and many instructions are
// elsewhere in the table.  Few lines are looked at for each, in programs of any size.
static double lines_looked_at(uint32_t count)
{
    static const char text[] = "program f(x: in f32[N], y: out f32[N], N: u32) over(i: N) "
                               "{ y[i] = sin(x[i]); }";
    vy_module *m = vy_parse(text, sizeof text - 1, "sharing");
    assert_non_null(m);
    assert_true(vy_module_ok(m));
    vy_builder *b = vy_rebuild_begin(m->programs.data[0]);
    assert_non_null(b);
    uint32_t *made = calloc(count, sizeof *made);
    assert_non_null(made);
    const vy_program *p = m->programs.data[0];
    for (uint32_t id = 1; id < p->insts.count && !made[0]; id++)
        if (p->insts.data[id].op == VY_OP_LOAD)
            made[0] = vy_emit(b, VY_OP_LOAD, VY_F32, p->insts.data[id].aux, 1, vy_args(p, id));
    for (uint32_t k = 1; k < 2 * count; k++) { // each twice: the second time it is found
        const uint32_t at = k % count;
        if (!at) continue;
        const uint32_t args[] = {made[(at - 1) / 3], vy_float(b, VY_F32, at % 3 + 2.0).id};
        const uint32_t id = vy_emit(b, VY_OP_ATAN2, VY_F32, 0, 2, args);
        assert_true(k < count || id == made[at]);
        made[at] = id;
    }
    const double each = (double)b->looked / (2.0 * count);
    free(made);
    vy_program_abandon(b);
    vy_module_free(m);
    return each;
}

static void look_ups_stay_short(void **state)
{
    (void)state;
    assert_true(lines_looked_at(3000) < 4);
    assert_true(lines_looked_at(300000) < 4);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(look_ups_stay_short)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
