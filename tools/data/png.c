// SPDX-License-Identifier: MIT
// png.c: arrays as pictures, https://www.w3.org/TR/png/, with libpng where the build has it.
//
// A picture is [H, W] (grey) or [H, W, 3] (red, green, blue).  Floats 0 … 1 are 0 … 255: x becomes
// round(255 x), clamped, and what is read is a byte / 255; u8 are the bytes themselves.  So a file
// that was read is written again with the same bytes.  NaN is black.  The numbers are sRGB's, and
// with `linear` those of light, converted by the curve of sRGB on the way in and out.
#include "tools/data/data.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { MOST_PIXELS = 1 << 28, LONGEST_SIDE = 1000000 }; // the latter is libpng's

static const char *no_picture(vy_type type, uint32_t rank, const uint64_t *shape, bool linear)
{
    const bool bytes = type == VY_U8 && !linear;
    if (!vy_type_is_float(type) && !bytes)
        return linear ? "linear light is floats" : "a picture holds floats or u8";
    if (rank != 2 && !(rank == 3 && shape[2] == 3)) return "a picture is [H, W] or [H, W, 3]";
    if (shape[0] - 1 < LONGEST_SIDE && shape[1] - 1 < LONGEST_SIDE &&
        shape[0] * shape[1] <= MOST_PIXELS)
        return NULL;
    return "it has no pixels, or too many of them";
}

bool picture_check(const char *name, vy_type type, uint32_t rank, const uint64_t *shape,
                   bool linear, vy_diag *d)
{
    text have = {0};
    const char *const why = no_picture(type, rank, shape, linear);
    const bool typed = vy_type_is_float(type) || (type == VY_U8 && !linear);
    if (!why) return true;
    text_printf(&have, "%s[", vy_type_name(type));
    shape_text(rank, shape, &have);
    fail(d, typed ? TOOL_SHAPE : TOOL_DATA, "write NAME=@file.npy instead",
         "--out %s: %s] is no picture: %s", name, have.failed ? "" : have.data, why);
    text_free(&have);
    return false;
}

// IEC 61966-2-1
static double encoded(double x)
{
    return x <= 0.0031308 ? 12.92 * x : 1.055 * pow(x, 1 / 2.4) - 0.055;
}

static unsigned char byte_of(double x)
{
    return (unsigned char)(x >= 1 ? 255 : x > 0 ? lround(255 * x) : 0); // NaN: 0
}

bool picture_write(const array *a, bool linear, text *out, vy_diag *d)
{
    const bool colour = a->rank == 3;
    unsigned char *pixels = malloc(a->count);
    if (!pixels) return fail_memory(d);
    for (uint64_t i = 0; i < a->count; i++) {
        const char *at = (const char *)a->data + i * vy_type_size(a->type);
        const vy_scalar v = vy_scalar_read(a->type, at);
        pixels[i] = a->type == VY_U8 ? (unsigned char)v.u : byte_of(linear ? encoded(v.f) : v.f);
    }
    const bool ok =
        png_encode(pixels, (uint32_t)a->shape[1], (uint32_t)a->shape[0], colour, out, d);
    free(pixels);
    return ok;
}

bool picture_begins(const void *bytes, size_t size)
{
    return size > 8 && !memcmp(bytes, "\x89PNG\r\n\x1a\n", 8);
}

#ifndef HAVE_PNG

bool png_available(const char *what, const char *path, vy_diag *d)
{
    return fail(d, TOOL_UNAVAILABLE, "install libpng-dev (tools/setup does) and build again",
                "%s %.200s: this vyre-grad was built without libpng", what, path);
}

bool png_encode(const unsigned char *pixels, uint32_t width, uint32_t height, bool colour,
                text *out, vy_diag *d)
{
    (void)pixels, (void)width, (void)height, (void)colour, (void)out;
    return png_available("writing", "a picture", d);
}

bool picture_read(const void *bytes, size_t size, const char *name, vy_type type, bool linear,
                  array *a, vy_diag *d)
{
    (void)bytes, (void)size, (void)type, (void)linear;
    *a = (array){0};
    return png_available("reading", name, d);
}

#else

#include <png.h>

static double decoded(double x) { return x <= 0.04045 ? x / 12.92 : pow((x + 0.055) / 1.055, 2.4); }

bool png_available(const char *what, const char *path, vy_diag *d)
{
    (void)what, (void)path, (void)d;
    return true;
}

bool png_encode(const unsigned char *pixels, uint32_t width, uint32_t height, bool colour,
                text *out, vy_diag *d)
{
    png_image image = {.version = PNG_IMAGE_VERSION,
                       .width = width,
                       .height = height,
                       .format = colour ? PNG_FORMAT_RGB : PNG_FORMAT_GRAY};
    png_alloc_size_t size = PNG_IMAGE_PNG_SIZE_MAX(image);
    void *file = malloc(size);
    const bool ok = file && png_image_write_to_memory(&image, file, &size, 0, pixels, 0, NULL);
    if (ok) text_add(out, file, size);
    png_image_free(&image);
    free(file);
    return (ok && !out->failed) || fail_memory(d);
}

// The pixels as bytes, to be freed; NULL: image->message, or no memory where that is empty.
static unsigned char *decode(png_image *image, const void *bytes, size_t size)
{
    const png_color black = {0, 0, 0}; // behind what is transparent
    if (!png_image_begin_read_from_memory(image, bytes, size)) return NULL;
    image->format = image->format & PNG_FORMAT_FLAG_COLOR ? PNG_FORMAT_RGB : PNG_FORMAT_GRAY;
    if ((uint64_t)image->width * image->height > MOST_PIXELS) {
        snprintf(image->message, sizeof image->message, "it has too many pixels");
        return NULL;
    }
    unsigned char *pixels = malloc(PNG_IMAGE_SIZE(*image));
    if (pixels && png_image_finish_read(image, &black, pixels, 0, NULL)) return pixels;
    free(pixels);
    return NULL;
}

bool picture_read(const void *bytes, size_t size, const char *name, vy_type type, bool linear,
                  array *a, vy_diag *d)
{
    const bool whole = !vy_type_is_float(type);
    if (whole && linear)
        return fail(d, TOOL_DATA, "leave :linear out", "%s: linear light is floats, not %s", name,
                    vy_type_name(type));
    png_image image = {.version = PNG_IMAGE_VERSION};
    *a = (array){0};
    unsigned char *pixels = decode(&image, bytes, size);
    bool ok = pixels != NULL;
    if (!ok && *image.message)
        fail(d, TOOL_NPY, "write it again as a PNG", "%s is not a readable .png file: %s", name,
             image.message);
    else if (!ok)
        fail_memory(d);
    const bool colour = image.format & PNG_FORMAT_FLAG_COLOR;
    a->rank = colour ? 3 : 2;
    a->shape[0] = image.height, a->shape[1] = image.width, a->shape[2] = 3;
    ok = ok && vys_array_alloc(a, name, whole ? VY_U8 : VY_F32, d);
    if (ok && whole) memcpy(a->data, pixels, a->count);
    for (uint64_t i = 0; ok && !whole && i < a->count; i++)
        ((float *)a->data)[i] = linear ? (float)decoded(pixels[i] / 255.0) : (float)pixels[i] / 255;
    png_image_free(&image);
    free(pixels);
    return ok;
}

#endif
