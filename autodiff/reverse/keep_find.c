// SPDX-License-Identifier: MIT
// keep_find.c: what a derivative computes from the states of the primal alone, cut at the fewest
// bytes.
//
//   let around = b[i - 1, j] + b[i + 1, j];              b: a state
//   let bent = sin(around - 2 * b[i, j]);            ←   cut here: the derivative can be had from
//   grad_c[i, j] += grad_next[i, j] * bent;              `bent` without b
//
// *Known* is what follows from what the primal reads alone: whoever runs before the reverse can
// compute it.  Of this, the values that depend on a state and are used by something else are
// demanded.  A minimum cut between the states and these decides what is kept: an element for each
// invocation, so only what every invocation computes, outside of `if` and loops, can be.  Of two
// cuts with as many bytes it is the one nearer to the demands, which leaves less to compute.
#include "autodiff/reverse/keep.h"
#include "autodiff/storage/min_cut.h"
#include "ir/core/flow.h"
#include "ir/core/functions.h"

typedef struct search {
    const vy_program *p;
    const keep_use *uses;
    vy_structure s;
    vy_arena arena;
    uint8_t *unknown; // by instruction
    uint8_t *depends; // on a state
    uint32_t *outer;  // by instruction: the outermost known construct that it belongs to; or 0
    uint32_t *node;   // by value: that before the cut through it; the next one is behind it
    vy_cut cut;
    bool changed;
} search;

static const vy_inst *inst(const search *f, uint32_t id) { return &f->p->insts.data[id]; }

// The opening marker that `id` belongs to, if it is a marker or a slot; else 0.
static uint32_t construct_of(const search *f, uint32_t id)
{
    const vy_op op = (vy_op)inst(f, id)->op;
    if (vy_op_opens(op)) return id;
    return vy_is_marker(op) || vy_is_slot(op) ? vy_opener(f->p, &f->s, id) : 0;
}

// --------------------------------------------------------------------------------- what is known
static bool is_known_leaf(const search *f, uint32_t id)
{
    const vy_leaf_kind kind = (vy_leaf_kind)f->p->leaves.data[VY_LEAF_INDEX(id)].kind;
    return kind == VY_LEAF_CONST || kind == VY_LEAF_SCALAR || kind == VY_LEAF_OVER;
}

static bool is_known_operation(const search *f, uint32_t id)
{
    const vy_inst *i = inst(f, id);
    const vy_op op = (vy_op)i->op;
    if (op == VY_OP_LOAD) return f->uses[i->aux] != VY_KEEP_OTHER;
    if (op == VY_OP_WHILE || op == VY_OP_CHECKPOINT || op == VY_OP_TEST) return false;
    if (vy_is_loop(op) && vy_exits(f->p, id)) return false;
    return vy_is_marker(op) || vy_is_slot(op) || vy_op_infos[op].effect == VY_PURE;
}

static void set(search *f, uint8_t *flags, uint32_t id)
{
    f->changed |= !flags[id];
    flags[id] = 1;
}

// A construct is known as a whole, and depends as a whole.
static void set_around(search *f, uint8_t *flags, uint32_t id)
{
    const uint32_t own = construct_of(f, id);
    set(f, flags, id);
    if (own) set(f, flags, own);
    for (uint32_t up = f->s.parent[own ? own : id]; up; up = f->s.parent[up]) set(f, flags, up);
}

static void visit(search *f, uint32_t id)
{
    const vy_inst *i = inst(f, id);
    const uint32_t own = construct_of(f, id);
    bool known = is_known_operation(f, id) && !(own && f->unknown[own]);
    bool depends = own && f->depends[own];
    depends |= i->op == VY_OP_LOAD && f->uses[i->aux] == VY_KEEP_STATE;
    for (uint32_t k = 0; k < i->nargs; k++) {
        const uint32_t a = vy_arg(f->p, id, k);
        known &= VY_IS_LEAF(a) ? is_known_leaf(f, a) : !f->unknown[a];
        depends |= !VY_IS_LEAF(a) && f->depends[a];
    }
    if (!known) set_around(f, f->unknown, id);
    if (depends) set_around(f, f->depends, id);
}

// What a loop carries depends on what comes after it, so until nothing changes: as often as values
// pass through carries one after the other, which is limited here.
static bool find_known(search *f)
{
    enum { MOST_ROUNDS = 16 };
    f->changed = true;
    for (uint32_t n = 0; f->changed && n < MOST_ROUNDS; n++) {
        f->changed = false;
        for (uint32_t id = 1; id < f->p->insts.count; id++) visit(f, id);
    }
    for (uint32_t id = 1; id < f->p->insts.count; id++) {
        const uint32_t own = construct_of(f, id), around = f->s.parent[own ? own : id];
        f->outer[id] = around && f->outer[around] ? f->outer[around]
                       : own && !f->unknown[own]  ? own
                                                  : 0;
    }
    return !f->changed;
}

// ---------------------------------------------------------------------------------------- the cut
// Only what has a node can be cut: values outside of known constructs, and the results of these.
static bool has_node(const search *f, uint32_t id)
{
    if (f->unknown[id] || !f->depends[id] || vy_is_marker((vy_op)inst(f, id)->op)) return false;
    const uint32_t outer = f->outer[id];
    if (!outer) return true;
    return inst(f, id)->op == VY_OP_RESULT && vy_opener(f->p, &f->s, id) == outer;
}

static bool can_be_kept(const search *f, uint32_t id)
{
    const vy_type t = (vy_type)inst(f, id)->type;
    return !f->s.parent[id] && t != VY_BOOL && t != VY_VOID && !vy_is_tuple(f->p, id);
}

// An edge from a value to one that it is computed from; a state itself is the sink.
static void computed_from(search *f, uint32_t from, uint32_t operand)
{
    if (VY_IS_LEAF(operand) || !f->node[operand]) return;
    vy_cut_add(&f->cut, from, f->node[operand], VY_CUT_NEVER);
}

static void add_inputs(search *f, uint32_t from, uint32_t id)
{
    const vy_inst *i = inst(f, id);
    if (i->op == VY_OP_LOAD && f->uses[i->aux] == VY_KEEP_STATE)
        vy_cut_add(&f->cut, from, 1, VY_CUT_NEVER);
    for (uint32_t k = 0; k < i->nargs; k++) computed_from(f, from, vy_arg(f->p, id, k));
}

static void add_value(search *f, uint32_t id)
{
    const uint32_t before = vy_cut_node(&f->cut), behind = vy_cut_node(&f->cut);
    const int32_t bytes = (int32_t)vy_type_size((vy_type)inst(f, id)->type);
    f->node[id] = before;
    vy_cut_add(&f->cut, before, behind, can_be_kept(f, id) ? bytes : VY_CUT_NEVER);
    const uint32_t outer = f->outer[id];
    if (!outer) {
        add_inputs(f, behind, id);
        return;
    }
    for (uint32_t k = outer; k <= vy_closer(f->p, &f->s, outer); k++) add_inputs(f, behind, k);
}

// The reverse demands what it uses of known values, but itself does not know.
static void add_demands(search *f, uint32_t id)
{
    if (!f->unknown[id]) return;
    for (uint32_t k = 0; k < inst(f, id)->nargs; k++) computed_from(f, 0, vy_arg(f->p, id, k));
}

static bool run_cut(search *f)
{
    vy_cut_clear(&f->cut);
    for (uint32_t id = 1; id < f->p->insts.count && !f->cut.oom; id++)
        if (has_node(f, id)) add_value(f, id);
    for (uint32_t id = 1; id < f->p->insts.count && !f->cut.oom; id++) add_demands(f, id);
    return !f->cut.oom && vy_cut_run(&f->cut);
}

// What the cut goes through; false: too much, or it goes through what cannot be kept.
static bool take_cut(const search *f, keep_cut *out)
{
    for (uint32_t id = 1; id < f->p->insts.count; id++) {
        const uint32_t n = f->node[id];
        if (!n || !vy_cut_at_source(&f->cut, n) || vy_cut_at_source(&f->cut, n + 1)) continue;
        if (!can_be_kept(f, id) || out->count == VY_KEEP_MOST) return false;
        out->value[out->count++] = id;
        out->bytes += vy_type_size((vy_type)inst(f, id)->type);
    }
    return out->count > 0 && !vy_cut_at_source(&f->cut, 1);
}

keep_found vy_keep_find(const vy_program *p, const keep_use *uses, keep_cut *out)
{
    search f = {.p = p, .uses = uses};
    *out = (keep_cut){0};
    f.unknown = vy_arena_room(&f.arena, p->insts.count, 1);
    f.depends = vy_arena_room(&f.arena, p->insts.count, 1);
    f.outer = vy_arena_room(&f.arena, p->insts.count, sizeof *f.outer);
    f.node = vy_arena_room(&f.arena, p->insts.count, sizeof *f.node);
    const bool room = !f.arena.oom && vy_structure_make(p, &f.s);
    const bool known = room && find_known(&f), cut = known && run_cut(&f);
    const bool found = cut && take_cut(&f, out);
    const bool memory = !room || f.cut.oom;
    vy_cut_free(&f.cut);
    vy_structure_free(&f.s);
    vy_arena_free(&f.arena);
    return memory ? VY_KEEP_NO_MEMORY : found ? VY_KEEP_FOUND : VY_KEEP_NOT_FOUND;
}
