// SPDX-License-Identifier: MIT
// vector_buffers.c: see vector_buffers.h.
#include "ir/core/vector_buffers.h"

#include <string.h>

const char *vy_vector_prefix(vy_type t)
{
    switch (t) {
    case VY_F16: return "h";
    case VY_F32: return "";
    case VY_F64: return "d";
    case VY_I32: return "i";
    case VY_U32: return "u";
    default: return NULL;
    }
}

uint32_t vy_vector_size(const vy_program *p, const vy_buf *b)
{
    if (!b->vector || b->rank < 2 || !vy_vector_prefix(b->type)) return 0;
    const vy_dim_node *n = &p->dims.data[b->dims[b->rank - 1].id];
    const bool fits = n->op == VY_DIM_CONST && n->value >= 2 && n->value <= VY_MOST_COMPONENTS;
    return fits ? (uint32_t)n->value : 0;
}

static bool is_vector_name(const char *name)
{
    const char *vec = strstr(name, "vec");
    if (!vec || vec > name + 1 || vec[3] < '2' || vec[3] > '0' + VY_MOST_COMPONENTS || vec[4])
        return false;
    return vec == name || strchr("hdiu", *name);
}

// Does nothing that the text must name have the name of a vector type?
static bool names_are_free(const vy_program *p)
{
    for (uint32_t b = 1; b < p->buffers.count; b++)
        if (vy_is_global(p->buffers.data[b].cls) && is_vector_name(p->buffers.data[b].name))
            return false;
    for (uint32_t i = 0; i < p->scalars.count; i++)
        if (is_vector_name(p->scalars.data[i].name)) return false;
    for (uint32_t i = 0; i < p->overs.count; i++)
        if (is_vector_name(p->overs.data[i].name)) return false;
    for (uint32_t i = 0; i < p->module->functions.count; i++)
        if (is_vector_name(p->module->functions.data[i].code->name)) return false;
    return true;
}

bool vy_has_vector_words(const vy_program *p) { return !p->signature && names_are_free(p); }

// The length of a vector is no length of its buffer.  Leaves that nothing uses are not in the text.
static void drop_measured(const vy_program *p, uint8_t *sizes)
{
    for (uint32_t id = 1; id < p->insts.count; id++)
        for (uint32_t k = 0; k < p->insts.data[id].nargs; k++) {
            const uint32_t arg = vy_arg(p, id, k);
            if (!VY_IS_LEAF(arg)) continue;
            const vy_leaf *l = &p->leaves.data[VY_LEAF_INDEX(arg)];
            if (l->kind == VY_LEAF_LEN && l->axis + 1 == p->buffers.data[l->index].rank)
                sizes[l->index] = 0;
        }
}

bool vy_vector_sizes(const vy_program *p, uint8_t *sizes)
{
    bool any = false;
    memset(sizes, 0, p->buffers.count * sizeof *sizes);
    for (uint32_t b = 1; b < p->buffers.count; b++)
        any |= (sizes[b] = (uint8_t)vy_vector_size(p, &p->buffers.data[b])) != 0;
    if (!any || !vy_has_vector_words(p)) {
        memset(sizes, 0, p->buffers.count * sizeof *sizes);
        return false;
    }
    drop_measured(p, sizes);
    any = false;
    for (uint32_t b = 1; b < p->buffers.count; b++) any |= sizes[b] != 0;
    return any;
}

// `keep`: those of which the text says it.
static void settle(vy_program *p, bool keep)
{
    bool any = false;
    for (uint32_t b = 1; b < p->buffers.count; b++) any |= p->buffers.data[b].vector;
    if (!any) return;
    uint8_t *sizes = keep ? vy_realloc(NULL, p->buffers.count) : NULL;
    if (sizes) vy_vector_sizes(p, sizes);
    for (uint32_t b = 1; b < p->buffers.count; b++)
        p->buffers.data[b].vector = sizes && sizes[b]; // memory is reported as out anyway
    vy_free(sizes);
}

void vy_settle_vectors(vy_program *p) { settle(p, true); }

void vy_settle_module_vectors(vy_module *m)
{
    for (uint32_t i = 0; i < m->programs.count; i++)
        settle(m->programs.data[i], !vy_program_lowered(m->programs.data[i]));
    for (uint32_t i = 0; i < m->pipelines.count; i++) settle(m->pipelines.data[i]->signature, true);
}
