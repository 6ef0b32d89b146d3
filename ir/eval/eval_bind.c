// SPDX-License-Identifier: MIT
// eval_bind.c: binds the caller's buffers and scalars by name; allocates all other memory.
#include "ir/eval/eval.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

uint32_t vy_eval_parameter(const vy_program *p, const char *name)
{
    const uint32_t id = vy_program_find_buffer(p, name).id;
    return vy_is_global(p->buffers.data[id].cls) ? id : 0;
}

// Intermediates of a pipeline are not parameters.
static uint32_t find_parameter(const vy_machine *m, const char *name)
{
    const uint32_t id = vy_eval_parameter(m->p, name);
    return m->pipeline && m->p->buffers.data[id].workspace ? 0 : id;
}

static bool find_buffers(vy_machine *m, const vy_eval_buffer *buffers, uint32_t count,
                         const vy_eval_buffer **given)
{
    for (uint32_t k = 0; k < count; k++) {
        const char *name = buffers[k].name ? buffers[k].name : "";
        const uint32_t id = find_parameter(m, name);
        if (!id) {
            vy_eval_fail(m, VY_E_EVAL_NAME, m->p->line, 0, "%s %s has no buffer parameter '%s'",
                         m->pipeline ? "pipeline" : "program", m->p->name, name);
            return false;
        }
        const vy_buf *b = &m->p->buffers.data[id];
        if (given[id]) {
            vy_eval_fail(m, VY_E_EVAL_NAME, b->line, 0, "buffer %s is given twice", name);
            return false;
        }
        const bool flat = m->hooks->flat && buffers[k].rank == 1;
        if ((buffers[k].rank != b->rank && !flat) || (b->rank && !buffers[k].shape)) {
            vy_eval_fail(m, VY_E_EVAL_RANK, b->line, 0,
                         "buffer %s has %u dimensions, but a shape of %u is given", name, b->rank,
                         buffers[k].rank);
            return false;
        }
        given[id] = &buffers[k];
    }
    for (uint32_t id = 1; id < m->p->buffers.count; id++) {
        const vy_buf *b = &m->p->buffers.data[id];
        if (vy_is_global(b->cls) && !b->workspace && !given[id]) {
            vy_eval_fail(m, VY_E_EVAL_MISSING, b->line, 0, "buffer %s is not given", b->name);
            return false;
        }
    }
    return true;
}

static bool find_scalars(vy_machine *m, const vy_eval_scalar *scalars, uint32_t count, bool *have)
{
    for (uint32_t k = 0; k < count; k++) {
        const char *name = scalars[k].name ? scalars[k].name : "";
        const uint32_t i = vy_program_find_scalar(m->p, name);
        if (i == UINT32_MAX || have[i]) {
            vy_eval_fail(m, VY_E_EVAL_NAME, m->p->line, 0,
                         i == UINT32_MAX ? "%s %s has no scalar parameter '%s'"
                                         : "%s %s is given scalar %s twice",
                         m->pipeline ? "pipeline" : "program", m->p->name, name);
            return false;
        }
        const vy_type type = m->p->scalars.data[i].type;
        have[i] = true;
        m->scalars[i] = scalars[k].value;
        if (!vy_type_is_float(type))
            m->scalars[i] = vy_wrap(type, m->scalars[i]);
        else if (!m->options.f64)
            m->scalars[i].f = vy_round_to(type, m->scalars[i].f);
    }
    return true;
}

// ----------------------------------------------------------------------------------------- overlap
typedef struct range {
    uintptr_t from, to;
    uint32_t id;
} range;

static int compare_ranges(const void *x, const void *y)
{
    const range *a = x, *b = y;
    if (a->from != b->from) return a->from < b->from ? -1 : 1;
    return a->id < b->id ? -1 : a->id > b->id;
}

// Sorted by start, a range overlaps an earlier one iff it overlaps the one with the largest end.
static bool check_overlap(vy_machine *m)
{
    const vy_program *p = m->p;
    range *ranges = vy_eval_alloc(m, p->buffers.count, sizeof *ranges);
    if (!ranges) return false;
    uint32_t n = 0;
    for (uint32_t id = 1; id < p->buffers.count; id++) {
        const vy_bound *b = &m->bounds[id];
        if (!b->given || !b->count || p->buffers.data[id].view_of) continue;
        const uintptr_t from = (uintptr_t)b->data;
        ranges[n++] = (range){from, from + (uintptr_t)(b->count * b->size), id};
    }
    qsort(ranges, n, sizeof *ranges, compare_ranges);
    const range *any = NULL, *written = NULL;
    for (uint32_t k = 0; k < n && !m->failed; k++) {
        const range *r = &ranges[k];
        const bool writes = m->bounds[r->id].cls != VY_IN;
        const range *other = writes ? any : written;
        if (other && r->from < other->to)
            vy_eval_fail(m, VY_E_EVAL_OVERLAP, p->line, 0, "buffers %s and %s overlap in memory",
                         p->buffers.data[other->id].name, p->buffers.data[r->id].name);
        if (!any || r->to > any->to) any = r;
        if (writes && (!written || r->to > written->to)) written = r;
    }
    vy_free(ranges);
    return !m->failed;
}

// ------------------------------------------------------------------------------------------ memory
static void start_as_copy(vy_machine *m, vy_bound *b, const char *name)
{
    const uint32_t from = name ? vy_eval_parameter(m->p, name) : 0;
    const vy_bound *s = &m->bounds[from];
    if (from && s->data && s->count != b->count)
        vy_eval_fail(m, VY_E_EVAL_SHAPE, m->p->line, 0,
                     "%s begins as a copy of %s, which has %" PRIu64 " elements, not %" PRIu64,
                     m->p->buffers.data[b - m->bounds].name, name, s->count, b->count);
    if (!from || !s->data || m->failed) return;
    for (uint64_t i = 0; i < b->count; i++)
        vy_scalar_write(b->type, vy_scalar_read(s->type, s->data + i * s->size),
                        b->data + i * b->size);
}

static void fill_ones(vy_bound *b)
{
    vy_scalar one = {.u = 1};
    if (vy_type_is_float(b->type)) one.f = 1;
    for (uint64_t i = 0; i < b->count; i++) vy_scalar_write(b->type, one, b->data + i * b->size);
}

void vy_eval_start(vy_machine *m, uint32_t id)
{
    const vy_buf *info = &m->p->buffers.data[id];
    if (info->init == VY_INIT_ONES) fill_ones(&m->bounds[id]);
    if (info->init == VY_INIT_COPY) start_as_copy(m, &m->bounds[id], info->init_from);
}

static bool check_limit(vy_machine *m)
{
    const uint64_t limit =
        m->hooks->workspace_left ? *m->hooks->workspace_left : m->options.max_workspace_bytes;
    uint64_t bytes = 0;
    if (!limit && !m->hooks->workspace_left) return true;
    for (uint32_t id = 1; id < m->p->buffers.count; id++) {
        const vy_buf *b = &m->p->buffers.data[id];
        if (b->workspace && !m->bounds[id].given) // no overflow: counts are below 2^60
            bytes += m->bounds[id].count * vy_type_size(b->type);
        if (bytes <= limit) continue;
        const uint64_t most = m->options.max_workspace_bytes;
        const uint64_t others = most > limit ? most - limit : 0; // intermediates of a pipeline
        vy_eval_fail(m, VY_E_EVAL_LIMIT, m->p->line, 0,
                     "%s need %" PRIu64 " bytes; the limit is %" PRIu64,
                     others ? "workspaces and intermediates" : "workspaces", bytes + others,
                     limit + others);
        return false;
    }
    return true;
}

// What a device need not clear holds anything there, and nan here: then reading it shows.
static void start_scratch(vy_machine *m, uint32_t id)
{
    const vy_bound *b = &m->bounds[id];
    if (m->p->buffers.data[id].workspace && m->p->buffers.data[id].stored_first)
        memset(b->data, 0xFF, b->count * b->size);
}

// The initial value of each byte of a given `out` buffer.
static int start_of_output(const vy_machine *m, uint32_t id)
{
    return m->hooks->uncleared && !m->pipeline && m->hooks->uncleared(m->p, id) ? 0xFF : 0;
}

// Local arrays are allocated with the lanes (eval.c).  Everything is cleared or allocated first;
// initial copies come last.
static bool make_memory(vy_machine *m)
{
    if (!check_limit(m)) return false;
    for (uint32_t id = 1; id < m->p->buffers.count; id++) {
        vy_bound *b = &m->bounds[id];
        if (b->cls == VY_OUT && b->given && b->count)
            memset(b->data, start_of_output(m, id), b->count * b->size);
        if (b->given || b->cls == VY_LOCAL || m->pipeline) continue;
        b->data = vy_eval_alloc(m, b->count, b->size);
        b->owned = b->data != NULL;
        if (!b->owned) return false;
        start_scratch(m, id);
    }
    for (uint32_t id = 1; id < m->p->buffers.count; id++) {
        const vy_bound *b = &m->bounds[id];
        if (!b->owned && b->cls != VY_OUT) continue; // an inout workspace that was given, say
        vy_eval_start(m, id);
    }
    return !m->failed;
}

static bool bind(vy_machine *m, const vy_eval_buffer *buffers, uint32_t buffer_count,
                 const vy_eval_scalar *scalars, uint32_t scalar_count, const vy_eval_buffer **given,
                 bool *have)
{
    if (!find_buffers(m, buffers, buffer_count, given)) return false;
    if (!find_scalars(m, scalars, scalar_count, have)) return false;
    for (uint32_t id = 1; id < m->p->buffers.count; id++) {
        const vy_buf *info = &m->p->buffers.data[id];
        vy_bound *b = &m->bounds[id];
        b->cls = info->cls;
        b->type = m->options.f64 && vy_type_is_float(info->type) ? VY_F64 : info->type;
        b->size = vy_type_size(b->type);
        b->rank = info->rank;
        b->given = given[id] != NULL;
        b->data = b->given ? given[id]->data : NULL;
    }
    return vy_eval_infer(m, given, have) && vy_eval_shapes(m, given) &&
           (m->pipeline || vy_eval_launch(m)) && check_overlap(m) && make_memory(m);
}

bool vy_eval_bind(vy_machine *m, const vy_eval_buffer *buffers, uint32_t buffer_count,
                  const vy_eval_scalar *scalars, uint32_t scalar_count)
{
    const vy_program *p = m->p;
    m->bounds = vy_eval_alloc(m, p->buffers.count, sizeof *m->bounds);
    m->scalars = vy_eval_alloc(m, p->scalars.count, sizeof *m->scalars);
    m->dim_values = vy_eval_alloc(m, p->dims.count, sizeof *m->dim_values);
    m->dim_states = vy_eval_alloc(m, p->dims.count, sizeof *m->dim_states);
    m->extents = vy_eval_alloc(m, p->overs.count, sizeof *m->extents);
    const vy_eval_buffer **given = vy_eval_alloc(m, p->buffers.count, sizeof *given);
    bool *have = vy_eval_alloc(m, p->scalars.count, sizeof *have);
    const bool ok =
        !m->failed && bind(m, buffers, buffer_count, scalars, scalar_count, given, have);
    vy_free(given);
    vy_free(have);
    return ok;
}
