// SPDX-License-Identifier: MIT
// pipe_scalars.c: the scalars of a dispatch, those given and those that shapes determine.
#include "ir/build/edit.h"
#include "ir/build/pipe_build.h"
#include "ir/core/pipe.h"

#include <stdio.h>
#include <string.h>

void vy_pipe_fail(vy_pipe *q, vy_code code, const char *fix, const char *format, const char *x,
                  const char *y)
{
    vy_fail(q->m, code, q->b->line, q->b->column, fix, format, x, y);
    q->b->failed = true;
}

void vy_pipe_infer(const vy_program *signature, const vy_program *p, const vy_pipe_arg *args,
                   vy_dim *dims)
{
    for (uint32_t s = 0; s < p->scalars.count; s++) dims[s] = (vy_dim){0};
    for (uint32_t id = 1; id < p->buffers.count; id++) {
        const vy_buf *b = &p->buffers.data[id];
        if (!vy_pipe_binds(b)) continue;
        const vy_buf *passed = &signature->buffers.data[args->buffer.id];
        const bool reshaped = args->flat && b->rank > 1; // by nothing but its scalars
        for (uint32_t k = 0; k < b->rank && !reshaped; k++) {
            int s = vy_program_dim_scalar(p, b->dims[k]);
            if (s >= 0 && !dims[s].id)
                dims[s] = args->flat ? args->elements : passed->dims[args->rank + k];
        }
        args++;
    }
}

// Puts the given scalars, found by name, into the program's order.
static bool place_given(vy_pipe *q, const vy_program *p, vy_pipe_scalar *scalars, uint32_t count,
                        const vy_pipe_scalar *given)
{
    const uint32_t n = p->scalars.count;
    uint32_t next = 0; // usually given in order
    for (uint32_t g = 0; g < count; g++) {
        uint32_t k = 0;
        while (k < n && strcmp(p->scalars.data[(next + k) % n].name, given[g].name) != 0) k++;
        if (k == n) {
            vy_pipe_fail(q, VY_E_PIPE_SCALAR, "name scalar parameters of the program only",
                         "`%s` has no scalar `%s`", p->name, given[g].name);
            return false;
        }
        vy_pipe_scalar *s = &scalars[next = (next + k) % n];
        if (s->kind != VY_PIPE_INFER) {
            vy_pipe_fail(q, VY_E_PIPE_SCALAR, "give it once", "scalar `%s` of `%s` is given twice",
                         given[g].name, p->name);
            return false;
        }
        const char *name = s->name;
        *s = given[g];
        s->name = name;
    }
    return true;
}

// Makes an integer scalar a dimension expression, however it was given.
static void as_dim(vy_pipe *q, vy_type type, vy_pipe_scalar *s)
{
    if (!vy_type_is_integer(type) || s->kind == VY_PIPE_DIM) return;
    if (s->kind == VY_PIPE_CONST)
        s->dim = vy_dim_const(q->b, s->value.i);
    else if (s->scalar < q->b->p->scalars.count)
        s->dim = vy_dim_value(q->b, (vy_value){vy_leaf_other(q->b, VY_LEAF_SCALAR,
                                                             q->b->p->scalars.data[s->scalar].type,
                                                             s->scalar, 0)});
    else
        vy_build_fail(q->b, VY_E_API, "vy_pipeline_dispatch: no scalar %u", s->scalar);
    *s = (vy_pipe_scalar){.name = s->name, .kind = VY_PIPE_DIM, .dim = s->dim};
}

// Would a buffer that is passed flat determine the scalar, passed as it is?
static bool is_flat_extent(const vy_program *p, const vy_pipe_arg *args, uint32_t scalar)
{
    bool found = false;
    for (uint32_t id = 1; id < p->buffers.count; id++) {
        const vy_buf *b = &p->buffers.data[id];
        if (!vy_pipe_binds(b)) continue;
        for (uint32_t k = 0; k < b->rank && args->flat; k++)
            found |= vy_program_dim_scalar(p, b->dims[k]) == (int)scalar;
        args++;
    }
    return found;
}

static bool infer(vy_pipe *q, const vy_program *p, const vy_pipe_arg *args, vy_pipe_scalar *scalars)
{
    vy_dim *shown = vy_realloc(NULL, (p->scalars.count + 1) * sizeof *shown);
    if (!shown) {
        vy_build_oom(q->b);
        return false;
    }
    vy_pipe_infer(q->b->p, p, args, shown);
    for (uint32_t i = 0; i < p->scalars.count && !vy_builder_failed(q->b); i++) {
        vy_pipe_scalar *s = &scalars[i];
        if (s->kind != VY_PIPE_INFER) {
            as_dim(q, p->scalars.data[i].type, s);
        } else if (shown[i].id) {
            s->kind = VY_PIPE_DIM;
            s->dim = shown[i];
        } else {
            char fix[120];
            snprintf(fix, sizeof fix, "give it: %.40s=value", s->name);
            vy_pipe_fail(
                q, VY_E_PIPE_SCALAR, fix,
                is_flat_extent(p, args, i)
                    ? "scalar `%s` of `%s` is not inferred from what is passed flat"
                    : "scalar `%s` of `%s` is not by itself a dimension of a buffer, so it is not "
                      "inferred",
                s->name, p->name);
        }
    }
    vy_free(shown);
    return !vy_builder_failed(q->b);
}

bool vy_pipe_scalars(vy_pipe *q, const vy_program *p, const vy_pipe_arg *args, vy_pipe_scalar *all,
                     uint32_t count, const vy_pipe_scalar *given)
{
    return place_given(q, p, all, count, given) && infer(q, p, args, all);
}
