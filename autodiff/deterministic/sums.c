// SPDX-License-Identifier: MIT
// sums.c: all programs of a module, with their sums in an order (deterministic.c) or those of half
// floats as f32 (wide.c).
#include "autodiff/deterministic/sums.h"
#include "autodiff/deterministic/ordering.h"
#include "ir/pass/pass.h"

// The programs may be compiled without checks yet: no load goes where it might be out of range.
static bool optimize(vy_module *m)
{
    static const vy_opt_options options = {.level = 2, .unchecked = true, .skip = "mark_in_range"};
    bool ok = vy_optimize(m, &options);
    for (uint32_t k = 0; ok && k < m->programs.count; k++)
        ok = vy_pass_mark_in_range(m->programs.data[k], &(vy_pass_context){0});
    return ok;
}

bool vy_order_sums(vy_module *m, bool lean)
{
    if (!optimize(m)) return false;
    // From the end: stages are appended, and the program that they replace is removed.
    for (uint32_t n = m->programs.count; n-- > 0;)
        if (!vy_order_program(m, m->programs.data[n], lean, NULL)) return false;
    return true;
}

static bool any_halves(const vy_module *m)
{
    bool any = false;
    for (uint32_t k = 0; k < m->programs.count; k++)
        for (uint32_t id = 1; id < m->programs.data[k]->insts.count; id++)
            any |= vy_adds_halves(m->programs.data[k], id);
    return any;
}

bool vy_widen_sums(vy_module *m, const vy_adjoint_buffers *names)
{
    if (!any_halves(m)) return true;
    if (!optimize(m)) return false;
    for (uint32_t n = m->programs.count; n-- > 0;)
        if (!vy_order_program(m, m->programs.data[n], false, names)) return false;
    return true;
}
