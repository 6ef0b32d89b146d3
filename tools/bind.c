// SPDX-License-Identifier: MIT
// bind.c: --set and --in to values of parameters.
#include "tools/bind.h"

#include "tools/number.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

// ------------------------------------------------------------------------------------------- SPECs
bool specs_parse(specs *s, const char *option, const names *arguments, vy_diag *d)
{
    *s = (specs){0};
    if (!arguments->count) return true;
    s->data = calloc(arguments->count, sizeof *s->data);
    if (!s->data) return fail_memory(d);
    for (uint32_t i = 0; i < arguments->count; i++) {
        spec *now = &s->data[s->count++];
        if (!spec_parse(now, option, arguments->data[i], d)) return false;
        spec *first = specs_find(s, now->name);
        if (first != now) return fail(d, TOOL_USAGE, "", "%s gives %s twice", option, now->name);
    }
    return true;
}

void specs_free(specs *s)
{
    for (uint32_t i = 0; i < s->count; i++) spec_free(&s->data[i]);
    free(s->data);
    *s = (specs){0};
}

spec *specs_find(const specs *s, const char *name)
{
    for (uint32_t i = 0; i < s->count; i++)
        if (!strcmp(s->data[i].name, name)) return &s->data[i];
    return NULL;
}

// --------------------------------------------------------------------------------------- parameters
bool binding_create(binding *b, runnable what, bool f64, vy_diag *d)
{
    const vy_program *p = what.program;
    const uint32_t buffers = vy_program_buffer_count(p), scalars = vy_program_scalar_count(p);
    *b = (binding){
        .what = what, .program = p, .f64 = f64, .scalar_count = scalars, .groups = {-1, -1, -1}};
    b->buffers = calloc(buffers + 1, sizeof *b->buffers);
    b->scalars = calloc(scalars + 1, sizeof *b->scalars);
    b->values = calloc(scalars + 1, sizeof *b->values);
    b->known = calloc(scalars + 1, sizeof *b->known);
    b->dims = calloc(vy_program_dim_count(p) + 1, sizeof *b->dims);
    b->lengths = calloc(vy_program_buffer_count(p) + 1, sizeof *b->lengths);
    b->dim_states = calloc(vy_program_dim_count(p) + 1, sizeof *b->dim_states);
    if (!b->buffers || !b->scalars || !b->values || !b->known || !b->dims || !b->dim_states ||
        !b->lengths)
        return fail_memory(d);
    for (uint32_t i = 0; i < scalars; i++) b->scalars[i].info = vy_program_scalar(p, i);
    for (uint32_t i = 0; i <= buffers; i++) b->lengths[i] = -1;
    for (uint32_t i = 1; i <= buffers; i++) {
        vy_buffer_info info = vy_program_buffer(p, (vy_buffer){i});
        if (info.cls == VY_SHARED || info.cls == VY_LOCAL || info.workspace) continue;
        b->buffers[b->buffer_count++].info = info;
    }
    return true;
}

void binding_free(binding *b)
{
    for (uint32_t i = 0; i < b->buffer_count; i++) array_free(&b->buffers[i].value);
    spec_free(&b->fallback);
    free(b->buffers);
    free(b->scalars);
    free(b->values);
    free(b->known);
    free(b->dims);
    free(b->dim_states);
    free(b->lengths);
    *b = (binding){0};
}

bound_buffer *binding_find(const binding *b, const char *name)
{
    for (uint32_t i = 0; i < b->buffer_count; i++)
        if (!strcmp(b->buffers[i].info.name, name)) return &b->buffers[i];
    return NULL;
}

static bool is_scalar(const binding *b, const char *name)
{
    for (uint32_t i = 0; i < b->scalar_count; i++)
        if (!strcmp(b->scalars[i].info.name, name)) return true;
    return false;
}

static bool no_such(const binding *b, const char *option, const char *name, bool scalars,
                    vy_diag *d)
{
    names have = {0};
    text fix = {0};
    bool ok = true;
    for (uint32_t i = 0; scalars && i < b->scalar_count; i++)
        ok &= names_add(&have, b->scalars[i].info.name);
    for (uint32_t i = 0; !scalars && i < b->buffer_count; i++)
        ok &= names_add(&have, b->buffers[i].info.name);
    const char *near = vy_nearest_name(name, have.count, have.data),
               *kind = scalars ? "scalar" : "buffer";
    if (scalars && binding_find(b, name))
        text_printf(&fix, "%s is a buffer: give it with --in %s=SPEC", name, name);
    else if (!scalars && is_scalar(b, name))
        text_printf(&fix, "%s is a scalar: give it with --set %s=VALUE", name, name);
    else if (have.count) {
        if (near) text_printf(&fix, "did you mean %s? ", near);
        text_printf(&fix, "its %ss are: ", kind), text_join(&fix, have.data, have.count);
    } else
        text_printf(&fix, "it has no %s", kind);
    if (!ok || fix.failed)
        fail_memory(d);
    else
        fail(d, TOOL_USAGE, fix.data, "%s %s: %s has no %s of that name", option, name,
             runnable_name(b->what), kind);
    names_free(&have);
    text_free(&fix);
    return false;
}

bool binding_set(binding *b, const names *assignments, vy_diag *d)
{
    for (uint32_t i = 0; i < assignments->count; i++) {
        const char *word = assignments->data[i], *equals = strchr(word, '=');
        if (!equals || equals == word)
            return fail(d, TOOL_USAGE, NULL, "--set %s: expected NAME=VALUE", word);
        bound_scalar *s = NULL;
        for (uint32_t k = 0; k < b->scalar_count && !s; k++) {
            const char *name = b->scalars[k].info.name;
            if (strlen(name) == (size_t)(equals - word) && !strncmp(name, word, strlen(name)))
                s = &b->scalars[k];
        }
        if (!s) {
            char name[80];
            snprintf(name, sizeof name, "%.*s", equals - word > 79 ? 79 : (int)(equals - word),
                     word);
            return no_such(b, "--set", name, true, d);
        }
        if (s->known) return fail(d, TOOL_USAGE, "", "--set gives %s twice", s->info.name);
        vy_type type = b->f64 && vy_type_is_float(s->info.type) ? VY_F64 : s->info.type;
        const char *why = number_parse(type, equals + 1, strlen(equals + 1), &s->value);
        if (why)
            return fail(d, TOOL_DATA, "", "--set %s: %s (%s is %s)", word, why, s->info.name,
                        vy_type_name(s->info.type));
        s->known = true;
    }
    return true;
}

// ------------------------------------------------------------------------------------------- buffers
// What a SPEC says about the shape of its buffer.
static bool take_shape(bound_buffer *buf, vy_diag *d)
{
    spec *s = buf->given;
    const uint32_t rank = buf->info.rank;
    uint64_t count = 0;
    if (spec_has_count(s) && !spec_count(s, buf->info.type, &count, d)) return false;
    if (s->has_shape) {
        if (s->rank != rank)
            return fail(d, TOOL_SHAPE, "", "%s has %u axes, but %u are given", buf->info.name, rank,
                        s->rank);
        memcpy(buf->value.shape, s->shape, sizeof s->shape);
        buf->state = SHAPE_FULL;
        return true;
    }
    if (!spec_has_count(s)) return true;
    // A file of the same rank has its own shape; anything else of rank 0 or 1 is taken as flat.
    if (s->kind == SPEC_NPY && s->file.rank == rank) {
        memcpy(buf->value.shape, s->file.shape, sizeof s->file.shape);
        buf->state = SHAPE_FULL;
        return true;
    }
    if (s->kind == SPEC_NPY && s->file.rank > 1)
        return fail(d, TOOL_SHAPE, "reshape it, or make it flat", "%s has %u axes, but %s has %u",
                    buf->info.name, rank, s->text, s->file.rank);
    buf->flat = count;
    buf->value.shape[0] = count;
    buf->state = rank == 1 ? SHAPE_FULL : SHAPE_FLAT;
    return true;
}

bool binding_specs(binding *b, specs *in, const char *fallback, vy_diag *d)
{
    for (uint32_t i = 0; i < in->count; i++) {
        spec *s = &in->data[i];
        bound_buffer *buf = binding_find(b, s->name);
        if (!buf) return no_such(b, "--in", s->name, false, d);
        if (buf->info.cls == VY_OUT && (s->kind != SPEC_CONST || strcmp(s->text, "0")))
            return fail(d, TOOL_DATA, "give only its shape: NAME[2,3]=zeros",
                        "%s is an `out` buffer: it starts as zeros", s->name);
        buf->given = s;
    }
    char assumed[80];
    snprintf(assumed, sizeof assumed, "fallback=%s", fallback ? fallback : "");
    if (fallback && !spec_parse(&b->fallback, "--in", assumed, d)) return false;
    for (uint32_t i = 0; i < b->buffer_count; i++) {
        bound_buffer *buf = &b->buffers[i];
        const bool needs = !buf->given && buf->info.cls != VY_OUT;
        if (needs && !fallback) {
            char fix[200];
            snprintf(fix, sizeof fix, "add --in %.80s=SPEC, for example --in %.80s=ones",
                     buf->info.name, buf->info.name);
            return fail(d, TOOL_MISSING, fix, "buffer %s has no data", buf->info.name);
        }
        if (needs && vy_type_is_float(buf->info.type)) buf->given = &b->fallback;
        if (buf->given && !take_shape(buf, d)) return false;
    }
    return true;
}

bool binding_tape(binding *b, uint64_t limit, vy_diag *d)
{
    uint64_t total = 0;
    if (!limit) limit = (uint64_t)1 << 30;
    b->limit = limit;
    // Of a pipeline, what is known before it runs; the run counts again.
    for (uint32_t i = 1; i <= vy_program_buffer_count(b->program); i++) {
        const vy_buffer_info info = vy_program_buffer(b->program, (vy_buffer){i});
        if (!info.workspace) continue;
        uint64_t bytes = vy_type_size(info.type);
        for (uint32_t k = 0; k < info.rank; k++) {
            const uint32_t dim = info.dims[k].id;
            const bool known = b->dim_states[dim] == VY_DIM_IS_KNOWN && b->dims[dim] >= 0;
            if (!known && b->what.pipeline) bytes = 0;
            if (!bytes) break;
            if (!known || __builtin_mul_overflow(bytes, (uint64_t)b->dims[dim], &bytes))
                bytes = UINT64_MAX; // the run says what is wrong with the shape
            if (bytes == UINT64_MAX) break;
        }
        if (__builtin_add_overflow(total, bytes, &total)) total = UINT64_MAX;
    }
    b->kept = total;
    return total <= limit ||
           fail(d, TOOL_TAPE, NULL, "the reverse keeps %llu bytes on tapes; the limit is %llu",
                (unsigned long long)total, (unsigned long long)limit);
}
