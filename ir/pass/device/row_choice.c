// SPDX-License-Identifier: MIT
// row_choice.c: may, and should, the lanes of a workgroup share the loops of a program's invocation
// (row_lanes.c)?
//
// An iteration of a loop is divided: what depends on carried values is a *step*, all else is done
// by one lane for itself.  Steps must be few, and pure.  Then lanes differ from the old invocation
// only in what they store, and when: elements that an invocation reads must not be among those that
// it writes, and an element that it writes in a loop must be of one iteration.
#include "ir/check/uniform.h"
#include "ir/facts/memory.h"
#include "ir/pass/device/row_lanes.h"
#include "ir/pass/device/known_sizes.h"

enum {
    LONG = 128,      // elements of a row, at least: two for each lane
    MOST_STEPS = 16, // instructions of all lanes for each iteration
    DEEP = 8,        // operations of an index that are looked at
    OUTSIDE = UINT32_MAX,
};

// What the program does to a memory.
typedef struct use {
    bool loaded, added; // added: by atomics of any order
    uint32_t loop;      // that stores to it; 0: none, OUTSIDE: outside of the loops that are shared
    uint32_t buffer, axis, index; // … and by what index of its variable
} use;

typedef struct choice {
    vy_rewrite *w;
    const vy_program *p;
    const vy_opt_options *o;
    vy_row_plan *plan;
    uint32_t *uses;          // by instruction
    const uint32_t *differs; // by instruction: between invocations (uniform.h)
    use *of;                 // by memory
    uint64_t rows;
    uint32_t along, across; // accesses that are neighbours in a row, and those that already were
} choice;

// Is the value the loop's variable plus, or minus, what does not change in the loop?
static bool is_unit(const vy_program *p, uint32_t loop, uint32_t id, uint32_t deep)
{
    if (id == loop) return true;
    if (VY_IS_LEAF(id) || id < loop || deep == DEEP) return false;
    const vy_inst *i = &p->insts.data[id];
    if (i->op == VY_OP_CAST)
        return vy_type_size((vy_type)i->type) == 4 && vy_type_is_integer((vy_type)i->type) &&
               is_unit(p, loop, vy_arg(p, id, 0), deep + 1);
    if (i->op != VY_OP_ADD && i->op != VY_OP_SUB) return false;
    const uint32_t x = vy_arg(p, id, 0), y = vy_arg(p, id, 1);
    const bool x_stays = VY_IS_LEAF(x) || x < loop, y_stays = VY_IS_LEAF(y) || y < loop;
    return (x_stays && is_unit(p, loop, y, deep + 1)) || (y_stays && is_unit(p, loop, x, deep + 1));
}

// … or the last variable of the domain, by which invocations are neighbours, plus something else?
static bool is_across(const vy_program *p, uint32_t id, uint32_t deep)
{
    if (VY_IS_LEAF(id)) {
        const vy_leaf *l = &p->leaves.data[VY_LEAF_INDEX(id)];
        return l->kind == VY_LEAF_OVER && l->index + 1 == p->overs.count;
    }
    const vy_op op = (vy_op)p->insts.data[id].op;
    if (deep == DEEP || (op != VY_OP_ADD && op != VY_OP_SUB && op != VY_OP_CAST)) return false;
    for (uint32_t k = 0; k < p->insts.data[id].nargs; k++)
        if (is_across(p, vy_arg(p, id, k), deep + 1)) return true;
    return false;
}

static bool is_local(const vy_program *p, uint32_t id)
{
    return p->buffers.data[p->insts.data[id].aux].cls == VY_LOCAL;
}

// ------------------------------------------------------------------------------------- one loop
static bool is_carry_of(const vy_rewrite *w, uint32_t loop, uint32_t id)
{
    return !VY_IS_LEAF(id) && id > loop && id <= loop + vy_slot_count(w->p, &w->s, loop);
}

static bool has_step(const choice *c, uint32_t loop, uint32_t id)
{
    for (uint32_t k = 0; k < c->p->insts.data[id].nargs; k++) {
        const uint32_t a = vy_arg(c->p, id, k);
        if (is_carry_of(c->w, loop, a) || (!VY_IS_LEAF(a) && c->plan->role[a] == VY_ROW_STEP))
            return true;
    }
    return false;
}

// May a lane do it for an iteration of its own?
static bool lane_may(const choice *c, uint32_t id)
{
    const vy_effect e = vy_op_infos[c->p->insts.data[id].op].effect;
    return e == VY_PURE || e == VY_READ || e == VY_CTRL || (e == VY_WRITE && !is_local(c->p, id));
}

// The steps of a loop; false: it has too many, or some that are more than arithmetic.
static bool find_steps(choice *c, uint32_t loop)
{
    const uint32_t end = vy_closer(c->p, &c->w->s, loop);
    uint32_t steps = 0;
    for (uint32_t id = loop + 1 + vy_slot_count(c->p, &c->w->s, loop); id < end; id++) {
        if (!has_step(c, loop, id)) {
            if (!lane_may(c, id)) return false;
            continue;
        }
        if (vy_op_infos[c->p->insts.data[id].op].effect != VY_PURE || c->w->s.parent[id] != loop ||
            ++steps > MOST_STEPS)
            return false;
        c->plan->role[id] = VY_ROW_STEP;
    }
    return true;
}

// A value of an iteration that its steps use.
static bool hand_over(choice *c, uint32_t loop, uint32_t id, uint32_t of[VY_TYPE_COUNT])
{
    if (VY_IS_LEAF(id) || id <= loop || is_carry_of(c->w, loop, id) || c->plan->part[id] ||
        c->plan->role[id] == VY_ROW_STEP)
        return true;
    const vy_type t = vy_id_type(c->p, id);
    if (t == VY_BOOL || t == VY_VOID) return false;
    c->plan->part[id] = ++of[t];
    uint32_t all = 0;
    for (uint32_t k = 0; k < VY_TYPE_COUNT; k++) all += of[k];
    return all <= VY_ROW_PARTS;
}

static bool hand_over_all(choice *c, uint32_t loop)
{
    const uint32_t end = vy_closer(c->p, &c->w->s, loop), n = vy_slot_count(c->p, &c->w->s, loop);
    uint32_t of[VY_TYPE_COUNT] = {0};
    for (uint32_t id = loop + 1 + n; id < end; id++) {
        if (c->plan->role[id] != VY_ROW_STEP) continue;
        for (uint32_t k = 0; k < c->p->insts.data[id].nargs; k++)
            if (!hand_over(c, loop, vy_arg(c->p, id, k), of)) return false;
    }
    for (uint32_t k = 0; k < n; k++)
        if (!hand_over(c, loop, vy_slot_yield(c->p, &c->w->s, loop, k), of)) return false;
    for (uint32_t k = 0; k < VY_TYPE_COUNT; k++)
        if (of[k] > c->plan->parts[k]) c->plan->parts[k] = of[k];
    return true;
}

// Barriers are checked to be where domain variables do not decide, though this one is the same in
// all of a workgroup.
static bool barriers_may_be_in(const choice *c, uint32_t loop)
{
    for (uint32_t id = loop; id; id = c->w->s.parent[id])
        if (c->differs[id]) return false;
    return true;
}

static bool loop_suits(choice *c, uint32_t loop)
{
    const vy_inst *i = &c->p->insts.data[loop];
    const bool carries = vy_slot_count(c->p, &c->w->s, loop) > 0;
    return i->op == VY_OP_LOOP && (!carries || barriers_may_be_in(c, loop)) &&
           !vy_exits(c->p, loop) && vy_type_size((vy_type)i->type) == 4 && find_steps(c, loop) &&
           hand_over_all(c, loop);
}

// All outermost loops, or none: what all lanes would repeat is then short.
static bool choose_loops(choice *c)
{
    const vy_structure *s = &c->w->s;
    for (uint32_t id = 1; id < c->p->insts.count; id++) {
        if (!vy_is_loop((vy_op)c->p->insts.data[id].op)) continue;
        if (!loop_suits(c, id)) return false;
        c->plan->role[id] = VY_ROW_LOOP;
        c->plan->loops++;
        id = vy_closer(c->p, s, id);
    }
    return c->plan->loops > 0;
}

// ------------------------------------------------------------------------------------ the accesses
static bool is_long(const choice *c, uint32_t buffer)
{
    return vy_known_elements(c->p, c->o, buffer) / c->rows >= LONG;
}

static void count_access(choice *c, uint32_t loop, uint32_t id)
{
    const uint32_t rank = vy_rank_of(c->p, id);
    if (!rank || is_local(c->p, id)) return;
    const uint32_t last = vy_arg(c->p, id, rank - 1);
    if (is_unit(c->p, loop, last, 0))
        c->along += is_long(c, c->p->insts.data[id].aux);
    else
        c->across += is_across(c->p, last, 0);
}

// Additions and the like, whose order is free and whose old value nobody wants.
static bool is_free(const choice *c, uint32_t id)
{
    const vy_op op = (vy_op)c->p->insts.data[id].op;
    return vy_strength_of(c->p, id) == VY_STRENGTH_ATOMIC && op != VY_OP_ATOMIC_EXCHANGE &&
           op != VY_OP_ATOMIC_CAS;
}

// The element belongs to an iteration by its index along an axis; the same index, which is a value
// of the loop, for all stores to the memory.
static bool is_of_iteration(const choice *c, uint32_t loop, uint32_t id, use *u)
{
    const uint32_t buffer = c->p->insts.data[id].aux;
    if (u->loop) return u->buffer == buffer && vy_arg(c->p, id, u->axis) == u->index;
    for (uint32_t k = 0; k < vy_rank_of(c->p, id); k++) {
        if (!is_unit(c->p, loop, vy_arg(c->p, id, k), 0)) continue;
        *u = (use){u->loaded, u->added, loop, buffer, k, vy_arg(c->p, id, k)};
        return true;
    }
    return false;
}

// loop: that is shared and contains it; 0: none.
static bool write_suits(choice *c, uint32_t loop, uint32_t id)
{
    if (is_local(c->p, id)) return true; // each lane has its own
    use *u = &c->of[vy_memory_of(c->p, c->p->insts.data[id].aux)];
    if (c->uses[id]) return false;
    if (is_free(c, id)) return u->added = true;
    if (loop) return is_of_iteration(c, loop, id, u);
    if (u->loop && u->loop != OUTSIDE) return false;
    u->loop = OUTSIDE;
    return true;
}

static bool accesses_suit(choice *c)
{
    uint32_t loop = 0;
    for (uint32_t id = 1; id < c->p->insts.count; id++) {
        const vy_inst *i = &c->p->insts.data[id];
        const vy_effect e = vy_op_infos[i->op].effect;
        if (c->plan->role[id] == VY_ROW_LOOP) loop = id;
        if (loop && id == vy_closer(c->p, &c->w->s, loop)) loop = 0;
        if (e != VY_READ && e != VY_WRITE) continue;
        if (e == VY_WRITE && !write_suits(c, loop, id)) return false;
        if (e == VY_READ) c->of[vy_memory_of(c->p, i->aux)].loaded |= !is_local(c->p, id);
        if (loop) count_access(c, loop, id);
    }
    for (uint32_t m = 0; m < c->p->buffers.count; m++) {
        const use *u = &c->of[m];
        if (u->loaded + u->added + (u->loop != 0) > 1) return false;
    }
    return c->along > c->across;
}

// ------------------------------------------------------------------------------------------ choice
static bool domain_suits(choice *c)
{
    const vy_program *p = c->p;
    if (!c->o || !c->o->rows || !c->o->number || !c->o->extent || vy_sees_workgroup(p) ||
        p->overs.count > 2)
        return false;
    c->rows = 1;
    for (uint32_t k = 0; k < p->overs.count; k++) {
        const int64_t n = c->o->extent(c->o->user, p, k);
        c->rows = vy_known_product(c->rows, n < 0 ? UINT64_MAX : (uint64_t)n);
    }
    return c->rows && c->rows <= c->o->rows;
}

bool vy_choose_rows(vy_rewrite *w, const vy_opt_options *o, vy_row_plan *plan)
{
    choice c = {.w = w, .p = w->p, .o = o, .plan = plan};
    *plan = (vy_row_plan){0};
    if (!(vy_constructs(w->p) & VY_LOOPS) || !domain_suits(&c)) return true;
    plan->role = vy_rewrite_bytes(w);
    plan->part = vy_rewrite_ids(w);
    c.uses = vy_rewrite_uses(w);
    c.of = vy_rewrite_table(w, w->p->buffers.count * sizeof *c.of);
    c.differs = w->oom ? NULL : vy_differences(w->p, &w->s, NULL, &w->arena);
    if (!c.differs) return false;
    if (!choose_loops(&c) || !accesses_suit(&c)) plan->loops = 0;
    return true;
}
