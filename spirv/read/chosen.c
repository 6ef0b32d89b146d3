// SPDX-License-Identifier: MIT
// chosen.c: an image of an array that is chosen when the shader runs.
//
//   imageLoad(layers[k], at)   →   if k == 0 { load of layers.0 }  if k == 1 { load of layers.1 } …
//
// Each image is a buffer of its own, so an access is one of each under its condition, and so are
// the derivatives.  Of one that the array has not, which Vulkan leaves undefined, texels and sizes
// are 0.
#include "spirv/read/image.h"

static bool access_each(read_texture *t, read_texture_access *access, void *of, uint32_t n,
                        const vy_var *results, vy_value *v)
{
    vy_builder *b = t->r->b;
    const vy_type type = vy_value_type(b, t->which);
    bool ok = true;
    for (uint32_t k = 0; ok && k < t->o->field_count; k++) {
        t->field = k;
        vy_if(b, vy_eq(b, t->which, vy_int(b, type, k)));
        ok = access(t, of, v) && !vy_builder_failed(b);
        for (uint32_t i = 0; ok && i < n; i++) vy_set(b, results[i], v[i]);
        if (ok) vy_end(b);
    }
    return ok;
}

bool read_texture_each(read_texture *t, read_texture_access *access, void *of, uint32_t type,
                       vy_value *v)
{
    reading *r = t->r;
    const uint32_t n = type ? read_type_of(r, type)->scalars : 0;
    if (!t->chosen) return access(t, of, v);
    if (vy_builder_failed(r->b)) return false;
    vy_var *results = vy_arena_alloc(&r->building, (n + 1) * sizeof *results);
    if (!results) return read_no_memory(r);
    for (uint32_t i = 0; i < n; i++)
        results[i] = vy_var_new(r->b, NULL, vy_int(r->b, read_scalar_type(r, type, i), 0));
    if (!access_each(t, access, of, n, results, v)) return false;
    for (uint32_t i = 0; i < n; i++) v[i] = vy_get(r->b, results[i]);
    return true;
}
