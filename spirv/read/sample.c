// SPDX-License-Identifier: MIT
// sample.c: images between their texels: what a sampler makes of them at level of detail 0.
//
// With w texels along an axis, and u = coordinate · w:
//
//   nearest   texel ⌊u⌋
//   linear    texels ⌊u − ½⌋ and the next, which has what is left of u − ½ as its weight
//
// so that the derivative with respect to a coordinate is w times the difference of two texels, that
// of a texel is its weight, and jumps have none.  Which texel is meant beyond an edge is said by
// the sampler, which is the host's: the option `samplers` describes it, else it is linear and
// clamps.
#include "spirv/read/image.h"

#include <stdio.h>
#include <string.h>

typedef enum wrap { WRAP_CLAMP, WRAP_REPEAT, WRAP_MIRROR, WRAP_BORDER } wrap;

typedef struct sampling {
    read_texture t;
    vy_builder *b;
    bool linear;
    wrap wrap;
    bool projects;
    uint32_t offset, scalars; // an id, 0: none; of the result
    vy_value layer;
    vy_value at[READ_IMAGE_AXES][2];   // texels along each axis
    vy_value between[READ_IMAGE_AXES]; // the weight of the second
} sampling;

static uint32_t word(const reading *r, uint32_t i) { return read_word(&r->w, r->at, i); }

// --------------------------------------------------------------------------------------- samplers
static bool take_word(sampling *s, const char *text, size_t n)
{
    static const char *const words[] = {"clamp", "repeat", "mirror", "border", "linear", "nearest"};
    for (uint32_t k = 0; k < 6; k++) {
        if (strlen(words[k]) != n || memcmp(text, words[k], n)) continue;
        if (k < 4) s->wrap = (wrap)k;
        if (k >= 4) s->linear = k == 4;
        return true;
    }
    return false;
}

static bool take_words(sampling *s, const char *text)
{
    bool ok = *text != '\0';
    while (ok && *text) {
        const size_t n = strcspn(text, ",");
        ok = take_word(s, text, n);
        text += n + (text[n] != '\0');
    }
    return ok;
}

// Is the variable called so: by its name, or as b0_3 (set, binding)?
static bool is_called(const reading *r, uint32_t id, const char *name)
{
    const uint32_t *set = read_decoration(r, id, SpvDecorationDescriptorSet);
    const uint32_t *binding = read_decoration(r, id, SpvDecorationBinding);
    char place[32];
    snprintf(place, sizeof place, "b%u_%u", set ? *set : 0, binding ? *binding : 0);
    return !strcmp(name, read_name(r, id)) || !strcmp(name, place);
}

// What the options say: first of all samplers, then of this one.
static void take_options(sampling *s, uint32_t variable)
{
    const reading *r = s->t.r;
    bool said = false;
    s->linear = true;
    for (uint32_t k = 0; r->options && k < 2 * r->options->sampler_count; k++) {
        const vy_define *d = &r->options->samplers[k % r->options->sampler_count];
        const bool second = k >= r->options->sampler_count;
        if (second ? !*d->name || !is_called(r, variable, d->name) : *d->name) continue;
        take_words(s, d->value);
        said = true;
    }
    if (!said && r->options && r->options->assumed) *r->options->assumed = true;
    s->linear &= s->t.type == VY_F32; // between integers there is nothing
}

static bool any_called(const reading *r, const char *name)
{
    for (uint32_t id = 1; id < r->w.bound; id++)
        if (r->objects[id] && r->objects[id]->kind >= READ_IMAGE && is_called(r, id, name))
            return true;
    return false;
}

bool read_samplers_exist(reading *r)
{
    r->at = 0; // of no instruction
    for (uint32_t k = 0; r->options && k < r->options->sampler_count; k++) {
        const vy_define *d = &r->options->samplers[k];
        sampling unused;
        if (!take_words(&unused, d->value))
            return read_fail(r, VY_E_SHADER_REQUEST,
                             "write linear or nearest, and clamp, repeat, mirror or border",
                             "`%s` describes no sampler", d->value);
        if (*d->name && !any_called(r, d->name))
            return read_fail(r, VY_E_SHADER_REQUEST,
                             "name one of its samplers, or give bSET_BINDING",
                             "it has no sampler %s", d->name);
    }
    return true;
}

// ------------------------------------------------------------------------------------- coordinates
static vy_value integer(const sampling *s, int64_t k) { return vy_int(s->b, VY_I32, k); }

// i modulo n, of [0, n).
static vy_value modulo(const sampling *s, vy_value i, vy_value n)
{
    const vy_value rest = vy_rem(s->b, i, n), below = vy_lt(s->b, rest, integer(s, 0));
    return vy_select(s->b, below, vy_add(s->b, rest, n), rest);
}

// The texel that is meant by number i of n.
static vy_value wrapped(const sampling *s, vy_value i, vy_value n)
{
    const vy_value last = vy_sub(s->b, n, integer(s, 1)), both = vy_add(s->b, n, n);
    switch (s->wrap) {
    case WRAP_CLAMP: return vy_min(s->b, vy_max(s->b, i, integer(s, 0)), last);
    case WRAP_REPEAT: return modulo(s, i, n);
    case WRAP_MIRROR: {
        const vy_value k = modulo(s, i, both);
        const vy_value back = vy_sub(s->b, vy_sub(s->b, both, integer(s, 1)), k);
        return vy_select(s->b, vy_lt(s->b, k, n), k, back);
    }
    default: return i; // zero, as whatever an image has not
    }
}

static void place(sampling *s, uint32_t axis, vy_value coordinate)
{
    const vy_value size = read_texture_size(&s->t, axis), n = read_as(s->t.r, VY_I32, size);
    vy_value u = vy_mul(s->b, coordinate, vy_cast(s->b, VY_F32, size));
    if (s->linear) u = vy_sub(s->b, u, vy_float(s->b, VY_F32, 0.5));
    const vy_value low = vy_call(s->b, "floor", 1, &u);
    vy_value i = vy_cast(s->b, VY_I32, low);
    if (s->offset)
        i = vy_add(s->b, i, read_as(s->t.r, VY_I32, read_scalar(s->t.r, s->offset, axis)));
    s->between[axis] = vy_sub(s->b, u, low);
    s->at[axis][0] = wrapped(s, i, n);
    s->at[axis][1] = wrapped(s, vy_add(s->b, i, integer(s, 1)), n);
}

static void place_layer(sampling *s, vy_value coordinate)
{
    const vy_value size = read_texture_size(&s->t, s->t.spatial), zero = integer(s, 0);
    const vy_value one = integer(s, 1);
    const vy_value last = vy_sub(s->b, read_as(s->t.r, VY_I32, size), one);
    const vy_value i = vy_cast(s->b, VY_I32, vy_call(s->b, "round", 1, &coordinate));
    s->layer = vy_min(s->b, vy_max(s->b, i, zero), last);
}

// The image at word 3; a gather has its component at word 5.
static bool begin_sampling(reading *r, sampling *s, bool projects, bool gathers)
{
    read_image_operands options;
    *s = (sampling){.b = r->b, .projects = projects};
    s->scalars = read_type_of(r, word(r, 1))->scalars;
    if (!read_texture_of(r, word(r, 3), READ_IS_READ, &s->t) ||
        !read_image_operands_at(r, 5 + gathers, &options))
        return false;
    s->offset = options.offset;
    take_options(s, s->t.sampler ? s->t.sampler : s->t.o->variable);
    s->linear |= gathers; // it takes those texels whatever the filter is
    return true;
}

// The coordinates at word 4, in that image.
static bool place_all(sampling *s, const read_texture *t)
{
    reading *r = t->r;
    const uint32_t at = word(r, 4);
    s->t = *t;
    for (uint32_t k = 0; k < t->axes; k++) {
        vy_value x = read_scalar(r, at, k);
        if (s->projects) x = vy_div(r->b, x, read_scalar(r, at, t->spatial));
        if (vy_builder_failed(r->b)) return false;
        if (vy_value_type(r->b, x) != VY_F32)
            return read_refuse(r, "use floats of 32 bits", "a coordinate of another type");
        if (k < t->spatial)
            place(s, k, x);
        else
            place_layer(s, x);
    }
    return !vy_builder_failed(r->b);
}

// ----------------------------------------------------------------------------------------- texels
// The channel, between the two texels along each of the first `axes` axes; `at` has the others.
static vy_value between(const sampling *s, uint32_t axes, vy_value *at, uint32_t channel)
{
    if (!axes) return read_texel(&s->t, at, channel);
    at[axes - 1] = s->at[axes - 1][0];
    const vy_value a = between(s, axes - 1, at, channel);
    if (!s->linear) return a;
    at[axes - 1] = s->at[axes - 1][1];
    const vy_value b = between(s, axes - 1, at, channel);
    return vy_add(s->b, a, vy_mul(s->b, vy_sub(s->b, b, a), s->between[axes - 1]));
}

static void as_results(const sampling *s, vy_value *v)
{
    reading *r = s->t.r;
    for (uint32_t k = 0; k < s->scalars; k++)
        v[k] = read_as(r, read_scalar_type(r, word(r, 1), k), v[k]);
}

static bool filter(const read_texture *t, void *of, vy_value *v)
{
    sampling *s = of;
    vy_value at[READ_IMAGE_AXES];
    if (!place_all(s, t)) return false;
    at[t->axes - 1] = s->layer;
    for (uint32_t k = 0; k < s->scalars; k++) v[k] = between(s, t->spatial, at, k);
    as_results(s, v);
    return true;
}

static bool sample(reading *r, bool projects)
{
    sampling s;
    vy_value *v = read_room(r, word(r, 1));
    if (!v || !begin_sampling(r, &s, projects, false)) return false;
    read_texture t = s.t;
    return read_texture_each(&t, filter, &s, word(r, 1), v) && !vy_builder_failed(r->b) &&
           read_define(r, word(r, 2), s.scalars, v);
}

// Of the four texels that linear filtering takes, from the lower left one on, counter-clockwise
// where y points down.
static bool take_corners(const read_texture *t, void *of, vy_value *v)
{
    static const uint8_t corners[4][2] = {{0, 1}, {1, 1}, {1, 0}, {0, 0}};
    sampling *s = of;
    uint32_t channel;
    vy_value at[READ_IMAGE_AXES];
    if (!read_constant_u32(t->r, word(t->r, 5), &channel) || !place_all(s, t)) return false;
    for (uint32_t k = 0; k < 4; k++) {
        at[t->axes - 1] = s->layer;
        for (uint32_t axis = 0; axis < 2; axis++) at[axis] = s->at[axis][corners[k][axis]];
        v[k] = read_texel(t, at, channel);
    }
    as_results(s, v);
    return true;
}

// type, result, image, coordinates, component
static bool gather(reading *r)
{
    sampling s;
    vy_value *v = read_room(r, word(r, 1));
    if (!v || !begin_sampling(r, &s, false, true)) return false;
    if (s.t.spatial != 2 || s.scalars != 4)
        return read_fail(r, VY_E_SHADER_WORDS, "", "a gather of what has not two dimensions");
    read_texture t = s.t;
    return read_texture_each(&t, take_corners, &s, word(r, 1), v) && !vy_builder_failed(r->b) &&
           read_define(r, word(r, 2), s.scalars, v);
}

bool read_sample(reading *r, SpvOp op, bool *mine)
{
    *mine = true;
    switch (op) {
    case SpvOpImageSampleImplicitLod:
    case SpvOpImageSampleExplicitLod: return sample(r, false);
    case SpvOpImageSampleProjImplicitLod:
    case SpvOpImageSampleProjExplicitLod: return sample(r, true);
    case SpvOpImageGather: return gather(r);
    default: *mine = false; return true;
    }
}
