// SPDX-License-Identifier: MIT
// plan_pipeline.c: a pipeline as a plan (plan.h).
//
//   buffer      fill, or copy, by its @init; nothing where its first use overwrites all of it
//   dispatch    checks of slices and shapes, what the program's @workspace and @init ask for, the
//               dispatch.  Checks whose two sides are the same expression are left out
//   value       checks of the index, readback
//   repeat      repeat, of the difference of its bounds
//   checkpoint  nothing
//
// The plan's symbols are the signature's scalars and `?` extents, then one per repeat and value.  Its
// buffers are the signature's, then the workspaces of the programs dispatched: dispatches of one
// program with the same scalars share them.
#include "spirv/emit.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

VY_VEC_TYPE(vy_plan_buffer_vec, vy_plan_buffer);
VY_VEC_TYPE(vy_plan_step_vec, vy_plan_step);

typedef struct shared { // workspaces of one kernel with these values of its symbols
    uint32_t kernel, first;
    const uint32_t *symbols;
} shared;
VY_VEC_TYPE(shared_vec, shared);

typedef struct planner {
    vy_describe d; // of the signature: symbols, expressions
    const vy_pipeline *p;
    const vy_pipe_kernels *k;
    const vy_kernel *kernels;
    vy_plan_buffer_vec buffers;
    vy_plan_step_vec steps;
    shared_vec shared;
    uint32_t *step_symbols; // by pipeline step
    uint32_t *opened;       // by pipeline step: plan step of a REPEAT
} planner;

static void *room(planner *w, size_t count, size_t size)
{
    void *block = vy_arena_alloc(w->d.arena, (count + 1) * size);
    if (!block) w->d.oom = true;
    return block;
}

static void add_step(planner *w, vy_plan_step s)
{
    if (!vy_vec_push(&w->steps, s)) w->d.oom = true;
}

static uint32_t constant(planner *w, int64_t value)
{
    return vy_describe_expr(&w->d, (vy_expr){.op = VY_EXPR_CONST, .value = value});
}

static const char *print(planner *w, const char *format, ...) __attribute__((format(printf, 2, 3)));
static const char *print(planner *w, const char *format, ...)
{
    char text[300];
    va_list args;
    va_start(args, format);
    vsnprintf(text, sizeof text, format, args);
    va_end(args);
    char *copy = vy_arena_strdup(w->d.arena, text, strlen(text));
    if (!copy) w->d.oom = true;
    return copy ? copy : "";
}

// ---------------------------------------------------------------------------------------- symbols
static bool name_taken(const planner *w, const char *name)
{
    for (uint32_t i = 0; i < w->d.symbols.count; i++)
        if (strcmp(w->d.symbols.data[i].name, name) == 0) return true;
    return false;
}

// Expressions are written with the names, so each symbol has its own: t, t_2, …
static const char *own_name(planner *w, const char *prefix, const char *base)
{
    const char *name = print(w, "%s%.200s", prefix, base);
    for (uint32_t i = 2; !w->d.oom && name_taken(w, name); i++)
        name = print(w, "%s%.200s_%u", prefix, base, i);
    return name;
}

static void add_symbols(planner *w)
{
    const vy_program *signature = w->p->signature;
    for (uint32_t i = 0; i < w->p->steps.count && !w->d.oom; i++) {
        const vy_pipe_step *s = &w->p->steps.data[i];
        const char *name = NULL;
        if (s->kind == VY_PIPE_REPEAT) name = own_name(w, "", s->counter);
        if (s->kind == VY_PIPE_VALUE)
            name = own_name(w, "value_", signature->buffers.data[s->buffer.id].name);
        if (!name) continue;
        const bool repeat = s->kind == VY_PIPE_REPEAT;
        w->step_symbols[i] = w->d.symbols.count;
        vy_describe_symbol(&w->d,
                           (vy_symbol){.name = name,
                                       .kind = repeat ? VY_SYMBOL_REPEAT : VY_SYMBOL_READBACK,
                                       .type = "i64"});
    }
}

// ---------------------------------------------------------------------------------------- buffers
static void add_signature_buffers(planner *w)
{
    static const vy_role roles[] = {
        [VY_IN] = VY_ROLE_IN, [VY_OUT] = VY_ROLE_OUT, [VY_INOUT] = VY_ROLE_INOUT};
    const vy_program *signature = w->p->signature;
    for (uint32_t i = 1; i < signature->buffers.count && !w->d.oom; i++) {
        const vy_buf *b = &signature->buffers.data[i];
        uint32_t *dims = room(w, b->rank, sizeof *dims);
        for (uint32_t k = 0; k < b->rank && !w->d.oom; k++)
            dims[k] = vy_describe_dim(&w->d, b->dims[k]);
        const vy_plan_buffer buffer = {
            .name = print(w, "%s", b->name),
            .role = b->workspace ? VY_ROLE_WORKSPACE : roles[b->cls],
            .type = vy_type_name(b->type),
            .elem_size = vy_type_size(b->type),
            .rank = b->rank,
            .dims = dims,
        };
        if (!vy_vec_push(&w->buffers, buffer)) w->d.oom = true;
    }
}

// Plan buffer of a buffer of the signature.
static uint32_t plan_buffer(vy_buffer b) { return b.id - 1; }

static uint32_t signature_buffer(const planner *w, const char *name)
{
    const vy_program *signature = w->p->signature;
    uint32_t i = 1;
    while (i + 1 < signature->buffers.count && strcmp(signature->buffers.data[i].name, name)) i++;
    return i;
}

static void add_fill(planner *w, uint32_t buffer, uint64_t pattern, const vy_plan_part *part)
{
    add_step(w, (vy_plan_step){
                    .kind = VY_STEP_FILL, .buffer = buffer, .pattern = pattern, .part = part});
}

static void add_copy(planner *w, uint32_t to, uint32_t from, const vy_plan_part *part)
{
    add_step(w, (vy_plan_step){.kind = VY_STEP_COPY, .buffer = to, .source = from, .part = part});
}

// What a buffer of the signature starts with, if @init says so; else zero if `clear`.
static void start_buffer(planner *w, uint32_t buffer, bool clear)
{
    const vy_buf *b = &w->p->signature->buffers.data[buffer];
    const uint32_t to = plan_buffer((vy_buffer){buffer});
    if (b->init == VY_INIT_ONES)
        add_fill(w, to, vy_plan_one(vy_type_name(b->type)), NULL);
    else if (b->init == VY_INIT_COPY)
        add_copy(w, to, signature_buffer(w, b->init_from) - 1, NULL);
    else if (clear)
        add_fill(w, to, 0, NULL);
}

// Uses of a buffer by a step: 1 overwrites all of it, 0 none, -1 any other.
static int use_of(const planner *w, const vy_pipe_step *s, uint32_t buffer)
{
    const vy_program *signature = w->p->signature;
    if (s->kind == VY_PIPE_VALUE) return s->buffer.id == buffer ? -1 : 0;
    if (s->kind == VY_PIPE_BUFFER) {
        const vy_buf *b = &signature->buffers.data[s->buffer.id];
        const bool reads = b->init == VY_INIT_COPY && signature_buffer(w, b->init_from) == buffer;
        return reads ? -1 : s->buffer.id == buffer;
    }
    if (s->kind != VY_PIPE_DISPATCH) return 0;
    const vy_program *p = w->p->module->programs.data[s->program];
    uint32_t n = 0;
    int use = 0;
    for (uint32_t id = 1; id < p->buffers.count; id++) {
        const vy_buf *b = &p->buffers.data[id];
        if (b->cls > VY_INOUT || b->workspace) continue;
        const vy_pipe_arg *a = &s->args[n++];
        if (a->buffer.id != buffer) continue;
        use = b->cls == VY_OUT && a->rank == 0 && use == 0 ? 1 : -1;
    }
    return use;
}

// Whether the first use of an intermediate, behind the step that makes it, overwrites all of it.
static bool overwritten_first(const planner *w, uint32_t step, uint32_t buffer)
{
    uint32_t depth = 0;
    for (uint32_t i = step + 1; i < w->p->steps.count; i++) {
        const vy_pipe_step *s = &w->p->steps.data[i];
        const bool opens = s->kind == VY_PIPE_REPEAT || s->kind == VY_PIPE_CHECKPOINT;
        if (s->kind == VY_PIPE_END && depth == 0) return true; // its block ends: not used at all
        depth += opens;
        depth -= s->kind == VY_PIPE_END;
        const int use = use_of(w, s, buffer);
        if (use) return use > 0 && depth == 0; // a repeat may run no iteration
    }
    return true;
}

// ----------------------------------------------------------------------------------------- checks
static void check(planner *w, vy_check how, uint32_t expr, uint32_t limit, const char *text)
{
    if (w->d.oom || (how == VY_CHECK_EQUAL && expr == limit)) return;
    const vy_expr *e = &w->d.exprs.data[expr], *l = &w->d.exprs.data[limit];
    const bool constants = e->op == VY_EXPR_CONST && l->op == VY_EXPR_CONST;
    if (how == VY_CHECK_BELOW && constants && e->value >= 0 && e->value < l->value) return;
    add_step(w,
             (vy_plan_step){
                 .kind = VY_STEP_CHECK, .check = how, .expr = expr, .limit = limit, .text = text});
}

// Element number of buffer[index…] as an expression, each index checked.
static uint32_t element(planner *w, const vy_pipe_step *s, vy_buffer b, uint32_t rank,
                        const vy_dim *index)
{
    const vy_plan_buffer *buffer = &w->buffers.data[plan_buffer(b)];
    uint32_t at = constant(w, 0);
    for (uint32_t k = 0; k < buffer->rank && !w->d.oom; k++) {
        if (k) at = vy_describe_binary(&w->d, VY_EXPR_MUL, at, buffer->dims[k]);
        if (k >= rank) continue;
        const uint32_t i = vy_describe_dim(&w->d, index[k]);
        check(w, VY_CHECK_BELOW, i, buffer->dims[k],
              print(w, "line %u: index %u of `%.80s` is out of range", s->line, k, buffer->name));
        at = k ? vy_describe_binary(&w->d, VY_EXPR_ADD, at, i) : i;
    }
    return at;
}

// --------------------------------------------------------------------------------------- dispatch
typedef struct dispatch {
    const vy_pipe_step *s;
    const vy_program *program;
    const vy_kernel *kernel;
    uint32_t index;     // of the kernel
    uint32_t *symbols;  // of the kernel, as expressions of the plan
    uint32_t *exprs;    // its expressions, likewise
    vy_plan_arg *args;  // by binding
    uint32_t *ranks;    // by binding: leading indices of the slice
    uint32_t workspace; // plan buffer of the next one
} dispatch;

// Bits of a constant as a parameter block has them.
static int64_t constant_bits(vy_type type, vy_scalar value)
{
    int64_t bits = 0;
    vy_scalar_write(type, value, &bits);
    return bits;
}

static uint32_t scalar_expr(planner *w, const dispatch *d, uint32_t i)
{
    const vy_pipe_scalar *from = &d->s->scalars[i];
    const vy_type type = d->program->scalars.data[i].type;
    if (from->kind == VY_PIPE_PARAM) return from->scalar; // symbols are the first expressions
    if (from->kind == VY_PIPE_CONST) return constant(w, constant_bits(type, from->value));
    const uint32_t e = vy_describe_dim(&w->d, from->dim);
    if (type == VY_U64) // narrower types are checked by whoever packs them
        check(w, VY_CHECK_BELOW, e, constant(w, INT64_MAX),
              print(w, "line %u: scalar %.80s of %.80s does not fit u64", d->s->line,
                    d->program->scalars.data[i].name, d->program->name));
    return e;
}

// Bindings of parameters first; workspaces, and what is inferred from shapes, need them.
static void bind_params(planner *w, dispatch *d)
{
    for (uint32_t i = 0, n = 0; i < d->kernel->binding_count && !w->d.oom; i++) {
        if (d->kernel->bindings[i].workspace) continue;
        const vy_pipe_arg *a = &d->s->args[n++];
        d->ranks[i] = a->rank;
        d->args[i] = (vy_plan_arg){plan_buffer(a->buffer), VY_NO_EXPR};
        if (a->rank) d->args[i].offset = element(w, d->s, a->buffer, a->rank, a->index);
    }
}

static void find_symbols(planner *w, dispatch *d)
{
    for (uint32_t i = 0; i < d->kernel->symbol_count && !w->d.oom; i++) {
        const vy_symbol *s = &d->kernel->symbols[i];
        if (s->kind == VY_SYMBOL_SCALAR) {
            d->symbols[i] = scalar_expr(w, d, i);
            continue;
        }
        const vy_plan_buffer *b = &w->buffers.data[d->args[s->buffer].buffer];
        d->symbols[i] = b->dims[d->ranks[s->buffer] + s->axis];
    }
}

// The kernel's expressions over the plan's symbols.
static void substitute(planner *w, dispatch *d)
{
    for (uint32_t i = 0; i < d->kernel->expr_count && !w->d.oom; i++) {
        const vy_expr *e = &d->kernel->exprs[i];
        if (e->op == VY_EXPR_SYMBOL)
            d->exprs[i] = d->symbols[e->value];
        else if (e->op == VY_EXPR_CONST)
            d->exprs[i] = constant(w, e->value);
        else
            d->exprs[i] = vy_describe_binary(&w->d, e->op, d->exprs[e->a], d->exprs[e->b]);
    }
}

static void check_shapes(planner *w, const dispatch *d)
{
    for (uint32_t i = 0; i < d->kernel->binding_count; i++) {
        const vy_kernel_binding *b = &d->kernel->bindings[i];
        if (b->workspace) continue;
        const vy_plan_buffer *from = &w->buffers.data[d->args[i].buffer];
        for (uint32_t k = 0; k < b->rank && !w->d.oom; k++)
            check(
                w, VY_CHECK_EQUAL, d->exprs[b->dims[k]], from->dims[d->ranks[i] + k],
                print(w,
                      "line %u: axis %u of `%.80s` as %.80s declares it is not axis %u of `%.80s`",
                      d->s->line, k, b->name, d->program->name, d->ranks[i] + k, from->name));
    }
}

// Workspaces of an earlier dispatch that needs the same ones: the first of them.
static bool find_shared(const planner *w, const dispatch *d, uint32_t *first)
{
    for (uint32_t i = 0; i < w->shared.count; i++) {
        const shared *s = &w->shared.data[i];
        if (s->kernel != d->index ||
            memcmp(s->symbols, d->symbols, d->kernel->symbol_count * sizeof *s->symbols))
            continue;
        *first = s->first;
        return true;
    }
    return false;
}

// Names that no buffer of the signature can have, with numbers where a kernel has several sets.
static const char *workspace_name(planner *w, const dispatch *d, const char *name)
{
    uint32_t sets = 1;
    for (uint32_t i = 0; i < w->shared.count; i++) sets += w->shared.data[i].kernel == d->index;
    return sets == 1 ? print(w, "%.120s.%.120s", d->program->name, name)
                     : print(w, "%.120s.%.120s.%u", d->program->name, name, sets);
}

static void add_workspaces(planner *w, dispatch *d)
{
    uint32_t next = w->buffers.count;
    const bool have = find_shared(w, d, &next);
    const uint32_t first = next;
    for (uint32_t i = 0; i < d->kernel->binding_count && !w->d.oom; i++) {
        const vy_kernel_binding *b = &d->kernel->bindings[i];
        if (!b->workspace) continue;
        d->args[i] = (vy_plan_arg){next++, VY_NO_EXPR};
        if (have) continue;
        uint32_t *dims = room(w, b->rank, sizeof *dims);
        for (uint32_t k = 0; k < b->rank && !w->d.oom; k++) dims[k] = d->exprs[b->dims[k]];
        const vy_plan_buffer buffer = {.name = workspace_name(w, d, b->name),
                                       .role = VY_ROLE_WORKSPACE,
                                       .type = b->type,
                                       .elem_size = b->elem_size,
                                       .rank = b->rank,
                                       .dims = dims};
        if (!vy_vec_push(&w->buffers, buffer)) w->d.oom = true;
    }
    const shared own = {d->index, first, d->symbols};
    if (!have && next > first && !vy_vec_push(&w->shared, own)) w->d.oom = true;
}

// The part of a plan buffer that a binding is; NULL for all of it.
static vy_plan_part *part_of(planner *w, const dispatch *d, uint32_t binding)
{
    const vy_kernel_binding *b = &d->kernel->bindings[binding];
    vy_plan_part *part = room(w, 1, sizeof *part);
    if (!part) return NULL;
    part->offset = d->args[binding].offset;
    if (part->offset == VY_NO_EXPR) part->offset = constant(w, 0);
    part->source_offset = constant(w, 0);
    part->count = constant(w, 1);
    for (uint32_t k = 0; k < b->rank; k++)
        part->count = k ? vy_describe_binary(&w->d, VY_EXPR_MUL, part->count, d->exprs[b->dims[k]])
                        : d->exprs[b->dims[k]];
    return part;
}

static uint32_t find_binding(const vy_kernel *k, const char *name)
{
    uint32_t i = 0;
    while (i + 1 < k->binding_count && strcmp(k->bindings[i].name, name)) i++;
    return i;
}

// What the bindings need before the dispatch, besides the clearing of `out`, which is part of it.
static void start_bindings(planner *w, const dispatch *d)
{
    for (uint32_t i = 0; i < d->kernel->binding_count && !w->d.oom; i++) {
        const vy_kernel_binding *b = &d->kernel->bindings[i];
        const uint32_t to = d->args[i].buffer;
        vy_plan_part *part = d->ranks[i] ? part_of(w, d, i) : NULL;
        if (b->init && strcmp(b->init, "1") == 0) {
            add_fill(w, to, vy_plan_one(b->type), part);
        } else if (b->init) {
            const uint32_t from = find_binding(d->kernel, b->init);
            if (!part && d->ranks[from]) part = part_of(w, d, i);
            if (part && d->ranks[from]) part->source_offset = d->args[from].offset;
            add_copy(w, to, d->args[from].buffer, part);
        } else if (b->workspace && b->access != VY_ACCESS_OUT) {
            add_fill(w, to, 0, NULL); // scratch memory starts as zero
        }
    }
}

static void add_dispatch(planner *w, const vy_pipe_step *s)
{
    const uint32_t index = w->k->index[s->program];
    const vy_kernel *k = &w->kernels[index];
    dispatch d = {.s = s, .program = w->k->programs[index], .kernel = k, .index = index};
    d.symbols = room(w, k->symbol_count, sizeof *d.symbols);
    d.exprs = room(w, k->expr_count, sizeof *d.exprs);
    d.args = room(w, k->binding_count, sizeof *d.args);
    d.ranks = room(w, k->binding_count, sizeof *d.ranks);
    uint32_t *groups = s->groups ? room(w, 3, sizeof *groups) : NULL;
    if (w->d.oom) return;
    bind_params(w, &d);
    find_symbols(w, &d);
    substitute(w, &d);
    if (w->d.oom) return;
    check_shapes(w, &d);
    add_workspaces(w, &d);
    start_bindings(w, &d);
    for (uint32_t i = 0; groups && i < 3; i++) groups[i] = vy_describe_dim(&w->d, s->groups[i]);
    add_step(w, (vy_plan_step){.kind = VY_STEP_DISPATCH,
                               .kernel = index,
                               .args = d.args,
                               .symbols = d.symbols,
                               .groups = groups});
}

// ------------------------------------------------------------------------------------------ steps
static void add_value(planner *w, const vy_pipe_step *s, uint32_t step)
{
    const uint32_t at = element(w, s, s->buffer, s->index_count, s->index);
    add_step(w, (vy_plan_step){.kind = VY_STEP_READBACK,
                               .buffer = plan_buffer(s->buffer),
                               .expr = at,
                               .symbol = w->step_symbols[step]});
}

static void add_repeat(planner *w, const vy_pipe_step *s, uint32_t step)
{
    const uint32_t from = vy_describe_dim(&w->d, s->from), to = vy_describe_dim(&w->d, s->to);
    const uint32_t zero = constant(w, 0);
    w->opened[step] = w->steps.count;
    add_step(w,
             (vy_plan_step){.kind = VY_STEP_REPEAT,
                            .expr = from == zero ? to
                                                 : vy_describe_binary(&w->d, VY_EXPR_SUB, to, from),
                            .symbol = w->step_symbols[step]});
}

static void add_steps(planner *w)
{
    const vy_program *signature = w->p->signature;
    for (uint32_t i = 1; i < signature->buffers.count; i++)
        if (!signature->buffers.data[i].workspace) start_buffer(w, i, false);
    for (uint32_t i = 0; i < w->p->steps.count && !w->d.oom; i++) {
        const vy_pipe_step *s = &w->p->steps.data[i], *opener = &w->p->steps.data[s->partner];
        switch (s->kind) {
        case VY_PIPE_BUFFER:
            start_buffer(w, s->buffer.id, !overwritten_first(w, i, s->buffer.id));
            break;
        case VY_PIPE_DISPATCH: add_dispatch(w, s); break;
        case VY_PIPE_VALUE: add_value(w, s, i); break;
        case VY_PIPE_REPEAT: add_repeat(w, s, i); break;
        case VY_PIPE_CHECKPOINT: break;
        case VY_PIPE_END: {
            const uint32_t at = w->opened[s->partner];
            if (opener->kind == VY_PIPE_REPEAT) w->steps.data[at].count = w->steps.count - at - 1;
            break;
        }
        }
    }
}

static const void *keep(planner *w, const void *data, size_t count, size_t size)
{
    void *block = room(w, count, size);
    if (block && count) memcpy(block, data, count * size);
    return block;
}

bool vy_plan_pipeline(const vy_pipeline *p, const vy_pipe_kernels *k, const vy_kernel *kernels,
                      vy_arena *arena, vy_plan *plan)
{
    planner w = {.p = p, .k = k, .kernels = kernels};
    if (vy_describe_symbols(&w.d, p->signature, arena)) {
        w.step_symbols = room(&w, p->steps.count, sizeof *w.step_symbols);
        w.opened = room(&w, p->steps.count, sizeof *w.opened);
        w.d.pipeline = p;
        w.d.step_symbols = w.step_symbols;
        if (!w.d.oom) add_symbols(&w);
        if (!w.d.oom) vy_describe_dims(&w.d);
        if (!w.d.oom) add_signature_buffers(&w);
        if (!w.d.oom) add_steps(&w);
    }
    const char *name = print(&w, "%s", p->name);
    *plan = (vy_plan){
        .name = name,
        .kernels = kernels,
        .kernel_count = k->count,
        .buffers = keep(&w, w.buffers.data, w.buffers.count, sizeof *w.buffers.data),
        .buffer_count = w.buffers.count,
        .symbols = keep(&w, w.d.symbols.data, w.d.symbols.count, sizeof *w.d.symbols.data),
        .symbol_count = w.d.symbols.count,
        .exprs = keep(&w, w.d.exprs.data, w.d.exprs.count, sizeof *w.d.exprs.data),
        .expr_count = w.d.exprs.count,
        .steps = keep(&w, w.steps.data, w.steps.count, sizeof *w.steps.data),
        .step_count = w.steps.count,
    };
    const bool ok = !w.d.oom;
    vy_vec_free(&w.buffers);
    vy_vec_free(&w.steps);
    vy_vec_free(&w.shared);
    vy_describe_free(&w.d);
    return ok;
}
