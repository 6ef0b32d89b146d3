// SPDX-License-Identifier: MIT
// npy.c: NumPy's .npy format,
// https://numpy.org/doc/stable/reference/generated/numpy.lib.format.html
//
// "\x93NUMPY", version (two bytes), length of the header (2 bytes in version 1, else 4), the
// header, a Python dictionary literal {'descr': '<f4', 'fortran_order': False, 'shape': (3, 4), },
// the data.  Of Python only what such a header may hold is read; all else is refused.
#include "tools/data/data.h"

#include <stdlib.h>
#include <string.h>

static const struct {
    char code[3]; // kind and bytes
    vy_type type;
} kinds[] = {
    {"f2", VY_F16}, {"f4", VY_F32}, {"f8", VY_F64}, {"i1", VY_I8},  {"i2", VY_I16}, {"i4", VY_I32},
    {"i8", VY_I64}, {"u1", VY_U8},  {"u2", VY_U16}, {"u4", VY_U32}, {"u8", VY_U64}, {"b1", VY_BOOL},
};

typedef struct header {
    vy_type type;
    uint32_t width; // bytes of one element in the file
    bool swap;      // big-endian
    bool fortran;   // first index fastest
    bool seen_descr, seen_order, seen_shape;
} header;

typedef struct cursor {
    const char *at, *end;
} cursor;

static void skip_space(cursor *c)
{
    while (c->at < c->end && (*c->at == ' ' || *c->at == '\n' || *c->at == '\t')) c->at++;
}

static bool take_character(cursor *c, char wanted)
{
    skip_space(c);
    if (c->at == c->end || *c->at != wanted) return false;
    c->at++;
    return true;
}

static bool take_word(cursor *c, const char *word)
{
    size_t n = strlen(word);
    skip_space(c);
    if ((size_t)(c->end - c->at) < n || memcmp(c->at, word, n)) return false;
    c->at += n;
    return true;
}

// 'text' or "text" without escapes
static bool take_string(cursor *c, char out[32])
{
    skip_space(c);
    if (c->at == c->end || (*c->at != '\'' && *c->at != '"')) return false;
    const char quote = *c->at++;
    size_t n = 0;
    while (c->at < c->end && *c->at != quote) {
        if (n == 31 || *c->at == '\\') return false;
        out[n++] = *c->at++;
    }
    out[n] = 0;
    return take_character(c, quote);
}

static bool take_shape(cursor *c, array *a)
{
    if (!take_character(c, '(')) return false;
    while (!take_character(c, ')')) {
        if (a->rank == VYS_MAX_RANK) return false;
        uint64_t n = 0;
        const char *start = c->at;
        for (; c->at < c->end && *c->at >= '0' && *c->at <= '9'; c->at++)
            if (__builtin_mul_overflow(n, 10, &n) ||
                __builtin_add_overflow(n, (uint64_t)(*c->at - '0'), &n) || n > INT64_MAX)
                return false;
        if (c->at == start) return false;
        if (c->at < c->end && *c->at == 'L') c->at++; // Python 2
        a->shape[a->rank++] = n;
        if (!take_character(c, ',')) return take_character(c, ')');
    }
    return true;
}

static bool take_descr(cursor *c, header *h)
{
    char s[32];
    if (!take_string(c, s)) return false;
    const char *code = strchr("<>|=", s[0]) && s[0] ? s + 1 : s;
    for (size_t i = 0; i < COUNT_OF(kinds); i++) {
        if (strcmp(code, kinds[i].code)) continue;
        h->type = kinds[i].type;
        h->width = (uint32_t)(code[1] - '0');
        h->swap = s[0] == '>';
        return true;
    }
    return false;
}

static const char *take_header(cursor *c, header *h, array *a)
{
    char key[32];
    if (!take_character(c, '{')) return "its header is not a dictionary";
    while (!take_character(c, '}')) {
        if (!take_string(c, key) || !take_character(c, ':')) return "its header is malformed";
        if (!strcmp(key, "descr") && !h->seen_descr) {
            if (!take_descr(c, h))
                return "its element type is not one of f2 f4 f8 i1 i2 i4 i8 u1 u2 u4 u8 b1";
            h->seen_descr = true;
        } else if (!strcmp(key, "fortran_order") && !h->seen_order) {
            h->fortran = take_word(c, "True");
            if (!h->fortran && !take_word(c, "False")) return "its fortran_order is not a boolean";
            h->seen_order = true;
        } else if (!strcmp(key, "shape") && !h->seen_shape) {
            if (!take_shape(c, a)) return "its shape is malformed or has more than 32 axes";
            h->seen_shape = true;
        } else {
            return "its header has an unknown or repeated key";
        }
        if (!take_character(c, ',') && !(c->at < c->end && *c->at == '}'))
            return "its header is malformed";
    }
    if (!h->seen_descr || !h->seen_order || !h->seen_shape) return "its header lacks a key";
    return NULL;
}

// Finds the header; *data is set to what follows.
static const char *find_header(const char *bytes, size_t size, cursor *c, const char **data)
{
    const unsigned char *u = (const unsigned char *)bytes;
    if (size < 10 || memcmp(bytes, "\x93NUMPY", 6)) return "it does not start as one";
    if (u[6] < 1 || u[6] > 3) return "its version is not 1, 2 or 3";
    const size_t start = u[6] == 1 ? 10 : 12;
    if (size < start) return "it is truncated";
    const size_t length =
        u[6] == 1 ? (size_t)(u[8] | u[9] << 8)
                  : (size_t)u[8] | (size_t)u[9] << 8 | (size_t)u[10] << 16 | (size_t)u[11] << 24;
    if (length > size - start) return "it is truncated";
    *c = (cursor){bytes + start, bytes + start + length};
    *data = c->end;
    return NULL;
}

// Copies element by element: swaps bytes, widens NumPy's one-byte bool, converts Fortran order to C
// order.
static void copy_elements(const header *h, const array *a, const char *from)
{
    const uint32_t wide = vy_type_size(a->type);
    uint64_t index[VYS_MAX_RANK] = {0}, stride[VYS_MAX_RANK], offset = 0, step = 1;
    for (uint32_t k = 0; k < a->rank; k++) {
        uint32_t axis = h->fortran ? k : a->rank - 1 - k;
        stride[axis] = step;
        step *= a->shape[axis];
    }
    for (uint64_t i = 0; i < a->count; i++) {
        char *to = (char *)a->data + i * wide;
        const char *at = from + offset * h->width;
        for (uint32_t b = 0; b < h->width; b++) to[b] = at[h->swap ? h->width - 1 - b : b];
        if (a->type == VY_BOOL) to[0] = to[0] != 0;
        for (uint32_t axis = a->rank; axis-- > 0;) {
            offset += stride[axis];
            if (++index[axis] < a->shape[axis]) break;
            offset -= stride[axis] * a->shape[axis];
            index[axis] = 0;
        }
    }
}

bool npy_read(const void *bytes, size_t size, const char *name, array *a, vy_diag *d)
{
    header h = {0};
    cursor c;
    const char *data, *why = find_header(bytes, size, &c, &data);
    *a = (array){0};
    if (!why) why = take_header(&c, &h, a);
    if (why) return fail(d, TOOL_NPY, NULL, "%s is not a readable .npy file: %s", name, why);
    const uint64_t left = size - (size_t)(data - (const char *)bytes);
    uint64_t count = 1;
    for (uint32_t i = 0; i < a->rank; i++)
        if (__builtin_mul_overflow(count, a->shape[i], &count)) count = UINT64_MAX, i = a->rank;
    // A shape is believed only when the data is there, so a lie cannot make us allocate.
    if (count > left / h.width || count * h.width != left)
        return fail(d, TOOL_NPY, NULL,
                    "%s is not a readable .npy file: its shape needs %s bytes than there are", name,
                    count > left / h.width ? "more" : "fewer");
    if (!vys_array_alloc(a, name, h.type, d)) return false;
    copy_elements(&h, a, data);
    return true;
}

void npy_write(const array *a, text *out)
{
    const char *code = "";
    text dict = {0};
    for (size_t i = 0; i < COUNT_OF(kinds); i++)
        if (kinds[i].type == a->type) code = kinds[i].code;
    const bool bytes = code[1] == '1';
    text_printf(&dict, "{'descr': '%c%s', 'fortran_order': False, 'shape': (", bytes ? '|' : '<',
                code);
    shape_text(a->rank, a->shape, &dict);
    text_puts(&dict, a->rank == 1 ? ",), }" : "), }");
    while ((10 + dict.size + 1) % 64 && !dict.failed) text_puts(&dict, " ");
    text_puts(&dict, "\n");
    const unsigned char start[] = {0x93,
                                   'N',
                                   'U',
                                   'M',
                                   'P',
                                   'Y',
                                   1,
                                   0,
                                   (unsigned char)(dict.size & 255),
                                   (unsigned char)(dict.size >> 8)};
    text_add(out, start, sizeof start);
    if (dict.failed)
        out->failed = true;
    else
        text_add(out, dict.data, dict.size);
    if (a->type != VY_BOOL) text_add(out, a->data, a->count * vy_type_size(a->type));
    for (uint64_t i = 0; a->type == VY_BOOL && i < a->count; i++)
        text_add(out, (const char *)a->data + i * 4, 1);
    text_free(&dict);
}
