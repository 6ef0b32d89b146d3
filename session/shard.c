// SPDX-License-Identifier: MIT
// shard.c: see shard.h; the measurement is in shard_check.c.
#include "session/shard.h"

#include "session/internal.h"

#include <string.h>

static bool is_named(const char *const *names, uint32_t count, const char *name)
{
    for (uint32_t i = 0; i < count; i++)
        if (!strcmp(names[i], name)) return true;
    return false;
}

static int rows_scalar(const vys_binding *b, const vys_bound *buf, uint32_t axis)
{
    return vy_program_dim_scalar(b->program, buf->info.dims[axis]);
}

static bool take_name(vys_shard *s, const vys_binding *b, uint32_t index, vy_diag *d)
{
    const char *name = s->names[index];
    const vys_bound *buf = vys_binding_buffer(b, "", name, d);
    if (!buf) return false;
    const int scalar = buf->info.rank ? rows_scalar(b, buf, 0) : -1;
    if (buf->info.cls != VY_IN)
        return vys_fail(d, VYS_USAGE, "name data", "%s cannot be cut into rows: it is no input",
                        name);
    if (scalar < 0)
        return vys_fail(d, VYS_USAGE, "declare it with a scalar: [N], [N, 3]",
                        "%s cannot be cut into rows: its first dimension is no scalar", name);
    if (index && (uint32_t)scalar != s->scalar)
        return vys_fail(d, VYS_USAGE, "name buffers whose first dimension is the same scalar",
                        "%s and %s are not cut alike: %s and %s count their rows", s->names[0],
                        name, b->scalars[s->scalar].info.name, b->scalars[scalar].info.name);
    s->scalar = (uint32_t)scalar;
    s->rows = buf->value.shape[0];
    return true;
}

// What has a row for each sample, but would keep all of them.
static bool is_left_out(const vys_shard *s, const vys_binding *b, const vys_bound *buf)
{
    if (buf->info.cls == VY_OUT || is_named(s->names, s->count, buf->info.name)) return false;
    for (uint32_t k = 0; k < buf->info.rank; k++)
        if (rows_scalar(b, buf, k) == (int)s->scalar) return true;
    return false;
}

bool vys_shard_rows(vys_shard *s, const vys_binding *whole, const char *const *params,
                    uint32_t param_count, vy_diag *d)
{
    for (uint32_t i = 0; i < s->count; i++) {
        if (is_named(params, param_count, s->names[i]))
            return vys_fail(d, VYS_USAGE, "name data; every rank has all of the parameters",
                            "%s cannot be cut into rows: it is trained", s->names[i]);
        if (!take_name(s, whole, i, d)) return false;
    }
    for (uint32_t i = 0; i < whole->buffer_count; i++) {
        const vys_bound *buf = &whole->buffers[i];
        if (!is_left_out(s, whole, buf)) continue;
        const bool trained = is_named(params, param_count, buf->info.name);
        return vys_fail(d, VYS_SHAPE,
                        trained ? "train it on one device"
                                : "name it, too, with those that are cut",
                        "%s has %s rows as %s has, but is not cut%s", buf->info.name,
                        whole->scalars[s->scalar].info.name, s->names[0],
                        trained ? ", and is trained: ranks would train different ones" : "");
    }
    return true;
}

void vys_shard_part(const vys_shard *s, uint32_t index, uint32_t parts, uint64_t *from,
                    uint64_t *rows)
{
    const uint64_t each = s->rows / parts, more = s->rows % parts;
    *from = index * each + (index < more ? index : more);
    *rows = each + (index < more);
}

// ------------------------------------------------------------------------------------------- data
// The contents of a buffer that runs change.
static bool fill(vys_bound *b, vy_diag *d)
{
    const vys_array *from = b->given;
    (void)d; // the shapes are those of `whole`
    if (b->value.count)
        memcpy(b->value.data, from->data, b->value.count * vy_type_size(from->type));
    return true;
}

static void take_buffer(vys_bound *b, const vys_shard *s, const vys_bound *from, uint64_t first,
                        uint64_t rows)
{
    const bool cut = is_named(s->names, s->count, b->info.name);
    const uint64_t row = from->value.shape[0] ? from->value.count / from->value.shape[0] : 0;
    if (b->info.cls == VY_OUT) return; // its shape follows
    memcpy(b->value.shape, from->value.shape, sizeof from->value.shape);
    b->state = VYS_SHAPE_FULL;
    b->given = (void *)&from->value;
    if (cut) b->value.shape[0] = rows;
    if (b->info.cls != VY_IN) return;
    b->borrowed = true;
    b->value.type = from->value.type;
    b->value.data = from->value.data;
    if (cut) b->value.data = (char *)from->value.data + first * row * vy_type_size(b->value.type);
}

bool vys_shard_bind(vys_binding *b, const vys_shard *s, const vys_binding *whole, vys_entry what,
                    uint64_t from, uint64_t rows, vy_diag *d)
{
    if (!vys_binding_create(b, what, whole->f64, whole->words, d)) return false;
    b->fill = fill;
    b->limit = whole->limit;
    memcpy(b->groups, whole->groups, sizeof b->groups);
    for (uint32_t i = 0; i < b->scalar_count; i++) {
        b->scalars[i].known = true;
        b->scalars[i].value = whole->scalars[i].value;
    }
    b->scalars[s->scalar].value.u = rows;
    for (uint32_t i = 0; i < b->buffer_count; i++)
        take_buffer(&b->buffers[i], s, &whole->buffers[i], from, rows);
    return vys_binding_fill(b, d);
}
