// SPDX-License-Identifier: MIT
// fuzz_npy.c: arbitrary bytes as a .npy file.  An array that reads is printed, converted to every
// element type, and written: the file must read back the same.
#include "tests/fuzz/fuzz.h"
#include "tools/data/data.h"

#include <stdlib.h>
#include <string.h>

static void write_back(const array *a)
{
    text out = {0};
    array again;
    vy_diag d = {0};
    npy_write(a, &out);
    require(!out.failed && npy_read(out.data, out.size, "again.npy", &again, &d), "%s", d.text);
    require(again.type == a->type && again.rank == a->rank && again.count == a->count &&
                !memcmp(again.shape, a->shape, a->rank * sizeof *a->shape) &&
                !memcmp(again.data, a->data, a->count * vy_type_size(a->type)),
            "a written file reads back another array");
    vys_array_free(&again);
    text_free(&out);
}

static void convert(array *from, vy_type type)
{
    spec s = {.name = strdup("x"), .text = strdup("fuzz.npy"), .kind = SPEC_NPY, .file = *from};
    array to = {.rank = from->rank};
    vy_diag d = {0};
    memcpy(to.shape, from->shape, sizeof to.shape);
    require(vys_array_alloc(&to, "x", type, &d), "%s", d.text);
    if (!spec_fill(&s, type, &to, &d)) require_diag(&d, NULL, 0);
    if (type == from->type && type != VY_BOOL)
        require(!memcmp(to.data, from->data, to.count * vy_type_size(type)) ||
                    vy_type_is_float(type),
                "no conversion changes the array");
    vys_array_free(&to);
    s.file = (array){0};
    spec_free(&s);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    array a;
    vy_diag d = {0};
    if (!npy_read(data, size, "fuzz.npy", &a, &d)) {
        require_diag(&d, NULL, 0);
        vys_array_free(&a);
        return 0;
    }
    text out = {0};
    array_print("x", &a, true, &out);
    array_json(&a, &out);
    require(!out.failed && a.rank <= VYS_MAX_RANK, "print");
    text_free(&out);
    write_back(&a);
    for (int t = VY_BOOL; t < VY_TYPE_COUNT; t++) convert(&a, (vy_type)t);
    vys_array_free(&a);
    return 0;
}
