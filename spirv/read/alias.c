// SPDX-License-Identifier: MIT
// alias.c: several variables on one binding, which are views of the same memory.
//
//   layout(binding = 0) buffer A  { float a[]; };         a: f32[?], of which
//   layout(binding = 0) buffer A4 { vec4 a4[]; };         a4[i].z is a[4 i + 2]
//
// Where the program uses more than one of them they are one flat buffer: of their scalar type, or
// of words (u32) where they have several.  The layouts of the blocks say which element a scalar is.
// Of words nothing but whole ones is stored: neighbours in a word may belong to other invocations.
#include "spirv/read/reading.h"

#include <stdlib.h>

// ------------------------------------------------------------------------------- which they are
static uint32_t decoration(const reading *r, const read_object *o, SpvDecoration d)
{
    const uint32_t *word = read_decoration(r, o->variable, d);
    return word ? *word : 0;
}

static bool is_used(const reading *r, const read_object *o, uint32_t field)
{
    return r->uses[o->variable][field] != 0;
}

static bool uses_any(const reading *r, const read_object *o)
{
    for (uint32_t k = 0; k < o->field_count; k++)
        if (is_used(r, o, k)) return true;
    return false;
}

typedef struct place { // an object, by what it is bound to
    uint32_t set, binding, order;
    read_object *o;
} place;

static int by_binding(const void *a, const void *b)
{
    const place *x = a, *y = b;
    if (x->o->kind != y->o->kind) return x->o->kind < y->o->kind ? -1 : 1;
    if (x->set != y->set) return x->set < y->set ? -1 : 1;
    if (x->binding != y->binding) return x->binding < y->binding ? -1 : 1;
    return x->order < y->order ? -1 : 1;
}

// What the buffer of these objects is made of.
static void choose_buffer(reading *r, read_alias *a, const place *of, uint32_t n)
{
    for (uint32_t i = 0; i < n; i++)
        for (uint32_t k = 0; k < of[i].o->field_count; k++) {
            if (!is_used(r, of[i].o, k)) continue;
            const vy_type type = of[i].o->fields[k].type;
            if (a->type == VY_VOID) a->type = type;
            a->words |= a->type != type;
            a->use |= r->uses[of[i].o->variable][k];
        }
    if (a->words) a->type = VY_U32;
}

// Images of one type are one buffer.
static bool join_images(reading *r, const place *of, uint32_t n)
{
    const read_object *first = of[0].o;
    for (uint32_t i = 1; i < n; i++) {
        r->at = read_definition(&r->w, of[i].o->variable);
        if (of[i].o->type != first->type)
            return read_refuse(r, "declare one image there",
                               "one of several images of other types on one binding");
        of[i].o->fields = first->fields;
        of[i].o->scalars = first->scalars;
        for (uint32_t k = 0; k < first->field_count; k++)
            r->uses[first->variable][k] |= r->uses[of[i].o->variable][k];
    }
    return true;
}

static bool join(reading *r, const place *of, uint32_t n)
{
    if (of[0].o->kind == READ_IMAGE) return join_images(r, of, n);
    read_alias *a = vy_arena_alloc(&r->building, sizeof *a);
    if (!a) return read_no_memory(r);
    for (uint32_t i = 0; i < n; i++) of[i].o->alias = a;
    choose_buffer(r, a, of, n);
    return true;
}

bool read_aliases(reading *r, uint32_t n, read_object **objects)
{
    place *of = vy_arena_alloc(&r->building, (n + 1) * sizeof *of);
    if (!of) return read_no_memory(r);
    uint32_t count = 0;
    for (uint32_t k = 0; k < n; k++) {
        read_object *o = objects[k];
        if ((o->kind != READ_BUFFER && o->kind != READ_IMAGE) || !uses_any(r, o)) continue;
        of[count++] = (place){decoration(r, o, SpvDecorationDescriptorSet),
                              decoration(r, o, SpvDecorationBinding), k, o};
    }
    qsort(of, count, sizeof *of, by_binding);
    bool ok = true;
    for (uint32_t k = 0, end; ok && k < count; k = end) {
        for (end = k + 1; end < count && of[end].set == of[k].set; end++)
            if (of[end].binding != of[k].binding || of[end].o->kind != of[k].o->kind) break;
        ok = end - k < 2 || join(r, of + k, end - k);
    }
    return ok;
}

// ------------------------------------------------------------------------------------- elements
// offset + Σ index · stride, in units of `unit` bytes: u32.
static bool element_of(reading *r, const read_field *f, const read_index *index, uint32_t unit,
                       vy_value *out)
{
    if (f->offset % unit) return false;
    vy_value sum = vy_int(r->b, VY_U32, f->offset / unit);
    for (uint32_t k = 0; k < f->rank; k++) {
        if (f->strides[k] == 0 || f->strides[k] % unit) return false;
        const vy_value i = index[k].known ? vy_int(r->b, VY_U32, index[k].number)
                                          : vy_cast(r->b, VY_U32, index[k].value);
        sum = vy_add(r->b, sum, vy_mul(r->b, i, vy_int(r->b, VY_U32, f->strides[k] / unit)));
    }
    *out = sum;
    return true;
}

static bool refuse(reading *r)
{
    return read_refuse(r, "declare the binding with one scalar type",
                       "such an access to one of several variables on one binding");
}

bool read_alias_index(reading *r, const read_alias *a, const read_field *f, const read_index *index,
                      vy_value *out)
{
    const bool whole = !a->words || vy_type_size(f->type) == 4;
    return (whole && element_of(r, f, index, vy_type_size(f->type), out)) || refuse(r);
}

static vy_value word_at(reading *r, const read_alias *a, vy_value element)
{
    return vy_load(r->b, a->buffer, &element);
}

// The number of less than a word at this byte.
static vy_value part_of_word(reading *r, const read_alias *a, vy_type type, vy_value byte)
{
    const vy_value word = word_at(r, a, vy_shr(r->b, byte, vy_int(r->b, VY_U32, 2)));
    // Of the number of bits only what counts in a word is used.
    const vy_value bits = vy_shr(r->b, word, vy_shl(r->b, byte, vy_int(r->b, VY_U32, 3)));
    if (vy_type_is_float(type)) return read_f16_of_bits(r, bits);
    return read_narrow(r, type, read_as(r, vy_type_loaded(type), bits));
}

static vy_value two_words(reading *r, const read_alias *a, vy_type type, vy_value element)
{
    const vy_value low = word_at(r, a, element);
    const vy_value high = word_at(r, a, vy_add(r->b, element, vy_int(r->b, VY_U32, 1)));
    const vy_value bits = vy_int(r->b, VY_U64, 32);
    const vy_value shifted = vy_shl(r->b, vy_cast(r->b, VY_U64, high), bits);
    return read_as(r, type, vy_or(r->b, shifted, vy_cast(r->b, VY_U64, low)));
}

bool read_alias_load(reading *r, const read_alias *a, const read_field *f, const read_index *index,
                     vy_value *out)
{
    const uint32_t size = vy_type_size(f->type), unit = a->words && size > 4 ? 4 : size;
    vy_value at;
    if (!element_of(r, f, index, a->words && size < 4 ? 1 : unit, &at)) return refuse(r);
    if (!a->words)
        *out = vy_load(r->b, a->buffer, &at);
    else if (size == 8)
        *out = two_words(r, a, f->type, at);
    else
        *out = size == 4 ? read_as(r, f->type, word_at(r, a, at)) : part_of_word(r, a, f->type, at);
    return !vy_builder_failed(r->b);
}

bool read_alias_store(reading *r, const read_alias *a, const read_field *f, const read_index *index,
                      vy_value v)
{
    vy_value at;
    if (!read_alias_index(r, a, f, index, &at)) return false;
    vy_store(r->b, a->buffer, &at, a->words ? read_as(r, VY_U32, v) : v);
    return !vy_builder_failed(r->b);
}

// Of the outermost axis, which is of open length: what is left behind the offset, in elements.
vy_value read_alias_length(reading *r, const read_alias *a, const read_field *f)
{
    const uint32_t unit = a->words ? 1 : vy_type_size(a->type); // strides may be no whole words
    const vy_value units = vy_int(r->b, VY_U32, vy_type_size(a->type) / unit);
    const vy_value all = vy_mul(r->b, vy_len(r->b, a->buffer, 0), units);
    const vy_value skip = vy_min(r->b, all, vy_int(r->b, VY_U32, f->offset / unit));
    const uint32_t stride = f->strides[0] / unit;
    const vy_value by = vy_int(r->b, VY_U32, stride ? stride : 1);
    return vy_div(r->b, vy_sub(r->b, all, skip), by);
}
