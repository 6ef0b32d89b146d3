// SPDX-License-Identifier: MIT
// out_of_memory.h: what a test does with a module, with the first, second, third … allocation
// failing until none does.  Include it after cmocka.h.
#ifndef VYRE_TEST_OUT_OF_MEMORY_H
#define VYRE_TEST_OUT_OF_MEMORY_H

#include "autodiff/grad.h"
#include "ir/core/ir.h"
#include "ir/pass/pass.h"
#include "tests/unit/failing.h"

// The gradient of `m`, which may be NULL or broken, through text and binary form, optimised; frees
// them all.
static bool in_all_forms(vy_module *m)
{
    size_t size;
    vy_diag d;
    vy_module *g = m && vy_module_ok(m) ? vy_grad(m, NULL, &d) : NULL;
    char *text = g ? vy_print(g, &size) : NULL;
    vy_module *again = text ? vy_parse(text, size, "again") : NULL;
    void *block = again && vy_module_ok(again) ? vy_binary_write(again, &size) : NULL;
    vy_module *read = block ? vy_binary_read(block, size) : NULL;
    const bool ok = read && vy_module_ok(read) &&
                    vy_optimize(read, &(vy_opt_options){.level = 2, .final = true});
    vy_module_free(read);
    vy_free(block);
    vy_module_free(again);
    vy_free(text);
    vy_module_free(g);
    vy_module_free(m);
    return ok;
}

// everything: false where an allocation failed.  It makes between 100 and 20000.
static void out_of_memory(bool (*everything)(uint32_t variant), uint32_t variant)
{
    long n = 0;
    for (bool done = false; !done && n < 20000; n = next_failing(n)) {
        vy_test_fail_after(n);
        done = everything(variant);
        vy_test_fail_after(-1);
    }
    assert_true(n > 100 && n < 20000);
}

#endif
