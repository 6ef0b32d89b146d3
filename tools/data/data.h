// SPDX-License-Identifier: MIT
// data.h: arrays of numbers, where they come from (SPEC, .npy, .png, raw bytes) and where they go.
#ifndef VYRE_TOOL_DATA_H
#define VYRE_TOOL_DATA_H

#include "tools/data/tool.h"

#include "session/array.h"

typedef vys_array array;

typedef enum spec_kind {
    SPEC_LIST,
    SPEC_NPY,
    SPEC_NPZ, // an array of an archive
    SPEC_PNG,
    SPEC_STREAM, // stdin, .npy or .png; stdout, .npy
    SPEC_BIN,
    SPEC_CONST, // zeros, ones too
    SPEC_IOTA,
    SPEC_CYCLE, // 0 … a−1, again and again
    SPEC_UNIFORM,
    SPEC_NORMAL,
} spec_kind;

// One NAME=SPEC or NAME[2,3]=SPEC.
typedef struct spec {
    char *name; // owned
    spec_kind kind;
    bool has_shape;
    uint32_t rank;
    uint64_t shape[VYS_MAX_RANK];
    char *text;   // owned: the list, the path, the constant
    char *member; // owned, SPEC_NPZ: which array of it; NULL: the one with this name
    double a, b;  // LO and HI, MEAN and STD
    uint64_t seed;
    bool linear; // SPEC_PNG: numbers are linear light, not sRGB's
    bool frames; // … the leading axis counts pictures; the command sets it
    array file;  // of a file: what was read (spec_load)
    size_t file_bytes;
} spec;

// Reads the text of an option; `option` names it in diagnostics ("--in").
bool spec_parse(spec *s, const char *option, const char *argument, vy_diag *d);
void spec_free(spec *s);
bool spec_is_file(const spec *s);
// Whether the SPEC itself says how many elements there are: lists and files.
bool spec_has_count(const spec *s);
// Elements of a list or file for a buffer of this type.  Loads the file the first time.
bool spec_count(spec *s, vy_type type, uint64_t *count, vy_diag *d);
// Fills an allocated array whose count is the SPEC's own.  `declared`: the type in the program,
// which raw files have whatever the array is kept as.
bool spec_fill(spec *s, vy_type declared, array *a, vy_diag *d);

uint64_t splitmix64(uint64_t x); // the output of the generator whose state is x

// .npy, versions 1 to 3.  `name` is for diagnostics.
bool npy_read(const void *data, size_t size, const char *name, array *a, vy_diag *d);
void npy_write(const array *a, text *out);

// png.c.  Pictures are arrays [H, W] or [H, W, 3], of floats 0 … 1 or of bytes; their colour
// channels last.
// Whether the elements of `name` can be one (E0806, E0807).
bool picture_check(const char *name, vy_type type, uint32_t rank, const uint64_t *shape,
                   bool linear, vy_diag *d);
// Of what picture_check accepts.
bool picture_write(const array *a, bool linear, text *out, vy_diag *d);
// Whether `bytes` begin like a file of ours.
bool picture_begins(const void *bytes, size_t size);
// Allocates a [H, W] of a grey picture, [H, W, 3] of any other: f32, or the bytes of the file, for
// a buffer of `type` that holds integers.
bool picture_read(const void *bytes, size_t size, const char *name, vy_type type, bool linear,
                  array *a, vy_diag *d);
// Rows of one byte a pixel, or of three if in colour.
bool png_encode(const unsigned char *pixels, uint32_t width, uint32_t height, bool colour,
                text *out, vy_diag *d);
// Whether this build has libpng (E0802); `what` and `path` name what needs it.
bool png_available(const char *what, const char *path, vy_diag *d);

// name type[shape] = [elements], cut after 16 unless `all`, with a newline.
void array_print(const char *name, const array *a, bool all, text *out);
// The elements as a JSON list: inf and nan are strings.
void array_json(const array *a, text *out);
void shape_text(uint32_t rank, const uint64_t *shape, text *out); // "2, 3"

#endif
