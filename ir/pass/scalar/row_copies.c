// SPDX-License-Identifier: MIT
// row_copies.c: rows that a loop works on, in arrays of their own while it runs.
//
//                                                 local t: f32[32];
//                                                 t[0] = g[0]; t[1] = g[1]; …
//   for o in 0..32 {                              for o in 0..32 {
//     var s = 0.0;                                  var s = 0.0;
//     for k in 0..32 { s += w[o, k] * g[k]; }  →    for k in 0..32 { s += w[o, k] * t[k]; }
//     y[o] = s;                                     y[o] = s;
//   }                                             }
//   for o in 0..32 { g[o] = y[o] * y[o]; … }      for o in 0..32 { g[o] = y[o] * y[o]; … }
//
// `registers` (unroll.c) makes values of an array if all of its indices are constants or counters
// of loops that it unrolls.  Layers of a network fill one array at the counter of a long loop and
// read it at that of a short one, and their gradients add to it and read it likewise, so it becomes
// none.  But in a loop that only has such accesses a copy does.  Elements go back after the loop if
// it stores to them; those that it did not store are what they were, and no other invocation sees
// the array.
//
// The loop is the outermost one in which all accesses to the array are such, and an inner loop has
// to work on at least half of the row: else copying takes as long.
#include "ir/pass/pass.h"
#include "ir/pass/scalar/rows.h"

typedef struct row_copy {
    uint32_t loop, of; // of: the array
    uint32_t next;     // of the same loop: 1 + index; 0: none
    bool stored;
    vy_buffer array; // once it is declared
} row_copy;
VY_VEC_TYPE(row_copy_vec, row_copy);

typedef struct row_copies {
    vy_rewrite w;
    uint64_t *trips;           // by loop: see vy_row_trips
    uint32_t *head, *previous; // by buffer: its last access; by access: the one before; 0: none
    uint32_t *bad;             // by loop: the last array that it accesses otherwise
    uint32_t *at;              // by loop: 1 + its copy of the array being looked at, or less
    uint32_t *first;           // by loop: 1 + its first copy
    uint32_t *by;              // by access: 1 + its copy
    row_copy_vec list;
} row_copies;

static const vy_inst *inst(const row_copies *x, uint32_t id) { return &x->w.p->insts.data[id]; }

static uint32_t around(const row_copies *x, uint32_t id)
{
    return vy_loop_around(x->w.p, &x->w.s, id);
}

// --------------------------------------------------------------------------------------- choosing
static uint64_t trips_of_index(const row_copies *x, uint32_t index)
{
    return VY_IS_LEAF(index) ? 0 : x->trips[index];
}

// Would the access be one to a value, once loops are unrolled?
static bool is_fixed(const row_copies *x, uint32_t id)
{
    const vy_op op = (vy_op)inst(x, id)->op;
    if (op != VY_OP_LOAD && op != VY_OP_STORE) return false;
    for (uint32_t k = 0; k < vy_rank_of(x->w.p, id); k++) {
        const uint32_t index = vy_arg(x->w.p, id, k);
        if (!trips_of_index(x, index) && !vy_id_const(x->w.p, index)) return false;
    }
    return true;
}

// The outermost loop around `id` that only has such accesses to the array; 0: none.
static uint32_t outermost(const row_copies *x, uint32_t id, uint32_t array)
{
    uint32_t loop = 0;
    for (uint32_t up = around(x, id); up && x->bad[up] != array; up = around(x, up)) loop = up;
    return loop;
}

// Is the loop worth copies for what this access does?
static bool pays(const row_copies *x, uint32_t id, uint32_t loop)
{
    uint64_t elements = 1;
    bool nested = false;
    for (uint32_t k = 0; k < vy_rank_of(x->w.p, id); k++) {
        const uint32_t index = vy_arg(x->w.p, id, k);
        if (!trips_of_index(x, index)) continue;
        elements *= x->trips[index];
        nested |= index != loop;
    }
    return nested && 2 * elements >= vy_row_elements(x->w.p, inst(x, id)->aux);
}

// Marks the loops with other accesses to the array.  True if there are some, so that `registers`
// makes no values of it; it does of one that is only cleared as well.
static bool mark_others(row_copies *x, uint32_t array)
{
    bool any = false;
    for (uint32_t id = x->head[array]; id; id = x->previous[id]) {
        if (is_fixed(x, id)) continue;
        any |= inst(x, id)->op != VY_OP_ZERO;
        for (uint32_t up = around(x, id); up && x->bad[up] != array; up = around(x, up))
            x->bad[up] = array;
    }
    return any;
}

static bool choose_array(row_copies *x, uint32_t array)
{
    if (!mark_others(x, array)) return true;
    const uint32_t before = x->list.count;
    for (uint32_t id = x->head[array]; id; id = x->previous[id]) {
        const uint32_t loop = outermost(x, id, array);
        if (!loop || x->at[loop] > before || !pays(x, id, loop)) continue;
        const row_copy c = {.loop = loop, .of = array, .next = x->first[loop]};
        if (!vy_vec_push(&x->list, c)) return false;
        x->first[loop] = x->at[loop] = x->list.count;
    }
    for (uint32_t id = x->head[array]; id && x->list.count > before; id = x->previous[id]) {
        const uint32_t loop = outermost(x, id, array);
        if (!loop || x->at[loop] <= before) continue;
        x->by[id] = x->at[loop];
        x->list.data[x->by[id] - 1].stored |= inst(x, id)->op == VY_OP_STORE;
    }
    return true;
}

static bool choose_copies(row_copies *x)
{
    const vy_program *p = x->w.p;
    x->trips = vy_rewrite_table(&x->w, p->insts.count * sizeof *x->trips);
    x->head = vy_rewrite_table(&x->w, p->buffers.count * sizeof *x->head);
    uint32_t **tables[] = {&x->previous, &x->bad, &x->at, &x->first, &x->by};
    for (size_t k = 0; k < sizeof tables / sizeof *tables; k++) *tables[k] = vy_rewrite_ids(&x->w);
    if (x->w.oom) return false;
    vy_row_trips(p, &x->w.s, x->trips);
    for (uint32_t id = 1; id < p->insts.count; id++) {
        const vy_inst *i = &p->insts.data[id];
        if (!vy_op_is_memory((vy_op)i->op)) continue;
        x->previous[id] = x->head[i->aux];
        x->head[i->aux] = id;
    }
    for (uint32_t b = 1; b < p->buffers.count; b++)
        if (vy_row_elements(p, b) && !choose_array(x, b)) return false;
    return true;
}

// ------------------------------------------------------------------------------------- rebuilding
static void declare(row_copies *x, row_copy *c)
{
    const vy_buf *b = &x->w.p->buffers.data[c->of];
    vy_dim dims[VY_MAX_RANK];
    for (uint32_t k = 0; k < b->rank; k++) {
        const int64_t n = x->w.p->dims.data[b->dims[k].id].value;
        dims[k] = vy_dim_const(x->w.b, n);
    }
    c->array = vy_local_array(x->w.b, b->name, b->type, b->rank, dims);
}

static void copy_elements(row_copies *x, uint32_t to, uint32_t from, uint32_t array)
{
    vy_builder *b = x->w.b;
    const vy_buf *buf = &x->w.p->buffers.data[array];
    const uint64_t n = vy_row_elements(x->w.p, array);
    for (uint64_t e = 0; e < n && !vy_rewrite_stopped(&x->w); e++) {
        uint32_t args[VY_MAX_RANK + 1];
        uint64_t rest = e;
        for (uint32_t k = buf->rank; k-- > 0;) {
            const uint64_t extent = (uint64_t)x->w.p->dims.data[buf->dims[k].id].value;
            args[k] = vy_int(b, VY_U32, (int64_t)(rest % extent)).id;
            rest /= extent;
        }
        args[buf->rank] = vy_emit(b, VY_OP_LOAD, buf->type, from, buf->rank, args);
        vy_emit(b, VY_OP_STORE, VY_VOID, to, buf->rank + 1, args);
    }
}

static void copy_access(row_copies *x, uint32_t id)
{
    const vy_inst *i = inst(x, id);
    const row_copy *c = &x->list.data[x->by[id] - 1];
    uint32_t args[VY_MAX_RANK + 1];
    vy_rewrite_at(&x->w, id);
    vy_new_args(&x->w, id, i->nargs, args);
    const uint32_t v = vy_emit(x->w.b, (vy_op)i->op, (vy_type)i->type, c->array.id, i->nargs, args);
    if (i->op == VY_OP_LOAD) vy_rewrite_as(&x->w, id, v);
}

static uint32_t with_copies(void *pass, uint32_t id)
{
    row_copies *x = pass;
    if (x->first[id]) vy_rewrite_at(&x->w, id);
    for (uint32_t n = x->first[id]; n && !vy_rewrite_stopped(&x->w);) {
        row_copy *c = &x->list.data[n - 1];
        declare(x, c);
        copy_elements(x, c->array.id, c->of, c->of);
        n = c->next;
    }
    if (x->by[id])
        copy_access(x, id);
    else
        vy_rewrite_copy(&x->w, id);
    const uint32_t loop = vy_rewrite_ended(&x->w, id);
    for (uint32_t n = loop ? x->first[loop] : 0; n && !vy_rewrite_stopped(&x->w);) {
        const row_copy *c = &x->list.data[n - 1];
        if (c->stored) copy_elements(x, c->of, c->array.id, c->of);
        n = c->next;
    }
    return id;
}

vy_program *vy_copy_rows(vy_program *p, bool *ok)
{
    row_copies x = {0};
    *ok = vy_rewrite_begin(&x.w, p) && choose_copies(&x);
    if (*ok && x.list.count) vy_rewrite_run(&x.w, with_copies, &x);
    const bool begun = x.w.b != NULL;
    vy_vec_free(&x.list);
    vy_program *fresh = vy_rewrite_take(&x.w, *ok);
    *ok &= !begun || fresh;
    return fresh;
}
