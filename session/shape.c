// SPDX-License-Identifier: MIT
// shape.c: scalars and shapes from one another.
//
// A scalar that is an entire dimension gets its value from a bound shape (docs/language.md 3.2).
// Flat data has only a count, which decides an axis when all others are known; so inference runs to
// a fixpoint, then every shape is computed from its declaration and compared.
#include "session/bind.h"

#include "session/internal.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static void say_source(const vys_binding *b, const vys_bound_scalar *s, char *out, size_t size)
{
    if (s->from)
        snprintf(out, size, "%.80s (axis %u)", s->from->info.name, s->axis);
    else
        snprintf(out, size, "%s", s->chosen ? "choice" : b->words->given);
}

// Whether an extent is a value of an integer type.
static bool fits(vy_type type, uint64_t extent)
{
    const unsigned bits = 8 * vy_type_size(type) - vy_type_is_signed(type);
    return vy_type_is_integer(type) && extent <= UINT64_MAX >> (64 - bits);
}

// Scalar `index` is `extent`, says an axis of a buffer.
static bool note(vys_binding *b, uint32_t index, uint64_t extent, const vys_bound *buf,
                 uint32_t axis, bool *changed, vy_diag *d)
{
    vys_bound_scalar *s = &b->scalars[index];
    const char *name = s->info.name;
    char source[120];
    if (!fits(s->info.type, extent))
        return vys_fail(d, VYS_SHAPE, "", "axis %u of %s is %llu long, which does not fit %s %s",
                        axis, buf->info.name, (unsigned long long)extent,
                        vy_type_name(s->info.type), name);
    if (!s->known) {
        *s = (vys_bound_scalar){s->info, true, false, {.u = extent}, buf, axis};
        *changed = true;
        return true;
    }
    if (s->value.u == extent) return true;
    say_source(b, s, source, sizeof source);
    return vys_fail(d, VYS_SHAPE, "", "%s is %lld by %s, but %llu by %s (axis %u)", name,
                    (long long)s->value.i, source, (unsigned long long)extent, buf->info.name,
                    axis);
}

static void refresh(vys_binding *b)
{
    for (uint32_t i = 0; i < b->scalar_count; i++) {
        const vys_bound_scalar *s = &b->scalars[i];
        b->known[i] = s->known && vy_type_is_integer(s->info.type);
        b->values[i] = s->value.i;
    }
    vy_program_dim_values(b->program, b->values, b->known, b->lengths, b->groups, b->dims,
                          b->dim_states);
}

static void note_length(vys_binding *b, const vys_bound *buf)
{
    const uint32_t id = vy_program_find_buffer(b->program, buf->info.name).id;
    if (buf->info.rank) b->lengths[id] = (int64_t)buf->value.shape[0];
}

// Optimising renumbers buffers: local arrays go behind the parameters that differentiation declares
// after them (ir/pass/scalar/dead_arrays.c).
static bool renumber(vys_binding *b)
{
    const size_t n = (size_t)vy_program_buffer_count(b->program) + 1;
    uint32_t *now = realloc(b->now, n * sizeof *now);
    if (now) b->now = now;
    int64_t *lengths = realloc(b->lengths, n * sizeof *lengths);
    if (lengths) b->lengths = lengths;
    if (!now || !lengths) return false;
    for (size_t i = 0; i < n; i++) {
        now[i] = 0;
        lengths[i] = -1;
    }
    for (uint32_t i = 0; i < b->buffer_count; i++) {
        const vys_bound *buf = &b->buffers[i];
        now[vy_program_find_buffer(b->program, buf->info.name).id] = i + 1;
        if (buf->state == VYS_SHAPE_FULL) note_length(b, buf);
    }
    now[0] = 0;
    return true;
}

bool vys_binding_refresh(vys_binding *b, vy_diag *d)
{
    const size_t n = (size_t)vy_program_dim_count(b->program) + 1;
    int64_t *dims = realloc(b->dims, n * sizeof *dims);
    if (dims) b->dims = dims;
    vy_dim_state *states = realloc(b->dim_states, n * sizeof *states);
    if (states) b->dim_states = states;
    if (!dims || !states || !renumber(b)) return vys_fail_memory(d);
    refresh(b);
    return true;
}

static bool bad_dimension(const vys_bound *buf, uint32_t axis, vy_diag *d)
{
    return vys_fail(d, VYS_SHAPE, "look at the scalars given",
                    "axis %u of %s cannot be computed: overflow or division by zero", axis,
                    buf->info.name);
}

// Flat data decides the one axis that is not known yet.
static bool infer_flat(vys_binding *b, const vys_bound *buf, bool *changed, vy_diag *d)
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
        return vys_fail(d, VYS_SHAPE, "",
                        "%s has %llu elements, which is not a multiple of the %llu of one row",
                        buf->info.name, (unsigned long long)buf->flat, (unsigned long long)rest);
    return note(b, (uint32_t)scalar, buf->flat / rest, buf, (uint32_t)open, changed, d);
}

// Infers shapes and scalars from the known ones.
bool vys_binding_infer_some(vys_binding *b, vy_diag *d)
{
    bool changed = true;
    while (changed) {
        bool stale = true; // the dimensions
        changed = false;
        for (uint32_t i = 0; i < b->buffer_count; i++) {
            const vys_bound *buf = &b->buffers[i];
            bool more = false;
            if (buf->state == VYS_SHAPE_FLAT) {
                if (stale) refresh(b);
                stale = false;
                if (!infer_flat(b, buf, &more, d)) return false;
            }
            for (uint32_t axis = 0; buf->state == VYS_SHAPE_FULL && axis < buf->info.rank; axis++) {
                const int s = vy_program_dim_scalar(b->program, buf->info.dims[axis]);
                if (s >= 0 && !note(b, (uint32_t)s, buf->value.shape[axis], buf, axis, &more, d))
                    return false;
            }
            stale |= more;
            changed |= more;
        }
    }
    refresh(b);
    return true;
}

static bool has_flat(const vys_binding *b)
{
    for (uint32_t i = 0; i < b->buffer_count; i++)
        if (b->buffers[i].state == VYS_SHAPE_FLAT) return true;
    return false;
}

// Whether the length of a flat buffer will decide this scalar: any other choice contradicts it.
static bool awaited(const vys_binding *b, uint32_t scalar)
{
    for (uint32_t i = 0; i < b->buffer_count; i++)
        for (uint32_t axis = 0; axis < b->buffers[i].info.rank; axis++)
            if (b->buffers[i].state == VYS_SHAPE_FLAT &&
                vy_program_dim_scalar(b->program, b->buffers[i].info.dims[axis]) == (int)scalar)
                return true;
    return false;
}

// Are the extents of its other axes known?  Sets them.
static bool rest_known(const vys_binding *b, vys_bound *buf)
{
    for (uint32_t axis = 1; axis < buf->info.rank; axis++) {
        const uint32_t id = buf->info.dims[axis].id;
        if (b->dim_states[id] != VY_DIM_IS_KNOWN || b->dims[id] < 0) return false;
        buf->value.shape[axis] = (uint64_t)b->dims[id];
    }
    return true;
}

// The first extent of data that is given without a shape, from the other ones.
static bool flat_extent(const vys_binding *b, const vys_bound *like, int64_t *extent)
{
    uint64_t row = 1;
    for (uint32_t axis = 1; axis < like->info.rank; axis++) {
        const int64_t n = b->dims[like->info.dims[axis].id];
        if (b->dim_states[like->info.dims[axis].id] != VY_DIM_IS_KNOWN || n < 1 ||
            __builtin_mul_overflow(row, (uint64_t)n, &row))
            return false;
    }
    *extent = (int64_t)(like->flat / row); // settle finds out if some elements are left
    return true;
}

// The first extent of a buffer that has one.
static bool length_of(const vys_binding *b, const vys_bound *like, int64_t *extent)
{
    if (like->state == VYS_SHAPE_FLAT) return flat_extent(b, like, extent);
    if (like->state == VYS_SHAPE_FULL) *extent = (int64_t)like->value.shape[0];
    return like->state == VYS_SHAPE_FULL;
}

// What a buffer begins as a copy of, if that is as long since its other axes are the same; or NULL.
static const vys_bound *start_of(const vys_binding *b, const vys_bound *buf)
{
    const bool copy = buf->info.init == VY_INIT_COPY;
    const vys_bound *from = copy ? vys_binding_find(b, buf->info.init_from) : NULL;
    for (uint32_t axis = 1; from && axis < buf->info.rank; axis++) {
        const uint32_t x = from->info.dims[axis].id, y = buf->info.dims[axis].id;
        const bool known =
            b->dim_states[x] == VY_DIM_IS_KNOWN && b->dim_states[y] == VY_DIM_IS_KNOWN;
        if (!known || b->dims[x] != b->dims[y]) from = NULL;
    }
    return from;
}

// The length of a buffer declared with `?` about which nothing is given.
static uint64_t choose_length(const vys_binding *b, const vys_bound *buf)
{
    const vys_bound *from = start_of(b, buf);
    int64_t extent;
    if (from && length_of(b, from, &extent)) return (uint64_t)extent;
    return b->chosen_length ? b->chosen_length : VYS_CHOSEN_LENGTH;
}

bool vys_binding_choose(vys_binding *b, vys_choose choose, void *user, vy_diag *d)
{
    const bool flat = has_flat(b); // only then can a choice decide other scalars
    if (!vys_binding_infer_some(b, d)) return false;
    for (uint32_t i = 0; i < b->scalar_count; i++) {
        if (flat && !vys_binding_infer_some(b, d)) return false;
        if (b->scalars[i].known || (flat && awaited(b, i))) continue;
        b->scalars[i].value = choose(user, b, i);
        b->scalars[i].known = b->scalars[i].chosen = true;
    }
    if (!vys_binding_infer_some(b, d)) return false;
    for (uint32_t i = 0; i < b->buffer_count; i++) {
        vys_bound *buf = &b->buffers[i];
        if (buf->state != VYS_SHAPE_NONE || buf->info.rank == 0 || !rest_known(b, buf)) continue;
        vy_dim_state s = b->dim_states[buf->info.dims[0].id];
        if (s != VY_DIM_IS_OPEN || vy_program_dim_scalar(b->program, buf->info.dims[0]) >= 0)
            continue;
        buf->value.shape[0] = choose_length(b, buf);
        buf->chosen_length = true;
        buf->state = VYS_SHAPE_FULL;
    }
    return true;
}

bool vys_binding_infer(vys_binding *b, vy_diag *d)
{
    if (!vys_binding_infer_some(b, d)) return false;
    for (uint32_t i = 0; i < b->scalar_count; i++) {
        if (b->scalars[i].known) continue;
        char fix[200] = "";
        const char *name = b->scalars[i].info.name;
        vys_append(fix, sizeof fix, "%s%.100s%s", b->words->scalar[0], name, b->words->scalar[1]);
        return vys_fail(d, VYS_MISSING, fix, "scalar %s has no value, and no shape decides it",
                        name);
    }
    return true;
}

static bool wrong_shape(const vys_binding *b, const vys_bound *buf, const uint64_t *want,
                        vy_diag *d)
{
    char have[sizeof d->text] = "", need[sizeof d->text] = "";
    if (buf->state == VYS_SHAPE_FLAT) {
        vys_append(have, sizeof have, "%llu elements", (unsigned long long)buf->flat);
    } else {
        vys_append(have, sizeof have, "shape ");
        vys_append_shape(have, sizeof have, buf->info.rank, buf->value.shape);
    }
    vys_append_shape(need, sizeof need, buf->info.rank, want);
    for (uint32_t i = 0, n = 0; i < b->scalar_count; i++) {
        const vys_bound_scalar *s = &b->scalars[i];
        char source[120];
        if (!vy_type_is_integer(s->info.type)) continue;
        say_source(b, s, source, sizeof source);
        vys_append(need, sizeof need, "%s%s = %lld by %s", n++ ? ", " : ", with ", s->info.name,
                   (long long)s->value.i, source);
    }
    return vys_fail(d, VYS_SHAPE, "", "%s has %s, but its declaration says %s", buf->info.name,
                    have, need);
}

// Length of a buffer declared with `?`: of one with more dimensions the first.
static bool open_extent(const vys_binding *b, const vys_bound *buf, int64_t *extent, vy_diag *d)
{
    const char *name = buf->info.name;
    const vys_bound *like = buf;
    if (buf->state == VYS_SHAPE_NONE)
        like = vys_binding_base(b, &buf->info); // a gradient is as long as its buffer
    if (!like) like = start_of(b, buf);
    if (like && length_of(b, like, extent)) return true;
    char fix[200] = "";
    const char *const *w = b->words->length;
    vys_append(fix, sizeof fix, "%s%.80s%s", w[0], name, w[buf->info.cls == VY_OUT ? 2 : 1]);
    return vys_fail(d, VYS_SHAPE, fix, "nothing says how long %s is", name);
}

// Computes the shape by the declaration and compares it with what was given.
static bool settle(vys_binding *b, vys_bound *buf, vy_diag *d)
{
    uint64_t want[VYS_MAX_RANK] = {0}, count = 1;
    for (uint32_t axis = 0; axis < buf->info.rank; axis++) {
        int64_t extent = b->dims[buf->info.dims[axis].id];
        const vy_dim_state s = b->dim_states[buf->info.dims[axis].id];
        if (s == VY_DIM_IS_BAD) return bad_dimension(buf, axis, d);
        if (s == VY_DIM_IS_OPEN && !open_extent(b, buf, &extent, d)) return false;
        if (extent < 0)
            return vys_fail(d, VYS_SHAPE, "look at the scalars given",
                            "axis %u of %s would be %lld long", axis, buf->info.name,
                            (long long)extent);
        want[axis] = (uint64_t)extent;
        if (want[axis] && __builtin_mul_overflow(count, want[axis], &count)) count = UINT64_MAX;
        if (!want[axis]) count = 0;
    }
    const bool differs = buf->state == VYS_SHAPE_FLAT
                             ? buf->flat != count
                             : buf->state == VYS_SHAPE_FULL &&
                                   memcmp(want, buf->value.shape, buf->info.rank * sizeof *want);
    if (differs) return wrong_shape(b, buf, want, d);
    memcpy(buf->value.shape, want, sizeof want);
    buf->value.count = count;
    buf->state = VYS_SHAPE_FULL;
    return true;
}

static bool allocate(const vys_binding *b, vys_bound *buf, vy_diag *d)
{
    const bool wide = b->f64 && vy_type_is_float(buf->info.type);
    return vys_array_alloc(&buf->value, buf->info.name, wide ? VY_F64 : buf->info.type, d);
}

static void fill_ones(const vys_array *a)
{
    const uint32_t size = vy_type_size(a->type);
    const vy_scalar one = vy_type_is_float(a->type) ? (vy_scalar){.f = 1} : (vy_scalar){.i = 1};
    for (uint64_t i = 0; i < a->count; i++)
        vy_scalar_write(a->type, one, (char *)a->data + i * size);
}

bool vys_binding_settle(vys_binding *b, vy_diag *d)
{
    if (!vys_binding_infer(b, d)) return false;
    for (uint32_t i = 0; i < b->buffer_count; i++) {
        vys_bound *buf = &b->buffers[i];
        if (!settle(b, buf, d)) return false;
        buf->value.rank = buf->info.rank;
        note_length(b, buf);
    }
    refresh(b); // dimensions that are the length of a parameter
    return true;
}

bool vys_binding_fill(vys_binding *b, vy_diag *d)
{
    if (!vys_binding_settle(b, d)) return false;
    for (uint32_t i = 0; i < b->buffer_count; i++) {
        vys_bound *buf = &b->buffers[i];
        const bool in = buf->info.cls != VY_OUT; // of an output only the shape can be given
        if (buf->borrowed) continue;
        if (!allocate(b, buf, d)) return false;
        if (in && buf->given && !b->fill(buf, d)) return false;
        if (in && !buf->given && buf->ones) fill_ones(&buf->value);
    }
    return true;
}
