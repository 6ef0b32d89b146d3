// SPDX-License-Identifier: MIT
// redundant.c: see redundant.h.
//
//   workgroup(16, 16)                   o[gid.y, k] = acc[k]; where acc is of row lid.y:
//                                       the 16 invocations along x store the same
//
// Shaders do that: the threads of a row compute its result together, and each stores all of it.
// What such a program computes is well defined, but each of its stores would pass the element's
// cotangent on: a gradient 16 times too large.  So the derivative is that of the program in which
// the first of them stores (autodiff/rewrite/redundant.c), which is the same program only if the
// values are proved to be equal.
//
// Invocations that differ in one axis alone have equal values where nothing that differs along the
// axis reaches them (check_uniform.c).  What they load at equal places is equal, too:
//   - of a local array, if nothing that differs was stored to it, and none of it in a construct
//     that they do not run together; of shared arrays the same holds between workgroups
//   - of other memory, since they load it between the same two barriers: what changes it there
//     would be a race with one of the loads.  The stores that this file finds are such races, so
//     memory that has one and is read in the same phase is taken to differ, and is not redundant.
//
// A launch may have several workgroups along an axis that the element does not depend on.  These
// store the same, or it is not called redundant.
#include "ir/check/redundant.h"

#include "ir/check/uniform.h"
#include "ir/core/flow.h"
#include "ir/core/phases.h"

enum { MOST_ROUNDS = 8, MOST_MEMORIES = 64, LID_AXES = (1 << VY_GROUP_AXES) - 1 };

typedef struct redundant {
    const vy_program *p;
    const vy_structure *s;
    vy_arena arena;
    uint32_t shape[3];
    uint8_t *racy;   // by memory: a redundant store and a read of it are in one phase
    uint8_t *loads;  // by buffer: what is loaded of it differs along the axis
    uint8_t *inside; // by instruction: it is in a construct that differs
} redundant;

static uint32_t memory_of(const vy_program *p, uint32_t buffer)
{
    const uint32_t of = p->buffers.data[buffer].view_of;
    return of ? of : buffer;
}

static bool is_store(const vy_program *p, uint32_t id)
{
    const vy_inst *i = &p->insts.data[id];
    return i->op == VY_OP_STORE && p->buffers.data[i->aux].cls != VY_LOCAL;
}

bool vy_may_be_redundant(const vy_program *p)
{
    uint32_t shape[3];
    bool shared = p->overs.count == 0;
    vy_program_workgroup(p, shape);
    for (uint32_t k = 1; k < p->buffers.count; k++) shared |= p->buffers.data[k].cls == VY_SHARED;
    if (p->host || !shared || shape[0] * shape[1] * shape[2] == 1) return false;
    for (uint32_t id = 1; id < p->insts.count; id++)
        if (is_store(p, id)) return true;
    return false;
}

// --------------------------------------------------------------------------- along one axis
// Is what the buffer holds an invocation's own along the axis: of the invocation, or of the
// workgroup?
static bool is_own(const vy_buf *b, uint32_t axis)
{
    return b->cls == VY_LOCAL || (b->cls == VY_SHARED && axis >= VY_GROUP_AXES);
}

static void begin_loads(redundant *r, uint32_t axis, bool all)
{
    for (uint32_t k = 1; k < r->p->buffers.count; k++) {
        const vy_buf *b = &r->p->buffers.data[k];
        const bool other = b->cls == VY_OUT || b->cls == VY_INOUT;
        r->loads[k] = b->cls != VY_IN && r->racy[memory_of(r->p, k)];
        r->loads[k] |= is_own(b, axis) ? all : other && axis >= VY_GROUP_AXES;
    }
}

static bool differs(const redundant *r, const uint32_t *by, uint32_t axis, uint32_t id)
{
    return VY_IS_LEAF(id) ? vy_leaf_along(r->p, id, axis) : by[id] != 0;
}

static bool args_differ(const redundant *r, const uint32_t *by, uint32_t axis, uint32_t id,
                        uint32_t n)
{
    for (uint32_t k = 0; k < n; k++)
        if (differs(r, by, axis, vy_arg(r->p, id, k))) return true;
    return false;
}

static void find_inside(redundant *r, const uint32_t *by)
{
    for (uint32_t id = 1; id < r->p->insts.count; id++) {
        const uint32_t up = r->s->parent[id];
        r->inside[id] = up && (r->inside[up] || by[up]);
    }
}

// Finds own memory to which something is stored that differs.  False: there is nothing new.
static bool grow(redundant *r, const uint32_t *by, uint32_t axis)
{
    bool grew = false;
    for (uint32_t id = 1; id < r->p->insts.count; id++) {
        const vy_inst *i = &r->p->insts.data[id];
        const bool write = i->op == VY_OP_ZERO || vy_op_infos[i->op].effect == VY_WRITE;
        if (!write || r->loads[i->aux] || !is_own(&r->p->buffers.data[i->aux], axis)) continue;
        if (!r->inside[id] && !vy_op_is_atomic((vy_op)i->op) &&
            !args_differ(r, by, axis, id, i->nargs))
            continue;
        r->loads[i->aux] = 1;
        grew = true;
    }
    return grew;
}

// By instruction: what differs between invocations that differ in this axis alone.  NULL: memory.
static const uint32_t *find_differences(redundant *r, uint32_t axis, vy_arena *arena)
{
    for (uint32_t round = 0;; round++) {
        if (!round || round == MOST_ROUNDS) begin_loads(r, axis, round > 0);
        vy_arena_free(arena);
        *arena = (vy_arena){0};
        const uint32_t *by = vy_differences_along(r->p, r->s, axis, r->loads, arena);
        if (!by) return NULL;
        find_inside(r, by);
        if (round == MOST_ROUNDS || !grow(r, by, axis)) return by;
    }
}

// Takes the axis into account at every store.
static bool find_along(redundant *r, uint32_t axis, vy_redundancy *stores)
{
    vy_arena arena = {0};
    const uint32_t *by = find_differences(r, axis, &arena);
    for (uint32_t id = 1; by && id < r->p->insts.count; id++) {
        const vy_inst *i = &r->p->insts.data[id];
        if (!is_store(r->p, id) || r->inside[id] || is_own(&r->p->buffers.data[i->aux], axis))
            continue;
        const uint32_t rank = r->p->buffers.data[i->aux].rank;
        if (args_differ(r, by, axis, id, rank)) continue;
        stores[id].axes |= (uint8_t)(1u << axis);
        if (!differs(r, by, axis, vy_arg(r->p, id, rank))) stores[id].same |= (uint8_t)(1u << axis);
    }
    vy_arena_free(&arena);
    return by != NULL;
}

static bool find_lids(redundant *r, vy_redundancy *stores)
{
    bool ok = true;
    for (uint32_t id = 1; id < r->p->insts.count; id++) stores[id] = (vy_redundancy){0};
    for (uint32_t axis = 0; axis < VY_GROUP_AXES && ok; axis++)
        if (r->shape[axis] > 1) ok = find_along(r, axis, stores);
    return ok;
}

// --------------------------------------------------------------------------- reads in one phase
// Numbers the memories that have redundant stores, from 1; *any: there are some.
static void number_memories(redundant *r, const vy_redundancy *stores, uint32_t *number, bool *any)
{
    uint32_t n = 0;
    for (uint32_t id = 1; id < r->p->insts.count; id++) {
        const uint32_t m = stores[id].axes ? memory_of(r->p, r->p->insts.data[id].aux) : 0;
        if (!m || number[m] || r->racy[m]) continue;
        *any = true;
        if (n == MOST_MEMORIES)
            r->racy[m] = 1;
        else
            number[m] = ++n;
    }
}

static void touch(const redundant *r, const uint32_t *number, vy_phases *f)
{
    for (uint32_t id = 1; id < r->p->insts.count; id++) {
        const vy_inst *i = &r->p->insts.data[id];
        const uint32_t n = vy_op_is_memory((vy_op)i->op) ? number[memory_of(r->p, i->aux)] : 0;
        if (!n || i->op == VY_OP_STORE) continue;
        f->touch[id].loads = UINT64_C(1) << (n - 1);
    }
}

// *any: there are redundant stores.
static bool find_racy(redundant *r, const vy_redundancy *stores, bool *any, bool *racy)
{
    vy_phases f;
    uint32_t *number = vy_arena_alloc(&r->arena, r->p->buffers.count * sizeof *number);
    *any = *racy = false;
    if (!number || !vy_phases_make(&f, r->p, r->s, &r->arena)) return false;
    number_memories(r, stores, number, any);
    if (!*any) return true;
    touch(r, number, &f);
    vy_phases_find(&f);
    vy_phases_fill(&f);
    for (uint32_t id = 1; id < r->p->insts.count; id++) {
        const uint32_t m = stores[id].axes ? memory_of(r->p, r->p->insts.data[id].aux) : 0;
        if (m && number[m]) r->racy[m] |= f.phase[id].loads >> (number[m] - 1) & 1;
        *racy |= m && r->racy[m];
    }
    return true;
}

// --------------------------------------------------------------------------- all axes
// Keeps `same` where it is of all axes that the element does not depend on.
static void settle(const redundant *r, vy_redundancy *stores, const vy_redundancy *groups)
{
    for (uint32_t id = 1; id < r->p->insts.count; id++) {
        vy_redundancy *x = &stores[id];
        const bool racy = x->axes && r->racy[memory_of(r->p, r->p->insts.data[id].aux)];
        if (racy || x->same != x->axes || groups[id].same != groups[id].axes) x->same = 0;
        if (x->same) x->same |= groups[id].same;
    }
}

static bool find_groups(redundant *r, vy_redundancy *stores)
{
    bool ok = true;
    vy_redundancy *groups = vy_arena_alloc(&r->arena, r->p->insts.count * sizeof *groups);
    if (!groups) return false;
    for (uint32_t k = VY_GROUP_AXES; k < VY_LAUNCH_AXES && ok && !r->p->overs.count; k++)
        ok = find_along(r, k, groups);
    if (ok) settle(r, stores, groups);
    return ok;
}

static bool find_redundant_stores(redundant *r, vy_redundancy *stores)
{
    bool any, racy;
    r->racy = vy_arena_alloc(&r->arena, r->p->buffers.count);
    r->loads = vy_arena_alloc(&r->arena, r->p->buffers.count);
    r->inside = vy_arena_alloc(&r->arena, r->p->insts.count);
    if (!r->racy || !r->loads || !r->inside || !find_lids(r, stores)) return false;
    if (!find_racy(r, stores, &any, &racy)) return false;
    return !any || ((!racy || find_lids(r, stores)) && find_groups(r, stores));
}

bool vy_find_redundant(const vy_program *p, const vy_structure *s, vy_redundancy *stores)
{
    redundant r = {.p = p, .s = s};
    if (!vy_may_be_redundant(p)) return true;
    vy_program_workgroup(p, r.shape);
    for (uint32_t axis = p->overs.count; axis && axis < 3; axis++)
        r.shape[axis] = 1; // others along it are padding and store nothing
    const bool ok = find_redundant_stores(&r, stores);
    vy_arena_free(&r.arena);
    return ok;
}
