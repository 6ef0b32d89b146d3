// SPDX-License-Identifier: MIT
// undo_form.c: the two programs with which the partial overwriting of a buffer is undone.
//
//   program walls(u: inout f32[N, N], g: in f32[N], N: u32) over(j: N)
//   {
//       u[0, j] = g[j];
//       u[N - 1, j] *= g[j];
//   }
//
//   program walls_log_u(u: in f32[N, N], log: out f32[2, N], N: u32) over(j: N)
//   {
//       log[0, j] = u[0, j];
//       log[1, j] = u[N - 1, j];
//   }
//   program walls_undo_u(u: inout f32[N, N], log: in f32[2, N], N: u32) over(j: N)
//   {
//       u[0, j] = log[0, j];
//       u[N - 1, j] = log[1, j];
//   }
//
// Both are the program itself, in which each store to u is replaced by what moves the same element
// to or from the log, and all other writes are left out.  So the log has an element for each store,
// invocation (but see undo_pinned.c) and iteration; it is taken before the program runs, hence an
// element that one invocation overwrites twice has its old contents in both places; and undoing
// writes the elements that the program wrote, by the same invocations, so it has no race that the
// program had not.
//
// Where the elements that are written depend on memory, which may have changed until they are
// undone, there is no such form.  That is found by building: the program that undoes must load
// nothing but its log.
#include "autodiff/facts/trip_bound.h"
#include "autodiff/reverse/sweeps.h"
#include "autodiff/reverse/undo.h"
#include "ir/build/build.h"
#include "ir/build/rewrite.h"
#include "ir/check/check.h"
#include "ir/core/pipe.h"
#include "ir/pass/pass.h"

#include <stdio.h>
#include <string.h>

typedef struct forming {
    vy_rewrite w;
    uint32_t buffer; // of the callee
    uint32_t log;    // of the program being built
    bool undo;
    uint32_t *site; // by STORE to the buffer: + 1, its number
    uint32_t sites;
    uint32_t loops[VY_MAX_RANK], depth; // around all of them, innermost first
    bool pinned[VY_MAX_RANK];           // by domain variable: it has one value where the stores are
    bool numbered;                      // the log has an axis for the sites
    uint32_t *uses;
} forming;

// ------------------------------------------------------------------------------------------- sites
// The loops around a store, which are axes of the log.  False: not all of them can be.
static bool find_loops(const forming *f, uint32_t store, uint32_t *loops, uint32_t *depth)
{
    const vy_program *p = f->w.p;
    *depth = 0;
    for (uint32_t up = f->w.s.parent[store]; up; up = f->w.s.parent[up]) {
        const vy_op op = (vy_op)p->insts.data[up].op;
        if (!vy_is_loop(op)) continue;
        if (op == VY_OP_WHILE || *depth + p->overs.count + 2 > VY_MAX_RANK) return false;
        loops[(*depth)++] = up;
    }
    return true;
}

static bool same_loops(const forming *f, const uint32_t *loops, uint32_t depth)
{
    bool same = depth == f->depth;
    for (uint32_t k = 0; same && k < depth; k++) same = loops[k] == f->loops[k];
    return same;
}

// All writes to the buffer are stores, in the same loops.
static bool find_sites(forming *f)
{
    const vy_program *p = f->w.p;
    uint32_t loops[VY_MAX_RANK], depth;
    for (uint32_t id = 1; id < p->insts.count; id++) {
        const vy_inst *i = &p->insts.data[id];
        if (!vy_op_is_memory((vy_op)i->op) || i->aux != f->buffer || i->op == VY_OP_LOAD) continue;
        if (i->op != VY_OP_STORE || !find_loops(f, id, loops, &depth)) return false;
        if (!f->sites)
            for (f->depth = 0; f->depth < depth; f->depth++) f->loops[f->depth] = loops[f->depth];
        if (!same_loops(f, loops, depth)) return false;
        f->site[id] = ++f->sites;
    }
    return f->sites > 0;
}

// Which axes the log has.
static void choose_axes(forming *f)
{
    const vy_program *p = f->w.p;
    bool any = f->depth > 0;
    for (uint32_t k = 0; k < p->overs.count; k++) {
        f->pinned[k] = true;
        for (uint32_t id = 1; f->pinned[k] && id < p->insts.count; id++)
            if (f->site[id]) f->pinned[k] = vy_undo_is_pinned(p, &f->w.s, id, k);
        any |= !f->pinned[k];
    }
    f->numbered = f->sites > 1 || !any;
}

// ----------------------------------------------------------------------------------------- the log
static bool is_name_taken(const vy_program *p, const char *name)
{
    for (uint32_t k = 0; k < p->overs.count; k++)
        if (strcmp(p->overs.data[k].name, name) == 0) return true;
    return vy_program_find_buffer(p, name).id || vy_program_find_scalar(p, name) != UINT32_MAX;
}

// Of an element for each store, invocation that gets there, and iteration.  False: nothing bounds a
// loop, or an error.
static bool declare_log(forming *f)
{
    const vy_program *p = f->w.p;
    vy_dim dims[VY_MAX_RANK + 1];
    uint32_t rank = 0;
    vy_lows lows;
    char name[24] = "log";
    if (!vy_lows_make(&lows, p, &f->w.s, &f->w.arena)) return !(f->w.oom = true);
    const vy_bounds bounds = {.p = p, .lows = &lows, .b = f->w.b};
    if (f->numbered) dims[rank++] = vy_dim_const(f->w.b, f->sites);
    for (uint32_t k = 0; k < p->overs.count; k++)
        if (!f->pinned[k]) dims[rank++] = vy_dim_natural(f->w.b, p->overs.data[k].extent);
    for (uint32_t k = f->depth; k-- > 0; rank++)
        if (!(dims[rank] = vy_trip_bound(&bounds, f->loops[k])).id) return false;
    for (uint32_t k = 2; is_name_taken(p, name); k++) snprintf(name, sizeof name, "log_%u", k);
    const vy_type type = p->buffers.data[f->buffer].type;
    f->log = vy_build_buffer(f->w.b, name, f->undo ? VY_IN : VY_OUT, type, rank, dims).id;
    return f->log != 0;
}

// The element of the log for the store; returns the rank.
static uint32_t log_index(forming *f, uint32_t store, uint32_t *index)
{
    const vy_program *p = f->w.p;
    uint32_t rank = 0;
    if (f->numbered) index[rank++] = vy_int(f->w.b, VY_U32, f->site[store] - 1).id;
    for (uint32_t k = 0; k < p->overs.count; k++)
        if (!f->pinned[k]) index[rank++] = vy_leaf_other(f->w.b, VY_LEAF_OVER, VY_U32, k, 0);
    for (uint32_t k = f->depth; k-- > 0;) {
        const uint32_t loop = f->loops[k];
        const vy_value now = {vy_new(&f->w, loop)}, from = {vy_new_arg(&f->w, loop, 0)};
        const vy_value step = {vy_new_arg(&f->w, loop, 2)};
        const vy_type u = vy_iteration_type((vy_type)p->insts.data[loop].type);
        index[rank++] = vy_iteration_number(f->w.b, u, now, from, step).id;
    }
    return rank;
}

// ------------------------------------------------------------------------------------ the programs
static void move_element(forming *f, uint32_t store)
{
    const vy_program *p = f->w.p;
    const uint32_t rank = p->buffers.data[f->buffer].rank;
    const vy_type type = vy_type_loaded(p->buffers.data[f->buffer].type);
    uint32_t element[VY_MAX_RANK + 1], place[VY_MAX_RANK + 1];
    vy_rewrite_at(&f->w, store);
    vy_new_args(&f->w, store, rank, element);
    const uint32_t n = log_index(f, store, place);
    if (f->undo) {
        element[rank] = vy_emit(f->w.b, VY_OP_LOAD, type, f->log, n, place);
        vy_emit(f->w.b, VY_OP_STORE, VY_VOID, f->buffer, rank + 1, element);
    } else {
        place[n] = vy_emit(f->w.b, VY_OP_LOAD, type, f->buffer, rank, element);
        vy_emit(f->w.b, VY_OP_STORE, VY_VOID, f->log, n + 1, place);
    }
}

static uint32_t instead(void *pass, uint32_t id)
{
    forming *f = pass;
    const vy_inst *i = &f->w.p->insts.data[id];
    const vy_effect effect = vy_op_infos[i->op].effect;
    if (f->site[id]) {
        move_element(f, id);
        return id;
    }
    return (effect == VY_WRITE || effect == VY_CONV) && !f->uses[id] ? id : 0;
}

// Is what is left in the program nothing but moves between the two, by the domain alone?
static bool is_move(const forming *f, const vy_program *p)
{
    const uint32_t from = f->undo ? f->log : f->buffer, to = f->undo ? f->buffer : f->log;
    for (uint32_t id = 1; id < p->insts.count; id++) {
        const vy_inst *i = &p->insts.data[id];
        if (vy_op_infos[i->op].effect == VY_CONV) return false;
        if (!vy_op_is_memory((vy_op)i->op)) continue;
        if (i->op == VY_OP_LOAD ? i->aux != from : i->op != VY_OP_STORE || i->aux != to)
            return false;
        for (uint32_t k = 0; i->op == VY_OP_STORE && k + 1 < i->nargs; k++) {
            const uint32_t a = vy_arg(p, id, k);
            if (!VY_IS_LEAF(a) && p->insts.data[a].op == VY_OP_LOAD) return false;
        }
    }
    return !vy_uses_leaf(p, VY_LEAF_BUILTIN);
}

// Are the buffer and its log all that a dispatch binds?
static bool binds_two(const vy_program *p)
{
    uint32_t n = 0;
    for (uint32_t i = 1; i < p->buffers.count; i++) n += vy_pipe_binds(&p->buffers.data[i]);
    return n == 2 && p->buffers.count == 3;
}

// Gives the program its own head, and drops what it does not need.
static bool settle(forming *f, vy_program *p)
{
    vy_pass_context c = {0};
    if (!vy_pass_cleanup(p, &c) || !vy_pass_dce(p, &c) || !vy_pass_cleanup(p, &c)) return false;
    if (!is_move(f, p)) return false;
    vy_buf *b = &p->buffers.data[f->buffer];
    b->cls = f->undo ? VY_INOUT : VY_IN;
    b->owned &= f->undo;
    memset(p->rules, 0, sizeof p->rules);
    p->stem = NULL;
    p->gathers = p->exact_sums = false;
    for (uint32_t i = 1; i < p->buffers.count; i++)
        p->buffers.data[i].role = (vy_derivative_role){0};
    return vy_drop_unused(p, VY_DROP_ALL) && vy_drop_unused_scalars(p) && binds_two(p) &&
           vy_check_program(p);
}

static vy_program *make(const vy_program *callee, uint32_t buffer, bool undo)
{
    forming f = {.buffer = buffer, .undo = undo};
    bool ok = vy_rewrite_begin(&f.w, (vy_program *)callee);
    f.site = ok ? vy_rewrite_ids(&f.w) : NULL;
    f.uses = f.site ? vy_rewrite_uses(&f.w) : NULL;
    ok = f.uses != NULL;
    if (ok && find_sites(&f) && vy_rewrite_open(&f.w)) {
        choose_axes(&f);
        if (declare_log(&f))
            vy_rewrite_range(&f.w, 1, callee->insts.count, instead, &f);
        else if (!vy_rewrite_stopped(&f.w))
            vy_rewrite_drop(&f.w);
    }
    vy_program *p = vy_rewrite_take(&f.w, ok);
    if (p && settle(&f, p)) return p;
    vy_program_free(p);
    return NULL;
}

// ----------------------------------------------------------------------------------- in the module
static bool add(vy_module *m, vy_program *p, const char *callee, const char *what,
                const char *buffer)
{
    char text[300];
    int n = snprintf(text, 280, "%.180s_%s_%.80s", callee, what, buffer);
    for (uint32_t k = 2; vy_module_find(m, text) || vy_module_find_pipeline(m, text); k++)
        snprintf(text + n, sizeof text - (size_t)n, "_%u", k);
    p->name = vy_arena_strdup(&m->arena, text, strlen(text));
    if (p->name && vy_vec_push(&m->programs, p)) return true;
    vy_program_free(p);
    vy_fail_oom(m);
    return false;
}

bool vy_undo_form_make(vy_module *m, undo_form *form)
{
    const vy_program *callee = m->programs.data[form->callee];
    const char *name = callee->name, *buffer = callee->buffers.data[form->buffer].name;
    const vy_diag before = m->diag;
    const uint64_t failures = vy_memory_failures();
    vy_program *undo = make(callee, form->buffer, true);
    vy_program *log = undo ? make(callee, form->buffer, false) : NULL;
    if (!log) { // no form, which is no error
        vy_program_free(undo);
        if (vy_memory_failures() == failures) m->diag = before;
        return vy_module_ok(m);
    }
    if (!add(m, log, name, "log", buffer)) {
        vy_program_free(undo);
        return false;
    }
    form->log = m->programs.count - 1;
    if (!add(m, undo, name, "undo", buffer)) return false;
    form->undo = m->programs.count - 1;
    form->known = true;
    return true;
}
