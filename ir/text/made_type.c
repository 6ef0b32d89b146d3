// SPDX-License-Identifier: MIT
// made_type.c: types that are made of others: a table.
//
// The IR knows scalars only.  A value of a made type is that many scalars, in the order of the
// table; lowering (lower_expr.c) walks the same tree for both, and what it gives are tuples, of
// one scalar for a scalar.  The names of made types are not words of the language: a variable or
// function may have them.
#include "ir/text/front.h"

#include <string.h>

typedef struct made_type {
    const char *name;
    uint8_t element; // vy_type of its scalars
    uint8_t scalars;
} made_type;

#define VECTORS(prefix, type)                                                                      \
    {prefix "vec2", type, 2}, {prefix "vec3", type, 3}, { prefix "vec4", type, 4 }
static const made_type made[] = {VECTORS("", VY_F32),  VECTORS("i", VY_I32), VECTORS("u", VY_U32),
                                 VECTORS("d", VY_F64), VECTORS("h", VY_F16), VECTORS("b", VY_BOOL)};
enum { MADE = sizeof made / sizeof *made };

static const made_type *row(vy_text_type t)
{
    return t >= VY_MADE && t - VY_MADE < MADE ? &made[t - VY_MADE] : NULL;
}

const char *vy_made_type_name(uint32_t i) { return i < MADE ? made[i].name : NULL; }

vy_text_type vy_made_type_named(const char *s, size_t n)
{
    for (uint32_t i = 0; i < MADE; i++)
        if (strlen(made[i].name) == n && memcmp(made[i].name, s, n) == 0)
            return (vy_text_type)(VY_MADE + i);
    return VY_VOID;
}

vy_text_type vy_vector_type(vy_text_type of, uint32_t n)
{
    if (n == 1) return of;
    for (uint32_t i = 0; i < MADE; i++)
        if (made[i].element == of && made[i].scalars == n) return (vy_text_type)(VY_MADE + i);
    return VY_BROKEN;
}

uint32_t vy_scalars(vy_text_type t)
{
    const made_type *m = row(t);
    return m ? m->scalars : 1;
}

vy_text_type vy_element(vy_text_type t)
{
    const made_type *m = row(t);
    return m ? m->element : t;
}

bool vy_stored_only(vy_text_type t)
{
    return !vy_is_made(t) && vy_type_loaded((vy_type)t) != (vy_type)t;
}

uint32_t vy_result_scalars(const vy_func *fn)
{
    uint32_t n = 0;
    for (uint32_t k = 0; k < fn->result_count; k++) n += vy_scalars(fn->results[k]);
    return n;
}

const char *vy_scalar_name(vy_front *f, const vy_decl *d, uint32_t k)
{
    if (!vy_is_made(d->type)) return d->name->text;
    const size_t n = d->name->length;
    char *name = vy_front_alloc(f, n + 3);
    if (f->failed) return d->name->text;
    memcpy(name, d->name->text, n);
    name[n] = '_', name[n + 1] = vy_component_name(k), name[n + 2] = 0;
    return name;
}

// ------------------------------------------------------------------------------------- components
static const char *const names[] = {"xyzw", "rgba"};

char vy_component_name(uint32_t k) { return names[0][k & 3]; }

uint32_t vy_components(const vy_name_rec *word, uint8_t *which)
{
    if (word->length > VY_MAX_SCALARS) return 0;
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
