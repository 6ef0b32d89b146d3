// SPDX-License-Identifier: MIT
// plan_pipeline.c: a pipeline as a plan (plan.h).
//
//   buffer      fill, or copy, by its @init; nothing where its first use overwrites all of it
//   dispatch    checks of slices and shapes, fills and copies for the program's @workspace and
//               @init, the dispatch.  Checks whose two sides are the same expression are omitted
//   value       checks of the index, readback
//   repeat      repeat, of the difference of its bounds; `while` one without bound, with a test
//   checkpoint  nothing
//
// The plan's symbols are the signature's scalars, `?` extents and group counts, then one per repeat
// and value.  Its buffers are the signature's, then the workspaces of the programs dispatched:
// dispatches of one program with the same scalars share them.
#include "spirv/plan/planner.h"
#include "spirv/describe/describe.h"
#include "spirv/plan/make.h"

#include <string.h>

// ---------------------------------------------------------------------------------------- symbols
static bool take_name(vy_planner *w, vy_strings *taken, const char *name)
{
    const uint32_t before = taken->used;
    if (!vy_intern(taken, name, strlen(name))) w->d.oom = true;
    return taken->used != before;
}

// Expressions are printed with symbols' names, so these are unique: t, or t_5 if it is number 5.
static const char *own_name(vy_planner *w, vy_strings *taken, const char *prefix, const char *base)
{
    const char *name = vy_planner_print(w, "%s%.200s", prefix, base);
    for (uint32_t i = w->d.symbols.count; !w->d.oom && !take_name(w, taken, name); i++)
        name = vy_planner_print(w, "%s%.200s_%u", prefix, base, i);
    return name;
}

static void add_symbols(vy_planner *w, vy_strings *taken)
{
    const vy_program *signature = w->p->signature;
    for (uint32_t i = 0; i < w->d.symbols.count; i++)
        take_name(w, taken, w->d.symbols.data[i].name);
    for (uint32_t i = 0; i < w->p->steps.count && !w->d.oom; i++) {
        const vy_pipe_step *s = &w->p->steps.data[i];
        const char *name = NULL;
        if (s->kind == VY_PIPE_REPEAT) name = own_name(w, taken, "", s->counter);
        if (s->kind == VY_PIPE_VALUE)
            name = own_name(w, taken, "value_", signature->buffers.data[s->buffer.id].name);
        if (!name) continue;
        const bool repeat = s->kind == VY_PIPE_REPEAT;
        w->step_symbols[i] = w->d.symbols.count;
        vy_describe_symbol(&w->d,
                           (vy_symbol){.name = name,
                                       .kind = repeat ? VY_SYMBOL_REPEAT : VY_SYMBOL_READBACK,
                                       .type = "i64"});
    }
    w->watch_symbol = w->d.symbols.count;
    if (w->watched)
        vy_describe_symbol(&w->d, (vy_symbol){.name = VY_WATCH_NAME,
                                              .kind = VY_SYMBOL_READBACK,
                                              .type = "i64"});
}

// ------------------------------------------------------------------------------------- ended loops
static void add_watch_buffer(vy_planner *w)
{
    uint32_t *dims = vy_planner_room(w, 1, sizeof *dims);
    if (w->d.oom || !w->watched) return;
    dims[0] = vy_planner_const(w, 1);
    const vy_plan_buffer buffer = {.name = VY_WATCH_NAME,
                                   .role = VY_ROLE_WORKSPACE,
                                   .type = vy_type_name(VY_U32),
                                   .elem_size = vy_type_size(VY_U32),
                                   .rank = 1,
                                   .dims = dims};
    w->watch = w->buffers.count;
    if (!vy_vec_push(&w->buffers, buffer)) w->d.oom = true;
    vy_planner_fill(w, w->watch, 1, NULL);
}

void vy_planner_watch(vy_planner *w)
{
    if (!w->watched || w->d.oom) return;
    vy_planner_step(w, (vy_plan_step){.kind = VY_STEP_READBACK,
                                      .buffer = w->watch,
                                      .expr = vy_planner_const(w, 0),
                                      .symbol = w->watch_symbol});
    vy_planner_step(w, vy_plan_watch_check(w->watch_symbol, vy_planner_const(w, 1)));
}

// ---------------------------------------------------------------------------------------- buffers
static void add_signature_buffers(vy_planner *w)
{
    static const vy_role roles[] = {
        [VY_IN] = VY_ROLE_IN, [VY_OUT] = VY_ROLE_OUT, [VY_INOUT] = VY_ROLE_INOUT};
    const vy_program *signature = w->p->signature;
    for (uint32_t i = 1; i < signature->buffers.count && !w->d.oom; i++) {
        const vy_buf *b = &signature->buffers.data[i];
        uint32_t *dims = vy_planner_room(w, b->rank, sizeof *dims);
        for (uint32_t k = 0; k < b->rank && !w->d.oom; k++)
            dims[k] = vy_describe_dim(&w->d, b->dims[k]);
        const vy_plan_buffer buffer = {
            .name = vy_planner_print(w, "%s", b->name),
            .role = b->workspace ? VY_ROLE_WORKSPACE : roles[b->cls],
            .type = vy_type_name(b->type),
            .elem_size = vy_type_size(b->type),
            .rank = b->rank,
            .dims = dims,
        };
        if (!vy_vec_push(&w->buffers, buffer)) w->d.oom = true;
    }
}

static uint32_t signature_buffer(const vy_planner *w, const char *name)
{
    return vy_program_find_buffer(w->p->signature, name).id; // the checker has found it
}

// Gives a buffer of the signature the contents of its @init; without one, zero if `clear`.
static void start_buffer(vy_planner *w, uint32_t buffer, bool clear)
{
    const vy_buf *b = &w->p->signature->buffers.data[buffer];
    const uint32_t to = vy_planner_buffer((vy_buffer){buffer});
    if (b->init == VY_INIT_ONES)
        vy_planner_fill(w, to, vy_plan_one(vy_type_name(b->type)), NULL);
    else if (b->init == VY_INIT_COPY)
        vy_planner_copy(w, to, signature_buffer(w, b->init_from) - 1, NULL);
    else if (clear)
        vy_planner_fill(w, to, 0, NULL);
}

// ------------------------------------------------------------------------------------------ steps
static void add_value(vy_planner *w, const vy_pipe_step *s, uint32_t step)
{
    const uint32_t at = vy_planner_element(w, s, s->buffer, s->index_count, s->index);
    vy_planner_watch(w); // the value may be wrong because such a loop was ended
    vy_planner_step(w, (vy_plan_step){.kind = VY_STEP_READBACK,
                                      .buffer = vy_planner_buffer(s->buffer),
                                      .expr = at,
                                      .symbol = w->step_symbols[step]});
}

static void add_repeat(vy_planner *w, const vy_pipe_step *s, uint32_t step)
{
    const uint32_t from = vy_describe_dim(&w->d, s->from), to = vy_describe_dim(&w->d, s->to);
    const uint32_t zero = vy_planner_const(w, 0);
    w->opened[step] = w->steps.count;
    vy_planner_step(w, (vy_plan_step){.kind = VY_STEP_REPEAT,
                                      .expr = from == zero ? to
                                                           : vy_describe_binary(&w->d, VY_EXPR_SUB,
                                                                                to, from),
                                      .symbol = w->step_symbols[step]});
}

static void add_steps(vy_planner *w)
{
    const vy_program *signature = w->p->signature;
    uint8_t *cleared = vy_planner_room(w, signature->buffers.count, sizeof *cleared);
    if (!cleared || !vy_pipe_cleared(w->p, w->d.arena, cleared)) w->d.oom = true;
    for (uint32_t i = 1; i < signature->buffers.count && !w->d.oom; i++)
        if (!signature->buffers.data[i].workspace) start_buffer(w, i, false);
    for (uint32_t i = 0; i < w->p->steps.count && !w->d.oom; i++) {
        const vy_pipe_step *s = &w->p->steps.data[i], *opener = &w->p->steps.data[s->partner];
        switch (s->kind) {
        case VY_PIPE_BUFFER: start_buffer(w, s->buffer.id, cleared[s->buffer.id]); break;
        case VY_PIPE_DISPATCH: vy_planner_dispatch(w, s); break;
        case VY_PIPE_VALUE: add_value(w, s, i); break;
        case VY_PIPE_REPEAT: add_repeat(w, s, i); break;
        case VY_PIPE_TEST:
            vy_planner_step(w, (vy_plan_step){.kind = VY_STEP_TEST,
                                              .expr = vy_describe_dim(&w->d, s->from)});
            break;
        case VY_PIPE_CHECKPOINT: break;
        case VY_PIPE_END: {
            const uint32_t at = w->opened[s->partner];
            if (opener->kind == VY_PIPE_REPEAT) w->steps.data[at].count = w->steps.count - at - 1;
            break;
        }
        }
    }
}

static const void *keep(vy_planner *w, const void *data, size_t count, size_t size)
{
    void *block = vy_planner_room(w, count, size);
    if (block && count) memcpy(block, data, count * size);
    return block;
}

bool vy_plan_pipeline(const vy_pipeline *p, const vy_pipe_kernels *k, const vy_kernel *kernels,
                      vy_arena *arena, vy_plan *plan)
{
    vy_planner w = {.p = p, .k = k, .kernels = kernels};
    vy_strings taken = {0};
    if (vy_describe_symbols(&w.d, p->signature, arena)) {
        w.step_symbols = vy_planner_room(&w, p->steps.count, sizeof *w.step_symbols);
        w.opened = vy_planner_room(&w, p->steps.count, sizeof *w.opened);
        w.d.pipeline = p;
        w.d.step_symbols = w.step_symbols;
        for (uint32_t i = 0; i < k->count; i++) w.watched |= kernels[i].watched;
        if (!w.d.oom) add_symbols(&w, &taken);
        if (!w.d.oom) vy_describe_dims(&w.d);
        if (!w.d.oom) add_signature_buffers(&w);
        if (!w.d.oom) add_watch_buffer(&w);
        if (!w.d.oom) add_steps(&w);
        vy_planner_watch(&w);
    }
    const char *name = vy_planner_print(&w, "%s", p->name);
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
    vy_strings_free(&taken);
    vy_vec_free(&w.buffers);
    vy_vec_free(&w.steps);
    vy_vec_free(&w.shared);
    vy_describe_free(&w.d);
    return ok;
}
