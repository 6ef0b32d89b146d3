// SPDX-License-Identifier: MIT
// places.c: the parameters of a program that was a shader stay where the shader's host has them
// (ir/build/layout.c).
//
//   layout(set = 1, binding = 0) uniform U { uint n; vec3 g; };   @uniform @set(1) @binding(0)
//                                                                 @offset(4 + 12) `g.0`: f32
//
// Where one of them cannot stay (a number at an offset that is no multiple of its size, as scalar
// block layout allows; 8 or 16 bits, or an indexed array, among push constants), the program is no
// `@shader program` at all: its bindings are numbered as those of any text.
#include "spirv/read/reading.h"

static uint32_t decoration(const reading *r, const read_object *o, SpvDecoration d)
{
    const uint32_t *word = read_decoration(r, o->variable, d);
    return word ? *word : 0;
}

static bool is_pushed(const reading *r, const read_object *o)
{
    return read_word_of(&r->w, o->variable, 3) == SpvStorageClassPushConstant;
}

static vy_layout layout_of(const reading *r, const read_object *o)
{
    return (vy_layout){.uniform = o->kind == READ_PARAMETER && !is_pushed(r, o),
                       .set = decoration(r, o, SpvDecorationDescriptorSet),
                       .binding = decoration(r, o, SpvDecorationBinding)};
}

// Of an element's size are all steps to it multiples.
static bool is_aligned(const read_field *f)
{
    const uint32_t size = vy_type_size(f->type);
    bool ok = f->offset % size == 0;
    for (uint32_t k = 0; k < f->rank; k++) ok = ok && f->strides[k] && f->strides[k] % size == 0;
    return ok;
}

void read_place_buffer(reading *r, const read_object *o, const read_field *f)
{
    vy_layout l = layout_of(r, o);
    const uint32_t size = vy_type_size(f->type);
    if (o->alias) { // all bytes of the binding
        vy_buffer_layout(r->b, f->buffer, &l);
        return;
    }
    const bool words = !l.uniform || size >= 4;
    if (!is_aligned(f) || !words || (o->kind == READ_PARAMETER && is_pushed(r, o)))
        r->misplaced = true;
    l.offset = f->offset;
    l.within = f->within;
    l.strides = f->rank ? f->strides : &size;
    bool dense = o->field_count == 1 && !l.uniform && f->offset == 0;
    uint32_t step = size;
    for (uint32_t k = f->rank; dense && k-- > 0; step *= f->dims[k]) dense = f->strides[k] == step;
    if (dense) l.strides = NULL;
    vy_buffer_layout(r->b, f->buffer, &l);
}

void read_place_scalar(reading *r, const read_object *o, const read_field *f, uint32_t element,
                       vy_value scalar)
{
    vy_layout l = layout_of(r, o);
    l.offset = f->offset;
    for (uint32_t k = f->rank; k-- > 0; element /= f->dims[k])
        l.offset += element % f->dims[k] * f->strides[k];
    if (!is_aligned(f) || vy_type_size(f->type) < 4) r->misplaced = true;
    vy_scalar_layout(r->b, scalar, &l);
}

void read_forget_places(vy_program *p)
{
    uint32_t binding = 0;
    p->shader = false;
    for (uint32_t i = 0; i < p->scalars.count; i++) p->scalars.data[i].layout = (vy_layout){0};
    for (uint32_t i = 1; i < p->buffers.count; i++) {
        vy_buf *b = &p->buffers.data[i];
        b->layout = (vy_layout){0};
        b->set = 0;
        b->binding = vy_is_global(b->cls) ? binding++ : 0;
    }
}
