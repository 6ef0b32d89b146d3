// SPDX-License-Identifier: MIT
// masks.c: facts that the sweeps need before they start.
//
// busy      openers that contain something with an adjoint: the others have no reverse.
// needed    values that the reverse sweep may ask for outside the arm they were made in, and which
//           an `if` therefore hands out.  Generous: what turns out unused is removed afterwards.
// maskable  every use of the value is conditional: an arm of a select, a candidate of min or max, an
//           operand inside an `if` or loop that the value stands before, or an operand of something
//           itself maskable.  Then a zero adjoint may mean "not selected", and 0·inf must not turn
//           into NaN: the value's contributions are select(mask, g·d, 0), where the mask is the OR of
//           the conditions of its uses.  Comparing the adjoint with zero instead would break second
//           derivatives.
#include "reverse.h"

// Some use of `id` counts whenever the value is computed.
static void use(reverse *r, uint32_t user, uint32_t id, bool conditional)
{
    if (VY_IS_LEAF(id)) return;
    if (r->s.parent[user] != r->s.parent[id]) conditional = true; // stands deeper
    if (!conditional) r->maskable[id] = 0;
}

// Operand k of a marker: the RESULT or CARRY that takes it over, or 0 for conditions and bounds.
static uint32_t taken_over_by(const reverse *r, uint32_t id, uint32_t k)
{
    const vy_inst *i = &r->p->insts.data[id];
    uint32_t skip = i->op == VY_OP_LOOP ? 3 : 0;
    switch (i->op) {
    case VY_OP_ELSE: return r->s.partner[id] + 1 + k;
    case VY_OP_ENDIF:
    case VY_OP_ENDCHECKPOINT: return id + 1 + k;
    case VY_OP_LOOP:
    case VY_OP_WHILE: return k < skip ? 0 : id + 1 + k - skip;
    case VY_OP_ENDLOOP:
        skip = (r->p->insts.data[r->s.partner[id]].flags & VY_FLAG_EXIT) != 0;
        return k < skip ? 0 : id + 1 + k - skip;
    default: return 0;
    }
}

static void scan_marker(reverse *r, uint32_t id)
{
    vy_op op = (vy_op)r->p->insts.data[id].op;
    uint32_t opener = op == VY_OP_ELSE      ? r->s.partner[r->s.partner[id]]
                      : op == VY_OP_ENDIF   ? r->s.partner[id]
                      : op == VY_OP_ENDLOOP ? r->s.partner[id]
                                            : 0;
    for (uint32_t k = 0; k < r->p->insts.data[id].nargs; k++) {
        uint32_t a = vy_arg(r->p, id, k), heir = taken_over_by(r, id, k);
        if (VY_IS_LEAF(a) || !heir || !vy_is_active(r, heir)) continue;
        // What stands before the arm or the loop counts only if that arm or an iteration runs.
        if (a < opener) continue;
        // The yield of an arm, or the next value of a carried one, counts as its RESULT does.
        if (!r->maskable[heir]) r->maskable[a] = 0;
    }
}

// A carried value and the loop's result go together: either may be the use that counts.
static void scan_loop_end(reverse *r, uint32_t end, const uint8_t *assumed)
{
    uint32_t opener = r->s.partner[end], skip = r->p->insts.data[opener].op == VY_OP_LOOP ? 3 : 0;
    for (uint32_t k = 0; k + skip < r->p->insts.data[opener].nargs; k++) {
        uint32_t carry = opener + 1 + k, result = end + 1 + k;
        bool always = (vy_is_active(r, carry) && !assumed[carry]) ||
                      (vy_is_active(r, result) && !r->maskable[result]);
        if (always) r->maskable[carry] = r->maskable[result] = 0;
    }
}

static void scan_uses(reverse *r, uint32_t id, const uint8_t *assumed)
{
    const vy_inst *i = &r->p->insts.data[id];
    vy_op op = (vy_op)i->op;
    if (op == VY_OP_ENDLOOP) scan_loop_end(r, id, assumed);
    if (vy_op_infos[op].effect == VY_CTRL) {
        scan_marker(r, id);
        return;
    }
    bool active = vy_is_active(r, id);
    bool effect = vy_op_is_memory(op) && (r->buffers[i->aux].activity & ACTIVE) == ACTIVE;
    bool picks = op == VY_OP_SELECT || vy_rule_kind_of(op) == RULE_PICK;
    if (!active && !effect) return; // a use without a derivative
    for (uint32_t k = 0; k < i->nargs; k++) {
        bool chosen = picks && !(op == VY_OP_SELECT && k == 0);
        use(r, id, vy_arg(r->p, id, k), !effect && (r->maskable[id] || chosen));
    }
}

static void need(reverse *r, uint32_t id)
{
    if (!VY_IS_LEAF(id)) r->needed[id] = 1;
}

static void scan_needs(reverse *r, uint32_t id)
{
    const vy_inst *i = &r->p->insts.data[id];
    vy_op op = (vy_op)i->op;
    bool memory = vy_op_is_memory(op) && (r->buffers[i->aux].activity & ACTIVE) == ACTIVE;
    bool uses_values =
        memory || vy_op_opens(op) || (vy_is_active(r, id) && vy_rule_kind_of(op) != RULE_LINEAR);
    if (uses_values) need(r, id);
    for (uint32_t k = 0; k < i->nargs; k++) {
        uint32_t a = vy_arg(r->p, id, k);
        // The body of a loop or checkpoint is replayed by itself and asks for everything it captures.
        if (uses_values || (!VY_IS_LEAF(a) && r->scope[a] != r->scope[id])) need(r, a);
    }
}

// Whether a carried value is maskable depends on uses in the body, which stand before those that depend
// on it: assume that it is, and look again where that was wrong.
static void find_maskable(reverse *r, uint8_t *assumed)
{
    enum { PATIENCE = 20 };
    uint32_t n = r->p->insts.count;
    for (uint32_t id = 1; id < n; id++) assumed[id] = vy_is_active(r, id);
    for (uint32_t round = 0;; round++) {
        bool wrong = false;
        for (uint32_t id = 1; id < n; id++) r->maskable[id] = vy_is_active(r, id);
        for (uint32_t id = n; id-- > 1;) scan_uses(r, id, assumed);
        for (uint32_t id = 1; id < n; id++) {
            if (r->p->insts.data[id].op != VY_OP_CARRY || !assumed[id]) continue;
            if (r->maskable[id] && round < PATIENCE) continue;
            wrong |= !r->maskable[id] || round == PATIENCE;
            assumed[id] = 0;
        }
        if (!wrong) return;
    }
}

void vy_masks(reverse *r)
{
    uint32_t n = r->p->insts.count;
    for (uint32_t id = 1; id < n; id++) {
        const vy_inst *i = &r->p->insts.data[id];
        scan_needs(r, id);
        bool memory =
            vy_op_is_memory((vy_op)i->op) && (r->buffers[i->aux].activity & ACTIVE) == ACTIVE;
        if (!vy_is_active(r, id) && !memory) continue;
        for (uint32_t up = r->s.parent[id]; up && !r->busy[up]; up = r->s.parent[up])
            r->busy[up] = 1;
    }
    // `slot` is scratch of the sweeps, and zero again before they start.
    find_maskable(r, (uint8_t *)r->slot);
    for (uint32_t id = 0; id < n; id++) r->slot[id] = 0;
}
