// SPDX-License-Identifier: MIT
// keep_form.c: splits the derivative of a dispatched program into what the forward sweep can
// compute for it, the keeper, and the rest (core/keep_plan.h).
//
// Of a derivative of several stages one is split, the only one that reads states.  The rest takes
// what is kept as parameters that follow its own.
//
// **Worth.**  What is kept is no larger than the states that need not be kept then.  The rest saves
// the operations and loads of the values; the keeper costs what it adds to the program that it
// stands before, for the two are joined (ir/host/fuse_stages.c) and share what both compute.  A
// form pays if this is less by the prices of ir/facts/price.h.
#include "autodiff/driver/keep_form.h"

#include "autodiff/driver/drop_unread.h"
#include "autodiff/reverse/sweeps.h"
#include "ir/build/edit.h"
#include "ir/check/check.h"
#include "ir/core/flow.h"
#include "ir/core/pipe.h"
#include "ir/core/program_rule.h"
#include "ir/facts/price.h"
#include "ir/host/fuse.h"
#include "ir/host/host_build.h"
#include "ir/build/pipe_build.h"
#include "ir/pass/pass.h"

#include <stdio.h>
#include <string.h>

typedef struct splitting {
    vy_module *m;
    keep_form *form;
    const vy_pipeline *l; // the derivative, if it has stages
    uint32_t step;        // of l: the dispatch of the stage
    const vy_program *source, *stage;
    uint32_t *parameter; // by buffer of the stage: the parameter of the source; 0: none
    keep_use *uses;      // by buffer of the stage
    keep_cut cut;
    vy_program *writer, *reader;
    vy_arena arena;
} splitting;

// --------------------------------------------------------------------------------------- the stage
// Which parameter of the source the buffer of a derivative is, if the reverse only reads it.
static uint32_t parameter_of(const splitting *x, const vy_buf *b, const vy_derivative_role *role)
{
    const uint32_t of = role->parameter;
    const bool takes = role->kind == VY_IS_PRIMAL && b->cls == VY_IN && of &&
                       vy_host_takes(&x->source->buffers.data[of]);
    return takes ? of : 0;
}

// The same for argument `a` of a stage.
static uint32_t parameter_passed(const splitting *x, const vy_pipe_arg *a)
{
    if (a->rank || a->flat) return 0;
    return parameter_of(x, &x->l->signature->buffers.data[a->buffer.id],
                        &x->form->made->roles[a->buffer.id]);
}

static bool passes_state(const splitting *x, const vy_pipe_step *s)
{
    bool any = false;
    for (uint32_t k = 0; s->kind == VY_PIPE_DISPATCH && k < s->arg_count; k++) {
        const uint32_t b = s->args[k].buffer.id;
        const uint32_t of =
            parameter_of(x, &x->l->signature->buffers.data[b], &x->form->made->roles[b]);
        any |= of && x->form->states[of];
    }
    return any;
}

// The stage has the scalars of the source, in its order.
static bool has_own_scalars(const splitting *x)
{
    const vy_program *p = x->source, *q = x->stage;
    if (p->scalars.count != q->scalars.count) return false;
    for (uint32_t k = 0; k < p->scalars.count; k++) {
        if (strcmp(p->scalars.data[k].name, q->scalars.data[k].name) != 0) return false;
        if (!x->l) continue;
        const vy_pipe_scalar *s = &x->l->steps.data[x->step].scalars[k];
        const vy_dim_node *d = &x->l->signature->dims.data[s->dim.id];
        const bool own = s->kind == VY_PIPE_PARAM
                             ? s->scalar == k
                             : s->kind == VY_PIPE_DIM && d->op == VY_DIM_SCALAR && d->value == k;
        if (!own) return false;
    }
    return true;
}

// The only step that is passed states, if it runs once.
static bool find_step(splitting *x)
{
    uint32_t found = 0;
    for (uint32_t i = 0; i < x->l->steps.count; i++)
        if (passes_state(x, &x->l->steps.data[i])) found++, x->step = i;
    return found == 1 && !vy_host_block_of(x->l, x->step);
}

static bool find_stage(splitting *x)
{
    const vy_ref *made = &x->form->made->result;
    x->l = made->pipeline ? x->m->pipelines.data[made->index] : NULL;
    if (x->l && !find_step(x)) return false;
    x->stage = x->m->programs.data[x->l ? x->l->steps.data[x->step].program : made->index];
    return x->stage->overs.count && !vy_sees_workgroup(x->stage) && has_own_scalars(x);
}

static bool find_uses(splitting *x)
{
    x->parameter = vy_arena_room(&x->arena, x->stage->buffers.count, sizeof *x->parameter);
    x->uses = vy_arena_room(&x->arena, x->stage->buffers.count, sizeof *x->uses);
    if (x->arena.oom) return false;
    for (uint32_t i = 1, n = 0; i < x->stage->buffers.count; i++) {
        const vy_buf *b = &x->stage->buffers.data[i];
        if (!vy_pipe_binds(b)) continue;
        x->parameter[i] = b->cls != VY_IN ? 0
                          : x->l          ? parameter_passed(x, &x->l->steps.data[x->step].args[n])
                                          : parameter_of(x, b, &x->form->made->roles[i]);
        n++;
        if (!x->parameter[i]) continue;
        x->uses[i] = x->form->states[x->parameter[i]] ? VY_KEEP_STATE : VY_KEEP_INPUT;
    }
    return true;
}

// An element of what is kept takes no more than one of the states, which have as many.
static bool is_no_larger(splitting *x)
{
    uint32_t bytes = 0;
    for (uint32_t i = 1; i < x->stage->buffers.count; i++) {
        if (x->uses[i] != VY_KEEP_STATE || !vy_fuse_covers(x->stage, i)) continue;
        bytes += vy_type_size(x->stage->buffers.data[i].type);
        x->form->like = x->parameter[i];
    }
    return x->form->like && x->cut.bytes <= bytes;
}

// ------------------------------------------------------------------------------------------- worth
static double price_of(const vy_program *p)
{
    vy_structure s;
    double sum = 0;
    if (!vy_structure_make(p, &s)) {
        vy_structure_free(&s);
        vy_fail_oom(p->module);
        return 0;
    }
    for (uint32_t id = 1; id < p->insts.count; id++) {
        double price = vy_price_of((vy_op)p->insts.data[id].op)->again;
        for (uint32_t up = s.parent[id]; up; up = s.parent[up])
            if (vy_is_loop((vy_op)p->insts.data[up].op)) price *= vy_expected_trips(p, up);
        sum += price;
    }
    vy_structure_free(&s);
    return sum;
}

// The source with the keeper behind it, as one program; NULL: they cannot be joined.
static vy_program *join(splitting *x)
{
    const vy_program *a = x->source, *b = x->writer;
    uint32_t *buffers = vy_arena_room(&x->arena, b->buffers.count, sizeof *buffers);
    uint32_t *scalars = vy_arena_room(&x->arena, b->scalars.count, sizeof *scalars);
    uint8_t *local = vy_arena_room(&x->arena, a->buffers.count, 1);
    if (x->arena.oom || !vy_fuse_allows(a) || !vy_fuse_allows(b)) return NULL;
    for (uint32_t i = 1; i < b->buffers.count; i++)
        if (b->buffers.data[i].role.kind == VY_IS_PRIMAL)
            buffers[i] = b->buffers.data[i].role.parameter;
    for (uint32_t k = 0; k < b->scalars.count; k++) scalars[k] = k + 1;
    const vy_fused f = {a, b, buffers, scalars, local};
    if (!vy_fuse_programs(x->m, &f)) return NULL;
    return x->m->programs.data[--x->m->programs.count];
}

// What the keeper adds to the program that it is dispatched before.
static double price_of_keeping(splitting *x)
{
    vy_pass_context c = {0};
    vy_program *both = join(x);
    if (!both) return price_of(x->writer);
    const bool ok = vy_pass_cse_regions(both, &c) && vy_pass_share_arms(both, &c) &&
                    vy_pass_cleanup(both, &c) && vy_pass_dce(both, &c);
    const double price = ok ? price_of(both) - price_of(x->source) : 0;
    vy_program_free(both);
    return price;
}

// By more than the price of one element on its way through memory: what is computed again mostly
// hits a cache, what is kept does not.
static bool is_worth_it(splitting *x)
{
    const double least = vy_prices[VY_WORK_LOAD].again + vy_prices[VY_WORK_STORE].again;
    return price_of(x->reader) + price_of_keeping(x) + least < price_of(x->stage);
}

// ------------------------------------------------------------------------------------ the programs
static const char *free_name(vy_module *m, const char *format, const char *of)
{
    char text[320];
    int n = snprintf(text, 300, format, of);
    for (uint32_t k = 2; vy_module_find(m, text) || vy_module_find_pipeline(m, text); k++)
        snprintf(text + n, sizeof text - (size_t)n, "_%u", k);
    const char *name = vy_arena_strdup(&m->arena, text, strlen(text));
    if (!name) vy_fail_oom(m);
    return name;
}

// Moves the program into the module.
static bool add(vy_module *m, vy_program **p, const char *name)
{
    (*p)->name = name;
    if (!name || !vy_vec_push(&m->programs, *p)) {
        vy_fail_oom(m);
        return false;
    }
    *p = NULL;
    return true;
}

// The buffer of the stage of that name; 0: it is one of what is kept.
static uint32_t of_stage(const splitting *x, const vy_buf *b)
{
    return vy_program_find_buffer(x->stage, b->name).id;
}

static void set_roles(splitting *x)
{
    for (uint32_t i = 1; i < x->writer->buffers.count; i++) {
        vy_buf *b = &x->writer->buffers.data[i];
        const uint32_t was = of_stage(x, b);
        b->role = was ? (vy_derivative_role){.kind = VY_IS_PRIMAL, .parameter = x->parameter[was]}
                      : (vy_derivative_role){.kind = VY_IS_PARAMETER, .parameter = x->form->like};
    }
    for (uint32_t i = 1; i < x->reader->buffers.count; i++) {
        vy_buf *b = &x->reader->buffers.data[i];
        if (!of_stage(x, b))
            b->role = (vy_derivative_role){.kind = VY_IS_PARAMETER, .parameter = x->form->like};
    }
}

static bool make_programs(splitting *x)
{
    x->writer = vy_keep_writer(x->stage, x->uses, &x->cut);
    x->reader = x->writer ? vy_keep_reader(x->stage, x->uses, &x->cut) : NULL;
    const vy_droppable which = x->l ? VY_DROP_UNTOUCHED : VY_DROP_UNREAD;
    if (!x->reader || !vy_drop_unused(x->reader, which) || !vy_check_program(x->reader))
        return false;
    set_roles(x);
    return is_worth_it(x);
}

// ------------------------------------------------------------------------------------ the pipeline
static vy_buffer declare_kept(splitting *x, vy_pipe *q, const vy_buf *kept)
{
    const vy_buf_vec *all = &x->l->signature->buffers;
    char text[320];
    uint32_t like = 0;
    for (uint32_t i = 1; i < all->count && !like; i++)
        if (parameter_of(x, &all->data[i], &x->form->made->roles[i]) == x->form->like) like = i;
    const char *name = vy_free_name(q->b->p, "kept", kept->name, text);
    const vy_buffer b =
        vy_build_buffer(q->b, name, VY_IN, kept->type, all->data[like].rank, all->data[like].dims);
    if (b.id) q->b->p->buffers.data[b.id].role = kept->role;
    return b;
}

// The arguments of the stage, and what is kept.
static uint32_t find_arguments(splitting *x, vy_pipe *q, const vy_program *reader,
                               vy_pipe_arg *args)
{
    const vy_pipe_step *was = &x->l->steps.data[x->step];
    uint32_t *place = vy_arena_room(&x->arena, x->stage->buffers.count, sizeof *place), count = 0;
    for (uint32_t i = 1, n = 0; place && i < x->stage->buffers.count; i++)
        if (vy_pipe_binds(&x->stage->buffers.data[i])) place[i] = n++;
    for (uint32_t i = 1; place && i < reader->buffers.count; i++) {
        const vy_buf *b = &reader->buffers.data[i];
        const uint32_t of = of_stage(x, b);
        if (!vy_pipe_binds(b)) continue;
        args[count++] = of ? was->args[place[of]] : (vy_pipe_arg){.buffer = declare_kept(x, q, b)};
    }
    return count;
}

// The derivative with the reader as its stage.
static bool replace_stage(splitting *x, vy_pipeline *l, const vy_program *reader)
{
    vy_pipe_arg *args = vy_arena_room(&x->arena, reader->buffers.count, sizeof *args);
    vy_pipe *q = args ? vy_pipeline_reopen(l, x->step) : NULL;
    if (!q) return false;
    const uint32_t n = find_arguments(x, q, reader, args);
    const vy_pipe_step *was = &x->l->steps.data[x->step];
    if (!x->arena.oom)
        vy_pipeline_dispatch(q, reader, n, args, reader->scalars.count, was->scalars, NULL);
    return vy_pipeline_resume(q, l, x->step) && vy_drop_unread_of(l);
}

static bool add_pipeline(splitting *x, const vy_program *reader)
{
    uint32_t *same = vy_arena_room(&x->arena, x->m->programs.count, sizeof *same);
    for (uint32_t k = 0; same && k < x->m->programs.count; k++) same[k] = k;
    vy_pipeline *l = same ? vy_pipeline_clone(x->l, x->m, same) : NULL;
    const char *name = l ? free_name(x->m, "%.280s_kept", x->l->name) : NULL;
    if (name && replace_stage(x, l, reader)) {
        l->name = l->signature->name = name;
        if (vy_vec_push(&x->m->pipelines, l)) return true;
    }
    vy_pipeline_free(l);
    vy_fail_oom(x->m);
    return false;
}

static bool note_rest(splitting *x, const vy_program *p)
{
    vy_derived *d = &x->form->rest;
    vy_derivative_role *roles = vy_arena_alloc(&x->m->arena, p->buffers.count * sizeof *roles);
    for (uint32_t i = 1; roles && i < p->buffers.count; i++)
        roles[i] = vy_program_buffer(p, (vy_buffer){i}).role;
    d->source = x->form->made->source;
    d->order = x->form->made->order;
    d->role_count = p->buffers.count;
    d->roles = roles;
    return roles != NULL;
}

static bool move_in(splitting *x)
{
    vy_module *m = x->m;
    const char *name = free_name(m, "%.280s_kept", x->stage->name);
    if (!add(m, &x->reader, name)) return false;
    const uint32_t reader = m->programs.count - 1;
    if (!add(m, &x->writer, free_name(m, "keep%s", ""))) return false;
    x->form->keeper = m->programs.count - 1;
    if (x->l && !add_pipeline(x, m->programs.data[reader])) return false;
    x->form->rest.result = x->l ? (vy_ref){m->pipelines.count - 1, true} : (vy_ref){reader, false};
    return note_rest(x, x->l ? m->pipelines.data[m->pipelines.count - 1]->signature
                             : m->programs.data[reader]);
}

// ---------------------------------------------------------------------------------------- together
static bool split(splitting *x)
{
    if (!find_stage(x) || !find_uses(x)) return false;
    const keep_found found = vy_keep_find(x->stage, x->uses, &x->cut);
    if (found == VY_KEEP_NO_MEMORY) x->arena.oom = true;
    return found == VY_KEEP_FOUND && is_no_larger(x) && make_programs(x) && move_in(x);
}

// Fills in the form.  A program that cannot be made for it is no error.
static void make(vy_module *m, keep_form *form)
{
    const vy_ref source = form->made->source;
    splitting x = {.m = m, .form = form};
    const vy_diag before = m->diag;
    const uint64_t failures = vy_memory_failures();
    if (source.pipeline || vy_program_has_rule(m->programs.data[source.index])) return;
    x.source = m->programs.data[source.index];
    form->known = split(&x);
    if (x.arena.oom) vy_fail_oom(m);
    if (!form->known && vy_memory_failures() == failures) m->diag = before;
    vy_program_free(x.writer);
    vy_program_free(x.reader);
    vy_arena_free(&x.arena);
}

const keep_form *vy_keep_form(keep_plan *k, vy_module *m, const vy_derived *made,
                              const uint8_t *states)
{
    const uint32_t n =
        made->source.pipeline ? 0 : m->programs.data[made->source.index]->buffers.count;
    for (uint32_t i = 0; i < k->forms.count; i++) {
        const keep_form *f = k->forms.data[i];
        if (f->made == made && memcmp(f->states, states, n) == 0) return f->known ? f : NULL;
    }
    keep_form *f = vy_arena_alloc(&k->arena, sizeof *f);
    uint8_t *copy = f ? vy_arena_room(&k->arena, n, 1) : NULL;
    if (!copy || !vy_vec_push(&k->forms, f)) {
        vy_fail_oom(m);
        return NULL;
    }
    memcpy(copy, states, n);
    *f = (keep_form){.made = made, .states = copy};
    make(m, f);
    return f->known ? f : NULL;
}
