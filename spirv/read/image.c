// SPDX-License-Identifier: MIT
// image.c: images become buffers of their texels, an axis for each coordinate and one for channels.
//
//   layout(binding = 0, rg32f) uniform image2D flow;
//   →  flow: inout f32[height_flow, width_flow, 2], height_flow: u32, width_flow: u32
//
// The program's range checks are then those of an image, axis by axis, and its sizes are found in
// the data.  What a format cannot hold is rounded where it is stored (texel.c): buffers hold the
// numbers that a shader sees, whatever the texels have of bits.  Where a module says no format
// (sampled images, `writeonly` ones), there are four channels of f32.
//
// An array of images is one buffer for each of them; which one is accessed has to be known here.
#include "spirv/read/image.h"

#include <stdio.h>
#include <string.h>

// ------------------------------------------------------------------------------------------ types
static const read_format formats[] = {
    [SpvImageFormatUnknown] = {.channels = 4},
    [SpvImageFormatRgba32f] = {.channels = 4},
    [SpvImageFormatRg32f] = {.channels = 2},
    [SpvImageFormatR32f] = {.channels = 1},
    [SpvImageFormatRgba16f] = {4, READ_TEXEL_HALF, 0, 0},
    [SpvImageFormatRg16f] = {2, READ_TEXEL_HALF, 0, 0},
    [SpvImageFormatR16f] = {1, READ_TEXEL_HALF, 0, 0},
    [SpvImageFormatRgba16] = {4, READ_TEXEL_UNORM, 65535, 65535},
    [SpvImageFormatRg16] = {2, READ_TEXEL_UNORM, 65535, 0},
    [SpvImageFormatR16] = {1, READ_TEXEL_UNORM, 65535, 0},
    [SpvImageFormatRgba8] = {4, READ_TEXEL_UNORM, 255, 255},
    [SpvImageFormatRg8] = {2, READ_TEXEL_UNORM, 255, 0},
    [SpvImageFormatR8] = {1, READ_TEXEL_UNORM, 255, 0},
    [SpvImageFormatRgb10A2] = {4, READ_TEXEL_UNORM, 1023, 3},
    [SpvImageFormatRgba16Snorm] = {4, READ_TEXEL_SNORM, 32767, 32767},
    [SpvImageFormatRg16Snorm] = {2, READ_TEXEL_SNORM, 32767, 0},
    [SpvImageFormatR16Snorm] = {1, READ_TEXEL_SNORM, 32767, 0},
    [SpvImageFormatRgba8Snorm] = {4, READ_TEXEL_SNORM, 127, 127},
    [SpvImageFormatRg8Snorm] = {2, READ_TEXEL_SNORM, 127, 0},
    [SpvImageFormatR8Snorm] = {1, READ_TEXEL_SNORM, 127, 0},
    [SpvImageFormatRgba32i] = {.channels = 4},
    [SpvImageFormatRgba16i] = {.channels = 4},
    [SpvImageFormatRgba8i] = {.channels = 4},
    [SpvImageFormatRg32i] = {.channels = 2},
    [SpvImageFormatRg16i] = {.channels = 2},
    [SpvImageFormatRg8i] = {.channels = 2},
    [SpvImageFormatR32i] = {.channels = 1},
    [SpvImageFormatR16i] = {.channels = 1},
    [SpvImageFormatR8i] = {.channels = 1},
    [SpvImageFormatRgba32ui] = {.channels = 4},
    [SpvImageFormatRgba16ui] = {.channels = 4},
    [SpvImageFormatRgba8ui] = {.channels = 4},
    [SpvImageFormatRgb10a2ui] = {.channels = 4},
    [SpvImageFormatRg32ui] = {.channels = 2},
    [SpvImageFormatRg16ui] = {.channels = 2},
    [SpvImageFormatRg8ui] = {.channels = 2},
    [SpvImageFormatR32ui] = {.channels = 1},
    [SpvImageFormatR16ui] = {.channels = 1},
    [SpvImageFormatR8ui] = {.channels = 1},
};

// The image type behind arrays and samplers; 0: there is none.
static uint32_t image_type(const reading *r, uint32_t type)
{
    SpvOp op = read_type_of(r, type)->op;
    if (op == SpvOpTypeArray || op == SpvOpTypeRuntimeArray) {
        type = read_type_of(r, type)->element;
        op = read_type_of(r, type)->op;
    }
    if (op == SpvOpTypeSampledImage) type = read_word_of(&r->w, type, 2);
    return read_type_of(r, type)->op == SpvOpTypeImage ? type : 0;
}

static bool is_sampler(const reading *r, uint32_t type)
{
    const read_type *t = read_type_of(r, type);
    const bool array = t->op == SpvOpTypeArray || t->op == SpvOpTypeRuntimeArray;
    return read_type_of(r, array ? t->element : type)->op == SpvOpTypeSampler;
}

bool read_is_image(const reading *r, uint32_t type)
{
    return image_type(r, type) || is_sampler(r, type);
}

static uint32_t axes_of(SpvDim dim)
{
    switch (dim) {
    case SpvDim1D:
    case SpvDimBuffer: return 1;
    case SpvDim2D:
    case SpvDimRect: return 2;
    case SpvDim3D: return 3;
    default: return 0;
    }
}

// OpTypeImage: result, type, dimension, depth, arrayed, multisampled, sampled, format
bool read_texture_type(reading *r, uint32_t type, read_texture *t)
{
    type = image_type(r, type);
    const uint32_t format = read_word_of(&r->w, type, 8);
    const vy_type of = read_type_of(r, read_word_of(&r->w, type, 2))->scalar;
    t->spatial = axes_of((SpvDim)read_word_of(&r->w, type, 3));
    t->axes = t->spatial + (read_word_of(&r->w, type, 5) != 0);
    t->type = of;
    if (!t->spatial)
        return read_refuse(r, "use an image of one to three dimensions, a layer for each face",
                           "a cube image or subpass input");
    if (t->axes > READ_IMAGE_AXES) return read_refuse(r, "use a 2D array", "an array of volumes");
    if (read_word_of(&r->w, type, 6))
        return read_refuse(r, "use an image of one sample a texel", "an image of several samples");
    if (read_word_of(&r->w, type, 4) == 1)
        return read_refuse(r, "compare the depth in the shader", "a depth image that is compared");
    if (format < sizeof formats / sizeof *formats) t->format = formats[format];
    if (!t->format.channels || (of != VY_F32 && of != VY_I32 && of != VY_U32))
        return read_refuse(r, "use 8 to 32 bits a channel", "an image of this format");
    return true;
}

// ---------------------------------------------------------------------------------------- objects
// Its own, or b0_3 (set, binding) where it has none that a member of a block has not.
static const char *variable_name(reading *r, uint32_t id)
{
    const vy_program *p = vy_builder_program(r->b);
    const char *name = read_name(r, id);
    const uint32_t *set = read_decoration(r, id, SpvDecorationDescriptorSet);
    const uint32_t *binding = read_decoration(r, id, SpvDecorationBinding);
    if (*name && !vy_program_find_buffer(p, name).id &&
        vy_program_find_scalar(p, name) == UINT32_MAX)
        return name;
    char *made = vy_arena_alloc(&r->building, 32);
    if (!made) return read_no_memory(r), "";
    snprintf(made, 32, "b%u_%u", set ? *set : 0, binding ? *binding : 0);
    return made;
}

// Its fields are images; whether they can be read is only asked where they are used.
bool read_image_object(reading *r, uint32_t id, read_object **out)
{
    const uint32_t type = read_type_of(r, read_type_id(r, id))->element;
    const read_type *t = read_type_of(r, type);
    const uint32_t n = t->op == SpvOpTypeArray ? t->count : t->op == SpvOpTypeRuntimeArray ? 0 : 1;
    read_object *o = vy_arena_alloc(&r->building, sizeof *o);
    read_pointer *p = vy_arena_alloc(&r->building, sizeof *p);
    if (!o || !p) return read_no_memory(r);
    *o = (read_object){.kind = is_sampler(r, type) ? READ_SAMPLER : READ_IMAGE,
                       .variable = id,
                       .type = type,
                       .field_count = n < READ_MOST_IMAGES ? n : READ_MOST_IMAGES};
    o->fields = vy_arena_alloc(&r->building, (o->field_count + 1) * sizeof *o->fields);
    o->scalars =
        vy_arena_alloc(&r->building, (o->field_count + 1) * READ_IMAGE_AXES * sizeof *o->scalars);
    if (!o->fields || !o->scalars) return read_no_memory(r);
    if (!read_make_uses(r, id, o->field_count)) return false;
    const uint32_t image = image_type(r, type);
    for (uint32_t k = 0; image && k < o->field_count; k++)
        o->fields[k].type = read_type_of(r, read_word_of(&r->w, image, 2))->scalar;
    *p = (read_pointer){.object = o, .type = type};
    r->objects[id] = o;
    r->pointers[id] = p;
    *out = o;
    return true;
}

// prefix_NAME, which no parameter is called.
static const char *size_name(reading *r, const char *prefix, const char *name)
{
    const size_t n = strlen(prefix) + strlen(name) + 16;
    char *made = vy_arena_alloc(&r->building, n);
    if (!made) return read_no_memory(r), "";
    const vy_program *p = vy_builder_program(r->b);
    for (uint32_t k = 1;; k++) {
        snprintf(made, n, k > 1 ? "%s%u_%s" : "%s_%.0u%s", prefix, k > 1 ? k : 0, name);
        if (!vy_program_find_buffer(p, made).id && vy_program_find_scalar(p, made) == UINT32_MAX)
            return made;
    }
}

static bool declare_image(reading *r, read_object *o, uint32_t k, const char *name)
{
    static const char *const along[] = {"width", "height", "depth"};
    read_texture t = {.r = r};
    vy_dim dims[READ_IMAGE_AXES + 1];
    if (!read_texture_type(r, o->type, &t)) return false;
    for (uint32_t axis = t.axes; axis-- > 0;) {
        const char *prefix = axis < t.spatial ? along[axis] : "layers";
        const vy_value n = vy_param_scalar(r->b, size_name(r, prefix, name), VY_U32);
        o->scalars[k * READ_IMAGE_AXES + axis] = n;
        dims[t.axes - 1 - axis] = vy_dim_value(r->b, n);
    }
    dims[t.axes] = vy_dim_const(r->b, t.format.channels);
    r->misplaced = true; // modules that we write have no images
    o->fields[k].buffer = vy_param_buffer(r->b, name, read_class_of(r->uses[o->variable][k]),
                                          t.type, t.axes + 1, dims);
    vy_build_vector(r->b, o->fields[k].buffer, t.format.channels > 1);
    return !vy_builder_failed(r->b);
}

bool read_declare_images(reading *r, read_object *o)
{
    const char *name = variable_name(r, o->variable);
    bool ok = true;
    for (uint32_t k = 0; ok && o->kind == READ_IMAGE && k < o->field_count; k++) {
        char number[16];
        snprintf(number, sizeof number, "%u", k);
        if (!r->uses[o->variable][k] || o->fields[k].buffer.id) continue;
        const bool array = read_type_of(r, o->type)->op == SpvOpTypeArray;
        ok = declare_image(r, o, k, array ? read_joined(r, name, number) : name);
    }
    return ok;
}

vy_buffer read_texture_buffer(const read_texture *t) { return t->o->fields[t->field].buffer; }

vy_value read_texture_size(const read_texture *t, uint32_t axis)
{
    const vy_value n = t->o->scalars[t->field * READ_IMAGE_AXES + axis];
    return n.id ? n : read_any(t->r, VY_U32);
}
