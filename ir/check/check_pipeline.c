// SPDX-License-Identifier: MIT
// check_pipeline.c: the checker for pipelines: blocks, and what is known where.
//
// A counter is known inside its repeat, a value and an intermediate after their step and inside its
// block.  A dimension expression may contain many of those; the steps at which all of them are
// known are one range, the intersection of theirs, so one pass over the nodes and one over the
// steps are enough.
#include "ir/check/check.h"
#include "ir/core/pipe.h"

#include <string.h>

typedef struct step_range { // from … to - 1
    uint32_t from, to;
} step_range;

typedef struct check {
    vy_pipeline *l;
    vy_module *m;
    const vy_program *sig;
    uint32_t *until;     // by step: the END of its block, or the number of steps
    step_range *dims;    // by dimension: where it is known
    uint32_t *sizes;     // by dimension: its nodes as a tree
    uint64_t total;      // sum of the sizes of those used so far
    step_range *buffers; // by buffer
    uint8_t *written;    // by buffer, while walking
    vy_dim_facts facts;
    uint32_t step; // the current one
    bool ok;
} check;

static bool malformed(const check *c, const char *what)
{
    vy_fail(c->m, VY_E_INTERNAL, c->l->line, 0, NULL, "pipeline `%s`: %s", c->l->name, what);
    return false;
}

static bool refuse(check *c, vy_code code, const char *fix, const char *format, const char *name)
{
    const vy_pipe_step *s = &c->l->steps.data[c->step];
    vy_fail(c->m, code, s->line, s->column, fix, format, name);
    return c->ok = false;
}

// ------------------------------------------------------------------------------------------ tables
// Does the step refer to what exists only?
static bool good_step(const check *c, const vy_pipe_step *s)
{
    const uint32_t buffers = c->sig->buffers.count;
    if ((s->kind == VY_PIPE_BUFFER || s->kind == VY_PIPE_VALUE) &&
        (!s->buffer.id || s->buffer.id >= buffers))
        return false;
    if (s->kind == VY_PIPE_VALUE) return s->index_count == c->sig->buffers.data[s->buffer.id].rank;
    if (s->kind == VY_PIPE_REPEAT) return s->counter && (unsigned)s->keep <= VY_KEEP_REVOLVE;
    if (s->kind != VY_PIPE_DISPATCH) return true;
    if (s->program >= c->m->programs.count) return false;
    const vy_program *p = c->m->programs.data[s->program];
    for (uint32_t i = 0; i < p->scalars.count; i++)
        if (s->scalars[i].kind == VY_PIPE_PARAM && s->scalars[i].scalar >= c->sig->scalars.count)
            return false;
    for (uint32_t i = 0; i < s->arg_count; i++)
        if (!s->args[i].buffer.id || s->args[i].buffer.id >= buffers) return false;
    return true;
}

void vy_pipe_each_dim(const vy_pipeline *l, const vy_pipe_step *s, bool implied, void *user,
                      void (*use)(void *user, vy_dim d))
{
    if (s->kind == VY_PIPE_BUFFER) {
        const vy_buf *b = &l->signature->buffers.data[s->buffer.id];
        for (uint32_t k = 0; k < b->rank; k++) use(user, b->dims[k]);
    }
    for (uint32_t k = 0; k < s->index_count; k++) use(user, s->index[k]);
    if (s->kind == VY_PIPE_REPEAT) {
        use(user, s->from);
        use(user, s->to);
        if (s->keep == VY_KEEP_EVERY || s->keep == VY_KEEP_REVOLVE) use(user, s->keep_count);
    }
    if (s->kind == VY_PIPE_TEST) use(user, s->from);
    if (s->kind != VY_PIPE_DISPATCH) return;
    for (int k = 0; s->groups && k < 3; k++) use(user, s->groups[k]);
    for (uint32_t i = 0; i < s->arg_count; i++) {
        for (uint32_t k = 0; k < s->args[i].rank; k++) use(user, s->args[i].index[k]);
        if (implied && s->args[i].flat) use(user, s->args[i].elements);
    }
    const vy_program *p = l->module->programs.data[s->program];
    for (uint32_t i = 0; implied && i < p->scalars.count; i++)
        if (s->scalars[i].kind == VY_PIPE_DIM) use(user, s->scalars[i].dim);
}

static void check_id(void *user, vy_dim d)
{
    check *c = user;
    if (!d.id || d.id >= c->sig->dims.count) c->ok = false;
}

static bool good_steps(check *c)
{
    for (uint32_t i = 0; i < c->l->steps.count; i++) {
        const vy_pipe_step *s = &c->l->steps.data[i];
        if ((unsigned)s->kind > VY_PIPE_END || !good_step(c, s)) c->ok = false;
        if (c->ok) vy_pipe_each_dim(c->l, s, true, c, check_id);
        if (!c->ok) return malformed(c, "a step refers to nothing");
    }
    return true;
}

// ------------------------------------------------------------------------------------------ blocks
// A repeat without bound, which its test leaves.
static bool good_while(const check *c, const vy_pipe_step *s)
{
    const vy_dim_node *from = &c->sig->dims.data[s->from.id], *to = &c->sig->dims.data[s->to.id];
    return s->kind == VY_PIPE_REPEAT && s->test < c->l->steps.count &&
           c->l->steps.data[s->test].kind == VY_PIPE_TEST &&
           &c->l->steps.data[c->l->steps.data[s->test].partner] == s && from->op == VY_DIM_CONST &&
           from->value == 0 && to->op == VY_DIM_CONST && to->value == VY_WHILE_MOST;
}

static bool find_blocks(check *c, vy_arena *arena)
{
    const vy_pipe_step_vec *steps = &c->l->steps;
    uint32_t *open = vy_arena_alloc(arena, (VY_MAX_NESTING + 1) * sizeof *open), depth = 0;
    if (!open) {
        vy_fail_oom(c->m);
        return false;
    }
    for (uint32_t i = 0; i < steps->count; i++) {
        const vy_pipe_step *s = &steps->data[i];
        if (s->kind == VY_PIPE_END && (depth == 0 || open[--depth] != s->partner))
            return malformed(c, "its blocks are not paired");
        c->until[i] = depth ? steps->data[open[depth - 1]].partner : steps->count;
        if (s->kind == VY_PIPE_TEST &&
            (depth == 0 || open[depth - 1] != s->partner || steps->data[s->partner].test != i))
            return malformed(c, "a test is in no `while`");
        if (s->kind != VY_PIPE_REPEAT && s->kind != VY_PIPE_CHECKPOINT) continue;
        if (s->partner <= i || s->partner >= c->until[i] ||
            steps->data[s->partner].kind != VY_PIPE_END || steps->data[s->partner].partner != i)
            return malformed(c, "its blocks are not paired");
        if (s->test && !good_while(c, s)) return malformed(c, "a `while` has no test");
        if (depth >= VY_MAX_NESTING) return malformed(c, "its blocks are nested too deep");
        open[depth++] = i;
    }
    return depth == 0 || malformed(c, "its blocks are not paired");
}

// ---------------------------------------------------------------------------------- what is known
static bool find_buffers(check *c)
{
    const vy_program *sig = c->sig;
    const uint32_t *w = sig->workgroup;
    bool intermediates = false;
    if (!sig->signature || sig->overs.count || sig->has_workgroup || w[0] * w[1] * w[2] != 1)
        return malformed(c, "it has a domain");
    if (sig->exact || sig->exact_sums)
        return malformed(c, "it is @exact or @exact_sums, as only programs are");
    for (uint32_t id = 1; id < sig->buffers.count; id++) {
        const vy_buf *b = &sig->buffers.data[id];
        if (!vy_is_global(b->cls) || (b->workspace && b->cls != VY_INOUT) || b->view_of)
            return malformed(c, "it has a buffer that is neither parameter nor intermediate");
        if (!b->workspace && intermediates) return malformed(c, "a parameter follows a step");
        if (!b->workspace && b->init != VY_INIT_NONE) {
            vy_fail(c->m, VY_E_ATTRIBUTE, c->l->line, 0,
                    "begin it in a program, or with `buffer` inside the pipeline",
                    "parameter `%s` of pipeline `%s` has @init", b->name, c->l->name);
            return false;
        }
        intermediates |= b->workspace;
        c->buffers[id] = b->workspace ? (step_range){0} : (step_range){0, c->l->steps.count};
    }
    for (uint32_t i = 0; i < c->l->steps.count; i++) {
        const vy_pipe_step *s = &c->l->steps.data[i];
        if (s->kind != VY_PIPE_BUFFER) continue;
        step_range *r = &c->buffers[s->buffer.id];
        if (r->to) return malformed(c, "a buffer begins twice");
        *r = (step_range){i + 1, c->until[i]};
    }
    for (uint32_t id = 1; id < sig->buffers.count; id++)
        if (!c->buffers[id].to && sig->buffers.data[id].workspace)
            return malformed(c, "an intermediate never begins");
    return true;
}

static bool step_known(const check *c, int64_t step, step_range *out)
{
    if (step < 0 || step >= c->l->steps.count) return false;
    const vy_pipe_step *s = &c->l->steps.data[step];
    bool repeat = s->kind == VY_PIPE_REPEAT;
    *out = (step_range){(uint32_t)step + 1, repeat ? s->partner : c->until[step]};
    if (repeat && s->test) out->to = 0; // a `while` has no counter
    return repeat || s->kind == VY_PIPE_VALUE;
}

// `?` is only allowed as the length of a parameter.
static bool length_known(const check *c, int64_t buffer)
{
    const vy_buf *b = &c->sig->buffers.data[buffer];
    return buffer > 0 && !b->workspace && b->rank &&
           c->sig->dims.data[b->dims[0].id].op == VY_DIM_UNKNOWN;
}

static bool find_dims(check *c)
{
    for (uint32_t i = 1; i < c->sig->dims.count; i++) {
        const vy_dim_node *d = &c->sig->dims.data[i];
        step_range r = {0, c->l->steps.count};
        bool good = d->op == VY_DIM_STEP      ? step_known(c, d->value, &r)
                    : d->op == VY_DIM_UNKNOWN ? length_known(c, d->value) || d->value == 0
                                              : true;
        if (!good) return malformed(c, "a dimension refers to nothing");
        if (d->op == VY_DIM_UNKNOWN && d->value == 0) r.to = 0; // no buffer's: must not be used
        if (d->op >= VY_DIM_ADD) {
            step_range a = c->dims[d->a], b = c->dims[d->b];
            r = (step_range){a.from > b.from ? a.from : b.from, a.to < b.to ? a.to : b.to};
        }
        c->dims[i] = r;
    }
    for (uint32_t id = 1; id < c->sig->buffers.count; id++) {
        const vy_buf *b = &c->sig->buffers.data[id];
        for (uint32_t k = 0; !b->workspace && k < b->rank; k++)
            if (c->dims[b->dims[k].id].from) return malformed(c, "a parameter depends on a step");
    }
    return true;
}

// ------------------------------------------------------------------------------------------- steps
static void use_dim(void *user, vy_dim d)
{
    check *c = user;
    const step_range *r = &c->dims[d.id];
    if (c->ok && (c->step < r->from || c->step >= r->to))
        refuse(c, VY_E_PIPE_ORDER, NULL,
               "pipeline `%s`: a counter, value or length is used where it is not known",
               c->l->name);
    c->total += c->sizes[d.id];
    // The positions of checkpoint(revolve, k), and of segments in segments, are such expressions.
    const char *fix =
        c->sig->order > 1
            ? "keep more: without `checkpoint(…)` and --checkpoint; or, of the text of a "
              "derivative, derive at once, with --order, what that is of"
            : "read what is computed from a buffer, with value(…)";
    if (c->ok && c->total > VY_MAX_DIM_NODES)
        refuse(c, VY_E_LIMIT, fix, "the integer expressions of `%s`, expanded, are too large",
               c->l->name);
}

static bool use_buffer(check *c, vy_buffer buffer, bool reads, bool writes)
{
    const vy_buf *b = &c->sig->buffers.data[buffer.id];
    const step_range *r = &c->buffers[buffer.id];
    if (c->step < r->from || c->step >= r->to)
        return refuse(c, VY_E_PIPE_ORDER, NULL, "buffer `%s` is used outside of its block",
                      b->name);
    // Derived pipelines read gradients that nothing was added to, which are zero.
    if (reads && b->cls == VY_OUT && !c->written[buffer.id] && c->sig->order == 0)
        return refuse(c, VY_E_READ_OUT, "write it first, or declare it `inout`",
                      "`%s` is an `out` parameter of the pipeline, read before it is written",
                      b->name);
    c->written[buffer.id] |= writes;
    return true;
}

static bool check_buffer(check *c, const vy_pipe_step *s)
{
    const vy_buf *b = &c->sig->buffers.data[s->buffer.id];
    for (uint32_t k = 0; k < b->rank; k++) {
        vy_extent e = c->facts.form[b->dims[k].id];
        if (e.base == 0 && e.offset < 0)
            return refuse(c, VY_E_EXTENT, "give a size from 0 up", "`%s` has a negative size",
                          b->name);
    }
    if (b->init != VY_INIT_COPY) return true;
    vy_buffer from = vy_program_find_buffer(c->sig, b->init_from);
    const vy_buf *source = &c->sig->buffers.data[from.id];
    if (!from.id || source->type != b->type || source->rank != b->rank)
        return refuse(c, VY_E_NAME_KIND, "name a buffer of the same type and rank",
                      "`%s` cannot start as a copy of that", b->name);
    for (uint32_t k = 0; k < b->rank; k++)
        if (!vy_same_dim(&c->facts, b->dims[k], source->dims[k]))
            return refuse(c, VY_E_PIPE_SHAPE, "give it the same dimensions",
                          "`%s` starts as a copy of a buffer with another shape", b->name);
    return use_buffer(c, from, true, false);
}

static bool check_value(check *c, const vy_pipe_step *s)
{
    const vy_buf *b = &c->sig->buffers.data[s->buffer.id];
    if (!vy_type_is_integer(b->type))
        return refuse(c, VY_E_TYPE_WRONG, "read an element of a buffer of integers",
                      "the elements of `%s` are not integers", b->name);
    return use_buffer(c, s->buffer, true, false) &&
           vy_check_slice(c->l, s, &c->facts, s->buffer, s->index_count, s->index);
}

static bool check_repeat(check *c, const vy_pipe_step *s)
{
    if (s->keep != VY_KEEP_EVERY && s->keep != VY_KEEP_REVOLVE) return true;
    vy_extent k = c->facts.form[s->keep_count.id];
    if (k.base || k.offset >= 1) return true;
    return refuse(c, VY_E_PIPE_REPEAT, NULL, "`repeat %s` keeps less than one state", s->counter);
}

static bool check_dispatch(check *c, const vy_pipe_step *s)
{
    const vy_program *p = c->m->programs.data[s->program];
    if (!vy_check_arguments(c->m, c->sig, p, s)) return false;
    uint32_t n = 0;
    for (int pass = 0; pass < 2; pass++) { // a dispatch reads before it writes
        n = 0;
        for (uint32_t id = 1; id < p->buffers.count; id++) {
            const vy_buf *b = &p->buffers.data[id];
            if (!vy_pipe_binds(b)) continue;
            bool reads = b->cls == VY_IN;
            if (reads == (pass == 0) && !use_buffer(c, s->args[n].buffer, reads, !reads))
                return false;
            n++;
        }
    }
    return vy_check_dispatch(c->l, s, &c->facts);
}

static bool check_step(check *c, const vy_pipe_step *s)
{
    vy_pipe_each_dim(c->l, s, true, c, use_dim);
    if (!c->ok) return false;
    switch (s->kind) {
    case VY_PIPE_BUFFER: return check_buffer(c, s);
    case VY_PIPE_VALUE: return check_value(c, s);
    case VY_PIPE_REPEAT: return check_repeat(c, s);
    case VY_PIPE_DISPATCH: return check_dispatch(c, s);
    default: return true;
    }
}

static bool printable_names(check *c)
{
    bool ok = vy_name_printable(c->l->name);
    for (uint32_t i = 0; ok && i < c->l->steps.count; i++) {
        const vy_pipe_step *s = &c->l->steps.data[i];
        ok = s->kind != VY_PIPE_REPEAT || vy_name_printable(s->counter);
    }
    if (!ok)
        vy_fail(c->m, VY_E_API, c->l->line, 0, "use letters, digits and `_`",
                "the name of a pipeline or of a counter cannot be written as text");
    return ok;
}

bool vy_check_pipeline(vy_pipeline *l)
{
    vy_arena arena = {0};
    check c = {.l = l, .m = l->module, .sig = l->signature, .ok = true};
    if (!vy_module_ok(l->module) || !vy_check_declarations(l->signature)) return false;
    const vy_program *sig = l->signature;
    c.until = vy_arena_alloc(&arena, (l->steps.count + (size_t)1) * sizeof *c.until);
    c.dims = vy_arena_alloc(&arena, sig->dims.count * sizeof *c.dims);
    c.sizes = vy_arena_alloc(&arena, sig->dims.count * sizeof *c.sizes);
    c.buffers = vy_arena_alloc(&arena, sig->buffers.count * sizeof *c.buffers);
    c.written = vy_arena_alloc(&arena, sig->buffers.count);
    bool memory = c.until && c.dims && c.sizes && c.buffers && c.written &&
                  vy_dim_facts_make(&c.facts, sig, &arena);
    if (memory) vy_dim_sizes(sig, c.sizes);
    if (memory && good_steps(&c) && find_blocks(&c, &arena) && find_buffers(&c) && find_dims(&c) &&
        printable_names(&c))
        for (; c.step < l->steps.count; c.step++)
            if (!check_step(&c, &l->steps.data[c.step])) break;
    if (!memory) vy_fail_oom(l->module);
    vy_arena_free(&arena);
    return vy_module_ok(l->module);
}
