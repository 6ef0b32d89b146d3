// SPDX-License-Identifier: MIT
// steer.c: what decides about the way to barriers and operations among lanes.
//
//   for k in 0..T {
//       let odd = hash(k) % 2 == 1;       costs more than a tape, and yet is computed again:
//       if odd { s += subgroup_add(s); }  `if tape[k, i] { … subgroup_add(ḡ) … }` would not be seen to be
//   }                                     the same in all of a workgroup, and nor be so in padding lanes
//
// Backwards through operands; a construct's results depend on all that decides inside it.
#include "subgroup.h"

#include "ir/pass.h"

#include <string.h>

static bool mark(uint8_t *steers, uint32_t id)
{
    if (VY_IS_LEAF(id) || steers[id]) return false;
    steers[id] = 1;
    return true;
}

// What a CARRY or RESULT takes over, and what decides about that.
static bool mark_sources(const vy_program *p, const vy_structure *s, uint8_t *steers, uint32_t id)
{
    uint32_t marker = vy_arg(p, id, 0), k = p->insts.data[id].aux, opener = marker;
    if (vy_op_closes((vy_op)p->insts.data[marker].op)) opener = s->partner[marker];
    uint32_t end = vy_closer(p, s, opener);
    bool is_loop = vy_is_loop((vy_op)p->insts.data[opener].op), news = false;
    news |= mark(steers, vy_arg(p, end, (is_loop ? vy_next_arg(p, opener) : 0) + k));
    if (is_loop) news |= mark(steers, vy_arg(p, opener, vy_init_arg(p, opener) + k));
    if (p->insts.data[opener].op == VY_OP_IF)
        news |= mark(steers, vy_arg(p, s->partner[opener], k));
    return mark(steers, opener) || news;
}

// A construct: conditions, bounds.
static bool mark_decisions(const vy_program *p, const vy_structure *s, uint8_t *steers, uint32_t id)
{
    bool news = false;
    uint32_t n = p->insts.data[id].op == VY_OP_IF ? 1 : vy_init_arg(p, id);
    for (uint32_t k = 0; k < n; k++) news |= mark(steers, vy_arg(p, id, k));
    if (!vy_is_loop((vy_op)p->insts.data[id].op)) return news;
    for (uint32_t k = 0; k < vy_next_arg(p, id); k++)
        news |= mark(steers, vy_arg(p, s->partner[id], k));
    return news;
}

static bool follow(const vy_program *p, const vy_structure *s, uint8_t *steers, uint32_t id)
{
    vy_op op = (vy_op)p->insts.data[id].op;
    bool news = false;
    // The condition of a `while` stands inside it.
    if (op == VY_OP_TEST && steers[s->partner[id]]) news |= mark(steers, vy_arg(p, id, 0));
    if (!steers[id]) return news;
    if (op == VY_OP_CARRY || op == VY_OP_RESULT) return mark_sources(p, s, steers, id) || news;
    if (vy_op_opens(op)) return mark_decisions(p, s, steers, id) || news;
    for (uint32_t k = 0; k < p->insts.data[id].nargs && vy_op_infos[op].effect != VY_CTRL; k++)
        news |= mark(steers, vy_arg(p, id, k));
    return news;
}

void vy_steer(const vy_program *p, const vy_structure *s, uint8_t *steers)
{
    bool any = false;
    memset(steers, 0, p->insts.count);
    for (uint32_t id = 1; id < p->insts.count; id++) {
        if (vy_op_infos[p->insts.data[id].op].effect != VY_CONV) continue;
        for (uint32_t up = s->parent[id]; up && !steers[up]; up = s->parent[up]) {
            steers[up] = 1;
            if (vy_is_loop((vy_op)p->insts.data[up].op)) steers[s->partner[up]] = 1; // how often
            any = true;
        }
    }
    while (any) {
        any = false;
        for (uint32_t id = p->insts.count; id-- > 1;) any |= follow(p, s, steers, id);
    }
}

void vy_steer_explain(reverse *r)
{
    vy_diag *d = &r->out->diag;
    if (!d->code || strcmp(d->code, "E0302") != 0) return;
    uint32_t line = d->line, column = d->column;
    *d = (vy_diag){0};
    vy_fail(r->out, VY_E_GRAD_UNSUPPORTED, line, column,
            "compute the condition or bound from parameters and loop variables",
            "the way to this operation among invocations depends on a value that the reverse has "
            "only from memory, where it cannot be seen to be the same in the whole workgroup");
}
