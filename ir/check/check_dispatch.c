// SPDX-License-Identifier: MIT
// check_dispatch.c: checks what one dispatch of a pipeline passes to its program.
//
// Shapes are compared where that needs no data: `h: f32[B, H]` passed where `[M, K]` is declared
// gives M = B; if another argument gives M = T, that is a contradiction only if B and T are
// different constants, or one is the other plus a constant.  Everything else is compared when the
// pipeline runs.
#include "ir/check/check.h"
#include "ir/core/pipe.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

static bool refuse(vy_module *m, const vy_pipe_step *s, vy_code code, const char *fix,
                   const char *format, ...) __attribute__((format(printf, 5, 6)));
static bool refuse(vy_module *m, const vy_pipe_step *s, vy_code code, const char *fix,
                   const char *format, ...)
{
    va_list args;
    va_start(args, format);
    vy_diag_set_args(&m->diag, code, s->line, s->column, fix, format, args);
    va_end(args);
    return false;
}

// The program, or the signature of the pipeline, whose parameters are given.
static const vy_program *callee(const vy_pipeline *l, const vy_pipe_step *s)
{
    return s->kind == VY_PIPE_CALL ? l->module->pipelines.data[s->program]->signature
                                   : l->module->programs.data[s->program];
}

// -------------------------------------------------------------------------------------- arguments
static bool check_argument(vy_module *m, const vy_program *sig, const vy_program *p,
                           const vy_pipe_step *s, const vy_buf *b, const vy_pipe_arg *a)
{
    if (!a->buffer.id || a->buffer.id >= sig->buffers.count)
        return refuse(m, s, VY_E_API, NULL, "a dispatch of `%s` passes no buffer for `%s`", p->name,
                      b->name);
    const vy_buf *passed = &sig->buffers.data[a->buffer.id];
    if (passed->type != b->type)
        return refuse(m, s, VY_E_PIPE_ARGUMENTS, NULL,
                      "`%s` of `%s` has elements of type %s, `%s` has %s", b->name, p->name,
                      vy_type_name(b->type), passed->name, vy_type_name(passed->type));
    const uint32_t rank = passed->rank - a->rank;
    if (a->rank > passed->rank || (a->flat ? !rank : rank != b->rank))
        return refuse(m, s, VY_E_PIPE_ARGUMENTS,
                      "pass a buffer or slice with as many dimensions as the parameter",
                      "`%s` of `%s` has %u dimensions, `%s`%s has %d", b->name, p->name, b->rank,
                      passed->name, a->rank ? " sliced" : "", (int)rank);
    if (b->cls != VY_IN && passed->cls == VY_IN)
        return refuse(m, s, VY_E_STORE_IN, "declare it `inout`, or write to a `buffer`",
                      "`%s` is an `in` parameter of the pipeline, and `%s` of `%s` is written",
                      passed->name, b->name, p->name);
    return true;
}

bool vy_check_arguments(vy_module *m, const vy_program *sig, const vy_program *p,
                        const vy_pipe_step *s)
{
    uint32_t n = 0;
    for (uint32_t id = 1; id < p->buffers.count; id++) n += vy_pipe_binds(&p->buffers.data[id]);
    if (n != s->arg_count)
        return refuse(m, s, VY_E_PIPE_ARGUMENTS, NULL,
                      "`%s` takes %u buffers, this dispatch passes %u", p->name, n, s->arg_count);
    const vy_pipe_arg *a = s->args;
    for (uint32_t id = 1; id < p->buffers.count; id++) {
        const vy_buf *b = &p->buffers.data[id];
        if (vy_pipe_binds(b) && !check_argument(m, sig, p, s, b, a++)) return false;
    }
    return true;
}

// --------------------------------------------------------------------------------------- scalars
static bool fits(vy_type type, int64_t value)
{
    vy_scalar v = vy_wrap(type, (vy_scalar){.i = value});
    return v.i == value && (vy_type_is_signed(type) || value >= 0);
}

static bool check_scalar(vy_pipeline *l, const vy_pipe_step *s, const vy_scalar_param *param,
                         const vy_pipe_scalar *v, const vy_dim_facts *facts)
{
    const vy_program *p = callee(l, s);
    const char *name = param->name;
    if (vy_type_is_integer(param->type) != (v->kind == VY_PIPE_DIM))
        return refuse(l->module, s, VY_E_PIPE_SCALAR,
                      "give integers as integer expressions, others as constants or parameters",
                      "scalar `%s` of `%s` is %s", name, p->name, vy_type_name(param->type));
    if (v->kind == VY_PIPE_DIM) {
        vy_extent e = facts->form[v->dim.id];
        if (e.base || fits(param->type, e.offset)) return true;
        return refuse(l->module, s, VY_E_LITERAL_RANGE, NULL,
                      "scalar `%s` of `%s` is %lld, which does not fit %s", name, p->name,
                      (long long)e.offset, vy_type_name(param->type));
    }
    const vy_program *sig = l->signature;
    if (v->kind == VY_PIPE_PARAM && v->scalar < sig->scalars.count) {
        const vy_scalar_param *given = &sig->scalars.data[v->scalar];
        if (given->type == param->type) return true;
        return refuse(l->module, s, VY_E_TYPES_DIFFER, "declare them with the same type",
                      "scalar `%s` of `%s` is %s, `%s` is %s", name, p->name,
                      vy_type_name(param->type), given->name, vy_type_name(given->type));
    }
    bool exact = vy_type_is_float(param->type)
                     ? v->value.f != v->value.f ||
                           vy_scalar_same(param->type, v->value,
                                          (vy_scalar){.f = vy_round_to(param->type, v->value.f)})
                     : v->value.u <= 1;
    if (v->kind == VY_PIPE_CONST && exact) return true;
    return refuse(l->module, s, VY_E_API, NULL, "scalar `%s` of `%s` has no value of its type",
                  name, p->name);
}

// ---------------------------------------------------------------------------------------- shapes
// Dimensions of the program, as far as the constants of this dispatch determine them.
typedef struct known_dims {
    const vy_program *p;
    int64_t *values;
    vy_dim_state *states;
} known_dims;

static bool make_known(known_dims *k, const vy_pipe_step *s, const vy_dim_facts *facts,
                       vy_arena *arena)
{
    const vy_program *p = k->p;
    int64_t *scalars = vy_arena_alloc(arena, p->scalars.count * sizeof *scalars + 1);
    bool *known = vy_arena_alloc(arena, p->scalars.count * sizeof *known + 1);
    int64_t groups[3] = {-1, -1, -1};
    k->values = vy_arena_alloc(arena, p->dims.count * sizeof *k->values);
    k->states = vy_arena_alloc(arena, p->dims.count * sizeof *k->states);
    if (!scalars || !known || !k->values || !k->states) return false;
    for (uint32_t i = 0; i < p->scalars.count; i++) {
        const vy_pipe_scalar *v = &s->scalars[i];
        known[i] = v->kind == VY_PIPE_DIM && facts->form[v->dim.id].base == 0;
        if (known[i]) scalars[i] = facts->form[v->dim.id].offset;
    }
    for (int axis = 0; s->groups && axis < 3; axis++) {
        vy_extent e = facts->form[s->groups[axis].id];
        groups[axis] = e.base ? -1 : e.offset;
    }
    vy_program_dim_values(p, scalars, known, NULL, groups, k->values, k->states);
    return true;
}

// The axis is scalar `name`, which is `want` here; the argument has `have`.  Their bases are equal.
static bool refuse_extent(vy_pipeline *l, const vy_pipe_step *s, const vy_buf *b, uint32_t axis,
                          const char *name, vy_extent want, vy_extent have)
{
    const char *program = callee(l, s)->name;
    if (have.base == 0)
        return refuse(
            l->module, s, VY_E_PIPE_SHAPE, NULL,
            "axis %u of `%s` of `%s` is `%s`, which is %lld here; what is passed has %lld", axis,
            b->name, program, name, (long long)want.offset, (long long)have.offset);
    bool longer = have.offset > want.offset;
    uint64_t h = (uint64_t)have.offset, w = (uint64_t)want.offset;
    return refuse(l->module, s, VY_E_PIPE_SHAPE, NULL,
                  "axis %u of `%s` of `%s` is `%s`; what is passed is %s by %llu", axis, b->name,
                  program, name, longer ? "longer" : "shorter",
                  (unsigned long long)(longer ? h - w : w - h));
}

static bool check_extent(vy_pipeline *l, const vy_pipe_step *s, const vy_dim_facts *facts,
                         const known_dims *k, const vy_buf *b, uint32_t axis, vy_dim passed)
{
    const vy_program *p = k->p;
    vy_extent have = facts->form[passed.id];
    const uint32_t d = b->dims[axis].id;
    int scalar = vy_program_dim_scalar(p, b->dims[axis]);
    if (scalar >= 0 && vy_other_dim(facts, s->scalars[scalar].dim, passed))
        return refuse_extent(l, s, b, axis, p->scalars.data[scalar].name,
                             facts->form[s->scalars[scalar].dim.id], have);
    if (have.base || k->states[d] != VY_DIM_IS_KNOWN || k->values[d] == have.offset) return true;
    return refuse(l->module, s, VY_E_PIPE_SHAPE, NULL,
                  "axis %u of `%s` of `%s` has length %lld, what is passed has %lld", axis, b->name,
                  p->name, (long long)k->values[d], (long long)have.offset);
}

bool vy_check_slice(vy_pipeline *l, const vy_pipe_step *s, const vy_dim_facts *facts,
                    vy_buffer buffer, uint32_t rank, const vy_dim *index)
{
    const vy_buf *b = &l->signature->buffers.data[buffer.id];
    for (uint32_t k = 0; k < rank; k++) {
        vy_extent i = facts->form[index[k].id], n = facts->form[b->dims[k].id];
        bool beyond = i.base == n.base && i.offset >= n.offset;
        if (!beyond && (i.base || i.offset >= 0)) continue;
        return refuse(l->module, s, VY_E_PIPE_SHAPE, "indices run from 0 to the length minus 1",
                      "index %u of `%s` is out of range", k, b->name);
    }
    return true;
}

// What is passed flat to a parameter with several dimensions.
static bool check_count(vy_pipeline *l, const vy_pipe_step *s, const vy_dim_facts *facts,
                        const known_dims *k, const vy_buf *b, const vy_pipe_arg *a)
{
    const vy_extent have = facts->form[a->elements.id];
    int64_t count = 1;
    bool known = !have.base;
    for (uint32_t axis = 0; axis < b->rank && known; axis++) {
        const uint32_t d = b->dims[axis].id;
        known =
            k->states[d] == VY_DIM_IS_KNOWN && !__builtin_mul_overflow(count, k->values[d], &count);
    }
    if (!known || count == have.offset) return true;
    return refuse(l->module, s, VY_E_PIPE_SHAPE, NULL,
                  "`%s` of `%s` has %lld elements here, `%s` flat has %lld", b->name, k->p->name,
                  (long long)count, l->signature->buffers.data[a->buffer.id].name,
                  (long long)have.offset);
}

static bool check_shapes(vy_pipeline *l, const vy_pipe_step *s, const vy_dim_facts *facts)
{
    vy_arena arena = {0};
    known_dims k = {.p = callee(l, s)};
    bool ok = make_known(&k, s, facts, &arena);
    if (!ok) vy_fail_oom(l->module);
    const vy_pipe_arg *a = s->args;
    for (uint32_t id = 1; ok && id < k.p->buffers.count; id++) {
        const vy_buf *b = &k.p->buffers.data[id];
        if (!vy_pipe_binds(b)) continue;
        const vy_buf *passed = &l->signature->buffers.data[a->buffer.id];
        ok = vy_check_slice(l, s, facts, a->buffer, a->rank, a->index);
        const bool reshaped = a->flat && b->rank > 1;
        if (ok && reshaped) ok = check_count(l, s, facts, &k, b, a);
        for (uint32_t axis = 0; ok && axis < b->rank && !reshaped; axis++)
            ok = check_extent(l, s, facts, &k, b, axis,
                              a->flat ? a->elements : passed->dims[a->rank + axis]);
        a++;
    }
    vy_arena_free(&arena);
    return ok;
}

// --------------------------------------------------------------------------------------- overlap
// Slices are sorted lexicographically: those provably inside a slice follow it, and between it and
// them there are only others inside it.
typedef struct passed_slice {
    const vy_pipe_arg *arg;
    const vy_dim_facts *facts;
    uint32_t above; // index in the list of the slice that encloses this one, or its own
    bool writes;
} passed_slice;

static int compare_slices(const passed_slice *x, const passed_slice *y, uint32_t rank)
{
    if (x->arg->buffer.id != y->arg->buffer.id)
        return x->arg->buffer.id < y->arg->buffer.id ? -1 : 1;
    for (uint32_t k = 0; k < rank; k++) {
        vy_extent a = x->facts->form[x->arg->index[k].id], b = y->facts->form[y->arg->index[k].id];
        if (a.base != b.base) return a.base < b.base ? -1 : 1;
        if (a.offset != b.offset) return a.offset < b.offset ? -1 : 1;
    }
    return 0;
}

static int by_slice(const void *a, const void *b)
{
    const passed_slice *x = a, *y = b;
    uint32_t m = x->arg->rank, n = y->arg->rank;
    int order = compare_slices(x, y, m < n ? m : n);
    return order ? order : (m > n) - (m < n);
}

static bool lies_in(const passed_slice *inner, const passed_slice *outer)
{
    return outer->arg->rank <= inner->arg->rank &&
           compare_slices(outer, inner, outer->arg->rank) == 0;
}

static bool check_sorted(vy_pipeline *l, const vy_pipe_step *s, passed_slice *list, uint32_t n)
{
    if (n) list[0].above = 0;
    for (uint32_t i = 1; i < n; i++) {
        uint32_t j = i - 1;
        while (!lies_in(&list[i], &list[j]) && list[j].above != j) j = list[j].above;
        bool inside = lies_in(&list[i], &list[j]);
        list[i].above = inside ? j : i;
        if (inside && (list[i].writes || list[j].writes))
            return refuse(l->module, s, VY_E_PIPE_OVERLAP, NULL,
                          "`%s` is passed twice to `%s`, which writes it",
                          l->signature->buffers.data[list[i].arg->buffer.id].name,
                          callee(l, s)->name);
    }
    return true;
}

static bool check_overlap(vy_pipeline *l, const vy_pipe_step *s, const vy_dim_facts *facts)
{
    const vy_program *p = callee(l, s);
    if (s->arg_count < 2) return true;
    passed_slice *list = vy_realloc(NULL, s->arg_count * sizeof *list);
    if (!list) {
        vy_fail_oom(l->module);
        return false;
    }
    uint32_t n = 0;
    for (uint32_t id = 1; id < p->buffers.count; id++)
        if (vy_pipe_binds(&p->buffers.data[id])) {
            list[n] = (passed_slice){&s->args[n], facts, 0, p->buffers.data[id].cls != VY_IN};
            n++;
        }
    qsort(list, n, sizeof *list, by_slice);
    bool ok = check_sorted(l, s, list, n);
    vy_free(list);
    return ok;
}

// ------------------------------------------------------------------------------------ entry point
static bool check_groups(vy_pipeline *l, const vy_pipe_step *s, const vy_dim_facts *facts)
{
    const vy_program *p = callee(l, s);
    const bool call = p->signature;
    const bool takes = call ? vy_pipeline_takes_groups(l->module->pipelines.data[s->program])
                            : p->overs.count == 0;
    if (takes != (s->groups != NULL) && call)
        return refuse(l->module, s, VY_E_PIPE_GROUPS, "leave out @groups",
                      "pipeline `%s` does not use num_groups", p->name);
    if (takes != (s->groups != NULL))
        return refuse(l->module, s, VY_E_PIPE_GROUPS, NULL,
                      s->groups ? "`%s` has `over`, which determines its number of workgroups"
                                : "`%s` has no `over`: how many workgroups run is not given",
                      p->name);
    for (int k = 0; s->groups && k < 3; k++) {
        vy_extent e = facts->form[s->groups[k].id];
        if (e.base || (e.offset >= 1 && e.offset <= UINT32_MAX)) continue;
        return refuse(l->module, s, VY_E_PIPE_GROUPS, "count workgroups from 1 up",
                      "a dispatch of `%s` with %lld workgroups", p->name, (long long)e.offset);
    }
    return true;
}

bool vy_check_dispatch(vy_pipeline *l, const vy_pipe_step *s, const vy_dim_facts *facts)
{
    const vy_program *p = callee(l, s);
    for (uint32_t i = 0; i < p->scalars.count; i++)
        if (!check_scalar(l, s, &p->scalars.data[i], &s->scalars[i], facts)) return false;
    return check_groups(l, s, facts) && check_shapes(l, s, facts) && check_overlap(l, s, facts);
}

bool vy_check_calls(vy_pipeline *l, uint32_t count, const vy_pipe_step *calls)
{
    vy_arena arena = {0};
    vy_dim_facts facts;
    if (count == 0) return true;
    bool ok = vy_check_declarations(l->signature);
    if (ok && !vy_dim_facts_make(&facts, l->signature, &arena)) {
        vy_fail_oom(l->module);
        ok = false;
    }
    for (uint32_t i = 0; ok && i < count; i++) ok = vy_check_dispatch(l, &calls[i], &facts);
    vy_arena_free(&arena);
    return ok;
}
