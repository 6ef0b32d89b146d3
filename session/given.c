// SPDX-License-Identifier: MIT
// given.c: the data of a task: buffers, scalars, numbers of workgroups.
//
// Everything is kept until the run, because shapes can be compared only when all are known.
#include "session/task.h"

#include "session/internal.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

void vys_given_free(vys_given *g)
{
    vkrt_storage_destroy(g->storage);
    free(g->name);
    free(g->data);
    *g = (vys_given){0};
}

vys_given *vys_task_given(const vys_task *t, const char *name)
{
    for (uint32_t i = 0; i < t->given_count; i++)
        if (!strcmp(t->given[i].name, name)) return &t->given[i];
    return NULL;
}

// The entry for a buffer, made if there is none; NULL: memory.
static vys_given *entry(vys_task *t, const char *name)
{
    vys_given *g = vys_task_given(t, name);
    if (g) return g;
    vys_given *more = realloc(t->given, (t->given_count + 1) * sizeof *more);
    if (!more) return NULL;
    t->given = more;
    g = &more[t->given_count];
    *g = (vys_given){.name = malloc(strlen(name) + 1)};
    if (!g->name) return NULL;
    strcpy(g->name, name);
    t->given_count++;
    return g;
}

// ----------------------------------------------------------------------------------------- buffers
// The program's own, else a cotangent; gradients are results.
static const vys_bound *settable(const vys_task *t, const char *name, bool bound, vy_diag *d)
{
    const vys_bound *b = vys_binding_find(&t->forward, name);
    if (!b) b = vys_binding_buffer(&t->data, "", name, d);
    if (!b || bound || b->info.cls != VY_OUT || vys_binding_find(&t->forward, name)) return b;
    vys_fail(d, VYS_DATA, "read it after the run", "%s is a gradient: it is a result", name);
    return NULL;
}

// The type in which elements of this buffer are kept.
static bool kept_type(const vys_task *t, const vys_bound *b, vy_type given, vy_type *kept,
                      vy_diag *d)
{
    const bool real = vy_type_is_float(b->info.type);
    *kept = real && t->work.settings.f64 ? VY_F64 : b->info.type;
    if (given == b->info.type || given == *kept) return true;
    return vys_fail(d, VYS_DATA, "convert the elements", "%s is %s, but %s is given", b->info.name,
                    vy_type_name(b->info.type), vy_type_name(given));
}

static void convert(vy_type from, const void *in, vy_type to, void *out, uint64_t count)
{
    const uint32_t a = vy_type_size(from), b = vy_type_size(to);
    if (from == to && count) memcpy(out, in, count * a);
    for (uint64_t i = 0; from != to && i < count; i++)
        vy_scalar_write(to, vy_scalar_read(from, (const char *)in + i * a), (char *)out + i * b);
}

// `what` holds type, shape and count.
static bool keep(vys_task *t, const vys_bound *b, vys_given what, vy_type from, const void *data,
                 vy_diag *d)
{
    vys_given *g = vys_task_given(t, b->info.name);
    const bool same = g && g->state == what.state && g->flat == what.flat && !g->data == !data &&
                      g->storage == what.storage && g->offset == what.offset &&
                      !memcmp(g->shape, what.shape, sizeof g->shape);
    if (!same) { // else the new elements replace the old ones in place
        vys_array copy = {.rank = 1, .shape = {what.count}};
        if (data && !vys_array_alloc(&copy, b->info.name, what.type, d)) return false;
        if (!g) g = entry(t, b->info.name);
        if (!g) {
            vys_array_free(&copy);
            return vys_fail_memory(d);
        }
        what.name = g->name;
        what.data = copy.data;
        if (what.storage) vkrt_storage_share(what.storage);
        vkrt_storage_destroy(g->storage);
        free(g->data);
        *g = what;
        t->moved = true;
    }
    if (data) convert(from, data, g->type, g->data, g->count);
    g->fresh = true;
    return true;
}

static bool take_given(vys_task *t, const char *name, vy_type type, vys_given what, uint32_t rank,
                       const void *data, vy_diag *d)
{
    if (d->severity == VY_ERROR) return false;
    const vys_bound *b = settable(t, name, what.storage != NULL, d);
    if (!b || !kept_type(t, b, type, &what.type, d)) return false;
    if (what.state == VYS_SHAPE_FULL && rank != b->info.rank)
        return vys_fail(d, VYS_SHAPE, "", "%s has %u axes, but %u are given", name, b->info.rank,
                        rank);
    if (what.state == VYS_SHAPE_FLAT && b->info.rank == 1) {
        what.state = VYS_SHAPE_FULL;
        what.shape[0] = what.count;
    }
    if (b->info.cls == VY_OUT && data)
        return vys_fail(d, VYS_DATA, "give only its shape: no data",
                        "%s is an `out` buffer: it starts as zeros", name);
    return keep(t, b, what, type, data, d);
}

static bool shaped(const char *name, uint32_t rank, const uint64_t *shape, vys_given *what,
                   vy_diag *d)
{
    bool empty = false;
    *what = (vys_given){.state = VYS_SHAPE_FULL, .count = 1};
    if (d->severity == VY_ERROR) return false;
    if (rank > VYS_MAX_RANK)
        return vys_fail(d, VYS_SHAPE, "", "%s: %u axes are more than any buffer has", name, rank);
    for (uint32_t i = 0; i < rank; i++) {
        what->shape[i] = shape[i];
        empty |= !shape[i];
        if (shape[i] && __builtin_mul_overflow(what->count, shape[i], &what->count))
            return vys_fail(d, VYS_SHAPE, "make it smaller",
                            "%s has more elements than 64 bits can count", name);
    }
    if (empty) what->count = 0;
    return true;
}

bool vys_set(vys_task *t, const char *name, vy_type type, uint32_t rank, const uint64_t *shape,
             const void *data, vy_diag *d)
{
    vys_given what;
    return shaped(name, rank, shape, &what, d) && take_given(t, name, type, what, rank, data, d);
}

// What was set for a buffer, or bound to it, is so no longer.
static bool forget(vys_task *t, const char *name, vy_diag *d)
{
    if (!vys_binding_find(&t->forward, name) && !vys_binding_buffer(&t->data, "", name, d))
        return false;
    vys_given *g = vys_task_given(t, name);
    if (!g) return true;
    vys_given_free(g);
    *g = t->given[--t->given_count];
    t->moved = true;
    return true;
}

bool vys_bind(vys_task *t, const char *name, vy_type type, uint32_t rank, const uint64_t *shape,
              vkrt_storage *storage, uint64_t offset, vy_diag *d)
{
    vys_given what;
    if (d->severity == VY_ERROR) return false;
    if (t->work.settings.interpreter)
        return vys_fail(d, VYS_USAGE, "open the session on a device",
                        "%s: the interpreter has no storages", name);
    if (!storage) return forget(t, name, d);
    if (!shaped(name, rank, shape, &what, d)) return false;
    what.storage = storage;
    what.offset = offset;
    return take_given(t, name, type, what, rank, NULL, d);
}

bool vys_set_flat(vys_task *t, const char *name, vy_type type, uint64_t count, const void *data,
                  vy_diag *d)
{
    const vys_given what = {.state = VYS_SHAPE_FLAT, .flat = count, .count = count};
    return take_given(t, name, type, what, 1, data, d);
}

bool vys_task_zeros(vys_task *t, const char *name, vy_diag *d)
{
    const vys_given what = {.state = VYS_SHAPE_NONE};
    const vys_bound *b = vys_binding_buffer(&t->forward, "", name, d);
    return b && take_given(t, name, b->info.type, what, b->info.rank, NULL, d);
}

// ----------------------------------------------------------------------------------------- scalars
static bool put(vys_task *t, const vys_bound_scalar *s, vy_scalar value)
{
    const ptrdiff_t i = s - t->forward.scalars;
    const bool same = t->scalar_given[i] && t->scalars[i].u == value.u;
    t->scalar_given[i] = true;
    t->scalars[i] = value;
    t->moved |= !same;
    return true;
}

static bool no_value(const vys_bound_scalar *s, const char *value, vy_diag *d)
{
    return vys_fail(d, VYS_DATA, "", "%s is %s, which does not have the value %s", s->info.name,
                    vy_type_name(s->info.type), value);
}

bool vys_set_int(vys_task *t, const char *name, int64_t value, vy_diag *d)
{
    if (d->severity == VY_ERROR) return false;
    const vys_bound_scalar *s = vys_binding_scalar(&t->forward, "", name, d);
    if (!s) return false;
    const vy_type type = s->info.type;
    const unsigned bits = 8 * vy_type_size(type);
    char text[40] = "";
    vys_append(text, sizeof text, "%lld", (long long)value);
    if (vy_type_is_float(type)) {
        const double real = vy_round_to(type, (double)value);
        if ((int64_t)(double)value != value || real != (double)value) return no_value(s, text, d);
        return put(t, s, (vy_scalar){.f = real});
    }
    const bool fits = type == VY_BOOL           ? value == 0 || value == 1
                      : vy_type_is_signed(type) ? value >> (bits - 1) == value >> 63
                      : value >= 0 && bits < 64 ? (uint64_t)value >> bits == 0
                                                : value >= 0;
    return fits ? put(t, s, (vy_scalar){.i = value}) : no_value(s, text, d);
}

bool vys_set_float(vys_task *t, const char *name, double value, vy_diag *d)
{
    if (d->severity == VY_ERROR) return false;
    const vys_bound_scalar *s = vys_binding_scalar(&t->forward, "", name, d);
    if (!s) return false;
    if (vy_type_is_float(s->info.type))
        return put(t, s,
                   (vy_scalar){.f = t->work.settings.f64 ? value
                                                         : vy_round_to(s->info.type, value)});
    if (value == floor(value) && fabs(value) < 0x1p62) // a whole number is one
        return vys_set_int(t, name, (int64_t)value, d);
    char text[40] = "";
    vys_append(text, sizeof text, "%.9g", value);
    return no_value(s, text, d);
}

bool vys_set_groups(vys_task *t, const uint32_t groups[3], vy_diag *d)
{
    if (d->severity == VY_ERROR) return false;
    for (int i = 0; i < 3; i++)
        if (groups[i] == 0)
            return vys_fail(d, VYS_USAGE, "launch one workgroup or more along each axis",
                            "workgroups: three counts from 1 up are expected");
    if (!vys_binding_takes_groups(&t->forward)) return vys_binding_groups(&t->forward, groups, d);
    memcpy(t->groups, groups, sizeof t->groups);
    t->has_groups = t->moved = true;
    return true;
}
