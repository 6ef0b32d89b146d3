// SPDX-License-Identifier: MIT
// types.c: facts about element types.
#include "ir/vyre.h"

#include <string.h>

static const struct type_facts {
    const char *name;
    uint8_t size;
    uint8_t is_float, is_integer, is_signed;
    uint8_t loaded;
} types[VY_TYPE_COUNT] = {
    [VY_VOID] = {"void", 0, 0, 0, 0, VY_VOID}, [VY_BOOL] = {"bool", 4, 0, 0, 0, VY_BOOL},
    [VY_I32] = {"i32", 4, 0, 1, 1, VY_I32},    [VY_U32] = {"u32", 4, 0, 1, 0, VY_U32},
    [VY_I64] = {"i64", 8, 0, 1, 1, VY_I64},    [VY_U64] = {"u64", 8, 0, 1, 0, VY_U64},
    [VY_F16] = {"f16", 2, 1, 0, 0, VY_F16},    [VY_F32] = {"f32", 4, 1, 0, 0, VY_F32},
    [VY_F64] = {"f64", 8, 1, 0, 0, VY_F64},    [VY_I8] = {"i8", 1, 0, 1, 1, VY_I32},
    [VY_U8] = {"u8", 1, 0, 1, 0, VY_U32},      [VY_I16] = {"i16", 2, 0, 1, 1, VY_I32},
    [VY_U16] = {"u16", 2, 0, 1, 0, VY_U32},
};

// The API may be called with any number, so an unknown type reads as void.
static const struct type_facts *facts(vy_type type)
{
    return &types[(unsigned)type < VY_TYPE_COUNT ? type : VY_VOID];
}

const char *vy_type_name(vy_type type) { return facts(type)->name; }
uint32_t vy_type_size(vy_type type) { return facts(type)->size; }
bool vy_type_is_float(vy_type type) { return facts(type)->is_float; }
bool vy_type_is_integer(vy_type type) { return facts(type)->is_integer; }
bool vy_type_is_signed(vy_type type) { return facts(type)->is_signed; }
vy_type vy_type_loaded(vy_type type) { return (vy_type)facts(type)->loaded; }

bool vy_type_from_name(const char *s, size_t n, vy_type *out)
{
    for (int t = VY_BOOL; t < VY_TYPE_COUNT; t++) {
        if (strlen(types[t].name) == n && memcmp(types[t].name, s, n) == 0) {
            *out = (vy_type)t;
            return true;
        }
    }
    return false;
}
