// SPDX-License-Identifier: MIT
// sema_row.c: rows of buffers.
//
//   fn norm2(v: f32[3]) -> f32 { … }
//   program f(x: in f32[N, 3], …) over(i: N) { … norm2(x[i]) … }
//
// An element with fewer indices than its buffer has dimensions is a value: an array of the elements
// along the rest, where the text says how many these are.
#include "ir/text/front.h"

// The number that a dimension is; 0: it depends on the launch, or is computed.
static uint64_t number_of(const vy_ast_expr *e)
{
    if (e->kind == EX_INT) return e->u.value;
    const vy_decl *d = e->kind == EX_NAME && e->u.ref.name ? e->u.ref.decl : NULL;
    return d && d->kind == DK_CONST ? d->value.u : 0;
}

// Of the dimensions from this one on.
static vy_text_type row_from(vy_front *f, vy_text_type element, const vy_ast_expr *dims)
{
    if (!dims) return element;
    const vy_text_type of = row_from(f, element, dims->next);
    const uint64_t n = of == VY_VOID ? 0 : number_of(dims);
    if (n == 0 || n > VY_MAX_SCALARS || n * vy_scalars(f, of) > VY_MAX_SCALARS) return VY_VOID;
    return vy_array_type(f, of, (uint32_t)n);
}

vy_text_type vy_row_type(vy_front *f, const vy_decl *d, uint32_t count)
{
    const vy_ast_expr *rest = d->dims;
    if (count == 0 || count >= d->rank || vy_stored_only(d->type)) return VY_VOID;
    for (uint32_t k = 0; k < count; k++) rest = rest->next;
    return row_from(f, d->type, rest);
}
