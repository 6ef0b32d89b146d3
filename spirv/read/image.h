// SPDX-License-Identifier: MIT
// image.h: images and samplers of a module that is read: image.c, texel.c, sample.c, chosen.c.
#ifndef VYRE_READ_IMAGE_H
#define VYRE_READ_IMAGE_H

#include "spirv/read/reading.h"

enum { READ_IMAGE_AXES = 3, READ_MOST_IMAGES = 64 }; // in an array of them

typedef enum read_texel_kind {
    READ_TEXEL_FULL,  // what is stored is what is loaded
    READ_TEXEL_HALF,  // rounded to f16
    READ_TEXEL_UNORM, // in [0, 1], in steps
    READ_TEXEL_SNORM, // in [-1, 1]
} read_texel_kind;

typedef struct read_format { // of the texels that an image has
    uint8_t channels;        // 0: it cannot be read
    read_texel_kind kind;
    uint32_t most; // UNORM and SNORM: what 1 is as an integer; of channel 3: …
    uint32_t most_alpha;
} read_format;

typedef struct read_texture { // an image that an instruction accesses
    reading *r;
    const read_object *o;
    uint32_t field; // of the object: which image of an array
    bool chosen;    // … which it is, is known when the shader runs:
    vy_value which;
    read_format format;
    vy_type type;           // of a channel
    uint32_t axes, spatial; // coordinates; those that are no layer
    uint32_t sampler;       // the variable of the sampler, where there is one
} read_texture;

// Takes the type of an image, also that behind arrays and samplers.  False: it cannot be read.
bool read_texture_type(reading *r, uint32_t type, read_texture *t);
// The image that id stands for, whose use is noted.  False: there is none that can be read, which
// has been reported.
bool read_texture_of(reading *r, uint32_t id, uint8_t use, read_texture *t);
// Accesses the image, which gives the scalars v of the type; 0: it gives none.  Several times under
// conditions, where it is chosen when the shader runs.
typedef bool read_texture_access(const read_texture *t, void *of, vy_value *v);
bool read_texture_each(read_texture *t, read_texture_access *access, void *of, uint32_t type,
                       vy_value *v);
vy_value read_texture_size(const read_texture *t, uint32_t axis); // u32: width, height, …
vy_buffer read_texture_buffer(const read_texture *t);             // none: not known yet
// Where an element of that buffer is: at these coordinates, x first.
void read_texel_index(const read_texture *t, const vy_value *at, uint32_t channel,
                      vy_value index[READ_IMAGE_AXES + 1]);
// A channel of the texel at these coordinates; what the format lacks is 0, and 1 in the last.
vy_value read_texel(const read_texture *t, const vy_value *at, uint32_t channel);

// The optional operands of an image instruction from word i on.
typedef struct read_image_operands {
    uint32_t offset; // an id; 0: none
} read_image_operands;
bool read_image_operands_at(reading *r, uint32_t i, read_image_operands *out);
bool read_level_zero(reading *r, uint32_t id); // the level of detail has to be 0

#endif
