// SPDX-License-Identifier: MIT
// undo_worth.c: is it worth to undo a buffer?  Only if its logs are smaller than the copies that
// the reverse sweep would need otherwise, and something reads what was written: else the dispatch
// would be executed only to be undone.
//
// Both are counted in elements, with NOMINAL for each extent and trip count that is not constant:
// logs of all its stores, on the one hand; on the other what the program just built loads from the
// buffer where it is being undone, each slice of which would be a tape, or a copy.  (Of tapes the
// driver knows more: it compares them all with those of a build that undoes nothing.)
#include "autodiff/reverse/undo.h"
#include "autodiff/storage/storage.h"
#include "ir/core/dims.h"
#include "ir/core/flow.h"
#include "ir/core/host.h"

enum { NOMINAL = 1000 };

static double value_of(const vy_program *p, uint32_t dim, uint32_t depth)
{
    enum { DEEP = 32 };
    const vy_dim_node *d = &p->dims.data[dim];
    if (d->op == VY_DIM_CONST) return (double)d->value;
    if (d->op < VY_DIM_ADD || depth > DEEP) return NOMINAL;
    const double a = value_of(p, d->a, depth + 1), b = value_of(p, d->b, depth + 1);
    int64_t value;
    const bool small = a < 1e9 && b < 1e9;
    return small && vy_dim_combine(d->op, (int64_t)a, (int64_t)b, &value) ? (double)value : NOMINAL;
}

// Elements of the slice of a buffer that has `leading` indices.
static double elements(const vy_program *p, const vy_buf *b, uint32_t leading)
{
    double n = 1;
    for (uint32_t k = leading; k < b->rank; k++) n *= value_of(p, b->dims[k].id, 0);
    return n;
}

static double trips(const vy_program *p, const vy_structure *s, uint32_t id)
{
    double n = 1;
    uint64_t constant;
    for (uint32_t up = s->parent[id]; up; up = s->parent[up])
        if (vy_is_loop((vy_op)p->insts.data[up].op))
            n *= vy_constant_trips(p, up, &constant) ? (double)constant : NOMINAL;
    return n;
}

// Elements of the slice that is written, and of the log of it.
static double slice_elements(const reverse *r, const undo_log *log)
{
    const vy_inst *i = &r->p->insts.data[log->store];
    return elements(r->p, &r->p->buffers.data[i->aux], i->nargs - 1);
}

static double log_elements(const reverse *r, const undo_log *log)
{
    if (!log->form) return slice_elements(r, log);
    const undo_form *f = &r->plan.undo.forms.data[log->form - 1];
    return elements(r->out->programs.data[f->log], vy_undo_declared(r, log), 0);
}

bool vy_undo_is_less(const reverse *r, const undo_log *log)
{
    return log_elements(r, log) < slice_elements(r, log);
}

double vy_undo_tapes(const vy_program *p)
{
    double n = 0;
    for (uint32_t i = 1; i < p->buffers.count; i++)
        if (p->buffers.data[i].made == VY_MADE_TAPE) n += elements(p, &p->buffers.data[i], 0);
    return n;
}

// By buffer: what its logs are, and what they save.
typedef struct worth {
    double logs, saved;
    uint32_t
        logged; // of the program built: the first dispatch that logs what is overwritten; 0: none
    uint32_t stored; // of the program built: the first store behind it
    uint32_t since;  // of the program built: where undoing begins; 0: nowhere
    bool read;       // is what was written instead?  Else nothing but undoing needs the dispatch.
} worth;

static uint32_t outermost(const vy_structure *s, uint32_t id)
{
    while (s->parent[id]) id = s->parent[id];
    return id;
}

typedef struct weighing {
    const reverse *r;
    const vy_program *p; // just built
    vy_structure s;      // of p
    vy_arena arena;
    worth *of;
    uint8_t *logs, *undoes; // by program of the module
    uint8_t *used;          // by instruction of p: by something else than what undoes
} weighing;

static bool begin_weighing(weighing *w)
{
    const undo_plan *u = &w->r->plan.undo;
    w->of = vy_arena_alloc(&w->arena, w->p->buffers.count * sizeof *w->of);
    w->logs = vy_arena_alloc(&w->arena, w->r->out->programs.count);
    w->undoes = vy_arena_alloc(&w->arena, w->r->out->programs.count);
    w->used = vy_arena_alloc(&w->arena, w->p->insts.count);
    if (!w->of || !w->logs || !w->undoes || !w->used || !vy_structure_make(w->p, &w->s))
        return false;
    for (uint32_t k = 0; k < u->forms.count; k++)
        if (u->forms.data[k].known)
            w->logs[u->forms.data[k].log] = w->undoes[u->forms.data[k].undo] = 1;
    return true;
}

static bool dispatches(const weighing *w, uint32_t id, const uint8_t *which)
{
    if (w->p->insts.data[id].op != VY_OP_DISPATCH) return false;
    const vy_host_call *c = vy_host_call_of(w->p, id);
    return !c->pipeline && which[c->callee];
}

static bool is_undoing(const weighing *w, uint32_t id) { return dispatches(w, id, w->undoes); }

static void mark_used(weighing *w)
{
    for (uint32_t id = 1; id < w->p->insts.count; id++)
        for (uint32_t k = is_undoing(w, id) || dispatches(w, id, w->logs) ? 1 : 0;
             k < w->p->insts.data[id].nargs; k++)
            if (!VY_IS_LEAF(vy_arg(w->p, id, k))) w->used[vy_arg(w->p, id, k)] = 1;
}

static void note_logged(weighing *w, uint32_t id)
{
    for (uint32_t k = 0; k < w->p->insts.data[id].nargs; k++) {
        const uint32_t v = vy_arg(w->p, id, k);
        if (VY_IS_LEAF(v) || w->p->insts.data[v].op != VY_OP_LOAD) continue;
        worth *of = &w->of[w->p->insts.data[v].aux];
        if (!of->logged) of->logged = id;
    }
}

// Where the first log of each buffer is taken, and what it is of is stored.
static void find_logged(weighing *w)
{
    for (uint32_t id = 1; id < w->p->insts.count; id++) {
        const vy_inst *i = &w->p->insts.data[id];
        if (dispatches(w, id, w->logs)) note_logged(w, id);
        if (i->op == VY_OP_STORE && w->of[i->aux].logged && !w->of[i->aux].stored)
            w->of[i->aux].stored = id;
    }
}

// Does load `id` read what has been overwritten, before that is undone?
static bool reads_new(const weighing *w, const worth *of, uint32_t id)
{
    if (!of->stored || (of->since && id >= of->since)) return false;
    const uint32_t around = outermost(&w->s, of->stored);
    return id > (around == of->stored ? of->stored : around);
}

static void find_since(weighing *w)
{
    for (uint32_t id = 1; id < w->p->insts.count; id++) {
        const vy_inst *i = &w->p->insts.data[id];
        if (i->op != VY_OP_STORE || w->of[i->aux].since) continue;
        const uint32_t v = vy_arg(w->p, id, i->nargs - 1);
        const bool result = !VY_IS_LEAF(v) && w->p->insts.data[v].op == VY_OP_PICK;
        if (result && is_undoing(w, vy_arg(w->p, v, 0))) w->of[i->aux].since = outermost(&w->s, id);
    }
}

static void weigh(weighing *w)
{
    const undo_plan *u = &w->r->plan.undo;
    mark_used(w);
    find_logged(w);
    find_since(w);
    for (uint32_t id = 1; id < w->p->insts.count; id++) {
        const vy_inst *i = &w->p->insts.data[id];
        if (i->op != VY_OP_LOAD || !w->used[id]) continue;
        const vy_buf *b = &w->p->buffers.data[i->aux];
        worth *of = &w->of[i->aux];
        of->read |= reads_new(w, of, id);
        if (of->since && id >= of->since)
            of->saved += elements(w->p, b, i->nargs) * trips(w->p, &w->s, id);
    }
    for (uint32_t k = 0; k < u->logs.count; k++) {
        const undo_log *log = &u->logs.data[k];
        const uint32_t b = w->r->p->insts.data[log->store].aux;
        if (u->log[log->store])
            w->of[w->r->build.buffers[b].copy].logs +=
                log_elements(w->r, log) * trips(w->r->p, &w->r->facts.s, log->store);
    }
}

bool vy_undo_settle(reverse *r, const vy_program *p)
{
    undo_plan *u = &r->plan.undo;
    weighing w = {.r = r, .p = p};
    bool changed = false;
    if (!u->any) return false;
    bool ok = begin_weighing(&w);
    if (ok) weigh(&w);
    for (uint32_t b = 1; ok && b < r->p->buffers.count; b++) {
        const worth *of = &w.of[r->build.buffers[b].copy];
        if (!u->undone[b] || (of->logs < of->saved && of->read)) continue;
        u->undone[b] = 0;
        changed = true;
    }
    ok = ok && (!changed || vy_undo_list(r));
    vy_structure_free(&w.s);
    vy_arena_free(&w.arena);
    if (ok) return changed;
    vy_fail_oom(r->out);
    r->failed = true;
    return false;
}
