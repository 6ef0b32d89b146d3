// SPDX-License-Identifier: MIT
// fuse_programs.c: the code of two programs, one after the other, as one program.
//
//   program a(x: in, u: out) over(i: N) { A }
//   program b(x: in, v: out) over(i: N) { B }     →   program a_b(x: in, u: out, v: out)
//                                                         over(i: N) { A  B }
//
// Both are copied into a new program with their parameters and local arrays renumbered.  That an
// access is in range stays known; other marks say something about all of a program.
#include "ir/build/edit.h"
#include "ir/build/build.h"
#include "ir/core/derive_as.h"
#include "ir/host/fuse.h"

#include <stdio.h>
#include <string.h>

typedef struct part { // of the new program
    const vy_program *p;
    uint32_t *buffers, *scalars; // by those of p: the new buffer; the new scalar's value
    uint8_t *local;              // by buffer of p: it is an array of one element
    vy_dim *dims;
    uint32_t *map;
    uint32_t *args; // room for the operands of one instruction
} part;

typedef struct fusing {
    vy_module *m;
    vy_builder *b;
    const vy_program *overs; // has the variables of the domain
    vy_arena arena;
} fusing;

// ------------------------------------------------------------------------------------------- names
// Where the second name continues after the parts that both have: "step_gather_u", "step_gather_k".
static const char *rest_of(const char *first, const char *second)
{
    const char *rest = second;
    for (uint32_t k = 0; first[k] && first[k] == second[k]; k++)
        if (first[k] == '_') rest = second + k + 1;
    return *rest ? rest : second;
}

static bool is_taken(const vy_module *m, const char *name)
{
    return vy_module_find(m, name) || vy_module_find_pipeline(m, name);
}

static const char *name_of(const vy_module *m, const vy_program *a, const vy_program *b,
                           char text[220])
{
    int n = snprintf(text, 200, "%.90s_%.90s", a->name, rest_of(a->name, b->name));
    for (uint32_t k = 2; is_taken(m, text); k++) snprintf(text + n, 20, "_%u", k);
    return text;
}

static bool takes_name(const fusing *f, const char *name)
{
    const vy_program *p = vy_builder_program(f->b);
    for (uint32_t k = 0; k < f->overs->overs.count; k++)
        if (strcmp(f->overs->overs.data[k].name, name) == 0) return true;
    return vy_program_find_buffer(p, name).id || vy_program_find_scalar(p, name) != UINT32_MAX;
}

// A parameter of the second may be called like one of the first.
static const char *free_name(const fusing *f, const char *name, char text[320])
{
    int n = snprintf(text, 300, "%.280s", name);
    for (uint32_t k = 2; takes_name(f, text); k++) snprintf(text + n, 20, "_%u", k);
    return text;
}

// ------------------------------------------------------------------------------------ declarations
static vy_dim dimension(fusing *f, part *t, uint32_t d)
{
    const vy_dim_node *n = &t->p->dims.data[d];
    if (n->op == VY_DIM_SCALAR) return vy_dim_value(f->b, (vy_value){t->scalars[n->value]});
    return vy_dim_copy(f->b, n, t->dims);
}

static void declare_scalars(fusing *f, part *t, const part *first, const uint32_t *same)
{
    char text[320];
    for (uint32_t k = 0; k < t->p->scalars.count; k++) {
        const vy_scalar_param *s = &t->p->scalars.data[k];
        if (same && same[k]) {
            t->scalars[k] = first->scalars[same[k] - 1];
            continue;
        }
        const vy_value made = vy_param_scalar(f->b, free_name(f, s->name, text), s->type);
        vy_layout_keep_scalar(f->b, made, s);
        t->scalars[k] = made.id;
    }
    // Operands come before what uses them.
    for (uint32_t d = 1; d < t->p->dims.count && !vy_builder_failed(f->b); d++)
        t->dims[d] = dimension(f, t, d);
}

static vy_buffer declare_fused(fusing *f, const part *t, uint32_t buffer)
{
    char text[320];
    vy_dim dims[VY_MAX_RANK], one = vy_dim_const(f->b, 1);
    const vy_buf *of = &t->p->buffers.data[buffer];
    const char *name = free_name(f, of->name, text);
    if (t->local[buffer]) return vy_local_array(f->b, name, of->type, 1, &one);
    for (uint32_t k = 0; k < of->rank; k++) dims[k] = t->dims[of->dims[k].id];
    if (of->cls == VY_LOCAL) return vy_local_array(f->b, name, of->type, of->rank, dims);
    const vy_buffer made = vy_param_buffer(f->b, name, of->cls, of->type, of->rank, dims);
    if (of->owned) vy_buffer_owned(f->b, made);
    vy_build_vector(f->b, made, of->vector);
    vy_layout_keep(f->b, made, of);
    return made;
}

static void declare_buffers(fusing *f, part *t, const part *first, const uint32_t *same)
{
    for (uint32_t i = 1; i < t->p->buffers.count && !vy_builder_failed(f->b); i++) {
        const vy_buf *of = &t->p->buffers.data[i];
        if (!same || !same[i]) {
            t->buffers[i] = declare_fused(f, t, i).id;
            continue;
        }
        t->buffers[i] = first->buffers[same[i]];
        t->local[i] = first->local[same[i]];
        vy_buf *both = &vy_builder_program(f->b)->buffers.data[t->buffers[i]];
        if (of->cls != VY_IN && both->cls == VY_IN) both->cls = VY_INOUT; // reads, then writes
        both->owned = false; // the two may have different owners
    }
}

// -------------------------------------------------------------------------------------------- code
static uint32_t operand(fusing *f, const part *t, uint32_t a)
{
    if (!VY_IS_LEAF(a)) return t->map[a];
    const vy_leaf *l = &t->p->leaves.data[VY_LEAF_INDEX(a)];
    const vy_leaf_kind kind = (vy_leaf_kind)l->kind;
    if (kind == VY_LEAF_CONST) return vy_leaf_const(f->b, (vy_type)l->type, l->value);
    if (kind == VY_LEAF_SCALAR) return t->scalars[l->index];
    const uint32_t index = kind == VY_LEAF_LEN ? t->buffers[l->index] : l->index;
    return vy_leaf_other(f->b, kind, (vy_type)l->type, index, l->axis);
}

// The element of this invocation, in an array of one element.
static void copy_local(fusing *f, part *t, uint32_t id)
{
    const vy_inst *i = &t->p->insts.data[id];
    const uint32_t rank = t->p->buffers.data[i->aux].rank, n = i->nargs - rank + 1;
    uint32_t args[2] = {vy_zero(f->b, VY_U32).id, n > 1 ? t->args[rank] : 0};
    t->map[id] =
        vy_op_is_atomic((vy_op)i->op)
            ? vy_emit_update(f->b, (vy_op)i->op, VY_STRENGTH_PLAIN, t->buffers[i->aux], n, args)
            : vy_emit(f->b, (vy_op)i->op, (vy_type)i->type, t->buffers[i->aux], n, args);
}

static void copy_access(fusing *f, part *t, uint32_t id)
{
    const vy_inst *i = &t->p->insts.data[id];
    const vy_program *p = vy_builder_program(f->b);
    vy_at(f->b, i->line, i->column);
    if (t->local[i->aux]) {
        copy_local(f, t, id);
        return;
    }
    t->map[id] =
        vy_emit(f->b, (vy_op)i->op, (vy_type)i->type, t->buffers[i->aux], i->nargs, t->args);
    if (vy_builder_failed(f->b)) return;
    vy_inst *fresh = &p->insts.data[p->insts.count - 1];
    if (fresh->op != i->op) return;
    fresh->flags |= i->flags & VY_FLAG_INRANGE;
    if (i->type != VY_VOID && !fresh->name) fresh->name = i->name;
}

static void copy_code(fusing *f, part *t)
{
    for (uint32_t id = 1; id < t->p->insts.count && !vy_builder_failed(f->b); id++) {
        const vy_inst *i = &t->p->insts.data[id];
        for (uint32_t k = 0; k < i->nargs; k++) t->args[k] = operand(f, t, vy_arg(t->p, id, k));
        if (vy_op_is_memory((vy_op)i->op))
            copy_access(f, t, id);
        else
            vy_copy_with(f->b, t->p, id, t->args, t->map);
    }
}

static bool begin_part(fusing *f, part *t, const vy_program *p)
{
    uint32_t most = 0;
    for (uint32_t id = 1; id < p->insts.count; id++)
        if (most < p->insts.data[id].nargs) most = p->insts.data[id].nargs;
    t->p = p;
    t->buffers = vy_arena_room(&f->arena, p->buffers.count, sizeof *t->buffers);
    t->scalars = vy_arena_room(&f->arena, p->scalars.count, sizeof *t->scalars);
    t->local = vy_arena_room(&f->arena, p->buffers.count, 1);
    t->dims = vy_arena_room(&f->arena, p->dims.count, sizeof *t->dims);
    t->map = vy_arena_room(&f->arena, p->insts.count, sizeof *t->map);
    t->args = vy_arena_room(&f->arena, most, sizeof *t->args);
    return !f->arena.oom;
}

static vy_program *end(fusing *f, const vy_program *a, const vy_program *b)
{
    vy_program *p = vy_builder_program(f->b);
    if (!vy_builder_failed(f->b)) {
        memcpy(p->workgroup, a->workgroup, sizeof p->workgroup);
        p->has_workgroup = a->has_workgroup;
        p->fast_math = a->fast_math;
        p->exact = a->exact;
        p->gathers = a->gathers || b->gathers;
        p->exact_sums = vy_exact_sums(a) || vy_exact_sums(b);
        p->order = a->order;
        p->line = a->line;
    }
    return vy_program_end(f->b);
}

static void assume(fusing *w, const part *x)
{
    for (uint32_t k = 0; k < x->p->assumes.count; k++) {
        const vy_assumption *a = &x->p->assumes.data[k];
        vy_assume(w->b, x->dims[a->least.id], x->dims[a->most.id]);
    }
}

vy_program *vy_fuse_programs(vy_module *m, const vy_fused *f)
{
    char text[220];
    fusing w = {.m = m, .overs = f->first};
    part a, b;
    const bool ok = begin_part(&w, &a, f->first) && begin_part(&w, &b, f->second);
    w.b = ok ? vy_program_begin(m, name_of(m, f->first, f->second, text)) : NULL;
    vy_program *fresh = NULL;
    if (w.b) {
        vy_builder_program(w.b)->shader = f->first->shader && f->second->shader;
        declare_scalars(&w, &a, NULL, NULL);
        declare_scalars(&w, &b, &a, f->scalars);
        memcpy(a.local, f->local, f->first->buffers.count);
        declare_buffers(&w, &a, NULL, NULL);
        declare_buffers(&w, &b, &a, f->buffers);
        for (uint32_t k = 0; k < f->first->overs.count; k++)
            vy_over(w.b, f->first->overs.data[k].name, a.dims[f->first->overs.data[k].extent.id]);
        assume(&w, &a);
        assume(&w, &b);
        copy_code(&w, &a);
        copy_code(&w, &b);
        fresh = end(&w, f->first, f->second);
    }
    if (w.arena.oom) vy_fail_oom(m);
    vy_arena_free(&w.arena);
    return fresh;
}
