// SPDX-License-Identifier: MIT
// whole_uses.c: what decides where shared arrays are accessed, and which loads count.
//
// Two closures from users to what they are made of.  The second goes by no condition: a load in front of
// `if i + 1 < N { … }` that is used inside alone counts as little as one inside, nor does one among which a
// select chooses; the optimiser makes each of the other.
#include "spirv/whole.h"

#include <string.h>

VY_VEC_TYPE(id_vec, uint32_t);

typedef struct closure {
    const vy_program *p;
    const vy_structure *s;
    // By instruction: the arm it stands in, or the loop of which not all invocations take the same turns; NULL: all alike.
    const uint32_t *guard;
    uint8_t *in;
    id_vec work;
    bool failed;
} closure;

static void reach(closure *c, uint32_t user, uint32_t id)
{
    if (!id || VY_IS_LEAF(id) || c->in[id]) return;
    if (c->guard && user && c->guard[user] != c->guard[id]) return;
    c->in[id] = 1;
    if (!vy_vec_push(&c->work, id)) c->failed = true;
}

static void reach_args(closure *c, uint32_t id, uint32_t from, uint32_t to)
{
    for (uint32_t k = from; k < to; k++) reach(c, id, vy_arg(c->p, id, k));
}

static uint32_t first_initial(vy_op op) { return op == VY_OP_LOOP ? 3 : 0; }

// The k-th value that a turn of the loop hands on.
static uint32_t next_of(const closure *c, uint32_t opener, uint32_t k)
{
    const bool exits = c->p->insts.data[opener].flags & VY_FLAG_EXIT;
    return vy_arg(c->p, c->s->partner[opener], k + exits);
}

// What an arm or a body hands out: with guards that alone which was made in there, for the walk knows whether one came by.
static void reach_yield(closure *c, uint32_t user, uint32_t inside, uint32_t id)
{
    const bool made_there = c->guard && !VY_IS_LEAF(id) && c->guard[id] == inside;
    reach(c, made_there ? 0 : user, id);
}

static void reach_carried(closure *c, uint32_t user, uint32_t opener, uint32_t k)
{
    const vy_op op = (vy_op)c->p->insts.data[opener].op;
    reach(c, user, vy_arg(c->p, opener, first_initial(op) + k));
    reach_yield(c, user, opener, next_of(c, opener, k));
}

// What an arm yields that was made outside is chosen by the condition.
static void reach_arm(closure *c, uint32_t marker, uint32_t arm, uint32_t k)
{
    const uint32_t id = vy_arg(c->p, marker, k);
    if (!c->guard || (!VY_IS_LEAF(id) && c->guard[id] == arm)) reach(c, 0, id);
}

static void reach_result(closure *c, uint32_t id)
{
    const uint32_t end = vy_arg(c->p, id, 0), opener = c->s->partner[end],
                   k = c->p->insts.data[id].aux;
    switch ((vy_op)c->p->insts.data[end].op) {
    case VY_OP_ENDIF: // IF→ELSE→ENDIF→IF
        reach_arm(c, c->s->partner[opener], opener, k);
        reach_arm(c, end, c->s->partner[opener], k);
        break;
    case VY_OP_ENDLOOP: reach_carried(c, id, opener, k); break;
    default: reach(c, id, vy_arg(c->p, end, k)); break;
    }
}

static void visit(closure *c, uint32_t id)
{
    const vy_inst *i = &c->p->insts.data[id];
    switch ((vy_op)i->op) {
    case VY_OP_CARRY: reach_carried(c, id, vy_arg(c->p, id, 0), i->aux); break;
    case VY_OP_RESULT: reach_result(c, id); break;
    case VY_OP_LOOP: reach_args(c, id, 0, 3); break;
    case VY_OP_SELECT: reach_args(c, id, 0, c->guard ? 1 : 3); break;
    default: reach_args(c, id, 0, i->nargs); break;
    }
}

// Conditions and bounds, which decide about all that stands inside.
static void reach_control(closure *c, uint32_t id)
{
    const vy_inst *i = &c->p->insts.data[id];
    if (i->op == VY_OP_IF || i->op == VY_OP_TEST) reach_args(c, id, 0, 1);
    if (i->op == VY_OP_LOOP) reach_args(c, id, 0, 3);
    if (i->op == VY_OP_ENDLOOP && c->p->insts.data[c->s->partner[id]].flags & VY_FLAG_EXIT)
        reach_args(c, id, 0, 1);
}

static void close(closure *c)
{
    while (c->work.count && !c->failed) visit(c, c->work.data[--c->work.count]);
    vy_vec_free(&c->work);
}

static bool find_deciders(closure *c)
{
    for (uint32_t id = 1; id < c->p->insts.count; id++) {
        const vy_inst *i = &c->p->insts.data[id];
        const bool memory = vy_op_is_memory((vy_op)i->op);
        if (memory && c->p->buffers.data[i->aux].cls == VY_SHARED)
            reach_args(c, id, 0, i->op == VY_OP_ZERO ? 0 : c->p->buffers.data[i->aux].rank);
        reach_control(c, id);
    }
    close(c);
    return !c->failed;
}

static bool find_counting(closure *c)
{
    for (uint32_t id = 1; id < c->p->insts.count; id++) {
        const vy_op op = (vy_op)c->p->insts.data[id].op;
        if (vy_op_infos[op].effect == VY_WRITE) reach_args(c, id, 0, c->p->insts.data[id].nargs);
        reach_control(c, id);
    }
    close(c);
    return !c->failed;
}

// ----------------------------------------------------------------------------------------- guards
static bool is_shared(const vy_program *p, const uint8_t *shared, uint32_t id)
{
    if (!VY_IS_LEAF(id)) return shared[id];
    const vy_leaf_kind kind = (vy_leaf_kind)p->leaves.data[VY_LEAF_INDEX(id)].kind;
    return kind == VY_LEAF_CONST || kind == VY_LEAF_SCALAR || kind == VY_LEAF_LEN;
}

// Of a LOOP: its bounds are.
static void find_shared(const vy_program *p, uint8_t *shared)
{
    for (uint32_t id = 1; id < p->insts.count; id++) {
        const vy_inst *i = &p->insts.data[id];
        const bool loop = i->op == VY_OP_LOOP;
        shared[id] = loop || vy_op_infos[i->op].effect == VY_PURE;
        for (uint32_t k = 0; k < (loop ? 3 : i->nargs) && shared[id]; k++)
            shared[id] = is_shared(p, shared, vy_arg(p, id, k));
    }
}

// An arm's guard is its IF or ELSE; that of a body its loop, if it may be left early, or its bounds are not the same for all.
static void find_guards(const vy_program *p, const vy_structure *s, const uint8_t *shared,
                        uint32_t *guard)
{
    guard[0] = 0;
    for (uint32_t id = 1; id < p->insts.count; id++) {
        const uint32_t up = s->parent[id];
        const vy_inst *o = &p->insts.data[up];
        const bool arm = up && o->op == VY_OP_IF;
        const bool loop = up && (o->op == VY_OP_WHILE || o->op == VY_OP_LOOP);
        const bool left = loop && (!shared[up] || o->flags & VY_FLAG_EXIT);
        guard[id] = !up    ? 0
                    : arm  ? (id < s->partner[up] ? up : s->partner[up])
                    : left ? up
                           : guard[up];
    }
}

bool vy_whole_uses_make(const vy_program *p, const vy_structure *s, vy_whole_uses *u)
{
    const uint32_t n = p->insts.count;
    uint32_t *guard = vy_realloc(NULL, n * sizeof *guard);
    u->decides = vy_realloc(NULL, n);
    u->counts = vy_realloc(NULL, n);
    u->shared = vy_realloc(NULL, n);
    bool ok = guard && u->decides && u->counts && u->shared;
    if (ok) {
        memset(u->decides, 0, n);
        memset(u->counts, 0, n);
        memset(u->shared, 0, n);
        find_shared(p, u->shared);
        find_guards(p, s, u->shared, guard);
        ok = find_deciders(&(closure){.p = p, .s = s, .in = u->decides}) &&
             find_counting(&(closure){.p = p, .s = s, .in = u->counts, .guard = guard});
    }
    vy_free(guard);
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
