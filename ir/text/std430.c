// SPDX-License-Identifier: MIT
// std430.c: where GLSL's layout std430 has the fields of a struct, for buffers of a `@shader program`
// that a host has filled (docs/language.md 2.4).
//
// Vectors are aligned to two or four of their components, everything else to the most of what it
// is made of; elements of arrays and columns of matrices start at multiples of their alignment.
// (OpenGL 4.6, 7.6.2.2, without the rules for std140.)
#include "ir/text/front.h"

typedef struct extent {
    uint32_t size, align;
} extent;

static uint32_t round_up(uint32_t size, uint32_t align)
{
    return (size + align - 1) / align * align;
}

static extent extent_of(const vy_front *f, vy_text_type t);

static uint32_t stride_of(const vy_front *f, vy_text_type t) // of an array of it
{
    const extent e = extent_of(f, t);
    return round_up(e.size, e.align);
}

static extent struct_extent(const vy_front *f, const vy_made_type *m)
{
    extent all = {0, 1};
    for (const vy_field *d = m->fields; d; d = d->next) {
        const extent e = extent_of(f, d->type);
        all.size = round_up(all.size, e.align) + e.size;
        if (e.align > all.align) all.align = e.align;
    }
    all.size = round_up(all.size, all.align);
    return all;
}

static extent extent_of(const vy_front *f, vy_text_type t)
{
    const vy_made_type *m = vy_made_of(f, t);
    if (!m) return (extent){vy_type_size((vy_type)t), vy_type_size((vy_type)t)};
    if (m->kind == VY_STRUCT) return struct_extent(f, m);
    const extent e = extent_of(f, m->of);
    if (m->kind == VY_VECTOR) return (extent){m->parts * e.size, (m->parts + 1) / 2 * 2 * e.size};
    return (extent){m->parts * round_up(e.size, e.align), e.align};
}

// The field in which column *c is, which becomes the column of the field; *at becomes its place.
static const vy_field *field_at(const vy_front *f, const vy_made_type *m, uint32_t *c, uint32_t *at)
{
    uint32_t end = 0;
    for (const vy_field *d = m->fields;; d = d->next) {
        const extent e = extent_of(f, d->type);
        const uint32_t n = vy_columns(f, d->type), start = round_up(end, e.align);
        if (*c < n || !d->next) return *at += start, d;
        *c -= n;
        end = start + e.size;
    }
}

uint32_t vy_std430(const vy_front *f, vy_text_type t, uint32_t c, uint32_t *strides)
{
    uint32_t at = 0;
    *strides++ = stride_of(f, t);
    for (const vy_made_type *m; (m = vy_made_of(f, t));)
        if (m->kind == VY_STRUCT) {
            t = field_at(f, m, &c, &at)->type;
        } else {
            t = m->of;
            *strides++ = m->kind == VY_VECTOR ? vy_type_size((vy_type)t) : stride_of(f, t);
        }
    return at;
}
