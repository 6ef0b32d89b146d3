// SPDX-License-Identifier: MIT
// keep_values.c: the reverse of a pipeline, once more, with values kept in place of states.
//
//   LOOP t = 0..T                            LOOP t = 0..T
//     b = LOAD s t                             b = LOAD s t
//     d = DISPATCH step b, k            →      e = DISPATCH keep b, k;  PICK 0 e
//     STORE s (t + 1) ← PICK 0 d               d = DISPATCH step b, k
//                                              STORE s (t + 1) ← PICK 0 d
//
// The first reverse has shown which derivatives take what is on a tape.  Of those that have a form
// (driver/keep_form.c) the keeper is dispatched as well, by the primal; the second reverse then
// takes what that wrote, and storage plan, checkpoints and segments decide about it as about any
// tensor.  If the tapes get larger, because something else needs the states anyway, the first
// reverse is the result.
//
// Only in loops: where a dispatch runs once, its operands are kept by being left alone.  Not where
// the innermost thing that is run again is a checkpoint: it keeps nothing.
#include "autodiff/driver/keep_values.h"

#include "autodiff/driver/keep_form.h"
#include "autodiff/driver/observed.h"
#include "autodiff/reverse/undo.h"
#include "ir/build/rewrite.h"
#include "ir/host/host_build.h"

typedef struct keeping {
    vy_rewrite w;
    reverse *r;              // the first differentiation
    const keep_form **forms; // by DISPATCH
    uint32_t *hints;         // by instruction of the new program
    uint32_t hint_count;
} keeping;

// ------------------------------------------------------------------------------------- which forms
static bool is_taped(const reverse *r, uint32_t operand)
{
    if (VY_IS_LEAF(operand)) return false;
    const uint32_t same = r->facts.again[operand];
    return r->plan.kept[same ? same : operand] != 0;
}

// Does the integer grow with a loop, other than as a remainder?
static bool counts(const vy_program *h, uint32_t id, uint32_t depth)
{
    enum { DEEP = 16 }; // beyond it may
    if (VY_IS_LEAF(id)) return false;
    const vy_inst *i = &h->insts.data[id];
    bool any = i->op == VY_OP_LOOP || depth > DEEP;
    for (uint32_t k = 0; k < i->nargs && i->op != VY_OP_REM && !any; k++)
        any = counts(h, vy_arg(h, id, k), depth + 1);
    return any;
}

// Is it loaded from slices that loops number, `s[t]`?  Then these are all states, and are there
// whether something else is kept or not (ir/host/states.c).
static bool is_numbered(const reverse *r, uint32_t operand)
{
    if (VY_IS_LEAF(operand) || r->p->insts.data[operand].op != VY_OP_LOAD) return false;
    bool any = false;
    for (uint32_t k = 0; k < vy_index_count(r->p, operand); k++)
        any |= counts(r->p, vy_arg(r->p, operand, k), 0);
    return any;
}

// The operand of DISPATCH `id` that a parameter of its callee is; 0: none.
static uint32_t operand_of(const vy_program *h, uint32_t id, const vy_program *callee,
                           uint32_t parameter)
{
    uint32_t n = 0;
    for (uint32_t i = 1; i < parameter; i++)
        n += vy_pipe_binds(&callee->buffers.data[i]) && vy_host_takes(&callee->buffers.data[i]);
    return vy_arg(h, id, n);
}

static const keep_form *form_of(keeping *x, uint32_t id)
{
    const reverse *r = x->r;
    const vy_derived *made = r->keep->made[id];
    const vy_host_call *call = vy_host_call_of(r->p, id);
    if (!made || call->pipeline || call->groups) return NULL;
    if (r->p->insts.data[r->facts.scope[id]].op != VY_OP_LOOP) return NULL;
    const vy_program *callee = vy_host_callee(r->out, call);
    uint8_t *states = vy_arena_room(&x->w.arena, callee->buffers.count, 1);
    bool any = false;
    for (uint32_t i = 1; states && i < callee->buffers.count; i++) {
        const vy_buf *b = &callee->buffers.data[i];
        if (!vy_pipe_binds(b) || !vy_host_takes(b)) continue;
        const uint32_t operand = operand_of(r->p, id, callee, i);
        states[i] = is_taped(r, operand) && !is_numbered(r, operand);
        any |= states[i];
    }
    return any ? vy_keep_form(r->keep, r->out, made, states) : NULL;
}

static bool find_forms(keeping *x)
{
    bool any = false;
    x->forms = vy_rewrite_table(&x->w, x->w.p->insts.count * sizeof *x->forms);
    for (uint32_t id = 1; x->forms && id < x->w.p->insts.count; id++)
        if (x->w.p->insts.data[id].op == VY_OP_DISPATCH && (x->forms[id] = form_of(x, id)))
            any = true;
    return any && vy_module_ok(x->r->out);
}

// --------------------------------------------------------------------------------- the new primal
static vy_tensor shape_of(const vy_host_call *call, const vy_program *callee, uint32_t parameter)
{
    uint32_t n = 0;
    for (uint32_t i = 1; i < parameter; i++) n += vy_pipe_binds(&callee->buffers.data[i]);
    return call->shapes[n];
}

// Dispatches the keeper with what DISPATCH `id` takes.
static void dispatch_keeper(keeping *x, uint32_t id, const keep_form *form)
{
    const vy_host_call *was = vy_host_call_of(x->w.p, id);
    const vy_program *callee = vy_host_callee(x->r->out, was);
    const vy_program *keeper = x->r->out->programs.data[form->keeper];
    vy_arena *arena = &x->r->out->arena;
    vy_tensor *shapes = vy_arena_room(arena, keeper->buffers.count, sizeof *shapes);
    uint32_t *args = vy_arena_room(arena, keeper->buffers.count + was->scalars, sizeof *args);
    uint32_t *picks = vy_arena_room(arena, keeper->buffers.count, sizeof *picks);
    vy_host_call call = {.callee = form->keeper, .scalars = was->scalars, .shapes = shapes};
    x->w.oom |= !shapes || !args || !picks;
    for (uint32_t i = 1; !x->w.oom && i < keeper->buffers.count; i++) {
        const vy_buf *b = &keeper->buffers.data[i];
        shapes[call.count] = shape_of(was, callee, b->role.parameter);
        shapes[call.count++].type = b->type;
        if (!vy_host_takes(b)) continue;
        const uint32_t operand = operand_of(x->w.p, id, callee, b->role.parameter);
        args[call.tensors++] = vy_new(&x->w, operand);
    }
    for (uint32_t k = 0; !x->w.oom && k < was->scalars; k++)
        args[call.tensors + k] = vy_new_arg(&x->w, id, was->tensors + k);
    if (!x->w.oom) vy_host_dispatch(x->w.b, &call, args, picks);
}

// Tensors are not shared: each operand of a dispatch is a load of its own.
static void copy_tensor(keeping *x, uint32_t id)
{
    const vy_inst *i = &x->w.p->insts.data[id];
    uint32_t *args = vy_arena_room(&x->w.arena, i->nargs, sizeof *args);
    x->w.oom |= !args;
    if (x->w.oom) return;
    vy_new_args(&x->w, id, i->nargs, args);
    vy_rewrite_at(&x->w, id);
    x->w.map[id] = vy_host_append(x->w.b, (vy_op)i->op, (vy_type)i->type, i->aux, i->nargs, args);
}

static void keep_hint(keeping *x, uint32_t id)
{
    const uint32_t *old = x->r->plan.hints, to = x->w.map[id];
    if (!old || !old[id] || VY_IS_LEAF(to) || to >= x->hint_count) return;
    x->hints[to] = old[id];
}

static uint32_t with_keepers(void *pass, uint32_t id)
{
    keeping *x = pass;
    const vy_op op = (vy_op)x->w.p->insts.data[id].op;
    if (x->forms[id]) dispatch_keeper(x, id, x->forms[id]);
    if (op == VY_OP_LOAD || op == VY_OP_DISPATCH || op == VY_OP_PICK)
        copy_tensor(x, id);
    else
        vy_rewrite_copy(&x->w, id);
    if (!vy_rewrite_stopped(&x->w)) keep_hint(x, id);
    return id;
}

// The primal with keepers; NULL: nothing is to be kept, or an error.
static vy_program *with_forms(keeping *x, vy_program *host)
{
    bool ok = vy_rewrite_begin(&x->w, host);
    if (ok && find_forms(x)) {
        const uint32_t count = host->insts.count;
        x->hint_count = count * (VY_KEEP_MOST + 2);
        x->hints = vy_arena_room(&x->r->keep->arena, x->hint_count, sizeof *x->hints);
        ok = x->hints != NULL;
        if (ok) vy_rewrite_run(&x->w, with_keepers, x);
    }
    return vy_rewrite_take(&x->w, ok && x->forms);
}

// ------------------------------------------------------------------------------------ both of them
static void swap(vy_program *a, vy_program *b)
{
    const vy_program was = *a;
    *a = *b;
    *b = was;
}

// Gives up the forms of which the second plan computes again what they are to keep, as happens
// where the states are kept for something else.  Returns whether there are any.
static bool give_up(const reverse *second)
{
    const vy_program *h = second->p;
    bool any = false;
    for (uint32_t id = 1; id < h->insts.count; id++) {
        if (h->insts.data[id].op != VY_OP_PICK || second->plan.kept[id]) continue;
        const vy_host_call *call = vy_host_call_of(h, vy_arg(h, id, 0));
        for (uint32_t k = 0; k < second->keep->forms.count; k++) {
            keep_form *f = second->keep->forms.data[k];
            if (!f->known || call->pipeline || call->callee != f->keeper) continue;
            f->known = false;
            any = true;
        }
    }
    return any;
}

typedef enum outcome { BETTER, NO_BETTER, FEWER_FORMS, FAILED } outcome;

// *p: the reverse of `host` by *r, which BETTER replaces.
static outcome attempt(reverse *r, vy_program *host, vy_program **p)
{
    keeping x = {.r = r};
    const uint64_t failures = vy_memory_failures();
    const vy_diag before = r->out->diag;
    const vy_derived **made = r->keep->made;
    vy_program *other = with_forms(&x, host);
    if (!other) return vy_module_ok(r->out) ? NO_BETTER : FAILED;
    r->keep->made = NULL;
    swap(host, other);
    reverse second = {.p = host,
                      .options = r->options,
                      .out = r->out,
                      .derive = r->derive,
                      .keep = r->keep,
                      .plan.hints = x.hints};
    vy_program *kept = vy_attempt(&second, host);
    outcome o = vy_memory_failures() != failures ? FAILED : NO_BETTER;
    if (kept && o != FAILED && give_up(&second))
        o = FEWER_FORMS;
    else if (kept && o != FAILED && vy_undo_tapes(kept) <= vy_undo_tapes(*p))
        o = BETTER;
    if (o == BETTER) {
        vy_program_free(*p);
        vy_reverse_free(r);
        *r = second;
        *p = kept;
    } else {
        vy_program_free(kept);
        vy_reverse_free(&second);
        swap(host, other);
        r->keep->made = made;
        if (o != FAILED) r->out->diag = before;
    }
    vy_program_free(other);
    return o;
}

vy_program *vy_keep_values(reverse *r, vy_program *host, vy_program *p)
{
    enum { MOST_ATTEMPTS = 4 };
    outcome o = FEWER_FORMS;
    for (uint32_t n = 0; o == FEWER_FORMS && n < MOST_ATTEMPTS; n++) o = attempt(r, host, &p);
    if (o != FAILED) return p;
    r->failed = true;
    vy_program_free(p);
    return NULL;
}
