// SPDX-License-Identifier: MIT
// induction.c: see induction.h.
#include "autodiff/facts/induction.h"
#include "ir/core/flow.h"

uint32_t vy_carry_init(const grad_facts *f, uint32_t opener, uint32_t k)
{
    return vy_slot_init(f->p, opener, k);
}

uint32_t vy_induction_step(const grad_facts *f, uint32_t opener, uint32_t k)
{
    uint32_t carry = vy_carry(opener, k), next = vy_slot_next(f->p, &f->s, opener, k);
    vy_type type = vy_id_type(f->p, carry);
    if (next == carry) return carry;
    if (VY_IS_LEAF(next) || f->p->insts.data[next].op != VY_OP_ADD || type < VY_I32 ||
        type > VY_U64)
        return 0;
    uint32_t x = vy_arg(f->p, next, 0), y = vy_arg(f->p, next, 1);
    uint32_t c = x == carry ? y : y == carry ? x : 0;
    return c && (VY_IS_LEAF(c) || c < opener) ? c : 0;
}

static bool is_outer(uint32_t id, uint32_t opener) { return VY_IS_LEAF(id) || id < opener; }

uint32_t vy_undone_operand(const grad_facts *f, uint32_t id, uint32_t opener)
{
    const vy_program *p = f->p;
    const vy_inst *i = &p->insts.data[id];
    if (i->nargs == 1) {
        bool invertible = i->op == VY_OP_NEG || i->op == VY_OP_NOT;
        if (i->op == VY_OP_CAST) {
            vy_type from = vy_id_type(p, vy_arg(p, id, 0)), to = (vy_type)i->type;
            invertible = from >= VY_I32 && from <= VY_U64 && to >= VY_I32 && to <= VY_U64 &&
                         vy_type_size(from) == vy_type_size(to);
        }
        return invertible ? vy_arg(p, id, 0) : 0;
    }
    if (i->nargs != 2) return 0;
    uint32_t x = vy_arg(p, id, 0), y = vy_arg(p, id, 1);
    if (i->op == VY_OP_XOR && !is_outer(x, opener) && !is_outer(y, opener)) { // x ^ (x << k)
        const vy_inst *s = &p->insts.data[y];
        bool shifted = (s->op == VY_OP_SHL || s->op == VY_OP_SHR) && vy_arg(p, y, 0) == x;
        if (!shifted && (p->insts.data[x].op == VY_OP_SHL || p->insts.data[x].op == VY_OP_SHR) &&
            vy_arg(p, x, 0) == y) {
            uint32_t t = x;
            x = y, y = t, s = &p->insts.data[y];
            shifted = true;
        }
        const vy_scalar *k = shifted ? vy_id_const(p, vy_arg(p, y, 1)) : NULL;
        bool logical = k && (s->op == VY_OP_SHL || !vy_type_is_signed((vy_type)s->type));
        return logical && k->u > 0 && k->u < 8 * vy_type_size((vy_type)s->type) ? x : 0;
    }
    if (is_outer(x, opener) == is_outer(y, opener)) return 0;
    const uint32_t inner = is_outer(x, opener) ? y : x, outer = is_outer(x, opener) ? x : y;
    if (i->op == VY_OP_ADD || i->op == VY_OP_SUB || i->op == VY_OP_XOR) return inner;
    const vy_scalar *k = i->op == VY_OP_MUL ? vy_id_const(p, outer) : NULL;
    return k && (k->u & 1) ? inner : 0;
}

uint32_t vy_undo_chain(const grad_facts *f, uint32_t opener, uint32_t k,
                       uint32_t steps[VY_UNDO_STEPS])
{
    uint32_t carry = vy_carry(opener, k), id = vy_slot_next(f->p, &f->s, opener, k), n = 0;
    vy_type type = vy_id_type(f->p, carry);
    if (type < VY_I32 || type > VY_U64) return 0;
    while (id != carry) {
        if (is_outer(id, opener + 1) || f->s.parent[id] != opener || n == VY_UNDO_STEPS) return 0;
        steps[n++] = id;
        id = vy_undone_operand(f, id, opener);
        if (!id) return 0;
    }
    return n;
}

bool vy_is_invertible(const grad_facts *f, uint32_t opener, uint32_t k)
{
    uint32_t steps[VY_UNDO_STEPS];
    return vy_undo_chain(f, opener, k, steps) > 0;
}
