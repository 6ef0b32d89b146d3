// SPDX-License-Identifier: MIT
// fuse_stages.c: two dispatches over one domain, one after the other, become one.
//
//   step_gather_u(k, adj_u[(T − t) % 2], adj_u[(T − 1 − t) % 2]);
//   step_gather_k(u[T − 1 − t], adj_u[(T − t) % 2], grad_k);
//       →   step_gather_u_k(k, adj_u[(T − t) % 2], adj_u[(T − 1 − t) % 2], u[T − 1 − t], grad_k);
//
// The derivative of a stage is several programs, which read the same adjoints, values and
// coefficients: one for each array that is summed up over its elements.  As one program they read
// them once, and what they compute of them is shared (share_arms.c).
//
// Allowed if each invocation sees what it saw before.  Memory that one of the two writes and the
// other one accesses is that of different slices, or both access the element of their own
// invocation only.  So no invocation depends on another one of the other program, and neither
// program may have anything that several invocations share: barriers, shared memory, subgroups.
//
// An intermediate that only passes a value from the first to the second is not needed any more.
//
// Worthwhile if both access a slice in common, and neither has loops: those are bound by what they
// compute, and want the registers.
#include "ir/build/edit.h"
#include "ir/core/flow.h"
#include "ir/core/pipe_slices.h"
#include "ir/host/fuse.h"
#include "ir/host/host_build.h"

#include <string.h>

enum {
    MOST_INSTRUCTIONS = 400, // of both; registers
    MOST_PARAMETERS = 12,    // bound by both; drivers allow few storage buffers
    MOST_MADE = 64,          // programs, for one pipeline: a driver compiles each
};

// A program that was made of two.
typedef struct made {
    vy_fused of;
    uint32_t program; // in the module
} made;

typedef struct stages {
    vy_module *m;
    vy_pipeline *l;
    vy_slices slices;
    uint8_t *plain; // by program of the module: 1: may be fused, 2: not, 0: not looked at
    uint32_t known; // programs that `plain` has room for
    uint8_t *gone;  // by step
    uint32_t *uses; // by buffer of the pipeline: how often steps name it
    uint8_t *keeps; // by buffer of the pipeline: no intermediate, or used otherwise, too
    made made[MOST_MADE];
    uint32_t made_count;
    vy_arena arena;
    bool any;
} stages;

// ------------------------------------------------------------------------------------ the programs
static bool is_plain(stages *w, uint32_t program)
{
    const vy_program *p = w->m->programs.data[program];
    if (program >= w->known) return true; // one that was made here
    if (!w->plain[program])
        w->plain[program] = p->insts.count <= MOST_INSTRUCTIONS && vy_fuse_allows(p) ? 1 : 2;
    return w->plain[program] == 1;
}

// -------------------------------------------------------------------------------------- the slices
static bool is_same_slice(const stages *w, const vy_pipe_arg *x, const vy_pipe_arg *y)
{
    if (x->buffer.id != y->buffer.id || x->rank != y->rank || x->flat || y->flat) return false;
    for (uint32_t k = 0; k < x->rank; k++)
        if (!vy_equal_dims(w->l->signature, x->index[k], y->index[k])) return false;
    return true;
}

// Do the forms of x and y differ by an amount that is no multiple of `by`?  0: that is not 0.
static bool is_apart(const stages *w, uint32_t x, uint32_t y, int64_t by)
{
    const vy_extent *form = w->slices.facts.form, a = form[x], b = form[y];
    if (a.base == VY_NO_BASE || a.base != b.base) return false;
    return by ? (a.offset - b.offset) % by != 0 : a.offset != b.offset;
}

static bool is_other_index(const stages *w, vy_dim x, vy_dim y)
{
    const vy_dim_node *a = &w->l->signature->dims.data[x.id],
                      *b = &w->l->signature->dims.data[y.id];
    int64_t by, same;
    if (is_apart(w, x.id, y.id, 0)) return true;
    // Indices are not negative, so equal remainders are of numbers a multiple apart.
    return a->op == VY_DIM_REM && b->op == VY_DIM_REM &&
           vy_slice_const(&w->slices, (vy_dim){a->b}, &by) &&
           vy_slice_const(&w->slices, (vy_dim){b->b}, &same) && by == same && by > 0 &&
           is_apart(w, a->a, b->a, by);
}

static bool is_other_memory(const stages *w, const vy_pipe_arg *x, const vy_pipe_arg *y)
{
    if (x->buffer.id != y->buffer.id) return true;
    for (uint32_t k = 0; k < x->rank && k < y->rank; k++)
        if (is_other_index(w, x->index[k], y->index[k])) return true;
    return false;
}

// ------------------------------------------------------------------------------- the two together
typedef struct pair {
    const vy_pipe_step *x, *y;
    const vy_program *a, *b;
    uint32_t *bound_a, *bound_b; // by argument: the buffer of the program
    uint32_t *buffers, *scalars; // see vy_fused
    uint8_t *local;              // likewise
    bool shares;                 // both access a slice (one of them may write it)
} pair;

static uint32_t *bound(stages *w, const vy_program *p, uint32_t count)
{
    uint32_t *list = vy_arena_room(&w->arena, count, sizeof *list), n = 0;
    for (uint32_t i = 1; list && i < p->buffers.count; i++)
        if (vy_pipe_binds(&p->buffers.data[i])) list[n++] = i;
    return list;
}

// Argument j of the second is the memory of argument i of the first, or part of it.
static bool may_meet(const stages *w, pair *q, uint32_t i, uint32_t j)
{
    const uint32_t u = q->bound_a[i], v = q->bound_b[j];
    const vy_buf *a = &q->a->buffers.data[u], *b = &q->b->buffers.data[v];
    const bool same = is_same_slice(w, &q->x->args[i], &q->y->args[j]);
    if (same && !q->buffers[v] && a->type == b->type && a->rank == b->rank) q->buffers[v] = u;
    if (a->cls == VY_IN && b->cls == VY_IN) {
        q->shares |= same;
        return true;
    }
    if (is_other_memory(w, &q->x->args[i], &q->y->args[j])) return true;
    q->shares |= same;
    // What is `out` in one program must not be read before it is written; stores of zeros to it may
    // have been dropped.
    if (a->cls == VY_OUT && b->cls != VY_OUT && !vy_fuse_writes(q->a, u)) return false;
    // `out` begins as zeros, which nothing sees if all of it is overwritten.
    return q->buffers[v] == u && (b->cls != VY_OUT || vy_fuse_overwrites(q->b, v)) &&
           vy_fuse_is_own(q->a, u) && vy_fuse_is_own(q->b, v);
}

static bool is_same_scalar(const stages *w, const vy_pipe_scalar *x, const vy_pipe_scalar *y)
{
    if (x->kind != y->kind) return false;
    if (x->kind == VY_PIPE_DIM) return vy_equal_dims(w->l->signature, x->dim, y->dim);
    return x->kind == VY_PIPE_PARAM ? x->scalar == y->scalar : x->value.u == y->value.u;
}

static void match_scalars(const stages *w, pair *q)
{
    for (uint32_t j = 0; j < q->b->scalars.count; j++)
        for (uint32_t i = 0; i < q->a->scalars.count && !q->scalars[j]; i++)
            if (q->a->scalars.data[i].type == q->b->scalars.data[j].type &&
                is_same_scalar(w, &q->x->scalars[i], &q->y->scalars[j]))
                q->scalars[j] = i + 1;
}

// Has dimension d of the second the value of dimension e of the first?
static bool is_same_dim(const pair *q, uint32_t e, uint32_t d, int depth)
{
    const vy_dim_node *x = &q->a->dims.data[e], *y = &q->b->dims.data[d];
    if (x->op != y->op || !depth) return false;
    if (x->op == VY_DIM_CONST) return x->value == y->value;
    if (x->op == VY_DIM_SCALAR) return q->scalars[y->value] == (uint32_t)x->value + 1;
    return is_same_dim(q, x->a, y->a, depth - 1) && is_same_dim(q, x->b, y->b, depth - 1);
}

static bool is_same_domain(const pair *q)
{
    enum { DEPTH = 8 };
    const vy_program *a = q->a, *b = q->b;
    if (a->overs.count != b->overs.count || a->exact != b->exact || a->fast_math != b->fast_math ||
        a->shader != b->shader || memcmp(a->workgroup, b->workgroup, sizeof a->workgroup) != 0)
        return false;
    for (uint32_t k = 0; k < a->overs.count; k++)
        if (!is_same_dim(q, a->overs.data[k].extent.id, b->overs.data[k].extent.id, DEPTH))
            return false;
    return true;
}

// Marks what only passes values from the first to the second.
static void find_local(const stages *w, pair *q)
{
    for (uint32_t j = 0; j < q->y->arg_count; j++) {
        const uint32_t v = q->bound_b[j], u = q->buffers[v], id = q->y->args[j].buffer.id;
        const vy_buf *b = &q->a->buffers.data[u];
        // Once in each.  Halves are rounded when stored; integers may be compared and exchanged;
        // an element that is out of range reads as zero.
        q->local[u] = u && vy_type_is_float(b->type) && b->cls == VY_OUT && !w->keeps[id] &&
                      w->uses[id] == 2 && vy_type_loaded(b->type) == b->type &&
                      vy_fuse_covers(q->a, u) && !vy_fuse_asks_length(q->a, u) &&
                      !vy_fuse_asks_length(q->b, v);
    }
}

static bool may_fuse(stages *w, pair *q)
{
    const uint32_t n = q->x->arg_count, m = q->y->arg_count;
    if (n + m > MOST_PARAMETERS || q->a->insts.count + q->b->insts.count > MOST_INSTRUCTIONS)
        return false;
    q->bound_a = bound(w, q->a, n);
    q->bound_b = bound(w, q->b, m);
    q->buffers = vy_arena_room(&w->arena, q->b->buffers.count, sizeof *q->buffers);
    q->scalars = vy_arena_room(&w->arena, q->b->scalars.count, sizeof *q->scalars);
    q->local = vy_arena_room(&w->arena, q->a->buffers.count, 1);
    if (w->arena.oom) return false;
    match_scalars(w, q);
    if (!is_same_domain(q)) return false;
    for (uint32_t i = 0; i < n; i++)
        for (uint32_t j = 0; j < m; j++)
            if (!may_meet(w, q, i, j)) return false;
    return q->shares;
}

// -------------------------------------------------------------------------------------- the steps
static bool is_same(const vy_fused *x, const vy_fused *y)
{
    const vy_program *a = x->first, *b = x->second;
    return a == y->first && b == y->second &&
           memcmp(x->buffers, y->buffers, b->buffers.count * sizeof *x->buffers) == 0 &&
           memcmp(x->scalars, y->scalars, b->scalars.count * sizeof *x->scalars) == 0 &&
           memcmp(x->local, y->local, a->buffers.count) == 0;
}

// The number of the program that is both; UINT32_MAX: none.
static uint32_t program_of(stages *w, const pair *q)
{
    const vy_fused f = {q->a, q->b, q->buffers, q->scalars, q->local};
    for (uint32_t k = 0; k < w->made_count; k++)
        if (is_same(&w->made[k].of, &f)) return w->made[k].program;
    if (w->made_count == MOST_MADE || !vy_fuse_programs(w->m, &f)) return UINT32_MAX;
    const uint32_t program = w->m->programs.count - 1;
    w->made[w->made_count++] = (made){f, program};
    return program;
}

// Makes `both` a dispatch of the fused program with the arguments of both.
static void dispatch_both(stages *w, const pair *q, vy_pipe_step *both, uint32_t program)
{
    const uint32_t n = q->x->arg_count, scalars = q->a->scalars.count;
    vy_arena *arena = &w->m->arena;
    vy_pipe_arg *args = vy_arena_alloc(arena, (n + q->y->arg_count) * sizeof *args);
    vy_pipe_scalar *all =
        vy_arena_alloc(arena, ((size_t)scalars + q->b->scalars.count + 1) * sizeof *all);
    const vy_program *p = w->m->programs.data[program];
    uint32_t count = 0, at = scalars;
    if (!args || !all) {
        w->arena.oom = true;
        return;
    }
    for (uint32_t i = 0; i < n; i++)
        if (!q->local[q->bound_a[i]]) args[count++] = q->x->args[i];
    for (uint32_t j = 0; j < q->y->arg_count; j++) {
        const uint32_t u = q->buffers[q->bound_b[j]], id = q->y->args[j].buffer.id;
        if (!u) args[count++] = q->y->args[j];
        if (u) w->uses[id] -= q->local[u] ? 2 : 1;
    }
    for (uint32_t k = 0; k < scalars; k++) all[k] = q->x->scalars[k];
    for (uint32_t k = 0; k < q->b->scalars.count; k++)
        if (!q->scalars[k]) all[at++] = q->y->scalars[k];
    for (uint32_t k = 0; k < at; k++) all[k].name = p->scalars.data[k].name;
    both->program = program;
    both->arg_count = count;
    both->args = args;
    both->scalars = all;
}

// Makes one step of x and y, at y, if that is right and pays.
static bool fuse(stages *w, const vy_pipe_step *x, vy_pipe_step *y)
{
    if (x->kind != VY_PIPE_DISPATCH || y->kind != VY_PIPE_DISPATCH || !is_plain(w, x->program) ||
        !is_plain(w, y->program))
        return false;
    pair q = {.x = x,
              .y = y,
              .a = w->m->programs.data[x->program],
              .b = w->m->programs.data[y->program]};
    if (!may_fuse(w, &q)) return false;
    find_local(w, &q);
    const uint32_t program = program_of(w, &q);
    if (program == UINT32_MAX) return false;
    vy_pipe_step both = *x;
    dispatch_both(w, &q, &both, program);
    *y = both;
    return w->any = true;
}

// May a dispatch before it run after it?  An intermediate that begins with nothing in it.
static bool is_passed(const stages *w, const vy_pipe_step *s)
{
    return s->kind == VY_PIPE_BUFFER &&
           w->l->signature->buffers.data[s->buffer.id].init == VY_INIT_NONE;
}

static void count_uses(stages *w)
{
    const vy_program *sig = w->l->signature;
    memset(w->keeps, 1, sig->buffers.count);
    for (uint32_t i = 0; i < w->l->steps.count; i++)
        if (w->l->steps.data[i].kind == VY_PIPE_BUFFER) w->keeps[w->l->steps.data[i].buffer.id] = 0;
    for (uint32_t i = 0; i < w->l->steps.count; i++) {
        const vy_pipe_step *s = &w->l->steps.data[i];
        if (s->kind == VY_PIPE_VALUE) w->keeps[s->buffer.id] = 1;
        if (s->kind == VY_PIPE_BUFFER && sig->buffers.data[s->buffer.id].init == VY_INIT_COPY) {
            w->keeps[s->buffer.id] = 1;
            w->keeps[vy_program_find_buffer(sig, sig->buffers.data[s->buffer.id].init_from).id] = 1;
        }
        for (uint32_t k = 0; s->kind == VY_PIPE_DISPATCH && k < s->arg_count; k++)
            w->uses[s->args[k].buffer.id]++;
    }
}

// Takes out the dispatches that are part of others, and intermediates that nothing uses.
static bool remove_steps(stages *w)
{
    const uint32_t buffers = w->l->signature->buffers.count;
    uint32_t *keep = vy_arena_room(&w->arena, buffers, sizeof *keep);
    if (!keep) return false;
    for (uint32_t b = 1; b < buffers; b++) keep[b] = w->keeps[b] || w->uses[b];
    for (uint32_t i = 0; i < w->l->steps.count; i++)
        if (w->l->steps.data[i].kind == VY_PIPE_BUFFER)
            w->gone[i] = !keep[w->l->steps.data[i].buffer.id];
    return vy_pipe_remove_steps(w->l, w->gone) &&
           vy_pipe_keep_buffers(w->l->signature, &w->l->steps, keep);
}

bool vy_host_fuse_stages(vy_module *m, uint32_t number)
{
    stages w = {.m = m, .l = m->pipelines.data[number], .known = m->programs.count};
    const uint32_t count = w.l->steps.count, buffers = w.l->signature->buffers.count;
    w.plain = vy_arena_room(&w.arena, w.known, 1);
    w.gone = vy_arena_room(&w.arena, count, 1);
    w.uses = vy_arena_room(&w.arena, buffers, sizeof *w.uses);
    w.keeps = vy_arena_room(&w.arena, buffers, 1);
    const bool ok = !w.arena.oom && vy_slices_make(&w.slices, w.l, &w.arena);
    if (ok) count_uses(&w);
    for (uint32_t i = 0, x = 0; ok && i < count && !w.arena.oom && vy_module_ok(m); i++) {
        if (i && is_passed(&w, &w.l->steps.data[i])) continue;
        if (i && fuse(&w, &w.l->steps.data[x], &w.l->steps.data[i])) w.gone[x] = 1;
        x = i;
    }
    if (ok && w.any && !w.arena.oom) w.arena.oom = !remove_steps(&w);
    if (!ok || w.arena.oom) vy_fail_oom(m);
    vy_arena_free(&w.arena);
    return vy_module_ok(m);
}
