// SPDX-License-Identifier: MIT
// tables.c: allocates and frees the tables of facts, plan and build.  Each list names all tables of
// its struct.
#include "autodiff/core/build.h"

// `size` + 1 elements: most stay zero, and what is not touched takes no memory.
#define MAKE(name, size)                                                                           \
    ok &= (t->name = vy_zeroed(((size_t)(size) + 1) * sizeof *t->name)) != NULL;
#define FREE(name, size) vy_free(t->name);
#define DROP(name, size) vy_free(t->name), t->name = NULL;

// clang-format off
#define FACTS(T)                                                                                   \
    T(activity, n) T(home, n) T(scope, n) T(locals, n) T(needed, n) T(maskable, n) T(busy, n)      \
    T(adds, n) T(own, n) T(again, n) T(together, n) T(leaf_activity, leaves) T(leaf_wrt, leaves)   \
    T(buffers, p->buffers.count)
// Of programs with phases alone: vy_own makes them.
#define PHASED(T) T(own_in, n) T(summed, n)
#define PLAN(T)                                                                                    \
    T(kept, n) T(stands, n) T(counter, n) T(stage, n) T(staged_at, n)                              \
    T(rewound, p->buffers.count) T(spilled, p->buffers.count)
// Of programs with local arrays alone: vy_rewind makes them.
#define REWOUND(T) T(taken_back, n) T(rewinds, n)
#define SWEEPS(T)                                                                                  \
    T(map, n) T(count, n) T(adjoint, n) T(mask, n) T(slot, n) T(begins, n) T(begins_too, n)
#define BUILD(T)                                                                                   \
    SWEEPS(T) T(tape, n) T(tape_slot, n) T(same_in, n) T(first_in, n) T(sized, p->dims.count)      \
    T(leaf_map, leaves) T(leaf_adjoint, leaves) T(leaf_grad, leaves) T(leaf_slot, leaves)          \
    T(buffers, p->buffers.count) T(dims, p->dims.count) T(stage_twin, plan->stages.count)          \
    T(counters, plan->counters.count)
// clang-format on

// ------------------------------------------------------------------------------------------- facts
// Fills `home` and `scope`.
static void find_scopes(grad_facts *t)
{
    const vy_program *p = t->p;
    for (uint32_t id = 1; id < p->insts.count; id++) {
        uint32_t up = t->s.parent[id];
        vy_op op = up ? (vy_op)p->insts.data[up].op : VY_OP_IF;
        bool loop = vy_is_loop(op);
        t->home[id] = loop ? up : up ? t->home[up] : 0;
        t->scope[id] = loop || op == VY_OP_CHECKPOINT ? up : up ? t->scope[up] : 0;
    }
}

static void find_starts(grad_facts *t)
{
    for (uint32_t i = 1; i < t->p->buffers.count; i++) {
        const vy_buf *b = &t->p->buffers.data[i];
        if (vy_starts_as(b) == VY_INIT_COPY)
            t->buffers[i].start = vy_program_find_buffer(t->p, b->init_from).id;
    }
}

bool vy_grad_facts_make(grad_facts *t, const vy_program *p)
{
    size_t n = p->insts.count, leaves = p->leaves.count;
    bool ok = true;
    t->p = p;
    FACTS(MAKE)
    if (!ok || !vy_structure_make(p, &t->s)) return false;
    t->has_halves = vy_program_computes(p, VY_F16);
    for (uint32_t id = 1; id < n; id++) t->barriers |= p->insts.data[id].op == VY_OP_BARRIER;
    find_scopes(t);
    find_starts(t);
    return true;
}

bool vy_phase_facts_make(grad_facts *t)
{
    const size_t n = t->p->insts.count;
    bool ok = true;
    PHASED(MAKE)
    return ok;
}

void vy_grad_facts_free(grad_facts *t)
{
    FACTS(FREE)
    PHASED(FREE)
    vy_structure_free(&t->s);
    *t = (grad_facts){0};
}

// -------------------------------------------------------------------------------------------- plan
bool vy_storage_make(storage_plan *t, const vy_program *p)
{
    size_t n = p->insts.count;
    bool ok = true;
    PLAN(MAKE)
    for (uint32_t k = t->counters.count; ok && k-- > 0;)
        t->counter[t->counters.data[k].loop] = k + 1;
    return ok;
}

bool vy_storage_make_rewound(storage_plan *t, const vy_program *p)
{
    const size_t n = p->insts.count;
    bool ok = true;
    REWOUND(MAKE)
    return ok;
}

void vy_undo_plan_free(undo_plan *u)
{
    vy_vec_free(&u->logs);
    vy_vec_free(&u->forms);
    vy_arena_free(&u->arena);
    *u = (undo_plan){0};
}

void vy_storage_free(storage_plan *t)
{
    PLAN(FREE)
    REWOUND(FREE)
    vy_vec_free(&t->stages);
    vy_arena_free(&t->arena);
    vy_undo_plan_free(&t->undo);
    vy_vec_free(&t->counters);
    *t = (storage_plan){0};
}

// ------------------------------------------------------------------------------------------- build
bool vy_build_make(build_state *t, build_purpose purpose, const vy_program *p,
                   const storage_plan *plan)
{
    size_t n = p->insts.count, leaves = p->leaves.count;
    bool ok = true;
    vy_build_free(t);
    t->purpose = purpose;
    BUILD(MAKE)
    return ok;
}

void vy_build_swept(build_state *t) { SWEEPS(DROP) }

void vy_build_free(build_state *t)
{
    BUILD(FREE)
    vy_vec_free(&t->log);
    *t = (build_state){0};
}
