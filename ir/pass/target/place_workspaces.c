// SPDX-License-Identifier: MIT
// place_workspaces.c: workspaces whose elements of one invocation are neighbours, for drivers on
// CPUs.
//
//   @workspace tape: inout f32[2, T, N]    →    @workspace tape: inout f32[N, T, 2]
//   over(i: N):  tape[0, s, i] = a;             tape[i, s, 0] = a;
//                tape[1, s, i] = b;             tape[i, s, 1] = b;
//
// Tapes have the domain's variables last, so that neighbouring lanes of a GPU access neighbouring
// words.  A driver that runs lanes on a CPU loads and stores lane by lane whatever the addresses
// are; there each iteration would touch memory that is far from that of the one before, one place
// for each slot.  With the variables first a lane reads its own memory from one end to the other.
// Axes whose index is the same constant wherever an access is (the slots of a tape) become the
// innermost, so that what one iteration keeps is together.
//
// No other program sees a workspace, so only this one's accesses change: each index goes along with
// its axis, and is in range as before.  Left alone: a buffer with an access to what may be another
// invocation's element, that is, whose last indices are not the domain's variables in their order;
// one that begins as a copy, or whose lengths the program uses; a view.
//
// Runs only if options->by_invocation.  Elements are the same in number, size and contents.
#include "ir/core/access.h"
#include "ir/pass/pass.h"

#include <string.h>

typedef struct placing {
    vy_program *p;
    uint32_t points;  // axes of the domain
    uint8_t *fits;    // by buffer: it may be laid out anew
    uint32_t *varies; // by buffer: a bit for each axis whose index is not a constant everywhere
} placing;

// ------------------------------------------------------------------------------------- which ones
static bool may_fit(const placing *x, const vy_buf *b)
{
    return b->workspace && b->cls == VY_INOUT && b->rank > x->points && b->init == VY_INIT_NONE &&
           !b->view_of && !b->vector && !b->layout.strides;
}

static void find_candidates(placing *x)
{
    const vy_program *p = x->p;
    for (uint32_t i = 1; i < p->buffers.count; i++) x->fits[i] = may_fit(x, &p->buffers.data[i]);
    for (uint32_t i = 1; i < p->buffers.count; i++) {
        const vy_buf *b = &p->buffers.data[i];
        x->fits[b->view_of] = 0;
        if (b->init_from) x->fits[vy_program_find_buffer(p, b->init_from).id] = 0;
    }
    for (uint32_t k = 0; k < p->leaves.count; k++)
        if (p->leaves.data[k].kind == VY_LEAF_LEN) x->fits[p->leaves.data[k].index] = 0;
}

static bool is_variable(const vy_program *p, uint32_t index, uint32_t k)
{
    if (!VY_IS_LEAF(index)) return false;
    const vy_leaf *l = &p->leaves.data[VY_LEAF_INDEX(index)];
    return l->kind == VY_LEAF_OVER && l->index == k;
}

static void look_at(placing *x, uint32_t access)
{
    const vy_program *p = x->p;
    const uint32_t buffer = p->insts.data[access].aux, rank = vy_rank_of(p, access);
    const uint32_t leading = rank - x->points;
    if (p->insts.data[access].op == VY_OP_ZERO) x->fits[buffer] = 0;
    for (uint32_t k = 0; k < x->points; k++)
        if (!is_variable(p, vy_arg(p, access, leading + k), k)) x->fits[buffer] = 0;
    for (uint32_t k = 0; k < leading; k++)
        if (!vy_id_const(p, vy_arg(p, access, k))) x->varies[buffer] |= 1u << k;
}

static bool find(placing *x)
{
    const vy_program *p = x->p;
    bool any = false;
    find_candidates(x);
    for (uint32_t id = 1; id < p->insts.count; id++) {
        const vy_inst *i = &p->insts.data[id];
        if (vy_op_is_memory((vy_op)i->op) && x->fits[i->aux]) look_at(x, id);
    }
    for (uint32_t i = 1; i < p->buffers.count; i++) any |= x->fits[i];
    return any;
}

// -------------------------------------------------------------------------------------- new places
// order[…] becomes the old axes in their new order: the domain's, then iterations, then slots.
static void find_order(const placing *x, uint32_t buffer, uint32_t order[VY_MAX_RANK])
{
    const uint32_t leading = x->p->buffers.data[buffer].rank - x->points;
    uint32_t n = 0;
    for (uint32_t k = 0; k < x->points; k++) order[n++] = leading + k;
    for (uint32_t k = 0; k < leading; k++)
        if (x->varies[buffer] >> k & 1) order[n++] = k;
    for (uint32_t k = 0; k < leading; k++)
        if (!(x->varies[buffer] >> k & 1)) order[n++] = k;
}

static bool place_buffer(placing *x, uint32_t buffer)
{
    vy_buf *b = &x->p->buffers.data[buffer];
    uint32_t order[VY_MAX_RANK];
    vy_dim *dims =
        vy_arena_room(&x->p->module->arena, b->rank, sizeof *dims); // others share theirs
    if (!dims) return false;
    find_order(x, buffer, order);
    for (uint32_t k = 0; k < b->rank; k++) dims[k] = b->dims[order[k]];
    b->dims = dims;
    return true;
}

static void place_access(placing *x, uint32_t access)
{
    vy_program *p = x->p;
    uint32_t order[VY_MAX_RANK], was[VY_MAX_RANK];
    const uint32_t rank = vy_rank_of(p, access);
    uint32_t *index = p->args.data + p->insts.data[access].args;
    find_order(x, p->insts.data[access].aux, order);
    memcpy(was, index, rank * sizeof *was);
    for (uint32_t k = 0; k < rank; k++) index[k] = was[order[k]];
}

static bool place(placing *x)
{
    const vy_program *p = x->p;
    for (uint32_t i = 1; i < p->buffers.count; i++)
        if (x->fits[i] && !place_buffer(x, i)) return false;
    for (uint32_t id = 1; id < p->insts.count; id++) {
        const vy_inst *i = &p->insts.data[id];
        if (vy_op_is_memory((vy_op)i->op) && x->fits[i->aux]) place_access(x, id);
    }
    return true;
}

bool vy_pass_place_workspaces(vy_program *p, vy_pass_context *c)
{
    vy_arena arena = {0};
    placing x = {.p = p, .points = p->overs.count};
    if (!c->options || !c->options->by_invocation || !x.points || p->host) return true;
    x.fits = vy_arena_alloc(&arena, p->buffers.count);
    x.varies = vy_arena_room(&arena, p->buffers.count, sizeof *x.varies);
    bool ok = x.fits && x.varies;
    if (ok && find(&x)) ok = c->changed = place(&x);
    if (!ok) vy_fail_oom(p->module);
    vy_arena_free(&arena);
    return ok;
}
