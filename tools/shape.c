// SPDX-License-Identifier: MIT
// shape.c: scalars and shapes from one another.
//
// A scalar that is a whole dimension gets its value from a bound shape (LANGUAGE 1.2).  Flat data
// has only a count, which decides an axis when all others are known; so inference repeats until
// nothing new is found, then every shape is computed from its declaration and compared.
#include "tools/bind.h"
#include "tools/number.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static void say_source(const bound_scalar *s, char *out, size_t size)
{
    if (s->from)
        snprintf(out, size, "%.80s (axis %u)", s->from->info.name, s->axis);
    else
        snprintf(out, size, s->chosen ? "choice" : "--set");
}

// Scalar `index` is `extent`, says an axis of a buffer.
static bool note(binding *b, uint32_t index, uint64_t extent, const bound_buffer *buf,
                 uint32_t axis, bool *changed, vy_diag *d)
{
    bound_scalar *s = &b->scalars[index];
    const char *name = s->info.name;
    char number[NUMBER_TEXT], source[120];
    vy_scalar value;
    snprintf(number, sizeof number, "%llu", (unsigned long long)extent);
    if (number_parse(s->info.type, number, strlen(number), &value))
        return fail(d, TOOL_SHAPE, "", "axis %u of %s is %s long, which does not fit %s %s", axis,
                    buf->info.name, number, vy_type_name(s->info.type), name);
    if (!s->known) {
        *s = (bound_scalar){s->info, true, false, value, buf, axis};
        *changed = true;
        return true;
    }
    if (s->value.u == value.u) return true;
    say_source(s, source, sizeof source);
    char before[NUMBER_TEXT];
    number_text(s->info.type, s->value, before);
    return fail(d, TOOL_SHAPE, "", "%s is %s by %s, but %s by %s (axis %u)", name, before, source,
                number, buf->info.name, axis);
}

static void refresh(binding *b)
{
    for (uint32_t i = 0; i < b->scalar_count; i++) {
        const bound_scalar *s = &b->scalars[i];
        b->known[i] = s->known && vy_type_is_integer(s->info.type);
        b->values[i] = s->value.i;
    }
    vy_program_dim_values(b->program, b->values, b->known, b->lengths, b->groups, b->dims,
                          b->dim_states);
}

bool binding_refresh(binding *b, vy_diag *d)
{
    const size_t n = (size_t)vy_program_dim_count(b->program) + 1;
    int64_t *dims = realloc(b->dims, n * sizeof *dims);
    if (dims) b->dims = dims;
    vy_dim_state *states = realloc(b->dim_states, n * sizeof *states);
    if (states) b->dim_states = states;
    if (!dims || !states) return fail_memory(d);
    refresh(b);
    return true;
}

static bool bad_dimension(const bound_buffer *buf, uint32_t axis, vy_diag *d)
{
    return fail(d, TOOL_SHAPE, "look at the scalars given",
                "axis %u of %s cannot be computed: overflow or division by zero", axis,
                buf->info.name);
}

// Flat data decides the one axis that is not known yet.
static bool infer_flat(binding *b, const bound_buffer *buf, bool *changed, vy_diag *d)
{
    uint64_t rest = 1;
    int open = -1;
    for (uint32_t axis = 0; axis < buf->info.rank; axis++) {
        const int64_t extent = b->dims[buf->info.dims[axis].id];
        const vy_dim_state s = b->dim_states[buf->info.dims[axis].id];
        if (s == VY_DIM_IS_BAD) return bad_dimension(buf, axis, d);
        if (s == VY_DIM_IS_OPEN && open >= 0) return true; // two are: later, perhaps
        if (s == VY_DIM_IS_OPEN)
            open = (int)axis;
        else if (extent < 0 || __builtin_mul_overflow(rest, (uint64_t)extent, &rest))
            return true;
    }
    if (open < 0 || rest == 0) return true;
    const int scalar = vy_program_dim_scalar(b->program, buf->info.dims[open]);
    if (scalar < 0) return true;
    if (buf->flat % rest)
        return fail(d, TOOL_SHAPE, "",
                    "%s has %llu elements, which is no multiple of the %llu of one row",
                    buf->info.name, (unsigned long long)buf->flat, (unsigned long long)rest);
    return note(b, (uint32_t)scalar, buf->flat / rest, buf, (uint32_t)open, changed, d);
}

// What the known shapes and scalars say about the others.
bool binding_infer_some(binding *b, vy_diag *d)
{
    bool changed = true;
    while (changed) {
        changed = false;
        for (uint32_t i = 0; i < b->buffer_count; i++) {
            const bound_buffer *buf = &b->buffers[i];
            refresh(b);
            if (buf->state == SHAPE_FLAT && !infer_flat(b, buf, &changed, d)) return false;
            for (uint32_t axis = 0; buf->state == SHAPE_FULL && axis < buf->info.rank; axis++) {
                const int s = vy_program_dim_scalar(b->program, buf->info.dims[axis]);
                if (s >= 0 && !note(b, (uint32_t)s, buf->value.shape[axis], buf, axis, &changed, d))
                    return false;
            }
        }
    }
    refresh(b);
    return true;
}

// Whether a flat buffer waits for this scalar: any choice but one would contradict its length.
static bool awaited(const binding *b, uint32_t scalar)
{
    for (uint32_t i = 0; i < b->buffer_count; i++)
        for (uint32_t axis = 0; axis < b->buffers[i].info.rank; axis++)
            if (b->buffers[i].state == SHAPE_FLAT &&
                vy_program_dim_scalar(b->program, b->buffers[i].info.dims[axis]) == (int)scalar)
                return true;
    return false;
}

bool binding_choose(binding *b, choose_scalar choose, void *user, vy_diag *d)
{
    for (uint32_t i = 0; i < b->scalar_count; i++) {
        if (!binding_infer_some(b, d)) return false;
        if (b->scalars[i].known || awaited(b, i)) continue;
        b->scalars[i].value = choose(user, b, i);
        b->scalars[i].known = b->scalars[i].chosen = true;
    }
    if (!binding_infer_some(b, d)) return false;
    for (uint32_t i = 0; i < b->buffer_count; i++) {
        bound_buffer *buf = &b->buffers[i];
        if (buf->state != SHAPE_NONE || buf->info.rank != 1) continue;
        vy_dim_state s = b->dim_states[buf->info.dims[0].id];
        if (s != VY_DIM_IS_OPEN || vy_program_dim_scalar(b->program, buf->info.dims[0]) >= 0)
            continue;
        buf->value.shape[0] = CHOSEN_LENGTH;
        buf->state = SHAPE_FULL;
    }
    return true;
}

bool binding_infer(binding *b, vy_diag *d)
{
    if (!binding_infer_some(b, d)) return false;
    for (uint32_t i = 0; i < b->scalar_count; i++) {
        if (b->scalars[i].known) continue;
        char fix[200];
        snprintf(fix, sizeof fix, "add --set %.100s=VALUE", b->scalars[i].info.name);
        return fail(d, TOOL_MISSING, fix, "scalar %s has no value, and no shape decides it",
                    b->scalars[i].info.name);
    }
    return true;
}

static bool wrong_shape(const binding *b, const bound_buffer *buf, const uint64_t *want, vy_diag *d)
{
    text have = {0}, need = {0};
    if (buf->state == SHAPE_FLAT)
        text_printf(&have, "%llu elements", (unsigned long long)buf->flat);
    else {
        text_puts(&have, "shape [");
        shape_text(buf->info.rank, buf->value.shape, &have);
        text_puts(&have, "]");
    }
    text_puts(&need, "[");
    shape_text(buf->info.rank, want, &need);
    text_puts(&need, "]");
    for (uint32_t i = 0, n = 0; i < b->scalar_count; i++) {
        const bound_scalar *s = &b->scalars[i];
        char source[120];
        if (!vy_type_is_integer(s->info.type)) continue;
        say_source(s, source, sizeof source);
        text_printf(&need, "%s%s = %lld by %s", n++ ? ", " : ", with ", s->info.name,
                    (long long)s->value.i, source);
    }
    if (have.failed || need.failed)
        fail_memory(d);
    else
        fail(d, TOOL_SHAPE, "", "%s has %s, but its declaration says %s", buf->info.name, have.data,
             need.data);
    text_free(&have);
    text_free(&need);
    return false;
}

// Length of a buffer declared with `?`.
static bool open_extent(const binding *b, const bound_buffer *buf, int64_t *extent, vy_diag *d)
{
    const char *name = buf->info.name;
    const bound_buffer *like = buf;
    if (buf->state == SHAPE_NONE)
        like = binding_base(b, name); // a gradient is as long as its buffer
    if (like && like->state == SHAPE_FULL) return *extent = (int64_t)like->value.shape[0], true;
    char fix[200];
    snprintf(fix, sizeof fix, "give it: --in %.80s[N]=%s", name,
             buf->info.cls == VY_OUT ? "zeros" : "SPEC");
    return fail(d, TOOL_SHAPE, fix, "nothing says how long %s is", name);
}

// Computes the shape by the declaration and compares it with what was given.
static bool settle(binding *b, bound_buffer *buf, vy_diag *d)
{
    uint64_t want[MAX_RANK] = {0}, count = 1;
    for (uint32_t axis = 0; axis < buf->info.rank; axis++) {
        int64_t extent = b->dims[buf->info.dims[axis].id];
        const vy_dim_state s = b->dim_states[buf->info.dims[axis].id];
        if (s == VY_DIM_IS_BAD) return bad_dimension(buf, axis, d);
        if (s == VY_DIM_IS_OPEN && !open_extent(b, buf, &extent, d)) return false;
        if (extent < 0)
            return fail(d, TOOL_SHAPE, "look at the scalars given",
                        "axis %u of %s would be %lld long", axis, buf->info.name,
                        (long long)extent);
        want[axis] = (uint64_t)extent;
        if (want[axis] && __builtin_mul_overflow(count, want[axis], &count)) count = UINT64_MAX;
        if (!want[axis]) count = 0;
    }
    const bool differs = buf->state == SHAPE_FLAT
                             ? buf->flat != count
                             : buf->state == SHAPE_FULL &&
                                   memcmp(want, buf->value.shape, buf->info.rank * sizeof *want);
    if (differs) return wrong_shape(b, buf, want, d);
    memcpy(buf->value.shape, want, sizeof want);
    buf->state = SHAPE_FULL;
    return true;
}

static bool allocate(const binding *b, bound_buffer *buf, vy_diag *d)
{
    const bool wide = b->f64 && vy_type_is_float(buf->info.type);
    buf->value.rank = buf->info.rank;
    return array_alloc(&buf->value, buf->info.name, wide ? VY_F64 : buf->info.type, d);
}

bool binding_fill(binding *b, vy_diag *d)
{
    if (!binding_infer(b, d)) return false;
    for (uint32_t i = 0; i < b->buffer_count; i++) {
        bound_buffer *buf = &b->buffers[i];
        const spec *s = buf->info.cls == VY_OUT ? NULL : buf->given; // of an output: its shape
        if (!settle(b, buf, d) || !allocate(b, buf, d)) return false;
        // `x[2,3]=1,2`: the count of a list or file and a shape given by hand
        uint64_t count = buf->value.count;
        if (s && spec_has_count(s) && !spec_count(buf->given, buf->info.type, &count, d))
            return false;
        if (count != buf->value.count)
            return fail(d, TOOL_SHAPE, "", "%s has %llu elements by its shape, but %llu are given",
                        buf->info.name, (unsigned long long)buf->value.count,
                        (unsigned long long)count);
        if (s && !spec_fill(buf->given, buf->info.type, &buf->value, d)) return false;
        const uint32_t id = vy_program_find_buffer(b->program, buf->info.name).id;
        if (buf->info.rank == 1) b->lengths[id] = (int64_t)buf->value.shape[0];
    }
    refresh(b); // dimensions that are as long as a parameter
    return true;
}
