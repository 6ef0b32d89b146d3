// SPDX-License-Identifier: MIT
// texel.c: texels: loads, stores, atomics, and the sizes of images.
//
// A format that has steps rounds where a texel is stored, and its derivative is that of the number
// before: round(x) alone would have none.  Levels of detail but the first are not read.
#include "spirv/read/image.h"

static uint32_t word(const reading *r, uint32_t i) { return read_word(&r->w, r->at, i); }

// ------------------------------------------------------------------------------------------- uses
// Which image of the variable a pointer points to.
static bool find_field(reading *r, const read_pointer *p, read_texture *t)
{
    const uint32_t n = p->object->field_count;
    if (!n) return read_refuse(r, "say how many there are", "an array of images of open length");
    t->chosen = p->rank && !p->index[0].known;
    if (t->chosen)
        t->which = p->index[0].value;
    else if (p->rank)
        t->field = p->index[0].number;
    return t->field < n ||
           read_fail(r, VY_E_SHADER_LIMIT, "", "image %u of an array of %u (at most %d)", t->field,
                     n, READ_MOST_IMAGES);
}

static void note_use(const read_texture *t, uint8_t use)
{
    uint8_t *uses = t->r->uses[t->o->variable];
    for (uint32_t k = 0; k < t->o->field_count; k++) {
        if (!t->chosen && k != t->field) continue;
        t->r->noted |= (uses[k] & use) != use;
        uses[k] |= use;
    }
}

bool read_texture_of(reading *r, uint32_t id, uint8_t use, read_texture *t)
{
    const read_pointer *p = read_pointer_of(r, id);
    if (!p) return false;
    *t = (read_texture){.r = r, .o = p->object, .sampler = p->sampler};
    if (p->object->kind != READ_IMAGE)
        return read_fail(r, VY_E_SHADER_WORDS, "", "an operand is no image");
    if (!read_texture_type(r, p->object->type, t) || !find_field(r, p, t)) return false;
    note_use(t, use);
    return true;
}

// --------------------------------------------------------------------------------------- operands
// Those that are not read, in the order of their bits, and how many words each has.
static const struct {
    uint32_t bit, words;
    const char *what, *fix; // NULL: it makes no difference
} operands[] = {
    {SpvImageOperandsBiasMask, 1, "a biased level of detail", "use level 0"},
    {SpvImageOperandsLodMask, 1, NULL, NULL},
    {SpvImageOperandsGradMask, 2, "a level of detail from gradients", "use level 0"},
    {SpvImageOperandsConstOffsetMask, 1, NULL, NULL},
    {SpvImageOperandsOffsetMask, 1, NULL, NULL},
    {SpvImageOperandsConstOffsetsMask, 1, "a gather with four offsets", "gather four times"},
    {SpvImageOperandsSampleMask, 1, "an image of several samples", "use one sample a texel"},
    {SpvImageOperandsMinLodMask, 1, "a least level of detail", "use level 0"},
    {SpvImageOperandsMakeTexelAvailableMask, 1, NULL, NULL},
    {SpvImageOperandsMakeTexelVisibleMask, 1, NULL, NULL},
    {SpvImageOperandsOffsetsMask, 1, "a gather with four offsets", "gather four times"},
};

bool read_level_zero(reading *r, uint32_t id)
{
    const vy_value v = read_scalar(r, id, 0);
    if (vy_builder_failed(r->b)) return false;
    const vy_scalar *s = vy_id_const(vy_builder_program(r->b), v.id);
    const bool is_float = vy_type_is_float(vy_value_type(r->b, v));
    return (s && (is_float ? s->f == 0 : s->u == 0)) ||
           read_refuse(r, "use level 0", "a level of detail that is not the constant 0");
}

bool read_image_operands_at(reading *r, uint32_t i, read_image_operands *out)
{
    *out = (read_image_operands){0};
    const uint32_t mask = i < read_length(&r->w, r->at) ? word(r, i++) : 0;
    for (uint32_t k = 0; k < sizeof operands / sizeof *operands; k++) {
        if (!(mask & operands[k].bit)) continue;
        if (operands[k].what) return read_refuse(r, operands[k].fix, operands[k].what);
        const uint32_t id = word(r, i);
        i += operands[k].words;
        if (operands[k].bit == SpvImageOperandsLodMask && !read_level_zero(r, id)) return false;
        if (operands[k].bit == SpvImageOperandsConstOffsetMask ||
            operands[k].bit == SpvImageOperandsOffsetMask)
            out->offset = id;
    }
    return true;
}

// ---------------------------------------------------------------------------------------- texels
void read_texel_index(const read_texture *t, const vy_value *at, uint32_t channel,
                      vy_value index[READ_IMAGE_AXES + 1])
{
    for (uint32_t k = 0; k < t->axes; k++) index[t->axes - 1 - k] = at[k];
    index[t->axes] = vy_int(t->r->b, VY_I32, channel);
}

vy_value read_texel(const read_texture *t, const vy_value *at, uint32_t channel)
{
    vy_value index[READ_IMAGE_AXES + 1];
    if (channel >= t->format.channels) return vy_int(t->r->b, t->type, channel == 3);
    if (!read_texture_buffer(t).id) return read_any(t->r, t->type);
    read_texel_index(t, at, channel, index);
    return vy_load(t->r->b, read_texture_buffer(t), index);
}

// Steps of 1/most in [least, 1].
static vy_value in_steps(const read_texture *t, double least, uint32_t most, vy_value x)
{
    vy_builder *b = t->r->b;
    const vy_value range[] = {x, vy_float(b, VY_F32, least), vy_float(b, VY_F32, 1)};
    const vy_value inside = vy_call(b, "clamp", 3, range), n = vy_float(b, VY_F32, most);
    const vy_value scaled = vy_mul(b, inside, n);
    const vy_value step = vy_div(b, vy_call(b, "round", 1, &scaled), n);
    return vy_call(b, "straight_through", 2, (vy_value[]){step, inside});
}

// What the format makes of a number that is stored in the channel.
static vy_value rounded(const read_texture *t, uint32_t channel, vy_value x)
{
    const read_format *f = &t->format;
    const uint32_t most = channel == 3 ? f->most_alpha : f->most;
    switch (f->kind) {
    case READ_TEXEL_HALF: return vy_cast(t->r->b, VY_F32, vy_cast(t->r->b, VY_F16, x));
    case READ_TEXEL_UNORM: return in_steps(t, 0, most, x);
    case READ_TEXEL_SNORM: return in_steps(t, -1, most, x);
    default: return x;
    }
}

// The coordinates of an access to a texel: integers.
static bool coordinates(const read_texture *t, uint32_t id, vy_value at[READ_IMAGE_AXES])
{
    for (uint32_t k = 0; k < t->axes; k++) at[k] = read_scalar(t->r, id, k);
    if (vy_builder_failed(t->r->b)) return false;
    return vy_type_is_integer(vy_value_type(t->r->b, at[0])) ||
           read_fail(t->r, VY_E_SHADER_WORDS, "", "coordinates of a texel are integers");
}

static void shift(const read_texture *t, uint32_t offset, vy_value at[READ_IMAGE_AXES])
{
    for (uint32_t k = 0; offset && k < t->spatial; k++) {
        at[k] = read_as(t->r, VY_I32, at[k]);
        at[k] = vy_add(t->r->b, at[k], read_as(t->r, VY_I32, read_scalar(t->r, offset, k)));
    }
}

static bool load_channels(const read_texture *t, void *of, vy_value *v)
{
    reading *r = t->r;
    const uint32_t type = word(r, 1), n = read_type_of(r, type)->scalars;
    for (uint32_t k = 0; k < n; k++)
        v[k] = read_as(r, read_scalar_type(r, type, k), read_texel(t, of, k));
    return true;
}

// type, result, image, coordinates, operands
static bool load(reading *r)
{
    const uint32_t type = word(r, 1), n = read_type_of(r, type)->scalars;
    read_texture t;
    read_image_operands more;
    vy_value at[READ_IMAGE_AXES], *v = read_room(r, type);
    if (!v || !read_texture_of(r, word(r, 3), READ_IS_READ, &t) ||
        !read_image_operands_at(r, 5, &more) || !coordinates(&t, word(r, 4), at))
        return false;
    shift(&t, more.offset, at);
    return read_texture_each(&t, load_channels, at, type, v) && !vy_builder_failed(r->b) &&
           read_define(r, word(r, 2), n, v);
}

static bool store_channels(const read_texture *t, void *of, vy_value *unused)
{
    reading *r = t->r;
    vy_value index[READ_IMAGE_AXES + 1];
    const uint32_t n = read_scalar_count(r, word(r, 3));
    (void)unused;
    for (uint32_t k = 0; k < t->format.channels && k < n; k++) {
        const vy_value x = read_as(r, t->type, read_scalar(r, word(r, 3), k));
        read_texel_index(t, of, k, index);
        if (read_texture_buffer(t).id)
            vy_store(r->b, read_texture_buffer(t), index, rounded(t, k, x));
    }
    return true;
}

// image, coordinates, texel, operands
static bool store(reading *r)
{
    read_texture t;
    read_image_operands more;
    vy_value at[READ_IMAGE_AXES];
    return read_texture_of(r, word(r, 1), READ_IS_WRITTEN, &t) &&
           read_image_operands_at(r, 4, &more) && coordinates(&t, word(r, 2), at) &&
           read_texture_each(&t, store_channels, at, 0, NULL) && !vy_builder_failed(r->b);
}

static bool sizes(const read_texture *t, void *unused, vy_value *v)
{
    reading *r = t->r;
    (void)unused;
    for (uint32_t k = 0; k < t->axes; k++)
        v[k] = read_as(r, read_scalar_type(r, word(r, 1), k), read_texture_size(t, k));
    return true;
}

// type, result, image, level
static bool size(reading *r, bool has_level)
{
    const uint32_t type = word(r, 1), n = read_type_of(r, type)->scalars;
    read_texture t;
    vy_value *v = read_room(r, type);
    if (!v || !read_texture_of(r, word(r, 3), READ_IS_INDEXED, &t) ||
        (has_level && !read_level_zero(r, word(r, 4))))
        return false;
    if (n != t.axes) return read_fail(r, VY_E_SHADER_WORDS, "", "an image has other dimensions");
    return read_texture_each(&t, sizes, NULL, type, v) && !vy_builder_failed(r->b) &&
           read_define(r, word(r, 2), n, v);
}

// ------------------------------------------------------------------------------------ instructions
// type, result, image: the same image, with or without its sampler.
static bool stands_for(reading *r)
{
    return (r->pointers[word(r, 2)] = read_pointer_of(r, word(r, 3))) != NULL;
}

// type, result, image, sampler
static bool combine(reading *r)
{
    const read_pointer *image = read_pointer_of(r, word(r, 3));
    const read_pointer *sampler = image ? read_pointer_of(r, word(r, 4)) : NULL;
    read_pointer *p = sampler ? vy_arena_alloc(&r->building, sizeof *p) : NULL;
    if (!p) return sampler ? read_no_memory(r) : false;
    *p = *image;
    p->sampler = sampler->object->variable;
    r->pointers[word(r, 2)] = p;
    return true;
}

// type, result, image, coordinates, sample: a pointer to one channel, for atomics
static bool texel_pointer(reading *r)
{
    read_texture t;
    vy_value at[READ_IMAGE_AXES];
    if (!read_texture_of(r, word(r, 3), READ_IS_INDEXED, &t) || !coordinates(&t, word(r, 4), at))
        return false;
    if (t.chosen)
        return read_refuse(r, "choose it by a constant, or by conditions with an atomic in each",
                           "an atomic on an image that is chosen when the shader runs");
    read_pointer *p = vy_arena_alloc(&r->building, sizeof *p);
    read_index *index = vy_arena_alloc(&r->building, (READ_IMAGE_AXES + 1) * sizeof *index);
    if (!p || !index) return read_no_memory(r);
    vy_value of[READ_IMAGE_AXES + 1];
    read_texel_index(&t, at, 0, of);
    for (uint32_t k = 0; k <= t.axes; k++) index[k] = (read_index){.value = of[k]};
    *p = (read_pointer){.object = t.o,
                        .type = read_type_of(r, word(r, 1))->element,
                        .field = t.field,
                        .rank = t.axes + 1,
                        .index = index};
    r->pointers[word(r, 2)] = p;
    return true;
}

// Instructions that are not read.
static const struct {
    SpvOp first, last;
    const char *what, *fix;
} others[] = {
    {SpvOpImageSampleDrefImplicitLod, SpvOpImageSampleProjDrefExplicitLod,
     "a sample that is compared", "compare in the shader"},
    {SpvOpImageDrefGather, SpvOpImageDrefGather, "a gather that is compared",
     "compare in the shader"},
    {SpvOpImageQueryFormat, SpvOpImageQueryOrder, "the format of an image", "use a constant"},
    {SpvOpImageQueryLod, SpvOpImageQuerySamples, "a query of levels or samples", "use level 0"},
    {SpvOpImageSparseSampleImplicitLod, SpvOpImageSparseRead, "a sparse image",
     "use images that are in memory as a whole"},
};

static bool refuse(reading *r, SpvOp op, bool *mine)
{
    for (uint32_t k = 0; k < sizeof others / sizeof *others; k++)
        if (op >= others[k].first && op <= others[k].last)
            return read_refuse(r, others[k].fix, others[k].what);
    *mine = false;
    return true;
}

bool read_image(reading *r, SpvOp op, bool *mine)
{
    *mine = true;
    switch (op) {
    case SpvOpImage: return stands_for(r);
    case SpvOpSampledImage: return combine(r);
    case SpvOpImageFetch:
    case SpvOpImageRead: return load(r);
    case SpvOpImageWrite: return store(r);
    case SpvOpImageQuerySize: return size(r, false);
    case SpvOpImageQuerySizeLod: return size(r, true);
    case SpvOpImageTexelPointer: return texel_pointer(r);
    default: return refuse(r, op, mine);
    }
}
