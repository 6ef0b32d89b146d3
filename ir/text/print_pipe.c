// SPDX-License-Identifier: MIT
// print_pipe.c: pipelines as text.
//
// A VALUE step is written inside the next step if that is its only use, else as a `let`.  When the
// text is parsed, it becomes a step at the same place: the next step has no other value(…) that
// would come in between.  Scalars are written only if the shapes do not imply the same expression.
#include "ir/text/print.h"

#include "ir/core/pipe.h"

#include <string.h>

typedef struct pipe_printer {
    printer *o;
    const vy_pipeline *l;
    uint32_t *class;   // by dimension: equal expressions (equal.c)
    uint32_t *uses;    // by dimension: how often it is written; 2: or more
    uint32_t *user;    // by dimension: a step that writes it
    vy_dim *inferred;  // by scalar of the program being dispatched
    uint32_t *numbers; // by step; see print.h
    uint32_t step;
    uint32_t tested; // the last TEST that is written with its `while`
} pipe_printer;

// Does the scalar have to be written?  q->inferred belongs to its dispatch.
static bool is_explicit(const pipe_printer *q, const vy_pipe_scalar *s, uint32_t index)
{
    uint32_t d = q->inferred[index].id;
    return s->kind != VY_PIPE_DIM || !d || q->class[d] != q->class[s->dim.id];
}

static const vy_program *begin_dispatch(pipe_printer *q, const vy_pipe_step *s)
{
    const vy_program *p = q->l->module->programs.data[s->program];
    vy_pipe_infer(q->l->signature, p, s->args, q->inferred);
    return p;
}

// ------------------------------------------------------------------------------------- where used
static void note(pipe_printer *q, uint32_t dim, uint32_t times, uint32_t user)
{
    uint32_t sum = q->uses[dim] + times;
    q->uses[dim] = sum > 2 ? 2 : sum;
    q->user[dim] = user;
}

static void note_root(void *user, vy_dim d)
{
    pipe_printer *q = user;
    note(q, d.id, 1, q->step);
}

// numbers[step]: 1 if the value needs a name, 0 if it is written inside the next step.
static void find_uses(pipe_printer *q)
{
    const vy_program *sig = q->l->signature;
    for (q->step = 0; q->step < q->l->steps.count; q->step++) {
        const vy_pipe_step *s = &q->l->steps.data[q->step];
        vy_pipe_each_dim(q->l, s, false, q, note_root);
        if (s->kind != VY_PIPE_DISPATCH) continue;
        const vy_program *p = begin_dispatch(q, s);
        for (uint32_t i = 0; i < p->scalars.count; i++)
            if (s->scalars[i].kind == VY_PIPE_DIM && is_explicit(q, &s->scalars[i], i))
                note_root(q, s->scalars[i].dim);
    }
    for (uint32_t i = sig->dims.count; i-- > 1;) {
        const vy_dim_node *d = &sig->dims.data[i];
        if (d->op < VY_DIM_ADD || !q->uses[i]) continue;
        note(q, d->a, q->uses[i], q->user[i]);
        note(q, d->b, q->uses[i], q->user[i]);
    }
    // Per step: the number of its values that are not written inside the next step.
    uint32_t *once = q->numbers;
    for (uint32_t i = 0; i < q->l->steps.count; i++) once[i] = UINT32_MAX;
    for (uint32_t i = 1; i < sig->dims.count; i++) {
        const vy_dim_node *d = &sig->dims.data[i];
        if (d->op != VY_DIM_STEP || !q->uses[i]) continue;
        bool next = q->uses[i] == 1 && q->user[i] == d->value + 1 && once[d->value] == UINT32_MAX;
        once[d->value] = next ? 0 : 1;
    }
    for (uint32_t i = 0; i < q->l->steps.count; i++)
        if (once[i] == UINT32_MAX) once[i] = 1;
}

// ------------------------------------------------------------------------------------------- steps

static void print_buffer_step(printer *o, const vy_pipe_step *s)
{
    const vy_buf *b = &o->p->buffers.data[s->buffer.id];
    print_init(o, b);
    print_str(o, "buffer ");
    print_identifier(o, b->name);
    print_str(o, ": ");
    print_str(o, vy_type_name(b->type));
    print_dims(o, b);
    print_str(o, ";\n");
}

static void print_groups(printer *o, const vy_dim *groups)
{
    uint32_t n = 3;
    for (; n > 1; n--) {
        const vy_dim_node *d = &o->p->dims.data[groups[n - 1].id];
        if (d->op != VY_DIM_CONST || d->value != 1) break;
    }
    for (uint32_t k = 0; k < n; k++) {
        print_str(o, k ? ", " : "@groups(");
        print_dim(o, groups[k].id, 0, 0);
    }
    print_str(o, ") ");
}

static void print_given(printer *o, const vy_pipe_scalar *s, vy_type type)
{
    print_identifier(o, s->name);
    print_str(o, "=");
    if (s->kind == VY_PIPE_DIM)
        print_dim(o, s->dim.id, 0, 0);
    else if (s->kind == VY_PIPE_PARAM)
        print_identifier(o, o->p->scalars.data[s->scalar].name);
    else
        print_scalar(o, type, s->value, true, type);
}

static void print_dispatch(pipe_printer *q, const vy_pipe_step *s)
{
    printer *o = q->o;
    const vy_program *p = begin_dispatch(q, s);
    bool first = true;
    if (s->groups) print_groups(o, s->groups);
    print_identifier(o, p->name);
    print_str(o, "(");
    for (uint32_t i = 0; i < s->arg_count; i++, first = false) {
        const vy_pipe_arg *a = &s->args[i];
        if (!first) print_str(o, ", ");
        if (a->flat) print_str(o, "flat(");
        print_identifier(o, o->p->buffers.data[a->buffer.id].name);
        for (uint32_t k = 0; k < a->rank; k++) {
            print_str(o, k ? ", " : "[");
            print_dim(o, a->index[k].id, 0, 0);
        }
        if (a->rank) print_str(o, "]");
        if (a->flat) print_str(o, ")");
    }
    for (uint32_t i = 0; i < p->scalars.count; i++) {
        if (!is_explicit(q, &s->scalars[i], i)) continue;
        if (!first) print_str(o, ", ");
        print_given(o, &s->scalars[i], p->scalars.data[i].type);
        first = false;
    }
    print_str(o, ");\n");
}

static void open_block(printer *o)
{
    print_str(o, "{\n");
    if (!vy_vec_push(&o->frames, (print_frame){.scope = o->names.scope.count})) o->failed = true;
}

static void print_keep(pipe_printer *q, const vy_pipe_step *s)
{
    printer *o = q->o;
    if (s->keep == VY_KEEP_SQRT) print_str(o, " checkpoint(sqrt)");
    if (s->keep != VY_KEEP_EVERY && s->keep != VY_KEEP_REVOLVE) return;
    const vy_dim_node *k = &o->p->dims.data[s->keep_count.id];
    // A scalar may be called sqrt.
    bool brackets = k->op == VY_DIM_SCALAR;
    print_str(o, s->keep == VY_KEEP_REVOLVE ? " checkpoint(revolve, " : " checkpoint(");
    brackets = brackets && strcmp(o->p->scalars.data[k->value].name, "sqrt") == 0;
    if (brackets) print_str(o, "(");
    print_dim(o, s->keep_count.id, 0, 0);
    print_str(o, brackets ? "))" : ")");
}

static void print_repeat(pipe_printer *q, const vy_pipe_step *s)
{
    printer *o = q->o;
    print_str(o, "repeat ");
    uint32_t scope = o->names.scope.count;
    uint32_t name = print_names_unique(o, s->counter);
    if (o->failed) return;
    q->numbers[q->step] = name;
    print_name_of(o, name);
    print_str(o, " in ");
    print_dim(o, s->from.id, 0, 0);
    print_str(o, "..");
    print_dim(o, s->to.id, 0, 0);
    print_keep(q, s);
    print_str(o, " ");
    open_block(o);
    if (!o->failed) o->frames.data[o->frames.count - 1].scope = scope;
}

// Are the steps of the condition written inside it?
static bool is_short(const pipe_printer *q, const vy_pipe_step *s)
{
    for (uint32_t i = q->step + 1; i < s->test; i++)
        if (q->l->steps.data[i].kind != VY_PIPE_VALUE || q->numbers[i]) return false;
    return true;
}

// `while condition {`, or `while { steps condition } {`, which print_test completes.
static void print_while(pipe_printer *q, const vy_pipe_step *s)
{
    print_str(q->o, "while ");
    if (is_short(q, s)) {
        print_dim(q->o, q->l->steps.data[s->test].from.id, 0, 0);
        print_keep(q, s);
        print_str(q->o, " ");
        q->tested = s->test;
    }
    open_block(q->o);
}

static void print_test(pipe_printer *q, const vy_pipe_step *s)
{
    printer *o = q->o;
    if (q->tested == q->step) return;
    print_indent(o);
    print_dim(o, s->from.id, 0, 0);
    print_str(o, "\n");
    o->frames.count--;
    print_indent(o);
    o->frames.count++;
    print_str(o, "}");
    print_keep(q, &q->l->steps.data[s->partner]);
    print_str(o, " {\n");
}

static void print_value(pipe_printer *q, const vy_pipe_step *s)
{
    printer *o = q->o;
    print_indent(o);
    print_str(o, "let ");
    uint32_t name = print_names_unique(o, "");
    if (o->failed) return;
    print_name_of(o, name);
    print_str(o, " = ");
    print_step_element(o, s, 0);
    print_str(o, ";\n");
    q->numbers[q->step] = name;
}

static void print_step(pipe_printer *q, const vy_pipe_step *s)
{
    printer *o = q->o;
    if (s->kind == VY_PIPE_VALUE) {
        if (q->numbers[q->step]) print_value(q, s);
        return;
    }
    if (s->kind == VY_PIPE_END) {
        print_names_close(o, o->frames.data[--o->frames.count].scope);
        print_indent(o);
        print_str(o, "}\n");
        return;
    }
    if (s->kind == VY_PIPE_TEST) {
        print_test(q, s);
        return;
    }
    print_indent(o);
    switch (s->kind) {
    case VY_PIPE_BUFFER: print_buffer_step(o, s); break;
    case VY_PIPE_DISPATCH: print_dispatch(q, s); break;
    case VY_PIPE_REPEAT:
        if (s->test)
            print_while(q, s);
        else
            print_repeat(q, s);
        break;
    default: print_str(o, "checkpoint "); open_block(o);
    }
}

// ------------------------------------------------------------------------------------ entry point
static bool make_tables(pipe_printer *q, vy_arena *arena)
{
    const vy_pipeline *l = q->l;
    size_t dims = l->signature->dims.count, scalars = 0;
    for (uint32_t i = 0; i < l->steps.count; i++) {
        const vy_pipe_step *s = &l->steps.data[i];
        if (s->kind != VY_PIPE_DISPATCH) continue;
        uint32_t n = l->module->programs.data[s->program]->scalars.count;
        if (n > scalars) scalars = n;
    }
    q->uses = vy_arena_alloc(arena, dims * sizeof *q->uses);
    q->user = vy_arena_alloc(arena, dims * sizeof *q->user);
    q->inferred = vy_arena_alloc(arena, (scalars + 1) * sizeof *q->inferred);
    q->numbers = vy_arena_alloc(arena, ((size_t)l->steps.count + 1) * sizeof(uint32_t));
    q->class = vy_dim_classes(l->signature, arena);
    return q->uses && q->user && q->inferred && q->numbers && q->class;
}

void print_pipeline(print_text *out, bool *failed, const vy_pipeline *l)
{
    vy_arena arena = {0};
    pipe_printer q = {.l = l};
    printer o = {.p = l->signature, .pipeline = l, .out = *out};
    if (*failed) return;
    q.o = &o;
    if (!print_names_init(&o.names) || !make_tables(&q, &arena)) o.failed = true;
    if (!o.failed) {
        o.numbers = q.numbers;
        print_reserve_names(&o);
        print_head(&o);
        find_uses(&q);
        for (q.step = 0; q.step < l->steps.count && !o.failed; q.step++)
            print_step(&q, &l->steps.data[q.step]);
        print_str(&o, "}\n");
    }
    *out = o.out;
    *failed = o.failed;
    print_free(&o);
    vy_arena_free(&arena);
}
