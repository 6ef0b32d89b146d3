// SPDX-License-Identifier: MIT
// notes.c: see notes.h.
#include "autodiff/explain/notes.h"
#include "ir/core/flow.h"
#include "autodiff/storage/storage.h"
#include "ir/core/host.h"

#include <stdio.h>
#include <string.h>

static const char *copy(notes *n, const char *s)
{
    char *c = vy_arena_strdup(n->arena, s, strlen(s));
    if (!c) n->failed = true;
    return c ? c : "";
}

static const char *debug_name(notes *n, const reverse *r, uint32_t id)
{
    return copy(n, vy_string(&r->p->module->names, r->p->insts.data[id].name));
}

static const char *loop_name(notes *n, const reverse *r, uint32_t loop)
{
    if (!loop) return "";
    return r->p->insts.data[loop].op == VY_OP_WHILE ? "while" : debug_name(n, r, loop);
}

// ------------------------------------------------------------------------------------------ values
static vy_kept_why why_kept(const reverse *r, uint32_t id)
{
    vy_op op = (vy_op)r->p->insts.data[id].op;
    if (op == VY_OP_CARRY) return VY_KEPT_CARRIED;
    if (op == VY_OP_LOAD) return VY_KEPT_OVERWRITTEN;
    return vy_op_is_atomic(op) || vy_op_is_subgroup(op) ? VY_KEPT_ONCE : VY_KEPT_COSTLY;
}

// The first dispatch after `id` that takes it as an operand; NULL: none soon.
static const char *dispatch_after(notes *n, const reverse *r, uint32_t id)
{
    enum { FAR = 1024 }; // instructions
    const uint32_t last = r->p->insts.count - id > FAR ? id + FAR : r->p->insts.count;
    for (uint32_t d = id + 1; r->p->host && d < last; d++) {
        if (r->p->insts.data[d].op != VY_OP_DISPATCH) continue;
        for (uint32_t k = 0; k < r->p->insts.data[d].nargs; k++)
            if (vy_arg(r->p, d, k) == id)
                return copy(n, vy_host_callee(r->out, vy_host_call_of(r->p, d))->name);
    }
    return NULL;
}

// A result of a dispatch: which one.
static const char *result_name(notes *n, const reverse *r, uint32_t id)
{
    const vy_host_call *call = vy_host_call_of(r->p, vy_arg(r->p, id, 0));
    const vy_program *p = vy_host_callee(r->out, call);
    char text[200];
    uint32_t given = r->p->insts.data[id].aux + 1, b = 0;
    while (given && ++b < p->buffers.count)
        given -= vy_pipe_binds(&p->buffers.data[b]) && vy_host_gives(&p->buffers.data[b]);
    if (b >= p->buffers.count) return NULL;
    snprintf(text, sizeof text, "%.80s of `%.80s`", p->buffers.data[b].name, p->name);
    return copy(n, text);
}

// What a log holds (autodiff/core/undo_plan.h).
static void take_log(notes *n, const reverse *r, const undo_log *log, note_value *v)
{
    const vy_inst *i = &r->p->insts.data[log->store];
    v->why = VY_KEPT_LOG;
    v->type = vy_undo_type(r, log);
    v->from = copy(n, vy_buffer_name(r, i->aux));
    v->rank = log->form ? vy_undo_declared(r, log)->rank
                        : r->p->buffers.data[i->aux].rank - (i->nargs - 1);
    if (log->dispatch)
        v->before = copy(n, vy_host_callee(r->out, vy_host_call_of(r->p, log->dispatch))->name);
}

static void take_values(notes *n, const reverse *r, const vy_program *result)
{
    for (uint32_t id = 1; id < r->p->insts.count && !n->failed; id++) {
        if (!r->plan.kept[id] || !r->build.tape[id]) continue;
        const vy_inst *i = &r->p->insts.data[id];
        uint32_t loop = r->facts.home[id];
        note_value v = {.name = debug_name(n, r, id),
                        .tape = copy(n, result->buffers.data[r->build.tape[id]].name),
                        .loop = loop_name(n, r, loop),
                        .loop_line = loop ? r->p->insts.data[loop].line : 0,
                        .line = i->line,
                        .type = (vy_type)i->type,
                        .why = why_kept(r, id)};
        if (i->op == VY_OP_LOAD) v.from = copy(n, vy_buffer_name(r, i->aux));
        v.rank = vy_tensor_rank(r, id);
        if (i->op == VY_OP_PICK) v.from = result_name(n, r, id);
        const char *from = vy_tensor_name(r, id);
        if (from && !v.from) v.from = copy(n, from);
        v.before = dispatch_after(n, r, id);
        const undo_log *log = vy_undo_log_of(r, id);
        if (log) take_log(n, r, log, &v);
        if (!vy_vec_push(&n->values, v)) n->failed = true;
    }
}

// ----------------------------------------------------------------------------------------- buffers
static vy_adjoint_kind adjoint_of(const reverse *r, uint32_t id, const vy_program *result)
{
    const built_buffer *b = &r->build.buffers[id];
    switch (b->kind) {
    case ADJ_ONES: return VY_ADJOINT_ONES;
    case ADJ_SEED: return VY_ADJOINT_SEED;
    case ADJ_ZERO: return VY_ADJOINT_ZERO;
    case ADJ_MEMORY: break;
    default: return VY_ADJOINT_NONE;
    }
    const vy_buf *home = &result->buffers.data[b->adjoint];
    if (home->cls == VY_LOCAL || home->cls == VY_SHARED) return VY_ADJOINT_ARRAY;
    return home->workspace ? VY_ADJOINT_WORKSPACE : VY_ADJOINT_GRADIENT;
}

static void take_buffers(notes *n, const reverse *r, const vy_program *result)
{
    for (uint32_t i = 1; i < r->p->buffers.count && !n->failed; i++) {
        const buffer_facts *facts = &r->facts.buffers[i];
        const built_buffer *b = &r->build.buffers[i];
        note_buffer note = {.name = copy(n, vy_buffer_name(r, i)),
                            .adjoint = adjoint_of(r, i, result),
                            .rewound = r->plan.rewound[i] != 0};
        bool named = note.adjoint != VY_ADJOINT_NONE && note.adjoint != VY_ADJOINT_ONES &&
                     note.adjoint != VY_ADJOINT_ZERO;
        if (named) note.adjoint_name = copy(n, result->buffers.data[b->adjoint].name);
        if (b->shadow) note.mask = copy(n, result->buffers.data[b->shadow].name);
        if (b->copy && result->buffers.data[b->copy].workspace)
            note.copy = copy(n, result->buffers.data[b->copy].name);
        if (!vy_vec_push(&n->buffers, note)) n->failed = true;
        if (!facts->wrt) continue;
        // What a buffer begins as has that buffer's adjoint (reverse/starts.c).
        const uint32_t of = facts->heir ? r->build.buffers[facts->heir].adjoint : b->adjoint;
        note_gradient g = {copy(n, result->buffers.data[of].name), note.name};
        if (!vy_vec_push(&n->gradients, g)) n->failed = true;
    }
    for (uint32_t k = 0; k < r->p->leaves.count && !n->failed; k++) {
        if (!r->build.leaf_grad[k]) continue;
        note_gradient g = {copy(n, result->buffers.data[r->build.leaf_grad[k]].name),
                           copy(n, r->p->scalars.data[r->p->leaves.data[k].index].name)};
        if (!vy_vec_push(&n->gradients, g)) n->failed = true;
    }
}

// ------------------------------------------------------------------------------------------- loops
// s' = s + c for an integer s and a c from before the loop.
static bool is_induction(const vy_program *p, uint32_t opener, uint32_t carry, uint32_t next)
{
    if (!vy_type_is_integer(vy_id_type(p, carry)) || VY_IS_LEAF(next)) return false;
    if (p->insts.data[next].op != VY_OP_ADD) return false;
    uint32_t x = vy_arg(p, next, 0), y = vy_arg(p, next, 1), c = x == carry ? y : x;
    return (x == carry || y == carry) && (VY_IS_LEAF(c) || c < opener);
}

static void take_loops(notes *n, const reverse *r)
{
    for (uint32_t id = 1; id < r->p->insts.count && !n->failed; id++) {
        const vy_inst *o = &r->p->insts.data[id];
        if (!vy_is_loop((vy_op)o->op)) continue;
        note_loop l = {.line = o->line,
                       .column = o->column,
                       .reverse = (o->flags & VY_FLAG_REVERSE) != 0,
                       .first = n->carried.count,
                       .count = vy_slot_count(r->p, &r->facts.s, id)};
        for (uint32_t k = 0; k < l.count; k++) {
            uint32_t carry = vy_carry(id, k), next = vy_slot_next(r->p, &r->facts.s, id, k);
            vy_explain_carried c = {.name = debug_name(n, r, carry),
                                    .type = vy_id_type(r->p, carry)};
            c.how = r->plan.kept[carry]                   ? VY_HAD_TAPE
                    : is_induction(r->p, id, carry, next) ? VY_HAD_CLOSED
                                                          : VY_HAD_NOT;
            if (!vy_vec_push(&n->carried, c)) n->failed = true;
        }
        if (!vy_vec_push(&n->loops, l)) n->failed = true;
    }
}

void vy_notes_take(void *user, const reverse *r, const vy_program *result)
{
    notes *n = user;
    take_values(n, r, result);
    take_buffers(n, r, result);
    take_loops(n, r);
}

void vy_notes_free(notes *n)
{
    vy_vec_free(&n->values);
    vy_vec_free(&n->buffers);
    vy_vec_free(&n->gradients);
    vy_vec_free(&n->loops);
    vy_vec_free(&n->carried);
}

void vy_notes_move(void *user, const char *tape, const char *into)
{
    notes *n = user;
    for (uint32_t i = 0; i < n->values.count; i++)
        if (strcmp(n->values.data[i].tape, tape) == 0) n->values.data[i].tape = copy(n, into);
}
