// SPDX-License-Identifier: MIT
// reads_back.h: for tests of passes: what they make is a program that its text states completely.
#ifndef TESTS_READS_BACK_H
#define TESTS_READS_BACK_H

#include "ir/core/ir.h"

#include <string.h>

// Read and printed again, it is the same text and an equal module.
static inline void assert_reads_back(const vy_module *m)
{
    char *text = vy_print(m, NULL);
    assert_non_null(text);
    vy_module *back = vy_parse(text, strlen(text), "printed");
    char *again = vy_print(back, NULL);
    assert_string_equal(text, again);
    assert_true(vy_module_equal(m, back));
    vy_free(again);
    vy_module_free(back);
    vy_free(text);
}

#endif
