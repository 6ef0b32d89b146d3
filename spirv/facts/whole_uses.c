// SPDX-License-Identifier: MIT
// whole_uses.c: values that affect whether or where shared arrays are accessed: the backward
// closure of indices and conditions.
#include "spirv/facts/whole.h"

#include <string.h>

typedef struct closure {
    const vy_program *p;
    vy_dataflow *flow;
    uint8_t *in;
} closure;

static void reach(const closure *c, uint32_t id)
{
    if (!id || VY_IS_LEAF(id) || c->in[id]) return;
    c->in[id] = 1;
    vy_dataflow_push(c->flow, id);
}

static void reach_args(const closure *c, uint32_t id, uint32_t from, uint32_t to)
{
    for (uint32_t k = from; k < to; k++) reach(c, vy_arg(c->p, id, k));
}

static void reach_slot(const closure *c, uint32_t id)
{
    uint32_t sources[3], n = vy_slot_sources(c->p, c->flow->s, id, sources);
    for (uint32_t k = 0; k < n; k++) reach(c, sources[k]);
}

static void visit(const closure *c, uint32_t id)
{
    const vy_inst *i = &c->p->insts.data[id];
    switch ((vy_op)i->op) {
    case VY_OP_CARRY:
    case VY_OP_RESULT: reach_slot(c, id); break;
    default: reach_args(c, id, 0, vy_value_args(c->p, id)); break;
    }
}

static void find_deciders(const closure *c)
{
    for (uint32_t id = 1; id < c->p->insts.count; id++) {
        const vy_inst *i = &c->p->insts.data[id];
        const bool memory = vy_op_is_memory((vy_op)i->op);
        if (memory && c->p->buffers.data[i->aux].cls == VY_SHARED)
            reach_args(c, id, 0, i->op == VY_OP_ZERO ? 0 : c->p->buffers.data[i->aux].rank);
        reach_args(c, id, 0, vy_control_args(c->p, c->flow->s, id));
    }
    for (uint32_t id; (id = vy_dataflow_pop(c->flow));) visit(c, id);
}

static bool is_shared(const vy_program *p, const uint8_t *shared, uint32_t id)
{
    if (!VY_IS_LEAF(id)) return shared[id];
    const vy_leaf_kind kind = (vy_leaf_kind)p->leaves.data[VY_LEAF_INDEX(id)].kind;
    return kind == VY_LEAF_CONST || kind == VY_LEAF_SCALAR || kind == VY_LEAF_LEN;
}

// A LOOP is shared if its bounds are.
static void find_shared(const vy_program *p, uint8_t *shared)
{
    for (uint32_t id = 1; id < p->insts.count; id++) {
        const vy_inst *i = &p->insts.data[id];
        shared[id] = i->op == VY_OP_LOOP || vy_op_infos[i->op].effect == VY_PURE;
        for (uint32_t k = 0; k < vy_value_args(p, id) && shared[id]; k++)
            shared[id] = is_shared(p, shared, vy_arg(p, id, k));
    }
}

bool vy_whole_uses_make(const vy_program *p, const vy_structure *s, vy_whole_uses *u)
{
    const uint32_t n = p->insts.count;
    u->decides = vy_realloc(NULL, n);
    u->counts = vy_realloc(NULL, n);
    u->shared = vy_realloc(NULL, n);
    vy_arena arena = {0};
    vy_dataflow flow;
    bool ok = u->decides && u->counts && u->shared && vy_dataflow_make(&flow, p, s, &arena);
    if (ok) {
        memset(u->decides, 0, n);
        memset(u->counts, 0, n);
        memset(u->shared, 0, n);
        find_shared(p, u->shared);
        find_deciders(&(closure){.p = p, .flow = &flow, .in = u->decides});
        ok = vy_whole_find_counting(&flow, u);
    }
    vy_arena_free(&arena);
    if (!ok) vy_whole_uses_free(u);
    return ok;
}

void vy_whole_uses_free(vy_whole_uses *u)
{
    vy_free(u->decides);
    vy_free(u->counts);
    vy_free(u->shared);
    *u = (vy_whole_uses){0};
}
