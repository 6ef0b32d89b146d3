// SPDX-License-Identifier: MIT
// check_layout.c: places of a shader's parameters (ir/build/layout.c): they are what a device can
// address, and what is written shares no byte with anything else.
//
// The second is what all analyses of memory assume of different buffers.  It holds for members of
// one block; a text may say anything.
#include "ir/check/check.h"
#include "ir/core/ir.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

enum { MOST_OFFSET = 1 << 28 }; // so that sums of a few of them fit 32 bits

static bool refuse(vy_program *p, const char *name, uint32_t line, const char *fix,
                   const char *what)
{
    vy_fail(p->module, VY_E_LAYOUT, line, vy_check_column(p->module, line, name), fix, "`%s` %s",
            name, what);
    return false;
}

// ------------------------------------------------------------------------------ one by one
static bool is_word(vy_type t) { return vy_type_size(t) >= 4; }

static bool check_scalar(vy_program *p, const vy_scalar_param *s)
{
    const vy_layout *l = &s->layout;
    if (!l->given) return true;
    if (!p->shader) return refuse(p, s->name, s->line, NULL, "has an offset outside of a shader");
    if (!is_word(s->type))
        return refuse(p, s->name, s->line, "use 32 or 64 bits", "is too small for an offset");
    const uint32_t size = vy_type_size(s->type);
    return (l->offset % size == 0 && l->offset < MOST_OFFSET) ||
           refuse(p, s->name, s->line, "use a multiple of its size", "has such an offset");
}

static bool is_constant(const vy_program *p, const vy_buf *b, uint32_t axis)
{
    return p->dims.data[b->dims[axis].id].op == VY_DIM_CONST;
}

// Of a layout with strides all axes but the first have constant extents.
static bool has_extents(const vy_program *p, const vy_buf *b)
{
    for (uint32_t k = b->layout.uniform ? 0 : 1; k < b->rank; k++)
        if (!is_constant(p, b, k)) return false;
    return true;
}

static bool check_strides(vy_program *p, const vy_buf *b)
{
    const vy_layout *l = &b->layout;
    const uint32_t size = vy_type_size(b->type);
    bool fits = l->offset % size == 0 && l->offset < MOST_OFFSET && l->within <= l->offset &&
                l->within % size == 0 && (l->strides || !l->within);
    for (uint32_t k = 0; l->strides && k < b->rank; k++)
        fits = fits && l->strides[k] && l->strides[k] % size == 0 && l->strides[k] < MOST_OFFSET;
    if (!fits) return refuse(p, b->name, b->line, "use multiples of its size", "has such a layout");
    return !l->strides || has_extents(p, b) ||
           refuse(p, b->name, b->line, "give constants", "has a layout, but extents unknown to it");
}

static bool check_buffer(vy_program *p, const vy_buf *b)
{
    const vy_layout *l = &b->layout;
    if (!l->given) return true;
    if (!p->shader || !vy_is_global(b->cls))
        return refuse(p, b->name, b->line, NULL, "has a layout outside of a shader");
    if (l->offset && !l->strides) return refuse(p, b->name, b->line, NULL, "lacks strides");
    if (l->uniform && (b->cls != VY_IN || !is_word(b->type) || !l->strides))
        return refuse(p, b->name, b->line, "let it be `in`, of 32 or 64 bits, with @layout",
                      "cannot be in a uniform block");
    return check_strides(p, b);
}

// ---------------------------------------------------------------------------------- in pairs
typedef struct span { // of what is left below axis k
    uint64_t at, size;
    bool open; // endless
} span;

// The bytes of all elements, seen from axis k on.
static span span_of(const vy_program *p, const vy_buf *b, uint32_t k, uint64_t at)
{
    span s = {.at = at, .size = vy_type_size(b->type)};
    for (; k < b->rank; k++) {
        const int64_t n = p->dims.data[b->dims[k].id].value;
        if (!is_constant(p, b, k)) s.open = true;
        if (is_constant(p, b, k) && n > 1) s.size += (uint64_t)(n - 1) * b->layout.strides[k];
    }
    return s;
}

static bool are_apart(span a, span b)
{
    return (!a.open && a.at + a.size <= b.at) || (!b.open && b.at + b.size <= a.at);
}

// They never overlap where both repeat every `stride` bytes.
static bool alternate(span a, span b, uint64_t stride)
{
    const uint64_t from_a = (b.at + stride - a.at % stride) % stride;
    return a.size + b.size <= stride && from_a >= a.size && stride - from_a >= b.size;
}

// Is each within one cell of the stride, so that they can only overlap in the same one?
static bool in_cells(span a, span b, uint64_t stride)
{
    return a.at % stride + a.size <= stride && b.at % stride + b.size <= stride;
}

static bool are_disjoint(const vy_program *p, const vy_buf *x, const vy_buf *y)
{
    if (!x->layout.strides || !y->layout.strides) return false;
    span a = span_of(p, x, 0, x->layout.offset), b = span_of(p, y, 0, y->layout.offset);
    for (uint32_t k = 0;; k++) {
        if (are_apart(a, b)) return true;
        if (k == x->rank || k == y->rank || x->layout.strides[k] != y->layout.strides[k])
            return false;
        const uint64_t stride = x->layout.strides[k];
        a = span_of(p, x, k + 1, a.at);
        b = span_of(p, y, k + 1, b.at);
        if (alternate(a, b, stride)) return true;
        if (!in_cells(a, b, stride)) return false;
        a.at %= stride;
        b.at %= stride;
    }
}

bool vy_layouts_fit(vy_program *p, const vy_buf *x, const vy_buf *y)
{
    if (!x->layout.given || !y->layout.given || x->layout.uniform != y->layout.uniform)
        return false;
    return (x->cls == VY_IN && y->cls == VY_IN) || are_disjoint(p, x, y);
}

// --------------------------------------------------------------------------------- of scalars
typedef struct place {
    const vy_scalar_param *s;
    uint64_t block; // push constants, or set and binding
} place;

static int by_place(const void *a, const void *b)
{
    const place *x = a, *y = b;
    if (x->block != y->block) return x->block < y->block ? -1 : 1;
    const uint32_t i = x->s->layout.offset, k = y->s->layout.offset;
    return i < k ? -1 : i > k;
}

static uint64_t block_of(const vy_layout *l)
{
    return l->uniform ? (uint64_t)l->set << 32 | l->binding : UINT64_MAX;
}

static bool check_places(vy_program *p, place *list, uint32_t n)
{
    qsort(list, n, sizeof *list, by_place);
    for (uint32_t i = 1; i < n; i++) {
        const vy_scalar_param *a = list[i - 1].s, *b = list[i].s;
        const uint32_t size = vy_type_size(a->type);
        if (list[i].block == list[i - 1].block && b->layout.offset < a->layout.offset + size)
            return refuse(p, b->name, b->line, NULL, "begins inside another scalar");
    }
    return true;
}

static bool is_storage(const vy_program *p, const vy_layout *l)
{
    for (uint32_t i = 1; i < p->buffers.count; i++) {
        const vy_layout *o = &p->buffers.data[i].layout;
        if (o->given && !o->uniform && o->set == l->set && o->binding == l->binding) return true;
    }
    return false;
}

bool vy_check_layouts(vy_program *p)
{
    uint32_t n = 0;
    bool ok = true;
    place *list = vy_realloc(NULL, (p->scalars.count + 1) * sizeof *list);
    if (!list) {
        vy_fail_oom(p->module);
        return false;
    }
    for (uint32_t i = 1; ok && i < p->buffers.count; i++) ok = check_buffer(p, &p->buffers.data[i]);
    for (uint32_t i = 0; ok && i < p->scalars.count; i++) {
        const vy_scalar_param *s = &p->scalars.data[i];
        ok = check_scalar(p, s);
        if (ok && s->layout.uniform && is_storage(p, &s->layout))
            ok = refuse(p, s->name, s->line, NULL, "is in a binding of a storage buffer");
        if (s->layout.given) list[n++] = (place){s, block_of(&s->layout)};
    }
    ok = ok && check_places(p, list, n);
    vy_free(list);
    return ok;
}
