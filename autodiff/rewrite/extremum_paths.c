// SPDX-License-Identifier: MIT
// extremum_paths.c: do floats decide which candidates there are?
//
//   if sin(x[i]) > 0.5 { atomic_max(best[0], x[i]); }
//
// f_final and f_winner are @exact, so they agree about the condition; the reverse has its own forward sweep, and
// where the device's sine decides otherwise there, the winner would not come by, or its events would be
// counted differently.  Then the reverse must be @exact too.  What is loaded, compared, chosen and rounded to
// integers is the same everywhere; so conditions like x[i] > 0 need nothing.
#include "autodiff/rewrite/extremum.h"

static bool mark(uint8_t *marks, uint32_t id)
{
    if (VY_IS_LEAF(id) || marks[id]) return false;
    marks[id] = 1;
    return true;
}

// What a CARRY or RESULT takes over, and the construct.
static bool mark_slot(const reverse *r, uint8_t *marks, uint32_t id)
{
    const vy_program *p = r->p;
    uint32_t marker = vy_arg(p, id, 0), k = p->insts.data[id].aux, opener = marker;
    if (vy_op_closes((vy_op)p->insts.data[marker].op)) opener = r->s.partner[marker];
    uint32_t end = vy_closer(p, &r->s, opener);
    bool loop = vy_is_loop((vy_op)p->insts.data[opener].op), news = mark(marks, opener);
    news |= mark(marks, vy_arg(p, end, (loop ? vy_next_arg(p, opener) : 0) + k));
    if (loop) news |= mark(marks, vy_arg(p, opener, vy_init_arg(p, opener) + k));
    if (p->insts.data[opener].op == VY_OP_IF)
        news |= mark(marks, vy_arg(p, r->s.partner[opener], k));
    return news;
}

static bool mark_construct(const reverse *r, uint8_t *marks, uint32_t id)
{
    const vy_program *p = r->p;
    vy_op op = (vy_op)p->insts.data[id].op;
    uint32_t n = op == VY_OP_IF ? 1 : op == VY_OP_LOOP ? 3 : 0;
    bool news = false;
    for (uint32_t k = 0; k < n; k++) news |= mark(marks, vy_arg(p, id, k));
    if (vy_is_loop(op) && vy_next_arg(p, id)) news |= mark(marks, vy_keep(p, &r->s, id));
    return news;
}

// One step backwards from what is marked; true if that is news.
static bool follow(const reverse *r, uint8_t *marks, uint32_t id)
{
    const vy_inst *i = &r->p->insts.data[id];
    vy_op op = (vy_op)i->op;
    bool news = false;
    if (op == VY_OP_TEST && marks[r->s.partner[id]]) return mark(marks, vy_arg(r->p, id, 0));
    if (!marks[id]) return false;
    if (r->s.parent[id]) news |= mark(marks, r->s.parent[id]);
    if (op == VY_OP_CARRY || op == VY_OP_RESULT) return mark_slot(r, marks, id) || news;
    if (vy_op_opens(op)) return mark_construct(r, marks, id) || news;
    for (uint32_t k = 0; k < i->nargs; k++) news |= mark(marks, vy_arg(r->p, id, k));
    return news;
}

// May the value differ between programs that compute it?
static bool is_loose(const reverse *r, uint32_t id)
{
    const vy_inst *i = &r->p->insts.data[id];
    vy_op op = (vy_op)i->op;
    if (op == VY_OP_LOAD) return vy_is_written(r->p, i->aux);
    if (vy_op_is_memory(op) || vy_op_is_subgroup(op)) return true;
    if (vy_op_infos[op].effect != VY_PURE || !vy_type_is_float((vy_type)i->type)) return false;
    bool chooses = op == VY_OP_SELECT || op == VY_OP_MIN || op == VY_OP_MAX || op == VY_OP_CLAMP;
    bool signs = op == VY_OP_NEG || op == VY_OP_ABS || op == VY_OP_SIGN || op == VY_OP_STOP_GRAD;
    bool rounds =
        (op >= VY_OP_FLOOR && op <= VY_OP_ROUND) || op == VY_OP_CAST || op == VY_OP_BITCAST;
    return !chooses && !signs && !rounds;
}

bool vy_extremum_loose(const reverse *r, bool *loose)
{
    const vy_program *p = r->p;
    vy_arena arena = {0};
    uint8_t *marks = vy_arena_alloc(&arena, p->insts.count);
    bool news = marks != NULL;
    *loose = false;
    for (uint32_t id = 1; marks && id < p->insts.count; id++) {
        const vy_inst *i = &p->insts.data[id];
        if (!vy_is_extremum((vy_op)i->op) || !r->buffers[i->aux].extremum) continue;
        uint32_t rank = p->buffers.data[i->aux].rank;
        for (uint32_t k = 0; k < i->nargs; k++)
            if (k != rank) mark(marks, vy_arg(p, id, k)); // not the candidate
        if (r->s.parent[id]) mark(marks, r->s.parent[id]);
    }
    while (news) {
        news = false;
        for (uint32_t id = p->insts.count; id-- > 1;) news |= follow(r, marks, id);
    }
    for (uint32_t id = 1; marks && id < p->insts.count; id++)
        *loose |= marks[id] && is_loose(r, id);
    vy_arena_free(&arena);
    return marks != NULL;
}
