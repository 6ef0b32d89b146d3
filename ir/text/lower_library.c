// SPDX-License-Identifier: MIT
// lower_library.c: calls of functions that expand into operations (ir/build/library.h).
#include "ir/build/library.h"
#include "ir/text/lower.h"

#include <string.h>

static const vy_library_function *function_of(const vy_ast_expr *e)
{
    return vy_library_at(vy_call_builtin(e)->op);
}

static uint32_t lower_argument(vy_lower *l, const vy_ast_expr *e, vy_taken *x)
{
    uint32_t n = 0, most = 1;
    for (const vy_ast_expr *a = e->u.ref.list; a && n < VY_MOST_TAKEN; a = a->next, n++) {
        vy_value *v = vy_room_take(l, vy_scalars(l->f, a->type));
        x[n] = (vy_taken){v, vy_lower_value(l, a, v)};
        if (x[n].n > most) most = x[n].n;
    }
    return most;
}

// Each result has its components one after the other.
static void by_component(vy_lower *l, const vy_library_function *f, const vy_taken *x, uint32_t n,
                         vy_value *v)
{
    const uint32_t results = (uint32_t)strlen(f->gives);
    for (uint32_t k = 0; k < n; k++) {
        vy_value given[VY_MOST_GIVEN];
        vy_taken of[VY_MOST_TAKEN];
        for (uint32_t i = 0; i < VY_MOST_TAKEN; i++)
            of[i] = (vy_taken){x[i].v ? x[i].v + (x[i].n == 1 ? 0 : k) : NULL, 1};
        f->build(l->b, of, given);
        for (uint32_t r = 0; r < results; r++) v[r * n + k] = given[r];
    }
}

void vy_lower_library(vy_lower *l, const vy_ast_expr *e, uint32_t n, vy_value *v)
{
    const vy_library_function *f = function_of(e);
    vy_taken x[VY_MOST_TAKEN] = {{NULL, 0}};
    const uint32_t most = lower_argument(l, e, x);
    if (vy_lower_stopped(l)) return;
    vy_lower_at(l, e->line, e->column);
    if (vy_library_is_by_component(f)) {
        by_component(l, f, x, most, v);
        return;
    }
    vy_value given[VY_MOST_GIVEN];
    f->build(l->b, x, given);
    memcpy(v, given, n * sizeof *v);
}
