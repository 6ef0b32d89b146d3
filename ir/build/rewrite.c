// SPDX-License-Identifier: MIT
// rewrite.c: the frame of a pass; see rewrite.h.
#include "ir/build/rewrite.h"

#include "ir/core/flow.h"

bool vy_rewrite_begin(vy_rewrite *w, vy_program *p)
{
    *w = (vy_rewrite){.p = p};
    w->map = vy_rewrite_ids(w);
    return w->map && vy_structure_take(p, &w->s);
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

uint32_t *vy_rewrite_uses(vy_rewrite *w)
{
    uint32_t *uses = vy_rewrite_ids(w);
    if (uses) vy_count_uses(w->p, uses);
    return uses;
}

bool vy_rewrite_open(vy_rewrite *w)
{
    w->b = vy_rebuild_begin(w->p);
    w->oom |= !w->b; // or the module had failed before: then its diag keeps that error
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

void vy_rewrite_copy_leaves(vy_rewrite *w, uint32_t id, vy_leaf_kind kind, const uint32_t *values)
{
    const uint32_t n = w->p->insts.data[id].nargs;
    uint32_t *args = vy_rewrite_table(w, (n + 1) * sizeof *args);
    for (uint32_t k = 0; args && k < n; k++) {
        const uint32_t a = vy_arg(w->p, id, k);
        const vy_leaf *l = VY_IS_LEAF(a) ? &w->p->leaves.data[VY_LEAF_INDEX(a)] : NULL;
        const uint32_t value = l && l->kind == kind ? values[l->index] : 0;
        args[k] = value ? value : vy_new(w, a);
    }
    vy_rewrite_at(w, id);
    if (args) vy_copy_with(w->b, w->p, id, args, w->map);
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

vy_program *vy_rewrite_take(vy_rewrite *w, bool ok)
{
    vy_program *fresh = NULL;
    const bool begun = w->b != NULL;
    ok &= !w->oom;
    if (!ok) vy_fail_oom(w->p->module); // unless the module has an earlier error
    if (ok && w->b)
        fresh = vy_rebuild_end(w->b);
    else
        vy_program_abandon(w->b);
    w->b = NULL;
    if (begun)
        vy_structure_free(&w->s);
    else
        vy_structure_keep(w->p, &w->s);
    vy_arena_free(&w->arena);
    return fresh;
}

bool vy_rewrite_end(vy_rewrite *w, bool ok, bool *changed)
{
    vy_program *p = w->p;
    bool begun = w->b != NULL;
    ok &= !w->oom;
    vy_program *fresh = vy_rewrite_take(w, ok);
    if (fresh) vy_program_replace(p, fresh);
    *changed |= ok && begun;
    return ok && (fresh || !begun);
}

void vy_rewrite_moved(vy_rewrite *w, uint32_t id, const uint32_t *args, uint32_t *map)
{
    uint32_t before = vy_builder_program(w->b)->insts.count;
    if (args)
        vy_copy_with(w->b, w->p, id, args, map);
    else
        vy_copy_inst(w->b, w->p, id, map);
    if (vy_builder_failed(w->b) || VY_IS_LEAF(map[id]) || map[id] < before) return;
    vy_builder_program(w->b)->insts.data[map[id]].flags &=
        (uint8_t) ~(VY_FLAG_INRANGE | VY_FLAG_FIRSTS);
}

void vy_rewrite_copy_in_range(vy_rewrite *w, uint32_t id)
{
    vy_rewrite_copy(w, id);
    const uint32_t load = w->map[id];
    if (vy_rewrite_stopped(w)) return;
    vy_program *fresh = vy_builder_program(w->b);
    if (load + 1 != fresh->insts.count) return; // an earlier one, which has the marks of its place
    fresh->insts.data[load].flags &= (uint8_t)~VY_FLAG_FIRSTS;
    fresh->insts.data[load].flags |= VY_FLAG_INRANGE;
}

void vy_rewrite_slots(vy_rewrite *w, uint32_t marker, uint32_t n, const uint32_t *values)
{
    for (uint32_t k = 0; k < n; k++) vy_rewrite_as(w, marker + 1 + k, values[k]);
}

vy_value vy_new_runs(vy_rewrite *w, uint32_t loop)
{
    return vy_lt(w->b, (vy_value){vy_new_arg(w, loop, 0)}, (vy_value){vy_new_arg(w, loop, 1)});
}

vy_value vy_new_trips(vy_rewrite *w, uint32_t loop)
{
    uint32_t v[3];
    vy_type u = vy_iteration_type((vy_type)w->p->insts.data[loop].type);
    vy_new_args(w, loop, 3, v);
    vy_value last =
        vy_iteration_last(w->b, u, (vy_value){v[0]}, (vy_value){v[1]}, (vy_value){v[2]});
    return vy_add(w->b, last, vy_int(w->b, u, 1));
}

uint32_t vy_rewrite_ended(const vy_rewrite *w, uint32_t id)
{
    vy_op op = (vy_op)w->p->insts.data[id].op;
    uint32_t end = op == VY_OP_ENDLOOP ? id : op == VY_OP_RESULT ? vy_arg(w->p, id, 0) : 0;
    if (!end || w->p->insts.data[end].op != VY_OP_ENDLOOP) return 0;
    uint32_t loop = w->s.partner[end];
    return id == vy_last_result(w->p, &w->s, loop) ? loop : 0;
}

// ---------------------------------------------------------------------------------- the constructs
static vy_op op_of(const vy_rewrite *w, const vy_remade *l)
{
    return (vy_op)w->p->insts.data[l->opener].op;
}

bool vy_remake(vy_rewrite *w, vy_remade *l, uint32_t opener, uint32_t more)
{
    uint32_t own = vy_slot_count(w->p, &w->s, opener);
    *l = (vy_remade){.opener = opener, .own = own, .total = own + more};
    l->in = vy_rewrite_table(w, 2 * ((size_t)l->total + 1) * sizeof *l->in);
    if (!l->in) return false;
    l->out = l->in + l->total + 1;
    if (!vy_is_loop(op_of(w, l))) return true;
    for (uint32_t k = 0; k < own; k++) l->in[k] = vy_new(w, vy_slot_init(w->p, opener, k));
    return true;
}

uint32_t vy_remake_counted(vy_rewrite *w, vy_remade *l, vy_type type, uint8_t flags,
                           const uint32_t bounds[3])
{
    uint32_t counter =
        vy_begin_loop(w->b, type, flags, bounds[0], bounds[1], bounds[2], l->total, l->in, l->out);
    vy_rewrite_slots(w, l->opener, l->own, l->out);
    return counter;
}

void vy_remake_begin(vy_rewrite *w, vy_remade *l)
{
    const vy_inst *i = &w->p->insts.data[l->opener];
    uint32_t bounds[3];
    vy_rewrite_at(w, l->opener);
    w->map[l->opener] = vy_builder_program(w->b)->insts.count; // the id of its marker, emitted next
    switch (op_of(w, l)) {
    case VY_OP_IF: vy_begin_if(w->b, vy_new_arg(w, l->opener, 0)); break;
    case VY_OP_CHECKPOINT: vy_begin_checkpoint(w->b); break;
    case VY_OP_WHILE:
        vy_begin_while(w->b, i->flags, l->total, l->in, l->out);
        vy_rewrite_slots(w, l->opener, l->own, l->out);
        break;
    default:
        vy_new_args(w, l->opener, 3, bounds);
        vy_rewrite_as(w, l->opener, vy_remake_counted(w, l, (vy_type)i->type, i->flags, bounds));
    }
}

void vy_remake_body(vy_rewrite *w, vy_remade *l, vy_instead *instead, void *pass)
{
    uint32_t first = vy_is_loop(op_of(w, l)) ? vy_carry(l->opener, l->own) : l->opener + 1;
    vy_rewrite_range(w, first, w->s.partner[l->opener], instead, pass);
}

void vy_remake_other(vy_rewrite *w, vy_remade *l, vy_instead *instead, void *pass)
{
    uint32_t middle = w->s.partner[l->opener];
    vy_rewrite_range(w, middle + 1, w->s.partner[middle], instead, pass);
}

void vy_remake_then(vy_rewrite *w, vy_remade *l)
{
    for (uint32_t k = 0; k < l->own && !vy_rewrite_stopped(w); k++)
        l->in[k] = vy_new(w, vy_slot_then(w->p, &w->s, l->opener, k));
}

void vy_remake_else(vy_rewrite *w, vy_remade *l) { vy_begin_else(w->b, l->total, l->in); }

void vy_remake_next(vy_rewrite *w, vy_remade *l)
{
    uint32_t keep = vy_keep(w->p, &w->s, l->opener);
    for (uint32_t k = 0; k < l->own && !vy_rewrite_stopped(w); k++)
        l->in[k] = vy_new(w, vy_slot_yield(w->p, &w->s, l->opener, k));
    l->keep = keep ? vy_new(w, keep) : 0;
}

void vy_remake_close(vy_rewrite *w, vy_remade *l)
{
    if (vy_rewrite_stopped(w)) return;
    switch (op_of(w, l)) {
    case VY_OP_IF: vy_end_if(w->b, l->total, l->in, l->out); return;
    case VY_OP_CHECKPOINT: vy_end_checkpoint(w->b, l->total, l->in, l->out); return;
    default: vy_end_loop(w->b, l->keep, l->total, l->in, l->out);
    }
}

void vy_remake_end(vy_rewrite *w, vy_remade *l)
{
    vy_remake_close(w, l);
    if (!vy_rewrite_stopped(w))
        vy_rewrite_slots(w, vy_closer(w->p, &w->s, l->opener), l->own, l->out);
}
