// SPDX-License-Identifier: MIT
// lower_place.c: places, and assignments to them.
#include "ir/text/place.h"
#include "ir/build/edit.h"

#include <string.h>

vy_place *vy_place_find(vy_lower *l, const vy_ast_expr *e)
{
    vy_place *p = vy_room_take(l, sizeof *p / sizeof(vy_value));
    *p = (vy_place){.e = e};
    if (vy_is_element(e))
        p->at = vy_element_find(l, e);
    else if (e->kind == EX_MEMBER)
        vy_lower_path(l, e, p->path);
    return p;
}

// The variable that is assigned, or of which a part is.
static const vy_ast_expr *variable(const vy_place *p)
{
    return p->e->kind == EX_MEMBER ? p->e->u.member.of : p->e;
}

static void read_variable(vy_lower *l, const vy_ast_expr *of, vy_value *v)
{
    const uint32_t n = vy_scalars(l->f, of->type), *slots = l->frame + of->u.ref.decl->slot;
    for (uint32_t k = 0; k < n; k++) v[k] = vy_get(l->b, (vy_var){slots[k]});
}

void vy_place_read(vy_lower *l, vy_place *p, vy_value *v)
{
    const vy_ast_expr *of = variable(p);
    if (vy_lower_stopped(l)) return;
    if (p->at) {
        vy_element_read(l, p->at, v);
        return;
    }
    vy_value *all = vy_room_take(l, vy_scalars(l->f, of->type));
    read_variable(l, of, all);
    if (of != p->e) vy_take_part(l, p->e->u.member.steps, p->path, all);
    memcpy(v, all, vy_scalars(l->f, p->e->type) * sizeof *v);
}

static void write_variable(vy_lower *l, const vy_place *p, const vy_value *v)
{
    const vy_ast_expr *of = variable(p);
    const uint32_t all = vy_scalars(l->f, of->type), *slots = l->frame + of->u.ref.decl->slot;
    vy_value *old = vy_room_take(l, all), *is = vy_room_take(l, all);
    read_variable(l, of, old);
    memcpy(is, old, all * sizeof *is);
    vy_put_part(l, of == p->e ? NULL : p->e->u.member.steps, p->path, is,
                vy_scalars(l->f, p->e->type), v);
    for (uint32_t k = 0; k < all; k++)
        if (of == p->e || is[k].id != old[k].id) vy_set(l->b, (vy_var){slots[k]}, is[k]);
}

void vy_place_write(vy_lower *l, vy_place *p, const vy_value *v)
{
    if (vy_lower_stopped(l)) return;
    if (p->at)
        vy_element_write(l, p->at, v);
    else
        write_variable(l, p, v);
}

// ------------------------------------------------------------------------------------ assignments
// What a place becomes, whose scalars are `old`: v, or old op v, of m scalars.
static void combine(vy_lower *l, const vy_stmt *s, uint32_t n, vy_value *old, uint32_t m,
                    const vy_value *v)
{
    vy_lower_at(l, s->line, s->column);
    if (vy_is_product(l->f, s->op, s->target->type, s->value->type))
        vy_lower_product(l, s->op, s->target->type, old, s->value->type, v);
    else if (s->op != TK_SET)
        vy_lower_operator(l, s->op, n, old, m, v);
    else
        memcpy(old, v, n * sizeof *v);
}

void vy_lower_assign(vy_lower *l, const vy_stmt *s)
{
    const uint32_t n = vy_scalars(l->f, s->target->type);
    vy_value *is = vy_room_take(l, n), *v = vy_room_take(l, vy_scalars(l->f, s->value->type));
    vy_place *p = vy_place_find(l, s->target);
    vy_lower_at(l, s->line, s->column);
    if (s->op != TK_SET) vy_place_read(l, p, is);
    const uint32_t m = vy_lower_value(l, s->value, v);
    if (vy_lower_stopped(l)) return;
    combine(l, s, n, is, m, v);
    vy_place_write(l, p, is);
}
