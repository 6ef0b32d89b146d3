// SPDX-License-Identifier: MIT
// declare.c: buffers of the result with the shape of one of the primal, and their names.
#include "autodiff/reverse/sweeps.h"
#include "ir/build/build.h"
#include "autodiff/storage/storage.h"

#include <stdio.h>
#include <string.h>

bool vy_reverse_copy_dims(reverse *r)
{
    const vy_program *p = r->p;
    for (uint32_t i = 1; i < p->dims.count; i++) {
        const vy_dim_node *d = &p->dims.data[i];
        if (r->build.dims[i].id) continue;
        if (d->op == VY_DIM_STEP) // of a host program: the same key
            r->build.dims[i] = vy_dim_step(r->b, (uint32_t)d->value);
        else if (d->op == VY_DIM_SCALAR)
            r->build.dims[i] = vy_dim_own_scalar(r->b, (uint32_t)d->value);
        else
            r->build.dims[i] = vy_dim_copy(r->b, d, r->build.dims);
    }
    return !vy_builder_failed(r->b);
}

void vy_reverse_role(reverse *r, uint32_t b, vy_derivative_kind kind, uint32_t like)
{
    const vy_buf *buf = &r->p->buffers.data[like];
    const vy_derivative_role *was = &buf->role;
    const bool itself = was->kind == VY_IS_PARAMETER || vy_is_source(was->root_kind);
    const vy_derivative_role role = {.kind = kind,
                                     .of = buf->name,
                                     .parameter = like,
                                     .root = was->root ? was->root : buf->name,
                                     .root_parameter = was->root ? was->root_parameter : like,
                                     .root_kind = itself ? kind : was->root_kind};
    vy_buffer_role(r->b, (vy_buffer){b}, &role);
}

void vy_reverse_scalar_role(reverse *r, uint32_t b, vy_derivative_kind kind, uint32_t scalar)
{
    const char *name = r->p->scalars.data[scalar].name;
    const vy_derivative_role role = {.kind = kind,
                                     .of = name,
                                     .parameter = scalar,
                                     .root = name,
                                     .root_parameter = scalar,
                                     .root_kind = kind};
    vy_buffer_role(r->b, (vy_buffer){b}, &role);
}

bool vy_reverse_is_free(reverse *r, const char *name)
{
    if (!vy_program_find_buffer(vy_builder_program(r->b), name).id) return true;
    vy_reverse_fail(r, VY_E_GRAD_NAME, 0, NULL,
                    "the derivative needs the name `%s`, which the program uses already", name);
    return false;
}

// A workspace of a derivative is as long as a buffer of open length.  Where no buffer of the result
// has that length yet, it is that of the buffer itself: bound, not accessed.  (Expressions are
// small: VY_MAX_DIM_NODES.)
static void declare_open_lengths(reverse *r, uint32_t d)
{
    const vy_dim_node *n = &r->p->dims.data[d];
    if (r->build.dims[d].id || r->failed || vy_builder_failed(r->b)) return;
    if (n->op >= VY_DIM_ADD) {
        declare_open_lengths(r, n->a);
        declare_open_lengths(r, n->b);
    } else if (n->op == VY_DIM_UNKNOWN) {
        const uint32_t b = vy_reverse_declare_copy(r, VY_OUT, (uint32_t)n->value);
        if (!r->build.buffers[n->value].twin) r->build.buffers[n->value].twin = b;
    }
}

static void resolve_dim(reverse *r, vy_dim d)
{
    if (r->build.dims[d.id].id) return;
    declare_open_lengths(r, d.id);
    vy_reverse_copy_dims(r);
}

static void resolve_dims(reverse *r, const vy_buf *buf)
{
    for (uint32_t k = 0; k < buf->rank; k++)
        if (r->p->dims.data[buf->dims[k].id].op >= VY_DIM_ADD) resolve_dim(r, buf->dims[k]);
}

void vy_reverse_domain(reverse *r)
{
    for (uint32_t i = 0; i < r->p->overs.count && !r->failed; i++) {
        const vy_over_var *o = &r->p->overs.data[i];
        resolve_dim(r, o->extent);
        if (!vy_builder_failed(r->b)) vy_over(r->b, o->name, r->build.dims[o->extent.id]);
    }
    for (uint32_t i = 0; i < r->p->assumes.count && !r->failed; i++) {
        const vy_assumption *a = &r->p->assumes.data[i];
        resolve_dim(r, a->least);
        resolve_dim(r, a->most);
        vy_assume(r->b, r->build.dims[a->least.id], r->build.dims[a->most.id]);
    }
}

// What the derivative has for a buffer is accessed where and by whom that is.
static void inherit(const reverse *r, uint32_t b, uint32_t like)
{
    if (r->p->buffers.data[like].owned) vy_buffer_owned(r->b, (vy_buffer){b});
    vy_build_vector(r->b, (vy_buffer){b}, r->p->buffers.data[like].vector);
}

uint32_t vy_reverse_declare(reverse *r, const char *name, vy_buffer_class cls, uint32_t like)
{
    const vy_buf *buf = &r->p->buffers.data[like];
    vy_dim dims[VY_MAX_RANK];
    resolve_dims(r, buf);
    for (uint32_t k = 0; k < buf->rank; k++) {
        dims[k] = r->build.dims[buf->dims[k].id];
        if (!dims[k].id) dims[k] = vy_dim_unknown(r->b);
    }
    if (vy_is_global(cls) && !vy_reverse_is_free(r, name)) return 0;
    // The arrays of a host program may have lengths of parameters.
    uint32_t b = r->p->host && cls == VY_LOCAL
                     ? vy_build_buffer(r->b, name, cls, buf->type, buf->rank, dims).id
                     : vy_param_buffer(r->b, name, cls, buf->type, buf->rank, dims).id;
    inherit(r, b, like);
    // The open length of the primal is now that of this buffer.
    if (b && buf->rank && !r->build.dims[buf->dims[0].id].id)
        r->build.dims[buf->dims[0].id] = vy_builder_program(r->b)->buffers.data[b].dims[0];
    return b;
}

uint32_t vy_reverse_declare_copy(reverse *r, vy_buffer_class cls, uint32_t like)
{
    const uint32_t b = vy_reverse_declare(r, vy_buffer_name(r, like), cls, like);
    vy_reverse_link(r, b, LINK_COPY, like);
    if (vy_is_global(cls)) vy_layout_keep(r->b, (vy_buffer){b}, &r->p->buffers.data[like]);
    if (cls == VY_OUT) vy_reverse_role(r, b, VY_IS_VALUE, like);
    if (b && r->p->buffers.data[like].made == VY_MADE_EXTENT)
        vy_builder_program(r->b)->buffers.data[b].made = VY_MADE_EXTENT;
    return b;
}

// Reserves the links of all kinds of all buffers, then those of the scalars.
static uint32_t first_link(reverse *r)
{
    if (!r->links) {
        r->links = r->out->links + 1;
        r->out->links += LINK_KINDS * r->p->buffers.count + r->p->scalars.count;
    }
    return r->links;
}

void vy_reverse_link(reverse *r, uint32_t buffer, link_kind kind, uint32_t like)
{
    if (!buffer || vy_builder_failed(r->b)) return;
    vy_builder_program(r->b)->buffers.data[buffer].link =
        first_link(r) + kind * r->p->buffers.count + like;
}

void vy_reverse_link_parameters(reverse *r, vy_program *p)
{
    const uint32_t first = first_link(r), count = r->p->buffers.count;
    for (uint32_t i = 1; i < p->buffers.count; i++)
        if (vy_is_global(p->buffers.data[i].cls))
            p->buffers.data[i].link = first + LINK_COPY * count + i;
    for (uint32_t i = 0; i < p->scalars.count; i++)
        p->scalars.data[i].link = first + LINK_KINDS * count + i;
}

bool vy_reverse_scalars(reverse *r)
{
    const uint32_t first = first_link(r) + LINK_KINDS * r->p->buffers.count;
    for (uint32_t i = 0; i < r->p->scalars.count; i++)
        vy_layout_keep_scalar(r->b,
                              vy_param_scalar(r->b, r->p->scalars.data[i].name,
                                              r->p->scalars.data[i].type),
                              &r->p->scalars.data[i]);
    if (vy_builder_failed(r->b)) return false;
    for (uint32_t i = 0; i < r->p->scalars.count; i++)
        vy_builder_program(r->b)->scalars.data[i].link = first + i;
    return true;
}

bool vy_reverse_is_open(const reverse *r, uint32_t buffer)
{
    const vy_buf *buf = &r->p->buffers.data[buffer];
    return r->p->dims.data[buf->dims[0].id].op == VY_DIM_UNKNOWN;
}

// Declares a workspace of the shape of `like`, whose length is open: it takes the length of the
// buffer that it begins as a copy of, or else of a parameter that has it.
static uint32_t declare_like_open(reverse *r, const char *name, uint32_t like, const char *from)
{
    const vy_buf *buf = &r->p->buffers.data[like];
    if (!r->build.dims[buf->dims[0].id].id) // only the output itself has it: bound, not accessed
        r->build.buffers[like].twin = vy_reverse_declare_copy(r, VY_OUT, like);
    if (r->failed || vy_builder_failed(r->b)) return 0;
    const vy_program *made = vy_builder_program(r->b);
    const uint32_t start = from ? vy_program_find_buffer(made, from).id : 0;
    vy_dim n = start ? made->buffers.data[start].dims[0] : r->build.dims[buf->dims[0].id];
    vy_dim dims[VY_MAX_RANK];
    resolve_dims(r, buf);
    for (uint32_t k = 1; k < buf->rank; k++) dims[k] = r->build.dims[buf->dims[k].id];
    dims[0] = vy_dim_binary(r->b, VY_DIM_MAX, n, vy_dim_const(r->b, 0));
    const uint32_t b = vy_param_buffer(r->b, name, VY_INOUT, buf->type, buf->rank, dims).id;
    inherit(r, b, like);
    return b;
}

uint32_t vy_reverse_declare_workspace(reverse *r, const char *name, uint32_t like, vy_init init,
                                      const char *from)
{
    char own[VY_FREE_NAME];
    if (strcmp(name, vy_buffer_name(r, like)) != 0) // else it replaces the buffer of that name
        name = vy_reverse_free_name(r, name, 0, own);
    uint32_t b = vy_reverse_is_open(r, like) ? declare_like_open(r, name, like, from)
                                             : vy_reverse_declare(r, name, VY_INOUT, like);
    vy_buffer_workspace(r->b, (vy_buffer){b});
    vy_buffer_init(r->b, (vy_buffer){b}, init, from);
    const vy_derivative_role role = {.kind = VY_IS_WORKSPACE,
                                     .of = vy_buffer_name(r, like),
                                     .parameter = like};
    vy_buffer_role(r->b, (vy_buffer){b}, &role); // it has the length of `like`
    return b;
}

const char *vy_derived_name(reverse *r, const char *prefix, const char *name)
{
    char text[300], order[16] = "";
    if (r->out->order > 1) snprintf(order, sizeof order, "%u", r->out->order);
    int n = snprintf(text, sizeof text, "%s%s_%s", prefix, order, name);
    if (n < 0 || (size_t)n >= sizeof text) {
        vy_reverse_fail(r, VY_E_GRAD_NAME, 0, NULL, "the name `%.40s…` is too long", name);
        return "";
    }
    const char *copy = vy_arena_strdup(&r->out->arena, text, (size_t)n);
    if (copy) return copy;
    vy_fail_oom(r->out);
    r->failed = true;
    return "";
}

uint32_t vy_reverse_workspace(reverse *r, const char *prefix, uint32_t like, vy_init init,
                              const char *from)
{
    const char *name = vy_derived_name(r, prefix, vy_buffer_name(r, like));
    return r->failed ? 0 : vy_reverse_declare_workspace(r, name, like, init, from);
}
