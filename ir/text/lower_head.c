// SPDX-License-Identifier: MIT
// lower_head.c: heads of programs and pipelines: parameters, domain, workgroup.
#include "ir/text/lower.h"
#include "ir/build/edit.h"

// Where a shader's host has the parameter; a buffer without @binding is no parameter of it.
static vy_layout layout_of(const vy_decl *d)
{
    return (vy_layout){.given = d->kind == DK_BUFFER ? d->has_binding : d->has_offset,
                       .uniform = d->uniform,
                       .set = d->set,
                       .binding = d->binding,
                       .offset = d->layout ? d->layout[0] : d->offset,
                       .within = d->within,
                       .strides = d->layout ? d->layout + 1 : NULL};
}

static void lower_scalar(vy_lower *l, const vy_decl *d)
{
    const vy_layout layout = layout_of(d);
    const vy_value made = vy_param_scalar(l->b, d->name->text, (vy_type)d->type);
    l->frame[d->slot] = made.id;
    if (layout.given) vy_scalar_layout(l->b, made, &layout);
}

// A struct of the shader's host.
static void lower_struct(vy_lower *l, const vy_decl *d, uint32_t c, vy_buffer b)
{
    uint32_t strides[VY_MAX_RANK];
    vy_layout layout = layout_of(d);
    if (d->layout || d->rank != 1) {
        vy_front_error(l->f, VY_E_LAYOUT, d->line, d->column,
                       d->layout ? "leave it out, or declare the fields as buffers"
                                 : "use one dimension",
                       d->layout ? "the layout of `%s` is that of its struct: std430"
                                 : "buffer `%s` of structs has several dimensions",
                       d->name->text);
        return;
    }
    layout.offset = layout.within = vy_std430(l->f, d->type, c, strides);
    layout.strides = strides;
    vy_buffer_layout(l->b, b, &layout);
}

// Columns have bindings one after the other.
static void lower_place(vy_lower *l, const vy_decl *d, uint32_t c, vy_buffer b, bool shader)
{
    const vy_layout layout = layout_of(d);
    const vy_made_type *m = vy_made_of(l->f, d->type);
    const uint32_t rank = vy_program_buffer(vy_builder_program(l->b), b).rank;
    if (shader && layout.given && m && m->kind == VY_STRUCT) {
        lower_struct(l, d, c, b);
    } else if (d->layout && d->layout_count != rank + 1) {
        vy_front_error(l->f, VY_E_ATTRIBUTE, d->line, d->column, NULL,
                       "@layout has %u numbers; an offset and %u strides are needed",
                       d->layout_count, rank);
    } else if (shader && layout.given) {
        vy_buffer_layout(l->b, b, &layout);
    } else if (d->has_set || d->has_binding) {
        vy_buffer_info info = vy_program_buffer(vy_builder_program(l->b), b);
        vy_buffer_binding(l->b, b, d->has_set ? d->set : 0,
                          d->has_binding ? d->binding + c : info.binding);
    }
}

static void lower_init(vy_lower *l, const vy_decl *d, uint32_t c, vy_buffer b)
{
    const bool copy = d->init == VY_INIT_COPY;
    const char *from = copy ? vy_column_at(l->f, d->init_from->text, d->type, c).name : NULL;
    if (d->init) vy_buffer_init(l->b, b, (vy_init)d->init, from);
}

// Column c of the parameter.
static void lower_column(vy_lower *l, const vy_decl *d, uint32_t c, bool shader)
{
    vy_dim dims[VY_MAX_RANK];
    vy_column column;
    const uint32_t rank = vy_lower_column(l, d, c, dims, &column);
    if (!rank) return;
    const vy_buffer b =
        vy_param_buffer(l->b, column.name, (vy_buffer_class)d->cls, column.type, rank, dims);
    l->frame[d->slot + c] = b.id;
    vy_build_vector(l->b, b, column.vector);
    lower_place(l, d, c, b, shader);
    if (d->workspace) vy_buffer_workspace(l->b, b);
    if (d->owned) vy_buffer_owned(l->b, b);
    lower_init(l, d, c, b);
}

static void lower_parameters(vy_lower *l, const vy_func *fn)
{
    for (const vy_decl *d = fn->params; d && !vy_lower_stopped(l); d = d->next) {
        if (d->kind != DK_SCALAR) continue;
        vy_lower_at(l, d->line, d->column);
        lower_scalar(l, d);
    }
    for (const vy_decl *d = fn->params; d && !vy_lower_stopped(l); d = d->next) {
        if (d->kind != DK_BUFFER) continue;
        vy_lower_at(l, d->line, d->column);
        for (uint32_t c = 0; c < vy_columns(l->f, d->type) && !vy_lower_stopped(l); c++)
            lower_column(l, d, c, fn->shader);
    }
}

static void lower_workgroup(vy_lower *l, const vy_func *fn)
{
    uint32_t xyz[3] = {1, 1, 1}, n = 0;
    for (const vy_ast_expr *e = fn->workgroup; e; e = e->next) {
        int64_t value = 0;
        vy_dim d = vy_lower_dim(l, e);
        if (vy_lower_stopped(l)) return;
        bool known = vy_dim_known(l, d, &value);
        if (!known || value < 1 || value > INT32_MAX) {
            vy_front_error(l->f, VY_E_GROUP_SIZE, e->line, e->column, NULL,
                           known ? "a workgroup size of %lld"
                                 : "a workgroup's size is not constant",
                           (long long)value);
            return;
        }
        xyz[n++] = (uint32_t)value;
    }
    if (n) vy_workgroup(l->b, xyz[0], xyz[1], xyz[2]);
}

void vy_lower_head(vy_lower *l, const vy_func *fn)
{
    vy_lower_at(l, fn->decl->line, fn->decl->column);
    vy_builder_program(l->b)->line = fn->decl->line;
    lower_parameters(l, fn);
    for (const vy_decl *d = fn->overs; d && !vy_lower_stopped(l); d = d->next) {
        vy_lower_at(l, d->line, d->column);
        vy_dim extent = vy_lower_dim(l, d->dims);
        if (!vy_lower_stopped(l)) l->frame[d->slot] = vy_over(l->b, d->name->text, extent).id;
    }
    lower_workgroup(l, fn);
    for (const vy_ast_expr *e = fn->assumes; e && !vy_lower_stopped(l); e = e->next) {
        const vy_dim a = vy_lower_dim(l, e->u.sub.a), b = vy_lower_dim(l, e->u.sub.b);
        vy_lower_at(l, e->line, e->column);
        if (vy_lower_stopped(l)) return;
        vy_assume(l->b, e->op == TK_LE ? a : b, e->op == TK_LE ? b : a);
    }
}
