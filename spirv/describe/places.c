// SPDX-License-Identifier: MIT
// places.c: the set and binding of every parameter of a kernel.
//
//   of a text                  as declared, else in order of declaration in set 0
//   of a shader, host_layout   what the shader has stays; all else is in a set of its own, the one
//                              after the highest of all kernels that are compiled together, so that
//                              a host adds one set to those it binds, the same for all steps
//   of a shader, otherwise     in order of declaration in set 0, dense: the layout of our runtime
#include "spirv/describe/describe.h"

enum { LAST_SET = 3 }; // every device has four

static bool is_parameter(const vy_buf *b) { return vy_is_global(b->cls); }

static bool takes_place(vy_place_of *free, uint32_t set, uint32_t binding)
{
    if (set < free->set) return false;
    const bool same = set == free->set;
    if (!same || binding >= free->binding) *free = (vy_place_of){set, binding + 1};
    return true;
}

vy_place_of vy_describe_free_place(const vy_program *const *programs, uint32_t count)
{
    vy_place_of free = {0};
    bool any = false;
    for (uint32_t k = 0; k < count; k++) {
        const vy_program *p = programs[k];
        for (uint32_t i = 1; i < p->buffers.count; i++) {
            const vy_layout *l = &p->buffers.data[i].layout;
            if (l->given) any |= takes_place(&free, l->set, l->binding);
        }
        for (uint32_t i = 0; i < p->scalars.count; i++) {
            const vy_layout *l = &p->scalars.data[i].layout;
            if (l->given && l->uniform) any |= takes_place(&free, l->set, l->binding);
        }
    }
    return any && free.set < LAST_SET ? (vy_place_of){free.set + 1, 0} : free;
}

vy_place_of vy_describe_next_place(vy_describe *d)
{
    const vy_place_of next = d->free;
    d->free.binding++;
    return next;
}

static void number_bindings(vy_describe *d)
{
    for (uint32_t i = 1; i < d->p->buffers.count; i++) {
        const vy_buf *b = &d->p->buffers.data[i];
        if (!is_parameter(b)) continue;
        d->places[i] = d->hosted && b->layout.given
                           ? (vy_place_of){b->layout.set, b->layout.binding}
                           : vy_describe_next_place(d);
    }
}

static void take_declared(vy_describe *d)
{
    for (uint32_t i = 1; i < d->p->buffers.count; i++) {
        const vy_buf *b = &d->p->buffers.data[i];
        if (!is_parameter(b)) continue;
        d->places[i] = (vy_place_of){b->set, b->binding};
        if (b->set == 0 && b->binding >= d->free.binding) d->free.binding = b->binding + 1;
    }
}

bool vy_describe_places(vy_describe *d, const vy_place_of *host)
{
    const vy_program *p = d->p;
    d->hosted = p->shader && host;
    d->places = vy_arena_alloc(d->arena, p->buffers.count * sizeof *d->places);
    if (!d->places) d->oom = true;
    if (d->oom) return false;
    if (d->hosted) d->free = *host;
    if (p->shader)
        number_bindings(d);
    else
        take_declared(d);
    d->kernel->hosted = d->hosted;
    return true;
}

// ------------------------------------------------------------------------------ what is described
bool vy_describe_is_given(const vy_describe *d, const vy_kernel_param *param)
{
    return d->hosted && param->kind == VY_PARAM_SCALAR &&
           d->p->scalars.data[param->index].layout.given;
}

const vy_kernel_from *vy_describe_from(vy_describe *d, const vy_layout *l, uint32_t rank,
                                       bool pushed)
{
    if (!d->hosted || !l->given) return NULL;
    vy_kernel_from *from = vy_arena_alloc(d->arena, sizeof *from);
    uint32_t *strides = l->strides ? vy_arena_alloc(d->arena, (rank + 1) * sizeof *strides) : NULL;
    if (!from || (l->strides && !strides)) {
        d->oom = true;
        return NULL;
    }
    for (uint32_t k = 0; strides && k < rank; k++) strides[k] = l->strides[k];
    *from = (vy_kernel_from){.set = pushed ? VY_NO_BINDING : l->set,
                             .binding = pushed ? VY_NO_BINDING : l->binding,
                             .uniform = l->uniform,
                             .offset = l->offset,
                             .rank = strides ? rank : 0,
                             .strides = strides};
    return from;
}

void vy_describe_constants(vy_describe *d)
{
    vy_kernel *k = d->kernel;
    const uint32_t n = d->params.count;
    vy_kernel_param *rest = vy_arena_alloc(d->arena, (n + 1) * sizeof *rest);
    vy_kernel_constant *given = vy_arena_alloc(d->arena, (n + 1) * sizeof *given);
    if (!rest || !given) d->oom = true;
    for (uint32_t i = 0; i < n && !d->oom; i++) {
        const vy_kernel_param *param = &d->params.data[i];
        if (param->size == 0) continue; // a length
        if (!vy_describe_is_given(d, param)) {
            rest[k->param_count++] = *param;
            continue;
        }
        const vy_layout *l = &d->p->scalars.data[param->index].layout;
        const vy_kernel_from *from = vy_describe_from(d, l, 0, !l->uniform);
        given[k->constant_count++] = (vy_kernel_constant){*param, from};
    }
    k->params = rest;
    k->constants = given;
}
