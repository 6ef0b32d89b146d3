// SPDX-License-Identifier: MIT
// lower_element.c: elements of buffers and arrays, and components of those that are vectors.
//
// A buffer of vectors is one of their scalars with one more axis, the last: `vec3 x[N]` is
// f32[N, 3].  So `x[i]` is as many loads, `x[i].y` and `x[i][k]` are one.
#include "ir/build/edit.h"
#include "ir/text/place.h"

struct vy_element_at {
    vy_buffer buffer;
    vy_value index[VY_MAX_RANK];
    uint32_t axis; // of the components
    uint8_t flags;
    bool vector;
    uint32_t n;
    vy_value component[4]; // of which there are n
};

bool vy_is_element(const vy_ast_expr *e)
{
    return e->kind == EX_INDEX || (e->kind == EX_MEMBER && e->u.member.of->kind == EX_INDEX);
}

static vy_value number(vy_lower *l, uint32_t k) { return vy_int(l->b, VY_I32, k); }

// One of the components, by its number among them; there is none of number 4.
static vy_value among(vy_lower *l, const vy_element_at *at, vy_value index)
{
    vy_value which = number(l, 4);
    for (uint32_t k = at->n; k-- > 0;) {
        const vy_value is = vy_int(l->b, vy_value_type(l->b, index), k);
        which = vy_select(l->b, vy_eq(l->b, index, is), at->component[k], which);
    }
    return which;
}

// All components, those of a step `.zx`, and one of them by a step `[k]`.
static void choose(vy_lower *l, vy_element_at *at, const vy_ast_expr *e)
{
    const vy_member *m = e->kind == EX_MEMBER ? e->u.member.steps : NULL;
    vy_path path;
    if (m) vy_lower_path(l, e, path);
    const bool some = m && !m->index;
    at->n = some ? m->count : vy_scalars(l->f, e->kind == EX_MEMBER ? m->whole : e->type);
    for (uint32_t k = 0; k < at->n; k++)
        at->component[k] = number(l, some ? vy_component(m->which, k) : k);
    const vy_member *last = some ? m->next : m;
    if (!last || vy_lower_stopped(l)) return;
    at->component[0] = some ? among(l, at, path[1]) : path[0];
    at->n = 1;
}

static bool find(vy_lower *l, const vy_ast_expr *e, vy_element_at *at)
{
    const vy_ast_expr *x = e->kind == EX_INDEX ? e : e->u.member.of;
    const vy_decl *d = x->u.ref.decl;
    *at = (vy_element_at){.flags = x->op, .axis = d->rank, .vector = vy_is_made(d->type), .n = 1};
    if (!vy_lower_index(l, x, at->index)) return false;
    at->buffer = vy_lower_buffer(l, d);
    if (at->vector) choose(l, at, e);
    return !vy_lower_stopped(l);
}

static const vy_value *component(vy_element_at *at, uint32_t k)
{
    if (at->vector) at->index[at->axis] = at->component[k];
    return at->index;
}

static void load(vy_lower *l, vy_element_at *at, vy_value *v)
{
    for (uint32_t k = 0; k < at->n; k++) {
        v[k] = vy_load(l->b, at->buffer, component(at, k));
        vy_emit_flags(l->b, v[k].id, at->flags);
    }
}

uint32_t vy_lower_load(vy_lower *l, const vy_ast_expr *e, vy_value *v)
{
    vy_element_at at;
    if (!find(l, e, &at)) return 1;
    vy_lower_at(l, e->line, e->column);
    load(l, &at, v);
    return at.n;
}

// --------------------------------------------------------------------------- as a place: place.h
vy_element_at *vy_element_find(vy_lower *l, const vy_ast_expr *e)
{
    vy_element_at *at = vy_room_take(l, sizeof *at / sizeof(vy_value));
    return find(l, e, at) ? at : NULL;
}

void vy_element_read(vy_lower *l, vy_element_at *at, vy_value *v) { load(l, at, v); }

void vy_element_write(vy_lower *l, vy_element_at *at, const vy_value *v)
{
    for (uint32_t k = 0; k < at->n; k++) {
        vy_store(l->b, at->buffer, component(at, k), v[k]);
        vy_emit_flags(l->b, 0, at->flags);
    }
}

vy_buffer vy_lower_place(vy_lower *l, const vy_ast_expr *e, vy_value index[VY_MAX_RANK])
{
    vy_element_at at;
    if (!find(l, e, &at)) return (vy_buffer){0};
    component(&at, 0);
    for (uint32_t k = 0; k < VY_MAX_RANK; k++) index[k] = at.index[k];
    return at.buffer;
}
