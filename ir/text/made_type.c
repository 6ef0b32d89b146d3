// SPDX-License-Identifier: MIT
// made_type.c: types that are made of others: a table.
//
// The IR knows scalars only.  A value of a made type is that many scalars, in the order of the
// table; lowering (lower_expr.c) walks the same tree for both, and what it gives are tuples, of
// one scalar for a scalar.  Vectors are rows of every text; structs and arrays are added as the
// parser meets them, and what they are made of is known after it (sema_made.c).  The names of made
// types are not words of the language: a variable or function may have them.
#include "ir/text/front.h"

#include <stdio.h>
#include <string.h>

#define VECTORS(prefix, type)                                                                      \
    {.name = prefix "vec2", .of = type, .parts = 2, .scalars = 2},                                 \
        {.name = prefix "vec3", .of = type, .parts = 3, .scalars = 3},                             \
    {                                                                                              \
        .name = prefix "vec4", .of = type, .parts = 4, .scalars = 4                                \
    }
// Columns of 2, 3 and 4 rows are `vec`, `vec` + 1 and `vec` + 2.
#define MATRIX(text, vec, rows, n)                                                                 \
    {                                                                                              \
        .name = text, .kind = VY_MATRIX, .of = VY_MADE + (vec) + (rows)-2, .parts = n,             \
        .scalars = (rows) * (n), .depth = 1                                                        \
    }
#define MATRICES(prefix, vec)                                                                      \
    MATRIX(prefix "mat2", vec, 2, 2), MATRIX(prefix "mat3", vec, 3, 3),                            \
        MATRIX(prefix "mat4", vec, 4, 4), MATRIX(prefix "mat2x3", vec, 3, 2),                      \
        MATRIX(prefix "mat2x4", vec, 4, 2), MATRIX(prefix "mat3x2", vec, 2, 3),                    \
        MATRIX(prefix "mat3x4", vec, 4, 3), MATRIX(prefix "mat4x2", vec, 2, 4),                    \
        MATRIX(prefix "mat4x3", vec, 3, 4)
enum { F32_VECTORS = 0, F64_VECTORS = 9, F16_VECTORS = 12 }; // rows of the table
static const vy_made_type made[] = {VECTORS("", VY_F32),       VECTORS("i", VY_I32),
                                    VECTORS("u", VY_U32),      VECTORS("d", VY_F64),
                                    VECTORS("h", VY_F16),      VECTORS("b", VY_BOOL),
                                    MATRICES("", F32_VECTORS), MATRICES("d", F64_VECTORS),
                                    MATRICES("h", F16_VECTORS)};
enum { MADE = sizeof made / sizeof *made };

const vy_made_type *vy_made_of(const vy_front *f, vy_text_type t)
{
    const uint32_t i = t - VY_MADE;
    if (t < VY_MADE) return NULL;
    return i < MADE ? &made[i] : i - MADE < f->made.count ? f->made.data[i - MADE] : NULL;
}

const char *vy_made_type_name(uint32_t i) { return i < MADE ? made[i].name : NULL; }

vy_text_type vy_made_type_named(const char *s, size_t n)
{
    if (n > 5 && s[n - 2] == 'x' && s[n - 1] == s[n - 3]) n -= 2; // mat3x3
    for (uint32_t i = 0; i < MADE; i++)
        if (strlen(made[i].name) == n && memcmp(made[i].name, s, n) == 0)
            return (vy_text_type)(VY_MADE + i);
    return VY_VOID;
}

vy_text_type vy_vector_type(vy_text_type of, uint32_t n)
{
    if (n == 1) return of;
    for (uint32_t i = 0; i < MADE; i++)
        if (made[i].of == of && made[i].scalars == n) return (vy_text_type)(VY_MADE + i);
    return VY_BROKEN;
}

vy_made_type *vy_made_new(vy_front *f, vy_made_kind kind, vy_text_type *t)
{
    vy_made_type *m = vy_front_alloc(f, sizeof *m);
    *m = (vy_made_type){.kind = kind, .line = f->tok.line, .column = f->tok.column};
    *t = (vy_text_type)(VY_MADE + MADE + f->made.count);
    if (f->failed) return m;
    if (f->made.count + MADE + VY_MADE == UINT16_MAX)
        vy_front_error(f, VY_E_LIMIT, m->line, m->column, "use fewer", "too many types");
    else if (!vy_vec_push(&f->made, m))
        f->failed = true, vy_fail_oom(f->m);
    return m;
}

vy_text_type vy_made_number(uint32_t i) { return (vy_text_type)(VY_MADE + MADE + i); }

vy_made_type *vy_made_open(vy_front *f, vy_text_type t) { return f->made.data[t - VY_MADE - MADE]; }

// ---------------------------------------------------------------------------------------- arrays
const char *vy_array_name(vy_front *f, const vy_made_type *m)
{
    enum { SIZE = 96 };
    const vy_made_type *of = vy_made_of(f, m->of);
    const char *inner = of ? of->name : vy_type_name((vy_type)m->of);
    // Of an array of arrays the outer size comes first.
    const char *sizes = of && of->kind == VY_ARRAY ? strchr(inner, '[') : NULL;
    char *name = vy_front_alloc(f, SIZE);
    if (f->failed) return "";
    snprintf(name, SIZE, "%.*s[%u]%s", sizes ? (int)(sizes - inner) : 60, inner, m->parts,
             sizes ? sizes : "");
    return name;
}

static uint32_t slot_of(vy_text_type of, uint32_t n) { return (of * 31u + n) % VY_ARRAY_SLOTS; }

vy_text_type vy_array_first(vy_front *f, vy_text_type t)
{
    vy_made_type *m = vy_made_open(f, t);
    vy_made_type **slot = &f->arrays[slot_of(m->of, m->parts)];
    for (const vy_made_type *o = *slot; o; o = o->chain)
        if (o->of == m->of && o->parts == m->parts) return o->same;
    m->chain = *slot;
    *slot = m;
    return t;
}

vy_text_type vy_array_type(vy_front *f, vy_text_type of, uint32_t n)
{
    vy_text_type t = VY_VOID;
    const vy_made_type *inner = vy_made_of(f, of);
    const uint32_t depth = 1 + (inner ? inner->depth : 0);
    for (const vy_made_type *o = f->arrays[slot_of(of, n)]; o; o = o->chain)
        if (o->of == of && o->parts == n) return o->same;
    if (depth > VY_MAX_TYPE_DEPTH) return t;
    vy_made_type *m = vy_made_new(f, VY_ARRAY, &t);
    m->of = of, m->parts = n, m->scalars = n * vy_scalars(f, of);
    m->depth = depth, m->state = 2;
    if (f->failed) return VY_VOID;
    m->same = vy_array_first(f, t);
    m->name = vy_array_name(f, m);
    f->made_known = f->made.count; // nothing is left to be found out about it
    return t;
}

// ------------------------------------------------------------------------------- what they hold
bool vy_is_vector(const vy_front *f, vy_text_type t)
{
    const vy_made_type *m = vy_made_of(f, t);
    return m && m->kind == VY_VECTOR;
}

bool vy_is_matrix(const vy_front *f, vy_text_type t)
{
    const vy_made_type *m = vy_made_of(f, t);
    return m && m->kind == VY_MATRIX;
}

vy_text_type vy_matrix_type(const vy_front *f, vy_text_type of, uint32_t columns, uint32_t rows)
{
    const vy_text_type column = vy_vector_type(of, rows);
    vy_text_type t = VY_MADE;
    while (t < VY_MADE + MADE && !(vy_is_matrix(f, t) && made[t - VY_MADE].of == column &&
                                   made[t - VY_MADE].parts == columns))
        t++;
    return t < VY_MADE + MADE ? t : VY_BROKEN;
}

uint32_t vy_scalars(const vy_front *f, vy_text_type t)
{
    const vy_made_type *m = vy_made_of(f, t);
    return m ? m->scalars : 1;
}

vy_text_type vy_element(const vy_front *f, vy_text_type t)
{
    const vy_made_type *m = vy_made_of(f, t);
    if (m && m->kind == VY_MATRIX) return vy_element(f, m->of);
    return !m ? t : m->kind == VY_VECTOR ? m->of : VY_VOID;
}

// The field of a struct in which scalar *k is; *k: the scalar of the field.
static const vy_field *field_at(const vy_made_type *m, uint32_t *k)
{
    const vy_field *d = m->fields;
    while (d->next && d->next->at <= *k) d = d->next;
    *k -= d->at;
    return d;
}

vy_type vy_scalar_type(const vy_front *f, vy_text_type t, uint32_t k)
{
    for (const vy_made_type *m; (m = vy_made_of(f, t));)
        if (m->kind == VY_STRUCT) {
            t = field_at(m, &k)->type;
        } else {
            t = m->of;
            k %= vy_scalars(f, t);
        }
    return (vy_type)t;
}

bool vy_has_float(const vy_front *f, vy_text_type t)
{
    for (uint32_t k = 0; k < vy_scalars(f, t); k++)
        if (vy_type_is_float(vy_scalar_type(f, t, k))) return true;
    return false;
}

bool vy_stored_only(vy_text_type t)
{
    return !vy_is_made(t) && vy_type_loaded((vy_type)t) != (vy_type)t;
}

uint32_t vy_result_scalars(const vy_front *f, const vy_func *fn)
{
    uint32_t n = 0;
    for (uint32_t k = 0; k < fn->result_count; k++) n += vy_scalars(f, fn->results[k]);
    return n;
}

// ------------------------------------------------------------------------------------------ names
const char *vy_scalar_name(vy_front *f, const vy_decl *d, uint32_t k)
{
    const char *name = d->name->text;
    vy_text_type t = d->type;
    for (const vy_made_type *m; (m = vy_made_of(f, t)) && !f->failed;) {
        char part[16] = {vy_component_name(k), 0};
        const vy_field *at = m->kind == VY_STRUCT ? field_at(m, &k) : NULL;
        t = at ? at->type : m->of;
        const uint32_t size = vy_scalars(f, t);
        if (m->kind != VY_VECTOR) snprintf(part, sizeof part, "%u", k / size);
        name = vy_front_joined(f, name, "_", at ? at->name->text : part);
        k %= size;
    }
    return name;
}

// ------------------------------------------------------------------------------------- components
static const char *const names[] = {"xyzw", "rgba"};

char vy_component_name(uint32_t k) { return names[0][k & 3]; }

uint32_t vy_components(const vy_name_rec *word, uint8_t *which)
{
    if (word->length > 4) return 0;
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        uint32_t k = 0;
        *which = 0;
        for (; k < word->length; k++) {
            const char *at = strchr(names[i], word->text[k]);
            if (!at) break;
            *which |= (uint8_t)((at - names[i]) << 2 * k);
        }
        if (k == word->length) return k;
    }
    return 0;
}
