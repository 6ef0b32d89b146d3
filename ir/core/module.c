// SPDX-License-Identifier: MIT
// module.c: creates and frees modules, programs and pipelines, and reads them through the public
// interface.  They are filled by ir/build.
#include "ir/core/ir.h"

#include <string.h>

vy_module *vy_module_new(void)
{
    vy_module *m = vy_realloc(NULL, sizeof *m);
    if (m) *m = (vy_module){.file = ""};
    return m;
}

void vy_program_free(vy_program *p)
{
    if (!p) return;
    vy_vec_free(&p->insts);
    vy_vec_free(&p->args);
    vy_vec_free(&p->leaves);
    vy_vec_free(&p->dims);
    vy_vec_free(&p->buffers);
    vy_vec_free(&p->scalars);
    vy_vec_free(&p->overs);
    vy_vec_free(&p->assumes);
    vy_vec_free(&p->calls);
    vy_names_drop(p);
    vy_structure_free(&p->kept);
    vy_free(p);
}

void vy_pipeline_free(vy_pipeline *p)
{
    if (!p) return;
    vy_program_free(p->signature);
    vy_vec_free(&p->steps);
    vy_free(p);
}

void vy_module_free(vy_module *m)
{
    if (!m) return;
    for (uint32_t i = 0; i < m->programs.count; i++) vy_program_free(m->programs.data[i]);
    for (uint32_t i = 0; i < m->pipelines.count; i++) vy_pipeline_free(m->pipelines.data[i]);
    for (uint32_t i = 0; i < m->functions.count; i++) vy_program_free(m->functions.data[i].code);
    vy_vec_free(&m->functions);
    vy_vec_free(&m->programs);
    vy_vec_free(&m->pipelines);
    vy_vec_free(&m->derived);
    vy_vec_free(&m->imports);
    vy_vec_free(&m->conditions);
    vy_strings_free(&m->names);
    vy_arena_free(&m->arena);
    vy_free(m);
}

const vy_diag *vy_module_diag(const vy_module *m) { return &m->diag; }
bool vy_module_ok(const vy_module *m) { return m->diag.severity != VY_ERROR; }
const char *vy_module_file(const vy_module *m) { return m->file; }

uint32_t vy_module_order(const vy_module *m)
{
    uint32_t most = m->order;
    for (uint32_t i = 0; i < m->programs.count; i++)
        if (most < m->programs.data[i]->order) most = m->programs.data[i]->order;
    for (uint32_t i = 0; i < m->pipelines.count; i++)
        if (most < m->pipelines.data[i]->signature->order)
            most = m->pipelines.data[i]->signature->order;
    return most;
}

uint32_t vy_module_program_count(const vy_module *m) { return m->programs.count; }

const char *vy_module_source(const vy_module *m, size_t *size)
{
    if (size) *size = m->source_size;
    return m->source;
}

vy_program *vy_module_program(const vy_module *m, uint32_t index)
{
    return index < m->programs.count ? m->programs.data[index] : NULL;
}

vy_program *vy_module_find(const vy_module *m, const char *name)
{
    for (uint32_t i = 0; i < m->programs.count; i++)
        if (strcmp(m->programs.data[i]->name, name) == 0) return m->programs.data[i];
    return NULL;
}

// -------------------------------------------------------------------------------------- reflection
uint32_t vy_program_order(const vy_program *p) { return p->order; }
const char *vy_program_name(const vy_program *p) { return p->name; }
uint32_t vy_program_buffer_count(const vy_program *p) { return p->buffers.count - 1; }
uint32_t vy_program_scalar_count(const vy_program *p) { return p->scalars.count; }
uint32_t vy_program_over_count(const vy_program *p) { return p->overs.count; }
uint32_t vy_program_instruction_count(const vy_program *p) { return p->insts.count - 1; }

// The mode (how a derivative uses a parameter) follows from the class.
static vy_derivative_role role_of(const vy_buf *b)
{
    vy_derivative_role role = b->role;
    role.mode = b->cls == VY_IN                ? VY_READS
                : b->cls == VY_OUT             ? VY_OVERWRITES
                : vy_is_gradient(b->role.kind) ? VY_ADDS
                                               : VY_IN_PLACE;
    return role;
}

vy_buffer_info vy_program_buffer(const vy_program *p, vy_buffer b)
{
    if (!b.id || b.id >= p->buffers.count) return (vy_buffer_info){0};
    const vy_buf *buf = &p->buffers.data[b.id];
    return (vy_buffer_info){.name = buf->name,
                            .cls = buf->cls,
                            .type = buf->type,
                            .rank = buf->rank,
                            .dims = buf->dims,
                            .set = buf->set,
                            .binding = buf->binding,
                            .workspace = buf->workspace,
                            .owned = buf->owned,
                            .init = buf->init,
                            .init_from = buf->init_from,
                            .role = role_of(buf),
                            .line = buf->line};
}

uint32_t vy_program_find_made(const vy_program *p, vy_made made)
{
    for (uint32_t i = 1; i < p->buffers.count; i++)
        if (p->buffers.data[i].made == made) return i;
    return 0;
}

bool vy_program_computes(const vy_program *p, vy_type type)
{
    for (uint32_t id = 1; id < p->insts.count; id++)
        if (p->insts.data[id].type == type) return true;
    return false;
}

vy_scalar_info vy_program_scalar(const vy_program *p, uint32_t index)
{
    if (index >= p->scalars.count) return (vy_scalar_info){0};
    const vy_scalar_param *s = &p->scalars.data[index];
    return (vy_scalar_info){.name = s->name, .type = s->type, .line = s->line};
}

vy_over_info vy_program_over(const vy_program *p, uint32_t index)
{
    if (index >= p->overs.count) return (vy_over_info){0};
    return (vy_over_info){.name = p->overs.data[index].name, .extent = p->overs.data[index].extent};
}

void vy_program_workgroup(const vy_program *p, uint32_t xyz[3])
{
    memcpy(xyz, p->workgroup, sizeof p->workgroup);
}

bool vy_program_exact(const vy_program *p) { return p->exact; }
