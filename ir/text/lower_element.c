// SPDX-License-Identifier: MIT
// lower_element.c: elements of buffers and arrays, and their parts.
//
// A buffer of vectors, matrices or structs is one of scalars for each field, with more axes
// (columns.c).  A step to a part chooses a column, or is the index along an axis: so `x[i]` is as
// many loads as it has scalars, and `x[i].rays[k].y` is one, which is out of range where there is
// no k.  A row (sema_row.c) is as many, too.
#include "ir/build/edit.h"
#include "ir/text/place.h"

struct vy_element_at {
    const vy_decl *d;
    vy_value index[VY_MAX_RANK];
    uint32_t rank, column; // that is how far they lead:
    vy_text_type type;     // to values of this type,
    uint32_t n;            // or to n components of it, if that is not 0
    vy_value component[4];
    uint8_t flags;
};

bool vy_is_element(const vy_ast_expr *e)
{
    return e->kind == EX_INDEX || (e->kind == EX_MEMBER && e->u.member.of->kind == EX_INDEX);
}

static vy_value number(vy_lower *l, uint32_t k) { return vy_int(l->b, VY_I32, k); }

// --------------------------------------------------------------------------------- to the part
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

static void step_field(const vy_lower *l, vy_element_at *at, const vy_member *m)
{
    const vy_field *d = vy_made_of(l->f, m->whole)->fields;
    for (; d->name != m->name; d = d->next) at->column += vy_columns(l->f, d->type);
    at->type = d->type;
}

static void step_components(vy_lower *l, vy_element_at *at, const vy_member *m)
{
    at->n = m->count;
    for (uint32_t k = 0; k < at->n; k++) at->component[k] = number(l, vy_component(m->which, k));
}

static void step_index(vy_lower *l, vy_element_at *at, const vy_member *m, vy_value index)
{
    at->index[at->rank++] = at->n ? among(l, at, index) : index;
    at->type = at->n ? vy_element(l->f, m->whole) : vy_made_of(l->f, m->whole)->of;
    at->n = 0;
}

static void follow(vy_lower *l, vy_element_at *at, const vy_ast_expr *e)
{
    vy_path path;
    uint32_t k = 0;
    vy_lower_path(l, e, path);
    for (const vy_member *m = e->u.member.steps; m && !vy_lower_stopped(l); m = m->next, k++)
        if (m->index)
            step_index(l, at, m, path[k]);
        else if (m->is_field)
            step_field(l, at, m);
        else
            step_components(l, at, m);
}

static bool locate_element(vy_lower *l, const vy_ast_expr *e, vy_element_at *at)
{
    const vy_ast_expr *x = e->kind == EX_INDEX ? e : e->u.member.of;
    const vy_decl *d = x->u.ref.decl;
    const bool row = x->count < d->rank;
    *at =
        (vy_element_at){.d = d, .rank = x->count, .type = row ? x->type : d->type, .flags = x->op};
    if (!vy_lower_index(l, x, at->index)) return false;
    if (e->kind == EX_MEMBER) follow(l, at, e);
    return !vy_lower_stopped(l);
}

// ------------------------------------------------------------------------------ all its scalars
typedef struct walk {
    vy_lower *l;
    vy_element_at *at;
    const vy_value *stored; // NULL: they are loaded
    vy_value *loaded;
    const char *atomic; // what is done with those that are stored: "add"; NULL: just that
    uint32_t k;
} walk;

static void touch(walk *w, uint32_t column)
{
    vy_lower *l = w->l;
    const vy_buffer b = {l->frame[w->at->d->slot + column]};
    uint32_t id = 0;
    if (w->atomic)
        id = (w->loaded[w->k] = vy_atomic(l->b, w->atomic, b, w->at->index, w->stored[w->k])).id,
        w->k++;
    else if (w->stored)
        vy_store(l->b, b, w->at->index, w->stored[w->k++]);
    else
        id = (w->loaded[w->k++] = vy_load(l->b, b, w->at->index)).id;
    vy_emit_flags(l->b, id, w->at->flags);
}

// In the order of the scalars of a value.
static void each(walk *w, vy_text_type t, uint32_t column, uint32_t rank)
{
    const vy_made_type *m = vy_made_of(w->l->f, t);
    if (!m) {
        touch(w, column);
    } else if (m->kind == VY_STRUCT) {
        for (const vy_field *d = m->fields; d; column += vy_columns(w->l->f, d->type), d = d->next)
            each(w, d->type, column, rank);
    } else {
        for (uint32_t k = 0; k < m->parts; k++) {
            w->at->index[rank] = number(w->l, k);
            each(w, m->of, column, rank + 1);
        }
    }
}

static uint32_t run(walk *w)
{
    vy_element_at *at = w->at;
    if (!at->n) each(w, at->type, at->column, at->rank);
    for (uint32_t k = 0; k < at->n; k++) {
        at->index[at->rank] = at->component[k];
        touch(w, at->column);
    }
    return w->k;
}

uint32_t vy_lower_load(vy_lower *l, const vy_ast_expr *e, vy_value *v)
{
    vy_element_at at;
    if (!locate_element(l, e, &at)) return 1;
    vy_lower_at(l, e->line, e->column);
    return run(&(walk){.l = l, .at = &at, .loaded = v});
}

// --------------------------------------------------------------------------- as a place: place.h
vy_element_at *vy_element_find(vy_lower *l, const vy_ast_expr *e)
{
    vy_element_at *at = vy_room_take(l, sizeof *at / sizeof(vy_value));
    return locate_element(l, e, at) ? at : NULL;
}

void vy_element_read(vy_lower *l, vy_element_at *at, vy_value *v)
{
    run(&(walk){.l = l, .at = at, .loaded = v});
}

void vy_element_write(vy_lower *l, vy_element_at *at, const vy_value *v)
{
    run(&(walk){.l = l, .at = at, .stored = v});
}

void vy_element_atomic(vy_lower *l, vy_element_at *at, const char *op, const vy_value *v,
                       vy_value *old)
{
    run(&(walk){.l = l, .at = at, .stored = v, .loaded = old, .atomic = op});
}

// One scalar.
vy_buffer vy_lower_place(vy_lower *l, const vy_ast_expr *e, vy_value index[VY_MAX_RANK])
{
    vy_element_at at;
    if (!locate_element(l, e, &at)) return (vy_buffer){0};
    if (at.n) at.index[at.rank] = at.component[0];
    for (uint32_t k = 0; k < VY_MAX_RANK; k++) index[k] = at.index[k];
    return (vy_buffer){l->frame[at.d->slot + at.column]};
}
