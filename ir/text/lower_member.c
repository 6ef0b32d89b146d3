// SPDX-License-Identifier: MIT
// lower_member.c: parts of values, read and replaced.
//
// An index that is no constant selects among all parts: the IR has no arrays of values.  As in
// arrays, an element that is not there reads as zero, and is not written.
#include "ir/build/edit.h"
#include "ir/text/lower.h"

#include <string.h>

void vy_lower_path(vy_lower *l, const vy_ast_expr *e, vy_path path)
{
    uint32_t n = 0;
    for (const vy_member *m = e->u.member.steps; m && n < VY_MAX_STEPS; m = m->next, n++)
        path[n] = m->index ? vy_lower_expr(l, m->index) : (vy_value){0};
}

// Is the index known?  *k: the number of the part, m->count or more if there is none.
static bool is_known(const vy_lower *l, vy_value index, uint64_t *k)
{
    const vy_scalar *c = vy_id_const(vy_builder_program(l->b), index.id);
    if (c) *k = c->u; // of a negative number a large one
    return c != NULL;
}

static vy_value is_number(vy_lower *l, vy_value index, uint32_t k)
{
    return vy_eq(l->b, index, vy_int(l->b, vy_value_type(l->b, index), k));
}

static void take_zero(vy_lower *l, const vy_member *m, vy_value *v)
{
    for (uint32_t s = 0; s < m->size; s++) v[s] = vy_zero(l->b, vy_value_type(l->b, v[s]));
}

static void take_selected(vy_lower *l, const vy_member *m, vy_value index, vy_value *v)
{
    vy_value *part = vy_room_take(l, m->size);
    memcpy(part, v, m->size * sizeof *v);
    take_zero(l, m, part);
    for (uint32_t k = m->count; k-- > 0;) {
        const vy_value here = is_number(l, index, k);
        for (uint32_t s = 0; s < m->size; s++)
            part[s] = vy_select(l->b, here, v[k * m->size + s], part[s]);
    }
    memcpy(v, part, m->size * sizeof *v);
}

static void take_element(vy_lower *l, const vy_member *m, vy_value index, vy_value *v)
{
    uint64_t k;
    if (!is_known(l, index, &k))
        take_selected(l, m, index, v);
    else if (k < m->count)
        memmove(v, v + k * m->size, m->size * sizeof *v);
    else
        take_zero(l, m, v);
}

static void take_components(const vy_lower *l, const vy_member *m, vy_value *v)
{
    vy_value of[4];
    memcpy(of, v, vy_scalars(l->f, m->whole) * sizeof *v);
    for (uint32_t k = 0; k < m->count; k++) v[k] = of[vy_component(m->which, k)];
}

void vy_take_part(vy_lower *l, const vy_member *m, const vy_value *path, vy_value *v)
{
    for (; m && !vy_lower_stopped(l); m = m->next, path++)
        if (m->index)
            take_element(l, m, *path, v);
        else if (m->is_field)
            memmove(v, v + m->at, m->size * sizeof *v);
        else
            take_components(l, m, v);
}

// -------------------------------------------------------------------------------------- assignment
static void put_selected(vy_lower *l, const vy_member *m, const vy_value *path, vy_value *whole,
                         uint32_t n, const vy_value *part)
{
    for (uint32_t k = 0; k < m->count; k++) {
        vy_value *changed = vy_room_take(l, m->size), *old = whole + k * m->size;
        const vy_value here = is_number(l, *path, k);
        memcpy(changed, old, m->size * sizeof *old);
        vy_put_part(l, m->next, path + 1, changed, n, part);
        for (uint32_t s = 0; s < m->size; s++)
            if (changed[s].id != old[s].id) old[s] = vy_select(l->b, here, changed[s], old[s]);
    }
}

static void put_element(vy_lower *l, const vy_member *m, const vy_value *path, vy_value *whole,
                        uint32_t n, const vy_value *part)
{
    uint64_t k;
    if (!is_known(l, *path, &k))
        put_selected(l, m, path, whole, n, part);
    else if (k < m->count)
        vy_put_part(l, m->next, path + 1, whole + k * m->size, n, part);
}

static void put_components(vy_lower *l, const vy_member *m, const vy_value *path, vy_value *whole,
                           uint32_t n, const vy_value *part)
{
    vy_value some[4];
    for (uint32_t k = 0; k < m->count; k++) some[k] = whole[vy_component(m->which, k)];
    vy_put_part(l, m->next, path + 1, some, n, part);
    for (uint32_t k = 0; k < m->count; k++) whole[vy_component(m->which, k)] = some[k];
}

void vy_put_part(vy_lower *l, const vy_member *m, const vy_value *path, vy_value *whole, uint32_t n,
                 const vy_value *part)
{
    if (vy_lower_stopped(l)) return;
    if (!m)
        memcpy(whole, part, n * sizeof *part);
    else if (m->index)
        put_element(l, m, path, whole, n, part);
    else if (m->is_field)
        vy_put_part(l, m->next, path + 1, whole + m->at, n, part);
    else
        put_components(l, m, path, whole, n, part);
}
