// SPDX-License-Identifier: MIT
// columns.c: the buffers that one of structs, matrices or vectors is.
//
//   struct Ray { at: vec3; t: f32; }
//   r: in Ray[N]       `r.at`: in f32[N, 3], `r.t`: in f32[N]
//
// Each field that is no struct is a buffer of its scalars, with an axis for each array, matrix
// (columns first) and vector around them.  So the IR knows scalars alone, and a field that is not
// used costs nothing.
#include "ir/text/front.h"

#include <string.h>

uint32_t vy_columns(const vy_front *f, vy_text_type t)
{
    const vy_made_type *m = vy_made_of(f, t);
    uint32_t n = 0;
    if (!m || m->kind <= VY_MATRIX) return 1;
    if (m->kind == VY_ARRAY) return vy_columns(f, m->of);
    for (const vy_field *d = m->fields; d; d = d->next) n += vy_columns(f, d->type);
    return n;
}

// The field of a struct in which column *c is; *c: the column of the field.
static const vy_field *field_at(const vy_front *f, const vy_made_type *m, uint32_t *c)
{
    const vy_field *d = m->fields;
    for (uint32_t n; d->next && (n = vy_columns(f, d->type)) <= *c; d = d->next) *c -= n;
    return d;
}

vy_column vy_column_at(vy_front *f, const char *name, vy_text_type t, uint32_t c)
{
    vy_column column = {.name = name};
    for (const vy_made_type *m; (m = vy_made_of(f, t)) && !f->failed;) {
        const vy_field *d = m->kind == VY_STRUCT ? field_at(f, m, &c) : NULL;
        column.vector = m->kind == VY_VECTOR;
        if (d)
            column.name = vy_front_joined(f, column.name, ".", d->name->text);
        else
            column.size[column.axes++] = m->parts;
        t = d ? d->type : m->of;
    }
    column.type = (vy_type)t;
    return column;
}
