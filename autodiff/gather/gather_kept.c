// SPDX-License-Identifier: MIT
// gather_kept.c: values that the reverse program keeps for a gather: which ones it can keep, and
// the buffers they are in.
#include "autodiff/gather/gather_build.h"

#include "autodiff/facts/trip_bound.h"
#include "ir/build/build.h"
#include "ir/build/edit.h"
#include "ir/core/flow.h"

#include <stdio.h>
#include <string.h>

uint32_t gather_loops(const gather *g, uint32_t id, uint32_t loops[VY_MAX_RANK])
{
    uint32_t n = 0;
    for (uint32_t up = g->s.parent[id]; up; up = g->s.parent[up])
        if (vy_is_loop((vy_op)g->r->insts.data[up].op)) {
            if (n == VY_MAX_RANK) return VY_MAX_RANK + 1;
            loops[n++] = up;
        }
    for (uint32_t k = 0; k < n / 2; k++) {
        uint32_t t = loops[k];
        loops[k] = loops[n - 1 - k];
        loops[n - 1 - k] = t;
    }
    return n;
}

// Does a dimension need the length of a buffer declared `?`?  A parameter of a stage cannot have
// such a shape.
bool gather_is_open(const vy_program *p, uint32_t dim)
{
    const vy_dim_node *d = &p->dims.data[dim];
    if (d->op < VY_DIM_ADD) return d->op == VY_DIM_UNKNOWN || d->op == VY_DIM_GROUPS;
    return gather_is_open(p, d->a) || gather_is_open(p, d->b);
}

// Have the iterations of `loop` a bound that a buffer's shape can be?
static bool find_bound(const gather *g, uint32_t loop)
{
    int64_t from;
    if (g->r->insts.data[loop].op != VY_OP_LOOP) return false;
    const uint32_t start = vy_arg(g->r, loop, 0);
    const bool natural = !vy_type_is_signed(vy_id_type(g->r, start));
    if (!natural && (!vy_id_int(g->r, start, &from) || from < 0)) return false;
    // Only whether there is a bound: it is computed again when the buffer is declared.
    vy_builder *b = vy_rebuild_begin(g->r);
    if (!b) return false;
    const vy_bounds bounds = {.p = g->r, .lows = &g->lows, .b = b};
    const vy_dim most = vy_upper_bound(&bounds, vy_arg(g->r, loop, 1));
    const bool bounded = most.id && !gather_is_open(vy_builder_program(b), most.id);
    vy_program_abandon(b);
    return bounded;
}

// A loop is asked about for every value in it that would be kept; the answer takes a copy of what
// the program declares, so it is remembered.
static bool is_bounded(const gather *g, uint32_t loop)
{
    if (!g->bounded[loop]) g->bounded[loop] = find_bound(g, loop) ? 2 : 1;
    return g->bounded[loop] == 2;
}

// Can a buffer be sized by the loops around it, and indexed by their counters?
static bool can_keep(const gather *g, uint32_t id)
{
    const vy_over_var *axes;
    uint32_t loops[VY_MAX_RANK], n = gather_loops(g, id, loops);
    if (n + gather_place_axes(g, &axes) > VY_MAX_RANK || (n && g->lean)) return false;
    for (uint32_t k = 0; k < n; k++)
        if (!is_bounded(g, loops[k])) return false;
    return true;
}

static bool is_array(const gather *g, uint32_t id)
{
    const vy_inst *i = &g->r->insts.data[id];
    return vy_op_is_memory((vy_op)i->op) && g->r->buffers.data[i->aux].cls == VY_LOCAL &&
           g->last_write[i->aux] == id;
}

// Is a local array small enough to be stored by every invocation?
static bool can_keep_array(const gather *g, uint32_t buffer)
{
    enum { MOST = 1024 };
    const vy_buf *b = &g->r->buffers.data[buffer];
    const vy_over_var *axes;
    int64_t elements = 1;
    if (b->view_of || vy_type_loaded(b->type) != b->type || b->type == VY_BOOL ||
        b->rank + gather_place_axes(g, &axes) > VY_MAX_RANK)
        return false;
    for (uint32_t k = 0; k < b->rank; k++) {
        const vy_dim_node *d = &g->r->dims.data[b->dims[k].id];
        if (d->op != VY_DIM_CONST || d->value > MOST || elements > MOST) return false;
        elements *= d->value;
    }
    return elements <= MOST;
}

uint32_t gather_array_at(const gather *g, uint32_t load)
{
    uint32_t buffer = g->r->insts.data[load].aux, from = g->outer[load] ? g->outer[load] : load;
    uint32_t last = g->last_write[buffer];
    return g->r->buffers.data[buffer].cls == VY_LOCAL && last < from ? last : 0;
}

bool gather_keep(gather *g, uint32_t id)
{
    if (g->keep[id]) return true;
    if (g->split.guarded && !g->keeps) {
        if (g->wants) *g->wants = true;
        return false;
    }
    bool array = is_array(g, id);
    if (array ? !can_keep_array(g, g->r->insts.data[id].aux)
              : vy_id_type(g->r, id) == VY_VOID || !can_keep(g, id))
        return false;
    gather_kept k = {.id = id};
    if (!vy_vec_push(&g->kept, k)) {
        g->failed = true;
        return false;
    }
    g->keep[id] = g->kept.count;
    return true;
}

const vy_buf *gather_array(const gather *g, uint32_t id)
{
    const vy_inst *i = &g->r->insts.data[id];
    bool writes = vy_op_is_memory((vy_op)i->op) && i->op != VY_OP_LOAD;
    const vy_buf *b = writes ? &g->r->buffers.data[i->aux] : NULL;
    return b && b->cls == VY_LOCAL ? b : NULL;
}

// The program may have names of this form already, as the derivative of another gather.
static bool is_free(const gather *g, const char *name)
{
    bool found = vy_program_find_buffer(g->r, name).id != 0;
    for (uint32_t k = 0; k < g->kept.count && !found; k++)
        found = g->kept.data[k].name && strcmp(g->kept.data[k].name, name) == 0;
    return !found;
}

uint32_t gather_kept_indices(const gather *g, uint32_t id, const uint32_t *within, uint32_t n,
                             const uint32_t *place, uint32_t *indices)
{
    const vy_over_var *axes;
    const uint32_t overs = gather_place_axes(g, &axes);
    const bool place_first = gather_array(g, id) != NULL;
    for (uint32_t k = 0; k < n; k++) indices[place_first ? overs + k : k] = within[k];
    for (uint32_t k = 0; k < overs; k++) indices[place_first ? k : n + k] = place[k];
    return n + overs;
}

uint32_t gather_kept_buffer(gather *g, vy_builder *b, uint32_t k)
{
    const vy_program *p = g->r;
    gather_kept *kept = &g->kept.data[k];
    const vy_buf *array = gather_array(g, kept->id);
    uint32_t loops[VY_MAX_RANK], n = array ? array->rank : gather_loops(g, kept->id, loops);
    const vy_bounds bounds = {.p = p, .lows = &g->lows, .b = b};
    vy_dim dims[VY_MAX_RANK];
    if (!kept->name) {
        const char *of =
            array ? array->name : vy_string(&p->module->names, p->insts.data[kept->id].name);
        char text[80];
        for (uint32_t number = g->named + 1;; number++) {
            snprintf(text, sizeof text, "kept%u%s%.40s", number, *of ? "_" : "", of);
            if (is_free(g, text)) break;
        }
        kept->name = vy_arena_strdup(&g->m->arena, text, strlen(text));
        if (!kept->name) {
            g->failed = true;
            return 0;
        }
        g->named++;
    }
    const vy_buf_vec *have = &vy_builder_program(b)->buffers;
    for (uint32_t i = p->buffers.count; kept->link && i < have->count; i++) // kept ones come last
        if (have->data[i].link == kept->link) return i;
    for (uint32_t j = 0; j < n; j++) {
        vy_dim most = array ? array->dims[j] : vy_upper_bound(&bounds, vy_arg(p, loops[j], 1));
        dims[j] = most.id ? vy_dim_natural(b, most) : most; // a loop to -1 does not run
    }
    const vy_over_var *axes;
    const uint32_t count = gather_place_axes(g, &axes);
    uint32_t within[VY_MAX_RANK], place[VY_MAX_RANK], ids[VY_MAX_RANK];
    for (uint32_t j = 0; j < n; j++) within[j] = dims[j].id;
    for (uint32_t j = 0; j < count; j++) place[j] = vy_dim_natural(b, axes[j].extent).id;
    const uint32_t rank = gather_kept_indices(g, kept->id, within, n, place, ids);
    for (uint32_t j = 0; j < rank; j++) dims[j].id = ids[j];
    vy_type t = array ? array->type : vy_id_type(p, kept->id);
    if (t == VY_BOOL) t = VY_U32;
    vy_buffer made = vy_param_buffer(b, kept->name, VY_INOUT, t, rank, dims);
    if (vy_builder_failed(b)) return 0;
    uint32_t *link = &vy_builder_program(b)->buffers.data[made.id].link;
    if (kept->link) *link = kept->link;
    kept->link = *link;
    return made.id;
}
