// SPDX-License-Identifier: MIT
// flow.c: see flow.h.
#include "ir/core/flow.h"

uint32_t vy_slot_count(const vy_program *p, const vy_structure *s, uint32_t opener)
{
    uint32_t end = vy_closer(p, s, opener);
    uint32_t n = p->insts.data[end].nargs;
    return n - (vy_is_loop((vy_op)p->insts.data[opener].op) ? vy_next_arg(p, opener) : 0);
}

uint32_t vy_slot_sources(const vy_program *p, const vy_structure *s, uint32_t id, uint32_t out[3])
{
    uint32_t k = p->insts.data[id].aux, marker = vy_arg(p, id, 0), n = 0;
    vy_op op = (vy_op)p->insts.data[marker].op;
    if (op == VY_OP_ENDIF) {
        uint32_t opener = s->partner[marker];
        out[n++] = vy_arg(p, s->partner[opener], k);
        out[n++] = vy_arg(p, marker, k);
    } else if (op == VY_OP_ENDCHECKPOINT) {
        out[n++] = vy_arg(p, marker, k);
    } else { // CARRY of its opener, or RESULT of an ENDLOOP
        uint32_t opener = op == VY_OP_ENDLOOP ? s->partner[marker] : marker;
        uint32_t end = s->partner[opener];
        uint32_t skip = p->insts.data[opener].op == VY_OP_LOOP ? 3 : 0;
        uint32_t keep = (p->insts.data[opener].flags & VY_FLAG_EXIT) != 0;
        out[n++] = vy_arg(p, opener, skip + k);
        out[n++] = vy_arg(p, end, keep + k);
    }
    return n;
}

bool vy_loop_never(vy_type t, const vy_scalar *from, const vy_scalar *to)
{
    if (!from || !to) return false;
    return vy_type_is_signed(t) ? to->i <= from->i : to->u <= from->u;
}

bool vy_id_int(const vy_program *p, uint32_t id, int64_t *out)
{
    const vy_scalar *k = vy_id_const(p, id);
    vy_type t = k ? vy_id_type(p, id) : VY_VOID;
    if (!k || t < VY_I32 || t > VY_U64 || (t == VY_U64 && k->u > INT64_MAX)) return false;
    *out = k->i;
    return true;
}
