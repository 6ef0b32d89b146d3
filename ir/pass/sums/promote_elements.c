// SPDX-License-Identifier: MIT
// promote_elements.c: an element of memory that a loop updates lives in a variable while the loop
// runs.
//
//   for k in 0..K {                         local t: f32[1];  t[0] = y[i];
//     y[i] += x[i, k];              →       for k in 0..K { t[0] += x[i, k]; }
//   }                                       if 0 < K { y[i] = t[0]; }
//
// (scalarise, which runs next, turns t into a carried value.)  Storing behind the loop without
// asking whether it ran would write an element that the program does not write, which may be
// another invocation's: a race of our making.  So at least one store must stand directly in the
// body, which runs in the first iteration, and the store behind it is guarded by `from < to`.
// Inside the loop every access to the buffer must be to this element or certainly to another one;
// none may be an atomic, and with a barrier inside only local arrays qualify.  The index must be
// proved in range: a store out of range would be forgotten, the variable would not.
//
// Needs valid structure; keeps lines and names.
#include "ir/facts/memory.h"
#include "ir/facts/range.h"
#include "ir/pass/pass.h"

enum { MAX_ACCESSES = 64, MAX_PROMOTED = 256 };

typedef struct entry {
    uint32_t loop, store; // the store names buffer and index
    uint32_t next;        // of the same loop
    bool read_first;      // an access before the store reads what the element was
    vy_buffer array;      // the variable
} entry;

typedef struct promote {
    vy_rewrite w;
    vy_writes touched; // reads and writes
    uint8_t *proved;
    uint32_t *by;    // by access: 1 + entry
    uint32_t *first; // by LOOP: 1 + its first entry
    entry list[MAX_PROMOTED];
    uint32_t count;
} promote;

static const uint32_t *index_of(const promote *q, uint32_t id) { return vy_args(q->w.p, id); }

// The buffer that an access names.
static uint32_t buffer_of(const promote *q, uint32_t id) { return q->w.p->insts.data[id].aux; }

static bool same_element(const promote *q, uint32_t x, uint32_t y)
{
    for (uint32_t k = 0; k < q->w.p->buffers.data[buffer_of(q, x)].rank; k++)
        if (index_of(q, x)[k] != index_of(q, y)[k]) return false;
    return buffer_of(q, x) == buffer_of(q, y);
}

// May `store`, directly in `loop`, be promoted as far as it alone is concerned?
static bool qualifies(const promote *q, uint32_t store, uint32_t loop)
{
    const vy_buf *b = &q->w.p->buffers.data[buffer_of(q, store)];
    if (q->w.p->insts.data[loop].op != VY_OP_LOOP || !q->proved[store] || q->by[store] ||
        vy_type_loaded(b->type) != b->type)
        return false;
    for (uint32_t k = 0; k < b->rank; k++)
        if (!VY_IS_LEAF(index_of(q, store)[k]) && index_of(q, store)[k] >= loop) return false;
    return b->cls == VY_LOCAL || !vy_barrier_between(&q->touched, loop, q->w.s.partner[loop]);
}

// Looks at all accesses to the memory inside the loop, and takes those of the same element.
static bool take(promote *q, uint32_t store, uint32_t loop, bool really)
{
    uint32_t memory = vy_memory_of(q->w.p, buffer_of(q, store)), end = q->w.s.partner[loop],
             seen = 0;
    uint32_t rank = q->w.p->buffers.data[buffer_of(q, store)].rank;
    for (uint32_t n = vy_first_after(&q->touched, memory, loop); n < q->touched.start[memory + 1];
         n++) {
        uint32_t id = q->touched.at[n];
        if (id >= end) return true;
        vy_op op = (vy_op)q->w.p->insts.data[id].op;
        if (++seen > MAX_ACCESSES || (op != VY_OP_LOAD && op != VY_OP_STORE) ||
            buffer_of(q, id) != buffer_of(q, store))
            return false;
        if (same_element(q, id, store)) {
            if (q->by[id]) return false;
            if (really) q->by[id] = q->count;
            if (really && op == VY_OP_LOAD && id < store) q->list[q->count - 1].read_first = true;
        } else if (vy_indices_meet(q->w.p, rank, index_of(q, id), index_of(q, store))) {
            return false;
        }
    }
    return true;
}

static void choose(promote *q)
{
    for (uint32_t id = 1; id < q->w.p->insts.count && q->count < MAX_PROMOTED; id++) {
        uint32_t loop = q->w.s.parent[id];
        if (q->w.p->insts.data[id].op != VY_OP_STORE || !loop || !qualifies(q, id, loop)) continue;
        if (!take(q, id, loop, false)) continue;
        q->list[q->count++] = (entry){.loop = loop, .store = id, .next = q->first[loop]};
        q->first[loop] = q->count;
        take(q, id, loop, true);
    }
}

// ------------------------------------------------------------------------------------- rebuilding
// A load or store of entry e's element in memory (value 0: a load).
static uint32_t emit_memory(promote *q, const entry *e, uint32_t value)
{
    uint32_t buffer = buffer_of(q, e->store), rank = q->w.p->buffers.data[buffer].rank;
    uint32_t args[VY_MAX_RANK + 1];
    vy_new_args(&q->w, e->store, rank, args);
    args[rank] = value;
    vy_type t = q->w.p->buffers.data[buffer].type;
    return value ? vy_emit(q->w.b, VY_OP_STORE, VY_VOID, buffer, rank + 1, args)
                 : vy_emit(q->w.b, VY_OP_LOAD, t, buffer, rank, args);
}

static void emit_array(vy_builder *b, vy_buffer array, uint32_t value)
{
    vy_value zero = vy_int(b, VY_U32, 0);
    vy_store(b, array, &zero, (vy_value){value});
}

static uint32_t read_array(vy_builder *b, vy_buffer array)
{
    vy_value zero = vy_int(b, VY_U32, 0);
    return vy_load(b, array, &zero).id;
}

static void in_front(promote *q, uint32_t loop)
{
    vy_builder *b = q->w.b;
    vy_rewrite_at(&q->w, loop);
    for (uint32_t n = q->first[loop]; n; n = q->list[n - 1].next) {
        entry *e = &q->list[n - 1];
        const vy_buf *buf = &q->w.p->buffers.data[buffer_of(q, e->store)];
        vy_dim one = vy_dim_const(b, 1);
        e->array = vy_local_array(b, buf->name, buf->type, 1, &one);
        // An `out` element that was never written may not be read, not even for nothing.
        if (e->read_first) emit_array(b, e->array, emit_memory(q, e, 0));
    }
}

static void behind(promote *q, uint32_t loop)
{
    vy_rewrite_at(&q->w, loop);
    bool asks = vy_begin_if_unsure(q->w.b, vy_new_runs(&q->w, loop).id);
    for (uint32_t n = q->first[loop]; n && !vy_rewrite_stopped(&q->w); n = q->list[n - 1].next) {
        const entry *e = &q->list[n - 1];
        vy_rewrite_at(&q->w, e->store);
        emit_memory(q, e, read_array(q->w.b, e->array));
    }
    if (asks) vy_end_plain_if(q->w.b);
}

static void copy_access(promote *q, uint32_t id)
{
    vy_rewrite *w = &q->w;
    const entry *e = &q->list[q->by[id] - 1];
    vy_rewrite_at(w, id);
    if (w->p->insts.data[id].op == VY_OP_LOAD) {
        vy_rewrite_as(w, id, read_array(w->b, e->array));
    } else {
        uint32_t rank = w->p->buffers.data[buffer_of(q, id)].rank;
        emit_array(w->b, e->array, vy_new_arg(w, id, rank));
    }
}

static uint32_t instead(void *pass, uint32_t id)
{
    promote *q = pass;
    if (q->first[id]) in_front(q, id);
    if (q->by[id])
        copy_access(q, id);
    else
        vy_rewrite_copy(&q->w, id);
    uint32_t loop = vy_rewrite_ended(&q->w, id);
    if (loop && q->first[loop]) behind(q, loop);
    return id;
}

static bool prepare(promote *q)
{
    q->proved = vy_rewrite_bytes(&q->w);
    q->by = vy_rewrite_ids(&q->w);
    q->first = vy_rewrite_ids(&q->w);
    return !q->w.oom &&
           vy_writes_make(&q->touched, q->w.p, VY_COUNT_WRITES | VY_COUNT_READS, &q->w.arena) &&
           vy_prove_ranges(q->w.p, &q->w.s, &q->w.arena, q->proved);
}

static bool has_loops(const vy_program *p)
{
    for (uint32_t id = 1; id < p->insts.count; id++)
        if (p->insts.data[id].op == VY_OP_LOOP) return true;
    return false;
}

bool vy_pass_promote_elements(vy_program *p, vy_pass_context *c)
{
    if (!has_loops(p)) return true;
    promote q = {0};
    bool ok = vy_rewrite_begin(&q.w, p) && prepare(&q);
    if (ok) choose(&q);
    if (ok && q.count) vy_rewrite_run(&q.w, instead, &q);
    return vy_rewrite_end(&q.w, ok, &c->changed);
}
