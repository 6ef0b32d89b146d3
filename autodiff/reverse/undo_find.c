// SPDX-License-Identifier: MIT
// undo_find.c: which buffers of a host program the reverse sweep can undo.
//
// A buffer may be undone if all writes to it have a log: where a dispatch updates a slice in part,
// what NAME_log_u moves (undo_form.c); else the old contents of the slice.  A store before which
// nothing can have read the buffer needs none: no load needs what was there.  Nothing is undone in
// checkpoints, whose replays keep their own states, in iterations that may end a loop,
// and in what the caller gets.
#include "autodiff/reverse/sweeps.h"
#include "autodiff/reverse/undo.h"
#include "autodiff/storage/storage.h"
#include "ir/core/host.h"
#include "ir/host/host_build.h"

typedef struct candidate { // by buffer
    bool refused, partial, loaded;
    uint32_t last_write; // so far
} candidate;

typedef struct finding {
    reverse *r;
    undo_plan *u;
    candidate *of;
    uint32_t *forms; // by program: + 1, the first of its forms
    uint32_t programs;
} finding;

// ------------------------------------------------------------------------------------- candidates
// Is the forward sweep's copy of the buffer its own, of known extents, for all of the run?
static bool is_own(const reverse *r, uint32_t b)
{
    const vy_buf *buf = &r->p->buffers.data[b];
    const buffer_facts *facts = &r->facts.buffers[b];
    for (uint32_t k = 0; k < buf->rank; k++) {
        const vy_dim_op op = r->p->dims.data[buf->dims[k].id].op;
        if (op == VY_DIM_STEP || (op == VY_DIM_UNKNOWN && buf->cls != VY_INOUT)) return false;
    }
    if (buf->cls == VY_LOCAL) return !facts->home;
    const bool given = !buf->workspace && r->options->with_value;
    return buf->cls != VY_IN && !given && facts->loaded && !facts->early;
}

// The form of what a dispatch of `callee` does to its parameter; NULL: memory, or an error.
static const undo_form *form_of(finding *f, uint32_t callee, uint32_t buffer, uint32_t *number)
{
    for (uint32_t k = f->forms[callee]; k; k = f->u->forms.data[k - 1].next)
        if (f->u->forms.data[k - 1].buffer == buffer) {
            *number = k;
            return &f->u->forms.data[k - 1];
        }
    undo_form form = {.callee = callee, .buffer = buffer, .next = f->forms[callee]};
    if (!vy_undo_form_make(f->r->out, &form) || !vy_vec_push(&f->u->forms, form)) return NULL;
    *number = f->forms[callee] = f->u->forms.count;
    return &f->u->forms.data[*number - 1];
}

// The parameter that result `k` of a dispatch is; *operand: what it updates, or 0.
static uint32_t parameter_of(const finding *f, uint32_t dispatch, uint32_t k, uint32_t *operand)
{
    const vy_program *callee = vy_host_callee(f->r->out, vy_host_call_of(f->r->p, dispatch));
    for (uint32_t i = 1, taken = 0, given = 0; i < callee->buffers.count; i++) {
        const vy_buf *b = &callee->buffers.data[i];
        if (!vy_pipe_binds(b)) continue;
        const uint32_t x = vy_host_takes(b) ? vy_arg(f->r->p, dispatch, taken++) : 0;
        if (!vy_host_gives(b) || given++ != k) continue;
        *operand = vy_host_takes(b) ? x : 0;
        return i;
    }
    return 0;
}

// Does the dispatch update in part the slice to which `log->store` stores its result?  Then the log
// gets its form.  False: memory.
static bool find_form(finding *f, undo_log *log, uint32_t pick)
{
    const vy_program *p = f->r->p;
    const vy_host_call *call = vy_host_call_of(p, log->dispatch);
    const uint32_t last_write = f->of[p->insts.data[log->store].aux].last_write;
    uint32_t operand, number;
    const uint32_t i = parameter_of(f, log->dispatch, p->insts.data[pick].aux, &operand);
    if (!i || !operand || VY_IS_LEAF(operand) || call->pipeline || call->groups) return true;
    if (call->callee >= f->programs || p->insts.data[operand].op != VY_OP_LOAD) return true;
    if (operand < last_write || !vy_host_same_slice(p, operand, log->store)) return true;
    const undo_form *form = form_of(f, call->callee, i, &number);
    if (!form || !form->known) return form != NULL;
    log->form = number, log->load = operand;
    if (!vy_undo_has_shape(f->r, log) || !vy_undo_is_less(f->r, log)) log->form = log->load = 0;
    return true;
}

static bool note_store(finding *f, uint32_t id)
{
    const vy_program *p = f->r->p;
    const vy_inst *i = &p->insts.data[id];
    candidate *c = &f->of[i->aux];
    const uint32_t v = vy_arg(p, id, i->nargs - 1);
    undo_log log = {.store = id};
    if (!c->loaded && !f->r->facts.s.parent[id]) return true; // nothing reads what was there
    const bool result = !VY_IS_LEAF(v) && p->insts.data[v].op == VY_OP_PICK &&
                        f->r->facts.s.parent[v] == f->r->facts.s.parent[id];
    if (result && c->last_write < vy_arg(p, v, 0)) log.dispatch = vy_arg(p, v, 0);
    if (log.dispatch && !find_form(f, &log, v)) return false;
    c->partial |= log.form != 0;
    return vy_vec_push(&f->u->logs, log);
}

static bool note(finding *f, uint32_t id)
{
    const vy_inst *i = &f->r->p->insts.data[id];
    if (!vy_op_is_memory((vy_op)i->op)) return true;
    candidate *c = &f->of[i->aux];
    if (i->op == VY_OP_LOAD) {
        c->loaded = true;
        return true;
    }
    if (i->op == VY_OP_ZERO)
        c->refused |= f->r->facts.s.parent[id] != 0 || c->loaded;
    else if (i->op != VY_OP_STORE || !vy_undo_in_loops(f->r, id))
        c->refused = true;
    else if (!c->refused && !note_store(f, id))
        return false;
    c->last_write = id;
    return true;
}

// ---------------------------------------------------------------------------------------- together
static bool find_undoable(finding *f)
{
    const vy_program *p = f->r->p;
    f->of = vy_arena_alloc(&f->u->arena, p->buffers.count * sizeof *f->of);
    f->programs = f->r->out->programs.count;
    f->forms = vy_arena_alloc(&f->u->arena, (f->programs + (size_t)1) * sizeof *f->forms);
    if (!f->of || !f->forms) return false;
    for (uint32_t b = 1; b < p->buffers.count; b++) f->of[b].refused = !is_own(f->r, b);
    for (uint32_t id = 1; id < p->insts.count; id++)
        if (!note(f, id)) return false;
    for (uint32_t b = 1; b < p->buffers.count; b++)
        f->u->any |= f->of[b].partial && !f->of[b].refused;
    if (!f->u->any) return true;
    f->u->undone = vy_arena_alloc(&f->u->arena, p->buffers.count);
    for (uint32_t b = 1; f->u->undone && b < p->buffers.count; b++)
        f->u->undone[b] = f->of[b].partial && !f->of[b].refused;
    return f->u->undone && vy_undo_list(f->r);
}

bool vy_undo_find(reverse *r)
{
    finding f = {.r = r, .u = &r->plan.undo};
    if (!r->p->host || find_undoable(&f)) return true;
    vy_fail_oom(r->out); // unless the module has an earlier error
    r->failed = true;
    return false;
}
