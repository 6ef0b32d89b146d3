// SPDX-License-Identifier: MIT
// plan_dispatch.c: one dispatch of a pipeline as steps of its plan.
//
// The kernel's symbols become expressions of the plan, and through them so do its own expressions,
// including the shapes it declares.  Where a declared extent and the extent bound are the same
// expression, no check is needed.
#include "spirv/plan/planner.h"
#include "spirv/describe/describe.h"
#include "spirv/plan/make.h"

#include <string.h>

typedef struct dispatch {
    const vy_pipe_step *s;
    const vy_program *program;
    const vy_kernel *kernel;
    uint32_t index;     // of the kernel
    uint32_t *symbols;  // of the kernel, as expressions of the plan
    uint32_t *exprs;    // its expressions, likewise
    vy_plan_arg *args;  // by binding
    uint32_t *ranks;    // by binding: leading indices of the slice
    bool *flat;         // by binding: it is passed as one axis
    uint32_t workspace; // plan buffer of the next one
} dispatch;

// The bits of a constant as in a parameter block.
static int64_t constant_bits(vy_type type, vy_scalar value)
{
    int64_t bits = 0;
    vy_scalar_write(type, value, &bits);
    return bits;
}

static uint32_t scalar_expr(vy_planner *w, const dispatch *d, uint32_t i)
{
    const vy_pipe_scalar *from = &d->s->scalars[i];
    const vy_type type = d->program->scalars.data[i].type;
    if (from->kind == VY_PIPE_PARAM) return from->scalar; // symbols are the first expressions
    if (from->kind == VY_PIPE_CONST) return vy_planner_const(w, constant_bits(type, from->value));
    const uint32_t e = vy_describe_dim(&w->d, from->dim);
    char line[120];
    if (type == VY_U64) // narrower types are checked when they are packed
        vy_planner_check(w, VY_CHECK_BELOW, e, vy_planner_const(w, INT64_MAX),
                         vy_planner_print(w, "%s: scalar %.80s of %.80s does not fit u64",
                                          vy_planner_line(w, d->s, line),
                                          d->program->scalars.data[i].name, d->program->name));
    return e;
}

// Parameters are bound first: workspaces, and scalars inferred from shapes, depend on them.
static void bind_params(vy_planner *w, dispatch *d)
{
    for (uint32_t i = 0, n = 0; i < d->kernel->binding_count && !w->d.oom; i++) {
        if (d->kernel->bindings[i].workspace) continue;
        const vy_pipe_arg *a = &d->s->args[n++];
        d->ranks[i] = a->rank;
        d->flat[i] = a->flat;
        d->args[i] = (vy_plan_arg){vy_planner_buffer(a->buffer), VY_NO_EXPR};
        if (a->rank) d->args[i].offset = vy_planner_element(w, d->s, a->buffer, a->rank, a->index);
    }
}

// Length of axis `axis` of what is bound; of what is passed flat, the number of its elements.
static uint32_t passed_length(vy_planner *w, const dispatch *d, uint32_t binding, uint32_t axis)
{
    const vy_plan_buffer *b = &w->buffers.data[d->args[binding].buffer];
    const uint32_t first = d->ranks[binding];
    uint32_t n = b->dims[first + axis];
    for (uint32_t k = first + 1; d->flat[binding] && k < b->rank; k++)
        n = vy_describe_binary(&w->d, VY_EXPR_MUL, n, b->dims[k]);
    return n;
}

static void find_symbols(vy_planner *w, dispatch *d)
{
    for (uint32_t i = 0; i < d->kernel->symbol_count && !w->d.oom; i++) {
        const vy_symbol *s = &d->kernel->symbols[i];
        if (s->kind == VY_SYMBOL_SCALAR) {
            d->symbols[i] = scalar_expr(w, d, i);
            continue;
        }
        if (s->kind == VY_SYMBOL_GROUPS) { // no domain: the step says how many
            d->symbols[i] = vy_describe_dim(&w->d, d->s->groups[s->axis]);
            continue;
        }
        d->symbols[i] = passed_length(w, d, s->buffer, s->axis);
    }
}

// The kernel's expressions over the plan's symbols.
static void substitute(vy_planner *w, dispatch *d)
{
    for (uint32_t i = 0; i < d->kernel->expr_count && !w->d.oom; i++) {
        const vy_expr *e = &d->kernel->exprs[i];
        if (e->op == VY_EXPR_SYMBOL)
            d->exprs[i] = d->symbols[e->value];
        else if (e->op == VY_EXPR_CONST)
            d->exprs[i] = vy_planner_const(w, e->value);
        else
            d->exprs[i] = vy_describe_binary(&w->d, e->op, d->exprs[e->a], d->exprs[e->b]);
    }
}

// The number of elements that a binding declares.
static uint32_t declared_count(vy_planner *w, const dispatch *d, const vy_kernel_binding *b)
{
    uint32_t n = vy_planner_const(w, 1);
    for (uint32_t k = 0; k < b->rank; k++)
        n = k ? vy_describe_binary(&w->d, VY_EXPR_MUL, n, d->exprs[b->dims[k]])
              : d->exprs[b->dims[k]];
    return n;
}

// What is passed flat to a parameter with several dimensions has their product of elements.
static void check_count(vy_planner *w, const dispatch *d, uint32_t binding)
{
    const vy_kernel_binding *b = &d->kernel->bindings[binding];
    char line[120];
    vy_planner_check(
        w, VY_CHECK_EQUAL, declared_count(w, d, b), passed_length(w, d, binding, 0),
        vy_planner_print(w, "%s: `%.80s` of %.80s does not have as many elements as `%.80s` flat",
                         vy_planner_line(w, d->s, line), b->name, d->program->name,
                         w->buffers.data[d->args[binding].buffer].name));
}

static void check_shapes(vy_planner *w, const dispatch *d)
{
    char line[120];
    for (uint32_t i = 0; i < d->kernel->binding_count; i++) {
        const vy_kernel_binding *b = &d->kernel->bindings[i];
        if (b->workspace) continue;
        const vy_plan_buffer *from = &w->buffers.data[d->args[i].buffer];
        if (d->flat[i] && b->rank > 1) {
            check_count(w, d, i);
            continue;
        }
        for (uint32_t k = 0; k < b->rank && !w->d.oom; k++)
            vy_planner_check(
                w, VY_CHECK_EQUAL, d->exprs[b->dims[k]], passed_length(w, d, i, k),
                vy_planner_print(
                    w, "%s: axis %u of `%.80s` as %.80s declares it is not axis %u of `%.80s`",
                    vy_planner_line(w, d->s, line), k, b->name, d->program->name, d->ranks[i] + k,
                    from->name));
    }
}

// *first: the first workspace of an earlier dispatch that can share its workspaces.
static bool find_shared(const vy_planner *w, const dispatch *d, uint32_t *first)
{
    for (uint32_t i = 0; i < w->shared.count; i++) {
        const vy_shared *s = &w->shared.data[i];
        if (s->kernel != d->index ||
            memcmp(s->symbols, d->symbols, d->kernel->symbol_count * sizeof *s->symbols))
            continue;
        *first = s->first;
        return true;
    }
    return false;
}

// Names that no buffer of the signature can have, with numbers where a kernel has several sets.
static const char *workspace_name(vy_planner *w, const dispatch *d, const char *name)
{
    uint32_t sets = 1;
    for (uint32_t i = 0; i < w->shared.count; i++) sets += w->shared.data[i].kernel == d->index;
    return sets == 1 ? vy_planner_print(w, "%.120s.%.120s", d->program->name, name)
                     : vy_planner_print(w, "%.120s.%.120s.%u", d->program->name, name, sets);
}

// The watch word is one for all dispatches, filled at the start of the plan.
static bool is_watch(const vy_kernel *k, uint32_t binding)
{
    return k->watched && binding + 1 == k->binding_count;
}

static void add_workspaces(vy_planner *w, dispatch *d)
{
    uint32_t next = w->buffers.count;
    const bool have = find_shared(w, d, &next);
    const uint32_t first = next;
    for (uint32_t i = 0; i < d->kernel->binding_count && !w->d.oom; i++) {
        const vy_kernel_binding *b = &d->kernel->bindings[i];
        if (!b->workspace) continue;
        if (is_watch(d->kernel, i)) {
            d->args[i] = (vy_plan_arg){w->watch, VY_NO_EXPR};
            continue;
        }
        d->args[i] = (vy_plan_arg){next++, VY_NO_EXPR};
        if (have) continue;
        uint32_t *dims = vy_planner_room(w, b->rank, sizeof *dims);
        for (uint32_t k = 0; k < b->rank && !w->d.oom; k++) dims[k] = d->exprs[b->dims[k]];
        const vy_plan_buffer buffer = {.name = workspace_name(w, d, b->name),
                                       .role = VY_ROLE_WORKSPACE,
                                       .type = b->type,
                                       .elem_size = b->elem_size,
                                       .rank = b->rank,
                                       .dims = dims};
        if (!vy_vec_push(&w->buffers, buffer)) w->d.oom = true;
    }
    const vy_shared own = {d->index, first, d->symbols};
    if (!have && next > first && !vy_vec_push(&w->shared, own)) w->d.oom = true;
}

// The part of a plan buffer that is bound; NULL for all of it.
static vy_plan_part *part_of(vy_planner *w, const dispatch *d, uint32_t binding)
{
    const vy_kernel_binding *b = &d->kernel->bindings[binding];
    vy_plan_part *part = vy_planner_room(w, 1, sizeof *part);
    if (!part) return NULL;
    part->offset = d->args[binding].offset;
    if (part->offset == VY_NO_EXPR) part->offset = vy_planner_const(w, 0);
    part->source_offset = vy_planner_const(w, 0);
    part->count = declared_count(w, d, b);
    return part;
}

static uint32_t find_binding(const vy_kernel *k, const char *name)
{
    uint32_t i = 0;
    while (i + 1 < k->binding_count && strcmp(k->bindings[i].name, name)) i++;
    return i;
}

// Steps that the bindings need before the dispatch.  Clearing is part of the dispatch.
static void start_bindings(vy_planner *w, const dispatch *d)
{
    for (uint32_t i = 0; i < d->kernel->binding_count && !w->d.oom; i++) {
        const vy_kernel_binding *b = &d->kernel->bindings[i];
        const uint32_t to = d->args[i].buffer;
        if (is_watch(d->kernel, i)) continue;
        vy_plan_part *part = d->ranks[i] ? part_of(w, d, i) : NULL;
        if (b->init && strcmp(b->init, "1") == 0) {
            vy_planner_fill(w, to, vy_plan_one(b->type), part);
        } else if (b->init) {
            const uint32_t from = find_binding(d->kernel, b->init);
            if (!part && d->ranks[from]) part = part_of(w, d, i);
            if (part && d->ranks[from]) part->source_offset = d->args[from].offset;
            vy_planner_copy(w, to, d->args[from].buffer, part);
        }
    }
}

void vy_planner_dispatch(vy_planner *w, const vy_pipe_step *s)
{
    const uint32_t index = w->k->index[s->program];
    const vy_kernel *k = &w->kernels[index];
    dispatch d = {.s = s, .program = w->k->programs[index], .kernel = k, .index = index};
    d.symbols = vy_planner_room(w, k->symbol_count, sizeof *d.symbols);
    d.exprs = vy_planner_room(w, k->expr_count, sizeof *d.exprs);
    d.args = vy_planner_room(w, k->binding_count, sizeof *d.args);
    d.ranks = vy_planner_room(w, k->binding_count, sizeof *d.ranks);
    char line[120];
    d.flat = vy_planner_room(w, k->binding_count, sizeof *d.flat);
    uint32_t *groups = s->groups ? vy_planner_room(w, 3, sizeof *groups) : NULL;
    if (w->d.oom) return;
    bind_params(w, &d);
    find_symbols(w, &d);
    substitute(w, &d);
    if (w->d.oom) return;
    check_shapes(w, &d);
    for (uint32_t i = 0; i < k->need_count && !w->d.oom; i++)
        vy_planner_check(w, VY_CHECK_BELOW, d.exprs[k->needs[i].expr], d.exprs[k->needs[i].limit],
                         vy_planner_print(w, "%s: %s", vy_planner_line(w, s, line),
                                          k->needs[i].text));
    add_workspaces(w, &d);
    start_bindings(w, &d);
    for (uint32_t i = 0; groups && i < 3; i++) groups[i] = vy_describe_dim(&w->d, s->groups[i]);
    vy_planner_step(w, (vy_plan_step){.kind = VY_STEP_DISPATCH,
                                      .kernel = index,
                                      .args = d.args,
                                      .symbols = d.symbols,
                                      .groups = groups});
}
