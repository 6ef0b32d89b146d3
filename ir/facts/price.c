// SPDX-License-Identifier: MIT
// price.c: the table of prices, a row for each kind of work.
//
// Two measures, because they answer different questions:
//
//   again   Recompute or keep?  In simple operations of any device: a load is one that hits a
//           cache, a subgroup operation a few shuffles, or several steps of one.  Used where a
//           tape, a gather or an `if` competes with recomputation (autodiff/storage/plan.c,
//           autodiff/gather/, ir/pass/scalar/ifconvert.c).  Estimates: no decision on the programs
//           of tests/ and examples/ changes if a function is 10 instead of 12.
//   cpu     How long do the lanes of a CPU vector take?  There a load is made lane by lane and
//           expensive, while a function was measured to cost no more than a minimum, because the
//           surrounding code dominates.  Used where loads compete with registers
//           (ir/pass/device/coarsen.c).  Fitted on lavapipe to n bodies and matmul
//           (docs/performance.md).  A GPU waits on loads too; a device that needs other numbers
//           gets a column of its own here.
//
// A loop costs what its body costs, so its markers are free; what it carries is moved once per
// iteration.
#include "ir/facts/price.h"

const vy_price vy_prices[VY_WORK_COUNT] = {
    //                  again  cpu: floats, others
    [VY_WORK_FREE] = {0, 0, 0},
    [VY_WORK_SIMPLE] = {1, 1, 1},
    [VY_WORK_ADD] = {1, 1, 1},
    [VY_WORK_MUL] = {1, 1, 1},
    [VY_WORK_FMA] = {1, 1, 1},
    [VY_WORK_DIV] = {4, 4, 16}, // integers: one lane after the other
    [VY_WORK_LIMIT] = {1, 6, 1},
    [VY_WORK_ROUND] = {1, 6, 1},
    [VY_WORK_ROOT] = {4, 6, 6},
    [VY_WORK_MATH] = {12, 6, 6},
    [VY_WORK_LOAD] = {4, 16, 16},
    [VY_WORK_STORE] = {4, 12, 12},
    [VY_WORK_ATOMIC] = {4, 12, 12},
    [VY_WORK_SUBGROUP] = {12, 6, 6},
    [VY_WORK_BARRIER] = {12, 6, 6},
    [VY_WORK_BRANCH] = {0, 6, 6},
    [VY_WORK_CARRY] = {0, 2, 2},
    [VY_WORK_CONTROL] = {0, 0, 0},
};
