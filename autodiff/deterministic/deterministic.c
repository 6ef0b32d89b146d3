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
// (ir/pass/sums/promote.c).
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

// --------------------------------------------------------------------------------------- rewriting

// Declares what buffer `id` of `p` is added up in, in program `b`.
static vy_buffer declare_accumulator(const vy_ordering *o, vy_builder *b, vy_buffer_class cls,
                                     uint32_t id, const char *name)
{
    const vy_buffer made =
        o->wide ? vy_wide_declare(o, b, cls, id, name) : vy_sums_declare(o, b, cls, id, name);
    if (cls == VY_INOUT) vy_buffer_workspace(b, made);
    vy_builder_program(b)->buffers.data[made.id].made = VY_MADE_SUMS; // [0] after an error
    return made;
}

// Of the invocation's own element, whose old value has a use that depends on no other invocation.
static void add_plainly(vy_ordering *o, uint32_t id, const vy_value *at, vy_value v)
{
    const vy_buffer buf = {o->w.p->insts.data[id].aux};
    const vy_value old = vy_load(o->w.b, buf, at);
    vy_store(o->w.b, buf, at, vy_add(o->w.b, old, v));
    o->w.map[id] = old.id;
}

// The same in a wide sum, beside which the buffer holds what it began with.
static void add_widely(vy_ordering *o, uint32_t id, const vy_value *at, vy_value v)
{
    const uint32_t buffer = o->w.p->insts.data[id].aux;
    const bool owned = vy_strength_of(o->w.p, id) >= VY_STRENGTH_OWNED;
    const vy_value held = owned ? vy_load(o->w.b, (vy_buffer){buffer}, at) : (vy_value){0};
    if (owned) o->w.map[id] = vy_wide_total(o->w.b, o->sums[buffer], at, held).id;
    vy_wide_add(o->w.b, o->sums[buffer], at, v, owned);
}

static void add_term(vy_ordering *o, uint32_t id, const vy_value *at, vy_value v)
{
    const uint32_t buffer = o->w.p->insts.data[id].aux;
    const bool owned = vy_strength_of(o->w.p, id) >= VY_STRENGTH_OWNED;
    if (o->wide) {
        add_widely(o, id, at, v);
    } else if (owned) {
        add_plainly(o, id, at, v);
    } else if (o->partials[buffer].on) {
        vy_partial_add(o, buffer, at, v);
    } else {
        const vy_sum_place place = vy_sums_at(o, buffer, at);
        vy_fixed_add(o->w.b, &place, v);
    }
}

// The element: what the buffer holds (id 0: nothing) and the sum.
static vy_value element_of(const vy_ordering *o, vy_builder *b, const vy_sum_place *place,
                           const vy_value *at, vy_type t, vy_value held)
{
    if (o->wide) return vy_wide_total(b, place->sums, at, held);
    vy_value sum = vy_fixed_total(b, place, t);
    return held.id ? vy_add(b, held, sum) : sum;
}

// A load of, a store to or a clear of what is also added to, at `at`.
static void copy_plain(vy_ordering *o, uint32_t id, const vy_value *at)
{
    const vy_inst *i = &o->w.p->insts.data[id];
    const uint32_t buffer = i->aux;
    const vy_type t = o->w.p->buffers.data[buffer].type;
    const bool loads = i->op == VY_OP_LOAD, clears = i->op == VY_OP_ZERO;
    vy_rewrite_copy(&o->w, id);
    if (clears) {
        vy_shared_clear(o, id);
        return;
    }
    const vy_sum_place place =
        o->wide ? (vy_sum_place){.sums = o->sums[buffer]} : vy_sums_at(o, buffer, at);
    if (loads)
        o->w.map[id] = element_of(o, o->w.b, &place, at, t, (vy_value){o->w.map[id]}).id;
    else if (o->wide)
        vy_store(o->w.b, place.sums, at, vy_zero(o->w.b, VY_F32));
    else
        vy_fixed_clear(o->w.b, &place, t);
}

static uint32_t replace_addition(void *pass, uint32_t id)
{
    vy_ordering *o = pass;
    const vy_program *p = o->w.p;
    const vy_inst *i = &p->insts.data[id];
    bool memory = vy_op_is_memory((vy_op)i->op), clears = i->op == VY_OP_ZERO;
    bool adds = vy_adds_floats(p, id) && (!o->wide || o->use[i->aux]);
    vy_value at[VY_MAX_RANK + 1];
    if (vy_wide_cast(o, id)) return id;
    if (!memory || (!o->use[i->aux] && !adds)) return 0;
    if (!adds && vy_op_is_atomic((vy_op)i->op)) return 0; // of elements that nothing is added to
    uint32_t rank = p->buffers.data[i->aux].rank;
    for (uint32_t k = 0; k < rank && !clears; k++) at[k].id = vy_new_arg(&o->w, id, k);
    vy_rewrite_at(&o->w, id);
    vy_scope(o->w.b);
    if (adds)
        add_term(o, id, at, (vy_value){vy_new_arg(&o->w, id, rank)});
    else
        copy_plain(o, id, at);
    vy_end(o->w.b);
    return id;
}

// Makes the program with its additions replaced.
static void replace_additions(vy_ordering *o)
{
    char text[320];
    const vy_program *p = o->w.p;
    if (!vy_rewrite_open(&o->w)) return;
    for (uint32_t i = 1; i < p->buffers.count; i++) {
        if (!(o->use[i] & VY_USE_ADDED)) continue;
        const char *of = p->buffers.data[i].name;
        const char *name = vy_free_name(vy_builder_program(o->w.b), "sums", of, text);
        if (o->partials[i].on)
            vy_partial_declare(o, i);
        else if (p->buffers.data[i].cls == VY_SHARED)
            o->sums[i] = vy_shared_declare(o, i, name);
        else
            o->sums[i] = declare_accumulator(o, o->w.b, VY_INOUT, i, name);
    }
    vy_rewrite_range(&o->w, 1, p->insts.count, replace_addition, o);
}

// ------------------------------------------------------------------------------------------ totals
// One invocation per element of `buffer`, whose axes become `at`.  Its number.
static vy_value element(vy_builder *b, uint32_t buffer, vy_value *at)
{
    const vy_buf of = b->p->buffers.data[buffer];
    vy_dim all = of.dims[0];
    for (uint32_t k = 1; k < of.rank; k++) all = vy_dim_binary(b, VY_DIM_MUL, all, of.dims[k]);
    vy_value e = vy_over(b, of.rank == 1 ? "i" : "e", all);
    vy_split_index(b, (vy_buffer){buffer}, of.rank, e, at);
    return e;
}

// The program that adds the accumulators of buffer `id`, which are `kept`, to it.
static vy_program *total(vy_ordering *o, uint32_t id, const vy_buf *kept)
{
    vy_builder *b = vy_total_begin(o, id, "total");
    if (!b) return NULL;
    const vy_buf *of = &o->w.p->buffers.data[id];
    vy_buffer g = {id};
    vy_value at[VY_MAX_RANK];
    vy_buffer sums = declare_accumulator(o, b, VY_IN, id, kept->name);
    vy_builder_program(b)->buffers.data[sums.id].link = kept->link;
    const vy_value e = element(b, id, at);
    const vy_sum_place place =
        o->wide ? (vy_sum_place){.sums = sums} : vy_sums_of(o, b, sums, id, e, at);
    vy_value held = vy_total_starts(o, id) ? (vy_value){0} : vy_load(b, g, at);
    vy_store(b, g, at, element_of(o, b, &place, at, of->type, held));
    return vy_total_end(b);
}

// --------------------------------------------------------------------------------------- programs
// Does the program access a buffer?  What is added may have turned out to be constant zero.
static bool accesses(const vy_program *p, uint32_t buffer)
{
    for (uint32_t id = 1; id < p->insts.count; id++) {
        const vy_inst *i = &p->insts.data[id];
        if (vy_op_is_memory((vy_op)i->op) && i->aux == buffer) return true;
    }
    return false;
}

// Makes the programs of the totals, after stages[0].  Returns how many stages there are then.
static uint32_t make_totals(vy_ordering *o, vy_program **stages)
{
    uint32_t n = 1;
    for (uint32_t i = 1; i < o->w.p->buffers.count && vy_module_ok(o->m); i++) {
        const vy_buf *b = &o->w.p->buffers.data[i];
        if (!(o->use[i] & VY_USE_ADDED) || b->workspace || b->cls == VY_SHARED) continue;
        bool terms = o->partials[i].on;
        uint32_t own = terms ? o->partials[i].terms.id : o->sums[i].id;
        const vy_buf *kept = &stages[0]->buffers.data[own];
        if (!terms && !accesses(stages[0], own))
            o->use[i] = 0; // no stage writes it
        else if (terms)
            n += vy_partial_totals(o, i, kept, stages + n);
        else if ((stages[n] = total(o, i, kept)))
            n++;
    }
    return n;
}

// Does the first stage have to initialise a result?  What starts as ones or as a copy is
// initialised by a stage that has it as a parameter, used there or not; and what no stage writes is
// cleared by one that has it.
static bool starts_results(const vy_ordering *o, const vy_program *p)
{
    for (uint32_t i = 1; i < o->w.p->buffers.count; i++) {
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

// Names the first of several stages and drops parameters that it does not need; no earlier stage
// has written what it has as `out`.
static bool finish_first(vy_ordering *o, const vy_program *whole, vy_program *p)
{
    p->name = vy_stage_name(o->m, whole, "sums");
    return p->name && vy_drop_unused(p, starts_results(o, p) ? VY_DROP_MADE : VY_DROP_ALL) &&
           vy_drop_unused_scalars(p);
}

// stages[0] is made already.
static bool make_stages(vy_ordering *o, vy_program *whole, vy_program **stages)
{
    uint32_t n = make_totals(o, stages);
    vy_pass_context c = {0};
    if (vy_module_ok(o->m)) vy_pass_dead_arrays(stages[0], &c);
    bool ok = vy_module_ok(o->m) &&
              (n > 1 ? finish_first(o, whole, stages[0]) : vy_drop_unused(stages[0], VY_DROP_MADE));
    if (ok && n > 1) return vy_stages_replace(o->m, whole, stages, n);
    if (ok) { // all sums are in memory of the program's own
        vy_program_replace(whole, stages[0]);
        return true;
    }
    while (n-- > 0) vy_program_free(stages[n]);
    return false;
}

static bool choose_additions(vy_ordering *o, bool *any)
{
    const vy_program *p = o->w.p;
    if (o->wide)
        vy_wide_choose(o);
    else if (!vy_find_additions(o) || !vy_check_kinds(o) || !vy_shared_choose(o))
        return false;
    else
        vy_row_choose(o);
    *any = o->owned;
    for (uint32_t i = 1; i < p->buffers.count; i++) *any |= o->use[i] != 0;
    return !o->w.oom && (!*any || vy_partial_choose(o));
}

bool vy_order_program(vy_module *m, vy_program *p, bool lean, const vy_adjoint_buffers *wide)
{
    vy_ordering o = {.m = m, .lean = lean || wide, .wide = wide};
    uint32_t n = p->buffers.count;
    o.use = vy_arena_alloc(&o.arena, n * sizeof *o.use);
    o.sums = vy_arena_alloc(&o.arena, n * sizeof *o.sums);
    o.partials = vy_arena_alloc(&o.arena, n * sizeof *o.partials);
    o.sliced = vy_arena_alloc(&o.arena, n * sizeof *o.sliced);
    o.row = vy_arena_alloc(&o.arena, n * sizeof *o.row);
    vy_program **stages = vy_arena_alloc(&o.arena, (2 * (size_t)n + 1) * sizeof *stages);
    bool any = false, ok = vy_rewrite_begin(&o.w, p);
    ok = ok && o.use && o.sums && o.partials && o.sliced && o.row && stages &&
         choose_additions(&o, &any);
    if (ok && any) replace_additions(&o);
    vy_program *first = vy_rewrite_take(&o.w, ok);
    vy_pass_context c = {0};
    if (first && ok && any && !vy_pass_cleanup(first, &c)) {
        vy_program_free(first);
        first = NULL;
    }
    if (first) stages[0] = first;
    if (ok && any) ok = first && make_stages(&o, p, stages);
    vy_arena_free(&o.arena);
    return ok;
}
