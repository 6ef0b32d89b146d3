// SPDX-License-Identifier: MIT
// starts_meet.c: gradients of what a buffer begins as a copy of, where that is used otherwise, too.
//
//   program f(x: in f32[N], @workspace @init(x) b: inout f32[N], …) { … b[i] … x[i] … }
//
// Of what b begins as the adjoint is that of b; by itself it takes the place of the adjoint of x
// (reverse/starts.c).  Where x has an adjoint of its own, or where two buffers begin as x, or where
// the gradient is added to what the caller has, adjoints have to be added, element by element,
// behind the program; and where the two have other shapes, they are no one buffer.  That is what a
// pipeline does:
//
//   pipeline f(x: in f32[N], …) { buffer b: f32[N];  copy(x, b);  f_apart(x, b, …); }
//
// So is the gradient of an `inout`, if it is added to what the caller has: its adjoint begins as
// the cotangent, which is no part of the sum (reverse/params.c).
#include "autodiff/driver/starts_meet.h"

#include "autodiff/driver/alone.h"
#include "autodiff/reverse/sweeps.h"
#include "autodiff/stages/stages.h"
#include "ir/build/edit.h"

#include <string.h>

// ------------------------------------------------------------------------------------ the question
static bool is_named(const char *name, const char *const *names, uint32_t count)
{
    for (uint32_t k = 0; k < count; k++)
        if (strcmp(names[k], name) == 0) return true;
    return false;
}

// The input that buffer i begins as, if both are floats; 0: none.
static uint32_t start_of(const vy_program *p, uint32_t i)
{
    const vy_buf *b = &p->buffers.data[i];
    if (vy_starts_as(b) != VY_INIT_COPY || !vy_type_is_float(b->type)) return 0;
    const uint32_t from = vy_program_find_buffer(p, b->init_from).id;
    const vy_buf *x = &p->buffers.data[from];
    return !x->workspace && (x->cls == VY_IN || x->cls == VY_INOUT) ? from : 0;
}

static bool is_accessed(const vy_program *p, uint32_t buffer)
{
    for (uint32_t id = 1; id < p->insts.count; id++)
        if (vy_op_is_memory((vy_op)p->insts.data[id].op) && p->insts.data[id].aux == buffer)
            return true;
    return false;
}

static bool is_requested(const vy_program *p, const vy_grad_options *o, uint32_t x)
{
    const char *name = p->buffers.data[x].name;
    return o->wrt ? is_named(name, o->wrt, o->wrt_count) : vy_grad_default_wrt(p, (vy_buffer){x});
}

// Is the gradient of an `inout` added to what the caller has?
static bool adds_to_updated(const vy_program *p, const vy_grad_options *o)
{
    bool any = false;
    for (uint32_t k = 0; k < o->add_count; k++) {
        const uint32_t x = vy_program_find_buffer(p, o->add[k]).id;
        any |= x && !p->buffers.data[x].workspace && p->buffers.data[x].cls == VY_INOUT;
    }
    return any;
}

bool vy_starts_meet(const vy_program *p, const vy_grad_options *o)
{
    if (adds_to_updated(p, o)) return true;
    for (uint32_t i = 1; i < p->buffers.count; i++) {
        const uint32_t x = start_of(p, i);
        if (!x || !is_requested(p, o, x)) continue;
        const char *name = p->buffers.data[x].name;
        if (is_named(name, o->add, o->add_count) || is_named(name, o->of, o->of_count)) return true;
        if (is_accessed(p, x)) return true;
        if (!vy_starts_alike(p, &p->buffers.data[i], &p->buffers.data[x])) return true;
        for (uint32_t k = i + 1; k < p->buffers.count; k++)
            if (start_of(p, k) == x) return true;
    }
    return false;
}

// ----------------------------------------------------------------------------------------- the way
static bool make_alone(vy_module *work, const vy_program *p, vy_grad_options *o, vy_diag *diag)
{
    vy_program *copy = vy_module_find(work, p->name);
    uint8_t *given = vy_arena_alloc(&work->arena, p->buffers.count);
    if (!given || !vy_alone_outputs(work, p, o)) return false;
    for (uint32_t i = 1; i < p->buffers.count; i++) {
        const uint32_t x = start_of(p, i);
        given[i] = x && is_requested(p, o, x);
    }
    // Its derivative is a part of that of the pipeline, which has the name.
    copy->name = vy_stage_name(work, copy, "apart");
    return copy->name && vy_alone(work, copy, p->name, given, diag);
}

vy_module *vy_apart(const vy_program *p, vy_grad_options *o, vy_diag *diag)
{
    return vy_alone_module(p, make_alone, o, diag);
}

vy_module *vy_derive_apart(const vy_program *p, const vy_grad_options *o, vy_derive_call *call,
                           vy_diag *diag)
{
    return vy_alone_derive(p, make_alone, o, call, diag);
}
