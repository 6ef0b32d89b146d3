// SPDX-License-Identifier: MIT
// flow.c: see flow.h.
#include "ir/core/flow.h"

uint32_t vy_constructs(const vy_program *p)
{
    uint32_t kinds = 0;
    for (uint32_t id = 1; id < p->insts.count; id++) {
        const vy_op op = (vy_op)p->insts.data[id].op;
        if (vy_op_opens(op))
            kinds |= op == VY_OP_IF ? VY_IFS : vy_is_loop(op) ? VY_LOOPS : VY_CHECKPOINTS;
    }
    return kinds;
}

uint32_t vy_opener(const vy_program *p, const vy_structure *s, uint32_t id)
{
    switch ((vy_op)p->insts.data[id].op) {
    case VY_OP_CARRY: return vy_arg(p, id, 0);
    case VY_OP_RESULT: return s->partner[vy_arg(p, id, 0)];
    case VY_OP_ELSE: return s->partner[s->partner[id]];
    case VY_OP_ENDIF:
    case VY_OP_TEST:
    case VY_OP_ENDLOOP:
    case VY_OP_ENDCHECKPOINT: return s->partner[id];
    default: return id;
    }
}

bool vy_in_different_arms(const vy_program *p, const vy_structure *s, uint32_t x, uint32_t y)
{
    for (uint32_t up = s->parent[x]; up; up = s->parent[up]) {
        bool both = y > up && y < vy_closer(p, s, up);
        if (p->insts.data[up].op == VY_OP_IF && both)
            return vy_in_then(s, up, x) != vy_in_then(s, up, y);
    }
    return false;
}

uint32_t vy_slot_sources(const vy_program *p, const vy_structure *s, uint32_t id, uint32_t out[3])
{
    uint32_t opener = vy_opener(p, s, id), k = p->insts.data[id].aux, n = 0;
    vy_op op = (vy_op)p->insts.data[opener].op;
    if (op == VY_OP_IF) out[n++] = vy_slot_then(p, s, opener, k);
    if (vy_is_loop(op)) out[n++] = vy_slot_init(p, opener, k);
    out[n++] = vy_slot_yield(p, s, opener, k);
    return n;
}

uint32_t vy_choice(const vy_program *p, const vy_structure *s, uint32_t id, uint32_t *then,
                   uint32_t *other)
{
    const vy_inst *i = &p->insts.data[id];
    if (VY_IS_LEAF(id) || i->op != VY_OP_RESULT) return 0;
    uint32_t opener = vy_opener(p, s, id);
    if (p->insts.data[opener].op != VY_OP_IF) return 0;
    *then = vy_slot_then(p, s, opener, i->aux);
    *other = vy_slot_yield(p, s, opener, i->aux);
    return opener;
}

void vy_count_uses(const vy_program *p, uint32_t *uses)
{
    for (uint32_t id = 1; id < p->insts.count; id++)
        for (uint32_t k = 0; k < p->insts.data[id].nargs; k++)
            if (!VY_IS_LEAF(vy_arg(p, id, k))) uses[vy_arg(p, id, k)]++;
}

bool vy_uses_leaf(const vy_program *p, vy_leaf_kind kind)
{
    for (uint32_t id = 1; id < p->insts.count; id++)
        for (uint32_t k = 0; k < p->insts.data[id].nargs; k++) {
            const uint32_t a = vy_arg(p, id, k);
            if (VY_IS_LEAF(a) && p->leaves.data[VY_LEAF_INDEX(a)].kind == kind) return true;
        }
    return false;
}

uint32_t vy_control_args(const vy_program *p, const vy_structure *s, uint32_t id)
{
    switch ((vy_op)p->insts.data[id].op) {
    case VY_OP_IF:
    case VY_OP_TEST: return 1;
    case VY_OP_LOOP: return 3;
    case VY_OP_ENDLOOP: return vy_next_arg(p, s->partner[id]);
    default: return 0;
    }
}

uint32_t vy_deciders(const vy_program *p, const vy_structure *s, uint32_t opener, uint32_t out[4])
{
    uint32_t n = vy_control_args(p, s, opener);
    for (uint32_t k = 0; k < n; k++) out[k] = vy_arg(p, opener, k);
    if (p->insts.data[opener].op == VY_OP_WHILE) out[n++] = vy_arg(p, s->test[opener], 0);
    if (vy_exits(p, opener)) out[n++] = vy_keep(p, s, opener);
    return n;
}

bool vy_loop_never(vy_type t, const vy_scalar *from, const vy_scalar *to)
{
    if (!from || !to) return false;
    return vy_type_is_signed(t) ? to->i <= from->i : to->u <= from->u;
}

bool vy_loop_surely_runs(const vy_program *p, uint32_t loop)
{
    if (p->insts.data[loop].op != VY_OP_LOOP) return false;
    const vy_scalar *from = vy_id_const(p, vy_arg(p, loop, 0));
    const vy_scalar *to = vy_id_const(p, vy_arg(p, loop, 1));
    return from && to && !vy_loop_never(vy_id_type(p, loop), from, to);
}

bool vy_trips(vy_type t, vy_scalar from, vy_scalar to, vy_scalar step, uint64_t *n)
{
    *n = 0;
    if (vy_type_is_signed(t) ? step.i <= 0 : step.u == 0) return false;
    // Constants of every type are extended to 64 bits, so their difference fits an unsigned 64.
    if (!vy_loop_never(t, &from, &to)) *n = (to.u - from.u - 1) / step.u + 1;
    return true;
}

bool vy_constant_trips(const vy_program *p, uint32_t loop, uint64_t *n)
{
    if (p->insts.data[loop].op != VY_OP_LOOP) return false;
    const vy_scalar *from = vy_id_const(p, vy_arg(p, loop, 0));
    const vy_scalar *to = vy_id_const(p, vy_arg(p, loop, 1));
    const vy_scalar *step = vy_id_const(p, vy_arg(p, loop, 2));
    return from && to && step && vy_trips(vy_id_type(p, loop), *from, *to, *step, n);
}

// The invocation's index in its workgroup, with which its share of the work begins: `for e in
// lindex..256 step 64`.
static bool is_place(const vy_program *p, uint32_t id)
{
    const vy_leaf *l = VY_IS_LEAF(id) ? &p->leaves.data[VY_LEAF_INDEX(id)] : NULL;
    return l && l->kind == VY_LEAF_BUILTIN && (l->index == VY_LINDEX || l->index == VY_LID);
}

double vy_expected_trips(const vy_program *p, uint32_t loop)
{
    const vy_scalar first = {0}, *from = NULL, *to = NULL, *step = NULL;
    uint64_t n;
    if (p->insts.data[loop].op == VY_OP_LOOP) {
        from = is_place(p, vy_arg(p, loop, 0)) ? &first : vy_id_const(p, vy_arg(p, loop, 0));
        to = vy_id_const(p, vy_arg(p, loop, 1));
        step = vy_id_const(p, vy_arg(p, loop, 2));
    }
    if (!from || !to || !step || !vy_trips(vy_id_type(p, loop), *from, *to, *step, &n))
        return VY_UNKNOWN_TRIPS;
    return n ? (double)n : 1;
}

const vy_scalar *vy_rest_below(const vy_program *p, uint32_t loop)
{
    const uint32_t from = vy_arg(p, loop, 0), n = vy_arg(p, loop, 1);
    if (VY_IS_LEAF(from) || p->insts.data[from].op != VY_OP_MUL) return NULL;
    const uint32_t q = vy_arg(p, from, 0), c = vy_arg(p, from, 1);
    if (VY_IS_LEAF(q) || p->insts.data[q].op != VY_OP_DIV) return NULL;
    return vy_arg(p, q, 0) == n && vy_arg(p, q, 1) == c ? vy_id_const(p, c) : NULL;
}

bool vy_id_int(const vy_program *p, uint32_t id, int64_t *out)
{
    const vy_scalar *k = vy_id_const(p, id);
    vy_type t = k ? vy_id_type(p, id) : VY_VOID;
    if (!k || t < VY_I32 || t > VY_U64 || (t == VY_U64 && k->u > INT64_MAX)) return false;
    *out = k->i;
    return true;
}
