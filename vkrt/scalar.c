// SPDX-License-Identifier: MIT
// scalar.c: numbers to the bits of an element type, and back.
#include "vkrt/internal.h"

#include <math.h>

typedef struct type_row {
    const char *name;
    uint32_t size;
    bool is_float;
    int64_t least, greatest; // integers
} type_row;

static const type_row TYPES[] = {
    {"f32", 4, true, 0, 0},
    {"u32", 4, false, 0, UINT32_MAX},
    {"i32", 4, false, INT32_MIN, INT32_MAX},
    {"f64", 8, true, 0, 0},
    {"f16", 2, true, 0, 0},
    {"bool", 4, false, 0, 1},
    {"i64", 8, false, INT64_MIN, INT64_MAX},
    {"u64", 8, false, 0, INT64_MAX},
    {"i16", 2, false, INT16_MIN, INT16_MAX},
    {"u16", 2, false, 0, UINT16_MAX},
    {"i8", 1, false, INT8_MIN, INT8_MAX},
    {"u8", 1, false, 0, UINT8_MAX},
};

static const type_row *type_called(const char *name)
{
    for (size_t i = 0; name && i < sizeof TYPES / sizeof *TYPES; i++)
        if (strcmp(TYPES[i].name, name) == 0) return &TYPES[i];
    return NULL;
}

uint32_t vkrt_type_size(const char *type)
{
    const type_row *row = type_called(type);
    return row ? row->size : 0;
}

bool vkrt_type_is_float(const char *type)
{
    const type_row *row = type_called(type);
    return row && row->is_float;
}

// Round to nearest even, straight from double: going through float would round twice.
static uint16_t half_bits(double value)
{
    uint16_t sign = signbit(value) ? 0x8000 : 0;
    double a = fabs(value);
    if (isnan(value)) return sign | 0x7e00;
    if (a >= 65520.0) return sign | 0x7c00;                         // halfway to 2^16 and beyond
    if (a < 0x1p-14) return sign | (uint16_t)nearbyint(a * 0x1p24); // subnormal, or just normal
    int exponent;
    double mantissa = frexp(a, &exponent);                // in [0.5, 1)
    uint32_t bits = (uint32_t)nearbyint(mantissa * 2048); // 1024 … 2048; 2048 carries on its own
    return (uint16_t)(sign | (((uint32_t)(exponent + 13) << 10) + bits));
}

bool vkrt_pack_int(const char *type, int64_t value, int64_t *bits)
{
    const type_row *row = type_called(type);
    if (!row) return false;
    if (row->is_float) return vkrt_pack_float(type, (double)value, bits);
    *bits = value;
    return value >= row->least && value <= row->greatest;
}

bool vkrt_pack_float(const char *type, double value, int64_t *bits)
{
    const type_row *row = type_called(type);
    if (!row) return false;
    if (!row->is_float) {
        bool whole = value == trunc(value) && value >= -0x1p63 && value < 0x1p63;
        return whole && vkrt_pack_int(type, (int64_t)value, bits);
    }
    *bits = 0;
    if (row->size == 8) {
        memcpy(bits, &value, 8);
    } else if (row->size == 4) {
        float f = (float)value;
        uint32_t u;
        memcpy(&u, &f, 4);
        *bits = u;
        return isinf(value) || !isinf(f);
    } else {
        *bits = half_bits(value);
        return isinf(value) || (*bits & 0x7fff) != 0x7c00;
    }
    return true;
}

int64_t vkrt_unpack_int(const char *type, const void *element)
{
    const type_row *row = type_called(type);
    uint64_t u = 0;
    if (!row || row->is_float) return 0;
    memcpy(&u, element, row->size); // little end first, as on the device
    uint32_t shift = 64 - 8 * row->size;
    return row->least < 0 ? (int64_t)(u << shift) >> shift : (int64_t)u;
}
