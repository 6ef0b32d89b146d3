// SPDX-License-Identifier: MIT
// npz_zip.c: the module vyre-npz.so (npz.h).  libzip reads and writes the zip file; here is what
// NumPy's archives have.
//
// An archive may lie about sizes.  An array is believed to be as long as the archive says only if
// that can come of the bytes it takes there: numpy.savez stores them, numpy.savez_compressed
// deflates them, and deflate makes at most 1032 bytes of one.
#include "tools/data/npz.h"

#include "tools/data/file.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <zip.h>

enum { MOST_RATIO = 1032, DATE = 1 << 5 | 1 }; // 1980-01-01, in any time zone

static bool unreadable(const char *path, const char *why, vy_diag *d)
{
    return fail(d, TOOL_NPY, "write it again with numpy.savez",
                "%s is not a readable .npz file: %s", path, why);
}

// ----------------------------------------------------------------------------------------- reading
static zip_t *open_archive(const char *path, vy_diag *d)
{
    int code = 0;
    zip_error_t error;
    zip_t *z = zip_open(path, ZIP_RDONLY, &code);
    if (z) return z;
    zip_error_init_with_code(&error, code);
    if (code == ZIP_ER_NOENT || code == ZIP_ER_OPEN || code == ZIP_ER_READ)
        fail(d, TOOL_READ, "", "cannot open %s: %s", path, zip_error_strerror(&error));
    else
        unreadable(path, zip_error_strerror(&error), d);
    zip_error_fini(&error);
    return NULL;
}

// -1: there is none.
static zip_int64_t find(zip_t *z, const char *member)
{
    char name[300];
    const int n = snprintf(name, sizeof name, "%s.npy", member);
    return n < (int)sizeof name ? zip_name_locate(z, name, 0) : -1;
}

static bool no_member(zip_t *z, const char *path, const char *member, vy_diag *d)
{
    char fix[sizeof d->fix] = "its arrays are: ";
    const zip_int64_t count = zip_get_num_entries(z, 0);
    for (zip_int64_t i = 0; i < count && i < 20; i++) {
        const char *name = zip_get_name(z, (zip_uint64_t)i, 0);
        const size_t used = strlen(fix), n = name ? strlen(name) : 0;
        if (n <= 4 || strcmp(name + n - 4, ".npy") || used + n + 3 > sizeof fix) continue;
        snprintf(fix + used, sizeof fix - used, "%s%.*s", i ? ", " : "", (int)n - 4, name);
    }
    return fail(d, TOOL_MISSING, fix, "%s has no array %.100s", path, member);
}

static const char *check_size(const zip_stat_t *s)
{
    const zip_uint64_t need = ZIP_STAT_SIZE | ZIP_STAT_COMP_SIZE | ZIP_STAT_COMP_METHOD;
    if ((s->valid & need) != need) return "it does not say how long the array is";
    if (s->comp_method != ZIP_CM_STORE && s->comp_method != ZIP_CM_DEFLATE)
        return "the array is compressed as NumPy does not";
    if (s->size > DATA_LIMIT || s->size / MOST_RATIO > s->comp_size)
        return "the array cannot be as long as it says";
    return NULL;
}

// One byte more is asked for, so that libzip sees the end, where it compares the checksum.
static const char *read_bytes(zip_file_t *f, char *data, zip_uint64_t size)
{
    char more;
    zip_uint64_t done = 0;
    while (done < size) {
        const zip_int64_t n = zip_fread(f, data + done, size - done);
        if (n < 0) return zip_file_strerror(f);
        if (n == 0) return "the array is shorter than it says";
        done += (zip_uint64_t)n;
    }
    const zip_int64_t n = zip_fread(f, &more, 1);
    return n < 0 ? zip_file_strerror(f) : n ? "the array is longer than it says" : NULL;
}

static bool read_member(zip_t *z, zip_int64_t index, const char *path, text *out, vy_diag *d)
{
    zip_stat_t s;
    zip_stat_init(&s);
    if (zip_stat_index(z, (zip_uint64_t)index, 0, &s)) return unreadable(path, zip_strerror(z), d);
    const char *why = check_size(&s);
    if (why) return unreadable(path, why, d);
    char *data = malloc(s.size + 1);
    if (!data) return fail_memory(d);
    zip_file_t *f = zip_fopen_index(z, (zip_uint64_t)index, 0);
    why = f ? read_bytes(f, data, s.size) : zip_strerror(z);
    if (why)
        unreadable(path, why, d);
    else
        text_add(out, data, s.size);
    if (f) zip_fclose(f);
    free(data);
    return !why && (!out->failed || fail_memory(d));
}

bool npz_zip_read(const char *path, const char *member, text *out, vy_diag *d)
{
    zip_t *z = open_archive(path, d);
    if (!z) return false;
    const zip_int64_t index = find(z, member);
    const bool ok = index < 0 ? no_member(z, path, member, d) : read_member(z, index, path, out, d);
    zip_discard(z);
    return ok;
}

bool npz_zip_has(const char *path, const char *member, bool *has, vy_diag *d)
{
    zip_t *z = open_archive(path, d);
    if (!z) return false;
    *has = find(z, member) >= 0;
    zip_discard(z);
    return true;
}

// ----------------------------------------------------------------------------------------- writing
static bool add_member(zip_t *z, const npz_member *m)
{
    char name[300];
    const int n = snprintf(name, sizeof name, "%s.npy", m->name);
    zip_source_t *from = zip_source_buffer(z, m->file.data, m->file.size, 0);
    const zip_int64_t index =
        from && n < (int)sizeof name ? zip_file_add(z, name, from, ZIP_FL_ENC_UTF_8) : -1;
    if (index < 0) {
        zip_source_free(from);
        return false;
    }
    return !zip_set_file_compression(z, (zip_uint64_t)index, ZIP_CM_STORE, 0) &&
           !zip_file_set_dostime(z, (zip_uint64_t)index, 0, DATE, 0);
}

static bool take_bytes(zip_source_t *from, text *out)
{
    char block[1 << 14];
    zip_int64_t n;
    if (zip_source_open(from)) return false;
    while ((n = zip_source_read(from, block, sizeof block)) > 0) text_add(out, block, (size_t)n);
    zip_source_close(from);
    return n == 0;
}

bool npz_zip_write(const npz_member *members, uint32_t count, const char *path, text *out,
                   vy_diag *d)
{
    zip_error_t error;
    zip_error_init(&error);
    zip_source_t *to = zip_source_buffer_create(NULL, 0, 0, &error);
    zip_t *z = to ? zip_open_from_source(to, ZIP_CREATE | ZIP_TRUNCATE, &error) : NULL;
    if (!z) {
        if (to) zip_source_free(to);
        zip_error_fini(&error);
        return fail_memory(d);
    }
    zip_source_keep(to);
    bool ok = true;
    for (uint32_t i = 0; ok && i < count; i++) ok = add_member(z, &members[i]);
    ok = ok && !zip_close(z);
    if (!ok) {
        fail(d, TOOL_WRITE, "", "cannot write %s: %s", path, zip_strerror(z));
        zip_discard(z);
    }
    ok = ok && (take_bytes(to, out) || fail(d, TOOL_WRITE, "", "cannot write %s", path));
    zip_source_free(to);
    zip_error_fini(&error);
    return ok && (!out->failed || fail_memory(d));
}
