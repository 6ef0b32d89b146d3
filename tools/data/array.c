// SPDX-License-Identifier: MIT
// array.c: arrays of numbers as text.
#include "tools/data/data.h"
#include "tools/data/number.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#define SHOWN 16 // elements before `…`

static vy_scalar element(const array *a, uint64_t i)
{
    return vy_scalar_read(a->type, (const char *)a->data + i * vy_type_size(a->type));
}

void shape_text(uint32_t rank, const uint64_t *shape, text *out)
{
    for (uint32_t i = 0; i < rank; i++)
        text_printf(out, "%s%llu", i ? ", " : "", (unsigned long long)shape[i]);
}

void array_print(const char *name, const array *a, bool all, text *out)
{
    text_printf(out, "%s %s[", name, vy_type_name(a->type));
    shape_text(a->rank, a->shape, out);
    text_puts(out, "] = [");
    const uint64_t shown = all || a->count <= SHOWN ? a->count : SHOWN;
    for (uint64_t i = 0; i < shown; i++) {
        char number[NUMBER_TEXT];
        if (i) text_puts(out, ", ");
        text_add(out, number, number_text(a->type, element(a, i), number));
    }
    text_puts(out, shown < a->count ? ", …]\n" : "]\n");
}

void array_json(const array *a, text *out)
{
    text_puts(out, "[");
    for (uint64_t i = 0; i < a->count && !out->failed; i++) {
        char number[NUMBER_TEXT];
        const vy_scalar v = element(a, i);
        const size_t n = number_text(a->type, v, number);
        if (i) text_puts(out, ", ");
        if (vy_type_is_float(a->type) && !isfinite(v.f)) text_printf(out, "\"%s\"", number);
        // `-0` is an integer to many readers and loses its sign
        else if (!strcmp(number, "-0"))
            text_puts(out, "-0.0");
        else
            text_add(out, number, n);
    }
    text_puts(out, "]");
}
