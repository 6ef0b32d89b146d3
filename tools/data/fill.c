// SPDX-License-Identifier: MIT
// fill.c: the elements that a SPEC stands for.
#include "tools/data/data.h"
#include "tools/data/file.h"
#include "tools/data/npz.h"
#include "tools/data/number.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#ifndef M_PI
#define M_PI 3.14159265358979323846
#endif

// S. Vigna, https://prng.di.unimi.it/splitmix64.c
uint64_t splitmix64(uint64_t x)
{
    x += 0x9e3779b97f4a7c15u;
    x = (x ^ x >> 30) * 0xbf58476d1ce4e5b9u;
    x = (x ^ x >> 27) * 0x94d049bb133111ebu;
    return x ^ x >> 31;
}

static double unit(uint64_t seed, uint64_t index)
{
    return ldexp((double)splitmix64(seed + index), -64);
}

// Box–Muller: elements 2k and 2k+1 are the two coordinates that draws 2k and 2k+1 give.
static double gaussian(uint64_t seed, uint64_t index)
{
    const double u = unit(seed, index & ~1ull), v = unit(seed, index | 1);
    const double r = sqrt(-2 * log(u > 0 ? u : ldexp(1, -64)));
    return r * (index & 1 ? sin(2 * M_PI * v) : cos(2 * M_PI * v));
}

// ------------------------------------------------------------------------------------------ files
bool spec_has_count(const spec *s) { return s->kind == SPEC_LIST || spec_is_file(s); }

static bool load(spec *s, vy_type type, vy_diag *d)
{
    text bytes = {0};
    if (s->file.data) return true;
    bool ok = s->kind == SPEC_NPZ ? npz_read(s->text, s->member ? s->member : s->name, &bytes, d)
                                  : file_read(s->text, DATA_LIMIT, &bytes, d);
    const bool picture = ok && (s->kind == SPEC_PNG ||
                                (s->kind == SPEC_STREAM && picture_begins(bytes.data, bytes.size)));
    if (ok && !picture && s->kind != SPEC_BIN) {
        ok = npy_read(bytes.data, bytes.size, s->text, &s->file, d);
    } else if (picture) {
        ok = picture_read(bytes.data, bytes.size, s->text, type, s->linear, &s->file, d);
    } else if (ok && bytes.size % vy_type_size(type)) {
        ok = fail(d, TOOL_DATA, "", "%s has %zu bytes, which is not a multiple of the %u of one %s",
                  s->text, bytes.size, vy_type_size(type), vy_type_name(type));
    } else if (ok) {
        s->file.rank = 1;
        s->file.shape[0] = bytes.size / vy_type_size(type);
        ok = vys_array_alloc(&s->file, s->text, type, d);
        if (ok && bytes.size) memcpy(s->file.data, bytes.data, bytes.size);
    }
    text_free(&bytes);
    return ok;
}

bool spec_count(spec *s, vy_type type, uint64_t *count, vy_diag *d)
{
    if (s->kind == SPEC_LIST) {
        *count = *s->text ? 1 : 0;
        for (const char *c = s->text; (c = strchr(c, ',')); c++) ++*count;
        return true;
    }
    if (!load(s, type, d)) return false;
    *count = s->file.count;
    return true;
}

// ------------------------------------------------------------------------------------- conversion
static bool fits(vy_type from, vy_type to, vy_scalar v)
{
    if (to == VY_BOOL) return v.u <= 1;
    const bool negative = vy_type_is_signed(from) && v.i < 0;
    if (vy_type_is_signed(to)) {
        const int64_t most = INT64_MAX >> (64 - 8 * vy_type_size(to));
        return negative ? v.i >= -most - 1 : v.u <= (uint64_t)most;
    }
    return !negative && v.u <= UINT64_MAX >> (64 - 8 * vy_type_size(to));
}

// Files may hold other types: floats and integers become floats, integers must fit integers.
static bool convert(const spec *s, array *a, vy_diag *d)
{
    const vy_type from = s->file.type;
    const bool real = vy_type_is_float(from), to_real = vy_type_is_float(a->type);
    if (real && !to_real)
        return fail(d, TOOL_DATA, "convert it with numpy.ndarray.astype",
                    "%s holds %s, but %s is %s", s->text, vy_type_name(from), s->name,
                    vy_type_name(a->type));
    for (uint64_t i = 0; i < a->count; i++) {
        vy_scalar v = vy_scalar_read(from, (const char *)s->file.data + i * vy_type_size(from));
        if (to_real && !real)
            v.f = vy_type_is_signed(from) ? (double)v.i : (double)v.u;
        else if (!to_real && !fits(from, a->type, v))
            return fail(d, TOOL_DATA, "", "element %llu of %s does not fit %s of %s",
                        (unsigned long long)i, s->text, vy_type_name(a->type), s->name);
        vy_scalar_write(a->type, v, (char *)a->data + i * vy_type_size(a->type));
    }
    return true;
}

static bool fill_list(const spec *s, array *a, vy_diag *d)
{
    const char *at = s->text;
    for (uint64_t i = 0; i < a->count; i++) {
        const char *comma = strchr(at, ',');
        const size_t n = comma ? (size_t)(comma - at) : strlen(at);
        vy_scalar v;
        const char *why = number_parse(a->type, at, n, &v);
        if (why)
            return fail(d, TOOL_DATA, "", "element %llu of %s, `%.*s`: %s (%s)",
                        (unsigned long long)i, s->name, n > 40 ? 40 : (int)n, at, why,
                        vy_type_name(a->type));
        vy_scalar_write(a->type, v, (char *)a->data + i * vy_type_size(a->type));
        at = comma ? comma + 1 : at + n;
    }
    return true;
}

// ------------------------------------------------------------------------------------- generators
// An integer that a generator made, checked against the type.
static bool put_integer(const spec *s, array *a, uint64_t i, double value, vy_diag *d)
{
    const vy_scalar v = {.i = value >= -0x1p63 && value < 0x1p63 ? (int64_t)value : INT64_MIN};
    if ((double)v.i != value || !fits(VY_I64, a->type, v))
        return fail(d, TOOL_DATA, "", "element %llu of %s would be %.17g, which does not fit %s",
                    (unsigned long long)i, s->name, value, vy_type_name(a->type));
    vy_scalar_write(a->type, v, (char *)a->data + i * vy_type_size(a->type));
    return true;
}

static bool generate(const spec *s, array *a, vy_diag *d)
{
    const bool real = vy_type_is_float(a->type);
    if (!real && s->kind == SPEC_NORMAL)
        return fail(d, TOOL_DATA, "use uniform:LO:HI:SEED", "normal is for floats, but %s is %s",
                    s->name, vy_type_name(a->type));
    for (uint64_t i = 0; i < a->count; i++) {
        vy_scalar v = {.f = (double)i};
        if (s->kind == SPEC_CYCLE)
            v.f = (double)(i % (uint64_t)s->a);
        else if (s->kind == SPEC_UNIFORM)
            v.f = s->a + (s->b - s->a) * unit(s->seed, i);
        else if (s->kind == SPEC_NORMAL)
            v.f = s->a + s->b * gaussian(s->seed, i);
        if (real) {
            vy_scalar_write(a->type, v, (char *)a->data + i * vy_type_size(a->type));
            continue;
        }
        if (s->kind == SPEC_UNIFORM) { // integers: LO … HI−1, also where u rounds to 1
            v.f = floor(v.f);
            if (v.f >= s->b && s->b > s->a) v.f = ceil(s->b) - 1;
        }
        if (!put_integer(s, a, i, v.f, d)) return false;
    }
    return true;
}

static bool fill_const(const spec *s, array *a, vy_diag *d)
{
    vy_scalar v;
    const char *why = number_parse(a->type, s->text, strlen(s->text), &v);
    if (why)
        return fail(d, TOOL_DATA, "", "%s=const:%.40s: %s (%s)", s->name, s->text, why,
                    vy_type_name(a->type));
    if (!strcmp(s->text, "0")) return true; // it was allocated as zeros
    for (uint64_t i = 0; i < a->count; i++)
        vy_scalar_write(a->type, v, (char *)a->data + i * vy_type_size(a->type));
    return true;
}

bool spec_fill(spec *s, vy_type declared, array *a, vy_diag *d)
{
    switch (s->kind) {
    case SPEC_LIST: return fill_list(s, a, d);
    case SPEC_NPY:
    case SPEC_NPZ:
    case SPEC_PNG:
    case SPEC_STREAM:
    case SPEC_BIN: return load(s, declared, d) && convert(s, a, d);
    case SPEC_CONST: return fill_const(s, a, d);
    default: return generate(s, a, d);
    }
}
