// SPDX-License-Identifier: MIT
// rewrite.c: the frame of a pass; see rewrite.h.
#include "ir/build/rewrite.h"

bool vy_rewrite_begin(vy_rewrite *w, vy_program *p)
{
    *w = (vy_rewrite){.p = p};
    w->map = vy_rewrite_ids(w);
    return w->map && vy_structure_make(p, &w->s);
}

void *vy_rewrite_table(vy_rewrite *w, size_t size)
{
    void *table = vy_arena_alloc(&w->arena, size);
    w->oom |= !table;
    return table;
}

uint32_t *vy_rewrite_ids(vy_rewrite *w)
{
    return vy_rewrite_table(w, w->p->insts.count * sizeof(uint32_t));
}

uint8_t *vy_rewrite_bytes(vy_rewrite *w) { return vy_rewrite_table(w, w->p->insts.count); }

bool vy_rewrite_open(vy_rewrite *w)
{
    w->b = vy_rebuild_begin(w->p);
    w->oom |= !w->b; // or the module had failed before, and its diag says so
    return w->b != NULL;
}

void vy_rewrite_range(vy_rewrite *w, uint32_t from, uint32_t to, vy_instead *instead, void *pass)
{
    for (uint32_t id = from; id < to && !vy_rewrite_stopped(w); id++) {
        uint32_t done = instead ? instead(pass, id) : 0;
        if (done)
            id = done;
        else
            vy_rewrite_copy(w, id);
    }
}

void vy_rewrite_run(vy_rewrite *w, vy_instead *instead, void *pass)
{
    if (vy_rewrite_open(w)) vy_rewrite_range(w, 1, w->p->insts.count, instead, pass);
}

void vy_rewrite_drop(vy_rewrite *w)
{
    if (!w->b || vy_rewrite_stopped(w)) return;
    vy_program_abandon(w->b);
    w->b = NULL;
}

bool vy_rewrite_end(vy_rewrite *w, bool ok, bool *changed)
{
    ok &= !w->oom;
    if (!ok) vy_fail_oom(w->p->module); // unless something else was said before
    if (!ok) vy_program_abandon(w->b);
    if (ok && w->b) {
        ok = vy_pass_finish(w->b, w->p);
        *changed = true;
    }
    vy_structure_free(&w->s);
    vy_arena_free(&w->arena);
    return ok;
}

void vy_rewrite_moved(vy_rewrite *w, uint32_t id, const uint32_t *args, uint32_t *map)
{
    uint32_t before = vy_builder_program(w->b)->insts.count;
    if (args)
        vy_copy_with(w->b, w->p, id, args, map);
    else
        vy_copy_inst(w->b, w->p, id, map);
    if (vy_builder_failed(w->b) || VY_IS_LEAF(map[id]) || map[id] < before) return;
    vy_builder_program(w->b)->insts.data[map[id]].flags &= (uint8_t)~VY_FLAG_INRANGE;
}

void vy_rewrite_slots(vy_rewrite *w, uint32_t marker, uint32_t n, const uint32_t *values)
{
    for (uint32_t k = 0; k < n; k++) vy_rewrite_as(w, marker + 1 + k, values[k]);
}

vy_value vy_new_runs(vy_rewrite *w, uint32_t loop)
{
    return vy_lt(w->b, (vy_value){vy_new_arg(w, loop, 0)}, (vy_value){vy_new_arg(w, loop, 1)});
}

uint32_t vy_rewrite_ended(const vy_rewrite *w, uint32_t id)
{
    vy_op op = (vy_op)w->p->insts.data[id].op;
    uint32_t end = op == VY_OP_ENDLOOP ? id : op == VY_OP_RESULT ? vy_arg(w->p, id, 0) : 0;
    if (!end || w->p->insts.data[end].op != VY_OP_ENDLOOP) return 0;
    uint32_t loop = w->s.partner[end];
    return id == end + vy_slot_count(w->p, &w->s, loop) ? loop : 0;
}

bool vy_wide_make(vy_rewrite *w, vy_wide_loop *l, uint32_t loop, uint32_t more)
{
    uint32_t own = vy_slot_count(w->p, &w->s, loop);
    *l = (vy_wide_loop){.loop = loop, .own = own, .total = own + more};
    l->in = vy_rewrite_table(w, 2 * ((size_t)l->total + 1) * sizeof *l->in);
    if (!l->in) return false;
    l->out = l->in + l->total + 1;
    for (uint32_t k = 0; k < own; k++) l->in[k] = vy_new(w, vy_slot_init(w->p, loop, k));
    return true;
}

void vy_wide_begin(vy_rewrite *w, vy_wide_loop *l)
{
    const vy_inst *i = &w->p->insts.data[l->loop];
    uint32_t bounds[3];
    vy_rewrite_at(w, l->loop);
    if (i->op == VY_OP_WHILE) {
        vy_begin_while(w->b, i->flags, l->total, l->in, l->out);
    } else {
        vy_new_args(w, l->loop, 3, bounds);
        vy_rewrite_as(w, l->loop,
                      vy_begin_loop(w->b, (vy_type)i->type, i->flags, bounds[0], bounds[1],
                                    bounds[2], l->total, l->in, l->out));
    }
    vy_rewrite_slots(w, l->loop, l->own, l->out);
}

void vy_wide_next(vy_rewrite *w, vy_wide_loop *l)
{
    for (uint32_t k = 0; k < l->own && !vy_rewrite_stopped(w); k++)
        l->in[k] = vy_new(w, vy_slot_next(w->p, &w->s, l->loop, k));
}

void vy_wide_end(vy_rewrite *w, vy_wide_loop *l)
{
    uint32_t keep = vy_keep(w->p, &w->s, l->loop);
    if (vy_rewrite_stopped(w)) return;
    vy_end_loop(w->b, keep ? vy_new(w, keep) : 0, l->total, l->in, l->out);
    vy_rewrite_slots(w, w->s.partner[l->loop], l->own, l->out);
}
