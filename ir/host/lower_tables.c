// SPDX-License-Identifier: MIT
// lower_tables.c: what the files of the lowering share: its tables, and what a tensor is.
#include "ir/core/flow.h"
#include "ir/host/lower.h"

void *lower_room(lowering *w, size_t count, size_t size)
{
    void *p = vy_arena_alloc(&w->arena, (count + 1) * size);
    if (!p) w->oom = true;
    return p;
}

static uint32_t greatest_key(const vy_program *h)
{
    int64_t key = 0;
    for (uint32_t i = 1; i < h->dims.count; i++)
        if (h->dims.data[i].op == VY_DIM_STEP && h->dims.data[i].value > key)
            key = h->dims.data[i].value;
    return (uint32_t)key;
}

// Lists the uses of keys in an extent of buffer i, of which there are `at` so far; the tables are
// NULL while they are counted.
static uint32_t list_keys(lowering *w, uint32_t i, uint32_t dim, uint32_t at)
{
    const vy_dim_node *d = &w->h->dims.data[dim];
    if (d->op >= VY_DIM_ADD) {
        at = list_keys(w, i, d->a, at);
        return d->b == d->a ? at : list_keys(w, i, d->b, at);
    }
    if (d->op != VY_DIM_STEP) return at;
    at++;
    if (!w->used_by) return at;
    w->used_by[at] = i;
    w->next_use[at] = w->first_use[d->value];
    w->first_use[d->value] = at;
    return at;
}

static uint32_t list_buffers(lowering *w)
{
    const vy_program *h = w->h;
    uint32_t at = 0;
    for (uint32_t i = h->buffers.count; i-- > 1;)
        for (uint32_t k = h->buffers.data[i].rank; k-- > 0;)
            at = list_keys(w, i, h->buffers.data[i].dims[k].id, at);
    return at;
}

// Lists the axes of each key, in the order of the buffers.
static void list_axes(lowering *w)
{
    const uint32_t n = list_buffers(w);
    w->next_use = lower_room(w, n, sizeof *w->next_use);
    if (!w->oom) w->used_by = lower_room(w, n, sizeof *w->used_by);
    if (!w->oom) list_buffers(w);
}

bool lower_make_tables(lowering *w)
{
    const uint32_t n = w->h->insts.count;
    w->last = lower_room(w, n, sizeof *w->last);
    w->direct = lower_room(w, n, sizeof *w->direct);
    w->is_direct = lower_room(w, n, 1);
    w->array = lower_room(w, n, sizeof *w->array);
    w->into = lower_room(w, n, sizeof *w->into);
    w->early = lower_room(w, n, sizeof *w->early);
    w->nothing = lower_room(w, n, 1);
    w->dead = lower_room(w, n, 1);
    w->copied = lower_room(w, n, sizeof *w->copied);
    w->after = lower_room(w, n, sizeof *w->after);
    w->put_off = lower_room(w, n, sizeof *w->put_off);
    w->next_off = lower_room(w, n, sizeof *w->next_off);
    w->scope = lower_room(w, n, sizeof *w->scope);
    w->number = lower_room(w, n, sizeof *w->number);
    w->leaf = lower_room(w, w->h->leaves.count, sizeof *w->leaf);
    w->place = lower_room(w, n, sizeof *w->place);
    w->begun = lower_room(w, w->h->buffers.count, 1);
    w->scoped = lower_room(w, w->h->buffers.count, 1);
    w->extent = lower_room(w, greatest_key(w->h), sizeof *w->extent);
    w->first_use = lower_room(w, greatest_key(w->h), sizeof *w->first_use);
    if (!w->oom) list_axes(w);
    w->current = lower_room(w, w->h->buffers.count, sizeof *w->current);
    for (uint32_t i = 0; w->current && i < w->h->buffers.count; i++) w->current[i] = i;
    if (!vy_structure_make(w->h, &w->s)) w->oom = true;
    return !w->oom;
}

bool lower_is_tensor(const lowering *w, uint32_t id)
{
    const vy_program *h = w->h;
    if (VY_IS_LEAF(id)) return false; // constants are, where a tensor is expected
    const vy_inst *i = &h->insts.data[id];
    if (i->op == VY_OP_PICK || vy_is_slot((vy_op)i->op)) return true;
    if (i->op == VY_OP_LOAD) return i->nargs < h->buffers.data[i->aux].rank;
    return i->op == VY_OP_ADD && vy_type_is_float((vy_type)i->type);
}

static bool is_load(const vy_program *h, uint32_t id)
{
    return !VY_IS_LEAF(id) && h->insts.data[id].op == VY_OP_LOAD;
}

// Is the sum stored, at once, to the slice that its second operand was loaded from?
static bool is_stored_back(const vy_program *h, uint32_t sum)
{
    const uint32_t next = sum + 1;
    const vy_inst *i = &h->insts.data[next];
    return next < h->insts.count && i->op == VY_OP_STORE && vy_arg(h, next, i->nargs - 1) == sum &&
           vy_host_same_slice(h, vy_arg(h, sum, 1), next);
}

uint32_t lower_updated_by(const lowering *w, uint32_t value)
{
    const vy_program *h = w->h;
    if (h->insts.data[value].op == VY_OP_ADD) // most often, the sum is stored where it was loaded
        return is_load(h, vy_arg(h, value, 1)) &&
               (!is_load(h, vy_arg(h, value, 0)) || is_stored_back(h, value));
    const vy_program *p = vy_host_callee(h->module, vy_host_call_of(h, vy_arg(h, value, 0)));
    for (uint32_t i = 1, given = 0, taken = 0; i < p->buffers.count; i++) {
        const vy_buf *b = &p->buffers.data[i];
        if (!vy_pipe_binds(b)) continue;
        if (vy_host_gives(b) && given++ == h->insts.data[value].aux)
            return vy_host_takes(b) ? taken : UINT32_MAX;
        taken += vy_host_takes(b);
    }
    return UINT32_MAX;
}
