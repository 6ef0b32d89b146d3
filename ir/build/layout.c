// SPDX-License-Identifier: MIT
// layout.c: where a shader's host has its parameters (docs/language.md 17.1).
//
//   struct S { float m; vec3 v; };
//   layout(set = 1, binding = 2) buffer B { uint n; S s[]; };
//   @set(1) @binding(2) @layout(16 + 16, 32, 4) s.v: inout f32[?, 3]
//                               start of the array + of the field in it, then strides by axis
//
// The program computes on `v` as if it had no padding; only its addresses differ (spirv/emit).  So
// no analysis has to know about layouts, and two parameters of one binding, whose bytes are
// disjoint (ir/check/check_layout.c), are different buffers as any others are.
#include "ir/build/build.h"
#include "ir/build/edit.h"

#include <string.h>

void vy_shader(vy_builder *b)
{
    if (vy_builder_failed(b)) return;
    if (b->p->signature || b->p->function)
        vy_build_fail(b, VY_E_API, "vy_shader: only a program is bound as a shader is");
    b->p->shader = true;
}

bool vy_layout_own(vy_module *m, vy_buf *b)
{
    const size_t size = b->rank * sizeof *b->layout.strides;
    uint32_t *own = vy_arena_alloc(&m->arena, size);
    if (!own) return false;
    b->layout.strides = memcpy(own, b->layout.strides, size);
    return true;
}

static bool takes_layout(vy_builder *b)
{
    if (!b->p->shader) vy_build_fail(b, VY_E_API, "a layout: call vy_shader before");
    return b->p->shader;
}

void vy_buffer_layout(vy_builder *b, vy_buffer buf, const vy_layout *layout)
{
    if (vy_builder_failed(b) || !buf.id || buf.id >= b->p->buffers.count || !takes_layout(b))
        return;
    vy_buf *info = &b->p->buffers.data[buf.id];
    info->layout = *layout;
    info->layout.given = true;
    info->set = layout->set;
    info->binding = layout->binding;
    if (layout->strides && !vy_layout_own(b->m, info)) vy_build_oom(b);
}

void vy_scalar_layout(vy_builder *b, vy_value scalar, const vy_layout *layout)
{
    if (vy_builder_failed(b) || !takes_layout(b)) return;
    const vy_leaf *l = VY_IS_LEAF(scalar.id) ? &b->p->leaves.data[VY_LEAF_INDEX(scalar.id)] : NULL;
    if (!l || l->kind != VY_LEAF_SCALAR) {
        vy_build_fail(b, VY_E_API, "vy_scalar_layout: it is no scalar parameter");
        return;
    }
    vy_layout *own = &b->p->scalars.data[l->index].layout;
    *own = *layout;
    own->given = true;
    own->strides = NULL;
}

void vy_layout_keep(vy_builder *b, vy_buffer made, const vy_buf *of)
{
    if (of->layout.given && !vy_builder_failed(b) && b->p->shader)
        vy_buffer_layout(b, made, &of->layout);
}

void vy_layout_keep_scalar(vy_builder *b, vy_value made, const vy_scalar_param *of)
{
    if (of->layout.given && !vy_builder_failed(b) && b->p->shader)
        vy_scalar_layout(b, made, &of->layout);
}
