// SPDX-License-Identifier: MIT
// given.c: a shape as a caller writes it: "M, K", "2 * n + 1", "?".
#include "autodiff/shapes/shapes_build.h"

#include <ctype.h>
#include <stdlib.h>
#include <string.h>

typedef struct reader {
    shapes *s;
    const char *at;
    bool failed;
} reader;

enum { LONGEST = 1000 }; // characters of one shape

static char next(reader *r)
{
    while (isspace((unsigned char)*r->at)) r->at++;
    return *r->at;
}

static bool take_character(reader *r, char c)
{
    if (next(r) != c) return false;
    r->at++;
    return true;
}

static vy_dim fail(reader *r)
{
    r->failed = true;
    return (vy_dim){0};
}

static vy_dim binary(reader *r, vy_dim_op op, vy_dim x, vy_dim y)
{
    if (!x.id || !y.id) return fail(r);
    return shapes_node(r->s, (vy_dim_node){.op = op, .a = x.id, .b = y.id});
}

static bool is_letter(char c) { return isalnum((unsigned char)c) || c == '_' || c == '.'; }

static vy_dim name(reader *r)
{
    const char *from = r->at;
    char text[256];
    while (is_letter(*r->at)) r->at++;
    const size_t n = (size_t)(r->at - from);
    if (n == 0 || n >= sizeof text) return fail(r);
    memcpy(text, from, n);
    text[n] = 0;
    const uint32_t k = vy_program_find_scalar(r->s->w.p, text);
    if (k == UINT32_MAX || !vy_type_is_integer(r->s->w.p->scalars.data[k].type)) return fail(r);
    return shapes_node(r->s, (vy_dim_node){.op = VY_DIM_SCALAR, .value = k});
}

static vy_dim operand(reader *r)
{
    if (!isdigit((unsigned char)next(r))) return name(r);
    char *end;
    const unsigned long long v = strtoull(r->at, &end, 10);
    r->at = end;
    if (v > INT32_MAX) return fail(r);
    return shapes_node(r->s, (vy_dim_node){.op = VY_DIM_CONST, .value = (int64_t)v});
}

static vy_dim product(reader *r)
{
    vy_dim d = operand(r);
    while (!r->failed && take_character(r, '*')) d = binary(r, VY_DIM_MUL, d, operand(r));
    return d;
}

static vy_dim sum(reader *r)
{
    vy_dim d = product(r);
    while (!r->failed) {
        if (take_character(r, '+'))
            d = binary(r, VY_DIM_ADD, d, product(r));
        else if (take_character(r, '-'))
            d = binary(r, VY_DIM_SUB, d, product(r));
        else
            break;
    }
    return d;
}

static bool refuse(const reader *r, uint32_t buffer, const char *dims)
{
    const vy_program *p = r->s->w.p;
    vy_fail(p->module, VY_E_SHADER_REQUEST, 0, 0,
            "dimensions are + - * of its integer scalars and numbers, or ? alone",
            "the shape of %s cannot be read: %.80s", p->buffers.data[buffer].name, dims);
    return false;
}

bool shapes_give(shapes *s, uint32_t b, const char *dims)
{
    shapes_buffer *to = &s->buffers[b];
    reader r = {.s = s, .at = dims};
    uint32_t n = 0;
    if (strlen(dims) > LONGEST) return refuse(&r, b, "it is too long");
    to->is = !(take_character(&r, '?') && !next(&r));
    if (!to->is) return true;
    r.at = dims;
    do {
        if (n <= SHAPES_AXES) to->dim[n] = sum(&r);
    } while (n++ < SHAPES_AXES && !r.failed && take_character(&r, ','));
    if (s->w.oom) return false;
    if (r.failed || next(&r)) return refuse(&r, b, dims);
    to->given = true;
    to->inner = n - 1;
    return true;
}

void shapes_settle(shapes *s)
{
    for (uint32_t i = 1; i < s->w.p->buffers.count; i++) {
        shapes_buffer *b = &s->buffers[i];
        for (uint32_t k = 0; k < b->inner && b->given; k++)
            b->extent[k] = s->a.facts.form[b->dim[k + 1].id];
    }
}
