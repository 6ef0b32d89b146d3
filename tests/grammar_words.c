// SPDX-License-Identifier: MIT
// grammar_words.c: prints the words of the language, a kind before each: what
// tests/scripts/ir/grammar.py makes the grammar for editors of.
#include "ir/text/front.h"

#include <stdio.h>

int main(void)
{
    const char *word;
    for (uint32_t i = 0; (word = vy_keyword_name(i)); i++) printf("keyword %s\n", word);
    for (int t = VY_BOOL; t < VY_TYPE_COUNT; t++) printf("type %s\n", vy_type_name((vy_type)t));
    for (uint32_t i = 0; (word = vy_builtin_function_name(i)); i++)
        if (*word) printf("function %s\n", word);
    for (uint32_t i = 0; (word = vy_builtin_value_name(i)); i++) printf("value %s\n", word);
    return 0;
}
