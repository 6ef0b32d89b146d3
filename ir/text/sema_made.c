// SPDX-License-Identifier: MIT
// sema_made.c: what structs and arrays of a text are, once all of it has been read.
//
// Sizes of arrays are computed, equal arrays become one type, and places in the tree that name an
// array get that (vy_type_place); then each type gets its number of scalars.
#include "ir/text/lower.h"

#include <string.h>

// -------------------------------------------------------------------------------- sizes of arrays
static bool take_count(vy_front *f, vy_made_type *m)
{
    uint64_t n = 0;
    f->in_const = f->in_numbers = true;
    const vy_text_type t = vy_check_value(f, m->count);
    f->in_const = f->in_numbers = false;
    if (f->failed) return false;
    if (!vy_operator_fits(TK_REM, t))
        vy_front_error(f, VY_E_TYPE_WRONG, m->line, m->column, "write an integer",
                       "the size of an array is an integer, not %s", vy_any_type_name(f, t));
    else if (vy_lower_count(f, m->count, (vy_type)t, &n) && (n == 0 || n > VY_MAX_SCALARS))
        vy_front_error(f, n ? VY_E_LIMIT : VY_E_EXTENT, m->line, m->column,
                       "keep more in a buffer or in a `local` array",
                       n ? "an array that is a value has at most %u elements"
                         : "an array that is a value has 1 to %u elements",
                       VY_MAX_SCALARS);
    m->parts = (uint32_t)n;
    return !f->failed;
}

static bool take_counts(vy_front *f)
{
    for (uint32_t i = f->made_known; i < f->made.count; i++) {
        vy_made_type *m = f->made.data[i];
        const vy_made_type *of = vy_made_of(f, m->of);
        if (m->kind != VY_ARRAY) continue;
        if (vy_stored_only(m->of))
            vy_front_error(f, VY_E_TYPE_WRONG, m->line, m->column,
                           "use i32 or u32; small integers are element types of buffers",
                           "an array cannot have elements of type %s", vy_any_type_name(f, m->of));
        if (of && of->same) m->of = of->same;
        if (f->failed || !take_count(f, m)) return false;
        m->same = vy_array_first(f, vy_made_number(i));
    }
    return true;
}

// ---------------------------------------------------------------------------- how many scalars
static bool measure(vy_front *f, vy_text_type t, uint32_t depth);

static void refuse(vy_front *f, const vy_made_type *m, vy_code code, const char *fix,
                   const char *text)
{
    vy_front_error(f, code, m->line, m->column, fix, text, m->name);
}

static void check_field(vy_front *f, const vy_made_type *m, const vy_field *d)
{
    for (const vy_field *o = m->fields; o != d && !f->failed; o = o->next)
        if (o->name == d->name)
            vy_front_error(f, VY_E_NAME_TAKEN, d->line, d->column, "name it otherwise",
                           "struct `%s` has two fields `%s`", m->name, d->name->text);
    if (vy_stored_only(d->type))
        vy_front_error(f, VY_E_TYPE_WRONG, d->line, d->column,
                       "use i32 or u32; small integers are element types of buffers",
                       "field `%s` cannot be a %s", d->name->text, vy_any_type_name(f, d->type));
}

static void nest(const vy_front *f, vy_made_type *m, vy_text_type inner)
{
    const vy_made_type *of = vy_made_of(f, inner);
    const uint32_t depth = 1 + (of ? of->depth : 0);
    if (depth > m->depth) m->depth = depth;
}

static void measure_struct(vy_front *f, vy_made_type *m, uint32_t depth)
{
    m->scalars = 0;
    for (vy_field *d = m->fields; d && !f->failed; d = d->next) {
        check_field(f, m, d);
        if (f->failed || !measure(f, d->type, depth + 1)) return;
        d->at = m->scalars;
        m->scalars += vy_scalars(f, d->type);
        nest(f, m, d->type);
        m->parts++;
        if (m->scalars > VY_MAX_SCALARS) return;
    }
    if (!m->fields) refuse(f, m, VY_E_SYNTAX, "give it a field", "struct `%s` has no fields");
}

static void unknown(vy_front *f, const vy_made_type *m)
{
    vy_front_error(f, VY_E_SYNTAX, m->line, m->column,
                   vy_spelling_fix(f, m->name, strlen(m->name), m->meant, NULL),
                   "expected a type %s, found `%.40s`", m->after, m->name);
}

static bool measure(vy_front *f, vy_text_type t, uint32_t depth)
{
    if (!vy_made_of(f, t) || vy_made_of(f, t)->kind <= VY_MATRIX || f->failed) return !f->failed;
    vy_made_type *m = vy_made_open(f, t);
    if (m->state == 2 && m->depth + depth <= VY_MAX_TYPE_DEPTH) return true;
    if (m->kind == VY_STRUCT && !m->declared) return unknown(f, m), false;
    if (m->state == 1)
        refuse(f, m, VY_E_RECURSION, "keep others in a buffer, by their index",
               "struct `%s` contains itself");
    else if (m->depth + depth > VY_MAX_TYPE_DEPTH)
        refuse(f, m, VY_E_LIMIT, "nest them less", "type `%s` nests types too deep");
    if (f->failed) return false;
    m->state = 1;
    if (m->kind == VY_STRUCT)
        measure_struct(f, m, depth);
    else if (measure(f, m->of, depth + 1))
        m->scalars = m->parts * vy_scalars(f, m->of), nest(f, m, m->of);
    if (!f->failed && m->scalars > VY_MAX_SCALARS)
        vy_front_error(f, VY_E_LIMIT, m->line, m->column,
                       "keep more in a buffer or in a `local` array",
                       "a value of type `%s` has more than %u scalars", m->name, VY_MAX_SCALARS);
    m->state = 2;
    return !f->failed;
}

// Of types and places that were read since.
bool vy_sema_made(vy_front *f)
{
    const uint32_t from = f->made_known, n = f->made.count;
    if (!take_counts(f)) return false;
    for (const vy_type_place *p = f->type_places; p != f->places_known; p = p->next) {
        const vy_made_type *m = vy_made_of(f, *p->where);
        if (m && m->same) *p->where = m->same;
    }
    for (uint32_t i = from; i < n && !f->failed; i++)
        if (f->made.data[i]->kind == VY_ARRAY)
            f->made.data[i]->name = vy_array_name(f, f->made.data[i]);
    for (uint32_t i = from; i < n && !f->failed; i++) measure(f, vy_made_number(i), 0);
    f->places_known = f->type_places;
    f->made_known = n;
    return !f->failed;
}
