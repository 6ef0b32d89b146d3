// SPDX-License-Identifier: MIT
// store_adds.c: stores that add to what is there.
//
//   v = B[i] + e;  B[i] = v           ē += B̄[i]
//
// Reversed instruction by instruction this takes B̄[i] out at the store and puts it back at the
// load.  Then the adjoint of a sum in memory would be written in every turn of a loop in which it
// does not change, and no program over elements could read it (gather.h).  So the store does not
// clear, and the load does not add: what they hand on is the same.
//
// The load's only use must be the store's value, by additions and by subtractions from it whose
// results have no other use; store and load must name one element by the same index values, stand
// in one region, and the memory must not be touched, nor other invocations be waited for, between
// them.

#include "ir/facts/memory.h"
#include "autodiff/facts/facts.h"

enum { MOST_TERMS = 16 };

typedef struct search {
    const vy_program *p;
    const vy_structure *s;
    const vy_writes *touched;
    const uint32_t *uses; // by instruction: how many
} search;

static bool same_element(const vy_program *p, uint32_t load, uint32_t store)
{
    const vy_inst *i = &p->insts.data[load], *j = &p->insts.data[store];
    if (i->op != VY_OP_LOAD || i->aux != j->aux) return false;
    for (uint32_t k = 0; k < i->nargs; k++)
        if (vy_arg(p, load, k) != vy_arg(p, store, k)) return false;
    return true;
}

static bool untouched(const search *q, uint32_t load, uint32_t store)
{
    uint32_t memory = vy_memory_of(q->p, q->p->insts.data[store].aux);
    uint32_t next = vy_first_after(q->touched, memory, load);
    return q->touched->at[next] == store && !vy_barrier_between(q->touched, load, store);
}

// The load to which `store` adds, or 0.
static uint32_t find(const search *q, uint32_t store)
{
    const vy_program *p = q->p;
    const vy_buf *b = &p->buffers.data[p->insts.data[store].aux];
    uint32_t stack[MOST_TERMS] = {vy_arg(p, store, b->rank)}, n = 1;
    if (!vy_type_is_float(b->type) || vy_type_loaded(b->type) != b->type) return 0;
    while (n) {
        uint32_t id = stack[--n];
        if (VY_IS_LEAF(id) || q->uses[id] != 1 || q->s->parent[id] != q->s->parent[store]) continue;
        const vy_inst *i = &p->insts.data[id];
        if (same_element(p, id, store) && untouched(q, id, store)) return id;
        if ((i->op != VY_OP_ADD && i->op != VY_OP_SUB) || n + 2 > MOST_TERMS) continue;
        if (i->op == VY_OP_ADD) stack[n++] = vy_arg(p, id, 1);
        stack[n++] = vy_arg(p, id, 0);
    }
    return 0;
}

bool vy_additions(grad_facts *f)
{
    const vy_program *p = f->p;
    vy_arena arena = {0};
    vy_writes touched;
    uint32_t *uses = vy_arena_alloc(&arena, p->insts.count * sizeof *uses);
    bool ok = uses && vy_writes_make(&touched, p, VY_COUNT_READS | VY_COUNT_WRITES, &arena);
    search q = {.p = p, .s = &f->s, .touched = &touched, .uses = uses};
    for (uint32_t id = 1; ok && id < p->insts.count; id++)
        for (uint32_t k = 0; k < p->insts.data[id].nargs; k++) {
            uint32_t v = vy_arg(p, id, k);
            if (!VY_IS_LEAF(v)) uses[v]++;
        }
    for (uint32_t id = 1; ok && id < p->insts.count; id++) {
        uint32_t load = p->insts.data[id].op == VY_OP_STORE ? find(&q, id) : 0;
        if (load) f->adds[id] = f->adds[load] = 1;
    }
    vy_arena_free(&arena);
    return ok;
}
