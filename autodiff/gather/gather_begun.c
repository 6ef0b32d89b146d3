// SPDX-License-Identifier: MIT
// gather_begun.c: loads that give what a buffer began as, whatever is stored to it later.
//
//   for c in lid.x..C step 64 {                 over(i: R * 64), wid.x < R
//       let g = adj_y[c * R + wid.x];           adj_y began as the cotangent …
//       adj_y[c * R + wid.x] = 0.0;             … of which the reverse of a store leaves nothing
//       atomic_add(gain[c], g * …);
//   }
//
// No invocation loads an element twice, or after another one has stored to it, if all iterations of
// all invocations have elements of their own: then g is the cotangent of y, which a gather loads
// from where the caller has it, or 1.  Nothing is kept for each iteration.
//
// All accesses of the buffer are loads and stores at one index, in one place, and of each component
// the loads come first.  That the map { invocation, iterations → elements } is injective isl proves
// once in an analysis of its own (gather_begun_find.c), with rows under conditions as
// gather_assume.c makes them.  These are required where something is gathered that needs such a
// load.
#include "autodiff/gather/gather_begun.h"
#include "autodiff/gather/gather_slice.h"
#include "ir/build/edit.h"

#include <string.h>

bool gather_as_long(const vy_program *p, vy_dim d, vy_dim of)
{
    const vy_dim_node *n = &p->dims.data[d.id];
    const bool natural = n->op == VY_DIM_MAX && p->dims.data[n->b].op == VY_DIM_CONST &&
                         p->dims.data[n->b].value == 0; // max(len(y), 0) of a workspace
    return vy_equal_dims(p, d, of) || (natural && vy_equal_dims(p, (vy_dim){n->a}, of));
}

uint32_t gather_origin(const vy_program *p, uint32_t buffer)
{
    const vy_buf *b = &p->buffers.data[buffer];
    const uint32_t from = b->init == VY_INIT_COPY ? vy_program_find_buffer(p, b->init_from).id : 0;
    const vy_buf *of = &p->buffers.data[from];
    bool same = from && of->cls == VY_IN && of->type == b->type && of->rank == b->rank;
    for (uint32_t k = 1; same && k < b->rank; k++)
        same = gather_as_long(p, b->dims[k], of->dims[k]); // then so are the first axes
    return same ? from : 0;
}

// A workspace of several programs is filled by their pipeline, which is where its beginning is
// declared: what a version may know of that is from before there were versions (gather_versions.c).
gather_start gather_start_of(const gather *g, uint32_t buffer)
{
    const vy_buf *b = &g->r->buffers.data[buffer];
    if (buffer < g->start_count && g->starts[buffer].init) return g->starts[buffer];
    if (!b->workspace || b->view_of || b->cls != VY_INOUT) return (gather_start){0};
    if (b->init == VY_INIT_ONES) return (gather_start){.init = VY_INIT_ONES};
    const uint32_t origin = gather_origin(g->r, buffer);
    return origin ? (gather_start){VY_INIT_COPY, origin} : (gather_start){0};
}

bool gather_may_be_begun(const gather *g, uint32_t buffer)
{
    return g->begun && g->begun[buffer].place;
}

bool gather_is_begun(const gather *g, uint32_t buffer)
{
    return g->begun && g->begun[buffer].proved;
}

static bool is_stated(const gather_launch *all, const char *condition)
{
    bool stated = false;
    for (uint32_t k = 0; k < all->count && !stated; k++)
        stated = !strcmp(all->condition[k], condition);
    return stated;
}

void gather_require_begun(gather *g)
{
    gather_launch *all = &g->launch;
    for (uint32_t k = 0; k < g->site_count; k++) {
        if (!g->sites[k].gathered) continue;
        for (uint32_t id = 0; (id = gather_slice_after(g->sites[k].need, id, g->r->insts.count)) <
                              g->r->insts.count;) {
            if (g->r->insts.data[id].op != VY_OP_LOAD) continue;
            gather_begun *x = &g->begun[g->r->insts.data[id].aux];
            if (!x->proved || x->required || g->keep[id]) continue;
            x->required = true;
            for (uint32_t j = 0; j < x->count && all->count < GATHER_ASSUMED; j++) {
                if (is_stated(all, x->condition[j])) continue;
                all->within[all->count] = x->within[j];
                all->condition[all->count++] = x->condition[j];
            }
            if (!x->holds.id) continue;
            all->holds =
                all->holds.id ? gather_node(g, VY_DIM_MIN, all->holds, x->holds) : x->holds;
        }
    }
}

uint32_t gather_load_begun(const gather *g, vy_builder *b, uint32_t load, const uint32_t *index)
{
    const vy_inst *i = &g->r->insts.data[load];
    const vy_buf *of = &g->r->buffers.data[i->aux];
    const gather_start start = gather_start_of(g, i->aux);
    if (start.init == VY_INIT_COPY) {
        const char *name = g->r->buffers.data[start.origin].name;
        const uint32_t from = vy_program_find_buffer(vy_builder_program(b), name).id;
        return vy_emit(b, VY_OP_LOAD, (vy_type)i->type, from, i->nargs, index);
    }
    vy_value all = vy_bool(b, true);
    for (uint32_t k = 0; k < i->nargs; k++)
        all = vy_and_in_range(b, all, (vy_value){index[k]}, vy_dim_number(b, of->dims[k]));
    const bool is_float = vy_type_is_float((vy_type)i->type);
    const vy_value one =
        is_float ? vy_float(b, (vy_type)i->type, 1) : vy_int(b, (vy_type)i->type, 1);
    return vy_select(b, all, one, vy_zero(b, (vy_type)i->type)).id;
}
