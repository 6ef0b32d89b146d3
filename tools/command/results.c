// SPDX-License-Identifier: MIT
// results.c: `--out NAME=@FILE`: an array as a file, a picture, several pictures, or on stdout.
#include "tools/command/archive.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

// --frames: the elements of the leading axis, each a picture.
static array frame_of(const array *a, uint64_t index)
{
    array one = *a;
    one.rank--;
    memmove(one.shape, one.shape + 1, one.rank * sizeof *one.shape);
    one.count = a->shape[0] ? a->count / a->shape[0] : 0;
    one.data = a->data ? (char *)a->data + index * one.count * vy_type_size(a->type) : NULL;
    return one;
}

static bool check_picture(const spec *to, const array *a, vy_diag *d)
{
    if (!png_available("--out", to->text, d)) return false;
    if (to->frames && a->rank < 3)
        return fail(d, TOOL_SHAPE, "leave --frames out",
                    "--out %s: with --frames it is [F, H, W] or [F, H, W, 3]", to->name);
    const array one = to->frames ? frame_of(a, 0) : *a;
    return picture_check(to->name, one.type, one.rank, one.shape, to->linear, d);
}

bool check_output(const spec *to, const array *a, vy_diag *d)
{
    if (!spec_is_file(to))
        return fail(d, TOOL_SPEC,
                    "write --out NAME=@file.npy, @file.npz, @file.png, @file.bin or NAME=@-",
                    "--out %s: a file is expected", to->name);
    if (to->kind == SPEC_NPZ) return npz_available("--out", to->text, d);
    return to->kind != SPEC_PNG || check_picture(to, a, d);
}

static bool add(command *c, const char *path, const text *file, vy_diag *d)
{
    return file->failed ? fail_memory(d) : output_add(&c->files, path, file->data, file->size, d);
}

// walk.png: walk000.png, walk001.png, …
static bool write_frames(command *c, const spec *to, const array *a, vy_diag *d)
{
    const size_t stem = strlen(to->text) - strlen(".png");
    bool ok = true;
    for (uint64_t i = 0; ok && i < a->shape[0]; i++) {
        const array one = frame_of(a, i);
        text path = {0}, file = {0};
        text_printf(&path, "%.*s%03llu.png", (int)stem, to->text, (unsigned long long)i);
        ok = picture_write(&one, to->linear, &file, d) &&
             (path.failed ? fail_memory(d) : add(c, path.data, &file, d));
        text_free(&path);
        text_free(&file);
    }
    return ok;
}

bool write_array(command *c, const spec *to, const array *a, vy_diag *d)
{
    const size_t bytes = (size_t)(a->count * vy_type_size(a->type));
    if (to->kind == SPEC_BIN) return output_add(&c->files, to->text, a->data, bytes, d);
    if (to->kind == SPEC_NPZ) return archive_add(c, to, a, d);
    if (to->kind == SPEC_PNG && to->frames) return write_frames(c, to, a, d);
    if (to->kind == SPEC_STREAM) { // alone on stdout: options.c
        npy_write(a, &c->stream);
        return !c->stream.failed || fail_memory(d);
    }
    text file = {0};
    bool ok = true;
    if (to->kind == SPEC_NPY)
        npy_write(a, &file);
    else
        ok = picture_write(a, to->linear, &file, d);
    ok = ok && add(c, to->text, &file, d);
    text_free(&file);
    return ok;
}
