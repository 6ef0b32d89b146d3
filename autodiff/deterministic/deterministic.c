// SPDX-License-Identifier: MIT
// deterministic.c: sums whose bits do not depend on the order in which invocations run.
//
//   program f_grad(x, idx, grad_x: out f32[M], …)      f_sums(x, idx, sums_grad_x: i32[M, 37])
//   { … atomic_add(grad_x[idx[i]], v); … }         →   { … integer atomics … }
//                                                      f_total_grad_x(sums_grad_x, grad_x: out
//                                                      f32[M])
//
// Float addition is not associative, so a sum by atomics has the order of arrival in its last bits.
// Here every such element gets an exact accumulator (exact_sum.c), which has the same bits in any
// order, and a second program rounds it once; or, where all invocations add to the same few
// elements, a term from each (ordered_partials.c).  Additions that the optimiser proved to be one
// invocation's own (ir/pass/sums/mark_owned.c) become plain ones first: their order is that of the
// program.
//
// Where the program also loads or stores what it adds to, the buffer stays, and the element's value
// is what the buffer holds plus the accumulator: a load adds the two, a store clears the
// accumulator.
//
// Runs on optimised programs: what a loop adds to one element is one term already
// (ir/pass/sums/promote_sums.c).
#include "ir/build/build.h"
#include "autodiff/deterministic/exact_sum.h"
#include "autodiff/grad.h"
#include "ir/core/pipe.h"
#include "autodiff/deterministic/ordering.h"
#include "autodiff/core/reverse.h"
#include "autodiff/stages/stages.h"
#include "autodiff/deterministic/sums.h"
#include "autodiff/reverse/sweeps.h"
#include "autodiff/storage/storage.h"

#include <string.h>

static void *table(vy_module *m, size_t count, size_t size)
{
    void *p = vy_realloc(NULL, (count + 1) * size);
    if (p) return memset(p, 0, (count + 1) * size);
    vy_fail_oom(m);
    return NULL;
}

// --------------------------------------------------------------------------------------- rewriting

// Declares the accumulators of buffer `id` of `p` in program `b`.
static vy_buffer declare(const vy_ordering *o, vy_builder *b, vy_buffer_class cls, uint32_t id,
                         const char *name)
{
    const vy_buf *of = &o->p->buffers.data[id];
    vy_dim dims[VY_MAX_RANK + 1];
    memcpy(dims, of->dims, of->rank * sizeof *dims);
    dims[of->rank] = vy_dim_const(b, vy_fixed_words(of->type));
    vy_buffer made = o->wide ? vy_wide_declare(o, b, cls, id, name)
                             : vy_param_buffer(b, name, cls, VY_I32, of->rank + 1, dims);
    if (cls == VY_INOUT) vy_buffer_workspace(b, made);
    return made;
}

static void add_plainly(vy_ordering *o, uint32_t id, const vy_value *at, vy_value v)
{
    const vy_inst *i = &o->p->insts.data[id];
    vy_buffer buf = {i->aux};
    vy_value sum = vy_add(o->b, vy_load(o->b, buf, at), v);
    vy_store(o->b, buf, at, sum);
}

static void add_term(vy_ordering *o, uint32_t id, const vy_value *at, uint32_t sum_rank,
                     const vy_value *sum_at, vy_value v)
{
    const uint32_t buffer = o->p->insts.data[id].aux;
    if (o->wide)
        vy_wide_add(o->b, o->sums[buffer], at, v, o->p->insts.data[id].flags);
    else if (vy_is_owned(o->p, id))
        add_plainly(o, id, at, v);
    else if (o->partials[buffer].on)
        vy_partial_add(o, buffer, at, v);
    else
        vy_fixed_add(o->b, o->sums[buffer], sum_rank, sum_at, v);
}

// The element: what the buffer holds (id 0: nothing) and the sum.
static vy_value element_of(const vy_ordering *o, vy_builder *b, vy_buffer sums, uint32_t rank,
                           const vy_value *at, vy_type t, vy_value held)
{
    if (o->wide) return vy_wide_total(b, sums, at, held);
    vy_value sum = vy_fixed_total(b, sums, rank, at, t);
    return held.id ? vy_add(b, held, sum) : sum;
}

static void copy(vy_ordering *o, uint32_t id)
{
    const vy_program *p = o->p;
    const vy_inst *i = &p->insts.data[id];
    bool memory = vy_op_is_memory((vy_op)i->op);
    bool adds = vy_adds_floats(p, id) && (!o->wide || o->use[i->aux]);
    vy_value at[VY_MAX_RANK + 1], sum_at[VY_MAX_RANK + 1], value = {0};
    if (vy_wide_cast(o, id)) return;
    if (!memory || (!o->use[i->aux] && !adds)) {
        vy_copy_inst(o->b, p, id, o->map);
        return;
    }
    uint32_t rank = p->buffers.data[i->aux].rank;
    bool whole = i->op == VY_OP_ZERO;
    for (uint32_t k = 0; k < rank && !whole; k++) at[k].id = vy_map(o->map, vy_arg(p, id, k));
    if (i->nargs > rank) value.id = vy_map(o->map, vy_arg(p, id, rank));
    vy_pass_at(o->b, p, id);
    vy_scope(o->b);
    uint32_t sum_rank = whole ? 0 : vy_shared_index(o, i->aux, at, sum_at);
    vy_type t = p->buffers.data[i->aux].type;
    if (adds) {
        add_term(o, id, at, sum_rank, sum_at, value);
    } else {
        vy_copy_inst(o->b, p, id, o->map);
        if (i->op == VY_OP_LOAD)
            o->map[id] =
                element_of(o, o->b, o->sums[i->aux], sum_rank, sum_at, t, (vy_value){o->map[id]})
                    .id;
        else if (whole)
            vy_shared_clear(o, id);
        else if (o->wide)
            vy_store(o->b, o->sums[i->aux], at, vy_zero(o->b, VY_F32));
        else
            vy_fixed_clear(o->b, o->sums[i->aux], sum_rank, sum_at, t);
    }
    vy_end(o->b);
}

// The program with its additions replaced.
static vy_program *rewrite(vy_ordering *o)
{
    char text[320];
    o->b = vy_rebuild_begin(o->p);
    if (!o->b) return NULL;
    for (uint32_t i = 1; i < o->p->buffers.count; i++) {
        if (!(o->use[i] & VY_USE_ADDED)) continue;
        const char *of = o->p->buffers.data[i].name;
        const char *name = vy_free_name(vy_builder_program(o->b), "sums", of, text);
        if (o->partials[i].on)
            vy_partial_declare(o, i);
        else if (o->p->buffers.data[i].cls == VY_SHARED)
            o->sums[i] = vy_shared_declare(o, i, name);
        else
            o->sums[i] = declare(o, o->b, VY_INOUT, i, name);
    }
    for (uint32_t id = 1; id < o->p->insts.count && !vy_builder_failed(o->b); id++) copy(o, id);
    vy_program *fresh = vy_rebuild_end(o->b);
    o->b = NULL;
    return fresh;
}

// ------------------------------------------------------------------------------------------ totals
// One invocation per element of `buffer`, whose axes become `at`.
static void element(vy_builder *b, uint32_t buffer, vy_value *at)
{
    const vy_buf of = b->p->buffers.data[buffer];
    vy_dim all = of.dims[0];
    for (uint32_t k = 1; k < of.rank; k++) all = vy_dim_binary(b, VY_DIM_MUL, all, of.dims[k]);
    vy_value e = vy_over(b, of.rank == 1 ? "i" : "e", all);
    for (uint32_t k = of.rank; k-- > 1;) {
        vy_value n = vy_len(b, (vy_buffer){buffer}, k);
        at[k] = vy_rem(b, e, n);
        e = vy_div(b, e, n);
    }
    at[0] = e;
}

// The program that adds the accumulators of buffer `id`, called `name`, to it.
static vy_program *total(vy_ordering *o, uint32_t id, const char *name)
{
    vy_builder *b = vy_total_begin(o, id, "total");
    if (!b) return NULL;
    const vy_buf *of = &o->p->buffers.data[id];
    vy_buffer g = {id};
    vy_value at[VY_MAX_RANK];
    vy_buffer sums = declare(o, b, VY_IN, id, name);
    element(b, id, at);
    vy_value held = vy_total_starts(o, id) ? (vy_value){0} : vy_load(b, g, at);
    vy_store(b, g, at, element_of(o, b, sums, of->rank, at, of->type, held));
    return vy_total_end(b);
}

// --------------------------------------------------------------------------------------- programs
// The programs that make the totals, behind the first; how many there are then.
static uint32_t make_totals(vy_ordering *o, vy_program **stages)
{
    uint32_t n = 1;
    for (uint32_t i = 1; i < o->p->buffers.count && vy_module_ok(o->m); i++) {
        const vy_buf *b = &o->p->buffers.data[i];
        if (!(o->use[i] & VY_USE_ADDED) || b->workspace || b->cls == VY_SHARED) continue;
        bool terms = o->partials[i].on;
        uint32_t kept = terms ? o->partials[i].terms.id : o->sums[i].id;
        const char *name = stages[0]->buffers.data[kept].name;
        if (terms)
            n += vy_partial_totals(o, i, name, stages + n);
        else if ((stages[n] = total(o, i, name)))
            n++;
    }
    return n;
}

// Does nobody but the whole program give a result its first contents?  What starts as ones or as a
// copy does so with a program that has it, used there or not; and what none of the stages writes is
// cleared by one that takes it.
static bool starts_results(const vy_ordering *o, const vy_program *p)
{
    for (uint32_t i = 1; i < o->p->buffers.count; i++) {
        const vy_buf *b = &p->buffers.data[i];
        bool written = o->use[i] & VY_USE_ADDED;
        if (b->cls != VY_OUT || b->workspace) continue;
        for (uint32_t id = 1; id < p->insts.count && !written; id++)
            written =
                vy_op_infos[p->insts.data[id].op].effect == VY_WRITE && p->insts.data[id].aux == i;
        if (b->init != VY_INIT_NONE || !written) return true;
    }
    return false;
}

// The first of several stages; what it takes as `out` none before it has written.
static bool finish_first(vy_ordering *o, const vy_program *whole, vy_program *p)
{
    p->name = vy_stage_name(o->m, whole->name, "sums");
    return p->name && vy_drop_unused(p, !starts_results(o, p)) && vy_drop_unused_scalars(p);
}

static bool make_stages(vy_ordering *o, vy_program *whole, vy_program **stages)
{
    if (!(stages[0] = rewrite(o))) return false;
    uint32_t n = make_totals(o, stages);
    vy_pass_context c = {0};
    if (vy_module_ok(o->m)) vy_pass_dead_arrays(stages[0], &c);
    bool ok = vy_module_ok(o->m) && (n == 1 || finish_first(o, whole, stages[0]));
    if (ok && n > 1) return vy_stages_replace(o->m, whole, stages, n);
    if (ok) { // all in memory of its own
        vy_program_replace(whole, stages[0]);
        return true;
    }
    while (n-- > 0) vy_program_free(stages[n]);
    return false;
}

static bool choose(vy_ordering *o)
{
    if (o->wide) {
        vy_wide_choose(o);
        return true;
    }
    return vy_find_additions(o) && vy_shared_choose(o);
}

bool vy_order_program(vy_module *m, vy_program *p, bool lean, const vy_wide_names *wide)
{
    vy_ordering o = {.m = m, .p = p, .lean = lean || wide, .wide = wide};
    o.use = table(m, p->buffers.count, sizeof *o.use);
    o.sums = table(m, p->buffers.count, sizeof *o.sums);
    o.partials = table(m, p->buffers.count, sizeof *o.partials);
    o.sliced = table(m, p->buffers.count, sizeof *o.sliced);
    o.map = table(m, p->insts.count, sizeof *o.map);
    vy_program **stages = table(m, 2 * p->buffers.count, sizeof *stages);
    bool ok = o.use && o.sums && o.partials && o.sliced && o.map && stages && choose(&o);
    bool any = o.owned;
    for (uint32_t i = 1; ok && i < p->buffers.count; i++) any |= o.use[i] != 0;
    if (ok && any && !vy_partial_choose(&o)) {
        vy_fail_oom(m);
        ok = false;
    }
    if (ok && any) ok = make_stages(&o, p, stages);
    vy_structure_free(&o.s);
    vy_arena_free(&o.arena);
    vy_free(o.use);
    vy_free(o.sums);
    vy_free(o.partials);
    vy_free(o.sliced);
    vy_free(o.map);
    vy_free(stages);
    return ok;
}
