// SPDX-License-Identifier: MIT
// pipe_condition.c: the programs that compute conditions on floats.
//
//   while value(r[k]) > eps * s {    →    buffer holds: u32[1];
//                                         condition(r, holds, x1=eps, x2=s, x0_i0=k);
//                                         … value(holds[0]) …
//
//   program condition(x0: in f32[x0_n0], holds: out u32[1], x0_n0: u32, x0_i0: u32,
//                     x1: f32, x2: f32) over(i: 1) { holds[0] = x0[x0_i0] > x1 * x2 ? 1 : 0; }
//
// A pipeline computes with integers (dimensions); so the device compares floats, and the result is
// read.  An index out of range reads 0, as in programs.
#include "ir/build/edit.h"
#include "ir/build/pipe_build.h"
#include "ir/core/pipe.h"

#include <stdio.h>

enum { NAME = 32 };

static void index_name(char text[NAME], uint32_t operand, char kind, uint32_t axis)
{
    snprintf(text, NAME, "x%u_%c%u", operand, kind, axis);
}

static uint32_t rank_of(const vy_pipe *q, const vy_pipe_operand *x)
{
    return x->buffer.id ? q->b->p->buffers.data[x->buffer.id].rank : 0;
}

static vy_value operand(vy_builder *b, const vy_pipe_condition *c, uint32_t k, uint32_t rank)
{
    vy_dim dims[VY_MAX_RANK] = {{0}};
    vy_value index[VY_MAX_RANK];
    char name[NAME], text[NAME];
    const bool whole = c->operands[k].scalar.kind == VY_PIPE_DIM;
    snprintf(name, sizeof name, "x%u", k);
    if (!rank && whole) return vy_cast(b, c->type, vy_param_scalar(b, name, VY_I32));
    if (!rank) return vy_param_scalar(b, name, c->type);
    for (uint32_t i = 0; i < rank; i++) {
        index_name(text, k, 'n', i);
        dims[i] = vy_dim_value(b, vy_param_scalar(b, text, VY_U32));
    }
    const vy_buffer x = vy_param_buffer(b, name, VY_IN, c->type, rank, dims);
    for (uint32_t i = 0; i < rank; i++) {
        index_name(text, k, 'i', i);
        index[i] = vy_param_scalar(b, text, VY_U32);
    }
    return vy_load(b, x, index);
}

static vy_program *make(vy_pipe *q, const vy_pipe_condition *c)
{
    char name[NAME] = "condition";
    bool taken = true;
    for (uint32_t n = q->conditions; taken; n++) {
        if (n) snprintf(name, sizeof name, "condition_%u", n + 1);
        taken = vy_module_find(q->m, name) || vy_module_find_pipeline(q->m, name) ||
                (q->names && q->names->is_taken(q->names->user, name));
        q->conditions = n + 1;
    }
    vy_builder *b = vy_program_begin(q->m, name);
    vy_value *values = vy_realloc(NULL, (c->count + 1) * sizeof *values);
    if (b && !values) vy_build_oom(b);
    if (b) b->p->order = q->b->p->order;
    for (uint32_t k = 0; b && values && k < c->count; k++)
        values[k] = operand(b, c, k, rank_of(q, &c->operands[k]));
    if (b && values) {
        const vy_dim one = vy_dim_const(b, 1);
        const vy_buffer holds = vy_param_buffer(b, "holds", VY_OUT, VY_U32, 1, &one);
        const vy_value i = vy_over(b, "i", one), yes = vy_int(b, VY_U32, 1),
                       no = vy_int(b, VY_U32, 0);
        vy_store(b, holds, &i, vy_select(b, c->build(c->user, b, values), yes, no));
    }
    vy_free(values);
    return b ? vy_program_end(b) : NULL;
}

// What the program takes of operand k, after *n arguments and *s scalars.
static void pass(const vy_pipe *q, const vy_pipe_operand *x, uint32_t k, char (*names)[NAME],
                 vy_pipe_arg *args, uint32_t *n, vy_pipe_scalar *scalars, uint32_t *s)
{
    const uint32_t rank = rank_of(q, x);
    if (rank) args[(*n)++] = (vy_pipe_arg){.buffer = x->buffer};
    for (uint32_t i = 0; i < rank; i++) {
        index_name(names[*s], k, 'i', i);
        scalars[*s] = (vy_pipe_scalar){.name = names[*s], .kind = VY_PIPE_DIM, .dim = x->index[i]};
        (*s)++;
    }
    if (rank) return;
    snprintf(names[*s], NAME, "x%u", k);
    scalars[*s] = x->scalar;
    scalars[*s].name = names[*s];
    (*s)++;
}

static vy_dim test(vy_pipe *q, const vy_pipe_condition *c, vy_arena *arena)
{
    const vy_program *p = make(q, c);
    uint32_t n = 0, s = 0, most = 1;
    char own[320];
    if (!p) q->b->failed = true;
    for (uint32_t k = 0; k < c->count; k++) most += 1 + rank_of(q, &c->operands[k]);
    vy_pipe_arg *args = vy_arena_alloc(arena, most * sizeof *args);
    vy_pipe_scalar *scalars = vy_arena_alloc(arena, most * sizeof *scalars);
    char(*names)[NAME] = vy_arena_alloc(arena, most * sizeof *names);
    if (!args || !scalars || !names) vy_build_oom(q->b);
    if (q->b->failed) return (vy_dim){0};
    for (uint32_t k = 0; k < c->count; k++)
        pass(q, &c->operands[k], k, names, args, &n, scalars, &s);
    const vy_dim one = vy_dim_const(q->b, 1), zero = vy_dim_const(q->b, 0);
    const char *name = q->names ? q->names->buffer(q->names->user, "holds")
                                : vy_free_name(q->b->p, "holds", "condition", own);
    const vy_buffer holds = vy_pipeline_buffer(q, name, VY_U32, 1, &one);
    args[n++] = (vy_pipe_arg){.buffer = holds};
    vy_pipeline_dispatch(q, p, n, args, s, scalars, NULL);
    return vy_pipeline_value(q, holds, &zero);
}

vy_dim vy_pipe_holds(vy_pipe *q, const vy_pipe_condition *c)
{
    vy_arena arena = {0};
    if (vy_builder_failed(q->b)) return (vy_dim){0};
    const vy_dim holds = test(q, c, &arena);
    vy_arena_free(&arena);
    return holds;
}
